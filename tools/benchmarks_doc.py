"""Fills the measured parts of README.md, docs/benchmarks.md and docs/cost.md from bench/results, which `make bench` writes."""

import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import hot_path
from oncelog.cost import report, scaling
from tools.generated import ROOT, filled, main

RESULTS = ROOT / "bench/results"
OURS = "oncelog"
KAFKA = "Apache Kafka"
TUNED = "Apache Kafka, backoff 1 ms"

# Why a cell is lost, by a part of its name: whoever loses a new one has to look for the reason.
REASONS = {
    "1 MB batches": "Most of it is one copy into the page cache, which Kafka's several threads do side by side; we have one.",
    "librdkafka": "The client is the limit, and it shares two cores with the broker; its batches grow while the broker is busy, which "
    "favours the broker with more threads.",
    "Java": "The client needs more CPU than either broker.",
    "200 producers": "Kafka hides its wait between transactions when many producers take turns, and uses both cores; we use one.",
    "10 records of 100 B": "As with 200 producers: one core against two.",
    "1 partition": "As with 200 producers: one core against two.",
    "p50": "A request crosses one thread that is busy with others; Kafka has a thread for each request that is under way.",
    "p99": "One thread answers everybody: what delays it (a slow write, another process on its core) delays all that wait.",
    "connections": "One thread serves all of them, on one core; Kafka uses both.",
    "1,000 records": "Sixty-three requests of 16 KB each: the page cache is the larger part, and Kafka writes with several threads.",
    "100 records": "As with 1,000 records.",
    "fetch": "Kafka hands the file to the socket in the kernel; we read and write it.",
    "acks=1": "One core against two.",
    "16 KB batches": "One core against two.",
    "recovery": "We read the tail behind the last checkpoint with Python.",
}


def read(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def markdown_table(rows: Sequence[Mapping[str, str]], head: str) -> str:
    columns = head.split("|")
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return "\n".join(lines + [f"| {' | '.join(row.get(each, '') for each in columns)} |" for row in rows])


def all_rows(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "Not measured."
    table = markdown_table(report.table(found), "figure|oncelog|beside|ratio|bar|broker CPU|CPU beside")
    troubles = "".join(f"\n- not measured: {each}" for each in found["troubles"])
    return f"{table}\n\n{report.conditions(found)}{troubles}"


def lost(found: Mapping[str, Any] | None) -> str:
    """Every row that we lose or whose bar is missed, with the reason."""
    if found is None:
        return "Not measured."
    rows = [row for row in report.table(found) if "**" in row["bar"]]
    if not rows:
        return "None in this run."
    return "\n".join(
        f"- {row['figure']}: {row['ratio']} beside {row['beside'].partition('(')[2].rstrip(')')}. {reason_of(row['figure'])}"
        for row in rows
    )


def reason_of(figure: str) -> str:
    for part, reason in REASONS.items():
        if part in figure:
            return reason
    raise ValueError(f"{figure} is lost: wanted a reason in REASONS, found none")


def in_short(found: Mapping[str, Any] | None) -> str:
    """The README's table: the rows that have a bar."""
    if found is None:
        return "Not measured."
    rows = [row for row in report.table(found) if row["bar"].startswith((">", "<"))]
    return f"{markdown_table(rows, 'figure|oncelog|beside|ratio|bar')}\n\n{report.conditions(found)}"


def curves(found: dict[str, Any] | None) -> str:
    return "Not measured." if found is None else scaling.markdown(found).rstrip("\n")


def steps(found: dict[str, Any] | None) -> str:
    return "Not measured." if found is None else hot_path.table(found)


# ---- docs/cost.md

SEED = (
    ("acks=1, no retries recognised", "plain produce, acks=1, 1 KB, 16 KB batches"),
    ("acks=all, idempotent", "idempotent produce, 1 KB, 16 KB batches"),
    ("a transaction per 1,000 records", "transactions of 1,000 records, 10 producers"),
    ("a transaction per 100 records", "transactions of 100 records, 10 producers"),
    ("a transaction per 10 records", "transactions of 10 records, 50 producers"),
)


def median_of(
    found: Mapping[str, Any], cell: str, side: str, of: Callable[[Mapping[str, Any]], float]
) -> float | None:
    runs = [each for each in found["runs"] if each["cell"] == cell and each["side"] == side]
    return statistics.median(of(each) for each in runs) if runs else None


def per_record(found: dict[str, Any] | None) -> str:
    """Seed 003's rows: records a second, and what a record costs the broker."""
    if found is None:
        return "Not measured."
    rows: list[dict[str, str]] = []
    base: dict[str, float] = {}
    for name, cell in SEED:
        row = {"written with": name}
        for side, shown in ((OURS, "oncelog"), (KAFKA, "Apache Kafka")):
            rate = median_of(found, cell, side, lambda run: run["records"] / run["seconds"])
            cpu = median_of(found, cell, side, lambda run: 1e6 * run["broker_cpu_seconds"] / run["records"])
            if rate is None or cpu is None:
                continue
            base.setdefault(side, cpu)
            row[f"{shown}, records/s"] = f"{rate:,.0f}"
            row[f"{shown}, CPU us/record"] = f"{cpu:.1f} ({cpu / base[side]:.1f}x)"
        rows.append(row)
    head = "written with|oncelog, records/s|oncelog, CPU us/record|Apache Kafka, records/s|Apache Kafka, CPU us/record"
    return markdown_table(rows, head)


def delay(found: dict[str, Any] | None) -> str:
    if found is None:
        return "Not measured."
    wanted = ("begin to read", "EndTxn to read", "whole transaction")
    rows = [row for row in report.table(found) if row["figure"].startswith(wanted)]
    return markdown_table(rows, "figure|oncelog|beside|ratio")


def documents() -> dict[Path, str]:
    eos, power = read("eos"), read("eos-power")
    parts: dict[Path, dict[str, str]] = {
        ROOT / "README.md": {"measured": in_short(eos)},
        ROOT / "docs/benchmarks.md": {
            "process": all_rows(eos),
            "lost": lost(eos),
            "power": all_rows(power),
            "scaling": curves(read("eos-scaling")),
            "steps": steps(read("hot_path")),
        },
        ROOT / "docs/cost.md": {"per record": per_record(eos), "delay": delay(eos)},
    }
    found: dict[Path, str] = {}
    for path, contents in parts.items():
        text = path.read_text(encoding="utf-8")
        for name, content in contents.items():
            text = filled(text, name, content)
        found[path] = text
    return found


if __name__ == "__main__":
    sys.exit(max(main(path, text, __doc__) for path, text in documents().items()))
