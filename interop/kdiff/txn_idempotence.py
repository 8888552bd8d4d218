"""Idempotent producers: sequences, epochs and duplicates at partitions (broker-core 9)."""

import time

import wire
from transactional_writes import produce, producers, topic

LAST = 2**31 - 1
VERSIONS = (3, 5, 7, 8, 9, 11, 12, 13)


def begun(k):
    return k.send("InitProducerId", 4, {"transactionalId": None, "transactionTimeoutMs": 0,
                                        "producerId": -1, "producerEpoch": -1})["producerId"]


class Plain:
    """A producer without transactions; its numbers are the case's own."""

    def __init__(self, k, topic, epoch=0):
        self.k, self.topic, self.pid, self.epoch = k, topic, begun(k), epoch

    def batch(self, sequence, values=("v",), epoch=None, **of):
        return wire.batch(values, timestamp=int(time.time() * 1000), producer_id=self.pid,
                          producer_epoch=self.epoch if epoch is None else epoch, base_sequence=sequence, **of)

    def body(self, sequence, partition=0, acks=-1, **of):
        return produce(self.topic, [(partition, self.batch(sequence, **of))], acks=acks)

    def write(self, label, sequence, version=9, partition=0, acks=-1, **of):
        # Of a repeated batch Kafka tells a time that nobody needs.
        return self.k.call(label, "Produce", version, self.body(sequence, partition, acks, **of), drop=["logAppendTimeMs"])


def case_txn_idem_begin(k):
    """Ids without a transactional id, in every version; the timeout means nothing."""
    for version in range(6):
        for timeout in (-1, 0, 2**31 - 1):
            body = {"transactionalId": None, "transactionTimeoutMs": timeout}
            k.call(f"timeout {timeout} v{version}", "InitProducerId", version, body)


def case_txn_idem_begin_with_expectations(k):
    """An id and an epoch that are expected without a transactional id."""
    for version in (3, 4, 5):
        for pid, epoch in ((7, 3), (7, -1), (-1, 3), (-2, -2), (0, 0), (2**62, 32767)):
            k.call(f"{pid}/{epoch} v{version}", "InitProducerId", version,
                   {"transactionalId": None, "transactionTimeoutMs": 1, "producerId": pid, "producerEpoch": epoch})


def case_txn_idem_last_five(k):
    """Which repeated batches are known."""
    p = Plain(k, topic(k))
    for sequence in range(7):
        p.write(f"new {sequence}", sequence)
    for sequence in range(7):
        p.write(f"again {sequence}", sequence)
    p.write("goes on", 7)


def case_txn_idem_gaps(k):
    """A sequence that is missing, and then comes."""
    for version in VERSIONS:
        p = Plain(k, topic(k, f"t{version}"))
        for sequence in (0, 2, 1, 3, 2):
            p.write(f"{sequence} v{version}", sequence, version)


def case_txn_idem_first_sequence(k):
    """Producers that begin in the middle."""
    t = topic(k)
    for version in VERSIONS:
        p = Plain(k, t)
        p.write(f"5 v{version}", 5, version)
        p.write(f"0 v{version}", 0, version)
        p.write(f"6 v{version}", 6, version)


def case_txn_idem_wrap_inside_a_batch(k):
    """The sequence after the last one is 0, in the middle of a batch."""
    p = Plain(k, topic(k))
    p.write("wraps", LAST - 1, values=("a", "b", "c", "d"))
    p.write("again", LAST - 1, values=("a", "b", "c", "d"))
    p.write("a gap", 3)
    p.write("the next", 2)


def case_txn_idem_wrap_between_batches(k):
    """The sequence after the last one is 0, in the next batch."""
    p = Plain(k, topic(k))
    p.write("last", LAST)
    p.write("1", 1)
    p.write("0", 0)
    p.write("last again", LAST)
    p.write("then 1", 1)


def case_txn_idem_epochs(k):
    """A newer epoch fences, and begins with 0."""
    for version in VERSIONS:
        p = Plain(k, topic(k, f"t{version}"))
        for epoch, sequence in ((0, 0), (1, 0), (0, 1), (2, 3), (1, 1), (2, 0), (1, 2), (32767, 0), (2, 1)):
            p.write(f"epoch {epoch}, {sequence}, v{version}", sequence, version, epoch=epoch)


def case_txn_idem_repeated_of_an_older_epoch(k):
    """A known batch whose producer has a new epoch."""
    p = Plain(k, topic(k))
    p.write("epoch 0", 0)
    p.write("epoch 1", 0, epoch=1)
    p.write("epoch 0 again", 0)
    p.write("epoch 1 again", 0, epoch=1)


def case_txn_idem_part_of_a_batch(k):
    """Only the same first and last sequence make a repeated batch."""
    p = Plain(k, topic(k))
    p.write("0-4", 0, values=("v",) * 5)
    p.write("0-3", 0, values=("v",) * 4)
    p.write("0-5", 0, values=("v",) * 6)
    p.write("1-4", 1, values=("v",) * 4)
    p.write("4-5", 4, values=("v",) * 2)
    p.write("0-4 again", 0, values=("v",) * 5)
    p.write("5", 5)


def case_txn_idem_partitions(k):
    """Each partition counts for itself; a wrong one leaves the other."""
    t = topic(k, partitions=3)
    p = Plain(k, t)
    p.write("partition 0", 0)
    p.write("partition 1", 0, partition=1)
    both = [(0, p.batch(1)), (1, p.batch(2)), (2, p.batch(0))]
    k.call("one is wrong", "Produce", 9, produce(t, both), drop=["logAppendTimeMs"])
    k.call("again", "Produce", 9, produce(t, both), drop=["logAppendTimeMs"])


def case_txn_idem_acks(k):
    """acks 1 and 0 count as others do."""
    p = Plain(k, topic(k))
    p.write("acks 1", 0, acks=1)
    p.write("again", 0, acks=1)
    conn = k.connect()
    conn.tell("Produce", 9, p.body(1, acks=0))
    k.step("no answer of acks 0", conn.alive())
    p.write("known", 1)
    conn.tell("Produce", 9, p.body(5, acks=0))
    k.step("a wrong one closes", not conn.alive())
    p.write("goes on", 2)


def case_txn_idem_numbers_that_are_none(k):
    """Batches with half a producer."""
    t = topic(k)
    for version in (3, 9, 12, 13):
        for label, pid, epoch, sequence in (("no sequence", 700_000_000_000, 0, -1), ("no epoch", 700_000_000_001, -1, 0),
                                            ("no id", -1, 0, 0), ("sequence alone", -1, -1, 0), ("sequence -2", 700_000_000_002, 0, -2)):
            data = wire.batch(timestamp=int(time.time() * 1000), producer_id=pid, producer_epoch=epoch, base_sequence=sequence)
            k.call(f"{label} v{version}", "Produce", version, produce(t, [(0, data)]), drop=["logAppendTimeMs"])


def case_txn_idem_two_batches(k):
    """More than one batch of a partition."""
    t = topic(k)
    p = Plain(k, t)
    for version in (3, 9, 13):
        k.call(f"two v{version}", "Produce", version, produce(t, [(0, p.batch(0) + p.batch(1))]))
    p.write("nothing was written", 0)


def case_txn_idem_deleted_records(k):
    """What a producer wrote is gone, what it is known for stays."""
    t = topic(k)
    p = Plain(k, t)
    for sequence in range(3):
        p.write(f"new {sequence}", sequence)
    k.call("delete", "DeleteRecords", 2, {"timeoutMs": 5000, "topics": [
        {"name": t.name, "partitions": [{"partitionIndex": 0, "offset": 3}]}]})
    p.write("again", 2)
    p.write("a gap", 4)
    p.write("goes on", 3)
    producers(k, "known", t.name)


def case_txn_idem_new_topic_of_the_name(k):
    """A topic that is made anew knows nobody."""
    t = topic(k)
    p = Plain(k, t)
    p.write("new", 0)
    k.send("DeleteTopics", 6, {"timeoutMs": 5000, "topics": [{"name": t.name}]})
    k.until(lambda: k.send("Metadata", 12, {"topics": [{"name": t.name}], "allowAutoTopicCreation": False})["topics"][0]["errorCode"] == 3)
    p.topic = topic(k)
    p.write("0 again", 0)
    p.write("another", 3)
    p.write("1", 1)


def case_txn_idem_pipelined(k):
    """Five requests on the way, some of them wrong."""
    p = Plain(k, topic(k))
    pending = [k.post("Produce", 9, p.body(sequence)) for sequence in (0, 1, 3, 2, 3)]
    for place, it in enumerate(pending):
        k.step(f"answer {place}", it.result(), drop=["logAppendTimeMs"])
    pending = [k.post("Produce", 9, p.body(sequence)) for sequence in (4, 4, 5, 4, 5)]
    for place, it in enumerate(pending):
        k.step(f"repeated {place}", it.result(), drop=["logAppendTimeMs"])


def case_txn_idem_many_producers(k):
    """Producers that take turns do not disturb each other."""
    t = topic(k)
    all = [Plain(k, t, epoch) for epoch in range(4)]
    for sequence in range(3):
        for it in all:
            it.write(f"{it.epoch}: {sequence}", sequence)
    for it in all:
        it.write(f"{it.epoch}: again", 1)
        it.write(f"{it.epoch}: gap", 9)
    producers(k, "known", t.name)


def case_txn_idem_compressed(k):
    """A repeated batch may be packed otherwise."""
    p = Plain(k, topic(k))
    p.write("packed", 0, values=("a", "b"), gzipped=True)
    p.write("plain", 0, values=("a", "b"))
    p.write("next", 2, gzipped=True)
    p.write("next again", 2, gzipped=True)


def case_txn_idem_described(k):
    """What DescribeProducers tells after each batch, a refused one too."""
    t = topic(k)
    p = Plain(k, t)
    for label, sequence, of in (("first", 4, {}), ("three", 5, {"values": ("a", "b", "c")}), ("refused", 2, {}), ("epoch", 0, {"epoch": 9})):
        p.write(label, sequence, **of)
        producers(k, f"after {label}", t.name)


def case_txn_idem_of_log_append_time(k):
    """The time of a repeated batch where the broker sets times."""
    made = k.topic("t", configs={"message.timestamp.type": "LogAppendTime"})
    p = Plain(k, made)
    for label, sequence in (("new", 0), ("again", 0), ("next", 1)):
        k.call(label, "Produce", 9, p.body(sequence))


def case_txn_idem_refused_batches_do_not_count(k):
    """A batch that is too large, or broken, takes no sequence."""
    t = k.topic("t", configs={"max.message.bytes": "500"})
    p = Plain(k, t)
    p.write("new", 0)
    p.write("too large", 1, values=("v" * 600,))
    p.write("broken", 1, crc=1)
    p.write("goes on", 1)
