"""Transactions at partitions and groups: verification at Produce and TxnOffsetCommit, markers, isolation."""

import time

import wire

V2 = 12  # Produce: the broker adds partitions


class Producer:
    """A transactional producer by hand."""

    def __init__(self, k, base="id", timeout=60_000):
        self.k, self.id = k, k.name(base)
        k.coordinator(self.id, 1)
        self.init(timeout)

    def init(self, timeout=60_000):
        def begun():
            answer = self.k.send("InitProducerId", 5, {"transactionalId": self.id, "transactionTimeoutMs": timeout,
                                                       "producerId": -1, "producerEpoch": -1})
            self.pid, self.epoch = answer["producerId"], answer["producerEpoch"]
            return answer["errorCode"] == 0
        self.k.until(begun)
        return self

    def batch(self, sequence=0, values=("v",), epoch=None, pid=None):
        # With old timestamps each marker would begin a new segment in Kafka, where a fetch ends.
        return wire.batch(values, timestamp=int(time.time() * 1000), transactional=True, producer_id=self.pid if pid is None else pid,
                          producer_epoch=self.epoch if epoch is None else epoch, base_sequence=sequence)

    def write(self, label, topic, sequence=0, version=V2, partition=0, data=None, id=None, **of):
        """One batch; the answer is a step."""
        data = self.batch(sequence, **of) if data is None else data
        return self.k.call(label, "Produce", version, produce(topic, [(partition, data)], id or self.id))

    def until_written(self, topic, sequence=0, partition=0):
        """A producer of transactions v2 may meet the markers of its last transaction."""
        data = self.batch(sequence)
        self.k.until(lambda: self.k.send("Produce", V2, produce(topic, [(partition, data)], self.id))
                     ["responses"][0]["partitionResponses"][0]["errorCode"] == 0)

    def add(self, topic, *partitions, version=3):
        answer = None

        def added():
            nonlocal answer
            answer = self.k.send("AddPartitionsToTxn", version, {
                "v3AndBelowTransactionalId": self.id, "v3AndBelowProducerId": self.pid,
                "v3AndBelowProducerEpoch": self.epoch,
                "v3AndBelowTopics": [{"name": topic.name, "partitions": list(partitions)}]})
            codes = [p["partitionErrorCode"] for t in answer["resultsByTopicV3AndBelow"]
                     for p in t["resultsByPartition"]]
            return 51 not in codes
        self.k.until(added)
        return answer

    def end(self, committed, version=5):
        answer = {}

        def ended():
            answer.update(self.k.send("EndTxn", version, {"transactionalId": self.id, "producerId": self.pid,
                                                          "producerEpoch": self.epoch, "committed": committed}))
            return answer["errorCode"] != 51
        self.k.until(ended)
        if version >= 5 and answer["errorCode"] == 0:
            self.pid, self.epoch = answer["producerId"], answer["producerEpoch"]
        return answer

    def commit(self, label, group, topic, offset=1, version=5, by_id=False, **more):
        place = {"name": topic.name, "topicId": topic.id,
                 "partitions": [{"partitionIndex": 0, "committedOffset": offset, "committedMetadata": ""}]}
        body = {"transactionalId": self.id, "groupId": group, "producerId": self.pid, "producerEpoch": self.epoch,
                "generationIdOrMemberEpoch": -1, "memberId": "", "topics": [place], **more}
        return self.k.call(label, "TxnOffsetCommit", version, body)


def produce(topic, batches, id=None, acks=-1):
    return {"transactionalId": id, "acks": acks, "timeoutMs": 10_000, "topicData": [
        {"name": topic.name, "topicId": topic.id,
         "partitionData": [{"index": index, "records": data} for index, data in batches]}]}


def fetch(topic, offset, isolation, max_bytes=1 << 20):
    return {"replicaId": -1, "maxWaitMs": 0, "minBytes": 0, "maxBytes": max_bytes, "isolationLevel": isolation,
            "sessionId": 0, "sessionEpoch": -1, "topics": [
                {"topic": topic.name, "partitions": [
                    {"partition": 0, "currentLeaderEpoch": -1, "fetchOffset": offset, "partitionMaxBytes": max_bytes}]}]}


def topic(k, base="t", partitions=1):
    """A topic whose partitions take requests: a leader may be told of before it knows that it is one."""
    made = k.topic(base, partitions=partitions)

    def led():
        answer = k.send("ListOffsets", 7, {"replicaId": -1, "isolationLevel": 0, "topics": [
            {"name": made.name, "partitions": [{"partitionIndex": p, "timestamp": -1} for p in range(partitions)]}]})
        return all(p["errorCode"] == 0 for t in answer["topics"] for p in t["partitions"])
    k.until(led)
    return made


def complete(k, producer, state="CompleteCommit"):
    """Waits until the producer's transaction has its markers and its coordinator knows it."""
    k.until(lambda: k.send("DescribeTransactions", 0, {"transactionalIds": [producer.id]})
            ["transactionStates"][0]["transactionState"] == state)


def stable(k, topic, offset):
    """Waits until everything below the offset is decided."""
    def there():
        part = k.send("Fetch", 11, fetch(topic, 0, 1))["responses"][0]["partitions"][0]
        return part["lastStableOffset"] >= offset
    k.until(there)


def settled(k, group, topic):
    """Waits until no transaction is open for the group's offset."""
    body = {"groups": [{"groupId": group, "topics": [{"name": topic.name, "partitionIndexes": [0]}]}], "requireStable": True}
    k.until(lambda: k.send("OffsetFetch", 8, body)["groups"][0]["topics"][0]["partitions"][0]["errorCode"] == 0)


def offset(k, label, group, topic, stable):
    k.call(label, "OffsetFetch", 8, {"requireStable": stable, "groups": [
        {"groupId": group, "topics": [{"name": topic.name, "partitionIndexes": [0]}]}]})


def markers(pid, epoch, coordinator_epoch, version, committed, *places):
    return {"markers": [{"producerId": pid, "producerEpoch": epoch, "transactionResult": committed,
                         "coordinatorEpoch": coordinator_epoch, "transactionVersion": version,
                         "topics": [{"name": name, "partitionIndexes": list(indexes)} for name, *indexes in places]}]}


def producers(k, label, *topics):
    """Of the first partition of each topic; times of markers and the coordinator's epoch are the broker's own."""
    answer = k.send("DescribeProducers", 0, {"topics": [{"name": name, "partitionIndexes": [0]} for name in topics]})
    for topic in answer["topics"]:
        for partition in topic["partitions"]:
            for it in partition["activeProducers"]:
                it["lastTimestamp"] = 0
                it["coordinatorEpoch"] = min(it["coordinatorEpoch"], 0)
    k.step(label, answer)


def case_txn_produce_not_added(k):
    """Batches of partitions that the transaction does not have, by version."""
    t, p = topic(k, partitions=2), Producer(k)
    for version in (3, 5, 8, 9, 10, 11):
        p.write(f"v{version}", t, version=version)
    k.step("added", p.add(t, 0))
    for version, sequence in ((11, 0), (3, 1), (10, 2)):
        p.write(f"added, v{version}", t, sequence, version=version)
    p.write("the other partition", t, version=11, partition=1)
    p.end(True, 4)
    stable(k, t, 4)
    complete(k, p)
    for version in (10, 11):
        p.write(f"after the end, v{version}", t, 3, version=version)


def case_txn_produce_added_by_the_broker(k):
    """Produce v12 and v13 add partitions; readers of committed records."""
    t, p = topic(k), Producer(k)
    p.write("v12", t)
    p.write("v13", t, 1, version=13)
    p.write("again", t, 1)
    for isolation in (0, 1):
        k.call(f"open, isolation {isolation}", "Fetch", 11, fetch(t, 0, isolation))
        k.call(f"latest, isolation {isolation}", "ListOffsets", 7, {"replicaId": -1, "isolationLevel": isolation, "topics": [
            {"name": t.name, "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]})
    p.end(True)
    stable(k, t, 3)
    k.call("committed", "Fetch", 11, fetch(t, 0, 1))
    p.write("old epoch", t, 2, epoch=p.epoch - 1)
    p.until_written(t)
    p.end(False)
    stable(k, t, 5)
    k.call("aborted", "Fetch", 11, fetch(t, 0, 1))
    k.call("from the aborted one", "Fetch", 11, fetch(t, 3, 1))


def case_txn_produce_wrong_producers(k):
    """Ids and epochs that the coordinator does not know."""
    t, p = topic(k), Producer(k)
    for version in (10, 11, 12):
        p.write(f"unknown id, v{version}", t, version=version, pid=p.pid + 100_000)
        p.write(f"newer epoch, v{version}", t, version=version, epoch=p.epoch + 1)
        p.write(f"unknown transactional id, v{version}", t, version=version, id=k.name("nobody"))
    p.write("right", t)
    old = p.epoch
    p.init()
    for version in (10, 11, 12):
        p.write(f"fenced, v{version}", t, 1, version=version, epoch=old)
    p.write("new instance", t)


def case_txn_produce_wrong_requests(k):
    """Two producers in a request, no transactional id, and batches that are none."""
    t, p = topic(k, partitions=3), Producer(k)
    two = [(0, p.batch()), (1, p.batch(pid=p.pid + 100_000))]
    k.call("two producers", "Produce", 12, produce(t, two, p.id))
    k.call("two epochs", "Produce", 12, produce(t, [(0, p.batch()), (1, p.batch(epoch=p.epoch + 1))], p.id))
    k.call("no transactional id", "Produce", 12, produce(t, [(0, p.batch())]))
    k.call("beside a plain batch", "Produce", 12, produce(t, [(0, p.batch()), (1, wire.batch())], p.id))
    k.call("beside an unknown partition", "Produce", 12, produce(t, [(7, p.batch()), (2, p.batch())], p.id))
    k.call("acks 5", "Produce", 12, produce(t, [(0, p.batch(1))], p.id, acks=5))
    p.write("bad checksum", t, data=wire.batch(transactional=True, producer_id=p.pid, producer_epoch=p.epoch, base_sequence=1, crc=1))
    p.write("control batch", t, data=wire.batch(transactional=True, control=True, producer_id=p.pid, producer_epoch=p.epoch, base_sequence=1))
    k.call("plain batch inside", "Produce", 12, produce(t, [(0, wire.batch(producer_id=p.pid, producer_epoch=p.epoch, base_sequence=1))]))
    p.write("goes on", t, 1)


def case_txn_produce_sequences(k):
    """Sequences of first batches, duplicates and gaps in a transaction."""
    t, p = topic(k, partitions=4), Producer(k)
    p.write("v12 begins at 5", t, 5)
    p.write("v12 begins at 0", t, 0)
    p.write("a gap", t, 2)
    p.write("the next", t, 1)
    p.write("a duplicate", t, 0)
    k.step("added", p.add(t, 1))
    p.write("v11 begins at 5", t, 5, version=11, partition=1)
    p.write("then 0", t, 0, version=11, partition=1)
    p.end(True)
    stable(k, t, 3)
    p.write("new epoch, not 0", t, 1)
    p.until_written(t)
    p.write("goes on", t, 1)


def case_txn_sequences_after_a_marker(k):
    """A partition that knows nothing of a producer but a marker."""
    t, pid = topic(k), 900_000_000_000
    k.call("marker", "WriteTxnMarkers", 1, markers(pid, 3, 0, 0, True, (t.name, 0)))
    plain = lambda epoch, sequence: [(0, wire.batch(producer_id=pid, producer_epoch=epoch, base_sequence=sequence))]
    k.call("sequence 7", "Produce", 9, produce(t, plain(3, 7)))
    k.call("old epoch", "Produce", 9, produce(t, plain(2, 0)))
    k.call("sequence 0", "Produce", 9, produce(t, plain(3, 0)))
    k.call("sequence 1", "Produce", 9, produce(t, plain(3, 1)))
    producers(k, "known", t.name)


def case_txn_offset_commit_not_added(k):
    """The group's partition is not in the transaction, by version."""
    t, g, p = topic(k), k.group(), Producer(k)
    for version in range(5):
        p.commit(f"v{version}", g, t, version=version)
    offset(k, "stable", g, t, True)
    k.call("added", "AddOffsetsToTxn", 3, {"transactionalId": p.id, "producerId": p.pid, "producerEpoch": p.epoch, "groupId": g})
    for version in range(5):
        p.commit(f"added, v{version}", g, t, version, version=version)
    offset(k, "pending, stable", g, t, True)
    offset(k, "pending", g, t, False)
    p.end(True, 4)
    settled(k, g, t)
    complete(k, p)
    offset(k, "committed", g, t, True)
    p.commit("after the end", g, t, version=4)


def case_txn_offset_commit_added_by_the_broker(k):
    """TxnOffsetCommit v5 and v6, and both ends."""
    t, g, p = topic(k), k.group(), Producer(k)
    p.commit("v5", g, t, 5)
    p.commit("v6", g, t, 6, version=6)
    k.call("all, stable", "OffsetFetch", 8, {"requireStable": True, "groups": [{"groupId": g, "topics": None}]})
    k.call("other partition", "OffsetFetch", 8, {"requireStable": True, "groups": [
        {"groupId": g, "topics": [{"name": t.name, "partitionIndexes": [0, 1]}]}]})
    p.end(False)
    settled(k, g, t)
    offset(k, "aborted", g, t, True)
    k.until(lambda: k.send("TxnOffsetCommit", 5, {
        "transactionalId": p.id, "groupId": g, "producerId": p.pid, "producerEpoch": p.epoch,
        "generationIdOrMemberEpoch": -1, "memberId": "", "topics": [{"name": t.name, "partitions": [
            {"partitionIndex": 0, "committedOffset": 7, "committedMetadata": "note"}]}]})
        ["topics"][0]["partitions"][0]["errorCode"] == 0)
    p.end(True)
    settled(k, g, t)
    offset(k, "committed", g, t, True)
    k.call("listed", "DescribeGroups", 5, {"groups": [g]})


def case_txn_offset_commit_wrong(k):
    """Groups, members, topics and producers that are not there."""
    t, g, p = topic(k), k.group(), Producer(k)
    for version in (3, 5, 6):
        p.commit(f"unknown group, generation, v{version}", k.name("nobody"), t, version=version, generationIdOrMemberEpoch=3)
        p.commit(f"empty group, v{version}", "", t, version=version)
    gone = topic(k, "gone")
    k.send("DeleteTopics", 6, {"timeoutMs": 5000, "topics": [{"name": gone.name}]})
    k.until(lambda: k.send("Metadata", 12, {"topics": [{"name": gone.name}], "allowAutoTopicCreation": False})["topics"][0]["errorCode"] == 3)
    for version in (5, 6):
        p.commit(f"unknown topic, v{version}", g, gone, version=version)
    both = {"topics": [{"name": t.name, "topicId": t.id, "partitions": [
        {"partitionIndex": index, "committedOffset": 1, "committedMetadata": text} for index, text in ((0, "m" * 5000), (9, ""))]}]}
    p.commit("metadata too long, unknown partition", g, t, **both)
    p.commit("unknown producer", g, t, producerId=p.pid + 100_000)
    p.commit("newer epoch", g, t, producerEpoch=p.epoch + 1)
    p.commit("unknown transactional id", g, t, transactionalId=k.name("nobody"))
    p.commit("right", g, t)
    p.commit("unknown member", g, t, memberId="nobody")
    p.commit("unknown member, generation", g, t, memberId="nobody", generationIdOrMemberEpoch=1)
    p.commit("unknown instance", g, t, groupInstanceId="nobody")
    old = p.epoch
    p.init()
    p.commit("fenced", g, t, producerEpoch=old)
    p.commit("new instance", g, t)


def case_txn_offset_commit_of_members(k):
    """Members of consumer groups: their epochs, by version (KIP-447, KIP-1319)."""
    t, g, p = topic(k), k.group(), Producer(k)
    member = "member-1"
    joined = k.send("ConsumerGroupHeartbeat", 1, {
        "groupId": g, "memberId": member, "memberEpoch": 0, "rebalanceTimeoutMs": 60_000,
        "subscribedTopicNames": [t.name], "topicPartitions": []})
    epoch = joined["memberEpoch"]
    for version in (3, 5, 6):
        if version == 3:
            k.send("AddOffsetsToTxn", 3, {"transactionalId": p.id, "producerId": p.pid, "producerEpoch": p.epoch, "groupId": g})
        p.commit(f"its epoch, v{version}", g, t, version=version, memberId=member, generationIdOrMemberEpoch=epoch)
        p.commit(f"newer epoch, v{version}", g, t, version=version, memberId=member, generationIdOrMemberEpoch=epoch + 1)
        p.commit(f"epoch 0, v{version}", g, t, version=version, memberId=member, generationIdOrMemberEpoch=0)
        p.commit(f"nobody, v{version}", g, t, version=version)
        p.commit(f"unknown, v{version}", g, t, version=version, memberId="nobody", generationIdOrMemberEpoch=epoch)
        p.commit(f"an epoch without member, v{version}", g, t, version=version, generationIdOrMemberEpoch=epoch)


def case_txn_offsets_and_deletions(k):
    """OffsetDelete and DeleteGroups while offsets are pending."""
    t, g, p = topic(k, partitions=2), k.group(), Producer(k)
    p.commit("pending", g, t, 5)
    k.call("delete the offset", "OffsetDelete", 0, {"groupId": g, "topics": [{"name": t.name, "partitions": [{"partitionIndex": 0}]}]})
    offset(k, "stable", g, t, True)
    p.commit("pending again", g, t, 6)
    k.call("delete the group", "DeleteGroups", 2, {"groupsNames": [g]})
    offset(k, "stable, no group", g, t, True)
    p.end(True)
    complete(k, p)
    offset(k, "after the commit", g, t, True)


def case_txn_plain_and_pending_commits(k):
    """The commit that stands further up in the log wins."""
    t, g, p = topic(k), k.group(), Producer(k)
    p.commit("pending", g, t, 100)
    k.call("plain", "OffsetCommit", 8, {"groupId": g, "generationIdOrMemberEpoch": -1, "topics": [
        {"name": t.name, "partitions": [{"partitionIndex": 0, "committedOffset": 110, "committedMetadata": ""}]}]})
    offset(k, "pending, not stable", g, t, False)
    p.end(True)
    settled(k, g, t)
    offset(k, "the plain one", g, t, True)


def case_txn_markers(k):
    """WriteTxnMarkers: partitions, epochs, coordinator epochs, versions."""
    t = topic(k, partitions=2)
    pid = 900_000_000_001
    for version in (1, 2):
        k.call(f"unknown producer, v{version}", "WriteTxnMarkers", version, markers(pid, 1, 5, 0, True, (t.name, 0, 9), (k.name("none"), 0)))
    k.call("older epoch", "WriteTxnMarkers", 2, markers(pid, 0, 5, 0, True, (t.name, 0)))
    k.call("older coordinator", "WriteTxnMarkers", 2, markers(pid, 1, 4, 0, True, (t.name, 0)))
    k.call("both older", "WriteTxnMarkers", 2, markers(pid, 0, 4, 0, True, (t.name, 0)))
    k.call("same epoch, TV2, nothing open", "WriteTxnMarkers", 2, markers(pid, 1, 5, 2, True, (t.name, 0)))
    k.call("older epoch, TV2", "WriteTxnMarkers", 2, markers(pid, 0, 5, 2, True, (t.name, 0)))
    k.call("newer epoch, TV2", "WriteTxnMarkers", 2, markers(pid, 2, 6, 2, False, (t.name, 0)))
    k.call("no markers", "WriteTxnMarkers", 1, {"markers": []})
    k.call("no partitions", "WriteTxnMarkers", 1, markers(pid, 2, 6, 0, False))
    producers(k, "known", t.name)


def case_txn_markers_end_transactions(k):
    """Markers by hand on open transactions of records and offsets."""
    t, g, p = topic(k, partitions=2), k.group(), Producer(k)
    p.write("open", t)
    p.commit("pending", g, t, 9)
    k.call("TV2 needs the next epoch", "WriteTxnMarkers", 2, markers(p.pid, p.epoch, 100, 2, False, (t.name, 0)))
    k.call("by hand", "WriteTxnMarkers", 1, markers(p.pid, p.epoch, 100, 0, False, (t.name, 0)))
    stable(k, t, 2)
    k.call("aborted", "Fetch", 11, fetch(t, 0, 1))
    p.write("late batch, v12", t, 1)
    p.write("late batch, v11", t, 2, version=11)
    producers(k, "known", t.name)


def case_txn_producers(k):
    """DescribeProducers: of plain, transactional and unknown ones."""
    t, p = topic(k), Producer(k)
    producers(k, "empty", t.name)
    p.write("open", t, values=("a", "b"))
    producers(k, "open", t.name)
    p.end(True)
    stable(k, t, 3)
    producers(k, "committed", t.name)
    k.call("wrong", "DescribeProducers", 0, {"topics": [
        {"name": t.name, "partitionIndexes": [7, -1]}, {"name": k.name("none"), "partitionIndexes": [0]},
        {"name": "no/topic", "partitionIndexes": [0]}, {"name": "", "partitionIndexes": [0]}]})
    k.call("nothing", "DescribeProducers", 0, {"topics": []})


def case_txn_fetch_from_the_midst(k):
    """Aborted transactions of two producers, read from every offset."""
    t, a, b = topic(k), Producer(k, "a"), Producer(k, "b")
    a.write("a", t, values=("1", "2"))
    k.produce(t, wire.batch(("plain",), timestamp=int(time.time() * 1000)))
    b.write("b", t, values=("3",))
    a.end(False)
    stable(k, t, 3)
    for start in range(6):
        k.call(f"b open, from {start}", "Fetch", 11, fetch(t, start, 1))
    b.end(True)
    stable(k, t, 6)
    for start in range(7):
        k.call(f"from {start}", "Fetch", 11, fetch(t, start, 1))
