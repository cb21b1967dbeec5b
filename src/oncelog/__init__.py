"""oncelog: exactly-once streaming for Python."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oncelog.embed import Broker

__all__ = ["Broker", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Importing oncelog stays cheap: the broker is loaded by whoever asks for it.
    if name == "Broker":
        from oncelog.embed import Broker

        return Broker
    raise AttributeError(f"module 'oncelog' has no attribute {name!r}")
