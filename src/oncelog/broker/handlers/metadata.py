"""Metadata (key 3), v0-v13.

v0  an empty list means all topics; from v1 on null does, and an empty list none        v4  may forbid auto creation
v8  authorized operations of topics and (v8-v10) of the cluster        v9  flexible
v10  topic ids are answered, v12 topics may be asked for by id: then names in the same request are not looked at
v13  an error for the whole answer, which we never need
All topics: the encoded answer is kept until a topic changes, for clients poll it; then only that topic is encoded anew.
Left out: authorization; auto creation of internal topics (FindCoordinator makes them).
"""

from collections.abc import Sequence
from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.broker.topics import missing
from oncelog.engine.port import Topic
from oncelog.errors import ErrorCode
from oncelog.model import INTERNAL_TOPICS, NO_TOPIC_ID, TopicId
from oncelog.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from oncelog.protocol.primitives import BytesLike, varint
from oncelog.tasks import sleep, spawn, supervise

KEY: Final = 3
VERSIONS: Final = (0, 13)

FLEXIBLE: Final = 9
SLICE_MS: Final = 4  # then others get their turn
LOOK_BYTES: Final = 2048  # encoded between two looks at the clock
NOT_ASKED: Final = -2147483648
TOPIC_OPERATIONS: Final = (
    3576  # bits of READ 3, WRITE 4, CREATE 5, DELETE 6, ALTER 7, DESCRIBE 8, .._CONFIGS 10, 11
)
CLUSTER_OPERATIONS: Final = (
    8096  # bits of CREATE 5, ALTER 7, DESCRIBE 8, CLUSTER_ACTION 9, 10, 11, IDEMPOTENT_WRITE 12
)


class KeptAnswer(MetadataResponse):
    """An answer that is encoded already, in the one version that will be asked of it."""

    __slots__ = ("_encoded", "_version")

    def __init__(self, encoded: bytes, version: int) -> None:
        super().__init__()
        self._encoded = encoded
        self._version = version

    def write(self, out: bytearray, version: int) -> None:
        assert version == self._version
        out += self._encoded

    def encode_parts(self, version: int) -> list[BytesLike]:
        assert version == self._version
        return [self._encoded]


async def handle(request: MetadataRequest, context: Context, broker: Runtime) -> MetadataResponse:
    asked = request.topics
    if asked is None or (context.version == 0 and not asked):
        return await _all(request, context, broker)
    refusal = _refusal(asked, context.version)
    if refusal is not None:
        return _refuse(asked, refusal)
    ids = list(dict.fromkeys(each.topic_id for each in asked if each.topic_id != NO_TOPIC_ID))
    if ids:
        topics = _by_id(ids, broker)
    else:
        topics = _by_name(list(dict.fromkeys(each.name or "" for each in asked)), request, broker)
    return KeptAnswer(await _encoded(topics, request, context, broker), context.version)


def _refusal(asked: list[MetadataRequestTopic], version: int) -> ErrorCode | None:
    """What Kafka says to topics without a name or with an id, before ids were a way to ask (v10, v11) and after."""
    nameless = any(each.name is None for each in asked)
    by_id = any(each.topic_id != NO_TOPIC_ID for each in asked)
    if version in (10, 11) and (nameless or by_id):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.UNKNOWN_SERVER_ERROR if nameless and not by_id else None


def _refuse(asked: list[MetadataRequestTopic], error: ErrorCode) -> MetadataResponse:
    topics = [
        MetadataResponseTopic(error_code=error, name=each.name or "", topic_id=each.topic_id)
        for each in asked
    ]
    return MetadataResponse(controller_id=-1, topics=topics)


async def _all(request: MetadataRequest, context: Context, broker: Runtime) -> MetadataResponse:
    asks_cluster = context.version <= 10 and request.include_cluster_authorized_operations
    wanted = (context.version, request.include_topic_authorized_operations, asks_cluster)
    encoded = broker.topics.answers().get(wanted)
    if encoded is None:
        stamp = broker.topics.stamp
        encoded = await _encoded(list(broker.engine.topics.values()), request, context, broker)
        if broker.topics.stamp == stamp:
            broker.topics.answers()[wanted] = encoded
    return KeptAnswer(encoded, context.version)


async def _encoded(
    topics: Sequence[Topic | MetadataResponseTopic],
    request: MetadataRequest,
    context: Context,
    broker: Runtime,
) -> bytes:
    """The whole answer. Topics are encoded one by one and kept, and the loop gets its turn between them."""
    version = context.version
    tail = _tail_bytes(version)
    head = len(MetadataResponse().encode(version)) - tail
    asks_topics = request.include_topic_authorized_operations
    kept = broker.topics.pieces((version, asks_topics))
    pieces: list[bytes] = []
    encoded_bytes = 0
    began = broker.clock.monotonic_ms()
    for topic in topics:
        known = kept.get(topic.name or "")
        if known is not None and known[0] is topic:
            pieces.append(known[1])
            continue
        described = _describe(topic, broker) if isinstance(topic, Topic) else topic
        if asks_topics and described.error_code != ErrorCode.UNKNOWN_TOPIC_ID:
            described.topic_authorized_operations = TOPIC_OPERATIONS
        alone = MetadataResponse(topics=[described]).encode(version)
        piece = alone[head : len(alone) - tail]
        pieces.append(piece)
        if isinstance(topic, Topic) and broker.engine.topics.get(topic.name) is topic:
            kept[topic.name] = topic, piece
        encoded_bytes += len(piece)
        if encoded_bytes > LOOK_BYTES:
            encoded_bytes = 0
            if broker.clock.monotonic_ms() - began > SLICE_MS:
                await sleep(broker.loop, 0)
                began = broker.clock.monotonic_ms()
    frame = _frame(request, broker).encode(version)
    count = varint(len(pieces) + 1) if version >= FLEXIBLE else len(pieces).to_bytes(4, "big")
    behind = len(frame) - tail
    before = behind - (1 if version >= FLEXIBLE else 4)
    return b"".join([frame[:before], count, *pieces, frame[behind:]])


def _tail_bytes(version: int) -> int:
    """What follows the topics: operations on the cluster in v8 to v10, an error from v13 on, tags where flexible."""
    return (4 if 8 <= version <= 10 else 0) + (2 if version >= 13 else 0) + (1 if version >= FLEXIBLE else 0)


def _frame(request: MetadataRequest, broker: Runtime) -> MetadataResponse:
    """An answer about no topic."""
    asks_cluster = request.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=broker.node_id,
                host=broker.host,
                port=broker.port,
                rack=broker.config.broker_rack or None,
            )
        ],
        cluster_id=broker.engine.cluster_id,
        controller_id=broker.node_id,
        cluster_authorized_operations=CLUSTER_OPERATIONS if asks_cluster else NOT_ASKED,
    )


def _by_id(ids: list[bytes], broker: Runtime) -> list[Topic | MetadataResponseTopic]:
    found = [(each, broker.engine.topic_by_id(TopicId(each))) for each in ids]
    unknown = [
        MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=each)
        for each, topic in found
        if topic is None
    ]
    return [*unknown, *[topic for _, topic in found if topic is not None]]


def _by_name(
    names: list[str], request: MetadataRequest, broker: Runtime
) -> list[Topic | MetadataResponseTopic]:
    """Known topics first. A name that may be created is, while the client is told to ask again."""
    known: list[Topic] = []
    unknown: list[MetadataResponseTopic] = []
    for name in names:
        topic = broker.engine.topics.get(name)
        if topic is not None:
            known.append(topic)
            continue
        unknown.append(
            MetadataResponseTopic(error_code=missing(name), name=name, is_internal=name in INTERNAL_TOPICS)
        )
        if broker.config.auto_create_topics_enable and request.allow_auto_topic_creation:
            task = spawn(broker.loop, _create(name, broker), f"create topic {name}")
            supervise(task, lambda _, fault: broker.fail(fault))
    return [*known, *unknown]


async def _create(name: str, broker: Runtime) -> None:
    if await broker.topics.create_automatically(name):
        broker.groups.topics_changed()


def _describe(topic: Topic, broker: Runtime) -> MetadataResponseTopic:
    me = [broker.node_id]
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[
            MetadataResponsePartition(
                partition_index=partition.index,
                leader_id=broker.node_id,
                leader_epoch=partition.leader_epoch,
                replica_nodes=me,
                isr_nodes=me,
            )
            for partition in topic.partitions
        ],
    )
