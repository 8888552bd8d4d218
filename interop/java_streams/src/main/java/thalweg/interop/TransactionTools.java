package thalweg.interop;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Kafka's {@code kafka-transactions.sh}: an open transaction is listed and described, its partition tells who has it open, it
 * is not taken for one that hangs, and it can be ended by hand on its partition.
 */
final class TransactionTools implements Main.Scenario {
    @Override
    public void run(Lane lane) throws Exception {
        String topic = lane.name("txn-tools");
        String id = lane.name("by-hand");
        lane.createTopic(topic, 1);
        try (KafkaProducer<String, String> producer = Transactions.producer(lane, "by-hand", Duration.ofMinutes(10))) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 0, null, "open")).get();
            row(tool(lane, "list"), id, "Ongoing");
            row(tool(lane, "describe", "--transactional-id", id), id, "Ongoing", topic + "-0");
            String[] producers = {"describe-producers", "--topic", topic, "--partition", "0"};
            if (!last(tool(lane, producers)).equals("0")) {
                throw new AssertionError("no transaction is open at offset 0:\n" + tool(lane, producers));
            }
            String hanging = tool(lane, "find-hanging", "--topic", topic);
            if (hanging.contains(topic)) {
                throw new AssertionError("it hangs, they say:\n" + hanging);
            }
            tool(lane, "abort", "--topic", topic, "--partition", "0", "--start-offset", "0");
            Wait.until("the transaction is ended on its partition", Duration.ofSeconds(30),
                () -> last(tool(lane, producers)).equals("None"));
            Map<Integer, List<String>> seen = Transactions.read(lane, topic, 1, "read_committed");
            if (!seen.isEmpty()) {
                throw new AssertionError("what was aborted is seen: " + seen);
            }
            producer.abortTransaction();
        }
        row(tool(lane, "describe", "--transactional-id", id), id, "CompleteAbort");
    }

    private static String tool(Lane lane, String... arguments) throws Exception {
        return lane.tool("org.apache.kafka.tools.TransactionsCommand", arguments);
    }

    private static void row(String table, String... cells) {
        if (table.lines().noneMatch(line -> Arrays.stream(cells).allMatch(line::contains))) {
            throw new AssertionError("no row has " + Arrays.toString(cells) + ":\n" + table);
        }
    }

    /** Last cell of the last row that has any. */
    private static String last(String table) {
        String row = table.lines().filter(it -> !it.isBlank()).reduce("", (before, it) -> it).strip();
        return row.substring(row.lastIndexOf('\t') + 1).strip();
    }
}
