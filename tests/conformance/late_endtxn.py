"""The late EndTxn with real clients, counted: `python -m tests.conformance.late_endtxn [--tries 1000]`."""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol, TypeVar

from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from confluent_kafka import KafkaException

from oncelog.client.easy import create_topic, read_all
from tests.clients import transactional
from tests.conformance.late_proxy import LateProxy
from tests.oracle import Oracle
from tests.processes import ServedBroker

T = TypeVar("T")


class TxnProducer(Protocol):
    """A transactional producer of some client, driven step by step."""

    def begin(self, topic: str, value: bytes) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> bool:
        """False if the client was told that it cannot: the transaction was ended behind its back."""
        ...

    def close(self) -> None: ...


class LibrdkafkaProducer:
    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        patience = {"reconnect.backoff.ms": 1, "reconnect.backoff.max.ms": 20, "retry.backoff.ms": 5}
        self._producer = transactional(bootstrap, transactional_id, patience)

    def begin(self, topic: str, value: bytes) -> None:
        self._producer.begin_transaction()
        self._producer.produce(topic, value, partition=0)
        self._producer.flush(20)

    def commit(self) -> None:
        self._producer.commit_transaction(20)

    def abort(self) -> bool:
        try:
            self._producer.abort_transaction(20)
        except KafkaException:
            return False
        return True

    def close(self) -> None:
        del self._producer


class AiokafkaProducer:
    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._producer: Any = self._run(self._start(bootstrap, transactional_id))

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(asyncio.wait_for(coroutine, 30))

    async def _start(self, bootstrap: str, transactional_id: str) -> Any:
        producer: Any = AIOKafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id, retry_backoff_ms=5
        )
        await producer.start()
        return producer

    def begin(self, topic: str, value: bytes) -> None:
        self._run(self._producer.begin_transaction())
        self._run(self._producer.send_and_wait(topic, value, partition=0))

    def commit(self) -> None:
        self._run(self._producer.commit_transaction())

    def abort(self) -> bool:
        try:
            self._run(self._producer.abort_transaction())
        except Exception:  # noqa: BLE001  # any error: the client was refused what was its right
            return False
        return True

    def close(self) -> None:
        try:
            self._run(self._producer.stop())
        except Exception as error:  # noqa: BLE001  # a producer that was fenced cannot stop cleanly
            sys.stderr.write(f"aiokafka: {error}\n")
        self._loop.close()


def count_wrong(
    proxy: LateProxy, bootstrap: str, make: Callable[[str, str], TxnProducer], *, tries: int
) -> int:
    """Tries in which the aborted transaction is visible or could not be aborted."""
    wrong = 0
    create_topic(bootstrap, "late")
    producer: TxnProducer | None = None
    for number in range(tries):
        if producer is None:
            producer = make(f"127.0.0.1:{proxy.port}", f"late-{make.__name__}-{number}")
        producer.begin("late", b"committed %d" % number)
        proxy.hold_next_end_txn()
        producer.commit()
        if not proxy.holds_one:
            raise AssertionError("the proxy saw no EndTxn")
        producer.begin("late", b"aborted %d" % number)
        proxy.deliver_late()
        time.sleep(0.02)  # Kafka writes its markers after the answer
        if not producer.abort():
            wrong += 1
            producer.close()
            producer = None
    if producer is not None:
        producer.close()
    visible = {record.value or b"" for record in read_all(bootstrap, "late")}
    missing = [number for number in range(tries) if b"committed %d" % number not in visible]
    if missing:
        raise AssertionError(f"committed transactions are missing: {missing}")
    leaked = sum(value.startswith(b"aborted") for value in visible)
    return max(wrong, leaked)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--without-kafka", action="store_true")
    asked = parser.parse_args()
    failed = False
    for make in (LibrdkafkaProducer, AiokafkaProducer):
        with tempfile.TemporaryDirectory() as directory, LateProxy() as proxy:
            with ServedBroker(Path(directory), advertise=f"127.0.0.1:{proxy.port}") as broker:
                proxy.broker_port = broker.port
                wrong = count_wrong(proxy, broker.bootstrap, make, tries=asked.tries)
            failed = failed or wrong > 0
            sys.stdout.write(f"{make.__name__:20} oncelog       {wrong} wrong of {asked.tries}\n")
        if asked.without_kafka:
            continue
        with LateProxy() as proxy:
            kafka = Oracle()
            kafka.properties["advertised.listeners"] = f"PLAINTEXT://127.0.0.1:{proxy.port}"
            with kafka:
                proxy.broker_port = kafka.port
                wrong = count_wrong(proxy, kafka.bootstrap, make, tries=asked.tries)
            sys.stdout.write(f"{make.__name__:20} Apache Kafka  {wrong} wrong of {asked.tries}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
