package thalweg.interop;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.StateRestoreListener;

/** One instance of a word count with a repartition topic and a changelog: 2 subtopologies, 2 x partitions tasks. */
final class WordCount implements AutoCloseable {
    private final KafkaStreams streams;
    private final AtomicReference<Throwable> died = new AtomicReference<>();
    /** Records that active tasks had to read back from changelogs. */
    final AtomicLong restored = new AtomicLong();
    private boolean closed;

    WordCount(String bootstrap, Path state, String application, String input, String output, int threads) {
        this(bootstrap, state, application, input, output, threads, "at_least_once");
    }

    WordCount(String bootstrap, Path state, String application, String input, String output, int threads, String guarantee) {
        this(bootstrap, state, application, topology(input, output), threads, guarantee);
    }

    /** Another topology in the place of the word count. */
    WordCount(String bootstrap, Path state, String application, Topology topology, int threads, String guarantee) {
        Properties config = new Properties();
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        config.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
        config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee);
        config.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, threads);
        config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
        config.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
        // Each update is written out, so that the last value of a key is its count.
        config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        config.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        streams = new KafkaStreams(topology, config);
        streams.setUncaughtExceptionHandler(problem -> {
            died.compareAndSet(null, problem);
            return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setGlobalStateRestoreListener(new StateRestoreListener() {
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

    static Topology topology(String input, String output) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(input, Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> List.of(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"))
            .toStream()
            .to(output, Produced.with(Serdes.String(), Serdes.Long()));
        return builder.build();
    }

    void start() {
        streams.start();
    }

    /** Throws what ended a stream thread, if one has ended. */
    void check() {
        Throwable problem = died.get();
        if (problem != null) {
            throw new AssertionError("a stream thread died", problem);
        }
    }

    KafkaStreams.State state() {
        check();
        return streams.state();
    }

    Set<String> activeTasks() {
        check();
        Set<String> tasks = new TreeSet<>();
        streams.metadataForLocalThreads().forEach(thread -> thread.activeTasks().forEach(task -> tasks.add(task.taskId().toString())));
        return tasks;
    }

    Set<String> standbyTasks() {
        check();
        Set<String> tasks = new TreeSet<>();
        streams.metadataForLocalThreads().forEach(thread -> thread.standbyTasks().forEach(task -> tasks.add(task.taskId().toString())));
        return tasks;
    }

    /** Records that this instance's standby tasks still have to read, or -1 if one is not known yet. */
    long standbyLag() {
        long lag = 0;
        for (Map<Integer, org.apache.kafka.streams.LagInfo> store : streams.allLocalStorePartitionLags().values()) {
            for (org.apache.kafka.streams.LagInfo partition : store.values()) {
                lag += partition.offsetLag();
            }
        }
        return lag;
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            streams.close(Duration.ofSeconds(30));
        }
    }
}
