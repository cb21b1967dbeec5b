"""Ships the rows of an outbox table to topics, each exactly once and in the order of their transactions.

An application inserts into the outbox in the transaction that changes its own tables. The shipper reads what is behind its
position, writes it in one Kafka transaction and keeps the new position inside that transaction. A crash before EndTxn leaves
nothing; after it the position is there.

The position is kept twice, by the same transactions: as the metadata of an offset of the group that has the name of the
transactional id, which is quick to read and which Kafka forgets after `offsets.retention.minutes` (7 days) without a commit,
and as a record in a compacted topic, which forgets nothing (decision 0032).

Ids are given before commits happen, so a row with a lower id may appear later. Rows are therefore ordered by the database
transaction that wrote them (`txid`), and only those older than every transaction still open are read: none comes later.
"""

import contextlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg import sql

from oncelog.client.admin import EARLIEST, LATEST, Admin, CommittedOffset
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.faults import (
    RETRIABLE,
    ClientFault,
    RefusedByBroker,
    TimedOut,
    TransactionLost,
    Unreachable,
    error_name,
)
from oncelog.client.fetcher import PartitionFetcher
from oncelog.client.partitioner import partition_of_key
from oncelog.client.transactional import TransactionalId, TransactionProtocol
from oncelog.client.visible import visible
from oncelog.errors import ErrorCode, OncelogError
from oncelog.model import Isolation, Producer, ProducerEpoch, TopicPartition
from oncelog.record.batch import HEADER_BYTES, NewRecord, build_batch

log: Final = logging.getLogger(__name__)

MARKER_FORMAT: Final = 1
BATCH_BYTES: Final = 500_000
RECORD_HEAD_BYTES: Final = 32  # more than any record needs besides key and value
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 10.0
NEW_TOPIC_WAIT_MS: Final = 5_000
# Segments of this size keep what has to be read short: the one being written is never compacted.
PROGRESS_SETTINGS: Final[Mapping[str, str]] = {"cleanup.policy": "compact", "segment.bytes": "16777216"}
# Refusals that are about rows: mended at the row or its topic, not by another try.
OF_ROWS: Final = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.POLICY_VIOLATION,
    }
)
MAKE_OUTBOX: Final = sql.SQL(
    "CREATE TABLE IF NOT EXISTS {} ("
    "id bigserial, txid xid8 NOT NULL DEFAULT pg_current_xact_id(), topic text NOT NULL, key bytea, value bytea, "
    "at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (txid, id))"
)
NEXT_ROWS: Final = sql.SQL(
    "SELECT txid::text::bigint, id, topic, key, value, "
    "CASE WHEN isfinite(at) THEN (extract(epoch FROM at) * 1000)::bigint END FROM {} "
    "WHERE (txid, id) > (%s::text::xid8, %s) AND txid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY txid, id LIMIT %s"
)


class OutboxRefused(OncelogError):
    """Settings, a row or a position with which nothing can be shipped; says which. Nothing is lost."""


class OutboxFailed(OncelogError):
    """What was written is not what we wrote. Nothing of it is visible."""


class RowRefused(OutboxRefused):
    """A row that cannot be shipped. Rows before it are; it and those behind it wait until somebody mends it or its topic."""

    def __init__(self, table: str, row: "Row", error: int, why: str) -> None:
        self.position = row.position
        self.topic = row.topic
        self.error = error
        super().__init__(
            f"outbox {table!r}: row id={row.position.id} (txid {row.position.txid}) for topic {row.topic!r} cannot be shipped: "
            f"{why}. It and the rows behind it wait: mend the row or its topic, or delete the row"
        )


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
    timestamp: int | None  # None: not a time that a record can have

    @property
    def size(self) -> int:
        return len(self.key or b"") + len(self.value or b"")


def make_outbox(dsn: str, table: str = "outbox") -> None:
    """Creates the table if it is not there."""
    with psycopg.connect(dsn) as connection:
        connection.execute(MAKE_OUTBOX.format(sql.Identifier(*table.split("."))))


def make_progress_topic(cluster: Cluster, name: str) -> None:
    """Creates the topic for positions if it is not there. One may serve many outboxes."""
    try:
        Admin(cluster).create_topic(name, partitions=1, configs=PROGRESS_SETTINGS)
    except RefusedByBroker as fault:
        if fault.error != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise


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
        """`progress_topic` is a compacted topic of its own (`make_progress_topic`): the position is kept in its partition 0.

        `reached` is called at each step by its name: begun, written, position, offsets, ended. For tests that kill it there.
        """
        self._dsn = dsn
        self._cluster = cluster
        self._table = table
        self._rows_at_once = rows_at_once
        self._rows_now = rows_at_once  # fewer while we look for the row that is refused
        self._home = TopicPartition(progress_topic, 0)
        self._id = TransactionalId(cluster, transactional_id)
        self._name = transactional_id
        self._producer: Producer | None = None
        self._used: Producer | None = None  # of our last transaction, if the next one needs another epoch
        self._position = Position()
        self._limits: dict[str, int] = {}  # max.message.bytes of the topics that tell
        self._kept_ms: dict[str, int] = {}  # of those that tell and delete records whose time is longer ago
        self._reached: Callable[[str], None] = reached or (lambda _: None)

    def open(self) -> Position:
        """Takes the transactional id over, then reads where its predecessor stood: in this order nobody can move it."""
        self._check_progress_topic()
        self._producer = self._used = None
        producer = self._id.init()
        self._position = self._read_position()
        self._producer = producer
        log.info("outbox.opened transactional_id=%s position=%s", self._name, self._position)
        return self._position

    def _check_progress_topic(self) -> None:
        """Before anybody is fenced: a topic that forgets would have all rows shipped again one day."""
        name = self._home.topic
        hint = "make one with oncelog.postgres.outbox.make_progress_topic"
        try:
            self._cluster.topic(name)
            policy = Admin(self._cluster).values_of_topics("cleanup.policy", [name]).get(name)
        except RefusedByBroker as fault:
            if fault.error not in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION):
                raise
            raise OutboxRefused(f"progress topic {name!r} does not exist: {hint}") from None
        if policy is None:
            log.warning("outbox.policy_unknown topic=%s: we may not ask for its cleanup.policy", name)
        elif policy != "compact":
            raise OutboxRefused(
                f"progress topic {name!r}: wanted cleanup.policy=compact, found {policy}: the position would be forgotten; {hint}"
            )

    def _read_position(self) -> Position:
        """The newest there is. Where the group has none at home, it has forgotten, somebody has set its offset, or there never was
        one: then the topic tells.
        """
        admin = Admin(self._cluster)
        offsets = admin.group_offsets(self._name, require_stable=True)
        offsets |= admin.group_offsets(self._name, [self._home], require_stable=True)
        found = [Position()]
        for where, each in offsets.items():
            # At another partition: a shipper that was given another progress topic, or somebody else's offset.
            if where == self._home or '"oncelog_outbox"' in each.metadata:
                found.append(self._position_of(each.metadata, f"group {self._name!r}, {where}"))
        if self._home not in offsets or not offsets[self._home].metadata:
            found.append(self._position_in_topic())
        return max(found)

    def _position_in_topic(self) -> Position:
        """Up to the log's end, not to the last stable offset: a position of ours that is not to be seen yet is waited for."""
        admin = Admin(self._cluster)
        start, stop = (
            admin.offsets_at({self._home: which})[self._home].offset for which in (EARLIEST, LATEST)
        )
        found, key = Position(), self._name.encode()
        with PartitionFetcher(self._cluster, self._home, start=start, stop=stop) as fetcher:
            for fetched in fetcher:
                records = visible(
                    self._home,
                    fetched.data,
                    from_offset=fetched.first_offset,
                    isolation=Isolation.READ_COMMITTED,
                    aborted=fetched.aborted,
                ).records
                for each in records:
                    if each.key == key:
                        text = (each.value or b"").decode(errors="replace")
                        found = max(found, self._position_of(text, f"{self._home}, offset {each.offset}"))
        log.info("outbox.position_from_topic transactional_id=%s position=%s", self._name, found)
        return found

    def _position_of(self, text: str, where: str) -> Position:
        if not text:
            return Position()
        try:
            fields: Any = json.loads(text)
            if fields["oncelog_outbox"] != MARKER_FORMAT:
                raise ValueError(f"format {fields['oncelog_outbox']}")
            return Position(int(fields["txid"]), int(fields["id"]))
        except (ValueError, KeyError, TypeError) as why:
            raise OutboxRefused(
                f"{where}: wanted the position of an outbox, found {text!r} ({why})"
            ) from None

    def ship(self) -> int:
        """One transaction with all rows that are ready, up to `rows_at_once`; how many. 0: nothing to do."""
        kept = self._producer is not None or self._used is not None
        try:
            return self._ship()
        except TransactionLost as fault:
            if not kept or fault.in_doubt:
                raise
            # Nobody took over: the coordinator has forgotten us in days without a row. Opening anew is safe at any time.
            log.info("outbox.lost transactional_id=%s: %s", self._name, fault)
            return self._ship()

    def _ship(self) -> int:
        while True:
            if self._used is not None:
                self._renew(self._used)
            if self._producer is None:
                self.open()
            assert self._producer is not None
            rows = self._read()
            placed = self._place(rows)
            if not placed:
                return 0
            rows = rows[: sum(map(len, placed.values()))]
            # None until the end is known: a fault on the way makes the next turn begin with `open`.
            producer, self._producer = self._producer, None
            try:
                self._write(producer, placed)
            except (RefusedByBroker, OutboxFailed) as fault:
                self._abort(producer)
                if isinstance(fault, OutboxFailed) or fault.error not in OF_ROWS:
                    raise
                if len(rows) == 1:
                    raise RowRefused(self._table, rows[0], fault.error, str(fault)) from fault
                self._rows_now = len(rows) // 2
                continue
            self._end(producer, rows[-1].position)
            self._rows_now = min(2 * self._rows_now, self._rows_at_once)
            return len(rows)

    def _write(self, producer: Producer, placed: Mapping[TopicPartition, Sequence[Row]]) -> None:
        self._reached("begun")
        limits = {where: self._limits.get(where.topic, BATCH_BYTES) for where in placed}
        sealed = {where: _sealed(some, producer, limits[where]) for where, some in placed.items()}
        self._send(producer, sealed)
        self._reached("written")

    def _send(self, producer: Producer, sealed: Mapping[TopicPartition, Sequence[bytes]]) -> None:
        """Nobody else writes by our producer. If somebody did, a broker would take a batch of ours for one that is there, and
        acknowledge it with an offset below what was the end of its partition.
        """
        ends = Admin(self._cluster).offsets_at(dict.fromkeys(sealed, LATEST))
        self._id.add_partitions(producer, sealed)
        with BatchWriter(self._cluster, self._name, producer, protocol=self._id.protocol) as writer:
            for where, batches in sealed.items():
                for batch in batches:
                    writer.write(where, batch)
            offsets = writer.flush()
        for where, bases in offsets.items():
            if bases[0] < ends[where].offset:
                raise OutboxFailed(
                    f"{where}: a batch was acknowledged at offset {bases[0]}, the partition ended at {ends[where].offset} before it "
                    f"was written: another writer was there as producer {producer} of {self._name!r}"
                )

    def _end(self, producer: Producer, last: Position) -> None:
        """The position, in both places, and EndTxn."""
        record = NewRecord(self._name.encode(), last.text().encode(), _now_ms())
        self._send(producer, {self._home: [_batch([record], producer, 0)]})
        self._reached("position")
        committed = CommittedOffset(last.id, -1, last.text())
        self._id.commit_offsets(producer, self._name, {self._home: committed})
        self._reached("offsets")
        following = self._id.end(producer, commit=True)
        self._position = last
        # By TV1 the epoch is the same, and sequences that begin at 0 in it again would be taken for repetitions.
        if self._id.protocol is TransactionProtocol.TV2:
            self._producer = following
        else:
            self._used = following
        self._reached("ended")

    def _renew(self, used: Producer) -> None:
        """The next epoch, if nobody had the id since: then the position is the one we know. Else it takes an `open`."""
        self._used = None
        found = self._id.init(used)
        if found == Producer(used.id, ProducerEpoch(used.epoch + 1)):
            self._producer = found

    def _abort(self, producer: Producer) -> None:
        """Readers need not wait until its time is up. What does not get through is made good by the next `open`."""
        with contextlib.suppress(ClientFault):
            self._id.end(producer, commit=False)

    def run(
        self, *, idle_s: float = 0.2, until: Callable[[], bool] = lambda: False, patience_s: float = 300.0
    ) -> int:
        """Ships until `until` says so; how many rows in all. While broker or database are away it tries again, after 0.1, 0.2,
        ... 10 seconds, and raises what it failed with if that goes on for `patience_s`; so it does for a topic that is missing. A
        successor ends it at once, and so does a row that is refused for good.
        """
        shipped = 0
        pause_s, give_up_at = FIRST_PAUSE_S, 0.0
        while not until():
            try:
                count = self.ship()
            except (ClientFault, RowRefused, psycopg.OperationalError) as fault:
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
            found = connection.execute(query, (str(self._position.txid), self._position.id, self._rows_now))
            return [
                Row(Position(txid, number), topic, key, value, timestamp)
                for txid, number, topic, key, value, timestamp in found
            ]

    def _place(self, rows: Sequence[Row]) -> dict[TopicPartition, list[Row]]:
        """By key as Java producers do; rows without one go to the partition of their topic's name. Ends before a row that
        cannot be shipped, unless it is the first.
        """
        placed: dict[TopicPartition, list[Row]] = {}
        self._ask_limits({row.topic for row in rows} - self._limits.keys())
        for number, row in enumerate(rows):
            try:
                where = self._partition_of(row)
            except RowRefused:
                if number == 0:
                    raise
                break
            placed.setdefault(where, []).append(row)
        return placed

    def _partition_of(self, row: Row) -> TopicPartition:
        """RowRefused: what we can tell without writing it."""
        if row.timestamp is None:
            raise RowRefused(self._table, row, ErrorCode.INVALID_TIMESTAMP, "its `at` is not a finite time")
        if row.topic == self._home.topic:
            why = "the topic is for positions only"
            raise RowRefused(self._table, row, ErrorCode.INVALID_TOPIC_EXCEPTION, why)
        try:
            count = len(self._cluster.topic(row.topic, wait_ms=NEW_TOPIC_WAIT_MS).partitions)
        except RefusedByBroker as fault:
            if fault.error not in OF_ROWS:
                raise
            raise RowRefused(self._table, row, fault.error, str(fault)) from fault
        if self._beyond_limits(row) is not None:
            self._ask_limits([row.topic])  # they may have been raised
            beyond = self._beyond_limits(row)
            if beyond is not None:
                raise RowRefused(self._table, row, *beyond)
        key = row.key if row.key is not None else row.topic.encode()
        return TopicPartition(row.topic, partition_of_key(key, count))

    def _beyond_limits(self, row: Row) -> tuple[ErrorCode, str] | None:
        limit = self._limits.get(row.topic, row.size)
        if row.size > limit:
            why = f"{error_name(ErrorCode.MESSAGE_TOO_LARGE)}, {row.size} bytes and max.message.bytes of the topic is {limit}"
            return ErrorCode.MESSAGE_TOO_LARGE, why
        # Retention goes by the times of records, and where all of a segment are before 1970 by that of its file.
        kept_ms = self._kept_ms.get(row.topic)
        if kept_ms is not None and row.timestamp is not None and 0 <= row.timestamp < _now_ms() - kept_ms:
            why = f"its `at` is longer ago than retention.ms of the topic, {kept_ms}: it would be deleted, read or not"
            return ErrorCode.INVALID_TIMESTAMP, why
        return None

    def _ask_limits(self, topics: Iterable[str]) -> None:
        """Of topics that exist and may be asked; for others the broker's refusal tells, but for their retention."""
        wanted = sorted(topics)
        if wanted:
            with contextlib.suppress(RefusedByBroker):
                ask = Admin(self._cluster).values_of_topics
                self._limits |= {topic: int(each) for topic, each in ask("max.message.bytes", wanted).items()}
                policies, clocks = ask("cleanup.policy", wanted), ask("message.timestamp.type", wanted)
                for topic, each in ask("retention.ms", wanted).items():
                    self._kept_ms.pop(topic, None)
                    by_time = clocks.get(topic) == "CreateTime" and "delete" in policies.get(topic, "")
                    if by_time and int(each) >= 0:
                        self._kept_ms[topic] = int(each)


def _now_ms() -> int:
    return int(time.time() * 1000)


def _may_pass(fault: Exception) -> bool:
    """Whether the next `open` may find all well. Whether a commit in doubt is in, it finds out by the position."""
    if isinstance(fault, RefusedByBroker | RowRefused):
        return fault.error in RETRIABLE
    return isinstance(fault, Unreachable | TimedOut | TransactionLost | psycopg.OperationalError)


def _sealed(rows: Iterable[Row], producer: Producer, limit_bytes: int) -> list[bytes]:
    """Batches of bounded size with consecutive sequences from 0."""
    groups: list[list[NewRecord]] = [[]]
    size = HEADER_BYTES
    for row in rows:
        assert row.timestamp is not None
        bytes_of = row.size + RECORD_HEAD_BYTES
        if groups[-1] and size + bytes_of > min(BATCH_BYTES, limit_bytes):
            groups.append([])
            size = HEADER_BYTES
        groups[-1].append(NewRecord(row.key, row.value, row.timestamp))
        size += bytes_of
    sealed: list[bytes] = []
    sequence = 0
    for records in groups:
        sealed.append(_batch(records, producer, sequence))
        sequence += len(records)
    return sealed


def _batch(records: Sequence[NewRecord], producer: Producer, sequence: int) -> bytes:
    return build_batch(
        records,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        transactional=True,
    )
