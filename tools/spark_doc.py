"""Fills docs/spark.md with what was measured and what was killed: bench/results/spark.json and spark_kills.json."""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from oncelog.spark import fault_points
from tools.benchmarks_doc import markdown_table, read, spark
from tools.generated import ROOT, filled, main

PATH = ROOT / "docs/spark.md"
NOT_YET = "Not measured."
BROKERS = {"oncelog": "oncelog", "kafka": "Apache Kafka"}
SOAK = "seed "  # how its runs are called; all others are the matrix
KINDS = {
    fault_points.RAISE: "exception",
    fault_points.KILL_WORKER: "worker or committer killed",
    fault_points.KILL_EXECUTOR: "executor killed",
    fault_points.KILL_DRIVER: "driver killed",
    fault_points.KILL_BROKER: "broker killed",
}
OUTCOME = "rows read|duplicates|lost|torn"


def faults_of(runs: Iterable[dict[str, Any]]) -> list[fault_points.Fault]:
    return [fault for run in runs for word in run["faults"] for fault in fault_points.read_faults(word)]


def outcome(runs: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The columns that all tables end with."""
    return {
        "rows read": f"{sum(run['rows'] for run in runs):,}",
        **{name: f"{sum(run[name] for run in runs):,}" for name in ("duplicates", "lost", "torn")},
    }


def matrix(found: dict[str, Any] | None) -> str:
    runs = [run for run in (found or {"runs": []})["runs"] if not run["what"].startswith(SOAK)]
    if not runs:
        return NOT_YET
    order = list(BROKERS)
    rows = [
        {
            "broker": BROKERS[run["target"]],
            "what was hit": run["what"],
            "faults": str(len(run["faults"])),
            "driver runs": str(run["driver_runs"]),
            **outcome([run]),
            "as wanted": "yes" if run["right"] else "**no**",
        }
        for run in sorted(runs, key=lambda run: order.index(run["target"]))
    ]
    return markdown_table(rows, f"broker|what was hit|faults|driver runs|{OUTCOME}|as wanted")


def soak(found: dict[str, Any] | None) -> str:
    """Which fault happened how often at which point, and what readers of committed records saw in the end."""
    runs = [run for run in (found or {"runs": []})["runs"] if run["what"].startswith(SOAK)]
    if not runs:
        return NOT_YET
    rows: list[dict[str, str]] = []
    for target, broker in BROKERS.items():
        counted = Counter((each.action, each.point) for each in faults_of(of(runs, target)))
        for action, name in KINDS.items():
            by_point = {point: counted[action, point] for point in fault_points.POINTS}
            if any(by_point.values()):
                cells = {point: str(number) for point, number in by_point.items()}
                rows.append({"broker": broker, "fault": name, **cells, "all": str(sum(by_point.values()))})
    where = markdown_table(rows, "|".join(["broker", "fault", *fault_points.POINTS, "all"]))
    sums = [
        {
            "broker": broker,
            "faults": str(len(faults_of(mine))),
            "rounds": str(len(mine)),
            "driver runs": str(sum(run["driver_runs"] for run in mine)),
            **outcome(mine),
            "rounds that went wrong": str(sum(not run["right"] for run in mine)),
        }
        for target, broker in BROKERS.items()
        if (mine := of(runs, target))
    ]
    result = markdown_table(sums, f"broker|faults|rounds|driver runs|{OUTCOME}|rounds that went wrong")
    return f"{where}\n\n{result}"


def of(runs: Iterable[dict[str, Any]], target: str) -> list[dict[str, Any]]:
    return [run for run in runs if run["target"] == target]


def text() -> str:
    kills = read("spark_kills")
    parts = {"speed": spark(read("spark")), "matrix": matrix(kills), "soak": soak(kills)}
    made = PATH.read_text(encoding="utf-8")
    for name, content in parts.items():
        made = filled(made, name, content)
    return made


if __name__ == "__main__":
    sys.exit(main(PATH, text(), __doc__))
