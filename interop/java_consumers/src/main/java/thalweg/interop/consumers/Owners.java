package thalweg.interop.consumers;

import java.util.Collection;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.kafka.common.TopicPartition;

/** Who owns which partition, as the members see it from inside their callbacks. What two own at once is remembered. */
final class Owners {
    private final Map<TopicPartition, Object> owners = new ConcurrentHashMap<>();
    private final Queue<String> conflicts = new ConcurrentLinkedQueue<>();
    private final AtomicInteger twice = new AtomicInteger();

    void assigned(Object member, Collection<TopicPartition> partitions) {
        for (TopicPartition partition : partitions) {
            Object other = owners.put(partition, member);
            if (other != null && other != member) {
                conflicts.add(partition + " was assigned while another member had it");
            }
        }
    }

    void released(Object member, Collection<TopicPartition> partitions) {
        partitions.forEach(partition -> owners.remove(partition, member));
    }

    /** `first`: nobody has read this record before. */
    void processes(Object member, TopicPartition partition, boolean first) {
        if (owners.get(partition) != member) {
            conflicts.add(partition + " was read by a member that does not own it");
        }
        if (!first) {
            twice.incrementAndGet();
        }
    }

    /** Records that were read again, because what was read could not be committed before their partition moved. */
    int twice() {
        return twice.get();
    }

    void check() {
        if (!conflicts.isEmpty()) {
            throw new AssertionError(conflicts.size() + " conflicts, the first one: " + conflicts.peek());
        }
    }
}
