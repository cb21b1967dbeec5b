"""Vectors V30 to V37: AddPartitionsToTxn and AddOffsetsToTxn (spec 8.3)."""

import pytest

from oncelog.errors import ErrorCode
from oncelog.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from tests.vectors.play import Target
from tests.vectors.txn_targets import targets
from tests.vectors.txn_wire import added, offsets_partition, transaction

pytestmark = pytest.mark.parametrize("target", targets(), indirect=True, scope="session")

MAPPING = "INVALID_PRODUCER_ID_MAPPING"
FENCED = "PRODUCER_FENCED"
OLD_EPOCH = "INVALID_PRODUCER_EPOCH"


def test_v30_v31_somebody_else(target: Target) -> None:
    topic = target.topic()
    at = [(topic, 0)]
    with target.vector("V30") as row, transaction(target) as one:
        row("unknown id", one.add(at, name=target.fresh_name("unknown")), MAPPING)
        row("wrong producer id", one.add(at, producer_id=one.producer_id + 1), MAPPING)
        row("state", one.state(), "Empty (P,0)")
    with target.vector("V31") as row, transaction(target) as one:
        one.init()
        for version, error in ((0, OLD_EPOCH), (1, OLD_EPOCH), (2, FENCED), (3, FENCED)):
            row(f"v{version} epoch+1", one.add(at, version=version, epoch=2), error)
            row(f"v{version} epoch-1", one.add(at, version=version, epoch=0), error)
        row("state", one.state(), "Empty (P,1)")
        row("v0, the right one", one.add(at, version=0), "NONE")


def test_v32_an_empty_transactional_id(target: Target) -> None:
    topic = target.topic()
    with target.vector("V32") as row, transaction(target) as one:
        row("v3", one.add([(topic, 0)], name=""), "INVALID_REQUEST")
        row("v0", one.add([(topic, 0)], name="", version=0), "INVALID_REQUEST")


def test_v33_v34_all_or_nothing_trap_15(target: Target) -> None:
    topic = target.topic()
    target.group_ready("any").close()  # so that __consumer_offsets exists
    with target.vector("V33") as row, transaction(target) as one:
        bad = [(topic, 0), (topic, 9), ("nope", 0)]
        unknown = "UNKNOWN_TOPIC_OR_PARTITION"
        row("a-0, a-9, nope-0", one.add(bad), f"OPERATION_NOT_ATTEMPTED, {unknown}, {unknown}")
        row("state", one.state(), "Empty (P,0)")
        row("v5", one.add(bad, version=5), f"OPERATION_NOT_ATTEMPTED, {unknown}, {unknown}")
        row("state after v5", one.state(), "Empty (P,0)")
    with target.vector("V34") as row, transaction(target) as one:
        internal = [(topic, 0), ("__consumer_offsets", 0)]
        row(
            "a-0, __consumer_offsets-0, v3",
            one.add(internal),
            "OPERATION_NOT_ATTEMPTED, TOPIC_AUTHORIZATION_FAILED",
        )
        row("state", one.state(), "Empty (P,0)")
        row("v5", one.add(internal, version=5), "NONE, NONE")
        row("state after v5", one.state(), f"Ongoing (P,0) __consumer_offsets-0 {topic}-0")
        row("ends", one.abort(), "NONE (P,1)")


def test_v35_no_topics_open_a_transaction(target: Target) -> None:
    with target.vector("V35") as row, transaction(target) as one:
        row("no topics, v3", one.add([]), "")
        row("state", one.state(), "Ongoing (P,0)")
        row("commit v3", one.commit(version=3), "NONE")
        one.wait()
        row("ends", one.state(), "CompleteCommit (P,0)")


def test_v36_verification_asks_and_changes_nothing(target: Target) -> None:
    topic = target.topic(partitions=2)
    with target.vector("V36") as row, transaction(target) as one:
        at = [(topic, 0)]
        row("not added, Empty", one.add(at, version=5, verify=True), "TRANSACTION_ABORTABLE")
        row("state", one.state(), "Empty (P,0)")
        one.add(at)
        row("added", one.add(at, version=5, verify=True), "NONE")
        row("another partition", one.add([(topic, 1)], version=5, verify=True), "TRANSACTION_ABORTABLE")
        row("both", one.add([(topic, 0), (topic, 1)], version=5, verify=True), "NONE, TRANSACTION_ABORTABLE")
        row("another partition, v4", one.add([(topic, 1)], version=4, verify=True), "TRANSACTION_ABORTABLE")
        row("wrong epoch", one.add(at, version=5, verify=True, epoch=1), FENCED)
        row(
            "wrong producer id", one.add(at, version=5, verify=True, producer_id=one.producer_id + 1), MAPPING
        )
        row("unknown id", one.add(at, version=5, verify=True, name="nobody"), MAPPING)
        row("state at the end", one.state(), f"Ongoing (P,0) {topic}-0")
        row(
            "an unknown partition",
            one.add([(topic, 7)], version=5, verify=True),
            "UNKNOWN_TOPIC_OR_PARTITION",
        )
        one.abort()


def test_v36_a_batch_of_transactions(target: Target) -> None:
    topic = target.topic(partitions=2)
    with target.vector("V36 batch") as row, transaction(target) as one, transaction(target) as two:
        at = [(topic, 0)]
        request = one.add_request(at, version=5)
        request.transactions += two.add_request(at, version=5, epoch=3).transactions
        request.transactions += two.add_request(at, version=5, verify=True).transactions[:0]
        answer = one.connection.send(request, AddPartitionsToTxnResponse, 5)
        row("top level", ErrorCode(answer.error_code).name, "NONE")
        by_id = {each.transactional_id: each for each in answer.results_by_transaction}
        for which, wanted in ((one, "NONE"), (two, FENCED)):
            single = AddPartitionsToTxnResponse(results_by_transaction=[by_id[which.name]])
            row(wanted, added(single, at), wanted)
        row("the first", one.state(), f"Ongoing (P,0) {topic}-0")
        row("the second", two.state(), "Empty (P,0)")
        one.abort()


def test_v37_add_offsets(target: Target) -> None:
    group = target.fresh_name("group")
    target.group_ready(group).close()
    _, number = offsets_partition(group)
    with target.vector("V37") as row, transaction(target) as one:
        row("unknown id", one.add_offsets(group, name=target.fresh_name("unknown")), MAPPING)
        row("wrong producer id", one.add_offsets(group, producer_id=one.producer_id + 1), MAPPING)
        for version, error in ((0, OLD_EPOCH), (1, OLD_EPOCH), (2, FENCED), (4, FENCED)):
            row(f"wrong epoch v{version}", one.add_offsets(group, version=version, epoch=5), error)
        row("empty id", one.add_offsets(group, name=""), "INVALID_REQUEST")
        row("state", one.state(), "Empty (P,0)")
        row('group ""', one.add_offsets(""), "NONE")
        row("a group", one.add_offsets(group), "NONE")
        found = set(one.state().removeprefix("Ongoing (P,0) ").split())
        row("both are in", found == {f"__consumer_offsets-{each}" for each in (0, number)}, True)
        row("ends", one.commit(version=3), "NONE")
        one.wait()
