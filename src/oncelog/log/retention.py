"""Which segments of a partition may be deleted by age or size. Pure: the engine removes the files."""

from collections.abc import Sequence
from typing import NamedTuple


class SegmentInfo(NamedTuple):
    """What retention must know of a segment. `max_timestamp` is -1 if no record has a time."""

    base_offset: int
    next_offset: int  # first offset after the segment
    size_bytes: int
    max_timestamp: int
    modified_ms: int  # of the file, used where no record has a time
    first_timestamp: int = -1  # largest timestamp of the first batch, for max.compaction.lag.ms


def expired_segments(
    segments: Sequence[SegmentInfo],
    *,
    now: int,
    retention_ms: int,
    retention_bytes: int,
    high_watermark: int,
    log_start_offset: int,
) -> int:
    """How many segments, from the oldest, may go. Never the active one (the last), never one with offsets at or above
    the high watermark (R8). -1 switches a rule off. Segments wholly below the log start offset go always.
    """
    count = 0
    surplus = sum(segment.size_bytes for segment in segments) - retention_bytes
    for segment in segments[:-1]:
        if segment.next_offset > high_watermark:
            break
        time = segment.max_timestamp if segment.max_timestamp >= 0 else segment.modified_ms
        too_old = retention_ms >= 0 and now - time > retention_ms
        too_much = retention_bytes >= 0 and surplus - segment.size_bytes >= 0
        if not (too_old or too_much or segment.next_offset <= log_start_offset):
            break
        surplus -= segment.size_bytes
        count += 1
    return count
