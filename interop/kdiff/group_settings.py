"""Settings of groups: what is taken, refused, clamped, and what it does (classic-and-consumer-groups.md 23)."""

from consumer_groups import HEARTBEAT, heartbeat, joining

GROUP = 32
SET, DELETE, APPEND, SUBTRACT = range(4)
MAX = 2**31 - 1


def alter(k, label, group, *changes, version=1, validate=False):
    """`changes`: (name, value) or (name, value, operation)."""
    return k.call(label, "IncrementalAlterConfigs", version, {"validateOnly": validate, "resources": [{
        "resourceType": GROUP, "resourceName": group, "configs": [
            {"name": name, "value": value, "configOperation": more[0] if more else SET} for name, value, *more in changes]}]})


def seen(k, group):
    answer = k.send("DescribeConfigs", 4, {"resources": [{"resourceType": GROUP, "resourceName": group, "configurationKeys": None}]})
    return {c["name"]: c["value"] for c in answer["results"][0]["configs"] if c["configSource"] == 8}


def shown(k, label, group):
    """The settings that the group has of its own. They are seen soon, so two equal looks in a row are waited for."""
    last = [None]

    def settled():
        now = seen(k, group)
        same, last[0] = now == last[0], now
        return same
    k.until(settled, every=0.2)
    k.step(label, last[0])


def values(k, name, *tried):
    """Which values a setting takes; each is asked for without being made true."""
    for value in tried:
        for version in (0, 1):
            alter(k, f"{name}={value} v{version}", k.name("g"), (name, value), version=version, validate=True)


def case_groups_setting_session_timeout(k):
    values(k, "consumer.session.timeout.ms", "45000", "60000", "44999", "60001", "0", "-1", "", " 45000", "45000.0", "x", None, str(MAX), str(MAX + 1))


def case_groups_setting_heartbeat_interval(k):
    values(k, "consumer.heartbeat.interval.ms", "5000", "15000", "4999", "15001", "0", "-1", "", "x", None, str(MAX), str(MAX + 1))


def case_groups_setting_assignment_interval(k):
    values(k, "consumer.assignment.interval.ms", "0", "1", "1000", "15000", "15001", "60000", "-1", "", "x", None, str(MAX), str(MAX + 1))


def case_groups_setting_unknown(k):
    """Names that are none, of other resources, in another case."""
    for name in ("", "none", "Consumer.session.timeout.ms", "group.consumer.session.timeout.ms", "session.timeout.ms", "retention.ms", "share.nothing", " consumer.session.timeout.ms"):
        values(k, name, "45000")


def case_groups_setting_streams(k):
    for name, tried in (("streams.session.timeout.ms", ("45000", "60000", "44999", "60001")), ("streams.heartbeat.interval.ms", ("5000", "15000", "4999", "15001")),
                        ("streams.num.standby.replicas", ("0", "1", "2", "3", "-1", "x")), ("streams.initial.rebalance.delay.ms", ("0", "3000", "-1", "x"))):
        values(k, name, *tried)


def case_groups_setting_operations(k):
    """Set, delete, and what is for lists only; twice in one request; names beside wrong ones."""
    g, name = k.group(), "consumer.session.timeout.ms"
    alter(k, "set", g, (name, "50000"))
    shown(k, "set", g)
    alter(k, "set again", g, (name, "51000"), ("consumer.heartbeat.interval.ms", "6000"))
    shown(k, "two", g)
    alter(k, "append", g, (name, "1", APPEND))
    alter(k, "subtract", g, (name, "1", SUBTRACT))
    alter(k, "twice", g, (name, "52000"), (name, "53000"))
    alter(k, "set and delete", g, (name, "52000"), (name, None, DELETE))
    alter(k, "one is wrong", g, (name, "54000"), ("consumer.heartbeat.interval.ms", "1"))
    alter(k, "one is unknown", g, (name, "54000"), ("none", "1"))
    shown(k, "as before", g)
    alter(k, "delete", g, (name, None, DELETE))
    alter(k, "delete what is not set", g, (name, None, DELETE), ("consumer.assignment.interval.ms", None, DELETE))
    alter(k, "delete what is unknown", g, ("none", None, DELETE))
    shown(k, "deleted", g)
    alter(k, "nothing", g)


def case_groups_setting_together(k):
    """A heartbeat interval must fit into the session, by what is set already too."""
    g = k.group()
    for heartbeats, session in (("15000", "45000"), ("5000", "60000"), ("15000", "60000")):
        alter(k, f"{heartbeats} {session}", g, ("consumer.heartbeat.interval.ms", heartbeats), ("consumer.session.timeout.ms", session))
    shown(k, "at last", g)


def case_groups_setting_of_many(k):
    """Several groups in one request, one of them wrong, one nameless, one twice."""
    name = "consumer.session.timeout.ms"
    for version in (0, 1):
        resources = [{"resourceType": GROUP, "resourceName": group, "configs": [{"name": name, "configOperation": SET, "value": value}]}
                     for group, value in ((k.name(f"a{version}"), "50000"), (k.name(f"b{version}"), "1"), ("", "50000"), (k.name(f"c{version}"), "51000"))]
        k.call(f"v{version}", "IncrementalAlterConfigs", version, {"resources": resources})
        for base in "abc":
            shown(k, f"{base} v{version}", k.name(f"{base}{version}"))


def case_groups_setting_validate_only(k):
    g = k.group()
    for version in (0, 1):
        alter(k, f"right v{version}", g, ("consumer.session.timeout.ms", "50000"), version=version, validate=True)
        alter(k, f"wrong v{version}", g, ("consumer.session.timeout.ms", "1"), version=version, validate=True)
        shown(k, f"nothing v{version}", g)


def case_groups_setting_does(k):
    """The heartbeat interval that members are told is the group's, and the broker's again when it is taken away."""
    t, g = k.topic(), k.group()

    def told(epoch):
        return k.send(HEARTBEAT, 1, heartbeat(g, "m", epoch))["heartbeatIntervalMs"]
    k.call("join", HEARTBEAT, 1, joining(g, "m", t))
    alter(k, "set", g, ("consumer.heartbeat.interval.ms", "7000"))
    k.until(lambda: told(2) == 7000)
    k.call("heartbeat", HEARTBEAT, 1, heartbeat(g, "m", 2))
    k.call("full", HEARTBEAT, 1, {**joining(g, "m", t), "memberEpoch": 2})
    k.call("described", "ConsumerGroupDescribe", 1, {"groupIds": [g]})
    alter(k, "delete", g, ("consumer.heartbeat.interval.ms", None, DELETE))
    k.until(lambda: told(2) == 5000)
    k.call("heartbeat then", HEARTBEAT, 1, heartbeat(g, "m", 2))


def case_groups_setting_outlives_the_group(k):
    """Settings are of the name: there before the group, and after it."""
    t, g = k.topic(), k.group()
    alter(k, "set", g, ("consumer.heartbeat.interval.ms", "8000"))
    shown(k, "before", g)
    k.until(lambda: k.send(HEARTBEAT, 1, joining(g, "m", t))["heartbeatIntervalMs"] == 8000)
    k.send(HEARTBEAT, 1, heartbeat(g, "m", -1))
    k.call("delete", "DeleteGroups", 3, {"groupsNames": [g]})
    shown(k, "after", g)


def case_groups_setting_describe(k):
    """Names that are asked for: known, unknown, doubled, none; with what they come from."""
    g = k.group()
    for version in range(1, 5):
        for label, keys in (("one", ["consumer.session.timeout.ms"]), ("unknown", ["none"]), ("doubled", ["consumer.session.timeout.ms"] * 2), ("none", [])):
            k.call(f"{label} v{version}", "DescribeConfigs", version, {"includeSynonyms": True, "resources": [
                {"resourceType": GROUP, "resourceName": g, "configurationKeys": keys}]})
