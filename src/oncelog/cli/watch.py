"""`--watch SECONDS`: a reading command again and again; and how the command line says times."""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Final

from oncelog.cli.exits import Exit
from oncelog.cli.output import Printer
from oncelog.client.cluster import Away, Cluster
from oncelog.client.faults import RETRIABLE, RefusedByBroker, TimedOut, Unreachable
from oncelog.inspect import views
from oncelog.inspect.ask import SideDoor

NAP_S: Final = 0.5


def watched(options: argparse.Namespace, printer: Printer, once: Callable[[], int]) -> int:
    """Once, or again and again with --watch until an interrupt.

    Who watches has seen the cluster answer: from then on one that is away, or a coordinator that moves, is waited for.
    """
    if options.watch is None:
        return once()
    seen = False
    while True:
        if printer.is_table:
            printer.line("\x1b[2J\x1b[H")
        try:
            once()
            seen = True
        except (Unreachable, TimedOut, RefusedByBroker) as fault:
            if not seen or (isinstance(fault, RefusedByBroker) and fault.error not in RETRIABLE):
                raise
            printer.note(f"oncelog: {fault}")
        printer.flush()
        rest(options.watch)


def rest(seconds: float) -> None:
    """Sleeps in naps: an interrupt that comes right before a sleep begins is noted, but does not wake it."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, NAP_S))


def told_by(printer: Printer, away: Sequence[Away]) -> int:
    """What a command ends with that has printed what the others told: a list that lacks something is not the one asked for."""
    said = views.away_said(away)
    if said is None:
        return Exit.FINE
    printer.note(f"oncelog: {said}")
    return Exit.REFUSED


class Doors:
    """The side door of each round of a watch. A broker that has none closes the connection of whoever knocks and logs an error: it
    is asked in the first round only.
    """

    def __init__(self) -> None:
        self._last: SideDoor | None = None

    def of(self, cluster: Cluster) -> SideDoor:
        self._last = SideDoor(cluster, self._last)
        return self._last


def iso(ms: int) -> str:
    """A time, in UTC to the second, as ISO 8601 has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms // 1000))


def amount(count: int) -> str:
    """A number of bytes as people say it."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def now_ms() -> int:
    return time.time_ns() // 1_000_000
