"""Streams groups: heartbeats with two faults at once. Which one is told shows the order of the checks; nothing changes."""
from streams_groups import EMPTY, at_once, beat, describe, info, join, joining, sub, topology

TWICE = [{"subtopologyId": "0", "partition": 0, "offset": 1}, {"subtopologyId": "0", "partition": 0, "offset": 2}]
FOREIGN = [{"subtopologyId": "no", "partitions": [0]}]


def circle(k, id="0"):
    name = k.name("circle")
    return sub(id, repartitionSinkTopics=[name], repartitionSourceTopics=[info(name)])


def case_streams_order_before_the_group(k):
    """Names of topics, then the form of the request, then the group."""
    t, g = k.topic(), k.group()
    illegal, own = topology(sub("0", "in the way")), topology(sub("0", "__consumer_offsets"))
    counted = topology(sub("0", t.name, stateChangelogTopics=[info(k.name("store"), 3)]))
    pattern = topology(sub("0", sourceTopicRegex=["a.*"]))
    for version in (0, 1):
        join(k, f"illegal name, no member v{version}", g, "", illegal, version)
        join(k, f"illegal name, no group v{version}", "", "m", illegal, version)
        join(k, f"own topic, no member v{version}", g, "", own, version)
        join(k, f"own topic and illegal name v{version}", g, "m", topology(sub("0", "in the way", "__consumer_offsets")), version)
        join(k, f"illegal name and a pattern v{version}", g, "m", topology(sub("0", "in the way", sourceTopicRegex=["a"])), version)
        join(k, f"pattern, no member v{version}", g, "", pattern, version)
        join(k, f"counted, no member v{version}", g, "", counted, version)
        join(k, f"counted, no group v{version}", "", "m", counted, version)
        join(k, f"counted, empty rack v{version}", g, "m", counted, version, rackId="")
        join(k, f"counted, no timeout v{version}", g, "m", counted, version, rebalanceTimeoutMs=-1)
        join(k, f"counted, owns tasks v{version}", g, "m", counted, version, activeTasks=FOREIGN)
        join(k, f"counted and a circle v{version}", g, "m", topology(*counted["subtopologies"], circle(k, "1")), version)
        beat(k, f"illegal name behind the join v{version}", g, "m", 1, version, topology=illegal)
        beat(k, f"illegal name while leaving v{version}", g, "m", -1, version, topology=illegal)
        beat(k, f"counted behind the join v{version}", g, "m", 1, version, topology=counted)
        beat(k, f"no such epoch, no such group v{version}", g, "m", -3, version)
        beat(k, f"away without an instance, no such group v{version}", g, "m", -2, version)
        beat(k, f"one list, no such group v{version}", g, "m", 1, version, activeTasks=[])
        beat(k, f"topology, no such group v{version}", g, "m", 1, version, topology=topology(sub("0", t.name)))
        beat(k, f"offsets twice, no such group v{version}", g, "m", 1, version, taskOffsets=TWICE)
    describe(k, "nothing was made", g)


def case_streams_order_in_the_group(k):
    """Member, epoch, topology, tasks, offsets."""
    t, g = at_once(k)
    other = k.topic("other")
    join(k, "first", g, "m", topology(sub("0", t.name)))
    loops = topology(sub("0", t.name), circle(k, "1"))
    join(k, "another topology with a circle", g, "n", loops)
    join(k, "another topology, offsets twice", g, "n", topology(sub("0", other.name)), taskOffsets=TWICE)
    join(k, "offsets twice", g, "n", topology(sub("0", t.name)), taskOffsets=TWICE)
    for version in (0, 1):
        beat(k, f"nobody, foreign tasks v{version}", g, "n", 2, version, **{**EMPTY, "activeTasks": FOREIGN})
        beat(k, f"nobody, offsets twice v{version}", g, "n", 2, version, taskOffsets=TWICE)
        beat(k, f"nobody, too high v{version}", g, "n", 99, version)
        beat(k, f"too high, foreign tasks v{version}", g, "m", 99, version, **{**EMPTY, "activeTasks": FOREIGN})
        beat(k, f"too low, offsets twice v{version}", g, "m", 1, version, taskOffsets=TWICE)
        beat(k, f"too high, two lists v{version}", g, "m", 99, version, activeTasks=[], standbyTasks=[])
        beat(k, f"too high, a topology v{version}", g, "m", 99, version, topology=topology(sub("0", t.name)))
        beat(k, f"foreign standbys, offsets twice v{version}", g, "m", 2, version, **{**EMPTY, "standbyTasks": FOREIGN}, taskOffsets=TWICE)
        beat(k, f"foreign warm-ups, end offsets twice v{version}", g, "m", 2, version, **{**EMPTY, "warmupTasks": FOREIGN},
            taskEndOffsets=TWICE)
    describe(k, "nothing was changed", g)


def case_streams_order_of_types(k):
    """A consumer group in the way: before the topology is looked at, but after its names."""
    t, g = k.topic(), k.group()
    k.call("consumer", "ConsumerGroupHeartbeat", 1, {"groupId": g, "memberId": "c", "memberEpoch": 0, "rebalanceTimeoutMs": 60000,
        "subscribedTopicNames": [t.name], "topicPartitions": []})
    for version in (0, 1):
        join(k, f"circle v{version}", g, "m", topology(circle(k)), version)
        join(k, f"counted v{version}", g, "m", topology(sub("0", t.name, stateChangelogTopics=[info(k.name("store"), 3)])), version)
        join(k, f"illegal name v{version}", g, "m", topology(sub("0", "in the way")), version)
        join(k, f"offsets twice v{version}", g, "m", topology(sub("0", t.name)), version, taskOffsets=TWICE)
        beat(k, f"foreign tasks v{version}", g, "c", 1, version, **{**EMPTY, "activeTasks": FOREIGN})
        beat(k, f"no such epoch v{version}", g, "c", -3, version)


def case_streams_order_of_instances(k):
    """Instance ids before epochs, epochs before topologies and tasks."""
    t, g = at_once(k)
    of = topology(sub("0", t.name))
    join(k, "static", g, "m", of, instanceId="i")
    join(k, "in use, another topology", g, "n", topology(sub("1", t.name)), instanceId="i")
    join(k, "in use, a circle", g, "n", topology(circle(k)), instanceId="i")
    join(k, "in use, offsets twice", g, "n", of, instanceId="i", taskOffsets=TWICE)
    join(k, "in use, illegal name", g, "n", topology(sub("0", "in the way")), instanceId="i")
    for version in (0, 1):
        beat(k, f"of another, too high v{version}", g, "n", 99, version, instanceId="i")
        beat(k, f"unknown instance, too high v{version}", g, "m", 99, version, instanceId="j")
        beat(k, f"of another, foreign tasks v{version}", g, "n", 2, version, instanceId="i", **{**EMPTY, "activeTasks": FOREIGN})
        beat(k, f"its own, too high, foreign tasks v{version}", g, "m", 99, version, instanceId="i", **{**EMPTY, "activeTasks": FOREIGN})
        beat(k, f"leaves for another, foreign tasks v{version}", g, "n", -1, version, instanceId="i", **{**EMPTY, "activeTasks": FOREIGN})
        beat(k, f"away for another v{version}", g, "n", -2, version, instanceId="i")
        beat(k, f"away, unknown instance v{version}", g, "m", -2, version, instanceId="j")
    describe(k, "nothing was changed", g)


def case_streams_order_of_offsets(k):
    """What a refused heartbeat reports is not kept, what a good one reports is."""
    t, g = at_once(k)
    join(k, "first", g, "m", topology(sub("0", t.name)))
    one = [{"subtopologyId": "0", "partition": 1, "offset": 7}]
    beat(k, "too high", g, "m", 99, taskOffsets=one, taskEndOffsets=one)
    beat(k, "foreign tasks", g, "m", 2, **{**EMPTY, "activeTasks": FOREIGN}, taskOffsets=one, taskEndOffsets=one)
    beat(k, "ends twice", g, "m", 2, taskOffsets=one, taskEndOffsets=TWICE)
    describe(k, "none", g)
    beat(k, "good", g, "m", 2, taskOffsets=one, taskEndOffsets=one)
    describe(k, "kept", g)
    beat(k, "of tasks that are none", g, "m", 2, taskOffsets=[{"subtopologyId": "no", "partition": 3, "offset": 5}])
    describe(k, "replaced", g)
