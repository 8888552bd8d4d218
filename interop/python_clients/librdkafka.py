"""librdkafka through confluent-kafka."""

from confluent_kafka import (
    OFFSET_BEGINNING, Consumer, ConsumerGroupTopicPartitions, IsolationLevel, KafkaError, KafkaException, Producer, TopicCollection,
    TopicPartition)
from confluent_kafka.admin import (
    AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic, OffsetSpec, ResourceType)

from broker import until

# What a commit may say while the group rebalances or the broker is away: the next one tells it again.
LATER = {
    KafkaError.REBALANCE_IN_PROGRESS, KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.STALE_MEMBER_EPOCH, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR, KafkaError.REQUEST_TIMED_OUT, KafkaError._TRANSPORT, KafkaError._TIMED_OUT,
    KafkaError._TIMED_OUT_QUEUE, KafkaError._WAIT_COORD, KafkaError._ASSIGNMENT_LOST, KafkaError._STATE,
    KafkaError._DESTROY, KafkaError._ALL_BROKERS_DOWN,
}


class Client:
    def __init__(self, bootstrap):
        # A killed broker is asked again at once, so that stories are short.
        self.common = {"bootstrap.servers": bootstrap, "reconnect.backoff.max.ms": 500, "log_level": 2}
        self.admin = AdminClient(self.common)

    def create_topic(self, name, partitions, config=None):
        self.admin.create_topics([NewTopic(name, partitions, 1, config=config or {})])[name].result(30)

    def ends(self, topic, partitions, spec=None):
        asked = {TopicPartition(topic, p): spec or OffsetSpec.latest() for p in range(partitions)}
        told = self.admin.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED)
        return {place.partition: future.result(30).offset for place, future in told.items()}

    def committed(self, group, topic, partitions):
        places = [TopicPartition(topic, p) for p in range(partitions)]
        asked = [ConsumerGroupTopicPartitions(group, places)]
        told = self.admin.list_consumer_group_offsets(asked)[group].result(30)
        return {place.partition: place.offset for place in told.topic_partitions if place.offset >= 0}

    def group(self, group):
        told = self.admin.describe_consumer_groups([group])[group].result(30)
        return told.state.name, len(told.members)

    def delete_group(self, group):
        self.admin.delete_consumer_groups([group])[group].result(30)

    def producer(self, **settings):
        return Writer(Producer(self.common | {"linger.ms": 5} | settings))

    def consumer(self, group, topic, member, instance=None, **settings):
        more = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        if instance:
            more["group.instance.id"] = instance
        if settings.get("group.protocol") != "consumer":
            more |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
        return Reader(Consumer(self.common | more | settings), topic, member)


    def transactor(self, name):
        return Transactor(self, name)

    # What follows is asked by basics.py.
    def write(self, topic, partition, rows, acks="all", compression="none", idempotent=False):
        producer = Producer(self.common | {
            "acks": acks, "compression.type": compression, "enable.idempotence": idempotent, "linger.ms": 20})
        offsets, problems = [], []

        def told(problem, message):
            (problems if problem else offsets).append(problem or message.offset())

        for key, value, headers, timestamp in rows:
            producer.produce(
                topic, value, key, partition=partition, headers=headers, timestamp=timestamp, on_delivery=told)
        left = producer.flush(30)
        assert not left and not problems, f"{left} records left, {problems[:1]}"
        return offsets

    def read(self, topic, partitions, committed=False):
        level = "read_committed" if committed else "read_uncommitted"
        consumer = Consumer(self.common | {
            "group.id": "none", "enable.auto.commit": False, "isolation.level": level, "enable.partition.eof": True,
            "check.crcs": True})
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
        rows = {p: [] for p in range(partitions)}
        ended = set()
        until(f"{topic} is read to its end", 30, lambda: self._read(consumer, rows, ended))
        consumer.close()
        return rows

    @staticmethod
    def _read(consumer, rows, ended):
        for message in consumer.consume(1000, 0.2):
            if message.error() is None:
                key, value, headers = message.key(), message.value(), message.headers() or []
                rows[message.partition()].append((message.offset(), key, value, headers, message.timestamp()[1]))
            elif message.error().code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
            elif not message.error().retriable() and message.error().code() not in LATER:
                raise KafkaException(message.error())
        return ended >= set(rows)

    def topics(self):
        return list(self.admin.list_topics(timeout=30).topics)

    def partitions(self, topic):
        return len(self.admin.describe_topics(TopicCollection([topic]))[topic].result(30).partitions)

    def add_partitions(self, topic, total):
        self.admin.create_partitions([NewPartitions(topic, total)])[topic].result(30)

    def config(self, topic, name):
        resource = ConfigResource(ResourceType.TOPIC, topic)
        return self.admin.describe_configs([resource])[resource].result(30)[name].value

    def set_config(self, topic, name, value):
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(30)

    def delete_topic(self, topic):
        self.admin.delete_topics([topic])[topic].result(30)

    def delete_records(self, topic, offsets):
        places = [TopicPartition(topic, p, offset) for p, offset in offsets.items()]
        for future in self.admin.delete_records(places).values():
            future.result(30)

    def starts(self, topic, partitions):
        return self.ends(topic, partitions, OffsetSpec.earliest())

    def newest(self, topic, partitions):
        return self.ends(topic, partitions, OffsetSpec.max_timestamp())

    def since(self, topic, partitions, timestamp):
        return self.ends(topic, partitions, OffsetSpec.for_timestamp(timestamp))

    def groups(self):
        return [group.group_id for group in self.admin.list_consumer_groups().result(30).valid]

    def set_committed(self, group, topic, offsets):
        places = [TopicPartition(topic, p, offset) for p, offset in offsets.items()]
        told = self.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])
        told[group].result(30)

    def refusal(self, call):
        """The name of the error that the broker answers."""
        try:
            call()
        except KafkaException as problem:
            return problem.args[0].name().replace("TOPIC_OR_PART", "TOPIC_OR_PARTITION")
        return None


class Writer:
    def __init__(self, producer):
        self.inner = producer

    def send(self, topic, partition, value, told):
        def delivered(problem, message):
            told(value, message.partition(), message.offset(), problem)

        self.inner.produce(topic, value, partition=partition, on_delivery=delivered)
        self.inner.poll(0)

    def flush(self):
        self.inner.flush(50)

    def close(self):
        pass


class Reader:
    # This client reads anew what it is assigned, and rebalances inside of poll() only.
    moved = False

    def __init__(self, consumer, topic, member):
        self.inner, self.topic = consumer, topic
        numbers = lambda places: [place.partition for place in places]
        consumer.subscribe(
            [topic],
            on_assign=lambda _, places: member.on_assigned(numbers(places)),
            on_revoke=lambda _, places: member.on_revoked(numbers(places)),
            on_lost=lambda _, places: member.on_lost(numbers(places)))

    def poll(self):
        records = []
        message = self.inner.poll(0.1)
        if message is not None:
            problem = message.error()
            if problem is None:
                records.append((message.partition(), message.offset(), message.value()))
            elif problem.fatal() or not (problem.retriable() or problem.code() in LATER):
                raise KafkaException(problem)
        return records

    def owned(self):
        return [place.partition for place in self.inner.assignment()]

    def commit(self, positions):
        offsets = [TopicPartition(self.topic, p, offset) for p, offset in positions.items()]
        try:
            for place in self.inner.commit(offsets=offsets, asynchronous=False):
                if place.error:
                    raise KafkaException(place.error)
            return True
        except KafkaException as problem:
            if problem.args[0].code() in LATER:
                return False
            raise

    def rewind(self):
        """Back to what is committed, after an abort."""
        for place in self.inner.committed(self.inner.assignment(), 30):
            place.offset = max(place.offset, 0)
            until("it may seek", 10, lambda: self._seek(place))

    def _seek(self, place):
        try:
            self.inner.seek(place)
            return True
        except KafkaException as problem:
            if problem.args[0].code() == KafkaError._STATE:  # not yet fetched from
                return False
            raise

    def close(self):
        self.inner.close()


class Transactor:
    """A transactional producer that is made anew after a fatal error."""

    def __init__(self, client, name):
        self.client, self.name = client, name
        self.renew()

    def renew(self):
        # With `rebootstrap` this version keeps the group's coordinator from before a restart, whose connection it has given
        # up for good, and offsets are never sent again.
        more = {"transactional.id": self.name, "linger.ms": 5, "metadata.recovery.strategy": "none"}
        self.inner = Producer(self.client.common | more)
        self._again(lambda: self.inner.init_transactions(20))

    @staticmethod
    def _again(call):
        """What the client says may be tried again is."""
        for _ in range(20):
            try:
                return call()
            except KafkaException as problem:
                if not problem.args[0].retriable():
                    raise
        return call()

    def open(self, topic, rows):
        self.inner.begin_transaction()
        for partition, value in rows:
            self.inner.produce(topic, value, partition=partition)

    def transact(self, topic, rows, reader, positions, commit):
        """True if it was committed."""
        try:
            self.open(topic, rows)
            if not commit:
                self.inner.flush(30)
                self._again(lambda: self.inner.abort_transaction(20))
                return False
            offsets = [TopicPartition(reader.topic, p, offset) for p, offset in positions.items()]
            group = reader.inner.consumer_group_metadata()
            self._again(lambda: self.inner.send_offsets_to_transaction(offsets, group, 20))
            self._again(lambda: self.inner.commit_transaction(20))
            return True
        except KafkaException as problem:
            if problem.args[0].txn_requires_abort():
                self._again(lambda: self.inner.abort_transaction(20))
            elif problem.args[0].fatal():
                self.renew()
            else:
                raise
            return False

    def is_fenced(self):
        """True if the open transaction can't be committed, because another producer has its name."""
        try:
            self._again(lambda: self.inner.commit_transaction(20))
        except KafkaException as problem:
            return problem.args[0].fatal()
        return False

    def flush(self):
        self.inner.flush(30)

    def close(self):
        pass
