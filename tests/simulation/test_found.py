"""Bugs that the simulator found, each as small as it can be told. docs/reliability.md has them with their seeds."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from oncelog.engine.classic.checks import decode_checks, encode_checks
from oncelog.engine.classic.metadata import COPIES
from oncelog.engine.classic.partition import ClassicPartition
from oncelog.engine.memory import MemoryDisk, MemoryFile
from oncelog.engine.port import Appended, Refused
from oncelog.errors import CorruptLog, ErrorCode, OncelogError
from oncelog.model import Acks, Isolation
from oncelog.ports import File
from oncelog.record.batch import HEADER_BYTES, read_header
from oncelog.sim.clients import Fenced
from oncelog.sim.net import Network
from oncelog.sim.plan import draw
from oncelog.sim.story import Stage, Story
from oncelog.sim.two_phases import TwoPhases
from oncelog.sim.world import files_of
from oncelog.tasks import Future, sleep, spawn
from tests.classic_world import Killed, World, batch_of


def is_durable(disk: MemoryDisk, path: str) -> bool:
    """Whether all of the file, and its name, would survive a power cut."""
    parent, name = disk._parent(path)  # pyright: ignore[reportPrivateUsage]
    file = disk.open(path)
    assert isinstance(file, MemoryFile)
    node = file._node  # pyright: ignore[reportPrivateUsage]
    return parent.durable.get(name) is node and node.durable == node.cache and node.changed_from is None


def test_seed_74_a_segment_that_begins_at_the_recovery_point_finds_its_predecessors_indexes_durable() -> None:
    """A checkpoint said "all below 5 is settled" of the active segment, which was true of its log only. The next batch
    rolled at just 5, and the power went: the start began at the new segment and trusted a torn transaction index."""
    world = World(durability="power").start()
    world.topic(configs={"segment.bytes": "1024", "index.interval.bytes": "0"})
    while world.part().segments[-1].size < 900 if world.part().segments else True:
        world.put("x" * 100)
    world.settle(61_000)  # a checkpoint: the recovery point is the log end
    end = world.part().log_end_offset
    assert f"t 0 {end} ".encode() in world.disk.open("recovery-point-offset-checkpoint").read(0, 100)
    seen: list[bool] = []

    def look(what: str, path: str) -> None:
        if what == "create" and path == f"t-0/{end:020}.log":
            seen.extend(
                is_durable(world.memory, f"t-0/{0:020}{suffix}") for suffix in (".index", ".timeindex")
            )

    world.memory.before_change = look
    world.put("y" * 200)
    assert seen == [True, True]


def test_scene_takeover_15_a_segment_made_before_a_kill_has_a_durable_name_before_it_is_used() -> None:
    """Killed between the creation of the first segment and its first batch. The next process took the empty file over
    and synced what it wrote into it, but never the directory: a power cut then lost the file with all it held."""
    world = World(durability="power").start()
    world.topic()
    made: list[str] = []

    def kill(what: str, path: str) -> None:
        if what == "write" and path.endswith(".log") and made:
            raise Killed
        if what == "create" and path.endswith(".log"):
            made.append(path)

    world.memory.before_change = kill
    with pytest.raises(Killed):
        world.put("never written")
    world.crash("process").start()
    world.put("acknowledged")
    assert is_durable(world.memory, made[0])
    world.crash("power").start()
    assert list(world.values().values()) == [b"acknowledged"]


def test_seed_446_a_transaction_whose_beginning_retention_took_is_still_open_after_a_kill() -> None:
    """A start from the first segment left the snapshot at its base out, as Kafka does, and forgot the transaction; the next
    start used a later snapshot and knew it again: the last stable offset went back."""
    world = World(durability="power").start()
    world.topic(configs={"segment.bytes": "1024", "retention.bytes": "1500"})
    world.put_verified(
        batch_of("undecided", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    )
    for _ in range(30):
        world.put("x" * 100)
        world.settle(10)
    world.run(world.engine.run_retention())
    start = world.part().log_start_offset
    assert start > 0
    assert world.part().last_stable_offset == start
    world.crash("process").start()
    assert world.part().last_stable_offset == start
    assert [each.transaction_start_offset for each in world.part().producers()] == [0]


def test_seed_446_segments_go_only_when_the_snapshot_behind_them_is_written() -> None:
    world = World(durability="power").start()
    part = world.topic(configs={"segment.bytes": "1024", "retention.bytes": "0"})
    firsts: set[int] = set()
    for number in range(40):
        world.put("x" * 100, producer_id=7, producer_epoch=0, base_sequence=number)
        start = part.begin_retention()
        if start is not None:
            part.end_retention(start)
        first = part.segments[0].base_offset
        firsts.add(first)
        assert not first or world.memory.exists(f"t-0/{first:020}.snapshot")
    assert len(firsts) > 2


def test_seed_10_a_clean_stop_makes_the_index_of_aborted_transactions_durable() -> None:
    """Of a log of a few batches it was not synced, and a power cut right after the stop tore it."""
    world = World(durability="power").start()
    part = world.topic()
    batch = batch_of("aborted", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    world.put_verified(batch)
    world.run(end_of(part, commit=False))
    world.stop()
    assert is_durable(world.memory, f"t-0/{0:020}.txnindex")
    world.crash("power").start()
    assert world.read(0, committed=True).aborted


def end_of(part: ClassicPartition, *, commit: bool) -> Future[Appended | Refused]:
    return part.append_marker(
        producer_id=7, producer_epoch=0, coordinator_epoch=0, commit=commit, transaction_version=0
    )


def test_seed_10_nothing_is_appended_behind_a_clean_stop() -> None:
    """A marker came when the files were closed: what the stop had written down was no longer true."""
    world = World(durability="power").start()
    part = world.topic()
    stop = spawn(world.loop, world.engine.stop())
    while not world.engine._store.stopped:  # pyright: ignore[reportPrivateUsage]  # there is no other moment
        world.loop.step()
    assert not stop.done()
    late = world.run(end_of(part, commit=False))
    assert late == Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert world.send(batch_of("late")) == Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    world.run(stop)
    world.crash("power").start()
    assert world.part().log_end_offset == 0


def test_seed_42_a_log_start_is_durable_before_anybody_sees_it() -> None:
    """It was raised first and written down then: after a crash in between it went back, and the last stable offset with
    it."""
    world = World(durability="power").start()
    part = world.topic(configs={"segment.bytes": "1024", "retention.bytes": "1500"})
    for _ in range(30):
        world.put("x" * 100)
    seen: list[int] = []
    part.watch(lambda: seen.append(part.log_start_offset))

    def look(what: str, path: str) -> None:
        if "log-start" in path or what == "rename":
            seen.append(part.log_start_offset)

    world.memory.before_change = look
    world.run(part.delete_records(5))
    assert part.log_start_offset == 5
    assert seen[0] == 0
    seen.clear()
    world.run(world.engine.run_retention())
    assert seen[0] == 5
    assert part.log_start_offset > 5


def test_seed_31_a_damaged_last_line_of_the_journal_is_no_torn_one_after_a_clean_stop() -> None:
    """Damaged in both copies: in one it is read in the other (decision 0031)."""
    world = World(durability="power").start()
    world.topic("a")
    world.topic("b")
    world.stop()
    for copy in COPIES:
        file = world.memory.open(copy)
        at = file.size() - 5
        file.write_at(at, bytes([file.read(at, 1)[0] ^ 1]))
    for _ in range(2):  # and it is not forgotten by asking again
        with pytest.raises(CorruptLog, match="no cut has torn it"):
            world.again()


@pytest.mark.parametrize(("byte", "bits"), [(3, b"\x08"), (7, b"\x00")])
def test_seeds_34_and_234_a_batch_that_says_another_offset_is_refused_also_in_a_row_of_reads(
    byte: int, bits: bytes
) -> None:
    """One far away: readers were told that there is nothing more. One before: a record at an offset of another."""
    world = World(durability="power").start()
    world.topic(configs={"segment.bytes": "1024"})
    for _ in range(30):
        world.put("x" * 100)
    second = world.part().segments[0].find(1)
    assert second is not None
    world.stop()
    file = world.memory.open(f"t-0/{0:020}.log")
    assert file.read(second.position, 8) == (1).to_bytes(8, "big")
    file.write_at(second.position + byte, bits)
    world.crash("process").start()
    world.read(0, max_bytes=1)  # the next read begins where this one ended, and asks no index
    with pytest.raises(CorruptLog, match="behind one up to 1"):
        world.read(1, max_bytes=1)


@pytest.mark.parametrize("more", [1, 256])
def test_flips_a_last_batch_that_says_it_is_longer_is_refused_and_not_waited_for(more: int) -> None:
    """The read was answered with nothing, again and again: a consumer would have waited for ever, and a start of the
    coordinator would have taken it for the end of its log and forgotten transactions."""
    world = World(durability="power").start()
    world.topic(configs={"segment.bytes": "1024"})
    for _ in range(12):
        world.put("x" * 100)
    first, second = world.part().segments[:2]
    last = first.find(second.base_offset - 1)
    assert last is not None
    world.stop()
    file = world.memory.open(f"t-0/{0:020}.log")
    file.write_at(last.position + 8, (last.size - 12 + more).to_bytes(4, "big"))
    world.crash("process").start()
    for _ in range(2):
        with pytest.raises(CorruptLog, match=f"a batch of {last.size + more} bytes, {last.size} are left"):
            world.read(last.base_offset, max_bytes=4096)


@pytest.mark.parametrize(
    ("byte", "why"),
    [(42, "does not match its CRC"), (7, "the next one begins at offset"), (0, "the next one begins at")],
    ids=["time", "offset", "offset far below"],
)
def test_flips_seeds_31_and_49_a_batch_found_by_time_is_what_was_written(byte: int, why: str) -> None:
    """The largest time in the header of a batch was believed. Who asked for an offset by time was told a later one, and never
    saw the batch, nor that its CRC is wrong; or was told an offset that the batch does not have."""
    world = World(durability="power").start()
    world.topic(configs={"segment.bytes": "1024"})
    times: list[int] = []
    for _ in range(12):
        times.append(world.clock.wall_ms())
        world.put("x" * 100)
        world.settle(300)
    place = world.part().segments[0].find(2)
    assert place is not None
    world.stop()
    file = world.memory.open(f"t-0/{0:020}.log")
    at = place.position + byte
    file.write_at(at, bytes([file.read(at, 1)[0] ^ 0x84]))
    world.crash("process").start()
    assert world.run(world.part().offset_at(times[0], Isolation.READ_COMMITTED)).offset == 0
    with pytest.raises(CorruptLog, match=why):
        world.run(world.part().offset_at(times[2], Isolation.READ_COMMITTED))


@pytest.mark.parametrize("gapless", [True, False], ids=["", "cleaned"])
def test_flips_a_batch_that_says_it_ends_earlier_is_not_passed_over(gapless: bool) -> None:
    """Its last offset is under its CRC, but who looks for an offset behind it reads headers only: the last batch of a segment
    was taken to end before that offset, and the reader was given what follows."""
    world = World(durability="power").start()
    world.topic(configs={"segment.bytes": "1024"})
    for _ in range(8):
        world.put("x" * 100, "y" * 100)
    first, second = world.part().segments[:2]
    last = first.find(second.base_offset - 1)
    assert last is not None
    world.stop()
    if not gapless:
        checks = world.memory.open(f"t-0/{0:020}.checks")
        found = decode_checks(checks.read(0, checks.size()))
        assert found is not None
        checks.write_at(0, encode_checks(found._replace(gapless=False)))
    file = world.memory.open(f"t-0/{0:020}.log")
    assert file.read(last.position + 23, 4) == bytes([0, 0, 0, 1])
    file.write_at(last.position + 26, b"\0")
    world.crash("process").start()
    with pytest.raises(CorruptLog, match="does not match its CRC"):
        world.read(last.last_offset)


@pytest.mark.parametrize("of", ["__transaction_state", "__consumer_offsets"])
def test_flips_a_coordinator_believes_no_batch_that_does_not_match_its_crc(
    of: str, caplog: pytest.LogCaptureFixture
) -> None:
    """After a clean stop nobody looked at the CRC of what a coordinator loads: a flipped bit in a group's position was that
    group's position, and one in a transaction was its producer or its state."""
    story = Story(12, plan=replace(draw(12), flips=1))
    story.run()
    world = story.world
    disk = world.disk
    disk.remove("transaction-state-checkpoint")
    path = max(
        (each for each in files_of(disk) if each.startswith(of) and each.endswith(".log")),
        key=lambda each: disk.open(each).size(),
    )
    file = disk.open(path)
    header = read_header(file.read(0, HEADER_BYTES))
    file.write_at(
        header.size - 2, bytes([file.read(header.size - 2, 1)[0] ^ 1])
    )  # in the value of its record
    with pytest.raises(OncelogError) as refusal:
        story.invariants._replayed()  # pyright: ignore[reportPrivateUsage]
    assert "does not match its CRC" in f"{refusal.value} {caplog.text}"


@pytest.mark.parametrize("dice", range(6))
def test_seed_7001271_what_a_stop_that_did_not_end_leaves_is_not_taken_for_durable(dice: int) -> None:
    """It wrote the producers' snapshot in place and was killed before the sync. The log then rolled just there, so starts
    began with that file; nobody ever synced it, and nobody wrote another. When the segment before it was gone, a
    power cut tore it: who had written only there was forgotten, and what it sent again was taken for new."""
    for changes in range(1, 100):
        world = World(seed=dice, durability="power").start()
        world.topic(configs={"segment.bytes": "1024"})
        sent = [
            batch_of("x" * 100, producer_id=7, producer_epoch=0, base_sequence=number) for number in range(4)
        ]
        for batch in sent:
            world.send(batch)
        world.settle(61_000)  # a checkpoint: the recovery point is the log end
        if not world.stop_short(changes):
            break
        world.crash("process").start()

        def kill(what: str, path: str) -> None:
            if what == "create" and (".snapshot" in path or ".batches" in path):
                raise Killed

        world.memory.before_change = kill
        world.part().append(batch_of("y" * 900), acks=Acks.LEADER)
        with pytest.raises(Killed):
            world.settle()
        world.crash("process").start()
        assert [segment.base_offset for segment in world.part().segments] == [0, 4]
        assert world.run(world.part().delete_records(4)) is ErrorCode.NONE
        assert [segment.base_offset for segment in world.part().segments] == [4]
        world.crash("power").start()
        for number, batch in enumerate(sent):
            again = world.send(batch)
            assert isinstance(again, Appended)
            assert (again.duplicate, again.base_offset) == (True, number)
    else:
        raise AssertionError("the stop does not end")
    assert changes > 10


class LateInit(Stage):
    """Who prepares gives up waiting for its id and asks again elsewhere; what it had asked first comes when it has prepared."""

    handed_over = False

    async def _play(self) -> None:
        await self._create_topics()
        loop, network = self.world.loop, self.world.network
        phases = TwoPhases(self.world, self.history, Random(0), "two0")
        network.stall, network.stall_ms = 1.0, (2_400.0, 2_400.0)  # it waits for 2,000
        loop.call_later(1_000.0, lambda: setattr(network, "stall", 0.0))
        comes_ms = loop.now_ms + 2_400.0
        await phases.prepare({"pay-0": 2})
        assert loop.now_ms < comes_ms
        await sleep(loop, 700.0)
        assert loop.now_ms > comes_ms + 100.0
        try:
            await phases.take_over()
            await phases.end(commit=True)
            self.handed_over = True
        except Fenced:
            await phases.clear()
        await self._finish()


@pytest.mark.parametrize("profile", ["core", "wire"])
@pytest.mark.parametrize("refuse", ["true", "false"])
def test_seed_7013328_a_late_init_of_who_prepared_aborts_nothing(profile: str, refuse: str) -> None:
    """The end of its stream is behind it, and the broker looks (decision 0010). With the guard off it aborts, as in Kafka."""
    plan = draw(0)
    settings = {
        **plan.settings,
        "transaction.version": "2",
        "transaction.two.phase.commit.enable": "true",
        "transaction.late.requests.refuse": refuse,
    }
    tale = LateInit(
        "late init", profile, replace(plan, settings=settings, network=Network(), slow_disk_ms=4.0)
    )
    tale.run()
    assert tale.handed_over == (refuse == "true")


def test_what_is_appended_while_a_sync_is_under_way_waits_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The simulator's disk made durable what was there when a sync ended, and fdatasync promises only what was there when it
    was called: a broker that believed in more was noticed by one seed in 25."""
    world = World(durability="power").start()
    world.topic()
    world.put("first of all")
    world.memory.set_dice(Random(0), "lost")
    begun: list[int] = []
    sync = MemoryDisk.sync

    def noted(disk: MemoryDisk, files: Sequence[File]) -> Future[None]:
        begun.append(len(files))
        return sync(disk, files)

    monkeypatch.setattr(MemoryDisk, "sync", noted)
    first = world.part().append(batch_of("before"), acks=Acks.ALL)
    while not begun:
        world.loop.step()
    second = world.part().append(batch_of("meanwhile"), acks=Acks.ALL)
    while not first.done():
        world.loop.step()
    assert not second.done()
    assert world.part().state.high_watermark == 2
    world.crash("power").start()
    assert list(world.values().values()) == [b"first of all", b"before"]
