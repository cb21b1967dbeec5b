"""Vectors V40 to V54 and V57 to V59: EndTxn (spec 8.4). V55 and V56 are with the exhausted ids in test_txn_init.py."""

import time

import pytest

from oncelog.client.admin import Admin
from tests.vectors.play import Target
from tests.vectors.txn_targets import targets
from tests.vectors.txn_wire import transaction

pytestmark = pytest.mark.parametrize("target", targets(), indirect=True, scope="session")

MAPPING = "INVALID_PRODUCER_ID_MAPPING"
FENCED = "PRODUCER_FENCED"
OLD_EPOCH = "INVALID_PRODUCER_EPOCH"
WRONG_STATE = "INVALID_TXN_STATE"
BUSY = "CONCURRENT_TRANSACTIONS"
WIDE = 20  # partitions of a transaction whose end is to take a while
TRIES = 20


def test_v40_v42_somebody_else(target: Target) -> None:
    with target.vector("V40") as row, transaction(target) as one:
        row("v3 unknown id", one.commit(version=3, name=target.fresh_name("unknown")), MAPPING)
        row('v3 ""', one.commit(version=3, name=""), "INVALID_REQUEST")
        row("v5 unknown id", one.commit(version=5, name=target.fresh_name("unknown")), MAPPING)
        row('v5 ""', one.commit(version=5, name=""), "INVALID_REQUEST")
    with target.vector("V42") as row, transaction(target) as one:
        one.add([])
        for version, error in ((0, OLD_EPOCH), (1, OLD_EPOCH), (2, FENCED), (3, FENCED), (4, FENCED)):
            row(f"wrong epoch v{version}", one.commit(9, version=version), error)
        for version in (0, 3):
            row(
                f"wrong producer id v{version}",
                one.commit(0, version=version, producer_id=one.producer_id + 1),
                MAPPING,
            )
        row("state", one.state(), "Ongoing (P,0)")


def test_v41_v44_tv1(target: Target) -> None:
    topic = target.topic(partitions=WIDE)
    everywhere = [(topic, each) for each in range(WIDE)]
    with transaction(target) as one:
        with target.vector("V41") as row:
            row("Empty commit", one.commit(version=3), WRONG_STATE)
            row("Empty abort", one.abort(version=3), WRONG_STATE)
        with target.vector("V43") as row:
            commit, abort = (one.end_request(commit=each) for each in (True, False))
            said: list[str] = []
            for _ in range(TRIES):  # whoever is quick enough to complete in between is asked again
                one.add(everywhere)
                said = [one.said(each) for each in one.at_once((commit, 3), (commit, 3), (abort, 3))]
                one.wait()
                if said[1:] == [BUSY, BUSY]:
                    break
            row("Ongoing commit", said[0], "NONE")
            row("at once commit", said[1], BUSY)
            row("at once abort", said[2], BUSY)
        with target.vector("V44") as row:
            row("state", one.state(), "CompleteCommit (P,0)")
            row("CompleteCommit commit", one.commit(version=3), "NONE")
            row("CompleteCommit abort", one.abort(version=3), WRONG_STATE)
            one.add(everywhere)
            row("Ongoing abort", one.abort(version=3), "NONE")
            one.wait()
            row("CompleteAbort commit", one.commit(version=3), WRONG_STATE)
            row("CompleteAbort abort", one.abort(version=3), "NONE")
            row("CompleteAbort abort v4", one.abort(version=4), "NONE")
            row("state at the end", one.state(), "CompleteAbort (P,0)")


def test_v50_v54_tv2(target: Target) -> None:
    topic = target.topic(partitions=WIDE)
    with transaction(target) as one:
        with target.vector("V50") as row:
            row("Empty: commit 0", one.commit(0), WRONG_STATE)
            row("abort -1", one.abort(-1), FENCED)
            row("commit -1", one.commit(-1), FENCED)
            row("abort 0", one.abort(0), "NONE (P,1)")
            one.wait()
        with target.vector("V51") as row:
            row("state", one.state(), "CompleteAbort (P,1)")
            row("abort 0", one.abort(0), "NONE (P,1)")
            row("commit 0", one.commit(0), WRONG_STATE)
            row("commit 1", one.commit(1), WRONG_STATE)
            row("abort 1", one.abort(1), "NONE (P,2)")
            one.wait()
        with target.vector("V52") as row:
            row("abort 3", one.abort(3), FENCED)
            row("abort 0", one.abort(0), FENCED)
            row("wrong producer id", one.abort(2, producer_id=one.producer_id + 1), MAPPING)
            row("v4 abort 1", one.abort(1, version=4), FENCED)
        with target.vector("V53") as row:
            one.add([(topic, each) for each in range(WIDE)], version=5)
            row("Ongoing: commit 1", one.commit(1), FENCED)
            row("abort 1", one.abort(1), FENCED)
            commit = (one.end_request(commit=True), 5)
            first, second = one.at_once(commit, commit)
            row("commit 2", one.said(first), "NONE (P,3)")
            row("at once commit 2", one.said(second), BUSY)
            one.wait()
        with target.vector("V54") as row:
            row("state", one.state(), "CompleteCommit (P,3)")
            row("commit 2", one.commit(2), "NONE (P,3)")
            row("abort 2", one.abort(2), WRONG_STATE)
            row("commit 3", one.commit(3), WRONG_STATE)
            row("abort 3", one.abort(3), "NONE (P,4)")
            one.wait()
            row("state at the end", one.state(), "CompleteAbort (P,4)")


def test_v57_opened_by_tv1_ended_by_tv2(target: Target) -> None:
    log = target.partition()
    with target.vector("V57") as row, transaction(target) as one:
        row("AddPartitions v3", one.add([(log.topic, 0)]), "NONE")
        row("Produce v9", one.produce(log, 0, version=9), "NONE @0")
        row("EndTxn v5", one.commit(), "NONE (P,1)")
        one.wait()
        row("next transaction, epoch 1, sequence 0", one.produce(log, 0), "NONE @2")
        row("its end", one.commit(), "NONE (P,2)")
        one.wait()


def test_v58_a_topic_is_deleted_inside_a_transaction(target: Target) -> None:
    gone, stays = target.partition(), target.partition()
    with target.vector("V58") as row, transaction(target) as one:
        row("Produce", one.produce(gone, 0), "NONE @0")
        row("Produce elsewhere", one.produce(stays, 0), "NONE @0")
        with target.cluster() as cluster:
            Admin(cluster).delete_topic(gone.topic)
        row("EndTxn v5 commit", one.commit(), "NONE (P,1)")
        one.wait()
        row("state", one.state(), "CompleteCommit (P,1)")
        row("LSO elsewhere", stays.fetch(0, isolation=1).last_stable_offset, 2)


def test_v59_a_transaction_times_out_tx_15_tx_16_trap_10(target: Target) -> None:
    log = target.partition()
    with target.vector("V59") as row, transaction(target, timeout_ms=1500) as one:
        began = time.monotonic()
        row("Produce v12", one.produce(log, 0), "NONE @0")
        one.wait()
        row("not before its time", time.monotonic() - began >= 1.4, True)
        row("state", one.state(), "CompleteAbort (P,1)")
        for version in (12, 9):
            row(f"old epoch, Produce v{version}", one.produce(log, 1, version=version), f"{OLD_EPOCH} @-1")
        row("EndTxn v5 commit", one.commit(0), WRONG_STATE)
        row("EndTxn v3 commit", one.commit(0, version=3), FENCED)
        row("EndTxn v3 abort", one.abort(0, version=3), FENCED)
        row("EndTxn v1 abort", one.abort(0, version=1), OLD_EPOCH)
        row("EndTxn v5 abort", one.abort(0), "NONE (P,1)")
        row("Init (P,0)", one.init((one.producer_id, 0)), "NONE (P,1)")
        row("state then", one.state(), "Empty (P,1)")
        row("Produce with the new epoch", one.produce(log, 0), "NONE @2")
        row("ends", one.commit(), "NONE (P,2)")


def test_tx_9_kip_360_after_a_timeout(target: Target) -> None:
    log = target.partition()
    with target.vector("TX-9") as row, transaction(target, timeout_ms=600) as one:
        one.produce(log, 0)
        one.wait()
        row("Init (P,0)", one.init((one.producer_id, 0)), "NONE (P,1)")
        row("Init", one.init(), "NONE (P,2)")
