"""Who took a transactional id away from us, or ended our transaction: the sentence that a query fails with."""

from datetime import UTC, datetime
from typing import Final

from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.faults import Fenced, TransactionLost, demand
from oncelog.errors import OncelogError
from oncelog.protocol.messages.describe_oncelog import (
    DescribeOncelogRequest,
    DescribeOncelogResponse,
    EpochBump,
)
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from oncelog.spark.sink_options import SinkFailed, SinkOptions, TakenOver

NEW_INSTANCE: Final = "new instance"  # oncelog's word for the bump of an InitProducerId


def explain(
    cluster: Cluster, options: SinkOptions, fault: Fenced | TransactionLost
) -> TakenOver | SinkFailed:
    """The fault, with what the cluster knows of its cause. A client cannot always tell a successor from a time-out; oncelog can."""
    name = options.transactional_id
    bump = _last_bump(cluster, name)
    if bump is None:
        if isinstance(fault, TransactionLost):
            known = f"Coordinators do so after kafka.transaction.timeout.ms={options.transaction_timeout_ms}"
            return SinkFailed(f"transactional id {name!r}: {fault}. {known}")
        return _taken_over(name, fault, _ask_kafka(cluster, name, options))
    when = _time(bump.at_ms)
    if bump.cause == NEW_INSTANCE or (isinstance(fault, Fenced) and bump.client_host is not None):
        known = f"Client {bump.client_id!r} at {bump.client_host}:{bump.client_port} took over at {when}"
        return _taken_over(name, fault, f"{known} and is at epoch {bump.producer_epoch} now")
    limit = f"kafka.transaction.timeout.ms={options.transaction_timeout_ms}"
    causes = {"timeout": f"it was open for longer than {limit}", "admin": "an administrator said so"}
    return SinkFailed(
        f"transactional id {name!r}: the coordinator ended the transaction at {when}: {causes.get(bump.cause, bump.cause)}. "
        f"({fault})"
    )


def _taken_over(name: str, fault: Fenced | TransactionLost, known: str) -> TakenOver:
    fate = (
        "Whether its last commit went in is not known; a restart will find out"
        if fault.in_doubt
        else "Nothing of this micro-batch is visible"
    )
    return TakenOver(
        f"transactional id {name!r}: producer {fault.producer} of this query was fenced. {known}. {fate}. ({fault})"
    )


def _last_bump(cluster: Cluster, name: str) -> EpochBump | None:
    """Only oncelog knows causes. It does not list the request, and any other broker closes the connection."""
    try:
        whom = cluster.coordinator(name, TRANSACTION)
        answer = whom.send(
            DescribeOncelogRequest(transactional_ids=[name]), DescribeOncelogResponse, version=0
        )
    except OncelogError:
        return None
    return next(iter(answer.bumps), None)


def _ask_kafka(cluster: Cluster, name: str, options: SinkOptions) -> str:
    """Kafka keeps no causes: who holds the id now, and the two reasons there can be."""
    try:
        whom = cluster.coordinator(name, TRANSACTION)
        answer = whom.send(
            DescribeTransactionsRequest(transactional_ids=[name]), DescribeTransactionsResponse
        )
        (found,) = answer.transaction_states
        demand(found.error_code, f"DescribeTransactions of {name!r}", str(whom))
    except OncelogError as why:
        return f"Who took over could not be asked: {why}"
    began = (
        f", its transaction began at {_time(found.transaction_start_time_ms)}"
        if found.transaction_start_time_ms > 0
        else ""
    )
    return (
        f"Producer {found.producer_id}/{found.producer_epoch} holds it now ({found.transaction_state}{began}); the broker does "
        "not say whose it is: another run of this query, another query with the same transactionalId, or the coordinator "
        f"itself after kafka.transaction.timeout.ms={options.transaction_timeout_ms}"
    )


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")
