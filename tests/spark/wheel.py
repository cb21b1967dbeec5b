"""Installations of oncelog that tests and `make spark-wheel` try: from a built wheel, and from a zip of the package.

`python -m tests.spark.wheel` builds the wheel, lets pip install oncelog[spark] of it into an empty environment, with the versions of
requirements/spark.lock, and reads and writes there on a real Spark. It fetches some hundred MB unless pip has them.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path
from typing import Final

from oncelog.spark.java import find_java
from tests.toolchains import ROOT

LIMIT_S: Final = 240

TRY: Final = """
import sys
import oncelog
from oncelog.spark import register, session

with oncelog.Broker() as broker:
    for name in ("in", "out"):
        broker.topic(name, partitions=2)
    options = {"kafka.bootstrap.servers": broker.bootstrap}
    if sys.argv[2] == "session":
        spark = session(master=sys.argv[1], **{"spark.ui.enabled": False})
    else:  # session() would tell all workers where this process has oncelog from
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(sys.argv[1]).config("spark.ui.enabled", "false")
        spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
        for path in sys.argv[3:]:
            spark.sparkContext.addPyFile(path)
        register(spark)
    rows = spark.range(1000).selectExpr("CAST(id AS STRING) AS value", "CAST(id % 2 AS INT) AS partition")
    for topic in ("in", "out"):
        if topic == "out":
            rows = spark.read.format("oncelog").options(**options).option("subscribe", "in").load().select("value", "partition")
        sink = {**options, "transactionalId": topic, "topic": topic, "queryId": "q", "batchId": "0"}
        for _ in range(2):  # the second time it is known to be done
            rows.repartitionByRange(2, "partition").write.format("oncelog").options(**sink).mode("append").save()
    found = spark.read.format("oncelog").options(**options).option("subscribe", "out").load()
    print("rows", found.count(), "different", found.select("value").distinct().count(), "from", oncelog.__file__)
    spark.stop()
"""


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    (found,) = folder.glob("oncelog-*.whl")
    return found


def zip_of_the_package(folder: Path) -> Path:
    """What docs/spark.md tells people to send along with a query."""
    path = folder / "oncelog.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in sorted((ROOT / "src").rglob("*")):
            if each.suffix != ".pyc" and each.is_file():
                archive.write(each, each.relative_to(ROOT / "src"))
    return path


def python_with_dependencies(folder: Path) -> Path:
    """A Python that has all of our dependencies from this one's environment, and no oncelog."""
    venv.create(folder)
    python = folder / "bin" / "python"
    said = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    # A path in a .pth file is looked in, but the .pth files there, one of which is our editable checkout, are not read.
    Path(said.stdout.strip(), "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def run_there(python: Path, master: str, *files: Path, path: str = "") -> str:
    """What TRY prints in that Python, which finds oncelog in `path` or where it is installed; with `path` in a session of Spark's own."""
    given = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "VIRTUAL_ENV")
    }
    begin = f"import sys\nsys.path.insert(0, {path!r})\n" if path else ""
    script = python.parent.parent / "try_it.py"
    script.write_text(begin + TRY)
    done = subprocess.run(
        [str(python), str(script), master, "plain" if path else "session", *map(str, files)],
        cwd=python.parent.parent,
        env={**given, "PYSPARK_PYTHON": str(python), "JAVA_HOME": str(find_java().home)} if path else given,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}:\n{done.stderr[-6000:]}")
    return done.stdout


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="wheel-") as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        venv.create(folder / "empty", with_pip=True)
        python = folder / "empty" / "bin" / "python"
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        lock = str(ROOT / "requirements" / "spark.lock")
        subprocess.run([*install, "--require-hashes", "--requirement", lock], check=True)
        subprocess.run([*install, f"oncelog[spark] @ {wheel.as_uri()}"], check=True)
        said = run_there(python, "local[2]")
        sys.stdout.write(said)
        return 0 if "rows 1000 different 1000" in said else 1


if __name__ == "__main__":
    sys.exit(main())
