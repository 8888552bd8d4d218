package thalweg.interop.tools;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A broker process on one loopback port and one data directory, or one that runs already. */
final class Broker implements AutoCloseable {
    /** What both brokers are started with, so that their tables can be equal. */
    private static final List<String> SETTINGS = List.of("node.id=1", "offsets.topic.num.partitions=1",
        "transaction.state.log.num.partitions=1", "group.initial.rebalance.delay.ms=0");

    final String bootstrap;
    private Process process;

    private Broker(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    static Broker running(String bootstrap) {
        return new Broker(bootstrap);
    }

    static Broker start(String program, Path directory) throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket()) {
            free.bind(new InetSocketAddress("127.0.0.1", 0));
            port = free.getLocalPort();
        }
        Files.createDirectories(directory);
        Broker broker = new Broker("127.0.0.1:" + port);
        List<String> command = new ArrayList<>(List.of(program, "serve"));
        for (String setting : SETTINGS) {
            command.addAll(List.of("--override", setting));
        }
        command.addAll(List.of("--override", "listeners=PLAINTEXT://" + broker.bootstrap));
        command.addAll(List.of("--override", "log.dirs=" + directory.resolve("data")));
        broker.process = new ProcessBuilder(command).redirectErrorStream(true)
            .redirectOutput(directory.resolve("broker.log").toFile()).start();
        try {
            Main.until("the broker accepts connections", 20, () -> broker.accepts(port));
        } catch (Exception | AssertionError problem) {
            broker.close();
            throw problem;
        }
        return broker;
    }

    private boolean accepts(int port) {
        if (!process.isAlive()) {
            throw new IllegalStateException("the broker ended with code " + process.exitValue());
        }
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress("127.0.0.1", port), 500);
            return true;
        } catch (IOException notYet) {
            return false;
        }
    }

    @Override
    public void close() throws InterruptedException {
        if (process != null) {
            process.destroyForcibly().waitFor();
        }
    }
}
