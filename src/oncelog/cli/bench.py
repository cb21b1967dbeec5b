"""`oncelog bench`: the cost of exactly-once on this machine, beside another Kafka if there is one; and of Spark's part."""

import argparse
import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from oncelog.cli.exits import Exit
from oncelog.cli.output import Printer
from oncelog.cost import eos, report, scaling
from oncelog.cost.checkout import has_checkout
from oncelog.cost.load import CannotMeasure
from oncelog.cost.page_cache import PageCache

NO_CHECKOUT: Final = (
    "bench spark: wanted a checkout of oncelog as the working directory, for bench/spark.py, which fetches Spark's own Kafka connector "
    "and starts Apache Kafka, is no part of the package; 'make bench-spark' there does the same"
)
NEEDED: Final = ("pyspark", "pyarrow", "pandas", "confluent_kafka", "psutil")  # by bench/spark.py


def bench_eos(options: argparse.Namespace) -> int:
    if options.redraw:
        return _redraw(options)
    printer = Printer(as_json=options.json)
    rounds = 1 if options.quick else options.rounds
    seconds = 1.0 if options.quick else options.seconds
    if options.only == "scaling":
        return _scaling(options, printer)
    page_cache = None if options.quick else PageCache()
    try:
        sides = eos.sides_of(options.against, power=options.durability == "power")
        found = eos.measure(
            sides,
            rounds=rounds,
            seconds=seconds,
            only=options.only,
            tell=printer.note,
            power=options.durability == "power",
            log_bytes=eos.LOG_BYTES // (16 if options.quick else 1),
            warm_up=1.0 if options.quick else eos.WARM_UP_S,
            page_cache=page_cache,
            hurried=options.quick,
        )
    except CannotMeasure as fault:
        print(f"oncelog: {fault}", file=sys.stderr)
        return Exit.BAD
    finally:
        if page_cache is not None:
            page_cache.close()
    plain = found.plain()
    if options.out is not None:
        try:
            plain = _kept(plain, Path(options.out), "eos-power" if found.power else "eos", options.only)
        except CannotMeasure as fault:
            print(f"oncelog: {fault}", file=sys.stderr)
            return Exit.BAD
    plain["table"] = report.table(plain)
    if options.json:
        printer.value(plain)
    else:
        printer.line(report.markdown(plain))
    return Exit.FINE


def _kept(plain: dict[str, Any], out: Path, name: str, only: str | None) -> dict[str, Any]:
    """Writes it down; cells that were measured again take their place in the file that is there."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{name}.json"
    if only is not None and file.is_file():
        plain = report.merged(json.loads(file.read_text()), plain)
    plain["table"] = report.table(plain)
    file.write_text(json.dumps(plain, indent=1) + "\n")
    _draw(plain, out, name)
    return plain


def _draw(found: Mapping[str, Any], out: Path, name: str) -> None:
    for page, text in report.pages(name, found).items():
        (out / page).write_text(text)


def _redraw(options: argparse.Namespace) -> int:
    """Tables and charts of the raw files that are there; nothing runs."""
    out = Path(options.out or ".")
    names = [each for each in report.RAW_FILES if (out / f"{each}.json").is_file()]
    if not names:
        wanted = ", ".join(f"{each}.json" for each in report.RAW_FILES)
        print(f"oncelog: bench eos --redraw: wanted {wanted} in {out}, found none", file=sys.stderr)
        return Exit.BAD
    for name in names:
        _draw(json.loads((out / f"{name}.json").read_text()), out, name)
        print(f"{out / name}.md, {out / name}.svg")
    return Exit.FINE


def _scaling(options: argparse.Namespace, printer: Printer) -> int:
    """The curves, of oncelog alone."""
    page_cache = None if options.quick else PageCache()
    try:
        found = scaling.measure(
            rounds=1 if options.quick else options.rounds,
            seconds=0.5 if options.quick else min(options.seconds, 2.0),
            tell=printer.note,
            largest=100 if options.quick else 10_000,
            page_cache=page_cache,
        )
    except CannotMeasure as fault:
        print(f"oncelog: {fault}", file=sys.stderr)
        return Exit.BAD
    finally:
        if page_cache is not None:
            page_cache.close()
    if options.out is not None:
        out = Path(options.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{report.SCALING}.json").write_text(json.dumps(found, indent=1) + "\n")
        _draw(found, out, report.SCALING)
    if options.json:
        printer.value(found)
    else:
        printer.line(scaling.markdown(found))
    return Exit.FINE


def bench_spark(options: argparse.Namespace) -> int:
    """bench/spark.py of a checkout: it needs Spark's own connector, which is no part of the package."""
    if not has_checkout("bench.spark"):
        print(f"oncelog: {NO_CHECKOUT}, found none in {Path.cwd()}", file=sys.stderr)
        return Exit.BAD
    missing = [] if options.redraw else [each for each in NEEDED if importlib.util.find_spec(each) is None]
    if missing:
        names = ", ".join(missing)
        print(
            f"oncelog: bench spark: wanted {names} of the checkout's requirements, found none: 'make setup' there, then .venv/bin/oncelog",
            file=sys.stderr,
        )
        return Exit.BAD
    if options.redraw:
        words = ["bench.spark_report", options.out]
    else:
        words = ["bench.spark", "--rounds", str(options.rounds), "--scale", str(options.scale)]
        words += ["--out", options.out]
        words += ["--only", *options.only] if options.only else []
    return subprocess.run([sys.executable, "-m", *words], check=False).returncode
