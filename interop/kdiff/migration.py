"""Classic and consumer protocol in one group: changes in both directions, mixed groups, and what the log says of them.

Assignors: consumers name `range`, whose result depends on member ids alone, so that every answer is the same each time.
"""
import struct

import wire

HEARTBEAT = "ConsumerGroupHeartbeat"
DESCRIBE = "ConsumerGroupDescribe"
OFFSETS = "__consumer_offsets"


# ---- what consumers of the classic protocol say

def text(value):
    raw = value.encode()
    return struct.pack(">h", len(raw)) + raw


def places(topics):
    """{topic name: partitions}"""
    out = struct.pack(">i", len(topics))
    for name, partitions in topics.items():
        out += text(name) + struct.pack(">i", len(partitions)) + b"".join(struct.pack(">i", p) for p in partitions)
    return out


def said(*topics, owned=None, version=1, rack=None):
    """A subscription; `owned`: {topic: partitions}."""
    out = struct.pack(">hi", version, len(topics)) + b"".join(text(t.name) for t in topics) + struct.pack(">i", -1)
    if version > 0:
        out += places({t.name: p for t, p in (owned or {}).items()})
    if version > 1:
        out += struct.pack(">i", -1)
    if version > 2:
        out += text(rack) if rack is not None else struct.pack(">h", -1)
    return out


def given(topics, version=1, data=None):
    """An assignment."""
    out = struct.pack(">h", version) + places({t.name: p for t, p in topics.items()})
    return out + (struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data)


def plain(value, name=""):
    """Shows what is inside the bytes, which hold names of topics."""
    if isinstance(value, dict):
        return {k: plain(v, k) for k, v in value.items() if k != "metadataHash"}
    if isinstance(value, list):
        return [plain(v, name) for v in value]
    kind = {"assignment": "Assignment", "memberAssignment": "Assignment", "subscription": "Subscription", "metadata": "Subscription",
            "memberMetadata": "Subscription"}.get(name)
    if not isinstance(value, bytes) or kind is None or not value:
        return value
    version = struct.unpack(">h", value[:2])[0]
    try:
        return {"version": version, **wire.decode("ConsumerProtocol" + kind, min(version, 3), value[2:], exact=False)}
    except (wire.WireError, ValueError, KeyError):
        return value


# ---- requests

def heartbeat(group, member, epoch, **more):
    return {"groupId": group, "memberId": member, "memberEpoch": epoch, **more}


def consuming(group, member, *topics, **more):
    return heartbeat(group, member, 0, **{"rebalanceTimeoutMs": 60000, "topicPartitions": [], "serverAssignor": "range",
                                          "subscribedTopicNames": [t.name for t in topics], **more})


def owned(topic, *partitions):
    return [{"topicId": topic.id, "partitions": list(partitions)}] if partitions else []


def joining(group, member, metadata, protocols=("range",), **more):
    return {"groupId": group, "sessionTimeoutMs": 20000, "rebalanceTimeoutMs": 30000, "memberId": member, "protocolType": "consumer",
            "protocols": [{"name": name, "metadata": metadata} for name in protocols], **more}


def syncing(group, generation, member, assignments=(), **more):
    return {"groupId": group, "generationId": generation, "memberId": member,
            "assignments": [{"memberId": m, "assignment": a} for m, a in assignments], **more}


def beating(group, generation, member, **more):
    return {"groupId": group, "generationId": generation, "memberId": member, **more}


def leaving(group, *members):
    return {"groupId": group, "members": [dict(zip(("memberId", "groupInstanceId"), m if isinstance(m, tuple) else (m,))) for m in members]}


def at_once(k, group):
    """No waiting for the assignment interval."""
    name = "consumer.assignment.interval.ms"
    k.send("IncrementalAlterConfigs", 1, {"resources": [{"resourceType": 32, "resourceName": group, "configs": [
        {"name": name, "configOperation": 0, "value": "0"}]}]})

    def is_set():
        asked = {"resources": [{"resourceType": 32, "resourceName": group, "configurationKeys": [name]}]}
        return k.send("DescribeConfigs", 4, asked)["results"][0]["configs"][0]["value"] == "0"
    k.until(is_set)
    return group


class Case:
    """A group and the ways to ask it."""

    def __init__(self, k, partitions=4, base="g"):
        self.k, self.t, self.g = k, k.topic("t", partitions=partitions), at_once(k, k.group(base))

    def call(self, label, api, version, body, **options):
        answer = self.k.send(api, version, body)
        self.k.step(label, plain(answer), **options)
        return answer

    def join(self, label, member, *, metadata=None, version=5, **more):
        return self.call(label, "JoinGroup", version, joining(self.g, member, said(self.t) if metadata is None else metadata, **more))

    def sync(self, label, generation, member, version=3, **more):
        return self.call(label, "SyncGroup", version, syncing(self.g, generation, member, **more))

    def beat(self, label, generation, member, **more):
        return self.call(label, "Heartbeat", 3, beating(self.g, generation, member, **more))

    def consume(self, label, member, epoch=0, **more):
        body = consuming(self.g, member, self.t, **more) if epoch == 0 else heartbeat(self.g, member, epoch, **more)
        return self.call(label, HEARTBEAT, 1, body)

    def describe(self, label="describe"):
        self.call(f"{label} as consumer", DESCRIBE, 1, {"groupIds": [self.g]})
        self.call(f"{label} as classic", "DescribeGroups", 6, {"groups": [self.g]})
        listed = self.k.send("ListGroups", 5, {})
        self.k.step(f"{label} listed", self.k.mine(listed["groups"], "groupId"))

    def classic(self, *assignments, metadata=None, **more):
        """A stable classic group of clients a, b, … with these partitions; gives generation and member ids."""
        members, generation = [], 0
        metadata = said(self.t) if metadata is None else metadata
        for i in range(len(assignments)):
            connection = self.k.connect("abc"[i])
            body = joining(self.g, "", metadata, **more)
            if members:
                parked = connection.post("JoinGroup", 3, body)
                for other in members:
                    self.k.until(lambda: self.k.send("Heartbeat", 3, beating(self.g, generation, other))["errorCode"] == 27)
                again = [self.k.connect("abc"[j]).post("JoinGroup", 3, joining(self.g, m, metadata, **more)) for j, m in enumerate(members)]
                answers = [it.result(10) for it in again]
                generation, member = answers[0]["generationId"], parked.result(10)["memberId"]
            else:
                first = connection.send("JoinGroup", 3, body)
                generation, member = first["generationId"], first["memberId"]
            members.append(member)
            self.k.mask.member(member)                    # known from now on, so that descriptions have one order
            shares = [(m, a if isinstance(a, bytes) else given({self.t: a})) for m, a in zip(members, assignments)]
            self.k.send("SyncGroup", 3, syncing(self.g, generation, members[0], shares))
        return generation, members

    def log(self, label="log", ordered=True):
        """The group's records, each with its key; those of one type that follow each other by member. Not `ordered`: all sorted."""
        records = list(self.records())
        if not ordered:
            records.sort(key=lambda it: (it["type"], str(it["value"])))
        runs = []
        for it in records:
            place = (it["type"], it["value"] is None)
            if not runs or runs[-1][0] != place:
                runs.append((place, []))
            runs[-1][1].append(it)
        ours, symbols = self.k.mask.ours, self.k.mask.symbols

        def place_in_run(it):
            member = it["key"].get("memberId", "")
            return (member not in ours, str(symbols.get(member, "")), member)
        shown = [it for _, run in runs for it in sorted(run, key=place_in_run)]
        self.k.step(label, {"records": plain(shown)}, drop=["assignmentTimestamp"])

    def records(self):
        k = self.k
        count = len(k.send("Metadata", 12, {"topics": [{"name": OFFSETS}]})["topics"][0]["partitions"])
        code = 0
        for letter in self.g:
            code = (code * 31 + ord(letter)) & 0xffffffff
        place = abs(code - (1 << 32) if code >> 31 else code) % count
        kinds = {m.id: m.name[:-3] for m in wire.messages().values() if m.kind == "key" and m.name.endswith("Key") and "Transaction" not in m.name
                 and "ShareSnapshot" not in m.name and "ShareUpdate" not in m.name}
        at, end = 0, 1
        while at < end:
            asked = {"maxWaitMs": 100, "minBytes": 1, "maxBytes": 1 << 24, "sessionEpoch": -1, "topics": [
                {"topic": OFFSETS, "partitions": [{"partition": place, "fetchOffset": at, "partitionMaxBytes": 1 << 24}]}]}
            answer = k.send("Fetch", 12, asked)["responses"][0]["partitions"][0]
            at, end = max(at, answer["logStartOffset"]), answer["highWatermark"]
            for batch in wire.parse_batches(answer["records"] or b""):
                if batch.get("cut") or batch["attributes"] & 32:
                    continue
                for it in batch["records"]:
                    kind = kinds.get(struct.unpack(">h", it["key"][:2])[0], "")
                    at = max(at, it["offset"] + 1)
                    if kind in ("GroupMetadata", "OffsetCommit") or kind.startswith(("ConsumerGroup", "StreamsGroup")):
                        key = wire.decode(kind + "Key", 0, it["key"][2:])
                        if key.get("groupId", key.get("group")) == self.g:
                            yield {"type": kind, "key": key, "value": self.value(kind, it["value"])}
            if not answer["records"]:
                break

    @staticmethod
    def value(kind, data):
        if data is None:
            return None
        version = struct.unpack(">h", data[:2])[0]
        out = wire.decode(kind + "Value", version, data[2:])
        for clock in ("currentStateTimestamp", "commitTimestamp"):
            out.pop(clock, None)
        if out.get("leader"):                             # which one leads after a change is up to the broker
            out["leader"] = out["leader"] in [it["memberId"] for it in out["members"]]
        return {"version": version, **out}


# ---- from classic to consumer

def case_migration_upgrade(k):
    """A consumer joins a stable classic group of two."""
    c = Case(k)
    generation, (a, b) = c.classic([0, 1], [2, 3])
    c.consume("consumer joins", "z")
    c.describe()
    c.beat("a is called", generation, a)
    c.log()


def case_migration_upgrade_cooperative(k):
    """Classic members give partitions up in two steps, and the consumer gets them."""
    c = Case(k, partitions=6)
    generation, (a, b) = c.classic([0, 1, 2], [3, 4, 5])
    c.consume("consumer joins", "z")
    c.join("a tells what it owns", a, metadata=said(c.t, owned={c.t: [0, 1, 2]}))
    c.sync("a keeps", generation, a)
    c.beat("a is called again", generation, a)
    again = c.join("a gave up", a, metadata=said(c.t, owned={c.t: [0, 1]}))
    c.sync("a is done", again["generationId"], a)
    c.beat("a rests", again["generationId"], a)
    c.join("b tells what it owns", b, metadata=said(c.t, owned={c.t: [3, 4, 5]}))
    c.sync("b keeps", generation, b)
    c.beat("b is called again", generation, b)
    again = c.join("b gave up", b, metadata=said(c.t, owned={c.t: [3]}))
    c.sync("b is told to wait or is done", again["generationId"], b)
    c.consume("consumer gets", "z", again["generationId"])
    c.join("b once more", b, metadata=said(c.t, owned={c.t: [3]}))
    c.describe()
    c.log()


def case_migration_upgrade_eager(k):
    """Classic members that come empty-handed get their targets at once."""
    c = Case(k)
    generation, (a, b) = c.classic([0, 1], [2, 3])
    c.consume("consumer joins", "z")
    for name, member in (("a", a), ("b", b)):
        c.beat(f"{name} is called", generation, member)
        again = c.join(f"{name} joins", member)
        c.sync(f"{name} syncs", again["generationId"], member)
        c.beat(f"{name} rests", again["generationId"], member)
    c.consume("consumer gets", "z", again["generationId"])
    c.describe()


def case_migration_upgrade_of_one(k):
    """A classic group of one member."""
    c = Case(k)
    generation, (a,) = c.classic([0, 1, 2, 3])
    c.consume("consumer joins", "z")
    c.call("leave", "LeaveGroup", 5, leaving(c.g, a))
    c.consume("consumer alone", "z", generation + 1)
    c.describe()
    c.log()


def case_migration_upgrade_by_a_static_member(k):
    """A static classic member comes back as a consumer: it takes its own place, and nobody is called."""
    c = Case(k)
    first = k.send("JoinGroup", 5, joining(c.g, "", said(c.t), groupInstanceId="i"))
    k.send("SyncGroup", 3, syncing(c.g, 1, first["memberId"], [(first["memberId"], given({c.t: [0, 1, 2, 3]}))], groupInstanceId="i"))
    c.consume("it comes back", "n", instanceId="i")
    c.beat("its old self", 1, first["memberId"], groupInstanceId="i")
    c.consume("once more", "n", instanceId="i")
    c.describe()
    c.log()


def case_migration_upgrade_while_preparing(k):
    """One whose join waits is called to join again."""
    c = Case(k)
    generation, (a,) = c.classic([0, 1, 2, 3])
    parked = k.connect("b").post("JoinGroup", 3, joining(c.g, "", said(c.t)))
    k.until(lambda: k.send("Heartbeat", 3, beating(c.g, generation, a))["errorCode"] == 27)
    c.consume("consumer joins", "z")
    b = k.step("b is called", parked.result(10))["memberId"]
    answer = c.join("b joins", b)
    c.sync("b syncs", answer["generationId"], b)
    c.describe()
    c.log()


def case_migration_upgrade_while_completing(k):
    """One whose sync waits for the leader is called to join again."""
    c = Case(k)
    generation, (a, b) = c.classic([0, 1], [2, 3])
    again = k.connect("a").post("JoinGroup", 3, joining(c.g, a, said(c.t), rebalanceTimeoutMs=30001))
    k.until(lambda: k.send("Heartbeat", 3, beating(c.g, generation, b))["errorCode"] == 27)
    k.connect("b").send("JoinGroup", 3, joining(c.g, b, said(c.t)))
    generation = again.result(10)["generationId"]
    follower, leader = (b, a) if again.result(10)["leader"] == a else (a, b)
    parked = k.connect("b").post("SyncGroup", 3, syncing(c.g, generation, follower))
    k.pause(0.3)
    c.consume("consumer joins", "z")
    k.step("the follower is called", parked.result(10))
    c.sync("the leader as well", generation, leader)
    c.describe()


def case_migration_upgrade_with_an_unused_id(k):
    """An id that was given out and not used before the change may be used after it."""
    c = Case(k)
    c.classic([0, 1, 2, 3])
    pending = k.connect("b").send("JoinGroup", 5, joining(c.g, "", said(c.t)))["memberId"]
    c.consume("consumer joins", "z")
    c.join("the id is used", pending)
    c.describe()


def case_migration_upgrade_of_another_type(k):
    c = Case(k)
    c.classic(b"anything", protocolType="connect")
    c.consume("refused", "z")
    c.consume("refused later", "z", 1)
    c.describe()


def case_migration_upgrade_with_data_of_an_assignor(k):
    c = Case(k)
    c.classic(given({}, data=b"state"))
    c.consume("refused", "z")
    c.describe()


def case_migration_upgrade_with_a_malformed_assignment(k):
    c = Case(k)
    for name, assignment in (("short", b"\0"), ("cut", given({c.t: [0]})[:9]), ("negative version", b"\xff\xff\0\0\0\0\xff\xff\xff\xff")):
        c.g = at_once(k, k.group(name.replace(" ", "-")))
        c.classic(assignment)
        c.consume(f"refused, {name}", "z")


def case_migration_upgrade_with_a_malformed_subscription(k):
    c = Case(k)
    for name, metadata in (("short", b"\0"), ("cut", said(c.t)[:9]), ("negative version", b"\xff\xff" + said(c.t)[2:])):
        c.g = at_once(k, k.group(name.replace(" ", "-")))
        c.classic([0], metadata=metadata)
        c.consume(f"refused, {name}", "z")


def case_migration_upgrade_of_subscription_versions(k):
    """What old and new clients say is kept, and more than is known is read over."""
    c = Case(k)
    for name, metadata in (("v0", said(c.t, version=0)), ("v1", said(c.t)), ("v2", said(c.t, version=2)), ("v3", said(c.t, version=3, rack="r")),
                           ("empty-rack", said(c.t, version=3, rack="")), ("v9", b"\0\x09" + said(c.t, version=3)[2:] + b"more")):
        c.g = at_once(k, k.group(name))
        c.classic([0, 1, 2, 3], metadata=metadata)
        c.consume(f"{name} joins", "z")
        c.call(f"{name} describe", DESCRIBE, 1, {"groupIds": [c.g]})


def case_migration_upgrade_with_an_unknown_topic(k):
    c = Case(k)
    generation, (a,) = c.classic(struct.pack(">h", 1) + places({c.t.name: [0, 1], k.name("gone"): [0]}) + struct.pack(">i", -1))
    c.consume("consumer joins", "z")
    c.describe()
    c.log()


def case_migration_upgrade_before_the_first_sync(k):
    """The only member joined and did not sync: it has no assignment yet."""
    c = Case(k)
    a = k.connect("a").send("JoinGroup", 3, joining(c.g, "", said(c.t)))["memberId"]
    c.consume("consumer joins", "z")
    c.sync("a syncs too late", 1, a, assignments=[(a, given({c.t: [0]}))])
    answer = c.join("a joins", a)
    c.sync("a syncs", answer["generationId"], a)
    c.log()


# ---- groups without members

def case_migration_of_an_empty_classic_group(k):
    c = Case(k)
    generation, (a,) = c.classic([0, 1, 2, 3])
    k.send("LeaveGroup", 3, leaving(c.g, a))
    c.consume("not a join", "z", 1)
    c.consume("consumer joins", "z")
    c.describe()
    c.log()


def case_migration_of_a_simple_group(k):
    c = Case(k)
    place = {"name": c.t.name, "topicId": c.t.id, "partitions": [{"partitionIndex": 0, "committedOffset": 7}]}
    k.send("OffsetCommit", 8, {"groupId": c.g, "generationIdOrMemberEpoch": -1, "topics": [place]})
    c.consume("consumer joins", "z")
    c.consume("consumer leaves", "z", -1)
    c.join("classic joins", "", version=3)
    c.call("its offset", "OffsetFetch", 8, {"groups": [{"groupId": c.g, "topics": None}]})
    c.describe()


def case_migration_of_an_empty_consumer_group(k):
    """A classic member takes an empty consumer group over."""
    c = Case(k)
    c.consume("consumer joins", "z")
    c.consume("consumer leaves", "z", -1)
    c.describe("empty")
    c.join("classic joins", "", version=3)
    c.describe("classic")
    c.log()


def case_migration_of_an_empty_streams_group(k):
    """From streams to classic and back; not to consumer."""
    c = Case(k)
    app = {"groupId": c.g, "memberId": "member-one-of-kdiff-00", "memberEpoch": 0, "rebalanceTimeoutMs": 60000, "processId": "p", "clientTags": [],
           "topology": {"epoch": 0, "subtopologies": [{"subtopologyId": "0", "sourceTopics": [c.t.name]}]},
           "activeTasks": [], "standbyTasks": [], "warmupTasks": []}
    k.send("StreamsGroupHeartbeat", 0, app)
    c.join("streams with members", "", version=3)
    k.send("StreamsGroupHeartbeat", 0, {"groupId": c.g, "memberId": app["memberId"], "memberEpoch": -1})
    c.consume("consumer joins", "z")
    a = c.join("classic joins", "", version=3)["memberId"]
    c.describe("classic")
    c.call("streams joins", "StreamsGroupHeartbeat", 0, app, only=("errorCode", "memberEpoch"))
    k.send("LeaveGroup", 3, leaving(c.g, a))
    c.call("streams joins then", "StreamsGroupHeartbeat", 0, app, only=("errorCode", "memberEpoch"))
    c.describe("streams")


# ---- both protocols in one group

def case_migration_mixed_join_versions(k):
    """JoinGroup of every version in a consumer group."""
    c = Case(k)
    for version in range(10):
        c.g = at_once(k, k.group(f"v{version}"))
        c.consume(f"consumer v{version}", "z")
        answer = c.join(f"first v{version}", "", version=version)
        member = answer["memberId"]
        if version >= 4:
            answer = c.join(f"with its id v{version}", member, version=version)
        c.sync(f"sync v{version}", answer["generationId"], member)
        c.join(f"again v{version}", member, version=version)
        c.join(f"an id of its own v{version}", "mine", version=version)


def case_migration_mixed_join_refused(k):
    c = Case(k)
    c.consume("consumer", "z")
    c.join("other type", "a", protocolType="connect")
    c.join("no type", "a", protocolType="")
    c.join("no protocols", "a", protocols=())
    c.join("text", "a", metadata=b"text")
    c.join("nothing said", "a", metadata=b"")
    c.join("negative version", "a", metadata=b"\xff\xff" + said(c.t)[2:])
    c.join("no session", "a", sessionTimeoutMs=1)
    c.join("unknown instance", "a", groupInstanceId="i")
    c.describe("nobody came")
    c.join("two protocols", "a", protocols=("range", "sticky"))
    c.join("other protocol", "b", protocols=("roundrobin",))
    c.join("one of them", "b", protocols=("sticky", "roundrobin"))
    c.join("the other one", "d", protocols=("range",))
    c.join("text of a member", "b", metadata=b"text", protocols=("sticky",))


def case_migration_mixed_join_static(k):
    """Static classic members: new, back, fenced."""
    c = Case(k)
    c.consume("consumer", "z")
    old = c.join("new", "", groupInstanceId="i")
    c.sync("sync", old["generationId"], old["memberId"], groupInstanceId="i")
    for version in (5, 9):
        new = c.join(f"back v{version}", "", groupInstanceId="i", version=version)
        c.beat(f"old heartbeats v{version}", old["generationId"], old["memberId"], groupInstanceId="i")
        c.sync(f"old syncs v{version}", old["generationId"], old["memberId"], groupInstanceId="i")
        c.join(f"old joins v{version}", old["memberId"], groupInstanceId="i")
        c.beat(f"old without instance v{version}", old["generationId"], old["memberId"])
        old = new
    c.join("under its id", old["memberId"], groupInstanceId="i")
    c.sync("sync again", old["generationId"], old["memberId"], groupInstanceId="i")
    c.join("other instance", old["memberId"], groupInstanceId="j")
    c.log()


def case_migration_mixed_join_changes(k):
    """A classic member subscribes to other topics, from another rack, with other timeouts."""
    c = Case(k)
    u = k.topic("u", partitions=2)
    c.consume("consumer", "z")
    c.join("joins", "a")
    c.join("same again", "a")
    c.join("longer session", "a", sessionTimeoutMs=21000, rebalanceTimeoutMs=40000)
    c.join("rack", "a", metadata=said(c.t, version=3, rack="r"))
    c.join("no rack", "a", metadata=said(c.t, version=3))
    c.join("more topics", "a", metadata=said(c.t, u))
    c.join("other topics", "a", metadata=said(u))
    c.join("no topics", "a", metadata=said())
    c.log()


def case_migration_mixed_sync(k):
    """SyncGroup of every version, right and wrong."""
    c = Case(k)
    c.consume("consumer", "z")
    c.join("a joins", "a")
    for version in range(6):
        both = {"protocolType": "consumer", "protocolName": "range"} if version > 4 else {}
        c.sync(f"right v{version}", 3, "a", version, **both)
        c.sync(f"generation v{version}", 2, "a", version, **both)
        c.sync(f"unknown v{version}", 3, "x", version, **both)
        c.sync(f"consumer v{version}", 2, "z", version, **both)
        if version > 2:
            c.sync(f"instance v{version}", 3, "a", version, groupInstanceId="i", **both)
    for kind, name in (("connect", "range"), ("consumer", "sticky")):
        c.sync(f"{kind} {name}", 3, "a", 5, protocolType=kind, protocolName=name)


def case_migration_mixed_assignment_versions(k):
    """Assignments are written in the version in which the member speaks."""
    c = Case(k, partitions=7)
    c.consume("consumer", "z")
    c.consume("consumer leaves", "z", -1)
    c.g = at_once(k, k.group("h"))
    c.consume("another", "z")
    members = [f"v{version}" for version in (0, 1, 2, 3)]
    for version, member in enumerate(members):
        c.join(f"{member} joins", member, metadata=said(c.t, version=version))
    c.join("v9 joins", "v9", metadata=b"\0\x09" + said(c.t, version=3)[2:])
    c.consume("consumer gives up", "z", 2)
    c.consume("consumer gave up", "z", 2, topicPartitions=owned(c.t, 0, 1))
    for member in (*members, "v9"):
        answer = k.send("JoinGroup", 5, joining(c.g, member, said(c.t) if member == "v1" else
                                                b"\0\x09" + said(c.t, version=3)[2:] if member == "v9" else said(c.t, version=int(member[1:]))))
        raw = k.send("SyncGroup", 3, syncing(c.g, answer["generationId"], member))["assignment"]
        k.step(f"{member} version", raw[:2].hex())
        k.step(f"{member} assignment", plain({"assignment": raw}))


def case_migration_mixed_heartbeat(k):
    """Heartbeat of every version, right and wrong."""
    c = Case(k)
    c.consume("consumer", "z")
    c.join("a joins", "a")
    for version in range(5):
        for label, body in (("right", {}), ("generation", {"generationId": 9}), ("unknown", {"memberId": "x"}), ("consumer", {"memberId": "z", "generationId": 2})):
            c.call(f"{label} v{version}", "Heartbeat", version, {**beating(c.g, 3, "a"), **body})
    c.beat("instance", 3, "a", groupInstanceId="i")


def case_migration_mixed_rebalances(k):
    """New epochs reach classic members through REBALANCE_IN_PROGRESS."""
    c = Case(k)
    c.consume("consumer", "z")
    c.join("a joins", "a")
    c.sync("a syncs", 3, "a")
    c.beat("a waits", 3, "a")
    c.consume("consumer gives up", "z", 2)
    c.beat("a still waits", 3, "a")
    c.consume("consumer gave up", "z", 2, topicPartitions=owned(c.t, 2, 3))
    c.beat("a is called", 3, "a")
    c.join("a joins again", "a")
    c.sync("a has its part", 3, "a")
    c.join("b joins", "b")
    c.beat("a is called for b", 3, "a")
    c.sync("a must not sync", 3, "a")
    c.join("a tells", "a", metadata=said(c.t, owned={c.t: [0, 1]}))
    c.sync("a keeps", 3, "a")
    c.beat("a must give up", 3, "a")
    c.join("a holds on", "a", metadata=said(c.t, owned={c.t: [0, 1]}))
    c.describe("a holds on")
    c.join("a gave up", "a", metadata=said(c.t, owned={c.t: [0]}))
    c.sync("a is done", 4, "a")
    c.beat("b", 4, "b")
    c.describe()
    c.log()


def case_migration_mixed_leave_versions(k):
    """LeaveGroup of every version in a consumer group, of members of both protocols."""
    c = Case(k)
    for version in range(6):
        c.g = at_once(k, k.group(f"v{version}"))
        c.consume(f"consumer v{version}", "z")
        c.consume(f"other consumer v{version}", "y")
        c.join(f"a v{version}", "a")

        def leave(*names):
            return {"groupId": c.g, "memberId": names[0]} if version < 3 else leaving(c.g, *names)
        c.call(f"unknown v{version}", "LeaveGroup", version, leave("x"))
        c.call(f"classic v{version}", "LeaveGroup", version, leave("a", "x"))
        c.call(f"consumer v{version}", "LeaveGroup", version, leave("y"))
        c.call(f"again v{version}", "LeaveGroup", version, leave("a"))
        c.describe(f"left v{version}")


def case_migration_mixed_leave_many(k):
    """One epoch for all that leave together."""
    c = Case(k)
    c.consume("consumer", "z")
    c.consume("static consumer", "y", instanceId="i")
    c.join("a", "a")
    s = c.join("static", "", groupInstanceId="j")["memberId"]
    c.call("all wrong", "LeaveGroup", 4, leaving(c.g, "x", ("x", "i"), ("", "unknown"), "", ("a", "j")))
    c.call("many", "LeaveGroup", 4, leaving(c.g, "a", ("y", "i"), "x", ("", "j"), (s, "j")))
    c.describe()
    c.log(ordered=False)


def case_migration_mixed_commits(k):
    """OffsetCommit of members of both protocols: generations are epochs."""
    c = Case(k)
    c.consume("consumer", "z")
    c.join("a", "a")

    def commit(label, version, member, epoch):
        c.call(f"{label} v{version}", "OffsetCommit", version, {"groupId": c.g, "memberId": member, "generationIdOrMemberEpoch": epoch, "topics": [
            {"name": c.t.name, "topicId": c.t.id, "partitions": [{"partitionIndex": 0, "committedOffset": 5}]}]})
    for version in range(2, 11):
        commit("right", version, "a", 3)
        commit("ahead", version, "a", 4)
        commit("behind", version, "a", 2)
        commit("nobody", version, "", -1)
        commit("consumer", version, "z", 2)
        commit("consumer ahead", version, "z", 4)
    for version in range(1, 11):
        asked = {"name": c.t.name, "partitionIndexes": [0], **({"topicId": c.t.id} if version >= 10 else {})}
        body = {"groupId": c.g, "topics": [asked]} if version < 8 else {"groups": [{"groupId": c.g, "topics": [asked]}]}
        c.call(f"fetch v{version}", "OffsetFetch", version, body)
        if version >= 9:
            for label, member, epoch in (("right", "a", 3), ("other epoch", "a", 2), ("unknown", "x", 3), ("consumer", "z", 2), ("stale", "z", 1)):
                groups = [{"groupId": c.g, "memberId": member, "memberEpoch": epoch, "topics": [asked]}]
                c.call(f"fetch {label} v{version}", "OffsetFetch", version, {"groups": groups})
    c.call("delete offset", "OffsetDelete", 0, {"groupId": c.g, "topics": [{"name": c.t.name, "partitions": [{"partitionIndex": 0}]}]})
    c.call("delete group", "DeleteGroups", 2, {"groupsNames": [c.g]})


def case_migration_mixed_describes(k):
    """The types of members, by every version that shows a group."""
    c = Case(k)
    c.consume("consumer", "z")
    c.join("a", "a", metadata=said(c.t, version=3, rack="r"))
    for version in range(2):
        c.call(f"describe v{version}", DESCRIBE, version, {"groupIds": [c.g]})
    for version in range(7):
        c.call(f"describe as classic v{version}", "DescribeGroups", version, {"groups": [c.g]})
    for kind in ("classic", "consumer"):
        listed = k.send("ListGroups", 5, {"typesFilter": [kind]})
        k.step(f"{kind} groups", k.mine(listed["groups"], "groupId"))


def case_migration_mixed_member_changes_protocol(k):
    """A dynamic classic member goes on as a consumer under its own id, and back."""
    c = Case(k)
    c.consume("consumer", "z")
    c.join("a joins", "a")
    c.consume("not with a later epoch", "a", 3)
    c.consume("a consumes", "a")
    c.beat("a heartbeats by the old way", 3, "a")
    c.sync("a syncs by the old way", 3, "a")
    c.describe("consumes")
    c.join("a joins again", "a")
    c.describe("joins")
    c.log()


def case_migration_mixed_static_takes_over(k):
    """A static classic member is replaced by a consumer, which need not wait until it left."""
    c = Case(k)
    c.consume("consumer", "z")
    s = c.join("static", "", groupInstanceId="i")
    c.consume("consumer of its instance", "n", instanceId="i")
    c.beat("its old self", s["generationId"], s["memberId"], groupInstanceId="i")
    c.consume("another one", "m", instanceId="i")
    c.describe()
    c.log()


def case_migration_mixed_regex(k):
    """A static consumer with a regular expression is replaced by a classic member, which has none."""
    c = Case(k)
    c.consume("consumer", "z")
    c.consume("with an expression", "n", instanceId="i", subscribedTopicRegex="nothing.*")
    k.until(lambda: any(it["type"] == "ConsumerGroupRegularExpression" for it in c.records()))
    c.join("classic", "", groupInstanceId="i")
    c.describe()


# ---- from consumer to classic

def case_migration_downgrade(k):
    """The last consumer leaves: the classic members are called to join as a classic group."""
    c = Case(k)
    c.consume("consumer", "z")
    c.join("a", "a")
    c.join("b", "b", metadata=said(c.t, version=3))
    c.consume("consumer leaves", "z", -1)
    c.describe()
    c.beat("a by its epoch", 3, "a")
    c.beat("b by its epoch", 4, "b")
    c.log()


def case_migration_downgrade_and_on(k):
    """After the change members join and sync as ever."""
    c = Case(k)
    c.consume("consumer", "z")
    c.join("a", "a")
    c.sync("a syncs", 3, "a")
    c.consume("consumer leaves", "z", -1)
    c.beat("a is called", 3, "a")
    answer = c.join("a joins", "a")
    c.sync("a assigns", answer["generationId"], "a", assignments=[("a", given({c.t: [0, 1, 2, 3]}))])
    c.beat("a rests", answer["generationId"], "a")
    c.describe()
    c.log()


def case_migration_downgrade_by_an_administrator(k):
    """LeaveGroup takes the last consumers away."""
    c = Case(k)
    c.consume("consumer", "z", instanceId="i")
    c.consume("another", "y")
    c.join("a", "a")
    c.call("both go", "LeaveGroup", 4, leaving(c.g, ("", "i"), "y"))
    c.describe()
    c.log()


def case_migration_downgrade_leaves_nobody(k):
    """All members go together: the group stays an empty consumer group."""
    c = Case(k)
    c.consume("consumer", "z")
    c.join("a", "a")
    c.call("both go", "LeaveGroup", 4, leaving(c.g, "a", "z"))
    c.describe()
    c.log(ordered=False)


def case_migration_downgrade_by_a_static_member(k):
    """The last consumer is a static one that comes back as a classic member; its target is in order."""
    c = Case(k)
    c.consume("consumer", "z", instanceId="i")
    c.join("a", "a")
    c.consume("consumer gives up", "z", 2)
    c.consume("consumer gave up", "z", 2, topicPartitions=owned(c.t, 0, 1))
    c.join("a again", "a")
    c.sync("a syncs", 3, "a")
    back = c.join("it comes back", "", groupInstanceId="i", version=9)
    c.sync("it syncs", back["generationId"], back["memberId"], groupInstanceId="i")
    c.beat("a rests", 3, "a")
    c.describe()
    c.log()


def case_migration_downgrade_by_a_static_member_with_other_topics(k):
    """The same, with a target that is no longer right."""
    c = Case(k)
    u = k.topic("u")
    c.consume("consumer", "z", instanceId="i")
    c.join("a", "a")
    back = c.join("it comes back", "", groupInstanceId="i", metadata=said(c.t, u))
    c.sync("it syncs", back["generationId"], back["memberId"], groupInstanceId="i")
    c.beat("a", 3, "a")
    c.describe()
    c.log()


def case_migration_downgrade_under_the_same_id(k):
    """A static consumer goes on by the classic protocol under its id."""
    c = Case(k)
    c.consume("consumer", "z", instanceId="i")
    c.join("classic", "z", groupInstanceId="i", metadata=said(c.t, owned={c.t: [0, 1, 2, 3]}))
    c.sync("sync", 2, "z", groupInstanceId="i")
    c.describe()
    c.log()


def case_migration_round_trip(k):
    """Classic, mixed, consumer, mixed, classic: offsets are kept all the way."""
    c = Case(k)
    generation, (a,) = c.classic([0, 1, 2, 3])
    place = [{"name": c.t.name, "topicId": c.t.id, "partitions": [{"partitionIndex": 0, "committedOffset": 3}]}]
    c.call("commit", "OffsetCommit", 8, {"groupId": c.g, "memberId": a, "generationIdOrMemberEpoch": generation, "topics": place})
    c.consume("consumer joins", "z")
    c.call("classic leaves", "LeaveGroup", 5, leaving(c.g, a))
    c.consume("consumer alone", "z", generation + 1)
    c.join("classic joins", "b")
    c.consume("consumer leaves", "z", -1)
    answer = c.join("classic alone", "b")
    c.sync("it assigns", answer["generationId"], "b", assignments=[("b", given({c.t: [0, 1, 2, 3]}))])
    c.call("its offset", "OffsetFetch", 8, {"groups": [{"groupId": c.g, "topics": None}]})
    c.describe()
    c.log()
