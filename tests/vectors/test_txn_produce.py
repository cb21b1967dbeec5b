"""Vectors V70 to V78: Produce inside transactions (spec 8.5). V72 is in test_produce.py, it needs no coordinator."""

import pytest

from oncelog.client.faults import error_name
from oncelog.protocol.messages.produce import ProduceResponse
from tests.vectors.play import Target, fetched
from tests.vectors.txn_targets import targets
from tests.vectors.txn_wire import producers_of, transaction, wrote

pytestmark = pytest.mark.parametrize("target", targets(), indirect=True, scope="session")

MAPPING = "INVALID_PRODUCER_ID_MAPPING @-1"
OLD_EPOCH = "INVALID_PRODUCER_EPOCH @-1"
WRONG_STATE = "INVALID_TXN_STATE @-1"
OUT_OF_ORDER = "OUT_OF_ORDER_SEQUENCE_NUMBER @-1"


def test_v70_v71_a_partition_that_was_not_added_trap_22(target: Target) -> None:
    log = target.partition()
    with target.vector("V70") as row, transaction(target) as one:
        for version in (8, 9, 10):
            answer = one.produce_answer(log, 0, version=version)
            row(f"not added, v{version}", error_name(answer.error_code), "INVALID_TXN_STATE")
            row(f"with a message, v{version}", bool(answer.error_message), True)
        row("not added, v11", one.produce(log, 0, version=11), "TRANSACTION_ABORTABLE @-1")
        row("state", one.state(), "Empty (P,0)")
        row("not added, v12", one.produce(log, 0), "NONE @0")
        row("state then", one.state(), f"Ongoing (P,0) {log.topic}-0")
    with target.vector("V71") as row, transaction(target) as one:
        row(
            "TransactionalId null",
            one.produce(log, 0, name=None),
            "TRANSACTIONAL_ID_AUTHORIZATION_FAILED @-1",
        )
        row("v9", one.produce(log, 0, version=9, name=None), "TRANSACTIONAL_ID_AUTHORIZATION_FAILED @-1")


def test_v73_somebody_else(target: Target) -> None:
    log = target.partition()
    with target.vector("V73") as row, transaction(target) as one:
        for version in (9, 11, 12):
            row(f"unknown id, v{version}", one.produce(log, 0, version=version, name="nobody"), MAPPING)
            other = one.producer_id + 1_000_000
            row(
                f"wrong producer id, v{version}",
                one.produce(log, 0, version=version, producer_id=other),
                MAPPING,
            )
            row(f"epoch+1, v{version}", one.produce(log, 0, version=version, epoch=1), OLD_EPOCH)
        row("state", one.state(), "Empty (P,0)")
        one.init()
        for version in (9, 11, 12):
            row(f"epoch-1, v{version}", one.produce(log, 0, version=version, epoch=0), OLD_EPOCH)


def test_v74_inside_an_open_transaction(target: Target) -> None:
    log = target.partition()
    with target.vector("V74") as row, transaction(target) as one:
        row("open", one.produce(log, 0, count=3), "NONE @0")
        row("not transactional", one.produce(log, 3, transactional=False, name=None), WRONG_STATE)
        row("a gap", one.produce(log, 5), OUT_OF_ORDER)
        row("again the first", one.produce(log, 0, count=3), "NONE @0")
        row("the next", one.produce(log, 3), "NONE @3")
        row("ends", one.abort(), "NONE (P,1)")


def test_v75_a_refused_append_leaves_the_partition_in_the_transaction(target: Target) -> None:
    log = target.partition()
    with target.vector("V75") as row, transaction(target) as one:
        row("v12, unknown here, sequence 4", one.produce(log, 4), OUT_OF_ORDER)
        row("state", one.state(), f"Ongoing (P,0) {log.topic}-0")
        row("ends", one.commit(), "NONE (P,1)")
        one.wait()
        row("by an empty marker", log.fetch(0, isolation=1).high_watermark, 1)


def test_v76_tv1_sequences_go_on(target: Target) -> None:
    log = target.partition()
    at = [(log.topic, 0)]
    with target.vector("V76") as row, transaction(target) as one:
        one.add(at)
        row("sequence 0 to 2", one.produce(log, 0, count=3, version=9), "NONE @0")
        row("commit", one.commit(version=3), "NONE")
        one.wait()
        one.add(at)
        row("sequence 3", one.produce(log, 3, version=9), "NONE @4")
        row("sequence 0 to 2 again", one.produce(log, 0, count=3, version=9), "NONE @0")
        row("abort", one.abort(version=3), "NONE")
        one.wait()


def test_v77_tv1_a_late_resend(target: Target) -> None:
    log = target.partition()
    at = [(log.topic, 0)]
    with target.vector("V77") as row, transaction(target) as one:
        one.add(at)
        row("sequence 0 to 2", one.produce(log, 0, count=3, version=9), "NONE @0")
        row("commit", one.commit(version=3), "NONE")
        one.wait()
        row("again without add", one.produce(log, 0, count=3, version=9), WRONG_STATE)
        one.add(at)
        row("sequence 3", one.produce(log, 3, version=9), OUT_OF_ORDER)
        row("sequence 0 to 2", one.produce(log, 0, count=3, version=9), "NONE @0")
        row("sequence 3 after it", one.produce(log, 3, version=9), OUT_OF_ORDER)
        row("abort", one.abort(version=3), "NONE")
        one.wait()
        one.add(at)
        row("sequence 3 in the next transaction", one.produce(log, 3, version=9), "NONE @5")
        one.abort(version=3)


def test_v78_tv2_the_next_transaction_at_once_b15(target: Target) -> None:
    log = target.partition()
    with target.vector("V78") as row, transaction(target) as one:
        row("open", one.produce(log, 0), "NONE @0")
        said: list[str] = []
        ended, written = one.at_once(
            (one.end_request(commit=True), 5), (one.produce_request(log, 0, epoch=1), 12)
        )
        row("commit", one.said(ended), "NONE (P,1)")
        assert isinstance(written, ProduceResponse)
        said.append(wrote(written))
        row("at once epoch 1, sequence 0", said[0], "NONE @2")
        row("state", one.state(), f"Ongoing (P,1) {log.topic}-0")
        one.abort()


def test_trap_19_tv2_an_old_sequence_after_the_bump(target: Target) -> None:
    log = target.partition()
    with target.vector("TRAP-19") as row, transaction(target) as one:
        row("open", one.produce(log, 0, count=3), "NONE @0")
        row("commit", one.commit(), "NONE (P,1)")
        one.wait()
        row("sequence 3", one.produce(log, 3), OUT_OF_ORDER)
        row("old epoch", one.produce(log, 3, epoch=0), OLD_EPOCH)
        row("old epoch, a duplicate once", one.produce(log, 0, count=3, epoch=0), OLD_EPOCH)
        row("sequence 0", one.produce(log, 0), "NONE @4")
        one.abort()


def test_trap_24_describe_producers(target: Target) -> None:
    log = target.partition()
    with target.vector("TRAP-24") as row, transaction(target) as one, transaction(target) as idle:

        def said(which: int) -> str:
            found = producers_of(target, log.topic)[which]
            return (
                f"epoch {found.producer_epoch} sequence {found.last_sequence} coordinator {found.coordinator_epoch} "
                f"open at {found.current_txn_start_offset}"
            )

        idle.add([(log.topic, 0)])
        idle.commit(version=3)
        idle.wait()
        row("only a marker", said(idle.producer_id), "epoch 0 sequence -1 coordinator 0 open at -1")
        one.produce(log, 0, count=2)
        row("open", said(one.producer_id), "epoch 0 sequence 1 coordinator -1 open at 1")
        one.commit()
        one.wait()
        row("ended by TV2", said(one.producer_id), "epoch 1 sequence -1 coordinator 0 open at -1")


def test_produce_with_two_producers_in_one_request(target: Target) -> None:
    """Spec 1.13: more than one (producer id, epoch) among transactional batches."""
    first, second = target.partition(), target.partition()
    with target.vector("1.13") as row, transaction(target) as one:
        request = one.produce_request(first, 0)
        request.topic_data += one.produce_request(second, 0, epoch=1).topic_data
        answer = one.connection.send(request, ProduceResponse, 12)
        for each in answer.responses:
            row(
                "first" if each.name == first.topic else "second",
                error_name(each.partition_responses[0].error_code),
                "INVALID_PRODUCER_ID_MAPPING",
            )


def test_produce_of_a_transactional_batch_without_a_producer_id(target: Target) -> None:
    """Spec 1.13 and 4.3 speak of batches with a producer id: this one belongs to no transaction, and hides nothing."""
    log, beside = target.partition(), target.partition()
    with target.vector("4.3 no producer id") as row, transaction(target) as one:
        nobody = {"producer_id": -1, "epoch": -1}
        for at, version in enumerate((3, 9, 11, 12)):
            row(f"v{version}", one.produce(log, -1, version=version, **nobody), f"NONE @{at}")
        row("unknown id", one.produce(log, -1, name="nobody", **nobody), "NONE @4")
        row("null", one.produce(log, -1, name=None, **nobody), "TRANSACTIONAL_ID_AUTHORIZATION_FAILED @-1")
        row("state", one.state(), "Empty (P,0)")
        row("nothing open", fetched(log.fetch(0, isolation=1)), "NONE records HW 5 LSO 5 start 0")
        row("nobody known", producers_of(target, log.topic), {})
        request = one.produce_request(beside, 0)
        request.topic_data += one.produce_request(log, -1, producer_id=-1, epoch=-1).topic_data
        answer = one.connection.send(request, ProduceResponse, 12)
        both = {each.name: error_name(each.partition_responses[0].error_code) for each in answer.responses}
        row("beside one of a transaction", both == {beside.topic: "NONE", log.topic: "NONE"}, True)
        row("state then", one.state(), f"Ongoing (P,0) {beside.topic}-0")
        one.abort()
