"""The cluster: who is asked, how long it is waited for, and which topics fit a pattern."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import oncelog
from oncelog.client.address import Address
from oncelog.client.admin import EARLIEST, LATEST, Admin
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.easy import write_all
from oncelog.client.faults import RefusedByBroker, Unreachable
from oncelog.client.transactional import TransactionalId
from oncelog.errors import ErrorCode
from oncelog.inspect.ask import describe_transaction
from oncelog.model import Isolation, TopicPartition
from oncelog.protocol.messages.describe_transactions import DescribeTransactionsResponse, TransactionState
from oncelog.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from oncelog.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from oncelog.protocol.messages.metadata import MetadataResponse
from oncelog.protocol.messages.offset_fetch import OffsetFetchResponse, OffsetFetchResponseGroup
from oncelog.record.batch import NewRecord, build_batch
from tests.unit.scripted_broker import Close, ScriptedBroker

LIST_OFFSETS, METADATA, OFFSET_FETCH, FIND_COORDINATOR, DESCRIBE_TRANSACTIONS = 2, 3, 9, 10, 65
HERE = TopicPartition("t", 0)


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        yield running


def test_topics_match_by_their_whole_name_and_internal_ones_never(broker: oncelog.Broker) -> None:
    for name in ("orders", "orders-eu", "orders_us", "old-orders"):
        broker.topic(name)
    with Cluster(broker.bootstrap) as cluster:
        TransactionalId(cluster, "id").init()  # makes __transaction_state
        for pattern, wanted in (
            ("orders.*", ["orders", "orders-eu", "orders_us"]),
            ("orders", ["orders"]),
            ("orders-(eu|asia)", ["orders-eu"]),
            (".*", ["old-orders", "orders", "orders-eu", "orders_us"]),
            ("x", []),
        ):
            assert [each.name for each in cluster.topics_matching(pattern)] == wanted
        with pytest.raises(ValueError, match=r"wanted a regular expression, found '\('"):
            cluster.topics_matching("(")


def test_offsets_are_those_of_the_isolation_level(broker: oncelog.Broker) -> None:
    """The last stable offset at read_committed: where the Spark source ends a micro-batch."""
    broker.topic("t")
    write_all(broker.bootstrap, "t", [b"a", b"b"])
    with Cluster(broker.bootstrap) as cluster:
        who = TransactionalId(cluster, "id")
        producer = who.init()
        batch = build_batch(
            [NewRecord(None, b"open", 1)],
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=0,
            transactional=True,
        )
        with BatchWriter(cluster, "id", producer, protocol=who.protocol) as writer:
            assert writer.log_end(HERE) == 2
            writer.write(HERE, batch)
            writer.flush()
            assert writer.log_end(HERE) == 3
        admin = Admin(cluster)
        for isolation, end in ((Isolation.READ_UNCOMMITTED, 3), (Isolation.READ_COMMITTED, 2)):
            assert admin.offsets_at({HERE: LATEST}, isolation=isolation)[HERE].offset == end
            assert admin.offsets_at({HERE: EARLIEST}, isolation=isolation)[HERE].offset == 0
            assert admin.offsets_at({HERE: 1}, isolation=isolation)[HERE].offset == 0


class Moving(ScriptedBroker):
    """Leads a partition, after it has said otherwise as often as told; or says nothing of a leader at first."""

    def __init__(self) -> None:
        super().__init__({"t": 1})
        self.says: list[Any] = []
        self.leaderless = 0
        self.answers[LIST_OFFSETS] = self._list
        self._tell = self.answers[METADATA]
        self.answers[METADATA] = self._describe

    def _list(self, _: Any, __: int) -> ListOffsetsResponse:
        said = self.says.pop(0) if self.says else ErrorCode.NONE
        if said is Close:
            raise Close
        answer = ListOffsetsPartitionResponse(partition_index=0, error_code=said, offset=42)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[answer])])

    def _describe(self, request: Any, version: int) -> MetadataResponse:
        answer = self._tell(request, version)
        assert isinstance(answer, MetadataResponse)
        if answer.topics and self.leaderless:
            self.leaderless -= 1
            answer.topics[0].partitions[0].leader_id = -1
            answer.topics[0].partitions[0].error_code = ErrorCode.LEADER_NOT_AVAILABLE
        return answer


def test_a_leader_that_moves_or_is_missing_is_waited_for() -> None:
    with Moving() as broker, Cluster(broker.bootstrap) as cluster:
        broker.says = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 4
        broker.leaderless = 3
        assert Admin(cluster).offsets_at({HERE: LATEST})[HERE].offset == 42
        assert not broker.leaderless
        assert len(broker.requests(LIST_OFFSETS)) == 5


def test_a_leader_that_never_comes_is_given_up() -> None:
    with Moving() as broker, Cluster(broker.bootstrap, timeout_ms=200) as cluster:
        broker.leaderless = 1_000
        with pytest.raises(RefusedByBroker, match="LEADER_NOT_AVAILABLE"):
            Admin(cluster).offsets_at({HERE: LATEST})


def test_other_refusals_are_not_waited_for() -> None:
    with Moving() as broker, Cluster(broker.bootstrap) as cluster:
        broker.says = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        with pytest.raises(RefusedByBroker, match=r"ListOffsets of t-0: .* TOPIC_AUTHORIZATION_FAILED"):
            Admin(cluster).offsets_at({HERE: LATEST})
        with pytest.raises(RefusedByBroker, match="UNKNOWN_TOPIC_OR_PARTITION"):
            Admin(cluster).offsets_at({TopicPartition("gone", 0): LATEST})
        assert len(broker.requests(LIST_OFFSETS)) == 1


def test_broken_connections_are_borne_with_patience_only() -> None:
    with Moving() as broker:
        broker.says = [Close] * 3
        with Cluster(broker.bootstrap) as cluster, pytest.raises(Unreachable):
            Admin(cluster).offsets_at({HERE: LATEST})
        broker.says = [Close] * 3
        with Cluster(broker.bootstrap, patience_ms=10_000) as cluster:
            assert Admin(cluster).offsets_at({HERE: LATEST})[HERE].offset == 42


def test_a_coordinator_whose_connection_breaks_is_borne_with_patience_only() -> None:
    with ScriptedBroker() as broker:
        found = Coordinator(key="g", node_id=1, host="127.0.0.1", port=broker.port)
        broker.answers[FIND_COORDINATOR] = lambda _, __: FindCoordinatorResponse(coordinators=[found])
        breaks = [True] * 4

        def offsets(_: Any, __: int) -> OffsetFetchResponse:
            if breaks:
                breaks.pop()
                raise Close
            return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g")])

        broker.answers[OFFSET_FETCH] = offsets
        with Cluster(broker.bootstrap) as cluster, pytest.raises(Unreachable):
            Admin(cluster).group_offsets("g")
        assert len(breaks) == 2  # asked twice
        breaks = [True] * 4
        with Cluster(broker.bootstrap, patience_ms=10_000) as cluster:
            assert Admin(cluster).group_offsets("g") == {}


def test_an_id_whose_coordinator_loads_is_asked_for_again() -> None:
    """As of a Kafka that was just started: `oncelog txn show` waits for it, a group's offsets do too."""
    with ScriptedBroker() as broker:
        found = Coordinator(key="id", node_id=1, host="127.0.0.1", port=broker.port)
        broker.answers[FIND_COORDINATOR] = lambda _, __: FindCoordinatorResponse(coordinators=[found])
        errors = [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]

        def described(_: Any, __: int) -> DescribeTransactionsResponse:
            state = TransactionState(
                error_code=errors.pop(), transactional_id="id", transaction_state="Empty", producer_id=7
            )
            return DescribeTransactionsResponse(transaction_states=[state])

        broker.answers[DESCRIBE_TRANSACTIONS] = described
        with Cluster(broker.bootstrap) as cluster:
            told = describe_transaction(cluster, "id")
            assert told is not None
            assert (told.state, told.producer.id) == ("Empty", 7)
            errors = [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
            with pytest.raises(RefusedByBroker, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
                describe_transaction(cluster, "id")


def test_a_broker_that_is_away_is_waited_for_with_patience_only(broker: oncelog.Broker) -> None:
    broker.topic("t")
    bootstrap = broker.bootstrap
    patient, hasty = Cluster(bootstrap, patience_ms=60_000), Cluster(bootstrap)
    for cluster in (patient, hasty):
        assert Admin(cluster).group_offsets("g") == {}
    broker.stop()
    with pytest.raises(Unreachable):
        Admin(hasty).offsets_at({HERE: LATEST})
    with pytest.raises(Unreachable):
        Admin(hasty).group_offsets("g")
    back = threading.Timer(0.5, broker.start)
    back.start()
    begun = time.monotonic()
    try:
        assert Admin(patient).offsets_at({HERE: LATEST})[HERE].offset == 0
        assert time.monotonic() - begun > 0.4
    finally:
        back.join()
    broker.stop()
    back = threading.Timer(0.5, broker.start)
    back.start()
    try:
        assert Admin(patient).group_offsets("g") == {}
        assert [each.name for each in patient.topics_matching("t")] == ["t"]
    finally:
        back.join()
    for cluster in (patient, hasty):
        cluster.close()


def test_connections_are_by_address_and_client_id() -> None:
    address = Address("127.0.0.1", 1)
    with Cluster([address]) as cluster:
        assert cluster.at(address) is cluster.at(address)
        assert cluster.at(address, client_id="other") is cluster.at(address, client_id="other")
        assert cluster.at(address, client_id="other") is not cluster.at(address)
        assert cluster.at(address, client_id="other").client_id == "other"
        assert cluster.dial(address) is not cluster.at(address)
