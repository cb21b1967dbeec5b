"""The records of __consumer_offsets, in Kafka's format. schema.py tells how the fields become bytes.

key type 0, 1  offset commit: group, topic, partition (0 is an old form, read only)
           2  classic group: group                     3  consumer group (KIP-848): group
           4  its topics' partitions, no longer written  5  a member's subscription: group, member
           6  target assignment's epoch: group         7  target assignment of a member: group, member
           8  present assignment of a member: group, member
          16  a regular expression's topics: group, expression
A null value removes. Other types (share and streams groups) are skipped.
"""

from dataclasses import dataclass, field
from typing import Final

from oncelog.errors import CorruptBatch
from oncelog.record.schema import NEVER, Field, Structure, decode, encode, fields

NO_TOPIC_ID: Final = bytes(16)


@dataclass(frozen=True, slots=True)
class OffsetCommitKey:
    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class GroupMetadataKey:
    group: str


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadataKey:
    group_id: str


@dataclass(frozen=True, slots=True)
class ConsumerGroupPartitionMetadataKey:
    group_id: str


@dataclass(frozen=True, slots=True)
class ConsumerGroupMemberMetadataKey:
    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class ConsumerGroupTargetAssignmentMetadataKey:
    group_id: str


@dataclass(frozen=True, slots=True)
class ConsumerGroupTargetAssignmentMemberKey:
    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class ConsumerGroupCurrentMemberAssignmentKey:
    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class ConsumerGroupRegularExpressionKey:
    group_id: str
    regular_expression: str


Key = (
    OffsetCommitKey
    | GroupMetadataKey
    | ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ConsumerGroupRegularExpressionKey
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitValue:
    """`expire_timestamp` is -1 but for commits with a retention of their own, which version 1 holds."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int
    expire_timestamp: int = -1
    topic_id: bytes = NO_TOPIC_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata:
    member_id: str
    group_instance_id: str | None = None
    client_id: str
    client_host: str
    rebalance_timeout: int = -1
    session_timeout: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataValue:
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp: int = -1
    members: list[MemberMetadata]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMetadataValue:
    epoch: int
    metadata_hash: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRacks:
    partition: int
    racks: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitionMetadata:
    topic_id: bytes
    topic_name: str
    num_partitions: int
    partition_metadata: list[PartitionRacks]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupPartitionMetadataValue:
    topics: list[TopicPartitionMetadata]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicProtocol:
    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMemberMetadata:
    session_timeout_ms: int
    supported_protocols: list[ClassicProtocol]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMemberMetadataValue:
    """`classic_member_metadata` is there for a member that speaks the classic protocol in a consumer group."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: int = -1
    server_assignor: str | None
    classic_member_metadata: ClassicMemberMetadata | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMetadataValue:
    assignment_epoch: int
    assignment_timestamp: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPartitions:
    topic_id: bytes
    partitions: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMemberValue:
    topic_partitions: list[TargetPartitions]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedPartitions:
    """`assignment_epochs`: for each partition the member epoch in which it was assigned."""

    topic_id: bytes
    partitions: list[int]
    assignment_epochs: list[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupCurrentMemberAssignmentValue:
    """`state`: 0 stable, 1 revoking partitions, 2 waiting for partitions of others, 127 unknown."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: list[AssignedPartitions] = field(default_factory=list[AssignedPartitions])
    partitions_pending_revocation: list[AssignedPartitions] = field(default_factory=list[AssignedPartitions])


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupRegularExpressionValue:
    topics: list[str]
    version: int
    timestamp: int


Value = (
    OffsetCommitValue
    | GroupMetadataValue
    | ConsumerGroupMetadataValue
    | ConsumerGroupPartitionMetadataValue
    | ConsumerGroupMemberMetadataValue
    | ConsumerGroupTargetAssignmentMetadataValue
    | ConsumerGroupTargetAssignmentMemberValue
    | ConsumerGroupCurrentMemberAssignmentValue
    | ConsumerGroupRegularExpressionValue
)


@dataclass(frozen=True, slots=True)
class _RecordType:
    number: int
    key: Structure
    value: Structure
    written: int  # the version that Kafka 4.3 writes
    highest: int
    flexible: int  # first flexible version of the value; keys never are


def _of_group(key: type[Key]) -> Structure:
    return Structure(key, fields(("group_id", "string")))


def _of_member(key: type[Key]) -> Structure:
    return Structure(key, fields(("group_id", "string"), ("member_id", "string")))


_COMMIT_KEY: Final = Structure(
    OffsetCommitKey, fields(("group", "string"), ("topic", "string"), ("partition", "int32"))
)
_COMMIT: Final = Structure(
    OffsetCommitValue,
    (
        *fields(("offset", "int64"), ("leader_epoch", "int32", 3), ("metadata", "string")),
        *fields(("commit_timestamp", "int64"), ("expire_timestamp", "int64", 1, 1)),
        Field("topic_id", "uuid", 4, tag=0, default=NO_TOPIC_ID),
    ),
)
_MEMBER: Final = Structure(
    MemberMetadata,
    fields(
        ("member_id", "string"),
        ("group_instance_id", "string?", 3),
        ("client_id", "string"),
        ("client_host", "string"),
        ("rebalance_timeout", "int32", 1),
        ("session_timeout", "int32"),
        ("subscription", "bytes"),
        ("assignment", "bytes"),
    ),
)
_GROUP: Final = Structure(
    GroupMetadataValue,
    (
        *fields(
            ("protocol_type", "string"),
            ("generation", "int32"),
            ("protocol", "string?"),
            ("leader", "string?"),
        ),
        *fields(("current_state_timestamp", "int64", 2)),
        Field("members", "[]structure", structure=_MEMBER),
    ),
)
_CONSUMER_GROUP: Final = Structure(
    ConsumerGroupMetadataValue,
    (Field("epoch", "int32"), Field("metadata_hash", "int64", tag=0, default=0)),
)
_RACKS: Final = Structure(PartitionRacks, fields(("partition", "int32"), ("racks", "[]string")))
_TOPIC_METADATA: Final = Structure(
    TopicPartitionMetadata,
    (
        *fields(("topic_id", "uuid"), ("topic_name", "string"), ("num_partitions", "int32")),
        Field("partition_metadata", "[]structure", structure=_RACKS),
    ),
)
_PARTITION_METADATA: Final = Structure(
    ConsumerGroupPartitionMetadataValue, (Field("topics", "[]structure", structure=_TOPIC_METADATA),)
)
_CLASSIC_PROTOCOL: Final = Structure(ClassicProtocol, fields(("name", "string"), ("metadata", "bytes")))
_CLASSIC_MEMBER: Final = Structure(
    ClassicMemberMetadata,
    (
        Field("session_timeout_ms", "int32"),
        Field("supported_protocols", "[]structure", structure=_CLASSIC_PROTOCOL),
    ),
)
_MEMBER_METADATA: Final = Structure(
    ConsumerGroupMemberMetadataValue,
    (
        *fields(("instance_id", "string?"), ("rack_id", "string?"), ("client_id", "string")),
        *fields(("client_host", "string"), ("subscribed_topic_names", "[]string")),
        *fields(("subscribed_topic_regex", "string?"), ("rebalance_timeout_ms", "int32")),
        *fields(("server_assignor", "string?")),
        # Kafka writes the null too: without the tag it would take the member for one of the classic protocol
        Field("classic_member_metadata", "structure?", tag=0, default=..., structure=_CLASSIC_MEMBER),
    ),
)
_TARGET_EPOCH: Final = Structure(
    ConsumerGroupTargetAssignmentMetadataValue,
    (Field("assignment_epoch", "int32"), Field("assignment_timestamp", "int64", tag=0, default=0)),
)
_TARGET_PARTITIONS: Final = Structure(
    TargetPartitions, fields(("topic_id", "uuid"), ("partitions", "[]int32"))
)
_TARGET: Final = Structure(
    ConsumerGroupTargetAssignmentMemberValue,
    (Field("topic_partitions", "[]structure", structure=_TARGET_PARTITIONS),),
)
_ASSIGNED: Final = Structure(
    AssignedPartitions,
    (*fields(("topic_id", "uuid"), ("partitions", "[]int32")), Field("assignment_epochs", "[]int32?", tag=0)),
)
_CURRENT: Final = Structure(
    ConsumerGroupCurrentMemberAssignmentValue,
    (
        *fields(("member_epoch", "int32"), ("previous_member_epoch", "int32"), ("state", "int8")),
        Field("assigned_partitions", "[]structure", structure=_ASSIGNED),
        Field("partitions_pending_revocation", "[]structure", structure=_ASSIGNED),
    ),
)
_EXPRESSION_KEY: Final = Structure(
    ConsumerGroupRegularExpressionKey, fields(("group_id", "string"), ("regular_expression", "string"))
)
_EXPRESSION: Final = Structure(
    ConsumerGroupRegularExpressionValue,
    fields(("topics", "[]string"), ("version", "int64"), ("timestamp", "int64")),
)

_TYPES: Final[dict[type[Key], _RecordType]] = {
    OffsetCommitKey: _RecordType(1, _COMMIT_KEY, _COMMIT, written=4, highest=4, flexible=4),
    GroupMetadataKey: _RecordType(
        2, Structure(GroupMetadataKey, fields(("group", "string"))), _GROUP, written=3, highest=4, flexible=4
    ),
    ConsumerGroupMetadataKey: _RecordType(3, _of_group(ConsumerGroupMetadataKey), _CONSUMER_GROUP, 0, 0, 0),
    ConsumerGroupPartitionMetadataKey: _RecordType(
        4, _of_group(ConsumerGroupPartitionMetadataKey), _PARTITION_METADATA, 0, 0, 0
    ),
    ConsumerGroupMemberMetadataKey: _RecordType(
        5, _of_member(ConsumerGroupMemberMetadataKey), _MEMBER_METADATA, 0, 0, 0
    ),
    ConsumerGroupTargetAssignmentMetadataKey: _RecordType(
        6, _of_group(ConsumerGroupTargetAssignmentMetadataKey), _TARGET_EPOCH, 0, 0, 0
    ),
    ConsumerGroupTargetAssignmentMemberKey: _RecordType(
        7, _of_member(ConsumerGroupTargetAssignmentMemberKey), _TARGET, 0, 0, 0
    ),
    ConsumerGroupCurrentMemberAssignmentKey: _RecordType(
        8, _of_member(ConsumerGroupCurrentMemberAssignmentKey), _CURRENT, 0, 0, 0
    ),
    ConsumerGroupRegularExpressionKey: _RecordType(16, _EXPRESSION_KEY, _EXPRESSION, 0, 0, 0),
}
_BY_NUMBER: Final = {each.number: each for each in _TYPES.values()} | {0: _TYPES[OffsetCommitKey]}


def encode_key(key: Key) -> bytes:
    kind = _TYPES[type(key)]
    return kind.number.to_bytes(2, "big") + encode(kind.key, key, 0, NEVER)


def encode_value(key: Key, value: Value, version: int | None = None) -> bytes:
    """In the version that Kafka 4.3 writes, unless said otherwise. A commit with an expiry needs version 1."""
    kind = _TYPES[type(key)]
    assert isinstance(value, kind.value.type)  # pyright: ignore[reportArgumentType]  # the types of the table are classes
    if version is None:
        expires = isinstance(value, OffsetCommitValue) and value.expire_timestamp >= 0
        version = 1 if expires else kind.written
    return version.to_bytes(2, "big") + encode(kind.value, value, version, kind.flexible)


def decode_key(data: bytes) -> Key | None:
    """None for a type that we skip. CorruptBatch if it cannot be read."""
    kind = _BY_NUMBER.get(_version(data))
    return None if kind is None else decode(kind.key, data[2:], 0, NEVER)


def decode_value(key: Key, data: bytes) -> Value | None:
    """None for a version that we do not know: the record is skipped with a warning. CorruptBatch if unreadable."""
    kind = _TYPES[type(key)]
    version = _version(data)
    if not 0 <= version <= kind.highest:
        return None
    return decode(kind.value, data[2:], version, kind.flexible)


def _version(data: bytes) -> int:
    if len(data) < 2:
        raise CorruptBatch(f"record of {len(data)} bytes, its type or version needs 2")
    return int.from_bytes(data[:2], "big", signed=True)
