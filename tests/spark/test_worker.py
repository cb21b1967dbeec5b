"""What a task does for the worker that runs it: nothing that is loaded is lost, and the tidying after it has little to look at."""

import os
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oncelog.spark.sink import OncelogStreamWriter, OncelogWriter
from oncelog.spark.source import OncelogReader, OncelogStreamReader
from oncelog.spark.worker import acknowledge

PROGRAM = """
import gc, sys
from oncelog.spark.worker import settle

sys.path.insert(0, sys.argv[1])
import of_spark
cache = sys.path_importer_cache
assert sys.argv[1] in cache
settle()
kept = gc.get_freeze_count()
assert kept > 1000, kept
assert sys.argv[1] not in cache
left = [[] for _ in range(5000)]
settle()
assert gc.get_freeze_count() <= kept, "frozen again: what a task leaves behind would stay for ever"
import of_spark_too
settle()
assert gc.get_freeze_count() > kept + 5000, "what was loaded since is walked over after every task"
print(of_spark.NAME, of_spark_too.NAME)
"""


def test_what_is_loaded_is_out_of_the_collector_s_sight_and_zips_can_be_imported_from_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pyspark.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("of_spark.py", "NAME = 'first'")
        file.writestr("of_spark_too.py", "NAME = 'second'")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("first second\n", "")


@contextmanager
def connected() -> Generator[tuple[socket.socket, socket.socket]]:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as one,
    ):
        other, _ = server.accept()
        with other:
            yield one, other


@pytest.mark.skipif(
    not hasattr(socket, "TCP_QUICKACK"), reason="only Linux holds acknowledgements back like this"
)
def test_the_input_of_a_task_does_not_wait_for_the_acknowledgement_of_its_command() -> None:
    waits: list[float] = []
    with connected() as (spark, worker):
        worker.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(40):
            spark.sendall(b"command")
            spark.sendall(b"input")  # Nagle's algorithm keeps it until the command is acknowledged
            assert worker.recv(7) == b"command"
            acknowledge()
            begun = time.monotonic()
            assert worker.recv(5) == b"input"
            waits.append(time.monotonic() - begun)
            worker.sendall(b"done")
            assert spark.recv(4) == b"done"
    assert sorted(waits)[len(waits) // 2] < 0.02, waits


def open_files() -> set[str]:
    return {each.name for each in Path("/proc/self/fd").iterdir()}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="tells what is open by /proc")
def test_acknowledging_opens_nothing_and_closes_nothing() -> None:
    """It looks at whatever is open: pipes, files, sockets of all kinds."""
    pair = socket.socketpair()
    with connected() as (one, other), pair[0], pair[1], Path(os.devnull).open():
        before = open_files()
        for _ in range(10):
            acknowledge()
        assert open_files() == before
        other.sendall(b"whole")
        assert one.recv(5) == b"whole"


@pytest.mark.parametrize("kind", [OncelogReader, OncelogStreamReader, OncelogStreamWriter, OncelogWriter])
def test_whatever_spark_s_command_holds_acknowledges_it_when_it_is_unpickled(
    kind: type[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr("oncelog.spark.worker.acknowledge", lambda: told.append("now"))
    made: Any = object.__new__(kind)
    made.__setstate__({"options": "kept"})
    assert told == ["now"]
    assert vars(made) == {"options": "kept"}
