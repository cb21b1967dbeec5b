"""One member of a KIP-848 group, and its walk from the partitions it has to those it shall have."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final

from oncelog.group.assignors import Assignment
from oncelog.model import TopicId

LEAVES: Final = -1  # member epoch of a member that goes for good
LEAVES_FOR_A_WHILE: Final = -2  # ... of a static member whose partitions wait for it


class MemberState(IntEnum):
    """The numbers are those of the record."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2

    @staticmethod
    def read(number: int) -> "MemberState":
        """A state of a later version is read as the one that is reconciled at every heartbeat."""
        return MemberState(number) if number in (0, 1, 2) else MemberState.UNRELEASED_PARTITIONS


Held = dict[
    TopicId, dict[int, int]
]  # partitions in hand, each with the member epoch at which it was assigned


def partitions_of(held: Mapping[TopicId, Iterable[int]]) -> Assignment:
    """Without the epochs and without topics that have no partition."""
    return {
        topic: frozenset(partitions) for topic, partitions in held.items() if any(True for _ in partitions)
    }


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    id: str
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()  # sorted
    topic_regex: str = ""
    assignor: str | None = None
    assigned: Held = field(default_factory=dict[TopicId, dict[int, int]])
    revoking: Held = field(default_factory=dict[TopicId, dict[int, int]])

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def moved_to(self, epoch: int) -> "ConsumerMember":
        """The same member one step on; it remembers the epoch before, also where that is the same."""
        return replace(self, epoch=epoch, previous_epoch=self.epoch)

    def assignment_epoch(self, topic: TopicId, partition: int) -> int | None:
        """Since when the member holds this partition; None if it does not."""
        for held in (self.assigned, self.revoking):
            epoch = held.get(topic, {}).get(partition)
            if epoch is not None:
                return epoch
        return None


def owns_any(
    owned: Mapping[TopicId, Iterable[int]] | None, partitions: Mapping[TopicId, Iterable[int]]
) -> bool:
    """Does the client still own any of these? A heartbeat that does not say is taken for a yes."""
    if owned is None:
        return True
    return any(not frozenset(owned[topic]).isdisjoint(partitions.get(topic, ())) for topic in owned)


def is_subset(owned: Mapping[TopicId, Iterable[int]] | None, held: Held) -> bool:
    if owned is None:
        return False
    return all(partition in held.get(topic, {}) for topic in owned for partition in owned[topic])


def reconcile(
    member: ConsumerMember,
    *,
    target: Assignment,
    target_epoch: int,
    owned: Mapping[TopicId, Iterable[int]] | None,
    is_free: Callable[[TopicId, int], bool],
) -> ConsumerMember:
    """The next step towards the target: give up first, then move to the target's epoch and take what is free."""
    if member.state is MemberState.STABLE and member.epoch == target_epoch:
        return member
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if owns_any(owned, member.revoking):
            return member
        return _next_step(member, member.epoch + 1, target, target_epoch, owned, is_free)
    return _next_step(member, member.epoch, target, target_epoch, owned, is_free)


def _next_step(
    member: ConsumerMember,
    epoch: int,
    target: Assignment,
    target_epoch: int,
    owned: Mapping[TopicId, Iterable[int]] | None,
    is_free: Callable[[TopicId, int], bool],
) -> ConsumerMember:
    keeps: Held = {}
    gives_up: Held = {}
    takes: Held = {}
    waits = False
    for topic in sorted({*target, *member.assigned}):
        wanted = target.get(topic, frozenset())
        has = member.assigned.get(topic, {})
        for partition in sorted({*wanted, *has}):
            if partition in has:
                kept = keeps if partition in wanted else gives_up
                kept.setdefault(topic, {})[partition] = has[partition]
            elif is_free(topic, partition):
                takes.setdefault(topic, {})[partition] = target_epoch
            else:
                waits = True
    if gives_up and owns_any(owned, gives_up):
        stays = member.moved_to(epoch)
        return replace(stays, state=MemberState.UNREVOKED_PARTITIONS, assigned=keeps, revoking=gives_up)
    for topic, partitions in takes.items():
        keeps[topic] = dict(sorted({**keeps.get(topic, {}), **partitions}.items()))
    state = MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE
    moved = member.moved_to(target_epoch)
    return replace(moved, state=state, assigned=dict(sorted(keeps.items())), revoking={})
