"""A loop, a clock and dice that one seed decides: the simulated side of tasks.Loop and ports."""

import heapq
import random
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeVar

from oncelog.model import Millis
from oncelog.tasks import Future, Timer

T = TypeVar("T")

START_WALL_MS: Final = 1_700_000_000_000


class Owner:
    """Whose event it is. What the dead had asked for does not happen."""

    __slots__ = ("alive",)

    def __init__(self) -> None:
        self.alive = True


NOBODY: Final = Owner()


class _Event:
    __slots__ = ("owner", "run")

    def __init__(self, run: Callable[[], None], owner: Owner) -> None:
        self.run: Callable[[], None] | None = run
        self.owner = owner

    def cancel(self) -> None:
        self.run = None


class VirtualLoop:
    """A heap of (virtual time, counter, call). Nothing happens but by `step`; time passes only between events."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._heap: list[tuple[float, int, _Event]] = []
        self._count = 0
        self.now_ms: float = 0.0
        self.longest_work_ms = 4.0  # of what runs beside the loop: a slow disk
        self.steps = 0

    def call_soon(self, run: Callable[[], None], owner: Owner = NOBODY) -> None:
        self._count += 1
        heapq.heappush(self._heap, (self.now_ms, self._count, _Event(run, owner)))

    def call_later(self, delay_ms: float, run: Callable[[], None], owner: Owner = NOBODY) -> Timer:
        return self._push(max(delay_ms, 0.0), run, owner)

    def in_thread(self, run: Callable[[], T], owner: Owner = NOBODY) -> Future[T]:
        """The work happens at one instant of virtual time, after a delay that the seed draws; not at all, and nobody
        hears of it, if its owner is dead by then."""
        future: Future[T] = Future()

        def work() -> None:
            try:
                value = run()
            except Exception as fault:  # noqa: BLE001  # carried over to whoever awaits the future
                future.set_error(fault)
            else:
                future.set_result(value)

        self._push(self._rng.uniform(0.05, self.longest_work_ms), work, owner)
        return future

    def step(self) -> bool:
        """Runs the next event; False if there is none."""
        while self._heap:
            at, _, event = heapq.heappop(self._heap)
            run = event.run
            if run is not None and event.owner.alive:
                self.now_ms = at
                self.steps += 1
                run()
                return True
        return False

    def due(self, owner: Owner) -> Counter[str]:
        """What is still to happen for this owner, by name."""
        return Counter(
            getattr(event.run, "__qualname__", "")
            for _, _, event in self._heap
            if event.owner is owner and event.run is not None
        )

    def drop_all(self) -> None:
        """The machine lost its power: nothing that was to happen will."""
        self._heap.clear()

    def _push(self, delay_ms: float, run: Callable[[], None], owner: Owner) -> _Event:
        event = _Event(run, owner)
        self._count += 1
        heapq.heappush(self._heap, (self.now_ms + delay_ms, self._count, event))
        return event


class VirtualClock:
    """Wall and monotonic clock of the virtual loop; the wall clock may be shifted."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.wall_shift_ms = 0

    def wall_ms(self) -> Millis:
        return Millis(START_WALL_MS + int(self._loop.now_ms) + self.wall_shift_ms)

    def monotonic_ms(self) -> Millis:
        return Millis(int(self._loop.now_ms))

    def monotonic_ns(self) -> int:
        return int(self._loop.now_ms * 1_000_000)


class SeededChance:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def token_bytes(self, count: int) -> bytes:
        return self._rng.randbytes(count)
