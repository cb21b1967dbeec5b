"""What a request costs inside the broker, without sockets: steps of the interpreter, and CPU time.

    python -m bench.hot_path                                # this tree
    python -m bench.hot_path --tree before=../before/src --tree now=src --out bench/results

A step is one instruction of Python's bytecode, once the interpreter has made its code warm: their number hardly differs from run
to run, whatever else the machine does. CPU time is the smallest of many turns, on a real disk. Trees are measured in turns, each in processes of its own.
"""

import argparse
import asyncio
import gc
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final

from oncelog.broker.connection import Connection
from oncelog.model import Millis
from oncelog.protocol.header import request_frame
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.protocol.primitives import Message
from oncelog.record.batch import NewRecord, build_batch
from oncelog.record.crc import crc32c
from oncelog.server.main import Options, Server, as_asyncio
from oncelog.tasks import spawn

PRODUCERS: Final = 50
PARTITIONS: Final = 12
TURNS: Final = 100
WARM_TURNS: Final = 10
BODY_AT: Final = 9  # of an answer: length, correlation id, no tags
CASES: Final = {  # records, bytes of each, transactional
    "transaction of 10 records of 1 KB": (10, 1024, True),
    "produce of 16 records of 1 KB": (16, 1024, False),
    "produce of 163 records of 100 B": (163, 100, False),
}


class Client:
    """One producer without a socket: what the broker answers stays in `answers`."""

    def __init__(
        self, server: Server, number: int, case: tuple[int, int, bool], now: int | None = None
    ) -> None:
        self.records, size, self.transactional = case
        self.answers: list[bytes] = []
        self.answered = asyncio.Event()
        self._connection = Connection(
            server.broker,
            self,
            connection_id=number + 1,
            peer_host="127.0.0.1",
            peer_port=1,
            on_idle=lambda: None,
        )
        self.name = f"client-{number}" if self.transactional else None
        self._partition = number % PARTITIONS
        time_ms = Millis(server.clock.wall_ms() if now is None else now)
        self._batch = bytearray(
            build_batch([NewRecord(None, os.urandom(size), time_ms) for _ in range(self.records)])
        )
        if self.transactional:
            self._batch[22] |= 0x10
        self.producer_id, self.producer_epoch, self.sequence = -1, -1, 0

    def write(self, parts: list[Any]) -> None:
        self.answers.append(b"".join(parts))
        if not self.answered.is_set():
            self.answered.set()

    def close(self) -> None:
        raise RuntimeError("the broker closed the connection")

    def ask(self, frame: bytes) -> None:
        self._connection.frames([frame])

    async def begin(self) -> None:
        request = InitProducerIdRequest(
            transactional_id=self.name, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        while self.producer_id < 0:
            self.answered.clear()
            self.ask(_frame(22, 4, request))
            await self.answered.wait()
            answer = InitProducerIdResponse.decode(self.answers.pop(), 4, BODY_AT)
            self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch

    def produce(self) -> bytes:
        struct.pack_into(">qhi", self._batch, 43, self.producer_id, self.producer_epoch, self.sequence)
        struct.pack_into(">I", self._batch, 17, crc32c(bytes(self._batch[21:])))
        self.sequence += self.records
        part = PartitionProduceData(index=self._partition, records=bytes(self._batch))
        topic = TopicProduceData(name="topic", partition_data=[part])
        return _frame(
            0,
            12,
            ProduceRequest(transactional_id=self.name, acks=-1, timeout_ms=30_000, topic_data=[topic]),
        )

    def produced(self) -> None:
        answer = ProduceResponse.decode(self.answers.pop(), 12, BODY_AT)
        error = answer.responses[0].partition_responses[0].error_code
        if error:
            raise RuntimeError(f"Produce was answered {error}")

    def end(self) -> bytes:
        return _frame(
            26,
            5,
            EndTxnRequest(
                transactional_id=self.name or "",
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                committed=True,
            ),
        )

    def ended(self) -> None:
        answer = EndTxnResponse.decode(self.answers.pop(), 5, BODY_AT)
        if answer.error_code:
            raise RuntimeError(f"EndTxn was answered {answer.error_code}")
        self.producer_id, self.producer_epoch, self.sequence = answer.producer_id, answer.producer_epoch, 0


def _frame(key: int, version: int, request: Message) -> bytes:
    return bytes(request_frame(key, version, 1, "bench", request))[4:]


class Steps:
    """Counts the bytecode instructions that `run` takes."""

    def __init__(self) -> None:
        self.count = 0

    def of(self, run: Callable[[], None]) -> int:
        self.count = 0
        sys.settrace(self._trace)
        try:
            run()
        finally:
            sys.settrace(None)
        return self.count

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.count += 1
        return self._trace


async def measure(
    case: tuple[int, int, bool],
    turns: int = TURNS,
    settings: Mapping[str, str] | None = None,
    counted: int = 1,
) -> dict[str, float]:
    """Steps and the least CPU microseconds of one operation: a whole transaction, or one Produce.

    Steps are the mean of so many `counted` operations: some work is done once for many requests.
    """
    directory = tempfile.mkdtemp(prefix="hot-path-")
    server = Server(Options(data_dir=directory, listen_port=0, settings=settings or {}))
    await server.start()
    gc.freeze()
    await as_asyncio(spawn(server.loop, made(server)))
    clients = [Client(server, number, case) for number in range(PRODUCERS if case[2] else 1)]
    for client in clients:
        await client.begin()
    times = [_turn(clients) for _ in range(turns + WARM_TURNS)][WARM_TURNS:]
    steps, count = Steps(), 0
    for number in range(counted):
        client = clients[number % len(clients)]
        frame = client.produce()
        count += steps.of(lambda client=client, frame=frame: client.ask(frame))
        client.produced()
        if case[2]:
            end = client.end()
            count += steps.of(lambda client=client, end=end: client.ask(end))
            client.ended()
    await server.listener.stop()
    await as_asyncio(spawn(server.loop, server.broker.stop()))
    server.loop.close()
    shutil.rmtree(directory, ignore_errors=True)
    return {"steps": count / counted, "cpu_us": min(times), "cpu_us_median": statistics.median(times)}


async def made(server: Server) -> None:
    await server.engine.create_topic("topic", PARTITIONS, {})


def _turn(clients: list[Client]) -> float:
    """Every client once; a durability of process answers at once, so nothing is waited for."""
    spent, clock = 0, time.thread_time_ns
    repeats = 1 if clients[0].transactional else 20
    for _ in range(repeats):
        for client in clients:
            frame = client.produce()
            began = clock()
            client.ask(frame)
            spent += clock() - began
            client.produced()
        if not clients[0].transactional:
            continue
        frames = [client.end() for client in clients]
        began = clock()
        for client, frame in zip(clients, frames, strict=True):
            client.ask(frame)
        spent += clock() - began
        for client in clients:
            client.ended()
    return spent / repeats / len(clients) / 1000


def compare(trees: list[str], rounds: int) -> dict[str, Any]:
    from oncelog.cost.eos import commit, machine  # not by a process of an older tree, which may have none

    runs: list[dict[str, Any]] = []
    for turn in range(rounds):
        for tree in trees if turn % 2 else reversed(trees):
            name, _, path = tree.rpartition("=")
            for case in CASES:
                environment = {**os.environ, "PYTHONPATH": os.pathsep.join((path, str(Path.cwd())))}
                said = subprocess.run(
                    [sys.executable, "-m", "bench.hot_path", "--one", case],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=True,
                )
                runs.append({"tree": name or path, "case": case, "round": turn, **json.loads(said.stdout)})
    return {
        "python": sys.version.split()[0],
        "machine": machine(),
        "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "commits": {name or path: commit(Path(path).resolve().parent) for name, _, path in parted(trees)},
        "rounds": rounds,
        "runs": runs,
    }


def parted(trees: list[str]) -> list[tuple[str, str, str]]:
    """(name, "=", path) of each."""
    return [each.rpartition("=") for each in trees]


def conditions(found: Mapping[str, Any]) -> str:
    """Under the table: where and when; nothing of older files, which do not say."""
    if not found.get("when"):
        return ""
    where, commits = found["machine"], found["commits"]
    trees = ", ".join(f"{name} {of or 'of no checkout'}" for name, of in commits.items())
    return (
        f"\n\n{found['rounds']} rounds, {found['when']}; {where['cores']} cores, {where['cpu']}, {where['file_system']}, "
        f"Python {found['python']}; commits: {trees}."
    )


def table(found: dict[str, Any]) -> str:
    runs: list[dict[str, Any]] = found["runs"]
    lines = ["| inside the broker | tree | steps of the interpreter | CPU, us |", "|---|---|---|---|"]
    for case in dict.fromkeys(each["case"] for each in runs):
        for tree in dict.fromkeys(each["tree"] for each in sorted(runs, key=lambda run: -run["steps"])):
            of_both = [each for each in runs if each["case"] == case and each["tree"] == tree]
            steps, cpu = round(of_both[0]["steps"]), [each["cpu_us"] for each in of_both]
            lines.append(f"| {case} | {tree} | {steps:,} | {min(cpu):.0f} (to {max(cpu):.0f}) |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tree", action="append", help="a source tree, or NAME=TREE; several: they are compared"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", choices=list(CASES), help="only this case, in this process, as JSON")
    parser.add_argument("--out", help="write hot_path.json there")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(asyncio.run(measure(CASES[asked.one]))))
        return 0
    found = compare(asked.tree or ["src"], asked.rounds)
    if asked.out:
        (Path(asked.out) / "hot_path.json").write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
