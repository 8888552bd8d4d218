package thalweg.interop.consumers;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.RetriableCommitFailedException;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;

/** A consumer in a thread of its own. It commits what it has read after each poll. */
final class Member implements AutoCloseable {
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Thread thread;
    private final AtomicBoolean running = new AtomicBoolean(true);
    private final AtomicReference<Throwable> problem = new AtomicReference<>();
    /** What it owns now, by the client's own view. */
    volatile Set<TopicPartition> owned = Set.of();
    volatile int generation = -1;
    /** Times that partitions were given up or lost. */
    final AtomicInteger revocations = new AtomicInteger();

    Member(String bootstrap, String group, Subscription subscription, String instance, Set<String> read, Owners owners) {
        Map<String, Object> settings = new TreeMap<>(Map.of(
            "bootstrap.servers", bootstrap, "group.id", group,
            "enable.auto.commit", "false", "auto.offset.reset", "earliest",
            "key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer",
            "value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer"));
        settings.putAll(subscription.settings());
        if (instance != null) {
            settings.put("group.instance.id", instance);
        }
        consumer = new KafkaConsumer<>(settings);
        ConsumerRebalanceListener listener = new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                if (!partitions.isEmpty()) {
                    revocations.incrementAndGet();
                }
                // What comes after belongs to somebody else, who begins where this one stopped.
                commit();
                owners.released(Member.this, partitions);
            }

            @Override
            public void onPartitionsLost(Collection<TopicPartition> partitions) {
                revocations.incrementAndGet();
                owners.released(Member.this, partitions);
            }

            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                owners.assigned(Member.this, partitions);
            }
        };
        if (subscription.pattern() == null) {
            consumer.subscribe(List.of(subscription.topic()), listener);
        } else {
            consumer.subscribe(new SubscriptionPattern(subscription.pattern()), listener);
        }
        thread = new Thread(() -> run(read, owners), "member-" + (instance == null ? "" : instance));
        thread.start();
    }

    private void run(Set<String> read, Owners owners) {
        try {
            while (running.get()) {
                consumer.poll(Duration.ofMillis(100)).forEach(record -> {
                    boolean first = read.add(record.partition() + ":" + record.offset());
                    owners.processes(this, new TopicPartition(record.topic(), record.partition()), first);
                });
                owned = Set.copyOf(consumer.assignment());
                generation = consumer.groupMetadata().generationId();
                commit();
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
        } catch (CommitFailedException | RebalanceInProgressException | RetriableCommitFailedException | org.apache.kafka.common.errors.TimeoutException rebalancing) {
            // The next poll joins again; what is read twice counts once.
        } catch (RetriableException later) {
            // The next commit tells it.
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
