package thalweg.interop.tools;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;

import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.tools.ConfigCommand;
import org.apache.kafka.tools.FeatureCommand;
import org.apache.kafka.tools.GroupsCommand;
import org.apache.kafka.tools.StreamsResetter;
import org.apache.kafka.tools.consumer.ConsoleConsumer;
import org.apache.kafka.tools.consumer.group.ConsumerGroupCommand;
import org.apache.kafka.tools.streams.StreamsGroupCommand;

/**
 * Commands and what they print. The tools run in this process, one after the other; whatever differs from run to run
 * (addresses, ids, widths of columns, the order of rows) is made equal.
 */
final class Transcript {
    private interface Tool {
        void main(String[] args) throws Exception;
    }

    /** The tool asked for the end of the process. Some tools catch it, print it, and ask again. */
    private static final class Ended extends Error {
        static final String MESSAGE = "the process ends";

        Ended() {
            super(MESSAGE, null, false, false);
        }
    }

    private static final Map<String, Tool> TOOLS = Map.of(
        "kafka-configs", ConfigCommand::main,
        "kafka-consumer-groups", ConsumerGroupCommand::main,
        "kafka-features", FeatureCommand::main,
        "kafka-groups", GroupsCommand::main,
        "kafka-streams-groups", StreamsGroupCommand::main,
        "kafka-streams-application-reset", StreamsResetter::main,
        "kafka-console-consumer", ConsoleConsumer::main);
    private static final Pattern UUID = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
    private static final Pattern BASE64 = Pattern.compile("(?<![\\w.-])[\\w-]{22}(?![\\w-])");
    private static final Pattern HEADER = Pattern.compile("[A-Z#][-A-Z# ()]*");
    /** States, types and options are told in the order of a hash. */
    private static final Pattern VALID = Pattern.compile("(Valid \\w+ are: |following scenarios: |these options: )(.*)");
    private static final Pattern USAGE = Pattern.compile("This tool .*|Option .*Description");

    private final String bootstrap;
    private final boolean recorded;
    private final StringBuilder text = new StringBuilder();
    /** With which code the tool wanted to end at first. */
    private final AtomicReference<Integer> code = new AtomicReference<>();
    private int commands;

    /** `recorded`: of Apache Kafka. */
    Transcript(String bootstrap, boolean recorded) {
        this.bootstrap = bootstrap;
        this.recorded = recorded;
        Exit.setExitProcedure((wanted, message) -> {
            code.compareAndSet(null, wanted);
            throw new Ended();
        });
        Exit.setShutdownHookAdder((name, hook) -> { });
    }

    void run(String command) throws Exception {
        run(UnaryOperator.identity(), command);
    }

    /** Runs a tool with words that are parted by blanks; `more` makes further differences equal. */
    void run(UnaryOperator<String> more, String command) throws Exception {
        commands++;
        text.append("$ ").append(more.apply(command)).append('\n').append(normal(more.apply(print(command)))).append('\n');
    }

    /** A command that prints here what it does not print of Apache Kafka: this must be in it. */
    void differs(String command, String... parts) throws Exception {
        if (recorded) {
            return;
        }
        commands++;
        String printed = print(command);
        for (String part : parts) {
            if (!printed.contains(part)) {
                throw new AssertionError(command + " should print " + part + ":\n" + printed);
            }
        }
    }

    private String print(String command) throws Exception {
        List<String> words = new ArrayList<>(List.of(command.strip().split(" +")));
        Tool tool = TOOLS.get(words.remove(0));
        words.addAll(0, List.of("--bootstrap-server", bootstrap));
        return capture(tool, words.toArray(String[]::new));
    }

    /** What is known from elsewhere, after the command that it belongs to. */
    void note(String line) {
        text.append("# ").append(line).append("\n\n");
    }

    /** What a command of a shell prints, both streams, without what changes. */
    private String capture(Tool tool, String[] args) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        PrintStream out = System.out;
        PrintStream err = System.err;
        System.setOut(stream);
        System.setErr(stream);
        code.set(null);
        try {
            tool.main(args);
        } catch (Ended ended) {
            // Its code was taken down.
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        String printed = bytes.toString(StandardCharsets.UTF_8);
        Integer ended = code.get();
        return ended == null || ended == 0 ? printed : printed + "\n\n(code " + ended + ")\n";
    }

    /** Without addresses, ids and widths; rows of a table, and lines that belong together, in the order of their text. */
    private String normal(String printed) {
        StringBuilder result = new StringBuilder();
        List<String> block = new ArrayList<>();
        boolean usage = false;
        for (String raw : (printed + "\n\n").split("\n", -1)) {
            String line = raw.replace(bootstrap, "BROKER");
            line = UUID.matcher(line).replaceAll("<id>");
            line = BASE64.matcher(line).replaceAll("<id>");
            line = line.replaceAll("\\s+", " ").stripTrailing();
            if (raw.startsWith("\tat ") || raw.matches("\\s+\\.\\.\\. \\d+ more") || raw.contains(Ended.MESSAGE)) {
                continue;
            }
            line = VALID.matcher(line).replaceAll(list ->
                list.group(1) + String.join(", ", new TreeSet<>(List.of(list.group(2).replaceAll("[\\[\\]]", "").split(", ")))));
            usage = (usage || USAGE.matcher(line).matches()) && !line.isEmpty();
            if (usage) {
                continue;
            }
            if (!line.isEmpty()) {
                block.add(line);
            } else if (!block.isEmpty()) {
                int header = HEADER.matcher(block.get(0)).matches() ? 1 : 0;
                block.subList(header, block.size()).sort(null);
                block.forEach(row -> result.append("    ").append(row).append('\n'));
                block.clear();
                result.append('\n');
            }
        }
        return result.toString().stripTrailing() + "\n";
    }

    String text() {
        return text.toString();
    }

    int commands() {
        return commands;
    }

    /** Each command must print what it printed of Apache Kafka. */
    void compare(String resource) throws IOException {
        Map<Integer, String> expected;
        try (InputStream recorded = Transcript.class.getResourceAsStream("/" + resource)) {
            if (recorded == null) {
                throw new AssertionError("no recording " + resource);
            }
            expected = byCommand(new String(recorded.readAllBytes(), StandardCharsets.UTF_8));
        }
        Map<Integer, String> seen = byCommand(text());
        int differences = 0;
        for (int i = 0; i < Math.max(expected.size(), seen.size()); i++) {
            if (!java.util.Objects.equals(expected.get(i), seen.get(i))) {
                differences++;
                System.out.println("-- Apache Kafka:\n" + expected.get(i) + "-- here:\n" + seen.get(i));
            }
        }
        if (differences > 0) {
            throw new AssertionError(differences + " of " + seen.size() + " commands print something else");
        }
    }

    private static Map<Integer, String> byCommand(String text) {
        Map<Integer, String> result = new TreeMap<>();
        for (String one : text.split("(?m)^(?=\\$ )")) {
            if (!one.isBlank()) {
                result.put(result.size(), errorsSorted(one));
            }
        }
        return result;
    }

    /** Errors about several groups come in the order of a hash map: those that follow each other are sorted. */
    private static String errorsSorted(String command) {
        int first = command.indexOf('\n') + 1;
        List<String> blocks = new ArrayList<>(List.of(command.substring(first).split("\n\n")));
        for (int from = 0, to; from < blocks.size(); from = to) {
            to = from;
            while (to < blocks.size() && blocks.get(to).stripLeading().startsWith("Error: ")) {
                to++;
            }
            blocks.subList(from, to).sort(null);
            to = Math.max(to, from + 1);
        }
        return command.substring(0, first) + String.join("\n\n", blocks).stripTrailing() + "\n";
    }
}
