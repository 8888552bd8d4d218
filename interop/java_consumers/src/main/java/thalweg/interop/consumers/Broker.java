package thalweg.interop.consumers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;

/** A broker process on one loopback port and one data directory, or one that runs already and can't be killed. */
final class Broker implements AutoCloseable {
    final String bootstrap;
    private final String program;
    private final Path directory;
    private Process process;

    private Broker(String program, Path directory, String bootstrap) {
        this.program = program;
        this.directory = directory;
        this.bootstrap = bootstrap;
    }

    static Broker running(String bootstrap) {
        return new Broker(null, null, bootstrap);
    }

    static Broker start(String program, Path directory) throws Exception {
        try (ServerSocket free = new ServerSocket()) {
            free.bind(new InetSocketAddress("127.0.0.1", 0));
            Broker broker = new Broker(program, directory, "127.0.0.1:" + free.getLocalPort());
            free.close();
            broker.start();
            return broker;
        }
    }

    private void start() throws Exception {
        process = new ProcessBuilder(program, "serve",
                "--override", "listeners=PLAINTEXT://" + bootstrap,
                "--override", "log.dirs=" + directory.resolve("data"))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(directory.resolve("broker.log").toFile()))
            .start();
        int port = Integer.parseInt(bootstrap.substring(bootstrap.indexOf(':') + 1));
        Main.until("the broker accepts connections", 20, () -> {
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

    /** SIGKILL and a new start: nothing is flushed, nobody is told. */
    void killAndStart() throws Exception {
        if (process != null) {
            process.destroyForcibly().waitFor();
            start();
        }
    }

    @Override
    public void close() throws InterruptedException {
        if (process != null) {
            process.destroyForcibly().waitFor();
        }
    }
}
