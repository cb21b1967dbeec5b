"""`oncelog txn export`: one trace per transaction at a collector, which here is a page of Python."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from oncelog.cli.main import main
from oncelog.inspect import otel
from oncelog.inspect.events import Event
from oncelog.inspect.otel import Traced, own
from oncelog.inspect.replay import Replayed, StateRecord
from tests.clients import transactional
from tests.conformance import targets
from tests.inspect.golden import golden, paths
from tests.inspect.stage import Stage
from tests.toolchains import ROOT

CALLER = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
REQUESTS = ("AddPartitionsToTxn", "AddOffsetsToTxn", "Produce", "TxnOffsetCommit", "EndTxn")


class Collector(ThreadingHTTPServer):
    """Takes what comes to /v1/traces; `status` is what it answers."""

    def __init__(self) -> None:
        self.got: Queue[tuple[str, Any]] = Queue()
        self.types: set[str] = set()
        self.status = 200
        super().__init__(("127.0.0.1", 0), _Takes)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Takes(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.types.add(self.headers["Content-Type"])
        if self.server.status == 200:
            self.server.got.put((self.path, json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name
        """Not on stderr."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join(10)


def attributes(span: Any) -> dict[str, str]:
    return {each["key"]: str(next(iter(each["value"].values()))) for each in span["attributes"]}


def traces(body: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for resource in body["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                found.setdefault(span["traceId"], []).append(span)
    return found


def test_a_transaction_is_a_trace(stage: Stage, collector: Collector) -> None:
    stage.run("topics", "new", "spans")
    reader = Consumer({"bootstrap.servers": stage.bootstrap, "group.id": "span-group", "log_level": 0})
    producer = transactional(stage.bootstrap, "span-1", {"client.id": "till-3"})
    for outcome in ("commit", "abort"):
        producer.begin_transaction()
        for number in range(4):
            given = (
                b"00-%b-%b-01" % (CALLER[0].encode(), CALLER[1].encode()) if number else b"of another form"
            )
            headers: dict[str, str | bytes | None] = (
                {"traceparent": given} if outcome == "commit" else {"other": given}
            )
            producer.produce("spans", b"x", headers=headers)
        producer.flush(10)
        offsets = [TopicPartition("spans", 0, 1)]
        producer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), 20)
        producer.commit_transaction(20) if outcome == "commit" else producer.abort_transaction(20)
    reader.close()
    while stage.json("txn", "show", "span-1")["state"].startswith("Prepare"):
        pass  # Kafka answers before the markers are written
    said = stage.json("txn", "export", "--otlp", collector.url, "--match", "span-*")
    assert said == [{"exported": 2}]
    assert paths(said) == golden()["txn export"]
    path, body = collector.got.get(timeout=10)
    assert path == "/v1/traces"
    assert collector.types == {"application/json"}
    (resource,) = body["resourceSpans"]
    assert attributes(resource["resource"])["service.name"] == "oncelog"
    both = traces(body)
    assert len(both) == 2
    for span in (one for each in both.values() for one in each):
        assert attributes(span)["messaging.system"] == "kafka"
        assert span["kind"] == (2 if attributes(span).get("messaging.operation.name") in REQUESTS else 1)
        assert abs(int(span["startTimeUnixNano"]) - time.time_ns()) < 120 * 10**9
        assert "status" not in span  # nothing failed
    for spans, outcome in zip(both.values(), ("commit", "abort"), strict=True):
        root, *children = spans
        assert (root["name"], "parentSpanId" in root) == (f"transaction {outcome}", False)
        assert {each["parentSpanId"] for each in children} == {root["spanId"]}
        assert len({each["spanId"] for each in spans}) == len(spans)
        assert all(len(each["traceId"]) == 32 and len(each["spanId"]) == 16 for each in spans)
        assert attributes(root)["oncelog.transactional_id"] == "span-1"
        links = [{"traceId": CALLER[0], "spanId": CALLER[1]}] if outcome == "commit" else None
        assert root.get("links") == links  # each caller once
        states = [each["name"] for each in root["events"]]
        assert states[0] == "Ongoing"
        assert states[-1] == f"Complete{outcome.capitalize()}"
        names = [each["name"] for each in children]
        assert names.count(f"{outcome.upper()} marker") == 2  # the topic's and the group's
        (written,) = [each for each in children if each["name"] == "Produce"]
        assert attributes(written)["messaging.destination.name"] == "spans"
        assert attributes(written)["messaging.batch.message_count"] == "4"
        for each in children:
            assert (
                int(root["startTimeUnixNano"])
                <= int(each["startTimeUnixNano"])
                <= int(each["endTimeUnixNano"])
            )
            assert int(each["endTimeUnixNano"]) <= int(root["endTimeUnixNano"])
        if stage.is_oncelog:
            assert {"AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"} <= set(names)
            assert attributes(root)["messaging.client.id"] == "till-3"
            (offsets_of,) = [each for each in children if each["name"] == "TxnOffsetCommit"]
            assert attributes(offsets_of)["messaging.consumer.group.name"] == "span-group"
    stage.run("txn", "export", "--otlp", collector.url, "--match", "span-*")
    assert list(traces(collector.got.get(timeout=10)[1])) == list(both)  # sent again, the same traces


def test_a_refused_request_is_an_error_of_its_span() -> None:
    state = StateRecord(9, 5, "Ongoing", 7, 3, 60_000, (), 5, 2)
    done = StateRecord(10, 8, "CompleteAbort", 7, 3, 60_000, (), 5, 2)
    found = Replayed("a", 1, 7, 3, 5, 8, "abort", (), (state, done))
    refused = Event(6_000, "rpc", "a", "Produce", took_us=200, error="OUT_OF_ORDER_SEQUENCE_NUMBER")
    fine = Event(7_000, "rpc", "a", "EndTxn", took_us=900)
    marker = Event(7_800, "marker", "a", "ABORT")
    root, first, second, third = otel.spans(Traced(found, (refused, fine, marker)))
    assert first["status"] == {"code": 2, "message": "OUT_OF_ORDER_SEQUENCE_NUMBER"}
    assert attributes(first)["error.type"] == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert "status" not in root | second | third
    assert (first["startTimeUnixNano"], first["endTimeUnixNano"]) == ("6000000", "6200000")
    assert (root["startTimeUnixNano"], root["endTimeUnixNano"]) == ("5000000", "8000000")
    assert [each["name"] for each in (root, first, second, third)] == [
        "transaction abort",
        "Produce",
        "EndTxn",
        "ABORT marker",
    ]


@pytest.mark.parametrize(
    ("near", "outcome", "mine"),
    [
        ("Add Produce commit", "commit", "Add Produce commit"),
        (
            "Produce commit Add Produce abort",
            "abort",
            "Add Produce abort",
        ),  # behind the end of the one before
        ("Add Produce commit Add", "commit", "Add Produce commit"),  # before the beginning of the next one
        ("Produce commit Add Produce", "abort", "Add Produce"),  # its time ran out
        ("Add Produce", "open", "Add Produce"),
    ],
)
def test_requests_in_one_millisecond_are_told_apart_by_the_ends_between_them(
    near: str, outcome: str, mine: str
) -> None:
    def event(word: str) -> Event:
        ends = word in ("commit", "abort")
        return Event(0, "rpc", "x", "EndTxn" if ends else word, said=f"{word}, x" if ends else "")

    found = own([event(word) for word in near.split()], outcome)
    assert [each.said.split(",")[0] or each.name for each in found] == mine.split()


def test_a_collector_that_refuses_or_is_away_is_said(stage: Stage, collector: Collector) -> None:
    producer = transactional(stage.bootstrap, "refused-1")
    producer.begin_transaction()
    stage.run("topics", "new", "refused-out")
    producer.produce("refused-out", b"x")
    producer.commit_transaction(20)
    collector.status = 503
    said = stage.run("txn", "export", "--otlp", collector.url)
    assert (said.code, "found 503" in said.err) == (3, True)
    assert stage.run("txn", "export", "--otlp", "http://127.0.0.1:1").code == 3
    assert stage.run("txn", "export", "--otlp", "127.0.0.1:4318").code == 2


def test_follow_sends_what_ends_from_now_on_and_waits_for_a_collector(
    stage: Stage, collector: Collector
) -> None:
    stage.run("topics", "new", "followed")
    producer = transactional(stage.bootstrap, "followed-1")
    producer.begin_transaction()
    producer.produce("followed", b"before")
    producer.commit_transaction(20)
    while stage.json("txn", "show", "followed-1")["state"].startswith("Prepare"):
        pass
    collector.status = 503
    following = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "oncelog.cli.main",
            "txn",
            "export",
            "--otlp",
            collector.url,
            "--follow",
            "--bootstrap",
            stage.bootstrap,
        ],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert following.stderr is not None
    assert "from now on" in following.stderr.readline()
    producer.begin_transaction()
    producer.produce("followed", b"after")
    producer.commit_transaction(20)
    assert "found 503" in following.stderr.readline()
    collector.status = 200
    _, body = collector.got.get(timeout=20)
    assert len(traces(body)) == 1
    following.send_signal(signal.SIGINT)
    following.communicate(timeout=20)
    assert following.returncode == 130


def test_without_any_transaction_nothing_is_sent(
    collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    with targets.run("oncelog") as bootstrap:
        assert main(["txn", "export", "--otlp", collector.url, "--bootstrap", bootstrap, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"exported": 0}]
    assert collector.got.empty()
