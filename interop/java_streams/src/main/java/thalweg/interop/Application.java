package thalweg.interop;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/** One instance of any topology with strings as default, whose states and failures are kept. */
final class Application implements AutoCloseable {
    final KafkaStreams streams;
    /** What it went through, the oldest first. */
    final List<KafkaStreams.State> states = new CopyOnWriteArrayList<>();
    final AtomicReference<Throwable> died = new AtomicReference<>();
    private boolean closed;

    /** An instance that shuts down when one of its threads dies. State directories are told apart by `number`. */
    Application(Lane lane, String application, int number, Topology topology, Map<String, Object> settings) {
        this(lane, application, number, topology, settings, StreamThreadExceptionResponse.SHUTDOWN_CLIENT);
    }

    Application(Lane lane, String application, int number, Topology topology, Map<String, Object> settings,
            StreamThreadExceptionResponse onFailure) {
        Properties config = new Properties();
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, lane.bootstrap);
        config.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
        config.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
        config.put(StreamsConfig.STATE_DIR_CONFIG, lane.directory.resolve(application + "-state-" + number).toString());
        config.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.String().getClass());
        config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.String().getClass());
        // Each update is written out, so that the last value of a key is its result.
        config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        config.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        config.putAll(settings);
        streams = new KafkaStreams(topology, config);
        streams.setStateListener((now, before) -> states.add(now));
        streams.setUncaughtExceptionHandler(problem -> {
            died.compareAndSet(null, problem);
            return onFailure;
        });
    }

    Application start() {
        streams.start();
        return this;
    }

    /** Throws what ended a stream thread, if one has ended. */
    void check() {
        if (died.get() != null) {
            throw new AssertionError("a stream thread died", died.get());
        }
    }

    Set<String> activeTasks() {
        Set<String> tasks = new TreeSet<>();
        streams.metadataForLocalThreads().forEach(thread -> thread.activeTasks().forEach(task -> tasks.add(task.taskId().toString())));
        return tasks;
    }

    /** Threads that have at least one active task. */
    long busyThreads() {
        return streams.metadataForLocalThreads().stream().filter(thread -> !thread.activeTasks().isEmpty()).count();
    }

    boolean running(int tasks) {
        check();
        return streams.state() == KafkaStreams.State.RUNNING && activeTasks().size() == tasks;
    }

    /** Text of the failure that ended it, with all causes. */
    String failure() {
        StringBuilder text = new StringBuilder();
        for (Throwable problem = died.get(); problem != null; problem = problem.getCause()) {
            text.append(problem).append('\n');
        }
        return text.toString();
    }

    @Override
    public void close() {
        close(CloseOptions.GroupMembershipOperation.DEFAULT);
    }

    void close(CloseOptions.GroupMembershipOperation operation) {
        if (!closed) {
            closed = true;
            if (!streams.close(CloseOptions.timeout(Duration.ofSeconds(30)).withGroupMembershipOperation(operation))) {
                throw new AssertionError("an instance did not close within 30 s");
            }
        }
    }
}
