"""Plays a story on one broker and writes down what was said.

Steps of nobody in particular:
    topic NAME [COUNT]                a topic of COUNT partitions (1)
    write TOPIC-PARTITION VALUE...    records outside of any transaction
    producer NAME ID TV1|TV2          an instance of the application with this transactional id [timeout_ms=60000]
    member NAME GROUP TOPIC           a consumer that joins the group
    crash                             kill -9 of the broker, and it comes back
    wait ID STATE                     until the coordinator says so: for time-outs
    find ID                           who coordinates it
    state ID                          what the coordinator says of it
    history ID                        what __transaction_state holds of it
    read committed|uncommitted TOPIC...
    batches TOPIC-PARTITION           data and markers as they lie in the log
    ends TOPIC-PARTITION              last stable offset, high watermark, and aborted transactions as Fetch tells them
    position GROUP TOPIC-PARTITION    the group's offset, as a consumer that wants a stable one is told

Steps of a producer (version= epoch= seq= make it say something else than it would):
    NAME init | add TOPIC-PARTITION... | add-offsets GROUP | produce TOPIC-PARTITION VALUE...
    NAME offsets GROUP TOPIC-PARTITION@OFFSET... [as=MEMBER] | commit | abort
    NAME delays STEP                  the request leaves but does not arrive
    NAME reconnects                   it gives its connection up
    NAME delivers                     what was delayed arrives, on the connection on which it was sent
    NAME looks                        what it holds

Steps of a member: `NAME polls`, `NAME leaves`.

A step that ends or fences a transaction is over when the markers are written: Kafka answers earlier, and a story that
depends on how much earlier would tell of the machine and not of the protocol.
"""

from collections.abc import Callable, Sequence
from typing import Final

from oncelog.client.address import parse_address
from oncelog.client.admin import Admin
from oncelog.client.cluster import COORDINATOR_PASSING, Backoff, Cluster
from oncelog.client.easy import create_topic, read_all, write_all
from oncelog.client.faults import demand, error_name
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.model import TRANSACTION_STATE, Isolation, TopicPartition
from oncelog.protocol.messages.describe_transactions import TransactionState
from oncelog.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from oncelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from oncelog.record.batch import batches, records_of
from oncelog.record.marker import read_marker
from oncelog.record.txn_state import decode_key, decode_value
from oncelog.txn.state import State
from tests.conformance.comeback import describe, kill_and_start
from tests.scenarios.actors import TIMEOUT_MS, Member, Names, Producer, partition_of
from tests.scenarios.script import Script, Step
from tests.vectors.play import Broker

TRANSACTION: Final = 1
WAIT_MS: Final = 60_000


class Stage:
    """One broker, and everybody who speaks to it."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.names = Names()
        self.producers: dict[str, Producer] = {}
        self.members: dict[str, Member] = {}
        self.topics: list[str] = []

    def play(self, script: Script) -> list[list[str]]:
        """What was said in each scene."""
        try:
            return [[line for step in scene.steps for line in self.step(step)] for scene in script.scenes]
        finally:
            for each in (*self.producers.values(), *self.members.values()):
                each.close()

    def step(self, step: Step) -> Sequence[str]:
        first, *rest = step.words
        if first in self.producers:
            return self._producer_step(self.producers[first], tuple(rest), step)
        if first in self.members:
            return self._member_step(first, rest[0])
        verbs: dict[str, Callable[..., Sequence[str]]] = {
            "topic": self._topic,
            "write": self._write,
            "producer": self._producer,
            "member": self._member,
            "crash": self._crash,
            "wait": self._wait,
            "find": self._find,
            "state": self._state,
            "history": self._history,
            "read": self._read,
            "batches": self._batches,
            "ends": self._ends,
            "position": self._position,
        }
        if first not in verbs:
            raise ValueError(
                f"{step.text!r}: wanted somebody on the stage or one of {sorted(verbs)}, found {first!r}"
            )
        return verbs[first](*rest, **step.options)

    # Somebody in particular

    def _producer_step(self, producer: Producer, words: tuple[str, ...], step: Step) -> Sequence[str]:
        verb, *rest = words
        if verb == "reconnects":
            producer.reconnect()
            return ()
        if verb == "looks":
            return (f"({self.names(producer.producer_id)},{producer.epoch})",)
        if verb == "delivers":
            connection, ask = producer.delayed.pop(0)
            said = producer.send(ask, connection)
        else:
            delayed = verb == "delays"
            if delayed:
                verb, *rest = rest
            member = self.members[step.options["as"]] if "as" in step.options else None
            if verb in ("add-offsets", "offsets"):
                self._find_group(rest[0])
            ask = producer.ask(verb, tuple(rest), step.options, member)
            if delayed:
                producer.delayed.append((producer.connection, ask))
                return ()
            said = producer.send(ask)
        if ask.ends:
            self._settle(producer.transactional_id)
        return (said,)

    def _member_step(self, name: str, verb: str) -> Sequence[str]:
        if verb == "polls":
            return self.members[name].poll()
        if verb == "leaves":
            self.members[name].consumer.close()
            return ()
        raise ValueError(f"{name}: wanted polls or leaves, found {verb!r}")

    def _producer(
        self, name: str, transactional_id: str, protocol: str, timeout_ms: str = "60000"
    ) -> Sequence[str]:
        self._find(transactional_id)
        backoff = Backoff(WAIT_MS)
        while self._describe(transactional_id).error_code in COORDINATOR_PASSING and backoff.wait():
            pass  # Apache Kafka names a coordinator before that one knows of it
        made = Producer(self.broker.bootstrap, name, transactional_id, protocol, int(timeout_ms), self.names)
        self.producers[name] = made
        return ()

    def _member(self, name: str, group: str, topic: str) -> Sequence[str]:
        self.members[name] = Member(self.broker.bootstrap, group, topic)
        return ()

    def _find_group(self, group: str) -> None:
        """As every client does first; the group's offsets are loaded then."""
        with self._cluster() as cluster:
            Admin(cluster).group_offsets(group)

    # Nobody in particular

    def _cluster(self) -> Cluster:
        return Cluster(self.broker.bootstrap, timeout_ms=TIMEOUT_MS)

    def _connect(self) -> Connection:
        return Connection(parse_address(self.broker.bootstrap), timeout_ms=TIMEOUT_MS)

    def _topic(self, name: str, partitions: str = "1") -> Sequence[str]:
        create_topic(self.broker.bootstrap, name, int(partitions))
        self.topics.append(name)
        return ()

    def _write(self, where: str, *values: str) -> Sequence[str]:
        partition = partition_of(where)
        write_all(
            self.broker.bootstrap,
            partition.topic,
            [each.encode() for each in values],
            partition=partition.partition,
        )
        return ()

    def _crash(self) -> Sequence[str]:
        kill_and_start(self.broker, self.topics, [each.transactional_id for each in self.producers.values()])
        return ()

    def _describe(self, transactional_id: str) -> TransactionState:
        return describe(self.broker, transactional_id)

    def _until(self, transactional_id: str, holds: Callable[[str], bool], wanted: str) -> None:
        backoff = Backoff(WAIT_MS, first_ms=2, longest_ms=100)
        while not holds(self._describe(transactional_id).transaction_state):
            if not backoff.wait():
                raise AssertionError(
                    f"{transactional_id}: wanted {wanted}, found {self._describe(transactional_id)}"
                )

    def _settle(self, transactional_id: str) -> None:
        self._until(transactional_id, lambda state: not state.startswith("Prepare"), "an end")

    def _wait(self, transactional_id: str, state: str) -> Sequence[str]:
        self._until(transactional_id, lambda found: found == state, state)
        return ()

    def _find(self, transactional_id: str) -> Sequence[str]:
        with self._cluster() as cluster:
            found = cluster.coordinator(transactional_id, kind=TRANSACTION).address
            node = next(node for node, address in cluster.nodes().items() if address == found)
        return (f"node {node}",)

    def _state(self, transactional_id: str) -> Sequence[str]:
        found = self._describe(transactional_id)
        if found.error_code:
            return (error_name(found.error_code),)
        where = sorted(f"{each.topic}-{number}" for each in found.topics for number in each.partitions)
        return (self._told(found.transaction_state, found.producer_id, found.producer_epoch, where),)

    def _told(self, state: str, producer_id: int, epoch: int, partitions: Sequence[str]) -> str:
        return " ".join([f"{state} ({self.names(producer_id)},{epoch})", *partitions])

    def _history(self, transactional_id: str) -> Sequence[str]:
        said: list[str] = []
        for each in read_all(self.broker.bootstrap, TRANSACTION_STATE):
            key = decode_key(each.key or b"")
            if key is None or key.transactional_id != transactional_id:
                continue
            where = f"{each.topic}-{each.partition}"
            value = decode_value(each.value) if each.value is not None else None
            if value is None:
                said.append(f"{where}: forgotten")
                continue
            partitions = sorted(
                f"{some.topic}-{number}" for some in value.partitions or () for number in some.partition_ids
            )
            told = self._told(
                State(value.status).kafka_name, value.producer_id, value.producer_epoch, partitions
            )
            said.append(f"{where}: {told}")
        return said

    def _read(self, isolation: str, *topics: str) -> Sequence[str]:
        said: list[str] = []
        for topic in topics:
            found: dict[int, list[str]] = {}
            for each in read_all(self.broker.bootstrap, topic, isolation):
                found.setdefault(each.partition, []).append(f"{(each.value or b'').decode()}@{each.offset}")
            said += [f"{topic}-{number}: {' '.join(some)}" for number, some in found.items()] or [
                f"{topic}: nothing"
            ]
        return said

    def _fetch(self, partition: TopicPartition, isolation: Isolation) -> PartitionData:
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 24,
            isolation_level=int(isolation),
            topics=[
                FetchTopic(
                    topic=partition.topic,
                    partitions=[
                        FetchPartition(
                            partition=partition.partition, fetch_offset=0, partition_max_bytes=1 << 24
                        )
                    ],
                )
            ],
        )
        with self._connect() as connection:
            (found,) = connection.send(request, FetchResponse, 12).responses[0].partitions
        if found.error_code != ErrorCode.NONE:
            raise AssertionError(f"Fetch of {partition}: {error_name(found.error_code)}")
        return found

    def _batches(self, where: str) -> Sequence[str]:
        data = memoryview(self._fetch(partition_of(where), Isolation.READ_UNCOMMITTED).records or b"")
        said: list[str] = []
        for at, header in batches(data):
            batch = data[at : at + header.size]
            whose = (
                f" {self.names(header.producer_id)}/{header.producer_epoch}"
                if header.is_transactional
                else ""
            )
            marker = read_marker(batch) if header.is_control else None
            if marker is not None:
                what = f"{'COMMIT' if marker.commit else 'ABORT'}{whose}"
            else:
                what = " ".join((each.value or b"").decode() for each in records_of(batch, header))
                what += f"{whose} seq {header.base_sequence}" if header.is_transactional else ""
            said.append(f"{where}@{header.base_offset}: {what}")
        return said

    def _ends(self, where: str) -> Sequence[str]:
        found = self._fetch(partition_of(where), Isolation.READ_COMMITTED)
        aborted = sorted((each.first_offset, each.producer_id) for each in found.aborted_transactions or ())
        told = "".join(
            f", aborted from {first} by {self.names(producer_id)}" for first, producer_id in aborted
        )
        return (
            f"{where}: last stable offset {found.last_stable_offset}, high watermark {found.high_watermark}{told}",
        )

    def _position(self, group: str, where: str) -> Sequence[str]:
        partition = partition_of(where)
        topics = [OffsetFetchRequestTopics(name=partition.topic, partition_indexes=[partition.partition])]
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)], require_stable=True
        )

        def ask(whom: Connection) -> OffsetFetchResponse:
            answer = whom.send(request, OffsetFetchResponse, 9)
            demand(answer.groups[0].error_code, f"OffsetFetch of {group!r}", str(whom))
            return answer

        with self._cluster() as cluster:
            answer = cluster.with_coordinator(group, ask)
        (found,) = answer.groups[0].topics[0].partitions
        if found.error_code:
            return (f"{where}: {error_name(found.error_code)}",)
        return (f"{where}: {found.committed_offset if found.committed_offset >= 0 else 'none'}",)
