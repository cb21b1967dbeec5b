"""Large sizes: many connections, many partitions, a large log; start, serve, stop, restart, kill -9.

    python -m bench.scale                 # 1,000 connections, 10,000 partitions (one topic, many topics), 1 GiB
    python -m bench.scale --share 0.1     # a tenth of it

Every figure is one measurement of `oncelog serve` as a process of its own, seen from outside. Seconds are wall clock; beside
them stand the CPU seconds of the broker and the share of the machine that others used, for the machine may be shared.
Writes scale.json and scale.md. tests/conformance/test_scale.py runs the same code with less.
"""

import argparse
import asyncio
import json
import os
import platform
import resource
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from bench import raw
from oncelog.client.address import parse_address
from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.easy import create_topic
from oncelog.client.session import Connection
from oncelog.protocol.header import request_frame
from oncelog.protocol.messages.api_versions import ApiVersionsRequest
from oncelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from oncelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from oncelog.protocol.messages.metadata import MetadataRequest
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.record.batch import NewRecord, build_batch
from tests.processes import ServedBroker

FETCH_VERSION: Final = 12
PRODUCE_VERSION: Final = 9
TOPICS_PER_REQUEST: Final = 100
PARTITIONS_PER_REQUEST: Final = 100
SPARE_FILES: Final = 200

Say = Callable[[str], None]


@dataclass(slots=True)
class Figures:
    """What was measured of one size, by name, in the order of measuring."""

    what: str
    values: dict[str, float] = field(default_factory=dict[str, float])

    def __getitem__(self, name: str) -> float:
        return self.values[name]


class Measured:
    """Wall clock, CPU of the broker and load of others around a piece of work."""

    def __init__(self, figures: Figures, broker: ServedBroker, say: Say) -> None:
        self._figures = figures
        self._broker = broker
        self._say = say

    @contextmanager
    def time(self, name: str) -> Generator[None]:
        before = self.cpu_seconds()
        begun = time.monotonic()
        yield
        self.note(f"{name}, s", time.monotonic() - begun)
        if before is not None:
            after = self.cpu_seconds()
            if after is not None:
                self.note(f"{name}, broker CPU s", after - before)

    def cpu_seconds(self) -> float | None:
        """None when the broker is not running."""
        try:
            times = psutil.Process(self._broker.process_id).cpu_times()
        except (psutil.NoSuchProcess, AssertionError):
            return None
        return times.user + times.system

    def note(self, name: str, value: float) -> None:
        self._figures.values[name] = round(value, 4)
        self._say(f"{self._figures.what}: {name} {value:.3f}")

    def memory(self, name: str) -> None:
        self.note(f"{name}, RSS MB", psutil.Process(self._broker.process_id).memory_info().rss / 1e6)

    def start(self, name: str) -> None:
        """Until the broker says that it is ready, and what that took of the processor."""
        self.note(f"{name}, s", self._broker.start(600))
        cpu = self.cpu_seconds()
        assert cpu is not None
        self.note(f"{name}, broker CPU s", cpu)
        self.note(f"{name}, MB read", psutil.Process(self._broker.process_id).io_counters().read_chars / 1e6)
        self.memory(name)


def allow_open_files(count: int) -> None:
    """For this process: a test client with a thousand sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count + SPARE_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count + SPARE_FILES, hard), hard))


def connect(bootstrap: str) -> Connection:
    return Connection(parse_address(bootstrap, default_port=None), timeout_ms=600_000)


def batch_of(text: str, *, size: int = 100) -> bytes:
    now = time.time_ns() // 1_000_000
    return build_batch([NewRecord(None, text.encode().ljust(size, b"."), now)])


def produce_request(batches: Mapping[tuple[str, int], bytes]) -> ProduceRequest:
    topics: dict[str, list[PartitionProduceData]] = {}
    for (topic, partition), batch in batches.items():
        topics.setdefault(topic, []).append(PartitionProduceData(index=partition, records=batch))
    data = [TopicProduceData(name=topic, partition_data=parts) for topic, parts in topics.items()]
    return ProduceRequest(transactional_id=None, acks=-1, timeout_ms=60_000, topic_data=data)


def produce(door: Connection, places: Sequence[tuple[str, int]]) -> None:
    """One batch to each, a hundred partitions per request."""
    for at in range(0, len(places), PARTITIONS_PER_REQUEST):
        batches = {
            place: batch_of(f"{place[0]}-{place[1]}") for place in places[at : at + PARTITIONS_PER_REQUEST]
        }
        answer = door.send(produce_request(batches), ProduceResponse, PRODUCE_VERSION)
        errors = [
            (topic.name, each.index, each.error_code)
            for topic in answer.responses
            for each in topic.partition_responses
            if each.error_code
        ]
        if errors:
            raise RuntimeError(f"Produce was refused: {errors[:5]}")


def fetch(
    door: Connection, places: Sequence[tuple[str, int]], *, offset: int = 0, max_bytes: int = 1 << 20
) -> dict[tuple[str, int], bytes]:
    """What one Fetch gives of each partition."""
    topics: dict[str, list[FetchPartition]] = {}
    for topic, partition in places:
        asked = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
        topics.setdefault(topic, []).append(asked)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 26,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=parts) for topic, parts in topics.items()],
    )
    answer = door.send(request, FetchResponse, FETCH_VERSION)
    found: dict[tuple[str, int], bytes] = {}
    for topic in answer.responses:
        for each in topic.partitions:
            if each.error_code:
                raise RuntimeError(f"Fetch of {topic.topic}-{each.partition_index} said {each.error_code}")
            found[topic.topic, each.partition_index] = bytes(each.records or b"")
    return found


def check_all(door: Connection, places: Sequence[tuple[str, int]], batches: int) -> None:
    """Every partition holds so many batches, and they are its own."""
    for at in range(0, len(places), PARTITIONS_PER_REQUEST):
        some = places[at : at + PARTITIONS_PER_REQUEST]
        for place, data in fetch(door, some).items():
            name = f"{place[0]}-{place[1]}.".encode()
            if data.count(name) != batches:
                raise RuntimeError(f"{place}: wanted {batches} batches, found {data.count(name)}")


# Many connections


async def receive(reader: asyncio.StreamReader) -> bytes:
    size = struct.unpack(">i", await reader.readexactly(4))[0]
    return await reader.readexactly(size)


def wait_for_data(topic: str, offset: int, max_wait_ms: int) -> bytes:
    """The frame of a Fetch that waits."""
    request = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[
            FetchTopic(
                topic=topic,
                partitions=[FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)],
            )
        ],
    )
    return bytes(request_frame(1, FETCH_VERSION, 1, "scale", request))


def connections(broker: ServedBroker, count: int, *, seconds: float, say: Say = print) -> Figures:
    """Of all connections six of ten are idle, two wait in long polls, two produce one batch after another."""
    allow_open_files(count)
    figures = Figures(f"{count:,} connections")
    measured = Measured(figures, broker, say)
    measured.memory("before")
    create_topic(broker.bootstrap, "busy", partitions=4)
    create_topic(broker.bootstrap, "quiet", partitions=1)
    asyncio.run(_connections(broker.bootstrap, count, seconds, measured))
    values = figures.values
    each = (values["all open, RSS MB"] - values["before, RSS MB"]) * 1000 / count
    measured.note("memory of one connection, KB", each)
    return figures


async def _connections(bootstrap: str, count: int, seconds: float, measured: Measured) -> None:
    host, _, port = bootstrap.rpartition(":")
    hello = bytes(request_frame(18, 0, 1, "scale", ApiVersionsRequest()))
    open_limit = asyncio.Semaphore(100)  # as many handshakes at once

    async def one() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with open_limit:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(hello)
            await receive(reader)
            return reader, writer

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(hello)
        await receive(reader)

    with measured.time("open all and answer each once"):
        doors = await asyncio.gather(*[one() for _ in range(count)])
    busy, waiting, idle = doors[: count // 5], doors[count // 5 : 2 * count // 5], doors[2 * count // 5 :]
    until = time.monotonic() + seconds
    took: list[float] = []

    async def poll(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frame = wait_for_data("quiet", 0, max_wait_ms=500)
        while time.monotonic() < until:
            writer.write(frame)
            await receive(reader)

    async def work(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = produce_request({("busy", number % 4): batch_of(f"{number}", size=1000)})
        frame = bytes(request_frame(0, PRODUCE_VERSION, 1, "scale", request))
        while time.monotonic() < until:
            begun = time.monotonic()
            writer.write(frame)
            await receive(reader)
            took.append(time.monotonic() - begun)

    await asyncio.gather(
        *[work(number, *door) for number, door in enumerate(busy)], *[poll(*door) for door in waiting]
    )
    measured.memory("all open")
    took.sort()
    measured.note(f"round trips/s of {len(busy)} busy ones", len(took) / seconds)
    measured.note("round trip p50, ms", took[len(took) // 2] * 1000)
    measured.note("round trip p99, ms", took[len(took) * 99 // 100] * 1000)
    measured.note("round trip max, ms", took[-1] * 1000)
    with measured.time("answer each idle one again"):
        await asyncio.gather(*[ask(*door) for door in idle])
    for _, writer in doors:
        writer.close()


# Many partitions


def make_topics(door: Connection, names: Sequence[str]) -> None:
    for at in range(0, len(names), TOPICS_PER_REQUEST):
        wanted = [
            CreatableTopic(name=name, num_partitions=1, replication_factor=-1)
            for name in names[at : at + TOPICS_PER_REQUEST]
        ]
        answer = door.send(CreateTopicsRequest(topics=wanted, timeout_ms=600_000), CreateTopicsResponse, 7)
        errors = [(each.name, each.error_code) for each in answer.topics if each.error_code]
        if errors:
            raise RuntimeError(f"CreateTopics was refused: {errors[:5]}")


def partitions(broker: ServedBroker, count: int, *, topics: int, used: int, say: Say = print) -> Figures:
    """`topics` is 1 or `count`. `used`: partitions that get records, spread over all."""
    many = topics > 1
    figures = Figures(
        f"{count:,} partitions of {topics:,} topics" if many else f"{count:,} partitions of 1 topic"
    )
    measured = Measured(figures, broker, say)
    measured.memory("before")
    with connect(broker.bootstrap) as door:
        names = [f"t{number:05}" for number in range(topics)]
        with measured.time("create"):
            if many:
                make_topics(door, names)
            else:
                create_topic(broker.bootstrap, names[0], partitions=count, timeout_ms=600_000)
        every = count // used
        places = [(names[at], 0) if many else (names[0], at) for at in range(0, every * used, every)]
        with measured.time("first Metadata of all"):
            door.send(MetadataRequest(topics=None))
        with measured.time("second Metadata of all"):
            door.send(MetadataRequest(topics=None))
        with measured.time(f"first produce to {used:,} of them"):
            produce(door, places)
        measured.memory("after it")
        check_all(door, places, 1)
    with measured.time("clean stop"):
        if broker.stop() != 0:
            raise RuntimeError(f"the stop was not clean: {broker.said()[-1000:]}")
    measured.start("start after a clean stop")
    with connect(broker.bootstrap) as door:
        with measured.time("first fetch"):
            check_all(door, places[-1:], 1)
        with measured.time(f"fetch of {used:,}"):
            check_all(door, places, 1)
        with measured.time(f"second produce to {used:,} of them"):
            produce(door, places)
    broker.kill()
    measured.start("start after kill -9")
    with connect(broker.bootstrap) as door:
        with measured.time("first fetch after kill -9"):
            check_all(door, places[-1:], 2)
        check_all(door, places, 2)
        produce(door, places)
        check_all(door, places, 3)
    with measured.time("clean stop after that"):
        broker.stop()
    return figures


# A large log


def large_log(
    broker: ServedBroker,
    size_bytes: int,
    *,
    batch_bytes: int = 16_384,
    say: Say = print,
) -> Figures:
    """One partition, and with Kafka's default segment size one segment: recovery checks all of it."""
    figures = Figures(f"a log of {size_bytes / (1 << 30):.2f} GiB in batches of {batch_bytes // 1024} KB")
    measured = Measured(figures, broker, say)
    create_topic(broker.bootstrap, "large", partitions=1)
    records = max(batch_bytes // 1024, 1)
    left = size_bytes // batch_bytes
    sent = 0
    with measured.time("fill"):
        while left:  # the generator holds what it will send: not all of it at once
            now = min(left, (64 << 20) // batch_bytes)
            raw.produce(broker.bootstrap, "large", record_bytes=1000, records_per_batch=records, batches=now)
            left -= now
            sent += now * records
    measured.memory("after it")

    def look(name: str) -> None:
        with connect(broker.bootstrap) as door:
            with measured.time(f"first fetch at the beginning, {name}"):
                first = fetch(door, [("large", 0)])["large", 0]
            with measured.time(f"fetch at the end, {name}"):
                last = fetch(door, [("large", 0)], offset=sent - 1)["large", 0]
            if not first or not last:
                raise RuntimeError(
                    f"wanted records at 0 and {sent - 1}, found {len(first)} and {len(last)} bytes"
                )

    with measured.time("clean stop"):
        broker.stop()
    measured.start("start after a clean stop")
    look("clean")
    broker.kill()
    measured.start("start after kill -9, every batch checked")
    look("killed")
    with measured.time("clean stop after that"):
        broker.stop()
    return figures


# Serving while a log is cleaned


def probe(door: Connection, topic: str, until: Callable[[], bool]) -> list[float]:
    """Milliseconds of one Produce and one Fetch of it, one after another."""
    took: list[float] = []
    offset = 0
    while not until():
        begun = time.monotonic()
        answer = door.send(produce_request({(topic, 0): batch_of("probe")}), ProduceResponse, PRODUCE_VERSION)
        offset = answer.responses[0].partition_responses[0].base_offset
        if not fetch(door, [(topic, 0)], offset=offset)[topic, 0]:
            raise RuntimeError(f"wanted the record at {offset}, found nothing")
        took.append((time.monotonic() - begun) * 1000)
    return took


class Noise(threading.Thread):
    """How long this machine keeps a thread waiting that wanted to sleep 1 ms: what nobody can be blamed for."""

    def __init__(self) -> None:
        super().__init__(name="noise", daemon=True)
        self.late_ms: list[float] = []
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.is_set():
            begun = time.monotonic()
            time.sleep(0.001)
            self.late_ms.append((time.monotonic() - begun - 0.001) * 1000)


def spread(measured: Measured, name: str, took: list[float]) -> None:
    took = sorted(took)
    for word, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)):
        measured.note(f"{name} {word}, ms", took[min(int(len(took) * share), len(took) - 1)])


def fill_keys(bootstrap: str, topic: str, size_bytes: int, keys: int) -> int:
    """Records of 1,000 bytes in batches of 16, keys again and again; the number of records."""
    value = os.urandom(1000)
    count = size_bytes // 1000
    with connect(bootstrap) as door:
        for at in range(0, count, 1600):
            now = time.time_ns() // 1_000_000
            for first in range(at, min(at + 1600, count), 16):
                records = [
                    NewRecord(b"%d" % (number * 7919 % keys), value, now)
                    for number in range(first, first + 16)
                ]
                door.send(
                    produce_request({(topic, 0): build_batch(records)}), ProduceResponse, PRODUCE_VERSION
                )
    return count


def cleaning(broker: ServedBroker, size_bytes: int, *, say: Say = print) -> Figures:
    """A loop of Produce and Fetch beside the cleaning of a log. The broker must look for work every 100 ms."""
    figures = Figures(f"serving with durability=process while a log of {size_bytes / 1e6:.0f} MB is cleaned")
    measured = Measured(figures, broker, say)
    create_topic(broker.bootstrap, "probe", partitions=1)
    create_topic(broker.bootstrap, "dirty", partitions=1, configs={"segment.bytes": str(size_bytes // 5)})
    fill_keys(broker.bootstrap, "dirty", size_bytes, keys=max(size_bytes // 20_000, 1))
    with connect(broker.bootstrap) as door, Cluster(broker.bootstrap) as cluster:
        rest = time.monotonic() + 5
        spread(measured, "round trip at rest", probe(door, "probe", lambda: time.monotonic() > rest))
        noise = Noise()
        noise.start()
        cpu = measured.cpu_seconds()
        begun = time.monotonic()
        Admin(cluster).set_topic_settings("dirty", {"cleanup.policy": "compact"})

        def is_clean() -> bool:
            return "cleaner.done partition=dirty-0" in broker.said() or time.monotonic() - begun > 300

        took = probe(door, "probe", is_clean)
        measured.note("cleaning, s", time.monotonic() - begun)
        after = measured.cpu_seconds()
        assert cpu is not None
        assert after is not None
        measured.note("cleaning and probes, broker CPU s", after - cpu)
        noise.done.set()
        noise.join()
        spread(measured, "round trip while cleaning", took)
        spread(measured, "lateness of a thread that sleeps 1 ms, meanwhile,", noise.late_ms)
    sizes = [path.stat().st_size for path in (broker.data_dir / "dirty-0").glob("*.log")]
    measured.note("left, MB", sum(sizes) / 1e6)
    return figures


# All of it


@contextmanager
def fresh(durability: str, settings: Mapping[str, str] | None = None) -> Generator[ServedBroker]:
    with tempfile.TemporaryDirectory(prefix="oncelog-scale-") as folder:
        broker = ServedBroker(Path(folder) / "data", durability=durability, settings=settings)
        with broker:
            yield broker


def measure(share: float, durability: str, say: Say) -> dict[str, Any]:
    found: list[Figures] = []
    count, large = int(10_000 * share), int((1 << 30) * share)
    used = max(count // 10, 1)
    with fresh(durability) as broker:
        found.append(connections(broker, int(1000 * share), seconds=10, say=say))
    with fresh(durability) as broker:
        found.append(partitions(broker, count, topics=1, used=used, say=say))
    with fresh(durability) as broker:
        found.append(partitions(broker, count, topics=count, used=used, say=say))
    with fresh(durability) as broker:
        found.append(large_log(broker, large, say=say))
    # Without syncs: what shall be seen is the loop, not how the disk shares itself out.
    with fresh("process", {"log.cleaner.backoff.ms": "100"}) as broker:
        found.append(cleaning(broker, int(100_000_000 * share), say=say))
    return {
        "machine": {
            "cores": os.cpu_count(),
            "memory_gb": round(psutil.virtual_memory().total / 1e9),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
        },
        "load_average_at_the_end": os.getloadavg(),
        "durability": durability,
        "figures": [asdict(each) for each in found],
    }


def table(found: dict[str, Any]) -> str:
    machine = found["machine"]
    lines = [
        (
            f"{machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, Python {machine['python']}, "
            f"durability={found['durability']}, load average at the end {found['load_average_at_the_end'][0]:.1f}"
        )
    ]
    for each in found["figures"]:
        lines += ["", f"## {each['what']}", "| figure | |", "|---|---|"]
        lines += [f"| {name} | {value:,.3f} |" for name, value in each["values"].items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--share", type=float, default=1.0, help="share of the full sizes")
    parser.add_argument("--durability", default="power", choices=("power", "process"))
    parser.add_argument("--out", default="bench/results")
    asked = parser.parse_args()
    found = measure(asked.share, asked.durability, lambda text: print(text, file=sys.stderr, flush=True))
    out = Path(asked.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "scale.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "scale.md").write_text(table(found))
    print(table(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
