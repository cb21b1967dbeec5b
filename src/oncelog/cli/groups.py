"""`oncelog groups ls | describe | rm`."""

import argparse
from dataclasses import asdict

from oncelog.cli.connect import connect
from oncelog.cli.exits import Exit
from oncelog.cli.output import Printer
from oncelog.cli.watch import Doors, now_ms, told_by, watched
from oncelog.client.admin import Admin
from oncelog.inspect.groups import described, holders


def ls(options: argparse.Namespace) -> int:
    printer = Printer.of(options)

    def once() -> int:
        with connect(options) as cluster:
            found, away = Admin(cluster).groups_told()
        printer.rows([asdict(each) for each in found], ["group", "type", "state", "protocol_type"])
        return told_by(printer, away)

    return watched(options, printer, once)


def describe(options: argparse.Namespace) -> int:
    printer, doors = Printer.of(options), Doors()
    return watched(options, printer, lambda: _describe_once(options, printer, doors))


def _describe_once(options: argparse.Namespace, printer: Printer, doors: Doors) -> int:
    with connect(options) as cluster:
        held = holders(cluster, doors.of(cluster), now_ms=now_ms())
        views = [asdict(described(Admin(cluster), group, held)) for group in options.group]
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
            "blocked_by",
            "member_id",
            "host",
        ],
    )
    return Exit.FINE


def rm(options: argparse.Namespace) -> int:
    with connect(options) as cluster:
        admin = Admin(cluster)
        for group in options.group:
            admin.delete_group(group)
    Printer.of(options).rows(
        [{"group": each, "deleted": True} for each in options.group], ["group", "deleted"]
    )
    return Exit.FINE
