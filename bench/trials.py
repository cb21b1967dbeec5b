"""Ideas for the hot path that were tried and not built (decision 0028), measured once more as single steps. A minute or two:

    python -m bench.trials --out bench/results

socket    a cached file through a socket of 127.0.0.1 behind a head of 60 bytes: `pread` and `sendmsg` as the broker does, or `sendfile`
writes    150 bytes at the end of a file: by a call of their own, or two or four of them by one `pwritev`
deadline  a long poll's deadline, set and taken back: a timer of asyncio as the broker has it, or a slot of 32 ms in one wheel
broker    what all of this is a part of: CPU of `oncelog serve` for a transaction, Fetches of 1 MB and 64 KB, a Fetch answered at once, one in vain
calls     how many writes a transaction is, and how many files a turn of the loop writes to, by strace (apart: strace slows the broker)

Every round runs all ways of a step, in turns; round 0 is not kept. CPU is that of the thread (of the broker's process), by its own clock. Writes
trials.json and trials.md.
"""

import argparse
import asyncio
import json
import math
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.raw import exchange
from oncelog.cost import load
from oncelog.cost.eos import commit, create, first_transaction, machine
from oncelog.cost.progress import Progress
from oncelog.cost.sides import OncelogSide, OtherLoad
from oncelog.protocol.header import request_frame
from oncelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from oncelog.server.loop import AsyncioLoop

HEAD: Final = bytes(60)  # about what stands before the records in an answer
SENT_BYTES: Final = 128 << 20  # of each run
FILE_BYTES: Final = 64 << 20
PIECES: Final = {"1 MB": 1 << 20, "64 KB": 64 << 10, "16 KB": 16 << 10}
FETCHES: Final = {name: PIECES[name] for name in ("1 MB", "64 KB")}
RECORD: Final = bytes(150)  # a state of a transaction is about so long
RECORDS: Final = 100_000
JOINED: Final = {"alone": 1, "joined with another": 2, "joined with three others": 4}
DEADLINES: Final = 100_000
DEADLINES_A_TURN: Final = 1000  # then the loop has its turn, and throws away what was cancelled
WAIT_MS: Final = 500  # of a long poll
SLOT_MS: Final = 32
PRODUCERS: Final = 50
PARTITIONS: Final = 12
LOADED_S: Final = 1.0
POLLS: Final = 1000
POLLS_IN_VAIN: Final = 300
FETCH_VERSION: Final = 12
TRACED_S: Final = 1.5
CALLS: Final = "pwrite64,pwritev,pwritev2,epoll_wait,epoll_pwait,epoll_pwait2"
RUN_S: Final = 0.3  # of any way, about, for who waits


@dataclass(frozen=True, slots=True)
class Way:
    """One way to do a step. A run gives figures by their names."""

    step: str
    name: str
    run: Callable[[], Mapping[str, float]]


# ---- a file through a socket


def by_copy(door: socket.socket, file: int, at: int, size: int) -> None:
    data = os.pread(file, size, at)
    sent = door.sendmsg([HEAD, data])
    if sent < len(HEAD) + size:
        door.sendall((HEAD + data)[sent:])


def by_sendfile(door: socket.socket, file: int, at: int, size: int) -> None:
    door.send(HEAD, socket.MSG_MORE)
    end = at + size
    while at < end:
        at += os.sendfile(door.fileno(), file, at, end - at)


SENDERS: Final = {"pread, sendmsg": by_copy, "sendfile": by_sendfile}
# Reads what comes and says nothing: CPU of its own does not count.
SINK: Final = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as door:
    room = bytearray(1 << 20)
    while door.recv_into(room): pass
"""


@contextmanager
def reader() -> Generator[socket.socket]:
    """A socket at whose other end another process reads."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        words = [sys.executable, "-c", SINK, str(listener.getsockname()[1])]
        with subprocess.Popen(words) as process:
            door, _ = listener.accept()
            with door:
                door.settimeout(None)
                door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                yield door
            process.wait(30)


def sending(door: socket.socket, file: int, size: int, send: Callable[..., None]) -> dict[str, float]:
    begun, used = time.monotonic_ns(), time.thread_time_ns()
    for number in range(SENT_BYTES // size):
        send(door, file, number * size % FILE_BYTES, size)
    used, passed = time.thread_time_ns() - used, time.monotonic_ns() - begun
    return {"CPU, s/GB": used / SENT_BYTES, "GB/s": SENT_BYTES / passed}


def socket_ways(door: socket.socket, file: int) -> list[Way]:
    return [
        Way(
            f"a cached file through a socket, pieces of {shown}",
            name,
            lambda size=size, send=send: sending(door, file, size, send),
        )
        for shown, size in PIECES.items()
        for name, send in SENDERS.items()
    ]


# ---- small writes


def writing(file: int, joined: int) -> dict[str, float]:
    os.ftruncate(file, 0)
    pieces, size, at = [RECORD] * joined, joined * len(RECORD), 0
    used = time.thread_time_ns()
    for _ in range(RECORDS // joined):
        os.pwritev(file, pieces, at)
        at += size
    return {"CPU for each, us": (time.thread_time_ns() - used) / 1000 / (RECORDS // joined * joined)}


def write_ways(file: int) -> list[Way]:
    step = f"a write of {len(RECORD)} bytes"
    return [Way(step, name, lambda count=count: writing(file, count)) for name, count in JOINED.items()]


# ---- deadlines


class Wheel:
    """Deadlines in slots: setting one and taking it back is a set's add and discard; one timer for all of them turns it."""

    def __init__(self, now_ms: Callable[[], float]) -> None:
        self._now_ms = now_ms
        self._slots: dict[int, set[Callable[[], None]]] = {}
        self._turned = int(now_ms()) // SLOT_MS

    def call_later(self, delay_ms: float, run: Callable[[], None]) -> int:
        slot = int(self._now_ms() + delay_ms) // SLOT_MS + 1
        there = self._slots.get(slot)
        if there is None:
            self._slots[slot] = {run}
        else:
            there.add(run)
        return slot

    def cancel(self, slot: int, run: Callable[[], None]) -> None:
        there = self._slots.get(slot)
        if there is not None:
            there.discard(run)

    def turn(self) -> None:
        """What is due, up to a slot late and never early."""
        now = int(self._now_ms()) // SLOT_MS
        while self._turned < now:
            self._turned += 1
            for run in self._slots.pop(self._turned, ()):
                run()


def by_timer(loop: AsyncioLoop) -> None:
    for _ in range(DEADLINES_A_TURN):
        loop.call_later(WAIT_MS, lambda: None).cancel()


def by_wheel(wheel: Wheel) -> None:
    for _ in range(DEADLINES_A_TURN):
        run: Callable[[], None] = lambda: None  # noqa: E731  # each poll has its own
        wheel.cancel(wheel.call_later(WAIT_MS, run), run)
    wheel.turn()


def deadlines(of: str) -> dict[str, float]:
    async def all_of_them() -> int:
        loop = AsyncioLoop(asyncio.get_running_loop())
        wheel = Wheel(lambda: time.monotonic_ns() / 1e6)
        used = time.thread_time_ns()
        for _ in range(DEADLINES // DEADLINES_A_TURN):
            if of == TIMER:
                by_timer(loop)
            else:
                by_wheel(wheel)
            await asyncio.sleep(0)
        used = time.thread_time_ns() - used
        loop.close()
        return used

    return {"CPU, us": asyncio.run(all_of_them()) / 1000 / DEADLINES}


TIMER: Final = "a timer of asyncio"
WHEEL: Final = f"a slot of {SLOT_MS} ms"


def deadline_ways() -> list[Way]:
    step = "a deadline, set and taken back"
    return [Way(step, name, lambda name=name: deadlines(name)) for name in (TIMER, WHEEL)]


# ---- the broker


def process_ns(process_id: int | None) -> int:
    """CPU of all threads of another process, by the clock that the kernel has for it (clock_getcpuclockid)."""
    assert process_id is not None
    return time.clock_gettime_ns((~process_id << 3) | 2)


def in_broker(side: OncelogSide, run: Callable[[], float]) -> float:
    """CPU ns of the broker for each of what `run` says that it did."""
    used = process_ns(side.process_id)
    done = run()
    return (process_ns(side.process_id) - used) / done


def transactions(side: OncelogSide, seconds: float = LOADED_S) -> int:
    found = load.transactions(
        side.bootstrap,
        "traded",
        partitions=PARTITIONS,
        producers=PRODUCERS,
        records=10,
        record_bytes=1024,
        seconds=seconds,
    )
    return found.done


def fetched(side: OncelogSide, size: int) -> float:
    topic = f"fetched-{size}"
    return load.fetch(side.bootstrap, topic, partitions=1, max_bytes=size, seconds=LOADED_S).bytes


def polls(side: OncelogSide, topic: str, count: int, wait_ms: int) -> float:
    """Fetches of one record, or of a topic that has none."""
    part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_048_576)
    asked = FetchRequest(
        max_wait_ms=wait_ms, min_bytes=1, topics=[FetchTopic(topic=topic, partitions=[part])]
    )
    frame = bytes(request_frame(1, FETCH_VERSION, 1, "bench", asked))
    host, port = side.bootstrap.split(":")
    with socket.create_connection((host, int(port))) as door:
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            exchange(door, frame)
    return count


def prepared(side: OncelogSide) -> None:
    side.start()
    first_transaction(side.bootstrap)
    for topic, partitions in (("traded", PARTITIONS), ("one", 1), ("none", 1)):
        create(side.bootstrap, topic, partitions)
    for size in FETCHES.values():  # batches of a quarter of an answer
        topic, batch = f"fetched-{size}", size // 4 - 1024
        create(side.bootstrap, topic, 1)
        load.produce(
            side.bootstrap, topic, record_bytes=1000, batch_bytes=batch, most=math.ceil(FILE_BYTES / batch)
        )
    load.produce(side.bootstrap, "one", record_bytes=100, batch_bytes=100, most=1)


def broker_ways(lane: OncelogSide, python: OncelogSide) -> list[Way]:
    us, step = "CPU of the broker, us", "a Fetch"
    return [
        *(
            Way(
                f"a transaction of 10 records of 1 KB, {PRODUCERS} producers",
                name,
                lambda side=side: {us: in_broker(side, lambda: transactions(side)) / 1000},
            )
            for name, side in (("hot.path=native", lane), ("hot.path=python", python))
        ),
        *(
            Way(
                "Fetches from the page cache, one after the other",
                f"of {shown}",
                lambda size=size: {"CPU of the broker, s/GB": in_broker(lane, lambda: fetched(lane, size))},
            )
            for shown, size in FETCHES.items()
        ),
        Way(
            step,
            "answered at once",
            lambda: {us: in_broker(lane, lambda: polls(lane, "one", POLLS, WAIT_MS)) / 1000},
        ),
        Way(
            step,
            "in vain, for 1 ms",
            lambda: {us: in_broker(lane, lambda: polls(lane, "none", POLLS_IN_VAIN, 1)) / 1000},
        ),
    ]


# ---- calls

_CALL: Final = re.compile(r"^(\d+) +.*?\b(pwrite64|pwritev2?|epoll_p?wait2?)(?:\((\d+)| resumed)")


def counted(lines: Iterable[str], main: int, transactions: int) -> dict[str, float]:
    """Of strace's lines: writes to files by any thread, and the turns of the main one that wrote, with the files of each."""
    writes, turns, files = 0, 0, 0
    of_turn: set[str] = set()
    for line in lines:
        found = _CALL.match(line)
        if found is None:
            continue
        thread, call, file = found.groups()
        if call.startswith("pwrite"):
            if file is None:  # the end of a call whose beginning was counted
                continue
            writes += 1
            if int(thread) == main:
                of_turn.add(file)
        elif int(thread) == main and of_turn:
            turns, files = turns + 1, files + len(of_turn)
            of_turn = set()
    return {
        "writes a transaction": writes / transactions,
        "different files a transaction, of the turns that wrote": files / transactions,
        "transactions a turn": transactions / max(turns, 1),
    }


def traced(side: OncelogSide) -> dict[str, float] | str:
    """Or why not."""
    strace = shutil.which("strace")
    if strace is None:
        return "not counted: wanted strace on the PATH, found none"
    assert side.process_id is not None
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "calls"
        words = [strace, "-f", "-q", "-e", f"trace={CALLS}", "-e", "signal=none", "-s", "0"]
        words += ["-o", str(said), "-p", str(side.process_id)]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            try:
                wait_attached(side.process_id, process)
                count = transactions(side, TRACED_S)
            except load.CannotMeasure as fault:
                return f"not counted: {fault}"
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(30)
        with said.open() as lines:
            return counted(lines, side.process_id, count)


def wait_attached(process_id: int, strace: subprocess.Popen[str]) -> None:
    """Until every thread says that it is traced."""
    while True:
        told = [each.read_text() for each in Path(f"/proc/{process_id}/task").glob("*/status")]
        if all(f"TracerPid:\t{strace.pid}" in each for each in told):
            return
        if strace.poll() is not None:
            assert strace.stderr is not None
            raise load.CannotMeasure(f"strace: {strace.stderr.read().strip()[-200:]}")
        time.sleep(0.01)


# ---- all of it


def measured(ways: Sequence[Way], rounds: int, progress: Progress) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = []
    for turn in range(rounds + 1):
        for way in ways if turn % 2 else tuple(reversed(ways)):
            noise = OtherLoad(None)
            figures = way.run()
            shown = ", ".join(f"{value:.3g} {name}" for name, value in figures.items())
            progress.step(f"{way.step}, {way.name}: {shown}", RUN_S)
            if turn:
                of_it = {"step": way.step, "way": way.name, "round": turn, "figures": dict(figures)}
                runs.append({**of_it, "busy": noise.share()})
    return runs


def measure(rounds: int, tell: Callable[[str], None]) -> dict[str, Any]:
    lane, python = OncelogSide(), OncelogSide(hot_path="python")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trials-")))
        cached = os.open(folder / "cached", os.O_RDWR | os.O_CREAT)
        stack.callback(os.close, cached)
        for _ in range(FILE_BYTES >> 20):
            os.write(cached, os.urandom(1 << 20))
        written = os.open(folder / "written", os.O_RDWR | os.O_CREAT)
        stack.callback(os.close, written)
        door = stack.enter_context(reader())
        for side in (lane, python):
            stack.callback(side.stop)
            prepared(side)
        os.sync()  # what was written so far shall be in nobody's way
        ways = [
            *socket_ways(door, cached),
            *write_ways(written),
            *deadline_ways(),
            *broker_ways(lane, python),
        ]
        steps = len(ways) * (rounds + 1)
        progress = Progress(tell, steps, RUN_S * steps)
        runs = measured(ways, rounds, progress)
        calls = {name: traced(side) for name, side in (("native", lane), ("python", python))}
    return {
        "machine": machine(),
        "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "commit": commit(),
        "rounds": rounds,
        "runs": runs,
        "calls": calls,
    }


def table(found: Mapping[str, Any]) -> str:
    """Medians with their spread; and of each step's further ways how much it is of the first one's in the same round."""
    lines = ["| step | way | figure | median (smallest..largest) | times the first way, same round |"]
    lines.append("|---|---|---|---|---|")
    runs: list[dict[str, Any]] = found["runs"]
    for step in dict.fromkeys(each["step"] for each in runs):
        of_step = [each for each in runs if each["step"] == step]
        names = list(dict.fromkeys(each["way"] for each in sorted(of_step, key=lambda run: run["round"])))
        first = by_round(of_step, names[0])
        for name in names:
            mine = by_round(of_step, name)
            for figure in next(iter(mine.values())):
                values = [each[figure] for each in mine.values()]
                ratios = [mine[at][figure] / first[at][figure] for at in mine if at in first]
                ratio = spread(ratios, "x") if name != names[0] else ""
                lines.append(f"| {step} | {name} | {figure} | {spread(values)} | {ratio} |")
    return "\n".join(lines) + "\n"


def by_round(runs: Sequence[Mapping[str, Any]], way: str) -> dict[int, Mapping[str, float]]:
    return {int(each["round"]): each["figures"] for each in runs if each["way"] == way}


def spread(values: Sequence[float], unit: str = "") -> str:
    shown = [f"{each:.2f}" for each in (statistics.median(values), min(values), max(values))]
    return f"{shown[0]}{unit} ({shown[1]}{unit}..{shown[2]}{unit})"


def calls(found: Mapping[str, Any]) -> str:
    lines: list[str] = []
    for name, figures in found["calls"].items():
        said = (
            figures
            if isinstance(figures, str)
            else "; ".join(f"{what}: {value:.1f}" for what, value in figures.items())
        )
        lines.append(f"- under strace, hot.path={name}, {PRODUCERS} producers: {said}")
    return "\n".join(lines)


def conditions(found: Mapping[str, Any]) -> str:
    where = found["machine"]
    return (
        f"{found['rounds']} rounds, ways in turns, after one that is not kept; {where['cores']} cores, {where['cpu']}, {where['file_system']}, "
        f"{where['system']}, Python {where['python']}. Measured {found['when']}, commit {found['commit']}, by `python -m bench.trials`. Costs of single steps, no benchmark of the broker."
    )


def markdown(found: Mapping[str, Any]) -> str:
    return f"{table(found)}\n{calls(found)}\n\n{conditions(found)}\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", help="write trials.json and trials.md there")
    asked = parser.parse_args()
    found = measure(asked.rounds, lambda line: print(line, file=sys.stderr))
    if asked.out:
        out = Path(asked.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "trials.json").write_text(json.dumps(found, indent=1) + "\n")
        (out / "trials.md").write_text(markdown(found))
    print(markdown(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
