"""One flipped bit anywhere in a broker's files: what becomes of it."""

from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from oncelog.client.visible import AbortedFrom, visible
from oncelog.engine.classic.checkpoints import CLEAN_SHUTDOWN
from oncelog.engine.memory import MemoryDisk
from oncelog.errors import CorruptBatch, OncelogError
from oncelog.model import Isolation, TopicPartition
from oncelog.sim.loop import START_WALL_MS, VirtualLoop
from tests.classic_world import World, batch_of

Files = Mapping[str, bytes]
Contents = dict[str, list[tuple[int, object]]]
HARMLESS, REFUSED, READER, SILENT = "harmless", "refused", "seen by the reader's CRC", "SILENT"
SMALL: Final = {"segment.bytes": "2048", "index.interval.bytes": "150"}
ROUNDS: Final = 45
ROUND_MS: Final = 20
LATER_MS: Final = START_WALL_MS + 2 * ROUNDS * ROUND_MS  # than all that is in the log
TOO_OLD_MS: Final = START_WALL_MS + ROUNDS * ROUND_MS // 2
RETENTION_MS: Final = 3_600_000
MAX_TIMESTAMP: Final = -3


def build() -> tuple[World, Contents]:
    """A log of several segments with producers, committed and aborted transactions; and what readers see of it."""
    world = World(durability="power", settings={"log.flush.offset.checkpoint.interval.ms": "100"}).start()
    world.topic(configs=SMALL)
    world.run(world.engine.claim_producer_ids(1000))
    for number in range(ROUNDS):
        world.put(f"plain {number:040}", producer_id=1, producer_epoch=0, base_sequence=number)
        world.put_verified(
            batch_of(
                f"in a transaction {number:030}",
                now=world.clock.wall_ms(),
                producer_id=2,
                producer_epoch=0,
                base_sequence=number,
                transactional=True,
            )
        )
        if number % 3 == 2:
            world.run(
                world.part().append_marker(
                    producer_id=2,
                    producer_epoch=0,
                    coordinator_epoch=0,
                    commit=number % 2 == 0,
                    transaction_version=0,
                )
            )
        world.settle(ROUND_MS)
    world.settle(500)
    return world, contents(world)


def contents(world: World) -> Contents:
    """What readers of both isolation levels see, from every offset that a batch begins at, with its CRC looked at."""
    found: Contents = {}
    part = world.part()
    for isolation in Isolation:
        seen: list[tuple[int, object]] = []
        at = part.log_start_offset
        while True:
            read = world.read(at, max_bytes=700, committed=isolation is Isolation.READ_COMMITTED)
            if read.error:
                raise OncelogError(f"the read at {at} was answered {read.error.name}")
            got = visible(
                TopicPartition("t", 0),
                read.records,
                from_offset=at,
                isolation=isolation,
                aborted=[AbortedFrom(each.first_offset, each.producer_id) for each in read.aborted or ()],
            )
            seen += [(each.offset, each.value) for each in got.records]
            if got.next_offset == at:
                break
            at = got.next_offset
        found[isolation.name] = seen
        # Also from the middle, which needs the index.
        for start in range(part.log_start_offset, part.log_end_offset, 7):
            read = world.read(start, max_bytes=1, committed=isolation is Isolation.READ_COMMITTED)
            got = visible(
                TopicPartition("t", 0),
                read.records,
                from_offset=start,
                isolation=isolation,
                aborted=[AbortedFrom(each.first_offset, each.producer_id) for each in read.aborted or ()],
            )
            found[f"{isolation.name} from {start}"] = [(each.offset, each.value) for each in got.records]
    return found


def by_time(world: World) -> Contents:
    """What is told of the offsets at some times, before anybody has read: who reads loads whole indexes, and looks at them."""
    part = world.part()
    return {
        f"{isolation.name} by time": [
            (at.offset, at.timestamp)
            for when in (MAX_TIMESTAMP, *range(START_WALL_MS, LATER_MS, 2 * ROUND_MS))
            for at in (world.run(part.offset_at(when, isolation)),)
        ]
        for isolation in Isolation
    }


def left_by_retention(world: World) -> Contents:
    """What retention by time leaves of a log of which the first half is too old: it runs before anybody has read."""
    world.run(world.engine.set_topic_configs("t", {**SMALL, "retention.ms": str(RETENTION_MS)}))
    world.clock.wall_shift_ms += TOO_OLD_MS + RETENTION_MS - world.clock.wall_ms()
    world.run(world.engine.run_retention())
    part = world.part()
    return {"left by retention": [(offset, "") for offset in (part.log_start_offset, part.log_end_offset)]}


LOOKS: Final = (contents, by_time, left_by_retention)


def files_of(disk: MemoryDisk, path: str = "") -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name in disk.list(path):
        below = f"{path}/{name}" if path else name
        if disk.is_directory(below):
            found |= files_of(disk, below)
        else:
            file = disk.open(below)
            found[below] = file.read(0, file.size())
    return found


def fate(files: Files, wanted: Contents) -> tuple[str, str]:
    """What a start on these files, and reading all of it, comes to: each way to look at it with a start of its own."""
    fates = [_fate(files, wanted, look) for look in LOOKS]
    return min(fates, key=lambda each: (SILENT, READER, REFUSED, HARMLESS).index(each[0]))


def _fate(files: Files, wanted: Contents, look: Callable[[World], Contents]) -> tuple[str, str]:
    try:
        found = look(started(files))
    except CorruptBatch as why:
        return READER, str(why)
    except OncelogError as why:
        return REFUSED, str(why)
    for name, seen in found.items():
        if wanted[name] != seen:
            return SILENT, f"{name}: {len(wanted[name])} records were wanted, {len(seen)} found"
    return HARMLESS, ""


def started(files: Files) -> World:
    """An engine on a copy of these files, as late as all that is in them."""
    world = World(durability="power")
    world.memory = _disk_of(files, world.loop)
    world.disk = world.memory
    world.engine = world._engine()  # pyright: ignore[reportPrivateUsage]
    world.clock.wall_shift_ms = LATER_MS - START_WALL_MS
    return world.start()


def _disk_of(files: Files, loop: VirtualLoop) -> MemoryDisk:
    disk = MemoryDisk(loop, Random(0))
    for path, data in files.items():
        directory, _, _ = path.rpartition("/")
        if directory and not disk.exists(directory):
            disk.make_directory(directory)
        disk.open(path, create=True).append((data,))
    return disk


def flip_all(count: int, seed: int, *, clean: bool) -> tuple[Counter[str], list[str], set[str]]:
    """Flips so many single bits, spread over all kinds of files; the outcomes, the silent ones, the kinds of files."""
    world, wanted = build()
    if clean:
        world.stop()
    files = files_of(world.memory)
    if not clean:
        files.pop(CLEAN_SHUTDOWN, None)
    wanted |= by_time(started(files)) | left_by_retention(started(files))
    outcome, why = fate(files, wanted)
    assert outcome == HARMLESS, why
    kinds: dict[str, list[str]] = {}
    for path, data in files.items():
        if data:
            kinds.setdefault(path.rpartition("/")[2].lstrip("0123456789") or path, []).append(path)
    random = Random(f"flips {seed}")
    outcomes: Counter[str] = Counter()
    silent: list[str] = []
    for number in range(count):
        path = random.choice(kinds[sorted(kinds)[number % len(kinds)]])
        data = bytearray(files[path])
        at, bit = random.randrange(len(data)), random.randrange(8)
        data[at] ^= 1 << bit
        outcome, why = fate({**files, path: bytes(data)}, wanted)
        outcomes[outcome] += 1
        if outcome == SILENT:
            silent.append(f"{path} byte {at} bit {bit}: {why}")
    return outcomes, silent, set(kinds)
