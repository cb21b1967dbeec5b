"""Vectors V80 to V90 and V93 with transactions: markers, the last stable offset, what readers are told (spec 8.6)."""

import struct
from pathlib import Path

import pytest

from oncelog.client.admin import Admin
from oncelog.client.faults import error_name
from oncelog.model import TopicPartition
from oncelog.record.batch import build_batch as build
from tests.conformance.targets import chosen
from tests.oracle import Oracle
from tests.processes import ServedBroker
from tests.vectors.play import Partition, Target, fetched, now_ms, records
from tests.vectors.txn_targets import targets
from tests.vectors.txn_wire import Id, producers_of, transaction, until_loaded, write_markers

everywhere = pytest.mark.parametrize("target", targets(), indirect=True, scope="session")

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
ENTRY = struct.Struct(">hqqqq")


def log_dir(target: Target) -> Path:
    if isinstance(target.broker, Oracle):
        return target.broker.log_dir
    assert isinstance(target.broker, ServedBroker)
    return target.broker.data_dir


def lso(log: Partition) -> int:
    return log.fetch(0, isolation=READ_COMMITTED).last_stable_offset


def aborted(log: Partition, offset: int, names: dict[int, str]) -> list[str]:
    """As a set, in words: Kafka sends marker order, we send offset order (spec 4.7)."""
    found = log.fetch(offset, isolation=READ_COMMITTED).aborted_transactions
    assert found is not None
    return sorted(f"{names[each.producer_id]}@{each.first_offset}" for each in found)


@everywhere
def test_v80_v83_three_transactions_interleaved(target: Target) -> None:
    log = target.partition()
    with transaction(target) as a, transaction(target) as b, transaction(target) as c:
        names = {a.producer_id: "A", b.producer_id: "B", c.producer_id: "C"}

        def end(one: Id, *, commit: bool) -> int:
            """The offset of the marker."""
            said = one.commit() if commit else one.abort()
            assert said.startswith("NONE"), said
            one.wait()
            return log.fetch(0).high_watermark - 1

        with target.vector("V80") as row:
            row("A", a.produce(log, 0), "NONE @0")
            row("B", b.produce(log, 0), "NONE @1")
            row("C", c.produce(log, 0), "NONE @2")
            row("abort B: marker", end(b, commit=False), 3)
            row("LSO", lso(log), 0)
        with target.vector("V81") as row:
            row("B", b.produce(log, 0), "NONE @4")
            row("abort A: marker", end(a, commit=False), 5)
            row("LSO", lso(log), 2)
            row("commit C: marker", end(c, commit=True), 6)
            row("LSO then", lso(log), 4)
            row("commit B: marker", end(b, commit=True), 7)
            row("LSO at the end", lso(log), 8)
        with target.vector("V82") as row:
            for offset, wanted in ((0, ["A@0", "B@1"]), (3, ["A@0", "B@1"]), (4, ["A@0"]), (6, [])):
                row(f"aborted at {offset}", aborted(log, offset, names), wanted)
        with target.vector("V83") as row:
            data = (log_dir(target) / f"{log.topic}-0" / f"{0:020}.txnindex").read_bytes()
            entries = [
                (version, names[producer_id], *rest)
                for version, producer_id, *rest in ENTRY.iter_unpack(data)
            ]
            row(
                "txnindex (version, who, first, last, LSO)",
                entries,
                [(0, "B", 1, 3, 0), (0, "A", 0, 5, 2)],
            )


@everywhere
def test_v84_v85_fetch_beside_an_open_transaction(target: Target) -> None:
    log = target.partition()
    with transaction(target) as one, transaction(target) as other:
        one.produce(log, 0)
        one.abort()
        one.wait()
        other.produce(log, 0, count=3)
        ends = "HW 5 LSO 2 start 0"
        with target.vector("V84 txn") as row:
            row("read_uncommitted", log.fetch(0, isolation=READ_UNCOMMITTED).aborted_transactions, None)
            row("read_committed at 2: none", log.fetch(2, isolation=READ_COMMITTED).aborted_transactions, [])
            row("read_uncommitted too knows the LSO", log.fetch(0).last_stable_offset, 2)
        with target.vector("V85 txn") as row:
            row(
                "read_committed at 0", fetched(log.fetch(0, isolation=READ_COMMITTED)), f"NONE records {ends}"
            )
            row("at the LSO", fetched(log.fetch(2, isolation=READ_COMMITTED)), f"NONE empty {ends}")
            row("between LSO and HW", fetched(log.fetch(3, isolation=READ_COMMITTED)), f"NONE empty {ends}")
            row("at the HW", fetched(log.fetch(5, isolation=READ_COMMITTED)), f"NONE empty {ends}")
            outside = "OFFSET_OUT_OF_RANGE empty HW -1 LSO -1 start -1"
            row("HW+1", fetched(log.fetch(6, isolation=READ_COMMITTED)), outside)
            row("-1", fetched(log.fetch(-1, isolation=READ_COMMITTED)), outside)
            row("read_uncommitted at the LSO", fetched(log.fetch(2)), f"NONE records {ends}")
        other.abort()


@everywhere
def test_v87_v88_markers_by_epoch_and_coordinator_ps_6_ps_7(target: Target) -> None:
    log = target.partition()
    with transaction(target) as one:
        one.produce(log, 0)
        one.commit()
        one.wait()
        one.produce(log, 0)  # epoch 1, and the partition knows coordinator epoch 0
        producer = one.producer_id
        with target.vector("V87") as row:
            row("known coordinator epoch", producers_of(target, log.topic)[producer].coordinator_epoch, 0)
            row("TV2, marker e", write_markers(target, log, producer, 1), "INVALID_PRODUCER_EPOCH")
            row("TV2, marker e-1", write_markers(target, log, producer, 0), "INVALID_PRODUCER_EPOCH")
            row(
                "TV2, marker e+1, coordinator epoch -1",
                write_markers(target, log, producer, 2, coordinator_epoch=-1),
                "TRANSACTION_COORDINATOR_FENCED",
            )
            row(
                "TV0, marker e-1",
                write_markers(target, log, producer, 0, transaction_version=0),
                "INVALID_PRODUCER_EPOCH",
            )
            row("still open", producers_of(target, log.topic)[producer].current_txn_start_offset, 2)
        with target.vector("V88") as row:
            row(
                "TV0, marker e, coordinator epoch 5",
                write_markers(target, log, producer, 1, coordinator_epoch=5, transaction_version=0),
                "NONE",
            )
            row("open no more", producers_of(target, log.topic)[producer].current_txn_start_offset, -1)
            row(
                "TV2, e+1, coordinator epoch 3",
                write_markers(target, log, producer, 2, coordinator_epoch=3),
                "TRANSACTION_COORDINATOR_FENCED",
            )
            row(
                "TV2, e, coordinator epoch 5",
                write_markers(target, log, producer, 1, coordinator_epoch=5),
                "NONE",
            )
            row("high watermark", log.fetch(0).high_watermark, 5)


@everywhere
def test_v89_markers_for_strangers_trap_20(target: Target) -> None:
    log = target.partition()
    with target.vector("V89") as row:
        stranger = target.producer_id()
        row("unknown producer", write_markers(target, log, stranger, 0), "NONE")
        row("takes an offset", log.fetch(0).high_watermark, 1)
        row("v1", write_markers(target, log, stranger, 0, version=1, transaction_version=0), "NONE")
        row("no aborted entry", log.fetch(0, isolation=READ_COMMITTED).aborted_transactions, [])
        row(
            "unknown partition",
            write_markers(target, log, stranger, 0, partition=7),
            "UNKNOWN_TOPIC_OR_PARTITION",
        )
        row("unknown topic", write_markers(target, "nope", stranger, 0), "UNKNOWN_TOPIC_OR_PARTITION")


@everywhere
def test_v90_list_offsets_beside_an_open_transaction_trap_31(target: Target) -> None:
    log = target.partition()
    past = now_ms() - 50_000
    for each in range(6):
        log.append(build(records(timestamp=past + each)))

    def said(timestamp: int, isolation: int = 0) -> str:
        """The error and the offset; times of the past in relation to its begin, so that transcripts compare."""
        found = log.list_offset(timestamp, isolation=isolation)
        stamp = found.timestamp if found.timestamp < 0 else f"+{found.timestamp - past}"
        return f"{error_name(found.error_code)} {found.offset} ({stamp})"

    with target.vector("V90 txn") as row, transaction(target) as one:
        row("open at", one.produce(log, 0, count=2), "NONE @6")
        row("-1, read_uncommitted", said(-1), "NONE 8 (-1)")
        row("-1, read_committed", said(-1, 1), "NONE 6 (-1)")
        row("-3, read_committed: beyond the LSO", said(-3, 1), "NONE -1 (-1)")
        row("a time beyond the LSO", said(past + 20_000, 1), "NONE -1 (-1)")
        row("a time below it", said(past + 3, 1), "NONE 3 (+3)")
        row("the time beyond, read_uncommitted", log.list_offset(past + 20_000).offset, 6)
        one.abort()


@everywhere
def test_trap_25_delete_records_beside_an_open_transaction(target: Target) -> None:
    log = target.partition()
    with target.vector("TRAP-25") as row, transaction(target) as one:
        row("open at", one.produce(log, 0, count=2), "NONE @0")
        for _ in range(3):  # in mid-batch Kafka clamps to the begin of that batch, below the log start
            log.append(build(records()))
        row("LSO", lso(log), 0)
        with target.cluster() as cluster:
            Admin(cluster).delete_records({TopicPartition(log.topic, 0): 4})
        row("LSO is clamped", fetched(log.fetch(4, isolation=1)), "NONE empty HW 5 LSO 4 start 4")
        row("still open", producers_of(target, log.topic)[one.producer_id].current_txn_start_offset, 0)
        row("the next sequence", one.produce(log, 2), "NONE @5")
        row("ends", one.commit(), "NONE (P,1)")
        one.wait()
        row("LSO then", fetched(log.fetch(7, isolation=1)), "NONE empty HW 7 LSO 7 start 4")


@everywhere
def test_ps_9_delete_records_into_the_middle_of_a_batch(target: Target) -> None:
    """The last stable offset of an open transaction never lies below the log start; Kafka's does (differences.py)."""
    log = target.partition()
    with target.vector("PS-9") as row, transaction(target) as one, target.cluster() as cluster:
        row("first batch", one.produce(log, 0, count=5), "NONE @0")
        row("second batch", one.produce(log, 5, count=5), "NONE @5")
        for cut, stable in ((2, 0), (5, 5), (7, 5), (10, 10)):
            Admin(cluster).delete_records({TopicPartition(log.topic, 0): cut})
            found = log.fetch(cut, isolation=READ_COMMITTED)
            latest = log.list_offset(-1, isolation=READ_COMMITTED).offset
            said = f"LSO {found.last_stable_offset} start {found.log_start_offset}, latest {latest}"
            row(f"cut to {cut}", said, f"LSO {stable} start {cut}, latest {stable}")
            again = log.fetch(latest, isolation=READ_COMMITTED)
            wanted = "NONE" if stable == cut else "OFFSET_OUT_OF_RANGE"
            row(f"fetch from the latest, cut to {cut}", error_name(again.error_code), wanted)
            row(f"nothing undecided is seen, cut to {cut}", len(found.records or b""), 0)
        row("more of it", one.produce(log, 10), "NONE @10")
        row("commit", one.commit(), "NONE (P,1)")
        one.wait()
        row(
            "all seen", fetched(log.fetch(10, isolation=READ_COMMITTED)), "NONE records HW 12 LSO 12 start 10"
        )


@pytest.mark.parametrize("fresh_target", chosen(), indirect=True)
def test_v93_kill_9_with_an_open_transaction_trap_2_trap_14(fresh_target: Target) -> None:
    target = fresh_target
    log = target.partition()
    with target.vector("V93 txn") as row, transaction(target) as one:
        row("open", one.produce(log, 0), "NONE @0")
        row("more", one.produce(log, 1, count=2), "NONE @1")
        target.broker.kill()
        target.broker.start()
        with transaction(target, name=one.name, start=False) as again:
            again.word(one.producer_id)
            again.holds(one.producer_id, one.epoch)
            until_loaded(again)
            row("state", again.state(), f"Ongoing (P,0) {log.topic}-0")
            row("LSO", fetched(log.fetch(0, isolation=1)), "NONE empty HW 3 LSO 0 start 0")
            row("the last batch again", again.produce(log, 1, count=2), "NONE @1")
            row("the next sequence", again.produce(log, 3), "NONE @3")
            row("commit", again.commit(), "NONE (P,1)")
            again.wait()
            row("state then", again.state(), "CompleteCommit (P,1)")
            row("LSO then", lso(log), 5)
            with transaction(target) as fresh:
                row("block of 1000 of a new id", fresh.producer_id // 1000, one.producer_id // 1000 + 1)
