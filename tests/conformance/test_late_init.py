"""A late copy of InitProducerId, over real sockets: it must not fence the producer that its own retry has made (decision 0010)."""

import os
import signal
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.client.address import parse_address
from oncelog.protocol.header import request_frame
from tests.processes import ServedBroker
from tests.vectors.play import Target
from tests.vectors.txn_wire import Id

INIT_PRODUCER_ID = 22


@pytest.fixture(params=["true", "false"])
def target(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Target]:
    settings = {"transaction.late.requests.refuse": request.param}
    with ServedBroker(tmp_path / "data", settings=settings) as broker:
        yield Target(request.param, broker)


def deliver(target: Target, one: Id, *, given: tuple[int, int] | None, abandoned: bool) -> str:
    """InitProducerId on a connection of its own; `abandoned`: the end of the stream arrives together with the request."""
    assert isinstance(target.broker, ServedBroker)
    frame = request_frame(INIT_PRODUCER_ID, 4, 1, "vector", one.init_request(given))
    with socket.create_connection(parse_address(target.broker.bootstrap), timeout=20) as door:
        os.kill(target.broker.process_id, signal.SIGSTOP)  # so that it finds both when it looks
        try:
            door.sendall(frame)
            if abandoned:
                door.shutdown(socket.SHUT_WR)
        finally:
            os.kill(target.broker.process_id, signal.SIGCONT)
        answer = door.makefile("rb").read() if abandoned else door.recv(4096)
    if not answer:
        return "nobody was told"
    return str(struct.unpack_from(">h", answer, 4 + 4 + 1 + 4)[0])  # length, correlation id, tags, throttle


@pytest.mark.parametrize("how", ["abandoned", "stale"])
def test_a_late_copy_of_init_producer_id_does_not_fence_the_producer_of_its_retry(
    target: Target, how: str
) -> None:
    log, one = target.partition(), Id(target)
    before = (one.producer_id, one.epoch)
    assert one.init(before) == "NONE (P,1)"
    assert one.add([(log.topic, 0)]) == "NONE"
    deliver(target, one, given=before if how == "stale" else None, abandoned=how == "abandoned")
    settled(one)
    if target.name == "true":
        assert one.describe().transaction_state == "Ongoing"
        assert one.commit(version=3) == "NONE"
    else:  # Apache Kafka: the transaction is aborted, and its producer fenced
        assert one.describe().transaction_state == "CompleteAbort"
        assert one.commit(version=3) == "PRODUCER_FENCED"
    one.connection.close()


@pytest.mark.parametrize("given", ["nobody", "itself"])
def test_whoever_waits_for_the_answer_is_let_in(target: Target, given: str) -> None:
    log, one = target.partition(), Id(target)
    assert one.add([(log.topic, 0)]) == "NONE"
    who = (one.producer_id, one.epoch) if given == "itself" else None
    assert deliver(target, one, given=who, abandoned=False) == "51"  # CONCURRENT_TRANSACTIONS: ask again
    settled(one)
    assert one.describe().transaction_state == "CompleteAbort"
    one.connection.close()


def settled(one: Id) -> None:
    """Requests of others are served by now, and what they began has ended."""
    one.connection.offered()
    one.describe()
    deadline = time.monotonic() + 20
    while one.describe().transaction_state.startswith("Prepare") and time.monotonic() < deadline:
        time.sleep(0.01)
