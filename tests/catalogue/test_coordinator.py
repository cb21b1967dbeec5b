"""The transaction coordinator's bugs of the catalogue: late requests, markers, epochs, expiry, restarts (B and R rows)."""

from collections.abc import Iterator
from typing import Any

import pytest

from oncelog.engine.port import Appended, Refused
from oncelog.errors import ErrorCode, StorageFault
from oncelog.model import TRANSACTION_STATE, Acks, Millis, Origin, Producer, ProducerEpoch, ProducerId
from oncelog.record.batch import BatchHeader, NewRecord, batches, build_batch, records_of
from oncelog.record.txn_state import TransactionKey, decode_value, encode_key
from oncelog.tasks import Future, resolved
from oncelog.txn.state import State
from oncelog.txn.state import Txn as Stored
from oncelog.txn.stored import encode_txn
from tests.catalogue.client import Txn, added, committed, offset_of, wrote
from tests.catalogue.stage import DAY_MS, Closed, Down, Refusing, Stage, stand_in

COMPLETE = (State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
FENCED = ("INVALID_PRODUCER_EPOCH @-1", "PRODUCER_FENCED", "PRODUCER_FENCED")
POINTS_AFTER_THE_DECISION = (
    "after_prepare_commit",
    "before_marker",
    "after_marker",
    "before_complete",
    "after_complete",
)


def stage_with_topic(partitions: int = 2, settings: dict[str, str] | None = None, *, seed: int = 0) -> Stage:
    stage = Stage(settings, seed=seed)
    stage.topic(partitions=partitions)
    return stage


def at_epoch(stage: Stage, one: Txn, epoch: int) -> None:
    """The id has used up its epochs up to this one, and the coordinator read so from its log."""
    txn = stage.broker.transactions.get(one.name)
    assert txn is not None
    last = txn._replace(producer=Producer(txn.producer.id, ProducerEpoch(epoch)))
    assert stage.run(stage.broker.transactions.write_record(last)) is ErrorCode.NONE
    stage.restart()
    one.holds(one.producer_id, epoch)


def statuses(batch: bytes) -> list[int]:
    """The states that a batch for __transaction_state holds."""
    found: list[int] = []
    for at, header in batches(batch):
        for record in records_of(batch[at : at + header.size], header):
            value = None if record.value is None else decode_value(record.value)
            found.append(State.DEAD if value is None else value.status)
    return found


# --- requests that come too late


def test_b1_kafka_17754_late_endtxn_of_the_classic_protocol() -> None:
    """The copy that was delayed on the first connection ends nothing; the same request on the new one does."""
    stage = stage_with_topic()
    one = Txn(stage)
    one.add(("t", 0))
    one.produce("first", version=9)
    late = one.end_request(commit=True)  # is on its way, and takes long
    one.connection = 2
    assert one.commit(version=3) == "NONE"
    one.add(("t", 0))
    one.produce("second", version=9)
    one.connection = 1
    assert one.said(one.send(late, 3)).startswith("CONCURRENT_TRANSACTIONS")
    assert one.state() == "Ongoing 0/0"
    one.connection = 2
    assert one.abort(version=3) == "NONE"
    assert stage.values() == ["first"]


def speak_classic(one: Txn, value: str, commit: bool = True) -> list[str]:
    """A whole transaction of the classic protocol, each API once."""
    said = [one.add(("t", 0)), one.produce(value, version=9), one.add_offsets("g")]
    said.append(one.commit_offset("g", 1, version=3))
    return [*said, one.commit(version=3) if commit else one.abort(version=3)]


def test_b1_the_guard_and_a_zombie_on_a_newer_connection_than_its_successors() -> None:
    """Decision 0010: same client id, same host. What the zombie says is refused, and counts for nothing."""
    stage = stage_with_topic()
    zombie = Txn(stage)
    assert speak_classic(zombie, "first")[-1] == "NONE"
    successor = Txn(stage, start=False)
    successor.connection = 2
    assert successor.init() == "NONE 0/1"
    zombie.connection = 3  # its old one was idle for too long
    for number in range(2):
        refused = speak_classic(zombie, "zombie")
        assert "NONE" not in " ".join(refused), refused
        assert speak_classic(successor, f"next {number}")[-1] == "NONE"
    assert stage.values() == ["first", "next 0", "next 1"]
    assert stage.broker.latecomers.refused == 0


def test_b1_the_guard_and_a_successor_on_an_older_connection_than_its_predecessors() -> None:
    """It was connected first and took over last: a standby, say."""
    stage = stage_with_topic()
    predecessor, standby = Txn(stage, start=False), Txn(stage, start=False)
    predecessor.connection, standby.connection = 2, 1
    assert standby.state() == "TRANSACTIONAL_ID_NOT_FOUND"
    for number in range(2):
        for one in (predecessor, standby):
            assert one.init().startswith("NONE")
            assert speak_classic(one, f"{one.connection} {number}")[-1] == "NONE"
    assert stage.values() == ["2 0", "1 0", "2 1", "1 1"]


def test_b1_kafka_17754_late_endtxn_under_kip_890() -> None:
    stage = stage_with_topic()
    one = Txn(stage)
    one.produce("first")
    late = one.end_request(commit=True)
    assert one.commit() == "NONE 0/1"
    one.produce("second")
    assert one.said(one.send(late, 5)) == "PRODUCER_FENCED"
    assert one.abort() == "NONE 0/2"
    assert stage.values() == ["first"]


@pytest.mark.parametrize("version", [3, 5])
def test_b1_a_late_txn_offset_commit_does_not_put_the_group_back(version: int) -> None:
    """Decision 0010: within one transaction no epoch tells the copy from what its client has committed since."""
    stage = stage_with_topic()
    one = Txn(stage)
    one.produce("first")
    if version < 5:
        assert one.add_offsets("g") == "NONE"
    late = one.offsets_request("g", [(0, 7, "")])  # is on its way, and takes long
    one.connection = 2
    assert one.commit_offset("g", 7, version=version) == "NONE"
    assert one.commit_offset("g", 9, version=version) == "NONE"
    one.connection = 1
    assert committed(one.send(late, version)) == "CONCURRENT_TRANSACTIONS"
    one.connection = 2
    assert one.commit().startswith("NONE")
    assert offset_of(stage, "g") == "NONE 9"


@pytest.mark.parametrize("version", [9, 11, 12])
def test_b2_kafka_14402_a_produce_after_the_abort_opens_nothing(version: int) -> None:
    """KAFKA-14402, KAFKA-14561: nobody would ever end what it opened."""
    stage = stage_with_topic()
    one = Txn(stage)
    one.add(("t", 0))
    assert one.produce("first", version=9) == "NONE @0"
    late = one.produce_request("late")
    assert one.abort(version=5 if version == 12 else 3).startswith("NONE")
    said = wrote(one.send(late, version))
    assert said in ("INVALID_TXN_STATE @-1", "TRANSACTION_ABORTABLE @-1", "INVALID_PRODUCER_EPOCH @-1")
    assert stage.open_transactions() == []
    assert stage.part().last_stable_offset == stage.part().high_watermark
    assert stage.values() == []


def test_b3_kafka_14884_an_abort_between_verification_and_append_classic() -> None:
    """The coordinator said yes, then the marker landed: the append looks again under the same lock."""
    stage = stage_with_topic()
    one = Txn(stage)
    one.add(("t", 0))
    verify = stage.broker.transactions.verify

    def verify_and_lose_the_race(*asked: Any) -> Any:
        answer = verify(*asked)
        assert set(answer.values()) == {ErrorCode.NONE}
        marker = stage.part().append_marker(
            producer_id=one.producer_id,
            producer_epoch=one.epoch,
            coordinator_epoch=0,
            commit=False,
            transaction_version=0,
        )
        assert isinstance(marker.result(), Appended)
        return answer

    stand_in(stage.broker.transactions, "verify", verify_and_lose_the_race)
    assert one.produce("late", version=9) == "INVALID_TXN_STATE @-1"
    assert stage.open_transactions() == []


def test_b3_kafka_14884_an_abort_between_the_implicit_add_and_the_append() -> None:
    stage = stage_with_topic()
    one = Txn(stage)
    add = stage.broker.transactions.add_partitions

    async def add_and_lose_the_race(*asked: Any) -> ErrorCode:
        answer = await add(*asked)
        fenced = await one.begin(one.init_request(), 5)  # another instance
        assert (answer, fenced.error_code) == (ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS)
        return answer

    stand_in(stage.broker.transactions, "add_partitions", add_and_lose_the_race)
    assert one.produce("late") == "INVALID_PRODUCER_EPOCH @-1"
    assert stage.open_transactions() == []
    assert one.state() == "CompleteAbort 0/1"


def test_b4_kafka_14904_a_verification_while_another_partition_is_added() -> None:
    """The batch is answered yes, not CONCURRENT_TRANSACTIONS: a retry would be overtaken by the next batch."""
    stage = stage_with_topic(settings={"durability": "power"})
    one = Txn(stage)
    one.add(("t", 0))
    adding = one.begin(one.add_request(("t", 1)), 3)
    assert not adding.done()
    writing = one.begin(one.produce_request("a"), 9)
    following = one.begin(one.produce_request("b"), 9)
    assert added(stage.run(adding)) == "NONE"
    assert [wrote(stage.run(each)) for each in (writing, following)] == ["NONE @0", "NONE @1"]


def test_b14_kafka_18227_a_client_that_turns_to_kip_890_in_the_middle() -> None:
    """Both partitions belong to the one transaction, its end bumps the epoch, and the old way in is shut."""
    stage = stage_with_topic()
    one = Txn(stage)
    one.add(("t", 0))
    one.produce("old way", version=9)
    late = one.produce_request("late")
    assert one.produce("new way", partition=1) == "NONE @0"
    assert one.state() == "Ongoing 0/0"
    assert stage.values() == stage.values(index=1) == []
    assert one.commit() == "NONE 0/1"
    assert wrote(one.send(late, 9)) == "INVALID_PRODUCER_EPOCH @-1"
    assert (stage.values(), stage.values(index=1)) == (["old way"], ["new way"])
    assert stage.open_transactions() == stage.open_transactions(index=1) == []


def test_b35_kafka_6119_a_timed_out_producer_of_the_classic_protocol_is_fenced() -> None:
    """Without the bump its next write would join a transaction that nobody began."""
    stage = stage_with_topic(settings={"transaction.version": "1"})
    one = Txn(stage, timeout_ms=5_000)
    one.add(("t", 0))
    one.produce("slow", version=9)
    stage.settle(16_000)
    assert one.state() == "CompleteAbort 0/1"
    said = (one.produce("late", version=9), one.add(("t", 0)), one.commit(version=3))
    assert said == FENCED
    assert stage.values() == []
    assert one.init() == "NONE 0/2"


# --- one transaction after the other


@pytest.mark.parametrize("point", ["before_marker", "before_complete"])
def test_b9_kafka_16352_a_slow_end_does_not_touch_the_next_transaction(point: str) -> None:
    stage = stage_with_topic(settings={"end.txn.reply": "prepared"})
    one = Txn(stage)
    one.produce("a")
    one.produce("b", partition=1)
    slow = stage.pause(point)
    assert one.commit() == "NONE 0/1"
    stage.settle()
    assert slow.reached.done()
    assert one.init() == "CONCURRENT_TRANSACTIONS"
    assert one.produce("c") == "CONCURRENT_TRANSACTIONS @-1"
    slow.resume()
    stage.settle()
    assert one.state() == "CompleteCommit 0/1"
    assert one.produce("c", sequence=0) == "NONE @2"
    assert one.commit() == "NONE 0/2"
    stage.settle()
    assert one.state() == "CompleteCommit 0/2"
    assert (stage.values(), stage.values(index=1)) == (["a", "c"], ["b"])


@pytest.mark.parametrize("reply", ["complete", "prepared"])
@pytest.mark.parametrize("durability", ["process", "power"])
def test_b15_kafka_18575_kafka_18654_the_next_transaction_at_once(reply: str, durability: str) -> None:
    """Nothing is refused, and nobody pays a back-off of 100 ms per transaction."""
    stage = stage_with_topic(settings={"end.txn.reply": reply, "durability": durability})
    one = Txn(stage)
    begun_ms = stage.loop.now_ms
    for number in range(40):
        assert one.produce(f"{number}").startswith("NONE")
        assert one.commit().startswith("NONE")
    assert (stage.loop.now_ms - begun_ms) / 40 < 50
    stage.settle()
    assert stage.values() == [f"{number}" for number in range(40)]


@pytest.mark.parametrize("reply", ["complete", "prepared"])
def test_b16_kafka_18660_twenty_transactions_over_the_last_epoch(reply: str) -> None:
    """Every answer of EndTxn is the identity that the next transaction is accepted with."""
    stage = stage_with_topic(settings={"end.txn.reply": reply})
    one = Txn(stage)
    at_epoch(stage, one, 32_760)
    said: list[str] = []
    for number in range(20):
        assert one.produce(f"{number}", sequence=0).startswith("NONE"), said
        said.append(one.commit() if number % 3 else one.abort())
    second = one.producer_id
    assert second != 0
    assert said == [
        *(f"NONE 0/{epoch}" for epoch in range(32_761, 32_767)),
        *(f"NONE {second}/{epoch}" for epoch in range(14)),
    ]
    stage.settle()
    assert stage.values() == [f"{number}" for number in range(20) if number % 3]


@pytest.mark.parametrize("commit", [True, False])
def test_b17_kafka_20090_a_timeout_at_the_last_epoch(commit: bool) -> None:
    """No epoch beyond 32767, and the transaction does not stay Ongoing."""
    stage = stage_with_topic()
    one = Txn(stage, timeout_ms=5_000)
    at_epoch(stage, one, 32_766)
    assert one.produce("slow", sequence=0) == "NONE @0"
    stage.settle(16_000)
    second = stage.broker.transactions.get(one.name)
    assert second is not None
    assert one.state() == f"CompleteAbort {second.producer.id}/0"
    assert second.producer.id != one.producer_id
    assert (one.commit() if commit else one.abort()).startswith("INVALID_TXN_STATE" if commit else "NONE")
    assert stage.values() == []
    assert stage.open_transactions() == []


def test_r3_redpanda_e63f6b9_two_begins_back_to_back() -> None:
    stage = stage_with_topic(settings={"durability": "power"})
    one = Txn(stage)
    adding = [one.begin(one.add_request(("t", 0)), 3) for _ in range(3)]
    assert [added(stage.run(each)) for each in adding] == ["NONE"] * 3
    states = [value.status for value in stage.written(one.name) if value is not None]
    assert states == [State.EMPTY, State.ONGOING]


# --- markers


def test_b19_kafka_19999_a_marker_whose_answer_was_lost_is_written_again() -> None:
    """KIP-1228's strict epoch rule must not refuse the retry: that is a livelock in Prepare."""
    stage = stage_with_topic()
    one = Txn(stage)
    one.produce("a")
    append_marker = stage.part().append_marker
    lost: list[Appended | Refused] = []

    def lose_the_first_answer(**marker: Any) -> Future[Appended | Refused]:
        if lost:
            return append_marker(**marker)
        lost.append(append_marker(**marker).result())
        return resolved(Refused(ErrorCode.REQUEST_TIMED_OUT))

    stand_in(stage.part(), "append_marker", lose_the_first_answer)
    assert one.commit() == "NONE 0/1"
    assert isinstance(lost[0], Appended)
    assert stage.values() == ["a"]
    assert stage.part().log_end_offset == 3  # the marker is there twice, as in Kafka


@pytest.mark.parametrize("point", ["after_marker", "before_complete"])
def test_b19_kafka_19999_markers_are_written_again_after_a_crash(point: str) -> None:
    stage = stage_with_topic()
    one = Txn(stage)
    one.produce("a")
    one.produce("b", partition=1)
    stage.kill_at(point)
    with pytest.raises(Down):
        one.commit()
    stage.crash()
    assert one.state() == "CompleteCommit 0/1"
    assert (stage.values(), stage.values(index=1)) == (["a"], ["b"])
    assert one.commit() == "NONE 0/1"
    assert one.produce("c") == "NONE @3"  # behind both markers


def test_b28_kafka_9749_a_storage_error_of_one_marker_is_tried_again() -> None:
    stage = stage_with_topic()
    one = Txn(stage)
    one.produce("a")
    one.produce("b", partition=1)
    with Refusing(stage.part(), ErrorCode.KAFKA_STORAGE_ERROR, markers=True, times=3) as refusing:
        assert one.commit() == "NONE 0/1"
    assert refusing.refused == 3
    assert one.state() == "CompleteCommit 0/1"
    assert (stage.values(), stage.values(index=1)) == (["a"], ["b"])


@pytest.mark.parametrize("full", [False, True])
def test_b28_kafka_9749_a_disk_that_fails_at_a_marker_stops_us_and_the_next_start_finishes(
    full: bool,
) -> None:
    """EIO and ENOSPC: nothing is acknowledged from then on."""
    stage = stage_with_topic()
    one = Txn(stage)
    one.produce("a")
    stage.disk.faults.only_paths_with = "t-0/"
    if full:
        stage.disk.faults.space_left_bytes = 10
    else:
        stage.disk.faults.writes_until_error = 1
    with pytest.raises(Closed):
        one.commit()
    assert isinstance(stage.fault, StorageFault)
    stage.crash()
    assert one.state() == "CompleteCommit 0/1"
    assert stage.values() == ["a"]


def test_b29_kafka_9777_every_end_completes_whoever_else_ends_there() -> None:
    """Sixty ends at once on the same partitions, with markers lost on the way: none waits for another for ever."""
    stage = stage_with_topic(settings={"durability": "power"})
    everyone = [Txn(stage, f"tid-{number}") for number in range(60)]
    for one in everyone:
        for index in (0, 1):
            assert one.produce(one.name, partition=index).startswith("NONE")
    for _ in range(20):
        stage.lose_marker()
    ending = [one.begin(one.end_request(commit=at % 2 == 0), 5) for at, one in enumerate(everyone)]
    assert [stage.run(each, limit_ms=5_000).error_code for each in ending] == [0] * 60
    committed = {one.name for one in everyone[::2]}
    assert set(stage.values()) == set(stage.values(index=1)) == committed
    for index in (0, 1):
        assert stage.part(index=index).last_stable_offset == stage.part(index=index).high_watermark


@pytest.mark.parametrize("version", [3, 5])
def test_b30_kafka_10080_one_complete_for_one_end(version: int) -> None:
    """However often it is asked for, and though markers are lost: never a second one after the next has begun."""
    stage = stage_with_topic()
    one = Txn(stage)
    for number in range(4):
        one.add(("t", 0), ("t", 1))
        one.produce(f"{number}", version=9)
        stage.lose_marker()
        asked = [one.begin(one.end_request(commit=number % 2 == 0), version) for _ in range(3)]
        for each in asked:
            one.said(stage.run(each))
        stage.settle()
    ends = [
        (value.producer_id, value.producer_epoch, value.status)
        for value in stage.written(one.name)
        if value is not None
    ]
    wanted: list[State] = []
    for number in range(4):
        commit = number % 2 == 0
        wanted += [State.ONGOING, State.PREPARE_COMMIT if commit else State.PREPARE_ABORT]
        wanted += [State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT]
    assert [status for _, _, status in ends] == [State.EMPTY, *wanted]
    assert stage.values() == ["0", "2"]


def test_b31_kafka_5416_a_complete_record_that_is_refused_is_written_again() -> None:
    stage = stage_with_topic()
    one = Txn(stage)
    one.produce("a")
    log = stage.state_log(one.name)
    with Refusing(log, only=lambda batch: statuses(batch)[0] in COMPLETE, times=2) as refusing:
        assert one.commit() == "NONE 0/1"
    assert refusing.refused == 2
    assert one.state() == "CompleteCommit 0/1"
    assert one.produce("b") == "NONE @2"
    assert one.commit() == "NONE 0/2"
    assert stage.values() == ["a", "b"]


def test_r1_redpanda_ff95615_a_replayed_commit_does_not_end_the_next_transaction() -> None:
    """The Complete record is not durable when EndTxn is answered: after a power cut the markers are written again."""
    replayed = 0
    for seed in range(30):
        stage = stage_with_topic(settings={"durability": "power"}, seed=seed)
        one = Txn(stage)
        one.add(("t", 0))
        one.produce("first", version=9)
        assert one.commit(version=3) == "NONE"
        stage.crash("power")
        replayed += stage.part().log_end_offset > 2
        while one.add(("t", 0)) != "NONE":
            stage.settle(5)
        assert one.produce("second", version=9).startswith("NONE")
        stage.settle(1_000)
        assert stage.open_transactions() == [one.producer_id], seed
        assert one.abort(version=3) == "NONE"
        assert stage.values() == ["first"]
    assert replayed > 3


# --- both or none


@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("durability", ["process", "power"])
def test_r5_redpanda_c50b68e_data_and_offsets_end_alike_wherever_it_crashes_j7(
    version: int, commit: bool, durability: str
) -> None:
    """J7: and the one who asks again is never told that what happened did not."""
    for point in POINTS_AFTER_THE_DECISION:
        stage = stage_with_topic(settings={"durability": durability})
        one = Txn(stage)
        assert one.add(("t", 0), ("t", 1)) == one.add_offsets("g") == "NONE"
        one.produce("a", version=9)
        one.produce("b", partition=1, version=9)
        assert one.commit_offset("g", 5, version=3) == "NONE"
        stage.kill_at(point if commit else point.replace("commit", "abort"))
        with pytest.raises(Down):
            _ = one.commit(version=version) if commit else one.abort(version=version)
        stage.crash("power" if durability == "power" else "process")
        said = "CONCURRENT_TRANSACTIONS"
        while said == "CONCURRENT_TRANSACTIONS":
            said = one.commit(version=version) if commit else one.abort(version=version)
            stage.settle(10)
        assert said.startswith("NONE"), (point, said)
        assert stage.values() + stage.values(index=1) == (["a", "b"] if commit else []), point
        assert offset_of(stage, "g") == ("NONE 5" if commit else "NONE -1"), point


# --- writes that fail


def test_b27_kafka_9666_retries_against_a_broken_log_use_up_no_epochs() -> None:
    stage = stage_with_topic()
    one = Txn(stage)
    at_epoch(stage, one, 32_700)
    with Refusing(stage.state_log(one.name)) as refusing:
        for _ in range(400):
            assert one.init() == "COORDINATOR_NOT_AVAILABLE"
    assert refusing.refused == 400
    assert one.init() == "NONE 0/32701"


def test_b34_kafka_14880_a_first_write_that_fails_leaves_nothing_behind() -> None:
    stage = stage_with_topic(
        settings={
            "transactional.id.expiration.ms": "1000",
            "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
        }
    )
    one = Txn(stage, start=False)
    with Refusing(stage.state_log(one.name)):
        assert one.init() == "COORDINATOR_NOT_AVAILABLE"
        assert one.state() == "TRANSACTIONAL_ID_NOT_FOUND"
        stage.settle(3_000)  # expiry looks at it again and again
    assert stage.fault is None
    assert one.init().endswith("/0")
    other = Txn(stage, "other")
    stage.settle(3_000)
    assert (one.state(), other.state()) == ("TRANSACTIONAL_ID_NOT_FOUND",) * 2


def test_b34_kafka_14880_a_crash_at_the_very_first_write() -> None:
    stage = stage_with_topic(settings={"durability": "power"})
    one = Txn(stage, start=False)
    asked = one.begin(one.init_request(), 5)
    while stage.state_log(one.name).log_end_offset == 0:
        assert stage.loop.step()
    assert not asked.done()
    stage.crash("power")
    assert one.init().startswith("NONE ")
    assert one.produce("a") == "NONE @0"


# --- expiry of ids

EXPIRING = {
    "transactional.id.expiration.ms": "1000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
}


def test_b32_kafka_7519_an_expiry_that_fails_leaves_the_id_usable() -> None:
    stage = stage_with_topic(settings=EXPIRING)
    one = Txn(stage)
    with Refusing(stage.state_log(one.name)) as refusing:
        stage.settle(3_000)
    assert refusing.refused > 2
    assert one.state() == "Empty 0/0"
    assert one.init() == "NONE 0/1"  # and not CONCURRENT_TRANSACTIONS for ever
    stage.settle(3_000)
    assert one.state() == "TRANSACTIONAL_ID_NOT_FOUND"
    assert stage.written(one.name)[-1] is None


def test_b46_the_tombstone_of_an_expired_id_stays_for_delete_retention_ms() -> None:
    """In __transaction_state as everywhere: a reader of the log has that long to learn that the id is gone."""
    settings = {
        **EXPIRING,
        "log.cleaner.delete.retention.ms": "60000",
        "transaction.state.log.num.partitions": "1",
    }
    stage = stage_with_topic(settings=settings)
    one = Txn(stage)
    log = stage.state_log(one.name)

    def clean(number: int = 0) -> None:
        Txn(stage, f"other-{number}")  # a log with nothing new is not cleaned
        log.roll(stage.clock.wall_ms())
        stage.run(log.quiet())
        stage.run(stage.engine.run_cleaner(TRANSACTION_STATE, log.index))

    stage.settle(3_000)
    assert one.state() == "TRANSACTIONAL_ID_NOT_FOUND"
    clean()
    assert stage.written(one.name) == [None]
    stage.restart()  # with a checkpoint that knows of the tombstone
    log = stage.state_log(one.name)
    assert one.state() == "TRANSACTIONAL_ID_NOT_FOUND"
    stage.settle(50_000)
    clean(1)
    assert stage.written(one.name) == [None]
    stage.settle(20_000)
    clean(2)
    assert stage.written(one.name) == []
    stage.crash()
    assert one.state() == "TRANSACTIONAL_ID_NOT_FOUND"


def test_b33_kafka_13099_fifty_thousand_ids_expire_at_once() -> None:
    """Tombstones go out in batches that are far below max.message.bytes."""
    stage = Stage({"transaction.state.log.num.partitions": "1"})
    log = stage.part(TRANSACTION_STATE)
    now = stage.clock.wall_ms()
    for first in range(0, 50_000, 1_000):
        records: list[NewRecord] = []
        for number in range(first, first + 1_000):
            idle = Stored(
                transactional_id=f"an-id-of-usual-length-{number}",
                producer=Producer(ProducerId(number), ProducerEpoch(0)),
                previous_producer_id=ProducerId(number),
                timeout_ms=60_000,
                update_ms=Millis(now),
            )
            records.append(
                NewRecord(encode_key(TransactionKey(idle.transactional_id)), encode_txn(idle, 1), now)
            )
        stage.run(log.append(build_batch(records), acks=Acks.ALL, origin=Origin.COORDINATOR))
    stage.crash(settings={"transactional.id.expiration.ms": str(DAY_MS)})
    log = stage.part(TRANSACTION_STATE)
    assert len(list(stage.broker.transactions.all())) == 50_000
    before = log.log_end_offset
    stage.clock.wall_shift_ms += 2 * DAY_MS
    stage.settle(3_600_000 + 10_000)
    assert list(stage.broker.transactions.all()) == []
    assert stage.fault is None
    largest, offset = 0, before
    while offset < log.log_end_offset:
        for _, header in batches(stage.read(TRANSACTION_STATE, offset=offset, committed=False).records):
            largest, offset = max(largest, header.size), header.next_offset
    assert log.log_end_offset == before + 50_000
    assert 10_000 < largest < log.config.max_message_bytes / 2
    stage.crash()
    assert list(stage.broker.transactions.all()) == []


def test_b33_kafka_13099_ids_expire_where_only_small_batches_are_allowed() -> None:
    stage = Stage({"message.max.bytes": "2000", "transaction.state.log.num.partitions": "1", **EXPIRING})
    everyone = [Txn(stage, f"an-id-of-usual-length-{number}") for number in range(100)]
    everyone[-1].add()
    stage.settle(3_000)
    assert [each.transactional_id for each in stage.broker.transactions.all()] == [everyone[-1].name]


# --- restarts


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), (2, 0), (0, 2)])
def test_b20_kafka_19925_another_protocol_version_while_a_transaction_is_ongoing(
    before: int, after: int
) -> None:
    stage = stage_with_topic(settings={"transaction.version": str(before)})
    one, kept = Txn(stage, timeout_ms=5_000), Txn(stage, "kept", timeout_ms=600_000)
    for each in (one, kept):
        if before == 2:
            assert each.produce("early").startswith("NONE")
        else:
            assert each.add(("t", 0)) == "NONE"
            assert each.produce("early", version=9).startswith("NONE")
    stage.restart({"transaction.version": str(after)})
    assert one.state() == f"Ongoing {one.producer_id}/0"
    stage.settle(16_000)
    assert one.state() == f"CompleteAbort {one.producer_id}/1"  # in time, and its producer is fenced
    assert one.produce("late", version=9) == "INVALID_PRODUCER_EPOCH @-1"
    said = kept.commit(version=5 if after == 2 else 3)  # the other one goes on by the new version
    assert said == (f"NONE {kept.producer_id}/1" if after == 2 else "NONE")
    assert one.init().startswith("NONE")
    for each in (one, kept):
        if after == 2:
            assert each.produce("next").startswith("NONE")
            assert each.commit().startswith("NONE")
        else:
            assert each.add(("t", 0)) == "NONE"
            assert each.produce("next", version=9).startswith("NONE")
            assert each.commit(version=3) == "NONE"
    assert stage.values() == ["early", "next", "next"]
    assert stage.open_transactions() == []


def test_b22_kafka_9307_a_start_knows_what_is_in_the_log_and_nothing_else() -> None:
    """What it knew before, and what a tombstone took back, is not there any more."""
    stage = stage_with_topic(settings={"durability": "power"})
    one, gone = Txn(stage), Txn(stage, "gone")
    one.produce("a")
    stage.run(
        stage.state_log("gone").append(
            build_batch([NewRecord(encode_key(TransactionKey("gone")), None, 0)]),
            acks=Acks.ALL,
            origin=Origin.COORDINATOR,
        )
    )
    stage.crash("power")
    assert (one.state(), gone.state()) == ("Ongoing 0/0", "TRANSACTIONAL_ID_NOT_FOUND")
    assert [each.transactional_id for each in stage.broker.transactions.all()] == ["tid"]


@pytest.mark.parametrize("topic", [TRANSACTION_STATE, "__consumer_offsets"])
def test_b24_kafka_9065_a_log_whose_end_was_cleaned_away_is_loaded(topic: str) -> None:
    """The active segment is empty, and before it there is a gap where records were."""
    stage = stage_with_topic(
        settings={"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
    )
    for number in range(20):
        one = Txn(stage, f"tid-{number % 3}")
        one.produce("a")
        one.commit_offset(f"group-{number % 3}", number)
        one.commit()
    part = stage.part(topic)
    end = part.log_end_offset
    for _ in range(2):
        part.roll(stage.clock.wall_ms())
        stage.settle()
        stage.run(stage.engine.run_cleaner(topic, 0))
    assert part.segments[-1].size == 0
    assert sum(header.count for header in _batches(stage, topic) if not header.is_control) < 10
    stage.restart()
    assert stage.part(topic).log_end_offset == end
    assert [offset_of(stage, f"group-{each}") for each in range(3)] == ["NONE 18", "NONE 19", "NONE 17"]
    assert {each.transactional_id for each in stage.broker.transactions.all()} == {"tid-0", "tid-1", "tid-2"}


def test_b24_kafka_9065_a_log_with_nothing_but_a_gap_before_its_end_is_loaded() -> None:
    """Reads give nothing below the log end: the loader stops instead of asking for ever."""
    stage = stage_with_topic(settings={"transaction.state.log.num.partitions": "1"})
    Txn(stage)
    part = stage.part(TRANSACTION_STATE)
    part.roll(stage.clock.wall_ms())
    stage.settle()
    part.state.log_end_offset += 7
    part.state.high_watermark += 7
    again = stage.runtime()
    stage.run(again.transactions.start())
    assert [each.transactional_id for each in again.transactions.all()] == ["tid"]


def _batches(stage: Stage, topic: str, index: int = 0) -> Iterator[BatchHeader]:
    offset = stage.part(topic, index).log_start_offset
    while data := stage.read(topic, index, offset=offset, committed=False).records:
        for _, header in batches(data):
            offset = header.next_offset
            yield header


def test_b25_kafka_7286_a_record_larger_than_the_loaders_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oncelog.broker.transaction_log.READ_BYTES", 100)
    monkeypatch.setattr("oncelog.broker.groups_shard.LOAD_BYTES", 100)
    stage = stage_with_topic(partitions=300)
    one = Txn(stage)
    one.add(*(("t", index) for index in range(300)))
    one.commit_offset("g", 5)
    log = stage.state_log(one.name)
    assert max(header.size for header in _batches(stage, TRANSACTION_STATE, log.index)) > 1_000
    stage.crash()
    found = stage.broker.transactions.get(one.name)
    assert found is not None
    assert len(found.partitions) == 301
    assert one.commit().startswith("NONE")
    assert offset_of(stage, "g") == "NONE 5"
