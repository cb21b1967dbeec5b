"""Transactions of our own client, by both protocols, against oncelog and, with ORACLE=1, against Apache Kafka."""

import time
from collections.abc import Iterator

import pytest

from oncelog.client.admin import LATEST, Admin, CommittedOffset
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.easy import create_topic, read_all
from oncelog.client.faults import Fenced, OffsetOutOfRange, RefusedByBroker, TransactionLost
from oncelog.client.fetcher import PartitionFetcher
from oncelog.client.transactional import TransactionalId, TransactionProtocol
from oncelog.client.visible import visible
from oncelog.errors import ErrorCode
from oncelog.model import Isolation, Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.record.batch import NewRecord, build_batch
from tests.conformance import targets
from tests.toolchains import Missing, leave_out

BOTH = [TransactionProtocol.TV1, TransactionProtocol.TV2]


@pytest.fixture
def cluster(bootstrap: str) -> Iterator[Cluster]:
    with Cluster(bootstrap) as found:
        yield found


@pytest.fixture
def name(bootstrap: str) -> str:
    """Of a fresh topic with two partitions; also used as group and transactional id."""
    fresh = f"own-txn-{time.time_ns()}"
    create_topic(bootstrap, fresh, 2)
    return fresh


def sealed(producer: Producer, sequence: int, values: list[bytes], *, transactional: bool = True) -> bytes:
    return build_batch(
        [NewRecord(None, value, int(time.time() * 1000)) for value in values],
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def write(
    cluster: Cluster, who: TransactionalId, producer: Producer, values: dict[int, list[bytes]]
) -> dict[TopicPartition, list[int]]:
    """One batch for each value, to partitions of the topic that has the id's name."""
    who.add_partitions(producer, [TopicPartition(who.name, each) for each in values])
    with BatchWriter(cluster, who.name, producer, protocol=who.protocol) as writer:
        for partition, mine in values.items():
            for sequence, value in enumerate(mine):
                writer.write(TopicPartition(who.name, partition), sealed(producer, sequence, [value]))
        return writer.flush()


def write_one(cluster: Cluster, who: TransactionalId, producer: Producer, batch: bytes) -> None:
    with BatchWriter(cluster, who.name, producer, protocol=who.protocol) as writer:
        writer.write(TopicPartition(who.name, 0), batch)


def seen(bootstrap: str, topic: str, isolation: str = "committed") -> list[bytes | None]:
    return sorted(
        (each.value for each in read_all(bootstrap, topic, isolation)), key=lambda each: each or b""
    )


def committed_end(cluster: Cluster, partition: TopicPartition) -> int:
    found = Admin(cluster).offsets_at({partition: LATEST}, isolation=Isolation.READ_COMMITTED)
    return found[partition].offset


def appear(bootstrap: str, topic: str, wanted: list[bytes], limit_s: float = 20) -> None:
    """Kafka answers an EndTxn before the markers are written."""
    deadline = time.monotonic() + limit_s
    while (found := seen(bootstrap, topic)) != wanted:
        assert time.monotonic() < deadline, f"wanted {wanted}, found {found}"
        time.sleep(0.02)


@pytest.mark.parametrize("protocol", BOTH)
def test_records_and_offsets_appear_together_or_never(
    bootstrap: str, cluster: Cluster, name: str, protocol: TransactionProtocol
) -> None:
    who, admin, here = (
        TransactionalId(cluster, name, protocol=protocol),
        Admin(cluster),
        TopicPartition(name, 1),
    )
    producer = who.init()
    offsets = write(cluster, who, producer, {0: [b"a", b"b"], 1: [b"c"]})
    assert offsets == {TopicPartition(name, 0): [0, 1], here: [0]}
    who.commit_offsets(producer, name, {here: CommittedOffset(7, -1, '{"b": 0}')})
    assert seen(bootstrap, name) == []
    assert admin.group_offsets(name) == {}
    following = who.end(producer, commit=True)
    appear(bootstrap, name, [b"a", b"b", b"c"])
    assert admin.group_offsets(name, require_stable=True)[here] == CommittedOffset(7, -1, '{"b": 0}')
    if protocol is TransactionProtocol.TV1:
        assert following == producer
        following = who.init()
    assert following == Producer(producer.id, ProducerEpoch(producer.epoch + 1))
    write(cluster, who, following, {0: [b"never"]})
    who.commit_offsets(following, name, {here: CommittedOffset(8, -1, "")})
    who.end(following, commit=False)
    appear(bootstrap, name, [b"a", b"b", b"c"])
    assert b"never" in seen(bootstrap, name, "uncommitted")
    assert admin.group_offsets(name, require_stable=True)[here].offset == 7


@pytest.mark.parametrize("protocol", BOTH)
def test_an_end_may_be_asked_for_twice(
    bootstrap: str, cluster: Cluster, name: str, protocol: TransactionProtocol
) -> None:
    who = TransactionalId(cluster, name, protocol=protocol)
    producer = who.init()
    write(cluster, who, producer, {0: [b"once"]})
    assert who.end(producer, commit=True) == who.end(producer, commit=True)
    with pytest.raises(TransactionLost):  # too late for the other
        who.end(producer, commit=False)
    appear(bootstrap, name, [b"once"])


@pytest.mark.parametrize("protocol", BOTH)
def test_a_newer_init_aborts_and_fences_and_says_who(
    bootstrap: str, cluster: Cluster, name: str, protocol: TransactionProtocol
) -> None:
    older, newer = (TransactionalId(cluster, name, protocol=protocol) for _ in range(2))
    producer = older.init()
    write(cluster, older, producer, {0: [b"zombie"]})
    heir = newer.init()
    assert heir.id == producer.id
    assert heir.epoch == producer.epoch + 2
    with pytest.raises(
        Fenced, match=f"taken over by another producer; producer {heir} holds it now"
    ) as fault:
        older.end(producer, commit=True)
    assert (fault.value.transactional_id, fault.value.producer, fault.value.current) == (name, producer, heir)
    assert not fault.value.in_doubt
    with pytest.raises(Fenced):
        older.commit_offsets(producer, name, {TopicPartition(name, 0): CommittedOffset(1, -1, "")})
    with pytest.raises(Fenced, match=f"Produce to {name}-0 .* taken over"):
        write_one(cluster, older, producer, sealed(producer, 1, [b"late"]))
    write(cluster, newer, heir, {0: [b"heir"]})
    newer.end(heir, commit=True)
    appear(bootstrap, name, [b"heir"])


@pytest.mark.parametrize("target", targets.chosen())
def test_a_transaction_that_times_out_is_lost_not_fenced(target: str) -> None:
    sweep = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
    try:
        with targets.run(target, sweep) as bootstrap, Cluster(bootstrap) as cluster:
            for protocol in BOTH:
                _time_out(bootstrap, cluster, protocol)
    except Missing as why:
        leave_out(f"comparison with {target}", why)


def _time_out(bootstrap: str, cluster: Cluster, protocol: TransactionProtocol) -> None:
    name = f"slow-{protocol.name}"
    create_topic(bootstrap, name, 1)
    who = TransactionalId(cluster, name, timeout_ms=300, protocol=protocol)
    producer = who.init()
    write(cluster, who, producer, {0: [b"too slow"]})
    deadline = time.monotonic() + 40
    # After the coordinator's ABORT marker the last stable offset passes the record.
    while committed_end(cluster, TopicPartition(name, 0)) < 2:
        assert time.monotonic() < deadline, "the coordinator never aborted"
        time.sleep(0.05)
    with pytest.raises(TransactionLost, match=r"CompleteAbort|PrepareAbort") as fault:
        who.end(producer, commit=True)
    assert not fault.value.in_doubt
    with pytest.raises(TransactionLost, match=f"Produce to {name}-0"):
        write_one(cluster, who, producer, sealed(producer, 1, [b"later"]))
    assert seen(bootstrap, name) == []


@pytest.mark.parametrize("protocol", BOTH)
def test_nothing_written_cannot_be_committed(
    cluster: Cluster, name: str, protocol: TransactionProtocol
) -> None:
    who = TransactionalId(cluster, name, protocol=protocol)
    with pytest.raises(TransactionLost, match="nothing was written in it"):
        who.end(who.init(), commit=True)


def test_the_cluster_says_which_protocol(cluster: Cluster, name: str) -> None:
    assert TransactionalId(cluster, name).protocol is TransactionProtocol.TV2


def test_refusals_that_are_final(cluster: Cluster, name: str) -> None:
    who = TransactionalId(cluster, name, timeout_ms=2_000_000_000)
    with pytest.raises(RefusedByBroker, match=r"transaction\.max\.timeout\.ms") as fault:
        who.init()
    assert fault.value.error == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    who = TransactionalId(cluster, name, deadline_ms=200)
    producer = who.init()
    with pytest.raises(RefusedByBroker, match=f"no-{name}-0: .*UNKNOWN_TOPIC_OR_PARTITION"):
        who.commit_offsets(producer, name, {TopicPartition(f"no-{name}", 0): CommittedOffset(1, -1, "")})
    with pytest.raises(RefusedByBroker, match="OFFSET_METADATA_TOO_LARGE"):
        who.commit_offsets(producer, name, {TopicPartition(name, 0): CommittedOffset(1, -1, "x" * 5000)})


def test_a_batch_that_is_too_large_breaks_the_writer(cluster: Cluster, name: str) -> None:
    who = TransactionalId(cluster, name)
    producer = who.init()
    huge = sealed(producer, 0, [bytes(2_000_000)])
    writer = BatchWriter(cluster, name, producer, protocol=who.protocol)
    writer.write(TopicPartition(name, 0), huge)
    for _ in range(2):  # and it stays broken
        with pytest.raises(RefusedByBroker, match=rf"Produce to {name}-0 \({len(huge)} bytes\)") as fault:
            writer.flush()
        assert fault.value.error == ErrorCode.MESSAGE_TOO_LARGE
    writer.close()


def test_a_second_writer_of_the_same_sequences_is_found_by_the_log_end(cluster: Cluster, name: str) -> None:
    """The duplicate guard: the broker takes the second writer's batch for a retry of the first one's."""
    who, here = TransactionalId(cluster, name), TopicPartition(name, 0)
    producer = who.init()
    who.add_partitions(producer, [here])
    offsets: list[tuple[int, int]] = []
    for value in (b"first", b"other"):
        with BatchWriter(cluster, name, producer, protocol=who.protocol) as writer:
            end = writer.log_end(here)
            writer.write(here, sealed(producer, 0, [value]))
            offsets.append((end, writer.flush()[here][0]))
    assert offsets == [(0, 0), (1, 0)]  # 0 is below 1: it was there already
    who.end(producer, commit=False)


def test_batches_outside_of_transactions(bootstrap: str, cluster: Cluster, name: str) -> None:
    nobody, here = Producer(ProducerId(-1), ProducerEpoch(-1)), TopicPartition(name, 0)
    with BatchWriter(cluster, None, nobody) as writer:
        for each in range(10):
            writer.write(here, sealed(nobody, -1, [b"%d" % each, b"x"], transactional=False))
        assert writer.flush() == {here: list(range(0, 20, 2))}
        assert writer.flush() == {}
    assert [each.value for each in read_all(bootstrap, name)][::2] == [b"%d" % each for each in range(10)]


def test_a_range_is_fetched_as_a_reader_would_see_it(bootstrap: str, cluster: Cluster, name: str) -> None:
    """Committed, aborted and committed again, in many batches, read in small answers and from the middle of a batch."""
    who, here = TransactionalId(cluster, name), TopicPartition(name, 0)
    producer = who.init()
    for number in range(6):
        with BatchWriter(cluster, name, producer, protocol=who.protocol) as writer:
            for sequence in range(0, 90, 3):
                values = [b"%d-%d" % (number, sequence + each) + bytes(1000) for each in range(3)]
                writer.write(here, sealed(producer, sequence, values))
        producer = who.end(producer, commit=number % 3 != 1)
    end = 6 * 91
    deadline = time.monotonic() + 20
    while committed_end(cluster, here) < end:
        assert time.monotonic() < deadline, "the last marker never came"
        time.sleep(0.02)
    wanted = [(each.offset, each.value) for each in read_all(bootstrap, name)]
    assert len(wanted) == 4 * 90
    for start, stop, max_bytes in ((0, end, 8_388_608), (0, end, 10_000), (100, 400, 50_000), (1, 2, 1)):
        found: list[tuple[int, bytes | None]] = []
        answers = 0
        for fetched in PartitionFetcher(cluster, here, start=start, stop=stop, max_bytes=max_bytes):
            answers += 1
            part = visible(
                here,
                fetched.data,
                from_offset=fetched.first_offset,
                isolation=Isolation.READ_COMMITTED,
                aborted=fetched.aborted,
            )
            found += [(each.offset, each.value) for each in part.records if each.offset < stop]
            assert part.next_offset == fetched.next_offset or fetched.next_offset == stop
        assert found == [each for each in wanted if start <= each[0] < stop]
        if max_bytes == 10_000:
            assert answers > 50


def test_an_offset_that_is_gone_is_named_with_what_is_there(cluster: Cluster, name: str) -> None:
    nobody, here = Producer(ProducerId(-1), ProducerEpoch(-1)), TopicPartition(name, 0)
    with BatchWriter(cluster, None, nobody) as writer:
        for _ in range(10):
            writer.write(here, sealed(nobody, -1, [b"x"], transactional=False))
    Admin(cluster).delete_records({here: 4})
    for start, stop in ((1, 10), (50, 60)):
        with pytest.raises(OffsetOutOfRange, match="the log holds offsets 4 to 9") as fault:
            list(PartitionFetcher(cluster, here, start=start, stop=stop))
        assert (fault.value.position, fault.value.log_start, fault.value.log_end) == (start, 4, 10)
