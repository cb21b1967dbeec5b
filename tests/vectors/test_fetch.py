"""Vectors V84 to V86 and V90 to V93 without transactions: Fetch, ListOffsets, sessions, a crash (spec 8.6)."""

from typing import Any

from oncelog.client.faults import error_name
from oncelog.protocol.messages.fetch import FetchRequest, FetchResponse
from oncelog.record.batch import build_batch, read_header
from tests.vectors.play import Partition, Target, fetched, now_ms, produced, records

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6


def filled(target: Target, batches: int, timestamp: int | None = None) -> Partition:
    log = target.partition()
    for each in range(batches):
        stamp = None if timestamp is None else timestamp + each
        assert log.append(build_batch(records(timestamp=stamp))).error_code == 0
    return log


def test_v84_the_aborted_list_of_either_isolation(target: Target) -> None:
    log = filled(target, 2)
    with target.vector("V84") as row:
        row("read_uncommitted", log.fetch(0, isolation=READ_UNCOMMITTED).aborted_transactions, None)
        row("read_committed, no aborts", log.fetch(0, isolation=READ_COMMITTED).aborted_transactions, [])
        row("read_committed at the end", log.fetch(2, isolation=READ_COMMITTED).aborted_transactions, [])


def test_v85_offsets_at_and_beyond_the_end(target: Target) -> None:
    log = filled(target, 3)
    ends = "HW 3 LSO 3 start 0"
    outside = "OFFSET_OUT_OF_RANGE empty HW -1 LSO -1 start -1"
    with target.vector("V85") as row:
        for isolation, name in ((READ_COMMITTED, "read_committed"), (READ_UNCOMMITTED, "read_uncommitted")):
            row(f"{name} below the end", fetched(log.fetch(2, isolation=isolation)), f"NONE records {ends}")
            row(f"{name} at the end", fetched(log.fetch(3, isolation=isolation)), f"NONE empty {ends}")
            row(f"{name} one beyond", fetched(log.fetch(4, isolation=isolation)), outside)
            row(f"{name} at -1", fetched(log.fetch(-1, isolation=isolation)), outside)


def test_v86_a_leader_epoch_that_is_not_the_brokers(target: Target) -> None:
    log = filled(target, 1)
    with target.vector("V86") as row:
        row("newer", error_name(log.fetch(0, leader_epoch=9).error_code), "UNKNOWN_LEADER_EPOCH")
        row("the broker's own", error_name(log.fetch(0, leader_epoch=0).error_code), "NONE")
        row("none given", error_name(log.fetch(0).error_code), "NONE")


def test_v90_list_offsets(target: Target) -> None:
    base = now_ms() - 10_000
    log = filled(target, 8, timestamp=base)
    nothing = "NONE -1 (-1)"
    unsupported = "UNSUPPORTED_VERSION -1 (-1)"

    def said(timestamp: int, *, version: int = 11, isolation: int = READ_UNCOMMITTED) -> str:
        """`ERROR offset (timestamp)`, times counted from the first record's."""
        found = log.list_offset(timestamp, version=version, isolation=isolation)
        stamp = found.timestamp if found.timestamp < 0 else f"first + {found.timestamp - base}"
        return f"{error_name(found.error_code)} {found.offset} ({stamp})"

    with target.vector("V90") as row:
        row("-1, read_uncommitted", said(LATEST), "NONE 8 (-1)")
        row("-1, read_committed", said(LATEST, isolation=READ_COMMITTED), "NONE 8 (-1)")
        row("-2", said(EARLIEST), "NONE 0 (-1)")
        row("-3, read_committed", said(MAX_TIMESTAMP, isolation=READ_COMMITTED), "NONE 7 (first + 7)")
        row("a time in the log", said(base + 5), "NONE 5 (first + 5)")
        row("a time before the log", said(0), "NONE 0 (first + 0)")
        row("a time beyond the log", said(base + 8), nothing)
        row("a time beyond, read_committed", said(base + 8, isolation=READ_COMMITTED), nothing)
        row("-4, v8", said(EARLIEST_LOCAL, version=8), "NONE 0 (-1)")
        row("-5, v9", said(LATEST_TIERED, version=9), nothing)
        row("-6, v11", said(EARLIEST_PENDING, version=11), nothing)
        row("-6, v9", said(EARLIEST_PENDING, version=9), unsupported)
        row("-3, v6", said(MAX_TIMESTAMP, version=6), unsupported)
        row("-4, v7", said(EARLIEST_LOCAL, version=7), unsupported)
        row("-7", said(-7), unsupported)


def test_v91_the_first_batch_comes_whole(target: Target) -> None:
    log = target.partition()
    first, second = build_batch(records(size=500)), build_batch(records(size=700))
    for each in (first, second):
        assert log.append(each).error_code == 0
    with target.vector("V91") as row:
        small = bytes(log.fetch(0, max_bytes=10).records or b"")
        row("MaxBytes 10", (len(small), read_header(small).base_offset), (len(first), 0))
        small = bytes(log.fetch(0, partition_max_bytes=10).records or b"")
        row("PartitionMaxBytes 10", (len(small), read_header(small).base_offset), (len(first), 0))
        small = bytes(log.fetch(1, max_bytes=10).records or b"")
        row("MaxBytes 10, second batch", (len(small), read_header(small).base_offset), (len(second), 1))
        both = bytes(log.fetch(0).records or b"")
        row("MaxBytes 1 MiB", len(both), len(first) + len(second))


def test_v92_fetch_sessions(target: Target) -> None:
    log = filled(target, 1)
    with target.vector("V92") as row, target.connect() as connection:

        def fetch(session: int, epoch: int, topics: list[Any]) -> FetchResponse:
            request = FetchRequest(
                max_wait_ms=0, min_bytes=0, session_id=session, session_epoch=epoch, topics=topics
            )
            return connection.send(request, FetchResponse, 12)

        def said(answer: FetchResponse) -> str:
            return f"{error_name(answer.error_code)} {len(answer.responses)} topics"

        opened = fetch(0, 0, [log.fetch_topic(0)])
        session = opened.session_id
        row("epoch 0", said(opened), "NONE 1 topics")
        row("a session id is given", session != 0, True)
        row("a wrong id", said(fetch(session ^ 1, 1, [])), "FETCH_SESSION_ID_NOT_FOUND 0 topics")
        moved = fetch(session, 1, [log.fetch_topic(1)])
        row("epoch 1, at the end of the log", said(moved), "NONE 0 topics")
        row("epoch 1 again", said(fetch(session, 1, [])), "INVALID_FETCH_SESSION_EPOCH 0 topics")
        row("epoch 2: the session lives", said(fetch(session, 2, [])), "NONE 0 topics")
        assert log.append(build_batch(records())).error_code == 0
        row("epoch 3 after an append", said(fetch(session, 3, [])), "NONE 1 topics")
        row("epoch 4, read to the end", said(fetch(session, 4, [log.fetch_topic(2)])), "NONE 0 topics")
        closed = fetch(session, -1, [log.fetch_topic(0)])
        row("epoch -1 closes it", f"{said(closed)}, session {closed.session_id}", "NONE 1 topics, session 0")
        row("epoch 5", said(fetch(session, 5, [])), "FETCH_SESSION_ID_NOT_FOUND 0 topics")


def test_v93_sequences_and_producer_ids_survive_kill_9(fresh_target: Target) -> None:
    log = fresh_target.partition()
    first, second = fresh_target.producer_id(), fresh_target.producer_id()
    with fresh_target.vector("V93") as row:
        for sequence in range(3):
            row(f"sequence {sequence}", produced(log.idempotent(first, sequence)), f"NONE @{sequence}")
        fresh_target.broker.kill()
        fresh_target.broker.start()
        row("kill -9, restart: the records", fetched(log.fetch(0)), "NONE records HW 3 LSO 3 start 0")
        row("the last batch again", produced(log.idempotent(first, 2)), "NONE @2")
        row("a gap", produced(log.idempotent(first, 4)), "OUT_OF_ORDER_SEQUENCE_NUMBER @-1")
        row("the next sequence", produced(log.idempotent(first, 3)), "NONE @3")
        row("block of 1000 of a new producer id", fresh_target.producer_id() // 1000, second // 1000 + 1)
