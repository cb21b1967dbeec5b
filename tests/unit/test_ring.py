"""The ring of requests: bounded in ids, requests and bytes, and what is kept of a large Produce."""

import pytest

from oncelog.broker.ring import (
    ANSWER,
    ENTRY_BYTES,
    FRAME,
    FRAME_BYTES,
    KEPT_BYTES,
    NUMBER,
    SMALL_BYTES,
    SORTED_AT,
    TOOK,
    Entry,
    Ring,
    answer_of,
    at_us,
    short_request,
)
from oncelog.model import Millis
from oncelog.protocol.header import read_request_header, request_frame
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)
from oncelog.protocol.messages.end_txn import EndTxnRequest
from oncelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.primitives import Message
from oncelog.record.batch import NewRecord, build_batch, read_header

PEER = ("127.0.0.1", 1234)


class Clock:
    """Two clocks, of which the wall's can be set."""

    def __init__(self) -> None:
        self.ns = 0
        self.ahead_ms = 0

    def wall_ms(self) -> Millis:
        return Millis(1_000_000 + self.ns // 1_000_000 + self.ahead_ms)

    def monotonic_ms(self) -> Millis:
        return Millis(self.ns // 1_000_000)

    def monotonic_ns(self) -> int:
        return self.ns


def ring(
    clock: Clock | None = None, *, ids: int = 10, requests: int = 10, limit_bytes: int = 1 << 20
) -> Ring:
    return Ring(clock or Clock(), ids=ids, requests=requests, limit_bytes=limit_bytes)


def note(into: Ring, key: int, version: int, request: Message, began_ns: int = 0) -> Entry | None:
    frame = bytes(request_frame(key, version, 7, "till", request)[4:])
    return into.begin(key, frame, request, PEER, began_ns)


def end_txn(into: Ring, transactional_id: str, began_ns: int = 0) -> Entry:
    found = note(into, 26, 5, EndTxnRequest(transactional_id=transactional_id), began_ns)
    assert found is not None
    return found


def numbers(of: Ring, transactional_id: str, after: int = -1) -> list[int]:
    return [each[NUMBER] for each in of.read(transactional_id, after)]


def test_requests_of_an_id_are_kept_up_to_a_number_and_read_from_where_one_left_off() -> None:
    kept = ring(requests=3)
    for _ in range(5):
        end_txn(kept, "a")
    assert numbers(kept, "a") == [3, 4, 5]
    assert numbers(kept, "a", after=4) == [5]
    assert numbers(kept, "nobody") == []


def test_the_id_that_was_quiet_for_longest_goes_first() -> None:
    kept = ring(ids=2)
    for each in ("a", "b", "a", "c"):
        end_txn(kept, each)
    assert (len(kept), numbers(kept, "a"), numbers(kept, "b"), numbers(kept, "c")) == (2, [1, 3], [], [4])


def test_who_asked_last_comes_last() -> None:
    kept = ring()
    for each in ("a", "b", "a", "c", "b"):
        end_txn(kept, each)
    assert kept.ids() == ["a", "c", "b"]  # also what is not sorted in yet


def test_bytes_are_bounded_whatever_comes() -> None:
    limit = 200 * ENTRY_BYTES
    kept = ring(ids=10_000, requests=50, limit_bytes=limit)
    for number in range(20 * SORTED_AT):
        end_txn(kept, f"id-{number % 300}")
        if number % 100 == 0:
            assert len(kept) > 0
            assert kept.bytes() <= limit
    assert 100 < sum(len(numbers(kept, f"id-{number}")) for number in range(300)) <= 200


def test_one_busy_id_takes_nothing_from_the_others() -> None:
    kept = ring(requests=4, limit_bytes=40 * ENTRY_BYTES)
    end_txn(kept, "quiet")
    for _ in range(30 * SORTED_AT):
        end_txn(kept, "busy")
    assert numbers(kept, "quiet") == [1]
    assert len(numbers(kept, "busy")) == 4


def test_a_request_under_way_has_no_answer() -> None:
    kept = ring()
    under_way = end_txn(kept, "a")
    assert (kept.read("a", -1), answer_of(under_way), under_way[TOOK]) == ([under_way], (None, 0), -1)
    under_way[TOOK], under_way[ANSWER] = 5, [bytearray(b"\0\0\0\2hi")]
    assert answer_of(kept.read("a", -1)[0]) == (b"hi", 2)
    under_way[ANSWER] = [bytearray(10_000)]
    beginning, size = answer_of(under_way)
    assert (beginning, size) == (bytes(KEPT_BYTES), 9996)


def produce(*, partitions: int, value_bytes: int, topic: str = "out") -> ProduceRequest:
    batches = [
        build_batch(
            [NewRecord(None, b"x" * value_bytes, 1, [])] * 3,
            producer_id=7,
            producer_epoch=2,
            base_sequence=10 * index,
            transactional=True,
        )
        for index in range(partitions)
    ]
    return ProduceRequest(
        transactional_id="a",
        acks=-1,
        timeout_ms=1000,
        topic_data=[
            TopicProduceData(
                name=topic,
                partition_data=[
                    PartitionProduceData(index=at, records=each) for at, each in enumerate(batches)
                ],
            )
        ],
    )


@pytest.mark.parametrize(
    ("partitions", "topic", "name"),
    [(1, "out", "a"), (1, "x" * 249, "a"), (1, "out", "a" * 3000), (3, "out", "a")],
)
def test_of_a_large_produce_the_headers_of_its_batches_are_left(
    partitions: int, topic: str, name: str
) -> None:
    kept = ring()
    request = produce(partitions=partitions, value_bytes=2000, topic=topic)
    request.transactional_id = name
    entry = note(kept, 0, 9, request)
    assert entry is not None
    assert entry[FRAME_BYTES] > 6000 * partitions
    assert len(entry[FRAME]) <= max(KEPT_BYTES, 400 + len(name))
    short = short_request(entry)
    assert short is not None
    header = read_request_header(short)
    read = ProduceRequest.decode(short, header.version, header.body_at)
    assert (header.client_id, read.transactional_id, read.topic_data[0].name) == ("till", name, topic)
    for at, each in enumerate(read.topic_data[0].partition_data):
        assert each.records is not None
        head = read_header(each.records)
        original = request.topic_data[0].partition_data[at].records
        assert original is not None
        assert (each.index, head.count, head.producer_id, head.base_sequence) == (at, 3, 7, 10 * at)
        assert head.size == len(original)


def test_a_small_produce_is_kept_as_it_came() -> None:
    kept = ring()
    entry = note(kept, 0, 9, produce(partitions=1, value_bytes=10))
    assert entry is not None
    assert len(entry[FRAME]) == entry[FRAME_BYTES] < SMALL_BYTES
    assert short_request(entry) is None


def test_produce_without_a_transactional_id_is_nobodys() -> None:
    assert note(ring(), 0, 9, ProduceRequest()) is None


def test_partitions_are_added_under_the_id_of_either_form() -> None:
    kept = ring()
    note(kept, 24, 3, AddPartitionsToTxnRequest(v3_and_below_transactional_id="old"))
    newer = AddPartitionsToTxnTransaction(transactional_id="new", producer_id=1, producer_epoch=0)
    note(kept, 24, 4, AddPartitionsToTxnRequest(transactions=[newer]))
    assert (numbers(kept, "old"), numbers(kept, "new")) == ([1], [2])


def test_times_are_since_1970_in_microseconds() -> None:
    clock = Clock()
    kept = ring(clock)
    for ns in (300_000, 1_900_000, 2_050_000, 7_000_000):
        clock.ns = ns
        end_txn(kept, "a", began_ns=ns)
    found = [at_us(each) for each in kept.read("a", -1)]
    assert [each - found[0] for each in found] == [0, 1600, 1750, 6700]
    assert abs(found[0] - 1_000_000_300) < 1000


def test_a_wall_clock_that_was_set_moves_only_what_came_after() -> None:
    clock = Clock()
    kept = ring(clock)
    end_txn(kept, "a", began_ns=0)
    kept.sort()
    clock.ahead_ms = 60_000
    clock.ns = 1_000_000
    end_txn(kept, "a", began_ns=1_000_000)
    first, second = (at_us(each) for each in kept.read("a", -1))
    assert second - first == 60_001_000


def test_a_rest_between_the_readings_of_two_clocks_moves_no_request() -> None:
    """Another process had the core just then: the wall's clock went on by 50 ms before the other one was read."""

    class Interrupted(Clock):
        def wall_ms(self) -> Millis:
            found = super().wall_ms()
            self.ns, self.rest_ns = self.ns + self.rest_ns, 0
            return found

        rest_ns = 50_000_000

    clock = Interrupted()
    kept = ring(clock)
    request = EndTxnRequest(transactional_id="a", producer_id=1, producer_epoch=0, committed=True)
    note(kept, 26, 5, request, began_ns=clock.ns)
    (entry,) = kept.read("a", 0)
    assert at_us(entry) == 1_000_000_000
