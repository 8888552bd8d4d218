package thalweg.interop;

import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;

/**
 * Word count over 4 partitions: one instance, then two, then one again, with the broker killed and started again while
 * two instances count. Every word is counted once.
 *
 * <p>Streams groups, scenario 325.
 */
final class ScaleAndKill implements Main.Scenario {
    private static final int PARTITIONS = 4;
    private static final Duration LIMIT = Duration.ofSeconds(60);

    @Override
    public void run(Lane lane) throws Exception {
        String application = lane.name("scale");
        String input = lane.name("scale-lines");
        String output = lane.name("scale-counts");
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, 2);
        int lines = lane.full ? 20_000 : 2_000;
        int rounds = lane.full ? 4 : 1;
        try (Words words = new Words(lane, input)) {
            WordCount first = lane.instance(application, input, output, 1);
            words.send(lines);
            words.awaitCounts(output, LIMIT, first::check);

            for (int round = 1; round <= rounds; round++) {
                WordCount second = lane.instance(application, input, output, 1 + round);
                words.send(lines);
                Wait.until("both instances have half of the tasks", LIMIT,
                    () -> first.activeTasks().size() == PARTITIONS && second.activeTasks().size() == PARTITIONS);
                allTasksOnce(first, second);
                describe(lane, application, input);

                killInTheMiddle(lane, words, lines);
                words.awaitCounts(output, LIMIT, () -> {
                    first.check();
                    second.check();
                });

                second.close();
                words.send(lines);
                Wait.until("one instance has all tasks", LIMIT, () -> first.activeTasks().size() == 2 * PARTITIONS);
                words.awaitCounts(output, LIMIT, first::check);
            }
        }
    }

    private static void allTasksOnce(WordCount first, WordCount second) {
        Set<String> all = new TreeSet<>(first.activeTasks());
        all.addAll(second.activeTasks());
        if (all.size() != 2 * PARTITIONS) {
            throw new AssertionError("not every task has one owner: " + first.activeTasks() + " and " + second.activeTasks());
        }
    }

    /** Sends from a second thread, so that produce requests, commits and heartbeats are cut off in flight. */
    static void killInTheMiddle(Lane lane, Words words, int lines) throws Exception {
        if (lane.broker.isEmpty()) {
            words.send(lines);
            return;
        }
        Throwable[] problem = new Throwable[1];
        Thread sender = new Thread(() -> {
            try {
                for (int i = 0; i < 10; i++) {
                    words.send(lines / 10);
                    Thread.sleep(100);
                }
            } catch (Throwable failure) {
                problem[0] = failure;
            }
        });
        sender.start();
        Thread.sleep(500);
        lane.broker.get().kill();
        Thread.sleep(500);
        lane.broker.get().start();
        sender.join();
        if (problem[0] != null) {
            throw new AssertionError("sending failed across the broker's restart", problem[0]);
        }
    }

    /** What `kafka-streams-groups.sh --describe` must show of a running word count. */
    private static void describe(Lane lane, String application, String input) throws Exception {
        String members = lane.streamsGroupCommand("--describe", "--group", application, "--members");
        String state = lane.streamsGroupCommand("--describe", "--group", application, "--state");
        String offsets = lane.streamsGroupCommand("--describe", "--group", application, "--offsets");
        System.out.print(members + state + offsets);
        long rows = members.lines().filter(line -> line.contains(application + "-") && line.contains("ACTIVE")).count();
        if (rows != 4) {
            throw new AssertionError("4 members with active tasks should be described:\n" + members);
        }
        if (!state.contains("Stable")) {
            throw new AssertionError("the group should be Stable:\n" + state);
        }
        if (offsets.lines().filter(line -> line.contains(input)).count() != PARTITIONS) {
            throw new AssertionError("the offsets of each partition should be described:\n" + offsets);
        }
    }
}
