"""Vectors V10 to V13: producer ids without a transaction (spec 8.2). V14 and later need the coordinator."""

from typing import Any

from oncelog.client.cluster import COORDINATOR_PASSING, Backoff
from oncelog.client.session import Connection
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.vectors.play import Target, ask, error_of


def init(
    transactional_id: str | None, timeout_ms: int = 60_000, *, producer_id: int = -1, epoch: int = -1
) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
    )


def when_loaded(connection: Connection, request: InitProducerIdRequest) -> Any:
    """The first answer that does not say that the coordinator is still loading."""
    backoff = Backoff(20_000)
    while True:
        answer = ask(connection, request, 5)
        if answer.error_code not in COORDINATOR_PASSING or not backoff.wait():
            return answer


def test_v10_an_idempotent_producer_needs_no_timeout(target: Target) -> None:
    with target.vector("V10") as row, target.connect() as connection:
        first = ask(connection, init(None, -5), 5)
        row("(null, timeout -5)", f"{error_of(first)} epoch {first.producer_epoch}", "NONE epoch 0")
        second = ask(connection, init(None, -5), 5)
        row("again: another producer id", second.producer_id > first.producer_id >= 0, True)
        old = ask(connection, init(None, -5), 0)
        row("v0", f"{error_of(old)} epoch {old.producer_epoch}", "NONE epoch 0")
        ignored = ask(connection, init(None, -5, producer_id=first.producer_id, epoch=7), 5)
        row(
            "with a producer id and epoch",
            f"{error_of(ignored)} epoch {ignored.producer_epoch}",
            "NONE epoch 0",
        )
        row("those are ignored", ignored.producer_id not in (first.producer_id, second.producer_id), True)


def test_v11_an_empty_transactional_id(target: Target) -> None:
    with target.vector("V11") as row, target.connect() as connection:
        answer = ask(connection, init(""), 5)
        row('("", 60000)', error_of(answer), "INVALID_REQUEST")
        row("producer id and epoch", f"{answer.producer_id}/{answer.producer_epoch}", "-1/-1")


def test_v12_the_bounds_of_the_transaction_timeout(target: Target) -> None:
    with target.vector("V12") as row:
        name = target.fresh_name("txn")
        if target.has_transactions:
            with target.cluster() as cluster:
                cluster.coordinator(name, kind=1)
        with target.connect() as connection:
            for timeout_ms in (0, -1, 900_001):
                answer = ask(connection, init(name, timeout_ms), 5)
                row(f"timeout {timeout_ms}", error_of(answer), "INVALID_TRANSACTION_TIMEOUT")
            if target.has_transactions:
                row("timeout 900000", error_of(when_loaded(connection, init(name, 900_000))), "NONE")


def test_v13_producer_id_and_epoch_come_together(target: Target) -> None:
    with target.vector("V13") as row, target.connect() as connection:
        for what, name in (("transactional id", target.fresh_name("txn")), ("null", None)):
            row(
                f"{what}: only the id",
                error_of(ask(connection, init(name, producer_id=5), 5)),
                "INVALID_REQUEST",
            )
            row(
                f"{what}: only the epoch",
                error_of(ask(connection, init(name, epoch=5), 5)),
                "INVALID_REQUEST",
            )
            row(
                f"{what}: only the id, v3",
                error_of(ask(connection, init(name, producer_id=5), 3)),
                "INVALID_REQUEST",
            )
