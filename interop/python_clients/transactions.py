"""Consume, transform, produce in transactions, some aborted; what readers of committed records see is compared."""

import random
import threading
import time

from broker import until

PARTITIONS = 3
# Records of a transaction, about.
BATCH = 40


class Worker(threading.Thread):
    """A member of the group that copies what it reads, with the offsets in the same transaction."""

    def __init__(self, client, name, number, seed, options):
        super().__init__(name=f"worker-{number}", daemon=True)
        self.client, self.group, self.number, self.options = client, name, number, options
        self.random = random.Random(seed * 100 + number)
        self.running = True
        self.problem = None
        self.committed = self.aborted = self.failed = 0
        self.start()

    # Offsets go with transactions: nothing is to be committed in the client's callbacks.
    dirty = False
    positions = {}
    rows = ()

    def on_assigned(self, partitions):
        pass

    def on_revoked(self, partitions, commit=True):
        # What was read of them and is in no transaction is their next owner's.
        self.rows = [row for row in self.rows if row[0] not in partitions]

    def on_lost(self, partitions):
        self.on_revoked(partitions)

    def run(self):
        try:
            transactor = self.client.transactor(f"{self.group}-{self.number}")
            reader = self.client.consumer(self.group, f"{self.group}-in", self, **self.options)
            while self.running:
                self.rows = reader.poll()
                end = time.monotonic() + 0.03
                while self.rows and len(self.rows) < BATCH and time.monotonic() < end:
                    more = reader.poll()
                    self.rows += more
                if reader.moved:
                    reader.moved = False
                    self.rows = []
                    reader.rewind()
                if self.rows:
                    self.transform(transactor, reader, self.rows)
            reader.close()
            transactor.close()
        except BaseException as fatal:
            self.problem = fatal

    def transform(self, transactor, reader, rows):
        attempt = self.committed + self.aborted + self.failed
        out = [(partition, b"%s by %d in %d" % (value, self.number, attempt)) for partition, _, value in rows]
        positions = {partition: offset + 1 for partition, offset, _ in rows}
        commit = attempt != 1 and self.random.random() > 0.3
        if transactor.transact(f"{self.group}-out", out, reader, positions, commit):
            self.committed += 1
            return
        self.failed += bool(commit)
        self.aborted += not commit
        reader.rewind()

    def check(self):
        if self.problem:
            raise AssertionError(f"{self.name} failed: {self.problem!r}") from self.problem


def fill(producer, topic, numbers):
    refused = []
    told = lambda value, partition, offset, problem: refused.append(problem) if problem else None
    for number in numbers:
        producer.send(topic, number % PARTITIONS, b"%d" % number, told)
    producer.flush()
    assert not refused, f"the input could not be written: {refused[0]}"


def story(client, broker, name, seed, full=False, kill=False, **options):
    total = 6000 if full else 900
    client.create_topic(f"{name}-in", PARTITIONS)
    client.create_topic(f"{name}-out", PARTITIONS)
    abandoned = abandon(client, name)
    producer = client.producer()
    workers = [Worker(client, name, number, seed, options) for number in range(2)]
    try:
        step = total // 10
        for begin in range(0, total, step):
            fill(producer, f"{name}-in", range(begin, begin + step))
            if kill and begin == step * 4:
                broker.kill_and_start()
            if begin == step * 6:
                workers.append(Worker(client, name, 2, seed, options))
            time.sleep(0.15)
        producer.close()
        ends = client.ends(f"{name}-in", PARTITIONS)

        def done():
            for worker in workers:
                worker.check()
            return client.committed(name, f"{name}-in", PARTITIONS) == ends

        until("the committed offsets are the ends of the input", 90, done)
    finally:
        for worker in workers:
            worker.running = False
        for worker in workers:
            worker.join(40)
    for worker in workers:
        worker.check()
    assert abandoned.is_fenced(), "the abandoned producer could commit"
    return compare(client, name, total, workers)


def abandon(client, name):
    """Records of a producer that nobody ends, and its successor, which settles them."""
    abandoned = client.transactor(f"{name}-abandoned")
    abandoned.open(f"{name}-out", [(p, b"abandoned") for p in range(PARTITIONS)])
    abandoned.flush()
    client.transactor(f"{name}-abandoned").close()
    return abandoned


def compare(client, name, total, workers):
    expected = {p: [b"%d" % n for n in range(total) if n % PARTITIONS == p] for p in range(PARTITIONS)}
    found = client.read(f"{name}-out", PARTITIONS, committed=True)
    for partition, rows in found.items():
        values = [value.split(b" ")[0] for _, _, value, _, _ in rows]
        missing = set(expected[partition]) - set(values)
        assert not missing, f"{len(missing)} committed values are missing in partition {partition}"
        assert len(values) == len(set(values)), f"partition {partition} has values twice"
        assert values == expected[partition], f"partition {partition} has another order, or what was aborted"
    everything = sum(map(len, client.read(f"{name}-out", PARTITIONS).values()))
    aborted = everything - total
    deliberate = sum(worker.aborted for worker in workers)
    assert deliberate and aborted > PARTITIONS, f"{aborted} aborted records of {deliberate} transactions: nothing was tried"
    committed, failed = (sum(getattr(w, what) for w in workers) for what in ("committed", "failed"))
    return f"{committed} committed, {deliberate} aborted, {failed} failed; {total} records, {aborted} aborted ones"
