package thalweg.interop.tools;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;

/** A consumer in a thread of its own, which commits what it has read. */
final class Member implements AutoCloseable {
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Thread thread;
    private final AtomicBoolean running = new AtomicBoolean(true);
    private final AtomicReference<Throwable> problem = new AtomicReference<>();
    volatile Set<TopicPartition> owned = Set.of();

    Member(Map<String, Object> settings, List<String> topics) {
        Map<String, Object> all = new HashMap<>(settings);
        all.putAll(Map.of("enable.auto.commit", "false", "auto.offset.reset", "earliest",
            "key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer",
            "value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer"));
        consumer = new KafkaConsumer<>(all);
        consumer.subscribe(topics);
        thread = new Thread(this::run, "member");
        thread.start();
    }

    private void run() {
        try {
            while (running.get()) {
                boolean any = !consumer.poll(Duration.ofMillis(100)).isEmpty();
                owned = Set.copyOf(consumer.assignment());
                if (any) {
                    commit();
                }
            }
        } catch (Throwable fatal) {
            problem.set(fatal);
        } finally {
            consumer.close();
        }
    }

    private void commit() {
        try {
            consumer.commitSync();
        } catch (CommitFailedException | RebalanceInProgressException rebalancing) {
            // Somebody reads it again and commits it.
        } catch (RetriableException later) {
            throw new AssertionError("a commit was refused", later);
        }
    }

    void check() {
        if (problem.get() != null) {
            throw new AssertionError("a consumer failed", problem.get());
        }
    }

    @Override
    public void close() throws InterruptedException {
        running.set(false);
        thread.join(30_000);
        check();
    }
}
