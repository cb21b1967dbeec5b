"""decode(encode(x)) == x for all that we keep, and no bytes make a decoder do anything but answer or refuse."""

import contextlib
from collections.abc import Callable
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.config import TopicConfig
from oncelog.errors import CorruptBatch, CorruptLog
from oncelog.log.validate import Invalid, Valid, read_one_batch, summarize, validate
from oncelog.model import TopicPartition
from oncelog.record import aborted, checkpoints, offset_index, offsets, snapshot, time_index, txn_state
from oncelog.record.aborted import AbortedEntry
from oncelog.record.batch import (
    Header,
    NewRecord,
    Record,
    batches,
    build_batch,
    encode_record,
    read_header,
    records_of,
    seal,
    walk,
)
from oncelog.record.compression import compress, decompress
from oncelog.record.marker import Marker, encode_marker, read_marker
from oncelog.record.snapshot import SnapshotEntry
from oncelog.record.txn_state import TransactionKey, TransactionPartitions, TransactionValue

int8: Final = st.integers(-(2**7), 2**7 - 1)
int16: Final = st.integers(-(2**15), 2**15 - 1)
int32: Final = st.integers(-(2**31), 2**31 - 1)
int64: Final = st.integers(-(2**63), 2**63 - 1)
blob: Final = st.binary(max_size=150)
maybe: Final = st.none() | blob
text: Final = st.text(st.characters(codec="utf-8"), max_size=12)
new_records: Final = st.builds(
    NewRecord,
    key=maybe,
    value=maybe,
    timestamp=st.integers(0, 2**40) | st.integers(1000, 1100),
    headers=st.lists(st.tuples(text, maybe), max_size=3) | st.just([]),
)


@given(st.lists(new_records, min_size=1, max_size=80), st.integers(0, 4), st.integers(0, 2**40))
@settings(max_examples=150, deadline=None)
def test_batches(records: list[NewRecord], codec: int, base_offset: int) -> None:
    batch = build_batch(records, codec=codec, base_offset=base_offset)
    found = list(records_of(batch))
    assert found == [
        Record(
            base_offset + at,
            record.timestamp,
            record.key,
            record.value,
            tuple(Header(name, value) for name, value in record.headers),
        )
        for at, record in enumerate(records)
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 63, 64, 9_000, -1, -70]), st.sampled_from([None, b"", b"k", b"k" * 130]),
                  st.sampled_from([None, b"", b"v" * 60, b"v" * 61, b"v" * 130]), st.integers(1, 70)),
        min_size=1, max_size=6),
    st.integers(0, 10_000), st.sampled_from([0x01, 0x40, 0x80, 0xFF]), st.booleans(),
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_the_walk_by_columns_is_the_plain_walk(
    runs: list[tuple[int, bytes | None, bytes | None, int]], at: int, flip: int, damage: bool
) -> None:
    shapes = [(delta, key, value) for delta, key, value, count in runs for _ in range(count)]
    compare_walks(shapes, at, flip if damage else 0)


@given(
    st.lists(
        st.tuples(st.integers(-3, 66), st.sampled_from([None, b"k", b"key"]), st.integers(-1, 150)),
        min_size=1,
        max_size=150,
    ),
    st.integers(0, 10_000),
    st.sampled_from([0, 0, 0x01, 0x02, 0x80]),
)
@settings(max_examples=200, deadline=None)
def test_the_walk_of_records_of_all_sizes_is_the_plain_walk(
    records: list[tuple[int, bytes | None, int]], at: int, flip: int
) -> None:
    compare_walks([(delta, key, None if size < 0 else bytes(size)) for delta, key, size in records], at, flip)


def compare_walks(shapes: list[tuple[int, bytes | None, bytes | None]], at: int, flip: int) -> None:
    payload = bytearray(
        b"".join(
            encode_record(index, delta, NewRecord(key, value))
            for index, (delta, key, value) in enumerate(shapes)
        )
    )
    if flip:
        payload[at % len(payload)] ^= flip
    try:
        found = list(walk(bytes(payload), len(shapes)))
        sound = [record.offset_delta for record in found] == list(range(len(shapes)))
    except CorruptBatch:
        found, sound = [], False
    try:
        summary = summarize(bytes(payload), 0, len(shapes))
    except CorruptBatch:
        assert not sound
    else:
        times = [record.timestamp_delta for record in found]
        assert sound
        assert summary == (
            min(times),
            max(times),
            times.index(max(times)),
            any(each.key is None for each in found),
        )


@given(blob, st.integers(1, 4), st.integers(0, 200))
@settings(max_examples=100, deadline=None)
def test_codecs(data: bytes, codec: int, repeat: int) -> None:
    plain = data * repeat
    assert decompress(codec, compress(codec, plain), limit_bytes=len(plain)) == plain


@given(int64, int16, int32, st.booleans(), int64)
def test_markers(producer_id: int, epoch: int, coordinator_epoch: int, commit: bool, timestamp: int) -> None:
    batch = encode_marker(
        base_offset=3,
        leader_epoch=0,
        timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        commit=commit,
    )
    assert read_marker(batch) == Marker(commit, coordinator_epoch)


@given(
    st.lists(st.builds(SnapshotEntry, int64, int16, int32, int64, int32, int64, int32, int64), max_size=20)
)
def test_snapshots(entries: list[SnapshotEntry]) -> None:
    assert snapshot.decode_snapshot(snapshot.encode_snapshot(entries)) == entries


@given(st.lists(st.tuples(int64, st.integers(0, 100), st.integers(1, 100), int64), max_size=20))
def test_aborted_entries(rows: list[tuple[int, int, int, int]]) -> None:
    entries: list[AbortedEntry] = []
    last = 0
    for producer_id, back, ahead, stable in rows:
        last += ahead
        entries.append(AbortedEntry(producer_id, last - back, last, stable))
    data = b"".join(aborted.encode_entry(entry) for entry in entries)
    assert list(aborted.decode_entries(data)) == entries


@given(
    st.dictionaries(
        st.builds(
            TopicPartition, st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True), st.integers(0, 999)
        ),
        st.integers(0, 2**62),
    )
)
def test_offset_checkpoints(found: dict[TopicPartition, int]) -> None:
    assert checkpoints.decode_offsets(checkpoints.encode_offsets(found)) == found


values: Final = st.builds(
    TransactionValue,
    producer_id=int64,
    producer_epoch=int16,
    timeout_ms=int32,
    status=int8,
    partitions=st.none()
    | st.lists(
        st.builds(TransactionPartitions, topic=text, partition_ids=st.lists(int32, max_size=4)), max_size=4
    ),
    last_update_timestamp=int64,
    start_timestamp=int64,
    previous_producer_id=int64,
    next_producer_id=int64,
    client_transaction_version=int16,
    next_producer_epoch=int16,
)


@given(text, values)
def test_transaction_state(transactional_id: str, value: TransactionValue) -> None:
    key = TransactionKey(transactional_id)
    assert txn_state.decode_key(txn_state.encode_key(key)) == key
    assert txn_state.decode_value(txn_state.encode_value(value)) == value


COMMIT: Final = offsets.OffsetCommitKey("g", "t", 0)
OTHERS: Final[list[offsets.Key]] = [
    COMMIT,
    offsets.GroupMetadataKey("g"),
    offsets.ConsumerGroupMetadataKey("g"),
    offsets.ConsumerGroupPartitionMetadataKey("g"),
    offsets.ConsumerGroupMemberMetadataKey("g", "m"),
    offsets.ConsumerGroupTargetAssignmentMetadataKey("g"),
    offsets.ConsumerGroupTargetAssignmentMemberKey("g", "m"),
    offsets.ConsumerGroupCurrentMemberAssignmentKey("g", "m"),
    offsets.ConsumerGroupRegularExpressionKey("g", "r"),
]


@given(text, text, int32, int64, int32, text, int64, st.binary(min_size=16, max_size=16))
def test_offset_commits(
    group: str,
    topic: str,
    partition: int,
    offset: int,
    epoch: int,
    metadata: str,
    stamp: int,
    topic_id: bytes,
) -> None:
    key = offsets.OffsetCommitKey(group, topic, partition)
    assert offsets.decode_key(offsets.encode_key(key)) == key
    value = offsets.OffsetCommitValue(
        offset=offset, leader_epoch=epoch, metadata=metadata, commit_timestamp=stamp, topic_id=topic_id
    )
    assert offsets.decode_value(key, offsets.encode_value(key, value)) == value


DECODERS: Final[list[Callable[[bytes], Any]]] = [
    offsets.decode_key,
    *[lambda data, key=key: offsets.decode_value(key, data) for key in OTHERS],
    txn_state.decode_key,
    txn_state.decode_value,
    snapshot.decode_snapshot,
    offset_index.decode_entries,
    time_index.decode_entries,
    lambda data: list(aborted.decode_entries(data)),
    lambda data: list(batches(data)),
    read_marker,
    lambda data: checkpoints.decode_offsets(data.decode("latin-1")),
    lambda data: checkpoints.decode_leader_epochs(data.decode("latin-1")),
    lambda data: checkpoints.decode_partition_metadata(data.decode("latin-1")),
    lambda data: checkpoints.decode_meta_properties(data.decode("latin-1")),
    lambda data: checkpoints.decode_clean_shutdown(data.decode("latin-1")),
    *[lambda data, codec=codec: decompress(codec, data, limit_bytes=4096) for codec in range(8)],
]


@given(st.binary(max_size=120), st.integers(0, 4))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes, version: int) -> None:
    for decode in DECODERS:
        for given_bytes in (data, b"\0" + bytes((version,)) + data):
            with contextlib.suppress(CorruptBatch, CorruptLog):
                decode(given_bytes)


@given(
    st.binary(max_size=200),
    st.integers(0, 7),
    st.integers(-2, 20),
    st.integers(-2, 20),
    st.binary(max_size=90),
)
@settings(max_examples=300, deadline=None)
def test_any_produce_is_valid_or_refused(
    payload: bytes, codec: int, count: int, last: int, raw: bytes
) -> None:
    """Bytes with a right CRC around anything, and bytes that are no batch."""
    header = read_header(build_batch([NewRecord(b"k", b"v", 0)]))
    batch = seal(header._replace(attributes=codec, count=count, last_offset_delta=last), payload)
    found = read_one_batch(batch, 9)
    assert not isinstance(found, Invalid)
    answer = validate(batch, found, TopicConfig(), 0, compacted=True, max_decompressed_bytes=10_000)
    assert isinstance(answer, Valid | Invalid)
    read_one_batch(raw, 9)
    read_one_batch(batch[: len(raw)] + raw, 9)
