package thalweg.interop;

import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyQueryMetadata;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsMetadata;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.state.HostInfo;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * Instances with `application.server`: every instance knows for each key the endpoint of the one that has it, and this one
 * alone serves it; the standby is named too and holds the same value. From two instances to four and back to two.
 *
 * <p>Streams groups, scenario 337.
 */
final class InteractiveQueries implements Main.Scenario {
    private static final int PARTITIONS = 8;
    private static final int TASKS = 2 * PARTITIONS;
    private static final String HOST = "127.0.0.1";
    private static final Duration LIMIT = Duration.ofSeconds(90);

    @Override
    public void run(Lane lane) throws Exception {
        String application = lane.name("queries");
        String input = lane.name("queries-lines");
        String output = lane.name("queries-counts");
        lane.createTopic(input, PARTITIONS);
        lane.createTopic(output, 2);
        lane.setGroupConfig(application, "streams.num.standby.replicas", "1");
        int lines = lane.full ? 5_000 : 1_000;
        Map<HostInfo, Application> instances = new TreeMap<>(java.util.Comparator.comparingInt(HostInfo::port));
        List<ServerSocket> reserved = new ArrayList<>();
        try (Words words = new Words(lane, input)) {
            for (int number = 1; number <= 4; number++) {
                // The socket is what keeps the port from others: an endpoint is only a name for Kafka Streams.
                ServerSocket socket = new ServerSocket(0, 1, java.net.InetAddress.getByName(HOST));
                reserved.add(socket);
                HostInfo host = new HostInfo(HOST, socket.getLocalPort());
                instances.put(host, new Application(lane, application, number, WordCount.topology(input, output),
                    Map.of("application.server", HOST + ":" + host.port())).start());
                words.send(lines);
                words.awaitCounts(output, LIMIT, () -> instances.values().forEach(Application::check));
                if (number >= 2) {
                    await("with " + number + " instances", words, instances);
                }
            }
            for (int left = 3; left >= 2; left--) {
                HostInfo leaving = instances.keySet().iterator().next();
                instances.remove(leaving).close();
                words.send(lines);
                words.awaitCounts(output, LIMIT, () -> instances.values().forEach(Application::check));
                await("with " + left + " instances left", words, instances);
            }
        } finally {
            instances.values().forEach(Application::close);
            for (ServerSocket socket : reserved) {
                socket.close();
            }
        }
    }

    private static void await(String when, Words words, Map<HostInfo, Application> instances) throws Exception {
        String[] problem = new String[1];
        long start = System.nanoTime();
        try {
            Wait.until("each key is where the metadata says, " + when, LIMIT, () -> {
                instances.values().forEach(Application::check);
                try {
                    problem[0] = problem(words.expected, instances);
                } catch (InvalidStateStoreException moving) {
                    problem[0] = moving.toString();
                }
                return problem[0] == null;
            });
        } catch (AssertionError late) {
            throw new AssertionError(late.getMessage() + ": " + problem[0], late);
        }
        System.out.printf("     %s: all keys found by endpoint after %d ms%n", when, (System.nanoTime() - start) / 1_000_000);
    }

    /** What is not as it should be, or null. */
    private static String problem(Map<String, Long> expected, Map<HostInfo, Application> instances) {
        int tasks = 0;
        for (Map.Entry<HostInfo, Application> instance : instances.entrySet()) {
            if (instance.getValue().streams.state() != KafkaStreams.State.RUNNING) {
                return instance.getKey() + " is " + instance.getValue().streams.state();
            }
            tasks += instance.getValue().activeTasks().size();
            String known = known(instance.getValue(), instances.keySet());
            if (known != null) {
                return instance.getKey() + " " + known;
            }
        }
        if (tasks != TASKS) {
            return tasks + " tasks run";
        }
        Set<HostInfo> owners = new TreeSet<>(java.util.Comparator.comparingInt(HostInfo::port));
        for (Map.Entry<String, Long> word : expected.entrySet()) {
            Set<KeyQueryMetadata> answers = new java.util.HashSet<>();
            for (Application instance : instances.values()) {
                answers.add(instance.streams.queryMetadataForKey("counts", word.getKey(), new StringSerializer()));
            }
            if (answers.size() != 1) {
                return word.getKey() + " is at different places: " + answers;
            }
            KeyQueryMetadata place = answers.iterator().next();
            String served = served(word, place, instances);
            if (served != null) {
                return served;
            }
            owners.add(place.activeHost());
        }
        return owners.equals(instances.keySet()) ? null : "only " + owners + " own keys";
    }

    private static String known(Application instance, Set<HostInfo> hosts) {
        Set<HostInfo> known = new TreeSet<>(java.util.Comparator.comparingInt(HostInfo::port));
        int partitions = 0;
        for (StreamsMetadata one : instance.streams.metadataForAllStreamsClients()) {
            known.add(one.hostInfo());
            partitions += one.topicPartitions().size();
        }
        if (!known.equals(hosts)) {
            return "knows " + known + " instead of " + hosts;
        }
        // Those of the input and of the repartition topic.
        return partitions == 2 * PARTITIONS ? null : "knows owners of " + partitions + " partitions";
    }

    private static String served(Map.Entry<String, Long> word, KeyQueryMetadata place, Map<HostInfo, Application> instances) {
        if (place.standbyHosts().size() != 1 || place.standbyHosts().contains(place.activeHost())) {
            return word.getKey() + " has standbys " + place.standbyHosts() + " and is at " + place.activeHost();
        }
        for (Map.Entry<HostInfo, Application> instance : instances.entrySet()) {
            boolean active = instance.getKey().equals(place.activeHost());
            boolean standby = place.standbyHosts().contains(instance.getKey());
            Long served = value(instance.getValue(), word.getKey(), place.partition(), false);
            if (!java.util.Objects.equals(served, active ? word.getValue() : null)) {
                return instance.getKey() + " serves " + word + " as " + served + ", at home is " + place;
            }
            Long copy = value(instance.getValue(), word.getKey(), place.partition(), true);
            if (!java.util.Objects.equals(copy, active || standby ? word.getValue() : null)) {
                return instance.getKey() + " holds " + word + " as " + copy + ", at home is " + place;
            }
        }
        return null;
    }

    /** The value of the key in this instance's store of the partition; null if it has none. */
    private static Long value(Application instance, String key, int partition, boolean standbysToo) {
        var query = StoreQueryParameters.fromNameAndType("counts", QueryableStoreTypes.<String, Long>keyValueStore())
            .withPartition(partition);
        try {
            ReadOnlyKeyValueStore<String, Long> store = instance.streams.store(standbysToo ? query.enableStaleStores() : query);
            return store.get(key);
        } catch (InvalidStateStoreException notHere) {
            return null;
        }
    }
}
