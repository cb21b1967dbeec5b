"""Sends record batches that somebody else has sealed: several under way, in order, the same bytes at every retry."""

import os
import secrets
import select
import time
from collections import deque
from types import TracebackType
from typing import Final, Self

from oncelog.client.address import Address
from oncelog.client.admin import LATEST, Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import RETRIABLE, ClientFault, RefusedByBroker, TimedOut, Unreachable
from oncelog.client.pipeline import Pipeline
from oncelog.client.session import Connection
from oncelog.client.transactional import (
    NEW_TOPIC_WAIT_MS,
    PRODUCE,
    TransactionProtocol,
    protocol_of,
    transaction_fault,
    version_for,
)
from oncelog.errors import ErrorCode
from oncelog.model import NO_PRODUCER_ID, Acks, Producer, TopicPartition
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.record.batch import read_header

MAX_IN_FLIGHT: Final = (
    5  # requests of a connection with one batch of a partition each: a broker remembers five
)
FIRST_BACKOFF_S: Final = 0.02
LONGEST_BACKOFF_S: Final = 0.5
ANSWER_SLACK_MS: Final = 5_000  # beyond the time after which a broker itself gives up
LOOK_EVERY_S: Final = 0.5  # at batches and requests whose time may be up


class _Sealed:
    """One batch on its way."""

    __slots__ = ("data", "deadline", "offset", "size")

    def __init__(self, data: bytes | bytearray | memoryview, deadline: float) -> None:
        self.data: bytes | bytearray | memoryview | None = data
        self.size = len(data)
        self.deadline = deadline
        self.offset = -1


class _Line:
    """One partition. All of `again` was sent before `flying`, all of that before `waiting`, each in the order of `write`."""

    __slots__ = (
        "again",
        "backoff_s",
        "flying",
        "link",
        "not_before",
        "partition",
        "proven",
        "unknown_since",
        "waiting",
        "written",
    )

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.waiting: deque[_Sealed] = deque()
        self.flying = 0
        self.again: list[_Sealed] = []  # to be sent once more, when nothing of this line is in the air
        self.written: list[_Sealed] = []  # since the last flush
        self.link: _Link | None = None
        self.proven = False  # a batch was acknowledged since the last trouble
        self.not_before = 0.0
        self.backoff_s = FIRST_BACKOFF_S
        self.unknown_since: float | None = None

    def landed(self, sealed: _Sealed, *, again: bool) -> None:
        """A batch is back from the air. What failed waits for the rest, so that all is sent again in order."""
        self.flying -= 1
        if again:
            self.again.append(sealed)
            self.proven = False
        if not self.flying and self.again:
            self.waiting.extendleft(reversed(self.again))
            self.again.clear()
            self.not_before = time.monotonic() + self.backoff_s
            self.backoff_s = min(self.backoff_s * 2, LONGEST_BACKOFF_S)


_Carried = list[tuple[_Line, _Sealed]]


class _Link(Pipeline[_Carried, ProduceResponse]):
    """The connection to one leader, with the version in which it is asked."""

    version = -1

    @property
    def address(self) -> Address:
        return self.connection.address


class BatchWriter:
    """`write` queues and sends what it can without waiting, `flush` waits. Its own connections, opened when first used.

    transactional_id  None: outside of transactions
    producer          whose id and epoch the batches carry; (-1, -1) for plain batches, which go one at a time per partition,
                      because nothing but the order of sending keeps their order. A plain batch may be written twice if a
                      connection breaks
    protocol          Produce v12 for TV2 (partitions join by themselves), v11 for TV1 (add_partitions first). None: asked
                      of the cluster. Of no meaning outside of transactions
    timeout_ms        how long a batch may take from `write` to its acknowledgement, retries included
    buffer_limit_bytes  how much may be queued or unacknowledged: `write` waits before it is more

    acks=all always. NOT_ENOUGH_REPLICAS, CONCURRENT_TRANSACTIONS, moved leaders and broken connections are tried again with
    the same bytes. Any other refusal breaks the writer: the fault is raised by this and every later call. Fenced: another
    producer has the transactional id. TransactionLost: the transaction is no longer open. RefusedByBroker: MESSAGE_TOO_LARGE
    and the like, with the partition and the size. Not for more than one thread at a time.
    """

    def __init__(
        self,
        cluster: Cluster,
        transactional_id: str | None,
        producer: Producer,
        *,
        protocol: TransactionProtocol | None = None,
        timeout_ms: int = 120_000,
        buffer_limit_bytes: int = 33_554_432,
        request_limit_bytes: int = 1_048_576,
    ) -> None:
        if transactional_id is not None and producer.id == NO_PRODUCER_ID:
            raise ValueError(f"transactional id {transactional_id!r}: wanted a producer, found {producer}")
        self.cluster = cluster
        self.transactional_id = transactional_id
        self.producer = producer
        self._protocol = protocol
        self._timeout_ms = timeout_ms
        self._buffer_limit_bytes = buffer_limit_bytes
        self._request_limit_bytes = request_limit_bytes
        # Brokers that refuse late copies know a client by its id and host: two writers must not look like one (0010).
        self._client_id = f"{cluster.client_id}-writer-{os.getpid()}-{secrets.token_hex(4)}"
        self._lines: dict[TopicPartition, _Line] = {}
        self._pending: dict[
            TopicPartition, _Line
        ] = {}  # lines with something waiting, the longest unserved first
        self._links: dict[Address, _Link] = {}
        self._down: dict[Address, float] = {}  # not to be dialled before then
        self._unacknowledged = 0
        self._unacknowledged_bytes = 0
        self._look_at = 0.0
        self._last_fault: ClientFault | None = None
        self._broken: ClientFault | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes; flushes first unless there was a fault."""
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def write(self, partition: TopicPartition, batch: bytes | bytearray | memoryview) -> None:
        """Queues one whole record batch (61-byte header with producer, sequence and CRC). The bytes must not change any
        more. Batches of a partition are written in the order of these calls.
        """
        self._check_whole()
        self._check_ours(partition, batch)
        line = self._lines.get(partition)
        if line is None:
            line = self._lines[partition] = _Line(partition)
        sealed = _Sealed(batch, time.monotonic() + self._timeout_ms / 1000)
        line.waiting.append(sealed)
        line.written.append(sealed)
        self._pending[partition] = line
        self._unacknowledged += 1
        self._unacknowledged_bytes += sealed.size
        self._turn(wait=False)
        while self._unacknowledged_bytes > self._buffer_limit_bytes:
            self._turn(wait=True)

    def flush(self) -> dict[TopicPartition, list[int]]:
        """Waits until all is acknowledged: the base offset of every batch since the last flush, in the order of `write`."""
        self._check_whole()
        while self._unacknowledged:
            self._turn(wait=True)
        found: dict[TopicPartition, list[int]] = {}
        for line in self._lines.values():
            if line.written:
                found[line.partition] = [each.offset for each in line.written]
                line.written.clear()
        return found

    def log_end(self, partition: TopicPartition) -> int:
        """The log end offset now (ListOffsets latest, read_uncommitted). For the duplicate guard: a batch that was answered
        with an offset below what this said before it was written had been there already, from another writer.
        """
        return Admin(self.cluster).offsets_at({partition: LATEST})[partition].offset

    def close(self) -> None:
        """Closes the connections. What was not flushed may or may not be written."""
        for link in self._links.values():
            link.close()
        self._links.clear()

    def _check_whole(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _check_ours(self, partition: TopicPartition, batch: bytes | bytearray | memoryview) -> None:
        header = read_header(batch)
        if header.size != len(batch):
            raise ValueError(
                f"batch for {partition}: its length says {header.size} bytes, found {len(batch)}"
            )
        if (header.producer_id, header.producer_epoch) != (self.producer.id, self.producer.epoch):
            found = f"{header.producer_id}/{header.producer_epoch}"
            raise ValueError(f"batch for {partition}: wanted producer {self.producer}, found {found}")
        if header.is_transactional != (self.transactional_id is not None):
            wanted = "inside" if self.transactional_id is not None else "outside of"
            raise ValueError(f"batch for {partition}: wanted one {wanted} a transaction")

    # One turn: send, wait, take

    def _turn(self, *, wait: bool) -> None:
        try:
            self._send()
            if wait:
                self._wait()
            for link in list(self._links.values()):
                self._take_answers(link)
            now = time.monotonic()
            if now >= self._look_at:
                self._look_at = now + LOOK_EVERY_S
                self._check_time(now)
        except ClientFault as fault:
            self._broken = fault
            self.close()
            raise

    def _send(self) -> None:
        """One request after the other for each leader, each with the next batch of as many partitions as it may hold."""
        while self._pending:
            requests: dict[Address, _Carried] = {}
            sizes: dict[Address, int] = {}
            for line in list(self._pending.values()):
                link = self._ready(line)
                if link is None:
                    continue
                address, batch = link.address, line.waiting[0]
                size = sizes.get(address, 0)
                if size == 0 or size + batch.size <= self._request_limit_bytes:
                    requests.setdefault(address, []).append((line, batch))
                    sizes[address] = size + batch.size
            if not requests:
                return
            for address, carried in requests.items():
                self._post(self._links[address], carried)

    def _ready(self, line: _Line) -> _Link | None:
        """Where the next batch of this line may be sent now."""
        if line.again or time.monotonic() < line.not_before:
            return None
        # Until a batch is acknowledged only one is in the air: a broker that knows nothing of the producer in this
        # partition may take a later one for its first.
        if line.flying and (not line.proven or self.producer.id == NO_PRODUCER_ID):
            return None
        link = line.link
        try:
            if link is None or self._links.get(link.address) is not link:
                link = line.link = self._link_to(line.partition)
            if link is None or link.under_way >= MAX_IN_FLIGHT:
                return None
            if link.must_open:  # a SASL session ends: when all is answered the next one begins
                if link.under_way:
                    return None
                self._open(link)
        except (Unreachable, TimedOut, RefusedByBroker) as fault:
            self._missed(line, fault)
            return None
        return link

    def _link_to(self, partition: TopicPartition) -> _Link | None:
        """The connection to a partition's leader; None if it was down a moment ago."""
        address = self.cluster.leader(partition).address
        link = self._links.get(address)
        if link is None:
            if time.monotonic() < self._down.get(address, 0.0):
                return None
            link = _Link(self.cluster.dial(address, client_id=self._client_id), ProduceResponse)
            self._open(link)
        return link

    def _open(self, link: _Link) -> None:
        self._links.pop(link.address, None)
        try:
            link.connection.connect()
            link.version = self._version(link.connection)
            link.open()
        except (Unreachable, TimedOut):
            link.close()
            self._down[link.address] = time.monotonic() + LONGEST_BACKOFF_S
            raise
        self._links[link.address] = link

    def _version(self, whom: Connection) -> int:
        if self.transactional_id is None:
            return whom.version_of(PRODUCE)
        if self._protocol is None:
            self._protocol = protocol_of(self.cluster)
        return version_for(whom, PRODUCE, self._protocol)

    def _missed(self, line: _Line, fault: ClientFault) -> None:
        """Nobody to send to: later, unless the fault is final."""
        self.cluster.forget(line.partition.topic)
        self._last_fault = fault
        if isinstance(fault, RefusedByBroker) and not self._passes(line, fault.error):
            raise fault
        line.not_before = time.monotonic() + line.backoff_s
        line.backoff_s = min(line.backoff_s * 2, LONGEST_BACKOFF_S)

    def _post(self, link: _Link, carried: _Carried) -> None:
        topics: dict[str, list[PartitionProduceData]] = {}
        for line, batch in carried:
            assert batch.data is not None
            data = PartitionProduceData(index=line.partition.partition, records=batch.data)
            topics.setdefault(line.partition.topic, []).append(data)
            line.waiting.popleft()
            line.flying += 1
            self._pending.pop(line.partition)
            if line.waiting:
                self._pending[line.partition] = line  # behind the others
        request = ProduceRequest(
            transactional_id=self.transactional_id,
            acks=Acks.ALL,
            timeout_ms=self.cluster.timeout_ms,
            topic_data=[TopicProduceData(name=topic, partition_data=data) for topic, data in topics.items()],
        )
        link.post(request, link.version, carried)

    def _wait(self) -> None:
        """Until a connection can go on, or a back-off is over."""
        now = time.monotonic()
        until = min(
            (line.not_before for line in self._pending.values() if line.not_before > now),
            default=now + LOOK_EVERY_S,
        )
        poll = select.poll()
        for link in self._links.values():
            poll.register(link, select.POLLIN | (select.POLLOUT if link.has_to_send else 0))
        poll.poll(max(min(until, now + LOOK_EVERY_S) - now, 0.001) * 1000)

    # Answers

    def _take_answers(self, link: _Link) -> None:
        try:
            answers = link.step()
        except Unreachable as fault:
            self._lose(link, fault)
            return
        for carried, answer in answers:
            results = {
                TopicPartition(topic.name, each.index): each
                for topic in answer.responses
                for each in topic.partition_responses
            }
            for line, batch in carried:
                self._take(link, line, batch, results.get(line.partition))

    def _take(
        self, link: _Link, line: _Line, batch: _Sealed, result: PartitionProduceResponse | None
    ) -> None:
        asked = f"Produce to {line.partition} ({batch.size} bytes)"
        if result is None:
            raise ClientFault(f"{asked}: the answer of {link.connection} does not mention it")
        error = result.error_code
        if error == ErrorCode.NONE:
            batch.offset = result.base_offset
            batch.data = None
            self._unacknowledged -= 1
            self._unacknowledged_bytes -= batch.size
            line.proven = not line.again
            line.backoff_s = FIRST_BACKOFF_S
            line.unknown_since = None
            line.landed(batch, again=False)
        elif self._passes(line, error):
            fault = RefusedByBroker(error, asked, str(link.connection), result.error_message)
            self._last_fault = fault
            self.cluster.forget(line.partition.topic)
            line.link = None
            line.landed(batch, again=True)
        else:
            fault = RefusedByBroker(error, asked, str(link.connection), result.error_message)
            if self.transactional_id is None:
                raise fault
            protocol = self._protocol or protocol_of(self.cluster)
            raise transaction_fault(self.cluster, fault, self.transactional_id, self.producer, protocol)
        if line.waiting:
            self._pending[line.partition] = line

    def _passes(self, line: _Line, error: int) -> bool:
        """Whether the same bytes may be sent again."""
        if error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return bool(line.again)  # a batch before it failed: the broker could not but refuse what followed
        if error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            now = time.monotonic()
            if line.unknown_since is None:
                line.unknown_since = now
            return now - line.unknown_since < NEW_TOPIC_WAIT_MS / 1000
        return error in RETRIABLE

    def _lose(self, link: _Link, fault: ClientFault) -> None:
        """A connection broke: whatever was in the air is sent again, wherever its leader is now."""
        link.close()
        del self._links[link.address]
        self._last_fault = fault
        for carried in link.unanswered():
            for line, batch in carried:
                self.cluster.forget(line.partition.topic)
                line.link = None
                line.landed(batch, again=True)
                if line.waiting:
                    self._pending[line.partition] = line

    def _check_time(self, now: float) -> None:
        for line in self._lines.values():
            oldest = next((each for each in line.written if each.data is not None), None)
            if oldest is not None and now > oldest.deadline:
                said = f"Produce to {line.partition}: not acknowledged within {self._timeout_ms} ms"
                why = self._last_fault
                said += "" if why is None else f"; last: {why}"
                raise Unreachable(said) if isinstance(why, Unreachable) else TimedOut(said)
        limit_ms = self.cluster.timeout_ms + ANSWER_SLACK_MS
        for link in list(self._links.values()):
            if link.oldest is not None and (now - link.oldest) * 1000 > limit_ms:
                self._lose(link, TimedOut(f"Produce: no answer of {link.connection} within {limit_ms} ms"))
