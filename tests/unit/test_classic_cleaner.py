"""Compaction on files: what readers and producers see before and after, and crashes in the middle (spec 6.4)."""

import contextlib
from pathlib import Path
from typing import Any

from oncelog.engine.classic.segment import SWAP, TRANSACTION_INDEX
from oncelog.engine.port import AbortedTransaction, Appended
from oncelog.record.batch import NewRecord, batches, build_batch, records_of
from oncelog.tasks import spawn
from tests.classic_world import World

COMPACTED = {"cleanup.policy": "compact", "segment.bytes": "1024", "index.interval.bytes": "100"}


def compacted(seed: int = 0, **configs: str) -> World:
    world = World(seed=seed, durability="power").start()
    world.topic(configs={**COMPACTED, **{name.replace("_", "."): text for name, text in configs.items()}})
    return world


def put(world: World, key: str, value: str | None, **header: Any) -> int:
    record = NewRecord(key.encode(), None if value is None else value.encode(), world.clock.wall_ms())
    found = world.send(build_batch([record], **header))
    assert isinstance(found, Appended), found
    return found.base_offset


def roll(world: World) -> None:
    world.part().roll(world.clock.wall_ms())
    world.settle()


def clean(world: World) -> None:
    world.run(world.engine.run_cleaner("t", 0))


def clean_or_crash(world: World, changes: int) -> bool:
    """Cleans, but the machine stops before the n-th change of the disk. True if it came to the end."""
    left = changes

    def die(_what: str, _path: str) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            raise ZeroDivisionError

    world.memory.before_change = die
    with contextlib.suppress(ZeroDivisionError):
        clean(world)
    return left > 0


def latest(world: World) -> dict[bytes | None, bytes | None]:
    """What a reader from the start knows in the end: the last value of each key."""
    return {key: value for _, key, value in records(world)}


def records(world: World) -> list[tuple[int, bytes | None, bytes | None]]:
    at = world.part().log_start_offset
    found: list[tuple[int, bytes | None, bytes | None]] = []
    while True:
        data = world.read(at, max_bytes=4096).records
        if not data:
            return found
        for position, header in batches(data):
            at = header.next_offset
            if not header.is_control:
                batch = records_of(data[position : position + header.size], header)
                found += [(record.offset, record.key, record.value) for record in batch]


def filled(seed: int = 0, count: int = 80) -> World:
    world = compacted(seed)
    more(world, count)
    return world


def more(world: World, count: int) -> None:
    for at in range(count):
        put(world, f"key-{at % 7}", f"value-{at}" + "x" * 50)
    roll(world)


def test_the_last_value_of_each_key_stays_at_its_offset() -> None:
    world = filled()
    before, values = latest(world), {offset: value for offset, _, value in records(world)}
    size, segments, end = world.part().size_bytes, len(world.part().segments), world.part().log_end_offset
    clean(world)
    assert latest(world) == before
    assert len(records(world)) == 7
    assert all(values[offset] == value for offset, _, value in records(world))
    assert world.part().size_bytes < size / 4
    assert world.part().log_end_offset == end
    put(world, "key-0", "more")
    roll(world)
    before[b"key-0"], end = b"more", end + 1
    clean(world)  # now the small ones are joined
    assert len(world.part().segments) < segments / 2
    assert latest(world) == before
    for again in (True, False):
        if again:
            world.stop()
            world.again()
        else:
            world.crash("power").start()
        assert latest(world) == before
        assert world.part().log_end_offset == end
        assert put(world, "key-0", "next") == end
        before[b"key-0"] = b"next"
        end += 1


def test_nothing_is_cleaned_of_the_active_segment_or_above_an_open_transaction() -> None:
    """RC-9."""
    world = compacted()
    record = NewRecord(b"a", b"open", world.clock.wall_ms())
    batch = build_batch([record], producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    world.put_verified(batch)
    for at in range(30):
        put(world, "a", str(at))
    roll(world)
    clean(world)
    assert len(records(world)) == 31
    world.run(
        world.part().append_marker(
            producer_id=1, producer_epoch=0, coordinator_epoch=0, commit=True, transaction_version=1
        )
    )
    roll(world)
    clean(world)
    assert [value for _, _, value in records(world)] == [b"29"]


def test_b46_tombstones_go_after_delete_retention_ms_and_not_before() -> None:
    world = compacted(delete_retention_ms="5000")
    put(world, "a", "1")
    put(world, "b", "2")
    put(world, "a", None)
    roll(world)
    clean(world)
    assert [(key, value) for _, key, value in records(world)] == [(b"b", b"2"), (b"a", None)]
    world.settle(4000)
    put(world, "c", "3")
    roll(world)
    clean(world)
    assert (b"a", None) in [(key, value) for _, key, value in records(world)]
    world.settle(2000)
    put(world, "d", "4")
    roll(world)
    clean(world)
    assert [(key, value) for _, key, value in records(world)] == [(b"b", b"2"), (b"c", b"3"), (b"d", b"4")]


def test_b44_producers_and_their_sequences_survive_cleaning_and_replay() -> None:
    world = compacted()
    for sequence in range(40):
        put(
            world,
            "same",
            str(sequence),
            producer_id=sequence % 3,
            producer_epoch=0,
            base_sequence=sequence // 3,
        )
    roll(world)
    clean(world)
    assert len(records(world)) == 1
    for name in world.disk.list("t-0"):
        if name.endswith((".snapshot", ".batches")):
            world.disk.remove(f"t-0/{name}")  # only the log is left to tell
    world.crash("process").start()
    found = {view.producer_id: view.last_sequence for view in world.part().producers()}
    assert found == {0: 13, 1: 12, 2: 12}


def test_aborted_data_goes_and_lists_stay_true() -> None:
    """B41, B42: transactions over several segments, one aborted, one committed, one that began before the cleaned part."""
    world = compacted()
    put(world, "both", "committed")
    for sequence in range(12):
        for producer_id in (1, 2):
            key = b"both" if producer_id == 2 and sequence == 5 else f"{producer_id}/{sequence}".encode()
            record = NewRecord(key, b"x" * 80, world.clock.wall_ms())
            world.put_verified(
                build_batch(
                    [record],
                    producer_id=producer_id,
                    producer_epoch=0,
                    base_sequence=sequence,
                    transactional=True,
                )
            )
    for producer_id in (2, 1):
        world.run(
            world.part().append_marker(
                producer_id=producer_id,
                producer_epoch=0,
                coordinator_epoch=0,
                commit=producer_id == 1,
                transaction_version=1,
            )
        )
    roll(world)
    assert len(world.part().segments) > 3
    read = world.read(committed=True)
    assert read.aborted == (AbortedTransaction(2, 2),)
    clean(world)
    keys = [key for _, key, _ in records(world)]
    assert keys == [b"both", *(f"1/{sequence}".encode() for sequence in range(12))]
    assert records(world)[0] == (0, b"both", b"committed")  # the aborted value of the same key came later
    kept = [
        header.producer_id
        for _, header in batches(world.read(max_bytes=1 << 20).records)
        if header.is_control
    ]
    assert world.part().last_stable_offset == world.part().high_watermark == 27
    assert kept.count(1) <= 1
    world.crash("process").start()
    assert [key for _, key, _ in records(world)] == keys
    assert world.part().last_stable_offset == 27


def test_a_crash_at_every_change_leaves_the_old_or_the_new() -> None:
    """Renames one by one, with the power cut or the process killed between any two."""
    finished = False
    after = 0
    while not finished:
        after += 1
        world = filled(seed=after, count=30)
        clean(world)
        more(world, 3)
        assert len(world.part().segments) > 5
        expected = latest(world)
        finished = clean_or_crash(world, after)
        world.crash("process" if after % 3 == 0 else "power").start()
        assert latest(world) == expected
        ends = [segment.base_offset for segment in world.part().segments[1:]]
        for segment, end in zip(world.part().segments, ends, strict=False):  # no two hold the same stretch
            assert all(header.last_offset < end for header, _ in segment.walk(0, segment.size))
        assert world.part().log_end_offset == 33
        assert not [name for name in world.disk.list("t-0") if name.endswith((SWAP, ".cleaned", ".deleted"))]
        clean(world)
        assert latest(world) == expected
        assert len(records(world)) == 7
    assert after > 20


def test_a_crash_in_a_swap_leaves_no_old_index_beside_a_new_log() -> None:
    """Only a little goes, so that the old index does not look too long for the new log."""
    finished = False
    after = 0
    while not finished:
        after += 1
        world = compacted(seed=after)
        for key, size in (("a", 1), ("b", 120), ("c", 120), ("a", 400)):
            put(world, key, "x" * size)
        roll(world)
        finished = clean_or_crash(world, after)
        world.crash("process").start()
        wanted = [1, 2, 3] if world.part().size_bytes < 900 else [0, 1, 2, 3]
        for offset in wanted:
            (_, header), *_ = batches(world.read(offset, max_bytes=1).records)
            assert header.base_offset == offset, after
        assert [offset for offset, _, _ in records(world)] == wanted


def test_a_crash_in_a_swap_keeps_the_aborted_list() -> None:
    """The .txnindex moves with its segment, whatever is cut: aborted data must not become committed (B42)."""
    finished = False
    after = 0
    while not finished:
        after += 1
        world = compacted(seed=after)
        put(world, "plain", "1" * 300)
        for producer_id in (1, 2):
            record = NewRecord(b"k%d" % producer_id, b"aborted", world.clock.wall_ms())
            world.put_verified(
                build_batch(
                    [record], producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True
                )
            )
        for producer_id in (1, 2):
            world.run(
                world.part().append_marker(
                    producer_id=producer_id,
                    producer_epoch=0,
                    coordinator_epoch=0,
                    commit=False,
                    transaction_version=1,
                )
            )
            put(world, "plain", "2" * 300)
        put(world, "plain", "3" * 300)
        roll(world)
        finished = clean_or_crash(world, after)
        world.crash("power").start()
        visible = committed(world)
        assert set(visible) <= {b"plain"}, (after, visible)
        assert visible[-1] == b"plain"


def committed(world: World) -> list[bytes | None]:
    """The keys that a read_committed consumer delivers, filtered as spec 6.1 says."""
    at, keys = world.part().log_start_offset, list[bytes | None]()
    while True:
        read = world.read(at, max_bytes=300, committed=True)
        if not read.records:
            return keys
        waiting = list(read.aborted or ())
        aborted: set[int] = set()
        for position, header in batches(read.records):
            at = header.next_offset
            while waiting and waiting[0].first_offset <= header.last_offset:
                aborted.add(waiting.pop(0).producer_id)
            if header.is_control:
                aborted.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborted):
                data = read.records[position : position + header.size]
                keys += [record.key for record in records_of(data, header)]


def test_the_cleaner_runs_by_itself_and_remembers_where_it_was() -> None:
    world = World(settings={"log.cleaner.backoff.ms": "100"}).start()
    world.topic(configs={**COMPACTED, "min.cleanable.dirty.ratio": "0.1"})
    for at in range(80):
        put(world, f"key-{at % 7}", f"value-{at}" + "x" * 50)
    world.settle(2000)
    assert len(records(world)) < 30
    text = world.disk.open("cleaner-offset-checkpoint")
    assert text.read(0, 100).startswith(b"0\n1\nt 0 ")
    world.stop()
    assert not [name for name in world.disk.list("t-0") if name.endswith(".deleted")]


def test_deleting_a_topic_ends_its_cleaning() -> None:
    world = filled()
    cleaning = world.engine.run_cleaner("t", 0)
    task = spawn(world.loop, cleaning)
    while not world.part().cleaning:
        assert world.loop.step()
    world.run(world.engine.delete_topic("t"))
    world.run(task)
    assert not world.engine.failed.done()
    world.settle(1000)
    assert not [name for name in world.disk.list("") if name.startswith("t-0")]


def test_a_cleaned_segment_is_not_synced_any_more(tmp_path: Path) -> None:
    """With durability=process nobody synced it before: its file must not be looked for at the next sync or stop."""
    world = World.on(str(tmp_path)).start()
    world.topic(configs=COMPACTED)
    for _ in range(2):
        more(world, 80)
        clean(world)  # the second time the small ones are joined, and their names are gone
    assert len(records(world)) == 7
    world.run(world.engine.set_topic_configs("t", {**COMPACTED, "flush.messages": "2"}))
    put(world, "key-0", "one")
    put(world, "key-0", "two")
    world.settle()
    world.stop()
    world.again()
    assert latest(world)[b"key-0"] == b"two"
    world.stop()


def test_txnindex_only_where_there_are_entries() -> None:
    world = filled()
    clean(world)
    assert not [name for name in world.disk.list("t-0") if name.endswith(TRANSACTION_INDEX)]


def test_a_damaged_batch_is_not_rewritten_with_a_good_crc() -> None:
    world = compacted()
    for number in range(40):
        put(world, f"k{number % 3}", "v" * 40)
    roll(world)
    before = list(world.part().segments)
    file = world.disk.open(before[0].path(".log"))
    file.write_at(90, b"\xff")  # inside of a value: nothing but the CRC can tell
    clean(world)
    assert world.part().segments == before
    assert (
        world.disk.open(before[0].path(".log")).read(90, 1) == b"\xff"
    )  # the damage is still there to be seen


def test_only_compacted_topics_are_cleaned() -> None:
    world = World(durability="power").start()
    world.topic(configs={**COMPACTED, "cleanup.policy": "delete"})
    more(world, 80)
    clean(world)
    assert len(records(world)) == 80
