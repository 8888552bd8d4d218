"""Offsets in transactions, one question a case: versions, members, pending offsets, their ends (broker-core 12.7)."""

import classic
import streams_static
from transactional_writes import Producer, complete, markers, offset, settled, topic

VERSIONS = (0, 1, 2, 3, 4, 5, 6)
MEMBERS = (3, 4, 5, 6)
PARTITIONS = 4   # of __consumer_offsets, on both sides


def add(k, p, group, version=3):
    def added():
        return k.send("AddOffsetsToTxn", version, {"transactionalId": p.id, "producerId": p.pid, "producerEpoch": p.epoch,
                                                   "groupId": group})["errorCode"] != 51
    k.until(added)


def place(topic, *partitions, id=None):
    return {"name": topic.name, "topicId": id or topic.id, "partitions": [
        {"partitionIndex": index, "committedOffset": offset, "committedMetadata": text} for index, offset, text in partitions]}


def offsets_partition(group):
    """Where the offsets of a group are: Java's hash of the name."""
    number = 0
    for letter in group:
        number = (31 * number + ord(letter)) & 0xffffffff
    return abs(number - (1 << 32) if number >> 31 else number) % PARTITIONS


def until_committed(k, p, group, topic, at=1):
    """A commit that waits for the end of the last transaction."""
    k.until(lambda: k.send("TxnOffsetCommit", 5, {
        "transactionalId": p.id, "groupId": group, "producerId": p.pid, "producerEpoch": p.epoch, "generationIdOrMemberEpoch": -1,
        "memberId": "", "topics": [place(topic, (0, at, ""))]})["topics"][0]["partitions"][0]["errorCode"] == 0)


def case_txn_offsets_by_version(k):
    """One offset in each version, with its metadata and leader epoch, and its end."""
    t = topic(k)
    for version in VERSIONS:
        g, p = k.group(f"g{version}"), Producer(k, f"id{version}")
        if version < 5:
            add(k, p, g)
        p.commit(f"commit v{version}", g, t, version=version, topics=[{"name": t.name, "topicId": t.id, "partitions": [
            {"partitionIndex": 0, "committedOffset": 5, "committedLeaderEpoch": 3 if version >= 2 else -1, "committedMetadata": f"of {version}"}]}])
        offset(k, f"pending v{version}", g, t, True)
        p.end(True, 5 if version >= 5 else 4)
        complete(k, p)
        settled(k, g, t)
        offset(k, f"committed v{version}", g, t, True)


def case_txn_offsets_without_metadata(k):
    """Null metadata, and offsets that cannot be."""
    t = topic(k, partitions=4)
    for version in VERSIONS:
        g, p = k.group(f"g{version}"), Producer(k, f"id{version}")
        add(k, p, g)
        p.commit(f"commit v{version}", g, t, version=version, topics=[place(t, (0, 1, None), (1, -1, ""), (2, -7, ""), (3, 2**63 - 1, ""))])
        p.end(True, 4)
        complete(k, p)
        settled(k, g, t)
        k.call(f"committed v{version}", "OffsetFetch", 8, {"requireStable": True, "groups": [
            {"groupId": g, "topics": [{"name": t.name, "partitionIndexes": [0, 1, 2, 3]}]}]})


def case_txn_offsets_of_unknown_topics(k):
    """Topics and partitions that are not there, beside one that is, in each version."""
    t, none = topic(k), "AAAAAAAAAAAAAAAAAAABAA"
    for version in VERSIONS:
        g, p = k.group(f"g{version}"), Producer(k, f"id{version}")
        add(k, p, g)
        topics = [place(t, (0, 1, ""), (1, 1, ""), (-1, 1, ""))]
        topics.append(place(t, (0, 1, ""), id=none) | {"name": k.name("none")})
        p.commit(f"v{version}", g, t, version=version, topics=topics)
        p.commit(f"only unknown v{version}", g, t, version=version, topics=topics[1:])
        p.commit(f"nothing v{version}", g, t, version=version, topics=[])
        offset(k, f"pending v{version}", g, t, True)


def case_txn_offsets_of_nobody(k):
    """Transactional ids and producers that are not there, in each version."""
    t, g, p = topic(k), k.group(), Producer(k)
    for version in VERSIONS:
        for label, of in (("empty id", {"transactionalId": ""}), ("unknown id", {"transactionalId": k.name("none")}),
                          ("no producer", {"producerId": -1, "producerEpoch": -1}), ("another producer", {"producerId": p.pid + 1_000_000}), ("no epoch", {"producerEpoch": -1}), ("newer epoch", {"producerEpoch": 9})):
            p.commit(f"{label} v{version}", g, t, version=version, **of)
    offset(k, "nothing", g, t, True)


def case_txn_offsets_of_odd_groups(k):
    """Groups without a name and that nobody knows, in each version."""
    t, p = topic(k), Producer(k)
    for version in VERSIONS:
        for label, group in (("empty", ""), ("unknown", k.name("none")), ("odd", k.name("a/b ü"))):
            k.coordinator(group) if group else None
            p.commit(f"{label} v{version}", group, t, version=version)
    for version in MEMBERS:
        for label, of in (("generation", {"generationIdOrMemberEpoch": 0}), ("member", {"memberId": "m"}), ("instance", {"groupInstanceId": "i"}),
                          ("member and generation", {"memberId": "m", "generationIdOrMemberEpoch": 1}), ("negative", {"generationIdOrMemberEpoch": -5})):
            g = k.group(f"none-{label}-{version}".replace(" ", "-"))
            add(k, p, g)
            p.commit(f"unknown with {label} v{version}", g, t, version=version, **of)


def case_txn_offsets_of_a_replaced_instance(k):
    """A fenced producer commits, in each version."""
    t, g, p = topic(k), k.group(), Producer(k)
    p.commit("open", g, t)
    old = p.epoch
    p.init()
    settled(k, g, t)
    for version in VERSIONS:
        p.commit(f"old v{version}", g, t, version=version, producerEpoch=old)
    offset(k, "nothing", g, t, True)


def case_txn_offsets_fenced_by_a_timeout(k):
    """A transaction of offsets takes too long: they are gone, its producer fenced."""
    t, g, p = topic(k), k.group(), Producer(k, timeout=500)
    p.commit("open", g, t)
    complete(k, p, "CompleteAbort")
    settled(k, g, t)
    for version in VERSIONS:
        p.commit(f"late v{version}", g, t, version=version)
    offset(k, "nothing", g, t, True)
    k.call("group", "DescribeGroups", 5, {"groups": [g]})


def case_txn_offsets_of_classic_members(k):
    """Members of a classic group: generations and ids, in each version that has them."""
    t, g, p = topic(k), k.group(), Producer(k)
    generation, (member,) = classic.assigned(k, g)
    for version in MEMBERS:
        if version < 5:
            add(k, p, g)
        for label, of in (("its own", (generation, member)), ("older", (generation - 1, member)), ("newer", (generation + 1, member)), ("no generation", (-1, member)),
                          ("nobody", (generation, "nobody")), ("no member", (generation, "")), ("neither", (-1, ""))):
            p.commit(f"{label} v{version}", g, t, version=version, generationIdOrMemberEpoch=of[0], memberId=of[1])
        p.commit(f"instance of a dynamic one v{version}", g, t, version=version, generationIdOrMemberEpoch=generation, memberId=member, groupInstanceId="i")


def case_txn_offsets_of_static_classic_members(k):
    """Static members of a classic group, and who poses as them."""
    t, g, p = topic(k), k.group(), Producer(k)
    generation, (member,) = classic.assigned(k, g, version=5, groupInstanceId="i1")
    for version in MEMBERS:
        if version < 5:
            add(k, p, g)
        for label, of in (("its own", (generation, member, "i1")), ("without", (generation, member, None)), ("another member", (generation, "nobody", "i1")),
                          ("another instance", (generation, member, "i2")), ("older", (generation - 1, member, "i1")), ("no member", (generation, "", "i1"))):
            p.commit(f"{label} v{version}", g, t, version=version, generationIdOrMemberEpoch=of[0], memberId=of[1], groupInstanceId=of[2])


def case_txn_offsets_of_a_member_that_left(k):
    """A classic member leaves while its offsets are pending, and commits once more."""
    t, g, p = topic(k), k.group(), Producer(k)
    generation, (member,) = classic.assigned(k, g)
    of = {"generationIdOrMemberEpoch": generation, "memberId": member}
    p.commit("as member", g, t, 3, **of)
    k.send("LeaveGroup", 3, {"groupId": g, "members": [{"memberId": member}]})
    for version in MEMBERS:
        p.commit(f"as one that left v{version}", g, t, 4, version=version, **of)
    p.end(True)
    settled(k, g, t)
    complete(k, p)
    offset(k, "committed", g, t, True)


def case_txn_offsets_of_consumers_that_left(k):
    """A member of a consumer group leaves and comes back."""
    t, g, p = topic(k), k.group(), Producer(k)

    def beat(epoch):
        return k.send("ConsumerGroupHeartbeat", 1, {"groupId": g, "memberId": "m", "memberEpoch": epoch, "rebalanceTimeoutMs": 60_000,
                                                    "subscribedTopicNames": [t.name], "topicPartitions": []})["memberEpoch"]
    epoch = beat(0)
    p.commit("as member", g, t, 3, memberId="m", generationIdOrMemberEpoch=epoch)
    beat(-1)
    for version in MEMBERS:
        p.commit(f"as one that left v{version}", g, t, 4, version=version, memberId="m", generationIdOrMemberEpoch=epoch)
    again = beat(0)
    for version in MEMBERS:
        p.commit(f"its old epoch v{version}", g, t, 4, version=version, memberId="m", generationIdOrMemberEpoch=epoch)
        p.commit(f"its new epoch v{version}", g, t, 5, version=version, memberId="m", generationIdOrMemberEpoch=again)


def case_txn_offsets_of_streams_members(k):
    """Members of streams groups: their epochs, in each version that has them."""
    t, g = streams_static.at_once(k)
    p = Producer(k)
    join, beat = streams_static.beats(k, g)
    epoch = join("join", t, "m1")["memberEpoch"]
    for version in MEMBERS:
        if version < 5:
            add(k, p, g)
        for label, of in (("its own", (epoch, "m1")), ("older", (epoch - 1, "m1")), ("newer", (epoch + 1, "m1")), ("none", (-1, "m1")), ("leaves", (-2, "m1")),
                          ("nobody", (epoch, "m2")), ("no member", (epoch, "")), ("neither", (-1, ""))):
            p.commit(f"{label} v{version}", g, t, version=version, generationIdOrMemberEpoch=of[0], memberId=of[1])
    beat("leaves", "m1", -1)
    for version in MEMBERS:
        p.commit(f"left v{version}", g, t, version=version, generationIdOrMemberEpoch=epoch, memberId="m1")
        p.commit(f"nobody is there v{version}", g, t, version=version)


def case_txn_offsets_pending_by_version(k):
    """Who asks for stable offsets, and who does not, in every version of OffsetFetch."""
    t, g, p = topic(k, partitions=2), k.group(), Producer(k)
    k.send("OffsetCommit", 8, {"groupId": g, "generationIdOrMemberEpoch": -1, "memberId": "", "topics": [place(t, (0, 1, "old"), (1, 1, "old"))]})
    p.commit("pending", g, t, 7)
    for version in range(1, 8):
        body = {"groupId": g, "topics": [{"name": t.name, "partitionIndexes": [0, 1]}]}
        for stable in (False, True) if version >= 7 else (False,):
            k.call(f"stable {stable} v{version}", "OffsetFetch", version, body | ({"requireStable": stable} if version >= 7 else {}))
            if version >= 2:
                k.call(f"all, stable {stable} v{version}", "OffsetFetch", version,
                       {"groupId": g, "topics": None} | ({"requireStable": stable} if version >= 7 else {}))
    for version in (8, 9, 10):
        for stable in (False, True):
            k.call(f"stable {stable} v{version}", "OffsetFetch", version, {"requireStable": stable, "groups": [
                {"groupId": g, "topics": [{"name": t.name, "topicId": t.id, "partitionIndexes": [0, 1]}]}, {"groupId": k.name("none"), "topics": None}]})
            k.call(f"all, stable {stable} v{version}", "OffsetFetch", version, {"requireStable": stable, "groups": [{"groupId": g, "topics": None}]})


def case_txn_offsets_of_two_producers(k):
    """Two transactions on one offset: each end decides its own."""
    t = topic(k)
    for first, second in ((True, True), (True, False), (False, True), (False, False)):
        g = k.group(f"g-{first}-{second}")
        a, b = Producer(k, f"a-{first}-{second}"), Producer(k, f"b-{first}-{second}")
        a.commit("a", g, t, 10)
        b.commit("b", g, t, 20)
        b.end(second)
        complete(k, b, "CompleteCommit" if second else "CompleteAbort")
        offset(k, f"b ended {second}, stable", g, t, True)
        body = {"requireStable": False, "groups": [{"groupId": g, "topics": [{"name": t.name, "partitionIndexes": [0]}]}]}
        k.until(lambda: k.send("OffsetFetch", 8, body)["groups"][0]["topics"][0]["partitions"][0]["committedOffset"] == (20 if second else -1))
        a.end(first)
        settled(k, g, t)
        complete(k, a, "CompleteCommit" if first else "CompleteAbort")
        offset(k, f"a ended {first}", g, t, True)


def case_txn_offsets_committed_twice(k):
    """The last one of a transaction counts, further back or not."""
    t, g, p = topic(k), k.group(), Producer(k)
    for n, offsets in enumerate(((1, 9), (8, 3), (5, 5))):
        until_committed(k, p, g, t, offsets[0])
        p.commit(f"second {n}", g, t, offsets[1])
        p.end(True)
        settled(k, g, t)
        complete(k, p)
        offset(k, f"committed {n}", g, t, True)


def case_txn_offsets_of_many_groups(k):
    """One transaction commits for several groups."""
    t, p = topic(k), Producer(k)
    groups = [k.group(f"g{n}") for n in range(6)]
    for n, g in enumerate(groups):
        p.commit(f"g{n}", g, t, n)
    k.call("stable", "OffsetFetch", 8, {"requireStable": True, "groups": [{"groupId": g, "topics": None} for g in groups]})
    p.end(True)
    for g in groups:
        settled(k, g, t)
    complete(k, p)
    k.call("committed", "OffsetFetch", 8, {"requireStable": True, "groups": [{"groupId": g, "topics": None} for g in groups]})


def case_txn_offsets_and_a_deleted_topic(k):
    """The topic of a pending offset goes."""
    t, u, g, p = topic(k, "t"), topic(k, "u"), k.group(), Producer(k)
    p.commit("t", g, t, 3)
    p.commit("u", g, u, 4)
    k.send("DeleteTopics", 6, {"timeoutMs": 5000, "topics": [{"name": t.name}]})
    k.until(lambda: k.send("Metadata", 12, {"topics": [{"name": t.name}], "allowAutoTopicCreation": False})["topics"][0]["errorCode"] == 3)
    p.end(True)
    settled(k, g, u)
    complete(k, p)
    offset(k, "u", g, u, True)


def case_txn_offsets_begun_by_both_protocols(k):
    """An old client's AddOffsetsToTxn and a new one's commit in one transaction, and the other way."""
    t, g, h, p = topic(k), k.group("g"), k.group("h"), Producer(k)
    add(k, p, g)
    p.commit("new in added", g, t, 1, version=5)
    p.commit("old in added", g, t, 2, version=4)
    p.end(True, 4)
    settled(k, g, t)
    complete(k, p)
    until_committed(k, p, h, t, 3)
    p.commit("old after new", h, t, 4, version=3)
    p.end(True, 5)
    settled(k, h, t)
    complete(k, p)
    for version in (3, 4):
        p.commit(f"old after the end v{version}", h, t, 5, version=version)
    offset(k, "first", g, t, True)
    offset(k, "second", h, t, True)


def case_txn_offsets_and_markers_by_hand(k):
    """Markers for the partition of a group's offsets end what is pending there."""
    t = topic(k)
    for committed in (True, False):
        g, p = k.group(f"g-{committed}"), Producer(k, f"id-{committed}")
        p.commit(f"pending {committed}", g, t, 7)
        offset(k, f"pending, stable {committed}", g, t, True)
        k.call(f"marker {committed}", "WriteTxnMarkers", 1, markers(p.pid, p.epoch, 1000, 0, committed, ("__consumer_offsets", offsets_partition(g))),
               drop=["partitionIndex"])
        settled(k, g, t)
        offset(k, f"ended {committed}", g, t, True)


def case_txn_offsets_and_wrong_markers(k):
    """Markers of older epochs, of others, and for partitions that are not there."""
    t, g, p = topic(k), k.group(), Producer(k).init()
    p.commit("pending", g, t, 7)
    here = offsets_partition(g)
    k.call("no such partition", "WriteTxnMarkers", 1, markers(p.pid, p.epoch, 1000, 0, True, ("__consumer_offsets", PARTITIONS, -1)))
    k.call("another producer", "WriteTxnMarkers", 1, markers(920_000_000_000, 0, 0, 0, True, ("__consumer_offsets", here)), drop=["partitionIndex"])
    offset(k, "pending, stable", g, t, True)
    k.call("older epoch", "WriteTxnMarkers", 1, markers(p.pid, p.epoch - 1, 1000, 0, True, ("__consumer_offsets", here)), drop=["partitionIndex"])
    k.call("same epoch, transactions v2", "WriteTxnMarkers", 2, markers(p.pid, p.epoch, 1000, 2, True, ("__consumer_offsets", here)), drop=["partitionIndex"])
    offset(k, "still pending", g, t, True)
    p.end(True)
    settled(k, g, t)
    offset(k, "committed", g, t, True)


def case_txn_offsets_too_long(k):
    """Metadata at and over the bound, in each version."""
    t = topic(k, partitions=2)
    for version in VERSIONS:
        g, p = k.group(f"g{version}"), Producer(k, f"id{version}")
        add(k, p, g)
        p.commit(f"v{version}", g, t, version=version, topics=[place(t, (0, 1, "m" * 4096), (1, 1, "m" * 4097))])


def case_txn_offsets_of_a_deleted_group(k):
    """A group is deleted between two transactions."""
    t, g, p = topic(k), k.group(), Producer(k)
    until_committed(k, p, g, t, 3)
    p.end(True)
    settled(k, g, t)
    complete(k, p)
    k.call("delete", "DeleteGroups", 2, {"groupsNames": [g]})
    offset(k, "nothing", g, t, True)
    until_committed(k, p, g, t, 4)
    k.call("listed", "DescribeGroups", 5, {"groups": [g]})
    p.end(True)
    settled(k, g, t)
    offset(k, "committed", g, t, True)
