"""Transactions that were decided and whose markers a coordinator never wrote: found by the decision in the transaction log, and
finished with that decision and no other.

Apache Kafka 4.3.1 takes a partition without a leader for a deleted one when it has markers to write (decision 0030): it goes on
to Complete, and the marker is missing for ever. Readers of committed records stop there, and offsets stay pending.

What is open in a partition belongs to a decision if the producer id is the decision's, the epoch is the one before that of the
decision's markers, and the decision names the partition. By KIP-890 (TV2) each transaction has an epoch of its own, so this
is a proof; by the older protocol many transactions share one, and nothing is claimed.
"""

from dataclasses import dataclass
from typing import Final

from oncelog.client.admin import EARLIEST, LATEST, Admin
from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.faults import RefusedByBroker, demand
from oncelog.client.session import Connection
from oncelog.client.state_log import state_partition, state_records
from oncelog.client.transactional import TransactionalId, TransactionProtocol
from oncelog.errors import ErrorCode
from oncelog.model import CONSUMER_OFFSETS, Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from oncelog.record.txn_state import TransactionKey, TransactionValue, decode_value, encode_key
from oncelog.txn.state import State

AT_REST: Final = frozenset({"Empty", "CompleteCommit", "CompleteAbort"})
ONGOING: Final = "Ongoing"
PREPARED: Final = {State.PREPARE_COMMIT: True, State.PREPARE_ABORT: False}


class NothingToFinish(ValueError):
    """No decided transaction lacks a marker that we could prove; the text says what was found."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One Prepare record: what its markers say, and where they belong."""

    transactional_id: str
    producer: Producer  # of the markers
    commit: bool
    partitions: frozenset[TopicPartition]
    offset: int  # of the record in the transaction log
    at_ms: int

    def covers(self, where: TopicPartition, opened: Producer) -> bool:
        """Whether what this producer has open there is the transaction of this decision."""
        its_own = opened.id == self.producer.id and opened.epoch == self.producer.epoch - 1
        return its_own and where in self.partitions


@dataclass(frozen=True, slots=True)
class Missing:
    """A partition in which a decided transaction is open still."""

    where: TopicPartition
    start_offset: int
    coordinator_epoch: int  # of the last marker of this producer there, -1 without one
    decision: Decision


def decisions(cluster: Cluster, transactional_id: str) -> list[Decision]:
    """Every decision that the log still holds of the id, oldest first. Needs the right to read __transaction_state."""
    try:
        where = state_partition(cluster, transactional_id)
    except RefusedByBroker as fault:
        if fault.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return []  # no transaction was ever begun here
        raise
    admin = Admin(cluster)
    start = admin.offsets_at({where: EARLIEST})[where].offset
    stop = admin.offsets_at({where: LATEST})[where].offset
    found: list[Decision] = []
    by_tv2: set[Producer] = set()  # epochs in which the client wrote by TV2
    for record in state_records(cluster, where, start, stop, [encode_key(TransactionKey(transactional_id))]):
        stored = None if record.value is None else decode_value(bytes(record.value))
        if stored is None:
            continue
        if stored.client_transaction_version >= TransactionProtocol.TV2:
            by_tv2.add(_producer(stored))
        if stored.status in PREPARED:
            each = _decision(transactional_id, stored, record.offset)
            before = Producer(each.producer.id, ProducerEpoch(each.producer.epoch - 1))
            if stored.client_transaction_version >= TransactionProtocol.TV2 or before in by_tv2:
                found.append(each)
    return found


def _producer(stored: TransactionValue) -> Producer:
    return Producer(ProducerId(stored.producer_id), ProducerEpoch(stored.producer_epoch))


def _decision(transactional_id: str, stored: TransactionValue, offset: int) -> Decision:
    return Decision(
        transactional_id,
        _producer(stored),
        PREPARED[State(stored.status)],
        frozenset(
            TopicPartition(each.topic, index)
            for each in stored.partitions or ()
            for index in each.partition_ids
        ),
        offset,
        stored.last_update_timestamp,
    )


def missing(cluster: Cluster, transactional_id: str) -> list[Missing]:
    """Where markers of decided transactions of the id are missing. Nothing while its coordinator is still writing some.

    A topic that is gone needs none. Needs the right to read the topics. Those of group offsets come last.
    """
    state = _describe(cluster, transactional_id)
    if state is not None and state.transaction_state not in AT_REST | {ONGOING}:
        return []
    decided = decisions(cluster, transactional_id)
    there = {each.name: len(each.partitions) for each in cluster.topics()}
    places = {
        where for each in decided for where in each.partitions if where.partition < there.get(where.topic, 0)
    }
    found: list[Missing] = []
    for where, opened in Admin(cluster).open_transactions(places).items():
        for one in opened:
            its_own = next((each for each in reversed(decided) if each.covers(where, one.producer)), None)
            if its_own is not None:
                found.append(Missing(where, one.start_offset, one.coordinator_epoch, its_own))
    return sorted(found, key=lambda each: (each.where.topic == CONSUMER_OFFSETS, each.where))


def finish(cluster: Cluster, transactional_id: str) -> list[Missing]:
    """Writes the missing markers and says which. NothingToFinish if there are none, or a transaction of the id is under way.

    Where the epoch of the markers could still be somebody's, the id is fenced first: its owner might write by that epoch, and
    a marker would end what it writes. So nothing is begun by that epoch between the look and the marker.

    Offsets of groups come last: who asks for stable ones is held back until all else is finished. May be called again.
    """
    state = _describe(cluster, transactional_id)
    if state is not None and state.transaction_state not in AT_REST:
        raise NothingToFinish(
            f"transactional id {transactional_id!r}: wanted a transaction that has ended, found {state.transaction_state}"
        )
    found = missing(cluster, transactional_id)
    if not found:
        raise NothingToFinish(
            f"transactional id {transactional_id!r}: none of its decided transactions is open anywhere, as far as the "
            "transaction log tells"
        )
    if state is not None and any(each.decision.producer == _current(state) for each in found):
        TransactionalId(cluster, transactional_id, timeout_ms=state.transaction_timeout_ms).init()
        found = missing(cluster, transactional_id)
    for each in found:
        Admin(cluster).write_marker(
            each.where,
            each.decision.producer,
            commit=each.decision.commit,
            coordinator_epoch=each.coordinator_epoch,
        )
    return found


def _current(state: TransactionState) -> Producer:
    return Producer(ProducerId(state.producer_id), ProducerEpoch(state.producer_epoch))


def _describe(cluster: Cluster, transactional_id: str) -> TransactionState | None:
    """None: its coordinator has forgotten it."""

    def ask(whom: Connection) -> TransactionState | None:
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        (found,) = whom.send(request, DescribeTransactionsResponse).transaction_states
        if found.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return None
        demand(found.error_code, f"DescribeTransactions of {transactional_id!r}", str(whom))
        return found

    return cluster.with_coordinator(transactional_id, ask, TRANSACTION)
