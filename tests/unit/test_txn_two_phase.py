"""KIP-939, decision 0011: an ongoing transaction is handed over to an heir, and only the heir may end it."""

import pytest

from oncelog.errors import ErrorCode
from oncelog.model import Millis, Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.txn.coordinator import (
    Decision,
    completed,
    decide_add,
    decide_end,
    decide_init,
    decide_verify,
    is_timed_out,
)
from oncelog.txn.state import NEVER_TIMES_OUT_MS, TV1, TV2, State, Txn
from oncelog.txn.stored import decode_txn, encode_txn

P0 = TopicPartition("t", 0)
NOW = Millis(5_000)
FRESH = ProducerId(900)


def producer(producer_id: int, epoch: int) -> Producer:
    return Producer(ProducerId(producer_id), ProducerEpoch(epoch))


def ongoing(epoch: int = 3) -> Txn:
    return Txn(
        transactional_id="tid",
        producer=producer(7, epoch),
        previous_producer_id=ProducerId(7),
        timeout_ms=NEVER_TIMES_OUT_MS,
        state=State.ONGOING,
        partitions=(P0,),
        start_ms=Millis(1_000),
        update_ms=Millis(2_000),
        client_version=TV2,
    )


def init(before: Txn, *, keep: bool, given: Producer | None = None) -> Decision:
    return decide_init(
        before,
        transactional_id="tid",
        given=given,
        timeout_ms=NEVER_TIMES_OUT_MS,
        now=NOW,
        server_version=TV2,
        fresh_id=FRESH,
        keep_prepared=keep,
    )


def kept(epoch: int = 3) -> Txn:
    record = init(ongoing(epoch), keep=True).record
    assert record is not None
    return record


def end(txn: Txn, who: Producer, *, commit: bool = True, version: int = TV2) -> Decision:
    return decide_end(txn, who, commit=commit, version=version, now=NOW, fresh_id=FRESH)


def test_the_heir_is_told_whose_transaction_it_found_and_nothing_is_aborted() -> None:
    decision = init(ongoing(), keep=True)
    assert decision.answer is ErrorCode.NONE
    assert decision.producer == producer(7, 4)
    assert decision.kept == producer(7, 3)
    assert decision.record is not None
    assert decision.record.state is State.ONGOING
    assert decision.record.producer == producer(7, 3)
    assert decision.record.partitions == (P0,)
    assert decision.record.start_ms == 1_000  # its age stays true


def test_what_was_handed_over_survives_a_restart() -> None:
    for txn in (kept(), kept(32766)):
        assert decode_txn("tid", encode_txn(txn, 1)) == txn


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize(("version", "after"), [(TV2, "7/5"), (TV1, "7/4")])
def test_only_the_heir_ends_it(commit: bool, version: int, after: str) -> None:
    txn = kept()
    zombie = end(txn, producer(7, 3), commit=commit, version=version)
    assert zombie.answer is ErrorCode.PRODUCER_FENCED
    decision = end(txn, producer(7, 4), commit=commit, version=version)
    assert decision.answer is ErrorCode.NONE
    assert decision.record is not None
    assert decision.record.producer.epoch > 3  # the markers' epoch fences the data's owner
    assert decision.record.partitions == (P0,)
    done = completed(decision.record, NOW)
    assert str(done.producer) == after
    assert str(decision.producer) == after


def test_a_retried_end_of_the_heir_is_recognised() -> None:
    record = end(kept(), producer(7, 4)).record
    assert record is not None
    retry = end(completed(record, NOW), producer(7, 4))
    assert (retry.answer, retry.producer) == (ErrorCode.NONE, producer(7, 5))


def test_an_heir_of_the_last_epoch_gets_a_fresh_id_and_the_markers_keep_the_old_one() -> None:
    txn = kept(32766)
    assert txn.owner == producer(900, 0)
    assert end(txn, producer(7, 32766)).answer is ErrorCode.PRODUCER_FENCED
    decision = end(txn, producer(900, 0))
    assert decision.record is not None
    assert decision.record.producer == producer(7, 32767)
    assert decode_txn("tid", encode_txn(decision.record, 1)) == decision.record._replace(
        last_producer_epoch=-1
    )
    assert completed(decision.record, NOW).producer == producer(900, 1)
    assert decision.producer == producer(900, 1)


def test_a_prepared_transaction_takes_no_more() -> None:
    txn = kept()
    for who, error in (
        (producer(7, 4), ErrorCode.INVALID_TXN_STATE),
        (producer(7, 3), ErrorCode.PRODUCER_FENCED),
    ):
        assert decide_add(txn, who, [P0], version=TV2, now=NOW).answer is error
    assert decide_verify(txn, producer(7, 3), [P0])[P0] is ErrorCode.PRODUCER_FENCED
    assert decide_verify(txn, producer(7, 4), [P0])[P0] is ErrorCode.TRANSACTION_ABORTABLE


def test_a_second_heir_fences_the_first() -> None:
    second = init(kept(), keep=True)
    assert second.producer == producer(7, 5)
    assert second.kept == producer(7, 3)
    assert second.record is not None
    assert end(second.record, producer(7, 4)).answer is ErrorCode.PRODUCER_FENCED


def test_an_init_that_does_not_keep_aborts_above_the_heir() -> None:
    decision = init(kept(), keep=False)
    assert decision.answer is ErrorCode.CONCURRENT_TRANSACTIONS
    assert decision.record is not None
    assert decision.record.state is State.PREPARE_ABORT
    assert decision.record.producer == producer(7, 5)


def test_a_prepared_transaction_has_no_time_out_whatever_its_heir_asks_for() -> None:
    heir = decide_init(
        ongoing(),
        transactional_id="tid",
        given=None,
        timeout_ms=1_000,
        now=NOW,
        server_version=TV2,
        fresh_id=FRESH,
        keep_prepared=True,
    )
    assert heir.record is not None
    assert not is_timed_out(heir.record, Millis(2**50))
    assert not is_timed_out(decoded(heir.record), Millis(2**50))
    # what the heir does of its own afterwards is an ordinary transaction with the time-out it asked for
    ended = end(heir.record, heir.producer).record
    assert ended is not None
    assert ended.timeout_ms == 1_000
    after = decide_add(completed(ended, NOW), producer(7, 5), [P0], version=TV2, now=NOW).record
    assert after is not None
    assert is_timed_out(after, Millis(NOW + 1_001))


def decoded(txn: Txn) -> Txn:
    found = decode_txn("tid", encode_txn(txn, 1))
    assert found is not None
    return found


def test_without_an_ongoing_transaction_keeping_is_an_ordinary_init() -> None:
    free = ongoing()._replace(state=State.COMPLETE_COMMIT, partitions=())
    decision = init(free, keep=True)
    assert decision.producer == producer(7, 4)
    assert decision.kept == producer(-1, -1)
