package thalweg.interop;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** What a topic of strings holds: each record with how often it is there, and the last value of each key. */
final class Output implements AutoCloseable {
    final Map<String, Integer> records = new TreeMap<>();
    final Map<String, String> last = new TreeMap<>();
    private final KafkaConsumer<String, String> consumer;
    private final List<TopicPartition> partitions;

    Output(Lane lane, String topic) {
        Properties config = new Properties();
        config.put("bootstrap.servers", lane.bootstrap);
        config.put("allow.auto.create.topics", "false");
        config.put("max.poll.records", "20000");
        consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        partitions = consumer.partitionsFor(topic).stream().map(info -> new TopicPartition(topic, info.partition())).toList();
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
    }

    void poll() {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(50))) {
            records.merge(record.key() + "=" + record.value(), 1, Integer::sum);
            last.put(record.key(), record.value());
        }
    }

    /** Reads up to the end that the topic has now. */
    void drain(Duration limit) throws Exception {
        Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
        Wait.until("the end of " + partitions, limit, () -> {
            poll();
            return partitions.stream().allMatch(partition -> consumer.position(partition) >= ends.get(partition));
        });
    }

    /** What differs, a few examples at most. */
    static <V> String difference(Map<String, V> seen, Map<String, V> expected) {
        StringBuilder text = new StringBuilder(seen.size() + " seen, " + expected.size() + " expected");
        TreeMap<String, V> all = new TreeMap<>(expected);
        all.putAll(seen);
        all.keySet().stream().filter(key -> !java.util.Objects.equals(seen.get(key), expected.get(key))).limit(5)
            .forEach(key -> text.append("; ").append(key).append(": ").append(seen.get(key)).append(" instead of ").append(expected.get(key)));
        return text.toString();
    }

    @Override
    public void close() {
        consumer.close(org.apache.kafka.clients.consumer.CloseOptions.timeout(Duration.ofSeconds(5)));
    }
}
