"""Fetches what the oracle is made of: Apache Kafka's jars, with Maven, into .cache/oracle."""

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from tests.toolchains import CACHE, program

HERE = Path(__file__).resolve().parent
POM = HERE / "pom.xml"
LOGGING = HERE / "log4j2.yaml"


def fetch() -> Path:
    """The folder of the jars; Maven runs only if the pom changed since the last time, so this works offline."""
    print_of_pom = hashlib.sha256(POM.read_bytes()).hexdigest()[:16]
    folder = CACHE / "oracle" / print_of_pom
    if folder.is_dir():
        return folder
    maven = program("mvn")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Into a folder of our own, then renamed: a second process or an interruption never sees half of the jars.
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        jars = Path(scratch) / "jars"
        command = [maven, "-q", "-B", "-C", "-f", str(POM), "dependency:copy-dependencies"]
        done = subprocess.run(
            [*command, f"-DoutputDirectory={jars}", "-DincludeScope=runtime"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{maven} could not fetch the oracle (exit {done.returncode}):\n{done.stdout}")
        if not folder.is_dir():
            jars.rename(folder)
    return folder


def classpath(*extra: Path) -> str:
    """`extra` first, then every jar."""
    return os.pathsep.join([*map(str, extra), f"{fetch()}{os.sep}*"])
