"""The command line with a broker: `serve` as a process, and a walk through all other commands against it."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.cli.main import main
from oncelog.client.cluster import Cluster

SERVE = [sys.executable, "-m", "oncelog.cli.main", "serve"]


@pytest.fixture(scope="module")
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        yield running


class Cli:
    """Runs commands against one broker."""

    def __init__(self, bootstrap: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.bootstrap = bootstrap
        self._capsys = capsys
        self.said = ""

    def __call__(self, *words: str, status: int = 0) -> str:
        assert main([*words, "--bootstrap", self.bootstrap]) == status
        captured = self._capsys.readouterr()
        self.said = captured.err
        return captured.out

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))


@pytest.fixture
def cli(broker: oncelog.Broker, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(broker.bootstrap, capsys)


def lines(path: Path, text: bytes) -> str:
    path.write_bytes(text)
    return str(path)


def test_topics_from_new_to_rm(cli: Cli) -> None:
    assert cli("topics", "new", "a", "b", "--partitions", "2", "--config", "retention.ms=1000") == (
        "TOPIC\tPARTITIONS\tCREATED\na\t2\tyes\nb\t2\tyes\n"
    )
    assert cli("topics", "ls").splitlines()[1:] == ["a\t2\tno", "b\t2\tno"]
    (view,) = cli.json("topics", "describe", "a")
    assert view["configs"] == {"retention.ms": "1000"}
    assert [each["high_watermark"] for each in view["partitions"]] == [0, 0]
    assert cli("topics", "describe", "a").splitlines()[1] == "a\t0\t0\t0\t0\t0"
    cli("topics", "new", "a", status=4)
    assert "answered TOPIC_ALREADY_EXISTS" in cli.said
    assert cli.json("topics", "new", "a", "--if-not-exists")[0]["created"] is False
    assert cli("topics", "rm", "a", "b") == "TOPIC\tDELETED\na\tyes\nb\tyes\n"
    cli("topics", "rm", "a", status=4)
    assert "answered UNKNOWN_TOPIC_OR_PARTITION" in cli.said


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_go_in_and_come_out(cli: Cli, tmp_path: Path, codec: str) -> None:
    topic = f"lines-{codec}"
    cli("topics", "new", topic)
    file = lines(tmp_path / "in", b"k1=one\nk2=\x1b]0;title\x07two\r\nk3=a=b\n")
    out = cli("produce", topic, "--file", file, "--key-separator", "=", "--codec", codec)
    assert out == f"TOPIC\tPARTITION\tFIRST_OFFSET\tLAST_OFFSET\n{topic}\t0\t0\t2\n"
    assert cli.said == f"3 records written to {topic}\n"
    rows = [line.split("\t") for line in cli("consume", topic, "--to-end").splitlines()]
    assert rows[0] == ["PARTITION", "OFFSET", "TIMESTAMP", "KEY", "VALUE"]
    assert [(row[0], row[1], *row[3:]) for row in rows[1:]] == [
        ("0", "0", "k1", "one"),
        ("0", "1", "k2", "two"),  # the escape sequence is gone (T29)
        ("0", "2", "k3", "a=b"),
    ]
    records = [json.loads(line) for line in cli("consume", topic, "--to-end", "--json").splitlines()]
    assert [each["value"] for each in records] == ["one", "\x1b]0;title\x07two", "a=b"]


def test_where_to_begin_and_where_to_stop(cli: Cli, tmp_path: Path) -> None:
    cli("topics", "new", "begin")
    file = lines(tmp_path / "in", b"0\n1\n2\n3\n")
    assert cli.json("produce", "begin", "--file", file)["records"] == 4
    assert cli("consume", "begin", "--from", "2", "--to-end", "--values") == "2\n3\n"
    assert cli("consume", "begin", "--from", "earliest", "--max", "1", "--values") == "0\n"
    assert cli("consume", "begin", "--idle-timeout", "0.1", "--values", status=5) == ""
    assert cli.said == "oncelog: no record of begin within 0.1 s, 0 before that\n"
    both = cli("consume", "begin", "--to-end", "--isolation", "both").splitlines()
    assert [line.split("\t")[3] for line in both] == ["FATE", "C", "C", "C", "C"]


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_acks(cli: Cli, tmp_path: Path, acks: str) -> None:
    topic = f"acks-{acks}"
    cli("topics", "new", topic)
    cli("produce", topic, "--file", lines(tmp_path / "in", b"x\ny\n"), "--acks", acks)
    assert cli("consume", topic, "--from", "earliest", "--max", "2", "--values") == "x\ny\n"


def test_a_group_goes_on_where_it_stopped(cli: Cli, tmp_path: Path) -> None:
    cli("topics", "new", "shared")
    cli("produce", "shared", "--file", lines(tmp_path / "in", b"0\n1\n2\n"))
    start = ["--group", "readers", "--from", "earliest", "--values"]
    assert cli("consume", "shared", *start, "--max", "2") == "0\n1\n"
    (view,) = cli.json("groups", "describe", "readers")
    assert (view["state"], view["members"]) == ("Empty", [])
    (offset,) = view["offsets"]
    assert (offset["committed_offset"], offset["log_end_offset"], offset["lag_offsets"]) == (2, 3, 1)
    assert cli("groups", "ls").splitlines()[1] == "readers\tclassic\tEmpty\tconsumer"
    assert cli("consume", "shared", *start, "--max", "1") == "2\n"
    assert cli("groups", "rm", "readers") == "GROUP\tDELETED\nreaders\tyes\n"
    cli("groups", "describe", "readers", status=4)
    assert "answered GROUP_ID_NOT_FOUND" in cli.said


def test_an_unknown_topic_is_refused_everywhere(cli: Cli) -> None:
    for words in (["consume", "gone"], ["consume", "gone", "--group", "g"], ["topics", "describe", "gone"]):
        cli(*words, status=4)
        assert "answered UNKNOWN_TOPIC_OR_PARTITION" in cli.said


@contextmanager
def serving(*words: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen([*SERVE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("oncelog ready on 127.0.0.1:"), process.communicate()[1]
        yield process, line.split()[-1]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_says_one_line_and_stops_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with serving("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "deep" / "data")) as (
        process,
        address,
    ):
        with Cluster(address) as cluster:
            assert list(cluster.nodes()) == [0]
        process.send_signal(number)
        out, _ = process.communicate(timeout=20)
        assert (process.returncode, out) == (0, "")


def test_serve_obeys_its_options(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("node.id=7\nnum.partitions=4\n")
    words = ["--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), "--config", str(file)]
    words += ["--set", "num.partitions=5", "--auto-create-topics", "--advertise", "elsewhere.example:1234"]
    with serving(*words) as (_, address), Cluster(address) as cluster:
        assert [(node, str(at)) for node, at in cluster.nodes().items()] == [(7, "elsewhere.example:1234")]
    with serving(*words[:-2]) as (_, address), Cluster(address) as cluster:
        assert len(cluster.topic("made-by-naming-it", auto_create=True, wait_ms=5_000).partitions) == 5


def test_serve_on_a_port_that_is_taken_exits_1(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        address = f"127.0.0.1:{door.getsockname()[1]}"
        done = subprocess.run(
            [*SERVE, "--listen", address, "--data-dir", str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert f"oncelog: --listen {address}: " in done.stderr
    assert "Traceback" not in done.stderr


def test_serve_names_the_bad_line_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("node.id=7\n\nnum.partitions=none\n")
    done = subprocess.run(
        [*SERVE, "--data-dir", str(tmp_path / "data"), "--config", str(file)],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"oncelog: {file}, line 3: " in done.stderr
    assert not (tmp_path / "data").exists()


def test_an_interrupted_consumer_commits_what_it_showed(cli: Cli, tmp_path: Path) -> None:
    cli("topics", "new", "interrupted")
    cli("produce", "interrupted", "--file", lines(tmp_path / "in", b"0\n1\n"))
    words = ["consume", "interrupted", "--group", "stopped", "--from", "earliest", "--values"]
    command = [sys.executable, "-m", "oncelog.cli.main", *words, "--bootstrap", cli.bootstrap]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["0\n", "1\n"]
        # A line is shown a moment before it counts as seen: an interrupt in between would repeat it.
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        assert (process.returncode, said) == (130, "")
    (view,) = cli.json("groups", "describe", "stopped")
    assert (view["state"], view["offsets"][0]["committed_offset"]) == ("Empty", 2)
