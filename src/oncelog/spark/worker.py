"""What our code does for the Python worker that it runs in: Spark uses it for one task after the other, and tidies up in between."""

import gc
import os
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
