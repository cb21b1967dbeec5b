"""The bytes of one partition from an offset to an offset, with the next request always under way."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from oncelog.client.cluster import Cluster
from oncelog.client.visible import AbortedFrom
from oncelog.model import Isolation, TopicPartition


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
    Offsets that hold nothing (compacted, markers) are passed. Checks no CRC: who decodes does.

    isolation   read_committed: nothing beyond the last stable offset is given; `stop` beyond it waits
    max_bytes   of one answer; a batch that is larger comes nevertheless, alone
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
        raise NotImplementedError

    @property
    def position(self) -> int:
        """The next offset that has not been given to the caller yet."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Fetched]:
        raise NotImplementedError

    def close(self) -> None:
        """Closes the connection; an iteration ends."""
        raise NotImplementedError
