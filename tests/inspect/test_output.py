"""Every reading command: the same keys on both brokers (golden.txt), three formats, exit codes, and data without its teeth."""

import _thread
import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, Final, cast

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import oncelog
from oncelog.cli import watch
from oncelog.cli.main import main
from oncelog.cli.output import Printer
from oncelog.cli.watch import Doors, watched
from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault, RefusedByBroker, TimedOut
from oncelog.errors import ErrorCode
from oncelog.model import TopicPartition as Place
from tests.clients import transactional
from tests.conformance import targets
from tests.inspect.golden import golden, paths
from tests.inspect.stage import SETTINGS, Stage
from tests.toolchains import ROOT, Missing, leave_out
from tests.unit.scripted_broker import Close, ScriptedBroker

TEETH: Final = "evil\x1b]0;title\x07\x1b[2J\x9b31m\u202e"
DESCRIBE_ONCELOG: Final = 1000
# Whatever is asked of this: everything that is shown of it comes from clients.
COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "topics ls": ("topics", "ls", "--internal"),
    "topics describe": ("topics", "describe", "shown"),
    "groups ls": ("groups", "ls"),
    "groups describe": ("groups", "describe", TEETH),
    "txn ls": ("txn", "ls"),
    "txn show": ("txn", "show", TEETH),
    "txn stuck": ("txn", "stuck"),
    "txn trace": ("txn", "trace", TEETH),
    "txn replay": ("txn", "replay", TEETH, "--all"),
    "explain": ("explain", "PRODUCER_FENCED", "--tid", TEETH),
    "doctor": ("doctor",),
    "consume": ("consume", "shown", "--isolation", "both", "--to-end"),
}
ENDS: Final = {"txn stuck": 1}
# What only oncelog knows, and what is there only for some rows: elsewhere null, so that nothing stands below it.
NULLABLE: Final = ("last_request", "bump")


@pytest.fixture(scope="module", params=targets.chosen())
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, Producer]]:
    """A broker with a committed and an open transaction, all of whose names have teeth."""
    try:
        with targets.run(request.param, SETTINGS) as bootstrap:
            main(["topics", "new", "shown", "--config", "retention.ms=600000", "--bootstrap", bootstrap])
            producer = Producer(
                {
                    "bootstrap.servers": bootstrap,
                    "transactional.id": TEETH,
                    "client.id": "till\x1b[2J",
                    "transaction.timeout.ms": 600_000,
                    "log_level": 0,
                }
            )
            producer.init_transactions(30)
            reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "settle", "log_level": 0})
            with Cluster(bootstrap) as cluster:
                Admin(cluster).commit_offsets(TEETH, {Place("shown", 0): 0})
            for last in (False, True):
                producer.begin_transaction()
                producer.produce("shown", TEETH.encode(), key=TEETH.encode(), headers={TEETH: TEETH.encode()})
                producer.flush(10)
                if not last:
                    offsets = [TopicPartition("shown", 0, 1)]
                    producer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), 20)
                    producer.commit_transaction(20)
            reader.close()
            yield request.param, bootstrap, producer
            producer.abort_transaction(20)
    except Missing as why:
        leave_out(f"the inspector on {request.param}", why)


@pytest.fixture
def stage(place: tuple[str, str, Producer], capsys: pytest.CaptureFixture[str]) -> Stage:
    return Stage(place[0], place[1], capsys)


@pytest.mark.parametrize("command", COMMANDS)
def test_keys_stay_as_they_are(stage: Stage, command: str) -> None:
    """A key that is missing or new is a change for every script: golden.txt must say so too."""
    said = stage.run(*COMMANDS[command], "-o", "json")
    assert said.code == ENDS.get(command, 0), said.err
    documents = [json.loads(line) for line in said.out.splitlines()]
    found = paths(documents if command == "consume" else documents[0])
    print(
        command, *(f"    {each}" for each in sorted(found)), sep="\n", file=sys.stderr
    )  # as golden.txt has it
    wanted = golden()[command]
    if stage.is_oncelog:
        assert found == wanted
    else:
        assert found <= wanted
        assert all(any(f".{name}." in each for name in NULLABLE) or "[]" in each for each in wanted - found)


@pytest.mark.parametrize("command", [each for each in COMMANDS if each != "consume"])
def test_lines_are_the_elements_of_the_document(
    stage: Stage, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = json.loads(stage.run(*COMMANDS[command], "--json").out)
    monkeypatch.setenv("ONCELOG_OUTPUT", "jsonl")
    lines = [json.loads(line) for line in stage.run(*COMMANDS[command]).out.splitlines()]
    elements = cast(list[Any], whole) if isinstance(whole, list) else [whole]
    assert [paths(each) for each in lines] == [paths(each) for each in elements]
    monkeypatch.setenv("ONCELOG_OUTPUT", "table")
    assert not stage.run(*COMMANDS[command]).out.startswith(("[", "{"))


@pytest.mark.parametrize("command", COMMANDS)
def test_no_escape_of_others_reaches_the_terminal(
    stage: Stage, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    said = stage.run(*COMMANDS[command])
    for text in (said.out, said.err):
        assert not set(text) & set("\x1b\x07\x9b\u202e")
    if command not in ("topics ls", "topics describe", "explain", "txn trace"):
        assert "evil" in said.out + said.err


def test_an_unknown_format_is_usage(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stage.run("txn", "ls", "-o", "xml").code == 2
    monkeypatch.setenv("ONCELOG_OUTPUT", "xml")
    said = stage.run("txn", "ls")
    assert (said.code, "ONCELOG_OUTPUT" in said.err) == (2, True)
    assert stage.run("txn", "ls", "-o", "json").code == 0  # what is said wins over the environment


@pytest.mark.parametrize("command", COMMANDS)
def test_a_broker_that_is_not_there_is_exit_code_3(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMANDS[command], "--bootstrap", "127.0.0.1:1", "--timeout", "1", "-o", "json"]) == 3
    assert json.loads(capsys.readouterr().out)["error"]["exit"] == 3


def test_refused_and_timed_out_have_codes_of_their_own(stage: Stage) -> None:
    refused = stage.run("topics", "describe", "nobodys", "--json")
    assert (refused.code, refused.json["error"]["name"]) == (4, "UNKNOWN_TOPIC_OR_PARTITION")
    assert stage.run("consume", "shown", "--idle-timeout", "0.2").code == 5


def test_watch_says_what_it_has_before_it_waits(place: tuple[str, str, Producer]) -> None:
    words = ["txn", "ls", "--watch", "1h", "-o", "jsonl", "--bootstrap", place[1]]
    watching = subprocess.Popen(
        [sys.executable, "-m", "oncelog.cli.main", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": ""},
    )
    assert watching.stdout is not None
    began = time.monotonic()
    limit = threading.Timer(30, watching.kill)
    limit.start()
    assert json.loads(watching.stdout.readline() or "null") is not None, "nothing came"
    limit.cancel()
    assert time.monotonic() - began < 30
    watching.send_signal(signal.SIGINT)
    assert watching.wait(20) == 130
    watching.stdout.close()


def test_an_interrupt_right_before_a_rest_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python notes a signal and looks at what it noted between two steps: one that comes after the last look, and before the sleep
    has begun, wakes nobody. `interrupt_main` notes it and wakes nobody either.
    """
    real = time.sleep
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 1:
            threading.Timer(0.05, _thread.interrupt_main).start()
        real(min(seconds, 5))

    monkeypatch.setattr(watch.time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        watch.rest(3600)
    assert max(naps) < 1
    naps.append(0)
    watch.rest(0.01)
    assert sum(naps[-1:]) <= 0.01


def test_watch_waits_for_a_broker_that_is_started_again() -> None:
    """Its absence is said on stderr; that it never was there is exit code 3, as without --watch."""
    with oncelog.Broker() as broker:
        words = [
            "txn",
            "ls",
            "--watch",
            "0.1",
            "--timeout",
            "1",
            "-o",
            "json",
            "--bootstrap",
            broker.bootstrap,
        ]
        watching = subprocess.Popen(
            [sys.executable, "-m", "oncelog.cli.main", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        assert watching.stdout is not None
        assert watching.stderr is not None
        limit = threading.Timer(60, watching.kill)
        limit.daemon = True
        limit.start()
        assert watching.stdout.readline() == "[]\n"
        broker.stop()
        assert watching.stderr.readline().startswith("oncelog: ")
        broker.start()
        transactional(broker.bootstrap, "after-1")
        rows: list[Any] = []
        while not rows:
            rows = json.loads(watching.stdout.readline() or '"it ended"')
        assert [each["transactional_id"] for each in rows] == ["after-1"]
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=20)
        limit.cancel()
        assert watching.returncode == 130
    assert main(["txn", "ls", "--watch", "0.1", "--bootstrap", "127.0.0.1:1", "--timeout", "1"]) == 3


def test_watch_ends_with_what_waiting_does_not_mend(capsys: pytest.CaptureFixture[str]) -> None:
    """A coordinator that moves is waited for; who was refused would be refused for ever."""
    told: Iterator[ClientFault | None] = iter(
        (
            None,
            RefusedByBroker(ErrorCode.NOT_COORDINATOR, "DescribeGroups", "a broker"),
            TimedOut("no answer"),
            None,
            RefusedByBroker(ErrorCode.GROUP_AUTHORIZATION_FAILED, "DescribeGroups", "a broker"),
        )
    )

    def once() -> int:
        fault = next(told)
        if fault is not None:
            raise fault
        return 0

    printer = Printer(as_json=True)
    with pytest.raises(RefusedByBroker, match="GROUP_AUTHORIZATION_FAILED"):
        watched(argparse.Namespace(watch=0.0), printer, once)
    said = capsys.readouterr().err.splitlines()
    assert [("NOT_COORDINATOR" in each, "no answer" in each) for each in said] == [
        (True, False),
        (False, True),
    ]


def test_watch_draws_over_what_it_drew(place: tuple[str, str, Producer]) -> None:
    """On a terminal, here one that Python makes."""
    leader, follower = os.openpty()
    words = ["txn", "ls", "--watch", "0.1", "--bootstrap", place[1]]
    watching = subprocess.Popen(
        [sys.executable, "-m", "oncelog.cli.main", *words],
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"},
    )
    os.close(follower)
    shown = b""
    while shown.count(b"TRANSACTIONAL_ID") < 3:
        shown += os.read(leader, 4096)
    watching.send_signal(signal.SIGINT)
    assert watching.wait(20) == 130
    os.close(leader)
    first, *screens = shown.split(b"\x1b[2J\x1b[H")
    assert first == b""
    assert all(each.count(b"TRANSACTIONAL_ID") <= 1 for each in screens)
    assert b"\x1b" not in b"".join(screens)


def test_watch_repeats_until_an_interrupt(place: tuple[str, str, Producer]) -> None:
    words = ["txn", "ls", "--watch", "0.1", "-o", "jsonl", "--bootstrap", place[1]]
    watching = subprocess.Popen(
        [sys.executable, "-m", "oncelog.cli.main", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert watching.stdout is not None
    rows = [json.loads(watching.stdout.readline()) for _ in range(3)]
    watching.send_signal(signal.SIGINT)
    assert watching.wait(20) == 130
    watching.stdout.close()
    assert {each["transactional_id"] for each in rows} == {TEETH}


def closes(_: Any, __: int) -> Any:
    raise Close


def test_only_the_first_round_of_a_watch_knocks_at_the_side_door() -> None:
    """Apache Kafka closes the connection of who sends an API key that it does not know, and logs an error."""
    with ScriptedBroker() as broker:
        broker.answers[DESCRIBE_ONCELOG] = closes
        doors = Doors()
        for _ in range(3):
            with Cluster(broker.bootstrap) as cluster:
                assert not doors.of(cluster).is_there
        assert len(broker.requests(DESCRIBE_ONCELOG)) == 1


def test_a_watch_knocks_anew_when_another_broker_may_have_come() -> None:
    with oncelog.Broker() as running, Cluster(running.bootstrap) as cluster:
        doors = Doors()
        door = doors.of(cluster)
        assert door.is_there
        running.stop()
        with pytest.raises(ClientFault):
            door.counters()
        with ScriptedBroker() as other, Cluster(other.bootstrap) as elsewhere:
            other.answers[DESCRIBE_ONCELOG] = closes
            assert doors.of(elsewhere).counters() is None


def test_records_of_each_fate_have_their_marks(stage: Stage) -> None:
    """Committed, aborted, and open at both isolations' sides: through the command, on a topic with all three."""
    stage.run("topics", "new", "fates", "--partitions", "1")
    for name, end in (("fates-c", "commit_transaction"), ("fates-a", "abort_transaction")):
        with stage.producer(name) as producer:
            producer.produce("fates", name[-1].encode(), partition=0)
            producer.flush(10)
            getattr(producer, end)(20)
    with stage.producer("fates-o") as producer:
        producer.produce("fates", b"o", partition=0)
        producer.flush(10)
        both = stage.run("consume", "fates", "--to-end", "--isolation", "both")
        lines = stage.run("consume", "fates", "--to-end", "--isolation", "both", "--json").out
        committed = stage.run("consume", "fates", "--from", "earliest", "--max", "1", "--values").out
        uncommitted = stage.run("consume", "fates", "--to-end", "--isolation", "uncommitted", "--values").out
        producer.abort_transaction(20)
    rows = [line.split("\t") for line in both.out.splitlines()[1:]]
    assert [(row[3], row[5]) for row in rows] == [("C", "c"), ("A", "a"), ("?", "o")]
    fates = [(each["fate"], each["value"]) for each in map(json.loads, lines.splitlines())]
    assert fates == [("committed", "c"), ("aborted", "a"), ("undecided", "o")]
    assert (committed, uncommitted) == ("c\n", "c\na\no\n")
