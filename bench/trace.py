"""What it costs that the broker keeps the last requests of each transactional id for the inspector (transaction.trace.requests).

    python -m bench.trace                   # 150 pairs of 100 transactions each

A broker is driven in its own thread, with the bytes of requests and without sockets, so that nothing but the broker is measured:
Produce of ten records of 1 KB, then EndTxn, by ten producers. Half of the connections are traced and half are not; they take
turns in pairs whose order alternates. What counts is the CPU time of that thread, which other load of the machine changes little.
Over sockets a transaction costs more and the trace the same: its share is smaller there. Writes trace.json with every pair.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Final

import oncelog
from oncelog.broker.connection import Connection
from oncelog.cost.eos import machine
from oncelog.protocol.header import read_response_header, request_frame
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.primitives import Message
from oncelog.record.batch import NewRecord, build_batch
from oncelog.server.main import Server

RESULTS: Final = Path(__file__).parent / "results"
WITH, WITHOUT = "with the trace", "without"
PRODUCERS: Final = 10
EACH: Final = 10  # transactions of each producer in one run
INIT_PRODUCER_ID, PRODUCE, END_TXN = (22, 4), (0, 12), (26, 5)  # keys and versions


class LastAnswer:
    """A wire that keeps what was written to it."""

    def __init__(self) -> None:
        self.frame = b""

    def write(self, parts: list[Any]) -> None:
        self.frame = b"".join(bytes(each) for each in parts)[4:]

    def close(self) -> None:
        raise AssertionError("the broker closed the connection")


class Client:
    """One producer on one connection."""

    def __init__(self, server: Server, name: str, partition: int) -> None:
        self._name = name
        self._partition = partition
        self._wire = LastAnswer()
        self._connection = Connection(
            server.broker,
            self._wire,
            connection_id=partition,
            peer_host="127.0.0.1",
            peer_port=1,
            on_idle=lambda: None,
        )
        self._producer_id = self._epoch = -1

    def begin(self) -> None:
        asked = InitProducerIdRequest(transactional_id=self._name, transaction_timeout_ms=600_000)
        self._connection.frames([_frame(INIT_PRODUCER_ID, asked)])

    @property
    def has_begun(self) -> bool:
        if not self._wire.frame:
            return False
        self._keep(_answer(INIT_PRODUCER_ID, self._wire.frame, InitProducerIdResponse))
        return True

    def transaction(self) -> int:
        """Nanoseconds of CPU that the broker needed for it."""
        batch = build_batch(
            [NewRecord(None, b"x" * 1000, 1, [])] * 10,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=0,
            transactional=True,
        )
        data = PartitionProduceData(index=self._partition, records=batch)
        produce = ProduceRequest(
            transactional_id=self._name,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name="out", partition_data=[data])],
        )
        end = EndTxnRequest(
            transactional_id=self._name,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            committed=True,
        )
        frames = [_frame(PRODUCE, produce)], [_frame(END_TXN, end)]
        began = time.thread_time_ns()
        for each in frames:
            self._connection.frames(each)
        took = time.thread_time_ns() - began
        self._keep(_answer(END_TXN, self._wire.frame, EndTxnResponse))
        return took

    def _keep(self, answer: Any) -> None:
        assert answer.error_code == 0, answer
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch


def _frame(api: tuple[int, int], request: Message) -> bytes:
    return bytes(request_frame(*api, 1, "load", request)[4:])


def _answer(api: tuple[int, int], frame: bytes, wanted: type[Message]) -> Any:
    _, at = read_response_header(frame, *api)
    return wanted.decode(frame, api[1], at)


def _clients(server: Server) -> dict[str, list[Client]]:
    broker, made = server.broker, dict[str, list[Client]]()
    ring = broker.ring
    for side, kept in ((WITH, ring), (WITHOUT, None)):
        broker.ring = kept  # a connection asks for it once, when it is made
        made[side] = [Client(server, f"{side}-{number}", number) for number in range(PRODUCERS)]
    broker.ring = ring
    for each in made[WITH] + made[WITHOUT]:
        each.begin()
    return made


def _microseconds(clients: list[Client]) -> float:
    """For one transaction."""
    return sum(each.transaction() for _ in range(EACH) for each in clients) / (EACH * len(clients)) / 1000


def measure(pairs: int) -> dict[str, Any]:
    runs: list[dict[str, float]] = []
    with oncelog.Broker() as broker:
        broker.topic("out", partitions=PRODUCERS)
        clients = broker.run(_clients)
        while not all(each.has_begun for each in clients[WITH] + clients[WITHOUT]):
            time.sleep(0.01)
        for pair in range(pairs + 5):
            order = (WITH, WITHOUT) if pair % 2 else (WITHOUT, WITH)
            found = {side: broker.run(lambda _, side=side: _microseconds(clients[side])) for side in order}
            if pair >= 5:  # those before fill the rings
                runs.append(found)
    ratios = [each[WITH] / each[WITHOUT] for each in runs]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {
        "machine": machine(),
        "command": f"python -m bench.trace --pairs {pairs}",
        "load": f"transactions of 10 records of 1 KB, {PRODUCERS} producers; {EACH * PRODUCERS} of them a run",
        "cpu_ratio": {"median": middle, "quartiles": [low, high]},
        "cpu_us_per_transaction": {
            side: statistics.median(each[side] for each in runs) for side in (WITH, WITHOUT)
        },
        "cpu_us_per_transaction_least": {side: min(each[side] for each in runs) for side in (WITH, WITHOUT)},
        "runs": runs,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=150)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    found = measure(options.pairs)
    (options.out / "trace.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    low, high = found["cpu_ratio"]["quartiles"]
    print(
        f"CPU with / without: {found['cpu_ratio']['median']:.4f} (half of the pairs {low:.4f} to {high:.4f})"
    )
    for name in ("cpu_us_per_transaction", "cpu_us_per_transaction_least"):
        print(name, {side: round(value, 1) for side, value in found[name].items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
