"""The sink as Spark calls it: `format("oncelog")` in append mode, df.write, and `Sink`, a function for foreachBatch."""

import logging
import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from py4j.protocol import Py4JError  # pyright: ignore[reportMissingTypeStubs]  # it has none
from pyspark import TaskContext
from pyspark.errors import PySparkAttributeError, PySparkNotImplementedError
from pyspark.sql import DataFrame
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from oncelog.errors import OncelogError
from oncelog.spark import fault_points, open_note
from oncelog.spark.arrow import RecordBatch, pa
from oncelog.spark.offset_log import UnreadableCheckpoint, read_query_id
from oncelog.spark.sink_driver import SinkDriver
from oncelog.spark.sink_options import CommitOffsets, SinkOptions, SinkRefused, read_options
from oncelog.spark.sink_plan import Job, Opened, Report, Task
from oncelog.spark.sink_task import check_columns, write_rows
from oncelog.spark.worker import restore, settle

log: Final = logging.getLogger(__name__)

# Where Spark tells a task, and the thread of a query, which micro-batch it works for.
QUERY_ID: Final = "sql.streaming.queryId"
BATCH_ID: Final = "streaming.sql.batchId"
SPECULATION: Final = "spark.speculation"  # as all settings of a session that runs SQL
REPORT: Final = "report"
REUSE_LIMIT_S: Final = 600.0  # a coordinator forgets a transactional id that is idle for long (7 days); far from that we ask anew


class OpenFailed(SinkRefused, pickle.PicklingError):
    """A transaction could not be opened. The pickler, in which that happens, lets its own kind of errors pass as they are."""


class Message(WriterCommitMessage):
    """A task's report on its way to the driver."""

    def __init__(self, report: Report) -> None:
        self.report = report


def _reports(messages: Sequence[WriterCommitMessage | None]) -> list[Report | None]:
    return [each.report if isinstance(each, Message) else None for each in messages]


# Append mode


class OncelogStreamWriter(DataSourceStreamArrowWriter):
    """Spark makes one of these on the driver before the tasks of a micro-batch and pickles it for them, and another one,
    in another process, to commit or to abort. So the transaction is opened when it is pickled: it is what tasks need and
    what the other one must not do.
    """

    def __init__(self, options: SinkOptions) -> None:
        self.options = options
        self._opened: Opened | None = None

    def __getstate__(self) -> dict[str, object]:
        settle()
        if self._opened is None:
            self._opened = _open_stream(self.options)
            open_note.leave(self.options.transactional_id, self._opened)
        return {"options": self.options, "_opened": self._opened}

    def __setstate__(self, state: dict[str, object]) -> None:
        restore(self, state)

    def write(self, iterator: Iterator[RecordBatch]) -> WriterCommitMessage:
        assert self._opened is not None
        return Message(write_rows(self.options, self._opened, _this_task(None), iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # pyspark's name
        settle()
        reports = _reports(messages)
        query_id = next((each.task.job.query_id for each in reports if each is not None), None)
        with SinkDriver(self.options) as driver:
            driver.commit(Job(query_id, batchId), reports)
        fault_points.reach(fault_points.BEFORE_COMMIT_LOG)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        """After a failed task, a stop of the query, and a failed commit, which may be in: an abort takes nothing decided back."""
        known = next((each.opened for each in _reports(messages) if each is not None), None)
        opened = known or open_note.find(self.options.transactional_id)
        if opened is not None:
            with SinkDriver(self.options) as driver:
                driver.abort_opened(opened)


def stream_writer(given: Mapping[str, str], schema: StructType, overwrite: bool) -> OncelogStreamWriter:
    """For `writeStream.format("oncelog")`. Opens nothing: it is called twice per micro-batch."""
    options = read_options(given)
    if options.query_id is not None:
        raise SinkRefused("options queryId and batchId name a df.write; a stream has its own")
    if options.checkpoint is None and options.commit_offsets is not CommitOffsets.NEVER:
        raise SinkRefused(
            "option checkpointLocation: wanted it on the query itself, found nothing. The sink reads there which query this is and the "
            "offsets of its source, and is not told of spark.sql.streaming.checkpointLocation. With commitOffsets=false it does without"
        )
    if overwrite:
        raise SinkRefused(
            "output mode complete: a topic cannot be replaced; use append, or foreachBatch with oncelog.spark.Sink"
        )
    check_columns(schema.fieldNames(), options)
    return OncelogStreamWriter(options)


# df.write


class OncelogWriter(DataSourceArrowWriter):
    """One write, one transaction. Spark pickles this for the tasks and hands the same pickle to commit and abort."""

    def __init__(self, options: SinkOptions) -> None:
        self.options = options
        self._opened: Opened | None = None

    @property
    def _job(self) -> Job:
        return Job(self.options.query_id, self.options.batch_id)

    def __getstate__(self) -> dict[str, object]:
        if self._opened is None:
            self._opened = _open(self.options, self.options.query_id)
        return {"options": self.options, "_opened": self._opened}

    def __setstate__(self, state: dict[str, object]) -> None:
        restore(self, state)

    def write(self, iterator: Iterator[RecordBatch]) -> WriterCommitMessage:
        assert self._opened is not None
        return Message(write_rows(self.options, self._opened, _this_task(self._job), iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        with SinkDriver(self.options) as driver:
            driver.commit(self._job, _reports(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002  # the pickle knows
        if self._opened is not None:
            with SinkDriver(self.options) as driver:
                driver.abort_opened(self._opened)


def batch_writer(given: Mapping[str, str], schema: StructType, overwrite: bool) -> OncelogWriter:
    """For `df.write.format("oncelog")`."""
    options = read_options(given)
    if overwrite:
        raise SinkRefused('mode "overwrite": a topic cannot be replaced; use mode("append")')
    check_columns(schema.fieldNames(), options)
    return OncelogWriter(options)


def _open(options: SinkOptions, query_id: str | None, *, is_known: bool = True) -> Opened:
    try:
        with SinkDriver(options) as driver:
            return driver.open(query_id, is_known=is_known)
    except OncelogError as fault:
        raise OpenFailed(str(fault)) from fault


def _open_stream(options: SinkOptions) -> Opened:
    """Spark does not say here which query this is for; its checkpoint does. Where it cannot be read, tasks find out."""
    try:
        query_id = None if options.checkpoint is None else read_query_id(options.checkpoint)
    except UnreadableCheckpoint:
        query_id = None
    return _open(options, query_id, is_known=query_id is not None)


def _this_task(job: Job | None) -> Task:
    """Who we are. A task of a stream finds its micro-batch in the properties of the thread that started it."""
    context = TaskContext.get()
    assert context is not None
    if job is None:
        query_id, batch_id = context.getLocalProperty(QUERY_ID), context.getLocalProperty(BATCH_ID)
        if query_id is None or batch_id is None:
            raise SinkRefused(f"task properties {QUERY_ID} and {BATCH_ID}: Spark did not set them")
        job = Job(query_id, int(batch_id))
    copied = (context.getLocalProperty(SPECULATION) or "").lower() == "true"
    return Task(context.partitionId(), context.attemptNumber(), context.taskAttemptId(), job, copied)


# foreachBatch


class Sink:
    """`df.writeStream.foreachBatch(Sink(options))`: the same engine for any output mode, and it tries a failed micro-batch
    again in place (`batchRetries`, 2) instead of failing the query. One Sink for one query.

    What the query computes is computed again by a retry, in the same micro-batch and from the same state.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = read_options(options)
        if self.options.query_id is not None:
            raise SinkRefused("options queryId and batchId name a df.write; a stream has its own")
        self._driver: SinkDriver | None = None
        self._opened: Opened | None = None
        self._query_id: str | None = None
        self._ended = 0.0

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        job = Job(self._begin(df), batch_id)
        check_columns(df.columns, self.options)
        for tries_left in reversed(range(self.options.batch_retries + 1)):
            try:
                self._write(df, job)
                break
            except SinkRefused:
                raise
            except Exception as fault:  # of user code, of Spark, of the network: all may pass
                if not tries_left or _is_stopping(df, job.query_id):
                    raise
                log.warning("sink.retry job=%s left=%d fault=%s", job, tries_left, fault)
        fault_points.reach(fault_points.BEFORE_COMMIT_LOG)

    def close(self) -> None:
        """Closes the driver's connections; the next micro-batch opens them again."""
        if self._driver is not None:
            self._driver.close()
        self._driver = self._opened = None

    def _begin(self, df: DataFrame) -> str:
        try:
            query_id = df.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
        except (PySparkAttributeError, PySparkNotImplementedError) as why:
            raise SinkRefused(
                f'oncelog.spark.Sink: Spark Connect does not say which query calls; use format("oncelog") ({why})'
            ) from why
        if query_id is None:
            raise SinkRefused(
                "oncelog.spark.Sink: wanted a call by foreachBatch of a streaming query, found no query"
            )
        if self._query_id not in (None, query_id):
            self.close()  # the notebook started its query anew
        self._query_id = query_id
        if self._driver is None:
            checkpoint = self.options.checkpoint or _checkpoint_of(df, query_id)
            self._driver = SinkDriver(replace(self.options, checkpoint=checkpoint))
        return query_id

    def _write(self, df: DataFrame, job: Job) -> None:
        assert self._driver is not None
        opened, self._opened = self._opened, None
        if opened is None or time.monotonic() - self._ended > REUSE_LIMIT_S:
            opened = self._driver.open(job.query_id)
        try:
            rows = cast(Any, df).mapInArrow(_Writer(self.options, opened, job), f"{REPORT} binary").collect()
        except BaseException:
            self._driver.abort_opened(opened)
            raise
        self._opened = self._driver.commit(job, [pickle.loads(row[0]) for row in rows], opened)
        self._ended = time.monotonic()


class _Writer:
    """What runs in the tasks of a foreachBatch."""

    def __init__(self, options: SinkOptions, opened: Opened, job: Job) -> None:
        self.options = options
        self.opened = opened
        self.job = job

    def __setstate__(self, state: dict[str, object]) -> None:
        restore(self, state)

    def __call__(self, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        report = write_rows(self.options, self.opened, _this_task(self.job), batches)
        yield pa.record_batch([pa.array([pickle.dumps(report)])], names=[REPORT])


def _checkpoint_of(df: DataFrame, query_id: str) -> str | None:
    """Where Spark keeps the checkpoint of a query. It tells nobody but its own JVM."""
    running = _running(df, query_id)
    return None if running is None else str(running.resolvedCheckpointRoot())


def _is_stopping(df: DataFrame, query_id: str | None) -> bool:
    running = _running(df, query_id or "")
    return running is not None and not running.isActive()


def _running(df: DataFrame, query_id: str) -> Any:
    """The query, as the JVM knows it; None if it does not."""
    spark: Any = df.sparkSession
    try:
        uuid = spark._jvm.java.util.UUID.fromString(query_id)
        return spark._jsparkSession.sharedState().activeStreamingQueries().get(uuid)
    except (Py4JError, TypeError) as why:
        log.warning("sink.query_unknown query=%s: %s", query_id, why)
        return None
