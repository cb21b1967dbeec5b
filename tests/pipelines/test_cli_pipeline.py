"""`oncelog pipeline`: list, usage, feeding, checking, and runs whose driver is a stand-in without Spark."""

import importlib
import importlib.util
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

import oncelog
import oncelog.cli.pipeline as subject
from oncelog.cli.main import main
from oncelog.pipelines import PIPELINES, Run
from oncelog.pipelines import run as driver
from oncelog.pipelines.run import command
from oncelog.pipelines.supervise import Restarts, Supervisor

DRIVER = Path(__file__).with_name("plain_driver.py")


class Cli:
    """Runs `oncelog pipeline` and keeps what it said."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.said = ""

    def __call__(self, *words: str, status: int = 0) -> str:
        found = main(["pipeline", *words])
        captured = self._capsys.readouterr()
        self.said = captured.err
        assert found == status, captured.out + captured.err
        return captured.out

    def json(self, *words: str, status: int = 0) -> Any:
        return json.loads(self(*words, "--json", status=status))


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.delenv("ONCELOG_BOOTSTRAP", raising=False)
    return Cli(capsys)


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        yield running


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Puts the plain driver with a fault in the place of Spark's; the file that counts its lives."""

    def use(fault: str) -> Path:
        def plain(name: str, run: Run, **_: object) -> list[str]:
            assert name == "refunds"
            return [sys.executable, str(DRIVER), run.bootstrap, str(tmp_path), fault, run.transactional_id]

        class Hasty(Supervisor):
            def __init__(self, *given: Any, **named: Any) -> None:
                super().__init__(*given, **named, restarts=Restarts(0.01, 0.01, 3))

        monkeypatch.setattr(subject, "command", plain)
        monkeypatch.setattr(subject, "Supervisor", Hasty)
        return tmp_path / "lives"

    return use


def figures(table: str) -> dict[str, str]:
    return dict(line.split("\t") for line in table.splitlines()[1:])


def test_list_shows_every_pipeline_with_its_topics(cli: Cli) -> None:
    listed = cli("--list").splitlines()
    assert [line.split("\t")[0] for line in listed] == ["NAME", *PIPELINES]
    assert "settlements\trefunds-emitted, refund-audit" in listed[1]
    assert {each["name"] for each in cli.json("--list")} == set(PIPELINES)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "wanted one of refunds, clicks, clicks-final, router, enrichment, found no name"),
        (["refund"], "found refund"),
        (["refunds", "--bootstrap", "127.0.0.1:1"], "--bootstrap needs --checkpoint DIR"),
        (["refunds", "--no-run", "--check"], "--no-run needs --bootstrap"),
        (["refunds", "--command-config", "client.properties"], "--command-config needs --bootstrap"),
        (["refunds", "--once", "--for", "3"], "not allowed with"),
        (["refunds", "--rows", "0"], "wanted a whole number of 1 or more"),
        (["refunds", "--conf", "speed=9"], "--conf: wanted spark.NAME=VALUE, found 'speed=9'"),
    ],
)
def test_usage(cli: Cli, words: list[str], said: str) -> None:
    cli(*words, status=2)
    assert said in cli.said


def test_without_spark_it_says_what_to_install(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    cli("refunds", status=2)
    assert "pip install 'oncelog[spark]'" in cli.said


def test_a_broker_that_is_not_there_is_exit_code_3(cli: Cli) -> None:
    cli("refunds", "--no-run", "--feed", "--bootstrap", "127.0.0.1:1", "--timeout", "1", status=3)


def test_feed_and_check_without_a_run(cli: Cli, broker: oncelog.Broker) -> None:
    at = ("enrichment", "--no-run", "--bootstrap", broker.bootstrap)
    cli(*at, "--feed", "--rows", "30")
    cli(*at, "--feed", "--rows", "12", "--seed", "1")
    assert len(broker.read("orders")) == 42
    assert len({each.value for each in broker.read("orders")}) == 42
    assert len(broker.read("customers")) == 50  # the table is written once
    verdict = cli.json(*at, "--check", status=1)["verdict"]  # nothing was done with them
    assert (verdict["rows_in"], verdict["pending"], verdict["holds"]) == (42, 42, False)
    assert cli.json(*at, "--check", "--running")["verdict"]["holds"] is True  # it may be about to do it
    assert (
        cli.json(*at, "--check", "--feed", "--rows", "1")["verdict"]["holds"] is True
    )  # not all need be done


def test_a_trial_on_a_broker_of_its_own(cli: Cli, stand_in: Callable[[str], Path]) -> None:
    lives = stand_in("crash")
    table = figures(cli("refunds", "--rows", "200"))
    assert lives.read_text().count("life") == 2
    assert "signal 9 (SIGKILL)" in cli.said
    assert "refunds: the proof holds" in cli.said
    assert "200 of 200 rows, 1 batches, lag 0, 1 restarts  done" in cli.said
    assert table["rows in"] == "200"
    assert int(table["rows out, refunds-emitted"]) == int(table["rows out, refund-audit"]) > 50
    assert [table[name] for name in ("duplicates", "lost", "torn", "wrong", "pending")] == ["0"] * 5


def test_a_duplicate_is_exit_code_1(cli: Cli, stand_in: Callable[[str], Path]) -> None:
    stand_in("double")
    table = figures(cli("refunds", "--rows", "100", status=1))
    assert (table["duplicates"], table["lost"], table["torn"]) == ("1", "0", "0")
    assert "refunds: the proof FAILS" in cli.said


def test_a_driver_that_always_fails_is_given_up(
    cli: Cli, stand_in: Callable[[str], Path], broker: oncelog.Broker, tmp_path: Path
) -> None:
    lives = stand_in("fail")
    words = ["refunds", "--bootstrap", broker.bootstrap, "--checkpoint", str(tmp_path)]
    said = cli.json(*words, "--once", status=1)
    assert said == {"pipeline": "refunds", "ended": "given up", "batches": 0, "restarts": 2, "verdict": None}
    assert "no such luck" in cli.said
    assert lives.read_text().count("life") == 3


def test_for_some_seconds_with_a_feed_beside_it(
    cli: Cli, stand_in: Callable[[str], Path], broker: oncelog.Broker, tmp_path: Path
) -> None:
    stand_in("forever")
    words = ["refunds", "--bootstrap", broker.bootstrap, "--checkpoint", str(tmp_path), "--feed"]
    said = cli.json(*words, "--rows", "50", "--for", "1.5", "--check")
    assert said["ended"] == "stopped"
    assert (said["verdict"]["rows_in"], said["verdict"]["holds"]) == (50, True)
    said = cli.json(*words, "--rows", "1000000", "--rate", "200", "--for", "0.5")
    assert said["ended"] == "stopped"
    assert 50 < len(broker.read("settlements")) < 10_000


def test_an_interrupt_stops_and_checks(
    cli: Cli, stand_in: Callable[[str], Path], broker: oncelog.Broker, tmp_path: Path
) -> None:
    lives = stand_in("forever")

    def interrupt() -> None:
        until = time.monotonic() + 30
        while not (lives.exists() and broker.read("refund-audit")) and time.monotonic() < until:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    words = ["refunds", "--bootstrap", broker.bootstrap, "--checkpoint", str(tmp_path), "--feed"]
    threading.Thread(target=interrupt, daemon=True).start()
    table = figures(cli(*words, "--rows", "40", "--check", status=130))
    assert table["rows in"] == "40"


def test_an_id_of_its_own_is_that_of_the_proof_too(
    cli: Cli, stand_in: Callable[[str], Path], broker: oncelog.Broker, tmp_path: Path
) -> None:
    stand_in("none")
    words = ["refunds", "--bootstrap", broker.bootstrap, "--checkpoint", str(tmp_path)]
    said = cli.json(*words, "--feed", "--rows", "60", "--once", "--check", "--transactional-id", "mine")
    assert (said["verdict"]["holds"], said["verdict"]["pending"]) == (True, 0)
    assert "60 of 60 rows" in cli.said
    said = cli.json(*words, "--no-run", "--check", status=1)  # nobody committed as pipeline-refunds
    assert said["verdict"]["pending"] == 60


# How connections are protected

SECURITY = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.password": "open sesame"}
KAFKA = {
    "kafka.bootstrap.servers": "b:1",
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "PLAIN",
    "kafka.sasl.password": "open sesame",
}


def test_a_run_is_said_without_its_secrets() -> None:
    run = Run("b:1", "c", "t", True, 5, SECURITY)
    assert run.kafka == KAFKA
    words = [*command("refunds", run, command_config="client.properties"), repr(run)]
    assert "client.properties" in words
    assert "sesame" not in " ".join(words)


@pytest.mark.parametrize("name", PIPELINES)
def test_every_reader_and_writer_of_a_pipeline_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, _, function = PIPELINES[name].start.partition(":")
    pipeline = importlib.import_module(module)
    spark, to_topic, sink = MagicMock(), MagicMock(), MagicMock()
    for each in ("F", "transform"):
        monkeypatch.setattr(pipeline, each, MagicMock())
    monkeypatch.setattr(pipeline, "to_topic", to_topic)
    monkeypatch.setattr(pipeline, "Sink", sink, raising=False)
    getattr(pipeline, function)(spark, Run("b:1", "c", "mine", True, 5, SECURITY))
    readers = [each for each in spark.mock_calls if each[0].endswith("format().options")]
    assert [each.kwargs for each in readers] == [KAFKA] * (1 + len(PIPELINES[name].tables))
    writer = {**KAFKA, "transactionalId": "mine"}
    told = [each.kwargs for each in to_topic.mock_calls if each[0].endswith("format().options")]
    told += [each.args[0] for each in sink.call_args_list]
    assert told == [writer]
    if "options" in to_topic.call_args.kwargs:  # it asks how many partitions there are
        assert to_topic.call_args.kwargs["options"] == writer


def test_a_driver_reads_the_file_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in {**SECURITY, "acks": "1"}.items()))
    started: list[Run] = []

    def start(_: object, run: Run) -> None:
        started.append(run)

    monkeypatch.setattr("oncelog.spark.session", MagicMock())
    monkeypatch.setattr("oncelog.pipelines.refunds.start", start)
    monkeypatch.setattr(driver, "follow", MagicMock())
    monkeypatch.setattr(driver, "Leash", MagicMock())
    run = Run("b:1", str(tmp_path), "mine", True, 5, SECURITY)
    assert driver.main(command("refunds", run, command_config=str(config))[3:]) == 0
    assert started == [run]
