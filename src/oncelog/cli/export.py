"""`oncelog txn export --otlp URL`: each transaction that ended as a trace of OpenTelemetry."""

import argparse
import time
from collections.abc import Sequence
from typing import Final

from oncelog.cli.connect import connect
from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer
from oncelog.client.faults import RefusedByBroker, TimedOut, Unreachable
from oncelog.errors import ErrorCode
from oncelog.inspect import otel
from oncelog.inspect.ask import SideDoor
from oncelog.inspect.otel import Finished, Traced

FOLLOW_S: Final = 1.0
WAITING_LIMIT: Final = (
    10_000  # transactions that a collector may miss while it is away, then the oldest are dropped
)


def export(options: argparse.Namespace) -> int:
    """Exit code 3 if the collector cannot be reached; with --follow it is tried again."""
    if not options.otlp.startswith(("http://", "https://")):
        raise UsageFault(f"--otlp: wanted an address such as http://127.0.0.1:4318, found {options.otlp!r}")
    printer = Printer.of(options)
    sent = 0
    with connect(options) as cluster:
        door = SideDoor(cluster)
        try:
            finished = Finished(cluster, match=options.match, from_now=options.follow)
        except RefusedByBroker as fault:
            if fault.error != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or options.follow:
                raise
            printer.rows([{"exported": 0}], ["exported"])  # no transaction was ever begun here
            return Exit.FINE
        if options.follow:
            printer.note(f"oncelog: transactions that end from now on go to {options.otlp}")
        waiting: list[Traced] = []
        while True:
            waiting += [otel.traced(cluster, door, each) for each in finished.new()]
            done = _send(options, printer, waiting)
            sent += done
            waiting = waiting[done:][-WAITING_LIMIT:]
            if not options.follow:
                printer.rows([{"exported": sent}], ["exported"])
                return Exit.FINE
            time.sleep(FOLLOW_S)


def _send(options: argparse.Namespace, printer: Printer, found: Sequence[Traced]) -> int:
    """How many of them the collector took."""
    for at in range(0, len(found), otel.TRACES_AT_ONCE):
        some = found[at : at + otel.TRACES_AT_ONCE]
        try:
            otel.post(options.otlp, otel.document(some, bootstrap=options.bootstrap))
        except (Unreachable, TimedOut) as fault:
            if not options.follow:
                raise
            printer.note(f"oncelog: {fault}")
            return at
    return len(found)
