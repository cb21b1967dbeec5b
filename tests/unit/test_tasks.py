"""Tasks: what runs at once, what waits for the loop's turn, what a cancel and a fault do."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from oncelog.tasks import Cancelled, Future, Gate, after, resolved, sleep, spawn, supervise, within

T = TypeVar("T")


class Tick:
    """A timer of `Turns`."""

    def __init__(self, at_ms: float, run: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.run = run
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Turns:
    """The smallest loop: calls run in the order in which they were asked for, time moves when told."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.ready: list[Callable[[], None]] = []
        self.timers: list[Tick] = []

    def call_soon(self, run: Callable[[], None]) -> None:
        self.ready.append(run)

    def call_later(self, delay_ms: float, run: Callable[[], None]) -> Tick:
        self.timers.append(Tick(self.now_ms + delay_ms, run))
        return self.timers[-1]

    def in_thread(self, run: Callable[[], T]) -> Future[T]:
        return resolved(run())

    def turn(self) -> None:
        """Runs what is ready now, not what becomes ready by it."""
        ready, self.ready = self.ready, []
        for run in ready:
            run()

    def settle(self) -> None:
        while self.ready:
            self.turn()

    def advance(self, delay_ms: float) -> None:
        self.now_ms += delay_ms
        due = sorted((each for each in self.timers if each.at_ms <= self.now_ms), key=lambda each: each.at_ms)
        for timer in due:
            self.timers.remove(timer)
            if not timer.cancelled:
                timer.run()
        self.settle()


@pytest.fixture
def loop() -> Turns:
    return Turns()


def test_a_task_without_a_wait_is_done_when_spawn_returns(loop: Turns) -> None:
    async def answer() -> int:
        return await resolved(20) + 1

    task = spawn(loop, answer())
    assert task.done()
    assert task.result() == 21
    assert loop.ready == []


def test_a_task_runs_up_to_its_first_wait_and_goes_on_in_a_later_turn(loop: Turns) -> None:
    said: list[str] = []
    door: Future[str] = Future()

    async def work() -> None:
        said.append("before")
        said.append(await door)

    task = spawn(loop, work())
    assert said == ["before"]
    door.set_result("after")
    assert said == ["before"], "the one who sets a result is not interrupted by the one who waits"
    loop.turn()
    assert said == ["before", "after"]
    assert task.done()


def test_waiters_go_on_in_the_order_in_which_they_began_to_wait(loop: Turns) -> None:
    said: list[int] = []
    door: Future[None] = Future()

    async def work(number: int) -> None:
        await door
        said.append(number)

    for number in range(5):
        spawn(loop, work(number))
    door.set_result(None)
    loop.settle()
    assert said == [0, 1, 2, 3, 4]


def test_a_fault_reaches_whoever_awaits_the_task(loop: Turns) -> None:
    door: Future[None] = Future()

    async def fails() -> None:
        await door
        raise ValueError("broken")

    async def waits() -> str:
        try:
            await spawn(loop, fails())
        except ValueError as fault:
            return f"saw {fault}"
        return "saw nothing"

    outer = spawn(loop, waits())
    door.set_result(None)
    loop.settle()
    assert outer.result() == "saw broken"


def test_a_future_given_an_error_raises_it_at_the_wait(loop: Turns) -> None:
    door: Future[None] = Future()

    async def work() -> None:
        await door

    task = spawn(loop, work())
    door.set_error(OSError("disk"))
    loop.settle()
    with pytest.raises(OSError, match="disk"):
        task.result()


def test_a_future_is_settled_once() -> None:
    done = resolved(1)
    with pytest.raises(AssertionError):
        done.set_result(2)
    with pytest.raises(AssertionError):
        done.set_error(ValueError())
    assert done.result() == 1


def test_the_result_of_an_unsettled_future_cannot_be_had() -> None:
    with pytest.raises(AssertionError):
        Future[int]().result()


def test_callbacks_run_when_set_at_once_when_done_and_never_when_removed() -> None:
    said: list[str] = []
    door: Future[int] = Future()
    removed: Callable[[Future[int]], None] = lambda _: said.append("removed")  # noqa: E731  # the same object twice
    door.add_callback(lambda done: said.append(f"first {done.result()}"))
    door.add_callback(removed)
    door.add_callback(lambda done: said.append(f"second {done.result()}"))
    door.remove_callback(removed)
    door.set_result(7)
    assert said == ["first 7", "second 7"]
    door.add_callback(lambda done: said.append(f"late {done.result()}"))
    assert said == ["first 7", "second 7", "late 7"]


def test_cancel_ends_a_task_at_its_wait_and_runs_its_clean_up(loop: Turns) -> None:
    said: list[str] = []
    door: Future[None] = Future()

    async def work() -> None:
        try:
            await door
        finally:
            said.append("cleaned up")

    task = spawn(loop, work())
    task.cancel()
    assert said == ["cleaned up"]
    assert task.done()
    with pytest.raises(Cancelled):
        task.result()
    door.set_result(None)
    loop.settle()
    assert said == ["cleaned up"], "a cancelled task is not woken"


def test_cancel_between_the_wake_up_and_the_turn_wins(loop: Turns) -> None:
    said: list[str] = []
    door: Future[None] = Future()

    async def work() -> None:
        await door
        said.append("went on")

    task = spawn(loop, work())
    door.set_result(None)
    task.cancel()
    loop.settle()
    assert said == []
    with pytest.raises(Cancelled):
        task.result()


def test_cancel_of_a_task_that_is_done_changes_nothing(loop: Turns) -> None:
    async def answer() -> int:
        return 3

    task = spawn(loop, answer())
    task.cancel()
    assert task.result() == 3


def test_except_exception_does_not_catch_a_cancel(loop: Turns) -> None:
    async def stubborn() -> str:
        try:
            await Future[None]()
        except Exception:  # noqa: BLE001  # the point of the test
            return "caught"
        return "went on"

    task = spawn(loop, stubborn())
    task.cancel()
    with pytest.raises(Cancelled):
        task.result()


def test_a_task_that_waits_again_during_its_clean_up_is_woken_for_that(loop: Turns) -> None:
    said: list[str] = []
    door: Future[None] = Future()
    closing: Future[None] = Future()

    async def work() -> None:
        try:
            await door
        finally:
            await closing
            said.append("closed")

    task = spawn(loop, work())
    door.set_result(None)  # its wake-up is under way when the cancel comes
    task.cancel()
    loop.settle()
    assert said == []
    assert not task.done()
    closing.set_result(None)
    loop.settle()
    assert said == ["closed"]
    with pytest.raises(Cancelled):
        task.result()


def test_supervise_reports_faults_by_the_name_of_the_task_and_says_nothing_of_cancels(loop: Turns) -> None:
    faults: list[tuple[str, str]] = []

    async def work(door: Future[None]) -> None:
        await door

    broken: Future[None] = Future()
    first = spawn(loop, work(broken), name="cleaner")
    second = spawn(loop, work(Future()), name="retention")
    third = spawn(loop, work(resolved(None)), name="done")
    for task in (first, second, third):
        supervise(task, lambda name, fault: faults.append((name, str(fault))))
    second.cancel()
    broken.set_error(RuntimeError("no space"))
    loop.settle()
    assert faults == [("cleaner", "no space")]


def test_sleep_lasts_as_long_as_it_says(loop: Turns) -> None:
    task = spawn(loop, sleep(loop, 50))
    loop.advance(49)
    assert not task.done()
    loop.advance(1)
    assert task.done()


def test_after_may_be_resolved_early_by_somebody_else(loop: Turns) -> None:
    pause = after(loop, 50)
    pause.set_result(None)
    loop.advance(50)
    assert pause.done()


def test_within_says_true_when_the_future_comes_first_and_forgets_its_timer(loop: Turns) -> None:
    door: Future[int] = Future()
    task = spawn(loop, within(loop, door, 100))
    loop.advance(99)
    door.set_result(1)
    loop.settle()
    assert task.result() is True
    assert [timer.cancelled for timer in loop.timers] == [True]


def test_within_says_false_when_the_time_is_up_and_leaves_the_future_alone(loop: Turns) -> None:
    door: Future[int] = Future()
    task = spawn(loop, within(loop, door, 100))
    loop.advance(100)
    assert task.result() is False
    assert not door.done()
    door.set_result(1)  # late, and nobody minds
    assert door.result() == 1


def test_within_takes_the_first_of_two_that_come_in_one_turn(loop: Turns) -> None:
    door: Future[int] = Future()
    task = spawn(loop, within(loop, door, 100))
    loop.timers[0].run()
    door.set_result(1)
    loop.settle()
    assert task.result() is False


def test_within_leaves_no_callback_behind_on_a_future_that_outlives_it(loop: Turns) -> None:
    class Counted(Future[int]):
        callbacks = 0

        def add_callback(self, run: Callable[[Future[int]], None]) -> None:
            self.callbacks += 1
            super().add_callback(run)

        def remove_callback(self, run: Callable[[Future[int]], None]) -> None:
            self.callbacks -= 1
            super().remove_callback(run)

    door = Counted()
    for _ in range(3):  # as long polls do on a partition where nothing arrives
        spawn(loop, within(loop, door, 100))
    assert door.callbacks == 3
    loop.advance(100)
    assert door.callbacks == 0


def test_within_of_a_future_that_is_done_needs_no_timer(loop: Turns) -> None:
    assert spawn(loop, within(loop, resolved(1), 100)).result() is True
    assert loop.timers == []


def test_within_counts_an_error_as_done(loop: Turns) -> None:
    door: Future[int] = Future()
    task = spawn(loop, within(loop, door, 100))
    door.set_error(ValueError())
    loop.settle()
    assert task.result() is True


def test_a_gate_lets_all_through_who_wait_and_is_shut_again(loop: Turns) -> None:
    said: list[str] = []
    gate = Gate()

    async def work(name: str) -> None:
        await gate.wait()
        said.append(name)

    gate.open()  # nobody waits: nothing is remembered
    spawn(loop, work("a"))
    spawn(loop, work("b"))
    assert said == []
    gate.open()
    spawn(loop, work("late"))
    loop.settle()
    assert said == ["a", "b"]
    gate.open()
    loop.settle()
    assert said == ["a", "b", "late"]
