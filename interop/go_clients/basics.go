package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
)

// basics writes with each compression and each kind of acknowledgement, a partition each, and reads it back.
func basics(write func(address, topic string, acks int, codec int) error) func(client, *broker, string) (string, error) {
	return func(c client, b *broker, name string) (string, error) {
		if err := c.createTopic(name, inputs, map[string]string{"retention.ms": "-1"}); err != nil {
			return "", err
		}
		var wanted []string
		for codec := range 5 {
			for acks := range inputs {
				if err := write(b.address, name, acks, codec); err != nil {
					return "", fmt.Errorf("codec %d, acks %d: %w", codec, acks, err)
				}
			}
			for n := range 100 {
				wanted = append(wanted, fmt.Sprintf("value %d of codec %d", n, codec))
			}
		}
		// What nobody acknowledges was sent before the end of the topic is asked for.
		found, err := read(b.address, name, kgo.ReadCommitted())
		if err != nil {
			return "", err
		}
		for p := range int32(inputs) {
			if !slices.Equal(found[p], wanted) {
				return "", fmt.Errorf("partition %d has %d values that are not the %d written", p, len(found[p]), len(wanted))
			}
		}
		return fmt.Sprintf("%d records", inputs*len(wanted)), nil
	}
}

func writeFranz(address, topic string, acks int, codec int) error {
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
	settings := []kgo.Opt{
		kgo.SeedBrokers(address), kgo.ProducerBatchCompression(codecs[codec]), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks([]kgo.Acks{kgo.NoAck(), kgo.LeaderAck(), kgo.AllISRAcks()}[acks]),
	}
	if acks < 2 {
		settings = append(settings, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	}
	inner, err := kgo.NewClient(settings...)
	if err != nil {
		return err
	}
	defer inner.Close()
	var records []*kgo.Record
	for n := range 100 {
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(acks), Value: fmt.Appendf(nil, "value %d of codec %d", n, codec)})
	}
	return inner.ProduceSync(context.Background(), records...).FirstErr()
}

func writeSarama(address, topic string, acks int, codec int) error {
	config := saramaConfig()
	config.Producer.Compression = sarama.CompressionCodec(codec)
	config.Producer.RequiredAcks = []sarama.RequiredAcks{sarama.NoResponse, sarama.WaitForLocal, sarama.WaitForAll}[acks]
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = acks == 2
	inner, err := sarama.NewSyncProducer([]string{address}, config)
	if err != nil {
		return err
	}
	defer inner.Close()
	var messages []*sarama.ProducerMessage
	for n := range 100 {
		value := sarama.StringEncoder(fmt.Sprintf("value %d of codec %d", n, codec))
		messages = append(messages, &sarama.ProducerMessage{Topic: topic, Partition: int32(acks), Value: value})
	}
	return inner.SendMessages(messages)
}
