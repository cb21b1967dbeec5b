"""The cluster in Prometheus' text format, under the names that existing dashboards know, and our own.

Families: kafka_exporter, kafka-lag-exporter, and the JMX exporter where the value is known over the wire; `oncelog_*` for the
rest. No label holds a transactional id, but for the few of `top`: there may be as many as there are processes.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import RefusedByBroker, TimedOut, Unreachable
from oncelog.inspect import ask, counted, strip, views
from oncelog.inspect.ask import Ends, SideDoor
from oncelog.inspect.exposition import Family
from oncelog.inspect.lag import COUNTED_EACH_SECOND, lag_records
from oncelog.model import TopicPartition
from oncelog.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

LAG_SECONDS_AT_MOST: Final = 200  # partitions that are behind, each costs a Fetch
TOP_AT_MOST: Final = 20  # transactional ids that may be labels, and only for who asks


def collect(cluster: Cluster, door: SideDoor, *, now_ms: int, top: int = 0) -> list[Family]:
    """Everything, in a fixed order. `top`: also the oldest so many open transactions, by their ids."""
    topics = cluster.topics()
    partitions = [TopicPartition(topic.name, each.index) for topic in topics for each in topic.partitions]
    ends, _ = ask.ends_told(cluster, partitions)
    return [
        *_cluster(cluster, {each.name: len(each.partitions) for each in topics}),
        *_partitions(ends),
        *_groups(cluster, ends, now_ms),
        *_transactions(cluster, door, now_ms, min(top, TOP_AT_MOST)),
        *_sizes(cluster),
        *_own(door),
    ]


def _cluster(cluster: Cluster, topics: Mapping[str, int]) -> Iterable[Family]:
    brokers = Family("kafka_brokers", "gauge", "Brokers in the cluster")
    brokers.add(len(cluster.nodes()))
    yield brokers
    counts = Family("kafka_topic_partitions", "gauge", "Partitions of a topic")
    for name, count in topics.items():
        counts.add(count, topic=name)
    yield counts
    leaders = Family("kafka_server_replicamanager_partitioncount", "gauge", "Partitions of the cluster")
    leaders.add(sum(topics.values()))
    yield leaders
    led = Family("kafka_server_replicamanager_leadercount", "gauge", "Partitions that have a leader")
    led.add(sum(each.leader >= 0 for topic in cluster.topics() for each in topic.partitions))
    yield led
    behind = Family(
        "kafka_server_replicamanager_underreplicatedpartitions", "gauge", "Partitions that lack a replica"
    )
    behind.add(
        sum(len(each.in_sync) < len(each.replicas) for topic in cluster.topics() for each in topic.partitions)
    )
    yield behind


def _partitions(ends: Mapping[TopicPartition, Ends]) -> Iterable[Family]:
    rows: tuple[tuple[str, str, Callable[[Ends], int]], ...] = (
        ("kafka_topic_partition_current_offset", "High watermark", lambda each: each.high_watermark),
        ("kafka_topic_partition_oldest_offset", "Log start offset", lambda each: each.log_start),
        ("kafka_partition_latest_offset", "High watermark", lambda each: each.high_watermark),
        ("kafka_partition_earliest_offset", "Log start offset", lambda each: each.log_start),
        ("kafka_log_log_logendoffset", "High watermark", lambda each: each.high_watermark),
        ("kafka_log_log_logstartoffset", "Log start offset", lambda each: each.log_start),
        (
            "kafka_cluster_partition_laststableoffsetlag",
            "Offsets that readers at read_committed cannot see yet",
            lambda each: each.high_watermark - each.last_stable_offset,
        ),
    )
    for name, text, value in rows:
        family = Family(name, "gauge", text)
        for where, each in ends.items():
            family.add(value(each), topic=where.topic, partition=where.partition)
        yield family


def _groups(cluster: Cluster, ends: Mapping[TopicPartition, Ends], now_ms: int) -> Iterable[Family]:
    current = Family("kafka_consumergroup_current_offset", "gauge", "Committed offset of a group")
    lag = Family("kafka_consumergroup_lag", "gauge", "Offsets from the committed one to the high watermark")
    total = Family("kafka_consumergroup_lag_sum", "gauge", "The same over all partitions of a topic")
    members = Family("kafka_consumergroup_members", "gauge", "Members of a group")
    other = Family(
        "kafka_consumergroup_group_lag", "gauge", "Offsets from the committed one to the high watermark"
    )
    seconds = Family(
        "kafka_consumergroup_group_lag_seconds",
        "gauge",
        "Age of the first record that the group has not read",
    )
    longest = Family("kafka_consumergroup_group_max_lag", "gauge", "The largest lag of a group's partitions")
    visible = Family(
        "oncelog_group_lag_records",
        "gauge",
        "Records that the group will see and has not read: no markers, none aborted",
    )
    admin = Admin(cluster)
    asked = 0
    for listing in admin.groups_told()[0]:
        try:
            offsets = admin.group_offsets(listing.group)
            members.add(len(admin.describe_group(listing.group).members), consumergroup=listing.group)
        except (RefusedByBroker, Unreachable, TimedOut):
            continue  # gone since, or not a group that commits offsets
        sums: dict[str, int] = {}
        most = 0
        for where, committed in sorted(offsets.items()):
            if where not in ends:
                continue
            behind = max(ends[where].high_watermark - committed.offset, 0)
            place = {"topic": where.topic, "partition": where.partition}
            current.add(committed.offset, consumergroup=listing.group, **place)
            lag.add(behind, consumergroup=listing.group, **place)
            other.add(behind, group=listing.group, **place)
            sums[where.topic] = sums.get(where.topic, 0) + behind
            most = max(most, behind)
            asked += bool(behind)
            if not behind:
                seconds.add(0, group=listing.group, **place)
                visible.add(0, group=listing.group, **place)
            elif asked <= LAG_SECONDS_AT_MOST:
                _behind(
                    cluster, where, committed.offset, ends[where], now_ms, seconds, visible, listing.group
                )
        for topic, behind in sums.items():
            total.add(behind, consumergroup=listing.group, topic=topic)
        if sums:
            longest.add(most, group=listing.group)
    yield from (current, lag, total, members, other, seconds, longest, visible)


def _behind(
    cluster: Cluster,
    where: TopicPartition,
    committed: int,
    ends: Ends,
    now_ms: int,
    seconds: Family,
    visible: Family,
    group: str,
) -> None:
    """What only the log itself tells: how old the first unread record is, and how many the group will see."""
    labels = {"group": group, "topic": where.topic, "partition": where.partition}
    start = max(committed, ends.log_start)
    first = next(
        (each for each in strip.stretches(cluster, where, ends, start=start, stop=start + 1) if each.count),
        None,
    )
    if first is not None and first.max_timestamp >= 0:
        seconds.add(max(now_ms - first.max_timestamp, 0) / 1000, **labels)
    records = lag_records(cluster, where, committed, COUNTED_EACH_SECOND)
    if records is not None:
        visible.add(records, **labels)


def _sizes(cluster: Cluster) -> Iterable[Family]:
    size = Family("kafka_log_log_size", "gauge", "Bytes of a partition's log")
    answers, _ = cluster.ask_each(
        lambda whom: whom.send(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse)
    )
    for node_id, answer in answers.items():
        for folder in answer.results:
            for topic in folder.topics:
                for each in topic.partitions:
                    size.add(
                        each.partition_size, topic=topic.name, partition=each.partition_index, broker=node_id
                    )
    yield size


def _own(door: SideDoor) -> Iterable[Family]:
    """What only an oncelog broker counts."""
    counters, times = door.counters(), door.times()
    return () if counters is None or times is None else counted.families(counters, times)


def _transactions(cluster: Cluster, door: SideDoor, now_ms: int, top: int) -> Iterable[Family]:
    states = Family("oncelog_txn_ids", "gauge", "Transactional ids by state")
    listed, away = ask.transactions_told(cluster)
    unheard = Family(
        "oncelog_brokers_not_asked",
        "gauge",
        "Brokers that could not be asked: their ids and groups are missing",
    )
    unheard.add(len(away))
    yield unheard
    counted: dict[str, int] = {}
    for each in listed:
        counted[each.state] = counted.get(each.state, 0) + 1
    for state in sorted(counted):
        states.add(counted[state], state=state)
    yield states
    known = Family(
        "kafka_server_transaction_coordinator_metrics_transactional_id_count",
        "gauge",
        "Transactional ids known",
    )
    known.add(len(listed))
    yield known
    opened = [each for each in listed if each.state in views.OPEN_STATES]
    open_now = Family("oncelog_txn_open", "gauge", "Transactions under way")
    open_now.add(len(opened))
    yield open_now
    described = ask.describe_listed(cluster, opened)
    oldest = Family(
        "kafka_server_transaction_coordinator_metrics_active_transaction_total_time_max",
        "gauge",
        "Age of the oldest open transaction in milliseconds",
    )
    oldest.add(max((now_ms - each.start_ms for each in described.values() if each.start_ms >= 0), default=0))
    yield oldest
    if top:
        ages = Family("oncelog_txn_oldest_seconds", "gauge", f"Age of the {top} oldest open transactions")
        begun = sorted(
            (each.start_ms, each.transactional_id) for each in described.values() if each.start_ms >= 0
        )
        for start_ms, name in begun[:top]:
            ages.add(max(now_ms - start_ms, 0) / 1000, transactional_id=name)
        yield ages
    pinned = Family(
        "oncelog_lso_pinned_seconds", "gauge", "How long a partition's last stable offset is held"
    )
    hidden = Family(
        "oncelog_lso_hidden_records",
        "gauge",
        "Records behind it that are or may become visible; of more than 20,000 offsets these",
    )
    late = Family(
        "kafka_server_replicamanager_partitionswithlatetransactionscount",
        "gauge",
        "Partitions held longer than any transaction may last",
    )
    found = views.pins(cluster, door, now_ms=now_ms, counted_offsets=COUNTED_EACH_SECOND)
    late.add(sum(each.kind == "hanging" or (each.time_left_ms or 0) < 0 for each in found))
    for pin in found:
        pinned.add((pin.pinned_ms or 0) / 1000, topic=pin.topic, partition=pin.partition, kind=pin.kind)
        hidden.add(pin.hidden, topic=pin.topic, partition=pin.partition)
    yield from (pinned, hidden, late)
