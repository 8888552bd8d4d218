package thalweg.interop.tools;

import java.nio.file.Path;
import java.util.List;

/**
 * `kafka-configs` on the settings of groups: set, read, refused and taken back, for groups that do not exist too. What
 * `kafka-groups` prints is in {@link ConsumerGroups}.
 *
 * <p>Streams groups, scenario 356.
 */
final class GroupSettings implements Main.Story {
    private static final String ALTER = "kafka-configs --alter --entity-type groups --entity-name ";
    private static final String DESCRIBE = "kafka-configs --describe --entity-type groups";

    /** What an error says, which is in each broker's own words. */
    private static String withoutWords(String printed) {
        return printed.replaceAll("(InvalidConfigurationException: ).*", "$1<words>");
    }

    /** Settings that Apache Kafka keeps to itself while they have their defaults, and those that it does not have. */
    private static String withoutOwn(String printed) {
        return printed.replaceAll("(?m)^ *(thalweg\\.|streams\\.(acceptable\\.recovery\\.lag|task\\.offset\\.interval\\.ms|num\\.warmup\\.replicas)=)"
            + ".*synonyms=\\{DEFAULT_CONFIG.*\\R", "");
    }

    @Override
    public void run(String bootstrap, Path work, Transcript transcript) throws Exception {
        transcript.run(DESCRIBE);
        transcript.run(DESCRIBE + " --entity-name app");
        transcript.run(GroupSettings::withoutOwn, DESCRIBE + " --entity-name app --all");
        for (String set : List.of("streams.num.standby.replicas=1,streams.heartbeat.interval.ms=6000", "streams.session.timeout.ms=50000",
                "streams.num.warmup.replicas=3", "streams.rack.aware.assignment.tags=[zone,cluster]", "streams.assignor.name=sticky",
                "streams.initial.rebalance.delay.ms=0", "consumer.heartbeat.interval.ms=7000", "share.auto.offset.reset=earliest")) {
            transcript.run(ALTER + "app --add-config " + set);
        }
        transcript.run(DESCRIBE + " --entity-name app");
        transcript.run(GroupSettings::withoutOwn, DESCRIBE + " --entity-name app --all");
        for (String refused : List.of("streams.num.standby.replicas=99", "streams.num.standby.replicas=many", "streams.num.standby.replicas=-1",
                "streams.session.timeout.ms=1", "streams.heartbeat.interval.ms=100000", "streams.rack.aware.assignment.tags=[zone,,cluster]",
                "streams.assignor.name=nobody", "no.such.setting=1", "streams.num.standby.replicas=2,no.such.setting=1", "retention.ms=1")) {
            transcript.run(GroupSettings::withoutWords, ALTER + "app --add-config " + refused);
        }
        transcript.run(DESCRIBE + " --entity-name app");
        transcript.run("kafka-configs --alter --group other --add-config consumer.session.timeout.ms=46000");
        transcript.run("kafka-configs --describe --group other");
        transcript.run(DESCRIBE);
        transcript.run(ALTER + "app --delete-config streams.num.standby.replicas,streams.assignor.name");
        transcript.run(ALTER + "app --delete-config streams.num.standby.replicas");
        transcript.run(ALTER + "app --delete-config no.such.setting");
        transcript.run(ALTER + "app --add-config streams.num.standby.replicas=2 --delete-config streams.session.timeout.ms");
        transcript.run(DESCRIBE + " --entity-name app");
        transcript.run("kafka-configs --alter --entity-type groups --entity-default --add-config streams.num.standby.replicas=1");
        transcript.run("kafka-configs --alter --entity-type groups --add-config streams.num.standby.replicas=1");
        transcript.run("kafka-configs --alter --entity-type nothing --entity-name app --add-config streams.num.standby.replicas=1");
    }
}
