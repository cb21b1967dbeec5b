"""Fetch sessions (KIP-227): a consumer names its partitions once and then only what changed.

A session belongs to nobody's connection. A broker may always answer session id 0; we do so when the cache is full of
sessions in use. Epochs run 1..2^31-1 and then 1 again.
"""

from dataclasses import dataclass, field
from typing import Final

from oncelog.errors import ErrorCode
from oncelog.model import TopicId
from oncelog.ports import Chance, Clock

FULL_FETCH_NEW_SESSION: Final = 0
FULL_FETCH_NO_SESSION: Final = -1
MAX_EPOCH: Final = 2**31 - 1
IDLE_MS: Final = 120_000  # a session unused for this long may be thrown out for a new one

# A partition is known by (topic id or None, name, index): names up to v12, ids from v13.
PartitionKey = tuple[TopicId | None, str, int]


@dataclass(slots=True)
class Wanted:
    """What a consumer wants of one partition, and what it was last told."""

    topic_id: TopicId | None
    topic: str
    index: int
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    told_high_watermark: int = -1
    told_log_start: int = -1

    @property
    def key(self) -> PartitionKey:
        return (self.topic_id, self.topic, self.index)


@dataclass(slots=True)
class FetchSession:
    id: int
    uses_ids: bool
    epoch: int
    used_ms: int
    partitions: dict[PartitionKey, Wanted] = field(default_factory=dict[PartitionKey, Wanted])


@dataclass(slots=True)
class FetchPlan:
    """What one Fetch is to read. `incremental`: answer only with what is news."""

    session_id: int
    wanted: list[Wanted]
    incremental: bool = False


class FetchSessions:
    def __init__(self, clock: Clock, chance: Chance, limit: int) -> None:
        self._clock = clock
        self._chance = chance
        self._limit = limit
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def plan(
        self, session_id: int, epoch: int, uses_ids: bool, wanted: list[Wanted], forgotten: list[PartitionKey]
    ) -> FetchPlan | ErrorCode:
        """Applies one request's session fields; a top-level error leaves the session as it was (spec 1.14)."""
        if epoch in (FULL_FETCH_NEW_SESSION, FULL_FETCH_NO_SESSION):
            self._sessions.pop(session_id, None)
            if epoch == FULL_FETCH_NO_SESSION:
                return FetchPlan(0, wanted)
            return FetchPlan(self._open(uses_ids, wanted), wanted)
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if epoch != session.epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if uses_ids != session.uses_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.epoch = 1 if session.epoch == MAX_EPOCH else session.epoch + 1
        session.used_ms = self._clock.monotonic_ms()
        for key in forgotten:
            session.partitions.pop(key, None)
        for each in wanted:
            known = session.partitions.get(each.key)
            if known is None:
                session.partitions[each.key] = each
            else:
                known.fetch_offset = each.fetch_offset
                known.max_bytes = each.max_bytes
                known.current_leader_epoch = each.current_leader_epoch
        return FetchPlan(session_id, list(session.partitions.values()), incremental=True)

    def rotate(self, session_id: int, keys: list[PartitionKey]) -> None:
        """Partitions that just gave data go to the end, so that one busy partition cannot starve the others."""
        session = self._sessions.get(session_id)
        if session is not None:
            for key in keys:
                moved = session.partitions.pop(key, None)
                if moved is not None:
                    session.partitions[key] = moved

    def _open(self, uses_ids: bool, wanted: list[Wanted]) -> int:
        now = self._clock.monotonic_ms()
        if not wanted:
            return 0
        if len(self._sessions) >= self._limit:
            oldest = min(self._sessions.values(), key=lambda session: session.used_ms, default=None)
            if oldest is None or now - oldest.used_ms < IDLE_MS:
                return 0
            del self._sessions[oldest.id]
        session_id = 0
        while session_id == 0 or session_id in self._sessions:
            session_id = int.from_bytes(self._chance.token_bytes(4), "big") & MAX_EPOCH
        partitions = {each.key: each for each in wanted}
        self._sessions[session_id] = FetchSession(session_id, uses_ids, 1, now, partitions)
        return session_id
