"""`oncelog sim`: many seeds of the simulator, or one seed again with all that happened."""

import hashlib
import sys
import time
from collections import Counter
from typing import Any, Final

from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer
from oncelog.sim.check import Anomalies
from oncelog.sim.runs import run_seeds
from oncelog.sim.story import Outcome, Story
from oncelog.sim.trace import lanes, lines_of

LAST: Final = 8  # operations that are shown of a run that ended because of what is inside the broker


def sim(options: Any) -> int:
    if (options.seed is None) == (options.seeds is None):
        raise UsageFault("wanted one SEED or --seeds A..B")
    return _many(options) if options.seed is None else _one(options)


def _many(options: Any) -> int:
    printer = Printer(as_json=options.json)
    first, last = options.seeds
    total: Counter[str] = Counter()
    wrong: list[tuple[int, str]] = []
    began = time.monotonic()
    for result in run_seeds(range(first, last + 1), options.profile, options.jobs):
        total += result.counts
        total["seeds"] += 1
        if result.wrong:
            wrong.append((result.seed, result.wrong))
            printer.note(f"seed {result.seed}: {result.wrong}")
    total["seconds"] = round(time.monotonic() - began)
    if options.json:
        printer.value({"counts": dict(total), "wrong": [{"seed": seed, "why": why} for seed, why in wrong]})
    else:
        for name, count in sorted(total.items()):
            printer.line(f"{count:12,}  {name}")
        printer.line(f"{len(wrong):12,}  seeds that broke a promise")
    return Exit.BAD if wrong else Exit.FINE


def _one(options: Any) -> int:
    printer = Printer(as_json=options.json)
    story = Story(options.seed, options.profile)
    lines = lines_of(story.history, lambda: story.world.loop.now_ms)
    found: Exception | None = None
    outcome: Outcome | None = None
    try:
        outcome = story.run()
    except Exception as fault:  # noqa: BLE001  # shown below, with what led to it
        found = fault
    if options.trace:
        sys.stdout.writelines(f"{line}\n" for line in lines)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    if outcome is not None:
        counts = dict(sorted(outcome.counts.items()))
        printer.value({"seed": options.seed, "digest": outcome.digest, "history": digest, "counts": counts})
        return Exit.FINE
    printer.note(f"seed {options.seed}: {type(found).__name__}: {found}")
    for note in getattr(found, "__notes__", ()):
        printer.note(note)
    ops = story.history.ops
    shown = found.found[0].ops if isinstance(found, Anomalies) else range(max(len(ops) - LAST, 0), len(ops))
    for row in lanes(ops, shown):
        printer.line(row)
    printer.value({"seed": options.seed, "history": digest, "wrong": f"{type(found).__name__}: {found}"})
    return Exit.BAD
