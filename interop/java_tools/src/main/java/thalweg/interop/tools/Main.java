package thalweg.interop.tools;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/**
 * Kafka's own command-line tools for groups and features, and its formatters of internal topics: what they print of this broker is
 * compared with what they printed of Apache Kafka 4.4.0 for the same steps, which is kept in `src/main/resources`.
 *
 * <pre>
 * Main --broker PATH [--only NAME]                        starts `PATH serve` itself, one for each story
 * Main --bootstrap HOST:PORT --only NAME                  uses a running broker that is fresh: its tables show all groups
 * Main --bootstrap HOST:PORT --only NAME --record FOLDER  writes what the tools print, to be kept
 * </pre>
 *
 * A running broker needs the settings of {@link Broker}. Exit code 0: all passed, 1: some failed, 2: wrong usage. The last
 * line is `N passed, N failed`.
 */
public final class Main {
    /** Runs tools in a fixed order; what they print goes into the transcript. */
    interface Story {
        void run(String bootstrap, Path directory, Transcript transcript) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        // Each command tells all settings of its clients, which would take longer than the command.
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "warn");
        Map<String, String> options = options(args);
        Map<String, Story> stories = new LinkedHashMap<>();
        stories.put("consumer_groups", new ConsumerGroups());
        stories.put("streams_groups", new StreamsGroups());
        stories.put("group_settings", new GroupSettings());
        stories.put("features", new Features());
        stories.put("application_reset", new ApplicationReset());
        stories.put("formatters", new Formatters());

        Path work = Files.createTempDirectory("thalweg-java-tools-");
        int passed = 0;
        int failed = 0;
        for (Map.Entry<String, Story> entry : stories.entrySet()) {
            String name = entry.getKey();
            if (!name.contains(options.getOrDefault("only", ""))) {
                continue;
            }
            long start = System.nanoTime();
            Path directory = Files.createDirectories(work.resolve(name));
            try (Broker broker = options.containsKey("broker")
                    ? Broker.start(options.get("broker"), directory.resolve("broker")) : Broker.running(options.get("bootstrap"))) {
                Transcript transcript = new Transcript(broker.bootstrap, options.containsKey("record"));
                entry.getValue().run(broker.bootstrap, directory, transcript);
                if (options.containsKey("record")) {
                    Files.writeString(Path.of(options.get("record")).resolve(name + ".txt"), transcript.text());
                } else {
                    Files.writeString(directory.resolve(name + ".txt"), transcript.text());
                    transcript.compare(name + ".txt");
                }
                passed++;
                System.out.printf("ok   %s (%.1f s): %d commands%n", name, (System.nanoTime() - start) / 1e9, transcript.commands());
            } catch (Throwable problem) {
                failed++;
                System.out.printf("FAIL %s (%.1f s): %s%n", name, (System.nanoTime() - start) / 1e9, problem);
                problem.printStackTrace(System.out);
                System.out.println("     logs, data and what the tools printed: " + directory);
            }
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 && passed > 0 ? 0 : 1);
    }

    private static Map<String, String> options(String[] args) {
        Map<String, String> options = new TreeMap<>();
        for (int i = 0; i + 1 < args.length; i += 2) {
            options.put(args[i].replaceFirst("^--", ""), args[i + 1]);
        }
        boolean known = java.util.Set.of("broker", "bootstrap", "only", "record").containsAll(options.keySet());
        if (args.length % 2 != 0 || !known || options.containsKey("broker") == options.containsKey("bootstrap")) {
            System.err.println("usage: Main (--broker PATH | --bootstrap HOST:PORT) [--only NAME] [--record FOLDER]");
            System.exit(2);
        }
        return options;
    }

    static void until(String what, int seconds, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (!condition.call()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not within " + seconds + " s: " + what);
            }
            Thread.sleep(20);
        }
    }

    private Main() {}
}
