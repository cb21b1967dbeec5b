"""kafka-python's own integration tests, from its source distribution: `make conformance-kafka-python`."""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.conformance.suites.command import Suite, main
from tests.toolchains import CACHE, ROOT, made_once, run_quietly

FOLDER: Final = "test/integration"
# Their broker is number 0, gives four partitions to a topic that does not say, creates topics on
# demand, and allows short sessions.
SETTINGS: Final[Mapping[str, str]] = {
    "num.partitions": "4",
    "auto.create.topics.enable": "true",
    "group.min.session.timeout.ms": "100",
}
# They subscribe while the consumer's first Metadata, which asks for no topics, is on its way: kafka-python 3.0.12 then takes its answer
# for that of the topics, has no assignment, and asks again after five minutes. Its log shows it: no further request.
RACY: Final = ("test_idempotent_producer_max_in_flight", "test_end_to_end")
VERSION: Final = "4.3"  # what they take the broker to be; it decides which tests skip themselves
# The source distribution leaves out test/service.py; of it only this is needed for a broker that runs already.
SERVICE: Final = """\
class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def stop(self):
        pass


class SpawnedService:
    pass
"""


def pinned() -> tuple[str, str]:
    """The version of kafka-python in the lock file, and its lines there with the hashes."""
    lock = (ROOT / "requirements" / "dev.lock").read_text()
    found = re.search(r"^kafka-python==(\S+) (\\\n.*)+$", lock, re.MULTILINE)
    if not found:
        raise RuntimeError("requirements/dev.lock: wanted a line 'kafka-python==VERSION', found none")
    return found[1], found[0]


def source() -> Path:
    """The source distribution, fetched with pip and checked against the lock file."""
    version, lines = pinned()

    def download(out: Path) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as asked:
            asked.write(lines + "\n")
            asked.flush()
            words = ["download", "--quiet", "--no-deps", "--no-binary", "kafka-python", "--require-hashes"]
            run_quietly([sys.executable, "-m", "pip", *words, "-r", asked.name, "-d", str(out)], cwd=out)

    folder = made_once(CACHE / "suites" / f"kafka-python-{version}", download)
    return folder / f"kafka_python-{version}.tar.gz"


def unpack(folder: Path) -> None:
    """Their tests into `folder`; the client itself is the installed one, of the same version."""
    version, _ = pinned()
    prefix = f"kafka_python-{version}/"
    with tarfile.open(source()) as archive:
        for member in archive.getmembers():
            if member.name.startswith(prefix + "test/") and member.isfile():
                member.name = member.name.removeprefix(prefix)
                archive.extract(member, folder, filter="data")
    (folder / "test" / "__init__.py").touch()
    (folder / "test" / "service.py").write_text(SERVICE)


def run(
    bootstrap: str, *, only: str = "", skip: Sequence[str] = (), log: Path | None = None, timeout_s: int = 60
) -> dict[str, str]:
    """A test is named FILE::FUNCTION[PARAMETERS]; `only` is pytest's -k."""
    with tempfile.TemporaryDirectory() as scratch, Path(log or os.devnull).open("w") as kept:
        unpack(Path(scratch))
        words = ["-c", os.devnull, "--rootdir", scratch, "-p", "no:cacheprovider", "-p", "no:oncelog"]
        words += [f"--timeout={timeout_s}", "--junitxml=report.xml", "-q", "--tb=short", FOLDER]
        words += ["-k", only] if only else []
        for test in skip:
            words += ["--deselect", f"{FOLDER}/{test}"]
        environment = {
            **os.environ,
            "KAFKA_URI": f"kafka://{bootstrap}",
            "KAFKA_VERSION": VERSION,
            "KAFKA_ROOT": scratch,
            "PYTHONPATH": scratch,
        }
        subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=scratch,
            env=environment,
            stdout=kept,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return outcomes(Path(scratch) / "report.xml")


def outcomes(report: Path) -> dict[str, str]:
    if not report.exists():
        raise RuntimeError("kafka-python's tests left no report: they could not be started (use --log)")
    found: dict[str, str] = {}
    for case in ET.parse(report).iter("testcase"):
        parts = case.attrib["classname"].removeprefix("test.integration.").split(".")
        name = "::".join([f"{parts[0]}.py", *parts[1:], case.attrib["name"]])
        kinds = {child.tag for child in case}
        bad = kinds & {"failure", "error"}
        # A test that failed in its teardown is told twice: bad stays bad.
        if found.get(name) != "fail":
            found[name] = "fail" if bad else "skip" if "skipped" in kinds else "pass"
    return found


SUITE: Final = Suite("kafka_python", SETTINGS, run)

if __name__ == "__main__":
    sys.exit(main(SUITE, sys.argv[1:]))
