"""Pipelines on a Spark cluster: executors are processes of their own, on a real master with two workers too."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import psutil
import pyspark
import pytest

import oncelog
from oncelog.spark.java import find_java
from tests.oracle import Oracle
from tests.oracle.kafka import free_ports
from tests.pipelines.trial import Trial

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]

# On one machine; between machines Spark finds the addresses.
HERE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def test_executors_in_processes_of_their_own(tmp_path: Path, either: oncelog.Broker | Oracle) -> None:
    """A shuffle, a state with foreachBatch, and partition by partition without a shuffle."""
    names = ["refunds", "clicks", "router"]
    trial = Trial(either, names, tmp_path, rows=1000)
    with trial.running(rows_per_batch=500, master="local-cluster[2,1,1024]"):
        pass
    verdicts = {name: trial.verdict(name) for name in names}
    assert {name: verdict for name, verdict in verdicts.items() if not verdict.holds} == {}
    assert {verdict.rows_in for verdict in verdicts.values()} == {1000}


def test_a_master_with_two_workers_one_of_which_loses_its_executor(tmp_path: Path) -> None:
    with oncelog.Broker() as broker, standalone(tmp_path) as (master, workers):
        trial = Trial(broker, ["refunds"], tmp_path, rows=1000)
        with (
            trial.running(rows_per_batch=500, master=master, conf=HERE) as supervisor,
            broker.pause(at="after_ongoing", transactional_id="pipeline-refunds") as paused,
        ):
            trial.until(supervisor, lambda: paused.happened, "a transaction")
            busy = [executors_of(worker) for worker in workers]
            assert all(busy), busy  # both workers have their share
            for each in busy[0]:
                each.send_signal(signal.SIGKILL)
        verdict = trial.verdict("refunds")
        assert verdict.holds, verdict
        assert verdict.rows_in == 1000


def executors_of(worker: subprocess.Popen[bytes]) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for each in psutil.Process(worker.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # a zombie too: it ended while we looked
            if "CoarseGrainedExecutorBackend" in " ".join(each.cmdline()):
                found.append(each)
    return found


@contextlib.contextmanager
def standalone(folder: Path) -> Generator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Spark master and two workers of one core each; their address."""
    port, *ui = free_ports(4)
    address = f"spark://127.0.0.1:{port}"
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java().home),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_NO_DAEMONIZE": "1",
    }
    deploy = "org.apache.spark.deploy"
    master = [
        f"{deploy}.master.Master",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--webui-port",
        str(ui[0]),
    ]
    worker = [
        f"{deploy}.worker.Worker",
        "--host",
        "127.0.0.1",
        "--cores",
        "1",
        "--memory",
        "1g",
        "--webui-port",
    ]
    running: list[subprocess.Popen[bytes]] = []
    with contextlib.ExitStack() as stack:
        for number, words in enumerate(
            (master, [*worker, str(ui[1]), address], [*worker, str(ui[2]), address])
        ):
            log = stack.enter_context((folder / f"daemon-{number}.log").open("wb"))
            process = subprocess.Popen(
                [str(home / "bin" / "spark-class"), *words], stdout=log, stderr=log, env=environment
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            running.append(process)
        yield address, running[1:]
        for process in running[1:]:  # their executors first: a killed worker leaves them behind
            for each in executors_of(process):
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
