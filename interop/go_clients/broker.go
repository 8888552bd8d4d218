package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

var settings = []string{
	"group.initial.rebalance.delay.ms=0",
	"group.consumer.min.session.timeout.ms=6000",
	"group.consumer.session.timeout.ms=6000",
	"group.consumer.min.heartbeat.interval.ms=1000",
	"group.consumer.heartbeat.interval.ms=2000",
	"offsets.topic.num.partitions=4",
	"transaction.state.log.num.partitions=4",
	"transaction.abort.timed.out.transaction.cleanup.interval.ms=500",
	"group.min.session.timeout.ms=1000",
}

// broker is `PROGRAM serve` on one loopback port in a directory of its own, or a running one that is not killed.
type broker struct {
	program, directory, address string
	process                     *exec.Cmd
}

func startBroker(program, directory, address string) (*broker, error) {
	b := &broker{program: program, directory: directory, address: address}
	if program == "" {
		return b, nil
	}
	b.address = "127.0.0.1:0"
	return b, b.start()
}

func (b *broker) start() error {
	words := []string{"serve", "--print", "json", "--override", "listeners=PLAINTEXT://" + b.address,
		"--override", "log.dirs=" + filepath.Join(b.directory, "data")}
	for _, setting := range settings {
		words = append(words, "--override", setting)
	}
	log, err := os.OpenFile(filepath.Join(b.directory, "broker.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	b.process = exec.Command(b.program, words...)
	b.process.Stderr = log
	out, err := b.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := b.process.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the broker did not say where it listens: %w", err)
	}
	var told struct{ Listeners []struct{ Address string } }
	if err := json.Unmarshal(line, &told); err != nil || len(told.Listeners) == 0 {
		return fmt.Errorf("the broker said %q", line)
	}
	b.address = told.Listeners[0].Address
	return nil
}

// killAndStart is SIGKILL and a new start on the same port: nothing is flushed, nobody is told.
func (b *broker) killAndStart() error {
	if b.process == nil {
		return nil
	}
	b.close()
	return b.start()
}

func (b *broker) close() {
	if b.process != nil {
		_ = b.process.Process.Kill()
		_ = b.process.Wait()
	}
}

// until waits for a condition; `what` names it in the failure.
func until(what string, seconds int, condition func() (bool, error)) error {
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for {
		ok, err := condition()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("not within %d s: %s", seconds, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
