package thalweg.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Future;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.FinalizedVersionRange;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Transfers between accounts with `exactly_once_v2`: each takes from one account what it gives to another, in two
 * partitions. Balances end exact, and their sum is 0, with two instances, of which one is killed, the broker killed, and
 * `transaction.version` lowered and raised in the middle.
 */
final class Transfers implements Main.Scenario {
    private static final int PARTITIONS = 4;
    private static final int ACCOUNTS = 40;
    private static final Duration LIMIT = Duration.ofSeconds(90);
    /** Levels of `transaction.version`: one for each part of the transfers, which begins at the level before. */
    private static final short[] LEVELS = {1, 0, 2, 1};

    @Override
    public void run(Lane lane) throws Exception {
        String application = lane.name("bank");
        String input = lane.name("bank-transfers");
        String output = lane.name("bank-balances");
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, PARTITIONS);
        int count = lane.full ? 20_000 : 2_000;
        Random random = new Random(lane.seed);
        Map<String, Long> expected = new TreeMap<>();
        WordCount first = lane.exactlyOnce(application, topology(input, output), 1);
        Process second = ExactlyOnce.start(lane, Transfers.class, application, input, output, 2);
        Properties config = new Properties();
        config.put("bootstrap.servers", lane.bootstrap);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            Wait.until("both instances have half of the tasks", LIMIT, () -> first.activeTasks().size() == PARTITIONS);
            for (int part = 0; part < 4; part++) {
                List<Future<?>> sent = new ArrayList<>();
                for (int i = 0; i < count / 4; i++) {
                    String from = "a" + random.nextInt(ACCOUNTS);
                    String to = "a" + random.nextInt(ACCOUNTS);
                    long amount = 1 + random.nextInt(100);
                    expected.merge(from, -amount, Long::sum);
                    expected.merge(to, amount, Long::sum);
                    sent.add(producer.send(new ProducerRecord<>(input, null, from + " " + to + " " + amount)));
                    if (i == count / 8 && lane.broker.isPresent()) {
                        setLevel(lane, LEVELS[part]);
                    }
                }
                producer.flush();
                for (Future<?> one : sent) {
                    one.get();
                }
                if (part == 1 && lane.broker.isPresent()) {
                    lane.broker.get().kill();
                    Thread.sleep(300);
                    lane.broker.get().start();
                }
                if (part == 2) {
                    // SIGKILL: its transactions stay open until they time out or its tasks move.
                    second.destroyForcibly().waitFor();
                }
            }
            await(lane, output, expected, first::check);
        } finally {
            second.destroyForcibly().waitFor();
        }
    }

    private static void setLevel(Lane lane, short level) throws Exception {
        String feature = "transaction.version";
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", lane.bootstrap))) {
            FinalizedVersionRange now = admin.describeFeatures().featureMetadata().get().finalizedFeatures().get(feature);
            boolean falls = now != null && level < now.maxVersionLevel();
            FeatureUpdate.UpgradeType type = falls ? FeatureUpdate.UpgradeType.SAFE_DOWNGRADE : FeatureUpdate.UpgradeType.UPGRADE;
            admin.updateFeatures(Map.of(feature, new FeatureUpdate(level, type)), new UpdateFeaturesOptions()).all().get();
        }
    }

    /** An instance that runs until it is killed. */
    public static void main(String[] args) throws Exception {
        ExactlyOnce.runUntilKilled(List.of(args), topology(args[3], args[4]));
    }

    private static Topology topology(String input, String output) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(input, Consumed.with(Serdes.String(), Serdes.String()))
            .flatMap((key, transfer) -> {
                String[] parts = transfer.split(" ");
                long amount = Long.parseLong(parts[2]);
                return List.of(KeyValue.pair(parts[0], -amount), KeyValue.pair(parts[1], amount));
            })
            .groupByKey(Grouped.with("changes", Serdes.String(), Serdes.Long()))
            .reduce(Long::sum, Materialized.as("balances"))
            .toStream()
            .to(output, Produced.with(Serdes.String(), Serdes.Long()));
        return builder.build();
    }

    private static void await(Lane lane, String output, Map<String, Long> expected, Runnable check) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", lane.bootstrap);
        config.put("isolation.level", "read_committed");
        Map<String, Long> balances = new TreeMap<>();
        try (KafkaConsumer<String, Long> consumer = new KafkaConsumer<>(config, new StringDeserializer(), new LongDeserializer())) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (int i = 0; i < PARTITIONS; i++) {
                partitions.add(new TopicPartition(output, i));
            }
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Wait.until("the balances", LIMIT, () -> {
                check.run();
                for (ConsumerRecord<String, Long> record : consumer.poll(Duration.ofMillis(100))) {
                    balances.put(record.key(), record.value());
                }
                return balances.equals(expected);
            });
        }
        long sum = balances.values().stream().mapToLong(Long::longValue).sum();
        if (sum != 0) {
            throw new AssertionError("the balances sum up to " + sum);
        }
    }
}
