"""`oncelog doctor`: silent on a healthy cluster, and each of its checks seen firing on a sick one; ORACLE=1 asks Apache Kafka too."""

import re
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException

import oncelog
from oncelog.broker.handlers import SERVED, describe_log_dirs
from oncelog.cli.main import main
from oncelog.client.admin import Admin
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.faults import RefusedByBroker
from oncelog.client.producer import Producer
from oncelog.client.transactional import TransactionalId
from oncelog.inspect import doctor
from oncelog.inspect.ask import SideDoor
from oncelog.inspect.inspector import Inspector
from oncelog.model import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.messages.describe_log_dirs import DescribeLogDirsResponse, DescribeLogDirsResult
from oncelog.protocol.messages.describe_oncelog import Times
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.record.batch import NewRecord, build_batch
from tests.clients import connect, transactional
from tests.conformance import targets
from tests.inspect.stage import SETTINGS, Stage, hang
from tests.toolchains import Missing, leave_out

OUT = TopicPartition("doctored", 0)
DESCRIBE_TRACE = 1001


@pytest.fixture(params=targets.chosen())
def stage(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Iterator[Stage]:
    """A broker for each test: what one of them leaves behind would make the other's cluster sick."""
    try:
        with targets.run(request.param, SETTINGS) as bootstrap:
            main(["topics", "new", OUT.topic, "--bootstrap", bootstrap])
            yield Stage(request.param, bootstrap, capsys)
    except Missing as why:
        leave_out(f"the doctor on {request.param}", why)


def found(stage: Stage) -> dict[str, Any]:
    return {each["check"]: each for each in stage.json("doctor")}


@contextmanager
def reading(bootstrap: str, group: str, isolation: str, topic: str = OUT.topic) -> Generator[Consumer]:
    """A member of a group that has fetched."""
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": f"{group}-1",
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    reader.subscribe([topic])
    try:
        deadline = time.monotonic() + 30
        while reader.poll(1) is None:
            assert time.monotonic() < deadline, "wanted a record, found none"
        yield reader
    finally:
        reader.close()


def write(cluster: Cluster, own: TransactionalId, records: int, times: int) -> None:
    producer = own.init()
    for _ in range(times):
        batch = build_batch(
            [NewRecord(None, b"refund", time.time_ns() // 1_000_000, [])] * records,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=0,
            transactional=True,
        )
        own.add_partitions(producer, [OUT])
        with BatchWriter(cluster, own.name, producer, protocol=own.protocol) as writer:
            writer.write(OUT, batch)
            writer.flush()
        producer = own.end(producer, commit=True)


def test_a_healthy_cluster_is_left_in_peace(stage: Stage) -> None:
    """Named ids, ten records a transaction, KIP-890's protocol, a group at read_committed; beside it a topic that has no
    tombstones and no transactions, with a reader of everything."""
    with Cluster(stage.bootstrap, client_id="settle", timeout_ms=20_000) as cluster:
        Admin(cluster).create_topic(
            "prices", configs={"cleanup.policy": "compact", "delete.retention.ms": "7200000"}
        )
        Admin(cluster).create_topic("clicks", configs={"delete.retention.ms": "1000"})
        with Producer(cluster) as producer:
            producer.send("clicks", b"click", partition=0)
        for number in range(3):
            write(cluster, TransactionalId(cluster, f"refunds-{number}", timeout_ms=60_000), 10, 3)
        with (
            reading(stage.bootstrap, "loader", "read_committed"),
            reading(stage.bootstrap, "counting", "read_uncommitted", "clicks"),
        ):
            rows = found(stage)
    assert len(rows) == 10
    troubles = {
        each["check"]: each["found"] for each in rows.values() if each["verdict"] not in ("fine", "skipped")
    }
    assert troubles == {}
    skipped = {each["check"] for each in rows.values() if each["verdict"] == "skipped"}
    assert skipped == (set() if stage.is_oncelog else {"isolation of groups"})
    assert "10.0 records on average" in rows["size of transactions"]["found"]
    assert stage.run("doctor").code == 0


def test_a_sick_cluster_is_told_what_and_why(stage: Stage) -> None:
    """Ids of a process each, one record a transaction, old clients, a long timeout, a reader of everything, lost tombstones."""
    with Cluster(stage.bootstrap, timeout_ms=20_000) as cluster:
        for number in range(3):
            name = f"job-6f1c2b7e-0000-4000-8000-00000000000{number}"
            producer = transactional(stage.bootstrap, name, {"client.id": "old-timer"})
            producer.begin_transaction()
            producer.produce(OUT.topic, b"x")
            producer.commit_transaction(20)
        slow = transactional(stage.bootstrap, "nightly", {"transaction.timeout.ms": 600_000})
        slow.begin_transaction()
        slow.produce(OUT.topic, b"x")
        slow.flush(10)
        admin = Admin(cluster)
        admin.create_topic("prices", configs={"cleanup.policy": "compact", "delete.retention.ms": "1000"})
        with reading(stage.bootstrap, "peeking", "read_uncommitted"):
            for internal in (TRANSACTION_STATE, CONSUMER_OFFSETS):
                admin.set_topic_settings(internal, {"delete.retention.ms": "43200000"})  # half a day
            rows = found(stage)
    noticed = {each["check"] for each in rows.values() if each["verdict"] == "notice"}
    wanted = {
        "stuck readers",
        "transactional ids",
        "transaction timeouts",
        "size of transactions",
        "tombstones",
        "isolation of groups",
        "old-protocol clients",
    }
    assert noticed == (wanted if stage.is_oncelog else wanted - {"isolation of groups"})
    assert rows["transactional ids"]["found"].startswith("job-* x 3")
    assert "nightly 600000 ms" in rows["transaction timeouts"]["found"]
    assert rows["size of transactions"]["found"].startswith("1.0 records")
    assert set(rows["tombstones"]["found"].split(", ")) == {
        "prices 1000 ms",
        f"{TRANSACTION_STATE} 43200000 ms",
        f"{CONSUMER_OFFSETS} 43200000 ms",
    }
    assert "peeking" in rows["isolation of groups"]["found"]
    if stage.is_oncelog:
        assert rows["isolation of groups"]["found"] == "peeking (peeking-1 at 127.0.0.1)"
        assert re.search(
            r"old-timer at 127\.0\.0\.1 \(confluent-kafka-python \S+, EndTxn v\d\)",
            rows["old-protocol clients"]["found"],
        )
    assert all(each["why"] for each in rows.values())
    assert all(rows[check]["do"] for check in noticed)
    slow.abort_transaction(20)


def test_a_clock_that_is_ahead_is_noticed(stage: Stage) -> None:
    """A minute, of a client's; a second is no sign of anything."""
    assert found(stage)["clocks"]["verdict"] == "fine"
    with Cluster(stage.bootstrap) as cluster:
        for ahead_ms, verdict in ((1_000, "fine"), (60_000, "notice")):
            at_ms = time.time_ns() // 1_000_000 + ahead_ms
            with Producer(cluster) as producer:
                producer.send(OUT.topic, b"refund", partition=OUT.partition, timestamp=at_ms)
            row = found(stage)["clocks"]
            assert row["verdict"] == verdict
    assert re.match(r"who wrote offset 1 of doctored-0 is (5\d|60) s ahead, or", row["found"])
    assert row["do"] == "synchronize the clocks (NTP)"


def test_a_coordinator_whose_clock_is_ahead_is_noticed(stage: Stage) -> None:
    """Here it is ours that is behind."""
    with Cluster(stage.bootstrap, timeout_ms=20_000) as cluster:
        open_one = transactional(stage.bootstrap, "refunds-9", {})
        open_one.begin_transaction()
        open_one.produce(OUT.topic, b"x")
        open_one.flush(10)
        behind_ms = time.time_ns() // 1_000_000 - 60_000
        rows = {each.check: each for each in doctor.examine(cluster, SideDoor(cluster), now_ms=behind_ms)}
        open_one.abort_transaction(20)
    assert rows["clocks"].verdict == "notice"
    assert re.search(r"the coordinator of refunds-9 is (5\d|60) s ahead", rows["clocks"].found)


def test_an_old_client_is_found_by_the_logs_where_no_requests_are_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with oncelog.Broker(settings={"transaction.trace.requests": 0}) as broker:
        broker.topic(OUT.topic)
        producer = transactional(broker.bootstrap, "refunds-3", {})
        producer.begin_transaction()
        producer.produce(OUT.topic, b"x")
        producer.commit_transaction(20)
        row = found(Stage("oncelog", broker.bootstrap, capsys))["old-protocol clients"]
    assert row["verdict"] == "notice"
    assert re.fullmatch(r"the client of refunds-3 \(confluent-kafka-python \S+\)", row["found"])


def test_ids_that_a_process_makes_up_are_told_from_those_that_are_taken_again(stage: Stage) -> None:
    """Names of pods and process ids, and beside them the same forms whose owners came back, and numbers of partitions."""
    pods = ["web-7d9c5b6f4-x2x8k", "web-7d9c5b6f4-b4t9q", "web-66f8c7d9b-m5n2z"]
    processes = ["p-12345", "p-12399", "p-20011", "p-31999"]
    customers = ["customer-10234", "customer-20871", "customer-90112"]
    partitions = [f"refunds-{number}" for number in range(8)]
    with Cluster(stage.bootstrap, timeout_ms=20_000) as cluster:
        for name in (*pods, *processes, *customers, *partitions):
            TransactionalId(cluster, name, timeout_ms=60_000).init()
        before = found(stage)["transactional ids"]
        for name in customers:
            TransactionalId(cluster, name, timeout_ms=60_000).init()
        after = found(stage)["transactional ids"]
    assert before["verdict"] == after["verdict"] == "notice"
    alone = "none of them used by a second process"
    assert set(before["found"].split(f", {alone}")) - {""} == {"customer-* x 3", ", p-* x 4", ", web-*-* x 3"}
    assert "customer" not in after["found"]
    assert f"web-*-* x 3, {alone}" in after["found"]
    assert f"p-* x 4, {alone}" in after["found"]


@pytest.mark.parametrize(
    ("ids", "stems"),
    [
        (["app-3f9a1c2e", "app-77b2e0f1", "app-0c4d9e8a"], {"app-*": 3}),
        (["app-3f9a1c2e", "app-77b2e0f1"], {}),  # two are no habit
        ([f"refunds-{number}" for number in range(100)], {}),
        ([f"refunds-{number}" for number in range(100, 120)], {}),
        (["job-v1-eu", "job-v2-eu", "job-v3-eu"], {}),
        (["kafka1", "kafka2", "kafka3"], {}),
        (["p-12345", "p-12399", "p-20011"], {"p-*": 3}),
        (["eu.p-12345", "us.p-12399", "eu.p-20011"], {}),  # of each place too few
        ([f"query-7_{number}" for number in (0, 1, 2)], {}),
    ],
)
def test_which_parts_of_names_are_made_up(ids: Sequence[str], stems: dict[str, int]) -> None:
    assert {stem: len(mine) for stem, mine in doctor.made_up(ids).items()} == stems


def test_small_transactions_beside_large_ones_are_noticed(stage: Stage) -> None:
    """In the mean of all they do not show."""
    with Cluster(stage.bootstrap, timeout_ms=20_000) as cluster:
        write(cluster, TransactionalId(cluster, "large", timeout_ms=60_000), 500, 3)
        assert found(stage)["size of transactions"]["verdict"] == "fine"
        write(cluster, TransactionalId(cluster, "small", timeout_ms=60_000), 1, 3)
        row = found(stage)["size of transactions"]
    assert row["verdict"] == "notice"
    assert row["found"] == "250.5 records on average in 6 transactions of 2 ids; small 1.0 in 3"


def test_records_of_a_transaction_that_is_not_ended_make_no_ended_one_larger(stage: Stage) -> None:
    with Cluster(stage.bootstrap, timeout_ms=20_000) as cluster:
        write(cluster, TransactionalId(cluster, "small", timeout_ms=60_000), 1, 3)
    opened = transactional(stage.bootstrap, "small", {"linger.ms": 50})
    opened.begin_transaction()
    for _ in range(500):
        opened.produce(OUT.topic, b"x")
    opened.flush(10)
    row = found(stage)["size of transactions"]
    opened.abort_transaction(20)
    assert (row["verdict"], row["found"].split(";")[-1].strip()) == ("notice", "small 1.0 in 3")


def test_a_reader_of_everything_is_told_from_one_of_that_name_on_another_host(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fetched: set[tuple[str | None, str]] = {("loader-1", "192.0.2.9")}

    def readers(_: SideDoor) -> set[tuple[str | None, str]]:
        return fetched

    monkeypatch.setattr(SideDoor, "uncommitted_readers", readers)
    with oncelog.Broker() as broker, Cluster(broker.bootstrap) as cluster:
        broker.topic(OUT.topic)
        write(cluster, TransactionalId(cluster, "refunds-1", timeout_ms=60_000), 10, 1)
        stage = Stage("oncelog", broker.bootstrap, capsys)
        with reading(broker.bootstrap, "loader", "read_committed"):
            assert found(stage)["isolation of groups"]["verdict"] == "fine"
            fetched.add(("loader-1", "127.0.0.1"))
            assert found(stage)["isolation of groups"]["found"] == "loader (loader-1 at 127.0.0.1)"


def test_transactions_that_are_longer_than_their_timeout_again_and_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100}
    with oncelog.Broker(settings=settings) as broker:
        broker.topic(OUT.topic)
        stage = Stage("oncelog", broker.bootstrap, capsys)
        rows: list[dict[str, Any]] = []
        for _ in range(2):
            slow = transactional(broker.bootstrap, "nightly", {"transaction.timeout.ms": 1_000})
            slow.begin_transaction()
            slow.produce(OUT.topic, b"x")
            slow.flush(10)
            while stage.json("txn", "show", "nightly")["state"] == "Ongoing":
                pass
            slow.purge()
            rows.append(found(stage)["transaction timeouts"])
    assert [each["verdict"] for each in rows] == ["fine", "notice"]
    assert rows[1]["found"] == "timed out again and again: nightly x 2"
    assert "aborted while its owner works" in rows[1]["why"]


def test_a_client_that_is_refused_for_its_timeout_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """It cannot begin at all, and what its coordinator has of the id is of before: only the ring tells."""
    with (
        oncelog.Broker(settings={"transaction.max.timeout.ms": 100_000}) as broker,
        Cluster(broker.bootstrap) as cluster,
    ):
        TransactionalId(cluster, "nightly", timeout_ms=60_000).init()
        stage = Stage("oncelog", broker.bootstrap, capsys)
        assert found(stage)["transaction timeouts"]["verdict"] == "fine"
        with pytest.raises(RefusedByBroker, match="INVALID_TRANSACTION_TIMEOUT"):
            TransactionalId(cluster, "nightly", timeout_ms=200_000).init()
        row = found(stage)["transaction timeouts"]
        assert row["verdict"] == "bad"
        assert re.fullmatch(
            r"refused: nightly with timeout 200000 ms, \d+ m?s ago by oncelog at 127\.0\.0\.1:\d+",
            row["found"],
        )
        assert stage.run("doctor").code == 1
        TransactionalId(cluster, "nightly", timeout_ms=60_000).init()  # somebody set it right
        assert found(stage)["transaction timeouts"]["verdict"] == "fine"


def test_a_client_that_was_never_let_in_is_found_though_nobody_lists_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first InitProducerId is refused: no coordinator knows the id. By the error alone, and by the id too."""
    with (
        oncelog.Broker(settings={"transaction.max.timeout.ms": 100_000}) as broker,
        Cluster(broker.bootstrap) as cluster,
    ):
        stage = Stage("oncelog", broker.bootstrap, capsys)
        with pytest.raises(RefusedByBroker, match="INVALID_TRANSACTION_TIMEOUT"):
            TransactionalId(cluster, "never-in", timeout_ms=200_000).init()
        assert stage.json("txn", "ls") == []
        row = found(stage)["transaction timeouts"]
        who = r"with timeout 200000 ms, \d+ m?s ago by oncelog at 127\.0\.0\.1:\d+"
        assert (row["verdict"], bool(re.fullmatch(f"refused: never-in {who}", row["found"]))) == ("bad", True)
        for words in ((), ("--tid", "never-in")):
            (cause,) = stage.json("explain", "INVALID_TRANSACTION_TIMEOUT", *words)["causes"]
            assert cause["verdict"] == "confirmed", cause
            assert re.match(f"InitProducerId of 'never-in' {who}; transaction.max", cause["evidence"])
            assert cause["evidence"].endswith("transaction.max.timeout.ms is 100000 here")
        inspector = Inspector(lambda: Cluster(broker.bootstrap))
        shown = inspector.explain("INVALID_TRANSACTION_TIMEOUT", "")
        assert shown is not None
        assert "'never-in'" in shown.causes[0].evidence
        inspector.close()
        monkeypatch.setitem(SERVED, DESCRIBE_TRACE, SERVED[DESCRIBE_TRACE]._replace(max_version=0))
        row = found(stage)["transaction timeouts"]  # an older broker does not tell whom its ring knows
        assert (row["verdict"], row["found"]) == ("fine", "0 ids, the longest 0 ms")
        assert stage.run("explain", "INVALID_TRANSACTION_TIMEOUT").code == 0


def test_an_error_is_explained_by_who_got_it_where_a_cluster_is_named(
    stage: Stage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    zombie = transactional(stage.bootstrap, "seen-lately", {"client.id": "old"})
    transactional(stage.bootstrap, "seen-lately", {"client.id": "new"})
    zombie.begin_transaction()
    zombie.produce(OUT.topic, b"x")
    with pytest.raises(KafkaException):
        zombie.commit_transaction(20)
    for each in stage.json("explain", "PRODUCER_FENCED")["causes"]:
        assert each["evidence"].startswith("name the transactional id with --tid")
        assert ("'seen-lately': " in each["evidence"]) is stage.is_oncelog
    monkeypatch.delenv("ONCELOG_BOOTSTRAP", raising=False)
    capsys.readouterr()
    assert main(["explain", "PRODUCER_FENCED"]) == 0  # no cluster is named, none is asked
    assert "evidence: no cluster was asked" in capsys.readouterr().out
    assert main(["explain", "PRODUCER_FENCED", "--bootstrap", "127.0.0.1:1"]) == 0
    said = capsys.readouterr()
    assert ("evidence: no cluster was asked" in said.out, "the meaning alone: " in said.err) == (True, True)
    assert main(["explain", "PRODUCER_FENCED", "--bootstrap", "127.0.0.1:1", "--tid", "x"]) == 3


def test_of_many_ids_those_that_did_something_last_are_looked_at(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name the one with small transactions would be the last."""
    monkeypatch.setattr(doctor, "TRACED_IDS", 2)
    monkeypatch.setattr(doctor, "REPLAYED_IDS", 2)
    with Cluster(stage.bootstrap, timeout_ms=20_000) as cluster:
        for name in ("a-1", "a-2", "a-3"):
            write(cluster, TransactionalId(cluster, name, timeout_ms=60_000), 10, 3)
        write(cluster, TransactionalId(cluster, "z-small", timeout_ms=60_000), 1, 3)
        ids = ["a-1", "a-2", "a-3", "z-small"]
        assert doctor.recent(cluster, ids, 2) == ["z-small", "a-3"]
        assert doctor.recent(cluster, ids, 4) == ids
    rows = found(stage)
    assert rows["size of transactions"]["verdict"] == "notice"
    assert rows["size of transactions"]["found"].endswith("of 2 ids; 2 of 4 ids looked at; z-small 1.0 in 3")
    assert rows["old-protocol clients"]["found"] == "none of 2 ids; 2 of 4 ids looked at"
    if stage.is_oncelog:
        assert rows["transaction timeouts"]["found"].endswith("; 2 of 4 ids looked at")


def test_of_many_partitions_every_topic_is_looked_at(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TIMED_PARTITIONS", 2)
    with Cluster(stage.bootstrap) as cluster:
        Admin(cluster).create_topic("aaa", partitions=5)
        with Producer(cluster) as producer:
            at_ms = time.time_ns() // 1_000_000 + 60_000
            producer.send(OUT.topic, b"refund", partition=OUT.partition, timestamp=at_ms)
    assert found(stage)["clocks"]["verdict"] == "notice"


def test_ids_that_pile_up_are_bad_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    with oncelog.Broker() as broker:
        with Cluster(broker.bootstrap) as cluster:
            for number in range(20):
                TransactionalId(cluster, f"job-{number:032x}", timeout_ms=60_000).init()
        stage = Stage("oncelog", broker.bootstrap, capsys)
        assert found(stage)["transactional ids"]["verdict"] == "bad"
        assert stage.run("doctor").code == 1


def test_a_timeout_above_a_maximum_that_was_lowered_is_bad(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with oncelog.Broker(data_dir=str(tmp_path)) as broker:
        transactional(broker.bootstrap, "patient", {"transaction.timeout.ms": 200_000})
    with oncelog.Broker(data_dir=str(tmp_path), settings={"transaction.max.timeout.ms": 100_000}) as broker:
        row = found(Stage("oncelog", broker.bootstrap, capsys))["transaction timeouts"]
    assert (row["verdict"], "patient 200000 ms" in row["found"]) == ("bad", True)


@pytest.mark.parametrize(("free", "verdict"), [(0.5, "fine"), (0.09, "notice"), (0.01, "bad")])
def test_a_disk_that_fills_up(free: float, verdict: str) -> None:
    assert doctor.disk_verdict(free) == verdict


@pytest.mark.parametrize(
    ("free", "verdict"), [((50, 60), "fine"), ((60, 9, 60), "notice"), ((60, 1, 9, 60), "bad")]
)
def test_the_fullest_disk_that_a_broker_describes_is_judged(
    free: Sequence[int], verdict: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def described(**_: Any) -> DescribeLogDirsResponse:
        return DescribeLogDirsResponse(
            results=[DescribeLogDirsResult(total_bytes=1000, usable_bytes=10 * each) for each in free]
        )

    monkeypatch.setattr(describe_log_dirs, "DescribeLogDirsResponse", described)
    with oncelog.Broker() as broker:
        stage = Stage("oncelog", broker.bootstrap, capsys)
        row = found(stage)["disk"]
        assert (row["verdict"], stage.run("doctor").code) == (verdict, 1 if verdict == "bad" else 0)
    assert all(f"{each}% of the disk is free" in row["found"] for each in free)
    assert row["do"] == ("" if verdict == "fine" else "make room, or move the data")


def test_a_hanging_transaction_is_bad(stage: Stage) -> None:
    hang(stage.bootstrap, OUT.topic)
    row = found(stage)["stuck readers"]
    assert (row["verdict"], row["found"]) == ("bad", "1 held: doctored-0 (hanging)")
    assert row["do"] == "oncelog txn stuck"
    assert stage.run("doctor").code == 1


def test_a_prepared_transaction_that_never_times_out_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    """Two-phase commit (KIP-939): its owner decides, however long that takes."""
    settings = {"transaction.two.phase.commit.enable": "true"}
    with oncelog.Broker(settings=settings) as broker, connect(broker.bootstrap) as door:
        broker.topic(OUT.topic)
        asked = InitProducerIdRequest(
            transactional_id="two-phase", transaction_timeout_ms=-1, enable2_pc=True
        )
        given = door.send(asked, InitProducerIdResponse, 6)
        assert given.error_code == 0
        one = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="two-phase",
            v3_and_below_producer_id=given.producer_id,
            v3_and_below_producer_epoch=given.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=OUT.topic, partitions=[0])],
        )
        (added,) = door.send(one, AddPartitionsToTxnResponse, 3).results_by_topic_v3_and_below
        assert added.results_by_partition[0].partition_error_code == 0
        row = found(Stage("oncelog", broker.bootstrap, capsys))["transaction timeouts"]
    assert (row["verdict"], row["found"]) == ("notice", "prepared, never time out: two-phase")


def test_late_copies_and_slow_syncs_are_noticed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a broker counted and timed: here it is put into its mouth."""
    slow = Times(name="log.sync", counts=[0] * 29 + [1], sum_ns=400_000_000, max_ns=400_000_000)

    def counters(_: SideDoor) -> dict[str, int]:
        return {"txn.late_copies_refused": 3}

    def times(_: SideDoor) -> dict[str, Times]:
        return {"log.sync": slow}

    with oncelog.Broker() as broker:
        stage = Stage("oncelog", broker.bootstrap, capsys)
        assert found(stage)["old-protocol clients"]["verdict"] == "fine"
        monkeypatch.setattr(SideDoor, "counters", counters)
        monkeypatch.setattr(SideDoor, "times", times)
        rows = found(stage)
    assert rows["old-protocol clients"]["verdict"] == "notice"
    assert "3 late copies refused" in rows["old-protocol clients"]["found"]
    assert rows["disk"]["verdict"] != "fine"
    assert "p99 of a sync 400.0 ms" in rows["disk"]["found"]
