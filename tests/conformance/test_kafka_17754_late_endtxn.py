"""KAFKA-17754 with real clients of the classic protocol: a late copy of EndTxn must not end the next transaction.

Each try: transaction n is committed, a copy of its EndTxn stays on the way; transaction n+1 writes; the copy arrives; the client
aborts n+1. Wrong outcome: n+1 is visible, or its abort fails. `python -m tests.conformance.late_endtxn` runs 1,000 tries on
oncelog and on Apache Kafka and prints both figures.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.late_endtxn import AiokafkaProducer, LibrdkafkaProducer, TxnProducer, count_wrong
from tests.conformance.late_proxy import LateProxy
from tests.processes import ServedBroker

TRIES = 15


@pytest.mark.parametrize("make", [LibrdkafkaProducer, AiokafkaProducer])
def test_kafka_17754_late_endtxn_is_refused(tmp_path: Path, make: Callable[[str, str], TxnProducer]) -> None:
    with LateProxy() as proxy, ServedBroker(tmp_path, advertise=f"127.0.0.1:{proxy.port}") as broker:
        proxy.broker_port = broker.port
        assert count_wrong(proxy, broker.bootstrap, make, tries=TRIES) == 0


def test_kafka_17754_late_endtxn_does_harm_with_the_guard_off(tmp_path: Path) -> None:
    """The control: like Kafka, and the test can fail."""
    settings = {"transaction.late.requests.refuse": "false"}
    with (
        LateProxy() as proxy,
        ServedBroker(tmp_path, advertise=f"127.0.0.1:{proxy.port}", settings=settings) as broker,
    ):
        proxy.broker_port = broker.port
        assert count_wrong(proxy, broker.bootstrap, LibrdkafkaProducer, tries=3) == 3
