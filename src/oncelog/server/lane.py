"""The express lane (lane.c, decision 0027): plain requests from their bytes to their answers in one call. Without it all go the long way."""

import logging
from typing import Any, Final

from oncelog.broker.runtime import Lane, Runtime
from oncelog.broker.transaction_log import partition_of
from oncelog.engine.classic.engine import ClassicEngine
from oncelog.engine.classic.partition import ClassicPartition
from oncelog.engine.disk import RealFile
from oncelog.errors import StorageFault
from oncelog.log.state import CachedBatch, ProducerState
from oncelog.model import Producer
from oncelog.server.build import CannotBuild, load
from oncelog.txn.state import State, Txn

log = logging.getLogger("oncelog.lane")

PARTS: Final[dict[str, Any]] = {
    "ClassicPartition": ClassicPartition,
    "RealFile": RealFile,
    "Txn": Txn,
    "Producer": Producer,
    "CachedBatch": CachedBatch,
    "ProducerState": ProducerState,
    "partition_of": partition_of,
    "StorageFault": StorageFault,
    "states": tuple(State)[: State.DEAD],
}


def lane_of(broker: Runtime) -> Lane | None:
    """What the settings ask for, as far as this machine has it. Behind a sync before each answer there is nothing for it to do."""
    asked = broker.config.hot_path
    gains = asked == "native" or (asked == "auto" and broker.config.durability == "process")
    if not gains or not isinstance(broker.engine, ClassicEngine):
        return None
    try:
        return load("lane").Lane(broker, PARTS)
    except (CannotBuild, ImportError) as why:
        log.log(logging.WARNING if asked == "native" else logging.INFO, "lane.missing why=%s", why)
        return None
