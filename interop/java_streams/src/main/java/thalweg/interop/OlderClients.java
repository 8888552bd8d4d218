package thalweg.interop;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.kafka.streams.KafkaStreams;

/**
 * The word count by instances of Kafka Streams 4.2 and 4.3, each a process with jars of its own: alone, and then a rolling
 * upgrade over both to 4.4 in one group. Every word is counted once.
 *
 * <p>Streams groups, scenario 348.
 */
final class OlderClients implements Main.Scenario {
    private static final List<String> VERSIONS = List.of("4.2", "4.3");
    private static final int PARTITIONS = 4;
    private static final Duration LIMIT = Duration.ofSeconds(120);

    @Override
    public void run(Lane lane) throws Exception {
        for (String version : VERSIONS) {
            alone(lane, version);
        }
        upgrade(lane);
    }

    private static void alone(Lane lane, String version) throws Exception {
        String application = lane.name("old-" + version);
        prepare(lane, application);
        try (Words words = new Words(lane, application + "-lines")) {
            try (Child one = new Child(lane, version, application, 1); Child two = new Child(lane, version, application, 2)) {
                words.send(1_000);
                words.awaitCounts(application + "-out", LIMIT, () -> check(one, two));
                Wait.until("both have tasks", LIMIT, () -> one.tasks() == PARTITIONS && two.tasks() == PARTITIONS);
                words.send(1_000);
                words.awaitCounts(application + "-out", LIMIT, () -> check(one, two));
            }
        }
    }

    private static void upgrade(Lane lane) throws Exception {
        String application = lane.name("old-upgrade");
        prepare(lane, application);
        try (Words words = new Words(lane, application + "-lines"); Flow flow = new Flow(words)) {
            try (Child oldest = new Child(lane, "4.2", application, 1)) {
                Wait.until("4.2 has all tasks", LIMIT, () -> oldest.tasks() == 2 * PARTITIONS);
                flow.start();
                try (Child old = new Child(lane, "4.3", application, 2)) {
                    Wait.until("4.2 and 4.3 share the tasks", LIMIT, () -> oldest.tasks() == PARTITIONS && old.tasks() == PARTITIONS);
                    oldest.close();
                    Wait.until("4.3 has all tasks", LIMIT, () -> old.tasks() == 2 * PARTITIONS);
                    try (Application now = new Application(lane, application, 3,
                            WordCount.topology(application + "-lines", application + "-out"), Map.of()).start()) {
                        Wait.until("4.3 and 4.4 share the tasks", LIMIT, () -> old.tasks() == PARTITIONS && now.running(PARTITIONS));
                        old.close();
                        Wait.until("4.4 has all tasks", LIMIT, () -> now.running(2 * PARTITIONS));
                        flow.stop();
                        words.awaitCounts(application + "-out", LIMIT, now::check);
                    }
                }
            }
        }
    }

    private static void prepare(Lane lane, String application) throws Exception {
        lane.createTopic(application + "-lines", PARTITIONS);
        lane.createTopic(application + "-out", 2);
    }

    private static void check(Child... children) {
        for (Child child : children) {
            child.check();
        }
    }

    /** An instance in a process, which tells its tasks in its output and closes when its input ends. */
    private static final class Child implements AutoCloseable {
        private final Path log;
        private final Process process;
        private boolean closed;

        Child(Lane lane, String version, String application, int number) throws Exception {
            log = Files.createFile(lane.directory.resolve(application + "-" + number + ".log"));
            process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m",
                    "-cp", classPath(version), Instance.class.getName(), version, lane.bootstrap, application,
                    lane.directory.resolve(application + "-state-" + number).toString())
                .redirectErrorStream(true).redirectOutput(log.toFile()).start();
        }

        /** Our own classes, Kafka's of that version, and the libraries of others as they are. */
        private static String classPath(String version) throws Exception {
            List<String> path = new ArrayList<>();
            Path older = null;
            for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
                String name = Path.of(entry).getFileName().toString();
                if (name.startsWith("kafka-streams-")) {
                    older = Path.of(entry).toAbsolutePath().getParent().resolveSibling("lib-" + version);
                }
                if (!name.startsWith("kafka")) {
                    path.add(entry);
                }
            }
            if (older == null || !Files.isDirectory(older)) {
                throw new AssertionError("no Kafka Streams " + version + " in " + older + ": mvn package copies it");
            }
            try (Stream<Path> jars = Files.list(older)) {
                return Stream.concat(jars.map(Path::toString), path.stream()).collect(Collectors.joining(File.pathSeparator));
            }
        }

        void check() {
            if (!process.isAlive()) {
                throw new AssertionError("an instance ended with code " + process.exitValue() + ", see " + log);
            }
        }

        /** The last number of tasks that it told as RUNNING, or -1. */
        int tasks() throws Exception {
            check();
            String last = "-1";
            for (String line : Files.readAllLines(log)) {
                if (line.startsWith(Instance.TASKS)) {
                    last = line.substring(Instance.TASKS.length());
                }
            }
            return Integer.parseInt(last);
        }

        @Override
        public void close() throws Exception {
            if (closed) {
                return;
            }
            closed = true;
            process.getOutputStream().close();
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
                throw new AssertionError("an instance did not close within 60 s, see " + log);
            }
            if (process.exitValue() != 0) {
                throw new AssertionError("an instance ended with code " + process.exitValue() + ", see " + log);
            }
        }
    }

    /** Version, bootstrap, application, state directory. Only what all versions have is used here. */
    static final class Instance {
        static final String TASKS = "tasks: ";

        public static void main(String[] args) throws Exception {
            String jar = KafkaStreams.class.getProtectionDomain().getCodeSource().getLocation().getPath();
            if (!jar.contains("kafka-streams-" + args[0] + ".")) {
                System.out.println("this is not " + args[0] + ": " + jar);
                System.exit(3);
            }
            try (WordCount instance = new WordCount(args[1], Path.of(args[3]), args[2], args[2] + "-lines", args[2] + "-out", 2)) {
                instance.start();
                AtomicBoolean ended = new AtomicBoolean();
                Thread input = new Thread(() -> awaitEnd(ended));
                input.setDaemon(true);
                input.start();
                int told = -1;
                while (!ended.get()) {
                    int now = instance.state() == KafkaStreams.State.RUNNING ? instance.activeTasks().size() : -1;
                    if (now != told) {
                        told = now;
                        System.out.println(TASKS + now);
                    }
                    Thread.sleep(50);
                }
            }
            System.exit(0);
        }

        /** The input ends with the parent at the latest. */
        private static void awaitEnd(AtomicBoolean ended) {
            try {
                while (System.in.read() >= 0) {
                    // Nothing is sent.
                }
            } catch (java.io.IOException broken) {
                System.out.println(broken);
            }
            ended.set(true);
        }

        private Instance() {}
    }
}
