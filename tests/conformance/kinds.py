"""The clients under test: how each is built and started, and what it is asked to do."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from tests.conformance.client import Kind
from tests.oracle import classpath, fetch
from tests.toolchains import CACHE, java, javac, program

HERE: Final = Path(__file__).resolve().parent / "clients"


def build(name: str, files: tuple[str, ...], command: list[str], *, on: str = "") -> Path:
    """A folder with copies of `files` in which `command` has run; made once per content (and `on`), kept in .cache."""
    sources = [HERE / name / each for each in files]
    content = b"\0".join([on.encode(), *(source.read_bytes() for source in sources)])
    folder = CACHE / "clients" / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        out = Path(scratch) / name
        out.mkdir()
        for source in sources:
            shutil.copy(source, out)
        done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = f"{done.stdout}{done.stderr}"
            raise RuntimeError(f"{' '.join(command)} ended with exit code {done.returncode}:\n{said}")
        if not folder.is_dir():
            out.rename(folder)
    return folder


@cache
def java_client() -> list[str]:
    jars = fetch()
    compile_it = [javac(), "-cp", f"{jars}{os.sep}*", "Client.java"]
    folder = build("java", ("Client.java",), compile_it, on=jars.name)
    quick = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    return [java(), *quick, "-cp", classpath(folder), "Client"]


@cache
def go_client() -> list[str]:
    compile_it = [program("go"), "build", "-buildvcs=false", "-o", "client", "."]
    return [str(build("go", ("main.go", "go.mod", "go.sum"), compile_it) / "client")]


@cache
def node_client() -> list[str]:
    install = [program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    folder = build("node", ("main.js", "package.json", "package-lock.json"), install)
    return [program("node"), str(folder / "main.js")]


def python_client(name: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, "-m", f"tests.conformance.clients.python.{name}"]


KINDS: Final = (
    Kind("librdkafka", python_client("librdkafka"), protocols=("classic", "consumer")),
    Kind("aiokafka", python_client("aio"), lacks=("group listed after",)),
    Kind("kafka-python", python_client("kafka_python")),
    Kind("java", java_client, protocols=("classic", "consumer")),
    Kind("franz-go", go_client, protocols=("classic", "consumer")),
    Kind("kafkajs", node_client, lacks=("deleted up to",)),
)
