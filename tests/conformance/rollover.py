"""One fast producer under the new protocol, an epoch per transaction: `python -m tests.conformance.rollover [--transactions N]`.

The 16-bit epoch is used up every 32,766 transactions and the producer gets another id. That is an ordinary path: nothing may be
fenced, nothing may hang, and every committed record must be there.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from oncelog.client.address import Address
from oncelog.client.easy import create_topic
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
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
from oncelog.record.batch import NewRecord, build_batch
from tests.processes import ServedBroker

TOPIC = "rollover"
ID = "fast-1"


@dataclass(frozen=True, slots=True)
class Rolled:
    transactions: int
    rollovers: int
    seconds: float
    end_offset: int


def roll(bootstrap: str, transactions: int) -> Rolled:
    """Commits one record per transaction; every answer must be NONE."""
    host, port = bootstrap.split(":")
    create_topic(bootstrap, TOPIC)
    rollovers = 0
    begun = time.monotonic()
    with Connection(Address(host, int(port)), timeout_ms=30_000) as door:
        producer_id, epoch = init(door, ID)
        for number in range(transactions):
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
            _must_be_none(produced.responses[0].partition_responses[0].error_code, "Produce", number, epoch)
            ended = door.send(
                EndTxnRequest(
                    transactional_id=ID, producer_id=producer_id, producer_epoch=epoch, committed=True
                ),
                EndTxnResponse,
                version=5,
            )
            _must_be_none(ended.error_code, "EndTxn", number, epoch)
            if ended.producer_id != producer_id:
                if (epoch, ended.producer_epoch) != (32766, 0):
                    raise AssertionError(
                        f"a new id after epoch {epoch}, beginning with {ended.producer_epoch}"
                    )
                rollovers += 1
            producer_id, epoch = ended.producer_id, ended.producer_epoch
        seconds = time.monotonic() - begun
        latest = ListOffsetsPartition(partition_index=0, timestamp=-1)
        found = door.send(
            ListOffsetsRequest(
                replica_id=-1,
                isolation_level=1,
                topics=[ListOffsetsTopic(name=TOPIC, partitions=[latest])],
            ),
            ListOffsetsResponse,
            version=7,
        )
    return Rolled(transactions, rollovers, seconds, found.topics[0].partitions[0].offset)


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


def _must_be_none(error: int, what: str, number: int, epoch: int) -> None:
    if error:
        raise AssertionError(f"{what} of transaction {number} at epoch {epoch}: {ErrorCode(error).name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, default=200_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, ServedBroker(Path(directory)) as broker:
        done = roll(broker.bootstrap, asked.transactions)
    sys.stdout.write(
        f"{done.transactions} transactions, {done.rollovers} rollovers, {done.seconds:.1f} s, "
        f"{done.transactions / done.seconds:.0f} transactions/s\n"
    )
    return 0 if done.end_offset == 2 * done.transactions else 1


if __name__ == "__main__":
    sys.exit(main())
