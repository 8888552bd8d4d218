package thalweg.interop.tools;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;

import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

/** Kafka's formatters print each record of groups, offsets and transactions in the logs of this broker. */
final class Formatters implements Main.Story {
    /** Partitions of a transaction, which Kafka writes in the order of a hash. */
    private static final Pattern TOPICS = Pattern.compile("\\{\"topic\":[^{}]*}(,\\{\"topic\":[^{}]*})+");

    @Override
    public void run(String bootstrap, Path work, Transcript transcript) throws Exception {
        try (Groups groups = new Groups(bootstrap)) {
            groups.topic("orders", 1);
            groups.topic("counts", 1);
            groups.simple("simple", Map.of(new TopicPartition("orders", 0), 3L));
            try (StreamsApp app = new StreamsApp(bootstrap, work, "streams", "streams", "orders", "counts")) {
                Member classic = groups.classic("classic", "one", null, "orders");
                Member consumer = groups.consumer("consumer", "one", null, "uniform", "orders");
                groups.consumer("pattern", "one", "instance", "range", "orders");
                transactions(bootstrap);
                for (String group : List.of("classic", "consumer", "pattern")) {
                    groups.await(group, GroupState.STABLE, Groups.RECORDS);
                }
                Main.until("the application runs", 60, () -> app.running(2));
                groups.await("streams", GroupState.STABLE, 2 * Groups.RECORDS);
                classic.close();
                consumer.close();
                groups.await("classic", GroupState.EMPTY, Groups.RECORDS);
                groups.await("consumer", GroupState.EMPTY, Groups.RECORDS);
            }
            groups.await("streams", GroupState.EMPTY, 2 * Groups.RECORDS);
            groups.admin.deleteConsumerGroups(List.of("classic", "consumer")).all().get();
            print(transcript, "__consumer_offsets", "GroupMetadataMessageFormatter");
            print(transcript, "__consumer_offsets", "OffsetsMessageFormatter");
            print(transcript, "__transaction_state", "TransactionLogMessageFormatter");
        }
    }

    /** One that commits, with offsets of a group, and one that aborts. */
    private static void transactions(String bootstrap) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "transactional.id", "transfers");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("counts", "a", "b"));
            producer.flush();
            producer.sendOffsetsToTransaction(Map.of(new TopicPartition("orders", 0), new OffsetAndMetadata(4)),
                new ConsumerGroupMetadata("transactional"));
            producer.commitTransaction();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("counts", "a", "b"));
            producer.flush();
            producer.abortTransaction();
        }
    }

    private static void print(Transcript transcript, String topic, String formatter) throws Exception {
        transcript.run(Formatters::plain, "kafka-console-consumer --topic " + topic + " --partition 0 --offset earliest --timeout-ms 2000"
            + " --formatter org.apache.kafka.tools.consumer." + formatter);
    }

    /** A record a line, without times and ids. Of the offsets of a partition the last one, and whether it was deleted. */
    private static String plain(String printed) {
        Map<String, String> lines = new LinkedHashMap<>();
        for (String line : printed.replace("}{", "}\n{").replace("}Processed", "}\nProcessed").split("\n")) {
            String text = line.replaceAll("(Ms|Timestamp)\":\\d{13}", "$1\":<time>").replaceAll("(roducerId)\":\\d+", "$1\":<id>")
                .replaceAll("\"metadata\":\"Ag[^\"]*\"", "\"metadata\":\"<time>\"").replaceAll("a total of \\d+", "a total of some");
            text = TOPICS.matcher(text).replaceAll(list -> String.join(",", new TreeSet<>(List.of(list.group().split("(?<=}),")))));
            int value = text.indexOf("\"value\":{\"version\":4,\"data\":{\"offset\"");
            lines.put(value < 0 ? lines.size() + text : text.substring(0, value), text);
        }
        return String.join("\n", lines.values());
    }
}
