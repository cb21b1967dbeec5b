"""`oncelog ui`: the inspector's page for any Kafka; and the page beside a broker, for `oncelog serve --ui`."""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from oncelog.cli.connect import connect
from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer
from oncelog.client.address import Address, parse_bootstrap
from oncelog.client.cluster import Cluster
from oncelog.errors import BadConfig
from oncelog.inspect.inspector import Inspector

ROOT_RESULTS = Path("bench/results")  # of a checkout
READY_TIMEOUT_MS: Final = 3000
TOKEN: Final = "ONCELOG_UI_TOKEN"


def ui(options: argparse.Namespace) -> int:
    """Prints one line with the address, and the token if it was made up, then serves until SIGINT or SIGTERM."""
    listen = address_of("--listen", options.listen)
    connect(options).close()  # sends nothing; a wrong option or file is said now
    shorter = argparse.Namespace(
        **{**vars(options), "timeout": min(options.timeout, READY_TIMEOUT_MS / 1000)}
    )
    server = _server(
        listen,
        given_token("--token", options.token, options.token_file),
        options.ui_host,
        lambda: connect(shorter),
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
            listen,
            token,
            names,
            lambda: self._connect(READY_TIMEOUT_MS),
            Inspector(self._connect),
            bootstrap="this broker",
            results=None,
        )

    def _connect(self, timeout_ms: int = 10_000) -> Cluster:
        return Cluster(self._bootstrap, client_id="oncelog-ui", timeout_ms=timeout_ms)

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
    briefly: Callable[[], Cluster],
    inspector: Inspector,
    *,
    bootstrap: str,
    results: Path | None,
) -> Any:
    """The page's server, its socket open already: the printed line names the port, and the token unless somebody chose it.

    `briefly` connects for a short question.
    """
    try:
        from oncelog.inspect.page.app import MEASURED, Page
        from oncelog.inspect.page.serve import PageServer, open_door
    except ModuleNotFoundError as fault:
        raise UsageFault(f"the page needs {fault.name}: pip install 'oncelog[inspect]'") from None
    from oncelog.cli.apart import apart
    from oncelog.cli.stories import STORIES

    def is_ready() -> None:
        with briefly() as cluster:
            cluster.topics()

    if results is None:
        results = ROOT_RESULTS if ROOT_RESULTS.is_dir() else MEASURED
    try:
        door = open_door(listen.host, listen.port, token, names)
    except BadConfig as fault:
        raise UsageFault(str(fault)) from None
    page = Page(
        inspector,
        door.access,
        bootstrap=bootstrap,
        results=results,
        stories=[replace(each, run=partial(apart, "story", each.key)) for each in STORIES],
        measure=partial(apart, "measure"),
        is_ready=is_ready,
    )
    printer = Printer(as_json=False)
    said = f"token {door.access.token}" if token is None else "with the token that was given"
    printer.line(f"oncelog page on {door.url} {said}")
    printer.flush()
    return PageServer(door, page.app())


def given_token(option: str, token: str | None, file: str | None) -> str | None:
    """What somebody chose: an option, which others on this machine can read, a file, or the environment."""
    if file is None:
        return token or os.environ.get(TOKEN) or None
    if token is not None:
        raise UsageFault(f"{option} and {option}-file: wanted one of them, found both")
    try:
        found = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageFault(f"{option}-file {file}: {getattr(fault, 'strerror', None) or fault}") from None
    if not found:
        raise UsageFault(f"{option}-file {file}: wanted a token, found nothing")
    return found


def address_of(option: str, text: str) -> Address:
    try:
        (found,) = parse_bootstrap(text)
    except ValueError as fault:
        raise UsageFault(f"{option}: {fault}") from None
    return found
