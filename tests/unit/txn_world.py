"""A broker of our own for tests of the transaction coordinator: few partitions, and a look inside."""

import contextlib
import time
from collections.abc import Generator, Mapping
from pathlib import Path

import oncelog
from oncelog.model import TRANSACTION_STATE, Isolation
from oncelog.server.main import Server
from oncelog.tasks import spawn
from oncelog.txn.stored import decode_txn, transactional_id_of, walk
from tests.vectors.play import Target

FEW = {
    "transaction.state.log.num.partitions": 3,
    "offsets.topic.num.partitions": 2,
    "connections.max.idle.ms": 10**12,  # a clock that jumps ahead by days closes no connection
}


@contextlib.contextmanager
def running(
    settings: Mapping[str, object] | None = None,
    *,
    durability: str = "process",
    virtual_clock: bool = False,
    data_dir: Path | None = None,
) -> Generator[Target]:
    with oncelog.Broker(
        settings={**FEW, **(settings or {})},
        durability=durability,
        virtual_clock=virtual_clock,
        data_dir=None if data_dir is None else str(data_dir),
    ) as broker:
        yield Target("oncelog", broker)


def broker_of(target: Target) -> oncelog.Broker:
    assert isinstance(target.broker, oncelog.Broker)
    return target.broker


def states_written(target: Target, name: str) -> list[str]:
    """The states of one id in the order of __transaction_state."""

    def is_durable(server: Server) -> bool:
        partitions = server.engine.topics[TRANSACTION_STATE].partitions
        return all(each.high_watermark == each.log_end_offset for each in partitions)

    def read(server: Server) -> list[str]:
        found: list[str] = []
        for partition in server.engine.topics[TRANSACTION_STATE].partitions:
            offset = partition.log_start_offset
            while offset < partition.high_watermark:
                reading = partition.read(
                    offset, max_bytes=1 << 24, isolation=Isolation.READ_UNCOMMITTED, at_least_one_batch=True
                )
                for next_offset, key, value in walk(bytes(spawn(server.loop, reading).result().records)):
                    offset = next_offset
                    if key is not None and transactional_id_of(key) == name:
                        txn = None if value is None else decode_txn(name, value)
                        found.append("tombstone" if txn is None else txn.state.kafka_name)
        return found

    deadline = time.monotonic() + 10
    while not broker_of(target).run(is_durable):  # Complete is written without waiting for its sync
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return broker_of(target).run(read)
