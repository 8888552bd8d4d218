package thalweg.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Threads are added to and removed from a running instance while records flow, and every word is counted once. Then an
 * exception whose handler says SHUTDOWN_APPLICATION ends all instances, also those that saw nothing of it.
 *
 * <p>Streams groups, scenario 334.
 */
final class ThreadsAndShutdown implements Main.Scenario {
    private static final int PARTITIONS = 4;
    private static final int TASKS = 2 * PARTITIONS;
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final String POISON = "poison";

    @Override
    public void run(Lane lane) throws Exception {
        threads(lane);
        shutdown(lane);
    }

    private static void threads(Lane lane) throws Exception {
        String application = lane.name("threads");
        String input = lane.name("threads-lines");
        String output = lane.name("threads-counts");
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, 2);
        int rounds = lane.full ? 4 : 1;
        try (Words words = new Words(lane, input);
             Application instance = new Application(lane, application, 1, WordCount.topology(input, output),
                 Map.of("num.stream.threads", 1)).start();
             Flow flow = new Flow(words)) {
            Wait.until("one thread has all tasks", LIMIT, () -> instance.running(TASKS) && instance.busyThreads() == 1);
            flow.start();
            for (int round = 0; round < rounds; round++) {
                for (int threads = 2; threads <= 3; threads++) {
                    int wanted = threads;
                    if (instance.streams.addStreamThread().isEmpty()) {
                        throw new AssertionError("no thread was added");
                    }
                    Wait.until(wanted + " threads have tasks", LIMIT, () -> instance.running(TASKS) && instance.busyThreads() == wanted);
                }
                for (int threads = 2; threads >= 1; threads--) {
                    int wanted = threads;
                    if (instance.streams.removeStreamThread(LIMIT).isEmpty()) {
                        throw new AssertionError("no thread was removed");
                    }
                    Wait.until(wanted + " threads have all tasks", LIMIT, () -> instance.running(TASKS)
                        && instance.busyThreads() == wanted && instance.streams.metadataForLocalThreads().size() == wanted);
                }
            }
            flow.stop();
            words.awaitCounts(output, LIMIT, instance::check);
        }
    }

    private static void shutdown(Lane lane) throws Exception {
        String application = lane.name("shutdown");
        String input = lane.name("shutdown-lines");
        String output = lane.name("shutdown-counts");
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, 2);
        List<Application> instances = new ArrayList<>();
        try (Words words = new Words(lane, input)) {
            for (int number = 1; number <= 3; number++) {
                instances.add(new Application(lane, application, number, poisonable(input, output), Map.of(),
                    StreamThreadExceptionResponse.SHUTDOWN_APPLICATION).start());
            }
            words.send(500);
            Wait.until("all instances have tasks", LIMIT, () -> instances.stream().mapToInt(it -> it.activeTasks().size()).sum() == TASKS
                && instances.stream().allMatch(it -> it.streams.state() == KafkaStreams.State.RUNNING && !it.activeTasks().isEmpty()));
            words.awaitCounts(output, LIMIT, () -> instances.forEach(Application::check));

            long start = System.nanoTime();
            poison(lane, input);
            Wait.until("all instances ended", LIMIT,
                () -> instances.stream().allMatch(it -> it.streams.state() == KafkaStreams.State.ERROR));
            System.out.printf("     the application was down %d ms after the record that ended it%n", (System.nanoTime() - start) / 1_000_000);
            long failed = instances.stream().filter(it -> it.died.get() != null).count();
            if (failed != 1) {
                throw new AssertionError(failed + " instances saw the failure themselves, one has");
            }
            // What was counted before stands.
            words.awaitCounts(output, LIMIT, () -> {});
        } finally {
            instances.forEach(Application::close);
        }
    }

    private static Topology poisonable(String input, String output) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(input, Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> {
                if (line.equals(POISON)) {
                    throw new IllegalStateException("a record that nobody can process");
                }
                return List.of(line.split(" "));
            })
            .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
            .count()
            .toStream()
            .to(output, Produced.with(Serdes.String(), Serdes.Long()));
        return builder.build();
    }

    private static void poison(Lane lane, String topic) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", lane.bootstrap);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, 0, "k", POISON)).get();
        }
    }
}
