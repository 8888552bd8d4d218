package main

import (
	"fmt"
	"sync"
	"time"
)

type place struct {
	partition int32
	offset    int64
}

// ledger knows who owns which partition, by the clients' own callbacks, and what was read how often.
type ledger struct {
	mutex       sync.Mutex
	owners      map[int32]string
	read        map[place]int
	revocations map[string]int
	conflicts   []string
}

func newLedger() *ledger {
	return &ledger{owners: map[int32]string{}, read: map[place]int{}, revocations: map[string]int{}}
}

func (l *ledger) assigned(member string, partitions []int32) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, p := range partitions {
		if other, had := l.owners[p]; had && other != member {
			l.conflicts = append(l.conflicts, fmt.Sprintf("partition %d was given to %s while %s had it", p, member, other))
		}
		l.owners[p] = member
	}
}

func (l *ledger) released(member string, partitions []int32) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(partitions) > 0 {
		l.revocations[member]++
	}
	for _, p := range partitions {
		if l.owners[p] == member {
			delete(l.owners, p)
		}
	}
}

func (l *ledger) processes(member string, at place) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.owners[at.partition] != member {
		l.conflicts = append(l.conflicts, fmt.Sprintf("%v was read by %s, which does not own it", at, member))
	}
	l.read[at]++
}

// shares is how many partitions each member owns.
func (l *ledger) shares() map[string]int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	shares := map[string]int{}
	for _, member := range l.owners {
		shares[member]++
	}
	return shares
}

func (l *ledger) owned(member string) map[int32]bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	owned := map[int32]bool{}
	for p, owner := range l.owners {
		if owner == member {
			owned[p] = true
		}
	}
	return owned
}

func (l *ledger) revoked(member string) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.revocations[member]
}

// seen is how many places were read, and how many reads were not the first one.
func (l *ledger) seen() (places, twice int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, times := range l.read {
		twice += times - 1
	}
	return len(l.read), twice
}

func (l *ledger) missing(wanted map[place]bool) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	missing := 0
	for at := range wanted {
		if l.read[at] == 0 {
			missing++
		}
	}
	return missing
}

func (l *ledger) check() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.conflicts) > 0 {
		return fmt.Errorf("%d conflicts, the first one: %s", len(l.conflicts), l.conflicts[0])
	}
	return nil
}

// load writes records until it is stopped, and remembers what the broker acknowledged.
type load struct {
	stopping     chan struct{}
	done         chan error
	mutex        sync.Mutex
	acknowledged map[place]bool
}

func startLoad(c client, topic string, partitions int) (*load, error) {
	w, err := c.writer()
	if err != nil {
		return nil, err
	}
	l := &load{stopping: make(chan struct{}), done: make(chan error, 1), acknowledged: map[place]bool{}}
	go func() {
		for n := 0; ; n++ {
			select {
			case <-l.stopping:
				l.done <- w.close()
				return
			case <-time.After(2 * time.Millisecond):
				w.send(topic, int32(n%partitions), fmt.Appendf(nil, "record %d", n), func(at place) {
					l.mutex.Lock()
					l.acknowledged[at] = true
					l.mutex.Unlock()
				})
			}
		}
	}()
	return l, nil
}

func (l *load) count() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.acknowledged)
}

func (l *load) stop() (map[place]bool, error) {
	close(l.stopping)
	err := <-l.done
	return l.acknowledged, err
}
