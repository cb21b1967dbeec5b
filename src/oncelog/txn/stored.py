"""A transactional id as __transaction_state keeps it: Txn to bytes and back, and the walk over a stretch of that log.

The layouts are those of record/txn_state.py and record/batch.py, which read and write everything; here is only what the
coordinator writes four times per transaction and reads once per id when it starts, in as few steps as Python needs.
A property test holds both to the same bytes.
"""

from collections.abc import Iterator
from functools import lru_cache
from struct import Struct
from typing import Final

from oncelog.errors import CorruptBatch
from oncelog.model import Millis, Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.record.batch import (
    CRC_FROM,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    MAGIC,
    batches,
    records_of,
)
from oncelog.record.crc import crc32c
from oncelog.record.txn_state import (
    BUMP_TYPE,
    BumpValue,
    TransactionPartitions,
    TransactionValue,
    decode_bump,
    decode_bump_key,
    decode_key,
    decode_value,
    encode_bump,
    encode_value,
)
from oncelog.record.varint import encode_unsigned, encode_varint, read_varint
from oncelog.txn.state import ENDING, TV2, Bump, Caller, State, Txn

FIXED: Final = Struct(">hqhib")  # version, producer id, producer epoch, timeout, status
TIMES: Final = Struct(">qq")  # last update, start
ID: Final = Struct(">q")
NULL, NONE_LISTED = (
    0,
    1,
)  # of partitions: an Empty id has null, any other without partitions an empty list (FMT-3)
FLEXIBLE: Final = 1
NO_ID: Final = -1
PREVIOUS_ID, NEXT_ID, CLIENT_VERSION, NEXT_EPOCH = 0, 1, 2, 3  # tags
# All tags of nearly every record: how many, previous producer id, client version.
TV2_TAGS: Final = Struct(">BBBqBBBB")
TV2_TAGS_HEAD: Final = (2, PREVIOUS_ID, ID.size)
TV2_TAGS_TAIL: Final = (CLIENT_VERSION, 2, 0, TV2)
assert FIXED.size == 17
assert TIMES.size == 16

# Base offset, length, magic, CRC, attributes, last offset delta and record count of a batch.
SHORT_HEADER: Final = Struct(">qi4xbIhi30xi")
assert SHORT_HEADER.size == HEADER_BYTES
PLAIN: Final = 0  # attributes of a data batch, not compressed, with CreateTime
# A batch of one record: up to the CRC, and from there to the records.
HEAD: Final = Struct(">qiibI")
REST: Final = Struct(">hiqqqhii")
assert HEAD.size == CRC_FROM
assert HEAD.size + REST.size == HEADER_BYTES
STATES: Final[tuple[State, ...]] = tuple(
    State(number) for number in range(State.DEAD)
)  # that are ever written
KEY_TYPE: Final = b"\x00\x00"
BUMP_KEY_TYPE: Final = BUMP_TYPE.to_bytes(2, "big")
LONGEST_ONE_BYTE: Final = 64  # of a varint: lengths below have one byte, below 8192 two
LONGEST_TWO_BYTES: Final = 8192
CLIENT_ID_CHARACTERS: Final = 249  # as much of it is kept: clients may send 32 KB
STATUS_AT: Final = FIXED.size - 1
UNDER_WAY: Final = frozenset({State.ONGOING, *ENDING})
KNOWN_VERSIONS: Final = frozenset({b"\x00\x00", b"\x00\x01"})


def encode_txn(txn: Txn, version: int) -> bytes:
    """The value of its record. Version 0 has no room for the tags and is written below transaction.version 1."""
    if version < FLEXIBLE:
        return encode_value(_value_of(txn), version)
    out = bytearray(FIXED.pack(version, txn.producer.id, txn.producer.epoch, txn.timeout_ms, txn.state))
    if not txn.partitions:
        out.append(NULL if txn.state is State.EMPTY else NONE_LISTED)
    elif len(txn.partitions) == 1:
        out += _one_partition(txn.partitions[0])
    else:
        by_topic = _by_topic(txn)
        out += encode_unsigned(len(by_topic) + 1)
        for topic, numbers in by_topic.items():
            name = topic.encode()
            out += encode_unsigned(len(name) + 1) + name + encode_unsigned(len(numbers) + 1)
            for number in numbers:
                out += number.to_bytes(4, "big")
            out.append(0)  # no tags
    out += TIMES.pack(txn.update_ms, txn.start_ms)
    if (
        txn.client_version == TV2
        and txn.next_producer_id == txn.next_producer_epoch == NO_ID != txn.previous_producer_id
    ):
        return bytes(out + TV2_TAGS.pack(*TV2_TAGS_HEAD, txn.previous_producer_id, *TV2_TAGS_TAIL))
    count_at = len(out)
    out.append(0)
    for tag, value in ((PREVIOUS_ID, txn.previous_producer_id), (NEXT_ID, txn.next_producer_id)):
        if value != NO_ID:
            out[count_at] += 1
            out += bytes((tag, ID.size)) + ID.pack(value)
    if txn.client_version:
        out[count_at] += 1
        out += bytes((CLIENT_VERSION, 2, 0, txn.client_version))
    if txn.next_producer_epoch != NO_ID:
        out[count_at] += 1
        out += bytes((NEXT_EPOCH, 2)) + txn.next_producer_epoch.to_bytes(2, "big")
    return bytes(out)


@lru_cache(maxsize=4096)
def _one_partition(where: TopicPartition) -> bytes:
    """A list of one topic with one partition: what most transactions have."""
    name = where.topic.encode()
    return b"\2" + encode_unsigned(len(name) + 1) + name + b"\2" + where.partition.to_bytes(4, "big") + b"\0"


def _by_topic(txn: Txn) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for each in txn.partitions:
        found.setdefault(each.topic, []).append(each.partition)
    return found


def _value_of(txn: Txn) -> TransactionValue:
    partitions: list[TransactionPartitions] | None = None
    if txn.state is not State.EMPTY:  # FMT-3
        partitions = [
            TransactionPartitions(topic=topic, partition_ids=numbers)
            for topic, numbers in _by_topic(txn).items()
        ]
    return TransactionValue(
        producer_id=txn.producer.id,
        producer_epoch=txn.producer.epoch,
        timeout_ms=txn.timeout_ms,
        status=txn.state,
        partitions=partitions,
        last_update_timestamp=txn.update_ms,
        start_timestamp=txn.start_ms,
        previous_producer_id=txn.previous_producer_id,
        next_producer_id=txn.next_producer_id,
        next_producer_epoch=txn.next_producer_epoch,
        client_transaction_version=txn.client_version,
    )


def decode_txn(transactional_id: str, data: bytes) -> Txn | None:
    """None for a version of the record that we do not know. CorruptBatch if it cannot be read."""
    if len(data) > FIXED.size and data[FIXED.size] <= NONE_LISTED and data[0:2] == b"\x00\x01":
        found = _decode_idle(transactional_id, data)  # nearly all of them
        if found is not None:
            return found
    value = decode_value(data)
    if value is None:
        return None
    return Txn(
        transactional_id=transactional_id,
        producer=Producer(ProducerId(value.producer_id), ProducerEpoch(value.producer_epoch)),
        previous_producer_id=ProducerId(value.previous_producer_id),
        next_producer_id=ProducerId(value.next_producer_id),
        next_producer_epoch=value.next_producer_epoch,
        timeout_ms=value.timeout_ms,
        state=_state(value.status),
        partitions=tuple(
            sorted(
                TopicPartition(each.topic, number)
                for each in value.partitions or ()
                for number in each.partition_ids
            )
        ),
        start_ms=Millis(value.start_timestamp),
        update_ms=Millis(value.last_update_timestamp),
        client_version=value.client_transaction_version,
    )


def _state(status: int) -> State:
    if not 0 <= status < len(STATES):
        raise CorruptBatch(f"status of a transaction: wanted 0 to {len(STATES) - 1}, found {status}")
    return STATES[status]


_IDLE_TAGS_AT: Final = FIXED.size + 1 + TIMES.size
_IDLE_SIZES: Final = frozenset({_IDLE_TAGS_AT + 11, _IDLE_TAGS_AT + 15})  # tag 0, or tags 0 and 2


def _decode_idle(transactional_id: str, data: bytes) -> Txn | None:
    """A record without partitions that has tag 0 and perhaps tag 2; None if it is any other."""
    size = len(data)
    at = _IDLE_TAGS_AT
    if size not in _IDLE_SIZES or data[at + 1] != PREVIOUS_ID or data[at + 2] != ID.size:
        return None
    if size == at + 11:
        if data[at] != 1:
            return None
        client_version = 0
    else:
        if data[at] != 2 or data[at + 11] != CLIENT_VERSION or data[at + 12] != 2:
            return None
        client_version = int.from_bytes(data[at + 13 :], "big", signed=True)
    _, producer_id, epoch, timeout_ms, status = FIXED.unpack_from(data)
    update_ms, start_ms = TIMES.unpack_from(data, FIXED.size + 1)
    return Txn(
        transactional_id=transactional_id,
        producer=Producer(producer_id, epoch),
        previous_producer_id=ProducerId(ID.unpack_from(data, at + 3)[0]),
        timeout_ms=timeout_ms,
        state=_state(status),
        start_ms=start_ms,
        update_ms=update_ms,
        client_version=client_version,
    )


def is_under_way(value: bytes) -> bool:
    """Whether the record that has this value is of a transaction that is not complete. False for a version that we do
    not know: such a record is passed over."""
    return len(value) > STATUS_AT and value[STATUS_AT] in UNDER_WAY and value[:2] in KNOWN_VERSIONS


def idle_since(value: bytes) -> Millis | None:
    """When the id was last touched, if no transaction of it is under way and we know the version of its record."""
    if is_under_way(value):
        return None
    if len(value) >= _IDLE_TAGS_AT and value[FIXED.size] <= NONE_LISTED and value[:2] == b"\x00\x01":
        return Millis(ID.unpack_from(value, FIXED.size + 1)[0])  # nearly all of them
    found = decode_value(value)
    return None if found is None else Millis(found.last_update_timestamp)


def encode_batch(transactional_id: str, value: bytes, bump: bytes | None, now: Millis) -> bytes:
    """One record batch, as `build_batch` would make it: the state of an id, and why its epoch was bumped by it if it was."""
    if bump is None and len(value) < LONGEST_TWO_BYTES:
        # Nearly all of them. Attributes and both deltas are zeros, then the key; behind the value no headers.
        before = _before_value(transactional_id)
        size = len(value)
        if size < LONGEST_ONE_BYTE:
            body = b"%b%c%b\0" % (before, size << 1, value)
        else:
            body = b"%b%c%c%b\0" % (before, size << 1 & 0x7F | 0x80, size >> 6, value)
        size = len(body)
        if size < LONGEST_ONE_BYTE:
            rest = b"%b%c%b" % (REST.pack(0, 0, now, now, -1, -1, -1, 1), size << 1, body)
        elif size < LONGEST_TWO_BYTES:
            rest = b"%b%c%c%b" % (
                REST.pack(0, 0, now, now, -1, -1, -1, 1),
                size << 1 & 0x7F | 0x80,
                size >> 6,
                body,
            )
        else:
            rest = REST.pack(0, 0, now, now, -1, -1, -1, 1) + encode_varint(size) + body
    else:
        name = transactional_id.encode()
        records = _record(0, KEY_TYPE, name, value)
        if bump is not None:
            records += _record(1, BUMP_KEY_TYPE, name, bump)
        last = 0 if bump is None else 1
        rest = REST.pack(0, last, now, now, -1, -1, -1, last + 1) + records
    length = CRC_FROM - LENGTH_OVERHEAD_BYTES + len(rest)
    return HEAD.pack(0, length, -1, MAGIC, crc32c(rest)) + rest


@lru_cache(maxsize=4096)
def _before_value(transactional_id: str) -> bytes:
    """Of the first record of a batch: attributes, timestamp delta, offset delta and key."""
    name = transactional_id.encode()
    return b"\0\0\0" + encode_varint(len(name) + 4) + KEY_TYPE + len(name).to_bytes(2, "big") + name


def _record(offset_delta: int, key_type: bytes, name: bytes, value: bytes) -> bytes:
    body = b"".join(
        (
            b"\x00\x00",  # attributes, timestamp delta
            encode_varint(offset_delta),
            encode_varint(len(name) + 4),
            key_type,
            len(name).to_bytes(2, "big"),
            name,
            encode_varint(len(value)),
            value,
            b"\x00",  # no headers
        )
    )
    return encode_varint(len(body)) + body


def walk(data: bytes) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """(next offset, key, value) of every record of every whole batch; a batch of markers gives only its offset. CorruptBatch if
    one is not what was written: after a clean stop nobody else looks before it is believed."""
    at, end_of_all = 0, len(data)
    unpack = SHORT_HEADER.unpack_from
    while end_of_all - at >= HEADER_BYTES:
        base_offset, length, magic, crc, attributes, last_offset_delta, count = unpack(data, at)
        end = at + length + LENGTH_OVERHEAD_BYTES
        is_whole = magic == MAGIC and at + HEADER_BYTES <= end <= end_of_all
        if is_whole and crc32c(data[at + CRC_FROM : end]) != crc:
            raise CorruptBatch(f"the batch at offset {base_offset} does not match its CRC {crc:08x}")
        next_offset = base_offset + last_offset_delta + 1
        if count > 0 and attributes == PLAIN and magic == MAGIC and at + HEADER_BYTES < end <= end_of_all:
            for key, value in _plain_records(data, at + HEADER_BYTES, end, count):
                yield next_offset, key, value
        else:
            yield from _any_batch(data, at, next_offset)
        at = end


def _any_batch(data: bytes, at: int, next_offset: int) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """The general way; nothing for a batch that is cut, as a fetched stretch may be. CorruptBatch if it is none."""
    _, header = next(batches(data, at), (at, None))
    if header is None:
        return
    if header.is_control or header.count == 0:
        yield next_offset, None, None
        return
    for record in records_of(memoryview(data)[at : at + header.size], header):
        yield next_offset, record.key, record.value


def transactional_id_of(key: bytes) -> str | None:
    """None for a type of record that we skip."""
    if key[:2] == KEY_TYPE and int.from_bytes(key[2:4], "big") == len(key) - 4:
        return key[4:].decode()
    found = decode_key(key)
    return None if found is None else found.transactional_id


def bumped_id_of(key: bytes) -> str | None:
    """The id, if the record tells why an epoch was bumped."""
    found = decode_bump_key(key) if key[:2] == BUMP_KEY_TYPE else None
    return None if found is None else found.transactional_id


def value_of_bump(bump: Bump) -> bytes:
    by = bump.by
    return encode_bump(
        BumpValue(
            producer_id=bump.producer.id,
            producer_epoch=bump.producer.epoch,
            cause=bump.cause,
            at_ms=bump.at_ms,
            client_id=None if by is None else by.client_id[:CLIENT_ID_CHARACTERS],
            client_host=None if by is None else by.host,
            client_port=-1 if by is None else by.port,
        )
    )


def bump_of_value(data: bytes) -> Bump | None:
    """None for a version that we do not know. CorruptBatch if it cannot be read."""
    value = decode_bump(data)
    if value is None:
        return None
    by = None
    if value.client_host is not None:
        by = Caller(value.client_id or "", value.client_host, value.client_port)
    producer = Producer(ProducerId(value.producer_id), ProducerEpoch(value.producer_epoch))
    return Bump(value.cause, Millis(value.at_ms), by, producer)


def _plain_records(data: bytes, at: int, end: int, count: int) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Keys and values of the uncompressed records that fill a batch from `at` to `end`; nearly always it is one."""
    for _ in range(count - 1):
        size, at = read_varint(data, at)
        if not 0 < size < end - at:
            raise CorruptBatch(f"record of {size} bytes before byte {end} is longer than its batch")
        yield _key_and_value(data, at, at + size)
        at += size
    yield _key_and_value(data, _skip(data, at), end)


def _key_and_value(data: bytes, at: int, end: int) -> tuple[bytes | None, bytes | None]:
    """Of the record whose attributes are at `at`."""
    try:
        at = _skip(data, _skip(data, at + 1))  # timestamp and offset deltas
        key, at = _bytes(data, at)
        value, at = _bytes(data, at)
    except IndexError:
        at = end
        key = value = None
    if at >= end:
        raise CorruptBatch(f"record before byte {end} is longer than its batch")
    return key, value


def _skip(data: bytes, at: int) -> int:
    """Where the number at `at` ends; nearly all have one byte."""
    return at + 1 if data[at] < 0x80 else read_varint(data, at, bits=64)[1]


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size = data[at]
    if size < 0x80:
        size = (size >> 1) ^ -(size & 1)
        at += 1
    else:
        size, at = read_varint(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)
