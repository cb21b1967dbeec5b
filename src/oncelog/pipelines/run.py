"""One life of a pipeline's driver: `python -m oncelog.pipelines.run NAME ...`, as the supervisor starts it.

Reports every finished micro-batch as a line of JSON on stdout, ends when its stdin does, and fails with the query.
"""

import argparse
import importlib
import json
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from oncelog.client.properties import read_client_properties, security_of
from oncelog.pipelines import PIPELINES, Run

RAN: Final = "addBatch"  # how long the sink took
LOOK_EVERY_S: Final = 0.2
STDIN: Final = 0
PYTHON_FAULT: Final = re.compile(r"(?:[a-z_]\w*\.)+[A-Z]\w*: ")  # the last line of a traceback


def command(
    name: str,
    run: Run,
    *,
    master: str = "local[*]",
    conf: Mapping[str, str] | None = None,
    command_config: str | None = None,
) -> list[str]:
    """The words that start this module for a run. Others can read them, so `run.security` is not among them: the file is."""
    words = [sys.executable, "-m", "oncelog.pipelines.run", name]
    words += ["--bootstrap", run.bootstrap, "--checkpoint", run.checkpoint]
    words += ["--transactional-id", run.transactional_id, "--rows-per-batch", str(run.rows_per_batch)]
    words += ["--master", master, *(["--once"] if run.once else [])]
    words += [] if command_config is None else ["--command-config", command_config]
    for key, value in (conf or {}).items():
        words += ["--conf", f"{key}={value}"]
    return words


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="oncelog.pipelines.run", description=__doc__)
    parser.add_argument("name", choices=PIPELINES)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--transactional-id", required=True)
    parser.add_argument("--rows-per-batch", type=int, required=True)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--master", required=True)
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("--command-config")
    asked = parser.parse_args(argv)
    security = (
        {} if asked.command_config is None else security_of(read_client_properties(asked.command_config))
    )
    run = Run(
        asked.bootstrap, asked.checkpoint, asked.transactional_id, asked.once, asked.rows_per_batch, security
    )
    conf = dict(each.split("=", 1) for each in asked.conf)

    leash = Leash()
    # Here, not above: `command` is for those who have no Spark loaded.
    from pyspark.errors import PySparkException

    from oncelog.spark import session

    module, _, function = PIPELINES[asked.name].start.partition(":")
    start: Callable[[Any, Run], Any] = getattr(importlib.import_module(module), function)
    spark = session(master=asked.master, app_name=f"oncelog-{asked.name}", **conf)
    try:
        follow(start(spark, run), leash.tie)
    except PySparkException as fault:
        traceback.print_exc()
        sys.stderr.write(f"{gist(str(fault))}\n")
        return 1
    finally:
        spark.stop()
    return 0


def gist(text: str) -> str:
    """One line for a human: Spark wraps what a Python task or sink raised in pages of plans and traces."""
    lines = text.splitlines()
    raised = [line for line in lines if PYTHON_FAULT.match(line)]
    return raised[-1] if raised else next((line for line in lines if line.strip()), "no reason given")


class Leash:
    """Ends this process with its stdin: at once while Spark is starting, then by stopping the query."""

    def __init__(self) -> None:
        self._query: Any = None
        self._lock = threading.Lock()
        threading.Thread(target=self._wait, daemon=True).start()

    def tie(self, query: Any) -> None:
        with self._lock:
            self._query = query

    def _wait(self) -> None:
        while os.read(STDIN, 4096):  # not sys.stdin, whose lock would be held when the interpreter ends
            pass
        with self._lock:
            if self._query is None:
                os._exit(0)  # the JVM ends with our end of its pipe
            self._query.stop()


def follow(query: Any, tie: Callable[[Any], None]) -> None:
    """Reports until the query ends; raises what it failed with. Of an idle stream Spark tells too, under the number of the
    micro-batch that will be its next.
    """
    tie(query)
    told = -1
    while True:
        over = query.awaitTermination(LOOK_EVERY_S)  # raises if the query failed
        for each in query.recentProgress:
            if each["batchId"] > told and RAN in each["durationMs"]:
                told = each["batchId"]
                print(json.dumps({"batch": told, "rows": each["numInputRows"]}), flush=True)  # noqa: T201  # to the supervisor
        if over:
            return


if __name__ == "__main__":
    sys.exit(main())
