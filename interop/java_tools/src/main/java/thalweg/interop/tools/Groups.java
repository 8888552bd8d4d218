package thalweg.interop.tools;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

/** Topics and members that the tools are asked about. */
final class Groups implements AutoCloseable {
    /** Records of a partition: as many are of 2024, one each hour from midnight of the first of January, as are of now. */
    static final int OLD = 5;
    static final int RECORDS = 2 * OLD;

    final String bootstrap;
    final Admin admin;
    private final List<AutoCloseable> members = new ArrayList<>();

    Groups(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    void topic(String name, int partitions) throws Exception {
        NewTopic topic = new NewTopic(name, partitions, (short) 1).configs(Map.of("retention.ms", "-1"));
        admin.createTopics(List.of(topic)).all().get(30, TimeUnit.SECONDS);
        long midnight = Instant.parse("2024-01-01T00:00:00Z").toEpochMilli();
        List<Future<?>> sent = new ArrayList<>();
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(Map.of("bootstrap.servers", bootstrap, "linger.ms", "1000"), new StringSerializer(), new StringSerializer())) {
            for (int partition = 0; partition < partitions; partition++) {
                for (int i = 0; i < RECORDS; i++) {
                    Long at = i < OLD ? midnight + TimeUnit.HOURS.toMillis(i) : null;
                    sent.add(producer.send(new ProducerRecord<>(name, partition, at, "key " + i, "value " + i)));
                }
            }
        }
        for (Future<?> one : sent) {
            one.get();
        }
    }

    /** A member of a classic group. `instance`: null or its `group.instance.id`. */
    Member classic(String group, String client, String instance, String... topics) {
        return join(group, client, instance, Map.of("group.protocol", "classic", "heartbeat.interval.ms", "300",
            "partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor"), topics);
    }

    Member consumer(String group, String client, String instance, String assignor, String... topics) {
        return join(group, client, instance, Map.of("group.protocol", "consumer", "group.remote.assignor", assignor), topics);
    }

    private Member join(String group, String client, String instance, Map<String, Object> settings, String... topics) {
        Map<String, Object> all = new HashMap<>(settings);
        all.putAll(Map.of("bootstrap.servers", bootstrap, "group.id", group, "client.id", client));
        if (instance != null) {
            all.put("group.instance.id", instance);
        }
        Member member = new Member(all, List.of(topics));
        members.add(member);
        return member;
    }

    /** A member of a protocol type of its own, as those of Connect are. */
    void foreign(String group, String protocolType) throws Exception {
        members.add(new Foreign(bootstrap, group, protocolType));
    }

    /** What nobody but the committer of the offsets knows of. */
    void simple(String group, Map<TopicPartition, Long> offsets) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> commits = new HashMap<>();
        offsets.forEach((partition, offset) -> commits.put(partition, new OffsetAndMetadata(offset)));
        admin.alterConsumerGroupOffsets(group, commits).all().get(30, TimeUnit.SECONDS);
    }

    /** Waits until the group is in that state and its offsets add up. */
    void await(String group, GroupState state, long total) throws Exception {
        Main.until(group + " is " + state + " and has committed " + total, 60, () -> {
            for (AutoCloseable member : members) {
                if (member instanceof Member one) {
                    one.check();
                }
            }
            var listed = admin.listGroups().all().get(30, TimeUnit.SECONDS).stream()
                .filter(one -> one.groupId().equals(group)).findFirst();
            return listed.flatMap(GroupListing::groupState).equals(java.util.Optional.of(state)) && committed(group) == total;
        });
    }

    /** What is committed, by partition. Offsets of deleted topics may be there for a while; they are left out. */
    Map<String, Long> offsets(String group) throws Exception {
        Map<String, Long> result = new TreeMap<>();
        all(group).forEach((partition, offset) -> {
            if (!isInternal(partition.topic())) {
                result.put(partition.toString(), offset.offset());
            }
        });
        return result;
    }

    private Map<TopicPartition, OffsetAndMetadata> all(String group) throws Exception {
        return admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get(30, TimeUnit.SECONDS);
    }

    private static boolean isInternal(String topic) {
        return topic.endsWith("-repartition") || topic.endsWith("-changelog");
    }

    /** The topics that applications have made for themselves. */
    Set<String> internalTopics() throws Exception {
        Set<String> topics = new TreeSet<>(admin.listTopics().names().get(30, TimeUnit.SECONDS));
        topics.removeIf(topic -> !isInternal(topic));
        return topics;
    }

    private long committed(String group) throws Exception {
        return all(group).values().stream().mapToLong(OffsetAndMetadata::offset).sum();
    }

    @Override
    public void close() throws Exception {
        for (AutoCloseable member : members) {
            member.close();
        }
        admin.close();
    }
}
