"""The server's assignors of KIP-848 groups: who shall read which partitions. Pure and repeatable: order decides ties.

`range` gives each member neighbouring partitions of every topic, so that equal topics are read together.
`uniform` gives everybody about the same number and moves as little as it can.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from oncelog.model import TopicId

Assignment = dict[TopicId, frozenset[int]]  # no topic without partitions


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """What an assignor knows of a member: what it wants and what it was to have until now."""

    instance_id: str | None
    topics: frozenset[TopicId]
    target: Assignment


def assign_range(members: Mapping[str, MemberSpec], counts: Mapping[TopicId, int]) -> dict[str, Assignment]:
    """`counts`: partitions of every topic; topics that do not exist are left out by the caller."""
    order = _range_order(members)
    assigned: dict[str, Assignment] = {member_id: {} for member_id in order}
    for topic in _all_topics(members):
        readers = [member_id for member_id in order if topic in members[member_id].topics]
        share, extra = divmod(counts[topic], len(readers))
        begin = 0
        for index, member_id in enumerate(readers):
            end = begin + share + (index < extra)
            if begin < end:
                assigned[member_id][topic] = frozenset(range(begin, end))
            begin = end
    return assigned


def _range_order(members: Mapping[str, MemberSpec]) -> list[str]:
    """Static members first, by instance id, so that a restart under another member id changes nothing."""

    def key(member_id: str) -> tuple[bool, str]:
        instance_id = members[member_id].instance_id
        return (instance_id is None, instance_id if instance_id is not None else member_id)

    return sorted(members, key=key)


def assign_uniform(members: Mapping[str, MemberSpec], counts: Mapping[TopicId, int]) -> dict[str, Assignment]:
    topics = {spec.topics for spec in members.values()}
    owned = _kept(members, counts)
    if len(topics) == 1:
        _even_out(owned, members, counts)
    else:
        _hand_out(owned, members, counts)
        _balance(owned, members)
    return {member_id: _grouped(owned[member_id]) for member_id in sorted(members)}


_Owned = dict[str, list[tuple[TopicId, int]]]


def _kept(members: Mapping[str, MemberSpec], counts: Mapping[TopicId, int]) -> _Owned:
    """What each member may keep: still wanted, still there, and owned by nobody before it in order."""
    taken: set[tuple[TopicId, int]] = set()
    owned: _Owned = {}
    for member_id in sorted(members):
        spec = members[member_id]
        kept = [
            (topic, partition)
            for topic in sorted(spec.target)
            if topic in spec.topics
            for partition in sorted(spec.target[topic])
            if partition < counts[topic] and (topic, partition) not in taken
        ]
        taken.update(kept)
        owned[member_id] = kept
    return owned


def _free(
    owned: _Owned, members: Mapping[str, MemberSpec], counts: Mapping[TopicId, int]
) -> list[tuple[TopicId, int]]:
    taken = {each for kept in owned.values() for each in kept}
    return [
        (topic, partition)
        for topic in _all_topics(members)
        for partition in range(counts[topic])
        if (topic, partition) not in taken
    ]


def _even_out(owned: _Owned, members: Mapping[str, MemberSpec], counts: Mapping[TopicId, int]) -> None:
    """Everybody wants the same: each keeps up to its share; those who own most get the extra ones."""
    total = sum(counts[topic] for topic in _all_topics(members))
    share, extra = divmod(total, len(owned))
    order = sorted(owned, key=lambda member_id: (-len(owned[member_id]), member_id))
    quota = {member_id: share + (index < extra) for index, member_id in enumerate(order)}
    for member_id in owned:
        del owned[member_id][quota[member_id] :]
    free = iter(_free(owned, members, counts))
    for member_id in sorted(owned):
        while len(owned[member_id]) < quota[member_id]:
            owned[member_id].append(next(free))


def _hand_out(owned: _Owned, members: Mapping[str, MemberSpec], counts: Mapping[TopicId, int]) -> None:
    """Free partitions go one by one to the reader with the fewest; topics with few readers first, they have no choice."""
    readers = {
        topic: [member_id for member_id in sorted(members) if topic in members[member_id].topics]
        for topic in _all_topics(members)
    }
    free = _free(owned, members, counts)
    free.sort(key=lambda each: (-counts[each[0]] / len(readers[each[0]]), len(readers[each[0]]), each))
    for topic, partition in free:
        least = min(readers[topic], key=lambda member_id: (len(owned[member_id]), member_id))
        owned[least].append((topic, partition))


def _balance(owned: _Owned, members: Mapping[str, MemberSpec]) -> None:
    """Moves a partition from a member that has at least two more than another reader of it, until there is none.

    Each move shortens the distance between two members, so this ends.
    """
    moved = True
    while moved:
        moved = False
        for giver in sorted(owned, key=lambda member_id: (-len(owned[member_id]), member_id)):
            for each in list(reversed(owned[giver])):
                takers = [member_id for member_id in sorted(owned) if each[0] in members[member_id].topics]
                taker = min(takers, key=lambda member_id: (len(owned[member_id]), member_id))
                if len(owned[giver]) - len(owned[taker]) >= 2:
                    owned[giver].remove(each)
                    owned[taker].append(each)
                    moved = True


def _all_topics(members: Mapping[str, MemberSpec]) -> list[TopicId]:
    return sorted({topic for spec in members.values() for topic in spec.topics})


def _grouped(partitions: Iterable[tuple[TopicId, int]]) -> Assignment:
    found: dict[TopicId, list[int]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(partition)
    return {topic: frozenset(found[topic]) for topic in sorted(found)}


Assignor = Callable[[Mapping[str, MemberSpec], Mapping[TopicId, int]], dict[str, Assignment]]
ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}
DEFAULT_ASSIGNOR: Final = "uniform"
