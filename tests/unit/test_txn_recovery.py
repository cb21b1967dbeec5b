"""The crash matrix of spec 5.4: the broker is killed at every state of the protocol, and the log tells the rest.

One transaction writes to two partitions and moves a group's offset. Whatever it was killed at, after the restart its
data is seen once or not at all, and a client that asks again gets the answer that it missed.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import oncelog
from oncelog.client.cluster import Backoff
from oncelog.client.faults import error_name
from oncelog.model import Acks, Millis, Producer, ProducerEpoch, ProducerId, coordinator_partition
from oncelog.ports import File
from oncelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from oncelog.record.batch import batches
from oncelog.server.main import Server
from oncelog.tasks import Future, spawn
from oncelog.txn.state import State, Txn
from tests.unit.txn_world import broker_of, running, states_written
from tests.vectors.play import Partition, Target
from tests.vectors.txn_wire import Id, producers_of

V3, V5 = 3, 5  # of EndTxn: the classic protocol and KIP-890's
GROUP = "refunds-group"
CONCURRENT = "CONCURRENT_TRANSACTIONS"


class Story:
    """Two partitions, a group, and one transactional id that has something open in all three."""

    def __init__(self, target: Target, end_version: int) -> None:
        self.target = target
        self.version = end_version
        self.logs = [target.partition(), target.partition()]
        target.group_ready(GROUP).close()
        self.one = Id(target)
        one = self.one
        if end_version == V5:
            assert [one.produce(log, 0, count=2) for log in self.logs] == ["NONE @0"] * 2
            assert one.commit_offset(GROUP, self.logs[0].topic, 7, version=5) == "NONE"
        else:
            assert one.add([(log.topic, 0) for log in self.logs]) == "NONE, NONE"
            assert [one.produce(log, 0, count=2, version=9) for log in self.logs] == ["NONE @0"] * 2
            assert one.add_offsets(GROUP) == "NONE"
            assert one.commit_offset(GROUP, self.logs[0].topic, 7) == "NONE"

    def ask_end(self, *, commit: bool) -> None:
        """Sends EndTxn and awaits no answer: there may be none."""
        self.one.connection.send_only(self.one.end_request(commit=commit), self.version)

    def ask_again(self, *, commit: bool) -> str:
        """What a client does that missed the answer: the same EndTxn on a new connection, until it is not concurrent."""
        self.one.connection.close()
        backoff = Backoff(10_000, first_ms=5)
        while True:
            said = self.one.commit(version=self.version) if commit else self.one.abort(version=self.version)
            if said != CONCURRENT or not backoff.wait():
                return said

    def check(self, *, commit: bool) -> None:
        """Seen once or not at all, in every partition and in the group; nothing is open."""
        for log in self.logs:
            assert len(broker_of(self.target).read(log.topic)) == (2 if commit else 0)
            found = log.fetch(0, isolation=1)
            assert found.last_stable_offset == found.high_watermark
            assert producers_of(self.target, log.topic)[self.one.producer_id].current_txn_start_offset == -1
        assert self.offset() == ("NONE 7" if commit else "NONE -1")

    def offset(self) -> str:
        topics = [OffsetFetchRequestTopics(name=self.logs[0].topic, partition_indexes=[0])]
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=topics)], require_stable=True
        )
        with self.target.group_ready(GROUP) as connection:
            (found,) = connection.send(request, OffsetFetchResponse, 8).groups
        (partition,) = found.topics[0].partitions
        return f"{error_name(found.error_code or partition.error_code)} {partition.committed_offset}"

    def check_next(self) -> None:
        """The producer goes on with its next transaction."""
        one, log = self.one, self.logs[0]
        if self.version == V5:
            said = one.produce(log, 0)
        else:
            one.add([(log.topic, 0)])
            said = one.produce(log, 2, version=9)
        assert said.startswith("NONE"), said
        assert one.commit(version=self.version).startswith("NONE")


def markers_in(log: Partition) -> int:
    data = bytes(log.fetch(0).records or b"")
    return sum(header.is_control for _, header in batches(data))


POINTS = """
# killed at             markers in the partitions after the restart
  after_prepare         1    none had one
  before_marker         1    the same, the write was about to begin
  after_marker          12   one had, the others had not: recovery writes to all (REC-9)
  before_complete       2    all had: extra markers are legal, they take offsets
  after_complete        12   Complete may or may not have reached the disk
"""
KILLED_AT = [line.split()[:2] for line in POINTS.splitlines() if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("durability", ["process", "power"])
@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("version", [V3, V5], ids=["tv1", "tv2"])
@pytest.mark.parametrize(("point", "markers"), KILLED_AT)
def test_5_4_killed_while_a_transaction_ends_rec_9(
    point: str, markers: str, version: int, commit: bool, durability: str
) -> None:
    if point == "after_prepare":
        point = "after_prepare_commit" if commit else "after_prepare_abort"
    with running(durability=durability) as target:
        story = Story(target, version)
        broker = broker_of(target)
        fault = broker.fail(at=point)
        story.ask_end(commit=commit)
        fault.wait()
        broker.start()
        said = story.ask_again(commit=commit)
        assert said == ("NONE (P,1)" if version == V5 else "NONE")
        story.check(commit=commit)
        assert all(str(markers_in(log)) in markers for log in story.logs)
        coordinators = {
            producers_of(target, log.topic)[story.one.producer_id].coordinator_epoch for log in story.logs
        }
        assert coordinators <= (
            {0, 1} if point == "after_complete" else {1}
        )  # REC-10: the new leader's epoch
        story.check_next()
        story.one.connection.close()


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("version", [V3, V5], ids=["tv1", "tv2"])
def test_5_4_killed_while_ongoing_trap_2(version: int, commit: bool) -> None:
    with running() as target:
        story = Story(target, version)
        broker_of(target).kill()
        broker_of(target).start()
        story.one.connection.close()
        assert story.one.state().startswith("Ongoing (P,0)")
        for log in story.logs:
            assert log.fetch(0, isolation=1).last_stable_offset == 0
        assert story.offset() == "UNSTABLE_OFFSET_COMMIT -1"
        assert story.ask_again(commit=commit).startswith("NONE")
        story.one.wait()
        story.check(commit=commit)
        story.check_next()
        story.one.connection.close()


def test_5_4_partitions_added_and_no_data() -> None:
    with running() as target:
        log, one = target.partition(), Id(target)
        one.add([(log.topic, 0)])
        broker_of(target).kill()
        broker_of(target).start()
        one.connection.close()
        assert one.state() == f"Ongoing (P,0) {log.topic}-0"
        assert one.commit() == "NONE (P,1)"
        assert markers_in(log) == 1
        one.connection.close()


def test_5_4_complete_is_durable_and_nothing_is_repeated() -> None:
    with running() as target:
        story = Story(target, V5)
        assert story.one.commit() == "NONE (P,1)"
        broker_of(target).restart()
        story.one.connection.close()
        assert story.one.state() == "CompleteCommit (P,1)"
        story.check(commit=True)
        assert [markers_in(log) for log in story.logs] == [1, 1]
        states = states_written(target, story.one.name)
        assert states == ["Empty", "Ongoing", "Ongoing", "Ongoing", "PrepareCommit", "CompleteCommit"]
        story.one.connection.close()


def test_5_4_torn_marker_is_written_again(tmp_path: Path) -> None:
    with running(data_dir=tmp_path / "data") as target:
        story = Story(target, V5)
        fault = broker_of(target).fail(at="before_complete")
        story.ask_end(commit=False)
        fault.wait()
        torn = tmp_path / "data" / f"{story.logs[1].topic}-0" / f"{0:020}.log"
        whole = torn.read_bytes()
        torn.write_bytes(whole[:-7])
        broker_of(target).start()
        assert story.ask_again(commit=False) == "NONE (P,1)"
        story.check(commit=False)
        assert [markers_in(log) for log in story.logs] == [2, 1]
        story.one.connection.close()


def test_crash_before_prepare_is_durable_leaves_it_ongoing() -> None:
    """durability=power: the decision was written, not synced, and nobody was answered."""
    with running(durability="power") as target:
        story = Story(target, V5)
        broker = broker_of(target)

        def stop_syncing(server: Server) -> None:
            def never(files: Sequence[File]) -> Future[None]:
                assert files
                return Future()

            server.disk.sync = never

        broker.run(stop_syncing)
        story.ask_end(commit=True)
        time.sleep(0.2)
        broker.kill()
        broker.start()
        story.one.connection.close()
        assert story.one.state().startswith("Ongoing (P,0)")
        assert story.ask_again(commit=True) == "NONE (P,1)"
        story.check(commit=True)
        story.one.connection.close()


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("version", [V3, V5], ids=["tv1", "tv2"])
def test_an_answer_given_at_prepare_outlives_a_power_cut_tx_11(version: int, commit: bool) -> None:
    """end.txn.reply=prepared: the client was told, and not one marker was written."""
    with running({"end.txn.reply": "prepared"}, durability="power") as target:
        story = Story(target, version)
        broker = broker_of(target)
        held = broker.pause(at="before_marker")
        asked = story.one.commit(version=version) if commit else story.one.abort(version=version)
        assert asked == ("NONE (P,1)" if version == V5 else "NONE")
        held.wait()
        broker.kill()
        broker.start()
        story.one.connection.close()
        story.one.wait()
        assert (
            story.one.state() == f"Complete{'Commit' if commit else 'Abort'} (P,{1 if version == V5 else 0})"
        )
        story.check(commit=commit)
        story.check_next()
        story.one.connection.close()


def test_the_number_of_offsets_partitions_is_the_topics_not_the_settings(tmp_path: Path) -> None:
    """A start with another setting finds the topic as it was made."""
    data = tmp_path / "data"
    with running({"offsets.topic.num.partitions": 2}, data_dir=data) as target:
        target.group_ready(GROUP).close()
    with running({"offsets.topic.num.partitions": 7}, data_dir=data) as target:
        topic, one = target.topic(), Id(target)
        assert one.add_offsets(GROUP) == "NONE"
        assert one.state() == f"Ongoing (P,0) __consumer_offsets-{coordinator_partition(GROUP, 2)}"
        assert one.commit_offset(GROUP, topic) == "NONE"
        assert one.commit(version=3) == "NONE"
        one.connection.close()


@pytest.mark.parametrize("server_version", [0, 1, 2])
def test_recovery_ongoing_abort(server_version: int) -> None:
    """Seed 000's way: a start aborts what was ongoing, and its producer is fenced."""
    settings = {"recovery.ongoing": "abort", "transaction.version": server_version}
    with running(settings) as target:
        story = Story(target, V3)
        broker_of(target).kill()
        broker_of(target).start()
        story.one.connection.close()
        story.one.wait()
        assert story.one.state() == "CompleteAbort (P,1)"
        story.check(commit=False)
        assert story.one.commit(0, version=3) == "PRODUCER_FENCED"
        assert story.one.produce(story.logs[0], 2, epoch=0, version=9) == "INVALID_PRODUCER_EPOCH @-1"
        assert story.one.init() == "NONE (P,2)"
        story.one.connection.close()


@pytest.mark.parametrize(("before", "after"), [(2, 1), (2, 0), (0, 2), (1, 2)])
def test_b20_the_protocol_changes_while_a_transaction_is_ongoing(
    before: int, after: int, tmp_path: Path
) -> None:
    """Records of either version are read; the ending request decides, not the stored one (2.3)."""
    data = tmp_path / "data"
    with running({"transaction.version": before}, data_dir=data) as target:
        old = Story(target, V5 if before == 2 else V3)
        old.one.connection.close()
    with running({"transaction.version": after}, data_dir=data) as target:
        one = Id(target, name=old.one.name, start=False)
        one.holds(old.one.producer_id, old.one.epoch)
        assert one.state().startswith("Ongoing (P,0)")
        old.target, old.one = target, one
        for log in old.logs:
            log.target = target
        assert one.commit(version=V5 if after == 2 else V3).startswith("NONE")
        old.check(commit=True)
        one.connection.close()


def test_trap_11_the_last_epoch_is_forgotten_by_a_restart() -> None:
    with running() as target:
        one = Id(target)
        assert one.init((one.producer_id, 0)) == "NONE (P,1)"
        assert one.init((one.producer_id, 0)) == "NONE (P,1)"
        broker_of(target).restart()
        one.connection.close()
        assert one.init((one.producer_id, 0)) == "PRODUCER_FENCED"
        assert one.init((one.producer_id, 1)) == "NONE (P,2)"
        one.connection.close()


@pytest.mark.parametrize("end", ["kill", "restart"])
def test_trap_14_tx_18_producer_ids_are_never_given_twice(end: str) -> None:
    with running() as target:
        given = [target.producer_id() for _ in range(30)]
        given += [Id(target).producer_id for _ in range(3)]
        for _ in range(3):
            if end == "kill":
                broker_of(target).kill()
                broker_of(target).start()
            else:
                broker_of(target).restart()
            given.append(target.producer_id())
            given.append(Id(target).producer_id)
        assert len(set(given)) == len(given)
        assert [each // 1000 for each in given] == [0] * 33 + [1, 1, 2, 2, 3, 3]


def test_tx_12_rotation_is_finished_after_a_crash() -> None:
    """Prepare says (P, 32767) and the next id; Complete, written by the recovery, says (P', 0)."""
    with running() as target:
        log, one = target.partition(), Id(target)
        exhausted_by_hand(target, one)
        assert one.produce(log, 0) == "NONE @0"
        fault = broker_of(target).fail(at="after_prepare_commit")
        one.connection.send_only(one.end_request(commit=True), V5)
        fault.wait()
        broker_of(target).start()
        one.connection.close()
        one.wait()
        assert one.state() == "CompleteCommit (P',0)"
        assert one.commit(32766, producer_id=one.producers[0]) == "NONE (P',0)"
        assert len(broker_of(target).read(log.topic)) == 1
        one.connection.close()


def exhausted_by_hand(target: Target, one: Id, epoch: int = 32766) -> None:
    """The id's record with its epochs used up, in the log and by a restart in memory."""

    def write(server: Server) -> None:
        txn = server.broker.transactions.get(one.name)
        assert txn is not None
        late = Txn(
            transactional_id=one.name,
            producer=Producer(txn.producer.id, ProducerEpoch(epoch)),
            previous_producer_id=txn.producer.id,
            timeout_ms=txn.timeout_ms,
            update_ms=txn.update_ms,
        )
        spawn(server.loop, server.broker.transactions.write_record(late)).result()

    broker_of(target).run(write)
    broker_of(target).restart()
    one.connection.close()
    one.holds(one.producer_id, epoch)


def test_b16_twenty_transactions_across_the_rollover() -> None:
    with running() as target:
        log, one = target.partition(), Id(target)
        exhausted_by_hand(target, one, 32757)
        for number in range(20):
            assert one.produce(log, 0) == f"NONE @{2 * number}"
            assert one.commit().startswith("NONE (")
        assert (one.word(one.producer_id), one.epoch) == ("P'", 10)
        assert len(broker_of(target).read(log.topic)) == 20
        one.connection.close()


# ---- bounded by what is in flight, not by the size of the log


def test_100_open_transactions_are_recovered_quickly() -> None:
    with running({"transaction.state.log.num.partitions": 50}) as target:
        log = target.partition()
        ids = [Id(target) for _ in range(100)]
        for at, one in enumerate(ids):
            assert one.produce(log, 0) == f"NONE @{at}"
        broker_of(target).kill()
        took_ms = start_measured(broker_of(target))
        for one in ids:
            one.connection.close()
        assert sum(one.state().startswith("Ongoing") for one in ids) == 100
        assert log.fetch(0, isolation=1).last_stable_offset == 0
        for one in ids:
            assert one.commit() == "NONE (P,1)"
            one.connection.close()
        assert log.fetch(0, isolation=1).last_stable_offset == 200
        assert took_ms < 1_000, f"{took_ms} ms: tens of them on a machine that has nothing else to do"


def test_80_000_transactional_ids_are_loaded_within_2_s() -> None:
    """Seed 000's figure. Measured by the process's own clock, because machines that test are busy."""
    count = 80_000
    with running({"transaction.state.log.num.partitions": 50}) as target:
        Id(target).connection.close()

        def fill(server: Server) -> None:
            now = Millis(int(time.time() * 1000))
            for number in range(count):
                txn = Txn(
                    transactional_id=f"refunds-{number}",
                    producer=Producer(ProducerId(number), ProducerEpoch(1)),
                    previous_producer_id=ProducerId(number),
                    timeout_ms=60_000,
                    state=State.COMPLETE_COMMIT,
                    start_ms=now,
                    update_ms=now,
                    client_version=2,
                )
                spawn(server.loop, server.broker.transactions.write_record(txn, Acks.LEADER)).result()

        broker_of(target).run(fill)
        broker_of(target).stop()
        began = time.process_time()
        broker_of(target).start()
        took_s = time.process_time() - began
        found = broker_of(target).run(lambda server: len(list(server.broker.transactions.all())))
        assert found == count + 1
        assert took_s < 2.0, f"{took_s} s of processor time"


def start_measured(broker: oncelog.Broker) -> float:
    began = time.monotonic()
    broker.start()
    return (time.monotonic() - began) * 1000
