package thalweg.interop;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.streams.KafkaStreams;

/**
 * How long a user waits: until a new stateful word count runs and puts out its first count, until a second instance has
 * its half, and until the tasks of an instance that was killed are taken over. The seconds are printed, also those of the
 * Apache Kafka of `--kafka`; only bounds that Kafka 4.4.0 keeps too are asserted.
 */
final class Waits implements Main.Scenario {
    private static final int PARTITIONS = 4;
    private static final int TASKS = 2 * PARTITIONS;
    private static final Map<String, String> UNDELAYED = Map.of("streams.initial.rebalance.delay.ms", "0");
    private static final Duration LIMIT = Duration.ofSeconds(90);

    @Override
    public void run(Lane lane) throws Exception {
        warmUp(lane);
        int rounds = lane.full ? 3 : 1;
        for (int round = 1; round <= rounds; round++) {
            measure(lane, round);
            if (lane.kafka.isPresent()) {
                measure(lane.kafka.get(), round);
            }
        }
    }

    /** Before what is counted, so that little of it is the loading and compiling of classes. */
    private static void warmUp(Lane lane) throws Exception {
        start(lane, "warm-1", UNDELAYED, "(not counted) first application of this JVM");
        int more = lane.full || lane.kafka.isPresent() ? 4 : 0;
        for (int i = 0; i < more; i++) {
            start(lane, "warm-" + (i + 2), UNDELAYED, "(not counted) to warm up");
        }
    }

    private static void measure(Lane lane, int round) throws Exception {
        start(lane, "default-" + round, Map.of(), "new application, default settings");
        start(lane, "undelayed-" + round, UNDELAYED, "new application, initial delay 0");
        for (int threads = 1; threads <= 2; threads++) {
            scaleOut(lane, "out-" + round + "-" + threads, threads);
        }
        killed(lane, "killed-" + round);
    }

    private static void print(Lane lane, String what, String until, long start) {
        System.out.printf("wait: %-15s %-43s %-19s %6.2f s%n", lane.label(), what, until, (System.nanoTime() - start) / 1e9);
    }

    /** A name with topics and one round of lines to count. */
    private static String prepare(Lane lane, String base) throws Exception {
        String application = lane.name("waits-" + base);
        lane.createTopic(application + "-lines", PARTITIONS);
        lane.createTopic(application + "-out", PARTITIONS);
        send(lane, application);
        return application;
    }

    private static void send(Lane lane, String application) throws Exception {
        try (Words words = new Words(lane, application + "-lines")) {
            words.send(200);
        }
    }

    private static WordCount instance(Lane lane, String application, int number, int threads) {
        return lane.instance(application, application + "-lines", application + "-out", number, threads);
    }

    private static boolean hasAll(WordCount instance, int tasks) {
        return instance.state() == KafkaStreams.State.RUNNING && instance.activeTasks().size() == tasks;
    }

    private static void start(Lane lane, String base, Map<String, String> settings, String what) throws Exception {
        String application = prepare(lane, base);
        for (Map.Entry<String, String> setting : settings.entrySet()) {
            lane.setGroupConfig(application, setting.getKey(), setting.getValue());
        }
        Map<String, Object> config = Map.of("bootstrap.servers", lane.bootstrap);
        try (KafkaConsumer<byte[], byte[]> output = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = output.partitionsFor(application + "-out").stream()
                .map(info -> new TopicPartition(info.topic(), info.partition())).toList();
            output.assign(partitions);
            output.seekToBeginning(partitions);
            output.poll(Duration.ofMillis(200));
            long start = System.nanoTime();
            WordCount instance = instance(lane, application, 1, 1);
            boolean[] seen = new boolean[2];
            await("the application runs and puts out counts", () -> {
                if (!seen[0] && hasAll(instance, TASKS)) {
                    seen[0] = true;
                    print(lane, what, "RUNNING", start);
                }
                if (!seen[1] && !output.poll(Duration.ofMillis(5)).isEmpty()) {
                    seen[1] = true;
                    print(lane, what, "first output", start);
                }
                return seen[0] && seen[1];
            });
            instance.close();
        }
    }

    private static void scaleOut(Lane lane, String base, int threads) throws Exception {
        String application = prepare(lane, base);
        WordCount first = instance(lane, application, 1, threads);
        await("the first instance runs", () -> hasAll(first, TASKS));
        // At rest, like an application that has run for a while.
        Thread.sleep(6_000);
        long start = System.nanoTime();
        WordCount second = instance(lane, application, 2, threads);
        await("both instances have their half", () -> hasAll(first, TASKS / 2) && hasAll(second, TASKS / 2));
        print(lane, "second instance, threads each: " + threads, "both RUNNING", start);
        second.close();
        first.close();
    }

    /** The second instance is a process of its own, killed as by `kill -9`. */
    private static void killed(Lane lane, String base) throws Exception {
        String application = prepare(lane, base);
        WordCount first = instance(lane, application, 1, 1);
        await("the first instance runs", () -> hasAll(first, TASKS));
        Path log = Files.createFile(lane.directory.resolve(application + "-child.log"));
        Process child = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m",
            "-cp", System.getProperty("java.class.path"), Instance.class.getName(),
            lane.bootstrap, application, lane.directory.resolve(application + "-child").toString())
            .redirectErrorStream(true).redirectOutput(log.toFile()).start();
        try {
            await("the child process has its half", () -> hasAll(first, TASKS / 2));
            Thread.sleep(12_000);
            long start = System.nanoTime();
            child.destroyForcibly().waitFor();
            await("the killed instance is replaced", () -> hasAll(first, TASKS));
            print(lane, "instance killed with -9", "its tasks run again", start);
        } finally {
            if (!child.destroyForcibly().waitFor(10, TimeUnit.SECONDS)) {
                System.out.println("the child process does not end: " + child.pid());
            }
        }
        first.close();
    }

    /** As {@link Wait}, but looks often enough to measure. */
    private static void await(String what, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + LIMIT.toNanos();
        while (!condition.call()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not within " + LIMIT.toSeconds() + " s: " + what);
            }
            Thread.sleep(5);
        }
    }

    /** One instance as a process: bootstrap, application, state directory. */
    static final class Instance {
        public static void main(String[] args) throws Exception {
            WordCount instance = new WordCount(args[0], Path.of(args[2]), args[1], args[1] + "-lines", args[1] + "-out", 1);
            instance.start();
            // Ends with its parent at the latest.
            ProcessHandle parent = ProcessHandle.current().parent().orElseThrow();
            while (parent.isAlive()) {
                instance.check();
                Thread.sleep(200);
            }
            System.exit(1);
        }

        private Instance() {}
    }
}
