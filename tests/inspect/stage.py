"""What inspector tests share: a broker of either kind, the command line as a function, and transactions left open."""

import json
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import Producer

from oncelog.cli.main import main
from oncelog.client.address import parse_bootstrap
from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.faults import RETRIABLE
from oncelog.client.session import Connection
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.record.batch import NewRecord, build_batch


@dataclass(frozen=True, slots=True)
class Said:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def patiently(is_so: Callable[[], bool], otherwise: str, limit_s: float = 60) -> None:
    """Asks until it is so."""
    deadline = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < deadline, otherwise


class Stage:
    """One running broker and the commands pointed at it."""

    def __init__(self, kind: str, bootstrap: str, capture: pytest.CaptureFixture[str]) -> None:
        self.kind = kind
        self.bootstrap = bootstrap
        self._capture = capture

    @property
    def is_oncelog(self) -> bool:
        return self.kind == "oncelog"

    def run(self, *words: str) -> Said:
        self._capture.readouterr()
        code = main([*words, "--bootstrap", self.bootstrap])
        said = self._capture.readouterr()
        return Said(code, said.out, said.err)

    def json(self, *words: str) -> Any:
        return self.run(*words, "--json").json

    @contextmanager
    def producer(
        self, transactional_id: str, client_id: str = "till", timeout_ms: int = 60_000
    ) -> Generator[Producer]:
        """A librdkafka producer inside an open transaction; purged at the end, so that it says nothing more."""
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "transactional.id": transactional_id,
                "client.id": client_id,
                "transaction.timeout.ms": timeout_ms,
                "log_level": 0,
            }
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        try:
            yield producer
        finally:
            producer.purge()


SETTINGS = {
    "transaction.partition.verification.enable": "false",  # lets a client make a hanging transaction
    "transaction.state.log.num.partitions": "4",
    "offsets.topic.num.partitions": "4",
}


def hang(bootstrap: str, topic: str, also: str | None = None, at_ms: Sequence[int] = (1,)) -> None:
    """A transaction in partition 0 that no coordinator knows of: SETTINGS let a client write without AddPartitionsToTxn.

    `also`: a topic in which the same producer has a transaction that its coordinator does know. `at_ms`: a batch for each time.
    """
    (address,) = parse_bootstrap(bootstrap)
    with Cluster(bootstrap) as cluster:
        cluster.coordinator("ghost", TRANSACTION)  # a Kafka that just started makes its state log now
    with Connection(address) as door:
        init = InitProducerIdRequest(transactional_id="ghost", transaction_timeout_ms=60_000)
        given = door.send(init, InitProducerIdResponse, 2)
        deadline = time.monotonic() + 30
        while (
            given.error_code in RETRIABLE and time.monotonic() < deadline
        ):  # a coordinator that just started
            time.sleep(0.1)
            given = door.send(init, InitProducerIdResponse, 2)
        assert given.error_code == 0
        if also is not None:
            adding = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="ghost",
                v3_and_below_producer_id=given.producer_id,
                v3_and_below_producer_epoch=given.producer_epoch,
                v3_and_below_topics=[AddPartitionsToTxnTopic(name=also, partitions=[0])],
            )
            (added,) = door.send(adding, AddPartitionsToTxnResponse, 3).results_by_topic_v3_and_below
            assert added.results_by_partition[0].partition_error_code == 0
        for where in (topic, also):
            if where is not None:
                for number, each in enumerate(at_ms):
                    _write(door, where, given, sequence=3 * number, at_ms=each)


def _write(
    door: Connection, topic: str, producer: InitProducerIdResponse, *, sequence: int, at_ms: int
) -> None:
    batch = build_batch(
        [NewRecord(None, b"x", at_ms, [])] * 3,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=sequence,
        transactional=True,
    )
    data = PartitionProduceData(index=0, records=batch)
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    produce = ProduceRequest(transactional_id="ghost", acks=-1, timeout_ms=10_000, topic_data=topics)
    answer = door.send(produce, ProduceResponse, 9)
    assert answer.responses[0].partition_responses[0].error_code == 0
