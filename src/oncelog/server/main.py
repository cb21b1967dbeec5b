"""Puts a broker together and runs it: for `oncelog serve` and, in a thread, for oncelog.Broker."""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from oncelog.broker.faults import Faults
from oncelog.broker.runtime import Runtime
from oncelog.config import read_broker_config
from oncelog.engine.classic.engine import ClassicEngine
from oncelog.engine.disk import RealDisk
from oncelog.engine.fragile import FragileDisk
from oncelog.errors import OncelogError
from oncelog.server.lane import lane_of
from oncelog.server.listener import Listener
from oncelog.server.loop import AsyncioLoop, JumpLoop, SystemChance, SystemClock
from oncelog.server.memory import keep_large_blocks
from oncelog.server.open_files import raise_limit, shares
from oncelog.tasks import Future, spawn

log = logging.getLogger("oncelog.server")

# A request gives the interpreter's lock away at each of its system calls. While the cleaner works through a large batch
# in another thread, each time costs one such interval: with Python's own 5 ms a round trip took 25.
SWITCH_SECONDS: Final = 0.001
# Nothing on the way of a request is part of a cycle, so the collector finds nothing there: it need not look every 700 objects.
GARBAGE: Final = (20_000, 20, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `oncelog serve` was asked for. `settings`: by Kafka's names, as text."""

    listen_host: str = "127.0.0.1"
    listen_port: int = 9092
    advertised_host: str | None = None
    advertised_port: int | None = None
    data_dir: str
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


class Server:
    """One broker on one asyncio loop. `fault` is set when the disk failed: then it stops and nothing more was acked."""

    def __init__(self, options: Options, *, clock: SystemClock | None = None, fragile: bool = False) -> None:
        self._options = options
        self.fault: BaseException | None = None
        self._killed = False
        self.stopping = asyncio.Event()
        asyncio_loop = asyncio.get_running_loop()
        self.clock = clock or SystemClock()
        self.loop = AsyncioLoop(asyncio_loop) if clock is None else JumpLoop(asyncio_loop, clock)
        chance = SystemChance()
        config = replace(read_broker_config(options.settings), data_dir=os.path.abspath(options.data_dir))
        self.disk = (
            FragileDisk(options.data_dir, self.loop)
            if fragile
            else RealDisk(options.data_dir, self.loop, open_files_limit=shares().files)
        )
        self.engine = ClassicEngine(self.disk, self.loop, self.clock, chance, config)
        self.engine.failed.add_callback(lambda failed: self._fail(failed.result()))
        self.broker = Runtime(
            engine=self.engine,
            config=config,
            loop=self.loop,
            clock=self.clock,
            chance=chance,
            host=options.advertised_host or options.listen_host,
            port=options.advertised_port or options.listen_port,
            on_fatal=self._fail,
        )
        self.broker.lane = lane_of(self.broker)
        self.listener = Listener(self.broker)

    async def start(self) -> int:
        """Recovers, then listens; returns the port."""
        await as_asyncio(spawn(self.loop, self.broker.start(), "start"))
        port = await self.listener.start(self._options.listen_host, self._options.listen_port)
        if self._options.advertised_port is None:
            self.broker.port = port
        self.broker.listens_at = self._options.listen_host, port
        return port

    async def stop(self) -> None:
        """A clean stop: requests under way are answered, everything is synced. After a fault or a kill: just the end."""
        if self.fault is None and not self._killed:
            await self.listener.stop()
            await as_asyncio(spawn(self.loop, self.broker.stop(), "stop"))
        self.loop.close()
        self.disk.close()

    def kill(self) -> None:
        """What kill -9 or a power cut would leave, by the durability mode: nothing more is written."""
        self._killed = True
        self.listener.abort()
        assert isinstance(self.disk, FragileDisk)
        self.disk.cut_power(lose_unsynced=self.broker.config.durability == "power")
        self.stopping.set()

    def faults(self) -> Faults:
        """Where tests arm faults; made when first asked for."""
        if self.broker.faults is None:
            self.broker.faults = self.broker.transactions.points = Faults(self.kill)
        return self.broker.faults

    def jump(self, ms: int) -> None:
        """Moves a virtual clock ahead and runs what is due."""
        if not isinstance(self.loop, JumpLoop):
            raise OncelogError(
                "the broker's clock is the machine's: start it with virtual_clock=True to move it"
            )
        if self.broker.ring is not None:
            self.broker.ring.clock_moves()
        self.clock.jump(ms)
        self.loop.jumped()

    def _fail(self, fault: BaseException) -> None:
        if self.fault is None:
            self.fault = fault
            log.critical("broker.failed fault=%s", fault)
            self.listener.abort()
            self.stopping.set()


async def as_asyncio(future: Future[None]) -> None:
    """Lets asyncio code wait for one of the broker's futures."""
    waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settle(done: Future[None]) -> None:
        try:
            done.result()
        except BaseException as fault:  # noqa: BLE001  # handed on to the one who waits
            waits.set_exception(fault)
        else:
            waits.set_result(None)

    future.add_callback(settle)
    await waits


def serve(options: Options, *, on_ready: Callable[[str, int], None]) -> int:
    """Runs until SIGTERM or SIGINT; 0 after a clean stop, 1 if the disk failed."""
    raise_limit()
    keep_large_blocks()
    sys.setswitchinterval(SWITCH_SECONDS)
    return asyncio.run(_serve(options, on_ready))


async def _serve(options: Options, on_ready: Callable[[str, int], None]) -> int:
    server = Server(options)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stopping.set)
    gc.disable()
    port = await server.start()
    # What was recovered stays for good. If the collector went through 10,000 partitions again and again, each time
    # would stop the loop for a tenth of a second.
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    gc.enable()
    on_ready(options.listen_host, port)
    await server.stopping.wait()
    await server.stop()
    return 0 if server.fault is None else 1
