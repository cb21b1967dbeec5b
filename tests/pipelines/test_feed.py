"""Invented rows: the same for the same seed, written once each, continued where they ended."""

import json
from collections import Counter
from collections.abc import Iterator

import pytest

import oncelog
from oncelog.client.cluster import Cluster
from oncelog.pipelines import PIPELINES, feed


@pytest.fixture(scope="module")
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        yield running


@pytest.mark.parametrize("name", PIPELINES)
def test_a_row_depends_on_seed_and_number_alone(name: str) -> None:
    make = PIPELINES[name].make
    assert [make(7, number) for number in (3, 1, 2)] == [make(7, 3), make(7, 1), make(7, 2)]
    assert [make(7, number) for number in range(20)] != [make(8, number) for number in range(20)]


@pytest.mark.parametrize("name", PIPELINES)
def test_no_two_rows_are_alike(name: str) -> None:
    make = PIPELINES[name].make
    assert max(Counter(make(1, number).value for number in range(500)).values()) == 1


def test_about_half_of_the_settlements_came_back_and_the_others_did_not_in_part() -> None:
    rows = [json.loads(feed.settlement(1, number).value) for number in range(400)]
    returned = [row for row in rows if row["outcome"] == "returned"]
    assert 150 < len(returned) < 250
    assert {row["returned_percent"] for row in rows if row["outcome"] == "kept"} == {0}
    assert {row["returned_percent"] for row in returned} == {25, 50, 100}


def test_clicks_are_out_of_order_by_no_more_than_they_say() -> None:
    times = [json.loads(feed.click(1, number).value)["at_ms"] for number in range(300)]
    assert times != sorted(times)
    latest = 0
    for at in times:
        latest = max(latest, at)
        assert at > latest - feed.CLICK_JITTER_MS


def test_orders_name_customers_of_the_table_and_some_strangers() -> None:
    table = {feed.customer(1, number).key for number in range(feed.CUSTOMERS)}
    named = {feed.order(1, number).key for number in range(600)}
    assert named & table
    assert named - table


def test_a_feed_goes_on_with_the_first_row_that_is_not_there(broker: oncelog.Broker) -> None:
    with Cluster(broker.bootstrap) as cluster:
        feed.make_topics(cluster, ["settlements"], partitions=3)
        feed.make_topics(cluster, ["settlements"], partitions=3)  # they are there: fine
        first = feed.Feeder(cluster, "settlements", feed.settlement, seed=4)
        first.write(700)
        second = feed.Feeder(cluster, "settlements", feed.settlement, seed=4)
        second.write(50)
    assert (first.acked, second.next_number, second.acked) == (700, 750, 50)
    written = [each.value for each in broker.read("settlements")]
    assert sorted(written, key=lambda value: value or b"") == sorted(
        feed.settlement(4, number).value for number in range(750)
    )


def test_a_slow_feed_ends_when_it_is_over(broker: oncelog.Broker) -> None:
    asked: list[int] = []

    def is_over() -> bool:
        asked.append(1)
        return len(asked) > 3

    with Cluster(broker.bootstrap) as cluster:
        feed.make_topics(cluster, ["slow"], partitions=1)
        feeder = feed.Feeder(cluster, "slow", feed.settlement)
        feeder.write_slowly(1_000_000, rate=1000.0, is_over=is_over)
        assert 0 < feeder.acked < 10_000
        assert feed.rows_in(cluster, "slow") == feeder.acked


def test_a_slow_feed_writes_no_more_than_asked(broker: oncelog.Broker) -> None:
    with Cluster(broker.bootstrap) as cluster:
        feed.make_topics(cluster, ["few"], partitions=1)
        feeder = feed.Feeder(cluster, "few", feed.settlement)
        feeder.write_slowly(17, rate=100_000.0, is_over=lambda: False)
        assert feed.rows_in(cluster, "few") == 17
