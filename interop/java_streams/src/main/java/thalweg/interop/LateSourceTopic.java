package thalweg.interop;

import java.time.Duration;

/** The source topic appears while the application already waits for it, within the time that Kafka Streams waits. */
final class LateSourceTopic implements Main.Scenario {
    @Override
    public void run(Lane lane) throws Exception {
        String application = lane.name("late");
        String input = lane.name("late-lines");
        String output = lane.name("late-counts");
        lane.createTopic(output, 1);
        WordCount instance = lane.instance(application, input, output, 1);
        // Kafka Streams gives up after two heartbeat intervals, 10 s, with MissingSourceTopicException, just before the third
        // heartbeat could find the topic: the second one must.
        Thread.sleep(4_000);
        instance.check();
        lane.createTopic(input, 4);
        try (Words words = new Words(lane, input)) {
            words.send(500);
            words.awaitCounts(output, Duration.ofSeconds(60), instance::check);
        }
    }
}
