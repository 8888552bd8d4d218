"""kafka-python."""

import re

from kafka import AsyncConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition, errors
from kafka.admin import ConfigResource, OffsetSpec, OffsetTimestamp
from kafka.structs import OffsetAndMetadata

from broker import until

LATER = (
    errors.CommitFailedError, errors.RebalanceInProgressError, errors.IllegalGenerationError, errors.UnknownMemberIdError,
    errors.KafkaTimeoutError, errors.KafkaConnectionError, errors.NodeNotReadyError, errors.RetriableError,
)


def raise_told(told):
    """Raises what the client tells as text, "InvalidConfigurationError: …"."""
    if told != "OK":
        raise getattr(errors, re.search(r"\w+Error", told)[0])(told)


class Client:
    def __init__(self, bootstrap):
        self.common = {"bootstrap_servers": bootstrap, "reconnect_backoff_max_ms": 500}
        self.admin = KafkaAdminClient(**self.common)

    def create_topic(self, name, partitions, config=None):
        told = {"num_partitions": partitions, "replication_factor": 1, "configs": config or {}}
        self.admin.create_topics({name: told}, wait_for_metadata=True)

    def ends(self, topic, partitions, spec=OffsetSpec.LATEST):
        told = self.admin.list_partition_offsets({TopicPartition(topic, p): spec for p in range(partitions)})
        return {place.partition: found.offset for place, found in told.items()}

    def committed(self, group, topic, partitions):
        told = self.admin.list_group_offsets(group)[group]
        return {place.partition: found.offset for place, found in told.items() if place.topic == topic}

    def group(self, group):
        told = self.admin.describe_groups([group])[group]
        return told["group_state"].upper(), len(told["members"])

    def delete_group(self, group):
        raise_told(self.admin.delete_groups([group])[group])

    def producer(self, **settings):
        return Writer(KafkaProducer(**(self.common | {"linger_ms": 5} | settings)))

    def consumer(self, group, topic, member, instance=None, **settings):
        more = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 500, "group_instance_id": instance}
        more |= {"enable_auto_commit": False, "auto_offset_reset": "earliest"}
        return Reader(KafkaConsumer(group_id=group, **(self.common | more | settings)), topic, member)


    def transactor(self, name):
        return Transactor(self, name)

    # What follows is asked by basics.py.
    def write(self, topic, partition, rows, acks="all", compression="none", idempotent=False):
        producer = KafkaProducer(
            acks=acks, compression_type=None if compression == "none" else compression, enable_idempotence=idempotent,
            linger_ms=20, **self.common)
        futures = [
            producer.send(topic, value, key, headers=headers, partition=partition, timestamp_ms=timestamp)
            for key, value, headers, timestamp in rows]
        producer.flush(30)
        offsets = [future.get(30).offset for future in futures]
        producer.close()
        return offsets

    def read(self, topic, partitions, committed=False):
        level = "read_committed" if committed else "read_uncommitted"
        consumer = KafkaConsumer(
            isolation_level=level, auto_offset_reset="earliest", enable_auto_commit=False, group_id=None, **self.common)
        places = [TopicPartition(topic, p) for p in range(partitions)]
        consumer.assign(places)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(places)
        rows = {p: [] for p in range(partitions)}
        until(f"{topic} is read to {ends}", 30, lambda: self._read(consumer, rows, ends))
        consumer.close()
        return rows

    @staticmethod
    def _read(consumer, rows, ends):
        for place, records in consumer.poll(timeout_ms=200).items():
            for r in records:
                rows[place.partition].append((r.offset, r.key, r.value, list(r.headers), r.timestamp))
        return all(consumer.position(place) >= end for place, end in ends.items())

    def topics(self):
        return self.admin.list_topics()

    def partitions(self, topic):
        return len(self.admin.describe_topics([topic])[0]["partitions"])

    def add_partitions(self, topic, total):
        self.admin.create_partitions({topic: total})

    def config(self, topic, name):
        told = self.admin.describe_configs([ConfigResource("TOPIC", topic)], config_filter="all")
        return told["topic"][topic][name]["value"]

    def set_config(self, topic, name, value):
        told = self.admin.alter_configs([ConfigResource("TOPIC", topic, {name: value})])
        raise_told(told["topic"][topic])

    def delete_topic(self, topic):
        self.admin.delete_topics([topic])

    def delete_records(self, topic, offsets):
        self.admin.delete_records({TopicPartition(topic, p): offset for p, offset in offsets.items()})

    def starts(self, topic, partitions):
        return self.ends(topic, partitions, OffsetSpec.EARLIEST)

    def newest(self, topic, partitions):
        return self.ends(topic, partitions, OffsetSpec.MAX_TIMESTAMP)

    def since(self, topic, partitions, timestamp):
        return self.ends(topic, partitions, OffsetTimestamp(timestamp))

    def groups(self):
        return [group["group_id"] for group in self.admin.list_groups()]

    def set_committed(self, group, topic, offsets):
        told = {TopicPartition(topic, p): OffsetAndMetadata(offset, "", -1) for p, offset in offsets.items()}
        self.admin.alter_group_offsets(group, told)

    def refusal(self, call):
        """The name of the error that the broker answers."""
        try:
            call()
        except errors.KafkaError as problem:
            name = re.sub("([a-z])([A-Z])", r"\1_\2", type(problem).__name__.removesuffix("Error")).upper()
            return name.replace("CONFIGURATION", "CONFIG")
        return None


class Writer:
    def __init__(self, producer):
        self.inner = producer

    def send(self, topic, partition, value, told):
        future = self.inner.send(topic, value, partition=partition)
        future.add_callback(lambda found: told(value, found.partition, found.offset, None))
        future.add_errback(lambda problem: told(value, partition, -1, problem))

    def flush(self):
        self.inner.flush(50)

    def close(self):
        self.inner.close(10)


class Listener(AsyncConsumerRebalanceListener):
    """The client allows no blocking commit in these callbacks, but awaits one."""

    def __init__(self, reader, member):
        self.reader, self.member = reader, member

    async def on_partitions_revoked(self, revoked):
        self.reader.moved = True
        member = self.member
        if member.dirty and member.positions and await self.reader.commit_awaited(dict(member.positions)):
            member.dirty = False
        member.on_revoked([place.partition for place in revoked], commit=False)

    async def on_partitions_assigned(self, assigned):
        self.reader.moved = True
        self.member.on_assigned([place.partition for place in assigned])

    async def on_partitions_lost(self, lost):
        self.member.on_lost([place.partition for place in lost])


class Reader:
    def __init__(self, consumer, topic, member):
        self.inner, self.topic = consumer, topic
        # This client goes on where it was with what it is assigned again, and rebalances while others of its calls run:
        # who reads for transactions must go back to what is committed.
        self.moved = False
        # A member that joins before it knows the topic joins twice in a tenth of a second, and in some of such joins this
        # client (3.0.12) stops for good when the second SyncGroup is answered: no heartbeat, no OffsetFetch.
        consumer.partitions_for_topic(topic)
        consumer.subscribe([topic], listener=Listener(self, member))

    def poll(self):
        found = self.inner.poll(timeout_ms=100)
        return [(place.partition, record.offset, record.value) for place, records in found.items() for record in records]

    def owned(self):
        return [place.partition for place in self.inner.assignment()]

    def _offsets(self, positions):
        return {TopicPartition(self.topic, p): OffsetAndMetadata(at, "", -1) for p, at in positions.items()}

    def commit(self, positions):
        try:
            self.inner.commit(self._offsets(positions), timeout_ms=5000)
            return True
        except LATER:
            return False

    async def commit_awaited(self, positions):
        try:
            await self.inner.commit_async(self._offsets(positions))
            return True
        except LATER:
            return False

    def rewind(self):
        """Back to what is committed, after an abort."""
        for place in self.inner.assignment():
            self.inner.seek(place, self.inner.committed(place) or 0)

    def close(self):
        self.inner.close(autocommit=False)


class Transactor:
    """A transactional producer that is made anew after a fatal error."""

    def __init__(self, client, name):
        self.client, self.name = client, name
        self.inner = None
        self.renew()

    def renew(self):
        if self.inner:
            self.inner.close(0)
        self.inner = KafkaProducer(transactional_id=self.name, linger_ms=5, **self.client.common)
        self.inner.init_transactions()

    def open(self, topic, rows):
        self.inner.begin_transaction()
        for partition, value in rows:
            self.inner.send(topic, value, partition=partition)

    def transact(self, topic, rows, reader, positions, commit):
        """True if it was committed."""
        try:
            self.open(topic, rows)
            if not commit:
                self.inner.flush(30)
                self.inner.abort_transaction()
                return False
            group = reader.inner.group_metadata()
            if reader.moved:
                self.inner.abort_transaction()
                return False
            self.inner.send_offsets_to_transaction(reader._offsets(positions), group)
            self.inner.commit_transaction()
            return True
        except errors.KafkaError:
            try:
                self.inner.abort_transaction()
            except errors.KafkaError:
                self.renew()
            return False

    def is_fenced(self):
        """True if the open transaction can't be committed, because another producer has its name."""
        try:
            self.inner.commit_transaction()
        except errors.KafkaError:
            return True
        return False

    def flush(self):
        self.inner.flush(30)

    def close(self):
        self.inner.close(10)
