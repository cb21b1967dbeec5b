"""What all partitions of one engine share: the doors, the settings, and the group commit."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, Protocol

from oncelog.config import BrokerConfig
from oncelog.engine.classic.segment import IndexCache
from oncelog.engine.times import Times
from oncelog.ports import Clock, Disk, File
from oncelog.tasks import Future, Gate, Loop, sleep, spawn, supervise

PARALLEL_SYNCS: Final = 4  # one journal commit of the file system then serves several files
SYNC_FILES: Final = 128  # of one call: each needs a descriptor while it is synced
SLICE_MS: Final = 3
MANY_FILES: Final = 16  # from here on one sweep serves them all (engine/disk.py)


class Synced(Protocol):
    """Who has bytes that the group commit shall make durable."""

    def begin_sync(self) -> tuple[list[File], list[Callable[[], None]]]:
        """The files to sync, and other work of the same round that blocks. All that was written before now counts."""
        ...

    def end_sync(self) -> None: ...
    def fail_sync(self, fault: BaseException) -> None: ...


class Syncer:
    """Group commit: one round at a time; whoever comes while it runs shares the next one.

    A failed round is the last: the kernel has dropped the pages, so another sync would answer for nothing.
    """

    def __init__(
        self, disk: Disk, loop: Loop, clock: Clock, on_fault: Callable[[BaseException], None]
    ) -> None:
        self._clock = clock
        self._disk = disk
        self._loop = loop
        self._on_fault = on_fault
        self._dirty: dict[Synced, None] = {}
        self._round: list[Synced] = []
        self._files: list[File] = []
        self._chores: list[Callable[[], None]] = []
        self._running = False
        self._left = 0
        self._over = Gate()  # opened at the end of every round
        self._idle = Gate()
        self._began_ns = 0
        self.rounds = 0
        self.synced_files = 0
        self.times = Times()  # of whole rounds

    def add(self, dirty: Synced) -> None:
        self._dirty[dirty] = None
        if not self._running:
            self._running = True
            self._loop.call_soon(self._begin)  # what else arrives in this turn shares the round

    def drop(self, gone: Synced) -> None:
        self._dirty.pop(gone, None)

    def _begin(self) -> None:
        self._round, self._dirty = list(self._dirty), {}
        self.rounds += 1
        self._began_ns = self._clock.monotonic_ns()
        self._files, self._chores = [], []
        try:
            for each in self._round:
                files, chores = each.begin_sync()
                self._files += files
                self._chores += chores
            self.synced_files += len(self._files)
        except Exception as fault:  # noqa: BLE001  # told to all who wait, and to the engine
            self._fail(fault)
            return
        self._next()

    def _wait(self, futures: Sequence[Future[None]]) -> None:
        self._left = len(futures)
        for future in futures:
            future.add_callback(self._one_done)

    def _one_done(self, future: Future[None]) -> None:
        try:
            future.result()
        except Exception as fault:  # noqa: BLE001  # told to all who wait, and to the engine
            self._fail(fault)
            return
        self._left -= 1
        if self._left == 0:
            self._next()

    def _next(self) -> None:
        """Files first, then directories: after a sweep of the file system they have little left to do."""
        files, self._files = self._files[:SYNC_FILES], self._files[SYNC_FILES:]
        if files:
            groups = min(PARALLEL_SYNCS, len(files)) if len(files) < MANY_FILES else 1
            try:
                futures = [self._disk.sync(files[at::groups]) for at in range(groups)]
            except Exception as fault:  # noqa: BLE001  # told to all who wait, and to the engine
                self._fail(fault)
                return
            self._wait(futures)
        elif self._chores:
            chores, self._chores = self._chores, []
            groups = min(PARALLEL_SYNCS, len(chores))
            work = [chores[at::groups] for at in range(groups)]
            self._wait([self._loop.in_thread(lambda mine=mine: _run_all(mine)) for mine in work])
        else:
            self._end()

    def _end(self) -> None:
        self.times.add(self._clock.monotonic_ns() - self._began_ns)
        done, self._round = self._round, []
        for each in done:
            each.end_sync()
        self._over.open()
        if self._dirty:
            self._begin()
        else:
            self._running = False
            self._idle.open()

    async def round_over(self) -> None:
        """Waits for the round that runs now: who was dropped is in no later one. Under load there is always another."""
        if self._running and self._left >= 0:
            await self._over.wait()

    async def quiet(self) -> None:
        """Waits until no round runs. After a failed one it does not wait."""
        while self._running and self._left >= 0:
            await self._idle.wait()

    def _fail(self, fault: BaseException) -> None:
        self._left = -1  # no later success of the same round may end it
        failed = [*self._round, *self._dirty]
        self._round, self._dirty = [], {}
        for each in failed:
            each.fail_sync(fault)
        self._over.open()
        self._idle.open()
        self._on_fault(fault)


def _run_all(chores: Sequence[Callable[[], None]]) -> None:
    for chore in chores:
        chore()


def settled(future: Future[Any]) -> Future[None]:
    """Resolves when the other is done, whatever came of it."""
    done: Future[None] = Future()
    future.add_callback(lambda _: done.set_result(None))
    return done


class Slices:
    """Gives the loop back to others every few milliseconds of a long work."""

    def __init__(self, loop: Loop, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock
        self._began = clock.monotonic_ms()

    async def rest(self) -> None:
        if self._clock.monotonic_ms() - self._began >= SLICE_MS:
            await sleep(self._loop, 0)
            self._began = self._clock.monotonic_ms()


async def _nothing() -> None:
    return


class Store:
    """The doors and the settings, and what goes on in the background."""

    def __init__(self, disk: Disk, loop: Loop, clock: Clock, config: BrokerConfig) -> None:
        self.disk = disk
        self.loop = loop
        self.clock = clock
        self.config = config
        self.power = config.durability == "power"
        self.cache = IndexCache()
        self.failed: Future[BaseException] = Future()
        self.syncer = Syncer(disk, loop, clock, self.fail)
        self.stopping = False
        self.stopped = False
        # Counted for Engine.figures; one addition each.
        self.batches = 0
        self.records = 0
        self.appended_bytes = 0
        self.duplicates = 0
        self.aborted_bytes = 0
        self.markers = 0
        self.rolls = 0
        self.keep_log_starts: Callable[[], Coroutine[Any, Any, None]] = _nothing  # the engine knows how
        self._tasks: dict[Future[None], None] = {}
        self._deletions: dict[str, None] = {}

    def fail(self, fault: BaseException) -> None:
        """The disk is no longer to be believed: whoever watches `failed` stops the process."""
        if not self.failed.done():
            self.failed.set_result(fault)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> Future[None]:
        """Runs in the background; a fault there is a fault of the engine."""
        task = spawn(self.loop, work, name)
        supervise(task, lambda _, fault: self.fail(fault))
        self._hold(task)
        return task

    def _hold(self, work: Future[None]) -> None:
        if not work.done():
            self._tasks[work] = None
            work.add_callback(lambda done: self._tasks.pop(done, None))

    async def quiet(self) -> None:
        """Waits until nothing goes on in the background, the group commit included."""
        await self.syncer.quiet()
        while self._tasks:
            await settled(next(iter(self._tasks)))

    def remove_later(self, paths: Sequence[str], delay_ms: int) -> None:
        """Removes files that have been renamed out of the way, after the delay or when the engine stops."""
        for path in paths:
            self._deletions[path] = None

        def remove() -> None:
            if not self.stopped:
                self._remove([path for path in paths if path in self._deletions])

        self.loop.call_later(delay_ms, remove)

    def remove_now(self) -> None:
        self._remove(list(self._deletions))

    def _remove(self, paths: Sequence[str]) -> None:
        for path in paths:
            del self._deletions[path]

        def work() -> None:
            for path in paths:
                self.disk.remove(path)

        removal = self.loop.in_thread(work)
        self._hold(removal)
        removal.add_callback(self._look)

    def _look(self, done: Future[None]) -> None:
        try:
            done.result()
        except Exception as fault:  # noqa: BLE001  # told to the engine
            self.fail(fault)
