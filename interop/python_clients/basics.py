"""What every client does: write in each way, read it back, and administrate."""

STAMP = 1_700_000_000_000


def story(client, broker, name):
    written = writes(client, name + "-w")
    admin(client, name + "-a")
    return f"{written} records"


def rows_of(label, count):
    return [
        (b"key %d" % n, b"%s %d " % (label, n) + b"x" * (n * 7 % 300), [("number", b"%d" % n), ("empty", b"")], STAMP + n)
        for n in range(count)]


def writes(client, topic):
    """Each compression with each kind of acknowledgement: keys, values, headers, timestamps and offsets are the same."""
    ways = [(acks, codec, False) for codec in ("none", "gzip", "snappy", "lz4", "zstd") for acks in (0, 1, "all")]
    ways += [("all", codec, True) for codec in ("none", "zstd")]
    client.create_topic(topic, len(ways))
    expected = {}
    for partition, (acks, codec, idempotent) in enumerate(ways):
        label = f"{codec} {acks} {idempotent}".encode()
        rows = rows_of(label, 100)
        offsets = client.write(topic, partition, rows, acks, codec, idempotent)
        assert acks == 0 or offsets == list(range(100)), f"{label}: offsets {offsets[:3]}…"
        expected[partition] = [(n, *row) for n, row in enumerate(rows)]
    # A write that nobody acknowledges is on its way: all others were asked for after it.
    found = client.read(topic, len(ways))
    for partition, rows in found.items():
        assert rows == expected[partition], f"{ways[partition]}: {rows[:1]} is not {expected[partition][:1]}"
    return sum(map(len, found.values()))


def equal(what, found, wanted):
    assert found == wanted, f"{what}: {found}, not {wanted}"


def admin(client, topic):
    client.create_topic(topic, 2, {"retention.ms": "123456789"})
    equal("created", topic in client.topics(), True)
    equal("created again", client.refusal(lambda: client.create_topic(topic, 2)), "TOPIC_ALREADY_EXISTS")
    equal("config", client.config(topic, "retention.ms"), "123456789")
    client.set_config(topic, "retention.ms", "-1")
    equal("changed config", client.config(topic, "retention.ms"), "-1")
    equal("wrong config", client.refusal(lambda: client.set_config(topic, "retention.ms", "much")), "INVALID_CONFIG")
    client.add_partitions(topic, 4)
    equal("partitions", client.partitions(topic), 4)
    equal("fewer partitions", client.refusal(lambda: client.add_partitions(topic, 3)), "INVALID_PARTITIONS")

    client.write(topic, 0, rows_of(b"a", 50))
    client.write(topic, 3, rows_of(b"b", 20))
    equal("ends", client.ends(topic, 4), {0: 50, 1: 0, 2: 0, 3: 20})
    equal("since", client.since(topic, 4, STAMP + 10), {0: 10, 1: -1, 2: -1, 3: 10})
    equal("since later", client.since(topic, 4, STAMP + 30), {0: 30, 1: -1, 2: -1, 3: -1})
    equal("newest", client.newest(topic, 4), {0: 49, 1: -1, 2: -1, 3: 19})
    client.delete_records(topic, {0: 30})
    equal("starts", client.starts(topic, 4), {0: 30, 1: 0, 2: 0, 3: 0})
    equal("what is left", [row[0] for row in client.read(topic, 4)[0]], list(range(30, 50)))

    group = topic + "-group"
    client.set_committed(group, topic, {0: 40, 3: 7})
    equal("committed", client.committed(group, topic, 4), {0: 40, 3: 7})
    equal("listed", group in client.groups(), True)
    equal("described", client.group(group), ("EMPTY", 0))
    client.delete_group(group)
    equal("listed after", group in client.groups(), False)
    equal("deleted again", client.refusal(lambda: client.delete_group(group)), "GROUP_ID_NOT_FOUND")
    client.delete_topic(topic)
    equal("deleted", topic in client.topics(), False)
    equal("topic deleted again", client.refusal(lambda: client.delete_topic(topic)), "UNKNOWN_TOPIC_OR_PARTITION")
