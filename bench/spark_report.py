"""What bench/spark.py measured, for people: table, chart, where we lose and why. Made of the raw file alone, without Spark:

python -m bench.spark_report bench/results
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.reasons import REASONING, UNKNOWN
from oncelog.cost import drawing

PARTITIONS: Final = 4
SMALL: Final = 4  # times fewer records
MICRO_BATCHES: Final = 10
BUILT_IN: Final = "kafka"
OURS: Final = "oncelog"
KAFKA: Final = "Apache Kafka"
KINDS: Final = ("read", "stream", "write", "copy", "keyed", "small")
LOADS: Final = ("100 B", "1 KB", "100 B, lz4")
BARS: Final = {
    "read": 1.0,
    "stream": 1.0,
    "write": 0.8,
    "copy": 0.8,
    "small": 0.8,
    # keyed has none: it came later
}  # ours / built-in, medians
Cell = tuple[str, str, str]  # kind, broker, load


def plausible(run: Mapping[str, Any]) -> bool:
    """Somebody worked, and nobody more than there are cores."""
    return run["spark_cpu_seconds"] > 0 and run["broker_cpu_seconds"] >= 0 and run["other_load"] <= 1


def cells(found: Mapping[str, Any]) -> list[Cell]:
    """What was measured, in the order of the constants above."""
    there = {cell_of(run) for run in found["runs"]}
    wanted = [(kind, broker, load) for kind in KINDS for broker in (OURS, KAFKA) for load in LOADS]
    return [each for each in wanted if each in there]


def cell_of(run: Mapping[str, Any]) -> Cell:
    return run["kind"], run["broker"], run["load"]


def all_cpu(run: Mapping[str, Any]) -> float:
    return run["spark_cpu_seconds"] + run["broker_cpu_seconds"]


def middle(runs: Sequence[Mapping[str, Any]]) -> float:
    return statistics.median(run["records_per_second"] for run in runs)


@dataclass(frozen=True, slots=True)
class Judged:
    """One cell: the runs of both sides by turns, and their ratios, of records a second and of CPU."""

    cell: Cell
    ours: Sequence[Mapping[str, Any]]
    theirs: Sequence[Mapping[str, Any]]
    ratios: Sequence[float]  # of each round
    cpu: float | None  # built-in / ours

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def mark(self) -> str:
        """What is bad about it, in words."""
        if self.ratio < BARS.get(self.cell[0], 0.0):
            return "missed"
        return "we lose" if self.ratio < 1 else ""


def judged(found: Mapping[str, Any]) -> list[Judged]:
    cells_judged: list[Judged] = []
    for cell in cells(found):
        mine = [run for run in found["runs"] if cell_of(run) == cell]
        ours, theirs = ([run for run in mine if run["side"] == side] for side in (OURS, BUILT_IN))
        pairs = list(zip(ours, theirs, strict=True))
        ratios = [a["records_per_second"] / b["records_per_second"] for a, b in pairs]
        cpu = [all_cpu(b) / all_cpu(a) for a, b in pairs if plausible(a) and plausible(b)]
        cells_judged.append(Judged(cell, ours, theirs, ratios, statistics.median(cpu) if cpu else None))
    return cells_judged


def table(found: Mapping[str, Any]) -> str:
    lines = [
        "| what | broker | records counted | oncelog, records/s | built-in, records/s | ratio (smallest..largest) | bar | CPU, built-in / ours |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in judged(found):
        kind, broker, load = each.cell
        counted = max(run["records"] for run in (*each.ours, *each.theirs))
        lines.append(
            f"| {kind} | {broker} | {counted:,} of {load} | {middle(each.ours):,.0f} | {middle(each.theirs):,.0f} | {spread(each)} | "
            f"{verdict(kind, each.ratio)} | {'' if each.cpu is None else f'{each.cpu:.2f}x'} |"
        )
    return "\n".join(lines) + "\n"


def spread(each: Judged) -> str:
    return f"{each.ratio:.2f}x ({min(each.ratios):.2f}..{max(each.ratios):.2f})"


def verdict(kind: str, ratio: float) -> str:
    wanted = BARS.get(kind)
    if wanted is None:
        return "" if ratio >= 1.0 else "**we lose**"
    bar = f">= {wanted:.1f}x: {'holds' if ratio >= wanted else '**missed**'}"
    return bar if ratio >= 1.0 or ratio < wanted else f"{bar}, **we lose**"


def conditions(found: Mapping[str, Any]) -> str:
    """Under the table: what it was measured with."""
    rounds = {
        sum(cell_of(run) == cell and run["side"] == OURS for run in found["runs"]) for cell in cells(found)
    }
    right = [run for run in found["runs"] if plausible(run)]
    loads = [run["other_load"] for run in right] or [0.0]
    said = " or ".join(map(str, sorted(rounds)))
    where = found["machine"]
    cores = ", ".join(
        str(each)
        for each in (
            f"{where['cores']} cores",
            where.get("cpu"),
            where.get("file_system"),
            where.get("system"),
        )
        if each
    )
    text = (
        f"{said} rounds of each cell, sides in turns, after one that is not kept; {PARTITIONS} partitions. Spark {found['spark']}, "
        f"local[{min(where['cores'], PARTITIONS)}], {cores}, Python {where['python']}; other load of the machine {min(loads):.2f} to "
        f"{max(loads):.2f} of all cores. Built-in: {', '.join(found['jars'])}. Ratio: of the same round, the median."
    )
    brokers = "; ".join(f"{name}: {settings}" for name, settings in found.get("brokers", {}).items())
    if brokers:
        text += f" Brokers: {brokers}."
    times = sorted({(run["when"], run["commit"]) for run in found["runs"] if run.get("when")})
    if times:
        commits = ", ".join(dict.fromkeys(str(commit) for _, commit in times))
        text += f" Measured {times[0][0]} to {times[-1][0]}, commit {commits}."
    wrong = len(found["runs"]) - len(right)
    if wrong:
        text += f" In {wrong} run{'s' if wrong > 1 else ''} the CPU of the processes was not counted right: left out of the last column."
    return text


def chart(found: Mapping[str, Any]) -> str:
    rows = [
        drawing.Row(
            ", ".join(each.cell), [drawing.Bar(each.ratio, each.mark, not each.mark)], BARS.get(each.cell[0])
        )
        for each in judged(found)
    ]
    return drawing.ratios(rows, "oncelog's Spark source and sink beside Spark's own Kafka connector")


# ---- Where we lose


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a cell is lost: what is thought, and, where the raw file tells something of it, what was measured there."""

    thought: str
    measured: Callable[[Mapping[str, Any], Cell], str | None] = lambda found, cell: None  # noqa: ARG005

    def said(self, found: Mapping[str, Any], cell: Cell) -> str:
        figures = self.measured(found, cell)
        return f"{figures} {REASONING}{self.thought}" if figures else f"{REASONING}{self.thought}"


def in_micro_batches(found: Mapping[str, Any], cell: Cell) -> str | None:
    """`small` and `copy` of the same broker are two points of a line: the time of a micro-batch by its records."""
    _, broker, load = cell
    lines: dict[str, tuple[float, float]] = {}
    for side in (OURS, BUILT_IN):
        points: list[tuple[float, float]] = []
        for kind in ("small", "copy"):
            runs = [r for r in found["runs"] if cell_of(r) == (kind, broker, load) and r["side"] == side]
            if not runs:
                return None
            # All micro-batches but the first one count.
            records = statistics.median(run["records"] for run in runs) / (MICRO_BATCHES - 1)
            points.append((records, records / middle(runs)))
        (few, short), (many, long) = points
        if many == few:
            return None
        each = (long - short) / (many - few)
        lines[side] = short - each * few, each
    (ours, our_record), (theirs, their_record) = lines[OURS], lines[BUILT_IN]
    said = (
        f"By `small` and `copy` together a micro-batch takes us {1000 * ours:.0f} ms before its first record, the built-in connector "
        f"{1000 * theirs:.0f} ms, and each record {1e6 * our_record:.1f} and {1e6 * their_record:.1f} us."
    )
    if ours > theirs and our_record < their_record:
        meet = (ours - theirs) / (their_record - our_record)
        said += f" On these lines both are equal at {meet:,.0f} records a micro-batch."
    return said


def against_copy(found: Mapping[str, Any], cell: Cell) -> str | None:
    """What of its own `copy` each side keeps when the partition is by key."""
    _, broker, load = cell
    kept: list[float] = []
    for side in (OURS, BUILT_IN):
        rates = [
            middle(runs)
            for kind in ("keyed", "copy")
            if (
                runs := [r for r in found["runs"] if cell_of(r) == (kind, broker, load) and r["side"] == side]
            )
        ]
        if len(rates) < 2:
            return None
        kept.append(rates[0] / rates[1])
    return f"Of its own `copy` ours keeps {kept[0]:.2f}x here, the built-in sink {kept[1]:.2f}x."


FIXED: Final = Reason(
    "for each partition a Python worker is called to read and another to write, and twice more on the driver; "
    "the built-in connector stays inside the JVM.",
    in_micro_batches,
)
BYTES: Final = Reason(
    "each byte goes from the JVM's rows to Arrow, by a socket to a Python worker, and into record batches there; the built-in sink hands it "
    "to a producer in the same JVM. Per record ours costs less, so records of 1 KB are where that shows.",
)
SHUFFLE: Final = Reason(
    "`to_topic` brings the rows of each partition into one task by a shuffle, written to disk and read again; the built-in sink "
    "does without one, its producers place the records.",
    against_copy,
)
WAY_OF_READING: Final = Reason(
    "the source decodes in a Python worker and hands Arrow to the JVM by a socket; the built-in one decodes in the JVM.",
)
LZ4: Final = Reason(
    "batches are unpacked in the Python worker before the columns are made, one after the other.",
)

# By exact cell: a reason for `small` is none for `copy`.
REASONS: Final[Mapping[Cell, Reason]] = {
    **{("small", broker, "1 KB"): FIXED for broker in (OURS, KAFKA)},
    **{("write", broker, load): BYTES for broker in (OURS, KAFKA) for load in ("100 B", "1 KB")},
    **{("copy", broker, load): FIXED for broker in (OURS, KAFKA) for load in ("100 B", "1 KB")},
    **{("keyed", broker, load): SHUFFLE for broker in (OURS, KAFKA) for load in ("100 B", "1 KB")},
    **{("read", broker, load): WAY_OF_READING for broker in (OURS, KAFKA) for load in ("100 B", "1 KB")},
    **{("read", broker, "100 B, lz4"): LZ4 for broker in (OURS, KAFKA)},
    **{("stream", broker, load): WAY_OF_READING for broker in (OURS, KAFKA) for load in ("100 B", "1 KB")},
    **{("stream", broker, "100 B, lz4"): LZ4 for broker in (OURS, KAFKA)},
}


def losing(found: Mapping[str, Any]) -> list[Judged]:
    return [each for each in judged(found) if each.mark]


def lost(found: Mapping[str, Any]) -> str:
    """Every cell that we lose or whose bar we miss, with the reason."""
    lines: list[str] = []
    for each in losing(found):
        cpu = "" if each.cpu is None else f", with {1 / each.cpu:.2f} times the built-in connector's CPU"
        reason = REASONS.get(each.cell)
        why = UNKNOWN if reason is None else reason.said(found, each.cell)
        lines.append(f"- {', '.join(each.cell)}: {spread(each)}, {each.mark}{cpu}. {why}")
    return "\n".join(lines) or "No cell is lost in this run."


def markdown(found: Mapping[str, Any]) -> str:
    return f"{table(found)}\n{lost(found)}\n\n{conditions(found)}\n"


def pages(found: Mapping[str, Any]) -> dict[str, str]:
    """What stands beside the raw file, spark.json; made of nothing else."""
    return {"spark.md": markdown(found), "spark.svg": chart(found)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", nargs="?", default="bench/results", help="where spark.json is")
    out = Path(parser.parse_args().out)
    raw = out / "spark.json"
    if not raw.is_file():
        print(f"bench spark: wanted {raw}, found none", file=sys.stderr)
        return 1
    for page, text in pages(json.loads(raw.read_text())).items():
        (out / page).write_text(text)
        print(out / page)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
