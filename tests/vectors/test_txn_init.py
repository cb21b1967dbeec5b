"""Vectors V14 to V20: InitProducerId of a transactional id (spec 8.2)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import oncelog
from oncelog.model import Producer, ProducerEpoch
from oncelog.record.batch import read_header
from oncelog.server.main import Server
from oncelog.tasks import spawn
from tests.vectors.conftest import start
from tests.vectors.play import Target
from tests.vectors.txn_targets import targets
from tests.vectors.txn_wire import LAST_EPOCH, Id, exhaust, transaction

pytestmark = pytest.mark.parametrize("target", targets(), indirect=True, scope="session")

COUNT = 5  # vectors that need an exhausted id


def test_v14_every_instance_gets_the_next_epoch(target: Target) -> None:
    with target.vector("V14") as row, transaction(target, start=False) as one:
        one.start()
        row("first", one.state(), "Empty (P,0)")
        row("second", one.init(), "NONE (P,1)")
        row("third", one.init(), "NONE (P,2)")
        row("v0", one.init(version=0), "NONE (P,3)")


def test_v15_kip_360_with_the_identity_that_is_held(target: Target) -> None:
    with target.vector("V15") as row, transaction(target) as one:
        held = one.producer_id
        row("(P,0)", one.init((held, 0)), "NONE (P,1)")
        row("(P,0) again: a retry", one.init((held, 0)), "NONE (P,1)")
        row("(P,-2) v4", one.init((held, -2), version=4), "PRODUCER_FENCED")
        row("(P,-2) v3", one.init((held, -2), version=3), "INVALID_PRODUCER_EPOCH")
        row("(P+5,0)", one.init((held + 5, 0)), "PRODUCER_FENCED")
        row("(P,9)", one.init((held, 9)), "PRODUCER_FENCED")
        row("(P,1): the next repair", one.init((held, 1)), "NONE (P,2)")
        row("state", one.state(), "Empty (P,2)")


def test_v16_an_unknown_id_with_an_identity(target: Target) -> None:
    with target.vector("V16") as row, transaction(target) as warm:
        stranger = (warm.producer_id + 900_000, 7)
        with transaction(target, start=False) as one:
            row("never seen, with (999,7)", one.init(stranger), "NONE (P,0)")
            row("a new producer id", one.producer_id != stranger[0], True)
            row("again", one.init(stranger), "PRODUCER_FENCED")


def test_v17_init_fences_an_open_transaction_trap_4(target: Target) -> None:
    with target.vector("V17") as row, transaction(target) as one:
        topic = target.topic(partitions=20)
        row("open", one.add([(topic, each) for each in range(20)]), ", ".join(["NONE"] * 20))
        request = (one.init_request(), 5)
        first, second = one.at_once(request, request)
        row("Init", one.said(first), "CONCURRENT_TRANSACTIONS")
        row("Init again at once", one.said(second), "CONCURRENT_TRANSACTIONS")
        if second.error_code:
            one.wait()
        row("state", one.state(), "CompleteAbort (P,1)")
        row("Init when complete", one.init(), "NONE (P,2)")


@dataclass
class Exhausted:
    """A broker and ids on it at epoch 32766; each vector takes one."""

    target: Target
    ids: list[Id]


@pytest.fixture(scope="session")
def exhausted(target: Target, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exhausted]:
    """Kafka is driven there one epoch at a time. Our broker finds such ids in its log, on a data directory of its own."""
    if target.name == "kafka":
        ids = [Id(target) for _ in range(COUNT)]
        exhaust(ids)
        yield Exhausted(target, ids)
        return
    folder = tmp_path_factory.mktemp("exhausted")
    names = [f"exhausted-{each}" for each in range(COUNT)]
    producers = at_last_epoch(folder / "data", names)
    with start(target.name, folder) as own:
        ids = [Id(own, name=name, start=False) for name in names]
        for one, producer_id in zip(ids, producers, strict=True):
            one.holds(producer_id, LAST_EPOCH)
        yield Exhausted(own, ids)


def at_last_epoch(data: Path, names: Sequence[str]) -> list[int]:
    """Makes a data directory in whose __transaction_state every id has used up its epochs; their producer ids."""
    with oncelog.Broker(data_dir=str(data)) as broker:
        target = Target("oncelog", broker)
        ids = [Id(target, name=name) for name in names]
        for one in ids:
            one.connection.close()

        def write(server: Server) -> None:
            for one in ids:
                txn = server.broker.transactions.get(one.name)
                assert txn is not None
                last = txn._replace(producer=Producer(txn.producer.id, ProducerEpoch(LAST_EPOCH)))
                spawn(server.loop, server.broker.transactions.write_record(last)).result()

        broker.run(write)
    return [one.producer_id for one in ids]


def test_v18_v20_an_exhausted_epoch_is_rotated(exhausted: Exhausted) -> None:
    target, one = exhausted.target, exhausted.ids.pop()
    with target.vector("V18") as row:
        row("before", one.state(), "Empty (P,32766)")
        row("Init", one.init(), "NONE (P',0)")
    with target.vector("V20") as row:
        row("Init (P,32766) after a foreign one", one.init((one.producers[0], 32766)), "PRODUCER_FENCED")
        row("state", one.state(), "Empty (P',0)")


def test_v19_kip_360_at_the_last_epoch(exhausted: Exhausted) -> None:
    target, one = exhausted.target, exhausted.ids.pop()
    held = one.producer_id
    with target.vector("V19") as row:
        row("Init (P,5)", one.init((held, 5)), "UNKNOWN_SERVER_ERROR")
        row("Init (P,32766)", one.init((held, 32766)), "NONE (P',0)")
        row("Init (P,32766) again: a retry", one.init((held, 32766)), "NONE (P',0)")
        row("Init (P',0)", one.init((one.producer_id, 0)), "NONE (P',1)")


def test_b17_kafka_19367_a_fence_at_the_last_epoch(exhausted: Exhausted) -> None:
    """TX-8: the open transaction is aborted by (P, 32767), and the newcomer gets the fresh id's next epoch."""
    target, one = exhausted.target, exhausted.ids.pop()
    log = target.partition()
    with target.vector("B17") as row:
        row("open at 32766", one.produce(log, 0), "NONE @0")
        row("Init", one.init(), "CONCURRENT_TRANSACTIONS")
        one.wait()
        row("state", one.state(), "CompleteAbort (P',0)")
        row("Init when complete", one.init(), "NONE (P',1)")
        row(
            "the old one's data",
            one.produce(log, 1, epoch=32766, producer_id=one.producers[0]),
            "INVALID_PRODUCER_EPOCH @-1",
        )


def test_v55_tv2_ends_at_the_last_epoch_trap_7(exhausted: Exhausted) -> None:
    target, one = exhausted.target, exhausted.ids.pop()
    log = target.partition()
    held = one.producer_id
    with target.vector("V55") as row:
        row("data at 32766", one.produce(log, 0), "NONE @0")
        row("commit", one.commit(), "NONE (P',0)")
        one.wait()
        row("retry", one.commit(32766, producer_id=held), "NONE (P',0)")
        row("an older retry", one.commit(32765, producer_id=held), "INVALID_PRODUCER_ID_MAPPING")
        marker = log.fetch(1, isolation=1)
        header = read_header(bytes(marker.records or b""))
        row("marker", f"({one.word(header.producer_id)},{header.producer_epoch})", "(P,32767)")
        row("next transaction", one.produce(log, 0), "NONE @2")
        row("ends", one.commit(), "NONE (P',1)")


def test_v56_tv1_ends_at_the_last_epoch(exhausted: Exhausted) -> None:
    target, one = exhausted.target, exhausted.ids.pop()
    log = target.partition()
    with target.vector("V56") as row:
        row("add", one.add([(log.topic, 0)]), "NONE")
        row("data at 32766", one.produce(log, 0, version=9), "NONE @0")
        row("v3 commit", one.commit(version=3), "NONE")
        one.wait()
        row("retry", one.commit(version=3), "NONE")
        row("Init", one.init(), "NONE (P',0)")
