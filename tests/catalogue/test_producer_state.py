"""The catalogue's bugs of producer state: sequences, epochs, and what is forgotten when (P rows)."""

import pytest

from oncelog.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.catalogue.client import Txn, wrote
from tests.catalogue.stage import DAY_MS, Stage

MAX = 2_147_483_647


def stage_with_topic(settings: dict[str, str] | None = None) -> Stage:
    stage = Stage(settings)
    stage.topic(partitions=2)
    return stage


def delete_before(stage: Stage, offset: int) -> None:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[partition])])
    (found,) = stage.ask(request, 2).topics[0].partitions
    assert found.error_code == 0


@pytest.mark.parametrize("version", [9, 12])
def test_b5_kafka_14920_a_later_batch_does_not_overtake_one_that_failed_verification(version: int) -> None:
    stage = stage_with_topic()
    one = Txn(stage)
    if version == 9:
        assert one.produce("a", "b", version=9) == "INVALID_TXN_STATE @-1"
        assert one.add(("t", 0)) == "NONE"
    assert one.produce("c", sequence=2, version=version) == "OUT_OF_ORDER_SEQUENCE_NUMBER @-1"
    assert one.produce("a", "b", sequence=0, version=version) == "NONE @0"
    assert one.produce("c", sequence=2, version=version) == "NONE @2"
    assert one.commit().startswith("NONE")
    assert stage.values() == ["a", "b", "c"]


def test_b21_kafka_9144_a_marker_refreshes_a_producer_whose_records_are_old() -> None:
    """Records from long ago, a transaction of now: the epoch that its end brought is remembered for a day from now."""
    stage = stage_with_topic()
    one = Txn(stage)
    stage.clock.wall_shift_ms -= 3 * DAY_MS
    old = one.produce_request("old")
    stage.clock.wall_shift_ms += 3 * DAY_MS
    assert wrote(one.send(old, 12)) == "NONE @0"
    assert one.commit() == "NONE 0/1"
    stage.settle(20 * 60_000)  # expiry looks at it, twice
    (found,) = stage.part().producers()
    assert (found.producer_id, found.epoch) == (one.producer_id, 1)
    stage.crash()
    (found,) = stage.part().producers()
    assert (found.producer_id, found.epoch) == (one.producer_id, 1)


def test_b56_kafka_7692_the_sequence_after_the_largest_is_0() -> None:
    stage = stage_with_topic()
    one = Txn(stage)
    one.add(("t", 0))
    assert one.produce("a", "b", sequence=MAX - 1, version=9) == "NONE @0"
    assert one.produce("c", sequence=1, version=9) == "OUT_OF_ORDER_SEQUENCE_NUMBER @-1"
    assert one.produce("c", sequence=0, version=9) == "NONE @2"
    assert one.produce("a", "b", sequence=MAX - 1, version=9) == "NONE @0"


@pytest.mark.parametrize("clean", [True, False])
def test_b56_kafka_7692_sequences_wrap_inside_a_batch(clean: bool) -> None:
    """KAFKA-7692, KAFKA-5283: also in what a snapshot and a replay know of it."""
    stage = stage_with_topic()
    one = Txn(stage)
    one.add(("t", 0))
    assert one.produce("a", "b", sequence=MAX - 4, version=9) == "NONE @0"
    assert one.produce(*"cdefg", sequence=MAX - 2, version=9) == "NONE @2"  # up to 1
    _ = stage.restart() if clean else stage.crash()
    assert one.produce(*"cdefg", sequence=MAX - 2, version=9) == "NONE @2"  # known again
    assert one.produce("h", sequence=1, version=9) == "OUT_OF_ORDER_SEQUENCE_NUMBER @-1"
    assert one.produce("h", sequence=2, version=9) == "NONE @7"
    assert one.commit(version=3) == "NONE"
    assert stage.values() == list("abcdefgh")


@pytest.mark.parametrize("how", ["at once", "after a restart", "after a crash"])
def test_b57_kafka_7298_only_the_marker_is_left_of_a_producer(how: str) -> None:
    """KAFKA-7298, KAFKA-7190, KAFKA-8483: DeleteRecords took its data, its next sequence is still known."""
    stage = stage_with_topic()
    one = Txn(stage)
    one.add(("t", 0))
    assert one.produce("a", "b", "c", version=9) == "NONE @0"
    assert one.commit(version=3) == "NONE"
    stage.part().roll(stage.clock.wall_ms())
    stage.settle()
    delete_before(stage, 3)
    if how == "after a restart":
        stage.restart()
    elif how == "after a crash":
        stage.crash()
    one.add(("t", 0))
    assert one.produce("x", sequence=7, version=9) == "OUT_OF_ORDER_SEQUENCE_NUMBER @-1"
    assert one.produce("d", sequence=3, version=9) == "NONE @4"
    assert one.commit(version=3) == "NONE"
    assert stage.values() == ["d"]


def test_b57_kafka_7298_a_producer_that_was_forgotten_goes_on_at_any_sequence() -> None:
    """There is no UNKNOWN_PRODUCER_ID to fail with: as in Kafka since 2.5."""
    stage = stage_with_topic()
    one = Txn(stage)
    one.add(("t", 0))
    assert one.produce("a", "b", version=9) == "NONE @0"
    assert one.commit(version=3) == "NONE"
    stage.settle(DAY_MS + 20 * 60_000)
    assert list(stage.part().producers()) == []
    one.add(("t", 0))
    assert one.produce("c", sequence=2, version=9) == "NONE @3"
    assert one.commit(version=3) == "NONE"


@pytest.mark.parametrize("version", [9, 12])
def test_b58_kafka_12152_an_old_sequence_with_a_new_epoch_is_out_of_order(version: int) -> None:
    """On the partition that had nothing in flight when the epoch was bumped, too."""
    stage = stage_with_topic()
    one = Txn(stage)
    for index in (0, 1):
        assert one.produce("a", "b", partition=index) == "NONE @0"
    assert one.commit() == "NONE 0/1"
    if version == 9:
        assert one.init() == "NONE 0/2"
        one.add(("t", 0), ("t", 1))
    for index in (0, 1):
        said = one.produce("c", sequence=2, partition=index, version=version)
        assert said == "OUT_OF_ORDER_SEQUENCE_NUMBER @-1"
    assert one.produce("c", sequence=0, partition=1, version=version) == "NONE @3"


def test_b58_kafka_12152_of_an_idempotent_producer() -> None:
    stage = stage_with_topic()
    one = Txn(stage)
    assert one.produce("a", "b", transactional=False) == "NONE @0"
    one.holds(one.producer_id, 1)
    assert one.produce("c", sequence=2, transactional=False) == "OUT_OF_ORDER_SEQUENCE_NUMBER @-1"
    assert one.produce("c", sequence=0, transactional=False) == "NONE @2"


@pytest.mark.parametrize("version", [9, 12])
def test_r4_redpanda_996e138_a_zombie_stays_out_when_its_partition_forgot_it(version: int) -> None:
    """The partition's memory of producers expires; the coordinator's epoch still fences."""
    stage = stage_with_topic()
    zombie = Txn(stage)
    zombie.produce("a")
    Txn(stage, start=False).init()
    healthy = Txn(stage)
    assert healthy.epoch > zombie.epoch
    stage.settle(DAY_MS + 20 * 60_000)
    assert list(stage.part().producers()) == []
    assert zombie.produce("late", sequence=1, version=version) == "INVALID_PRODUCER_EPOCH @-1"
    assert stage.open_transactions() == []
    assert healthy.produce("b") == "NONE @2"
    assert healthy.commit().startswith("NONE")
    assert stage.values() == ["b"]
