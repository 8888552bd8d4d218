// Command go_clients runs franz-go and sarama against the broker.
//
//	go_clients -broker PATH [--full] [PART]          starts, kills and restarts `PATH serve` itself
//	go_clients -bootstrap HOST:PORT [--full] [PART]  uses a running broker, which is not killed
//	PART                                             only the stories whose names contain this
//
// Exit code 0: all passed, 1: some failed, 2: wrong usage. The last line is `N passed, N failed`.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type story struct {
	name string
	open func(address string) (client, error)
	run  func(c client, b *broker, name string) (string, error)
}

func group(o options) func(client, *broker, string) (string, error) {
	return func(c client, b *broker, name string) (string, error) { return groupStory(c, b, name, o) }
}

var (
	seed uint64
	full bool
)

func stories() []story {
	return []story{
		// No static members of the consumer protocol: this version leaves without its instance id, which Kafka refuses too.
		{"franz_static", newFranz, group(options{balancer: "range", static: true})},
		{"franz_range", newFranz, group(options{balancer: "range"})},
		{"franz_cooperative", newFranz, group(options{})},
		{"franz_killed", newFranz, group(options{kill: true})},
		{"franz_consumer", newFranz, group(options{consumer: true})},
		{"franz_consumer_killed", newFranz, group(options{consumer: true, kill: true})},
		{"sarama_static", newSarama, group(options{static: true})},
		{"sarama_range", newSarama, group(options{balancer: "range"})},
		{"sarama_sticky", newSarama, group(options{balancer: "sticky"})},
		{"sarama_killed", newSarama, group(options{kill: true})},
		{"sarama_transactions", newSarama, saramaTransactions(false)},
		{"sarama_transactions_killed", newSarama, saramaTransactions(true)},
		{"franz_basics", newFranz, basics(writeFranz)},
		{"sarama_basics", newSarama, basics(writeSarama)},
		{"franz_transactions", newFranz, franzTransactions(false, false)},
		{"franz_transactions_killed", newFranz, franzTransactions(false, true)},
		{"franz_transactions_consumer", newFranz, franzTransactions(true, true)},
		{"franz_chain", newFranz, franzChain(kgo.CooperativeStickyBalancer(), false, false)},
		{"franz_chain_killed", newFranz, franzChain(kgo.RangeBalancer(), false, true)},
		{"franz_chain_consumer", newFranz, franzChain(kgo.RangeBalancer(), true, true)},
	}
}

func main() {
	if len(os.Args) == 7 && os.Args[1] == "worker" {
		worker(os.Args[2:])
		return
	}
	program := flag.String("broker", "", "program to start")
	bootstrap := flag.String("bootstrap", "", "address of a running broker")
	jobs := flag.Int("jobs", 6, "stories at once: members wait most of the time")
	flag.BoolVar(&full, "full", false, "longer stories")
	flag.Parse()
	if (*program == "") == (*bootstrap == "") || flag.NArg() > 1 {
		flag.Usage()
		os.Exit(2)
	}
	seed = rand.Uint64() >> 32
	if told, err := strconv.ParseUint(os.Getenv("THALWEG_SEED"), 10, 64); err == nil {
		seed = told
	}
	fmt.Printf("THALWEG_SEED=%d\n", seed)
	work, err := os.MkdirTemp("", "thalweg-go-clients-")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var passed, failed int
	var mutex sync.Mutex
	var waiting sync.WaitGroup
	slots := make(chan struct{}, *jobs)
	for _, s := range stories() {
		if !strings.Contains(s.name, flag.Arg(0)) {
			continue
		}
		slots <- struct{}{}
		waiting.Add(1)
		go func() {
			defer func() { <-slots; waiting.Done() }()
			start := time.Now()
			directory := filepath.Join(work, s.name)
			told, err := tell(s, *program, *bootstrap, directory)
			mutex.Lock()
			defer mutex.Unlock()
			if err == nil {
				passed++
				fmt.Printf("ok   %s (%.1f s): %s\n", s.name, time.Since(start).Seconds(), told)
				return
			}
			failed++
			fmt.Printf("FAIL %s (%.1f s): %v\n     logs and data: %s\n", s.name, time.Since(start).Seconds(), err, directory)
		}()
	}
	waiting.Wait()
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}

func tell(s story, program, bootstrap, directory string) (string, error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}
	b, err := startBroker(program, directory, bootstrap)
	if err != nil {
		return "", err
	}
	defer b.close()
	c, err := s.open(b.address)
	if err != nil {
		return "", err
	}
	defer c.close()
	return s.run(c, b, fmt.Sprintf("%s-%d-%d", s.name, os.Getpid(), seed&0xffff))
}
