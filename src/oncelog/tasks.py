"""The few words of async that the broker speaks: Future, Task, spawn, sleep, within.

The broker's coroutines await nothing but these, so the same code runs on asyncio (server/loop.py) and on a seeded
virtual loop (sim/). A task runs at once until its first wait, so a request that needs no wait costs no loop turn.
"""

from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class Timer(Protocol):
    def cancel(self) -> None: ...


class Loop(Protocol):
    """What drives tasks: one thread, one call at a time, in the order in which they were asked for."""

    def call_soon(self, run: Callable[[], None]) -> None: ...
    def call_later(self, delay_ms: float, run: Callable[[], None]) -> Timer: ...
    def in_thread(self, run: Callable[[], T]) -> "Future[T]":
        """Runs blocking work (fdatasync, cleaning) beside the loop; the simulator runs it after a virtual delay."""
        ...


class Cancelled(BaseException):
    """Thrown into a task that is no longer wanted. Not an Exception: nothing but clean-up may catch it."""


class Future(Generic[T]):
    """A value that comes later. Callbacks run inside `set_*`; a waiting task goes on in the loop's next turn."""

    __slots__ = ("_callbacks", "_done", "_error", "_value")

    def __init__(self) -> None:
        self._done = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], None]] | None = None

    def done(self) -> bool:
        return self._done

    def set_result(self, value: T) -> None:
        assert not self._done
        self._done = True
        self._value = value
        self._run_callbacks()

    def set_error(self, error: BaseException) -> None:
        assert not self._done
        self._done = True
        self._error = error
        self._run_callbacks()

    def result(self) -> T:
        assert self._done
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # a cast would be a call for every append

    def add_callback(self, run: "Callable[[Future[T]], None]") -> None:
        if self._done:
            run(self)
        elif self._callbacks is None:
            self._callbacks = [run]
        else:
            self._callbacks.append(run)

    def remove_callback(self, run: "Callable[[Future[T]], None]") -> None:
        if self._callbacks is not None and run in self._callbacks:
            self._callbacks.remove(run)

    def _run_callbacks(self) -> None:
        callbacks = self._callbacks
        if callbacks is not None:
            self._callbacks = None
            for run in callbacks:
                run(self)

    def __await__(self) -> "Generator[Future[T], None, T]":
        if not self._done:
            yield self
        return self.result()


def resolved(value: T) -> Future[T]:
    """A future that is done already."""
    # By hand: there is one for every append, and nothing asks a future that is done for its callbacks.
    future: Future[T] = Future.__new__(Future)  # pyright: ignore[reportUnknownVariableType]
    future._done = True  # pyright: ignore[reportPrivateUsage]
    future._value = value  # pyright: ignore[reportPrivateUsage]
    future._error = None  # pyright: ignore[reportPrivateUsage]
    return future


class Task(Future[T]):
    """A coroutine under way; as a future it resolves to what the coroutine returns."""

    __slots__ = ("_coroutine", "_loop", "_waits_for", "name")

    def __init__(
        self,
        loop: Loop,
        coroutine: Coroutine[Any, Any, T],
        name: str = "",
        waits_for: Future[Any] | None = None,
    ) -> None:
        super().__init__()
        self._loop = loop
        self._coroutine = coroutine
        self._waits_for = waits_for
        self.name = name
        if waits_for is None:
            self._step()
        else:  # see `begun`
            waits_for.add_callback(self._wake)

    def cancel(self) -> None:
        """Ends the task at its present wait. A task that is done stays as it is."""
        if self._done:
            return
        if self._waits_for is not None:
            self._waits_for.remove_callback(self._wake)
            self._waits_for = None
        self._step(Cancelled())

    def _wake(self, _: Future[Any]) -> None:
        self._loop.call_soon(self._resume)

    def _resume(self) -> None:
        waits_for = self._waits_for
        # Otherwise it was cancelled between the wake-up and its turn.
        if waits_for is not None and waits_for.done():
            self._waits_for = None
            self._step()

    def _step(self, error: BaseException | None = None) -> None:
        try:
            waits_for = self._coroutine.send(None) if error is None else self._coroutine.throw(error)
        except StopIteration as stop:
            self.set_result(stop.value)
        except Cancelled as cancelled:
            self.set_error(cancelled)
        except Exception as fault:  # noqa: BLE001  # carried to whoever awaits the task
            self.set_error(fault)
        else:
            self._waits_for = waits_for
            waits_for.add_callback(self._wake)


def begun(loop: Loop, coroutine: Coroutine[Any, Any, T], waits_for: Future[Any]) -> Task[T]:
    """A task of a coroutine that somebody ran up to its first wait already, which is for this future."""
    return Task(loop, coroutine, waits_for=waits_for)


def spawn(loop: Loop, coroutine: Coroutine[Any, Any, T], name: str = "") -> Task[T]:
    """Runs the coroutine up to its first wait before it returns. Somebody must look at the result: see `supervise`."""
    return Task(loop, coroutine, name)


def supervise(task: Task[Any], on_fault: Callable[[str, BaseException], None]) -> None:
    """Reports what a background task raised (a cancel is no fault), so that no error is swallowed."""

    def look(done: Future[Any]) -> None:
        try:
            done.result()
        except Cancelled:
            pass
        except BaseException as fault:  # noqa: BLE001  # reported, not swallowed
            on_fault(task.name, fault)

    task.add_callback(look)


def after(loop: Loop, delay_ms: float) -> Future[None]:
    """A future that resolves after the delay."""
    future: Future[None] = Future()
    loop.call_later(delay_ms, lambda: None if future.done() else future.set_result(None))
    return future


async def sleep(loop: Loop, delay_ms: float) -> None:
    await after(loop, delay_ms)


async def within(loop: Loop, future: Future[Any], timeout_ms: float) -> bool:
    """Waits until the future is done or the time is up; tells whether it is done. The future itself is not cancelled."""
    if future.done():
        return True
    either: Future[bool] = Future()

    def decide(value: bool) -> None:
        if not either.done():
            either.set_result(value)

    def is_done(_: Future[Any]) -> None:
        decide(True)

    future.add_callback(is_done)
    timer = loop.call_later(timeout_ms, lambda: decide(False))
    try:
        return await either
    finally:
        timer.cancel()
        future.remove_callback(is_done)


class Gate:
    """Many wait, one opens: `wait()` gives a future that the next `open()` resolves."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: Future[None] | None = None

    def wait(self) -> Future[None]:
        if self._waiting is None:
            self._waiting = Future()
        return self._waiting

    def open(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.set_result(None)


class Turns:
    """One at a time, in the order of asking: `async with turns:`."""

    __slots__ = ("_taken", "_waiting")

    def __init__(self) -> None:
        self._taken = False
        self._waiting: deque[Future[None]] = deque()

    @property
    def taken(self) -> bool:
        return self._taken

    async def __aenter__(self) -> None:
        if not self._taken:
            self._taken = True
            return
        turn: Future[None] = Future()
        self._waiting.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done():  # our turn had come when we were cancelled: pass it on
                self._pass_on()
            else:
                self._waiting.remove(turn)
            raise

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # At GeneratorExit the collector found a coroutine whose loop is gone: nobody may be woken.
        if kind is not GeneratorExit:
            self._pass_on()

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self._taken = False
