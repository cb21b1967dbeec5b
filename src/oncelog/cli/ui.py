"""`oncelog ui`: the inspector's page for any Kafka; and the page beside a broker, for `oncelog serve --ui`."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from oncelog.cli.connect import connect
from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer
from oncelog.client.address import Address, parse_bootstrap
from oncelog.client.cluster import Cluster
from oncelog.errors import BadConfig
from oncelog.inspect.inspector import Inspector

ROOT_RESULTS = Path("bench/results")  # of a checkout


def ui(options: argparse.Namespace) -> int:
    """Prints one line with the address and the token, then serves until SIGINT or SIGTERM."""
    listen = address_of("--listen", options.listen)
    connect(options).close()  # sends nothing; a wrong option or file is said now
    server = _server(
        listen,
        options.token,
        options.ui_host,
        Inspector(lambda: connect(options), record=None if options.record is None else Path(options.record)),
        bootstrap=options.bootstrap,
        results=None if options.results is None else Path(options.results),
    )
    server.run_here()
    return Exit.FINE


class BesidePage:
    """The page in the broker's process, on a thread of its own; it speaks to the broker over the wire like any client."""

    def __init__(
        self, listen: Address, token: str | None, names: Sequence[str], ready: Callable[[str, int], None]
    ) -> None:
        self._ready = ready
        self._bootstrap = ""
        self._server = _server(
            listen, token, names, Inspector(self._connect), bootstrap="this broker", results=None
        )

    def _connect(self) -> Cluster:
        return Cluster(self._bootstrap, client_id="oncelog-ui", timeout_ms=10_000)

    def ready(self, host: str, port: int) -> None:
        """The broker listens: now the page may ask it."""
        self._bootstrap = str(Address("127.0.0.1" if host == "0.0.0.0" else host, port))
        self._server.start()
        self._ready(host, port)

    def stop(self) -> None:
        self._server.stop()


def _server(
    listen: Address,
    token: str | None,
    names: Sequence[str],
    inspector: Inspector,
    *,
    bootstrap: str,
    results: Path | None,
) -> Any:
    """The page's server, its socket open already: the printed line names the port."""
    try:
        from oncelog.inspect.page.app import MEASURED, Page
        from oncelog.inspect.page.serve import PageServer, open_door
    except ModuleNotFoundError as fault:
        raise UsageFault(f"the page needs {fault.name}: pip install 'oncelog[inspect]'") from None
    from oncelog.cli.measure import quick
    from oncelog.cli.stories import STORIES

    if results is None:
        results = ROOT_RESULTS if ROOT_RESULTS.is_dir() else MEASURED
    try:
        door = open_door(listen.host, listen.port, token, names)
    except BadConfig as fault:
        raise UsageFault(str(fault)) from None
    page = Page(inspector, door.access, bootstrap=bootstrap, results=results, stories=STORIES, measure=quick)
    printer = Printer(as_json=False)
    printer.line(f"oncelog page on {door.url} token {door.access.token}")
    printer.flush()
    return PageServer(door, page.app())


def address_of(option: str, text: str) -> Address:
    try:
        (found,) = parse_bootstrap(text)
    except ValueError as fault:
        raise UsageFault(f"{option}: {fault}") from None
    return found
