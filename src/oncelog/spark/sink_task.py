"""A task's half of the sink: writes its rows into the transaction that the driver opened, and says how many went where."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from oncelog.client.admin import LATEST, Admin
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault, Fenced, RefusedByBroker, TransactionLost
from oncelog.client.transactional import TransactionalId
from oncelog.errors import ErrorCode
from oncelog.model import TopicPartition
from oncelog.record.batch import read_header
from oncelog.spark import fault_points
from oncelog.spark.arrow import RecordBatch, pa, pc
from oncelog.spark.encode import BadRows, Encoder, split_by_partition
from oncelog.spark.fencing import explain
from oncelog.spark.finishing import unfinished_in
from oncelog.spark.hashing import partition_of
from oncelog.spark.limits import batch_limits, forget_limits
from oncelog.spark.progress import existing_topic
from oncelog.spark.sink_driver import connect
from oncelog.spark.sink_options import SinkFailed, SinkOptions, SinkRefused, TakenOver, Unfinished
from oncelog.spark.sink_plan import (
    Failure,
    Opened,
    Report,
    Task,
    Verdict,
    check_attempt,
    check_speculation,
    judge,
    rows_of_first_batch,
    two_writers,
)
from oncelog.spark.worker import settle

# What a partition's second writer is answered: its sequences do not fit behind those of the first.
OF_ANOTHER_WRITER: Final = frozenset(
    {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
)

# Answers that the same rows would get again.
BAD_INPUT: Final = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    }
)


def check_columns(names: Sequence[str], options: SinkOptions) -> None:
    """Before anything is opened. Columns that the sink does not know are passed over, as by Spark's own."""
    if "value" not in names:
        raise SinkRefused(f"wanted a column `value`, found {', '.join(names)}")
    if options.topic is None and "topic" not in names:
        raise SinkRefused(f"wanted an option topic or a column `topic`, found columns {', '.join(names)}")


def write_rows(options: SinkOptions, opened: Opened, task: Task, batches: Iterator[RecordBatch]) -> Report:
    """What a task does with its rows. Faults that we know are reported, not raised (see Report)."""
    settle()
    fault_points.enter_task()
    verdict = Verdict.WRITE
    with connect(options) as cluster:
        try:
            verdict = judge(task.job, opened.last, options)
            check_speculation(task)
            if verdict is Verdict.SKIP or task.attempt_number > 0:
                # Operators upstream must see their rows; and what failed a first attempt fails a second one as well, so that
                # Spark's error is that and not ours.
                for _ in batches:
                    pass
            if verdict is Verdict.SKIP:
                return Report(task, opened, verdict, {})
            check_attempt(task)
            with _Part(options, opened, task, cluster) as part:
                return Report(task, opened, verdict, part.write(batches))
        except (ClientFault, SinkRefused, SinkFailed) as fault:
            failure, said = _kind_of(fault, cluster, options)
            return Report(task, opened, verdict, {}, failure, f"{task}: {said}")


def _kind_of(fault: Exception, cluster: Cluster, options: SinkOptions) -> tuple[Failure, str]:
    if isinstance(fault, Fenced | TransactionLost):
        fault = explain(cluster, options, fault)
    if isinstance(fault, TakenOver):
        return Failure.TAKEN_OVER, str(fault)
    if isinstance(fault, RefusedByBroker) and fault.error == ErrorCode.MESSAGE_TOO_LARGE:
        return Failure.REFUSED, (
            f"{fault}. A record batch is larger than the topic's max.message.bytes, and this client may not ask for that "
            "(DescribeConfigs), or it was changed a moment ago. kafka.batch.size makes batches smaller"
        )
    if isinstance(fault, SinkRefused) or (isinstance(fault, RefusedByBroker) and fault.error in BAD_INPUT):
        return Failure.REFUSED, str(fault)
    return (Failure.UNFINISHED if isinstance(fault, Unfinished) else Failure.FAILED), str(fault)


class _Part:
    """One task's part of a transaction."""

    def __init__(self, options: SinkOptions, opened: Opened, task: Task, cluster: Cluster) -> None:
        self._options = options
        self._opened = opened
        self._task = task
        self._cluster = cluster
        self._id = TransactionalId(
            cluster,
            options.transactional_id,
            timeout_ms=options.transaction_timeout_ms,
            deadline_ms=options.delivery_timeout_ms,
            protocol=opened.protocol,
        )
        self._writer = BatchWriter(
            cluster,
            options.transactional_id,
            opened.producer,
            protocol=opened.protocol,
            timeout_ms=options.delivery_timeout_ms,
            request_limit_bytes=options.request_bytes,
        )
        self._encoders: dict[TopicPartition, Encoder] = {}
        self._limits: dict[str, int] = {}  # max.message.bytes of the topics that tell
        self._ends: dict[TopicPartition, int] = {}  # where each partition ended before our first batch
        self._written: dict[TopicPartition, int] = {}
        self._rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    def write(self, batches: Iterable[RecordBatch]) -> dict[TopicPartition, int]:
        """Acknowledged records by partition, when all are."""
        for batch in batches:
            placed = place_rows(batch, self._options, self._partitions_of, self._rows)
            self._rows += batch.num_rows
            self._begin(placed.keys() - self._ends.keys())
            for where, rows in placed.items():
                self._send(where, rows)
            if placed and fault_points.is_armed():
                self._flush()
                fault_points.reach(fault_points.MID_TASK)
        self._flush()
        fault_points.reach(fault_points.AFTER_FLUSH)
        return self._written

    def _partitions_of(self, topic: str) -> int:
        return len(existing_topic(self._cluster, topic, "column topic"))

    def _begin(self, partitions: Set[TopicPartition]) -> None:
        """Partitions that this task writes for the first time."""
        if not partitions:
            return
        found = Admin(self._cluster).offsets_at(dict.fromkeys(partitions, LATEST))
        ends = {where: each.offset for where, each in found.items()}
        held = unfinished_in(self._cluster, self._opened.producer, ends)
        if held:
            raise Unfinished(
                f"{', '.join(map(str, sorted(held)))}: an earlier transaction of transactional id "
                f"{self._options.transactional_id!r} is decided and has no marker there"
            )
        self._id.add_partitions(self._opened.producer, partitions)
        self._ask_limits({each.topic for each in partitions})
        for where in partitions:
            self._ends[where] = ends[where]
            self._written[where] = 0
            self._encoders[where] = Encoder(
                self._opened.producer,
                True,
                self._options.codec,
                min(self._options.batch_bytes, self._limits.get(where.topic, self._options.batch_bytes)),
                now_ms,
                request_limit_bytes=self._options.request_bytes,
            )

    def _send(self, where: TopicPartition, rows: RecordBatch) -> None:
        """The first batch of a partition has a size of this attempt's own (see rows_of_first_batch)."""
        first = 0 if self._written[where] else rows_of_first_batch(self._task, rows.num_rows)
        for some in (rows.slice(0, first), rows.slice(first)):
            try:
                sealed = self._encoders[where].add(some)
            except BadRows as fault:
                if fault.row is None:
                    raise SinkRefused(f"{where}: {fault}") from fault
                raise SinkRefused(f"{self._row(where, fault.row)}: {fault.said}") from fault
            self._check_sizes(where, sealed)
            with noticing_another_writer():
                for each in sealed:
                    self._writer.write(where, each)
            self._written[where] += some.num_rows

    def _row(self, where: TopicPartition, row: int) -> str:
        return f"row {self._written[where] + row} of this task's rows for {where}"

    def _ask_limits(self, topics: Set[str]) -> None:
        self._limits |= batch_limits(self._cluster, self._options.bootstrap, topics)

    def _check_sizes(self, where: TopicPartition, sealed: Sequence[bytes | memoryview]) -> None:
        """What the broker would refuse without a word of the row. A batch beyond the limit is a single record, or the limit was
        raised meanwhile: it is asked for again.
        """
        limit = self._limits.get(where.topic)
        if limit is None or all(len(each) <= limit for each in sealed):
            return
        forget_limits(self._options.bootstrap, [where.topic])
        self._ask_limits({where.topic})
        limit, row = self._limits[where.topic], 0
        for each in sealed:
            count = read_header(each).count
            if len(each) > limit and count == 1:
                raise SinkRefused(
                    f"{self._row(where, row)}: a record of {len(each)} bytes, max.message.bytes of topic {where.topic!r} is {limit}"
                )
            row += count

    def _flush(self) -> None:
        """The duplicate guard: an offset below the old end of the partition is the answer to a batch that had been there, from
        another writer with our producer and our sequences. The broker takes ours for a repetition of it and drops it.
        """
        with noticing_another_writer():
            offsets = self._writer.flush()
        for where, bases in offsets.items():
            if bases[0] < self._ends[where]:
                raise two_writers(where, f"another that had written offset {bases[0]} before this one began")


@contextmanager
def noticing_another_writer() -> Generator[None]:
    """Sequences that do not fit are those of a partition's second writer: of ours, a batch is sealed once and sent in order."""
    try:
        yield
    except RefusedByBroker as fault:
        if fault.error in OF_ANOTHER_WRITER:
            raise two_writers(None, f"another with the same sequence numbers ({fault})") from fault
        raise


def now_ms() -> int:
    return int(time.time() * 1000)


def place_rows(
    batch: RecordBatch, options: SinkOptions, partitions_of: Callable[[str], int], first_row: int = 0
) -> dict[TopicPartition, RecordBatch]:
    """The rows by topic and partition, in their order. SinkRefused names the row that has no place."""
    if not batch.num_rows:
        return {}
    if options.topic is not None:
        return _place_in_topic(batch, options.topic, partitions_of(options.topic), first_row)
    topics = batch.column("topic")
    if topics.null_count:
        row = topics.is_null().index(True).as_py()
        raise SinkRefused(f"row {first_row + row} of the task: wanted a topic, found null")
    placed: dict[TopicPartition, RecordBatch] = {}
    for topic in topics.unique().to_pylist():
        mine = batch.filter(pc.equal(topics, topic))
        placed |= _place_in_topic(mine, topic, partitions_of(topic), first_row)
    return placed


def _place_in_topic(
    rows: RecordBatch, topic: str, count: int, first_row: int
) -> dict[TopicPartition, RecordBatch]:
    keys = rows.column("key") if "key" in rows.schema.names else pa.nulls(rows.num_rows, pa.binary())
    if "partition" not in rows.schema.names:
        where = partition_of(keys, count, first_row=first_row)
    else:
        wanted = rows.column("partition")
        if not pa.types.is_integer(wanted.type):
            raise SinkRefused(f"column partition: wanted whole numbers, found {wanted.type}")
        where = wanted
        if wanted.null_count:
            where = pc.coalesce(
                wanted, pa.array(partition_of(keys, count, first_row=first_row), type=wanted.type)
            )
        strange = pc.or_(pc.less(where, 0), pc.greater_equal(where, count))
        if pc.any(strange).as_py():
            found = pc.filter(where, strange)[0].as_py()
            raise SinkRefused(
                f"column partition: topic {topic!r} has partitions 0 to {count - 1}, found {found}"
            )
    return {TopicPartition(topic, each): some for each, some in split_by_partition(rows, where).items()}
