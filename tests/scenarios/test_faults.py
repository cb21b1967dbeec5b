"""Crash and pause points by protocol state, from Python: what a team that tests its own client would write."""

import threading
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException, Producer

import oncelog
from oncelog.broker.faults import UnknownFault
from oncelog.errors import OncelogError
from tests.clients import transactional


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        running.topic("out", partitions=2)
        yield running


def instance(broker: oncelog.Broker, name: str = "refunds-1") -> Producer:
    """It finds a broker that comes back within a moment."""
    settings = {"socket.timeout.ms": 2000, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100}
    return transactional(broker.bootstrap, name, settings)


def begin(producer: Producer, *values: bytes) -> None:
    producer.begin_transaction()
    for number, value in enumerate(values):
        producer.produce("out", value, partition=number % 2)
    producer.flush(10)


def committed(broker: oncelog.Broker) -> list[bytes]:
    return sorted(record.value or b"" for record in broker.read("out"))


@pytest.mark.parametrize(
    "point", ["after_prepare_commit", "before_marker", "after_marker", "before_complete", "after_complete"]
)
def test_a_decided_commit_survives_a_crash_at_every_later_point_spec_5_4(
    broker: oncelog.Broker, point: str
) -> None:
    producer = instance(broker)
    begin(producer, b"a", b"b")
    fault = broker.fail(at=point)
    ending = threading.Thread(target=lambda: producer.commit_transaction(30))
    ending.start()
    fault.wait()
    assert not broker.is_running
    broker.start()
    ending.join(30)
    assert not ending.is_alive()
    deadline = time.monotonic() + 10
    while committed(broker) != [b"a", b"b"] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert committed(broker) == [b"a", b"b"]
    begin(producer, b"c")
    producer.commit_transaction(10)
    assert committed(broker) == [b"a", b"b", b"c"]


def test_a_crash_before_the_decision_leaves_the_transaction_ongoing_trap_2(broker: oncelog.Broker) -> None:
    producer = instance(broker)
    begin(producer, b"a", b"b")
    broker.kill()
    broker.start()
    assert committed(broker) == []
    producer.commit_transaction(20)
    assert committed(broker) == [b"a", b"b"]


def test_a_paused_commit_holds_the_lso_and_its_id_until_it_goes_on(broker: oncelog.Broker) -> None:
    producer = instance(broker)
    begin(producer, b"a")
    with broker.pause(at="after_prepare_commit", transactional_id="refunds-1") as paused:
        ending = threading.Thread(target=lambda: producer.commit_transaction(30))
        ending.start()
        paused.wait()
        assert committed(broker) == []
        other = instance(broker, "refunds-2")
        begin(other, b"z")
        other.commit_transaction(10)
        assert committed(broker) == []  # behind the paused one on its partition
        paused.resume()
        ending.join(20)
    assert committed(broker) == [b"a", b"z"]


def test_a_lost_marker_is_written_again(broker: oncelog.Broker) -> None:
    producer = instance(broker)
    begin(producer, b"a", b"b")
    lost = broker.lose_marker("out", 1)
    producer.commit_transaction(10)
    assert lost.happened
    assert committed(broker) == [b"a", b"b"]


def test_a_lost_reply_to_end_txn_is_asked_again_and_ends_once(broker: oncelog.Broker) -> None:
    producer = instance(broker)
    begin(producer, b"a")
    dropped = broker.drop_reply("EndTxn", transactional_id="refunds-1")
    producer.commit_transaction(20)
    assert dropped.happened
    assert committed(broker) == [b"a"]


def test_a_produce_held_across_an_abort_joins_no_later_transaction_b2(broker: oncelog.Broker) -> None:
    producer = instance(broker)
    begin(producer, b"first")
    producer.commit_transaction(10)
    with broker.hold_request("Produce") as held:
        producer.begin_transaction()
        producer.produce("out", b"late", partition=0)
        producer.poll(0)
        held.wait()
        successor = instance(broker)  # the same id: fences and aborts
        held.resume()
        time.sleep(0.3)
        begin(successor, b"second")
        successor.commit_transaction(10)
    assert committed(broker) == [b"first", b"second"]
    with pytest.raises(KafkaException):
        producer.commit_transaction(5)


def test_faults_are_asked_for_by_names_that_exist(broker: oncelog.Broker) -> None:
    with pytest.raises(UnknownFault, match="after_prepare_commit"):
        broker.fail(at="after_lunch")
    with pytest.raises(UnknownFault, match="EndTxn"):
        broker.drop_reply("EndTransaction")
    with pytest.raises(OncelogError, match="did not happen within"):
        broker.pause(at="before_complete").wait(0.05)
