"""The transactional client programs: how each is built and started, and what it calls being fenced."""

import os
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Final

from tests.conformance.client import Client, Kind
from tests.conformance.kinds import build, python_client
from tests.oracle import classpath, fetch
from tests.toolchains import Missing, java, javac, leave_out, program

QUICK_JVM: Final = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@cache
def java_class(name: str) -> list[str]:
    """The command that runs a class of clients/java."""
    jars = fetch()
    folder = build(
        "java", (f"{name}.java",), [javac(), "-cp", f"{jars}{os.sep}*", f"{name}.java"], on=jars.name
    )
    return [java(), *QUICK_JVM, "-cp", classpath(folder), name]


@cache
def go_program() -> list[str]:
    files = ("transactions/main.go", "go.mod", "go.sum")
    return [
        str(build("go", files, [program("go"), "build", "-buildvcs=false", "-o", "client", "."]) / "client")
    ]


@cache
def node_program() -> list[str]:
    install = [program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    folder = build("node", ("transactions.js", "package.json", "package-lock.json"), install)
    return [program("node"), str(folder / "transactions.js")]


@dataclass(frozen=True, slots=True)
class Fencing:
    """Words that a client's error must have, the same on Apache Kafka."""

    send: str
    """A record of a producer whose successor has been given its identity."""
    commit: str
    """The commit of such a producer."""
    timed_out: str
    """The commit of a transaction that the broker aborted because it took too long."""


@dataclass(frozen=True, slots=True)
class Transactional:
    """A client, the transaction protocol that it speaks (TV1 or TV2), and its words."""

    kind: Kind
    version: int
    fencing: Fencing

    @property
    def name(self) -> str:
        return self.kind.name


def _kind(name: str, command: Callable[[], list[str]], *protocols: str) -> Kind:
    return Kind(name, command, protocols=("classic", *protocols))


CLIENTS: Final = (
    Transactional(
        _kind("librdkafka", python_client("librdkafka_transactions"), "consumer"),
        1,
        Fencing(send="_FENCED", commit="_FENCED", timed_out="_FENCED"),
    ),
    Transactional(
        _kind("aiokafka", python_client("aio_transactions")),
        1,
        Fencing(send="ProducerFenced", commit="ProducerFenced", timed_out="ProducerFenced"),
    ),
    Transactional(
        _kind("kafka-python", python_client("kafka_python_transactions")),
        1,
        Fencing(
            send="InvalidProducerEpochError", commit="ProducerFencedError", timed_out="ProducerFencedError"
        ),
    ),
    Transactional(
        _kind("java", lambda: java_class("Transactions"), "consumer"),
        2,
        Fencing(
            send="InvalidProducerEpochException",
            commit="ProducerFencedException",
            timed_out="InvalidTxnStateException",
        ),
    ),
    Transactional(
        _kind("franz-go", go_program, "consumer"),
        2,
        Fencing(send="INVALID_PRODUCER_EPOCH", commit="PRODUCER_FENCED", timed_out="INVALID_TXN_STATE"),
    ),
    Transactional(
        _kind("kafkajs", node_program),
        1,
        Fencing(
            send="INVALID_PRODUCER_EPOCH", commit="INVALID_PRODUCER_EPOCH", timed_out="INVALID_PRODUCER_EPOCH"
        ),
    ),
)


class Program(Client):
    """One process that can also be killed."""

    def kill(self) -> None:
        """kill -9: it cannot end what it began."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGSTOP: it does nothing, and its connections stay open."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def halted(self) -> bool:
        return bool(self._said("halted"))


@contextmanager
def started(client: Transactional, bootstrap: str, count: int = 1) -> Generator[Sequence[Program]]:
    try:
        client.kind.command()
    except Missing as why:
        leave_out(f"transactions of the {client.name} client", why)
    with ExitStack() as stack:
        yield [stack.enter_context(Program(client.kind, bootstrap)) for _ in range(count)]
