"""Spec 4.5 with transaction.partition.verification.enable=false: nobody asks for clients that add partitions themselves.

With `true`, the default, the same asks are V70, V73 and V77 (test_txn_produce.py) and V100 (test_txn_offsets.py).
"""

from collections.abc import Iterator

import pytest

from tests.conformance.targets import chosen
from tests.vectors.conftest import start
from tests.vectors.play import Target, fetched
from tests.vectors.txn_wire import producers_of, transaction

OFF = {"transaction.partition.verification.enable": "false"}
OLD_EPOCH = "INVALID_PRODUCER_EPOCH @-1"
OUT_OF_ORDER = "OUT_OF_ORDER_SEQUENCE_NUMBER @-1"
MAPPING = "INVALID_PRODUCER_ID_MAPPING @-1"


@pytest.fixture(scope="module", params=chosen())
def unverified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with start(request.param, tmp_path_factory.mktemp("unverified"), OFF) as found:
        yield found


def test_spec_4_5_off_an_old_produce_opens_a_transaction_that_no_coordinator_knows(
    unverified: Target,
) -> None:
    for version in (3, 9, 11):
        log = unverified.partition()
        with unverified.vector(f"4.5 off v{version}") as row, transaction(unverified) as one:
            row("not added", one.produce(log, 0, version=version), "NONE @0")
            row("state", one.state(), "Empty (P,0)")
            row("a gap", one.produce(log, 5, version=version), OUT_OF_ORDER)
            row("the next", one.produce(log, 1, version=version), "NONE @1")
            row("commit", one.commit(version=3), "INVALID_TXN_STATE")
            row("it hangs", fetched(log.fetch(0, isolation=1)), "NONE empty HW 2 LSO 0 start 0")
            began = producers_of(unverified, log.topic)[one.producer_id].current_txn_start_offset
            row("since", began, 0)


def test_spec_4_5_off_somebody_else_may_write_but_no_old_epoch_ps_3(unverified: Target) -> None:
    log = unverified.partition()
    with unverified.vector("4.5 off, identity") as row, transaction(unverified) as one:
        row("unknown id", one.produce(log, 0, version=9, name="nobody"), "NONE @0")
        other = one.producer_id + 1_000_000
        row("wrong producer id", one.produce(log, 4, version=9, producer_id=other), "NONE @1")
        row("epoch+1", one.produce(log, 0, version=9, epoch=1), "NONE @2")
        row("then our own", one.produce(log, 0, version=9), OLD_EPOCH)
        row("epoch+2, sequence 4", one.produce(log, 4, version=9, epoch=2), OUT_OF_ORDER)
        row("null", one.produce(log, 0, version=9, name=None), "TRANSACTIONAL_ID_AUTHORIZATION_FAILED @-1")


def test_spec_4_5_off_tv1_a_late_batch_hangs_until_the_next_transaction_ends(unverified: Target) -> None:
    log = unverified.partition()
    at = [(log.topic, 0)]
    with unverified.vector("4.5 off, late") as row, transaction(unverified) as one:
        one.add(at)
        row("sequence 0 to 2", one.produce(log, 0, count=3, version=9), "NONE @0")
        row("commit", one.commit(version=3), "NONE")
        one.wait()
        row("the same again", one.produce(log, 0, count=3, version=9), "NONE @0")
        row("late", one.produce(log, 3, version=9), "NONE @4")
        row("it hangs", fetched(log.fetch(0, isolation=1)), "NONE records HW 5 LSO 4 start 0")
        one.add(at)
        row("with the next transaction", one.produce(log, 4, version=9), "NONE @5")
        row("it ends", one.commit(version=3), "NONE")
        one.wait()
        row("all visible", fetched(log.fetch(0, isolation=1)), "NONE records HW 7 LSO 7 start 0")


def test_spec_4_5_off_produce_12_adds_its_partitions_all_the_same(unverified: Target) -> None:
    log = unverified.partition()
    with unverified.vector("4.5 off v12") as row, transaction(unverified) as one:
        row("unknown id", one.produce(log, 0, name="nobody"), MAPPING)
        row("epoch+1", one.produce(log, 0, epoch=1), OLD_EPOCH)
        row("sequence 4", one.produce(log, 4), OUT_OF_ORDER)
        row("not added", one.produce(log, 0), "NONE @0")
        row("state", one.state(), f"Ongoing (P,0) {log.topic}-0")
        row("commit", one.commit(), "NONE (P,1)")


def test_spec_4_5_off_offsets_of_a_group_that_was_not_added(unverified: Target) -> None:
    topic = unverified.topic()
    for version, state in ((0, "Empty"), (3, "Empty"), (4, "Empty"), (5, "Ongoing")):
        group = unverified.fresh_name("group")
        unverified.group_ready(group).close()
        with unverified.vector(f"4.5 off offsets v{version}") as row, transaction(unverified) as one:
            row("not added", one.commit_offset(group, topic, version=version), "NONE")
            row("state", one.state().split()[0], state)
