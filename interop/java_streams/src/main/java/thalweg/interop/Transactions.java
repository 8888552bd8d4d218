package thalweg.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Transactional producers: commits and aborts, fencing, and a chain of consuming and producing whose broker is killed.
 * Readers of committed records see every value of the input once, whatever was aborted or cut off.
 */
final class Transactions implements Main.Scenario {
    private static final int PARTITIONS = 3;
    private static final Duration LIMIT = Duration.ofSeconds(90);

    @Override
    public void run(Lane lane) throws Exception {
        commitsAndAborts(lane);
        fencing(lane);
        chain(lane);
    }

    private static KafkaProducer<String, String> producer(Lane lane, String id) {
        return producer(lane, id, Duration.ofSeconds(20));
    }

    static KafkaProducer<String, String> producer(Lane lane, String id, Duration timeout) {
        Properties config = new Properties();
        config.put("bootstrap.servers", lane.bootstrap);
        config.put("transactional.id", lane.name(id));
        config.put("transaction.timeout.ms", Long.toString(timeout.toMillis()));
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    private static KafkaConsumer<String, String> reader(Lane lane, String isolation, String group) {
        Properties config = new Properties();
        config.put("bootstrap.servers", lane.bootstrap);
        config.put("isolation.level", isolation);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        if (group != null) {
            config.put("group.id", group);
        }
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    /** Everything of a topic up to its end as this reader sees it, by partition. */
    private static Map<Integer, List<String>> read(Lane lane, String topic, String isolation) throws Exception {
        return read(lane, topic, PARTITIONS, isolation);
    }

    static Map<Integer, List<String>> read(Lane lane, String topic, int count, String isolation) throws Exception {
        Map<Integer, List<String>> values = new TreeMap<>();
        try (KafkaConsumer<String, String> consumer = reader(lane, isolation, null)) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                partitions.add(new TopicPartition(topic, i));
            }
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            Wait.until("the end of " + topic, LIMIT, () -> {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    values.computeIfAbsent(record.partition(), none -> new ArrayList<>()).add(record.value());
                }
                return partitions.stream().allMatch(it -> consumer.position(it) >= ends.get(it));
            });
        }
        return values;
    }

    private static void same(Object actual, Object expected, String what) {
        if (!actual.equals(expected)) {
            throw new AssertionError(what + ": " + actual + " instead of " + expected);
        }
    }

    private static void commitsAndAborts(Lane lane) throws Exception {
        String topic = lane.name("txn-plain");
        lane.createTopic(topic, PARTITIONS);
        Map<Integer, List<String>> committed = new TreeMap<>();
        Map<Integer, List<String>> all = new TreeMap<>();
        try (KafkaProducer<String, String> producer = producer(lane, "plain")) {
            producer.initTransactions();
            for (int transaction = 0; transaction < 40; transaction++) {
                boolean commit = transaction % 3 != 1;
                producer.beginTransaction();
                for (int i = 0; i < 6; i++) {
                    String value = transaction + "-" + i;
                    int partition = i % PARTITIONS;
                    producer.send(new ProducerRecord<>(topic, partition, null, value));
                    all.computeIfAbsent(partition, none -> new ArrayList<>()).add(value);
                    if (commit) {
                        committed.computeIfAbsent(partition, none -> new ArrayList<>()).add(value);
                    }
                }
                if (commit) {
                    producer.commitTransaction();
                } else {
                    producer.flush();
                    producer.abortTransaction();
                }
            }
            // One that has sent nothing.
            producer.beginTransaction();
            producer.commitTransaction();
            producer.beginTransaction();
            producer.abortTransaction();
        }
        same(read(lane, topic, "read_committed"), committed, "what readers of committed records see");
        same(read(lane, topic, "read_uncommitted"), all, "what other readers see");
    }

    /** The newer of two producers of one transactional id wins; the older one's transaction is aborted. */
    private static void fencing(Lane lane) throws Exception {
        String topic = lane.name("txn-fenced");
        lane.createTopic(topic, PARTITIONS);
        try (KafkaProducer<String, String> old = producer(lane, "fenced");
             KafkaProducer<String, String> young = producer(lane, "fenced")) {
            old.initTransactions();
            old.beginTransaction();
            old.send(new ProducerRecord<>(topic, 0, null, "old")).get();
            young.initTransactions();
            young.beginTransaction();
            young.send(new ProducerRecord<>(topic, 0, null, "young")).get();
            try {
                old.commitTransaction();
                throw new AssertionError("the older producer committed");
            } catch (ProducerFencedException | InvalidProducerEpochException expected) {
                // So it must be.
            }
            young.commitTransaction();
        }
        same(read(lane, topic, "read_committed"), Map.of(0, List.of("young")), "what readers of committed records see");
    }

    /** Values move from one topic to another in transactions that some of them abort, while the broker is killed. */
    private static void chain(Lane lane) throws Exception {
        String input = lane.name("txn-in");
        String output = lane.name("txn-out");
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, PARTITIONS);
        int count = lane.full ? 20_000 : 3_000;
        try (KafkaProducer<String, String> source = producer(lane, "source")) {
            source.initTransactions();
            for (int first = 0; first < count; first += 100) {
                source.beginTransaction();
                for (int i = first; i < first + 100; i++) {
                    source.send(new ProducerRecord<>(input, i % PARTITIONS, null, Integer.toString(i)));
                }
                source.commitTransaction();
            }
        }
        AtomicBoolean done = new AtomicBoolean();
        AtomicReference<Throwable> problem = new AtomicReference<>();
        List<Thread> workers = new ArrayList<>();
        for (int number = 0; number < 2; number++) {
            int worker = number;
            Thread thread = new Thread(() -> {
                try {
                    move(lane, input, output, worker, done);
                } catch (Throwable failure) {
                    problem.compareAndSet(null, failure);
                }
            });
            thread.start();
            workers.add(thread);
        }
        if (lane.broker.isPresent()) {
            for (int kill = 0; kill < (lane.full ? 4 : 2); kill++) {
                Thread.sleep(1_500);
                lane.broker.get().kill();
                Thread.sleep(500);
                lane.broker.get().start();
            }
        }
        try {
            Wait.until("all " + count + " values have moved", LIMIT, () -> {
                if (problem.get() != null) {
                    throw new AssertionError("a worker died", problem.get());
                }
                return read(lane, output, "read_committed").values().stream().mapToInt(List::size).sum() >= count;
            });
        } finally {
            done.set(true);
            for (Thread worker : workers) {
                worker.join();
            }
        }
        if (problem.get() != null) {
            throw new AssertionError("a worker died", problem.get());
        }
        Map<Integer, List<String>> moved = read(lane, output, "read_committed");
        for (int partition = 0; partition < PARTITIONS; partition++) {
            List<String> expected = new ArrayList<>();
            for (int i = partition; i < count; i += PARTITIONS) {
                expected.add(Integer.toString(i));
            }
            same(moved.get(partition), expected, "partition " + partition);
        }
    }

    /** Consumes, produces, and commits offsets in the same transaction. */
    private static void move(Lane lane, String input, String output, int worker, AtomicBoolean done) throws Exception {
        Random random = new Random(lane.seed + worker);
        KafkaProducer<String, String> producer = null;
        try (KafkaConsumer<String, String> consumer = reader(lane, "read_committed", lane.name("movers"))) {
            consumer.subscribe(List.of(input));
            while (!done.get()) {
                if (producer == null) {
                    producer = producer(lane, "mover-" + worker);
                    producer.initTransactions();
                }
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) {
                    continue;
                }
                try {
                    producer.beginTransaction();
                    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                    int most = 1 + random.nextInt(200);
                    for (TopicPartition partition : records.partitions()) {
                        for (ConsumerRecord<String, String> record : records.records(partition).subList(
                                0, Math.min(most, records.records(partition).size()))) {
                            producer.send(new ProducerRecord<>(output, record.partition(), null, record.value()));
                            offsets.put(partition, new OffsetAndMetadata(record.offset() + 1));
                        }
                    }
                    producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                    if (random.nextInt(5) == 0) {
                        producer.abortTransaction();
                        rewind(consumer);
                        continue;
                    }
                    commit(producer);
                    offsets.forEach((partition, offset) -> consumer.seek(partition, offset.offset()));
                } catch (ProducerFencedException | InvalidProducerEpochException | OutOfOrderSequenceException lost) {
                    producer.close(Duration.ZERO);
                    producer = null;
                    rewind(consumer);
                } catch (KafkaException failed) {
                    try {
                        producer.abortTransaction();
                    } catch (KafkaException worse) {
                        producer.close(Duration.ZERO);
                        producer = null;
                    }
                    rewind(consumer);
                }
            }
        } finally {
            if (producer != null) {
                producer.close(Duration.ofSeconds(5));
            }
        }
    }

    private static void commit(KafkaProducer<String, String> producer) {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException again) {
                // It may be asked again, and must not be aborted now.
            }
        }
    }

    /** Back to what was committed, which may be in doubt while another's transaction is open. */
    private static void rewind(KafkaConsumer<String, String> consumer) {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment(), Duration.ofSeconds(60));
        for (TopicPartition partition : consumer.assignment()) {
            OffsetAndMetadata offset = committed.get(partition);
            if (offset == null) {
                consumer.seekToBeginning(List.of(partition));
            } else {
                consumer.seek(partition, offset.offset());
            }
        }
    }
}
