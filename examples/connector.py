"""Fetches Spark's own Kafka connector, with Maven, into .cache/connector; once for each content of connector.xml."""

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
POM: Final = HERE / "connector.xml"
CACHE: Final = HERE.parent / ".cache" / "connector"
LIMIT_S: float = 90.0


class NotToBeHad(Exception):
    """The connector cannot be fetched here; the text says why."""


def _run(words: Sequence[str]) -> tuple[int, str]:
    """Exit code and what was said. A repository that does not answer must not hold up who asks."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=LIMIT_S)
    except BaseException as fault:
        os.killpg(process.pid, signal.SIGKILL)  # Maven may be a script, with a Java below it
        process.communicate()
        if isinstance(fault, subprocess.TimeoutExpired):
            raise NotToBeHad(f"mvn: not done within {LIMIT_S:g} s") from None
        raise
    return process.returncode, text


def jars() -> list[Path]:
    """The jars of the connector, from the cache or from where Maven gets them."""
    folder = CACHE / hashlib.sha256(POM.read_bytes()).hexdigest()[:16]
    if not folder.is_dir():
        maven = shutil.which("mvn")
        if maven is None:
            raise NotToBeHad("no mvn on the PATH")
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            out = Path(scratch) / "jars"
            words = [maven, "-q", "-B", "-C", "-f", str(POM), "dependency:copy-dependencies"]
            words += [f"-DoutputDirectory={out}", "-DincludeScope=runtime"]
            code, text = _run(words)
            if code != 0 or not out.is_dir():
                said = [line for line in text.splitlines() if "ERROR" in line]
                raise NotToBeHad(f"mvn: {said[0] if said else f'exit code {code}'}")
            try:
                out.rename(folder)
            except OSError:  # somebody else was faster
                if not folder.is_dir():
                    raise
    return sorted(folder.glob("*.jar"))
