"""A pipeline as the broker sees it, while the coordinator of its transactional id is elsewhere for a moment."""

from oncelog.client.cluster import Cluster
from oncelog.errors import ErrorCode
from oncelog.model import Producer, ProducerEpoch, ProducerId
from oncelog.pipelines.watch import RunningTransaction, transaction
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from oncelog.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from tests.unit.scripted_broker import ScriptedBroker

FIND_COORDINATOR, DESCRIBE_TRANSACTIONS = 10, 65


class Moving(ScriptedBroker):
    """Answers with these errors first."""

    def __init__(self, *errors: ErrorCode) -> None:
        super().__init__()
        self.errors = list(errors)
        self.answers[FIND_COORDINATOR] = self._find
        self.answers[DESCRIBE_TRANSACTIONS] = self._describe

    def _find(self, request: FindCoordinatorRequest, _: int) -> FindCoordinatorResponse:
        here = Coordinator(key=request.coordinator_keys[0], node_id=1, host="127.0.0.1", port=self.port)
        return FindCoordinatorResponse(coordinators=[here])

    def _describe(self, request: DescribeTransactionsRequest, _: int) -> DescribeTransactionsResponse:
        error = self.errors.pop(0) if self.errors else ErrorCode.NONE
        state = TransactionState(
            error_code=error,
            transactional_id=request.transactional_ids[0],
            transaction_state="Ongoing",
            producer_id=7,
            producer_epoch=3,
        )
        return DescribeTransactionsResponse(transaction_states=[state])


def test_a_coordinator_that_moves_is_looked_for_again() -> None:
    moving = Moving(ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    with moving as broker, Cluster(broker.bootstrap) as cluster:
        found = transaction(cluster, "mine")
    assert found == RunningTransaction("Ongoing", Producer(ProducerId(7), ProducerEpoch(3)), 0)


def test_an_id_that_nobody_knows_is_none() -> None:
    with Moving(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND) as broker, Cluster(broker.bootstrap) as cluster:
        assert transaction(cluster, "mine") is None
