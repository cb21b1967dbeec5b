"""One flipped bit anywhere in a broker's files: what becomes of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final

from oncelog.client.visible import AbortedFrom, visible
from oncelog.engine.classic.checkpoints import CLEAN_SHUTDOWN
from oncelog.engine.classic.metadata import COPIES, JOURNAL
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
LENGTH_FROM: Final = 12
BASE_OFFSET_BYTES: Final = 8
AIMED: Final = 300  # flips in base offsets


def build() -> tuple[World, Contents]:
    """A log of several segments with producers, committed and aborted transactions; and what readers see of it."""
    world = World(durability="power", settings={"log.flush.offset.checkpoint.interval.ms": "100"}).start()
    world.topic(configs=SMALL)
    world.run(world.engine.claim_producer_ids(1000))
    world.topic("u", 2)
    world.run(world.engine.set_topic_configs("u", {"retention.bytes": "-1", "segment.bytes": "4096"}))
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


def one_by_one(world: World) -> Contents:
    """Batch by batch, each read where the last one ended: such reads ask no index. With a start of its own, for one that does may
    refuse what this one has believed."""
    part = world.part()
    seen: list[tuple[int, object]] = []
    at = part.log_start_offset
    while at < part.log_end_offset:
        read = world.read(at, max_bytes=1)
        if read.error or not read.records:
            raise OncelogError(f"the read at {at} was answered {read.error.name}, {len(read.records)} bytes")
        got = visible(
            TopicPartition("t", 0),
            read.records,
            from_offset=at,
            isolation=Isolation.READ_UNCOMMITTED,
            aborted=(),
        )
        seen += [(each.offset, each.value) for each in got.records]
        at = got.next_offset
    return {"one by one": seen}


def kept(world: World) -> Contents:
    """What the journal says: topics, their settings, and which producer ids may be given next."""
    topics: list[tuple[int, object]] = [
        (len(topic.partitions), (name, topic.id, dict(topic.configs)))
        for name, topic in sorted(world.engine.topics.items())
    ]
    return {"topics": topics, "ids": [(world.run(world.engine.claim_producer_ids(1)).start, "")]}


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


def nothing_more(world: World) -> Contents:  # noqa: ARG001
    """Than what every look begins with: `kept`."""
    return {}


Look = Callable[[World], Contents]
LOOKS: Final[Sequence[Look]] = (contents, one_by_one, by_time, left_by_retention)


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


def fate(files: Files, wanted: Contents, looks: Sequence[Look] = LOOKS) -> tuple[str, str]:
    """What a start on these files, and reading all of it, comes to: each way to look at it with a start of its own. Who is
    refused must find all files as they were."""
    fates = [_fate(files, wanted, look) for look in looks]
    return min(fates, key=lambda each: (SILENT, READER, REFUSED, HARMLESS).index(each[0]))


def _fate(files: Files, wanted: Contents, look: Look) -> tuple[str, str]:
    world = made(files)
    try:
        world.start()
    except OncelogError as why:
        changed = _differences(files, files_of(world.memory))
        return (SILENT, f"refused ({why}), and changed {changed}") if changed else (REFUSED, str(why))
    try:
        found = kept(world) | look(world)
    except CorruptBatch as why:
        return READER, str(why)
    except OncelogError as why:
        # A start behind which a partition is refused may have changed other files, but no log.
        logs = [each for each in _differences(files, files_of(world.memory)) if each.endswith(".log")]
        if logs and look is not left_by_retention:
            return SILENT, f"refused ({why}), and changed {logs}"
        return REFUSED, str(why)
    for name, seen in found.items():
        if wanted[name] != seen:
            return SILENT, f"{name}: {len(wanted[name])} records were wanted, {len(seen)} found"
    return HARMLESS, ""


def _differences(before: Files, after: Files) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def started(files: Files) -> World:
    return made(files).start()


def made(files: Files) -> World:
    """An engine on a copy of these files, as late as all that is in them; not started."""
    world = World(durability="power")
    world.memory = _disk_of(files, world.loop)
    world.disk = world.memory
    world.engine = world._engine()  # pyright: ignore[reportPrivateUsage]
    world.clock.wall_shift_ms = LATER_MS - START_WALL_MS
    return world


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
    files, wanted = left(clean=clean)
    kinds: dict[str, list[str]] = {}
    for path, data in files.items():
        if data:
            kinds.setdefault(path.rpartition("/")[2].lstrip("0123456789") or path, []).append(path)
    random = Random(f"flips {seed}")
    bits: list[tuple[str, int]] = []
    for number in range(count):
        path = random.choice(kinds[sorted(kinds)[number % len(kinds)]])
        at, bit = random.randrange(len(files[path])), random.randrange(8)
        bits.append((path, 8 * at + bit))
    outcomes, silent = flip_these(files, wanted, bits)
    return outcomes, silent, set(kinds)


def left(*, clean: bool) -> tuple[Files, Contents]:
    """The files that a broker leaves behind, and all that they tell."""
    world, wanted = build()
    if clean:
        world.stop()
    files = files_of(world.memory)
    if not clean:
        files.pop(CLEAN_SHUTDOWN, None)
    wanted |= (
        one_by_one(started(files))
        | by_time(started(files))
        | left_by_retention(started(files))
        | kept(started(files))
    )
    outcome, why = fate(files, wanted)
    assert outcome == HARMLESS, why
    return files, wanted


def flip_these(
    files: Files,
    wanted: Contents,
    bits: Iterable[tuple[str, int]],
    looks: Sequence[Look] = LOOKS,
    *,
    also: Sequence[str] = (),
) -> tuple[Counter[str], list[str]]:
    """Flips each of the bits (path, number of the bit), each alone; `also`: other files in which the same bit flips."""
    outcomes: Counter[str] = Counter()
    silent: list[str] = []
    for path, number in bits:
        changed = dict(files)
        for each in (path, *also):
            data = bytearray(files[each])
            data[number // 8] ^= 1 << number % 8
            changed[each] = bytes(data)
        outcome, why = fate(changed, wanted, looks)
        outcomes[outcome] += 1
        if outcome == SILENT:
            silent.append(f"{path} byte {number // 8} bit {number % 8}: {why}")
    return outcomes, silent


def base_offsets(files: Files) -> Iterator[tuple[str, int]]:
    """Every bit of the base offsets of all batches: no CRC covers them."""
    for path, data in files.items():
        if path.endswith(".log"):
            at = 0
            while at < len(data):
                for bit in range(8 * BASE_OFFSET_BYTES):
                    yield path, 8 * at + bit
                at += int.from_bytes(data[at + 8 : at + 12], "big") + LENGTH_FROM


def last_line(files: Files, path: str) -> Iterator[tuple[str, int]]:
    """Every bit of the last line of a file."""
    data = files[path]
    for bit in range(8 * (data.rindex(b"\n", 0, -1) + 1), 8 * len(data)):
        yield path, bit


def aimed(files: Files) -> list[tuple[str, int]]:
    """So many bits of base offsets, spread over all of them."""
    bits = list(base_offsets(files))
    return bits[:: len(bits) // AIMED]


def all_silent(count: int, seed: int) -> Iterator[str]:
    """What the tests flip, until somebody has seen enough: for who looks whether a broken broker is noticed."""
    for clean in (True, False):
        yield from flip_all(count, seed, clean=clean)[1]
        files, wanted = left(clean=clean)
        yield from flip_these(files, wanted, aimed(files), (one_by_one, contents))[1]
        for also in [(), COPIES[1:]] if clean else [()]:
            yield from flip_these(files, wanted, last_line(files, JOURNAL), (nothing_more,), also=also)[1]
