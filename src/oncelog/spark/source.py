"""The readers behind `format("oncelog")`: plans are made on the driver, tasks read their ranges.

What only one side needs is imported there when it is used: Spark starts a process for every small question it has.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import (
    DataSourceReader,
    DataSourceStreamReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from oncelog.model import Isolation, TopicPartition
from oncelog.spark.source_options import LARGEST, BadOption, Offsets, SourceOptions, from_json, to_json
from oncelog.spark.source_plan import (
    NEVER_NULL,
    Condition,
    Planned,
    Range,
    Wanted,
    available,
    judge_losses,
    limit_offsets,
    moves,
    narrow,
    plan_batch,
    plan_ranges,
    split_ranges,
)
from oncelog.spark.worker import restore

if TYPE_CHECKING:
    from oncelog.spark.arrow import RecordBatch
    from oncelog.spark.source_logs import Logs

log: Final = logging.getLogger("oncelog.spark")

JsonOffsets = dict[str, dict[str, int]]

# ---- columns ----------------------------------------------------------------------------------------------------------

COLUMNS: Final[Mapping[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
}


def source_schema(include_headers: bool) -> StructType:
    """The columns of Spark's Kafka connector, in its order."""
    return StructType(
        [StructField(name, kind) for name, kind in COLUMNS.items() if name != "headers" or include_headers]
    )


def columns_of(schema: StructType, include_headers: bool) -> tuple[str, ...]:
    """The columns to make. A query may name fewer with `.schema("value BINARY, offset LONG")`: what is not named is not
    decoded, which is the only way to tell a Python data source about it.
    """
    for each in schema.fields:
        wanted = COLUMNS.get(each.name)
        if wanted is None:
            raise BadOption(f"schema: column {each.name!r} is unknown; there are {', '.join(COLUMNS)}")
        if each.dataType != wanted:
            raise BadOption(
                f"schema: column {each.name} is {wanted.simpleString()}, found {each.dataType.simpleString()}"
            )
        if not each.nullable:
            raise BadOption(f"schema: column {each.name} may not be declared NOT NULL")
        if each.name == "headers" and not include_headers:
            raise BadOption("schema: column headers needs the option includeHeaders=true")
    return tuple(schema.fieldNames())


class RangePartition(InputPartition):
    """One task's range."""

    def __init__(self, work: Range) -> None:
        super().__init__(work)
        self.work = work


def _open_logs(options: SourceOptions) -> "Logs":
    from oncelog.spark.source_logs import Logs

    return Logs(options)


def _report(options: SourceOptions, losses: Sequence[str]) -> None:
    warning = judge_losses(losses, failing=options.fail_on_data_loss)
    if warning:
        log.warning("%s", warning)


def _read(
    options: SourceOptions, columns: Sequence[str], partition: InputPartition
) -> "Iterator[RecordBatch]":
    from oncelog.spark.source_task import read_range

    # Spark plans one task without a range if there is nothing to read.
    return read_range(options, columns, partition.work) if isinstance(partition, RangePartition) else iter(())


# ---- batch ------------------------------------------------------------------------------------------------------------

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
OPERATORS: Final[Mapping[type[Filter], str]] = {
    EqualTo: "=",
    EqualNullSafe: "=",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    In: "in",
}

END_OF: Final = {
    Isolation.READ_COMMITTED: "its last stable offset",
    Isolation.READ_UNCOMMITTED: "its high watermark",
}


class OncelogReader(DataSourceReader):
    """One read of what lies between two boundaries."""

    def __init__(self, options: SourceOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = columns
        self._wanted = Wanted()

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802  # pyspark's name
        """Keeps what can be told from partitions, offsets and times; gives back what Spark has to check itself."""
        for each in filters:
            if isinstance(each, IsNotNull) and len(each.attribute) == 1 and each.attribute[0] in NEVER_NULL:
                continue
            condition = condition_of(each)
            if condition is None:
                yield each
                continue
            self._wanted, is_all = narrow(self._wanted, condition)
            if not is_all:
                yield each

    def partitions(self) -> list[InputPartition]:
        logs = _open_logs(self._options)
        try:
            return [RangePartition(each) for each in self._plan(logs)]
        finally:
            logs.close()

    def _plan(self, logs: "Logs") -> list[Range]:
        partitions = logs.partitions()
        planned = plan_batch(
            self._options.start,
            self._options.end,
            logs.start(partitions),
            logs.end(partitions),
            earliest=logs.earliest(partitions),
            latest=logs.latest(partitions),
            called=END_OF[self._options.isolation],
        )
        _report(self._options, planned.losses)
        at_time: dict[TopicPartition, int] = {}
        if self._wanted.first_millis is not None:
            found = logs.at_times(
                dict.fromkeys([each.partition for each in planned.ranges], self._wanted.first_millis)
            )
            at_time = {each: at for each, at in found.items() if at >= 0}
        return split_ranges(
            self._wanted.narrowed(planned.ranges, at_time),
            min_partitions=self._options.min_partitions,
            max_records=self._options.max_records_per_partition,
        )

    def __setstate__(self, state: dict[str, object]) -> None:
        restore(self, state)

    def read(self, partition: InputPartition) -> "Iterator[RecordBatch]":
        return _read(self._options, self._columns, partition)


def condition_of(each: Filter) -> Condition | None:
    """Spark's filter in the plan's words; None if we have none for it."""
    operator = OPERATORS.get(type(each))
    if operator is None:
        return None
    said: Any = each
    if len(said.attribute) != 1:
        return None
    values = tuple(said.value) if operator == "in" else (said.value,)
    return Condition(said.attribute[0], operator, tuple(_plain(value) for value in values))


def _plain(value: Any) -> Any:
    """Times as microseconds since 1970. A time without a zone stays what it is: we do not know the query's zone."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return (value - EPOCH) // timedelta(microseconds=1)
    return value


# ---- streaming --------------------------------------------------------------------------------------------------------


class OncelogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream: Spark asks how far it may go, then for the ranges in between, and keeps the offsets in its checkpoint.

    The first offset. Spark does not keep what `initialOffset` answers: it asks again if it has to repeat the first micro-batch.
    An answer that moves (latest, a time, a group's committed offset) would change what that micro-batch holds, so the first
    one is made empty: its end offset, which Spark does keep, is the first offset. After that everything is in the checkpoint.
    """

    def __init__(self, options: SourceOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = columns
        self._logs: Logs | None = None
        self._initial: dict[TopicPartition, int] | None = None
        self._planned_before = False
        self._kept_initial = False
        self._target: dict[TopicPartition, int] | None = None
        self._latest: dict[TopicPartition, int] = {}
        self._checked: tuple[Offsets, Offsets, Planned] | None = None
        self._last_trigger = float("-inf")

    @property
    def logs(self) -> "Logs":
        if self._logs is None:
            self._logs = _open_logs(self._options)
        return self._logs

    def initialOffset(self) -> JsonOffsets:  # noqa: N802  # pyspark's name
        return to_json(self._first())

    def _first(self) -> dict[TopicPartition, int]:
        """The same answer as long as this reader lives."""
        if self._initial is None:
            partitions = self.logs.partitions()
            first = self.logs.start(partitions)
            # Records that came since the target was set are not part of this run.
            if self._target is not None:
                first = {each: min(at, self._target.get(each, at)) for each, at in first.items()}
            self._initial = first
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # pyspark's name
        """Never ReadAllAvailable: if Spark says that nevertheless, it is the one micro-batch of Trigger.Once."""
        return ReadMaxRows(self._options.max_offsets_per_trigger or LARGEST)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # pyspark's name
        # Which topics may be missing is not known before the first offset is.
        self._target = self.logs.latest(self.logs.partitions(lenient=True))

    def latestOffset(self, start: JsonOffsets, limit: ReadLimit) -> JsonOffsets:  # noqa: N802  # pyspark's name
        starts = from_json(start)
        ends = self._ends(starts)
        self._latest = ends
        if isinstance(limit, ReadAllAvailable):
            return to_json(self._check(starts, ends))
        if starts == self._initial and self._must_keep_initial():
            return start
        if ends == starts or self._wait_for_more(starts, ends):
            return start
        if isinstance(limit, ReadMaxRows) and limit.max_rows < LARGEST:
            fresh = self.logs.earliest([each for each in ends if each not in starts])
            ends = limit_offsets(limit.max_rows, starts, ends, earliest=fresh)
        return to_json(self._check(starts, ends))

    def _must_keep_initial(self) -> bool:
        if self._planned_before or self._kept_initial or not moves(self._options.start):
            return False
        self._kept_initial = True
        return True

    def _ends(self, starts: Offsets) -> dict[TopicPartition, int]:
        lenient = not self._options.fail_on_data_loss  # it vanished earlier, and was reported as lost then
        partitions = self.logs.partitions(known=starts, lenient=lenient)
        return self.logs.latest(partitions) if self._target is None else self._target

    def _wait_for_more(self, starts: Offsets, ends: Offsets) -> bool:
        """Whether minOffsetsPerTrigger holds the micro-batch back. AvailableNow has no more to wait for."""
        least = self._options.min_offsets_per_trigger
        if least is None or self._target is not None:
            return False
        now = time.monotonic()
        waited_ms = (now - self._last_trigger) * 1000
        if available(starts, ends) < least and waited_ms < self._options.max_trigger_delay_ms:
            return True
        self._last_trigger = now
        return False

    def _check(self, starts: Offsets, ends: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Losses are told before Spark writes the offsets down: a query that failed can be started again unchanged."""
        planned = plan_ranges(starts, ends, earliest=self.logs.earliest(ends))
        anew = [f"topic {name!r} was deleted and made anew" for name in self.logs.made_anew()]
        _report(self._options, [*anew, *planned.losses])
        self._checked = (starts, ends, planned)
        return ends

    def reportLatestOffset(self) -> JsonOffsets | None:  # noqa: N802  # pyspark's name
        return to_json(self._latest) if self._latest else None

    def partitions(self, start: JsonOffsets, end: JsonOffsets) -> Sequence[InputPartition]:
        starts, ends = from_json(start), from_json(end)
        if not self._planned_before and starts == self._initial:
            # A repeated first micro-batch: see above.
            starts = {each: min(at, ends.get(each, at)) for each, at in starts.items() if each in ends}
        self._planned_before = True
        if self._checked is None or self._checked[:2] != (starts, ends):
            self._check(starts, ends)
            assert self._checked is not None
        planned = self._checked[2]
        return [
            RangePartition(each)
            for each in split_ranges(
                planned.ranges,
                min_partitions=self._options.min_partitions,
                max_records=self._options.max_records_per_partition,
            )
        ]

    def __setstate__(self, state: dict[str, object]) -> None:
        restore(self, state)

    def read(self, partition: InputPartition) -> "Iterator[RecordBatch]":
        return _read(self._options, self._columns, partition)

    def commit(self, end: JsonOffsets) -> None:
        """Nothing to do: the checkpoint keeps the position; a sink may commit it to a group in its own transaction."""

    def stop(self) -> None:
        if self._logs is not None:
            self._logs.close()
            self._logs = None
