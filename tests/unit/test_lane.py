"""The express lane (lane.c, decision 0027) does what the long way does: the same answers, the same files, the same state.

Two brokers get the same requests, one with the lane and one without; what they say, keep on disk and remember is compared."""

import asyncio
import itertools
import os
import random
import shutil
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from oncelog.broker.connection import Connection
from oncelog.broker.faults import Faults
from oncelog.broker.ring import NUMBER, at_us
from oncelog.broker.transactions import Points
from oncelog.engine.classic.partition import ClassicPartition
from oncelog.engine.disk import RealFile
from oncelog.engine.fragile import FragileDisk
from oncelog.errors import StorageFault
from oncelog.log.validate import Summary, summarize
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
from oncelog.record.batch import CRC_FROM, HEADER_BYTES, NewRecord, build_batch
from oncelog.record.crc import crc32c
from oncelog.server import lane as glue
from oncelog.server import main
from oncelog.server.build import CannotBuild, load
from oncelog.server.loop import SystemClock
from oncelog.server.main import Options, Server, as_asyncio
from oncelog.tasks import spawn
from oncelog.txn.state import State

BODY_AT: Final = 9  # of an answer: length, correlation id, no tags
NOW: Final = 1_700_000_000_000
TOPICS: Final[dict[str, tuple[int, dict[str, str]]]] = {
    "t": (3, {}),
    "small": (1, {"max.message.bytes": "3000"}),
    "map": (1, {"cleanup.policy": "compact"}),
    "stamped": (1, {"message.timestamp.type": "LogAppendTime"}),
    "strict": (1, {"message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": "1000"}),
    "flushed": (1, {"flush.messages": "1000000"}),
}


class StillClock(SystemClock):
    """Its wall clock stands until a test moves it; what measures goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW

    def wall_ms(self) -> Millis:
        return Millis(self.now)


class Counted:
    """Topic ids: the same in every broker."""

    def __init__(self) -> None:
        self._next = itertools.count(1)

    def token_bytes(self, count: int) -> bytes:
        return next(self._next).to_bytes(count, "big")


class Side:
    """One broker and its client's connection."""

    def __init__(self, folder: Path, settings: Mapping[str, str], *, fragile: bool = False) -> None:
        self.clock = StillClock()
        self.folder = folder
        self.server = Server(
            Options(data_dir=str(folder), listen_port=0, settings=settings), clock=self.clock, fragile=fragile
        )
        self.answers: list[bytes] = []
        self.answered = asyncio.Event()
        self.closed = False

    async def start(self) -> None:
        await self.server.start()

        async def topics() -> None:
            for name, (partitions, config) in TOPICS.items():
                await self.server.engine.create_topic(name, partitions, config)

        await as_asyncio(spawn(self.server.loop, topics()))
        self.connect()

    def connect(self) -> None:
        self.closed = False
        self.connection = Connection(
            self.server.broker,
            self,
            connection_id=1,
            peer_host="127.0.0.1",
            peer_port=1,
            on_idle=lambda: None,
        )

    def write(self, parts: list[Any]) -> None:
        rest = b"".join(bytes(part) for part in parts)
        while rest:
            size = 4 + int.from_bytes(rest[:4], "big")
            self.answers.append(rest[:size])
            rest = rest[size:]
        self.answered.set()

    def close(self) -> None:
        self.closed = True
        self.answered.set()

    async def ask(self, frames: Sequence[bytes]) -> list[bytes]:
        """As many answers as requests, or what was answered when the broker closed the connection."""
        self.answers.clear()
        self.connection.frames(list(frames))
        while len(self.answers) < len(frames) and not self.closed:
            self.answered.clear()
            await asyncio.wait_for(self.answered.wait(), 20)
        if self.closed:
            self.connect()
        return list(self.answers)

    @property
    def lane(self) -> Any:
        return self.server.broker.lane

    def partitions(self) -> list[ClassicPartition]:
        found = [each for topic in self.server.engine.topics.values() for each in topic.partitions]
        assert all(isinstance(each, ClassicPartition) for each in found)
        return found  # pyright: ignore[reportReturnType]

    def remembered(self) -> dict[str, Any]:
        """All that a request may have changed, but for times that are measured."""
        broker = self.server.broker
        found: dict[str, Any] = {}
        for each in self.partitions():
            state = each.state
            # Of closed segments it is chance whether their sync is over by now.
            unsynced = bool(each.segments and each.segments[-1] in each._unsynced)  # pyright: ignore[reportPrivateUsage]
            counted = each._unsynced_records  # pyright: ignore[reportPrivateUsage]
            found[each.directory] = (
                (state.log_start_offset, state.log_end_offset, state.high_watermark, each.last_stable_offset),
                {key: producer.as_tuple() for key, producer in state.producers.items()},
                (state.ongoing, state.unstable, list(state.completed), list(state.verifications)),
                (each._open_bytes, each.changed, unsynced, counted),  # pyright: ignore[reportPrivateUsage]
                [
                    (
                        (s.base_offset, s.size, s.bytes_since_index, s.max_timestamp, s.max_timestamp_offset),
                        (list(s.offsets or ()), list(s.positions), list(s.times), list(s.time_offsets)),
                        s.first_timestamp,
                    )
                    for s in each.segments
                ],
            )
        coordinator = broker.transactions
        found["ids"] = {
            name: (entry.txn, entry.pending, entry.left, entry.in_use)
            for name, entry in coordinator._entries.items()  # pyright: ignore[reportPrivateUsage]
        }
        found["ongoing"] = list(coordinator._ongoing)  # pyright: ignore[reportPrivateUsage]
        log = coordinator._log  # pyright: ignore[reportPrivateUsage]
        found["images"] = [image.states.all() for image in log._images]  # pyright: ignore[reportPrivateUsage]
        if log._limit_bytes > 1_000_000:  # pyright: ignore[reportPrivateUsage]  # else checkpoints begin it anew
            found["tail"] = log._tail_bytes  # pyright: ignore[reportPrivateUsage]
        figures = broker.figures()
        chance = ("log.sync", "txn.checkpoint")  # how many there are depends on how long they take
        found["counts"] = {k: v for k, v in figures.counts.items() if not k.startswith(chance)}
        found["times"] = {k: v.count for k, v in figures.times.items() if not k.startswith(chance)}
        found["committed"] = figures.times["txn.committed"].sum_ns if "txn.committed" in figures.times else 0
        ring = broker.ring
        assert ring is not None
        for name in found["ids"]:
            found[f"kept of {name}"] = [
                (
                    each[0],
                    each[3],
                    bytes(each[4]),
                    *each[5:7],
                    b"".join(bytes(part) for part in each[7]),
                    each[8],
                )
                for each in ring.read(name, 0)
            ]
        return found

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.suffix in (".log", ".txnindex")
        }


class Client:
    """Makes requests, good ones and bad ones, as the dice say."""

    def __init__(self, rng: random.Random, number: int, *, transactional: bool) -> None:
        self.rng = rng
        self.name = f"id-{number}" if transactional else None
        self.producer_id, self.epoch = -1, -1
        self.sequences: dict[tuple[str, int], int] = {}
        self.last: bytes | None = None
        self.version = rng.choice((12, 12, 13)) if transactional else rng.choice((10, 11, 12, 13))

    def begin(self) -> bytes:
        request = InitProducerIdRequest(
            transactional_id=self.name, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        return frame(22, 4, request)

    def begun(self, answer: bytes) -> bool:
        found = InitProducerIdResponse.decode(answer, 4, BODY_AT)
        self.producer_id, self.epoch = found.producer_id, found.producer_epoch
        self.sequences.clear()
        return found.error_code == 0

    def produce(self, now: int, ids: Mapping[str, bytes]) -> tuple[bytes, tuple[str, int, int]]:
        rng = self.rng
        topic = rng.choice(("t", "t", "t", "t", "t", "small", "map", "stamped", "strict", "flushed"))
        index = rng.randrange(TOPICS[topic][0])
        count = rng.choice((1, 1, 2, 3, 20, 70, 200))
        key = b"key" if topic == "map" and rng.random() < 0.8 else None
        wild = rng.random() < 0.3
        records = [
            NewRecord(
                rng.choice((key, b"k" * rng.choice((1, 70)), None)) if wild else key,
                rng.choice((None, b"", rng.randbytes(rng.choice((1, 63, 64, 5000)))))
                if wild
                else rng.randbytes(40),
                now + (rng.choice((0, 0, -1, -70_000, 1, 500, 2000, 7_200_000)) if wild else 0),
                [("name", b"x"), ("none", None)] if wild and rng.random() < 0.2 else (),
            )
            for _ in range(count)
        ]
        sequence = self.sequences.get((topic, index), 0)
        batch = bytearray(
            build_batch(
                records,
                codec=rng.choice((0,) * 12 + (1, 3)),
                producer_id=self.producer_id,
                producer_epoch=self.epoch,
                base_sequence=sequence if self.producer_id >= 0 else -1,
                transactional=self.name is not None,
            )
        )
        trouble = rng.random()
        if trouble < 0.08:  # somewhere, with a CRC that fits
            at = (
                rng.randrange(CRC_FROM, len(batch))
                if rng.random() < 0.5
                else rng.randrange(CRC_FROM, min(len(batch), 90))
            )
            batch[at] ^= 1 << rng.randrange(8)
            struct.pack_into(">I", batch, 17, crc32c(bytes(batch[CRC_FROM:])))
        elif trouble < 0.1:  # anywhere, without
            batch[rng.randrange(len(batch))] ^= 1 << rng.randrange(8)
        elif trouble < 0.12:
            struct.pack_into(">i", batch, 53, rng.choice((0, 5, sequence + count, -1)))
            struct.pack_into(">I", batch, 17, crc32c(bytes(batch[CRC_FROM:])))
        elif trouble < 0.13:
            struct.pack_into(">h", batch, 51, self.epoch + rng.choice((-1, 1)))
            if rng.random() < 0.7:
                struct.pack_into(">i", batch, 53, 0)
            struct.pack_into(">I", batch, 17, crc32c(bytes(batch[CRC_FROM:])))
        elif trouble < 0.14:
            batch += rng.choice((b"\0", bytes(batch), b"\0" * 100))
        elif trouble < 0.15:
            del batch[rng.randrange(len(batch)) :]
        part = PartitionProduceData(index=index, records=bytes(batch))
        data = TopicProduceData(name=topic, topic_id=ids[topic], partition_data=[part])
        name, acks = self.name, rng.choice((-1, -1, -1, 1))
        trouble = rng.random()
        if trouble < 0.01:
            part.index = 77
        elif trouble < 0.02:
            data.name, data.topic_id = "nowhere", bytes(range(16))
        elif trouble < 0.03:
            name = rng.choice((None, "", "somebody", "id-0"))
        elif trouble < 0.04:
            acks = rng.choice((3, -2))
        elif trouble < 0.05:
            data.name = rng.choice(("__consumer_offsets", "__transaction_state"))
        elif trouble < 0.07:
            data.partition_data.append(PartitionProduceData(index=(index + 1) % 3, records=bytes(batch)))
        request = ProduceRequest(transactional_id=name, acks=acks, timeout_ms=1000, topic_data=[data])
        self.last = frame(0, self.version, request)
        return self.last, (topic, index, count)

    def produced(self, answer: bytes, what: tuple[str, int, int]) -> None:
        topic, index, count = what
        found = ProduceResponse.decode(answer, self.version, BODY_AT).responses[0].partition_responses[0]
        if found.error_code == 0 and self.producer_id >= 0:
            self.sequences[topic, index] = self.sequences.get((topic, index), 0) + count

    def end(self) -> bytes:
        rng = self.rng
        return frame(
            26,
            5,
            EndTxnRequest(
                transactional_id=rng.choice((self.name or "",) * 30 + ("nobody", "")),
                producer_id=self.producer_id + (rng.random() < 0.03),
                producer_epoch=self.epoch + (rng.random() < 0.03) - (rng.random() < 0.03),
                committed=rng.random() < 0.8,
            ),
        )

    def ended(self, answer: bytes) -> None:
        found = EndTxnResponse.decode(answer, 5, BODY_AT)
        if found.error_code == 0:
            self.producer_id, self.epoch = found.producer_id, found.producer_epoch
            self.sequences.clear()


def frame(key: int, version: int, request: Message) -> bytes:
    return bytes(request_frame(key, version, 7, "lane", request))[4:]


@pytest.fixture(scope="module")
def module() -> Any:
    try:
        return load("lane")
    except CannotBuild as why:
        pytest.skip(str(why))


@pytest.fixture
def folders() -> Iterator[tuple[Path, Path]]:
    folder = Path(tempfile.mkdtemp(prefix="lane-"))
    yield folder / "lane", folder / "long"
    shutil.rmtree(folder)


async def _pair(
    folders: tuple[Path, Path], settings: Mapping[str, str], *, fragile: bool = False
) -> list[Side]:
    sides = [
        Side(folder, {**settings, "hot.path": path}, fragile=fragile)
        for folder, path in zip(folders, ("native", "python"), strict=True)
    ]
    for side in sides:
        await side.start()
    assert sides[0].lane is not None
    assert sides[1].lane is None
    return sides


async def _begun(sides: Sequence[Side], number: int = 0) -> Client:
    """A transactional producer that all sides know."""
    client = Client(random.Random(1), number, transactional=True)
    client.version = 12
    while not all([client.begun((await side.ask([client.begin()]))[0]) for side in sides]):
        pass
    return client


async def _stop(sides: Sequence[Side]) -> None:
    for side in sides:
        await side.server.stop()


async def _play(sides: Sequence[Side], rng: random.Random, steps: int) -> int:
    """The same steps on both sides; how many requests the lane answered."""
    clients = [Client(rng, number, transactional=number < 4) for number in range(7)]
    clients[-1].producer_id = -1  # plain, without a producer
    ids = {name: bytes(sides[0].server.engine.topics[name].id) for name in TOPICS}
    assert ids == {name: bytes(sides[1].server.engine.topics[name].id) for name in TOPICS}

    async def both(*frames: bytes) -> list[bytes]:
        found: list[list[bytes]] = []
        for side in sides:
            found.append(await side.ask(frames))
            for _ in range(4):  # what follows the answer, as markers do with end.txn.reply=prepared
                await asyncio.sleep(0)
        assert found[0] == found[1]
        return found[0]

    for client in clients[:-1]:
        while not client.begun((await both(client.begin()))[0]):
            pass
    for _ in range(steps):
        client = rng.choice(clients)
        what = rng.random()
        if rng.random() < 0.3:
            for side in sides:
                side.clock.now += 7
        if what < 0.02 and client is not clients[-1]:
            client.begun((await both(client.begin()))[0])
        elif what < 0.04 and client.name is None and client.producer_id >= 0:
            client.epoch += 1  # as idempotent producers do by themselves
            client.sequences.clear()
        elif what < 0.06 and client.last is not None:
            await both(client.last)  # a copy
        elif what < 0.35 and client.name is not None:
            for answer in await both(client.end()):
                client.ended(answer)
        elif what < 0.4:  # several at once, answered in their order
            others = rng.sample(clients, 3)
            made = [other.produce(sides[0].clock.now, ids) for other in others]
            answers = await both(*[each for each, _ in made])
            for other, answer, (_, about) in zip(others, answers, made, strict=False):
                other.produced(answer, about)
        else:
            request, about = client.produce(sides[0].clock.now, ids)
            for answer in await both(request):
                client.produced(answer, about)
    found = [side.remembered() for side in sides]
    assert found[0].keys() == found[1].keys()
    for name in found[0]:
        assert found[0][name] == found[1][name], name
    assert sides[0].files() == sides[1].files()
    return int(sides[0].lane.served)


SETTINGS: Final[tuple[dict[str, str], ...]] = (
    {},
    {
        "log.segment.bytes": "20000",
        "log.index.interval.bytes": "300",
        "transaction.state.log.segment.bytes": "5000",
    },
    {"transaction.state.log.num.partitions": "1", "transaction.state.log.checkpoint.bytes": "3000"},
    {"end.txn.reply": "prepared"},
    {"transaction.version": "1"},
    {"transaction.partition.verification.enable": "false"},
    {"durability": "power"},
)


@pytest.mark.parametrize("seed", range(20))
def test_the_lane_says_keeps_and_remembers_what_the_long_way_does(
    folders: tuple[Path, Path], module: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    del module
    monkeypatch.setattr(main, "SystemChance", Counted)
    settings = SETTINGS[seed % 12 if seed % 12 < len(SETTINGS) else 0]
    waits = {"durability": "power"}

    async def run() -> int:
        sides = await _pair(folders, settings)
        try:
            return await _play(sides, random.Random(f"lane {seed}"), 250 if settings != waits else 60)
        finally:
            await _stop(sides)

    served = asyncio.run(run())
    if settings == waits:
        assert served == 0  # it waits for nothing, so it cannot
    else:
        assert served > 20


def test_a_disk_that_fails_is_noticed_and_leaves_what_the_long_way_leaves(
    folders: tuple[Path, Path], module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each of the five writes of a transaction, by a file that is not the usual one."""
    del module
    monkeypatch.setattr(main, "SystemChance", Counted)

    async def run(at: int) -> None:
        sides = await _pair((folders[0] / str(at), folders[1] / str(at)), {}, fragile=True)
        client = await _begun(sides)
        await _transaction(sides, client)  # segments are there now
        before = int(sides[0].lane.served)
        for side in sides:
            _break_after(side, at)
        batch = _one(client)
        said = [[await side.ask([each]) for each in (batch, _commit(client))] for side in sides]
        assert said[0] == said[1]
        assert [side.server.fault is not None for side in sides] == [True, True]
        for side in sides:
            for each in side.partitions():
                each.state.verifications.clear()  # the lane makes none; with the disk gone nobody asks for them
        for name, found in sides[0].remembered().items():
            if not name.startswith(
                ("counts", "times", "kept of")
            ):  # a request that ends the broker is not noted
                assert found == sides[1].remembered()[name], name
        assert int(sides[0].lane.served) - before == (at >= 2)  # the Produce, if its two writes were good
        await _stop(sides)

    for at in range(5):
        asyncio.run(run(at))


def test_nothing_is_written_to_a_disk_that_has_failed(
    folders: tuple[Path, Path], module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the files are the usual ones, whose bytes the lane writes by itself."""
    del module
    monkeypatch.setattr(main, "SystemChance", Counted)

    async def run() -> None:
        sides = await _pair(folders, {}, fragile=True)
        client = await _begun(sides)
        await _transaction(sides, client)
        await _transaction(sides, client)
        assert int(sides[0].lane.served) >= 2
        before = [side.files() for side in sides]
        for side in sides:
            side.server.disk.fault = StorageFault("a test wanted the disk to have failed")
            assert await side.ask([_one(client)]) == []
            assert side.server.fault is side.server.disk.fault
        assert [side.files() for side in sides] == before
        await _stop(sides)

    asyncio.run(run())


def test_a_write_that_the_kernel_refuses_is_not_tried_again(
    folders: tuple[Path, Path], module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second try that went well would hide that the disk refused the first (rule 6 of engine/disk.py)."""
    del module
    monkeypatch.setattr(main, "SystemChance", Counted)

    async def run() -> None:
        sides = await _pair(folders, {})
        client = await _begun(sides)
        await _transaction(sides, client)
        logs = [each.segments[-1].log for each in sides[0].partitions() if each.loaded and each.segments]
        refuses = os.open("/dev/null", os.O_RDONLY)
        kept: list[tuple[int, int]] = []
        for log in logs:
            assert isinstance(log, RealFile)
            if log._descriptor >= 0:  # pyright: ignore[reportPrivateUsage]
                kept.append((os.dup(log.descriptor()), log.descriptor()))
                os.dup2(refuses, log.descriptor())

        def append(self: RealFile, pieces: Any) -> None:
            raise AssertionError(f"{self.path} was written again: {pieces}")

        with monkeypatch.context() as patch:
            patch.setattr(RealFile, "append", append)
            assert await sides[0].ask([_one(client)]) == []
        assert "Bad file descriptor" in str(sides[0].server.disk.fault)
        assert sides[0].server.fault is sides[0].server.disk.fault
        for good, refusing in kept:
            os.dup2(good, refusing)
            os.close(good)
        os.close(refuses)
        await _stop(sides)

    asyncio.run(run())


def test_the_requests_that_it_keeps_are_bounded_as_pythons_and_keep_their_time(
    folders: tuple[Path, Path], module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del module
    monkeypatch.setattr(main, "SystemChance", Counted)
    hour_ms = 3_600_000
    bounds = {"transaction.trace.ids": "3", "transaction.trace.requests": "8"}

    async def run() -> None:
        sides = await _pair(folders, bounds)
        clients = [await _begun(sides, number) for number in range(5)]
        for number in (0, 1, 2, 0, 3, 3, 3, 3, 3):
            await _transaction(sides, clients[number])
        rings = [side.server.broker.ring for side in sides]
        by_lane, by_python = rings
        assert by_lane is not None
        assert by_python is not None
        assert len(by_lane) == len(by_python) == 3
        quietest_first = [list(each._rings) for each in rings if each is not None]  # pyright: ignore[reportPrivateUsage]
        assert quietest_first == [["id-2", "id-0", "id-3"]] * 2
        for name in quietest_first[0]:
            found = [[each[NUMBER] for each in ring.read(name, 0)] for ring in (by_lane, by_python)]
            # Python lets an id go a little later, so it may know of a request from before.
            assert found[0] == found[1][-len(found[0]) :] == sorted(found[0])
            assert len(found[0]) == 8 if name == "id-3" else 2 <= len(found[0]) <= 5
            assert [each[NUMBER] for each in by_lane.read(name, found[0][0])] == found[0][1:]
        for side in sides:
            assert side.server.broker.ring is not None
            side.server.broker.ring.clock_moves()
            side.clock.now += hour_ms
        await _transaction(sides, clients[3])
        times = [at_us(each) // 1000 for each in by_lane.read("id-3", 0)]
        assert [round((each - NOW) / hour_ms) for each in times] == [0] * 6 + [1] * 2
        await _stop(sides)

    asyncio.run(run())


def test_the_bytes_that_it_keeps_are_bounded(
    folders: tuple[Path, Path], module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del module
    monkeypatch.setattr(main, "SystemChance", Counted)
    limit_bytes = 30_000

    async def run() -> None:
        sides = await _pair(folders, {"transaction.trace.bytes": str(limit_bytes)})
        clients = [await _begun(sides, number) for number in range(8)]
        ring = sides[0].server.broker.ring
        assert ring is not None
        ids: set[int] = set()
        for _ in range(20):
            for client in clients:
                await _transaction(sides, client)
                ids.add(len(ring))
                assert ring.bytes() <= limit_bytes * 1.5  # it looks every 64 requests
        assert int(sides[0].lane.served) > 200
        assert max(ids) == len(clients)
        assert min(ids) < len(clients)
        await _stop(sides)

    asyncio.run(run())


def _break_after(side: Side, writes: int) -> None:
    disk = side.server.disk
    assert isinstance(disk, FragileDisk)
    left = itertools.count(writes, -1)
    for each in side.partitions():
        for segment in each.segments if each.loaded else ():
            log = segment.log
            inner = log.append

            def append(pieces: Any, inner: Any = inner) -> None:
                if next(left) <= 0:
                    raise StorageFault("a test wanted this write to fail")
                inner(pieces)

            segment._log = _Failing(log, append)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


class _Failing:
    """A file whose appends go through a test."""

    def __init__(self, file: Any, append: Any) -> None:
        self._file = file
        self.append = append

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _one(client: Client, *, sequence: int = 0, index: int = 0) -> bytes:
    batch = build_batch(
        [NewRecord(None, b"value", NOW)],
        producer_id=client.producer_id,
        producer_epoch=client.epoch,
        base_sequence=sequence,
        transactional=True,
    )
    part = PartitionProduceData(index=index, records=batch)
    data = TopicProduceData(name="t", partition_data=[part])
    return frame(
        0, 12, ProduceRequest(transactional_id=client.name, acks=-1, timeout_ms=1000, topic_data=[data])
    )


def _commit(client: Client) -> bytes:
    request = EndTxnRequest(
        transactional_id=client.name or "",
        producer_id=client.producer_id,
        producer_epoch=client.epoch,
        committed=True,
    )
    return frame(26, 5, request)


async def _transaction(sides: Sequence[Side], client: Client) -> None:
    answers: list[bytes] = []
    for each in (_one(client), _commit(client)):
        answers = [(await side.ask([each]))[0] for side in sides]
        assert len(set(answers)) == 1
    client.ended(answers[0])


def _record(body: bytes, length: int | None = None) -> bytes:
    """A record of one byte of length."""
    return bytes(((len(body) if length is None else length) << 1,)) + body


PLAIN: Final = (
    bytes((0, 0, 0, 1, 4)) + b"ab" + b"\0"
)  # no attributes, both deltas 0, no key, a value of two bytes, no headers
BODIES: Final[dict[str, tuple[int, bytes]]] = {  # how many records the header says, and what follows it
    "as it should be": (1, _record(PLAIN)),
    "two of them": (2, _record(PLAIN) + _record(b"\0\0\2" + PLAIN[3:])),
    "a byte more than the record needs": (1, _record(PLAIN + b"\0")),
    "a byte behind the last record": (1, _record(PLAIN) + b"\0"),
    "a length that is too short": (1, _record(PLAIN, len(PLAIN) - 1)),
    "a length that is too long": (1, _record(PLAIN, len(PLAIN) + 1)),
    "a negative length": (1, b"\1" + PLAIN),
    "a length of five bytes": (1, b"\x90\x80\x80\x80\0" + PLAIN),
    "a length of six bytes": (1, b"\x90\x80\x80\x80\x80\0" + PLAIN),
    "a wrong number": (1, _record(b"\0\0\2" + PLAIN[3:])),
    "both have number 0": (2, _record(PLAIN) + _record(PLAIN)),
    "fewer than it says": (2, _record(PLAIN)),
    "more than it says": (1, _record(PLAIN) + _record(b"\0\0\2" + PLAIN[3:])),
    "a key that goes over the end": (1, _record(b"\0\0\0\x40" + PLAIN[4:])),
    "a value that goes over the end": (1, _record(PLAIN[:4] + b"\x40ab\0")),
    "a key of -3 bytes": (1, _record(b"\0\0\0\5" + PLAIN[4:])),
    "a null value": (1, _record(PLAIN[:4] + b"\1\0")),
    "attributes": (1, _record(b"\xff" + PLAIN[1:])),
    "a time before the first": (1, _record(b"\0\1" + PLAIN[2:])),
    "a time far behind": (1, _record(b"\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1" + PLAIN[2:])),
    "a time of eleven bytes": (1, _record(b"\0" + b"\x80" * 10 + b"\0" + PLAIN[2:])),
    "a header": (1, _record(PLAIN[:-1] + b"\2\2n\2v")),
    "a header that is cut": (1, _record(PLAIN[:-1] + b"\2\2n")),
    "nothing": (1, b""),
}


def test_records_are_looked_at_as_closely(
    folders: tuple[Path, Path], module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del module
    monkeypatch.setattr(main, "SystemChance", Counted)

    async def run() -> None:
        sides = await _pair(folders, {})
        for name, (count, body) in {"the first makes a segment": BODIES["as it should be"], **BODIES}.items():
            batch = bytearray(build_batch([NewRecord(None, b"", NOW)])[:HEADER_BYTES] + body)
            struct.pack_into(">i", batch, 8, len(batch) - 12)
            struct.pack_into(">i", batch, 23, count - 1)
            struct.pack_into(">i", batch, 57, count)
            struct.pack_into(">I", batch, 17, crc32c(bytes(batch[CRC_FROM:])))
            for topic in ("t", "map"):
                part = PartitionProduceData(index=0, records=bytes(batch))
                data = TopicProduceData(name=topic, partition_data=[part])
                request = frame(0, 12, ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]))
                said = [await side.ask([request]) for side in sides]
                assert said[0] == said[1], (name, topic)
        assert sides[0].files() == sides[1].files()
        assert sides[0].remembered() == sides[1].remembered()
        assert int(sides[0].lane.served) >= 3
        await _stop(sides)

    asyncio.run(run())


def test_a_producer_of_an_older_epoch_is_refused(
    folders: tuple[Path, Path], module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del module
    monkeypatch.setattr(main, "SystemChance", Counted)

    async def run() -> None:
        sides = await _pair(folders, {})
        answers: list[int] = []
        for epoch in (0, 1, 1, 2, 1, 0):
            batch = build_batch(
                [NewRecord(None, b"value", NOW)], producer_id=5, producer_epoch=epoch, base_sequence=0
            )
            part = PartitionProduceData(index=0, records=batch)
            data = TopicProduceData(name="t", partition_data=[part])
            request = frame(0, 12, ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]))
            said = [await side.ask([request]) for side in sides]
            assert said[0] == said[1]
            found = ProduceResponse.decode(said[0][0], 12, BODY_AT)
            answers.append(found.responses[0].partition_responses[0].error_code)
        assert answers == [0, 0, 0, 0, 47, 47]  # INVALID_PRODUCER_EPOCH
        assert sides[0].remembered() == sides[1].remembered()
        assert int(sides[0].lane.served) == 1  # the first two make a segment ready, the third is a copy
        await _stop(sides)

    asyncio.run(run())


def test_an_id_that_is_busy_is_not_touched(
    folders: tuple[Path, Path], module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its markers are under way (`pending`), or another request has its turn."""
    del module
    monkeypatch.setattr(main, "SystemChance", Counted)

    async def run() -> None:
        sides = await _pair(folders, {})
        client = await _begun(sides)
        await _transaction(sides, client)
        await _transaction(sides, client)
        entries = [side.server.broker.transactions._entries["id-0"] for side in sides]  # pyright: ignore[reportPrivateUsage]
        for entry in entries:
            entry.pending = State.COMPLETE_COMMIT
        for each in (_one(client), _commit(client)):
            said = [await side.ask([each]) for side in sides]
            assert said[0] == said[1]
        assert EndTxnResponse.decode(said[0][0], 5, BODY_AT).error_code == 51  # CONCURRENT_TRANSACTIONS
        for entry in entries:
            entry.pending = None
            await as_asyncio(spawn(sides[0].server.loop, _take(entry)))
        for side in sides:  # it waits for its turn
            side.answers.clear()
            side.connection.frames([_one(client)])
        await asyncio.sleep(0.02)
        assert [side.answers for side in sides] == [[], []]
        for entry, side in zip(entries, sides, strict=True):
            entry.turns._pass_on()  # pyright: ignore[reportPrivateUsage]
            await asyncio.wait_for(side.answered.wait(), 10)
        assert sides[0].answers == sides[1].answers
        await _stop(sides)

    asyncio.run(run())


@pytest.mark.parametrize(
    "setting",
    [
        {"end.txn.reply": "prepared"},
        {"transaction.version": "1"},
        {"transaction.partition.verification.enable": "false"},
    ],
)
def test_transactions_by_other_rules_go_the_long_way(
    tmp_path: Path, module: Any, setting: dict[str, str]
) -> None:
    del module

    async def run() -> None:
        side = Side(tmp_path / "one", {"hot.path": "native", **setting})
        await side.start()
        client = Client(random.Random(0), 0, transactional=True)
        while not client.begun((await side.ask([client.begin()]))[0]):
            pass
        for _ in range(4):
            await _transaction([side], client)
            await asyncio.sleep(0.01)
        assert int(side.lane.served) == 0
        await _stop([side])

    asyncio.run(run())


def test_a_transaction_does_not_begin_with_a_gap_and_nobody_writes_the_brokers_own_topics(
    folders: tuple[Path, Path], module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del module
    monkeypatch.setattr(main, "SystemChance", Counted)

    async def run() -> None:
        sides = await _pair(folders, {"transaction.state.log.num.partitions": "1"})
        client = await _begun(sides)
        for _ in range(3):
            await _transaction(sides, client)
        other = Client(random.Random(2), 1, transactional=True)  # whom partition 0 does not know
        while not all([other.begun((await side.ask([other.begin()]))[0]) for side in sides]):
            pass
        asks = [_one(other, sequence=5), _one(other), _one(client, sequence=5, index=1)]
        asks += [_one(client, sequence=5), _one(client), _commit(client), _commit(other)]
        for each in asks:
            said = [await side.ask([each]) for side in sides]
            assert said[0] == said[1]
        plain = build_batch([NewRecord(b"key", b"value", NOW)])
        for _ in (0, 1):
            part = PartitionProduceData(index=0, records=plain)
            data = TopicProduceData(name="__transaction_state", partition_data=[part])
            request = frame(0, 12, ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]))
            said = [await side.ask([request]) for side in sides]
            assert said[0] == said[1]
            found = ProduceResponse.decode(said[0][0], 12, BODY_AT)
            assert found.responses[0].partition_responses[0].error_code == 17  # INVALID_TOPIC_EXCEPTION
        assert sides[0].files() == sides[1].files()
        assert sides[0].remembered() == sides[1].remembered()
        await _stop(sides)

    asyncio.run(run())


async def _take(entry: Any) -> None:
    await entry.turns.__aenter__()


def test_requests_that_a_test_wants_to_see_go_the_long_way(
    tmp_path: Path, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del module
    monkeypatch.setattr(main, "SystemChance", Counted)

    async def run() -> None:
        side = Side(tmp_path / "one", {"hot.path": "native"})
        await side.start()
        client = Client(random.Random(0), 0, transactional=True)
        while not client.begun((await side.ask([client.begin()]))[0]):
            pass
        await _transaction([side], client)
        await _transaction([side], client)
        served = int(side.lane.served)
        assert served >= 2
        side.server.broker.faults = Faults(lambda: None)
        await _transaction([side], client)
        assert int(side.lane.served) == served
        side.server.broker.faults = None
        await _transaction([side], client)
        assert int(side.lane.served) == served + 2
        side.server.broker.transactions.points = Points()
        await _transaction([side], client)
        assert int(side.lane.served) == served + 2
        await _stop([side])

    asyncio.run(run())


def test_whoever_waits_for_records_is_told(tmp_path: Path, module: Any) -> None:
    del module

    async def run() -> None:
        side = Side(tmp_path / "one", {"hot.path": "native"})
        await side.start()
        client = Client(random.Random(0), 0, transactional=True)
        while not client.begun((await side.ask([client.begin()]))[0]):
            pass
        await _transaction([side], client)
        partition = side.server.engine.topics["t"].partitions[0]
        told: list[tuple[int, int]] = []
        stop = partition.watch(lambda: told.append((partition.high_watermark, partition.last_stable_offset)))
        served = int(side.lane.served)
        await _transaction([side], client)
        assert int(side.lane.served) == served + 2
        assert told == [(3, 2), (4, 4)]
        stop()
        await _stop([side])

    asyncio.run(run())


def served_by_the_lane(settings: Mapping[str, str]) -> int | None:
    """How many of two like requests, of which the first makes a segment; None: there is no lane."""

    async def run(folder: Path) -> int | None:
        side = Side(folder, settings)
        await side.start()
        client = Client(random.Random(0), 0, transactional=False)
        client.version = 12
        records = build_batch([NewRecord(None, b"value", NOW)])
        part = PartitionProduceData(index=0, records=records)
        data = TopicProduceData(name="t", partition_data=[part])
        request = frame(0, 12, ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]))
        for _ in range(3):
            await side.ask([request])
        found = None if side.lane is None else int(side.lane.served)
        await _stop([side])
        return found

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(run(Path(folder) / "data"))


@pytest.mark.parametrize(
    "size", [*range(70), 255, 256, 767, 768, 769, 2047, 6143, 6144, 6145, 20_001, 100_000]
)
def test_its_checksum_is_crc_32c(module: Any, size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert module.crc32c(data) == crc32c(data)


def test_everything_that_it_is_given_is_there() -> None:
    assert set(glue.PARTS) == {
        "CachedBatch", "ClassicPartition", "Producer", "ProducerState", "RealFile", "StorageFault", "Txn", "partition_of", "states",
    }  # fmt: skip
    assert isinstance(glue.PARTS["RealFile"], type)
    assert glue.PARTS["RealFile"] is RealFile
    assert HEADER_BYTES == 61
    assert isinstance(summarize(b"", 0, 0), Summary)
