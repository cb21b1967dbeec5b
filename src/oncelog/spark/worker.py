"""What our tasks do for the Python worker that they run in: Spark uses it for one task after the other, and tidies up in between."""

import gc
import os
import sys
from pathlib import Path
from typing import Final

# Spark's own packages, which never change while a worker lives.
OWN_ZIPS: Final = ("pyspark.zip", "py4j-")

_settled_in: set[int] = set()


def settle() -> None:
    """Called by every task; makes the tidying after it cheap, which cost 40 ms where a small task of ours takes one.

    After each task Spark's daemon collects garbage, and so walks over all objects of all modules. They stay for good anyway: the
    first task in a process takes what is loaded by then out of the collector's sight. Before each task Spark lets all
    importers look again at what they import from, which for a zip file means to read its list of files anew; an importer that
    nothing is imported by any more is forgotten here, and made again if it is needed.
    """
    if os.getpid() not in _settled_in:
        _settled_in.add(os.getpid())
        gc.collect()
        gc.freeze()
    for path in [each for each in sys.path_importer_cache if Path(each).name.startswith(OWN_ZIPS)]:
        del sys.path_importer_cache[path]
