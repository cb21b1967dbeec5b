"""One transactional id and its talk with the coordinators, step by step: whoever writes the records may be elsewhere."""

import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Final, TypeVar

from oncelog.client.admin import CommittedOffset
from oncelog.client.cluster import GROUP, TRANSACTION, Backoff, Cluster
from oncelog.client.faults import (
    ClientFault,
    Fenced,
    RefusedByBroker,
    TimedOut,
    TransactionLost,
    Unreachable,
    UnsupportedByBroker,
    demand,
    error_name,
)
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.model import Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

PRODUCE: Final = 0
ADD_PARTITIONS_TO_TXN: Final = 24
END_TXN: Final = 26
TXN_OFFSET_COMMIT: Final = 28

FEATURE: Final = "transaction.version"
NEW_TOPIC_WAIT_MS: Final = 10_000  # how long a topic may be unknown to a broker after it was made
DIAGNOSIS_MS: Final = 5_000  # how long we look for the reason of a refusal

# The coordinator moved, is loading, or the last transaction is still ending: the same request may be sent again.
PASSING: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # for a while: see NEW_TOPIC_WAIT_MS
    }
)
# Somebody else has the transactional id, or the coordinator took the epoch away when it aborted.
FENCING: Final = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)
# The transaction is not, or no longer, open.
LOSING: Final = frozenset(
    {
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    }
)
ABORTED: Final = frozenset({"PrepareAbort", "CompleteAbort"})
COMMITTED: Final = frozenset({"PrepareCommit", "CompleteCommit"})
FORGOTTEN: Final = "forgotten"  # our word where DescribeTransactions says TRANSACTIONAL_ID_NOT_FOUND

ResultT = TypeVar("ResultT")


class TransactionProtocol(IntEnum):
    """Kafka's `transaction.version`, as a client speaks it. A plain value: it travels with a pickle."""

    TV1 = 1
    """Partitions and groups are added by requests of their own; all transactions of a producer have one epoch."""
    TV2 = 2
    """KIP-890: Produce v12 and TxnOffsetCommit v5 add them by themselves, and every end bumps the epoch."""


# The first version of each request that speaks TV2; TV1 is what comes before.
FIRST_TV2: Final = {PRODUCE: 12, END_TXN: 5, TXN_OFFSET_COMMIT: 5}
LAST_SINGLE_ADD: Final = 3  # AddPartitionsToTxn from version 4 on is for brokers


def protocol_of(cluster: Cluster) -> TransactionProtocol:
    """TV2 if the cluster's finalized feature transaction.version is 2 or more and its requests are offered, else TV1."""
    whom = cluster.any()
    offered = whom.offered()
    if whom.features().get(FEATURE, 0) < TransactionProtocol.TV2:
        return TransactionProtocol.TV1
    speaks = all(offered.get(key, (0, 0))[1] >= first for key, first in FIRST_TV2.items())
    return TransactionProtocol.TV2 if speaks else TransactionProtocol.TV1


def version_for(whom: Connection, key: int, protocol: TransactionProtocol) -> int:
    """The version in which this broker is asked: the version of the request decides the protocol, not the producer."""
    first = FIRST_TV2[key]
    version = whom.version_of(key)
    if protocol is TransactionProtocol.TV1:
        return min(version, first - 1)
    if version < first:
        raise UnsupportedByBroker(
            f"transactions by TV2 need version {first} of API {key}, {whom} has {version}"
        )
    return version


class TransactionalId:
    """Opens, fills and ends the transactions of one transactional id, one call per step. Keeps no state between calls but
    the protocol: who calls holds the `Producer`, and may hand it to other processes that write (`BatchWriter`).

    timeout_ms   transaction.timeout.ms: how long the coordinator leaves a transaction open before it aborts it
    deadline_ms  how long one call goes on trying while coordinators move, load or restart; the cluster's timeout and
                 patience may come on top
    protocol     None: asked of the cluster at the first call (`protocol_of`)
    client_id    None: one that nobody else has. Another's: this is the same client on a connection of its own

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
        client_id: str | None = None,
    ) -> None:
        if not name:
            raise ValueError("transactional id: wanted a name, found nothing")
        self.cluster = cluster
        self.name = name
        self._timeout_ms = timeout_ms
        self._deadline_ms = deadline_ms
        self._protocol = protocol
        # Brokers that refuse late copies of TV1 requests know a client by its id and host: two of us, in two processes or
        # tasks of one transaction, must not look like one (decision 0010).
        self.client_id = client_id or f"{cluster.client_id}-{os.getpid()}-{secrets.token_hex(4)}"

    @property
    def protocol(self) -> TransactionProtocol:
        """What this id speaks; asks the cluster the first time unless it was given."""
        if self._protocol is None:
            self._protocol = self._persist(lambda: protocol_of(self.cluster))
        return self._protocol

    def init(self, following: Producer | None = None) -> Producer:
        """InitProducerId: fences every producer that had this id before, aborts what they left open, and waits until a
        commit that was decided already is complete. So what OffsetFetch(require_stable) says afterwards is final.

        `following`: only who was the last to have the id gets its next epoch, and is Fenced if somebody took it over since
        (KIP-360). Another producer id than before says that the id was forgotten meanwhile, or epochs are used up: then others
        may have come and gone.
        """
        asked = f"InitProducerId of {self.name!r}"
        request = InitProducerIdRequest(
            transactional_id=self.name,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=-1 if following is None else following.id,
            producer_epoch=-1 if following is None else following.epoch,
        )

        def ask(whom: Connection) -> Producer:
            answer = whom.send(request, InitProducerIdResponse)
            hint = None
            if answer.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                hint = f"{self._timeout_ms} ms; the broker's limit is transaction.max.timeout.ms"
            demand(answer.error_code, asked, str(whom), hint)
            return Producer(ProducerId(answer.producer_id), ProducerEpoch(answer.producer_epoch))

        if following is not None:
            return self._at_coordinator(self.name, TRANSACTION, ask, following)
        # Nobody can fence who brings no epoch: such an answer is a race with the end of what was open.
        return self._at_coordinator(self.name, TRANSACTION, ask, passing=PASSING | FENCING | LOSING)

    def add_partitions(self, producer: Producer, partitions: Iterable[TopicPartition]) -> None:
        """TV1: AddPartitionsToTxn, needed before the first write to each partition. TV2: nothing to do."""
        wanted = _by_topic(partitions)
        if self.protocol is TransactionProtocol.TV2 or not wanted:
            return
        asked = f"AddPartitionsToTxn of {self.name!r} by {producer}"
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=producer.id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=[each.partition for each in mine])
                for topic, mine in wanted.items()
            ],
        )

        def ask(whom: Connection) -> None:
            version = min(whom.version_of(ADD_PARTITIONS_TO_TXN), LAST_SINGLE_ADD)
            results: dict[TopicPartition, int] = {}
            for topic in whom.send(
                request, AddPartitionsToTxnResponse, version
            ).results_by_topic_v3_and_below:
                for each in topic.results_by_partition:
                    results[TopicPartition(topic.name, each.partition_index)] = each.partition_error_code
            _demand_all(results, asked, whom)

        self._at_coordinator(self.name, TRANSACTION, ask, producer)

    def commit_offsets(
        self, producer: Producer, group: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """Offsets and their metadata (4096 bytes by default) become part of the transaction: TxnOffsetCommit without
        a member, under TV1 after AddOffsetsToTxn. The topics must exist. Safe to call again with the same offsets.
        """
        if not offsets:
            return
        if self.protocol is TransactionProtocol.TV1:
            self._add_offsets(producer, group)
        asked = f"TxnOffsetCommit of {self.name!r} by {producer} for group {group!r}"
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=each.partition,
                            committed_offset=offsets[each].offset,
                            committed_leader_epoch=offsets[each].leader_epoch,
                            committed_metadata=offsets[each].metadata,
                        )
                        for each in mine
                    ],
                )
                for topic, mine in _by_topic(offsets).items()
            ],
        )

        def ask(whom: Connection) -> None:
            answer = whom.send(
                request, TxnOffsetCommitResponse, version_for(whom, TXN_OFFSET_COMMIT, self.protocol)
            )
            results = {
                TopicPartition(topic.name, each.partition_index): each.error_code
                for topic in answer.topics
                for each in topic.partitions
            }
            _demand_all(results, asked, whom)

        self._at_coordinator(group, GROUP, ask, producer)

    def _add_offsets(self, producer: Producer, group: str) -> None:
        asked = f"AddOffsetsToTxn of {self.name!r} by {producer} for group {group!r}"
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            group_id=group,
        )

        def ask(whom: Connection) -> None:
            demand(whom.send(request, AddOffsetsToTxnResponse).error_code, asked, str(whom))

        self._at_coordinator(self.name, TRANSACTION, ask, producer)

    def end(self, producer: Producer, *, commit: bool) -> Producer:
        """EndTxn, asked again with the same epoch until there is an answer, so a lost one does no harm. Returns the producer of
        the next transaction: under TV2 the next epoch (or a new producer id when epochs are used up), under TV1 the same.

        Sequences begin at 0 for each epoch: under TV2 for each transaction, under TV1 only after `init`.

        A transaction to which nothing was added cannot be committed: TransactionLost says so too.
        """
        asked = f"EndTxn ({'commit' if commit else 'abort'}) of {self.name!r} by {producer}"
        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            committed=commit,
        )
        in_doubt = False  # whether a commit went out whose fate we have not been told

        def ask(whom: Connection) -> Producer:
            nonlocal in_doubt
            version = version_for(whom, END_TXN, self.protocol)
            before, in_doubt = in_doubt, commit
            answer = whom.send(request, EndTxnResponse, version)
            if answer.error_code not in PASSING:
                in_doubt = before and answer.error_code != ErrorCode.INVALID_TXN_STATE
            demand(answer.error_code, asked, str(whom))
            if version < FIRST_TV2[END_TXN]:
                return producer
            return Producer(ProducerId(answer.producer_id), ProducerEpoch(answer.producer_epoch))

        try:
            return self._at_coordinator(self.name, TRANSACTION, ask, producer)
        except ClientFault as fault:
            fault.in_doubt = in_doubt
            raise

    # Asking again

    def _at_coordinator(
        self,
        key: str,
        kind: int,
        ask: Callable[[Connection], ResultT],
        producer: Producer | None = None,
        *,
        passing: frozenset[ErrorCode] = PASSING,
    ) -> ResultT:
        """Asks the coordinator of a group or of this id until it answers for good."""

        def once() -> ResultT:
            try:
                whom = self.cluster.coordinator(key, kind)
                if producer is not None and self.protocol is TransactionProtocol.TV1:
                    whom = self.cluster.at(whom.address, client_id=self.client_id)
                return ask(whom)
            except (RefusedByBroker, Unreachable, TimedOut) as fault:
                if not isinstance(fault, RefusedByBroker) or fault.error != ErrorCode.CONCURRENT_TRANSACTIONS:
                    self.cluster.forget_coordinator(key, kind)
                raise

        try:
            return self._persist(once, passing)
        except RefusedByBroker as fault:
            if producer is None:
                raise
            raise transaction_fault(self.cluster, fault, self.name, producer, self.protocol) from None

    def _persist(self, attempt: Callable[[], ResultT], passing: frozenset[ErrorCode] = PASSING) -> ResultT:
        """Until it succeeds, is refused for good, or the time is up."""
        backoff = Backoff(self._deadline_ms)
        unknown = Backoff(min(NEW_TOPIC_WAIT_MS, self._deadline_ms))
        while True:
            try:
                return attempt()
            except (Unreachable, TimedOut):
                if not backoff.wait():
                    raise
            except RefusedByBroker as fault:
                missing = fault.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if fault.error not in passing or not (unknown if missing else backoff).wait():
                    raise


def transaction_fault(
    cluster: Cluster,
    refused: RefusedByBroker,
    transactional_id: str,
    producer: Producer,
    protocol: TransactionProtocol,
) -> ClientFault:
    """What a refusal means for the transaction: Fenced or TransactionLost, with who holds the id now; other refusals stay
    what they are.

    Kafka uses the same errors for a newer producer and for a coordinator that gave the transaction up. They differ in what
    DescribeTransactions shows afterwards: a timeout (under TV2 every end) moves the epoch on by one, and nobody has asked for
    a producer since. While a newer producer waits for our abort it looks like the latter.

    Coordinators forget an id that has no transaction for `transactional.id.expiration.ms` (7 days): then nobody holds it.
    """
    if refused.error not in FENCING | LOSING:
        return refused
    now = _describe(cluster, transactional_id)
    state, current = now or ("", None)
    if state == FORGOTTEN and refused.error == ErrorCode.INVALID_PRODUCER_ID_MAPPING:
        return TransactionLost(
            f"{refused.asked}: the coordinator has forgotten the transactional id, which nobody used for "
            f"transactional.id.expiration.ms; nobody has taken it over ({refused.whom} answered {error_name(refused.error)})",
            transactional_id=transactional_id,
            producer=producer,
        )
    if refused.error in FENCING and not _was_ended(state, current, producer, protocol):
        held = "" if current is None else f"; producer {current} holds it now ({state})"
        return Fenced(
            f"{refused.asked}: the transactional id was taken over by another producer{held} "
            f"({refused.whom} answered {error_name(refused.error)})",
            transactional_id=transactional_id,
            producer=producer,
            current=current,
        )
    found = "" if current is None else f"; the coordinator's state is {state} of producer {current}"
    return TransactionLost(
        f"{refused.asked}: the transaction is not open: it timed out, was ended, or nothing was written in it{found} "
        f"({refused.whom} answered {error_name(refused.error)})",
        transactional_id=transactional_id,
        producer=producer,
        current=current,
    )


def _was_ended(
    state: str, current: Producer | None, producer: Producer, protocol: TransactionProtocol
) -> bool:
    # A commit by TV1 bumps nothing: one at the next epoch is somebody else's.
    ended = ABORTED if protocol is TransactionProtocol.TV1 else ABORTED | COMMITTED
    return (
        state in ended
        and current is not None
        and current.id == producer.id
        and current.epoch == producer.epoch + 1
    )


def _describe(cluster: Cluster, transactional_id: str) -> tuple[str, Producer | None] | None:
    """The state of the id and its producer; FORGOTTEN if the coordinator does not know it, None if it cannot be asked."""
    backoff = Backoff(DIAGNOSIS_MS)
    while True:
        try:
            whom = cluster.coordinator(transactional_id, TRANSACTION)
            request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
            (found,) = whom.send(request, DescribeTransactionsResponse).transaction_states
            if found.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                return FORGOTTEN, None
            demand(found.error_code, "DescribeTransactions", str(whom))
        except UnsupportedByBroker:
            return None
        except (RefusedByBroker, Unreachable, TimedOut) as fault:
            cluster.forget_coordinator(transactional_id, TRANSACTION)
            passing = not isinstance(fault, RefusedByBroker) or fault.error in PASSING
            if not passing or not backoff.wait():
                return None
        else:
            producer = Producer(ProducerId(found.producer_id), ProducerEpoch(found.producer_epoch))
            return found.transaction_state, producer


def _demand_all(results: Mapping[TopicPartition, int], asked: str, whom: Connection) -> None:
    """A refusal for good is told before one that passes, and either before those it kept from being tried."""
    ranks: dict[int, int] = {ErrorCode.OPERATION_NOT_ATTEMPTED: 2, **dict.fromkeys(PASSING, 1)}
    refused = [(ranks.get(error, 0), where, error) for where, error in results.items() if error]
    for _, where, error in sorted(refused):
        demand(error, f"{asked}, {where}", str(whom))


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    topics: dict[str, list[TopicPartition]] = {}
    for each in sorted(partitions):
        topics.setdefault(each.topic, []).append(each)
    return topics
