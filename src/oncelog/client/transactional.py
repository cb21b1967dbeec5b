"""One transactional id and its talk with the coordinators, step by step: whoever writes the records may be elsewhere."""

from collections.abc import Iterable, Mapping
from enum import IntEnum

from oncelog.client.admin import CommittedOffset
from oncelog.client.cluster import Cluster
from oncelog.model import Producer, TopicPartition


class TransactionProtocol(IntEnum):
    """Kafka's `transaction.version`, as a client speaks it. A plain value: it travels with a pickle."""

    TV1 = 1
    """Partitions and groups are added by requests of their own; all transactions of a producer have one epoch."""
    TV2 = 2
    """KIP-890: Produce v12 and TxnOffsetCommit v5 add them by themselves, and every end bumps the epoch."""


def protocol_of(cluster: Cluster) -> TransactionProtocol:
    """TV2 if the cluster's finalized feature transaction.version is 2 or more and its requests are offered, else TV1."""
    raise NotImplementedError


class TransactionalId:
    """Opens, fills and ends the transactions of one transactional id, one call per step. Keeps no state between calls but
    the protocol: who calls holds the `Producer`, and may hand it to other processes that write (`BatchWriter`).

    timeout_ms   transaction.timeout.ms: how long the coordinator leaves a transaction open before it aborts it
    deadline_ms  how long one call goes on trying while coordinators move, load or restart
    protocol     None: asked of the cluster at the first call (`protocol_of`)

    Each call either did what it says or raises. Fenced: another producer has this transactional id now. TransactionLost:
    the coordinator has ended or aborted the transaction by itself. RefusedByBroker: anything else the broker refuses for
    good. Unreachable, TimedOut: the deadline passed. `in_doubt` of a fault of `end` tells whether the commit may be in.
    Not for more than one thread at a time.
    """

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        *,
        timeout_ms: int = 60_000,
        deadline_ms: int = 60_000,
        protocol: TransactionProtocol | None = None,
    ) -> None:
        raise NotImplementedError

    @property
    def protocol(self) -> TransactionProtocol:
        """What this id speaks; asks the cluster the first time unless it was given."""
        raise NotImplementedError

    def init(self) -> Producer:
        """InitProducerId: fences every producer that had this id before, aborts what they left open, and waits until a
        commit that was decided already is complete. So what OffsetFetch(require_stable) says afterwards is final.
        """
        raise NotImplementedError

    def add_partitions(self, producer: Producer, partitions: Iterable[TopicPartition]) -> None:
        """TV1: AddPartitionsToTxn, needed before the first write to each partition. TV2: nothing to do."""
        raise NotImplementedError

    def commit_offsets(
        self, producer: Producer, group: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """Offsets and their metadata (4096 bytes by default) become part of the transaction: TxnOffsetCommit without
        a member, under TV1 after AddOffsetsToTxn. The topics must exist. Safe to call again with the same offsets.
        """
        raise NotImplementedError

    def end(self, producer: Producer, *, commit: bool) -> Producer:
        """EndTxn, asked again with the same epoch until there is an answer, so a lost one does no harm. Returns the producer of
        the next transaction: under TV2 the next epoch (or a new producer id when epochs are used up), under TV1 the same.

        A transaction to which nothing was added cannot be committed: TransactionLost says so too.
        """
        raise NotImplementedError
