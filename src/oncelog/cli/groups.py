"""`oncelog groups ls | describe | rm`."""

import argparse
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from oncelog.cli.connect import connect
from oncelog.cli.exits import Exit
from oncelog.cli.output import Printer
from oncelog.cli.watch import watched
from oncelog.client.admin import LATEST, Admin, OffsetView
from oncelog.client.faults import RefusedByBroker
from oncelog.errors import ErrorCode
from oncelog.inspect.lag import lag_records
from oncelog.model import TopicPartition


def ls(options: argparse.Namespace) -> int:
    printer = Printer.of(options)

    def once() -> int:
        with connect(options) as cluster:
            rows = [asdict(each) for each in Admin(cluster).list_groups()]
        printer.rows(rows, ["group", "type", "state", "protocol_type"])
        return Exit.FINE

    return watched(options, printer, once)


def describe(options: argparse.Namespace) -> int:
    printer = Printer.of(options)
    return watched(options, printer, lambda: _describe_once(options, printer))


def _describe_once(options: argparse.Namespace, printer: Printer) -> int:
    with connect(options) as cluster:
        admin = Admin(cluster)
        views = [_describe(admin, group) for group in options.group]
    if options.json:
        printer.value(views)
        return Exit.FINE
    for view in views:
        count = len(view["members"])
        members = f"{count} member{'' if count == 1 else 's'}"
        printer.note(
            f"{view['group']}: {view['state']}, {view['type']}, {members}, coordinator {view['coordinator']}"
        )
    rows = [{"group": view["group"], **each} for view in views for each in view["offsets"]]
    printer.rows(
        rows,
        [
            "group",
            "topic",
            "partition",
            "committed_offset",
            "log_end_offset",
            "lag_offsets",
            "lag_records",
            "member_id",
            "host",
        ],
    )
    return Exit.FINE


def _describe(admin: Admin, group: str) -> dict[str, Any]:
    """`lag_offsets` counts offsets up to the high watermark, as Kafka does: markers and aborted records are in it.
    `lag_records` counts what a reader at read_committed would get now, by reading the headers of the batches.
    """
    view = admin.describe_group(group)
    committed = admin.group_offsets(group)
    owners = {each: member for member in view.members for each in member.assignment}
    everywhere = sorted({*committed, *owners})
    ends = _ends(admin, everywhere)
    offsets: list[dict[str, Any]] = []
    for each in everywhere:
        at = committed[each].offset if each in committed else None
        end = ends[each].offset if each in ends else None
        owner = owners.get(each)
        offsets.append(
            {
                "topic": each.topic,
                "partition": each.partition,
                "committed_offset": at,
                "log_end_offset": end,
                "lag_offsets": None if at is None or end is None else max(end - at, 0),
                "lag_records": None if at is None or end is None else lag_records(admin.cluster, each, at),
                "member_id": None if owner is None else owner.member_id,
                "host": None if owner is None else owner.host,
            }
        )
    return {
        "group": view.group,
        "state": view.state,
        "type": view.type,
        "protocol": view.protocol,
        "coordinator": view.coordinator,
        "members": [asdict(member) for member in view.members],
        "offsets": offsets,
    }


def _ends(admin: Admin, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetView]:
    """A group may remember topics that were deleted since: those have no end."""
    ends: dict[TopicPartition, OffsetView] = {}
    for each in partitions:
        try:
            ends |= admin.offsets_at({each: LATEST})
        except RefusedByBroker as fault:
            if fault.error != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
    return ends


def rm(options: argparse.Namespace) -> int:
    with connect(options) as cluster:
        admin = Admin(cluster)
        for group in options.group:
            admin.delete_group(group)
    Printer.of(options).rows(
        [{"group": each, "deleted": True} for each in options.group], ["group", "deleted"]
    )
    return Exit.FINE
