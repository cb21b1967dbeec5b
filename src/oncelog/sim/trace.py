"""A history as lanes: one column per process, one line per moment, as people read a race."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from oncelog.sim.history import (
    CommitOffsets,
    Crash,
    End,
    EndTxn,
    FetchOffsets,
    History,
    Init,
    Op,
    Poll,
    Seek,
    Send,
)

LANE: Final = 26
MOST_LANES: Final = 7
MARKS: Final = {End.OK: "ok", End.FAIL: "REFUSED", End.INFO: "?"}


def asked(op: Op) -> str:
    """What was asked, in a few words."""
    match op:
        case Init():
            return f"init {op.id}"
        case Send():
            return f"send {op.partition} {_values(op.values)}" + (f" in {op.txn}" if op.txn else "")
        case EndTxn():
            return f"{'commit' if op.commit else 'abort'} {op.txn}"
        case CommitOffsets():
            return f"offsets {_offsets(op.offsets.items())}" + (f" in {op.txn}" if op.txn else "")
        case Poll():
            return f"{'last ' if op.final else ''}poll {op.partition}@{op.offset}{'' if op.committed else ' all'}"
        case FetchOffsets():
            return f"offsets of {op.group}?"
        case Seek():
            return f"seek {op.partition}"
        case Crash():
            return f"*** crash ({op.kept})"
        case _:
            return op.f


def answered(op: Op) -> str:
    """What came of it, in a few words."""
    if op.end is not End.OK:
        return f"{MARKS[op.end]} {op.why}".strip()
    match op:
        case Init():
            return f"= {op.producer_id}/{op.epoch}"
        case Send():
            return f"= {op.partition} {op.offset}"
        case Poll():
            seen = " ".join(f"{offset}:{value}" for offset, value in op.records[:6])
            more = f" +{len(op.records) - 6}" if len(op.records) > 6 else ""
            return f"= {seen}{more} next {op.next} LSO {op.last_stable}"
        case FetchOffsets():
            return f"= {_offsets(op.offsets.items())}"
        case _:
            return "ok"


def _values(values: Sequence[str]) -> str:
    return ",".join(values[:3]) + ("" if len(values) <= 3 else f"+{len(values) - 3}")


def _offsets(offsets: Iterable[tuple[str, int]]) -> str:
    return " ".join(f"{at}={offset}" for at, offset in offsets)


def lines_of(history: History, clock: Callable[[], float]) -> list[str]:
    """Collects one line for each moment of a history as it happens."""
    lines: list[str] = []
    history.listen(
        lambda op: lines.append(f"{clock():12.3f}  {op.process:22} {asked(op)}"),
        lambda op: lines.append(f"{clock():12.3f}  {op.process:22}     {asked(op)} {answered(op)}"),
    )
    return lines


def lanes(ops: Iterable[Op], show: Iterable[int]) -> list[str]:
    """The operations named by number, and all that touched the same things meanwhile, side by side."""
    ops = list(ops)
    named = [ops[number] for number in sorted(set(show)) if number < len(ops)]
    if not named:
        return []
    chosen = _around(ops, named)
    processes = list(dict.fromkeys(op.process for op in chosen))[:MOST_LANES]
    marked = set(map(id, named))
    moments: list[tuple[int, Op, str]] = []
    for op in chosen:
        if op.process not in processes:
            continue
        mark = "!" if id(op) in marked else " "
        moments.append((op.invoked, op, f"{mark}{asked(op)}"))
        if not op.is_open:
            moments.append((op.done, op, f"{mark}{answered(op)}"))
    moments.sort(key=lambda each: each[0])
    rows = [" " * 9 + "".join(name[: LANE - 2].ljust(LANE) for name in processes).rstrip()]
    for moment, op, text in moments:
        lane = processes.index(op.process)
        rows.append(f"{moment:7}  " + "".join("|".ljust(LANE) for _ in range(lane)) + text)
    return rows


def _around(ops: Sequence[Op], named: Sequence[Op]) -> list[Op]:
    """Those named, their transactions, and crashes in between."""
    txns = {txn for op in named if (txn := getattr(op, "txn", None)) is not None}
    low = min(op.invoked for op in named)
    high = max(op.invoked if op.is_open else op.done for op in named)
    ids = set(map(id, named))
    return [
        op
        for op in ops
        if id(op) in ids
        or getattr(op, "txn", None) in txns
        or (isinstance(op, Crash) and low <= op.invoked <= high)
    ]
