package thalweg.interop;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Runs Kafka Streams applications, most of them with the Streams Rebalance Protocol, against a broker and checks their results.
 *
 * <pre>
 * Main --broker PATH [--full] [--only NAME] [--seed N] [--record] [--kafka HOST:PORT]
 *                                    starts, kills and restarts `PATH serve` itself; what is measured (4_warm_up, 5_waits)
 *                                    is measured on that Apache Kafka too
 * Main --bootstrap HOST:PORT [...]   uses a running broker; what needs a kill is left out
 * </pre>
 *
 * Some scenarios go through `PATH wire proxy` and their recording is checked, with `--record` all of them.
 *
 * Exit code 0: all passed, 1: some failed, 2: wrong usage. The last line is `N passed, N failed`.
 */
public final class Main {
    /** One story that ends with exact results, or throws. */
    interface Scenario {
        void run(Lane lane) throws Exception;
    }

    /** Recorded in the short form. */
    private static final Set<String> RECORDED = Set.of("3_late_source_topic");
    /** Recorded with `--full`. */
    private static final Set<String> RECORDED_IN_FULL = Set.of("1_scale_and_kill", "2_standby_takes_over",
        "3_late_source_topic", "6_transactions", "7_exactly_once");

    public static void main(String[] args) throws Exception {
        Map<String, String> options = options(args);
        long seed = Long.parseLong(options.getOrDefault("seed", Long.toString(System.nanoTime() & 0xffff_ffffL)));
        boolean full = options.containsKey("full");
        System.out.println("seed " + seed + (full ? ", full" : ", short"));

        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        scenarios.put("1_scale_and_kill", new ScaleAndKill());
        scenarios.put("2_standby_takes_over", new StandbyTakesOver());
        scenarios.put("3_late_source_topic", new LateSourceTopic());
        scenarios.put("6_transactions", new Transactions());
        scenarios.put("7_exactly_once", new ExactlyOnce());
        scenarios.put("8_transfers", new Transfers());
        scenarios.put("9_windows_and_joins", new WindowsAndJoins());
        scenarios.put("10_static_members", new StaticMembers());
        scenarios.put("11_threads_and_shutdown", new ThreadsAndShutdown());
        scenarios.put("16_classic_protocol", new ClassicProtocol());
        if (full || options.containsKey("only")) {
            // These measure, and take minutes.
            scenarios.put("4_warm_up", new WarmUp());
            scenarios.put("5_waits", new Waits());
            // These wait for sessions and restarts.
            scenarios.put("12_interactive_queries", new InteractiveQueries());
            scenarios.put("13_topics_missing_or_wrong", new TopicsMissingOrWrong());
            scenarios.put("14_rolling_restart", new RollingRestart());
            scenarios.put("15_older_clients", new OlderClients());
            // A process for each command.
            scenarios.put("17_transaction_tools", new TransactionTools());
        }

        Path work = Files.createTempDirectory("thalweg-java-streams-");
        List<String> failed = new ArrayList<>();
        int passed = 0;
        for (Map.Entry<String, Scenario> entry : scenarios.entrySet()) {
            String name = entry.getKey();
            if (options.containsKey("only") && !name.contains(options.get("only"))) {
                continue;
            }
            long start = System.nanoTime();
            System.out.println(name + " ...");
            boolean recorded = options.containsKey("record") || (full ? RECORDED_IN_FULL : RECORDED).contains(name);
            try {
                try (Lane lane = Lane.open(options, work.resolve(name), seed, full, recorded)) {
                    entry.getValue().run(lane);
                }
                passed++;
                System.out.printf("ok   %s (%.1f s)%n", name, (System.nanoTime() - start) / 1e9);
            } catch (Throwable problem) {
                failed.add(name);
                System.out.printf("FAIL %s (%.1f s): %s%n", name, (System.nanoTime() - start) / 1e9, problem);
                problem.printStackTrace(System.out);
                System.out.println("     logs and data: " + work.resolve(name));
            }
        }
        if (failed.isEmpty()) {
            Lane.delete(work);
        }
        System.out.println(passed + " passed, " + failed.size() + " failed");
        System.exit(failed.isEmpty() && passed > 0 ? 0 : 1);
    }

    private static Map<String, String> options(String[] args) {
        Map<String, String> options = new TreeMap<>();
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--full", "--record" -> options.put(args[i].substring(2), "");
                case "--broker", "--bootstrap", "--kafka", "--only", "--seed" -> {
                    if (i + 1 == args.length) {
                        usage(args[i] + " needs a value");
                    }
                    options.put(args[i].substring(2), args[++i]);
                }
                default -> usage("unknown argument " + args[i]);
            }
        }
        if (options.containsKey("broker") == options.containsKey("bootstrap")) {
            usage("exactly one of --broker and --bootstrap");
        }
        return options;
    }

    private static void usage(String problem) {
        System.err.println(problem + "\nusage: Main (--broker PATH | --bootstrap HOST:PORT) [--full] [--only NAME] [--seed N] [--record] [--kafka HOST:PORT]");
        System.exit(2);
    }

    private Main() {}
}
