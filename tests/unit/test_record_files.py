"""The files beside the log, byte for byte as a 4.3.1 broker writes them (FMT-2, FMT-5, spec 3.4)."""

import pytest

from oncelog.errors import CorruptLog
from oncelog.model import TopicId, TopicPartition
from oncelog.record import aborted, checkpoints, offset_index, snapshot, time_index
from oncelog.record.aborted import AbortedEntry
from oncelog.record.batch import CONTROL, NewRecord, build_batch, check_crc, read_header
from oncelog.record.checkpoints import LeaderEpoch, MetaProperties
from oncelog.record.crc import crc32c
from oncelog.record.marker import MARKER_BYTES, Marker, encode_marker, read_marker
from oncelog.record.snapshot import SnapshotEntry

MARKER = bytes.fromhex(
    "0000000000000008 00000042 00000000 02 4713bd28 0030 00000000 000001a1de1d7960 000001a1de1d7960"
    "0000000000000007 0001 ffffffff 00000001 20 00 00 00 08 00000000 0c 000000000000 00"
)
SNAPSHOT = bytes.fromhex(
    "0001 338213c4 00000002"
    "0000000000000015 0000 00000000 0000000000000001 00000000 000001a1de2038ac ffffffff 0000000000000001"
    "0000000000000007 0000 00000000 0000000000000000 00000000 000001a1de1d78c1 ffffffff ffffffffffffffff"
)
PRODUCERS = [
    SnapshotEntry(21, 0, 0, 1, 0, 0x1A1DE2038AC, -1, 1),
    SnapshotEntry(7, 0, 0, 0, 0, 0x1A1DE1D78C1, -1, -1),
]


def test_fmt_2_a_marker_byte_for_byte() -> None:
    marker = encode_marker(
        base_offset=8,
        leader_epoch=0,
        timestamp=0x1A1DE1D7960,
        producer_id=7,
        producer_epoch=1,
        coordinator_epoch=0,
        commit=False,
    )
    assert marker == MARKER
    assert len(marker) == MARKER_BYTES == 78
    assert read_marker(marker) == Marker(commit=False, coordinator_epoch=0)


@pytest.mark.parametrize("log_append_time", [False, True])
def test_fmt_2_a_commit_marker_takes_the_log_append_time_bit(log_append_time: bool) -> None:
    marker = encode_marker(
        base_offset=0,
        leader_epoch=3,
        timestamp=5,
        producer_id=0,
        producer_epoch=32767,
        coordinator_epoch=11,
        commit=True,
        log_append_time=log_append_time,
    )
    header = read_header(marker)
    assert check_crc(marker, header)
    assert header.attributes == (0x38 if log_append_time else 0x30)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (0, 32767, -1)
    assert read_marker(marker) == Marker(commit=True, coordinator_epoch=11)


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("0000 0001", "0000 00000005", Marker(commit=True, coordinator_epoch=5)),
        (
            "0009 0000",
            "0007 00000005",
            Marker(commit=False, coordinator_epoch=5),
        ),  # later versions: read as 0
        ("0000 0002", "0000 00000005", None),  # a type of KRaft
        ("0000", "0000 00000005", None),
        ("0000 0001", "0000", None),
    ],
)
def test_fmt_2_what_readers_accept(key: str, value: str, wanted: Marker | None) -> None:
    batch = build_batch(
        [NewRecord(bytes.fromhex(key), bytes.fromhex(value))], control=True, transactional=True
    )
    assert read_marker(batch) == wanted


def test_b45_a_control_batch_without_records_is_no_marker() -> None:
    header = read_header(MARKER)._replace(count=0, length=49)
    assert header.attributes & CONTROL
    empty = bytearray(MARKER[:61])
    empty[57:61] = bytes(4)
    empty[11] = 49
    assert read_marker(empty) is None


def test_transaction_index_byte_for_byte() -> None:
    sample = bytes.fromhex("0000 0000000000000007 0000000000000006 0000000000000008 0000000000000009")
    entry = AbortedEntry(producer_id=7, first_offset=6, last_offset=8, last_stable_offset=9)
    assert aborted.encode_entry(entry) == sample
    assert list(aborted.decode_entries(sample)) == [entry]
    assert list(aborted.decode_entries(b"")) == []


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([(7, 6, 8, 9), (7, 6, 8, 9)], "entry 1.*after marker 8"),
        ([(7, 9, 8, 9)], "entry 0.*offsets 9..8"),
    ],
)
def test_a_transaction_index_out_of_order_is_refused(
    entries: list[tuple[int, int, int, int]], says: str
) -> None:
    data = b"".join(aborted.encode_entry(AbortedEntry(*entry)) for entry in entries)
    with pytest.raises(CorruptLog, match=says):
        list(aborted.decode_entries(data))


def test_a_transaction_index_of_another_version_or_size_is_refused() -> None:
    entry = aborted.encode_entry(AbortedEntry(7, 6, 8, 9))
    with pytest.raises(CorruptLog, match="wanted version 0, found 1"):
        list(aborted.decode_entries(b"\0\1" + entry[2:]))
    with pytest.raises(CorruptLog, match="33 bytes, wanted a multiple of 34"):
        list(aborted.decode_entries(entry[:-1]))


def test_fmt_5_a_producer_snapshot_byte_for_byte() -> None:
    assert snapshot.encode_snapshot(PRODUCERS) == SNAPSHOT
    assert snapshot.decode_snapshot(SNAPSHOT) == PRODUCERS
    assert snapshot.decode_snapshot(snapshot.encode_snapshot([])) == []


def test_every_damaged_byte_of_a_snapshot_is_found() -> None:
    for at in range(len(SNAPSHOT)):
        damaged = bytearray(SNAPSHOT)
        damaged[at] ^= 0x10
        with pytest.raises(CorruptLog):
            snapshot.decode_snapshot(bytes(damaged))
    for size in range(len(SNAPSHOT)):
        with pytest.raises(CorruptLog):
            snapshot.decode_snapshot(SNAPSHOT[:size])


def test_a_snapshot_with_a_wrong_count_is_refused() -> None:
    whole = snapshot.encode_snapshot(PRODUCERS)
    body = b"\0\0\0\3" + whole[10:]
    crc = snapshot.crc32c(body)
    with pytest.raises(CorruptLog, match="102 bytes says it has 3"):
        snapshot.decode_snapshot(b"\0\1" + crc.to_bytes(4, "big") + body)


def test_offset_index_entries() -> None:
    data = offset_index.encode_entry(5, 4096) + offset_index.encode_entry(9, 8192)
    assert data.hex() == "00000005000010000000000900002000"
    assert offset_index.decode_entries(data) == [(5, 4096), (9, 8192)]
    assert offset_index.used_bytes(data + bytes(800)) == len(data)
    assert offset_index.used_bytes(bytes(80)) == 0
    with pytest.raises(CorruptLog, match=r"entry 1.*\(5, 8192\) after \(5, 4096\)"):
        offset_index.decode_entries(offset_index.encode_entry(5, 4096) + offset_index.encode_entry(5, 8192))
    with pytest.raises(CorruptLog, match="7 bytes"):
        offset_index.decode_entries(bytes(7))


def test_time_index_entries() -> None:
    data = time_index.encode_entry(-1, 0) + time_index.encode_entry(1_700_000_000_000, 9)
    assert data.hex() == "ffffffffffffffff00000000" + "0000018bcfe5680000000009"
    assert time_index.decode_entries(data) == [(-1, 0), (1_700_000_000_000, 9)]
    assert time_index.used_bytes(data + bytes(1200)) == len(data)
    with pytest.raises(CorruptLog, match=r"entry 1.*\(5, 10\) after \(5, 9\)"):
        time_index.decode_entries(time_index.encode_entry(5, 9) + time_index.encode_entry(5, 10))
    with pytest.raises(CorruptLog, match="13 bytes"):
        time_index.decode_entries(bytes(13))


TOPIC_ID = TopicId(bytes.fromhex("000102030405060708090a0b0c0d0eff"))


def test_leader_epoch_checkpoint() -> None:
    epochs = [LeaderEpoch(0, 0), LeaderEpoch(3, 17)]
    text = checkpoints.encode_leader_epochs(epochs)
    assert [line.rstrip(" \t") for line in text.splitlines()] == ["0", "2", "0 0", "3 17"]
    assert checkpoints.decode_leader_epochs(text) == epochs
    assert checkpoints.decode_leader_epochs("0\n2\n0 0\n3 17\n") == epochs
    assert checkpoints.decode_leader_epochs("0\n0\n") == []


def test_offset_checkpoints_are_sorted() -> None:
    offsets = {TopicPartition("b", 0): 5, TopicPartition("a", 10): 7, TopicPartition("a", 2): 0}
    text = checkpoints.encode_offsets(offsets)
    assert [line.rstrip(" \t") for line in text.splitlines()] == ["0", "3", "a 2 0", "a 10 7", "b 0 5"]
    assert checkpoints.decode_offsets("0\n3\na 2 0\na 10 7\nb 0 5\n") == offsets  # Kafka's own
    assert checkpoints.decode_offsets(checkpoints.encode_offsets(offsets)) == offsets


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a version, a count"),
        ("0\n", "a version, a count"),
        ("1\n0\n", "wanted version 0, found '1'"),
        ("0\n2\n0 0\n", "wanted 2 lines, found 1"),
        ("0\n1\n0 0\n1 1\n", "wanted 1 lines, found 2"),
        ("0\n1\n0 1", "no end"),
        ("0\nx\n", "wanted numbers"),
        ("0\n1\n0\n", "'epoch offset'"),
        ("0\n1\na b\n", "wanted numbers"),
        ("0\n2\n1 5\n1 6\n", "after"),
        ("0\n2\n1 5\n2 4\n", "after"),
    ],
)
def test_damaged_leader_epoch_checkpoints_are_refused(text: str, says: str) -> None:
    with pytest.raises(CorruptLog, match=says):
        checkpoints.decode_leader_epochs(text)


def test_every_flipped_bit_of_an_offset_checkpoint_is_refused() -> None:
    """Decision 0025: a flipped digit of a log start would delete records without a word."""
    data = checkpoints.encode_offsets({TopicPartition("a", 0): 5, TopicPartition("b.c", 12): 1_234}).encode()
    for at in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[at] ^= 1 << bit
            with pytest.raises((CorruptLog, UnicodeDecodeError)):
                checkpoints.decode_offsets(bytes(flipped).decode())


def test_the_check_of_a_line_is_its_crc_in_blanks() -> None:
    line = checkpoints.encode_offsets({TopicPartition("a", 0): 5}).splitlines()[2]
    bits = "".join("01"[blank == "\t"] for blank in line.removeprefix("a 0 5"))
    assert int(bits, 2) == crc32c(b"a 0 5")
    assert len(bits) == 32


@pytest.mark.parametrize(
    ("text", "says"), [("0\n1\na 1\n", "topic partition offset"), ("0\n1\na x 1\n", "numbers")]
)
def test_damaged_offset_checkpoints_are_refused(text: str, says: str) -> None:
    with pytest.raises(CorruptLog, match=says):
        checkpoints.decode_offsets(text)


def test_partition_metadata() -> None:
    text = "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0O_w"
    assert checkpoints.encode_partition_metadata(TOPIC_ID) == text
    assert checkpoints.decode_partition_metadata(text) == TOPIC_ID
    assert checkpoints.decode_partition_metadata(text + "\n") == TOPIC_ID
    for damaged in (
        "",
        "version: 1\ntopic_id: AAECAwQFBgcICQoLDA0O_w",
        text[:-1],
        "version: 0\nx",
        text[:-1] + "!",
    ):
        with pytest.raises(CorruptLog):
            checkpoints.decode_partition_metadata(damaged)


def test_meta_properties() -> None:
    meta = MetaProperties(cluster_id="abc", node_id=3, directory_id="AAECAwQFBgcICQoLDA0ODw")
    text = checkpoints.encode_meta_properties(meta)
    assert text == "version=1\ncluster.id=abc\nnode.id=3\ndirectory.id=AAECAwQFBgcICQoLDA0ODw\n"
    assert checkpoints.decode_meta_properties("#comment\n#date\n" + text) == meta
    for damaged, says in (
        (text.replace("version=1", "version=0"), "wanted version=1, found '0'"),
        (text.replace("node.id", "broker.id"), "node.id missing"),
        (text.replace("3", "three"), "wanted numbers"),
        (text + "x\n", "wanted name=value"),
    ):
        with pytest.raises(CorruptLog, match=says):
            checkpoints.decode_meta_properties(damaged)


def test_clean_shutdown_file() -> None:
    assert checkpoints.encode_clean_shutdown(5) == '{"version":0,"brokerEpoch":5}'
    assert checkpoints.decode_clean_shutdown('{"version":0,"brokerEpoch":5}') == 5
    for unreadable in ("", "{", "[]", "{}", '{"brokerEpoch":"x"}'):
        assert checkpoints.decode_clean_shutdown(unreadable) == -1
