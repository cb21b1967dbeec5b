"""`oncelog consume TOPIC`: records as rows, values or JSON lines."""

import argparse
import base64
import time
from collections.abc import Callable
from typing import Any

from oncelog.cli.connect import connect
from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer, cell
from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.consumer import GroupConsumer, Reader
from oncelog.client.faults import TimedOut
from oncelog.client.visible import Fate, ReadRecord
from oncelog.model import Isolation, TopicPartition

MARKS = {Fate.COMMITTED: "C", Fate.ABORTED: "A", Fate.UNDECIDED: "?"}
ISOLATIONS = {
    "committed": Isolation.READ_COMMITTED,
    "uncommitted": Isolation.READ_UNCOMMITTED,
    "both": Isolation.READ_UNCOMMITTED,
}
POLL_MS = 500

Poll = Callable[[int], list[ReadRecord]]


def consume(options: argparse.Namespace) -> int:
    if options.group is not None:
        for option, value in (("--partition", options.partition), ("--to-end", options.to_end)):
            if value:
                raise UsageFault(f"{option} makes no sense with --group: the group shares the partitions out")
        if isinstance(options.start, int):
            raise UsageFault("--from OFFSET makes no sense with --group: wanted earliest or latest")
        if options.isolation == "both":
            raise UsageFault("--isolation both makes no sense with --group: wanted committed or uncommitted")
    printer = Printer.of(options)
    show = _shower(printer, options)
    with connect(options) as cluster:
        if options.group is not None:
            return _consume_group(options, cluster, show, printer)
        return _consume_partitions(options, cluster, show, printer)


def _consume_group(
    options: argparse.Namespace, cluster: Cluster, show: Callable[[ReadRecord], None], printer: Printer
) -> int:
    consumer = GroupConsumer(
        cluster,
        options.group,
        [options.topic],
        isolation=ISOLATIONS[options.isolation],
        reset=options.start or "latest",
        auto_commit=False,
    )
    cluster.topic(options.topic)  # an unknown topic is an error here, not an empty assignment
    seen: dict[TopicPartition, int] = {}

    def poll(timeout_ms: int) -> list[ReadRecord]:
        consumer.try_commit(seen)  # only what was shown: with --max more may have been fetched
        return consumer.poll(timeout_ms)

    try:
        return _run(options, poll, show, printer, seen, lambda: False)
    finally:
        consumer.try_commit(seen)
        consumer.close()


def _consume_partitions(
    options: argparse.Namespace, cluster: Cluster, show: Callable[[ReadRecord], None], printer: Printer
) -> int:
    partitions = Admin(cluster).partitions_of(options.topic)
    if options.partition:
        unknown = sorted(set(options.partition) - {each.partition for each in partitions})
        if unknown:
            raise UsageFault(
                f"--partition {unknown[0]}: {options.topic} has partitions 0 to {len(partitions) - 1}"
            )
        partitions = [each for each in partitions if each.partition in options.partition]
    both = options.isolation == "both"
    reader = Reader(cluster, isolation=ISOLATIONS[options.isolation])
    default = "earliest" if options.to_end else "latest"
    reader.assign(dict.fromkeys(partitions, default if options.start is None else options.start))
    ends = reader.ends() if options.to_end else {}

    def is_over() -> bool:
        return options.to_end and all(at >= ends[each] for each, at in reader.positions().items())

    def show_before_end(record: ReadRecord) -> None:
        if not ends or record.offset < ends[TopicPartition(record.topic, record.partition)]:
            show(record)

    return _run(
        options, reader.poll_with_fates if both else reader.poll, show_before_end, printer, {}, is_over
    )


def _run(
    options: argparse.Namespace,
    poll: Poll,
    show: Callable[[ReadRecord], None],
    printer: Printer,
    seen: dict[TopicPartition, int],
    is_over: Callable[[], bool],
) -> int:
    """`seen`: the offset behind the last record shown, by partition; kept up to date for the caller."""
    shown = 0
    last_came = time.monotonic()
    while not is_over():
        for record in poll(POLL_MS):
            show(record)
            seen[TopicPartition(record.topic, record.partition)] = record.offset + 1
            shown += 1
            last_came = time.monotonic()
            if shown == options.max:
                printer.flush()
                return Exit.FINE
        printer.flush()
        if options.idle_timeout is not None and time.monotonic() - last_came > options.idle_timeout:
            raise TimedOut(
                f"no record of {options.topic} within {options.idle_timeout:g} s, {shown} before that"
            )
    return Exit.FINE


def _shower(printer: Printer, options: argparse.Namespace) -> Callable[[ReadRecord], None]:
    both = options.isolation == "both"
    if options.json:
        return lambda record: printer.value(as_json(record, both))
    if options.values:
        return lambda record: printer.line(cell(record.value))
    printer.row(["PARTITION", "OFFSET", "TIMESTAMP", *(["FATE"] if both else []), "KEY", "VALUE"])
    return lambda record: printer.row(
        [
            record.partition,
            record.offset,
            _iso(record.timestamp),
            *([MARKS[record.fate]] if both else []),
            record.key,
            record.value,
        ]
    )


def as_json(record: ReadRecord, with_fate: bool) -> dict[str, Any]:
    """Bytes that are not UTF-8 are in `..._base64`; of the two keys one is null, both for a null value."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp,
        **_text("key", record.key),
        **_text("value", record.value),
        "headers": [{"name": each.name, **_text("value", each.value)} for each in record.headers],
        **({"fate": record.fate.value} if with_fate else {}),
    }


def _text(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is not None:
        try:
            return {name: data.decode(), f"{name}_base64": None}
        except UnicodeDecodeError:
            return {name: None, f"{name}_base64": base64.b64encode(data).decode()}
    return {name: None, f"{name}_base64": None}


def _iso(timestamp_ms: int) -> str | None:
    if not 0 <= timestamp_ms < 253_402_300_800_000:  # the year 10000
        return None if timestamp_ms < 0 else str(timestamp_ms)
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(timestamp_ms // 1000))
    return f"{whole}.{timestamp_ms % 1000:03}Z"
