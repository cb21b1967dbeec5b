"""A broker is killed and comes back: waits until it serves what it served before.

Apache Kafka answers long before that. It leads its partitions as if nothing had happened, then loses them all (its
controller has noticed the crash), then leads them under a higher leader epoch. In between markers go astray: a
transaction that ends there is complete for its coordinator and never ended in the partition, whose readers wait for ever.
"""

from collections.abc import Sequence
from typing import Final

from oncelog.client.cluster import COORDINATOR_PASSING, Backoff, Cluster
from oncelog.client.easy import read_all
from oncelog.client.faults import RETRIABLE, RefusedByBroker
from oncelog.model import TRANSACTION_STATE
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from tests.clients import connect
from tests.oracle import Oracle
from tests.vectors.play import Broker

LIMIT_MS: Final = 90_000


def kill_and_start(broker: Broker, topics: Sequence[str], transactional_ids: Sequence[str]) -> None:
    """kill -9; returns when these topics can be read and these ids have a coordinator that knows them."""
    led = [*topics, TRANSACTION_STATE]
    before = _leader_epochs(broker, led)
    broker.kill()
    broker.start()
    backoff = Backoff(LIMIT_MS)
    while not (_is_led(broker, led, before) and _is_served(broker, topics, transactional_ids)):
        if not backoff.wait():
            raise AssertionError(f"{broker.bootstrap} does not serve {led} again after {LIMIT_MS} ms")


def describe(broker: Broker, transactional_id: str) -> TransactionState:
    """What the coordinator says of an id."""
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    with connect(broker.bootstrap) as connection:
        (found,) = connection.send(request, DescribeTransactionsResponse, 0).transaction_states
    return found


def _leader_epochs(broker: Broker, topics: Sequence[str]) -> dict[tuple[str, int], int]:
    """Of the partitions that have a leader."""
    with Cluster(broker.bootstrap) as cluster:
        views = [cluster.topic(name, wait_ms=5_000) for name in topics]
    return {
        (view.name, each.index): each.leader_epoch
        for view in views
        for each in view.partitions
        if each.leader >= 0
    }


def _is_led(broker: Broker, topics: Sequence[str], before: dict[tuple[str, int], int]) -> bool:
    if not isinstance(broker, Oracle):
        return True
    now = _leader_epochs(broker, topics)
    return all(now.get(each, -1) > epoch for each, epoch in before.items())


def _is_served(broker: Broker, topics: Sequence[str], transactional_ids: Sequence[str]) -> bool:
    try:
        for topic in topics:
            read_all(broker.bootstrap, topic, "uncommitted")
    except RefusedByBroker as why:
        if why.error not in RETRIABLE:
            raise
        return False
    return all(describe(broker, each).error_code not in COORDINATOR_PASSING for each in transactional_ids)
