"""Requests about transactions that no client sends: topics twice or without partitions, unknown isolation levels."""

import wire
from transactional_writes import Producer, fetch, stable, topic
from transactions import Id, add_body, transaction


def case_txn_odd_topics_twice(k):
    """A topic that is named twice, in the versions of clients."""
    t, u, x = k.topic("t", partitions=3), k.topic("u"), Id(k)
    for version in (0, 1, 2, 3):
        def add(label, *topics, pid=x.pid):
            k.call(f"{label} v{version}", "AddPartitionsToTxn", version, add_body(x.id, pid, x.epoch, *topics))
        add("twice", (t.name, [0]), (t.name, [1]))
        add("with another one in between", (t.name, [0]), (u.name, [0]), (t.name, [1, 2]))
        add("the same partition", (t.name, [0]), (t.name, [0]))
        add("the same partition in one", (t.name, [0, 0, 1]))
        add("one is unknown", (t.name, [0]), (t.name, [7]), (u.name, [0]))
        add("an unknown one twice", (t.name, [7]), (t.name, [0]), (t.name, [7]))
        add("an unknown one twice in one", (t.name, [7, 0, 7, 0]))
        add("of another producer", (t.name, [0]), (t.name, [0]), pid=x.pid + 1_000_000)
    k.step("state", x.describe(), drop=["transactionStartTimeMs"])


def case_txn_odd_topics_without_partitions(k):
    """A topic without partitions, and no topics, in the versions of clients."""
    t, u, x = k.topic("t", partitions=3), k.topic("u"), Id(k)
    for version in (0, 1, 2, 3):
        def add(label, *topics, pid=x.pid, id=x.id):
            k.call(f"{label} v{version}", "AddPartitionsToTxn", version, add_body(id, pid, x.epoch, *topics))
        add("no topics")
        add("one without", (t.name, []))
        k.step("state", x.describe(), drop=["transactionStartTimeMs"])
        add("of nobody", (t.name, []), id=k.coordinator(k.name("nobody"), 1))
        add("of another producer", (t.name, []), pid=x.pid + 1_000_000)
        add("of an unknown topic", (k.name("none"), []))
    for version in (0, 1, 2, 3):
        k.call(f"beside another v{version}", "AddPartitionsToTxn", version, add_body(x.id, x.pid, x.epoch, (t.name, []), (u.name, [0])))
        k.call(f"and twice v{version}", "AddPartitionsToTxn", version, add_body(x.id, x.pid, x.epoch, (u.name, [0]), (u.name, [])))


def case_txn_odd_topics_of_brokers(k):
    """The same in the versions of brokers, and partitions of offsets that don't exist."""
    t, u, x = k.topic("t", partitions=3), k.topic("u"), Id(k)
    for version in (4, 5):
        for verify in (False, True):
            def add(label, *topics):
                k.call(f"{label} v{version} verify {verify}", "AddPartitionsToTxn", version,
                       {"transactions": [transaction(x.id, x.pid, x.epoch, verify, *topics)]})
            add("twice", (t.name, [0]), (u.name, [0]), (t.name, [1]))
            add("without partitions", (t.name, []))
            add("beside another", (t.name, []), (u.name, [0]))
            add("no topics")
            add("offsets", ("__consumer_offsets", [1_000_000]), (t.name, [0]))
            add("transactions", ("__transaction_state", [0]))


def case_txn_odd_isolation(k):
    """Isolation levels that nobody knows, with a transaction open and one aborted."""
    t = topic(k)
    a, b = Producer(k, "a"), Producer(k, "b")
    a.write("a", t, values=("1", "2"))
    a.end(False)
    stable(k, t, 3)
    b.write("b", t)
    for isolation in (0, 1, 2, 127, -1, -128):
        for version in (4, 7, 11, 13, 17):
            body = fetch(t, 0, isolation)
            for it in body["topics"]:
                it["topicId"] = t.id
            answer = k.send("Fetch", version, body)
            for part in (p for t in answer["responses"] for p in t["partitions"]):
                # Markers have the epoch of their coordinator in them.
                part["records"] = len(part["records"])
            k.step(f"read, isolation {isolation} v{version}", answer)
        for version in (2, 5, 7, 11):
            for timestamp in (-1, -2, -3, 0):
                k.call(f"ends, isolation {isolation} v{version}, {timestamp}", "ListOffsets", version, {
                    "replicaId": -1, "isolationLevel": isolation,
                    "topics": [{"name": t.name, "partitions": [{"partitionIndex": 0, "timestamp": timestamp}]}]})
        k.step(f"connection after {isolation}", k.conn.alive())
