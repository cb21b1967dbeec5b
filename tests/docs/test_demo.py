"""`make demo` does what it says, and it is not easily pleased."""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import oncelog
from examples import connector, refunds_demo
from examples.builtin_sink import SUFFIX
from examples.refunds_demo import REFUNDS, is_proved, judge_builtin, table
from oncelog.client.cluster import Cluster
from oncelog.pipelines import PARTITIONS
from oncelog.pipelines.feed import Feeder, make_topics
from oncelog.pipelines.proof import Verdict
from oncelog.pipelines.supervise import Supervisor
from tests.docs.tree import ROOT

MARK = "ONCELOG_TEST_DEMO"
GOOD = Verdict(
    "refunds",
    rows_in=3000,
    rows_out={"refunds-emitted": 1500, "refund-audit": 1500},
    duplicates=0,
    lost=0,
    torn=0,
    wrong=0,
)


def proved(verdict: Verdict, second: Verdict | None = None, *, rows: int = 3000, landed: int = 3) -> bool:
    return is_proved(verdict, second or verdict, rows=rows, landed=landed, kills=3)


def test_a_good_run_is_proved(capsys: pytest.CaptureFixture[str]) -> None:
    assert proved(GOOD)
    assert "Every refund is there once" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["duplicates", "lost", "torn", "wrong", "pending"])
def test_a_spoiled_run_is_not_proved(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    spoiled = {"duplicates": 0, "lost": 0, "torn": 0, "wrong": 0, "pending": 0, what: 1}
    assert not proved(replace(GOOD, **spoiled))
    assert "NOT PROVED" in capsys.readouterr().out


def test_two_counts_that_differ_a_lost_feed_and_missed_kills_are_no_proof() -> None:
    other = replace(GOOD, rows_out={"refunds-emitted": 1499, "refund-audit": 1500})
    assert not proved(GOOD, other)
    assert not proved(GOOD, rows=3001)
    assert not proved(GOOD, landed=2)


def test_the_table_puts_the_runs_side_by_side() -> None:
    spoiled = replace(GOOD, duplicates=1234)
    lines = table([("oncelog", 3, GOOD), ("Spark's own Kafka sink", 3, spoiled)]).splitlines()
    assert lines[0].split("  ")[-1].strip() == "Spark's own Kafka sink"
    assert [line.split() for line in lines if line.startswith("duplicates")] == [["duplicates", "0", "1,234"]]
    assert len({len(line) for line in lines}) == 1


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "no mvn on the PATH"),
        ("echo '[ERROR] no such jar'; exit 1", "mvn: [ERROR] no such jar"),
        ("exit 3", "mvn: exit code 3"),
    ],
)
def test_a_connector_that_cannot_be_had_is_said(
    script: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script is not None:
        mvn = tmp_path / "mvn"
        mvn.write_text(f"#!/bin/sh\n{script}\n")
        mvn.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(connector, "CACHE", tmp_path / "cache")
    with pytest.raises(connector.NotToBeHad) as caught:
        connector.jars()
    assert str(caught.value) == said


def test_a_maven_that_does_not_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mvn = tmp_path / "mvn"
    mvn.write_text("#!/bin/sh\n/bin/sleep 60\nexit 1\n")  # a child that holds the pipe, as Java does
    mvn.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(connector, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(connector, "LIMIT_S", 0.5)
    begun = time.monotonic()
    with pytest.raises(connector.NotToBeHad, match=r"mvn: not done within 0\.5 s"):
        connector.jars()
    assert time.monotonic() - begun < 30


# Spark's own sink beside it, without Spark

AT_LEAST_ONCE = """
import json, pathlib, sys
from oncelog.client.easy import read_all, write_all
bootstrap, lives = sys.argv[1], pathlib.Path(sys.argv[2])
with lives.open("a") as file: file.write("a life\\n")
for each in read_all(bootstrap, "settlements"):
    row = json.loads(each.value)
    if row["outcome"] == "returned":
        amount = row["amount"] * row["returned_percent"] // 100
        told = {"settlement_id": row["settlement_id"], "merchant": row["merchant"], "amount": amount}
        for topic in ("refunds-emitted-builtin", "refund-audit-builtin"):
            write_all(bootstrap, topic, [json.dumps(told).encode()])
if len(lives.read_text().splitlines()) <= int(sys.argv[3]): sys.stdin.read()  # until it is killed
"""


@pytest.fixture
def fed() -> Iterator[str]:
    """A broker with settlements, and nothing in the topics of Spark's own sink."""
    with oncelog.Broker() as broker, Cluster(broker.bootstrap) as cluster:
        make_topics(
            cluster, [*REFUNDS.topics, *[each + SUFFIX for each in REFUNDS.outputs]], partitions=PARTITIONS
        )
        Feeder(cluster, REFUNDS.source, REFUNDS.make).write(60)
        yield broker.bootstrap


def at_least_once(bootstrap: str, folder: Path, kills: int) -> list[str]:
    """A driver that writes all rows again in each of its lives, and waits to be killed in so many."""
    return [sys.executable, "-c", AT_LEAST_ONCE, bootstrap, str(folder / "lives"), str(kills)]


def test_rows_that_are_doubled_are_counted(fed: str, tmp_path: Path) -> None:
    for lives in (1, 2):
        subprocess.run(at_least_once(fed, tmp_path, 0), check=True, timeout=60)
        found = judge_builtin(fed)
        refunds = found.rows_out["refunds-emitted"] // lives
        assert 0 < refunds < 60
        assert (found.rows_in, found.duplicates) == (60, 2 * refunds * (lives - 1))
        assert (found.lost, found.torn, found.wrong) == (0, 0, 0)


def test_spark_s_own_sink_is_killed_while_it_writes(
    fed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def instead(name: str, words: Sequence[str], **more: Any) -> Supervisor:
        assert words[1:3] == ["-m", "examples.builtin_sink"]
        return Supervisor(name, at_least_once(fed, tmp_path, 3), **more)

    monkeypatch.setattr(refunds_demo, "Supervisor", instead)
    asked = argparse.Namespace(kills=3, rows_per_batch=20, dice=Random(1))
    assert refunds_demo.run_builtin(fed, tmp_path, [], asked) == 3
    assert capsys.readouterr().out.count("while Spark's own sink was writing") == 3
    assert len((tmp_path / "lives").read_text().splitlines()) == 4
    found = judge_builtin(fed)
    assert found.duplicates > 0
    assert found.lost == 0


def demo(*words: str, limit_s: float = 280) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = [sys.executable, "-m", "examples.refunds_demo", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit_s)


@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(300)
def test_the_demo_survives_its_kills() -> None:
    done = demo("--rows", "3000", "--rows-per-batch", "500", "--kills", "3", "--no-builtin")
    assert done.returncode == 0, done.stdout + done.stderr
    landed = [
        line for line in done.stdout.splitlines() if "in mid-transaction" in line or "after a commit" in line
    ]
    assert len(landed) == 3, done.stdout
    assert "Every refund is there once, with its audit row; librdkafka counts the same." in done.stdout


@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(300)
def test_what_is_kept_running_ends_with_an_interrupt_and_leaves_nothing() -> None:
    words = [sys.executable, "-m", "examples.refunds_demo", "--rows", "1000", "--rows-per-batch", "500"]
    kept = subprocess.Popen(
        [*words, "--kills", "0", "--no-builtin"],
        cwd=ROOT,
        env={**os.environ, "KEEP": "1", MARK: str(os.getpid())},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    said: list[str] = []
    killer = threading.Timer(240, os.killpg, (kept.pid, signal.SIGKILL))
    killer.start()
    try:
        assert kept.stdout is not None
        for line in kept.stdout:
            said.append(line)
            if found := re.search(r"oncelog page on (http\S+)", line):
                with urllib.request.urlopen(found[1], timeout=60) as answer:
                    assert b"<html" in answer.read()
                os.killpg(kept.pid, signal.SIGINT)  # as a terminal does
        assert kept.wait(120) == 0, "".join(said)
    finally:
        killer.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(kept.pid, signal.SIGKILL)
    text = "".join(said)
    assert "Every refund is there once" in text
    assert "stopping" in text
    assert "Traceback" not in text
    assert marked() == []


def marked() -> list[str]:
    """Processes that the demo of this test left behind: its environment goes to all that it starts."""
    wanted = f"{MARK}={os.getpid()}".encode()
    found: list[str] = []
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (each / "environ").read_bytes().split(b"\0"):
                found.append((each / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found
