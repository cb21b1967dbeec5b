"""The transaction coordinator around its rules: time, expiry, writes and markers that fail, requests that race."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from oncelog.client.admin import Admin
from oncelog.engine.classic.partition import ClassicPartition
from oncelog.engine.port import Appended, Refused
from oncelog.errors import ErrorCode
from oncelog.model import (
    CONSUMER_OFFSETS,
    TRANSACTION_STATE,
    Acks,
    Millis,
    Producer,
    ProducerEpoch,
    ProducerId,
    coordinator_partition,
)
from oncelog.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from oncelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from oncelog.record.batch import batches
from oncelog.server.main import Server
from oncelog.tasks import Future, resolved, spawn
from oncelog.txn.state import State, Txn
from tests.unit.txn_world import broker_of, running, states_written
from tests.vectors.play import Partition, Target
from tests.vectors.txn_wire import Id, at_once, producers_of

MAPPING = "INVALID_PRODUCER_ID_MAPPING"
DAY_S = 86_400


# ---- time (TX-15, TX-16)


@pytest.mark.parametrize("server_version", [1, 2])
def test_tx_15_a_timeout_aborts_and_fences_b35(server_version: int) -> None:
    with running({"transaction.version": server_version}, virtual_clock=True) as target:
        log, one = target.partition(), Id(target, timeout_ms=30_000)
        one.add([(log.topic, 0)])
        assert one.produce(log, 0, version=9) == "NONE @0"
        broker_of(target).clock.advance(29)
        assert one.state().startswith("Ongoing")
        broker_of(target).clock.advance(12)  # the next look is at most 10 s later
        assert one.state() == "CompleteAbort (P,1)"
        assert one.produce(log, 1, version=9) == "INVALID_PRODUCER_EPOCH @-1"
        assert one.abort(0, version=3) == "PRODUCER_FENCED"
        assert log.fetch(0, isolation=1).last_stable_offset == 2
        # TX-9 needs the epoch before the bump, which only TV2 remembers
        assert one.init((one.producer_id, 0)) == ("NONE (P,1)" if server_version == 2 else "PRODUCER_FENCED")
        one.connection.close()


def test_tx_15_the_clock_is_not_refreshed_by_later_activity() -> None:
    with running(virtual_clock=True) as target:
        first, second, one = target.partition(), target.partition(), Id(target, timeout_ms=30_000)
        one.produce(first, 0)
        broker_of(target).clock.advance(25)
        assert one.produce(second, 0) == "NONE @0"
        assert one.produce(first, 1) == "NONE @1"
        broker_of(target).clock.advance(16)
        assert one.state() == "CompleteAbort (P,1)"
        one.connection.close()


def test_tx_15_the_clock_runs_on_over_a_restart() -> None:
    quick = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 50}
    with running(quick) as target:
        log, one = target.partition(), Id(target, timeout_ms=700)
        one.produce(log, 0)
        began = one.describe().transaction_start_time_ms
        broker_of(target).restart()
        one.connection.close()
        assert one.describe().transaction_start_time_ms == began
        one.wait()
        assert one.state() == "CompleteAbort (P,1)"
        one.connection.close()


def test_tx_15_a_transaction_that_is_ending_is_left_alone() -> None:
    with running(virtual_clock=True) as target:
        log, one = target.partition(), Id(target, timeout_ms=30_000)
        one.produce(log, 0)
        with broker_of(target).pause(at="before_marker") as held:
            one.connection.send_only(one.end_request(commit=True), 5)
            held.wait()
            broker_of(target).clock.advance(60)
            one.connection.close()
            assert one.state() == f"PrepareCommit (P,1) {log.topic}-0"
        one.wait()
        assert one.state() == "CompleteCommit (P,1)"
        one.connection.close()


# ---- expiry (TX-17)


def test_tx_17_an_idle_id_is_forgotten_and_an_ongoing_one_is_not() -> None:
    never = {"transaction.max.timeout.ms": 2_000_000_000}
    with running(never, virtual_clock=True) as target:
        idle, busy = Id(target), Id(target, timeout_ms=2_000_000_000)
        log = target.partition()
        assert busy.produce(log, 0) == "NONE @0"
        broker_of(target).clock.advance(7 * DAY_S - 10)
        assert idle.state() == "Empty (P,0)"
        broker_of(target).clock.advance(3_700)
        assert idle.state() == "TRANSACTIONAL_ID_NOT_FOUND"
        assert busy.state() == f"Ongoing (P,0) {log.topic}-0"
        assert idle.add([(log.topic, 0)]) == MAPPING
        assert idle.abort() == MAPPING
        assert idle.add([(log.topic, 0)], version=5, verify=True) == MAPPING
        assert states_written(target, idle.name) == ["Empty", "tombstone"]
        assert idle.init((idle.producer_id, 0)) == "NONE (P',0)"
        broker_of(target).restart()
        idle.connection.close()
        assert idle.state() == "Empty (P',0)"
        for one in (idle, busy):
            one.connection.close()


def test_5_4_a_tombstone_is_remembered_by_a_restart() -> None:
    with running(virtual_clock=True) as target:
        one = Id(target)
        broker_of(target).clock.advance(8 * DAY_S)
        assert one.state() == "TRANSACTIONAL_ID_NOT_FOUND"
        broker_of(target).kill()
        broker_of(target).start()
        one.connection.close()
        assert one.state() == "TRANSACTIONAL_ID_NOT_FOUND"
        one.connection.close()


def test_b33_thousands_of_ids_expire_in_batches_of_bounded_size() -> None:
    count = 5_000
    with running({"transaction.state.log.num.partitions": 1}, virtual_clock=True) as target:
        Id(target).connection.close()

        def fill(server: Server) -> None:
            for number in range(count):
                txn = Txn(
                    transactional_id=f"{number:0200}",
                    producer=Producer(ProducerId(number), ProducerEpoch(0)),
                    timeout_ms=60_000,
                    update_ms=Millis(1),
                )
                spawn(server.loop, server.broker.transactions.write_record(txn, Acks.LEADER)).result()

        broker_of(target).run(fill)
        broker_of(target).restart()
        assert broker_of(target).run(lambda server: len(list(server.broker.transactions.all()))) == count + 1
        broker_of(target).clock.advance(3_700)
        assert broker_of(target).run(lambda server: len(list(server.broker.transactions.all()))) == 1
        written = Partition(target, TRANSACTION_STATE, 12)
        sizes: list[int] = []
        offset = first = count + 2  # the state of the first id, and why it has its epoch
        while data := bytes(written.fetch(offset).records or b""):
            for _, header in batches(data):
                sizes.append(header.size)
                offset = header.next_offset
        assert offset == first + count
        assert 10 < len(sizes) < 40
        assert max(sizes) < 150_000


# ---- writes that fail


@contextmanager
def refusing(
    target: Target, topic: str, error: ErrorCode, times: int, method: str = "append"
) -> Generator[list[int]]:
    """The next `times` appends to a topic are refused with `error`. Gives how many are left, in a list of one."""
    left = [times]
    original = getattr(ClassicPartition, method)

    def append(self: ClassicPartition, *words: Any, **named: Any) -> Future[Appended | Refused]:
        if self.topic == topic and left[0] > 0:
            left[0] -= 1
            return resolved(Refused(error))
        return original(self, *words, **named)

    setattr(ClassicPartition, method, append)
    try:
        yield left
    finally:
        setattr(ClassicPartition, method, original)
    assert target.broker.bootstrap  # it lives


@pytest.mark.parametrize("level", [0, 1, 2])
def test_api_7_transaction_version_is_a_finalized_feature(level: int) -> None:
    """By the setting, also after a restart; what is finalized at 0 is not listed (API-6)."""
    with running({"transaction.version": level}) as target:
        for _ in range(2):
            with target.connect() as connection:
                assert connection.features().get("transaction.version", 0) == level
                request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
                answer = connection.send(request, ApiVersionsResponse, 4)
                assert ("transaction.version", 0, 2) in [
                    (each.name, each.min_version, each.max_version) for each in answer.supported_features
                ]
                listed = {each.name for each in answer.finalized_features}
                assert ("transaction.version" in listed) is (level > 0)
            broker_of(target).restart()


WRITE_ERRORS = """
# the log says                      the client hears
  UNKNOWN_TOPIC_OR_PARTITION        COORDINATOR_NOT_AVAILABLE
  NOT_ENOUGH_REPLICAS               COORDINATOR_NOT_AVAILABLE
  NOT_ENOUGH_REPLICAS_AFTER_APPEND  COORDINATOR_NOT_AVAILABLE
  REQUEST_TIMED_OUT                 COORDINATOR_NOT_AVAILABLE
  NOT_LEADER_OR_FOLLOWER            NOT_COORDINATOR
  KAFKA_STORAGE_ERROR               NOT_COORDINATOR
  MESSAGE_TOO_LARGE                 UNKNOWN_SERVER_ERROR
  RECORD_LIST_TOO_LARGE             UNKNOWN_SERVER_ERROR
  INVALID_RECORD                    INVALID_RECORD
"""


def test_tx_2_a_refused_write_is_answered_and_changes_nothing_trap_16() -> None:
    rows = [line.split() for line in WRITE_ERRORS.splitlines() if line.strip() and not line.startswith("#")]
    with running() as target:
        log, one = target.partition(), Id(target)
        for found, answer in rows:
            with refusing(target, TRANSACTION_STATE, ErrorCode[found], 1):
                assert one.init() == answer
            with refusing(target, TRANSACTION_STATE, ErrorCode[found], 1):
                assert one.add([(log.topic, 0)]) == answer
            assert one.state() == "Empty (P,0)"
        one.produce(log, 0)
        for found, answer in rows:
            with refusing(target, TRANSACTION_STATE, ErrorCode[found], 1):
                assert one.commit() == answer
            assert one.state() == f"Ongoing (P,0) {log.topic}-0"
        assert one.commit() == "NONE (P,1)"
        one.connection.close()


def test_b27_retries_of_a_failing_init_bump_nothing() -> None:
    with running() as target:
        one = Id(target)
        with refusing(target, TRANSACTION_STATE, ErrorCode.NOT_ENOUGH_REPLICAS, 300):
            assert {one.init() for _ in range(300)} == {"COORDINATOR_NOT_AVAILABLE"}
        assert one.init() == "NONE (P,1)"
        one.connection.close()


def test_tx_8_a_fence_that_could_not_be_written_bumps_once() -> None:
    """Kafka's hasFailedEpochFence: however often it is tried, the transaction ends with E+1."""
    with running({"transaction.version": 1}) as target:
        log, one = target.partition(), Id(target)
        one.add([(log.topic, 0)])
        with refusing(target, TRANSACTION_STATE, ErrorCode.NOT_ENOUGH_REPLICAS, 3):
            assert {one.init() for _ in range(3)} == {"COORDINATOR_NOT_AVAILABLE"}
        assert one.state() == f"Ongoing (P,0) {log.topic}-0"
        assert one.init() == "CONCURRENT_TRANSACTIONS"
        assert one.state() == "CompleteAbort (P,1)"
        assert producers_of(target, log.topic)[one.producer_id].producer_epoch == 1
        one.connection.close()


def test_trap_13_producer_id_0_is_the_first_and_a_real_one() -> None:
    with running() as target:
        log, one = target.partition(), Id(target)
        assert one.producer_id == 0
        assert one.produce(log, 0) == "NONE @0"
        assert one.abort() == "NONE (P,1)"
        found = log.fetch(0, isolation=1).aborted_transactions or []
        assert [(each.producer_id, each.first_offset) for each in found] == [(0, 0)]
        assert broker_of(target).read(log.topic) == []
        one.connection.close()


def test_b34_a_first_write_that_failed_leaves_nothing_behind() -> None:
    with running(virtual_clock=True) as target:
        Id(target).connection.close()
        one = Id(target, start=False)
        with refusing(target, TRANSACTION_STATE, ErrorCode.NOT_ENOUGH_REPLICAS, 1):
            assert one.init() == "COORDINATOR_NOT_AVAILABLE"
        assert one.state() == "TRANSACTIONAL_ID_NOT_FOUND"
        assert one.abort(0, producer_id=0) == MAPPING
        broker_of(target).clock.advance(8 * DAY_S)  # the sweep meets it
        assert one.init() == "NONE (P,0)"
        one.connection.close()


def test_b32_a_tombstone_that_failed_frees_the_id() -> None:
    with running(virtual_clock=True) as target:
        one = Id(target)
        with refusing(target, TRANSACTION_STATE, ErrorCode.KAFKA_STORAGE_ERROR, 1) as left:
            broker_of(target).clock.advance(8 * DAY_S)
            assert left == [0]
        assert one.state() == "Empty (P,0)"
        assert one.init() == "NONE (P,1)"
        one.connection.close()


def test_tx_17_an_id_that_expires_right_now_is_busy() -> None:
    with running(virtual_clock=True) as target:
        log, one = target.partition(), Id(target)
        with held_write(target, TRANSACTION_STATE) as let_go:
            broker_of(target).clock.advance(8 * DAY_S)
            assert one.add([(log.topic, 0)]) == "CONCURRENT_TRANSACTIONS"
            assert one.init() == "CONCURRENT_TRANSACTIONS"
            let_go()
        assert one.state() == "TRANSACTIONAL_ID_NOT_FOUND"
        one.connection.close()


@contextmanager
def held_write(target: Target, topic: str) -> Generator[Callable[[], None]]:
    """The next append to a topic is in the log, but nobody is told before the given function is called."""
    original = ClassicPartition.append
    waiting: list[tuple[Future[Appended | Refused], Future[Appended | Refused]]] = []
    armed = [True]

    def append(self: ClassicPartition, *words: Any, **named: Any) -> Future[Appended | Refused]:
        done = original(self, *words, **named)
        if self.topic != topic or not armed[0]:
            return done
        armed[0] = False
        told: Future[Appended | Refused] = Future()
        waiting.append((done, told))
        return told

    def let_go(_: Server) -> None:
        while waiting:
            done, told = waiting.pop()
            done.add_callback(lambda found, told=told: told.set_result(found.result()))

    ClassicPartition.append = append
    try:
        yield lambda: broker_of(target).run(let_go)
    finally:
        ClassicPartition.append = original
        broker_of(target).run(let_go)


# ---- markers that fail (2.8)


AGAIN = [
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
]


@pytest.mark.parametrize("reply", ["complete", "prepared"])
def test_2_8_markers_are_tried_again_b28(reply: str) -> None:
    with running({"end.txn.reply": reply}) as target:
        one = Id(target)
        for number, error in enumerate(AGAIN):
            log = target.partition()
            assert one.produce(log, 0) == "NONE @0"
            with refusing(target, log.topic, error, 2, "append_marker") as left:
                assert one.commit() == f"NONE (P,{number + 1})"
                one.wait()
                assert left == [0]
            assert one.state() == f"CompleteCommit (P,{number + 1})"
            assert log.fetch(0, isolation=1).last_stable_offset == 2
        one.connection.close()


@pytest.mark.parametrize("error", [ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION])
def test_2_8_a_partition_that_cannot_have_markers_is_let_go(error: ErrorCode) -> None:
    with running() as target:
        log, one = target.partition(), Id(target)
        one.produce(log, 0)
        with refusing(target, log.topic, error, 1, "append_marker"):
            assert one.commit() == "NONE (P,1)"
        assert one.state() == "CompleteCommit (P,1)"
        one.connection.close()


@pytest.mark.parametrize(
    "error",
    [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.CORRUPT_MESSAGE],
)
def test_2_8_errors_that_stop_the_coordinator(error: ErrorCode) -> None:
    """A newer owner ends it, or nobody can: the state stays, and a restart tries again."""
    with running() as target:
        first, second, one = target.partition(), target.partition(), Id(target)
        one.produce(first, 0)
        one.produce(second, 0)
        with refusing(target, second.topic, error, 1, "append_marker"):
            assert one.commit() == "NONE (P,1)"
        assert one.state() == f"PrepareCommit (P,1) {second.topic}-0"
        assert one.commit(0) == "CONCURRENT_TRANSACTIONS"
        assert one.init() == "CONCURRENT_TRANSACTIONS"
        broker_of(target).restart()
        one.connection.close()
        one.wait()
        assert one.commit(0) == "NONE (P,1)"
        one.connection.close()


def test_b31_a_complete_record_that_failed_is_written_again_once_b30() -> None:
    with running() as target:
        log, one = target.partition(), Id(target)
        one.produce(log, 0)
        with broker_of(target).pause(at="before_complete") as held:
            one.connection.send_only(one.end_request(commit=True), 5)
            held.wait()
            with refusing(target, TRANSACTION_STATE, ErrorCode.NOT_ENOUGH_REPLICAS, 2):
                held.resume()
                one.connection.close()
                one.wait()
        assert states_written(target, one.name) == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
        one.connection.close()


def test_b13_offsets_are_in_effect_when_the_end_is_answered() -> None:
    with running() as target:
        topic = target.topic()
        target.group_ready("g").close()
        one = Id(target)
        for number in range(5):
            assert one.commit_offset("g", topic, number, version=5) == "NONE"
            assert one.commit() == f"NONE (P,{number + 1})"
            with target.cluster() as cluster:
                found = Admin(cluster).group_offsets("g")
            assert [each.offset for each in found.values()] == [number]
        one.connection.close()


# ---- requests that race


def test_describe_shows_the_partitions_that_still_await_their_marker() -> None:
    with running() as target:
        first, second, one = target.partition(), target.partition(), Id(target)
        one.produce(first, 0)
        one.produce(second, 0)
        with broker_of(target).pause(at="before_marker") as held:
            one.connection.send_only(one.end_request(commit=False), 3)
            held.wait()
            one.connection.close()
            assert one.state() == f"PrepareAbort (P,0) {min(first.topic, second.topic)}-0"
        one.wait()
        one.connection.close()


@pytest.mark.parametrize("reply", ["complete", "prepared"])
def test_trap_3_everybody_hears_concurrent_transactions_while_markers_are_written(reply: str) -> None:
    with running({"end.txn.reply": reply}) as target:
        log, one = target.partition(), Id(target)
        one.produce(log, 0)
        with broker_of(target).pause(at="before_marker") as held:
            one.connection.send_only(one.end_request(commit=True), 5)
            held.wait()
            other = Id(target, name=one.name, start=False)
            other.holds(one.producer_id, one.epoch)
            concurrent = "CONCURRENT_TRANSACTIONS"
            assert other.init() == concurrent
            assert other.commit(0) == concurrent
            assert other.abort(1) == concurrent
            assert other.add([(log.topic, 0)], version=5, epoch=1) == concurrent
            assert other.add([(log.topic, 0)], version=5, epoch=1, verify=True) == concurrent
            assert other.produce(log, 0, epoch=1) == f"{concurrent} @-1"
            assert other.produce(log, 0, epoch=1, version=9) == "NOT_ENOUGH_REPLICAS @-1"
            assert other.commit_offset("g", log.topic, epoch=1, version=5) in (
                concurrent,
                "COORDINATOR_NOT_AVAILABLE",
            )
        other.wait()
        assert other.commit(0) == "NONE (P,1)"
        for each in (one, other):
            each.connection.close()


@pytest.mark.parametrize("reply", ["complete", "prepared"])
def test_trap_1_when_the_end_is_answered(reply: str) -> None:
    with running({"end.txn.reply": reply}) as target:
        log, one = target.partition(), Id(target)
        one.produce(log, 0)
        answers: list[str] = []
        asking = threading.Thread(target=lambda: answers.append(one.commit()))
        with broker_of(target).pause(at="before_marker") as held:
            asking.start()
            held.wait()
            asking.join(5.0 if reply == "prepared" else 0.3)
            assert answers == (["NONE (P,1)"] if reply == "prepared" else [])
        asking.join()
        assert answers == ["NONE (P,1)"]
        one.connection.close()


def test_complete_refuses_the_ended_epoch_from_the_moment_of_the_answer() -> None:
    with running() as target:
        log, one = target.partition(), Id(target)
        one.add([(log.topic, 0)])
        one.produce(log, 0, version=9)
        assert one.commit(version=3) == "NONE"
        assert one.produce(log, 1, version=9) == "INVALID_TXN_STATE @-1"
        one.produce(log, 1)
        assert one.commit() == "NONE (P,1)"
        assert one.produce(log, 2, epoch=0) == "INVALID_PRODUCER_EPOCH @-1"
        one.connection.close()


def test_racing_instances_get_different_epochs() -> None:
    """Two creators share the first metadata (2.4): one producer id, and no epoch twice."""
    with running() as target:
        one = Id(target, start=False)
        answers: list[Any] = []

        def ask() -> None:
            answers.extend(at_once(target, [(one.init_request(), 5)] * 20))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert {each.error_code for each in answers} == {0}
        assert len({each.producer_id for each in answers}) == 1
        assert sorted(each.producer_epoch for each in answers) == list(range(80))
        one.connection.close()


def test_many_ask_for_the_coordinator_of_a_topic_that_is_being_made() -> None:
    with running(durability="power") as target:
        request = FindCoordinatorRequest(key_type=1, coordinator_keys=["a", "b"])
        at_once(target, [(request, 6)] * 20)
        assert Id(target).state() == "Empty (P,0)"


def test_a_client_that_goes_away_leaves_no_half_transition() -> None:
    with running(durability="power") as target:
        log, one = target.partition(), Id(target)
        one.produce(log, 0)
        with held_write(target, TRANSACTION_STATE) as let_go:
            one.connection.send_only(one.end_request(commit=True), 5)
            one.connection.close()
            assert one.state() == f"Ongoing (P,0) {log.topic}-0"
            let_go()
        one.connection.close()
        one.wait()
        assert one.state() == "CompleteCommit (P,1)"
        assert states_written(target, one.name) == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
        one.connection.close()


def test_why_an_epoch_was_bumped_is_kept() -> None:
    with running(virtual_clock=True) as target:
        log, one = target.partition(), Id(target, timeout_ms=30_000)

        def cause() -> tuple[str, int, str | None]:
            bump = broker_of(target).run(lambda server: server.broker.transactions.bump_of(one.name))
            assert bump is not None
            return bump.cause, bump.producer.epoch, None if bump.by is None else bump.by.client_id

        assert cause() == ("new instance", 0, "vector")
        one.init()
        assert cause() == ("new instance", 1, "vector")
        one.produce(log, 0)
        broker_of(target).clock.advance(60)
        one.wait()
        assert cause() == ("timeout", 2, None)
        one.connection.close()


def test_failed_verifications_are_counted() -> None:
    with running() as target:
        log, one = target.partition(), Id(target)

        def failed() -> int:
            return broker_of(target).run(lambda server: server.broker.counters.get("txn.verification_failed"))

        assert one.produce(log, 0, version=9) == "INVALID_TXN_STATE @-1"
        assert failed() == 1
        one.add([(log.topic, 0)])
        assert one.produce(log, 0, version=9) == "NONE @0"
        assert failed() == 1
        one.connection.close()


def test_coordinator_partitions_follow_javas_hash_trap_12() -> None:
    with running({"transaction.state.log.num.partitions": 50}) as target:
        one = Id(target, name="refunds-1")
        assert coordinator_partition("refunds-1", 50) == 39
        log = Partition(target, TRANSACTION_STATE, 12)
        assert log.fetch(0).high_watermark == 0  # partition 0 has nothing

        def ends(server: Server) -> list[int]:
            return [
                each.index
                for each in server.engine.topics[TRANSACTION_STATE].partitions
                if each.log_end_offset
            ]

        assert broker_of(target).run(ends) == [39]
        one.connection.close()


def test_markers_for_offsets_wait_for_the_group_coordinator() -> None:
    """2.8: __consumer_offsets answers as a partition leader does, and is asked again."""
    with running() as target:
        topic = target.topic()
        target.group_ready("g").close()
        one = Id(target)
        one.commit_offset("g", topic, version=5)
        with refusing(target, CONSUMER_OFFSETS, ErrorCode.NOT_LEADER_OR_FOLLOWER, 2, "append_marker") as left:
            assert one.commit() == "NONE (P,1)"
            assert left == [0]
        number = coordinator_partition("g", 2)
        assert producers_of(target, CONSUMER_OFFSETS, number)[one.producer_id].current_txn_start_offset == -1
        one.connection.close()


def test_states_of_the_machine_have_kafkas_names() -> None:
    assert [each.kafka_name for each in State] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
