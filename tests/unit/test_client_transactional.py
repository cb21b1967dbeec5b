"""A transactional id step by step, by both protocols: lost answers, restarts, fences, and what is said of them."""

import pickle
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.client.admin import Admin, CommittedOffset
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.faults import (
    ClientFault,
    Fenced,
    RefusedByBroker,
    TimedOut,
    TransactionLost,
    Unreachable,
    UnsupportedByBroker,
)
from oncelog.client.transactional import TransactionalId, TransactionProtocol, protocol_of
from oncelog.errors import ErrorCode
from oncelog.model import Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from oncelog.protocol.messages.api_versions import ApiVersionsResponse, FinalizedFeatureKey
from oncelog.protocol.messages.end_txn import EndTxnResponse
from oncelog.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from oncelog.protocol.messages.init_producer_id import InitProducerIdResponse
from oncelog.record.batch import NewRecord, build_batch
from tests.unit.scripted_broker import Close, Hang, ScriptedBroker
from tests.vectors.test_txn_init import at_last_epoch
from tests.vectors.txn_wire import LAST_EPOCH

TV1, TV2 = TransactionProtocol.TV1, TransactionProtocol.TV2
BOTH = [TV1, TV2]
HERE = TopicPartition("t", 0)

FIND_COORDINATOR, INIT_PRODUCER_ID, ADD_PARTITIONS, END_TXN, TXN_OFFSET_COMMIT = 10, 22, 24, 26, 28


@pytest.fixture(scope="module")
def shared() -> Iterator[oncelog.Broker]:
    """One broker for the tests of this file, which leave it running."""
    with oncelog.Broker(virtual_clock=True) as running:
        yield running


class World:
    """A fresh topic, whose name is also that of the transactional id and the group."""

    def __init__(self, broker: oncelog.Broker, cluster: Cluster, protocol: TransactionProtocol) -> None:
        self.broker = broker
        self.cluster = cluster
        self.protocol = protocol
        self.name = broker.topic(f"t-{time.time_ns()}")
        self.here = TopicPartition(self.name, 0)
        self.offsets = {self.here: CommittedOffset(7, -1, "marker")}

    def id(self, timeout_ms: int = 60_000) -> TransactionalId:
        return TransactionalId(self.cluster, self.name, timeout_ms=timeout_ms, protocol=self.protocol)

    def write(self, who: TransactionalId, producer: Producer, *values: bytes) -> None:
        who.add_partitions(producer, [self.here])
        with BatchWriter(who.cluster, who.name, producer, protocol=who.protocol) as writer:
            for sequence, value in enumerate(values):
                writer.write(self.here, sealed(producer, sequence, value))

    def values(self) -> list[bytes | None]:
        return [each.value for each in self.broker.read(self.name)]

    def group_offsets(self) -> dict[TopicPartition, CommittedOffset]:
        return Admin(self.cluster).group_offsets(self.name, require_stable=True)


@pytest.fixture(params=BOTH, ids=lambda each: each.name)
def world(shared: oncelog.Broker, request: pytest.FixtureRequest) -> Iterator[World]:
    if not shared.is_running:  # a test before this one failed half-way
        shared.start()
    with Cluster(shared.bootstrap) as cluster:
        yield World(shared, cluster, request.param)


def sealed(producer: Producer, sequence: int, value: bytes) -> bytes:
    return build_batch(
        [NewRecord(None, value, 1)],
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        transactional=True,
    )


@pytest.mark.parametrize(("level", "wanted"), [(0, TV1), (1, TV1), (2, TV2)])
def test_the_cluster_s_feature_decides_the_protocol(level: int, wanted: TransactionProtocol) -> None:
    with (
        oncelog.Broker(settings={"transaction.version": level}) as broker,
        Cluster(broker.bootstrap) as cluster,
    ):
        assert protocol_of(cluster) is wanted
        world, who = World(broker, cluster, wanted), TransactionalId(cluster, "id")
        producer = who.init()
        world.write(who, producer, b"x")
        following = who.end(producer, commit=True)
        assert (following == producer) == (wanted is TV1)
        assert world.values() == [b"x"]


LOST = ["InitProducerId", "AddPartitionsToTxn", "Produce", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"]
ONLY_TV1 = ("AddPartitionsToTxn", "AddOffsetsToTxn")


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("api", LOST)
def test_an_answer_that_is_lost_is_asked_for_again(world: World, api: str, commit: bool) -> None:
    who = world.id()
    with world.broker.drop_reply(api) as lost:
        producer = who.init()
        world.write(who, producer, b"a", b"b")
        who.commit_offsets(producer, world.name, world.offsets)
        following = who.end(producer, commit=commit)
        assert lost.happened == (world.protocol is TV1 or api not in ONLY_TV1)
    assert world.values() == ([b"a", b"b"] if commit else [])
    assert world.group_offsets() == (world.offsets if commit else {})
    if world.protocol is TV1:
        assert following == producer
        following = who.init()
    assert following.epoch == producer.epoch + 1
    world.write(who, following, b"c")
    who.end(following, commit=True)
    assert world.values()[-1] == b"c"


@pytest.mark.parametrize("place", ["after init", "after write", "after offsets"])
def test_a_broker_that_is_killed_in_between_changes_nothing(world: World, place: str) -> None:
    who = world.id()

    def maybe_kill(now: str) -> None:
        if now == place:
            world.broker.kill()
            world.broker.start()

    producer = who.init()
    maybe_kill("after init")
    world.write(who, producer, b"a", b"b")
    maybe_kill("after write")
    who.commit_offsets(producer, world.name, world.offsets)
    maybe_kill("after offsets")
    who.end(producer, commit=True)
    assert world.values() == [b"a", b"b"]
    assert world.group_offsets() == world.offsets


@pytest.mark.parametrize("point", ["after_prepare_commit", "after_marker", "before_complete"])
def test_a_commit_that_is_decided_goes_through_a_crash(world: World, point: str) -> None:
    who = world.id()
    producer = who.init()
    world.write(who, producer, b"a")
    crash = world.broker.fail(at=point)

    def start_again() -> None:
        crash.wait()
        world.broker.start()

    helper = threading.Thread(target=start_again)
    helper.start()
    try:
        following = who.end(producer, commit=True)
    finally:
        helper.join()
    assert world.values() == [b"a"]
    if world.protocol is TV2:
        assert following.epoch == producer.epoch + 1


def test_init_waits_for_a_commit_that_was_decided(world: World) -> None:
    """After init the last marker is final: the order that the Spark sink relies on."""
    who = world.id()
    producer = who.init()
    world.write(who, producer, b"a")
    who.commit_offsets(producer, world.name, world.offsets)
    pause = world.broker.pause(at="after_prepare_commit")
    with Cluster(world.broker.bootstrap) as other:
        driver = TransactionalId(other, world.name, protocol=world.protocol)
        ending = threading.Thread(target=driver.end, args=(producer,), kwargs={"commit": True})
        ending.start()
        pause.wait()
        later = threading.Timer(0.3, pause.resume)
        later.start()
        try:
            heir = who.init()
            assert world.group_offsets() == world.offsets
            assert world.values() == [b"a"]
        finally:
            later.join()
            ending.join()
    assert heir.epoch > producer.epoch


def test_a_fenced_producer_is_told_by_whom(world: World) -> None:
    who = world.id()
    producer = who.init()
    world.write(who, producer, b"zombie")
    heir = world.id().init()
    world.write(world.id(), heir, b"heir")
    calls: list[Callable[[], object]] = [
        lambda: who.end(producer, commit=True),
        lambda: who.end(producer, commit=False),
        lambda: who.commit_offsets(producer, world.name, world.offsets),
        lambda: world.write(who, producer, b"late"),
    ]
    for call in calls:
        with pytest.raises(Fenced, match=rf"producer {heir} holds it now \(Ongoing\)") as fault:
            call()
        assert (fault.value.producer, fault.value.current, fault.value.in_doubt) == (producer, heir, False)
        again = pickle.loads(pickle.dumps(fault.value))
        assert (str(again), again.current) == (str(fault.value), heir)
    assert world.values() == []


def test_a_producer_that_was_idle_is_fenced_too_whatever_its_heir_did(world: World) -> None:
    """Its heir has the next epoch and has committed: by TV1 with the same one, which is not the end of ours."""
    who = world.id()
    producer = who.init()
    heir = world.id().init()
    assert heir.epoch == producer.epoch + 1
    world.write(world.id(), heir, b"heir")
    world.id().end(heir, commit=True)
    with pytest.raises(Fenced, match="CompleteCommit"):
        world.write(who, producer, b"late")
    assert world.values() == [b"heir"]


def test_a_task_that_writes_after_the_commit_is_told_that_it_is_over(world: World) -> None:
    """By TV1 because its partition is not in the next transaction, by TV2 because of the epoch."""
    who = world.id()
    producer = who.init()
    world.write(who, producer, b"in")
    who.end(producer, commit=True)
    writer = BatchWriter(who.cluster, who.name, producer, protocol=who.protocol)
    writer.write(world.here, sealed(producer, 1, b"late"))
    with pytest.raises(TransactionLost, match="CompleteCommit"):
        writer.flush()
    writer.close()
    assert world.values() == [b"in"]


def test_a_transaction_whose_time_is_up_is_lost(world: World) -> None:
    who = world.id(timeout_ms=5_000)
    producer = who.init()
    world.write(who, producer, b"slow")
    world.broker.clock.advance(60)
    for call in (lambda: who.end(producer, commit=True), lambda: world.write(who, producer, b"later")):
        with pytest.raises(TransactionLost, match="CompleteAbort of producer") as fault:
            call()
        assert not fault.value.in_doubt
        if world.protocol is TV2:  # an abort of what was aborted is what we wanted
            assert who.end(producer, commit=False) == fault.value.current
    assert world.values() == []


def test_the_next_epoch_is_given_to_the_last_one_only(world: World) -> None:
    """KIP-360: who was fenced does not take the id back by asking for its next epoch."""
    who, other = world.id(), world.id()
    first = who.init()
    second = who.init(first)
    assert second == Producer(first.id, ProducerEpoch(first.epoch + 1))
    with world.broker.drop_reply("InitProducerId") as lost:
        third = who.init(second)
        assert lost.happened
    assert third == Producer(first.id, ProducerEpoch(first.epoch + 2))  # asked twice, bumped once
    world.write(who, third, b"ours")
    who.end(third, commit=True)
    successor = other.init()
    for old in (first, third):
        with pytest.raises(Fenced, match=f"producer {successor} holds it now"):
            who.init(old)
    world.write(other, successor, b"theirs")
    successor = other.end(successor, commit=True)
    world.broker.clock.advance(8 * 86_400)
    assert other.init(successor).id != successor.id  # forgotten: nobody had it, as far as anybody knows


def test_an_id_that_nobody_used_for_days_is_lost_and_not_taken_over(world: World) -> None:
    """transactional.id.expiration.ms: the coordinator forgets it, and says INVALID_PRODUCER_ID_MAPPING as it does to the fenced."""
    who = world.id()
    producer = who.init()
    world.write(who, producer, b"before")
    producer = who.end(producer, commit=True)
    world.broker.clock.advance(8 * 86_400)
    calls = [
        lambda: who.commit_offsets(producer, world.name, world.offsets),
        lambda: world.write(who, producer, b"after"),
        lambda: who.end(producer, commit=True),
    ]
    for call in calls:
        with pytest.raises(TransactionLost, match="has forgotten the transactional id") as fault:
            call()
        assert fault.value.current is None
    successor = world.id().init()
    for call in calls:
        with pytest.raises(Fenced, match=f"producer {successor} holds it now"):
            call()


@pytest.mark.parametrize("world", [TV1], indirect=True)
def test_tv1_clients_beside_each_other_are_not_taken_for_late_copies(world: World) -> None:
    """Decision 0010: the broker knows clients by id and host, and refuses an older connection of the same client."""
    topic = world.broker.topic(f"{world.name}-6", partitions=6)
    with Cluster(world.broker.bootstrap) as other:
        clusters = (world.cluster, other)
        ids = [TransactionalId(each, topic, deadline_ms=3_000, protocol=TV1) for each in clusters]
        for turn in range(2):
            producer = ids[0].init()
            for number in range(6):  # by turns, each on its older or newer connection
                ids[number % 2].add_partitions(producer, [TopicPartition(topic, number)])
            writers = [
                BatchWriter(each, topic, producer, timeout_ms=3_000, protocol=TV1) for each in clusters
            ]
            for number in range(6):
                writers[number % 2].write(TopicPartition(topic, number), sealed(producer, 0, b"%d" % number))
                writers[number % 2].flush()
            for writer in writers:
                writer.close()
            for each in (ids[1 - turn], ids[turn]):  # the one that was second is first the next time
                each.commit_offsets(producer, topic, {TopicPartition(topic, 0): CommittedOffset(1, -1, "")})
            ids[1 - turn].end(producer, commit=True)
    found = sorted(each.value or b"" for each in world.broker.read(topic))
    assert found == [b"%d" % (each // 2) for each in range(12)]


# What only a script can make a broker say


class Script(ScriptedBroker):
    """Looks after every group and transactional id; `says` gives its answers by key, one after the other, the last for ever."""

    def __init__(self) -> None:
        super().__init__({"t": 1})
        self.says: dict[int, list[Any]] = {}
        self.answers[FIND_COORDINATOR] = self._find
        for key in (INIT_PRODUCER_ID, ADD_PARTITIONS, END_TXN):
            self.answers[key] = lambda _, __, key=key: self._next(key)
        self.versions[65] = (9, 9)  # no DescribeTransactions that we speak

    def _find(self, request: Any, _: int) -> FindCoordinatorResponse:
        found = Coordinator(key=request.coordinator_keys[0], node_id=1, host="127.0.0.1", port=self.port)
        return FindCoordinatorResponse(coordinators=[found])

    def _next(self, key: int) -> Any:
        said = self.says[key]
        answer = said.pop(0) if len(said) > 1 else said[0]
        if answer in (Close, Hang):
            raise answer
        return answer


@pytest.fixture
def script() -> Iterator[Script]:
    with Script() as broker:
        yield broker


ME = Producer(ProducerId(9), ProducerEpoch(3))


def test_what_passes_is_waited_out(script: Script) -> None:
    passing = [
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.PRODUCER_FENCED,  # of an init: a race, for it brings no epoch
    ]
    script.says[INIT_PRODUCER_ID] = [
        *(InitProducerIdResponse(error_code=each, producer_id=-1, producer_epoch=-1) for each in passing),
        Close,
        InitProducerIdResponse(producer_id=9, producer_epoch=3),
    ]
    script.says[END_TXN] = [
        *(EndTxnResponse(error_code=each) for each in passing[:4]),
        Close,
        EndTxnResponse(producer_id=9, producer_epoch=4),
    ]
    with Cluster(script.bootstrap) as cluster:
        who = TransactionalId(cluster, "id", timeout_ms=1234, protocol=TV2)
        assert who.init() == ME
        assert who.end(ME, commit=True).epoch == 4
    assert len(script.requests(INIT_PRODUCER_ID)) == 7
    assert script.requests(INIT_PRODUCER_ID)[0].transaction_timeout_ms == 1234
    asked = script.requests(END_TXN)
    assert len(asked) == 6
    assert {(each.producer_id, each.producer_epoch, each.committed) for each in asked} == {(9, 3, True)}
    # NOT_COORDINATOR and the like ask anew who it is; CONCURRENT_TRANSACTIONS does not
    assert len(script.requests(FIND_COORDINATOR)) == 1 + 5 + 4


def test_the_request_s_version_is_the_protocol(script: Script) -> None:
    script.says[END_TXN] = [EndTxnResponse()]
    result = AddPartitionsToTxnTopicResult(
        name="t", results_by_partition=[AddPartitionsToTxnPartitionResult(partition_index=0)]
    )
    script.says[ADD_PARTITIONS] = [AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[result])]
    with Cluster(script.bootstrap) as cluster:
        for protocol in BOTH:
            who = TransactionalId(cluster, "id", protocol=protocol)
            who.add_partitions(ME, [HERE])
            who.end(ME, commit=True)
    versions = [(each.key, each.version) for each in script.asked if each.key in (ADD_PARTITIONS, END_TXN)]
    assert versions == [(ADD_PARTITIONS, 3), (END_TXN, 4), (END_TXN, 5)]
    script.versions[END_TXN] = (0, 4)
    with Cluster(script.bootstrap) as cluster, pytest.raises(UnsupportedByBroker, match="version 5"):
        TransactionalId(cluster, "id", protocol=TV2).end(ME, commit=True)


def test_tv2_needs_the_feature_and_the_requests(script: Script) -> None:
    feature = FinalizedFeatureKey(name="transaction.version", max_version_level=2, min_version_level=2)
    for highest, wanted in ((4, TV1), (5, TV2)):
        script.versions[END_TXN] = (0, highest)
        script.answers[18] = lambda _, __: ApiVersionsResponse(
            api_keys=[script._range(each) for each in script.versions],  # pyright: ignore[reportPrivateUsage]  # its own test
            finalized_features=[feature],
        )
        with Cluster(script.bootstrap) as cluster:
            assert protocol_of(cluster) is wanted


def test_a_partition_that_is_refused_is_named_before_those_not_attempted(script: Script) -> None:
    errors = {0: ErrorCode.OPERATION_NOT_ATTEMPTED, 1: ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    result = AddPartitionsToTxnTopicResult(
        name="t",
        results_by_partition=[
            AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=error)
            for index, error in errors.items()
        ],
    )
    script.says[ADD_PARTITIONS] = [AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[result])]
    with Cluster(script.bootstrap) as cluster:
        who = TransactionalId(cluster, "id", protocol=TV1)
        with pytest.raises(RefusedByBroker, match=r"t-1: .* TOPIC_AUTHORIZATION_FAILED"):
            who.add_partitions(ME, [HERE, TopicPartition("t", 1)])


DOUBTS = """
# answers to EndTxn                              commit  fault            in doubt
  Close                                          yes     Unreachable      yes
  Close                                          no      Unreachable      no
  Hang                                           yes     TimedOut         yes
  NOT_COORDINATOR                                yes     RefusedByBroker  yes
  PRODUCER_FENCED                                yes     Fenced           no
  Close,PRODUCER_FENCED                          yes     Fenced           yes
  Close,INVALID_PRODUCER_EPOCH                   yes     Fenced           yes
  INVALID_TXN_STATE                              yes     TransactionLost  no
  Close,INVALID_TXN_STATE                        yes     TransactionLost  no
  Close,TRANSACTIONAL_ID_AUTHORIZATION_FAILED    yes     RefusedByBroker  yes
"""


@pytest.mark.parametrize("line", [line.split() for line in DOUBTS.splitlines() if line and line[0] != "#"])
def test_a_fault_says_whether_the_commit_may_be_in(script: Script, line: list[str]) -> None:
    said: dict[str, Any] = {"Close": Close, "Hang": Hang}
    script.says[END_TXN] = [
        said.get(each) or EndTxnResponse(error_code=ErrorCode[each]) for each in line[0].split(",")
    ]
    kind: type[ClientFault] = {
        each.__name__: each for each in (Unreachable, TimedOut, RefusedByBroker, Fenced, TransactionLost)
    }[line[2]]
    with Cluster(script.bootstrap, timeout_ms=200) as cluster:
        who = TransactionalId(cluster, "id", deadline_ms=300, protocol=TV2)
        with pytest.raises(kind) as fault:
            who.end(ME, commit=line[1] == "yes")
    assert type(fault.value) is kind
    assert fault.value.in_doubt == (line[3] == "yes")
    assert pickle.loads(pickle.dumps(fault.value)).in_doubt == fault.value.in_doubt


def test_a_commit_that_never_left_is_not_in_doubt() -> None:
    with ScriptedBroker() as gone:
        bootstrap = gone.bootstrap
    begun = time.monotonic()
    with Cluster(bootstrap) as cluster, pytest.raises(Unreachable) as fault:
        TransactionalId(cluster, "id", deadline_ms=200, protocol=TV2).end(ME, commit=True)
    assert not fault.value.in_doubt
    assert time.monotonic() - begun >= 0.2


def test_an_id_needs_a_name() -> None:
    with pytest.raises(ValueError, match="wanted a name"):
        TransactionalId(Cluster("127.0.0.1:1"), "")


@pytest.mark.parametrize("lost", [False, True])
def test_an_end_at_the_last_epoch_gives_a_new_producer_id(tmp_path: Path, lost: bool) -> None:
    """After about 16,000 micro-batches the 16-bit epoch is used up (TX-10)."""
    (producer_id,) = at_last_epoch(tmp_path, ["id"])
    last = Producer(ProducerId(producer_id), ProducerEpoch(LAST_EPOCH))
    with oncelog.Broker(data_dir=str(tmp_path)) as broker, Cluster(broker.bootstrap) as cluster:
        world = World(broker, cluster, TV2)
        who = TransactionalId(cluster, "id")
        world.write(who, last, b"last")
        if lost:
            broker.drop_reply("EndTxn")
        following = who.end(last, commit=True)
        assert (following.id != producer_id, following.epoch) == (True, 0)
        assert who.end(last, commit=True) == following
        world.write(who, following, b"first")
        assert who.end(following, commit=True) == Producer(following.id, ProducerEpoch(1))
        assert world.values() == [b"last", b"first"]
        with pytest.raises(Fenced, match=f"producer {following.id}/1 holds it now"):
            who.end(last, commit=True)
