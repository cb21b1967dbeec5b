"""Writes records: batches by partition, idempotent unless asked otherwise, retries that keep their sequences."""

import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self

from oncelog.client.cluster import Backoff, Cluster
from oncelog.client.faults import RETRIABLE, ClientFault, RefusedByBroker, TimedOut, Unreachable, demand
from oncelog.client.partitioner import partition_of_key
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.model import Acks, TopicPartition
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.record.batch import HEADER_BYTES, NewRecord, add_sequence, build_batch

CODECS: Final = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
RECORD_OVERHEAD_BYTES: Final = 32  # varints and the like, estimated from above
HEADER_OVERHEAD_BYTES: Final = 10
NEW_TOPIC_WAIT_MS: Final = 10_000  # how long an automatically created topic may take to appear


class Written(NamedTuple):
    """Where a record is. The offset is -1 when nobody acknowledged it (acks=0)."""

    topic: str
    partition: int
    offset: int
    timestamp: int


class Delivery:
    """The promise of one record; kept or broken by `flush`."""

    __slots__ = ("_batch", "_index")

    def __init__(self, batch: "_Batch", index: int) -> None:
        self._batch = batch
        self._index = index

    @property
    def partition(self) -> int:
        return self._batch.partition.partition

    @property
    def done(self) -> bool:
        return self._batch.base_offset is not None or self._batch.fault is not None

    def result(self) -> Written:
        """Where the record was written; raises what went wrong."""
        batch = self._batch
        if batch.fault is not None:
            raise batch.fault
        if batch.base_offset is None:
            raise ClientFault(f"a record of {batch.partition} is not sent yet: call flush() first")
        offset = batch.base_offset + self._index if batch.base_offset >= 0 else -1
        timestamp = batch.append_time if batch.append_time >= 0 else batch.records[self._index].timestamp
        return Written(batch.partition.topic, batch.partition.partition, offset, timestamp)


class _Batch:
    """Records on their way to one partition. Once sealed its bytes never change: a retry sends the same sequence."""

    __slots__ = ("append_time", "base_offset", "born", "data", "fault", "partition", "records", "size_bytes")

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.records: list[NewRecord] = []
        self.size_bytes = HEADER_BYTES
        self.data: bytes | None = None
        self.born = time.monotonic()
        self.base_offset: int | None = None
        self.append_time = -1
        self.fault: ClientFault | None = None


class Producer:
    """`send` queues, `flush` waits; full batches leave by themselves. Not for more than one thread at a time.

    One request per broker is under way at a time and holds at most one batch of a partition, so the order of a partition
    is the order of `send`. Memory is bounded: `send` delivers before more than `buffer_limit_bytes` are queued.
    Idempotent (the default with acks=all): the broker drops what a retry sends twice. Otherwise a retry after a broken
    connection may write a batch again.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        acks: Acks = Acks.ALL,
        idempotent: bool | None = None,
        codec: str = "none",
        batch_bytes: int = 16_384,
        request_limit_bytes: int = 1_048_576,
        buffer_limit_bytes: int = 33_554_432,
        delivery_timeout_ms: int = 120_000,
    ) -> None:
        if codec not in CODECS:
            raise ValueError(f"codec: wanted one of {', '.join(CODECS)}, found {codec!r}")
        self._idempotent = acks is Acks.ALL if idempotent is None else idempotent
        if self._idempotent and acks is not Acks.ALL:
            raise ValueError(f"an idempotent producer needs acks=ALL, found {acks.name}")
        self.cluster = cluster
        self._acks = acks
        self._codec = CODECS[codec]
        self._batch_bytes = batch_bytes
        self._request_limit_bytes = request_limit_bytes
        self._buffer_limit_bytes = buffer_limit_bytes
        self._delivery_timeout_ms = delivery_timeout_ms
        self._growing: dict[TopicPartition, _Batch] = {}
        self._sealed: dict[TopicPartition, deque[_Batch]] = {}
        self._growing_bytes = 0
        self._sealed_bytes = 0
        self._sequences: dict[TopicPartition, int] = {}
        self._producer_id = -1
        self._producer_epoch = -1
        self._broken: ClientFault | None = None
        self._spread: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.flush()

    @property
    def producer_id(self) -> int:
        """-1 until the first batch of an idempotent producer was sealed."""
        return self._producer_id

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> Delivery:
        """Queues one record. The delivery tells after `flush` (or earlier) where it went."""
        if self._broken is not None:
            raise self._broken
        record = NewRecord(
            key, value, int(time.time() * 1000) if timestamp is None else timestamp, tuple(headers)
        )
        size = _size_of(record)
        where = self._partition_for(topic, key, partition)
        batch = self._growing.get(where)
        if batch is not None and batch.size_bytes + size > self._batch_bytes:
            self._seal(where)
            where = self._partition_for(
                topic, key, partition
            )  # a record without key goes on in the next partition
            batch = self._growing.get(where)
        if batch is None:
            batch = self._growing[where] = _Batch(where)
            self._growing_bytes += HEADER_BYTES
        batch.records.append(record)
        batch.size_bytes += size
        self._growing_bytes += size
        delivery = Delivery(batch, len(batch.records) - 1)
        if self._growing_bytes + self._sealed_bytes >= self._buffer_limit_bytes:
            self.flush()
        elif self._sealed_bytes >= self._request_limit_bytes:
            self._deliver()
        return delivery

    def flush(self) -> None:
        """Returns when every queued record is acknowledged; raises the first fault if one was not."""
        for where in sorted(self._growing):
            self._seal(where)
        self._deliver()

    def _partition_for(self, topic: str, key: bytes | None, wanted: int | None) -> TopicPartition:
        if wanted is not None:
            return TopicPartition(topic, wanted)
        count = len(self.cluster.topic(topic, auto_create=True, wait_ms=NEW_TOPIC_WAIT_MS).partitions)
        if key is not None:
            return TopicPartition(topic, partition_of_key(key, count))
        return TopicPartition(topic, self._spread.setdefault(topic, 0) % count)

    def _seal(self, where: TopicPartition) -> None:
        if self._idempotent and self._producer_id < 0:
            self._begin()
        batch = self._growing.pop(where)
        self._growing_bytes -= batch.size_bytes
        sequence = self._sequences.get(where, 0) if self._idempotent else -1
        batch.data = build_batch(
            batch.records,
            codec=self._codec,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=sequence,
        )
        if self._idempotent:
            self._sequences[where] = add_sequence(sequence, len(batch.records))
        self._sealed.setdefault(where, deque()).append(batch)
        self._sealed_bytes += len(batch.data)
        self._spread[where.topic] = where.partition + 1

    def _begin(self) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        backoff = Backoff(self.cluster.timeout_ms)
        while True:
            whom = self.cluster.any()
            answer = whom.send(request, InitProducerIdResponse)
            if answer.error_code not in RETRIABLE or not backoff.wait():
                break
        demand(answer.error_code, "InitProducerId", str(whom))
        self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch

    # Delivery

    def _deliver(self) -> None:
        """Sends sealed batches until none is left. A batch that fails for good breaks the producer: what follows it in an
        idempotent partition could only be out of order.
        """
        backoff = self._fresh_backoff()
        while self._sealed:
            progress = False
            for whom, batches in self._next_requests():
                progress |= self._deliver_to(whom, batches)
            if self._broken is not None:
                self._give_up(self._broken)
                raise self._broken
            if progress:
                backoff = self._fresh_backoff()
            elif self._sealed:
                backoff.wait()

    def _fresh_backoff(self) -> Backoff:
        return Backoff(self._delivery_timeout_ms)

    def _next_requests(self) -> list[tuple[Connection, list[_Batch]]]:
        """The first batch of each partition, by leader, as many as one request may hold."""
        found: dict[Connection, list[_Batch]] = {}
        sizes: dict[Connection, int] = {}
        for where in sorted(self._sealed):
            batch = self._sealed[where][0]
            assert batch.data is not None
            try:
                self.cluster.topic(where.topic, auto_create=True, wait_ms=NEW_TOPIC_WAIT_MS)
                whom = self.cluster.leader(where)
            except (RefusedByBroker, Unreachable, TimedOut) as fault:
                self._retry(batch, fault)
                continue
            size = sizes.get(whom, 0)
            if size == 0 or size + len(batch.data) <= self._request_limit_bytes:
                found.setdefault(whom, []).append(batch)
                sizes[whom] = size + len(batch.data)
        return list(found.items())

    def _deliver_to(self, whom: Connection, batches: list[_Batch]) -> bool:
        """Whether a batch was acknowledged."""
        topics: dict[str, list[PartitionProduceData]] = {}
        for batch in batches:
            data = PartitionProduceData(index=batch.partition.partition, records=batch.data)
            topics.setdefault(batch.partition.topic, []).append(data)
        request = ProduceRequest(
            acks=self._acks,
            timeout_ms=self.cluster.timeout_ms,
            topic_data=[TopicProduceData(name=topic, partition_data=data) for topic, data in topics.items()],
        )
        try:
            if self._acks is Acks.NONE:
                whom.send_only(request)
                for batch in batches:
                    self._done(batch, -1, -1)
                return True
            answer = whom.send(request, ProduceResponse)
        except (Unreachable, TimedOut) as fault:
            for batch in batches:
                self._retry(batch, fault)
            return False
        results = {
            TopicPartition(topic.name, each.index): each
            for topic in answer.responses
            for each in topic.partition_responses
        }
        return [self._take(whom, batch, results.get(batch.partition)) for batch in batches].count(True) > 0

    def _take(self, whom: Connection, batch: _Batch, result: PartitionProduceResponse | None) -> bool:
        asked = f"Produce to {batch.partition}"
        if result is None:
            self._retry(batch, ClientFault(f"{asked}: the answer of {whom} does not mention it"))
            return False
        if result.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self._done(batch, result.base_offset, result.log_append_time_ms)
            return True
        fault = RefusedByBroker(result.error_code, asked, str(whom), result.error_message)
        if result.error_code in RETRIABLE:
            self._retry(batch, fault)
        else:
            self._fail(batch, fault)
        return False

    def _done(self, batch: _Batch, base_offset: int, append_time: int) -> None:
        batch.base_offset, batch.append_time = base_offset, append_time
        self._drop(batch)

    def _retry(self, batch: _Batch, fault: ClientFault) -> None:
        """The batch stays the first of its partition, unless its time is up."""
        self.cluster.forget(batch.partition.topic)
        spent_ms = (time.monotonic() - batch.born) * 1000
        is_final = isinstance(fault, RefusedByBroker) and fault.error not in RETRIABLE
        if is_final:
            self._fail(batch, fault)
        elif spent_ms > self._delivery_timeout_ms:
            said = f"{fault} (not delivered in {self._delivery_timeout_ms} ms)"
            self._fail(batch, Unreachable(said) if isinstance(fault, Unreachable) else TimedOut(said))

    def _fail(self, batch: _Batch, fault: ClientFault) -> None:
        batch.fault = fault
        self._drop(batch)
        if self._broken is None:
            self._broken = fault

    def _drop(self, batch: _Batch) -> None:
        line = self._sealed[batch.partition]
        assert line[0] is batch
        line.popleft()
        assert batch.data is not None
        self._sealed_bytes -= len(batch.data)
        batch.data = None
        if not line:
            del self._sealed[batch.partition]

    def _give_up(self, fault: ClientFault) -> None:
        for line in self._sealed.values():
            for batch in line:
                batch.fault = fault
        for batch in self._growing.values():
            batch.fault = fault
        self._sealed.clear()
        self._growing.clear()
        self._sealed_bytes = self._growing_bytes = 0


def _size_of(record: NewRecord) -> int:
    size = RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
    return size + sum(HEADER_OVERHEAD_BYTES + len(name) + len(value or b"") for name, value in record.headers)
