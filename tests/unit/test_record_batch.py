"""Record batches: build, walk, patch; every lie in a record is found (FMT-1, T3, T4, T6)."""

from collections.abc import Callable

import pytest

from oncelog.errors import CorruptBatch
from oncelog.record.batch import (
    HEADER_BYTES,
    HEADERS_LIMIT,
    BatchHeader,
    Header,
    NewRecord,
    Record,
    add_sequence,
    batches,
    build_batch,
    check_crc,
    encode_record,
    patch_offset,
    patch_timestamp,
    read_header,
    records_of,
    seal,
    walk,
)
from oncelog.record.varint import encode_unsigned, encode_varint, read_unsigned, read_varint

RECORDS = [
    NewRecord(b"k", b"v" * 300, 1_000, [("name", b"x"), ("none", None)]),
    NewRecord(None, b"", 990),
    NewRecord(b"", None, 5_000),
]


@pytest.mark.parametrize("codec", range(5))
def test_what_was_built_is_read_back(codec: int) -> None:
    batch = build_batch(
        RECORDS, codec=codec, producer_id=7, producer_epoch=2, base_sequence=3, base_offset=40
    )
    header = read_header(batch)
    assert header.size == len(batch)
    assert check_crc(batch, header)
    assert (header.count, header.last_offset, header.next_offset) == (3, 42, 43)
    assert (header.base_timestamp, header.max_timestamp) == (1_000, 5_000)
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.last_sequence) == (
        7,
        2,
        3,
        5,
    )
    assert list(records_of(batch)) == [
        Record(40, 1_000, b"k", b"v" * 300, (Header("name", b"x"), Header("none", None))),
        Record(41, 990, None, b""),
        Record(42, 5_000, b"", None),
    ]


def test_a_real_record_of_kafka_byte_for_byte() -> None:
    """FMT-2's record: length 16, key of 4 bytes, value of 6."""
    assert (
        encode_record(0, 0, NewRecord(bytes(4), bytes(6))).hex() == "20000000080000000" + "00c00000000000000"
    )


@pytest.mark.parametrize(
    ("base", "delta", "last"),
    [
        (0, 0, 0),
        (2**31 - 1, 0, 2**31 - 1),
        (2**31 - 1, 1, 0),
        (2**31 - 3, 4, 1),
        (2**31 - 1, 2**31 - 1, 2**31 - 2),
    ],
)
def test_fmt_1_b56_sequences_wrap(base: int, delta: int, last: int) -> None:
    assert add_sequence(base, delta) == last
    assert add_sequence(last, -delta) == base


def test_offset_and_epoch_are_patched_without_the_crc() -> None:
    batch = bytearray(build_batch(RECORDS))
    patch_offset(batch, 1_000_000, 9)
    header = read_header(batch)
    assert (header.base_offset, header.leader_epoch) == (1_000_000, 9)
    assert check_crc(batch, header)


@pytest.mark.parametrize("log_append_time", [True, False])
def test_timestamp_is_patched_with_its_type_and_the_crc(log_append_time: bool) -> None:
    batch = bytearray(build_batch(RECORDS))
    patch_timestamp(memoryview(batch), 77, log_append_time=True)
    patch_timestamp(batch, 77, log_append_time=log_append_time)
    header = read_header(batch)
    assert check_crc(batch, header)
    assert header.max_timestamp == 77
    times = [record.timestamp for record in records_of(batch)]
    assert times == ([77, 77, 77] if log_append_time else [1_000, 990, 5_000])


def test_check_crc_sees_every_byte_after_it() -> None:
    batch = build_batch(RECORDS)
    header = read_header(batch)
    for at in range(21, len(batch)):
        damaged = bytearray(batch)
        damaged[at] ^= 1
        assert not check_crc(damaged, header)


def test_batches_of_a_stretch_and_a_cut_end() -> None:
    one, two = build_batch(RECORDS), build_batch(RECORDS[:1], base_offset=3)
    stretch = one + two
    assert [(at, header.base_offset) for at, header in batches(stretch)] == [(0, 0), (len(one), 3)]
    for cut in range(len(one), len(stretch)):
        assert [at for at, _ in batches(stretch[:cut])] == [0]
    assert [at for at, _ in batches(stretch, len(one))] == [len(one)]


@pytest.mark.parametrize(
    ("at", "value", "says"), [(11, 48, "length 48"), (8, 0xFF, "length -"), (16, 1, "magic 2, found 1")]
)
def test_batches_refuses_nonsense(at: int, value: int, says: str) -> None:
    damaged = bytearray(build_batch(RECORDS[1:]))
    damaged[at] = value
    if at == 11:
        damaged[8:11] = bytes(3)
    with pytest.raises(CorruptBatch, match=says):
        list(batches(damaged))


def test_a_short_header_is_refused() -> None:
    with pytest.raises(CorruptBatch, match="batch of 60 bytes, a header needs 61"):
        read_header(bytes(60))


def body(*parts: bytes) -> bytes:
    joined = b"".join(parts)
    return encode_varint(len(joined)) + joined


V = encode_varint
LIES: list[tuple[str, bytes, int, str]] = [
    ("a record too few", body(b"\0", V(0), V(0), V(-1), V(-1), V(0)), 2, "cut"),
    ("a record too many", body(b"\0", V(0), V(0), V(-1), V(-1), V(0)) * 2, 1, "follow the last"),
    ("negative length", V(-7) + bytes(20), 1, "has -7 bytes"),
    ("length beyond the end", V(50) + bytes(20), 1, "has 50 bytes"),
    ("length too short", V(5) + b"\0" + V(0) + V(0) + V(-1) + V(-1) + V(0), 1, "its length says"),
    ("length too long", V(8) + b"\0" + V(0) + V(0) + V(-1) + V(-1) + V(0) + b"xx", 1, "its length says"),
    ("key beyond the record", body(b"\0", V(0), V(0), V(99), b"abc"), 1, "cut"),
    ("value beyond the record", body(b"\0", V(0), V(0), V(-1), V(99), b"abc"), 1, "cut"),
    ("negative header count (T3)", body(b"\0", V(0), V(0), V(-1), V(-1), V(-1)), 1, "has -1 headers"),
    ("header bomb (T3)", body(b"\0", V(0), V(0), V(-1), V(-1), V(2**31 - 1)), 1, "2147483647 headers"),
    (
        "too many headers (T3)",
        body(b"\0", V(0), V(0), V(-1), V(-1), V(HEADERS_LIMIT + 1), V(0) * 2 * (HEADERS_LIMIT + 1)),
        1,
        "limit 10000",
    ),
    ("header without a name", body(b"\0", V(0), V(0), V(-1), V(-1), V(1), V(-1), V(0)), 1, "without a name"),
    ("number of 6 bytes (T4)", b"\x80" * 5 + b"\1" + bytes(9), 1, "more than 32 bits"),
    ("number of 33 bits (T4)", b"\xff" * 4 + b"\x1f" + bytes(9), 1, "more than 32 bits"),
    (
        "time of 11 bytes (T4)",
        body(b"\0", b"\x80" * 10 + b"\1", V(0), V(-1), V(-1), V(0)),
        1,
        "more than 64 bits",
    ),
]


@pytest.mark.parametrize(
    ("payload", "count", "says"), [lie[1:] for lie in LIES], ids=[lie[0] for lie in LIES]
)
def test_t6_walk_finds_every_lie(payload: bytes, count: int, says: str) -> None:
    with pytest.raises(CorruptBatch, match=says):
        list(walk(payload, count))


@pytest.mark.parametrize("read", [read_varint, read_unsigned])
def test_t4_numbers_of_every_length(read: Callable[..., tuple[int, int]]) -> None:
    for bits, longest in ((32, 5), (64, 10)):
        for size in range(1, 12):
            number = b"\x80" * (size - 1) + b"\1"
            if size <= longest:
                value, at = read(number, 0, bits=bits)
                assert (at, value != 0) == (size, True)
            else:
                with pytest.raises(CorruptBatch):
                    read(number, 0, bits=bits)
            with pytest.raises(CorruptBatch, match=r"is cut|more than"):
                read(number[:-1], 0, bits=bits)


@pytest.mark.parametrize("value", [0, -1, 1, 63, -64, 64, -65, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)])
def test_numbers_there_and_back(value: int) -> None:
    assert read_varint(encode_varint(value), 0, bits=64) == (value, len(encode_varint(value)))
    if value >= 0:
        assert read_unsigned(encode_unsigned(value), 0, bits=64)[0] == value


def test_seal_computes_length_and_crc() -> None:
    header = BatchHeader(5, -1, 3, 2, 0, 0x30, 0, -1, 9, 7, 1, -1, 0)
    batch = seal(header, b"")
    assert len(batch) == HEADER_BYTES
    found = read_header(batch)
    assert found == header._replace(length=49, crc=found.crc)
    assert check_crc(batch, found)
    assert list(records_of(batch)) == []
