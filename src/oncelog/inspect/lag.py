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


class Lags:
    """The lags of many groups at one moment: however many read a partition, no offset of it is read twice."""

    def __init__(self, cluster: Cluster, limit: int) -> None:
        self._cluster = cluster
        self._limit = limit
        self._ends: dict[TopicPartition, ask.Ends] = {}
        self._read: dict[TopicPartition, tuple[int, list[strip.Stretch]]] = {}  # from which offset on

    def of(self, partition: TopicPartition, committed: int) -> int | None:
        """As lag_records."""
        if partition not in self._ends:
            self._ends[partition] = ask.end_of(self._cluster, partition)
        ends = self._ends[partition]
        start, stop = max(committed, ends.log_start), ends.last_stable_offset
        if stop <= start:
            return 0
        if stop - start > self._limit:
            return None
        begin, found = self._read.get(partition, (stop, []))
        if start < begin:
            more = strip.stretches(self._cluster, partition, ends, start=start, stop=begin)
            read = (
                more[-1].last_offset if more else start - 1
            )  # the last batch may reach beyond what was asked for
            begin, found = start, more + [each for each in found if each.first_offset > read]
            self._read[partition] = begin, found
        behind = [strip.cut(each, start) for each in found if each.last_offset >= start]
        return strip.visible_records(behind, below=stop)
