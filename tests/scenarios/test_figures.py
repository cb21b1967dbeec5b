"""What the broker counts and times, asked through the side door as the inspector does (DescribeOncelog, key 1000)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

import oncelog
from oncelog.broker.counters import GAUGES
from oncelog.client.session import Connection
from oncelog.protocol.messages.describe_oncelog import (
    DescribeOncelogRequest,
    DescribeOncelogResponse,
    Times,
)
from oncelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from oncelog.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.record.batch import NewRecord, build_batch
from tests.clients import connect, transactional

PRODUCE, FETCH = 9, 12


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        running.topic("out", partitions=2)
        yield running


def ask(broker: oncelog.Broker, version: int = 1) -> DescribeOncelogResponse:
    with connect(broker.bootstrap) as door:
        return door.send(DescribeOncelogRequest(), DescribeOncelogResponse, version=version)


def counts(broker: oncelog.Broker) -> dict[str, int]:
    return {each.name: each.value for each in ask(broker).counters}


def times(broker: oncelog.Broker) -> dict[str, Times]:
    return {each.name: each for each in ask(broker).times}


def produce(
    door: Connection, *values: str, topic: str = "out", partition: int = 0, **producer: Any
) -> ProduceResponse:
    batch = build_batch([NewRecord(None, value.encode(), 1) for value in values], **producer)
    data = [PartitionProduceData(index=partition, records=batch)]
    request = ProduceRequest(
        acks=-1, timeout_ms=10_000, topic_data=[TopicProduceData(name=topic, partition_data=data)]
    )
    return door.send(request, ProduceResponse, PRODUCE)


def fetch(door: Connection, offset: int, *, partition: int = 0, max_wait_ms: int = 0) -> FetchResponse:
    wanted = [FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)]
    request = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[FetchTopic(topic="out", partitions=wanted)],
    )
    return door.send(request, FetchResponse, FETCH)


def test_requests_are_counted_timed_and_weighed_by_api(broker: oncelog.Broker) -> None:
    with connect(broker.bootstrap) as door:
        for number in range(5):
            produce(door, "x" * 100, f"{number}")
        produce(door, "x", partition=9)
        fetch(door, 0)
        fetch(door, 99)
        fetch(door, 10, max_wait_ms=30)
        door.send(ListGroupsRequest(states_filter=["Stable"]), ListGroupsResponse, 4)
    found, taken = counts(broker), times(broker)
    size = found["log.bytes"]
    assert taken["rpc.Produce"].name == "rpc.Produce"
    assert [sum(taken[name].counts) for name in ("rpc.Produce", "rpc.Fetch", "rpc.ListGroups")] == [6, 3, 1]
    assert 25_000_000 <= taken["rpc.Fetch"].max_ns < 60_000_000_000
    assert taken["rpc.Fetch"].sum_ns >= taken["rpc.Fetch"].max_ns
    assert taken["rpc.Produce"].max_ns < taken["rpc.Fetch"].max_ns
    assert found["rpc.Produce.count"] == 6
    assert found["rpc.Produce.errors"] == 1
    assert found["produce.refused.UNKNOWN_TOPIC_OR_PARTITION"] == 1
    assert found["rpc.Fetch.errors"] == 1
    assert found["fetch.refused.OFFSET_OUT_OF_RANGE"] == 1
    assert found["rpc.ListGroups.errors"] == 0
    assert size < found["rpc.Produce.bytes_in"] < 2 * size
    assert size < found["rpc.Fetch.bytes_out"] < 2 * size
    assert found["fetch.bytes"] == size
    assert found["fetch.waits"] == 1
    assert 6 * 20 < found["rpc.Produce.bytes_out"] < 6 * 100


def test_an_error_at_the_top_of_an_answer_is_counted(broker: oncelog.Broker) -> None:
    with connect(broker.bootstrap) as door:
        request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1, session_id=77, session_epoch=5)
        assert door.send(request, FetchResponse, FETCH).error_code
    assert counts(broker)["rpc.Fetch.errors"] == 1


def test_appends_duplicates_and_rolls(broker: oncelog.Broker) -> None:
    with connect(broker.bootstrap) as door:
        produce(door, "a", "b", "c")
        for _ in range(2):
            produce(door, "d", "e", partition=1, producer_id=7, producer_epoch=0, base_sequence=0)
        produce(door, "f", partition=1, producer_id=7, producer_epoch=0, base_sequence=9)
    found = counts(broker)
    assert (found["log.batches"], found["log.records"], found["log.duplicates"]) == (2, 5, 1)
    assert found["produce.refused.OUT_OF_ORDER_SEQUENCE_NUMBER"] == 1
    assert found["log.bytes"] == broker.run(
        lambda server: sum(each.size_bytes for each in server.engine.topics["out"].partitions)
    )
    assert found["log.rolls"] == 0
    broker.topic("small", configs={"segment.bytes": 1024})
    with connect(broker.bootstrap) as door:
        for _ in range(3):
            produce(door, "x" * 900, topic="small")
    assert counts(broker)["log.rolls"] > 0


@pytest.mark.parametrize("durability", ["process", "power"])
def test_syncs_are_counted_and_timed(durability: str) -> None:
    with oncelog.Broker(durability=durability) as broker:
        broker.topic("out")
        with connect(broker.bootstrap) as door:
            for _ in range(3):
                produce(door, "x")
        found, taken = counts(broker), times(broker)["log.sync"]
        rounds = 3 if durability == "power" else 0
        assert sum(taken.counts) == rounds
        assert found["log.synced_files"] == rounds
        assert (taken.sum_ns > 0) == (rounds > 0)


def test_transactions_and_what_they_hold_back(broker: oncelog.Broker) -> None:
    producer = transactional(broker.bootstrap, "refunds-1")
    producer.begin_transaction()
    for number in range(4):
        producer.produce("out", b"%d" % number, partition=0)
    producer.flush(10)
    found = counts(broker)
    assert (found["lso.lag"], found["lso.lag_max"], found["lso.pinned_partitions"]) == (4, 4, 1)
    assert (found["txn.ids"], found["txn.ongoing"]) == (1, 1)
    assert 0 <= found["txn.ongoing_ms_max"] < 60_000
    producer.commit_transaction(10)
    found, taken = counts(broker), times(broker)
    assert (found["lso.lag"], found["lso.lag_max"], found["lso.pinned_partitions"]) == (0, 0, 0)
    assert (found["txn.ongoing"], found["txn.ending"]) == (0, 0)
    assert found["log.markers"] == found["txn.markers"] == 1
    names = ("txn.committed", "txn.prepare_to_complete", "txn.phase.prepare", "txn.phase.markers")
    assert [sum(taken[name].counts) for name in names] == [1, 1, 1, 1]
    assert taken["txn.prepare_to_complete"].sum_ns >= taken["txn.phase.markers"].sum_ns > 0
    broker.restart()
    found, taken = counts(broker), times(broker)
    assert found["txn.ids"] == 1
    assert sum(taken["txn.load"].counts) == 1
    assert taken["txn.load"].sum_ns > 0


def test_a_transaction_that_ends_is_counted_while_it_does(broker: oncelog.Broker) -> None:
    producer = transactional(broker.bootstrap, "refunds-1")
    producer.begin_transaction()
    producer.produce("out", b"1")
    producer.flush(10)
    held = broker.pause(at="before_marker")
    with pytest.raises(Exception, match="Timed out"):
        producer.commit_transaction(0.5)
    held.wait()
    assert counts(broker)["txn.ending"] == 1
    held.resume()
    producer.commit_transaction(10)
    assert counts(broker)["txn.ending"] == 0


def test_groups_and_offsets(broker: oncelog.Broker) -> None:
    with connect(broker.bootstrap) as door:
        produce(door, "1", "2")
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "loader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["out"])
    seen = [consumer.consume(1, 10) for _ in range(2)]
    assert all(seen)
    consumer.commit(asynchronous=False, offsets=[TopicPartition("out", number, 1) for number in range(2)])
    found = counts(broker)
    assert (found["groups.count"], found["groups.members"], found["groups.partitions_loading"]) == (1, 1, 0)
    assert found["groups.rebalances"] == 1
    assert (found["offsets.committed"], found["offsets.committed_in_transactions"]) == (2, 0)
    producer = transactional(broker.bootstrap, "refunds-1")
    producer.begin_transaction()
    position = [TopicPartition("out", 0, 2)]
    producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), 10)
    producer.commit_transaction(10)
    consumer.close()
    found = counts(broker)
    assert (found["offsets.committed"], found["offsets.committed_in_transactions"]) == (2, 1)
    assert found["groups.members"] == 0


def test_connections(broker: oncelog.Broker) -> None:
    before = counts(broker)
    with connect(broker.bootstrap) as one, connect(broker.bootstrap) as other:
        for door in (one, other):
            door.send(ListGroupsRequest(), ListGroupsResponse, 4)
        found = counts(broker)
    assert found["connections.open"] == 3  # the one that asks too
    assert found["connections.opened"] == before["connections.opened"] + 3


def test_version_0_has_the_same_numbers_and_no_buckets(broker: oncelog.Broker) -> None:
    with connect(broker.bootstrap) as door:
        produce(door, "x")
    old = ask(broker, 0)
    assert old.times == []
    assert {each.name for each in old.counters} == {each.name for each in ask(broker).counters}


def test_every_name_is_documented(broker: oncelog.Broker) -> None:
    """In docs/operating.md, where API, ERROR and CAUSE stand for any word."""
    producer = transactional(broker.bootstrap, "refunds-1")
    producer.begin_transaction()
    producer.produce("out", b"1")
    producer.commit_transaction(10)
    with connect(broker.bootstrap) as door:
        produce(door, "x", partition=9)
    text = (Path(__file__).parents[2] / "docs/operating.md").read_text(encoding="utf-8")
    table = text.partition("## Counters and times")[2].partition("## Broker settings")[0]
    documented: set[str] = set()
    for row in table.splitlines():
        base = ""
        for name in re.findall(r"`([^`]+)`", row.split("|")[1] if row.startswith("| `") else ""):
            whole = base.rpartition(".")[0] + name if name.startswith(".") else name
            base = base or name
            documented.add(re.sub(r"[A-Z]+", "*", whole))
    said = ask(broker)
    times = {each.name for each in said.times}
    plain = {
        each.name
        for each in said.counters
        if each.name.rpartition(".")[0] not in times or each.name.startswith("rpc.")
    }
    plain = {name for name in plain if not name.endswith((".count", ".ms_sum", ".ms_max"))} | {"groups.count"}
    known = {
        re.sub(r"(?<=^rpc\.)\w+|(?<=refused\.)\w+|(?<=bumped\.)\w+", "*", name) for name in plain | times
    }
    assert known - documented == set()
    assert {name for name in GAUGES if name not in known} == set()
