"""How transactional vectors are played: one transactional id at a time, raw requests, answers in the spec's words.

Producer ids are named in the order in which an id was given them: P, P', P''. `NONE (P,1)` is an answer that carries
producer id P and epoch 1; an error that carries (-1,-1), as it must, is only its name.
"""

import contextlib
import socket
import struct
import time
from collections.abc import Generator, Iterable, Sequence
from typing import Any, Final

from oncelog.client.address import parse_address
from oncelog.client.cluster import COORDINATOR_PASSING, Backoff
from oncelog.client.faults import error_name
from oncelog.client.session import api_of
from oncelog.errors import ErrorCode
from oncelog.model import CONSUMER_OFFSETS, coordinator_partition
from oncelog.protocol.header import read_response_header, request_frame
from oncelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from oncelog.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from oncelog.protocol.messages.end_txn import EndTxnRequest
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from oncelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from oncelog.protocol.primitives import Message
from oncelog.record.batch import build_batch
from tests.vectors.play import Partition, Target, records

WAIT_MS: Final = 30_000
TRANSACTION: Final = 1
INIT_PRODUCER_ID: Final = 22
OFFSETS_PARTITIONS: Final = 50
LAST_EPOCH: Final = 32766
PIPELINED: Final = 50


class Refused(AssertionError):
    """A step that only prepares a vector was refused."""


class Id:
    """One transactional id, and a connection on which a producer speaks for it."""

    def __init__(
        self, target: Target, *, name: str | None = None, timeout_ms: int = 60_000, start: bool = True
    ) -> None:
        self.target = target
        self.name = target.fresh_name("txn") if name is None else name
        self.timeout_ms = timeout_ms
        self.producers: list[int] = []
        self.producer_id, self.epoch = -1, -1
        with target.cluster() as cluster:
            cluster.coordinator(self.name, kind=TRANSACTION)
        self.connection = target.connect()
        if start:
            self.start()

    def start(self) -> None:
        """InitProducerId until it is given: (P, 0) for a fresh id."""
        backoff = Backoff(WAIT_MS)
        passing = {*COORDINATOR_PASSING, ErrorCode.CONCURRENT_TRANSACTIONS}
        while True:
            answer = self.connection.send(self.init_request(), version=5)
            if answer.error_code not in passing or not backoff.wait():
                break
        if answer.error_code:
            raise Refused(f"InitProducerId of {self.name}: {error_name(answer.error_code)}")
        self.holds(answer.producer_id, answer.producer_epoch)

    def holds(self, producer_id: int, epoch: int) -> None:
        """From now on requests go out with this identity."""
        self.producer_id, self.epoch = producer_id, epoch
        self.word(producer_id)

    def word(self, producer_id: int) -> str:
        if producer_id < 0:
            return str(producer_id)
        if producer_id not in self.producers:
            self.producers.append(producer_id)
        return "P" + "'" * self.producers.index(producer_id)

    def said(self, answer: Any) -> str:
        """An answer of InitProducerId or EndTxn; its producer is what we hold from now on, if it has one."""
        error = error_name(answer.error_code)
        found = (answer.producer_id, answer.producer_epoch)
        if found == (-1, -1):
            return error
        if not answer.error_code:
            self.holds(*found)
        return f"{error} ({self.word(found[0])},{found[1]})"

    # InitProducerId

    def init_request(
        self, given: tuple[int, int] | None = None, timeout_ms: int | None = None
    ) -> InitProducerIdRequest:
        producer_id, epoch = given or (-1, -1)
        return InitProducerIdRequest(
            transactional_id=self.name,
            transaction_timeout_ms=self.timeout_ms if timeout_ms is None else timeout_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
        )

    def init(self, given: tuple[int, int] | None = None, *, version: int = 5) -> str:
        return self.said(self.connection.send(self.init_request(given), version=version))

    # AddPartitionsToTxn, AddOffsetsToTxn

    def add_request(
        self,
        partitions: Iterable[tuple[str, int]],
        *,
        version: int = 3,
        epoch: int | None = None,
        producer_id: int | None = None,
        verify: bool = False,
        name: str | None = None,
    ) -> AddPartitionsToTxnRequest:
        by_topic: dict[str, list[int]] = {}
        for topic, index in partitions:
            by_topic.setdefault(topic, []).append(index)
        topics = [AddPartitionsToTxnTopic(name=topic, partitions=some) for topic, some in by_topic.items()]
        name = self.name if name is None else name
        producer_id = self.producer_id if producer_id is None else producer_id
        epoch = self.epoch if epoch is None else epoch
        if version < 4:
            return AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=name,
                v3_and_below_producer_id=producer_id,
                v3_and_below_producer_epoch=epoch,
                v3_and_below_topics=topics,
            )
        return AddPartitionsToTxnRequest(
            transactions=[
                AddPartitionsToTxnTransaction(
                    transactional_id=name,
                    producer_id=producer_id,
                    producer_epoch=epoch,
                    verify_only=verify,
                    topics=topics,
                )
            ]
        )

    def add(self, partitions: Sequence[tuple[str, int]], *, version: int = 3, **fields: Any) -> str:
        """The errors in the order of `partitions`, with a comma between; `TOP ...` if the whole request failed."""
        request = self.add_request(partitions, version=version, **fields)
        answer = self.connection.send(request, AddPartitionsToTxnResponse, version)
        return added(answer, partitions)

    def add_offsets(
        self,
        group: str,
        *,
        version: int = 3,
        epoch: int | None = None,
        producer_id: int | None = None,
        name: str | None = None,
    ) -> str:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name if name is None else name,
            producer_id=self.producer_id if producer_id is None else producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            group_id=group,
        )
        return error_name(self.connection.send(request, version=version).error_code)

    # EndTxn

    def end_request(
        self,
        *,
        commit: bool,
        epoch: int | None = None,
        producer_id: int | None = None,
        name: str | None = None,
    ) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=self.name if name is None else name,
            producer_id=self.producer_id if producer_id is None else producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            committed=commit,
        )

    def commit(self, epoch: int | None = None, *, version: int = 5, **fields: Any) -> str:
        return self._end(True, epoch, version, **fields)

    def abort(self, epoch: int | None = None, *, version: int = 5, **fields: Any) -> str:
        return self._end(False, epoch, version, **fields)

    def _end(self, commit: bool, epoch: int | None, version: int, **fields: Any) -> str:
        request = self.end_request(commit=commit, epoch=epoch, **fields)
        return self.said(self.connection.send(request, version=version))

    # Produce

    def produce_request(
        self,
        log: Partition,
        sequence: int,
        *,
        count: int = 1,
        epoch: int | None = None,
        producer_id: int | None = None,
        transactional: bool = True,
        name: str | None = "",
    ) -> ProduceRequest:
        batch = build_batch(
            records(count),
            producer_id=self.producer_id if producer_id is None else producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
        return ProduceRequest(
            transactional_id=self.name if name == "" else name,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[
                TopicProduceData(
                    name=log.topic,
                    topic_id=log.topic_id,
                    partition_data=[PartitionProduceData(index=0, records=batch)],
                )
            ],
        )

    def produce(self, log: Partition, sequence: int, *, version: int = 12, **fields: Any) -> str:
        """`ERROR @base offset`."""
        request = self.produce_request(log, sequence, **fields)
        return wrote(self.connection.send(request, ProduceResponse, version))

    def produce_answer(
        self, log: Partition, sequence: int, *, version: int, **fields: Any
    ) -> PartitionProduceResponse:
        request = self.produce_request(log, sequence, **fields)
        return self.connection.send(request, ProduceResponse, version).responses[0].partition_responses[0]

    # TxnOffsetCommit

    def commit_offset(
        self,
        group: str,
        topic: str,
        offset: int = 5,
        *,
        version: int = 3,
        partition: int = 0,
        metadata: str = "",
        epoch: int | None = None,
        producer_id: int | None = None,
        generation: int = -1,
        member: str = "",
        name: str | None = None,
    ) -> str:
        request = TxnOffsetCommitRequest(
            transactional_id=self.name if name is None else name,
            group_id=group,
            producer_id=self.producer_id if producer_id is None else producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            generation_id=generation,
            member_id=member,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=partition, committed_offset=offset, committed_metadata=metadata
                        )
                    ],
                )
            ],
        )
        answer = self.connection.send(request, TxnOffsetCommitResponse, version)
        return error_name(answer.topics[0].partitions[0].error_code)

    # What the coordinator says of it

    def describe(self) -> TransactionState:
        request = DescribeTransactionsRequest(transactional_ids=[self.name])
        (found,) = self.connection.send(request, DescribeTransactionsResponse, 0).transaction_states
        return found

    def state(self) -> str:
        """`CompleteAbort (P,1)`, with the partitions if there are any."""
        found = self.describe()
        if found.error_code:
            return error_name(found.error_code)
        partitions = sorted((each.topic, number) for each in found.topics for number in each.partitions)
        words = [f"{found.transaction_state} ({self.word(found.producer_id)},{found.producer_epoch})"]
        return " ".join(words + [f"{topic}-{number}" for topic, number in partitions])

    def wait(self) -> None:
        """Until the id is in Complete*."""
        self.wait_for("CompleteCommit", "CompleteAbort")

    def wait_for(self, *states: str) -> None:
        backoff = Backoff(WAIT_MS, first_ms=2, longest_ms=100)
        while self.describe().transaction_state not in states:
            if not backoff.wait():
                raise Refused(f"{self.name}: wanted {' or '.join(states)}, found {self.state()}")

    def at_once(self, *asked: tuple[Message, int]) -> list[Any]:
        """Requests with their versions, in one write on a connection of their own: no answer is awaited in between.

        The one before is left behind for good, as a client does: what comes on it later would be a late copy.
        """
        self.connection.close()
        return at_once(self.target, asked)


def wrote(answer: ProduceResponse) -> str:
    found = answer.responses[0].partition_responses[0]
    return f"{error_name(found.error_code)} @{found.base_offset}"


def added(answer: AddPartitionsToTxnResponse, partitions: Sequence[tuple[str, int]]) -> str:
    if answer.error_code:
        return f"TOP {error_name(answer.error_code)}"
    topics = list(answer.results_by_topic_v3_and_below)
    for each in answer.results_by_transaction:
        topics += each.topic_results
    errors = {
        (topic.name, each.partition_index): error_name(each.partition_error_code)
        for topic in topics
        for each in topic.results_by_partition
    }
    return ", ".join(errors.pop(each) for each in partitions) + "".join(f" and {each}" for each in errors)


def at_once(target: Target, asked: Iterable[tuple[Message, int]]) -> list[Any]:
    """Answers of requests that were sent in one write."""
    waiting = [(api_of(request), version, request) for request, version in asked]
    with (
        socket.create_connection(parse_address(target.broker.bootstrap), timeout=WAIT_MS / 1000) as door,
        door.makefile("rb") as stream,
    ):
        frames = [
            request_frame(api.key, version, number, "vector", request)
            for number, (api, version, request) in enumerate(waiting)
        ]
        door.sendall(b"".join(frames))
        answers: list[Any] = []
        for number, (api, version, _) in enumerate(waiting):
            frame = stream.read(struct.unpack(">i", stream.read(4))[0])
            correlation_id, body_at = read_response_header(frame, api.key, version)
            assert correlation_id == number
            answers.append(api.response_class().decode(frame[body_at:], version))
        return answers


@contextlib.contextmanager
def transaction(target: Target, **fields: Any) -> Generator[Id]:
    """A fresh transactional id that holds (P, 0)."""
    one = Id(target, **fields)
    try:
        yield one
    finally:
        one.connection.close()


def write_markers(
    target: Target,
    log: Partition | str,
    producer_id: int,
    epoch: int,
    *,
    commit: bool = False,
    coordinator_epoch: int = 0,
    transaction_version: int = 2,
    version: int = 2,
    partition: int = 0,
) -> str:
    topic = log if isinstance(log, str) else log.topic
    marker = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=commit,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
        coordinator_epoch=coordinator_epoch,
        transaction_version=transaction_version,
    )
    with target.connect() as connection:
        answer = connection.send(WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse, version)
    return error_name(answer.markers[0].topics[0].partitions[0].error_code)


def producers_of(target: Target, topic: str, partition: int = 0) -> dict[int, ProducerState]:
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[partition])])
    with target.connect() as connection:
        (found,) = connection.send(request, DescribeProducersResponse, 0).topics[0].partitions
    assert found.error_code == 0, error_name(found.error_code)
    return {each.producer_id: each for each in found.active_producers}


def offsets_partition(group: str) -> tuple[str, int]:
    return CONSUMER_OFFSETS, coordinator_partition(group, OFFSETS_PARTITIONS)


def stuck(one: Id, log: Partition, *, commit: bool, version: int = 3) -> None:
    """Leaves the id in PrepareCommit or PrepareAbort: its partition has seen a newer coordinator and takes no marker.

    Spec 2.8: TRANSACTION_COORDINATOR_FENCED stops the coordinator, and the state stays as it is.
    """
    assert one.produce(log, 0).startswith("NONE")
    said = write_markers(
        one.target, log, one.producer_id, one.epoch, coordinator_epoch=1000, transaction_version=0
    )
    assert said == "NONE", said
    said = one.said(one.connection.send(one.end_request(commit=commit), version=version))
    assert said.startswith("NONE"), said
    time.sleep(0.2)  # the marker is refused meanwhile; there is nothing to be polled for
    assert one.describe().transaction_state == ("PrepareCommit" if commit else "PrepareAbort")


def exhaust(ids: Sequence[Id]) -> None:
    """Brings every id to the last epoch that a client may hold, one InitProducerId after the other (TRAP-7)."""
    doors = [socket.create_connection(parse_address(one.target.broker.bootstrap), timeout=60) for one in ids]
    streams = [door.makefile("rb") for door in doors]
    try:
        while any(one.epoch < LAST_EPOCH for one in ids):
            counts = [min(PIPELINED, LAST_EPOCH - one.epoch) for one in ids]
            for one, door, count in zip(ids, doors, counts, strict=True):
                frame = request_frame(INIT_PRODUCER_ID, 5, 1, "vector", one.init_request())
                door.sendall(bytes(frame) * count)
            for one, stream, count in zip(ids, streams, counts, strict=True):
                for _ in range(count):
                    frame = stream.read(struct.unpack(">i", stream.read(4))[0])
                    _, body_at = read_response_header(frame, INIT_PRODUCER_ID, 5)
                    answer = InitProducerIdResponse.decode(frame[body_at:], 5)
                    if answer.error_code == ErrorCode.NONE:
                        one.holds(answer.producer_id, answer.producer_epoch)
    finally:
        for each in (*streams, *doors):
            each.close()


def until_loaded(one: Id) -> None:
    """After a restart the coordinator may still be reading its log."""
    backoff = Backoff(WAIT_MS)
    while one.describe().error_code in COORDINATOR_PASSING and backoff.wait():
        pass
