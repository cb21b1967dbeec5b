"""The group coordinator: finds the partition of a group, asks the group's rules, and answers when that is durable.

One request through here: find the live shard (or say why there is none), let the pure rules decide, let the shard write
and arm timers, wait until it is durable. `oncelog.group` knows what is right, `groups_shard` how it is carried out.
"""

import base64
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from oncelog.broker.groups_shard import LiveShard, Settings, Status, not_ready
from oncelog.config import BrokerConfig
from oncelog.engine.port import Engine, Topic
from oncelog.errors import ErrorCode
from oncelog.group import classic, consumer
from oncelog.group.classic import ClassicGroup, Join, Leave, Sync
from oncelog.group.consumer import ConsumerGroup, Entry, Heartbeat, HeartbeatReply, check_heartbeat
from oncelog.group.effects import JoinReply, SyncReply
from oncelog.group.offsets import Committed, GroupOffsets
from oncelog.group.shard import CommitDecision, Group, OffsetCommit, Shard
from oncelog.log.state import Guard
from oncelog.model import CONSUMER_OFFSETS, Producer, TopicId, coordinator_partition
from oncelog.ports import Chance, Clock
from oncelog.tasks import Future, Loop, Task, Timer, spawn

log: Final = logging.getLogger(__name__)
T = TypeVar("T")

TOPICS_LOOK_MS: Final = 1000  # how often a heartbeat looks whether topics changed, unless it was told so
MINUTE_MS: Final = 60_000


class LiveTopics:
    """The engine's topics as the rules see them (`consumer.Topics`)."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._seen: dict[str, tuple[TopicId, int]] = {}
        self._version = 0
        self._look_at_ms = 0

    @property
    def version(self) -> int:
        now = self._clock.monotonic_ms()
        if now >= self._look_at_ms:
            self._look_at_ms = now + TOPICS_LOOK_MS
            seen = {name: (topic.id, len(topic.partitions)) for name, topic in self._engine.topics.items()}
            if seen != self._seen:
                self._seen = seen
                self._version += 1
        return self._version

    def changed(self) -> None:
        self._look_at_ms = 0

    def names(self) -> Iterable[str]:
        return self._engine.topics.keys()

    def find(self, name: str) -> tuple[TopicId, int] | None:
        topic = self._engine.topics.get(name)
        return None if topic is None else (topic.id, len(topic.partitions))


@dataclass(frozen=True, slots=True)
class FetchedOffset:
    """`value` is None where nothing is committed, or where `error` says why it is not told."""

    topic: str
    partition: int
    error: ErrorCode
    value: Committed | None


class GroupCoordinator:
    def __init__(
        self, engine: Engine, loop: Loop, clock: Clock, chance: Chance, config: BrokerConfig
    ) -> None:
        self._engine = engine
        self._loop = loop
        self._clock = clock
        self._chance = chance
        self._config = config
        self._topics = LiveTopics(engine, clock)
        self._shards: dict[int, LiveShard] = {}
        self._creating: Task[Topic] | None = None
        self._expiry: Timer | None = None
        self._stopped = False
        self._committed = 0
        self._committed_pending = 0
        self._settings = Settings(
            classic=classic.Limits(config.group_initial_rebalance_delay_ms, config.group_max_size),
            consumer=consumer.Limits(
                config.group_consumer_max_size, config.group_consumer_session_timeout_ms
            ),
        )

    # --- life ---

    async def start(self) -> None:
        """Begins to load every partition; requests for one that is not ready yet are told so."""
        if CONSUMER_OFFSETS in self._engine.topics:
            self._open_all()
        self._arm_expiry()

    async def stop(self) -> None:
        """Ends timers and waiting requests. What was answered is in the log."""
        self._stopped = True
        if self._expiry is not None:
            self._expiry.cancel()
        for shard in self._shards.values():
            shard.stop()

    async def ensure_topic(self) -> Topic:
        """__consumer_offsets, made if it is not there; whoever comes meanwhile waits for the same."""
        topic = self._engine.topics.get(CONSUMER_OFFSETS)
        if topic is not None:
            return topic
        if self._creating is None or self._creating.done():
            self._creating = spawn(self._loop, self._create_topic(), "create __consumer_offsets")
        return await self._creating

    async def _create_topic(self) -> Topic:
        topic = await self._engine.create_topic(
            CONSUMER_OFFSETS,
            self._config.offsets_topic_num_partitions,
            {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(self._config.offsets_topic_segment_bytes),
            },
        )
        self._open_all()
        return topic

    def _open_all(self) -> None:
        for partition in self._engine.topics[CONSUMER_OFFSETS].partitions:
            if partition.index not in self._shards:
                shard = LiveShard(
                    partition,
                    loop=self._loop,
                    clock=self._clock,
                    topics=self._topics,
                    settings=self._settings,
                )
                self._shards[partition.index] = shard
                shard.load()

    def _arm_expiry(self) -> None:
        self._expiry = self._loop.call_later(self._config.offsets_retention_check_interval_ms, self._expire)

    def _expire(self) -> None:
        retention_ms = self._config.offsets_retention_minutes * MINUTE_MS
        for shard in self._shards.values():
            if shard.status is Status.READY:
                shard.expire(retention_ms)
        self._arm_expiry()

    async def topic_deleted(self, name: str) -> None:
        """The topic is gone: so are the offsets committed for it."""
        self._topics.changed()
        if name == CONSUMER_OFFSETS:
            for shard in self._shards.values():
                shard.stop()
            self._shards.clear()
            return
        waits = [shard.topic_deleted(name) for shard in self._shards.values()]
        for each in waits:
            await each

    def topics_changed(self) -> None:
        """A topic was made or has grown: the next heartbeat of a KIP-848 group looks at it."""
        self._topics.changed()

    # --- finding the place ---

    def figures(self) -> dict[str, int]:
        """What was counted since the start, and how many there are now; docs/operating.md."""
        groups = [each for shard in self._shards.values() for each in shard.state.groups.values()]
        return {
            "groups.count": len(groups),
            "groups.members": sum(len(each.members) for each in groups),
            "groups.partitions_loading": sum(
                shard.status is Status.LOADING for shard in self._shards.values()
            ),
            "groups.rebalances": sum(shard.rebalances for shard in self._shards.values()),
            "offsets.committed": self._committed,
            "offsets.committed_in_transactions": self._committed_pending,
        }

    def partition_of(self, group_id: str) -> int:
        """Which partition of __consumer_offsets keeps this group."""
        topic = self._engine.topics.get(CONSUMER_OFFSETS)
        count = self._config.offsets_topic_num_partitions if topic is None else len(topic.partitions)
        return coordinator_partition(group_id, count)

    def _shard(self, group_id: str) -> LiveShard | ErrorCode:
        if self._stopped:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        shard = self._shards.get(self.partition_of(group_id))
        if shard is None:
            return ErrorCode.NOT_COORDINATOR
        return shard if shard.status is Status.READY else not_ready(shard.status)

    async def read(self, group_id: str, look: Callable[[Shard], T]) -> T | ErrorCode:
        """What `look` finds in the group's shard, once all that it saw is durable."""
        shard = self._shard(group_id)
        return shard if isinstance(shard, ErrorCode) else await shard.read(look)

    async def every_group(self, look: Callable[[Group], T]) -> list[T] | ErrorCode:
        """What `look` finds in each group; an error while any partition is being loaded."""
        if self._stopped:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        found: list[T] = []
        for shard in self._shards.values():
            some = await shard.read(lambda state: [look(group) for group in state.groups.values()])
            if isinstance(some, ErrorCode):
                return some
            found.extend(some)
        return found

    # --- offsets ---

    async def commit_offsets(
        self, request: OffsetCommit, producer: Producer | None = None, guard: Guard | None = None
    ) -> CommitDecision:
        """OffsetCommit; with `producer` a TxnOffsetCommit whose transaction was checked by the caller, under `guard`."""
        shard = self._shard(request.group_id)
        if isinstance(shard, ErrorCode):
            return CommitDecision(shard)
        decision = shard.state.commit_offsets(
            request, metadata_max_chars=self._config.offset_metadata_max_bytes, now=self._clock.wall_ms()
        )
        if decision.error is not ErrorCode.NONE:
            return decision
        group = shard.state.groups.get(request.group_id)
        if isinstance(group, ClassicGroup) and not request.transactional:
            shard.obey(group, group.offset_committed(request.member_id))
        error = await shard.write(decision.records, producer=producer, guard=guard)
        if error is not ErrorCode.NONE:
            return CommitDecision(error)
        if producer is None:
            self._committed += len(decision.records)
        else:
            self._committed_pending += len(decision.records)
        return decision

    async def fetch_offsets(
        self,
        group_id: str,
        *,
        member_id: str | None,
        member_epoch: int,
        partitions: Sequence[tuple[str, TopicId, int]] | None,
        require_stable: bool,
    ) -> list[FetchedOffset] | ErrorCode:
        """OffsetFetch of one group; None for all partitions that have a committed value."""

        def look(state: Shard) -> list[FetchedOffset] | ErrorCode:
            group = state.groups.get(group_id)
            if isinstance(group, ConsumerGroup):
                error = group.check_offset_fetch(member_id, member_epoch)
                if error is not ErrorCode.NONE:
                    return error
            offsets = state.offsets.get(group_id, GroupOffsets())
            wanted = partitions
            if wanted is None:
                wanted = [
                    (topic, value.topic_id, partition)
                    for topic, values in sorted(offsets.visible.items())
                    for partition, value in sorted(values.items())
                ]
            found: list[FetchedOffset] = []
            for topic, topic_id, partition in wanted:
                if require_stable and offsets.is_unstable(topic, partition):
                    found.append(FetchedOffset(topic, partition, ErrorCode.UNSTABLE_OFFSET_COMMIT, None))
                    continue
                value = offsets.find(topic, partition)
                if value is not None and not value.is_for(topic_id):
                    value = None
                found.append(FetchedOffset(topic, partition, ErrorCode.NONE, value))
            return found

        return await self.read(group_id, look)

    async def delete_offsets(self, group_id: str, partitions: Sequence[tuple[str, int]]) -> CommitDecision:
        shard = self._shard(group_id)
        if isinstance(shard, ErrorCode):
            return CommitDecision(shard)
        decision = shard.state.delete_offsets(group_id, partitions)
        if decision.error is not ErrorCode.NONE:
            return decision
        error = await shard.write(decision.records)
        return decision if error is ErrorCode.NONE else CommitDecision(error)

    async def delete_groups(self, group_ids: Sequence[str]) -> list[ErrorCode]:
        """One answer per group, in order; all are under way before the first is waited for."""
        waits: list[ErrorCode | Future[ErrorCode]] = []
        for group_id in group_ids:
            shard = self._shard(group_id)
            if isinstance(shard, ErrorCode):
                waits.append(shard)
                continue
            error, gone = shard.state.delete_group(group_id)
            waits.append(shard.write_split(gone) if error is ErrorCode.NONE else error)
        return [each if isinstance(each, ErrorCode) else await each for each in waits]

    async def write_marker(
        self,
        partition: int,
        *,
        producer: Producer,
        coordinator_epoch: int,
        commit: bool,
        transaction_version: int,
    ) -> ErrorCode:
        """WriteTxnMarkers for a partition of __consumer_offsets; the offsets are in effect when it returns (B13)."""
        shard = self._shards.get(partition)
        if shard is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if shard.status is not Status.READY:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        error = await shard.write_marker(
            producer=producer,
            coordinator_epoch=coordinator_epoch,
            commit=commit,
            transaction_version=transaction_version,
        )
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if error is ErrorCode.NOT_COORDINATOR else error

    # --- classic groups ---

    async def join(self, group_id: str, request: Join) -> JoinReply:
        if not group_id:
            return JoinReply(ErrorCode.INVALID_GROUP_ID, request.member_id)
        low, high = self._config.group_min_session_timeout_ms, self._config.group_max_session_timeout_ms
        if not low <= request.session_timeout_ms <= high:
            return JoinReply(ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
        shard = self._shard(group_id)
        if isinstance(shard, ErrorCode):
            return JoinReply(shard, request.member_id)
        group = shard.state.groups.get(group_id)
        if isinstance(group, ConsumerGroup) and not group.is_empty:
            return JoinReply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
        created = not isinstance(group, ClassicGroup)
        if created and request.member_id:
            return JoinReply(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
        if not isinstance(group, ClassicGroup):
            if group is not None:  # an empty KIP-848 group gives way
                shard.write(shard.state.group_tombstones(group_id))
            group = ClassicGroup(group_id, state_since=self._clock.wall_ms())
            shard.state.groups[group_id] = group
        token, reply = shard.token()
        effects = group.join(
            request,
            token=token,
            new_member_id=f"{request.instance_id or request.client_id}-{self._uuid()}",
            created=created,
            limits=self._settings.classic,
            now=self._clock.wall_ms(),
        )
        shard.obey(group, effects)
        answer = await reply
        assert isinstance(answer, JoinReply)
        return answer

    async def sync(self, group_id: str, request: Sync) -> SyncReply:
        if not group_id:
            return SyncReply(ErrorCode.INVALID_GROUP_ID)
        shard = self._shard(group_id)
        if isinstance(shard, ErrorCode):
            # the client rejoins, which is what it must do when the group is being loaded
            loading = shard is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            return SyncReply(ErrorCode.REBALANCE_IN_PROGRESS if loading else shard)
        group = shard.state.groups.get(group_id)
        if group is None or group.is_empty:
            return SyncReply(ErrorCode.UNKNOWN_MEMBER_ID)
        if isinstance(group, ConsumerGroup):
            return SyncReply(group.check_classic_member(request.member_id, request.instance_id))
        token, reply = shard.token()
        shard.obey(group, group.sync(request, token=token))
        answer = await reply
        assert isinstance(answer, SyncReply)
        return answer

    async def heartbeat(
        self, group_id: str, *, member_id: str, instance_id: str | None, generation: int
    ) -> ErrorCode:
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID
        shard = self._shard(group_id)
        if isinstance(shard, ErrorCode):
            # while the group is being loaded its members need not worry
            return ErrorCode.NONE if shard is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else shard
        group = shard.state.groups.get(group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if isinstance(group, ConsumerGroup):
            return group.check_classic_member(member_id, instance_id)
        error, effects = group.heartbeat(member_id=member_id, instance_id=instance_id, generation=generation)
        shard.obey(group, effects)
        return error

    async def leave(self, group_id: str, requests: tuple[Leave, ...]) -> list[ErrorCode] | ErrorCode:
        """One error per member, or one for all."""
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID
        shard = self._shard(group_id)
        if isinstance(shard, ErrorCode):
            return shard
        group = shard.state.groups.get(group_id)
        if group is None:
            return [ErrorCode.UNKNOWN_MEMBER_ID for _ in requests]
        if isinstance(group, ConsumerGroup):
            named = tuple((each.member_id, each.instance_id) for each in requests)
            errors, decision = group.remove(named, self._topics)
            error = await shard.carry_out(group_id, decision)
            return errors if error is ErrorCode.NONE else error
        errors, effects = group.leave(requests, limits=self._settings.classic, now=self._clock.wall_ms())
        shard.obey(group, effects)
        error = await shard.settled()
        return errors if error is ErrorCode.NONE else error

    # --- KIP-848 ---

    async def consumer_heartbeat(self, group_id: str, request: Heartbeat) -> HeartbeatReply:
        refused = check_heartbeat(group_id, request)
        if refused is not None:
            return refused
        shard = self._shard(group_id)
        if isinstance(shard, ErrorCode):
            return HeartbeatReply(shard)
        group = shard.state.groups.get(group_id)
        gives_way: list[Entry] = []
        if isinstance(group, ClassicGroup):
            if request.member_epoch != 0 or not group.is_empty:
                return HeartbeatReply(
                    ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group."
                )
            gives_way = shard.state.group_tombstones(group_id)
            group = None
        if group is None:
            if request.member_epoch != 0:
                kind = "Consumer group" if request.member_epoch > 0 else "Group"
                return HeartbeatReply(ErrorCode.GROUP_ID_NOT_FOUND, f"{kind} {group_id} not found.")
            group = ConsumerGroup(group_id)
        decision = group.heartbeat(
            request,
            topics=self._topics,
            new_member_id=base64.urlsafe_b64encode(self._chance.token_bytes(16)).rstrip(b"=").decode(),
            limits=self._settings.consumer,
            now=self._clock.wall_ms(),
        )
        if decision.reply.error is not ErrorCode.NONE:
            return decision.reply
        error = await shard.carry_out(group_id, decision, before=gives_way)
        return decision.reply if error is ErrorCode.NONE else HeartbeatReply(error)

    def _uuid(self) -> str:
        """A random UUID (version 4) in its usual form."""
        drawn = bytearray(self._chance.token_bytes(16))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        text = drawn.hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
