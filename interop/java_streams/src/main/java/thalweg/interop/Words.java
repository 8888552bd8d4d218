package thalweg.interop;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Future;
import java.util.ArrayList;

import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Lines of random words, the counts that they must give, and the counts that an output topic holds. */
final class Words implements AutoCloseable {
    private static final int VOCABULARY = 97;

    private final String bootstrap;
    private final String topic;
    private final Random random;
    private final KafkaProducer<String, String> producer;
    /** What readers of counts see. */
    String isolation = "read_uncommitted";
    final Map<String, Long> expected = new TreeMap<>();
    private volatile long lines;

    Words(Lane lane, String topic) {
        this.bootstrap = lane.bootstrap;
        this.topic = topic;
        this.random = new Random(lane.seed);
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("linger.ms", "5");
        this.producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    /** How many lines were sent. */
    long lines() {
        return lines;
    }

    /** Sends lines and waits until all are acknowledged. Only acknowledged words count as expected. */
    void send(int count) throws Exception {
        List<Future<?>> sent = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            StringBuilder line = new StringBuilder();
            for (int word = 0; word < 5; word++) {
                String text = "w" + random.nextInt(VOCABULARY);
                line.append(word == 0 ? "" : " ").append(text);
                expected.merge(text, 1L, Long::sum);
            }
            sent.add(producer.send(new ProducerRecord<>(topic, "k" + lines++, line.toString())));
        }
        producer.flush();
        for (Future<?> one : sent) {
            one.get();
        }
    }

    /** Waits until the output topic holds exactly the expected counts, and checks that no count was ever passed. */
    void awaitCounts(String output, Duration limit, Runnable check) throws Exception {
        Map<String, Long> seen = new TreeMap<>();
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("allow.auto.create.topics", "false");
        config.put("isolation.level", isolation);
        // Hundreds of thousands of counts are read from the beginning; 500 at a time would take longer than counting them.
        config.put("max.poll.records", "20000");
        try (KafkaConsumer<String, Long> consumer = new KafkaConsumer<>(config, new StringDeserializer(), new LongDeserializer())) {
            List<TopicPartition> partitions = consumer.partitionsFor(output).stream()
                .map(info -> new TopicPartition(output, info.partition())).toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Wait.until("the counts of " + output + " (" + lines + " lines)", limit, () -> {
                check.run();
                for (ConsumerRecord<String, Long> record : consumer.poll(Duration.ofMillis(100))) {
                    seen.put(record.key(), record.value());
                    if (record.value() > expected.getOrDefault(record.key(), 0L)) {
                        throw new AssertionError("counted twice: " + record.key() + " = " + record.value()
                            + ", expected " + expected.get(record.key()));
                    }
                }
                return seen.equals(expected);
            });
        }
    }

    @Override
    public void close() {
        producer.close(Duration.ofSeconds(10));
    }
}
