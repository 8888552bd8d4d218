package thalweg.interop;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.common.GroupState;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Repartitioned;

/**
 * Source topics that are not there or whose partition numbers contradict each other: the client ends with an exception
 * that names them, the group is described as not ready, it works once the topic is there, and another application on the
 * same broker notices nothing.
 *
 * <p>Streams groups, scenarios 329 and 330.
 */
final class TopicsMissingOrWrong implements Main.Scenario {
    private static final int PARTITIONS = 4;
    private static final Duration LIMIT = Duration.ofSeconds(90);

    @Override
    public void run(Lane lane) throws Exception {
        String application = lane.name("healthy");
        String input = lane.name("healthy-lines");
        String output = lane.name("healthy-counts");
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, 2);
        try (Words words = new Words(lane, input);
             Application healthy = new Application(lane, application, 1, WordCount.topology(input, output), Map.of()).start();
             Flow flow = new Flow(words)) {
            Wait.until("the healthy application runs", LIMIT, () -> healthy.running(2 * PARTITIONS));
            int states = healthy.states.size();
            flow.start();
            missing(lane);
            unequal(lane);
            unequalBehindRepartition(lane);
            flow.stop();
            words.awaitCounts(output, LIMIT, healthy::check);
            if (healthy.states.size() != states || !healthy.running(2 * PARTITIONS)) {
                throw new AssertionError("the healthy application was disturbed: " + healthy.states);
            }
        }
    }

    private static GroupState state(Lane lane, String group) throws Exception {
        return lane.admin.describeStreamsGroups(List.of(group)).describedGroups().get(group).get(30, TimeUnit.SECONDS).groupState();
    }

    /** Waits for the end of an instance, and for its group being described as not ready. */
    private static void awaitFailure(Lane lane, String application, Application instance, String... told) throws Exception {
        Wait.until(application + " is described as not ready", LIMIT,
            () -> !instance.states.isEmpty() && describedAs(lane, application, GroupState.NOT_READY));
        why(lane, application, told);
        Wait.until(application + " ends", LIMIT, () -> instance.streams.state() == KafkaStreams.State.ERROR);
        for (String text : told) {
            if (!instance.failure().contains(text)) {
                throw new AssertionError("the failure should name " + text + ": " + instance.failure());
            }
        }
        System.out.println("     " + instance.failure().lines().findFirst().orElse(""));
    }

    private static boolean describedAs(Lane lane, String group, GroupState wanted) throws Exception {
        try {
            return state(lane, group) == wanted;
        } catch (java.util.concurrent.ExecutionException notYet) {
            if (notYet.getCause() instanceof org.apache.kafka.common.errors.GroupIdNotFoundException) {
                return false;
            }
            throw notYet;
        }
    }

    /** The broker's own diagnosis names the topics, where the broker is Thalweg. */
    private static void why(Lane lane, String group, String... told) throws Exception {
        if (lane.broker.isEmpty()) {
            return;
        }
        String text = lane.broker.get().command("groups", "why", group, "--bootstrap-server", lane.bootstrap);
        for (String topic : told) {
            if (topic.startsWith(group) && !text.contains(topic)) {
                throw new AssertionError("thalweg groups why should name " + topic + ":\n" + text);
            }
        }
    }

    /** The topic does not come in time; a later start of the same application finds it and works. */
    private static void missing(Lane lane) throws Exception {
        String application = lane.name("missing");
        String input = application + "-lines";
        String output = application + "-counts";
        lane.createTopic(output, 2);
        Topology topology = WordCount.topology(input, output);
        try (Application instance = new Application(lane, application, 1, topology, Map.of()).start()) {
            awaitFailure(lane, application, instance, "MissingSourceTopicException", input);
        }
        lane.createTopic(input, PARTITIONS);
        try (Words words = new Words(lane, input);
             Application instance = new Application(lane, application, 2, topology, Map.of()).start()) {
            words.send(500);
            // The members that died without leaving may hold tasks until the broker knows.
            words.awaitCounts(output, LIMIT, instance::check);
            Wait.until("it has all tasks", LIMIT, () -> instance.running(2 * PARTITIONS));
            if (state(lane, application) != GroupState.STABLE) {
                throw new AssertionError(application + " is " + state(lane, application));
            }
        }
    }

    private static Topology join(KStream<String, String> left, KStream<String, String> right, String output, StreamsBuilder builder) {
        left.join(right, (one, other) -> one + other, JoinWindows.ofTimeDifferenceWithNoGrace(Duration.ofSeconds(1))).to(output);
        return builder.build();
    }

    private static void unequal(Lane lane) throws Exception {
        String application = lane.name("unequal");
        lane.createTopic(application + "-left", PARTITIONS);
        lane.createTopic(application + "-right", PARTITIONS - 1);
        StreamsBuilder builder = new StreamsBuilder();
        Topology topology = join(builder.stream(application + "-left"), builder.stream(application + "-right"), application + "-out", builder);
        try (Application instance = new Application(lane, application, 1, topology, Map.of()).start()) {
            awaitFailure(lane, application, instance, "TopologyException", application + "-left", application + "-right");
        }
    }

    private static void unequalBehindRepartition(Lane lane) throws Exception {
        String application = lane.name("refit");
        lane.createTopic(application + "-left", PARTITIONS);
        lane.createTopic(application + "-right", 6);
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> left = builder.<String, String>stream(application + "-left")
            .selectKey((key, value) -> value)
            .repartition(Repartitioned.<String, String>as("fit").withNumberOfPartitions(2));
        Topology topology = join(left, builder.stream(application + "-right"), application + "-out", builder);
        try (Application instance = new Application(lane, application, 1, topology, Map.of()).start()) {
            awaitFailure(lane, application, instance, "TopologyException", application + "-fit-repartition");
        }
    }
}
