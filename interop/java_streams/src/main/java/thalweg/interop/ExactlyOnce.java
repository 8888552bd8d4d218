package thalweg.interop;

import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The word count with `exactly_once_v2`: an instance in a process of its own is killed, then the broker is killed. Readers
 * of committed records see every word counted once, also in between.
 *
 * <p>Streams groups, scenario 335.
 */
final class ExactlyOnce implements Main.Scenario {
    private static final int PARTITIONS = 4;
    private static final Duration LIMIT = Duration.ofSeconds(90);

    @Override
    public void run(Lane lane) throws Exception {
        String application = lane.name("eos");
        String input = lane.name("eos-lines");
        String output = lane.name("eos-counts");
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, 2);
        int lines = lane.full ? 20_000 : 2_000;
        int rounds = lane.full ? 3 : 1;
        try (Words words = new Words(lane, input)) {
            words.isolation = "read_committed";
            WordCount first = lane.exactlyOnce(application, input, output, 1);
            words.send(lines);
            words.awaitCounts(output, LIMIT, first::check);

            for (int round = 1; round <= rounds; round++) {
                Process second = start(lane, application, input, output, 1 + round);
                try {
                    Wait.until("the second instance has half of the tasks", LIMIT, () -> {
                        if (!second.isAlive()) {
                            throw new AssertionError("the second instance ended with code " + second.exitValue());
                        }
                        return first.activeTasks().size() == PARTITIONS;
                    });
                    words.send(lines / 2);
                    Thread.sleep(300);
                } finally {
                    // SIGKILL: its transactions stay open until they time out or its tasks move.
                    second.destroyForcibly().waitFor();
                }
                words.send(lines / 2);
                words.awaitCounts(output, LIMIT, first::check);

                if (lane.broker.isPresent()) {
                    ScaleAndKill.killInTheMiddle(lane, words, lines);
                }
                words.awaitCounts(output, LIMIT, first::check);
            }
        }
    }

    private static Process start(Lane lane, String application, String input, String output, int number) throws Exception {
        return start(lane, ExactlyOnce.class, application, input, output, number);
    }

    /** An instance in a process of its own, with the `main` of a story that knows its topology. */
    static Process start(Lane lane, Class<?> story, String application, String input, String output, int number) throws Exception {
        Path state = lane.directory.resolve("state-" + number);
        File log = lane.directory.resolve("instance-" + number + ".log").toFile();
        return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("java.class.path"), "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
                story.getName(), lane.bootstrap, state.toString(), application, input, output)
            .redirectErrorStream(true).redirectOutput(log).start();
    }

    /** An instance that runs until it is killed. */
    public static void main(String[] args) throws Exception {
        runUntilKilled(List.of(args), WordCount.topology(args[3], args[4]));
    }

    static void runUntilKilled(List<String> words, org.apache.kafka.streams.Topology topology) throws Exception {
        try (WordCount instance = new WordCount(words.get(0), Path.of(words.get(1)), words.get(2), topology, 2, "exactly_once_v2")) {
            instance.start();
            while (true) {
                instance.check();
                Thread.sleep(100);
            }
        }
    }
}
