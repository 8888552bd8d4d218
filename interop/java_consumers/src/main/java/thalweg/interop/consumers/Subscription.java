package thalweg.interop.consumers;

import java.util.Map;

/**
 * How the members of a group subscribe and assign.
 *
 * @param topic    the topic whose records count
 * @param pattern  a regular expression for the broker (RE2) that matches the topic; null: by name
 * @param settings of the protocol
 */
record Subscription(String topic, String pattern, Map<String, String> settings) {
    static Subscription classic(String topic, String assignor) {
        return new Subscription(topic, null, Map.of("group.protocol", "classic", "session.timeout.ms", "10000",
            "heartbeat.interval.ms", "500",
            "partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor));
    }

    static Subscription consumer(String topic, String assignor) {
        return new Subscription(topic, null, Map.of("group.protocol", "consumer", "group.remote.assignor", assignor));
    }

    static Subscription pattern(String topic) {
        String pattern = "[0-9]_pat{2}ern-(a|" + topic.substring(topic.indexOf('-') + 1) + ")";
        return new Subscription(topic, pattern, Map.of("group.protocol", "consumer"));
    }

    boolean isClassic() {
        return settings.get("group.protocol").equals("classic");
    }
}
