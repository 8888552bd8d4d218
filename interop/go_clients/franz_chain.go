package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	hops  = 3
	slots = 3 // members of a hop that are there at once
)

// chain: values go through topics 0 → 1 → 2 → 3 in transactions of a group for each hop, whose members come and go.
type chain struct {
	address, name string
	total         int
	consumer      bool
	balancer      kgo.GroupBalancer
	session       time.Duration // after which a silent member is gone
	timeout       time.Duration // of a transaction
	calm          time.Time     // from then on members stay

	mutex    sync.Mutex
	counts   map[string]int
	killings int
	failed   error
}

func (c *chain) topic(hop int) string { return fmt.Sprintf("%s-%d", c.name, hop) }

func (c *chain) group(hop int) string { return fmt.Sprintf("%s-hop%d", c.name, hop) }

// partitionOf: each hop mixes the partitions of the one before.
func partitionOf(n, hop int) int32 { return int32((n + hop*(n/inputs)) % inputs) }

// path: values with the same one share each partition of their way, so they stay in order.
func path(n int) int { return n % (inputs * inputs) }

func (c *chain) count(what string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.counts[what]++
}

func (c *chain) fail(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.failed == nil {
		c.failed = err
	}
}

// kills is called before the broker is killed and when it is there again.
func (c *chain) kills() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.killings++
}

func (c *chain) killed() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.killings
}

// life is one member from its start to its end, of which it may be told nothing.
type life struct {
	c       *chain
	hop     int
	id      string // transactional
	cable   *cable
	chance  *rand.Rand
	running context.Context // ends when it is to leave
	dead    context.Context // ends when it has died
	harmed  bool            // whether something happens to it that it may fail by
	abandon bool            // leaves in the middle of a transaction
}

func (l *life) open() (*kgo.GroupTransactSession, error) {
	settings := []kgo.Opt{
		kgo.SeedBrokers(l.c.address), kgo.ConsumerGroup(l.c.group(l.hop)), kgo.ConsumeTopics(l.c.topic(l.hop - 1)),
		kgo.TransactionalID(l.id), kgo.TransactionTimeout(l.c.timeout), kgo.Dialer(l.cable.dial),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(), kgo.Balancers(l.c.balancer),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.FetchMaxWait(200 * time.Millisecond), kgo.SessionTimeout(l.c.session), kgo.RebalanceTimeout(10 * time.Second),
		kgo.HeartbeatInterval(300 * time.Millisecond),
	}
	if l.c.consumer {
		settings = append(settings, kgo.ServerSideBalancer())
	}
	// What each client does, for one who looks for a fault.
	if os.Getenv("CHAIN_LOG") != "" {
		settings = append(settings, kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelDebug, func() string {
			return time.Now().Format("15:04:05.000 ") + l.id + " "
		})))
	}
	return kgo.NewGroupTransactSession(settings...)
}

// live copies values of the hop before in transactions, some of which it aborts.
func (l *life) live() error {
	before := l.c.killed()
	err := l.copy()
	switch {
	case err == nil || l.dead.Err() != nil:
		return nil
	case l.harmed || before != l.c.killed():
		l.c.count("failed")
		return nil
	default:
		return fmt.Errorf("%s, to which nothing had happened: %w", l.id, err)
	}
}

func (l *life) copy() error {
	session, err := l.open()
	if err != nil {
		return err
	}
	defer session.Close()
	for attempt := 0; l.running.Err() == nil && l.dead.Err() == nil; attempt++ {
		limited, cancel := context.WithTimeout(l.running, time.Second)
		polled := session.PollRecords(limited, 1+l.chance.IntN(60))
		cancel()
		if polled.NumRecords() == 0 {
			continue
		}
		begun := time.Now()
		if err := session.Begin(); err != nil {
			return err
		}
		refused := l.produce(session, polled, attempt)
		if l.abandon && l.chance.IntN(3) == 0 {
			return nil
		}
		if err := session.Client().Flush(l.dead); err != nil {
			return err
		}
		// This client would commit what is left where some could not be written.
		wanted := kgo.TransactionEndTry(!refused() && l.chance.Float64() > 0.25)
		did, err := session.End(l.dead, wanted)
		switch {
		case err != nil:
			// A busy machine is harm enough.
			l.harmed = l.harmed || time.Since(begun) > l.c.timeout/2
			return fmt.Errorf("end of a transaction: %w", err)
		case did:
			l.c.count("committed")
		default:
			l.c.count("aborted")
		}
	}
	return nil
}

func (l *life) produce(session *kgo.GroupTransactSession, polled kgo.Fetches, attempt int) (refused func() bool) {
	var mutex sync.Mutex
	var failed bool
	polled.EachRecord(func(r *kgo.Record) {
		n := number(string(r.Value))
		value := fmt.Appendf(nil, "%s %s/%d@%d:%d", r.Value, l.id, attempt, r.Partition, r.Offset)
		record := &kgo.Record{Topic: l.c.topic(l.hop), Partition: partitionOf(n, l.hop), Value: value}
		session.Produce(l.dead, record, func(_ *kgo.Record, err error) {
			mutex.Lock()
			defer mutex.Unlock()
			failed = failed || err != nil
		})
	})
	return func() bool {
		mutex.Lock()
		defer mutex.Unlock()
		return failed
	}
}

func number(value string) int {
	n, err := strconv.Atoi(strings.SplitN(value, " ", 2)[0])
	if err != nil {
		panic(err)
	}
	return n
}

// slot is a place of a hop that a member has after the other, until it is stopped. What happens to them:
const (
	leaves   = iota // after a transaction
	abandons        // in a transaction, with a word to the group
	dies            // at any time, without a word
	goesAway        // its connections break, and later it is back
	stalls          // nothing passes for a while, though connections stand
	isTwin          // another one comes with its transactional id
	fates
)

func (c *chain) slot(stopped context.Context, hop, place int) {
	chance := rand.New(rand.NewPCG(seed, uint64(1+hop*slots+place)*0x9e3779b97f4a7c15))
	var deck []int
	id := fmt.Sprintf("%s-%d-%d", c.name, hop, place)
	var twin chan struct{}
	all, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	ends := func(one chan struct{}) {
		select {
		case <-one:
		case <-time.After(30 * time.Second):
			c.fail(fmt.Errorf("%s does not end", id))
			giveUp()
			<-one
		}
	}
	for round := 0; stopped.Err() == nil; round++ {
		if len(deck) == 0 {
			deck = chance.Perm(fates)
		}
		fate := deck[0]
		deck = deck[1:]
		if twin != nil && fate == isTwin {
			fate = leaves
		}
		after := time.Duration(200+chance.IntN(1600)) * time.Millisecond
		away := time.Duration((0.2 + 1.2*chance.Float64()) * float64(c.session))
		if fate == stalls || fate == goesAway {
			after /= 2
		} else {
			away = 0
		}
		if time.Now().Add(2*after + away).After(c.calm) {
			fate, after = leaves, time.Hour
		}
		running, leave := context.WithCancel(stopped)
		dead, die := context.WithCancel(all)
		one := &life{
			c: c, hop: hop, id: id, cable: newCable(), running: running, dead: dead,
			chance: rand.New(rand.NewPCG(chance.Uint64(), 1)), harmed: fate > abandons || twin != nil, abandon: fate == abandons,
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer die()
			defer leave()
			if err := one.live(); err != nil {
				c.fail(err)
			}
		}()
		pause(running, done, after)
		switch fate {
		case leaves, abandons:
			leave()
		case dies:
			one.cable.sever()
			die()
			leave()
		case goesAway:
			one.cable.sever()
			pause(running, done, away)
			one.cable.mend()
			pause(running, done, after)
			leave()
		case stalls:
			one.cable.stall()
			pause(running, done, away)
			one.cable.mend()
			pause(running, done, after)
			leave()
		case isTwin:
			time.AfterFunc(after, leave)
		}
		c.count([]string{"left", "abandoned", "died", "away", "stalled", "twins"}[fate])
		if fate == isTwin {
			twin = done
			continue
		}
		ends(done)
		if twin != nil {
			ends(twin)
			twin = nil
		}
		// A new id leaves the transaction of the old one to its timeout.
		if time.Until(c.calm) > 4*time.Second && chance.IntN(3) == 0 {
			id = fmt.Sprintf("%s-%d-%d-%d", c.name, hop, place, round)
		}
	}
	if twin != nil {
		ends(twin)
	}
}

// pause ends early when the life does.
func pause(running context.Context, done chan struct{}, length time.Duration) {
	select {
	case <-running.Done():
	case <-done:
	case <-time.After(length):
	}
}

func franzChain(balancer kgo.GroupBalancer, consumer, kill bool) func(client, *broker, string) (string, error) {
	return func(cl client, b *broker, name string) (string, error) {
		c := &chain{
			address: b.address, name: name, total: 600, consumer: consumer, balancer: balancer,
			session: 6 * time.Second, timeout: 8 * time.Second, counts: map[string]int{},
		}
		length := 6 * time.Second
		if full {
			c.total, length = 9000, 60*time.Second
		}
		if b.process != nil {
			c.session, c.timeout = 2*time.Second, 4*time.Second
		}
		for hop := range hops + 1 {
			if err := cl.createTopic(c.topic(hop), inputs, nil); err != nil {
				return "", err
			}
		}
		c.calm = time.Now().Add(length)
		var times []string
		passed := func(what string) {
			times = append(times, fmt.Sprintf("%s %.1f s", what, time.Since(c.calm.Add(-length)).Seconds()))
		}
		stopped, stop := context.WithCancel(context.Background())
		var waiting sync.WaitGroup
		defer waiting.Wait()
		defer stop()
		for hop := 1; hop <= hops; hop++ {
			for place := range slots {
				waiting.Add(1)
				go func() {
					defer waiting.Done()
					c.slot(stopped, hop, place)
				}()
			}
		}
		if err := c.feed(cl, b, length, kill); err != nil {
			return "", err
		}
		passed("written after")
		if err := c.arrive(); err != nil {
			return "", err
		}
		passed("arrived")
		stop()
		waiting.Wait()
		passed("left")
		if c.failed != nil {
			return "", c.failed
		}
		found, err := c.check(cl)
		return fmt.Sprintf("%d values over %d hops; %v; %d aborted records; %s",
			c.total, hops, c.counts, found, strings.Join(times, ", ")), err
	}
}

// feed writes the values in steps, and kills the broker in the middle, or again and again.
func (c *chain) feed(cl client, b *broker, length time.Duration, kill bool) error {
	const steps = 20
	chance := rand.New(rand.NewPCG(seed, 1000))
	killAt := 6 + chance.IntN(10)
	w, err := cl.writer()
	if err != nil {
		return err
	}
	for step := range steps {
		for n := step * c.total / steps; n < (step+1)*c.total/steps; n++ {
			w.send(c.topic(0), partitionOf(n, 0), fmt.Append(nil, n), func(place) {})
		}
		time.Sleep(length / steps)
		if kill && (step == killAt || full && step%5 == 2) {
			c.kills()
			if err := b.killAndStart(); err != nil {
				return err
			}
			c.kills()
		}
	}
	return w.close()
}

// arrive waits until all values are at the end of the chain.
func (c *chain) arrive() error {
	inner, err := kgo.NewClient(kgo.SeedBrokers(c.address), kgo.ConsumeTopics(c.topic(hops)),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer inner.Close()
	seen := map[int]string{}
	return until("all values arrive", 180, func() (bool, error) {
		limited, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		var doubled error
		inner.PollFetches(limited).EachRecord(func(r *kgo.Record) {
			n, value := number(string(r.Value)), string(r.Value)
			if first, had := seen[n]; had {
				doubled = fmt.Errorf("%q is there, and so is %q", value, first)
			}
			seen[n] = value
		})
		c.mutex.Lock()
		defer c.mutex.Unlock()
		return len(seen) == c.total, errors.Join(c.failed, doubled)
	})
}

// check: in each topic each value is committed once and in the order of its path, and each group has committed what it
// has copied, no more and no less.
func (c *chain) check(cl client) (aborted int, err error) {
	for hop := 1; hop <= hops; hop++ {
		committed, err := read(c.address, c.topic(hop), kgo.ReadCommitted())
		if err != nil {
			return 0, err
		}
		copied, err := c.exact(hop, committed)
		if err != nil {
			return 0, err
		}
		found, err := cl.committed(c.group(hop), c.topic(hop-1))
		if err == nil && !maps.Equal(found, copied) {
			err = fmt.Errorf("hop %d has copied up to %v, and committed %v", hop, copied, found)
		}
		if err != nil {
			return 0, err
		}
		everything, err := read(c.address, c.topic(hop), kgo.ReadUncommitted())
		if err != nil {
			return 0, err
		}
		for _, values := range everything {
			aborted += len(values)
		}
		aborted -= c.total
	}
	if aborted == 0 {
		return 0, errors.New("no aborted record was written: nothing was tried")
	}
	return aborted, nil
}

// exact says up to where the topic of the hop before was copied.
func (c *chain) exact(hop int, committed map[int32][]string) (copied map[int32]int64, err error) {
	times := make([]int, c.total)
	copied = map[int32]int64{}
	for p, values := range committed {
		last := map[int]int{}
		for _, value := range values {
			n := number(value)
			times[n]++
			var from int32
			var at int64
			if _, err := fmt.Sscanf(value[strings.LastIndex(value, "@"):], "@%d:%d", &from, &at); err != nil {
				return nil, fmt.Errorf("%q: %w", value, err)
			}
			copied[from] = max(copied[from], at+1)
			if partitionOf(n, hop) != p {
				return nil, fmt.Errorf("hop %d: %q is in partition %d", hop, value, p)
			}
			if before, had := last[path(n)]; had && before >= n {
				return nil, fmt.Errorf("hop %d: %q comes after %d", hop, value, before)
			}
			last[path(n)] = n
		}
	}
	if wrong := slices.IndexFunc(times, func(n int) bool { return n != 1 }); wrong >= 0 {
		return nil, fmt.Errorf("hop %d: value %d was committed %d times", hop, wrong, times[wrong])
	}
	return copied, nil
}
