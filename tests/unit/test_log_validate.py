"""Checks of a client's batch: spec 1.13 rows 4 and 11 to 16, in that order (V60 to V64, T5, T6)."""

from collections.abc import Sequence
from typing import Any, Final

import pytest

from oncelog.config import TopicConfig
from oncelog.errors import CorruptBatch, ErrorCode
from oncelog.log.validate import Invalid, Valid, read_one_batch, summarize, validate
from oncelog.record.batch import (
    BatchHeader,
    NewRecord,
    build_batch,
    encode_record,
    patch_timestamp,
    read_header,
    seal,
    walk,
)
from oncelog.record.compression import compress

NOW: Final = 1_700_000_000_000
HOUR: Final = 3_600_000
RECORDS: Final = [
    NewRecord(b"k", b"value", NOW),
    NewRecord(b"l", b"value", NOW + 5),
    NewRecord(b"m", b"", NOW + 1),
]


def batch(records: Sequence[NewRecord] = RECORDS, codec: int = 0, **changes: Any) -> bytes:
    """A batch with some fields of its header changed and the CRC right again."""
    whole = build_batch(records, codec=codec, producer_id=7, producer_epoch=0, base_sequence=0)
    return seal(read_header(whole)._replace(**changes), whole[61:])


def check(
    data: bytes, *, compacted: bool = False, max_decompressed_bytes: int = 1 << 20, **config: Any
) -> Valid | Invalid:
    return validate(
        data,
        read_header(data),
        TopicConfig(**config),
        NOW,
        compacted=compacted,
        max_decompressed_bytes=max_decompressed_bytes,
        partition="t-0",
    )


def error(answer: object) -> tuple[ErrorCode, bool]:
    assert isinstance(answer, Invalid), answer
    return answer.error, answer.has_log_start


@pytest.mark.parametrize("codec", range(5))
def test_a_good_batch(codec: int) -> None:
    data = batch(codec=codec)
    assert read_one_batch(data, 9) == read_header(data)
    assert check(data) == Valid(NOW + 5, offset_delta_of_max=1, log_append_time=False, rewrite=False)
    assert check(data, compacted=True) == check(data)


def test_row_4_v60() -> None:
    good = batch()
    old = bytearray(good)
    old[16] = 1
    cases = {
        "empty": (b"", 87),
        "two batches": (good + good, 87),
        "magic 1": (bytes(old), 87),
        "magic 0": (good[:16] + b"\0" + good[17:], 87),
        "magic 3": (good[:16] + b"\3" + good[17:], 2),
        "cut": (good[:-1], 87),
        "cut after 16 bytes": (good[:16], 87),
        "cut after 5 bytes": (good[:5], 87),
        "length 13": (good[:8] + b"\0\0\0\x0d" + good[12:], 2),
        "length -1": (good[:8] + b"\xff\xff\xff\xff" + good[12:], 2),
        "length 13 and little more": (good[:8] + b"\0\0\0\x0d" + good[12:15], 2),
        "length 48": (good[:8] + b"\0\0\0\x30" + good[12:], 2),
        "nonsense follows": (good + good[:8] + b"\0\0\0\1" + bytes(30), 2),
    }
    for name, (data, wanted) in cases.items():
        found, has_log_start = error(read_one_batch(data, 9))
        assert (name, int(found), has_log_start) == (name, wanted, False)


@pytest.mark.parametrize(
    "tail", [b"x", b"x" * 11, b"\0" * 8 + b"\0\0\0\x40" + b"\0" * 4 + b"\2" + b"\0" * 20]
)
def test_row_4_what_is_no_batch_after_the_batch_is_left_out(tail: bytes) -> None:
    good = batch()
    header = read_one_batch(good + tail, 9)
    assert isinstance(header, BatchHeader)
    assert header.size == len(good)


@pytest.mark.parametrize(("version", "wanted"), [(3, True), (6, True), (7, False), (13, False)])
def test_row_4_zstd_from_version_7(version: int, wanted: bool) -> None:
    answer = read_one_batch(batch(codec=4), version)
    assert isinstance(answer, Invalid) is wanted
    if wanted:
        assert error(answer) == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, False)
    assert isinstance(read_one_batch(batch(codec=3), version), BatchHeader)


V61: Final = {
    "base offset 5": {"base_offset": 5},
    "last offset delta too high": {"last_offset_delta": 3},
    "last offset delta too low": {"last_offset_delta": 1},
    "last offset delta negative": {"last_offset_delta": -1, "count": 0},
    "count 0": {"count": 0},
    "count negative": {"count": -3, "last_offset_delta": -4},
    "count and delta too high": {"count": 4, "last_offset_delta": 3},
    "count and delta too low": {"count": 2, "last_offset_delta": 1},
    "count of a bomb": {"count": 2**31 - 1, "last_offset_delta": 2**31 - 2},
    "control bit": {"attributes": 0x20},
    "control bit in a transaction": {"attributes": 0x30},
    "producer with sequence -1": {"base_sequence": -1},
}


@pytest.mark.parametrize("changes", V61.values(), ids=V61.keys())
def test_rows_11_and_14_v61(changes: dict[str, Any]) -> None:
    assert error(check(batch(**changes))) == (ErrorCode.INVALID_RECORD, True)


def test_row_14_no_producer_needs_no_sequence() -> None:
    assert isinstance(check(batch(producer_id=-1, producer_epoch=-1, base_sequence=-1)), Valid)


@pytest.mark.parametrize("codec", range(1, 5))
def test_row_14_the_count_of_compressed_batches_is_checked(codec: int) -> None:
    assert error(check(batch(codec=codec, count=2, last_offset_delta=1))) == (ErrorCode.INVALID_RECORD, True)
    assert error(check(batch(codec=codec, count=4, last_offset_delta=3))) == (ErrorCode.INVALID_RECORD, True)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_t6_codecs_that_do_not_exist(codec: int) -> None:
    assert error(check(batch(attributes=codec))) == (ErrorCode.INVALID_RECORD, True)


@pytest.mark.parametrize("codec", range(1, 5))
def test_t6_records_that_do_not_decompress(codec: int) -> None:
    assert error(check(batch(attributes=codec))) == (ErrorCode.INVALID_RECORD, True)


def test_row_12_too_large_comes_before_the_crc_v64() -> None:
    data = bytearray(batch())
    data[-1] ^= 1
    assert error(check(bytes(data))) == (ErrorCode.CORRUPT_MESSAGE, False)  # row 13
    assert error(check(bytes(data), max_message_bytes=90)) == (ErrorCode.MESSAGE_TOO_LARGE, False)
    assert isinstance(check(batch(), max_message_bytes=len(batch())), Valid)
    assert error(check(batch(), max_message_bytes=len(batch()) - 1)) == (ErrorCode.MESSAGE_TOO_LARGE, False)


def test_row_11_comes_before_rows_12_and_13() -> None:
    data = bytearray(batch(base_offset=5))
    data[-1] ^= 1
    assert error(check(bytes(data), max_message_bytes=90)) == (ErrorCode.INVALID_RECORD, True)


def test_row_13_every_byte_under_the_crc_v60() -> None:
    for at in range(17, len(batch())):
        data = bytearray(batch())
        data[at] ^= 0x80
        assert error(check(bytes(data))) == (ErrorCode.CORRUPT_MESSAGE, False)


def test_row_15_a_timestamp_out_of_the_window_v62() -> None:
    late = [NewRecord(b"k", b"", NOW), NewRecord(b"k", b"", NOW + 2 * HOUR)]
    answer = check(batch(late))
    assert isinstance(answer, Invalid)
    assert error(answer) == (ErrorCode.INVALID_TIMESTAMP, True)
    assert answer.message == "One or more records have been rejected due to invalid timestamp"
    ((index, text),) = answer.record_errors
    assert index == 1
    assert text.startswith(f"Timestamp {NOW + 2 * HOUR} of message with offset 1 is out of range. ")
    assert text.endswith(f"{NOW + HOUR}]")


@pytest.mark.parametrize(
    ("timestamp", "config", "valid"),
    [
        (NOW + HOUR, {}, True),
        (NOW + HOUR + 1, {}, False),
        (0, {}, True),  # V63
        (-1, {}, True),  # V63
        (-5, {}, True),
        (NOW - 50, {"message_timestamp_before_max_ms": 50}, True),
        (NOW - 51, {"message_timestamp_before_max_ms": 50}, False),
        (0, {"message_timestamp_before_max_ms": 50}, False),
        (-1, {"message_timestamp_before_max_ms": 50}, True),  # no timestamp is never too old
        (2**63 - 1, {"message_timestamp_after_max_ms": 2**63 - 1}, True),
        (2**63 - 1, {}, False),
        (-(2**63), {}, False),
        (NOW + 2 * HOUR, {"message_timestamp_type": "LogAppendTime"}, True),
        (-(2**63), {"message_timestamp_type": "LogAppendTime"}, True),
    ],
)
def test_row_15_the_window(timestamp: int, config: dict[str, Any], valid: bool) -> None:
    for codec in (0, 3):
        answer = check(batch([NewRecord(b"k", b"v", timestamp)], codec), **config)
        assert isinstance(answer, Valid) is valid, answer


def test_row_15_a_time_beyond_64_bits_is_refused() -> None:
    data = batch([NewRecord(b"k", b"v", 0), NewRecord(b"k", b"v", 2**62)], base_timestamp=2**63 - 2)
    assert error(check(data, message_timestamp_after_max_ms=2**63 - 1)) == (ErrorCode.INVALID_TIMESTAMP, True)


@pytest.mark.parametrize("codec", range(5))
def test_row_15_a_key_is_missing_on_a_compacted_topic(codec: int) -> None:
    records = [NewRecord(b"k", b"", NOW), *([NewRecord(None, b"", NOW)] * 4)]
    answer = check(batch(records, codec), compacted=True)
    assert isinstance(answer, Invalid)
    assert error(answer) == (ErrorCode.INVALID_RECORD, True)
    said = "Compacted topic cannot accept message without key in topic partition t-0"
    assert answer.record_errors == tuple((index, said) for index in (1, 2, 3, 4))
    shown = ", ".join(f"RecordError(batchIndex={index}, message='{said}')" for index in (1, 2, 3))
    assert answer.message == (
        "One or more records have been rejected due to 4 record errors in total, "
        f"and only showing the first three errors at most: [{shown}]"
    )
    assert isinstance(check(batch(records, codec)), Valid)


def test_row_15_mixed_errors_say_timestamp_and_list_both() -> None:
    records = [
        NewRecord(None, b"", NOW),
        NewRecord(b"k", b"", NOW + 2 * HOUR),
        NewRecord(None, b"", NOW + 2 * HOUR),
    ]
    answer = check(batch(records), compacted=True)
    assert isinstance(answer, Invalid)
    assert answer.error is ErrorCode.INVALID_TIMESTAMP
    assert [(index, text[:9]) for index, text in answer.record_errors] == [
        (0, "Compacted"),
        (1, "Timestamp"),
        (2, "Compacted"),
    ]


def test_v63_the_log_append_time_bit_of_a_client_is_cleared() -> None:
    data = bytearray(batch())
    patch_timestamp(data, NOW + 9, log_append_time=True)
    assert check(bytes(data)) == Valid(NOW + 9, 0, log_append_time=False, rewrite=True)


@pytest.mark.parametrize("config", [{"message_timestamp_type": "LogAppendTime"}, {}])
def test_the_log_append_time_bit_is_refused_where_kafka_refuses_it(config: dict[str, Any]) -> None:
    """On a LogAppendTime topic, and on a CreateTime topic without a time."""
    data = bytearray(batch([NewRecord(b"key", None, -1)]))
    patch_timestamp(data, NOW if config else -1, log_append_time=True)
    answer = check(bytes(data), **config)
    assert isinstance(answer, Invalid)
    assert error(answer) == (ErrorCode.INVALID_TIMESTAMP, True)
    assert answer.record_errors[0][1] == (
        f"Invalid timestamp type in message DefaultRecord(offset=0, timestamp={NOW if config else -1}, "
        "key=3 bytes, value=-1 bytes). Producer should not set timestamp type to LogAppendTime."
    )


def test_what_must_be_rewritten() -> None:
    assert check(batch(max_timestamp=NOW)) == Valid(NOW + 5, 1, log_append_time=False, rewrite=True)
    assert check(batch(), message_timestamp_type="LogAppendTime") == Valid(
        NOW, 0, log_append_time=True, rewrite=True
    )
    assert check(batch([NewRecord(b"k", b"", -7)])) == Valid(-1, 0, log_append_time=False, rewrite=True)


def test_row_16_a_batch_larger_than_a_segment() -> None:
    records = [NewRecord(b"k", bytes(2000), NOW)]
    assert error(check(batch(records), segment_bytes=1024)) == (ErrorCode.RECORD_LIST_TOO_LARGE, False)
    assert error(check(batch(records, count=2), segment_bytes=1024)) == (ErrorCode.INVALID_RECORD, True)


@pytest.mark.parametrize("codec", range(1, 5))
def test_t5_a_bomb_is_too_large(codec: int) -> None:
    records = [NewRecord(b"k", bytes(3_000_000), NOW)]
    assert isinstance(check(batch(records, codec), max_decompressed_bytes=4_000_000), Valid)
    assert error(check(batch(records, codec))) == (ErrorCode.MESSAGE_TOO_LARGE, False)


def lies() -> list[bytes]:
    one = encode_record(0, 0, NewRecord(b"k", b"v"))
    two = encode_record(1, 0, NewRecord(b"k", b"v"))
    three = encode_record(2, 0, NewRecord(b"k", b"v"))
    wrong_number = encode_record(1, 0, NewRecord(b"k", b"v"))
    return [
        one + two,
        one + two + three + b"\0",
        one + wrong_number + wrong_number,
        two + one + three,
        one + two + three[:-1],
        one + two + bytes((three[0] + 2,)) + three[1:],
        one + two + bytes((three[0] - 2,)) + three[1:],
        one + two + three[:-1] + b"\2",
        b"\1" + one[1:] + two + three,
        one + two + b"\xff" * 5 + three,
    ]


@pytest.mark.parametrize("payload", lies(), ids=range(len(lies())))
@pytest.mark.parametrize("codec", range(5))
def test_t6_row_14_records_that_do_not_fit(payload: bytes, codec: int) -> None:
    header = read_header(batch(codec=codec))
    data = seal(header, compress(codec, payload) if codec else payload)
    assert error(check(data)) == (ErrorCode.INVALID_RECORD, True)


def slow(payload: bytes, count: int) -> tuple[int, int, int, bool]:
    """The same summary without columns."""
    found = list(walk(payload, count))
    times = [record.timestamp_delta for record in found]
    assert [record.offset_delta for record in found] == list(range(count))
    return min(times), max(times), times.index(max(times)), any(record.key is None for record in found)


SHAPES: Final[dict[str, list[NewRecord]]] = {
    "runs over 64 and 8192": [NewRecord(None, b"x" * 20, 1000 + index % 60) for index in range(8_400)],
    "keys": [NewRecord(b"%04d" % index, b"x" * 100, 1000) for index in range(300)],
    "times fall": [NewRecord(b"k", b"x" * 100, 5000 - index) for index in range(130)],
    "times leap": [NewRecord(b"k", b"x" * 100, index * 40) for index in range(300)],
    "late times, equal": [NewRecord(b"k", b"x" * 100, 0), *[NewRecord(b"k", b"x" * 100, 9_000)] * 80],
    "one longer": [NewRecord(b"k", b"x" * (101 if index == 30 else 100)) for index in range(70)],
    "same length, other key": [
        NewRecord(b"k" * (1 + index % 2), b"v" * (9 - index % 2)) for index in range(70)
    ],
    "one without key": [NewRecord(None if index == 33 else b"", b"v") for index in range(70)],
    "nulls": [NewRecord(None, None) for _ in range(70)],
    "headers": [NewRecord(b"k", b"v", 0, [("h", b"1")] if index % 3 else []) for index in range(70)],
    "large values": [NewRecord(b"k" * 200, b"v" * 20_000, index) for index in range(10)],
    "one": [NewRecord(b"k", b"v", 5)],
}


@pytest.mark.parametrize("records", SHAPES.values(), ids=SHAPES.keys())
def test_columns_find_what_a_plain_walk_finds(records: list[NewRecord]) -> None:
    first = records[0].timestamp
    payload = b"".join(
        encode_record(at, record.timestamp - first, record) for at, record in enumerate(records)
    )
    assert summarize(b"head" + payload, 4, len(records)) == slow(payload, len(records))


def test_columns_check_every_byte_of_a_length() -> None:
    records = SHAPES["keys"][:60]
    pieces = [bytearray(encode_record(at, 0, record)) for at, record in enumerate(records)]
    assert summarize(b"".join(pieces), 0, 60) == (0, 0, 0, False)
    for at in (0, 1):
        wrong = [bytearray(piece) for piece in pieces]
        wrong[30][at] ^= 2
        with pytest.raises(CorruptBatch):
            summarize(b"".join(wrong), 0, 60)


def test_every_damaged_bit_of_records_of_all_sizes() -> None:
    sizes = [5, 0, 2, 70, 71, 75, 64, 63, 62, 58, 9, 8]
    records = [NewRecord(b"k" if size % 2 else None, b"\x80" * size, size) for size in sizes]
    payload = b"".join(encode_record(at, record.timestamp, record) for at, record in enumerate(records))
    for at in range(len(payload)):
        if payload[at] == 0x80 == payload[at - 1]:
            continue  # inside a value
        for bit in range(8):
            damaged = bytearray(payload)
            damaged[at] ^= 1 << bit
            try:
                wanted = slow(bytes(damaged), len(records))
            except (CorruptBatch, AssertionError):
                with pytest.raises(CorruptBatch):
                    summarize(bytes(damaged), 0, len(records))
            else:
                assert summarize(bytes(damaged), 0, len(records)) == wanted


@pytest.mark.parametrize("name", ["keys", "nulls", "times leap", "same length, other key"])
def test_columns_find_every_damage(name: str) -> None:
    """Every single damaged byte that the plain walk refuses is refused, and what it accepts is summed up the same."""
    records = SHAPES[name][:70]
    first = records[0].timestamp
    payload = b"".join(
        encode_record(at, record.timestamp - first, record) for at, record in enumerate(records)
    )
    size = len(payload)
    for at in [*range(90), *range(size // 2, size // 2 + 90), *range(size - 60, size)]:
        for flip in (0x02, 0x81):
            damaged = bytearray(payload)
            damaged[at % size] ^= flip
            try:
                wanted = slow(bytes(damaged), len(records))
            except (CorruptBatch, AssertionError):
                with pytest.raises(CorruptBatch):
                    summarize(bytes(damaged), 0, len(records))
            else:
                assert summarize(bytes(damaged), 0, len(records)) == wanted
