"""`oncelog bench`: the cost of exactly-once on this machine, beside another Kafka if there is one; and of Spark's part."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from oncelog.cli.exits import Exit
from oncelog.cli.output import Printer
from oncelog.cost import eos, report, scaling
from oncelog.cost.checkout import has_checkout
from oncelog.cost.load import CannotMeasure
from oncelog.cost.page_cache import PageCache


def bench_eos(options: argparse.Namespace) -> int:
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
    (out / f"{name}.md").write_text(report.markdown(plain))
    (out / f"{name}.svg").write_text(report.chart(plain))
    return plain


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
        (out / "eos-scaling.json").write_text(json.dumps(found, indent=1) + "\n")
        (out / "eos-scaling.md").write_text(scaling.markdown(found))
        (out / "eos-scaling.svg").write_text(scaling.chart(found))
    if options.json:
        printer.value(found)
    else:
        printer.line(scaling.markdown(found))
    return Exit.FINE


def bench_spark(options: argparse.Namespace) -> int:
    """bench/spark.py of a checkout: it needs Spark's own connector, which is no part of the package."""
    if not has_checkout("bench.spark"):
        print(
            "oncelog: bench spark: wanted bench/spark.py of a checkout of oncelog, found none",
            file=sys.stderr,
        )
        return Exit.BAD
    words = ["--rounds", str(options.rounds), "--scale", str(options.scale), "--out", options.out]
    return subprocess.run([sys.executable, "-m", "bench.spark", *words], check=False).returncode
