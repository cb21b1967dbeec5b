"""Who speaks in a story: producers with raw requests in the versions of their protocol, and members of groups."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from oncelog.client.address import parse_address
from oncelog.client.cluster import Cluster
from oncelog.client.consumer import GroupConsumer
from oncelog.client.faults import error_name
from oncelog.client.session import Connection
from oncelog.model import TopicPartition
from oncelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from oncelog.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from oncelog.protocol.messages.end_txn import EndTxnRequest
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest
from oncelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from oncelog.protocol.primitives import Message
from oncelog.record.batch import NewRecord, build_batch
from tests.vectors.play import now_ms

# What a client of each protocol sends. With TV2 partitions and offsets join the transaction by themselves, and every
# transaction has an epoch of its own (KIP-890).
VERSIONS: Final[Mapping[str, Mapping[str, int]]] = {
    "TV1": {"init": 4, "add": 3, "add-offsets": 3, "produce": 9, "offsets": 3, "end": 3},
    "TV2": {"init": 5, "produce": 12, "offsets": 5, "end": 5},
}
TIMEOUT_MS: Final = 20_000
ENDS: Final = {"commit": True, "abort": False}


class Names:
    """Producer ids differ from broker to broker: they are told as P, Q, R in the order in which they appear."""

    def __init__(self) -> None:
        self._known: list[int] = []

    def __call__(self, producer_id: int) -> str:
        if producer_id not in self._known:
            self._known.append(producer_id)
        return chr(ord("P") + self._known.index(producer_id))


def partition_of(word: str) -> TopicPartition:
    """refunds-emitted-4 is partition 4 of refunds-emitted."""
    topic, dash, number = word.rpartition("-")
    if not dash or not number.isdigit():
        raise ValueError(f"wanted TOPIC-PARTITION, found {word!r}")
    return TopicPartition(topic, int(number))


@dataclass(frozen=True, slots=True)
class Ask:
    """A request that is ready to leave, and what its answer means."""

    request: Message
    version: int
    hear: Callable[[Any], str]
    ends: bool = False  # whether a transaction may be on its way to its end afterwards


class Member:
    """A consumer in a classic group; `as=NAME` lets a producer speak with its membership (KIP-447)."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self.cluster = Cluster(bootstrap, timeout_ms=TIMEOUT_MS)
        self.consumer = GroupConsumer(self.cluster, group, [topic], auto_commit=False, reset="earliest")
        self._polled = self.consumer.poll(0)  # this is how it joins

    def poll(self) -> list[str]:
        """Everything there is from its position on."""
        found, self._polled = self._polled, []
        while more := self.consumer.poll(300):
            found += more
        return [
            f"{each.topic}-{each.partition}: {(each.value or b'').decode()}@{each.offset}" for each in found
        ]

    def close(self) -> None:
        self.consumer.close()
        self.cluster.close()


class Producer:
    """One instance of an application with a transactional id, on one connection at a time."""

    def __init__(
        self, bootstrap: str, name: str, transactional_id: str, protocol: str, timeout_ms: int, names: Names
    ):
        if protocol not in VERSIONS:
            raise ValueError(f"producer {name}: wanted a protocol of {sorted(VERSIONS)}, found {protocol!r}")
        self.bootstrap = bootstrap
        self.name = name
        self.transactional_id = transactional_id
        self.protocol = protocol
        self.timeout_ms = timeout_ms
        self.names = names
        self.producer_id, self.epoch = -1, -1
        self.sequences: dict[TopicPartition, int] = {}
        self.connection = self._connect()
        self.abandoned: list[Connection] = []
        self.delayed: list[tuple[Connection, Ask]] = []

    def _connect(self) -> Connection:
        opened = Connection(parse_address(self.bootstrap), client_id=self.name, timeout_ms=TIMEOUT_MS)
        opened.connect()
        opened.offered()  # the broker has accepted it now, and not at its first request
        return opened

    def reconnect(self) -> None:
        """It gives its connection up; what it sent there may still arrive."""
        self.abandoned.append(self.connection)
        self.connection = self._connect()

    def close(self) -> None:
        for each in (self.connection, *self.abandoned):
            each.close()

    def send(self, ask: Ask, connection: Connection | None = None) -> str:
        return ask.hear((connection or self.connection).send(ask.request, version=ask.version))

    def ask(
        self, verb: str, words: tuple[str, ...], options: Mapping[str, str], member: Member | None
    ) -> Ask:
        """The request that a step stands for. Options: version, epoch, seq."""
        kind = "end" if verb in ENDS else verb
        version = int(options.get("version", VERSIONS[self.protocol].get(kind, -1)))
        if version < 0:
            raise ValueError(
                f"{self.name} {verb}: wanted a request of {self.protocol}, found one that it has not"
            )
        epoch = int(options.get("epoch", self.epoch))
        match kind:
            case "init":
                return Ask(self._init(), version, self._hear_identity, ends=True)
            case "add":
                return Ask(self._add(words, epoch), version, lambda answer: added(answer, words))
            case "add-offsets":
                return Ask(
                    self._add_offsets(words[0], epoch), version, lambda answer: error_name(answer.error_code)
                )
            case "produce":
                return Ask(self._produce(words[0], words[1:], epoch, options), version, wrote)
            case "offsets":
                return Ask(self._offsets(words[0], words[1:], epoch, member), version, offsets_told)
            case "end":
                return Ask(self._end(ENDS[verb], epoch), version, self._hear_identity, ends=True)
            case _:
                raise ValueError(f"{self.name}: wanted a verb of a producer, found {verb!r}")

    def _identity(self, epoch: int) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": epoch,
        }

    def _init(self) -> Message:
        return InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self.timeout_ms,
            producer_id=-1,
            producer_epoch=-1,
        )

    def _hear_identity(self, answer: Any) -> str:
        error = error_name(answer.error_code)
        if answer.producer_id < 0:
            return error
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self.sequences.clear()  # a new epoch begins at 0
        return f"{error} ({self.names(self.producer_id)},{self.epoch})"

    def _add(self, words: tuple[str, ...], epoch: int) -> Message:
        by_topic: dict[str, list[int]] = {}
        for each in map(partition_of, words):
            by_topic.setdefault(each.topic, []).append(each.partition)
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=some) for topic, some in by_topic.items()
            ],
        )

    def _add_offsets(self, group: str, epoch: int) -> Message:
        return AddOffsetsToTxnRequest(**self._identity(epoch), group_id=group)

    def _produce(
        self, where: str, values: tuple[str, ...], epoch: int, options: Mapping[str, str]
    ) -> Message:
        partition = partition_of(where)
        sequence = int(options.get("seq", self.sequences.get(partition, 0)))
        self.sequences[partition] = sequence + len(values)
        batch = build_batch(
            [NewRecord(None, value.encode(), now_ms()) for value in values],
            producer_id=self.producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=True,
        )
        data = [PartitionProduceData(index=partition.partition, records=batch)]
        return ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name=partition.topic, partition_data=data)],
        )

    def _offsets(self, group: str, words: tuple[str, ...], epoch: int, member: Member | None) -> Message:
        by_topic: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for word in words:
            where, _, offset = word.partition("@")
            each = partition_of(where)
            by_topic.setdefault(each.topic, []).append(
                TxnOffsetCommitRequestPartition(partition_index=each.partition, committed_offset=int(offset))
            )
        return TxnOffsetCommitRequest(
            **self._identity(epoch),
            group_id=group,
            generation_id=member.consumer.generation if member else -1,
            member_id=member.consumer.member_id if member else "",
            topics=[
                TxnOffsetCommitRequestTopic(name=topic, partitions=some) for topic, some in by_topic.items()
            ],
        )

    def _end(self, commit: bool, epoch: int) -> Message:
        return EndTxnRequest(**self._identity(epoch), committed=commit)


def added(answer: Any, words: tuple[str, ...]) -> str:
    """An error for each partition, in the order in which they were asked for."""
    errors = {
        TopicPartition(topic.name, each.partition_index): error_name(each.partition_error_code)
        for topic in answer.results_by_topic_v3_and_below
        for each in topic.results_by_partition
    }
    return ", ".join(errors[partition_of(word)] for word in words)


def wrote(answer: Any) -> str:
    """`NONE @0`: the error and where the first record is."""
    (found,) = answer.responses[0].partition_responses
    where = f" @{found.base_offset}" if found.base_offset >= 0 else ""
    return f"{error_name(found.error_code)}{where}"


def offsets_told(answer: Any) -> str:
    return ", ".join(error_name(each.error_code) for topic in answer.topics for each in topic.partitions)
