"""Groups: how much each still has to read, in offsets and in records, and which transaction it waits for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from oncelog.client.admin import LATEST, Admin, GroupMember
from oncelog.client.cluster import Away, Cluster
from oncelog.client.faults import RefusedByBroker, TimedOut, Unreachable
from oncelog.inspect import ask, views
from oncelog.inspect.ask import SideDoor
from oncelog.inspect.lag import COUNTED_OFFSETS, Lags
from oncelog.model import TopicPartition

# What holds a partition if it is no transactional id: kinds of pins, and how people say it.
OF_NOBODY: Final[Mapping[str, str]] = {
    "hanging": "a hanging transaction",
    "ending": "a transaction that is ending",
    "unknown": "it is not told for whom",
}


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """A partition of a group: committed by it, or assigned to a member. What is not known is None."""

    topic: str
    partition: int
    committed_offset: int | None
    log_end_offset: int | None  # None: the topic was deleted since, or has no leader there
    lag_offsets: (
        int | None
    )  # up to the high watermark, as Kafka counts: markers and aborted records are in it
    lag_records: (
        int | None
    )  # what a reader at read_committed would get now; None too if they are too many to count
    blocked_by: (
        str | None
    )  # the transactional id that holds the partition; without one "hanging", "ending" or "unknown"
    member_id: str | None
    host: str | None


@dataclass(frozen=True, slots=True)
class GroupView:
    group: str
    state: str
    type: str
    protocol: str
    coordinator: str
    members: tuple[GroupMember, ...]
    offsets: tuple[GroupOffset, ...]


def holders(cluster: Cluster, door: SideDoor, *, now_ms: int) -> dict[TopicPartition, str]:
    """Who holds each held partition; where that is nobody or not known, of which kind it is (`views.Pin.kind`)."""
    return {
        TopicPartition(each.topic, each.partition): each.transactional_id or each.kind
        for each in views.pins(cluster, door, now_ms=now_ms, counted_offsets=0)
    }


def described(
    admin: Admin,
    group: str,
    held: Mapping[TopicPartition, str],
    counted_offsets: int = COUNTED_OFFSETS,
    lags: Lags | None = None,
) -> GroupView:
    """One group. Records are counted by reading the headers of batches, if they are no more than `counted_offsets`.

    `lags`: of who asks for several groups.
    """
    lags = Lags(admin.cluster, counted_offsets) if lags is None else lags
    view = admin.describe_group(group)
    committed = admin.group_offsets(group)
    owners = {each: member for member in view.members for each in member.assignment}
    everywhere = sorted({*committed, *owners})
    ends, _ = ask.offsets_told(admin.cluster, everywhere, LATEST)
    offsets: list[GroupOffset] = []
    for each in everywhere:
        at = committed[each].offset if each in committed else None
        end = ends[each].offset if each in ends else None
        owner = owners.get(each)
        offsets.append(
            GroupOffset(
                topic=each.topic,
                partition=each.partition,
                committed_offset=at,
                log_end_offset=end,
                lag_offsets=None if at is None or end is None else max(end - at, 0),
                lag_records=None if at is None or end is None else lags.of(each, at),
                blocked_by=held.get(each),
                member_id=None if owner is None else owner.member_id,
                host=None if owner is None else owner.host,
            )
        )
    return GroupView(
        group=view.group,
        state=view.state,
        type=view.type,
        protocol=view.protocol,
        coordinator=view.coordinator,
        members=tuple(view.members),
        offsets=tuple(offsets),
    )


def everyone(
    cluster: Cluster, held: Mapping[TopicPartition, str], counted_offsets: int = COUNTED_OFFSETS
) -> tuple[list[GroupView], tuple[Away, ...]]:
    """All groups, without those that went while they were asked for; and the brokers that tell none of theirs."""
    admin, lags = Admin(cluster), Lags(cluster, counted_offsets)
    found: list[GroupView] = []
    listed, away = admin.groups_told()
    for listing in listed:
        try:
            found.append(described(admin, listing.group, held, counted_offsets, lags))
        except (RefusedByBroker, Unreachable, TimedOut):
            continue
    return found, away
