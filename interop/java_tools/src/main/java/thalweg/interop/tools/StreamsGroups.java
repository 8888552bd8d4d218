package thalweg.interop.tools;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;

/**
 * `kafka-streams-groups` on an application that runs, on some that have run, and on groups that are none of its.
 *
 * <p>Streams groups, scenarios 349, 350, 351, 352, 353, 354 and 355.
 */
final class StreamsGroups implements Main.Story {
    private static final String TOOL = "kafka-streams-groups";
    private static final List<String> LEFT = List.of("left-1", "left-2", "left-3");
    private static final int TASKS = 4;

    private Transcript transcript;
    private Path directory;
    private Groups groups;

    @Override
    public void run(String bootstrap, Path work, Transcript into) throws Exception {
        transcript = into;
        directory = work;
        try (Groups members = new Groups(bootstrap)) {
            groups = members;
            groups.topic("payments", 2);
            groups.topic("counts", 1);
            groups.simple("simple", Map.of(new TopicPartition("payments", 1), 7L));
            groups.consumer("consumer-live", "first", null, "uniform", "payments");
            List<StreamsApp> left = LEFT.stream().map(name -> app(bootstrap, name)).toList();
            try (StreamsApp live = app(bootstrap, "live")) {
                Main.until("all applications run", 60,
                    () -> live.running(TASKS) && left.stream().allMatch(one -> one.running(TASKS)));
                groups.await("live", GroupState.STABLE, 4 * Groups.RECORDS);
                for (String name : LEFT) {
                    groups.await(name, GroupState.STABLE, 4 * Groups.RECORDS);
                }
                left.forEach(StreamsApp::close);
                for (String name : LEFT) {
                    groups.await(name, GroupState.EMPTY, 4 * Groups.RECORDS);
                }
                groups.await("consumer-live", GroupState.STABLE, 2 * Groups.RECORDS);
                list();
                describe();
                reset();
                deleteOffsets();
                delete();
                usage();
            } finally {
                left.forEach(StreamsApp::close);
            }
        }
    }

    private StreamsApp app(String bootstrap, String name) {
        return new StreamsApp(bootstrap, directory, name, "streams", "payments", "counts");
    }

    private void list() throws Exception {
        for (String filter : List.of("", " --state", " --state stable", " --state Empty,Stable", " --state dead", " --state nonsense")) {
            transcript.run(TOOL + " --list" + filter);
        }
    }

    private void describe() throws Exception {
        for (String group : List.of("live", "left-1")) {
            for (String what : List.of("", " --offsets", " --members", " --state")) {
                transcript.run(TOOL + " --describe --group " + group + what);
                transcript.run(TOOL + " --describe --group " + group + what + " --verbose");
            }
            // Apache Kafka keeps descriptions of topologies only with a plugin.
            transcript.differs(TOOL + " --describe --group " + group + " --topology", "Sub-topology: 1", "(stores: [counts])");
        }
        for (String group : List.of("simple", "consumer-live", "nobody")) {
            for (String what : List.of("", " --members", " --state", " --topology")) {
                transcript.run(TOOL + " --describe --group " + group + what);
            }
        }
        for (String what : List.of("", " --members", " --state")) {
            transcript.run(TOOL + " --describe --all-groups" + what);
        }
    }

    private void reset() throws Exception {
        String reset = TOOL + " --reset-offsets --group left-1 ";
        for (String form : List.of("--to-earliest", "--shift-by 4", "--shift-by -1", "--shift-by -100", "--shift-by 100",
                "--to-datetime 2024-01-01T03:00:00.000", "--by-duration P1D", "--to-offset 6", "--to-offset 100", "--to-current",
                "--to-latest")) {
            transcript.run(reset + "--all-input-topics " + form + " --dry-run");
            transcript.run(reset + "--input-topic payments:1 " + form + " --execute");
        }
        offsets("left-1");
        transcript.run(reset + "--input-topic payments --to-earliest --export --dry-run");
        transcript.run(reset + "--input-topic payments --to-earliest");
        transcript.run(reset + "--input-topic missing --to-earliest --execute");
        transcript.run(reset + "--input-topic counts --to-earliest --execute");
        transcript.run(reset + "--to-earliest --execute");
        for (String group : List.of("live", "simple", "consumer-live", "nobody")) {
            transcript.run(TOOL + " --reset-offsets --group " + group + " --input-topic payments --to-earliest --execute");
        }
        Path plan = Files.writeString(directory.resolve("plan.csv"), "payments,0,2\npayments,1,200\n");
        transcript.run(text -> text.replace(plan.toString(), "FILE"), reset + "--from-file " + plan + " --dry-run");
        transcript.run(text -> text.replace(plan.toString(), "FILE"), reset + "--from-file " + plan + " --execute");
        offsets("left-1");
        transcript.run(reset + "--all-input-topics --to-earliest --execute --delete-internal-topic left-1-nothing");
        transcript.run(reset + "--all-input-topics --to-earliest --execute --delete-internal-topic left-1-counts-changelog");
        topics();
        transcript.run(reset + "--all-input-topics --to-earliest --execute --delete-all-internal-topics");
        topics();
        offsets("left-1");
    }

    private void deleteOffsets() throws Exception {
        String delete = TOOL + " --delete-offsets --group ";
        transcript.run(delete + "left-2 --input-topic payments:1");
        offsets("left-2");
        transcript.run(delete + "left-2 --all-input-topics");
        transcript.run(delete + "left-2 --input-topic missing");
        offsets("left-2");
        for (String group : List.of("live", "simple", "consumer-live", "nobody")) {
            transcript.run(delete + group + " --input-topic payments");
        }
    }

    private void delete() throws Exception {
        String delete = TOOL + " --delete --group ";
        for (String group : List.of("live", "simple", "consumer-live", "nobody", "left-1")) {
            transcript.run(delete + group);
        }
        transcript.run(delete + "left-2 --delete-all-internal-topics");
        topics();
        transcript.run(TOOL + " --delete --all-groups");
        topics();
        transcript.run(TOOL + " --list --state");
    }

    /** Refused before anything is sent. */
    private void usage() throws Exception {
        for (String wrong : List.of("--list --nonsense", "", "--describe", "--delete", "--reset-offsets --to-earliest", "--delete-offsets",
                "--list --delete --group live", "--describe --group live --all-groups", "--describe --group live --members --state",
                "--reset-offsets --group left-3 --all-input-topics --to-earliest --to-latest")) {
            transcript.run((TOOL + " " + wrong).strip());
        }
    }

    /** The tool does not show offsets of a group without members. */
    private void offsets(String group) throws Exception {
        transcript.note("offsets of " + group + ": " + groups.offsets(group));
    }

    private void topics() throws Exception {
        transcript.note("internal topics: " + groups.internalTopics());
    }
}
