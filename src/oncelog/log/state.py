"""One partition's producers, transactions and offsets: what replaying its log rebuilds, and the rules that use it.

`decide_*` says what is to happen to a batch and changes nothing; `evolve` applies a batch that is in the log and cannot
refuse. Recovery is `evolve` over the stored batches (spec 04).
"""

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from oncelog.errors import ErrorCode
from oncelog.model import Origin
from oncelog.record.batch import CONTROL, MAX_SEQUENCE, TRANSACTIONAL, BatchHeader, add_sequence
from oncelog.record.marker import Marker
from oncelog.record.snapshot import SnapshotEntry

CACHED_BATCHES: Final = 5  # per producer: as many as a client may have in flight
NO_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_OFFSET: Final = -1
MAX_EPOCH: Final = 32767


class CachedBatch(NamedTuple):
    """An accepted batch, kept so that its repetition is recognised."""

    first_sequence: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int


class ProducerState:
    """What one producer did in this partition. `transaction_first_offset` is -1 while none is ongoing."""

    __slots__ = (
        "batches", "coordinator_epoch", "epoch", "last_timestamp", "producer_id", "transaction_first_offset",
    )  # fmt: skip

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.batches: deque[CachedBatch] = deque(maxlen=CACHED_BATCHES)  # oldest first
        self.coordinator_epoch = NO_EPOCH
        self.last_timestamp = -1
        self.transaction_first_offset = NO_OFFSET

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def as_tuple(self) -> tuple[int, int, tuple[CachedBatch, ...], int, int, int]:
        """For comparing a replayed state with a live one."""
        return (
            self.producer_id, self.epoch, tuple(self.batches), self.coordinator_epoch, self.last_timestamp,
            self.transaction_first_offset,
        )  # fmt: skip


class Guard:
    """A token: the append that brings it was verified, and nothing came between (TRAP-23). Compared by identity."""

    __slots__ = ()


class Verification:
    """A producer's transaction is being verified here, or was and has not appended yet (spec 4.5). Memory only."""

    __slots__ = ("created", "epoch", "guard", "lowest_sequence", "supports_epoch_bump")

    def __init__(
        self, guard: Guard, epoch: int, lowest_sequence: int, supports_epoch_bump: bool, created: int
    ) -> None:
        self.guard = guard
        self.epoch = epoch
        self.lowest_sequence = lowest_sequence
        self.supports_epoch_bump = supports_epoch_bump
        self.created = created


class CompletedTransaction(NamedTuple):
    """A transaction with data here has got its marker, at `last_offset`. An aborted one goes into the .txnindex."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool
    last_stable_offset: int  # for the .txnindex (PS-10)


class LogState:
    """All that replay rebuilds, and the verifications that it does not."""

    __slots__ = (
        "completed", "high_watermark", "log_end_offset", "log_start_offset", "ongoing", "producers", "unstable",
        "verifications",
    )  # fmt: skip

    def __init__(self, *, log_start_offset: int = 0, log_end_offset: int | None = None) -> None:
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_start_offset if log_end_offset is None else log_end_offset
        self.high_watermark = log_start_offset
        self.producers: dict[int, ProducerState] = {}
        # Transactions enter with the newest offset, so both dicts are in the order of first offsets.
        self.ongoing: dict[int, int] = {}  # first offset -> producer id
        self.unstable: dict[int, int] = {}  # the same, until the marker is below the high watermark (TRAP-21)
        self.completed: deque[CompletedTransaction] = (
            deque()
        )  # marker at or above the high watermark, in marker order
        self.verifications: dict[int, Verification] = {}


class Accept:
    """The batch may be appended."""

    __slots__ = ()


class Duplicate(NamedTuple):
    """The batch is in the log already: answer NONE with these offsets and this LogAppendTimeMs (TRAP-17)."""

    base_offset: int
    last_offset: int
    timestamp: int


class Refusal(NamedTuple):
    """The batch is not appended. The message is for our log: Kafka sends none with these errors."""

    error: ErrorCode
    message: str


ACCEPT: Final = Accept()


def decide_append(
    state: LogState,
    header: BatchHeader,
    *,
    origin: Origin,
    guard: Guard | None = None,
    verify: bool = True,
) -> Accept | Duplicate | Refusal:
    """Whether a data batch may be appended, in the order of spec 4.3.

    `verify` is transaction.partition.verification.enable: without it a transactional batch needs no guard.
    """
    producer_id = header.producer_id
    if producer_id < 0 or origin is Origin.REPLAY:
        return ACCEPT
    producer = state.producers.get(producer_id)
    epoch = header.producer_epoch
    first = header.base_sequence
    if producer is not None:
        if origin is Origin.CLIENT and epoch == producer.epoch:
            last = (first + header.last_offset_delta) & MAX_SEQUENCE
            for batch in producer.batches:
                if batch.first_sequence == first and batch.last_sequence == last:  # PS-1
                    return Duplicate(
                        batch.last_offset - batch.offset_delta, batch.last_offset, batch.timestamp
                    )
        transactional = header.attributes & TRANSACTIONAL
        ongoing = producer.transaction_first_offset >= 0
        if epoch < producer.epoch:  # PS-2 and PS-3
            return Refusal(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id}: epoch {epoch} is older than {producer.epoch}",
            )
        if transactional and verify and not (ongoing and producer.epoch == epoch):
            refusal = _check_guard(state, producer_id, guard)
            if refusal is not None:
                return refusal
        if origin is Origin.CLIENT:
            refusal = _check_sequence(state, producer, header)
            if refusal is not None:
                return refusal
        if ongoing and not transactional:  # PS-5
            return Refusal(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {producer_id}: a batch outside its transaction, ongoing from {producer.transaction_first_offset}",
            )
        return ACCEPT
    if header.attributes & TRANSACTIONAL and verify:
        refusal = _check_guard(state, producer_id, guard)
        if refusal is not None:
            return refusal
    if origin is Origin.CLIENT and producer_id in state.verifications:
        return _check_sequence(state, None, header) or ACCEPT
    return ACCEPT


def _check_guard(state: LogState, producer_id: int, guard: Guard | None) -> Refusal | None:
    verification = state.verifications.get(producer_id)
    if guard is not None and verification is not None and verification.guard is guard:
        return None
    return Refusal(
        ErrorCode.INVALID_TXN_STATE,
        f"producer {producer_id}: the batch was not part of an ongoing transaction",
    )


def _check_sequence(state: LogState, producer: ProducerState | None, header: BatchHeader) -> Refusal | None:
    """PS-4: the rows of table 4.4 from the top."""
    first = header.base_sequence
    if state.verifications:
        verification = state.verifications.get(header.producer_id)
        if verification is not None:
            if verification.supports_epoch_bump and first != 0 and (producer is None or not producer.batches):
                return _out_of_order(header, "0, the first of a transaction")
            if first > verification.lowest_sequence:
                return _out_of_order(
                    header, f"{verification.lowest_sequence}, of an earlier batch not appended yet"
                )
    if producer is None or producer.epoch == NO_EPOCH:
        return None
    if header.producer_epoch != producer.epoch:
        return None if first == 0 else _out_of_order(header, "0, the first of a new epoch")
    last = producer.batches[-1].last_sequence if producer.batches else NO_SEQUENCE
    expected = (last + 1) & MAX_SEQUENCE
    return None if first == expected else _out_of_order(header, str(expected))


def _out_of_order(header: BatchHeader, wanted: str) -> Refusal:
    return Refusal(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {header.producer_id}/{header.producer_epoch}: "
        f"wanted sequence {wanted}, found {header.base_sequence}",
    )


def decide_marker(
    state: LogState, producer_id: int, producer_epoch: int, coordinator_epoch: int, transaction_version: int
) -> Accept | Refusal:
    """Whether a marker may be appended (PS-6, PS-7)."""
    producer = state.producers.get(producer_id)
    if producer is None:
        return ACCEPT
    current = producer.epoch
    if transaction_version >= 2:
        ongoing = producer.transaction_first_offset >= 0
        retry = producer_epoch == current and (not ongoing or producer_epoch == MAX_EPOCH)  # B19
        stale = producer_epoch <= current and not retry
    else:
        stale = producer_epoch < current
    if stale:
        return Refusal(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"producer {producer_id}: marker of epoch {producer_epoch} (transaction version {transaction_version}), "
            f"the partition knows epoch {current}",
        )
    if coordinator_epoch < producer.coordinator_epoch:
        return Refusal(
            ErrorCode.TRANSACTION_COORDINATOR_FENCED,
            f"producer {producer_id}: marker of coordinator epoch {coordinator_epoch}, "
            f"the partition knows {producer.coordinator_epoch}",
        )
    return ACCEPT


def evolve(
    state: LogState,
    header: BatchHeader,
    *,
    base_offset: int,
    marker: Marker | None = None,
    max_timestamp: int | None = None,
    transaction_version: int = 0,
) -> CompletedTransaction | None:
    """Applies a batch that is in the log at `base_offset`.

    `max_timestamp` is the one that was written, if the header is still the client's. `marker` is what a control batch
    says; a control batch without one changes nothing but the log end offset.
    """
    last_offset = base_offset + header.last_offset_delta
    state.log_end_offset = last_offset + 1
    producer_id = header.producer_id
    if producer_id < 0:
        return None
    timestamp = header.max_timestamp if max_timestamp is None else max_timestamp
    attributes = header.attributes
    if attributes & CONTROL:
        return _evolve_marker(state, header, last_offset, marker, timestamp, transaction_version)
    epoch = header.producer_epoch
    producer = state.producers.get(producer_id)
    if producer is None:
        producer = state.producers[producer_id] = ProducerState(producer_id, epoch)
    elif producer.epoch != epoch:
        producer.epoch = epoch
        producer.batches.clear()
    first = header.base_sequence
    producer.batches.append(
        CachedBatch(
            first,
            (first + header.last_offset_delta) & MAX_SEQUENCE,
            last_offset,
            header.last_offset_delta,
            timestamp,
        )
    )
    producer.last_timestamp = timestamp
    if attributes & TRANSACTIONAL:
        if producer.transaction_first_offset < 0:
            producer.transaction_first_offset = base_offset
            state.ongoing[base_offset] = producer_id
            state.unstable[base_offset] = producer_id
        if state.verifications:
            state.verifications.pop(producer_id, None)
    return None


def _evolve_marker(
    state: LogState,
    header: BatchHeader,
    offset: int,
    marker: Marker | None,
    timestamp: int,
    transaction_version: int,
) -> CompletedTransaction | None:
    """PS-8."""
    if marker is None:  # all of its transaction was cleaned away
        return None
    producer_id, epoch = header.producer_id, header.producer_epoch
    producer = state.producers.get(producer_id)
    if producer is None:
        producer = state.producers[producer_id] = ProducerState(producer_id, epoch)
    completed = None
    first = producer.transaction_first_offset
    if first >= 0:
        completed = CompletedTransaction(
            producer_id, first, offset, not marker.commit, _next_undecided(state, producer_id, offset + 1)
        )
        producer.transaction_first_offset = NO_OFFSET
        del state.ongoing[first]
        state.completed.append(completed)
    # TRAP-19: a marker of the same epoch keeps the cache, TV1's next transaction goes on from it
    if producer.epoch != epoch:
        producer.epoch = epoch
        producer.batches.clear()
    producer.coordinator_epoch = marker.coordinator_epoch
    producer.last_timestamp = timestamp
    verification = state.verifications.get(producer_id)
    if verification is not None and not (transaction_version >= 2 and verification.epoch == epoch):
        del state.verifications[producer_id]
    return completed


def _next_undecided(state: LogState, producer_id: int, otherwise: int) -> int:
    """PS-10: where the oldest transaction of another producer begins."""
    for first, owner in state.ongoing.items():
        if owner != producer_id:
            return first
    return otherwise


def advance_high_watermark(state: LogState, offset: int) -> None:
    """All below `offset` is safely stored. It never goes back."""
    if offset <= state.high_watermark:
        return
    assert offset <= state.log_end_offset
    state.high_watermark = offset
    completed = state.completed
    while completed and completed[0].last_offset < offset:
        del state.unstable[completed.popleft().first_offset]


def last_stable_offset(state: LogState) -> int:
    """PS-9: the first offset that is still undecided, else the high watermark."""
    if state.unstable:
        first = max(next(iter(state.unstable)), state.log_start_offset)
        if first < state.high_watermark:
            return first
    return state.high_watermark


def raise_log_start(state: LogState, offset: int) -> None:
    """Retention or DeleteRecords: producers and ongoing transactions stay as they are (TRAP-25)."""
    if offset > state.log_start_offset:
        state.log_start_offset = offset
        state.log_end_offset = max(state.log_end_offset, offset)
        advance_high_watermark(state, offset)


def has_ongoing_transaction(state: LogState, producer_id: int, producer_epoch: int) -> bool:
    """Of exactly this epoch: then an append needs no verification."""
    producer = state.producers.get(producer_id)
    return (
        producer is not None and producer.transaction_first_offset >= 0 and producer.epoch == producer_epoch
    )


def expire_producers(state: LogState, now: int, expiration_ms: int) -> list[int]:
    """PS-12: forgets the idle ones and tells who they were. What counts is the time of the last record or marker."""
    expired = [
        producer.producer_id
        for producer in state.producers.values()
        if producer.transaction_first_offset < 0 and now - producer.last_timestamp >= expiration_ms
    ]
    for producer_id in expired:
        del state.producers[producer_id]
    old = [each for each, entry in state.verifications.items() if now - entry.created >= expiration_ms]
    for producer_id in old:
        del state.verifications[producer_id]
    return expired


def begin_verification(
    state: LogState,
    producer_id: int,
    producer_epoch: int,
    sequence: int,
    *,
    supports_epoch_bump: bool,
    now: int,
) -> Guard | Refusal | None:
    """Step 1 of spec 4.5: a guard to append with, None where no verification is needed, or a refusal.

    `supports_epoch_bump`: asked by Produce 12 or later. Changes only `state.verifications`, which no replay rebuilds.
    """
    producer = state.producers.get(producer_id)
    if producer is not None:
        if producer.epoch > producer_epoch:
            return Refusal(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id}: epoch {producer_epoch} is older than {producer.epoch}",
            )
        if producer.transaction_first_offset >= 0 and producer.epoch == producer_epoch:
            return None
    entry = state.verifications.get(producer_id)
    if entry is None:
        entry = Verification(Guard(), producer_epoch, sequence, supports_epoch_bump, now)
        state.verifications[producer_id] = entry
    elif producer_epoch == entry.epoch:
        entry.lowest_sequence = min(entry.lowest_sequence, sequence)
    elif producer_epoch > entry.epoch:
        entry.epoch, entry.lowest_sequence = producer_epoch, sequence
    return entry.guard


def to_snapshot(state: LogState) -> list[SnapshotEntry]:
    """The producers as a .snapshot file holds them: only the last batch of each (FMT-5)."""
    entries: list[SnapshotEntry] = []
    for producer in state.producers.values():
        last = (
            producer.batches[-1]
            if producer.batches
            else CachedBatch(NO_SEQUENCE, NO_SEQUENCE, NO_OFFSET, 0, -1)
        )
        entries.append(
            SnapshotEntry(
                producer.producer_id,
                producer.epoch,
                last.last_sequence,
                last.last_offset,
                last.offset_delta,
                producer.last_timestamp,
                producer.coordinator_epoch,
                producer.transaction_first_offset,
            )
        )
    return entries


def from_snapshot(
    entries: Iterable[SnapshotEntry],
    *,
    log_start_offset: int,
    snapshot_offset: int,
    now: int,
    expiration_ms: int,
) -> LogState:
    """The state before the batch at `snapshot_offset`, without producers that are idle too long (PS-12)."""
    state = LogState(log_start_offset=log_start_offset, log_end_offset=snapshot_offset)
    for entry in entries:
        if entry.transaction_first_offset < 0 and now - entry.timestamp >= expiration_ms:
            continue
        producer = ProducerState(entry.producer_id, entry.epoch)
        if entry.last_offset >= 0:
            producer.batches.append(
                CachedBatch(
                    add_sequence(entry.last_sequence, -entry.offset_delta),
                    entry.last_sequence,
                    entry.last_offset,
                    entry.offset_delta,
                    entry.timestamp,
                )
            )
        producer.coordinator_epoch = entry.coordinator_epoch
        producer.last_timestamp = entry.timestamp
        producer.transaction_first_offset = entry.transaction_first_offset
        state.producers[entry.producer_id] = producer
    for first, producer_id in sorted(
        (each.transaction_first_offset, each.producer_id)
        for each in state.producers.values()
        if each.transaction_first_offset >= 0
    ):
        state.ongoing[first] = producer_id
        state.unstable[first] = producer_id
    return state
