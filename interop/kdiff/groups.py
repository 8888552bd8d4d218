"""Offsets, streams groups, listings and deletions of groups: right and wrong questions."""

EPOCHLESS = {"generationIdOrMemberEpoch": -1}


def commit(group, *topics, **more):
    return {"groupId": group, **EPOCHLESS, "topics": list(topics), **more}


def place(topic, *partitions, name=None, id=None):
    return {"name": name or topic.name, "topicId": id or topic.id,
            "partitions": [{"partitionIndex": p, "committedOffset": 10 + p, "committedMetadata": "m"} for p in partitions]}


def all_offsets(k, label, group, version=8):
    answer = k.send("OffsetFetch", version, {"groups": [{"groupId": group, "topics": None}]})
    for found in answer["groups"]:
        found["topics"].sort(key=lambda topic: topic["name"])
    k.step(label, answer)


def case_offset_commit_partly_wrong(k):
    """Unknown topics and partitions beside good ones."""
    a, b, g = k.topic("a", partitions=2), k.topic("b"), k.group()
    gone = k.topic("gone")
    k.send("DeleteTopics", 6, {"timeoutMs": 5000, "topics": [{"name": gone.name}]})
    k.until(lambda: k.send("Metadata", 12, {"topics": [{"name": gone.name}], "allowAutoTopicCreation": False})["topics"][0]["errorCode"] == 3)
    for version in (2, 5, 9, 10):
        k.call(f"v{version}", "OffsetCommit", version, commit(g, place(a, 0, 7, 1), place(gone, 0), place(b, 0, -1)))
    k.call("nothing good, unknown member", "OffsetCommit", 9,
           commit(g, place(gone, 0), generationIdOrMemberEpoch=3, memberId="nobody"))
    k.call("no topics", "OffsetCommit", 9, commit(g))
    all_offsets(k, "stored", g)


def case_offset_commit_metadata(k):
    """Null, empty, and the length in UTF-16 units."""
    t, g = k.topic(partitions=5), k.group()
    texts = (None, "", "m" * 4096, "\U0001F600" * 2048, "\U0001F600" * 2049)
    partitions = [{"partitionIndex": i, "committedOffset": -5 + i, "committedMetadata": text} for i, text in enumerate(texts)]
    k.call("commit", "OffsetCommit", 8, commit(g, {"name": t.name, "partitions": partitions}))
    all_offsets(k, "stored", g)


def case_offset_commit_unknown_group(k):
    """Epochs of a group that is not there."""
    t = k.topic()
    for version in (8, 9, 10):
        g = k.group(f"g{version}")
        k.call(f"epoch v{version}", "OffsetCommit", version, commit(g, place(t, 0), generationIdOrMemberEpoch=1, memberId="nobody"))
        k.call(f"member v{version}", "OffsetCommit", version, commit(g, place(t, 0), memberId="nobody"))


def case_offset_fetch_wrong(k):
    """Unknown topics, partitions and members."""
    t, g = k.topic(), k.group()
    k.send("OffsetCommit", 8, commit(g, place(t, 0)))
    for version in range(1, 8):
        k.call(f"v{version}", "OffsetFetch", version, {"groupId": g, "topics": [
            {"name": k.name("nobody"), "partitionIndexes": [0]}, {"name": t.name, "partitionIndexes": [9, 0]}]})
    k.call("all v7", "OffsetFetch", 7, {"groupId": g, "topics": None})
    k.call("none v7", "OffsetFetch", 7, {"groupId": g, "topics": []})
    k.call("unknown id", "OffsetFetch", 10, {"groups": [{"groupId": g, "topics": [
        {"topicId": "AAAAAAAAAAAAAAAAAAAABw", "partitionIndexes": [0]}, {"topicId": t.id, "partitionIndexes": [0]}]}]})
    k.call("all v10", "OffsetFetch", 10, {"groups": [{"groupId": g, "topics": None}]})
    k.call("member of a simple group", "OffsetFetch", 9, {"groups": [
        {"groupId": g, "memberId": "nobody", "memberEpoch": 3, "topics": [{"name": t.name, "partitionIndexes": [0]}]}]})
    k.call("two groups", "OffsetFetch", 8, {"requireStable": True, "groups": [
        {"groupId": g, "topics": [{"name": t.name, "partitionIndexes": [0]}]},
        {"groupId": k.group("other"), "topics": [{"name": t.name, "partitionIndexes": [0]}]}]})


def case_offset_delete(k):
    t, u, g = k.topic(partitions=2), k.topic("u"), k.group()

    def delete(label, group, *topics):
        body = {"groupId": group, "topics": [{"name": n, "partitions": [{"partitionIndex": p} for p in ps]} for n, ps in topics]}
        k.call(label, "OffsetDelete", 0, body)
    delete("unknown group", k.group("nobody"), (t.name, [0]))
    delete("empty group", "", (t.name, [0]))
    k.send("OffsetCommit", 8, commit(g, place(t, 0, 1), place(u, 0)))
    delete("mixed", g, (t.name, [0, 7]), (k.name("nobody"), [0]), (u.name, [0]))
    delete("again", g, (t.name, [0]))
    delete("nothing", g)
    all_offsets(k, "left", g)


def case_groups_simple(k):
    """A group without members: listed, described, deleted."""
    t, g = k.topic(), k.group()
    k.send("OffsetCommit", 8, commit(g, place(t, 0)))
    for version in range(6):
        answer = k.send("ListGroups", version, {})
        answer["groups"] = k.mine(answer["groups"], "groupId")
        k.step(f"list v{version}", answer)
    for label, body in (("Empty", {"statesFilter": ["Empty"]}), ("stable", {"statesFilter": ["Stable"]}), ("no such state", {"statesFilter": ["x"]}),
                        ("classic", {"typesFilter": ["Classic"]}), ("streams", {"typesFilter": ["streams"]}),
                        ("no such type", {"typesFilter": ["x"]})):
        answer = k.send("ListGroups", 5, body)
        answer["groups"] = k.mine(answer["groups"], "groupId")
        k.step(f"list {label}", answer)
    k.each_version("describe", "DescribeGroups", {"groups": [g]})
    k.call("describe with rights", "DescribeGroups", 5, {"groups": [g, ""], "includeAuthorizedOperations": True})
    k.call("streams describe", "StreamsGroupDescribe", 1, {"groupIds": [g]})
    k.call("delete", "DeleteGroups", 2, {"groupsNames": [g, k.group("nobody")]})
    k.call("delete again", "DeleteGroups", 2, {"groupsNames": [g]})
    k.call("delete empty", "DeleteGroups", 2, {"groupsNames": [""]})
    all_offsets(k, "gone", g)


def joining(group, topology, **more):
    return {"groupId": group, "memberId": "member-one-of-kdiff-00", "memberEpoch": 0, "rebalanceTimeoutMs": 60000, "topology": topology,
            "activeTasks": [], "standbyTasks": [], "warmupTasks": [], "processId": "process-one", "clientTags": [], **more}


def topology(*subtopologies, epoch=0):
    return {"epoch": epoch, "subtopologies": list(subtopologies)}


def sub(*sources, id="0", **more):
    return {"subtopologyId": id, "sourceTopics": list(sources), **more}


def internal(name, partitions=0):
    return {"name": name, "partitions": partitions, "replicationFactor": 0, "topicConfigs": []}


def case_streams_topology_names(k):
    """What the topology may not name."""
    t = k.topic()

    def join(label, *subs):
        for version in range(2):
            g = k.group(label.replace(" ", "-") + str(version))
            k.call(f"{label} v{version}", "StreamsGroupHeartbeat", version, joining(g, topology(*subs)))
    join("internal", sub("__consumer_offsets"))
    join("internal sink", sub(t.name, repartitionSinkTopics=["__transaction_state"]))
    join("illegal", sub("a/b"))
    join("illegal changelog", sub(t.name, stateChangelogTopics=[internal("..")]))
    join("empty name", sub(""))
    join("pattern", sub(t.name, sourceTopicRegex=["a.*"]))
    join("changelog with partitions", sub(t.name, stateChangelogTopics=[internal("c", 3)]))
    join("no subtopologies")
    join("id twice", sub(t.name), sub(t.name))


def case_streams_heartbeat_wrong(k):
    t, g = k.topic(), k.group()
    good = topology(sub(t.name))
    for label, change in (
            ("no group", {"groupId": ""}), ("no member", {"memberId": ""}), ("no rebalance timeout", {"rebalanceTimeoutMs": -1}),
            ("epoch -3", {"memberEpoch": -3}), ("owned while joining", {"activeTasks": [{"subtopologyId": "0", "partitions": [0]}]}),
            ("null active", {"activeTasks": None}), ("rack", {"rackId": ""}), ("instance", {"instanceId": ""}),
            ("unknown group", {"memberEpoch": 4, "topology": None}), ("leave nothing", {"memberEpoch": -1, "topology": None}),
            ("topology later", {"memberEpoch": 2})):
        k.call(label, "StreamsGroupHeartbeat", 1, {**joining(g, good), **change})


def case_streams_simple_group_is_taken(k):
    """A group of offsets only becomes a streams group, and keeps them."""
    t, g = k.topic(), k.group()
    k.send("OffsetCommit", 8, commit(g, place(t, 0)))
    k.call("join", "StreamsGroupHeartbeat", 1, joining(g, topology(sub(t.name))))
    all_offsets(k, "kept", g)
    k.call("commit from outside", "OffsetCommit", 9, commit(g, place(t, 0)))
    k.call("fetch of nobody", "OffsetFetch", 9, {"groups": [
        {"groupId": g, "memberId": "nobody", "memberEpoch": 1, "topics": [{"name": t.name, "partitionIndexes": [0]}]}]})
    k.call("delete offset", "OffsetDelete", 0, {"groupId": g, "topics": [{"name": t.name, "partitions": [{"partitionIndex": 0}]}]})
    k.call("delete group", "DeleteGroups", 2, {"groupsNames": [g]})
    k.call("classic describe", "DescribeGroups", 6, {"groups": [g]})
    answer = k.send("ListGroups", 5, {"typesFilter": ["Streams"]})
    k.step("listed", k.mine(answer["groups"], "groupId"), drop=["groupState"])
    k.call("leave", "StreamsGroupHeartbeat", 1, {"groupId": g, "memberId": "member-one-of-kdiff-00", "memberEpoch": -1})
    k.call("delete offset then", "OffsetDelete", 0, {"groupId": g, "topics": [{"name": t.name, "partitions": [{"partitionIndex": 0}]}]})
    k.call("delete group then", "DeleteGroups", 2, {"groupsNames": [g]})


def case_metadata_odd(k):
    """Names that may not be, ids that are not there, topics asked for twice."""
    t = k.topic(partitions=2)
    for version in (4, 9, 12, 13):
        for creation in (False, True):
            k.call(f"illegal v{version} {creation}", "Metadata", version, {"topics": [{"name": "a/b"}, {"name": ""}], "allowAutoTopicCreation": creation})
    k.call("twice", "Metadata", 12, {"topics": [{"name": t.name}, {"name": t.name}]})
    unknown = {"name": None, "topicId": "AAAAAAAAAAAAAAAAAAAABw"}
    k.call("unknown id", "Metadata", 12, {"topics": [unknown]})
    k.call("ids twice", "Metadata", 12, {"topics": [unknown, unknown, {"name": None, "topicId": t.id}]})
    k.call("id and name", "Metadata", 12, {"topics": [{"name": t.name}, unknown]})
    k.call("neither", "Metadata", 12, {"topics": [{"name": None}]})
    k.call("id too early", "Metadata", 10, {"topics": [{"name": t.name, "topicId": t.id}]})
    k.call("no topics", "Metadata", 12, {"topics": []})
    k.call("operations", "Metadata", 8, {"topics": [{"name": t.name}], "includeTopicAuthorizedOperations": True,
                                         "includeClusterAuthorizedOperations": True})
    k.call("partitions", "DescribeTopicPartitions", 0, {"topics": [{"name": t.name}, {"name": k.name("nobody")}, {"name": "a/b"}],
                                                        "responsePartitionLimit": 2000}, epochs=False)
    k.call("page", "DescribeTopicPartitions", 0, {"topics": [{"name": t.name}], "responsePartitionLimit": 1}, epochs=False)
    k.call("next page", "DescribeTopicPartitions", 0, {"topics": [{"name": t.name}], "responsePartitionLimit": 1,
                                                       "cursor": {"topicName": t.name, "partitionIndex": 1}}, epochs=False)
    k.call("bad cursor", "DescribeTopicPartitions", 0, {"topics": [{"name": t.name}], "responsePartitionLimit": 1,
                                                        "cursor": {"topicName": t.name, "partitionIndex": -1}}, epochs=False)


def case_metadata_cluster(k):
    for version in range(3):
        for kind in (1, 2) if version else (1,):
            k.call(f"v{version} {kind}", "DescribeCluster", version, {"includeClusterAuthorizedOperations": True, "endpointType": kind})


def case_metadata_coordinator(k):
    """Where groups are, in every version; keys that are none."""
    g = k.group()
    for version in range(7):
        body = {"key": g, "keyType": 0} if version < 4 else {"coordinatorKeys": [g, ""], "keyType": 0}
        k.call(f"v{version}", "FindCoordinator", version, body)
    k.call("unknown type", "FindCoordinator", 4, {"coordinatorKeys": [g], "keyType": 9})
    k.call("unknown type v2", "FindCoordinator", 2, {"key": g, "keyType": 9})
    k.call("no keys", "FindCoordinator", 4, {"coordinatorKeys": [], "keyType": 0})
