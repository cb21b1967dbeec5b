"""`oncelog produce TOPIC`: lines become records."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from oncelog.cli.connect import connect
from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer
from oncelog.client.producer import Delivery, Producer
from oncelog.model import Acks

ACKS = {"all": Acks.ALL, "1": Acks.LEADER, "0": Acks.NONE}
LINE_LIMIT_BYTES = 64 * 1024 * 1024


def produce(options: argparse.Namespace) -> int:
    printer = Printer.of(options)
    separator = None if options.key_separator is None else options.key_separator.encode()
    if separator == b"":
        raise UsageFault("--key-separator: wanted some text, found ''")
    count = 0
    first: dict[int, Delivery] = {}
    last: dict[int, Delivery] = {}
    with connect(options) as cluster, _source(options.file) as lines:
        delivery_ms = int(options.timeout * 1000)
        producer = Producer(
            cluster, acks=ACKS[options.acks], codec=options.codec, delivery_timeout_ms=delivery_ms
        )
        for number, line in _lines(lines, options.file or "stdin"):
            key, value = _split(line, separator, f"{options.file or 'stdin'}, line {number}")
            delivery = producer.send(options.topic, value, key=key, partition=options.partition)
            count += 1
            first.setdefault(delivery.partition, delivery)
            last[delivery.partition] = delivery
        producer.flush()
    rows = [
        {
            "topic": options.topic,
            "partition": partition,
            "first_offset": first[partition].result().offset,
            "last_offset": last[partition].result().offset,
        }
        for partition in sorted(first)
    ]
    if options.json:
        printer.value({"topic": options.topic, "records": count, "partitions": rows})
    else:
        printer.rows(rows, ["topic", "partition", "first_offset", "last_offset"])
        printer.note(f"{count} record{'' if count == 1 else 's'} written to {options.topic}")
    return Exit.FINE


def _source(path: str | None) -> BinaryIO:
    if path is None:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    try:
        return Path(path).open("rb")
    except OSError as fault:
        raise UsageFault(f"--file {path}: {fault.strerror}") from None


def _lines(source: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """Lines without their ends; a file that never ends its line must not fill the memory."""
    number = 0
    while line := source.readline(LINE_LIMIT_BYTES + 1):
        number += 1
        if len(line) > LINE_LIMIT_BYTES:
            raise UsageFault(f"{name}, line {number}: longer than {LINE_LIMIT_BYTES} bytes")
        yield number, line.removesuffix(b"\n").removesuffix(b"\r")


def _split(line: bytes, separator: bytes | None, where: str) -> tuple[bytes | None, bytes]:
    if separator is None:
        return None, line
    key, found, value = line.partition(separator)
    if not found:
        raise UsageFault(f"{where}: wanted KEY{separator.decode()}VALUE, found no {separator.decode()!r}")
    return key, value
