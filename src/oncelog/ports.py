"""The doors to the world: clock, chance, disk. (The loop is in tasks.py, the network in broker/connection.py.)

Nothing below the server may reach time, randomness or files in another way: that is what lets one seed of the simulator
decide everything. `RealDisk` and `MemoryDisk` are in engine/disk.py.
"""

from collections.abc import Sequence
from typing import Protocol

from oncelog.model import Millis
from oncelog.tasks import Future

Bytes = bytes | bytearray | memoryview


class Clock(Protocol):
    def wall_ms(self) -> Millis:
        """Milliseconds since 1970; may jump either way. For timestamps that are kept or sent."""
        ...

    def monotonic_ms(self) -> Millis:
        """Never goes back. For timeouts."""
        ...

    def monotonic_ns(self) -> int:
        """Never goes back; its zero is another. For measuring how long something took."""
        ...


class Chance(Protocol):
    def token_bytes(self, count: int) -> bytes:
        """Random bytes for topic ids, member ids, session ids."""
        ...


class File(Protocol):
    """One open file. Everything but `sync` is a plain call: it reaches the page cache, which kill -9 cannot take away."""

    @property
    def path(self) -> str: ...
    def size(self) -> int: ...
    def append(self, pieces: Sequence[Bytes]) -> None:
        """Writes all pieces at the end (writev, short writes continued) or raises StorageFault."""
        ...

    def write_at(self, at: int, data: Bytes) -> None: ...
    def read(self, at: int, size: int) -> bytes:
        """At most `size` bytes from `at`; fewer at the end of the file."""
        ...

    def truncate(self, size: int) -> None: ...
    def close(self) -> None: ...


class Disk(Protocol):
    """Files below one root, by relative path with `/`. Directory changes are durable only after `sync_directory`."""

    def open(self, path: str, *, create: bool = False) -> File: ...
    def exists(self, path: str) -> bool: ...
    def list(self, path: str) -> list[str]:
        """Names in a directory, sorted; empty if there is no such directory."""
        ...

    def make_directory(self, path: str) -> None: ...
    def rename(self, path: str, to: str) -> None: ...
    def remove(self, path: str) -> None:
        """Removes a file, or a directory with all that is in it."""
        ...

    def sync(self, files: Sequence[File]) -> Future[None]:
        """fdatasync of all of them, beside the loop. Until it resolves a power cut may take what was not synced."""
        ...

    def sync_now(self, files: Sequence[File]) -> None:
        """The same, waiting: for start, stop and checkpoints only, never in the serving loop."""
        ...

    def sync_directory(self, path: str) -> None: ...
    def free_bytes(self) -> int: ...
