"""A micro-batch of Spark into a PostgreSQL table, with its progress in the same database transaction.

    df.writeStream.foreachBatch(PostgresSink("postgresql://...", table="refunds", query="refunds")).start()

Spark repeats a micro-batch after a crash. The progress row says which one is in: a repeated one is executed, because stateful
operators and watermarks must see their rows, and not written. The row is locked while a micro-batch is written, so of two
drivers with one name the second waits, and then finds itself too late.

Spark's TIMESTAMP is a moment, and its rows say it as local time of the driver, without a zone. It goes to the database with the
zone of `spark.sql.session.timeZone`: a `timestamptz` keeps the moment, a `timestamp` the local time that Spark itself shows.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

import psycopg
from psycopg import sql

from oncelog.errors import OncelogError

log: Final = logging.getLogger(__name__)

PROGRESS: Final = "oncelog_progress"
MAKE_PROGRESS: Final = sql.SQL(
    "CREATE TABLE IF NOT EXISTS {} ("
    "query text PRIMARY KEY, query_id text NOT NULL, batch_id bigint NOT NULL, written_at timestamptz NOT NULL DEFAULT now())"
)
NO_BATCH: Final = -1
SESSION_ZONE: Final = "spark.sql.session.timeZone"
FIXED_ZONE: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")

Adapt = Callable[[Any], Any]


class PostgresSinkRefused(OncelogError):
    """The micro-batch must not be written; the text says why and what to do. Nothing of it is in the table."""


@dataclass(frozen=True, slots=True)
class PostgresSink:
    """Called by foreachBatch. Rows go over one connection of the driver, which one transaction needs, by COPY in pieces.

    dsn        where the database is
    table      an existing table, `schema.table` too; columns are matched by name
    query      the name of the progress: one for each streaming query, the same after every restart
    columns    those of the DataFrame that are written; all of them if not given
    """

    dsn: str
    table: str
    query: str
    columns: Sequence[str] | None = None

    def __call__(self, df: Any, batch_id: int) -> None:
        query_id = df.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        names = list(self.columns) if self.columns is not None else list(df.columns)
        wanted = df.select(*names)
        rows = _rows(wanted, zone_of(df.sparkSession.conf.get(SESSION_ZONE)))
        written = self.write(rows, names, query_id=str(query_id), batch_id=batch_id)
        if written is None:
            wanted.write.format("noop").mode("append").save()  # executed to its last row
            log.info("postgres.skipped query=%s micro_batch=%d", self.query, batch_id)
        else:
            log.info("postgres.written query=%s micro_batch=%d rows=%d", self.query, batch_id, written)

    def write(
        self, rows: Iterable[Sequence[Any]], names: Sequence[str], *, query_id: str, batch_id: int
    ) -> int | None:
        """How many rows were written, or None if this micro-batch is in already: then no row was taken. All or nothing."""
        with psycopg.connect(self.dsn) as connection:  # commits at the end of the block, or rolls back
            with connection.cursor() as cursor:
                cursor.execute(MAKE_PROGRESS.format(sql.Identifier(PROGRESS)))
            connection.commit()
            with connection.cursor() as cursor:
                last = self._lock_progress(cursor, query_id)
                if batch_id <= last:
                    return None
                if last != NO_BATCH and batch_id != last + 1:
                    raise PostgresSinkRefused(
                        f"query {self.query!r}: wanted micro-batch {last + 1}, found {batch_id}: another checkpoint "
                        f"must not use the same name"
                    )
                count = self._copy(cursor, rows, names)
                cursor.execute(
                    sql.SQL("UPDATE {} SET batch_id = %s, written_at = now() WHERE query = %s").format(
                        sql.Identifier(PROGRESS)
                    ),
                    (batch_id, self.query),
                )
                return count

    def _lock_progress(self, cursor: psycopg.Cursor[Any], query_id: str) -> int:
        """The last micro-batch that is in; the row stays locked until the transaction ends."""
        table = sql.Identifier(PROGRESS)
        cursor.execute(
            sql.SQL(
                "INSERT INTO {} (query, query_id, batch_id) VALUES (%s, %s, %s) ON CONFLICT (query) DO NOTHING"
            ).format(table),
            (self.query, query_id, NO_BATCH),
        )
        cursor.execute(
            sql.SQL("SELECT query_id, batch_id FROM {} WHERE query = %s FOR UPDATE").format(table),
            (self.query,),
        )
        found = cursor.fetchone()
        assert found is not None
        if found[0] != query_id:
            raise PostgresSinkRefused(
                f"query {self.query!r}: its progress belongs to Spark query {found[0]}, found {query_id}: the checkpoint was "
                f"deleted, or another query uses the name. Choose a new name, or delete the row of {PROGRESS} to begin anew"
            )
        return int(found[1])

    def _copy(self, cursor: psycopg.Cursor[Any], rows: Iterable[Sequence[Any]], names: Sequence[str]) -> int:
        copy = sql.SQL("COPY {} ({}) FROM STDIN").format(
            sql.Identifier(*self.table.split(".")), sql.SQL(", ").join(map(sql.Identifier, names))
        )
        count = 0
        with cursor.copy(copy) as into:
            for row in rows:
                into.write_row(row)
                count += 1
        return count


def _rows(df: Any, zone: tzinfo) -> Iterator[list[Any]]:
    """Nothing is executed before the first row is asked for."""
    adapts = [_adapt(field.dataType, zone) for field in df.schema.fields]
    for row in df.toLocalIterator():
        yield [
            value if adapt is None or value is None else adapt(value)
            for adapt, value in zip(adapts, row, strict=True)
        ]


def _adapt(kind: Any, zone: tzinfo) -> Adapt | None:
    """What the values of a type need before they go to the database; None: nothing."""
    name = kind.typeName()
    if name == "timestamp":

        def with_zone(moment: datetime) -> datetime:
            return moment.astimezone(
                zone
            )  # of the driver's local time, which knows a repeated hour by its fold

        return with_zone
    if name == "array":
        each = _adapt(kind.elementType, zone)
        return each and (lambda values: [value if value is None else each(value) for value in values])
    if name == "struct":
        adapts = [_adapt(field.dataType, zone) for field in kind.fields]
        if any(adapts):
            return lambda row: tuple(
                value if adapt is None or value is None else adapt(value)
                for adapt, value in zip(adapts, row, strict=True)
            )
    return None


def zone_of(name: str) -> tzinfo:
    """A time zone by the names that Spark takes: of a region, Z, or an offset such as +02:00 and UTC+2."""
    fixed = FIXED_ZONE.fullmatch(name)
    if fixed is not None:
        sign, hours, minutes, seconds = fixed.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
        return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo("UTC" if name == "Z" else name)
    except (KeyError, ValueError, OSError):
        raise PostgresSinkRefused(
            f"{SESSION_ZONE}: wanted the name of a region, such as Europe/Berlin, or UTC, or an offset such as +02:00, found {name!r}"
        ) from None
