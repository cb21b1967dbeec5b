"""Queries of oncelog's Spark sink, found by what they commit inside their transactions: micro-batch, offsets, transaction."""

import json
from dataclasses import dataclass
from typing import Any, Final, cast

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import RefusedByBroker
from oncelog.inspect import ask, replay

LAST: Final = 12  # transactions whose durations are shown


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One transaction of a query. Write is from its first partition to the decision, end from there to the last marker."""

    number: int
    outcome: str
    began_ms: int
    write_ms: int | None
    end_ms: int | None


@dataclass(frozen=True, slots=True)
class SparkQuery:
    """One query: its group has the name of its transactional id and its offsets carry the marker."""

    transactional_id: str
    query: str
    micro_batch: int
    state: str
    producer_id: int
    producer_epoch: int
    offsets: tuple[tuple[str, int, int], ...]
    committed: int
    aborted: int
    recent: tuple[MicroBatch, ...]


def queries(cluster: Cluster) -> list[SparkQuery]:
    """All of them, by transactional id."""
    admin = Admin(cluster)
    found: list[SparkQuery] = []
    for listing in admin.list_groups():
        try:
            offsets = admin.group_offsets(listing.group)
        except RefusedByBroker:
            continue
        markers = [each for each in (_marker(one.metadata) for one in offsets.values()) if each is not None]
        if not markers:
            continue
        newest = max(markers, key=lambda each: each["serial"])
        described = ask.describe_transaction(cluster, listing.group)
        past = replay.transactions(listing.group, replay.history(cluster, listing.group))
        found.append(
            SparkQuery(
                transactional_id=listing.group,
                query=str(newest["query"]),
                micro_batch=int(newest["batch"]),
                state="forgotten" if described is None else described.state,
                producer_id=-1 if described is None else int(described.producer.id),
                producer_epoch=-1 if described is None else int(described.producer.epoch),
                offsets=tuple(
                    (where.topic, where.partition, one.offset) for where, one in sorted(offsets.items())
                ),
                committed=sum(each.outcome == "commit" for each in past),
                aborted=sum(each.outcome == "abort" for each in past),
                recent=tuple(_micro_batch(each) for each in past[-LAST:]),
            )
        )
    return sorted(found, key=lambda each: each.transactional_id)


def _micro_batch(found: replay.Replayed) -> MicroBatch:
    decided = next((each.at_ms for each in found.states if (each.state or "").startswith("Prepare")), None)
    return MicroBatch(
        number=found.number,
        outcome=found.outcome,
        began_ms=found.began_ms,
        write_ms=None if decided is None else max(decided - found.began_ms, 0),
        end_ms=None if decided is None or found.ended_ms is None else max(found.ended_ms - decided, 0),
    )


def _marker(text: str) -> dict[str, Any] | None:
    """The sink writes {"oncelog":1,"query":...,"batch":...,"serial":...}; offsets of others have other metadata or none."""
    try:
        found: Any = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    fields = cast(dict[str, Any], found)
    if fields.get("oncelog") != 1:
        return None
    if not isinstance(fields.get("batch"), int) or not isinstance(fields.get("serial"), int):
        return None
    return fields
