"""A pipeline on a real Spark in a process of its own, under supervision, as tests run and judge it."""

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import oncelog
from oncelog.client.cluster import Cluster
from oncelog.pipelines import PARTITIONS, PIPELINES, Run
from oncelog.pipelines.feed import Feeder, make_topics
from oncelog.pipelines.proof import Verdict, read_logs
from oncelog.pipelines.run import command
from oncelog.pipelines.supervise import Ended, Restarts, Supervisor

LIMIT_S = 240.0
RESTARTS = Restarts(first_s=0.1, longest_s=1.0, attempts=4)
CONF = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}


class Trial:
    """Feeds at once; `running` starts the driver, and the test may then kill what it likes."""

    def __init__(self, broker: oncelog.Broker, name: str, folder: Path, *, rows: int) -> None:
        self.pipeline = PIPELINES[name]
        self.bootstrap = broker.bootstrap
        self.folder = folder
        self.told: list[str] = []
        self.ended: Ended | None = None
        with Cluster(broker.bootstrap) as cluster:
            make_topics(cluster, self.pipeline.topics, partitions=PARTITIONS)
            for topic, (make, count) in self.pipeline.tables.items():
                Feeder(cluster, topic, make).write(count)
            Feeder(cluster, self.pipeline.source, self.pipeline.make).write(rows)

    @contextlib.contextmanager
    def running(
        self, *, rows_per_batch: int, master: str = "local[2]", conf: Mapping[str, str] | None = None
    ) -> Generator[Supervisor]:
        """Until the pipeline has done its rows."""
        checkpoint = str(self.folder / "checkpoint")
        run = Run(self.bootstrap, checkpoint, self.pipeline.transactional_id, True, rows_per_batch)
        words = command(self.pipeline.name, run, master=master, conf={**CONF, **(conf or {})})
        log = self.folder / "driver.log"
        supervisor = Supervisor(self.pipeline.name, words, log=log, restarts=RESTARTS, tell=self.told.append)
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

    def until(self, supervisor: Supervisor, condition: Callable[[], bool], what: str) -> None:
        limit = time.monotonic() + LIMIT_S
        while not condition():
            assert self.ended is None, f"{what}: it ended before; {self.words(supervisor)}"
            assert time.monotonic() < limit, f"{what}: not within {LIMIT_S} s; {self.words(supervisor)}"
            time.sleep(0.05)

    def verdict(self) -> Verdict:
        logs = read_logs(
            self.bootstrap,
            self.pipeline.source,
            self.pipeline.outputs,
            tables=self.pipeline.tables,
            group=self.pipeline.transactional_id,
        )
        return self.pipeline.judge(self.pipeline.name, logs)
