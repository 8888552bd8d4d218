"""Levels of features. Cases whose name says `alone` lower levels for all clients: they run one at a time, after others."""

UPGRADE, SAFE, UNSAFE = 1, 2, 3
TRANSACTIONS, METADATA = "transaction.version", "metadata.version"
# What Kafka finalizes beside these is not served here.
SERVED = ("group.version", METADATA, "streams.version", TRANSACTIONS)


def update(k, label, *updates, version=2, check=False, allow=False):
    """Each a name, a level and an upgrade type."""
    wanted = [{"feature": name, "maxVersionLevel": level, **({"allowDowngrade": allow} if version == 0 else {"upgradeType": how})}
              for name, level, how in updates]
    body = {"timeoutMs": 10000, "featureUpdates": wanted, **({} if version == 0 else {"validateOnly": check})}
    return k.call(label, "UpdateFeatures", version, body, ordered=True)


def told(k, version=4):
    answer = k.send("ApiVersions", version, {"clientSoftwareName": "kdiff", "clientSoftwareVersion": "1"})
    levels = {it["name"]: [it["minVersionLevel"], it["maxVersionLevel"]] for it in answer["finalizedFeatures"]}
    supported = {it["name"]: [it["minVersion"], it["maxVersion"]] for it in answer["supportedFeatures"]}
    mine = lambda all: {name: all[name] for name in sorted(all) if name in SERVED}
    return answer["finalizedFeaturesEpoch"], mine(levels), mine(supported)


def show(k, label):
    """Levels as ApiVersions has them, once what the broker heard of last is in it."""
    k.pause(0.3)    # Kafka's brokers hear of levels later than the controller answers
    k.step(label, told(k)[1])


def restore(k):
    for name in SERVED:
        if name != METADATA:
            k.send("UpdateFeatures", 2, {"timeoutMs": 10000, "featureUpdates": [
                {"feature": name, "maxVersionLevel": 2 if name == TRANSACTIONS else 1, "upgradeType": UPGRADE}]})
    k.pause(0.3)


def case_features_versions(k):
    """Supported and finalized levels in every version of ApiVersions that has them."""
    for version in (3, 4):
        epoch, levels, supported = told(k, version)
        k.step(f"v{version}", [epoch >= 0, levels, supported])


def case_features_nothing(k):
    """A request for no feature is well."""
    for version in (0, 1, 2):
        update(k, f"v{version}", version=version)
    update(k, "only checked", check=True)


def case_features_that_stand(k):
    """The level that stands, with every upgrade type and in every version: results and their order."""
    all = [("streams.version", 1, UPGRADE), ("group.version", 1, UPGRADE), (TRANSACTIONS, 2, UPGRADE)]
    for version in (0, 1, 2):
        update(k, f"v{version}", *all, version=version)
        update(k, f"v{version} twice", all[2], all[1], all[2], version=version)
    for how in (UPGRADE, SAFE, UNSAFE):
        update(k, f"type {how}", (TRANSACTIONS, 2, how))
        update(k, f"type {how} v1", (METADATA, 33, how), version=1)


def case_features_unknown(k):
    for version in (0, 1, 2):
        for level in (-1, 0, 1, 32767):
            update(k, f"v{version} {level}", ("no.such.feature", level, UPGRADE), version=version)
    update(k, "safe", ("no.such.feature", 1, SAFE))
    update(k, "no name", ("", 1, UPGRADE))
    update(k, "no name 0", ("", 0, SAFE), version=1)


def case_features_upgrade_types(k):
    """Types that do not exist, and each of those that do, beside a level that is above, below or not there."""
    for how in (-1, 0, 4, 127):
        update(k, f"type {how}", (TRANSACTIONS, 2, how))
        update(k, f"type {how} below 0", (TRANSACTIONS, -1, how), version=1)
    for level in (-32768, -1, 3):
        for how in (UPGRADE, SAFE, UNSAFE):
            update(k, f"level {level} type {how}", (TRANSACTIONS, level, how), check=True)


def case_features_lower_without_downgrade(k):
    for version in (0, 1, 2):
        for name, level in ((TRANSACTIONS, 1), (TRANSACTIONS, 0), ("group.version", 0), ("streams.version", 0), (METADATA, 32)):
            update(k, f"v{version} {name} {level}", (name, level, UPGRADE), version=version)
    update(k, "v0 that allows it", (TRANSACTIONS, 1, UPGRADE), version=0, allow=True)
    show(k, "levels")


def case_features_only_checked(k):
    """What would be done is not."""
    for version in (1, 2):
        for how in (SAFE, UNSAFE):
            lower = [(TRANSACTIONS, 0, how), ("group.version", 0, how), ("streams.version", 0, how)]
            update(k, f"v{version} type {how}", *lower, version=version, check=True)
            update(k, f"v{version} type {how} with another", *lower, ("no.such.feature", 1, UPGRADE), version=version, check=True)
    show(k, "levels")


def case_features_metadata_never_falls(k):
    for level in (-1, 0, 6, 7, 20, 32, 33, 34, 100):
        for how in (UPGRADE, SAFE, UNSAFE):
            update(k, f"level {level} type {how}", (METADATA, level, how), check=True, version=1)


def case_features_one_of_many_wrong(k):
    """None changes."""
    wrong = ("no.such.feature", 1, UPGRADE)
    for version in (1, 2):
        update(k, f"v{version} after", (TRANSACTIONS, 1, SAFE), wrong, version=version)
        update(k, f"v{version} before", wrong, (TRANSACTIONS, 1, SAFE), version=version)
        update(k, f"v{version} twice", (TRANSACTIONS, 1, SAFE), (TRANSACTIONS, 1, UPGRADE), version=version)
    show(k, "levels")


def case_features_alone_levels(k):
    """Down and up with every type; the epoch grows with each."""
    try:
        last, _, _ = told(k)
        for label, version, *updates in (
            ("to 1", 2, (TRANSACTIONS, 1, SAFE)), ("above with a downgrade", 2, (TRANSACTIONS, 2, SAFE)),
            ("above with an unsafe one", 1, (TRANSACTIONS, 2, UNSAFE)), ("to 0", 1, (TRANSACTIONS, 0, UNSAFE)),
            ("to 0 again", 2, (TRANSACTIONS, 0, SAFE)), ("up to 1", 0, (TRANSACTIONS, 1, UPGRADE)),
            ("up to 2", 1, (TRANSACTIONS, 2, UPGRADE)), ("all off", 1, *((name, 0, SAFE) for name in SERVED if name != METADATA)),
            ("two on", 2, ("group.version", 1, UPGRADE), ("streams.version", 1, UPGRADE)),
            ("twice, the last counts", 1, (TRANSACTIONS, 3, UPGRADE), (TRANSACTIONS, 1, UPGRADE)),
        ):
            answer = update(k, label, *updates, version=version)
            show(k, label + ": levels")
            if answer["errorCode"] == 0:
                epoch, _, _ = told(k)
                k.step(label + ": epoch", "grows" if epoch > last else "stands or falls")
                last = epoch
    finally:
        restore(k)


def beats(k, label, g, t):
    consumer = {"groupId": g, "memberId": "m", "memberEpoch": 0, "rebalanceTimeoutMs": 60000, "subscribedTopicNames": [t],
                "topicPartitions": []}
    k.call(label + " consumer", "ConsumerGroupHeartbeat", 1, consumer, only=("errorCode", "errorMessage"))
    streams = {"groupId": g + "-s", "memberId": "m", "memberEpoch": 0, "rebalanceTimeoutMs": 60000, "processId": "p", "clientTags": [],
               "activeTasks": [], "standbyTasks": [], "warmupTasks": [],
               "topology": {"epoch": 0, "subtopologies": [{"subtopologyId": "0", "sourceTopics": [t]}]}}
    k.call(label + " streams", "StreamsGroupHeartbeat", 1, streams, only=("errorCode", "errorMessage"))
    for api, group in (("ConsumerGroupDescribe", g), ("StreamsGroupDescribe", g + "-s")):
        answer = k.send(api, 1, {"groupIds": [group]})
        k.step(f"{label} {api}", [it["errorCode"] for it in answer["groups"]])
    answer = k.send("ListGroups", 5, {})
    k.step(label + " listed", sorted([it["groupType"], it["groupState"]] for it in answer["groups"] if it["groupId"].startswith(g)))


def case_features_alone_groups_off_and_on(k):
    """Heartbeats, descriptions and listings while `group.version` and `streams.version` are 1, 0, and 1 again."""
    t, g = k.topic().name, k.group()
    k.send("FindCoordinator", 4, {"keyType": 0, "coordinatorKeys": [g + "-s"]})
    try:
        beats(k, "on", g, t)
        for name in ("group.version", "streams.version"):
            update(k, name + " off", (name, 0, SAFE))
            k.pause(0.3)
            beats(k, name + " off", g, t)
            update(k, name + " on", (name, 1, UPGRADE))
            k.pause(0.3)
            beats(k, name + " on", g, t)
    finally:
        restore(k)


def case_features_alone_transactions(k):
    """Both protocols of the client at every level of the cluster, in one transactional id: codes and epochs.

    Not EndTxn v5 at level 0: Kafka can't write the record then, and leaves the transactional id busy."""
    t, id = k.topic().name, k.name("id")
    k.until(lambda: k.send("FindCoordinator", 4, {"keyType": 1, "coordinatorKeys": [id]})["coordinators"][0]["errorCode"] == 0)

    def settled(api, version, body):
        """The answer that is not about the transaction before."""
        answers = []
        def asked():
            answers.append(k.send(api, version, body))
            return answers[-1]["errorCode"] not in (14, 51)
        k.until(asked)
        return answers[-1]

    try:
        for level in (2, 1, 0, 1, 2):
            now = told(k)[1].get(TRANSACTIONS, [0, 0])[1]
            update(k, f"to {level}", (TRANSACTIONS, level, SAFE if level < now else UPGRADE))
            k.pause(0.3)
            for speaks in (4, 5) if level else (4,):
                has = settled("InitProducerId", 5, {"transactionalId": id, "transactionTimeoutMs": 60000, "producerId": -1, "producerEpoch": -1})
                k.step(f"level {level} speaks {speaks} begins", has, only=("errorCode", "producerEpoch"))
                add = {"v3AndBelowTransactionalId": id, "v3AndBelowProducerId": has["producerId"],
                       "v3AndBelowProducerEpoch": has["producerEpoch"], "v3AndBelowTopics": [{"name": t, "partitions": [0]}]}
                k.call(f"level {level} speaks {speaks} adds", "AddPartitionsToTxn", 3, add)
                end = {"transactionalId": id, "producerId": has["producerId"], "producerEpoch": has["producerEpoch"], "committed": True}
                k.step(f"level {level} speaks {speaks} ends", settled("EndTxn", speaks, end), only=("errorCode", "producerEpoch"))
            # Fenced by another: the cluster's level decides how.
            has = settled("InitProducerId", 5, {"transactionalId": id, "transactionTimeoutMs": 60000, "producerId": -1, "producerEpoch": -1})
            add["v3AndBelowProducerEpoch"] = has["producerEpoch"]
            k.call(f"level {level} opens", "AddPartitionsToTxn", 3, add)
            has = settled("InitProducerId", 5, {"transactionalId": id, "transactionTimeoutMs": 60000, "producerId": -1, "producerEpoch": -1})
            k.step(f"level {level} fences", has, only=("errorCode", "producerEpoch"))
    finally:
        restore(k)
