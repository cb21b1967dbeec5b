"""Pipelines on a real Spark in a process of its own, under supervision, as tests run and judge them."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

import oncelog
from oncelog.client.cluster import Cluster
from oncelog.pipelines import PARTITIONS, PIPELINES, Run
from oncelog.pipelines.feed import Feeder, make_topics, rows_in
from oncelog.pipelines.proof import Verdict, read_logs
from oncelog.pipelines.run import command
from oncelog.pipelines.supervise import Ended, Restarts, Supervisor
from oncelog.pipelines.watch import ONGOING, transaction
from tests.oracle import Oracle
from tests.toolchains import ROOT

LIMIT_S = 400.0
DECIDED = "after_prepare_commit"  # and nobody was told: the micro-batch must not be written again
UNDECIDED = "after_ongoing"  # some rows may be written, none is decided: all of them again
RESTARTS = Restarts(first_s=0.1, longest_s=1.0, attempts=4)
CONF = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}


class Trial:
    """Feeds at once; `running` starts the driver, and the test may then kill what it likes."""

    def __init__(
        self, broker: oncelog.Broker | Oracle, names: Sequence[str], folder: Path, *, rows: int
    ) -> None:
        self.names = names
        self.bootstrap = broker.bootstrap
        self.folder = folder
        self.told: list[str] = []
        self.ended: Ended | None = None
        with Cluster(broker.bootstrap) as cluster:
            for pipeline in map(PIPELINES.__getitem__, names):
                make_topics(cluster, pipeline.topics, partitions=PARTITIONS)
                for topic, (make, count) in pipeline.tables.items():
                    Feeder(cluster, topic, make).write(count)
                missing = rows - rows_in(cluster, pipeline.source)  # two pipelines may read one topic
                Feeder(cluster, pipeline.source, pipeline.make).write(missing)

    @contextlib.contextmanager
    def running(
        self,
        *,
        rows_per_batch: int,
        master: str = "local[2]",
        conf: Mapping[str, str] | None = None,
        python_path: Sequence[Path] = (),
    ) -> Generator[Supervisor]:
        """Until the rows are done. `python_path`: where the driver's Python looks first."""
        if len(self.names) == 1:
            transactional_id = PIPELINES[self.names[0]].transactional_id
            run = Run(self.bootstrap, str(self.folder / "checkpoint"), transactional_id, True, rows_per_batch)
            words = command(self.names[0], run, master=master, conf={**CONF, **(conf or {})})
        else:
            words = [sys.executable, "-m", "tests.pipelines.one_by_one", self.bootstrap]
            words += [str(self.folder / "checkpoint"), str(rows_per_batch), master, *self.names]
        path = [*map(str, python_path), str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        supervisor = Supervisor(
            "trial",
            words,
            log=self.folder / "driver.log",
            restarts=RESTARTS,
            environment={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
            tell=self.told.append,
        )
        over = threading.Event()

        def work() -> None:
            try:
                self.ended = supervisor.run()
            finally:
                over.set()

        threading.Thread(target=work, daemon=True).start()
        try:
            yield supervisor
            assert over.wait(LIMIT_S), (
                f"still {supervisor.progress} after {LIMIT_S} s; {self.words(supervisor)}"
            )
            assert self.ended is Ended.DONE, self.words(supervisor)
        finally:
            supervisor.stop(grace_s=10.0)
            over.wait()

    def words(self, supervisor: Supervisor) -> str:
        return "\n".join([*self.told, supervisor.last_words()])

    def until(
        self, supervisor: Supervisor, condition: Callable[[], bool], what: str, *, every_s: float = 0.05
    ) -> None:
        limit = time.monotonic() + LIMIT_S
        while not condition():
            assert self.ended is None, f"{what}: it ended before; {self.words(supervisor)}"
            assert time.monotonic() < limit, f"{what}: not within {LIMIT_S} s; {self.words(supervisor)}"
            time.sleep(every_s)

    def kill_at(self, broker: oncelog.Broker | Oracle, supervisor: Supervisor, name: str, point: str) -> None:
        """kill -9 of driver and JVM when the next transaction of this pipeline reaches the point. Kafka does not stop there for us:
        it is asked, all the time, whether the transaction runs, and for a point behind the decision whether it still does.
        """
        if isinstance(broker, Oracle):
            self._kill_when_seen(supervisor, name, decided=point != UNDECIDED)
            return
        with broker.pause(at=point, transactional_id=PIPELINES[name].transactional_id) as paused:
            self.until(supervisor, lambda: paused.happened, f"{name} {point}")
            assert supervisor.kill() is not None

    def _kill_when_seen(self, supervisor: Supervisor, name: str, *, decided: bool) -> None:
        with Cluster(self.bootstrap) as cluster:

            def state() -> str:
                known = transaction(cluster, PIPELINES[name].transactional_id)
                return "" if known is None else known.state

            self.until(supervisor, lambda: state() == ONGOING, f"{name} in a transaction", every_s=0.002)
            if decided:
                self.until(supervisor, lambda: state() != ONGOING, f"{name} behind it", every_s=0.0)
            assert supervisor.kill() is not None
            self.told.append(f"{name}: killed, its transaction is {state()}")

    def verdict(self, name: str) -> Verdict:
        pipeline = PIPELINES[name]
        logs = read_logs(
            self.bootstrap,
            pipeline.source,
            pipeline.outputs,
            tables=pipeline.tables,
            group=pipeline.transactional_id,
        )
        return pipeline.judge(name, logs)
