"""`oncelog txn replay`: a finished transaction rebuilt from the logs of oncelog and (ORACLE=1) of Apache Kafka."""

import time
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

import oncelog
from oncelog.client import state_log
from oncelog.client.cluster import Cluster
from oncelog.client.fetcher import PartitionFetcher
from oncelog.inspect import ask, replay, strip
from oncelog.model import TopicPartition as Place
from tests.clients import transactional
from tests.inspect.stage import Stage


def test_transactions_are_rebuilt_with_batches_offsets_and_markers(stage: Stage) -> None:
    stage.run("topics", "new", "past", "--partitions", "2")
    reader = Consumer({"bootstrap.servers": stage.bootstrap, "group.id": "past-group"})
    with stage.producer("past-1") as producer, stage.producer("past-2") as other:
        for number, outcome in enumerate(("commit", "abort", "commit")):
            if number:
                producer.begin_transaction()
            for partition in (0, 1):
                for _ in range(number + 1):
                    producer.produce("past", b"x", partition=partition)
            other.produce("past", b"of another", partition=0)
            producer.flush(10)
            other.flush(10)
            offsets = [TopicPartition("past", 0, number)]
            producer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), 20)
            if outcome == "commit":
                producer.commit_transaction(20)
            else:
                producer.abort_transaction(20)
        other.abort_transaction(20)
    reader.close()
    wait_for_end(stage, "past-1")
    found = stage.json("txn", "replay", "past-1", "--all")
    assert [each["outcome"] for each in found] == ["commit", "abort", "commit"]
    for number, each in enumerate(found):
        produced = [one for one in each["events"] if one["name"] == "Produce"]
        assert {(one["touched"][0]["partition"], one["touched"][0]["count"]) for one in produced} == {
            (0, number + 1),
            (1, number + 1),
        }
        markers = [one["name"] for one in each["events"] if one["kind"] == "marker"]
        assert markers == [each["outcome"].upper()] * 3  # two partitions and the group's
        states = [one["state"] for one in each["states"]]
        assert states[0] == "Ongoing"
        assert states[-1] == ("CompleteAbort" if each["outcome"] == "abort" else "CompleteCommit")
    (last,) = stage.json("txn", "replay", "past-1")
    assert last["number"] == 3
    (one,) = stage.json("txn", "replay", "past-1", "--at", str(found[1]["states"][0]["offset"]))
    assert one["number"] == 2
    assert "PrepareCommit" in stage.run("txn", "replay", "past-1").out


def wait_for_end(stage: Stage, transactional_id: str) -> None:
    deadline = time.monotonic() + 20
    while stage.json("txn", "show", transactional_id)["state"].startswith("Prepare"):
        assert time.monotonic() < deadline, "markers take too long"


def test_a_transaction_that_begins_in_the_millisecond_in_which_another_ended_has_its_own_marker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the older protocol both have one epoch. The marker before was taken for its own: readers seemed to wait for ever."""
    old = {"transaction.version": "1"}
    with oncelog.Broker(virtual_clock=True, settings=old) as broker, Cluster(broker.bootstrap) as cluster:
        broker.topic("soon")
        producer = transactional(broker.bootstrap, "soon-1")
        for _ in range(2):
            producer.begin_transaction()
            producer.produce("soon", b"x")
            producer.flush(20)
            broker.clock.advance(0.1)
            producer.commit_transaction(20)
        producer.begin_transaction()
        producer.produce("soon", b"x")
        producer.flush(20)
        first, second, third = replay.transactions("soon-1", replay.history(cluster, "soon-1"))
        real = strip.stretches
        assert second.ended_ms is not None

        def at_once(*of: Any, **where: Any) -> list[strip.Stretch]:
            """As if the first had ended when the second began, and the second when the third did."""
            ended = {1: second.began_ms, 3: third.began_ms}
            return [
                replace(each, max_timestamp=ended.get(each.first_offset, each.max_timestamp))
                for each in real(*of, **where)
            ]

        monkeypatch.setattr(strip, "stretches", at_once)
        told = [
            [
                (one.kind, one.touched[0].base_offset)
                for one in replay.events(cluster, each)
                if one.kind != "state"
            ]
            for each in (first, second, third)
        ]
        assert len({each.producer_epoch for each in (first, second, third)}) == 1
        assert told == [
            [("rpc", 0), ("marker", 1)],
            [("rpc", 2), ("marker", 3)],
            [("rpc", 4)],
        ]


def test_an_open_transaction_is_rebuilt_as_far_as_it_got(stage: Stage) -> None:
    stage.run("topics", "new", "unfinished")
    with stage.producer("unfinished-1") as producer:
        producer.produce("unfinished", b"x")
        producer.flush(10)
        (found,) = stage.json("txn", "replay", "unfinished-1")
        assert (found["outcome"], found["ended_ms"]) == ("open", None)
        assert {one["name"] for one in found["events"]} == {"Ongoing", "Produce"}  # by two clocks: no order
        producer.abort_transaction(20)


def test_nothing_is_said_of_an_id_without_transactions(stage: Stage) -> None:
    said = stage.run("txn", "replay", "never")
    assert said.code == 1
    assert "'never'" in said.err


def test_who_asks_again_reads_only_what_is_new(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page asks each second, and the partition holds the records of all other ids too."""
    started: list[int] = []

    class Counting(PartitionFetcher):
        def __init__(self, cluster: Cluster, partition: Place, **how: Any) -> None:
            started.append(how["start"])
            super().__init__(cluster, partition, **how)

    monkeypatch.setattr(state_log, "PartitionFetcher", Counting)
    pasts = replay.Pasts()
    stage.run("topics", "new", "again-out")
    with stage.producer("again-1") as producer, Cluster(stage.bootstrap) as cluster:
        first = pasts.of(cluster, "again-1")
        assert [each.state for each in first.states] == ["Empty"]
        assert pasts.of(cluster, "again-1") == first
        (begin,) = started  # nothing came since, so nothing was read
        producer.produce("again-out", b"x")
        producer.commit_transaction(20)
        wait_for_end(stage, "again-1")  # the command reads too
        started.clear()
        second = pasts.of(cluster, "again-1")
        assert started[0] > first.states[-1].offset >= begin
        assert second == replay.past(cluster, "again-1")
        assert [each.state for each in second.states][-1] == "CompleteCommit"
        pasts.clear()
        assert pasts.of(cluster, "again-1") == second
        assert started[-1] == begin


def test_a_log_that_begins_anew_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the same address may be another broker, whose log is shorter; or records were deleted at the beginning."""
    with oncelog.Broker() as broker, Cluster(broker.bootstrap) as cluster:
        transactional(broker.bootstrap, "anew-1")
        pasts = replay.Pasts()
        found = pasts.of(cluster, "anew-1")
        real = ask.ends_of
        for changed in ({"high_watermark": 0, "last_stable_offset": 0}, {"log_start": 1}):

            def other(cluster: Cluster, wanted: Any, changed: Any = changed) -> dict[Place, ask.Ends]:
                return {where: replace(each, **changed) for where, each in real(cluster, wanted).items()}

            monkeypatch.setattr(ask, "ends_of", other)
            assert len(pasts.of(cluster, "anew-1").states) < len(found.states)
            monkeypatch.setattr(ask, "ends_of", real)
            assert pasts.of(cluster, "anew-1") == found
