"""A disk in memory that can lose power: what was synced stays, the rest may be torn. One seed decides what.

A file has the bytes of the page cache and those on the platter; a directory has its entries and a journal of changes
that were not synced. kill -9 takes nothing of either. A power cut keeps of each directory's journal some first part (so a
rename happened or did not), and of each file's unsynced bytes none, all, or some length, sector by sector kept, zeroed or
garbled. A sync makes durable what is there when it is asked for: what is written while it is under way it may miss.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, Literal, cast

from oncelog.errors import StorageFault
from oncelog.ports import Bytes, File
from oncelog.tasks import Future, Loop

SECTOR_BYTES: Final = 512
Loss = Literal["dice", "lost", "kept", "names"]
"""What a power cut takes of what is not synced: what the dice say, all, nothing, or all but the names in directories."""


class _Sync:
    """One sync of a file, under way."""

    __slots__ = ("is_whole", "upto")

    def __init__(self, upto: int) -> None:
        self.upto = upto  # bytes of the page cache that will be durable
        self.is_whole = True  # nothing was rewritten or cut off since


class _Node:
    """A file's bytes."""

    __slots__ = ("cache", "changed_from", "dropped", "durable", "handles", "life", "under_way")

    def __init__(self) -> None:
        self.handles = 0  # open ones, of this life
        self.life = 0
        self.cache = bytearray()
        self.durable = bytearray()
        self.changed_from: int | None = (
            None  # lowest byte below the durable length changed since the last sync
        )
        self.dropped: list[
            tuple[int, int]
        ] = []  # ranges that a failed sync gave up: the kernel calls them clean
        self.under_way: list[_Sync] = []

    def copy(self) -> "_Node":
        found = _Node()
        found.cache[:] = found.durable[:] = self.cache
        return found

    def begin_sync(self) -> _Sync:
        sync = _Sync(len(self.cache))
        self.under_way.append(sync)
        return sync

    def end_sync(self, sync: _Sync) -> None:
        self.under_way.remove(sync)
        start, upto = self._first_unsafe(), sync.upto
        if upto > start:  # else one that began later was faster
            self.durable[start:upto] = memoryview(self.cache)[start:upto]
        if self.changed_from is not None:
            if sync.is_whole:
                del self.durable[upto:]
            unsafe = max(self.changed_from, upto)
            self.changed_from = unsafe if unsafe < len(self.durable) else None
        for first, end in self.dropped:
            end = min(end, len(self.durable))
            self.durable[first:end] = bytes(max(end - first, 0))

    def change_from(self, at: int) -> None:
        """Bytes from `at` on were rewritten or cut off: until the next sync they may be the old or the new ones."""
        for sync in self.under_way:
            sync.upto, sync.is_whole = min(sync.upto, at), False
        if at < len(self.durable):
            self.changed_from = at if self.changed_from is None else min(at, self.changed_from)

    def _first_unsafe(self) -> int:
        return len(self.durable) if self.changed_from is None else self.changed_from

    def drop(self) -> None:
        """A sync failed: what was dirty is forgotten, and a second sync would not write it."""
        start = self._first_unsafe()
        if start < len(self.cache):
            self.dropped.append((start, len(self.cache)))

    def lose_power(self, random: Random, loss: Loss) -> None:
        if len(self.cache) != len(self.durable) or self.changed_from is not None or self.dropped:
            self._lose(random, loss)
            self.durable[:] = self.cache
            self.changed_from = None
            self.dropped.clear()
        self.under_way.clear()

    def _lose(self, random: Random, loss: Loss) -> None:
        start = self._first_unsafe()
        if loss == "dice" and self.changed_from is not None and random.random() < 0.5:
            loss = "lost"
        if loss in ("lost", "names"):
            self.cache[:] = self.durable
            return
        self.cache[:start] = self.durable[:start]  # where a sync failed the two differ
        if loss == "kept":
            return
        share = random.random()
        if share < 0.3:
            del self.cache[start:]
        elif share >= 0.6:
            del self.cache[random.randint(start, len(self.cache)) :]
        kept = len(self.cache)
        for sector in range(start // SECTOR_BYTES, -(-kept // SECTOR_BYTES) if kept > start else 0):
            at, end = max(sector * SECTOR_BYTES, start), min((sector + 1) * SECTOR_BYTES, kept)
            fate = random.random()
            if fate < 0.15:
                self.cache[at:end] = bytes(end - at)
            elif fate < 0.25:
                self.cache[random.randrange(at, end)] ^= 1 << random.randrange(8)


class _Directory:
    """A directory's entries, and what changed since it was last synced."""

    __slots__ = ("changes", "durable", "entries")

    def __init__(self) -> None:
        self.entries: dict[str, _Node | _Directory] = {}
        self.durable: dict[str, _Node | _Directory] = {}
        self.changes: list[dict[str, _Node | _Directory | None]] = []

    def copy(self) -> "_Directory":
        found = _Directory()
        found.entries = {name: node.copy() for name, node in self.entries.items()}
        found.durable = dict(found.entries)
        return found

    def change(self, entries: "dict[str, _Node | _Directory | None]") -> None:
        _apply(self.entries, entries)
        self.changes.append(entries)

    def sync(self) -> None:
        self.durable = dict(self.entries)
        self.changes.clear()

    def lose_power(self, random: Random, loss: Loss) -> None:
        count = len(self.changes)
        left = random.randint(0, count) if loss == "dice" else 0 if loss == "lost" else count
        for each in self.changes[:left]:
            _apply(self.durable, each)
        self.entries = dict(self.durable)
        self.changes.clear()
        for _, node in sorted(self.entries.items()):
            node.lose_power(random, loss)


def _apply(entries: "dict[str, _Node | _Directory]", change: "dict[str, _Node | _Directory | None]") -> None:
    for name, node in change.items():
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


class Faults:
    """What goes wrong next. All counters run down; None and False mean: nothing."""

    def __init__(self) -> None:
        self.space_left_bytes: int | None = None  # a write beyond it is cut short, then ENOSPC
        self.writes_until_error: int | None = None  # the n-th write from now fails with EIO
        self.syncs_until_error: int | None = (
            None  # the n-th sync from now fails, and its dirty pages are gone
        )
        self.only_paths_with: str = ""  # the faults above meet only paths that hold this text
        self.part_before_crash = (
            0.0  # of the write at which `before_change` raises a crash: it was short, and nobody went on
        )

    def meets(self, path: str) -> bool:
        return self.only_paths_with in path


class MemoryFile:
    """A handle; it dies with the crash after it was opened."""

    __slots__ = ("_closed", "_disk", "_life", "_node", "path")

    def __init__(self, disk: "MemoryDisk", path: str, node: _Node) -> None:
        self._disk = disk
        self._life = disk.life
        self._node = node
        self._closed = False
        self.path = path
        if node.life != disk.life:  # those of the life before died with it
            node.life, node.handles = disk.life, 0
            node.under_way.clear()
        node.handles += 1
        disk.opened[node] = path

    def _alive(self) -> _Node:
        if self._life != self._disk.life:
            raise StorageFault(f"{self.path}: opened before the crash")
        return self._node

    def size(self) -> int:
        return len(self._alive().cache)

    def append(self, pieces: Sequence[Bytes]) -> None:
        node = self._alive()
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        before = len(node.cache)
        try:
            allowed = self._disk.allow_write(self.path, len(data))
        except StorageFault:
            raise
        except (
            BaseException
        ):  # a crash: RealFile writes on behind a short write, and may be killed before it does
            node.cache += data[: int(self._disk.faults.part_before_crash * len(data))]
            raise
        node.cache += data if allowed == len(data) else data[:allowed]
        if allowed < len(data):
            del node.cache[before:]  # as RealFile: a failed append is cut off again
            self._disk.fail("write", self.path, "No space left on device")

    def write_at(self, at: int, data: Bytes) -> None:
        node = self._alive()
        if self._disk.allow_write(self.path, len(data)) < len(data):
            self._disk.fail("write", self.path, "No space left on device")
        node.change_from(at)
        if at > len(node.cache):
            node.cache += bytes(at - len(node.cache))
        node.cache[at : at + len(data)] = data

    def read(self, at: int, size: int) -> bytes:
        return bytes(memoryview(self._alive().cache)[at : at + size])

    def truncate(self, size: int) -> None:
        node = self._alive()
        self._disk.check("truncate", self.path)
        node.change_from(size)
        if size < len(node.cache):
            del node.cache[size:]
        else:
            node.cache += bytes(size - len(node.cache))

    def close(self) -> None:
        if self._closed or self._life != self._disk.life:
            return
        self._closed = True
        self._node.handles -= 1
        if not self._node.handles:
            del self._disk.opened[self._node]

    def begin_sync(self) -> _Sync:
        return self._alive().begin_sync()

    def end_sync(self, sync: _Sync) -> None:
        node = self._alive()
        self._disk.check("sync", self.path)
        faults = self._disk.faults
        if faults.syncs_until_error is not None and faults.meets(self.path):
            faults.syncs_until_error -= 1
            if faults.syncs_until_error <= 0:
                faults.syncs_until_error = None
                node.drop()
                self._disk.fail("fdatasync", self.path, "Input/output error")
        node.end_sync(sync)


class MemoryDisk:
    """The Disk of tests and of the simulator. `random` decides what a power cut leaves, and nothing else."""

    def __init__(self, loop: Loop, random: Random) -> None:
        self.loop = loop
        self.life = 0  # rises with every crash
        self.fault: StorageFault | None = None
        self.faults = Faults()
        self.opened: dict[_Node, str] = {}  # files with handles, under the name they were last opened by
        self.syncs = 0
        self.before_change: Callable[[str, str], None] | None = (
            None  # (what, path): a test may crash us there
        )
        self._random = random
        self._loss: Loss = "dice"
        self._root = _Directory()

    # What happens to a disk

    def crash(self, kept: Literal["process", "power"]) -> None:
        """The process is gone, or the power was cut. Handles from before are dead; the disk works again."""
        self.life += 1
        self.opened.clear()
        self.fault = None
        self.faults = Faults()
        self.before_change = None
        if kept == "power":
            self._root.lose_power(self._random, self._loss)

    def copy(self, loop: Loop, random: Random) -> "MemoryDisk":
        """Another disk with the same files, as a killed process would leave them."""
        copy = MemoryDisk(loop, random)
        copy._root = self._root.copy()
        return copy

    def set_dice(self, random: Random, loss: Loss = "dice") -> None:
        """Other fates for what is not synced at the next power cuts."""
        self._random = random
        self._loss = loss

    def allow_write(self, path: str, size: int) -> int:
        """How many of the bytes reach the file; raises where the write fails outright."""
        self.check("write", path)
        faults = self.faults
        if not faults.meets(path):
            return size
        if faults.writes_until_error is not None:
            faults.writes_until_error -= 1
            if faults.writes_until_error <= 0:
                faults.writes_until_error = None
                self.fail("write", path, "Input/output error")
        if faults.space_left_bytes is None:
            return size
        allowed = min(size, faults.space_left_bytes)
        faults.space_left_bytes -= allowed
        return allowed

    def check(self, what: str, path: str) -> None:
        """Stands before every change."""
        if self.before_change is not None:
            self.before_change(what, path)
        if self.fault is not None:
            raise self.fault

    def fail(self, what: str, path: str, why: str) -> None:
        self.fault = StorageFault(f"{what} of {path} failed: {why}")
        raise self.fault

    def leaked(self) -> list[str]:
        """Files that somebody has open although they are gone, or more often than a reader and a writer need."""
        there: set[_Node] = set()
        below = [self._root]
        while below:
            for node in below.pop().entries.values():
                if isinstance(node, _Directory):
                    below.append(node)
                else:
                    there.add(node)
        return sorted(path for node, path in self.opened.items() if node not in there or node.handles > 2)

    # Disk

    def _find(self, path: str) -> _Node | _Directory | None:
        if not path:
            return self._root
        name, _, below = path.partition("/")
        node = self._root.entries.get(name)
        while below:
            if not isinstance(node, _Directory):
                return None
            name, _, below = below.partition("/")
            node = node.entries.get(name)
        return node

    def _parent(self, path: str) -> tuple[_Directory, str]:
        above, _, name = path.rpartition("/")
        parent = self._find(above)
        if not isinstance(parent, _Directory):
            raise StorageFault(f"{path}: no such directory {above!r}")
        return parent, name

    def open(self, path: str, *, create: bool = False) -> MemoryFile:
        node = self._find(path)
        if node is None and create:
            self.check("create", path)
            parent, name = self._parent(path)
            node = _Node()
            parent.change({name: node})
        if not isinstance(node, _Node):
            raise StorageFault(f"open of {path} failed: No such file")
        return MemoryFile(self, path, node)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def is_directory(self, path: str) -> bool:
        return isinstance(self._find(path), _Directory)

    def list(self, path: str) -> list[str]:
        node = self._find(path)
        return sorted(node.entries) if isinstance(node, _Directory) else []

    def make_directory(self, path: str) -> None:
        parent, name = self._parent(path)
        if name not in parent.entries:
            self.check("make", path)
            parent.change({name: _Directory()})

    def rename(self, path: str, to: str) -> None:
        self.check("rename", path)
        parent, name = self._parent(path)
        node = parent.entries.get(name)
        if node is None:
            raise StorageFault(f"rename of {path} failed: No such file or directory")
        other, new_name = self._parent(to)
        if other is parent:
            parent.change({name: None, new_name: node})
        else:
            other.change({new_name: node})
            parent.change({name: None})

    def remove(self, path: str) -> None:
        if self._find(path) is not None:
            self.check("remove", path)
            parent, name = self._parent(path)
            parent.change({name: None})

    def sync(self, files: Sequence[File]) -> Future[None]:
        life = self.life
        begun = self._begin(files)

        def work() -> None:
            if life != self.life:
                raise StorageFault("the machine went down before the sync")
            self._end(begun)

        return self.loop.in_thread(work)

    def sync_now(self, files: Sequence[File]) -> None:
        self._end(self._begin(files))

    def _begin(self, files: Sequence[File]) -> Sequence[tuple[MemoryFile, _Sync]]:
        mine = cast("Sequence[MemoryFile]", files)  # a disk is only given its own files
        return [(file, file.begin_sync()) for file in mine]

    def _end(self, begun: Sequence[tuple[MemoryFile, _Sync]]) -> None:
        for file, sync in begun:
            self.syncs += 1
            file.end_sync(sync)

    def sync_directory(self, path: str) -> None:
        self.check("sync directory", path)
        node = self._find(path)
        if not isinstance(node, _Directory):
            raise StorageFault(f"sync of directory {path} failed: No such directory")
        node.sync()

    def free_bytes(self) -> int:
        left = self.faults.space_left_bytes
        return 1 << 40 if left is None else left
