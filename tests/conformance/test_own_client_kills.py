"""A broker is killed or restarted under our client's transactions; ORACLE=1 adds Apache Kafka."""

import threading
import time
from collections.abc import Iterator

import pytest

from oncelog.client.admin import Admin, CommittedOffset
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.easy import create_topic, read_all
from oncelog.client.fetcher import PartitionFetcher
from oncelog.client.transactional import TransactionalId, TransactionProtocol
from oncelog.model import Isolation, Producer, TopicPartition
from oncelog.record.batch import NewRecord, batches, build_batch
from tests.conformance import targets
from tests.conformance.comeback import kill_and_start
from tests.conformance.test_clients_transactions import started_broker
from tests.vectors.play import Broker

BOTH = pytest.mark.parametrize("protocol", list(TransactionProtocol), ids=lambda each: each.name)


@pytest.fixture(scope="module", params=targets.chosen())
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with started_broker(request.param, tmp_path_factory.mktemp("kills")) as found:
        yield found


def sealed(producer: Producer, sequence: int, size: int = 10) -> bytes:
    return build_batch(
        [NewRecord(None, b"%d" % sequence + bytes(size), int(time.time() * 1000))],
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        transactional=True,
    )


@BOTH
def test_a_transaction_goes_on_after_a_kill(broker: Broker, protocol: TransactionProtocol) -> None:
    name = f"kill-{time.time_ns()}"
    here = TopicPartition(name, 0)
    create_topic(broker.bootstrap, name, 1)
    with Cluster(broker.bootstrap, patience_ms=60_000) as cluster:
        who = TransactionalId(cluster, name, protocol=protocol)
        producer = who.init()
        who.add_partitions(producer, [here])
        with BatchWriter(cluster, name, producer, protocol=protocol) as writer:
            for sequence in range(50):
                writer.write(here, sealed(producer, sequence))
            writer.flush()
            kill_and_start(broker, [name], [name])
            for sequence in range(50, 100):
                writer.write(here, sealed(producer, sequence))
            assert writer.flush() == {here: list(range(50, 100))}
        who.commit_offsets(producer, name, {here: CommittedOffset(3, -1, "")})
        who.end(producer, commit=True)
        _until_visible(broker, name, 100)
        assert Admin(cluster).group_offsets(name, require_stable=True)[here].offset == 3


def _until_visible(broker: Broker, topic: str, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(found := read_all(broker.bootstrap, topic)) < count:
        assert time.monotonic() < deadline, f"only {len(found)} of {count} records are visible"
        time.sleep(0.1)
    assert [each.offset for each in found] == list(range(count))


def _away(broker: Broker) -> threading.Timer:
    """Kills it; it comes back by itself."""
    broker.kill()
    back = threading.Timer(0.5, broker.start)
    back.start()
    return back


def test_a_writer_and_a_fetcher_live_through_restarts(broker: Broker) -> None:
    """The broker goes away for as long as it takes, while batches are under way and while they are read."""
    name = f"restart-{time.time_ns()}"
    here = TopicPartition(name, 0)
    create_topic(broker.bootstrap, name, 1)
    count = 400
    back: threading.Timer | None = None
    with Cluster(broker.bootstrap, patience_ms=60_000) as cluster:
        who = TransactionalId(cluster, name, timeout_ms=300_000)
        producer = who.init()
        who.add_partitions(producer, [here])
        with BatchWriter(cluster, name, producer, protocol=who.protocol) as writer:
            for sequence in range(count):
                if sequence == count // 2:
                    back = _away(broker)
                writer.write(here, sealed(producer, sequence, 5_000))
            assert writer.flush() == {here: list(range(count))}
            assert back is not None
            back.join()
        back, found = None, list[int]()
        for fetched in PartitionFetcher(
            cluster, here, start=0, stop=count, isolation=Isolation.READ_UNCOMMITTED, max_bytes=200_000
        ):
            if not found:
                back = _away(broker)
            found += [header.base_offset for _, header in batches(fetched.data)]
        assert back is not None
        back.join()
        assert found == list(range(count))
        kill_and_start(broker, [name], [name])  # Kafka must have come to rest before a transaction is ended
        who.end(producer, commit=True)
        _until_visible(broker, name, count)
