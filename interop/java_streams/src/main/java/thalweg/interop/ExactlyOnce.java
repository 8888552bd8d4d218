package thalweg.interop;

import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.FinalizedVersionRange;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;

/**
 * The word count with `exactly_once_v2`: an instance in a process of its own is killed, then the broker is killed. Readers
 * of committed records see every word counted once, also in between. The long form goes on while `transaction.version`
 * falls and rises: one instance has connections from before, one begins at the new level.
 *
 * <p>Streams groups, scenario 335.
 */
final class ExactlyOnce implements Main.Scenario {
    private static final int PARTITIONS = 4;
    private static final String FEATURE = "transaction.version";
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
                withSecond(lane, application, input, output, 1 + round, first, () -> {
                    words.send(lines / 2);
                    Thread.sleep(300);
                });
                words.send(lines / 2);
                words.awaitCounts(output, LIMIT, first::check);

                if (lane.broker.isPresent()) {
                    ScaleAndKill.killInTheMiddle(lane, words, lines);
                }
                words.awaitCounts(output, LIMIT, first::check);
            }
            if (lane.full) {
                int number = 1 + rounds;
                for (int level : List.of(1, 0, 2)) {
                    number++;
                    try (Flow flow = new Flow(words)) {
                        flow.start();
                        level(lane, level);
                        withSecond(lane, application, input, output, number, first, () -> Thread.sleep(1_000));
                        flow.stop();
                    }
                    words.awaitCounts(output, LIMIT, first::check);
                    System.out.println("every word counted once at transaction.version " + level);
                }
            }
        }
    }

    /** What is done while a second instance has half of the tasks, which is killed then. */
    private interface Deed {
        void run() throws Exception;
    }

    private static void withSecond(Lane lane, String application, String input, String output, int number, WordCount first,
            Deed deed) throws Exception {
        Process second = start(lane, application, input, output, number);
        try {
            Wait.until("the second instance has half of the tasks", LIMIT, () -> {
                if (!second.isAlive()) {
                    throw new AssertionError("the second instance ended with code " + second.exitValue());
                }
                return first.activeTasks().size() == PARTITIONS;
            });
            deed.run();
        } finally {
            // SIGKILL: its transactions stay open until they time out or its tasks move.
            second.destroyForcibly().waitFor();
        }
    }

    private static void level(Lane lane, int level) throws Exception {
        short before = finalized(lane);
        FeatureUpdate.UpgradeType type = level < before ? FeatureUpdate.UpgradeType.SAFE_DOWNGRADE : FeatureUpdate.UpgradeType.UPGRADE;
        FeatureUpdate update = new FeatureUpdate((short) level, type);
        lane.admin.updateFeatures(Map.of(FEATURE, update), new UpdateFeaturesOptions()).all().get(30, TimeUnit.SECONDS);
        if (finalized(lane) != level) {
            throw new AssertionError(FEATURE + " is " + finalized(lane) + ", not " + level);
        }
    }

    /** 0 if it is not among the finalized features. */
    private static short finalized(Lane lane) throws Exception {
        FinalizedVersionRange range = lane.admin.describeFeatures().featureMetadata().get(30, TimeUnit.SECONDS)
            .finalizedFeatures().get(FEATURE);
        return range == null ? 0 : range.maxVersionLevel();
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
