"""JoinGroup: versions, ids, protocols, sizes and states, one question a case (classic-and-consumer-groups.md 6.3 to 6.13)."""

from classic import assigned, joining, syncing

VERSIONS = range(10)
# Where the answers change: ids are demanded from 4, instances known from 5, the type told from 7, reasons from 8, 9 says what to skip.
EDGES = (0, 1, 3, 4, 5, 6, 7, 8, 9)
MAX = 2**31 - 1


def join(k, label, version, group, member="", conn=None, **more):
    """Asks, and once more with the id that the broker gave, if it did. The last answer."""
    answer = k.call(f"{label} v{version}", "JoinGroup", version, joining(group, member, **more), conn=conn)
    if answer["errorCode"] == 79:
        answer = k.call(f"{label} with id v{version}", "JoinGroup", version, joining(group, answer["memberId"], **more), conn=conn)
    return answer


def state(k, label, group, version=5):
    k.call(label, "DescribeGroups", version, {"groups": [group]})


def until_in(k, group, wanted, members=None):
    """Waits for the state, and for so many members."""
    def there():
        found = k.send("DescribeGroups", 5, {"groups": [group]})["groups"][0]
        return found["groupState"] == wanted and members in (None, len(found["members"]))
    k.until(there)


def told(k, label, answer):
    """What a member hears, without the list of members, whose order is the broker's."""
    k.step(label, {**answer, "members": sorted(m["metadata"].decode() for m in answer["members"])})


def case_classic_join_session_edges(k):
    """The shortest and the longest session that is allowed, and one beyond each."""
    for version in EDGES:
        for session in (0, -1, 5999, 6000, 1800000, 1800001, MAX):
            k.call(f"{session} v{version}", "JoinGroup", version, joining(k.group(f"{session}-{version}"), sessionTimeoutMs=session))


def case_classic_join_rebalance_timeouts(k):
    """Any time to rebalance is taken."""
    for version in (1, 3, 5, 9):
        for timeout in (1, 10000, 1800001, MAX):
            answer = join(k, f"{timeout}", version, k.group(f"{timeout}-{version}"), rebalanceTimeoutMs=timeout)
            k.step(f"{timeout} v{version} joined", answer["generationId"])


def case_classic_join_group_ids(k):
    """Names of groups are free, but for the empty one."""
    k.group()
    for version in EDGES:
        k.call(f"empty v{version}", "JoinGroup", version, joining("", "m"))
    for number, odd in enumerate((" ", "a/b", "ü\U0001F600", "x" * 250, "\u0000", "a\nb", "..", "x" * 30000)):
        g = k.group(odd)
        answer = join(k, f"name {number}", 5, g)
        k.call(f"sync {number}", "SyncGroup", 3, syncing(g, answer["generationId"], answer["memberId"], [(answer["memberId"], b"all")]))
        state(k, f"state {number}", g)


def case_classic_join_client_ids(k):
    """A member id begins with the client's name."""
    for number, client in enumerate(("", " ", "a-b", "ü", "c" * 300)):
        connection = k.connect(client)
        for version in (3, 5):
            answer = join(k, f"client {number}", version, k.group(f"{number}-{version}"), conn=connection)
            made = answer["memberId"]
            k.step(f"prefix {number} v{version}", [made[:-37], len(made[-36:])])
            state(k, f"state {number} v{version}", k.name(f"{number}-{version}"))


def case_classic_join_instance_ids(k):
    """Names of instances, also odd ones."""
    for number, instance in enumerate((" ", "a/b", "ü", "..", "i" * 249, "i" * 250)):
        g = k.group(f"g{number}")
        answer = join(k, f"instance {number}", 5, g, groupInstanceId=instance)
        k.step(f"prefix {number}", answer["memberId"][:-37])
        state(k, f"state {number}", g)


def case_classic_join_without_instance_name(k):
    """An instance id that is there and empty."""
    for version in (5, 7, 9):
        g = k.group(f"g{version}")
        answer = k.call(f"join v{version}", "JoinGroup", version, joining(g, groupInstanceId=""))
        k.step(f"prefix v{version}", answer["memberId"][:-37] if answer["memberId"] else "")


def case_classic_join_reasons(k):
    """Why somebody joins is only logged."""
    for number, reason in enumerate((None, "", "because", "r" * 256, "r" * 20000)):
        for version in (8, 9):
            join(k, f"reason {number}", version, k.group(f"{number}-{version}"), reason=reason)


def case_classic_join_many_protocols(k):
    """A hundred protocols, the first of which is chosen."""
    protocols = tuple((f"p{i}", b"m%d" % i) for i in range(100))
    for version in EDGES:
        g = k.group(f"g{version}")
        answer = join(k, "many", version, g, protocols=protocols)
        k.send("SyncGroup", 3, syncing(g, answer["generationId"], answer["memberId"]))
        state(k, f"state v{version}", g)


def case_classic_join_doubled_protocols(k):
    """A protocol that is named twice."""
    for version in EDGES:
        g = k.group(f"g{version}")
        answer = join(k, "twice", version, g, protocols=(("a", b"first"), ("b", b"b"), ("a", b"second")))
        k.send("SyncGroup", 3, syncing(g, answer["generationId"], answer["memberId"]))
        state(k, f"state v{version}", g)


def case_classic_join_nameless_protocol(k):
    """The empty name is one."""
    for version in EDGES:
        g = k.group(f"g{version}")
        answer = join(k, "nameless", version, g, protocols=(("", b"m"),))
        k.call(f"sync v{version}", "SyncGroup", 3, syncing(g, answer["generationId"], answer["memberId"]))
        state(k, f"state v{version}", g)


def case_classic_join_large_metadata(k):
    """Metadata of 300 kB comes back as it was."""
    for version in (0, 5, 9):
        g = k.group(f"g{version}")
        answer = k.send("JoinGroup", version, joining(g, protocols=(("range", b"x" * 300_000),)))
        if version > 3:
            answer = k.send("JoinGroup", version, joining(g, answer["memberId"], protocols=(("range", b"x" * 300_000),)))
        k.step(f"v{version}", [answer["errorCode"], [len(m["metadata"]) for m in answer["members"]]])


def case_classic_join_empty_metadata(k):
    for version in EDGES:
        g = k.group(f"g{version}")
        answer = join(k, "empty", version, g, protocols=(("range", b""),))
        k.call(f"sync v{version}", "SyncGroup", 3, syncing(g, answer["generationId"], answer["memberId"], [(answer["memberId"], b"")]))
        state(k, f"state v{version}", g)


def case_classic_join_missing_parts(k):
    """No type, no protocols, neither: of a new group and of one that is there."""
    for version in EDGES:
        g = k.group(f"new{version}")
        for label, more in (("type", {"protocolType": ""}), ("protocols", {"protocols": ()}), ("both", {"protocolType": "", "protocols": ()})):
            k.call(f"new, no {label} v{version}", "JoinGroup", version, joining(g, **more))
        state(k, f"new v{version}", g)
        g = k.group(f"old{version}")
        _, (member,) = assigned(k, g)
        for label, more in (("type", {"protocolType": ""}), ("protocols", {"protocols": ()}), ("both", {"protocolType": "", "protocols": ()})):
            k.call(f"old, no {label} v{version}", "JoinGroup", version, joining(g, **more))
            k.call(f"its member, no {label} v{version}", "JoinGroup", version, joining(g, member, **more))
        state(k, f"old v{version}", g)


def case_classic_join_other_types(k):
    """Who comes with another type than the group's, as a stranger, as a member, in each version."""
    for version in EDGES:
        g = k.group(f"g{version}")
        _, (member,) = assigned(k, g, protocolType="connect")
        for type in ("consumer", "Connect", "connect "):
            k.call(f"stranger {type!r} v{version}", "JoinGroup", version, joining(g, protocolType=type))
            k.call(f"nobody {type!r} v{version}", "JoinGroup", version, joining(g, "nobody", protocolType=type))
            k.call(f"member {type!r} v{version}", "JoinGroup", version, joining(g, member, protocolType=type))
        state(k, f"state v{version}", g)


def case_classic_join_type_of_an_empty_group(k):
    """When all have left, another type may take the group over."""
    for version in (0, 4, 7, 9):
        g = k.group(f"g{version}")
        _, (member,) = assigned(k, g, protocolType="connect")
        k.send("LeaveGroup", 3, {"groupId": g, "members": [{"memberId": member}]})
        state(k, f"left v{version}", g)
        join(k, "other", version, g, protocolType="consumer")
        state(k, f"taken v{version}", g)


def case_classic_join_incompatible(k):
    """A newcomer must know a protocol that all others know."""
    for version in EDGES:
        g = k.group(f"g{version}")
        assigned(k, g, protocols=(("a", b"a"), ("b", b"b")))
        for names in ("c", "cd", "A"):
            k.call(f"{names} v{version}", "JoinGroup", version, joining(g, protocols=tuple((n, b"") for n in names)))
        state(k, f"state v{version}", g)


def case_classic_join_narrows(k):
    """A second member knows less; the choice follows, and the one that knows only the rest is refused."""
    g = k.group()
    both = (("a", b"a1"), ("b", b"b1"))
    _, (first,) = assigned(k, g, protocols=both)
    state(k, "one", g)
    parked = k.connect("c2").post("JoinGroup", 3, joining(g, protocols=(("b", b"b2"),)))
    until_in(k, g, "PreparingRebalance", 2)
    k.call("only a", "JoinGroup", 3, joining(g, protocols=(("a", b"a3"),)))
    told(k, "leader", k.send("JoinGroup", 5, joining(g, first, protocols=both)))
    told(k, "follower", parked.result(10))
    k.call("only a, later", "JoinGroup", 3, joining(g, protocols=(("a", b"a3"),)))


def case_classic_join_unknown_ids(k):
    """Ids that nobody was given: of a new group, of an empty one, of one with members."""
    for version in EDGES:
        g = k.group(f"g{version}")
        k.call(f"new v{version}", "JoinGroup", version, joining(g, "nobody"))
        state(k, f"is not there v{version}", g, 6)
        _, (member,) = assigned(k, g)
        for id in ("nobody", member.upper(), member + " ", "m" * 5000):
            answer = k.send("JoinGroup", version, joining(g, id))
            k.step(f"of members {len(id) > 100} v{version}", {**answer, "memberId": answer["memberId"] == id})
        k.send("LeaveGroup", 3, {"groupId": g, "members": [{"memberId": member}]})
        k.call(f"of an empty one v{version}", "JoinGroup", version, joining(g, member))
        k.call(f"nobody of an empty one v{version}", "JoinGroup", version, joining(g, "nobody"))


def case_classic_join_pending_everywhere(k):
    """An id that was given out and not used yet: what each API says to it."""
    t, g = k.topic(), k.group()
    id = k.send("JoinGroup", 5, joining(g))["memberId"]
    state(k, "not shown", g)
    for version in (0, 3, 4):
        k.call(f"heartbeat v{version}", "Heartbeat", version, {"groupId": g, "generationId": 0, "memberId": id})
    for version in (0, 3, 5):
        both = {"protocolType": "consumer", "protocolName": "range"} if version > 4 else {}
        k.call(f"sync v{version}", "SyncGroup", version, syncing(g, 0, id, **both))
    place = [{"name": t.name, "topicId": t.id, "partitions": [{"partitionIndex": 0, "committedOffset": 5}]}]
    for version in (2, 7, 9, 10):
        for generation in (-1, 0, 1):
            k.call(f"commit {generation} v{version}", "OffsetCommit", version, {
                "groupId": g, "generationIdOrMemberEpoch": generation, "memberId": id, "topics": place})
    k.call("delete", "DeleteGroups", 2, {"groupsNames": [g]})
    k.call("delete again", "DeleteGroups", 2, {"groupsNames": [g]})
    k.call("join then", "JoinGroup", 5, joining(g, id))


def case_classic_join_pending_of_another_group(k):
    """Ids are good in the group that gave them."""
    a, b = k.group("a"), k.group("b")
    id = k.send("JoinGroup", 5, joining(a))["memberId"]
    other = k.send("JoinGroup", 5, joining(b))["memberId"]
    k.call("b with an id of a", "JoinGroup", 5, joining(b, id))
    k.call("a with its id", "JoinGroup", 5, joining(a, id))
    k.call("b with its id", "JoinGroup", 5, joining(b, other))


def case_classic_join_pending_with_an_old_version(k):
    """The id of a new version is used by an old one, and the other way round."""
    for asks, joins in ((4, 0), (9, 3), (4, 9), (5, 6)):
        g = k.group(f"{asks}-{joins}")
        id = k.call(f"asks v{asks}", "JoinGroup", asks, joining(g))["memberId"]
        k.call(f"joins v{joins}", "JoinGroup", joins, joining(g, id))
        state(k, f"state {asks} {joins}", g)


def case_classic_join_pending_with_other_protocols(k):
    """What was said when the id was asked for does not bind."""
    g = k.group()
    id = k.send("JoinGroup", 5, joining(g, protocols=(("a", b"a"),)))["memberId"]
    k.call("nothing in common", "JoinGroup", 5, joining(g, id, protocols=()))
    k.call("another protocol", "JoinGroup", 5, joining(g, id, protocols=(("b", b"b"),), protocolType="sr"))
    state(k, "state", g)


def case_classic_join_waits_for_a_pending_member(k):
    """A rebalance is not over while an id is given out; it is when the member joined."""
    g = k.group()
    generation, (first,) = assigned(k, g)
    id = k.send("JoinGroup", 5, joining(g))["memberId"]
    parked = k.connect("c1").post("JoinGroup", 5, joining(g, first))
    k.step("waits", parked.waits(0.3))
    state(k, "while it waits", g)
    k.call("old generation", "Heartbeat", 3, {"groupId": g, "generationId": generation, "memberId": first})
    late = k.send("JoinGroup", 5, joining(g, id))
    told(k, "leader", parked.result(10))
    told(k, "late one", late)


def case_classic_join_pending_member_leaves(k):
    """The same, and the one that is awaited leaves."""
    g = k.group()
    _, (first,) = assigned(k, g)
    id = k.send("JoinGroup", 5, joining(g))["memberId"]
    parked = k.connect("c1").post("JoinGroup", 5, joining(g, first))
    until_in(k, g, "PreparingRebalance")
    k.call("leave", "LeaveGroup", 3, {"groupId": g, "members": [{"memberId": id}]})
    k.step("leader", parked.result(10))
    k.call("too late", "JoinGroup", 5, joining(g, id))


def case_classic_join_leader_again(k):
    """A leader that joins again begins a new generation, whatever it says."""
    for version in EDGES:
        g = k.group(f"g{version}")
        generation, (member,) = assigned(k, g)
        for times in range(2):
            k.call(f"again {times} v{version}", "JoinGroup", version, joining(g, member))
        state(k, f"state v{version}", g)
        k.call(f"old heartbeat v{version}", "Heartbeat", 3, {"groupId": g, "generationId": generation, "memberId": member})


def case_classic_join_follower_again(k):
    """A follower that says the same is answered at once, in each version; other timeouts are nothing new."""
    g = k.group()
    generation, (first, second) = assigned(k, g, clients=2)
    for version in EDGES:
        k.call(f"same v{version}", "JoinGroup", version, joining(g, second))
        k.call(f"other times v{version}", "JoinGroup", version, joining(g, second, sessionTimeoutMs=20000, rebalanceTimeoutMs=7))
    k.step("generation", generation)
    k.call("still", "Heartbeat", 3, {"groupId": g, "generationId": generation, "memberId": first})


def case_classic_join_follower_changes(k):
    """A follower that says something else calls everybody."""
    for number, protocols in enumerate(((("range", b"other"),), (("range", b"meta"), ("more", b"")))):
        g = k.group(f"g{number}")
        generation, (first, second) = assigned(k, g, clients=2)
        parked = k.connect("c1").post("JoinGroup", 5, joining(g, second, protocols=protocols))
        until_in(k, g, "PreparingRebalance")
        k.call(f"called {number}", "Heartbeat", 3, {"groupId": g, "generationId": generation, "memberId": first})
        k.call(f"sync {number}", "SyncGroup", 3, syncing(g, generation, first))
        told(k, f"leader {number}", k.send("JoinGroup", 5, joining(g, first)))
        told(k, f"follower {number}", parked.result(10))


def case_classic_join_while_completing(k):
    """Members that join again before the leader gave out the assignment: the same, and something else."""
    for version in EDGES:
        g = k.group(f"g{version}")
        member = k.send("JoinGroup", 3, joining(g))["memberId"]
        k.call(f"same v{version}", "JoinGroup", version, joining(g, member))
        k.call(f"same again v{version}", "JoinGroup", version, joining(g, member, sessionTimeoutMs=7000))
        state(k, f"state v{version}", g)
        k.call(f"other v{version}", "JoinGroup", version, joining(g, member, protocols=(("range", b"other"),)))
        state(k, f"state then v{version}", g)


def case_classic_join_follower_while_completing(k):
    """A follower that asks again gets no members."""
    g = k.group()
    _, (first, second) = assigned(k, g, clients=2)
    parked = k.connect("c1").post("JoinGroup", 5, joining(g, first))
    until_in(k, g, "PreparingRebalance")
    follower = k.send("JoinGroup", 5, joining(g, second))
    told(k, "leader", parked.result(10))
    told(k, "follower", follower)
    for version in EDGES:
        k.call(f"again v{version}", "JoinGroup", version, joining(g, second))
    state(k, "state", g)


def case_classic_join_generations_go_on(k):
    """A group that was empty counts on."""
    g = k.group()
    for version in EDGES:
        answer = join(k, "join", version, g)
        k.send("LeaveGroup", 3, {"groupId": g, "members": [{"memberId": answer["memberId"]}]})
        state(k, f"left v{version}", g)


def case_classic_join_members_of_versions(k):
    """Members that speak different versions hear of each other."""
    g = k.group()
    _, (first,) = assigned(k, g)
    parked = []
    for version in (0, 3, 5, 7, 9):
        member = k.send("JoinGroup", version, joining(g))["memberId"] if version > 3 else ""
        parked.append((version, k.connect(f"c{version}").post("JoinGroup", version, joining(g, member, protocols=(("range", b"of %d" % version),)))))
        until_in(k, g, "PreparingRebalance", 1 + len(parked))
    told(k, "leader", k.send("JoinGroup", 9, joining(g, first)))
    for version, it in parked:
        told(k, f"v{version}", it.result(10))


def case_classic_join_of_offsets_only(k):
    """A group that only has offsets becomes one with members, and keeps them."""
    t = k.topic()
    for version in (0, 4, 9):
        g = k.group(f"g{version}")
        k.send("OffsetCommit", 8, {"groupId": g, "generationIdOrMemberEpoch": -1, "topics": [
            {"name": t.name, "partitions": [{"partitionIndex": 0, "committedOffset": 7}]}]})
        k.call(f"nobody v{version}", "JoinGroup", version, joining(g, "nobody"))
        state(k, f"simple v{version}", g)
        join(k, "join", version, g, protocolType="sr")
        state(k, f"joined v{version}", g)
        k.call(f"offsets v{version}", "OffsetFetch", 8, {"groups": [{"groupId": g, "topics": None}]})
