"""Which transaction a driver has opened, noted where its other processes find it, and no other driver's.

In append mode Spark opens, commits and aborts in different processes and hands nothing from one to the other but what tasks reported. When
no task did (the query was stopped, all failed), the abort knows its transaction from this note. Without it the transaction would
stay open until the next start of the query. The directory is that of the driver's block manager: one per driver, gone with it.
"""

import json
import os
import zlib
from pathlib import Path
from typing import Final

from oncelog.client.transactional import TransactionProtocol
from oncelog.model import Producer, ProducerEpoch, ProducerId
from oncelog.spark.sink_plan import Opened

DIRECTORIES: Final = "SPARK_LOCAL_DIRS"  # Spark sets it for every Python process


def leave(transactional_id: str, opened: Opened) -> None:
    path = _path(transactional_id)
    if path is not None:
        note = {"id": opened.producer.id, "epoch": opened.producer.epoch, "protocol": opened.protocol}
        scratch = path.with_suffix(".new")
        scratch.write_text(json.dumps(note))
        scratch.rename(path)


def find(transactional_id: str) -> Opened | None:
    """An old note does no harm: the epoch in it is not the current one any more."""
    path = _path(transactional_id)
    if path is None or not path.exists():
        return None
    note = json.loads(path.read_text())
    producer = Producer(ProducerId(note["id"]), ProducerEpoch(note["epoch"]))
    return Opened(producer, TransactionProtocol(note["protocol"]), None)


def _path(transactional_id: str) -> Path | None:
    first = Path(os.environ.get(DIRECTORIES, "").split(",")[0])
    if not first.is_absolute() or not first.is_dir():
        return None
    return first / f"oncelog-sink-{zlib.crc32(transactional_id.encode()):08x}.json"
