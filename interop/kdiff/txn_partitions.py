"""Transactions at partitions, one question a case: verification, markers, what readers of committed records see."""

import time

import wire
from transactional_writes import Producer, complete, fetch, markers, produce, producers, stable, topic

PLAIN, COMMITTED = 0, 1


def plain(k, t, value="plain"):
    k.produce(t, wire.batch((value,), timestamp=int(time.time() * 1000)))


def ends(k, label, t, versions=(7,), timestamps=(-1, -2, -3)):
    for version in versions:
        for isolation in (PLAIN, COMMITTED):
            for timestamp in timestamps:
                answer = k.send("ListOffsets", version, {"replicaId": -1, "isolationLevel": isolation, "topics": [
                    {"name": t.name, "partitions": [{"partitionIndex": 0, "timestamp": timestamp}]}]})
                k.step(f"{label}: {timestamp}, isolation {isolation}, v{version}", answer)


def fetched(k, label, t, offset=0, isolation=COMMITTED, version=11, **of):
    body = fetch(t, offset, isolation) | of
    for it in body["topics"]:
        it["topicId"] = t.id
    return k.call(label, "Fetch", version, body)


def aborted_log(k):
    """Offsets: a a | plain | b | abort a | c | commit c | abort b."""
    t = topic(k)
    a, b, c = (Producer(k, it) for it in "abc")
    a.write("a", t, values=("1", "2"))
    plain(k, t)
    b.write("b", t)
    a.end(False)
    stable(k, t, 3)
    c.write("c", t)
    c.end(True)
    complete(k, c)
    b.end(False)
    stable(k, t, 8)
    return t


def case_txn_read_by_version(k):
    """Aborted transactions in every version of Fetch that names them."""
    t = aborted_log(k)
    for version in range(4, 19):
        for isolation in (PLAIN, COMMITTED):
            fetched(k, f"isolation {isolation} v{version}", t, 0, isolation, version)


def delivered(batches, aborted):
    """What a client gives its application: by the aborted ones of the answer, in order, and the markers."""
    dropped, begins, out = set(), sorted(aborted, key=lambda it: it["firstOffset"]), []
    for batch in batches:
        while begins and begins[0]["firstOffset"] <= batch["baseOffset"]:
            dropped.add(begins.pop(0)["producerId"])
        transactional, control = batch["attributes"] & 16, batch["attributes"] & 32
        if control:
            dropped.discard(batch["producerId"])
        elif not transactional or batch["producerId"] not in dropped:
            out += [[batch["baseOffset"] + n, it["value"].decode()] for n, it in enumerate(batch["records"])]
    return out


def case_txn_read_in_small_pieces(k):
    """A client that reads a few bytes at a time gets what one gets that reads all at once."""
    t = aborted_log(k)
    for size in (1, 80, 160, 1 << 20):
        at, values = 0, []
        while at < 8:
            part = k.send("Fetch", 11, fetch(t, at, COMMITTED, size))["responses"][0]["partitions"][0]
            whole = [it for it in wire.parse_batches(part["records"]) if not it.get("cut")]
            values += [it for it in delivered(whole, part["abortedTransactions"]) if it[0] >= at]
            at = whole[-1]["baseOffset"] + whole[-1]["lastOffsetDelta"] + 1
        k.step(f"{size} bytes", values)


def case_txn_read_beyond_the_end(k):
    """Offsets at, after and before what can be read, while a transaction is open."""
    t, p = topic(k), Producer(k)
    plain(k, t)
    p.write("open", t)
    plain(k, t)
    for isolation in (PLAIN, COMMITTED):
        for start in (-1, 0, 1, 2, 3, 4):
            fetched(k, f"from {start}, isolation {isolation}", t, start, isolation)


def case_txn_read_waits_for_the_marker(k):
    """A reader of committed records waits at the open transaction, and is woken by its end."""
    t, p = topic(k), Producer(k)
    p.write("open", t)
    conn = k.connect()
    pending = conn.post("Fetch", 11, fetch(t, 0, COMMITTED) | {"maxWaitMs": 20_000, "minBytes": 1})
    k.step("waits", pending.waits(0.5))
    p.end(True)
    k.step("woken", pending.result(), drop=["highWatermark", "lastStableOffset"])


def case_txn_read_as_ends_come(k):
    """Three open transactions end in another order than they began."""
    t = topic(k)
    a, b, c = (Producer(k, it) for it in "abc")
    for it in (a, b, c):
        it.write(it.id[-1], t)
    for label, it, commit, bound in (("b", b, True, 0), ("a", a, False, 2), ("c", c, True, 6)):
        it.end(commit)
        complete(k, it, "CompleteCommit" if commit else "CompleteAbort")
        stable(k, t, bound)
        fetched(k, f"after {label}", t)
        ends(k, f"after {label}", t, timestamps=(-1,))


def case_txn_list_offsets_by_version(k):
    """Ends of the log for both kinds of readers, in every version."""
    t, p = topic(k), Producer(k)
    plain(k, t)
    p.write("open", t)
    plain(k, t)
    ends(k, "open", t, range(2, 11), (-1, -2))
    p.end(False)
    stable(k, t, 4)
    ends(k, "aborted", t, range(2, 11), (-1, -2))


def case_txn_list_offsets_by_time(k):
    """Times behind the begin of an open transaction."""
    t, p = topic(k), Producer(k)
    now = int(time.time() * 1000)
    stamp = lambda n, **of: wire.batch((f"{n}",), timestamp=now + n * 1000, **of)
    k.produce(t, stamp(0))
    p.write("open", t, data=stamp(1, transactional=True, producer_id=p.pid, producer_epoch=p.epoch, base_sequence=0))
    k.produce(t, stamp(2))
    for isolation in (PLAIN, COMMITTED):
        for n in (0, 1, 2, 3):
            k.call(f"{n}, isolation {isolation}", "ListOffsets", 7, {"replicaId": -1, "isolationLevel": isolation, "topics": [
                {"name": t.name, "partitions": [{"partitionIndex": 0, "timestamp": now + n * 1000}]}]}, drop=["timestamp"])


def case_txn_delete_records_of_an_open_transaction(k):
    """The begin of the log moves over the begin of a transaction."""
    t, p = topic(k), Producer(k)
    plain(k, t)
    p.write("open", t, values=("1", "2"))
    plain(k, t)
    for offset in (1, 4, 5):
        k.call(f"delete to {offset}", "DeleteRecords", 2, {"timeoutMs": 5000, "topics": [
            {"name": t.name, "partitions": [{"partitionIndex": 0, "offset": offset}]}]})
        ends(k, f"deleted to {offset}", t, timestamps=(-1, -2))
    p.end(True)
    complete(k, p)
    k.until(lambda: k.send("ListOffsets", 7, {"replicaId": -1, "isolationLevel": 1, "topics": [
        {"name": t.name, "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]})["topics"][0]["partitions"][0]["offset"] == 5)
    ends(k, "ended", t, timestamps=(-1, -2))


def case_txn_write_acks(k):
    """Batches of a transaction with acks 1 and 0."""
    t, p = topic(k), Producer(k)
    k.call("acks 1, v12", "Produce", 12, produce(t, [(0, p.batch())], p.id, acks=1))
    conn = k.connect()
    conn.tell("Produce", 12, produce(t, [(0, p.batch(1))], p.id, acks=0))
    k.step("no answer of acks 0", conn.alive())
    p.write("known", t, 1)
    p.end(True)
    stable(k, t, 3)
    fetched(k, "committed", t)


def case_txn_write_named_without_a_transaction(k):
    """A transactional id in a request of plain batches."""
    t, p = topic(k), Producer(k)
    for version in (3, 7, 9, 11, 12, 13):
        k.call(f"plain v{version}", "Produce", version, produce(t, [(0, wire.batch(timestamp=int(time.time() * 1000)))], p.id))
        k.call(f"of nobody v{version}", "Produce", version, produce(t, [(0, wire.batch(timestamp=int(time.time() * 1000)))], k.name("none")))
        k.call(f"empty id v{version}", "Produce", version, produce(t, [(0, wire.batch(timestamp=int(time.time() * 1000)))], ""))


def case_txn_write_with_an_empty_id(k):
    """Transactional batches whose request names nobody, in each version."""
    t, p = topic(k), Producer(k)
    for version in (3, 7, 9, 10, 11, 12, 13):
        k.call(f"null v{version}", "Produce", version, produce(t, [(0, p.batch())], None))
        k.call(f"empty v{version}", "Produce", version, produce(t, [(0, p.batch())], ""))


def case_txn_write_fenced_by_a_timeout(k):
    """Batches after the transaction took too long, in each version."""
    t, p = topic(k, partitions=2), Producer(k, timeout=500)
    p.write("open", t)
    complete(k, p, "CompleteAbort")
    stable(k, t, 2)
    for version in (3, 10, 11, 12, 13):
        p.write(f"late v{version}", t, 1, version=version)
        p.write(f"late elsewhere v{version}", t, 0, version=version, partition=1)
    fetched(k, "read", t)
    producers(k, "known", t.name)


def case_txn_write_of_a_replaced_instance(k):
    """A new instance began; batches of the old one to old and new partitions, in each version."""
    t, p = topic(k, partitions=2), Producer(k)
    p.write("open", t)
    old = p.epoch
    p.init()
    stable(k, t, 2)
    for version in (3, 10, 11, 12, 13):
        p.write(f"old v{version}", t, 1, version=version, epoch=old)
        p.write(f"old elsewhere v{version}", t, 0, version=version, partition=1, epoch=old)
    p.write("new", t)


def case_txn_write_repeated_after_the_end(k):
    """The last batch of a transaction comes again after its end."""
    t, p = topic(k), Producer(k)
    k.step("added", p.add(t, 0))
    p.write("in", t, version=11)
    p.end(True, 4)
    complete(k, p)
    stable(k, t, 2)
    for version in (9, 10, 11, 12):
        p.write(f"again v{version}", t, version=version)
    fetched(k, "read", t)


def case_txn_write_on_by_the_old_protocol(k):
    """Sequences go on over transactions that leave the epoch."""
    t, p = topic(k), Producer(k)
    for round, commit in enumerate((True, False, True)):
        k.step(f"added {round}", p.add(t, 0))
        for sequence in (2 * round, 2 * round + 5, 2 * round + 1):
            p.write(f"{sequence} of {round}", t, sequence, version=10)
        p.end(commit, 4)
        complete(k, p, "CompleteCommit" if commit else "CompleteAbort")
        stable(k, t, 3 * round + 3)
    fetched(k, "read", t)


def case_txn_write_by_both_protocols(k):
    """Clients of both kinds write in one transaction."""
    t, p = topic(k, partitions=3), Producer(k)
    k.step("added", p.add(t, 0))
    p.write("old in added", t, 0, version=11)
    p.write("new in added", t, 1, version=12)
    p.write("new in another", t, 0, version=12, partition=1)
    p.write("old in the new one's", t, 1, version=10, partition=1)
    p.write("old in a third", t, 0, version=11, partition=2)
    p.end(True, 4)
    complete(k, p)
    stable(k, t, 3)
    p.write("old after the end", t, 2, version=11)
    fetched(k, "read", t)


def case_txn_write_to_a_deleted_topic(k):
    """A topic of the transaction goes; the others end."""
    t, u, p = topic(k, "t"), topic(k, "u"), Producer(k)
    p.write("t", t)
    p.write("u", u)
    k.send("DeleteTopics", 6, {"timeoutMs": 5000, "topics": [{"name": t.name}]})
    k.until(lambda: k.send("Metadata", 12, {"topics": [{"name": t.name}], "allowAutoTopicCreation": False})["topics"][0]["errorCode"] == 3)
    p.write("gone", t, 1)
    p.write("gone by id", t, 1, version=13)
    p.end(True)
    complete(k, p)
    stable(k, u, 2)
    fetched(k, "read", u)


def case_txn_write_packed(k):
    """Compressed batches of a transaction."""
    t, p = topic(k), Producer(k)
    packed = wire.batch(("a", "b"), timestamp=int(time.time() * 1000), transactional=True, gzipped=True, producer_id=p.pid,
                        producer_epoch=p.epoch, base_sequence=0)
    p.write("packed", t, data=packed)
    p.write("again", t, data=packed)
    p.end(False)
    stable(k, t, 3)
    fetched(k, "read", t)


def case_txn_write_many_partitions(k):
    """One request to many partitions of two topics, one of them unknown."""
    t, u, p = topic(k, "t", partitions=5), topic(k, "u"), Producer(k)
    body = produce(t, [(n, p.batch()) for n in range(6)], p.id)
    body["topicData"] += produce(u, [(0, p.batch())], p.id)["topicData"]
    for version in (11, 12, 13):
        k.call(f"v{version}", "Produce", version, body, drop=["logAppendTimeMs"])
    k.call("described", "DescribeTransactions", 0, {"transactionalIds": [p.id]}, drop=["transactionStartTimeMs"])
    p.end(True)
    complete(k, p)
    stable(k, u, 2)


def case_txn_markers_of_many_producers(k):
    """Several markers in a request."""
    t = topic(k, partitions=2)
    all = [markers(910_000_000_000 + n, n, n, 0, n % 2 == 0, (t.name, 0, 1))["markers"][0] for n in range(4)]
    for version in (1, 2):
        k.call(f"v{version}", "WriteTxnMarkers", version, {"markers": all})
    producers(k, "known", t.name)
    fetched(k, "read", t, isolation=PLAIN)


def case_txn_markers_of_unknown_partitions(k):
    """Partitions and topics that are not there, and names that cannot be."""
    t = topic(k)
    for version in (1, 2):
        places = (t.name, 0, 1, -1), (k.name("none"), 0, 5), ("", 0), ("a/b", 0)
        k.call(f"v{version}", "WriteTxnMarkers", version, markers(910_000_000_010, 0, 0, 0, True, *places))
    ends(k, "end", t, timestamps=(-1,))


def case_txn_markers_of_open_transactions(k):
    """Which markers end an open transaction: epochs and coordinators, before transactions v2."""
    t, p = topic(k), Producer(k).init()
    p.write("open", t)
    k.call("older epoch", "WriteTxnMarkers", 1, markers(p.pid, p.epoch - 1, 1000, 0, True, (t.name, 0)))
    ends(k, "older epoch", t, timestamps=(-1,))
    k.call("newer epoch", "WriteTxnMarkers", 1, markers(p.pid, p.epoch + 2, 1000, 0, False, (t.name, 0)))
    stable(k, t, 2)
    k.call("older coordinator", "WriteTxnMarkers", 1, markers(p.pid, p.epoch + 2, 999, 0, False, (t.name, 0)))
    k.call("newer coordinator", "WriteTxnMarkers", 1, markers(p.pid, p.epoch + 2, 1001, 0, False, (t.name, 0)))
    p.write("the old epoch", t, 1)
    fetched(k, "read", t)
    producers(k, "known", t.name)


def case_txn_markers_of_open_transactions_v2(k):
    """Which markers end an open transaction: by transactions v2 the epoch must be newer."""
    t, p = topic(k), Producer(k).init()
    p.write("open", t)
    for label, epoch in (("same", 0), ("older", -1), ("newer", 1)):
        k.call(label, "WriteTxnMarkers", 2, markers(p.pid, p.epoch + epoch, 1000, 2, True, (t.name, 0)))
        ends(k, label, t, timestamps=(-1,))
    for label, epoch in (("newer again", 1), ("older again", 0), ("next", 2)):
        k.call(label, "WriteTxnMarkers", 2, markers(p.pid, p.epoch + epoch, 1000, 2, True, (t.name, 0)))
    producers(k, "known", t.name)


def case_txn_markers_of_odd_versions(k):
    """Versions of transactions that there are not, and version 1."""
    t = topic(k)
    for n, of in enumerate((1, 3, 127)):
        pid = 910_000_000_020 + n
        for epoch in (1, 1, 0, 2):
            k.call(f"transactions v{of}, epoch {epoch}", "WriteTxnMarkers", 2, markers(pid, epoch, 0, of, True, (t.name, 0)))


def case_txn_markers_of_any_coordinator(k):
    """A coordinator's epoch below 0 is as good as any, until one is known."""
    t = topic(k)
    for version in (1, 2):
        for coordinator in (-1, -1, 0, -1, 7, 0, 7):
            body = markers(910_000_000_030 + version, 0, coordinator, 0, True, (t.name, 0))
            k.call(f"coordinator {coordinator} v{version}", "WriteTxnMarkers", version, body)
    ends(k, "end", t, timestamps=(-1,))


def case_txn_markers_repeated(k):
    """The same marker again, without and with something between."""
    t = topic(k)
    one = markers(910_000_000_040, 1, 1, 0, True, (t.name, 0))["markers"][0]
    for again in range(3):
        k.call(f"alone {again}", "WriteTxnMarkers", 1, {"markers": [one]})
    ends(k, "alone", t, timestamps=(-1,))


def case_txn_producers_of_many_partitions(k):
    """DescribeProducers: partitions that are named twice, wrong ones, topics twice."""
    t, p = topic(k, partitions=3), Producer(k)
    for partition in (0, 2):
        p.write(f"open {partition}", t, partition=partition)
    for label, topics in (("all", [(t.name, [0, 1, 2])]), ("twice", [(t.name, [0, 0])]), ("internal", [("__nobody", [0])]), ("none", [(t.name, [])]),
                          ("wrong", [(t.name, [3, 2**31 - 1, -1])])):
        k.call(label, "DescribeProducers", 0, {"topics": [{"name": name, "partitionIndexes": list(numbers)} for name, numbers in topics]},
               drop=["coordinatorEpoch"])


def case_txn_producers_after_ends(k):
    """What is known of a producer after each end, by both protocols."""
    t, p = topic(k), Producer(k)
    end = 0
    for version, write, commit in ((4, 11, True), (4, 11, False), (5, 12, True), (5, 12, False)):
        if write < 12:
            p.add(t, 0)
            p.write(f"write {end}", t, end // 2, version=write)
        else:
            p.until_written(t, 2 if end == 4 else 0)
        producers(k, f"open {end}", t.name)
        p.end(commit, version)
        end += 2
        complete(k, p, "CompleteCommit" if commit else "CompleteAbort")
        stable(k, t, end)
        producers(k, f"ended {end}", t.name)
