"""The real disk: files below one directory, a page of os calls.

A refused write or sync marks the whole disk failed for good. The kernel drops dirty pages after a failed fsync, so
trying again and believing the answer would acknowledge what is not there (reliability 4, rule 6).
"""

import ctypes
import errno
import fcntl
import os
import re
import resource
import shutil
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NoReturn, cast

from oncelog.errors import StorageFault
from oncelog.ports import Bytes, File
from oncelog.tasks import Future, Loop

LOCK_FILE: Final = ".lock"  # Kafka's name: neither broker starts on the other's live directory
MOST_PIECES: Final = 1024  # IOV_MAX of Linux
MANY_FILES: Final = 16  # from here on one sweep of the file system costs less than a call for each
PINNED_SHARE: Final = (
    8  # of the open files, one call of `sync` holds at most this part; several run side by side
)
# Linux has both; elsewhere the slower ways are good enough for a developer's machine.
_SYNC_FILE_SYSTEM: Final = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
_HAS_FDATASYNC: Final = hasattr(os, "fdatasync")


# Where syncfs says whether every file was written, and has the device's cache emptied: Linux tells of errors from 5.8 on, and
# other file systems (FUSE) may do nothing at all.
_SWEEPING_KERNEL: Final = (5, 8)
_SWEEPING_FILE_SYSTEMS: Final = frozenset({"ext4", "xfs"})
_MOUNTS: Final = "/proc/self/mountinfo"


def _sweep_is_enough(path: str) -> bool:
    """Whether a syncfs that succeeds stands for an fdatasync of each file below this directory."""
    if _SYNC_FILE_SYSTEM is None or os.uname().sysname != "Linux":
        return False
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if version is None or (int(version[1]), int(version[2])) < _SWEEPING_KERNEL:
        return False
    device = os.stat(path).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open(_MOUNTS, encoding="utf-8", errors="replace") as mounts:
            lines = [line.split() for line in mounts]
    except OSError:
        return False
    kinds = {words[words.index("-") + 1] for words in lines if words[2] == wanted}
    return bool(kinds) and kinds <= _SWEEPING_FILE_SYSTEMS


def _default_open_files() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(32, min(4096, soft // 4))


class RealFile:
    """A file by name; its descriptor is opened when needed and may be closed behind its back when many are open."""

    __slots__ = ("_descriptor", "_disk", "_pins", "_size", "_used", "path")

    def __init__(self, disk: "RealDisk", path: str) -> None:
        self._disk = disk
        self.path = path
        self._descriptor = -1
        self._size = -1
        self._pins = 0  # syncs under way: the descriptor must outlive them
        self._used = True

    def descriptor(self) -> int:
        self._used = True
        if self._descriptor < 0:
            self._descriptor = self._disk.open_descriptor(self)
        return self._descriptor

    def size(self) -> int:
        if self._size < 0:
            try:
                self._size = os.fstat(self.descriptor()).st_size
            except OSError as error:
                self._disk.fail("fstat", self.path, error)
        return self._size

    def append(self, pieces: Sequence[Bytes]) -> None:
        disk = self._disk
        if disk.fault is not None:
            raise disk.fault
        at = self._size
        if at >= 0 <= self._descriptor and len(pieces) <= MOST_PIECES:
            self._used = True
            wanted = sum(map(len, pieces))
            try:
                done = os.pwritev(self._descriptor, pieces, at)
            except OSError as error:
                self._refused(error)
            if done == wanted:
                self._size = at + wanted
                return
        else:
            at, done = self.size(), 0
        self._size = at + self._write(at, pieces, done)

    def write_at(self, at: int, data: Bytes) -> None:
        if self._disk.fault is not None:
            raise self._disk.fault
        size = self.size()
        self._size = max(size, at + self._write(at, (data,)))

    def _write(self, at: int, pieces: Sequence[Bytes], done: int = 0) -> int:
        """Writes all of it or marks the disk failed; what was written of a failed append is cut off again. `done` bytes of
        it are written already."""
        wanted = sum(map(len, pieces))
        descriptor = self.descriptor()
        try:
            if not done:
                done = os.pwritev(descriptor, pieces[:MOST_PIECES], at)
            while done < wanted:  # a short write: go on behind it (B55)
                before = done
                done += os.pwritev(descriptor, _rest(pieces, done), at + done)
                if done == before:
                    raise OSError(errno.EIO, "the file takes no more bytes")
        except OSError as error:
            self._refused(error)
        return wanted

    def refused(self, number: int) -> NoReturn:
        """For who writes past `append` (server/lane.c) and was told this errno."""
        self._refused(OSError(number, os.strerror(number)))

    def _refused(self, error: OSError) -> NoReturn:
        # If the cut fails too, the torn end is found by its CRC at the next start: nothing was acknowledged from it.
        with suppress(OSError):
            os.ftruncate(self._descriptor, self._size)
        self._disk.fail("write", self.path, error)

    def read(self, at: int, size: int) -> bytes:
        try:
            return os.pread(self.descriptor(), size, at)
        except OSError as error:
            self._disk.fail("read", self.path, error)

    def truncate(self, size: int) -> None:
        if self._disk.fault is not None:
            raise self._disk.fault
        try:
            os.ftruncate(self.descriptor(), size)
        except OSError as error:
            self._disk.fail("truncate", self.path, error)
        self._size = size

    def close(self) -> None:
        """Gives the descriptor back; the file may be used again, and is opened again then."""
        self._size = -1
        if self._descriptor >= 0 and self._pins == 0:
            self._disk.close_descriptor(self)

    # For RealDisk only.
    def pin(self) -> int:
        self._pins += 1
        return self.descriptor()

    def unpin(self) -> None:
        self._pins -= 1

    def give_up_descriptor(self) -> int:
        """The descriptor to be closed, or -1 if it was used since the last time we asked, or is in use."""
        if self._used or self._pins:
            self._used = False
            return -1
        return self.take_descriptor()

    def take_descriptor(self) -> int:
        descriptor, self._descriptor = self._descriptor, -1
        return descriptor


def _rest(pieces: Sequence[Bytes], done: int) -> list[memoryview]:
    """What follows the first `done` bytes of all pieces."""
    rest: list[memoryview] = []
    for piece in pieces:
        if done >= len(piece):
            done -= len(piece)
            continue
        rest.append(memoryview(piece)[done:])
        done = 0
        if len(rest) == MOST_PIECES:
            break
    return rest


class RealDisk:
    """Files below `root`, which is made if missing and locked against a second process until `close`.

    The loop's thread owns the descriptors that are kept open. A file opened in another thread keeps its descriptor
    until that thread closes it, so nobody closes it in the middle of a call.
    """

    def __init__(self, root: str, loop: Loop, *, open_files_limit: int | None = None) -> None:
        self.root = os.path.abspath(root)
        self.fault: StorageFault | None = None
        self._loop = loop
        self._limit = _default_open_files() if open_files_limit is None else open_files_limit
        self._open: dict[RealFile, None] = {}  # oldest first
        self._owner = threading.get_ident()
        try:
            os.makedirs(self.root, exist_ok=True)
            self._lock = os.open(self._full(LOCK_FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageFault(f"{self.root}: cannot be used as data directory: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise StorageFault(
                f"{self.root}: another process uses this data directory ({LOCK_FILE} is held)"
            ) from None
        self._sweeps = _sweep_is_enough(self.root)

    def close(self) -> None:
        """Closes all files and lets another process have the directory."""
        for file in list(self._open):
            file.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def fail(self, what: str, path: str, error: OSError) -> NoReturn:
        fault = StorageFault(f"{what} of {self._full(path)} failed: {error.strerror or error}")
        fault.__cause__ = error
        if self.fault is None:
            self.fault = fault
        raise fault

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    def open_descriptor(self, file: RealFile) -> int:
        mine = threading.get_ident() == self._owner
        if mine and len(self._open) >= self._limit:
            self._close_idle()
        try:
            descriptor = os.open(self._full(file.path), os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            self.fail("open", file.path, error)
        if mine:
            self._open[file] = None
        return descriptor

    def close_descriptor(self, file: RealFile) -> None:
        self._open.pop(file, None)
        os.close(file.take_descriptor())

    def _close_idle(self) -> None:
        """Closes the oldest descriptor that was not used since we last looked (second chance)."""
        for _ in range(2 * len(self._open)):
            file = next(iter(self._open))
            del self._open[file]
            descriptor = file.give_up_descriptor()
            if descriptor >= 0:
                os.close(descriptor)
                return
            self._open[file] = None

    def open(self, path: str, *, create: bool = False) -> RealFile:
        file = RealFile(self, path)
        if create and not self.exists(path):
            if self.fault is not None:
                raise self.fault
            try:
                os.close(os.open(self._full(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
            except OSError as error:
                self.fail("create", path, error)
        return file

    def exists(self, path: str) -> bool:
        return os.path.exists(self._full(path))

    def list(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self._full(path)))
        except FileNotFoundError:
            return []
        except OSError as error:
            self.fail("list", path, error)

    def make_directory(self, path: str) -> None:
        try:
            os.makedirs(self._full(path), exist_ok=True)
        except OSError as error:
            self.fail("make", path, error)

    def rename(self, path: str, to: str) -> None:
        if self.fault is not None:
            raise self.fault
        try:
            os.rename(self._full(path), self._full(to))
        except OSError as error:
            self.fail("rename", path, error)

    def remove(self, path: str) -> None:
        full = self._full(path)
        try:
            if os.path.isdir(full):
                shutil.rmtree(full)
            else:
                os.unlink(full)
        except FileNotFoundError:
            return
        except OSError as error:
            self.fail("remove", path, error)

    def sync(self, files: Sequence[File]) -> Future[None]:
        mine = cast("Sequence[RealFile]", files)  # a disk is only given its own files
        if len(mine) < MANY_FILES or not self._sweeps:
            return self._sync_each(mine)
        done: Future[None] = Future()

        def swept(sweep: Future[bool]) -> None:
            try:
                if not sweep.result():  # perhaps another program's file: each of ours says for itself
                    self._sync_each(mine).add_callback(settle)
                    return
            except StorageFault as fault:
                done.set_error(fault)
            else:
                done.set_result(None)

        def settle(each: Future[None]) -> None:
            try:
                each.result()
            except StorageFault as fault:
                done.set_error(fault)
            else:
                done.set_result(None)

        self._loop.in_thread(self._sweep).add_callback(swept)
        return done

    def _sweep(self) -> bool:
        """One call for all files, and one turn of the interpreter's lock instead of one for each; whether it succeeded."""
        if self.fault is not None:
            raise self.fault
        return _SYNC_FILE_SYSTEM is not None and _SYNC_FILE_SYSTEM(self._lock) == 0

    def _sync_each(self, mine: Sequence[RealFile]) -> Future[None]:
        most = max(self._limit // PINNED_SHARE, 1)
        if len(mine) <= most:
            return self._sync_pinned(mine)
        # A descriptor under sync cannot be closed: of very many files only some are held open at a time.
        done: Future[None] = Future()
        left = [mine[at : at + most] for at in range(0, len(mine), most)]

        def go_on(last: Future[None] | None = None) -> None:
            try:
                if last is not None:
                    last.result()
                if left:
                    # A file that was removed meanwhile has nothing that must last.
                    there = [file for file in left.pop(0) if last is None or self.exists(file.path)]
                    self._sync_pinned(there).add_callback(go_on)
                    return
            except StorageFault as fault:
                done.set_error(fault)
            else:
                done.set_result(None)

        go_on()
        return done

    def _sync_pinned(self, files: Sequence[RealFile]) -> Future[None]:
        pinned = [(file.path, file.pin()) for file in files]
        done = self._loop.in_thread(lambda: self._sync(pinned))

        def unpin(_: Future[None]) -> None:
            for file in files:
                file.unpin()

        done.add_callback(unpin)
        return done

    def sync_now(self, files: Sequence[File]) -> None:
        self._sync([(file.path, file.descriptor()) for file in cast("Sequence[RealFile]", files)])

    def _sync(self, files: Sequence[tuple[str, int]]) -> None:
        if self.fault is not None:
            raise self.fault
        if len(files) >= MANY_FILES and _SYNC_FILE_SYSTEM is not None:
            # Writes all of them at once, so that the calls below find little to do. They are what counts here.
            _SYNC_FILE_SYSTEM(files[0][1])
        for path, descriptor in files:
            try:
                if _HAS_FDATASYNC:
                    os.fdatasync(descriptor)
                else:
                    os.fsync(descriptor)
            except OSError as error:
                self.fail("fdatasync", path, error)

    def sync_directory(self, path: str) -> None:
        if self.fault is not None:
            raise self.fault
        try:
            descriptor = os.open(self._full(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            self.fail("sync of directory", path, error)

    def free_bytes(self) -> int:
        found = os.statvfs(self.root)
        return found.f_bavail * found.f_frsize
