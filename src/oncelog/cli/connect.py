"""What every command that talks to a broker begins with."""

import argparse

from oncelog.cli.exits import UsageFault
from oncelog.client.address import parse_bootstrap
from oncelog.client.cluster import Cluster
from oncelog.client.properties import read_client_properties, security_of
from oncelog.client.security import Security


def connect(options: argparse.Namespace) -> Cluster:
    """The cluster that `--bootstrap` names; nothing is sent yet."""
    try:
        addresses = parse_bootstrap(options.bootstrap)
    except ValueError as fault:
        raise UsageFault(f"--bootstrap: {fault}") from None
    try:
        security = Security.from_options(security_settings(options))
    except ValueError as fault:
        raise UsageFault(f"--command-config {options.command_config}: {fault}") from None
    return Cluster(
        addresses, client_id="oncelog-cli", timeout_ms=int(options.timeout * 1000), security=security
    )


def security_settings(options: argparse.Namespace) -> dict[str, str]:
    """What the file of `--command-config` says of TLS and SASL, by Kafka's names. It is read each time: it may have changed."""
    if options.command_config is None:
        return {}
    try:
        return security_of(read_client_properties(options.command_config))
    except ValueError as fault:
        raise UsageFault(f"--command-config {fault}") from None
