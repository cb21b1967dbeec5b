"""A disk as it is going to be: changes are kept in memory until it is known that nothing is refused.

A start that finds damage must leave every file as it was: what a torn end looked like, and what a crash has left half done,
may be what somebody restores from. So recovery works on a draft, and `keep` then makes the same changes, in the same order and
with the same syncs between them, to the disk itself.
"""

from collections.abc import Callable, Sequence
from typing import Final

from oncelog.errors import StorageFault
from oncelog.ports import Bytes, Disk, File
from oncelog.tasks import Future, resolved

UNTOUCHED: Final = object()


class _Content:
    """A file's bytes: the first `kept` ones of a file of the disk, or bytes of our own."""

    __slots__ = ("file", "kept", "own")

    def __init__(self, file: File | None) -> None:
        self.file = file
        self.kept = -1  # all of them, until somebody cuts some off
        self.own: bytearray | None = bytearray() if file is None else None

    def size(self) -> int:
        if self.own is not None:
            return len(self.own)
        assert self.file is not None
        return self.file.size() if self.kept < 0 else self.kept

    def read(self, at: int, size: int) -> bytes:
        if self.own is not None:
            return bytes(self.own[at : at + size])
        assert self.file is not None
        return self.file.read(at, size if self.kept < 0 else max(min(size, self.kept - at), 0))

    def writable(self) -> bytearray:
        if self.own is None:
            self.own = bytearray(self.read(0, self.size()))
        return self.own

    def truncate(self, size: int) -> None:
        if self.own is None and size <= self.size():
            self.kept = size
        else:
            own = self.writable()
            del own[size:]
            own += bytes(size - len(own))

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


class DraftFile:
    """An open file of a draft. What is written to it is also noted, by the name that the file had when it was opened."""

    __slots__ = ("_content", "_draft", "path")

    def __init__(self, draft: "Draft", path: str, content: _Content) -> None:
        self._draft = draft
        self._content = content
        self.path = path

    def size(self) -> int:
        return self._content.size()

    def read(self, at: int, size: int) -> bytes:
        return self._content.read(at, size)

    def append(self, pieces: Sequence[Bytes]) -> None:
        data = b"".join(pieces)
        self._content.writable().extend(data)
        self._draft.note(self.path, lambda file: file.append((data,)))

    def write_at(self, at: int, data: Bytes) -> None:
        own, copy = self._content.writable(), bytes(data)
        own += bytes(max(at - len(own), 0))
        own[at : at + len(copy)] = copy
        self._draft.note(self.path, lambda file: file.write_at(at, copy))

    def truncate(self, size: int) -> None:
        self._content.truncate(size)
        self._draft.note(self.path, lambda file: file.truncate(size))

    def close(self) -> None:
        self._content.close()


class Draft:
    """A Disk over another one, for one directory and one thread."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._touched: dict[str, _Content | None] = {}  # None: it is gone
        self._changes: list[Callable[[], None]] = []
        self._opened: list[File] = []

    def then(self, change: Callable[[], None]) -> None:
        """Happens between the changes before and those after, or never."""
        self._changes.append(change)

    def keep(self) -> None:
        """Makes the changes. Blocks where they sync. Files of the draft are not to be used any more."""
        self.close()
        changes, self._changes = self._changes, []
        for change in changes:
            change()

    def close(self) -> None:
        for file in self._opened:
            file.close()
        self._opened.clear()

    def note(self, path: str, change: Callable[[File], None]) -> None:
        def make() -> None:
            file = self._disk.open(path)
            change(file)
            file.close()

        self.then(make)

    # Disk

    def _content(self, path: str) -> _Content:
        content = self._touched.get(path)
        if content is None:
            if path in self._touched:
                raise StorageFault(f"open of {path} failed: No such file")
            file = self._disk.open(path)
            self._opened.append(file)
            content = _Content(file)
        return content

    def open(self, path: str, *, create: bool = False) -> DraftFile:
        if create and not self.exists(path):
            self._touched[path] = _Content(None)
            self.then(lambda: self._disk.open(path, create=True).close())
        content = self._content(path)
        if path not in self._touched and self._disk.exists(path):
            self._touched[path] = content
        return DraftFile(self, path, content)

    def exists(self, path: str) -> bool:
        touched = self._touched.get(path, UNTOUCHED)
        return self._disk.exists(path) if touched is UNTOUCHED else touched is not None

    def list(self, path: str) -> list[str]:
        names = set(self._disk.list(path))
        for touched, content in self._touched.items():
            directory, _, name = touched.rpartition("/")
            if directory == path and content is None:
                names.discard(name)
            elif directory == path:
                names.add(name)
        return sorted(names)

    def make_directory(self, path: str) -> None:
        self.then(lambda: self._disk.make_directory(path))

    def rename(self, path: str, to: str) -> None:
        self._touched[to] = self._content(path)
        self._touched[path] = None
        self.then(lambda: self._disk.rename(path, to))

    def remove(self, path: str) -> None:
        if self.exists(path):
            self._touched[path] = None
            self.then(lambda: self._disk.remove(path))

    def sync(self, files: Sequence[File]) -> Future[None]:
        self.sync_now(files)
        return resolved(None)

    def sync_now(self, files: Sequence[File]) -> None:
        paths = [file.path for file in files]

        def make() -> None:
            again = [self._disk.open(path) for path in paths]
            self._disk.sync_now(again)
            for file in again:
                file.close()

        self.then(make)

    def sync_directory(self, path: str) -> None:
        self.then(lambda: self._disk.sync_directory(path))

    def free_bytes(self) -> int:
        return self._disk.free_bytes()
