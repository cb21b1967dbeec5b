"""The catalogue's bugs of transactional offsets: pending values, markers, members that leave meanwhile (B and R rows)."""

import pytest

from oncelog.client.faults import error_name
from oncelog.errors import ErrorCode
from oncelog.model import CONSUMER_OFFSETS, coordinator_partition
from oncelog.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from oncelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from oncelog.protocol.messages.sync_group import SyncGroupRequest
from oncelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.catalogue.client import Txn, committed, offset_of
from tests.catalogue.stage import Refusing, Stage

TOO_LONG = "m" * 5_000
MIXED = [(0, 5, "fine"), (1, 6, TOO_LONG)]


def stage_with_topic(settings: dict[str, str] | None = None) -> Stage:
    stage = Stage(settings)
    stage.topic(partitions=3)
    return stage


def group_partition(stage: Stage, group: str) -> int:
    return coordinator_partition(group, len(stage.engine.topics[CONSUMER_OFFSETS].partitions))


class Member:
    """The only member of a classic group, in its first generation."""

    def __init__(self, stage: Stage, group: str) -> None:
        self.stage, self.group = stage, group
        self.id = stage.ask(self._join(""), 5).member_id
        self.generation = stage.ask(self._join(self.id), 5).generation_id
        sync = SyncGroupRequest(group_id=group, generation_id=self.generation, member_id=self.id)
        assert stage.ask(sync, 3).error_code == 0

    def _join(self, member_id: str) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")],
        )

    def leave(self, connection: int) -> None:
        request = LeaveGroupRequest(group_id=self.group, members=[MemberIdentity(member_id=self.id)])
        assert self.stage.ask(request, 4, connection=connection).error_code == 0


def test_b8_kafka_15784_the_member_is_looked_at_after_the_wait() -> None:
    """It left while the transaction was extended by the group's partition: its offsets come too late."""
    stage = stage_with_topic()
    member = Member(stage, "g")
    one = Txn(stage)
    request = one.offsets_request("g", [(0, 5, "")], generation=member.generation, member=member.id)
    waiting = stage.pause("after_ongoing")
    asked = one.begin(request, 5)
    stage.settle()
    assert waiting.reached.done()
    assert not asked.done()
    member.leave(connection=2)
    waiting.resume()
    assert committed(stage.run(asked)) == "UNKNOWN_MEMBER_ID"
    assert offset_of(stage, "g") == "NONE -1"
    assert one.commit() == "NONE 0/1"
    assert offset_of(stage, "g") == "NONE -1"


@pytest.mark.parametrize("commit", [True, False])
def test_b10_kafka_16371_mixed_validity_txn_offset_commit(commit: bool) -> None:
    """One of two has too much metadata: it is refused alone, and nothing of it stays pending."""
    stage = stage_with_topic()
    one = Txn(stage)
    assert committed(one.send(one.offsets_request("g", MIXED), 5)) == "NONE, OFFSET_METADATA_TOO_LARGE"
    assert offset_of(stage, "g", index=0) == "UNSTABLE_OFFSET_COMMIT -1"
    assert offset_of(stage, "g", index=1) == "NONE -1"
    _ = one.commit() if commit else one.abort()
    assert offset_of(stage, "g", index=0) == ("NONE 5" if commit else "NONE -1")
    assert offset_of(stage, "g", index=1) == "NONE -1"
    stage.crash()
    assert offset_of(stage, "g", index=0) == ("NONE 5" if commit else "NONE -1")
    assert offset_of(stage, "g", index=1) == "NONE -1"


@pytest.mark.parametrize("error", [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.NOT_ENOUGH_REPLICAS])
def test_b10_kafka_16371_a_write_of_offsets_that_is_refused_leaves_nothing_pending(error: ErrorCode) -> None:
    stage = stage_with_topic()
    one = Txn(stage)
    at = group_partition(stage, "g")
    with Refusing(stage.part(CONSUMER_OFFSETS, at), error):
        assert one.commit_offset("g", 5) in ("UNKNOWN_SERVER_ERROR", "COORDINATOR_NOT_AVAILABLE")
    assert offset_of(stage, "g") == "NONE -1"
    assert one.commit_offset("g", 6) == "NONE"
    assert one.commit() == "NONE 0/1"
    assert offset_of(stage, "g") == "NONE 6"


@pytest.mark.parametrize("durability", ["process", "power"])
def test_b13_kafka_17507_a_marker_is_answered_when_its_offsets_are_in_effect(durability: str) -> None:
    stage = stage_with_topic({"durability": durability})
    one = Txn(stage)
    at = group_partition(stage, "g")
    for number in range(10):
        assert one.commit_offset("g", number) == "NONE"
        marker = WritableTxnMarker(
            producer_id=one.producer_id,
            producer_epoch=one.epoch,
            transaction_result=True,
            topics=[WritableTxnMarkerTopic(name=CONSUMER_OFFSETS, partition_indexes=[at])],
            transaction_version=0,
        )
        (answer,) = stage.ask(WriteTxnMarkersRequest(markers=[marker]), 2, connection=3).markers
        assert answer.topics[0].partitions[0].error_code == 0
        asked_ms = stage.loop.now_ms
        assert offset_of(stage, "g") == f"NONE {number}"
        assert stage.loop.now_ms == asked_ms  # nothing had to be waited for
        assert one.abort().startswith("NONE")  # comes too late for these offsets
        assert offset_of(stage, "g") == f"NONE {number}"


@pytest.mark.parametrize("reply", ["complete", "prepared"])
def test_b13_kafka_17507_offsets_of_the_next_transaction_do_not_collide(reply: str) -> None:
    stage = stage_with_topic({"end.txn.reply": reply, "durability": "power"})
    one = Txn(stage)
    for number in range(20):
        said = "CONCURRENT_TRANSACTIONS"
        while said == "CONCURRENT_TRANSACTIONS":  # with Kafka's timing the client has to ask again
            said = one.commit_offset("g", number)
            stage.settle(1)
        assert said == "NONE"
        ended = one.commit() if number % 2 == 0 else one.abort()
        assert ended.startswith("NONE")
    stage.settle()
    assert offset_of(stage, "g") == "NONE 18"


def test_b33_kafka_13099_offsets_of_a_deleted_topic_go_where_only_small_batches_are_allowed() -> None:
    """The same of offsets: their tombstones are written in as many batches as it takes."""
    stage = Stage({"message.max.bytes": "2000", "offsets.topic.num.partitions": "1"})
    gone, stays = "a-topic-with-a-name-of-usual-length", "another-one"
    for topic in (gone, stays):
        stage.topic(topic, 60)
        for first in range(0, 60, 5):
            one = Txn(stage)
            offsets = [(index, 7, "") for index in range(first, first + 5)]
            assert committed(one.send(one.offsets_request("g", offsets, topic=topic), 5)) == "NONE"
            assert one.commit().startswith("NONE")
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=gone)], timeout_ms=1_000)
    assert stage.ask(request, 6).responses[0].error_code == 0
    stage.crash()
    assert {offset_of(stage, "g", topic=gone, index=index) for index in range(60)} == {"NONE -1"}
    assert {offset_of(stage, "g", topic=stays, index=index) for index in range(60)} == {"NONE 7"}


def test_b59_kafka_13288_a_search_for_hanging_transactions_sees_internal_topics() -> None:
    """DescribeProducers shows who pins __consumer_offsets, and WriteTxnMarkers of an admin ends it."""
    stage = stage_with_topic()
    one = Txn(stage)
    one.commit_offset("g", 5)
    at = group_partition(stage, "g")
    request = DescribeProducersRequest(topics=[TopicRequest(name=CONSUMER_OFFSETS, partition_indexes=[at])])

    def found() -> list[tuple[int, int, int]]:
        (partition,) = stage.ask(request, 0).topics[0].partitions
        assert error_name(partition.error_code) == "NONE"
        return [
            (each.producer_id, each.producer_epoch, each.current_txn_start_offset)
            for each in partition.active_producers
        ]

    assert found() == [(one.producer_id, 0, 0)]
    marker = WritableTxnMarker(
        producer_id=one.producer_id,
        producer_epoch=0,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=CONSUMER_OFFSETS, partition_indexes=[at])],
    )
    stage.ask(WriteTxnMarkersRequest(markers=[marker]), 1)
    assert found() == [(one.producer_id, 0, -1)]
    assert offset_of(stage, "g") == "NONE -1"
