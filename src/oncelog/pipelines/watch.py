"""A pipeline as the broker sees it: how far its source offsets are, and whether its transaction is running."""

from dataclasses import dataclass

from oncelog.client.admin import EARLIEST, LATEST, Admin
from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.faults import demand
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.model import Isolation, Producer, ProducerEpoch, ProducerId
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)

ONGOING = "Ongoing"


@dataclass(frozen=True, slots=True)
class Position:
    """Source offsets that the pipeline committed with its output, and those it has yet to read."""

    done: int
    lag: int


@dataclass(frozen=True, slots=True)
class RunningTransaction:
    """What DescribeTransactions says of one transactional id."""

    state: str
    producer: Producer
    partitions: int


def position(cluster: Cluster, topic: str, group: str) -> Position:
    """Counted in offsets, up to what a read_committed reader may see."""
    admin = Admin(cluster)
    partitions = admin.partitions_of(topic)
    first = admin.offsets_at(dict.fromkeys(partitions, EARLIEST))
    end = admin.offsets_at(dict.fromkeys(partitions, LATEST), isolation=Isolation.READ_COMMITTED)
    committed = admin.group_offsets(group, partitions)
    done = lag = 0
    for each in partitions:
        start = first[each].offset
        at = max(committed[each].offset, start) if each in committed else start
        done += at - start
        lag += max(end[each].offset - at, 0)
    return Position(done, lag)


def transaction(cluster: Cluster, transactional_id: str) -> RunningTransaction | None:
    """None while the broker has never heard of this id."""

    def ask(whom: Connection) -> RunningTransaction | None:
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        (found,) = whom.send(request, DescribeTransactionsResponse).transaction_states
        if found.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return None
        demand(found.error_code, f"DescribeTransactions of {transactional_id!r}", str(whom))
        producer = Producer(ProducerId(found.producer_id), ProducerEpoch(found.producer_epoch))
        partitions = sum(len(topic.partitions) for topic in found.topics)
        return RunningTransaction(found.transaction_state, producer, partitions)

    return cluster.with_coordinator(transactional_id, ask, TRANSACTION)
