"""How much a group still has to read: in records that it will see, not in offsets."""

from typing import Final

from oncelog.client.cluster import Cluster
from oncelog.inspect import ask, strip
from oncelog.model import TopicPartition

COUNTED_OFFSETS: Final = 1_000_000  # more than this is not read just to be counted
COUNTED_EACH_SECOND: Final = (
    20_000  # nor more than this by what asks again and again: the page, and Prometheus
)


def lag_records(
    cluster: Cluster, partition: TopicPartition, committed: int, limit: int = COUNTED_OFFSETS
) -> int | None:
    """Committed, visible records from `committed` to the last stable offset. None: too many to count."""
    ends = ask.end_of(cluster, partition)
    start = max(committed, ends.log_start)
    stop = ends.last_stable_offset
    if stop <= start:
        return 0
    if stop - start > limit:
        return None
    return strip.visible_records(
        strip.stretches(cluster, partition, ends, start=start, stop=stop), below=stop
    )
