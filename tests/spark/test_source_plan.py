"""What the Spark source plans to read, as tables: ranges, losses, limits, splits and filters."""

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.model import TopicPartition
from oncelog.spark.source_options import (
    EARLIEST,
    LARGEST,
    LATEST,
    At,
    AtOffsets,
    AtTime,
    AtTimes,
    BadOption,
    Boundary,
)
from oncelog.spark.source_plan import (
    Condition,
    DataLoss,
    Range,
    Wanted,
    available,
    cut,
    judge_losses,
    lag,
    limit_offsets,
    moves,
    name_all,
    narrow,
    plan_batch,
    plan_ranges,
    resolve_offsets,
    resolve_times,
    split_ranges,
)

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))

# start: where the query is; end: where it shall go; log: where the log begins now. - is a partition that is not there.
RANGES = """
# start  end  log   range    loss
  0      10   0     0:10     -
  3      10   0     3:10     -
  10     10   0     -        -
  10     10   10    -        -
  10     10   15    -        -
  -      10   0     0:10     -
  -      0    0     -        -
  3      10   5     5:10     offsets 3 to 4 of t-0 are no longer in the log
  3      10   10    -        offsets 3 to 9 of t-0 are no longer in the log
  3      10   20    -        offsets 3 to 9 of t-0 are no longer in the log
  -      10   5     5:10     offsets 0 to 4 of t-0 are no longer in the log
  3      -    0     -        t-0 is gone; offset 3 was next to be read
  10     4    0     0:4      t-0 ends at offset 4, but 10 was next to be read
  10     4    2     2:4      t-0 ends at offset 4, but 10 was next to be read
  10     0    0     -        t-0 ends at offset 0, but 10 was next to be read
"""


def rows(text: str, columns: int) -> list[list[str]]:
    lines = [line for line in text.strip().splitlines() if not line.startswith("#")]
    return [line.split(maxsplit=columns - 1) for line in lines]


@pytest.mark.parametrize(("start", "end", "log", "found", "loss"), rows(RANGES, 5))
def test_a_range_and_what_of_it_is_lost(start: str, end: str, log: str, found: str, loss: str) -> None:
    planned = plan_ranges(
        {} if start == "-" else {T0: int(start)},
        {} if end == "-" else {T0: int(end)},
        earliest={T0: int(log)},
    )
    assert [f"{each.start}:{each.stop}" for each in planned.ranges] == ([] if found == "-" else [found])
    if loss == "-":
        assert planned.losses == ()
    else:
        (told,) = planned.losses
        assert told.startswith(loss)


# A batch read: what its boundaries are by name and as offsets, where the log begins and ends.
BATCHES = """
# start      end        starts ends log first-last  range   loss
  earliest   latest     0      10       0-10        0:10    -
  earliest   latest     0      10       4-12        4:10    -
  earliest   latest     8      8        8-5         -       -
  offsets    latest     3      10       0-10        3:10    -
  offsets    latest     3      10       5-10        5:10    offsets 3 to 4 of t-0 are no longer in the log
  offsets    latest     12     10       0-10        -       option startingOffsets of t-0 is 12, beyond its end, 10
  committed  latest     12     10       0-10        -       option startingOffsets of t-0 is 12, beyond its end, 10
  earliest   offsets    0      12       0-10        0:10    option endingOffsets of t-0 is 12, beyond its end, 10
  time       time       7      3        0-10        -       -
"""


@pytest.mark.parametrize(("start", "end", "starts", "ends", "log", "found", "loss"), rows(BATCHES, 7))
def test_a_batch_between_two_boundaries(
    start: str, end: str, starts: str, ends: str, log: str, found: str, loss: str
) -> None:
    named: dict[str, Boundary] = {"offsets": AtOffsets({T0: 1}), "time": AtTime(1)}
    named |= {each.value: each for each in At}
    first, last = log.split("-")
    planned = plan_batch(
        named[start],
        named[end],
        {T0: int(starts)},
        {T0: int(ends)},
        earliest={T0: int(first)},
        latest={T0: int(last)},
    )
    assert [f"{each.start}:{each.stop}" for each in planned.ranges] == ([] if found == "-" else [found])
    assert planned.losses == (() if loss == "-" else (loss,))


def test_a_loss_says_what_to_do_about_it() -> None:
    with pytest.raises(DataLoss, match=r"^a; b\. Set failOnDataLoss=false"):
        judge_losses(["a", "b"], failing=True)
    warning = judge_losses(["a", "b"], failing=False)
    assert warning is not None
    assert warning.startswith("a; b. Going on")
    assert judge_losses([], failing=True) is None


# Shares of a limit of so many offsets; what waits in partitions 0, 1 and 2
LIMITS = """
# limit  waiting     taken
  10     4,3,3       4,3,3
  10     4,3,0       4,3,0
  10     20,20,0     5,5,0
  10     30,10,0     7,2,0
  10     1000,1,1    9,1,1
  1      5,5,5       1,1,1
  100    99,1,1      98,1,1
"""


@pytest.mark.parametrize(("limit", "waiting", "taken"), rows(LIMITS, 3))
def test_a_limit_is_shared_out_by_what_waits(limit: str, waiting: str, taken: str) -> None:
    starts = {T0: 100, T1: 7, T2: 0}
    ends = {each: starts[each] + int(count) for each, count in zip(starts, waiting.split(","), strict=True)}
    limited = limit_offsets(int(limit), starts, ends, earliest={})
    assert ",".join(str(limited[each] - starts[each]) for each in starts) == taken


def test_a_new_partition_takes_its_share_from_where_its_log_begins() -> None:
    limited = limit_offsets(10, {T0: 50}, {T0: 70, T1: 120}, earliest={T1: 100})
    assert limited == {T0: 55, T1: 105}


@given(
    st.integers(1, 10**6),
    st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**9)), min_size=1, max_size=12),
)
def test_a_limit_lets_everybody_go_on_and_nobody_too_far(limit: int, waiting: list[tuple[int, int]]) -> None:
    starts = {TopicPartition("t", number): start for number, (start, _) in enumerate(waiting)}
    ends = {TopicPartition("t", number): start + size for number, (start, size) in enumerate(waiting)}
    limited = limit_offsets(limit, starts, ends, earliest={})
    assert limited.keys() == ends.keys()
    for each, end in limited.items():
        assert starts[each] + (ends[each] > starts[each]) <= end <= ends[each]
    assert available(starts, limited) <= limit + len(waiting)
    if available(starts, ends) <= limit:
        assert limited == ends


# The table of KafkaOffsetRangeCalculatorSuite in Spark, in short: ranges by their sizes, tasks wanted, sizes of the tasks
SPLITS = """
# sizes        min  tasks
  10,20        -    10,20
  10,20        1    10,20
  10,20        2    10,20
  0,10         1    10
  100          3    33,33,34
  5,10         3    5,5,5
  1000,1       8    142,143,143,143,143,143,143,1
  4            9    1,1,1,1
"""


@pytest.mark.parametrize(("sizes", "least", "tasks"), rows(SPLITS, 3))
def test_large_ranges_are_cut_until_there_are_enough_tasks(sizes: str, least: str, tasks: str) -> None:
    ranges = [
        Range(TopicPartition("t", number), 7, 7 + int(size)) for number, size in enumerate(sizes.split(","))
    ]
    pieces = split_ranges(ranges, min_partitions=None if least == "-" else int(least))
    assert ",".join(str(each.size) for each in pieces) == tasks


def test_no_task_gets_more_records_than_it_may() -> None:
    pieces = split_ranges([Range(T0, 0, 100), Range(T1, 0, 30)], min_partitions=None, max_records=40)
    assert [(str(each)) for each in pieces] == ["t-0[0:33]", "t-0[33:66]", "t-0[66:100]", "t-1[0:30]"]


@given(st.integers(0, 10**12), st.integers(1, 10**6), st.integers(1, 50))
def test_pieces_are_the_whole_without_gaps(start: int, size: int, parts: int) -> None:
    pieces = cut(Range(T0, start, start + size), parts)
    assert [each.start for each in pieces] == [start, *(each.stop for each in pieces[:-1])]
    assert pieces[-1].stop == start + size
    assert min(each.size for each in pieces) >= 1
    assert len(pieces) == min(parts, size)


WHOLE = [Range(T0, 10, 20), Range(T1, 10, 20), Range(TopicPartition("u", 0), 5, 9)]
MICROS = 1_700_000_000_000_000

FILTERS = """
# column     operator  values    ranges left                          Spark looks again
  partition  =         1         t-1[10:20]                           no
  partition  in        0,7       t-0[10:20] u-0[5:9]                  no
  partition  in        -         -                                    no
  partition  >         0         t-0[10:20] t-1[10:20] u-0[5:9]       yes
  topic      =         'u'       u-0[5:9]                             no
  topic      in        'u','x'   u-0[5:9]                             no
  offset     =         12        t-0[12:13] t-1[12:13]                no
  offset     <         12        t-0[10:12] t-1[10:12] u-0[5:9]       no
  offset     <=        12        t-0[10:13] t-1[10:13] u-0[5:9]       no
  offset     >         12        t-0[13:20] t-1[13:20]                no
  offset     >=        8         t-0[10:20] t-1[10:20] u-0[8:9]       no
  offset     in        7,12      t-0[10:13] t-1[10:13] u-0[7:9]       yes
  offset     in        -         -                                    no
  offset     =         None      t-0[10:20] t-1[10:20] u-0[5:9]       yes
  offset     =         1.5       t-0[10:20] t-1[10:20] u-0[5:9]       yes
  offset     =         True      t-0[10:20] t-1[10:20] u-0[5:9]       yes
  value      =         'x'       t-0[10:20] t-1[10:20] u-0[5:9]       yes
  timestamp  <         5         t-0[10:20] t-1[10:20] u-0[5:9]       yes
  timestamp  >=        5         t-0[15:20] u-0[5:9]                  yes
"""


@pytest.mark.parametrize("row", rows(FILTERS, 3))
def test_a_condition_leaves_these_ranges(row: list[str]) -> None:
    column, operator, rest = row
    values, left, again = (each.strip() for each in re.split(r"\s{2,}", rest))
    parsed = () if values == "-" else tuple(ast.literal_eval(values + ","))
    wanted, is_all = narrow(Wanted(), Condition(column, operator, parsed))
    at_time = {T0: 15, TopicPartition("u", 0): 2}  # none that young in t-1
    found = " ".join(map(str, wanted.narrowed(WHOLE, at_time)))
    assert (found or "-", "no" if is_all else "yes") == (left, again)


def test_conditions_add_up() -> None:
    wanted = Wanted()
    for each in [
        Condition("partition", "in", (0, 1)),
        Condition("partition", "=", (1,)),
        Condition("offset", ">=", (12,)),
        Condition("offset", ">", (13,)),
        Condition("offset", "<", (18,)),
        Condition("topic", "in", ("t", "u")),
        Condition("topic", "=", ("t",)),
    ]:
        wanted, _ = narrow(wanted, each)
    assert wanted.narrowed(WHOLE, {}) == [Range(T1, 14, 18)]


@pytest.mark.parametrize(
    ("operator", "micros", "millis"),
    [
        (">=", MICROS, MICROS // 1000),
        (">=", MICROS + 1, MICROS // 1000 + 1),
        (">", MICROS, MICROS // 1000 + 1),
        (">", MICROS + 1, MICROS // 1000 + 1),
        ("=", MICROS, MICROS // 1000),
        (">=", -5, 0),
    ],
)
def test_a_time_becomes_the_first_millisecond_that_fits(operator: str, micros: int, millis: int) -> None:
    wanted, is_all = narrow(Wanted(), Condition("timestamp", operator, (micros,)))
    assert (wanted.first_millis, is_all) == (millis, False)
    later, _ = narrow(wanted, Condition("timestamp", ">=", (0,)))
    assert later.first_millis == millis


@pytest.mark.parametrize("operator", ["=", ">=", ">"])
def test_a_time_before_1970_leaves_out_no_record_that_has_none(operator: str) -> None:
    condition = Condition("timestamp", operator, (-5_000,))
    assert narrow(Wanted(), condition) == (Wanted(), False)
    known = Wanted(first_millis=7)
    assert narrow(known, condition) == (known, False)


@pytest.mark.parametrize(
    ("start", "moving"),
    [
        (At.EARLIEST, False),
        (At.LATEST, True),
        (At.COMMITTED, True),
        (AtTime(5), True),
        (AtTimes({T0: 5}), True),
        (AtOffsets({T0: 5, T1: EARLIEST}), False),
        (AtOffsets({T0: 5, T1: LATEST}), True),
    ],
)
def test_which_starts_have_to_be_kept(start: Boundary, moving: bool) -> None:
    assert moves(start) is moving


def test_every_partition_has_to_be_named_and_no_other() -> None:
    name_all({T0: 1, T1: 2}, [T1, T0], "startingOffsets")
    with pytest.raises(BadOption, match="startingOffsets does not name t-1"):
        name_all({T0: 1}, [T0, T1], "startingOffsets")
    with pytest.raises(BadOption, match="startingOffsets names t-2, which"):
        name_all({T0: 1, T2: 2}, [T0], "startingOffsets")


def test_words_among_offsets() -> None:
    found = resolve_offsets(
        {T0: EARLIEST, T1: LATEST, T2: 7}, earliest={T0: 3, T1: 3, T2: 3}, latest={T0: 9, T1: 9, T2: 9}
    )
    assert found == {T0: 3, T1: 9, T2: 7}


def test_a_time_that_nothing_is_as_young_as() -> None:
    times = {T0: 100, T1: 200}
    assert resolve_times({T0: 4, T1: -1}, latest={T0: 9, T1: 8}, times=times, option=None) == {T0: 4, T1: 8}
    with pytest.raises(BadOption, match=r"startingTimestamp: no record is that young in t-1 \(at 200\)"):
        resolve_times({T0: 4, T1: -1}, latest={}, times=times, option="startingTimestamp")


def test_lag_is_what_spark_has_seen_but_not_read() -> None:
    assert lag('{"t":{"0":5}}', '{"t":{"0":9,"1":4}}') == {T0: 4, T1: 4}
    assert lag({"t": {"0": 9}}, {"t": {"0": 5}}) == {T0: 0}
    assert lag(None, "null") == {}
    assert lag(None, None) == {}


def test_the_largest_limit_is_no_limit() -> None:
    assert limit_offsets(LARGEST, {T0: 0}, {T0: 10**15}, earliest={}) == {T0: 10**15}
