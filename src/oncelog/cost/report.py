"""What was measured, for people: a table with the cells that we lose, and charts as plain SVG."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from oncelog.cost import drawing, scaling
from oncelog.cost.eos import HIGHER, TUNED_NAME, by_cell
from oncelog.cost.load import CannotMeasure

ENOUGH_ROUNDS: Final = 5  # fewer are a look, and so is a machine that others kept busy
QUIET_SHARE: Final = 0.25
FEWEST: Final = 5000  # samples for a p99.9: five are beyond it
# A side's name at the head of a column.
SHORT: Final = {
    "oncelog": "native",
    "oncelog, hot.path=python": "python",
    "oncelog, durability=power": "oncelog",
    "Apache Kafka": "Kafka",
    "Apache Kafka, flush.messages=1": "Kafka, flush.messages=1",
    TUNED_NAME: "tuned Kafka",
}
MISSED: Final = "missed"
WE_LOSE: Final = "we lose"
RATES: Final = ("txn/s", "MB/s")
SCALING: Final = "eos-scaling"
RAW_FILES: Final = ("eos", "eos-power", SCALING)
WANTED: Final = "bar (aim)"
RATIO: Final = "ratio"
CPU: Final = "broker CPU"
CLIENT_CPU: Final = "client CPU"


def short(side: str) -> str:
    return SHORT.get(side, side)


def sides_of(found: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Our forms, and those beside them, in the order of measuring."""
    names = list(dict.fromkeys(str(each["side"]) for each in found["runs"]))
    return (
        [each for each in names if each.startswith("oncelog")],
        [each for each in names if not each.startswith("oncelog")],
    )


def columns(found: Mapping[str, Any]) -> list[str]:
    """The head of the table."""
    ours, others = sides_of(found)
    head = ["figure", *map(short, ours), *map(short, others)]
    if others:
        head += [ratio_of(form, ours) for form in ours] + [WANTED]
    return [*head, CPU, CLIENT_CPU]


def ratio_of(form: str, ours: Sequence[str]) -> str:
    """The head of the column with a form's ratios."""
    return RATIO if len(ours) == 1 else f"{RATIO}, {short(form)}"


@dataclass(frozen=True, slots=True)
class Ratio:
    """Of one form of ours to the Kafka beside it: the middle, those of single rounds, and what is wanted of it."""

    value: float
    smallest: float
    largest: float
    higher: bool  # is better
    at_least: float | None  # the bar; at most, where lower is better

    @property
    def lost(self) -> bool:
        return self.value < 1 if self.higher else self.value > 1

    @property
    def missed(self) -> bool:
        bar = self.at_least
        return bar is not None and (self.value < bar if self.higher else self.value > bar)

    @property
    def mark(self) -> str:
        """What is bad about it, in words."""
        return MISSED if self.missed else WE_LOSE if self.lost else ""

    def __str__(self) -> str:
        """No word where there is no bar and we win."""
        holds = "" if self.at_least is None or self.missed else " holds"
        mark = f" **{self.mark}**" if self.mark else ""
        return f"{self.value:.2f}x ({self.smallest:.2f}..{self.largest:.2f}){holds}{mark}"


@dataclass(frozen=True, slots=True)
class Judged:
    """A cell with the values of the sides that have some, and the ratios of our forms where another Kafka stands beside them."""

    cell: str
    figure: str  # with its unit
    runs: Mapping[str, Mapping[int, Mapping[str, Any]]]  # by side and round
    values: Mapping[str, float]
    ratios: Mapping[str, Ratio]


def judged(found: Mapping[str, Any]) -> list[Judged]:
    """Medians of each side, and for each of our forms the median of the ratios to Kafka of the same round. A percentile is that of all rounds
    together, and so is its ratio; a p99.9 of few samples is no figure. Of two Kafkas the ratio is to the tuned one."""
    ours, others = sides_of(found)
    pooled = {(each["cell"], each["side"]): float(each["value"]) for each in found.get("pooled", [])}
    few = {each["cell"] for each in found.get("pooled", []) if each.get("samples", FEWEST) < FEWEST}
    cells: list[Judged] = []
    for name, runs in by_cell(found["runs"]):
        if name in few and "p99.9" in name:
            continue
        of_side = {
            side: {int(each["round"]): each for each in runs if each["side"] == side}
            for side in (*ours, *others)
        }
        there = {side: kept for side, kept in of_side.items() if kept}
        values = {
            side: pooled[name, side] if (name, side) in pooled else _middle(kept)
            for side, kept in there.items()
        }
        ratios: dict[str, Ratio] = {}
        judges = [side for side in others if side in there]
        for form in ours if judges else ():
            whole = (pooled.get((name, form)), pooled.get((name, judges[-1])))
            ratio = _ratio(runs[0], of_side[form], of_side[judges[-1]], whole)
            if ratio is not None:
                ratios[form] = ratio
        cells.append(Judged(name, f"{name}, {runs[0]['unit']}", there, values, ratios))
    return cells


def _middle(runs: Mapping[int, Mapping[str, Any]]) -> float:
    return float(statistics.median(each["value"] for each in runs.values()))


def _ratio(
    one: Mapping[str, Any],
    ours: Mapping[int, Mapping[str, Any]],
    theirs: Mapping[int, Mapping[str, Any]],
    whole: tuple[float | None, float | None],
) -> Ratio | None:
    """`whole`: the figures of all rounds together, ours and theirs, if there are such."""
    ratios = [ours[at]["value"] / theirs[at]["value"] for at in ours if at in theirs and theirs[at]["value"]]
    if not ratios:
        return None
    mine, others = whole
    middle = mine / others if mine is not None and others else statistics.median(ratios)
    return Ratio(middle, min(ratios), max(ratios), one["better"] == HIGHER, one["at_least"])


def table(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """One row a figure, by the heads of `columns`."""
    ours, others = sides_of(found)
    rows: list[dict[str, str]] = []
    for each in judged(found):
        one = next(iter(next(iter(each.runs.values())).values()))
        row = {"figure": each.figure}
        row |= {short(side): _number(value) for side, value in each.values.items()}
        row |= {ratio_of(form, ours): str(ratio) for form, ratio in each.ratios.items()}
        if any(side in each.runs for side in others):
            row[WANTED] = _wanted(one)
        row[CPU] = _cpu(list(each.runs.values()), one, "broker_cpu_seconds")
        row[CLIENT_CPU] = _cpu(list(each.runs.values()), one, "client_cpu_seconds")
        rows.append(row)
    return rows


def _wanted(one: Mapping[str, Any]) -> str:
    if one["at_least"] is None:
        return ""
    sign = ">=" if one["better"] == HIGHER else "<="
    aim = "" if one.get("aim") is None else f" ({one['aim']:g}x)"
    return f"{sign} {one['at_least']:g}x{aim}"


def _cpu(sides: Sequence[Mapping[int, Mapping[str, Any]]], one: Mapping[str, Any], whose: str) -> str:
    """Of the broker or of the clients, per transaction or per gigabyte, in the order of the columns."""
    of_transaction = one["unit"] in ("txn/s", "ms")
    said: list[str] = []
    for runs in sides:
        known = [each for each in runs.values() if each.get(whose) is not None and each["done"]]
        if not known:
            return ""
        if of_transaction:
            said.append(f"{statistics.median(1e6 * each[whose] / each['done'] for each in known):,.0f}")
        else:
            said.append(f"{statistics.median(each[whose] / (each['bytes'] / 1e9) for each in known):.2f}")
    return f"{' / '.join(said)} {'us/txn' if of_transaction else 's/GB'}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def markdown(found: Mapping[str, Any]) -> str:
    rows = table(found)
    head = columns(found)
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(row.get(each, '') for each in head)} |" for row in rows]
    lines += ["", *starts(found), "", conditions(found)]
    lines += [f"- not measured: {each}" for each in found["troubles"]]
    return "\n".join(lines) + "\n"


def pages(name: str, found: Mapping[str, Any]) -> dict[str, str]:
    """The table and the chart that stand beside the raw file of this name; made of nothing else."""
    is_scaling = name == SCALING
    text = scaling.markdown(dict(found)) if is_scaling else markdown(found)
    picture = scaling.chart(found) if is_scaling else chart(found)
    return {f"{name}.md": text, f"{name}.svg": picture}


def starts(found: Mapping[str, Any]) -> list[str]:
    """Start-up and memory, a line each."""
    lines = [
        f"- {each['side']}: {each['seconds_to_first_transaction']:.2f} s from start to the first committed transaction"
        for each in found["starts"]
    ]
    return lines + [
        f"- {each['side']}: {each['mb']:,.0f} MB resident {each['when']}"
        for each in found["memory"]
        if each["mb"] is not None and not each.get("round")
    ]


def conditions(found: Mapping[str, Any]) -> str:
    """The circumstances, in a few sentences."""
    machine = found["machine"]
    others = _other_loads(found)
    rounds = f"{found['rounds']} round{'s' if found['rounds'] > 1 else ''}"
    where = [f"{machine['memory_gb']} GB", machine.get("cpu"), machine["system"], machine.get("file_system")]
    said = (
        f"{rounds} of {found['seconds']:g} s, sides interleaved, load from a native generator on the same "
        f"{machine['cores']} cores ({', '.join(each for each in where if each)}, Python {machine['python']}); other load of the "
        f"machine {statistics.median(others):.2f} of all cores ({min(others):.2f}..{max(others):.2f}). Ratios are of the same round: "
        "median (smallest..largest)."
    )
    samples = [each["samples"] for each in found.get("pooled", [])]
    if samples:
        said += (
            f" Percentiles are of all rounds together, {min(samples):,} to {max(samples):,} transactions, and so are their ratios; in brackets those"
            f" of single rounds. No p99.9 of fewer than {FEWEST:,}."
        )
    sizes = [each["log_bytes"] for each in found["runs"] if each.get("log_bytes")]
    if sizes:
        said += f" Starts: brokers with directories of their own, {min(sizes) / 1e9:.3f} to {max(sizes) / 1e9:.3f} GB of log."
    return said


def setup(found: Mapping[str, Any]) -> list[str]:
    """When it was measured, by what, and how each side ran; a line each."""
    lines: list[str] = []
    if found.get("when"):
        of = f", commit {found['commit']}" if found.get("commit") else ""
        lines.append(f"measured {found['when']}, oncelog {found['oncelog']}{of}")
    clients: Mapping[str, str] = found.get("clients") or {}
    lines += [f"load: {name}: {what}" for name, what in clients.items()]
    sides: Mapping[str, str] = found.get("sides") or {}
    return lines + [f"{name}: {how}" for name, how in sides.items()]


def doubts(found: Mapping[str, Any]) -> list[str]:
    """Why its figures are not settled, each in a few words; none for a whole measurement on a quiet machine."""
    said: list[str] = []
    if found["rounds"] < ENOUGH_ROUNDS:
        said.append(f"{found['rounds']} of {ENOUGH_ROUNDS} rounds")
    other = statistics.median(_other_loads(found))
    if other > QUIET_SHARE:
        said.append(f"others kept {other:.0%} of the machine busy")
    return said


def busiest(found: Mapping[str, Any]) -> float:
    """The largest share of the machine that others had in any run."""
    return max(_other_loads(found))


def _other_loads(found: Mapping[str, Any]) -> list[float]:
    return [each["other_load"] for each in found["runs"] if each["done"] or each.get("log_bytes")] or [0.0]


def chart(found: Mapping[str, Any]) -> str:
    """The ratios as bars, one for each of our forms."""
    ours, _ = sides_of(found)
    rows: list[drawing.Row] = []
    for each in judged(found):
        bars = [
            drawing.Bar(ratio.value, _label(form, ratio, ours), better=not ratio.lost)
            for form, ratio in each.ratios.items()
        ]
        if bars:
            one = next(iter(each.ratios.values()))
            rows.append(drawing.Row(each.figure, bars, one.at_least, higher=one.higher))
    return drawing.ratios(rows, "oncelog beside Apache Kafka: ratios by cell")


def _label(form: str, ratio: Ratio, ours: Sequence[str]) -> str:
    words = (short(form) if len(ours) > 1 else "", ratio.mark)
    return ": ".join(each for each in words if each)


def losing(found: Mapping[str, Any], form: str) -> list[Judged]:
    """The cells that this form of ours loses or whose bar it misses."""
    return [each for each in judged(found) if form in each.ratios and each.ratios[form].mark]


def cores(one: Judged, side: str) -> float | None:
    """How many cores the broker kept busy, where its throughput was asked for: a limit of one shows."""
    runs = one.runs[side].values()
    known = [each for each in runs if each.get("broker_cpu_seconds") is not None and each["done"]]
    if not known or known[0]["unit"] not in RATES:
        return None
    return statistics.median(each["broker_cpu_seconds"] / each["seconds"] for each in known)


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """`old` with the cells of `new` in the place of its own: a part that was measured again. Settings must be the same."""
    for name in ("machine", "rounds", "seconds", "power"):
        if old[name] != new[name]:
            raise CannotMeasure(f"{name}: the file has {old[name]}, this run {new[name]}: write it elsewhere")
    again = {each["cell"] for each in new["runs"] if not each["cell"].startswith("resident memory")}
    known: list[dict[str, Any]] = old["runs"]
    where = {str(each["cell"]): at for at, each in reversed(list(enumerate(known)))}
    runs = [each for each in known if each["cell"] not in again]
    runs += [each for each in new["runs"] if each["cell"] in again]
    runs.sort(key=lambda each: where.get(str(each["cell"]), len(where)))
    troubles = [each for each in old["troubles"] if not each.startswith(tuple(again))] + new["troubles"]
    pooled = [each for each in old.get("pooled", []) if each["cell"] not in again] + new.get("pooled", [])
    when = f"{old.get('when') or 'before'}, some cells again {new.get('when') or 'later'}"
    found = {**old, "oncelog": new["oncelog"], "runs": runs, "troubles": troubles, "pooled": pooled}
    return {**found, "when": when, "commit": new.get("commit")}
