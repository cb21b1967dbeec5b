"""Nineteen fixed scenes, and a crash at every change of the disk in each of them, also inside the recovery that follows.

A scene is played once without faults to count the changes of the disk: writes, syncs, creations, renames. Then it is
played again for each of them with a crash just before it, and each time with another outcome: the process is killed, or
the power is cut and the dice of the disk decide what of the unsynced bytes is left. Clients go on as real ones do.
"""

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal

from oncelog.engine.memory import Loss
from oncelog.sim.clients import (
    TV0,
    TV1,
    TV2,
    Defect,
    Fenced,
    MustAbort,
    Producer,
    Protocol,
    Reader,
    Session,
    delete_records,
    fetch_offsets,
)
from oncelog.sim.history import Seek
from oncelog.sim.net import Network, Unreachable
from oncelog.sim.plan import GROUP, IN, MAP, OLD, OUT, PAY, Plan
from oncelog.sim.story import Stage
from oncelog.sim.two_phases import TwoPhases
from oncelog.sim.world import Machine
from oncelog.tasks import Future, Task, sleep, within

Kept = Literal["process", "power"]
Dice = int | Literal["lost", "kept", "names"]
"""What a power cut leaves: one of many rolls, or what is named (engine.memory.Loss)."""
TRIES: Final = 30
MONTH_MS: Final = 30 * 86_400_000  # longer than the longest timeout, which is that of two phases: 2^31 - 1 ms
BASE: Final = {
    "durability": "power",
    "log.segment.bytes": "65536",
    "log.index.interval.bytes": "0",
    "log.flush.offset.checkpoint.interval.ms": "60",
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "150",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "400",
    "log.cleaner.backoff.ms": "60000",
    "log.retention.check.interval.ms": "60000",
    "log.cleaner.min.cleanable.ratio": "0.01",
}


@dataclass(frozen=True, slots=True)
class Scene:
    """What happens, and on which broker."""

    name: str
    play: "Callable[[Play], Coroutine[Any, Any, None]]"
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    topics: Mapping[str, tuple[int, dict[str, str]]] = field(
        default_factory=lambda: {PAY: (2, dict[str, str]()), OUT: (1, dict[str, str]())}
    )
    slow_disk_ms: float = 4.0
    soon: int = 0  # the second crash: a kill before one of so many changes behind the recovery, not inside it

    def plan(self) -> Plan:
        settings = {**BASE, **self.settings}
        return Plan(
            settings=settings,
            topics=dict(self.topics),
            network=Network(delay_ms=0.3, cut=0.0),
            writers=(),
            feeders=0,
            plain=False,
            input_batches=0,
            copiers=(),
            crash_mean_ms=0.0,
            crashes=0,
            power=settings["durability"] == "power",
            disk_full=False,
            sync_errors=False,
            clock_jumps=False,
            resets=False,
            slow_coordinator=0.0,
            admin=False,
            expiry=False,
            slow_disk_ms=self.slow_disk_ms,
        )


@dataclass(frozen=True, slots=True)
class Cut:
    """A crash before a change of the disk, counted from the beginning of the scene or from the crash before."""

    at: int
    kept: Kept


class Play(Stage):
    """One scene with the crashes given."""

    def __init__(self, scene: Scene, cuts: Sequence[Cut] = (), dice: Dice = 0) -> None:
        super().__init__(f"scene {scene.name}", "core", scene.plan())
        self._scene = scene
        self._cuts = list(cuts)
        self._dice: Dice = dice
        self._count: Callable[[str, str], None] | None = None
        self._is_own = False  # the crash that comes belongs to the scene
        self.cuts_made = 0
        self.changes = 0  # of the disk, from the beginning of the scene or the last crash on
        self.recovery_changes = 0  # of the disk, from the last crash until the broker was up
        self._instances = 0
        self.world.on_up.append(self._up)

    async def _play(self) -> None:
        await self._create_topics()
        self._set_dice()
        self.world.on_crash = self._next_cut
        self._next_cut()
        await self._scene.play(self)
        self.world.on_crash = lambda: None
        self.world.disk.before_change = None
        self.counts["crash points"] = self.world.crashes
        await self._finish()

    def _set_dice(self) -> None:
        """The fates differ, the scene does not."""
        loss: Loss = "dice" if isinstance(self._dice, int) else self._dice
        self.world.disk.set_dice(Random(f"dice {self._dice}"), loss)

    def _next_cut(self) -> None:
        """Arms the next crash, or only counts."""
        if self._is_own:
            self._is_own = False
            self.world.disk.before_change = self._count
            return
        self.changes = 0
        cut = self._cuts.pop(0) if self._cuts else None

        def count(what: str, path: str) -> None:
            self.changes += 1
            if cut is not None and self.changes == cut.at:
                self.cuts_made += 1
                self.world.cut_at(what, path, cut.kept)

        self.world.disk.before_change = self._count = count

    def kill_at(self, what: str, text: str) -> None:
        """Kills the broker just before the next such change of a path with this text; part of what happens."""
        count = self._count

        def kill(found: str, path: str) -> None:
            if found == what and text in path:
                self._is_own = True
                self.world.cut_at(found, path, "process")
            if count is not None:
                count(found, path)

        self.world.disk.before_change = kill

    async def change(self, what: str, text: str, do: Callable[[], None] = lambda: None) -> None:
        """Waits for the next such change of a path with this text, and does something at just that moment. A crash ends the wait."""
        seen: Future[None] = Future()
        count = self._count

        def look(found: str, path: str) -> None:
            if not seen.done() and found == what and text in path:
                do()
                seen.set_result(None)
            if count is not None:
                count(found, path)

        self.world.disk.before_change = look
        await within(self.world.loop, seen, WAIT_MS)

    def cut_power(self, loss: Loss) -> None:
        """As `kill_at`, of a power cut, now."""
        self._is_own = True
        self.world.disk.set_dice(Random("own"), loss)
        self.world.crash("power")
        self._set_dice()

    async def restart(self) -> None:
        """A clean stop. It may be cut off too."""
        crashes = self.world.crashes
        await self.world.restart("process")
        if self.world.crashes == crashes:
            self.world.disk.before_change = self._count

    def _up(self, machine: Machine) -> None:
        assert machine.alive
        self.recovery_changes = self.changes
        self.invariants.check_cleaned(machine)

    # What scenes are made of

    def producer(self, transactional_id: str | None, protocol: Protocol = TV2, **named: Any) -> Producer:
        self._instances += 1
        process = f"{transactional_id or 'plain'}#{self._instances}"
        return Producer(
            self.world, self.history, self._random(process), process, transactional_id, protocol, **named
        )

    async def transaction(
        self,
        producer: Producer,
        work: "Callable[[Producer], Coroutine[Any, Any, None]]",
        *,
        commit: bool = True,
    ) -> None:
        """Tried until it went through, as an application would; a fenced producer is told to the caller."""
        for _ in range(TRIES):
            if producer.producer_id < 0:
                await producer.init()
            producer.begin()
            try:
                await work(producer)
                await producer.end(commit=commit)
                self.counts["transactions"] += 1
                return
            except MustAbort as why:
                if producer.protocol.init < 3:
                    raise Fenced(str(why)) from None
                await producer.init()
        raise Defect("a transaction could not be ended")


async def _some(producer: Producer, *partitions: str, count: int = 2, size: int = 0) -> None:
    await producer.send({at: producer.name_values(count, size) for at in partitions})


def _ends(protocol: Protocol, *, commit: bool) -> "Callable[[Play], Coroutine[Any, Any, None]]":
    async def play(stage: Play) -> None:
        producer = stage.producer("a", protocol)
        await producer.init()
        for end in (commit, not commit):
            await _again(stage, producer, end)

    return play


async def _again(stage: Play, producer: Producer, commit: bool) -> None:
    async def work(mine: Producer) -> None:
        await _some(mine, "pay-0", "pay-1")
        await _some(mine, "pay-1")

    try:
        await stage.transaction(producer, work, commit=commit)
    except Fenced:
        # An old client that may not bump, or one whose unanswered InitProducerId was carried out: it starts anew.
        fresh = stage.producer(producer.id, producer.protocol)
        await fresh.init()
        await stage.transaction(fresh, work, commit=commit)


def _copies(protocol: Protocol) -> "Callable[[Play], Coroutine[Any, Any, None]]":
    async def play(stage: Play) -> None:
        feeder = stage.producer(None)
        await feeder.init()
        await _some(feeder, "in-0", count=3)
        done = 0
        while done < 3:
            producer = stage.producer("copy", protocol)
            reader = Reader(stage.world, stage.history, stage.rng, producer.process, committed=True)
            try:
                await producer.init()
                found = await fetch_offsets(
                    producer.session, stage.history, producer.process, GROUP, ["in-0"]
                )
                done = max(found.offsets["in-0"], 0) if found is not None else done
                while done < 3:
                    stage.history.now(Seek(process=producer.process, partition="in-0"))
                    reader.positions["in-0"] = done
                    poll = await reader.poll("in-0")
                    if not poll.records:
                        continue
                    producer.begin()
                    offset, value = poll.records[0]
                    await producer.send(
                        {"out-0": [f"{value}>{producer.name_values(1)[0]}"]},
                        group=GROUP,
                        sources={"out-0": [("in-0", offset)]},
                    )
                    await producer.send_offsets(GROUP, {"in-0": offset + 1})
                    await producer.end(commit=True)
                    stage.counts["transactions"] += 1
                    done = offset + 1
            except (Fenced, MustAbort, Unreachable):
                await sleep(stage.world.loop, 10.0)

    return play


async def _takeover(stage: Play) -> None:
    """A second instance takes the id over while the first has a transaction open; the first then tries to go on."""
    first = stage.producer("a")
    await first.init()
    first.begin()
    sent = True
    try:
        await _some(first, "pay-0")
    except (Fenced, MustAbort):
        sent = False
    second = stage.producer("a")
    await second.init()
    if sent:
        try:
            await _some(first, "pay-0")
            await first.end(commit=True)
        except (Fenced, MustAbort):
            pass
        else:
            raise Defect("a zombie wrote and committed")
    await _again(stage, second, True)


async def _timeout(stage: Play) -> None:
    """A producer sleeps over its timeout: it is fenced, and its successor commits."""
    first = stage.producer("a", timeout_ms=300)
    await first.init()
    first.begin()
    try:
        await _some(first, "pay-0", "pay-1")
        await sleep(stage.world.loop, 900.0)
        await first.end(commit=True)
    except (Fenced, MustAbort):
        pass
    second = stage.producer("a", timeout_ms=300)
    await second.init()
    await _again(stage, second, True)


async def _rolls(stage: Play) -> None:
    producer = stage.producer("a")
    await producer.init()
    for number in range(6):
        await _again(stage, producer, number % 3 != 1)


async def _cleaning(stage: Play) -> None:
    """Few keys, small segments, and the cleaner at work between transactions."""
    producer = stage.producer("a")
    await producer.init()
    for number in range(5):

        async def work(mine: Producer) -> None:
            values = mine.name_values(4)
            await mine.send({"map-0": values}, keys={"map-0": ["x", "y", "x", "z"]})

        try:
            await stage.transaction(producer, work, commit=number % 3 != 1)
        except Fenced:
            producer = stage.producer("a")
            await producer.init()
        await sleep(stage.world.loop, 40.0)


async def _cleaning_a_little(stage: Play) -> None:
    """One record of a segment goes, so that its old index does not look too long for the new log."""
    producer = stage.producer(None)
    await producer.init()
    for number in range(5):
        values = producer.name_values(4, 200)
        await producer.send({"map-0": values}, keys={"map-0": [f"{key}{number}" for key in "yxxz"]})
    await sleep(stage.world.loop, 100.0)


async def _retention(stage: Play) -> None:
    producer = stage.producer(None)
    await producer.init()
    for _ in range(10):
        try:
            await _some(producer, "old-0", count=3)
        except (MustAbort, Fenced):
            producer = stage.producer(None)
            await producer.init()
        await sleep(stage.world.loop, 15.0)


async def _plain(stage: Play) -> None:
    """Idempotent batches from two producers, with a repeat of each lost answer."""
    producers = [stage.producer(None), stage.producer(None)]
    for each in producers:
        await each.init()
    for _ in range(5):
        for each in producers:
            await _some(each, "pay-0", "pay-1", size=LARGE_BYTES)


async def _decided_elsewhere(stage: Play) -> None:
    """KIP-939: prepared, and ended by an heir a month later."""
    protocol = TV2 if stage.plan.settings.get("transaction.version", "2") == "2" else TV1
    for number in range(TRIES):
        phases = TwoPhases(stage.world, stage.history, stage.rng, f"a{number}", protocol)
        try:
            await phases.prepare({"pay-0": 2, "pay-1": 1})
            if number == 0:
                stage.world.clock.wall_shift_ms += MONTH_MS
            await sleep(stage.world.loop, 400.0)  # two sweeps
            await phases.take_over()
            await phases.end(commit=number % 2 == 0)
        except (Fenced, MustAbort, Unreachable):
            await phases.clear()
        else:
            stage.counts["transactions"] += 1
            return
    raise Defect("a transaction could not be ended by an heir")


async def _expires(stage: Play) -> None:
    """The id is forgotten between two transactions: its next owner begins with another producer id."""
    producer = stage.producer("a")
    await producer.init()
    await _again(stage, producer, True)
    await sleep(stage.world.loop, 1_500.0)
    fresh = stage.producer("a")
    await fresh.init()
    await _again(stage, fresh, True)


async def _expires_in_turn(stage: Play) -> None:
    """Ids in four partitions expire, one partition after the other. Meanwhile the clock is set back, and the last id is used again: by
    the clock its transaction is as old as what made it idle."""
    producers = [stage.producer(name) for name in BY_PARTITION]
    for each in producers:
        await each.init()

    def set_back() -> None:
        stage.world.clock.wall_shift_ms -= 10_000

    await stage.change("write", "__transaction_state-0/", set_back)
    last = producers[-1]
    last.begin()
    try:
        await _some(last, "pay-0")
        await sleep(stage.world.loop, 200.0)
        await last.end(commit=True)
    except (Fenced, MustAbort):
        fresh = stage.producer(BY_PARTITION[-1])
        await fresh.init()
        await _again(stage, fresh, True)


async def _retention_meanwhile(stage: Play) -> None:
    """A sweep of retention waits for a partition whose roll takes long. In another one all is deleted meanwhile, and it rolls just
    there. Then the power goes; who has written only before all of it is still known."""
    loop = stage.world.loop
    producer, other = stage.producer(None), stage.producer(None, idempotent=False)
    await producer.init()
    for _ in range(2):
        await _some(other, "old-0", "old-1", count=1, size=LARGE_BYTES)
    values = producer.name_values(1)
    await producer.send({"old-0": values})
    stands = await producer.send_again("old-0", values, 0)
    session = Session(stage.world, stage.rng, "deleter")

    async def roll(at: str, longest_ms: float) -> Task[None]:
        mine = stage.producer(None, idempotent=False)
        loop.longest_work_ms = longest_ms
        task = stage.world.spawn(_some(mine, at, count=1, size=900), at)
        await sleep(loop, 20.0)
        loop.longest_work_ms = stage.plan.slow_disk_ms
        return task

    slow = await roll("old-1", 3_000.0)
    await stage.change("write", "log-start-offset")
    await until_told(lambda: delete_records(session, "old-0", -1), session)
    slower = await roll("old-0", 600_000.0)
    await stage.change("rename", f"old-1/{0:020}.log")
    stage.cut_power("names")
    for each in (slow, slower):
        await each
    found = await producer.send_again("old-0", values, 0)
    if found != stands:
        raise Defect(f"a copy of the batch at {stands} was answered {found}")


async def _many_at_once(stage: Play) -> None:
    """The log of transactional ids grows all the time, so that a checkpoint is always being written."""

    async def work(number: int) -> None:
        producer = stage.producer(f"a{number}")
        for _ in range(2):
            try:
                await producer.init()
                await stage.transaction(producer, lambda mine: _some(mine, "pay-0"))
            except Fenced:
                producer = stage.producer(f"a{number}")

    for task in [stage.world.spawn(work(number), f"a{number}") for number in range(4)]:
        await task


async def _clean_stop(stage: Play) -> None:
    """Stopped, and killed where the log rolls next, before what the roll writes is there. Then all but the newest segment goes,
    and the power; who has written only before all of it is still known."""
    at = "pay-0"
    producer = stage.producer(None)
    await producer.init()
    batches = [producer.name_values(1, 100) for _ in range(4)]
    for values in batches:
        await producer.send({at: values})
    session = Session(stage.world, stage.rng, "deleter")
    offsets = [await producer.send_again(at, values, number) for number, values in enumerate(batches)]
    await sleep(stage.world.loop, 200.0)  # a checkpoint: the recovery point is the log end
    await stage.restart()
    stage.kill_at("create", ".snapshot")
    other = stage.producer(None)
    await other.init()
    await _some(other, at, size=900)
    await until_told(lambda: delete_records(session, at, -1), session)
    stage.cut_power("names")
    for number, values in enumerate(batches):
        found = await producer.send_again(at, values, number)
        if found != offsets[number]:
            raise Defect(f"a copy of the batch at {offsets[number]} was answered {found}")


async def until_told(ask: Callable[[], Coroutine[Any, Any, bool]], session: Session) -> None:
    while True:
        with suppress(Unreachable):
            if await ask():
                return
        await session.rest()


SMALL: Final = {"segment.bytes": "1024"}
BY_PARTITION: Final = ("d", "a", "b", "c")  # ids of __transaction_state-0 to 3, by Java's hash
WAIT_MS: Final = 10_000
LARGE_BYTES: Final = 700  # a batch with such a value has two sectors
SCENES: Final = (
    Scene("commit and abort, TV2", _ends(TV2, commit=True)),
    Scene("abort and commit, TV1", _ends(TV1, commit=False)),
    Scene("commit and abort, TV0", _ends(TV0, commit=True), {"transaction.version": "0"}),
    Scene("copies, TV2", _copies(TV2), topics={IN: (1, {}), OUT: (1, {})}),
    Scene("copies, TV1, killed only", _copies(TV1), {"durability": "process"}, {IN: (1, {}), OUT: (1, {})}),
    Scene("takeover, commit answered at prepare", _takeover, {"end.txn.reply": "prepared"}),
    Scene("timeout", _timeout),
    Scene(
        "small segments", _rolls, {"log.segment.bytes": "1024", "transaction.state.log.segment.bytes": "1024"}
    ),
    Scene(
        "cleaning",
        _cleaning,
        {"log.cleaner.backoff.ms": "20", "log.cleaner.delete.retention.ms": "0"},
        {MAP: (1, {"cleanup.policy": "compact", **SMALL})},
    ),
    Scene(
        "cleaning a little",
        _cleaning_a_little,
        {"log.cleaner.backoff.ms": "20"},
        {MAP: (1, {"cleanup.policy": "compact", **SMALL})},
    ),
    Scene(
        "retention",
        _retention,
        {"log.retention.check.interval.ms": "25", "log.segment.delete.delay.ms": "10"},
        {OLD: (1, {"retention.bytes": "1500", **SMALL})},
    ),
    Scene(
        "retention meanwhile",
        _retention_meanwhile,
        {"log.retention.check.interval.ms": "400", "log.flush.offset.checkpoint.interval.ms": "60000"},
        {OLD: (2, {"retention.bytes": "700", **SMALL})},
    ),
    Scene("no transactions", _plain, {"log.segment.bytes": "2048"}),
    Scene("expiry of an id", _expires, {"transactional.id.expiration.ms": "500"}),
    Scene(
        "expiry of ids in turn",
        _expires_in_turn,
        {"transactional.id.expiration.ms": "500", "transaction.state.log.num.partitions": "4"},
        topics={PAY: (2, {})},
    ),
    Scene("two phases, a month apart", _decided_elsewhere, {"transaction.two.phase.commit.enable": "true"}),
    Scene(
        "two phases, transaction.version=0",
        _decided_elsewhere,
        {"transaction.two.phase.commit.enable": "true", "transaction.version": "0"},
    ),
    Scene("clean stop", _clean_stop, topics={PAY: (1, SMALL)}),
    Scene(
        "checkpoints",
        _many_at_once,
        {"transaction.state.log.checkpoint.bytes": "1"},
        topics={PAY: (1, {})},
        slow_disk_ms=20.0,
        soon=12,
    ),
)
TWICE: Final = ("commit and abort, TV2", "takeover, commit answered at prepare", "cleaning", "checkpoints")
"""Scenes with a second crash inside the recovery from the first, or soon after it."""
POWER_DICE: Final[tuple[Dice, ...]] = ("lost", "kept", "names", 0, 1)


def outcomes(scene: Scene) -> list[tuple[Kept, Dice]]:
    """What may be left after a crash: all of the page cache; of a power cut nothing that was not synced, all of it, the names
    alone, or what the dice say."""
    killed: list[tuple[Kept, Dice]] = [("process", "lost")]  # and at the next power cut
    cut: list[tuple[Kept, Dice]] = [("power", dice) for dice in POWER_DICE]
    return killed + cut if scene.plan().power else killed


def count_changes(scene: Scene) -> int:
    play = Play(scene)
    play.run()
    return play.changes


def points(scene: Scene, share: int = 0, of: int = 1) -> Iterator[tuple[Cut, Dice]]:
    """Every crash point of a scene with every outcome, or one share of them."""
    every: list[tuple[Cut, Dice]] = [
        (Cut(at, kept), dice) for at in range(1, count_changes(scene) + 1) for kept, dice in outcomes(scene)
    ]
    yield from every[share::of]


def points_in_recovery(scene: Scene, at: int) -> Iterator[tuple[tuple[Cut, Cut], Dice]]:
    """A power cut, and a second one before each change that the recovery from the first makes; or a kill soon after it."""
    first = Cut(at, "power")
    dice: Dice = "lost" if scene.soon else POWER_DICE[at % len(POWER_DICE)]
    probe = Play(scene, [first], dice)
    probe.world.on_up.append(lambda _: seen.append(probe.recovery_changes))
    seen: list[int] = []
    probe.run()
    recovery = seen[1]  # the first life began before the scene
    for second in range(1, scene.soon + 1):
        yield (first, Cut(recovery + second, "process")), dice
    if not scene.soon:
        for second in range(1, recovery + 1):
            yield (first, Cut(second, "power")), dice


def run_point(scene: Scene, cuts: Sequence[Cut], dice: Dice) -> Play:
    play = Play(scene, cuts, dice)
    play.run()
    return play
