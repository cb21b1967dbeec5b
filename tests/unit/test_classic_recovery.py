"""What a start finds after a crash: torn ends are cut, damage is refused, state is rebuilt (spec 5.1, reliability 4)."""

import json

import pytest

from oncelog.engine.classic.caches import BATCHES
from oncelog.engine.classic.checkpoints import CLEAN_SHUTDOWN
from oncelog.engine.classic.metadata import COPIES, JOURNAL, encode_line
from oncelog.engine.classic.segment import (
    LOG,
    OFFSET_INDEX,
    SNAPSHOT,
    TIME_INDEX,
    TRANSACTION_INDEX,
    file_name,
)
from oncelog.engine.port import AbortedTransaction, Appended, Refused
from oncelog.errors import CorruptLog, ErrorCode
from oncelog.model import Acks, Isolation, Origin
from oncelog.record.batch import NewRecord, build_batch
from tests.classic_world import Killed, World, batch_of

FIRST_LOG = f"t-0/{file_name(0, LOG)}"


def content(world: World, path: str) -> bytes:
    file = world.disk.open(path)
    return file.read(0, file.size())


def replace(world: World, path: str, data: bytes) -> None:
    file = world.disk.open(path, create=True)
    file.truncate(0)
    file.append((data,))


def files(world: World) -> dict[str, bytes]:
    return {name: content(world, f"t-0/{name}") for name in world.disk.list("t-0")}


def three_batches() -> tuple[World, bytes, int]:
    """A world that crashed with three batches of one record, its log, and where the last one begins."""
    world = World().start()
    world.topic()
    for value in ("a", "b"):
        world.put(value)
    size = world.part().size_bytes
    world.put("c")
    data = content(world, FIRST_LOG)
    return world.crash("process"), data, size


def test_rec_2_torn_tail_is_cut_at_every_byte_of_the_last_batch() -> None:
    _, data, last = three_batches()
    for size in range(last, len(data)):
        world, _, _ = three_batches()
        replace(world, FIRST_LOG, data[:size])
        world.start()
        assert world.values() == {0: b"a", 1: b"b"}
        assert world.part().size_bytes == last
        assert world.put("again").base_offset == 2


def test_rec_2_a_changed_byte_of_an_unacknowledged_batch_cuts_it_off() -> None:
    _, data, last = three_batches()
    for at in range(last, len(data)):
        world, _, _ = three_batches()
        replace(world, FIRST_LOG, data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        world.start()
        assert world.part().log_end_offset == 2, at
        assert world.values() == {0: b"a", 1: b"b"}


def test_rule_4_damage_below_the_recovery_point_is_refused_and_named() -> None:
    """Never a shorter log without an error (J16): at each byte, the same records or a refusal that says where."""
    world = World().start()
    world.topic()
    for value in ("a", "b"):
        world.put(value)
    world.stop()
    data = content(world, FIRST_LOG)
    world.disk.remove(CLEAN_SHUTDOWN)
    for at in range(len(data)):
        replace(world, FIRST_LOG, data[:at] + bytes([data[at] ^ 0xD5]) + data[at + 1 :])
        with pytest.raises(
            CorruptLog, match=rf"{FIRST_LOG} at position {0 if at < len(data) // 2 else len(data) // 2}"
        ):
            world.again()
    replace(world, FIRST_LOG, data)
    world.again()
    assert world.values() == {0: b"a", 1: b"b"}


def test_b52_a_log_shorter_than_the_recovery_point_is_refused() -> None:
    world = World().start()
    world.topic()
    for value in ("a", "b"):
        world.put(value)
    world.stop()
    data = content(world, FIRST_LOG)
    world.disk.remove(CLEAN_SHUTDOWN)
    replace(world, FIRST_LOG, data[: len(data) // 2])
    with pytest.raises(CorruptLog, match="ends: at offset 1, wanted all below the recovery point 2"):
        world.again()
    world.disk.remove(FIRST_LOG)
    with pytest.raises(CorruptLog, match="no segment is left"):
        world.again()
    world.disk.remove("t-0")
    with pytest.raises(CorruptLog, match="t-0 is missing"):
        world.again()


@pytest.mark.parametrize(
    ("bit", "why"),
    [(1, r"offsets 2\.\.2, wanted 3 or more"), (4, "ends at offset 8, wanted 4: a clean stop said so")],
)
def test_a_last_batch_whose_base_offset_flipped_is_refused_after_a_clean_stop(bit: int, why: str) -> None:
    """Base offsets are not under the CRC (seeds 3000607, 4748)."""
    world = World().start()
    world.topic()
    for value in ("a", "b", "c", "d"):
        world.put(value)
    world.stop()
    data = bytearray(content(world, FIRST_LOG))
    last = len(data) // 4 * 3
    assert data[last : last + 8] == (3).to_bytes(8, "big")
    data[last + 7] ^= bit
    replace(world, FIRST_LOG, bytes(data))
    world.again()
    with pytest.raises(CorruptLog, match=why):
        world.values()


def test_b51_the_clean_shutdown_file_goes_before_anything_is_changed() -> None:
    world = World().start()
    world.topic()
    world.put("a")
    world.stop()
    assert world.disk.exists(CLEAN_SHUTDOWN)
    changes: list[tuple[str, str]] = []
    world.memory.before_change = lambda what, path: changes.append((what, path))
    world.again()
    assert changes[:2] == [("remove", CLEAN_SHUTDOWN), ("sync directory", "")]
    assert len(changes) > 2


def everything(world: World) -> dict[str, bytes | None]:
    """All files and directories, and what is in them."""
    found: dict[str, bytes | None] = {}
    for name in world.disk.list(""):
        if world.memory.is_directory(name):
            found[name] = None
            found |= {f"{name}/{each}": content(world, f"{name}/{each}") for each in world.disk.list(name)}
        else:
            found[name] = content(world, name)
    return found


def half_done() -> World:
    """A killed broker with all that a start would do: a torn end, an unreadable snapshot, a deletion and a swap half done, what
    belongs to no topic; and a second topic, after them in order, with a durable log."""
    world = World(durability="power", settings={"log.flush.offset.checkpoint.interval.ms": "100"}).start()
    world.topic(configs={"segment.bytes": "1024"})
    for number in range(20):
        world.put("x" * 100, producer_id=1, producer_epoch=0, base_sequence=number)
    world.topic("u")
    world.run(world.part("u").append(batch_of("y"), acks=Acks.ALL))
    world.topic("gone")
    deleted = encode_line({"deleted": "gone", "id": world.engine.topics["gone"].id.hex()})
    world.settle(500)
    world.put("z", producer_id=1, producer_epoch=0, base_sequence=20)
    bases = [segment.base_offset for segment in world.part().segments]
    last = f"t-0/{file_name(bases[-1], LOG)}"
    world.crash("process")
    replace(world, last, content(world, last)[:-3])
    replace(world, f"t-0/{file_name(bases[-1], SNAPSHOT)}", b"torn")
    replace(world, f"t-0/{file_name(bases[-1], TIME_INDEX)}", b"torn")
    for suffix in (LOG, OFFSET_INDEX, TIME_INDEX):
        path = f"t-0/{file_name(bases[1], suffix)}"
        replace(world, f"{path}.swap", content(world, path))
    names = " ".join(file_name(base, "") for base in bases[1:2])
    replace(
        world, f"t-0/{file_name(bases[1], '.replaces.swap')}", f"{names}\n.index .timeindex .log\n".encode()
    )
    replace(world, f"t-0/{file_name(bases[1], '.log.cleaned')}", b"of a cleaner that was killed")
    for name in COPIES:
        replace(world, name, content(world, name) + deleted)
    world.disk.make_directory("other-3")
    replace(world, f"other-3/{file_name(0, LOG)}", b"?")
    return world


def test_a_start_that_is_refused_changes_no_file() -> None:
    world = half_done()
    log = f"u-0/{file_name(0, LOG)}"
    whole = content(world, log)
    replace(world, log, whole[:-1] + bytes([whole[-1] ^ 1]))
    before = everything(world)
    changes: list[tuple[str, str]] = []
    world.memory.before_change = lambda what, path: changes.append((what, path))
    for _ in range(2):
        with pytest.raises(CorruptLog, match=r"u-0/0+\.log at position 0"):
            world.again()
        assert everything(world) == before
    assert changes == []
    # Mended, it does all of it.
    replace(world, log, whole)
    world.again()
    names = world.disk.list("t-0")
    assert not any(name.endswith((".swap", ".cleaned")) for name in names)
    assert not world.disk.exists("gone-0")
    assert not world.disk.exists("other-3")
    assert [*world.values()] == list(range(20))
    assert world.put("z", producer_id=1, producer_epoch=0, base_sequence=20).base_offset == 20
    assert world.crash("process").start().part().log_end_offset == 21


def test_a_partition_that_is_refused_when_it_is_first_asked_for_is_left_as_it_was() -> None:
    """After a clean stop its files are read when somebody comes."""
    world = World(durability="power").start()
    world.topic(configs={"segment.bytes": "1024"})
    for number in range(20):
        world.put("x" * 100, producer_id=1, producer_epoch=0, base_sequence=number)
    base = world.part().segments[-1].base_offset
    world.stop()
    replace(world, f"t-0/{file_name(20, SNAPSHOT)}", b"unreadable, so it is dropped")
    path = f"t-0/{file_name(base, LOG)}"
    replace(world, path, content(world, path)[:-150])
    world.again()
    before = files(world)
    for _ in range(2):
        with pytest.raises(CorruptLog):
            _ = world.part().log_end_offset
        assert files(world) == before


def test_rec_1_a_clean_start_reads_no_log_data_and_an_unclean_one_checks_it() -> None:
    world = World().start()
    world.topic()
    for value in range(50):
        world.put(str(value) * 100)
    world.stop()
    data = content(world, FIRST_LOG)
    replace(world, FIRST_LOG, data[:100] + b"?" + data[101:])  # damage that only reading finds
    world.again()
    assert world.part().log_end_offset == 50
    assert world.put("next").base_offset == 50
    with pytest.raises(CorruptLog):
        world.again()


def test_rec_1_missing_or_insane_indexes_are_rebuilt() -> None:
    both = (OFFSET_INDEX, TIME_INDEX)
    for broken, which in (
        (None, both),
        (b"odd", both),
        (b"odd", both[:1]),
        (b"odd", both[1:]),
        (b"\xff" * 24, both),
        (b"\xff" * 24, both[:1]),
        (b"\xff" * 24, both[1:]),
    ):
        world = World().start()
        world.topic(configs={"index.interval.bytes": "0"})
        for value in "abcdef":
            world.put(value * 1000)
        world.stop()
        for suffix in which:
            assert content(world, f"t-0/{file_name(0, suffix)}")
            if broken is None:
                world.disk.remove(f"t-0/{file_name(0, suffix)}")
            else:
                replace(world, f"t-0/{file_name(0, suffix)}", broken)
        world.again()
        assert world.values() == {at: value.encode() * 1000 for at, value in enumerate("abcdef")}


@pytest.mark.parametrize("stopped_by", ["us", "who left old files"])
def test_seeds_698_and_1865_index_files_of_an_older_stop_are_not_believed(stopped_by: str) -> None:
    """A log that had shrunk to a few batches was stopped without index files, for it is its own; those of a stop before were still there. After
    the next start its newest time was that of then: retention by time deleted too early, and lookups by time missed what came since."""
    world = World().start()
    world.topic(configs={"segment.bytes": "1024"})
    for _ in range(2):
        world.put("x" * 700)
    world.stop()
    left_behind = content(world, f"t-0/{file_name(1, TIME_INDEX)}")
    world.again()
    world.run(world.part().delete_records(1))
    world.settle(120_000)
    world.put("newer")
    world.stop()
    assert [name for name in files(world) if name.endswith(LOG)] == [file_name(1, LOG)]
    if stopped_by != "us":
        replace(world, f"t-0/{file_name(1, TIME_INDEX)}", left_behind)
    else:
        assert content(world, f"t-0/{file_name(1, TIME_INDEX)}") != left_behind
    world.again()
    assert world.run(world.part().offset_at(-3, Isolation.READ_UNCOMMITTED)).offset == 2


def test_rec_2_all_indexes_come_out_of_recovery_as_a_clean_stop_writes_them() -> None:
    stopped, crashed = World(seed=3).start(), World(seed=3).start()
    for world in (stopped, crashed):
        world.topic(configs={"segment.bytes": "1200", "index.interval.bytes": "200"})
        fill_with_transactions(world)
    stopped.stop()
    crashed.crash("process").start().stop()
    for world in (stopped, crashed):
        world.again().stop()
    left, right = files(stopped), files(crashed)
    del left["leader-epoch-checkpoint"], right["leader-epoch-checkpoint"]  # one start more
    assert left == right
    assert any(name.endswith(TRANSACTION_INDEX) for name in left)
    assert sum(name.endswith(LOG) for name in left) > 3


def fill_with_transactions(world: World) -> None:
    part = world.part()
    for round_number in range(11):
        for producer_id in (7, 8):
            batch = batch_of(
                "x" * 100, now=world.clock.wall_ms(), producer_id=producer_id, producer_epoch=0,
                base_sequence=round_number, transactional=True,
            )  # fmt: skip
            world.put_verified(batch)
        world.put("plain", producer_id=9, producer_epoch=1, base_sequence=round_number)
        if round_number % 3 != 1:
            for producer_id in (8, 7):
                end = part.append_marker(
                    producer_id=producer_id, producer_epoch=0, coordinator_epoch=2,
                    commit=round_number % 3 == 0 and producer_id == 7, transaction_version=1,
                )  # fmt: skip
                assert isinstance(world.run(end), Appended)


def test_replay_equals_live_state_after_any_crash() -> None:
    """Invariant 13, with several segments, open transactions and snapshots."""
    world = World(seed=5).start()
    world.topic(configs={"segment.bytes": "2000"})
    fill_with_transactions(world)
    live = world.part().state
    expected = {
        each: producer.as_tuple()[:2] + producer.as_tuple()[3:] for each, producer in live.producers.items()
    }
    lso, end = world.part().last_stable_offset, world.part().log_end_offset
    assert lso < end
    committed, aborted = world.values(committed=True), world.read(committed=True).aborted
    world.crash("process").start()
    found = world.part().state.producers
    assert {
        each: producer.as_tuple()[:2] + producer.as_tuple()[3:] for each, producer in found.items()
    } == expected
    assert {each: producer.last_sequence for each, producer in found.items()} == {7: 10, 8: 10, 9: 10}
    assert (world.part().last_stable_offset, world.part().log_end_offset) == (lso, end)
    assert world.values(committed=True) == committed
    assert world.read(committed=True).aborted == aborted
    assert aborted


def after_seven_batches(how: str) -> World:
    world = World().start()
    world.topic()
    for sequence in range(7):
        put = world.put(str(sequence), producer_id=5, producer_epoch=0, base_sequence=sequence)
        assert put.base_offset == sequence
    if how == "kill":
        return world.crash("process").start()
    world.stop()
    if how == "stop, as Kafka would find it":
        world.disk.remove(f"t-0/{file_name(7, BATCHES)}")
    if how == "stop, with a broken cache":
        replace(world, f"t-0/{file_name(7, BATCHES)}", b"broken in a way that no CRC fits")
    return world.again()


@pytest.mark.parametrize(
    ("how", "known"),
    [("kill", 5), ("stop", 5), ("stop, as Kafka would find it", 1), ("stop, with a broken cache", 1)],
)
def test_rec_7_duplicates_are_known_after_a_restart(how: str, known: int) -> None:
    """FMT-5: Kafka's snapshot holds the last batch only. Ours holds all five beside it."""
    for sequence in range(7):
        world = after_seven_batches(how)
        batch = batch_of(
            str(sequence), now=world.clock.wall_ms(), producer_id=5, producer_epoch=0, base_sequence=sequence
        )
        again = world.send(batch)
        if sequence >= 7 - known:
            assert isinstance(again, Appended)
            assert (again.duplicate, again.base_offset) == (True, sequence)
        else:
            assert isinstance(again, Refused)
            assert again.error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert world.put("7", producer_id=5, producer_epoch=0, base_sequence=7).base_offset == 7
        assert len(world.values()) == 8


def test_rec_7_the_cache_of_a_transactional_producer_outlives_its_marker() -> None:
    world = World().start()
    world.topic()
    sent: list[bytes] = []
    for sequence in range(3):
        sent.append(
            batch_of(
                str(sequence),
                now=world.clock.wall_ms(),
                producer_id=5,
                producer_epoch=0,
                base_sequence=sequence,
                transactional=True,
            )
        )
        world.put_verified(sent[-1])
    world.settle(100)
    end = world.part().append_marker(
        producer_id=5, producer_epoch=0, coordinator_epoch=0, commit=True, transaction_version=1
    )
    assert isinstance(world.run(end), Appended)
    before = world.part().state.producers[5].as_tuple()
    world.stop()
    world.again()
    assert world.part().state.producers[5].as_tuple() == before
    again = world.send(sent[0])
    assert isinstance(again, Appended)
    assert (again.duplicate, again.base_offset) == (True, 0)


def test_rec_4_a_broken_snapshot_is_dropped_and_the_log_replayed() -> None:
    world = World().start()
    world.topic()
    world.put("a", producer_id=5, producer_epoch=0, base_sequence=0)
    world.stop()
    path = f"t-0/{file_name(1, SNAPSHOT)}"
    data = content(world, path)
    replace(world, path, data[:-1] + b"?")
    world.again()
    assert world.put("a", producer_id=5, producer_epoch=0, base_sequence=0).duplicate
    assert not world.disk.exists(path)


def test_rec_3_every_start_begins_a_leader_epoch_at_the_log_end() -> None:
    world = World().start()
    world.topic()
    world.put("a")
    for clean in (True, False, True):
        if clean:
            world.stop()
            world.again()
        else:
            world.crash("process").start()
        world.put("b")
    world.stop()
    world.again()
    part = world.part()
    assert part.leader_epoch == 4
    assert [part.epoch_end(epoch) for epoch in range(-1, 6)] == [
        (-1, -1), (0, 1), (1, 2), (2, 3), (3, 4), (4, 4), (-1, -1),
    ]  # fmt: skip
    assert world.engine.topics["t"].partitions[0].leader_epoch == 4
    world.run(world.engine.create_topic("new", 1, {}))
    assert world.part("new").leader_epoch == 0


def test_orphans_and_half_written_files_go() -> None:
    world = World().start()
    world.topic()
    world.put("a")
    world.crash("process")
    for name in ("5.index", "5.timeindex", "5.txnindex"):
        replace(world, f"t-0/{file_name(5, name[1:])}", b"x")
    for name in (
        file_name(9, LOG) + ".deleted",
        file_name(0, LOG) + ".cleaned",
        "leader-epoch-checkpoint.tmp",
    ):
        replace(world, f"t-0/{name}", b"x")
    world.start()
    assert world.disk.list("t-0") == [file_name(0, LOG), "partition.metadata"]
    assert world.values() == {0: b"a"}


def test_aborted_list_after_recovery_is_rebuilt_when_the_index_is_lost() -> None:
    world = World().start()
    world.topic()
    world.put_verified(
        batch_of(
            "x",
            now=world.clock.wall_ms(),
            producer_id=7,
            producer_epoch=0,
            base_sequence=0,
            transactional=True,
        ),
    )
    world.run(
        world.part().append_marker(
            producer_id=7, producer_epoch=0, coordinator_epoch=0, commit=False, transaction_version=1
        )
    )
    world.crash("process")
    world.disk.remove(f"t-0/{file_name(0, TRANSACTION_INDEX)}")
    world.start()
    assert world.read(committed=True).aborted == (AbortedTransaction(7, 0),)
    assert world.read(1, committed=True).aborted == (AbortedTransaction(7, 0),)


def test_recovery_closes_the_indexes_that_it_writes() -> None:
    """Found by simulator seeds 15, 22 and 27: the descriptors stayed open, also of files that were deleted since."""
    world = World().start()
    world.topic(configs={"segment.bytes": "1024"})
    for value in range(30):
        world.put(str(value) * 50)
    assert len(world.part().segments) > 3
    world.crash("process")
    world.start()
    world.settle()
    left = [
        path for path in world.memory.opened.values() if path.endswith((".index", ".timeindex", ".checks"))
    ]
    assert left == []


def test_a_segment_behind_a_cut_goes_too() -> None:
    world = World().start()
    world.topic(configs={"segment.bytes": "1024"})
    for value in range(30):
        world.put(str(value) * 50)
    bases = [segment.base_offset for segment in world.part().segments]
    assert len(bases) > 3
    world.crash("process")
    path = f"t-0/{file_name(bases[2], LOG)}"
    data = content(world, path)
    replace(world, path, data[:-1])
    world.start()
    assert world.part().log_end_offset == bases[3] - 1
    assert [segment.base_offset for segment in world.part().segments] == bases[:3]
    assert list(world.values()) == list(range(bases[3] - 1))
    # cut exactly between two batches: nothing looks torn, but the next segment does not follow
    world.crash("process")
    replace(world, path, b"")
    replace(world, f"t-0/{file_name(bases[3], LOG)}", data)
    world.start()
    assert world.part().log_end_offset == bases[2]
    assert [segment.base_offset for segment in world.part().segments] == bases[:3]


def two_topics() -> World:
    world = World().start()
    world.topic("a")
    world.topic("b", configs={"segment.bytes": "2048"})
    return world


TORN = (b'0123abcd {"topic": "c', b"\0" * 30, b'0123abcd {"top\0\0\0\0\0"}\n', b"\xd5\n\xaa\n" + b"\0" * 7)


@pytest.mark.parametrize("torn", TORN)
@pytest.mark.parametrize("other", [b"", *TORN])
def test_a_line_of_the_journal_that_is_torn_in_both_copies_is_cut(torn: bytes, other: bytes) -> None:
    world = two_topics().crash("process")
    for name, end in zip(COPIES, (torn, other), strict=True):
        replace(world, name, content(world, name) + end)
    world.start()
    assert sorted(world.engine.topics) == ["a", "b"]
    assert content(world, JOURNAL) == content(world, COPIES[1])


@pytest.mark.parametrize("clean", [True, False], ids=["after a clean stop", "after a kill"])
@pytest.mark.parametrize("copy", COPIES)
def test_a_flipped_bit_in_one_copy_of_the_journal_is_mended(copy: str, clean: bool) -> None:
    """The last line says each of the things that a journal can say; nothing of it is lost."""
    for last in ("topic", "configs", "producer ids", "deletion"):
        world = two_topics()
        if last == "topic":
            world.topic("c", 2)
        elif last == "configs":
            world.run(world.engine.set_topic_configs("b", {"segment.bytes": "4096"}))
        elif last == "producer ids":
            world.run(world.engine.claim_producer_ids(1000))
        else:
            world.run(world.engine.delete_topic("a"))
        if clean:
            world.stop()
        world.crash("process")
        before, wanted = everything(world), None
        whole = content(world, copy)
        lines = whole.split(b"\n")
        first = len(whole) - len(lines[-2]) - 1
        for bit in (None, *range(8 * first, 8 * len(whole), 3), *range(0, 8 * first, 31)):
            world = World()
            for name, data in before.items():
                if data is None:
                    world.disk.make_directory(name)
                else:
                    replace(world, name, data)
            if bit is not None:
                changed = bytearray(whole)
                changed[bit // 8] ^= 1 << bit % 8
                replace(world, copy, bytes(changed))
            world.start()
            found = (
                {
                    name: (each.id, len(each.partitions), each.configs)
                    for name, each in world.engine.topics.items()
                },
                world.run(world.engine.claim_producer_ids(1)),
            )
            wanted = wanted or found
            assert found == wanted, (last, bit)
            assert content(world, JOURNAL) == content(world, COPIES[1])


def test_the_journal_refuses_damage_that_no_cut_can_have_made() -> None:
    world = two_topics().crash("process")
    journal = content(world, JOURNAL)

    def refused(match: str, *texts: bytes | None) -> None:
        for name, data in zip(COPIES, texts, strict=True):
            world.disk.remove(name)
            if data is not None:
                replace(world, name, data)
        for _ in range(2):  # and it is not forgotten by asking again
            with pytest.raises(CorruptLog, match=match):
                world.again()

    def damaged(word: bytes) -> bytes:
        at = journal.index(word)
        return journal[:at] + b"X" + journal[at + 1 :]

    one, last = damaged(b'"topic":"a"'), damaged(b'"topic":"b"')
    refused("line 3 does not match its CRC, but line 4 does", one, one)
    refused("line 2 does not match its CRC, and starts replace", damaged(b'"producer_ids"'), None)
    refused("line 1 does not match", b"", b"")
    refused("no cut has torn it", last, None)  # this broker writes two copies
    third = journal.split(b"\n")[2] + b"\n"
    other = encode_line({**json.loads(third[9:]), "topic": "c"})
    refused("line 3 is another one", journal, journal.replace(third, other))
    refused("journal is missing", None, None)
    replace(world, JOURNAL, last)
    replace(world, COPIES[1], last)
    world.again()  # may have been torn: nobody was answered
    assert sorted(world.engine.topics) == ["a"]
    world.stop()
    journal = content(world, JOURNAL)
    last = damaged(b'"topic":"a"')
    refused("no cut has torn it", last, last)


def test_a_start_that_was_cut_between_the_copies_of_the_journal_lost_nothing() -> None:
    changed = 0
    for changed in range(1, 40):
        world = two_topics().crash("process")
        left = changed

        def count(*_: str) -> None:
            nonlocal left
            left -= 1
            if not left:
                raise Killed

        world.memory.before_change = count
        try:
            world.start()
        except Killed:
            pass
        else:
            break
        world.crash("power").start()
        assert sorted(world.engine.topics) == ["a", "b"]
    assert 10 < changed < 39


def test_a_damaged_new_copy_of_the_journal_gives_way_to_the_old_one_beside_it() -> None:
    world = two_topics().crash("process")
    old = content(world, JOURNAL)
    world.start().crash("process")
    new = content(world, JOURNAL)
    assert new != old
    at = new.index(b'"topic":"b"')
    replace(world, JOURNAL, new[:at] + b"X" + new[at + 1 :])
    replace(world, COPIES[1], old + b"torn")
    world.start()
    assert sorted(world.engine.topics) == ["a", "b"]


def test_a_directory_of_before_has_one_copy_and_its_torn_line_is_cut() -> None:
    world = two_topics().crash("process")
    head, _, rest = content(world, JOURNAL).partition(b"\n")
    head = encode_line({"starts": json.loads(head[9:])["starts"]})
    for end, left in ((b"", ["a", "b"]), (b"torn", ["a", "b"])):
        world.crash("process")
        replace(world, JOURNAL, head + rest + end)
        world.disk.remove(COPIES[1])
        world.start()
        assert sorted(world.engine.topics) == left
        assert content(world, JOURNAL) == content(world, COPIES[1])
    # A broker of before went on with it, and knows nothing of the other copy.
    world.topic("c")
    world.crash("process")
    starts = json.loads(content(world, JOURNAL).partition(b"\n")[0][9:])["starts"]
    replace(world, JOURNAL, encode_line({"starts": starts + 1}) + rest + b"torn")
    world.start()
    assert sorted(world.engine.topics) == ["a", "b"]


def test_trap_14_producer_ids_are_never_given_twice() -> None:
    world = World().start()
    assert world.run(world.engine.claim_producer_ids(1000)) == range(1000)
    world.crash("power").start()
    assert world.run(world.engine.claim_producer_ids(1000)) == range(1000, 2000)
    world.stop()
    world.again()
    assert world.run(world.engine.claim_producer_ids(10)) == range(2000, 2010)


def test_coordinator_batches_skip_the_checks_of_clients() -> None:
    world = World().start()
    world.topic()
    # As the group coordinator writes transactional offsets; a client that sends such a batch is refused.
    batch = batch_of("a", producer_id=3, producer_epoch=0, base_sequence=-1)
    assert isinstance(world.send(batch), Refused)
    found = world.send(batch, origin=Origin.COORDINATOR)
    assert isinstance(found, Appended)
    again = world.send(batch, origin=Origin.COORDINATOR)
    assert isinstance(again, Appended)
    assert again.base_offset == 1


@pytest.mark.parametrize("seed", range(8))
def test_what_was_deleted_before_it_was_durable_is_gone_and_a_stop_still_works(seed: int) -> None:
    """durability=process and a power cut: the log start is durable, the log below it is not."""
    world = World(seed=seed).start()
    world.topic(configs={"segment.bytes": "1024"})
    for number in range(12):
        world.put(f"{number}" + "x" * 200)
    assert world.run(world.part().delete_records(12)) is ErrorCode.NONE
    world.put("later")
    world.crash("power").start()
    assert world.part().log_start_offset == 12
    assert world.values() in ({}, {12: b"later"})
    world.stop()
    world.again()
    assert world.put("on").base_offset == max(world.values(), default=12)


def test_a_snapshot_that_a_kill_prevented_is_made_up_for_before_the_segments_below_are_cleaned() -> None:
    """Else a later start would take the first record that cleaning left for the first of its transaction."""
    world = World().start()
    part = world.topic(configs={"segment.bytes": "1024", "cleanup.policy": "compact"})
    for sequence in range(3):
        record = NewRecord(b"key", b"x" * 400, world.clock.wall_ms())
        world.put_verified(
            build_batch([record], producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=True)
        )
    world.run(
        part.append_marker(
            producer_id=7, producer_epoch=0, coordinator_epoch=0, commit=False, transaction_version=0
        )
    )
    world.stop()
    world.again()
    snapshot = f"t-0/{file_name(2, SNAPSHOT)}"
    world.disk.remove(snapshot)
    world.crash("process").start()
    assert world.disk.exists(snapshot)
    before = [entry for segment in world.part().segments for entry in segment.aborted()]
    assert [(entry.producer_id, entry.first_offset, entry.last_offset) for entry in before] == [(7, 0, 3)]
    world.run(world.engine.run_cleaner("t", 0))
    assert world.part().segments[0].size < 400
    world.crash("process").start()
    assert [entry for segment in world.part().segments for entry in segment.aborted()] == before


@pytest.mark.parametrize("seed", range(6))
def test_a_stop_that_is_cut_short_tears_no_snapshot_that_was_there(seed: int) -> None:
    """It ends with the last roll of a quiet log, and holds all that is known of producers whose records retention took.
    The stop writes it again: beside it, and in its place only when it is durable."""
    for changes in range(1, 100):
        world = World(seed=seed, durability="power").start()
        world.topic(configs={"retention.ms": "1000"})
        sent = [batch_of("x", producer_id=7, producer_epoch=0, base_sequence=number) for number in range(3)]
        for batch in sent:
            world.send(batch)
        world.settle(2000)
        world.run(world.engine.run_retention())
        assert [segment.base_offset for segment in world.part().segments] == [3]
        if not world.stop_short(changes):
            break
        world.crash("power").start()
        for number, batch in enumerate(sent):
            again = world.send(batch)
            assert isinstance(again, Appended)
            assert (again.duplicate, again.base_offset) == (True, number)
    else:
        raise AssertionError("the stop does not end")
    assert changes > 10
