"""The story that most seeds tell: transactional writers, feeders, copiers and readers against one broker, with faults.

What the clients see goes into a history; `check.py` judges it. What the broker keeps is looked at from inside
(`invariants.py`). At the end faults stop, everybody comes to an end, and the broker is cut off once more.
"""

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Final

from oncelog.broker.transactions import LostWrite, Points
from oncelog.errors import ErrorCode
from oncelog.model import Producer as Producer_
from oncelog.model import ProducerEpoch, TopicPartition
from oncelog.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from oncelog.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from oncelog.sim.check import Anomalies, Checker
from oncelog.sim.clients import (
    EARLIEST,
    LATEST,
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
    describe_producer,
    fetch_offsets,
    list_offset,
    write_marker,
)
from oncelog.sim.history import Crash, End, EndTxn, History, Op, Partition, Poll
from oncelog.sim.invariants import Invariants
from oncelog.sim.judge import Judge
from oncelog.sim.late import Late
from oncelog.sim.members import KINDS as MEMBERS
from oncelog.sim.members import Member
from oncelog.sim.net import Unreachable
from oncelog.sim.plan import GROUP, IN, MAP, OLD, OUT, PAY, WORKERS, Plan, Writer, draw
from oncelog.sim.rude import Rude
from oncelog.sim.tenants import Tenant
from oncelog.sim.two_phases import TwoPhases
from oncelog.sim.world import World
from oncelog.tasks import Task, sleep
from oncelog.txn.state import MAX_EPOCH, Txn

LIMIT_STEPS: Final = 150_000
LARGEST_SET_BACK_MS: Final = 600_000
SWEEP_MS: Final = 150
QUICK_MS: Final = 4.0  # of a healthy disk
COMMITS_WITHIN_MS: Final = 3_000
NEAR: Final = 6  # offsets
LATE_MARKER_MS: Final = 300.0  # while the broker stops, at most


@dataclass(slots=True)
class Outcome:
    """What one seed came to."""

    seed: int | str
    digest: str
    counts: Counter[str] = field(default_factory=Counter[str])


@contextmanager
def quiet() -> Generator[None]:
    """A simulated broker complains a lot, and for good reasons; nobody needs to read it."""
    logger = logging.getLogger("oncelog")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


class Hindrance(Points):
    """Holds the coordinator up at its named points, and loses markers on their way; while the broker stops all are late."""

    def __init__(self, world: World, rng: Random, chance: float, judge: Judge) -> None:
        self._world = world
        self._rng = rng
        self.chance = chance
        self._is_slow = chance > 0.0
        self._stops = Random(f"late markers {world.seed}")
        self._judge = judge

    async def reach(self, point: str, transactional_id: str, partition: TopicPartition | None = None) -> None:
        if point == "before_marker" and self._world.machine.is_stopping:
            await sleep(self._world.machine.loop, self._stops.uniform(0.0, LATE_MARKER_MS))
        if not self._is_slow:
            return
        if self._rng.random() < 0.1:
            self._judge.look(self._world.machine, transactional_id)
        if self._rng.random() >= self.chance:
            return
        if point == "before_marker" and self._rng.random() < 0.5:
            raise LostWrite(f"the marker of {transactional_id} for {partition}")
        await sleep(self._world.machine.loop, self._rng.expovariate(1 / 100))


class Stage(ABC):
    """A world with topics, a history that is checked, and an end: faults over, everything at rest, one more cut, a look."""

    def __init__(self, seed: int | str, profile: str, plan: Plan) -> None:
        self.seed = seed
        self.plan = plan
        self.rng = Random(f"story {seed}")
        self.world = World(seed, plan.settings, network=plan.network, profile=profile, survives_faults=True)
        self.history = History()
        self.checker = Checker(self.history)
        self.history.listen(lambda _: None, self._note)
        self.world.loop.longest_work_ms = plan.slow_disk_ms
        self.invariants = Invariants(self.world, expiry=plan.expiry, forgets=plan.forgets)
        self.counts: Counter[str] = Counter()
        self._set_back_ms = 0  # the wall clock, in all

    def run(self) -> Outcome:
        with quiet():
            self.world.power_on()
            self.world.run(self._play(), limit_steps=LIMIT_STEPS)
        found = self.checker.finish()
        if found:
            raise Anomalies(found)
        self.counts["crashes"] = self.world.crashes
        self.counts["random kills and cuts"] = (
            self.world.crashes
            - self.world.disk_faults
            - self.counts["cuts at the end"]
            - self.counts["kills of ids with a past"]
        )
        self.counts["crashes in recovery"] = self.world.crashes_in_recovery
        self.counts["clean restarts"] = self.world.clean_stops
        self.counts["disk faults"] = self.world.disk_faults
        self.counts["bits flipped"] = self.invariants.flips
        self.counts["bits flipped and refused"] = self.invariants.refused
        self.counts["restarts compared"] = self.invariants.replays
        self.counts["invariants looked at"] = self.invariants.looks
        self.counts["steps"] = self.world.loop.steps
        self.counts["operations"] = len(self.history.ops)
        self.counts["virtual seconds"] = int(self.world.loop.now_ms / 1000)
        return Outcome(self.seed, self.world.digest(), self.counts)

    def _random(self, name: str) -> Random:
        return Random(f"{name} {self.seed}")

    def _note(self, op: Op) -> None:
        """What a client was told belongs to the trace."""
        found = [getattr(op, name) for name in op.found] if op.end is End.OK else op.why
        self.world.note(f"{op.number} {op.process} {op.f} {op.end.value} {found}")

    @abstractmethod
    async def _play(self) -> None: ...

    def _calm(self) -> None:
        """Faults are over."""
        network = self.world.network
        network.stall = network.lose_reply = network.reset = network.late_end = network.late_init = 0.0
        if isinstance(self.world.points, Hindrance):
            self.world.points.chance = 0.0
        self.world.loop.longest_work_ms = QUICK_MS
        self.world.disk.before_change = None
        self.world.disk.faults.space_left_bytes = None
        self.world.disk.faults.syncs_until_error = None
        self.world.disk.faults.writes_until_error = None

    async def _create_topics(self) -> None:
        session = Session(self.world, self._random("topics"), "admin")
        request = CreateTopicsRequest(
            timeout_ms=1_000,
            topics=[
                CreatableTopic(
                    name=name,
                    num_partitions=count,
                    replication_factor=1,
                    configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
                )
                for name, (count, configs) in self.plan.topics.items()
            ],
        )
        while True:
            try:
                answer: CreateTopicsResponse = await session.ask(19, 5, request, CreateTopicsResponse)
            except Unreachable:
                continue
            for topic in answer.topics:
                if topic.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                    raise Defect(f"CreateTopics was answered {ErrorCode(topic.error_code).name}")
            break
        await self._find_coordinators(session)
        if self.world.machine.is_up:
            self.invariants.check_all(self.world.machine)  # from now on they are watched
        for partition in self.plan.partitions:
            if partition.startswith(MAP):
                self.history.now(Partition(process="admin", partition=partition, compact=True))

    async def _find_coordinators(self, session: Session) -> None:
        """Makes the internal topics, as the first client of each does."""
        for kind, name in ((0, GROUP), (1, "w0")):
            request = FindCoordinatorRequest(key=name, key_type=kind)
            while True:
                try:
                    answer: FindCoordinatorResponse = await session.ask(
                        10, 3, request, FindCoordinatorResponse
                    )
                except Unreachable:
                    continue
                if answer.error_code == ErrorCode.NONE:
                    break
                await session.rest()

    # The end

    async def _finish(self) -> None:
        """Nobody works any more: what is left must come to rest, and survive."""
        self._calm()
        await self._come_to_rest()
        if self.plan.expiry:
            self.invariants.check_all_replays()  # before ids that are forgotten are taken up again
        await self._commit_all()
        await self._come_to_rest()
        self.invariants.check_all_replays()
        kept = "power" if self.plan.power else "process"
        self.history.now(Crash(process="broker", kept=kept))
        self.world.crash(kept)
        self.counts["cuts at the end"] += 1
        await self._look()

    async def _come_to_rest(self) -> None:
        """Liveness: without faults every transaction ends within its timeout and two sweeps."""
        world = self.world
        longest = max([writer.timeout_ms for writer in self.plan.writers] + [1_000])
        # A clock that was set back makes timeouts longer.
        deadline = world.loop.now_ms + longest + self._set_back_ms + 2 * SWEEP_MS + 2_000
        await world.connect()
        while True:
            why = self.invariants.unrest() or self.invariants.left_behind()
            if why is None:
                return
            if world.loop.now_ms > deadline:
                raise Defect(f"not at rest after all faults: {why}")
            await sleep(world.loop, 50.0)

    def _owners(self) -> list[tuple[str, Protocol]]:
        """The transactional ids of the story, with what their owners speak."""
        return []

    async def _commit_all(self) -> None:
        """Liveness: whoever has an id can commit."""
        for task in [self.world.spawn(self._commit_once(*owner), owner[0]) for owner in self._owners()]:
            await task

    async def _commit_once(self, transactional_id: str, protocol: Protocol) -> None:
        """A new instance writes to every partition of a topic and commits. What was sent before the faults were over may still come
        and be in its way, so it may try again for so long."""
        loop, rng = self.world.loop, self._random(f"last of {transactional_id}")
        before_ms = loop.now_ms + self.plan.network.stall_ms[1] + COMMITS_WITHIN_MS
        targets = [each for each in self.plan.partitions if each.startswith(PAY)]
        for life in count(1):
            process = f"{transactional_id} at last {life}"
            producer = Producer(self.world, self.history, rng, process, transactional_id, protocol)
            try:
                await producer.init()
                producer.begin()
                await producer.send({at: producer.name_values(1) for at in targets})
                await producer.end(commit=True)
                self.counts["committed at last"] += 1
            except (Fenced, MustAbort) as why:
                left = why
            else:
                left = None
            producer.session.leave()
            if loop.now_ms > before_ms:
                raise Defect(f"{transactional_id} could not commit after all faults: {left}")
            if left is None:
                return
            await sleep(loop, rng.uniform(1.0, 100.0))

    async def _look(self) -> None:
        for committed in (True, False):
            reader = Reader(self.world, self.history, self.rng, f"last {committed}", committed=committed)
            for partition in self.plan.partitions:
                await reader.read_all(partition)
        session = Session(self.world, self.rng, "last")
        inputs = [each for each in self.plan.partitions if each.startswith(f"{IN}-")]
        await fetch_offsets(session, self.history, "last", GROUP, inputs, final=True)
        if self.plan.workers:
            await fetch_offsets(session, self.history, "last", WORKERS, inputs, final=True)
        self.invariants.check_all(self.world.machine)
        self.invariants.check_orphans(self.world.machine)
        self.invariants.check_logs(self.world.machine)
        if self.plan.flips:
            await self.world.restart("process")
            self.invariants.check_flips(self.plan.flips, self._random("flips"))


class Story(Stage):
    """One seed."""

    def __init__(self, seed: int | str, profile: str = "core", plan: Plan | None = None) -> None:
        super().__init__(seed, profile, draw(seed) if plan is None else plan)
        self.judge = Judge(self._random("judge"))
        if self.plan.slow_coordinator or self.plan.restarts:
            self.world.points = self.world.machine.runtime.transactions.points = Hindrance(
                self.world, self._random("hindrance"), self.plan.slow_coordinator, self.judge
            )
        self._names = [writer.transactional_id for writer in self.plan.writers]
        self._names += [f"copy-{IN}-{index}" for index in range(len(self.plan.copiers))]
        self._names += [f"two{number}" for number in range(self.plan.two_phases)]
        if not self.plan.clock_jumps and not self.plan.expiry:
            self.world.before_crash = self.invariants.remember_bumps
        self._busy = True  # faults may happen
        self._sizes = self._random("sizes")
        self._asking = self._random("asking")
        self._reading = True
        self._feeding = 0
        self._searching: set[int] = set()  # workers who may still find something

    async def _play(self) -> None:
        plan, world = self.plan, self.world
        await self._create_topics()
        await self._age()
        work: list[Task[None]] = []
        for writer in plan.writers:
            work.append(world.spawn(self._write(writer, 0), writer.transactional_id))
            if writer.twin:
                work.append(world.spawn(self._write(writer, 1), f"{writer.transactional_id} twin"))
        self._feeding = plan.feeders + plan.plain
        work += [
            world.spawn(self._feed(number, idempotent=True), f"feeder {number}")
            for number in range(plan.feeders)
        ]
        if plan.plain:
            work.append(world.spawn(self._feed(plan.feeders, idempotent=False), "plain feeder"))
        for index, protocol in enumerate(plan.copiers):
            work.append(world.spawn(self._copy(f"{IN}-{index}", protocol), f"copier {index}"))
        for number, protocol in enumerate(plan.workers):
            work.append(world.spawn(self._work(number, protocol), f"worker {number}"))
        work += [world.spawn(self._haunt(number), f"ghost {number}") for number in range(plan.ghosts)]
        if plan.rude:
            work.append(world.spawn(self._be_rude(), "rude"))
        if plan.tenants:
            work.append(world.spawn(self._lodge(), "tenant"))
        if plan.late and not plan.clock_jumps:
            work.append(world.spawn(self._come_late(), "late"))
        if plan.two_phases:
            work.append(world.spawn(self._decide_elsewhere(), "two phases"))
        others = [world.spawn(self._break_things(), "faults")]
        others += [world.spawn(self._read(committed), "reader") for committed in (True, False)]
        if plan.admin:
            others.append(world.spawn(self._administer(), "admin"))
        if plan.deletes:
            others.append(world.spawn(self._delete(), "deleter"))
        if plan.restarts:
            others.append(world.spawn(self._restart(), "restarter"))
        for task in work:
            await task
        self._busy = False
        await others[0]
        self._calm()
        self._reading = False
        for task in others[1:]:
            await task
        await self._finish()
        self.counts["questions to the coordinator"] = self.judge.asked.total()

    async def _age(self) -> None:
        """Gives some ids a long past: the epochs of their producer ids are nearly used up (B16, B17)."""
        for writer in self.plan.writers:
            if writer.old:
                coordinator = self.world.machine.runtime.transactions
                past = Txn(
                    transactional_id=writer.transactional_id,
                    producer=Producer_(
                        await self.world.machine.runtime.producer_ids.next(),
                        ProducerEpoch(MAX_EPOCH - self.rng.randint(1, 9)),
                    ),
                    timeout_ms=writer.timeout_ms,
                    update_ms=self.world.clock.wall_ms(),
                )
                if await coordinator.write_record(past) is not ErrorCode.NONE:
                    raise Defect("the past could not be written")
                self.counts["old ids"] += 1
        if any(writer.old for writer in self.plan.writers):
            self.counts["kills of ids with a past"] += 1
            self.world.crash("process")  # loaded from the log, as after any restart

    def _owners(self) -> list[tuple[str, Protocol]]:
        plan = self.plan
        return [
            *((each.transactional_id, each.protocol) for each in plan.writers),
            *((f"copy-{IN}-{index}", protocol) for index, protocol in enumerate(plan.copiers)),
            *((f"work-{number}", protocol) for number, protocol in enumerate(plan.workers)),
        ]

    # Writers

    async def _write(self, writer: Writer, instance: int) -> None:
        """Instances of one id after another, until all transactions were tried."""
        rng = self._random(f"writer {writer.transactional_id} {instance}")
        if instance:
            await sleep(self.world.loop, rng.uniform(20.0, 400.0))
        left = writer.transactions
        life = 0
        while left > 0:
            life += 1
            process = f"{writer.transactional_id}{'ab'[instance]}{life}"
            producer = Producer(
                self.world,
                self.history,
                rng,
                process,
                writer.transactional_id,
                writer.protocol,
                timeout_ms=writer.timeout_ms,
            )
            try:
                await producer.init()
                while left > 0:
                    left -= 1
                    await self._transaction(producer, writer, rng)
            except Fenced:
                self.counts["fenced"] += 1
                left -= 1
            producer.session.leave()
            await sleep(self.world.loop, rng.uniform(1.0, 150.0))

    async def _transaction(self, producer: Producer, writer: Writer, rng: Random) -> None:
        producer.begin()
        heard = ""
        try:
            for _ in range(rng.choice([1, 1, 2, 3])):
                await self._send_some(producer, rng, heard)
                if self.plan.asks and self._asking.random() < self.plan.asks:
                    heard = await self._ask_around(producer, rng)
                if rng.random() < writer.sleepy:
                    self.counts["slept"] += 1
                    await sleep(self.world.loop, writer.timeout_ms * rng.uniform(0.5, 2.0))
            commit = rng.random() < 0.8
            await producer.end(commit=commit)
            self.counts["committed" if commit else "aborted"] += 1
        except MustAbort as why:
            await self._give_up(producer, why)
        if rng.random() < 0.3:
            await sleep(self.world.loop, rng.expovariate(1 / 20))

    async def _ask_around(self, producer: Producer, rng: Random) -> str:
        """Reads in the middle of a transaction what stands before our own last batch: of others what is committed, of ours nothing.
        What we write then depends on it (G1c); returns its name."""
        if not producer.stands:
            return ""
        at, stands = list(producer.stands.items())[-1]
        reader = Reader(self.world, self.history, rng, producer.process, committed=True)
        reader.session = producer.session
        reader.positions[at] = max(stands - NEAR, 0)
        self._moved(reader, at)
        try:
            poll = await reader.poll(at, txn=producer.txn, max_bytes=2_000)
        except Unreachable:
            return ""
        self.counts["records read in transactions"] += len(poll.records)
        return poll.records[-1][1].partition("<")[0].rstrip("-") if poll.records else ""

    async def _send_some(self, producer: Producer, rng: Random, heard: str = "") -> None:
        targets = [each for each in self.plan.partitions if each.startswith((PAY, MAP, OLD))]
        chosen = rng.sample(targets, min(len(targets), rng.choice([1, 1, 2, 3])))
        batches = {at: producer.name_values(rng.randint(1, 3), self._size(at)) for at in chosen}
        keys = {
            at: [f"k{rng.randrange(4)}" for _ in values]
            for at, values in batches.items()
            if at.startswith(MAP)
        }
        if heard:
            batches = {at: [f"{value}<{heard}" for value in values] for at, values in batches.items()}
        await producer.send(batches, keys=keys)

    def _size(self, at: str) -> int:
        """Of the largest value of a batch, at least: what a power cut may tear has several sectors then."""
        is_large = self.plan.large and at.startswith(PAY) and self._sizes.random() < self.plan.large
        return self._sizes.randint(1_000, 2_000) if is_large else 0

    async def _give_up(self, producer: Producer, why: MustAbort) -> None:
        """Aborts, and takes a new epoch where a batch may still be under way."""
        self.counts["gave up"] += 1
        if producer.used and producer.txn is not None and not (why.bump and producer.protocol.init >= 3):
            try:
                await producer.end(commit=False)
            except MustAbort as again:
                raise Fenced(str(again)) from None  # a real client is in a fatal state now
        if why.bump:
            if producer.protocol.init < 3:
                raise Fenced(str(why))  # old clients cannot bump
            await producer.init()
        producer.txn = None

    # Copying, exactly once

    async def _feed(self, number: int, *, idempotent: bool) -> None:
        rng = self._random(f"feeder {number}")
        producer = Producer(self.world, self.history, rng, f"f{number}", None, idempotent=idempotent)
        producer.is_once = idempotent and not self.plan.forgets
        inputs = [each for each in self.plan.partitions if each.startswith(f"{IN}-")]
        started = False
        for _ in range(self.plan.input_batches):
            try:
                if idempotent and not started:
                    await producer.init()
                    started = True
                batches = {rng.choice(inputs): producer.name_values(rng.randint(1, 4))}
                await producer.send(batches)
            except (MustAbort, Fenced) as why:
                if not self.plan.expiry and "gave up" not in str(why):
                    raise Defect(f"an idempotent producer was answered {why}") from None
                producer = Producer(
                    self.world,
                    self.history,
                    rng,
                    f"{producer.process}'",
                    None,
                    idempotent=idempotent,
                )
                producer.is_once = idempotent and not self.plan.forgets
                started = False
            await sleep(self.world.loop, rng.expovariate(1 / 30))
        self._feeding -= 1

    async def _copy(self, source: str, protocol: Protocol) -> None:
        """Instances of one copier: read committed, write, and move the group's position in one transaction."""
        rng = self._random(f"copier {source}")
        life = 0
        idle = 0
        while idle < 3:
            life += 1
            process = f"copy-{source}.{life}"
            producer = Producer(self.world, self.history, rng, process, f"copy-{source}", protocol)
            reader = Reader(self.world, self.history, rng, process, committed=True)
            try:
                await producer.init()
                found = await fetch_offsets(producer.session, self.history, process, GROUP, [source])
                if found is not None:
                    reader.positions[source] = max(found.offsets[source], 0)
                    while idle < 3:
                        idle = await self._copy_some(source, producer, reader, rng, idle)
                        if rng.random() < 0.03:
                            break  # this instance is killed; the next takes over
            except (Fenced, MustAbort):
                self.counts["copier fenced"] += 1
            except Unreachable:
                pass
            producer.session.leave()
            reader.session.leave()

    async def _copy_some(
        self, source: str, producer: Producer, reader: Reader, rng: Random, idle: int
    ) -> int:
        try:
            poll = await reader.poll(source, max_bytes=1_000, wait_ms=rng.choice([0, 100]))
        except Unreachable:
            await producer.session.rest()
            return idle
        if not poll.records:
            await sleep(self.world.loop, rng.uniform(5.0, 60.0))
            return idle + 1 if not self._feeding else 0
        records = poll.records[: rng.randint(1, 8)]
        producer.begin()
        outs = [each for each in self.plan.partitions if each.startswith(f"{OUT}-")]
        batches: dict[str, list[str]] = {}
        origins: dict[str, list[tuple[str, int]]] = {}
        for offset, value in records:
            at = rng.choice(outs)
            batches.setdefault(at, []).append(f"{value}>{producer.process}/{producer.name_values(1)[0]}")
            origins.setdefault(at, []).append((source, offset))
        await producer.send(batches, group=GROUP, sources=origins)
        after = records[-1][0] + 1
        await producer.send_offsets(GROUP, {source: after})
        if rng.random() < 0.1:
            self.counts["copier died in a transaction"] += 1
            raise Fenced("killed")
        await producer.end(commit=True)
        self.counts["copied"] += 1
        reader.positions[source] = after
        self._moved(reader, source)
        return 0

    def _moved(self, reader: Reader, source: str) -> None:
        from oncelog.sim.history import Seek

        self.history.now(Seek(process=reader.process, partition=source))

    # The same in a group whose members come and go (KIP-447)

    async def _work(self, number: int, protocol: Protocol) -> None:
        """Lives of one worker: its transactional id is its own, its partitions are what the group deals it."""
        rng = self._random(f"worker {number}")
        life = 0
        self._searching.add(number)
        while self._searching:
            life += 1
            process = f"work-{number}.{life}"
            producer = Producer(self.world, self.history, rng, process, f"work-{number}", protocol)
            member = MEMBERS[self.plan.members](
                self.world, rng, process, WORKERS, IN, self.plan.topics[IN][0]
            )
            reader = Reader(self.world, self.history, rng, process, committed=True)
            try:
                await producer.init()
                await self._serve(number, producer, member, reader, rng)
            except (Fenced, MustAbort):
                self.counts["worker fenced"] += 1
            if rng.random() < 0.7:
                await member.leave()
            producer.session.leave()
            reader.session.leave()
            member.session.leave()

    async def _serve(
        self, number: int, producer: Producer, member: Member, reader: Reader, rng: Random
    ) -> None:
        """One life. Ends by itself now and then; for good when all workers find nothing more."""
        mine: list[str] = []
        is_current = False
        while self._searching:
            try:
                if not is_current or not await member.beat():
                    mine, is_current = [], False
                    mine = await self._join(producer, member, reader)
                    is_current = member.generation > 0
                idle = True
                for source in mine:
                    if await self._serve_some(source, producer, member, reader, rng):
                        idle = False
            except Unreachable:
                await producer.session.rest()
                continue
            except MustAbort as why:
                await self._give_up(producer, why)
                is_current = False
                continue
            if idle and is_current and not self._feeding:
                self._searching.discard(number)
            elif not idle:
                self._searching.add(number)
            if rng.random() < 0.03:
                return  # killed, or stopped
            await sleep(self.world.loop, rng.uniform(5.0, 80.0))

    async def _join(self, producer: Producer, member: Member, reader: Reader) -> list[str]:
        mine = await member.join()
        self.counts["joined a group"] += bool(mine)
        if not mine:
            return []
        found = await fetch_offsets(producer.session, self.history, producer.process, WORKERS, mine)
        if found is None:
            return []
        for source in mine:
            reader.positions[source] = max(found.offsets[source], 0)
            self._moved(reader, source)
        return mine

    async def _serve_some(
        self, source: str, producer: Producer, member: Member, reader: Reader, rng: Random
    ) -> bool:
        before = reader.positions[source]
        poll = await reader.poll(source, max_bytes=1_000)
        if not poll.records:
            return False
        records = poll.records[: rng.randint(1, 8)]
        member_id, generation = member.id, member.generation
        producer.begin()
        outs = [each for each in self.plan.partitions if each.startswith(f"{OUT}-")]
        values = [f"{value}>{producer.process}/{producer.name_values(1)[0]}" for _, value in records]
        at = rng.choice(outs)
        sources = {at: [(source, offset) for offset, _ in records]}
        await producer.send({at: values}, group=WORKERS, sources=sources)
        if rng.random() < 0.05:
            self.counts["worker slept over its session"] += 1
            await sleep(self.world.loop, rng.uniform(400.0, 2_000.0))
        after = records[-1][0] + 1
        if generation >= 2 and rng.random() < 0.05:
            self.counts["stale generations refused"] += await producer.is_refused_as(
                WORKERS, {source: after}, member_id, generation - 1
            )
        await producer.send_offsets(WORKERS, {source: after}, member=member_id, generation=generation)
        if rng.random() < 0.05:
            raise Fenced("killed")
        await producer.end(commit=True)
        self.counts["copied"] += 1
        assert after > before
        reader.positions[source] = after
        self._moved(reader, source)
        return True

    # Readers and others

    async def _read(self, committed: bool) -> None:
        rng = self._random(f"reader {committed}")
        life = 0
        reader = self._reader(rng, committed, life)
        while self._reading:
            try:
                for partition in rng.sample(self.plan.partitions, 2):
                    poll: Poll = await reader.poll(partition, max_bytes=rng.choice([300, 4_000, 1 << 20]))
                    self.counts["polled records"] += len(poll.records)
            except Unreachable:
                pass
            if rng.random() < 0.03:
                life += 1
                reader.session.leave()
                reader = self._reader(rng, committed, life)
            await sleep(self.world.loop, rng.uniform(20.0, 450.0))

    def _reader(self, rng: Random, committed: bool, life: int) -> Reader:
        name = f"{'committed' if committed else 'uncommitted'} reader {life}"
        return Reader(self.world, self.history, rng, name, committed=committed)

    async def _administer(self) -> None:
        """Fences ids, as kafka-transactions and Admin.fenceProducers do."""
        rng = self._random("admin")
        count = 0
        while self._busy:
            await sleep(self.world.loop, rng.uniform(100.0, 900.0))
            if not self._busy:
                return
            count += 1
            victim = rng.choice(self.plan.writers)
            producer = Producer(
                self.world,
                self.history,
                rng,
                f"admin{count}",
                victim.transactional_id,
                victim.protocol,
            )
            try:
                await producer.init()
            except Fenced:
                continue
            self.counts["fenced by admin"] += 1
            if producer.epoch > 0:
                await self._send_stale_marker(producer, rng)

    async def _send_stale_marker(self, producer: Producer, rng: Random) -> None:
        """Of an epoch whose transaction is over: refused, or without effect."""
        at = rng.choice([each for each in self.plan.partitions if each.startswith(PAY)])
        try:
            known = await describe_producer(producer.session, at, producer.producer_id)
            if known is None:
                return
            found = await write_marker(producer.session, at, known, producer.epoch - 1)
        except Unreachable:
            return
        self.counts["stale markers"] += 1
        self.counts["stale markers refused"] += found is not ErrorCode.NONE

    async def _haunt(self, number: int) -> None:
        """A hanging transaction, as late requests make them where partitions are not verified (KAFKA-14402): it holds all
        readers back, and nobody ends it but an admin who looks for it and writes the marker by hand (KIP-664)."""
        rng = self._random(f"ghost {number}")
        await sleep(self.world.loop, rng.uniform(50.0, 600.0))
        producer = Producer(self.world, self.history, rng, f"ghost{number}", f"ghost{number}", TV1)
        at = rng.choice([each for each in self.plan.partitions if each.startswith(PAY)])
        try:
            await producer.init()
            self.invariants.ghosts.add(producer.producer_id)
            txn = producer.begin()
            producer.pretend_added(at)
            await producer.send({at: producer.name_values(rng.randint(1, 3))})
        except (Fenced, MustAbort):
            return
        self.counts["hanging transactions"] += 1
        await sleep(self.world.loop, rng.uniform(20.0, 600.0))
        op = self.history.invoke(EndTxn(process="admin", txn=txn, commit=False))
        while True:
            try:
                found = await describe_producer(producer.session, at, producer.producer_id)
                if found is None or found.current_txn_start_offset < 0:
                    break
                if await write_marker(producer.session, at, found, found.producer_epoch) is ErrorCode.NONE:
                    self.counts["hanging transactions aborted by admin"] += 1
                    break
            except Unreachable:
                pass
            await producer.session.rest()
        self.history.ok(op)

    async def _be_rude(self) -> None:
        """Asks for what it must not get."""
        rng = self._random("rude")
        tv2 = self.plan.settings["transaction.version"] == "2"
        targets = [each for each in self.plan.partitions if each.startswith(PAY)]
        rude = Rude(
            self.world,
            self.history,
            rng,
            targets,
            tv2=tv2,
            verified=self.plan.settings.get("transaction.partition.verification.enable") != "false",
            narrow=self.plan.narrow,
        )
        for _ in range(self.plan.rude):
            await sleep(self.world.loop, rng.uniform(10.0, 500.0))
            await rude.play()
        self.counts["bad manners"] += rude.played
        session = Session(self.world, rng, "rude")
        while rude.refused:
            try:
                await rude.look_for_refused(session)
                break
            except Unreachable:
                await session.rest()
        session.leave()

    async def _lodge(self) -> None:
        rng = self._random("tenants")
        tv2 = self.plan.settings["transaction.version"] == "2"
        guarded = self.plan.settings["transaction.late.requests.refuse"] == "true"
        tenant = Tenant(
            self.world, self.history, rng, self.plan.topics[IN][0], tv2=tv2, copies_refused=guarded
        )
        for _ in range(self.plan.tenants):
            await sleep(self.world.loop, rng.uniform(10.0, 500.0))
            await tenant.tell()
        self.counts["tales of groups"] += tenant.told

    async def _come_late(self) -> None:
        rng = self._random("late")
        targets = [each for each in self.plan.partitions if each.startswith(PAY)]
        late = Late(
            self.world, self.history, rng, targets, tv2=self.plan.settings["transaction.version"] == "2"
        )
        for _ in range(self.plan.late):
            await sleep(self.world.loop, rng.uniform(10.0, 500.0))
            await late.tell()
        self.counts["tales of late requests"] += late.told

    async def _decide_elsewhere(self) -> None:
        """KIP-939: a transaction is prepared, its producer goes on or dies, and what a database says is done."""
        rng = self._random("two phases")
        targets = [each for each in self.plan.partitions if each.startswith(PAY)]
        protocol = TV2 if self.plan.settings["transaction.version"] == "2" else TV1
        for number in range(self.plan.two_phases):
            await sleep(self.world.loop, rng.uniform(10.0, 500.0))
            phases = TwoPhases(
                self.world, self.history, rng, f"two{number}", protocol, lasts=not self.plan.expiry
            )
            try:
                await phases.prepare({rng.choice(targets): 2})
                await sleep(self.world.loop, rng.choice([5.0, 700.0]))  # longer than its timeout would be
                if rng.random() < 0.7:
                    await phases.take_over()
                await phases.end(commit=rng.random() < 0.6)
                self.counts["ended by another"] += 1
            except (Fenced, MustAbort, Unreachable):
                await phases.clear()

    async def _delete(self) -> None:
        """Deletes records up to anywhere below the high watermark, also in the middle of transactions."""
        rng = self._random("deleter")
        session = Session(self.world, rng, "deleter")
        while self._busy:
            await sleep(self.world.loop, rng.uniform(100.0, 1_200.0))
            at = rng.choice([each for each in self.plan.partitions if each.startswith((PAY, OLD))])
            try:
                low, high = [await list_offset(session, at, when) for when in (EARLIEST, LATEST)]
                if low < high and await delete_records(session, at, rng.choice([-1, rng.randint(low, high)])):
                    self.counts["records deleted by admin"] += 1
            except Unreachable:
                pass
        session.leave()

    async def _restart(self) -> None:
        rng = self._random("restarter")
        while self._busy and self.world.clean_stops < self.plan.restarts:
            await sleep(self.world.loop, rng.uniform(100.0, 1_500.0))
            if self._busy:
                await self.world.restart("power" if self.plan.power and rng.random() < 0.5 else "process")

    async def _break_things(self) -> None:
        plan, world, rng = self.plan, self.world, self.rng
        own = self._random("write errors")  # what came later changes nothing of the rest
        while self._busy:
            await sleep(world.loop, rng.expovariate(1 / (plan.crash_mean_ms or 200.0)))
            if not self._busy:
                return
            if plan.write_errors and own.random() < 0.15 and world.disk_faults < plan.crashes:
                world.disk.faults.writes_until_error = own.randint(1, 30)
                self.counts["write errors armed"] += 1
            self.judge.look(world.machine, rng.choice(self._names))
            if rng.random() < 0.025:
                self.invariants.check_partitions_replay()
                self.invariants.check_orphans(world.machine)
            dice = rng.random()
            if dice < 0.5 and plan.crash_mean_ms and world.crashes < plan.crashes:
                kept = "power" if plan.power and rng.random() < 0.7 else "process"
                if rng.random() < 0.5:
                    world.crash_at_change(rng.randint(1, 40), kept)
                else:
                    world.crash(kept)
            elif dice < 0.65 and plan.resets and world.links:
                rng.choice(list(world.links)).reset()
            elif dice < 0.75 and plan.clock_jumps:
                jump = rng.choice([-30_000, -500, 500, 5_000])
                if self._set_back_ms > LARGEST_SET_BACK_MS:
                    jump = abs(jump)  # a timeout by that clock would come too late for anybody to wait
                world.clock.wall_shift_ms += jump
                self._set_back_ms += max(-jump, 0)
                self.counts["clock jumps"] += 1
            elif dice < 0.85 and plan.disk_full and world.machine.is_up and world.disk_faults < plan.crashes:
                world.disk.faults.space_left_bytes = rng.randint(0, 2_000)
            elif (
                dice < 0.95 and plan.sync_errors and world.machine.is_up and world.disk_faults < plan.crashes
            ):
                world.disk.faults.syncs_until_error = rng.randint(1, 10)
