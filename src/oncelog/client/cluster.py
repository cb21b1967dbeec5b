"""Who leads what: metadata, coordinators, and one connection to each broker."""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, TypeVar

from oncelog.client.address import Address, parse_bootstrap
from oncelog.client.faults import RETRIABLE, ClientFault, RefusedByBroker, TimedOut, Unreachable, demand
from oncelog.client.security import PLAINTEXT, Security
from oncelog.client.session import CLIENT_ID, Connection
from oncelog.errors import ErrorCode
from oncelog.model import TopicPartition
from oncelog.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from oncelog.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from oncelog.protocol.primitives import Message

GROUP: Final = 0
TRANSACTION: Final = 1
NO_NODE: Final = -1
SILENT_MS: Final = 500

# The coordinator moved or is loading, or a transaction is about to decide an offset: it will pass.
COORDINATOR_PASSING: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    }
)

ResultT = TypeVar("ResultT")
AnswerT = TypeVar("AnswerT", bound=Message)


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One partition as the cluster describes it."""

    index: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicView:
    """One topic as the cluster describes it."""

    name: str
    id: bytes
    is_internal: bool
    partitions: tuple[PartitionView, ...]


@dataclass(frozen=True, slots=True)
class Away:
    """A broker of the cluster's metadata that could not be asked: what it alone knows is not told."""

    node_id: int
    why: str

    def __str__(self) -> str:
        return f"broker {self.node_id}: {self.why}"


class Backoff:
    """Waits longer and longer until the time is up."""

    def __init__(self, timeout_ms: int, *, first_ms: int = 20, longest_ms: int = 500) -> None:
        self._deadline = time.monotonic() + timeout_ms / 1000
        self._next_ms = first_ms
        self._longest_ms = longest_ms

    def wait(self) -> bool:
        """False, at once, if there is no time left."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(self._next_ms / 1000, left))
        self._next_ms = min(self._next_ms * 2, self._longest_ms)
        return True


class Cluster:
    """The way to every broker of a cluster. Connections open when first used; a pickle of it is its settings only, so it may
    be sent to other processes. Not for more than one thread at a time.

    timeout_ms   for one answer, and for what is known to pass: a coordinator that loads, a partition without a leader
    patience_ms  how long to go on when nobody can be reached at all: a broker that is being restarted. 0 says so at once
    """

    def __init__(
        self,
        bootstrap: str | Sequence[Address],
        *,
        client_id: str = CLIENT_ID,
        timeout_ms: int = 30_000,
        patience_ms: int = 0,
        security: Security = PLAINTEXT,
    ) -> None:
        self._bootstrap = parse_bootstrap(bootstrap) if isinstance(bootstrap, str) else list(bootstrap)
        self.client_id = client_id
        self.timeout_ms = timeout_ms
        self.patience_ms = patience_ms
        self.security = security
        self._connections: dict[tuple[Address, str], Connection] = {}
        self._nodes: dict[int, Address] = {}
        self._controller = NO_NODE
        self._topics: dict[str, TopicView] = {}
        self._coordinators: dict[tuple[int, str], Address] = {}
        self._silent: set[Address] = set()  # gave no answer the last time
        self.cluster_id: str | None = None

    @classmethod
    def from_options(
        cls, options: Mapping[str, str], *, client_id: str = CLIENT_ID, patience_ms: int = 0
    ) -> "Cluster":
        """From Kafka's names, without a `kafka.` in front: `bootstrap.servers`, `client.id`, `request.timeout.ms`, and those of
        `Security.from_options`. Others are passed over. ValueError: what was wanted and found.
        """
        timeout = options.get("request.timeout.ms", "30000")
        if not timeout.isascii() or not timeout.isdigit() or int(timeout) == 0:
            raise ValueError(f"request.timeout.ms: wanted a number of milliseconds, found {timeout!r}")
        try:
            bootstrap = parse_bootstrap(options.get("bootstrap.servers", ""))
        except ValueError as fault:
            raise ValueError(f"bootstrap.servers: {fault}") from None
        return cls(
            bootstrap,
            client_id=options.get("client.id", client_id),
            timeout_ms=int(timeout),
            patience_ms=patience_ms,
            security=Security.from_options(options),
        )

    def copy(self, *, client_id: str | None = None) -> "Cluster":
        """The same settings, nothing known and nothing open: for another thread or process, or another client id."""
        return Cluster(
            self._bootstrap,
            client_id=client_id or self.client_id,
            timeout_ms=self.timeout_ms,
            patience_ms=self.patience_ms,
            security=self.security,
        )

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        settings = (self.client_id, self.timeout_ms, self.patience_ms, self.security)
        return _again, (self._bootstrap, *settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # Brokers

    def dial(self, address: Address, *, client_id: str | None = None) -> Connection:
        """A connection of the caller's own, which he closes; it opens when first used."""
        return Connection(
            address,
            client_id=client_id or self.client_id,
            timeout_ms=self.timeout_ms,
            security=self.security,
        )

    def at(self, address: Address, *, client_id: str | None = None) -> Connection:
        """The one connection to this broker under this client id (ours, unless another is given)."""
        key = (address, client_id or self.client_id)
        connection = self._connections.get(key)
        if connection is None:
            connection = self._connections[key] = self.dial(address, client_id=client_id)
        return connection

    def any(self) -> Connection:
        """A broker that answers: those we know first, then the bootstrap addresses, and last who was silent the last time. Waits with
        our patience.
        """
        backoff = Backoff(self.patience_ms)
        while True:
            faults: list[str] = []
            addresses = dict.fromkeys([*self._nodes.values(), *self._bootstrap])
            for address in sorted(addresses, key=self._silent.__contains__):
                connection = self.at(address)
                try:
                    connection.offered()
                except (Unreachable, TimedOut) as fault:
                    faults.append(str(fault))
                    self._silent.add(address)
                else:
                    self._silent.discard(address)
                    return connection
            if not backoff.wait():
                raise Unreachable("; ".join(faults))

    def _ask_any(self, request: Message, kind: type[AnswerT]) -> tuple[Connection, AnswerT]:
        """Whoever answers; with our patience when a connection breaks meanwhile."""
        backoff = Backoff(self.patience_ms)
        while True:
            whom = self.any()
            try:
                return whom, whom.send(request, kind)
            except (Unreachable, TimedOut):
                if not backoff.wait():
                    raise

    def node(self, node_id: int) -> Connection:
        if node_id not in self._nodes:
            self.refresh(())
        address = self._nodes.get(node_id)
        if address is None:
            known = ", ".join(str(each) for each in sorted(self._nodes)) or "none"
            raise Unreachable(f"broker {node_id} is not in the cluster's metadata (known: {known})")
        return self.at(address)

    def nodes(self) -> Mapping[int, Address]:
        if not self._nodes:
            self.refresh(())
        return dict(sorted(self._nodes.items()))

    def ask_each(self, ask: Callable[[Connection], ResultT]) -> tuple[dict[int, ResultT], tuple[Away, ...]]:
        """What each broker answers, by its node id, and which could not be asked: one that is away hides no other. Raises if all are.

        Where one is away the metadata is asked anew: who has just died may be in what we know of it, and the others take over what it
        had. So all are asked again if it has changed.
        """
        found: dict[int, ResultT] = {}
        away: tuple[Away, ...] = ()
        for is_fresh in (False, True):
            found, known = {}, self.nodes()
            faults: dict[int, ClientFault] = {}
            for node_id in known:
                try:
                    found[node_id] = self.ask_shortly(self.node(node_id), ask)
                except (Unreachable, TimedOut) as fault:
                    faults[node_id] = fault
            if faults and not found:
                raise next(iter(faults.values()))
            away = tuple(Away(node_id, str(fault)) for node_id, fault in faults.items())
            if is_fresh or not away:
                break
            self.refresh(())
            if self.nodes() == known:
                break
        return found, away

    def ask_shortly(self, whom: Connection, ask: Callable[[Connection], ResultT]) -> ResultT:
        """For who asks several: a broker that was silent the last time is waited for no longer than SILENT_MS."""
        if whom.address in self._silent:
            whom.timeout_ms = min(self.timeout_ms, SILENT_MS)
        try:
            answer = ask(whom)
        except (Unreachable, TimedOut):
            self._silent.add(whom.address)
            raise
        finally:
            whom.timeout_ms = self.timeout_ms
        self._silent.discard(whom.address)
        return answer

    def controller(self) -> Connection:
        """The broker that takes topic changes; any will do where the cluster names none."""
        if not self._nodes:
            self.refresh(())
        return self.node(self._controller) if self._controller in self._nodes else self.any()

    # Topics

    def refresh(
        self, names: Iterable[str] | None, *, auto_create: bool = False
    ) -> list[MetadataResponseTopic]:
        """Asks for these topics, for all (None) or only for the brokers (an empty list)."""
        topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=auto_create)
        whom, answer = self._ask_any(request, MetadataResponse)
        demand(answer.error_code, "Metadata", str(whom))
        self._nodes = {each.node_id: Address(each.host, each.port) for each in answer.brokers}
        self._controller = answer.controller_id
        self.cluster_id = answer.cluster_id
        for topic in answer.topics:
            if topic.name is not None:
                if topic.error_code == ErrorCode.NONE:
                    self._topics[topic.name] = _view(topic)
                else:
                    self._topics.pop(topic.name, None)
        return list(answer.topics)

    def topics(self) -> list[TopicView]:
        """All topics, freshly asked, by name."""
        found = self.refresh(None)
        return sorted(
            (_view(each) for each in found if each.error_code == ErrorCode.NONE), key=lambda each: each.name
        )

    def topics_matching(self, pattern: str) -> list[TopicView]:
        """The topics whose whole name matches, freshly asked, by name; never internal ones. ValueError: not a pattern."""
        try:
            wanted = re.compile(pattern)
        except re.error as fault:
            raise ValueError(f"wanted a regular expression, found {pattern!r}: {fault}") from None
        return [each for each in self.topics() if not each.is_internal and wanted.fullmatch(each.name)]

    def topic(self, name: str, *, auto_create: bool = False, wait_ms: int = 0) -> TopicView:
        """One topic, from memory if known. `wait_ms`: how long it may take to appear and to have all its leaders."""
        known = self._topics.get(name)
        if known is not None:
            return known
        backoff = Backoff(wait_ms)
        while True:
            (found,) = self.refresh([name], auto_create=auto_create)
            error = found.error_code or next(
                (each.error_code for each in found.partitions if each.error_code), 0
            )
            if error == ErrorCode.NONE:
                return self._topics[name]
            self._topics.pop(name, None)
            if error not in RETRIABLE or not backoff.wait():
                raise RefusedByBroker(error, f"Metadata of topic {name!r}", str(self.any()))

    def forget(self, topic: str) -> None:
        """The next question about this topic goes to the cluster."""
        self._topics.pop(topic, None)

    def known(self, name: str) -> TopicView:
        """One topic, from memory if known, also while some of its partitions have no leader."""
        if name not in self._topics:
            (found,) = self.refresh([name])
            demand(found.error_code, f"Metadata of topic {name!r}", str(self.any()))
        return self._topics[name]

    def leader(self, partition: TopicPartition) -> Connection:
        partitions = self.known(partition.topic).partitions
        for each in partitions:
            if each.index == partition.partition:
                if each.leader == NO_NODE:
                    raise RefusedByBroker(
                        ErrorCode.LEADER_NOT_AVAILABLE, f"leader of {partition}", "the cluster"
                    )
                return self.node(each.leader)
        raise RefusedByBroker(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"leader of {partition}",
            "the cluster",
            f"the topic has {len(partitions)} partitions",
        )

    # Coordinators

    def coordinator(self, key: str, kind: int = GROUP) -> Connection:
        """The broker that looks after a group or a transactional id; waits while the internal topic is being made."""
        known = self._coordinators.get((kind, key))
        if known is not None:
            return self.at(known)
        what = f"FindCoordinator of {'transactional id' if kind == TRANSACTION else 'group'} {key!r}"
        backoff = Backoff(self.timeout_ms)
        while True:
            request = FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])
            whom, answer = self._ask_any(request, FindCoordinatorResponse)
            found = answer.coordinators[0] if answer.coordinators else answer
            if found.error_code == ErrorCode.NONE:
                address = Address(found.host, found.port)
                self._coordinators[kind, key] = address
                return self.at(address)
            if found.error_code not in RETRIABLE or not backoff.wait():
                raise RefusedByBroker(found.error_code, what, str(whom), found.error_message)

    def forget_coordinator(self, key: str, kind: int = GROUP) -> None:
        self._coordinators.pop((kind, key), None)

    def with_coordinator(self, key: str, ask: Callable[[Connection], ResultT], kind: int = GROUP) -> ResultT:
        """Asks the coordinator of a group or a transactional id; again when it moved or is loading. When the connection broke
        once more, and then with our patience.
        """
        backoff = Backoff(self.timeout_ms)
        patience: Backoff | None = None
        while True:
            whom = self.coordinator(key, kind)
            try:
                return ask(whom)
            except Unreachable:
                self.forget_coordinator(key, kind)
                if patience is None:
                    patience = Backoff(self.patience_ms)
                elif not patience.wait():
                    raise
            except RefusedByBroker as fault:
                self.forget_coordinator(key, kind)
                if fault.error not in COORDINATOR_PASSING or not backoff.wait():
                    raise


def _again(
    bootstrap: Sequence[Address], client_id: str, timeout_ms: int, patience_ms: int, security: Security
) -> Cluster:
    """A pickled cluster, unpacked."""
    return Cluster(
        bootstrap, client_id=client_id, timeout_ms=timeout_ms, patience_ms=patience_ms, security=security
    )


def _view(topic: MetadataResponseTopic) -> TopicView:
    partitions = sorted(
        (
            PartitionView(
                each.partition_index,
                each.leader_id,
                each.leader_epoch,
                tuple(each.replica_nodes),
                tuple(each.isr_nodes),
            )
            for each in topic.partitions
        ),
        key=lambda each: each.index,
    )
    return TopicView(topic.name or "", bytes(topic.topic_id), topic.is_internal, tuple(partitions))
