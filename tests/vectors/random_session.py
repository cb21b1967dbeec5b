"""A random session of transactional requests, right ones and wrong ones, that a seed decides: played on any broker, told in words.

Two transactional ids with two instances each, on a connection of their own, ask in every version for what they may and for
what they may not: old and future epochs, foreign producer ids, unknown names, sequences with holes, markers by hand. Which
steps come is the seed's; a broker's answers only fill in who holds which identity, so two brokers that answer alike are asked
alike. Names, producer ids and times are put into words that do not change: the transcripts of two brokers can be compared.

After a step that ends something the session waits until it has ended: with end.txn.reply=complete, with Kafka's timing and on
Kafka the answers are then the same. At the end it tells what lies in the logs: every batch of the partitions, and every record
of __transaction_state.
"""

import contextlib
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from oncelog.client.address import parse_address
from oncelog.client.cluster import COORDINATOR_PASSING, Backoff
from oncelog.client.faults import Unreachable, error_name
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.model import CONSUMER_OFFSETS, TRANSACTION_STATE, coordinator_partition
from oncelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from oncelog.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from oncelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from oncelog.protocol.messages.end_txn import EndTxnRequest
from oncelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest
from oncelog.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from oncelog.protocol.messages.list_transactions import ListTransactionsRequest
from oncelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from oncelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from oncelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from oncelog.record.batch import batches, build_batch, records_of
from oncelog.record.marker import read_marker
from oncelog.record.txn_state import decode_key, decode_value
from tests.vectors.play import Target, records

PARTITIONS: Final = 3
OFFSETS_PARTITIONS: Final = 50
FOREIGN: Final = 1_000_000  # added to a producer id: one that nobody has
LONG_MS: Final = 600_000  # a restart of Kafka on a busy machine must not let a transaction time out
TOO_LONG_MS: Final = 900_001
SETTLE_MS: Final = 5_000
STATES: Final = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort")
TOO_NEW: Final = 1000  # a coordinator epoch that stops every later marker

# How often each kind of step comes.
KINDS: Final = {
    "init": 12,
    "add": 14,
    "offsets": 6,
    "offset commit": 10,
    "produce": 26,
    "end": 20,
    "marker": 3,
    "describe": 2,
    "list": 2,
    "producers": 3,
    "fetch": 5,
    "latest": 2,
    "committed": 3,
}


@dataclass(frozen=True, slots=True)
class Step:
    """One request, as the seed wants it. `fields` are numbers and words; the player gives them their meaning."""

    kind: str
    actor: int
    version: int
    fields: dict[str, Any]

    def __str__(self) -> str:
        words = " ".join(f"{name}={value}" for name, value in self.fields.items())
        return f"{'abcd'[self.actor]} {self.kind} v{self.version} {words}".rstrip()


def steps(seed: int, count: int, *, markers: bool = True) -> list[Step]:
    """What will be asked. `markers`: also such that stop a transaction for good, which a restart would not survive alike."""
    dice = random.Random(seed)
    kinds = {kind: weight for kind, weight in KINDS.items() if markers or kind != "marker"}
    started = [Step("init", actor, 5, {"given": "-", "timeout": LONG_MS}) for actor in (1, 0, 3, 2)]
    return started + [_step(dice, dice.choices(list(kinds), list(kinds.values()))[0]) for _ in range(count)]


def _step(dice: random.Random, kind: str) -> Step:
    actor = dice.choice((0, 0, 0, 1, 2, 2, 2, 3))
    if kind == "init":
        given = dice.choice(("-", "-", "-", "E", "E", "E-1", "E+1", "P+1"))
        timeout = dice.choice((LONG_MS, LONG_MS, LONG_MS, LONG_MS // 2, 0, TOO_LONG_MS))
        return Step(
            kind,
            actor,
            dice.randint(3, 5) if given != "-" else dice.randint(0, 5),
            {"given": given, "timeout": timeout},
        )
    if kind in ("describe", "list", "producers", "fetch", "latest", "committed"):
        return _look(dice, kind, actor)
    fields: dict[str, Any] = {"who": _who(dice)}
    if kind == "end":
        return Step(
            kind, actor, dice.choice((0, 1, 2, 3, 4, 5, 5, 5, 5)), {"commit": dice.random() < 0.6, **fields}
        )
    if dice.random() < 0.03:
        fields["name"] = dice.choice(("unknown", "", "other"))
    if kind == "add":
        version = dice.randint(0, 5)
        fields["where"] = dice.choice(("0", "1", "2", "01", "12", "012", "0?", "0!", ""))
        if version >= 4:
            fields["verify"] = dice.random() < 0.5
        return Step(kind, actor, version, fields)
    if kind == "offsets":
        return Step(kind, actor, dice.randint(0, 4), fields)
    if kind == "offset commit":
        fields["offset"] = dice.randint(0, 99)
        version = dice.randint(0, 5)
        if version >= 3 and dice.random() < 0.15:
            fields["member"] = dice.choice(("x/-1", "/4", "x/4"))
        return Step(kind, actor, version, fields)
    if kind == "produce":
        fields["where"] = dice.choice(("0", "0", "1", "2", "01", "12"))
        fields["sequence"] = dice.choice(("next",) * 8 + ("again", "0", "+2"))
        fields["count"] = dice.randint(1, 3)
        if dice.random() < 0.08:
            fields["plain"] = True  # idempotent, outside of any transaction
        return Step(kind, actor, dice.randint(3, 13), fields)
    assert kind == "marker"
    return Step(
        kind,
        actor,
        dice.randint(1, 2),
        {
            **fields,
            "where": dice.choice("012"),
            "commit": dice.random() < 0.5,
            "tv": dice.choice((0, 1, 2, 2)),
            "coordinator": dice.choice((0, 0, 0, 0, -1, TOO_NEW)),
        },
    )


def _look(dice: random.Random, kind: str, actor: int) -> Step:
    """Steps that change nothing."""
    if kind == "list":
        version = dice.randint(0, 2)
        fields: dict[str, Any] = {"states": " ".join(dice.sample(STATES, dice.randint(0, 2))) or "-"}
        if dice.random() < 0.3:
            fields["only"] = "P"
        if version >= 1:
            fields["longer"] = dice.choice((-1, 3_600_000))
        if version >= 2:
            fields["pattern"] = dice.choice(("one", "both", "bad"))
        return Step(kind, actor, version, fields)
    if kind in ("fetch", "latest"):
        return Step(
            kind,
            actor,
            11 if kind == "fetch" else 8,
            {"where": dice.choice("012"), "isolation": dice.randint(0, 1)},
        )
    if kind == "committed":
        return Step(kind, actor, 8, {"stable": dice.random() < 0.5})
    return Step(kind, actor, 0, {"where": dice.choice("012")} if kind == "producers" else {})


def _who(dice: random.Random) -> str:
    return dice.choice(("E",) * 12 + ("E-1", "E-1", "E+1", "E-2", "P+1", "other"))


class _Actor:
    """One instance of a producer: the identity that it holds, and its connection."""

    def __init__(self, name: str, client_id: str, target: Target) -> None:
        self.name = name
        self.held = (-1, -1)
        self.next: dict[tuple[int, int, int], int] = {}  # sequences by identity and partition
        self.last: dict[int, int] = {}  # the last sequence that it sent, by partition
        self.connection = Connection(
            parse_address(target.broker.bootstrap), client_id=client_id, timeout_ms=20_000
        )


class Session:
    """Plays steps on one broker. `transcript` has a line for each."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.topic = target.topic(partitions=PARTITIONS)
        self.group = target.fresh_name("group")
        target.group_ready(self.group).close()
        self.ids = [target.fresh_name("txn"), target.fresh_name("txn")]
        with target.cluster() as cluster:
            self.topic_id = cluster.topic(self.topic, wait_ms=5_000).id
            for name in self.ids:
                cluster.coordinator(name, kind=1)
        self.actors = [_Actor(self.ids[number // 2], f"actor-{number}", target) for number in range(4)]
        self.producers: list[int] = []
        self.lives: list[int] = []
        self.stuck: set[str] = set()
        self.transcript: list[str] = []
        self.until_ready()

    def close(self) -> None:
        for each in self.actors:
            each.connection.close()

    def play(self, asked: Iterable[Step]) -> None:
        for step in asked:
            try:
                said = getattr(self, "_" + step.kind.replace(" ", "_"))(
                    self.actors[step.actor], step.version, **step.fields
                )
            except Unreachable:
                said = "closed the connection"
            self.transcript.append(f"{step} -> {said}")
            if step.kind in ("init", "end"):
                self.settle()

    # ---- names

    def _word(self, producer_id: int) -> str:
        if producer_id < 0:
            return str(producer_id)
        if producer_id >= FOREIGN:
            return "P?"
        if producer_id not in self.producers:
            self.producers.append(producer_id)
        return f"P{self.producers.index(producer_id)}"

    def _life(self, coordinator_epoch: int) -> str:
        """Of the coordinator, counted from 0: Kafka's epoch rises by two with a restart after kill -9, ours by one."""
        if coordinator_epoch in (-1, TOO_NEW):
            return str(coordinator_epoch)
        if coordinator_epoch not in self.lives:
            self.lives.append(coordinator_epoch)
        return f"L{self.lives.index(coordinator_epoch)}"

    def _whose(self, actor: _Actor, word: str) -> tuple[int, int]:
        producer_id, epoch = actor.held
        if word == "P+1":
            return producer_id + FOREIGN, epoch
        if word == "other":
            return self.actors[self.actors.index(actor) ^ 2].held
        return producer_id, max(epoch + int(word[1:] or 0), -1)

    def _named(self, actor: _Actor, word: str | None) -> str:
        if word == "other":
            return self.ids[1 - self.ids.index(actor.name)]
        return actor.name if word is None else word

    def _took(self, actor: _Actor, answer: Any) -> str:
        error, found = error_name(answer.error_code), (answer.producer_id, answer.producer_epoch)
        if not answer.error_code and found[0] >= 0:
            actor.held = found
        return error if found == (-1, -1) else f"{error} ({self._word(found[0])},{found[1]})"

    # ---- what changes something

    def _init(self, actor: _Actor, version: int, given: str, timeout: int) -> str:
        producer_id, epoch = (-1, -1) if given == "-" else self._whose(actor, given)
        request = InitProducerIdRequest(
            transactional_id=actor.name,
            transaction_timeout_ms=timeout,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        return self._took(actor, actor.connection.send(request, version=version))

    def _add(
        self, actor: _Actor, version: int, who: str, where: str, name: str | None = None, verify: bool = False
    ) -> str:
        producer_id, epoch = self._whose(actor, who)
        topics: list[AddPartitionsToTxnTopic] = []
        known = [int(each) for each in where if each.isdigit()]
        if known:
            topics.append(AddPartitionsToTxnTopic(name=self.topic, partitions=known))
        if "?" in where:
            topics.append(AddPartitionsToTxnTopic(name=self.topic, partitions=[PARTITIONS]))
        if "!" in where:
            at = coordinator_partition(self.group, OFFSETS_PARTITIONS)
            topics.append(AddPartitionsToTxnTopic(name=CONSUMER_OFFSETS, partitions=[at]))
        transactional_id = self._named(actor, name)
        if version < 4:
            request = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=transactional_id,
                v3_and_below_producer_id=producer_id,
                v3_and_below_producer_epoch=epoch,
                v3_and_below_topics=topics,
            )
        else:
            one = AddPartitionsToTxnTransaction(
                transactional_id=transactional_id,
                producer_id=producer_id,
                producer_epoch=epoch,
                verify_only=verify,
                topics=topics,
            )
            request = AddPartitionsToTxnRequest(transactions=[one])
        answer = actor.connection.send(request, version=version)
        found = list(answer.results_by_topic_v3_and_below)
        for each in answer.results_by_transaction:
            found += each.topic_results
        said = [
            error_name(part.partition_error_code)
            for _, _, part in sorted(
                (topic.name != self.topic, part.partition_index, part)
                for topic in found
                for part in topic.results_by_partition
            )
        ]
        top = f"top {error_name(answer.error_code)} " if answer.error_code else ""
        return top + (", ".join(said) or "nothing")

    def _offsets(self, actor: _Actor, version: int, who: str, name: str | None = None) -> str:
        producer_id, epoch = self._whose(actor, who)
        request = AddOffsetsToTxnRequest(
            transactional_id=self._named(actor, name),
            producer_id=producer_id,
            producer_epoch=epoch,
            group_id=self.group,
        )
        return error_name(actor.connection.send(request, version=version).error_code)

    def _offset_commit(
        self, actor: _Actor, version: int, who: str, offset: int, name: str | None = None, member: str = "/-1"
    ) -> str:
        producer_id, epoch = self._whose(actor, who)
        member_id, _, generation = member.partition("/")
        request = TxnOffsetCommitRequest(
            transactional_id=self._named(actor, name),
            group_id=self.group,
            producer_id=producer_id,
            producer_epoch=epoch,
            generation_id=int(generation),
            member_id=member_id,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=self.topic,
                    partitions=[TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)],
                )
            ],
        )
        answer = actor.connection.send(request, version=version)
        return error_name(answer.topics[0].partitions[0].error_code)

    def _produce(
        self,
        actor: _Actor,
        version: int,
        who: str,
        where: str,
        sequence: str,
        count: int,
        name: str | None = None,
        plain: bool = False,
    ) -> str:
        producer_id, epoch = self._whose(actor, who)
        data: list[PartitionProduceData] = []
        sent: dict[int, int] = {}
        for partition in map(int, where):
            expected = actor.next.get((producer_id, epoch, partition), 0)
            first = {"next": expected, "again": actor.last.get(partition, 0), "0": 0, "+2": expected + 2}[
                sequence
            ]
            sent[partition] = actor.last[partition] = first
            batch = build_batch(
                records(count),
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=first if producer_id >= 0 else -1,
                transactional=not plain,
            )
            data.append(PartitionProduceData(index=partition, records=batch))
        request = ProduceRequest(
            transactional_id=None if plain and name is None else self._named(actor, name),
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name=self.topic, topic_id=self.topic_id, partition_data=data)],
        )
        answer = actor.connection.send(request, version=version)
        said: list[str] = []
        for part in sorted(answer.responses[0].partition_responses, key=lambda each: each.index):
            said.append(f"{part.index} {error_name(part.error_code)} @{part.base_offset}")
            if not part.error_code:
                actor.next[producer_id, epoch, part.index] = sent[part.index] + count
        return ", ".join(said)

    def _end(self, actor: _Actor, version: int, who: str, commit: bool) -> str:
        producer_id, epoch = self._whose(actor, who)
        request = EndTxnRequest(
            transactional_id=actor.name, producer_id=producer_id, producer_epoch=epoch, committed=commit
        )
        return self._took(actor, actor.connection.send(request, version=version))

    def _marker(
        self,
        actor: _Actor,
        version: int,
        who: str,
        where: str,
        commit: bool,
        tv: int,
        coordinator: int,
        name: str | None = None,  # noqa: ARG002  # a marker names no transactional id
    ) -> str:
        producer_id, epoch = self._whose(actor, who)
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=epoch,
            transaction_result=commit,
            topics=[WritableTxnMarkerTopic(name=self.topic, partition_indexes=[int(where)])],
            coordinator_epoch=coordinator,
            transaction_version=tv,
        )
        answer = actor.connection.send(WriteTxnMarkersRequest(markers=[marker]), version=version)
        return error_name(answer.markers[0].topics[0].partitions[0].error_code)

    # ---- what only looks

    def _described(self, connection: Connection, name: str) -> Any:
        request = DescribeTransactionsRequest(transactional_ids=[name])
        return connection.send(request, version=0).transaction_states[0]

    def _describe(self, actor: _Actor, version: int) -> str:
        assert version == 0
        found = self._described(actor.connection, actor.name)
        if found.error_code:
            return error_name(found.error_code)
        where = sorted(
            "group" if topic.topic == CONSUMER_OFFSETS else str(partition)
            for topic in found.topics
            for partition in topic.partitions
        )
        began = "never" if found.transaction_start_time_ms < 0 else "begun"
        return (
            f"{found.transaction_state} ({self._word(found.producer_id)},{found.producer_epoch}) "
            f"{found.transaction_timeout_ms} {began} {' '.join(where)}"
        ).rstrip()

    def _list(
        self,
        actor: _Actor,
        version: int,
        states: str,
        only: str | None = None,
        longer: int = -1,
        pattern: str = "",
    ) -> str:
        patterns = {"": "", "one": actor.name, "both": "|".join(self.ids), "bad": "["}
        request = ListTransactionsRequest(
            state_filters=[] if states == "-" else states.split(),
            producer_id_filters=[actor.held[0]] if only else [],
            duration_filter=longer,
            transactional_id_pattern=patterns[pattern],
        )
        answer = actor.connection.send(request, version=version)
        ours = sorted(
            f"{self.ids.index(each.transactional_id)} {each.transaction_state} {self._word(each.producer_id)}"
            for each in answer.transaction_states
            if each.transactional_id in self.ids
        )
        return ", ".join([error_name(answer.error_code), *answer.unknown_state_filters, *ours])

    def _producers(self, actor: _Actor, version: int, where: str) -> str:
        request = DescribeProducersRequest(
            topics=[TopicRequest(name=self.topic, partition_indexes=[int(where)])]
        )
        (found,) = actor.connection.send(request, version=version).topics[0].partitions
        return "; ".join(
            sorted(
                f"({self._word(each.producer_id)},{each.producer_epoch}) last {each.last_sequence} "
                f"coordinator {self._life(each.coordinator_epoch)} begun {each.current_txn_start_offset}"
                for each in found.active_producers
            )
        ) or error_name(found.error_code)

    def _fetched(self, actor: _Actor, topic: str, partition: int, isolation: int) -> Any:
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 24,
            isolation_level=isolation,
            topics=[
                FetchTopic(
                    topic=topic,
                    partitions=[FetchPartition(partition=partition, partition_max_bytes=1 << 24)],
                )
            ],
        )
        return actor.connection.send(request, version=11).responses[0].partitions[0]

    def _fetch(self, actor: _Actor, version: int, where: str, isolation: int) -> str:
        assert version == 11
        found = self._fetched(actor, self.topic, int(where), isolation)
        aborted = sorted((each.first_offset, each.producer_id) for each in found.aborted_transactions or ())
        words = [f"{self._word(producer_id)}@{first}" for first, producer_id in aborted]
        last = max((header.next_offset for _, header in batches(bytes(found.records or b""))), default=0)
        return (
            f"{error_name(found.error_code)} HW {found.high_watermark} LSO {found.last_stable_offset} "
            f"up to {last} aborted {' '.join(words) or '-'}"
        )

    def _latest(self, actor: _Actor, version: int, where: str, isolation: int) -> str:
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation,
            topics=[
                ListOffsetsTopic(
                    name=self.topic,
                    partitions=[ListOffsetsPartition(partition_index=int(where), timestamp=-1)],
                )
            ],
        )
        (found,) = actor.connection.send(request, version=version).topics[0].partitions
        return f"{error_name(found.error_code)} {found.offset}"

    def _committed(self, actor: _Actor, version: int, stable: bool) -> str:
        request = OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    group_id=self.group,
                    topics=[OffsetFetchRequestTopics(name=self.topic, partition_indexes=[0])],
                )
            ],
            require_stable=stable,
        )
        (group,) = actor.connection.send(request, version=version).groups
        (part,) = group.topics[0].partitions
        return f"{error_name(group.error_code)} {error_name(part.error_code)} {part.committed_offset}"

    # ---- waiting

    def settle(self) -> None:
        """Until nothing is ending any more, but for what a marker by hand has stopped for good."""
        for name in self.ids:
            backoff = Backoff(SETTLE_MS, first_ms=2, longest_ms=50)
            while name not in self.stuck and self._described(
                self.actors[0].connection, name
            ).transaction_state.startswith("Prepare"):
                if not backoff.wait():
                    self.stuck.add(name)

    def until_ready(self) -> None:
        """Until the partitions and both coordinators answer: a fresh or restarted broker may need a moment."""
        backoff = Backoff(60_000)
        while not self._is_ready() and backoff.wait():
            pass

    def _is_ready(self) -> bool:
        with contextlib.suppress(Unreachable):
            found = [
                self._fetched(self.actors[0], self.topic, each, 0).error_code for each in range(PARTITIONS)
            ]
            found += [self._described(self.actors[0].connection, name).error_code for name in self.ids]
            return not {*found} & {*COORDINATOR_PASSING, *LEADER_PASSING}
        return False

    # ---- what lies in the logs

    def tell_logs(self) -> None:
        """Every batch of the data partitions, and every record of the two ids. Offsets of the group are asked for by OffsetFetch."""
        reader = self.actors[0]
        for partition in range(PARTITIONS):
            data = bytes(self._fetched(reader, self.topic, partition, 0).records or b"")
            self.transcript += [f"log {partition}: {line}" for line in self._told(data)]
        for number, name in enumerate(self.ids):
            at = coordinator_partition(name, OFFSETS_PARTITIONS)
            data = bytes(self._fetched(reader, TRANSACTION_STATE, at, 0).records or b"")
            self.transcript += [f"id {number}: {line}" for line in self._states(data, name)]

    def _told(self, data: bytes) -> Iterator[str]:
        for at, header in batches(data):
            who = f"({self._word(header.producer_id)},{header.producer_epoch})"
            if header.is_control:
                marker = read_marker(data[at : at + header.size])
                assert marker is not None
                yield f"{header.base_offset} {who} {'COMMIT' if marker.commit else 'ABORT'} coordinator {self._life(marker.coordinator_epoch)}"
            else:
                kind = "transactional" if header.is_transactional else "plain"
                yield f"{header.base_offset} {who} {kind} {header.base_sequence}..{header.last_sequence}"

    def _states(self, data: bytes, name: str) -> Iterator[str]:
        for at, header in batches(data):
            for record in records_of(data[at : at + header.size], header):
                key = decode_key(record.key or b"")
                if key is None or key.transactional_id != name:
                    continue
                if record.value is None:
                    yield "tombstone"
                    continue
                value = decode_value(record.value)
                assert value is not None
                yield self._state(value)

    def _state(self, value: Any) -> str:
        where = (
            "null"
            if value.partitions is None
            else " ".join(
                sorted(
                    "group" if each.topic == CONSUMER_OFFSETS else str(number)
                    for each in value.partitions
                    for number in each.partition_ids
                )
            )
        )
        began = "never" if value.start_timestamp < 0 else "begun"
        return (
            f"{value.status} ({self._word(value.producer_id)},{value.producer_epoch}) {value.timeout_ms} {began} "
            f"previous {self._word(value.previous_producer_id)} next {self._word(value.next_producer_id)} "
            f"by {value.client_transaction_version} [{where}]"
        )


LEADER_PASSING: Final = frozenset(
    {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE}
)


def transcript(target: Target, seed: int, count: int, *, restarts: Sequence[int] = ()) -> list[str]:
    """Plays one session. `restarts`: steps after which the broker is killed with kill -9 and started again."""
    asked = steps(seed, count, markers=not restarts)
    session = Session(target)
    try:
        begun = 0
        for end in [*restarts, len(asked)]:
            session.play(asked[begun:end])
            begun = end
            if end < len(asked):
                target.broker.kill()
                target.broker.start()
                session.transcript.append("kill -9")
                session.until_ready()
                session.settle()
        session.tell_logs()
    finally:
        session.close()
    return session.transcript


# What Apache Kafka said to these is kept in sessions/; after how many steps the broker is killed.
KEPT: Final[Mapping[int, Sequence[int]]] = {
    1009: (),
    1012: (),
    1016: (),
    1017: (),
    1034: (),
    1036: (),
    1037: (),
    1038: (),
    2000: (70, 140),
}
STEPS: Final = 200
SESSIONS: Final = Path(__file__).parent / "sessions"


def kept_file(seed: int) -> Path:
    return SESSIONS / f"{seed}.txt"


def kept_transcript(target: Target, seed: int) -> list[str]:
    return transcript(target, seed, STEPS, restarts=KEPT[seed])
