"""The sink's engine against a broker, without Spark: what is visible after each course of events. With ORACLE=1 on Apache Kafka too."""

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import oncelog
from oncelog.client.admin import Admin, OffsetView
from oncelog.client.cluster import Cluster
from oncelog.client.easy import create_topic, read_all
from oncelog.client.faults import AuthenticationFailed, RefusedByBroker
from oncelog.client.transactional import TransactionalId, TransactionProtocol
from oncelog.errors import ErrorCode
from oncelog.model import Producer, ProducerEpoch, TopicPartition
from oncelog.server.main import Server
from oncelog.spark.arrow import RecordBatch
from oncelog.spark.fault_points import DIRECTORY, FAULT, Injected
from oncelog.spark.progress import read_last_marker, stable_offsets
from oncelog.spark.sink_driver import SinkDriver
from oncelog.spark.sink_options import SinkFailed, SinkRefused, TakenOver, read_options
from oncelog.spark.sink_plan import Failure, Job, Verdict, read_marker
from oncelog.tasks import spawn
from tests.conformance import targets
from tests.oracle import Oracle
from tests.spark.conftest import Stage
from tests.spark.engine import Engine, numbered, rows
from tests.toolchains import Missing, leave_out
from tests.unit.test_client_security import Guarded

ABORTED = ("PrepareAbort", "CompleteAbort")  # Kafka answers while markers are being written
COMMITTED = ("PrepareCommit", "CompleteCommit")


@pytest.fixture
def engine(stage: Stage) -> Engine:
    return Engine(stage.bootstrap)


def values(first: int, stop: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, stop)]


def markers(engine: Engine) -> dict[TopicPartition, int]:
    """The offsets of the progress group; each carries a marker of our query."""
    with Cluster(engine.bootstrap) as cluster:
        found = stable_offsets(cluster, engine.name, None)
    for each in found.values():
        marker = read_marker(each.metadata)
        assert marker is not None
        assert marker.query_id == engine.query_id
    return {where: each.offset for where, each in found.items()}


def checkpoint(folder: Path, batch_id: int, *sources: str) -> str:
    """An offset log as Spark writes it."""
    (folder / "offsets").mkdir(parents=True, exist_ok=True)
    (folder / "offsets" / str(batch_id)).write_text("\n".join(["v1", "{}", *sources]))
    return str(folder)


# One transaction per micro-batch


def test_nothing_is_visible_before_the_commit_and_all_is_after_it(engine: Engine) -> None:
    opened = engine.open()
    one = engine.task(opened, 0, numbered(0, 3, partition=0), number=0)
    two = engine.task(opened, 0, numbered(3, 5, partition=1), numbered(5, 6, partition=1), number=1)
    assert one.written == {TopicPartition(engine.name, 0): 3}
    assert two.written == {TopicPartition(engine.name, 1): 3}
    assert engine.seen() == []
    engine.commit(0, one, two)
    engine.shows(values(0, 6))
    assert markers(engine) == {TopicPartition(engine.name, 0): 1}


def test_the_next_micro_batch_may_follow_without_another_init(engine: Engine) -> None:
    opened = engine.open()
    for batch_id in range(4):
        following = engine.commit(batch_id, engine.task(opened, batch_id, numbered(batch_id, batch_id + 1)))
        assert following is not None
        assert following.producer != opened.producer
        opened = following
    engine.shows(values(0, 4))


def test_a_micro_batch_that_is_in_is_computed_and_not_written(engine: Engine) -> None:
    engine.micro_batch(0, numbered(0, 3))
    opened = engine.open()
    pulled: list[int] = []

    def computed() -> Iterator[RecordBatch]:
        for number in range(3):
            pulled.append(number)
            yield numbered(number, number + 1)

    report = engine.task(opened, 0, computed())
    assert pulled == [0, 1, 2]
    assert (report.verdict, report.written) == (Verdict.SKIP, {})
    engine.commit(0, report)
    engine.micro_batch(1, numbered(3, 4))
    assert engine.seen("uncommitted") == values(0, 4)


def test_what_a_lost_driver_wrote_is_aborted_by_the_next_one(engine: Engine) -> None:
    engine.task(engine.open(), 0, numbered(0, 3))
    engine.micro_batch(0, numbered(0, 3))
    engine.shows(values(0, 3))
    assert engine.seen("uncommitted") == values(0, 3) * 2


@pytest.mark.parametrize(
    ("point", "is_in"),
    [("before_offsets", False), ("before_end_txn", False), ("after_end_txn", True)],
)
def test_a_commit_that_fails_is_aborted_unless_it_was_decided(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, is_in: bool
) -> None:
    monkeypatch.setenv(FAULT, f"{point}:raise")
    monkeypatch.setenv(DIRECTORY, str(tmp_path))
    with pytest.raises(Injected):
        engine.micro_batch(0, numbered(0, 3))
    assert engine.state() in (COMMITTED if is_in else ABORTED)
    engine.shows(values(0, 3) if is_in else [])
    engine.micro_batch(0, numbered(0, 3))
    engine.shows(values(0, 3))


def test_a_late_abort_takes_nothing_back(engine: Engine) -> None:
    opened = engine.open()
    report = engine.task(opened, 0, numbered(0, 3))
    engine.commit(0, report)
    with engine.driver() as driver:
        driver.abort([None, report])
    engine.shows(values(0, 3))
    engine.micro_batch(1, numbered(3, 4))
    engine.shows(values(0, 4))


def test_a_marker_that_is_on_its_way_is_waited_for(stage: Stage) -> None:
    # Kafka answers EndTxn before the marker is in the group; many tries, as it is a matter of milliseconds.
    for _ in range(10):
        engine = Engine(stage.bootstrap)
        engine.with_topic = False
        report = engine.task(engine.open(), 0, rows(b"0", topic=[engine.name], key=["a"]))
        engine.commit(0, report)
        with Cluster(engine.bootstrap) as cluster:
            assert read_last_marker(cluster, engine.options)[0] is not None


def test_an_empty_micro_batch_leaves_no_trace(engine: Engine) -> None:
    engine.micro_batch(0, numbered(0, 0))
    assert markers(engine) == {}
    engine.micro_batch(1, numbered(0, 1))
    engine.shows(values(0, 1))


def test_a_df_write_is_one_transaction_and_leaves_no_progress(engine: Engine) -> None:
    engine.query_id = None
    opened = engine.open()
    report = engine.task(opened, None, numbered(0, 3))
    assert engine.seen() == []
    engine.commit(None, report)
    engine.shows(values(0, 3))
    with Cluster(engine.bootstrap) as cluster:
        assert Admin(cluster).group_offsets(engine.name) == {}


def test_every_column_arrives(engine: Engine) -> None:
    batch = rows(
        b"v0",
        "v1",
        None,
        topic=[engine.name] * 3,
        key=[b"k0", None, b"k2"],
        partition=[1, 1, None],
        timestamp=[1_600_000_000_000, 1_600_000_000_001, None],
        headers=[[{"key": "h", "value": b"x"}], [], None],
        unknown=[1, 2, 3],
    )
    engine.with_topic = False
    engine.micro_batch(0, batch)
    engine.shows([None, b"v0", b"v1"], in_order=False)
    found = {record.value: record for record in read_all(engine.bootstrap, engine.name)}
    assert (found[b"v0"].key, found[b"v0"].partition, found[b"v0"].timestamp) == (b"k0", 1, 1_600_000_000_000)
    assert found[b"v0"].headers == (("h", b"x"),)
    assert (found[b"v1"].key, found[b"v1"].timestamp) == (None, 1_600_000_000_001)
    assert found[None].key == b"k2"
    assert found[None].timestamp > 1_600_000_000_001


def test_rows_of_several_topics_are_one_transaction(engine: Engine) -> None:
    other = f"{engine.name}-other"
    create_topic(engine.bootstrap, other)
    engine.with_topic = False
    opened = engine.open()
    report = engine.task(
        opened, 0, rows(b"0", b"1", b"2", topic=[engine.name, other, engine.name], key=["a"] * 3)
    )
    engine.commit(0, report)
    engine.shows([b"0", b"2"])
    engine.shows([b"1"], other)
    engine.commit(1, engine.task(engine.open(), 1, rows(b"3", topic=[other], key=["a"])))
    marker = engine.open().last
    assert marker is not None
    assert (marker.batch_id, marker.serial) == (1, 2)


# One writer per partition


def test_two_tasks_of_one_partition_are_refused_with_the_helper_s_name(engine: Engine) -> None:
    opened = engine.open()
    reports = [engine.task(opened, 0, numbered(n, n + 5), number=n) for n in (0, 5)]
    with pytest.raises(SinkRefused, match=r"one task that writes this partition.*oncelog\.spark\.to_topic"):
        engine.commit(0, *reports)
    assert engine.seen() == []
    engine.micro_batch(0, numbered(0, 10))
    engine.shows(values(0, 10))


def at_the_same_time(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, attempt_ids: tuple[int, int], count: int
) -> list[Failure | None]:
    """Two attempts of one task; both look at the end of the partition before either writes. What becomes of each."""
    ready = threading.Barrier(2, timeout=30)
    look = Admin.offsets_at

    def together(self: Admin, *words: object, **more: object) -> dict[TopicPartition, OffsetView]:
        found = look(self, *words, **more)  # pyright: ignore[reportArgumentType]  # handed on as it came
        ready.wait()
        return found

    monkeypatch.setattr(Admin, "offsets_at", together)
    opened = engine.open()
    found: dict[int, Failure | None] = {}

    def attempt(number: int) -> None:
        found[number] = engine.task(opened, 0, numbered(0, count), attempt_id=attempt_ids[number]).failure

    threads = [threading.Thread(target=attempt, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.setattr(Admin, "offsets_at", look)
    return [found[0], found[1]]


def test_attempts_that_write_at_the_same_time_find_each_other_out(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Failure.REFUSED in at_the_same_time(engine, monkeypatch, (7, 8), 1000)


def test_equal_attempts_would_be_taken_for_one_another(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Why batches have bounds of their own: with the same ones the broker drops the second attempt's without a word.
    assert at_the_same_time(engine, monkeypatch, (7, 7), 1000) == [None, None]
    assert engine.seen("uncommitted") == values(0, 1000)


def test_a_second_run_of_a_task_is_found_out_though_its_batches_are_the_same(engine: Engine) -> None:
    opened = engine.open()
    engine.task(opened, 0, numbered(0, 500), attempt_id=7)
    again = engine.task(opened, 0, numbered(0, 500), attempt_id=7)
    assert again.failure is Failure.REFUSED
    assert "had written offset 0 before this one began" in again.fault


def test_a_stage_that_runs_again_finds_its_first_run(engine: Engine) -> None:
    opened = engine.open()
    engine.task(opened, 0, numbered(0, 500))  # Spark forgets this report: a sibling's shuffle file was lost
    again = engine.task(opened, 0, numbered(0, 500))
    assert again.failure is Failure.REFUSED
    with pytest.raises(SinkRefused, match="to_topic"):
        engine.commit(0, again)
    engine.micro_batch(0, numbered(0, 500))
    engine.shows(values(0, 500))


def test_rows_of_an_attempt_that_spark_has_forgotten_are_not_committed(engine: Engine) -> None:
    opened = engine.open()
    engine.task(opened, 0, numbered(0, 5, partition=1))  # says nothing to anybody any more
    report = engine.task(opened, 0, numbered(0, 5, partition=0))
    with pytest.raises(SinkFailed, match=rf"{engine.name}-1 in it that nobody reported"):
        engine.commit(0, report)
    assert engine.seen() == []
    engine.micro_batch(0, numbered(0, 5))
    engine.shows(values(0, 5))


def test_a_second_attempt_writes_nothing(engine: Engine) -> None:
    opened = engine.open()
    report = engine.task(opened, 0, numbered(0, 3), attempt=1)
    assert engine.seen("uncommitted") == []
    with pytest.raises(SinkFailed, match="attempt number 1"):
        engine.commit(0, report)


def test_a_second_attempt_fails_with_what_failed_the_first(engine: Engine) -> None:
    """Else Spark's error would be ours, and the user's not in it."""

    def failing() -> Iterator[RecordBatch]:
        yield numbered(0, 3)
        raise ZeroDivisionError("a user's function")

    opened = engine.open()
    for attempt in range(4):
        with pytest.raises(ZeroDivisionError):
            engine.task(opened, 0, failing(), attempt=attempt)


def test_speculation_is_refused_before_anything_is_written(engine: Engine) -> None:
    opened = engine.open()
    report = engine.task(opened, 0, numbered(0, 3), copied=True)
    with pytest.raises(SinkRefused, match=r"Set spark\.speculation=false"):
        engine.commit(0, report)
    assert engine.seen("uncommitted") == []


# Who owns a transactional id


def test_a_zombie_task_writes_nothing_and_says_who_took_over(stage: Stage, engine: Engine) -> None:
    old = engine.open()
    engine.given["kafka.client.id"] = "the-other-driver"
    engine.micro_batch(0, numbered(0, 3))
    report = engine.task(old, 0, numbered(0, 3))
    assert report.failure is Failure.TAKEN_OVER
    known = (
        "Client 'the-other-driver' at 127.0.0.1:"
        if stage.name == "oncelog"
        else r"Producer \d+/\d+ holds it now"
    )
    with pytest.raises(TakenOver, match=known):
        engine.commit(0, report)
    assert engine.seen("uncommitted") == values(0, 3)


def test_a_zombie_driver_commits_nothing_and_says_who_took_over(stage: Stage, engine: Engine) -> None:
    old = engine.open()
    report = engine.task(old, 0, numbered(0, 3))
    engine.given["kafka.client.id"] = "the-other-driver"
    new = engine.open()
    known = "the-other-driver" if stage.name == "oncelog" else rf"{new.producer} holds it now"
    with pytest.raises(TakenOver, match=known):
        engine.commit(0, report)
    with engine.driver() as driver:
        driver.abort([report])  # as Spark asks for after a failed commit: it must not fence the successor
    engine.commit(0, engine.task(new, 0, numbered(0, 3)))
    engine.shows(values(0, 3))


def test_a_commit_between_the_look_and_the_init_is_seen(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The old driver commits at the last moment before it is fenced: the new one must not write that micro-batch again.
    report = engine.task(engine.open(), 0, numbered(0, 3))
    init = TransactionalId.init

    def after_the_other(self: TransactionalId) -> Producer:
        monkeypatch.setattr(TransactionalId, "init", init)
        engine.commit(0, report)
        return init(self)

    monkeypatch.setattr(TransactionalId, "init", after_the_other)
    engine.micro_batch(0, numbered(0, 3))
    engine.shows(values(0, 3))


def test_another_query_is_refused_and_fences_nobody(engine: Engine) -> None:
    engine.micro_batch(0, numbered(0, 3))
    opened = engine.open()
    engine.query_id = "q2"
    with pytest.raises(SinkRefused, match=r"belongs to query q1, whose micro-batch 0 .* this is query q2"):
        engine.open()
    engine.query_id = None
    with pytest.raises(SinkRefused, match=r"this is a df\.write"):
        engine.open()
    engine.query_id = "q1"
    engine.commit(1, engine.task(opened, 1, numbered(3, 4)))
    engine.shows(values(0, 4))


def test_a_query_may_take_over_by_naming_its_predecessor(engine: Engine) -> None:
    engine.micro_batch(7, numbered(0, 3))
    engine.query_id, engine.given["takeOver"] = "q2", "q1"
    engine.micro_batch(0, numbered(3, 6))
    engine.micro_batch(0, numbered(3, 6))  # replayed: it is its own by now
    engine.shows(values(0, 6))
    engine.query_id = "q1"
    with pytest.raises(SinkRefused, match="belongs to query q2"):
        engine.open()


def test_a_checkpoint_that_was_set_back_is_refused(engine: Engine) -> None:
    for batch_id in range(3):
        engine.micro_batch(batch_id, numbered(batch_id, batch_id + 1))
    with pytest.raises(SinkRefused, match="its checkpoint was set back"):
        engine.micro_batch(1, numbered(1, 2))
    engine.shows(values(0, 3))


def test_a_replay_with_other_offsets_is_refused(engine: Engine, tmp_path: Path) -> None:
    engine.given["checkpointLocation"] = checkpoint(tmp_path, 0, '{"nowhere":{"0":5}}')
    engine.micro_batch(0, numbered(0, 3))
    engine.micro_batch(0, numbered(0, 3))
    checkpoint(tmp_path, 0, '{"nowhere":{"0":7}}')
    with pytest.raises(SinkRefused, match="ended at other source offsets then"):
        engine.micro_batch(0, numbered(0, 7))
    engine.shows(values(0, 3))


# Source offsets


def test_source_offsets_are_of_the_transaction(engine: Engine, tmp_path: Path) -> None:
    source = Engine(engine.bootstrap, partitions=3).name
    engine.given["checkpointLocation"] = checkpoint(
        tmp_path, 0, f'{{"{source}":{{"0":5,"2":0}}}}', "-", '{"elsewhere":{"0":9}}', "12"
    )
    opened = engine.open()
    report = engine.task(opened, 0, numbered(0, 3))
    assert markers(engine) == {}
    engine.commit(0, report)
    output = TopicPartition(engine.name, 0)
    assert markers(engine) == {TopicPartition(source, 0): 5, TopicPartition(source, 2): 0, output: 1}


def test_a_source_of_another_cluster_may_have_more_partitions_of_that_name(
    engine: Engine, tmp_path: Path
) -> None:
    source = Engine(engine.bootstrap, partitions=2).name
    engine.given["checkpointLocation"] = checkpoint(tmp_path, 0, f'{{"{source}":{{"0":5,"1":6,"3":7}}}}')
    engine.micro_batch(0, numbered(0, 3))
    engine.shows(values(0, 3))
    assert TopicPartition(source, 1) in markers(engine)
    assert TopicPartition(source, 3) not in markers(engine)
    engine.given["commitOffsets"] = "true"
    checkpoint(tmp_path, 1, f'{{"{source}":{{"0":5,"1":6,"3":7}}}}')
    with pytest.raises(SinkRefused, match=rf"{source}-3 of a source: there is no such partition"):
        engine.micro_batch(1, numbered(3, 4))


def test_a_source_that_gets_more_partitions_meanwhile(engine: Engine, tmp_path: Path) -> None:
    source = Engine(engine.bootstrap, partitions=1).name
    engine.given["checkpointLocation"] = checkpoint(tmp_path, 0, f'{{"{source}":{{"0":5}}}}')
    with engine.driver() as driver:  # one for all micro-batches, as in foreachBatch
        opened = driver.open(engine.query_id)
        following = driver.commit(Job("q1", 0), [engine.task(opened, 0, numbered(0, 3))], opened)
        with Cluster(engine.bootstrap) as cluster:
            Admin(cluster).create_partitions(source, 2)
        checkpoint(tmp_path, 1, f'{{"{source}":{{"0":5,"1":4}}}}')
        assert following is not None
        driver.commit(Job("q1", 1), [engine.task(following, 1, numbered(3, 4))], following)
    engine.shows(values(0, 4))
    assert markers(engine)[TopicPartition(source, 1)] == 4


def test_source_offsets_move_on_though_nothing_is_written(engine: Engine, tmp_path: Path) -> None:
    source = Engine(engine.bootstrap).name
    engine.given["checkpointLocation"] = checkpoint(tmp_path, 0, f'{{"{source}":{{"0":5}}}}')
    engine.micro_batch(0, numbered(0, 0))
    assert markers(engine)[TopicPartition(source, 0)] == 5


def test_a_micro_batch_without_tasks_moves_the_source_on_once(engine: Engine, tmp_path: Path) -> None:
    source = Engine(engine.bootstrap).name
    engine.given["checkpointLocation"] = checkpoint(tmp_path, 0, f'{{"{source}":{{"0":5}}}}')
    for _ in range(2):
        with engine.driver() as driver:
            driver.commit(Job("q1", 0), [], driver.open("q1"))
        last = engine.open().last
        assert last is not None
        assert last.serial == 1
    with pytest.raises(SinkRefused, match="no task"):
        engine.commit(1)


def test_no_source_offsets_if_not_wanted(engine: Engine, tmp_path: Path) -> None:
    source = Engine(engine.bootstrap).name
    engine.given["checkpointLocation"] = checkpoint(tmp_path, 0, f'{{"{source}":{{"0":5}}}}')
    engine.given["commitOffsets"] = "false"
    engine.micro_batch(0, numbered(0, 1))
    assert list(markers(engine)) == [TopicPartition(engine.name, 0)]


@pytest.mark.parametrize(
    ("sources", "why"),
    [
        (None, "has no checkpointLocation"),
        ((), "offsets/0"),
        (('{"elsewhere":{"0":9}}',), "elsewhere-0 of a source: there is no such partition"),
    ],
)
def test_source_offsets_that_must_be_committed_and_cannot(
    engine: Engine, tmp_path: Path, sources: tuple[str, ...] | None, why: str
) -> None:
    engine.given["commitOffsets"] = "true"
    if sources is not None:
        engine.given["checkpointLocation"] = checkpoint(tmp_path, 0 if sources else 99, *sources)
    with pytest.raises(SinkRefused, match=why):
        engine.micro_batch(0, numbered(0, 1))
    assert engine.seen() == []


# The marker topic


@pytest.fixture
def with_marker_topic(engine: Engine) -> Engine:
    engine.given["markerTopic"] = f"{engine.name}-markers"
    create_topic(engine.bootstrap, engine.given["markerTopic"], 3, {"cleanup.policy": "compact"})
    return engine


def test_a_marker_outlives_its_group_in_the_marker_topic(with_marker_topic: Engine) -> None:
    engine = with_marker_topic
    for batch_id in range(3):
        engine.micro_batch(batch_id, numbered(batch_id, batch_id + 1))
    with Cluster(engine.bootstrap) as cluster:
        Admin(cluster).delete_group(engine.name)
    engine.micro_batch(2, numbered(2, 3))
    engine.micro_batch(3, numbered(3, 4))
    engine.shows(values(0, 4))
    found = read_all(engine.bootstrap, engine.given["markerTopic"])
    assert {record.key for record in found} == {engine.name.encode()}
    batch_ids = [
        marker.batch_id for record in found if (marker := read_marker((record.value or b"").decode()))
    ]
    assert batch_ids == [0, 1, 2, 3]


def test_without_a_marker_topic_a_lost_group_is_a_duplicate(engine: Engine) -> None:
    # What the marker topic is for: docs/spark.md says so.
    engine.micro_batch(0, numbered(0, 1))
    with Cluster(engine.bootstrap) as cluster:
        Admin(cluster).delete_group(engine.name)
    engine.micro_batch(0, numbered(0, 1))
    engine.shows(values(0, 1) * 2)


def test_markers_of_an_aborted_transaction_are_not_seen(
    with_marker_topic: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = with_marker_topic
    monkeypatch.setenv(FAULT, "before_end_txn:raise")
    monkeypatch.setenv(DIRECTORY, str(tmp_path))
    with pytest.raises(Injected):
        engine.micro_batch(0, numbered(0, 1))
    assert engine.open().last is None


def test_a_missing_marker_topic_is_refused(engine: Engine) -> None:
    engine.given["markerTopic"] = "not-there"
    with pytest.raises(SinkRefused, match="option markerTopic: topic 'not-there' does not exist"):
        engine.micro_batch(0, numbered(0, 1))
    assert engine.seen() == []


def test_rows_must_not_go_to_the_marker_topic(with_marker_topic: Engine) -> None:
    engine = with_marker_topic
    engine.with_topic = False
    name = engine.given["markerTopic"]
    every = rows(b"0", b"1", b"2", topic=[name] * 3, partition=[0, 1, 2], key=["a"] * 3)
    with pytest.raises(SinkRefused, match="for markers only"):
        engine.micro_batch(0, every)
    assert read_all(engine.bootstrap, name) == []


# Bad input: refused in a sentence, and nothing of the micro-batch is visible


def bad_rows(kind: str, name: str) -> RecordBatch:
    match kind:
        case "null topic":
            return rows(b"0", b"1", topic=[name, None])
        case "missing topic":
            return rows(b"0", b"1", topic=[name, "not-there"])
        case "wrong partition":
            return rows(b"0", b"1", topic=[name, name], partition=[0, 2])
        case "negative partition":
            return rows(b"0", b"1", topic=[name, name], partition=[0, -1])
        case "partition as text":
            return rows(b"0", b"1", topic=[name, name], partition=["0", "0"])
        case "too large for a request":
            return rows(b"0", bytes(2_000_000), topic=[name, name], partition=[0, 0])
        case "too large for the topic":
            return rows(b"0", bytes(5_000), topic=[name, name], partition=[0, 0])
        case "null key":
            return rows(b"0", b"1", topic=[name, name], partition=[0, 0], key=[b"k", None])
        case _:
            raise AssertionError(kind)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("null topic", "row 1 of the task: wanted a topic, found null"),
        ("missing topic", "topic 'not-there' does not exist"),
        ("wrong partition", "has partitions 0 to 1, found 2"),
        ("negative partition", "has partitions 0 to 1, found -1"),
        ("partition as text", "wanted whole numbers, found string"),
        (
            "too large for a request",
            r"row 1 of this task's rows for sink-\d+-bad-0: a record of \d+ bytes, max.request.size is 1048576",
        ),
        (
            "too large for the topic",
            r"row 1 of this task's rows for sink-\d+-bad-0: a record of 5\d+ bytes, max.message.bytes of topic .* is 2000",
        ),
        ("null key", "INVALID_RECORD"),
    ],
)
def test_bad_input(engine: Engine, kind: str, why: str) -> None:
    policy = {"cleanup.policy": "compact"} if kind == "null key" else {}
    small = f"{engine.name}-bad"
    create_topic(engine.bootstrap, small, 2, {"max.message.bytes": "2000", **policy})
    engine.with_topic = False
    with pytest.raises(SinkRefused, match=why):
        engine.micro_batch(0, rows(b"good", topic=[engine.name], key=["a"]), bad_rows(kind, small))
    assert engine.state() in ABORTED
    assert engine.seen() == []
    assert read_all(engine.bootstrap, small) == []
    engine.micro_batch(0, rows(b"good", topic=[engine.name], key=["a"]))
    engine.shows([b"good"])


# A topic that takes smaller record batches than others


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_small_rows_fit_a_topic_of_small_batches(engine: Engine, codec: str) -> None:
    name = f"{engine.name}-small"
    create_topic(engine.bootstrap, name, 2, {"max.message.bytes": "10000"})
    engine.with_topic, engine.given["kafka.compression.type"] = False, codec
    wanted = [b"%100d" % number for number in range(1_000)]
    engine.micro_batch(0, rows(*wanted, topic=[name] * 1_000, partition=[0] * 1_000))
    engine.shows(wanted, name)
    # A record that the codec makes small enough is none that is too large.
    large = rows(bytes(20_000), topic=[name], partition=[0])
    if codec == "none":
        with pytest.raises(SinkRefused, match=r"max\.message\.bytes of topic '.*' is 10000"):
            engine.micro_batch(1, large)
    else:
        engine.micro_batch(1, large)
        engine.shows([*wanted, bytes(20_000)], name)


def test_the_row_that_is_too_large_is_named_by_its_place_among_all_of_the_partition(engine: Engine) -> None:
    create_topic(engine.bootstrap, f"{engine.name}-small", 2, {"max.message.bytes": "2000"})
    engine.given["topic"] = f"{engine.name}-small"
    opened = engine.open()
    large = rows(*[b"v"] * 40, b"v" * 3_000, b"v", partition=[0] * 42)
    report = engine.task(opened, 0, numbered(0, 300), numbered(0, 7, partition=1), large, attempt_id=1_000)
    assert report.failure is Failure.REFUSED
    assert f"row 340 of this task's rows for {engine.given['topic']}-0: a record of 30" in report.fault


def test_the_limit_of_a_topic_is_asked_once_for_many_micro_batches(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    ask = Admin.values_of_topics

    def counted(self: Admin, setting: str, names: Sequence[str]) -> dict[str, str]:
        asked.append(list(names))
        return ask(self, setting, names)

    monkeypatch.setattr(Admin, "values_of_topics", counted)
    for batch_id in range(4):
        engine.micro_batch(
            batch_id, numbered(batch_id, batch_id + 1), numbered(batch_id, batch_id + 1, partition=1)
        )
    assert asked == [[engine.name]]


def test_a_limit_that_was_raised_holds_at_once(engine: Engine) -> None:
    with Cluster(engine.bootstrap) as cluster:
        Admin(cluster).set_topic_settings(engine.name, {"max.message.bytes": "2000"})
        large = rows(bytes(5_000), partition=[0])
        with pytest.raises(SinkRefused, match="is 2000"):
            engine.micro_batch(0, large)
        engine.micro_batch(0, numbered(0, 1))  # 2000 is known again
        Admin(cluster).set_topic_settings(engine.name, {"max.message.bytes": "20000"})
    engine.micro_batch(1, large)
    engine.shows([b"0", bytes(5_000)])


def test_who_may_not_ask_for_the_limit_is_told_what_the_broker_refused(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> dict[str, str]:
        raise RefusedByBroker(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "DescribeConfigs", "the broker")

    monkeypatch.setattr(Admin, "values_of_topics", refused)
    engine.micro_batch(0, numbered(0, 1))
    with Cluster(engine.bootstrap) as cluster:
        Admin(cluster).set_topic_settings(engine.name, {"max.message.bytes": "2000"})
    with pytest.raises(SinkRefused, match=r"MESSAGE_TOO_LARGE.* may not ask for that"):
        engine.micro_batch(1, rows(bytes(5_000), partition=[0]))
    engine.shows([b"0"])


def test_the_output_topic_must_be_there_before_anybody_is_fenced(engine: Engine) -> None:
    opened = engine.open()
    engine.given["topic"] = "not-there"
    with pytest.raises(SinkRefused, match="option topic: topic 'not-there' does not exist"):
        engine.open()
    del engine.given["topic"]
    engine.commit(0, engine.task(opened, 0, numbered(0, 1)))
    engine.shows(values(0, 1))


def test_a_listener_without_sasl_is_said_so_at_once(engine: Engine) -> None:
    engine.given |= {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.username": "ann",
        "kafka.sasl.password": "open sesame",
    }
    with pytest.raises(
        AuthenticationFailed, match=r"SaslHandshake for PLAIN: broker .* answered ILLEGAL_SASL_STATE"
    ) as caught:
        engine.open()
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_wrong_credentials_are_said_at_once(mechanism: str) -> None:
    with Guarded(None, (mechanism,)) as broker:
        options = read_options(
            {
                "kafka.bootstrap.servers": broker.bootstrap,
                "transactionalId": "copy",
                "topic": "t",
                "kafka.security.protocol": "SASL_PLAINTEXT",
                "kafka.sasl.mechanism": mechanism,
                "kafka.sasl.username": "alice",
                "kafka.sasl.password": "swordfish",
            }
        )
        said = f"SASL {mechanism} as 'alice': .*failed: no"
        with SinkDriver(options) as driver, pytest.raises(AuthenticationFailed, match=said) as caught:
            driver.open("q1")
    assert "swordfish" not in str(caught.value)


def test_a_timeout_beyond_the_broker_s_limit_is_said_so(engine: Engine) -> None:
    engine.given["kafka.transaction.timeout.ms"] = "900001"
    with pytest.raises(SinkRefused, match=r"900001 is more than the broker's transaction\.max\.timeout\.ms"):
        engine.open()


def test_a_fault_of_whoever_computes_the_rows_is_not_ours_to_report(engine: Engine) -> None:
    def failing() -> Iterator[RecordBatch]:
        yield numbered(0, 3)
        raise ZeroDivisionError("a user's function")

    opened = engine.open()
    with pytest.raises(ZeroDivisionError):
        engine.task(opened, 0, failing())
    with engine.driver() as driver:
        driver.abort_opened(opened)
    assert engine.seen() == []
    engine.micro_batch(0, numbered(0, 3))
    engine.shows(values(0, 3))


def test_the_job_of_every_report_is_compared(engine: Engine) -> None:
    opened = engine.open()
    report = engine.task(opened, 0, numbered(0, 3))
    with engine.driver() as driver, pytest.raises(SinkRefused, match="micro-batch 1"):
        driver.commit(Job(engine.query_id, 1), [report])
    assert engine.seen() == []


# What only an embedded broker can be made to do


def test_a_commit_whose_answer_is_lost_is_in_once(broker: oncelog.Broker) -> None:
    engine = Engine(broker.bootstrap)
    opened = engine.open()
    report = engine.task(opened, 0, numbered(0, 3))
    broker.drop_reply("EndTxn", transactional_id=engine.name)
    engine.commit(0, report)
    engine.micro_batch(1, numbered(3, 4))
    engine.shows(values(0, 4))


def test_strangers_are_found_though_the_first_answer_about_them_is_lost(broker: oncelog.Broker) -> None:
    engine = Engine(broker.bootstrap)
    opened = engine.open()
    engine.task(opened, 0, numbered(0, 5, partition=1))  # says nothing to anybody any more
    report = engine.task(opened, 0, numbered(0, 5, partition=0))
    broker.drop_reply("DescribeTransactions")
    with pytest.raises(SinkFailed, match="in it that nobody reported"):
        engine.commit(0, report)
    assert engine.seen() == []


def test_a_produce_whose_answer_is_lost_is_in_once(broker: oncelog.Broker) -> None:
    engine = Engine(broker.bootstrap)
    opened = engine.open()
    broker.drop_reply("Produce", transactional_id=engine.name)
    engine.commit(0, engine.task(opened, 0, numbered(0, 500)))
    assert engine.seen("uncommitted") == values(0, 500)


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_a_broker_that_comes_back_finds_the_transaction(broker: oncelog.Broker, how: str) -> None:
    engine = Engine(broker.bootstrap)
    opened = engine.open()
    one = engine.task(opened, 0, numbered(0, 3), number=0)
    if how == "kill":
        broker.kill()
        broker.start()
    else:
        broker.restart()
    two = engine.task(opened, 0, numbered(3, 6, partition=1), number=1)
    engine.commit(0, one, two)
    engine.shows(values(0, 6))


def test_a_micro_batch_that_outlives_its_timeout_is_said_so() -> None:
    with oncelog.Broker(virtual_clock=True) as broker:
        engine = Engine(broker.bootstrap, given={"kafka.transaction.timeout.ms": "60000"})
        opened = engine.open()
        report = engine.task(opened, 0, numbered(0, 3))
        broker.clock.advance(seconds=120)
        with pytest.raises(SinkFailed, match=r"longer than kafka\.transaction\.timeout\.ms=60000"):
            engine.commit(0, report)
        engine.micro_batch(0, numbered(0, 3))
        engine.shows(values(0, 3))


@contextmanager
def of_version(kind: str, version: int) -> Generator[str]:
    """A broker whose transactions are of that version: its address."""
    if kind == "kafka":
        try:
            with Oracle(features={"transaction.version": version}) as kafka:
                yield kafka.bootstrap
        except Missing as why:
            leave_out("an Apache Kafka of an older transaction version", why)
    else:
        with oncelog.Broker(settings={"transaction.version": version}) as broker:
            yield broker.bootstrap


@pytest.mark.parametrize("kind", targets.chosen())
def test_the_old_protocol_tv1(kind: str) -> None:
    with of_version(kind, 1) as bootstrap:
        engine = Engine(bootstrap)
        opened = engine.open()
        assert opened.protocol is TransactionProtocol.TV1
        engine.task(opened, 0, numbered(0, 3))
        engine.micro_batch(0, numbered(0, 3), numbered(3, 6, partition=1))
        engine.micro_batch(0, numbered(0, 3), numbered(3, 6, partition=1))
        report = engine.task(engine.open(), 1, numbered(6, 7, partition=1))
        # Its epoch stays: only another InitProducerId keeps late requests out.
        assert engine.commit(1, report) is None
        engine.shows(values(0, 7))
        old = engine.open()
        engine.micro_batch(2, numbered(7, 8))
        assert engine.task(old, 2, numbered(7, 8)).failure is Failure.TAKEN_OVER


LAST_EPOCH = 32_766  # that a client may hold


def bring_to_epoch(broker: oncelog.Broker, transactional_id: str, epoch: int) -> None:
    """Writes the id's state record, as if so many transactions had been, and lets the broker read it."""

    def write(server: Server) -> None:
        txn = server.broker.transactions.get(transactional_id)
        assert txn is not None
        aged = txn._replace(producer=Producer(txn.producer.id, ProducerEpoch(epoch)))
        spawn(server.loop, server.broker.transactions.write_record(aged)).result()

    broker.run(write)
    broker.restart()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("left", range(4))
def test_epochs_that_are_used_up_are_an_ordinary_path(version: int, left: int) -> None:
    with oncelog.Broker(settings={"transaction.version": version}) as broker:
        engine = Engine(broker.bootstrap)
        first = engine.open().producer
        bring_to_epoch(broker, engine.name, LAST_EPOCH - left)
        producers: set[int] = set()
        following = None
        for batch_id in range(6):
            opened = following or engine.open()
            producers.add(opened.producer.id)
            report = engine.task(opened, batch_id, numbered(batch_id, batch_id + 1))
            assert report.failure is None, report.fault
            following = engine.commit(batch_id, report)
            if batch_id == 3:
                following = None  # a restart of the driver
        assert len(producers | {first.id}) > 1
        engine.micro_batch(5, numbered(5, 6))  # replayed
        engine.shows(values(0, 6))
