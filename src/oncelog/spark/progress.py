"""Where the sink finds out what is in the log already: the markers of a transactional id.

A marker is written inside the transaction it speaks of, as the metadata of offsets of the group that has the name of the
transactional id, and also, if there is a `markerTopic`, as a record with that key. Groups forget after
`offsets.retention.minutes` (7 days) without a commit; a compacted topic does not.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Final, TypeVar

from oncelog.client.admin import Admin, CommittedOffset
from oncelog.client.cluster import Cluster
from oncelog.client.consumer import Reader
from oncelog.client.faults import RefusedByBroker, TimedOut, Unreachable
from oncelog.client.partitioner import partition_of_key
from oncelog.errors import ErrorCode
from oncelog.model import Isolation, TopicPartition
from oncelog.spark.sink_options import SinkOptions, SinkRefused
from oncelog.spark.sink_plan import Home, Marker, last_marker, possible_homes

POLL_MS: Final = 500

ResultT = TypeVar("ResultT")


def peek_marker(cluster: Cluster, options: SinkOptions) -> Marker | None:
    """The newest marker of the group, though a transaction may be about to add one. Waits for nobody, fences nobody."""
    offsets = Admin(cluster).group_offsets(options.transactional_id)
    return last_marker(each.metadata for each in offsets.values())


def read_last_marker(cluster: Cluster, options: SinkOptions) -> tuple[Marker | None, Home | None]:
    """The newest marker of a transaction that is decided, and its home. Call it after InitProducerId: then nothing is undecided."""
    offsets = patiently(
        lambda: stable_offsets(cluster, options.transactional_id, options.topic), options.delivery_timeout_ms
    )
    found = last_marker(each.metadata for each in offsets.values())
    if found is not None or options.marker_topic is None:
        # Both places are written by the same transactions: who has one, has the newest.
        homes = possible_homes(offsets, found)
        return found, next((each for each in homes if those_there(cluster, [each.partition])), None)
    return patiently(lambda: _from_topic(cluster, options), options.delivery_timeout_ms), None


def stable_offsets(
    cluster: Cluster, group: str, topic: str | None
) -> Mapping[TopicPartition, CommittedOffset]:
    """All offsets of a group, none of them about to change.

    Asked for all of its offsets, Kafka leaves out those that are on their way and have no predecessor, require_stable or not.
    Markers have one at home, but for the first. So a group that seems to have no marker is asked by name: for the partition of the
    output that will be its home, or if rows say their topic, for every partition there is.
    """
    admin = Admin(cluster)
    found = admin.group_offsets(group, require_stable=True)
    if last_marker(each.metadata for each in found.values()) is not None:
        return found
    names = [topic] if topic is not None else [each.name for each in cluster.topics() if not each.is_internal]
    partitions = [each for name in names for each in admin.partitions_of(name)]
    return admin.group_offsets(group, partitions, require_stable=True)


def marker_home(cluster: Cluster, options: SinkOptions) -> TopicPartition:
    """The partition of the marker topic that holds the markers of this transactional id."""
    assert options.marker_topic is not None
    count = len(existing_topic(cluster, options.marker_topic, "option markerTopic"))
    return TopicPartition(options.marker_topic, partition_of_key(options.transactional_id.encode(), count))


def _from_topic(cluster: Cluster, options: SinkOptions) -> Marker | None:
    home = marker_home(cluster, options)
    key = options.transactional_id.encode()
    reader = Reader(cluster, isolation=Isolation.READ_COMMITTED)
    reader.assign({home: "earliest"})
    end = reader.ends()[home]
    texts: list[str] = []
    while reader.positions()[home] < end:
        texts += [
            each.value.decode(errors="replace")
            for each in reader.poll(POLL_MS)
            if each.key == key and each.value is not None
        ]
    return last_marker(texts)


def existing_topic(cluster: Cluster, name: str, asked_by: str) -> range:
    """The partitions of a topic that must be there: the sink makes none, a typing error would be a topic."""
    try:
        return range(len(cluster.topic(name).partitions))
    except RefusedByBroker as fault:
        if fault.error in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION):
            raise SinkRefused(
                f"{asked_by}: topic {name!r} does not exist; the sink creates no topics"
            ) from None
        raise


def those_there(cluster: Cluster, partitions: Iterable[TopicPartition]) -> Set[TopicPartition]:
    """Those of these partitions that the cluster has. Asked anew before it is denied: a topic may have grown."""
    highest: dict[str, int] = {}
    for each in partitions:
        highest[each.topic] = max(each.partition, highest.get(each.topic, 0))
    found: set[TopicPartition] = set()
    for topic, last in highest.items():
        with contextlib.suppress(SinkRefused):
            if last not in existing_topic(cluster, topic, "a partition"):
                cluster.forget(topic)
            found |= {TopicPartition(topic, each) for each in existing_topic(cluster, topic, "a partition")}
    return found.intersection(partitions)


def patiently(ask: Callable[[], ResultT], limit_ms: int) -> ResultT:
    """Asks again while nobody answers: a broker that restarts is no reason to fail a query."""
    deadline = time.monotonic() + limit_ms / 1000
    pause_s = 0.05
    while True:
        try:
            return ask()
        except (Unreachable, TimedOut):
            if time.monotonic() + pause_s > deadline:
                raise
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 1.0)
