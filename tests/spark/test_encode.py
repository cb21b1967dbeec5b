"""Batches made from columns, held against record/batch.py byte for byte."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.model import Producer, ProducerEpoch, ProducerId
from oncelog.record.batch import (
    HEADER_BYTES,
    MAX_SEQUENCE,
    NewRecord,
    build_batch,
    check_crc,
    read_header,
    records_of,
)
from oncelog.spark import encode as encoding
from oncelog.spark.arrow import pa
from oncelog.spark.decode import decode
from oncelog.spark.encode import CODECS, BadRows, Encoder, RecordTooLarge, split_by_partition
from tests.spark.logs import some_records

US = Producer(ProducerId(7), ProducerEpoch(3))
NOW = 1_700_000_000_123
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
NO_LIMIT = 2**40


def now_ms() -> int:
    return NOW


def columns_of(records: Sequence[NewRecord]) -> Any:
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([each.key for each in records], pa.binary()),
            "value": pa.array([each.value for each in records], pa.binary()),
            "headers": pa.array(
                [[{"key": name, "value": value} for name, value in each.headers] or None for each in records],
                HEADERS,
            ),
            "timestamp": pa.array([each.timestamp for each in records], pa.int64()),
        }
    )


def records_in(batches: Sequence[bytes | memoryview]) -> list[NewRecord]:
    """What readers find, batch after batch; and each batch is whole and sound."""
    found: list[NewRecord] = []
    for batch in batches:
        header = read_header(batch)
        assert header.size == len(batch)
        assert check_crc(batch, header)
        records = list(records_of(batch, header))
        assert [each.offset for each in records] == list(range(len(records)))
        found += [NewRecord(each.key, each.value, each.timestamp, each.headers) for each in records]
    return found


def plain(records: Sequence[NewRecord]) -> list[NewRecord]:
    return [each._replace(headers=tuple(each.headers)) for each in records]


def some(seed: int, shape: tuple[int, int], varied: bool) -> list[NewRecord]:
    records = some_records(Random(seed), *shape, varied=varied)
    return [each._replace(timestamp=abs(each.timestamp)) for each in records]


# How many records of how many bytes: around the numbers where a varint grows.
SHAPES = [
    *((count, mean) for count in (1, 2, 64, 65, 200) for mean in (0, 10, 58, 62, 100)),
    (3, 8170),
    (9, 4000),
]
made = st.builds(some, st.integers(0, 2**32), st.sampled_from(SHAPES), st.booleans())


# Against the plain writer


@given(made, st.sampled_from(sorted(CODECS)), st.booleans(), st.integers(0, MAX_SEQUENCE))
@settings(max_examples=120, deadline=None)
def test_one_batch_is_that_of_the_plain_writer(
    records: list[NewRecord], codec: str, transactional: bool, sequence: int
) -> None:
    encoder = Encoder(
        US, transactional, codec, NO_LIMIT, now_ms, request_limit_bytes=NO_LIMIT, first_sequence=sequence
    )
    (batch,) = encoder.add(columns_of(records))
    expected = [
        build_batch(
            records,
            codec=each,
            producer_id=US.id,
            producer_epoch=US.epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
        for each in (0, CODECS[codec])
    ]
    assert batch == min(expected, key=len)


@given(made, st.integers(HEADER_BYTES, 20_000), st.integers(1, 4), st.data())
@settings(max_examples=120, deadline=None)
def test_batches_follow_each_other_and_keep_to_the_limit(
    records: list[NewRecord], limit: int, calls: int, data: st.DataObject
) -> None:
    """FMT-1: sequences are consecutive from batch to batch and from call to call, and wrap to 0."""
    sequence = data.draw(st.sampled_from((0, MAX_SEQUENCE - 100, MAX_SEQUENCE)))
    encoder = Encoder(US, True, "none", limit, now_ms, request_limit_bytes=NO_LIMIT, first_sequence=sequence)
    rows = columns_of(records)
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=calls))), len(records)]
    sealed = [
        batch for first, after in pairwise(cuts) for batch in encoder.add(rows.slice(first, after - first))
    ]
    assert records_in(sealed) == plain(records)
    for batch in sealed:
        header = read_header(batch)
        assert header.base_sequence == sequence
        sequence = (sequence + header.count) % 2**31
        assert len(batch) <= limit or header.count == 1
    assert encoder.next_sequence == sequence


@given(made, st.sampled_from(sorted(CODECS)))
@settings(max_examples=40, deadline=None)
def test_columns_come_back(records: list[NewRecord], codec: str) -> None:
    rows = columns_of(records)
    sealed = Encoder(US, True, codec, 3000, now_ms, request_limit_bytes=NO_LIMIT).add(rows)
    found = [
        each.select(rows.schema.names)
        for batch in sealed
        for each in decode(batch, topic="t", partition=0, start=0, stop=2**31, headers=True)[0]
    ]
    table = pa.Table.from_batches(found)
    assert table.drop(["timestamp"]).to_pylist() == rows.drop_columns(["timestamp"]).to_pylist()
    micros = table["timestamp"].cast(pa.int64()).to_pylist()
    assert micros == [each.timestamp * 1000 for each in records]


# By example


def one_batch(**columns: Any) -> bytes:
    (batch,) = Encoder(None, False, "none", 1_000_000, now_ms).add(pa.RecordBatch.from_pydict(columns))
    return bytes(batch)


def test_a_batch_without_a_producer() -> None:
    assert one_batch(value=pa.array([b"a", None])) == build_batch(
        [NewRecord(None, b"a", NOW), NewRecord(None, None, NOW)]
    )


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.large_binary(), pa.binary_view()]
)
def test_text_and_other_columns_of_bytes(kind: Any) -> None:
    column = pa.array([b"skipped", b"k\xc3\xbc", None, b""], pa.binary()).cast(kind)[1:]
    records = [NewRecord(each, each, NOW) for each in ("kü".encode(), None, b"")]
    assert one_batch(key=column, value=column) == build_batch(records)
    assert one_batch(key=pa.nulls(3), value=column) == build_batch(
        [each._replace(key=None) for each in records]
    )


@pytest.mark.parametrize(
    ("unit", "value"),
    [("s", 1_700_000_000), ("ms", NOW), ("us", NOW * 1000 + 999), ("ns", NOW * 1_000_000 + 999_999)],
)
def test_times_are_milliseconds_rounded_down(unit: str, value: int) -> None:
    batch = one_batch(value=pa.array([b"a"]), timestamp=pa.array([value], pa.timestamp(unit, "UTC")))
    assert records_in([batch])[0].timestamp == (NOW if unit != "s" else 1_700_000_000_000)


def test_rows_without_a_time_get_the_time_of_writing() -> None:
    batch = one_batch(value=pa.array([b"a", b"b"]), timestamp=pa.array([None, 5], pa.int64()))
    assert [each.timestamp for each in records_in([batch])] == [NOW, 5]


def test_nothing_gives_nothing() -> None:
    assert (
        Encoder(US, True, "none", 100, now_ms).add(
            pa.RecordBatch.from_pydict({"value": pa.array([], pa.binary())})
        )
        == []
    )


def test_null_lists_of_headers_may_hide_bytes() -> None:
    """Arrow allows a null to stand over elements that do not count."""
    pairs = pa.array([{"key": "hidden", "value": b""}, {"key": "a", "value": None}], HEADERS.value_type)
    column = pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), pairs, type=HEADERS, mask=pa.array([True, False])
    )
    batch = one_batch(value=pa.array([b"1", b"2"]), headers=column)
    assert [each.headers for each in records_in([batch])] == [(), (("a", None),)]


@pytest.mark.parametrize("codec", sorted(CODECS))
def test_what_cannot_be_compressed_keeps_to_the_limit_too(codec: str) -> None:
    value = pa.array([Random(each).randbytes(40) for each in range(300)])
    sealed = Encoder(US, True, codec, 500, now_ms).add(pa.RecordBatch.from_pydict({"value": value}))
    assert max(len(each) for each in sealed) <= 500
    assert [each.value for each in records_in(sealed)] == value.to_pylist()


def test_a_record_larger_than_the_limit_gets_its_own_batch() -> None:
    """Whether it is too large the broker knows: MESSAGE_TOO_LARGE."""
    values = pa.array([b"a", b"b" * 5000, b"c"])
    sealed = Encoder(US, True, "none", 1000, now_ms).add(pa.RecordBatch.from_pydict({"value": values}))
    assert [read_header(each).count for each in sealed] == [1, 1, 1]


def test_a_record_larger_than_a_request_is_refused_with_its_size() -> None:
    rows = pa.RecordBatch.from_pydict({"value": pa.array([b"a", b"b" * 5000])})
    encoder = Encoder(US, True, "none", 1000, now_ms, request_limit_bytes=5000)
    with pytest.raises(RecordTooLarge, match=r"row 1: a record of 50\d\d bytes, max.request.size is 5000"):
        encoder.add(rows)
    assert encoder.next_sequence == 0
    assert len(Encoder(US, True, "none", 1000, now_ms, request_limit_bytes=5100).add(rows)) == 2


def test_many_bytes_are_made_in_several_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [9000, *[100] * 500, 9000, *[100] * 500]  # some larger than a piece
    rows = columns_of([NewRecord(b"%d" % each, b"v" * size, NOW + each) for each, size in enumerate(sizes)])
    whole = Encoder(US, True, "none", 2000, now_ms).add(rows)
    monkeypatch.setattr(encoding, "CHUNK_BYTES", 5000)
    assert Encoder(US, True, "none", 2000, now_ms).add(rows) == whole


def refused(match: str, **columns: Any) -> None:
    with pytest.raises(BadRows, match=match):
        one_batch(**columns)


def test_rows_that_are_no_records_are_refused() -> None:
    value = pa.array([b"a", b"b"])
    refused("wanted a column `value`, found key", key=value)
    refused("column value: wanted binary or string, found int64", value=pa.array([1, 2]))
    refused("column key: wanted binary or string, found double", key=pa.array([1.5, 2]), value=value)
    refused(
        "column timestamp: wanted timestamps or milliseconds as int64, found string",
        value=value,
        timestamp=pa.array(["a", "b"]),
    )
    refused(
        "row 1: timestamp -1 ms, a record's is never below 0",
        value=value,
        timestamp=pa.array([0, -1], pa.int64()),
    )
    refused("column headers: wanted a list of .*, found string", value=value, headers=pa.array(["a", "b"]))
    refused(
        "column headers: wanted a list of .*, found list", value=value, headers=pa.array([[{"k": "a"}], None])
    )
    nameless = pa.array([[{"key": None, "value": b""}], None], HEADERS)
    refused("column headers: a header without a key", value=value, headers=nameless)


def test_encoders_that_make_no_sense_are_refused() -> None:
    with pytest.raises(
        ValueError, match="codec: wanted one of none, gzip, snappy, lz4, zstd, found 'brotli'"
    ):
        Encoder(US, True, "brotli", 1000, now_ms)
    with pytest.raises(ValueError, match="a transactional batch needs a producer"):
        Encoder(None, True, "none", 1000, now_ms)


# By partition


@given(st.lists(st.integers(0, 5) | st.sampled_from((70_000, 65_535)), max_size=60), st.booleans())
@settings(max_examples=100, deadline=None)
def test_rows_of_a_partition_keep_their_order(partitions: list[int], as_arrow: bool) -> None:
    rows = pa.RecordBatch.from_pydict(
        {
            "value": pa.array([b"%d" % each for each in range(len(partitions))], pa.binary()),
            "topic": pa.array(["t"] * len(partitions), pa.string()),
        }
    )
    where = pa.array(partitions, pa.int32()) if as_arrow else np.array(partitions, np.int64)
    found = split_by_partition(rows, where)
    assert list(found) == sorted(set(partitions))
    for partition, some in found.items():
        assert some.to_pydict() == {
            "value": [b"%d" % row for row, each in enumerate(partitions) if each == partition]
        }


def test_rows_without_a_partition_are_refused() -> None:
    rows = pa.RecordBatch.from_pydict({"value": pa.array([b"a", b"b"])})
    with pytest.raises(BadRows, match="row 1: no partition"):
        split_by_partition(rows, pa.array([0, None], pa.int32()))
    with pytest.raises(BadRows, match="row 1: partition -2, wanted 0 or more"):
        split_by_partition(rows, np.array([0, -2]))
    with pytest.raises(BadRows, match="partitions of 1 rows, there are 2"):
        split_by_partition(rows, np.array([0]))
