"""`oncelog version`."""

import argparse

from oncelog import __version__
from oncelog.cli.exits import Exit
from oncelog.cli.output import Printer


def version(options: argparse.Namespace) -> int:
    printer = Printer(as_json=options.json)
    if options.json:
        printer.value({"version": __version__})
    else:
        printer.line(f"oncelog {__version__}")
    return Exit.FINE
