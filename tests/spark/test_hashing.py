"""Partitions by key over whole columns, held against the client's own partitioner and against Java's numbers."""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.client.partitioner import murmur2, partition_of_key
from oncelog.spark import hashing
from oncelog.spark.arrow import pa
from oncelog.spark.hashing import crc32_array, murmur2_array, partition_of

JAVA = """
# key                          Utils.murmur2, from Kafka's UtilsTest
  21                           -973932308
  foobar                       -790332482
  a-little-bit-long-string     -985981536
  a-little-bit-longer-string   -1486304829
  lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8   -58897971
  abc                          479470107
"""

keys = st.lists(
    st.none()
    | st.binary(max_size=12)
    | st.binary(min_size=60, max_size=70)
    | st.integers(0, 3000).map(lambda size: b"k" * size),
    max_size=60,
)


def binary(values: Sequence[bytes | None]) -> Any:
    return pa.array(values, pa.binary())


def test_murmur2_of_java() -> None:
    lines = [line.split() for line in JAVA.splitlines() if line.strip() and "#" not in line]
    hashes = murmur2_array(binary([key.encode() for key, _ in lines]))
    assert hashes.dtype == np.uint32
    assert hashes.astype(np.int32).tolist() == [int(value) for _, value in lines]


def test_crc32_of_the_catalogue() -> None:
    """The check value that every description of this CRC gives."""
    assert crc32_array(binary([b"123456789"])).tolist() == [0xCBF43926]


@given(keys, st.integers(0, 5), st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_columns_hash_as_single_keys(values: list[bytes | None], cut: int, tail: int) -> None:
    """Also of a part of a column, whose bytes do not begin where its memory does."""
    column = binary(values)[cut : max(len(values) - tail, cut)]
    single = [each or b"" for each in values[cut : max(len(values) - tail, cut)]]
    assert murmur2_array(column).tolist() == [murmur2(each) for each in single]
    assert crc32_array(column).tolist() == [zlib.crc32(each) for each in single]


@given(keys, st.integers(1, 40), st.integers(0, 100))
@settings(max_examples=100, deadline=None)
def test_partitions_are_those_of_single_keys(
    values: list[bytes | None], partitions: int, first_row: int
) -> None:
    around = [(first_row + row) % partitions for row in range(len(values))]
    found = partition_of(binary(values), partitions, "murmur2", first_row=first_row)
    assert found.tolist() == [
        around[row] if key is None else partition_of_key(key, partitions) for row, key in enumerate(values)
    ]
    found = partition_of(binary(values), partitions, "crc32", first_row=first_row)
    assert found.dtype == np.int32
    assert found.tolist() == [
        around[row] if key is None else zlib.crc32(key) % partitions for row, key in enumerate(values)
    ]


def test_rows_without_a_key_go_round_by_their_number() -> None:
    column = binary([None, b"", None, None])
    assert partition_of(column, 3).tolist() == [0, partition_of_key(b"", 3), 2, 0]
    assert partition_of(column, 3, first_row=2).tolist() == [2, partition_of_key(b"", 3), 1, 2]


def test_a_null_hashes_as_an_empty_key_whatever_bytes_it_hides() -> None:
    hidden = pa.Array.from_buffers(
        pa.binary(), 2, [pa.py_buffer(b"\x01"), *binary([b"a", b"bc"]).buffers()[1:]]
    )
    assert hidden.to_pylist() == [b"a", None]
    assert murmur2_array(hidden).tolist() == [murmur2(b"a"), murmur2(b"")]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_binary(), pa.large_string(), pa.binary_view()])
def test_other_columns_of_bytes(kind: Any) -> None:
    column = pa.array([b"21", None, b"foobar"], pa.binary()).cast(kind)
    assert murmur2_array(column).tolist() == [murmur2(b"21"), murmur2(b""), murmur2(b"foobar")]
    chunked = pa.chunked_array([column, column[2:]])
    assert partition_of(chunked, 1000).tolist() == [
        partition_of_key(b"21", 1000), 1, partition_of_key(b"foobar", 1000), partition_of_key(b"foobar", 1000)
    ]  # fmt: skip


def test_a_few_long_keys_are_hashed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or each of their words would take a step over the column."""
    asked: list[int] = []

    def counted(key: bytes) -> int:
        asked.append(len(key))
        return murmur2(key)

    monkeypatch.setattr(hashing, "murmur2", counted)
    values = [b"k" * 9] * 100 + [b"x" * 40_000]
    assert murmur2_array(binary(values)).tolist() == [murmur2(each) for each in values]
    assert asked == [40_000]


def test_what_is_asked_wrongly() -> None:
    with pytest.raises(ValueError, match="partitions: wanted at least 1, found 0"):
        partition_of(binary([b"k"]), 0)
    with pytest.raises(ValueError, match="hash: wanted one of murmur2, crc32, found 'fnv1a'"):
        partition_of(binary([b"k"]), 3, "fnv1a")
