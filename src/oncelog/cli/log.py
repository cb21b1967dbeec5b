"""`oncelog log dump FILE | DIRECTORY | TOPIC-PARTITION`: what stands in a partition's files, ours or Apache Kafka's."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer
from oncelog.inspect import annotate, dump

COLUMNS = "base_offset last_offset count producer_id producer_epoch base_sequence size attributes marker crc_fits".split()


def dump_log(options: argparse.Namespace) -> int:
    """Exit code 1 if a batch does not match its CRC or bytes follow the last whole one."""
    printer = Printer.of(options)
    bad = False
    for path in _files(options):
        if not options.json:
            printer.note(f"{path}")
        if path.suffix == ".log":
            bad = _dump_batches(printer, path, options) or bad
        elif options.json:
            printer.value({"file": path.name, "entries": dump.index_rows(path)})
        else:
            rows = dump.index_rows(path)
            printer.rows(rows, list(rows[0]) if rows else ["entry"])
    return Exit.BAD if bad else Exit.FINE


def _files(options: argparse.Namespace) -> list[Path]:
    path = Path(options.what)
    if not path.exists() and options.data_dir is not None:
        path = Path(options.data_dir) / options.what
    if not path.exists():
        raise UsageFault(
            f"wanted a file, a partition's directory, or TOPIC-PARTITION with --data-dir, found {options.what!r}"
        )
    if path.is_file():
        return [path]
    found = sorted(each for each in path.iterdir() if each.suffix in dump.KINDS)
    if not found:
        raise UsageFault(f"{path}: wanted a partition's directory with segments, found none")
    return found


def _dump_batches(printer: Printer, path: Path, options: argparse.Namespace) -> bool:
    data = path.read_bytes()
    topic = dump.topic_of(path)
    rows: list[dict[str, Any]] = []
    bad = False
    for row, batch in dump.batch_rows(data[: len(data) - dump.torn_bytes(data)]):
        bad = bad or not row.crc_fits
        if options.offset is not None and not row.base_offset <= options.offset <= row.last_offset:
            continue
        if options.json:
            value: dict[str, Any] = {"file": path.name, **asdict(row)}
            if options.hex:
                value["fields"] = [
                    {"at": each.at, "bytes": each.data.hex(), "name": each.name, "value": each.value}
                    for each in annotate.pieces_of_batch(batch)
                ]
            if dump.is_internal(topic) and row.crc_fits:
                value["records"] = [asdict(each) for each in dump.stored_rows(topic, batch)]
            printer.value(value)
        elif options.hex:
            printer.line(f"batch {row.base_offset} to {row.last_offset} at byte {row.position}")
            for line in annotate.hex_lines(annotate.pieces_of_batch(batch)):
                printer.say(f"  {line}")
        elif dump.is_internal(topic) and row.crc_fits and not row.is_control:
            for each in dump.stored_rows(topic, batch):
                printer.row([each.offset, each.kind, _words(each.key), _words(each.value)])
        else:
            rows.append(asdict(row))
    if rows:
        printer.rows(rows, COLUMNS)
    torn = dump.torn_bytes(data)
    if torn and data[-torn:].strip(b"\0"):
        printer.note(f"{path.name}: {torn} bytes follow the last whole batch")
        bad = True
    return bad


def _words(fields: dict[str, Any] | None) -> str:
    return "null" if fields is None else " ".join(f"{name}={value}" for name, value in fields.items())
