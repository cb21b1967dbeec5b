"""What the sink does when the last transaction of its id was decided and markers of it were never written (decision 0030)."""

import logging
from collections.abc import Set
from typing import Final

from oncelog.client import unfinished
from oncelog.client.admin import LATEST, Admin
from oncelog.client.cluster import Backoff, Cluster
from oncelog.client.faults import RefusedByBroker
from oncelog.client.unfinished import NothingToFinish
from oncelog.errors import ErrorCode
from oncelog.model import Isolation, Producer, TopicPartition
from oncelog.spark.sink_options import SinkFailed, SinkOptions

log: Final = logging.getLogger(__name__)

MARKERS_WAIT_MS: Final = 5_000  # a coordinator that answered EndTxn writes its markers within milliseconds

MAY_NOT: Final = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)


def finish(cluster: Cluster, options: SinkOptions, why: str) -> None:
    """Writes the missing markers where the transaction log proves what was decided. SinkFailed says why it cannot, and what to do."""
    name = options.transactional_id
    try:
        found = unfinished.finish(cluster, name)
    except NothingToFinish as nothing:
        raise SinkFailed(
            f"{why}. {nothing}. `oncelog txn stuck` says who holds it back; nothing was doubled, nothing is lost"
        ) from nothing
    except RefusedByBroker as refused:
        if refused.error not in MAY_NOT:
            raise
        raise SinkFailed(
            f"{why}. The broker went down while it ended a transaction of transactional id {name!r}, and its markers are missing. "
            f"This user may not write them ({refused}). An administrator does so with `oncelog txn finish {name}`, then "
            "the query can be started again. Do not abort it (`kafka-transactions abort`): what was committed would be lost"
        ) from refused
    log.warning(
        "sink.finished transactional_id=%s partitions=%s", name, ", ".join(str(each.where) for each in found)
    )


def unfinished_in(
    cluster: Cluster, producer: Producer, ends: dict[TopicPartition, int]
) -> Set[TopicPartition]:
    """Those of these partitions in which an earlier transaction of this producer is still open, though its successor has begun.

    What we would write there joins it: if ours is aborted, rows that were committed before go with it. The last stable offset
    tells at the cost of one request; only where it is behind `ends` (log end offsets asked before) somebody is asked more.
    """
    stable = Admin(cluster).offsets_at(dict.fromkeys(ends, LATEST), isolation=Isolation.READ_COMMITTED)
    held = {where for where, end in ends.items() if stable[where].offset < end}
    backoff = Backoff(MARKERS_WAIT_MS)
    while held:
        try:
            opened = Admin(cluster).open_transactions(held)
        except RefusedByBroker as fault:
            if fault.error not in MAY_NOT:
                raise
            log.warning("sink.producers_unknown partitions=%s: %s", sorted(map(str, held)), fault)
            return frozenset()
        held = {
            where
            for where, found in opened.items()
            if any(each.producer.id == producer.id and each.producer != producer for each in found)
        }
        if held and not backoff.wait():
            break
    return held
