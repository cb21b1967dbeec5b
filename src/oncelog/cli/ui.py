"""`oncelog ui`: the inspector's page for any Kafka."""

import argparse
from pathlib import Path

from oncelog.cli.connect import connect
from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer
from oncelog.client.address import Address, parse_bootstrap


def ui(options: argparse.Namespace) -> int:
    """Prints one line with the address and the token, then serves until SIGINT or SIGTERM."""
    try:
        from oncelog.inspect.page.app import Page
        from oncelog.inspect.page.serve import PageServer, open_door
    except ModuleNotFoundError as fault:
        raise UsageFault(f"the page needs {fault.name}: pip install 'oncelog[inspect]'") from None
    from oncelog.cli.stories import STORIES
    from oncelog.inspect.inspector import Inspector

    listen = address_of("--listen", options.listen)
    door = open_door(listen.host, listen.port, options.token)
    inspector = Inspector(
        lambda: connect(options), record=None if options.record is None else Path(options.record)
    )
    results = None if options.results is None else Path(options.results)
    page = Page(inspector, door.access, bootstrap=options.bootstrap, results=results, stories=STORIES)
    printer = Printer(as_json=False)
    printer.line(f"oncelog page on {door.url} token {door.access.token}")
    printer.flush()
    PageServer(door, page.app()).run_here()
    inspector.close()
    return Exit.FINE


def address_of(option: str, text: str) -> Address:
    try:
        (found,) = parse_bootstrap(text)
    except ValueError as fault:
        raise UsageFault(f"{option}: {fault}") from None
    return found
