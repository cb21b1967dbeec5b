"""Why an epoch was bumped, and what was counted: told by the broker, never guessed (DescribeOncelog, key 1000)."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

import oncelog
from oncelog.broker.transaction_log import CHECKPOINT
from oncelog.model import TRANSACTION_STATE
from oncelog.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from oncelog.protocol.messages.describe_oncelog import (
    DescribeOncelogRequest,
    DescribeOncelogResponse,
    EpochBump,
)
from oncelog.protocol.messages.describe_trace import DescribeTraceRequest, DescribeTraceResponse
from oncelog.record.txn_state import TransactionKey, decode_key, encode_bump_key, encode_key
from oncelog.tasks import spawn
from tests.clients import connect, transactional


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(virtual_clock=True) as running:
        running.topic("out")
        yield running


def ask(broker: oncelog.Broker, *ids: str) -> tuple[dict[str, EpochBump], dict[str, int]]:
    with connect(broker.bootstrap) as door:
        answer = door.send(
            DescribeOncelogRequest(transactional_ids=list(ids)), DescribeOncelogResponse, version=0
        )
    return {each.transactional_id: each for each in answer.bumps}, {
        each.name: each.value for each in answer.counters
    }


def instance(broker: oncelog.Broker, client_id: str, timeout_ms: int = 60_000) -> Producer:
    return transactional(
        broker.bootstrap, settings={"client.id": client_id, "transaction.timeout.ms": timeout_ms}
    )


def test_a_new_instance_is_named_with_its_client_id_and_address(broker: oncelog.Broker) -> None:
    instance(broker, "first")
    instance(broker, "second")
    bumps, counters = ask(broker, "refunds-1", "nobody")
    assert set(bumps) == {"refunds-1"}
    bump = bumps["refunds-1"]
    assert (bump.cause, bump.client_id, bump.client_host, bump.producer_epoch) == (
        "new instance",
        "second",
        "127.0.0.1",
        1,
    )
    assert bump.client_port > 0
    assert counters["txn.bumped.new_instance"] == 2


def test_a_timeout_is_told_from_a_new_instance(broker: oncelog.Broker) -> None:
    producer = instance(broker, "slow", timeout_ms=1000)
    producer.begin_transaction()
    producer.produce("out", b"1")
    producer.flush(10)
    broker.clock.advance(15)
    broker.clock.advance(15)
    bumps, counters = ask(broker, "refunds-1")
    assert (bumps["refunds-1"].cause, bumps["refunds-1"].client_id) == ("timeout", None)
    assert counters["txn.bumped.timeout"] == 1
    assert counters["txn.aborted.count"] == 1
    assert counters["txn.aborted.ms_max"] >= 10_000


def test_ends_and_markers_are_counted_and_timed(broker: oncelog.Broker) -> None:
    producer = instance(broker, "busy")
    for number in range(6):
        producer.begin_transaction()
        producer.produce("out", b"%d" % number)
        producer.flush(10)
        if number % 3:
            producer.commit_transaction(10)
        else:
            producer.abort_transaction(10)
    _, counters = ask(broker)
    assert (counters["txn.committed.count"], counters["txn.aborted.count"]) == (4, 2)
    assert counters["txn.markers"] == 6
    assert counters["txn.prepare_to_complete.count"] == 6
    assert counters["txn.late_copies_refused"] == 0


def told(broker: oncelog.Broker, name: str = "refunds-1") -> tuple[str, int, str | None, bool]:
    bumps, _ = ask(broker, name)
    bump = bumps[name]
    return bump.cause, bump.producer_epoch, bump.client_id, bump.client_port > 0


@pytest.mark.parametrize("durability", ["process", "power"])
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_why_an_epoch_was_bumped_outlives_the_broker(end: str, durability: str) -> None:
    """A new instance, then a timeout; under later transactions, which write over the states, and without the checkpoint."""
    with oncelog.Broker(virtual_clock=True, durability=durability) as broker:
        broker.topic("out")

        def down_and_up() -> None:
            if end == "kill":
                broker.kill()
                broker.start()
            else:
                broker.restart()

        instance(broker, "first")
        second = instance(broker, "second", timeout_ms=1000)
        before = ask(broker, "refunds-1")[0]
        assert told(broker) == ("new instance", 1, "second", True)
        for number in range(3):
            second.begin_transaction()
            second.produce("out", b"%d" % number)
            second.commit_transaction(10)
        down_and_up()
        assert ask(broker, "refunds-1")[0] == before
        slow = instance(broker, "slow", timeout_ms=1000)
        slow.begin_transaction()
        slow.produce("out", b"late")
        slow.flush(10)
        broker.clock.advance(15)
        deadline = time.monotonic() + 10
        while (cause := told(broker))[0] != "timeout":  # when that is durable, not before
            assert time.monotonic() < deadline
        assert cause[2:] == (None, False)
        down_and_up()
        assert told(broker) == cause
        broker.stop()
        Path(broker.data_dir, CHECKPOINT).unlink()
        broker.start()
        assert told(broker) == cause


def test_why_an_epoch_was_bumped_outlives_the_cleaning_of_its_log() -> None:
    settings = {"transaction.state.log.num.partitions": 1, "transaction.state.log.segment.bytes": 1024}
    with oncelog.Broker(settings=settings) as broker:
        broker.topic("out")
        producer = instance(broker, "first")
        for number in range(30):
            producer.begin_transaction()
            producer.produce("out", b"%d" % number)
            producer.commit_transaction(10)
        before = told(broker)
        cleaning = broker.run(
            lambda server: spawn(server.loop, server.engine.run_cleaner(TRANSACTION_STATE, 0))
        )
        deadline = time.monotonic() + 30
        while not cleaning.done():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert before == ("new instance", 0, "first", True)
        assert states_kept(broker) < 60  # of 91
        broker.kill()
        Path(broker.data_dir, CHECKPOINT).unlink(missing_ok=True)
        broker.start()
        assert told(broker) == before


def states_kept(broker: oncelog.Broker) -> int:
    return sum(decode_key(each.key or b"") is not None for each in broker.read(TRANSACTION_STATE))


def test_the_reason_goes_with_the_id(broker: oncelog.Broker) -> None:
    instance(broker, "first")
    broker.clock.advance(8 * 86_400)
    broker.clock.advance(3_700)
    assert ask(broker, "refunds-1")[0] == {}
    gone = [each.key for each in broker.read(TRANSACTION_STATE) if each.value is None]
    key = TransactionKey("refunds-1")
    assert gone == [encode_key(key), encode_bump_key(key)]
    broker.restart()
    assert ask(broker, "refunds-1")[0] == {}


def test_the_side_door_is_not_listed(broker: oncelog.Broker) -> None:
    with connect(broker.bootstrap) as door:
        answer = door.send(
            ApiVersionsRequest(client_software_name="test", client_software_version="1"),
            ApiVersionsResponse,
            version=3,
        )
    assert max(each.api_key for each in answer.api_keys) < 1000


def test_the_software_of_clients_is_what_they_said(broker: oncelog.Broker) -> None:
    """By ApiVersions from version 3 on (KIP-511); who says nothing is not listed."""
    with connect(broker.bootstrap) as door:
        for version, name in ((3, "tills"), (0, "older")):
            request = ApiVersionsRequest(client_software_name=name, client_software_version="7.1")
            assert door.send(request, ApiVersionsResponse, version).error_code == 0
        answer = door.send(DescribeOncelogRequest(), DescribeOncelogResponse, version=3)
    said = {(each.client_host, each.software_name, each.software_version) for each in answer.clients}
    assert ("127.0.0.1", "tills", "7.1") in said
    assert not any(name == "older" for _, name, _ in said)


def test_whom_the_ring_knows_is_told_from_version_1_on(broker: oncelog.Broker) -> None:
    for name in ("first", "second", "first"):
        transactional(broker.bootstrap, name)
    with connect(broker.bootstrap) as door:
        nobody = DescribeTraceRequest(transactional_id="")
        told = [door.send(nobody, DescribeTraceResponse, version=each) for each in (0, 1)]
        assert [(each.enabled, each.requests, each.transactional_ids) for each in told] == [
            (True, [], []),
            (True, [], ["second", "first"]),
        ]
        asked = DescribeTraceRequest(transactional_id="second")
        old, new = (door.send(asked, DescribeTraceResponse, version=each) for each in (0, 1))
        assert len(old.requests) == len(new.requests) == 1
        assert new.transactional_ids == []
