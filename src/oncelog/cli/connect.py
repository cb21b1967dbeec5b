"""What every command that talks to a broker begins with."""

import argparse

from oncelog.cli.exits import UsageFault
from oncelog.client.address import parse_bootstrap
from oncelog.client.cluster import Cluster


def connect(options: argparse.Namespace) -> Cluster:
    """The cluster that `--bootstrap` names; nothing is sent yet."""
    try:
        addresses = parse_bootstrap(options.bootstrap)
    except ValueError as fault:
        raise UsageFault(f"--bootstrap: {fault}") from None
    return Cluster(addresses, client_id="oncelog-cli", timeout_ms=int(options.timeout * 1000))
