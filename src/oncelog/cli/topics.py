"""`oncelog topics ls | new | rm | describe`."""

import argparse
from typing import Any

from oncelog.cli.connect import connect
from oncelog.cli.exits import Exit, UsageFault
from oncelog.cli.output import Printer
from oncelog.cli.watch import watched
from oncelog.client.admin import BROKER_DEFAULT, EARLIEST, LATEST, Admin, ConfigSource
from oncelog.client.cluster import TopicView
from oncelog.client.faults import RefusedByBroker
from oncelog.errors import ErrorCode
from oncelog.model import Isolation


def ls(options: argparse.Namespace) -> int:
    printer = Printer.of(options)

    def once() -> int:
        with connect(options) as cluster:
            rows = [_row(each) for each in Admin(cluster).list_topics(internal=options.internal)]
        printer.rows(rows, ["topic", "partitions", "internal"])
        return Exit.FINE

    return watched(options, printer, once)


def new(options: argparse.Namespace) -> int:
    configs = dict(_pair(each) for each in options.config)
    rows: list[dict[str, Any]] = []
    with connect(options) as cluster:
        admin = Admin(cluster)
        for name in options.topic:
            created = True
            try:
                partitions = BROKER_DEFAULT if options.partitions is None else options.partitions
                admin.create_topic(name, partitions=partitions, configs=configs)
            except RefusedByBroker as fault:
                if not (options.if_not_exists and fault.error == ErrorCode.TOPIC_ALREADY_EXISTS):
                    raise
                created = False
            rows.append({**_row(admin.describe_topic(name)), "created": created})
    Printer.of(options).rows(rows, ["topic", "partitions", "created"])
    return Exit.FINE


def rm(options: argparse.Namespace) -> int:
    with connect(options) as cluster:
        admin = Admin(cluster)
        for name in options.topic:
            admin.delete_topic(name)
    Printer.of(options).rows(
        [{"topic": name, "deleted": True} for name in options.topic], ["topic", "deleted"]
    )
    return Exit.FINE


def describe(options: argparse.Namespace) -> int:
    """Offsets as the broker reports them: the high watermark, and the last stable offset that read_committed sees."""
    printer = Printer.of(options)
    return watched(options, printer, lambda: _describe_once(options, printer))


def _describe_once(options: argparse.Namespace, printer: Printer) -> int:
    with connect(options) as cluster:
        admin = Admin(cluster)
        views = [_describe(admin, name) for name in options.topic]
    if options.json:
        printer.value(views)
        return Exit.FINE
    rows = [{"topic": view["topic"], **each} for view in views for each in view["partitions"]]
    columns = ["topic", "partition", "leader", "log_start_offset", "last_stable_offset", "high_watermark"]
    printer.rows(rows, columns)
    if printer.is_table:  # a pipe gets one kind of row; the settings are in the JSON
        settings = [
            {"topic": view["topic"], "setting": name, "value": value}
            for view in views
            for name, value in view["configs"].items()
        ]
        if settings:
            printer.line("")
            printer.rows(settings, ["topic", "setting", "value"])
    return Exit.FINE


def _describe(admin: Admin, name: str) -> dict[str, Any]:
    topic = admin.describe_topic(name)
    partitions = admin.partitions_of(name)
    starts = admin.offsets_at(dict.fromkeys(partitions, EARLIEST))
    ends = admin.offsets_at(dict.fromkeys(partitions, LATEST))
    stable = admin.offsets_at(dict.fromkeys(partitions, LATEST), isolation=Isolation.READ_COMMITTED)
    return {
        "topic": name,
        "topic_id": topic.id.hex(),
        "internal": topic.is_internal,
        "partitions": [
            {
                "partition": each.index,
                "leader": each.leader,
                "leader_epoch": each.leader_epoch,
                "replicas": list(each.replicas),
                "in_sync_replicas": list(each.in_sync),
                "log_start_offset": starts[where].offset,
                "last_stable_offset": stable[where].offset,
                "high_watermark": ends[where].offset,
            }
            for each, where in zip(topic.partitions, partitions, strict=True)
        ],
        "configs": {
            each.name: each.value for each in admin.topic_settings(name) if each.source is ConfigSource.TOPIC
        },
    }


def _row(topic: TopicView) -> dict[str, Any]:
    return {"topic": topic.name, "partitions": len(topic.partitions), "internal": topic.is_internal}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageFault(f"--config: wanted NAME=VALUE, found {text!r}")
    return name, value
