package thalweg.interop;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/** Lines that flow from a thread of their own until stopped. */
final class Flow implements AutoCloseable {
    private static final int LINES = 20;
    private static final long PAUSE_MS = 20;

    private final AtomicBoolean stopped = new AtomicBoolean();
    private final AtomicReference<Throwable> problem = new AtomicReference<>();
    private final Thread thread;

    Flow(Words words) {
        thread = new Thread(() -> {
            try {
                while (!stopped.get()) {
                    words.send(LINES);
                    Thread.sleep(PAUSE_MS);
                }
            } catch (Throwable failure) {
                problem.set(failure);
            }
        });
    }

    void start() {
        thread.start();
    }

    /** All lines are acknowledged when it returns. */
    void stop() throws Exception {
        stopped.set(true);
        thread.join();
        if (problem.get() != null) {
            throw new AssertionError("sending failed", problem.get());
        }
    }

    @Override
    public void close() throws Exception {
        stopped.set(true);
        thread.join();
    }
}
