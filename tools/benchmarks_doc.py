"""Fills the measured parts of README.md, docs/benchmarks.md, docs/cost.md, docs/inspector.md and the page's Cost screen from bench/results, which `make bench` and `make bench-spark` write, and makes
the tables and charts there anew."""

import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import hot_path, reasons, spark_report
from oncelog.cost import eos, report, scaling
from tools.generated import ROOT, filled, main

RESULTS = ROOT / "bench/results"
MEASURED = ROOT / "src/oncelog/inspect/page/measured"
OURS = "oncelog"
PYTHON = "oncelog, hot.path=python"
KAFKA = "Apache Kafka"
TUNED = "Apache Kafka, backoff 1 ms"
SIDES = (OURS, PYTHON, KAFKA, TUNED)


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
    table = markdown_table(report.table(found), "|".join(report.columns(found)))
    troubles = "".join(f"\n- not measured: {each}" for each in found["troubles"])
    setup = "".join(f"\n- {each}" for each in report.setup(found))
    return f"{table}\n\n{report.conditions(found)}" + (f"\n{setup}" if setup else "") + troubles


def status(found: Mapping[str, Any] | None) -> str:
    """Whether the figures are settled, by what the run says of itself."""
    if found is None:
        return "Nothing has been measured yet."
    doubts = report.doubts(found)
    if not doubts:
        busiest = report.busiest(found)
        return f"{found['rounds']} interleaved rounds on a quiet machine; in the busiest run others used {busiest:.0%} of it."
    return f"**A first look, no row of it is settled**: {', '.join(doubts)}. `make bench` on a quiet machine replaces it."


def lost(*all_found: Mapping[str, Any] | None) -> str:
    """Every row that a form of ours loses or whose bar it misses, with the reason."""
    lines: list[str] = []
    for found in all_found:
        ours = report.sides_of(found)[0] if found is not None else []
        for form in ours:
            assert found is not None
            by_reason: dict[str, list[str]] = {}
            for row in report.losing(found, form):
                reason = reasons.REASONS.get((form, row.cell))
                told = str(row.ratios[form]).replace("**", "")
                figures = "" if reason is None else reason.measured(row, form)
                said = f"{row.figure} ({told}{'; ' if figures else ''}{figures})"
                by_reason.setdefault(reasons.UNKNOWN if reason is None else reason.said(), []).append(said)
            where = "with a sync before every answer" if found["power"] else report.short(form)
            lines += [f"- {where}: {'; '.join(rows)}. {reason}" for reason, rows in by_reason.items()]
    if not lines:
        return "None in this run." if any(found is not None for found in all_found) else "Not measured."
    return "\n".join(lines)


def picture(name: str, shows: str) -> str:
    """The chart that stands beside the figures, if there are some: `documents` draws it."""
    return f"\n\n![{shows}](../bench/results/{name}.svg)" if (RESULTS / f"{name}.json").is_file() else ""


def in_short(found: Mapping[str, Any] | None) -> str:
    """The README's table: the rows that have a bar; and which of them Python alone misses."""
    if found is None:
        return "Not measured."
    rows = [row for row in report.table(found) if row.get(report.WANTED)]
    kept = [each for each in report.columns(found) if each not in (report.CPU, report.CLIENT_CPU)]
    table = markdown_table(rows, "|".join(kept))
    return f"{status(found)} {python_alone(found)}\n\n{table}\n\n{report.conditions(found)}"


def python_alone(found: Mapping[str, Any]) -> str:
    """Which bars are missed without the lane."""
    ours, _ = report.sides_of(found)
    if PYTHON not in ours:
        return ""
    head = report.ratio_of(PYTHON, ours)
    judged = [row for row in report.table(found) if row.get(report.WANTED) and row.get(head)]
    missed = [row for row in judged if "missed" in row[head]]
    if not missed:
        return f"Without a C compiler (`python`) all {len(judged)} bars hold too."
    names = "; ".join(f"{row['figure']} ({row[head].split(' ')[0]})" for row in missed)
    return f"**Without a C compiler (`python`) {len(missed)} of {len(judged)} bars are missed**: {names}."


def curves(found: dict[str, Any] | None) -> str:
    if found is None:
        return "Not measured."
    return scaling.markdown(found).rstrip("\n") + picture("eos-scaling", "cost as things grow")


def steps(found: dict[str, Any] | None) -> str:
    return "Not measured." if found is None else f"{hot_path.table(found)}{hot_path.conditions(found)}"


def spark(found: dict[str, Any] | None) -> str:
    """Of source and sink: the table, what is lost and why, the chart; for docs/spark.md too."""
    if found is None:
        return "Not measured."
    lost_cells = f"Where we lose, and why as far as we know:\n\n{spark_report.lost(found)}"
    shown = picture("spark", "ratios to Spark's own Kafka connector")
    return f"{spark_report.table(found)}\n{spark_report.conditions(found)}\n\n{lost_cells}{shown}"


# ---- docs/cost.md

P99 = "p99, times its first row"
SEED = (
    ("acks=1, no retries recognised", "plain produce, acks=1, 1 KB, 16 KB batches, 10 producers"),
    ("acks=all, idempotent", "idempotent produce, 1 KB, 16 KB batches, 10 producers"),
    ("a transaction per 1,000 records", "transactions of 1,000 records, 10 producers"),
    ("a transaction per 100 records", "transactions of 100 records, 10 producers"),
    ("a transaction per 10 records", "transactions of 10 records, 10 producers"),
)


def median_of(
    found: Mapping[str, Any], cell: str, side: str, of: Callable[[Mapping[str, Any]], float]
) -> float | None:
    runs = [each for each in found["runs"] if each["cell"] == cell and each["side"] == side]
    return statistics.median(of(each) for each in runs) if runs else None


def per_record(found: dict[str, Any] | None) -> str:
    """Seed 003's rows: records a second, p99, and what a record costs the broker. All of it at full load, where latencies of two sides are not
    compared: a p99 is a multiple of that of the same side's first row."""
    if found is None:
        return "Not measured."
    rows: list[dict[str, str]] = []
    base: dict[str, tuple[float, float]] = {}  # CPU and p99 of the first row
    for name, cell in SEED:
        row = {"written with": name}
        for side in SIDES:
            rate = median_of(found, cell, side, lambda run: run["records"] / run["seconds"])
            cpu = median_of(found, cell, side, lambda run: 1e6 * run["broker_cpu_seconds"] / run["records"])
            p99 = median_of(found, cell, side, lambda run: run["latency_us"]["p99"] / 1000)
            shown = report.short(side)
            if rate is None or cpu is None or p99 is None:
                row[f"{shown}: records/s"] = "not measured"
                continue
            row[f"{shown}: records/s"] = f"{rate:,.0f}"
            row[f"{shown}: CPU us/record"] = f"{cpu:.1f}"
            if cell == SEED[0][1]:
                base[side] = cpu, p99
            if side in base:
                of_cpu, of_p99 = base[side]
                row[f"{shown}: CPU us/record"] += f" ({cpu / of_cpu:.1f}x)"
                row[f"{shown}: {P99}"] = f"{p99 / of_p99:.1f}x"
        rows.append(row)
    shown = [report.short(side) for side in SIDES]
    parts = [
        markdown_table(rows, "|".join(("written with", *(f"{side}: {what}" for side in shown))))
        for what in ("records/s", P99, "CPU us/record")
    ]
    return "\n\n".join(parts)


def open_for(found: dict[str, Any] | None) -> str:
    """The reader's delay by how long the transaction stays open."""
    if found is None:
        return "Not measured."
    begin, end = "begin to read at read_committed", "EndTxn to read (lag of the last stable offset)"
    values = {(each["cell"], each["side"]): each["value"] for each in found.get("pooled", [])}
    rows: list[dict[str, str]] = []
    lengths = [("only while its records are written", f"at {eos.SEEN_RATE} txn/s")]
    lengths += [(f"{open_ms:,} ms", f"of transactions open for {open_ms:,} ms") for open_ms in eos.OPEN_MS]
    heads = ["open for"]
    for length, paced in lengths:
        row = {"open for": length}
        for side in SIDES:
            for shown, what in (("begin to read", begin), ("EndTxn to read", end)):
                of_it = [values.get((f"{what}, {share} {paced}", side)) for share in ("p50", "p99")]
                head = f"{report.short(side)}: {shown}"
                if None not in of_it:
                    row[head] = " / ".join(f"{each:,.2f}" for each in of_it if each is not None)
                if head not in heads:
                    heads.append(head)
        if len(row) > 1:
            rows.append(row)
    if not rows:
        return "Not measured in this run."
    said = "p50 / p99, ms, of all rounds together."
    return f"{markdown_table(rows, '|'.join(heads))}\n\n{said}"


def delay(found: dict[str, Any] | None) -> str:
    if found is None:
        return "Not measured."
    wanted = ("begin to read", "EndTxn to read", "whole transaction", "EndTxn, p")
    rows = [
        row
        for row in report.table(found)
        if row["figure"].startswith(wanted) and "transactions open for" not in row["figure"]
    ]
    kept = [
        each for each in report.columns(found) if each not in (report.CPU, report.CLIENT_CPU, report.WANTED)
    ]
    missing = [each for each in wanted if not any(row["figure"].startswith(each) for row in rows)]
    said = f"\n\nNot measured in this run: {', '.join(missing)}." if missing else ""
    return markdown_table(rows, "|".join(kept)) + said


def trace_cost(wires: Mapping[str, Mapping[str, Any] | None], inside: Mapping[str, Any] | None) -> str:
    """What keeping requests costs, over sockets by each hot path, and in the broker's thread alone."""
    rows: list[dict[str, str]] = []
    measured = {path: wire for path, wire in wires.items() if wire is not None}
    for path, wire in measured.items():
        for name, what in (
            ("time_ratio", "time of a transaction"),
            ("cpu_ratio", "broker CPU for a transaction"),
        ):
            rows.append(
                {
                    "figure": f"{what}, over sockets, `hot.path={path}`",
                    "with / without": f"{wire[name]['median']:.3f}",
                    "95 % interval": _range(wire[name]["interval_95"]),
                    "half of the rounds": _range(wire[name]["quartiles"]),
                    "measured by": f"`{wire['command']}`",
                }
            )
    if inside is not None:
        rows.append(
            {
                "figure": "broker CPU for a transaction, without sockets, `hot.path=python`",
                "with / without": f"{inside['cpu_ratio']['median']:.3f}",
                "95 % interval": "",
                "half of the rounds": _range(inside["cpu_ratio"]["quartiles"]),
                "measured by": f"`{inside['command']}`",
            }
        )
    missing = [f"`hot.path={each}`" for each in wires if each not in measured]
    said = f"Not measured over sockets: {', '.join(missing)}." if missing else ""
    if not rows:
        return said
    parts = [markdown_table(rows, "figure|with / without|95 % interval|half of the rounds|measured by")]
    for path, wire in measured.items():
        busy = max(each["other_load_share"] for each in wire["medians"].values())
        parts.append(
            f"`hot.path={path}`: {wire['load']}; meanwhile others used {busy:.0%} of this machine's cores."
        )
    return "\n\n".join([*parts, said] if said else parts)


def _range(ends: Sequence[float]) -> str:
    return f"{ends[0]:.3f} to {ends[1]:.3f}"


def documents() -> dict[Path, str]:
    measured, power = read("eos"), read("eos-power")
    parts: dict[Path, dict[str, str]] = {
        ROOT / "README.md": {"measured": in_short(measured)},
        ROOT / "docs/benchmarks.md": {
            "status": status(measured),
            "process": all_rows(measured) + picture("eos", "ratios to Apache Kafka"),
            "lost": lost(measured, power),
            "power": all_rows(power) + picture("eos-power", "ratios with a sync before every answer"),
            "scaling": curves(read("eos-scaling")),
            "spark": spark(read("spark")),
            "steps": steps(read("hot_path")),
        },
        ROOT / "docs/inspector.md": {
            "trace": trace_cost(
                {"python": read("trace_wire"), "native": read("trace_wire-native")}, read("trace")
            )
        },
        ROOT / "docs/cost.md": {
            "status": status(measured),
            "per record": per_record(measured),
            "delay": delay(measured),
            "open": open_for(measured),
        },
    }
    found: dict[Path, str] = {}
    for path, contents in parts.items():
        text = path.read_text(encoding="utf-8")
        for name, content in contents.items():
            text = filled(text, name, content)
        found[path] = text
    for name, results in (("eos", measured), ("eos-power", power)):
        if results is not None:
            found[MEASURED / f"{name}.json"] = shipped(results)
    return found | drawn()


def drawn() -> dict[Path, str]:
    """What stands beside the raw files for people."""
    found: dict[Path, str] = {}
    for name in (*report.RAW_FILES, "spark"):
        results = read(name)
        if results is not None:
            made = spark_report.pages(results) if name == "spark" else report.pages(name, results)
            found |= {RESULTS / page: text for page, text in made.items()}
    return found


def shipped(results: Mapping[str, Any]) -> str:
    """What the page shows of it where there is no checkout: the table and where it was measured."""
    wanted = ("machine", "oncelog", "when", "commit", "rounds", "seconds")
    kept = {name: results[name] for name in wanted if name in results}
    return json.dumps({**kept, "table": report.table(results)}, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(max(main(path, text, __doc__) for path, text in documents().items()))
