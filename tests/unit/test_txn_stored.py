"""What the coordinator writes quickly is byte for byte what the general codecs write, and is read back the same (FMT-3)."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oncelog.errors import CorruptBatch
from oncelog.model import Millis, Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.record.batch import NewRecord, build_batch, read_header, seal
from oncelog.record.marker import encode_marker
from oncelog.record.txn_state import (
    TransactionKey,
    TransactionPartitions,
    TransactionValue,
    encode_bump_key,
    encode_key,
    encode_value,
)
from oncelog.txn.state import Bump, Caller, State, Txn
from oncelog.txn.stored import (
    bump_of_value,
    bumped_id_of,
    decode_txn,
    encode_batch,
    encode_txn,
    is_under_way,
    transactional_id_of,
    value_of_bump,
    walk,
)

LONG = 2**63 - 1
WRITTEN = [each for each in State if each < State.DEAD]
ids = st.integers(-1, LONG).map(ProducerId)
times = st.integers(-1, LONG).map(Millis)


@st.composite
def txns(draw: st.DrawFn) -> Txn:
    state = draw(st.sampled_from(WRITTEN))
    names = st.text(st.characters(codec="ascii", exclude_characters="\0"), min_size=1, max_size=200)
    partitions = draw(st.sets(st.tuples(names, st.integers(0, 2**31 - 1)), max_size=6))
    return Txn(
        transactional_id=draw(st.text(st.characters(codec="utf-8"), min_size=1, max_size=90)),
        producer=Producer(draw(ids), ProducerEpoch(draw(st.integers(-1, 32767)))),
        previous_producer_id=draw(ids),
        next_producer_id=draw(ids),
        next_producer_epoch=draw(st.integers(-1, 32766)),
        timeout_ms=draw(st.integers(1, 2**31 - 1)),
        state=state,
        partitions=()
        if state is State.EMPTY
        else tuple(sorted(TopicPartition(topic, number) for topic, number in partitions)),
        start_ms=draw(times),
        update_ms=draw(times),
        client_version=draw(st.sampled_from([0, 2])),
    )


def value_of(txn: Txn) -> TransactionValue:
    by_topic: dict[str, list[int]] = {}
    for each in txn.partitions:
        by_topic.setdefault(each.topic, []).append(each.partition)
    listed = [TransactionPartitions(topic=topic, partition_ids=some) for topic, some in by_topic.items()]
    return TransactionValue(
        producer_id=txn.producer.id,
        producer_epoch=txn.producer.epoch,
        timeout_ms=txn.timeout_ms,
        status=txn.state,
        partitions=None if txn.state is State.EMPTY else listed,
        last_update_timestamp=txn.update_ms,
        start_timestamp=txn.start_ms,
        previous_producer_id=txn.previous_producer_id,
        next_producer_id=txn.next_producer_id,
        next_producer_epoch=txn.next_producer_epoch,
        client_transaction_version=txn.client_version,
    )


@given(txns())
def test_the_same_bytes_as_the_general_codec(txn: Txn) -> None:
    for version in (0, 1):
        assert encode_txn(txn, version) == encode_value(value_of(txn), version)


@given(txns())
def test_read_back(txn: Txn) -> None:
    assert decode_txn(txn.transactional_id, encode_txn(txn, 1)) == txn


@given(txns())
def test_read_back_when_idle(txn: Txn) -> None:
    """Nearly all ids of a start are like this, and take the short way."""
    idle = txn._replace(
        partitions=(),
        next_producer_id=ProducerId(-1),
        next_producer_epoch=-1,
        state=State.COMPLETE_COMMIT,
    )
    assert decode_txn(txn.transactional_id, encode_txn(idle, 1)) == idle


callers = st.builds(Caller, st.text(max_size=300), st.text(min_size=1, max_size=50), st.integers(0, 65535))
bumps = st.builds(
    Bump,
    st.sampled_from(["new instance", "timeout", "recovery"]),
    times,
    st.none() | callers,
    st.builds(Producer, ids, st.integers(-1, 32767).map(ProducerEpoch)),
)


@given(txns(), st.none() | bumps, st.integers(0, 2**41).map(Millis))
def test_the_same_batch_as_the_general_builder(txn: Txn, bump: Bump | None, now: Millis) -> None:
    key = TransactionKey(txn.transactional_id)
    value, why = encode_value(value_of(txn), 1), None if bump is None else value_of_bump(bump)
    batch = encode_batch(txn.transactional_id, value, why, now)
    records = [NewRecord(encode_key(key), value, now)]
    if why is not None:
        records.append(NewRecord(encode_bump_key(key), why, now))
    assert batch == build_batch(records)
    assert list(walk(batch)) == [(len(records), record.key, record.value) for record in records]


@given(bumps)
@example(Bump("timeout", Millis(1), Caller("x" * 300, "::1", 9), Producer(ProducerId(1), ProducerEpoch(0))))
def test_why_an_epoch_was_bumped_is_read_back(bump: Bump) -> None:
    by = bump.by
    if by is not None:  # a client may send an id of 32 KB
        by = replace(by, client_id=by.client_id[:249])
    assert bump_of_value(value_of_bump(bump)) == replace(bump, by=by)


def test_readers_of_states_pass_over_bumps_kip_915() -> None:
    key = encode_bump_key(TransactionKey("refunds-1"))
    producer = Producer(ProducerId(1), ProducerEpoch(2))
    value = value_of_bump(Bump("timeout", Millis(7), None, producer))
    assert transactional_id_of(key) is None
    assert bumped_id_of(key) == "refunds-1"
    assert bumped_id_of(encode_key(TransactionKey("refunds-1"))) is None
    assert decode_txn("refunds-1", value) is None
    assert not is_under_way(value)
    assert bump_of_value(b"\x03\xe9" + value[2:]) is None
    with pytest.raises(CorruptBatch):
        bump_of_value(value[:-1])


def test_walk_over_tombstones_markers_and_compressed_batches() -> None:
    many = [NewRecord(b"a" * 100, None, Millis(5)), NewRecord(b"b", b"v" * 300, Millis(9))]
    marker = encode_marker(
        base_offset=7,
        leader_epoch=0,
        timestamp=1,
        producer_id=3,
        producer_epoch=0,
        coordinator_epoch=0,
        commit=True,
        log_append_time=False,
    )
    data = b"".join(
        (
            build_batch(many),
            build_batch(many, codec=1, base_offset=2),
            build_batch([NewRecord(b"t", None, Millis(5))], base_offset=4),
            marker,
            build_batch(many)[:-1],  # cut, as a fetched stretch may be
        )
    )
    two = [(b"a" * 100, None), (b"b", b"v" * 300)]
    assert list(walk(data)) == [
        *((2, *each) for each in two),
        *((4, *each) for each in two),
        (5, b"t", None),
        (8, None, None),
    ]


def test_walk_over_what_compaction_left_rc_8() -> None:
    empty = seal(read_header(build_batch([NewRecord(b"k", None, Millis(5))]))._replace(count=0), b"")
    assert list(walk(empty)) == [(1, None, None)]


def test_no_batch_at_all() -> None:
    with pytest.raises(CorruptBatch, match="wanted magic 2"):
        list(walk(b"\x00" * 8 + b"\x00\x00\x00\x40" + bytes(80)))


def test_keys() -> None:
    assert transactional_id_of(encode_key(TransactionKey("refunds-é"))) == "refunds-é"
    assert transactional_id_of(b"\x00\x07anything") is None
    with pytest.raises(CorruptBatch):
        transactional_id_of(b"\x00\x00\x00\x09short")


def test_a_record_that_is_longer_than_its_batch() -> None:
    batch = bytearray(build_batch([NewRecord(b"key", b"value", Millis(5))]))
    batch[61 + 4] = 40  # the size of the key
    with pytest.raises(CorruptBatch, match="longer than its batch"):
        list(walk(seal(read_header(batch), bytes(batch[61:]))))
    two = bytearray(build_batch([NewRecord(b"key", b"value", Millis(5))] * 2))
    for at, size in ((61, 120), (61 + 4, 40)):  # of the first record, of its key
        broken = two.copy()
        broken[at] = size
        with pytest.raises(CorruptBatch, match="longer than its batch"):
            list(walk(seal(read_header(broken), bytes(broken[61:]))))


@pytest.mark.parametrize("at", [21, 60, 61, 70])
def test_a_batch_that_does_not_match_its_crc_is_not_believed(at: int) -> None:
    batch = bytearray(build_batch([NewRecord(b"key", b"value", Millis(5))]))
    batch[at] ^= 1
    with pytest.raises(CorruptBatch, match="does not match its CRC"):
        list(walk(bytes(batch)))


def test_an_unknown_version_is_left_out_and_a_cut_one_is_corrupt() -> None:
    assert decode_txn("t", b"\x00\x09" + bytes(60)) is None
    with pytest.raises(CorruptBatch, match="wanted 0 to 5, found 6"):
        decode_txn("t", b"\x00\x01" + bytes(14) + b"\x06\x01" + bytes(17))
    whole = encode_txn(
        Txn(transactional_id="t", producer=Producer(ProducerId(1), ProducerEpoch(0)), timeout_ms=5), 1
    )
    for size in range(len(whole)):
        with pytest.raises(CorruptBatch):
            decode_txn("t", whole[:size])
