"""Retention, DeleteRecords and compaction as clients see them, and how little they notice while it goes on.

The broker's clock is moved, so hours need no waiting; what it starts is waited for.
"""
# pyright: basic, reportMissingTypeStubs=false, reportPrivateImportUsage=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false
# The clients' own types are partly unknown to the strict checker.

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import aiokafka
import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import AdminClient

import oncelog
from bench import scale
from oncelog.client.admin import EARLIEST, Admin
from oncelog.client.cluster import Cluster
from oncelog.model import TopicPartition
from tests.processes import ServedBroker

LIMIT_S = 30.0
HOUR = 3600
RETENTION_CHECK = 301  # seconds; the broker looks every 300
CLEANER_CHECK = 16  # and every 15


class Seen(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    settings = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}
    with oncelog.Broker(
        virtual_clock=True, settings={**settings, "offsets.topic.segment.bytes": 4096}
    ) as running:
        yield running


def wait(what: str, holds: Callable[[], bool], nudge: Callable[[], None] = lambda: None) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline, f"waited {LIMIT_S} s for: {what}"
        time.sleep(0.02)
        nudge()


# Real clients


def rdkafka(broker: oncelog.Broker, **more: object) -> dict[str, Any]:
    settings = {name.replace("_", "."): value for name, value in more.items()}
    return {"bootstrap.servers": broker.bootstrap, "log_level": 0, **settings}


def produce(
    broker: oncelog.Broker,
    topic: str,
    records: Sequence[tuple[bytes | None, bytes | None]],
    *,
    per_batch: int = 1,
    **settings: object,
) -> list[int]:
    """The offsets that librdkafka was told, in the order of sending; `per_batch` records wait for one another."""
    offsets: list[int] = []

    def delivered(error: object, message: confluent_kafka.Message) -> None:
        assert error is None, str(error)
        offsets.append(message.offset() or 0)

    producer = confluent_kafka.Producer(rdkafka(broker, enable_idempotence=True, linger_ms=0, **settings))
    for at in range(0, len(records), per_batch):
        for key, value in records[at : at + per_batch]:
            producer.produce(topic, value, key, on_delivery=delivered)
        assert producer.flush(LIMIT_S) == 0
    return offsets


def read_rdkafka(bootstrap: str, topic: str, isolation: str) -> list[Seen]:
    settings = {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False}
    more = {"isolation.level": isolation, "enable.partition.eof": True, "log_level": 0}
    consumer = confluent_kafka.Consumer({**settings, **more})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, confluent_kafka.OFFSET_BEGINNING)])
    seen: list[Seen] = []
    deadline = time.monotonic() + LIMIT_S
    while True:
        assert time.monotonic() < deadline, f"librdkafka did not reach the end, it saw {len(seen)} records"
        message = consumer.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is None:
            seen.append(Seen(message.offset() or 0, message.key(), message.value()))
        elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
            break
        else:
            raise AssertionError(str(error))
    consumer.close()
    return seen


def read_kafka_python(bootstrap: str, topic: str, isolation: str) -> list[Seen]:
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level=isolation, enable_auto_commit=False
    )
    partition = kafka.TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    end = consumer.end_offsets([partition])[partition]
    seen: list[Seen] = []
    deadline = time.monotonic() + LIMIT_S
    while (consumer.position(partition) or 0) < end:
        assert time.monotonic() < deadline, f"kafka-python did not reach {end}, it saw {len(seen)} records"
        for records in consumer.poll(200).values():
            seen += [Seen(record.offset, record.key, record.value) for record in records]
    consumer.close()
    return seen


def read_aiokafka(bootstrap: str, topic: str, isolation: str) -> list[Seen]:
    async def read() -> list[Seen]:
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level=isolation, enable_auto_commit=False
        )
        await consumer.start()
        try:
            partition = aiokafka.TopicPartition(topic, 0)
            consumer.assign([partition])
            await consumer.seek_to_beginning(partition)
            end = (await consumer.end_offsets([partition]))[partition]
            seen: list[Seen] = []
            deadline = time.monotonic() + LIMIT_S
            while await consumer.position(partition) < end:
                assert time.monotonic() < deadline, (
                    f"aiokafka did not reach {end}, it saw {len(seen)} records"
                )
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    seen += [Seen(record.offset, record.key, record.value) for record in records]
            return seen
        finally:
            await consumer.stop()

    return asyncio.run(read())


READERS = (read_rdkafka, read_kafka_python, read_aiokafka)


def read(broker: oncelog.Broker, topic: str, isolation: str = "read_committed") -> list[Seen]:
    """By our own client, which is quick."""
    found = broker.read(topic, isolation=isolation.removeprefix("read_"))
    return [Seen(each.offset, each.key, each.value) for each in found]


def read_by_all(broker: oncelog.Broker, topic: str, isolation: str = "read_committed") -> list[Seen]:
    """What librdkafka, kafka-python and aiokafka see; they and our own client must agree."""
    seen = read(broker, topic, isolation)
    for each in READERS:
        assert each(broker.bootstrap, topic, isolation) == seen
    return seen


# Looking from outside


def earliest(broker: oncelog.Broker, topic: str) -> int:
    with Cluster(broker.bootstrap) as cluster:
        partition = TopicPartition(topic, 0)
        return Admin(cluster).offsets_at({partition: EARLIEST})[partition].offset


def log_bytes(broker: oncelog.Broker, topic: str) -> int:
    """Of the segments that are there; those that wait for their deletion have another name."""
    folder = Path(broker.data_dir) / f"{topic}-0"
    return sum(path.stat().st_size for path in folder.glob("*.log"))


def numbered(count: int, size: int = 100) -> list[tuple[bytes | None, bytes | None]]:
    return [(None, b"%d" % number + b"." * size) for number in range(count)]


# Retention


def test_retention_ms_takes_old_records_and_keeps_offsets(broker: oncelog.Broker) -> None:
    broker.topic("t", configs={"retention.ms": 2 * HOUR * 1000, "segment.bytes": 2048})
    assert produce(broker, "t", numbered(60), per_batch=5) == list(range(60))
    broker.clock.advance(HOUR)
    time.sleep(0.5)  # it looked, and found nothing old enough
    assert earliest(broker, "t") == 0
    assert len(read(broker, "t")) == 60
    broker.clock.advance(HOUR + 10)
    wait("all is gone", lambda: earliest(broker, "t") == 60, lambda: broker.clock.advance(RETENTION_CHECK))
    assert read(broker, "t") == []
    assert produce(broker, "t", [(None, b"new")]) == [60]  # its timestamp is the client's: two hours old
    assert [each.offset for each in read(broker, "t")] == [60]
    for restart in (broker.kill, broker.stop):
        restart()
        broker.start()
        assert earliest(broker, "t") == 60
        assert [each.value for each in read(broker, "t")] == [b"new"]
    assert [each.offset for each in read_by_all(broker, "t")] == [60]


def test_retention_bytes_takes_the_oldest_segments(broker: oncelog.Broker) -> None:
    broker.topic("t", configs={"retention.bytes": 6000, "segment.bytes": 2048})
    produce(broker, "t", numbered(200), per_batch=5)
    assert log_bytes(broker, "t") > 20_000
    broker.clock.advance(RETENTION_CHECK)
    wait("the log is short", lambda: log_bytes(broker, "t") < 6000 + 2048)
    assert log_bytes(broker, "t") >= 6000  # not a segment more than it must
    start = earliest(broker, "t")
    seen = read_by_all(broker, "t")
    assert 0 < start < 200
    assert [each.offset for each in seen] == list(range(start, 200))
    assert [each.value for each in seen] == [value for _, value in numbered(200)[start:]]


def test_retention_gives_the_space_back(broker: oncelog.Broker) -> None:
    broker.topic("t", configs={"retention.bytes": 0, "segment.bytes": 2048, "file.delete.delay.ms": 5000})
    produce(broker, "t", numbered(100), per_batch=5)
    broker.clock.advance(RETENTION_CHECK)
    folder = Path(broker.data_dir) / "t-0"
    wait("segments are set aside", lambda: bool(list(folder.glob("*.deleted"))))
    broker.clock.advance(6)
    wait("they are gone", lambda: not list(folder.glob("*.deleted")))
    assert sum(path.stat().st_size for path in folder.iterdir()) < 10_000


def test_a_reader_below_the_log_start_is_reset(broker: oncelog.Broker) -> None:
    broker.topic("t", configs={"retention.bytes": 3000, "segment.bytes": 2048})
    produce(broker, "t", numbered(50), per_batch=5)
    settings = rdkafka(broker, group_id="g", auto_offset_reset="earliest", enable_auto_commit=False)
    consumer = confluent_kafka.Consumer(settings)
    consumer.assign([confluent_kafka.TopicPartition("t", 0, 0)])
    assert len(consumer.consume(5, LIMIT_S)) == 5
    consumer.pause([confluent_kafka.TopicPartition("t", 0)])
    produce(broker, "t", numbered(200), per_batch=5)
    broker.clock.advance(RETENTION_CHECK)
    wait("its position is gone", lambda: earliest(broker, "t") > 100)
    consumer.seek(confluent_kafka.TopicPartition("t", 0, 5))
    consumer.resume([confluent_kafka.TopicPartition("t", 0)])
    offsets: list[int] = []
    wait("the end", lambda: bool(offsets) and offsets[-1] == 249, lambda: poll(consumer, offsets))
    assert offsets == list(range(earliest(broker, "t"), 250))
    consumer.close()


def poll(consumer: confluent_kafka.Consumer, offsets: list[int]) -> None:
    offsets += [message.offset() or 0 for message in consumer.consume(500, 0.2)]


# DeleteRecords


def delete_records(broker: oncelog.Broker, topic: str, before: int) -> int:
    admin = AdminClient(rdkafka(broker))
    asked = confluent_kafka.TopicPartition(topic, 0, before)
    (future,) = admin.delete_records([asked]).values()
    return future.result(LIMIT_S).low_watermark


def test_delete_records_holds_across_a_kill_and_a_stop(broker: oncelog.Broker) -> None:
    broker.topic("t", configs={"segment.bytes": 2048})
    produce(broker, "t", numbered(60), per_batch=5)
    before = log_bytes(broker, "t")
    assert delete_records(broker, "t", 33) == 33  # in the middle of a batch
    assert log_bytes(broker, "t") < before
    for restart in (lambda: None, broker.kill, broker.stop):
        restart()
        if not broker.is_running:
            broker.start()
        assert earliest(broker, "t") == 33
        assert [each.offset for each in read(broker, "t")] == list(range(33, 60))
    assert read_by_all(broker, "t")[0].offset == 33
    assert delete_records(broker, "t", 10) == 33  # never back
    with pytest.raises(confluent_kafka.KafkaException) as refused:
        delete_records(broker, "t", 61)
    assert refused.value.args[0].code() == confluent_kafka.KafkaError.OFFSET_OUT_OF_RANGE
    assert delete_records(broker, "t", confluent_kafka.OFFSET_END) == 60
    assert read(broker, "t") == []
    assert produce(broker, "t", [(None, b"next")]) == [60]


# Compaction

COMPACTED = {
    "cleanup.policy": "compact",
    "segment.bytes": 2048,
    "min.cleanable.dirty.ratio": 0.01,
    "delete.retention.ms": HOUR * 1000,
}


def clean(broker: oncelog.Broker, topic: str) -> None:
    """Lets the cleaner's own timer find the log, and waits until it has nothing left to do."""
    wait("closed segments are durable", lambda: broker.run(lambda server: _is_settled(server, topic)))
    before = segment_names(broker, topic)
    broker.clock.advance(CLEANER_CHECK)
    wait(
        "a cleaning",
        lambda: segment_names(broker, topic) != before,
        lambda: broker.clock.advance(CLEANER_CHECK),
    )
    wait("its end", lambda: not is_cleaning(broker, topic))


def _is_settled(server: Any, topic: str) -> bool:
    """The cleaner leaves alone what a crash could still take."""
    partition = server.engine.topics[topic].partitions[0]
    return partition.recovery_point >= partition.segments[-1].base_offset


def segment_names(broker: oncelog.Broker, topic: str) -> list[tuple[str, int]]:
    with os.scandir(
        Path(broker.data_dir) / f"{topic}-0"
    ) as entries:  # an inode of a file that may be gone by then
        return sorted((each.name, each.inode()) for each in entries if each.name.endswith(".log"))


def is_cleaning(broker: oncelog.Broker, topic: str) -> bool:
    return broker.run(lambda server: server.engine.topics[topic].partitions[0].cleaning)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compaction_keeps_the_last_value_of_every_key(broker: oncelog.Broker, codec: str) -> None:
    broker.topic("t", configs=COMPACTED)
    sent = [(b"k%d" % (number % 7), b"%d" % number + b"." * 60) for number in range(300)]
    sent[3] = b"once", b"and never again"  # its last value is in the cleaned part, the others' are behind it
    produce(broker, "t", sent, per_batch=10, compression_type=codec)
    clean(broker, "t")
    seen = read_by_all(broker, "t")
    assert len(seen) < 200  # the segment that is written to stays as it is: up to 130 records with zstd
    last = {key: Seen(offset, key, value) for offset, (key, value) in enumerate(sent)}
    assert {each.key: each for each in seen} == last  # nothing is lost, and offsets stay
    assert [each.offset for each in seen] == sorted(each.offset for each in seen)
    # The producer state outlives it (B44): the next batches of a new producer and of an old one are taken.
    assert produce(broker, "t", [(b"k0", b"again")]) == [300]
    for restart in (broker.kill, broker.stop):
        restart()
        broker.start()
        assert {each.key: each.value for each in read(broker, "t")} == {
            **{key: each.value for key, each in last.items()},
            b"k0": b"again",
        }


def test_b46_a_tombstone_is_seen_for_delete_retention_ms_and_then_goes(broker: oncelog.Broker) -> None:
    broker.topic("t", configs=COMPACTED)

    def filler(number: int) -> list[tuple[bytes | None, bytes | None]]:
        return [(b"filler%d" % (at % 5), b"%d.%d" % (number, at) + b"." * 80) for at in range(60)]

    produce(broker, "t", [(b"order", b"paid"), (b"order", None), (b"stays", b"yes"), *filler(0)], per_batch=3)
    clean(broker, "t")
    seen = {each.key: each.value for each in read_by_all(broker, "t")}
    assert b"order" in seen
    assert seen[b"order"] is None  # who read "paid" before must learn that it is gone
    broker.clock.advance(HOUR / 2)
    produce(broker, "t", filler(1), per_batch=3)
    clean(broker, "t")
    assert b"order" in {each.key for each in read(broker, "t")}
    broker.clock.advance(HOUR)
    produce(broker, "t", filler(2), per_batch=3)
    clean(broker, "t")
    seen = {each.key: each.value for each in read(broker, "t")}
    assert b"order" not in seen
    assert seen[b"stays"] == b"yes"


def test_compact_and_delete_together(broker: oncelog.Broker) -> None:
    broker.topic(
        "t", configs={**COMPACTED, "cleanup.policy": "compact,delete", "retention.ms": 2 * HOUR * 1000}
    )
    produce(broker, "t", [(b"k%d" % (at % 3), b"%d" % at + b"." * 90) for at in range(90)], per_batch=3)
    clean(broker, "t")
    assert {each.key for each in read(broker, "t")} == {b"k0", b"k1", b"k2"}
    broker.clock.advance(2 * HOUR)
    wait("all is gone", lambda: earliest(broker, "t") == 90, lambda: broker.clock.advance(RETENTION_CHECK))
    assert read(broker, "t") == []


def test_records_without_a_key_are_refused_by_a_compacted_topic(broker: oncelog.Broker) -> None:
    broker.topic("t", configs=COMPACTED)
    told: list[confluent_kafka.KafkaError] = []
    producer = confluent_kafka.Producer(rdkafka(broker))
    producer.produce("t", b"no key", on_delivery=lambda error, _: told.append(error))
    producer.flush(LIMIT_S)
    assert told[0].code() == confluent_kafka.KafkaError.INVALID_RECORD


# Internal topics


def test_committed_offsets_survive_the_cleaning_of_consumer_offsets(broker: oncelog.Broker) -> None:
    broker.topic("t")
    produce(broker, "t", numbered(10), per_batch=10)
    consumer = confluent_kafka.Consumer(rdkafka(broker, group_id="g", enable_auto_commit=False))
    gone = confluent_kafka.Consumer(rdkafka(broker, group_id="gone", enable_auto_commit=False))
    once = confluent_kafka.Consumer(rdkafka(broker, group_id="once", enable_auto_commit=False))
    once.commit(offsets=[confluent_kafka.TopicPartition("t", 0, 4)], asynchronous=False)
    once.close()
    for at in range(150):
        for each in (consumer, gone):
            each.commit(offsets=[confluent_kafka.TopicPartition("t", 0, at % 10)], asynchronous=False)
    gone.close()
    admin = AdminClient(rdkafka(broker))
    admin.delete_consumer_groups(["gone"])["gone"].result(LIMIT_S)
    before = log_bytes(broker, "__consumer_offsets")
    clean(broker, "__consumer_offsets")
    assert log_bytes(broker, "__consumer_offsets") < before / 2

    def committed(group: str) -> int:
        asking = confluent_kafka.Consumer(rdkafka(broker, group_id=group))
        (found,) = asking.committed([confluent_kafka.TopicPartition("t", 0)], LIMIT_S)
        asking.close()
        return found.offset

    for restart in (lambda: None, broker.kill, broker.stop):
        restart()
        if not broker.is_running:
            broker.start()
        assert committed("g") == 9
        assert committed("once") == 4
        assert committed("gone") == confluent_kafka.OFFSET_INVALID
    consumer.close()


# Transactions


def transact(
    producer: confluent_kafka.Producer, records: Sequence[tuple[bytes, bytes]], *, commit: bool
) -> None:
    producer.begin_transaction()
    for key, value in records:
        producer.produce("t", value, key)
    producer.flush(LIMIT_S)
    if commit:
        producer.commit_transaction(LIMIT_S)
    else:
        producer.abort_transaction(LIMIT_S)


def transactional(broker: oncelog.Broker, name: str) -> confluent_kafka.Producer:
    producer = confluent_kafka.Producer(
        rdkafka(broker, transactional_id=name, linger_ms=5, transaction_timeout_ms=900_000)
    )
    producer.init_transactions(LIMIT_S)
    return producer


def test_rc9_compaction_of_transactions_keeps_what_was_committed_and_drops_what_was_aborted(
    broker: oncelog.Broker,
) -> None:
    broker.topic("t", configs=COMPACTED)
    producer = transactional(broker, "tx")
    wanted: dict[bytes, bytes] = {}
    for number in range(60):
        commit = number % 3 != 2
        records = [(b"k%d" % (at % 4), b"%d.%d" % (number, at) + b"." * 60) for at in range(4)]
        if number == 0:
            records.append((b"once", b"and never again"))
        if not commit:
            records.append((b"never", b"%d" % number))
        else:
            wanted.update(records)
        transact(producer, records, commit=commit)
    clean(broker, "t")
    committed = read_by_all(broker, "t")
    assert len(committed) < 60
    assert {each.key: each.value for each in committed} == wanted
    # Aborted data is gone from the cleaned part, for those who read uncommitted too.
    uncommitted = [
        each.value for each in read_by_all(broker, "t", "read_uncommitted") if each.key == b"never"
    ]
    assert len(uncommitted) < 5
    # The same producer goes on: its sequences and its epoch are still known.
    transact(producer, [(b"k0", b"after")], commit=True)
    transact(producer, [(b"never", b"after")], commit=False)
    wanted[b"k0"] = b"after"
    assert {each.key: each.value for each in read(broker, "t")} == wanted
    for restart in (broker.kill, broker.stop):
        restart()
        broker.start()
        assert {each.key: each.value for each in read(broker, "t")} == wanted


def test_rc9_an_ongoing_transaction_is_not_cleaned(broker: oncelog.Broker) -> None:
    broker.topic("t", configs=COMPACTED)
    produce(broker, "t", [(b"k%d" % (at % 3), b"before%d" % at + b"." * 90) for at in range(60)], per_batch=3)
    producer = transactional(broker, "slow")
    producer.begin_transaction()
    producer.produce("t", b"pending", b"k0")
    producer.flush(LIMIT_S)
    produce(broker, "t", [(b"k%d" % (at % 3), b"after%d" % at + b"." * 90) for at in range(60)], per_batch=3)
    clean(broker, "t")
    seen = read(broker, "t", "read_uncommitted")
    assert [each.value for each in seen if each.value == b"pending"] == [b"pending"]
    assert len([each for each in seen if (each.value or b"").startswith(b"after")]) == 60
    assert len([each for each in seen if (each.value or b"").startswith(b"before")]) < 30
    assert all((each.value or b"").startswith(b"before") for each in read(broker, "t"))
    producer.commit_transaction(LIMIT_S)
    produce(broker, "t", [(b"filler", b"%d" % at + b"." * 90) for at in range(30)], per_batch=3)
    clean(broker, "t")
    last = {each.key: each.value for each in read_by_all(broker, "t")}
    assert {key: value[:7] for key, value in last.items() if key != b"filler" and value} == {
        b"k0": b"after57",
        b"k1": b"after58",
        b"k2": b"after59",
    }


# Meanwhile


def test_serving_does_not_stall_while_100_mb_are_cleaned(tmp_path: Path) -> None:
    settings = {"log.cleaner.backoff.ms": "100"}
    with ServedBroker(tmp_path / "data", settings=settings) as served:
        found = scale.cleaning(served, 100_000_000, say=lambda _: None)
        assert served.stop() == 0
    assert found["left, MB"] < 40
    # What the machine does to everybody is no stall of ours: 20 ms beyond it are.
    late = "lateness of a thread that sleeps 1 ms, meanwhile,"
    for word in ("p99", "p99.9"):
        noise = max(found[f"round trip at rest {word}, ms"], found[f"{late} {word}, ms"])
        assert found[f"round trip while cleaning {word}, ms"] < noise + 20
    worst = max(found["round trip at rest max, ms"], found[f"{late} max, ms"])
    assert found["round trip while cleaning max, ms"] < worst + 250
