"""How the figures of Spark are put together: cells of several runs, bars that hold or not, what was killed and what was read."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import psutil
import pytest

from bench import spark, spark_report
from oncelog.cost.progress import Progress
from tests.toolchains import ROOT
from tools import benchmarks_doc, spark_doc


def run(kind: str, side: str, rate: float, *, broker: str = "oncelog", number: int = 0) -> dict[str, Any]:
    return {
        "kind": kind,
        "broker": broker,
        "load": "100 B",
        "side": side,
        "round": number,
        "records": 1000,
        "seconds": 1000 / rate,
        "records_per_second": rate,
        "spark_cpu_seconds": 1.5,
        "broker_cpu_seconds": 0.5,
        "other_load": 0.1,
    }


def found(*runs: dict[str, Any], version: str = "4.3.0") -> dict[str, Any]:
    machine = {"cores": 2, "python": "3.11.7"}
    return {"machine": machine, "spark": version, "jars": ["connector.jar"], "runs": list(runs)}


def pairs(kind: str, *rates: tuple[float, float], broker: str = "oncelog") -> list[dict[str, Any]]:
    return [
        run(kind, side, rate, broker=broker, number=number)
        for number, both in enumerate(rates)
        for side, rate in zip((spark.OURS, spark.BUILT_IN), both, strict=True)
    ]


@pytest.mark.parametrize(
    ("kind", "ratio", "said"),
    [
        ("read", 1.0, ">= 1.0x: holds"),
        ("read", 0.99, ">= 1.0x: **missed**"),
        ("copy", 1.2, ">= 0.8x: holds"),
        ("copy", 0.9, ">= 0.8x: holds, **we lose**"),
        ("write", 0.79, ">= 0.8x: **missed**"),
    ],
)
def test_a_bar(kind: str, ratio: float, said: str) -> None:
    assert spark_report.verdict(kind, ratio) == said


def test_a_kind_without_a_bar_tells_a_loss_nevertheless() -> None:
    assert spark_report.verdict("keyed", 1.1) == ""
    assert spark_report.verdict("keyed", 0.9) == "**we lose**"


class Process:
    """A process as psutil shows it: so many CPU seconds of its own and of ended children that it waited for."""

    def __init__(self, pid: int, own: float, ended: float = 0.0) -> None:
        self.pid, self.own, self.ended = pid, own, ended
        self.gone = False
        self.below: list[Process] = []
        self.asked = lambda: None

    def children(self, *, recursive: bool) -> list["Process"]:
        assert recursive
        return [each for each in self.below if not each.gone]

    def cpu_times(self) -> SimpleNamespace:
        self.asked()
        if self.gone:
            raise psutil.NoSuchProcess(self.pid)
        return SimpleNamespace(user=self.own, system=0.0, children_user=self.ended, children_system=0.0)


@pytest.mark.parametrize("when", ["before the worker is asked", "after it was asked"])
def test_a_worker_that_ends_while_cpu_is_counted_is_counted_once(when: str) -> None:
    driver, jvm, worker, broker = Process(1, 0.0), Process(2, 5.0), Process(3, 1.5), Process(4, 9.0)

    def ends() -> None:
        if not worker.gone:
            worker.gone = True
            jvm.ended += 1.5

    # Of two that are asked one after the other the later one's answer is of another time.
    if when == "before the worker is asked":
        driver.below, worker.asked = [jvm, worker, broker], ends
    else:
        driver.below, jvm.asked = [worker, jvm, broker], ends
    assert spark.cpu_below(driver, broker.pid) == 6.5  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("more", "right"),
    [({}, True), ({"spark_cpu_seconds": -0.19}, False), ({"other_load": 1.09}, False)],
)
def test_cpu_that_cannot_be_right_is_not_published(more: dict[str, float], right: bool) -> None:
    ours, theirs = pairs("read", (200, 100))
    ours |= more
    assert spark_report.plausible(ours) == right
    table, said = spark_report.table(found(ours, theirs)), spark_report.conditions(found(ours, theirs))
    assert table.splitlines()[2].endswith("| 1.00x |" if right else "|  |")
    assert ("not counted right" in said) != right
    assert "1.09" not in said


def test_a_run_whose_cpu_cannot_be_right_is_run_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([-1.0, 1.0, 1.0, 1.0, -0.19, 1.0, 1.0])

    def one(
        spark_: object, target: object, topic: str, load: spark.Load, kind: str, side: str
    ) -> dict[str, Any]:
        del spark_, target, topic, load
        return {**run(kind, side, 100), "spark_cpu_seconds": next(answers)}

    monkeypatch.setattr(spark, "one", one)
    told: list[str] = []
    target: Any = SimpleNamespace(name="oncelog")
    nobody: Any = object()
    kept = spark.compare(nobody, target, "t", spark.LOADS[0], "read", 2, Progress(told.append, 6))
    assert [(each["round"], each["side"], each["tries"]) for each in kept] == [
        (0, spark.OURS, 1),
        (0, spark.BUILT_IN, 1),
        (1, spark.BUILT_IN, 2),
        (1, spark.OURS, 1),
    ]
    assert all(each["when"] for each in kept)
    # The round that is not kept is a step like the others, a run that is tried again is one step.
    assert [line.split()[1] for line in told] == [f"{step}/6" for step in range(1, 7)]


def test_ratios_are_of_one_round_and_their_median_counts() -> None:
    (line,) = spark_report.table(found(*pairs("copy", (100, 200), (90, 100), (300, 100)))).splitlines()[2:]
    assert "| 1,000 of 100 B |" in line
    assert "| 0.90x (0.50..3.00) | >= 0.8x: holds, **we lose** |" in line


def test_a_cell_that_is_measured_again_replaces_the_older_one_and_no_other() -> None:
    older = found(
        *pairs("read", (1, 1)), *pairs("copy", (1, 1)), *pairs("read", (1, 1), broker="Apache Kafka")
    )
    newer = found(*pairs("read", (5, 1)))
    both = spark.merged(older, newer)
    assert spark_report.cells(both) == [
        ("read", "oncelog", "100 B"),
        ("read", "Apache Kafka", "100 B"),
        ("copy", "oncelog", "100 B"),
    ]
    rates = [
        each["records_per_second"]
        for each in both["runs"]
        if spark_report.cell_of(each) == spark_report.cells(newer)[0]
    ]
    assert rates == [5, 1]
    other = found(*pairs("read", (5, 1)), version="4.4.0")
    assert spark.merged(older, other) == other  # another Spark is another comparison


def asked(**more: Any) -> argparse.Namespace:
    said: dict[str, Any] = {
        "rounds": 5,
        "scale": 1.0,
        "only": spark.KINDS,
        "broker": spark.BROKERS,
        "load": [load.name for load in spark.LOADS],
    }
    return argparse.Namespace(**said | more)


def test_who_waits_is_told_of_all_runs_and_about_how_long_they_take() -> None:
    runs, seconds = spark.planned(asked())
    assert runs == 2 * 2 * 6 * (5 + 6 + 2)  # brokers, sides, rounds with the first one; kinds of each load
    assert 10 * 60 < seconds < 25 * 60
    some = spark.planned(
        asked(rounds=1, only=["read", "small"], broker=["oncelog"], load=["1 KB"], scale=0.5)
    )
    assert some == (8, pytest.approx(2.5 + 0.625 + 4 * 0.8 + 4 * 2.1))


def test_the_names_of_loads_and_their_topics() -> None:
    assert tuple(load.name for load in spark.LOADS) == spark_report.LOADS
    turns = list(spark.turns(asked(only=["small", "copy", "read"], scale=0.1)))
    assert [(turn.kind, turn.topic, turn.load.records, turn.is_new) for turn in turns] == [
        ("copy", "load-0", 100_000, True),
        ("read", "load-0", 100_000, False),
        ("small", "load-1-small", 20_000, True),
        ("copy", "load-1", 80_000, True),
        ("read", "load-1", 80_000, False),
        ("read", "load-2", 100_000, True),
    ]


def test_the_chart_is_made_of_the_raw_file_and_marks_what_is_lost(tmp_path: Path) -> None:
    kept = found(
        *pairs("read", (300, 100)),
        *pairs("write", (90, 100)),
        *pairs("keyed", (90, 100), broker="Apache Kafka"),
    )
    (tmp_path / "spark.json").write_text(json.dumps(kept))
    words = [sys.executable, "-m", "bench.spark_report", str(tmp_path)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    drawn = ElementTree.fromstring((tmp_path / "spark.svg").read_text())
    texts = [each.text or "" for each in drawn.iter() if each.tag.endswith("}text")]
    assert "3.00x" in texts
    assert texts.count("0.90x we lose") == 2  # with a bar that holds, and without one
    bars = [each.get("class") for each in drawn.iter() if each.tag.endswith("}rect")]
    assert bars == ["back", "better", "worse", "worse"]
    wanted = [each for each in drawn.iter() if each.get("class") == "wanted"]
    assert len(wanted) == 2  # keyed has none
    assert (tmp_path / "spark.md").read_text() == spark_report.markdown(kept)


def test_a_raw_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "bench.spark_report", str(tmp_path)]
    said = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr == f"bench spark: wanted {tmp_path}/spark.json, found none\n"


def micro_batches(kind: str, side: str, records: int, seconds: float) -> dict[str, Any]:
    """Nine of them, each with so many records and so long."""
    one = run(kind, side, records / seconds)
    return one | {"load": "1 KB", "records": 9 * records, "seconds": 9 * seconds}


def test_what_a_micro_batch_takes_by_itself_is_told_by_two_sizes_of_it() -> None:
    """Ours 0.2 s and 2 us a record, the built-in 0.1 s and 4 us: equal at 50,000 records."""
    kept = found(
        *(
            micro_batches(kind, side, records, fixed + each * records)
            for kind, records in (("small", 20_000), ("copy", 80_000))
            for side, fixed, each in ((spark.OURS, 0.2, 2e-6), (spark.BUILT_IN, 0.1, 4e-6))
        )
    )
    (line,) = spark_report.lost(kept).splitlines()
    assert line.startswith("- small, oncelog, 1 KB: 0.75x (0.75..0.75), missed, with 1.00 times")
    assert "takes us 200 ms before its first record, the built-in connector 100 ms" in line
    assert "each record 2.0 and 4.0 us" in line
    assert "equal at 50,000 records a micro-batch" in line
    assert "Reasoning, not measured: for each partition a Python worker" in line
    alone = found(*(each for each in kept["runs"] if each["kind"] == "small"))
    assert "By `small` and `copy`" not in spark_report.lost(alone)


def test_keyed_is_told_beside_each_side_s_own_copy() -> None:
    kept = found(*pairs("copy", (200, 100)), *pairs("keyed", (80, 90)))
    (line,) = spark_report.lost(kept).splitlines()
    assert "Of its own `copy` ours keeps 0.40x here, the built-in sink 0.90x." in line


def kills(what: str, *faults: str, target: str = "oncelog", **seen: int) -> dict[str, Any]:
    zero = {"rows": 10, "duplicates": 0, "lost": 0, "torn": 0, "driver_runs": 1}
    return {"target": target, "what": what, "right": not seen, "faults": list(faults), **zero, **seen}


def test_faults_are_counted_by_kind_and_point_and_losses_are_not_hidden() -> None:
    text = spark_doc.soak(
        {
            "runs": [
                kills("seed 1, 2 faults, append", "mid_task:kill_driver:3", "mid_task:kill_driver:5"),
                kills("seed 26, 1 faults, append", "after_flush:raise:1", duplicates=2, lost=1),
                kills("seed 51, 1 faults, append", "mid_task:kill_driver:2"),
                kills("driver at each of 6 points, append", "after_flush:kill_driver:1"),
            ]
        }
    )
    assert "| oncelog | driver killed | 3 | 0 | 0 | 0 | 0 | 0 | 3 |" in text
    assert "| oncelog | exception | 0 | 1 | 0 | 0 | 0 | 0 | 1 |" in text
    assert text.splitlines()[-1] == "| oncelog | 4 | 3 | 3 | 30 | 2 | 1 | 0 | 1 |"


def test_the_matrix_has_a_line_for_each_run() -> None:
    text = spark_doc.matrix(
        {
            "runs": [
                kills("broker at each of 6 points, append", "mid_task:kill_broker:1", target="kafka"),
                kills("seed 1, 1 faults, append", "mid_task:raise:1"),
                kills("task at each of 6 points, append", "mid_task:raise:1", torn=3),
            ]
        }
    )
    first, second = text.splitlines()[2:]
    assert first == "| oncelog | task at each of 6 points, append | 1 | 1 | 10 | 0 | 0 | 3 | **no** |"
    assert second == "| Apache Kafka | broker at each of 6 points, append | 1 | 1 | 10 | 0 | 0 | 0 | yes |"
    assert spark_doc.matrix(None) == spark_doc.soak(None) == "Not measured."
    assert benchmarks_doc.spark(None) == "Not measured."
