"""How much groups have to read: for many of them the same as for each alone, and no offset is read twice."""

from collections.abc import Sequence

import pytest

import oncelog
from oncelog.client.cluster import Cluster
from oncelog.inspect import ask, strip
from oncelog.inspect.lag import Lags, lag_records
from oncelog.inspect.strip import Stretch
from oncelog.model import TopicPartition
from tests.clients import transactional

WHERE = TopicPartition("read-by-many", 0)


def test_many_groups_wait_for_as_much_as_each_alone_and_nothing_is_read_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with oncelog.Broker() as broker:
        broker.topic(WHERE.topic)
        made = transactional(broker.bootstrap, "writes-1")
        for number in range(6):
            made.begin_transaction()
            for _ in range(5):
                made.produce(WHERE.topic, b"x", partition=0)
            made.flush(20)
            made.abort_transaction(20) if number % 3 == 1 else made.commit_transaction(20)
        with Cluster(broker.bootstrap) as cluster:
            end = ask.ends_of(cluster, [WHERE])[WHERE].last_stable_offset
            assert end >= 36
            alone = {at: lag_records(cluster, WHERE, at) for at in range(end + 2)}
            assert (alone[0], alone[3], alone[end]) == (20, 17, 0)
            read: list[tuple[int, int]] = []
            stretches = strip.stretches

            def counted(*of: object, start: int, stop: int) -> Sequence[Stretch]:
                read.append((start, stop))
                return stretches(*of, start=start, stop=stop)  # pyright: ignore[reportArgumentType]

            monkeypatch.setattr(strip, "stretches", counted)
            for order in (list(alone), list(alone)[::-1], sorted(alone, key=lambda at: at * 7 % 11)):
                lags = Lags(cluster, 1_000_000)
                read.clear()
                assert {at: lags.of(WHERE, at) for at in order} == alone, order
                assert sum(stop - start for start, stop in read) == end
            assert Lags(cluster, end - 1).of(WHERE, 0) is None
            assert Lags(cluster, end).of(WHERE, 0) == alone[0]
