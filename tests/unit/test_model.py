"""The words of the domain: identities print as people say them, and ids land on the partitions that Kafka chooses."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.model import (
    INTERNAL_TOPICS,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TOPIC_ID,
    Acks,
    Isolation,
    Producer,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    coordinator_partition,
    java_string_hash,
)

# What java.lang.String.hashCode says. Beyond ASCII and beyond the basic plane on purpose: it counts UTF-16 units.
HASHES = [
    ("", 0),
    ("a", 97),
    ("ab", 97 * 31 + 98),
    ("hello", 99162322),
    ("refunds-1", -470809889),
    ("polygenelubricants", -(2**31)),
    ("Aa", 2112),
    ("BB", 2112),
    ("\u00e9", 233),
    ("\U0001f600", 0xD83D * 31 + 0xDE00),
    ("\ud800", 0xD800),
]


@pytest.mark.parametrize(("text", "expected"), HASHES)
def test_java_string_hash_counts_utf16_units_and_wraps(text: str, expected: int) -> None:
    assert java_string_hash(text) == expected


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=60))
def test_java_string_hash_is_a_signed_32_bit_sum_of_powers_of_31(text: str) -> None:
    units = text.encode("utf-16-be", "surrogatepass")
    powers = sum(
        int.from_bytes(units[at : at + 2]) * 31 ** ((len(units) - at) // 2 - 1)
        for at in range(0, len(units), 2)
    )
    assert java_string_hash(text) == (powers + 2**31) % 2**32 - 2**31


def test_coordinator_partition_of_the_smallest_integer_is_0_trap_12() -> None:
    # abs(-2^31) stays negative in Java; Kafka answers 0. Clearing the sign bit happens to agree on this one.
    assert coordinator_partition("polygenelubricants", 50) == 0


def test_coordinator_partition_takes_the_absolute_value_and_does_not_clear_the_sign_bit_trap_12() -> None:
    key = "refunds-1"
    value = java_string_hash(key)
    assert value < 0
    assert coordinator_partition(key, 50) == -value % 50 == 39
    assert coordinator_partition(key, 50) != (value & 0x7FFFFFFF) % 50


@given(st.text(max_size=40), st.integers(min_value=1, max_value=1000))
def test_coordinator_partition_is_one_of_the_partitions(key: str, partitions: int) -> None:
    assert 0 <= coordinator_partition(key, partitions) < partitions


def test_nothing_is_not_zero_trap_13() -> None:
    assert (NO_PRODUCER_ID, NO_PRODUCER_EPOCH) == (-1, -1)
    assert bytes(16) == NO_TOPIC_ID


def test_names_print_as_people_say_them() -> None:
    assert str(TopicPartition("refunds", 4)) == "refunds-4"
    assert str(Producer(ProducerId(7), ProducerEpoch(3))) == "7/3"


def test_topic_partitions_sort_by_topic_then_partition() -> None:
    unsorted = [TopicPartition("b", 0), TopicPartition("a", 10), TopicPartition("a", 9)]
    assert [str(each) for each in sorted(unsorted)] == ["a-9", "a-10", "b-0"]


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TopicPartition("a", 0).partition = 1  # type: ignore[misc]  # the point of the test


def test_numbers_are_those_of_the_wire() -> None:
    assert [(each.name, each.value) for each in Isolation] == [("READ_UNCOMMITTED", 0), ("READ_COMMITTED", 1)]
    assert [(each.name, each.value) for each in Acks] == [("ALL", -1), ("NONE", 0), ("LEADER", 1)]
    assert {"__consumer_offsets", "__transaction_state"} == INTERNAL_TOPICS
