"""All groups of one partition of __consumer_offsets, and the one way in which its records change them.

`apply` is used live and at replay: what is in memory is what the log says (R10). The exception is the membership of a
classic group, which only a Stable or Empty group has in the log: its decisions change it in memory, and its record is
not applied again. Everything here decides or applies; nothing waits.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from oncelog.errors import ErrorCode
from oncelog.group.classic import ClassicGroup
from oncelog.group.consumer import ConsumerGroup, Entry
from oncelog.group.offsets import NO_EXPIRY, Committed, GroupOffsets
from oncelog.model import NO_PRODUCER_ID, NO_TOPIC_ID, Millis, TopicId
from oncelog.record import offsets as record

Group = ClassicGroup | ConsumerGroup


@dataclass(frozen=True, slots=True)
class OffsetToCommit:
    """One partition of an OffsetCommit or TxnOffsetCommit whose topic and partition exist."""

    topic: str
    partition: int
    topic_id: TopicId
    offset: int
    leader_epoch: int
    metadata: str | None


@dataclass(frozen=True, slots=True)
class OffsetCommit:
    """`generation`: or member epoch. `retention_ms`: v2-v4, -1 for the broker's own. `version`: of OffsetCommit."""

    group_id: str
    member_id: str
    instance_id: str | None
    generation: int
    offsets: tuple[OffsetToCommit, ...]
    version: int
    transactional: bool = False
    retention_ms: int = -1


@dataclass(slots=True)
class CommitDecision:
    """Either an error for all, or one answer per offset, in order, and the records of those that are fine."""

    error: ErrorCode
    answers: list[ErrorCode] = field(default_factory=list[ErrorCode])
    records: list[Entry] = field(default_factory=list[Entry])


@dataclass(slots=True)
class Shard:
    groups: dict[str, Group] = field(default_factory=dict[str, Group])
    offsets: dict[str, GroupOffsets] = field(default_factory=dict[str, GroupOffsets])

    # --- what the records say ---

    def apply(
        self,
        record_offset: int,
        producer_id: int,
        key: record.Key,
        value: record.Value | None,
        *,
        live: bool = False,
    ) -> None:
        """One record at its place in the log; `producer_id` of its batch if that is transactional, else -1."""
        match key:
            case record.OffsetCommitKey():
                self._apply_offset(record_offset, producer_id, key, value)
            case record.GroupMetadataKey(group):
                if isinstance(value, record.GroupMetadataValue):
                    if not live:
                        self.groups[group] = ClassicGroup.replay(group, value)
                elif isinstance(self.groups.get(group), ClassicGroup):
                    del self.groups[group]
            case _:
                self._apply_consumer(key, value)

    def _apply_offset(
        self, record_offset: int, producer_id: int, key: record.OffsetCommitKey, value: record.Value | None
    ) -> None:
        if not isinstance(value, record.OffsetCommitValue):
            offsets = self.offsets.get(key.group)
            if offsets is not None:
                offsets.remove(key.topic, key.partition)
                self._forget_if_empty(key.group)
            return
        self.touch(key.group)
        committed = Committed(
            offset=value.offset,
            leader_epoch=value.leader_epoch,
            metadata=value.metadata,
            commit_timestamp=value.commit_timestamp,
            record_offset=record_offset,
            expire_timestamp=value.expire_timestamp,
            topic_id=TopicId(value.topic_id),
        )
        offsets = self.offsets.setdefault(key.group, GroupOffsets())
        if producer_id == NO_PRODUCER_ID:
            offsets.commit(key.topic, key.partition, committed)
        else:
            offsets.stage(producer_id, key.topic, key.partition, committed)

    def touch(self, group_id: str) -> None:
        """Offsets without members make a simple group: an empty classic one without a record of its own."""
        if group_id not in self.groups:
            self.groups[group_id] = ClassicGroup(group_id)

    def _apply_consumer(self, key: record.Key, value: record.Value | None) -> None:
        assert not isinstance(key, record.OffsetCommitKey | record.GroupMetadataKey)
        group = self.groups.get(key.group_id)
        if not isinstance(group, ConsumerGroup):
            if value is None:
                return  # the end of something that is not there
            group = self.groups[key.group_id] = ConsumerGroup(key.group_id)
        if isinstance(key, record.ConsumerGroupMetadataKey) and value is None:
            del self.groups[key.group_id]
        else:
            group.apply(key, value)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """A marker in this partition."""
        for group_id in list(self.offsets):
            self.offsets[group_id].end_transaction(producer_id, commit=commit)
            self._forget_if_empty(group_id)

    def _forget_if_empty(self, group_id: str) -> None:
        if self.offsets[group_id].is_empty:
            del self.offsets[group_id]

    # --- offsets ---

    def commit_offsets(
        self, request: OffsetCommit, *, metadata_max_chars: int, now: Millis
    ) -> CommitDecision:
        """Who may commit and what of it is written (spec 1.16, 1.10; B10: one too large spoils no other)."""
        error = self._check_commit(request)
        if error is not ErrorCode.NONE:
            return CommitDecision(error)
        decision = CommitDecision(ErrorCode.NONE)
        for each in request.offsets:
            if _java_length(each.metadata or "") > metadata_max_chars:
                decision.answers.append(ErrorCode.OFFSET_METADATA_TOO_LARGE)
                continue
            decision.answers.append(ErrorCode.NONE)
            expires = request.retention_ms != -1  # such a record has no room for a leader epoch or a topic id
            value = record.OffsetCommitValue(
                offset=each.offset,
                leader_epoch=-1 if expires else each.leader_epoch,
                metadata=each.metadata or "",
                commit_timestamp=now,
                expire_timestamp=now + request.retention_ms if expires else NO_EXPIRY,
                topic_id=NO_TOPIC_ID if request.transactional or expires else each.topic_id,
            )
            decision.records.append(
                (record.OffsetCommitKey(request.group_id, each.topic, each.partition), value)
            )
        return decision

    def _check_commit(self, request: OffsetCommit) -> ErrorCode:
        group = self.groups.get(request.group_id)
        if group is None:
            if request.generation < 0:
                return ErrorCode.NONE  # a simple group comes into being with its first record
            if request.transactional or request.version < 9:
                return ErrorCode.ILLEGAL_GENERATION
            return ErrorCode.GROUP_ID_NOT_FOUND
        if isinstance(group, ClassicGroup):
            return group.check_offset_commit(
                member_id=request.member_id,
                instance_id=request.instance_id,
                generation=request.generation,
                transactional=request.transactional,
            )
        return group.check_offset_commit(
            member_id=request.member_id,
            instance_id=request.instance_id,
            member_epoch=request.generation,
            transactional=request.transactional,
            version=request.version,
            partitions=[(each.topic_id, each.partition) for each in request.offsets],
        )

    def delete_offsets(self, group_id: str, partitions: Iterable[tuple[str, int]]) -> CommitDecision:
        """OffsetDelete: tombstones for what is there, visible or pending; not for topics the group still reads."""
        group = self.groups.get(group_id)
        if group is None:
            return CommitDecision(ErrorCode.GROUP_ID_NOT_FOUND)
        if isinstance(group, ClassicGroup):
            error = group.check_offset_delete()
            if error is not ErrorCode.NONE:
                return CommitDecision(error)
        decision = CommitDecision(ErrorCode.NONE)
        offsets = self.offsets.get(group_id, GroupOffsets())
        for topic, partition in partitions:
            if group.is_subscribed_to(topic):
                decision.answers.append(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
                continue
            decision.answers.append(ErrorCode.NONE)
            if offsets.find(topic, partition) is not None or offsets.is_unstable(topic, partition):
                decision.records.append((record.OffsetCommitKey(group_id, topic, partition), None))
        return decision

    # --- ends ---

    def delete_group(self, group_id: str) -> tuple[ErrorCode, list[Entry]]:
        """DeleteGroups of one group: its offsets, also pending ones, go with it (V108)."""
        group = self.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND, []
        error = group.check_delete()
        if error is not ErrorCode.NONE:
            return error, []
        gone: list[Entry] = []
        if group_id in self.offsets:
            for topic, partition in self.offsets[group_id].partitions():
                gone.append((record.OffsetCommitKey(group_id, topic, partition), None))
        return ErrorCode.NONE, gone + self.group_tombstones(group_id)

    def group_tombstones(self, group_id: str) -> list[Entry]:
        group = self.groups[group_id]
        if isinstance(group, ConsumerGroup):
            return group.tombstones()
        return [(record.GroupMetadataKey(group_id), None)]

    def topic_deleted(self, topic: str) -> list[Entry]:
        """The offsets of a topic go with it, pending ones too."""
        return [
            (record.OffsetCommitKey(group_id, topic, partition), None)
            for group_id in sorted(self.offsets)
            for name, partition in self.offsets[group_id].partitions()
            if name == topic
        ]

    def expire(self, *, now: Millis, retention_ms: int) -> list[Entry]:
        """Offsets past their retention, and empty groups of which nothing is left.

        A partition with a pending value keeps its visible one, and a group with pending values stays (R10).
        """
        gone: list[Entry] = []
        for group_id in sorted(self.groups):
            group = self.groups[group_id]
            offsets = self.offsets.get(group_id, GroupOffsets())
            expired, left = self._expired_offsets(group, offsets, now, retention_ms)
            gone.extend(
                (record.OffsetCommitKey(group_id, topic, partition), None) for topic, partition in expired
            )
            waits_for_member = isinstance(group, ClassicGroup) and bool(group.pending_join)
            if not left and not offsets.pending and group.is_empty and not waits_for_member:
                gone.extend(self.group_tombstones(group_id))
        return gone

    def _expired_offsets(
        self, group: Group, offsets: GroupOffsets, now: Millis, retention_ms: int
    ) -> tuple[list[tuple[str, int]], bool]:
        """The expired ones, and whether any is left."""
        expired: list[tuple[str, int]] = []
        left = False
        for topic, partitions in sorted(offsets.visible.items()):
            subscribed = group.is_subscribed_to(topic)
            for partition, value in sorted(partitions.items()):
                base: int | None = value.commit_timestamp
                if isinstance(group, ClassicGroup):
                    base = group.offset_expiry_base(value.commit_timestamp)
                if (
                    subscribed
                    or base is None
                    or not value.is_expired(base, now, retention_ms)
                    or offsets.is_unstable(topic, partition)
                ):
                    left = True
                else:
                    expired.append((topic, partition))
        return expired, left


def _java_length(text: str) -> int:
    """UTF-16 code units: what Kafka counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
