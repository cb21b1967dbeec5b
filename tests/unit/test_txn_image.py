"""The checkpoint of __transaction_state: what was packed comes out again, and whatever is not whole is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.errors import CorruptLog
from oncelog.model import Millis, Producer, ProducerEpoch, ProducerId, TopicId, TopicPartition
from oncelog.record.crc import crc32c
from oncelog.txn.image import (
    CRC_FROM,
    Covered,
    Section,
    Shelf,
    decode_checkpoint,
    encode_checkpoint,
)
from oncelog.txn.state import State, Txn
from oncelog.txn.stored import encode_txn, idle_since, is_under_way

TOPIC = TopicId(bytes(range(16)))
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
values = st.binary(max_size=80)
ops = st.lists(st.tuples(st.sampled_from(["get", "put", "put", "remove", "all"]), names, values), max_size=30)


def value_of(state: State, *, version: int = 1, update_ms: int = 77) -> bytes:
    partitions = (TopicPartition("t", 1),) if state in (State.ONGOING, State.PREPARE_COMMIT) else ()
    producer = Producer(ProducerId(5), ProducerEpoch(2))
    return encode_txn(
        Txn(
            transactional_id="any",
            producer=producer,
            timeout_ms=9,
            state=state,
            partitions=partitions,
            update_ms=Millis(update_ms),
        ),
        version,
    )


def packed(states: dict[str, bytes]) -> Shelf:
    data = encode_checkpoint(TOPIC, [Section(Covered(3, 1, 0, 9), states, {})])
    return decode_checkpoint(data).sections[3][1].states


@given(st.dictionaries(names, values, max_size=8), st.lists(names, max_size=3), ops)
def test_a_shelf_is_a_dictionary_packed_or_not(
    states: dict[str, bytes], strange: list[str], asked: list[tuple[str, str, bytes]]
) -> None:
    shelf, wanted = packed(states), dict(states)
    known = [*states, *strange]
    for at, (op, name, value) in enumerate(asked):
        name = known[at % len(known)] if known and at % 2 else name
        if op == "get":
            assert shelf.get(name) == wanted.get(name)
        elif op == "put":
            shelf.put(name, value)
            wanted[name] = value
        elif op == "remove":
            shelf.put(name, None)
            wanted.pop(name, None)
        else:
            assert shelf.all() == wanted
    assert shelf.all() == wanted


def test_only_what_is_under_way_is_unpacked_at_once() -> None:
    states = {state.name: value_of(state) for state in State if state < State.DEAD}
    shelf = packed(states)
    assert {name for name, _ in shelf.unpacked()} == {"ONGOING", "PREPARE_COMMIT", "PREPARE_ABORT"}
    assert shelf.get("EMPTY") == states["EMPTY"]
    assert dict(shelf.unpacked()) == states


sections = st.builds(
    Section,
    st.builds(Covered, st.integers(0, 49), st.integers(0, 9), st.integers(0, 2**40), st.integers(0, 2**62)),
    st.dictionaries(names, values, max_size=5),
    st.dictionaries(names, values, max_size=5),
)


@given(st.lists(sections, max_size=4, unique_by=lambda each: each.covered.partition))
def test_read_back(written: list[Section]) -> None:
    topic_id, found = decode_checkpoint(encode_checkpoint(TOPIC, written))
    assert topic_id == TOPIC
    read = {at: (covered, image.states.all(), image.bumps.all()) for at, (covered, image) in found.items()}
    assert read == {
        each.covered.partition: (each.covered, dict(each.states), dict(each.bumps)) for each in written
    }


def whole() -> bytes:
    states = {"refunds-1": value_of(State.ONGOING), "refunds-é": value_of(State.EMPTY)}
    first = Section(Covered(0, 1, 0, 7), states, {"refunds-1": b"why"})
    return encode_checkpoint(TOPIC, [first, Section(Covered(1, 1, 0, 2), {}, {})])


def test_every_changed_byte_is_noticed() -> None:
    data = whole()
    for at in range(len(data)):
        with pytest.raises(CorruptLog):
            decode_checkpoint(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_every_cut_is_noticed_also_if_the_crc_fits() -> None:
    data = whole()
    for size in range(len(data)):
        with pytest.raises(CorruptLog):
            decode_checkpoint(data[:size])
    for body in (*(data[CRC_FROM:size] for size in range(26, len(data))), data[CRC_FROM:] + b"\0"):
        with pytest.raises(CorruptLog, match=r"it ends within|ends at byte|follow the last"):
            decode_checkpoint(b"\0\0" + crc32c(body).to_bytes(4, "big") + body)


def test_a_later_version_is_refused_by_its_number() -> None:
    with pytest.raises(CorruptLog, match="version 1, wanted 0"):
        decode_checkpoint(b"\0\1" + whole()[2:])


@pytest.mark.parametrize("version", [0, 1])
def test_what_is_under_way_and_since_when_an_id_rests(version: int) -> None:
    for state in State:
        if state < State.DEAD:
            value = value_of(state, version=version, update_ms=1_700)
            busy = state in (State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT)
            assert is_under_way(value) == busy
            assert idle_since(value) == (None if busy else 1_700)


def test_a_version_that_nobody_knows_is_neither() -> None:
    later = b"\x00\x02" + value_of(State.ONGOING)[2:]
    assert not is_under_way(later)
    assert idle_since(later) is None
    assert not is_under_way(b"")
