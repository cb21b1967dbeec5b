"""Fetches Spark's own Kafka connector, with Maven, into .cache/connector; once for each content of connector.xml."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
POM: Final = HERE / "connector.xml"
CACHE: Final = HERE.parent / ".cache" / "connector"


class NotToBeHad(Exception):
    """The connector cannot be fetched here; the text says why."""


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
            done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode != 0 or not out.is_dir():
                said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
                raise NotToBeHad(f"mvn: {said[0] if said else f'exit code {done.returncode}'}")
            try:
                out.rename(folder)
            except OSError:  # somebody else was faster
                if not folder.is_dir():
                    raise
    return sorted(folder.glob("*.jar"))
