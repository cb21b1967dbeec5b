"""Fetches what the oracle is made of: Apache Kafka's jars, with Maven, into .cache/oracle."""

import hashlib
import os
from pathlib import Path

from tests.toolchains import CACHE, made_once, program, run_quietly

HERE = Path(__file__).resolve().parent
POM = HERE / "pom.xml"
LOGGING = HERE / "log4j2.yaml"


def fetch() -> Path:
    """The folder of the jars; Maven runs only if the pom changed since the last time, so this works offline."""
    print_of_pom = hashlib.sha256(POM.read_bytes()).hexdigest()[:16]

    def copy_jars(out: Path) -> None:
        maven = [program("mvn"), "-q", "-B", "-C", "-f", str(POM), "dependency:copy-dependencies"]
        run_quietly([*maven, f"-DoutputDirectory={out}", "-DincludeScope=runtime"], cwd=out)

    return made_once(CACHE / "oracle" / print_of_pom, copy_jars)


def classpath(*extra: Path) -> str:
    """`extra` first, then every jar."""
    return os.pathsep.join([*map(str, extra), f"{fetch()}{os.sep}*"])
