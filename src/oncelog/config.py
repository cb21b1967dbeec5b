"""Every setting that we honour, by Kafka's names: one table for topics, one for the broker.

A setting is a field of `TopicConfig` or `BrokerConfig`; its name on the wire is the field's with dots. What is not here
is refused by name: a setting that is accepted and ignored would be a lie.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, Final, TypeVar, cast

from oncelog.errors import BadConfig

MAX_INT: Final = 2**31 - 1
MAX_LONG: Final = 2**63 - 1


class ConfigType(IntEnum):
    """The numbers are those of DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: how its text is read and what is allowed."""

    name: str
    type: ConfigType
    default: str
    wanted: str  # in words, for the error message
    allows: Callable[[Any], bool]
    doc: str
    broker_synonym: str | None = None  # the broker setting that gives a topic setting its default

    def parse(self, text: str) -> Any:
        """The value as Python sees it, or BadConfig that says what was wanted and found."""
        try:
            value = _READERS[self.type](text)
        except ValueError:
            raise BadConfig(f"{self.name}: wanted {self.wanted}, found {text!r}") from None
        if not self.allows(value):
            raise BadConfig(f"{self.name}: wanted {self.wanted}, found {text!r}")
        return value


def _boolean(text: str) -> bool:
    words = {"true": True, "false": False}
    if text.strip().lower() not in words:
        raise ValueError(text)
    return words[text.strip().lower()]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


_READERS: Final[Mapping[ConfigType, Callable[[str], Any]]] = {
    ConfigType.BOOLEAN: _boolean,
    ConfigType.STRING: str.strip,
    ConfigType.INT: lambda text: int(text.strip()),
    ConfigType.LONG: lambda text: int(text.strip()),
    ConfigType.DOUBLE: lambda text: float(text.strip()),
    ConfigType.LIST: _words,
}


def _number(low: int, high: int) -> tuple[str, Callable[[Any], bool]]:
    return f"a whole number from {low} to {high}", lambda value: low <= value <= high


def _int(default: int, low: int, doc: str, high: int = MAX_INT, synonym: str | None = None) -> Any:
    wanted, allows = _number(low, high)
    return field(default=default, metadata={"key": (ConfigType.INT, str(default), wanted, allows, doc, synonym)})


def _long(default: int, low: int, doc: str, high: int = MAX_LONG, synonym: str | None = None) -> Any:
    wanted, allows = _number(low, high)
    return field(default=default, metadata={"key": (ConfigType.LONG, str(default), wanted, allows, doc, synonym)})


def _bool(default: bool, doc: str, synonym: str | None = None) -> Any:
    text = str(default).lower()
    meta = (ConfigType.BOOLEAN, text, "true or false", lambda _: True, doc, synonym)  # pyright: ignore[reportUnknownLambdaType]
    return field(default=default, metadata={"key": meta})


def _double(default: float, low: float, high: float, doc: str, synonym: str | None = None) -> Any:
    wanted = f"a number from {low} to {high}"
    meta = (ConfigType.DOUBLE, str(default), wanted, lambda value: low <= value <= high, doc, synonym)  # pyright: ignore
    return field(default=default, metadata={"key": meta})


def _one_of(default: str, words: Iterable[str], doc: str, synonym: str | None = None) -> Any:
    known = tuple(words)
    meta = (ConfigType.STRING, default, f"one of {', '.join(known)}", known.__contains__, doc, synonym)
    return field(default=default, metadata={"key": meta})


def _some_of(default: tuple[str, ...], words: Iterable[str], doc: str, synonym: str | None = None) -> Any:
    known = frozenset(words)
    wanted = f"a list of {', '.join(sorted(known))}"
    meta = (ConfigType.LIST, ",".join(default), wanted, lambda value: bool(value) and known >= set(value), doc, synonym)  # pyright: ignore
    return field(default=default, metadata={"key": meta})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """The settings of one topic. `min.insync.replicas` is kept at 1: there is one replica."""

    cleanup_policy: tuple[str, ...] = _some_of(
        ("delete",), ("delete", "compact"), "delete old segments, compact by key, or both", "log.cleanup.policy"
    )
    compression_type: str = _one_of(
        "producer", ("producer",), "batches are kept as the producer compressed them", "compression.type"
    )
    delete_retention_ms: int = _long(86_400_000, 0, "how long tombstones and markers outlive a first cleaning",
                                     synonym="log.cleaner.delete.retention.ms")
    file_delete_delay_ms: int = _long(60_000, 0, "how long a deleted segment stays on disk for readers",
                                      synonym="log.segment.delete.delay.ms")
    flush_messages: int = _long(MAX_LONG, 1, "sync after so many records; durability=power syncs before every ack anyway",
                                synonym="log.flush.interval.messages")
    flush_ms: int = _long(MAX_LONG, 0, "sync at least this often", synonym="log.flush.interval.ms")
    index_interval_bytes: int = _int(4096, 0, "bytes between two entries of the offset index",
                                     synonym="log.index.interval.bytes")
    max_compaction_lag_ms: int = _long(MAX_LONG, 1, "a dirty record waits at most this long for the cleaner",
                                       synonym="log.cleaner.max.compaction.lag.ms")
    # 78 bytes is one transaction marker: a lower limit could never end a transaction (spec 4.6)
    max_message_bytes: int = _int(1_048_588, 78, "largest record batch", synonym="message.max.bytes")
    message_timestamp_after_max_ms: int = _long(3_600_000, 0, "how far in the future a CreateTime may lie",
                                                synonym="log.message.timestamp.after.max.ms")
    message_timestamp_before_max_ms: int = _long(MAX_LONG, 0, "how far in the past a CreateTime may lie",
                                                 synonym="log.message.timestamp.before.max.ms")
    message_timestamp_type: str = _one_of("CreateTime", ("CreateTime", "LogAppendTime"), "whose clock stamps records",
                                          "log.message.timestamp.type")
    min_cleanable_dirty_ratio: float = _double(0.5, 0.0, 1.0, "share of dirty bytes that makes a log worth cleaning",
                                               "log.cleaner.min.cleanable.ratio")
    min_compaction_lag_ms: int = _long(0, 0, "a record stays uncompacted at least this long",
                                       synonym="log.cleaner.min.compaction.lag.ms")
    min_insync_replicas: int = _int(1, 1, "kept for clients that set it: there is one replica", high=1,
                                    synonym="min.insync.replicas")
    preallocate: bool = _bool(False, "kept for clients that set it to false", "log.preallocate")
    retention_bytes: int = _long(-1, -1, "largest size of a partition, -1 for no limit", synonym="log.retention.bytes")
    retention_ms: int = _long(604_800_000, -1, "age at which segments go, -1 for never", synonym="log.retention.ms")
    segment_bytes: int = _int(1_073_741_824, 1024, "size at which a new segment begins", synonym="log.segment.bytes")
    segment_index_bytes: int = _int(10_485_760, 4, "largest size of an index", synonym="log.index.size.max.bytes")
    segment_jitter_ms: int = _long(0, 0, "kept for clients that set it", synonym="log.roll.jitter.ms")
    segment_ms: int = _long(604_800_000, 1, "age at which a new segment begins", synonym="log.roll.ms")
    unclean_leader_election_enable: bool = _bool(False, "kept for clients that set it to false",
                                                 "unclean.leader.election.enable")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """The settings of the broker."""

    node_id: int = _int(0, 0, "this broker's id in Metadata")
    num_partitions: int = _int(1, 1, "partitions of a topic that does not say")
    default_replication_factor: int = _int(1, 1, "there is one replica", high=1)
    auto_create_topics_enable: bool = _bool(False, "create a topic when a client first names it")
    delete_topic_enable: bool = _bool(True, "allow DeleteTopics")

    durability: str = _one_of("process", ("power", "process"), "what an acknowledged record survives (docs/operating.md)")
    flush_interval_ms: int = _long(60_000, 1, "how often recovery points are written")
    log_retention_check_interval_ms: int = _long(300_000, 1, "how often retention looks for old segments")
    log_cleaner_enable: bool = _bool(True, "compact topics with cleanup.policy=compact")
    log_cleaner_backoff_ms: int = _long(15_000, 1, "how long the cleaner waits when it found nothing to do")
    log_cleaner_dedupe_buffer_size: int = _long(134_217_728, 1024, "memory for the cleaner's map of keys")
    producer_id_expiration_ms: int = _int(86_400_000, 1, "how long an idle producer's sequences are remembered")
    producer_id_expiration_check_interval_ms: int = _int(600_000, 1, "how often they are looked at")

    transaction_max_timeout_ms: int = _int(900_000, 1, "upper bound of a producer's transaction timeout")
    transaction_state_log_num_partitions: int = _int(50, 1, "partitions of __transaction_state")
    transaction_state_log_segment_bytes: int = _int(104_857_600, 1024, "segment size of __transaction_state")

    offsets_topic_num_partitions: int = _int(50, 1, "partitions of __consumer_offsets")
    offsets_topic_segment_bytes: int = _int(104_857_600, 1024, "segment size of __consumer_offsets")
    offset_metadata_max_bytes: int = _int(4096, 0, "longest metadata of one offset commit")
    offsets_retention_minutes: int = _int(10_080, 1, "how long the offsets of an empty group are kept")
    offsets_retention_check_interval_ms: int = _long(600_000, 1, "how often they are looked at")
    group_min_session_timeout_ms: int = _int(6_000, 1, "lowest session timeout of a classic group")
    group_max_session_timeout_ms: int = _int(1_800_000, 1, "highest session timeout of a classic group")
    group_initial_rebalance_delay_ms: int = _int(3_000, 0, "how long a new group waits for more members")
    group_max_size: int = _int(MAX_INT, 1, "most members of a classic group")
    group_consumer_session_timeout_ms: int = _int(45_000, 1, "session timeout of KIP-848 groups")
    group_consumer_heartbeat_interval_ms: int = _int(5_000, 1, "heartbeat interval of KIP-848 groups")
    group_consumer_max_size: int = _int(MAX_INT, 1, "most members of a KIP-848 group")

    max_incremental_fetch_session_cache_slots: int = _int(1000, 0, "most fetch sessions")
    fetch_max_bytes: int = _int(57_671_680, 1024, "most bytes of one Fetch answer")
    socket_request_max_bytes: int = _int(104_857_600, 1024, "largest request")
    queued_max_request_bytes: int = _long(268_435_456, 1024, "bytes of half-received requests, all connections together")
    max_connections: int = _int(10_000, 1, "most connections")
    max_connections_per_ip: int = _int(MAX_INT, 1, "most connections of one address")
    connections_max_idle_ms: int = _long(600_000, 1, "a silent connection is closed after this")
    connection_first_request_timeout_ms: int = _long(30_000, 1, "a connection that never sent a whole request is closed after this")
    connection_frame_timeout_ms: int = _long(30_000, 1, "time to finish a request once begun, plus one second per KiB... of it")
    connection_write_timeout_ms: int = _long(60_000, 1, "a client that does not read is dropped after this")
    connection_queued_requests_limit: int = _int(100, 1, "pipelined requests of one connection that wait their turn")
    connection_write_buffer_limit_bytes: int = _int(8_388_608, 1024, "unsent answer bytes after which reading stops")

    max_partitions: int = _int(100_000, 1, "most partitions of this broker")
    max_decompressed_message_bytes: int = _int(67_108_864, 1024, "most bytes one compressed batch may hold (T5)")


ConfigT = TypeVar("ConfigT", TopicConfig, BrokerConfig)


def _keys(config: type[Any]) -> dict[str, Key]:
    found: dict[str, Key] = {}
    for each in fields(config):
        name = each.name.replace("_", ".")
        kind, default, wanted, allows, doc, synonym = each.metadata["key"]
        found[name] = Key(name, kind, default, wanted, allows, doc, synonym)
    return found


TOPIC_KEYS: Final[Mapping[str, Key]] = _keys(TopicConfig)
BROKER_KEYS: Final[Mapping[str, Key]] = _keys(BrokerConfig)


def _read(config: type[ConfigT], keys: Mapping[str, Key], texts: Mapping[str, str], what: str) -> ConfigT:
    values: dict[str, Any] = {}
    for name, text in texts.items():
        key = keys.get(name)
        if key is None:
            raise BadConfig(f"unknown {what} config {name!r}")
        values[name.replace(".", "_")] = key.parse(text)
    return cast(ConfigT, config(**values))


def read_topic_config(texts: Mapping[str, str]) -> TopicConfig:
    """The typed settings of a topic from what was set for it; BadConfig names the first bad one."""
    return _read(TopicConfig, TOPIC_KEYS, texts, "topic")


def read_broker_config(texts: Mapping[str, str]) -> BrokerConfig:
    """The typed settings of the broker from what was set for it; BadConfig names the first bad one."""
    return _read(BrokerConfig, BROKER_KEYS, texts, "broker")
