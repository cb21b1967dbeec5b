"""The real disk with a switch: what kill -9 or a power cut leaves behind, for tests (`Broker.kill`)."""

import os
import threading
from collections.abc import Mapping, Sequence

from oncelog.engine.disk import RealDisk, RealFile
from oncelog.errors import StorageFault
from oncelog.ports import File
from oncelog.tasks import Future, Loop


class FragileDisk(RealDisk):
    """Remembers how much of every file was synced, so that the rest can be taken away. Other threads open files too."""

    def __init__(self, root: str, loop: Loop) -> None:
        super().__init__(root, loop)
        self._durable: dict[str, int] = {}
        self._lock_durable = threading.Lock()

    def open(self, path: str, *, create: bool = False) -> RealFile:
        with self._lock_durable:
            if path not in self._durable:
                full = os.path.join(self.root, path)
                self._durable[path] = os.path.getsize(full) if os.path.exists(full) else 0
        return super().open(path, create=create)

    def sync(self, files: Sequence[File]) -> Future[None]:
        sizes = {file.path: file.size() for file in files}
        done = super().sync(files)
        done.add_callback(lambda _: self._synced(sizes))
        return done

    def sync_now(self, files: Sequence[File]) -> None:
        sizes = {file.path: file.size() for file in files}
        super().sync_now(files)
        self._synced(sizes)

    def _synced(self, sizes: Mapping[str, int]) -> None:
        with self._lock_durable:
            if self.fault is None:
                self._durable.update(sizes)

    def rename(self, path: str, to: str) -> None:
        super().rename(path, to)
        with self._lock_durable:
            for old in self._at_or_below(path):
                self._durable[to + old[len(path) :]] = self._durable.pop(old)

    def remove(self, path: str) -> None:
        super().remove(path)
        with self._lock_durable:
            for old in self._at_or_below(path):
                del self._durable[old]

    def _at_or_below(self, path: str) -> list[str]:
        return [known for known in self._durable if known == path or known.startswith(f"{path}/")]

    def cut_power(self, *, lose_unsynced: bool) -> None:
        """Nothing is written from now on. kill -9 keeps the page cache; a power cut keeps what was synced."""
        with self._lock_durable:
            self.fault = StorageFault("the power was cut")
            if lose_unsynced:
                for path, size in self._durable.items():
                    full = os.path.join(self.root, path)
                    if os.path.exists(full) and os.path.getsize(full) > size:
                        os.truncate(full, size)
        self.close()
