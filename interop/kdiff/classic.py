"""Classic groups: joins, syncs, heartbeats and leaves, right and wrong, of dynamic and static members."""


def joining(group, member="", protocols=(("range", b"meta"),), **more):
    return {"groupId": group, "sessionTimeoutMs": 60000, "rebalanceTimeoutMs": 60000, "memberId": member, "protocolType": "consumer",
            "protocols": [{"name": n, "metadata": m} for n, m in protocols], **more}


def syncing(group, generation, member, assignments=(), **more):
    return {"groupId": group, "generationId": generation, "memberId": member,
            "assignments": [{"memberId": m, "assignment": a} for m, a in assignments], **more}


def assigned(k, group, clients=1, version=3, **more):
    """A stable group of members that join one after the other; gives generation and member ids."""
    members = []
    for _ in range(clients):
        connection = k.connect("c")
        if members:
            parked = connection.post("JoinGroup", version, joining(group, **more))
            k.until(lambda: k.send("Heartbeat", 3, {"groupId": group, "generationId": generation, "memberId": members[0]})["errorCode"] == 27)
            again = k.send("JoinGroup", version, joining(group, members[0], **more))
            generation, member = again["generationId"], parked.result(10)["memberId"]
        else:
            first = connection.send("JoinGroup", version, joining(group, **more))
            generation, member = first["generationId"], first["memberId"]
        members.append(member)
        k.send("SyncGroup", 3, syncing(group, generation, members[0], [(m, b"of %d" % i) for i, m in enumerate(members)]))
    return generation, members


def case_classic_join_versions(k):
    """The first join of a group in every version, and what is left of it."""
    for version in range(10):
        g = k.group(f"v{version}")
        answer = k.call(f"join v{version}", "JoinGroup", version, joining(g))
        if version >= 4:
            answer = k.call(f"join with the id v{version}", "JoinGroup", version, joining(g, answer["memberId"]))
        k.call(f"again v{version}", "JoinGroup", version, joining(g, answer["memberId"]))
        k.call(f"nobody v{version}", "JoinGroup", version, joining(g, "nobody"))
        k.call(f"describe v{version}", "DescribeGroups", 5, {"groups": [g]})


def case_classic_join_wrong(k):
    g = k.group()
    for version in (0, 3, 5, 7, 9):
        k.call(f"no group v{version}", "JoinGroup", version, joining("", "nobody"))
        k.call(f"short session v{version}", "JoinGroup", version, joining(g, "nobody", sessionTimeoutMs=5999))
        k.call(f"long session v{version}", "JoinGroup", version, joining(g, sessionTimeoutMs=1800001))
        k.call(f"unknown member v{version}", "JoinGroup", version, joining(g, "nobody"))
    k.call("is not there", "DescribeGroups", 6, {"groups": [g]})
    k.call("no type", "JoinGroup", 5, joining(g, protocolType=""))
    k.call("no protocols", "JoinGroup", 5, joining(g, protocols=()))
    k.call("is there", "DescribeGroups", 6, {"groups": [g]})
    generation, members = assigned(k, g)
    k.call("other type", "JoinGroup", 5, joining(g, protocolType="connect"))
    k.call("other protocol", "JoinGroup", 5, joining(g, protocols=(("sticky", b""),)))
    k.call("unknown instance", "JoinGroup", 5, joining(g, members[0], groupInstanceId="i"))


def case_classic_protocol_choice(k):
    """The choice of most members among those that all know."""
    g = k.group()
    liked = (("range", b"r"), ("roundrobin", b"o"))
    first = k.send("JoinGroup", 3, joining(g, protocols=liked))
    others = [k.connect(f"c{i}").post("JoinGroup", 3, joining(g, protocols=(("blah", b"b"), *reversed(liked)))) for i in range(2)]
    k.until(lambda: len(k.send("DescribeGroups", 5, {"groups": [g]})["groups"][0]["members"]) == 3)
    again = k.send("JoinGroup", 3, joining(g, first["memberId"], protocols=liked))
    for name, answer in (("leader", again), *((f"follower {i}", it.result(10)) for i, it in enumerate(others))):
        k.step(name, {key: answer[key] for key in ("errorCode", "generationId", "protocolName")})
    k.step("metadata", sorted(member["metadata"].decode() for member in again["members"]))


def case_classic_sync_wrong(k):
    g = k.group()
    generation, members = assigned(k, g)
    member = members[0]
    for version in range(6):
        both = {"protocolType": "consumer", "protocolName": "range"} if version > 4 else {}
        k.call(f"right v{version}", "SyncGroup", version, syncing(g, generation, member, **both))
        k.call(f"generation v{version}", "SyncGroup", version, syncing(g, 7, member, **both))
        k.call(f"member v{version}", "SyncGroup", version, syncing(g, generation, "nobody", **both))
        k.call(f"group v{version}", "SyncGroup", version, syncing(k.group("nobody"), generation, member, **both))
        k.call(f"no group v{version}", "SyncGroup", version, syncing("", generation, member, **both))
    for type, name in ((None, None), ("consumer", None), (None, "range"), ("connect", "range"), ("consumer", "sticky")):
        k.call(f"{type} {name}", "SyncGroup", 5, syncing(g, generation, member, protocolType=type, protocolName=name))
    k.call("instance", "SyncGroup", 3, syncing(g, generation, member, groupInstanceId="i"))


def case_classic_heartbeat_versions(k):
    g = k.group()
    generation, members = assigned(k, g)
    for version in range(5):
        for label, body in (("right", {}), ("generation", {"generationId": 9}), ("member", {"memberId": "nobody"}), ("group", {"groupId": k.group("n")}),
                            ("no group", {"groupId": ""})):
            k.call(f"{label} v{version}", "Heartbeat", version, {"groupId": g, "generationId": generation, "memberId": members[0], **body})
    k.call("instance", "Heartbeat", 3, {"groupId": g, "generationId": generation, "memberId": members[0], "groupInstanceId": "i"})


def case_classic_two_members(k):
    """A second member comes, the leader assigns, the second one goes."""
    g = k.group()
    generation, (first, second) = assigned(k, g, clients=2)
    k.step("generation", generation)
    for name, member in (("first", first), ("second", second)):
        k.call(f"sync {name}", "SyncGroup", 5, syncing(g, generation, member, protocolType="consumer", protocolName="range"))
    described = k.send("DescribeGroups", 5, {"groups": [g]})["groups"][0]
    k.step("assignments", sorted(member["memberAssignment"].decode() for member in described["members"]))
    k.call("follower again", "JoinGroup", 5, joining(g, second))
    k.call("leave", "LeaveGroup", 5, {"groupId": g, "members": [{"memberId": second, "reason": "bored"}]})
    k.call("heartbeat of the one left", "Heartbeat", 3, {"groupId": g, "generationId": generation, "memberId": first})
    k.call("commit while members are called", "OffsetCommit", 8, {"groupId": g, "generationIdOrMemberEpoch": generation, "memberId": first, "topics": []})
    k.call("alone", "JoinGroup", 5, joining(g, first))


def case_classic_leave_versions(k):
    for version in range(6):
        g = k.group(f"v{version}")
        _, (member,) = assigned(k, g)
        def leaving(*names):
            return {"groupId": g, "memberId": names[0]} if version < 3 else {"groupId": g, "members": [{"memberId": n} for n in names]}
        k.call(f"nobody v{version}", "LeaveGroup", version, leaving("nobody"))
        k.call(f"both v{version}", "LeaveGroup", version, leaving(member, "nobody"))
        k.call(f"again v{version}", "LeaveGroup", version, leaving(member))
        k.call(f"no group v{version}", "LeaveGroup", version, {**leaving(member), "groupId": ""})
        k.call(f"empty v{version}", "DescribeGroups", 5, {"groups": [g]})
    g = k.group("pending")
    member = k.send("JoinGroup", 5, joining(g))["memberId"]
    k.call("id that was not used", "LeaveGroup", 5, {"groupId": g, "members": [{"memberId": member}]})
    k.call("nobody at all", "LeaveGroup", 5, {"groupId": g, "members": []})


def case_classic_static_members(k):
    """A static member comes back without its id; its former self is fenced (KIP-345, KIP-814)."""
    g = k.group()
    me = {"groupInstanceId": "me"}
    first = k.call("join", "JoinGroup", 5, joining(g, **me))
    old, generation = first["memberId"], first["generationId"]
    k.call("sync", "SyncGroup", 3, syncing(g, generation, old, [(old, b"mine")], **me))
    for version in (5, 8, 9):
        answer = k.call(f"back v{version}", "JoinGroup", version, joining(g, **me))
        new = answer["memberId"]
        k.call(f"sync of the new v{version}", "SyncGroup", 3, syncing(g, generation, new, **me))
        for label, api, body in (("heartbeat", "Heartbeat", {"generationId": generation, "memberId": old}), ("sync", "SyncGroup", syncing(g, generation, old))):
            k.call(f"{label} of the old v{version}", api, 3, {"groupId": g, **body, **me})
        k.call(f"join of the old v{version}", "JoinGroup", 5, joining(g, old, **me))
        k.call(f"commit of the old v{version}", "OffsetCommit", 7, {"groupId": g, "generationIdOrMemberEpoch": generation, "memberId": old, **me,
                                                                   "topics": []})
        k.call(f"leave of the old v{version}", "LeaveGroup", 3, {"groupId": g, "members": [{"memberId": old, **me}]})
        old = new
    k.call("describe", "DescribeGroups", 5, {"groups": [g]})
    k.call("unknown instance", "JoinGroup", 5, joining(g, old, groupInstanceId="other"))
    k.call("leave unknown instance", "LeaveGroup", 3, {"groupId": g, "members": [{"memberId": "", "groupInstanceId": "other"}, {"memberId": ""}]})
    k.call("leave by instance", "LeaveGroup", 3, {"groupId": g, "members": [{"memberId": "", **me}]})
    k.call("empty", "DescribeGroups", 5, {"groups": [g]})


def case_classic_offsets(k):
    """Who may commit for a group with members, and delete."""
    t, g = k.topic(partitions=2), k.group()
    member = k.send("JoinGroup", 3, joining(g))["memberId"]
    place = [{"name": t.name, "partitions": [{"partitionIndex": 0, "committedOffset": 5}]}]

    def commit(label, version=8, **who):
        k.call(label, "OffsetCommit", version, {"groupId": g, "generationIdOrMemberEpoch": -1, "topics": place, **who})
    commit("while the leader is awaited", generationIdOrMemberEpoch=1, memberId=member)
    k.send("SyncGroup", 3, syncing(g, 1, member, [(member, b"all")]))
    for version in (2, 8, 9):
        commit(f"right v{version}", version, generationIdOrMemberEpoch=1, memberId=member)
        commit(f"generation v{version}", version, generationIdOrMemberEpoch=2, memberId=member)
        commit(f"nobody v{version}", version, generationIdOrMemberEpoch=1, memberId="nobody")
        commit(f"no identity v{version}", version)
        commit(f"generation only v{version}", version, generationIdOrMemberEpoch=1)
    commit("instance", generationIdOrMemberEpoch=1, memberId=member, groupInstanceId="i")
    k.call("fetch of nobody", "OffsetFetch", 9, {"groups": [
        {"groupId": g, "memberId": "nobody", "memberEpoch": 7, "topics": [{"name": t.name, "partitionIndexes": [0, 1]}]}]})
    k.call("delete offset", "OffsetDelete", 0, {"groupId": g, "topics": [{"name": t.name, "partitions": [{"partitionIndex": 0}]}]})
    k.call("delete group", "DeleteGroups", 2, {"groupsNames": [g]})
    k.call("leave", "LeaveGroup", 3, {"groupId": g, "members": [{"memberId": member}]})
    commit("member of the past", generationIdOrMemberEpoch=1, memberId=member)
    commit("from outside")
    k.call("delete offset then", "OffsetDelete", 0, {"groupId": g, "topics": [{"name": t.name, "partitions": [{"partitionIndex": 0}]}]})
    k.call("delete group then", "DeleteGroups", 2, {"groupsNames": [g]})


def case_classic_other_type(k):
    """Connect workers and schema registries bring a type of their own."""
    t, g = k.topic(), k.group()
    more = {"protocolType": "sr"}
    joined = k.send("JoinGroup", 3, joining(g, protocols=(("v0", b"url"),), **more))
    k.send("SyncGroup", 3, syncing(g, 1, joined["memberId"], [(joined["memberId"], b"all")]))
    k.call("describe", "DescribeGroups", 5, {"groups": [g]})
    answer = k.send("ListGroups", 5, {"typesFilter": ["classic"], "statesFilter": ["stable"]})
    k.step("list", k.mine(answer["groups"], "groupId"))
    k.call("delete offset", "OffsetDelete", 0, {"groupId": g, "topics": [{"name": t.name, "partitions": [{"partitionIndex": 0}]}]})
    k.call("streams heartbeat", "StreamsGroupHeartbeat", 1, {
        "groupId": g, "memberId": "member-one-of-kdiff-00", "memberEpoch": 0, "rebalanceTimeoutMs": 60000, "activeTasks": [], "standbyTasks": [],
        "warmupTasks": [], "processId": "p", "clientTags": [], "topology": {"epoch": 0, "subtopologies": [{"subtopologyId": "0", "sourceTopics": [t.name]}]}})
