"""Settings: reading, complaints in Kafka's words, the broker's defaults for topics."""

import pytest

from oncelog.config import (
    BROKER_KEYS,
    TOPIC_KEYS,
    BrokerConfig,
    TopicConfig,
    broker_value,
    read_broker_config,
    read_topic_config,
    topic_value,
)
from oncelog.errors import BadConfig

NOT_LONG = "Not a number of type LONG"
NOT_INT = "Not a number of type INT"

REFUSED = [
    ("retention.ms", "abc", "Invalid value abc for configuration retention.ms: " + NOT_LONG),
    ("retention.ms", "", "Invalid value  for configuration retention.ms: " + NOT_LONG),
    ("retention.ms", "1_000", "Invalid value 1_000 for configuration retention.ms: " + NOT_LONG),
    ("retention.ms", "1.0", "Invalid value 1.0 for configuration retention.ms: " + NOT_LONG),
    (
        "retention.ms",
        "9223372036854775808",
        "Invalid value 9223372036854775808 for configuration retention.ms: " + NOT_LONG,
    ),
    ("retention.ms", "-5", "Invalid value -5 for configuration retention.ms: Value must be at least -1"),
    (
        "segment.bytes",
        "99999999999",
        "Invalid value 99999999999 for configuration segment.bytes: " + NOT_INT,
    ),
    ("segment.ms", "0", "Invalid value 0 for configuration segment.ms: Value must be at least 1"),
    (
        "min.insync.replicas",
        "2",
        "Invalid value 2 for configuration min.insync.replicas: Value must be no more than 1",
    ),
    (
        "min.cleanable.dirty.ratio",
        "2",
        "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
    ),
    (
        "min.cleanable.dirty.ratio",
        "nan",
        "Invalid value nan for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE",
    ),
    (
        "preallocate",
        "maybe",
        "Invalid value maybe for configuration preallocate: Expected value to be either true or false",
    ),
    (
        "cleanup.policy",
        "delete,foo",
        "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
    ),
    (
        "message.timestamp.type",
        "createtime",
        (
            "Invalid value createtime for configuration message.timestamp.type: "
            "String must be one of: CreateTime, LogAppendTime"
        ),
    ),
    ("nope", "1", "Unknown topic config name: nope"),
]


@pytest.mark.parametrize(("name", "text", "complaint"), REFUSED)
def test_a_bad_topic_setting_is_refused_in_kafkas_words(name: str, text: str, complaint: str) -> None:
    with pytest.raises(BadConfig) as caught:
        read_topic_config({name: text})
    assert str(caught.value) == complaint


def test_an_unknown_name_is_found_before_a_bad_value() -> None:
    with pytest.raises(BadConfig, match="Unknown topic config name: nope"):
        read_topic_config({"retention.ms": "x", "nope": "1"})


def test_settings_that_contradict_each_other_are_refused() -> None:
    texts = {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "3"}
    with pytest.raises(BadConfig) as caught:
        read_topic_config(texts)
    assert (
        str(caught.value)
        == "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (3)"
    )


@pytest.mark.parametrize(
    ("name", "text", "value", "shown"),
    [
        ("segment.bytes", " 2000000 ", 2_000_000, "2000000"),
        ("retention.ms", "+5", 5, "5"),
        ("retention.ms", "-1", -1, "-1"),
        ("preallocate", " TRUE ", True, "true"),
        ("cleanup.policy", "compact , delete", ("compact", "delete"), "compact,delete"),
        ("cleanup.policy", "delete,delete", ("delete",), "delete"),
        ("cleanup.policy", "", (), ""),
        ("min.cleanable.dirty.ratio", ".25", 0.25, "0.25"),
    ],
)
def test_a_topic_setting_is_read_and_shown(name: str, text: str, value: object, shown: str) -> None:
    config = read_topic_config({name: text})
    assert getattr(config, name.replace(".", "_")) == value
    assert topic_value(config, name) == shown
    assert read_topic_config({name: shown}) == config


def test_every_default_can_be_read_and_shows_itself() -> None:
    for name, key in TOPIC_KEYS.items():
        assert key.default is not None
        assert topic_value(TopicConfig(), name) == key.default
        assert read_topic_config({name: key.default}) == TopicConfig()
    for name, key in BROKER_KEYS.items():
        assert broker_value(BrokerConfig(), name) == key.default
        if key.default is not None:
            assert broker_value(read_broker_config({name: key.default}), name) == key.default


def test_kafkas_names_are_the_names() -> None:
    assert "log.flush.offset.checkpoint.interval.ms" in BROKER_KEYS
    assert read_broker_config({"log.flush.offset.checkpoint.interval.ms": "9"}).flush_interval_ms == 9
    for key in TOPIC_KEYS.values():
        assert key.broker_synonym in BROKER_KEYS


@pytest.mark.parametrize(
    ("texts", "field", "value"),
    [
        ({}, "retention_ms", 604_800_000),
        ({"log.retention.hours": "1"}, "retention_ms", 3_600_000),
        ({"log.retention.hours": "-1"}, "retention_ms", -1),
        ({"log.retention.minutes": "2", "log.retention.hours": "1"}, "retention_ms", 120_000),
        (
            {"log.retention.ms": "3", "log.retention.minutes": "2", "log.retention.hours": "1"},
            "retention_ms",
            3,
        ),
        ({"log.roll.hours": "2"}, "segment_ms", 7_200_000),
        ({"log.roll.ms": "5", "log.roll.hours": "2"}, "segment_ms", 5),
        ({"log.roll.jitter.hours": "1"}, "segment_jitter_ms", 3_600_000),
        ({"log.segment.bytes": "4096"}, "segment_bytes", 4096),
        ({"message.max.bytes": "5000"}, "max_message_bytes", 5000),
        ({"log.cleanup.policy": "compact,delete"}, "cleanup_policy", ("compact", "delete")),
        ({"log.message.timestamp.type": "LogAppendTime"}, "message_timestamp_type", "LogAppendTime"),
    ],
)
def test_the_broker_gives_topics_their_defaults(texts: dict[str, str], field: str, value: object) -> None:
    broker = read_broker_config(texts)
    assert getattr(broker.topic_defaults, field) == value
    assert getattr(read_topic_config({}, broker.topic_defaults), field) == value


def test_what_a_topic_sets_wins_over_the_brokers_default() -> None:
    broker = read_broker_config({"log.retention.ms": "7", "log.segment.bytes": "4096"})
    config = read_topic_config({"retention.ms": "8"}, broker.topic_defaults)
    assert (config.retention_ms, config.segment_bytes) == (8, 4096)


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        ({"nope": "1"}, "unknown broker config 'nope'"),
        ({"retention.ms": "1"}, "unknown broker config 'retention.ms'"),
        (
            {"log.retention.hours": "x"},
            "Invalid value x for configuration log.retention.hours: Not a number of type INT",
        ),
        (
            {"num.partitions": "0"},
            "Invalid value 0 for configuration num.partitions: Value must be at least 1",
        ),
        (
            {"default.replication.factor": "3"},
            "Invalid value 3 for configuration default.replication.factor: Value must be no more than 1",
        ),
    ],
)
def test_a_bad_broker_setting_is_refused(texts: dict[str, str], complaint: str) -> None:
    with pytest.raises(BadConfig) as caught:
        read_broker_config(texts)
    assert str(caught.value) == complaint


def test_the_broker_remembers_what_was_given() -> None:
    broker = read_broker_config({"num.partitions": "4", "log.retention.ms": " 9 "})
    assert broker.given == {"num.partitions": "4", "log.retention.ms": " 9 "}
    assert broker_value(broker, "log.retention.ms") == "9"
    assert broker_value(broker, "log.retention.minutes") is None
