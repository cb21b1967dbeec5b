"""Reads records: from given partitions and offsets, or as a member of a classic group with the range assignor."""

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Final, Self

from oncelog.client.admin import EARLIEST, LATEST, Admin
from oncelog.client.assignment import (
    assign_range,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from oncelog.client.cluster import COORDINATOR_PASSING, Backoff, Cluster
from oncelog.client.faults import RETRIABLE, RefusedByBroker, TimedOut, Unreachable, demand
from oncelog.client.session import Connection
from oncelog.client.visible import AbortedFrom, ReadRecord, visible, with_fates
from oncelog.errors import ErrorCode
from oncelog.model import Isolation, TopicPartition
from oncelog.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from oncelog.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from oncelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from oncelog.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from oncelog.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

NO_SESSION_EPOCH: Final = -1
PROTOCOL_TYPE: Final = "consumer"
ASSIGNOR: Final = "range"
HELD_BACK_MS: Final = 10_000  # added to how long a broker may hold an answer back, before we call it lost

Start = int | str
"""An offset, "earliest" or "latest"."""


class Reader:
    """Reads partitions that it is told to read. Not for more than one thread at a time."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        isolation: Isolation = Isolation.READ_COMMITTED,
        max_bytes: int = 52_428_800,
        partition_max_bytes: int = 1_048_576,
        reset: str | None = "earliest",
    ) -> None:
        """`reset`: where to go on when a position is no longer (or not yet) in the log; None raises instead."""
        self.cluster = cluster
        self.isolation = isolation
        self._max_bytes = max_bytes
        self._partition_max_bytes = partition_max_bytes
        self._reset = reset
        self._admin = Admin(cluster)
        self._positions: dict[TopicPartition, int] = {}
        self._turn = 0

    def assign(self, starts: Mapping[TopicPartition, Start]) -> None:
        """Reads these partitions from now on, and no others."""
        wanted = {each: _timestamp(start) for each, start in starts.items() if isinstance(start, str)}
        found = self._admin.offsets_at(wanted, isolation=self.isolation) if wanted else {}
        self._positions = {
            each: start if isinstance(start, int) else found[each].offset
            for each, start in sorted(starts.items())
        }

    def positions(self) -> dict[TopicPartition, int]:
        """The next offset of each partition."""
        return dict(self._positions)

    def ends(self) -> dict[TopicPartition, int]:
        """Where each partition ends now, as far as this isolation level sees: the last stable offset, or the high watermark."""
        found = self._admin.offsets_at(dict.fromkeys(self._positions, LATEST), isolation=self.isolation)
        return {each: view.offset for each, view in found.items()}

    def poll(self, timeout_ms: int = 500) -> list[ReadRecord]:
        """The records that came within the time, in order within each partition. Empty if none did, or at once if the
        position moved past what is not to be seen (markers, aborted records): then call again.
        """
        return self._fetch(timeout_ms, with_fates=False)

    def poll_with_fates(self, timeout_ms: int = 500) -> list[ReadRecord]:
        """As `poll`, but all records, each marked committed, aborted or undecided. Reads what is decided first; what is
        beyond the last stable offset comes once, with the fate that is known then.
        """
        self.isolation = Isolation.READ_COMMITTED
        before = dict(self._positions)
        records = self._fetch(0, with_fates=True)
        if before == self._positions:
            self.isolation = Isolation.READ_UNCOMMITTED
            records = self._fetch(timeout_ms, with_fates=True)
        return records

    def _fetch(self, timeout_ms: int, *, with_fates: bool) -> list[ReadRecord]:
        if not self._positions:
            time.sleep(timeout_ms / 1000)
            return []
        deadline = time.monotonic() + timeout_ms / 1000
        backoff = Backoff(self.cluster.timeout_ms)
        while True:
            left_ms = max(int((deadline - time.monotonic()) * 1000), 0)
            records: list[ReadRecord] = []
            before = dict(self._positions)
            try:
                leaders = self._leaders()
                for whom, mine in leaders:
                    # Several leaders are asked one after the other: only the last may hold its answer back for long.
                    wait_ms = left_ms if len(leaders) == 1 or (whom is leaders[-1][0] and not records) else 0
                    records += self._fetch_from(whom, mine, wait_ms, with_fates)
            except (RefusedByBroker, Unreachable) as fault:
                if isinstance(fault, RefusedByBroker) and fault.error not in RETRIABLE:
                    raise
                for each in self._positions:
                    self.cluster.forget(each.topic)
                if records:
                    return records
                if not backoff.wait():
                    raise
                continue
            if records or before != self._positions or time.monotonic() >= deadline:
                return records

    def _leaders(self) -> list[tuple[Connection, list[TopicPartition]]]:
        """Partitions by leader, each time beginning with another one: a busy partition must not starve the rest."""
        partitions = list(self._positions)
        self._turn = (self._turn + 1) % len(partitions)
        leaders: dict[Connection, list[TopicPartition]] = {}
        for each in partitions[self._turn :] + partitions[: self._turn]:
            leaders.setdefault(self.cluster.leader(each), []).append(each)
        return list(leaders.items())

    def _fetch_from(
        self, whom: Connection, partitions: list[TopicPartition], wait_ms: int, with_fates: bool
    ) -> list[ReadRecord]:
        topics: dict[str, list[FetchPartition]] = {}
        for each in partitions:
            topics.setdefault(each.topic, []).append(
                FetchPartition(
                    partition=each.partition,
                    fetch_offset=self._positions[each],
                    partition_max_bytes=self._partition_max_bytes,
                )
            )
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=self._max_bytes,
            isolation_level=self.isolation,
            session_id=0,
            session_epoch=NO_SESSION_EPOCH,
            topics=[FetchTopic(topic=topic, partitions=some) for topic, some in topics.items()],
        )
        answer = whom.send(request, FetchResponse, timeout_ms=wait_ms + HELD_BACK_MS)
        demand(answer.error_code, "Fetch", str(whom))
        records: list[ReadRecord] = []
        for topic in answer.responses:
            for data in topic.partitions:
                records += self._take(
                    whom, TopicPartition(topic.topic, data.partition_index), data, with_fates
                )
        return records

    def _take(
        self, whom: Connection, partition: TopicPartition, data: PartitionData, fates: bool
    ) -> list[ReadRecord]:
        at = self._positions[partition]
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and self._reset is not None:
            found = self._admin.offsets_at({partition: _timestamp(self._reset)}, isolation=self.isolation)
            self._positions[partition] = found[partition].offset
            return []
        demand(data.error_code, f"Fetch of {partition} at offset {at}", str(whom))
        raw = memoryview(data.records or b"")
        aborted = [
            AbortedFrom(each.first_offset, each.producer_id) for each in data.aborted_transactions or ()
        ]
        if fates:
            decided = aborted if self.isolation is Isolation.READ_COMMITTED else None
            found = with_fates(partition, raw, from_offset=at, aborted=decided)
        else:
            found = visible(partition, raw, from_offset=at, isolation=self.isolation, aborted=aborted)
        self._positions[partition] = found.next_offset
        return found.records


def _timestamp(start: str) -> int:
    try:
        return {"earliest": EARLIEST, "latest": LATEST}[start]
    except KeyError:
        raise ValueError(f"wanted an offset, 'earliest' or 'latest', found {start!r}") from None


class GroupConsumer:
    """A member of a classic group. Heartbeats leave from `poll`: call it more often than the session timeout.

    Offsets are committed when `commit` is called and, unless `auto_commit` is off, before every rebalance and at `close`:
    what `poll` returned then counts as done.
    """

    def __init__(
        self,
        cluster: Cluster,
        group: str,
        topics: Iterable[str],
        *,
        isolation: Isolation = Isolation.READ_COMMITTED,
        reset: str = "latest",
        auto_commit: bool = True,
        instance_id: str | None = None,
        session_timeout_ms: int = 45_000,
        rebalance_timeout_ms: int = 60_000,
        heartbeat_interval_ms: int = 3_000,
    ) -> None:
        self.cluster = cluster
        self.group = group
        self.topics = sorted(set(topics))
        self.member_id = ""
        self.generation = -1
        self.assignment: tuple[TopicPartition, ...] = ()
        self._reset = reset
        self._auto_commit = auto_commit
        self._instance_id = instance_id
        self._session_timeout_ms = session_timeout_ms
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._next_heartbeat = 0.0
        self._joined = False
        self._committed: dict[TopicPartition, int] = {}
        self._admin = Admin(cluster)
        self._reader = Reader(cluster, isolation=isolation, reset=reset)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def poll(self, timeout_ms: int = 500) -> list[ReadRecord]:
        """Joins if need be, keeps the membership, and returns what came within the time."""
        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            if not self._joined:
                self._join()
            if time.monotonic() >= self._next_heartbeat and not self._heartbeat():
                self._leave_generation()
                continue
            left = min(deadline, self._next_heartbeat) - time.monotonic()
            records = self._reader.poll(max(int(left * 1000), 0))
            if records or time.monotonic() >= deadline:
                return records

    def commit(self) -> None:
        """Commits the position behind all that `poll` has returned."""
        self.commit_until(self._reader.positions())

    def commit_until(self, positions: Mapping[TopicPartition, int]) -> None:
        """Commits these positions, of partitions that we own, where they are not committed already."""
        offsets = {
            each: at
            for each, at in positions.items()
            if each in self.assignment and self._committed.get(each) != at
        }
        if offsets:
            self._admin.commit_offsets(
                self.group, offsets, generation=self.generation, member_id=self.member_id
            )
            self._committed.update(offsets)

    def try_commit(self, positions: Mapping[TopicPartition, int]) -> bool:
        """As `commit_until`; False if it is too late, because the partitions are somebody else's by now."""
        try:
            self.commit_until(positions)
        except RefusedByBroker as fault:
            if fault.error not in MEMBERSHIP_LOST:
                raise
            return False
        return True

    def positions(self) -> dict[TopicPartition, int]:
        return self._reader.positions()

    def close(self) -> None:
        """Commits if it should, and leaves, so that the others need not wait for the session timeout."""
        if not self._joined:
            return
        self._leave_generation()
        if self._instance_id is None:  # a static member stays until its session ends
            member = MemberIdentity(member_id=self.member_id, reason="closed")
            request = LeaveGroupRequest(group_id=self.group, member_id=self.member_id, members=[member])
            self.cluster.coordinator(self.group).send(request, LeaveGroupResponse)

    def _leave_generation(self) -> None:
        """What we own is about to be given to somebody else."""
        if self._auto_commit:
            self.try_commit(self._reader.positions())
        self._joined = False
        self._reader.assign({})
        self.assignment = ()

    def _heartbeat(self) -> bool:
        """False if the group wants us to join again."""
        request = HeartbeatRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
        )
        try:
            whom = self.cluster.coordinator(self.group)
            answer = whom.send(request, HeartbeatResponse)
            demand(answer.error_code, f"Heartbeat of group {self.group!r}", str(whom))
        except RefusedByBroker as fault:
            if fault.error in COORDINATOR_PASSING:
                self.cluster.forget_coordinator(self.group)
                return True
            if fault.error not in MEMBERSHIP_LOST:
                raise
            if fault.error == ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
            return False
        except (Unreachable, TimedOut):
            self.cluster.forget_coordinator(self.group)
            self._next_heartbeat = time.monotonic() + 0.1
            return True
        self._next_heartbeat = time.monotonic() + self._heartbeat_interval_ms / 1000
        return True

    def _join(self) -> None:
        """JoinGroup and SyncGroup until we have an assignment."""
        backoff = Backoff(self.cluster.timeout_ms + self._rebalance_timeout_ms)
        while True:
            try:
                owned = self._try_join()
                break
            except (RefusedByBroker, Unreachable) as fault:
                if isinstance(fault, Unreachable) or fault.error in COORDINATOR_PASSING:
                    self.cluster.forget_coordinator(self.group)
                elif fault.error == ErrorCode.UNKNOWN_MEMBER_ID:
                    self.member_id = ""
                elif fault.error not in MEMBERSHIP_LOST:
                    raise
                if not backoff.wait():
                    raise
        self.assignment = tuple(sorted(owned))
        self._begin_at_committed()
        self._joined = True
        self._next_heartbeat = time.monotonic() + self._heartbeat_interval_ms / 1000

    def _try_join(self) -> list[TopicPartition]:
        whom = self.cluster.coordinator(self.group)
        joined = self._ask_to_join(whom)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
            joined = self._ask_to_join(whom)
        demand(joined.error_code, f"JoinGroup {self.group!r}", str(whom))
        self.member_id, self.generation = joined.member_id, joined.generation_id
        plan: list[SyncGroupRequestAssignment] = []
        if joined.leader == self.member_id and not joined.skip_assignment:
            plan = self._plan({each.member_id: decode_subscription(each.metadata) for each in joined.members})
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=joined.protocol_name,
            assignments=plan,
        )
        synced = whom.send(request, SyncGroupResponse, timeout_ms=self._rebalance_timeout_ms + HELD_BACK_MS)
        demand(synced.error_code, f"SyncGroup {self.group!r}, generation {self.generation}", str(whom))
        return decode_assignment(synced.assignment)

    def _ask_to_join(self, whom: Connection) -> JoinGroupResponse:
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self._session_timeout_ms,
            rebalance_timeout_ms=self._rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=ASSIGNOR, metadata=encode_subscription(self.topics))],
        )
        return whom.send(request, JoinGroupResponse, timeout_ms=self._rebalance_timeout_ms + HELD_BACK_MS)

    def _plan(self, subscriptions: Mapping[str, list[str]]) -> list[SyncGroupRequestAssignment]:
        """The leader's work: who reads what."""
        counts: dict[str, int] = {}
        for topic in sorted({topic for topics in subscriptions.values() for topic in topics}):
            self.cluster.forget(topic)
            try:
                counts[topic] = len(self.cluster.topic(topic).partitions)
            except RefusedByBroker as fault:
                if fault.error not in RETRIABLE:  # a topic that does not exist yet has no partitions to read
                    raise
        assigned = assign_range(subscriptions, counts)
        return [
            SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(partitions))
            for member, partitions in assigned.items()
        ]

    def _begin_at_committed(self) -> None:
        committed = self._admin.group_offsets(
            self.group, self.assignment, require_stable=self._reader.isolation is Isolation.READ_COMMITTED
        )
        self._committed = {each: view.offset for each, view in committed.items()}
        self._reader.assign({each: self._committed.get(each, self._reset) for each in self.assignment})


MEMBERSHIP_LOST: Final = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)
