"""`oncelog tap`: real clients through it do what they do without it, and what they did can be read afterwards."""

import asyncio
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from oncelog.cli.main import main
from oncelog.client.address import Address, parse_bootstrap
from oncelog.inspect.events import Event, from_line, to_line
from oncelog.inspect.tap import Tap
from oncelog.inspect.timeline import timeline
from oncelog.protocol.apis import APIS
from oncelog.protocol.header import response_frame
from oncelog.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from oncelog.protocol.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from oncelog.protocol.messages.end_txn import EndTxnRequest
from oncelog.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from oncelog.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from oncelog.protocol.messages.produce import ProduceRequest
from tests.conformance import targets
from tests.inspect.golden import golden, paths
from tests.toolchains import ROOT, Missing, leave_out


@pytest.fixture(scope="module", params=targets.chosen())
def upstream(request: pytest.FixtureRequest) -> Iterator[Address]:
    try:
        with targets.run(request.param) as bootstrap:
            main(["topics", "new", "tapped", "--partitions", "2", "--bootstrap", bootstrap])
            (address,) = parse_bootstrap(bootstrap)
            yield address
    except Missing as why:
        leave_out(f"the tap before {request.param}", why)


@contextmanager
def tapped(upstream: Address) -> Generator[tuple[str, list[Event]]]:
    """The address of a tap on a thread of its own, and the events it noted so far."""
    events: list[Event] = []
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    tap = Tap(upstream, host="127.0.0.1", port=0, note=events.append)
    try:
        where = asyncio.run_coroutine_threadsafe(tap.start(), loop).result(10)
        yield f"{where.host}:{where.port}", events
    finally:
        asyncio.run_coroutine_threadsafe(tap.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def producer_at(bootstrap: str, name: str, client_id: str = "till") -> Producer:
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": name, "client.id": client_id, "log_level": 0}
    )
    producer.init_transactions(30)
    return producer


def test_a_transaction_is_seen_request_by_request(upstream: Address) -> None:
    with tapped(upstream) as (bootstrap, events):
        producer = producer_at(bootstrap, "tap-1")
        reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "tap-group", "log_level": 0})
        producer.begin_transaction()
        for _ in range(7):
            producer.produce("tapped", b"value", partition=1)
        producer.flush(10)
        producer.send_offsets_to_transaction(
            [TopicPartition("tapped", 0, 5)], reader.consumer_group_metadata(), 20
        )
        producer.commit_transaction(20)
        reader.close()
        mine = [each for each in events if each.transactional_id == "tap-1"]
        names = [each.name for each in mine]
        assert names[0] == "InitProducerId"
        assert set(names) >= {"AddPartitionsToTxn", "Produce", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"}
        assert {each.name: each.error for each in mine} == dict.fromkeys(names, "NONE")  # retries came before
        produced = [one for each in mine if each.name == "Produce" for one in each.touched]
        assert sum(one.count or 0 for one in produced) == 7
        assert {(one.topic, one.partition) for one in produced} == {("tapped", 1)}
        offsets = [
            one.committed_offset for each in mine if each.name == "TxnOffsetCommit" for one in each.touched
        ]
        assert set(offsets) == {5}  # more than one while the group's coordinator was still loading
        (end,) = [each for each in mine if each.name == "EndTxn"]
        assert end.said.startswith("commit")
        assert end.client_id == "till"
        assert end.took_us is not None and end.took_us > 0  # noqa: PT018
        assert all(from_line(to_line(each)) == each for each in mine)

        lanes = timeline("tap-1", events)
        assert lanes.lanes == ("client", "tapped-1", "group tap-group", "LSO tapped-1")
        assert "EndTxn" in str(lanes)
        assert lanes.svg().count("<g ") == len(lanes.boxes)


def test_clients_never_learn_the_address_behind_the_tap(upstream: Address) -> None:
    with tapped(upstream) as (bootstrap, _):
        for description in (
            Producer({"bootstrap.servers": bootstrap}).list_topics(timeout=10).brokers.values()
        ):
            assert f"{description.host}:{description.port}" == bootstrap


def test_a_zombie_is_seen_with_its_error(upstream: Address) -> None:
    with tapped(upstream) as (bootstrap, events):
        zombie = producer_at(bootstrap, "tap-2", "old")
        zombie.begin_transaction()
        zombie.produce("tapped", b"x", partition=0)
        zombie.flush(10)
        producer_at(bootstrap, "tap-2", "new")
        with pytest.raises(KafkaException):
            zombie.commit_transaction(20)
        refused = [each for each in events if each.error not in PASSING]
        assert {each.client_id for each in refused} == {"old"}
        assert refused[0].name == "EndTxn"


def test_only_the_last_transactions_are_shown(upstream: Address) -> None:
    with tapped(upstream) as (bootstrap, events):
        producer = producer_at(bootstrap, "tap-3")
        for number in range(3):
            producer.begin_transaction()
            producer.produce("tapped", b"%d" % number, partition=0)
            producer.commit_transaction(20)
        ends = [
            len([each for each in timeline("tap-3", events, last=n).events if each.name == "EndTxn"])
            for n in (1, 2, 9)
        ]
        assert ends == [1, 2, 3]
        assert timeline("tap-3", events, last=1).events[0].name != "InitProducerId"


def test_a_record_is_read_back_by_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "tap.jsonl"
    event = Event(
        at_us=1, kind="rpc", transactional_id="a", name="EndTxn", took_us=5, said="commit", version=5
    )
    record.write_text(
        to_line(event)
        + "\n"
        + to_line(Event(at_us=2, kind="rpc", transactional_id="b", name="EndTxn"))
        + "\n"
    )
    nobody = ["--bootstrap", "127.0.0.1:1", "--timeout", "1"]
    assert main(["txn", "trace", "a", "--record", str(record), "--json", *nobody]) == 0
    said = capsys.readouterr()
    (found,) = json.loads(said.out)
    assert (found["transactional_id"], found["said"]) == ("a", "commit")
    assert "the requests alone, without states and markers: " in said.err
    assert main(["txn", "trace", "nobody", "--record", str(record)]) == 1
    assert main(["txn", "trace", "a", "--record", str(tmp_path / "missing")]) == 2
    record.write_text("no json\n")
    assert main(["txn", "trace", "a", "--record", str(record)]) == 2


def test_what_others_wrote_cannot_break_out_of_the_drawing() -> None:
    evil = "<script>alert(1)</script>\x1b[2J\u202e"
    event = Event(at_us=1, kind="rpc", transactional_id=evil, name="EndTxn", client_id=evil, error=evil)
    drawn = timeline(evil, [event]).svg()
    assert "<script" not in drawn
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn


# ---- a broker of our own making behind it, and bytes by hand

# What a client asks again after: the coordinator of a new cluster is not there at once.
PASSING = (
    "NONE",
    "CONCURRENT_TRANSACTIONS",
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
)
Answers = Callable[[bytes], bytes | None]


@contextmanager
def stand_in(answers: Answers) -> Generator[tuple[Address, list[bytes]]]:
    """A broker that answers as it is told; None closes the connection. And the frames that came to it."""
    came: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                door, _ = listener.accept()
            except OSError:
                return
            with door:
                while (frame := read(door)) is not None:
                    came.append(frame)
                    answer = answers(frame)
                    if answer is None:
                        break
                    if answer:
                        door.sendall(struct.pack(">i", len(answer)) + answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield Address("127.0.0.1", listener.getsockname()[1]), came
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def read(door: socket.socket) -> bytes | None:
    """One frame without its length; None at the end."""
    data = b""
    while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
        wanted = 4 - len(data) if len(data) < 4 else 4 + struct.unpack_from(">i", data)[0] - len(data)
        piece = door.recv(wanted)
        if not piece:
            return None
        data += piece
    return data[4:]


def frame_of(key: int, version: int, number: int, body: bytes) -> bytes:
    tags = b"\0" if key in APIS and APIS[key].flexible(version) else b""
    return struct.pack(">hhih", key, version, number, 1) + b"x" + tags + body


@contextmanager
def through_tap(answers: Answers) -> Generator[tuple[socket.socket, list[bytes], list[Event]]]:
    with stand_in(answers) as (upstream, came), tapped(upstream) as (bootstrap, events):
        (address,) = parse_bootstrap(bootstrap)
        with socket.create_connection((address.host, address.port), timeout=20) as door:
            yield door, came, events


def test_what_it_does_not_read_passes_as_it_is() -> None:
    """Requests of APIs that nobody knows, of versions that nobody knows, and bodies that make no sense: byte by byte, both ways."""
    dice = random.Random(5)
    frames = [
        frame_of(key, version, number, dice.randbytes(dice.choice((0, 1, 40, 70_000))))
        for number, (key, version) in enumerate(
            [(1, 12), (999, 0), (0, 99), (0, 9), (26, 3), (11, 5), (68, 0)]
        )
    ]
    answers = [frame[4:8] + dice.randbytes(dice.choice((0, 5, 70_000))) for frame in frames]
    told = dict(zip(frames, answers, strict=True))
    with through_tap(lambda frame: told[frame]) as (door, came, _):
        for frame in frames:
            door.sendall(struct.pack(">i", len(frame)) + frame)
        assert [read(door) for _ in frames] == answers
        assert came == frames


def test_what_is_never_answered_does_not_shift_the_answers() -> None:
    """Produce with acks=0 has no answer: the next one belongs to the request behind it, and is rewritten."""
    produce = frame_of(0, 9, 1, bytes(ProduceRequest(acks=0, topic_data=[]).encode(9)))
    metadata = frame_of(3, 9, 2, bytes(MetadataRequest(topics=[]).encode(9)))

    def answer(frame: bytes) -> bytes:
        if frame == produce:
            return b""
        brokers = [MetadataResponseBroker(node_id=1, host="behind.example", port=1)]
        return bytes(response_frame(3, 9, 2, MetadataResponse(brokers=brokers)))[4:]

    with through_tap(answer) as (door, came, _):
        for frame in (produce, metadata):
            door.sendall(struct.pack(">i", len(frame)) + frame)
        told = MetadataResponse.decode(read(door) or b"", 9, 5)
        assert came == [produce, metadata]
        assert [each.host for each in told.brokers] == ["127.0.0.1"]
        assert told.brokers[0].port != 1


def test_addresses_in_every_answer_that_has_some_are_those_of_the_tap() -> None:
    cluster = DescribeClusterResponse(
        brokers=[DescribeClusterBroker(broker_id=1, host="behind.example", port=1)]
    )
    one = FindCoordinatorResponse(
        coordinators=[Coordinator(key="a", node_id=1, host="behind.example", port=1)]
    )
    for key, version, response in ((60, 0, cluster), (10, 4, one)):
        answer = bytes(response_frame(key, version, 7, response))[4:]
        with through_tap(lambda _, answer=answer: answer) as (door, _, _):
            frame = frame_of(key, version, 7, bytes(APIS[key].request_class()().encode(version)))
            door.sendall(struct.pack(">i", len(frame)) + frame)
            told = read(door) or b""
        assert b"behind.example" not in told
        assert b"127.0.0.1" in told


def test_versions_that_could_not_be_read_are_not_offered() -> None:
    offered = [ApiVersion(api_key=each, min_version=0, max_version=99) for each in (0, 1, 3, 26)]
    answer = bytes(response_frame(18, 3, 7, ApiVersionsResponse(api_keys=offered)))[4:]
    with through_tap(lambda _: answer) as (door, _, _):
        frame = frame_of(18, 3, 7, bytes(APIS[18].request_class()().encode(3)))
        door.sendall(struct.pack(">i", len(frame)) + frame)
        told = ApiVersionsResponse.decode(read(door) or b"", 3, 4)
    assert {each.api_key: each.max_version for each in told.api_keys} == {
        0: APIS[0].max_version,
        1: 99,  # passed on unread
        3: APIS[3].max_version,
        26: APIS[26].max_version,
    }


def test_a_request_without_an_answer_is_told_so() -> None:
    asked = EndTxnRequest(transactional_id="a", producer_id=7, producer_epoch=3, committed=True)
    with through_tap(lambda _: None) as (door, _, events):
        frame = frame_of(26, 3, 7, bytes(asked.encode(3)))
        door.sendall(struct.pack(">i", len(frame)) + frame)
        assert read(door) is None
        deadline = time.monotonic() + 10
        while not events:
            assert time.monotonic() < deadline, "nothing was noted"
            time.sleep(0.01)
    assert [(each.name, each.error, each.said) for each in events] == [("EndTxn", "no answer", "commit")]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"\x16\x03\x01\x00\x05hello", "TLS"),
        (struct.pack(">i", -1), "a frame of -1 bytes"),
        (struct.pack(">i", 1 << 30), "a frame of 1073741824 bytes"),
    ],
)
def test_what_is_no_request_is_refused_and_said(
    sent: bytes, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with through_tap(lambda _: b"") as (door, came, _):
        door.sendall(sent)
        with suppress(ConnectionResetError):  # closed with bytes unread
            assert read(door) is None
        assert came == []
        deadline = time.monotonic() + 20
        while said not in caplog.text:
            assert time.monotonic() < deadline, caplog.text
            time.sleep(0.01)


def test_a_record_that_cannot_be_written_is_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "nowhere" / "tap.jsonl"
    words = ["tap", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:1", "--record", str(missing)]
    assert main(words) == 2
    assert f"--record: {missing}: No such file or directory" in capsys.readouterr().err


def test_the_command_records_what_trace_reads(
    upstream: Address, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "tap.jsonl"
    words = ["tap", "--listen", "127.0.0.1:0", "--upstream", str(upstream), "--record", str(record)]
    tap = subprocess.Popen(
        [sys.executable, "-m", "oncelog.cli.main", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert tap.stderr is not None
    began = tap.stderr.readline()
    assert began.startswith("oncelog tap on 127.0.0.1:")
    producer = producer_at(began.split()[3].rstrip(","), "tap-9", "till-9")
    producer.begin_transaction()
    producer.produce("tapped", b"x", partition=0)
    producer.commit_transaction(20)
    tap.send_signal(signal.SIGINT)
    shown, _ = tap.communicate(timeout=20)
    assert tap.returncode == 0
    words = ["txn", "trace", "tap-9", "--record", str(record), "--json"]
    assert main([*words, "--bootstrap", "127.0.0.1:1", "--timeout", "1"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {each["kind"] for each in told} == {"rpc"}
    kept = {path for line in record.read_text().splitlines() for path in paths(json.loads(line))}
    assert kept == golden()["tap --record"]
    deadline = time.monotonic() + 20
    while True:  # with the cluster the states and markers stand between the requests; Kafka writes them after its answer
        assert main([*words, "--bootstrap", str(upstream)]) == 0
        merged = json.loads(capsys.readouterr().out)
        if "CompleteCommit" in {each["name"] for each in merged} or time.monotonic() > deadline:
            break
    assert [each for each in merged if each["kind"] == "rpc"] == told
    names = [each["name"] for each in merged]
    # Kafka's state Complete has the time at which it began to write the markers, so the two may stand either way.
    assert {"Ongoing", "PrepareCommit", "COMMIT", "CompleteCommit"} <= set(names)
    assert names.index("PrepareCommit") < min(names.index("COMMIT"), names.index("CompleteCommit"))
    assert names.index("EndTxn") < names.index("PrepareCommit")
    assert [each["name"] for each in told][:1] == ["InitProducerId"]
    (end,) = [each for each in told if each["name"] == "EndTxn"]
    assert (end["error"], end["client_id"]) == ("NONE", "till-9")
    rows = [line.split("\t") for line in shown.splitlines()]
    assert {each[0] for each in rows} == {"tap-9"}
    assert len(rows) == len(told)
