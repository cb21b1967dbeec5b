"""A world that one seed decides: a broker on a disk that can lose power, and clients on a network that loses replies.

The broker is the one that serves real clients: same connection, same handlers, same engine. Only the four doors are
replaced (clock, disk, network, chance). A machine's events die with it; clients live on and try again.
"""

import hashlib
import random
from collections.abc import Callable, Coroutine
from typing import Any, Final, Literal, TypeVar

from oncelog.broker.connection import Connection
from oncelog.broker.runtime import Runtime
from oncelog.config import read_broker_config
from oncelog.engine.classic.engine import ClassicEngine
from oncelog.engine.memory import MemoryDisk
from oncelog.errors import OncelogError
from oncelog.protocol.frame import Frames
from oncelog.protocol.header import read_response_header, request_frame
from oncelog.protocol.primitives import Message
from oncelog.sim.loop import SeededChance, VirtualClock, VirtualLoop
from oncelog.tasks import Future, Task, Timer, sleep, spawn, within

T = TypeVar("T")

FRAME_LIMIT_BYTES: Final = 1 << 24
REQUEST_TIMEOUT_MS: Final = 2_000


class Unreachable(OncelogError):
    """The connection broke or the answer did not come: whether the request was carried out is unknown."""


class MachineLoop:
    """The loop as one life of the broker's machine sees it: after a crash none of its events happens any more."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.alive = True

    def _while_alive(self, run: Callable[[], None]) -> Callable[[], None]:
        return lambda: run() if self.alive else None

    def call_soon(self, run: Callable[[], None]) -> None:
        self._loop.call_soon(self._while_alive(run))

    def call_later(self, delay_ms: float, run: Callable[[], None]) -> Timer:
        return self._loop.call_later(delay_ms, self._while_alive(run))

    def in_thread(self, run: Callable[[], T]) -> Future[T]:
        def while_alive() -> T:
            if not self.alive:
                raise Unreachable("the machine is down")
            return run()

        return self._loop.in_thread(while_alive)


class Machine:
    """One life of the broker, from power on to crash or clean stop."""

    def __init__(self, world: "World") -> None:
        self.loop = MachineLoop(world.loop)
        world.disk.loop = self.loop
        config = read_broker_config(world.settings)
        self.engine = ClassicEngine(world.disk, self.loop, world.clock, world.chance, config)
        self.runtime = Runtime(
            engine=self.engine,
            config=config,
            loop=self.loop,
            clock=world.clock,
            chance=world.chance,
            host="broker",
            port=9092,
            on_fatal=self._fail,
        )
        self.is_up = False
        self.fault: BaseException | None = None

    async def start(self) -> None:
        await self.runtime.start()
        self.is_up = True

    def _fail(self, fault: BaseException) -> None:
        self.fault = fault
        self.is_up = False


class Link:
    """One TCP connection: bytes arrive in order, in any pieces, after a delay; or it breaks and what was under way is lost."""

    def __init__(self, world: "World", machine: Machine, number: int) -> None:
        self._world = world
        self._machine = machine
        self._to_broker = Frames(FRAME_LIMIT_BYTES)
        self._to_client = Frames(FRAME_LIMIT_BYTES)
        self._waiting: dict[int, Future[bytes]] = {}
        self._correlation = 0
        self._next_to_broker_ms = 0.0
        self._next_to_client_ms = 0.0
        self.is_open = True
        self._connection = Connection(
            machine.runtime,
            self,
            connection_id=number,
            peer_host="client",
            peer_port=number,
            on_idle=lambda: None,
        )

    async def ask(self, request: Message, response: type[Message], key: int, version: int) -> Any:
        """Sends one request and waits for its answer; Unreachable if none came."""
        if not self.is_open:
            raise Unreachable("the connection is closed")
        self._correlation += 1
        answer: Future[bytes] = Future()
        self._waiting[self._correlation] = answer
        frame = bytes(request_frame(key, version, self._correlation, "sim", request))
        self._next_to_broker_ms = self._send(frame, self._next_to_broker_ms, self._at_broker)
        if not await within(self._world.loop, answer, REQUEST_TIMEOUT_MS):
            self.reset()
            raise Unreachable("no answer in time")
        found = answer.result()
        _, at = read_response_header(found, key, version)
        return response.decode(found, version, at)

    # Wire: what the broker's side calls.
    def write(self, parts: list[Any]) -> None:
        if self.is_open:
            self._next_to_client_ms = self._send(b"".join(parts), self._next_to_client_ms, self._at_client)

    def close(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Breaks the connection at both ends."""
        if not self.is_open:
            return
        self.is_open = False
        self._world.links.discard(self)
        self._connection.close()
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            answer.set_error(Unreachable("the connection broke"))

    def _send(self, data: bytes, not_before_ms: float, deliver: Callable[[bytes], None]) -> float:
        world = self._world
        at = max(world.loop.now_ms + world.rng.expovariate(1.0), not_before_ms)
        cut = world.rng.randrange(len(data) + 1) if world.rng.random() < 0.2 else len(data)
        for piece in (data[:cut], data[cut:]):
            if piece:
                world.loop.call_later(at - world.loop.now_ms, lambda piece=piece: deliver(piece))
                at += world.rng.uniform(0.0, 0.3)
        return at

    def _at_broker(self, data: bytes) -> None:
        if self.is_open and self._machine.loop.alive:
            self._connection.frames(self._to_broker.feed(data))

    def _at_client(self, data: bytes) -> None:
        if not self.is_open:
            return
        for frame in self._to_client.feed(data):
            answer = self._waiting.pop(int.from_bytes(frame[:4], "big"), None)
            if answer is not None and not answer.done():
                answer.set_result(frame)


class World:
    """Everything there is. Nothing in it asks the real clock, the real disk, or dice other than `rng`."""

    def __init__(self, seed: int, settings: dict[str, str]) -> None:
        self.seed = seed
        self.rng = random.Random(f"world {seed}")
        self.settings = settings
        self.loop = VirtualLoop(self.rng)
        self.clock = VirtualClock(self.loop)
        self.chance = SeededChance(self.rng)
        self.disk = MemoryDisk(self.loop, random.Random(f"disk {seed}"))
        self.links: _Links = _Links()
        self.crashes = 0
        self._connections = 0
        self.machine = Machine(self)
        self._starting: Task[None] | None = None
        self.trace = hashlib.sha256()

    def power_on(self) -> None:
        """Begins to start the broker; `connect` succeeds when it is up."""
        machine = self.machine
        self._starting = spawn(machine.loop, machine.start(), "start")

    def crash(self, kept: Literal["process", "power"]) -> None:
        """kill -9 or a power cut, then a new life that recovers from the disk."""
        self.note(f"crash {kept}")
        self.crashes += 1
        self.machine.loop.alive = False
        self.machine.is_up = False
        for link in self.links.sorted():
            link.reset()
        self.disk.crash(kept)
        self.machine = Machine(self)
        self.power_on()

    def check_start(self) -> None:
        """Raises what stopped the broker from starting."""
        if self._starting is not None and self._starting.done():
            self._starting.result()

    async def connect(self) -> Link:
        """A connection to the broker, when it is up."""
        while not self.machine.is_up:
            self.check_start()
            await sleep(self.loop, 5.0)
        self._connections += 1
        link = Link(self, self.machine, self._connections)
        self.links.add(link)
        return link

    def run(self, main: Coroutine[Any, Any, T], *, limit_steps: int) -> T:
        """Runs the world until `main` is done."""
        task = spawn(self.loop, main, "main")
        while not task.done():
            if self.loop.steps > limit_steps:
                raise AssertionError(f"seed {self.seed}: not done after {limit_steps} steps")
            if not self.loop.step():
                raise AssertionError(f"seed {self.seed}: everybody waits for ever")
            if self.machine.fault is not None:
                raise self.machine.fault
        return task.result()

    def note(self, text: str) -> None:
        """Adds to the trace, whose digest must be the same in every run of this seed."""
        self.trace.update(f"{self.loop.now_ms:.6f} {text}\n".encode())

    def digest(self) -> str:
        """One text for all that happened and all that is on the disk."""
        found = self.trace.copy()

        def walk(path: str) -> None:
            for name in self.disk.list(path):
                below = f"{path}/{name}" if path else name
                if self.disk.is_directory(below):
                    walk(below)
                else:
                    file = self.disk.open(below)
                    found.update(f"{below} {file.size()}\n".encode())
                    found.update(file.read(0, file.size()))

        walk("")
        return found.hexdigest()


class _Links:
    """The open connections in the order in which they were made: a set would have no order."""

    def __init__(self) -> None:
        self._links: dict[Link, None] = {}

    def add(self, link: Link) -> None:
        self._links[link] = None

    def discard(self, link: Link) -> None:
        self._links.pop(link, None)

    def sorted(self) -> list[Link]:
        return list(self._links)
