"""What was measured, for people: a table with the cells that we lose, and charts as plain SVG."""

import html
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final

from oncelog.cost.eos import HIGHER, by_cell
from oncelog.cost.load import CannotMeasure

BAR_HEIGHT: Final = 18
CHART_WIDTH: Final = 900
NAME_WIDTH: Final = 380
COLOURS: Final = ("#1f8a5b", "#2457c5", "#b7791f")
HEAD: Final = "figure|oncelog|beside|ratio|bar|broker CPU|CPU beside|client CPU, both"
ENOUGH_ROUNDS: Final = 5  # fewer are a look, and so is a machine that others kept busy
QUIET_SHARE: Final = 0.25


def table(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """One row a cell and other side: medians, the ratio of the same round with its spread, and whether the bar holds.

    The bar is for the last of the other sides, of two Kafkas the tuned one.
    """
    rows: list[dict[str, str]] = []
    for name, runs in by_cell(found["runs"]):
        sides = list(dict.fromkeys(str(each["side"]) for each in runs))
        ours = {each["round"]: each for each in runs if each["side"] == sides[0]}
        for other in sides[1:] or sides:
            theirs = {each["round"]: each for each in runs if each["side"] == other}
            rows.append(
                _row(name, ours, theirs if other != sides[0] else {}, other, judged=other == sides[-1])
            )
    return rows


def _row(
    name: str,
    ours: Mapping[int, Mapping[str, Any]],
    theirs: Mapping[int, Mapping[str, Any]],
    other: str,
    *,
    judged: bool,
) -> dict[str, str]:
    one = next(iter(ours.values()))
    mine = [each["value"] for each in ours.values()]
    row = {
        "figure": f"{name}, {one['unit']}",
        "oncelog": _number(statistics.median(mine)),
        "beside": "",
        "ratio": "",
        "bar": "",
    }
    if theirs:
        ratios = [
            ours[at]["value"] / theirs[at]["value"] for at in ours if at in theirs and theirs[at]["value"]
        ]
        row["beside"] = f"{_number(statistics.median(each['value'] for each in theirs.values()))} ({other})"
        if ratios:
            middle = statistics.median(ratios)
            row["ratio"] = f"{middle:.2f}x ({min(ratios):.2f}..{max(ratios):.2f})"
            row["bar"] = _bar(one if judged else {**one, "at_least": None}, middle)
    row["broker CPU"] = _cpu(ours, one, "broker_cpu_seconds")
    row["CPU beside"] = _cpu(theirs, one, "broker_cpu_seconds")
    clients = [_cpu(runs, one, "client_cpu_seconds") for runs in (ours, theirs)]
    row["client CPU, both"] = " / ".join(each for each in clients if each)
    return row


def _bar(one: Mapping[str, Any], ratio: float) -> str:
    bar = one["at_least"]
    better = ratio >= 1 if one["better"] == HIGHER else ratio <= 1
    if bar is None:
        return "" if better else "**we lose**"
    holds = ratio >= bar if one["better"] == HIGHER else ratio <= bar
    sign = ">=" if one["better"] == HIGHER else "<="
    return f"{sign} {bar}x: {'holds' if holds else '**missed**'}" + (
        "" if better else ", **we lose**" if holds else ""
    )


def _cpu(runs: Mapping[int, Mapping[str, Any]], one: Mapping[str, Any], whose: str) -> str:
    """Of the broker or of the clients, per transaction or per gigabyte."""
    known = [each for each in runs.values() if each.get(whose) is not None and each["done"]]
    if not known:
        return ""
    if one["unit"] in ("txn/s", "ms"):
        return f"{statistics.median(1e6 * each[whose] / each['done'] for each in known):,.0f} us/txn"
    return f"{statistics.median(each[whose] / (each['bytes'] / 1e9) for each in known):.2f} s/GB"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def markdown(found: Mapping[str, Any]) -> str:
    rows = table(found)
    head = HEAD.split("|")
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
        if each["mb"] is not None
    ]


def conditions(found: Mapping[str, Any]) -> str:
    """The circumstances, in a sentence."""
    machine = found["machine"]
    others = _other_loads(found)
    rounds = f"{found['rounds']} round{'s' if found['rounds'] > 1 else ''}"
    return (
        f"{rounds} of {found['seconds']:g} s, sides interleaved, load from a native generator on the same "
        f"{machine['cores']} cores ({machine['memory_gb']} GB, {machine['system']}, Python {machine['python']}); other load of the "
        f"machine {statistics.median(others):.2f} of all cores ({min(others):.2f}..{max(others):.2f}). Ratios are of the same round: "
        "median (smallest..largest)."
    )


def doubts(found: Mapping[str, Any]) -> list[str]:
    """Why its figures are not settled, each in a few words; none for a whole measurement on a quiet machine."""
    said: list[str] = []
    if found["rounds"] < ENOUGH_ROUNDS:
        said.append(f"{found['rounds']} of {ENOUGH_ROUNDS} rounds")
    other = statistics.median(_other_loads(found))
    if other > QUIET_SHARE:
        said.append(f"others kept {other:.0%} of the machine busy")
    return said


def _other_loads(found: Mapping[str, Any]) -> list[float]:
    return [each["other_load"] for each in found["runs"] if each["done"]] or [0.0]


def chart(found: Mapping[str, Any]) -> str:
    """Ratios as bars around 1: beyond the line we are better. No script, no font, no other host."""
    rows = [each for each in table(found) if each["ratio"]]
    height = BAR_HEIGHT * 1.5 * len(rows) + 40
    size = f"0 0 {CHART_WIDTH} {height:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" font-family="sans-serif" font-size="11">'
    ]
    parts.append('<rect width="100%" height="100%" fill="#fff"/>')
    scale = (CHART_WIDTH - NAME_WIDTH - 90) / 4.0
    for number, row in enumerate(rows):
        y = 20 + number * BAR_HEIGHT * 1.5
        ratio = float(row["ratio"].split("x")[0])
        good = ratio <= 1 if row["figure"].endswith(", ms") else ratio >= 1
        label = f"{row['figure']} / {row['beside'].partition('(')[2].rstrip(')')}"
        parts.append(f'<text x="4" y="{y + 13:.0f}">{html.escape(label[:70])}</text>')
        parts.append(
            f'<rect x="{NAME_WIDTH}" y="{y:.0f}" width="{min(ratio, 4.0) * scale:.0f}" height="{BAR_HEIGHT}" '
            f'fill="{COLOURS[0] if good else "#c0392b"}"/>'
            f'<text x="{NAME_WIDTH + min(ratio, 4.0) * scale + 4:.0f}" y="{y + 13:.0f}">{ratio:.2f}x</text>'
        )
    x = NAME_WIDTH + scale
    parts.append(
        f'<line x1="{x:.0f}" x2="{x:.0f}" y1="10" y2="{height - 14:.0f}" stroke="#333" stroke-dasharray="3 3"/>'
    )
    parts.append(f'<text x="{x:.0f}" y="{height - 2:.0f}" text-anchor="middle">1.0</text></svg>')
    return "".join(parts) + "\n"


def losing(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """The figures that we lose or whose bar we miss."""
    return [row["figure"] for row in rows if "**" in row["bar"]]


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
    return {**old, "oncelog": new["oncelog"], "runs": runs, "troubles": troubles}
