"""`oncelog tap`: a proxy before any Kafka that shows and records what transactional ids do."""

import argparse
import asyncio
import contextlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer
from oncelog.client.address import Address, parse_bootstrap
from oncelog.inspect.events import Event, to_line
from oncelog.inspect.tap import Tap
from oncelog.inspect.timeline import timeline


def tap(options: argparse.Namespace) -> int:
    """Until SIGINT or SIGTERM. Prints one line when clients may come, then one line an event."""
    printer = Printer.of(options)
    listen, upstream = _address("--listen", options.listen), _address("--upstream", options.upstream)
    with contextlib.ExitStack() as files:
        record: TextIO | None = None
        if options.record is not None:
            try:
                record = files.enter_context(Path(options.record).open("a", encoding="utf-8"))
            except OSError as fault:
                raise UsageFault(f"--record: {options.record}: {fault.strerror}") from None

        def note(event: Event) -> None:
            if record is not None:
                record.write(to_line(event) + "\n")
                record.flush()
            if options.json:
                printer.line(to_line(event))
            else:
                (row,) = timeline(event.transactional_id, [event]).text()
                printer.row([event.transactional_id, *row[1:]])
            printer.flush()

        return asyncio.run(_run(printer, listen, upstream, note))


async def _run(printer: Printer, listen: Address, upstream: Address, note: Callable[[Event], None]) -> int:
    proxy = Tap(upstream, host=listen.host, port=listen.port, note=note)
    try:
        where = await proxy.start()
    except OSError as fault:
        printer.note(f"oncelog: cannot listen on {listen}: {fault.strerror or fault}")
        return Exit.BAD
    stopping = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stopping.set)
    printer.note(f"oncelog tap on {where}, before {upstream}")
    await stopping.wait()
    await proxy.stop()
    return Exit.FINE


def _address(option: str, text: str) -> Address:
    try:
        (found,) = parse_bootstrap(text)
    except ValueError as fault:
        raise UsageFault(f"{option}: {fault}") from None
    return found
