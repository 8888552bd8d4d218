package thalweg.interop;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.CloseOptions.GroupMembershipOperation;

/**
 * The word count with `group.protocol=classic`: instances come and go, the broker is killed, every word is counted once.
 * Then the application changes to the streams protocol and back, stopped in between: it goes on where it was. As long as
 * it has members of one protocol, an instance of the other one is refused.
 */
final class ClassicProtocol implements Main.Scenario {
    private static final int PARTITIONS = 4;
    private static final int TASKS = 2 * PARTITIONS;
    private static final Duration LIMIT = Duration.ofSeconds(120);
    private static final Map<String, Object> CLASSIC = Map.of("group.protocol", "classic",
        "session.timeout.ms", "6000", "heartbeat.interval.ms", "1000");
    private static final Map<String, Object> STREAMS = Map.of("group.protocol", "streams");

    private Lane lane;
    private String application;
    private String input;
    private String output;
    private int number;

    @Override
    public void run(Lane from) throws Exception {
        lane = from;
        for (String guarantee : lane.full ? List.of("at_least_once", "exactly_once_v2") : List.of("at_least_once")) {
            application = lane.name("classic-" + guarantee.substring(0, 2));
            input = application + "-lines";
            output = application + "-counts";
            lane.createTopic(input, PARTITIONS);
            lane.createTopic(output, 2);
            try (Words words = new Words(lane, input)) {
                words.isolation = guarantee.equals("exactly_once_v2") ? "read_committed" : "read_uncommitted";
                scale(words, Map.of("processing.guarantee", guarantee));
                for (int round = 0; round < (lane.full ? 2 : 1); round++) {
                    change(words, Map.of("processing.guarantee", guarantee));
                }
            }
        }
    }

    private Application start(Map<String, Object> protocol, Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(settings);
        all.putAll(protocol);
        return new Application(lane, application, ++number, WordCount.topology(input, output), all).start();
    }

    private void scale(Words words, Map<String, Object> settings) throws Exception {
        int lines = lane.full ? 5_000 : 1_000;
        try (Application first = start(CLASSIC, settings)) {
            words.send(lines);
            words.awaitCounts(output, LIMIT, first::check);
            expect(GroupType.CLASSIC, GroupState.STABLE);
            try (Application second = start(CLASSIC, settings)) {
                Wait.until("both instances have half of the tasks", LIMIT,
                    () -> first.running(TASKS / 2) && second.running(TASKS / 2));
                ScaleAndKill.killInTheMiddle(lane, words, lines);
                words.awaitCounts(output, LIMIT, () -> {
                    first.check();
                    second.check();
                });
                second.close(GroupMembershipOperation.LEAVE_GROUP);
            }
            Wait.until("one instance has all tasks", LIMIT, () -> first.running(TASKS));
            words.send(lines);
            words.awaitCounts(output, LIMIT, first::check);
        }
        // The default of this protocol: nobody leaves, sessions end.
        Wait.until("the session of the last member ends", LIMIT, () -> state().equals(Optional.of(GroupState.EMPTY)));
    }

    private void change(Words words, Map<String, Object> settings) throws Exception {
        Map<TopicPartition, Long> before = offsets();
        try (Application streams = start(STREAMS, settings)) {
            goesOn(words, streams, before, GroupType.STREAMS);
            refuse(CLASSIC, settings, "InconsistentGroupProtocolException");
        }
        Wait.until("the streams group is empty", LIMIT, () -> state().equals(Optional.of(GroupState.EMPTY)));
        before = offsets();
        try (Application classic = start(CLASSIC, settings)) {
            goesOn(words, classic, before, GroupType.CLASSIC);
            refuse(STREAMS, settings, "GroupIdNotFoundException");
            classic.close(GroupMembershipOperation.LEAVE_GROUP);
        }
        Wait.until("the classic group is empty", LIMIT, () -> state().equals(Optional.of(GroupState.EMPTY)));
    }

    /** The changed application has its offsets, counts nothing again and goes on counting. */
    private void goesOn(Words words, Application instance, Map<TopicPartition, Long> before, GroupType type) throws Exception {
        Wait.until("the instance has all tasks", LIMIT, () -> instance.running(TASKS));
        expect(type, GroupState.STABLE);
        if (!offsets().equals(before)) {
            throw new AssertionError("offsets of the changed group: " + offsets() + " instead of " + before);
        }
        words.send(500);
        words.awaitCounts(output, LIMIT, instance::check);
    }

    private void refuse(Map<String, Object> protocol, Map<String, Object> settings, String problem) throws Exception {
        try (Application other = start(protocol, settings)) {
            Wait.until("an instance of the other protocol ends", LIMIT, () -> other.died.get() != null);
            if (!other.failure().contains(problem)) {
                throw new AssertionError("it should tell " + problem + ": " + other.failure());
            }
        }
    }

    private Map<TopicPartition, Long> offsets() throws Exception {
        Map<TopicPartition, Long> offsets = new HashMap<>();
        lane.admin.listConsumerGroupOffsets(application).partitionsToOffsetAndMetadata().get(30, TimeUnit.SECONDS)
            .forEach((partition, offset) -> offsets.put(partition, offset.offset()));
        return offsets;
    }

    private Optional<GroupListing> listed() throws Exception {
        return lane.admin.listGroups().all().get(30, TimeUnit.SECONDS).stream()
            .filter(group -> group.groupId().equals(application)).findFirst();
    }

    private Optional<GroupState> state() throws Exception {
        return listed().flatMap(GroupListing::groupState);
    }

    private void expect(GroupType type, GroupState state) throws Exception {
        Wait.until("the group is " + state, LIMIT, () -> state().equals(Optional.of(state)));
        if (!listed().orElseThrow().type().equals(Optional.of(type))) {
            throw new AssertionError("the group is " + listed() + ", not " + type);
        }
    }
}
