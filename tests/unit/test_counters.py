"""Counts and times in memory: nothing is lost between the buckets."""

from hypothesis import given
from hypothesis import strategies as st

from oncelog.broker.counters import Counters, flat
from oncelog.engine.times import BUCKETS, Times

LONGEST_NS = 2**63 - 1


@given(st.lists(st.integers(0, LONGEST_NS), max_size=30))
def test_every_time_is_in_the_first_bucket_that_is_above_it(taken: list[int]) -> None:
    times = Times()
    for ns in taken:
        times.add(ns)
    below = 0
    for bucket in range(BUCKETS):
        below += times.counts[bucket]
        assert below == sum(ns < 2**bucket for ns in taken)
    assert times.count == len(taken)
    assert times.sum_ns == sum(taken)
    assert times.max_ns == max(taken, default=0)


def test_a_time_is_three_plain_numbers_too() -> None:
    counters = Counters()
    for ms in (2, 9, 4):
        counters.took("txn.load", ms * 1_000_000 + 7)
    assert flat(counters.times({})) == {"txn.load.count": 3, "txn.load.ms_sum": 15, "txn.load.ms_max": 9}


def test_an_api_goes_by_its_name() -> None:
    counters = Counters()
    counters.add("produce.refused.MESSAGE_TOO_LARGE", 2)
    rpc = counters.rpcs[0]
    rpc.bytes_in, rpc.bytes_out, rpc.errors = 5, 7, 1
    rpc.add(3)
    assert counters.rpcs[0] is rpc
    found = counters.counts({0: "Produce"})
    assert {name: value for name, value in found.items() if value} == {
        "produce.refused.MESSAGE_TOO_LARGE": 2,
        "rpc.Produce.errors": 1,
        "rpc.Produce.bytes_in": 5,
        "rpc.Produce.bytes_out": 7,
    }
    assert counters.times({0: "Produce"}) == {"rpc.Produce": rpc}
