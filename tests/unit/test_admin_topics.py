"""Topic administration: every row of spec 1.4 and 1.5, in the words of Apache Kafka 4.3.1."""

import random
from collections.abc import Sequence
from typing import cast

import pytest

from oncelog.broker.context import Context
from oncelog.broker.handlers.metadata import handle as handle_metadata
from oncelog.broker.topics import KINDS_LIMIT, Turns, name_complaint
from oncelog.config import BrokerConfig, read_broker_config
from oncelog.engine.port import Topic
from oncelog.errors import ErrorCode
from oncelog.model import CONSUMER_OFFSETS, NO_TOPIC_ID, Millis
from oncelog.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from oncelog.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from oncelog.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from oncelog.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    RequestCursor,
    TopicRequest,
)
from oncelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from oncelog.sim.loop import VirtualLoop
from oncelog.tasks import Future, sleep, spawn
from tests.unit.fakes import Stage, versions

CREATE_TOPICS, DELETE_TOPICS, METADATA, CREATE_PARTITIONS = 19, 20, 3, 37
TOPIC_OPERATIONS, CLUSTER_OPERATIONS, NOT_ASKED = 3576, 8096, -2147483648


def new(
    name: str,
    partitions: int = 1,
    replication_factor: int = 1,
    *,
    assignments: Sequence[tuple[int, list[int]]] = (),
    configs: Sequence[tuple[str, str | None]] = (),
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=at, broker_ids=ids) for at, ids in assignments
        ],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs],
    )


def create(
    stage: Stage, *topics: CreatableTopic, version: int = 7, validate: bool = False
) -> CreateTopicsResponse:
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=1000, validate_only=validate)
    return stage.ask(request, CreateTopicsResponse, version)


def create_one(stage: Stage, topic: CreatableTopic, version: int = 7) -> CreatableTopicResult:
    return create(stage, topic, version=version).topics[0]


# --- names ---


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
        ("a b", "'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("ä", "'ä' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("a\n", "'a\n' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
    ],
)
def test_spec_1_4_illegal_names(name: str, complaint: str) -> None:
    assert name_complaint(name) == f"Topic name is invalid: {complaint}"


@pytest.mark.parametrize("name", ["a", "...", "x" * 249, "A-z_0.9", "-", "__x"])
def test_spec_1_4_legal_names(name: str) -> None:
    assert name_complaint(name) is None


# --- CreateTopics ---

INVALID_REQUEST, INVALID_TOPIC = ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_TOPIC_EXCEPTION
BAD_FACTOR, BAD_ASSIGNMENT = ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.INVALID_REPLICA_ASSIGNMENT
BAD_CONFIG = ErrorCode.INVALID_CONFIG

CREATE_REFUSED = [
    (new(""), INVALID_TOPIC, "Topic name is invalid: the empty string is not allowed"),
    (new("there"), ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'there' already exists."),
    (new("there", 0), ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'there' already exists."),
    (new("with_dot"), INVALID_TOPIC, "Topic 'with_dot' collides with existing topic: with.dot"),
    (
        new("p", 0),
        ErrorCode.INVALID_PARTITIONS,
        "Number of partitions was set to an invalid non-positive value.",
    ),
    (
        new("p", -2),
        ErrorCode.INVALID_PARTITIONS,
        "Number of partitions was set to an invalid non-positive value.",
    ),
    (
        new("p", 1, 0),
        BAD_FACTOR,
        "Replication factor must be larger than 0, or -1 to use the default value.",
    ),
    (
        new("p", 0, 0),
        BAD_FACTOR,
        "Replication factor must be larger than 0, or -1 to use the default value.",
    ),
    (
        new("p", 1, -2),
        BAD_FACTOR,
        "Replication factor must be larger than 0, or -1 to use the default value.",
    ),
    (
        new("p", 1, 2),
        BAD_FACTOR,
        (
            "Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached because only "
            "1 broker(s) are registered or some brokers have all their log directories cordoned."
        ),
    ),
    (
        new("p", -1, 1, assignments=[(0, [1])]),
        INVALID_REQUEST,
        "A manual partition assignment was specified, but replication factor was not set to -1.",
    ),
    (
        new("p", 1, -1, assignments=[(0, [1])]),
        INVALID_REQUEST,
        "A manual partition assignment was specified, but numPartitions was not set to -1.",
    ),
    (
        new("p", -1, -1, assignments=[(0, [1]), (2, [1])]),
        BAD_ASSIGNMENT,
        "partitions should be a consecutive 0-based integer sequence",
    ),
    (
        new("p", -1, -1, assignments=[(0, [1]), (0, [1])]),
        BAD_ASSIGNMENT,
        "Found multiple manual partition assignments for partition 0",
    ),
    (
        new("p", -1, -1, assignments=[(0, [5])]),
        BAD_ASSIGNMENT,
        "The manual partition assignment includes broker 5, but no such broker is registered.",
    ),
    (
        new("p", -1, -1, assignments=[(0, [])]),
        BAD_ASSIGNMENT,
        "The manual partition assignment includes an empty replica list.",
    ),
    (
        new("p", -1, -1, assignments=[(0, [1, 1])]),
        BAD_ASSIGNMENT,
        "The manual partition assignment includes the broker 1 more than once.",
    ),
    (new("p", configs=[("nope", "1")]), BAD_CONFIG, "Unknown topic config name: nope"),
    (new("p", 0, configs=[("nope", "1")]), BAD_CONFIG, "Unknown topic config name: nope"),
    (
        new("p", configs=[("retention.ms", "abc")]),
        BAD_CONFIG,
        "Invalid value abc for configuration retention.ms: Not a number of type LONG",
    ),
    (
        new("p", configs=[("a", None), ("retention.ms", "1"), ("b", None)]),
        BAD_CONFIG,
        "Null value not supported for topic configs: a,b",
    ),
    (
        new("__cluster_metadata"),
        INVALID_REQUEST,
        "Creation of internal topic __cluster_metadata is prohibited.",
    ),
    (
        new(CONSUMER_OFFSETS),
        INVALID_REQUEST,
        "Creation of internal topic __consumer_offsets is prohibited.",
    ),
]


@pytest.mark.parametrize(
    ("topic", "error", "message"),
    CREATE_REFUSED,
    ids=[f"{each[1].name}-{at}" for at, each in enumerate(CREATE_REFUSED)],
)
def test_spec_1_5_create_topics_refuses(topic: CreatableTopic, error: ErrorCode, message: str) -> None:
    stage = Stage()
    stage.topic("there")
    stage.topic("with.dot")
    for validate in (True, False):
        answer = create(stage, topic, validate=validate)
        found = answer.topics[0]
        assert (found.name, found.error_code, found.error_message) == (topic.name, error, message)
        assert (found.topic_id, found.num_partitions, found.configs) == (NO_TOPIC_ID, -1, [])
    assert sorted(stage.engine.topics) == ["there", "with.dot"]


def test_spec_1_5_the_same_name_twice_is_one_refusal_and_the_rest_is_done() -> None:
    stage = Stage()
    answer = create(stage, new("twice"), new("once"), new("twice"), new("a b"))
    assert [(each.name, each.error_code) for each in answer.topics] == [
        ("once", ErrorCode.NONE),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("twice", ErrorCode.INVALID_REQUEST),
    ]
    assert answer.topics[-1].error_message == "Duplicate topic name."
    assert list(stage.engine.topics) == ["once"]


@pytest.mark.parametrize("version", versions(CREATE_TOPICS))
def test_spec_1_5_create_topics_in_every_version(version: int) -> None:
    stage = Stage(read_broker_config({"node.id": "1", "num.partitions": "4", "log.retention.ms": "77"}))
    found = create_one(stage, new("t", -1, -1, configs=[("segment.bytes", " 2048 ")]), version)
    assert (found.name, found.error_code, found.error_message) == ("t", ErrorCode.NONE, None)
    topic = stage.engine.topics["t"]
    assert len(topic.partitions) == 4
    assert topic.configs == {"segment.bytes": " 2048 "}
    if version >= 5:
        assert (found.num_partitions, found.replication_factor) == (4, 1)
        shown = {each.name: (each.value, each.config_source) for each in found.configs or ()}
        assert shown["segment.bytes"] == ("2048", 1)
        assert shown["retention.ms"] == ("77", 4)
        assert shown["max.message.bytes"] == ("1048588", 5)
        assert list(shown) == sorted(shown)
    assert found.topic_id == (topic.id if version >= 7 else NO_TOPIC_ID)


def test_spec_1_5_partitions_of_a_manual_assignment_are_counted() -> None:
    stage = Stage()
    assert create_one(stage, new("t", -1, -1, assignments=[(1, [1]), (0, [1])])).error_code == ErrorCode.NONE
    assert len(stage.engine.topics["t"].partitions) == 2


def test_spec_1_5_validate_only_changes_nothing() -> None:
    stage = Stage()
    found = create(stage, new("t", 3), validate=True).topics[0]
    assert (found.error_code, found.num_partitions) == (ErrorCode.NONE, 3)
    assert stage.engine.topics == {}


def test_two_requests_at_once_make_a_topic_once() -> None:
    stage = Stage()
    request = CreateTopicsRequest(topics=[new("t"), new("u")], timeout_ms=1000)
    answers = stage.run_all([stage.answering(request, 7), stage.answering(request, 7)])
    codes = [
        [each.error_code for each in answer.topics]
        for answer in answers
        if isinstance(answer, CreateTopicsResponse)
    ]
    assert codes == [[ErrorCode.NONE] * 2, [ErrorCode.TOPIC_ALREADY_EXISTS] * 2]


def test_names_collide_as_long_as_the_other_topic_is_there() -> None:
    stage = Stage()
    create(stage, new("a.b"))
    assert create_one(stage, new("a_b")).error_code == INVALID_TOPIC
    delete(stage, names=["a.b"], version=5)
    assert create_one(stage, new("a_b")).error_code == ErrorCode.NONE


def test_t19_max_partitions_limits_the_broker() -> None:
    stage = Stage(BrokerConfig(node_id=1, max_partitions=5))
    assert create_one(stage, new("a", 3)).error_code == ErrorCode.NONE
    found = create_one(stage, new("b", 3))
    assert found.error_code == ErrorCode.POLICY_VIOLATION
    assert found.error_message == "3 more partitions wanted: there are 3, max.partitions=5."
    assert grow(stage, ("a", 6, None)) == [
        (ErrorCode.POLICY_VIOLATION, "3 more partitions wanted: there are 3, max.partitions=5.")
    ]
    assert grow(stage, ("a", 5, None)) == [(ErrorCode.NONE, None)]
    assert create_one(stage, new("b", 1)).error_code == ErrorCode.POLICY_VIOLATION
    delete(stage, names=["a"], version=5)
    assert create_one(stage, new("b", 5)).error_code == ErrorCode.NONE


# --- DeleteTopics ---


def delete(
    stage: Stage,
    *,
    names: Sequence[str] = (),
    topics: Sequence[tuple[str | None, bytes]] = (),
    version: int = 6,
) -> list[tuple[str | None, bytes, int, str | None]]:
    request = DeleteTopicsRequest(
        topic_names=list(names),
        topics=[DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in topics],
        timeout_ms=1000,
    )
    answer = stage.ask(request, DeleteTopicsResponse, version)
    return [(each.name, each.topic_id, each.error_code, each.error_message) for each in answer.responses]


@pytest.mark.parametrize("version", versions(DELETE_TOPICS))
def test_spec_1_5_delete_topics_in_every_version(version: int) -> None:
    stage = Stage()
    topic_id = stage.topic("t").id
    asked = ["t", "nope", "a b"]
    if version < 6:
        found = delete(stage, names=asked, version=version)
    else:
        found = delete(stage, topics=[(name, NO_TOPIC_ID) for name in asked], version=version)
    message = "This server does not host this topic-partition." if version >= 5 else None
    assert found == [
        ("t", topic_id if version >= 6 else NO_TOPIC_ID, ErrorCode.NONE, None),
        ("nope", NO_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message),
        ("a b", NO_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message),
    ]
    assert stage.engine.topics == {}


def test_spec_1_5_delete_topics_by_id_and_by_both() -> None:
    stage = Stage()
    first, second, third = (stage.topic(name).id for name in ("first", "second", "third"))
    unknown = b"\x07" * 16
    found = delete(
        stage,
        topics=[
            (None, first),
            (None, unknown),
            ("second", second),
            (None, NO_TOPIC_ID),
            (None, third),
            ("third", NO_TOPIC_ID),
            ("fourth", NO_TOPIC_ID),
            ("fourth", NO_TOPIC_ID),
        ],
    )
    both = "You may not specify both topic name and topic id."
    supplied = "The provided topic name maps to an ID that was already supplied."
    assert sorted(found, key=repr) == sorted(
        [
            ("first", first, ErrorCode.NONE, None),
            (None, unknown, ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID."),
            ("second", second, ErrorCode.INVALID_REQUEST, both),
            (None, NO_TOPIC_ID, ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified."),
            ("third", third, ErrorCode.INVALID_REQUEST, supplied),
            ("fourth", NO_TOPIC_ID, ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
        ],
        key=repr,
    )
    assert list(stage.engine.topics) == ["second", "third"]
    assert delete(stage, topics=[(None, third), (None, third)]) == [
        (None, third, ErrorCode.INVALID_REQUEST, "Duplicate topic id.")
    ]


@pytest.mark.parametrize(
    ("version", "error"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)]
)
def test_delete_topics_may_be_disabled(version: int, error: ErrorCode) -> None:
    stage = Stage(BrokerConfig(node_id=1, delete_topic_enable=False))
    stage.topic("t")
    assert delete(stage, names=["t"], version=version) == [("t", NO_TOPIC_ID, error, None)]
    assert list(stage.engine.topics) == ["t"]


def test_t16_internal_topics_are_neither_deleted_nor_grown() -> None:
    stage = Stage()
    stage.topic(CONSUMER_OFFSETS)
    message = "Topic '__consumer_offsets' is internal: the coordinators rely on it as it is."
    assert delete(stage, names=[CONSUMER_OFFSETS], version=5) == [
        (CONSUMER_OFFSETS, NO_TOPIC_ID, ErrorCode.INVALID_TOPIC_EXCEPTION, message)
    ]
    assert grow(stage, (CONSUMER_OFFSETS, 9, None)) == [(ErrorCode.INVALID_TOPIC_EXCEPTION, message)]
    assert list(stage.engine.topics) == [CONSUMER_OFFSETS]


# --- CreatePartitions ---

Growth = tuple[str, int, list[list[int]] | None]


def grow(
    stage: Stage, *asked: Growth, version: int = 3, validate: bool = False
) -> list[tuple[int, str | None]]:
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=None
                if assignments is None
                else [CreatePartitionsAssignment(broker_ids=ids) for ids in assignments],
            )
            for name, count, assignments in asked
        ],
        timeout_ms=1000,
        validate_only=validate,
    )
    answer = stage.ask(request, CreatePartitionsResponse, version)
    return [(each.error_code, each.error_message) for each in answer.results]


GROWTH_REFUSED: list[tuple[Growth, ErrorCode, str | None]] = [
    (("t", 3, None), ErrorCode.INVALID_PARTITIONS, "Topic already has 3 partition(s)."),
    (
        ("t", 2, None),
        ErrorCode.INVALID_PARTITIONS,
        "The topic t currently has 3 partition(s); 2 would not be an increase.",
    ),
    (
        ("t", -1, None),
        ErrorCode.INVALID_PARTITIONS,
        "The topic t currently has 3 partition(s); -1 would not be an increase.",
    ),
    (("nope", 2, None), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None),
    (
        ("t", 5, [[1]]),
        BAD_ASSIGNMENT,
        "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
    ),
    (
        ("t", 4, [[7]]),
        BAD_ASSIGNMENT,
        "The manual partition assignment includes broker 7, but no such broker is registered.",
    ),
    (("t", 4, [[]]), BAD_ASSIGNMENT, "The manual partition assignment includes an empty replica list."),
]


@pytest.mark.parametrize(("asked", "error", "message"), GROWTH_REFUSED)
def test_spec_1_5_create_partitions_refuses(asked: Growth, error: ErrorCode, message: str | None) -> None:
    stage = Stage()
    stage.topic("t", 3)
    assert grow(stage, asked) == [(error, message)]
    assert len(stage.engine.topics["t"].partitions) == 3


@pytest.mark.parametrize("version", versions(CREATE_PARTITIONS))
def test_spec_1_5_create_partitions_in_every_version(version: int) -> None:
    stage = Stage()
    stage.topic("t", 3)
    assert grow(stage, ("t", 4, [[1]]), version=version, validate=True) == [(ErrorCode.NONE, None)]
    assert len(stage.engine.topics["t"].partitions) == 3
    assert grow(stage, ("t", 5, None), version=version) == [(ErrorCode.NONE, None)]
    assert len(stage.engine.topics["t"].partitions) == 5
    assert grow(stage, ("t", 6, None), ("t", 7, None), version=version) == [
        (ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    ]


# --- Metadata ---


def metadata(
    stage: Stage,
    names: Sequence[str | None] | None,
    version: int = 13,
    *,
    ids: Sequence[bytes] = (),
    auto_create: bool = False,
    operations: bool = False,
) -> MetadataResponse:
    topics = None
    if names is not None:
        topics = [MetadataRequestTopic(name=name) for name in names]
        topics += [MetadataRequestTopic(topic_id=each, name=None) for each in ids]
    request = MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=auto_create,
        include_topic_authorized_operations=operations,
        include_cluster_authorized_operations=operations and version <= 10,
    )
    return stage.ask(request, MetadataResponse, version)


@pytest.mark.parametrize("version", versions(METADATA))
def test_spec_1_4_metadata_in_every_version(version: int) -> None:
    stage = Stage(BrokerConfig(node_id=1, broker_rack="r"))
    topic = stage.topic("t", 2)
    stage.topic(CONSUMER_OFFSETS)
    asked = list[str]() if version == 0 else None
    whole = metadata(stage, asked, version)
    by_name = metadata(stage, ["t", "nope", "a b", "t"], version, auto_create=version < 4)
    for answer in (whole, by_name):
        node = answer.brokers[0]
        assert (node.node_id, node.host, node.port) == (1, "broker.example", 9092)
        assert node.rack == ("r" if version >= 1 else None)
        assert answer.cluster_id == ("a-cluster-of-one" if version >= 2 else None)
        found = answer.topics[0]
        assert (found.error_code, found.name, found.is_internal) == (ErrorCode.NONE, "t", False)
        assert found.topic_id == (topic.id if version >= 10 else NO_TOPIC_ID)
        assert [each.partition_index for each in found.partitions] == [0, 1]
        partition = found.partitions[1]
        assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (1, [1], [1])
        assert partition.leader_epoch == (3 if version >= 7 else -1)
    assert [(each.name, each.is_internal) for each in whole.topics] == [
        ("t", False),
        (CONSUMER_OFFSETS, version >= 1),
    ]
    assert [(each.name, each.error_code) for each in by_name.topics] == [
        ("t", ErrorCode.NONE),
        ("nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]


def test_spec_1_4_an_empty_list_is_no_topic() -> None:
    stage = Stage()
    stage.topic("t")
    assert metadata(stage, [], 1).topics == []
    assert len(metadata(stage, [], 0).topics) == 1


def test_spec_1_4_topics_by_id() -> None:
    stage = Stage()
    topic = stage.topic("t")
    unknown = b"\x07" * 16
    found = metadata(
        stage, ["nope"], 12, ids=[topic.id, unknown]
    ).topics  # names are not looked at beside ids
    assert [(each.error_code, each.name, each.topic_id) for each in found] == [
        (ErrorCode.UNKNOWN_TOPIC_ID, None, unknown),
        (ErrorCode.NONE, "t", topic.id),
    ]


@pytest.mark.parametrize(
    ("version", "names", "with_id", "error"),
    [
        (10, ["t"], True, ErrorCode.INVALID_REQUEST),
        (11, [None], False, ErrorCode.INVALID_REQUEST),
        (12, [None], False, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_spec_1_4_no_name_or_an_id_too_early_refuses_the_whole_request(
    version: int, names: list[str | None], with_id: bool, error: ErrorCode
) -> None:
    stage = Stage()
    topic = stage.topic("t")
    answer = metadata(stage, names, version, ids=[topic.id] if with_id else [])
    assert (answer.brokers, answer.cluster_id, answer.controller_id) == ([], None, -1)
    assert {each.error_code for each in answer.topics} == {error}
    assert answer.topics[0].name == (names[0] or "")


def test_spec_1_4_authorized_operations_only_when_asked_for() -> None:
    stage = Stage()
    stage.topic("t")
    for names in (None, ["t"]):
        answer = metadata(stage, names, 8, operations=True)
        assert answer.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
        assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS
        answer = metadata(stage, names, 8)
        assert answer.topics[0].topic_authorized_operations == NOT_ASKED
        assert answer.cluster_authorized_operations == NOT_ASKED


@pytest.mark.parametrize(
    ("enabled", "allowed", "name", "made"),
    [
        (True, True, "t", True),
        (True, False, "t", False),
        (False, True, "t", False),
        (True, True, "a b", False),
        (True, True, CONSUMER_OFFSETS, False),
        (True, True, "c_d", False),  # collides with c.d
    ],
)
def test_spec_1_4_auto_creation_answers_unknown_now_and_makes_the_topic(
    enabled: bool, allowed: bool, name: str, made: bool
) -> None:
    stage = Stage(BrokerConfig(node_id=1, auto_create_topics_enable=enabled, num_partitions=3))
    stage.topic("c.d")
    found = metadata(stage, [name, name], auto_create=allowed).topics
    illegal = name_complaint(name) is not None
    assert [each.error_code for each in found] == [
        ErrorCode.INVALID_TOPIC_EXCEPTION if illegal else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]
    assert (name in stage.engine.topics) == made
    if made:
        assert len(metadata(stage, [name]).topics[0].partitions) == 3


def test_metadata_about_all_topics_is_kept_until_a_topic_changes() -> None:
    stage = Stage()
    create(stage, new("a"))
    first = metadata(stage, None)
    assert [each.name for each in first.topics] == ["a"]
    assert len(stage.broker.topics.answers()) == 1
    assert metadata(stage, None) == first
    stage.topic(CONSUMER_OFFSETS)  # made by a coordinator, not by us
    assert [each.name for each in metadata(stage, None).topics] == ["a", CONSUMER_OFFSETS]
    grow(stage, ("a", 2, None))
    assert len(metadata(stage, None).topics[0].partitions) == 2
    create(stage, new("b"))
    delete(stage, names=["a"], version=5)
    assert [each.name for each in metadata(stage, None).topics] == [CONSUMER_OFFSETS, "b"]
    create(stage, new("a"))
    assert [each.name for each in metadata(stage, None, 5).topics] == [CONSUMER_OFFSETS, "b", "a"]


@pytest.mark.parametrize("version", versions(METADATA))
def test_metadata_of_pieces_is_byte_for_byte_the_answer_encoded_at_once(version: int) -> None:
    stage = Stage(BrokerConfig(node_id=1, broker_rack="r"))
    for number in range(200):  # more than one byte of varint counts
        stage.topic(f"t{number}", partitions=number % 3 + 1)
    for topics in ([] if version == 0 else None, [MetadataRequestTopic(name=f"t{at}") for at in range(150)]):
        request = MetadataRequest(
            topics=topics,
            include_topic_authorized_operations=version >= 8,
            include_cluster_authorized_operations=8 <= version <= 10,
        )
        for _ in range(2):  # the second time from what was kept
            context = Context(METADATA, version, "test", "127.0.0.1", 1, 1, version)
            answer = stage.run(handle_metadata(request, context, stage.broker)).encode(version)
            read = MetadataResponse.decode(answer, version)
            assert read.encode(version) == answer
            assert len(read.topics) == len(topics or range(200))


class TickingClock:
    """A millisecond passes at every look, as if all work took its time."""

    def __init__(self) -> None:
        self._now = 0

    def monotonic_ms(self) -> Millis:
        self._now += 1
        return Millis(self._now)

    wall_ms = monotonic_ms

    def monotonic_ns(self) -> int:
        return self._now * 1_000_000


def test_metadata_of_many_topics_leaves_turns_to_others() -> None:
    stage = Stage()
    for number in range(400):
        stage.topic(f"t{number:03}", partitions=2)
    stage.broker.clock = TickingClock()
    turns: list[int] = []
    done: list[bool] = []

    async def ask() -> None:
        found = await stage.answering(MetadataRequest(topics=None), 12)
        assert isinstance(found, MetadataResponse)
        assert len(found.topics) == 400
        done.append(True)

    async def others() -> None:
        while not done:
            turns.append(1)
            if len(turns) == 2:  # in the middle of it
                del cast(dict[str, Topic], stage.engine.topics)["t399"]
            await sleep(stage.loop, 0)

    stage.run_all([ask(), others()])
    assert len(turns) >= 3
    assert [each.name for each in metadata(stage, None, 12).topics] == [f"t{at:03}" for at in range(399)]
    assert "t399" not in stage.broker.topics.pieces((12, False))


def test_metadata_is_kept_for_a_few_versions_only() -> None:
    stage = Stage()
    stage.topic("t")
    for version in versions(METADATA):
        metadata(stage, ["t"], version)
    newest_first = [*reversed(versions(METADATA))]
    kept = [version for version in newest_first if stage.broker.topics.pieces((version, False))]
    assert kept == newest_first[:KINDS_LIMIT]


# --- DescribeTopicPartitions ---


def describe(
    stage: Stage, names: Sequence[str], *, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> tuple[list[tuple[str | None, int, list[int]]], tuple[str, int] | None]:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else RequestCursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    answer = stage.ask(request, DescribeTopicPartitionsResponse, 0)
    found = [
        (each.name, each.error_code, [partition.partition_index for partition in each.partitions])
        for each in answer.topics
    ]
    onwards = answer.next_cursor
    return found, None if onwards is None else (onwards.topic_name, onwards.partition_index)


def test_describe_topic_partitions_page_by_page() -> None:
    stage = Stage()
    stage.topic("b", 3)
    stage.topic("a", 1)
    assert describe(stage, []) == ([("a", 0, [0]), ("b", 0, [0, 1, 2])], None)
    assert describe(stage, [], limit=2) == ([("a", 0, [0]), ("b", 0, [0])], ("b", 1))
    assert describe(stage, [], limit=1) == ([("a", 0, [0])], ("b", 0))
    assert describe(stage, [], cursor=("b", 1)) == ([("b", 0, [1, 2])], None)
    assert describe(stage, ["b"], limit=0) == ([("b", 0, [0])], ("b", 1))
    assert describe(stage, ["b"], cursor=("b", 9)) == ([("b", 0, [])], None)
    assert describe(stage, ["b", "zz", "a b"]) == (
        [
            ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION, []),
            ("b", 0, [0, 1, 2]),
            ("zz", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []),
        ],
        None,
    )


@pytest.mark.parametrize("cursor", [("b", -1), ("aa", 0)])
def test_describe_topic_partitions_refuses_a_cursor_that_points_nowhere(cursor: tuple[str, int]) -> None:
    stage = Stage()
    stage.topic("b", 3)
    assert describe(stage, ["b"], cursor=cursor) == ([("b", ErrorCode.INVALID_REQUEST, [])], None)


# --- turns ---


def test_turns_are_taken_in_order_and_passed_on_by_the_cancelled() -> None:

    loop = VirtualLoop(random.Random(1))
    turns, order, hold = Turns(), list[str](), Future[None]()

    async def take(name: str, wait: Future[None] | None = None) -> None:
        async with turns:
            order.append(name)
            if wait is not None:
                await wait

    first = spawn(loop, take("first", hold))
    waiting = spawn(loop, take("cancelled while waiting"))
    second = spawn(loop, take("cancelled when it was its turn"))
    third = spawn(loop, take("third"))
    waiting.cancel()
    hold.set_result(None)
    assert loop.step()  # the first goes on, leaves, and hands over to the second, which has not run yet
    second.cancel()
    while loop.step():
        pass
    assert order == ["first", "third"]
    assert first.done()
    assert third.done()
    last = spawn(loop, take("last"))
    assert last.done()
