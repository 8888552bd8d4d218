"""The transaction coordinator: beginning, adding, ending, by both protocols, and what tools see of it."""

STATES = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"]
BUSY = 51


def begin_body(id, timeout=60_000, pid=-1, epoch=-1):
    return {"transactionalId": id, "transactionTimeoutMs": timeout, "producerId": pid, "producerEpoch": epoch}


def add_body(id, pid, epoch, *topics):
    return {"v3AndBelowTransactionalId": id, "v3AndBelowProducerId": pid, "v3AndBelowProducerEpoch": epoch,
            "v3AndBelowTopics": [{"name": name, "partitions": list(partitions)} for name, partitions in topics]}


def transaction(id, pid, epoch, verify, *topics):
    return {"transactionalId": id, "producerId": pid, "producerEpoch": epoch, "verifyOnly": verify,
            "topics": [{"name": name, "partitions": list(partitions)} for name, partitions in topics]}


def end_body(id, pid, epoch, commit=True):
    return {"transactionalId": id, "producerId": pid, "producerEpoch": epoch, "committed": commit}


class Id:
    """A transactional id with the producer that it has."""

    def __init__(self, k, base="id", timeout=60_000):
        self.k, self.id = k, k.coordinator(k.name(base), 1)
        self.pid = self.epoch = -1
        self.begin(timeout=timeout)

    def begin(self, timeout=60_000, pid=-1, epoch=-1):
        """Waits while the last transaction ends."""
        answer = self.settled("InitProducerId", 5, begin_body(self.id, timeout, pid, epoch))
        self.pid, self.epoch = answer["producerId"], answer["producerEpoch"]
        return answer

    def settled(self, api, version, body):
        """The first answer but that the id is busy."""
        answer = {}

        def come():
            nonlocal answer
            answer = self.k.send(api, version, body)
            codes = [answer.get("errorCode", 0)] + [p["partitionErrorCode"] for t in answer.get("resultsByTopicV3AndBelow", [])
                                                    for p in t["resultsByPartition"]]
            return BUSY not in codes
        self.k.until(come)
        return answer

    def add(self, label, *topics, version=3):
        return self.k.step(label, self.settled("AddPartitionsToTxn", version, add_body(self.id, self.pid, self.epoch, *topics)))

    def end(self, label, commit=True, version=5, pid=None, epoch=None):
        pid, epoch = self.pid if pid is None else pid, self.epoch if epoch is None else epoch
        answer = self.k.step(label, self.settled("EndTxn", version, end_body(self.id, pid, epoch, commit)))
        if answer["errorCode"] == 0 and version >= 5:
            self.pid, self.epoch = answer["producerId"], answer["producerEpoch"]
        return answer

    def describe(self):
        return self.k.send("DescribeTransactions", 0, {"transactionalIds": [self.id]})["transactionStates"][0]

    def until_state(self, label, *states):
        self.k.until(lambda: self.describe()["transactionState"] in states, timeout=30)
        self.k.step(label, self.describe(), drop=["transactionStartTimeMs"])


def case_txn_find_coordinator(k):
    """Every version, and keys that are no transactional ids."""
    id = k.coordinator(k.name("id"), 1)
    k.each_version("found", "FindCoordinator", lambda v: {"keyType": 1, "coordinatorKeys": [id]} if v >= 4 else {"keyType": 1, "key": id},
                   versions=(1, 2, 3, 4, 5, 6))
    k.call("the empty one", "FindCoordinator", 4, {"keyType": 1, "coordinatorKeys": [""]})
    k.call("many", "FindCoordinator", 5, {"keyType": 1, "coordinatorKeys": [id, k.name("other"), id]})


def case_txn_begin_wrong(k):
    """Checks of InitProducerId in their order, in every version."""
    id = k.coordinator(k.name("id"), 1)
    bodies = {
        "only an id": begin_body(id, 0, 5, -1), "only an epoch": begin_body("", 0, -1, 5), "empty": begin_body("", 0),
        "no timeout": begin_body(id, 0), "negative timeout": begin_body(id, -1), "too long": begin_body(id, 900_001),
    }
    for name, body in bodies.items():
        for version in (3, 4, 5):
            k.call(f"{name} v{version}", "InitProducerId", version, body)
    for version in (0, 1, 2):
        k.call(f"empty v{version}", "InitProducerId", version, {"transactionalId": "", "transactionTimeoutMs": 1})
        k.call(f"too long v{version}", "InitProducerId", version, {"transactionalId": id, "transactionTimeoutMs": 2**31 - 1})
    k.call("longest", "InitProducerId", 5, begin_body(id, 900_000))
    k.call("without transactional id, with an expectation", "InitProducerId", 5, begin_body(None, 0, 3, 3))


def case_txn_begin_again(k):
    """New instances, and the same one after an error (KIP-360)."""
    id = k.coordinator(k.name("id"), 1)
    for version in (0, 1, 2, 3, 4, 5):
        body = {"transactionalId": id, "transactionTimeoutMs": 60_000}
        k.call(f"another instance v{version}", "InitProducerId", version, body | ({"producerId": -1, "producerEpoch": -1} if version >= 3 else {}))
    x = Id(k, "x")
    for label, epoch in (("present", 0), ("again", 0), ("again", 0), ("next", 1), ("ahead", 7), ("old", 0)):
        k.call(f"expected {label}", "InitProducerId", 5, begin_body(x.id, 60_000, x.pid, epoch))
    for version in (3, 4):
        k.call(f"fenced v{version}", "InitProducerId", version, begin_body(x.id, 60_000, x.pid, 0))
    k.call("another id", "InitProducerId", 5, begin_body(x.id, 60_000, x.pid + 1_000_000, 2))
    k.call("another id, last epoch", "InitProducerId", 5, begin_body(x.id, 60_000, x.pid + 1_000_000, 32_766))
    x.begin()
    k.call("retry of before the new instance", "InitProducerId", 5, begin_body(x.id, 60_000, x.pid, 1))
    k.call("unknown with an expectation", "InitProducerId", 5, begin_body(k.coordinator(k.name("y"), 1), 60_000, 12, 3))


def case_txn_begin_fences(k):
    """A new instance while a transaction is open."""
    t, x = k.topic(partitions=2), Id(k)
    old = (x.pid, x.epoch)
    x.add("add", (t.name, [0]))
    k.call("a wrong expectation", "InitProducerId", 5, begin_body(x.id, 60_000, x.pid + 1_000_000, 0))
    k.call("new instance", "InitProducerId", 5, begin_body(x.id))
    x.until_state("aborted", "CompleteAbort")
    k.step("begun", x.begin())
    for version in (0, 1, 2, 3):
        k.call(f"old adds v{version}", "AddPartitionsToTxn", version, add_body(x.id, *old, (t.name, [0])))
    for version in (0, 1, 2, 3, 4, 5):
        k.call(f"old commits v{version}", "EndTxn", version, end_body(x.id, *old))
    for version in (0, 1, 2, 3, 4):
        k.call(f"old adds a group v{version}", "AddOffsetsToTxn", version,
               {"transactionalId": x.id, "producerId": old[0], "producerEpoch": old[1], "groupId": k.name("g")})
    k.call("old begins again", "InitProducerId", 5, begin_body(x.id, 60_000, *old))


def case_txn_begin_expected_fences(k):
    """The same instance after an error in a transaction: it is aborted too."""
    t, x = k.topic(), Id(k)
    for round in range(3):
        x.add(f"add {round}", (t.name, [0]))
        before = x.epoch
        k.call(f"begins again {round}", "InitProducerId", 5, begin_body(x.id, 60_000, x.pid, x.epoch))
        x.until_state(f"aborted {round}", "CompleteAbort")
        k.step(f"the same epoch {round}", x.begin(60_000, x.pid, before))


def case_txn_add_partitions(k):
    """All or none, and each error in each version of clients."""
    t, u, x = k.topic("t", partitions=3), k.topic("u"), Id(k)
    for version in (0, 1, 2, 3):
        def add(label, id, pid, epoch, *topics):
            k.call(f"{label} v{version}", "AddPartitionsToTxn", version, add_body(id, pid, epoch, *topics))
        add("unknown topic", x.id, x.pid, x.epoch, (t.name, [0, 1]), (k.name("nobody"), [0]))
        add("unknown partition", x.id, x.pid, x.epoch, (t.name, [0, 7]), (u.name, [0]))
        add("internal topic", x.id, x.pid, x.epoch, (t.name, [0]), ("__consumer_offsets", [0]), ("__transaction_state", [0]))
        add("unknown id", k.name("other"), x.pid, x.epoch, (t.name, [0]))
        add("empty id", "", x.pid, x.epoch, (t.name, [0]))
        add("another producer", x.id, x.pid + 1_000_000, x.epoch, (t.name, [0]))
        add("another epoch", x.id, x.pid, x.epoch + 1, (t.name, [0]))
        add("good", x.id, x.pid, x.epoch, (t.name, [0]))
        add("more", x.id, x.pid, x.epoch, (t.name, [0, version % 3]), (u.name, [0]))
        add("known", x.id, x.pid, x.epoch, (u.name, [0]))
        add("nothing", x.id, x.pid, x.epoch)
        add("unknown beside known", x.id, x.pid, x.epoch, (k.name("nobody"), [0]), (u.name, [0]))
    k.step("described", x.describe(), drop=["transactionStartTimeMs"])


def case_txn_add_nothing(k):
    """A transaction without partitions, by both protocols."""
    x = Id(k)
    x.add("nothing")
    k.step("described", x.describe(), drop=["transactionStartTimeMs"])
    x.end("commit v4", version=4)
    x.until_state("ended", "CompleteCommit")
    x.add("nothing again")
    x.end("commit v5")
    x.until_state("ended again", "CompleteCommit")


def case_txn_verify_partitions(k):
    """What brokers ask, v4 and v5: several transactions, to verify and to add."""
    t, x, y = k.topic(partitions=3), Id(k, "x"), Id(k, "y")
    x.add("add", (t.name, [0]))
    for version in (4, 5):
        def ask(label, *transactions):
            k.call(f"{label} v{version}", "AddPartitionsToTxn", version, {"transactions": list(transactions)})
        ask("in and out", transaction(x.id, x.pid, x.epoch, True, (t.name, [0, 1])))
        ask("many", transaction(x.id, x.pid, x.epoch, True, (t.name, [0])), transaction(y.id, y.pid, y.epoch, True, (t.name, [0])),
            transaction(k.name("nobody"), 1, 0, True, (t.name, [0])))
        ask("another producer", transaction(x.id, x.pid + 1_000_000, x.epoch, True, (t.name, [0])))
        ask("another epoch", transaction(x.id, x.pid, 5, True, (t.name, [0])))
        ask("empty id", transaction("", x.pid, 5, True, (t.name, [0])))
        ask("empty id to add", transaction("", x.pid, 5, False, (t.name, [0])))
        ask("unknown topic", transaction(x.id, x.pid, x.epoch, True, (t.name, [0, 9]), (k.name("nobody"), [1])))
        ask("add stale", transaction(x.id, x.pid, 5, False, (t.name, [0])))
        ask("add", transaction(y.id, y.pid, y.epoch, False, (t.name, [version - 3])))
        ask("verify it", transaction(y.id, y.pid, y.epoch, True, (t.name, [0, 1, 2])))
    y.end("commit")
    y.until_state("ended", "CompleteCommit")
    k.call("verify after the end", "AddPartitionsToTxn", 5, {"transactions": [transaction(y.id, y.pid, y.epoch, True, (t.name, [1]))]})


def case_txn_add_offsets(k):
    """The partition of a group, and its errors."""
    x, g = Id(k), k.group()
    for version in (0, 1, 2, 3, 4):
        def add(label, id, pid, epoch):
            k.call(f"{label} v{version}", "AddOffsetsToTxn", version,
                   {"transactionalId": id, "producerId": pid, "producerEpoch": epoch, "groupId": g})
        add("unknown id", k.name("other"), x.pid, x.epoch)
        add("empty id", "", x.pid, x.epoch)
        add("another producer", x.id, x.pid + 1_000_000, x.epoch)
        add("another epoch", x.id, x.pid, x.epoch + 1)
        add("good", x.id, x.pid, x.epoch)
    k.step("topics", [t["topic"] for t in x.describe()["topics"]])
    x.end("commit", version=4)
    x.until_state("ended", "CompleteCommit")


def case_txn_end_of_old_clients(k):
    """The table of ends before transaction.version 2, each row in each version."""
    t = k.topic()
    for version in (0, 1, 2, 3, 4):
        x = Id(k, f"x{version}")
        x.end(f"commit when Empty v{version}", True, version)
        x.end(f"abort when Empty v{version}", False, version)
        k.call(f"unknown id v{version}", "EndTxn", version, end_body(k.name("other"), x.pid, x.epoch))
        k.call(f"empty id v{version}", "EndTxn", version, end_body("", x.pid, x.epoch))
        k.call(f"another producer v{version}", "EndTxn", version, end_body(x.id, x.pid + 1_000_000, x.epoch))
        k.call(f"another epoch v{version}", "EndTxn", version, end_body(x.id, x.pid, x.epoch + 1))
        for commit in (True, False):
            x.add(f"add v{version} {commit}", (t.name, [0]))
            x.end(f"end {commit} v{version}", commit, version)
            x.until_state(f"ended {commit} v{version}", "CompleteCommit", "CompleteAbort")
            x.end(f"the same again {commit} v{version}", commit, version)
            x.end(f"the other way {commit} v{version}", not commit, version)
            k.call(f"an old epoch {commit} v{version}", "EndTxn", version, end_body(x.id, x.pid, x.epoch - 1, commit))


def case_txn_end_with_new_epoch(k):
    """The table of ends by transaction.version 2."""
    t, x = k.topic(), Id(k)
    k.call("unknown id", "EndTxn", 5, end_body(k.name("other"), x.pid, x.epoch))
    k.call("empty id", "EndTxn", 5, end_body("", x.pid, x.epoch))

    def tries(state):
        """Everything that is refused or done before, which leaves the state."""
        pid, epoch = x.pid, x.epoch
        for label, id, of in (("another producer", pid + 1_000_000, epoch), ("ahead", pid, epoch + 1), ("retry", pid, epoch - 1),
                              ("older", pid, epoch - 2), ("last epoch of another", pid + 1_000_000, 32_766)):
            if of >= 0:
                for commit in (True, False):
                    k.step(f"{state}: {label} {'commit' if commit else 'abort'}", x.settled("EndTxn", 5, end_body(x.id, id, of, commit)))

    tries("Empty")
    x.end("Empty: commit")
    x.end("Empty: abort", False)
    x.until_state("CompleteAbort", "CompleteAbort")
    tries("CompleteAbort")
    x.end("CompleteAbort: commit")
    x.end("CompleteAbort: abort", False)
    x.until_state("CompleteAbort again", "CompleteAbort")
    x.add("add", (t.name, [0]))
    tries("Ongoing")
    x.end("Ongoing: commit")
    x.until_state("CompleteCommit", "CompleteCommit")
    tries("CompleteCommit")
    x.end("CompleteCommit: commit")
    x.end("CompleteCommit: abort", False)
    x.until_state("CompleteAbort after that", "CompleteAbort")
    x.add("add again", (t.name, [0]))
    x.end("Ongoing: abort", False)
    x.until_state("CompleteAbort at last", "CompleteAbort")
    k.step("begins again", x.begin(60_000, x.pid, x.epoch - 1))
    k.step("begins again with the present epoch", x.begin(60_000, x.pid, x.epoch))


def case_txn_both_protocols(k):
    """Old and new clients on one transactional id."""
    t, x = k.topic(partitions=2), Id(k)
    for round, (add_version, end_version) in enumerate(((3, 4), (5, 4), (3, 5), (5, 5), (3, 3))):
        if add_version == 3:
            x.add(f"add {round}", (t.name, [0]))
        else:
            answer = {}

            def added():
                nonlocal answer
                answer = k.send("AddPartitionsToTxn", 5, {"transactions": [transaction(x.id, x.pid, x.epoch, False, (t.name, [1]))]})
                return answer["resultsByTransaction"][0]["topicResults"][0]["resultsByPartition"][0]["partitionErrorCode"] != BUSY
            k.until(added)
            k.step(f"add {round}", answer)
        x.end(f"end {round}", round % 2 == 0, end_version)
        x.until_state(f"ended {round}", "CompleteCommit", "CompleteAbort")


def case_txn_timeout(k):
    """A transaction that takes too long: aborted, its producer fenced, which may begin again (KIP-588)."""
    t, x = k.topic(), Id(k, timeout=1_000)
    x.add("add", (t.name, [0]))
    x.until_state("timed out", "CompleteAbort")
    k.call("adds", "AddPartitionsToTxn", 3, add_body(x.id, x.pid, x.epoch, (t.name, [0])))
    k.call("commits as an old client", "EndTxn", 4, end_body(x.id, x.pid, x.epoch))
    k.call("commits", "EndTxn", 5, end_body(x.id, x.pid, x.epoch))
    k.call("aborts", "EndTxn", 5, end_body(x.id, x.pid, x.epoch, False))
    k.step("begins again", x.begin(60_000, x.pid, x.epoch))
    x.add("add again", (t.name, [0]))
    x.end("commit")
    x.until_state("ended", "CompleteCommit")


def case_txn_deleted_topic(k):
    """A topic that is gone does not keep a transaction from its end."""
    t, u, x = k.topic("t"), k.topic("u"), Id(k)
    x.add("add", (t.name, [0]), (u.name, [0]))
    k.send("DeleteTopics", 6, {"timeoutMs": 5000, "topics": [{"name": t.name}]})
    k.until(lambda: k.send("Metadata", 12, {"topics": [{"name": t.name}], "allowAutoTopicCreation": False})["topics"][0]["errorCode"] == 3)
    x.end("commit")
    x.until_state("ended", "CompleteCommit")


def case_txn_describe(k):
    """Ids in the order of the question, doubles, and what is not there."""
    t, u, x, y = k.topic("t", partitions=3), k.topic("u"), Id(k, "x"), Id(k, "y", timeout=30_000)
    k.call("nothing", "DescribeTransactions", 0, {"transactionalIds": []})
    x.add("add", (t.name, [0, 2]), (u.name, [0]))
    ids = [y.id, "", x.id, k.name("nobody"), x.id]
    answer = k.send("DescribeTransactions", 0, {"transactionalIds": ids})
    started = [state.pop("transactionStartTimeMs") for state in answer["transactionStates"]]
    k.step("described", answer)
    k.step("in this order", [state["transactionalId"] for state in answer["transactionStates"]], ordered=True)
    k.step("began", [time if time <= 0 else "then" for time in started], ordered=True)
    x.end("commit")
    x.until_state("ended", "CompleteCommit")
    k.step("its begin stays", x.describe()["transactionStartTimeMs"] == started[2])


def case_txn_list(k):
    """Filters of states, producers, time and pattern."""
    t, x, y, z = k.topic(), Id(k, "x-1"), Id(k, "x-2"), Id(k, "z")
    x.add("add", (t.name, [0]))
    y.end("abort", False)
    y.until_state("ended", "CompleteAbort")

    def list(label, version, **body):
        answer = k.send("ListTransactions", version, {"stateFilters": [], "producerIdFilters": []} | body)
        answer["transactionStates"] = sorted(k.mine(answer["transactionStates"], "transactionalId"), key=lambda it: it["transactionalId"])
        k.step(f"{label} v{version}", answer)
    for version in (0, 1, 2):
        list("all", version)
        list("states", version, stateFilters=["Ongoing", "CompleteAbort"])
        list("unknown states", version, stateFilters=["ongoing", "Bogus", "Empty"])
        list("unknown states only", version, stateFilters=["Bogus"])
        list("states that nothing is in", version, stateFilters=["Dead", "PrepareEpochFence"])
        list("producers", version, producerIdFilters=[x.pid, z.pid])
        list("both", version, producerIdFilters=[x.pid, z.pid], stateFilters=["Ongoing"])
        list("unknown producer", version, producerIdFilters=[10**15])
    for version in (1, 2):
        list("long", version, durationFilter=3_600_000)
        list("any time", version, durationFilter=-5)
        list("long and ongoing", version, durationFilter=3_600_000, stateFilters=["Ongoing"])
    prefix = k.name("").replace(".", "[.]")
    for label, pattern in (("prefix", prefix + "x.*"), ("no part", "x"), ("null", None), ("empty", ""), ("class", prefix + r"x-\d"),
                           ("alternatives", f"{prefix}z|{prefix}x-2"), ("broken", "("), ("lookahead", "(?=x)"), ("star", "*")):
        list(label, 2, transactionalIdPattern=pattern)
