package thalweg.interop;

import java.time.Duration;
import java.util.concurrent.Callable;

/** Bounded waits. */
final class Wait {
    static void until(String what, Duration limit, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + limit.toNanos();
        while (!condition.call()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not within " + limit.toSeconds() + " s: " + what);
            }
            Thread.sleep(50);
        }
    }

    private Wait() {}
}
