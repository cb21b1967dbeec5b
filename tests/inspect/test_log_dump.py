"""`oncelog log dump`: our reading of a partition's files, field by field against Kafka's own DumpLogSegments."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import oncelog
from oncelog.cli.main import main
from oncelog.inspect.annotate import pieces_of_batch
from oncelog.inspect.dump import batch_rows, index_rows
from oncelog.record.batch import DELETE_HORIZON, NewRecord, build_batch
from oncelog.record.marker import encode_marker
from tests.conformance.targets import chosen
from tests.inspect.golden import golden, paths
from tests.oracle import Oracle, dump_log
from tests.oracle.jars import fetch
from tests.toolchains import Missing, java, leave_out


def fill(bootstrap: str) -> None:
    """Committed and aborted transactions, all codecs, headers, and offsets in a transaction."""
    for number, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": f"refunds-{number}",
                "compression.codec": codec,
                "linger.ms": 20,
                "log_level": 0,
            }
        )
        producer.init_transactions(30)
        reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "settle"})
        for outcome in ("commit", "abort"):
            producer.begin_transaction()
            for each in range(50):
                producer.produce(
                    "out", b"value %d" % each * 10, key=b"k%d" % each, partition=0, headers={"h": b"1"}
                )
            offsets = [TopicPartition("out", 0, number * 10 + 1)]
            producer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), 20)
            producer.flush(20)  # or an abort purges them
            if outcome == "commit":
                producer.commit_transaction(20)
            else:
                producer.abort_transaction(20)
        reader.close()
    left = Producer({"bootstrap.servers": bootstrap, "transactional.id": "left-open", "log_level": 0})
    left.init_transactions(30)
    left.begin_transaction()
    left.produce("out", b"undecided", partition=0)
    left.flush(20)
    left.purge()


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory that an oncelog broker wrote and left."""
    folder = tmp_path_factory.mktemp("dump") / "data"
    settings = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
    with oncelog.Broker(data_dir=str(folder), settings=settings) as broker:
        broker.topic("out", partitions=1, configs={"segment.bytes": "8192", "index.interval.bytes": "1024"})
        fill(broker.bootstrap)
    return folder


FIELDS = {
    "baseOffset": "base_offset",
    "lastOffset": "last_offset",
    "count": "count",
    "baseSequence": "base_sequence",
    "lastSequence": "last_sequence",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "partitionLeaderEpoch": "leader_epoch",
    "isTransactional": "is_transactional",
    "isControl": "is_control",
    "position": "position",
    "size": "size",
    "magic": "magic",
    "compresscodec": "codec",
    "crc": "crc",
    "isvalid": "crc_fits",
    "CreateTime": "max_timestamp",
    "deleteHorizonMs": "delete_horizon_ms",
}


def of_kafka(path: Path) -> list[dict[str, str]]:
    """The batches as DumpLogSegments prints them: `name: value` pairs."""
    lines = [line for line in dump_log(path).splitlines() if line.startswith("baseOffset:")]
    return [dict(re.findall(r"(\w+): (\S+)", line)) for line in lines]


def of_ours(path: Path) -> list[dict[str, str]]:
    rows = [row for row, _ in batch_rows(path.read_bytes())]
    values = [{name: getattr(row, FIELDS[name]) for name in FIELDS} for row in rows]
    return [
        {name: "-1" if each is None else str(each).lower() for name, each in row.items()} for row in values
    ]


def rows_of(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    """What `oncelog log dump FILE --json` says, a document for each batch."""
    capsys.readouterr()
    assert main(["log", "dump", str(path), "--json", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


# A record as DumpLogSegments prints it, and what it prints of a marker or of a record that is none.
RECORD = re.compile(
    r"\| offset: (?P<offset>\d+) CreateTime: (?P<timestamp>-?\d+) keySize: (?P<key_size>-?\d+) "
    r"valueSize: (?P<value_size>-?\d+) sequence: (?P<sequence>-?\d+) headerKeys: \[(?P<headers>.*?)\]"
    r"(?: endTxnMarker: (?P<marker>\w+) coordinatorEpoch: (?P<coordinator_epoch>-?\d+))?"
    r"(?: key: (?P<key>.*?))?(?: payload: (?P<value>.*))?"
)
Words = dict[str, str | None]


def records_of_kafka(path: Path, *options: str) -> list[Words]:
    lines = [
        line
        for line in dump_log(path, options=options or ("--print-data-log",)).splitlines()
        if line.startswith("| offset:")
    ]
    found = [RECORD.fullmatch(line) for line in lines]
    assert all(found), [line for line, each in zip(lines, found, strict=True) if not each][:3]
    return [each.groupdict() for each in found if each]


def records_of_ours(path: Path, capsys: pytest.CaptureFixture[str]) -> list[Words]:
    """By the fields that `--hex` names, and for markers by the row of the batch."""
    return [each for row in rows_of(path, capsys, "--hex") for each in _records(row)]


def _records(row: dict[str, Any]) -> Iterator[Words]:
    fields = {each["name"]: each for each in row["fields"]}

    def number(name: str) -> int:
        return -1 if fields[name]["value"] == "null" else int(fields[name]["value"])

    def text(name: str) -> str | None:
        if number(f"{name} size") < 0 or row["is_control"]:
            return None
        return bytes.fromhex(fields[name]["bytes"]).decode() if name in fields else ""

    for index in range(row["count"]):
        name = f"record {index}"
        delta = number(f"{name} offset delta")
        names = [text(f"{name} header {at} name") for at in range(number(f"{name} header count"))]
        coordinator_epoch = row["coordinator_epoch"]
        yield {
            "offset": str(row["base_offset"] + delta),
            "timestamp": str(number("base timestamp") + number(f"{name} timestamp delta")),
            "key_size": str(number(f"{name} key size")),
            "value_size": str(number(f"{name} value size")),
            "sequence": str(row["base_sequence"] + delta if row["base_sequence"] >= 0 else -1),
            "headers": ",".join(each or "" for each in names),
            "marker": row["marker"],
            "coordinator_epoch": None if coordinator_epoch is None else str(coordinator_epoch),
            "key": text(f"{name} key"),
            "value": text(f"{name} value"),
        }


def need_kafka_tools() -> None:
    try:
        java()
        fetch()
    except (Missing, RuntimeError) as why:
        leave_out("Kafka's DumpLogSegments", why)


@pytest.fixture(scope="module", params=chosen())
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory left behind: by oncelog, and with ORACLE=1 by Apache Kafka too."""
    if request.param == "oncelog":
        return request.getfixturevalue("ours")
    settings = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
    folder = tmp_path_factory.mktemp("kafka")
    with Oracle({**settings, "num.partitions": "1"}, data_dir=folder) as kafka:
        words = ["topics", "new", "out", "--partitions", "1", "--config", "index.interval.bytes=1024"]
        assert main([*words, "--bootstrap", kafka.bootstrap]) == 0
        fill(kafka.bootstrap)
    (out,) = folder.rglob("out-0")
    return out.parent


@pytest.mark.timeout(240)
@pytest.mark.parametrize("partition", ["out-0", "__transaction_state-0", "__consumer_offsets-0"])
def test_our_reading_agrees_with_dump_log_segments(written: Path, partition: str) -> None:
    need_kafka_tools()
    compared = 0
    for path in sorted((written / partition).glob("*.log")):
        theirs = [{name: _number(each[name]).lower() for name in FIELDS} for each in of_kafka(path)]
        assert of_ours(path) == theirs
        compared += len(theirs)
    assert compared >= 10


@pytest.mark.timeout(240)
def test_records_and_markers_agree_with_dump_log_segments(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Offset, time, sizes, sequence, headers, key and value of each record; which end a marker is of, and its coordinator's epoch."""
    need_kafka_tools()
    theirs: list[Words] = []
    for path in sorted((written / "out-0").glob("*.log")):
        here = records_of_kafka(path)
        assert records_of_ours(path, capsys) == here
        theirs += here
    assert len(theirs) == 5 * 2 * (50 + 1) + 1
    assert [each["marker"] for each in theirs if each["marker"]] == ["COMMIT", "ABORT"] * 5
    assert {each["headers"] for each in theirs if not each["marker"]} == {"h", ""}


# Kafka's names of the fields of a state record, and ours. Of all other records ours are Kafka's, with underscores.
STATE = {
    "transactionTimeoutMs": "timeout_ms",
    "transactionStatus": "status",
    "transactionPartitions": "partitions",
    "transactionLastUpdateTimestampMs": "last_update_timestamp",
    "transactionStartTimestampMs": "start_timestamp",
}


def same_words(value: Any) -> Any:
    """Kafka's JSON with our names."""
    if isinstance(value, dict):
        found = cast(dict[str, Any], value)
        return {
            STATE.get(name, re.sub("[A-Z]", lambda one: f"_{one[0].lower()}", name)): same_words(each)
            for name, each in found.items()
        }
    return [same_words(each) for each in cast(list[Any], value)] if isinstance(value, list) else value


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("partition", "decoder"),
    [
        ("__transaction_state-0", "--transaction-log-decoder"),
        ("__consumer_offsets-0", "--offsets-decoder"),
    ],
)
def test_decoded_records_agree_with_dump_log_segments(
    written: Path, capsys: pytest.CaptureFixture[str], partition: str, decoder: str
) -> None:
    """What Kafka's tool prints of keys and values is in ours with the same value. It skips keys of type 1000, which are ours."""
    need_kafka_tools()
    compared = 0
    for path in sorted((written / partition).glob("*.log")):
        ours = {
            each["offset"]: each
            for row in rows_of(path, capsys)
            for each in row["records"]
            if each["kind"] != "epoch bump"
        }
        theirs = {
            int(each["offset"] or -1): each
            for each in records_of_kafka(path, decoder)
            if (each["key"] or "").startswith("{")
        }
        assert ours.keys() == theirs.keys()
        for offset, said in theirs.items():
            mine = ours[offset]
            assert mine["timestamp"] == int(said["timestamp"] or -1)
            for part in ("key", "value"):
                wanted = same_words(json.loads(said[part] or "null"))["data"]
                assert {name: mine[part][name] for name in wanted} == wanted
                compared += len(wanted)
    assert compared >= 10 * 7


# What DumpLogSegments prints of an entry, and our names of the same fields.
ENTRIES = {
    ".index": "offset: offset position: position",
    ".timeindex": "timestamp: timestamp offset: offset",
    ".txnindex": (
        "producerId: producer_id firstOffset: first_offset lastOffset: last_offset "
        "lastStableOffset: last_stable_offset"
    ),
    ".snapshot": (
        "producerId: producer_id producerEpoch: epoch coordinatorEpoch: coordinator_epoch "
        "currentTxnFirstOffset: transaction_first_offset lastSequence: last_sequence lastOffset: last_offset "
        "offsetDelta: offset_delta timestamp: timestamp"
    ),
}


def entries(path: Path) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Of an index file or a snapshot: Kafka's reading and ours, each entry as the fields of ENTRIES."""
    names = dict(re.findall(r"(\w+): (\w+)", ENTRIES[path.suffix]))
    lines = [line for line in dump_log(path).splitlines() if re.match(r"\w+: -?\d", line)]
    pairs = [dict(re.findall(r"(\w+): (\S+)", line)) for line in lines]
    theirs = [{name: _number(each[name]) for name in names} for each in pairs]
    ours = [{name: str(row[names[name]]) for name in names} for row in index_rows(path)]
    if path.suffix == ".snapshot":  # Kafka prints a hash table
        theirs.sort(key=lambda each: int(each["producerId"]))
        ours.sort(key=lambda each: int(each["producerId"]))
    return theirs, ours


def _number(text: str) -> str:
    """Java's optional numbers as the file has them."""
    return "-1" if text == "OptionalLong.empty" else text.removeprefix("OptionalLong[").removesuffix("]")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", ENTRIES)
def test_entries_agree_with_dump_log_segments(written: Path, kind: str) -> None:
    need_kafka_tools()
    compared: list[dict[str, str]] = []
    for path in sorted((written / "out-0").glob(f"*{kind}")):
        theirs, ours = entries(path)
        assert ours == theirs, path.name
        compared += theirs
    assert compared
    if kind == ".snapshot":  # of a transaction that is open, and of one that is not
        assert len({each["currentTxnFirstOffset"] == "-1" for each in compared}) == 2


def test_states_of_a_transaction_are_read_from_its_log(
    ours: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", "dump", "__transaction_state-0", "--data-dir", str(ours), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    records = [
        record
        for line in lines
        for record in line.get("records", ())
        if record["key"]["transactional_id"] == "refunds-0"
    ]
    states = [record["value"]["state"] for record in records if record["kind"] == "transaction"]
    (bump,) = [record["value"] for record in records if record["kind"] == "epoch bump"]
    assert (bump["cause"], bump["producer_epoch"]) == ("new instance", 0)
    assert states[0] == "Empty"
    assert [each for each in states if each.startswith(("Prepare", "Complete"))] == [
        "PrepareCommit",
        "CompleteCommit",
        "PrepareAbort",
        "CompleteAbort",
    ]


def test_offsets_of_a_group_are_read_from_its_log(ours: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", "__consumer_offsets-0", "--data-dir", str(ours), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    records = [each for line in lines for each in line.get("records", ()) if each["kind"] == "OffsetCommit"]
    assert {each["key"]["group"] for each in records} == {"settle"}
    assert {each["value"]["offset"] for each in records} == {1, 11, 21, 31, 41}


def test_one_offset_shows_the_batch_that_holds_it(ours: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["log", "dump", "out-0", "--data-dir", str(ours), "--offset", "60"]
    assert main([*words, "--json"]) == 0
    (row,) = [
        row for line in capsys.readouterr().out.splitlines() if "base_offset" in (row := json.loads(line))
    ]
    assert row["base_offset"] <= 60 <= row["last_offset"]
    assert main(words) == 0
    shown = [line.split("\t")[:2] for line in capsys.readouterr().out.splitlines()]
    assert [str(row["base_offset"]), str(row["last_offset"])] in shown
    assert sum(each == ["BASE_OFFSET", "LAST_OFFSET"] for each in shown) == 1


def test_hex_on_the_terminal_has_every_byte_once(ours: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Through the command: the bytes in its lines, one after the other, are the batch as it stands in the file."""
    whole = sorted((ours / "out-0").glob("*.log"))[0]
    (first, *_) = rows_of(whole, capsys)
    assert main(["log", "dump", str(whole), "--hex", "--offset", "0"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == f"batch 0 to {first['last_offset']} at byte 0"
    found = [re.match(r"  \s*(\d+)  ((?:[0-9a-f]{2} ?)+)(.*)", line) for line in lines]
    assert all(found)
    bytes_ = b"".join(bytes.fromhex(each[2]) for each in found if each)
    assert bytes_ == whole.read_bytes()[: first["size"]]
    assert [int(each[1]) for each in found if each][:3] == [0, 8, 12]
    names = [each[3].strip().split("  ")[0] for each in found if each]
    assert names[:4] == ["base offset", "length", "leader epoch", "magic"]
    assert "record 0 header 0 name" in names


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("log dump", ("out-0", "--hex")),
        ("log dump __transaction_state", ("__transaction_state-0",)),
        ("log dump __consumer_offsets", ("__consumer_offsets-0",)),
    ],
)
def test_keys_stay_as_they_are(
    ours: Path, capsys: pytest.CaptureFixture[str], section: str, words: tuple[str, ...]
) -> None:
    """golden.txt: of all batches and entries together."""
    assert main(["log", "dump", *words, "--data-dir", str(ours), "--json"]) == 0
    found = {path for line in capsys.readouterr().out.splitlines() for path in paths(json.loads(line))}
    print(section, *(f"    {each}" for each in sorted(found)), sep="\n", file=sys.stderr)
    assert found == golden()[section]


def test_hex_names_every_byte_of_a_batch() -> None:
    records = [NewRecord(b"key", b"value", 5, [("h", None), ("g", b"\xff")]), NewRecord(None, None, 9, [])]
    batch = build_batch(records, producer_id=7, producer_epoch=3, base_sequence=12, transactional=True)
    pieces = pieces_of_batch(batch)
    assert b"".join(each.data for each in pieces) == batch
    assert [each.at for each in pieces] == [
        sum(len(one.data) for one in pieces[:n]) for n in range(len(pieces))
    ]
    values = {each.name: each.value for each in pieces}
    assert values["producer id"] == "7"
    assert values["record 0 key"] == "'key'"
    assert values["record 1 key size"] == "null"
    assert values["crc"].endswith("(fits)")
    assert pieces_of_batch(batch[:-1] + bytes([batch[-1] ^ 1]))[4].value.endswith("(DOES NOT FIT)")


def test_a_delete_horizon_is_told_where_a_batch_has_one() -> None:
    """Compaction puts it where the base timestamp stands else, and says so by a bit (KIP-534)."""
    plain = build_batch([NewRecord(b"key", None, 5, [])])
    kept = bytearray(plain)
    kept[21:23] = (DELETE_HORIZON | int.from_bytes(plain[21:23], "big")).to_bytes(2, "big")
    kept[27:35] = (86_400_000).to_bytes(8, "big")
    found = [row.delete_horizon_ms for batch in (plain, bytes(kept)) for row, _ in batch_rows(batch)]
    assert found == [None, 86_400_000]


def test_hex_of_a_marker_says_commit_or_abort() -> None:
    marker = encode_marker(
        base_offset=3,
        timestamp=1,
        producer_id=7,
        producer_epoch=0,
        coordinator_epoch=4,
        commit=False,
        leader_epoch=0,
    )
    values = {each.name: each.value for each in pieces_of_batch(bytes(marker))}
    assert values["record 0 key"] == "version 0, ABORT"
    assert values["record 0 value"] == "version 0, coordinator epoch 4"


def test_a_damaged_batch_is_exit_code_1(
    ours: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = next(iter(sorted((ours / "out-0").glob("*.log"))))
    data = bytearray(whole.read_bytes())
    data[100] ^= 1
    copy = tmp_path / whole.name
    copy.write_bytes(data)
    assert main(["log", "dump", str(whole)]) == 0
    assert main(["log", "dump", str(copy)]) == 1
    copy.write_bytes(whole.read_bytes() + b"torn")
    assert main(["log", "dump", str(copy)]) == 1
    assert "4 bytes follow" in capsys.readouterr().err


def test_what_is_no_file_of_a_log_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("x")
    assert main(["log", "dump", str(other)]) == 1
    assert "wanted a name" in capsys.readouterr().err
    assert main(["log", "dump", "nowhere-0"]) == 2
