"""What was measured, for people: a table with the cells that we lose, and charts as plain SVG."""

import html
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final

from oncelog.cost.eos import HIGHER, TUNED_NAME, by_cell
from oncelog.cost.load import CannotMeasure

BAR_HEIGHT: Final = 14
CHART_WIDTH: Final = 900
NAME_WIDTH: Final = 380
COLOURS: Final = {True: "#1f8a5b", False: "#c0392b"}  # better, worse
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


def table(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """One row a figure: medians of each side, and for each of our forms the median of the ratios to Kafka of the same round with their spread,
    and whether the bar holds. A percentile is that of all rounds together, and so is its ratio; a p99.9 of few samples is no figure. Of two
    Kafkas the ratio is to the tuned one."""
    ours, others = sides_of(found)
    pooled = {(each["cell"], each["side"]): each["value"] for each in found.get("pooled", [])}
    few = {each["cell"] for each in found.get("pooled", []) if each.get("samples", FEWEST) < FEWEST}
    rows: list[dict[str, str]] = []
    for name, runs in by_cell(found["runs"]):
        if name in few and "p99.9" in name:
            continue
        of_side = {
            side: {each["round"]: each for each in runs if each["side"] == side} for side in (*ours, *others)
        }
        there = [side for side in (*ours, *others) if of_side[side]]
        one = runs[0]
        row = {"figure": f"{name}, {one['unit']}"}
        for side in there:
            middle = statistics.median(each["value"] for each in of_side[side].values())
            row[short(side)] = _number(pooled.get((name, side), middle))
        judges = [side for side in others if side in there]
        if judges:
            for form in ours:
                whole = tuple(pooled.get((name, side)) for side in (form, judges[-1]))
                said = _ratio(one, of_side[form], of_side[judges[-1]], whole)
                if said:
                    row[ratio_of(form, ours)] = said
            row[WANTED] = _wanted(one)
        row[CPU] = _cpu([of_side[side] for side in there], one, "broker_cpu_seconds")
        row[CLIENT_CPU] = _cpu([of_side[side] for side in there], one, "client_cpu_seconds")
        rows.append(row)
    return rows


def _ratio(
    one: Mapping[str, Any],
    ours: Mapping[int, Mapping[str, Any]],
    theirs: Mapping[int, Mapping[str, Any]],
    whole: tuple[float | None, ...],
) -> str:
    """`whole`: the figures of all rounds together, ours and theirs, if there are such."""
    ratios = [ours[at]["value"] / theirs[at]["value"] for at in ours if at in theirs and theirs[at]["value"]]
    if not ratios:
        return ""
    mine, others = whole
    middle = mine / others if mine is not None and others else statistics.median(ratios)
    return f"{middle:.2f}x ({min(ratios):.2f}..{max(ratios):.2f}){_verdict(one, middle)}"


def _verdict(one: Mapping[str, Any], ratio: float) -> str:
    """Nothing where there is no bar and we win."""
    bar = one["at_least"]
    higher = one["better"] == HIGHER
    worse = ratio < 1 if higher else ratio > 1
    if bar is not None and (ratio < bar if higher else ratio > bar):
        return " **missed**"
    said = "" if bar is None else " holds"
    return f"{said} **we lose**" if worse else said


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
    """Ratios as bars around 1, one for each of our forms: beyond the line we are better. No script, no font, no other host."""
    ours, _ = sides_of(found)
    heads = [ratio_of(form, ours) for form in ours]
    rows = [each for each in table(found) if any(each.get(head) for head in heads)]
    row_height = BAR_HEIGHT * len(heads) + 8
    height = row_height * len(rows) + 40
    size = f"0 0 {CHART_WIDTH} {height}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" font-family="sans-serif" font-size="11">'
    ]
    parts.append('<rect width="100%" height="100%" fill="#fff"/>')
    scale = (CHART_WIDTH - NAME_WIDTH - 130) / 4.0
    for number, row in enumerate(rows):
        y = 20 + number * row_height
        parts.append(f'<text x="4" y="{y + 11}">{html.escape(row["figure"][:70])}</text>')
        for place, head in enumerate(heads):
            if not row.get(head):
                continue
            ratio = float(row[head].split("x")[0])
            lower = row["figure"].endswith((", ms", ", s", ", MB"))
            good = ratio <= 1 if lower else ratio >= 1
            top, wide = y + place * BAR_HEIGHT, min(ratio, 4.0) * scale
            label = f"{ratio:.2f}x{head.removeprefix(RATIO).replace(',', '')}"
            parts.append(
                f'<rect x="{NAME_WIDTH}" y="{top}" width="{wide:.0f}" height="{BAR_HEIGHT - 2}" fill="{COLOURS[good]}"/>'
                f'<text x="{NAME_WIDTH + wide + 4:.0f}" y="{top + 10}">{html.escape(label)}</text>'
            )
    x = NAME_WIDTH + scale
    parts.append(
        f'<line x1="{x:.0f}" x2="{x:.0f}" y1="10" y2="{height - 14}" stroke="#333" stroke-dasharray="3 3"/>'
    )
    parts.append(f'<text x="{x:.0f}" y="{height - 2}" text-anchor="middle">1.0</text></svg>')
    return "".join(parts) + "\n"


def losing(found: Mapping[str, Any], form: str) -> list[dict[str, str]]:
    """The rows where this form of ours loses or misses the bar."""
    head = ratio_of(form, sides_of(found)[0])
    return [row for row in table(found) if "**" in row.get(head, "")]


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
