package thalweg.interop;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Three instances are restarted one after the other while records flow, and the broker in between: every word is counted
 * once. Then an instance is killed with -9 while records flow: with at_least_once every word is counted at least once.
 *
 * <p>Streams groups, scenario 348a.
 */
final class RollingRestart implements Main.Scenario {
    private static final int PARTITIONS = 6;
    private static final int TASKS = 2 * PARTITIONS;
    private static final Duration LIMIT = Duration.ofSeconds(120);

    @Override
    public void run(Lane lane) throws Exception {
        rolling(lane);
        killed(lane);
    }

    private static void rolling(Lane lane) throws Exception {
        String application = lane.name("rolling");
        String input = application + "-lines";
        String output = application + "-out";
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, 2);
        int rounds = lane.full ? 2 : 1;
        List<Application> instances = new ArrayList<>();
        try (Words words = new Words(lane, input); Flow flow = new Flow(words)) {
            for (int number = 1; number <= 3; number++) {
                instances.add(start(lane, application, number));
            }
            awaitBalance(instances);
            flow.start();
            for (int round = 0; round < rounds; round++) {
                for (int number = 1; number <= 3; number++) {
                    instances.get(number - 1).close();
                    instances.set(number - 1, start(lane, application, number));
                    awaitBalance(instances);
                    if (number == 2 && lane.broker.isPresent()) {
                        lane.broker.get().stop();
                        lane.broker.get().start();
                    }
                }
            }
            flow.stop();
            words.awaitCounts(output, LIMIT, () -> instances.forEach(Application::check));
            awaitBalance(instances);
        } finally {
            instances.forEach(Application::close);
        }
    }

    private static Application start(Lane lane, String application, int number) {
        return new Application(lane, application, number, WordCount.topology(application + "-lines", application + "-out"), Map.of()).start();
    }

    private static void awaitBalance(List<Application> instances) throws Exception {
        Wait.until("each instance has its third of the tasks", LIMIT,
            () -> instances.stream().allMatch(instance -> instance.running(TASKS / instances.size())));
    }

    private static void killed(Lane lane) throws Exception {
        String application = lane.name("killed");
        String input = application + "-lines";
        String output = application + "-out";
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, 2);
        try (Words words = new Words(lane, input); Flow flow = new Flow(words); Application first = start(lane, application, 1)) {
            Wait.until("the first instance has all tasks", LIMIT, () -> first.running(TASKS));
            flow.start();
            Path log = Files.createFile(lane.directory.resolve(application + "-child.log"));
            Process child = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m",
                "-cp", System.getProperty("java.class.path"), Waits.Instance.class.getName(),
                lane.bootstrap, application, lane.directory.resolve(application + "-child").toString())
                .redirectErrorStream(true).redirectOutput(log.toFile()).start();
            try {
                Wait.until("the child process has its part", LIMIT, () -> {
                    if (!child.isAlive()) {
                        throw new AssertionError("the child process ended with code " + child.exitValue());
                    }
                    return first.streams.state() == org.apache.kafka.streams.KafkaStreams.State.RUNNING && first.activeTasks().size() < TASKS;
                });
                // Its tasks count for a while, so that the kill cuts off something.
                long counted = words.lines();
                Wait.until("lines flow", LIMIT, () -> words.lines() > counted + 1_000);
            } finally {
                child.destroyForcibly().waitFor();
            }
            long start = System.nanoTime();
            Wait.until("the killed instance is replaced", LIMIT, () -> first.running(TASKS));
            System.out.printf("     killed with -9: its tasks run again after %d ms%n", (System.nanoTime() - start) / 1_000_000);
            flow.stop();
            awaitAtLeast(lane, words, output, first);
        }
    }

    private static void awaitAtLeast(Lane lane, Words words, String output, Application instance) throws Exception {
        Map<String, Long> seen = new TreeMap<>();
        Properties config = new Properties();
        config.put("bootstrap.servers", lane.bootstrap);
        config.put("max.poll.records", "20000");
        try (KafkaConsumer<String, Long> consumer = new KafkaConsumer<>(config, new StringDeserializer(), new LongDeserializer())) {
            List<TopicPartition> partitions = consumer.partitionsFor(output).stream()
                .map(info -> new TopicPartition(output, info.partition())).toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Wait.until("every word is counted", LIMIT, () -> {
                instance.check();
                for (ConsumerRecord<String, Long> record : consumer.poll(Duration.ofMillis(100))) {
                    seen.put(record.key(), record.value());
                }
                return words.expected.entrySet().stream().allMatch(word -> seen.getOrDefault(word.getKey(), 0L) >= word.getValue());
            });
        }
        if (!seen.keySet().equals(words.expected.keySet())) {
            throw new AssertionError("words that nobody sent: " + Output.difference(seen, words.expected));
        }
        long total = seen.values().stream().mapToLong(Long::longValue).sum();
        long expected = words.expected.values().stream().mapToLong(Long::longValue).sum();
        System.out.printf("     killed with -9: %d words, %d counted twice%n", expected, total - expected);
    }
}
