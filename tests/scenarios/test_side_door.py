"""Why an epoch was bumped, and what was counted: told by the broker, never guessed (DescribeOncelog, key 1000)."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

import oncelog
from oncelog.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from oncelog.protocol.messages.describe_oncelog import (
    DescribeOncelogRequest,
    DescribeOncelogResponse,
    EpochBump,
)
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


def test_the_side_door_is_not_listed(broker: oncelog.Broker) -> None:
    with connect(broker.bootstrap) as door:
        answer = door.send(
            ApiVersionsRequest(client_software_name="test", client_software_version="1"),
            ApiVersionsResponse,
            version=3,
        )
    assert max(each.api_key for each in answer.api_keys) < 1000
