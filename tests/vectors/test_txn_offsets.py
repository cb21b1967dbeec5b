"""Vectors V100 to V112: offsets in transactions and the views of KIP-664 (spec 8.7)."""

import uuid
from collections.abc import Iterator

import pytest

from oncelog.client.cluster import Backoff
from oncelog.client.faults import error_name
from oncelog.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from oncelog.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from oncelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from tests.vectors.play import Target
from tests.vectors.test_offsets import Group
from tests.vectors.txn_targets import targets
from tests.vectors.txn_wire import Id, offsets_partition, transaction

pytestmark = pytest.mark.parametrize("target", targets(), indirect=True, scope="session")

OLD_EPOCH = "INVALID_PRODUCER_EPOCH"
UNKNOWN = "UNKNOWN_TOPIC_OR_PARTITION"
GENERATION = "ILLEGAL_GENERATION"


@pytest.fixture
def group(target: Target) -> Iterator[Group]:
    name, topic = target.fresh_name("group"), target.topic()
    with target.group_ready(name) as connection:
        yield Group(name, connection, topic)


@pytest.fixture
def one(target: Target) -> Iterator[Id]:
    with transaction(target) as found:
        yield found


def offset(group: Group, *, stable: bool) -> str:
    """`ERROR offset` as OffsetFetch v8 says."""
    topics = [OffsetFetchRequestTopics(name=group.topic, partition_indexes=[0])]
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group.name, topics=topics)], require_stable=stable
    )
    (found,) = group.connection.send(request, OffsetFetchResponse, 8).groups
    (partition,) = found.topics[0].partitions
    return f"{error_name(found.error_code or partition.error_code)} {partition.committed_offset}"


def test_v100_offsets_that_were_not_added(target: Target, group: Group, one: Id) -> None:
    topic, number = offsets_partition(group.name)
    with target.vector("V100") as row:
        for version, error in (
            (0, "INVALID_TXN_STATE"),
            (2, "INVALID_TXN_STATE"),
            (3, "INVALID_TXN_STATE"),
            (4, "TRANSACTION_ABORTABLE"),
        ):
            row(f"v{version}", one.commit_offset(group.name, group.topic, version=version), error)
        row("state", one.state(), "Empty (P,0)")
        row("v5", one.commit_offset(group.name, group.topic, version=5), "NONE")
        row("the group's partition was added", one.state() == f"Ongoing (P,0) {topic}-{number}", True)
        row("ends", one.commit(), "NONE (P,1)")
        one.wait()
        row("the offset", offset(group, stable=True), "NONE 5")


def test_v101_bad_offsets_b10(target: Target, group: Group, one: Id) -> None:
    one.init()
    one.add_offsets(group.name)
    with target.vector("V101") as row:
        row("unknown topic", one.commit_offset(group.name, "nope"), UNKNOWN)
        row("unknown partition", one.commit_offset(group.name, group.topic, partition=7), UNKNOWN)
        row('group ""', one.commit_offset("", group.topic), "INVALID_GROUP_ID")
        row(
            "5000 characters of metadata",
            one.commit_offset(group.name, group.topic, metadata="m" * 5000),
            "OFFSET_METADATA_TOO_LARGE",
        )
        row("nothing is pending then", offset(group, stable=True), "NONE -1")
        for version in (0, 3, 5):
            row(
                f"epoch+1 v{version}",
                one.commit_offset(group.name, group.topic, epoch=2, version=version),
                OLD_EPOCH,
            )
            row(
                f"epoch-1 v{version}",
                one.commit_offset(group.name, group.topic, epoch=0, version=version),
                OLD_EPOCH,
            )
        wrong = one.producer_id + 1_000_000
        for version in (3, 5):
            row(
                f"wrong producer id v{version}",
                one.commit_offset(group.name, group.topic, producer_id=wrong, version=version),
                "INVALID_PRODUCER_ID_MAPPING",
            )
            row(
                f"unknown id v{version}",
                one.commit_offset(group.name, group.topic, name="nobody", version=version),
                "INVALID_PRODUCER_ID_MAPPING",
            )
        row("as it should be", one.commit_offset(group.name, group.topic), "NONE")
        for epoch in (0, 2):
            row(
                f"epoch {epoch} when open", one.commit_offset(group.name, group.topic, epoch=epoch), OLD_EPOCH
            )
        one.abort()


def test_v102_members_of_an_empty_group(target: Target, group: Group, one: Id) -> None:
    with target.vector("V102 txn") as row:
        row("a commit makes the group", group.commit(), "NONE")
        one.add_offsets(group.name)

        def said(generation: int, member: str, name: str = group.name) -> str:
            return one.commit_offset(name, group.topic, generation=generation, member=member)

        row("generation 3, member m", said(3, "m"), "UNKNOWN_MEMBER_ID")
        row("generation -1, member m", said(-1, "m"), "NONE")
        unknown = target.fresh_name("unknown")
        one.add_offsets(unknown)
        row("unknown group, generation 3", said(3, "m", unknown), GENERATION)
        row("unknown group, generation -1", said(-1, "", unknown), "NONE")
        one.abort()


def test_v103_v105_pending_offsets_trap_32_trap_33(target: Target, group: Group, one: Id) -> None:
    one.add_offsets(group.name)
    with target.vector("V103") as row:
        row("pending 5", one.commit_offset(group.name, group.topic, 5), "NONE")
        row("stable", offset(group, stable=True), "UNSTABLE_OFFSET_COMMIT -1")
        row("not", offset(group, stable=False), "NONE -1")
    with target.vector("V104") as row:
        row("plain commit 3 meanwhile", group.commit(offset=3), "NONE")
        row("stable", offset(group, stable=True), "UNSTABLE_OFFSET_COMMIT -1")
        row("not", offset(group, stable=False), "NONE 3")
    with target.vector("V105") as row:
        row("commit", one.commit(), "NONE (P,1)")
        one.wait()
        row("the later record stays", offset(group, stable=True), "NONE 3")
        row("a later transaction", one.commit_offset(group.name, group.topic, 9, version=5), "NONE")
        row("commit then", one.commit(), "NONE (P,2)")
        one.wait()
        row("wins", offset(group, stable=True), "NONE 9")
        row("another", one.commit_offset(group.name, group.topic, 20, version=5), "NONE")
        row("abort", one.abort(), "NONE (P,3)")
        one.wait()
        row("drops it", offset(group, stable=True), "NONE 9")


def test_v106_a_stable_classic_group_trap_34(target: Target, group: Group, one: Id) -> None:
    one.add_offsets(group.name)
    with target.vector("V106 txn") as row:
        member, generation = group.join()

        def said(generation: int, member: str) -> str:
            return one.commit_offset(group.name, group.topic, generation=generation, member=member)

        row("generation", generation, 1)
        row("the right ones", said(1, member), "NONE")
        row("generation 0", said(0, member), GENERATION)
        row("a wrong member", said(1, "nobody"), "UNKNOWN_MEMBER_ID")
        row("no member", said(-1, ""), "NONE")
        group.leave(member)
        one.abort()


def test_v107_a_kip_848_group(target: Target, group: Group, one: Id) -> None:
    member = str(uuid.uuid4())
    one.add_offsets(group.name)

    def heartbeat(epoch: int, *, joins: bool = False) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id=group.name,
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=30_000 if joins else -1,
            subscribed_topic_names=[group.topic] if joins else None,
            topic_partitions=[] if joins else None,
        )
        answer = group.connection.send(request, ConsumerGroupHeartbeatResponse, 1)
        assert answer.error_code == 0, f"{error_name(answer.error_code)} {answer.error_message}"
        return answer

    def said(generation: int) -> str:
        return one.commit_offset(group.name, group.topic, generation=generation, member=member)

    with target.vector("V107 txn") as row:
        found = heartbeat(0, joins=True)
        epoch, owned = found.member_epoch, found.assignment
        backoff = Backoff(10_000)
        while (owned is None or not owned.topic_partitions) and backoff.wait():
            found = heartbeat(epoch)
            epoch, owned = found.member_epoch, found.assignment or owned
        assert owned is not None
        row("partitions", [each.partitions for each in owned.topic_partitions], [[0]])
        row("the member's epoch", said(epoch), "NONE")
        # How many there are differs: Kafka assigns a moment after the first heartbeat, in an epoch of its own.
        row("every older one", {said(older) for older in range(epoch)}, {GENERATION})
        row("9", said(9), GENERATION)
        row(
            "OffsetCommit v9 epoch 9",
            group.commit(generation=9, member=member, version=9),
            "STALE_MEMBER_EPOCH",
        )
        row(
            "OffsetCommit v8", group.commit(generation=epoch, member=member, version=8), "UNSUPPORTED_VERSION"
        )
        row("no member", one.commit_offset(group.name, group.topic), "NONE")
        heartbeat(-1)
        one.abort()


def test_v108_delete_a_group_with_only_pending_offsets(target: Target, group: Group, one: Id) -> None:
    with target.vector("V108 txn") as row:
        row("pending", one.commit_offset(group.name, group.topic, version=5), "NONE")
        row("it is", offset(group, stable=True), "UNSTABLE_OFFSET_COMMIT -1")
        row("DeleteGroups", group.delete(), "NONE")
        row("pending no more", offset(group, stable=True), "NONE -1")
        row("commit", one.commit(), "NONE (P,1)")
        one.wait()
        row("brings nothing back", offset(group, stable=True), "NONE -1")


def listed(one: Id, **filters: object) -> str:
    """Of the ids that begin like ours: error, how many of them, unknown states."""
    request = ListTransactionsRequest(**filters)  # pyright: ignore[reportArgumentType]  # only what a row gives
    answer = one.connection.send(request, ListTransactionsResponse, 2)
    ours = [each.transaction_state for each in answer.transaction_states if each.transactional_id == one.name]
    return f"{error_name(answer.error_code)} {ours} {answer.unknown_state_filters}"


def test_v111_list_transactions(target: Target, one: Id) -> None:
    with target.vector("V111") as row:
        one.add([])
        row("[Ongoing, Bogus]", listed(one, state_filters=["Ongoing", "Bogus"]), "NONE ['Ongoing'] ['Bogus']")
        row("[Bogus]", listed(one, state_filters=["Bogus"]), "NONE [] ['Bogus']")
        row("[Empty]", listed(one, state_filters=["Empty"]), "NONE [] []")
        row('pattern "["', listed(one, transactional_id_pattern="["), "INVALID_REGULAR_EXPRESSION [] []")
        row("pattern of the whole", listed(one, transactional_id_pattern=one.name), "NONE ['Ongoing'] []")
        row("pattern of its begin", listed(one, transactional_id_pattern=one.name[:-1]), "NONE [] []")
        row(
            "its begin and any",
            listed(one, transactional_id_pattern=one.name[:5] + ".*"),
            "NONE ['Ongoing'] []",
        )
        row('pattern ""', listed(one, transactional_id_pattern=""), "NONE ['Ongoing'] []")
        row("producer id", listed(one, producer_id_filters=[one.producer_id]), "NONE ['Ongoing'] []")
        row("another producer id", listed(one, producer_id_filters=[one.producer_id + 1]), "NONE [] []")
        row("longer than an hour", listed(one, duration_filter=3_600_000), "NONE [] []")
        row("longer than -5 ms: no filter", listed(one, duration_filter=-5), "NONE ['Ongoing'] []")
        one.abort()
        one.wait()
        row("CompleteAbort", listed(one, state_filters=["CompleteAbort"]), "NONE ['CompleteAbort'] []")
        one.init()
        row("never began: very old", listed(one, duration_filter=3_600_000), "NONE ['Empty'] []")


def test_v112_describe_transactions(target: Target, one: Id) -> None:
    topic = target.topic(partitions=2)
    with target.vector("V112") as row:

        def said(name: str) -> str:
            request = DescribeTransactionsRequest(transactional_ids=[name])
            (found,) = one.connection.send(request, DescribeTransactionsResponse, 0).transaction_states
            return f"{error_name(found.error_code)} {found.transaction_state!r}"

        row("unknown", said("nobody"), "TRANSACTIONAL_ID_NOT_FOUND ''")
        row('""', said(""), "INVALID_REQUEST ''")
        row("Empty: start", one.describe().transaction_start_time_ms, -1)
        row("timeout", one.describe().transaction_timeout_ms, 60_000)
        one.add([(topic, 1), (topic, 0)])
        row("state", one.state(), f"Ongoing (P,0) {topic}-0 {topic}-1")
        began = one.describe().transaction_start_time_ms
        row("it began", began > 0, True)
        one.commit()
        one.wait()
        row("complete", one.state(), "CompleteCommit (P,1)")
        row("its begin is kept", one.describe().transaction_start_time_ms == began, True)
