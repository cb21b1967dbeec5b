"""Fetch (key 1), v4-v18.

v5  log start offset          v7  sessions (KIP-227)           v9  current leader epoch
v11 preferred read replica    v12 flexible, last fetched epoch v13 topic ids instead of names
v15 replica state as a tag    v16 node endpoints               v17 directory id       v18 high watermark tag
One view of the offsets per partition and answer (B38); a long poll wakes when the high watermark or the LSO moves.
Left out: followers (a replica id >= 0 is refused, T17), preferred replicas, throttling, authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.fetch_sessions import FetchPlan, PartitionKey, Wanted
from oncelog.broker.runtime import Runtime
from oncelog.engine.port import Partition, Read
from oncelog.errors import ErrorCode
from oncelog.model import Isolation, TopicId
from oncelog.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from oncelog.tasks import Gate, within

KEY: Final = 1
VERSIONS: Final = (4, 18)

FIRST_WITH_SESSIONS: Final = 7
FIRST_WITH_IDS: Final = 13
NO_EPOCH: Final = -1


async def handle(request: FetchRequest, context: Context, broker: Runtime) -> FetchResponse:
    state = request.replica_state
    if request.replica_id >= 0 or (state is not None and state.replica_id >= 0):
        return FetchResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    plan = _plan(request, context.version, broker)
    if isinstance(plan, ErrorCode):
        return FetchResponse(error_code=plan)
    isolation = Isolation.READ_COMMITTED if request.isolation_level == 1 else Isolation.READ_UNCOMMITTED
    if isolation is Isolation.READ_UNCOMMITTED:
        broker.uncommitted_readers.note(context)
    found = [_find(each, broker) for each in plan.wanted]
    max_bytes = min(request.max_bytes, broker.config.fetch_max_bytes)
    reads = await _read_all(plan.wanted, found, isolation, max_bytes)
    if not _is_enough(reads, request.min_bytes) and request.max_wait_ms > 0 and plan.wanted:
        broker.counters.fetch_waits += 1
        await _wait(plan.wanted, found, isolation, request, broker)
        reads = await _read_all(plan.wanted, found, isolation, max_bytes)
    _count(reads, broker)
    return _answer(plan, reads, broker)


def _count(reads: list[Read], broker: Runtime) -> None:
    counters = broker.counters
    failed = False
    for read in reads:
        counters.fetched_bytes += len(read.records)
        if read.error:
            failed = True
            counters.add(f"fetch.refused.{read.error.name}")
    if failed:
        counters.rpcs[KEY].errors += 1


def _plan(request: FetchRequest, version: int, broker: Runtime) -> FetchPlan | ErrorCode:
    uses_ids = version >= FIRST_WITH_IDS
    wanted = [
        Wanted(
            TopicId(topic.topic_id) if uses_ids else None,
            "" if uses_ids else topic.topic,
            part.partition,
            part.fetch_offset,
            part.partition_max_bytes,
            part.current_leader_epoch,
        )
        for topic in request.topics
        for part in topic.partitions
    ]
    if version < FIRST_WITH_SESSIONS:
        return FetchPlan(0, wanted)
    forgotten: list[PartitionKey] = [
        (TopicId(topic.topic_id), "", index) if uses_ids else (None, topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]
    return broker.fetch_sessions.plan(request.session_id, request.session_epoch, uses_ids, wanted, forgotten)


def _find(wanted: Wanted, broker: Runtime) -> Partition | ErrorCode:
    if wanted.topic_id is not None:
        topic = broker.engine.topic_by_id(wanted.topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
    else:
        topic = broker.engine.topics.get(wanted.topic)
    if topic is None or not 0 <= wanted.index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    partition = topic.partitions[wanted.index]
    if wanted.current_leader_epoch == NO_EPOCH or wanted.current_leader_epoch == partition.leader_epoch:
        return partition
    older = wanted.current_leader_epoch < partition.leader_epoch
    return ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH


async def _read_all(
    wanted: list[Wanted], found: list[Partition | ErrorCode], isolation: Isolation, max_bytes: int
) -> list[Read]:
    """Reads in the order asked for; the first batch found comes whole whatever the limits (TRAP-30)."""
    reads: list[Read] = []
    left = max_bytes
    nothing_yet = True
    for each, partition in zip(wanted, found, strict=True):
        if isinstance(partition, ErrorCode):
            reads.append(Read(partition, b"", -1, -1, -1, None))
            continue
        read = await partition.read(
            each.fetch_offset,
            max_bytes=max(min(each.max_bytes, left), 0),
            isolation=isolation,
            at_least_one_batch=nothing_yet,
        )
        if read.records:
            left -= len(read.records)
            nothing_yet = False
        reads.append(read)
    return reads


def _is_enough(reads: list[Read], min_bytes: int) -> bool:
    return any(read.error for read in reads) or sum(len(read.records) for read in reads) >= min_bytes


async def _wait(
    wanted: list[Wanted],
    found: list[Partition | ErrorCode],
    isolation: Isolation,
    request: FetchRequest,
    broker: Runtime,
) -> None:
    """Returns when enough can be read under the isolation level, or when the time is up."""
    gate = Gate()
    partitions = [
        (each, part) for each, part in zip(wanted, found, strict=True) if not isinstance(part, ErrorCode)
    ]
    stops = [partition.watch(gate.open) for _, partition in partitions]
    deadline_ms = broker.clock.monotonic_ms() + request.max_wait_ms
    try:
        while True:
            moved = gate.wait()  # before looking, so that no move is missed
            available = 0
            for each, partition in partitions:
                available += partition.available_bytes(each.fetch_offset, isolation, each.max_bytes)
                if available >= max(request.min_bytes, 1):
                    return
            left_ms = deadline_ms - broker.clock.monotonic_ms()
            if left_ms <= 0 or not await within(broker.loop, moved, left_ms):
                return
    finally:
        for stop in stops:
            stop()


def _answer(plan: FetchPlan, reads: list[Read], broker: Runtime) -> FetchResponse:
    topics: dict[tuple[TopicId | None, str], FetchableTopicResponse] = {}
    gave: list[PartitionKey] = []
    for each, read in zip(plan.wanted, reads, strict=True):
        if plan.incremental and not (
            read.records
            or read.error
            or read.high_watermark != each.told_high_watermark
            or read.log_start_offset != each.told_log_start
        ):
            continue
        each.told_high_watermark = read.high_watermark
        each.told_log_start = read.log_start_offset
        if read.records:
            gave.append(each.key)
        topic = topics.get((each.topic_id, each.topic))
        if topic is None:
            topic = topics[each.topic_id, each.topic] = FetchableTopicResponse(
                topic=each.topic, topic_id=each.topic_id or bytes(16)
            )
        topic.partitions.append(_partition_data(each.index, read))
    if plan.incremental:
        broker.fetch_sessions.rotate(plan.session_id, gave)
    return FetchResponse(session_id=plan.session_id, responses=list(topics.values()))


def _partition_data(index: int, read: Read) -> PartitionData:
    aborted = None
    if read.aborted is not None:
        aborted = [
            AbortedTransaction(producer_id=a.producer_id, first_offset=a.first_offset) for a in read.aborted
        ]
    return PartitionData(
        partition_index=index,
        error_code=read.error,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable_offset,
        log_start_offset=read.log_start_offset,
        aborted_transactions=aborted,
        records=read.records,
    )
