"""The story of seed 000: readers wait, and a script that knows only `oncelog txn stuck` and `oncelog explain` frees them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.inspect.stage import Stage, hang
from tests.toolchains import ROOT

SCRIPT: Final = Path(__file__).parent / "free.sh"
OWNER: Final = "till's refunds; $(exit 9)"  # what a shell must not get to read
BEHIND: Final = 14_000


def script(stage: Stage, folder: Path) -> "subprocess.Popen[str]":
    """The script in an empty directory, with `oncelog` on its path and the broker's address in its environment."""
    tool = folder / "bin" / "oncelog"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m oncelog.cli.main "$@"\n')
    tool.chmod(0o755)
    path = f"{tool.parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "ONCELOG_BOOTSTRAP": stage.bootstrap, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(
        ["sh", str(SCRIPT), "error"],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def write_behind(stage: Stage, topic: str) -> None:
    with stage.producer("behind-1") as behind:
        for number in range(BEHIND):
            behind.produce(topic, b"%d" % number, partition=0)
        behind.commit_transaction(30)


def read_all(stage: Stage, topic: str) -> list[bytes]:
    """What a reader at read_committed gets, up to the last of the records behind."""
    reader = Consumer(
        {"bootstrap.servers": stage.bootstrap, "group.id": "loader", "isolation.level": "read_committed"}
    )
    reader.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    while len(found) < BEHIND:
        message = reader.poll(20)
        assert message is not None, f"wanted {BEHIND} records, found {len(found)}"
        found.append(message.value() or b"")
    reader.close()
    return found


def test_a_producer_that_hangs_is_found_freed_and_told_why(stage: Stage, tmp_path: Path) -> None:
    stage.run("topics", "new", "refunds-emitted", "--partitions", "1")
    with stage.producer(OWNER, client_id="till") as producer:
        producer.produce("refunds-emitted", b"first", partition=0)
        producer.flush(10)
        write_behind(stage, "refunds-emitted")
        running = script(stage, tmp_path)
        assert running.stdout is not None
        assert running.stderr is not None
        held, freed = running.stdout.readline(), running.stdout.readline()
        assert f"held by {OWNER}" in held, running.stderr.read()
        assert freed == "freed\n", (tmp_path / "said").read_text()
        with pytest.raises(KafkaException) as refused:
            producer.commit_transaction(20)
        (tmp_path / "error.tmp").write_text(f"the till fell over:\n{refused.value.args[0].name()}\n")
        (tmp_path / "error.tmp").rename(tmp_path / "error")
        explained, complaints = running.communicate(timeout=60)
    assert running.returncode == 0, complaints
    assert f"{'confirmed' if stage.is_oncelog else 'possible'}: admin: somebody aborted it" in explained
    if stage.is_oncelog:
        assert "last bump: admin by oncelog-cli at 127.0.0.1:" in explained
    assert read_all(stage, "refunds-emitted") == [b"%d" % number for number in range(BEHIND)]


def test_a_transaction_without_an_owner_is_found_and_freed(stage: Stage, tmp_path: Path) -> None:
    stage.run("topics", "new", "ownerless", "--partitions", "1")
    hang(stage.bootstrap, "ownerless")
    write_behind(stage, "ownerless")
    said, complaints = script(stage, tmp_path).communicate(timeout=120)
    assert said.splitlines() == [
        "held by nobody; oncelog txn abort --partition ownerless-0 --start-offset 0",
        "freed",
    ], complaints
    assert read_all(stage, "ownerless") == [b"%d" % number for number in range(BEHIND)]


def test_nobody_waits(stage: Stage, tmp_path: Path) -> None:
    said, _ = script(stage, tmp_path).communicate(timeout=60)
    assert said == "nobody waits\n"
