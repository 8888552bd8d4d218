"""librdkafka and kafka-python against the broker.

    main.py --broker PATH [--full] [PART]            starts, kills and restarts `PATH serve` itself
    main.py --bootstrap HOST:PORT [--full] [PART]    uses a running broker, which is not killed
    PART                                             only the stories whose names contain this

Exit code 0: all passed, 1: some failed, 2: wrong usage. The last line is `N passed, N failed`.
"""

import argparse
import functools
import os
import random
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import basics
import groups
import kafka_python
import librdkafka
import transactions
from broker import Broker

RD, PY = librdkafka.Client, kafka_python.Client
# Without these the clients read committed offsets of transactions that are not yet over.
RD_COMMITTED = {"isolation.level": "read_committed"}
PY_COMMITTED = {"isolation_level": "read_committed", "max_poll_records": transactions.BATCH}
CONSUMER = {"group.protocol": "consumer"}


def stories(options_of_run):
    group = lambda client, **options: (client, functools.partial(groups.story, **options))
    transactional = lambda client, **options: (
        client, functools.partial(transactions.story, seed=options_of_run.seed, full=options_of_run.full, **options))
    return {
        "librdkafka_range": group(RD, **{"partition.assignment.strategy": "range"}),
        "librdkafka_cooperative": group(RD, **{"partition.assignment.strategy": "cooperative-sticky"}),
        "librdkafka_static": group(RD, static=True),
        "librdkafka_killed": group(RD, kill=True),
        "librdkafka_consumer_uniform": group(RD, **CONSUMER, **{"group.remote.assignor": "uniform"}),
        "librdkafka_consumer_range": group(RD, **CONSUMER, **{"group.remote.assignor": "range"}),
        "librdkafka_consumer_static": group(RD, static=True, **CONSUMER),
        "librdkafka_consumer_killed": group(RD, kill=True, **CONSUMER),
        "kafka_python_range": group(PY),
        "kafka_python_static": group(PY, static=True),
        "kafka_python_killed": group(PY, kill=True),
        "librdkafka_transactions": transactional(RD, **RD_COMMITTED),
        "librdkafka_transactions_killed": transactional(RD, **RD_COMMITTED, kill=True),
        "librdkafka_transactions_consumer": transactional(RD, **RD_COMMITTED, kill=True, **CONSUMER),
        "kafka_python_transactions": transactional(PY, **PY_COMMITTED),
        "kafka_python_transactions_killed": transactional(PY, **PY_COMMITTED, kill=True),
        "librdkafka_basics": (RD, basics.story),
        "kafka_python_basics": (PY, basics.story),
    }


def run(options, work, name, client, story):
    directory = os.path.join(work, name)
    os.makedirs(directory)
    start = time.monotonic()
    broker = None
    try:
        broker = Broker(options.broker, directory, options.bootstrap)
        told = story(client(broker.bootstrap), broker, f"{name}-{os.getpid()}-{options.seed & 0xffff}")
        print(f"ok   {name} ({time.monotonic() - start:.1f} s): {told}", flush=True)
        return True
    except Exception as problem:
        print(f"FAIL {name} ({time.monotonic() - start:.1f} s): {problem}", flush=True)
        traceback.print_exc(file=sys.stdout)
        print(f"     logs and data: {directory}", flush=True)
        return False
    finally:
        if broker:
            broker.close()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--broker")
    parser.add_argument("--bootstrap")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("part", nargs="?", default="")
    options = parser.parse_args()
    if bool(options.broker) == bool(options.bootstrap):
        parser.error("either --broker or --bootstrap")
    options.seed = int(os.environ.get("THALWEG_SEED") or random.randrange(1 << 32))
    print(f"THALWEG_SEED={options.seed}", flush=True)
    work = tempfile.mkdtemp(prefix="thalweg-python-clients-")
    # Members wait most of the time: some stories run at once, each with a broker of its own.
    with ThreadPoolExecutor(options.jobs) as pool:
        chosen = [(name, *what) for name, what in stories(options).items() if options.part in name]
        results = list(pool.map(lambda what: run(options, work, *what), chosen))
    print(f"{results.count(True)} passed, {results.count(False)} failed", flush=True)
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
