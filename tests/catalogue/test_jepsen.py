"""What Jepsen found in logs of this family (J1 to J20), as far as it can happen to one broker."""

from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

import oncelog
from oncelog.client.cluster import Cluster
from oncelog.client.consumer import Reader
from oncelog.client.faults import error_name
from oncelog.model import Isolation
from oncelog.model import TopicPartition as Partition
from oncelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.catalogue import readers
from tests.catalogue.client import Txn
from tests.catalogue.stage import Stage
from tests.catalogue.story import Story
from tests.clients import LIMIT_S, transactional

# --- stories with crashes, and without


@pytest.mark.parametrize("reply", ["complete", "prepared"])
@pytest.mark.parametrize("durability", ["process", "power"])
def test_j2_j5_j7_j11_r6_r7_stories_of_transactions_and_crashes(
    durability: Literal["process", "power"], reply: str
) -> None:
    ended = crashes = 0
    for seed in range(8):
        story = Story(seed, durability, reply=reply)
        try:
            for _ in range(story.stage.random.randint(1, 3)):
                story.steps(story.stage.random.randint(50, 1_200), story.begin_life())
                story.crash()
                crashes += 1
            tasks = story.begin_life()
            story.steps(400, tasks)
            story.close(tasks)
        except Exception as fault:
            raise AssertionError(f"seed {seed}, {durability}, {reply}: {fault!r}") from fault
        ended += sum(writer.done for writer in story.writers)
    assert crashes > 8
    assert ended > 150


@pytest.mark.parametrize("durability", ["process", "power"])
def test_j10_nothing_is_lost_when_nothing_goes_wrong(durability: Literal["process", "power"]) -> None:
    story = Story(7, durability, writers=6)
    tasks = story.begin_life()
    while sum(writer.done for writer in story.writers) < 500:
        story.steps(500, tasks, look_every=500)
    story.close(tasks)
    assert len(story.seen) > 500


# --- J3


@pytest.fixture(scope="module")
def two_epochs() -> Iterator[str]:
    """A broker with the topic t: the same producer id aborted, committed, aborted and committed, by two protocols.

    The first abort's marker was late: it came when the successor had asked for the id already.
    """
    with oncelog.Broker() as broker:
        broker.topic("t")
        first = transactional(broker.bootstrap, "tid")
        first.begin_transaction()
        first.produce("t", b"aborted 1", b"k", partition=0)
        first.flush(LIMIT_S)
        with broker.pause(at="before_marker") as late:
            second = transactional(broker.bootstrap, "tid", start=False)
            with pytest.raises(KafkaException):  # it has to wait until the marker is there
                second.init_transactions(1)
            late.wait()
            late.resume()
        second.init_transactions(LIMIT_S)
        for value, commit in (("committed 1", True), ("aborted 2", False), ("committed 2", True)):
            second.begin_transaction()
            second.produce("t", value.encode(), b"k", partition=0)
            second.flush(LIMIT_S)
            _ = second.commit_transaction(LIMIT_S) if commit else second.abort_transaction(LIMIT_S)
        yield broker.bootstrap


@pytest.mark.parametrize("offset", [0, 2])  # 2: behind the marker of the first abort
@pytest.mark.parametrize(
    "read", [readers.librdkafka, readers.aiokafka, readers.kafka_python, readers.oncelog]
)
def test_j3_an_abort_marker_ends_its_own_transaction_only(
    two_epochs: str, read: Callable[[str, str, int], list[tuple[str, str]]], offset: int
) -> None:
    assert read(two_epochs, "t", offset) == [("k", "committed 1"), ("k", "committed 2")]


@pytest.mark.parametrize("transaction_version", [0, 2])
def test_j3_a_late_abort_marker_of_the_epoch_before_is_refused(transaction_version: int) -> None:
    stage = Stage()
    stage.topic()
    one = Txn(stage)
    one.produce("aborted")
    assert one.abort() == "NONE 0/1"
    one.produce("committed")
    late = WritableTxnMarker(
        producer_id=one.producer_id,
        producer_epoch=0 if transaction_version == 0 else 1,  # of KIP-890: the epoch that the abort brought
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name="t", partition_indexes=[0])],
        transaction_version=transaction_version,
    )
    (answer,) = stage.ask(WriteTxnMarkersRequest(markers=[late]), 2).markers
    assert error_name(answer.topics[0].partitions[0].error_code) == "INVALID_PRODUCER_EPOCH"
    assert one.commit() == "NONE 0/2"
    assert stage.values() == ["committed"]


# --- J6


@pytest.mark.parametrize("classic", [True, False])
def test_j6_a_begin_that_was_answered_is_durable(classic: bool) -> None:
    """A coordinator that forgot it would begin a new transaction silently, and commit half."""
    stage = Stage({"durability": "power"})
    stage.topic(partitions=2)
    one = Txn(stage)
    if classic:
        assert one.add(("t", 0)) == "NONE"
    assert one.produce("first half", version=9 if classic else 12) == "NONE @0"
    stage.crash("power")
    assert one.state() == "Ongoing 0/0"
    if classic:
        assert one.add(("t", 1)) == "NONE"
    assert one.produce("second half", partition=1, version=9 if classic else 12) == "NONE @0"
    assert one.commit(version=3 if classic else 5).startswith("NONE")
    assert (stage.values(), stage.values(index=1)) == (["first half"], ["second half"])


def test_j6_a_begin_that_was_not_answered_is_there_or_not() -> None:
    """Nothing of it is acknowledged: the commit of that session commits what is known, or is refused."""
    outcomes: set[str] = set()
    for steps in range(12):
        stage = Stage({"durability": "power"}, seed=steps)
        stage.topic()
        one = Txn(stage)
        asked = one.begin(one.produce_request("a"), 12)
        for _ in range(steps):
            stage.loop.step()
        acked = asked.done()
        stage.crash("power")
        said = one.commit()
        outcomes.add(said)
        assert said in ("NONE 0/1", "INVALID_TXN_STATE")
        if acked:
            assert said == "NONE 0/1"
        if said != "NONE 0/1":
            assert stage.values() == []
        assert stage.values() == ["a"] or not acked
        assert stage.open_transactions() == []
    assert len(outcomes) == 2


# --- J12, J14, J15: with a client


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        running.topic("in")
        running.topic("out")
        yield running


def _consumer(broker: oncelog.Broker, topic: str, group: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 50,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    return consumer


def _next(consumer: Consumer) -> str:
    """The next value, or "end"."""
    message = consumer.poll(LIMIT_S)
    assert message is not None
    error = message.error()
    if error is not None:
        assert error.code() == KafkaError._PARTITION_EOF, error
        return "end"
    return (message.value() or b"").decode()


def test_j12_an_abort_moves_no_position_and_the_committed_offset_stays(broker: oncelog.Broker) -> None:
    """KAFKA-17582: who aborts has to go back by himself, to what is committed: that is where it was before."""
    readers.write_transaction(broker.bootstrap, "in", [("k", f"{n}") for n in range(4)], commit=True)
    producer = transactional(broker.bootstrap, "tid")
    consumer = _consumer(broker, "in", "g")
    try:
        for commit in (True, False):
            producer.begin_transaction()
            value = _next(consumer)
            producer.produce("out", value.encode())
            producer.send_offsets_to_transaction(
                consumer.position([TopicPartition("in", 0)]), consumer.consumer_group_metadata(), LIMIT_S
            )
            _ = producer.commit_transaction(LIMIT_S) if commit else producer.abort_transaction(LIMIT_S)
        assert _next(consumer) == "2"  # unchanged: it goes on behind what was aborted
        (committed,) = consumer.committed([TopicPartition("in", 0)], LIMIT_S)
        assert committed.offset == 1
        consumer.seek(committed)
        assert _next(consumer) == "1"
    finally:
        consumer.close()
    with Cluster(broker.bootstrap) as cluster:
        reader = Reader(cluster, isolation=Isolation.READ_COMMITTED)
        reader.assign({Partition("in", 0): "earliest"})
        assert len(reader.poll(5_000)) == 4
        assert reader.positions()[Partition("in", 0)] == 5
    assert [each.value for each in broker.read("out")] == [b"0"]


def test_j14_a_transaction_does_not_see_its_own_records_before_it_is_committed(
    broker: oncelog.Broker,
) -> None:
    producer = transactional(broker.bootstrap, "tid")
    consumer = _consumer(broker, "out", "g")
    try:
        for number in range(3):
            assert _next(consumer) == "end"
            producer.begin_transaction()
            producer.produce("out", f"{number}".encode())
            producer.flush(LIMIT_S)
            assert consumer.poll(0.3) is None  # several fetches
            assert consumer.get_watermark_offsets(TopicPartition("out", 0), LIMIT_S)[1] == number * 2
            producer.commit_transaction(LIMIT_S)
            assert _next(consumer) == f"{number}"
    finally:
        consumer.close()


def test_j15_writes_of_two_transactions_may_interleave() -> None:
    """G0 is normal in Kafka and not a fault: offsets go by arrival, and both are committed."""
    stage = Stage()
    stage.topic()
    one, other = Txn(stage, "one"), Txn(stage, "other")
    for number in range(3):
        assert one.produce(f"one {number}").startswith("NONE")
        assert other.produce(f"other {number}").startswith("NONE")
    assert other.commit().startswith("NONE")
    assert stage.values() == []  # behind the first record of the one that is still open
    assert one.commit().startswith("NONE")
    assert stage.values() == ["one 0", "other 0", "one 1", "other 1", "one 2", "other 2"]
