"""The options of the sink: Spark's and Kafka's names, read and checked into one plain value. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from oncelog.client.security import Security
from oncelog.errors import OncelogError

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
BATCH_LIMIT_BYTES: Final = 1_000_000  # a little below Kafka's default of message.max.bytes


class SinkRefused(OncelogError):
    """The sink will not do what it was asked to, and trying again would not help. Nothing of the micro-batch is visible."""


class TakenOver(SinkRefused):
    """Another driver has the transactional id now, or the coordinator has given up on our transaction."""


class SinkFailed(OncelogError):
    """A micro-batch was aborted for a reason that may pass: it may be tried again."""


class Unfinished(SinkFailed):
    """A partition still holds an earlier transaction of this id: decided, and its marker was never written."""


class CommitOffsets(Enum):
    """Whether the source's end offsets join the transaction."""

    AUTO = "auto"
    """Those of topics that the sink's cluster has, if the checkpoint can be read."""
    ALWAYS = "true"
    NEVER = "false"


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The options of one query. Travels to the tasks."""

    bootstrap: str
    transactional_id: str
    topic: str | None = None
    commit_offsets: CommitOffsets = CommitOffsets.AUTO
    marker_topic: str | None = None
    take_over: str | None = None
    checkpoint: str | None = None
    query_id: str | None = None  # with batch_id: the name of one df.write
    batch_id: int | None = None
    batch_retries: int = 2
    client_id: str | None = None
    codec: str = "none"
    batch_bytes: int = 262_144
    request_bytes: int = 1_048_576
    transaction_timeout_ms: int = 900_000
    delivery_timeout_ms: int = 120_000
    request_timeout_ms: int = 30_000
    security: Security = field(default_factory=Security)


# Settings of Java's producer that change its speed only, or say what this sink does anyway. Taken, and of no effect.
TAKEN: Final = frozenset(
    """
    kafka.auto.include.jmx.reporter kafka.buffer.memory kafka.client.dns.lookup kafka.compression.gzip.level
    kafka.compression.lz4.level kafka.compression.zstd.level kafka.connections.max.idle.ms kafka.enable.metrics.push
    kafka.key.serializer kafka.linger.ms kafka.max.block.ms kafka.max.in.flight.requests.per.connection kafka.metadata.max.age.ms
    kafka.metadata.max.idle.ms kafka.metadata.recovery.rebootstrap.trigger.ms kafka.metadata.recovery.strategy
    kafka.metric.reporters kafka.metrics.num.samples kafka.metrics.recording.level kafka.metrics.sample.window.ms
    kafka.partitioner.adaptive.partitioning.enable kafka.partitioner.availability.timeout.ms kafka.partitioner.ignore.keys
    kafka.receive.buffer.bytes kafka.reconnect.backoff.max.ms kafka.reconnect.backoff.ms kafka.retries
    kafka.retry.backoff.max.ms kafka.retry.backoff.ms kafka.send.buffer.bytes kafka.socket.connection.setup.timeout.max.ms
    kafka.socket.connection.setup.timeout.ms kafka.value.serializer
    """.split()
)
OURS: Final = frozenset(
    """
    kafka.acks kafka.batch.size kafka.bootstrap.servers kafka.client.id kafka.compression.type kafka.delivery.timeout.ms
    kafka.enable.idempotence kafka.max.request.size kafka.request.timeout.ms kafka.transaction.timeout.ms
    """.split()
)
OWN: Final = frozenset(
    """
    batchid batchretries checkpointlocation commitoffsets includeheaders markertopic path queryid queryname takeover topic transactionalid
    """.split()
)  # includeHeaders: a column `headers` is written anyway; path and queryName: what save() and queryName() bring along
_SECURITY: Final = ("kafka.security.", "kafka.ssl.", "kafka.sasl.")


def read_options(given: Mapping[str, str]) -> SinkOptions:
    """Names in any case, as everywhere in Spark. SinkRefused says what is wrong with one."""
    options = {name.lower(): value.strip() for name, value in given.items()}
    _check_names(options)
    _one_of(options, "kafka.acks", ("all", "-1"))
    _one_of(options, "kafka.enable.idempotence", ("true",))
    _one_of(
        options, "kafka.partitioner.ignore.keys", ("false",)
    )  # to_topic and the column partition say where rows go
    topic, marker_topic = _text(options, "topic"), _text(options, "markerTopic")
    if topic is not None and topic == marker_topic:
        raise SinkRefused(
            f"option markerTopic: wanted another topic than the output, found {topic!r} for both"
        )
    query_id, batch_id = _text(options, "queryId"), _text(options, "batchId")
    if (query_id is None) != (batch_id is None):
        raise SinkRefused(
            "options queryId and batchId: wanted both (they name one df.write) or none, found one"
        )
    try:
        security = Security.from_options(
            {name[6:]: value for name, value in options.items() if name.startswith(_SECURITY)}
        )
    except ValueError as why:
        raise SinkRefused(f"options kafka.*: {why}") from None
    return SinkOptions(
        bootstrap=_required(options, "kafka.bootstrap.servers", "host:port, or several with commas"),
        transactional_id=_required(
            options, "transactionalId", "a name of this query alone that stays the same over restarts"
        ),
        topic=topic,
        commit_offsets=CommitOffsets(
            _one_of(options, "commitOffsets", [each.value for each in CommitOffsets]) or "auto"
        ),
        marker_topic=marker_topic,
        take_over=_text(options, "takeOver"),
        checkpoint=_text(options, "checkpointLocation"),
        query_id=query_id,
        batch_id=None if batch_id is None else _number(options, "batchId", 0, least=0),
        batch_retries=_number(options, "batchRetries", 2, least=0),
        client_id=_text(options, "kafka.client.id"),
        codec=_one_of(options, "kafka.compression.type", CODECS) or "none",
        batch_bytes=_number(options, "kafka.batch.size", 262_144, least=1, most=BATCH_LIMIT_BYTES),
        request_bytes=_number(options, "kafka.max.request.size", 1_048_576),
        transaction_timeout_ms=_number(options, "kafka.transaction.timeout.ms", 900_000),
        delivery_timeout_ms=_number(options, "kafka.delivery.timeout.ms", 120_000),
        request_timeout_ms=_number(options, "kafka.request.timeout.ms", 30_000),
        security=security,
    )


def _check_names(options: Mapping[str, str]) -> None:
    """A name that we pass over in silence could be one that the user relies on."""
    if "kafka.transactional.id" in options:
        raise SinkRefused(
            "option kafka.transactional.id: say transactionalId here, progress is kept by it too"
        )
    for name in sorted(options):
        if name not in OURS | TAKEN | OWN and not name.startswith(_SECURITY):
            known = OURS if name.startswith("kafka.") else OWN
            raise SinkRefused(f"option {name}: not known to the sink; it has {', '.join(sorted(known))}")


def _text(options: Mapping[str, str], name: str) -> str | None:
    return options.get(name.lower()) or None


def _required(options: Mapping[str, str], name: str, wanted: str) -> str:
    found = _text(options, name)
    if found is None:
        raise SinkRefused(f"option {name}: wanted {wanted}, found nothing")
    return found


def _one_of(options: Mapping[str, str], name: str, wanted: Iterable[str]) -> str | None:
    found = _text(options, name)
    if found is not None and found.lower() not in wanted:
        raise SinkRefused(f"option {name}: wanted {' or '.join(wanted)}, found {found!r}")
    return None if found is None else found.lower()


def _number(
    options: Mapping[str, str], name: str, default: int, *, least: int = 1, most: int = 2**31 - 1
) -> int:
    found = _text(options, name)
    if found is None:
        return default
    if not found.isdecimal() or not least <= int(found) <= most:
        raise SinkRefused(f"option {name}: wanted a whole number from {least} to {most}, found {found!r}")
    return int(found)
