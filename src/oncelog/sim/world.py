"""A world that one seed decides: a broker on a disk that can lose power, and clients on a network that loses replies.

The broker is the one that serves real clients: same connection, same handlers, same engine. Only the four doors are
replaced (clock, disk, network, chance). A machine's events die with it; clients live on and try again.
"""

import hashlib
import random
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final, Literal, TypeVar

from oncelog.broker.runtime import Runtime
from oncelog.broker.transactions import Points
from oncelog.config import read_broker_config
from oncelog.engine.classic.engine import ClassicEngine
from oncelog.engine.memory import MemoryDisk
from oncelog.errors import CorruptBatch, StorageFault
from oncelog.record.batch import CRC_FROM, BatchHeader, records_of
from oncelog.record.crc import crc32c
from oncelog.sim.loop import MachineLoop, SeededChance, VirtualClock, VirtualLoop
from oncelog.sim.net import KINDS, Link, Network
from oncelog.tasks import Gate, Task, sleep, spawn, supervise

T = TypeVar("T")


STOP_MS: Final = (4.0, 90.0)
"""The longest that a sync takes while the broker stops."""


class PowerCut(BaseException):
    """Thrown out of the disk in the middle of whatever the broker was doing: nothing of it goes on."""


class Machine:
    """One life of the broker, from power on to crash or clean stop."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.loop = MachineLoop(world.loop)
        world.disk.loop = self.loop
        config = world.config
        self.engine = ClassicEngine(world.disk, self.loop, world.clock, world.chance, config)
        self.runtime = Runtime(
            engine=self.engine,
            config=config,
            loop=self.loop,
            clock=world.clock,
            chance=world.chance,
            host="broker",
            port=9092,
            on_fatal=self.fail,
        )
        if world.points is not None:
            self.runtime.transactions.points = world.points
        self.is_up = False
        self.was_up = False
        self.is_stopping = False
        self.is_ill = False  # there is a fault or a defect
        self.fault: BaseException | None = None
        self.defect: BaseException | None = None
        self.engine.failed.add_callback(lambda failed: self.fail(failed.result()))

    @property
    def alive(self) -> bool:
        return self.loop.alive

    def told(self, frame: bytes) -> None:
        self.world.trace.update(frame)

    def broken(self, fault: BaseException) -> None:
        self.defect = self.defect or fault
        self.fall_ill()

    async def start(self) -> None:
        await self.runtime.start()
        self.is_up = self.was_up = True

    def fail(self, fault: BaseException) -> None:
        self.fault = fault
        self.fall_ill()
        self.is_up = False

    def fall_ill(self) -> None:
        """The world looks at it before anything else happens."""
        self.is_ill = True
        self.world.loop.pause()


class Decoded:
    """Batches that clients have read before: many read the same ones, and decoding is a tenth of a seed's time."""

    def __init__(self) -> None:
        self._known: dict[
            bytes, tuple[int, list[tuple[int, str]]]
        ] = {}  # what is under the CRC -> CRC, values

    def values_of(self, batch: memoryview, header: BatchHeader) -> list[tuple[int, str]]:
        """(offset delta, value) of each record; CorruptBatch if the CRC is not that of the bytes."""
        content = bytes(batch[CRC_FROM:])
        known = self._known.get(content)
        if known is None:
            values = [
                (each.offset - header.base_offset, (each.value or b"").decode("utf-8", "replace"))
                for each in records_of(batch, header)
            ]
            known = self._known[content] = (crc32c(content), values)
        if known[0] != header.crc:
            raise CorruptBatch(f"the batch at {header.base_offset} does not match its CRC {header.crc:08x}")
        return known[1]


class World:
    """Everything there is. Nothing in it asks the real clock, the real disk, or dice other than `rng`.

    `survives_faults`: a disk that failed ends the process, and somebody starts it again; else it ends the run.
    `after`: begins at the moment where that world is, with its settings, on the disk given.
    """

    def __init__(
        self,
        seed: int | str,
        settings: dict[str, str],
        *,
        network: Network | None = None,
        profile: str = "wire",
        survives_faults: bool = False,
        after: "tuple[World, MemoryDisk] | None" = None,
    ) -> None:
        self.seed = seed
        self.rng = random.Random(f"world {seed}")
        self.settings = settings
        self.network = Network() if network is None else network
        self.profile = profile
        self.loop = VirtualLoop(self.rng)
        self.clock = VirtualClock(self.loop)
        self.chance = SeededChance(self.rng)
        if after is None:
            self.config = read_broker_config(settings)  # once for all lives
            self.disk = MemoryDisk(self.loop, random.Random(f"disk {seed}"))
        else:
            before, self.disk = after
            self.config = before.config
            self.loop.now_ms = before.loop.now_ms
            self.clock.wall_shift_ms = before.clock.wall_shift_ms
        self.read = Decoded()
        self.links: dict[Link, None] = {}  # in the order in which they were made: a set would have no order
        self.crashes = 0
        self.crashes_in_recovery = 0
        self.clean_stops = 0
        self.disk_faults = 0
        self.points: Points | None = None  # where the coordinator may be held up
        self.on_up: list[Callable[[Machine], None]] = []
        self.on_crash: Callable[[], None] = lambda: None
        self.before_crash: Callable[[], None] = lambda: None  # memory is still there
        self._survives_faults = survives_faults
        self._connections = 0
        self._stops = random.Random(f"stops {seed}")
        self._failed: BaseException | None = None
        self.machine = Machine(self)
        self._starting: Task[None] | None = None
        self._up = Gate()
        self.trace = hashlib.sha256()

    def power_on(self) -> None:
        """Begins to start the broker; `connect` succeeds when it is up."""
        machine = self.machine
        self._starting = None

        def begin() -> None:
            self._starting = spawn(machine.loop, self._start(machine), "start")
            supervise(self._starting, self._actor_failed)

        machine.loop.call_soon(begin)

    async def _start(self, machine: Machine) -> None:
        try:
            await machine.start()
        except StorageFault as fault:
            if not self._survives_faults:
                raise
            machine.fault = machine.fault or fault
            machine.fall_ill()
            return
        for tell in self.on_up:
            tell(machine)
        self._up.open()

    def crash(self, kept: Literal["process", "power"]) -> None:
        """kill -9 or a power cut, then a new life that recovers from the disk."""
        self.before_crash()
        self.note(f"crash {kept}")
        self.crashes += 1
        if not self.machine.was_up and self.machine.fault is None:
            self.crashes_in_recovery += 1
        self.machine.loop.alive = False
        self.machine.is_up = False
        for link in list(self.links):
            link.reset()
        self._next_life(kept)
        self.on_crash()

    def _next_life(self, kept: Literal["process", "power"]) -> None:
        self.machine.loop.alive = False
        self.disk.crash(kept)
        self.machine = Machine(self)
        self.power_on()

    async def restart(self, kept: Literal["process", "power"]) -> None:
        """A clean stop as the server makes it: requests under way end, then everything is made durable. A power cut right
        after it takes nothing. If something breaks the machine meanwhile, that is all that happens."""
        machine = self.machine
        if not machine.is_up or machine.is_ill:
            return
        machine.is_up = False  # accepts no more
        machine.is_stopping = True
        self.note("stop")
        for link in list(self.links):
            link.stop_reading()
        for _ in range(100):
            if not any(link.has_short_work for link in self.links):
                break
            await sleep(self.loop, 10.0)
        if not machine.alive:
            return
        for link in list(self.links):
            link.reset()
        longest_ms = self.loop.longest_work_ms
        self.loop.longest_work_ms = slow_ms = max(longest_ms, self._stops.choice(STOP_MS))
        stop = spawn(machine.loop, machine.runtime.stop(), "stop")
        while machine.alive and not stop.done():
            await sleep(self.loop, 5.0)
        if self.loop.longest_work_ms == slow_ms:
            self.loop.longest_work_ms = longest_ms
        if not machine.alive:
            return
        try:
            stop.result()
        except StorageFault as fault:
            machine.fail(fault)
            return
        self.clean_stops += 1
        self._next_life(kept)

    def crash_at_change(self, number: int, kept: Literal["process", "power"]) -> None:
        """The same, just before the n-th change of the disk from now, whoever makes it."""
        left = number

        def count(what: str, path: str) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                self.cut_at(what, path, kept)

        self.disk.before_change = count

    def cut_at(self, what: str, path: str, kept: Literal["process", "power"]) -> None:
        """Called by the disk before a change: the machine is gone, and the change does not happen. Of a write some part may."""
        self.note(f"cut at {what} {path}")
        own = random.Random(
            f"part {self.seed} {path} {self.loop.now_ms}"
        )  # what came later changes nothing of the rest
        self.disk.faults.part_before_crash = max(0.0, own.uniform(-1.0, 1.0))
        raise PowerCut(kept)

    def check_start(self) -> None:
        """Raises what stopped the broker from starting."""
        if self._starting is not None and self._starting.done():
            self._starting.result()

    async def connect(self, client_id: str = "sim") -> Link:
        """A connection to the broker, when it is up."""
        while not self.machine.is_up:
            await self._up.wait()
            await sleep(self.loop, self.rng.uniform(0.0, 5.0))  # not all in one instant
        self._connections += 1
        kind = KINDS[self.profile]
        link = kind(
            self.loop,
            self.rng,
            self.network,
            self.machine,
            self._connections,
            client_id,
            self._forget,
        )
        self.links[link] = None
        return link

    def spawn(self, work: Coroutine[Any, Any, T], name: str) -> Task[T]:
        """An actor of the story; what it raises ends the run at once."""
        task = spawn(self.loop, work, name)
        supervise(task, self._actor_failed)
        return task

    def _actor_failed(self, name: str, fault: BaseException) -> None:
        fault.add_note(f"{name} of seed {self.seed} at {self.loop.now_ms:.3f} ms")
        self._failed = self._failed or fault
        self.loop.pause()

    def _forget(self, link: Link) -> None:
        self.links.pop(link, None)

    def run(self, main: Coroutine[Any, Any, T], *, limit_steps: int) -> T:
        """Runs the world until `main` is done."""
        task = spawn(self.loop, main, "main")
        task.add_callback(lambda _: self.loop.pause())
        while not task.done():
            if self.loop.steps > limit_steps:
                raise AssertionError(f"seed {self.seed}: not done after {limit_steps} steps")
            try:
                if not self.loop.run(limit_steps):
                    raise AssertionError(f"seed {self.seed}: everybody waits for ever")
            except PowerCut as cut:
                self.crash("power" if cut.args[0] == "power" else "process")
            except StorageFault:  # out of a timer; the engine has said it too, and the process ends
                if not self.machine.is_ill:
                    raise
            if self._failed is not None:
                raise self._failed
            if self.machine.is_ill:
                self._look_at_fault(self.machine)
        return task.result()

    def _look_at_fault(self, machine: Machine) -> None:
        if machine.defect is not None:
            raise machine.defect
        assert machine.fault is not None
        if not (self._survives_faults and isinstance(machine.fault, StorageFault)):
            raise machine.fault
        # The process has stopped by itself. After a failed sync the page cache lies, so the machine starts anew too.
        self.disk_faults += 1
        self.crash("power" if "sync" in str(machine.fault) else "process")

    def note(self, text: str) -> None:
        """Adds to the trace, whose digest must be the same in every run of this seed."""
        self.trace.update(f"{self.loop.now_ms:.6f} {text}\n".encode())

    def digest(self) -> str:
        """One text for all that happened, all that clients were told and all that is on the disk."""
        found = self.trace.copy()
        for path in files_of(self.disk):
            file = self.disk.open(path)
            found.update(f"{path} {file.size()}\n".encode())
            found.update(file.read(0, file.size()))
        return found.hexdigest()


def files_of(disk: MemoryDisk, path: str = "") -> Iterator[str]:
    """The paths of all files, in order."""
    for name in disk.list(path):
        below = f"{path}/{name}" if path else name
        if disk.is_directory(below):
            yield from files_of(disk, below)
        else:
            yield below
