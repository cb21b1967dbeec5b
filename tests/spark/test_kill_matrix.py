"""The kill matrix in short: six faults of different kinds, twenty random kills, and stateful queries whose counts must stay exact.

`make spark-matrix` has every cell, on Apache Kafka too, and Spark's own sink beside it; `make spark-soak` has 500 random faults.
"""

import importlib.util
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from oncelog.client.easy import write_all
from oncelog.spark import fault_points
from oncelog.spark.fault_points import (
    AFTER_END_TXN,
    AFTER_FLUSH,
    BEFORE_COMMIT_LOG,
    BEFORE_END_TXN,
    BEFORE_OFFSETS,
    KILL_BROKER,
    KILL_DRIVER,
    KILL_EXECUTOR,
    KILL_WORKER,
    MID_TASK,
    RAISE,
    Fault,
    Injected,
)
from tests.conformance import targets
from tests.spark.kill_matrix import (
    CLUSTER_SHARES,
    PARTITIONS,
    Seen,
    broker,
    draw,
    feed,
    judge,
    play_random,
    read,
    run,
)
from tests.spark.numbers_job import LEFT, RIGHT, SECONDS_PER_NUMBER, USERS, Job
from tests.toolchains import Missing, leave_out

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(1800)]


def demand_exact(seen: Seen, faults: int) -> None:
    assert seen.fired == faults, f"{seen}\n{seen.said[-4000:]}"
    assert seen.is_exact, f"{seen}\n{seen.said[-4000:]}"


@pytest.mark.parametrize("kind", targets.chosen())
def test_six_faults_one_after_the_other(kind: str, tmp_path: Path) -> None:
    faults = [
        Fault(MID_TASK, KILL_DRIVER, 2),
        Fault(AFTER_FLUSH, RAISE, 5),
        Fault(BEFORE_OFFSETS, KILL_BROKER, 3),
        Fault(BEFORE_END_TXN, RAISE, 4),
        Fault(AFTER_END_TXN, KILL_WORKER, 5),
        Fault(BEFORE_COMMIT_LOG, KILL_DRIVER, 6),
    ]
    count = 1200
    with broker(kind, tmp_path) as target:
        feed(target.bootstrap, count)
        job = Job(target.bootstrap, str(tmp_path / "checkpoint"), rows_per_batch=120)
        demand_exact(run(job, faults, tmp_path, target, count), len(faults))


TWENTY_KILLS = {KILL_WORKER: 10, KILL_DRIVER: 4, KILL_BROKER: 6, RAISE: 4}


@pytest.mark.parametrize("kind", targets.chosen())
def test_twenty_random_kills_and_four_exceptions(kind: str, tmp_path: Path) -> None:
    seed = int(os.environ.get("SPARK_SEED") or time.time_ns() % 1_000_000)
    sys.stdout.write(f"SPARK_SEED={seed} plays these faults again\n")
    with broker(kind, tmp_path) as target:
        seen = play_random(target, tmp_path, seed=seed, faults=24, shares=TWENTY_KILLS)
    demand_exact(seen, 24)
    assert Counter(each.action for each in seen.happened) == TWENTY_KILLS


@pytest.mark.parametrize("kind", targets.chosen())
def test_random_faults_on_executors_of_their_own(kind: str, tmp_path: Path) -> None:
    with broker(kind, tmp_path) as target:
        seen = play_random(target, tmp_path, seed=8, faults=2, on_cluster=True)
    demand_exact(seen, 2)
    assert [each.action for each in seen.happened] == [KILL_EXECUTOR] * 2


# Stateful queries: the state of a micro-batch and its rows are told once, together


def play_stateful(
    kind: str, query: str, tmp_path: Path, job: Job, faults: list[Fault], *, times: int = 1, count: int = 600
) -> list[str]:
    with broker(kind, tmp_path) as target:
        for _ in range(times):
            feed(target.bootstrap, count)
        placed = Job(
            target.bootstrap,
            str(tmp_path / "checkpoint"),
            query=query,
            door=job.door,
            mode=job.mode,
            rows_per_batch=150 * times,
        )
        seen = run(placed, faults, tmp_path, target, count)
        assert seen.fired == len(faults), f"{seen}\n{seen.said[-4000:]}"
        return [row.value.decode() for row in read(target.bootstrap, LEFT, "read_committed")]


UPDATES = Job("", "", door="foreach", mode="update")


@pytest.mark.parametrize("kind", targets.chosen())
def test_counts_by_hour_stay_exact(kind: str, tmp_path: Path) -> None:
    faults = [
        Fault(MID_TASK, RAISE, 3),
        Fault(BEFORE_END_TXN, RAISE, 2),
        Fault(AFTER_END_TXN, KILL_DRIVER, 3),
    ]
    told = play_stateful(kind, "hours", tmp_path, UPDATES, faults)
    wanted = Counter((n % USERS, n * SECONDS_PER_NUMBER // 3600 * 3600) for n in range(600))
    assert [row for row, times in Counter(told).items() if times > 1] == []
    found: dict[tuple[int, int], int] = {}
    for row in told:
        user, hour, number = map(int, row.split())
        found[user, hour] = max(number, found.get((user, hour), 0))
    assert found == wanted


@pytest.mark.parametrize("kind", targets.chosen())
def test_drop_duplicates_lets_each_through_once(kind: str, tmp_path: Path) -> None:
    faults = [
        Fault(BEFORE_END_TXN, KILL_DRIVER, 2),
        Fault(AFTER_END_TXN, RAISE, 3),
        Fault(AFTER_FLUSH, KILL_WORKER, 9),
    ]
    told = play_stateful(kind, "distinct", tmp_path, Job("", ""), faults, times=3)
    assert sorted(map(int, told)) == list(range(600))


def has_protobuf() -> bool:
    try:
        return importlib.util.find_spec("google.protobuf") is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("kind", targets.chosen())
def test_transform_with_state_counts_every_row_once(kind: str, tmp_path: Path) -> None:
    if not has_protobuf():
        leave_out("transformWithState", Missing("pyspark wants protobuf for it, which is not installed"))
    faults = [
        Fault(MID_TASK, RAISE, 3),
        Fault(BEFORE_END_TXN, KILL_DRIVER, 2),
        Fault(AFTER_END_TXN, RAISE, 3),
    ]
    told = play_stateful(kind, "running", tmp_path, UPDATES, faults)
    wanted = Counter(f"{user} {number}" for user in range(USERS) for number in range(1, 61))
    assert Counter(told) == wanted


# The harness


def test_a_fault_happens_at_its_passage_and_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(fault_points.FAULT, f"{MID_TASK}:{RAISE}:2,{AFTER_FLUSH}:{RAISE}")
    monkeypatch.setenv(fault_points.DIRECTORY, str(tmp_path))
    fault_points.reach(MID_TASK)
    with pytest.raises(Injected, match=MID_TASK):
        fault_points.reach(MID_TASK)
    fault_points.reach(MID_TASK)
    with pytest.raises(Injected, match=AFTER_FLUSH):
        fault_points.reach(AFTER_FLUSH)
    fault_points.reach(BEFORE_END_TXN)
    assert sorted(each.name for each in tmp_path.glob("*.fired")) == [
        "after_flush.1.fired",
        "mid_task.2.fired",
    ]


@pytest.mark.parametrize("asked", ["nowhere:raise", "mid_task:explode", "mid_task:raise:soon", "mid_task"])
def test_a_misspelt_fault_is_no_fault_in_silence(asked: str) -> None:
    with pytest.raises(ValueError, match=r"wanted POINT:ACTION\[:NTH\]"):
        fault_points.read_faults(asked)


def test_without_a_fault_nothing_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(fault_points.FAULT, raising=False)
    monkeypatch.setenv(fault_points.DIRECTORY, str(tmp_path))
    fault_points.reach(MID_TASK)
    fault_points.enter_task()
    assert list(tmp_path.iterdir()) == []


def test_a_seed_decides_the_faults() -> None:
    assert draw(random.Random(4), 20) == draw(random.Random(4), 20) != draw(random.Random(5), 20)
    drawn = draw(random.Random(4), 20)
    assert len({(each.point, each.nth) for each in drawn}) == 20
    in_tasks = {
        each.point
        for each in draw(random.Random(4), 40, "foreach")
        if each.action == fault_points.KILL_WORKER
    }
    assert in_tasks == {MID_TASK, AFTER_FLUSH}
    on_cluster = Counter(each.action for each in draw(random.Random(4), 20, shares=CLUSTER_SHARES))
    assert on_cluster == CLUSTER_SHARES
    assert on_cluster[KILL_EXECUTOR] == 4


def test_the_judge_sees_what_is_wrong(tmp_path: Path) -> None:
    with broker("oncelog", tmp_path) as target:
        feed(target.bootstrap, PARTITIONS)
        write_all(target.bootstrap, LEFT, [b"0", b"1", b"1"])
        write_all(target.bootstrap, RIGHT, [b"0", b"2"])
        seen = judge(target.bootstrap, PARTITIONS, 1, (), 0.0, "")
    assert (seen.rows, seen.duplicates, seen.lost, seen.torn) == (5, 1, 4, 2)
    assert {each.split(":")[0] for each in seen.anomalies} == {"duplicate", "lost-write", "torn-transaction"}
