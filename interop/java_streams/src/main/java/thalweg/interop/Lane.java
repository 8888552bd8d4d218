package thalweg.interop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.config.ConfigResource;

/** What one scenario works with: a broker, maybe behind a recording proxy, an admin client, a directory, and names of its own. */
final class Lane implements AutoCloseable {
    final String bootstrap;
    final Optional<Broker> broker;
    private final Optional<Recording> recording;
    final Path directory;
    final long seed;
    final boolean full;
    final Admin admin;
    /** Apache Kafka, for measurements beside. */
    final Optional<Lane> kafka;
    private final List<WordCount> instances = new ArrayList<>();

    private Lane(String bootstrap, Optional<Broker> broker, Optional<Recording> recording, Optional<Lane> kafka, Path directory,
            long seed, boolean full) {
        this.bootstrap = bootstrap;
        this.broker = broker;
        this.recording = recording;
        this.kafka = kafka;
        this.directory = directory;
        this.seed = seed;
        this.full = full;
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    static Lane open(Map<String, String> options, Path directory, long seed, boolean full, boolean recorded) throws Exception {
        Files.createDirectories(directory);
        if (options.containsKey("bootstrap")) {
            return running(options.get("bootstrap"), directory, seed, full);
        }
        Broker broker = new Broker(options.get("broker"), directory.resolve("broker"));
        try {
            broker.start();
            Optional<Recording> recording = recorded
                ? Optional.of(new Recording(options.get("broker"), broker.bootstrap(), directory)) : Optional.empty();
            String bootstrap = recording.map(it -> it.bootstrap).orElse(broker.bootstrap());
            Optional<Lane> kafka = options.containsKey("kafka")
                ? Optional.of(running(options.get("kafka"), Files.createDirectories(directory.resolve("kafka")), seed, full)) : Optional.empty();
            return new Lane(bootstrap, Optional.of(broker), recording, kafka, directory, seed, full);
        } catch (Exception problem) {
            broker.close();
            throw problem;
        }
    }

    /** Of a broker that somebody else has started. */
    private static Lane running(String bootstrap, Path directory, long seed, boolean full) {
        return new Lane(bootstrap, Optional.empty(), Optional.empty(), Optional.empty(), directory, seed, full);
    }

    /** Whose figures these are. */
    String label() {
        return broker.isPresent() ? "Thalweg" : bootstrap;
    }

    /** A name that no other run uses, so that a broker may serve several runs. */
    String name(String base) {
        return base + "-" + seed;
    }

    void createTopic(String name, int partitions) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get(30, TimeUnit.SECONDS);
    }

    void setGroupConfig(String group, String name, String value) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        AlterConfigOp set = new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(set))).all().get(30, TimeUnit.SECONDS);
    }

    /** Starts an instance of the word count, which ends with the lane. */
    WordCount instance(String application, String input, String output, int number) {
        return instance(application, input, output, number, 2);
    }

    WordCount instance(String application, String input, String output, int number, int threads) {
        Path state = directory.resolve("state-" + number);
        WordCount instance = new WordCount(bootstrap, state, application, input, output, threads);
        instances.add(instance);
        instance.start();
        return instance;
    }

    /** The word count with `exactly_once_v2`. */
    WordCount exactlyOnce(String application, String input, String output, int number) {
        return exactlyOnce(application, WordCount.topology(input, output), number);
    }

    WordCount exactlyOnce(String application, org.apache.kafka.streams.Topology topology, int number) {
        Path state = directory.resolve("state-" + number);
        WordCount instance = new WordCount(bootstrap, state, application, topology, 2, "exactly_once_v2");
        instances.add(instance);
        instance.start();
        return instance;
    }

    String streamsGroupCommand(String... arguments) throws Exception {
        return tool("org.apache.kafka.tools.streams.StreamsGroupCommand", arguments);
    }

    /** Output of one of Kafka's own command-line tools, run as a process like a user would. */
    String tool(String name, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp", System.getProperty("java.class.path"),
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
            name, "--bootstrap-server", bootstrap));
        command.addAll(List.of(arguments));
        Path out = Files.createTempFile(directory, "tool-", ".txt");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile()).start();
        if (!process.waitFor(60, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError(name + " did not end within 60 s");
        }
        String text = Files.readString(out);
        if (process.exitValue() != 0) {
            throw new AssertionError(name + " ended with code " + process.exitValue() + ":\n" + text);
        }
        return text;
    }

    @Override
    public void close() throws Exception {
        for (WordCount instance : instances) {
            instance.close();
        }
        admin.close(java.time.Duration.ofSeconds(5));
        if (kafka.isPresent()) {
            kafka.get().close();
        }
        try {
            if (recording.isPresent()) {
                recording.get().check();
            }
        } finally {
            recording.ifPresent(Recording::close);
            if (broker.isPresent()) {
                broker.get().close();
            }
        }
    }

    static void delete(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
    }
}
