"""The sink's rules, without Spark and without a broker."""

import json

import pytest

from oncelog.client.admin import CommittedOffset
from oncelog.client.transactional import TransactionProtocol
from oncelog.model import Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.spark.sink_options import SinkFailed, SinkOptions, SinkRefused, TakenOver
from oncelog.spark.sink_plan import (
    Failure,
    Home,
    Job,
    Marker,
    Opened,
    Report,
    Task,
    Verdict,
    check_attempt,
    check_owner,
    check_replay,
    check_reports,
    home_of,
    judge,
    last_marker,
    next_marker,
    offsets_to_commit,
    possible_homes,
    read_marker,
)

OPTIONS = SinkOptions(bootstrap="nowhere:1", transactional_id="refunds")
PRODUCER = Producer(ProducerId(7), ProducerEpoch(3))

# who: the query of the last marker and its batch; which micro-batch comes; what takeOver says
VERDICTS = """
# last   job    takeOver  verdict
  -      q1/0   -         write
  -      -      -         write
  q1/4   q1/5   -         write
  q1/4   q1/9   -         write
  q1/4   q1/4   -         skip
  q1/4   q1/3   -         refuse: checkpoint was set back
  q1/4   q2/0   -         refuse: belongs to query q1
  q1/4   q2/5   -         refuse: belongs to query q1
  q1/4   q2/0   q3        refuse: belongs to query q1
  q1/4   q2/0   q1        write
  q1/4   q2/4   q1        write
  q1/4   -      -         refuse: this is a df.write
  q1/4   -      q1        write
"""


def rows(table: str) -> list[list[str]]:
    return [
        line.split(maxsplit=3) for line in table.splitlines() if line.strip() and not line.startswith("#")
    ]


def marker(text: str, *, serial: int = 1, offsets: str = "") -> Marker | None:
    query_id, slash, batch_id = text.partition("/")
    return Marker(query_id, int(batch_id), serial, offsets) if slash else None


def job(text: str) -> Job:
    found = marker(text)
    return Job(None, None) if found is None else Job(found.query_id, found.batch_id)


@pytest.mark.parametrize(("last", "asked", "take_over", "wanted"), rows(VERDICTS))
def test_a_micro_batch_is_written_skipped_or_refused(
    last: str, asked: str, take_over: str, wanted: str
) -> None:
    options = SinkOptions("nowhere:1", "refunds", take_over=None if take_over == "-" else take_over)
    verdict, _, why = wanted.partition(": ")
    if verdict == "refuse":
        with pytest.raises(SinkRefused, match=why):
            judge(job(asked), marker(last), options)
    else:
        assert judge(job(asked), marker(last), options) is Verdict(verdict)


def test_the_owner_can_be_checked_before_the_batch_id_is_known() -> None:
    check_owner("q1", marker("q1/4"), OPTIONS)
    check_owner("q1", None, OPTIONS)
    with pytest.raises(SinkRefused, match=r"takeOver=q1 .* startingOffsets=committed"):
        check_owner("q2", marker("q1/4"), OPTIONS)


@pytest.mark.parametrize(
    ("then", "now", "refused"),
    [("aa", "aa", False), ("aa", "bb", True), ("", "bb", False), ("aa", "", False)],
)
def test_a_skipped_micro_batch_must_end_where_the_first_one_did(then: str, now: str, refused: bool) -> None:
    last = marker("q1/4", offsets=then)
    if refused:
        with pytest.raises(SinkRefused, match="other source offsets"):
            check_replay(job("q1/4"), last, now)
    else:
        check_replay(job("q1/4"), last, now)


# Markers


def test_a_marker_reads_back() -> None:
    written = Marker("8f0c", 12, 40, "1f2e3d4c")
    assert read_marker(written.text()) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "an offset of somebody else",
        "[1]",
        "{}",
        '{"oncelog":2,"query":"q","batch":1,"serial":1}',
        '{"oncelog":1,"query":"q","batch":"1","serial":1}',
        '{"oncelog":1,"query":"q","batch":1}',
    ],
)
def test_other_peoples_metadata_is_no_marker(text: str) -> None:
    assert read_marker(text) is None


def test_the_serial_tells_the_last_marker_of_several_queries() -> None:
    old, new = Marker("q1", 900, 41), Marker("q2", 0, 42)
    assert last_marker([new.text(), "noise", old.text()]) == new
    assert last_marker(["noise"]) is None


def test_serials_go_on_over_queries() -> None:
    assert next_marker(job("q1/0"), None, "aa") == Marker("q1", 0, 1, "aa")
    assert next_marker(job("q2/0"), Marker("q1", 900, 41), "") == Marker("q2", 0, 42, "")
    assert next_marker(job("-"), None, "") is None


# Tasks


def report(
    partition_id: int, written: dict[TopicPartition, int], *, of: str = "q1/5", epoch: int = 3
) -> Report:
    opened = Opened(Producer(ProducerId(7), ProducerEpoch(epoch)), TransactionProtocol.TV2, None)
    return Report(Task(partition_id, 0, 100 + partition_id, job(of)), opened, Verdict.WRITE, written)


def failed(partition_id: int, failure: Failure, fault: str) -> Report:
    fine = report(partition_id, {})
    return Report(fine.task, fine.opened, fine.verdict, {}, failure, fault)


T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_rows_are_counted_by_partition() -> None:
    opened, written = check_reports(job("q1/5"), [report(0, {T0: 3}), report(1, {T1: 4}), report(2, {})])
    assert opened.producer == PRODUCER
    assert written == {T0: 3, T1: 4}


def test_two_writers_of_a_partition_are_refused_and_the_helper_is_named() -> None:
    with pytest.raises(
        SinkRefused, match=r"t-0: .*Spark partition 0 .*Spark partition 1 .*oncelog\.spark\.to_topic"
    ):
        check_reports(job("q1/5"), [report(0, {T0: 3}), report(1, {T0: 3})])


@pytest.mark.parametrize(
    ("reports", "why"),
    [
        ([report(0, {T0: 3}), None], "number 1 did not say"),
        ([report(0, {T0: 3}), report(1, {T1: 3}, of="q1/4")], "wrote for micro-batch 4"),
        ([report(0, {T0: 3}), report(1, {T1: 3}, epoch=2)], "producer 7/2"),
        ([], "no task"),
    ],
)
def test_a_missing_or_foreign_report_is_refused(reports: list[Report | None], why: str) -> None:
    with pytest.raises(SinkRefused, match=why):
        check_reports(job("q1/5"), reports)


def test_a_task_that_could_not_write_is_told_by_kind_and_what_may_pass_comes_last() -> None:
    with pytest.raises(SinkFailed, match="nobody answers"):
        check_reports(job("q1/5"), [failed(0, Failure.FAILED, "nobody answers"), report(1, {T1: 1})])
    with pytest.raises(TakenOver, match="client x"):
        check_reports(job("q1/5"), [failed(0, Failure.TAKEN_OVER, "client x took over")])
    with pytest.raises(SinkRefused, match="null topic"):
        check_reports(
            job("q1/5"), [failed(0, Failure.FAILED, "attempt 1"), failed(1, Failure.REFUSED, "null topic")]
        )


def test_only_the_first_attempt_may_write() -> None:
    check_attempt(Task(0, 0, 100, job("q1/5")))
    with pytest.raises(SinkFailed, match="attempt number 1"):
        check_attempt(Task(0, 1, 104, job("q1/5")))


# Commit


SOURCE = TopicPartition("in", 2)


def opened(home: Home | None = None) -> Opened:
    return Opened(PRODUCER, TransactionProtocol.TV2, None, home)


def test_the_marker_rides_on_source_offsets_and_at_home() -> None:
    mark = Marker("q1", 5, 9, "aa")
    found = offsets_to_commit(mark, Home(T0), {T1: 4, T0: 3}, {SOURCE: 77})
    at_home = CommittedOffset(6, -1, mark.text(at_home=True))
    assert found == {SOURCE: CommittedOffset(77, -1, mark.text()), T0: at_home}
    assert read_marker(at_home.metadata) == mark


# where the one before is; rows, source offsets, topic of the options; where this one goes and what offset is there
HOMES = """
# before   written  sources  topic   home    offset
  -        t-0,t-1  -        -       t-0     new
  -        t-1      -        t       t-0     new
  -        -        in-2=77  -       in-2    77
  -        t-1      in-2=77  -       t-1     new
  -        -        -        -       -       -
  a-0      t-0      -        -       a-0     new
  a-0      t-0      -        t       a-0     new
  t-0      t-0      t-0=77   t       t-0     77
  in-2=70  t-1      -        -       in-2    70
  in-2=70  t-1      in-2=77  -       in-2    77
"""


def offsets_of(text: str) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for each in text.split(","):
        if each != "-":
            where, _, offset = each.partition("=")
            topic, _, partition = where.partition("-")
            found[TopicPartition(topic, int(partition))] = int(offset or -1)
    return found


@pytest.mark.parametrize("words", [line.split() for line in HOMES.splitlines()[2:]])
def test_a_marker_goes_where_the_one_before_it_is(words: list[str]) -> None:
    before, written, sources, topic, home, offset = words
    was = next((Home(where, None if at < 0 else at) for where, at in offsets_of(before).items()), None)
    known, rows = offsets_of(sources), offsets_of(written)
    options = SinkOptions("nowhere:1", "refunds", topic=None if topic == "-" else topic)
    found = home_of(opened(was), rows, known, options)
    assert (found and str(found.partition)) == (None if home == "-" else home)
    if found is not None:
        committed = offsets_to_commit(Marker("q1", 5, 9), found, rows, known)
        assert committed[found.partition].offset == (6 if offset == "new" else int(offset))


def test_the_home_is_known_by_the_newest_marker() -> None:
    old, new = Marker("q1", 4, 8), Marker("q1", 5, 9)
    offsets = {
        SOURCE: CommittedOffset(77, -1, new.text()),
        T1: CommittedOffset(6, -1, new.text(at_home=True)),
        T0: CommittedOffset(5, -1, old.text(at_home=True)),
        TopicPartition("x", 0): CommittedOffset(1, -1, "somebody else's"),
    }
    assert possible_homes(offsets, new) == [Home(T1), Home(SOURCE, 77)]
    assert possible_homes(offsets, None) == []


def test_nothing_written_and_no_source_leaves_no_trace() -> None:
    assert offsets_to_commit(Marker("q1", 5, 9), Home(T0), {}, {}) == {}
    assert offsets_to_commit(None, Home(T0), {T0: 4}, {}) == {}
    assert offsets_to_commit(Marker("q1", 5, 9), None, {}, {SOURCE: 5})


def test_a_marker_is_small_enough_for_offset_metadata() -> None:
    text = Marker("8f0c2a44-0000-4000-8000-000000000000", 2**62, 2**62, "0" * 16).text(at_home=True)
    assert len(text) < 256
    assert json.loads(text)["oncelog"] == 1
