"""oncelog: exactly-once streaming for Python."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oncelog.embed import Broker

__all__ = ["Broker", "__version__"]
__version__ = "0.1.0"

if os.environ.get("ONCELOG_NATIVE"):  # before anything else of ours is imported
    from oncelog.native import take_if_asked

    take_if_asked()


def __getattr__(name: str) -> Any:
    # Importing oncelog stays cheap: the broker is loaded by whoever asks for it.
    if name == "Broker":
        from oncelog.embed import Broker

        return Broker
    raise AttributeError(f"module 'oncelog' has no attribute {name!r}")
