package main

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// franz is franz-go.
type franz struct {
	address string
	inner   *kgo.Client
	admin   *kadm.Client
}

func newFranz(address string) (client, error) {
	inner, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return nil, err
	}
	return &franz{address, inner, kadm.NewClient(inner)}, nil
}

func within() context.Context {
	c, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	time.AfterFunc(31*time.Second, cancel)
	return c
}

func (f *franz) close() { f.inner.Close() }

func (f *franz) createTopic(name string, partitions int, config map[string]string) error {
	values := map[string]*string{}
	for key, value := range config {
		values[key] = &value
	}
	_, err := f.admin.CreateTopic(within(), int32(partitions), 1, values, name)
	return err
}

func offsetsOf(listed kadm.ListedOffsets, err error, topic string) (map[int32]int64, error) {
	found := map[int32]int64{}
	if err == nil {
		err = listed.Error()
	}
	for p, o := range listed[topic] {
		found[p] = o.Offset
	}
	return found, err
}

func (f *franz) ends(topic string) (map[int32]int64, error) {
	listed, err := f.admin.ListEndOffsets(within(), topic)
	return offsetsOf(listed, err, topic)
}

func (f *franz) committed(group, topic string) (map[int32]int64, error) {
	told, err := f.admin.FetchOffsets(within(), group)
	found := map[int32]int64{}
	for p, o := range told[topic] {
		found[p] = o.At
	}
	return found, err
}

func (f *franz) group(group string) (string, int, error) {
	listed, err := f.admin.ListGroups(within())
	if err != nil {
		return "", 0, err
	}
	if listed[group].GroupType == "consumer" {
		told, err := f.admin.DescribeConsumerGroups(within(), group)
		if err == nil {
			err = told.Error()
		}
		return strings.ToUpper(told[group].State), len(told[group].Members), err
	}
	told, err := f.admin.DescribeGroups(within(), group)
	if err == nil {
		err = told.Error()
	}
	return strings.ToUpper(told[group].State), len(told[group].Members), err
}

func (f *franz) deleteGroup(group string) error {
	_, err := f.admin.DeleteGroup(within(), group)
	return err
}

type franzWriter struct {
	inner  *kgo.Client
	failed atomic.Pointer[error]
}

func (f *franz) writer() (writer, error) {
	inner, err := kgo.NewClient(kgo.SeedBrokers(f.address), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return &franzWriter{inner: inner}, err
}

func (w *franzWriter) send(topic string, partition int32, value []byte, acknowledged func(place)) {
	w.inner.Produce(context.Background(), &kgo.Record{Topic: topic, Partition: partition, Value: value}, func(r *kgo.Record, err error) {
		if err != nil {
			w.failed.CompareAndSwap(nil, &err)
			return
		}
		acknowledged(place{r.Partition, r.Offset})
	})
}

func (w *franzWriter) close() error {
	err := w.inner.Flush(within())
	w.inner.Close()
	if failed := w.failed.Load(); failed != nil {
		return *failed
	}
	return err
}

type franzMember struct {
	inner  *kgo.Client
	stop   context.CancelFunc
	done   chan struct{}
	failed atomic.Pointer[error]
}

func (f *franz) member(group, topic, name string, o options, l *ledger) (member, error) {
	m := &franzMember{done: make(chan struct{})}
	released := func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { l.released(name, lost[topic]) }
	settings := []kgo.Opt{
		kgo.SeedBrokers(f.address), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(200 * time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { l.assigned(name, got[topic]) }),
		kgo.OnPartitionsLost(released),
		kgo.OnPartitionsRevoked(func(c context.Context, inner *kgo.Client, lost map[string][]int32) {
			m.commit(c, inner)
			released(c, inner, lost)
		}),
	}
	switch {
	case o.consumer:
		settings = append(settings, kgo.ServerSideBalancer())
		fallthrough
	case o.balancer == "range":
		settings = append(settings, kgo.Balancers(kgo.RangeBalancer()))
	default:
		settings = append(settings, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	}
	if o.instance != "" {
		settings = append(settings, kgo.InstanceID(o.instance))
	}
	inner, err := kgo.NewClient(settings...)
	if err != nil {
		return nil, err
	}
	m.inner = inner
	c, stop := context.WithCancel(context.Background())
	m.stop = stop
	go func() {
		defer close(m.done)
		for c.Err() == nil {
			polled := inner.PollRecords(c, 100)
			polled.EachRecord(func(r *kgo.Record) { l.processes(name, place{r.Partition, r.Offset}) })
			polled.EachError(func(_ string, _ int32, err error) {
				if !errors.Is(err, context.Canceled) && !kerr.IsRetriable(err) {
					m.failed.CompareAndSwap(nil, &err)
				}
			})
			m.commit(context.Background(), inner)
			inner.AllowRebalance()
		}
	}()
	return m, nil
}

// commit leaves to the next one what is refused while the group rebalances or the broker is away.
func (m *franzMember) commit(c context.Context, inner *kgo.Client) {
	limited, cancel := context.WithTimeout(c, 5*time.Second)
	defer cancel()
	_ = inner.CommitUncommittedOffsets(limited)
}

func (m *franzMember) check() error {
	if failed := m.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}

func (m *franzMember) close() error {
	m.stop()
	<-m.done
	m.inner.CloseAllowingRebalance()
	return m.check()
}
