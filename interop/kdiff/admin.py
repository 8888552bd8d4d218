"""Topics and settings: what Kafka 4.4.0 answers to changes and questions, right and wrong ones."""

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


def op(name, operation, value=None):
    return {"name": name, "configOperation": operation, "value": value}


def change(kind, name, *ops):
    return {"resourceType": kind, "resourceName": name, "configs": list(ops)}


def alter(k, label, *resources, version=1, validate=False):
    return k.call(label, "IncrementalAlterConfigs", version, {"resources": list(resources), "validateOnly": validate})


def asked(kind, name, keys=None):
    return {"resourceType": kind, "resourceName": name, "configurationKeys": keys}


def describe(k, label, *resources, version=4, synonyms=True, drop=()):
    answer = k.send("DescribeConfigs", version, {"resources": list(resources), "includeSynonyms": synonyms})
    for result in answer["results"]:
        result["configs"] = comparable(result["configs"])
    return k.step(label, answer, drop=drop)


def comparable(configs):
    """Without the setting that Kafka's feature `eligible.leader.replicas.version` sets for the whole cluster."""
    return [config for config in configs if config["name"] != "min.insync.replicas"]


def wish(name, **fields):
    return {"name": name, "numPartitions": 1, "replicationFactor": 1, **fields}


def create(k, label, *topics, version=7, **more):
    return k.call(label, "CreateTopics", version, {"timeoutMs": 5000, "topics": list(topics), **more}, drop=["configs"])


def case_admin_create_topics_versions(k):
    """The answer of every version."""
    for version in range(2, 8):
        create(k, f"v{version}", wish(k.name(f"v{version}"), numPartitions=2), version=version)
        k.send("DeleteTopics", 5, {"timeoutMs": 5000, "topicNames": [k.name(f"v{version}")]})


def case_admin_create_topics_settings(k):
    """All settings of a new topic, with source and flags."""
    topic = wish(k.name(), configs=[{"name": "cleanup.policy", "value": "compact"}, {"name": "retention.ms", "value": "1000"}])
    answer = k.send("CreateTopics", 7, {"timeoutMs": 5000, "topics": [topic]})
    answer["topics"][0]["configs"] = comparable(answer["topics"][0]["configs"])
    k.step("created", answer)


def case_admin_create_topics_wrong(k):
    """One wrong topic beside others."""
    n = k.name
    create(k, "names", wish(n("twice")), wish(n("twice")), wish("__cluster_metadata"), wish(n("good")))
    create(k, "null value", wish(n("a"), configs=[{"name": "retention.ms", "value": None}]))
    create(k, "setting twice", wish(n("twice-set"), configs=[{"name": "retention.ms", "value": "1"}, {"name": "retention.ms", "value": "2"}]))
    create(k, "compaction lag", wish(n("b"), configs=[{"name": "min.compaction.lag.ms", "value": "9"},
                                                      {"name": "max.compaction.lag.ms", "value": "8"}]))
    create(k, "empty policy", wish(n("c"), configs=[{"name": "cleanup.policy", "value": ""}]))
    create(k, "tiered", wish(n("d"), configs=[{"name": "remote.storage.enable", "value": "true"}]))
    create(k, "counts", wish(n("e"), numPartitions=-2), wish(n("f"), replicationFactor=0), wish(n("g"), replicationFactor=-2))


def case_admin_create_topics_assignments(k):
    def assign(label, *lists, first=0):
        replicas = [{"partitionIndex": first + i, "brokerIds": brokers} for i, brokers in enumerate(lists)]
        name = k.name(label.replace(" ", "-"))
        create(k, label, wish(name, numPartitions=-1, replicationFactor=-1, assignments=replicas))
    assign("two partitions", [k.node], [k.node])
    assign("gap", [k.node], first=1)
    assign("empty", [])
    assign("unknown broker", [k.node + 7])
    assign("broker twice", [k.node, k.node])
    assign("negative", [k.node], first=-1)


def case_admin_create_topics_collision(k):
    """Dots and underscores: against existing topics only."""
    create(k, "existing", wish(k.name("a.b")))
    create(k, "collides", wish(k.name("a_b")))
    create(k, "together", wish(k.name("c.d")), wish(k.name("c_d")))


def case_admin_create_topics_too_many(k):
    create(k, "too many", wish(k.name("big"), numPartitions=10001), wish(k.name("small")))
    k.call("nothing", "Metadata", 12, {"topics": [{"name": k.name("small")}], "allowAutoTopicCreation": False})


def case_admin_create_partitions(k):
    t = k.topic(partitions=2)

    def grow(label, *topics, version=3, validate=False):
        k.call(label, "CreatePartitions", version, {"timeoutMs": 5000, "validateOnly": validate, "topics": list(topics)})

    def to(count, name=t.name, assignments=None):
        return {"name": name, "count": count, "assignments": assignments}
    grow("validate", to(3), validate=True)
    for version in range(4):
        grow(f"v{version}", to(3 + version), version=version)
    grow("equal", to(6))
    grow("fewer", to(1))
    grow("negative", to(-1))
    grow("zero", to(0))
    grow("unknown", to(2, name=k.name("nobody")))
    grow("illegal", to(2, name="a/b"))
    grow("twice", to(9), to(10))
    grow("by hand", to(8, assignments=[{"brokerIds": [k.node]}, {"brokerIds": [k.node]}]))
    grow("too few lists", to(10, assignments=[{"brokerIds": [k.node]}]))
    grow("no lists", to(10, assignments=[]))
    grow("unknown broker", to(9, assignments=[{"brokerIds": [k.node + 7]}]))
    grow("empty list", to(9, assignments=[{"brokerIds": []}]))
    grow("two replicas", to(9, assignments=[{"brokerIds": [k.node, k.node]}]))
    grow("too many", to(20000))
    k.call("afterwards", "Metadata", 12, {"topics": [{"name": t.name}]})


def case_admin_delete_topics(k):
    """By name and by id, unknown, twice, neither, both."""
    a, b, c = k.topic("a"), k.topic("b"), k.topic("c")
    ghost = k.topic("ghost")
    k.send("DeleteTopics", 6, {"timeoutMs": 5000, "topics": [{"name": ghost.name}]})

    def delete(label, *topics):
        k.call(label, "DeleteTopics", 6, {"timeoutMs": 5000, "topics": list(topics)})
    delete("neither", {"name": None})
    delete("both", {"name": c.name, "topicId": c.id})
    delete("unknown id", {"name": None, "topicId": ghost.id})
    delete("unknown name", {"name": k.name("nobody")})
    delete("illegal name", {"name": "a/b"})
    delete("twice by name", {"name": c.name}, {"name": c.name})
    delete("twice by id", {"name": None, "topicId": c.id}, {"name": None, "topicId": c.id})
    delete("name and id", {"name": a.name}, {"name": None, "topicId": b.id})
    for version in range(1, 6):
        k.call(f"unknown v{version}", "DeleteTopics", version, {"timeoutMs": 5000, "topicNames": [k.name("nobody")]})
    k.call("left", "Metadata", 12, {"topics": [{"name": t.name} for t in (a, b, c)], "allowAutoTopicCreation": False}, epochs=False)


def case_admin_describe_topic(k):
    """All settings of a topic in every version."""
    t = k.topic(configs={"retention.ms": "1000", "cleanup.policy": "compact,delete"})
    for version in range(1, 5):
        describe(k, f"v{version}", asked(TOPIC, t.name), version=version)
    describe(k, "without synonyms", asked(TOPIC, t.name), synonyms=False)
    describe(k, "some", asked(TOPIC, t.name, ["retention.ms", "nonsense", "segment.bytes"]))
    describe(k, "none", asked(TOPIC, t.name, []))


def case_admin_describe_wrong(k):
    describe(k, "unknown topic", asked(TOPIC, k.name("nobody")))
    describe(k, "illegal topic", asked(TOPIC, "a/b"))
    describe(k, "nameless topic", asked(TOPIC, ""))
    describe(k, "other broker", asked(BROKER, str(k.node + 7)))
    describe(k, "no broker id", asked(BROKER, "x"))
    describe(k, "nameless group", asked(GROUP, ""))
    describe(k, "nameless subscription", asked(METRICS, ""))
    describe(k, "nameless logger", asked(LOGGER, ""))
    describe(k, "other logger", asked(LOGGER, str(k.node + 7)))
    describe(k, "unknown type", asked(3, "x"), asked(TOPIC, k.name("nobody")))
    describe(k, "type zero", asked(0, ""))


def case_admin_describe_group(k):
    """A group need not exist."""
    g = k.name("g")
    describe(k, "defaults", asked(GROUP, g))
    alter(k, "set", change(GROUP, g, op("streams.num.standby.replicas", SET, "1"), op("consumer.session.timeout.ms", SET, "50000"),
                           op("share.auto.offset.reset", SET, "earliest")))
    k.until(lambda: any(c["configSource"] == 8 for c in k.send("DescribeConfigs", 4, {"resources": [asked(GROUP, g)]})["results"][0]["configs"]))
    describe(k, "changed", asked(GROUP, g))
    alter(k, "delete", change(GROUP, g, op("streams.num.standby.replicas", DELETE), op("consumer.session.timeout.ms", DELETE),
                              op("share.auto.offset.reset", DELETE)))


def case_admin_alter_group_wrong(k):
    g = k.name("g")
    for name, value in (("no.such.key", "1"), ("consumer.session.timeout.ms", "1"), ("consumer.session.timeout.ms", "70000"),
                        ("consumer.session.timeout.ms", "x"), ("streams.num.standby.replicas", "3"),
                        ("streams.num.standby.replicas", "-1"), ("share.auto.offset.reset", "never"),
                        ("share.isolation.level", "none"), ("streams.heartbeat.interval.ms", "1"),
                        ("share.record.lock.duration.ms", "1")):
        alter(k, f"{name}={value}", change(GROUP, g, op(name, SET, value)), validate=True)
    alter(k, "nameless", change(GROUP, "", op("streams.num.standby.replicas", SET, "1")))
    alter(k, "append", change(GROUP, g, op("streams.num.standby.replicas", APPEND, "1")))


def case_admin_client_metrics(k):
    m = k.name("m")
    describe(k, "defaults", asked(METRICS, m))
    alter(k, "set", change(METRICS, m, op("interval.ms", SET, "1000"), op("metrics", SET, "a.,b."), op("match", SET, "client_id=x.*")))
    k.until(lambda: any(c["configSource"] == 7 for c in k.send("DescribeConfigs", 4, {"resources": [asked(METRICS, m)]})["results"][0]["configs"]))
    describe(k, "changed", asked(METRICS, m))
    alter(k, "append", change(METRICS, m, op("metrics", APPEND, "c.")))
    alter(k, "unknown key", change(METRICS, m, op("nonsense", SET, "1")))
    alter(k, "short", change(METRICS, m, op("interval.ms", SET, "99")))
    alter(k, "no number", change(METRICS, m, op("interval.ms", SET, "x")))
    alter(k, "bad selector", change(METRICS, m, op("match", SET, "nonsense=x")))
    alter(k, "no pattern", change(METRICS, m, op("match", SET, "client_id")))
    alter(k, "nameless", change(METRICS, "", op("interval.ms", SET, "1000")))
    alter(k, "delete", change(METRICS, m, op("interval.ms", DELETE), op("metrics", DELETE), op("match", DELETE)))


def settled(k, name, key, value):
    """Waits until a topic's setting is seen."""
    def seen():
        result = k.send("DescribeConfigs", 4, {"resources": [asked(TOPIC, name, [key])]})["results"][0]
        return result["configs"] and result["configs"][0]["value"] == value
    k.until(seen)


def case_admin_alter_topic(k):
    """Set, append, subtract and delete, and what is seen of it."""
    t = k.topic()
    steps = (
        ("set", op("retention.ms", SET, "1000"), "1000"),
        ("set again", op("retention.ms", SET, " 2000 "), "2000"),
        ("delete", op("retention.ms", DELETE), "604800000"),
        ("delete absent", op("retention.ms", DELETE), "604800000"),
        ("delete with value", op("retention.ms", DELETE, "7"), "604800000"),
        ("append", op("cleanup.policy", APPEND, "compact"), "delete,compact"),
        ("append present", op("cleanup.policy", APPEND, "compact"), "delete,compact"),
        ("subtract", op("cleanup.policy", SUBTRACT, "delete"), "compact"),
        ("subtract absent", op("cleanup.policy", SUBTRACT, "delete"), "compact"),
        ("boolean", op("preallocate", SET, "TRUE"), None),
    )
    for label, change_, value in steps:
        alter(k, label, change(TOPIC, t.name, change_))
        if value is not None:
            settled(k, t.name, change_["name"], value)
        describe(k, f"after {label}", asked(TOPIC, t.name, [change_["name"]]))
    for version in range(2):
        alter(k, f"v{version}", change(TOPIC, t.name, op("retention.ms", SET, "5")), version=version)
    alter(k, "validate", change(TOPIC, t.name, op("retention.ms", SET, "6")), validate=True)
    settled(k, t.name, "retention.ms", "5")


def case_admin_alter_wrong(k):
    t = k.topic()
    set_one = op("retention.ms", SET, "1")
    alter(k, "resource twice", change(TOPIC, t.name, set_one), change(TOPIC, t.name, set_one))
    alter(k, "setting twice", change(TOPIC, t.name, set_one, op("retention.ms", DELETE)))
    alter(k, "null", change(TOPIC, t.name, op("retention.ms", SET, None)))
    alter(k, "null append", change(TOPIC, t.name, op("cleanup.policy", APPEND, None)))
    alter(k, "unknown type", change(3, t.name, set_one))
    alter(k, "nameless topic", change(TOPIC, "", set_one))
    alter(k, "unknown topic", change(TOPIC, k.name("nobody"), set_one))
    alter(k, "illegal topic", change(TOPIC, "a/b", set_one))
    alter(k, "append to a number", change(TOPIC, t.name, op("retention.ms", APPEND, "1")))
    alter(k, "subtract from a number", change(TOPIC, t.name, op("retention.ms", SUBTRACT, "1")))
    alter(k, "append to an unknown", change(TOPIC, t.name, op("no.such.setting", APPEND, "1")))
    alter(k, "unknown", change(TOPIC, t.name, op("no.such.setting", SET, "1")))
    alter(k, "delete unknown", change(TOPIC, t.name, op("no.such.setting", DELETE)))
    alter(k, "bad value", change(TOPIC, t.name, op("retention.ms", SET, "soon")))
    alter(k, "bad list", change(TOPIC, t.name, op("cleanup.policy", SET, "burn")))
    alter(k, "append bad item", change(TOPIC, t.name, op("cleanup.policy", APPEND, "burn")))
    alter(k, "lags", change(TOPIC, t.name, op("min.compaction.lag.ms", SET, "9"), op("max.compaction.lag.ms", SET, "8")))
    alter(k, "one of two", change(TOPIC, t.name, set_one, op("no.such.setting", SET, "1")), change(GROUP, k.name("g"), op("nonsense", SET, "1")))
    alter(k, "nothing", change(TOPIC, t.name))
    alter(k, "no resource")
    describe(k, "untouched", asked(TOPIC, t.name, ["retention.ms", "min.compaction.lag.ms"]))


def case_admin_alter_broker_wrong(k):
    n = str(k.node)
    for label, name, key, value in (
            ("read only", n, "node.id", "5"), ("read only default", "", "log.dirs", "/x"), ("other broker", str(k.node + 7), "log.retention.ms", "1"),
            ("no number", "x", "log.retention.ms", "1"), ("bad value", n, "log.retention.ms", "x"), ("bad default", "", "log.retention.ms", "x"),
            ("one broker only", "", "listeners", "PLAINTEXT://:1"), ("threads", n, "num.io.threads", "99")):
        alter(k, label, change(BROKER, name, op(key, SET, value)), validate=True)
    alter(k, "append to a number", change(BROKER, n, op("log.retention.ms", APPEND, "1")), validate=True)
    alter(k, "good", change(BROKER, "", op("log.retention.ms", SET, "604800000")), validate=True)
    alter(k, "unknown name", change(BROKER, "", op("no.such.setting", SET, "1")), validate=True)


def case_admin_alter_logger_wrong(k):
    n = str(k.node)
    alter(k, "unknown logger", change(LOGGER, n, op("no.such.Logger", SET, "INFO")), validate=True)
    alter(k, "unknown level", change(LOGGER, n, op("root", SET, "LOUD")), validate=True)
    alter(k, "append", change(LOGGER, n, op("root", APPEND, "INFO")), validate=True)
    alter(k, "delete root", change(LOGGER, n, op("root", DELETE)), validate=True)
    alter(k, "other broker", change(LOGGER, str(k.node + 7), op("root", SET, "INFO")), validate=True)
    alter(k, "nameless", change(LOGGER, "", op("root", SET, "INFO")), validate=True)
    alter(k, "no number", change(LOGGER, "x", op("root", SET, "INFO")), validate=True)


def case_admin_metadata_creates(k):
    """A topic that is asked for by name comes to be."""
    body = {"topics": [{"name": k.name("new")}], "allowAutoTopicCreation": True}
    k.until(lambda: k.send("Metadata", 12, body)["topics"][0]["errorCode"] == 0)
    k.call("there", "Metadata", 12, body)
    describe(k, "settings", asked(TOPIC, k.name("new"), ["cleanup.policy", "segment.bytes", "retention.ms"]))


# Settings that a recording gives itself, or that say where a broker is.
PLACE = {"advertised.listeners", "broker.id", "controller.listener.names", "controller.quorum.voters", "listener.security.protocol.map",
         "min.insync.replicas", "offsets.topic.replication.factor", "process.roles", "share.coordinator.state.topic.min.isr",
         "share.coordinator.state.topic.num.partitions", "share.coordinator.state.topic.replication.factor",
         "transaction.state.log.min.isr", "transaction.state.log.num.partitions", "transaction.state.log.replication.factor"}


def case_admin_describe_broker(k):
    """Names, types, flags and defaults of the broker's settings."""
    answer = k.send("DescribeConfigs", 4, {"resources": [asked(BROKER, str(k.node))], "includeSynonyms": True})
    configs = {config["name"]: config for config in answer["results"][0]["configs"]}

    def shown(name):
        config = configs[name]
        shown = {"name": name, "is": [config["readOnly"], config["isSensitive"], config["configType"]]}
        if name not in PLACE and config["configSource"] == 5:
            shown |= {"value": config["value"], "synonyms": config["synonyms"]}
        return shown
    k.step("settings", [shown(name) for name in sorted(configs) if not name.startswith("thalweg.")])


def case_admin_describe_logger(k):
    """There is a root logger, and what it looks like."""
    answer = k.send("DescribeConfigs", 4, {"resources": [asked(LOGGER, str(k.node), ["root"])], "includeSynonyms": True})
    for config in answer["results"][0]["configs"]:
        config["value"] = config["value"] in ("DEBUG", "ERROR", "FATAL", "INFO", "OFF", "TRACE", "WARN")
    k.step("root", answer)


def case_admin_config_resources(k):
    """What has settings, by type and version; types that are none."""
    t, g = k.topic(), k.group()
    setting = change(GROUP, g, op("streams.num.standby.replicas", SET, "1"))
    k.send("IncrementalAlterConfigs", 1, {"resources": [setting], "validateOnly": False})

    def listed(types, version=1):
        return k.send("ListConfigResources", version, {"resourceTypes": types} if version else {})
    k.until(lambda: any(it["resourceName"] == g for it in listed([GROUP])["configResources"]))
    for types in ([], [TOPIC], [GROUP], [TOPIC, GROUP, GROUP], [METRICS], [1], [64], [GROUP, 99], [0], [-1]):
        answer = listed(types)
        mine = sorted((it["resourceType"], it["resourceName"]) for it in k.mine(answer["configResources"], "resourceName"))
        k.step(f"{types}", {"errorCode": answer["errorCode"], "mine": mine})
    for types in ([BROKER], [LOGGER]):
        answer = listed(types)
        k.step(f"{types}", {"errorCode": answer["errorCode"], "types": [it["resourceType"] for it in answer["configResources"]]})
    k.step("version 0", {"errorCode": listed([], 0)["errorCode"], "mine": k.mine(listed([], 0)["configResources"], "resourceName")})
