package thalweg.interop;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * A counting application with state scales from one instance to two while records flow: once with warm-up tasks and
 * once with `streams.num.warmup.replicas=0`. Prints the longest time in which the output of a task stood still;
 * every key is counted exactly.
 */
final class WarmUp implements Main.Scenario {
    private static final int PARTITIONS = 2;
    private static final Duration LIMIT = Duration.ofSeconds(180);
    private static final long ACCEPTABLE_LAG = 1_000;

    @Override
    public void run(Lane lane) throws Exception {
        int keys = lane.full ? 2_000_000 : 400_000;
        Duration cold = measure(lane, "warm-off", keys, 0);
        Duration warm = measure(lane, "warm-on", keys, 2);
        System.out.printf("     %d keys of state, two instances: longest gap %d ms with warm-ups, %d ms without%n", keys,
            warm.toMillis(), cold.toMillis());
        if (warm.compareTo(cold) > 0 && warm.toMillis() > 5_000) {
            throw new AssertionError("warm-ups made the gap longer: " + warm + " instead of " + cold);
        }
    }

    private static Duration measure(Lane lane, String base, int keys, int warmups) throws Exception {
        String application = lane.name(base);
        String input = lane.name(base + "-in");
        String output = lane.name(base + "-out");
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, PARTITIONS);
        lane.setGroupConfig(application, "streams.num.warmup.replicas", Integer.toString(warmups));
        lane.setGroupConfig(application, "streams.acceptable.recovery.lag", Long.toString(ACCEPTABLE_LAG));
        try (Instance first = new Instance(lane, application, input, output, 1);
             Flow flow = new Flow(lane, input);
             Gaps gaps = new Gaps(lane, output)) {
            first.start();
            flow.fill(keys);
            gaps.await("the state is built", LIMIT, () -> gaps.records.get() >= keys, first);

            flow.start();
            gaps.watch(Duration.ofSeconds(3));
            gaps.startMeasuring();
            try (Instance second = new Instance(lane, application, input, output, 2)) {
                long start = System.nanoTime();
                second.start();
                gaps.await("both instances have a task", LIMIT,
                    () -> first.activeTasks() == 1 && second.activeTasks() == 1, first, second);
                long moved = (System.nanoTime() - start) / 1_000_000;
                gaps.watch(Duration.ofSeconds(6));
                // A task that restores is silent: only output of what was sent after the move ends its gap.
                long sentAfter = System.currentTimeMillis();
                gaps.await("each task puts out what was sent after the move", LIMIT, () -> gaps.newestOfEach() > sentAfter, first, second);
                long open = gaps.open();
                Duration longest = Duration.ofMillis(Math.max(gaps.longest, open));
                System.out.printf("     warm-ups %d: the task moved after %d ms, the second instance restored %d records as active,"
                    + " longest gap of a task %d ms, open at the end %d ms%n", warmups, moved, second.restored.get(), gaps.longest, open);
                flow.stop();
                gaps.await("exact counts", LIMIT, () -> gaps.counts.equals(flow.expected()), first, second);
                return longest;
            }
        }
    }

    /** One instance with one thread, so that the two tasks are divided. */
    private static final class Instance implements AutoCloseable {
        private final KafkaStreams streams;
        private final AtomicReference<Throwable> died = new AtomicReference<>();
        final AtomicLong restored = new AtomicLong();

        Instance(Lane lane, String application, String input, String output, int number) {
            Properties config = new Properties();
            config.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
            config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, lane.bootstrap);
            config.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
            config.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
            config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
            config.put(StreamsConfig.STATE_DIR_CONFIG, lane.directory.resolve(application + "-state-" + number).toString());
            config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
            config.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
            streams = new KafkaStreams(topology(input, output), config);
            streams.setUncaughtExceptionHandler(problem -> {
                died.compareAndSet(null, problem);
                return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            streams.setGlobalStateRestoreListener(new org.apache.kafka.streams.processor.StateRestoreListener() {
                @Override
                public void onRestoreStart(TopicPartition partition, String store, long from, long to) {}

                @Override
                public void onBatchRestored(TopicPartition partition, String store, long end, long count) {
                    restored.addAndGet(count);
                }

                @Override
                public void onRestoreEnd(TopicPartition partition, String store, long total) {}
            });
        }

        private static Topology topology(String input, String output) {
            StreamsBuilder builder = new StreamsBuilder();
            builder.stream(input, Consumed.with(Serdes.String(), Serdes.Long()))
                .groupByKey(Grouped.with(Serdes.String(), Serdes.Long()))
                .reduce(Long::sum, Materialized.as("sums"))
                .toStream()
                .to(output, Produced.with(Serdes.String(), Serdes.Long()));
            return builder.build();
        }

        void start() {
            streams.start();
        }

        void check() {
            if (died.get() != null) {
                throw new AssertionError("a stream thread died", died.get());
            }
        }

        int activeTasks() {
            check();
            return streams.metadataForLocalThreads().stream().mapToInt(thread -> thread.activeTasks().size()).sum();
        }

        @Override
        public void close() {
            streams.close(Duration.ofSeconds(30));
        }
    }

    /** Sends each key once, and then one record after the other to each partition. */
    private static final class Flow implements AutoCloseable {
        private final String topic;
        private final KafkaProducer<String, Long> producer;
        private final Map<String, Long> sent = new HashMap<>();
        private final AtomicBoolean stopped = new AtomicBoolean();
        private final AtomicReference<Throwable> problem = new AtomicReference<>();
        private Thread thread;

        Flow(Lane lane, String topic) {
            this.topic = topic;
            Properties config = new Properties();
            config.put("bootstrap.servers", lane.bootstrap);
            config.put("linger.ms", "5");
            config.put("batch.size", "200000");
            producer = new KafkaProducer<>(config, new StringSerializer(), new LongSerializer());
        }

        /** The partition of the input that a key is sent to. */
        static int partition(String key) {
            return Integer.parseInt(key.substring("key-".length())) % PARTITIONS;
        }

        private void send(int number) {
            String key = "key-" + number;
            int partition = partition(key);
            sent.merge(key, 1L, Long::sum);
            producer.send(new ProducerRecord<>(topic, partition, key, 1L), (metadata, failure) -> {
                if (failure != null) {
                    problem.compareAndSet(null, failure);
                }
            });
        }

        void fill(int keys) {
            for (int i = 0; i < keys; i++) {
                send(i);
            }
            producer.flush();
        }

        void start() {
            thread = new Thread(() -> {
                for (int i = 0; !stopped.get(); i++) {
                    for (int partition = 0; partition < PARTITIONS; partition++) {
                        send((i % 1000) * PARTITIONS + partition);
                    }
                    try {
                        Thread.sleep(10);
                    } catch (InterruptedException end) {
                        return;
                    }
                }
            });
            thread.start();
        }

        void stop() throws Exception {
            stopped.set(true);
            thread.join();
            producer.flush();
            if (problem.get() != null) {
                throw new AssertionError("sending failed", problem.get());
            }
        }

        Map<String, Long> expected() {
            return sent;
        }

        @Override
        public void close() throws Exception {
            stopped.set(true);
            if (thread != null) {
                thread.join();
            }
            producer.close(Duration.ofSeconds(10));
        }
    }

    /**
     * Reads the output all the time: the counts, and how long each task stood still. Tasks are told apart by the key, since
     * both put out records to all partitions of the output.
     */
    private static final class Gaps implements AutoCloseable {
        final Map<String, Long> counts = new HashMap<>();
        final AtomicLong records = new AtomicLong();
        private final KafkaConsumer<String, Long> consumer;
        private final long[] last = new long[PARTITIONS];
        /** Time of the newest record of each task, which is the time when its input was sent. */
        private final long[] newest = new long[PARTITIONS];
        private long longest;

        Gaps(Lane lane, String output) {
            Properties config = new Properties();
            config.put("bootstrap.servers", lane.bootstrap);
            // Millions of records are read; 500 at a time would measure this reader.
            config.put("max.poll.records", "20000");
            consumer = new KafkaConsumer<>(config, new StringDeserializer(), new LongDeserializer());
            List<TopicPartition> partitions = List.of(new TopicPartition(output, 0), new TopicPartition(output, 1));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
        }

        void await(String what, Duration limit, java.util.concurrent.Callable<Boolean> condition, Instance... instances) throws Exception {
            Wait.until(what, limit, () -> {
                for (Instance instance : instances) {
                    instance.check();
                }
                poll();
                return condition.call();
            });
        }

        private void poll() {
            for (ConsumerRecord<String, Long> record : consumer.poll(Duration.ofMillis(20))) {
                Long before = counts.put(record.key(), record.value());
                if (before != null && before >= record.value()) {
                    throw new AssertionError(record.key() + " went from " + before + " to " + record.value());
                }
                records.incrementAndGet();
                // The input never pauses, so that a silence of the output is the application's.
                long now = System.currentTimeMillis();
                int task = Flow.partition(record.key());
                newest[task] = Math.max(newest[task], record.timestamp());
                if (last[task] != 0) {
                    longest = Math.max(longest, now - last[task]);
                    last[task] = now;
                }
            }
        }

        void watch(Duration time) {
            long end = System.nanoTime() + time.toNanos();
            while (System.nanoTime() < end) {
                poll();
            }
        }

        long newestOfEach() {
            return java.util.Arrays.stream(newest).min().orElseThrow();
        }

        /** For how long the task that is silent the longest has been silent by now. */
        long open() {
            return System.currentTimeMillis() - java.util.Arrays.stream(last).min().orElseThrow();
        }

        void startMeasuring() {
            poll();
            java.util.Arrays.fill(last, System.currentTimeMillis());
        }

        @Override
        public void close() {
            consumer.close(org.apache.kafka.clients.consumer.CloseOptions.timeout(Duration.ofSeconds(5)));
        }
    }
}
