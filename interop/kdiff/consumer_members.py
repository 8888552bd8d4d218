"""ConsumerGroupHeartbeat, one question a case: form, ids, epochs, subscriptions, assignors, revocation, static members
(classic-and-consumer-groups.md 12 to 17)."""

from consumer_groups import HEARTBEAT, at_once, heartbeat, joining, owned

MAX = 2**31 - 1
NOBODY = "AAAAAAAAAAAAAAAAAAAABw"


def ask(k, label, body, version=1):
    return k.call(f"{label} v{version}", HEARTBEAT, version, body)


def describe(k, label, *groups, version=1, **more):
    k.call(f"{label} v{version}", "ConsumerGroupDescribe", version, {"groupIds": list(groups), **more})


def ready(k, partitions=1, base="g"):
    return k.topic(base + "-t", partitions=partitions), at_once(k, k.group(base))


def case_consumer_checks_in_order(k):
    """Each fault beside the next one: the first is told. The first fault that is not mended is the answer's."""
    t, g = k.topic(), k.group()
    faults = ({"memberId": " "}, {"groupId": " "}, {"instanceId": " "}, {"rackId": " "}, {"rebalanceTimeoutMs": -1}, {"topicPartitions": None},
              {"subscribedTopicNames": None}, {"serverAssignor": "none"})
    messages = ("MemberId", "GroupId", "InstanceId", "RackId", "RebalanceTimeoutMs", "TopicPartitions", "Subscribed", "ssignor")
    for version in (0, 1):
        for first in range(len(faults)):
            body = joining(g, "m", t)
            for fault in faults[first:]:
                body |= fault
            answer = k.send(HEARTBEAT, version, body)
            k.step(f"from {first} v{version}", [answer["errorCode"], [m for m in messages if m in (answer["errorMessage"] or "")][:1]])


def case_consumer_checks_by_epoch(k):
    """What must be there at which epoch."""
    g = k.group()
    for version in (0, 1):
        for epoch in (-4, -3, -2, -1, 0, 1, MAX, -MAX - 1):
            for label, body in (("bare", {}), ("no id", {"memberId": ""}), ("instance", {"instanceId": "i"}), ("owned", {"topicPartitions": [
                    {"topicId": NOBODY, "partitions": [0]}]}), ("timeout", {"rebalanceTimeoutMs": 5}), ("assignor", {"serverAssignor": "none"})):
                ask(k, f"{epoch} {label}", heartbeat(g, "m", epoch) | body, version)
    describe(k, "nothing", g)


def case_consumer_ids_of_the_client(k):
    """Any name that is not blank is an id."""
    t = k.topic()
    for number, id in enumerate(("m", " m ", "a/b", "ü\U0001F600", "\u0000", "m" * 36, "m" * 5000, "\u00a0", "0")):
        for version in (0, 1):
            g = at_once(k, k.group(f"g{number}-{version}"))
            answer = k.send(HEARTBEAT, version, joining(g, id, t))
            k.step(f"join {number} v{version}", {**answer, "memberId": answer["memberId"] == id})
            k.call(f"keep {number} v{version}", HEARTBEAT, version, heartbeat(g, id, 2), drop=["memberId"])


def case_consumer_blank_ids(k):
    """What counts as blank."""
    t, g = k.topic(), k.group()
    for number, blank in enumerate(("", " ", "\t", "\n ", "\u2003", "\u3000", "\u0001", "\u001f ")):
        for version in (0, 1):
            for field in ("groupId", "instanceId", "rackId"):
                body = joining(k.group(f"{field}{number}{version}"), "m", t) | {field: blank}
                k.call(f"{field} {number} v{version}", HEARTBEAT, version, body, only=("errorCode", "errorMessage"))
            k.call(f"id {number} v{version}", HEARTBEAT, version, heartbeat(g, blank, 1), only=("errorCode", "errorMessage"))


def case_consumer_ids_of_the_server(k):
    """Version 0 may ask for an id."""
    t, g = ready(k)
    answer = ask(k, "join", joining(g, "", t), 0)
    ask(k, "keep", heartbeat(g, answer["memberId"], answer["memberEpoch"]), 0)
    ask(k, "keep in version 1", heartbeat(g, answer["memberId"], answer["memberEpoch"]), 1)
    again = k.send(HEARTBEAT, 0, joining(g, "", t))
    k.step("another one", [again["errorCode"], again["memberEpoch"], again["memberId"] != answer["memberId"], len(again["memberId"])])
    ask(k, "static without an id", joining(g, "", t, instanceId="i"), 0)


def case_consumer_unknown(k):
    """Groups and members that are not there, by epoch."""
    t, g = ready(k)
    k.send(HEARTBEAT, 1, joining(g, "m", t))
    for version in (0, 1):
        for epoch in (-2, -1, 1, 2, MAX):
            more = {"instanceId": "i"} if epoch == -2 else {}
            ask(k, f"group {epoch}", heartbeat(k.name("none"), "m", epoch, **more), version)
            ask(k, f"member {epoch}", heartbeat(g, "nobody", epoch, **more), version)
            ask(k, f"instance {epoch}", heartbeat(g, "m", epoch, instanceId="none"), version)
    describe(k, "as before", g)


def case_consumer_unknown_group_by_join(k):
    """A join that is refused makes no group."""
    t = k.topic()
    for label, body in (("assignor", {"serverAssignor": "none"}), ("expression", {"subscribedTopicRegex": "["}), ("owned", {"topicPartitions": owned(t, 0)})):
        g = k.group(label)
        ask(k, label, joining(g, "m", t, **body))
        describe(k, label, g)


def case_consumer_epochs_ahead(k):
    """An epoch that the member has not: nothing changes, also with a subscription beside it."""
    t, g = ready(k, 2)
    u = k.topic("u")
    ask(k, "join", joining(g, "m", t))
    for epoch in (3, 4, 100, MAX):
        ask(k, f"{epoch}", heartbeat(g, "m", epoch))
        ask(k, f"{epoch} full", {**joining(g, "m", u), "memberEpoch": epoch})
    ask(k, "keep", heartbeat(g, "m", 2))
    describe(k, "as before", g)


def case_consumer_epochs_behind(k):
    """The epoch before, with what was owned then, is a lost answer; anything else is fenced."""
    t, g = ready(k, 4)
    u = k.topic("u", partitions=2)
    ask(k, "join", joining(g, "m", t))
    ask(k, "more", heartbeat(g, "m", 2, subscribedTopicNames=[t.name, u.name]))
    for epoch in (1, 2, 3):
        for label, own in (("untold", None), ("nothing", []), ("part", owned(t, 0, 1)), ("all", owned(t, 0, 1, 2, 3)), ("all and more", owned(t, 0, 1, 2, 3, 9)),
                           ("everything", owned(t, 0, 1, 2, 3) + owned(u, 0, 1)), ("a stranger's", [{"topicId": NOBODY, "partitions": [0]}])):
            ask(k, f"{epoch} {label}", heartbeat(g, "m", epoch, topicPartitions=own))


def case_consumer_epochs_of_a_rejoin(k):
    """Epoch 0 is always taken: the same subscription changes no epoch, another one does."""
    t, g = ready(k, 2)
    u = k.topic("u")
    for version in (0, 1):
        for label, topics in (("first", (t,)), ("same", (t,)), ("doubled", (t, t)), ("more", (t, u)), ("other order", (u, t)), ("less", (u,))):
            ask(k, label, joining(g, "m", *topics), version)
    describe(k, "at last", g)


def case_consumer_answers_with_assignment(k):
    """An assignment is told to who joins, who says all, and who gets another one."""
    t, g = ready(k, 2)
    ask(k, "join", joining(g, "m", t))
    full = {**joining(g, "m", t), "memberEpoch": 2}
    ask(k, "full", full)
    for left in ("rebalanceTimeoutMs", "topicPartitions", "subscribedTopicNames"):
        ask(k, f"full without {left}", full | {left: -1 if left == "rebalanceTimeoutMs" else None})
    ask(k, "full with an expression", full | {"subscribedTopicNames": None, "subscribedTopicRegex": ""})
    ask(k, "full, owning", full | {"topicPartitions": owned(t, 0, 1)})
    ask(k, "full, owning wrongly", full | {"topicPartitions": owned(t, 0, 7)})
    ask(k, "same names", heartbeat(g, "m", 2, subscribedTopicNames=[t.name]))
    ask(k, "nothing", heartbeat(g, "m", 2))


def case_consumer_subscribes_to_nothing(k):
    """Nothing, something, nothing."""
    t, g = ready(k, 2)
    for version in (0, 1):
        m = f"m{version}"
        ask(k, "join", joining(g, m), version)
        describe(k, "nothing", g, version=version)
        epoch = k.send(HEARTBEAT, version, heartbeat(g, m, -1))["memberEpoch"]
        k.step(f"left v{version}", epoch)
        epoch = ask(k, "join with something", joining(g, m, t), version)["memberEpoch"]
        epoch = ask(k, "gives it up", heartbeat(g, m, epoch, subscribedTopicNames=[]), version)["memberEpoch"]
        epoch = ask(k, "gave it up", heartbeat(g, m, epoch, topicPartitions=[]), version)["memberEpoch"]
        describe(k, "without", g, version=version)
        ask(k, "wants again", heartbeat(g, m, epoch, subscribedTopicNames=[t.name]), version)
        ask(k, "leaves", heartbeat(g, m, -1), version)


def case_consumer_subscribes_to_odd_names(k):
    """Topics that cannot be, are internal, or are not there."""
    for number, names in enumerate((["a/b"], [""], ["__consumer_offsets"], ["n" * 300], ["."], [k.name("none")], ["x", "x"])):
        g = at_once(k, k.group(f"g{number}"))
        for version in (0, 1):
            ask(k, f"join {number}", joining(g, f"m{version}", subscribedTopicNames=names), version)
        describe(k, f"state {number}", g)


def case_consumer_subscribes_in_any_order(k):
    """Order and repetition are no change."""
    t, g = ready(k, 2)
    u = k.topic("u")
    ask(k, "join", joining(g, "m", t, u))
    for number, names in enumerate(([u, t], [t, t, u], [u, u, t, t])):
        ask(k, f"order {number}", heartbeat(g, "m", 2, subscribedTopicNames=[topic.name for topic in names]))
    describe(k, "at last", g)


def case_consumer_waits_for_a_topic(k):
    """A topic that is not there yet is given out when it comes."""
    g, name = at_once(k, k.group()), k.name("late")
    ask(k, "join", joining(g, "m", subscribedTopicNames=[name]))
    ask(k, "keep", heartbeat(g, "m", 2), 1)
    late = k.topic("late", partitions=2)
    k.until(lambda: k.send(HEARTBEAT, 1, heartbeat(g, "m", 0, rebalanceTimeoutMs=60000, topicPartitions=[], subscribedTopicNames=[name]))["memberEpoch"] > 2)
    ask(k, "got it", {**joining(g, "m", late), "memberEpoch": 3})
    describe(k, "at last", g)


def case_consumer_topic_grows(k):
    """More partitions are given out by the next heartbeat."""
    t, g = ready(k, 1)
    ask(k, "join", joining(g, "m", t))
    k.send("CreatePartitions", 3, {"timeoutMs": 10000, "topics": [{"name": t.name, "count": 3, "assignments": None}]})
    found = {}

    def grown():
        found.update(k.send(HEARTBEAT, 1, heartbeat(g, "m", 2)))
        return found["memberEpoch"] == 3
    k.until(grown)
    k.step("grown", found)
    describe(k, "at last", g)


def case_consumer_topic_goes(k):
    """A topic that is deleted is nobody's."""
    t, g = ready(k, 2)
    u = k.topic("u")
    ask(k, "join", joining(g, "m", t, u))
    k.send("DeleteTopics", 6, {"timeoutMs": 10000, "topics": [{"name": u.name}]})
    found = {}

    def gone():
        found.update(k.send(HEARTBEAT, 1, heartbeat(g, "m", 2, topicPartitions=owned(t, 0, 1) + owned(u, 0))))
        return found["assignment"] is not None
    k.until(gone)
    k.step("gone", found)
    ask(k, "gave it up", heartbeat(g, "m", 2, topicPartitions=owned(t, 0, 1)))
    describe(k, "at last", g)


def case_consumer_assignor_names(k):
    """Names of assignors, right, odd and unknown, by a join and later."""
    t = k.topic(partitions=2)
    for number, name in enumerate(("uniform", "range", "UNIFORM", " range", "", "sticky", "org.apache.kafka.coordinator.group.assignor.RangeAssignor", "n" * 1000)):
        for version in (0, 1):
            g = at_once(k, k.group(f"g{number}-{version}"))
            ask(k, f"join {number}", joining(g, "m", t, serverAssignor=name), version)
            describe(k, f"joined {number}", g)
            k.send(HEARTBEAT, version, joining(g, "m", t))
            ask(k, f"later {number}", heartbeat(g, "m", 2, serverAssignor=name), version)
            ask(k, f"leaves {number}", heartbeat(g, "m", -1, serverAssignor=name), version)


def case_consumer_assignor_votes(k):
    """The assignor that most members name counts; the epoch grows when it becomes another one."""
    t, g = ready(k, 3)
    ask(k, "a names none", joining(g, "a", t))
    ask(k, "a names the default", heartbeat(g, "a", 2, serverAssignor="uniform"))
    describe(k, "default", g)
    ask(k, "a names range", heartbeat(g, "a", 2, serverAssignor="range"))
    describe(k, "range", g)
    ask(k, "b joins, range", joining(g, "b", t, serverAssignor="range"))
    ask(k, "c joins, uniform", joining(g, "c", t, serverAssignor="uniform"))
    describe(k, "two to one", g)
    ask(k, "a leaves", heartbeat(g, "a", -1))
    ask(k, "b leaves", heartbeat(g, "b", -1))
    describe(k, "one", g)
    ask(k, "c again", heartbeat(g, "c", 4))


def case_consumer_racks(k):
    """A rack is kept and shown, and changes no epoch."""
    t, g = ready(k, 2)
    for version in (0, 1):
        m = f"m{version}"
        epoch = ask(k, "join", joining(g, m, t, rackId="r1"), version)["memberEpoch"]
        describe(k, "rack", g, version=version)
        ask(k, "another rack", heartbeat(g, m, epoch, rackId="r2"), version)
        ask(k, "no word of it", heartbeat(g, m, epoch), version)
        describe(k, "another rack", g, version=version)
        ask(k, "blank", heartbeat(g, m, epoch, rackId=" "), version)
        ask(k, "rejoins without", joining(g, m, t), version)
        describe(k, "rejoined", g, version=version)
        ask(k, "leaves", heartbeat(g, m, -1), version)


def case_consumer_rebalance_timeouts(k):
    """Which times to rebalance are taken."""
    t = k.topic()
    for timeout in (-MAX - 1, -2, -1, 0, 1, MAX):
        for version in (0, 1):
            g = at_once(k, k.group(f"g{timeout}-{version}"))
            ask(k, f"join {timeout}", joining(g, "m", t, rebalanceTimeoutMs=timeout), version)
            ask(k, f"keep {timeout}", heartbeat(g, "m", 2, rebalanceTimeoutMs=timeout), version)


def case_consumer_revocation_times_out(k):
    """Who does not give up in time is out, and the other one gets it."""
    t, g = ready(k, 2)
    ask(k, "a joins", joining(g, "a", t, rebalanceTimeoutMs=300, serverAssignor="range"))
    ask(k, "b joins", joining(g, "b", t, serverAssignor="range"))
    ask(k, "a is asked", heartbeat(g, "a", 2))
    k.until(lambda: k.send(HEARTBEAT, 1, heartbeat(g, "a", 2))["errorCode"])
    ask(k, "a is out", heartbeat(g, "a", 2))
    ask(k, "b has all", heartbeat(g, "b", 3))
    describe(k, "at last", g)


def case_consumer_revocation_in_parts(k):
    """A member gives up one partition after the other; the other one waits for all it shall get."""
    t, g = ready(k, 4)
    ask(k, "a joins", joining(g, "a", t, serverAssignor="range"))
    ask(k, "b joins", joining(g, "b", t, serverAssignor="range"))
    ask(k, "a is asked", heartbeat(g, "a", 2, topicPartitions=owned(t, 0, 1, 2, 3)))
    ask(k, "a gave one", heartbeat(g, "a", 2, topicPartitions=owned(t, 0, 1, 2)))
    ask(k, "b", heartbeat(g, "b", 3, topicPartitions=[]))
    describe(k, "half way", g)
    ask(k, "a gave more than it must", heartbeat(g, "a", 2, topicPartitions=owned(t, 0)))
    ask(k, "b gets", heartbeat(g, "b", 3, topicPartitions=[]))
    ask(k, "a has", heartbeat(g, "a", 3, topicPartitions=owned(t, 0, 1)))
    describe(k, "at last", g)


def case_consumer_three_members(k):
    """Three come one after the other, and go."""
    t, g = ready(k, 6)
    ask(k, "a joins", joining(g, "a", t, serverAssignor="range"))
    ask(k, "b joins", joining(g, "b", t, serverAssignor="range"))
    ask(k, "c joins", joining(g, "c", t, serverAssignor="range"))
    describe(k, "all", g)
    ask(k, "a is asked", heartbeat(g, "a", 2))
    ask(k, "a gave", heartbeat(g, "a", 2, topicPartitions=owned(t, 0, 1)))
    for member in "bc":
        ask(k, f"{member} gets", heartbeat(g, member, 4))
    describe(k, "stable", g)
    for member in "cab":
        ask(k, f"{member} leaves", heartbeat(g, member, -1))
        describe(k, f"without {member}", g)


def case_consumer_leaves_while_it_revokes(k):
    """What a member had to give up is free when it is gone."""
    t, g = ready(k, 2)
    ask(k, "a joins", joining(g, "a", t, serverAssignor="range"))
    ask(k, "b joins", joining(g, "b", t, serverAssignor="range"))
    ask(k, "a is asked", heartbeat(g, "a", 2))
    ask(k, "a leaves", heartbeat(g, "a", -1))
    ask(k, "b", heartbeat(g, "b", 3))
    describe(k, "at last", g)


def case_consumer_rejoins_while_it_revokes(k):
    t, g = ready(k, 2)
    ask(k, "a joins", joining(g, "a", t, serverAssignor="range"))
    ask(k, "b joins", joining(g, "b", t, serverAssignor="range"))
    ask(k, "a is asked", heartbeat(g, "a", 2))
    ask(k, "a rejoins", joining(g, "a", t, serverAssignor="range"))
    ask(k, "b", heartbeat(g, "b", 3))
    describe(k, "at last", g)


def case_consumer_counts_on(k):
    """The epochs of a group that was empty go on."""
    t, g = ready(k)
    for version in (0, 1):
        for times in range(2):
            ask(k, f"join {times}", joining(g, f"m{times}", t), version)
            ask(k, f"leave {times}", heartbeat(g, f"m{times}", -1), version)
            describe(k, f"empty {times}", g, version=version)


def case_consumer_owned_by_odd_ids(k):
    """What a member says it owns: unknown topics, wrong partitions, doubled ones."""
    t, g = ready(k, 2)
    ask(k, "join", joining(g, "m", t))
    for version in (0, 1):
        for label, own in (("unknown topic", [{"topicId": NOBODY, "partitions": [0]}]), ("no topic", [{"topicId": "AAAAAAAAAAAAAAAAAAAAAA", "partitions": [0]}]),
                           ("no partitions", [{"topicId": t.id, "partitions": []}]), ("negative", owned(t, -1)), ("beyond", owned(t, 9)),
                           ("doubled", owned(t, 0, 0, 1)), ("in two parts", owned(t, 0) + owned(t, 1))):
            ask(k, label, heartbeat(g, "m", 2, topicPartitions=own), version)
    describe(k, "as before", g)


def case_consumer_assignment_interval(k):
    """Within the interval a newcomer gets nothing, and the epoch is ahead of the assignment."""
    t, g = k.topic(partitions=2), k.group()
    name = "consumer.assignment.interval.ms"
    k.send("IncrementalAlterConfigs", 1, {"resources": [{"resourceType": 32, "resourceName": g, "configs": [
        {"name": name, "configOperation": 0, "value": "15000"}]}]})
    k.until(lambda: k.send("DescribeConfigs", 4, {"resources": [{"resourceType": 32, "resourceName": g, "configurationKeys": [name]}]})["results"][0][
        "configs"][0]["value"] == "15000")
    ask(k, "a joins", joining(g, "a", t))
    ask(k, "b joins", joining(g, "b", t))
    ask(k, "a waits", heartbeat(g, "a", 2))
    describe(k, "assigning", g)
    ask(k, "b leaves", heartbeat(g, "b", -1))
    ask(k, "a still waits", heartbeat(g, "a", 2))
    describe(k, "at last", g)


def case_consumer_static_joins(k):
    """The instance is taken, free, away; by the same id and another."""
    t, g = ready(k, 2)
    for version in (0, 1):
        i = f"i{version}"
        ask(k, "first", joining(g, f"a{version}", t, instanceId=i), version)
        ask(k, "same again", joining(g, f"a{version}", t, instanceId=i), version)
        ask(k, "another", joining(g, f"b{version}", t, instanceId=i), version)
        ask(k, "away", heartbeat(g, f"a{version}", -2, instanceId=i), version)
        ask(k, "same back", joining(g, f"a{version}", t, instanceId=i), version)
        ask(k, "away again", heartbeat(g, f"a{version}", -2, instanceId=i), version)
        ask(k, "another back", joining(g, f"b{version}", t, instanceId=i), version)
        describe(k, "back", g, version=version)
        ask(k, "leaves", heartbeat(g, f"b{version}", -1, instanceId=i), version)
        describe(k, "left", g, version=version)


def case_consumer_static_away(k):
    """While a member is away: its epochs, its partitions, what others get, a second departure."""
    t, g = ready(k, 4)
    ask(k, "a joins", joining(g, "a", t, instanceId="i", serverAssignor="range"))
    ask(k, "away", heartbeat(g, "a", -2, instanceId="i"))
    describe(k, "away", g)
    ask(k, "away twice", heartbeat(g, "a", -2, instanceId="i"))
    ask(k, "heartbeat", heartbeat(g, "a", 2, instanceId="i"))
    ask(k, "b joins", joining(g, "b", t, serverAssignor="range"))
    describe(k, "two", g)
    ask(k, "b waits", heartbeat(g, "b", 3))
    ask(k, "a is back", joining(g, "a2", t, instanceId="i", serverAssignor="range"))
    ask(k, "a gave", heartbeat(g, "a2", 2, instanceId="i", topicPartitions=owned(t, 0, 1)))
    describe(k, "at last", g)


def case_consumer_static_wrong(k):
    """Static and dynamic members mixed up, by epoch."""
    t, g = ready(k, 2)
    ask(k, "static", joining(g, "s", t, instanceId="i"))
    ask(k, "dynamic", joining(g, "d", t))
    for version in (0, 1):
        for epoch in (-2, -1, 1, 2, 3, 9):
            ask(k, f"nobody as i {epoch}", heartbeat(g, "nobody", epoch, instanceId="i"), version)
            ask(k, f"dynamic as i {epoch}", heartbeat(g, "d", epoch, instanceId="i"), version)
            ask(k, f"static as j {epoch}", heartbeat(g, "s", epoch, instanceId="j"), version)
    ask(k, "static without instance", heartbeat(g, "s", 2))
    ask(k, "static without instance, ahead", heartbeat(g, "s", 9))
    describe(k, "as before", g)


def case_consumer_static_back_with_changes(k):
    """A member comes back with other topics, another assignor, another rack."""
    t, g = ready(k, 2)
    u = k.topic("u")
    for number, change in enumerate(({"subscribedTopicNames": [u.name]}, {"serverAssignor": "range"}, {"rackId": "r"}, {"rebalanceTimeoutMs": 7}, {})):
        i = f"i{number}"
        ask(k, f"joins {number}", joining(g, "a", t, instanceId=i))
        ask(k, f"away {number}", heartbeat(g, "a", -2, instanceId=i))
        ask(k, f"back {number}", joining(g, "b", t, instanceId=i, **change))
        describe(k, f"back {number}", g)
        ask(k, f"leaves {number}", heartbeat(g, "b", -1, instanceId=i))


def case_consumer_static_leaves_without_its_instance(k):
    """Leaving by the id alone."""
    t, g = ready(k, 2)
    for version in (0, 1):
        ask(k, "joins", joining(g, "a", t, instanceId="i"), version)
        ask(k, "away without instance", heartbeat(g, "a", -2), version)
        ask(k, "leaves", heartbeat(g, "a", -1), version)
        describe(k, "left", g, version=version)


def case_consumer_describe_wrong(k):
    """Groups that are no consumer groups, doubled, nameless; with and without the question for rights."""
    t, g = ready(k)
    simple = k.group("simple")
    k.send(HEARTBEAT, 1, joining(g, "m", t))
    k.send("OffsetCommit", 8, {"groupId": simple, "generationIdOrMemberEpoch": -1, "topics": [
        {"name": t.name, "partitions": [{"partitionIndex": 0, "committedOffset": 7}]}]})
    for version in (0, 1):
        describe(k, "simple", simple, version=version)
        describe(k, "none", k.name("none"), "", version=version)
        describe(k, "doubled", g, g, version=version)
        describe(k, "no groups", version=version)
        describe(k, "rights", g, k.name("none"), version=version, includeAuthorizedOperations=True)


def case_consumer_describe_members(k):
    """Client, host, instance, rack, topics, expression, targets."""
    t, g = ready(k, 2)
    connection = k.connect("some-client")
    connection.send(HEARTBEAT, 1, joining(g, "a", t, instanceId="i", rackId="r", subscribedTopicRegex="none", serverAssignor="range"))
    for version in (0, 1):
        describe(k, "one", g, version=version)
    k.send(HEARTBEAT, 1, heartbeat(g, "a", 2, instanceId="i"))
    describe(k, "another client", g)


def case_consumer_joins_other_types(k):
    """Consumers at groups of other types, by epoch."""
    t = k.topic()
    simple, empty, app = k.group("simple"), k.group("empty"), k.group("app")
    k.send("OffsetCommit", 8, {"groupId": simple, "generationIdOrMemberEpoch": -1, "topics": [
        {"name": t.name, "partitions": [{"partitionIndex": 0, "committedOffset": 7}]}]})
    member = k.send("JoinGroup", 3, {"groupId": empty, "sessionTimeoutMs": 10000, "rebalanceTimeoutMs": 10000, "memberId": "", "protocolType": "sr",
                                     "protocols": [{"name": "v0", "metadata": b""}]})["memberId"]
    for version in (0, 1):
        ask(k, "type that is no consumer", joining(empty, "m", t), version)
    k.send("LeaveGroup", 3, {"groupId": empty, "members": [{"memberId": member}]})
    k.send("StreamsGroupHeartbeat", 0, {
        "groupId": app, "memberId": "member-one-of-kdiff-00", "memberEpoch": 0, "rebalanceTimeoutMs": 60000, "activeTasks": [], "standbyTasks": [],
        "warmupTasks": [], "processId": "p", "clientTags": [], "topology": {"epoch": 0, "subtopologies": [{"subtopologyId": "0", "sourceTopics": [t.name]}]}})
    for label, group in (("simple", simple), ("empty", empty), ("streams", app)):
        for epoch in (-1, 1):
            for version in (0, 1):
                ask(k, f"{label} {epoch}", heartbeat(group, "m", epoch), version)
        ask(k, f"{label} join", joining(group, "m", t))
        describe(k, label, group)
