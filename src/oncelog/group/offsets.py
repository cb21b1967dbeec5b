"""The committed offsets of one group: what readers see, and what open transactions hold back (spec 4.8).

A transactional commit is pending until its marker. COMMIT makes it visible unless a later record already did (TRAP-33);
ABORT drops it. A partition is unstable while any producer has a value pending on it (TRAP-32).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from oncelog.model import NO_TOPIC_ID, TopicId

NO_EXPIRY: Final = -1


@dataclass(frozen=True, slots=True)
class Committed:
    """One committed offset. `record_offset`: where its record is in the log; the later one wins."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    record_offset: int
    expire_timestamp: int = NO_EXPIRY
    topic_id: TopicId = NO_TOPIC_ID

    def is_for(self, topic_id: TopicId) -> bool:
        """False if it was committed for an earlier topic of the same name."""
        return NO_TOPIC_ID in (self.topic_id, topic_id) or self.topic_id == topic_id

    def is_expired(self, base: int, now: int, retention_ms: int) -> bool:
        if self.expire_timestamp != NO_EXPIRY:
            return now >= self.expire_timestamp
        return now - base >= retention_ms


_ByPartition = dict[str, dict[int, Committed]]  # topic -> partition -> value; no empty inner dict


@dataclass(slots=True)
class GroupOffsets:
    visible: _ByPartition = field(default_factory=dict[str, dict[int, Committed]])
    pending: dict[int, _ByPartition] = field(default_factory=dict[int, dict[str, dict[int, Committed]]])

    @property
    def is_empty(self) -> bool:
        return not self.visible and not self.pending

    def find(self, topic: str, partition: int) -> Committed | None:
        return self.visible.get(topic, {}).get(partition)

    def is_unstable(self, topic: str, partition: int) -> bool:
        return any(partition in staged.get(topic, {}) for staged in self.pending.values())

    def commit(self, topic: str, partition: int, value: Committed) -> None:
        self.visible.setdefault(topic, {})[partition] = value

    def stage(self, producer_id: int, topic: str, partition: int, value: Committed) -> None:
        self.pending.setdefault(producer_id, {}).setdefault(topic, {})[partition] = value

    def remove(self, topic: str, partition: int) -> None:
        """A tombstone takes the visible value and every pending one: a later COMMIT must not bring it back."""
        _drop(self.visible, topic, partition)
        for producer_id in list(self.pending):
            _drop(self.pending[producer_id], topic, partition)
            if not self.pending[producer_id]:
                del self.pending[producer_id]

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """The producer's marker. Without pending values it means nothing here."""
        staged = self.pending.pop(producer_id, {})
        if not commit:
            return
        for topic, partitions in staged.items():
            for partition, value in partitions.items():
                known = self.find(topic, partition)
                if known is None or value.record_offset > known.record_offset:
                    self.commit(topic, partition, value)

    def partitions(self) -> Iterator[tuple[str, int]]:
        """Every partition with a value, visible or pending, once."""
        seen: dict[tuple[str, int], None] = {}
        for values in (self.visible, *self.pending.values()):
            for topic, partitions in values.items():
                for partition in partitions:
                    seen[topic, partition] = None
        return iter(sorted(seen))


def _drop(values: _ByPartition, topic: str, partition: int) -> None:
    partitions = values.get(topic)
    if partitions is not None:
        partitions.pop(partition, None)
        if not partitions:
            del values[topic]
