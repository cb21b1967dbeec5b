"""What our code does for the Python worker that it runs in: Spark uses it for one task after the other, and tidies up in between."""

import contextlib
import gc
import os
import socket
import stat
import sys
from pathlib import Path
from typing import Final

# Spark's own packages, which never change while a worker lives.
OWN_ZIPS: Final = ("pyspark.zip", "py4j-")

_modules_in: dict[int, int] = {}  # by process: how many were loaded when it settled last


def settle() -> None:
    """Called by every task, and wherever the driver's side of Spark calls us; makes the tidying after it cheap, which cost 20
    to 60 ms where a small task of ours takes one.

    After each task Spark's daemon collects garbage, and so walks over all objects of all modules. They stay for good anyway: what
    is loaded is taken out of the collector's sight, again when modules came since (a worker reads first and writes later).
    Before each task Spark lets all importers look again at what they import from, which for a zip file means to read its
    list of files anew; an importer that nothing is imported by any more is forgotten here, and made again if it is needed.
    """
    loaded = len(sys.modules)
    if loaded > _modules_in.get(os.getpid(), 0):
        _modules_in[os.getpid()] = loaded
        gc.collect()
        gc.freeze()
    for path in [each for each in sys.path_importer_cache if Path(each).name.startswith(OWN_ZIPS)]:
        del sys.path_importer_cache[path]


def restore(it: object, state: dict[str, object]) -> None:
    """The `__setstate__` of what Spark hands to its tasks in a command."""
    for name, value in state.items():
        setattr(it, name, value)
    acknowledge()


def acknowledge() -> None:
    """Called when Spark's command has been read and before its input is: when what is in it is unpickled.

    Spark writes the two one after the other and leaves Nagle's algorithm on, so the input leaves only when the command was acknowledged,
    and Linux takes 40 ms for that where it expects us to answer first: as long as a small task takes altogether.
    """
    quickly = getattr(socket, "TCP_QUICKACK", None)
    opened = Path("/proc/self/fd")
    if quickly is None or not opened.is_dir():  # only Linux has them
        return
    for number in [int(each.name) for each in opened.iterdir()]:
        with contextlib.suppress(OSError):  # not open any more, or a socket of another kind
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            theirs = socket.socket(socket.AF_INET, socket.SOCK_STREAM, fileno=number)
            try:
                theirs.setsockopt(socket.IPPROTO_TCP, quickly, 1)
            finally:
                theirs.detach()
