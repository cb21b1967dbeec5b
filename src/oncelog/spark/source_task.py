"""A task of the Spark source: fetches its range of one partition and decodes it to Arrow."""

import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

from oncelog.client.cluster import Cluster
from oncelog.client.faults import OffsetOutOfRange, RefusedByBroker
from oncelog.client.fetcher import PartitionFetcher
from oncelog.errors import ErrorCode
from oncelog.model import Isolation
from oncelog.spark.arrow import RecordBatch
from oncelog.spark.decode import decode
from oncelog.spark.source_options import CLIENT_ID, SourceOptions
from oncelog.spark.source_plan import Range, cut_off, deleted, gone, judge_losses
from oncelog.spark.worker import settle

log: Final = logging.getLogger("oncelog.spark")


def read_range(options: SourceOptions, columns: Sequence[str], work: Range) -> Iterator[RecordBatch]:
    """The records of the range as Arrow batches."""
    settle()
    position = work.start
    refused = -1
    while position < work.stop:
        fetcher = PartitionFetcher(
            cluster_of_process(options),
            work.partition,
            start=position,
            stop=work.stop,
            isolation=options.isolation,
            max_bytes=options.fetch_max_bytes,
            max_wait_ms=options.fetch_max_wait_ms,
            timeout_ms=options.poll_timeout_ms,
        )
        try:
            with fetcher:
                for fetched in fetcher:
                    batches, position = decode(
                        fetched.data,
                        topic=work.partition.topic,
                        partition=work.partition.partition,
                        start=max(position, fetched.first_offset),
                        stop=work.stop,
                        aborted=fetched.aborted,
                        read_committed=options.isolation is Isolation.READ_COMMITTED,
                        headers=options.include_headers,
                        columns=columns,
                    )
                    yield from batches
            return
        except OffsetOutOfRange as fault:
            again, refused = fault.position == refused, fault.position
            position = _pass_over(options, work, fault, again=again)
        except RefusedByBroker as fault:
            if fault.error != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            _report(options, [gone(work.partition, fetcher.position)])
            return


def _pass_over(options: SourceOptions, work: Range, fault: OffsetOutOfRange, *, again: bool) -> int:
    """Where to go on when the offset that was asked for was not in the log. By now it may be: a log that was cut off has grown, and
    what is there of the range is to be read. `again`: it was refused there before, so to wait for it is of no use.
    """
    if fault.position < fault.log_start:
        _report(options, [deleted(work.partition, fault.position, min(fault.log_start, work.stop))])
        return fault.log_start
    _report(options, [cut_off(work.partition, fault.log_end, fault.position)])
    return work.stop if again or fault.position >= fault.log_end else fault.position


_CLUSTERS: Final[dict[tuple[int, Any], Cluster]] = {}


def cluster_of_process(options: SourceOptions) -> Cluster:
    """Spark uses a worker process for many tasks, one after the other: they share what is known of the cluster.

    A process that was forked with somebody else's connections does not use them.
    """
    key = (os.getpid(), tuple(sorted(options.kafka.items())))
    cluster = _CLUSTERS.get(key)
    if cluster is None:
        cluster = _CLUSTERS[key] = Cluster.from_options(options.kafka, client_id=CLIENT_ID)
    return cluster


def _report(options: SourceOptions, losses: Sequence[str]) -> None:
    warning = judge_losses(losses, failing=options.fail_on_data_loss)
    if warning:
        log.warning("%s", warning)
