"""asyncio as the broker's loop: the production side of tasks.Loop and ports.Clock."""

import asyncio
import heapq
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from oncelog.model import Millis
from oncelog.tasks import Future, Timer

T = TypeVar("T")

SYNC_THREADS = 8  # fdatasync of several files side by side; the GIL is free while they wait


class SystemClock:
    """The machine's clocks. `jump` moves both ahead, for tests that do not want to wait; not what measures."""

    monotonic_ns = staticmethod(
        time.monotonic_ns
    )  # no call of ours in between: it is asked twice per request

    def __init__(self) -> None:
        self._ahead_ms = 0

    # They are asked for every batch, and to call a NewType costs as much as to ask the machine.

    def wall_ms(self) -> Millis:
        return time.time_ns() // 1_000_000 + self._ahead_ms  # pyright: ignore[reportReturnType]  # see above

    def monotonic_ms(self) -> Millis:
        return time.monotonic_ns() // 1_000_000 + self._ahead_ms  # pyright: ignore[reportReturnType]  # see above

    def jump(self, ms: int) -> None:
        self._ahead_ms += ms


class SystemChance:
    def token_bytes(self, count: int) -> bytes:
        return os.urandom(count)


class AsyncioLoop:
    """Runs the broker's tasks on an asyncio loop. All calls are made in the loop's thread, but for in_thread's work."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._threads = ThreadPoolExecutor(SYNC_THREADS, thread_name_prefix="oncelog")
        self._closed = False

    def call_soon(self, run: Callable[[], None]) -> None:
        self._loop.call_soon(run)

    def call_later(self, delay_ms: float, run: Callable[[], None]) -> Timer:
        return self._loop.call_later(max(delay_ms, 0) / 1000, run)

    def in_thread(self, run: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()

        def work() -> None:
            try:
                value = run()
            except BaseException as raised:  # noqa: BLE001  # carried over to whoever awaits the future
                fault = raised  # the name of an except clause is gone when the lambda runs
                settle(lambda: future.set_error(fault))
            else:
                settle(lambda: future.set_result(value))

        def settle(do: Callable[[], None]) -> None:
            if not self._loop.is_closed():  # else nobody is left to be told
                self._loop.call_soon_threadsafe(do)

        if not self._closed:  # else this life is over, by a stop or a kill: nothing happens any more
            self._threads.submit(work)
        return future

    def close(self) -> None:
        self._closed = True
        self._threads.shutdown(wait=True)


class _JumpTimer:
    __slots__ = ("cancelled", "run")

    def __init__(self, run: Callable[[], None]) -> None:
        self.run = run
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class JumpLoop(AsyncioLoop):
    """The same with timers that follow a clock that tests may jump ahead."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: SystemClock) -> None:
        super().__init__(loop)
        self._clock = clock
        self._timers: list[tuple[float, int, _JumpTimer]] = []
        self._count = 0
        self._armed: asyncio.TimerHandle | None = None

    def call_later(self, delay_ms: float, run: Callable[[], None]) -> Timer:
        timer = _JumpTimer(run)
        self._count += 1
        heapq.heappush(self._timers, (self._clock.monotonic_ms() + max(delay_ms, 0), self._count, timer))
        self._arm()
        return timer

    def jumped(self) -> None:
        """To be called after the clock was moved: runs what is due now, in order of its time."""
        self._fire()

    def _arm(self) -> None:
        if self._armed is not None:
            self._armed.cancel()
        delay_ms = max(self._timers[0][0] - self._clock.monotonic_ms(), 0)
        self._armed = self._loop.call_later(delay_ms / 1000, self._fire)

    def _fire(self) -> None:
        now = self._clock.monotonic_ms()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if not timer.cancelled:
                timer.run()
        if self._timers:
            self._arm()
