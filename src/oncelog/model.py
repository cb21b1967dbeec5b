"""The words of the domain as types. Everybody may import this; it imports nothing of ours."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NewType

Millis = NewType("Millis", int)
Offset = NewType("Offset", int)
ProducerId = NewType("ProducerId", int)
ProducerEpoch = NewType("ProducerEpoch", int)
TopicId = NewType("TopicId", bytes)  # 16 bytes; NO_TOPIC_ID where the wire says "none"

NO_TOPIC_ID: Final = TopicId(bytes(16))
NO_PRODUCER_ID: Final = ProducerId(-1)  # 0 is a real producer id (TRAP-13): never test one for truth
NO_PRODUCER_EPOCH: Final = ProducerEpoch(-1)

CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE})


class Isolation(IntEnum):
    """What a reader may see. The numbers are those of Fetch and ListOffsets."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class Acks(IntEnum):
    """When a Produce is answered. The numbers are those of the wire."""

    ALL = -1
    NONE = 0
    LEADER = 1


class Origin(IntEnum):
    """Who appends: decides which checks apply (spec 04, section 4.2)."""

    CLIENT = 0
    COORDINATOR = 1
    REPLAY = 2


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class Producer:
    """Identity in every idempotent or transactional request."""

    id: ProducerId
    epoch: ProducerEpoch

    def __str__(self) -> str:
        return f"{self.id}/{self.epoch}"


def java_string_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 code units, wrapping as a signed 32-bit integer."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def coordinator_partition(key: str, partitions: int) -> int:
    """The partition of an internal topic that owns a group id or a transactional id (spec 0.5, TRAP-12).

    Java's abs of the smallest integer stays negative, and Kafka maps it to 0: not the same as clearing the sign bit.
    """
    value = java_string_hash(key)
    return (0 if value == -(1 << 31) else abs(value)) % partitions
