package thalweg.interop.tools;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/** An application of two subtopologies, with a repartition topic and a changelog, in one thread. */
final class StreamsApp implements AutoCloseable {
    private final KafkaStreams streams;
    private final AtomicReference<Throwable> died = new AtomicReference<>();
    private boolean closed;

    StreamsApp(String bootstrap, Path directory, String application, String protocol, String input, String output) {
        Properties config = new Properties();
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        config.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, protocol);
        config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        config.put(StreamsConfig.STATE_DIR_CONFIG, directory.resolve("state-" + application).toString());
        config.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.String().getClass());
        config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.String().getClass());
        config.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        // Records of the repartition topic stay, so that its first offset does not depend on the time.
        config.put(StreamsConfig.REPARTITION_PURGE_INTERVAL_MS_CONFIG, 3_600_000);
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(input)
            .groupBy((key, value) -> value, Grouped.as("values"))
            .count(Materialized.as("counts"))
            .toStream()
            .to(output, Produced.with(Serdes.String(), Serdes.Long()));
        streams = new KafkaStreams(builder.build(), config);
        streams.setUncaughtExceptionHandler(problem -> {
            died.compareAndSet(null, problem);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
    }

    boolean running(int tasks) {
        if (died.get() != null) {
            throw new AssertionError("a stream thread died", died.get());
        }
        return streams.state() == KafkaStreams.State.RUNNING
            && streams.metadataForLocalThreads().stream().mapToInt(thread -> thread.activeTasks().size()).sum() == tasks;
    }

    /** It leaves its group. */
    @Override
    public void close() {
        close(CloseOptions.GroupMembershipOperation.LEAVE_GROUP);
    }

    /** A member of a classic group stays until its session ends. */
    void goAway() {
        close(CloseOptions.GroupMembershipOperation.DEFAULT);
    }

    private void close(CloseOptions.GroupMembershipOperation operation) {
        if (!closed && !streams.close(CloseOptions.timeout(Duration.ofSeconds(30)).withGroupMembershipOperation(operation))) {
            throw new AssertionError("the application did not close within 30 s");
        }
        closed = true;
    }
}
