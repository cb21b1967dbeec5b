"""Who took a transactional id away from us: the sentence that a fenced query fails with."""

from datetime import UTC, datetime

from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.faults import ClientFault, Fenced, demand
from oncelog.errors import OncelogError
from oncelog.model import Producer
from oncelog.protocol.messages.describe_oncelog import DescribeOncelogRequest, DescribeOncelogResponse
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from oncelog.spark.sink_options import SinkOptions, TakenOver


def taken_over(cluster: Cluster, options: SinkOptions, mine: Producer, fault: Fenced) -> TakenOver:
    """The fault, with what the cluster knows about who came after us."""
    name = options.transactional_id
    known = _ask_oncelog(cluster, name, options) or _ask_kafka(cluster, name, options)
    fate = (
        "Whether its last commit went in is not known; a restart will find out"
        if fault.in_doubt
        else "Nothing of this micro-batch is visible"
    )
    return TakenOver(f"transactional id {name!r}: producer {mine} of this query was fenced. {known}. {fate}. ({fault})")


def _ask_oncelog(cluster: Cluster, name: str, options: SinkOptions) -> str | None:
    """Only oncelog knows causes, and does not list the request: any other broker closes the connection."""
    try:
        whom = cluster.coordinator(name, TRANSACTION)
        answer = whom.send(
            DescribeOncelogRequest(transactional_ids=[name]), DescribeOncelogResponse, version=0
        )
    except (ClientFault, OncelogError):
        return None
    for bump in answer.bumps:
        when = _time(bump.at_ms)
        if bump.cause == "timeout":
            return (
                f"The coordinator aborted its transaction at {when}: it was open for longer than "
                f"kafka.transaction.timeout.ms={options.transaction_timeout_ms}"
            )
        if bump.cause == "admin":
            return f"An administrator aborted its transaction at {when}"
        if bump.client_host is not None:
            return (
                f"Client {bump.client_id!r} at {bump.client_host}:{bump.client_port} took over at {when} "
                f"(now at epoch {bump.producer_epoch})"
            )
    return None


def _ask_kafka(cluster: Cluster, name: str, options: SinkOptions) -> str:
    """Kafka keeps no causes: who holds the id now, and the two reasons there can be."""
    try:
        whom = cluster.coordinator(name, TRANSACTION)
        answer = whom.send(
            DescribeTransactionsRequest(transactional_ids=[name]), DescribeTransactionsResponse
        )
        (found,) = answer.transaction_states
        demand(found.error_code, f"DescribeTransactions of {name!r}", str(whom))
    except (ClientFault, OncelogError) as why:
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
