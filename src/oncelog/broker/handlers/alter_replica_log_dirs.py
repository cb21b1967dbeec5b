"""AlterReplicaLogDirs (key 34), v1-v2.

v2  flexible
There is one directory: a partition can be moved to where it is, anything else is LOG_DIR_NOT_FOUND. A partition that is
named twice counts once, with the last directory given.
Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

KEY: Final = 34
VERSIONS: Final = (1, 2)


async def handle(
    request: AlterReplicaLogDirsRequest, _context: Context, broker: Runtime
) -> AlterReplicaLogDirsResponse:
    asked: dict[str, dict[int, str]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            asked.setdefault(topic.name, {}).update(dict.fromkeys(topic.partitions, directory.path))
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(
                        partition_index=index, error_code=_error(name, index, path, broker)
                    )
                    for index, path in partitions.items()
                ],
            )
            for name, partitions in asked.items()
        ]
    )


def _error(name: str, index: int, path: str, broker: Runtime) -> ErrorCode:
    topic = broker.engine.topics.get(name)
    if topic is None or not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if path == broker.topics.directory else ErrorCode.LOG_DIR_NOT_FOUND
