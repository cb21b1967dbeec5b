"""DescribeLogDirs (key 35), v1-v5.

v2  flexible        v3  an error for the whole answer        v4  size of the volume, which we do not know: -1
v5  directories that take no new partitions; ours always does
There is one directory. Partitions that are not here are left out of the answer, as Kafka does.
Left out: future replicas (nothing moves between directories), authorization.
"""

from collections.abc import Sequence
from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.engine.port import Partition
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

KEY: Final = 35
VERSIONS: Final = (1, 5)


async def handle(
    request: DescribeLogDirsRequest, _context: Context, broker: Runtime
) -> DescribeLogDirsResponse:
    topics: list[DescribeLogDirsTopic] = []
    for name, indexes in _asked(request, broker):
        topic = broker.engine.topics.get(name)
        if topic is None:
            continue
        here = [_describe(each) for each in topic.partitions if indexes is None or each.index in indexes]
        if here:
            topics.append(DescribeLogDirsTopic(name=name, partitions=here))
    directory = DescribeLogDirsResult(
        error_code=ErrorCode.NONE,
        log_dir=broker.topics.directory,
        topics=topics,
        total_bytes=-1,
        usable_bytes=-1,
    )
    return DescribeLogDirsResponse(error_code=ErrorCode.NONE, results=[directory])


def _asked(request: DescribeLogDirsRequest, broker: Runtime) -> Sequence[tuple[str, set[int] | None]]:
    """Topic names and which of their partitions; None for all."""
    if request.topics is None:
        return [(name, None) for name in broker.engine.topics]
    merged: dict[str, set[int]] = {}
    for topic in request.topics:
        merged.setdefault(topic.topic, set()).update(topic.partitions)
    return list(merged.items())


def _describe(partition: Partition) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(
        partition_index=partition.index,
        partition_size=partition.size_bytes,
        offset_lag=0,
        is_future_key=False,
    )
