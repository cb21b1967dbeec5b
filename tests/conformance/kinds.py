"""The clients under test: how each is built and started, and what it is asked to do."""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from tests.conformance.client import Kind
from tests.oracle import classpath, fetch
from tests.toolchains import CACHE, go, java, javac, made_once, program, run_quietly

HERE: Final = Path(__file__).resolve().parent / "clients"


def build(name: str, files: tuple[str, ...], command: list[str], *, on: str = "") -> Path:
    """A folder with copies of `files` in which `command` has run; made once per content (and `on`), kept in .cache."""
    sources = [HERE / name / each for each in files]
    content = b"\0".join([on.encode(), *(source.read_bytes() for source in sources)])

    def copy_and_run(out: Path) -> None:
        for source in sources:
            shutil.copy(source, out)
        run_quietly(command, cwd=out)

    return made_once(CACHE / "clients" / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}", copy_and_run)


@cache
def java_client() -> list[str]:
    jars = fetch()
    compile_it = [javac(), "-cp", f"{jars}{os.sep}*", "Client.java"]
    folder = build("java", ("Client.java",), compile_it, on=jars.name)
    quick = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    return [java(), *quick, "-cp", classpath(folder), "Client"]


@cache
def go_client() -> list[str]:
    compile_it = [go(), "build", "-buildvcs=false", "-o", "client", "."]
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
