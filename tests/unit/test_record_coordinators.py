"""Records of __consumer_offsets and __transaction_state, byte for byte as Apache Kafka 4.3.1 writes them (spec 3.3)."""

from typing import Final

import pytest

from oncelog.errors import CorruptBatch
from oncelog.record import offsets, txn_state
from oncelog.record.offsets import (
    AssignedPartitions,
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    Key,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    PartitionRacks,
    TargetPartitions,
    TopicPartitionMetadata,
    Value,
)
from oncelog.record.txn_state import TransactionKey, TransactionPartitions, TransactionValue

ID: Final = bytes(range(16))
COMMIT: Final = OffsetCommitKey("g", "t", 3)
GROUP: Final = GroupMetadataKey("g")

KEYS: Final[list[tuple[Key, str]]] = [
    (COMMIT, "000100016700017400000003"),
    (GROUP, "0002000167"),
    (ConsumerGroupMetadataKey("g"), "0003000167"),
    (ConsumerGroupPartitionMetadataKey("g"), "0004000167"),
    (ConsumerGroupMemberMetadataKey("g", "m"), "000500016700016d"),
    (ConsumerGroupTargetAssignmentMetadataKey("g"), "0006000167"),
    (ConsumerGroupTargetAssignmentMemberKey("g", "m"), "000700016700016d"),
    (ConsumerGroupCurrentMemberAssignmentKey("g", "m"), "000800016700016d"),
    (ConsumerGroupRegularExpressionKey("g", "a.*"), "00100001670003612e2a"),
]


def commit(**changes: int | bytes) -> OffsetCommitValue:
    return OffsetCommitValue(offset=7, metadata="me", commit_timestamp=11, **changes)  # pyright: ignore[reportArgumentType]  # ints and an id


def group(stamp: int, rebalance: int, instance: str | None) -> GroupMetadataValue:
    member = MemberMetadata(
        member_id="m",
        group_instance_id=instance,
        client_id="c",
        client_host="/h",
        rebalance_timeout=rebalance,
        session_timeout=10,
        subscription=b"\1\2",
        assignment=b"\3",
    )
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=5,
        protocol="range",
        leader="m",
        current_state_timestamp=stamp,
        members=[member],
    )


EMPTY_GROUP: Final = GroupMetadataValue(
    protocol_type="consumer", generation=5, protocol=None, leader=None, current_state_timestamp=9, members=[]
)
G: Final = "0008636f6e73756d657200000005"
VALUES: Final[list[tuple[Key, Value, int, str]]] = [
    (COMMIT, commit(), 0, "0000000000000000000700026d65000000000000000b"),
    (COMMIT, commit(expire_timestamp=12), 1, "0001000000000000000700026d65000000000000000b000000000000000c"),
    (COMMIT, commit(), 2, "0002000000000000000700026d65000000000000000b"),
    (COMMIT, commit(leader_epoch=2), 3, "000300000000000000070000000200026d65000000000000000b"),
    (
        COMMIT,
        commit(leader_epoch=2, topic_id=ID),
        4,
        "0004000000000000000700000002036d65000000000000000b010010000102030405060708090a0b0c0d0e0f",
    ),
    (
        COMMIT,
        OffsetCommitValue(offset=7, commit_timestamp=11),
        4,
        "00040000000000000007ffffffff01000000000000000b00",
    ),
    (
        GROUP,
        group(-1, -1, None),
        0,
        f"0000{G}000572616e676500016d0000000100016d00016300022f680000000a0000000201020000000103",
    ),
    (
        GROUP,
        group(-1, 20, None),
        1,
        f"0001{G}000572616e676500016d0000000100016d00016300022f68000000140000000a0000000201020000000103",
    ),
    (
        GROUP,
        group(9, 20, None),
        2,
        (
            f"0002{G}000572616e676500016d00000000000000090000000100016d"
            "00016300022f68000000140000000a0000000201020000000103"
        ),
    ),
    (
        GROUP,
        group(9, 20, "i"),
        3,
        (
            f"0003{G}000572616e676500016d00000000000000090000000100016d000169"
            "00016300022f68000000140000000a0000000201020000000103"
        ),
    ),
    (
        GROUP,
        group(9, 20, "i"),
        4,
        (
            "000409636f6e73756d6572000000050672616e6765026d000000000000000902026d02690263032f68"
            "000000140000000a03010202030000"
        ),
    ),
    (GROUP, EMPTY_GROUP, 3, f"0003{G}ffffffff000000000000000900000000"),
    (GROUP, EMPTY_GROUP, 4, "000409636f6e73756d657200000005000000000000000000090100"),
    (KEYS[2][0], ConsumerGroupMetadataValue(epoch=4), 0, "00000000000400"),
    (
        KEYS[2][0],
        ConsumerGroupMetadataValue(epoch=4, metadata_hash=99),
        0,
        "0000000000040100080000000000000063",
    ),
    (
        KEYS[3][0],
        ConsumerGroupPartitionMetadataValue(
            topics=[
                TopicPartitionMetadata(
                    topic_id=ID,
                    topic_name="t",
                    num_partitions=2,
                    partition_metadata=[PartitionRacks(partition=1, racks=["r"])],
                )
            ]
        ),
        0,
        "000002000102030405060708090a0b0c0d0e0f0274000000020200000001020272000000",
    ),
    (
        KEYS[4][0],
        ConsumerGroupMemberMetadataValue(
            instance_id="i",
            rack_id=None,
            client_id="c",
            client_host="/h",
            subscribed_topic_names=["t"],
            subscribed_topic_regex="",
            rebalance_timeout_ms=20,
            server_assignor="uniform",
        ),
        0,
        "00000269000263032f68020274010000001408756e69666f726d01000100",
    ),
    (
        KEYS[4][0],
        ConsumerGroupMemberMetadataValue(
            instance_id=None,
            rack_id="r",
            client_id="c",
            client_host="/h",
            subscribed_topic_names=[],
            subscribed_topic_regex=None,
            rebalance_timeout_ms=20,
            server_assignor=None,
            classic_member_metadata=ClassicMemberMetadata(
                session_timeout_ms=30, supported_protocols=[ClassicProtocol(name="range", metadata=b"\1")]
            ),
        ),
        0,
        "00000002720263032f6801000000001400010010010000001e020672616e676502010000",
    ),
    (KEYS[5][0], ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=4), 0, "00000000000400"),
    (
        KEYS[5][0],
        ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=4, assignment_timestamp=77),
        0,
        "000000000004010008000000000000004d",
    ),
    (
        KEYS[6][0],
        ConsumerGroupTargetAssignmentMemberValue(
            topic_partitions=[TargetPartitions(topic_id=ID, partitions=[0, 2])]
        ),
        0,
        "000002000102030405060708090a0b0c0d0e0f0300000000000000020000",
    ),
    (
        KEYS[7][0],
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=4,
            previous_member_epoch=3,
            state=1,
            assigned_partitions=[AssignedPartitions(topic_id=ID, partitions=[0, 2])],
        ),
        0,
        "000000000004000000030102000102030405060708090a0b0c0d0e0f030000000000000002000100",
    ),
    (
        KEYS[7][0],
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=4,
            previous_member_epoch=3,
            state=0,
            assigned_partitions=[
                AssignedPartitions(topic_id=ID, partitions=[0, 2], assignment_epochs=[4, 1])
            ],
            partitions_pending_revocation=[AssignedPartitions(topic_id=ID, partitions=[5])],
        ),
        0,
        (
            "000000000004000000030002000102030405060708090a0b0c0d0e0f030000000000000002010009"
            "03000000040000000102000102030405060708090a0b0c0d0e0f02000000050000"
        ),
    ),
    (
        KEYS[8][0],
        ConsumerGroupRegularExpressionValue(topics=["a1", "a2"], version=6, timestamp=8),
        0,
        "0000030361310361320000000000000006000000000000000800",
    ),
]


@pytest.mark.parametrize(("key", "wanted"), KEYS)
def test_keys_of_consumer_offsets(key: Key, wanted: str) -> None:
    assert offsets.encode_key(key).hex() == wanted
    assert offsets.decode_key(bytes.fromhex(wanted)) == key


@pytest.mark.parametrize(("key", "value", "version", "wanted"), VALUES)
def test_values_of_consumer_offsets(key: Key, value: Value, version: int, wanted: str) -> None:
    assert offsets.encode_value(key, value, version).hex() == wanted
    assert offsets.decode_value(key, bytes.fromhex(wanted)) == value


@pytest.mark.parametrize(("key", "wanted"), [(key, wanted) for key, _, _, wanted in VALUES])
def test_a_cut_value_is_refused(key: Key, wanted: str) -> None:
    whole = bytes.fromhex(wanted)
    for size in range(len(whole)):
        with pytest.raises(CorruptBatch):
            offsets.decode_value(key, whole[:size])
    with pytest.raises(CorruptBatch, match="1 bytes follow"):
        offsets.decode_value(key, whole + b"\0")


def test_the_versions_that_kafka_writes() -> None:
    assert offsets.encode_value(COMMIT, commit())[:2] == b"\0\4"
    assert offsets.encode_value(COMMIT, commit(expire_timestamp=12))[:2] == b"\0\1"
    assert offsets.encode_value(GROUP, EMPTY_GROUP)[:2] == b"\0\3"


def test_an_old_commit_key_is_read() -> None:
    assert offsets.decode_key(bytes.fromhex("000000016700017400000003")) == COMMIT


@pytest.mark.parametrize("kind", [9, 10, 15, 17, 23, 999])
def test_unknown_key_types_are_skipped(kind: int) -> None:
    assert offsets.decode_key(kind.to_bytes(2, "big") + b"\0\1g") is None


def test_unknown_value_versions_are_skipped() -> None:
    assert offsets.decode_value(COMMIT, b"\0\5" + bytes(30)) is None
    assert txn_state.decode_value(b"\0\2" + bytes(60)) is None
    assert txn_state.decode_key(b"\0\1\0\1x") is None


def test_a_tag_of_a_later_version_is_passed_over() -> None:
    later = "0004000000000000000700000002036d65000000000000000b010902beef"
    assert offsets.decode_value(COMMIT, bytes.fromhex(later)) == commit(leader_epoch=2)


@pytest.mark.parametrize(
    "bomb", ["0000ffffffff0f", "00000269000263032f68ffffffff07", "0000fffffffffffffffff0"], ids=str
)
def test_a_count_is_bounded_by_the_bytes_left(bomb: str) -> None:
    with pytest.raises(CorruptBatch):
        offsets.decode_value(KEYS[4][0], bytes.fromhex(bomb))


TXN_KEY: Final = "000000037476 32".replace(" ", "")
ONGOING: Final = TransactionValue(
    producer_id=3,
    producer_epoch=0,
    timeout_ms=60000,
    status=1,
    partitions=[TransactionPartitions(topic="a", partition_ids=[0])],
    last_update_timestamp=0x1A1DE1C3EB2,
    start_timestamp=0x1A1DE1C3EB2,
    previous_producer_id=3,
)
TXN_VALUES: Final = [
    (
        TransactionValue(
            producer_id=4,
            producer_epoch=0,
            timeout_ms=60000,
            status=0,
            partitions=None,
            last_update_timestamp=0x1A1DE1C4132,
            previous_producer_id=4,
        ),
        "0001 0000000000000004 0000 0000ea60 00 00 000001a1de1c4132 ffffffffffffffff 01 00 08 0000000000000004",
    ),
    (
        ONGOING,
        (
            "0001 0000000000000003 0000 0000ea60 01 02 02 61 02 00000000 00 000001a1de1c3eb2 000001a1de1c3eb2"
            "01 00 08 0000000000000003"
        ),
    ),
    (
        TransactionValue(
            producer_id=4,
            producer_epoch=1,
            timeout_ms=60000,
            status=3,
            partitions=[],
            last_update_timestamp=0x1A1DE1C413B,
            start_timestamp=0x1A1DE1C413B,
            previous_producer_id=4,
            client_transaction_version=2,
        ),
        (
            "0001 0000000000000004 0001 0000ea60 03 01 000001a1de1c413b 000001a1de1c413b"
            "02 00 08 0000000000000004 02 02 0002"
        ),
    ),
]


def test_fmt_3_transaction_state_key() -> None:
    assert txn_state.encode_key(TransactionKey("tv2")).hex() == TXN_KEY
    assert txn_state.decode_key(bytes.fromhex(TXN_KEY)) == TransactionKey("tv2")


@pytest.mark.parametrize(("value", "wanted"), TXN_VALUES)
def test_fmt_3_transaction_state_values(value: TransactionValue, wanted: str) -> None:
    assert txn_state.encode_value(value) == bytes.fromhex(wanted)
    assert txn_state.decode_value(bytes.fromhex(wanted)) == value


def test_fmt_3_transaction_state_version_0_has_no_tags() -> None:
    old = txn_state.encode_value(ONGOING, 0)
    wanted = "0000 0000000000000003 0000 0000ea60 01 00000001 0001 61 00000001 00000000 000001a1de1c3eb2 000001a1de1c3eb2"
    assert old == bytes.fromhex(wanted)
    found = txn_state.decode_value(old)
    assert found is not None
    assert found.previous_producer_id == -1
    assert found.partitions == ONGOING.partitions
