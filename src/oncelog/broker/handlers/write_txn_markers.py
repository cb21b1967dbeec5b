"""WriteTxnMarkers (key 27), v1-v2.

v1  flexible      v2  the transaction version of each marker (KIP-1228), which decides the epoch rule (PS-6)
For brokers among themselves and for `kafka-transactions abort`. One answer after all appends; the results are grouped by
producer. Errors of __consumer_offsets are those of a partition leader (spec 1.12).
Left out: authorization (ALTER or CLUSTER_ACTION where there is an authorizer).
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.model import Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from oncelog.tasks import Future, spawn

KEY: Final = 27
VERSIONS: Final = (1, 2)


async def handle(
    request: WriteTxnMarkersRequest, context: Context, broker: Runtime
) -> WriteTxnMarkersResponse:
    if any(marker.producer_id >= 0 > marker.producer_epoch for marker in request.markers):
        return _refused(request, ErrorCode.UNKNOWN_SERVER_ERROR)  # no batch may say so; Kafka's words for it
    under_way: list[tuple[int, TopicPartition, Future[ErrorCode]]] = []
    for marker in request.markers:
        for topic in marker.topics:
            for index in topic.partition_indexes:
                where = TopicPartition(topic.name, index)
                writing = broker.transactions.write_marker(
                    where,
                    Producer(ProducerId(marker.producer_id), ProducerEpoch(marker.producer_epoch)),
                    coordinator_epoch=marker.coordinator_epoch,
                    commit=marker.transaction_result,
                    transaction_version=marker.transaction_version if context.version >= VERSIONS[1] else 0,
                )
                under_way.append((marker.producer_id, where, spawn(broker.loop, writing)))
    results: dict[int, dict[str, list[WritableTxnMarkerPartitionResult]]] = {
        marker.producer_id: {} for marker in request.markers
    }
    for producer_id, where, done in under_way:
        result = WritableTxnMarkerPartitionResult(partition_index=where.partition, error_code=await done)
        results[producer_id].setdefault(where.topic, []).append(result)
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(name=name, partitions=partitions)
                    for name, partitions in topics.items()
                ],
            )
            for producer_id, topics in results.items()
        ]
    )


def _refused(request: WriteTxnMarkersRequest, error: ErrorCode) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=index, error_code=error)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )
