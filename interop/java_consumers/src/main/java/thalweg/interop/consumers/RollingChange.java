package thalweg.interop.consumers;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;

/**
 * Three classic consumers are replaced one by one by consumers of the consumer protocol, and those by classic ones again,
 * while records come in. No acknowledged record is lost, and no partition is two members' at once.
 */
final class RollingChange {
    private static final int MEMBERS = 3;

    private final Broker broker;
    private final String name;
    private final Subscription classic;
    private final Subscription consumer;
    private final boolean isStatic;
    private final Owners owners = new Owners();
    private final Set<String> acknowledged = ConcurrentHashMap.newKeySet();
    private final Set<String> read = ConcurrentHashMap.newKeySet();
    /** In the order in which they are replaced. */
    private final List<Member> members = new ArrayList<>();
    private final List<Member> all = new ArrayList<>();

    RollingChange(Broker broker, String name, String assignor, boolean isStatic) {
        this.broker = broker;
        this.name = name;
        this.classic = Subscription.classic(name, assignor);
        this.consumer = Subscription.consumer(name, "uniform");
        this.isStatic = isStatic;
    }

    void run() throws Exception {
        AtomicBoolean producing = new AtomicBoolean(true);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", broker.bootstrap))) {
            admin.createTopics(List.of(new NewTopic(name, Main.PARTITIONS, (short) 1))).all().get(30, TimeUnit.SECONDS);
            Thread producer = new Thread(() -> Main.produce(broker.bootstrap, name, producing, acknowledged), "producer");
            producer.start();
            for (int i = 0; i < MEMBERS; i++) {
                members.add(start(classic, i));
            }
            settle("classic members share the partitions");
            expect(admin, GroupType.CLASSIC);

            replaceAll(admin, consumer);
            expect(admin, GroupType.CONSUMER);
            replaceAll(admin, classic);
            expect(admin, GroupType.CLASSIC);

            producing.set(false);
            producer.join(60_000);
            Main.until("all that was acknowledged is read", 60, () -> {
                check();
                return read.containsAll(acknowledged);
            });
            Main.until("all is committed", 30, () -> Main.committed(admin, name).equals(Main.ends(admin, name)));
            if (acknowledged.size() < 1000) {
                throw new AssertionError("only " + acknowledged.size() + " records were written");
            }
        } finally {
            producing.set(false);
            for (Member member : all) {
                member.close();
            }
        }
        check();
        System.out.printf("     %s: %d records, none lost, %d read again%n", name, acknowledged.size(), owners.twice());
    }

    private Member start(Subscription subscription, int number) {
        Member member = new Member(broker.bootstrap, name, subscription, isStatic ? "instance-" + number : null, read, owners);
        all.add(member);
        return member;
    }

    /** Each member is replaced; before its last one the group is a mixed one. */
    private void replaceAll(Admin admin, Subscription subscription) throws Exception {
        for (int i = 0; i < MEMBERS; i++) {
            if (isStatic) {
                // Its successor takes its place, without a rebalance in between.
                members.get(0).close();
                members.remove(0);
                members.add(start(subscription, i));
            } else {
                members.add(start(subscription, i));
                settle("a member of the other protocol shares in");
                members.get(0).close();
                members.remove(0);
            }
            settle("member " + i + " was replaced");
            if (i < MEMBERS - 1) {
                expect(admin, GroupType.CONSUMER);
            }
        }
    }

    private void settle(String what) throws Exception {
        int before = read.size();
        Main.until(what, 90, () -> {
            check();
            Set<TopicPartition> owned = new HashSet<>();
            int count = 0;
            for (Member member : members) {
                if (member.owned.isEmpty()) {
                    return false;
                }
                owned.addAll(member.owned);
                count += member.owned.size();
            }
            return count == Main.PARTITIONS && owned.size() == count && read.size() > before + 100;
        });
    }

    private void check() {
        all.forEach(Member::check);
        owners.check();
    }

    private void expect(Admin admin, GroupType type) throws Exception {
        var listed = admin.listGroups(new ListGroupsOptions()).all().get(30, TimeUnit.SECONDS);
        var group = listed.stream().filter(it -> it.groupId().equals(name)).findFirst().orElseThrow();
        if (!group.type().equals(java.util.Optional.of(type))) {
            throw new AssertionError("the group is " + group + ", not " + type);
        }
    }
}
