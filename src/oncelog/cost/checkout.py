"""What only a checkout has beside the package: Apache Kafka from Maven (tests/oracle), Spark's own connector (bench/spark.py)."""

import importlib
import importlib.util
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def has_checkout(name: str) -> bool:
    """Whether the module is there. `python -m` finds it by itself; a console script has no working directory on its path."""
    here = str(Path.cwd())
    with suppress(ModuleNotFoundError):
        if importlib.util.find_spec(name) is not None:
            return True
    parts = name.split(".")
    if (
        here in sys.path
        or not Path(here, *parts[:-1], "__init__.py").is_file()
        or not Path(here, "src/oncelog").is_dir()
    ):
        return False
    sys.path.insert(0, here)
    importlib.invalidate_caches()
    with suppress(ModuleNotFoundError):
        return importlib.util.find_spec(name) is not None
    return False


def of_checkout(name: str) -> Any | None:
    return importlib.import_module(name) if has_checkout(name) else None
