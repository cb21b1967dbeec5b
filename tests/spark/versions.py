"""`make spark-versions`: what a real Spark runs in our tests, once more on the older Spark that we support.

Its environment is that of requirements/dev.lock but for pyspark, in .cache; made once for each content of the two files.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.toolchains import ROOT

OLDER: Final = "4.2"
TESTS: Final = (
    "tests/spark/test_source_batch.py",
    "tests/spark/test_source_stream.py",
    "tests/spark/test_sink_spark.py",
    "tests/spark/test_session.py",
    "tests/spark/test_spark_doc.py",
    "tests/spark/test_sink_doc.py",
    "tests/spark/test_kill_matrix.py",
)
ENTRY: Final = re.compile(r"^pyspark==.*\n(?: +--hash=.*\n)+", re.MULTILINE)


def pins(dev: str, older: str) -> str:
    """The lock file of the tools with another pyspark in it."""
    found = ENTRY.findall(dev)
    (entry,) = ENTRY.findall(older)
    if len(found) != 1:
        raise ValueError(f"requirements/dev.lock: wanted one entry for pyspark, found {len(found)}")
    return dev.replace(found[0], entry)


def environment(version: str) -> Path:
    """A Python with that Spark, ready to run tests of this checkout."""
    wanted = pins(
        (ROOT / "requirements/dev.lock").read_text(encoding="utf-8"),
        (ROOT / f"requirements/spark-{version}.lock").read_text(encoding="utf-8"),
    )
    folder = ROOT / ".cache" / f"spark-{version}-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        lock = folder / "requirements.lock"
        lock.write_text(wanted, encoding="utf-8")
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "--require-hashes", "--requirement", str(lock)], check=True)
        ready.touch()
    return python


def main(words: Sequence[str]) -> int:
    python = environment(OLDER)
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    # The tests' own helpers look for tools beside the Python that runs them.
    given = {**os.environ, "PYTHONPATH": paths, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", *(words or TESTS)]
    return subprocess.run(command, cwd=ROOT, env=given, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
