"""Members of a group in threads of their own, and what is seen of them together."""

import threading
import time


class Ledger:
    """Who owns which partition, by the clients' own callbacks; and what was read how often. Conflicts are remembered."""

    def __init__(self):
        self.lock = threading.Lock()
        self.owners = {}
        self.read = {}
        self.conflicts = []

    def assigned(self, member, partitions):
        with self.lock:
            for partition in partitions:
                other = self.owners.get(partition)
                if other not in (None, member):
                    self.conflicts.append(f"partition {partition} was given to {member.name} while {other.name} had it")
                self.owners[partition] = member

    def released(self, member, partitions):
        with self.lock:
            for partition in partitions:
                if self.owners.get(partition) is member:
                    del self.owners[partition]

    def processes(self, member, partition, offset, value):
        with self.lock:
            if self.owners.get(partition) is not member:
                self.conflicts.append(f"{partition}:{offset} was read by {member.name}, which does not own it")
            self.read.setdefault((partition, offset), []).append(value)

    def twice(self):
        with self.lock:
            return sum(len(values) - 1 for values in self.read.values())

    def check(self):
        with self.lock:
            if self.conflicts:
                raise AssertionError(f"{len(self.conflicts)} conflicts, the first one: {self.conflicts[0]}")

    def seen(self):
        with self.lock:
            return set(self.read)


class Member(threading.Thread):
    """Reads, commits what it has read, and commits once more when it gives partitions up."""

    def __init__(self, client, ledger, topic, group, name, **options):
        super().__init__(name=name, daemon=True)
        self.ledger = ledger
        self.running = True
        self.problem = None
        self.owned = frozenset()
        self.revocations = 0
        self.read_count = 0
        self.positions = {}
        self.dirty = False
        self.consumer = client.consumer(group, topic, self, **options)
        self.start()

    # Called by the adapters, inside of the client's callbacks.
    def on_assigned(self, partitions):
        for partition in partitions:
            self.positions.pop(partition, None)
        self.ledger.assigned(self, partitions)

    def on_revoked(self, partitions, commit=True):
        if partitions:
            self.revocations += 1
        if commit:
            self.commit()
        self.ledger.released(self, partitions)
        for partition in partitions:
            self.positions.pop(partition, None)

    def on_lost(self, partitions):
        self.revocations += 1
        self.ledger.released(self, partitions)
        for partition in partitions:
            self.positions.pop(partition, None)

    def commit(self):
        if self.dirty and self.positions and self.consumer.commit(dict(self.positions)):
            self.dirty = False

    def run(self):
        try:
            last = time.monotonic()
            while self.running:
                for partition, offset, value in self.consumer.poll():
                    self.ledger.processes(self, partition, offset, value)
                    self.positions[partition] = offset + 1
                    self.read_count += 1
                    self.dirty = True
                self.owned = frozenset(self.consumer.owned())
                if time.monotonic() - last > 0.1:
                    self.commit()
                    last = time.monotonic()
        except BaseException as fatal:  # told by check()
            self.problem = fatal
        finally:
            try:
                self.commit()
                self.consumer.close()
            except BaseException as fatal:
                self.problem = self.problem or fatal
            self.ledger.released(self, list(self.owned))
            self.owned = frozenset()

    def check(self):
        if self.problem:
            raise AssertionError(f"{self.name} failed: {self.problem!r}") from self.problem

    def close(self):
        self.running = False
        self.join(40)
        if self.is_alive():
            raise AssertionError(f"{self.name} does not close")
        self.check()


class Load(threading.Thread):
    """Writes records until it is told to stop, and remembers what the broker acknowledged."""

    def __init__(self, client, topic, partitions):
        super().__init__(name="load", daemon=True)
        self.producer = client.producer()
        self.topic, self.partitions = topic, partitions
        self.running = True
        self.lock = threading.Lock()
        self.acknowledged = {}
        self.refused = []
        self.start()

    def _told(self, value, partition, offset, problem):
        with self.lock:
            if problem is None:
                self.acknowledged[(partition, offset)] = value
            else:
                self.refused.append(problem)

    def run(self):
        number = 0
        while self.running:
            value = b"record %d" % number
            self.producer.send(self.topic, number % self.partitions, value, self._told)
            number += 1
            time.sleep(0.002)
        self.producer.flush()

    def stop(self):
        self.running = False
        self.join(60)
        if self.is_alive() or self.refused:
            raise AssertionError(f"the producer did not end well: {self.refused[:1]}")
        self.producer.close()
        return self.acknowledged
