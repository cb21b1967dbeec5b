"""Every setting that we honour, by Kafka's names: one table for topics, one for the broker.

A setting is a field of `TopicConfig` or `BrokerConfig`; its name on the wire is the field's with dots, unless it says
another. What is not here is refused by name: a setting that is accepted and ignored would be a lie. Complaints are
worded as Kafka's, because they travel to clients as they are.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any, Final, cast

from oncelog.errors import BadConfig

MAX_SHORT: Final = 2**15 - 1
MAX_INT: Final = 2**31 - 1
MAX_LONG: Final = 2**63 - 1


class ConfigType(IntEnum):
    """The numbers are those of DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7


Check = Callable[
    [Any], str | None
]  # what is wrong with a value (of a list: a word), in Kafka's words; None if nothing


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: how its text is read and what is allowed."""

    name: str
    type: ConfigType
    # None: not set, and none (broker.rack) or another setting decides (log.retention.ms: then log.retention.hours)
    default: str | None
    wanted: str  # in words, for the documents
    check: Check
    doc: str
    broker_synonym: str | None = None  # the broker setting that gives a topic setting its default

    def parse(self, text: str) -> Any:
        """The value as Python sees it, or BadConfig that says what was wanted and found."""
        try:
            value = _READERS[self.type](text)
        except ValueError as fault:
            raise BadConfig(f"Invalid value {text} for configuration {self.name}: {fault}") from None
        for part in cast(tuple[Any, ...], value) if self.type is ConfigType.LIST else (value,):
            complaint = self.check(part)
            if complaint is not None:
                raise BadConfig(f"Invalid value {text_of(part)} for configuration {self.name}: {complaint}")
        return value

    def text(self, value: Any) -> str:
        """A value as the wire shows it; `parse` gives the value back."""
        return text_of(value)


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(cast(tuple[str, ...], value)) if isinstance(value, tuple) else str(value)


# Java reads no underscores, no Unicode digits and no "nan" the way Python does.
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_REAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def _boolean(text: str) -> bool:
    words = {"true": True, "false": False}
    if text.strip().lower() not in words:
        raise ValueError("Expected value to be either true or false")
    return words[text.strip().lower()]


def _whole(text: str, kind: str, limit: int) -> int:
    value = int(text) if len(text) <= 20 and _WHOLE.fullmatch(text) else None
    if value is None or not -limit - 1 <= value <= limit:
        raise ValueError(f"Not a number of type {kind}")
    return value


def _real(text: str) -> float:
    if not _REAL.fullmatch(text):
        raise ValueError("Not a number of type DOUBLE")
    return float(text)


def _words(text: str) -> tuple[str, ...]:
    """Java's split at commas: an empty text is an empty list, a word that is there twice counts once."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(","))) if text.strip() else ()


_READERS: Final[Mapping[ConfigType, Callable[[str], Any]]] = {
    ConfigType.BOOLEAN: _boolean,
    ConfigType.STRING: str.strip,
    ConfigType.INT: lambda text: _whole(text.strip(), "INT", MAX_INT),
    ConfigType.SHORT: lambda text: _whole(text.strip(), "SHORT", MAX_SHORT),
    ConfigType.LONG: lambda text: _whole(text.strip(), "LONG", MAX_LONG),
    ConfigType.DOUBLE: lambda text: _real(text.strip()),
    ConfigType.LIST: _words,
}


def _range(low: float, high: float) -> Check:
    def check(value: Any) -> str | None:
        if value < low:
            return f"Value must be at least {low}"
        return f"Value must be no more than {high}" if value > high else None

    return check


def _anything(_: Any) -> None:
    return None


def _key(
    kind: ConfigType, default: Any, wanted: str, check: Check, doc: str, synonym: str | None, name: str | None
) -> Any:
    key = Key(name or "", kind, text_of(default) or None, wanted, check, doc, synonym)
    return field(default=default, metadata={"key": key})


def _int(
    default: int, low: int, doc: str, high: int = MAX_INT, synonym: str | None = None, name: str | None = None
) -> Any:
    wanted = f"a whole number from {low} to {high}"
    return _key(ConfigType.INT, default, wanted, _range(low, high), doc, synonym, name)


def _long(
    default: int,
    low: int,
    doc: str,
    high: int = MAX_LONG,
    synonym: str | None = None,
    name: str | None = None,
) -> Any:
    wanted = f"a whole number from {low} to {high}"
    return _key(ConfigType.LONG, default, wanted, _range(low, high), doc, synonym, name)


def _replicas(doc: str) -> Any:
    """A number of replicas of the coordinators' topics: a SHORT to Kafka, and 1 here."""
    return _key(ConfigType.SHORT, 1, "a whole number from 1 to 1", _range(1, 1), doc, None, None)


def _bool(default: bool, doc: str, synonym: str | None = None) -> Any:
    return _key(ConfigType.BOOLEAN, default, "true or false", _anything, doc, synonym, None)


def _double(default: float, low: int, high: int, doc: str, synonym: str | None = None) -> Any:
    wanted = f"a number from {low} to {high}"
    return _key(ConfigType.DOUBLE, default, wanted, _range(low, high), doc, synonym, None)


def _text(default: str, doc: str) -> Any:
    return _key(ConfigType.STRING, default, "any text", _anything, doc, None, None)


def _among(known: tuple[str, ...]) -> Check:
    return lambda word: None if word in known else f"String must be one of: {', '.join(known)}"


def _one_of(default: str, words: Iterable[str], doc: str, synonym: str | None = None) -> Any:
    known = tuple(words)
    return _key(ConfigType.STRING, default, f"one of {', '.join(known)}", _among(known), doc, synonym, None)


def _some_of(default: tuple[str, ...], words: Iterable[str], doc: str, synonym: str | None = None) -> Any:
    known = tuple(words)
    return _key(ConfigType.LIST, default, f"a list of {', '.join(known)}", _among(known), doc, synonym, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """The settings of one topic. `min.insync.replicas` is kept at 1: there is one replica."""

    cleanup_policy: tuple[str, ...] = _some_of(
        ("delete",),
        ("compact", "delete"),
        "delete old segments, compact by key, or both; empty keeps everything",
        "log.cleanup.policy",
    )
    compression_type: str = _one_of(
        "producer", ("producer",), "batches are kept as the producer compressed them", "compression.type"
    )
    delete_retention_ms: int = _long(
        86_400_000,
        0,
        "how long tombstones and markers outlive a first cleaning",
        synonym="log.cleaner.delete.retention.ms",
    )
    file_delete_delay_ms: int = _long(
        60_000,
        0,
        "how long a deleted segment stays on disk for readers",
        synonym="log.segment.delete.delay.ms",
    )
    flush_messages: int = _long(
        MAX_LONG,
        1,
        "sync after so many records; durability=power syncs before every ack anyway",
        synonym="log.flush.interval.messages",
    )
    flush_ms: int = _long(MAX_LONG, 0, "sync at least this often", synonym="log.flush.interval.ms")
    index_interval_bytes: int = _int(
        4096, 0, "bytes between two entries of the offset index", synonym="log.index.interval.bytes"
    )
    max_compaction_lag_ms: int = _long(
        MAX_LONG,
        1,
        "a dirty record waits at most this long for the cleaner",
        synonym="log.cleaner.max.compaction.lag.ms",
    )
    # 78 bytes is one transaction marker: a lower limit could never end a transaction (spec 4.6)
    max_message_bytes: int = _int(1_048_588, 78, "largest record batch", synonym="message.max.bytes")
    message_timestamp_after_max_ms: int = _long(
        3_600_000,
        0,
        "how far in the future a CreateTime may lie",
        synonym="log.message.timestamp.after.max.ms",
    )
    message_timestamp_before_max_ms: int = _long(
        MAX_LONG, 0, "how far in the past a CreateTime may lie", synonym="log.message.timestamp.before.max.ms"
    )
    message_timestamp_type: str = _one_of(
        "CreateTime",
        ("CreateTime", "LogAppendTime"),
        "whose clock stamps records",
        "log.message.timestamp.type",
    )
    min_cleanable_dirty_ratio: float = _double(
        0.5, 0, 1, "share of dirty bytes that makes a log worth cleaning", "log.cleaner.min.cleanable.ratio"
    )
    min_compaction_lag_ms: int = _long(
        0, 0, "a record stays uncompacted at least this long", synonym="log.cleaner.min.compaction.lag.ms"
    )
    min_insync_replicas: int = _int(
        1, 1, "kept for clients that set it: there is one replica", high=1, synonym="min.insync.replicas"
    )
    preallocate: bool = _bool(
        False, "kept for clients that set it: segments grow as they are written", "log.preallocate"
    )
    retention_bytes: int = _long(
        -1, -1, "largest size of a partition, -1 for no limit", synonym="log.retention.bytes"
    )
    retention_ms: int = _long(
        604_800_000, -1, "age at which segments go, -1 for never", synonym="log.retention.ms"
    )
    # Kafka wants 1 MiB since 4.1: tests of rolling and cleaning want less, and a log of small segments is still right
    segment_bytes: int = _int(
        1_073_741_824, 1024, "size at which a new segment begins", synonym="log.segment.bytes"
    )
    segment_index_bytes: int = _int(
        10_485_760, 4, "largest size of an index", synonym="log.index.size.max.bytes"
    )
    segment_jitter_ms: int = _long(
        0,
        0,
        "kept for clients that set it: one partition rolls at its own time",
        synonym="log.roll.jitter.ms",
    )
    segment_ms: int = _long(604_800_000, 1, "age at which a new segment begins", synonym="log.roll.ms")
    unclean_leader_election_enable: bool = _bool(
        False,
        "kept for clients that set it: with one replica there is no election",
        "unclean.leader.election.enable",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """The settings of the broker. The defaults that it gives to topics are `topic_defaults`."""

    node_id: int = _int(0, 0, "this broker's id in Metadata")
    broker_rack: str = _text("", "this broker's rack in Metadata; empty for none")
    num_partitions: int = _int(1, 1, "partitions of a topic that does not say")
    default_replication_factor: int = _int(1, 1, "there is one replica", high=1)
    auto_create_topics_enable: bool = _bool(False, "create a topic when a client first names it")
    delete_topic_enable: bool = _bool(True, "allow DeleteTopics")

    durability: str = _one_of(
        "process", ("power", "process"), "what an acknowledged record survives (docs/operating.md)"
    )
    flush_interval_ms: int = _int(
        60_000, 1, "how often recovery points are written", name="log.flush.offset.checkpoint.interval.ms"
    )
    log_retention_check_interval_ms: int = _long(300_000, 1, "how often retention looks for old segments")
    log_cleaner_enable: bool = _bool(True, "compact topics with cleanup.policy=compact")
    log_cleaner_backoff_ms: int = _long(15_000, 1, "how long the cleaner waits when it found nothing to do")
    log_cleaner_dedupe_buffer_size: int = _long(134_217_728, 1024, "memory for the cleaner's map of keys")
    producer_id_expiration_ms: int = _int(
        86_400_000, 1, "how long an idle producer's sequences are remembered"
    )
    producer_id_expiration_check_interval_ms: int = _int(600_000, 1, "how often they are looked at")

    transaction_max_timeout_ms: int = _int(900_000, 1, "upper bound of a producer's transaction timeout")
    transaction_version: int = _int(
        2, 0, "the transaction protocol that clients are offered: 2 is KIP-890's", high=2
    )
    end_txn_reply: str = _one_of(
        "complete", ("complete", "prepared"), "when EndTxn is answered; prepared is Kafka's timing"
    )
    transaction_partition_verification_enable: bool = _bool(
        True,
        "ask the coordinator whether a partition is in the transaction, for clients that add it themselves (KIP-890)",
    )
    transaction_two_phase_commit_enable: bool = _bool(
        False, "offer InitProducerId 6: transactions that wait for an outside decision (docs/decisions/0011)"
    )
    transaction_late_requests_refuse: bool = _bool(
        True,
        "refuse late copies of transactional requests on connections their client left (docs/decisions/0010)",
    )
    transaction_trace_requests: int = _int(
        64, 0, "requests of each transactional id that are kept for the inspector; 0 keeps none"
    )
    transaction_trace_ids: int = _int(1000, 1, "transactional ids whose requests are kept: the latest")
    transaction_trace_bytes: int = _long(16_777_216, 1, "bytes of all kept requests together, about")
    recovery_ongoing: str = _one_of(
        "keep",
        ("keep", "abort"),
        "what a start does with transactions that were ongoing; keep is Kafka's way",
    )
    transactional_id_expiration_ms: int = _int(
        604_800_000, 1, "how long an idle transactional id is remembered"
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = _int(
        10_000, 1, "how often timed-out transactions are looked for"
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = _int(
        3_600_000, 1, "how often expired transactional ids are looked for"
    )
    transaction_state_log_num_partitions: int = _int(50, 1, "partitions of __transaction_state")
    transaction_state_log_replication_factor: int = _replicas("there is one replica")
    transaction_state_log_min_isr: int = _int(1, 1, "there is one replica", high=1)
    # Kafka's is 100 MiB: a crash has the segments in use read again, and an open one is never cleaned
    transaction_state_log_segment_bytes: int = _int(1_048_576, 1024, "segment size of __transaction_state")
    transaction_state_log_checkpoint_bytes: int = _int(
        4_194_304, 1, "a start reads at most about so much of __transaction_state (docs/decisions/0015)"
    )

    offsets_topic_num_partitions: int = _int(50, 1, "partitions of __consumer_offsets")
    offsets_topic_replication_factor: int = _replicas("there is one replica")
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
    queued_max_request_bytes: int = _long(
        268_435_456, 1024, "bytes of half-received requests, all connections together"
    )
    max_connections: int = _int(10_000, 1, "most connections")
    max_connections_per_ip: int = _int(MAX_INT, 1, "most connections of one address")
    connections_max_idle_ms: int = _long(600_000, 1, "a silent connection is closed after this")
    connection_first_request_timeout_ms: int = _long(
        30_000, 1, "a connection that never sent a whole request is closed after this"
    )
    connection_frame_timeout_ms: int = _long(
        30_000, 1, "time to finish a request once begun; every byte of it that arrived earns a little more"
    )
    connection_write_timeout_ms: int = _long(60_000, 1, "a client that does not read is dropped after this")
    connection_queued_requests_limit: int = _int(
        100, 1, "pipelined requests of one connection that wait their turn"
    )
    connection_write_buffer_limit_bytes: int = _int(
        8_388_608, 1024, "unsent answer bytes after which reading stops"
    )

    hot_path: str = _one_of(
        "python",
        ("python", "native", "auto"),
        "who serves plain Produce and EndTxn requests: Python, one call of C, or (auto) C where it gains and can be had, which is what "
        "`oncelog serve` takes (docs/operating.md)",
    )

    max_partitions: int = _int(100_000, 1, "most partitions of this broker")
    max_decompressed_message_bytes: int = _int(
        67_108_864, 1024, "most bytes one compressed batch may hold (T5)"
    )

    # What is not a setting by name:
    data_dir: str = ""  # where the engine keeps its files, as DescribeLogDirs shows it
    topic_defaults: TopicConfig = TopicConfig()
    given: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """What was set by name, as text: DescribeConfigs tells it from defaults."""


def _keys(config: type[Any]) -> dict[str, tuple[str, Key]]:
    """Name on the wire -> (field, key)."""
    found: dict[str, tuple[str, Key]] = {}
    for each in fields(config):
        if "key" in each.metadata:
            key: Key = each.metadata["key"]
            name = key.name or each.name.replace("_", ".")
            found[name] = each.name, replace(key, name=name)
    return found


@dataclass(frozen=True, slots=True)
class _Default:
    """A broker setting that gives a topic setting its default: `unit` turns hours into milliseconds."""

    topic_field: str
    key: Key
    unit: int = 1


def _hours(
    topic_field: str, topic_name: str, name: str, word: str, default: str | None, low: int
) -> _Default:
    unit = {"hours": 3_600_000, "minutes": 60_000}[word]
    wanted = f"a whole number from {low} to {MAX_INT}"
    doc = f"default of the topic setting {topic_name}, in {word}; the finer unit wins"
    key = Key(name, ConfigType.INT, default, wanted, _range(low, MAX_INT), doc)
    return _Default(topic_field, key, unit)


def _topic_defaults() -> dict[str, _Default]:
    """Rough units first: what is read later wins."""
    found: dict[str, _Default] = {}
    for each in (
        _hours("retention_ms", "retention.ms", "log.retention.hours", "hours", "168", -1),
        _hours("retention_ms", "retention.ms", "log.retention.minutes", "minutes", None, -1),
        _hours("segment_ms", "segment.ms", "log.roll.hours", "hours", "168", 1),
        _hours("segment_jitter_ms", "segment.jitter.ms", "log.roll.jitter.hours", "hours", "0", 0),
    ):
        found[each.key.name] = each
    unset = ("log.retention.ms", "log.roll.ms", "log.roll.jitter.ms", "log.flush.interval.ms")
    for topic_name, (topic_field, key) in _keys(TopicConfig).items():
        name = key.broker_synonym
        if name is not None:
            doc = f"default of the topic setting {topic_name}: {key.doc}"
            default = None if name in unset else key.default
            key = replace(key, name=name, default=default, doc=doc, broker_synonym=None)
            found[name] = _Default(topic_field, key)
    return found


_TOPIC_FIELDS: Final = _keys(TopicConfig)
_BROKER_FIELDS: Final = _keys(BrokerConfig)
_TOPIC_DEFAULTS: Final = _topic_defaults()

TOPIC_KEYS: Final[Mapping[str, Key]] = {name: key for name, (_, key) in _TOPIC_FIELDS.items()}
BROKER_KEYS: Final[Mapping[str, Key]] = {name: key for name, (_, key) in _BROKER_FIELDS.items()} | {
    name: each.key for name, each in _TOPIC_DEFAULTS.items()
}


def read_topic_config(texts: Mapping[str, str], defaults: TopicConfig | None = None) -> TopicConfig:
    """The typed settings of a topic from what was set for it; BadConfig names the first bad one.

    `defaults` are `BrokerConfig.topic_defaults`; without them a setting that is not there has Kafka's default.
    """
    for name in texts:
        if name not in _TOPIC_FIELDS:
            raise BadConfig(f"Unknown topic config name: {name}")
    base = defaults or TopicConfig()
    values = {each: getattr(base, each) for each, _ in _TOPIC_FIELDS.values()}
    for name, text in texts.items():
        field_name, key = _TOPIC_FIELDS[name]
        values[field_name] = key.parse(text)
    config = TopicConfig(**values)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise BadConfig(
            f"conflict topic config setting min.compaction.lag.ms ({config.min_compaction_lag_ms})"
            f" > max.compaction.lag.ms ({config.max_compaction_lag_ms})"
        )
    return config


def read_broker_config(texts: Mapping[str, str]) -> BrokerConfig:
    """The typed settings of the broker from what was set for it; BadConfig names the first bad one."""
    values: dict[str, Any] = {}
    for name, text in texts.items():
        if name in _BROKER_FIELDS:
            field_name, key = _BROKER_FIELDS[name]
            values[field_name] = key.parse(text)
        elif name not in _TOPIC_DEFAULTS:
            raise BadConfig(f"unknown broker config {name!r}")
    defaults: dict[str, Any] = {}
    for name, each in _TOPIC_DEFAULTS.items():
        if name in texts:
            value = each.key.parse(texts[name])
            defaults[each.topic_field] = value if each.unit == 1 or value < 0 else value * each.unit
    return BrokerConfig(**values, topic_defaults=TopicConfig(**defaults), given=dict(texts))


def topic_value(config: TopicConfig, name: str) -> str:
    """The text of one setting of a topic, by its name on the wire."""
    field_name, key = _TOPIC_FIELDS[name]
    return key.text(getattr(config, field_name))


def broker_value(config: BrokerConfig, name: str) -> str | None:
    """The text of one setting of the broker, by its name on the wire; None if nothing is set and another decides."""
    if name in _BROKER_FIELDS:
        field_name, key = _BROKER_FIELDS[name]
        return key.text(getattr(config, field_name)) or None
    key = _TOPIC_DEFAULTS[name].key
    return key.text(key.parse(config.given[name])) if name in config.given else key.default
