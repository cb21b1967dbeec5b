"""The catalogue's storage bugs that no other test names: power cuts at every moment, truncation, readers of a cleaned log."""

import threading
from collections.abc import Callable
from random import Random
from typing import Any, Literal

import pytest

import oncelog
from oncelog.engine.classic.checkpoints import CLEAN_SHUTDOWN
from oncelog.engine.classic.segment import LOG, file_name
from oncelog.engine.port import Appended, Refused
from oncelog.errors import ErrorCode, OncelogError
from oncelog.record.batch import NewRecord, batches, build_batch
from oncelog.server.main import Server
from oncelog.tasks import spawn
from tests.catalogue import readers
from tests.classic_world import World, batch_of

LOG_FILE = f"t-0/{file_name(0, LOG)}"
SMALL = {"segment.bytes": "1024", "index.interval.bytes": "100"}


def end(world: World, producer_id: int, *, commit: bool, epoch: int = 0) -> int:
    """The offset of the marker."""
    marker = world.part().append_marker(
        producer_id=producer_id,
        producer_epoch=epoch,
        coordinator_epoch=0,
        commit=commit,
        transaction_version=1,
    )
    found = world.run(marker)
    assert isinstance(found, Appended), found
    return found.base_offset


def transactional(world: World, producer_id: int, sequence: int, value: str, key: bytes | None = None) -> int:
    record = NewRecord(key, value.encode(), world.clock.wall_ms())
    batch = build_batch(
        [record], producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True
    )
    return world.put_verified(batch).base_offset


# --- crashes at every change of the disk


class Crash(Exception):
    """The machine stops here, and from now on nothing reaches the disk."""


class Life:
    """What a broker does in some minutes: rolls, snapshots, checkpoints, DeleteRecords, retention, a clean stop and start."""

    def __init__(self, changes: int, durability: Literal["process", "power"]) -> None:
        self.world = World(seed=changes, durability=durability)
        self.durability: Literal["process", "power"] = durability
        self.acked: dict[int, tuple[int, bytes]] = {}  # offset -> sequence, value; of producer 1
        self.decided: dict[int, bool] = {}  # offset of a transactional record -> committed?
        self.log_start = 0
        self.left = changes

    def _die(self, _what: str, _path: str) -> None:
        self.left -= 1
        if self.left <= 0:
            raise Crash

    def run(self) -> bool:
        """True if it came to its end before the machine stopped."""
        self.world.start()
        self.world.topic(configs={**SMALL, "file.delete.delay.ms": "0"})
        self.world.memory.before_change = self._die
        try:
            self._work()
        except Exception:
            if self.left > 0:
                raise
        return self.left > 0

    def _work(self) -> None:
        for sequence in range(24):
            self._write(sequence)
        self.world.settle(61_000)  # recovery points are written
        assert self.world.run(self.world.part().delete_records(9)) is ErrorCode.NONE
        self.log_start = 9
        for sequence in range(24, 34):
            self._write(sequence)
        self.world.run(self.world.engine.run_retention())
        self.world.settle(500)
        self.world.stop()
        self.world.again()  # a clean start: what comes after it must not be believed clean
        for sequence in range(34, 40):
            self._write(sequence)
        self.world.settle(500)

    def _write(self, sequence: int) -> None:
        world = self.world
        value = f"{sequence:060}"
        offset = world.put(value, producer_id=1, producer_epoch=0, base_sequence=sequence).base_offset
        self.acked[offset] = (sequence, value.encode())
        if sequence % 4 == 0:
            producer_id = 2 + sequence % 8
            self.decided[transactional(world, producer_id, 0, "t")] = False
            end(world, producer_id, commit=False)

    def check(self) -> None:
        """The next life: all that was acknowledged is where it was, and its producer goes on where it stopped."""
        world = self.world
        world.crash(self.durability).start()
        part = world.part()
        assert part.log_start_offset in (self.log_start, 9)
        found = world.values()
        for offset, (_, value) in self.acked.items():
            if offset >= part.log_start_offset:
                assert found.get(offset) == value, offset
        open_ones = {each.producer_id for each in part.producers() if each.transaction_start_offset >= 0}
        for producer_id in sorted(open_ones):
            end(world, producer_id, commit=False)
        assert part.last_stable_offset == part.high_watermark == part.log_end_offset
        last = max((sequence for sequence, _ in self.acked.values()), default=-1)
        for sequence in range(max(last - 3, 0), last + 1):  # one more may be there, unacknowledged
            again = self._send(sequence)
            assert isinstance(again, Appended)
            assert again.duplicate
            assert self.acked[again.base_offset][0] == sequence
        following = self._send(last + 1)  # perhaps it was written and not acknowledged
        assert isinstance(following, Appended)
        if last >= 0:
            assert isinstance(self._send(last + 9), Refused)

    def _send(self, sequence: int) -> Appended | Refused:
        now = self.world.clock.wall_ms()
        batch = batch_of(f"{sequence:060}", now=now, producer_id=1, producer_epoch=0, base_sequence=sequence)
        return self.world.send(batch)


@pytest.mark.parametrize("durability", ["power", "process"])
def test_b48_b51_b54_j18_a_crash_at_every_change_of_the_disk(durability: Literal["process", "power"]) -> None:
    """KAFKA-9892, KAFKA-16541, KAFKA-15046: snapshots and checkpoints are whole or not there, whatever is cut."""
    finished, changes = False, 0
    while not finished:
        changes += 1
        life = Life(changes, durability)
        finished = life.run()
        try:
            life.check()
        except Exception as fault:
            raise AssertionError(
                f"{durability}: the machine stopped at change {changes}: {fault!r}"
            ) from fault
    assert changes > 100


# --- truncation


def test_b49_kafka_12153_a_cut_marker_opens_its_transaction_again() -> None:
    """KAFKA-12153, KAFKA-9491: the first unstable offset follows what recovery cut."""
    for size_of_the_cut in (1, 30, 77):
        world = World().start()
        world.topic()
        first = transactional(world, 7, 0, "a")
        world.put("plain")
        end(world, 7, commit=False)
        assert world.part().last_stable_offset == 3
        world.crash("process")
        _cut(world, size_of_the_cut)
        world.start()
        part = world.part()
        assert (part.last_stable_offset, part.log_end_offset) == (first, 2)
        assert part.has_open_transaction(7, 0)
        assert world.read(committed=True).aborted == ()
        assert end(world, 7, commit=True) == 2
        assert part.last_stable_offset == 3
        assert list(world.values(committed=True).values()) == [b"a", b"plain"]


def test_b49_kafka_12153_a_cut_first_batch_leaves_no_transaction_open() -> None:
    world = World().start()
    world.topic()
    world.put("plain")
    transactional(world, 7, 0, "a")
    assert world.part().last_stable_offset == 1
    world.crash("process")
    _cut(world, 5)
    world.start()
    part = world.part()
    assert (part.last_stable_offset, part.log_end_offset) == (1, 1)
    assert not part.has_open_transaction(7, 0)
    assert world.put("more").base_offset == 1
    assert part.last_stable_offset == 2


def _cut(world: World, size: int) -> None:
    file = world.disk.open(LOG_FILE)
    file.truncate(file.size() - size)


# --- readers of a cleaned log


@pytest.mark.parametrize(
    "read", [readers.librdkafka, readers.aiokafka, readers.kafka_python, readers.oncelog]
)
def test_b45_kafka_7467_every_client_reads_a_cleaned_log(
    cleaned: str, read: Callable[[str, str], list[tuple[str, str]]]
) -> None:
    """It holds batches without records, markers without transactions, and gaps."""
    assert sorted(read(cleaned, "t")) == [
        ("key-0", "last"),
        ("key-1", "last"),
        ("key-2", "last"),
        ("roll", "x"),
    ]


@pytest.fixture(scope="module")
def cleaned() -> Any:
    """A broker whose topic t was compacted twice."""
    with oncelog.Broker() as broker:
        broker.topic("t", configs={"cleanup.policy": "compact", "delete.retention.ms": 0})
        for round_number in range(2):
            for number in range(6):
                values = [(f"key-{each}", f"{round_number}/{number}") for each in range(3)]
                readers.write_transaction(
                    broker.bootstrap, "t", values, commit=number % 2 == 0, transactional_id=f"writer-{number}"
                )
            if round_number:
                last = [(f"key-{each}", "last") for each in range(3)]
                readers.write_transaction(broker.bootstrap, "t", last, commit=True)
            _clean(broker)
        readers.write_transaction(broker.bootstrap, "t", [("roll", "x")], commit=True)
        kept = broker.run(_headers)
        assert any(count == 0 for count in kept)
        yield broker.bootstrap


def _clean(broker: oncelog.Broker) -> None:
    done = threading.Event()

    async def clean(server: Server) -> None:
        part: Any = server.engine.topics["t"].partitions[0]
        part.roll(server.clock.wall_ms())
        await part.quiet()  # the closed segment is settled
        await server.engine.run_cleaner("t", 0)

    broker.run(lambda server: spawn(server.loop, clean(server)).add_callback(lambda _: done.set()))
    assert done.wait(10)


def _headers(server: Server) -> list[int]:
    """How many records each batch of the first segment has."""
    part: Any = server.engine.topics["t"].partitions[0]
    segment = part.segments[0]
    return [header.count for header, _ in segment.walk(0, segment.size)]


# --- bit rot


def test_j16_a_flipped_bit_of_any_file_is_harmless_or_named() -> None:
    """Never a shorter log without an error, never something else than what was written.

    After a crash the segment of the recovery point and all later ones are read. Closed segments below it are not, as in
    Kafka: there it is the reader's CRC that tells.
    """
    world = World(durability="power").start()
    world.topic(configs={"index.interval.bytes": "100"})
    world.run(world.engine.claim_producer_ids(1000))
    for sequence in range(30):
        world.put(f"{sequence:060}", producer_id=1, producer_epoch=0, base_sequence=sequence)
        transactional(world, 2, sequence, "t")
        if sequence % 3 == 0:
            end(world, 2, commit=sequence % 2 == 0)
    wanted = _all(world)
    world.stop()
    world.disk.remove(CLEAN_SHUTDOWN)
    paths = [path for path in _files(world, "") if world.disk.open(path).size()]
    names = {path.rpartition("/")[2] for path in paths}
    assert {".log", ".index", ".timeindex", ".txnindex", ".snapshot"} <= {
        name.lstrip("0123456789") for name in names
    }
    random = Random(16)
    before = {path: _content(world, path) for path in paths}
    refused = dict.fromkeys(paths, 0)
    for path in paths * 25:
        data = bytearray(before[path])
        at = random.randrange(len(data))
        data[at] ^= 1 << random.randrange(8)
        _restore(world, {**before, path: bytes(data)})
        why = _why_refused(world)
        if why is None:
            assert _all(world) == wanted, (path, at)
        else:
            refused[path] += 1
            assert any(name in why for name in names), (path, at, why)
    assert refused[LOG_FILE] == 25


def _why_refused(world: World) -> str | None:
    """What the start says if it finds that something is wrong."""
    world.memory.crash("process")
    try:
        world.again()
    except OncelogError as fault:
        return str(fault)
    return None


def _all(world: World) -> Any:
    part = world.part()
    producers = sorted((each.producer_id, each.epoch, each.last_sequence) for each in part.producers())
    offsets = (part.log_start_offset, part.last_stable_offset, part.high_watermark, part.log_end_offset)
    return offsets, producers, world.values(), world.read(committed=True).aborted, _reads(world)


def _reads(world: World) -> list[int]:
    """Reads from the middle go by the indexes."""
    return [next(batches(world.read(offset).records))[1].base_offset for offset in range(0, 60, 7)]


def _files(world: World, path: str) -> list[str]:
    found: list[str] = []
    for name in world.disk.list(path):
        below = f"{path}/{name}" if path else name
        found += _files(world, below) if world.memory.is_directory(below) else [below]
    return found


def _content(world: World, path: str) -> bytes:
    file = world.disk.open(path)
    return file.read(0, file.size())


def _restore(world: World, wanted: dict[str, bytes]) -> None:
    """Makes the disk what it was, but for what a life in between has changed."""
    for path in _files(world, ""):
        if path not in wanted:
            world.disk.remove(path)
    for path, data in wanted.items():
        file = world.disk.open(path, create=True)
        file.truncate(0)
        file.append((data,))
