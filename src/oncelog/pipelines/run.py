"""One life of a pipeline's driver: `python -m oncelog.pipelines.run NAME ...`, as the supervisor starts it.

Reports every finished micro-batch as a line of JSON on stdout, ends when its stdin does, and fails with the query.
"""

import argparse
import importlib
import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from oncelog.pipelines import PIPELINES, Run

LOOK_EVERY_S: Final = 0.2


def command(
    name: str, run: Run, *, master: str = "local[*]", conf: Mapping[str, str] | None = None
) -> list[str]:
    """The words that start this module for a run."""
    words = [sys.executable, "-m", "oncelog.pipelines.run", name]
    words += ["--bootstrap", run.bootstrap, "--checkpoint", run.checkpoint]
    words += ["--transactional-id", run.transactional_id, "--rows-per-batch", str(run.rows_per_batch)]
    words += ["--master", master, *(["--once"] if run.once else [])]
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
    asked = parser.parse_args(argv)
    run = Run(asked.bootstrap, asked.checkpoint, asked.transactional_id, asked.once, asked.rows_per_batch)
    conf = dict(each.split("=", 1) for each in asked.conf)

    from oncelog.spark import session  # here, not above: `command` is for those who have no Spark loaded

    module, _, function = PIPELINES[asked.name].start.partition(":")
    start: Callable[[Any, Run], Any] = getattr(importlib.import_module(module), function)
    spark = session(master=asked.master, app_name=f"oncelog-{asked.name}", **conf)
    try:
        follow(start(spark, run))
    finally:
        spark.stop()
    return 0


def follow(query: Any) -> None:
    """Reports until the query ends; raises what it failed with."""

    def end_with_stdin() -> None:
        sys.stdin.read()
        query.stop()

    threading.Thread(target=end_with_stdin, daemon=True).start()
    told = -1
    while True:
        over = query.awaitTermination(LOOK_EVERY_S)  # raises if the query failed
        for each in query.recentProgress:
            if each["batchId"] > told and each["numInputRows"] >= 0:
                told = each["batchId"]
                print(json.dumps({"batch": told, "rows": each["numInputRows"]}), flush=True)  # noqa: T201  # to the supervisor
        if over:
            return


if __name__ == "__main__":
    sys.exit(main())
