package thalweg.interop;

import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;

/**
 * With `streams.num.standby.replicas=1` in the group's config, each of two instances keeps a standby of the other's
 * stateful tasks, and takes them over after a close without reading the changelog from its beginning.
 *
 * <p>Streams groups, scenario 326.
 */
final class StandbyTakesOver implements Main.Scenario {
    private static final int PARTITIONS = 4;
    private static final Duration LIMIT = Duration.ofSeconds(60);

    @Override
    public void run(Lane lane) throws Exception {
        String application = lane.name("standby");
        String input = lane.name("standby-lines");
        String output = lane.name("standby-counts");
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, 2);
        lane.setGroupConfig(application, "streams.num.standby.replicas", "1");
        int lines = lane.full ? 20_000 : 2_000;
        try (Words words = new Words(lane, input)) {
            WordCount first = lane.instance(application, input, output, 1);
            WordCount second = lane.instance(application, input, output, 2);
            words.send(lines);
            Wait.until("each stateful task has a standby", LIMIT, () -> {
                Set<String> standbys = new TreeSet<>(first.standbyTasks());
                standbys.addAll(second.standbyTasks());
                return standbys.size() == PARTITIONS && first.activeTasks().size() + second.activeTasks().size() == 2 * PARTITIONS;
            });
            words.awaitCounts(output, LIMIT, () -> {
                first.check();
                second.check();
            });
            Wait.until("the standby tasks have caught up", LIMIT, () -> second.standbyLag() == 0);

            long restoredBefore = second.restored.get();
            first.close();
            Wait.until("the second instance has all tasks", LIMIT, () -> second.activeTasks().size() == 2 * PARTITIONS);
            words.send(lines);
            words.awaitCounts(output, LIMIT, second::check);
            long restored = second.restored.get() - restoredBefore;
            if (restored > lines / 10) {
                throw new AssertionError("the take-over read " + restored + " records from changelogs instead of using its standbys");
            }
        }
    }
}
