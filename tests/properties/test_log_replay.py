"""Whatever a partition goes through: replay is live, snapshots lose only what they may, compaction keeps what readers and
producers need.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oncelog.config import MAX_LONG
from oncelog.log.aborted import aborted_in
from oncelog.log.compaction import Round, last_records
from oncelog.log.state import (
    ACCEPT,
    Duplicate,
    LogState,
    advance_high_watermark,
    decide_append,
    decide_marker,
    evolve,
    from_snapshot,
    last_stable_offset,
    to_snapshot,
)
from oncelog.model import Origin
from oncelog.record.aborted import AbortedEntry
from oncelog.record.batch import (
    CONTROL,
    DELETE_HORIZON,
    MAX_SEQUENCE,
    TRANSACTIONAL,
    NewRecord,
    build_batch,
    check_crc,
    read_header,
    records_of,
)
from oncelog.record.marker import encode_marker, read_marker
from oncelog.record.snapshot import SnapshotEntry, decode_snapshot, encode_snapshot

NEAR_THE_WRAP: Final = MAX_SEQUENCE - 6
RETENTION_MS: Final = 1_000


@dataclass(frozen=True)
class Send:
    """A Produce: `jump` is added to the right sequence, so 0 is right, -1 may be a duplicate."""

    producer: int
    epoch: int
    jump: int
    keys: tuple[int, ...]
    transactional: bool
    codec: int


@dataclass(frozen=True)
class End:
    producer: int
    bump: int  # of the epoch: TV2 markers have one
    commit: bool


@dataclass(frozen=True)
class Sync:
    """What is in the log becomes durable."""


sends: Final = st.builds(
    Send,
    producer=st.integers(-1, 3),
    epoch=st.sampled_from([0, 0, 0, 1, -1]),
    jump=st.sampled_from([0, 0, 0, 0, -1, -2, 1]),
    keys=st.lists(st.integers(-3, 5), min_size=1, max_size=4).map(tuple),
    transactional=st.booleans(),
    codec=st.sampled_from([0, 0, 2, 4]),
)
ends: Final = st.builds(End, producer=st.integers(0, 3), bump=st.sampled_from([0, 1]), commit=st.booleans())
histories: Final = st.lists(st.one_of(sends, sends, ends, st.just(Sync())), max_size=40)


@dataclass
class Partition:
    """Plays a history by the rules and keeps the bytes."""

    state: LogState = field(default_factory=LogState)
    data: list[bytes] = field(default_factory=list[bytes])
    aborted: list[AbortedEntry] = field(default_factory=list[AbortedEntry])
    answered: dict[tuple[int, int, int, int], int] = field(
        default_factory=dict[tuple[int, int, int, int], int]
    )
    lso: int = 0

    def play(self, history: Sequence[Send | End | Sync]) -> "Partition":
        for step in history:
            match step:
                case Send():
                    self.send(step)
                case End():
                    self.end(step)
                case Sync():
                    advance_high_watermark(self.state, self.state.log_end_offset)
            self.check()
        return self

    def send(self, step: Send) -> None:
        known = self.state.producers.get(step.producer)
        epoch = max((known.epoch if known else 0) + step.epoch, 0)
        if known is None:
            right = NEAR_THE_WRAP  # an unknown producer may begin anywhere: so the wrap is always near
        else:
            right = known.last_sequence + 1 if epoch == known.epoch else 0
        value = f"{len(self.data)}".encode()
        records = [
            NewRecord(
                None if key == -3 else b"%d" % abs(key), None if key < 0 else value, 1_000 + len(self.data)
            )
            for key in step.keys
        ]
        idempotent = step.producer >= 0
        batch = build_batch(
            records,
            base_offset=self.state.log_end_offset,
            codec=step.codec,
            producer_id=step.producer,
            producer_epoch=epoch if idempotent else -1,
            base_sequence=(right + step.jump) & MAX_SEQUENCE if idempotent else -1,
            transactional=step.transactional and idempotent,
        )
        header = read_header(batch)
        decision = decide_append(self.state, header, origin=Origin.CLIENT, verify=False)
        identity = (step.producer, header.producer_epoch, header.base_sequence, header.count)
        if isinstance(decision, Duplicate):
            assert self.answered[identity] == decision.base_offset
        elif decision is ACCEPT:
            assert not idempotent or identity not in self.answered or known is None or epoch != known.epoch
            self.answered[identity] = header.base_offset
            self.append(batch)

    def end(self, step: End) -> None:
        known = self.state.producers.get(step.producer)
        epoch = (known.epoch if known else 0) + step.bump
        version = 2 if step.bump else 0
        if decide_marker(self.state, step.producer, epoch, 0, version) is ACCEPT:
            self.append(
                encode_marker(
                    base_offset=self.state.log_end_offset,
                    leader_epoch=0,
                    timestamp=1_000 + len(self.data),
                    producer_id=step.producer,
                    producer_epoch=epoch,
                    coordinator_epoch=0,
                    commit=step.commit,
                )
            )

    def append(self, batch: bytes) -> None:
        header = read_header(batch)
        marker = read_marker(batch) if header.attributes & CONTROL else None
        done = evolve(self.state, header, base_offset=header.base_offset, marker=marker)
        if done is not None and done.aborted:
            self.aborted.append(
                AbortedEntry(done.producer_id, done.first_offset, done.last_offset, done.last_stable_offset)
            )
        self.data.append(batch)

    def check(self) -> None:
        """Invariants 1, 3 and 4 of reliability.md 3.2, the last one computed the long way."""
        state, lso = self.state, last_stable_offset(self.state)
        assert self.lso <= lso <= state.high_watermark <= state.log_end_offset
        self.lso = lso
        firsts = [each.transaction_first_offset for each in state.producers.values()]
        undecided = [first for first in firsts if first >= 0]
        undecided += [
            each.first_offset for each in state.completed if each.last_offset >= state.high_watermark
        ]
        assert lso == min([*undecided, state.high_watermark])


def replay(data: Sequence[bytes], state: LogState) -> LogState:
    for batch in data:
        header = read_header(batch)
        if header.base_offset >= state.log_end_offset or not state.log_end_offset:
            marker = read_marker(batch) if header.attributes & CONTROL else None
            evolve(state, header, base_offset=header.base_offset, marker=marker)
    return state


def as_values(state: LogState) -> object:
    return (
        state.log_end_offset,
        [state.producers[each].as_tuple() for each in sorted(state.producers)],
        list(state.ongoing.items()),
    )


@given(histories)
@settings(max_examples=150, deadline=None)
def test_replay_is_live(history: Sequence[Send | End | Sync]) -> None:
    live = Partition().play(history)
    assert as_values(replay(live.data, LogState())) == as_values(live.state)


def cut_to_snapshot(state: LogState) -> list[SnapshotEntry]:
    return sorted(decode_snapshot(encode_snapshot(to_snapshot(state))))


@given(histories, st.integers(0, 40))
@settings(max_examples=150, deadline=None)
def test_fmt_5_snapshot_and_replay_of_the_rest_is_live_but_for_old_duplicates(
    history: Sequence[Send | End | Sync], cut: int
) -> None:
    live = Partition().play(history)
    before = replay(live.data[:cut], LogState())
    loaded = from_snapshot(
        decode_snapshot(encode_snapshot(to_snapshot(before))),
        log_start_offset=0,
        snapshot_offset=before.log_end_offset,
        now=0,
        expiration_ms=RETENTION_MS,
    )
    after = replay(live.data[cut:], loaded)
    assert cut_to_snapshot(after) == cut_to_snapshot(live.state)
    assert list(after.ongoing.items()) == list(live.state.ongoing.items())
    for producer_id, producer in after.producers.items():
        # The file has one time per producer: a reloaded batch shows that of a marker that came after it.
        whole = [batch[:4] for batch in live.state.producers[producer_id].batches]
        assert [batch[:4] for batch in producer.batches] == whole[len(whole) - len(producer.batches) :]
    advance_high_watermark(after, after.log_end_offset)
    advance_high_watermark(live.state, live.state.log_end_offset)
    assert last_stable_offset(after) == last_stable_offset(live.state)


def committed(
    data: Sequence[bytes], index: Sequence[AbortedEntry], limit: int, start: int = 0
) -> dict[int, tuple[bytes | None, bytes | None]]:
    """What read_committed gives from `start`: by offset. The filter of spec 6.1."""
    waiting = [(first, producer) for producer, first in aborted_in(index, start, limit)]
    assert waiting == sorted(waiting)
    aborted: set[int] = set()
    seen: dict[int, tuple[bytes | None, bytes | None]] = {}
    for batch in data:
        header = read_header(batch)
        if header.last_offset < start:
            continue
        if header.base_offset >= limit:
            break
        while waiting and waiting[0][0] <= header.last_offset:
            aborted.add(waiting.pop(0)[1])
        if header.attributes & CONTROL:
            marker = read_marker(batch)
            if marker is not None and not marker.commit:
                aborted.discard(header.producer_id)
        elif not (header.attributes & TRANSACTIONAL and header.producer_id in aborted):
            seen |= {record.offset: (record.key, record.value) for record in records_of(batch)}
    return seen


@given(histories, st.integers(0, 60))
@settings(max_examples=150, deadline=None)
def test_rc_1_trap_27_every_fetch_is_told_enough(history: Sequence[Send | End | Sync], start: int) -> None:
    """From whichever offset a reader begins, it sees what a reader from the beginning sees."""
    live = Partition().play([*history, Sync()])
    limit = last_stable_offset(live.state)
    whole = committed(live.data, live.aborted, limit)
    part = committed(live.data, live.aborted, limit, start)
    first = next(
        (read_header(batch).base_offset for batch in live.data if read_header(batch).last_offset >= start),
        limit,
    )
    assert part == {offset: record for offset, record in whole.items() if offset >= first}
    aborted_data = {
        record.offset
        for entry in live.aborted
        for batch in live.data
        if read_header(batch).producer_id == entry.producer_id
        and read_header(batch).is_transactional
        and entry.first_offset <= read_header(batch).base_offset < entry.last_offset
        for record in records_of(batch)
    }
    assert not aborted_data & set(whole)


@dataclass(frozen=True)
class Clean:
    """A round: the share of the log that is closed and stable, keys that fit, and time that passed before."""

    share: float
    keys: int
    wait: int


rounds: Final = st.lists(
    st.builds(
        Clean,
        share=st.floats(0.2, 1.0),
        keys=st.sampled_from([1, 3, 1_000]),
        wait=st.sampled_from([0, 1, RETENTION_MS, 3 * RETENTION_MS]),
    ),
    min_size=1,
    max_size=4,
)


@given(histories, rounds)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_compaction_keeps_what_is_read_and_what_producers_need(
    history: Sequence[Send | End | Sync], cleanings: list[Clean]
) -> None:
    live = Partition().play([*history, Sync()])
    limit = last_stable_offset(live.state)
    stable = [batch for batch in live.data if read_header(batch).last_offset < limit]
    data, index, dirty, now = list(live.data), list(live.aborted), 0, 5_000
    records = committed(live.data, live.aborted, limit)
    for cleaning in cleanings:
        now += cleaning.wait
        bound = (
            read_header(stable[min(int(len(stable) * cleaning.share), len(stable) - 1)]).last_offset
            if stable
            else -1
        )
        data, index, dirty = clean(live, data, index, dirty, bound, cleaning.keys, now)
        after = committed(data, index, limit)
        assert all(
            records[offset] == record for offset, record in after.items()
        )  # nothing moves, nothing is made up
        assert latest(after, tombstones=False) == latest(records, tombstones=False)
        for offset in set(records) - set(after):  # what went was covered, deleted long enough, or had no key
            key, value = records[offset]
            covered = any(records[later][0] == key for later in records if offset < later < dirty)
            assert key is None or covered or value is None
            assert offset < dirty
        check_shape(data, index)
        replayed = replay(data, LogState())
        assert replayed.log_end_offset == live.state.log_end_offset
        assert list(replayed.ongoing.items()) == list(live.state.ongoing.items())
        assert {each[:5] for each in to_snapshot(replayed)} >= {each[:5] for each in to_snapshot(live.state)}


def clean(
    live: Partition, data: list[bytes], index: list[AbortedEntry], dirty: int, bound: int, keys: int, now: int
) -> tuple[list[bytes], list[AbortedEntry], int]:
    """One round up to the batch that ends at or below `bound`."""
    round_ = Round(
        first_dirty_offset=dirty,
        aborted=index,
        producers=last_records(live.state),
        now=now,
        delete_retention_ms=RETENTION_MS,
        map_limit_bytes=keys * 160,
        tombstones_stay_from=MAX_LONG,
    )
    todo = [batch for batch in data if read_header(batch).last_offset <= bound]
    for batch in todo:
        header = read_header(batch)
        if header.last_offset >= dirty and not round_.learn(batch, header):
            break
    kept = [round_.clean(batch, read_header(batch)) for batch in todo]
    left = [bytes(each.data) for each in kept if each.data is not None]
    entries = [each.aborted for each in kept if each.aborted is not None]
    entries += [entry for entry in index if entry.last_offset > bound]
    return left + data[len(todo) :], entries, max(round_.end_offset, dirty)


def latest(
    records: dict[int, tuple[bytes | None, bytes | None]], *, tombstones: bool
) -> dict[bytes, bytes | None]:
    found = {key: value for _, (key, value) in sorted(records.items()) if key is not None}
    return found if tombstones else {key: value for key, value in found.items() if value is not None}


def check_shape(data: Sequence[bytes], index: Sequence[AbortedEntry]) -> None:
    """Each batch is sound, offsets rise, and the index is one that a reader accepts."""
    last = -1
    for batch in data:
        header = read_header(batch)
        assert check_crc(batch, header)
        assert header.base_offset > last
        last = header.last_offset
        assert len(list(records_of(batch))) == header.count
        if header.attributes & DELETE_HORIZON:
            assert all(record.timestamp < 5_000 for record in records_of(batch))
    assert [entry.last_offset for entry in index] == sorted({entry.last_offset for entry in index})
