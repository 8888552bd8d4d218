package thalweg.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * Orders joined with payments in a window, with customers and with a global table of countries, counted by minute, and
 * counted by product behind a repartition topic that has more partitions than the input. A second instance comes in the
 * middle. Everything is compared with a model that is computed here.
 */
final class WindowsAndJoins implements Main.Scenario {
    private static final int PARTITIONS = 4;
    private static final int PRODUCT_PARTITIONS = 8;
    /** Orders, payments and customers are one subtopology with a task a partition, the products another: 3 a thread of 4. */
    private static final int TASKS = PARTITIONS + PRODUCT_PARTITIONS;
    private static final int CUSTOMERS = 40;
    private static final int COUNTRIES = 7;
    private static final int PRODUCTS = 23;
    private static final long JOIN_MS = 3_000;
    private static final long MINUTE_MS = 60_000;
    private static final Duration LIMIT = Duration.ofSeconds(60);

    @Override
    public void run(Lane lane) throws Exception {
        Names names = new Names(lane.name("joins"));
        for (String topic : List.of(names.orders, names.payments, names.customers)) {
            lane.createTopic(topic, PARTITIONS);
        }
        for (String topic : List.of(names.countries, names.paid, names.enriched, names.minutes, names.products)) {
            lane.createTopic(topic, 2);
        }
        int rounds = lane.full ? 8 : 3;
        int orders = lane.full ? 4_000 : 600;
        try (Model model = new Model(lane, names); Outputs outputs = new Outputs(lane, names)) {
            try (Application first = new Application(lane, names.application, 1, topology(names), Map.of()).start()) {
                model.tables();
                awaitTables(lane, names, model, first);
                model.orders(orders);
                outputs.await(model, first);

                try (Application second = new Application(lane, names.application, 2, topology(names), Map.of()).start()) {
                    // While the tasks move.
                    model.orders(orders);
                    Wait.until("both instances have half of the tasks", LIMIT,
                        () -> first.running(TASKS / 2) && second.running(TASKS / 2));
                    outputs.await(model, first, second);
                    for (int round = 0; round < rounds; round++) {
                        model.tables();
                        awaitTables(lane, names, model, first, second);
                        model.orders(orders);
                        outputs.await(model, first, second);
                    }
                }
                model.orders(orders);
                outputs.await(model, first);
            }
            outputs.same(model);
            String internal = names.application + "-by-product-repartition";
            int partitions = lane.admin.describeTopics(List.of(internal)).allTopicNames().get(30, TimeUnit.SECONDS)
                .get(internal).partitions().size();
            if (partitions != PRODUCT_PARTITIONS) {
                throw new AssertionError(internal + " has " + partitions + " partitions");
            }
        }
    }

    private static final class Names {
        final String application;
        final String orders;
        final String payments;
        final String customers;
        final String countries;
        final String paid;
        final String enriched;
        final String minutes;
        final String products;

        Names(String application) {
            this.application = application;
            orders = application + "-orders";
            payments = application + "-payments";
            customers = application + "-customers";
            countries = application + "-countries";
            paid = application + "-paid";
            enriched = application + "-enriched";
            minutes = application + "-minutes";
            products = application + "-products";
        }
    }

    /** An order is `number:product`, a payment `number`, a customer the id of a country. */
    private static Topology topology(Names names) {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> orders = builder.stream(names.orders);
        KStream<String, String> payments = builder.stream(names.payments);
        KTable<String, String> customers = builder.table(names.customers);
        GlobalKTable<String, String> countries = builder.globalTable(names.countries,
            Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as("countries")
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.String()));

        orders.join(payments, (order, payment) -> order + "+" + payment,
                JoinWindows.ofTimeDifferenceAndGrace(Duration.ofMillis(JOIN_MS), Duration.ofDays(1)),
                StreamJoined.with(Serdes.String(), Serdes.String(), Serdes.String()))
            .to(names.paid);
        orders.join(customers, (order, country) -> country + "@" + order)
            .join(countries, (customer, order) -> order.substring(0, order.indexOf('@')), (order, country) -> order + "@" + country)
            .to(names.enriched);
        orders.groupByKey()
            .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMillis(MINUTE_MS), Duration.ofDays(1)))
            .count()
            .toStream((key, count) -> key.key() + "@" + key.window().start())
            .mapValues(String::valueOf)
            .to(names.minutes);
        orders.selectKey((customer, order) -> order.substring(order.indexOf(':') + 1))
            .repartition(Repartitioned.<String, String>as("by-product").withNumberOfPartitions(PRODUCT_PARTITIONS))
            .groupByKey()
            .count()
            .toStream()
            .mapValues(String::valueOf)
            .to(names.products);
        return builder.build();
    }

    /** What is in a table when an order is processed decides the result, so both tables must have been read before. */
    private static void awaitTables(Lane lane, Names names, Model model, Application... instances) throws Exception {
        Wait.until("the tables are read", LIMIT, () -> {
            Map<TopicPartition, OffsetAndMetadata> committed = lane.admin.listStreamsGroupOffsets(
                    Map.of(names.application, new org.apache.kafka.clients.admin.ListStreamsGroupOffsetsSpec()))
                .partitionsToOffsetAndMetadata(names.application).get(30, TimeUnit.SECONDS);
            long read = 0;
            for (int partition = 0; partition < PARTITIONS; partition++) {
                OffsetAndMetadata one = committed.get(new TopicPartition(names.customers, partition));
                read += one == null ? 0 : one.offset();
            }
            boolean all = read == model.customersSent;
            for (Application instance : instances) {
                instance.check();
                all &= countries(instance).equals(model.countries);
            }
            return all;
        });
    }

    private static Map<String, String> countries(Application instance) {
        Map<String, String> seen = new HashMap<>();
        try {
            ReadOnlyKeyValueStore<String, String> store = instance.streams.store(
                StoreQueryParameters.fromNameAndType("countries", QueryableStoreTypes.keyValueStore()));
            try (var all = store.all()) {
                all.forEachRemaining(entry -> seen.put(entry.key, entry.value));
            }
        } catch (InvalidStateStoreException notYet) {
            seen.clear();
        }
        return seen;
    }

    /** Sends, and knows what must come out. */
    private static final class Model implements AutoCloseable {
        private final Names names;
        private final Random random;
        private final KafkaProducer<String, String> producer;
        private final List<Future<?>> sent = new ArrayList<>();
        private final Map<String, String> customers = new HashMap<>();
        final Map<String, String> countries = new HashMap<>();
        long customersSent;
        private long number;
        /** Time of the records: some minutes ago, so that nothing is of the future. */
        private long time = System.currentTimeMillis() / MINUTE_MS * MINUTE_MS - 30 * MINUTE_MS;
        private final Map<String, List<Event>> ordersOf = new HashMap<>();
        private final Map<String, List<Event>> paymentsOf = new HashMap<>();
        final Map<String, Integer> paid = new TreeMap<>();
        final Map<String, Integer> enriched = new TreeMap<>();
        final Map<String, String> minutes = new TreeMap<>();
        final Map<String, String> products = new TreeMap<>();

        private record Event(long time, String value) {}

        Model(Lane lane, Names names) {
            this.names = names;
            this.random = new Random(lane.seed);
            Properties config = new Properties();
            config.put("bootstrap.servers", lane.bootstrap);
            config.put("linger.ms", "5");
            producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        }

        private void send(String topic, long at, String key, String value) {
            sent.add(producer.send(new ProducerRecord<>(topic, null, at, key, value)));
        }

        private void flush() throws Exception {
            producer.flush();
            for (Future<?> one : sent) {
                one.get();
            }
            sent.clear();
        }

        /** New values for all customers and countries. Some customers have none, and some countries are unknown. */
        void tables() throws Exception {
            for (int i = 0; i < COUNTRIES - 1; i++) {
                countries.put("c" + i, "name" + random.nextInt(1000));
                send(names.countries, time, "c" + i, countries.get("c" + i));
            }
            for (int i = 0; i < CUSTOMERS; i++) {
                String customer = "customer" + i;
                String country = random.nextInt(5) == 0 ? null : "c" + random.nextInt(COUNTRIES);
                if (country == null) {
                    customers.remove(customer);
                } else {
                    customers.put(customer, country);
                }
                send(names.customers, time, customer, country);
                customersSent++;
            }
            flush();
        }

        /** Orders and payments, out of order by some seconds. */
        void orders(int count) throws Exception {
            for (int i = 0; i < count; i++) {
                time += 30;
                String customer = "customer" + random.nextInt(CUSTOMERS);
                long at = time + random.nextInt(5_000);
                if (random.nextInt(3) == 0) {
                    Event payment = new Event(at, Long.toString(number++));
                    paymentsOf.computeIfAbsent(customer, none -> new ArrayList<>()).add(payment);
                    ordersOf.getOrDefault(customer, List.of()).forEach(order -> join(customer, order, payment));
                    send(names.payments, at, customer, payment.value);
                } else {
                    String product = "p" + random.nextInt(PRODUCTS);
                    Event order = new Event(at, number++ + ":" + product);
                    ordersOf.computeIfAbsent(customer, none -> new ArrayList<>()).add(order);
                    paymentsOf.getOrDefault(customer, List.of()).forEach(payment -> join(customer, order, payment));
                    String country = customers.get(customer);
                    if (country != null && countries.containsKey(country)) {
                        enriched.merge(customer + "=" + country + "@" + order.value + "@" + countries.get(country), 1, Integer::sum);
                    }
                    count(minutes, customer + "@" + at / MINUTE_MS * MINUTE_MS);
                    count(products, product);
                    send(names.orders, at, customer, order.value);
                }
            }
            time += 5_000;
            flush();
        }

        private void join(String customer, Event order, Event payment) {
            if (Math.abs(order.time - payment.time) <= JOIN_MS) {
                paid.merge(customer + "=" + order.value + "+" + payment.value, 1, Integer::sum);
            }
        }

        private static void count(Map<String, String> counts, String key) {
            counts.merge(key, "1", (before, one) -> Long.toString(Long.parseLong(before) + 1));
        }

        @Override
        public void close() {
            producer.close(Duration.ofSeconds(10));
        }
    }

    private static final class Outputs implements AutoCloseable {
        private final Output paid;
        private final Output enriched;
        private final Output minutes;
        private final Output products;

        Outputs(Lane lane, Names names) {
            paid = new Output(lane, names.paid);
            enriched = new Output(lane, names.enriched);
            minutes = new Output(lane, names.minutes);
            products = new Output(lane, names.products);
        }

        private boolean equal(Model model) {
            return paid.records.equals(model.paid) && enriched.records.equals(model.enriched)
                && minutes.last.equals(model.minutes) && products.last.equals(model.products);
        }

        private String difference(Model model) {
            return "paid: " + Output.difference(paid.records, model.paid) + "\nenriched: "
                + Output.difference(enriched.records, model.enriched) + "\nminutes: "
                + Output.difference(minutes.last, model.minutes) + "\nproducts: "
                + Output.difference(products.last, model.products);
        }

        void await(Model model, Application... instances) throws Exception {
            try {
                Wait.until("the results of the model", LIMIT, () -> {
                    for (Application instance : instances) {
                        instance.check();
                    }
                    List.of(paid, enriched, minutes, products).forEach(Output::poll);
                    return equal(model);
                });
            } catch (AssertionError late) {
                throw new AssertionError(late.getMessage() + "\n" + difference(model), late);
            }
        }

        /** After all instances have closed: nothing more came out than the model says. */
        void same(Model model) throws Exception {
            for (Output output : List.of(paid, enriched, minutes, products)) {
                output.drain(LIMIT);
            }
            if (!equal(model)) {
                throw new AssertionError(difference(model));
            }
        }

        @Override
        public void close() {
            List.of(paid, enriched, minutes, products).forEach(Output::close);
        }
    }
}
