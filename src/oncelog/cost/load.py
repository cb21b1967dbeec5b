"""Where load comes from: the native generator, compiled when first used, and librdkafka. Each run is a process of its own."""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

from oncelog.errors import OncelogError
from oncelog.record.batch import NewRecord, build_batch

SOURCE: Final = Path(__file__).parent / "loadgen.c"
GRACE_S: Final = 120.0
LONGEST_S: Final = 100.0  # of a run that ends by its number of requests


class CannotMeasure(OncelogError):
    """Something that a measurement needs is missing or failed; says what."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one run of the generator did. Latencies are microseconds by name: p50, p99, p999, max; where a rate was given, each of them
    too, in order of size."""

    seconds: float
    done: int  # transactions, or requests
    records: int
    bytes: int
    retries: int
    client_cpu_seconds: float
    latency_us: dict[str, int]
    end_us: dict[str, int]
    produce_us: dict[str, int]
    partitions: int = 0  # how many were written to, where each transaction goes to the next; 0: not counted
    reached: int = 0  # up to which partition, from the first on, all were
    latency_each: list[int] = field(default_factory=list[int])
    end_each: list[int] = field(default_factory=list[int])

    def plain(self) -> dict[str, Any]:
        """For the raw file, which has no room for each latency."""
        return {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("latency_each", "end_each")
        }


def pooled(runs: Sequence[Loaded]) -> Loaded:
    """The latencies of several runs as if they were of one."""
    latency = sorted(each for run in runs for each in run.latency_each)
    end = sorted(each for run in runs for each in run.end_each)
    return replace(runs[0], latency_us=percentiles(latency), end_us=percentiles(end))


def percentiles(ordered: Sequence[int]) -> dict[str, int]:
    """As the generator counts them."""
    size = len(ordered)
    if not size:
        return {}
    return {
        "p50": ordered[size // 2],
        "p99": ordered[size * 99 // 100],
        "p999": ordered[size * 999 // 1000],
        "max": ordered[-1],
    }


@cache
def generator() -> str:
    """The program's path; compiled into a directory that goes with this process."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        raise CannotMeasure(
            "the load generator is a page of C: wanted cc, gcc or clang on the PATH, found none"
        )
    folder = tempfile.TemporaryDirectory(prefix="oncelog-bench-")
    _KEPT.append(folder)
    program = os.path.join(folder.name, "loadgen")  # noqa: PTH118  # a name for a process
    said = subprocess.run(
        [compiler, "-O2", "-o", program, str(SOURCE)], capture_output=True, text=True, check=False
    )
    if said.returncode != 0:
        raise CannotMeasure(f"{compiler} {SOURCE.name}: {said.stderr.strip()}")
    return program


_KEPT: Final[list[tempfile.TemporaryDirectory[str]]] = []


def transactions(
    bootstrap: str,
    topic: str,
    *,
    partitions: int,
    producers: int,
    records: int,
    record_bytes: int,
    seconds: float,
    rate: float = 0,
    first: int = 0,
) -> Loaded:
    """Transactions of so many records; `rate` a second over all producers, or as fast as answers come. With more partitions than
    producers each goes to the next one, from `first` on."""
    batch = max(min(records, 16_384 // max(record_bytes, 1)), 1)
    numbers = (partitions, producers, records, record_bytes, batch, seconds, rate, first)
    return _run("txn", bootstrap, topic, *numbers)


def produce(
    bootstrap: str,
    topic: str,
    *,
    partitions: int = 1,
    connections: int = 1,
    inflight: int = 5,
    record_bytes: int,
    batch_bytes: int = 16_384,
    seconds: float = LONGEST_S,
    acks: int = -1,
    most: int = 0,
    codec: int = 0,
) -> Loaded:
    """Idempotent produce with acks -1 (all), plain with 1; at most so many requests, if that is not 0. With a `codec` the batch is one of
    words, compressed beforehand; bytes are those before it."""
    batch = max(batch_bytes // record_bytes, 1)
    words = _words(
        "produce",
        bootstrap,
        topic,
        *(partitions, connections, inflight, record_bytes, batch, seconds, acks, most),
    )
    if codec:
        with tempfile.NamedTemporaryFile(prefix="oncelog-bench-") as file:
            file.write(compressed(codec, batch, record_bytes))
            file.flush()
            found = _result([*words, file.name])
    else:
        found = _result(words)
    if found.done < most:
        raise CannotMeasure(f"wanted {most} requests within {seconds:g} s, found {found.done}")
    return found


def compressed(codec: int, records: int, record_bytes: int) -> bytes:
    """A batch of values as programs write them: JSON with names that repeat and numbers that do not."""
    dice = Random(1)  # the same bytes each time
    now = time.time_ns() // 1_000_000
    made: list[NewRecord] = []
    for _ in range(records):
        said = ""
        while len(said) < record_bytes:
            said += json.dumps(
                {"order": dice.getrandbits(48), "customer": dice.getrandbits(24), "currency": "EUR"}
                | {"amount": dice.randrange(100_000) / 100, "status": dice.choice(("paid", "sent", "back"))}
            )
        made.append(NewRecord(None, said[:record_bytes].encode(), now))
    return build_batch(made, codec=codec)


def fetch(bootstrap: str, topic: str, *, partitions: int, max_bytes: int, seconds: float) -> Loaded:
    """read_committed from the beginning, again and again."""
    return _run("fetch", bootstrap, topic, partitions, max_bytes, seconds)


def seen(
    bootstrap: str,
    topic: str,
    *,
    records: int,
    record_bytes: int,
    seconds: float,
    rate: float,
    open_ms: float = 0,
) -> Loaded:
    """Transactions of one partition, each open for so long, and a reader at read_committed: from the begin of a transaction until it is read
    (latency_us), and from its EndTxn (end_us)."""
    producers = 1 if not open_ms else math.ceil(1.5 * rate * open_ms / 1000) + 1  # enough for the rate
    return _run("seen", bootstrap, topic, producers, records, record_bytes, seconds, rate, open_ms)


@contextmanager
def open_transactions(bootstrap: str, topic: str, *, partitions: int, producers: int) -> Generator[None]:
    """So many transactions of one record each stay open meanwhile."""
    words = _words("open", bootstrap, topic, partitions, producers, 100)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if process.stdout.readline() != "{}\n":
            raise CannotMeasure(f"{' '.join(words[1:])}: the transactions were not opened")
        try:
            yield
        finally:
            process.stdin.close()


def librdkafka(
    bootstrap: str,
    topic: str,
    *,
    partitions: int,
    record_bytes: int,
    linger_ms: float,
    seconds: float,
    records: int = 0,
) -> Loaded:
    """An idempotent producer of confluent-kafka in a process of its own, or one with transactions of so many records; the client is the
    larger part of it."""
    words = [sys.executable, "-m", "oncelog.cost.librdkafka", bootstrap, topic]
    return _result([*words, str(partitions), str(record_bytes), str(linger_ms), str(seconds), str(records)])


def _run(kind: str, bootstrap: str, topic: str, *numbers: float) -> Loaded:
    return _result(_words(kind, bootstrap, topic, *numbers))


def _words(kind: str, bootstrap: str, topic: str, *numbers: float) -> list[str]:
    host, _, port = bootstrap.rpartition(":")
    plain = [f"{each:g}" if isinstance(each, float) else str(each) for each in numbers]
    return [generator(), kind, host, port, topic, *plain]


def _result(words: list[str]) -> Loaded:
    shown = " ".join(words[1:])
    try:
        said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        raise CannotMeasure(f"{shown}: no result within {GRACE_S:.0f} s") from None
    if said.returncode != 0:
        raise CannotMeasure(f"{shown}: {said.stderr.strip()[-500:]}")
    found: dict[str, Any] = json.loads(said.stdout)
    return Loaded(
        seconds=found["seconds"],
        done=found["done"],
        records=found["records"],
        bytes=found["bytes"],
        retries=found.get("retries", 0),
        client_cpu_seconds=found.get("client_cpu_seconds", 0.0),
        latency_us=found.get("latency_us") or {},
        end_us=found.get("end_us") or {},
        produce_us=found.get("produce_us") or {},
        partitions=found.get("partitions", 0),
        reached=found.get("reached", 0),
        latency_each=found.get("latency_each", []),
        end_each=found.get("end_each", []),
    )
