"""The questions of the inspector, each to all brokers that can answer it: KIP-664, offsets, and our own side door."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from oncelog.client.admin import EARLIEST, LATEST, Admin, OffsetView
from oncelog.client.cluster import TRANSACTION, Away, Backoff, Cluster
from oncelog.client.faults import (
    RETRIABLE,
    ClientFault,
    RefusedByBroker,
    TimedOut,
    Unreachable,
    UnsupportedByBroker,
    demand,
    error_name,
)
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.model import Isolation, Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.protocol.messages.describe_oncelog import DescribeOncelogRequest, DescribeOncelogResponse, Times
from oncelog.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from oncelog.protocol.messages.describe_trace import DescribeTraceRequest, DescribeTraceResponse
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from oncelog.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from oncelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from oncelog.protocol.primitives import Message
from oncelog.txn.state import is_admin

OFFSET_FETCH: Final = 9
GROUPS_OF_OFFSETS: Final = 8  # the first version that names groups in a list
LIST_TRANSACTIONS: Final = 66
DESCRIBE_AT_ONCE: Final = 500  # transactional ids in one DescribeTransactions
NOBODYS: Final = "?nobody's, asked for by oncelog"  # a transactional id
NEW_INSTANCE: Final = "new instance"
ADMIN: Final = "admin"
SETTLES_MS: Final = 1_000  # how long a partition may say that it moves, before it is left out
NO_LEADER: Final = "no leader"
AnswerT = TypeVar("AnswerT", bound=Message)
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Listed:
    """A transactional id as its coordinator lists it."""

    transactional_id: str
    producer_id: int
    state: str
    node_id: int


@dataclass(frozen=True, slots=True)
class Described:
    """A transactional id as its coordinator describes it. `start_ms` is -1 when no transaction is under way."""

    transactional_id: str
    state: str
    producer: Producer
    timeout_ms: int
    start_ms: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ActiveProducer:
    """A producer as the leader of a partition knows it. `start_offset` is -1 when it has no open transaction there."""

    producer: Producer
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the epoch of a transactional id was last bumped; only oncelog keeps it."""

    producer_epoch: int
    cause: str
    at_ms: int
    client_id: str | None
    address: str | None

    @property
    def host(self) -> str:
        return host_of(self.address)


@dataclass(frozen=True, slots=True)
class Bumped(Cause):
    """A bump as the state log keeps it: with the producer id that has the epoch."""

    producer_id: int


@dataclass(frozen=True, slots=True)
class Ends:
    """Where a partition begins and ends, for both kinds of readers."""

    log_start: int
    last_stable_offset: int
    high_watermark: int


@dataclass(frozen=True, slots=True)
class Untold:
    """A partition that nobody tells of, as one without a leader. What is known of the others holds all the same."""

    topic: str
    partition: int
    why: str


def list_transactions(
    cluster: Cluster,
    *,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    longer_than_ms: int = -1,
) -> list[Listed]:
    """Of all coordinators, by transactional id. A state that a broker does not know is a fault that names it."""
    found, away = transactions_told(
        cluster, states=states, producer_ids=producer_ids, longer_than_ms=longer_than_ms
    )
    if away:
        raise Unreachable(f"ListTransactions: {'; '.join(str(each) for each in away)}")
    return found


def transactions_told(
    cluster: Cluster,
    *,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    longer_than_ms: int = -1,
) -> tuple[list[Listed], tuple[Away, ...]]:
    """The same of the coordinators that answer, and which brokers do not. No broker tells of ids that we may not describe."""
    request = ListTransactionsRequest(
        state_filters=list(states), producer_id_filters=list(producer_ids), duration_filter=longer_than_ms
    )

    def ask(whom: Connection) -> ListTransactionsResponse:
        version = whom.version_of(LIST_TRANSACTIONS)
        if longer_than_ms >= 0 and version < 1:
            raise UnsupportedByBroker(
                f"ListTransactions by duration needs version 1, {whom} offers {version}"
            )
        answer = whom.send(request, ListTransactionsResponse, version)
        backoff = Backoff(cluster.timeout_ms)
        while answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and backoff.wait():
            answer = whom.send(request, ListTransactionsResponse, version)
        demand(answer.error_code, "ListTransactions", str(whom))
        if answer.unknown_state_filters:
            raise ValueError(f"unknown transaction states: {', '.join(sorted(answer.unknown_state_filters))}")
        return answer

    answers, away = cluster.ask_each(ask)
    found = [
        Listed(each.transactional_id, each.producer_id, each.transaction_state, node_id)
        for node_id, answer in answers.items()
        for each in answer.transaction_states
    ]
    return sorted(found, key=lambda each: each.transactional_id), away


def describe_listed(cluster: Cluster, listed: Iterable[Listed]) -> dict[str, Described]:
    """Those that still exist; the broker that lists an id is its coordinator."""
    found, refused = descriptions_told(cluster, listed)
    for name, (error, whom) in refused.items():
        demand(error, f"DescribeTransactions of {name!r}", whom)
    return found


def descriptions_told(
    cluster: Cluster, listed: Iterable[Listed]
) -> tuple[dict[str, Described], dict[str, tuple[int, str]]]:
    """The same, and of those that are refused the error and who said it."""
    by_node: dict[int, list[str]] = {}
    for each in listed:
        by_node.setdefault(each.node_id, []).append(each.transactional_id)
    found: dict[str, Described] = {}
    refused: dict[str, tuple[int, str]] = {}
    for node_id, names in by_node.items():
        for at in range(0, len(names), DESCRIBE_AT_ONCE):
            told, errors = _describe(cluster.node(node_id), names[at : at + DESCRIBE_AT_ONCE])
            found |= told
            refused |= errors
    return found, refused


def may_describe_all(cluster: Cluster) -> bool:
    """Whether we may see every transactional id. Who may not is told of some as if there were no others; but a broker looks at the
    rights before it looks for the id, so one that nobody has tells it. A right that is denied of one id alone is not found so.
    """
    request = DescribeTransactionsRequest(transactional_ids=[NOBODYS])
    answer = cluster.any().send(request, DescribeTransactionsResponse)
    return all(
        each.error_code != ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        for each in answer.transaction_states
    )


def describe_transaction(cluster: Cluster, transactional_id: str) -> Described | None:
    """None: the coordinator does not know it."""

    def ask(whom: Connection) -> Described | None:
        found, refused = _describe(whom, [transactional_id])
        for name, (error, by) in refused.items():
            demand(error, f"DescribeTransactions of {name!r}", by)
        return found.get(transactional_id)

    return cluster.with_coordinator(transactional_id, ask, TRANSACTION)


def _describe(
    whom: Connection, names: Sequence[str]
) -> tuple[dict[str, Described], dict[str, tuple[int, str]]]:
    answer = whom.send(
        DescribeTransactionsRequest(transactional_ids=list(names)), DescribeTransactionsResponse
    )
    found: dict[str, Described] = {}
    refused: dict[str, tuple[int, str]] = {}
    for each in answer.transaction_states:
        if each.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            continue
        if each.error_code != ErrorCode.NONE:
            refused[each.transactional_id] = (each.error_code, str(whom))
            continue
        found[each.transactional_id] = Described(
            each.transactional_id,
            each.transaction_state,
            Producer(ProducerId(each.producer_id), ProducerEpoch(each.producer_epoch)),
            each.transaction_timeout_ms,
            each.transaction_start_time_ms,
            tuple(
                sorted(
                    TopicPartition(topic.topic, index) for topic in each.topics for index in topic.partitions
                )
            ),
        )
    return found, refused


def describe_producers(
    cluster: Cluster, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, tuple[ActiveProducer, ...]]:
    """Who writes to these partitions, as their leaders know it."""
    leaders: dict[Connection, list[TopicPartition]] = {}
    for each in sorted(partitions):
        leaders.setdefault(cluster.leader(each), []).append(each)
    found: dict[TopicPartition, tuple[ActiveProducer, ...]] = {}
    for whom, some in leaders.items():
        told, refused = _producers(whom, some)
        for partition, (error, message) in refused.items():
            demand(error, f"DescribeProducers of {partition}", str(whom), message)
        found |= told
    return found


def producers_told(
    cluster: Cluster, partitions: Iterable[TopicPartition]
) -> tuple[dict[TopicPartition, tuple[ActiveProducer, ...]], list[Untold]]:
    """The same, and of which partitions nobody tells it: one topic that we may not read hides no other."""

    def ask(
        whom: Connection, some: Sequence[TopicPartition]
    ) -> tuple[dict[TopicPartition, tuple[ActiveProducer, ...]], dict[TopicPartition, int]]:
        told, refused = _producers(whom, some)
        return told, {each: error for each, (error, _) in refused.items()}

    return _told(cluster, partitions, ask)


def _producers(
    whom: Connection, partitions: Sequence[TopicPartition]
) -> tuple[dict[TopicPartition, tuple[ActiveProducer, ...]], dict[TopicPartition, tuple[int, str | None]]]:
    topics: dict[str, list[int]] = {}
    for each in sorted(partitions):
        topics.setdefault(each.topic, []).append(each.partition)
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=name, partition_indexes=mine) for name, mine in topics.items()]
    )
    found: dict[TopicPartition, tuple[ActiveProducer, ...]] = {}
    refused: dict[TopicPartition, tuple[int, str | None]] = {}
    for topic in whom.send(request, DescribeProducersResponse).topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            if each.error_code != ErrorCode.NONE:
                refused[partition] = (each.error_code, each.error_message)
                continue
            found[partition] = tuple(
                ActiveProducer(
                    Producer(ProducerId(one.producer_id), ProducerEpoch(one.producer_epoch)),
                    one.last_sequence,
                    one.last_timestamp,
                    one.coordinator_epoch,
                    one.current_txn_start_offset,
                )
                for one in sorted(each.active_producers, key=lambda one: one.producer_id)
            )
    return found, refused


def ends_of(cluster: Cluster, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Ends]:
    """Of all of these, and with the cluster's patience: what has no leader is waited for.

    The last stable offset is asked before the high watermark: it is never above it in what we return.
    """
    admin = Admin(cluster)
    wanted = sorted(partitions)
    starts = admin.offsets_at(dict.fromkeys(wanted, EARLIEST))
    stable = admin.offsets_at(dict.fromkeys(wanted, LATEST), isolation=Isolation.READ_COMMITTED)
    high = admin.offsets_at(dict.fromkeys(wanted, LATEST))
    return {
        each: Ends(starts[each].offset, stable[each].offset, high[each].offset)
        for each in wanted
        if each in starts and each in stable and each in high
    }


def ends_told(
    cluster: Cluster, partitions: Iterable[TopicPartition]
) -> tuple[dict[TopicPartition, Ends], list[Untold]]:
    """The same without waiting, for who asks about everything: and of which partitions nobody tells it."""
    admin = Admin(cluster)

    def ask(
        whom: Connection, some: Sequence[TopicPartition]
    ) -> tuple[dict[TopicPartition, Ends], dict[TopicPartition, int]]:
        starts, refused = admin.offsets_told(whom, dict.fromkeys(some, EARLIEST))
        stable, more = admin.offsets_told(
            whom, dict.fromkeys(starts, LATEST), isolation=Isolation.READ_COMMITTED
        )
        high, most = admin.offsets_told(whom, dict.fromkeys(stable, LATEST))
        found = {
            each: Ends(starts[each].offset, stable[each].offset, high[each].offset)
            for each in starts
            if each in stable and each in high
        }
        return found, refused | more | most

    return _told(cluster, partitions, ask)


def end_of(cluster: Cluster, where: TopicPartition) -> Ends:
    """Of one partition, without waiting for its leader."""
    found, untold = ends_told(cluster, [where])
    if where not in found:
        error = ErrorCode.LEADER_NOT_AVAILABLE if untold else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        raise RefusedByBroker(
            error, f"ends of {where}", "the cluster", ", ".join(each.why for each in untold) or None
        )
    return found[where]


def offsets_told(
    cluster: Cluster, partitions: Iterable[TopicPartition], at: int
) -> tuple[dict[TopicPartition, OffsetView], list[Untold]]:
    """ListOffsets of a time, or of LATEST and its like, without waiting."""
    admin = Admin(cluster)
    return _told(cluster, partitions, lambda whom, some: admin.offsets_told(whom, dict.fromkeys(some, at)))


def _told(
    cluster: Cluster,
    partitions: Iterable[TopicPartition],
    ask: Callable[
        [Connection, Sequence[TopicPartition]],
        tuple[dict[TopicPartition, ResultT], dict[TopicPartition, int]],
    ],
) -> tuple[dict[TopicPartition, ResultT], list[Untold]]:
    """Asks each leader for its partitions. Those that move are asked for again for a moment; topics that were deleted since are
    left out. Raises only if nobody told anything because nobody could be reached.
    """
    left, found, untold = sorted(partitions), dict[TopicPartition, ResultT](), dict[TopicPartition, str]()
    backoff = Backoff(min(cluster.timeout_ms, SETTLES_MS))
    fault: ClientFault | None = None
    is_fresh = False
    while left:
        leaders: dict[Connection, list[TopicPartition]] = {}
        errors: dict[TopicPartition, int] = {}  # by the cluster's metadata, then by leaders
        for each in left:
            try:
                leaders.setdefault(cluster.leader(each), []).append(each)
            except RefusedByBroker as refusal:
                errors[each] = refusal.error
            except Unreachable as unknown:  # a leader that the cluster's metadata does not know any more
                errors[each], fault = ErrorCode.LEADER_NOT_AVAILABLE, unknown
        again: set[TopicPartition] = set() if is_fresh else set(errors)
        for whom, some in leaders.items():
            try:
                told, refused = cluster.ask_shortly(whom, lambda one, some=some: ask(one, some))
            except (Unreachable, TimedOut) as silence:
                untold |= dict.fromkeys(some, str(silence))
                again |= set(some) if isinstance(silence, Unreachable) else set()
                fault = silence
            else:
                found |= told
                errors |= refused
                again |= {each for each, error in refused.items() if error in RETRIABLE}
        for each, error in errors.items():
            untold[each] = NO_LEADER if error == ErrorCode.LEADER_NOT_AVAILABLE else error_name(error)
        if not again or (is_fresh and not backoff.wait()):
            break
        cluster.refresh({each.topic for each in again})
        left, is_fresh = sorted(again), True
    if fault is not None and not found:
        raise fault
    gone = error_name(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return found, [
        Untold(each.topic, each.partition, why)
        for each, why in sorted(untold.items())
        if each not in found and why != gone
    ]


def has_unstable_offsets(cluster: Cluster, group: str) -> bool:
    """Whether offsets of the group are in an open transaction: who asks for stable ones (KIP-447) is told to ask again."""
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=None)], require_stable=True
    )

    def ask(whom: Connection) -> bool:
        version = whom.version_of(OFFSET_FETCH)
        if version < GROUPS_OF_OFFSETS:
            raise UnsupportedByBroker(
                f"OffsetFetch of groups needs version {GROUPS_OF_OFFSETS}, {whom} offers {version}"
            )
        (found,) = whom.send(request, OffsetFetchResponse, version).groups
        if found.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
            return True
        demand(found.error_code, f"OffsetFetch of {group!r}", str(whom))
        return any(
            each.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
            for topic in found.topics
            for each in topic.partitions
        )

    return cluster.with_coordinator(group, ask)


def host_of(address: str | None) -> str:
    """Without its port, as the broker names the hosts of clients."""
    return (address or "").rpartition(":")[0]


def cause_named(cause: str, client_id: str | None) -> str:
    """A broker knows an abort by hand as a new instance of its id: who that is tells the two apart."""
    return ADMIN if cause == NEW_INSTANCE and is_admin(client_id) else cause


class SideDoor:
    """What only oncelog tells. On any other broker every answer is None, found out once by asking."""

    def __init__(self, cluster: Cluster, before: "SideDoor | None" = None) -> None:
        """`before`: of who asks again and again, what was found out the last time."""
        self._cluster = cluster
        self._is_there = None if before is None else before._is_there

    @property
    def is_there(self) -> bool:
        if self._is_there is None:
            self._ask(())
        return bool(self._is_there)

    def causes(self, transactional_ids: Sequence[str]) -> Mapping[str, Cause] | None:
        answer = self._ask(transactional_ids)
        if answer is None:
            return None
        return {
            each.transactional_id: Cause(
                each.producer_epoch,
                cause_named(each.cause, each.client_id),
                each.at_ms,
                each.client_id,
                None if each.client_host is None else f"{each.client_host}:{each.client_port}",
            )
            for each in answer.bumps
        }

    def counters(self) -> Mapping[str, int] | None:
        answer = self._ask(())
        return None if answer is None else {each.name: each.value for each in answer.counters}

    def times(self) -> Mapping[str, Times] | None:
        """How long things took, by name: buckets of powers of two nanoseconds."""
        answer = self._ask(())
        return None if answer is None else {each.name: each for each in answer.times}

    def uncommitted_readers(self) -> set[tuple[str | None, str]] | None:
        """Client id and host of everybody who fetched at read_uncommitted since the broker started."""
        answer = self._ask(())
        if answer is None:
            return None
        return {(each.client_id, each.client_host) for each in answer.uncommitted_readers}

    def software(self) -> Mapping[tuple[str | None, str], str]:
        """Client id and host -> which library, with its version, as the client says (KIP-511); several, with `or` between them,
        where several came under one name from one host. Empty elsewhere.
        """
        answer = self._ask(())
        said: dict[tuple[str | None, str], list[str]] = {}
        for each in () if answer is None else answer.clients:
            mine = said.setdefault((each.client_id, each.client_host), [])
            mine.append(f"{each.software_name} {each.software_version}")
        return {who: " or ".join(several) for who, several in said.items()}

    def trace(self, transactional_id: str, after: int = -1) -> DescribeTraceResponse | None:
        """The last requests of an id, from the one after number `after` on."""
        request = DescribeTraceRequest(transactional_id=transactional_id, after=after)
        return self._send(request, DescribeTraceResponse, 0) if self.is_there else None

    def traced_ids(self) -> list[str] | None:
        """Of whom it keeps requests, also where they never got so far that a coordinator knows them; who asked last comes last."""
        if not self.is_there:
            return None
        found = self._knock(DescribeTraceRequest(transactional_id=""), DescribeTraceResponse, 1)
        return None if found is None else list(found.transactional_ids)  # None: it is an older one

    def _ask(self, transactional_ids: Sequence[str]) -> DescribeOncelogResponse | None:
        if self._is_there is False:
            return None
        request = DescribeOncelogRequest(transactional_ids=list(transactional_ids))
        answer = self._send(request, DescribeOncelogResponse, 3)
        self._is_there = answer is not None
        return answer

    def _send(self, request: Message, wanted: type[AnswerT], version: int) -> AnswerT | None:
        """None: the broker closed the connection, which is how Apache Kafka answers an unknown API key (API-1)."""
        if self._is_there:
            try:
                return self._cluster.any().send(request, wanted, version)
            except (Unreachable, TimedOut):
                self._is_there = None  # it may be another one that comes back
                raise
        return self._knock(request, wanted, version)

    def _knock(self, request: Message, wanted: type[AnswerT], version: int) -> AnswerT | None:
        """On a connection of its own, which may be closed for it."""
        known = self._cluster.any()
        with self._cluster.dial(known.address, client_id=known.client_id) as door:
            try:
                return door.send(request, wanted, version)
            except (Unreachable, TimedOut, RefusedByBroker):
                self._cluster.any()  # raises if the broker itself is gone
                return None
