"""`oncelog serve`: options and files become settings, then the broker runs until a signal."""

import argparse
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.properties import read_pairs, read_properties
from oncelog.client.address import Address, parse_address
from oncelog.errors import BadConfig

if TYPE_CHECKING:
    from oncelog.cli.ui import BesidePage


def settings_of(options: argparse.Namespace) -> dict[str, str]:
    """--config, then --durability and --auto-create-topics, then --set: the later wins."""
    settings = {"durability": "power", "hot.path": "auto"}
    if options.config is not None:
        settings |= read_properties(options.config)
    if options.durability is not None:
        settings["durability"] = options.durability
    if options.auto_create_topics:
        settings["auto.create.topics.enable"] = "true"
    return settings | read_pairs(options.set)


def _address(option: str, text: str) -> Address:
    try:
        return parse_address(text, default_port=None)
    except ValueError as fault:
        raise UsageFault(f"{option}: {fault}") from None


def serve(options: argparse.Namespace) -> int:
    listen = _address("--listen", options.listen)
    advertise = None if options.advertise is None else _address("--advertise", options.advertise)
    settings = settings_of(options)
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    try:
        Path(options.data_dir).mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UsageFault(f"--data-dir {options.data_dir}: {fault.strerror}") from None
    # Imported here: a mistake in the options is told at once, without loading a broker.
    from oncelog.server.main import Options
    from oncelog.server.main import serve as run_server

    page = None if options.ui is None else _page(options)
    try:
        return run_server(
            Options(
                listen_host=listen.host,
                listen_port=listen.port,
                advertised_host=None if advertise is None else advertise.host,
                advertised_port=None if advertise is None else advertise.port,
                data_dir=options.data_dir,
                settings=settings,
            ),
            on_ready=_ready if page is None else page.ready,
        )
    except BadConfig as fault:
        raise UsageFault(str(fault)) from None
    except OSError as fault:  # the port is taken, or not ours to take
        print(f"oncelog: --listen {listen}: {fault.strerror or fault}", file=sys.stderr)
        return Exit.BAD
    finally:
        if page is not None:
            page.stop()


def _ready(host: str, port: int) -> None:
    print(f"oncelog ready on {Address(host, port)}", flush=True)


def _page(options: argparse.Namespace) -> "BesidePage":
    from oncelog.cli.ui import BesidePage, given_token

    token = given_token("--ui-token", options.ui_token, options.ui_token_file)
    return BesidePage(_address("--ui", options.ui), token, options.ui_host, _ready)
