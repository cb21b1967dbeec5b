"""What the client makes of fetched bytes: isolation, markers, gaps (spec 06), and the group's own small formats."""

import pytest

from oncelog.client.assignment import (
    assign_range,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from oncelog.client.partitioner import murmur2, partition_of_key
from oncelog.client.visible import AbortedFrom, Fate, visible, with_fates
from oncelog.errors import CorruptBatch, MalformedMessage
from oncelog.model import Isolation, TopicPartition
from oncelog.record.batch import NewRecord, build_batch
from oncelog.record.marker import encode_marker

HERE = TopicPartition("t", 0)
COMMITTED = Isolation.READ_COMMITTED
UNCOMMITTED = Isolation.READ_UNCOMMITTED


def data(offset: int, *values: bytes, producer_id: int = -1, transactional: bool = True) -> bytes:
    return build_batch(
        [NewRecord(None, each, 1000) for each in values],
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
        transactional=transactional and producer_id >= 0,
    )


def marker(offset: int, producer_id: int, *, commit: bool) -> bytes:
    return encode_marker(
        base_offset=offset, leader_epoch=0, timestamp=1000, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, commit=commit
    )  # fmt: skip


def seen(
    raw: bytes, aborted: list[tuple[int, int]], *, at: int = 0, isolation: Isolation = COMMITTED
) -> list[bytes | None]:
    """`aborted`: (producer id, first offset), as Kafka lists them."""
    entries = [AbortedFrom(first, producer_id) for producer_id, first in aborted]
    found = visible(HERE, raw, from_offset=at, isolation=isolation, aborted=entries)
    return [each.value for each in found.records]


# V80 to V82 of the spec: three transactions that overlap, then B again.
A, B, C = 1, 2, 3
OVERLAPPING = (
    data(0, b"a", producer_id=A)
    + data(1, b"b", producer_id=B)
    + data(2, b"c", producer_id=C)
    + marker(3, B, commit=False)
    + data(4, b"b2", producer_id=B)
    + marker(5, A, commit=False)
    + marker(6, C, commit=True)
    + marker(7, B, commit=True)
)


def test_aborted_transactions_are_hidden_in_marker_order_v82() -> None:
    assert seen(OVERLAPPING, [(B, 1), (A, 0)]) == [b"c", b"b2"]


def test_the_list_may_come_sorted_by_first_offset_as_well_ps_11() -> None:
    assert seen(OVERLAPPING, [(A, 0), (B, 1)]) == [b"c", b"b2"]


def test_uncommitted_readers_see_all_but_markers() -> None:
    assert seen(OVERLAPPING, [], isolation=UNCOMMITTED) == [b"a", b"b", b"c", b"b2"]


def test_the_position_is_behind_the_last_batch_even_if_nothing_was_visible_rc_5() -> None:
    raw = data(0, b"x", producer_id=A) + marker(1, A, commit=False)
    found = visible(HERE, raw, from_offset=0, isolation=COMMITTED, aborted=[AbortedFrom(0, A)])
    assert (found.records, found.next_offset) == ([], 2)


def test_records_below_the_position_are_dropped_by_the_client_rc_6() -> None:
    assert seen(data(10, b"10", b"11", b"12"), [], at=11) == [b"11", b"12"]


def test_an_abort_that_begins_inside_a_batch_counts_from_its_last_offset() -> None:
    # The list's first offset lies in the middle of a batch of the producer: compared with the batch's last offset.
    assert seen(data(0, b"0", b"1", b"2", producer_id=A), [(A, 1)]) == []


def test_plain_batches_of_an_aborting_producer_are_seen() -> None:
    assert seen(data(0, b"plain", producer_id=A, transactional=False), [(A, 0)]) == [b"plain"]


def test_a_wrong_extra_entry_hides_until_the_next_abort_marker_rc_4() -> None:
    raw = data(0, b"0", producer_id=A) + marker(1, A, commit=True) + data(2, b"2", producer_id=A)
    raw += marker(3, A, commit=False) + data(4, b"4", producer_id=A)
    assert seen(raw, [(A, 0)]) == [b"4"]


def test_a_cut_last_batch_is_left_for_the_next_fetch() -> None:
    raw = data(0, b"0", b"1") + data(2, b"2")[:-1]
    found = visible(HERE, raw, from_offset=0, isolation=COMMITTED, aborted=[])
    assert ([each.value for each in found.records], found.next_offset) == ([b"0", b"1"], 2)


def test_a_flipped_bit_is_reported_with_its_place() -> None:
    raw = bytearray(data(7, b"value"))
    raw[-1] ^= 1
    with pytest.raises(CorruptBatch, match="t-0: batch at offset 7 does not match its CRC"):
        seen(bytes(raw), [])


def test_fates_below_the_last_stable_offset_come_from_the_list() -> None:
    found = with_fates(HERE, OVERLAPPING, from_offset=0, aborted=[AbortedFrom(1, B), AbortedFrom(0, A)])
    fates = [(each.value, each.fate.value) for each in found.records]
    assert fates == [(b"a", "aborted"), (b"b", "aborted"), (b"c", "committed"), (b"b2", "committed")]


def test_fates_beyond_the_last_stable_offset_come_from_the_markers() -> None:
    raw = OVERLAPPING + data(8, b"open", producer_id=A) + data(9, b"plain")
    found = with_fates(HERE, raw, from_offset=0, aborted=None)
    assert [each.fate for each in found.records] == [
        Fate.ABORTED,
        Fate.ABORTED,
        Fate.COMMITTED,
        Fate.COMMITTED,
        Fate.UNDECIDED,
        Fate.COMMITTED,
    ]
    assert found.next_offset == 10


MURMUR2 = """
# key                          Java's Utils.murmur2, from its own unit test
  21                           -973932308
  foobar                       -790332482
  a-little-bit-long-string     -985981536
  a-little-bit-longer-string   -1486304829
  lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8   -58897971
"""


@pytest.mark.parametrize("line", [line.split() for line in MURMUR2.splitlines() if line and line[0] != "#"])
def test_keys_hash_as_in_java(line: list[str]) -> None:
    assert murmur2(line[0].encode()) == int(line[1]) & 0xFFFFFFFF


def test_the_sign_bit_is_cleared_not_negated() -> None:
    assert partition_of_key(b"21", 1000) == (-973932308 & 0x7FFFFFFF) % 1000


def test_subscriptions_and_assignments_come_back() -> None:
    partitions = [TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("ü", 1)]
    assert decode_subscription(encode_subscription(["b", "a"])) == ["a", "b"]
    assert decode_assignment(encode_assignment(partitions)) == partitions
    assert decode_assignment(encode_assignment([])) == []
    assert decode_assignment(b"") == []


def test_newer_versions_of_a_subscription_can_be_read() -> None:
    newer = b"\0\3" + encode_subscription(["a"])[2:] + bytes(4) + b"\0\0\0\7" + b"\0\1r"
    assert decode_subscription(newer) == ["a"]


@pytest.mark.parametrize(
    "data", [b"\0", b"\0\0\x7f\xff\xff\xff", b"\0\0\xff\xff\xff\xff", b"\0\0\0\0\0\1\0\5ab"]
)
def test_nonsense_from_another_member_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedMessage, match="a member's data"):
        decode_subscription(data)


ASSIGNED = """
# members  subscriptions   partitions     who gets what
  2        a               a=3            0:a0,a1 1:a2
  2        a               a=1            0:a0 1:
  3        a,b             a=4,b=2        0:a0,a1,b0 1:a2,b1 2:a3
"""


@pytest.mark.parametrize("line", [line.split() for line in ASSIGNED.splitlines() if line and line[0] != "#"])
def test_the_range_assignor(line: list[str]) -> None:
    topics = line[1].split(",")
    counts = {name: int(count) for name, count in (each.split("=") for each in line[2].split(","))}
    found = assign_range({str(member): topics for member in range(int(line[0]))}, counts)
    said = [
        f"{member}:{','.join(f'{p.topic}{p.partition}' for p in got)}"
        for member, got in sorted(found.items())
    ]
    assert said == line[3:]


def test_members_get_only_what_they_subscribed_to() -> None:
    found = assign_range({"m1": ["a"], "m2": ["b"], "m3": ["a", "c"]}, {"a": 2, "b": 1})
    assert found == {
        "m1": [TopicPartition("a", 0)],
        "m2": [TopicPartition("b", 0)],
        "m3": [TopicPartition("a", 1)],
    }
