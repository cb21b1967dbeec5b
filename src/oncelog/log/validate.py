"""The checks of a batch that a client sent, before producer state is asked: spec 1.13, row 4 and rows 11 to 16.

As Kafka does, every record is looked at. The walk is the most expensive part of a Produce that is not I/O, so it goes
over runs of records of one shape by columns, and over single records only where shapes change.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from oncelog.config import TopicConfig
from oncelog.errors import CorruptBatch, ErrorCode
from oncelog.record.batch import (
    COMPRESSION_MASK,
    CONTROL,
    CRC_FROM,
    HEADER,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    LOG_APPEND_TIME,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
    Bytes,
    skip_headers,
    walk,
)
from oncelog.record.compression import ZSTD, TooLarge, decompress
from oncelog.record.crc import crc32c
from oncelog.record.varint import read_unsigned

MAX_TIMESTAMP: Final = 2**63 - 1
MESSAGE_OVERHEAD_BYTES: Final = 14  # Kafka reads a shorter length as corruption, whatever the magic
UP_TO_MAGIC_BYTES: Final = 17
FIRST_ZSTD_VERSION: Final = 7  # of Produce
SHOWN_ERRORS: Final = 3


class Valid(NamedTuple):
    """The batch may go on to producer state, and what the log must write into it before it is stored.

    `rewrite`: the header's largest timestamp or timestamp type is not yet `max_timestamp` and `log_append_time`
    (`patch_timestamp` in record/batch.py). `offset_delta_of_max`: of the first record with the largest timestamp.
    """

    max_timestamp: int
    offset_delta_of_max: int
    log_append_time: bool
    rewrite: bool


class Invalid(NamedTuple):
    """The batch is refused. `message` is what Kafka sends (null but for record errors); `reason` is for our log.

    `has_log_start`: whether the answer carries the log start offset (spec 1.13) or -1.
    """

    error: ErrorCode
    reason: str
    message: str | None = None
    record_errors: tuple[tuple[int, str], ...] = ()
    has_log_start: bool = True


def read_one_batch(records: Bytes, version: int) -> BatchHeader | Invalid:
    """Row 4: the header of the one batch that a partition of a Produce request must hold. `version` is Produce's.

    What follows the batch is no batch: leave it out (`records[: header.size]`), as Kafka does.
    """
    header = _next_header(records, 0)
    if isinstance(header, Invalid):
        return header
    if header is None:
        return _row_4(f"{len(records)} bytes of records hold no whole batch")
    if header.magic != MAGIC:
        return _row_4(f"wanted a batch of magic {MAGIC}, found {header.magic}")
    if header.attributes & COMPRESSION_MASK == ZSTD and version < FIRST_ZSTD_VERSION:
        return _row_4(f"zstd in Produce {version}", ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    if len(records) > header.size:
        second = _next_header(records, header.size)
        if isinstance(second, Invalid):
            return second
        if second is not None:
            return _row_4("wanted one batch per partition, found more")
    return header


def _next_header(records: Bytes, at: int) -> BatchHeader | Invalid | None:
    """The header at `at`; None if no whole batch is there."""
    left = len(records) - at
    if left < UP_TO_MAGIC_BYTES:
        if left < LENGTH_OVERHEAD_BYTES:
            return None
        length = int.from_bytes(records[at + 8 : at + 12], "big", signed=True)
        return None if length >= MESSAGE_OVERHEAD_BYTES else _corrupt_length(length)
    length = int.from_bytes(records[at + 8 : at + 12], "big", signed=True)
    magic = records[at + 16]
    if length < MESSAGE_OVERHEAD_BYTES:
        return _corrupt_length(length)
    if magic > MAGIC:
        return _row_4(f"wanted a batch of magic {MAGIC}, found {magic}", ErrorCode.CORRUPT_MESSAGE)
    if left < length + LENGTH_OVERHEAD_BYTES:
        return None
    if magic < MAGIC:  # an older format has another header: only its magic is of interest
        return BatchHeader(0, length, 0, magic, 0, 0, 0, 0, 0, -1, -1, -1, 0)
    if length < HEADER_BYTES - LENGTH_OVERHEAD_BYTES:
        return _corrupt_length(length)
    return BatchHeader._make(HEADER.unpack_from(records, at))


def _corrupt_length(length: int) -> Invalid:
    return _row_4(f"batch length {length} is too short for a batch", ErrorCode.CORRUPT_MESSAGE)


def _row_4(reason: str, error: ErrorCode = ErrorCode.INVALID_RECORD) -> Invalid:
    return Invalid(error, reason, has_log_start=False)


def validate(
    batch: Bytes,
    header: BatchHeader,
    config: TopicConfig,
    now: int,
    *,
    compacted: bool,
    max_decompressed_bytes: int,
    partition: str = "",
) -> Valid | Invalid:
    """Rows 11 to 16 for one batch of `header.size` bytes. `partition` is for messages: `topic-0`."""
    if header.base_offset != 0:
        return Invalid(ErrorCode.INVALID_RECORD, f"base offset {header.base_offset}, wanted 0")
    size = header.length + LENGTH_OVERHEAD_BYTES
    if size > config.max_message_bytes:
        return Invalid(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"batch of {size} bytes, max.message.bytes is {config.max_message_bytes}",
            has_log_start=False,
        )
    checked = bytes(memoryview(batch)[CRC_FROM:size])
    if crc32c(checked) != header.crc or size < HEADER_BYTES:
        return Invalid(
            ErrorCode.CORRUPT_MESSAGE,
            f"batch of {size} bytes with CRC {header.crc:08x} contradicts itself",
            has_log_start=False,
        )
    attributes, count = header.attributes, header.count
    if count <= 0 or header.last_offset_delta + 1 != count:
        return Invalid(
            ErrorCode.INVALID_RECORD, f"{count} records with last offset delta {header.last_offset_delta}"
        )
    if attributes & CONTROL:
        return Invalid(ErrorCode.INVALID_RECORD, "clients may not write control batches")
    if header.producer_id >= 0 and header.base_sequence < 0:
        return Invalid(
            ErrorCode.INVALID_RECORD, f"producer {header.producer_id} with sequence {header.base_sequence}"
        )
    try:
        if attributes & COMPRESSION_MASK:
            payload = decompress(
                attributes & COMPRESSION_MASK,
                checked[HEADER_BYTES - CRC_FROM :],
                limit_bytes=max_decompressed_bytes,
            )
            found = summarize(payload, 0, count)
        else:
            payload = checked
            found = summarize(payload, HEADER_BYTES - CRC_FROM, count)
    except TooLarge as fault:
        return Invalid(ErrorCode.MESSAGE_TOO_LARGE, str(fault), has_log_start=False)
    except CorruptBatch as fault:
        return Invalid(ErrorCode.INVALID_RECORD, str(fault))

    stamped = bool(attributes & LOG_APPEND_TIME)  # by a client: then all records have the batch's time
    log_append_time = config.message_timestamp_type == "LogAppendTime"
    if stamped:
        highest = lowest = header.max_timestamp
    else:
        highest = header.base_timestamp + found.max_timestamp_delta
        lowest = header.base_timestamp + found.min_timestamp_delta
    in_window = (
        highest <= min(now + config.message_timestamp_after_max_ms, MAX_TIMESTAMP)
        and now - lowest <= config.message_timestamp_before_max_ms
    )
    if (
        (found.null_key and compacted)
        or (stamped and (log_append_time or lowest == NO_TIMESTAMP))
        or (not log_append_time and not in_window)
    ):
        if not attributes & COMPRESSION_MASK:
            payload = payload[HEADER_BYTES - CRC_FROM :]
        errors = list(_record_errors(payload, header, config, now, compacted, partition))
        if errors:
            return _refuse_records(errors)
    if size > config.segment_bytes:
        return Invalid(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"batch of {size} bytes, segment.bytes is {config.segment_bytes}",
            has_log_start=False,
        )
    if log_append_time:
        return Valid(now, 0, True, True)
    highest = max(highest, NO_TIMESTAMP)
    first = 0 if stamped else found.max_at
    return Valid(highest, first, False, stamped or highest != header.max_timestamp)


def _record_errors(
    payload: bytes, header: BatchHeader, config: TopicConfig, now: int, compacted: bool, partition: str
) -> Iterator[tuple[ErrorCode, int, str]]:
    """Row 15, record by record: at most one error each, the missing key before the time."""
    stamped = header.attributes & LOG_APPEND_TIME
    log_append_time = config.message_timestamp_type == "LogAppendTime"
    before, after = config.message_timestamp_before_max_ms, config.message_timestamp_after_max_ms
    for index, record in enumerate(walk(payload, header.count)):
        timestamp = header.max_timestamp if stamped else header.base_timestamp + record.timestamp_delta
        if compacted and record.key is None:
            yield (
                ErrorCode.INVALID_RECORD,
                index,
                f"Compacted topic cannot accept message without key in topic partition {partition}",
            )
        elif not log_append_time and timestamp != NO_TIMESTAMP:
            if now - timestamp > before or timestamp > min(now + after, MAX_TIMESTAMP):
                yield (
                    ErrorCode.INVALID_TIMESTAMP,
                    index,
                    (
                        f"Timestamp {timestamp} of message with offset {record.offset_delta} is out of range. "
                        f"The timestamp should be within [{now - before}, {now + after}]"
                    ),
                )
        elif stamped:
            key = -1 if record.key is None else record.key[1] - record.key[0]
            value = -1 if record.value is None else record.value[1] - record.value[0]
            yield (
                ErrorCode.INVALID_TIMESTAMP,
                index,
                (
                    f"Invalid timestamp type in message DefaultRecord(offset={record.offset_delta}, "
                    f"timestamp={timestamp}, key={key} bytes, value={value} bytes). "
                    "Producer should not set timestamp type to LogAppendTime."
                ),
            )


def _refuse_records(errors: list[tuple[ErrorCode, int, str]]) -> Invalid:
    listed = tuple((index, text) for _, index, text in errors)
    if any(error is ErrorCode.INVALID_TIMESTAMP for error, _, _ in errors):
        message = "One or more records have been rejected due to invalid timestamp"
        return Invalid(ErrorCode.INVALID_TIMESTAMP, listed[0][1], message, listed)
    shown = ", ".join(
        f"RecordError(batchIndex={index}, message='{text}')" for index, text in listed[:SHOWN_ERRORS]
    )
    message = (
        f"One or more records have been rejected due to {len(listed)} record errors in total, "
        f"and only showing the first three errors at most: [{shown}]"
    )
    return Invalid(ErrorCode.INVALID_RECORD, listed[0][1], message, listed)


class Summary(NamedTuple):
    """What the walk over all records of a batch found."""

    min_timestamp_delta: int
    max_timestamp_delta: int
    max_at: int  # offset delta of the first record with the largest timestamp
    null_key: bool


def summarize(data: bytes, at: int, count: int) -> Summary:
    """Walks `count` records from `at` to the end of `data`. CorruptBatch unless they fill it, numbered from 0."""
    if count > len(data) - at:  # before anything is counted: a record has more than one byte
        raise CorruptBatch(f"{count} records in {len(data) - at} bytes")
    lowest, highest, max_at, null_key = MAX_TIMESTAMP, -MAX_TIMESTAMP - 1, 0, False
    index, length = 0, len(data)
    try:
        while index < count:
            start = at
            raw = data[at]
            if raw < 0x80:
                at += 1
            elif data[at + 1] < 0x80:
                raw = raw & 0x7F | data[at + 1] << 7
                at += 2
            else:
                raw, at = read_unsigned(data, at)
            if raw & 1:
                raise CorruptBatch(f"record {index} has a negative length")
            end = at + (raw >> 1)

            time_at = at + 1  # after the attributes, of which no bit has a meaning
            raw = data[time_at]
            if raw < 0x80:
                at += 2
            else:
                raw, at = read_unsigned(data, time_at, bits=64)
            delta = raw >> 1 if not raw & 1 else ~(raw >> 1)
            if delta > highest:
                highest, max_at = delta, index
            if delta < lowest:
                lowest = delta

            offset_at = at
            raw = data[at]
            if raw < 0x80:
                at += 1
            else:
                raw, at = read_unsigned(data, at)
            if raw != index << 1:
                raise CorruptBatch(f"record {index} has offset delta {(raw >> 1) ^ -(raw & 1)}")

            key_at = at
            raw = data[at]
            if raw < 0x80:
                at += 1
            else:
                raw, at = read_unsigned(data, at)
            if raw & 1:
                null_key = True
            else:
                at += raw >> 1

            value_at = at
            raw = data[at]
            if raw < 0x80:
                at += 1
            elif data[at + 1] < 0x80:
                raw = raw & 0x7F | data[at + 1] << 7
                at += 2
            else:
                raw, at = read_unsigned(data, at)
            value_to = at
            if not raw & 1:
                at += raw >> 1

            if data[at]:
                at = skip_headers(data, at, end, index)
                if at != end:
                    raise CorruptBatch(f"record {index} ends at byte {at}, its length says {end}")
                index += 1
                continue
            at += 1
            if at != end:
                raise CorruptBatch(f"record {index} ends at byte {at}, its length says {end}")
            index += 1

            # Is the next record as long as this one? Then there may be a run of one shape.
            if (
                index + 2 < count
                and end + 2 < length
                and data[end] == data[start]
                and data[end + 1] == data[start + 1]
            ):
                size = end - start
                fixed = [*range(key_at, _after_number(data, key_at)), *range(value_at, value_to), end - 1]
                if offset_at - time_at > 1:
                    fixed += range(time_at, offset_at)
                run, times = _run(data, end, size, index, count, start, time_at, offset_at, key_at, fixed)
                if run:
                    if times and times.strip(ONE_BYTE[delta + TIMES_FROM]):  # else all have the model's time
                        top = max(times)
                        if top - TIMES_FROM > highest:
                            highest, max_at = top - TIMES_FROM, index + times.index(top)
                        lowest = min(lowest, min(times) - TIMES_FROM)
                    index += run
                    at = end + run * size
            elif index + 2 < count:
                index, at, low, high, high_at, keyless = _lane(data, end, index, count, time_at - 1 - start)
                null_key = null_key or keyless
                if high > highest:
                    highest, max_at = high, high_at
                if low < lowest:
                    lowest = low
    except IndexError:
        raise CorruptBatch(f"record {index} is cut") from None
    if at != length:
        raise CorruptBatch(f"{length - at} bytes follow the last of {count} records")
    return Summary(lowest, highest, max_at, null_key)


ONE_BYTE: Final = tuple(bytes((value,)) for value in range(256))
TIMES_FROM: Final = 64  # times of a run are kept as one byte each: delta + 64
BIASED: Final = bytes([(raw >> 1 ^ -(raw & 1)) + TIMES_FROM if raw < 0x80 else 0xFF for raw in range(256)])
ONE_BYTE_OFFSETS: Final = 64  # offset deltas below have one byte, below 8192 two
TWO_BYTE_OFFSETS: Final = 8192
OFFSETS: Final = bytes(range(0, 128, 2))
OFFSETS_LOW: Final = bytes(range(128, 256, 2)) * 128
OFFSETS_HIGH: Final = b"".join(bytes((high,)) * 64 for high in range(128))


def _run(
    data: bytes,
    at: int,
    size: int,
    index: int,
    count: int,
    model: int,
    time_at: int,
    offset_at: int,
    key_at: int,
    fixed: list[int],
) -> tuple[int, bytes]:
    """How many records from `at` on have the shape of the one at `model`, and their times (none if equal to the model's).

    A column of bytes, one per record, is one slice; what must be as in the model is compared by stripping it off.
    `fixed`: positions in the model record of all other bytes that make the shape.
    """
    wide = key_at - offset_at
    limit = ONE_BYTE_OFFSETS if wide == 1 else TWO_BYTE_OFFSETS
    run = min(count, limit) - index
    if wide > 2 or run <= 0:
        return 0, b""
    run = min(run, (len(data) - at) // size)
    for where in range(model, time_at - 1):  # the length
        column = data[where + size : where + size * (run + 1) : size]
        run -= len(column.lstrip(ONE_BYTE[data[where]]))
    for where in fixed:
        column = data[where + size : where + size * (run + 1) : size]
        run -= len(column.lstrip(ONE_BYTE[data[where]]))
    if run <= 0:
        return 0, b""
    numbers = data[offset_at + size : offset_at + size * (run + 1) : size]
    if wide == 1:
        if numbers != OFFSETS[index : index + run]:
            return 0, b""  # the walk record by record will say which
    else:
        high = data[offset_at + 1 + size : offset_at + 1 + size * (run + 1) : size]
        if numbers != OFFSETS_LOW[index : index + run] or high != OFFSETS_HIGH[index : index + run]:
            return 0, b""
    if offset_at - time_at > 1:
        return run, b""
    times = data[time_at + size : time_at + size * (run + 1) : size].translate(BIASED)
    longer = times.find(b"\xff")
    return (run, times) if longer < 0 else (longer, times[:longer])


# length of one or two bytes, attributes left out, time of one byte, offset delta of one or two, key size of one
LANES: Final = {
    (1, 1): struct.Struct(">BxBBB").unpack_from,
    (1, 2): struct.Struct(">BxBHB").unpack_from,
    (2, 1): struct.Struct(">HxBBB").unpack_from,
    (2, 2): struct.Struct(">HxBHB").unpack_from,
}


def _lane(data: bytes, at: int, index: int, count: int, wide: int) -> tuple[int, int, int, int, int, bool]:
    """Walks on while records have the usual shape: a length of `wide` bytes, a near time, a short or no key, no headers.

    (next record, its position, lowest time, highest time, its record, whether a key was null). What is not usual is left to the full walk: it
    alone refuses.
    """
    lowest, highest, max_at = MAX_TIMESTAMP, -MAX_TIMESTAMP - 1, index
    if index < ONE_BYTE_OFFSETS:
        count, step, number_bytes = min(count, ONE_BYTE_OFFSETS), 2, 1
    else:
        count, step, number_bytes = min(count, TWO_BYTE_OFFSETS), 0, 2
    unpack = LANES.get((wide, number_bytes))
    if unpack is None:
        return index, at, lowest, highest, max_at, False
    to_key = wide + 2 + number_bytes + 1
    number = index << 1
    last_time = -1
    keyless = False
    two = wide == 2
    try:
        while index < count:
            size, time, found, key = unpack(data, at)
            if two:
                if size & 0x8080 != 0x8000:
                    break
                size = size >> 8 & 0x7F | (size & 0x7F) << 7
            if size & 1 or time >= 0x80 or key >= 0x80:
                break
            if not step:
                number = (index << 9 & 0x7E00) | 0x8000 | index >> 6
            if found != number:
                break
            end = at + wide + (size >> 1)
            here = at + to_key
            if not key & 1:
                here += key >> 1
            elif key == 1:
                keyless = True
            else:
                break
            value = data[here]
            if value >= 0x80:
                value = (
                    value & 0x7F | data[here + 1] << 7
                )  # of three bytes: too large for this length, so no match
                here += 1
            if value & 1:
                break
            here += 1 + (value >> 1)
            if data[here] or here + 1 != end:
                break
            if time != last_time:
                last_time = time
                delta = time >> 1 if not time & 1 else ~(time >> 1)
                if delta > highest:
                    highest, max_at = delta, index
                if delta < lowest:
                    lowest = delta
            index += 1
            at = end
            number += step
    except (IndexError, struct.error):
        pass  # the full walk says what is cut
    return index, at, lowest, highest, max_at, keyless


def _after_number(data: bytes, at: int) -> int:
    while data[at] >= 0x80:
        at += 1
    return at + 1
