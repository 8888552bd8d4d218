package main

import (
	"context"
	"errors"
	"net"
	"sync"
)

// cable is what one client reaches the broker by. It can be cut, as by the end of a process, and stalled, as by a process
// that is not given time: then nothing passes, and nobody is told.
type cable struct {
	mutex       sync.Mutex
	cut         bool
	moving      chan struct{} // is closed while the cable is not stalled
	connections map[net.Conn]struct{}
}

func newCable() *cable {
	moving := make(chan struct{})
	close(moving)
	return &cable{moving: moving, connections: map[net.Conn]struct{}{}}
}

func (c *cable) dial(limit context.Context, network, address string) (net.Conn, error) {
	if err := c.pass(); err != nil {
		return nil, err
	}
	var dialer net.Dialer
	inner, err := dialer.DialContext(limit, network, address)
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.cut {
		_ = inner.Close()
		return nil, errors.New("the cable is cut")
	}
	c.connections[inner] = struct{}{}
	return &stretch{inner, c}, nil
}

// pass waits while the cable is stalled.
func (c *cable) pass() error {
	c.mutex.Lock()
	moving := c.moving
	c.mutex.Unlock()
	<-moving
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.cut {
		return errors.New("the cable is cut")
	}
	return nil
}

func (c *cable) stall() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.moving = make(chan struct{})
}

func (c *cable) sever() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.cut = true
	for inner := range c.connections {
		_ = inner.Close()
	}
	clear(c.connections)
}

func (c *cable) mend() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.cut = false
	select {
	case <-c.moving:
	default:
		close(c.moving)
	}
}

// stretch is one connection of a cable.
type stretch struct {
	net.Conn
	cable *cable
}

func (s *stretch) Write(bytes []byte) (int, error) {
	if err := s.cable.pass(); err != nil {
		return 0, err
	}
	return s.Conn.Write(bytes)
}

func (s *stretch) Read(bytes []byte) (int, error) {
	n, err := s.Conn.Read(bytes)
	if passed := s.cable.pass(); err == nil {
		err = passed
	}
	return n, err
}

func (s *stretch) Close() error {
	s.cable.mutex.Lock()
	delete(s.cable.connections, s.Conn)
	s.cable.mutex.Unlock()
	return s.Conn.Close()
}
