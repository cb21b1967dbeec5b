"""Ends a transaction that its owner does not end: by fencing its transactional id, or by a marker where no owner is left."""

from dataclasses import dataclass
from typing import Final

from oncelog.client.admin import LATEST, Admin
from oncelog.client.cluster import TRANSACTION, Backoff, Cluster
from oncelog.client.faults import RETRIABLE, RefusedByBroker, demand
from oncelog.errors import ErrorCode
from oncelog.inspect import ask
from oncelog.inspect.ask import ActiveProducer
from oncelog.inspect.views import ONGOING
from oncelog.model import TopicPartition
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

INIT_PRODUCER_ID: Final = 22
KEEPS_NO_PREPARED: Final = 5  # the newest version that cannot ask to keep a prepared transaction (KIP-939)


class NothingToAbort(ValueError):
    """No transaction is open there; the text says what was found."""


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
    state: str
    hidden: tuple[Hidden, ...]


def plan_by_id(cluster: Cluster, transactional_id: str) -> Plan:
    """The abort of the transaction that a transactional id has under way."""
    found = ask.describe_transaction(cluster, transactional_id)
    if found is None:
        raise NothingToAbort(f"transactional id {transactional_id!r}: its coordinator does not know it")
    if found.state != ONGOING:
        raise NothingToAbort(
            f"transactional id {transactional_id!r}: wanted state Ongoing, found {found.state}"
        )
    producers = ask.describe_producers(cluster, found.partitions)
    hidden = [
        _hidden(cluster, where, each.start_offset)
        for where, active in producers.items()
        for each in active
        if each.producer.id == found.producer.id and each.start_offset >= 0
    ]
    return Plan(
        transactional_id,
        int(found.producer.id),
        int(found.producer.epoch),
        -1,
        found.timeout_ms,
        found.state,
        tuple(hidden),
    )


def plan_by_offset(cluster: Cluster, partition: TopicPartition, start_offset: int) -> Plan:
    """The abort of a hanging transaction in one partition, named by its first offset as KIP-664 does."""
    active: tuple[ActiveProducer, ...] = ask.describe_producers(cluster, [partition])[partition]
    opened = sorted((each for each in active if each.start_offset >= 0), key=lambda each: each.start_offset)
    found = next((each for each in opened if each.start_offset == start_offset), None)
    if found is None:
        starts = ", ".join(str(each.start_offset) for each in opened) or "none"
        raise NothingToAbort(f"{partition}: wanted an open transaction from {start_offset}, found {starts}")
    return Plan(
        None,
        int(found.producer.id),
        int(found.producer.epoch),
        found.coordinator_epoch,
        -1,
        "hanging",
        (_hidden(cluster, partition, start_offset),),
    )


def _hidden(cluster: Cluster, where: TopicPartition, start_offset: int) -> Hidden:
    end = Admin(cluster).offsets_at({where: LATEST})[where].offset
    return Hidden(where.topic, where.partition, start_offset, end)


def carry_out(cluster: Cluster, plan: Plan) -> None:
    """Returns when the broker has decided. Safe to repeat: an abort that is done answers that there is nothing left."""
    if plan.transactional_id is None:
        _write_marker(cluster, plan)
    else:
        _fence(cluster, plan.transactional_id, plan.timeout_ms)


def _fence(cluster: Cluster, transactional_id: str, timeout_ms: int) -> None:
    """InitProducerId in the name of the id: what Kafka's fenceProducers does. The owner is refused from then on."""
    backoff = Backoff(cluster.timeout_ms)
    while True:
        whom = cluster.coordinator(transactional_id, TRANSACTION)
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=-1,
            producer_epoch=-1,
        )
        version = min(whom.version_of(INIT_PRODUCER_ID), KEEPS_NO_PREPARED)
        answer = whom.send(request, InitProducerIdResponse, version)
        if answer.error_code == ErrorCode.NONE:
            return
        cluster.forget_coordinator(transactional_id, TRANSACTION)
        if answer.error_code not in RETRIABLE or not backoff.wait():
            raise RefusedByBroker(answer.error_code, f"abort of {transactional_id!r}", str(whom))


def _write_marker(cluster: Cluster, plan: Plan) -> None:
    (where,) = plan.hidden
    whom = cluster.leader(TopicPartition(where.topic, where.partition))
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
