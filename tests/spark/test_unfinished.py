"""A decided transaction without its markers, as Apache Kafka 4.3.1 leaves it when a partition has no leader at that moment.

Here a coordinator of ours is made to believe that partitions are gone, which has the same effect: Complete in the log, no marker.
"""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

import oncelog
from oncelog.broker.transactions import TransactionCoordinator
from oncelog.cli.main import main
from oncelog.client import unfinished
from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.easy import create_topic
from oncelog.client.faults import RefusedByBroker
from oncelog.client.transactional import TransactionProtocol
from oncelog.client.unfinished import NothingToFinish
from oncelog.errors import ErrorCode
from oncelog.model import CONSUMER_OFFSETS, TopicPartition
from oncelog.spark import finishing
from oncelog.spark.sink_options import SinkFailed, Unfinished
from oncelog.spark.sink_plan import Failure
from oncelog.txn.state import Txn
from tests.oracle import Oracle
from tests.spark.engine import Engine, numbered, rows

Gone = Callable[[TopicPartition], bool]


@pytest.fixture
def engine(broker: oncelog.Broker, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(finishing, "MARKERS_WAIT_MS", 500)
    return Engine(broker.bootstrap, given={"kafka.request.timeout.ms": "3000"})


@contextmanager
def taken_for_deleted(gone: Gone) -> Generator[None]:
    """While this lasts, coordinators write no marker into these partitions, and go on to Complete."""
    as_it_was = vars(TransactionCoordinator)["_end_partition"]

    async def skip(
        self: TransactionCoordinator, where: TopicPartition, prepared: Txn, left: dict[TopicPartition, None]
    ) -> ErrorCode:
        if gone(where):
            del left[where]
            return ErrorCode.NONE
        return await as_it_was(self, where, prepared, left)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionCoordinator, "_end_partition", skip)
        yield


def committed_without(engine: Engine, gone: Gone, batch_id: int = 0) -> None:
    """A micro-batch of three rows in each partition, decided; these partitions have no marker."""
    first = 6 * batch_id
    with taken_for_deleted(gone):
        engine.micro_batch(batch_id, numbered(first, first + 3), numbered(first + 3, first + 6, partition=1))
        with Cluster(engine.bootstrap) as cluster:  # EndTxn is answered before Complete is in the log
            while engine.state() != "CompleteCommit":
                pass
            assert [each.where for each in unfinished.missing(cluster, engine.name)] != []


def everywhere(_: TopicPartition) -> bool:
    return True


def in_one_partition(where: TopicPartition) -> bool:
    return where.topic != CONSUMER_OFFSETS and where.partition == 1


def values(stop: int) -> list[bytes]:
    return [b"%d" % number for number in range(stop)]


# The sink


def test_the_next_driver_finishes_what_was_decided(engine: Engine) -> None:
    committed_without(engine, everywhere)
    assert engine.seen() == []
    opened = engine.open()
    assert opened.last is not None
    assert opened.last.batch_id == 0
    engine.shows(values(6))
    engine.micro_batch(1, numbered(6, 7))
    engine.shows(values(7), in_order=False)


@pytest.mark.parametrize("before", ["a marker of another topic", "an offset that is no marker"])
def test_a_marker_on_its_way_is_not_overlooked_for_what_the_group_has_besides(
    engine: Engine, before: str
) -> None:
    """Rows have a column topic: a micro-batch may write other topics than the one before it."""
    other = f"{engine.name}-other"
    create_topic(engine.bootstrap, other)
    engine.with_topic = False
    if before == "an offset that is no marker":
        with Cluster(engine.bootstrap) as cluster:
            Admin(cluster).commit_offsets(engine.name, {TopicPartition(other, 0): 5})
    else:
        engine.micro_batch(0, rows(b"0", topic=[other], key=["a"]))
        assert engine.open().last is not None  # its marker is there
    with taken_for_deleted(lambda where: where.topic == CONSUMER_OFFSETS):
        engine.micro_batch(1, rows(b"1", topic=[engine.name], key=["a"]))
        while engine.state() != "CompleteCommit":
            pass
    engine.micro_batch(1, rows(b"1", topic=[engine.name], key=["a"]))
    engine.shows([b"1"])
    assert engine.seen("uncommitted") == [b"1"]


def test_rows_that_were_committed_do_not_go_with_a_later_abort(engine: Engine) -> None:
    """The marker of the offsets was written, that of one partition was not. Whoever writes there next joins the old transaction."""
    committed_without(engine, in_one_partition)
    engine.shows(values(3))
    opened = engine.open()
    refused = engine.task(opened, 1, numbered(6, 9, partition=1), number=1)
    assert (refused.failure, refused.written) == (Failure.UNFINISHED, {})
    with pytest.raises(Unfinished, match=rf"{engine.name}-1: an earlier transaction .* has no marker there"):
        engine.commit(1, engine.task(opened, 1, numbered(9, 10)), refused)
    engine.shows(values(6))
    engine.micro_batch(1, numbered(9, 10), numbered(6, 9, partition=1))
    engine.shows(values(10), in_order=False)


def test_a_sink_that_may_not_write_markers_says_what_to_do(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed_without(engine, everywhere)

    def refuse(*_: object, **__: object) -> None:
        raise RefusedByBroker(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "WriteTxnMarkers", "broker b:1")

    with monkeypatch.context() as patch:
        patch.setattr(Admin, "write_marker", refuse)
        with pytest.raises(
            SinkFailed, match=f"UNSTABLE_OFFSET_COMMIT.*`oncelog txn finish {engine.name}`.*Do not abort"
        ):
            engine.open()
    assert engine.seen() == []


def test_a_partition_that_another_producer_holds_is_no_reason_to_wait(engine: Engine) -> None:
    other = Engine(engine.bootstrap, given={"topic": engine.name})
    other.task(other.open(), 0, numbered(100, 101, partition=1))
    engine.micro_batch(0, numbered(0, 3), numbered(3, 6, partition=1))
    assert engine.seen() == values(3)  # the other one holds partition 1
    engine.micro_batch(1, numbered(6, 7, partition=1))


def test_who_may_not_ask_for_producers_writes_nevertheless(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Engine(engine.bootstrap, given={"topic": engine.name})
    other.task(other.open(), 0, numbered(100, 101, partition=1))

    def refuse(*_: object, **__: object) -> None:
        raise RefusedByBroker(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "DescribeProducers", "broker b:1")

    monkeypatch.setattr(Admin, "open_transactions", refuse)
    engine.micro_batch(0, numbered(3, 6, partition=1))


def test_markers_that_are_on_their_way_are_waited_for(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed_without(engine, in_one_partition)
    opened = engine.open()
    asked: list[int] = []
    as_it_was = Admin.open_transactions

    def finish_meanwhile(self: Admin, partitions: object) -> object:
        asked.append(1)
        if len(asked) == 2:
            with Cluster(engine.bootstrap) as cluster:
                unfinished.finish(cluster, engine.name)
        return as_it_was(self, partitions)  # pyright: ignore[reportArgumentType]  # passed on as it came

    monkeypatch.setattr(Admin, "open_transactions", finish_meanwhile)
    with Cluster(engine.bootstrap) as cluster:
        ends = {TopicPartition(engine.name, 1): 3}
        assert not finishing.unfinished_in(cluster, opened.producer, ends)
    assert len(asked) > 2


# What is proved


def test_a_decided_abort_is_finished_as_an_abort(engine: Engine) -> None:
    with taken_for_deleted(everywhere):
        opened = engine.open()
        engine.task(opened, 0, numbered(0, 3))
        with engine.driver() as driver:
            driver.abort_opened(opened)
        while engine.state() != "CompleteAbort":
            pass
    with Cluster(engine.bootstrap) as cluster:
        (found,) = unfinished.finish(cluster, engine.name)
        assert (found.where, found.decision.commit) == (TopicPartition(engine.name, 0), False)
    engine.micro_batch(0, numbered(3, 4))
    engine.shows(values(4)[3:])


def test_offsets_are_finished_last(engine: Engine) -> None:
    committed_without(engine, everywhere)
    with Cluster(engine.bootstrap) as cluster:
        topics = [each.where.topic for each in unfinished.finish(cluster, engine.name)]
    assert topics == [engine.name, engine.name, CONSUMER_OFFSETS]


def test_the_owner_of_the_epoch_is_fenced_before_its_markers_are_written(engine: Engine) -> None:
    with taken_for_deleted(everywhere):
        following = engine.micro_batch(0, numbered(0, 3))
        while engine.state() != "CompleteCommit":
            pass
    assert following is not None
    with Cluster(engine.bootstrap) as cluster:
        unfinished.finish(cluster, engine.name)
    late = engine.task(following, 1, numbered(3, 4))
    assert late.failure is Failure.TAKEN_OVER
    engine.shows(values(3))


def test_nothing_is_finished_while_a_transaction_is_under_way(engine: Engine) -> None:
    committed_without(engine, in_one_partition)
    opened = engine.open()
    engine.task(opened, 1, numbered(6, 7))
    with Cluster(engine.bootstrap) as cluster:
        assert [each.where.partition for each in unfinished.missing(cluster, engine.name)] == [1]
        with pytest.raises(NothingToFinish, match="wanted a transaction that has ended, found Ongoing"):
            unfinished.finish(cluster, engine.name)


def test_of_the_older_protocol_nothing_is_claimed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """There many transactions share an epoch: what is open may be a later one."""

    def tv1(_: Cluster) -> TransactionProtocol:
        return TransactionProtocol.TV1

    monkeypatch.setattr("oncelog.client.transactional.protocol_of", tv1)
    with taken_for_deleted(everywhere):
        engine.micro_batch(0, numbered(0, 3))
        while engine.state() != "CompleteCommit":
            pass
    with Cluster(engine.bootstrap) as cluster:
        assert unfinished.decisions(cluster, engine.name) == []
        with pytest.raises(NothingToFinish, match="none of its decided transactions is open"):
            unfinished.finish(cluster, engine.name)
    with pytest.raises(SinkFailed, match=r"UNSTABLE_OFFSET_COMMIT.*`oncelog txn stuck` says who"):
        engine.open()


# The commands


def test_the_commands_finish_and_never_abort_what_was_committed(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    committed_without(engine, everywhere)
    where = ["--bootstrap", engine.bootstrap]
    assert main(["txn", "stuck", *where]) == 1
    said = capsys.readouterr()
    assert f"to do it now: oncelog txn finish {engine.name}" in said.err
    assert "txn abort" not in said.err
    assert (
        main(["txn", "abort", "--partition", f"{engine.name}-0", "--start-offset", "0", "--yes", *where]) == 1
    )
    assert f"Finish it: oncelog txn finish {engine.name}" in capsys.readouterr().err
    assert main(["txn", "finish", engine.name, *where]) == 1
    assert "nothing was done; --yes" in capsys.readouterr().err
    assert engine.seen() == []
    assert main(["txn", "finish", engine.name, "--yes", *where]) == 0
    said = capsys.readouterr()
    assert f"{engine.name}-1: committed, without a marker from offset 0 on" in said.err
    assert said.out.count("COMMIT") == 3
    engine.shows(values(6))
    assert main(["txn", "finish", engine.name, "--yes", "--json", *where]) == 1
    assert '"finished":[]' in capsys.readouterr().out.replace(" ", "")
    assert main(["txn", "finish", "nobody", "--yes", *where]) == 1


# Apache Kafka itself

KILLS = 5


@pytest.mark.needs_oracle
@pytest.mark.timeout(600)
def test_apache_kafka_killed_right_after_end_txn_loses_no_markers_for_long(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether it loses them is a race; with or without, each micro-batch is there once, and the next driver goes on."""
    small = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}
    with Oracle(small, data_dir=tmp_path / "kafka") as kafka:
        engine = Engine(kafka.bootstrap, given={"kafka.request.timeout.ms": "5000"})
        for batch_id in range(KILLS):
            first = 2 * batch_id
            engine.micro_batch(
                batch_id, numbered(first, first + 1), numbered(first + 1, first + 2, partition=1)
            )
            kafka.kill()
            kafka.start()
            last = engine.open().last
            assert last is not None
            assert last.batch_id == batch_id
            engine.shows(values(first + 2), in_order=False)
    finished = sum(each.message.startswith("sink.finished") for each in caplog.records)
    sys.stderr.write(f"\nmarkers were missing after {finished} of {KILLS} kills\n")
