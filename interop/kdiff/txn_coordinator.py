"""The transaction coordinator, one question a case: names, wrong numbers, bounds, filters (broker-core 12.3-12.6, 12.10)."""

import client
import wire
from transactional_writes import Producer, complete, topic
from transactions import Id, add_body, begin_body, end_body, transaction

ADD, OFFSETS, END = (0, 1, 2, 3), (0, 1, 2, 3, 4), (0, 1, 2, 3, 4, 5)
STARTED = ["transactionStartTimeMs"]


def offsets_body(id, pid, epoch, group):
    return {"transactionalId": id, "producerId": pid, "producerEpoch": epoch, "groupId": group}


def closes(k, api, version, body, old, new):
    """Whether a body that is broken by hand closes the connection."""
    conn, data = k.connect(), wire.encode(api + "Request", version, body)
    assert data.startswith(old)
    try:
        answer = conn.send(api, version, new + data[len(old):], timeout=5.0)
        return answer
    except client.Closed:
        return {"closed": True}


def case_txn_null_ids(k):
    """Null where an id must be: no answer, the connection is closed."""
    for api, versions, body in (("AddPartitionsToTxn", ADD, add_body("", 1, 1)), ("AddOffsetsToTxn", OFFSETS, offsets_body("", 1, 1, "g")),
                                ("EndTxn", END, end_body("", 1, 1)),
                                ("TxnOffsetCommit", (0, 2, 3, 5, 6), {"transactionalId": "", "groupId": "g", "producerId": 1,
                                                                      "producerEpoch": 1, "topics": []})):
        for version in versions:
            short = version < 3
            k.step(f"{api} v{version}", closes(k, api, version, body, b"\0\0" if short else b"\1", b"\xff\xff" if short else b"\0"))


def case_txn_negative_producers(k):
    """Ids and epochs that nobody has, and that mean nobody."""
    x, t = Id(k), k.topic()
    for pid, epoch in ((-1, -1), (x.pid, -1), (-1, 0), (-5, 0), (2**63 - 1, 32767)):
        who = f"{'its' if pid == x.pid else pid}/{epoch}"
        for version in ADD:
            k.call(f"add {who} v{version}", "AddPartitionsToTxn", version, add_body(x.id, pid, epoch, (t.name, [0])))
        for version in OFFSETS:
            k.call(f"group {who} v{version}", "AddOffsetsToTxn", version, offsets_body(x.id, pid, epoch, "g"))
        for version in END:
            k.call(f"end {who} v{version}", "EndTxn", version, end_body(x.id, pid, epoch))


def case_txn_begin_odd_expectations(k):
    """InitProducerId with numbers that nobody can have."""
    x = Id(k)
    for version in (3, 4, 5):
        for pid, epoch in ((-2, 0), (0, -2), (-2, -2), (2**63 - 1, 32767), (2**62, 0)):
            k.call(f"{pid}/{epoch} v{version}", "InitProducerId", version, begin_body(x.id, 60_000, pid, epoch))
    k.step("nothing happened", x.describe())


def case_txn_begin_takes_the_timeout(k):
    """Each begin sets the timeout anew; a refused one does not."""
    id = k.coordinator(k.name("id"), 1)
    for version, timeout in ((0, 1), (1, 1000), (3, 900_000), (5, 900_001), (5, 0), (4, 60_000)):
        body = {"transactionalId": id, "transactionTimeoutMs": timeout}
        k.call(f"begin {timeout} v{version}", "InitProducerId", version, body)
        k.call(f"described after {timeout}", "DescribeTransactions", 0, {"transactionalIds": [id]})


def case_txn_begin_fences_by_version(k):
    """A new instance of each version meets an open transaction."""
    t = k.topic()
    for version in range(6):
        x = Id(k, f"x{version}")
        x.add(f"add v{version}", (t.name, [0]))
        body = {"transactionalId": x.id, "transactionTimeoutMs": 30_000}
        k.call(f"begin v{version}", "InitProducerId", version, body)
        x.until_state(f"aborted v{version}", "CompleteAbort")
        k.step(f"begin again v{version}", x.settled("InitProducerId", version, body))
        k.step(f"described v{version}", x.describe())


def case_txn_begin_after_each_end(k):
    """Epochs of new instances after a commit and an abort, by both protocols."""
    t = k.topic()
    for end in (0, 3, 4, 5):
        x = Id(k, f"x{end}")
        for commit in (True, False):
            x.add(f"add {commit} v{end}", (t.name, [0]))
            x.end(f"end {commit} v{end}", commit, end)
            x.until_state(f"ended {commit} v{end}", "CompleteCommit", "CompleteAbort")
            k.step(f"begin {commit} v{end}", x.begin())
            k.step(f"described {commit} v{end}", x.describe())


def case_txn_begin_retries_after_the_end(k):
    """An instance that goes on with the epoch before the bump of its last end."""
    t = k.topic()
    for version in (3, 4, 5):
        x = Id(k, f"x{version}")
        x.add(f"add v{version}", (t.name, [0]))
        before = x.epoch
        x.end(f"end v{version}")
        x.until_state(f"ended v{version}", "CompleteCommit")
        for label, epoch in (("before", before), ("before again", before), ("present", x.epoch), ("newer", x.epoch + 9)):
            k.call(f"{label} v{version}", "InitProducerId", version, begin_body(x.id, 60_000, x.pid, epoch))


def case_txn_longest_id(k):
    """Ids of odd letters and of great length."""
    for label, text in (("spaces", " a b "), ("slashes", "a/b\\c"), ("letters", "äöü-日本"), ("long", "x" * 2000), ("dot", "."), ("newline", "a\nb")):
        id = k.coordinator(k.name(text), 1)
        k.call(f"begin {label}", "InitProducerId", 5, begin_body(id))
        k.call(f"described {label}", "DescribeTransactions", 0, {"transactionalIds": [id]})


def case_txn_add_doubles(k):
    """A partition that is named twice is answered twice, when all go well."""
    t = k.topic(partitions=2)
    for version in ADD:
        x = Id(k, f"x{version}")
        x.add(f"twice v{version}", (t.name, [0, 0]), version=version)
        x.add(f"once more v{version}", (t.name, [1, 0, 1]), version=version)
        k.step(f"described v{version}", x.describe(), drop=STARTED)


def case_txn_add_wrong_doubles(k):
    """A partition that is not there is named twice."""
    t = k.topic(partitions=2)
    for version in ADD:
        x = Id(k, f"x{version}")
        x.add(f"at the end v{version}", (t.name, [0, 7, 7]), version=version)
        x.add(f"a good one too v{version}", (t.name, [0, 7, 0]), version=version)
        k.step(f"described v{version}", x.describe())


def case_txn_add_partitions_that_cannot_be(k):
    """Numbers beyond the topic's."""
    t = k.topic(partitions=2)
    for version in ADD:
        x = Id(k, f"x{version}")
        for number in (-1, -2**31, 2, 2**31 - 1):
            x.add(f"{number} v{version}", (t.name, [0, number]), version=version)
        k.step(f"described v{version}", x.describe())


def case_txn_add_topics_that_cannot_be(k):
    """Names that are no names of topics."""
    for version in ADD:
        x = Id(k, f"x{version}")
        for label, name in (("empty", ""), ("slash", "a/b"), ("dot", "."), ("long", "x" * 300), ("internal", "__share_group_state"),
                            ("like internal", "__nobody")):
            x.add(f"{label} v{version}", (name, [0]), version=version)
        k.step(f"described v{version}", x.describe())


def case_txn_add_to_a_deleted_topic(k):
    """A topic that was there."""
    t, u = k.topic("t"), k.topic("u")
    x = Id(k)
    k.send("DeleteTopics", 6, {"timeoutMs": 5000, "topics": [{"name": t.name}]})
    k.until(lambda: k.send("Metadata", 12, {"topics": [{"name": t.name}], "allowAutoTopicCreation": False})["topics"][0]["errorCode"] == 3)
    for version in ADD:
        x.add(f"gone v{version}", (t.name, [0]), (u.name, [0]), version=version)
    k.step("described", x.describe())


def case_txn_add_many(k):
    """Many partitions of many topics, in steps."""
    topics = [k.topic(f"t{n}", partitions=6) for n in range(3)]
    x = Id(k)
    for n in range(6):
        x.add(f"step {n}", *[(t.name, [n]) for t in topics])
    k.step("described", x.describe(), drop=STARTED)
    x.end("commit")
    x.until_state("ended", "CompleteCommit")


def case_txn_add_batched_wrong_partitions(k):
    """v4 and v5 ask for partitions that are not there, and for an internal one."""
    t, _ = k.topic(), k.group()    # with a group there are its offsets
    for version in (4, 5):
        x = Id(k, f"x{version}")
        for label, name, number in (("partition", t.name, 7), ("topic", k.name("none"), 0), ("negative", t.name, -1), ("internal", "__consumer_offsets", 0)):
            for verify in (True, False):
                k.call(f"{label}, verify {verify}, v{version}", "AddPartitionsToTxn", version, {
                    "transactions": [transaction(x.id, x.pid, x.epoch, verify, (name, [number]))]})


def case_txn_add_batched_mixed(k):
    """Good and wrong transactions in a request, to verify and to add."""
    t, x, y = k.topic(partitions=2), Id(k, "x"), Id(k, "y")
    for version in (4, 5):
        k.call(f"v{version}", "AddPartitionsToTxn", version, {"transactions": [
            transaction(x.id, x.pid, x.epoch, False, (t.name, [0, 1])), transaction(y.id, y.pid, y.epoch + 3, False, (t.name, [0])),
            transaction(k.name("none"), 4, 0, False, (t.name, [0])), transaction("", 4, 0, True, (t.name, [0])),
            transaction(k.name("none2"), 4, 0, True, (t.name, [0]))]})
        k.step(f"described v{version}", [x.describe()["transactionState"], y.describe()["transactionState"]])


def case_txn_add_batched_without_partitions(k):
    """A transaction that asks for nothing."""
    x = Id(k)
    for version in (4, 5):
        for verify in (True, False):
            k.call(f"no topics, verify {verify}, v{version}", "AddPartitionsToTxn", version, {
                "transactions": [transaction(x.id, x.pid, x.epoch, verify)]})
    k.step("described", x.describe(), drop=STARTED)


def case_txn_verify_by_state(k):
    """What verification tells in each state of a transaction."""
    t, x = k.topic(), Id(k)

    def verify(state):
        for version in (4, 5):
            k.step(f"{state} v{version}", x.settled("AddPartitionsToTxn", version, {
                "transactions": [transaction(x.id, x.pid, x.epoch, True, (t.name, [0]))]}))
    verify("Empty")
    x.add("add", (t.name, [0]))
    verify("Ongoing")
    x.end("commit", version=4)
    x.until_state("committed", "CompleteCommit")
    verify("CompleteCommit")
    x.add("add again", (t.name, [0]))
    x.end("abort", False, version=4)
    x.until_state("aborted", "CompleteAbort")
    verify("CompleteAbort")


def case_txn_add_offsets_of_odd_groups(k):
    """Groups without a name, with a strange one, and that nobody knows."""
    for version in OFFSETS:
        x = Id(k, f"x{version}")
        for label, group in (("empty", ""), ("unknown", k.name("none")), ("odd", "a/b ü"), ("unknown again", k.name("none"))):
            k.call(f"{label} v{version}", "AddOffsetsToTxn", version, offsets_body(x.id, x.pid, x.epoch, group))
        k.step(f"topics v{version}", [t["topic"] for t in x.describe()["topics"]])


def case_txn_add_offsets_of_fenced(k):
    """An instance that was replaced, in each version."""
    x = Id(k)
    old = x.pid, x.epoch
    x.begin()
    for version in OFFSETS:
        k.call(f"v{version}", "AddOffsetsToTxn", version, offsets_body(x.id, *old, k.name("g")))
    k.step("described", x.describe())


def case_txn_fenced_by_a_timeout(k):
    """Each request of a producer whose transaction took too long, in each version."""
    t, x = k.topic(), Id(k, timeout=500)
    x.add("add", (t.name, [0]))
    x.until_state("timed out", "CompleteAbort")
    for version in ADD:
        k.call(f"adds v{version}", "AddPartitionsToTxn", version, add_body(x.id, x.pid, x.epoch, (t.name, [0])))
    for version in (4, 5):
        for verify in (True, False):
            k.call(f"adds, verify {verify}, v{version}", "AddPartitionsToTxn", version,
                   {"transactions": [transaction(x.id, x.pid, x.epoch, verify, (t.name, [0]))]})
    for version in OFFSETS:
        k.call(f"adds a group v{version}", "AddOffsetsToTxn", version, offsets_body(x.id, x.pid, x.epoch, "g"))
    for commit in (True, False):
        for version in END:
            k.call(f"ends {commit} v{version}", "EndTxn", version, end_body(x.id, x.pid, x.epoch, commit))
    k.step("a new instance", x.begin())


def case_txn_empty_aborts(k):
    """Aborts of nothing, one after another: each makes an epoch (KIP-890)."""
    x = Id(k)
    for round in range(4):
        x.end(f"abort {round}", False)
        x.until_state(f"ended {round}", "CompleteAbort")
        k.step(f"retried {round}", x.settled("EndTxn", 5, end_body(x.id, x.pid, x.epoch - 1, False)))
        k.step(f"retried as a commit {round}", x.settled("EndTxn", 5, end_body(x.id, x.pid, x.epoch - 1, True)))


def case_txn_end_retries_after_commits(k):
    """The answer to an end was lost: the same again, three times, then older ones."""
    t, x = k.topic(), Id(k)
    for round in range(3):
        x.add(f"add {round}", (t.name, [0]))
        x.end(f"commit {round}")
        x.until_state(f"ended {round}", "CompleteCommit")
        for back in range(1, x.epoch + 1):
            for commit in (True, False):
                k.step(f"epoch -{back} {commit} {round}", x.settled("EndTxn", 5, end_body(x.id, x.pid, x.epoch - back, commit)))


def case_txn_end_of_a_fenced_producer_with_nothing_open(k):
    """A replaced instance ends what it did not begin."""
    x = Id(k)
    old = x.pid, x.epoch
    x.begin()
    for commit in (True, False):
        for version in END:
            k.call(f"{commit} v{version}", "EndTxn", version, end_body(x.id, *old, commit))


def case_txn_end_repeated_by_another_version(k):
    """An old client's end that a new one repeats, and the other way."""
    t = k.topic()
    for first, second in ((4, 5), (5, 4), (3, 5), (5, 0)):
        for commit in (True, False):
            x = Id(k, f"x{first}{second}{commit}")
            x.add(f"add {first} {second} {commit}", (t.name, [0]))
            pid, epoch = x.pid, x.epoch
            x.end(f"end {first} {second} {commit}", commit, first)
            x.until_state(f"ended {first} {second} {commit}", "CompleteCommit", "CompleteAbort")
            k.step(f"again {first} {second} {commit}", x.settled("EndTxn", second, end_body(x.id, pid, epoch, commit)))


def case_txn_clients(k):
    """Whole lives of transactions in the versions that common clients send."""
    rows = {"librdkafka": (4, 0, 1, 7), "kafkajs": (1, 1, 1, 7), "aiokafka": (0, 0, 0, 3), "java v1": (5, 3, 4, 11),
            "sarama": (4, 3, 3, 5), "java v2": (5, None, 5, 12), "by ids": (5, None, 5, 13)}
    for name, (begin, add, end, write) in rows.items():
        t, p = topic(k, name.replace(" ", "-"), partitions=2), Producer(k, name)
        body = {"transactionalId": p.id, "transactionTimeoutMs": 60_000}
        answer = k.call(f"{name}: begin", "InitProducerId", begin, body)
        p.pid, p.epoch, sequence = answer["producerId"], answer["producerEpoch"], 0
        for round, commit in enumerate((True, False, True)):
            if add is not None:
                k.step(f"{name}: add {round}", p.add(t, 0, 1, version=add))
            if write >= 12 and round:
                p.until_written(t, sequence)
            for partition in (0, 1):
                p.write(f"{name}: write {round} {partition}", t, sequence, version=write, partition=partition)
            k.step(f"{name}: end {round}", p.end(commit, end))
            complete(k, p, "CompleteCommit" if commit else "CompleteAbort")
            sequence = 0 if end >= 5 else sequence + 1
        k.call(f"{name}: described", "DescribeTransactions", 0, {"transactionalIds": [p.id]}, drop=STARTED)


def case_txn_describe_states(k):
    """Every state that lasts."""
    t = k.topic(partitions=3)
    x = Id(k)
    k.step("Empty", x.describe())
    x.add("add", (t.name, [2, 0]))
    k.step("Ongoing", x.describe(), drop=STARTED)
    x.end("commit")
    x.until_state("CompleteCommit", "CompleteCommit")
    x.add("add again", (t.name, [1]))
    x.end("abort", False)
    x.until_state("CompleteAbort", "CompleteAbort")
    x.begin()
    k.step("Empty again", x.describe())


def case_txn_describe_odd_ids(k):
    """Ids without letters, with odd ones, many at once."""
    k.coordinator(k.name("id"), 1)
    for label, ids in (("empty", [""]), ("twice empty", ["", ""]), ("unknown", [k.name("none")]), ("odd", [k.name("a/b ü")]),
                       ("many", [k.name(f"none{n}") for n in range(40)])):
        k.call(label, "DescribeTransactions", 0, {"transactionalIds": ids})


def listed(k, label, version, **body):
    answer = k.send("ListTransactions", version, {"stateFilters": [], "producerIdFilters": []} | body)
    answer["transactionStates"] = sorted(k.mine(answer["transactionStates"], "transactionalId"), key=lambda it: it["transactionalId"])
    k.step(f"{label} v{version}", answer)


def case_txn_list_of_states(k):
    """Filters of states: doubles, letters, spaces, none that is known."""
    t, x, y = k.topic(), Id(k, "x"), Id(k, "y")
    x.add("add", (t.name, [0]))
    for version in (0, 1, 2):
        for label, states in (("twice", ["Empty", "Empty"]), ("letters", ["EMPTY", "empty"]), ("space", ["Empty ", "Ongoing"]), ("empty name", [""]),
                              ("all", ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"]),
                              ("unknown", ["Bogus", "Empty"])):
            listed(k, label, version, stateFilters=states)


def case_txn_list_of_producers(k):
    """Filters of producers: doubles, negative ones, together with states."""
    x, y = Id(k, "x"), Id(k, "y")
    for version in (0, 1, 2):
        for label, ids in (("twice", [x.pid, x.pid]), ("negative", [-1]), ("one of two", [y.pid, -7]), ("largest", [2**63 - 1])):
            listed(k, label, version, producerIdFilters=ids)
        listed(k, "in no state", version, producerIdFilters=[x.pid], stateFilters=["Dead"])
        listed(k, "in an unknown state", version, producerIdFilters=[x.pid], stateFilters=["Bogus"])


def case_txn_list_by_time(k):
    """Only what runs for longer; what does not run, runs for ever."""
    t, x, y, z = k.topic(), Id(k, "x"), Id(k, "y"), Id(k, "z")
    x.add("add", (t.name, [0]))
    z.add("add z", (t.name, [0]))
    z.end("commit z")
    z.until_state("z ended", "CompleteCommit")
    for version in (1, 2):
        for duration in (-1, -2, 3_600_000, 2**62):
            listed(k, f"{duration}", version, durationFilter=duration)
            listed(k, f"{duration} of those that run", version, durationFilter=duration, stateFilters=["Ongoing", "Empty"])
    body = {"durationFilter": 300, "stateFilters": ["Ongoing"]}
    k.until(lambda: len(k.mine(k.send("ListTransactions", 2, body)["transactionStates"], "transactionalId")) == 1)
    listed(k, "long enough", 2, durationFilter=300, stateFilters=["Ongoing"])


def patterns(k, *all):
    x = [Id(k, name) for name in ("Abc-1", "abc-22", "x.y", "ü")]
    here = k.name("").replace(".", "[.]")
    for label, pattern in all:
        listed(k, label, 2, transactionalIdPattern=pattern.replace("@", here))


def case_txn_list_whole_matches(k):
    """A pattern is of the whole id."""
    patterns(k, ("part", "abc"), ("anchors", "^@abc-22$"), ("text anchors", "\\A@abc-22\\z"), ("begin", "@abc"), ("any", ".*"), ("one more", "@abc-2"),
             ("alternatives", "@Abc-1|@x"), ("empty alternative", "|@x[.]y"), ("dot", "@x.y"), ("dollar", "@abc-22$$"))


def case_txn_list_flags_of_patterns(k):
    """Flags and classes of RE2."""
    patterns(k, ("case", "(?i)@ABC-1"), ("lazy", "@a.*?2"), ("swapped", "(?U)@a.*2"), ("group", "(?:@)(x|y)[.]y"), ("named", "(?P<n>@)x.y"),
             ("class", "@[[:alpha:]]+-\\d+"), ("letter", "@\\p{L}"), ("not", "@[^a-z]bc-1"), ("word", "@\\w+-\\w+"), ("bounds", "@\\babc\\b-22"),
             ("times", "@abc-2{2}"), ("times open", "@abc-2{1,}"), ("times many", "@abc-2{1,1000}"), ("hex", "@abc-\\x32{2}"))


def case_txn_list_broken_patterns(k):
    """What is no pattern of RE2."""
    patterns(k, ("bracket", "[a"), ("brace", "a)"), ("behind", "(?<=a)b"), ("before", "(?!a)"), ("reference", "(a)\\1"), ("stars", "a**"),
             ("range", "[z-a]"), ("slash", "a\\"), ("times", "a{2,1}"), ("plus", "+a"), ("flag", "(?z)a"), ("class", "[[:nobody:]]"),
             ("possessive", "a++"), ("escape", "\\y"), ("property", "\\p{Nobody}"), ("group twice", "(?P<n>a)(?P<n>b)"))


def case_txn_list_pattern_and_filters(k):
    """A pattern together with every other filter."""
    t, x, y = k.topic(), Id(k, "x"), Id(k, "y")
    x.add("add", (t.name, [0]))
    here = k.name("").replace(".", "[.]") + ".*"
    for label, of in (("states", {"stateFilters": ["Ongoing"]}), ("no state", {"stateFilters": ["Bogus"]}), ("producers", {"producerIdFilters": [y.pid]}),
                      ("time", {"durationFilter": 3_600_000}), ("other", {"stateFilters": ["Ongoing"], "producerIdFilters": [y.pid]})):
        listed(k, label, 2, transactionalIdPattern=here, **of)
        listed(k, f"{label}, broken", 2, transactionalIdPattern="(", **of)


def case_txn_epochs_used_up(k):
    """The last epoch of a producer id: the next end, and the next begin, give a new id."""
    t, x, y = k.topic(), Id(k, "x"), Id(k, "y")

    def climb(it):
        conn = k.connect()
        while it.epoch < 32_766:
            pending = [conn.post("InitProducerId", 5, begin_body(it.id)) for _ in range(min(500, 32_766 - it.epoch))]
            it.epoch = max(answer.result()["producerEpoch"] for answer in pending)
    k.parallel(lambda: climb(x), lambda: climb(y))
    k.step("last epochs", [x.describe()["producerEpoch"], y.describe()["producerEpoch"]])

    old = x.pid
    x.add("add", (t.name, [0]))
    x.end("commit")
    x.until_state("committed", "CompleteCommit")
    for label, epoch in (("last", 32_766), ("one before", 32_765), ("one after", 32_767)):
        for commit in (True, False):
            k.step(f"{label} epoch {commit}", x.settled("EndTxn", 5, end_body(x.id, old, epoch, commit)))
    for version in (3, 4):
        k.call(f"ends by the old protocol v{version}", "EndTxn", version, end_body(x.id, old, 32_766))
        k.call(f"adds v{version}", "AddOffsetsToTxn", version, offsets_body(x.id, old, 32_766, "g"))
    k.step("goes on with the old id", x.settled("InitProducerId", 5, begin_body(x.id, 60_000, old, 32_766)))
    k.step("described", x.describe(), drop=STARTED)

    old = y.pid
    k.step("begins with the last epoch", y.settled("InitProducerId", 5, begin_body(y.id, 60_000, old, 32_766)))
    k.step("again", y.settled("InitProducerId", 5, begin_body(y.id, 60_000, old, 32_766)))
    k.step("described too", y.describe())
    k.call("ends with the old id", "EndTxn", 5, end_body(y.id, old, 32_766, False))
    k.step("begins anew", y.begin())
