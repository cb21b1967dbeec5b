"""Settings as DescribeConfigs shows them and as AlterConfigs changes them (spec 1.5): values, where they come from, operations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from oncelog.broker.topics import Refusal, name_complaint
from oncelog.config import (
    BROKER_KEYS,
    TOPIC_KEYS,
    BrokerConfig,
    ConfigType,
    TopicConfig,
    broker_value,
    read_topic_config,
    topic_value,
)
from oncelog.engine.port import Topic
from oncelog.errors import BadConfig, ErrorCode
from oncelog.group.assignors import ASSIGNORS


class Source(IntEnum):
    """Where a value comes from. The numbers are those of DescribeConfigs."""

    TOPIC = 1
    STATIC_BROKER = 4
    DEFAULT = 5


class Resource(IntEnum):
    """What a setting belongs to. The numbers are those of the wire."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Operation(IntEnum):
    """What IncrementalAlterConfigs does to a setting. The numbers are those of the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class Synonym:
    name: str
    value: str | None
    source: Source


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting: its value, and what it would fall back to, nearest first."""

    name: str
    value: str | None
    source: Source
    type: ConfigType
    read_only: bool
    doc: str
    synonyms: tuple[Synonym, ...]


def topic_entries(
    configs: Mapping[str, str], effective: TopicConfig, broker: BrokerConfig, names: Sequence[str] = ()
) -> list[Entry]:
    """The settings of a topic, by name; `names` empty for all. `configs` is what was set for the topic itself."""
    entries: list[Entry] = []
    for name in sorted(TOPIC_KEYS):
        if names and name not in names:
            continue
        key = TOPIC_KEYS[name]
        value = topic_value(effective, name)
        synonyms = [Synonym(name, value, Source.TOPIC)] if name in configs else []
        if key.broker_synonym is not None:
            synonyms += _broker_synonyms(key.broker_synonym, broker)
        source = synonyms[0].source if synonyms else Source.DEFAULT
        entries.append(Entry(name, value, source, key.type, False, key.doc, tuple(synonyms)))
    return entries


def broker_entries(
    broker: BrokerConfig,
    names: Sequence[str] = (),
    *,
    listens_at: tuple[str, int],
    advertised: tuple[str, int],
) -> list[Entry]:
    """The settings of the broker, by name; `names` empty for all. All are read-only: they are set at start."""
    entries = _facts(broker, listens_at, advertised)
    for name, key in BROKER_KEYS.items():
        synonyms = _broker_synonyms(name, broker)
        source = synonyms[0].source if synonyms else Source.DEFAULT
        entries.append(
            Entry(name, broker_value(broker, name), source, key.type, True, key.doc, tuple(synonyms))
        )
    return sorted([each for each in entries if not names or each.name in names], key=lambda entry: entry.name)


def _listener(host: str, port: int) -> str:
    return f"PLAINTEXT://[{host}]:{port}" if ":" in host else f"PLAINTEXT://{host}:{port}"


def _facts(broker: BrokerConfig, listens_at: tuple[str, int], advertised: tuple[str, int]) -> list[Entry]:
    """What Kafka has settings for and tools look up, and what is decided otherwise here: by options, or for good."""
    given = {
        "advertised.listeners": (ConfigType.LIST, _listener(*advertised), "where clients are sent"),
        "broker.id": (ConfigType.INT, str(broker.node_id), "the same as node.id"),
        "listeners": (ConfigType.LIST, _listener(*listens_at), "where connections are taken"),
        "log.dirs": (ConfigType.LIST, broker.data_dir, "the data directory"),
    }
    fixed = {
        "group.consumer.assignors": (ConfigType.LIST, ",".join(ASSIGNORS), "of KIP-848 groups"),
        "group.coordinator.rebalance.protocols": (ConfigType.LIST, "classic,consumer", "kinds of groups"),
        "listener.security.protocol.map": (ConfigType.STRING, "PLAINTEXT:PLAINTEXT", "by listener"),
    }
    return [
        Entry(name, value, source, kind, True, doc, (Synonym(name, value, source),))
        for source, facts in ((Source.STATIC_BROKER, given), (Source.DEFAULT, fixed))
        for name, (kind, value, doc) in facts.items()
    ]


def _broker_synonyms(name: str, broker: BrokerConfig) -> list[Synonym]:
    value, default = broker_value(broker, name), BROKER_KEYS[name].default
    found: list[Synonym] = []
    if name in broker.given or value != default:
        found.append(Synonym(name, value, Source.STATIC_BROKER))
    if default is not None:
        found.append(Synonym(name, default, Source.DEFAULT))
    return found


# Changing


@dataclass(frozen=True, slots=True)
class Change:
    """One setting that a client wants changed."""

    name: str
    operation: int
    value: str | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """All that a client wants changed of one resource. `replace`: what is not named goes back to its default."""

    resource_type: int
    resource_name: str
    changes: Sequence[Change]
    replace: bool


NOT_ONCE: Final = Refusal(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")


def decide_change(
    wanted: Wanted, topics: Mapping[str, Topic], broker: BrokerConfig
) -> Mapping[str, str] | Refusal | None:
    """The settings that the topic will have, why not, or None if nothing is to be done. Checks in Kafka's order."""
    names = [change.name for change in wanted.changes]
    if len(set(names)) < len(names):
        return Refusal(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [
        change.name
        for change in wanted.changes
        if change.value is None and change.operation != Operation.DELETE
    ]
    if nulls:
        return Refusal(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    match wanted.resource_type:
        case Resource.TOPIC:
            return _decide_topic(wanted, topics, broker)
        case Resource.BROKER:
            return _decide_broker(wanted.resource_name, names, broker)
        case Resource.CLIENT_METRICS:
            first = "".join(names[:1])
            unknown = Refusal(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {first}")
        case Resource.GROUP:
            first = "".join(names[:1])
            unknown = Refusal(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {first}")
        case _:
            return Refusal(ErrorCode.INVALID_REQUEST, f"Unknown resource type {wanted.resource_type}")
    return unknown if names else None


def _decide_broker(node: str, names: Sequence[str], broker: BrokerConfig) -> Refusal | None:
    """Nothing of the broker can be changed while it runs."""
    if node:
        refusal = wrong_node(node, broker.node_id, "Node", ",")
        if refusal is not None:
            return refusal
    if names:
        return Refusal(
            ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{', '.join(names)}]"
        )
    return None


def wrong_node(found: str, wanted: int, what: str, between: str) -> Refusal | None:
    """A broker resource must be named by our own id."""
    sign = found[:1] if found[:1] in ("-", "+") else ""
    if not found.removeprefix(sign).isascii() or not found.removeprefix(sign).isdigit():
        return Refusal(ErrorCode.INVALID_REQUEST, f"{what} id must be an integer, but it is: {found}")
    if int(found) != wanted:
        return Refusal(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {wanted}{between} but received {found}",
        )
    return None


def _decide_topic(
    wanted: Wanted, topics: Mapping[str, Topic], broker: BrokerConfig
) -> Mapping[str, str] | Refusal:
    topic = topics.get(wanted.resource_name)
    present = dict(topic.configs) if topic is not None else {}
    configs = {} if wanted.replace else dict(present)
    for change in wanted.changes:
        refusal = _apply(change, configs)
        if refusal is not None:
            return refusal
    if not wanted.resource_name:
        return Refusal(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    complaint = name_complaint(wanted.resource_name)
    if complaint is not None:
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, complaint)
    try:
        read_topic_config(configs, broker.topic_defaults)
    except BadConfig as fault:
        return Refusal(ErrorCode.INVALID_CONFIG, str(fault))
    if topic is None:
        return Refusal(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{wanted.resource_name}' does not exist."
        )
    return configs


def _apply(change: Change, configs: dict[str, str]) -> Refusal | None:
    """One operation on the texts. A list begins at its default when nothing is set."""
    value = change.value or ""
    match change.operation:
        case Operation.SET:
            configs[change.name] = value
        case Operation.DELETE:
            configs.pop(change.name, None)
        case Operation.APPEND | Operation.SUBTRACT:
            key = TOPIC_KEYS.get(change.name)
            if key is None or key.type is not ConfigType.LIST:
                word = Operation(change.operation).name
                return Refusal(
                    ErrorCode.INVALID_CONFIG,
                    f"Can't {word} to key {change.name} because its type is not LIST.",
                )
            words = [word for word in configs.get(change.name, key.default or "").split(",") if word]
            for word in value.split(","):
                if change.operation == Operation.APPEND and word not in words:
                    words.append(word)
                elif change.operation == Operation.SUBTRACT and word in words:
                    words.remove(word)
            configs[change.name] = ",".join(words)
        case _:  # Kafka trips over it, and says no more than this
            return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
    return None
