"""Every request of a transactional id without a tap: what the broker keeps, who reads it, and what Apache Kafka says instead."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from confluent_kafka import Consumer, TopicPartition

import oncelog
from oncelog.client.address import parse_bootstrap
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.session import Connection
from oncelog.client.transactional import TransactionalId
from oncelog.inspect import replay, trace
from oncelog.inspect.ask import SideDoor
from oncelog.inspect.events import UNDER_WAY, Event
from oncelog.inspect.trace import cause
from oncelog.model import TopicPartition as Place
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.record.batch import NewRecord, build_batch
from tests.clients import connect, transactional
from tests.inspect.stage import Stage
from tests.toolchains import ROOT


def test_requests_states_and_markers_stand_in_their_order(stage: Stage) -> None:
    stage.run("topics", "new", "traced", "--partitions", "2")
    reader = Consumer({"bootstrap.servers": stage.bootstrap, "group.id": "traced-group", "log_level": 0})
    with stage.producer("traced-1", client_id="till-9") as producer:
        for partition in (0, 1):
            for _ in range(3):
                producer.produce("traced", b"x" * 900, partition=partition)
        producer.flush(10)
        offsets = [TopicPartition("traced", 0, 5)]
        producer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), 20)
        producer.commit_transaction(20)
    reader.close()
    said = stage.run("txn", "trace", "traced-1")
    found = stage.json("txn", "trace", "traced-1")
    names = [each["name"] for each in found]
    assert names[-1] in ("CompleteCommit", "PrepareCommit", "COMMIT")  # Kafka answers before the markers
    if not stage.is_oncelog:
        assert "n/a (needs oncelog broker)" in said.err
        assert {each["name"] for each in found if each["kind"] == "rpc"} <= {"Produce", "TxnOffsetCommit"}
        return
    assert said.err == ""
    assert names[0] == "InitProducerId"
    order = [
        names.index(each)
        for each in ("Ongoing", "Produce", "EndTxn", "PrepareCommit", "COMMIT", "CompleteCommit")
    ]
    assert order == sorted(order)
    requests = [each for each in found if each["kind"] == "rpc"]
    assert {each["name"] for each in requests} == {
        "InitProducerId",
        "AddPartitionsToTxn",
        "Produce",
        "AddOffsetsToTxn",
        "TxnOffsetCommit",
        "EndTxn",
    }
    assert {(each["error"], each["client_id"]) for each in requests} == {("NONE", "till-9")}
    written = [one for each in requests if each["name"] == "Produce" for one in each["touched"]]
    assert sum(one["count"] for one in written) == 6
    assert {(one["topic"], one["partition"]) for one in written} == {("traced", 0), ("traced", 1)}
    assert all(one["bytes"] > 900 and one["base_offset"] is not None for one in written)
    (end,) = [each for each in requests if each["name"] == "EndTxn"]
    complete = found[names.index("CompleteCommit")]
    # A state has its time in milliseconds, by a clock that is read apart from that of requests.
    assert end["at_us"] - 2000 <= complete["at_us"] <= end["at_us"] + end["took_us"] + 2000
    assert all(bytes.fromhex(each["request"]) and bytes.fromhex(each["response"]) for each in requests)
    shown = stage.json("txn", "show", "traced-1")["last_request"]
    assert (shown["name"], shown["error"], shown["client_id"]) == ("EndTxn", "NONE", "till-9")


def test_only_the_last_transactions_of_an_id_are_shown(stage: Stage) -> None:
    stage.run("topics", "new", "thrice")
    with stage.producer("thrice-1") as producer:
        for number in range(3):
            if number:
                producer.begin_transaction()
            producer.produce("thrice", b"%d" % number)
            producer.commit_transaction(20)
        one = stage.json("txn", "trace", "thrice-1", "--last", "1")
        assert [each["name"] for each in one].count("PrepareCommit") == 1
        assert len(stage.json("txn", "trace", "thrice-1")) > len(one)


def test_nothing_is_known_of_a_stranger(stage: Stage) -> None:
    said = stage.run("txn", "trace", "stranger")
    assert said.code == 1
    assert "'stranger'" in said.err


def given(door: Connection, transactional_id: str) -> InitProducerIdResponse:
    where = FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id])
    while door.send(where, FindCoordinatorResponse, 4).coordinators[0].error_code:
        pass  # Apache Kafka makes its log of states when it is first asked
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
    while (found := door.send(request, InitProducerIdResponse, 4)).error_code in (14, 15, 16):
        pass  # and loads it
    return found


def end(
    door: Connection, transactional_id: str, producer_id: int, epoch: int, version: int = 3
) -> EndTxnResponse:
    request = EndTxnRequest(
        transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, committed=True
    )
    return door.send(request, EndTxnResponse, version)


def causes(stage: Stage, error: str, tid: str) -> dict[str, tuple[str, str]]:
    found = stage.json("explain", error, "--tid", tid)
    return {each["cause"]: (each["verdict"], each["evidence"]) for each in found["causes"]}


def test_calls_in_the_wrong_order_are_found_in_the_trace(stage: Stage) -> None:
    (address,) = parse_bootstrap(stage.bootstrap)
    with Connection(address, client_id="hasty") as door:
        producer = given(door, "hasty-1")
        assert end(door, "hasty-1", producer.producer_id, producer.producer_epoch).error_code == 48
    verdict, evidence = causes(stage, "INVALID_TXN_STATE", "hasty-1")["wrong order"]
    if stage.is_oncelog:
        assert verdict == "confirmed"
        assert "EndTxn commit with epoch 0" in evidence
        assert "by hasty at 127.0.0.1:" in evidence
        assert "before it was InitProducerId" in evidence
    else:
        assert verdict == "possible"


def test_an_old_epoch_is_told_from_a_new_instance(stage: Stage) -> None:
    """Nobody took the id over: its own transactions moved the epoch on, and a late request carries an old one."""
    stage.run("topics", "new", "late-out")
    where = Place("late-out", 0)
    with Cluster(stage.bootstrap, client_id="late") as cluster:
        own = TransactionalId(cluster, "late-1", timeout_ms=30_000)
        first = producer = own.init()
        for _ in range(2):
            batch = build_batch(
                [NewRecord(None, b"x", 1, [])],
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                base_sequence=0,
                transactional=True,
            )
            own.add_partitions(producer, [where])
            with BatchWriter(cluster, "late-1", producer, protocol=own.protocol) as writer:
                writer.write(where, batch)
                writer.flush()
            producer = own.end(producer, commit=True)
        assert producer.epoch == first.epoch + 2
        assert (
            end(cluster.coordinator("late-1", TRANSACTION), "late-1", first.id, first.epoch).error_code == 90
        )
    found = causes(stage, "PRODUCER_FENCED", "late-1")
    if stage.is_oncelog:
        assert found["old epoch"][0] == "confirmed", found
        assert found["new instance"][0] == "excluded"
    else:
        assert found["old epoch"][0] == "possible"


def test_topics_have_names_though_the_wire_has_ids() -> None:
    with oncelog.Broker() as broker, connect(broker.bootstrap) as door, Cluster(broker.bootstrap) as cluster:
        broker.topic("by-id")
        producer = given(door, "by-id-1")
        batch = build_batch(
            [NewRecord(None, b"x", 1, [])],
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=0,
            transactional=True,
        )
        data = PartitionProduceData(index=0, records=batch)
        topic = TopicProduceData(topic_id=cluster.topic("by-id").id, partition_data=[data])
        produce = ProduceRequest(transactional_id="by-id-1", acks=-1, timeout_ms=10_000, topic_data=[topic])
        assert door.send(produce, ProduceResponse, 13).responses[0].partition_responses[0].error_code == 0
        events = broker.txn("by-id-1").timeline().events
        assert {one.topic for each in events for one in each.touched} == {"by-id"}


def test_a_request_under_way_is_seen_while_its_client_waits() -> None:
    with oncelog.Broker() as broker:
        broker.topic("held")
        producer = transactional(broker.bootstrap, "held-1")
        producer.begin_transaction()
        producer.produce("held", b"x")
        producer.flush(10)
        with broker.hold_request("EndTxn", transactional_id="held-1") as fault:
            ending = threading.Thread(target=producer.commit_transaction, args=(30,))
            ending.start()
            fault.wait()
            waiting = [each for each in broker.txn("held-1").timeline().events if each.error == UNDER_WAY]
            drawn = broker.txn("held-1").timeline().svg()
            fault.resume()
            ending.join(30)
        assert [(each.name, each.took_us) for each in waiting] == [("EndTxn", None)]
        assert "box rpc waits" in drawn
        assert [each.error for each in broker.txn("held-1").timeline().events if each.name == "EndTxn"] == [
            "NONE"
        ]


def test_a_setting_turns_it_off_and_a_restart_forgets() -> None:
    settings = {"transaction.trace.requests": "0"}
    with oncelog.Broker(settings=settings) as quiet, oncelog.Broker() as forgetful:
        for broker in (quiet, forgetful):
            broker.topic("out")
            producer = transactional(broker.bootstrap, "a")
            producer.begin_transaction()
            producer.produce("out", b"x")
            producer.commit_transaction(20)
        forgetful.restart()
        for broker in (quiet, forgetful):
            with Cluster(broker.bootstrap) as cluster:
                door = SideDoor(cluster)
                kept = trace.requests(cluster, door, "a")
                assert kept == (None if broker is quiet else [])
                told = trace.tell(cluster, door, "a")
                assert told.source == trace.FROM_LOGS
                assert "PrepareCommit" in str(told.timeline)


def test_follow_tells_each_request_once_when_it_is_answered() -> None:
    with oncelog.Broker() as broker:
        broker.topic("out")
        producer = transactional(broker.bootstrap, "f")
        words = ["txn", "trace", "f", "--follow", "-o", "jsonl", "--bootstrap", broker.bootstrap]
        following = subprocess.Popen(
            [sys.executable, "-m", "oncelog.cli.main", *words],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        assert following.stdout is not None
        names = [json.loads(following.stdout.readline())["name"]]  # it has begun
        with broker.hold_request("EndTxn", transactional_id="f") as fault:
            producer.begin_transaction()
            producer.produce("out", b"x")
            producer.flush(10)
            ending = threading.Thread(target=producer.commit_transaction, args=(30,))
            ending.start()
            fault.wait()
            names += [json.loads(following.stdout.readline())["name"] for _ in range(2)]
            with connect(broker.bootstrap, client_id="another") as door:  # behind it, and answered before it
                late = ProduceRequest(transactional_id="f", acks=-1, timeout_ms=10_000, topic_data=[])
                door.send(late, ProduceResponse, 9)
            told = json.loads(following.stdout.readline())
            assert (told["name"], told["client_id"]) == ("Produce", "another")
            time.sleep(0.5)  # both are asked for again and again, and not told
            fault.resume()
            ending.join(30)
        told = json.loads(following.stdout.readline())
        assert (told["error"], told["took_us"] > 0) == ("NONE", True)
        names.append(told["name"])
        following.send_signal(signal.SIGINT)
        rest = following.stdout.read()
        assert following.wait(20) == 130
        following.stdout.close()
        assert names == ["InitProducerId", "AddPartitionsToTxn", "Produce", "EndTxn"]
        assert rest == ""


def test_an_end_belongs_to_the_first_transaction_that_waits_for_one() -> None:
    """The log knows the millisecond, and the time of a request may be one early: order tells, not the nearest time."""

    def end(at_us: int, took_us: int) -> Event:
        return Event(at_us, "rpc", "x", "EndTxn", took_us=took_us, said="commit", producer_epoch=0)

    seen = [end(684_100, 300), end(685_050, 100)]
    complete = Event(685_000, "state", "x", "CompleteCommit", producer_epoch=0)
    assert cause(complete, seen) is seen[0]
    assert cause(complete, seen[1:]) is seen[1]
    assert cause(complete, []) is None


def test_a_transaction_that_ends_while_it_is_asked_for_has_its_states_or_is_left_for_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Requests and states are two questions, and clients go on between them: no end may stand there without its states."""
    with oncelog.Broker() as broker, Cluster(broker.bootstrap) as cluster:
        broker.topic("out")
        producer = transactional(broker.bootstrap, "a")

        def write() -> None:
            producer.begin_transaction()
            producer.produce("out", b"x")
            producer.commit_transaction(20)

        def names() -> list[str]:
            told = trace.tell(cluster, SideDoor(cluster), "a", last=1)
            return [each.name for each in told.timeline.events]

        real = replay.past

        def then_another(cluster: Cluster, name: str) -> replay.Past:
            found = real(cluster, name)
            time.sleep(0.01)  # another millisecond
            write()
            return found

        def before_it_another(cluster: Cluster, name: str) -> replay.Past:
            write()
            return real(cluster, name)

        write()
        for instead in (then_another, before_it_another):
            monkeypatch.setattr(replay, "past", instead)
            found = names()
            assert found.count("EndTxn") == 1
            assert [each for each in found if each.startswith(("Prepare", "Complete"))] == [
                "PrepareCommit",
                "CompleteCommit",
            ]
            assert found.count("COMMIT") == 1
