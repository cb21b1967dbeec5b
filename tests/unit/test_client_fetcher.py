"""The fetcher: which bytes it gives, what it asks for ahead, and what it lives through."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

import oncelog
from oncelog.client.admin import Admin
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.easy import write_all
from oncelog.client.faults import OffsetOutOfRange, RefusedByBroker, TimedOut, Unreachable
from oncelog.client.fetcher import (
    EARLIEST_LOCAL,
    FIRST_ANSWER_BYTES,
    LEAST_ANSWER_BYTES,
    Fetched,
    PartitionFetcher,
)
from oncelog.client.visible import AbortedFrom
from oncelog.errors import CorruptBatch, ErrorCode
from oncelog.model import Isolation, Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from oncelog.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from oncelog.record.batch import NewRecord, batches, build_batch, read_header
from tests.unit.scripted_broker import Close, Hang, ScriptedBroker

FETCH, LIST_OFFSETS = 1, 2
HERE = TopicPartition("t", 0)
NOBODY = Producer(ProducerId(-1), ProducerEpoch(-1))


def sealed(base_offset: int, count: int = 1, size: int = 10) -> bytes:
    return build_batch([NewRecord(None, bytes(size), 1)] * count, base_offset=base_offset)


class Log(ScriptedBroker):
    """A partition of given batches by base offset. `says`: what to answer to the next requests instead."""

    def __init__(self, *stored: bytes) -> None:
        super().__init__({"t": 1})
        self.stored = list(stored)
        self.says: list[Any] = []
        self.end = 1_000_000
        self.stable: int | None = None
        self.local = 0  # what is below stands in tiered storage
        self.answers[FETCH] = self._fetch
        self.answers[LIST_OFFSETS] = self._offset

    def _fetch(self, request: FetchRequest, _: int) -> FetchResponse:
        asked = request.topics[0].partitions[0]
        said = self.says.pop(0) if self.says else None
        if said in (Close, Hang):
            raise said
        if isinstance(said, FetchResponse):
            return said
        if isinstance(said, ErrorCode):
            return self.answer(b"", error=said)
        found = b""
        end = self.stable if self.stable is not None and request.isolation_level else self.end
        for batch in self.stored:
            if asked.fetch_offset < read_header(batch).next_offset <= end:
                found += batch
                if len(found) >= asked.partition_max_bytes:
                    break
        whole = max(
            asked.partition_max_bytes, len(self.stored[-1])
        )  # cut anywhere, but never without one batch
        return self.answer(found[:whole])

    def answer(
        self,
        records: bytes,
        *,
        error: ErrorCode = ErrorCode.NONE,
        aborted: list[AbortedTransaction] | None = None,
    ) -> FetchResponse:
        data = PartitionData(
            partition_index=0,
            error_code=error,
            high_watermark=self.end,
            last_stable_offset=self.end if self.stable is None else self.stable,
            log_start_offset=0,
            aborted_transactions=aborted,
            records=records,
        )
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data])])

    def _offset(self, request: ListOffsetsRequest, _: int) -> ListOffsetsResponse:
        (asked,) = request.topics[0].partitions
        assert asked.timestamp == EARLIEST_LOCAL
        found = ListOffsetsPartitionResponse(partition_index=0, offset=self.local)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[found])])

    def asked_for(self) -> list[tuple[int, int]]:
        """Of each Fetch: offset and bytes."""
        parts = [each.topics[0].partitions[0] for each in self.requests(FETCH)]
        return [(each.fetch_offset, each.partition_max_bytes) for each in parts]


def run(cluster: Cluster, start: int, stop: int, **settings: Any) -> list[Fetched]:
    return list(PartitionFetcher(cluster, HERE, start=start, stop=stop, max_wait_ms=10, **settings))


def extents(found: list[Fetched]) -> list[list[tuple[int, int]]]:
    """Of each answer the offsets of its batches: first and next."""
    return [[(header.base_offset, header.next_offset) for _, header in batches(each.data)] for each in found]


RANGES = """
# stored (first+count)   start  stop  given
  0+3 3+3 6+3            0      9     0-3 3-6 6-9
  0+3 3+3 6+3            4      9     3-6 6-9        # a batch is never split
  0+3 3+3 6+3            0      4     0-3 3-6
  0+3 3+3 6+3            0      3     0-3            # what begins at stop is not wanted
  0+3 3+3 6+3            8      9     6-9
  0+3 20+3               0      10    0-3            # a hole, and behind stop something: the hole is empty
  0+3 20+3               5      15    -
  0+3 20+3               5      21    20-23
  0+1 1+1 2+1            5      5     -              # nothing is asked for
"""


@pytest.mark.parametrize(
    "line", [line.split("#")[0].split() for line in RANGES.splitlines() if line and line[0] != "#"]
)
def test_a_range_is_given_in_whole_batches(line: list[str]) -> None:
    stored = [each.split("+") for each in line if "+" in each]
    start, stop = (int(each) for each in line[len(stored) : len(stored) + 2])
    with (
        Log(*(sealed(int(first), int(count)) for first, count in stored)) as log,
        Cluster(log.bootstrap) as cluster,
    ):
        found = extents(run(cluster, start, stop))
        assert len(log.asked_for()) == (start < stop)  # all of it fits into one answer
    given = [f"{first}-{following}" for each in found for first, following in each]
    assert given == [each for each in line[len(stored) + 2 :] if each != "-"]


def test_the_next_request_is_under_way_before_the_answer_is_given() -> None:
    with Log(*(sealed(each, 1, 1000) for each in range(10))) as log, Cluster(log.bootstrap) as cluster:
        fetcher = PartitionFetcher(cluster, HERE, start=0, stop=10, max_bytes=1500)
        for number, fetched in enumerate(fetcher):
            assert fetched.next_offset == fetcher.position == number + 1
            if number < 9:
                deadline = time.monotonic() + 5
                while len(log.asked_for()) < number + 2:
                    assert time.monotonic() < deadline, "the next one was not asked for"
                    time.sleep(0.001)
        assert [offset for offset, _ in log.asked_for()] == list(range(10))


def test_less_is_asked_for_towards_the_end() -> None:
    """What lies beyond stop would be fetched for nothing."""
    stored = [sealed(each * 10, 10, 10_000) for each in range(100)]
    with Log(*stored) as log, Cluster(log.bootstrap) as cluster:
        found = run(cluster, 0, 300)
        assert sum(len(each) for each in extents(found)) == 30
        first, second, *_ = (size for _, size in log.asked_for())
        assert first == FIRST_ANSWER_BYTES
        assert LEAST_ANSWER_BYTES < second < 1.2 * 20 * len(stored[0])  # ten of thirty came at first
        log.asked.clear()
        run(cluster, 0, 1000, max_bytes=500_000)
        assert {size for _, size in log.asked_for()[:-2]} == {500_000}


def test_what_came_with_the_data_is_given_along() -> None:
    with Log(sealed(0, 5)) as log, Cluster(log.bootstrap) as cluster:
        log.end, log.stable = 9, 7
        log.says = [log.answer(sealed(0, 5), aborted=[AbortedTransaction(producer_id=3, first_offset=1)])]
        (fetched,) = run(cluster, 0, 5)
        assert fetched.aborted == (AbortedFrom(1, 3),)
        assert (fetched.high_watermark, fetched.last_stable_offset, fetched.log_start) == (9, 7, 0)
        assert (fetched.first_offset, fetched.next_offset) == (0, 5)
        assert [each.isolation_level for each in log.requests(FETCH)] == [1]
        run(cluster, 0, 5, isolation=Isolation.READ_UNCOMMITTED)
        assert log.requests(FETCH)[-1].isolation_level == 0


@pytest.mark.parametrize(
    "said",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        Close,
        FetchResponse(throttle_time_ms=1),  # throttled: an answer with nothing in it
    ],
)
@pytest.mark.parametrize("number", [0, 1])
def test_what_passes_is_waited_out(said: Any, number: int) -> None:
    with Log(sealed(0, 1, 900), sealed(1, 1, 900)) as log, Cluster(log.bootstrap) as cluster:
        log.says = [None] * number + [said, said]
        found = run(cluster, 0, 2, max_bytes=1000)
        assert extents(found) == [[(0, 1)], [(1, 2)]]


def test_a_leader_that_moved_is_followed() -> None:
    stored = [sealed(each, 1, 900) for each in range(4)]
    with Log(*stored) as old, Log(*stored) as new, Cluster(old.bootstrap) as cluster:
        old.peer = new
        for number, fetched in enumerate(PartitionFetcher(cluster, HERE, start=0, stop=4, max_bytes=1000)):
            assert fetched.first_offset == number
            if number == 1:
                old.leader = 2
                old.says = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 100
        assert [offset for offset, _ in new.asked_for()] in ([2, 3], [3])  # 2 may have been under way already


def test_final_refusals_are_raised_at_once() -> None:
    with Log(sealed(0)) as log, Cluster(log.bootstrap) as cluster:
        log.says = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        with pytest.raises(RefusedByBroker, match=r"Fetch of t-0 at offset 0: .* TOPIC_AUTHORIZATION_FAILED"):
            run(cluster, 0, 1)
        assert len(log.asked_for()) == 1


def test_a_range_that_does_not_come_is_given_up_with_where_it_stood() -> None:
    with Log(sealed(0, 5)) as log, Cluster(log.bootstrap) as cluster:
        log.end, log.stable = 9, 5
        with pytest.raises(TimedOut, match="high watermark is 9, the last stable offset 5") as fault:
            run(cluster, 0, 9, timeout_ms=200)
        assert "t-0 up to offset 9: at offset 5 for 200 ms" in str(fault.value)
        log.says = [Close] * 1000
        with pytest.raises(Unreachable, match="Fetch v12"):
            run(cluster, 0, 9, timeout_ms=200)


def test_nothing_before_the_last_stable_offset_is_an_end_too() -> None:
    """All of [3, 9) was compacted away, and what stands at 9 is undecided: a broker gives nothing, however often it is asked."""
    with Log(sealed(0, 3), sealed(9, 3)) as log, Cluster(log.bootstrap) as cluster:
        log.end, log.stable = 20, 9
        log.local = 100  # what is undecided is proof enough
        assert extents(run(cluster, 0, 9)) == [[(0, 3)]]
        assert log.requests(FETCH)[-1].isolation_level == Isolation.READ_UNCOMMITTED


@pytest.mark.parametrize("isolation", Isolation)
def test_a_log_that_ends_with_nothing_is_an_end_too(isolation: Isolation) -> None:
    """[3, 9) was compacted away, and nothing was written since: the log is the broker's own, so there is nothing."""
    with Log(sealed(0, 3)) as log, Cluster(log.bootstrap) as cluster:
        log.end, log.local = 9, 3
        assert extents(run(cluster, 0, 9, isolation=isolation)) == [[(0, 3)]]
        assert len(log.requests(LIST_OFFSETS)) == 1


@pytest.mark.parametrize("empty", [2, 3, 7])
def test_answers_without_data_are_no_hole_while_the_data_is_on_its_way(empty: int) -> None:
    """Tiered storage: when remote.fetch.max.wait.ms is over Kafka answers with nothing and with valid offsets."""
    with Log(sealed(0, 3), sealed(3, 3), sealed(6, 3)) as log, Cluster(log.bootstrap) as cluster:
        log.end, log.local = 9, 6
        log.says = [log.answer(b"")] * empty
        assert extents(run(cluster, 0, 9)) == [[(0, 3), (3, 6), (6, 9)]]


def test_data_that_never_comes_from_tiered_storage_is_a_fault() -> None:
    with Log(sealed(0, 3), sealed(3, 3), sealed(9, 3)) as log, Cluster(log.bootstrap) as cluster:
        log.end, log.local = 12, 9
        log.says = [log.answer(sealed(0, 3)), *[log.answer(b"")] * 10_000]
        with pytest.raises(TimedOut, match="t-0 up to offset 6: at offset 3 for 200 ms"):
            run(cluster, 0, 6, timeout_ms=200)
        assert log.requests(LIST_OFFSETS)


def test_bytes_that_are_no_batch_are_refused() -> None:
    with Log(sealed(0)) as log, Cluster(log.bootstrap) as cluster:
        for spoilt in (sealed(0)[:16] + b"\1" + sealed(0)[17:], sealed(0)[:8] + bytes(4) + sealed(0)[12:]):
            log.says = [log.answer(spoilt)]
            with pytest.raises(CorruptBatch, match="t-0: batch at offset 0 has magic"):
                run(cluster, 0, 1)


def test_who_stops_early_leaves_no_connection() -> None:
    with Log(*(sealed(each, 1, 1000) for each in range(10))) as log, Cluster(log.bootstrap) as cluster:
        fetcher = PartitionFetcher(cluster, HERE, start=0, stop=10, max_bytes=1500)
        some = iter(fetcher)
        assert next(some).next_offset == 1
        assert log.connections == 2
        del some
        deadline = time.monotonic() + 5
        while log.connections > 1:  # the cluster's own is left
            assert time.monotonic() < deadline, "it was not closed"
            time.sleep(0.001)
        assert [each.next_offset for each in fetcher] == list(range(2, 11))  # goes on where it stood


def test_a_range_makes_sense() -> None:
    for start, stop in ((-1, 5), (5, 4)):
        with pytest.raises(ValueError, match="wanted 0 <= start <= stop"):
            PartitionFetcher(Cluster("127.0.0.1:1"), HERE, start=start, stop=stop)


# With a broker


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        running.topic("t")
        yield running


def test_a_restart_in_the_middle_loses_nothing(broker: oncelog.Broker) -> None:
    with Cluster(broker.bootstrap) as cluster:
        with BatchWriter(cluster, None, NOBODY) as writer:
            for number in range(200):
                records = [NewRecord(None, b"%d" % number + bytes(5_000), 1)]
                writer.write(HERE, build_batch(records))
        found: list[int] = []
        for number, fetched in enumerate(
            PartitionFetcher(cluster, HERE, start=0, stop=200, max_bytes=30_000)
        ):
            found += [header.base_offset for _, header in batches(fetched.data)]
            if number % 10 == 3:
                broker.kill()
                broker.start()
        assert found == list(range(200))


def test_an_offset_that_is_gone_is_named(broker: oncelog.Broker) -> None:
    write_all(broker.bootstrap, "t", [b"x"] * 5)
    with Cluster(broker.bootstrap) as cluster:
        Admin(cluster).delete_records({HERE: 3})
        with pytest.raises(OffsetOutOfRange) as fault:
            run(cluster, 1, 5)
        assert str(fault.value) == "Fetch of t-0 at offset 1: the log holds offsets 3 to 4"
        Admin(cluster).delete_records({HERE: 5})
        with pytest.raises(OffsetOutOfRange, match="the log is empty, its next offset is 5"):
            run(cluster, 1, 5)
