package thalweg.interop.tools;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;

/** `kafka-groups` and `kafka-consumer-groups` on groups of every type, with members, without, and none at all. */
final class ConsumerGroups implements Main.Story {
    private static final String TOOL = "kafka-consumer-groups";
    private static final int PARTITIONS = 3;
    private static final long ALL = PARTITIONS * Groups.RECORDS;
    private static final List<String> GROUPS = List.of("classic-live", "classic-static", "classic-left", "consumer-live",
        "consumer-static", "consumer-left", "connect-live", "simple", "streams-live", "streams-left", "nobody");

    private Transcript transcript;
    private Path directory;

    @Override
    public void run(String bootstrap, Path work, Transcript into) throws Exception {
        transcript = into;
        directory = work;
        try (Groups groups = new Groups(bootstrap)) {
            groups.topic("orders", PARTITIONS);
            groups.topic("payments", 2);
            groups.topic("counts", 1);
            StreamsApp live = null;
            try (StreamsApp left = new StreamsApp(bootstrap, work, "streams-left", "streams", "payments", "counts")) {
                live = new StreamsApp(bootstrap, work, "streams-live", "streams", "payments", "counts");
                members(groups);
                StreamsApp both = live;
                Main.until("both applications run", 60, () -> left.running(4) && both.running(4));
                groups.await("streams-live", GroupState.STABLE, 40);
                groups.await("streams-left", GroupState.STABLE, 40);
                left.close();
                groups.await("streams-left", GroupState.EMPTY, 40);
                list();
                describe();
                reset();
                resetRefused();
                deleteOffsets();
                delete();
            } finally {
                if (live != null) {
                    live.close();
                }
            }
        }
    }

    private static void members(Groups groups) throws Exception {
        Member classic = groups.classic("classic-left", "left", null, "orders");
        Member consumer = groups.consumer("consumer-left", "left", null, "uniform", "orders");
        groups.classic("classic-live", "first", null, "orders");
        groups.consumer("consumer-live", "first", null, "uniform", "orders");
        groups.classic("classic-static", "one", "instance-1", "orders", "payments");
        groups.consumer("consumer-static", "one", "instance-1", "range", "orders", "payments");
        groups.foreign("connect-live", "connect");
        groups.simple("simple", Map.of(new TopicPartition("orders", 0), 3L, new TopicPartition("orders", 2), 10L,
            new TopicPartition("payments", 1), 7L));
        for (String group : List.of("classic-left", "consumer-left", "classic-live", "consumer-live")) {
            groups.await(group, GroupState.STABLE, ALL);
        }
        for (String group : List.of("classic-static", "consumer-static")) {
            groups.await(group, GroupState.STABLE, ALL + 2 * Groups.RECORDS);
        }
        classic.close();
        consumer.close();
        Member second = groups.classic("classic-live", "second", null, "orders");
        Member other = groups.consumer("consumer-live", "second", null, "uniform", "orders");
        Main.until("the second members have a part", 60, () -> second.owned.size() == 1 && other.owned.size() == 1);
        for (String group : List.of("classic-left", "consumer-left")) {
            groups.await(group, GroupState.EMPTY, ALL);
        }
        for (String group : List.of("classic-live", "consumer-live")) {
            groups.await(group, GroupState.STABLE, ALL);
        }
    }

    private void list() throws Exception {
        transcript.run("kafka-groups --list");
        for (String type : List.of("classic", "consumer", "streams", "none")) {
            transcript.run("kafka-groups --list --group-type " + type);
        }
        for (String protocol : List.of("consumer", "streams", "connect")) {
            transcript.run("kafka-groups --list --protocol " + protocol);
        }
        for (String filter : List.of("--consumer", "--streams", "--share", "--group-type classic --protocol consumer")) {
            transcript.run("kafka-groups --list " + filter);
        }
        transcript.run(TOOL + " --list");
        for (String filter : List.of("--state", "--state stable", "--state empty", "--state Stable,Empty", "--state dead",
                "--state preparing-rebalance", "--type", "--type classic", "--type consumer", "--type classic,consumer",
                "--type streams", "--type consumer --state empty", "--type --state", "--state nonsense", "--type nonsense")) {
            transcript.run(TOOL + " --list " + filter);
        }
    }

    private void describe() throws Exception {
        for (String group : GROUPS) {
            if (List.of("connect-live", "streams-live", "streams-left", "nobody").contains(group)) {
                transcript.run(TOOL + " --describe --group " + group + " --members --verbose");
                transcript.run(TOOL + " --describe --group " + group);
                continue;
            }
            for (String what : List.of("", " --verbose", " --members", " --members --verbose", " --state", " --state --verbose")) {
                transcript.run(TOOL + " --describe --group " + group + what);
            }
        }
        for (String what : List.of(" --offsets", " --members", " --state")) {
            transcript.run(TOOL + " --describe --all-groups" + what);
            transcript.run(TOOL + " --describe --group simple --group classic-live" + what);
        }
    }

    private void reset() throws Exception {
        resetForms("consumer-left", "--topic orders", true);
        resetForms("classic-left", "--all-topics", false);
        resetForms("simple", "--topic orders:0,2 --topic payments:1", false);
        execute("classic-left", "--topic orders:0,1 --topic payments", "--to-offset 6");
        execute("nobody-yet", "--topic orders", "--to-latest");
        execute("simple", "--topic orders:1", "--shift-by -4");
        transcript.run(TOOL + " --reset-offsets --all-groups --topic orders --to-latest --dry-run");
        fromFile();
    }

    /** Each specification; `written`: with its effects, which the next one builds on. */
    private void resetForms(String group, String scope, boolean written) throws Exception {
        if (written) {
            for (String form : List.of("--to-earliest", "--shift-by 4", "--shift-by -1", "--shift-by -100", "--shift-by 100",
                    "--to-datetime 2024-01-01T03:00:00.000", "--to-datetime 2024-01-01T04:30:00.000+02:00", "--by-duration P1D",
                    "--to-offset 6", "--to-offset 100", "--to-current", "--to-latest")) {
                execute(group, scope, form);
            }
        } else {
            for (String form : List.of("--shift-by 4", "--shift-by -100", "--to-datetime 2024-01-01T03:00:00.000", "--by-duration P1D",
                    "--to-offset 100", "--to-current")) {
                transcript.run(TOOL + " --reset-offsets --group " + group + " " + scope + " " + form + " --dry-run");
            }
        }
        transcript.run(TOOL + " --reset-offsets --group " + group + " " + scope + " --to-datetime 2999-01-01T00:00:00.000");
        transcript.run(TOOL + " --reset-offsets --group " + group + " " + scope + " --to-earliest --export");
        transcript.run(TOOL + " --reset-offsets --group " + group + " " + scope + " --to-earliest");
    }

    private void execute(String group, String scope, String form) throws Exception {
        transcript.run(TOOL + " --reset-offsets --group " + group + " " + scope + " " + form + " --execute");
        transcript.run(TOOL + " --describe --group " + group + " --offsets");
    }

    private void fromFile() throws Exception {
        Path one = Files.writeString(directory.resolve("one.csv"), "orders,0,2\norders,1,200\norders,2,5\n");
        Path more = Files.writeString(directory.resolve("more.csv"),
            "classic-left,orders,0,1\nclassic-left,orders,1,2\nconsumer-left,orders,0,3\nsimple,payments,1,4\n");
        Path wrong = Files.writeString(directory.resolve("wrong.csv"), "orders;0;2\n");
        file(one, TOOL + " --reset-offsets --group classic-left --from-file FILE --dry-run");
        file(one, TOOL + " --reset-offsets --group classic-left --from-file FILE --execute");
        file(more, TOOL + " --reset-offsets --group classic-left --group consumer-left --group simple --from-file FILE --execute");
        file(wrong, TOOL + " --reset-offsets --group classic-left --from-file FILE --execute");
        for (String group : List.of("classic-left", "consumer-left", "simple")) {
            transcript.run(TOOL + " --describe --group " + group);
        }
        transcript.run(TOOL + " --reset-offsets --group classic-left --group consumer-left --topic orders --to-current --export");
    }

    private void file(Path file, String command) throws Exception {
        transcript.run(text -> text.replace(file.toString(), "FILE"), command.replace("FILE", file.toString()));
    }

    private void resetRefused() throws Exception {
        for (String group : List.of("classic-live", "classic-static", "consumer-live", "consumer-static", "connect-live",
                "streams-live", "streams-left")) {
            transcript.run(TOOL + " --reset-offsets --group " + group + " --topic orders --to-earliest --execute");
        }
        transcript.run(TOOL + " --reset-offsets --group simple --topic missing --to-earliest --execute");
        transcript.run(TOOL + " --reset-offsets --group simple --topic orders:7 --to-earliest --execute");
        transcript.run(TOOL + " --reset-offsets --group simple --to-earliest --execute");
        transcript.run(TOOL + " --reset-offsets --group simple --topic orders --execute");
        transcript.run(TOOL + " --reset-offsets --group simple --topic orders --to-earliest --to-latest --execute");
        transcript.run(TOOL + " --reset-offsets --topic orders --to-earliest --execute");
    }

    private void deleteOffsets() throws Exception {
        for (String group : GROUPS) {
            transcript.run(TOOL + " --delete-offsets --group " + group + " --topic orders:1");
            // The applications' input stays committed; a group of a foreign type is refused as a whole.
            if (!group.equals("connect-live") && !group.equals("streams-live")) {
                transcript.run(TOOL + " --delete-offsets --group " + group + " --topic orders --topic payments");
            }
        }
        transcript.run(TOOL + " --delete-offsets --group simple --topic missing");
        transcript.run(TOOL + " --delete-offsets --group simple --topic orders:7");
        for (String group : GROUPS) {
            transcript.run(TOOL + " --describe --group " + group);
        }
    }

    private void delete() throws Exception {
        execute("simple", "--topic orders", "--to-latest");
        for (String group : GROUPS) {
            transcript.run(TOOL + " --delete --group " + group);
        }
        transcript.run(TOOL + " --delete --group nobody --group nobody-yet --group simple --group classic-live");
        transcript.run(TOOL + " --list --state --type");
        transcript.run(TOOL + " --delete --all-groups");
        transcript.run("kafka-groups --list");
    }
}
