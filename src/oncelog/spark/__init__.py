"""Exactly-once PySpark: `session()`, `register(spark)`, then `format("oncelog")` to read and to write.

Nothing of pyspark is imported until one of these names is used, so that `import oncelog` needs neither Spark nor Java.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from oncelog.spark.local_session import register, session
    from oncelog.spark.shuffle import to_topic
    from oncelog.spark.sink import Sink
    from oncelog.spark.source_plan import lag

__all__ = ["Sink", "lag", "register", "session", "to_topic"]

# No module here may be called like a function of this list: importing it would hide the function.
_HOMES: Final = {
    "Sink": "oncelog.spark.sink",
    "lag": "oncelog.spark.source_plan",
    "register": "oncelog.spark.local_session",
    "session": "oncelog.spark.local_session",
    "to_topic": "oncelog.spark.shuffle",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'oncelog.spark' has no attribute {name!r}")
