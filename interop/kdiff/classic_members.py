"""SyncGroup, Heartbeat, LeaveGroup and commits of classic members, one question a case (classic-and-consumer-groups.md 6.14 to 6.19, 7)."""

from classic import assigned, joining, syncing
from classic_joins import MAX, state, told, until_in

NAMED = {"protocolType": "consumer", "protocolName": "range"}
SYNCS = range(6)
BEATS = range(5)
LEAVES = range(6)


def sync(k, label, version, group, generation, member, assignments=(), **more):
    named = NAMED if version > 4 else {}
    return k.call(f"{label} v{version}", "SyncGroup", version, syncing(group, generation, member, assignments, **{**named, **more}))


def beat(k, label, version, group, generation, member, **more):
    return k.call(f"{label} v{version}", "Heartbeat", version, {"groupId": group, "generationId": generation, "memberId": member, **more})


def leave(k, label, version, group, *members):
    """Members are ids, or dicts."""
    members = [m if isinstance(m, dict) else {"memberId": m} for m in members]
    body = {"groupId": group, **members[0]} if version < 3 else {"groupId": group, "members": members}
    return k.call(f"{label} v{version}", "LeaveGroup", version, body)


def preparing(k, group, clients=1, **more):
    """A group whose members are called because somebody new waits; that one's pending join too."""
    generation, members = assigned(k, group, clients, **more)
    parked = k.connect("new").post("JoinGroup", 3, joining(group, protocols=(("range", b"new"),)))
    until_in(k, group, "PreparingRebalance", clients + 1)
    return generation, members, parked


def case_classic_sync_of_the_leader_by_version(k):
    for version in SYNCS:
        g = k.group(f"g{version}")
        member = k.send("JoinGroup", 3, joining(g))["memberId"]
        sync(k, "before a leader", version, g, 1, "nobody")
        sync(k, "leader", version, g, 1, member, [(member, b"mine")])
        sync(k, "again, another assignment", version, g, 1, member, [(member, b"other")])
        state(k, f"state v{version}", g)


def case_classic_sync_of_strangers(k):
    """Who the leader gives something and is no member; who it forgets."""
    for version in SYNCS:
        g = k.group(f"g{version}")
        member = k.send("JoinGroup", 3, joining(g))["memberId"]
        sync(k, "leader", version, g, 1, member, [("nobody", b"lost"), ("", b"empty")])
        state(k, f"state v{version}", g)


def case_classic_sync_given_twice(k):
    """A member that is named twice by the leader."""
    for version in SYNCS:
        g = k.group(f"g{version}")
        member = k.send("JoinGroup", 3, joining(g))["memberId"]
        sync(k, "leader", version, g, 1, member, [(member, b"first"), (member, b"second")])


def case_classic_sync_waits_for_the_leader(k):
    """Followers wait; what they send as assignment means nothing."""
    for version in SYNCS:
        g = k.group(f"g{version}")
        _, (first, second) = assigned(k, g, clients=2)
        parked = k.connect("c1").post("JoinGroup", 5, joining(g, first))
        until_in(k, g, "PreparingRebalance")
        generation = k.send("JoinGroup", 5, joining(g, second))["generationId"]
        parked.result(10)
        named = NAMED if version > 4 else {}
        waiting = k.connect("c2").post("SyncGroup", version, syncing(g, generation, second, [(second, b"wish")], **named))
        k.step(f"waits v{version}", waiting.waits(0.2))
        beat(k, f"meanwhile {version}", 3, g, generation, second)
        sync(k, "leader", version, g, generation, first, [(first, b"one"), (second, b"two")])
        k.step(f"follower v{version}", waiting.result(10))


def case_classic_sync_ends_by_a_join(k):
    """A parked sync ends when somebody joins meanwhile."""
    for version in SYNCS:
        g = k.group(f"g{version}")
        _, (first, second) = assigned(k, g, clients=2)
        parked = k.connect("c1").post("JoinGroup", 5, joining(g, first))
        until_in(k, g, "PreparingRebalance")
        generation = k.send("JoinGroup", 5, joining(g, second))["generationId"]
        parked.result(10)
        named = NAMED if version > 4 else {}
        waiting = k.connect("c2").post("SyncGroup", version, syncing(g, generation, second, **named))
        k.step(f"waits v{version}", waiting.waits(0.2))
        k.connect("c3").post("JoinGroup", 3, joining(g))
        k.step(f"follower v{version}", waiting.result(10))
        sync(k, "leader", version, g, generation, first, [(first, b"one"), (second, b"two")])


def case_classic_sync_ends_by_a_leave(k):
    """A parked sync ends when another member leaves."""
    g = k.group()
    _, (first, second) = assigned(k, g, clients=2)
    parked = k.connect("c1").post("JoinGroup", 5, joining(g, first))
    until_in(k, g, "PreparingRebalance")
    generation = k.send("JoinGroup", 5, joining(g, second))["generationId"]
    parked.result(10)
    waiting = k.connect("c2").post("SyncGroup", 3, syncing(g, generation, second))
    k.step("waits", waiting.waits(0.2))
    leave(k, "leader", 3, g, first)
    k.step("follower", waiting.result(10))
    told(k, "alone", k.send("JoinGroup", 5, joining(g, second)))


def case_classic_sync_while_preparing(k):
    for version in SYNCS:
        g = k.group(f"g{version}")
        generation, (member,), _ = preparing(k, g)
        sync(k, "its generation", version, g, generation, member)
        sync(k, "the next one", version, g, generation + 1, member)
        sync(k, "nobody", version, g, generation, "nobody")


def case_classic_sync_generations(k):
    """Every generation but the right one."""
    g = k.group()
    generation, (member,) = assigned(k, g)
    for version in SYNCS:
        for other in (-MAX - 1, -1, 0, generation - 1, generation + 1, MAX):
            sync(k, f"{other}", version, g, other, member)


def case_classic_sync_protocols(k):
    """Type and name are checked from version 5, the parts that are there, before anything of the group."""
    t, g = k.topic(), k.group()
    generation, (member,) = assigned(k, g, protocolType="sr", protocols=(("v0", b"url"),))
    for type in (None, "", "sr", "SR", "consumer"):
        for name in (None, "", "v0", "v1"):
            sync(k, f"{type!r} {name!r}", 5, g, generation, member, protocolType=type, protocolName=name)
    sync(k, "no group, no type", 5, "", generation, member, protocolType=None)
    sync(k, "unknown group, no name", 5, k.group("none"), generation, member, protocolName=None)
    sync(k, "unknown member, other type", 5, g, generation, "nobody")
    sync(k, "other generation, other type", 5, g, generation + 1, member)


def case_classic_sync_large_assignment(k):
    """200 kB for one member."""
    for version in (0, 3, 5):
        g = k.group(f"g{version}")
        member = k.send("JoinGroup", 3, joining(g))["memberId"]
        named = NAMED if version > 4 else {}
        answer = k.send("SyncGroup", version, syncing(g, 1, member, [(member, b"x" * 200_000)], **named))
        k.step(f"v{version}", [answer["errorCode"], len(answer["assignment"])])


def case_classic_sync_of_other_types(k):
    """Groups that are no classic ones."""
    t, consumers, simple = k.topic(), k.group("consumers"), k.group("simple")
    k.send("ConsumerGroupHeartbeat", 1, {"groupId": consumers, "memberId": "m", "memberEpoch": 0, "rebalanceTimeoutMs": 60000, "topicPartitions": [],
                                         "subscribedTopicNames": [t.name]})
    k.send("OffsetCommit", 8, {"groupId": simple, "generationIdOrMemberEpoch": -1, "topics": [
        {"name": t.name, "partitions": [{"partitionIndex": 0, "committedOffset": 7}]}]})
    for version in SYNCS:
        for label, group in (("consumers", consumers), ("simple", simple), ("none", k.name("none")), ("nameless", "")):
            sync(k, label, version, group, 1, "m")
            if version in BEATS:
                beat(k, f"beat of {label}", version, group, 1, "m")


def case_classic_heartbeat_states(k):
    """What a member hears in each state."""
    for version in BEATS:
        g = k.group(f"g{version}")
        member = k.send("JoinGroup", 3, joining(g))["memberId"]
        beat(k, "completing", version, g, 1, member)
        k.send("SyncGroup", 3, syncing(g, 1, member, [(member, b"mine")]))
        beat(k, "stable", version, g, 1, member)
        k.connect("new").post("JoinGroup", 3, joining(g))
        until_in(k, g, "PreparingRebalance", 2)
        beat(k, "preparing", version, g, 1, member)
        beat(k, "preparing, next generation", version, g, 2, member)


def case_classic_heartbeat_of_an_empty_group(k):
    for version in BEATS:
        g = k.group(f"g{version}")
        generation, (member,) = assigned(k, g)
        leave(k, "leave", 3, g, member)
        beat(k, "of the past", version, g, generation, member)
        beat(k, "of the present", version, g, generation + 1, member)
        beat(k, "nobody", version, g, generation, "")


def case_classic_heartbeat_generations(k):
    g = k.group()
    generation, (member,) = assigned(k, g)
    for version in BEATS:
        for other in (-MAX - 1, -1, 0, generation - 1, generation, generation + 1, MAX):
            beat(k, f"{other}", version, g, other, member)
        beat(k, "no id", version, g, generation, "")
        beat(k, "other case", version, g, generation, member.upper())


def case_classic_leave_of_groups(k):
    """Groups that are not there, that are empty, or of another type."""
    t, consumers, simple = k.topic(), k.group("consumers"), k.group("simple")
    k.send("ConsumerGroupHeartbeat", 1, {"groupId": consumers, "memberId": "m", "memberEpoch": 0, "rebalanceTimeoutMs": 60000, "topicPartitions": [],
                                         "subscribedTopicNames": [t.name]})
    k.send("OffsetCommit", 8, {"groupId": simple, "generationIdOrMemberEpoch": -1, "topics": [
        {"name": t.name, "partitions": [{"partitionIndex": 0, "committedOffset": 7}]}]})
    for version in LEAVES:
        for label, group in (("consumers, nobody", consumers), ("simple", simple), ("none", k.name("none")), ("nameless", "")):
            leave(k, label, version, group, "nobody")


def case_classic_leave_many(k):
    """Known, unknown, doubled and nameless ones in one request."""
    for version in (3, 4, 5):
        g = k.group(f"g{version}")
        _, (first, second) = assigned(k, g, clients=2)
        leave(k, "many", version, g, second, "nobody", second, "", {"memberId": "", "groupInstanceId": "i"}, {"memberId": first, "groupInstanceId": "i"})
        until_in(k, g, "PreparingRebalance", 1)
        leave(k, "the other", version, g, first)
        state(k, f"state v{version}", g)


def case_classic_leave_reasons(k):
    for number, reason in enumerate((None, "", "because", "r" * 256, "r" * 20000)):
        g = k.group(f"g{number}")
        _, (member,) = assigned(k, g)
        leave(k, f"reason {number}", 5, g, {"memberId": member, "reason": reason})
        state(k, f"state {number}", g)


def case_classic_leave_while_completing(k):
    """The only member goes before it synced."""
    for version in LEAVES:
        g = k.group(f"g{version}")
        member = k.send("JoinGroup", 3, joining(g))["memberId"]
        leave(k, "leave", version, g, member)
        state(k, f"state v{version}", g)
        sync(k, f"late {version}", 3, g, 1, member)


def case_classic_leave_while_it_joins(k):
    """The join of one that leaves ends, and those that wait for it go on."""
    for version in LEAVES:
        g = k.group(f"g{version}")
        _, (first, second) = assigned(k, g, clients=2)
        parked = k.connect("c1").post("JoinGroup", 5, joining(g, first))
        until_in(k, g, "PreparingRebalance")
        leave(k, "leader", version, g, first)
        k.step(f"its join v{version}", parked.result(10))
        told(k, f"other v{version}", k.send("JoinGroup", 5, joining(g, second)))


def case_classic_leave_is_awaited(k):
    """The one that everybody waits for leaves."""
    for version in LEAVES:
        g = k.group(f"g{version}")
        _, (first, second) = assigned(k, g, clients=2)
        parked = k.connect("c1").post("JoinGroup", 5, joining(g, first))
        until_in(k, g, "PreparingRebalance")
        leave(k, "follower", version, g, second)
        told(k, f"leader v{version}", parked.result(10))


def case_classic_leave_of_the_leader(k):
    """The next one leads."""
    g = k.group()
    generation, (first, second) = assigned(k, g, clients=2)
    leave(k, "leader", 3, g, first)
    beat(k, "second", 3, g, generation, second)
    answer = k.send("JoinGroup", 5, joining(g, second))
    k.step("leads", [answer["errorCode"], answer["leader"] == second, len(answer["members"])])


def static(k, group, instance="i", version=5, **more):
    """A static member of a stable group of one."""
    answer = k.send("JoinGroup", version, joining(group, groupInstanceId=instance, **more))
    member, generation = answer["memberId"], answer["generationId"]
    k.send("SyncGroup", 3, syncing(group, generation, member, [(member, b"mine")], groupInstanceId=instance))
    return generation, member


def case_classic_static_identity(k):
    """Each pair of member and instance id, asked by each API that takes both."""
    t, g = k.topic(), k.group()
    generation, member = static(k, g)
    for label, id, instance in (("right", member, "i"), ("no instance", member, None), ("other instance", member, "j"), ("empty instance", member, ""),
                                ("other id", "nobody", "i"), ("no id", "", "i"), ("neither", "nobody", "j"), ("nobody", "nobody", None)):
        who = {"groupInstanceId": instance}
        for version in (3, 4):
            beat(k, label, version, g, generation, id, **who)
            sync(k, label, version, g, generation, id, **who)
        sync(k, label, 5, g, generation, id, **who)
        for version in (7, 8, 9):
            k.call(f"commit {label} v{version}", "OffsetCommit", version, {
                "groupId": g, "generationIdOrMemberEpoch": generation, "memberId": id, **who, "topics": [
                    {"name": t.name, "partitions": [{"partitionIndex": 0, "committedOffset": 5}]}]})


def case_classic_static_fencing_comes_first(k):
    """A fenced member hears that it is fenced, also with an old generation."""
    g = k.group()
    generation, member = static(k, g)
    for version in (3, 4):
        beat(k, "old generation, fenced", version, g, generation - 1, "nobody", groupInstanceId="i")
        beat(k, "old generation, unknown instance", version, g, generation - 1, member, groupInstanceId="j")
        beat(k, "old generation", version, g, generation - 1, member, groupInstanceId="i")


def case_classic_static_replaced_by_version(k):
    """A static member alone comes back: what each version hears, before and after the change of 9."""
    for version in range(5, 10):
        g = k.group(f"g{version}")
        generation, old = static(k, g)
        answer = k.call(f"back v{version}", "JoinGroup", version, joining(g, groupInstanceId="i"))
        sync(k, f"sync {version}", 3, g, answer["generationId"], answer["memberId"], groupInstanceId="i")
        beat(k, f"old {version}", 3, g, generation, old, groupInstanceId="i")
        beat(k, f"old without instance {version}", 3, g, generation, old)
        state(k, f"state v{version}", g)


def case_classic_static_replaced_with_other_protocols(k):
    """Another protocol begins a new generation; more metadata of the same one does not."""
    for version in (5, 9):
        for label, protocols in (("other", (("sticky", b"s"),)), ("metadata", (("range", b"changed"),)), ("more", (("range", b"meta"), ("sticky", b"s")))):
            g = k.group(f"{label}{version}")
            static(k, g)
            k.call(f"{label} v{version}", "JoinGroup", version, joining(g, groupInstanceId="i", protocols=protocols))
            state(k, f"{label} then v{version}", g)


def case_classic_static_replaced_while_completing(k):
    for version in (5, 9):
        g = k.group(f"g{version}")
        k.send("JoinGroup", 5, joining(g, groupInstanceId="i"))
        k.call(f"back v{version}", "JoinGroup", version, joining(g, groupInstanceId="i"))
        state(k, f"state v{version}", g)


def case_classic_static_replaced_while_preparing(k):
    """The one that is awaited comes under another id."""
    for version in (5, 9):
        g = k.group(f"g{version}")
        generation, old = static(k, g)
        parked = k.connect("new").post("JoinGroup", 3, joining(g, protocols=(("range", b"new"),)))
        until_in(k, g, "PreparingRebalance", 2)
        told(k, f"back v{version}", k.send("JoinGroup", version, joining(g, groupInstanceId="i")))
        told(k, f"new v{version}", parked.result(10))
        beat(k, f"old {version}", 3, g, generation, old, groupInstanceId="i")


def case_classic_static_replaced_while_it_joins(k):
    """The parked join of the former one is fenced."""
    for version in (5, 9):
        g = k.group(f"g{version}")
        _, old = static(k, g)
        k.connect("new").post("JoinGroup", 3, joining(g))
        until_in(k, g, "PreparingRebalance", 2)
        # The newcomer's join is over when the old one joins, so a third one keeps the group waiting.
        id = k.send("JoinGroup", 5, joining(g))["memberId"]
        parked = k.connect("old").post("JoinGroup", version, joining(g, old, groupInstanceId="i"))
        k.step(f"waits v{version}", parked.waits(0.2))
        k.connect("back").post("JoinGroup", version, joining(g, groupInstanceId="i"))
        k.step(f"old v{version}", parked.result(10))
        leave(k, f"third {version}", 3, g, id)


def case_classic_static_leader_of_two(k):
    """The leader of two comes back: it is told what it need not do."""
    for version in (5, 8, 9):
        g = k.group(f"g{version}")
        generation, first = static(k, g)
        parked = k.connect("two").post("JoinGroup", 5, joining(g, groupInstanceId="two"))
        until_in(k, g, "PreparingRebalance", 2)
        generation = k.send("JoinGroup", 5, joining(g, first, groupInstanceId="i"))["generationId"]
        second = parked.result(10)["memberId"]
        k.send("SyncGroup", 3, syncing(g, generation, first, [(first, b"one"), (second, b"two")], groupInstanceId="i"))
        leader = k.call(f"leader v{version}", "JoinGroup", version, joining(g, groupInstanceId="i"))
        sync(k, f"sync of the leader {version}", 3, g, generation, leader["memberId"], [(second, b"stolen")], groupInstanceId="i")
        follower = k.call(f"follower v{version}", "JoinGroup", version, joining(g, groupInstanceId="two"))
        sync(k, f"sync of the follower {version}", 3, g, generation, follower["memberId"], groupInstanceId="two")
        state(k, f"state v{version}", g)


def case_classic_static_leave(k):
    """By instance, by both, by the wrong pairs, doubled."""
    for version in (3, 4, 5):
        g = k.group(f"g{version}")
        _, member = static(k, g)
        leave(k, "wrong", version, g, {"memberId": member, "groupInstanceId": "j"}, {"memberId": "nobody", "groupInstanceId": "i"},
              {"memberId": "", "groupInstanceId": "j"}, {"memberId": "", "groupInstanceId": ""})
        state(k, f"still v{version}", g)
        leave(k, "doubled", version, g, {"memberId": "", "groupInstanceId": "i"}, {"memberId": member, "groupInstanceId": "i"})
        state(k, f"gone v{version}", g)
        k.call(f"back v{version}", "JoinGroup", 5, joining(g, groupInstanceId="i"))


def case_classic_static_leave_by_old_versions(k):
    """Versions that know no instances take a static member away by its id."""
    for version in (0, 1, 2):
        g = k.group(f"g{version}")
        _, member = static(k, g)
        leave(k, "by id", version, g, member)
        state(k, f"state v{version}", g)


def case_classic_static_instances_of_two_groups(k):
    """An instance id means something in its group only; another one may use the name of a member."""
    a, b = k.group("a"), k.group("b")
    generation, first = static(k, a)
    other, second = static(k, b)
    beat(k, "a in b", 3, b, other, first, groupInstanceId="i")
    beat(k, "b in a", 3, a, generation, second, groupInstanceId="i")
    beat(k, "a", 3, a, generation, first, groupInstanceId="i")


def commit_all(k, label, topic, group, generation, member, versions=(2, 4, 5, 6, 7, 8, 9, 10)):
    for version in versions:
        k.call(f"{label} v{version}", "OffsetCommit", version, {
            "groupId": group, "generationIdOrMemberEpoch": generation, "memberId": member, "topics": [
                {"name": topic.name, "topicId": topic.id, "partitions": [{"partitionIndex": 0, "committedOffset": version}]}]})


def case_classic_commit_by_state(k):
    """Commits of a member, of nobody and of no name in each state, by each version."""
    t, g = k.topic(), k.group()
    member = k.send("JoinGroup", 3, joining(g))["memberId"]
    who = (("member", 1, member), ("next", 2, member), ("nobody", 1, "nobody"), ("nameless", -1, ""), ("member without generation", -1, member))
    for label, generation, id in who:
        commit_all(k, f"completing, {label}", t, g, generation, id)
    k.send("SyncGroup", 3, syncing(g, 1, member, [(member, b"mine")]))
    for label, generation, id in who:
        commit_all(k, f"stable, {label}", t, g, generation, id)
    k.connect("new").post("JoinGroup", 3, joining(g))
    until_in(k, g, "PreparingRebalance", 2)
    for label, generation, id in who:
        commit_all(k, f"preparing, {label}", t, g, generation, id)


def case_classic_commit_by_empty_groups(k):
    """Commits to a group that all have left."""
    t, g = k.topic(), k.group()
    generation, (member,) = assigned(k, g)
    leave(k, "leave", 3, g, member)
    for label, number, id in (("member", generation, member), ("present", generation + 1, member), ("nameless", -1, ""), ("name only", -1, "nobody"),
                              ("generation only", generation + 1, ""), ("zero", 0, "")):
        commit_all(k, label, t, g, number, id)


def case_classic_fetch_by_members(k):
    """A classic group does not ask who fetches."""
    t, g = k.topic(partitions=2), k.group()
    generation, (member,) = assigned(k, g)
    commit_all(k, "commit", t, g, generation, member, (9,))
    for version in (9, 10):
        for label, epoch, id in (("member", generation, member), ("other", 99, member), ("nobody", 1, "nobody"), ("nameless", -1, ""), ("none", -1, None)):
            for stable in (False, True):
                k.call(f"{label} {stable} v{version}", "OffsetFetch", version, {"requireStable": stable, "groups": [
                    {"groupId": g, "memberId": id, "memberEpoch": epoch, "topics": [
                        {"name": t.name, "topicId": t.id, "partitionIndexes": [0, 1, 9]}]}]})
