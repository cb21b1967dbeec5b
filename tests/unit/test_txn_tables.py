"""Every cell of the coordinator's tables (spec 02): state x request -> answer and next state."""

import pytest

from oncelog.errors import ErrorCode
from oncelog.model import Millis, Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.txn.coordinator import (
    Decision,
    completed,
    decide_abort,
    decide_add,
    decide_end,
    decide_init,
    decide_verify,
    evolve,
    is_expired,
    is_timed_out,
)
from oncelog.txn.state import NEVER_TIMES_OUT_MS, TV1, TV2, State, Txn

P0 = TopicPartition("t", 0)
P1 = TopicPartition("t", 1)
NOW = Millis(5_000)
FRESH = ProducerId(900)


def producer(producer_id: int, epoch: int) -> Producer:
    return Producer(ProducerId(producer_id), ProducerEpoch(epoch))


def txn(state: State, *, epoch: int = 3, last_epoch: int = -1) -> Txn:
    with_data = state in (State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT)
    return Txn(
        transactional_id="tid",
        producer=producer(7, epoch),
        previous_producer_id=ProducerId(7),
        last_producer_epoch=last_epoch,
        timeout_ms=60_000,
        state=state,
        partitions=(P0,) if with_data else (),
        start_ms=Millis(1_000),
        update_ms=Millis(2_000),
        client_version=TV1,
    )


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines() if line.strip() and not line.strip().startswith("#")]


def says(decision: Decision) -> tuple[str, str]:
    return decision.answer.name, "-" if decision.record is None else decision.record.state.name


END_TV1 = """
# state           ask     answer                   next
  EMPTY           commit  INVALID_TXN_STATE        -
  EMPTY           abort   INVALID_TXN_STATE        -
  ONGOING         commit  NONE                     PREPARE_COMMIT
  ONGOING         abort   NONE                     PREPARE_ABORT
  PREPARE_COMMIT  commit  CONCURRENT_TRANSACTIONS  -
  PREPARE_COMMIT  abort   INVALID_TXN_STATE        -
  PREPARE_ABORT   commit  INVALID_TXN_STATE        -
  PREPARE_ABORT   abort   CONCURRENT_TRANSACTIONS  -
  COMPLETE_COMMIT commit  NONE                     -
  COMPLETE_COMMIT abort   INVALID_TXN_STATE        -
  COMPLETE_ABORT  commit  INVALID_TXN_STATE        -
  COMPLETE_ABORT  abort   NONE                     -
"""


@pytest.mark.parametrize(("state", "ask", "answer", "then"), rows(END_TV1))
def test_end_txn_tv1_2_6(state: str, ask: str, answer: str, then: str) -> None:
    decision = decide_end(
        txn(State[state]), producer(7, 3), commit=ask == "commit", version=TV1, now=NOW, fresh_id=None
    )
    assert says(decision) == (answer, then)
    if decision.record is not None:
        assert decision.record.producer == producer(7, 3)  # TV1 keeps its epoch, and the marker has it


END_TV1_BY_WHOM = """
# pid  epoch  pending  answer
  8    3      no       INVALID_PRODUCER_ID_MAPPING
  7    2      no       PRODUCER_FENCED
  7    4      no       PRODUCER_FENCED
  8    3      yes      INVALID_PRODUCER_ID_MAPPING
  7    2      yes      PRODUCER_FENCED
  7    3      yes      CONCURRENT_TRANSACTIONS
"""


@pytest.mark.parametrize(("pid", "epoch", "pending", "answer"), rows(END_TV1_BY_WHOM))
def test_end_txn_tv1_order_b26(pid: str, epoch: str, pending: str, answer: str) -> None:
    decision = decide_end(
        txn(State.ONGOING),
        producer(int(pid), int(epoch)),
        commit=True,
        version=TV1,
        now=NOW,
        fresh_id=None,
        pending=State.COMPLETE_COMMIT if pending == "yes" else None,
    )
    assert says(decision) == (answer, "-")


END_TV2 = """
# state           ask     epoch    answer                   next
  EMPTY           abort   retry    PRODUCER_FENCED          -
  EMPTY           abort   current  NONE                     PREPARE_ABORT
  EMPTY           commit  retry    PRODUCER_FENCED          -
  EMPTY           commit  current  INVALID_TXN_STATE        -
  ONGOING         abort   retry    PRODUCER_FENCED          -
  ONGOING         abort   current  NONE                     PREPARE_ABORT
  ONGOING         commit  retry    PRODUCER_FENCED          -
  ONGOING         commit  current  NONE                     PREPARE_COMMIT
  PREPARE_COMMIT  abort   retry    INVALID_TXN_STATE        -
  PREPARE_COMMIT  abort   current  PRODUCER_FENCED          -
  PREPARE_COMMIT  commit  retry    CONCURRENT_TRANSACTIONS  -
  PREPARE_COMMIT  commit  current  PRODUCER_FENCED          -
  PREPARE_ABORT   abort   retry    CONCURRENT_TRANSACTIONS  -
  PREPARE_ABORT   abort   current  PRODUCER_FENCED          -
  PREPARE_ABORT   commit  retry    INVALID_TXN_STATE        -
  PREPARE_ABORT   commit  current  PRODUCER_FENCED          -
  COMPLETE_COMMIT abort   retry    INVALID_TXN_STATE        -
  COMPLETE_COMMIT abort   current  NONE                     PREPARE_ABORT
  COMPLETE_COMMIT commit  retry    NONE                     -
  COMPLETE_COMMIT commit  current  INVALID_TXN_STATE        -
  COMPLETE_ABORT  abort   retry    NONE                     -
  COMPLETE_ABORT  abort   current  NONE                     PREPARE_ABORT
  COMPLETE_ABORT  commit  retry    INVALID_TXN_STATE        -
  COMPLETE_ABORT  commit  current  INVALID_TXN_STATE        -
"""


@pytest.mark.parametrize(("state", "ask", "epoch", "answer", "then"), rows(END_TV2))
def test_end_txn_tv2_2_6_trap5_trap6(state: str, ask: str, epoch: str, answer: str, then: str) -> None:
    asked = producer(7, 3 if epoch == "current" else 2)
    decision = decide_end(
        txn(State[state]), asked, commit=ask == "commit", version=TV2, now=NOW, fresh_id=None
    )
    assert says(decision) == (answer, then)
    if decision.record is not None:  # TX-10: a bump
        assert decision.record.producer == producer(7, 4)
        assert decision.record.last_producer_epoch == 3
        assert decision.producer == producer(7, 4)  # TX-11
        assert decision.record.start_ms == (1_000 if state == "ONGOING" else NOW)
    elif answer == "NONE":
        assert decision.producer == producer(7, 3)  # the present ids, not (-1, -1)
    else:
        assert decision.producer == producer(-1, -1)


END_TV2_BY_WHOM = """
# pid  epoch  pending  answer
  8    3      no       INVALID_PRODUCER_ID_MAPPING
  7    1      no       PRODUCER_FENCED
  7    4      no       PRODUCER_FENCED
  8    3      yes      CONCURRENT_TRANSACTIONS
  7    1      yes      CONCURRENT_TRANSACTIONS
  7    3      yes      CONCURRENT_TRANSACTIONS
"""


@pytest.mark.parametrize(("pid", "epoch", "pending", "answer"), rows(END_TV2_BY_WHOM))
def test_end_txn_tv2_pending_comes_first_trap3(pid: str, epoch: str, pending: str, answer: str) -> None:
    decision = decide_end(
        txn(State.ONGOING),
        producer(int(pid), int(epoch)),
        commit=True,
        version=TV2,
        now=NOW,
        fresh_id=None,
        pending=State.COMPLETE_COMMIT if pending == "yes" else None,
    )
    assert says(decision) == (answer, "-")


def test_end_txn_unknown_id() -> None:
    for version in (TV1, TV2):
        decision = decide_end(None, producer(7, 3), commit=True, version=version, now=NOW, fresh_id=None)
        assert says(decision) == ("INVALID_PRODUCER_ID_MAPPING", "-")


def test_epoch_exhaustion_tv2_tx12_trap7_b16() -> None:
    at_end = txn(State.ONGOING, epoch=32766)
    asked = decide_end(at_end, producer(7, 32766), commit=True, version=TV2, now=NOW, fresh_id=None)
    assert asked.needs_producer_id
    decision = decide_end(at_end, producer(7, 32766), commit=True, version=TV2, now=NOW, fresh_id=FRESH)
    assert decision.producer == producer(900, 0)
    assert decision.record is not None
    assert decision.record.producer == producer(7, 32767)  # the markers' epoch
    assert decision.record.next_producer_id == 900
    done = completed(decision.record, NOW)
    assert done.producer == producer(900, 0)
    assert done.previous_producer_id == 7
    retry = decide_end(done, producer(7, 32766), commit=True, version=TV2, now=NOW, fresh_id=None)
    assert retry.answer is ErrorCode.NONE
    assert retry.producer == producer(900, 0)
    older = decide_end(done, producer(7, 32765), commit=True, version=TV2, now=NOW, fresh_id=None)
    assert older.answer is ErrorCode.INVALID_PRODUCER_ID_MAPPING


INIT = """
# state           epoch  last  given     answer                   gets     next
  EMPTY           3      -1    -         NONE                     7/4      EMPTY
  COMPLETE_COMMIT 3      -1    -         NONE                     7/4      EMPTY
  COMPLETE_ABORT  3      -1    -         NONE                     7/4      EMPTY
  EMPTY           3      -1    7/3       NONE                     7/4      EMPTY
  EMPTY           3      2     7/2       NONE                     7/3      EMPTY
  EMPTY           3      -1    7/2       PRODUCER_FENCED          -1/-1    -
  EMPTY           3      -1    7/9       PRODUCER_FENCED          -1/-1    -
  EMPTY           3      -1    12/3      PRODUCER_FENCED          -1/-1    -
  COMPLETE_ABORT  3      2     7/2       NONE                     7/3      EMPTY
  EMPTY           32766  -1    -         NONE                     900/0    EMPTY
  EMPTY           32766  -1    7/32766   NONE                     900/0    EMPTY
  EMPTY           32766  -1    7/5       UNKNOWN_SERVER_ERROR     -1/-1    -
  ONGOING         3      -1    -         CONCURRENT_TRANSACTIONS  -1/-1    PREPARE_ABORT
  ONGOING         3      -1    7/1       CONCURRENT_TRANSACTIONS  -1/-1    PREPARE_ABORT
  ONGOING         3      -1    8/3       PRODUCER_FENCED          -1/-1    -
  PREPARE_COMMIT  3      -1    -         CONCURRENT_TRANSACTIONS  -1/-1    -
  PREPARE_ABORT   3      -1    7/3       CONCURRENT_TRANSACTIONS  -1/-1    -
"""


@pytest.mark.parametrize("version", [TV1, TV2])
@pytest.mark.parametrize(("state", "epoch", "last", "given", "answer", "gets", "then"), rows(INIT))
def test_init_producer_id_2_4(
    version: int, state: str, epoch: str, last: str, given: str, answer: str, gets: str, then: str
) -> None:
    asked = None if given == "-" else producer(*map(int, given.split("/")))
    before = txn(State[state], epoch=int(epoch), last_epoch=int(last))
    decision = init(before, asked, version=version)
    assert says(decision) == (answer, then)
    assert str(decision.producer) == gets
    if then == "EMPTY":  # TX-7
        assert decision.record is not None
        assert decision.record.partitions == ()
        assert decision.record.start_ms == -1
        assert decision.record.timeout_ms == 30_000
        assert decision.record.previous_producer_id == 7
    if then == "PREPARE_ABORT":  # TX-8
        assert decision.record is not None
        assert decision.record.producer == producer(7, 4)
        assert decision.record.last_producer_epoch == (3 if version == TV2 else -1)


def init(
    before: Txn | None, given: Producer | None, *, version: int = TV2, pending: State | None = None
) -> Decision:
    return decide_init(
        before,
        transactional_id="tid",
        given=given,
        timeout_ms=30_000,
        now=NOW,
        server_version=version,
        fresh_id=FRESH,
        pending=pending,
    )


STALE = """
# given    epoch  answer                   next
  -        3      CONCURRENT_TRANSACTIONS  PREPARE_ABORT
  7/3      3      CONCURRENT_TRANSACTIONS  PREPARE_ABORT
  7/4      3      CONCURRENT_TRANSACTIONS  PREPARE_ABORT
  7/2      3      PRODUCER_FENCED          -
  6/32766  0      PRODUCER_FENCED          -
"""


@pytest.mark.parametrize(("given", "epoch", "answer", "then"), rows(STALE))
def test_a_stale_init_aborts_nothing_decision_0010(given: str, epoch: str, answer: str, then: str) -> None:
    """Only where a transaction is ongoing; the last row is of the producer id before a rollover. Kafka aborts in each row."""
    before = txn(State.ONGOING, epoch=int(epoch))._replace(previous_producer_id=ProducerId(6))
    who = None if given == "-" else producer(*map(int, given.split("/")))
    for refuse, wanted in ((True, (answer, then)), (False, ("CONCURRENT_TRANSACTIONS", "PREPARE_ABORT"))):
        decision = decide_init(
            before,
            transactional_id="tid",
            given=who,
            timeout_ms=30_000,
            now=NOW,
            server_version=TV2,
            fresh_id=FRESH,
            refuse_stale=refuse,
        )
        assert says(decision) == wanted


def test_init_pending_tx5() -> None:
    assert init(txn(State.EMPTY), None, pending=State.ONGOING).answer is ErrorCode.CONCURRENT_TRANSACTIONS


def test_init_unknown_id_with_foreign_producer_v16() -> None:
    first = init(None, producer(999, 7))
    assert first.producer == producer(900, 0)
    assert first.record is not None
    assert init(first.record, producer(999, 7)).answer is ErrorCode.PRODUCER_FENCED


def test_init_retry_after_rotation_v19_v20() -> None:
    rotated = init(txn(State.EMPTY, epoch=32766), producer(7, 32766)).record
    assert rotated is not None
    assert init(rotated, producer(7, 32766)).producer == producer(900, 0)
    foreign = init(txn(State.EMPTY, epoch=32766), None).record
    assert foreign is not None
    assert init(foreign, producer(7, 32766)).answer is ErrorCode.PRODUCER_FENCED


def test_fence_at_the_last_epoch_rotates_under_tv2_b17_kafka_19367() -> None:
    fenced = init(txn(State.ONGOING, epoch=32766), None).record
    assert fenced is not None
    assert fenced.producer == producer(7, 32767)
    done = completed(fenced, NOW)
    assert done.producer == producer(900, 0)
    assert init(done, None).producer == producer(900, 1)


def test_init_after_a_timeout_abort_returns_the_bumped_epoch_tx9() -> None:
    aborted = decide_abort(txn(State.ONGOING), now=NOW, server_version=TV2, fresh_id=None).record
    assert aborted is not None
    assert init(completed(aborted, NOW), producer(7, 3)).producer == producer(7, 4)


ADD = """
# state           pid/epoch  pending  answer                       next
  EMPTY           7/3        no       NONE                         ONGOING
  ONGOING         7/3        no       NONE                         ONGOING
  COMPLETE_COMMIT 7/3        no       NONE                         ONGOING
  COMPLETE_ABORT  7/3        no       NONE                         ONGOING
  PREPARE_COMMIT  7/3        no       CONCURRENT_TRANSACTIONS      -
  PREPARE_ABORT   7/3        no       CONCURRENT_TRANSACTIONS      -
  ONGOING         8/3        no       INVALID_PRODUCER_ID_MAPPING  -
  ONGOING         7/2        no       PRODUCER_FENCED              -
  ONGOING         7/4        no       PRODUCER_FENCED              -
  ONGOING         8/3        yes      CONCURRENT_TRANSACTIONS      -
"""


@pytest.mark.parametrize(("state", "who", "pending", "answer", "then"), rows(ADD))
def test_add_partitions_2_5(state: str, who: str, pending: str, answer: str, then: str) -> None:
    decision = decide_add(
        txn(State[state]),
        producer(*map(int, who.split("/"))),
        [P1],
        version=TV1,
        now=NOW,
        pending=State.COMPLETE_COMMIT if pending == "yes" else None,
    )
    assert says(decision) == (answer, then)
    if decision.record is not None:
        ongoing = state == "ONGOING"
        assert decision.record.partitions == ((P0, P1) if ongoing else (P1,))
        assert decision.record.start_ms == (1_000 if ongoing else NOW)  # TX-15: not refreshed


def test_add_of_known_partitions_writes_nothing() -> None:
    decision = decide_add(txn(State.ONGOING), producer(7, 3), [P0], version=TV2, now=NOW)
    assert says(decision) == ("NONE", "-")


def test_add_with_no_partitions_opens_the_transaction_v35() -> None:
    decision = decide_add(txn(State.EMPTY), producer(7, 3), [], version=TV1, now=NOW)
    assert says(decision) == ("NONE", "ONGOING")


VERIFY = """
# state           pid/epoch  p0                           p1
  ONGOING         7/3        NONE                         TRANSACTION_ABORTABLE
  EMPTY           7/3        TRANSACTION_ABORTABLE        TRANSACTION_ABORTABLE
  COMPLETE_COMMIT 7/3        TRANSACTION_ABORTABLE        TRANSACTION_ABORTABLE
  PREPARE_COMMIT  7/3        CONCURRENT_TRANSACTIONS      CONCURRENT_TRANSACTIONS
  PREPARE_ABORT   7/3        CONCURRENT_TRANSACTIONS      CONCURRENT_TRANSACTIONS
  PREPARE_ABORT   8/3        INVALID_PRODUCER_ID_MAPPING  INVALID_PRODUCER_ID_MAPPING
  PREPARE_ABORT   7/2        PRODUCER_FENCED              PRODUCER_FENCED
  ONGOING         7/4        PRODUCER_FENCED              PRODUCER_FENCED
"""


@pytest.mark.parametrize(("state", "who", "first", "second"), rows(VERIFY))
def test_verify_only_2_5(state: str, who: str, first: str, second: str) -> None:
    found = decide_verify(txn(State[state]), producer(*map(int, who.split("/"))), [P0, P1])
    assert [found[P0].name, found[P1].name] == [first, second]


def test_timeout_tx15_and_two_phase_never() -> None:
    ongoing = txn(State.ONGOING)
    assert not is_timed_out(ongoing, Millis(61_000))
    assert is_timed_out(ongoing, Millis(61_001))
    assert not is_timed_out(ongoing._replace(timeout_ms=NEVER_TIMES_OUT_MS), Millis(2**50))
    assert not is_timed_out(txn(State.PREPARE_COMMIT), Millis(2**50))


def test_timeout_abort_under_tv1_bumps_the_epoch_b35_kafka_6119() -> None:
    decision = decide_abort(txn(State.ONGOING), now=NOW, server_version=TV1, fresh_id=None)
    assert decision.record is not None
    assert decision.record.producer == producer(7, 4)
    assert decision.record.last_producer_epoch == -1


@pytest.mark.parametrize("state", list(State))
def test_expiry_only_of_idle_ids_tx17(state: State) -> None:
    idle = state in (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
    assert is_expired(txn(state), Millis(2_000 + 100), 100) is idle
    assert not is_expired(txn(state), Millis(2_000 + 99), 100)


def test_evolve_takes_only_listed_edges_i4() -> None:
    prepared = txn(State.PREPARE_COMMIT)
    assert evolve(prepared, completed(prepared, NOW)).state is State.COMPLETE_COMMIT
    with pytest.raises(AssertionError):
        evolve(prepared, prepared._replace(state=State.COMPLETE_ABORT))
