"""Which modules mypyc may compile (decision 0023), and the mark of classes in them that others inherit from.

The rest stays Python: enums and named tuples gain nothing, and what a request does not run through would only make the build longer.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:
    T = TypeVar("T")

    def mypyc_attr(**_: Any) -> Callable[[T], T]:
        """mypyc knows it by its name; Python has no use for it."""
        return lambda marked: marked


__all__ = ["MODULES", "mypyc_attr"]

MODULES: Final = (
    "oncelog.tasks",
    "oncelog.protocol.primitives",
    "oncelog.protocol.frame",
    "oncelog.protocol.header",
    "oncelog.protocol.messages.produce",
    "oncelog.protocol.messages.end_txn",
    "oncelog.record.varint",
    "oncelog.record.crc",
    "oncelog.record.batch",
    "oncelog.record.marker",
    "oncelog.log.state",
    "oncelog.log.validate",
    "oncelog.log.aborted",
    "oncelog.txn.state",
    "oncelog.txn.stored",
    "oncelog.txn.coordinator",
    "oncelog.engine.times",
    "oncelog.engine.disk",
    "oncelog.engine.classic.segment",
    "oncelog.engine.classic.partition",
    "oncelog.broker.context",
    "oncelog.broker.counters",
    "oncelog.broker.ring",
    "oncelog.broker.connection",
    "oncelog.broker.transaction_log",
    "oncelog.broker.transactions",
    "oncelog.broker.handlers",
    "oncelog.broker.handlers.produce",
    "oncelog.broker.handlers.end_txn",
    "oncelog.server.sockets",
    "oncelog.server.listener",
)
