package thalweg.interop.tools;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;

import org.apache.kafka.common.GroupState;

/**
 * `kafka-streams-application-reset` on applications of both protocols: while they run, afterwards, and when one is gone
 * without leaving. What was reset is processed again.
 */
final class ApplicationReset implements Main.Story {
    private static final Pattern ASSIGNMENT = Pattern.compile("topicPartitions=([^)]*)");
    private static final int TASKS = 4;
    private static final int ALL = 4 * Groups.RECORDS;

    private Transcript transcript;
    private Groups groups;
    private Path directory;

    @Override
    public void run(String bootstrap, Path work, Transcript into) throws Exception {
        transcript = into;
        directory = work;
        try (Groups members = new Groups(bootstrap)) {
            groups = members;
            groups.topic("payments", 2);
            groups.topic("counts", 1);
            for (String protocol : List.of("classic", "streams")) {
                application(bootstrap, protocol);
            }
            reset("nobody", "--input-topics payments --to-offset 2");
            transcript.note("offsets of nobody: " + groups.offsets("nobody"));
        }
    }

    private void application(String bootstrap, String protocol) throws Exception {
        String name = "by-" + protocol;
        StreamsApp app = start(bootstrap, name, protocol, 1);
        try {
            reset(name, "--input-topics payments");
            app.close();
            groups.await(name, GroupState.EMPTY, ALL);
            forms(name);
            reset(name, "--input-topics payments");
            effects(name);
        } finally {
            app.close();
        }
        StreamsApp again = start(bootstrap, name, protocol, 2);
        try {
            effects(name);
            again.goAway();
            reset(name, "--input-topics payments --dry-run");
            reset(name, "--input-topics payments --force");
            effects(name);
        } finally {
            again.goAway();
        }
    }

    private StreamsApp start(String bootstrap, String name, String protocol, int number) throws Exception {
        StreamsApp app = new StreamsApp(bootstrap, directory.resolve("state-" + number), name, protocol, "payments", "counts");
        Main.until("the application runs", 60, () -> app.running(TASKS));
        groups.await(name, GroupState.STABLE, ALL);
        return app;
    }

    private void forms(String name) throws Exception {
        Path plan = Files.writeString(directory.resolve("plan.csv"), "payments,0,2\npayments,1,200\n");
        reset(name, "--dry-run");
        List<String> forms = List.of("", "--shift-by -3", "--from-file " + plan, "--to-earliest", "--to-latest", "--to-offset 6",
            "--to-offset 100", "--shift-by -100", "--shift-by 1", "--to-datetime 2024-01-01T03:00:00.000", "--by-duration P1D",
            "--to-datetime 2999-01-01T00:00:00.000");
        // The offsets of both applications are the same to the tool.
        for (String form : forms.subList(0, name.equals("by-classic") ? forms.size() : 3)) {
            reset(name, "--input-topics payments --dry-run " + form);
        }
        reset(name, "--input-topics payments,missing --intermediate-topics counts --dry-run");
        reset(name, "--internal-topics payments --dry-run");
        reset(name, "--internal-topics " + name + "-counts-changelog --dry-run");
        reset(name, "--input-topics payments --to-offset 6 --internal-topics " + name + "-counts-changelog");
        effects(name);
    }

    private void reset(String name, String how) throws Exception {
        transcript.run(this::plain, "kafka-streams-application-reset --application-id " + name + " " + how);
    }

    /** Without the paths of this run; partitions of a member, which the tool prints in any order, in that of their names. */
    private String plain(String printed) {
        return ASSIGNMENT.matcher(printed.replace(directory.toString() + "/", "")).replaceAll(assignment ->
            "topicPartitions=" + String.join(",", new TreeSet<>(List.of(assignment.group(1).split(",")))));
    }

    private void effects(String name) throws Exception {
        transcript.note("offsets of " + name + ": " + groups.offsets(name));
        transcript.note("internal topics: " + groups.internalTopics());
    }
}
