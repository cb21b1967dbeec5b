"""Ships the rows of an outbox table to topics, each exactly once and in the order of their transactions.

An application inserts into the outbox in the transaction that changes its own tables. The shipper reads what is behind its
position, writes it in one Kafka transaction and commits the position inside that transaction, as the metadata of an offset of
the group that has the name of its transactional id. A crash before EndTxn leaves nothing; after it the position is there.

Ids are given before commits happen, so a row with a lower id may appear later. Rows are therefore ordered by the database
transaction that wrote them (`txid`), and only those older than every transaction still open are read: none comes later.
"""

import json
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg import sql

from oncelog.client.admin import Admin, CommittedOffset
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.faults import (
    RETRIABLE,
    ClientFault,
    RefusedByBroker,
    TimedOut,
    TransactionLost,
    Unreachable,
)
from oncelog.client.partitioner import partition_of_key
from oncelog.client.transactional import TransactionalId
from oncelog.errors import OncelogError
from oncelog.model import Producer, TopicPartition
from oncelog.record.batch import NewRecord, build_batch

log: Final = logging.getLogger(__name__)

MARKER_FORMAT: Final = 1
BATCH_BYTES: Final = 500_000
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 10.0
MAKE_OUTBOX: Final = sql.SQL(
    "CREATE TABLE IF NOT EXISTS {} ("
    "id bigserial, txid xid8 NOT NULL DEFAULT pg_current_xact_id(), topic text NOT NULL, key bytea, value bytea, "
    "at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (txid, id))"
)
NEXT_ROWS: Final = sql.SQL(
    "SELECT txid::text::bigint, id, topic, key, value, (extract(epoch FROM at) * 1000)::bigint FROM {} "
    "WHERE (txid, id) > (%s::text::xid8, %s) AND txid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY txid, id LIMIT %s"
)


class OutboxRefused(OncelogError):
    """A row that cannot be shipped, or a position that cannot be read; says which."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The last row that was shipped."""

    txid: int = 0
    id: int = 0

    def text(self) -> str:
        return json.dumps(
            {"oncelog_outbox": MARKER_FORMAT, "txid": self.txid, "id": self.id}, separators=(",", ":")
        )


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the outbox."""

    position: Position
    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int


def make_outbox(dsn: str, table: str = "outbox") -> None:
    """Creates the table if it is not there."""
    with psycopg.connect(dsn) as connection:
        connection.execute(MAKE_OUTBOX.format(sql.Identifier(*table.split("."))))


class Shipper:
    """One outbox, one transactional id. Two shippers of one id: the older is fenced and stops with a fault."""

    def __init__(
        self,
        dsn: str,
        cluster: Cluster,
        *,
        transactional_id: str,
        progress_topic: str,
        table: str = "outbox",
        rows_at_once: int = 1000,
        reached: Callable[[str], None] | None = None,
    ) -> None:
        """`progress_topic` is any topic that exists: the position is kept as an offset of its partition 0.

        `reached` is called at each step by its name: written, offsets, ended. For tests that kill it there.
        """
        self._dsn = dsn
        self._cluster = cluster
        self._table = table
        self._rows_at_once = rows_at_once
        self._home = TopicPartition(progress_topic, 0)
        self._id = TransactionalId(cluster, transactional_id)
        self._name = transactional_id
        self._producer: Producer | None = None
        self._position = Position()
        self._reached: Callable[[str], None] = reached or (lambda _: None)

    def open(self) -> Position:
        """Takes the transactional id over, then reads where its predecessor stood: in this order nobody can move it."""
        self._producer = self._id.init()
        self._position = self._read_position()
        log.info("outbox.opened transactional_id=%s position=%s", self._name, self._position)
        return self._position

    def _read_position(self) -> Position:
        found = (
            Admin(self._cluster).group_offsets(self._name, [self._home], require_stable=True).get(self._home)
        )
        if found is None or not found.metadata:
            return Position()
        try:
            fields: Any = json.loads(found.metadata)
            if fields["oncelog_outbox"] != MARKER_FORMAT:
                raise ValueError(f"format {fields['oncelog_outbox']}")
            return Position(int(fields["txid"]), int(fields["id"]))
        except (ValueError, KeyError, TypeError) as why:
            raise OutboxRefused(
                f"group {self._name!r}, {self._home}: wanted the position of an outbox, found {found.metadata!r} ({why})"
            ) from None

    def ship(self) -> int:
        """One transaction with all rows that are ready, up to `rows_at_once`; how many. 0: nothing to do."""
        if self._producer is None:
            self.open()
        assert self._producer is not None
        rows = self._read()
        if not rows:
            return 0
        producer = self._producer
        self._producer = (
            None  # until the end is known: a fault on the way makes the next call begin with `open`
        )
        placed = self._place(rows)
        self._id.add_partitions(producer, placed)
        with BatchWriter(self._cluster, self._name, producer, protocol=self._id.protocol) as writer:
            for where, some in placed.items():
                for batch in _sealed(some, producer):
                    writer.write(where, batch)
            writer.flush()
        self._reached("written")
        last = rows[-1].position
        committed = CommittedOffset(last.id, -1, last.text())
        self._id.commit_offsets(producer, self._name, {self._home: committed})
        self._reached("offsets")
        self._producer = self._id.end(producer, commit=True)
        self._position = last
        self._reached("ended")
        return len(rows)

    def run(
        self, *, idle_s: float = 0.2, until: Callable[[], bool] = lambda: False, patience_s: float = 300.0
    ) -> int:
        """Ships until `until` says so; how many rows in all. While broker or database are away it tries again, after 0.1, 0.2,
        ... 10 seconds, and raises what it failed with if that goes on for `patience_s`. A successor ends it at once.
        """
        shipped = 0
        pause_s, give_up_at = FIRST_PAUSE_S, 0.0
        while not until():
            try:
                count = self.ship()
            except (ClientFault, psycopg.OperationalError) as fault:
                give_up_at = give_up_at or time.monotonic() + patience_s
                if not _may_pass(fault) or time.monotonic() + pause_s > give_up_at:
                    raise
                log.warning("outbox.waiting transactional_id=%s pause_s=%g: %s", self._name, pause_s, fault)
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
                continue
            pause_s, give_up_at = FIRST_PAUSE_S, 0.0
            shipped += count
            if not count:
                time.sleep(idle_s)
        return shipped

    def _read(self) -> list[Row]:
        with psycopg.connect(self._dsn) as connection:
            query = NEXT_ROWS.format(sql.Identifier(*self._table.split(".")))
            found = connection.execute(
                query, (str(self._position.txid), self._position.id, self._rows_at_once)
            )
            return [
                Row(Position(txid, number), topic, key, value, timestamp)
                for txid, number, topic, key, value, timestamp in found
            ]

    def _place(self, rows: Sequence[Row]) -> dict[TopicPartition, list[Row]]:
        """By key as Java producers do; rows without one go to the partition of their topic's name."""
        placed: dict[TopicPartition, list[Row]] = {}
        for row in rows:
            count = len(self._cluster.topic(row.topic, wait_ms=5_000).partitions)
            key = row.key if row.key is not None else row.topic.encode()
            placed.setdefault(TopicPartition(row.topic, partition_of_key(key, count)), []).append(row)
        return placed


def _may_pass(fault: Exception) -> bool:
    """Whether the next `open` may find all well. Whether a commit in doubt is in, it finds out by the position."""
    if isinstance(fault, RefusedByBroker):
        return fault.error in RETRIABLE
    return isinstance(fault, Unreachable | TimedOut | TransactionLost | psycopg.OperationalError)


def _sealed(rows: Iterable[Row], producer: Producer) -> list[bytes]:
    """Batches of bounded size with consecutive sequences from 0."""
    groups: list[list[NewRecord]] = [[]]
    size = 0
    for row in rows:
        record = NewRecord(row.key, row.value, row.timestamp)
        bytes_of = len(row.key or b"") + len(row.value or b"") + 32
        if groups[-1] and size + bytes_of > BATCH_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(record)
        size += bytes_of
    sealed: list[bytes] = []
    sequence = 0
    for records in groups:
        sealed.append(
            build_batch(
                records,
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                base_sequence=sequence,
                transactional=True,
            )
        )
        sequence += len(records)
    return sealed
