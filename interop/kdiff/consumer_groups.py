"""Consumer groups (KIP-848): heartbeats, static members, regular expressions, describing, offsets."""

HEARTBEAT = "ConsumerGroupHeartbeat"


def heartbeat(group, member, epoch, **more):
    return {"groupId": group, "memberId": member, "memberEpoch": epoch, **more}


def joining(group, member, *topics, **more):
    return heartbeat(group, member, 0, **{"rebalanceTimeoutMs": 60000, "topicPartitions": [],
                                          "subscribedTopicNames": [t.name for t in topics], **more})


def owned(topic, *partitions):
    return [{"topicId": topic.id, "partitions": list(partitions)}] if partitions else []


def at_once(k, group):
    """No waiting for the assignment interval, so that every answer is the same each time."""
    name = "consumer.assignment.interval.ms"
    k.send("IncrementalAlterConfigs", 1, {"resources": [{"resourceType": 32, "resourceName": group, "configs": [
        {"name": name, "configOperation": 0, "value": "0"}]}]})

    def is_set():
        asked = {"resources": [{"resourceType": 32, "resourceName": group, "configurationKeys": [name]}]}
        return k.send("DescribeConfigs", 4, asked)["results"][0]["configs"][0]["value"] == "0"
    k.until(is_set)
    return group


def case_consumer_form(k):
    """What a heartbeat must look like, each rule alone."""
    t = k.topic()
    for version in range(2):
        g = k.group(f"g{version}")

        def ask(label, body):
            k.call(f"{label} v{version}", HEARTBEAT, version, body)
        ask("no member id", joining(g, "", t) if version else heartbeat(g, "", 3))
        ask("blank member id", heartbeat(g, "  ", -1))
        ask("no group id", joining("", "m", t))
        ask("blank instance id", joining(g, "m", t, instanceId=" "))
        ask("blank rack id", joining(g, "m", t, rackId=""))
        ask("no rebalance timeout", joining(g, "m", t, rebalanceTimeoutMs=-1))
        ask("no partitions", joining(g, "m", t, topicPartitions=None))
        ask("owned partitions", joining(g, "m", t, topicPartitions=owned(t, 0)))
        ask("no subscription", joining(g, "m", t, subscribedTopicNames=None))
        ask("away without instance", heartbeat(g, "m", -2))
        ask("epoch below", heartbeat(g, "m", -3))
        ask("assignor", joining(g, "m", t, serverAssignor="nobody"))
        ask("unknown group", heartbeat(g, "m", 3))
        ask("leave unknown group", heartbeat(g, "m", -1))
        ask("nothing subscribed", joining(g, "m"))
        ask("unknown member", heartbeat(g, "other", 3))
        ask("leave unknown member", heartbeat(g, "other", -1))


def case_consumer_life(k):
    """One member: join, keep, repeat, rejoin, change, leave."""
    t, u = k.topic("t", partitions=3), k.topic("u")
    g = at_once(k, k.group())
    for version in range(2):
        m = f"m{version}"
        epoch = k.call(f"join v{version}", HEARTBEAT, version, joining(g, m, t))["memberEpoch"]
        k.call(f"keep v{version}", HEARTBEAT, version, heartbeat(g, m, epoch))
        full = joining(g, m, t, topicPartitions=owned(t, 0, 1, 2))
        k.call(f"full v{version}", HEARTBEAT, version, {**full, "memberEpoch": epoch})
        k.call(f"rejoin v{version}", HEARTBEAT, version, joining(g, m, t))
        k.call(f"ahead v{version}", HEARTBEAT, version, heartbeat(g, m, epoch + 5))
        more = {"subscribedTopicNames": [t.name, u.name]}
        epoch = k.call(f"more v{version}", HEARTBEAT, version, heartbeat(g, m, epoch, **more))["memberEpoch"]
        k.call(f"less v{version}", HEARTBEAT, version, heartbeat(g, m, epoch, subscribedTopicNames=[u.name]))
        k.call(f"gave up v{version}", HEARTBEAT, version, heartbeat(g, m, epoch, topicPartitions=owned(u, 0)))
        k.call(f"unknown topic v{version}", HEARTBEAT, version,
               heartbeat(g, m, epoch + 1, subscribedTopicNames=[k.name("nobody")], topicPartitions=[]))
        k.call(f"describe v{version}", "ConsumerGroupDescribe", version, {"groupIds": [g]})
        k.call(f"leave v{version}", HEARTBEAT, version, heartbeat(g, m, -1))
        k.call(f"left v{version}", HEARTBEAT, version, heartbeat(g, m, epoch))


def case_consumer_two(k):
    """A second member comes and goes."""
    t = k.topic(partitions=4)
    for assignor in ("uniform", "range"):
        g = at_once(k, k.group(assignor))

        def ask(label, body):
            return k.call(f"{assignor} {label}", HEARTBEAT, 1, body)
        ask("a joins", joining(g, "a", t, serverAssignor=assignor))
        ask("b joins", joining(g, "b", t, serverAssignor=assignor))
        ask("a gives up", heartbeat(g, "a", 2))
        ask("b waits", heartbeat(g, "b", 3))
        k.call(f"{assignor} describe", "ConsumerGroupDescribe", 1, {"groupIds": [g]})
        listed(k, f"{assignor} listed", {"statesFilter": ["Reconciling"]})
        ask("a gave up", heartbeat(g, "a", 2, topicPartitions=owned(t, 0, 1)))
        ask("a again", heartbeat(g, "a", 2, topicPartitions=owned(t, 0, 1)))
        ask("a wrong", heartbeat(g, "a", 2, topicPartitions=owned(t, 0, 1, 2)))
        ask("b gets", heartbeat(g, "b", 3))
        k.call(f"{assignor} stable", "ConsumerGroupDescribe", 1, {"groupIds": [g], "includeAuthorizedOperations": True})
        ask("a leaves", heartbeat(g, "a", -1))
        k.call(f"{assignor} assigning", "ConsumerGroupDescribe", 1, {"groupIds": [g]})
        ask("b alone", heartbeat(g, "b", 3))
        ask("b leaves", heartbeat(g, "b", -1))
        k.call(f"{assignor} empty", "ConsumerGroupDescribe", 1, {"groupIds": [g]})


def listed(k, label, body):
    answer = k.send("ListGroups", 5, body)
    answer["groups"] = k.mine(answer["groups"], "groupId")
    k.step(label, answer)


def case_consumer_static(k):
    """Static members: away, back, replaced, fenced."""
    t = k.topic(partitions=2)
    g = at_once(k, k.group())

    def ask(label, body):
        k.call(label, HEARTBEAT, 1, body)
    ask("joins", joining(g, "s1", t, instanceId="i"))
    ask("taken", joining(g, "s2", t, instanceId="i"))
    ask("rejoins", joining(g, "s1", t, instanceId="i"))
    ask("fenced", heartbeat(g, "s2", 2, instanceId="i"))
    ask("unknown instance", heartbeat(g, "s1", 2, instanceId="j"))
    ask("fenced away", heartbeat(g, "s2", -2, instanceId="i"))
    ask("fenced leave", heartbeat(g, "s2", -1, instanceId="i"))
    ask("away", heartbeat(g, "s1", -2, instanceId="i"))
    k.call("describe away", "ConsumerGroupDescribe", 1, {"groupIds": [g]})
    ask("back", joining(g, "s2", t, instanceId="i"))
    ask("old id", heartbeat(g, "s1", 2, instanceId="i"))
    k.call("describe back", "ConsumerGroupDescribe", 1, {"groupIds": [g]})
    ask("away again", heartbeat(g, "s2", -2, instanceId="i"))
    ask("same id, other assignor", joining(g, "s2", t, instanceId="i", serverAssignor="range"))
    ask("other instance", joining(g, "s2", t, instanceId="j"))
    ask("leaves", heartbeat(g, "s2", -1, instanceId="j"))
    k.call("describe left", "ConsumerGroupDescribe", 1, {"groupIds": [g]})


def case_consumer_regex(k):
    """Subscriptions by regular expression: wrong ones, and one that is resolved."""
    t = k.topic("match", partitions=2)
    pattern = t.name[:-3] + "." + t.name[-2:]
    for number, regex in enumerate(("[", "(", ")", "*", "a**", "a{2,1}", "a{1001}", "\\q", "\\8", "(?=a)", "(?x)a", "[b-a]", "a\\",
                                    "(?P<1-2>a)", "[[:nope:]]", "\\Z", "x{2}{3}")):
        body = joining(k.group(f"r{number}"), "m", subscribedTopicNames=None, subscribedTopicRegex=regex)
        k.call(f"wrong {regex}", HEARTBEAT, 1, body)
    for number, regex in enumerate(("[]a]", "a{,5}", "\\Qa.b\\E", "\\101", "(?i:a)", "[[:alpha:]]+", "\\pN", "[a&&b]", "\\<", "(?<n>a)")):
        body = joining(k.group(f"s{number}"), "m", subscribedTopicNames=None, subscribedTopicRegex=regex)
        k.call(f"right {regex}", HEARTBEAT, 1, body)
    g = at_once(k, k.group())
    k.call("joins", HEARTBEAT, 1, joining(g, "m", subscribedTopicNames=None, subscribedTopicRegex=pattern))
    found = {}

    def resolved():
        found.update(k.send(HEARTBEAT, 1, heartbeat(g, "m", 1)))
        return found["memberEpoch"] == 2
    k.until(resolved)
    k.step("resolved", found)
    k.call("joins after", HEARTBEAT, 1, joining(g, "n", subscribedTopicNames=None, subscribedTopicRegex=pattern))
    k.call("gives up", HEARTBEAT, 1, heartbeat(g, "m", 2))
    k.call("clears", HEARTBEAT, 1, heartbeat(g, "m", 2, subscribedTopicRegex=""))
    k.call("gave up", HEARTBEAT, 1, heartbeat(g, "m", 2, topicPartitions=[]))


def case_consumer_offsets(k):
    """Commits and fetches of members, by every version that knows them."""
    t = k.topic(partitions=2)
    g = at_once(k, k.group())
    k.send(HEARTBEAT, 1, joining(g, "a", t))
    k.send(HEARTBEAT, 1, joining(g, "b", t))
    k.send(HEARTBEAT, 1, heartbeat(g, "a", 2))

    def commit(label, member, epoch, *partitions):
        for version in (8, 9, 10):
            body = {"groupId": g, "memberId": member, "generationIdOrMemberEpoch": epoch, "topics": [
                {"name": t.name, "topicId": t.id, "partitions": [{"partitionIndex": p, "committedOffset": p} for p in partitions]}]}
            k.call(f"{label} v{version}", "OffsetCommit", version, body)

    def fetch(label, member, epoch):
        for version in (9, 10):
            k.call(f"{label} v{version}", "OffsetFetch", version, {"groups": [{"groupId": g, "memberId": member, "memberEpoch": epoch, "topics": [
                {"name": t.name, "topicId": t.id, "partitionIndexes": [0, 1]}]}]})
    commit("its epoch", "a", 2, 0, 1)
    commit("ahead", "a", 3, 0)
    commit("nobody", "", -1, 0)
    commit("unknown", "x", 2, 0)
    k.send(HEARTBEAT, 1, heartbeat(g, "a", 2, topicPartitions=owned(t, 0)))
    k.send(HEARTBEAT, 1, heartbeat(g, "b", 3))
    commit("older, still held", "a", 2, 0)
    commit("older, given up", "a", 2, 0, 1)
    commit("much older", "a", 1, 0)
    commit("older than its assignment", "b", 2, 1)
    fetch("its epoch", "a", 3)
    fetch("older", "a", 2)
    fetch("unknown", "x", 3)
    fetch("empty id", "", 3)
    fetch("no member", None, -1)
    delete = {"groupId": g, "topics": [{"name": t.name, "partitions": [{"partitionIndex": 0}]}]}
    k.call("delete subscribed", "OffsetDelete", 0, delete)
    k.call("delete group", "DeleteGroups", 2, {"groupsNames": [g]})
    for member in "ab":
        k.send(HEARTBEAT, 1, heartbeat(g, member, -1))
    commit("empty", "", -1, 0)
    commit("empty, with an epoch", "a", 3, 0)
    k.call("delete left", "OffsetDelete", 0, delete)
    k.call("delete empty group", "DeleteGroups", 2, {"groupsNames": [g]})
    k.call("describe deleted", "ConsumerGroupDescribe", 1, {"groupIds": [g, ""]})


def case_consumer_among_types(k):
    """Consumer groups asked about by the APIs of other types, and the other way round."""
    t, g, simple = k.topic(), k.group(), k.group("simple")
    k.send(HEARTBEAT, 1, joining(g, "m", t))
    for version in (5, 6):
        k.call(f"describe v{version}", "DescribeGroups", version, {"groups": [g]})
    k.call("streams describe", "StreamsGroupDescribe", 0, {"groupIds": [g]})
    k.call("classic heartbeat", "Heartbeat", 4, {"groupId": g, "memberId": "nobody", "generationId": 2})
    streams = {"groupId": g, "memberId": "member-one-of-kdiff-00", "memberEpoch": 0, "rebalanceTimeoutMs": 60000,
               "topology": {"epoch": 0, "subtopologies": [{"subtopologyId": "0", "sourceTopics": [t.name]}]},
               "activeTasks": [], "standbyTasks": [], "warmupTasks": [], "processId": "p", "clientTags": []}
    k.call("streams heartbeat", "StreamsGroupHeartbeat", 0, streams)
    app = k.group("app")
    k.send("StreamsGroupHeartbeat", 0, {**streams, "groupId": app})
    k.call("heartbeat of a streams group", HEARTBEAT, 1, joining(app, "m", t))
    k.call("keep in a streams group", HEARTBEAT, 1, heartbeat(app, "m", 2))
    k.call("leave a streams group", HEARTBEAT, 1, heartbeat(app, "m", -1))
    k.call("consumer describe", "ConsumerGroupDescribe", 1, {"groupIds": [app, k.group("nobody")]})
    place = {"name": t.name, "partitions": [{"partitionIndex": 0, "committedOffset": 7}]}
    k.send("OffsetCommit", 8, {"groupId": simple, "generationIdOrMemberEpoch": -1, "topics": [place]})
    k.call("keep in a simple group", HEARTBEAT, 1, heartbeat(simple, "m", 2))
    k.call("takes a simple group", HEARTBEAT, 1, joining(simple, "m", t))
    k.call("its offsets", "OffsetFetch", 8, {"groups": [{"groupId": simple, "topics": None}]})
    listed(k, "consumers", {"typesFilter": ["consumer"]})
