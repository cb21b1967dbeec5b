"""The records of __transaction_state, in Kafka's format. schema.py tells how the fields become bytes.

key     int16 type 0, string transactional id
value   int16 version (0, or 1: flexible), int64 producer id, int16 producer epoch, int32 timeout, int8 status,
        nullable list of {string topic, list of int32 partition}, int64 last update, int64 start (-1: none), and in
        version 1 the tags 0 previous producer id, 1 next producer id, 2 the client's transaction version, 3 next epoch
The partitions of an Empty transaction are null, of any other without partitions an empty list (FMT-3).

Why the epoch of an id was last bumped is a record of its own, behind the state that has the epoch; Kafka skips types of
keys that it does not know (KIP-915), and so do we:
key     int16 type 1000, string transactional id
value   int16 version 1000 (flexible), int64 producer id, int16 producer epoch, string cause, int64 when, nullable string
        client id, nullable string address and int32 port (-1) of who asked
"""

from dataclasses import dataclass
from typing import Final

from oncelog.errors import CorruptBatch
from oncelog.record.schema import NEVER, Field, Structure, decode, encode, fields

KEY_TYPE: Final = 0
BUMP_TYPE: Final = 1000  # of the key, and the version of its value: no reader of states takes it for one
HIGHEST_VERSION: Final = 1
FLEXIBLE: Final = 1


@dataclass(frozen=True, slots=True)
class TransactionKey:
    transactional_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionPartitions:
    topic: str
    partition_ids: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionValue:
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    status: int
    partitions: list[TransactionPartitions] | None
    last_update_timestamp: int
    start_timestamp: int = -1
    previous_producer_id: int = -1
    next_producer_id: int = -1
    client_transaction_version: int = 0
    next_producer_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class BumpValue:
    producer_id: int
    producer_epoch: int
    cause: str
    at_ms: int
    client_id: str | None
    client_host: str | None
    client_port: int


_KEY: Final = Structure(TransactionKey, fields(("transactional_id", "string")))
_PARTITIONS: Final = Structure(
    TransactionPartitions, fields(("topic", "string"), ("partition_ids", "[]int32"))
)
_VALUE: Final = Structure(
    TransactionValue,
    (
        *fields(
            ("producer_id", "int64"), ("producer_epoch", "int16"), ("timeout_ms", "int32"), ("status", "int8")
        ),
        Field("partitions", "[]structure?", structure=_PARTITIONS),
        *fields(("last_update_timestamp", "int64"), ("start_timestamp", "int64")),
        Field("previous_producer_id", "int64", 1, tag=0, default=-1),
        Field("next_producer_id", "int64", 1, tag=1, default=-1),
        Field("client_transaction_version", "int16", 1, tag=2, default=0),
        Field("next_producer_epoch", "int16", 1, tag=3, default=-1),
    ),
)

_BUMP: Final = Structure(
    BumpValue,
    fields(
        ("producer_id", "int64"),
        ("producer_epoch", "int16"),
        ("cause", "string"),
        ("at_ms", "int64"),
        ("client_id", "string?"),
        ("client_host", "string?"),
        ("client_port", "int32"),
    ),
)


def encode_key(key: TransactionKey) -> bytes:
    return KEY_TYPE.to_bytes(2, "big") + encode(_KEY, key, 0, NEVER)


def decode_key(data: bytes) -> TransactionKey | None:
    """None for a type that we skip. CorruptBatch if it cannot be read."""
    return decode(_KEY, data[2:], 0, NEVER) if _version(data) == KEY_TYPE else None


def encode_value(value: TransactionValue, version: int = HIGHEST_VERSION) -> bytes:
    return version.to_bytes(2, "big") + encode(_VALUE, value, version, FLEXIBLE)


def decode_value(data: bytes) -> TransactionValue | None:
    """None for a version that we do not know: the record is skipped with a warning. CorruptBatch if unreadable."""
    version = _version(data)
    return decode(_VALUE, data[2:], version, FLEXIBLE) if 0 <= version <= HIGHEST_VERSION else None


def encode_bump_key(key: TransactionKey) -> bytes:
    return BUMP_TYPE.to_bytes(2, "big") + encode(_KEY, key, 0, NEVER)


def decode_bump_key(data: bytes) -> TransactionKey | None:
    """None for any other type."""
    return decode(_KEY, data[2:], 0, NEVER) if _version(data) == BUMP_TYPE else None


def encode_bump(value: BumpValue) -> bytes:
    return BUMP_TYPE.to_bytes(2, "big") + encode(_BUMP, value, BUMP_TYPE, BUMP_TYPE)


def decode_bump(data: bytes) -> BumpValue | None:
    """None for a version that we do not know. CorruptBatch if unreadable."""
    return decode(_BUMP, data[2:], BUMP_TYPE, BUMP_TYPE) if _version(data) == BUMP_TYPE else None


def _version(data: bytes) -> int:
    if len(data) < 2:
        raise CorruptBatch(f"record of {len(data)} bytes, its type or version needs 2")
    return int.from_bytes(data[:2], "big", signed=True)
