"""The writer of sealed batches: what is under way, what is sent again and in which order, and when it gives up."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import oncelog
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.faults import RefusedByBroker, TimedOut, Unreachable
from oncelog.client.transactional import TransactionalId, TransactionProtocol
from oncelog.errors import CorruptBatch, ErrorCode
from oncelog.model import Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from oncelog.record.batch import NewRecord, build_batch, read_header
from tests.unit.scripted_broker import Close, Hang, ScriptedBroker

PRODUCE = 0
ME = Producer(ProducerId(7), ProducerEpoch(2))
NOBODY = Producer(ProducerId(-1), ProducerEpoch(-1))
HERE = TopicPartition("t", 0)


def sealed(sequence: int, *values: bytes, producer: Producer = ME, transactional: bool = True) -> bytes:
    return build_batch(
        [NewRecord(None, value, 1) for value in values or (b"x",)],
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


class Log(ScriptedBroker):
    """A log that checks sequences as a broker does. `says` has, by number of the batch as it comes, what to say instead."""

    def __init__(self, partitions: int = 1) -> None:
        super().__init__({"t": partitions})
        self.says: dict[int, ErrorCode | type[Exception]] = {}
        self.came: list[tuple[int, bytes]] = []
        self.kept: dict[int, list[tuple[int, bytes]]] = {}  # by partition: sequence and batch
        self.most_at_once = 0
        self.wait_for = 0  # requests that must be here before the first is answered
        self._lock = threading.Lock()
        self.answers[PRODUCE] = self._produce

    def batches(self, partition: int = 0) -> list[bytes]:
        return [batch for _, batch in self.kept.get(partition, [])]

    def _serve(self, client: socket.socket) -> None:
        """As its parent, but reads on while it answers late: several requests may be here."""
        with contextlib.suppress(OSError), client.makefile("rb") as stream:
            waiting: list[bytes] = []
            while True:
                client.settimeout(0.05 if waiting else None)
                try:
                    head = stream.peek(4)[:4]
                    if not head:
                        return
                    client.settimeout(5)
                    (size,) = struct.unpack(">i", stream.read(4))
                    waiting.append(stream.read(size))
                    is_produce = waiting[-1][:2] == b"\0\0"
                    if is_produce:
                        self.most_at_once = max(self.most_at_once, len(waiting))
                    if is_produce and len(waiting) < self.wait_for:
                        continue
                except TimeoutError:
                    stream = client.makefile("rb")  # a file is of no more use after a time-out
                for frame in waiting:
                    try:
                        client.sendall(self._answer(frame))
                    except Hang:
                        continue
                    except Close:
                        client.shutdown(socket.SHUT_RDWR)
                        return
                waiting = []

    def _produce(self, request: ProduceRequest, _: int) -> ProduceResponse:
        with self._lock:
            topics: list[TopicProduceResponse] = []
            fate: type[Exception] | None = None
            for topic in request.topic_data:
                results: list[PartitionProduceResponse] = []
                for data in topic.partition_data:
                    raw = bytes(data.records or b"")
                    said = self.says.get(len(self.came), ErrorCode.NONE)
                    self.came.append((data.index, raw))
                    if isinstance(said, type):
                        fate = said
                        said = ErrorCode.NONE
                    results.append(self._append(data.index, raw, said))
                topics.append(TopicProduceResponse(name=topic.name, partition_responses=results))
            if fate is not None:
                raise fate
            return ProduceResponse(responses=topics)

    def _append(self, index: int, raw: bytes, said: ErrorCode) -> PartitionProduceResponse:
        if said != ErrorCode.NONE:
            return PartitionProduceResponse(index=index, error_code=said, base_offset=-1)
        log, header = self.kept.setdefault(index, []), read_header(raw)
        if header.producer_id >= 0:
            for at, (sequence, _) in enumerate(log):
                if sequence == header.base_sequence:
                    return PartitionProduceResponse(index=index, base_offset=100 * at)
            if header.base_sequence != len(log):
                error = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
                return PartitionProduceResponse(index=index, error_code=error, base_offset=-1)
        log.append((header.base_sequence, raw))
        return PartitionProduceResponse(index=index, base_offset=100 * (len(log) - 1))


@pytest.fixture
def log() -> Iterator[Log]:
    with Log(partitions=3) as broker:
        yield broker


def writer_of(cluster: Cluster, **settings: Any) -> BatchWriter:
    return BatchWriter(cluster, "id", ME, protocol=TransactionProtocol.TV2, **settings)


def test_offsets_come_back_in_the_order_of_writing(log: Log) -> None:
    with Cluster(log.bootstrap) as cluster, writer_of(cluster) as writer:
        for sequence in range(20):
            for partition in (1, 0):
                writer.write(TopicPartition("t", partition), sealed(sequence))
        wanted = [100 * each for each in range(20)]
        assert writer.flush() == {TopicPartition("t", 1): wanted, HERE: wanted}
        assert writer.flush() == {}
        writer.write(HERE, sealed(20))
        assert writer.flush() == {HERE: [2000]}
    assert log.batches(0) == [*log.batches(1)[:20], sealed(20)]


def test_several_requests_are_under_way_but_not_before_one_was_taken(log: Log) -> None:
    """A broker that knows nothing of the producer in this partition may take any batch for its first."""
    with Cluster(log.bootstrap) as cluster, writer_of(cluster) as writer:
        log.wait_for = 2
        writer.write(HERE, sealed(0))
        writer.write(HERE, sealed(1))
        while not log.came:  # it waits for a second one, in vain
            writer.write(HERE, sealed(len(writer._lines[HERE].written)))  # pyright: ignore[reportPrivateUsage]  # how many went in
            time.sleep(0.01)
        assert log.most_at_once == 1
        written = len(writer._lines[HERE].written)  # pyright: ignore[reportPrivateUsage]  # as above
        writer.flush()
        log.wait_for = 8
        for sequence in range(written, written + 50):
            writer.write(HERE, sealed(sequence))
        writer.flush()
    assert log.most_at_once == 5  # what a broker remembers of a producer
    assert len(log.came) == len(log.batches()) == written + 50


def test_plain_batches_go_one_at_a_time(log: Log) -> None:
    log.wait_for = 2
    with Cluster(log.bootstrap) as cluster, BatchWriter(cluster, None, NOBODY) as writer:
        for number in range(4):
            writer.write(HERE, sealed(-1, b"%d" % number, producer=NOBODY, transactional=False))
        assert writer.flush() == {HERE: [0, 100, 200, 300]}
    assert log.most_at_once == 1


def _stand_still(*, wait: bool) -> None:
    assert not wait


def test_one_request_holds_one_batch_of_each_partition_up_to_its_limit(log: Log) -> None:
    batch = sealed(0)
    for limit, wanted in ((10 * len(batch), [3]), (2 * len(batch), [2, 1]), (1, [1, 1, 1])):
        log.asked.clear()
        log.kept.clear()
        with (
            Cluster(log.bootstrap) as cluster,
            BatchWriter(
                cluster, "id", ME, protocol=TransactionProtocol.TV2, request_limit_bytes=limit
            ) as writer,
            pytest.MonkeyPatch.context() as patch,  # until its end nothing leaves
        ):
            patch.setattr(writer, "_turn", _stand_still)
            for partition in range(3):
                writer.write(TopicPartition("t", partition), batch)
        sizes = [
            sum(len(topic.partition_data) for topic in each.topic_data) for each in log.requests(PRODUCE)
        ]
        assert sizes == wanted


def test_the_version_is_the_protocol_s(log: Log) -> None:
    for protocol, version in ((TransactionProtocol.TV1, 11), (TransactionProtocol.TV2, 12), (None, 11)):
        log.asked.clear()
        log.kept.clear()
        with Cluster(log.bootstrap) as cluster, BatchWriter(cluster, "id", ME, protocol=protocol) as writer:
            writer.write(HERE, sealed(0))
        asked = [each for each in log.asked if each.key == PRODUCE]
        assert [(each.version, each.request.transactional_id, each.request.acks) for each in asked] == [
            (version, "id", -1)
        ]


# Sent again

AGAIN = [
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    Close,
]


@pytest.mark.parametrize("said", AGAIN)
@pytest.mark.parametrize("number", [0, 7])
def test_a_batch_that_failed_is_sent_again_with_all_that_followed(
    log: Log, number: int, said: ErrorCode | type[Exception]
) -> None:
    """What was under way behind it is refused as out of order: also sent again, in order, the same bytes."""
    log.says = {number: said}
    sent = [sealed(each, b"%d" % each) for each in range(30)]
    with Cluster(log.bootstrap) as cluster, writer_of(cluster) as writer:
        log.wait_for = 3
        for batch in sent:
            writer.write(HERE, batch)
        assert writer.flush() == {HERE: [100 * each for each in range(30)]}
    assert log.batches() == sent
    assert len(log.came) > 30
    assert {batch for _, batch in log.came} == set(sent)


def test_a_leader_that_moved_is_followed(log: Log) -> None:
    """The new one has what the old one took, as replicas do."""
    with Log() as new, Cluster(log.bootstrap) as cluster, writer_of(cluster) as writer:
        log.peer = new
        for sequence in range(5):
            writer.write(HERE, sealed(sequence))
        writer.flush()
        new.kept = {0: list(log.kept[0])}
        log.says = dict.fromkeys(range(5, 100), ErrorCode.NOT_LEADER_OR_FOLLOWER)
        log.leader = 2
        for sequence in range(5, 20):
            writer.write(HERE, sealed(sequence))
        assert writer.flush() == {HERE: [100 * each for each in range(5, 20)]}
    assert new.batches() == [sealed(each) for each in range(20)]


def test_out_of_order_with_nothing_failed_before_it_is_final(log: Log) -> None:
    with Cluster(log.bootstrap) as cluster:
        writer = writer_of(cluster)
        writer.write(HERE, sealed(0))
        writer.flush()
        writer.write(HERE, sealed(5))
        with pytest.raises(RefusedByBroker, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
            writer.flush()


@pytest.mark.parametrize(
    "error",
    [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER, ErrorCode.TOPIC_AUTHORIZATION_FAILED],
)
def test_a_final_refusal_breaks_the_writer(log: Log, error: ErrorCode) -> None:
    log.says = {1: error}
    with Cluster(log.bootstrap) as cluster:
        writer = writer_of(cluster)
        batch = sealed(1, bytes(500))
        writer.write(HERE, sealed(0))
        writer.flush()
        writer.write(HERE, batch)
        wanted = rf"Produce to t-0 \({len(batch)} bytes\): .* answered {error.name}"
        calls: list[Callable[[], object]] = [writer.flush, writer.flush, lambda: writer.write(HERE, batch)]
        for call in calls:
            with pytest.raises(RefusedByBroker, match=wanted):
                call()
        with pytest.raises(RefusedByBroker), writer:
            pass


def test_a_missing_topic_is_waited_for_a_while_and_named(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oncelog.client.batch_writer.NEW_TOPIC_WAIT_MS", 300)
    with Cluster(log.bootstrap) as cluster, writer_of(cluster) as writer:
        later = threading.Timer(0.1, log.topics.update, ({"late": 1},))
        later.start()
        writer.write(TopicPartition("late", 0), sealed(0))
        assert writer.flush() == {TopicPartition("late", 0): [0]}
        later.join()
    with Cluster(log.bootstrap) as cluster:
        writer = writer_of(cluster)
        writer.write(TopicPartition("never", 0), sealed(0))
        with pytest.raises(RefusedByBroker, match=r"'never'.*UNKNOWN_TOPIC_OR_PARTITION"):
            writer.flush()


# Giving up


def test_memory_is_bounded_and_a_silent_broker_is_given_up(log: Log) -> None:
    log.says = dict.fromkeys(range(1, 1000), Hang)
    batch = sealed(1, bytes(10_000))
    with Cluster(log.bootstrap) as cluster:
        writer = writer_of(cluster, timeout_ms=400, buffer_limit_bytes=3 * len(batch))
        writer.write(HERE, sealed(0))
        writer.flush()
        for _ in range(3):
            writer.write(HERE, batch)
        with pytest.raises(TimedOut, match="Produce to t-0: not acknowledged within 400 ms"):
            writer.write(HERE, batch)  # one too many: it waits


def test_a_broker_that_is_gone_is_given_up_with_the_reason() -> None:
    with Log() as broker:
        cluster = Cluster(broker.bootstrap)
        writer = writer_of(cluster, timeout_ms=300)
        writer.write(HERE, sealed(0))
        writer.flush()
    writer.write(HERE, sealed(1))
    with pytest.raises(Unreachable, match="not acknowledged within 300 ms; last: "):
        writer.flush()
    cluster.close()


def test_a_request_without_an_answer_is_sent_again_on_a_new_connection(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oncelog.client.batch_writer.ANSWER_SLACK_MS", 0)
    log.says = {1: Hang}
    with Cluster(log.bootstrap, timeout_ms=300) as cluster, writer_of(cluster) as writer:
        for sequence in range(2):
            writer.write(HERE, sealed(sequence))
        assert writer.flush() == {HERE: [0, 100]}
    assert len(log.came) == 3


def test_batches_that_are_not_ours_are_not_taken(log: Log) -> None:
    stranger = Producer(ProducerId(7), ProducerEpoch(1))
    with Cluster(log.bootstrap) as cluster, writer_of(cluster) as writer:
        for batch, said in (
            (sealed(0, producer=stranger), "wanted producer 7/2, found 7/1"),
            (sealed(0, transactional=False), "wanted one inside a transaction"),
            (sealed(0) + b"x", "its length says 69 bytes, found 70"),
        ):
            with pytest.raises(ValueError, match=said):
                writer.write(HERE, batch)
        with pytest.raises(CorruptBatch):
            writer.write(HERE, b"short")
    assert log.came == []
    with pytest.raises(ValueError, match="wanted a producer, found -1/-1"):
        BatchWriter(cluster, "id", NOBODY)


# With a broker


@pytest.mark.parametrize("protocol", list(TransactionProtocol))
def test_everything_is_written_once_through_kills_and_lost_answers(protocol: TransactionProtocol) -> None:
    count = 300
    with oncelog.Broker() as broker, Cluster(broker.bootstrap) as cluster:
        topic = broker.topic("t", partitions=2)
        who = TransactionalId(cluster, "id", protocol=protocol)
        producer = who.init()
        partitions = [TopicPartition(topic, each) for each in range(2)]
        who.add_partitions(producer, partitions)
        with BatchWriter(cluster, "id", producer, protocol=protocol) as writer:
            for number in range(count):
                if number % 100 == 25:
                    broker.drop_reply("Produce")
                if number % 100 == 75:  # with requests under way
                    broker.kill()
                    broker.start()
                for each in partitions:
                    writer.write(each, sealed(number, b"%d" % number, producer=producer))
            offsets = writer.flush()
        who.end(producer, commit=True)
        for each in partitions:
            found = [record for record in broker.read(topic) if record.partition == each.partition]
            assert [record.value for record in found] == [b"%d" % number for number in range(count)]
            assert [record.offset for record in found] == offsets[each]
