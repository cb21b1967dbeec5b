"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: the rows of spec 1.5 about settings, as Apache Kafka 4.3.1 has them."""

from collections.abc import Sequence

import pytest

from oncelog.config import BROKER_KEYS, TOPIC_KEYS, BrokerConfig, ConfigType, read_broker_config
from oncelog.errors import ErrorCode
from oncelog.protocol.messages import alter_configs as legacy
from oncelog.protocol.messages import incremental_alter_configs as incremental
from oncelog.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from tests.unit.fakes import Stage, versions

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OWN, STATIC, DEFAULT = 1, 4, 5
DESCRIBE_CONFIGS, ALTER_CONFIGS, INCREMENTAL = 32, 33, 44
MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)


def ask(
    stage: Stage,
    kind: int,
    name: str,
    keys: list[str] | None = None,
    *,
    version: int = 4,
    synonyms: bool = True,
    docs: bool = False,
) -> DescribeConfigsResult:
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)],
        include_synonyms=synonyms,
        include_documentation=docs and version >= 3,
    )
    return stage.ask(request, DescribeConfigsResponse, version).results[0]


def entry(stage: Stage, kind: int, name: str, key: str) -> DescribeConfigsResourceResult:
    return ask(stage, kind, name, [key]).configs[0]


Shown = tuple[str | None, int, list[tuple[str, str | None, int]]]


def shown(found: DescribeConfigsResourceResult) -> Shown:
    return found.value, found.config_source, [(each.name, each.value, each.source) for each in found.synonyms]


# --- DescribeConfigs ---


@pytest.mark.parametrize("version", versions(DESCRIBE_CONFIGS))
def test_spec_1_5_describe_configs_in_every_version(version: int) -> None:
    stage = Stage()
    stage.topic("t", configs={"retention.ms": " 5 "})
    for keys in (None, list[str]()):
        found = ask(stage, TOPIC, "t", keys, version=version, docs=True)
        assert (found.error_code, found.error_message) == (ErrorCode.NONE, "")
        assert [each.name for each in found.configs] == sorted(TOPIC_KEYS)
    one = ask(stage, TOPIC, "t", ["retention.ms", "nope"], version=version, docs=True).configs
    assert [each.name for each in one] == ["retention.ms"]
    assert shown(one[0]) == ("5", OWN, [("retention.ms", "5", OWN)])
    assert (one[0].read_only, one[0].is_sensitive) == (False, False)
    if version >= 3:
        assert (one[0].config_type, one[0].documentation) == (5, "age at which segments go, -1 for never")
    assert ask(stage, TOPIC, "t", ["retention.ms"], version=version, synonyms=False).configs[0].synonyms == []


ORIGINS: list[tuple[str, dict[str, str], dict[str, str], Shown]] = [
    # what is set     for the broker                  for the topic        value, source, synonyms
    ("cleanup.policy", {}, {}, ("delete", DEFAULT, [("log.cleanup.policy", "delete", DEFAULT)])),
    (
        "cleanup.policy",
        {},
        {"cleanup.policy": "compact"},
        ("compact", OWN, [("cleanup.policy", "compact", OWN), ("log.cleanup.policy", "delete", DEFAULT)]),
    ),
    (
        "segment.bytes",
        {"log.segment.bytes": "4096"},
        {"segment.bytes": "2048"},
        (
            "2048",
            OWN,
            [
                ("segment.bytes", "2048", OWN),
                ("log.segment.bytes", "4096", STATIC),
                ("log.segment.bytes", "1073741824", DEFAULT),
            ],
        ),
    ),
    ("retention.ms", {}, {}, ("604800000", DEFAULT, [])),
    ("retention.ms", {"log.retention.ms": "9"}, {}, ("9", STATIC, [("log.retention.ms", "9", STATIC)])),
    ("retention.ms", {"log.retention.hours": "1"}, {}, ("3600000", DEFAULT, [])),  # as Kafka shows it
]


@pytest.mark.parametrize(("key", "given", "own", "expected"), ORIGINS)
def test_spec_1_5_where_a_value_comes_from(
    key: str, given: dict[str, str], own: dict[str, str], expected: Shown
) -> None:
    stage = Stage(read_broker_config({"node.id": "1"} | given))
    stage.topic("t", configs=own)
    assert shown(entry(stage, TOPIC, "t", key)) == expected


def test_settings_of_the_broker_are_read_only_and_say_where_they_come_from() -> None:
    stage = Stage(read_broker_config({"node.id": "1", "num.partitions": "4"}))
    found = entry(stage, BROKER, "1", "num.partitions")
    assert shown(found) == ("4", STATIC, [("num.partitions", "4", STATIC), ("num.partitions", "1", DEFAULT)])
    assert found.read_only
    assert shown(entry(stage, BROKER, "1", "log.retention.ms")) == (None, DEFAULT, [])
    assert shown(entry(stage, BROKER, "1", "log.retention.hours"))[0] == "168"
    assert ask(stage, BROKER, "").configs == []
    built = Stage(BrokerConfig(node_id=1, num_partitions=7))
    assert shown(entry(built, BROKER, "1", "num.partitions"))[:2] == ("7", STATIC)


FACTS = """
# name                                   value                              source   type
  advertised.listeners                   PLAINTEXT://broker.example:9092    STATIC   LIST
  broker.id                              1                                  STATIC   INT
  broker.rack                            None                               DEFAULT  STRING
  group.consumer.assignors               uniform,range                      DEFAULT  LIST
  group.coordinator.rebalance.protocols  classic,consumer                   DEFAULT  LIST
  listener.security.protocol.map         PLAINTEXT:PLAINTEXT                DEFAULT  STRING
  listeners                              PLAINTEXT://[::]:1234              STATIC   LIST
  log.dirs                               /data                              STATIC   LIST
  offsets.topic.replication.factor       1                                  DEFAULT  SHORT
"""


def test_spec_1_5_what_tools_look_up_of_a_broker() -> None:
    rows = [line.split() for line in FACTS.splitlines() if line.strip() and not line.startswith("#")]
    stage = Stage(BrokerConfig(node_id=1, data_dir="/data"))
    stage.broker.listens_at = "::", 1234
    found = ask(stage, BROKER, "1", [row[0] for row in rows]).configs
    words = {STATIC: "STATIC", DEFAULT: "DEFAULT"}
    assert [
        [each.name, str(each.value), words[each.config_source], ConfigType(each.config_type).name]
        for each in found
    ] == rows
    assert all(each.read_only for each in found)
    names = [each.name for each in ask(stage, BROKER, "1").configs]
    assert names == sorted(set(names))
    assert len(names) > len(BROKER_KEYS)


@pytest.mark.parametrize(
    ("kind", "name", "error", "message"),
    [
        (TOPIC, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (
            TOPIC,
            "",
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid: the empty string is not allowed",
        ),
        (
            BROKER,
            "2",
            ErrorCode.INVALID_REQUEST,
            "Unexpected broker id, expected 1 or empty string, but received 2",
        ),
        (BROKER, "x", ErrorCode.INVALID_REQUEST, "Broker id must be an integer, but it is: x"),
        (LOGGER, "", ErrorCode.INVALID_REQUEST, "Broker id must not be empty"),
        (LOGGER, "2", ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1 but received 2"),
        (LOGGER, "1", ErrorCode.NONE, ""),
        (METRICS, "", ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty"),
        (METRICS, "m", ErrorCode.NONE, ""),
        (GROUP, "", ErrorCode.INVALID_REQUEST, "Group name must not be empty"),
        (GROUP, "g", ErrorCode.NONE, ""),
        (3, "x", ErrorCode.INVALID_REQUEST, MALFORMED),
        (99, "x", ErrorCode.INVALID_REQUEST, MALFORMED),
    ],
)
def test_spec_1_5_describe_configs_refuses(kind: int, name: str, error: ErrorCode, message: str) -> None:
    found = ask(Stage(), kind, name)
    assert (found.error_code, found.error_message, found.configs) == (error, message, [])
    assert (found.resource_type, found.resource_name) == (kind, name)


# --- altering ---

Change = tuple[str, int, str | None]
Asked = tuple[int, str, Sequence[Change]]


def alter(
    stage: Stage, *asked: Asked, version: int = 1, validate: bool = False
) -> list[tuple[int, str | None]]:
    request = incremental.IncrementalAlterConfigsRequest(
        resources=[
            incremental.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    incremental.AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, operation, value in changes
                ],
            )
            for kind, name, changes in asked
        ],
        validate_only=validate,
    )
    answer = stage.ask(request, incremental.IncrementalAlterConfigsResponse, version)
    assert [(each.resource_type, each.resource_name) for each in answer.responses] == [
        (kind, name) for kind, name, _ in asked
    ]
    return [(each.error_code, each.error_message) for each in answer.responses]


def replace(
    stage: Stage, *asked: Asked, version: int = 2, validate: bool = False
) -> list[tuple[int, str | None]]:
    """AlterConfigs: the operations of the changes are not looked at."""
    request = legacy.AlterConfigsRequest(
        resources=[
            legacy.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[legacy.AlterableConfig(name=key, value=value) for key, _, value in changes],
            )
            for kind, name, changes in asked
        ],
        validate_only=validate,
    )
    answer = stage.ask(request, legacy.AlterConfigsResponse, version)
    return [(each.error_code, each.error_message) for each in answer.responses]


DONE = (ErrorCode.NONE, None)
REFUSED: list[tuple[Asked, ErrorCode, str | None]] = [
    (
        (TOPIC, "t", [("retention.ms", SET, "x")]),
        ErrorCode.INVALID_CONFIG,
        "Invalid value x for configuration retention.ms: Not a number of type LONG",
    ),
    ((TOPIC, "t", [("nope", SET, "1")]), ErrorCode.INVALID_CONFIG, "Unknown topic config name: nope"),
    ((TOPIC, "nope", [("nope", SET, "1")]), ErrorCode.INVALID_CONFIG, "Unknown topic config name: nope"),
    (
        (TOPIC, "nope", [("retention.ms", SET, "1")]),
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "The topic 'nope' does not exist.",
    ),
    ((TOPIC, "nope", []), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'nope' does not exist."),
    ((TOPIC, "", []), ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed."),
    ((TOPIC, "..", []), ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: '..' is not allowed"),
    (
        (TOPIC, "t", [("a", SET, None), ("b", SET, None)]),
        ErrorCode.INVALID_REQUEST,
        "Null value not supported for : a, b",
    ),
    (
        (TOPIC, "t", [("retention.ms", SET, "1"), ("retention.ms", SET, "2")]),
        ErrorCode.INVALID_REQUEST,
        "Error due to duplicate config keys",
    ),
    ((3, "x", []), ErrorCode.INVALID_REQUEST, "Unknown resource type 3"),
    ((LOGGER, "1", [("root", SET, "INFO")]), ErrorCode.INVALID_REQUEST, "Unknown resource type 8"),
    (
        (BROKER, "2", [("log.retention.ms", SET, "1")]),
        ErrorCode.INVALID_REQUEST,
        "Unexpected broker id, expected 1, but received 2",
    ),
    ((BROKER, "x", []), ErrorCode.INVALID_REQUEST, "Node id must be an integer, but it is: x"),
    (
        (BROKER, "1", [("num.partitions", SET, "2"), ("node.id", SET, "3")]),
        ErrorCode.INVALID_REQUEST,
        "Cannot update these configs dynamically: [num.partitions, node.id]",
    ),
    (
        (BROKER, "", [("num.partitions", SET, "2")]),
        ErrorCode.INVALID_REQUEST,
        "Cannot update these configs dynamically: [num.partitions]",
    ),
    ((GROUP, "g", [("x", SET, "1")]), ErrorCode.INVALID_CONFIG, "Unknown group config name: x"),
    (
        (METRICS, "m", [("x", SET, "1")]),
        ErrorCode.INVALID_REQUEST,
        "Unknown client metrics configuration: x",
    ),
]


@pytest.mark.parametrize(
    ("asked", "error", "message"), REFUSED, ids=[f"{each[1].name}-{at}" for at, each in enumerate(REFUSED)]
)
def test_spec_1_5_both_ways_of_altering_refuse(asked: Asked, error: ErrorCode, message: str | None) -> None:
    for way in (alter, replace):
        for validate in (True, False):
            stage = Stage()
            stage.topic("t", configs={"segment.ms": "7"})
            assert way(stage, asked, validate=validate) == [(error, message)]
            assert stage.engine.topics["t"].configs == {"segment.ms": "7"}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            ("retention.ms", APPEND, "1"),
            ErrorCode.INVALID_CONFIG,
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (
            ("nope", SUBTRACT, "1"),
            ErrorCode.INVALID_CONFIG,
            "Can't SUBTRACT to key nope because its type is not LIST.",
        ),
        (
            ("cleanup.policy", APPEND, "foo"),
            ErrorCode.INVALID_CONFIG,
            "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        (("retention.ms", 9, "1"), ErrorCode.UNKNOWN_SERVER_ERROR, None),
    ],
)
def test_spec_1_5_operations_that_are_refused(change: Change, error: ErrorCode, message: str | None) -> None:
    stage = Stage()
    stage.topic("t")
    assert alter(stage, (TOPIC, "t", [change])) == [(error, message)]
    assert stage.engine.topics["t"].configs == {}


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ({}, [("retention.ms", SET, "5")], {"retention.ms": "5"}),
        ({"retention.ms": "5"}, [("retention.ms", DELETE, None)], {}),
        ({"retention.ms": "5"}, [("segment.ms", SET, "6")], {"retention.ms": "5", "segment.ms": "6"}),
        ({}, [("nope", DELETE, None)], {}),
        ({}, [("cleanup.policy", APPEND, "compact")], {"cleanup.policy": "delete,compact"}),
        ({}, [("cleanup.policy", APPEND, "delete")], {"cleanup.policy": "delete"}),
        (
            {"cleanup.policy": "compact"},
            [("cleanup.policy", SUBTRACT, "delete,compact")],
            {"cleanup.policy": ""},
        ),
        ({}, [], {}),
    ],
)
def test_spec_1_5_incremental_changes(
    before: dict[str, str], changes: list[Change], after: dict[str, str]
) -> None:
    stage = Stage()
    stage.topic("t", configs=before)
    for version in versions(INCREMENTAL):
        assert alter(stage, (TOPIC, "t", changes), version=version, validate=True) == [DONE]
        assert stage.engine.topics["t"].configs == before
    assert alter(stage, (TOPIC, "t", changes)) == [DONE]
    assert stage.engine.topics["t"].configs == after


@pytest.mark.parametrize("version", versions(ALTER_CONFIGS))
def test_spec_1_5_alter_configs_replaces_all_that_was_set(version: int) -> None:
    stage = Stage()
    stage.topic("t", configs={"retention.ms": "5"})
    asked = (TOPIC, "t", [("segment.ms", SET, "6")])
    assert replace(stage, asked, version=version, validate=True) == [DONE]
    assert stage.engine.topics["t"].configs == {"retention.ms": "5"}
    assert replace(stage, asked, version=version) == [DONE]
    assert stage.engine.topics["t"].configs == {"segment.ms": "6"}
    assert replace(stage, (TOPIC, "t", []), version=version) == [DONE]
    assert stage.engine.topics["t"].configs == {}


def test_nothing_asked_of_the_broker_or_a_group_is_no_error() -> None:
    stage = Stage()
    asked: list[Asked] = [(BROKER, "1", []), (BROKER, "", []), (GROUP, "g", []), (METRICS, "m", [])]
    assert alter(stage, *asked) == [DONE] * 4


def test_spec_1_5_a_resource_that_is_there_twice_is_refused_and_the_rest_is_done() -> None:
    twice = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    for way in (alter, replace):
        stage = Stage()
        stage.topic("t")
        stage.topic("u")
        change = [("retention.ms", SET, "5")]
        assert way(stage, (TOPIC, "t", change), (TOPIC, "u", change), (TOPIC, "t", [])) == [
            twice,
            DONE,
            twice,
        ]
        assert (stage.engine.topics["t"].configs, stage.engine.topics["u"].configs) == (
            {},
            {"retention.ms": "5"},
        )


def test_two_changes_at_once_do_not_undo_each_other() -> None:
    stage = Stage()
    stage.topic("t")

    def setting(name: str) -> incremental.IncrementalAlterConfigsRequest:
        change = incremental.AlterableConfig(name=name, config_operation=SET, value="5")
        resource = incremental.AlterConfigsResource(resource_type=TOPIC, resource_name="t", configs=[change])
        return incremental.IncrementalAlterConfigsRequest(resources=[resource])

    stage.run_all([stage.answering(setting(name), 1) for name in ("retention.ms", "segment.ms")])
    assert stage.engine.topics["t"].configs == {"retention.ms": "5", "segment.ms": "5"}
