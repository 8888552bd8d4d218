"""DescribeGroups, ListGroups and DeleteGroups over groups of all types, one question a case (classic-and-consumer-groups.md 8)."""

from classic import assigned, joining as classic_joining, syncing
from classic_joins import until_in
from consumer_groups import HEARTBEAT, at_once, heartbeat, joining

DESCRIBES = range(7)
LISTS = range(6)
DELETES = range(4)


def simple(k, base="simple"):
    """A group that only has an offset."""
    t, g = k.topic(base + "-t"), k.group(base)
    k.send("OffsetCommit", 8, {"groupId": g, "generationIdOrMemberEpoch": -1, "topics": [
        {"name": t.name, "partitions": [{"partitionIndex": 0, "committedOffset": 7}]}]})
    return g


def consumers(k, base="consumers", partitions=1, members=("m",)):
    t, g = k.topic(base + "-t", partitions=partitions), at_once(k, k.group(base))
    for member in members:
        k.send(HEARTBEAT, 1, joining(g, member, t, serverAssignor="range"))
    return g


def app(k, base="app"):
    t, g = k.topic(base + "-t"), k.group(base)
    k.send("StreamsGroupHeartbeat", 0, {
        "groupId": g, "memberId": "member-one-of-kdiff-00", "memberEpoch": 0, "rebalanceTimeoutMs": 60000, "activeTasks": [], "standbyTasks": [],
        "warmupTasks": [], "processId": "p", "clientTags": [], "topology": {"epoch": 0, "subtopologies": [{"subtopologyId": "0", "sourceTopics": [t.name]}]}})
    return g


def classic(k, base="classic", **more):
    g = k.group(base)
    assigned(k, g, **more)
    return g


def listed(k, label, version=5, states=(), types=(), **options):
    answer = k.send("ListGroups", version, {"statesFilter": list(states), "typesFilter": list(types)} if version > 4 else
                    {"statesFilter": list(states)} if version > 3 else {})
    k.step(f"{label} v{version}", [answer["errorCode"], k.mine(answer["groups"], "groupId")], **options)


def zoo(k):
    """A group of each type and state that stands still: what happens next is up to its members."""
    made = {"simple": simple(k), "stable": classic(k), "consumers": consumers(k), "reconciling": consumers(k, "reconciling", 2, "ab")}
    made["completing"] = k.group("completing")
    k.send("JoinGroup", 3, classic_joining(made["completing"]))
    made["preparing"] = classic(k, "preparing")
    k.connect("new").post("JoinGroup", 3, classic_joining(made["preparing"]))
    until_in(k, made["preparing"], "PreparingRebalance", 2)
    made["empty"], made["left"] = k.group("empty"), consumers(k, "left")
    _, (member,) = assigned(k, made["empty"], protocolType="sr")
    k.send("LeaveGroup", 3, {"groupId": made["empty"], "members": [{"memberId": member}]})
    k.send(HEARTBEAT, 1, heartbeat(made["left"], "m", -1))
    return made


def case_groups_describe_missing(k):
    """Groups that are not there, in each version: without an error up to 5, with one and a message in 6."""
    for version in DESCRIBES:
        k.call(f"v{version}", "DescribeGroups", version, {"groups": [k.name("none"), k.name("none"), k.name("other")]})
        k.call(f"odd v{version}", "DescribeGroups", version, {"groups": [" ", "x" * 1000, k.name("ü")]})
        k.call(f"no groups v{version}", "DescribeGroups", version, {"groups": []})


def case_groups_describe_types(k):
    """Groups that are no classic ones look like groups that are not there."""
    groups = [simple(k), consumers(k), app(k), classic(k), k.name("none")]
    for version in DESCRIBES:
        k.call(f"v{version}", "DescribeGroups", version, {"groups": groups})


def case_groups_describe_states(k):
    """A classic group in each of its states, in each version."""
    g = k.group()
    member = k.send("JoinGroup", 5, classic_joining(g))["memberId"]
    k.each_version("id given out", "DescribeGroups", {"groups": [g]})
    k.send("JoinGroup", 5, classic_joining(g, member))
    k.each_version("completing", "DescribeGroups", {"groups": [g]})
    k.send("SyncGroup", 3, syncing(g, 1, member, [(member, b"mine")]))
    k.each_version("stable", "DescribeGroups", {"groups": [g]})
    k.connect("new").post("JoinGroup", 3, classic_joining(g))
    until_in(k, g, "PreparingRebalance", 2)
    k.each_version("preparing", "DescribeGroups", {"groups": [g]})
    parked = k.connect("m").post("JoinGroup", 5, classic_joining(g, member))
    parked.result(10)
    k.each_version("completing again", "DescribeGroups", {"groups": [g]}, drop=["memberId"])


def case_groups_describe_empty(k):
    """A group that all have left keeps its type."""
    for type in ("consumer", "sr"):
        g = k.group(type)
        _, (member,) = assigned(k, g, protocolType=type)
        k.send("LeaveGroup", 3, {"groupId": g, "members": [{"memberId": member}]})
        k.each_version(type, "DescribeGroups", {"groups": [g]})


def case_groups_describe_members(k):
    """Clients, instances, metadata and assignments of two members, in each version."""
    g = k.group()
    first = k.connect("first").send("JoinGroup", 5, classic_joining(g, groupInstanceId="one", protocols=(("a", b"a1"), ("b", b"b1"))))["memberId"]
    k.send("SyncGroup", 3, syncing(g, 1, first, groupInstanceId="one"))
    parked = k.connect("second").post("JoinGroup", 5, classic_joining(g, groupInstanceId="two", protocols=(("b", b"b2"), ("c", b"c2"))))
    until_in(k, g, "PreparingRebalance", 2)
    k.send("JoinGroup", 5, classic_joining(g, first, groupInstanceId="one", protocols=(("a", b"a1"), ("b", b"b1"))))
    second = parked.result(10)["memberId"]
    # Below version 4 nothing but their order, which is the broker's, says which member is which.
    k.each_version("completing", "DescribeGroups", {"groups": [g]}, range(4, 7))
    k.send("SyncGroup", 3, syncing(g, 2, first, [(first, b"for one"), (second, b"for two")], groupInstanceId="one"))
    k.each_version("stable", "DescribeGroups", {"groups": [g]})


def case_groups_describe_rights(k):
    """Operations are told from version 3 if asked for, and only of groups that are there."""
    groups = [classic(k), simple(k), consumers(k), k.name("none"), ""]
    for version in DESCRIBES:
        for asked in (False, True) if version > 2 else (False,):
            k.call(f"{asked} v{version}", "DescribeGroups", version, {"groups": groups, "includeAuthorizedOperations": asked})


def case_groups_describe_many(k):
    """A hundred groups in one request, most of which are not there."""
    there = [simple(k), classic(k)]
    for version in (0, 5, 6):
        k.call(f"v{version}", "DescribeGroups", version, {"groups": [k.name(f"none{i:02}") for i in range(98)] + there})


def case_groups_list_by_version(k):
    zoo(k)
    for version in LISTS:
        listed(k, "all", version)


def case_groups_list_states(k):
    """Each state, as it is written and in other cases."""
    zoo(k)
    for state in ("Empty", "Stable", "PreparingRebalance", "CompletingRebalance", "Dead", "Assigning", "Reconciling", "Unknown"):
        for written in (state, state.lower(), state.upper(), state[0].lower() + state[1:]):
            for version in (4, 5):
                listed(k, written, version, [written])


def case_groups_list_odd_states(k):
    """States that are none, blanks around them, doubled ones."""
    zoo(k)
    for number, states in enumerate(([""], [" "], [" Stable "], ["\tempty"], ["x"], ["Stable", "x"], ["stable", "STABLE"], ["Stable,Empty"], ["preparing_rebalance"],
                                     ["Preparing Rebalance"], ["NotReady"], ["Empty", "Stable", "Reconciling"], ["ſtable"])):
        for version in (4, 5):
            listed(k, f"{number}", version, states)


def case_groups_list_types(k):
    """Each type, as it is written and in other cases."""
    zoo(k)
    app(k)
    for type in ("classic", "consumer", "share", "streams", "unknown"):
        for written in (type, type.upper(), type.capitalize()):
            # What a streams group does meanwhile takes its time.
            listed(k, written, types=[written], drop=["groupState"])


def case_groups_list_odd_types(k):
    """Types that are none, blanks around them, doubled ones."""
    zoo(k)
    for number, types in enumerate(([""], [" "], [" classic"], ["classic "], ["x"], ["x", "consumer"], ["CLASSIC", "classic"], ["simple"], ["generic"], ["classic", "consumer"],
                                    ["claſſic"])):
        listed(k, f"{number}", types=types)


def case_groups_list_states_and_types(k):
    """Both must hold."""
    zoo(k)
    for states in (["Empty"], ["Stable"], ["Empty", "Stable"], ["Reconciling"], ["x"], []):
        for types in (["classic"], ["consumer"], ["classic", "consumer"], ["x"], ["streams"], []):
            listed(k, f"{states} {types}", states=states, types=types)


def case_groups_list_protocol_types(k):
    """What groups say of their protocol type, while they have members and afterwards."""
    for number, type in enumerate(("consumer", "connect", "sr", "x y", "ü", "t" * 300)):
        g = k.group(f"g{number}")
        _, (member,) = assigned(k, g, protocolType=type)
        listed(k, f"{number}")
        k.send("LeaveGroup", 3, {"groupId": g, "members": [{"memberId": member}]})
        listed(k, f"{number} left")


def case_groups_list_assigning(k):
    """A consumer group whose assignment has to be made."""
    t, g = k.topic(partitions=2), at_once(k, k.group())
    k.send(HEARTBEAT, 1, joining(g, "a", t))
    k.send(HEARTBEAT, 1, joining(g, "b", t))
    listed(k, "reconciling", states=["Reconciling"])
    k.send(HEARTBEAT, 1, heartbeat(g, "b", -1))
    for state in ("Assigning", "Reconciling", "Stable"):
        listed(k, state, states=[state])


def case_groups_delete_by_version(k):
    """Groups of each kind, one that is not there, one twice, in each version."""
    for version in DELETES:
        groups = [simple(k, f"simple{version}"), consumers(k, f"consumers{version}"), classic(k, f"classic{version}"), app(k, f"app{version}")]
        k.call(f"v{version}", "DeleteGroups", version, {"groupsNames": groups + [k.name("none"), groups[0], groups[1]]})
        k.call(f"again v{version}", "DeleteGroups", version, {"groupsNames": groups})
        k.call(f"left v{version}", "DescribeGroups", 6, {"groups": groups})


def case_groups_delete_odd(k):
    """No groups, the nameless one, odd names."""
    for version in DELETES:
        k.call(f"none v{version}", "DeleteGroups", version, {"groupsNames": []})
        k.call(f"nameless v{version}", "DeleteGroups", version, {"groupsNames": [k.name("none"), " ", "x" * 1000, k.name("ü")]})


def case_groups_delete_states(k):
    """Which states of groups can be deleted."""
    made = zoo(k)
    for state, group in made.items():
        for version in (0, 3):
            k.call(f"{state} v{version}", "DeleteGroups", version, {"groupsNames": [group]})
    listed(k, "left")


def case_groups_delete_and_begin_anew(k):
    """A deleted group begins at the first epoch and generation, without its offsets."""
    t, g = k.topic(), at_once(k, k.group())
    k.call("consumer", HEARTBEAT, 1, joining(g, "m", t))
    k.send("OffsetCommit", 9, {"groupId": g, "generationIdOrMemberEpoch": 2, "memberId": "m", "topics": [
        {"name": t.name, "partitions": [{"partitionIndex": 0, "committedOffset": 7}]}]})
    k.send(HEARTBEAT, 1, heartbeat(g, "m", -1))
    k.call("delete", "DeleteGroups", 3, {"groupsNames": [g]})
    k.call("its offsets", "OffsetFetch", 8, {"groups": [{"groupId": g, "topics": None}]})
    k.call("described", "ConsumerGroupDescribe", 1, {"groupIds": [g]})
    k.call("of the past", HEARTBEAT, 1, heartbeat(g, "m", 2))
    k.call("classic", "JoinGroup", 3, classic_joining(g))
    k.call("now a classic one", "DescribeGroups", 6, {"groups": [g]})


def case_groups_delete_with_pending_ids(k):
    """A group that only gave out an id is empty."""
    for version in DELETES:
        g = k.group(f"g{version}")
        id = k.send("JoinGroup", 5, classic_joining(g))["memberId"]
        k.call(f"v{version}", "DeleteGroups", version, {"groupsNames": [g]})
        k.call(f"join v{version}", "JoinGroup", 5, classic_joining(g, id))
        k.call(f"described v{version}", "DescribeGroups", 6, {"groups": [g]})
