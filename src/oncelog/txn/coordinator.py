"""The rules of one transactional id: `decide` says what is answered and written, `evolve` applies what was written.

The order of every check is Kafka's (spec 02). A refusal changes nothing. A record is durable before its answer leaves;
`markers` are written after it and may be written again: recovery does.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from oncelog.errors import ErrorCode
from oncelog.model import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Millis,
    Producer,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
)
from oncelog.txn.state import (
    ENDING,
    FREE,
    MAX_EPOCH,
    MAY_FOLLOW,
    NO_EPOCH,
    NO_TIME,
    TV1,
    TV2,
    State,
    Txn,
)

NOBODY: Final = Producer(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
FENCING_EPOCH: Final = ProducerEpoch(MAX_EPOCH + 1)


class Decision(NamedTuple):
    """What to do about one request. `producer` is what the answer carries; on errors nobody (-1, -1)."""

    answer: ErrorCode
    producer: Producer = NOBODY
    record: Txn | None = None  # durable BEFORE the answer leaves
    needs_producer_id: bool = False  # ask again with a fresh one; nothing was decided
    kept: Producer = NOBODY  # whose ongoing transaction an heir was given (KIP-939)


def _refuse(error: ErrorCode) -> Decision:
    return Decision(error)


NEEDS_ID: Final = Decision(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, needs_producer_id=True)


# ---- InitProducerId (2.4)


def decide_init(
    txn: Txn | None,
    *,
    transactional_id: str,
    given: Producer | None,
    timeout_ms: int,
    now: Millis,
    server_version: int,
    fresh_id: ProducerId | None,
    pending: State | None = None,
    keep_prepared: bool = False,
    refuse_stale: bool = False,
) -> Decision:
    """A producer comes up, or repairs itself with the (id, epoch) it holds (KIP-360).

    `keep_prepared` (KIP-939): an ongoing transaction is not aborted but handed over, and only its heir may end it.
    `refuse_stale` (decision 0010): who repairs itself with an identity of before aborts nobody's transaction, as it does in
    Kafka: it is a zombie, or a late copy.
    """
    if txn is None:
        if fresh_id is None:
            return NEEDS_ID
        txn = Txn(
            transactional_id=transactional_id,
            producer=Producer(fresh_id, NO_PRODUCER_EPOCH),
            timeout_ms=timeout_ms,
        )
    if pending is not None:  # TX-5
        return _refuse(ErrorCode.CONCURRENT_TRANSACTIONS)
    if given is not None and not _may_init(txn, given):  # TX-6
        return _refuse(ErrorCode.PRODUCER_FENCED)
    if txn.state in ENDING:
        return _refuse(ErrorCode.CONCURRENT_TRANSACTIONS)
    if txn.state is State.ONGOING and refuse_stale and given is not None and _is_stale(txn, given):
        return _refuse(ErrorCode.PRODUCER_FENCED)
    if txn.state is State.ONGOING and keep_prepared:
        return _hand_over(txn, timeout_ms, now, fresh_id)
    if txn.state is State.ONGOING:  # TX-8: fence, abort, and let the newcomer ask again
        fenced = _prepare(
            txn, commit=False, now=now, version=server_version, fresh_id=fresh_id, fence=server_version == TV1
        )
        if fenced is None:
            return NEEDS_ID
        return Decision(ErrorCode.CONCURRENT_TRANSACTIONS, record=fenced)
    return _init_free(txn, given, timeout_ms, now, fresh_id)


def _hand_over(txn: Txn, timeout_ms: int, now: Millis, fresh_id: ProducerId | None) -> Decision:
    """The data stays with its producer, whose markers will end it; the newcomer gets an identity that fences all before."""
    owner = txn.owner
    if owner.epoch < MAX_EPOCH:
        heir = Producer(owner.id, ProducerEpoch(owner.epoch + 1))
    elif fresh_id is None:
        return NEEDS_ID
    else:
        heir = Producer(fresh_id, ProducerEpoch(0))
    record = txn._replace(
        next_producer_id=heir.id, next_producer_epoch=heir.epoch, timeout_ms=timeout_ms, update_ms=now
    )
    return Decision(ErrorCode.NONE, heir, record, kept=txn.producer)


def _may_init(txn: Txn, given: Producer) -> bool:
    return (
        txn.producer.epoch == NO_EPOCH
        or given.id == txn.owner.id
        or (given.id == txn.previous_producer_id and given.epoch >= MAX_EPOCH)
    )


def _is_stale(txn: Txn, given: Producer) -> bool:
    return given.id != txn.owner.id or given.epoch < txn.owner.epoch


def _init_free(
    txn: Txn, given: Producer | None, timeout_ms: int, now: Millis, fresh_id: ProducerId | None
) -> Decision:
    epoch = txn.producer.epoch
    exhausted = epoch >= MAX_EPOCH
    last_epoch = NO_EPOCH
    producer = Producer(txn.producer.id, ProducerEpoch(epoch + 1))
    if given is not None and given.epoch == txn.last_producer_epoch and not exhausted and epoch != NO_EPOCH:
        producer = txn.producer  # a retry: the answer was lost, the bump is done
        last_epoch = txn.last_producer_epoch
    elif given is not None:
        if exhausted and given.epoch != epoch:
            # An unhandled case in Kafka 4.3.1, kept as it answers (V19).
            return _refuse(ErrorCode.UNKNOWN_SERVER_ERROR)
        if given.epoch != epoch and epoch != NO_EPOCH:
            return _refuse(ErrorCode.PRODUCER_FENCED)
        last_epoch = epoch
    if exhausted:
        if fresh_id is None:
            return NEEDS_ID
        producer = Producer(fresh_id, ProducerEpoch(0))
    record = txn._replace(  # TX-7
        producer=producer,
        previous_producer_id=txn.producer.id,
        next_producer_id=NO_PRODUCER_ID,
        next_producer_epoch=NO_EPOCH,
        last_producer_epoch=last_epoch,
        timeout_ms=timeout_ms,
        state=State.EMPTY,
        partitions=(),
        start_ms=NO_TIME,
        update_ms=now,
    )
    return Decision(ErrorCode.NONE, producer, record)


# ---- AddPartitionsToTxn, AddOffsetsToTxn, the implicit add of Produce v12 and TxnOffsetCommit v5 (2.5)


def decide_add(
    txn: Txn | None,
    producer: Producer,
    partitions: Iterable[TopicPartition],
    *,
    version: int,
    now: Millis,
    pending: State | None = None,
) -> Decision:
    """Partitions join the transaction; the first ones open it."""
    if txn is None:
        return _refuse(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if pending is not None:  # before the producer is looked at (TRAP-3)
        return _refuse(ErrorCode.CONCURRENT_TRANSACTIONS)
    if producer.id != txn.owner.id:
        return _refuse(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if producer.epoch != txn.owner.epoch:
        return _refuse(ErrorCode.PRODUCER_FENCED)
    if txn.state in ENDING:
        return _refuse(ErrorCode.CONCURRENT_TRANSACTIONS)
    if txn.is_kept:  # it was prepared: it can only be ended
        return _refuse(ErrorCode.INVALID_TXN_STATE)
    ongoing = txn.state is State.ONGOING
    added = tuple(sorted({*txn.partitions, *partitions} if ongoing else set(partitions)))
    if ongoing and added == txn.partitions:
        return Decision(ErrorCode.NONE)
    record = txn._replace(
        state=State.ONGOING,
        partitions=added,
        previous_producer_id=txn.producer.id,
        start_ms=txn.start_ms if ongoing else now,
        update_ms=now,
        client_version=version,
    )
    return Decision(ErrorCode.NONE, record=record)


def decide_verify(
    txn: Txn | None, producer: Producer, partitions: Iterable[TopicPartition]
) -> Mapping[TopicPartition, ErrorCode]:
    """Is each partition in the ongoing transaction of this producer? Looks at no pending state (B4), writes nothing."""
    wanted = list(partitions)
    if txn is None or producer.id != txn.owner.id:
        return dict.fromkeys(wanted, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if producer.epoch != txn.owner.epoch:
        return dict.fromkeys(wanted, ErrorCode.PRODUCER_FENCED)
    if txn.state in ENDING:
        return dict.fromkeys(wanted, ErrorCode.CONCURRENT_TRANSACTIONS)
    writable = txn.state is State.ONGOING and not txn.is_kept
    inside = frozenset(txn.partitions) if writable else frozenset[TopicPartition]()
    return {each: ErrorCode.NONE if each in inside else ErrorCode.TRANSACTION_ABORTABLE for each in wanted}


# ---- EndTxn (2.6)

# TV1: what a (state, commit?) gets. A state to go to, or an answer.
END_TV1: Final[Mapping[tuple[State, bool], ErrorCode | State]] = {
    (State.EMPTY, True): ErrorCode.INVALID_TXN_STATE,
    (State.EMPTY, False): ErrorCode.INVALID_TXN_STATE,
    (State.ONGOING, True): State.PREPARE_COMMIT,
    (State.ONGOING, False): State.PREPARE_ABORT,
    (State.PREPARE_COMMIT, True): ErrorCode.CONCURRENT_TRANSACTIONS,
    (State.PREPARE_COMMIT, False): ErrorCode.INVALID_TXN_STATE,
    (State.PREPARE_ABORT, True): ErrorCode.INVALID_TXN_STATE,
    (State.PREPARE_ABORT, False): ErrorCode.CONCURRENT_TRANSACTIONS,
    (State.COMPLETE_COMMIT, True): ErrorCode.NONE,
    (State.COMPLETE_COMMIT, False): ErrorCode.INVALID_TXN_STATE,
    (State.COMPLETE_ABORT, True): ErrorCode.INVALID_TXN_STATE,
    (State.COMPLETE_ABORT, False): ErrorCode.NONE,
}

# TV2: (state, commit?, is it a retry with the epoch before the bump?).
END_TV2: Final[Mapping[tuple[State, bool, bool], ErrorCode | State]] = {
    (State.EMPTY, False, True): ErrorCode.PRODUCER_FENCED,
    (State.EMPTY, False, False): State.PREPARE_ABORT,  # TRAP-6: an abort is never wrong
    (State.EMPTY, True, True): ErrorCode.PRODUCER_FENCED,
    (State.EMPTY, True, False): ErrorCode.INVALID_TXN_STATE,
    (State.ONGOING, False, True): ErrorCode.PRODUCER_FENCED,
    (State.ONGOING, False, False): State.PREPARE_ABORT,
    (State.ONGOING, True, True): ErrorCode.PRODUCER_FENCED,
    (State.ONGOING, True, False): State.PREPARE_COMMIT,
    (State.PREPARE_COMMIT, False, True): ErrorCode.INVALID_TXN_STATE,
    (State.PREPARE_COMMIT, False, False): ErrorCode.PRODUCER_FENCED,
    (State.PREPARE_COMMIT, True, True): ErrorCode.CONCURRENT_TRANSACTIONS,
    (State.PREPARE_COMMIT, True, False): ErrorCode.PRODUCER_FENCED,
    (State.PREPARE_ABORT, False, True): ErrorCode.CONCURRENT_TRANSACTIONS,
    (State.PREPARE_ABORT, False, False): ErrorCode.PRODUCER_FENCED,
    (State.PREPARE_ABORT, True, True): ErrorCode.INVALID_TXN_STATE,
    (State.PREPARE_ABORT, True, False): ErrorCode.PRODUCER_FENCED,
    (State.COMPLETE_COMMIT, False, True): ErrorCode.INVALID_TXN_STATE,
    (State.COMPLETE_COMMIT, False, False): State.PREPARE_ABORT,
    (State.COMPLETE_COMMIT, True, True): ErrorCode.NONE,
    (State.COMPLETE_COMMIT, True, False): ErrorCode.INVALID_TXN_STATE,
    (State.COMPLETE_ABORT, False, True): ErrorCode.NONE,
    (State.COMPLETE_ABORT, False, False): State.PREPARE_ABORT,
    (State.COMPLETE_ABORT, True, True): ErrorCode.INVALID_TXN_STATE,
    (State.COMPLETE_ABORT, True, False): ErrorCode.INVALID_TXN_STATE,
}


def decide_end(
    txn: Txn | None,
    producer: Producer,
    *,
    commit: bool,
    version: int,
    now: Millis,
    fresh_id: ProducerId | None,
    pending: State | None = None,
) -> Decision:
    """A client ends its transaction. The version of the request decides the protocol, not the transaction's (2.3)."""
    if txn is None:
        return _refuse(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if version == TV2:
        return _end_tv2(txn, producer, commit, now, fresh_id, pending)
    if producer.id != txn.owner.id:
        return _refuse(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if producer.epoch != txn.owner.epoch:
        return _refuse(ErrorCode.PRODUCER_FENCED)
    if pending is not None:
        return _refuse(ErrorCode.CONCURRENT_TRANSACTIONS)
    step = END_TV1[txn.state, commit]
    if isinstance(step, ErrorCode):
        return _refuse(step)
    return Decision(
        ErrorCode.NONE, txn.owner, _prepare(txn, commit=commit, now=now, version=TV1, fresh_id=None)
    )


def _end_tv2(
    txn: Txn,
    producer: Producer,
    commit: bool,
    now: Millis,
    fresh_id: ProducerId | None,
    pending: State | None,
) -> Decision:
    if pending is not None:  # first of all, unlike TV1
        return _refuse(ErrorCode.CONCURRENT_TRANSACTIONS)
    current = txn.owner
    overflow_retry = (
        producer.id == txn.previous_producer_id
        and producer.id != current.id
        and producer.epoch == MAX_EPOCH
        and current.epoch == 0
    )
    if producer.id != current.id and not overflow_retry:
        return _refuse(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    retry = overflow_retry or producer.epoch == current.epoch - 1
    if not retry and producer.epoch != current.epoch:
        return _refuse(ErrorCode.PRODUCER_FENCED)
    step = END_TV2[txn.state, commit, retry]
    if step is ErrorCode.NONE:
        return Decision(ErrorCode.NONE, current)
    if isinstance(step, ErrorCode):
        return _refuse(step)
    record = _prepare(txn, commit=commit, now=now, version=TV2, fresh_id=fresh_id)
    if record is None:
        return NEEDS_ID
    return Decision(ErrorCode.NONE, completed(record, now).producer, record)  # TX-11


def _prepare(
    txn: Txn, *, commit: bool, now: Millis, version: int, fresh_id: ProducerId | None, fence: bool = False
) -> Txn | None:
    """The Prepare record; None if it needs a fresh producer id. `fence`: TV1's bump by the server (TX-8)."""
    owner = txn.owner
    after = owner  # who goes on when the transaction is over
    last_epoch = txn.last_producer_epoch
    if version == TV2:  # TX-10
        last_epoch = owner.epoch
        if owner.epoch < MAX_EPOCH:
            after = Producer(owner.id, ProducerEpoch(owner.epoch + 1))
        elif fresh_id is None:
            return None
        else:
            after = Producer(fresh_id, ProducerEpoch(0))
    elif fence:
        last_epoch = NO_EPOCH
        after = Producer(owner.id, ProducerEpoch(owner.epoch + 1))
    rotates = after.id != txn.producer.id
    return txn._replace(
        # Markers carry the id of the data and an epoch that no client holds.
        producer=Producer(txn.producer.id, FENCING_EPOCH) if rotates else after,
        previous_producer_id=txn.producer.id,
        next_producer_id=after.id if rotates else NO_PRODUCER_ID,
        next_producer_epoch=after.epoch if rotates and after.epoch > 0 else NO_EPOCH,
        last_producer_epoch=last_epoch,
        state=State.PREPARE_COMMIT if commit else State.PREPARE_ABORT,
        partitions=txn.partitions if txn.state is State.ONGOING else (),
        start_ms=txn.start_ms if txn.state is State.ONGOING else now,
        update_ms=now,
        client_version=version,
    )


def decide_abort(
    txn: Txn, *, now: Millis, server_version: int, fresh_id: ProducerId | None, pending: State | None = None
) -> Decision:
    """The server ends an ongoing transaction by abort and fences its producer: a timeout, or an admin's wish (TX-15)."""
    if pending is not None or txn.state is not State.ONGOING:
        return _refuse(ErrorCode.CONCURRENT_TRANSACTIONS)
    record = _prepare(
        txn, commit=False, now=now, version=server_version, fresh_id=fresh_id, fence=server_version == TV1
    )
    return NEEDS_ID if record is None else Decision(ErrorCode.NONE, record=record)


# ---- after Prepare (2.7), time (2.9, 2.10), and applying a record


def completed(txn: Txn, now: Millis) -> Txn:
    """The Complete record of a Prepare record: every partition has its marker or is gone (TX-14)."""
    assert txn.state in ENDING
    after = txn.producer
    if txn.next_producer_id != NO_PRODUCER_ID:
        after = Producer(txn.next_producer_id, ProducerEpoch(max(txn.next_producer_epoch, 0)))
    return txn._replace(
        producer=after,
        previous_producer_id=txn.producer.id,
        next_producer_id=NO_PRODUCER_ID,
        next_producer_epoch=NO_EPOCH,
        state=State.COMPLETE_COMMIT if txn.state is State.PREPARE_COMMIT else State.COMPLETE_ABORT,
        partitions=(),
        update_ms=now,
    )


def is_timed_out(txn: Txn, now: Millis) -> bool:
    """TX-15: the clock starts with the first partition and is refreshed by nothing."""
    return (
        txn.state is State.ONGOING
        and txn.start_ms + txn.timeout_ms < now
        and not txn.is_two_phase  # whatever time-out its heir asked for
    )


def is_expired(txn: Txn, now: Millis, expiration_ms: int) -> bool:
    """TX-17: idle for so long that the id is forgotten."""
    return txn.state in FREE and txn.update_ms <= now - expiration_ms


def evolve(txn: Txn | None, record: Txn) -> Txn:
    """Applies a record that is durable. It cannot refuse; an impossible step is our own bug."""
    assert txn is None or txn.state in MAY_FOLLOW[record.state] or txn.state is record.state
    return record
