"""OffsetCommit, OffsetFetch and OffsetDelete, one question a case (classic-and-consumer-groups.md 5.3 to 5.6, 9)."""

from classic import assigned, syncing
from classic import joining as classic_joining
from consumer_groups import HEARTBEAT, at_once, heartbeat, joining, owned
from migration import said

COMMITS = range(2, 11)
NOBODY = "AAAAAAAAAAAAAAAAAAAABw"
ZERO = "AAAAAAAAAAAAAAAAAAAAAA"
MAX = 2**31 - 1
LONG = 2**63 - 1


def place(topic, *partitions, **more):
    """`partitions`: index, or (index, offset), or (index, offset, metadata), or a dict."""
    def part(p):
        if isinstance(p, dict):
            return p
        index, offset, text = ((p, 7, "m") if isinstance(p, int) else (*p, "m")[:3])
        return {"partitionIndex": index, "committedOffset": offset, "committedMetadata": text}
    return {"name": topic.name, "topicId": topic.id, "partitions": [part(p) for p in partitions], **more}


def commit(k, label, version, group, *places, epoch=-1, member="", **more):
    return k.call(f"{label} v{version}", "OffsetCommit", version, {
        "groupId": group, "generationIdOrMemberEpoch": epoch, "memberId": member, "topics": list(places), **more})


def fetch(k, label, version, group, *topics, stable=False, **more):
    """`topics`: (topic, partition ...), or nothing for all of the group."""
    asked = [{"name": t.name, "partitionIndexes": list(partitions)} | ({"topicId": t.id} if version > 7 else {}) for t, *partitions in topics] or None
    if version < 8:
        body = {"groupId": group, "topics": asked, "requireStable": stable}
    else:
        body = {"requireStable": stable, "groups": [{"groupId": group, "topics": asked, **more}]}
    return k.call(f"{label} v{version}", "OffsetFetch", version, body)


def delete(k, label, group, *topics):
    """`topics`: (name, partition ...)"""
    return k.call(label, "OffsetDelete", 0, {"groupId": group, "topics": [
        {"name": name, "partitions": [{"partitionIndex": p} for p in partitions]} for name, *partitions in topics]})


def gone(k, topic):
    """Deletes the topic and waits until nobody knows it."""
    k.send("DeleteTopics", 6, {"timeoutMs": 10000, "topics": [{"name": topic.name}]})
    k.until(lambda: k.send("Metadata", 12, {"topics": [{"name": topic.name}], "allowAutoTopicCreation": False})["topics"][0]["errorCode"] == 3)


def case_offset_values(k):
    """Every number is an offset, in each version."""
    t = k.topic(partitions=6)
    values = (0, -1, -7, 1, LONG, -LONG - 1)
    for version in COMMITS:
        g = k.group(f"g{version}")
        commit(k, "commit", version, g, place(t, *((i, value) for i, value in enumerate(values))))
        fetch(k, "fetch", 9, g, (t, *range(6)))


def case_offset_leader_epochs(k):
    """Leader epochs are kept from version 6 on, whatever they are, and told from 5."""
    t = k.topic(partitions=5)
    for version in (6, 7, 8, 9, 10):
        g = k.group(f"g{version}")
        commit(k, "commit", version, g, place(t, *({"partitionIndex": i, "committedOffset": 1, "committedLeaderEpoch": epoch} for i, epoch in enumerate(
            (-1, 0, 5, MAX, -2)))))
        for asked in (4, 5, 8, 10):
            fetch(k, f"of {version}", asked, g, (t, *range(5)))
    g = k.group("old")
    commit(k, "without", 5, g, place(t, 0))
    fetch(k, "without", 9, g, (t, 0))


def case_offset_retention_of_old_versions(k):
    """A time to keep it, also odd ones: it is taken by 2 to 4."""
    t = k.topic()
    for version in (2, 3, 4):
        for retention in (-1, 86400000, LONG):
            g = k.group(f"{version}-{retention}")
            commit(k, f"{retention}", version, g, place(t, 0), retentionTimeMs=retention)
            fetch(k, f"{retention} of {version}", 8, g, (t, 0))


def case_offset_doubled_in_one_request(k):
    """A partition twice, a topic twice: the last one counts, each is answered."""
    t = k.topic(partitions=2)
    for version in COMMITS:
        g = k.group(f"g{version}")
        commit(k, "partition twice", version, g, place(t, (0, 1), (0, 2), (1, 3), (0, 4)))
        fetch(k, f"then {version}", 9, g, (t, 0, 1))
        commit(k, "topic twice", version, g, place(t, (0, 5)), place(t, (1, 6)), place(t, (0, 7)))
        fetch(k, f"and then {version}", 9, g, (t, 0, 1))


def case_offset_metadata_lengths(k):
    """The longest text and one above it, of letters of one, two and four bytes; good ones beside it are stored."""
    t = k.topic(partitions=6)
    texts = ("m" * 4096, "m" * 4097, "ü" * 4096, "ü" * 4097, "\U0001F600" * 2048, "\U0001F600" * 2048 + "m")
    for version in COMMITS:
        g = k.group(f"g{version}")
        answer = k.send("OffsetCommit", version, {"groupId": g, "generationIdOrMemberEpoch": -1, "topics": [
            place(t, *((i, i, text) for i, text in enumerate(texts)))]})
        k.step(f"commit v{version}", answer)
        answer = k.send("OffsetFetch", 8, {"groups": [{"groupId": g, "topics": [{"name": t.name, "partitionIndexes": list(range(6))}]}]})
        k.step(f"fetch v{version}", [[p["partitionIndex"], p["committedOffset"], len(p["metadata"]), p["errorCode"]]
                                     for p in answer["groups"][0]["topics"][0]["partitions"]])


def case_offset_metadata_too_long_for_all(k):
    """Nothing is stored."""
    t = k.topic()
    for version in (2, 9, 10):
        g = k.group(f"g{version}")
        commit(k, "commit", version, g, place(t, (0, 1, "m" * 5000)))
        fetch(k, "all", 8, g)


def case_offset_metadata_odd(k):
    """Null, empty, signs of all kinds."""
    t = k.topic(partitions=5)
    texts = (None, "", "\u0000", "a\nb", "\U0001F600")
    for version in COMMITS:
        g = k.group(f"g{version}")
        commit(k, "commit", version, g, place(t, *((i, i, text) for i, text in enumerate(texts))))
        fetch(k, f"of {version}", 8, g, (t, *range(5)))


def case_offset_unknown_by_name(k):
    """Topics that are not there or cannot be, partitions beyond, in each version by name; known ones are stored."""
    t = k.topic(partitions=2)
    for version in range(2, 10):
        g = k.group(f"g{version}")
        commit(k, "mixed", version, g, place(t, 0, 2, -1, MAX, name=t.name), place(t, 0, name=k.name("none")), place(t, 0, name="a/b"), place(t, 0, name=""),
               place(t, name=k.name("without")))
        commit(k, "unknown only", version, g, place(t, 0, name=k.name("none")))
        fetch(k, f"of {version}", 8, g)


def case_offset_unknown_by_id(k):
    """Ids that are not there, the id of nothing, a name beside the id."""
    t, g = k.topic(partitions=2), k.group()
    commit(k, "mixed", 10, g, place(t, 0, 2, -1), place(t, 0, 1, topicId=NOBODY), place(t, 0, topicId=ZERO), place(t, topicId=NOBODY))
    commit(k, "unknown only", 10, g, place(t, 0, topicId=NOBODY))
    commit(k, "unknown with an epoch", 10, k.name("none"), place(t, 0, topicId=NOBODY), epoch=5, member="m")
    fetch(k, "all", 10, g)
    fetch(k, "all by name", 8, g)


def case_offset_of_internal_topics(k):
    """Offsets of `__consumer_offsets` itself."""
    k.group()
    class Internal:
        name, id = "__consumer_offsets", ZERO
    for version in (2, 9):
        g = k.group(f"g{version}")
        commit(k, "commit", version, g, place(Internal, 0, 3, 4))
        fetch(k, f"of {version}", 8, g, (Internal, 0, 3, 4))


def case_offset_of_nothing(k):
    """No topics; topics without partitions; the same by nobody."""
    t = k.topic()
    for version in COMMITS:
        g = k.group(f"g{version}")
        commit(k, "no topics", version, g)
        commit(k, "no partitions", version, g, place(t))
        commit(k, "nobody, no topics", version, g, epoch=3, member="nobody")
        commit(k, "nobody, no partitions", version, g, place(t), epoch=3, member="nobody")


def case_offset_of_group_names(k):
    """Groups with odd names; the empty one is allowed."""
    t = k.topic()
    for number, odd in enumerate((" ", "a/b", "ü", "x" * 1000, "\u0000")):
        g = k.group(odd)
        for version in (2, 8, 10):
            commit(k, f"name {number}", version, g, place(t, (0, version)))
            fetch(k, f"name {number}", version, g, (t, 0))
        delete(k, f"delete {number}", g, (t.name, 0))


def case_offset_identities_of_unknown_groups(k):
    """Epoch and member of a group that is not there."""
    t = k.topic()
    for version in COMMITS:
        for epoch in (-5, -1, 0, 1, MAX):
            for member in ("", "m"):
                g = k.group(f"{version}{epoch}{member}")
                commit(k, f"{epoch} {member}", version, g, place(t, 0), epoch=epoch, member=member)
    for version in (7, 8, 9, 10):
        commit(k, "instance", version, k.group(f"instance{version}"), place(t, 0), groupInstanceId="i")


def case_offset_identities_of_simple_groups(k):
    """Epoch and member of a group of offsets only."""
    t, g = k.topic(), k.group()
    commit(k, "first", 8, g, place(t, 0))
    for version in COMMITS:
        for epoch in (-5, -1, 0, 1):
            for member in ("", "m"):
                commit(k, f"{epoch} {member}", version, g, place(t, (0, version)), epoch=epoch, member=member)
        if version > 6:
            commit(k, "instance", version, g, place(t, (0, version)), groupInstanceId="i")


def case_offset_identities_of_consumers(k):
    """Members of a consumer group, and who is none, in each version."""
    t, g = k.topic(partitions=2), at_once(k, k.group())
    k.send(HEARTBEAT, 1, joining(g, "m", t, instanceId="i"))
    for version in COMMITS:
        for epoch in (-1, 0, 1, 2, 3, MAX):
            for member in ("", "m", "nobody"):
                commit(k, f"{epoch} {member}", version, g, place(t, (0, version)), epoch=epoch, member=member)
        if version > 6:
            for instance in ("i", "j", ""):
                commit(k, f"instance {instance}", version, g, place(t, (0, version)), epoch=2, member="m", groupInstanceId=instance)


def case_offset_identities_of_streams(k):
    """Members of a streams group, and who is none, in each version."""
    t, g = k.topic(), k.group()
    id = "member-one-of-kdiff-00"
    k.send("StreamsGroupHeartbeat", 0, {
        "groupId": g, "memberId": id, "memberEpoch": 0, "rebalanceTimeoutMs": 60000, "activeTasks": [], "standbyTasks": [],
        "warmupTasks": [], "processId": "p", "clientTags": [], "topology": {"epoch": 0, "subtopologies": [{"subtopologyId": "0", "sourceTopics": [t.name]}]}})
    for version in COMMITS:
        for epoch in (-1, 0, 9, MAX):
            for member in ("", id, "nobody"):
                commit(k, f"{epoch} {member}", version, g, place(t, (0, version)), epoch=epoch, member=member)


def case_offset_epochs_after_an_assignment(k):
    """An older epoch is good for a partition that was assigned before it, and all partitions must be (KIP-1251)."""
    t, u = k.topic(partitions=2), k.topic("u")
    g = at_once(k, k.group())
    k.send(HEARTBEAT, 1, joining(g, "m", t))
    k.send(HEARTBEAT, 1, heartbeat(g, "m", 2, subscribedTopicNames=[t.name, u.name]))
    for version in (9, 10):
        for epoch in (1, 2, 3, 4):
            commit(k, f"t {epoch}", version, g, place(t, 0, 1), epoch=epoch, member="m")
            commit(k, f"u {epoch}", version, g, place(u, 0), epoch=epoch, member="m")
            commit(k, f"both {epoch}", version, g, place(t, 0), place(u, 0), epoch=epoch, member="m")
            commit(k, f"one too long {epoch}", version, g, place(t, (0, 1, "m" * 5000), 1), epoch=epoch, member="m")


def case_offset_epochs_of_a_revoked_partition(k):
    """What a member must give up it may still commit, by the epoch that it has."""
    t, g = k.topic(partitions=2), at_once(k, k.group())
    k.send(HEARTBEAT, 1, joining(g, "a", t, serverAssignor="range"))
    k.send(HEARTBEAT, 1, joining(g, "b", t, serverAssignor="range"))
    k.send(HEARTBEAT, 1, heartbeat(g, "a", 2))
    for version in (9, 10):
        for epoch in (1, 2, 3):
            commit(k, f"a {epoch}", version, g, place(t, 1), epoch=epoch, member="a")
            commit(k, f"b {epoch}", version, g, place(t, 1), epoch=epoch, member="b")
    k.send(HEARTBEAT, 1, heartbeat(g, "a", 2, topicPartitions=owned(t, 0)))
    k.send(HEARTBEAT, 1, heartbeat(g, "b", 3))
    for epoch in (2, 3):
        commit(k, f"a gave {epoch}", 9, g, place(t, 1), epoch=epoch, member="a")
        commit(k, f"a kept {epoch}", 9, g, place(t, 0), epoch=epoch, member="a")
        commit(k, f"b got {epoch}", 9, g, place(t, 1), epoch=epoch, member="b")


def case_offset_fetch_by_version(k):
    """Offsets, unknown ones and all of a group, in each version."""
    t, u, g = k.topic(partitions=3), k.topic("u"), k.group()
    commit(k, "commit", 9, g, place(t, (0, 5), (2, 6)), place(u, (0, 7)))
    for version in range(1, 11):
        for stable in (False, True) if version > 6 else (False,):
            fetch(k, f"some {stable}", version, g, (t, 0, 1, 2, 9, -1), (u, 0), stable=stable)
            fetch(k, f"none of it {stable}", version, g, (t, 1), stable=stable)
            fetch(k, f"no partitions {stable}", version, g, (t,), stable=stable)
            if version > 1:
                fetch(k, f"all {stable}", version, g, stable=stable)


def case_offset_fetch_doubled(k):
    """A partition twice, a topic twice, a group twice."""
    t, g = k.topic(partitions=2), k.group()
    commit(k, "commit", 9, g, place(t, 0, 1))
    for version in range(1, 11):
        fetch(k, "partition twice", version, g, (t, 0, 0, 1))
        fetch(k, "topic twice", version, g, (t, 0), (t, 1))
    for version in (8, 9, 10):
        one = {"groupId": g, "topics": [{"name": t.name, "topicId": t.id, "partitionIndexes": [0]}]}
        k.call(f"group twice v{version}", "OffsetFetch", version, {"groups": [one, one | {"topics": None}, one]})


def case_offset_fetch_of_groups(k):
    """Groups of all kinds in one request, each for itself."""
    t = k.topic()
    simple, consumers, classic = k.group("simple"), at_once(k, k.group("consumers")), k.group("classic")
    commit(k, "commit", 9, simple, place(t, 0))
    k.send(HEARTBEAT, 1, joining(consumers, "m", t))
    assigned(k, classic)
    for version in (8, 9, 10):
        for stable in (False, True):
            for member, epoch in ((None, -1), ("m", 2), ("m", 1), ("nobody", 2), ("", -1), ("m", -1), (None, 2)):
                groups = [{"groupId": g, "memberId": member, "memberEpoch": epoch, "topics": [{"name": t.name, "topicId": t.id, "partitionIndexes": [0]}]}
                          for g in (simple, consumers, classic, k.name("none"))] if version > 8 else [
                    {"groupId": g, "topics": [{"name": t.name, "partitionIndexes": [0]}]} for g in (simple, consumers, classic, k.name("none"))]
                k.call(f"{member} {epoch} {stable} v{version}", "OffsetFetch", version, {"requireStable": stable, "groups": groups})
                if version == 8:
                    break


def case_offset_fetch_of_no_groups(k):
    for version in (8, 9, 10):
        k.call(f"v{version}", "OffsetFetch", version, {"groups": []})
        k.call(f"no topics v{version}", "OffsetFetch", version, {"groups": [{"groupId": k.group(), "topics": []}]})


def case_offset_fetch_by_id(k):
    """Known and unknown ids, the id of nothing, all; a fault of the group hides those of its topics."""
    t, g = k.topic(partitions=2), at_once(k, k.group())
    commit(k, "commit", 10, g, place(t, 0))
    k.send(HEARTBEAT, 1, joining(g, "m", t))
    topics = [{"topicId": id, "partitionIndexes": [0, 1, 9]} for id in (t.id, NOBODY, ZERO)]
    for member, epoch in ((None, -1), ("m", 2), ("m", 1), ("nobody", 1)):
        for stable in (False, True):
            k.call(f"{member} {epoch} {stable}", "OffsetFetch", 10, {"requireStable": stable, "groups": [
                {"groupId": g, "memberId": member, "memberEpoch": epoch, "topics": topics}]})
            k.call(f"unknown only {member} {epoch} {stable}", "OffsetFetch", 10, {"requireStable": stable, "groups": [
                {"groupId": g, "memberId": member, "memberEpoch": epoch, "topics": topics[1:]}]})


def case_offset_of_a_topic_made_anew(k):
    """The offsets of a topic that was deleted are gone, also when one of its name comes back."""
    t = k.topic()
    a, b = k.group("a"), k.group("b")
    commit(k, "by name", 9, a, place(t, 0))
    commit(k, "by id", 10, b, place(t, 0))
    gone(k, t)
    k.until(lambda: all(not k.send("OffsetFetch", 8, {"groups": [{"groupId": g, "topics": None}]})["groups"][0]["topics"] for g in (a, b)))
    for version in (9, 10):
        fetch(k, "while it is away", version, a, (t, 0))
        commit(k, "while it is away", version, a, place(t, 0))
    new = k.topic()
    for g in (a, b):
        fetch(k, "new", 9, g, (new, 0))
        fetch(k, "new", 10, g, (new, 0))
        fetch(k, "old", 10, g, (t, 0))
        commit(k, "old id", 10, g, place(t, 0))
        commit(k, "new id", 10, g, place(new, 0))
        fetch(k, "new then", 10, g)


def case_offset_delete_by_topic(k):
    """Committed, never committed, beyond, unknown, doubled: each is answered."""
    t, u, g = k.topic(partitions=3), k.topic("u"), k.group()
    commit(k, "commit", 9, g, place(t, 0, 1), place(u, 0))
    delete(k, "no topics", g)
    delete(k, "no partitions", g, (t.name,))
    delete(k, "committed and not", g, (t.name, 0, 2))
    delete(k, "beyond", g, (t.name, 3, -1, MAX))
    delete(k, "unknown", g, (k.name("none"), 0), ("a/b", 0), ("", 0))
    delete(k, "partition twice", g, (t.name, 1, 1))
    fetch(k, "left", 8, g)
    delete(k, "the last one", g, (u.name, 0))
    k.call("group", "DescribeGroups", 6, {"groups": [g]})
    delete(k, "nothing left", g, (u.name, 0))


def case_offset_delete_by_group(k):
    """Unknown, nameless, of members of each type; with topics that are known and not."""
    t = k.topic()
    consumers, classic, other, raw = at_once(k, k.group("consumers")), k.group("classic"), k.group("other"), k.group("raw")
    k.send(HEARTBEAT, 1, joining(consumers, "m", t))
    assigned(k, classic, protocols=(("range", said(t)),))
    assigned(k, other, protocolType="sr")
    assigned(k, raw)
    u = k.topic("u")
    for g in (consumers, classic, other, raw):
        commit(k, "commit", 9, g, place(t, 0), place(u, 0))
    for label, g in (("none", k.name("none")), ("nameless", ""), ("consumers", consumers), ("classic", classic), ("other", other), ("raw", raw)):
        delete(k, f"{label} subscribed", g, (t.name, 0))
        delete(k, f"{label} not subscribed", g, (u.name, 0))
        delete(k, f"{label} both", g, (t.name, 0), (u.name, 0))
        delete(k, f"{label} unknown", g, (k.name("none"), 0))
        delete(k, f"{label} nothing", g)


def case_offset_delete_while_members_rebalance(k):
    """The subscriptions of a classic group count while it is preparing and completing, too."""
    t, u, g = k.topic(), k.topic("u"), k.group()
    member = k.send("JoinGroup", 3, classic_joining(g, protocols=(("range", said(t)),)))["memberId"]
    delete(k, "completing, subscribed", g, (t.name, 0))
    delete(k, "completing, not subscribed", g, (u.name, 0))
    k.send("SyncGroup", 3, syncing(g, 1, member, [(member, b"")]))
    k.connect("new").post("JoinGroup", 3, classic_joining(g, protocols=(("range", said(u)),)))
    k.until(lambda: k.send("Heartbeat", 3, {"groupId": g, "generationId": 1, "memberId": member})["errorCode"] == 27)
    delete(k, "preparing, subscribed", g, (t.name, 0))
    delete(k, "preparing, by the newcomer", g, (u.name, 0))
    k.send("LeaveGroup", 3, {"groupId": g, "members": [{"memberId": member}]})


def case_offset_delete_of_patterns(k):
    """A topic that an expression was resolved to is subscribed to."""
    t, u = k.topic(), k.topic("u")
    g = at_once(k, k.group())
    commit(k, "commit", 9, g, place(t, 0), place(u, 0))
    k.send(HEARTBEAT, 1, joining(g, "m", subscribedTopicNames=None, subscribedTopicRegex=t.name[:-1] + "[t]"))
    k.until(lambda: k.send(HEARTBEAT, 1, heartbeat(g, "m", 1))["memberEpoch"] == 2)
    delete(k, "both", g, (t.name, 0), (u.name, 0))
    fetch(k, "left", 8, g)
    k.send(HEARTBEAT, 1, heartbeat(g, "m", -1))
    delete(k, "when it left", g, (t.name, 0))
    fetch(k, "nothing left", 8, g)
