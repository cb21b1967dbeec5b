"""A loop, a clock and dice that one seed decides: the simulated side of tasks.Loop and ports."""

import random
from collections import Counter, deque
from collections.abc import Callable
from heapq import heappop, heappush
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
    """A heap of (virtual time, counter, call). Nothing happens but by `step`; time passes only between events.

    What is to happen at once stands in a queue beside the heap: the order is that of one heap, and half of all events are
    such.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._heap: list[tuple[float, int, _Event]] = []
        self._soon: deque[tuple[int, Callable[[], None], Owner]] = deque()  # (counter, call, whose)
        self._count = 0
        self.now_ms: float = 0.0
        self.longest_work_ms = 4.0  # of what runs beside the loop: a slow disk
        self.steps = 0
        self._is_paused = False

    def call_soon(self, run: Callable[[], None], owner: Owner = NOBODY) -> None:
        self._count += 1
        self._soon.append((self._count, run, owner))

    def call_later(self, delay_ms: float, run: Callable[[], None], owner: Owner = NOBODY) -> Timer:
        self._count += 1
        event = _Event(run, owner)
        at = self.now_ms
        heappush(self._heap, (at + delay_ms if delay_ms > 0.0 else at, self._count, event))
        return event

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

        self.call_later(self._rng.uniform(0.05, self.longest_work_ms), work, owner)
        return future

    def step(self) -> bool:
        """Runs the next event; False if there is none."""
        heap, soon = self._heap, self._soon
        while True:
            if soon and not (heap and heap[0][0] <= self.now_ms and heap[0][1] < soon[0][0]):
                _, run, owner = soon.popleft()
            elif heap:
                at, _, event = heappop(heap)
                run, owner = event.run, event.owner
                if run is None or not owner.alive:
                    continue
                self.now_ms = at
            else:
                return False
            if owner.alive:
                self.steps += 1
                run()
                return True

    def run(self, limit_steps: int) -> bool:
        """Steps until somebody says `pause` or the limit is passed; False if there is nothing more to do."""
        step = self.step
        while not self._is_paused and self.steps <= limit_steps:
            if not step():
                return False
        self._is_paused = False
        return True

    def pause(self) -> None:
        self._is_paused = True

    def due(self, owner: Owner) -> Counter[str]:
        """What is still to happen for this owner, by name."""
        calls = [event.run for _, _, event in self._heap if event.owner is owner and event.run is not None]
        calls += [run for _, run, whose in self._soon if whose is owner]
        # A compiled closure (decision 0023) has no name but its class's.
        return Counter(getattr(run, "__qualname__", type(run).__qualname__) for run in calls)

    def drop_all(self) -> None:
        """The machine lost its power: nothing that was to happen will."""
        self._heap.clear()
        self._soon.clear()


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
