"""Regular expressions of consumer groups: what is taken, what is refused, what matches (classic-and-consumer-groups.md 13)."""

from consumer_groups import HEARTBEAT, at_once, heartbeat, joining


def verdicts(k, *patterns):
    """Whether a group takes each of them as the expression of its first member."""
    g = k.group()
    for number, pattern in enumerate(patterns):
        answer = k.send(HEARTBEAT, 1, joining(g, f"m{number}", subscribedTopicNames=None, subscribedTopicRegex=pattern))
        k.step(f"{number}: {pattern[:60]!a}", answer["errorCode"])
        k.send(HEARTBEAT, 1, heartbeat(g, f"m{number}", -1))


def matches(k, names, *patterns):
    """The topics that each pattern is resolved to. In a pattern, `@` stands for what the names begin with."""
    topics, sign = [k.topic(name) for name in names], k.topic("sign")
    ids = {t.id: name for t, name in zip(topics, names)}
    begin = topics[0].name.removesuffix(names[0]).replace(".", "\\.")
    for number, pattern in enumerate(patterns):
        g = at_once(k, k.group(f"g{number}"))
        # One topic that always matches, so that it can be seen when the expression is resolved.
        whole = f"(?:{pattern.replace('@', begin)})|{begin}sign"
        answer = k.send(HEARTBEAT, 1, joining(g, "m", subscribedTopicNames=None, subscribedTopicRegex=whole))

        def resolved():
            answer.update(k.send(HEARTBEAT, 1, heartbeat(g, "m", 1)))
            return answer["memberEpoch"] == 2
        k.until(resolved)
        found = [p["topicId"] for p in answer["assignment"]["topicPartitions"]]
        k.step(f"{number}: {pattern}", [sign.id in found, sorted(ids[id] for id in found if id in ids)])


def case_consumer_pattern_repetition(k):
    verdicts(k, "a*", "a+", "a?", "a*?", "a+?", "a??", "a{2}", "a{2,}", "a{2,3}", "a{2}?", "a{0}", "a{0,0}", "a{1000}", "a{,3}", "a{", "a{}", "a{x}", "a{1,x}", "{1}x",
             "a{1", "a{-1}", "a{1,2", "a{ 1}", "a{01}", "a{1,01}")


def case_consumer_pattern_repetition_wrong(k):
    verdicts(k, "*a", "+", "?", "a|*", "(*)", "(+a)", "a**", "a*+", "a++", "a?*", "a{2}*", "a{2}{3}", "a*{2}", "a{1001}", "a{2,1}", "a{0,1001}", "a{1001,}",
             "a{99999999999}", "^*", "$*", "\\b*", "(?i)*", "|*")


def case_consumer_pattern_classes(k):
    verdicts(k, "[a]", "[a-z]", "[^a]", "[]a]", "[^]a]", "[a-]", "[-a]", "[a-c-e]", "[\\]]", "[\\-]", "[\\d]", "[\\D\\w]", "[[:alpha:]]", "[[:^digit:]]", "[[:word:]]", "[a[:space:]b]",
             "[a&&b]", "[a--b]", "[a~~b]", "[[a]", "[a[b]]", "[.]", "[*]", "[$]", "[\\x41-\\x{5a}]", "[\\pL]", "[\\p{Greek}]", "[\\Q]", "[^\\n]", "[\\101]")


def case_consumer_pattern_classes_wrong(k):
    verdicts(k, "[", "[]", "[^", "[^]", "[a", "[a-", "[z-a]", "[\\d-z]", "[a-\\d]", "[[:nope:]]", "[[:alpha]", "[\\q]", "[\\", "[\\x", "[\\p{Nope}]", "[\\b]", "[\\8]", "[a-\\x{110000}]")


def case_consumer_pattern_groups(k):
    verdicts(k, "()", "(a)", "(a|b)", "(a|)", "(|a)", "(?:a)", "(?i)a", "(?i:a)", "(?s)a", "(?m)a", "(?U)a", "(?ims)a", "(?i-s)a", "(?-i)a", "(?-i:a)", "(?P<n>a)", "(?P<n1_>a)",
             "(?<n>a)", "((a))", "a(?i)b", "(?)a", "(?:)", "(?ii)a", "||", "|", "a||b")


def case_consumer_pattern_groups_wrong(k):
    verdicts(k, "(", ")", "(a", "a)", "(a))", "((a)", "a)|(b", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)", "(?x)a", "(?u)a", "(?R)a", "(?i", "(?i-", "(?i-)a", "(?i--s)a", "(?#c)",
             "(?P=n)", "(?P>n)", "(?P<n", "(?P<>a)", "(?P<1-2>a)", "(?P<n>a)(?P<n>b)", "(?<>a)", "(?<n>a)(?<n>b)", "(?", "(?'n'a)", "(?-)a", "(?a)")


def case_consumer_pattern_escapes(k):
    verdicts(k, "\\.", "\\\\", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\b", "\\B", "\\A", "\\z", "\\n", "\\t", "\\r", "\\f", "\\v", "\\a", "\\x41", "\\x{41}", "\\x{10FFFF}", "\\0", "\\01",
             "\\012", "\\101", "\\377", "\\Qa.b\\E", "\\Qa", "\\Q\\E", "a\\E", "\\pL", "\\PL", "\\p{L}", "\\p{^L}", "\\p{Greek}", "\\p{Lu}", "\\-", "\\_", "\\/", "\\<", "\\>", "\\ ", "\\{", "\\\u00fc")


def case_consumer_pattern_escapes_wrong(k):
    verdicts(k, "\\", "a\\", "\\q", "\\c", "\\e", "\\g", "\\h", "\\k", "\\K", "\\R", "\\X", "\\Z", "\\G", "\\C", "\\N", "\\u0041", "\\1", "\\7", "\\8", "\\9", "\\x", "\\x4", "\\xg1", "\\x{", "\\x{}",
             "\\x{110000}", "\\p", "\\p{", "\\p{}", "\\p{Nope}", "\\pq", "\\p{IsGreek}", "\\p{greek}", "\\Q\\q\\E", "\\y")


def case_consumer_pattern_other_text(k):
    """Text beyond ASCII, spaces and control characters."""
    verdicts(k, " ", "a b", "\t", "\n", "\u0000", "\u00fc", "\u00fc+", "\U0001F600*", "[\u00e0-\u00ff]", "#", "a#b", "%s", "${x}", "<>", "~", "`", "'", "\"", ",", ";", "=", "!", "@", "&")


def case_consumer_pattern_large(k):
    """Long, deep and repeated ones below every bound."""
    verdicts(k, "a" * 10000, "a|" * 2000 + "a", "(" * 100 + "a" + ")" * 100, "(?:" * 200 + "a" + ")" * 200, "[a-z]" * 1000, "(a*)*" * 100, "(a+)+$", "(a|a)*b", "(.*)(.*)(.*)(.*)(.*)x",
             "a{1000}b{1000}", "(a{30}){30}", ".{1000}", "(?i)" * 100 + "a")


def case_consumer_pattern_hostile(k):
    """What makes engines that go back and forth hang is resolved as fast as anything, and matches what it must."""
    matches(k, ["a" * 60, "a" * 59 + "b"], "@(a+)+b", "@(a*)*b", "@(a|aa)+b", "@(a|a?)+b", "@(.*.*.*.*)*b", "@([a-z]+)*b")


def case_consumer_pattern_whole_names(k):
    """The whole name must match."""
    matches(k, ["abc", "ab", "abcd"], "@abc", "@ab", "@ab.*", "@ab.?", "@a|@ab", "^@abc$", "@(?i)ABC", "@(?i:A)bc", "@ABC", "abc", "@\\Qabc\\E", "@ab[c]", "@ab[^c].*", "@[a-c]+",
            "@\\w+", "@ab\\b.*", "@abc\\z", "\\A@abc")


def case_consumer_pattern_kinds_of_characters(k):
    """Digits, letters, signs."""
    matches(k, ["x1", "x-1", "x.1", "X1", "xa1"], "@x\\d", "@x\\D1", "@x\\w1", "@x\\W1", "@x.1", "@x\\.1", "@x[._]1", "@x[[:punct:]]1", "@\\pL1", "@\\p{Lu}1", "@[[:upper:]]1", "@x[^-]1",
            "@x[+--]1", "@(?i)x1", "@\\x581", "@\\1301")


def case_consumer_pattern_changes(k):
    """A member takes another expression, none, names beside it; the epochs and what the answer says."""
    t, u = k.topic("t"), k.topic("u")
    g = at_once(k, k.group())
    k.call("names", HEARTBEAT, 1, joining(g, "m", t, subscribedTopicRegex=""))
    k.call("wrong", HEARTBEAT, 1, heartbeat(g, "m", 2, subscribedTopicRegex="["))
    k.call("as before", HEARTBEAT, 1, heartbeat(g, "m", 2))
    k.call("expression", HEARTBEAT, 1, heartbeat(g, "m", 2, subscribedTopicRegex=u.name[:-1] + "[u]"))
    found = {}

    def resolved():
        found.update(k.send(HEARTBEAT, 1, heartbeat(g, "m", 2)))
        return found["memberEpoch"] == 3
    k.until(resolved)
    k.step("both", found)
    k.call("described", "ConsumerGroupDescribe", 1, {"groupIds": [g]})
    k.call("same again", HEARTBEAT, 1, heartbeat(g, "m", 3, subscribedTopicRegex=u.name[:-1] + "[u]"))
    k.call("cleared", HEARTBEAT, 1, heartbeat(g, "m", 3, subscribedTopicRegex=""))
    k.call("cleared again", HEARTBEAT, 1, heartbeat(g, "m", 3, subscribedTopicRegex=""))


def case_consumer_pattern_is_shared(k):
    """Who comes with an expression that is known gets its topics at once; who knows none but it is refused nothing."""
    t = k.topic("t", partitions=2)
    g = at_once(k, k.group())
    pattern = t.name[:-1] + "[t]"
    k.call("first", HEARTBEAT, 1, joining(g, "a", subscribedTopicNames=None, subscribedTopicRegex=pattern, serverAssignor="range"))
    k.until(lambda: k.send(HEARTBEAT, 1, heartbeat(g, "a", 2))["memberEpoch"] == 3)
    k.call("second", HEARTBEAT, 1, joining(g, "b", subscribedTopicNames=None, subscribedTopicRegex=pattern, serverAssignor="range"))
    k.call("third by name", HEARTBEAT, 1, joining(g, "c", t, serverAssignor="range"))
    k.call("described", "ConsumerGroupDescribe", 1, {"groupIds": [g]})
    k.call("second leaves", HEARTBEAT, 1, heartbeat(g, "b", -1))
    k.call("first leaves", HEARTBEAT, 1, heartbeat(g, "a", -1))
    k.call("third", HEARTBEAT, 1, heartbeat(g, "c", 5))
    k.call("left", "ConsumerGroupDescribe", 1, {"groupIds": [g]})


def case_consumer_pattern_of_version_0(k):
    """Version 0 knows no expressions, so a group can have both kinds of members."""
    t = k.topic("t")
    g = at_once(k, k.group())
    k.call("no names", HEARTBEAT, 0, joining(g, "a", subscribedTopicNames=None))
    k.call("names", HEARTBEAT, 0, joining(g, "a", t))
    k.call("expression", HEARTBEAT, 1, joining(g, "b", subscribedTopicNames=None, subscribedTopicRegex="none"))
    k.call("speaks version 1", HEARTBEAT, 1, heartbeat(g, "a", 2, subscribedTopicRegex="other"))
    for version in (0, 1):
        k.call(f"described v{version}", "ConsumerGroupDescribe", version, {"groupIds": [g]})


def case_consumer_pattern_of_a_wrong_member(k):
    """A wrong expression beside other faults: those of the form come first, unknown members and epochs too."""
    t = k.topic("t")
    g = at_once(k, k.group())
    k.call("join", HEARTBEAT, 1, joining(g, "m", t))
    for label, body in (("assignor", {"serverAssignor": "none"}), ("rack", {"rackId": " "}), ("epoch ahead", {"memberEpoch": 9}), ("epoch behind", {"memberEpoch": 1}),
                        ("nobody", {"memberId": "nobody"}), ("instance", {"instanceId": "none"}), ("group", {"groupId": k.name("none")}), ("none", {})):
        k.call(label, HEARTBEAT, 1, heartbeat(g, "m", 2, subscribedTopicRegex="(") | body)
    k.call("as before", "ConsumerGroupDescribe", 1, {"groupIds": [g]})
