"""A loop, a clock and dice that one seed decides: the simulated side of tasks.Loop and ports."""

import random
from collections import Counter, deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final, TypeVar

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


class _Event(list[Any]):
    """[virtual time, counter, call or None, whose]: a list, for there are thousands in a seed, and the heap compares them
    by their first two without a step of the interpreter."""

    __slots__ = ()

    def cancel(self) -> None:
        self[2] = None


class VirtualLoop:
    """A heap of (virtual time, counter, call). Nothing happens but by `step`; time passes only between events.

    What is to happen at once stands in a queue beside the heap: the order is that of one heap, and half of all events are
    such.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.heap: list[_Event] = []
        self.soon: deque[tuple[int, Callable[[], None], Owner]] = deque()  # (counter, call, whose)
        self.count = 0
        self.now_ms: float = 0.0
        self.longest_work_ms = 4.0  # of what runs beside the loop: a slow disk
        self.steps = 0
        self._is_paused = False

    def call_soon(self, run: Callable[[], None], owner: Owner = NOBODY) -> None:
        self.count += 1
        self.soon.append((self.count, run, owner))

    def call_later(self, delay_ms: float, run: Callable[[], None], owner: Owner = NOBODY) -> Timer:
        self.count = count = self.count + 1
        at = self.now_ms
        event = _Event((at + delay_ms if delay_ms > 0.0 else at, count, run, owner))
        heappush(self.heap, event)
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

        delay_ms = 0.05 + (self.longest_work_ms - 0.05) * self._rng.random()  # as rng.uniform has it
        self.call_later(delay_ms, work, owner)
        return future

    def step(self) -> bool:
        """Runs the next event; False if there is none."""
        heap, soon = self.heap, self.soon
        while True:
            if soon and not (heap and heap[0][0] <= self.now_ms and heap[0][1] < soon[0][0]):
                _, run, owner = soon.popleft()
            elif heap:
                at, _, run, owner = heappop(heap)
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
        heap, soon = self.heap, self.soon
        # `step`, written out: a call for each event is a hundredth of a seed.
        while not self._is_paused and self.steps <= limit_steps:
            if soon and not (heap and heap[0][0] <= self.now_ms and heap[0][1] < soon[0][0]):
                _, run, owner = soon.popleft()
            elif heap:
                at, _, run, owner = heappop(heap)
                if run is None or not owner.alive:
                    continue
                self.now_ms = at
            else:
                return False
            if owner.alive:
                self.steps += 1
                run()
        self._is_paused = False
        return True

    def pause(self) -> None:
        self._is_paused = True

    def due(self, owner: Owner) -> Counter[str]:
        """What is still to happen for this owner, by name."""
        calls = [run for _, _, run, whose in self.heap if whose is owner and run is not None]
        calls += [run for _, run, whose in self.soon if whose is owner]
        return Counter(run.__qualname__ for run in calls)

    def drop_all(self) -> None:
        """The machine lost its power: nothing that was to happen will."""
        self.heap.clear()
        self.soon.clear()


class MachineLoop(Owner):
    """The loop as one life of the broker's machine sees it: after a crash none of its events happens any more."""

    __slots__ = ("_heap", "_loop", "_soon")

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop
        self._heap, self._soon = loop.heap, loop.soon

    # Both as the loop has them: written out, for they are called for nearly every event.
    def call_soon(self, run: Callable[[], None]) -> None:
        loop = self._loop
        loop.count = count = loop.count + 1
        self._soon.append((count, run, self))

    def call_later(self, delay_ms: float, run: Callable[[], None]) -> Timer:
        loop = self._loop
        loop.count = count = loop.count + 1
        at = loop.now_ms
        event = _Event((at + delay_ms if delay_ms > 0.0 else at, count, run, self))
        heappush(self._heap, event)
        return event

    def in_thread(self, run: Callable[[], T]) -> Future[T]:
        return self._loop.in_thread(run, self)

    def due(self) -> Counter[str]:
        """What is still to happen, by name."""
        return self._loop.due(self)


class VirtualClock:
    """Wall and monotonic clock of the virtual loop; the wall clock may be shifted."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.wall_shift_ms = 0

    def wall_ms(self) -> Millis:
        # Not Millis(...): that would be a call for each of thousands of looks.
        return START_WALL_MS + int(self._loop.now_ms) + self.wall_shift_ms  # type: ignore[return-value]  # as above

    def monotonic_ms(self) -> Millis:
        return Millis(int(self._loop.now_ms))

    def monotonic_ns(self) -> int:
        return int(self._loop.now_ms * 1_000_000)


class SeededChance:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def token_bytes(self, count: int) -> bytes:
        return self._rng.randbytes(count)
