"""Static members of streams groups, and descriptions of topologies that nobody keeps."""

EMPTY = {"activeTasks": [], "standbyTasks": [], "warmupTasks": []}


def at_once(k):
    """A topic and a group whose assignments wait for nothing."""
    t, g = k.topic(partitions=4), k.group()
    configs = [{"name": name, "configOperation": 0, "value": "0"}
               for name in ("streams.initial.rebalance.delay.ms", "streams.assignment.interval.ms")]
    k.send("IncrementalAlterConfigs", 1, {"resources": [{"resourceType": 32, "resourceName": g, "configs": configs}]})
    k.until(lambda: all(it["value"] == "0" for it in described(k, g) if it["name"] in [it["name"] for it in configs]))
    k.pause(0.5)    # Kafka's coordinator hears of settings later than DescribeConfigs
    return t, g


def described(k, g):
    return k.send("DescribeConfigs", 4, {"resources": [{"resourceType": 32, "resourceName": g}]})["results"][0]["configs"]


def beats(k, g):
    """Functions that join and heartbeat."""
    def beat(label, member, epoch, version=1, **more):
        return k.call(label, "StreamsGroupHeartbeat", version, {"groupId": g, "memberId": member, "memberEpoch": epoch, **more})

    def join(label, topic, member, instance=None, process="process-one", version=1, **more):
        return beat(label, member, 0, version, instanceId=instance, rebalanceTimeoutMs=60000, processId=process, clientTags=[],
                    topology={"epoch": 0, "subtopologies": [{"subtopologyId": "0", "sourceTopics": [topic.name]}]}, **EMPTY, **more)
    return join, beat


def describe(k, label, g):
    answer = k.send("StreamsGroupDescribe", 1, {"groupIds": [g]})
    k.step(label, answer)


def case_streams_static_return(k):
    """Away for a while, and back under another member id."""
    t, g = at_once(k)
    join, beat = beats(k, g)
    join("join", t, "m1", "i1")
    beat("away", "m1", -2, instanceId="i1")
    beat("away again", "m1", -2, instanceId="i1")
    describe(k, "described away", g)
    join("back", t, "m2", "i1")
    beat("the old one", "m1", 2, instanceId="i1")
    beat("the old one, dynamic", "m1", 2)
    beat("goes on", "m2", 2, instanceId="i1")
    describe(k, "described back", g)
    beat("away once more", "m2", -2, instanceId="i1")
    join("another process", t, "m3", "i1", "process-two")
    beat("away with it", "m3", -2, instanceId="i1")
    join("another rack", t, "m3", "i1", "process-two", rackId="r2")
    beat("leaves", "m3", -1, instanceId="i1")
    describe(k, "described empty", g)


def case_streams_static_refused(k):
    """Instance ids that are in use, unknown, or another member's."""
    t, g = at_once(k)
    join, beat = beats(k, g)
    join("join", t, "m1", "i1")
    for version in (0, 1):
        join(f"in use v{version}", t, "m2", "i1", version=version)
        join(f"in use by itself v{version}", t, "m1", "i1", version=version)
        beat(f"another's v{version}", "m2", 1000, version, instanceId="i1")
        beat(f"unknown v{version}", "m1", 2, version, instanceId="i2")
        beat(f"unknown goes away v{version}", "m1", -2, version, instanceId="i2")
        beat(f"unknown leaves v{version}", "m1", -1, version, instanceId="i2")
        beat(f"another goes away v{version}", "m2", -2, version, instanceId="i1")
        beat(f"another leaves v{version}", "m2", -1, version, instanceId="i1")
        beat(f"away without an id v{version}", "m1", -2, version)


def case_streams_static_beside_dynamic(k):
    """A dynamic member gets no task of one that is away, and takes part when it is back."""
    t, g = at_once(k)
    join, beat = beats(k, g)
    join("static", t, "m1", "i1")
    beat("away", "m1", -2, instanceId="i1")
    join("dynamic", t, "m2", process="process-two")
    beat("waits", "m2", 3)
    describe(k, "described", g)
    join("back", t, "m3", "i1")
    beat("receives", "m2", 3)
    beat("goes on", "m3", 3, instanceId="i1")


def case_streams_static_renamed(k):
    """A member takes another instance id."""
    t, g = at_once(k)
    join, beat = beats(k, g)
    join("join", t, "m1", "i1")
    join("renamed", t, "m1", "i2")
    beat("the first id", "m1", 3, instanceId="i1")
    beat("the second id", "m1", 3, instanceId="i2")
    join("the first is free", t, "m2", "i1", "process-two")


def case_streams_static_endpoints(k):
    """The endpoint of a member that comes back."""
    t, g = at_once(k)
    join, beat = beats(k, g)
    join("dynamic", t, "m0")
    beat("dynamic leaves", "m0", -1)
    join("without", t, "m1", "i1", endpointInformationEpoch=0)
    beat("away", "m1", -2, instanceId="i1")
    join("with", t, "m2", "i1", userEndpoint={"host": "one", "port": 1}, endpointInformationEpoch=0)
    beat("away with", "m2", -2, instanceId="i1")
    join("other", t, "m3", "i1", userEndpoint={"host": "two", "port": 2}, endpointInformationEpoch=1)
    beat("away other", "m3", -2, instanceId="i1")
    join("none", t, "m4", "i1", endpointInformationEpoch=2)


def case_streams_description_without_plugin(k):
    """Nobody is asked, nothing is kept."""
    t, g = at_once(k)
    join, _ = beats(k, g)
    join("join", t, "m1")
    k.call("update", "StreamsGroupTopologyDescriptionUpdate", 0, {"groupId": g, "memberId": "m1", "topologyEpoch": 0,
           "topologyDescription": {"subtopologies": [], "globalStores": []}})
    k.call("described", "StreamsGroupDescribe", 1, {"groupIds": [g], "includeTopologyDescription": True})
