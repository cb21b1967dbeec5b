"""`oncelog pipeline NAME`: feeds, runs under supervision and proves one of the shipped pipelines."""

import argparse
import contextlib
import importlib.util
import os
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from oncelog.cli.connect import connect, security_settings
from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault
from oncelog.client.security import Security
from oncelog.pipelines import PARTITIONS, PIPELINES, Pipeline, Run
from oncelog.pipelines.feed import Feeder, make_topics, rows_in
from oncelog.pipelines.proof import Verdict, read_logs
from oncelog.pipelines.run import command
from oncelog.pipelines.supervise import Ended, Progress, Supervisor
from oncelog.pipelines.watch import position

LOOK_EVERY_S: Final = 0.5
TELL_EVERY_S: Final = 5.0  # where the line of progress cannot be drawn over


def pipeline(options: argparse.Namespace) -> int:
    printer = Printer(as_json=options.json)
    if options.list:
        printer.rows(
            [
                {
                    "name": each.name,
                    "reads": ", ".join((each.source, *each.tables)),
                    "writes": ", ".join(each.outputs),
                    "about": each.about,
                }
                for each in PIPELINES.values()
            ],
            ["name", "reads", "writes", "about"],
        )
        return Exit.FINE
    chosen = PIPELINES.get(options.name)
    if chosen is None:
        raise UsageFault(f"wanted one of {', '.join(PIPELINES)}, found {options.name or 'no name'}")
    if not options.no_run and importlib.util.find_spec("pyspark") is None:
        raise UsageFault("wanted pyspark, found none: pip install 'oncelog[spark]'")
    if options.transactional_id is None:
        options.transactional_id = chosen.transactional_id
    with _place(options) as place:
        return _trial(options, chosen, place, printer)


@dataclass(frozen=True, slots=True)
class _Place:
    """The broker, and what is done there."""

    bootstrap: str
    checkpoint: str
    log: Path
    feed: bool
    check: bool
    once: bool


@contextlib.contextmanager
def _place(options: argparse.Namespace) -> Generator[_Place]:
    """A broker that was named; else one inside this process, which comes and goes with its rows."""
    with tempfile.TemporaryDirectory(prefix="oncelog-pipeline-") as folder:
        log = Path(folder) / "driver.log"
        if options.bootstrap is not None:
            if options.checkpoint is None and not options.no_run:
                raise UsageFault("--bootstrap needs --checkpoint DIR: it is what a restart goes on from")
            yield _Place(
                options.bootstrap, options.checkpoint or "", log, options.feed, options.check, options.once
            )
            return
        if options.command_config is not None:
            raise UsageFault("--command-config needs --bootstrap: a broker of our own asks nobody who he is")
        if options.no_run:
            raise UsageFault("--no-run needs --bootstrap: a broker of our own has nothing in it")
        from oncelog.embed import Broker

        with Broker() as broker:
            options.bootstrap = broker.bootstrap
            checkpoint = options.checkpoint or str(Path(folder) / "checkpoint")
            yield _Place(broker.bootstrap, checkpoint, log, True, True, options.run_for is None)


def _trial(options: argparse.Namespace, chosen: Pipeline, place: _Place, printer: Printer) -> int:
    with connect(options) as cluster:
        make_topics(cluster, chosen.topics, partitions=PARTITIONS)
        is_over = threading.Event()
        feeding = _feed(options, chosen, cluster, is_over, printer) if place.feed else None
        progress, ended, interrupted = Progress(chosen.name), None, False
        if not options.no_run:
            supervisor = _supervisor(options, chosen, place, printer)
            ended, interrupted = _run(options, chosen, supervisor, cluster, printer)
            progress = supervisor.progress
        is_over.set()
        if feeding is not None:
            feeding.join()
    verdict = None
    if place.check:
        drained = ended is Ended.DONE or (options.no_run and not (place.feed or options.running))
        verdict = prove(options, chosen, drained=drained)
    _tell(chosen, progress, ended, verdict, printer)
    if ended is Ended.GIVEN_UP or (verdict is not None and not verdict.holds):
        return Exit.BAD
    return Exit.INTERRUPTED if interrupted else Exit.FINE


def prove(options: argparse.Namespace, chosen: Pipeline, *, drained: bool) -> Verdict:
    logs = read_logs(
        options.bootstrap,
        chosen.source,
        chosen.outputs,
        tables=chosen.tables,
        group=options.transactional_id,
        drained=drained,
        security=Security.from_options(security_settings(options)),
    )
    return chosen.judge(chosen.name, logs)


def _feed(
    options: argparse.Namespace,
    chosen: Pipeline,
    cluster: Cluster,
    is_over: threading.Event,
    printer: Printer,
) -> threading.Thread | None:
    """Writes the rows now, or, with --rate, in a thread of its own while the pipeline runs."""
    for topic, (make, count) in chosen.tables.items():
        missing = count - rows_in(cluster, topic)
        Feeder(cluster, topic, make, seed=options.seed).write(max(missing, 0))
    if options.rate is None:
        Feeder(cluster, chosen.source, chosen.make, seed=options.seed).write(options.rows)
        printer.note(f"{chosen.source}: {options.rows:,} rows written")
        return None

    def write() -> None:
        with connect(options) as own:  # a cluster is not for two threads
            feeder = Feeder(own, chosen.source, chosen.make, seed=options.seed)
            feeder.write_slowly(options.rows, rate=options.rate, is_over=is_over.is_set)

    thread = threading.Thread(target=write, name="feed", daemon=True)
    thread.start()
    return thread


def _supervisor(options: argparse.Namespace, chosen: Pipeline, place: _Place, printer: Printer) -> Supervisor:
    run = Run(place.bootstrap, place.checkpoint, options.transactional_id, place.once, options.rows_per_batch)
    words = command(
        chosen.name,
        run,
        master=options.master,
        conf=_conf(options.conf),
        command_config=options.command_config,
    )
    return Supervisor(chosen.name, words, log=place.log, tell=printer.note)


def _conf(pairs: Sequence[str]) -> dict[str, str]:
    """Spark's own settings; it knows best which there are."""
    for each in pairs:
        if not each.startswith("spark.") or "=" not in each:
            raise UsageFault(f"--conf: wanted spark.NAME=VALUE, found {each!r}")
    return dict(each.split("=", 1) for each in pairs)


def _run(
    options: argparse.Namespace, chosen: Pipeline, supervisor: Supervisor, cluster: Cluster, printer: Printer
) -> tuple[Ended, bool]:
    """Shows progress until the pipeline ends by itself, its time is up or we are interrupted (the second value)."""
    ends: list[Ended] = []
    # An event, not Thread.join: before Python 3.13 an interrupted join takes the thread for ended ever after.
    is_over = threading.Event()

    def supervise() -> None:
        try:
            ends.append(supervisor.run())
        finally:
            is_over.set()

    threading.Thread(target=supervise, name="supervisor", daemon=True).start()
    until = None if options.run_for is None else time.monotonic() + options.run_for
    line = _Line(printer)
    interrupted = False
    try:
        while not is_over.is_set() and (until is None or time.monotonic() < until):
            line.show(_look(options, supervisor, chosen, cluster))
            is_over.wait(LOOK_EVERY_S)
    except KeyboardInterrupt:
        interrupted = True
    supervisor.stop()
    is_over.wait()
    line.end(_look(options, supervisor, chosen, cluster))
    return ends[0], interrupted


def _look(
    options: argparse.Namespace, supervisor: Supervisor, chosen: Pipeline, cluster: Cluster
) -> Progress:
    try:
        return replace(
            supervisor.progress, position=position(cluster, chosen.source, options.transactional_id)
        )
    except ClientFault:  # the broker is away for a moment; the pipeline will notice too
        return supervisor.progress


class _Line:
    """Progress on stderr: one line drawn over on a terminal, else one every few seconds."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self._draws = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._next = 0.0
        self._shown: str = ""

    def show(self, progress: Progress) -> None:
        text: str = progress.shown()
        if self._draws:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        elif time.monotonic() >= self._next and text != self._shown:
            self._next, self._shown = time.monotonic() + TELL_EVERY_S, text
            self._printer.note(text)

    def end(self, progress: Progress) -> None:
        self._next = 0.0
        self.show(progress)
        if self._draws:
            sys.stderr.write("\n")


def _tell(
    chosen: Pipeline, progress: Progress, ended: Ended | None, verdict: Verdict | None, printer: Printer
) -> None:
    if printer.as_json:
        value: dict[str, Any] = {"pipeline": chosen.name, "ended": None if ended is None else ended.value}
        value |= {"batches": progress.batches, "restarts": progress.restarts, "verdict": None}
        if verdict is not None:
            figures = {name.replace(",", "").replace(" ", "_"): rows for name, rows in verdict.lines()}
            value["verdict"] = {**figures, "holds": verdict.holds}
        printer.value(value)
        return
    if verdict is not None:
        printer.rows([{"figure": name, "rows": rows} for name, rows in verdict.lines()], ["figure", "rows"])
        printer.note(f"{chosen.name}: the proof {'holds' if verdict.holds else 'FAILS'}")
