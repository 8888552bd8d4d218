"""Streams groups: errors of heartbeats in their order, topologies, epochs, groups of other types, offsets and settings."""

EMPTY = {"activeTasks": [], "standbyTasks": [], "warmupTasks": []}
NOTHING = {"activeTasks": None, "standbyTasks": None, "warmupTasks": None}


def settings(k, g, **values):
    configs = [{"name": "streams." + name.replace("_", "."), "configOperation": 0, "value": value} for name, value in values.items()]
    k.send("IncrementalAlterConfigs", 1, {"resources": [{"resourceType": 32, "resourceName": g, "configs": configs}]})
    wanted = {it["name"]: it["value"] for it in configs}
    k.until(lambda: wanted.items() <= {it["name"]: it["value"] for it in described_settings(k, g)}.items())
    k.pause(0.5)    # Kafka's coordinator hears of settings later than DescribeConfigs


def described_settings(k, g):
    return k.send("DescribeConfigs", 4, {"resources": [{"resourceType": 32, "resourceName": g}]})["results"][0]["configs"]


def at_once(k, partitions=4):
    """A topic and a group whose assignments wait for nothing."""
    t, g = k.topic(partitions=partitions), k.group()
    settings(k, g, initial_rebalance_delay_ms="0", assignment_interval_ms="0")
    return t, g


def beat(k, label, g, member, epoch, version=1, **more):
    return k.call(label, "StreamsGroupHeartbeat", version, {"groupId": g, "memberId": member, "memberEpoch": epoch, **more})


def sub(id, *sources, **more):
    return {"subtopologyId": id, "sourceTopics": list(sources), **more}


def info(name, partitions=0, **more):
    return {"name": name, "partitions": partitions, "replicationFactor": 0, "topicConfigs": [], **more}


def topology(*subtopologies, epoch=0):
    return {"epoch": epoch, "subtopologies": list(subtopologies)}


def joining(of, **more):
    return {"rebalanceTimeoutMs": 60000, "processId": "process-one", "clientTags": [], "topology": of, **EMPTY, **more}


def join(k, label, g, member, of, version=1, **more):
    return beat(k, label, g, member, 0, version, **joining(of, **more))


def describe(k, label, *groups, version=1, **more):
    return k.call(label, "StreamsGroupDescribe", version, {"groupIds": list(groups), **more})


def case_streams_form_of_ids(k):
    """Member id before group id, both before rack and instance."""
    t, g = k.topic(), k.group()
    of = topology(sub("0", t.name))
    for version in (0, 1):
        join(k, f"no member v{version}", g, "", of, version)
        join(k, f"blank member v{version}", g, "   ", of, version)
        join(k, f"no group v{version}", "", "m", of, version)
        join(k, f"blank group v{version}", "   ", "m", of, version)
        join(k, f"neither v{version}", "", "", of, version, rackId="", instanceId="")
        join(k, f"empty instance v{version}", g, "m", of, version, instanceId="")
        join(k, f"empty rack v{version}", g, "m", of, version, rackId="")
        join(k, f"both empty v{version}", g, "m", of, version, instanceId="", rackId="")
        beat(k, f"empty rack later v{version}", g, "m", 1, version, rackId="")
        beat(k, f"empty instance later v{version}", g, "m", 1, version, instanceId="")


def case_streams_form_of_joins(k):
    """What a join must bring, in its order."""
    t, g = k.topic(), k.group()
    of = topology(sub("0", t.name))
    tasks = [{"subtopologyId": "0", "partitions": [0]}]
    join(k, "no timeout", g, "m", of, rebalanceTimeoutMs=-1)
    join(k, "timeout of nothing", g, "m", of, rebalanceTimeoutMs=0)
    for name in EMPTY:
        join(k, f"null {name}", g, "m", of, **{name: None})
        join(k, f"{name} at a join", g, "m", of, **{name: tasks})
    join(k, "no lists", g, "m", of, **NOTHING)
    join(k, "no process", g, "m", of, processId=None)
    join(k, "empty process", g, "m", of, processId="")
    join(k, "no topology", g, "m", None)
    join(k, "nothing at all", g, "m", None, rebalanceTimeoutMs=-1, processId=None, **NOTHING)
    join(k, "no tags", g, "m", of, clientTags=None)


def case_streams_form_of_epochs(k):
    """Epochs that are none, and topologies behind the join."""
    t, g = k.topic(), k.group()
    of = topology(sub("0", t.name))
    for epoch in (-2, -3, -2147483648):
        beat(k, f"{epoch}", g, "m", epoch)
        beat(k, f"{epoch} with a topology", g, "m", epoch, topology=of)
        beat(k, f"{epoch} of an instance", g, "m", epoch, instanceId="i")
    beat(k, "topology later", g, "m", 1, topology=of, **EMPTY)
    beat(k, "topology at a leave", g, "m", -1, topology=of)
    for name in EMPTY:
        beat(k, f"only {name}", g, "m", 5, **{name: []})
        beat(k, f"all but {name}", g, "m", 5, **{**EMPTY, name: None})
        beat(k, f"leave with {name} alone", g, "m", -1, **{name: []})


def case_streams_form_of_topologies(k):
    """Patterns, and changelogs with a number of partitions; which comes first."""
    t, g = k.topic(), k.group()
    join(k, "pattern", g, "m", topology(sub("0", t.name, sourceTopicRegex=["foo.*"])))
    join(k, "pattern, and no member", g, "", topology(sub("0", t.name, sourceTopicRegex=["foo.*"])))
    join(k, "changelog", g, "m", topology(sub("0", t.name, stateChangelogTopics=[info(k.name("c"), 3)])))
    join(k, "changelog and pattern", g, "m",
         topology(sub("0", t.name, sourceTopicRegex=["a"], stateChangelogTopics=[info(k.name("c"), 3)])))
    join(k, "changelog and no process", g, "m", topology(sub("0", t.name, stateChangelogTopics=[info(k.name("c"), 3)])), processId=None)


def case_streams_names_of_topics(k):
    """Illegal names and the broker's own topics, wherever a topology has them."""
    t, g = k.topic(), k.group()
    for name in ("with space", "", ".", "x" * 250, "__consumer_offsets", "__transaction_state"):
        shown = name[:20] or "empty"
        join(k, f"{shown}: source", g, "m", topology(sub("0", name)))
        join(k, f"{shown}: sink", g, "m", topology(sub("0", t.name, repartitionSinkTopics=[name])))
        join(k, f"{shown}: repartition", g, "m", topology(sub("0", t.name, repartitionSourceTopics=[info(name)])))
        join(k, f"{shown}: changelog", g, "m", topology(sub("0", t.name, stateChangelogTopics=[info(name)])))


def case_streams_unknown(k):
    """Groups and members that do not exist."""
    t, g = at_once(k)
    for epoch in (5, -1):
        beat(k, f"no group, {epoch}", g, "m", epoch)
    beat(k, "no group, -2", g, "m", -2, instanceId="i")
    join(k, "join", g, "m", topology(sub("0", t.name)))
    for epoch in (5, -1):
        beat(k, f"no member, {epoch}", g, "n", epoch)
    beat(k, "no member, -2", g, "n", -2, instanceId="i")
    beat(k, "leaves", g, "m", -1)
    beat(k, "leaves again", g, "m", -1)
    beat(k, "beats", g, "m", 2)


def case_streams_epochs_of_members(k):
    """Too high, too low, the one before, and back with 0."""
    t, g = at_once(k)
    of = topology(sub("0", t.name))
    mine = [{"subtopologyId": "0", "partitions": [0, 1, 2, 3]}]
    join(k, "join", g, "m", of)
    for epoch in (999, 1, 3):
        beat(k, f"{epoch}", g, "m", epoch)
        beat(k, f"{epoch} with tasks", g, "m", epoch, **{**EMPTY, "activeTasks": mine})
    join(k, "again", g, "m", of)
    join(k, "from another rack", g, "m", of, rackId="r")
    beat(k, "goes on", g, "m", 3, **{**EMPTY, "activeTasks": mine})
    beat(k, "the epoch before", g, "m", 2)
    beat(k, "the epoch before, less tasks", g, "m", 2, **{**EMPTY, "activeTasks": [{"subtopologyId": "0", "partitions": [0]}]})
    describe(k, "described", g)


def case_streams_owned_tasks(k):
    """Tasks that do not exist, in each role."""
    t, g = at_once(k)
    join(k, "join", g, "m", topology(sub("0", t.name)))
    for name in EMPTY:
        for what, tasks in {"subtopology": ("9", [0]), "partition": ("0", [4]), "below zero": ("0", [-1])}.items():
            id, partitions = tasks
            beat(k, f"{name}: {what}", g, "m", 2, **{**EMPTY, name: [{"subtopologyId": id, "partitions": partitions}]})
    beat(k, "with offsets", g, "m", 2, **{**EMPTY, "activeTasks": [{"subtopologyId": "9", "partitions": [0]}]},
         taskOffsets=[{"subtopologyId": "0", "partition": 0, "offset": 5}])
    describe(k, "described", g)


def case_streams_owned_tasks_while_topics_are_missing(k):
    """Nobody knows then how many there are."""
    g = k.group()
    settings(k, g, initial_rebalance_delay_ms="0", assignment_interval_ms="0")
    join(k, "join", g, "m", topology(sub("0", k.name("missing"))))
    beat(k, "of nothing", g, "m", 2, **{**EMPTY, "activeTasks": [{"subtopologyId": "9", "partitions": [7]}]})


def case_streams_offsets_of_tasks(k):
    """Offsets that members report: kept, changed, twice."""
    t, g = at_once(k)
    offset = lambda partition, offset: {"subtopologyId": "0", "partition": partition, "offset": offset}
    join(k, "join", g, "m", topology(sub("0", t.name, stateChangelogTopics=[])))
    beat(k, "told", g, "m", 2, taskOffsets=[offset(1, 5), offset(0, 7)], taskEndOffsets=[offset(0, 9)])
    describe(k, "kept", g)
    beat(k, "not told", g, "m", 2)
    beat(k, "ends alone", g, "m", 2, taskEndOffsets=[offset(3, 3)])
    describe(k, "the others stay", g)
    beat(k, "twice", g, "m", 2, taskOffsets=[offset(1, 5), offset(1, 6)])
    beat(k, "ends twice", g, "m", 2, taskEndOffsets=[offset(1, 5), offset(1, 5)])
    beat(k, "none", g, "m", 2, taskOffsets=[])
    describe(k, "taken away", g)


def case_streams_topology_epochs(k):
    """A member with an older topology stays, one with a newer is refused."""
    t, g = at_once(k, 3)
    one = lambda epoch: topology(sub("0", t.name), epoch=epoch)
    join(k, "join", g, "m1", one(1))
    join(k, "older", g, "m2", one(0), processId="process-two")
    beat(k, "older later", g, "m2", 3)
    describe(k, "described", g)
    join(k, "newer", g, "m3", one(2))
    join(k, "older, other subtopologies", g, "m4", topology(sub("7", t.name)), processId="process-four")
    join(k, "the first one with a newer one", g, "m1", one(2))
    join(k, "below zero", g, "m5", one(-1))


def case_streams_topologies_that_differ(k):
    """At the same epoch: other subtopologies, other topics, another order."""
    t, u, g = k.topic(partitions=2), k.topic("u", partitions=2), k.group()
    settings(k, g, initial_rebalance_delay_ms="0", assignment_interval_ms="0")
    join(k, "join", g, "m1", topology(sub("0", t.name, u.name), sub("1", t.name)))
    join(k, "subtopologies in another order", g, "m2", topology(sub("1", t.name), sub("0", t.name, u.name)))
    join(k, "sources in another order", g, "m3", topology(sub("0", u.name, t.name), sub("1", t.name)))
    join(k, "one less", g, "m3", topology(sub("0", t.name, u.name)))
    join(k, "another source", g, "m3", topology(sub("0", t.name, u.name), sub("1", u.name)))
    join(k, "a store more", g, "m3",
         topology(sub("0", t.name, u.name), sub("1", t.name, stateChangelogTopics=[info(k.name("c"))])))
    beat(k, "leaves", g, "m1", -1)
    beat(k, "leaves too", g, "m2", -1)
    join(k, "another one in the empty group", g, "m3", topology(sub("0", t.name)))
    k.call("delete", "DeleteGroups", 2, {"groupsNames": [g]})
    join(k, "another one in a new group", g, "m3", topology(sub("0", t.name)))


def case_streams_missing_sources(k):
    """Some topics are there, others are not, then all are."""
    t, g = at_once(k)
    names = [k.name(f"missing{i}") for i in range(5)]
    join(k, "join", g, "m", topology(sub("0", t.name, names[0]), sub("1", *names[1:])))
    describe(k, "described", g)
    beat(k, "waits", g, "m", 2)


def case_streams_topics_that_must_agree(k):
    """Copartitioned topics of other sizes, then by index out of range."""
    t, u, g = k.topic(partitions=2), k.topic("u", partitions=3), k.group()
    settings(k, g, initial_rebalance_delay_ms="0", assignment_interval_ms="0")
    group = lambda **more: [{"sourceTopics": [], "sourceTopicRegex": [], "repartitionSourceTopics": [], **more}]
    join(k, "join", g, "m", topology(sub("0", t.name, u.name, copartitionGroups=group(sourceTopics=[0, 1]))))
    describe(k, "described", g)
    for index in (2, -1, 32767):
        join(k, f"index {index}", k.group(f"h{index % 100}"), "m",
             topology(sub("0", t.name, u.name, copartitionGroups=group(sourceTopics=[0, index]))))


def case_streams_internal_topics(k):
    """Missing ones are told, made and then used; the wrong number of partitions is not put right."""
    t, g = at_once(k, 2)
    r, c = k.name("r-repartition"), k.name("c-changelog")
    join(k, "join", g, "m", topology(sub("0", t.name, repartitionSinkTopics=[r]),
                                     sub("1", repartitionSourceTopics=[info(r, 3)], stateChangelogTopics=[info(c)])))
    made = lambda name: k.send("Metadata", 12, {"topics": [{"name": name}], "allowAutoTopicCreation": False})["topics"][0]["errorCode"] == 0
    k.until(lambda: made(r) and made(c))
    k.pause(0.3)
    beat(k, "there", g, "m", 2, **EMPTY)
    describe(k, "described", g)
    wrong, h = k.topic("w", partitions=5), k.group("h")
    join(k, "another number", h, "m", topology(sub("0", t.name, repartitionSinkTopics=[wrong.name]),
                                               sub("1", repartitionSourceTopics=[info(wrong.name, 3)])))


def case_streams_topologies_that_can_not_be(k):
    """Circles of undecided topics, topics that nobody writes, and stores that nobody fills."""
    t = k.topic()
    groups = iter(k.group(f"g{i}") for i in range(9))
    refused = lambda label, *subs: join(k, label, next(groups), "m", topology(*subs))
    a, b = k.name("a"), k.name("b")
    refused("circle", sub("0", repartitionSourceTopics=[info(a)], repartitionSinkTopics=[b]),
            sub("1", repartitionSourceTopics=[info(b)], repartitionSinkTopics=[a]))
    refused("circle of one", sub("0", repartitionSourceTopics=[info(a)], repartitionSinkTopics=[a]))
    refused("nobody writes", sub("0", t.name, repartitionSourceTopics=[info(a)]))
    refused("nobody fills", sub("0", stateChangelogTopics=[info(a)]), sub("1", t.name))
    refused("twice the same id", sub("0", t.name), sub("0", t.name))


def case_streams_absurd_topologies(k):
    """Many subtopologies, many sources, and absurd numbers of partitions."""
    t = k.topic(partitions=2)
    g = k.group()
    settings(k, g, initial_rebalance_delay_ms="0", assignment_interval_ms="0")
    answer = k.send("StreamsGroupHeartbeat", 1, {"groupId": g, "memberId": "m", "memberEpoch": 0,
                    **joining(topology(*[sub(str(i), t.name) for i in range(500)]))})
    k.step("many", {"errorCode": answer["errorCode"], "status": answer["status"], "tasks": sum(len(it["partitions"]) for it in answer["activeTasks"] or [])})
    for number in (-1, -2147483648):
        r = k.name("r")
        join(k, f"{number} partitions", k.group(f"n{number % 7}"), "m",
             topology(sub("0", t.name, repartitionSinkTopics=[r]), sub("1", repartitionSourceTopics=[info(r, number)])))
    join(k, "no subtopologies", k.group("none"), "m", topology())
    join(k, "no topics", k.group("empty"), "m", topology(sub("0")))


def case_streams_against_other_types(k):
    """Requests of other protocols for a streams group, with a member and without."""
    t, g = at_once(k)
    join(k, "join", g, "m", topology(sub("0", t.name)))
    for state in ("live", "empty"):
        classic = {"groupId": g, "sessionTimeoutMs": 10000, "rebalanceTimeoutMs": 10000, "memberId": "", "protocolType": "consumer",
                   "protocols": [{"name": "range", "metadata": b""}]}
        if state == "live":
            k.call("classic join", "JoinGroup", 9, classic)
        k.call(f"{state}: sync", "SyncGroup", 5, {"groupId": g, "generationId": 1, "memberId": "m", "assignments": []})
        k.call(f"{state}: heartbeat", "Heartbeat", 4, {"groupId": g, "generationId": 1, "memberId": "m"})
        k.call(f"{state}: leave", "LeaveGroup", 5, {"groupId": g, "members": [{"memberId": "m"}]})
        for epoch in (0, 1, -1):
            k.call(f"{state}: consumer {epoch}", "ConsumerGroupHeartbeat", 0, {
                "groupId": g, "memberId": "c", "memberEpoch": epoch, "rebalanceTimeoutMs": 10000, "subscribedTopicNames": [t.name],
                "topicPartitions": []})
        k.call(f"{state}: consumer describe", "ConsumerGroupDescribe", 0, {"groupIds": [g]})
        for version in (5, 6):
            k.call(f"{state}: describe v{version}", "DescribeGroups", version, {"groups": [g]})
        if state == "live":
            beat(k, "leaves", g, "m", -1)
    k.call("classic join of an empty group", "JoinGroup", 9, classic)
    describe(k, "a classic group now", g)


def case_streams_in_groups_of_other_types(k):
    """Streams heartbeats for consumer groups, and for groups that hold offsets alone."""
    t, g, h = k.topic(), k.group(), k.group("h")
    k.call("consumer", "ConsumerGroupHeartbeat", 0, {"groupId": g, "memberId": "c", "memberEpoch": 0, "rebalanceTimeoutMs": 10000,
                                                     "subscribedTopicNames": [t.name], "topicPartitions": []}, only=("errorCode",))
    for epoch in (1, -1):
        beat(k, f"consumer group, {epoch}", g, "m", epoch)
    join(k, "consumer group, join", g, "m", topology(sub("0", t.name)))
    describe(k, "consumer group", g)
    k.call("offset", "OffsetCommit", 9, commits(h, t, "", -1, 5))
    beat(k, "offsets alone, 1", h, "m", 1)
    describe(k, "offsets alone", h)
    join(k, "offsets alone, join", h, "m", topology(sub("0", t.name)))
    k.call("they are kept", "OffsetFetch", 9, fetch(h, t, None, -1))


def commits(g, t, member, epoch, offset, partition=0, **more):
    part = {"partitionIndex": partition, "committedOffset": offset, "committedLeaderEpoch": -1, "committedMetadata": ""}
    return {"groupId": g, "generationIdOrMemberEpoch": epoch, "memberId": member, "topics": [{"name": t.name, "partitions": [part]}], **more}


def fetch(g, t, member, epoch):
    return {"groups": [{"groupId": g, "memberId": member, "memberEpoch": epoch, "topics": [{"name": t.name, "partitionIndexes": [0, 1]}]}]}


def case_streams_commits(k):
    """By the member, by others, with other epochs and by older requests."""
    t, g = at_once(k)
    join(k, "join", g, "m", topology(sub("0", t.name)))
    for member, epoch in (("m", 2), ("m", 3), ("m", 1), ("m", -1), ("n", 2), ("", -1), ("", 2)):
        k.call(f"{member or 'nobody'} {epoch}", "OffsetCommit", 9, commits(g, t, member, epoch, 5))
    for version in (2, 5, 8):
        k.call(f"v{version}", "OffsetCommit", version, commits(g, t, "m", 2, 6))
    for member, epoch in (("m", 2), ("m", 3), ("n", 2), (None, -1), ("m", -1)):
        k.call(f"fetch {member} {epoch}", "OffsetFetch", 9, fetch(g, t, member, epoch))
    other = k.topic("other")
    k.call("of a topic that it does not read", "OffsetCommit", 9, commits(g, other, "m", 2, 7))
    for topic in (t, other):
        k.call(f"delete of {'a source' if topic is t else 'another'}", "OffsetDelete", 0,
               {"groupId": g, "topics": [{"name": topic.name, "partitions": [{"partitionIndex": 0}]}]})
    beat(k, "leaves", g, "m", -1)
    k.call("empty group", "OffsetCommit", 9, commits(g, t, "", -1, 8))
    k.call("empty group, the old member", "OffsetCommit", 9, commits(g, t, "m", 2, 9))
    k.call("kept", "OffsetFetch", 9, fetch(g, t, None, -1))
    k.call("delete", "OffsetDelete", 0, {"groupId": g, "topics": [{"name": t.name, "partitions": [{"partitionIndex": 0}]}]})


def case_streams_commits_with_an_older_epoch(k):
    """The epoch at which a task was granted counts (KAFKA-19779)."""
    t, g = at_once(k, 2)
    of = topology(sub("0", t.name))
    join(k, "first", g, "m1", of)
    join(k, "second", g, "m2", of, processId="process-two")
    mine = beat(k, "told to give up", g, "m1", 2)["activeTasks"]
    kept = mine[0]["partitions"][0]
    k.call("both while it gives up", "OffsetCommit", 9, commits(g, t, "m1", 2, 5, 1 - kept))
    beat(k, "gave up", g, "m1", 2, **{**EMPTY, "activeTasks": mine})
    beat(k, "receives", g, "m2", 3)
    k.call("kept task, old epoch", "OffsetCommit", 9, commits(g, t, "m1", 2, 6, kept))
    k.call("lost task, old epoch", "OffsetCommit", 9, commits(g, t, "m1", 2, 6, 1 - kept))
    k.call("lost task, epoch of now", "OffsetCommit", 9, commits(g, t, "m1", 3, 6, 1 - kept))
    k.call("new task, older than it", "OffsetCommit", 9, commits(g, t, "m2", 2, 6, 1 - kept))
    k.call("an epoch to come", "OffsetCommit", 9, commits(g, t, "m1", 4, 6, kept))


def case_streams_settings_of_groups(k):
    """Values out of bounds are refused, others come back."""
    g = k.group()
    for name, value in (("session.timeout.ms", "44999"), ("session.timeout.ms", "60001"), ("session.timeout.ms", "50000"),
                        ("heartbeat.interval.ms", "4999"), ("heartbeat.interval.ms", "15001"), ("heartbeat.interval.ms", "6000"),
                        ("num.standby.replicas", "-1"), ("num.standby.replicas", "3"), ("num.standby.replicas", "1"),
                        ("initial.rebalance.delay.ms", "-1"), ("initial.rebalance.delay.ms", "1"),
                        ("assignment.interval.ms", "15001"), ("assignment.interval.ms", "0"),
                        ("task.offset.interval.ms", "14999"), ("num.warmup.replicas", "21"), ("acceptable.recovery.lag", "-1"),
                        ("rack.aware.assignment.tags", "zone,,cluster"), ("rack.aware.assignment.tags", "zone,cluster"),
                        ("assignor.name", "nonsense"), ("assignor.name", "sticky"), ("no.such", "1"), ("session.timeout.ms", "many")):
        configs = [{"name": "streams." + name, "configOperation": 0, "value": value}]
        k.call(f"{name}={value}", "IncrementalAlterConfigs", 1, {"resources": [{"resourceType": 32, "resourceName": g, "configs": configs}]})


def case_streams_settings_take_effect(k):
    """The interval in the next answer, standbys in the next assignment."""
    t, g = at_once(k, 2)
    of = topology(sub("0", t.name, stateChangelogTopics=[]))
    join(k, "join", g, "m", of)
    settings(k, g, heartbeat_interval_ms="7000")
    beat(k, "another interval", g, "m", 2)
    settings(k, g, num_standby_replicas="1")
    beat(k, "standbys", g, "m", 2)
    describe(k, "described", g)


def case_streams_tags(k):
    """Tags that the group asks for and the client lacks."""
    t, g = at_once(k)
    settings(k, g, rack_aware_assignment_tags="zone,cluster")
    of = topology(sub("0", t.name))
    for version in (0, 1):
        join(k, f"one of two v{version}", g, "m", of, version, clientTags=[{"key": "zone", "value": "a"}])
    join(k, "both", g, "m", of, clientTags=[{"key": "zone", "value": "a"}, {"key": "cluster", "value": "b"}])
    beat(k, "later", g, "m", 3)


def case_streams_shutdown(k):
    """One asks, all are told, until the group is empty."""
    t, g = at_once(k)
    of = topology(sub("0", t.name))
    join(k, "first", g, "m1", of)
    join(k, "second", g, "m2", of, processId="process-two")
    beat(k, "asks", g, "m1", 2, shutdownApplication=True)
    beat(k, "is told", g, "m2", 3)
    beat(k, "asks too", g, "m2", 3, shutdownApplication=True)
    join(k, "a third", g, "m3", of, processId="process-three")
    for member in ("m1", "m2", "m3"):
        beat(k, f"{member} leaves", g, member, -1)
    join(k, "afterwards", g, "m4", of)


def case_streams_shutdown_of_nobody(k):
    """Whoever leaves may ask, even who is not there."""
    t, g = at_once(k)
    of = topology(sub("0", t.name))
    join(k, "first", g, "m1", of)
    beat(k, "unknown leaves", g, "m9", -1, shutdownApplication=True)
    beat(k, "is told", g, "m1", 2)


def case_streams_endpoints(k):
    """Told when they changed, to all, with one's own."""
    t, g = at_once(k, 2)
    of = topology(sub("0", t.name))
    at = lambda port: {"host": "localhost", "port": port}

    def told(label, answer):
        parts = lambda topics: [it["partitions"] for it in topics]
        ends = answer["partitionsByUserEndpoint"]
        ends = ends and sorted(f"{it['userEndpoint']['port']}: {parts(it['activePartitions'])} {parts(it['standbyPartitions'])}" for it in ends)
        k.step(label, {"code": answer["errorCode"], "epoch": answer["memberEpoch"], "known": answer["endpointInformationEpoch"], "ends": ends})

    def heard(member, epoch, **more):
        return k.send("StreamsGroupHeartbeat", 1, {"groupId": g, "memberId": member, "memberEpoch": epoch, **more})
    told("first", heard("m1", 0, **joining(of, userEndpoint=at(9001), endpointInformationEpoch=0)))
    told("again", heard("m1", 2, endpointInformationEpoch=0))
    told("second", heard("m2", 0, **joining(of, processId="two", userEndpoint=at(65535), endpointInformationEpoch=-1)))
    told("second knows", heard("m2", 3, endpointInformationEpoch=1))
    told("knows too much", heard("m1", 2, endpointInformationEpoch=99))
    told("without one", heard("m3", 0, **joining(of, processId="three", endpointInformationEpoch=-1)))
    told("second leaves", heard("m2", -1))
    told("nothing is changed by that", heard("m3", 4, endpointInformationEpoch=-1))


def case_streams_endpoints_of_nobody(k):
    """An empty list, once."""
    t, g = at_once(k)
    join(k, "join", g, "m1", topology(sub("0", t.name)), endpointInformationEpoch=-1)
    beat(k, "knows", g, "m1", 2, endpointInformationEpoch=0)
    beat(k, "does not", g, "m1", 2, endpointInformationEpoch=-1)


def case_streams_metadata_of_members(k):
    """What raises the epoch and what does not."""
    t, g = at_once(k)
    of = topology(sub("0", t.name))
    join(k, "join", g, "m", of)
    epoch = 2
    for label, more in (("nothing", {}), ("rack", {"rackId": "r"}), ("the same rack", {"rackId": "r"}), ("process", {"processId": "p2"}),
                        ("tags", {"clientTags": [{"key": "a", "value": "b"}]}), ("no tags", {"clientTags": []}),
                        ("timeout", {"rebalanceTimeoutMs": 61000}), ("endpoint", {"userEndpoint": {"host": "h", "port": 1}})):
        epoch = beat(k, label, g, "m", epoch, **more)["memberEpoch"]
    describe(k, "described", g)


def case_streams_describe(k):
    """Known, unknown and nameless groups, with rights and with descriptions of topologies."""
    t, g = at_once(k)
    join(k, "join", g, "m", topology(sub("0", t.name, stateChangelogTopics=[])), userEndpoint={"host": "h", "port": 9}, rackId="r",
         instanceId="i", clientTags=[{"key": "b", "value": "1"}, {"key": "a", "value": "2"}])
    unknown = k.group("unknown")
    for version in (0, 1):
        describe(k, f"v{version}", g, unknown, "", version=version)
        describe(k, f"rights v{version}", unknown, g, version=version, includeAuthorizedOperations=True)
    describe(k, "descriptions", g, unknown, includeTopologyDescription=True)
    describe(k, "twice", g, g)
    describe(k, "none")


def case_streams_list_and_delete(k):
    """By type and state; live, empty and unknown groups are deleted."""
    t, g = at_once(k)
    unknown = k.group("unknown")
    join(k, "join", g, "m", topology(sub("0", t.name)))

    def listed(label, **more):
        groups = k.send("ListGroups", 5, {"statesFilter": [], "typesFilter": [], **more})["groups"]
        k.step(label, k.mine(groups, "groupId"))
    listed("all")
    listed("of the type", typesFilter=["streams"])
    listed("of another", typesFilter=["classic", "consumer"])
    listed("stable", statesFilter=["Stable"])
    listed("empty", statesFilter=["Empty"])
    k.call("delete live", "DeleteGroups", 2, {"groupsNames": [g, unknown]})
    beat(k, "leaves", g, "m", -1)
    listed("left", statesFilter=["empty"])
    k.call("delete", "DeleteGroups", 2, {"groupsNames": [g]})
    k.call("delete again", "DeleteGroups", 2, {"groupsNames": [g]})
    describe(k, "gone", g)


def case_streams_rebalance(k):
    """Two members: the first one gives up, the second one receives."""
    t, g = at_once(k)
    of = topology(sub("0", t.name))
    join(k, "first", g, "m1", of)
    join(k, "second", g, "m2", of, processId="process-two")
    beat(k, "waits", g, "m2", 3)
    mine = beat(k, "gives up", g, "m1", 2)["activeTasks"]
    describe(k, "in between", g)
    beat(k, "has not yet", g, "m1", 2, **{**EMPTY, "activeTasks": [{"subtopologyId": "0", "partitions": [0, 1, 2, 3]}]})
    beat(k, "gave up", g, "m1", 2, **{**EMPTY, "activeTasks": mine})
    beat(k, "receives", g, "m2", 3)
    describe(k, "at rest", g)
    beat(k, "second leaves", g, "m2", -1)
    beat(k, "all again", g, "m1", 3)
    describe(k, "alone", g)


def case_streams_standbys(k):
    """Two processes and a store: a standby in the other process."""
    t, g = k.topic(partitions=2), k.group()
    settings(k, g, initial_rebalance_delay_ms="0", assignment_interval_ms="0", num_standby_replicas="1")
    c = k.topic("c", partitions=2)
    of = topology(sub("0", t.name, stateChangelogTopics=[info(c.name)]))
    join(k, "first", g, "m1", of)
    join(k, "second", g, "m2", of, processId="process-two")
    beat(k, "told", g, "m1", 2)
    describe(k, "in between", g)


def case_streams_delay(k):
    """While the first assignment waits."""
    t, g = k.topic(), k.group()
    of = topology(sub("0", t.name))
    join(k, "join", g, "m1", of)
    beat(k, "again", g, "m1", 1)
    join(k, "another", g, "m2", of, processId="process-two")
    describe(k, "described", g)
    beat(k, "leaves", g, "m1", -1)
    beat(k, "leaves too", g, "m2", -1)
    describe(k, "empty", g)
    join(k, "waits again", g, "m3", of)
