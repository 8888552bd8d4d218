package thalweg.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;

/**
 * Instances with `group.instance.id`: one that restarts within its session gets its tasks back, the other one sees nothing
 * of it; a second instance of the same id is refused; who leaves for good gives the tasks up.
 */
final class StaticMembers implements Main.Scenario {
    private static final int PARTITIONS = 4;
    private static final int TASKS = 2 * PARTITIONS;
    private static final Duration LIMIT = Duration.ofSeconds(60);

    @Override
    public void run(Lane lane) throws Exception {
        String application = lane.name("static");
        String input = lane.name("static-lines");
        String output = lane.name("static-counts");
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, 2);
        int lines = lane.full ? 5_000 : 1_000;
        int rounds = lane.full ? 3 : 1;
        List<Application> started = new ArrayList<>();
        try (Words words = new Words(lane, input)) {
            Application first = start(lane, started, application, input, output, 1, "one");
            Application second = start(lane, started, application, input, output, 2, "two");
            words.send(lines);
            awaitHalves(first, second);
            words.awaitCounts(output, LIMIT, first::check);

            for (int round = 0; round < rounds; round++) {
                second = restart(lane, started, application, input, output, words, lines, first, second);
            }
            refuseDuplicate(lane, started, application, input, output, first, second);

            second.close(CloseOptions.GroupMembershipOperation.LEAVE_GROUP);
            Wait.until("the first instance has all tasks", LIMIT, () -> first.running(TASKS));
            words.send(lines);
            words.awaitCounts(output, LIMIT, first::check);
            Set<String> ids = instanceIds(describe(lane, application));
            if (!ids.equals(Set.of("one-1", "one-2"))) {
                throw new AssertionError("who left for good is still a member: " + ids);
            }
        } finally {
            started.forEach(Application::close);
        }
    }

    private static Application start(Lane lane, List<Application> started, String application, String input, String output,
            int number, String id) {
        Application instance = new Application(lane, application, number, WordCount.topology(input, output),
            Map.of("group.instance.id", id));
        started.add(instance);
        return instance.start();
    }

    private static void awaitHalves(Application first, Application second) throws Exception {
        Wait.until("both instances have half of the tasks", LIMIT, () -> first.running(TASKS / 2) && second.running(TASKS / 2));
    }

    private static StreamsGroupDescription describe(Lane lane, String group) throws Exception {
        return lane.admin.describeStreamsGroups(List.of(group)).describedGroups().get(group).get(30, TimeUnit.SECONDS);
    }

    private static Set<String> instanceIds(StreamsGroupDescription group) {
        Set<String> ids = new TreeSet<>();
        group.members().forEach(member -> ids.add(member.instanceId().orElse("no id: " + member.memberId())));
        return ids;
    }

    private static Application restart(Lane lane, List<Application> started, String application, String input, String output,
            Words words, int lines, Application first, Application second) throws Exception {
        Set<String> owned = second.activeTasks();
        Set<String> others = first.activeTasks();
        int states = first.states.size();
        StreamsGroupDescription before = describe(lane, application);
        if (!instanceIds(before).equals(Set.of("one-1", "one-2", "two-1", "two-2"))) {
            throw new AssertionError("instance ids: " + instanceIds(before));
        }

        second.close();
        words.send(lines);
        Application again = start(lane, started, application, input, output, 2, "two");
        Wait.until("the instance that came back has its tasks", LIMIT, () -> again.running(TASKS / 2));
        words.send(lines);
        words.awaitCounts(output, LIMIT, () -> {
            first.check();
            again.check();
        });

        if (!again.activeTasks().equals(owned) || !first.activeTasks().equals(others)) {
            throw new AssertionError("tasks moved: " + owned + " and " + others + " became " + again.activeTasks() + " and "
                + first.activeTasks());
        }
        if (first.states.size() != states || first.streams.state() != KafkaStreams.State.RUNNING) {
            throw new AssertionError("the other instance saw a rebalance: " + first.states);
        }
        StreamsGroupDescription after = describe(lane, application);
        if (after.groupEpoch() != before.groupEpoch()) {
            throw new AssertionError("the group's epoch went from " + before.groupEpoch() + " to " + after.groupEpoch());
        }
        return again;
    }

    /** A second instance of the same id ends with a failure that says why, and nobody else notices. */
    private static void refuseDuplicate(Lane lane, List<Application> started, String application, String input, String output,
            Application first, Application second) throws Exception {
        Set<String> owned = second.activeTasks();
        Application twin = start(lane, started, application, input, output, 3, "two");
        Wait.until("the second instance of the same id ends", LIMIT, () -> twin.streams.state() == KafkaStreams.State.ERROR);
        if (!twin.failure().contains("UnreleasedInstanceIdException")) {
            throw new AssertionError("an instance id in use should be told: " + twin.failure());
        }
        twin.close();
        if (!first.running(TASKS / 2) || !second.running(TASKS / 2) || !second.activeTasks().equals(owned)) {
            throw new AssertionError("the refused instance disturbed the others: " + first.activeTasks() + " " + second.activeTasks());
        }
    }
}
