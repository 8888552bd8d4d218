package thalweg.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * `thalweg wire proxy --record` between the clients of a scenario and its broker. At the end everything that passed must
 * decode without an error, and each frame must be written again in the same bytes.
 */
final class Recording implements AutoCloseable {
    private static final Pattern LISTENING = Pattern.compile("\"listening\":\"([^\"]+)\"");
    private static final Pattern COUNTS =
        Pattern.compile("(\\d+) frames, 0 with errors, 0 would be written in other bytes");
    /** Any scenario has more than that. */
    private static final int FRAMES_MIN = 100;

    final String bootstrap;
    private final String program;
    private final Path directory;
    private final Path file;
    /** 128 and the number of SIGTERM. */
    private static final int TERMINATED = 143;
    private final Process proxy;

    Recording(String program, String upstream, Path directory) throws IOException {
        this.program = program;
        this.directory = directory;
        this.file = directory.resolve("recording.ndjson");
        proxy = new ProcessBuilder(program, "wire", "proxy", "--listen", "127.0.0.1:0", "--upstream", upstream,
                "--record", file.toString(), "--quiet", "-o", "json")
            .redirectError(directory.resolve("proxy.log").toFile())
            .start();
        // Nothing more is printed: the broker is the only one, and the port of the first line stands for it.
        BufferedReader out =
            new BufferedReader(new InputStreamReader(proxy.getInputStream(), StandardCharsets.UTF_8));
        String line = out.readLine();
        Matcher found = LISTENING.matcher(line == null ? "" : line);
        if (!found.find()) {
            proxy.destroyForcibly();
            throw new IOException("the proxy did not say where it listens: " + line + "\n"
                + Files.readString(directory.resolve("proxy.log")));
        }
        bootstrap = found.group(1);
    }

    /** Ends the proxy and checks what it recorded; the clients should be gone. */
    void check() throws Exception {
        proxy.destroy();
        if (!proxy.waitFor(20, TimeUnit.SECONDS) || proxy.exitValue() != TERMINATED) {
            throw new AssertionError("the proxy did not end cleanly:\n" + Files.readString(directory.resolve("proxy.log")));
        }
        Path decoded = directory.resolve("decoded.txt");
        Process decode = new ProcessBuilder(program, "wire", "decode", "--lines", file.toString())
            .redirectErrorStream(true)
            .redirectOutput(decoded.toFile())
            .start();
        if (!decode.waitFor(5, TimeUnit.MINUTES)) {
            decode.destroyForcibly();
            throw new AssertionError("decoding " + file + " takes more than 5 minutes");
        }
        long produced = 0;
        String last = "";
        try (Stream<String> lines = Files.lines(decoded)) {
            for (String line : (Iterable<String>) lines::iterator) {
                last = line;
                produced += line.contains(" > Produce ") ? 1 : 0;
            }
        }
        Matcher counts = COUNTS.matcher(last);
        if (decode.exitValue() != 0 || !counts.matches()) {
            throw new AssertionError("the recording has errors: exit code " + decode.exitValue() + ", " + last + "\n"
                + String.join("\n", wrong(decoded)));
        }
        // Clients that were led past the proxy would have asked it for metadata alone.
        if (Integer.parseInt(counts.group(1)) < FRAMES_MIN || produced == 0) {
            throw new AssertionError("the scenario did not go through the proxy: " + last);
        }
        System.out.println("     recorded: " + last);
    }

    /** Lines with errors, each behind the one of its frame. */
    private static List<String> wrong(Path decoded) throws IOException {
        try (Stream<String> lines = Files.lines(decoded)) {
            return lines.filter(line -> line.contains("error E-") || line.startsWith("  E-")
                || line.contains("would be written")).limit(20).toList();
        }
    }

    @Override
    public void close() {
        proxy.destroyForcibly();
    }
}
