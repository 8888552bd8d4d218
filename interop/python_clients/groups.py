"""Stories of groups: members come and go under load; what was read, who owned it and what is committed are compared."""

from broker import until
from members import Ledger, Load, Member

PARTITIONS = 6


def split(members, shares):
    for member in members:
        member.check()
    owned = [member.owned for member in members]
    return sorted(map(len, owned)) == sorted(shares) and len(frozenset().union(*owned)) == PARTITIONS


def story(client, broker, name, kill=False, static=False, **options):
    """Two, then three members; the broker may be killed; one by one they go. Then a new one resumes."""
    ledger = Ledger()
    client.create_topic(name, PARTITIONS)
    load = Load(client, name, PARTITIONS)
    members = []

    def join(label):
        more = {"instance": label} if static else {}
        members.append(Member(client, ledger, name, name, label, **more, **options))
        return members[-1]

    try:
        first = join("first")
        until("the first member owns all", 30, lambda: split([first], [6]) and ledger.seen())
        second = join("second")
        until("two members share", 30, lambda: split([first, second], [3, 3]))
        third = join("third")
        until("three members share", 30, lambda: split([first, second, third], [2, 2, 2]))
        if kill:
            broker.kill_and_start()
        before = len(ledger.seen())
        until("all three read on", 60, lambda: split(members, [2, 2, 2]) and len(ledger.seen()) > before + 200)
        expect_group(client, name, 3)
        if static:
            third = restart_static(client, ledger, name, members, join)
        third.close()
        until("two members share again", 40, lambda: split([first, second], [3, 3]))
        if not static:
            second.close()
            until("the first member owns all again", 40, lambda: split([first], [6]))
        acknowledged = load.stop()
        assert len(acknowledged) >= 300, f"only {len(acknowledged)} records were written"
        until("all that was acknowledged is read", 30, lambda: first.check() or ledger.seen() >= set(acknowledged))
        first.close()
        second.close()
        ends = client.ends(name, PARTITIONS)
        committed = client.committed(name, name, PARTITIONS)
        assert committed == ends, f"committed {committed}, the ends are {ends}"
        for place, value in acknowledged.items():
            assert ledger.read[place][0] == value, f"{place} has another value"
        if not kill:
            assert ledger.twice() == 0, f"{ledger.twice()} records were read twice"
        ledger.check()
        resume(client, ledger, name, ends, options)
        if static:
            until("the sessions of static members end", 30, lambda: client.group(name)[1] == 0)
        expect_group(client, name, 0)
        client.delete_group(name)
        return f"{len(acknowledged)} records, {ledger.twice()} read twice"
    finally:
        load.running = False
        for member in members:
            member.running = False


def restart_static(client, ledger, name, members, join):
    """A static member that comes back in its session has its partitions again, and nobody else hears of it."""
    third = members.pop()
    had = third.owned
    counts = [member.revocations for member in members]
    third.close()
    third = join("third")
    until("the static member has its partitions again", 20, lambda: third.check() or third.owned == had)
    assert [member.revocations for member in members[:2]] == counts, "others had to rebalance"
    return third


def resume(client, ledger, name, ends, options):
    """A new member reads on from what is committed: exactly what was written since."""
    load = Load(client, name, PARTITIONS)
    until("more is written", 20, lambda: len(load.acknowledged) >= 100)
    acknowledged = load.stop()
    later = Ledger()
    member = Member(client, later, name, name, "later", **options)
    try:
        until("it reads what is new", 40, lambda: member.check() or later.seen() >= set(acknowledged))
        member.close()
    finally:
        member.running = False
    assert later.seen() == set(acknowledged), "what was committed before is read again"
    later.check()


def expect_group(client, name, members):
    wanted = ("STABLE" if members else "EMPTY", members)
    told = client.group(name)
    assert told == wanted, f"the group is {told}, not {wanted}"
