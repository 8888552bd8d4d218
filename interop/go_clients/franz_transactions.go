package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const inputs = 3

// transact copies input to output in transactions of the group, some of which it aborts, until it is stopped.
func transact(c context.Context, address, name, id string, consumer bool, chance *rand.Rand) (committed, aborted int, err error) {
	settings := []kgo.Opt{
		kgo.SeedBrokers(address), kgo.ConsumerGroup(name), kgo.ConsumeTopics(name + "-in"), kgo.TransactionalID(name + id),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(), kgo.TransactionTimeout(20 * time.Second),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.Balancers(kgo.RangeBalancer()), kgo.FetchMaxWait(200 * time.Millisecond),
		kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond),
	}
	if consumer {
		settings = append(settings, kgo.ServerSideBalancer())
	}
	session, err := kgo.NewGroupTransactSession(settings...)
	if err != nil {
		return 0, 0, err
	}
	defer session.Close()
	for c.Err() == nil {
		polled := session.PollRecords(c, 40)
		if polled.NumRecords() == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return committed, aborted, err
		}
		attempt := committed + aborted
		wanted := kgo.TransactionEndTry(attempt != 1 && chance.Float64() > 0.3)
		polled.EachRecord(func(r *kgo.Record) {
			value := fmt.Appendf(nil, "%s by%s in %d", r.Value, id, attempt)
			session.Produce(context.Background(), &kgo.Record{Topic: name + "-out", Partition: r.Partition, Value: value}, nil)
		})
		if !wanted {
			// What is aborted was written.
			_ = session.Client().Flush(context.Background())
		}
		limited, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		did, err := session.End(limited, wanted)
		cancel()
		switch {
		case err != nil:
			return committed, aborted, fmt.Errorf("end of a transaction: %w", err)
		case did:
			committed++
		default:
			aborted++
		}
		fmt.Fprintln(os.Stderr, "transaction", id, did)
	}
	return committed, aborted, nil
}

// worker is a process of its own that is to be killed.
func worker(words []string) {
	number, _ := strconv.ParseUint(words[4], 10, 64)
	_, _, err := transact(context.Background(), words[0], words[1], words[2], words[3] == "consumer", rand.New(rand.NewPCG(number, 9)))
	fmt.Fprintln(os.Stderr, "ended", err)
}

// franzTransactions: two members and a third one, whose process is killed with SIGKILL and started again.
func franzTransactions(consumer, kill bool) func(client, *broker, string) (string, error) {
	return func(c client, b *broker, name string) (string, error) {
		total := 900
		if full {
			total = 9000
		}
		for _, topic := range []string{name + "-in", name + "-out"} {
			if err := c.createTopic(topic, inputs, nil); err != nil {
				return "", err
			}
		}
		running, stop := context.WithCancel(context.Background())
		defer stop()
		var waiting sync.WaitGroup
		var mutex sync.Mutex
		var committed, aborted int
		var failed error
		for n := range 2 {
			waiting.Add(1)
			go func() {
				defer waiting.Done()
				did, didNot, err := transact(running, b.address, name, fmt.Sprintf("-%d", n), consumer, rand.New(rand.NewPCG(seed, uint64(n))))
				mutex.Lock()
				defer mutex.Unlock()
				committed, aborted = committed+did, aborted+didNot
				if err != nil {
					failed = err
				}
			}()
		}
		protocol := "classic"
		if consumer {
			protocol = "consumer"
		}
		var third *exec.Cmd
		begin := func() error {
			third = exec.Command(os.Args[0], "worker", b.address, name, "-killed", protocol, strconv.FormatUint(seed, 10))
			return third.Start()
		}
		end := func() {
			if third != nil && third.Process != nil {
				_ = third.Process.Kill()
				_ = third.Wait()
			}
		}
		if err := begin(); err != nil {
			return "", err
		}
		defer func() { end() }()
		for step := range 10 {
			w, err := c.writer()
			if err != nil {
				return "", err
			}
			for n := step * total / 10; n < (step+1)*total/10; n++ {
				w.send(name+"-in", int32(n%inputs), fmt.Appendf(nil, "%d", n), func(place) {})
			}
			if err := w.close(); err != nil {
				return "", err
			}
			time.Sleep(400 * time.Millisecond)
			switch {
			case step == 4 && kill:
				if err := b.killAndStart(); err != nil {
					return "", err
				}
			case step == 6:
				end()
				if err := begin(); err != nil {
					return "", err
				}
			}
		}
		ends, err := c.ends(name + "-in")
		if err != nil {
			return "", err
		}
		err = until("the committed offsets are the ends of the input", 90, func() (bool, error) {
			mutex.Lock()
			defer mutex.Unlock()
			found, err := c.committed(name, name+"-in")
			if failed != nil {
				err = failed
			}
			return fmt.Sprint(found) == fmt.Sprint(ends), err
		})
		stop()
		end()
		waiting.Wait()
		if err == nil {
			err = failed
		}
		if err != nil {
			return "", err
		}
		found, err := compare(b.address, name, total)
		return fmt.Sprintf("%d committed, %d aborted, and those of the killed one; %d records, %d aborted ones", committed, aborted, total, found-total), err
	}
}

// compare checks that each value is in the committed output once and in order; it says how many records there are in all.
func compare(address, name string, total int) (int, error) {
	values, err := read(address, name+"-out", kgo.ReadCommitted())
	if err != nil {
		return 0, err
	}
	for p := range int32(inputs) {
		next := int(p)
		for _, value := range values[p] {
			number, _ := strconv.Atoi(strings.SplitN(value, " ", 2)[0])
			if number != next {
				return 0, fmt.Errorf("partition %d has %q where %d is expected", p, value, next)
			}
			next += inputs
		}
		if next < total {
			return 0, fmt.Errorf("committed values are missing in partition %d from %d on", p, next)
		}
	}
	everything, err := read(address, name+"-out", kgo.ReadUncommitted())
	found := 0
	for _, values := range everything {
		found += len(values)
	}
	if err == nil && found <= total {
		err = fmt.Errorf("no aborted record was written: nothing was tried")
	}
	return found, err
}

// read is all values of a topic by partition, up to a last record that is written first.
func read(address, topic string, level kgo.IsolationLevel) (map[int32][]string, error) {
	inner, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(level),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return nil, err
	}
	defer inner.Close()
	for p := range int32(inputs) {
		last := &kgo.Record{Topic: topic, Partition: p, Value: []byte("last")}
		if err := inner.ProduceSync(within(), last).FirstErr(); err != nil {
			return nil, err
		}
	}
	values := map[int32][]string{}
	ended := map[int32]int{}
	wanted := 1
	if level == kgo.ReadUncommitted() {
		wanted = 2
	}
	err = until("all is read", 30, func() (bool, error) {
		limited, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		inner.PollFetches(limited).EachRecord(func(r *kgo.Record) {
			if string(r.Value) == "last" {
				ended[r.Partition]++
				return
			}
			values[r.Partition] = append(values[r.Partition], string(r.Value))
		})
		for p := range int32(inputs) {
			if ended[p] < wanted {
				return false, nil
			}
		}
		return true, nil
	})
	return values, err
}
