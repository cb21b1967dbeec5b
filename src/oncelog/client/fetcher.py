"""The bytes of one partition from an offset to an offset, with the next request always under way."""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from struct import Struct
from types import TracebackType
from typing import Final, Self

from oncelog.client.admin import EARLIEST, LATEST, Admin
from oncelog.client.cluster import Backoff, Cluster
from oncelog.client.faults import (
    RETRIABLE,
    OffsetOutOfRange,
    RefusedByBroker,
    TimedOut,
    Unreachable,
    demand,
)
from oncelog.client.session import Connection
from oncelog.client.visible import AbortedFrom
from oncelog.errors import CorruptBatch, ErrorCode
from oncelog.model import Isolation, TopicPartition
from oncelog.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from oncelog.record.batch import HEADER_BYTES, LENGTH_OVERHEAD_BYTES, MAGIC

log: Final = logging.getLogger(__name__)

# What of a batch's header tells where it ends: base offset, length, magic, last offset delta.
EXTENT: Final = Struct(">qi4xb6xi")
assert EXTENT.size == 27
EARLIEST_LOCAL: Final = -4  # ListOffsets: where the part of a log begins that its broker holds itself
FIRST_ANSWER_BYTES: Final = 1_048_576  # until we know how large a record is here
LEAST_ANSWER_BYTES: Final = 65_536
NEW_TOPIC_WAIT_MS: Final = 10_000
LONGEST_THROTTLE_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Fetched:
    """Whole record batches as they stand in the log, compressed or not, markers included.

    The first batch may begin below the offset that was asked for and the last may reach beyond `stop`: a batch is never
    split, so whoever decodes drops those records. `aborted` belongs to this data (RC-1): from `first_offset` on, transactional
    batches of `producer_id` are aborted until its ABORT marker. Empty for read_uncommitted.
    """

    data: memoryview
    aborted: tuple[AbortedFrom, ...]
    high_watermark: int
    last_stable_offset: int
    log_start: int
    first_offset: int  # the position this answers: records below are not wanted
    next_offset: int  # behind the last whole batch


class PartitionFetcher:
    """`for fetched in PartitionFetcher(...)`: everything in [start, stop), in order; it ends when `stop` is reached.

    One request is under way while the caller works on the last answer. Moved leaders, broken connections and restarts
    are waited out until nothing came for `timeout_ms`: then TimedOut or Unreachable says where it stood. OffsetOutOfRange names
    the log's start and end (a fault with `.position`, `.log_start`, `.log_end`). Its own connection, opened when first used.
    Offsets that hold nothing (compacted, markers) are passed, but only where that is proved: a broker that has tiered storage
    answers with nothing too while the data is on its way. Checks no CRC: who decodes does.

    isolation   read_committed: nothing beyond the last stable offset is given; `stop` beyond it waits
    max_bytes   of one answer; a batch that is larger comes nevertheless, alone. Towards `stop` less is asked for
    """

    def __init__(
        self,
        cluster: Cluster,
        partition: TopicPartition,
        *,
        start: int,
        stop: int,
        isolation: Isolation = Isolation.READ_COMMITTED,
        max_bytes: int = 8_388_608,
        max_wait_ms: int = 500,
        timeout_ms: int = 60_000,
    ) -> None:
        if not 0 <= start <= stop:
            raise ValueError(f"{partition}: wanted 0 <= start <= stop, found start {start}, stop {stop}")
        self.cluster = cluster
        self.partition = partition
        self._position = start
        self._stop = stop
        self._isolation = isolation
        self._max_bytes = max_bytes
        self._max_wait_ms = max_wait_ms
        self._timeout_ms = timeout_ms
        self._whom: Connection | None = None
        self._asked_at: int | None = None  # the offset of the request under way
        self._bytes_per_offset: float | None = None

    @property
    def position(self) -> int:
        """The next offset that has not been given to the caller yet."""
        return self._position

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. A further iteration goes on at `position`."""
        if self._whom is not None:
            self._whom.close()
            self._whom = None
        self._asked_at = None

    def __iter__(self) -> Iterator[Fetched]:
        try:
            while self._position < self._stop:
                fetched = self._next()
                self._position = fetched.next_offset
                if self._position < self._stop:
                    self._read_ahead()
                if fetched.data:
                    yield fetched
        finally:
            self.close()

    def _next(self) -> Fetched:
        """The next answer that moves us on."""
        backoff = Backoff(self._timeout_ms)
        unknown = Backoff(min(NEW_TOPIC_WAIT_MS, self._timeout_ms))
        deadline = time.monotonic() + self._timeout_ms / 1000
        empty = 0
        while True:
            try:
                fetched = self._ask()
            except (Unreachable, TimedOut, RefusedByBroker) as fault:
                self.close()
                self.cluster.forget(self.partition.topic)
                wait = backoff.wait
                if isinstance(fault, RefusedByBroker):
                    if fault.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                        wait = unknown.wait
                    elif fault.error not in RETRIABLE:
                        raise
                if not wait():
                    raise
                continue
            if fetched.next_offset > self._position:
                return fetched
            # All up to `stop` may be seen, and nothing came: it was compacted away, or a broker has not got it at hand.
            empty = empty + 1 if self._end(fetched) >= self._stop else 0
            if empty > 1 and self._is_hole():
                return replace(fetched, next_offset=self._stop)
            if time.monotonic() > deadline:
                raise TimedOut(
                    f"Fetch of {self.partition} up to offset {self._stop}: at offset {self._position} for "
                    f"{self._timeout_ms} ms; the high watermark is {fetched.high_watermark}, "
                    f"the last stable offset {fetched.last_stable_offset}"
                )

    def _end(self, fetched: Fetched) -> int:
        committed = self._isolation is Isolation.READ_COMMITTED
        return fetched.last_stable_offset if committed else fetched.high_watermark

    def _is_hole(self) -> bool:
        """Whether [position, stop) is proved to hold nothing. Either the next batch of all, decided or not, begins at `stop` or
        behind it; or all from here on is in the log of the broker itself, which gives what it has. Tiered storage does not:
        when `remote.fetch.max.wait.ms` is over Kafka answers as if there were nothing (DelayedRemoteFetch).
        """
        try:
            self._post(Isolation.READ_UNCOMMITTED)
            answer = self._collect()
            if answer is None:
                return False
            demand(
                answer.error_code, f"Fetch of {self.partition} at offset {self._position}", str(self._whom)
            )
            found = memoryview(answer.records or b"")
            if len(found) >= EXTENT.size:
                return EXTENT.unpack_from(found)[0] >= self._stop
            local = Admin(self.cluster).offsets_at({self.partition: EARLIEST_LOCAL})[self.partition].offset
        except (Unreachable, TimedOut, RefusedByBroker) as fault:
            log.info("fetch.hole_unproved partition=%s offset=%d: %s", self.partition, self._position, fault)
            self.close()
            return False
        return 0 <= local <= self._position

    def _read_ahead(self) -> None:
        try:
            self._post()
        except (Unreachable, TimedOut, RefusedByBroker):
            self.close()  # the caller has work to do; the next turn sees to it

    def _post(self, isolation: Isolation | None = None) -> None:
        if self._whom is None:
            self._whom = self.cluster.dial(self.cluster.leader(self.partition).address)
        wanted = self._bytes_wanted()
        request = FetchRequest(
            max_wait_ms=self._max_wait_ms,
            min_bytes=1,
            max_bytes=wanted,
            isolation_level=self._isolation if isolation is None else isolation,
            topics=[
                FetchTopic(
                    topic=self.partition.topic,
                    partitions=[
                        FetchPartition(
                            partition=self.partition.partition,
                            fetch_offset=self._position,
                            partition_max_bytes=wanted,
                        )
                    ],
                )
            ],
        )
        self._whom.post(request)
        self._asked_at = self._position

    def _bytes_wanted(self) -> int:
        """What the rest of the range may need: bytes beyond `stop` would be fetched for nothing."""
        if self._bytes_per_offset is None:
            return min(self._max_bytes, FIRST_ANSWER_BYTES)
        rest = int((self._stop - self._position) * self._bytes_per_offset * 1.1)
        return min(self._max_bytes, max(rest, LEAST_ANSWER_BYTES))

    def _ask(self) -> Fetched:
        if self._asked_at is None:
            self._post()
        data = self._collect()
        if data is None:
            return Fetched(memoryview(b""), (), -1, -1, -1, self._position, self._position)
        return self._taken(data, str(self._whom))

    def _collect(self) -> PartitionData | None:
        """What the request under way is answered with; None: nothing at all."""
        assert self._whom is not None
        asked_at, self._asked_at = self._asked_at, None
        assert asked_at == self._position
        answer = self._whom.collect(FetchResponse, timeout_ms=self._max_wait_ms + self.cluster.timeout_ms)
        demand(answer.error_code, "Fetch", str(self._whom))
        for topic in answer.responses:
            for data in topic.partitions:
                if (topic.topic, data.partition_index) == (self.partition.topic, self.partition.partition):
                    return data
        # A broker that throttles us answers with nothing at all, and says for how long.
        time.sleep(min(answer.throttle_time_ms, LONGEST_THROTTLE_MS) / 1000)
        return None

    def _taken(self, data: PartitionData, whom: str) -> Fetched:
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise self._out_of_range()
        demand(data.error_code, f"Fetch of {self.partition} at offset {self._position}", whom)
        raw = memoryview(data.records or b"")
        end, next_offset = self._whole(raw)
        if end:
            self._bytes_per_offset = end / max(next_offset - self._position, 1)
        return Fetched(
            data=raw[:end],
            aborted=tuple(
                AbortedFrom(each.first_offset, each.producer_id) for each in data.aborted_transactions or ()
            ),
            high_watermark=data.high_watermark,
            last_stable_offset=data.last_stable_offset,
            log_start=data.log_start_offset,
            first_offset=self._position,
            next_offset=next_offset,
        )

    def _whole(self, raw: memoryview) -> tuple[int, int]:
        """Where the last whole batch below `stop` ends, and the offset behind it."""
        at, size, next_offset = 0, len(raw), self._position
        while size - at >= HEADER_BYTES:
            base_offset, length, magic, delta = EXTENT.unpack_from(raw, at)
            if magic != MAGIC or length < HEADER_BYTES - LENGTH_OVERHEAD_BYTES:
                raise CorruptBatch(
                    f"{self.partition}: batch at offset {base_offset} has magic {magic} and length {length}, "
                    f"wanted magic {MAGIC} and at least {HEADER_BYTES - LENGTH_OVERHEAD_BYTES}"
                )
            if base_offset >= self._stop:  # what is left of the range is empty
                next_offset = self._stop
                break
            if at + length + LENGTH_OVERHEAD_BYTES > size:
                break
            at += length + LENGTH_OVERHEAD_BYTES
            next_offset = base_offset + delta + 1
        return at, max(next_offset, self._position)

    def _out_of_range(self) -> OffsetOutOfRange:
        admin = Admin(self.cluster)
        start, end = (
            admin.offsets_at({self.partition: which})[self.partition].offset for which in (EARLIEST, LATEST)
        )
        return OffsetOutOfRange(self.partition, self._position, start, end)
