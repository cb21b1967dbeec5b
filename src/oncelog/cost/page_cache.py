"""Keeps free memory in the page cache while brokers are measured, so that all of them write into memory of the same kind.

A virtual machine may hand its free memory back to the host, and gets it again page by page: the first write into such a page took
1.3 to 1.8 ms a megabyte where it takes 0.25 otherwise. Which side pays for that is chance: whoever comes after a deleted topic. A
machine that has run for a while has no free memory, so before every run the holes of an empty file are read until this one has none either.
"""

import os
import tempfile
from pathlib import Path
from typing import Final

MEMORY: Final = Path("/proc/meminfo")
LEFT_BYTES: Final = 1 << 30  # this much stays free
WORTH_BYTES: Final = 512 << 20  # less is not filled again
LARGEST_BYTES: Final = 32 << 30  # of one time: a machine with more memory is not filled
PIECE_BYTES: Final = 4 << 20
TRIES: Final = 3


class PageCache:
    """`fill` before each run; `close` at the end. Where it does not help (no /proc, a temporary directory in memory, a container
    with less memory than the machine) it stops trying."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="oncelog-bench-")  # noqa: SIM115  # closed by `close`
        self._file.truncate(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        self._at = 0
        self._in_vain = 0

    def fill(self) -> int:
        """How many bytes were read: of the file a little further on each time, where its pages have gone meanwhile."""
        free = free_bytes()
        wanted = min(free - LEFT_BYTES, LARGEST_BYTES)
        if wanted < WORTH_BYTES or self._in_vain == TRIES:
            return 0
        done = 0
        piece = bytearray(PIECE_BYTES)
        while done < wanted:
            got = os.preadv(self._file.fileno(), [piece], self._at)
            self._at += got
            done += got
            if not got:
                self._at = 0
        self._in_vain = 0 if free - free_bytes() > wanted // 4 else self._in_vain + 1
        return done

    def close(self) -> None:
        self._file.close()


def free_bytes() -> int:
    """Memory that nobody uses, not even as a cache."""
    if not MEMORY.is_file():
        return 0
    lines = (line.split() for line in MEMORY.read_text().splitlines())
    return next((int(words[1]) * 1024 for words in lines if words[0] == "MemFree:"), 0)
