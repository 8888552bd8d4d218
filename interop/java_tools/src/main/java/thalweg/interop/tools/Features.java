package thalweg.interop.tools;

import java.nio.file.Path;
import java.util.List;

/** `kafka-features`: levels are described, lowered and raised, and what is refused is told in the same words. */
final class Features implements Main.Story {
    private static final String DESCRIBE = "kafka-features describe";

    /** Without the epoch, which grows with all metadata, and without features that Apache Kafka has alone. */
    private static String withoutOthers(String printed) {
        return printed.replaceAll("Epoch: \\d+", "Epoch: <n>")
            .replaceAll("(?m)^Feature: (eligible\\.leader\\.replicas|kraft|share)\\.version.*\\R", "");
    }

    @Override
    public void run(String bootstrap, Path work, Transcript transcript) throws Exception {
        transcript.run(Features::withoutOthers, DESCRIBE);
        for (String command : List.of(
                "downgrade --feature transaction.version=1",
                "upgrade --feature transaction.version=2",
                "downgrade --feature transaction.version=0 --feature group.version=0")) {
            transcript.run("kafka-features " + command);
        }
        transcript.run(Features::withoutOthers, DESCRIBE);
        for (String command : List.of(
                "upgrade --feature transaction.version=2 --feature group.version=1 --feature streams.version=1",
                "disable --feature streams.version",
                "upgrade --feature streams.version=1",
                "upgrade --feature transaction.version=3",
                "upgrade --feature transaction.version=1",
                "upgrade --feature transaction.version=1 --feature group.version=1 --dry-run",
                "downgrade --feature transaction.version=1 --dry-run",
                "downgrade --feature transaction.version=0 --unsafe",
                "downgrade --feature transaction.version=2",
                "upgrade --feature transaction.version=2",
                "upgrade --feature nope=1",
                "disable --feature nope",
                "downgrade --feature metadata.version=20 --unsafe",
                "upgrade --metadata 4.4-IV2",
                "downgrade --metadata 3.7",
                "disable --feature metadata.version")) {
            transcript.run("kafka-features " + command);
        }
        // Apache Kafka has features more, which make this release's set larger.
        transcript.differs("kafka-features upgrade --release-version 4.4-IV2 --dry-run",
            "Invalid update version 1 for feature eligible.leader.replicas.version. Local controller 1 does not support this feature.");
        transcript.run(Features::withoutOthers, DESCRIBE);
    }
}
