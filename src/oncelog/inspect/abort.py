"""Ends a transaction that its owner does not end: by fencing its transactional id, or by a marker where no owner is left."""

from dataclasses import dataclass
from typing import Final

from oncelog.client.admin import LATEST, Admin
from oncelog.client.cluster import TRANSACTION, Backoff, Cluster
from oncelog.client.faults import RETRIABLE, RefusedByBroker, demand
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.inspect import ask
from oncelog.inspect.ask import ActiveProducer, Described, Untold
from oncelog.inspect.commands import about
from oncelog.inspect.decided import decided
from oncelog.inspect.views import ONGOING, OPEN_STATES
from oncelog.model import TopicPartition
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

INIT_PRODUCER_ID: Final = 22
NAMES_PRODUCER: Final = 3  # the oldest version in which a producer says who it is (KIP-360)
KEEPS_NO_PREPARED: Final = 5  # the newest version that cannot ask to keep a prepared transaction (KIP-939)
FENCING: Final = "PrepareEpochFence"  # in memory only, right before PrepareAbort


class NothingToAbort(ValueError):
    """No transaction is open there; the text says what was found."""


class ChangedSince(NothingToAbort):
    """What is open there now is not what somebody was shown: nothing was done."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Which transaction a plan was about: what is open later under the same name is another one, and not ended in its place."""

    producer_id: int
    producer_epoch: int
    start: int  # when it began, in ms since 1970; of one without an owner its first offset


@dataclass(frozen=True, slots=True)
class Hidden:
    """A partition that an abort touches: these offsets become invisible for ever, for readers of both kinds but hex."""

    topic: str
    partition: int
    start_offset: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What an abort will do, said before it is done. Without a transactional id it is a marker in one partition."""

    transactional_id: str | None
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    timeout_ms: int
    start_ms: int  # -1 without a transactional id
    state: str
    hidden: tuple[Hidden, ...]
    untold: tuple[
        Untold, ...
    ] = ()  # partitions where something may become invisible too: they have no leader

    @property
    def shown(self) -> Shown:
        start = self.start_ms if self.transactional_id is not None else self.hidden[0].start_offset
        return Shown(self.producer_id, self.producer_epoch, start)


def plan_by_id(cluster: Cluster, transactional_id: str, expected: Shown | None = None) -> Plan:
    """The abort of the transaction that a transactional id has under way; of the `expected` one, or ChangedSince."""
    found = ask.describe_transaction(cluster, transactional_id)
    if found is None:
        raise NothingToAbort(f"transactional id {transactional_id!r}: its coordinator does not know it")
    if found.state != ONGOING:
        raise NothingToAbort(
            f"transactional id {transactional_id!r}: wanted state Ongoing, found {found.state}"
        )
    if expected is not None and _identity(found) != expected:
        raise _changed(f"transactional id {transactional_id!r}", expected, _identity(found))
    producers, untold = ask.producers_told(cluster, found.partitions)
    ends, more = ask.ends_told(cluster, producers)
    hidden = [
        Hidden(where.topic, where.partition, each.start_offset, ends[where].high_watermark)
        for where, active in producers.items()
        for each in active
        if each.producer.id == found.producer.id and each.start_offset >= 0 and where in ends
    ]
    return Plan(
        transactional_id,
        int(found.producer.id),
        int(found.producer.epoch),
        -1,
        found.timeout_ms,
        found.start_ms,
        found.state,
        tuple(hidden),
        (*untold, *more),
    )


def _identity(found: Described) -> Shown:
    return Shown(int(found.producer.id), int(found.producer.epoch), found.start_ms)


def _changed(where: str, expected: Shown, found: Shown) -> ChangedSince:
    return ChangedSince(
        f"{where}: wanted the transaction of producer {expected.producer_id}/{expected.producer_epoch} from "
        f"{expected.start}, found another one of {found.producer_id}/{found.producer_epoch} from {found.start}"
    )


def plan_by_offset(
    cluster: Cluster, partition: TopicPartition, start_offset: int, expected: Shown | None = None
) -> Plan:
    """The abort of a hanging transaction in one partition, named by its first offset as KIP-664 does. One that its owner may still
    end is not torn apart by it: only if nobody has it, as far as we may see.
    """
    active: tuple[ActiveProducer, ...] = ask.describe_producers(cluster, [partition])[partition]
    opened = sorted((each for each in active if each.start_offset >= 0), key=lambda each: each.start_offset)
    found = next((each for each in opened if each.start_offset == start_offset), None)
    if found is None:
        starts = ", ".join(str(each.start_offset) for each in opened) or "none"
        raise NothingToAbort(f"{partition}: wanted an open transaction from {start_offset}, found {starts}")
    identity = Shown(int(found.producer.id), int(found.producer.epoch), found.start_offset)
    if expected is not None and identity != expected:
        raise _changed(str(partition), expected, identity)
    _demand_nobodys(cluster, partition, found)
    decision = decided(cluster, [(partition, found.producer)]).get((partition, found.producer))
    if decision is not None and decision.commit:
        raise NothingToAbort(
            f"{partition}: the transaction from {start_offset} was committed, and its marker was never written: readers of other "
            f"partitions may have seen it. Finish it: {about('finish', decision.transactional_id)}"
        )
    return Plan(
        None,
        int(found.producer.id),
        int(found.producer.epoch),
        found.coordinator_epoch,
        -1,
        -1,
        "hanging",
        (_hidden(cluster, partition, start_offset),),
    )


def _demand_nobodys(cluster: Cluster, partition: TopicPartition, found: ActiveProducer) -> None:
    listed = ask.list_transactions(cluster, producer_ids=[int(found.producer.id)])
    owner = next(
        (
            each
            for each in ask.describe_listed(cluster, listed).values()
            if each.state in OPEN_STATES and partition in each.partitions
        ),
        None,
    )
    if owner is not None:
        raise NothingToAbort(
            f"{partition}: the transaction from {found.start_offset} has an owner, which is {owner.state}. Abort it everywhere: "
            f"{about('abort', owner.transactional_id)}"
        )
    if not listed and not ask.may_describe_all(cluster):
        raise NothingToAbort(
            f"{partition}: whose the transaction from {found.start_offset} is is not told: no right to describe every transactional id. "
            f"A marker here would tear it apart if somebody still has it"
        )


def _hidden(cluster: Cluster, where: TopicPartition, start_offset: int) -> Hidden:
    end = Admin(cluster).offsets_at({where: LATEST})[where].offset
    return Hidden(where.topic, where.partition, start_offset, end)


def carry_out(cluster: Cluster, plan: Plan) -> None:
    """Ends the transaction of the plan and no other: ChangedSince if something else is open there by now, or its owner was faster.

    Returns when the broker has decided.
    """
    if plan.transactional_id is None:
        _write_marker(cluster, plan)
    else:
        _fence(cluster, plan.transactional_id, plan)


def _fence(cluster: Cluster, transactional_id: str, plan: Plan) -> None:
    """InitProducerId in the name of the id: what Kafka's fenceProducers does. The owner is refused from then on.

    Each time the coordinator is asked first what is open. That leaves a moment in which the owner may end it and begin another one:
    the identity in the request (KIP-360) closes it, where the broker compares it.
    """
    backoff = Backoff(cluster.timeout_ms)
    asked, guarded = False, True
    while True:
        found = ask.describe_transaction(cluster, transactional_id)
        if found is None or (
            found.state != FENCING and (found.state != ONGOING or _identity(found) != plan.shown)
        ):
            if not asked or _was_committed(found, plan):
                raise _ended(transactional_id, plan, found)
            return
        whom = cluster.coordinator(transactional_id, TRANSACTION)
        error = ErrorCode.CONCURRENT_TRANSACTIONS
        if found.state == ONGOING:
            error = _init(whom, transactional_id, plan, guarded=guarded)
            asked = asked or error != ErrorCode.PRODUCER_FENCED
        if error == ErrorCode.NONE:
            return
        cluster.forget_coordinator(transactional_id, TRANSACTION)
        if error == ErrorCode.PRODUCER_FENCED and guarded:
            guarded = False  # it is another one now, as we are told next; or it was handed over (KIP-939)
            continue
        if error not in RETRIABLE or not backoff.wait():
            raise RefusedByBroker(error, f"abort of {transactional_id!r}", str(whom))


def _init(whom: Connection, transactional_id: str, plan: Plan, *, guarded: bool) -> int:
    version = min(whom.version_of(INIT_PRODUCER_ID), KEEPS_NO_PREPARED)
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=plan.timeout_ms,
        producer_id=-1,
        producer_epoch=-1,
    )
    if guarded and version >= NAMES_PRODUCER:
        request.producer_id, request.producer_epoch = plan.producer_id, plan.producer_epoch
    return whom.send(request, InitProducerIdResponse, version).error_code


def _was_committed(found: Described | None, plan: Plan) -> bool:
    """By its owner, while we asked: with KIP-890 the end raises the epoch by one. An abort of ours raises it by more."""
    return (
        found is not None
        and found.state in ("PrepareCommit", "CompleteCommit")
        and int(found.producer.id) == plan.producer_id
        and int(found.producer.epoch) <= plan.producer_epoch + 1
    )


def _ended(transactional_id: str, plan: Plan, found: Described | None) -> ChangedSince:
    if found is not None and found.state == ONGOING:
        return _changed(f"transactional id {transactional_id!r}", plan.shown, _identity(found))
    state = "nothing" if found is None else found.state
    return ChangedSince(
        f"transactional id {transactional_id!r}: the transaction ended before it was aborted, its state is {state}"
    )


def _write_marker(cluster: Cluster, plan: Plan) -> None:
    (where,) = plan.hidden
    partition = TopicPartition(where.topic, where.partition)
    plan_by_offset(cluster, partition, where.start_offset, plan.shown)
    whom = cluster.leader(partition)
    request = WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=plan.producer_id,
                producer_epoch=plan.producer_epoch,
                transaction_result=False,
                topics=[WritableTxnMarkerTopic(name=where.topic, partition_indexes=[where.partition])],
                coordinator_epoch=plan.coordinator_epoch,
            )
        ]
    )
    answer = whom.send(request, WriteTxnMarkersResponse)
    for marker in answer.markers:
        for topic in marker.topics:
            for each in topic.partitions:
                demand(each.error_code, f"abort marker for {topic.name}-{each.partition_index}", str(whom))
