"""One fast producer, an epoch per transaction: `python -m tests.conformance.rollover [--java] [--transactions N]`.

The 16-bit epoch is used up every 32,766 transactions and the producer gets another id. That is an ordinary path: nothing may be
fenced, nothing may hang, and every committed record must be there.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from oncelog.client.easy import create_topic, read_all
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.record.batch import BatchHeader, NewRecord, batches, build_batch
from tests.clients import connect
from tests.conformance.transactional import java_class
from tests.processes import ServedBroker
from tests.toolchains import Missing

TOPIC = "rollover"
ID = "fast-1"
LAST_EPOCH: Final = 32_766  # that a producer may hold; 32,767 is left for the marker of its end
SLOWEST_RATE: Final = 100  # transactions per second; a client slower than that is taken to hang
FETCH_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Rolled:
    transactions: int
    rollovers: int
    seconds: float
    slowest_ms: int
    """From the beginning of a transaction to the answer to its commit, at most."""
    end_offset: int
    """For readers of committed records: two for each transaction, its record and its marker."""


def roll(bootstrap: str, transactions: int) -> Rolled:
    """Commits one record per transaction; every answer must be NONE."""
    create_topic(bootstrap, TOPIC)
    rollovers = 0
    slowest = 0.0
    begun = time.monotonic()
    with connect(bootstrap) as door:
        producer_id, epoch = init(door, ID)
        for number in range(transactions):
            before = time.monotonic()
            batch = build_batch(
                [NewRecord(None, b"%d" % number)],
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=0,
                transactional=True,
            )
            part = PartitionProduceData(index=0, records=batch)
            produced = door.send(
                ProduceRequest(
                    transactional_id=ID,
                    acks=-1,
                    timeout_ms=10_000,
                    topic_data=[TopicProduceData(name=TOPIC, partition_data=[part])],
                ),
                ProduceResponse,
                version=12,
            )
            error = produced.responses[0].partition_responses[0].error_code
            _must_be_none(error, f"Produce of transaction {number} at epoch {epoch}")
            ended = door.send(
                EndTxnRequest(
                    transactional_id=ID, producer_id=producer_id, producer_epoch=epoch, committed=True
                ),
                EndTxnResponse,
                version=5,
            )
            _must_be_none(ended.error_code, f"EndTxn of transaction {number} at epoch {epoch}")
            slowest = max(slowest, time.monotonic() - before)
            given = ended.producer_id, ended.producer_epoch
            rollovers += _is_rollover((producer_id, epoch), given)
            producer_id, epoch = given
        seconds = time.monotonic() - begun
    return Rolled(transactions, rollovers, seconds, int(1000 * slowest), stable_end(bootstrap))


def roll_java(bootstrap: str, transactions: int) -> Rolled:
    """The same with the Java client, which ends at the first error. It tells no producer ids: the partition does."""
    create_topic(bootstrap, TOPIC)
    said = subprocess.run(
        [*java_class("Rollover"), bootstrap, ID, TOPIC, str(transactions)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60 + transactions / SLOWEST_RATE,
    )
    if said.returncode != 0:
        raise AssertionError(f"the Java client ended with exit code {said.returncode}: {said.stderr[-4000:]}")
    told = json.loads(said.stdout)
    used = [(each.producer_id, each.producer_epoch) for each in written(bootstrap) if not each.is_control]
    rollovers = sum(_is_rollover(*two) for two in pairwise(used))
    return Rolled(told["committed"], rollovers, told["seconds"], told["slowest_ms"], stable_end(bootstrap))


def _is_rollover(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Whether the id changed between two transactions. It must when the epochs are used up, and never otherwise."""
    if after == (before[0], before[1] + 1) and after[1] <= LAST_EPOCH:
        return False
    if before[1] != LAST_EPOCH or after[0] == before[0] or after[1] != 0:
        raise AssertionError(f"producer {before[0]}/{before[1]} was followed by {after[0]}/{after[1]}")
    return True


def written(bootstrap: str) -> Iterator[BatchHeader]:
    """Every batch of the partition, markers and all."""
    at = 0
    with connect(bootstrap) as door:
        while True:
            wanted = FetchPartition(partition=0, fetch_offset=at, partition_max_bytes=FETCH_BYTES)
            request = FetchRequest(
                max_bytes=FETCH_BYTES, topics=[FetchTopic(topic=TOPIC, partitions=[wanted])]
            )
            found = door.send(request, FetchResponse, version=12).responses[0].partitions[0]
            _must_be_none(found.error_code, f"Fetch from offset {at}")
            if not found.records:
                return
            for _, header in batches(found.records):
                if header.next_offset > at:  # the first batch may begin before the offset asked for
                    yield header
                    at = header.next_offset


def stable_end(bootstrap: str) -> int:
    """The last stable offset."""
    latest = ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(
        replica_id=-1, isolation_level=1, topics=[ListOffsetsTopic(name=TOPIC, partitions=[latest])]
    )
    with connect(bootstrap) as door:
        found = door.send(request, ListOffsetsResponse, version=7).topics[0].partitions[0]
    _must_be_none(found.error_code, "ListOffsets")
    return found.offset


def init(door: Connection, transactional_id: str) -> tuple[int, int]:
    """A producer id and epoch; a Kafka that has just started needs a moment for its first."""
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
    deadline = time.monotonic() + 10
    while True:
        answer = door.send(request, InitProducerIdResponse, version=5)
        if answer.error_code == ErrorCode.NONE:
            return answer.producer_id, answer.producer_epoch
        if time.monotonic() > deadline:
            raise AssertionError(f"InitProducerId was answered {ErrorCode(answer.error_code).name}")
        time.sleep(0.05)


def _must_be_none(error: int, what: str) -> None:
    if error:
        raise AssertionError(f"{what} was answered {ErrorCode(error).name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, default=200_000)
    parser.add_argument("--java", action="store_true", help="with the Java client instead of a raw one")
    asked = parser.parse_args()
    if asked.java:
        try:
            java_class("Rollover")
        except Missing as why:
            parser.error(str(why))
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as directory, ServedBroker(Path(directory)) as broker:
        done = (roll_java if asked.java else roll)(broker.bootstrap, asked.transactions)
        after = os.getloadavg()[0]
        values = [record.value for record in read_all(broker.bootstrap, TOPIC)]
    sys.stdout.write(
        f"{done.transactions} transactions, {done.rollovers} rollovers, {done.seconds:.1f} s, "
        f"{done.transactions / done.seconds:.0f} transactions/s, slowest {done.slowest_ms} ms, "
        f"load {before:.1f} before and {after:.1f} after on {os.cpu_count()} cores\n"
    )
    if values != [b"%d" % number for number in range(asked.transactions)]:
        sys.stderr.write(f"wanted every value once and in order, found {len(values)} records\n")
        return 1
    return 0 if done.end_offset == 2 * asked.transactions else 1


if __name__ == "__main__":
    sys.exit(main())
