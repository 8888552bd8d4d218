package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
)

// shopify is sarama, by its old name so that the package keeps its own.
type shopify struct {
	address string
	inner   sarama.Client
	admin   sarama.ClusterAdmin
}

func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V4_1_0_0
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Retry.Max = 100
	config.Metadata.Retry.Max = 40
	config.Metadata.AllowAutoTopicCreation = false
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = 6 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	config.Consumer.Return.Errors = true
	return config
}

func newSarama(address string) (client, error) {
	inner, err := sarama.NewClient([]string{address}, saramaConfig())
	if err != nil {
		return nil, err
	}
	admin, err := sarama.NewClusterAdminFromClient(inner)
	return &shopify{address, inner, admin}, err
}

func (s *shopify) close() { _ = s.admin.Close() }

func (s *shopify) createTopic(name string, partitions int, config map[string]string) error {
	entries := map[string]*string{}
	for key, value := range config {
		entries[key] = &value
	}
	return s.admin.CreateTopic(name, &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1, ConfigEntries: entries}, false)
}

func (s *shopify) ends(topic string) (map[int32]int64, error) {
	if err := s.inner.RefreshMetadata(topic); err != nil {
		return nil, err
	}
	all, err := s.inner.Partitions(topic)
	found := map[int32]int64{}
	for _, p := range all {
		if err == nil {
			found[p], err = s.inner.GetOffset(topic, p, sarama.OffsetNewest)
		}
	}
	return found, err
}

func (s *shopify) committed(group, topic string) (map[int32]int64, error) {
	told, err := s.admin.ListConsumerGroupOffsets(group, nil)
	if err != nil {
		return nil, err
	}
	found := map[int32]int64{}
	for p, block := range told.Blocks[topic] {
		if block.Err != sarama.ErrNoError {
			return nil, block.Err
		}
		found[p] = block.Offset
	}
	return found, nil
}

func (s *shopify) group(group string) (string, int, error) {
	told, err := s.admin.DescribeConsumerGroups([]string{group})
	if err != nil {
		return "", 0, err
	}
	return strings.ToUpper(told[0].State), len(told[0].Members), nil
}

func (s *shopify) deleteGroup(group string) error { return s.admin.DeleteConsumerGroup(group) }

type saramaWriter struct {
	inner  sarama.AsyncProducer
	done   sync.WaitGroup
	failed atomic.Pointer[error]
}

func (s *shopify) writer() (writer, error) {
	config := saramaConfig()
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	inner, err := sarama.NewAsyncProducer([]string{s.address}, config)
	if err != nil {
		return nil, err
	}
	w := &saramaWriter{inner: inner}
	w.done.Add(2)
	go func() {
		defer w.done.Done()
		for m := range inner.Successes() {
			m.Metadata.(func(place))(place{m.Partition, m.Offset})
		}
	}()
	go func() {
		defer w.done.Done()
		for failed := range inner.Errors() {
			err := failed.Err
			w.failed.CompareAndSwap(nil, &err)
		}
	}()
	return w, nil
}

func (w *saramaWriter) send(topic string, partition int32, value []byte, acknowledged func(place)) {
	w.inner.Input() <- &sarama.ProducerMessage{Topic: topic, Partition: partition, Value: sarama.ByteEncoder(value), Metadata: acknowledged}
}

func (w *saramaWriter) close() error {
	w.inner.AsyncClose()
	w.done.Wait()
	if failed := w.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}

// saramaMember commits what it has read a few times a second, and when a session ends.
type saramaMember struct {
	name, topic string
	ledger      *ledger
	inner       sarama.ConsumerGroup
	stop        context.CancelFunc
	done        chan struct{}
}

func (s *shopify) member(group, topic, name string, o options, l *ledger) (member, error) {
	config := saramaConfig()
	if o.balancer == "sticky" {
		config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategySticky()}
	}
	config.Consumer.Group.InstanceId = o.instance
	inner, err := sarama.NewConsumerGroup([]string{s.address}, group, config)
	if err != nil {
		return nil, err
	}
	c, stop := context.WithCancel(context.Background())
	m := &saramaMember{name, topic, l, inner, stop, make(chan struct{})}
	go func() {
		for range inner.Errors() { // what is lost for good shows in what is missing
		}
	}()
	go func() {
		defer close(m.done)
		for c.Err() == nil {
			if err := inner.Consume(c, []string{topic}, m); err != nil {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	return m, nil
}

func (m *saramaMember) Setup(session sarama.ConsumerGroupSession) error {
	m.ledger.assigned(m.name, session.Claims()[m.topic])
	return nil
}

func (m *saramaMember) Cleanup(session sarama.ConsumerGroupSession) error {
	session.Commit()
	m.ledger.released(m.name, session.Claims()[m.topic])
	return nil
}

func (m *saramaMember) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case message, more := <-claim.Messages():
			if !more {
				return nil
			}
			m.ledger.processes(m.name, place{message.Partition, message.Offset})
			session.MarkMessage(message, "")
		case <-tick.C:
			session.Commit()
		case <-session.Context().Done():
			return nil
		}
	}
}

func (m *saramaMember) check() error { return nil }

func (m *saramaMember) close() error {
	m.stop()
	<-m.done
	return m.inner.Close()
}

// copier copies its claims in transactions; each partition has a transactional id, which fences an earlier owner.
type copier struct {
	address, name string
	attempts      atomic.Int64
	committed     atomic.Int64
	aborted       atomic.Int64
}

func (k *copier) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (k *copier) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (k *copier) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	config := saramaConfig()
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	config.Producer.Transaction.ID = fmt.Sprintf("%s-%d", k.name, claim.Partition())
	producer, err := sarama.NewSyncProducer([]string{k.address}, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	for {
		var batch []*sarama.ConsumerMessage
		limit := time.After(50 * time.Millisecond)
		for filling := true; filling && len(batch) < 20; {
			select {
			case message, more := <-claim.Messages():
				if !more {
					return nil
				}
				batch = append(batch, message)
			case <-limit:
				filling = false
			case <-session.Context().Done():
				return nil
			}
		}
		if len(batch) == 0 {
			continue
		}
		// Every third one is aborted, and its records are copied in the next one.
		if k.attempts.Add(1)%3 == 0 {
			if err := k.attempt(producer, session, batch, false); err != nil {
				return err
			}
			k.aborted.Add(1)
		}
		if err := k.attempt(producer, session, batch, true); err != nil {
			return err
		}
		k.committed.Add(1)
	}
}

// attempt is one transaction. After a failure the claim ends, and the next one begins at what is committed.
func (k *copier) attempt(producer sarama.SyncProducer, session sarama.ConsumerGroupSession, batch []*sarama.ConsumerMessage, commit bool) error {
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	var last *sarama.ConsumerMessage
	for _, message := range batch {
		value := sarama.StringEncoder(fmt.Sprintf("%s by sarama", message.Value))
		if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: k.name + "-out", Partition: message.Partition, Value: value}); err != nil {
			_ = producer.AbortTxn()
			return err
		}
		last = message
	}
	if !commit {
		return producer.AbortTxn()
	}
	metadata := sarama.ConsumerGroupMetadata{GroupID: k.name, GenerationID: session.GenerationID(), MemberID: session.MemberID()}
	if err := producer.AddMessageToTxnWithGroupMetadata(last, &metadata, nil); err != nil {
		_ = producer.AbortTxn()
		return err
	}
	return producer.CommitTxn()
}

func saramaTransactions(kill bool) func(client, *broker, string) (string, error) {
	return func(c client, b *broker, name string) (string, error) {
		total := 600
		if full {
			total = 6000
		}
		for _, topic := range []string{name + "-in", name + "-out"} {
			if err := c.createTopic(topic, inputs, nil); err != nil {
				return "", err
			}
		}
		k := &copier{address: b.address, name: name}
		running, stop := context.WithCancel(context.Background())
		var waiting sync.WaitGroup
		join := func() error {
			config := saramaConfig()
			config.Consumer.IsolationLevel = sarama.ReadCommitted
			inner, err := sarama.NewConsumerGroup([]string{b.address}, name, config)
			if err != nil {
				return err
			}
			go func() {
				for range inner.Errors() {
				}
			}()
			waiting.Add(1)
			go func() {
				defer waiting.Done()
				for running.Err() == nil {
					if err := inner.Consume(running, []string{name + "-in"}, k); err != nil {
						time.Sleep(100 * time.Millisecond)
					}
				}
				_ = inner.Close()
			}()
			return nil
		}
		defer func() { stop(); waiting.Wait() }()
		for n := range 10 {
			if n == 0 || n == 6 {
				if err := join(); err != nil {
					return "", err
				}
			}
			w, err := c.writer()
			if err != nil {
				return "", err
			}
			for i := n * total / 10; i < (n+1)*total/10; i++ {
				w.send(name+"-in", int32(i%inputs), fmt.Appendf(nil, "%d", i), func(place) {})
			}
			if err := w.close(); err != nil {
				return "", err
			}
			time.Sleep(200 * time.Millisecond)
			if n == 4 && kill {
				if err := b.killAndStart(); err != nil {
					return "", err
				}
			}
		}
		ends, err := c.ends(name + "-in")
		if err != nil {
			return "", err
		}
		err = until("the committed offsets are the ends of the input", 90, func() (bool, error) {
			found, err := c.committed(name, name+"-in")
			return fmt.Sprint(found) == fmt.Sprint(ends), err
		})
		if err != nil {
			return "", err
		}
		stop()
		waiting.Wait()
		found, err := compare(b.address, name, total)
		return fmt.Sprintf("%d committed, %d aborted; %d records, %d aborted ones", k.committed.Load(), k.aborted.Load(), total, found-total), err
	}
}
