"""How a vector is played: raw requests to one broker, answers put into words, a table of what was said and wanted.

A row is (ask, said, wanted). A vector fails with its whole table, so that one sees what happened around the wrong row.
"""

import itertools
import re
import struct
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from oncelog.client.address import parse_address
from oncelog.client.admin import Admin
from oncelog.client.cluster import Backoff, Cluster
from oncelog.client.faults import error_name
from oncelog.client.session import Connection
from oncelog.protocol.header import write_request_header
from oncelog.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.protocol.primitives import Message
from oncelog.record.batch import BatchHeader, NewRecord, build_batch, read_header, seal
from tests.vectors.differences import allowed, reason_of

END_TXN: Final = 26
FRESH: Final = re.compile(r"\b([a-z]+)-\d+-\d{1,9}\b")  # names of `Target.fresh_name`, never the same twice


class Broker(Protocol):
    """What both kinds of broker can do."""

    @property
    def bootstrap(self) -> str: ...
    def start(self) -> object: ...
    def kill(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Row:
    ask: str
    said: str
    wanted: str

    @property
    def is_right(self) -> bool:
        return self.said == self.wanted


class Rows:
    """The transcript of one vector on one broker. `instead`: what is wanted of this broker where it may differ."""

    def __init__(self, instead: Mapping[str, str] | None = None) -> None:
        self.rows: list[Row] = []
        self._instead = dict(instead or {})

    def __call__(self, ask: str, said: object, wanted: object) -> None:
        self.rows.append(Row(ask, str(said), self._instead.pop(ask, str(wanted))))

    @property
    def never_asked(self) -> list[str]:
        """Allowed differences that no row made use of."""
        return list(self._instead)

    def table(self) -> str:
        lines: list[str] = []
        widths = [
            max((len(part) for part in parts), default=0)
            for parts in zip(*map(_parts, self.rows), strict=True)
        ]
        for row in self.rows:
            wrong = "" if row.is_right else f"   WANTED {row.wanted}"
            lines.append(f"  {row.ask:<{widths[0]}}  {row.said:<{widths[1]}}{wrong}".rstrip())
        return "\n".join(lines)


def _parts(row: Row) -> tuple[str, str]:
    return row.ask, row.said


_numbers = itertools.count()


@dataclass
class Target:
    """One broker under test: "oncelog" or "kafka"."""

    name: str
    broker: Broker
    transcripts: dict[tuple[str, str], Rows] = field(default_factory=dict[tuple[str, str], Rows])

    @contextmanager
    def vector(self, name: str) -> Generator[Rows]:
        """Collects rows; at the end all must be right, and there must be some."""
        rows = Rows(allowed(name, self.name))
        self.transcripts[name, self.name] = rows
        yield rows
        assert rows.rows, f"{name} asked nothing"
        assert all(row.is_right for row in rows.rows), f"{name} on {self.name}:\n{rows.table()}"
        assert not rows.never_asked, f"{name}: differences.py allows what was not asked: {rows.never_asked}"

    def connect(self) -> Connection:
        return Connection(parse_address(self.broker.bootstrap), client_id="vector", timeout_ms=20_000)

    def cluster(self) -> Cluster:
        return Cluster(self.broker.bootstrap, client_id="vector", timeout_ms=20_000)

    @property
    def has_transactions(self) -> bool:
        """Some vectors have rows that need the transaction coordinator: those are played where it is offered."""
        with self.connect() as connection:
            return END_TXN in connection.offered()

    def fresh_name(self, what: str = "t") -> str:
        return f"{what}-{next(_numbers)}-{time.time_ns() % 1_000_000_000}"

    def topic(self, configs: Mapping[str, str] | None = None, partitions: int = 1) -> str:
        name = self.fresh_name()
        with self.cluster() as cluster:
            Admin(cluster).create_topic(name, partitions=partitions, configs=configs)
        return name

    def partition(self, version: int = 12, configs: Mapping[str, str] | None = None) -> "Partition":
        log = Partition(self, self.topic(configs), version)
        backoff = Backoff(20_000)
        while log.fetch(0).error_code and backoff.wait():  # Kafka names a leader before that one knows of it
            pass
        return log

    def producer_id(self) -> int:
        with self.connect() as connection:
            answer = connection.send(InitProducerIdRequest(transactional_id=None), InitProducerIdResponse)
            assert answer.error_code == 0, error_name(answer.error_code)
            return answer.producer_id

    def group_ready(self, group: str) -> Connection:
        """A connection to the group's coordinator, once it has loaded what it must know."""
        with self.cluster() as cluster:
            Admin(cluster).group_offsets(group)
            return Connection(cluster.coordinator(group).address, client_id="vector", timeout_ms=20_000)


def now_ms() -> int:
    return int(time.time() * 1000)


def raw_request(
    key: int, version: int, body: bytes, *, flexible: bool | None = None, correlation_id: int = 77
) -> bytes:
    """A frame for `Connection.exchange`, of any key and version. `flexible`: whether the header has tagged fields."""
    if flexible is None:
        out = bytearray()
        write_request_header(out, key, version, correlation_id, "vector")
        return bytes(out) + body
    return (
        struct.pack(">hhih", key, version, correlation_id, 6)
        + b"vector"
        + (b"\0" if flexible else b"")
        + body
    )


def body_of(answer: bytes | None) -> str:
    """The bytes of a raw answer behind its correlation id, in hexadecimal."""
    if answer is None:
        return "closed"
    return answer[4:].hex()


def records(count: int = 1, *, size: int = 10, timestamp: int | None = None) -> list[NewRecord]:
    stamp = now_ms() if timestamp is None else timestamp
    return [NewRecord(b"k", b"v" * size, stamp) for _ in range(count)]


def rewritten(batch: bytes, **fields: int) -> bytes:
    """The batch with other header fields and a right CRC."""
    header = read_header(batch)
    return seal(BatchHeader(**{**header._asdict(), **fields}), batch[61:])


class Partition:
    """Partition 0 of a fresh topic, spoken to in one version of Produce."""

    def __init__(self, target: Target, topic: str, version: int) -> None:
        self.target = target
        self.topic = topic
        self.version = version
        with target.cluster() as cluster:
            self.topic_id = cluster.topic(topic, wait_ms=5_000).id

    # Produce

    def append(
        self,
        data: bytes | None,
        *,
        acks: int = -1,
        transactional_id: str | None = None,
        topic: str | None = None,
    ) -> PartitionProduceResponse:
        """The answer for the one partition."""
        if topic is not None:
            topic_id = bytes(range(16))
        else:
            topic, topic_id = self.topic, self.topic_id
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=acks,
            timeout_ms=10_000,
            topic_data=[
                TopicProduceData(
                    name=topic,
                    topic_id=topic_id,
                    partition_data=[PartitionProduceData(index=0, records=data)],
                )
            ],
        )
        with self.target.connect() as connection:
            answer = connection.send(request, ProduceResponse, self.version)
        (found,) = answer.responses[0].partition_responses
        return found

    def idempotent(
        self,
        producer_id: int,
        sequence: int,
        *,
        count: int = 1,
        epoch: int = 0,
        timestamp: int | None = None,
        transactional_id: str | None = None,
    ) -> PartitionProduceResponse:
        batch = build_batch(
            records(count, timestamp=timestamp),
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        return self.append(batch, transactional_id=transactional_id)

    # Fetch and ListOffsets

    def fetch(
        self,
        offset: int,
        *,
        isolation: int = 0,
        max_bytes: int = 1 << 20,
        partition_max_bytes: int = 1 << 20,
        leader_epoch: int = -1,
    ) -> PartitionData:
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=max_bytes,
            isolation_level=isolation,
            topics=[self.fetch_topic(offset, partition_max_bytes, leader_epoch)],
        )
        with self.target.connect() as connection:
            answer = connection.send(request, FetchResponse, 12)
        assert answer.error_code == 0
        (found,) = answer.responses[0].partitions
        return found

    def fetch_topic(self, offset: int, max_bytes: int = 1 << 20, leader_epoch: int = -1) -> FetchTopic:
        partition = FetchPartition(
            partition=0, fetch_offset=offset, partition_max_bytes=max_bytes, current_leader_epoch=leader_epoch
        )
        return FetchTopic(topic=self.topic, topic_id=self.topic_id, partitions=[partition])

    def list_offset(
        self, timestamp: int, *, version: int = 11, isolation: int = 0
    ) -> ListOffsetsPartitionResponse:
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation,
            topics=[
                ListOffsetsTopic(
                    name=self.topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=timestamp)]
                )
            ],
            timeout_ms=5_000,
        )
        with self.target.connect() as connection:
            answer = connection.send(request, ListOffsetsResponse, version)
        (found,) = answer.topics[0].partitions
        return found


# Answers in words


def produced(answer: PartitionProduceResponse) -> str:
    """`ERROR @base offset`."""
    return f"{error_name(answer.error_code)} @{answer.base_offset}"


def fetched(answer: PartitionData) -> str:
    """`ERROR, n bytes, high watermark, last stable offset, log start`."""
    size = len(answer.records or b"")
    data = "empty" if size == 0 else "records"
    ends = f"HW {answer.high_watermark} LSO {answer.last_stable_offset} start {answer.log_start_offset}"
    return f"{error_name(answer.error_code)} {data} {ends}"


def error_of(answer: Any) -> str:
    return error_name(answer.error_code)


def ask(connection: Connection, request: Message, version: int) -> Any:
    return connection.send(request, version=version)


def differences(transcripts: dict[tuple[str, str], Rows]) -> Sequence[str]:
    """Vectors that oncelog and Kafka answered differently, as tables."""
    found: list[str] = []
    for name in sorted({vector for vector, _ in transcripts}):
        ours, theirs = transcripts.get((name, "oncelog")), transcripts.get((name, "kafka"))
        if ours is None or theirs is None:
            continue
        for mine, other in itertools.zip_longest(ours.rows, theirs.rows):
            asked = (mine or other or Row("nothing", "", "")).ask
            said = ["was not asked" if row is None else FRESH.sub(r"\1", row.said) for row in (mine, other)]
            if said[0] != said[1]:
                reason = reason_of(name, asked)
                found.append(
                    f"{name}: {asked}: oncelog {said[0]}, Kafka {said[1]}"
                    + (f" ({reason})" if reason else "")
                )
    return found
