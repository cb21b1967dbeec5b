"""A producer of raw requests on a stage: every call says which version it speaks, and gives the answer in words."""

from collections.abc import Sequence
from typing import Any

from oncelog.client.faults import error_name
from oncelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from oncelog.protocol.messages.end_txn import EndTxnRequest
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest
from oncelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from oncelog.record.batch import NewRecord, build_batch
from oncelog.tasks import Future
from tests.catalogue.stage import Stage

MAX_SEQUENCE = 2**31 - 1


class Txn:
    """One transactional id. It holds the producer id and epoch it was last given, and counts its sequences."""

    def __init__(
        self, stage: Stage, name: str = "tid", *, timeout_ms: int = 60_000, start: bool = True
    ) -> None:
        self.stage = stage
        self.name = name
        self.timeout_ms = timeout_ms
        self.producer_id, self.epoch = -1, -1
        self.sequences: dict[tuple[str, int], int] = {}
        self.connection = 1
        self._newest = 100
        if start:
            said = self.init()
            assert said.startswith("NONE"), said

    def send(self, request: Any, version: int) -> Any:
        return self.stage.ask(request, version, connection=self.connection)

    def begin(self, request: Any, version: int) -> Future[Any]:
        """Sends on a connection of its own, newer than those before: it waits for nobody."""
        self._newest += 1
        return self.stage.begin(request, version, connection=self._newest)

    def holds(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.sequences.clear()
        self.producer_id, self.epoch = producer_id, epoch

    def said(self, answer: Any) -> str:
        """`NONE 7/3`: an answer of InitProducerId or EndTxn; what it gives is held from now on."""
        error = error_name(answer.error_code)
        if answer.producer_id < 0:
            return error
        self.holds(answer.producer_id, answer.producer_epoch)
        return f"{error} {answer.producer_id}/{answer.producer_epoch}"

    # InitProducerId

    def init_request(self, given: tuple[int, int] = (-1, -1)) -> InitProducerIdRequest:
        return InitProducerIdRequest(
            transactional_id=self.name,
            transaction_timeout_ms=self.timeout_ms,
            producer_id=given[0],
            producer_epoch=given[1],
        )

    def init(self, given: tuple[int, int] = (-1, -1), *, version: int = 5) -> str:
        return self.said(self.send(self.init_request(given), version))

    # Partitions and data

    def add_request(self, *partitions: tuple[str, int]) -> AddPartitionsToTxnRequest:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=[index]) for topic, index in partitions
            ],
        )

    def add(self, *partitions: tuple[str, int], version: int = 3) -> str:
        """TV1: the answer for all of them, or a comma between."""
        return added(self.send(self.add_request(*partitions), version))

    def add_offsets(self, group: str, *, version: int = 3) -> str:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        return error_name(self.send(request, version).error_code)

    def produce_request(
        self,
        *values: str,
        topic: str = "t",
        partition: int = 0,
        sequence: int | None = None,
        epoch: int | None = None,
        transactional: bool = True,
        codec: int = 0,
    ) -> ProduceRequest:
        if sequence is None:
            sequence = self.sequences.get((topic, partition), 0)
        self.sequences[topic, partition] = (sequence + len(values)) & MAX_SEQUENCE
        now = self.stage.clock.wall_ms()
        batch = build_batch(
            [NewRecord(b"k-" + value.encode(), value.encode(), now) for value in values],
            producer_id=self.producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            base_sequence=sequence,
            transactional=transactional,
            codec=codec,
        )
        return ProduceRequest(
            transactional_id=self.name,
            acks=-1,
            timeout_ms=30_000,
            topic_data=[
                TopicProduceData(
                    name=topic, partition_data=[PartitionProduceData(index=partition, records=batch)]
                )
            ],
        )

    def produce(self, *values: str, version: int = 12, **fields: Any) -> str:
        """`NONE @base offset`; v12 opens the transaction by itself, older ones need `add` before."""
        return wrote(self.send(self.produce_request(*values, **fields), version))

    # Offsets

    def offsets_request(
        self,
        group: str,
        offsets: Sequence[tuple[int, int, str]],
        *,
        topic: str = "t",
        generation: int = -1,
        member: str = "",
    ) -> TxnOffsetCommitRequest:
        return TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            generation_id=generation,
            member_id=member,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=index, committed_offset=offset, committed_metadata=metadata
                        )
                        for index, offset, metadata in offsets
                    ],
                )
            ],
        )

    def commit_offset(self, group: str, offset: int, *, version: int = 5, **fields: Any) -> str:
        return committed(self.send(self.offsets_request(group, [(0, offset, "")], **fields), version))

    # The end

    def end_request(self, *, commit: bool) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )

    def commit(self, *, version: int = 5) -> str:
        return self.said(self.send(self.end_request(commit=True), version))

    def abort(self, *, version: int = 5) -> str:
        return self.said(self.send(self.end_request(commit=False), version))

    def state(self) -> str:
        """`Ongoing 7/3`, or the error."""
        (found,) = self.send(DescribeTransactionsRequest(transactional_ids=[self.name]), 0).transaction_states
        if found.error_code:
            return error_name(found.error_code)
        return f"{found.transaction_state} {found.producer_id}/{found.producer_epoch}"


def wrote(answer: ProduceResponse) -> str:
    (found,) = answer.responses[0].partition_responses
    return f"{error_name(found.error_code)} @{found.base_offset}"


def added(answer: AddPartitionsToTxnResponse) -> str:
    errors = [
        error_name(each.partition_error_code)
        for topic in answer.results_by_topic_v3_and_below
        for each in topic.results_by_partition
    ]
    return errors[0] if len(set(errors)) == 1 else ", ".join(errors)


def committed(answer: TxnOffsetCommitResponse) -> str:
    errors = [error_name(each.error_code) for topic in answer.topics for each in topic.partitions]
    return errors[0] if len(set(errors)) == 1 else ", ".join(errors)


def offset_of(stage: Stage, group: str, *, topic: str = "t", index: int = 0, stable: bool = True) -> str:
    """`NONE 5` as OffsetFetch says; with `stable` UNSTABLE_OFFSET_COMMIT while a transaction has one pending."""
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=group, topics=[OffsetFetchRequestTopics(name=topic, partition_indexes=[index])]
            )
        ],
        require_stable=stable,
    )
    (found,) = stage.ask(request, 8).groups
    (partition,) = found.topics[0].partitions
    return f"{error_name(found.error_code or partition.error_code)} {partition.committed_offset}"
