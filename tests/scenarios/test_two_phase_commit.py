"""KIP-939 over the wire: a prepared transaction outlives its producer, its time-out and the broker (decision 0011)."""

from collections.abc import Iterator

import pytest

import oncelog
from oncelog.client.faults import Unreachable
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.record.batch import NewRecord, build_batch
from tests.clients import connect

ID = "prepared-1"


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    settings = {"transaction.two.phase.commit.enable": True}
    with oncelog.Broker(settings=settings, virtual_clock=True) as running:
        running.topic("out")
        yield running


def init(door: Connection, *, two_phase: bool = True, keep: bool = False) -> InitProducerIdResponse:
    request = InitProducerIdRequest(
        transactional_id=ID, transaction_timeout_ms=1000, enable2_pc=two_phase, keep_prepared_txn=keep
    )
    answer = door.send(request, InitProducerIdResponse, version=6)
    while answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS:
        answer = door.send(request, InitProducerIdResponse, version=6)
    return answer


def produce(door: Connection, producer_id: int, epoch: int, sequence: int, value: bytes) -> ErrorCode:
    batch = build_batch(
        [NewRecord(None, value)],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )
    request = ProduceRequest(
        transactional_id=ID,
        acks=-1,
        timeout_ms=1000,
        topic_data=[
            TopicProduceData(name="out", partition_data=[PartitionProduceData(index=0, records=batch)])
        ],
    )
    answer = door.send(request, ProduceResponse, version=12)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def end(door: Connection, producer_id: int, epoch: int, *, commit: bool) -> EndTxnResponse:
    request = EndTxnRequest(
        transactional_id=ID, producer_id=producer_id, producer_epoch=epoch, committed=commit
    )
    return door.send(request, EndTxnResponse, version=5)


def state_of(door: Connection) -> tuple[str, int]:
    answer = door.send(
        DescribeTransactionsRequest(transactional_ids=[ID]), DescribeTransactionsResponse, version=0
    )
    found = answer.transaction_states[0]
    return found.transaction_state, found.transaction_timeout_ms


def visible(broker: oncelog.Broker) -> list[bytes | None]:
    return [record.value for record in broker.read("out")]


@pytest.mark.parametrize("commit", [True, False])
def test_a_prepared_transaction_survives_time_out_producer_and_broker(
    broker: oncelog.Broker, commit: bool
) -> None:
    with connect(broker.bootstrap) as door:
        first = init(door)
        assert produce(door, first.producer_id, first.producer_epoch, 0, b"prepared") is ErrorCode.NONE
        assert state_of(door) == ("Ongoing", 2**31 - 1)
    broker.clock.advance(3 * 24 * 3600)
    broker.kill()
    broker.start()
    with connect(broker.bootstrap) as door:
        assert state_of(door) == ("Ongoing", 2**31 - 1)
        heir = init(door, keep=True)
        assert heir.error_code == ErrorCode.NONE
        assert (heir.ongoing_txn_producer_id, heir.ongoing_txn_producer_epoch) == (
            first.producer_id,
            first.producer_epoch,
        )
        assert heir.producer_epoch == first.producer_epoch + 1
        # The first instance wakes up: it can neither write nor decide.
        zombie = produce(door, first.producer_id, first.producer_epoch, 1, b"zombie")
        assert zombie is ErrorCode.INVALID_PRODUCER_EPOCH
        refused = end(door, first.producer_id, first.producer_epoch, commit=not commit)
        assert refused.error_code == ErrorCode.PRODUCER_FENCED
        assert visible(broker) == []
        broker.restart()
    with connect(broker.bootstrap) as door:
        ended = end(door, heir.producer_id, heir.producer_epoch, commit=commit)
        assert ended.error_code == ErrorCode.NONE
        assert visible(broker) == ([b"prepared"] if commit else [])
        assert produce(door, ended.producer_id, ended.producer_epoch, 0, b"next") is ErrorCode.NONE
        assert end(door, ended.producer_id, ended.producer_epoch, commit=True).error_code == ErrorCode.NONE
        assert visible(broker) == ([b"prepared"] if commit else []) + [b"next"]


@pytest.mark.parametrize(("two_phase", "version"), [(True, 2), (False, 2), (True, 0)])
def test_neither_a_start_that_aborts_nor_an_heirs_time_out_ends_what_was_prepared(
    two_phase: bool, version: int
) -> None:
    settings = {
        "transaction.two.phase.commit.enable": True,
        "transaction.version": version,  # records of version 0 have no place for an heir
        "recovery.ongoing": "abort",
    }
    with oncelog.Broker(settings=settings, virtual_clock=True) as broker:
        broker.topic("out")
        with connect(broker.bootstrap) as door:
            first = init(door)
            assert produce(door, first.producer_id, first.producer_epoch, 0, b"prepared") is ErrorCode.NONE
        broker.restart()
        with connect(broker.bootstrap) as door:
            heir = init(door, two_phase=two_phase, keep=True)
            assert heir.ongoing_txn_producer_id == first.producer_id
        broker.clock.advance(3600)
        broker.restart()
        broker.clock.advance(3600)
        with connect(broker.bootstrap) as door:
            assert state_of(door)[0] == "Ongoing"
            assert end(door, heir.producer_id, heir.producer_epoch, commit=True).error_code == ErrorCode.NONE
            assert visible(broker) == [b"prepared"]


def test_keeping_where_nothing_is_ongoing_is_an_ordinary_init(broker: oncelog.Broker) -> None:
    with connect(broker.bootstrap) as door:
        answer = init(door, keep=True)
        assert (answer.error_code, answer.producer_epoch, answer.ongoing_txn_producer_id) == (0, 0, -1)


def test_an_init_without_keep_aborts_what_was_prepared(broker: oncelog.Broker) -> None:
    with connect(broker.bootstrap) as door:
        first = init(door)
        assert produce(door, first.producer_id, first.producer_epoch, 0, b"gone") is ErrorCode.NONE
        assert init(door).error_code == ErrorCode.NONE
        assert state_of(door)[0] == "Empty"
        assert visible(broker) == []


def test_version_6_is_not_served_by_default_v3() -> None:
    with oncelog.Broker() as broker, connect(broker.bootstrap) as door, pytest.raises(Unreachable):
        init(door)
