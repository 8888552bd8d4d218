package thalweg.interop.consumers;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;

/**
 * Consumers of both protocols: two of them join, the broker is killed, one goes. No acknowledged record may be
 * missed, and what was committed stays committed. And groups that change from one protocol to the other and back.
 *
 * <pre>
 * Main --broker PATH            starts, kills and restarts `PATH serve` itself
 * Main --bootstrap HOST:PORT    uses a running broker, which is not killed
 * Main … PART                   only the stories whose names contain this
 * </pre>
 *
 * Exit code 0: all passed, 1: some failed, 2: wrong usage. The last line is `N passed, N failed`.
 */
public final class Main {
    static final int PARTITIONS = 6;

    public static void main(String[] args) throws Exception {
        if (args.length < 2 || args.length > 3 || !List.of("--broker", "--bootstrap").contains(args[0])) {
            System.err.println("usage: Main (--broker PATH | --bootstrap HOST:PORT) [PART-OF-A-NAME]");
            System.exit(2);
        }
        Map<String, Function<String, Subscription>> stories = new TreeMap<>(Map.of(
            "1_range", topic -> Subscription.classic(topic, "RangeAssignor"),
            "2_cooperative_sticky", topic -> Subscription.classic(topic, "CooperativeStickyAssignor"),
            "3_static", topic -> Subscription.classic(topic, "RangeAssignor"),
            "4_uniform", topic -> Subscription.consumer(topic, "uniform"),
            "5_range_of_broker", topic -> Subscription.consumer(topic, "range"),
            "6_pattern", Subscription::pattern,
            "7_consumer_static", topic -> Subscription.consumer(topic, "uniform")));
        Map<String, String> changes = new TreeMap<>(Map.of(
            "8_rolling_change", "RangeAssignor",
            "9_rolling_change_cooperative", "CooperativeStickyAssignor",
            "9_rolling_change_static", "RangeAssignor"));
        Path work = Files.createTempDirectory("thalweg-java-consumers-");
        int passed = 0;
        int failed = 0;
        Set<String> names = new TreeSet<>(stories.keySet());
        names.addAll(changes.keySet());
        names.removeIf(story -> args.length > 2 && !story.contains(args[2]));
        for (String story : names) {
            long start = System.nanoTime();
            Path directory = Files.createDirectories(work.resolve(story));
            try (Broker broker = args[0].equals("--broker") ? Broker.start(args[1], directory) : Broker.running(args[1])) {
                String name = story + "-" + (start & 0xffff_ffffL);
                if (stories.containsKey(story)) {
                    run(broker, name, stories.get(story).apply(name), story.endsWith("static"));
                } else {
                    new RollingChange(broker, name, changes.get(story), story.endsWith("static")).run();
                }
                passed++;
                System.out.printf("ok   %s (%.1f s)%n", story, (System.nanoTime() - start) / 1e9);
            } catch (Throwable problem) {
                failed++;
                System.out.printf("FAIL %s (%.1f s): %s%n", story, (System.nanoTime() - start) / 1e9, problem);
                problem.printStackTrace(System.out);
                System.out.println("     logs and data: " + directory);
            }
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 ? 0 : 1);
    }

    private static void run(Broker broker, String name, Subscription subscription, boolean isStatic) throws Exception {
        Set<String> acknowledged = ConcurrentHashMap.newKeySet();
        Set<String> read = ConcurrentHashMap.newKeySet();
        AtomicBoolean producing = new AtomicBoolean(true);
        Owners owners = new Owners();
        List<Member> members = new ArrayList<>();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", broker.bootstrap))) {
            admin.createTopics(List.of(new NewTopic(name, PARTITIONS, (short) 1))).all().get(30, TimeUnit.SECONDS);
            Thread producer = new Thread(() -> produce(broker.bootstrap, name, producing, acknowledged), "producer");
            producer.start();
            Member first = new Member(broker.bootstrap, name, subscription, isStatic ? "first" : null, read, owners);
            members.add(first);
            until("the first member owns all", 30, () -> first.owned.size() == PARTITIONS && !read.isEmpty());
            Member second = new Member(broker.bootstrap, name, subscription, isStatic ? "second" : null, read, owners);
            members.add(second);
            until("both own a half", 30, () -> isSplit(first, second));

            broker.killAndStart();
            int before = read.size();
            until("reading goes on after the kill", 60, () -> isSplit(first, second) && read.size() > before + 100);
            // Who was killed before it had its answer to a SyncGroup joins again; cooperative members read on meanwhile.
            until("the group is stable", 30, () -> describe(admin, name) == 2 && state == GroupState.STABLE);

            second.close();
            if (isStatic) {
                // It does not leave. Its other self gets its partitions, and the first one hears nothing of it.
                int generation = first.generation;
                int revocations = first.revocations.get();
                Member again = new Member(broker.bootstrap, name, subscription, "second", read, owners);
                members.add(again);
                until("the static member has its partitions again", 30, () -> isSplit(first, again));
                if (first.generation != generation || again.generation != generation || first.revocations.get() != revocations) {
                    throw new AssertionError("a rebalance: generation " + generation + ", then " + again.generation);
                }
                again.close();
            }
            until("the first member owns all again", 60, () -> first.owned.size() == PARTITIONS);
            producing.set(false);
            producer.join(60_000);
            until("all that was acknowledged is read", 60, () -> {
                members.forEach(Member::check);
                return read.containsAll(acknowledged);
            });
            until("all is committed", 30, () -> committed(admin, name).equals(ends(admin, name)));
            first.close();
            if (isStatic) {
                until("the session of the last one ended", subscription.isClassic() ? 30 : 90, () -> describe(admin, name) == 0);
            }
            check(describe(admin, name), GroupState.EMPTY, 0);
            admin.deleteConsumerGroups(List.of(name)).all().get(30, TimeUnit.SECONDS);
            if (acknowledged.size() < 500) {
                throw new AssertionError("only " + acknowledged.size() + " records were written");
            }
        } finally {
            producing.set(false);
            for (Member member : members) {
                member.close();
            }
        }
    }

    private static boolean isSplit(Member a, Member b) {
        a.check();
        b.check();
        Set<TopicPartition> all = new HashSet<>(a.owned);
        all.addAll(b.owned);
        return a.owned.size() == PARTITIONS / 2 && b.owned.size() == PARTITIONS / 2 && all.size() == PARTITIONS;
    }

    /** Records go on until it is told to stop; what the broker acknowledged is remembered. */
    static void produce(String bootstrap, String topic, AtomicBoolean producing, Set<String> acknowledged) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "linger.ms", "5",
            "key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer",
            "value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
            for (int i = 0; producing.get(); i++) {
                producer.send(new ProducerRecord<>(topic, i % PARTITIONS, null, ("record " + i).getBytes()), (metadata, problem) -> {
                    if (problem == null) {
                        acknowledged.add(metadata.partition() + ":" + metadata.offset());
                    }
                });
                Thread.sleep(1);
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private static GroupState state;

    /** Number of members; the state is remembered. */
    private static int describe(Admin admin, String group) throws Exception {
        var described = admin.describeConsumerGroups(List.of(group)).all().get(30, TimeUnit.SECONDS).get(group);
        state = described.groupState();
        return described.members().size();
    }

    private static void check(int members, GroupState expected, int count) {
        if (members != count || state != expected) {
            throw new AssertionError("the group is " + state + " with " + members + " members, not " + expected + " with " + count);
        }
    }

    static Map<TopicPartition, Long> committed(Admin admin, String group) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets =
            admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get(30, TimeUnit.SECONDS);
        Map<TopicPartition, Long> committed = new java.util.HashMap<>();
        offsets.forEach((partition, offset) -> committed.put(partition, offset.offset()));
        return committed;
    }

    static Map<TopicPartition, Long> ends(Admin admin, String topic) throws Exception {
        Map<TopicPartition, OffsetSpec> asked = new java.util.HashMap<>();
        for (int i = 0; i < PARTITIONS; i++) {
            asked.put(new TopicPartition(topic, i), OffsetSpec.latest());
        }
        Map<TopicPartition, Long> ends = new java.util.HashMap<>();
        admin.listOffsets(asked).all().get(30, TimeUnit.SECONDS).forEach((partition, end) -> ends.put(partition, end.offset()));
        return ends;
    }

    static void until(String what, int seconds, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (!condition.call()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not within " + seconds + " s: " + what);
            }
            Thread.sleep(50);
        }
    }

    private Main() {}
}
