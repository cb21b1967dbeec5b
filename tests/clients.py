"""The two clients that tests of all kinds need: a connection for raw requests, and librdkafka's transactional producer."""

from collections.abc import Mapping
from typing import Final

from confluent_kafka import Producer

from oncelog.client.address import parse_address
from oncelog.client.session import Connection

LIMIT_S: Final = 20.0


def connect(bootstrap: str, client_id: str = "test") -> Connection:
    return Connection(parse_address(bootstrap), client_id=client_id, timeout_ms=int(LIMIT_S * 1000))


def transactional(
    bootstrap: str,
    transactional_id: str = "refunds-1",
    settings: Mapping[str, str | int] | None = None,
    *,
    start: bool = True,
) -> Producer:
    """It has its producer id already; with start=False `init_transactions` is left to the test."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "log_level": 0,
            **(settings or {}),
        }
    )
    if start:
        producer.init_transactions(LIMIT_S)
    return producer
