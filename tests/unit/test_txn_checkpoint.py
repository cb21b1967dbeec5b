"""The checkpoint of __transaction_state: a short cut that is taken when it fits the log, and told about when not.

tests/properties/test_txn_checkpoint.py crashes at every moment; here is one test for each way not to fit.
"""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from oncelog.broker.transaction_log import CHECKPOINT
from oncelog.engine.classic.engine import ClassicEngine
from oncelog.model import TRANSACTION_STATE, Producer, ProducerEpoch, ProducerId
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest
from oncelog.record.crc import crc32c
from oncelog.server.main import Server
from oncelog.tasks import spawn
from oncelog.txn.image import CRC_FROM
from oncelog.txn.state import State, Txn
from tests.catalogue.client import Txn as Client
from tests.catalogue.stage import Refusing, Stage
from tests.unit.txn_world import broker_of, running
from tests.vectors.play import Target
from tests.vectors.txn_wire import Id

ONE = {"transaction.state.log.num.partitions": "1"}
LOG_BYTES = "txn.load.log_bytes"
FROM_CHECKPOINT = "txn.load.partitions_from_checkpoint"


def staged(**settings: str) -> Stage:
    """Two ids: one has a transaction under way, one is at rest."""
    stage = Stage({**ONE, **settings})
    stage.topic()
    for name in ("busy", "quiet"):
        one = Client(stage, name)
        one.add(("t", 0))
        if name == "quiet":
            one.commit()
    return stage


def counted(stage: Stage) -> tuple[int, int]:
    counters = stage.broker.counters
    return counters.get(FROM_CHECKPOINT), counters.get(LOG_BYTES)


def known(stage: Stage) -> dict[str, str]:
    return {txn.transactional_id: txn.state.kafka_name for txn in stage.broker.transactions.all()}


BOTH = {"busy": "Ongoing", "quiet": "CompleteCommit"}


def content(stage: Stage) -> bytes:
    file = stage.disk.open(CHECKPOINT)
    return file.read(0, file.size())


def put(stage: Stage, data: bytes) -> None:
    file = stage.disk.open(CHECKPOINT, create=True)
    file.truncate(0)
    file.append((data,))


def sealed(data: bytes) -> bytes:
    return data[:2] + crc32c(data[CRC_FROM:]).to_bytes(4, "big") + data[CRC_FROM:]


def test_after_a_clean_stop_no_log_is_read() -> None:
    stage = staged()
    stage.restart()
    assert counted(stage) == (1, 0)
    assert known(stage) == BOTH
    assert stage.broker.transactions.get("quiet") is not None


def test_nothing_is_written_down_where_nothing_happened() -> None:
    stage = staged()
    stage.restart()
    before = content(stage)
    stage.restart()
    assert content(stage) == before
    stage.disk.remove(CHECKPOINT)
    stage.crash()
    stage.restart()  # what was read of the log was not yet written down
    assert counted(stage) == (1, 0)


def test_what_came_behind_the_checkpoint_is_read_from_the_log() -> None:
    stage = staged()
    stage.restart()
    one = Client(stage, "late")
    one.add(("t", 0))
    Client(stage, "other")
    stage.crash()
    used, read = counted(stage)
    assert used == 1
    assert 0 < read < stage.part(TRANSACTION_STATE).size_bytes / 2 + 200
    assert known(stage) == {**BOTH, "other": "Empty", "late": "Ongoing"}


def test_a_checkpoint_is_written_when_enough_log_is_behind_the_last() -> None:
    stage = Stage({**ONE, "transaction.state.log.checkpoint.bytes": "2000"})
    stage.topic()
    one = Client(stage, "refunds")
    for _ in range(40):
        assert one.produce("x").startswith("NONE")
        assert one.commit().startswith("NONE")
        stage.settle()
    size = stage.part(TRANSACTION_STATE).size_bytes
    assert size / 3000 < stage.broker.figures().times["txn.checkpoint"].count <= size / 2000
    stage.crash()
    used, read = counted(stage)
    assert used == 1
    assert read < 3000
    assert known(stage) == {"refunds": "CompleteCommit"}


def missing(stage: Stage) -> None:
    stage.disk.remove(CHECKPOINT)


def damaged(stage: Stage) -> None:
    data = content(stage)
    put(stage, data[:40] + bytes([data[40] ^ 4]) + data[41:])


def torn(stage: Stage) -> None:
    put(stage, content(stage)[:-9])


def empty(stage: Stage) -> None:
    put(stage, b"")


def later_version(stage: Stage) -> None:
    put(stage, b"\x00\x01" + content(stage)[2:])


def other_topic(stage: Stage) -> None:
    data = content(stage)
    put(stage, sealed(data[:6] + bytes(16) + data[22:]))


def beyond_the_log(stage: Stage) -> None:
    data = content(stage)
    end = int.from_bytes(data[42:50], "big")
    put(stage, sealed(data[:42] + (end + 1).to_bytes(8, "big") + data[50:]))


def of_a_later_epoch(stage: Stage) -> None:
    data = content(stage)
    put(stage, sealed(data[:30] + (99).to_bytes(4, "big") + data[34:]))


UNFIT = [
    (missing, "checkpoint_missing"),
    (damaged, "its CRC is"),
    (torn, "its CRC is"),
    (empty, "0 bytes, wanted at least 26"),
    (later_version, "version 1, wanted 0"),
    (other_topic, "it is of topic id 0000"),
    (beyond_the_log, "leader epoch 0 ends at"),
    (of_a_later_epoch, "leader epoch 99 ends at -1"),
]


@pytest.mark.parametrize(("spoil", "said"), UNFIT, ids=lambda each: getattr(each, "__name__", ""))
def test_a_checkpoint_that_does_not_fit_is_told_about_and_the_log_is_read(
    spoil: Callable[[Stage], None], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage = staged()
    stage.run(stage.broker.stop())
    stage.loop.drop_all()
    spoil(stage)
    with caplog.at_level(logging.INFO, "oncelog.transactions"):
        stage.crash()
    used, read = counted(stage)
    assert used == 0
    assert read == stage.part(TRANSACTION_STATE).size_bytes
    assert known(stage) == BOTH
    assert sum(said in line for line in caplog.messages) == 1
    stage.settle(100)
    stage.crash()  # what did not fit was replaced
    assert counted(stage)[0] == (0 if spoil is missing else 1)
    assert known(stage) == BOTH


def test_records_deleted_since_are_not_brought_back() -> None:
    stage = staged()
    stage.restart()
    stage.run(stage.part(TRANSACTION_STATE).delete_records(-1))
    stage.crash()
    assert counted(stage) == (0, 0)
    assert known(stage) == {}


def test_a_cut_log_is_not_taken_for_whole_when_it_has_grown_again() -> None:
    """durability=process and a power cut: the log lost what the checkpoint covers, then got other records."""
    stage = staged()
    log = stage.part(TRANSACTION_STATE)
    before, size = log.log_end_offset, log.size_bytes
    lost = Client(stage, "lost")
    assert lost.add(("t", 0)) == "NONE"
    stage.run(stage.broker.transactions.stop())
    covering = content(stage)
    stage.disk.open(f"{TRANSACTION_STATE}-0/{0:020}.log").truncate(size)
    stage.crash()
    assert known(stage) == BOTH
    assert stage.part(TRANSACTION_STATE).log_end_offset == before
    found = Client(stage, "found")
    for _ in range(3):
        assert found.produce("x").startswith("NONE")
        assert found.commit().startswith("NONE")
    put(stage, covering)
    stage.crash()
    assert known(stage) == {**BOTH, "found": "CompleteCommit"}


def test_a_refused_record_is_in_no_checkpoint() -> None:
    stage = staged()
    busy = Client(stage, "third")
    assert busy.produce("x").startswith("NONE")
    with Refusing(stage.part(TRANSACTION_STATE)):
        assert busy.commit() == "COORDINATOR_NOT_AVAILABLE"
    stage.restart()
    assert counted(stage) == (1, 0)
    assert known(stage) == {**BOTH, "third": "Ongoing"}


def test_a_refused_tombstone_is_in_no_checkpoint() -> None:
    stage = staged(**{"transactional.id.expiration.ms": "3600000"})
    with Refusing(stage.part(TRANSACTION_STATE)) as refusing:
        stage.clock.wall_shift_ms += 3_600_000
        stage.settle(3_600_000)
        assert refusing.refused
    stage.clock.wall_shift_ms -= 3_600_000
    stage.restart()
    assert counted(stage) == (1, 0)
    assert "quiet" in known(stage)


def test_why_an_epoch_was_bumped_is_told_when_that_is_durable() -> None:
    stage = Stage({**ONE, "durability": "power"})
    Client(stage, "refunds")
    request = InitProducerIdRequest(transactional_id="refunds", transaction_timeout_ms=60_000)
    answer = stage.begin(request, 4)

    def bumped_to() -> int:
        bump = stage.broker.transactions.bump_of("refunds")
        return -1 if bump is None else bump.producer.epoch

    assert not answer.done()
    assert bumped_to() == 0
    assert stage.run(answer).producer_epoch == 1
    assert bumped_to() == 1
    stage.crash("power")
    assert bumped_to() == 1


def test_ids_that_nobody_asked_for_expire_too() -> None:
    stage = staged(**{"transactional.id.expiration.ms": "3600000"})
    stage.restart()
    stage.clock.wall_shift_ms += 3_600_000
    stage.settle(3_600_000)
    stage.settle()
    assert "quiet" not in known(stage)
    assert stage.written("quiet")[-1] is None
    stage.restart()
    assert "quiet" not in known(stage)


def test_an_expired_id_stays_gone_when_the_cleaner_has_taken_its_tombstone() -> None:
    """The checkpoint of the clean stop knows the id; all that tells of its end is a tombstone behind it."""
    stage = staged(
        **{
            "transactional.id.expiration.ms": "3600000",
            "transaction.state.log.segment.bytes": "1024",
            "log.cleaner.delete.retention.ms": "0",
            "log.cleaner.enable": "false",
        }
    )
    stage.restart()
    stage.clock.wall_shift_ms += 3_600_000
    stage.settle(3_600_000)
    assert "quiet" not in known(stage)
    engine = stage.broker.engine
    assert isinstance(engine, ClassicEngine)
    for _ in range(2):  # the first round gives the tombstone its time, the second may take it
        for number in range(20):  # the tombstone's segment is full, and there is something to clean
            assert Client(stage, f"later-{number}").produce("x").startswith("NONE")
        stage.settle(100_000)  # recovery points are written
        stage.run(engine.run_cleaner(TRANSACTION_STATE, 0))
    stage.crash()
    assert stage.broker.counters.get(FROM_CHECKPOINT) == 1
    assert "quiet" not in known(stage)


def test_a_start_reads_what_is_under_way_and_a_bounded_tail_not_the_log(tmp_path: Path) -> None:
    """60,000 state records of 200 ids, 20 of them with a transaction under way."""
    settings = {"transaction.state.log.num.partitions": 5, "transaction.state.log.checkpoint.bytes": 100_000}
    with running(settings, data_dir=tmp_path / "data") as target:
        Id(target, name="first").connection.close()
        for epoch in range(100):
            broker_of(target).run(lambda server, epoch=epoch: fill(server, range(200), epoch, ENDED))
        broker_of(target).run(lambda server: fill(server, range(20), 100, [State.ONGOING]))
        size = state_log_bytes(target)
        broker_of(target).kill()
        broker_of(target).start()
        assert size > 5_000_000
        assert read_at_start(target) < size / 4
        assert under_way(target) == 20
        broker_of(target).restart()
        assert read_at_start(target) == 0
        assert under_way(target) == 20
        (tmp_path / "data" / CHECKPOINT).unlink()
        broker_of(target).restart()
        assert read_at_start(target) == size  # deleting it loses nothing but time
        assert under_way(target) == 20


ENDED = [State.ONGOING, State.PREPARE_COMMIT, State.COMPLETE_COMMIT]


def fill(server: Server, ids: range, epoch: int, states: list[State]) -> None:
    now = server.clock.wall_ms()
    for number in ids:
        for state in states:
            txn = Txn(
                transactional_id=f"refunds-{number}",
                producer=Producer(ProducerId(number), ProducerEpoch(epoch)),
                previous_producer_id=ProducerId(number),
                timeout_ms=600_000,
                state=state,
                start_ms=now,
                update_ms=now,
                client_version=2,
            )
            spawn(server.loop, server.broker.transactions.write_record(txn)).result()


def state_log_bytes(target: Target) -> int:
    return broker_of(target).run(
        lambda server: sum(each.size_bytes for each in server.engine.topics[TRANSACTION_STATE].partitions)
    )


def read_at_start(target: Target) -> int:
    return broker_of(target).run(lambda server: server.broker.counters.get(LOG_BYTES))


def under_way(target: Target) -> int:
    return broker_of(target).run(
        lambda server: sum(txn.state is State.ONGOING for txn in server.broker.transactions.all())
    )
