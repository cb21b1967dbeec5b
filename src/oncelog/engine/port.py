"""What an engine promises: topics, partitions and producer ids that last. Handlers know engines by this file only.

An engine keeps record batches and gives them back; the rules that accept or refuse a batch are those of oncelog.log,
the same for every engine. Each call says what is durable when it returns.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from oncelog.engine.times import Times
from oncelog.errors import ErrorCode
from oncelog.log.state import Guard
from oncelog.model import Acks, Isolation, Millis, Origin, TopicId
from oncelog.ports import Bytes
from oncelog.tasks import Future


class Appended(NamedTuple):
    """A batch is in the log, or was there already (`duplicate`: the offsets are those of the first time)."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int  # -1 under CreateTime, except for duplicates (TRAP-17)
    log_start_offset: int
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """A batch was not appended. `record_errors`: (index in the batch, message), for Produce v8+."""

    error: ErrorCode
    message: str | None = None
    log_start_offset: int = -1
    record_errors: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True)
class Read:
    """What a fetch of one partition found: whole batches, and one consistent view of the offsets (B38)."""

    error: ErrorCode
    records: bytes | memoryview
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: tuple[AbortedTransaction, ...] | None  # None for read_uncommitted


@dataclass(frozen=True, slots=True)
class OffsetAt:
    """An answer of ListOffsets: -1 everywhere where nothing fits."""

    offset: int
    timestamp: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class ProducerView:
    """One producer of a partition, for DescribeProducers and the inspector."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_start_offset: int


class Partition(Protocol):
    """One partition's log."""

    @property
    def topic(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def log_start_offset(self) -> int: ...
    @property
    def last_stable_offset(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...

    def append(
        self, batch: Bytes, *, acks: Acks, origin: Origin = Origin.CLIENT, guard: Guard | None = None
    ) -> Future[Appended | Refused]:
        """Checks (spec 1.13 rows 10-17, spec 04) and appends one batch given as bytes of a request.

        The batch has its place in the order when the call returns. The future resolves when `acks` holds: for ALL when
        the batch is below the high watermark, that is durable in the engine's mode. A refusal resolves at once.
        The engine copies what it keeps: the memory of `batch` may be reused afterwards (T27).
        """
        ...

    def append_marker(
        self,
        *,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        commit: bool,
        transaction_version: int,
    ) -> Future[Appended | Refused]:
        """Writes one COMMIT or ABORT control batch (spec 4.6). Resolves when the marker is durable."""
        ...

    async def read(
        self, offset: int, *, max_bytes: int, isolation: Isolation, at_least_one_batch: bool
    ) -> Read:
        """Whole batches from the one that holds `offset`, below the isolation's limit (spec 1.14)."""
        ...

    def available_bytes(self, offset: int, isolation: Isolation, limit_bytes: int) -> int:
        """About how many bytes a read would find; cheap: long polls ask it at every wake-up."""
        ...

    async def offset_at(self, timestamp: int, isolation: Isolation) -> OffsetAt:
        """ListOffsets for a time >= 0 or one of the special values -1..-6 (spec 1.15)."""
        ...

    def epoch_end(self, leader_epoch: int) -> tuple[int, int]:
        """OffsetForLeaderEpoch: (leader epoch, end offset), or (-1, -1) if unknown."""
        ...

    async def delete_records(self, before_offset: int) -> ErrorCode:
        """Raises the log start offset (-1: to the high watermark); durable when it returns."""
        ...

    def keep_tombstones(self, from_offset: int) -> None:
        """Compaction removes no tombstone at or above this offset, however old: a copy of the log that somebody keeps
        up to there knows the key still. Of __transaction_state none is removed before this was called."""
        ...

    def producers(self) -> Sequence[ProducerView]: ...

    def begin_verification(
        self, producer_id: int, producer_epoch: int, sequence: int, *, supports_epoch_bump: bool
    ) -> Guard | ErrorCode | None:
        """Before the first batch of a transaction: a guard to append with once the coordinator agreed, None where the
        producer has its transaction here already, or the error if its epoch is old (spec 4.5 step 1)."""
        ...

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """True while this producer has a transaction open here: then nothing needs to be verified (spec 4.5)."""
        ...

    def watch(self, run: Callable[[], None]) -> Callable[[], None]:
        """Calls `run` whenever the high watermark, LSO or log start moves; returns how to stop that."""
        ...


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the engine keeps it. `configs`: only what was set for this topic, as text by Kafka's names."""

    name: str
    id: TopicId
    partitions: Sequence[Partition]
    configs: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Figures:
    """Names are `part.what`; docs/operating.md tells what each counts."""

    counts: Mapping[str, int]
    times: Mapping[str, Times]


class Engine(Protocol):
    """All that lasts. `start` recovers; after `stop` returned a restart needs no recovery."""

    @property
    def cluster_id(self) -> str: ...
    async def start(self) -> None: ...
    async def stop(self) -> None: ...

    @property
    def topics(self) -> Mapping[str, Topic]: ...
    def topic_by_id(self, topic_id: TopicId) -> Topic | None: ...

    async def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> Topic:
        """Durable when it returns. The caller has checked the name, the counts and the configs."""
        ...

    async def delete_topic(self, name: str) -> None: ...
    async def create_partitions(self, name: str, count: int) -> None: ...
    async def set_topic_configs(self, name: str, configs: Mapping[str, str]) -> None: ...

    async def claim_producer_ids(self, count: int) -> range:
        """A block of ids never given before, durable before it is returned (TX-18)."""
        ...

    async def keep_note(self, name: str, data: bytes) -> None:
        """Keeps some bytes beside the logs in place of the last ones of this name; durable when it returns. For what
        the logs tell as well, only later: a note may be gone, or be older than it should be."""
        ...

    async def note(self, name: str) -> bytes | None: ...

    def figures(self) -> Figures:
        """What was counted since the start, and how things are now. Cheap enough to be asked every second."""
        ...

    def now_ms(self) -> Millis: ...
