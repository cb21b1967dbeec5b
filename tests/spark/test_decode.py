"""Columns of fetched batches, held against oncelog.client.visible, which builds an object per record."""

import tracemalloc
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.client.visible import AbortedFrom, visible
from oncelog.errors import CorruptBatch
from oncelog.model import Isolation, TopicPartition
from oncelog.record.batch import (
    CONTROL,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    NewRecord,
    encode_record,
    read_header,
)
from oncelog.record.marker import encode_marker
from oncelog.record.varint import encode_varint
from oncelog.spark import decode as decoding
from oncelog.spark import starts
from oncelog.spark.arrow import pa
from oncelog.spark.decode import COLUMNS, decode, schema_of
from tests.spark.logs import Stretch, logs, sealed, some_log, some_records

HERE = TopicPartition("settlements", 3)
END = 2**62
Row = tuple[Any, ...]


def rows_of(
    data: bytes | memoryview,
    *,
    start: int = 0,
    stop: int = END,
    aborted: Sequence[AbortedFrom] = (),
    read_committed: bool = True,
) -> tuple[list[Row], int]:
    """All columns as plain values; times as microseconds."""
    found, next_offset = decode(
        data,
        topic=HERE.topic,
        partition=HERE.partition,
        start=start,
        stop=stop,
        aborted=aborted,
        read_committed=read_committed,
        headers=True,
    )
    rows: list[Row] = []
    for batch in found:
        batch.validate(full=True)
        assert batch.num_rows
        columns = [
            (each.cast(pa.int64()) if name == "timestamp" else each).to_pylist()
            for name, each in zip(batch.schema.names, batch.columns, strict=True)
        ]
        rows += zip(*columns, strict=True)
    return rows, next_offset


def rows_one_by_one(
    data: bytes | memoryview,
    *,
    start: int = 0,
    stop: int = END,
    aborted: Sequence[AbortedFrom] = (),
    read_committed: bool = True,
) -> list[Row]:
    kinds: dict[int, int] = {}
    for base, last, kind in offsets_and_kinds(memoryview(data)):
        kinds.update(dict.fromkeys(range(base, last + 1), kind))
    seen = visible(
        HERE,
        data,
        from_offset=start,
        isolation=Isolation.READ_COMMITTED if read_committed else Isolation.READ_UNCOMMITTED,
        aborted=aborted,
    )
    return [
        (
            each.key,
            each.value,
            each.topic,
            each.partition,
            each.offset,
            max(-decoding.LAST_MILLIS, min(each.timestamp, decoding.LAST_MILLIS)) * 1000,
            kinds.get(each.offset, 0),  # a damaged record may lie about its offset
            [{"key": name, "value": value} for name, value in each.headers] or None,
        )
        for each in seen.records
        if each.offset < stop
    ]


def offsets_and_kinds(data: memoryview) -> Iterator[tuple[int, int, int]]:
    at = 0
    while len(data) - at >= HEADER_BYTES and at + read_header(data, at).size <= len(data):
        header = read_header(data, at)
        yield header.base_offset, header.last_offset, int(header.attributes & LOG_APPEND_TIME != 0)
        at += header.size


# Against the plain reader


@given(logs, st.booleans())
@settings(max_examples=150, deadline=None)
def test_columns_are_the_records_of_the_plain_reader(log: Stretch, read_committed: bool) -> None:
    """RC-1, RC-5: aborted records are hidden, markers and holes are passed."""
    rows, next_offset = rows_of(log.data, aborted=log.aborted, read_committed=read_committed)
    assert rows == rows_one_by_one(log.data, aborted=log.aborted, read_committed=read_committed)
    assert next_offset == (log.next_offset if log.data else 0)


@given(logs, st.data())
@settings(max_examples=100, deadline=None)
def test_a_range_that_begins_and_ends_anywhere(log: Stretch, data: st.DataObject) -> None:
    offsets = [base for base, _, _ in offsets_and_kinds(memoryview(log.data))]
    lowest = min(offsets, default=0)
    start = data.draw(st.integers(lowest, log.next_offset + 2))
    stop = data.draw(st.integers(start, log.next_offset + 5))
    rows, next_offset = rows_of(log.data, start=start, stop=stop, aborted=log.aborted)
    assert rows == rows_one_by_one(log.data, start=start, stop=stop, aborted=log.aborted)
    if log.data:
        assert next_offset == max(start, min(log.next_offset, stop))


@given(
    st.builds(
        some_log, st.builds(Random, st.integers(0, 2**32)), st.integers(1, 5), st.just(30), st.just(20)
    ),
    st.data(),
)
@settings(max_examples=80, deadline=None)
def test_a_stretch_cut_at_any_byte_goes_on_where_it_stopped(log: Stretch, data: st.DataObject) -> None:
    """As a reader does it: what a fetch cut off comes with the next one, from the offset that was returned."""
    places = [0]
    while places[-1] < len(log.data):
        places.append(places[-1] + read_header(log.data, places[-1]).size)
    cut = data.draw(st.integers(0, len(log.data)))
    whole = max(place for place in places if place <= cut)
    rows, next_offset = rows_of(memoryview(log.data)[:cut], read_committed=False)
    if whole < len(log.data):
        assert next_offset <= read_header(log.data, whole).base_offset
    more, _ = rows_of(log.data[whole:], start=next_offset, read_committed=False)
    assert rows + more == rows_one_by_one(log.data, read_committed=False)


@given(st.integers(0, 2**32), st.sampled_from((1, 7, 40, 400)), st.booleans(), st.data())
@settings(max_examples=250, deadline=None)
def test_what_the_plain_reader_refuses_is_refused(
    seed: int, count: int, packed: bool, data: st.DataObject
) -> None:
    """Batches whose CRC is right and whose content is not: a byte is flipped before sealing, or the count is a lie."""
    dice = Random(seed)
    made = list(enumerate(some_records(dice, count, dice.choice((5, 60, 100)), varied=True)))
    payload = bytearray(b"".join([encode_record(delta, dice.choice((0, 900)), each) for delta, each in made]))
    if data.draw(st.booleans()):
        payload[data.draw(st.integers(0, min(len(payload) - 1, 120)))] ^= data.draw(
            st.sampled_from((1, 2, 0x80, 0xFF))
        )
    lie = data.draw(st.sampled_from((0, 0, 1, -1, -count - 1, 2**31 - 1 - count)))
    good = sealed(list(enumerate(some_records(dice, 3, 20, varied=True))))
    bad = sealed(made, payload=bytes(payload), count=count + lie, base_offset=3, codec=3 if packed else 0)
    try:
        expected = rows_one_by_one(good + bad)
    except CorruptBatch:
        with pytest.raises(CorruptBatch, match="settlements-3: batch at offset 3"):
            rows_of(good + bad)
    else:
        assert rows_of(good + bad)[0] == expected


# By example


def plain(*values: bytes | None, base_offset: int = 0, **more: Any) -> bytes:
    return sealed(
        [(delta, NewRecord(b"k", value, 1000 + delta)) for delta, value in enumerate(values)],
        base_offset=base_offset,
        **more,
    )


def offsets(data: bytes, **more: Any) -> tuple[list[int], int]:
    rows, next_offset = rows_of(data, **more)
    return [row[4] for row in rows], next_offset


def test_one_row() -> None:
    rows, _ = rows_of(
        sealed([(0, NewRecord(None, b"v", 1_700_000_000_123, (("a", None), ("b", b"x"))))], base_offset=9)
    )
    headers = [{"key": "a", "value": None}, {"key": "b", "value": b"x"}]
    assert rows == [(None, b"v", "settlements", 3, 9, 1_700_000_000_123_000, 0, headers)]


def test_columns_and_types_are_those_of_spark() -> None:
    (batch,), _ = decode(plain(b"v"), topic="t", partition=0, start=0, stop=END)
    assert [str(field.type) for field in batch.schema] == [
        "binary", "binary", "string", "int32", "int64", "timestamp[us, tz=UTC]", "int32",
    ]  # fmt: skip
    assert batch.schema.names == [name for name in COLUMNS if name != "headers"]


def test_only_some_columns() -> None:
    data = plain(b"v", b"w")
    (batch,), _ = decode(data, topic="t", partition=0, start=0, stop=END, columns=("offset", "value"))
    assert batch.to_pydict() == {"offset": [0, 1], "value": [b"v", b"w"]}
    assert batch.schema.names == ["offset", "value"]
    schema = schema_of(["value", "key", "headers"])
    (batch,), _ = decode(
        data,
        topic="t",
        partition=0,
        start=0,
        stop=END,
        schema=schema,
        columns=frozenset({"key"}),
        headers=True,
    )
    assert batch.to_pydict() == {"value": [None] * 2, "key": [b"k"] * 2, "headers": [None] * 2}
    assert schema_of(frozenset({"value", "key"})).names == ["key", "value"]
    with pytest.raises(ValueError, match=r"columns: wanted some of key, .*, found colour"):
        decode(data, topic="t", partition=0, start=0, stop=END, columns=("colour",))


def test_types_of_the_schema_are_kept() -> None:
    """Spark may want large types, and calls the elements of a list otherwise than Arrow does."""
    pair = pa.struct([("key", pa.large_string()), ("value", pa.binary())])
    schema = pa.schema(
        [
            ("value", pa.large_binary()),
            ("timestamp", pa.timestamp("ms", "UTC")),
            ("headers", pa.list_(pa.field("element", pair))),
        ]
    )
    data = sealed([(0, NewRecord(None, b"v", 7, (("a", b"b"),)))])
    (batch,), _ = decode(data, topic="t", partition=0, start=0, stop=END, schema=schema, headers=True)
    assert batch.schema == schema
    assert batch.column("timestamp").cast(pa.int64()).to_pylist() == [7]
    assert batch.column("headers").to_pylist() == [[{"key": "a", "value": b"b"}]]


def test_a_record_that_leads_to_the_last_byte() -> None:
    """Of the stretch, where no length can stand any more."""
    payload = b"".join([encode_record(delta, 0, NewRecord(None, b"v" * 90, 0)) for delta in range(300)])
    with pytest.raises(CorruptBatch, match="settlements-3: batch at offset 0: number at byte 29937 is cut"):
        rows_of(sealed([], payload=payload + b"\x80", count=301))


def test_headers_are_null_unless_asked_for() -> None:
    data = sealed([(0, NewRecord(None, None, 0, (("a", b"b"),)))])
    (batch,), _ = decode(data, topic="t", partition=0, start=0, stop=END, schema=schema_of(["headers"]))
    assert batch.to_pydict() == {"headers": [None]}


def test_log_append_time_is_one_time_for_all_records_of_a_batch() -> None:
    rows, _ = rows_of(
        plain(b"a", b"b", attributes=LOG_APPEND_TIME, max_timestamp=5) + plain(b"c", base_offset=2)
    )
    assert [row[5:7] for row in rows] == [(5000, 1), (5000, 1), (1_000_000, 0)]


def test_times_that_do_not_fit_into_microseconds_stay_at_the_last_one() -> None:
    rows, _ = rows_of(
        sealed(
            [(0, NewRecord(None, None, 2**62)), (1, NewRecord(None, None, -1)), (2, NewRecord(None, None, 5))]
        )
    )
    assert [row[5] for row in rows] == [decoding.LAST_MILLIS * 1000, -1000, 5000]


def marker(offset: int, producer_id: int, *, commit: bool) -> bytes:
    return encode_marker(
        base_offset=offset, leader_epoch=0, timestamp=7, producer_id=producer_id, producer_epoch=0,
        coordinator_epoch=0, commit=commit,
    )  # fmt: skip


def test_an_abort_ends_at_its_marker() -> None:
    """RC-2: from the first offset of the list to the marker of that producer, and no further."""
    data = (
        plain(b"a", base_offset=0, attributes=TRANSACTIONAL, producer_id=7)
        + plain(b"b", base_offset=1, attributes=TRANSACTIONAL, producer_id=8)
        + plain(b"not in a transaction", base_offset=2, producer_id=7)
        + marker(3, 7, commit=False)
        + plain(b"c", base_offset=4, attributes=TRANSACTIONAL, producer_id=7)
    )
    assert offsets(data, aborted=[AbortedFrom(0, 7)]) == ([1, 2, 4], 5)
    assert offsets(data, aborted=[AbortedFrom(0, 7), AbortedFrom(1, 8)]) == ([2, 4], 5)
    assert offsets(data) == ([0, 1, 2, 4], 5)
    assert offsets(data, aborted=[AbortedFrom(0, 7)], read_committed=False) == ([0, 1, 2, 4], 5)


def test_nothing_but_markers_and_empty_batches_moves_on() -> None:
    """RC-5: a reader that gets no row must not ask for the same offset again."""
    empty = sealed([], base_offset=5, last_offset_delta=94)
    assert offsets(marker(4, 1, commit=True) + empty, start=4) == ([], 100)
    assert offsets(sealed([], base_offset=0, last_offset_delta=9, attributes=CONTROL, producer_id=1)) == (
        [],
        10,
    )


def test_a_batch_beyond_the_range_says_that_the_range_is_done() -> None:
    assert offsets(plain(b"a") + plain(b"b", base_offset=50), stop=20) == ([0], 20)
    assert offsets(plain(b"b", base_offset=50), start=10, stop=20) == ([], 20)
    assert offsets(b"", start=10, stop=20) == ([], 10)
    assert offsets(plain(*[b"a"] * 10), stop=4) == ([0, 1, 2, 3], 4)


def test_damage_is_refused_with_the_place() -> None:
    data = bytearray(plain(b"a") + plain(b"value", base_offset=1))
    data[-2] ^= 1
    with pytest.raises(
        CorruptBatch, match=r"settlements-3: batch at offset 1: wanted CRC [0-9a-f]{8}, found [0-9a-f]{8}"
    ):
        rows_of(bytes(data))
    assert offsets(bytes(data), stop=1) == ([0], 1), "a batch that nobody wants is not looked at"


@pytest.mark.parametrize(
    ("at", "byte", "match"), [(16, 1, "wanted magic 2, found 1"), (8, 0xFF, "length -"), (11, 1, "length 1")]
)
def test_what_is_no_batch_is_refused(at: int, byte: int, match: str) -> None:
    data = bytearray(plain(b"a"))
    data[at] = byte
    if at == 11:
        data[8:11] = bytes(3)
    with pytest.raises(CorruptBatch, match=match):
        rows_of(bytes(data))


def raw(*fields: bytes | int) -> bytes:
    """A record from its fields, numbers as varints; its length is in front."""
    body = b"\0" + b"".join([encode_varint(each) if isinstance(each, int) else each for each in fields])
    return encode_varint(len(body)) + body


MALFORMED = {
    "more bytes behind the headers": raw(0, 0, -1, -1, 0, b"x"),
    "a key beyond the record": raw(0, 0, 9, b"k", -1, 0),
    "a value beyond the record": raw(0, 0, -1, 9, b"v", 0),
    "a header beyond the record": raw(0, 0, -1, -1, 1, 1, b"n", 9),
    "a header without a name": raw(0, 0, -1, -1, 1, -1, -1),
    "more headers than bytes": raw(0, 0, -1, -1, 99),
    "fewer headers than none": raw(0, 0, -1, -1, -2),
    "headers that end early": raw(0, 0, -1, -1, 1, 1, b"n", -1, b"x"),
    "an offset of 33 bits": raw(0, 2**32, -1, -1, 0),
}


@pytest.mark.parametrize("many", [1, 40])
@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_records_are_refused(what: str, many: int) -> None:
    """In a batch whose CRC is right, alone and among many, with what the plain reader says about them."""
    data = plain(b"a") + sealed([], payload=MALFORMED[what] * many, count=many, base_offset=1)
    with pytest.raises(CorruptBatch) as expected:
        rows_one_by_one(data)
    with pytest.raises(CorruptBatch) as found:
        rows_of(data)
    assert str(found.value) == f"settlements-3: batch at offset 1: {expected.value}"
    if "header" not in what.removesuffix("behind the headers"):
        with pytest.raises(CorruptBatch):
            decode(data, topic="t", partition=0, start=0, stop=END, columns=("value",))


UNUSUAL = {
    "a time of more bytes than it needs": raw(b"\x80\x00", 0, -1, -1, 0),
    "an offset of five bytes": raw(0, b"\x80\x80\x80\x80\x00", -1, -1, 0),
    "sizes below minus one": raw(0, 0, -5, -2, 0),
    "a time of nine bytes": raw(2**57, 0, 1, b"k", 1, b"v", 0),
    "a time of ten bytes": raw(-(2**63), 0, 1, b"k", 1, b"v", 0),
    "a header count of two bytes": raw(0, 0, -1, -1, b"\x82\x00", 0, 0),
}


@pytest.mark.parametrize("what", UNUSUAL)
def test_unusual_records_are_read(what: str) -> None:
    data = sealed([], payload=UNUSUAL[what], count=1)
    assert rows_of(data)[0] == rows_one_by_one(data)


def test_what_does_not_decompress_is_refused_with_its_place() -> None:
    with pytest.raises(CorruptBatch, match="settlements-3: batch at offset 5: zstd: "):
        rows_of(sealed([], payload=b"no zstd", attributes=4, count=1, base_offset=5))


def test_the_smallest_batch() -> None:
    """Seven bytes when decompressed: less than a word."""
    for codec in range(5):
        data = sealed([(0, NewRecord(None, None, 0))], codec=codec)
        assert rows_of(data)[0] == rows_one_by_one(data)


def test_a_count_that_is_a_lie_costs_nothing() -> None:
    data = sealed([(delta, NewRecord(None, b"v" * delta, 0)) for delta in range(5)], count=2**31 - 1)
    tracemalloc.start()
    with pytest.raises(CorruptBatch, match="settlements-3: batch at offset 0"):
        rows_of(data)
    assert tracemalloc.get_traced_memory()[1] < 300_000
    tracemalloc.stop()


def test_many_headers_in_few_records() -> None:
    many: list[tuple[str, bytes | None]] = [(f"n{each}", b"") for each in range(3000)]
    records = [NewRecord(None, b"v", 0, many if each == 5 else many[:each]) for each in range(40)]
    data = sealed(list(enumerate(records)))
    assert rows_of(data)[0] == rows_one_by_one(data)


def test_header_names_that_are_no_utf8_are_replaced_as_java_does() -> None:
    payload = encode_record(0, 0, NewRecord(None, None, 0, (("ab", b""),))).replace(b"ab", b"\xffb")
    rows, _ = rows_of(sealed([], payload=payload, count=1))
    assert rows[0][7] == [{"key": "\ufffdb", "value": b""}]


def test_a_large_stretch_comes_in_several_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "CHUNK_BYTES", 10_000)
    for codec in (0, 4):
        data = b"".join([plain(*[b"v" * 100] * 30, base_offset=30 * each, codec=codec) for each in range(20)])
        found, _ = decode(data, topic="t", partition=0, start=0, stop=END)
        assert [each.num_rows for each in found] == [90 if codec == 0 else 60] * 0 + [
            each.num_rows for each in found
        ]
        assert max(each.num_rows for each in found) <= 120
        assert sum(each.num_rows for each in found) == 600
        assert len(found) > 4


# Where records begin


def test_records_inside_of_values_do_not_deceive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that hold records themselves, as in a topic of dumps: guesses are wrong and the proof finds out."""
    walked: list[int] = []
    one_by_one = starts._one_by_one  # pyright: ignore[reportPrivateUsage]  # counted here

    def counted(payload: bytes, count: int) -> Any:
        walked.append(count)
        return one_by_one(payload, count)

    monkeypatch.setattr(starts, "_one_by_one", counted)
    monkeypatch.setattr(decoding, "_fields_one_by_one", None)
    inner = b"".join([encode_record(delta, 0, NewRecord(None, b"x" * 10, 0)) for delta in range(60)])
    nested = sealed([(delta, NewRecord(None, inner, delta)) for delta in range(300)])
    usual = plain(*[b"v" * size for size in range(400)], base_offset=300)
    assert rows_of(nested + usual)[0] == rows_one_by_one(nested + usual)
    assert walked == [300], "the nested batch, and only it, is walked record by record"


@given(
    st.lists(
        st.tuples(st.sampled_from((0, 50, 53, 54, 55, 100, 400)), st.integers(1, 400)),
        min_size=2,
        max_size=6,
    )
)
@settings(max_examples=25, deadline=None)
def test_runs_of_records_of_one_size(runs: list[tuple[int, int]]) -> None:
    records = [NewRecord(None, b"v" * size, 0) for size, count in runs for _ in range(count)]
    records = [each._replace(timestamp=row // 3) for row, each in enumerate(records * 3)]
    data = sealed(list(enumerate(records)))
    assert rows_of(data)[0] == rows_one_by_one(data)


def test_records_of_one_size_are_not_walked_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("a walk")

    monkeypatch.setattr(starts, "_walk", refuse)
    monkeypatch.setattr(starts, "_one_by_one", refuse)
    data = sealed([(delta, NewRecord(b"key", b"v" * 100, delta // 10)) for delta in range(10_000)])
    assert len(rows_of(data)[0]) == 10_000


@pytest.mark.parametrize("batch", [3000, 200, 16])
@pytest.mark.parametrize("varied", [False, True])
@pytest.mark.parametrize("mean_bytes", [10, 100, 1000])
def test_hardly_a_record_takes_a_step_of_python(
    monkeypatch: pytest.MonkeyPatch, mean_bytes: int, varied: bool, batch: int
) -> None:
    """But for the last few lanes of a walk nothing may be done record by record."""
    stepped: list[int] = []
    hops = starts._hops  # pyright: ignore[reportPrivateUsage]  # counted here

    def counted(payload: bytes) -> Iterator[int]:
        for each in hops(payload):
            stepped.append(each)
            yield each

    def refuse(*_: Any) -> Any:
        raise AssertionError("a walk by plain Python")

    monkeypatch.setattr(starts, "_hops", counted)
    monkeypatch.setattr(starts, "_one_by_one", refuse)
    monkeypatch.setattr(decoding, "_fields_one_by_one", refuse)
    made = [
        each._replace(headers=())  # some of them would make lengths of three bytes
        for each in some_records(Random(batch), 6000, mean_bytes, varied=varied, deceiving=False)
    ]
    data = b"".join(
        [sealed(list(enumerate(made[at : at + batch])), base_offset=at) for at in range(0, len(made), batch)]
    )
    assert len(rows_of(data)[0]) == len(made)
    assert len(stepped) < len(made) // 10
