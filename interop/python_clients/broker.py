"""A broker process of its own, and waiting."""

import json
import os
import subprocess
import time

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "2000",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}


def until(what, seconds, condition):
    """Waits for `condition`; `what` names it in the failure."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


class Broker:
    """`PROGRAM serve` in a directory of its own on one loopback port, or a running one that is not killed."""

    def __init__(self, program, directory, bootstrap=None):
        self.program, self.directory, self.bootstrap = program, directory, bootstrap
        self.process = None
        self.kills = 0
        if program:
            self._start("127.0.0.1:0")

    def _start(self, address):
        words = [self.program, "serve", "--print", "json"]
        settings = SETTINGS | {"listeners": f"PLAINTEXT://{address}", "log.dirs": os.path.join(self.directory, "data")}
        for name, value in settings.items():
            words += ["--override", f"{name}={value}"]
        with open(os.path.join(self.directory, "broker.log"), "ab") as log:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the broker ended with code {self.process.wait()}")
        self.bootstrap = json.loads(line)["listeners"][0]["address"]

    def kill_and_start(self):
        """SIGKILL and a new start on the same port: nothing is flushed, nobody is told."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.kills += 1
            self._start(self.bootstrap)

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
