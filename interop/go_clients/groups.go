package main

import (
	"fmt"
	"maps"
	"slices"
)

const partitions = 6

// client is what the stories ask of each library.
type client interface {
	createTopic(name string, partitions int, config map[string]string) error
	ends(topic string) (map[int32]int64, error)
	committed(group, topic string) (map[int32]int64, error)
	group(group string) (state string, members int, err error)
	deleteGroup(group string) error
	writer() (writer, error)
	member(group, topic, name string, o options, l *ledger) (member, error)
	close()
}

type writer interface {
	send(topic string, partition int32, value []byte, acknowledged func(place))
	// close waits for all that was sent, and tells the first failure.
	close() error
}

type member interface {
	close() error
	check() error
}

// options of a group story.
type options struct {
	kill, static, consumer bool
	balancer               string
	instance               string
}

// groupStory: two, then three members; the broker may be killed; they go one by one. Then a new one resumes.
func groupStory(c client, b *broker, name string, o options) (string, error) {
	l := newLedger()
	if err := c.createTopic(name, partitions, nil); err != nil {
		return "", err
	}
	work, err := startLoad(c, name, partitions)
	if err != nil {
		return "", err
	}
	members := map[string]member{}
	stopped := false
	defer func() {
		if !stopped {
			close(work.stopping)
		}
		for _, m := range members {
			_ = m.close()
		}
	}()
	join := func(label string) error {
		more := o
		if o.static {
			more.instance = label
		}
		m, err := c.member(name, name, label, more, l)
		if err == nil {
			members[label] = m
		}
		return err
	}
	leave := func(label string) error {
		m := members[label]
		delete(members, label)
		return m.close()
	}
	split := func(wanted ...int) func() (bool, error) {
		return func() (bool, error) {
			for _, m := range members {
				if err := m.check(); err != nil {
					return false, err
				}
			}
			shares := slices.Sorted(maps.Values(l.shares()))
			return slices.Equal(shares, wanted), nil
		}
	}
	all := []step{
		{"first joins", func() error { return join("first") }},
		{"", func() error { return until("the first member owns all", 30, split(6)) }},
		{"second joins", func() error { return join("second") }},
		{"", func() error { return until("two members share", 30, split(3, 3)) }},
		{"third joins", func() error { return join("third") }},
		{"", func() error { return until("three members share", 30, split(2, 2, 2)) }},
		{"kill", func() error {
			if o.kill {
				return b.killAndStart()
			}
			return nil
		}},
		{"", func() error {
			before, _ := l.seen()
			return until("all three read on", 60, func() (bool, error) {
				now, _ := l.seen()
				ok, err := split(2, 2, 2)()
				return ok && now > before+200, err
			})
		}},
		{"described", func() error { return expectGroup(c, name, "STABLE", 3) }},
		{"static member", func() error { return restartStatic(c, l, name, o, join, leave) }},
		{"third leaves", func() error { return leave("third") }},
		{"", func() error { return until("two members share again", 40, split(3, 3)) }},
	}
	if !o.static {
		all = append(all, step{"second leaves", func() error { return leave("second") }},
			step{"", func() error { return until("the first member owns all again", 40, split(6)) }})
	}
	if err := run(all); err != nil {
		return "", err
	}
	stopped = true
	acknowledged, err := work.stop()
	if err != nil {
		return "", err
	}
	if len(acknowledged) < 300 {
		return "", fmt.Errorf("only %d records were written", len(acknowledged))
	}
	var ends map[int32]int64
	err = run([]step{
		{"", func() error {
			return until("all that was acknowledged is read", 30, func() (bool, error) { return l.missing(acknowledged) == 0, nil })
		}},
		{"first leaves", func() error { return leave("first") }},
		{"second leaves", func() error {
			if members["second"] == nil {
				return nil
			}
			return leave("second")
		}},
		{"committed", func() (err error) {
			if ends, err = c.ends(name); err != nil {
				return err
			}
			committed, err := c.committed(name, name)
			if err == nil && !maps.Equal(committed, ends) {
				return fmt.Errorf("committed %v, the ends are %v", committed, ends)
			}
			return err
		}},
		{"owners", l.check},
		{"resume", func() error { return resume(c, name, o) }},
		{"", func() error {
			return until("all sessions end", 30, func() (bool, error) {
				_, members, err := c.group(name)
				return members == 0, err
			})
		}},
		{"described", func() error { return expectGroup(c, name, "EMPTY", 0) }},
		{"deleted", func() error { return c.deleteGroup(name) }},
	})
	_, twice := l.seen()
	if err == nil && twice > 0 && !o.kill {
		err = fmt.Errorf("%d records were read twice", twice)
	}
	return fmt.Sprintf("%d records, %d read twice", len(acknowledged), twice), err
}

type step struct {
	name string
	do   func() error
}

func run(steps []step) error {
	for _, s := range steps {
		if err := s.do(); err != nil {
			if s.name == "" {
				return err
			}
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// restartStatic: a static member that comes back in its session has its partitions again; nobody else hears of it.
func restartStatic(c client, l *ledger, name string, o options, join, leave func(string) error) error {
	if !o.static {
		return nil
	}
	had := l.owned("third")
	before := l.revoked("first") + l.revoked("second")
	if err := leave("third"); err != nil {
		return err
	}
	if err := join("third"); err != nil {
		return err
	}
	err := until("the static member has its partitions again", 20, func() (bool, error) { return maps.Equal(l.owned("third"), had), nil })
	if err == nil && l.revoked("first")+l.revoked("second") != before {
		err = fmt.Errorf("others had to rebalance")
	}
	return err
}

// resume: a new member reads on from what is committed: exactly what was written since.
func resume(c client, name string, o options) error {
	work, err := startLoad(c, name, partitions)
	if err != nil {
		return err
	}
	err = until("more is written", 20, func() (bool, error) { return work.count() >= 100, nil })
	acknowledged, failed := work.stop()
	if err != nil || failed != nil {
		return fmt.Errorf("%v, %v", err, failed)
	}
	l := newLedger()
	m, err := c.member(name, name, "later", o, l)
	if err != nil {
		return err
	}
	err = until("it reads what is new", 40, func() (bool, error) { return l.missing(acknowledged) == 0, m.check() })
	if closed := m.close(); err == nil {
		err = closed
	}
	if seen, _ := l.seen(); err == nil && seen != len(acknowledged) {
		err = fmt.Errorf("%d records were read, %d are new", seen, len(acknowledged))
	}
	return err
}

func expectGroup(c client, name, state string, members int) error {
	s, m, err := c.group(name)
	if err == nil && (s != state || m != members) {
		err = fmt.Errorf("the group is %s with %d members, not %s with %d", s, m, state, members)
	}
	return err
}
