"""AlterConfigs and DescribeLogDirs: what Kafka 4.4.0 answers, right and wrong."""
import wire

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


def whole(kind, name, *pairs):
    return {"resourceType": kind, "resourceName": name, "configs": [{"name": n, "value": v} for n, v in pairs]}


def replace(k, label, *resources, version=2, validate=False):
    return k.call(label, "AlterConfigs", version, {"resources": list(resources), "validateOnly": validate})


def own(k, label, kind, name, count):
    """The settings that the resource has itself, once Kafka's brokers have heard of them."""
    asked = {"resourceType": kind, "resourceName": name, "configurationKeys": None}

    def rows():
        configs = k.send("DescribeConfigs", 4, {"resources": [asked]})["results"][0]["configs"]
        found = [(it["name"], it["value"]) for it in configs if it["configSource"] in (1, 2, 7, 8)]
        return sorted(it for it in found if it[0] != "min.insync.replicas")

    k.until(lambda: len(rows()) == count, 5)
    return k.step(label, rows())


def case_admin_replace_configs(k):
    """What is not named goes back to its default, in every version."""
    t = k.topic("replaced")
    for version in (0, 1, 2):
        replace(k, f"two v{version}", whole(TOPIC, t.name, ("retention.ms", "1000"), ("segment.ms", "5000")), version=version)
        own(k, f"two are set v{version}", TOPIC, t.name, 2)
        replace(k, f"one v{version}", whole(TOPIC, t.name, ("segment.ms", "6000")), version=version)
        own(k, f"one is set v{version}", TOPIC, t.name, 1)
        replace(k, f"none v{version}", whole(TOPIC, t.name), version=version)
        own(k, f"none is set v{version}", TOPIC, t.name, 0)
    replace(k, "only validated", whole(TOPIC, t.name, ("retention.ms", "1")), validate=True)
    own(k, "unchanged", TOPIC, t.name, 0)


def case_admin_replace_of_a_group(k):
    """Groups have settings of their own."""
    g = k.name("replaced-group")
    replace(k, "set", whole(GROUP, g, ("consumer.session.timeout.ms", "50000"), ("consumer.heartbeat.interval.ms", "6000")))
    own(k, "is set", GROUP, g, 2)
    replace(k, "replaced", whole(GROUP, g, ("consumer.heartbeat.interval.ms", "7000")))
    own(k, "is replaced", GROUP, g, 1)
    replace(k, "cleared", whole(GROUP, g))
    own(k, "is cleared", GROUP, g, 0)


def case_admin_replace_wrong(k):
    """Each resource is refused for itself."""
    t, u = k.topic("wrong"), k.topic("other")
    for label, resource in [
        ("nobody", whole(TOPIC, k.name("nobody"), ("retention.ms", "1"))),
        ("null", whole(TOPIC, t.name, ("retention.ms", None))),
        ("unknown setting", whole(TOPIC, t.name, ("no.such.thing", "1"))),
        ("wrong value", whole(TOPIC, t.name, ("retention.ms", "x"))),
        ("out of range", whole(TOPIC, t.name, ("retention.ms", "-2"))),
        ("unknown type", whole(77, "x")),
        ("type 0", whole(0, "x")),
        ("logger", whole(LOGGER, str(k.node), ("root", "INFO"))),
        ("no topic name", whole(TOPIC, "", ("retention.ms", "1"))),
        ("no group name", whole(GROUP, "", ("consumer.session.timeout.ms", "50000"))),
        ("no metrics name", whole(METRICS, "", ("interval.ms", "1000"))),
        ("wrong topic name", whole(TOPIC, "a/b", ("retention.ms", "1"))),
        ("another broker", whole(BROKER, "77", ("log.retention.ms", "1"))),
        ("no broker", whole(BROKER, "x", ("log.retention.ms", "1"))),
        ("read-only setting", whole(BROKER, str(k.node), ("process.roles", "broker"))),
        ("wrong group value", whole(GROUP, k.name("g"), ("consumer.session.timeout.ms", "1"))),
        ("right", whole(TOPIC, t.name, ("retention.ms", "1000"))),
    ]:
        replace(k, label, resource)
    # (To a resource that comes twice Kafka 4.4.0 never answers.)
    replace(k, "one of two", whole(TOPIC, u.name, ("retention.ms", "2000")), whole(TOPIC, t.name, ("segment.ms", "x")))
    own(k, "after", TOPIC, u.name, 1)


def case_admin_log_dirs(k):
    """Sizes of the partitions that are asked for, in every version."""
    t = k.topic("sized", 2)
    u = k.topic("empty", 1)
    k.produce(t, wire.batch(["a", "b"]))
    mine = {t.name, u.name}
    for version in range(1, 6):
        wanted = [{"topic": t.name, "partitions": [0, 1, 9]}, {"topic": k.name("nobody"), "partitions": [0]},
                  {"topic": u.name, "partitions": []}]
        k.call(f"some v{version}", "DescribeLogDirs", version, {"topics": wanted})
        k.call(f"none v{version}", "DescribeLogDirs", version, {"topics": []})
        answer = k.send("DescribeLogDirs", version, {"topics": None})
        for result in answer["results"]:
            result["topics"] = [it for it in result["topics"] if it["name"] in mine]
        k.step(f"all v{version}", answer)
