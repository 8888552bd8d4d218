package thalweg.interop;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A broker process of our own on one loopback port and one data directory, so that it can be killed and started again. */
final class Broker implements AutoCloseable {
    private final String program;
    private final Path directory;
    private final int port;
    private Process process;

    Broker(String program, Path directory) throws IOException {
        this.program = program;
        this.directory = directory;
        try (ServerSocket free = new ServerSocket()) {
            free.bind(new InetSocketAddress("127.0.0.1", 0));
            this.port = free.getLocalPort();
        }
        directory.toFile().mkdirs();
    }

    String bootstrap() {
        return "127.0.0.1:" + port;
    }

    void start() throws Exception {
        process = new ProcessBuilder(program, "serve",
                "--override", "listeners=PLAINTEXT://127.0.0.1:" + port,
                "--override", "log.dirs=" + directory.resolve("data"))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(directory.resolve("broker.log").toFile()))
            .start();
        Wait.until("the broker accepts connections", Duration.ofSeconds(20), () -> {
            if (!process.isAlive()) {
                throw new IllegalStateException("the broker ended with code " + process.exitValue());
            }
            try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress("127.0.0.1", port), 500);
                return true;
            } catch (IOException notYet) {
                return false;
            }
        });
    }

    /** SIGKILL: nothing is flushed, nobody is told. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** SIGTERM, which must end the broker cleanly. */
    void stop() throws InterruptedException {
        process.destroy();
        if (!process.waitFor(20, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
            throw new IllegalStateException("the broker did not end within 20 s of SIGTERM");
        }
        if (process.exitValue() != 0) {
            throw new IllegalStateException("the broker ended with code " + process.exitValue() + " after SIGTERM");
        }
    }

    /** What the program prints when it is run as a command-line tool. */
    String command(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(program));
        command.addAll(List.of(arguments));
        Path out = Files.createTempFile(directory, "command-", ".txt");
        Process tool = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile()).start();
        if (!tool.waitFor(60, TimeUnit.SECONDS)) {
            tool.destroyForcibly();
            throw new AssertionError(command + " did not end within 60 s");
        }
        return Files.readString(out);
    }

    @Override
    public void close() throws InterruptedException {
        if (process != null && process.isAlive()) {
            stop();
        }
    }
}
