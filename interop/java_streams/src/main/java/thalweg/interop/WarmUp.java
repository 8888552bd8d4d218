package thalweg.interop;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

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
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * A counting application with a store of some 200 MB (with `--full`) scales from one instance to two while records flow:
 * with warm-up tasks, with `streams.num.warmup.replicas=0`, and on the Apache Kafka of `--kafka`. Prints the longest time in
 * which the output of a task stood still; every key is counted exactly. With `--bootstrap` nobody knows what the broker can,
 * so only the figures are printed.
 */
final class WarmUp implements Main.Scenario {
    private static final int PARTITIONS = 2;
    private static final Duration LIMIT = Duration.ofSeconds(180);
    private static final long ACCEPTABLE_LAG = 1_000;
    /** Of a value in the store: its count, and what makes the store large. */
    private static final int VALUE_BYTES = 200;
    /** What the output of a task may stand still with warm-ups. */
    private static final long GAP_MS_MAX = 3_000;

    /** What one application went through. */
    private record Run(long storeBytes, long gapMs, long movedAfterMs, long restored) {
        void print(String broker, String warmups) {
            System.out.printf("scale-out: %-14s %-12s store %4d MB, longest gap of a task %6d ms, its task moved after %6d ms,"
                + " %7d records restored meanwhile%n", broker, warmups, storeBytes / 1_000_000, gapMs, movedAfterMs, restored);
        }
    }

    @Override
    public void run(Lane lane) throws Exception {
        int keys = lane.full ? 1_000_000 : 200_000;
        Run warm = measure(lane, "warm-on", keys, 2);
        Run cold = measure(lane, "warm-off", keys, 0);
        warm.print(lane.label(), "warm-ups 2");
        cold.print(lane.label(), "warm-ups 0");
        if (lane.kafka.isPresent()) {
            measure(lane.kafka.get(), "warm-kafka", keys, 2).print("Apache Kafka", "warm-ups 2");
        }
        if (lane.broker.isPresent() && (warm.restored != 0 || warm.gapMs >= GAP_MS_MAX)) {
            throw new AssertionError("the task moved before its state was there: " + warm);
        }
        if (lane.broker.isPresent() && cold.restored < keys / PARTITIONS) {
            throw new AssertionError("without warm-ups the state is restored while its task waits: " + cold);
        }
    }

    private static Run measure(Lane lane, String base, int keys, int warmups) throws Exception {
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
            long storeBytes = first.storeBytes();
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
                Run run = new Run(storeBytes, Math.max(gaps.longest, gaps.open()), moved, second.restored.get());
                flow.stop();
                gaps.await("exact counts", LIMIT, () -> gaps.counts.equals(flow.expected()), first, second);
                return run;
            }
        }
    }

    /** One instance with one thread, so that the two tasks are divided. */
    private static final class Instance implements AutoCloseable {
        private final KafkaStreams streams;
        private final AtomicReference<Throwable> died = new AtomicReference<>();
        private final Path state;
        final AtomicLong restored = new AtomicLong();

        Instance(Lane lane, String application, String input, String output, int number) {
            state = lane.directory.resolve(application + "-state-" + number);
            Properties config = new Properties();
            config.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
            config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, lane.bootstrap);
            config.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
            config.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
            config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
            config.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
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
                .aggregate(() -> new byte[VALUE_BYTES], (key, added, count) -> plus(count, added),
                    Materialized.<String, byte[], KeyValueStore<Bytes, byte[]>>as("counts").withValueSerde(Serdes.ByteArray()))
                .toStream()
                .mapValues(count -> ByteBuffer.wrap(count).getLong())
                .to(output, Produced.with(Serdes.String(), Serdes.Long()));
            return builder.build();
        }

        private static byte[] plus(byte[] count, long added) {
            byte[] sum = count.clone();
            ByteBuffer.wrap(sum).putLong(0, ByteBuffer.wrap(count).getLong() + added);
            return sum;
        }

        void start() {
            streams.start();
        }

        /** How much the files of its stores take. */
        long storeBytes() throws IOException {
            try (Stream<Path> files = Files.walk(state)) {
                return files.map(Path::toFile).filter(File::isFile).mapToLong(File::length).sum();
            }
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
