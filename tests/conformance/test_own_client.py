"""Our own client against oncelog and, with ORACLE=1, against Apache Kafka: it must be right about both."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oncelog.client.admin import EARLIEST, LATEST, MAX_TIMESTAMP, Admin, ConfigSource
from oncelog.client.cluster import Cluster
from oncelog.client.consumer import GroupConsumer, Reader
from oncelog.client.easy import create_topic, read_all, write_all
from oncelog.client.faults import RefusedByBroker
from oncelog.client.producer import CODECS, Producer
from oncelog.client.visible import Fate, ReadRecord
from oncelog.errors import ErrorCode
from oncelog.model import Isolation, TopicPartition
from tests.clients import transactional


@pytest.fixture
def cluster(bootstrap: str) -> Iterator[Cluster]:
    with Cluster(bootstrap) as found:
        yield found


@pytest.fixture
def topic(bootstrap: str) -> str:
    name = f"own-{time.time_ns()}"
    create_topic(bootstrap, name, 3)
    return name


@pytest.mark.parametrize("codec", list(CODECS))
def test_records_come_back_as_they_were(bootstrap: str, cluster: Cluster, topic: str, codec: str) -> None:
    stamp = int(time.time() * 1000)
    sent = [
        (b"k%d" % (n % 7), b"%d" % n * 50, stamp + n, (("name", b"x"), ("null", None))) for n in range(500)
    ]
    producer = Producer(cluster, codec=codec, batch_bytes=4_000)
    deliveries = [
        producer.send(topic, value, key=key, timestamp=at, headers=headers)
        for key, value, at, headers in sent
    ]
    producer.flush()
    found = {(each.partition, each.offset): each for each in read_all(bootstrap, topic)}
    assert len(found) == len(sent)
    for delivery, (key, value, at, headers) in zip(deliveries, sent, strict=True):
        written = delivery.result()
        record = found[written.partition, written.offset]
        assert (record.key, record.value, record.timestamp, record.headers) == (key, value, at, headers)


def test_null_keys_null_values_and_an_empty_topic(bootstrap: str, cluster: Cluster, topic: str) -> None:
    assert read_all(bootstrap, topic) == []
    with Producer(cluster) as producer:
        producer.send(topic, None, key=b"tombstone", partition=0)
        producer.send(topic, b"", partition=0)
    assert [(each.key, each.value) for each in read_all(bootstrap, topic)] == [
        (b"tombstone", None),
        (None, b""),
    ]


def test_topics_and_settings(cluster: Cluster, topic: str) -> None:
    admin = Admin(cluster)
    assert topic in [each.name for each in admin.list_topics()]
    assert [each.index for each in admin.describe_topic(topic).partitions] == [0, 1, 2]
    admin.set_topic_settings(topic, {"retention.ms": "12345", "segment.bytes": "2000000"})
    _until(lambda: _own_settings(admin, topic) == {"retention.ms": "12345", "segment.bytes": "2000000"})
    admin.set_topic_settings(topic, {"retention.ms": None})
    _until(lambda: _own_settings(admin, topic) == {"segment.bytes": "2000000"})
    admin.create_partitions(topic, 5)
    _until(lambda: len(admin.describe_topic(topic).partitions) == 5)
    admin.create_topic(f"{topic}-not-really", validate_only=True)
    admin.delete_topic(topic)
    _until(lambda: topic not in [each.name for each in admin.list_topics()])
    for refused, error in (
        (lambda: admin.delete_topic(topic), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (lambda: admin.create_topic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (lambda: admin.create_topic(topic, configs={"no.such": "1"}), ErrorCode.INVALID_CONFIG),
        (lambda: admin.create_topic(topic, partitions=0), ErrorCode.INVALID_PARTITIONS),
        (lambda: admin.topic_settings(f"{topic}-gone"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        with pytest.raises(RefusedByBroker) as fault:
            refused()
        assert fault.value.error == error
    assert {"num.partitions", "node.id"} <= {each.name for each in admin.broker_settings(0)}


def _own_settings(admin: Admin, topic: str) -> dict[str, str | None]:
    return {
        each.name: each.value for each in admin.topic_settings(topic) if each.source is ConfigSource.TOPIC
    }


def _until(holds: Callable[[], bool], limit_s: float = 10) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, "it never became so"
        time.sleep(0.02)


def test_offsets_by_time_and_deleted_records(bootstrap: str, cluster: Cluster, topic: str) -> None:
    admin, here = Admin(cluster), TopicPartition(topic, 0)
    base = int(time.time() * 1000) - 10_000
    producer = Producer(cluster, batch_bytes=1)  # one record, one batch
    for number in range(5):
        producer.send(topic, b"%d" % number, partition=0, timestamp=base + number)
    producer.flush()
    wanted = {EARLIEST: 0, LATEST: 5, MAX_TIMESTAMP: 4, base + 2: 2, base + 5: -1}
    for time_or_name, offset in wanted.items():
        assert admin.offsets_at({here: time_or_name})[here].offset == offset
    assert admin.delete_records({here: 3}) == {here: 3}
    assert [each.offset for each in read_all(bootstrap, topic)] == [3, 4]
    reader = Reader(cluster, reset="earliest")
    reader.assign({here: 1})  # below the log start: the reader goes on at the earliest
    assert [each.offset for each in _poll_until(reader, 2)] == [3, 4]
    strict = Reader(cluster, reset=None)
    strict.assign({here: 1})
    with pytest.raises(
        RefusedByBroker, match=f"Fetch of {here} at offset 1: .* answered OFFSET_OUT_OF_RANGE"
    ):
        strict.poll(1_000)


def _poll_until(reader: Reader | GroupConsumer, count: int, limit_s: float = 20) -> list[ReadRecord]:
    deadline = time.monotonic() + limit_s
    found: list[ReadRecord] = []
    while len(found) < count:
        assert time.monotonic() < deadline, f"only {len(found)} of {count} records came"
        found += reader.poll(200)
    return found


def test_a_reader_waits_for_what_comes(bootstrap: str, cluster: Cluster, topic: str) -> None:
    reader = Reader(cluster, isolation=Isolation.READ_UNCOMMITTED)
    reader.assign({TopicPartition(topic, each): "latest" for each in range(3)})
    assert reader.poll(50) == []
    later = threading.Timer(0.3, write_all, (bootstrap, topic, [b"came"]), {"partition": 2})
    later.start()
    try:
        begun = time.monotonic()
        (record,) = _poll_until(reader, 1)
        assert (record.partition, record.value) == (2, b"came")
        assert time.monotonic() - begun < 5
    finally:
        later.join()
    assert reader.ends() == reader.positions()


def test_every_isolation_of_transactions_that_overlap(bootstrap: str, cluster: Cluster) -> None:
    topic = f"own-txn-{time.time_ns()}"
    create_topic(bootstrap, topic, 1)
    ended, aborted, undecided = (transactional(bootstrap, f"{topic}-{each}") for each in range(3))
    ended.begin_transaction()
    _write(ended, topic, "committed")
    aborted.begin_transaction()
    _write(aborted, topic, "aborted")
    ended.commit_transaction(20)
    aborted.abort_transaction(20)
    undecided.begin_transaction()
    _write(undecided, topic, "undecided")
    write_all(bootstrap, topic, [b"plain"])
    ended.begin_transaction()
    _write(ended, topic, "committed behind")
    ended.commit_transaction(20)
    assert [each.value for each in read_all(bootstrap, topic)] == [b"committed"]
    everything = [b"committed", b"aborted", b"undecided", b"plain", b"committed behind"]
    assert [each.value for each in read_all(bootstrap, topic, "uncommitted")] == everything
    assert _fates(cluster, topic) == "CA?CC"
    undecided.abort_transaction(20)
    assert _fates(cluster, topic) == "CAACC"
    assert [each.value for each in read_all(bootstrap, topic)] == [
        b"committed",
        b"plain",
        b"committed behind",
    ]


def _write(producer: Any, topic: str, value: str) -> None:
    producer.produce(topic, value=value)
    assert producer.flush(20) == 0


def _fates(cluster: Cluster, topic: str) -> str:
    """One letter for each of five records."""
    reader = Reader(cluster)
    reader.assign({TopicPartition(topic, 0): "earliest"})
    found: list[ReadRecord] = []
    deadline = time.monotonic() + 10
    while len(found) < 5 and time.monotonic() < deadline:
        found += reader.poll_with_fates(200)
    return "".join("?" if each.fate is Fate.UNDECIDED else each.fate.name[0] for each in found)


def test_a_group_shares_commits_and_resumes(bootstrap: str, cluster: Cluster, topic: str) -> None:
    admin, group = Admin(cluster), f"g-{topic}"
    write_all(bootstrap, topic, [b"%d" % each for each in range(30)], partition=1)
    with GroupConsumer(cluster, group, [topic], reset="earliest") as alone:
        assert len(_poll_until(alone, 30)) == 30
        assert len(alone.assignment) == 3
        view = admin.describe_group(group)
        assert (view.state, view.type, view.protocol, len(view.members)) == ("Stable", "classic", "range", 1)
        assert view.members[0].assignment == alone.assignment
        with pytest.raises(RefusedByBroker, match="NON_EMPTY_GROUP"):
            admin.delete_group(group)
        with pytest.raises(RefusedByBroker, match="GROUP_SUBSCRIBED_TO_TOPIC"):
            admin.delete_offsets(group, [TopicPartition(topic, 1)])
    assert admin.group_offsets(group)[TopicPartition(topic, 1)].offset == 30
    write_all(bootstrap, topic, [b"next"], partition=1)
    with GroupConsumer(cluster, group, [topic], reset="earliest") as again:
        assert [each.value for each in _poll_until(again, 1)] == [b"next"]
    admin.delete_offsets(group, [TopicPartition(topic, 1)])
    assert TopicPartition(topic, 1) not in admin.group_offsets(group)
    admin.commit_offsets(group, {TopicPartition(topic, 1): 7})
    assert admin.group_offsets(group, [TopicPartition(topic, 1)])[TopicPartition(topic, 1)].offset == 7
    assert group in [each.group for each in admin.list_groups()]
    admin.delete_group(group)
    with pytest.raises(RefusedByBroker, match="GROUP_ID_NOT_FOUND"):
        admin.describe_group(group)


def test_a_group_rebalances_when_a_member_comes_and_goes(bootstrap: str, topic: str) -> None:
    """Every record is read by somebody, and the two split the partitions 2 to 1."""
    group, stop = f"g-{topic}", threading.Event()
    seen: list[list[bytes | None]] = [[], []]
    sizes: list[list[int]] = [[], []]

    def read(number: int, until: threading.Event) -> None:
        with (
            Cluster(bootstrap) as own,
            GroupConsumer(own, group, [topic], reset="earliest", heartbeat_interval_ms=100) as member,
        ):
            while not until.is_set():
                seen[number] += [each.value for each in member.poll(100)]
                sizes[number].append(len(member.assignment))

    first = threading.Thread(target=read, args=(0, stop))
    first.start()
    _until(lambda: 3 in sizes[0])
    leave = threading.Event()
    second = threading.Thread(target=read, args=(1, leave))
    second.start()
    try:
        _until(lambda: bool(sizes[1]) and sorted((sizes[0][-1], sizes[1][-1])) == [1, 2])
        for partition in range(3):
            write_all(bootstrap, topic, [b"%d" % partition], partition=partition)
        _until(lambda: sorted(value or b"" for value in seen[0] + seen[1]) == [b"0", b"1", b"2"])
        assert seen[0]
        assert seen[1]
        leave.set()
        second.join(20)
        _until(lambda: sizes[0][-1] == 3)
    finally:
        leave.set()
        stop.set()
        first.join(20)
        second.join(20)
