"""`oncelog explain ERROR` and `oncelog doctor`: what an error means here, and what is wrong before there is one."""

import argparse
from dataclasses import asdict

from oncelog.cli.connect import connect
from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer
from oncelog.cli.watch import Doors, now_ms, watched
from oncelog.client.faults import ClientFault
from oncelog.inspect import doctor as doctoring
from oncelog.inspect import explain as explaining


def explain(options: argparse.Namespace) -> int:
    """A cluster is asked for a transactional id, and where one is named; else the meaning is enough."""
    printer = Printer.of(options)
    error = explaining.error_named(options.error)
    if error is None:
        raise UsageFault(
            f"wanted an error's name or number such as PRODUCER_FENCED or 90, found {options.error!r}; "
            f"of transactions: {', '.join(explaining.known())}"
        )
    at_ms = now_ms()
    found: explaining.Explanation | None = None
    if options.tid is not None or options.bootstrap is not None:
        options.bootstrap = options.bootstrap or options.otherwise
        try:
            with connect(options) as cluster:
                found = explaining.explain(error, cluster, options.tid, now_ms=at_ms)
        except ClientFault as fault:
            if options.tid is not None:
                raise
            printer.note(f"oncelog: the meaning alone: {fault}")
    if found is None:
        found = explaining.explain(error, None, None, now_ms=at_ms)
    if options.json:
        printer.value(asdict(found))
        return Exit.FINE
    printer.say(f"{found.error} ({found.code}): {found.text}")
    printer.say(f"then: {found.then}")
    for each in found.causes:
        printer.line("")
        printer.say(f"{each.verdict}: {each.cause}: {each.text}")
        if each.evidence:
            printer.say(f"  evidence: {each.evidence}")
        printer.say(f"  do: {each.do}")
    return Exit.FINE


def doctor(options: argparse.Namespace) -> int:
    """Exit code 1 if a check found something bad."""
    printer, doors = Printer.of(options), Doors()
    return watched(options, printer, lambda: _examine(options, printer, doors))


def _examine(options: argparse.Namespace, printer: Printer, doors: Doors) -> int:
    with connect(options) as cluster:
        found = doctoring.examine(cluster, doors.of(cluster), now_ms=now_ms())
    printer.rows([asdict(each) for each in found], ["check", "verdict", "found"])
    if not options.json:
        for each in found:
            if each.verdict in (doctoring.NOTICE, doctoring.BAD):
                printer.note(
                    f"{each.check}: {each.why}; {each.do}" if each.do else f"{each.check}: {each.why}"
                )
    return Exit.BAD if any(each.verdict == doctoring.BAD for each in found) else Exit.FINE
