"""The driver's half of the sink: opens the transaction of a micro-batch, ends it, and finds out what is in the log already."""

import logging
import socket
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import COORDINATOR_PASSING, TRANSACTION, Cluster
from oncelog.client.faults import (
    ClientFault,
    Fenced,
    RefusedByBroker,
    TransactionLost,
    UnsupportedByBroker,
    demand,
    error_name,
)
from oncelog.client.session import Connection
from oncelog.client.transactional import TransactionalId, TransactionProtocol
from oncelog.errors import ErrorCode
from oncelog.model import TopicPartition
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from oncelog.record.batch import NewRecord, build_batch
from oncelog.spark import fault_points
from oncelog.spark.fencing import explain
from oncelog.spark.finishing import finish
from oncelog.spark.offset_log import UnreadableCheckpoint, digest_of, kafka_offsets, read_sources
from oncelog.spark.progress import (
    existing_topic,
    marker_home,
    peek_marker,
    read_last_marker,
    those_there,
)
from oncelog.spark.sink_options import CommitOffsets, SinkOptions, SinkRefused, Unfinished
from oncelog.spark.sink_plan import (
    Home,
    Job,
    Marker,
    Opened,
    Report,
    Verdict,
    check_owner,
    check_replay,
    check_reports,
    check_strangers,
    home_of,
    judge,
    next_marker,
    offsets_to_commit,
)

log: Final = logging.getLogger(__name__)

ABORT_LIMIT_MS: Final = 10_000  # an abort that does not get through is made good by the next InitProducerId


def connect(options: SinkOptions) -> Cluster:
    """The client id is what a fenced query is told of its successor."""
    where = f":{options.checkpoint}" if options.checkpoint else ""
    return Cluster(
        options.bootstrap,
        client_id=options.client_id or f"oncelog-spark@{socket.gethostname()}{where}",
        timeout_ms=options.request_timeout_ms,
        patience_ms=options.delivery_timeout_ms,
        security=options.security,
    )


class SinkDriver:
    """One transactional id, as the driver uses it. Closing it ends nothing."""

    def __init__(self, options: SinkOptions) -> None:
        self.options = options
        self._cluster = connect(options)
        self._id = self._transactional_id(options.delivery_timeout_ms)

    def _transactional_id(self, deadline_ms: int) -> TransactionalId:
        return TransactionalId(
            self._cluster,
            self.options.transactional_id,
            timeout_ms=self.options.transaction_timeout_ms,
            deadline_ms=deadline_ms,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._cluster.close()

    # Open

    def open(self, query_id: str | None, *, is_known: bool = True) -> Opened:
        """InitProducerId first, then the last marker: in this order nobody can add one in between.

        Before both, a look without consequences: a query that has to be refused must not fence the one that is right.
        `is_known`: whether None means a df.write; otherwise tasks will know the query, and judge.
        """
        if self.options.topic is not None:
            existing_topic(self._cluster, self.options.topic, "option topic")
        if is_known:
            check_owner(query_id, peek_marker(self._cluster, self.options), self.options)
        try:
            producer = self._id.init()
        except RefusedByBroker as fault:
            if fault.error == ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                raise SinkRefused(
                    f"option kafka.transaction.timeout.ms: {self.options.transaction_timeout_ms} is more than the "
                    f"broker's transaction.max.timeout.ms ({fault})"
                ) from None
            raise
        last, home = self._last_marker()
        log.info("sink.opened transactional_id=%s producer=%s last=%s", self._id_name, producer, last)
        return Opened(producer, self._id.protocol, last, home)

    def _last_marker(self) -> tuple[Marker | None, Home | None]:
        """InitProducerId has answered, so its coordinator takes all that was decided for done: what is pending still stays so."""
        try:
            return read_last_marker(self._cluster, self.options)
        except RefusedByBroker as fault:
            if fault.error != ErrorCode.UNSTABLE_OFFSET_COMMIT:
                raise
            finish(self._cluster, self.options, str(fault))
            return read_last_marker(self._cluster, self.options)

    @property
    def _id_name(self) -> str:
        return self.options.transactional_id

    # End

    def commit(
        self, job: Job, reports: Sequence[Report | None], opened: Opened | None = None
    ) -> Opened | None:
        """Everything or nothing: rows, marker and source offsets. Returns what the next micro-batch may write to without
        another InitProducerId, or None if there has to be one. Raises after it aborted; a commit in doubt is left alone.
        `opened`: for who knows it. Then there may be no reports: a micro-batch without rows may have no tasks either.
        """
        try:
            if opened is not None and not reports:
                return self._commit(job, opened, {})
            return self._commit(job, *check_reports(job, reports))
        except (Fenced, TransactionLost) as fault:
            raise explain(self._cluster, self.options, fault) from fault
        except BaseException as fault:
            if not (isinstance(fault, ClientFault) and fault.in_doubt):
                self.abort(reports)
            if isinstance(fault, Unfinished):
                self._finish(fault)
            raise

    def _finish(self, fault: Unfinished) -> None:
        """After our transaction was aborted, which has nothing in those partitions: the repetition finds them as they should be."""
        self._id.init()
        finish(self._cluster, self.options, str(fault))

    def _commit(self, job: Job, opened: Opened, written: Mapping[TopicPartition, int]) -> Opened | None:
        sources = self._sources(job)
        digest = digest_of(sources) if sources else ""
        if judge(job, opened.last, self.options) is Verdict.SKIP:
            check_replay(job, opened.last, digest)
            log.info("sink.skipped transactional_id=%s job=%s", self._id_name, job)
            return opened
        check_strangers(job, written, self._id_members(opened))
        marker = next_marker(job, opened.last, digest)
        known = self._to_commit(sources)
        home = home_of(opened, written, known, self.options)
        offsets = offsets_to_commit(marker, home, written, known)
        if not written and not offsets:
            return opened
        fault_points.reach(fault_points.BEFORE_OFFSETS)
        if offsets:
            self._id.commit_offsets(opened.producer, self._id_name, offsets)
        if marker is not None and self.options.marker_topic is not None:
            self._write_marker(opened, marker, written)
        fault_points.reach(fault_points.BEFORE_END_TXN)
        following = self._id.end(opened.producer, commit=True)
        log.info(
            "sink.committed transactional_id=%s job=%s records=%d", self._id_name, job, sum(written.values())
        )
        fault_points.reach(fault_points.AFTER_END_TXN)
        if opened.protocol is TransactionProtocol.TV1:
            return None  # its epoch would let a late request of this transaction into the next one
        return replace(opened, producer=following, last=marker or opened.last, home=home)

    def _id_members(self, opened: Opened) -> Set[TopicPartition] | None:
        """The partitions in the open transaction, as the coordinator knows them; None if it does not say: it is too old, or we may
        not ask. If the transaction is not ours any more, the next request will tell.
        """
        request = DescribeTransactionsRequest(transactional_ids=[self._id_name])

        def ask(whom: Connection) -> TransactionState:
            (found,) = whom.send(request, DescribeTransactionsResponse).transaction_states
            if found.error_code in COORDINATOR_PASSING:
                demand(found.error_code, f"DescribeTransactions of {self._id_name!r}", str(whom))
            return found

        try:
            found = self._cluster.with_coordinator(self._id_name, ask, TRANSACTION)
        except UnsupportedByBroker as fault:
            log.info("sink.members_unknown transactional_id=%s fault=%s", self._id_name, fault)
            return None
        if found.error_code != ErrorCode.NONE:
            log.warning(
                "sink.members_unknown transactional_id=%s fault=%s",
                self._id_name,
                error_name(found.error_code),
            )
            return None
        if (found.producer_id, found.producer_epoch) != (opened.producer.id, opened.producer.epoch):
            return None
        return {TopicPartition(topic.topic, each) for topic in found.topics for each in topic.partitions}

    def abort(self, reports: Sequence[Report | None]) -> None:
        """Ends the transaction of these reports, if there is one to be known. It takes nothing back that was decided, and
        it fences nobody: by the epoch it can only be our own.
        """
        for report in reports:
            if report is not None:
                self.abort_opened(report.opened)
                return

    def abort_opened(self, opened: Opened) -> None:
        """The same for a transaction that is known."""
        try:
            self._transactional_id(ABORT_LIMIT_MS).end(opened.producer, commit=False)
        except ClientFault as fault:
            log.info("sink.abort_refused transactional_id=%s fault=%s", self._id_name, fault)

    # Progress

    def _sources(self, job: Job) -> tuple[str, ...]:
        """What Spark's offset log says of this micro-batch."""
        wanted = self.options.commit_offsets is CommitOffsets.ALWAYS
        if self.options.checkpoint is None or job.batch_id is None:
            if wanted:
                raise SinkRefused(
                    f"option commitOffsets=true: {job} has no checkpointLocation to read them from"
                )
            return ()
        try:
            return read_sources(self.options.checkpoint, job.batch_id)
        except (UnreadableCheckpoint, OSError) as why:
            if wanted:
                raise SinkRefused(f"option commitOffsets=true: {why}") from why
            log.warning("sink.offsets_unknown job=%s checkpoint=%s: %s", job, self.options.checkpoint, why)
            return ()

    def _to_commit(self, sources: Sequence[str]) -> Mapping[TopicPartition, int]:
        if self.options.commit_offsets is CommitOffsets.NEVER:
            return {}
        found = kafka_offsets(sources)
        there = those_there(self._cluster, found)
        missing = sorted(found.keys() - there)
        if missing and self.options.commit_offsets is CommitOffsets.ALWAYS:
            raise SinkRefused(
                f"option commitOffsets=true: {', '.join(map(str, missing))} of a source: there is no such partition at "
                f"{self.options.bootstrap}. Offsets join the transaction only of sources on the cluster of the sink"
            )
        return {each: offset for each, offset in found.items() if each in there}

    def _write_marker(self, opened: Opened, marker: Marker, written: Mapping[TopicPartition, int]) -> None:
        home = marker_home(self._cluster, self.options)
        if home in written:
            raise SinkRefused(f"option markerTopic: rows were written to {home}, which is for markers only")
        batch = build_batch(
            [NewRecord(self._id_name.encode(), marker.text().encode(), int(time.time() * 1000))],
            producer_id=opened.producer.id,
            producer_epoch=opened.producer.epoch,
            base_sequence=0,
            transactional=True,
        )
        self._id.add_partitions(opened.producer, [home])
        with BatchWriter(
            self._cluster,
            self._id_name,
            opened.producer,
            protocol=opened.protocol,
            timeout_ms=self.options.delivery_timeout_ms,
        ) as writer:
            writer.write(home, batch)
            writer.flush()
