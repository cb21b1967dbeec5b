"""What a power cut could leave of real files: a run is recorded write by write, and any legal remains of it are made anew.

`Recorder` stands between an engine and its real disk and notes each change. `image` plays the first n of them onto a disk
in memory, cuts its power, and writes what is left into a directory, where a real engine on real files has to start.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from oncelog.engine.memory import MemoryDisk, MemoryFile
from oncelog.ports import Bytes, Disk, File
from oncelog.sim.loop import VirtualLoop
from oncelog.tasks import Future


class Change(NamedTuple):
    what: str
    path: str
    to: str = ""
    at: int = 0
    data: bytes = b""


class RecordedFile:
    def __init__(self, file: File, changes: list[Change]) -> None:
        self.inner = file
        self._changes = changes
        self.path = file.path

    def size(self) -> int:
        return self.inner.size()

    def append(self, pieces: Sequence[Bytes]) -> None:
        self._changes.append(Change("write", self.path, at=self.size(), data=b"".join(pieces)))
        self.inner.append(pieces)

    def write_at(self, at: int, data: Bytes) -> None:
        self._changes.append(Change("write", self.path, at=at, data=bytes(data)))
        self.inner.write_at(at, data)

    def read(self, at: int, size: int) -> bytes:
        return self.inner.read(at, size)

    def truncate(self, size: int) -> None:
        self._changes.append(Change("truncate", self.path, at=size))
        self.inner.truncate(size)

    def close(self) -> None:
        self.inner.close()


class Recorder:
    """A Disk that notes what is done to another one. A sync counts when it is over, for what was there when it began."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.changes: list[Change] = []

    def open(self, path: str, *, create: bool = False) -> RecordedFile:
        if create and not self._disk.exists(path):
            self.changes.append(Change("create", path))
        return RecordedFile(self._disk.open(path, create=create), self.changes)

    def exists(self, path: str) -> bool:
        return self._disk.exists(path)

    def list(self, path: str) -> list[str]:
        return self._disk.list(path)

    def make_directory(self, path: str) -> None:
        self.changes.append(Change("make", path))
        self._disk.make_directory(path)

    def rename(self, path: str, to: str) -> None:
        self.changes.append(Change("rename", path, to=to))
        self._disk.rename(path, to)

    def remove(self, path: str) -> None:
        self.changes.append(Change("remove", path))
        self._disk.remove(path)

    def _synced(self, files: Sequence[File]) -> None:
        self.changes.extend(Change("sync", file.path) for file in files)

    def sync(self, files: Sequence[File]) -> Future[None]:
        done = self._disk.sync([_inner(file) for file in files])
        # What is written meanwhile is not promised: `image` takes what was there at `began`.
        began = len(self.changes)
        done.add_callback(
            lambda _: self.changes.append(Change("synced", " ".join(f.path for f in files), at=began))
        )
        return done

    def sync_now(self, files: Sequence[File]) -> None:
        self._disk.sync_now([_inner(file) for file in files])
        self._synced(files)

    def sync_directory(self, path: str) -> None:
        self._disk.sync_directory(path)
        self.changes.append(Change("sync directory", path))

    def free_bytes(self) -> int:
        return self._disk.free_bytes()


def _inner(file: File) -> File:
    return file.inner if isinstance(file, RecordedFile) else file


def image(changes: Sequence[Change], directory: Path, dice: int) -> None:
    """What a cut after these changes may leave, as real files below the directory."""
    random = Random(f"image {dice}")
    disk = MemoryDisk(VirtualLoop(random), random)
    moved: dict[str, str] = {}
    begun: dict[
        int, list[int]
    ] = {}  # what a sync must hold: the change before which it began -> that by which it was over
    for number, change in enumerate(changes):
        if change.what == "synced":
            begun.setdefault(change.at, []).append(number)
    syncs: dict[int, dict[MemoryFile, bytes]] = {}
    newest: dict[str, int] = {}  # path -> when the sync began that said last what is durable
    for number, change in enumerate(changes):
        for end in begun.get(number, ()):
            syncs[end] = {file: file.read(0, file.size()) for file in _files(disk, changes[end], moved)}
        if change.what == "synced":
            for file, data in syncs.pop(number).items():
                if newest.get(file.path, -1) <= change.at:
                    newest[file.path] = change.at
                    _make_durable(file, data)
        else:
            _play(disk, change, moved)
    disk.crash("power")
    _dump(disk, "", directory)


def _files(disk: MemoryDisk, synced: Change, moved: dict[str, str]) -> list[MemoryFile]:
    names = [path if disk.exists(path) else moved.get(path, path) for path in synced.path.split()]
    return [disk.open(name) for name in names if disk.exists(name)]


def _make_durable(file: MemoryFile, data: bytes) -> None:
    """These bytes of a while ago, and no more: whatever was changed since may be there after a cut, or not."""
    node = file._node  # pyright: ignore[reportPrivateUsage]
    node.durable[:] = data
    same = next((at for at, (old, new) in enumerate(zip(data, node.cache, strict=False)) if old != new), None)
    if same is None and len(node.cache) < len(data):
        same = len(node.cache)
    node.changed_from = same


def _play(disk: MemoryDisk, change: Change, moved: dict[str, str]) -> None:
    what, path = change.what, change.path
    if what in ("write", "truncate", "sync", "create"):
        path = moved.get(path, path) if not disk.exists(path) and what != "create" else path
        if what != "create" and not disk.exists(path):
            return  # an open file whose name is gone
        file = disk.open(path, create=what == "create")
        if what == "write":
            file.write_at(change.at, change.data)
        elif what == "truncate":
            file.truncate(change.at)
        elif what == "sync":
            disk.sync_now([file])
    elif what == "make":
        disk.make_directory(path)
    elif what == "rename":
        moved[path] = change.to
        disk.rename(path, change.to)
    elif what == "remove":
        disk.remove(path)
    elif what == "sync directory":
        disk.sync_directory(path)


def _dump(disk: MemoryDisk, path: str, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for name in disk.list(path):
        below = f"{path}/{name}" if path else name
        if disk.is_directory(below):
            _dump(disk, below, to / name)
        else:
            file = disk.open(below)
            (to / name).write_bytes(file.read(0, file.size()))
