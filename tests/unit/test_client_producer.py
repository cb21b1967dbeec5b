"""The client's producer: what it sends, and above all what it sends again."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault, RefusedByBroker, TimedOut, Unreachable
from oncelog.client.producer import Producer
from oncelog.errors import ErrorCode
from oncelog.model import Acks
from oncelog.protocol.messages.init_producer_id import InitProducerIdResponse
from oncelog.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from oncelog.record.batch import BatchHeader, read_header, records_of
from tests.unit.scripted_broker import Close, ScriptedBroker

PRODUCE = 0
INIT_PRODUCER_ID = 22
Answers = Callable[[int], ErrorCode]


class Log(ScriptedBroker):
    """Takes every batch and keeps it, unless `refuse` has an error for its number."""

    def __init__(self, partitions: int = 1) -> None:
        super().__init__({"t": partitions})
        self.taken: list[tuple[int, BatchHeader, bytes]] = []
        self.kept: list[tuple[int, list[bytes | None]]] = []
        self.refuse: dict[int, ErrorCode | type[Close]] = {}
        self.answers[PRODUCE] = self._produce
        self.answers[INIT_PRODUCER_ID] = lambda _, __: InitProducerIdResponse(producer_id=7, producer_epoch=0)

    def _produce(self, request: ProduceRequest, _: int) -> ProduceResponse:
        results: list[PartitionProduceResponse] = []
        for data in request.topic_data[0].partition_data:
            raw = bytes(data.records or b"")
            number = len(self.taken)
            self.taken.append((data.index, read_header(raw), raw))
            error = self.refuse.get(number, ErrorCode.NONE)
            if isinstance(error, type):
                raise Close
            if error == ErrorCode.NONE:
                self.kept.append((data.index, [each.value for each in records_of(raw)]))
            results.append(
                PartitionProduceResponse(index=data.index, error_code=error, base_offset=100 * number)
            )
        return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=results)])


@pytest.fixture
def log() -> Iterator[Log]:
    with Log() as broker:
        yield broker


def sequences(log: Log) -> list[int]:
    return [header.base_sequence for _, header, _ in log.taken]


def test_records_are_batched_and_numbered(log: Log) -> None:
    with Cluster(log.bootstrap) as cluster:
        producer = Producer(cluster, batch_bytes=400)
        deliveries = [producer.send("t", b"%d" % each * 100) for each in range(4)]
        producer.flush()
        assert [header.count for _, header, _ in log.taken] == [2, 2]
        assert sequences(log) == [0, 2]
        assert [header.producer_id for _, header, _ in log.taken] == [7, 7]
        assert [each.result().offset for each in deliveries] == [0, 1, 100, 101]


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT, Close])
def test_a_retry_sends_the_same_bytes_in_the_same_order(log: Log, error: ErrorCode | type[Close]) -> None:
    log.refuse = {0: error, 1: error}
    with Cluster(log.bootstrap) as cluster:
        producer = Producer(cluster, batch_bytes=200)
        for each in range(3):
            producer.send("t", b"%d" % each * 100)
        producer.flush()
    assert sequences(log) == [0, 0, 0, 1, 2]
    assert log.taken[0][2] == log.taken[1][2] == log.taken[2][2]
    assert [values[0] and values[0][:1] for _, values in log.kept] == [b"0", b"1", b"2"]


def test_a_duplicate_is_a_success(log: Log) -> None:
    log.refuse = {0: ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
    with Cluster(log.bootstrap) as cluster, Producer(cluster) as producer:
        producer.send("t", b"x")
    assert len(log.taken) == 1


def test_a_refusal_for_good_breaks_the_producer_and_every_promise(log: Log) -> None:
    log.refuse = {0: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}
    with Cluster(log.bootstrap) as cluster:
        producer = Producer(cluster, batch_bytes=200)
        first, second = producer.send("t", b"1" * 150), producer.send("t", b"2" * 150)
        said = r"Produce to t-0: broker .* answered OUT_OF_ORDER_SEQUENCE_NUMBER"
        with pytest.raises(RefusedByBroker, match=said):
            producer.flush()
        for each in (first, second):
            with pytest.raises(RefusedByBroker, match=said):
                each.result()
        with pytest.raises(RefusedByBroker, match=said):
            producer.send("t", b"3")
    assert len(log.taken) == 1


def test_retries_end_when_the_time_is_up(log: Log) -> None:
    log.refuse = dict.fromkeys(range(1000), ErrorCode.NOT_ENOUGH_REPLICAS)
    with Cluster(log.bootstrap) as cluster:
        producer = Producer(cluster, delivery_timeout_ms=150)
        producer.send("t", b"x")
        with pytest.raises(TimedOut, match=r"answered NOT_ENOUGH_REPLICAS \(not delivered in 150 ms\)"):
            producer.flush()


def test_a_broker_that_is_gone_stays_unreachable_not_timed_out(log: Log) -> None:
    log.refuse = dict.fromkeys(range(1000), Close)
    with Cluster(log.bootstrap) as cluster:
        producer = Producer(cluster, delivery_timeout_ms=150)
        producer.send("t", b"x")
        with pytest.raises(Unreachable, match="closed the connection without an answer"):
            producer.flush()


def test_acks_0_and_1_take_no_producer_id(log: Log) -> None:
    with Cluster(log.bootstrap) as cluster, Producer(cluster, acks=Acks.LEADER) as producer:
        producer.send("t", b"x")
    assert log.requests(INIT_PRODUCER_ID) == []
    header = log.taken[0][1]
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert log.requests(PRODUCE)[0].acks == 1


def test_idempotence_needs_all_acks() -> None:
    with pytest.raises(ValueError, match="an idempotent producer needs acks=ALL, found LEADER"):
        Producer(Cluster("127.0.0.1:1"), acks=Acks.LEADER, idempotent=True)
    with pytest.raises(
        ValueError, match="codec: wanted one of none, gzip, snappy, lz4, zstd, found 'brotli'"
    ):
        Producer(Cluster("127.0.0.1:1"), codec="brotli")


def test_memory_is_bounded(log: Log) -> None:
    with Cluster(log.bootstrap) as cluster:
        producer = Producer(cluster, batch_bytes=100_000, buffer_limit_bytes=2_000)
        early = producer.send("t", b"x" * 1_000)
        assert not early.done
        with pytest.raises(ClientFault, match="is not sent yet"):
            early.result()
        producer.send("t", b"x" * 1_000)
        assert early.done


def test_keys_choose_the_partition_and_the_rest_is_spread() -> None:
    with Log(partitions=3) as log, Cluster(log.bootstrap) as cluster:
        producer = Producer(cluster, batch_bytes=200)
        for _ in range(6):
            producer.send("t", b"x" * 150)
        producer.flush()
        assert {index for index, _, _ in log.taken} == {0, 1, 2}
        log.taken.clear()
        for key in (b"21", b"foobar"):
            producer.send("t", b"v", key=key)
        producer.flush()
        wanted: list[Any] = sorted({(-973932308 & 0x7FFFFFFF) % 3, (-790332482 & 0x7FFFFFFF) % 3})
        assert sorted({index for index, _, _ in log.taken}) == wanted


def test_a_partition_that_does_not_exist_is_refused_at_once(log: Log) -> None:
    with Cluster(log.bootstrap) as cluster:
        producer = Producer(cluster, delivery_timeout_ms=300)
        producer.send("t", b"x", partition=9)
        with pytest.raises(ClientFault, match=r"UNKNOWN_TOPIC_OR_PARTITION.*the topic has 1 partitions"):
            producer.flush()
