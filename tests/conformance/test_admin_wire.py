"""Topic administration, settings and look-ups over a socket: one table of words, the same from oncelog and Apache Kafka."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pytest

from oncelog.client.address import parse_address
from oncelog.client.session import Connection
from oncelog.config import BROKER_KEYS
from oncelog.errors import ErrorCode
from oncelog.model import NO_TOPIC_ID
from oncelog.protocol.messages import alter_configs as legacy
from oncelog.protocol.messages import incremental_alter_configs as incremental
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
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from oncelog.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from oncelog.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from oncelog.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from oncelog.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from oncelog.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from oncelog.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from oncelog.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from oncelog.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from oncelog.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.conformance import targets
from tests.toolchains import Missing, leave_out

TOPIC, BROKER = 2, 4
OWN, STATIC, DEFAULT = 1, 4, 5
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
WAIT_LIMIT_S: Final = 20.0
_numbers = itertools.count()


@pytest.fixture
def connection(bootstrap: str) -> Iterator[Connection]:
    with Connection(parse_address(bootstrap), client_id="admin-wire", timeout_ms=20_000) as found:
        yield found


def name(error: int) -> str:
    return ErrorCode(error).name


def fresh() -> str:
    return f"admin-{next(_numbers)}-{time.time_ns() % 1_000_000_000}"


def until(look: Callable[[], bool]) -> None:
    """Kafka's broker hears of a change a moment after its controller answered."""
    end = time.monotonic() + WAIT_LIMIT_S
    while not look():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


def create(
    connection: Connection,
    topic: str,
    partitions: int = 1,
    factor: int = 1,
    *,
    configs: Sequence[tuple[str, str | None]] = (),
    assignments: Sequence[tuple[int, list[int]]] = (),
    validate: bool = False,
) -> tuple[str, str | None]:
    new = CreatableTopic(
        name=topic,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs],
        assignments=[
            CreatableReplicaAssignment(partition_index=at, broker_ids=ids) for at, ids in assignments
        ],
    )
    request = CreateTopicsRequest(topics=[new], timeout_ms=10_000, validate_only=validate)
    found = connection.send(request, CreateTopicsResponse, 7).topics[0]
    if found.error_code == ErrorCode.NONE and not validate:
        until(lambda: metadata(connection, topic).error_code == ErrorCode.NONE)
    return name(found.error_code), found.error_message


def metadata(connection: Connection, topic: str) -> MetadataResponseTopic:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    return connection.send(request, MetadataResponse, 12).topics[0]


def node_of(connection: Connection) -> int:
    return connection.send(DescribeClusterRequest(), DescribeClusterResponse, 1).brokers[0].broker_id


def settings(connection: Connection, kind: int, owner: str, keys: list[str] | None) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=owner, configuration_keys=keys)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    return connection.send(request, DescribeConfigsResponse, 4).results[0]


def test_spec_1_5_create_topics_refuses_in_the_same_words(connection: Connection) -> None:
    there, dotted, new = fresh(), fresh() + ".x", fresh()
    me, other = node_of(connection), node_of(connection) + 7
    assert create(connection, there) == ("NONE", None)
    assert create(connection, dotted) == ("NONE", None)
    underscored = dotted.replace(".x", "_x")
    illegal = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    factor = "Replication factor must be larger than 0, or -1 to use the default value."
    count = "Number of partitions was set to an invalid non-positive value."
    by_hand = "A manual partition assignment was specified, but "
    among = "The manual partition assignment includes "
    no_broker = f"{among}broker {other}, but no such broker is registered."
    rows = [
        (
            create(connection, ""),
            "INVALID_TOPIC_EXCEPTION",
            "Topic name is invalid: the empty string is not allowed",
        ),
        (create(connection, "a b"), "INVALID_TOPIC_EXCEPTION", f"Topic name is invalid: 'a b' {illegal}"),
        (create(connection, there), "TOPIC_ALREADY_EXISTS", f"Topic '{there}' already exists."),
        (
            create(connection, underscored),
            "INVALID_TOPIC_EXCEPTION",
            f"Topic '{underscored}' collides with existing topic: {dotted}",
        ),
        (create(connection, new, 0), "INVALID_PARTITIONS", count),
        (create(connection, new, -2), "INVALID_PARTITIONS", count),
        (create(connection, new, 0, 0), "INVALID_REPLICATION_FACTOR", factor),
        (
            create(connection, new, 1, 2),
            "INVALID_REPLICATION_FACTOR",
            (
                "Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached because "
                "only 1 broker(s) are registered or some brokers have all their log directories cordoned."
            ),
        ),
        (
            create(connection, new, 1, -1, assignments=[(0, [me])]),
            "INVALID_REQUEST",
            by_hand + "numPartitions was not set to -1.",
        ),
        (
            create(connection, new, -1, 1, assignments=[(0, [me])]),
            "INVALID_REQUEST",
            by_hand + "replication factor was not set to -1.",
        ),
        (
            create(connection, new, -1, -1, assignments=[(0, [me]), (2, [me])]),
            "INVALID_REPLICA_ASSIGNMENT",
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            create(connection, new, -1, -1, assignments=[(0, [other])]),
            "INVALID_REPLICA_ASSIGNMENT",
            no_broker,
        ),
        (
            create(connection, new, -1, -1, assignments=[(0, [me, me])]),
            "INVALID_REPLICA_ASSIGNMENT",
            f"{among}the broker {me} more than once.",
        ),
        (
            create(connection, new, 0, configs=[("nope", "1")]),
            "INVALID_CONFIG",
            "Unknown topic config name: nope",
        ),
        (
            create(connection, new, configs=[("retention.ms", "x")]),
            "INVALID_CONFIG",
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (
            create(connection, new, configs=[("segment.ms", "0")]),
            "INVALID_CONFIG",
            "Invalid value 0 for configuration segment.ms: Value must be at least 1",
        ),
        (
            create(connection, new, configs=[("cleanup.policy", "delete,foo")]),
            "INVALID_CONFIG",
            "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        (
            create(connection, new, configs=[("a", None), ("b", None)]),
            "INVALID_CONFIG",
            "Null value not supported for topic configs: a,b",
        ),
        (
            create(connection, "__cluster_metadata"),
            "INVALID_REQUEST",
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
        (create(connection, new, -1, -1, validate=True), "NONE", None),
    ]
    assert [said for said, *_ in rows] == [tuple(wanted) for _, *wanted in rows]
    assert metadata(connection, new).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_spec_1_5_partitions_are_added_and_never_taken(connection: Connection) -> None:
    topic = fresh()
    create(connection, topic, 3)
    other = node_of(connection) + 7

    def grow(to: int, assignments: list[list[int]] | None = None, of: str = topic) -> tuple[str, str | None]:
        brokers = None
        if assignments is not None:
            brokers = [CreatePartitionsAssignment(broker_ids=each) for each in assignments]
        asked = CreatePartitionsTopic(name=of, count=to, assignments=brokers)
        request = CreatePartitionsRequest(topics=[asked], timeout_ms=10_000)
        found = connection.send(request, CreatePartitionsResponse, 3).results[0]
        return name(found.error_code), found.error_message

    assert grow(3) == ("INVALID_PARTITIONS", "Topic already has 3 partition(s).")
    assert grow(2) == (
        "INVALID_PARTITIONS",
        f"The topic {topic} currently has 3 partition(s); 2 would not be an increase.",
    )
    assert grow(5, [[other]]) == (
        "INVALID_REPLICA_ASSIGNMENT",
        "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
    )
    assert grow(4, [[other]]) == (
        "INVALID_REPLICA_ASSIGNMENT",
        f"The manual partition assignment includes broker {other}, but no such broker is registered.",
    )
    assert grow(4, of="nope") == ("UNKNOWN_TOPIC_OR_PARTITION", None)
    assert grow(4) == ("NONE", None)
    until(lambda: len(metadata(connection, topic).partitions) == 4)


def test_spec_1_5_a_topic_is_deleted_by_name_or_by_id(connection: Connection) -> None:
    first, second = fresh(), fresh()
    create(connection, first)
    create(connection, second)
    second_id = metadata(connection, second).topic_id
    unknown = b"\x07" * 16
    asked = [
        (first, NO_TOPIC_ID),
        (None, second_id),
        ("nope", NO_TOPIC_ID),
        (None, unknown),
        ("nope", unknown),
        (None, NO_TOPIC_ID),
    ]
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=each, topic_id=topic_id) for each, topic_id in asked], timeout_ms=10_000
    )
    answer = connection.send(request, DeleteTopicsResponse, 6)
    found = {(each.name, name(each.error_code), each.error_message) for each in answer.responses}
    assert found == {
        (first, "NONE", None),
        (second, "NONE", None),
        ("nope", "UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition."),
        (None, "UNKNOWN_TOPIC_ID", "This server does not host this topic ID."),
        ("nope", "INVALID_REQUEST", "You may not specify both topic name and topic id."),
        (None, "INVALID_REQUEST", "Neither topic name nor id were specified."),
    }
    for topic in (first, second):
        until(
            lambda topic=topic: metadata(connection, topic).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
    assert create(connection, first) == ("NONE", None)  # the name is free again


def test_spec_1_5_settings_are_changed_and_shown(connection: Connection) -> None:
    topic = fresh()
    create(connection, topic, configs=[("retention.ms", " 5000 ")])

    def alter(key: str, operation: int, value: str | None, of: str = topic) -> tuple[str, str | None]:
        change = incremental.AlterableConfig(name=key, config_operation=operation, value=value)
        resource = incremental.AlterConfigsResource(resource_type=TOPIC, resource_name=of, configs=[change])
        request = incremental.IncrementalAlterConfigsRequest(resources=[resource])
        found = connection.send(request, incremental.IncrementalAlterConfigsResponse, 1).responses[0]
        return name(found.error_code), found.error_message

    def shown(key: str) -> tuple[str | None, int, list[tuple[str, str | None, int]]]:
        found = settings(connection, TOPIC, topic, [key]).configs[0]
        return (
            found.value,
            found.config_source,
            [(each.name, each.value, each.source) for each in found.synonyms],
        )

    policy = [("log.cleanup.policy", "delete", DEFAULT)]
    assert shown("retention.ms") == ("5000", OWN, [("retention.ms", "5000", OWN)])
    assert shown("cleanup.policy") == ("delete", DEFAULT, policy)
    assert alter("cleanup.policy", APPEND, "compact") == ("NONE", None)
    until(lambda: shown("cleanup.policy")[0] == "delete,compact")
    assert shown("cleanup.policy")[2] == [("cleanup.policy", "delete,compact", OWN), *policy]
    assert alter("cleanup.policy", SUBTRACT, "delete") == ("NONE", None)
    until(lambda: shown("cleanup.policy")[0] == "compact")
    assert alter("retention.ms", DELETE, None) == ("NONE", None)
    until(lambda: shown("retention.ms") == ("604800000", DEFAULT, []))
    assert alter("retention.ms", SET, "x") == (
        "INVALID_CONFIG",
        "Invalid value x for configuration retention.ms: Not a number of type LONG",
    )
    assert alter("retention.ms", APPEND, "1") == (
        "INVALID_CONFIG",
        "Can't APPEND to key retention.ms because its type is not LIST.",
    )
    assert alter("nope", SET, "1") == ("INVALID_CONFIG", "Unknown topic config name: nope")
    assert alter("retention.ms", SET, None) == (
        "INVALID_REQUEST",
        "Null value not supported for : retention.ms",
    )
    missing = "UNKNOWN_TOPIC_OR_PARTITION", "The topic 'nope' does not exist."
    assert alter("retention.ms", SET, "1", of="nope") == missing
    resource = legacy.AlterConfigsResource(
        resource_type=TOPIC,
        resource_name=topic,
        configs=[legacy.AlterableConfig(name="segment.ms", value="6000")],
    )
    answer = connection.send(legacy.AlterConfigsRequest(resources=[resource]), legacy.AlterConfigsResponse, 2)
    assert answer.responses[0].error_code == ErrorCode.NONE
    until(lambda: shown("segment.ms")[0] == "6000")
    assert shown("cleanup.policy") == ("delete", DEFAULT, policy)  # replaced, not merged


@pytest.mark.parametrize("target", targets.chosen())
def test_spec_1_5_the_broker_gives_topics_their_defaults(target: str) -> None:
    given = {"num.partitions": "3", "log.retention.ms": "12345678", "log.roll.hours": "2"}
    try:
        with (
            targets.run(target, given) as bootstrap,
            Connection(parse_address(bootstrap), client_id="admin-wire", timeout_ms=20_000) as connection,
        ):
            topic = fresh()
            create(connection, topic, -1, -1)
            assert len(metadata(connection, topic).partitions) == 3
            found = settings(connection, TOPIC, topic, ["retention.ms", "segment.ms"])
            assert {each.name: (each.value, each.config_source) for each in found.configs} == {
                "retention.ms": ("12345678", STATIC),
                "segment.ms": ("7200000", DEFAULT),  # Kafka does not look behind log.roll.ms
            }
            own = str(node_of(connection))
            count = settings(connection, BROKER, own, ["num.partitions"]).configs[0]
            assert (count.value, count.config_source, count.read_only) == ("3", STATIC, True)
            assert [(each.value, each.source) for each in count.synonyms] == [("3", STATIC), ("1", DEFAULT)]
    except Missing as why:
        leave_out(f"comparison with {target}", why)


def test_spec_1_5_what_tools_look_up_of_a_broker(connection: Connection, bootstrap: str) -> None:
    own = str(node_of(connection))
    found = {each.name: each for each in settings(connection, BROKER, own, None).configs}
    for name, value, source in (
        ("advertised.listeners", f"PLAINTEXT://{bootstrap}", STATIC),
        ("broker.id", own, STATIC),
        ("node.id", own, None),  # our default is 0, Kafka's must be given
        ("broker.rack", None, DEFAULT),
        ("group.consumer.assignors", "uniform,range", DEFAULT),
    ):
        assert (found[name].value, found[name].read_only) == (value, True)
        assert source in (None, found[name].config_source)
    assert f"PLAINTEXT://{bootstrap}" in (found["listeners"].value or "").split(",")
    assert found["log.dirs"].config_source == STATIC
    shared = BROKER_KEYS.keys() & found.keys()
    assert len(shared) > 60
    wrong = {
        each: found[each].config_type for each in shared if found[each].config_type != BROKER_KEYS[each].type
    }
    assert wrong == {}


def test_spec_1_15_offsets_of_an_empty_partition(connection: Connection) -> None:
    topic = fresh()
    create(connection, topic)

    def look_up(
        timestamp: int, version: int, at: int = 0, leader_epoch: int = -1
    ) -> tuple[str, int, int, int]:
        asked = ListOffsetsPartition(
            partition_index=at, current_leader_epoch=leader_epoch, timestamp=timestamp
        )
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
        found = connection.send(request, ListOffsetsResponse, version).topics[0].partitions[0]
        return name(found.error_code), found.offset, found.timestamp, found.leader_epoch

    present, nothing = metadata(connection, topic).partitions[0].leader_epoch, ("NONE", -1, -1, -1)
    too_new = ("UNSUPPORTED_VERSION", -1, -1, -1)
    assert look_up(-1, 11) == look_up(-2, 11) == look_up(-4, 11) == ("NONE", 0, -1, present)
    assert look_up(-3, 11) == look_up(-5, 11) == look_up(-6, 11) == look_up(0, 11) == nothing
    rows = [(-3, 6), (-4, 7), (-5, 8), (-6, 10), (-7, 11)]
    assert [look_up(timestamp, version) for timestamp, version in rows] == [too_new] * 5
    assert look_up(-1, 11, at=9) == ("UNKNOWN_TOPIC_OR_PARTITION", -1, -1, -1)
    assert look_up(-99, 11, at=9) == too_new
    assert look_up(-1, 11, leader_epoch=present + 1) == ("UNKNOWN_LEADER_EPOCH", -1, -1, -1)

    def epoch_end(present: int, wanted: int) -> tuple[str, int, int]:
        asked = OffsetForLeaderPartition(partition=0, current_leader_epoch=present, leader_epoch=wanted)
        request = OffsetForLeaderEpochRequest(
            replica_id=-2, topics=[OffsetForLeaderTopic(topic=topic, partitions=[asked])]
        )
        found = connection.send(request, OffsetForLeaderEpochResponse, 4).topics[0].partitions[0]
        return name(found.error_code), found.leader_epoch, found.end_offset

    assert epoch_end(-1, present) == ("NONE", present, 0)
    assert epoch_end(-1, present + 5) == ("NONE", -1, -1)
    assert epoch_end(present + 1, present) == ("UNKNOWN_LEADER_EPOCH", -1, -1)


def test_spec_1_15_records_are_deleted_where_the_policy_lets_them(connection: Connection) -> None:
    plain, compacted = fresh(), fresh()
    create(connection, plain)
    create(connection, compacted, configs=[("cleanup.policy", "compact")])

    def delete(topic: str, offset: int, at: int = 0) -> tuple[str, int]:
        asked = DeleteRecordsPartition(partition_index=at, offset=offset)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=topic, partitions=[asked])], timeout_ms=5000
        )
        found = connection.send(request, DeleteRecordsResponse, 2).topics[0].partitions[0]
        return name(found.error_code), found.low_watermark

    assert delete(plain, -1) == delete(plain, 0) == ("NONE", 0)
    assert delete(plain, 1) == delete(plain, -2) == ("OFFSET_OUT_OF_RANGE", -1)
    assert delete(plain, 0, at=9) == ("UNKNOWN_TOPIC_OR_PARTITION", -1)
    assert delete(compacted, 0) == ("POLICY_VIOLATION", -1)


def test_spec_1_4_metadata_by_name_and_by_id(connection: Connection) -> None:
    topic = fresh()
    create(connection, topic, 2)
    found = metadata(connection, topic)
    me, unknown = node_of(connection), b"\x07" * 16
    assert [(each.leader_id, each.replica_nodes, each.isr_nodes) for each in found.partitions] == [
        (me, [me], [me])
    ] * 2

    def ask(version: int, *asked: tuple[str | None, bytes]) -> list[tuple[str, str | None]]:
        topics = [MetadataRequestTopic(name=each, topic_id=topic_id) for each, topic_id in asked]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        answer = connection.send(request, MetadataResponse, version)
        return [(name(each.error_code), each.name) for each in answer.topics]

    assert ask(12, (None, found.topic_id), (None, unknown)) == [("UNKNOWN_TOPIC_ID", None), ("NONE", topic)]
    assert ask(12, ("nope", found.topic_id)) == [("NONE", topic)]
    assert ask(10, (topic, found.topic_id)) == [("INVALID_REQUEST", topic)]
    assert ask(11, (None, NO_TOPIC_ID)) == [("INVALID_REQUEST", "")]
    assert ask(12, ("nope", NO_TOPIC_ID)) == [("UNKNOWN_TOPIC_OR_PARTITION", "nope")]
    assert ask(12, ("a b", NO_TOPIC_ID)) == [("INVALID_TOPIC_EXCEPTION", "a b")]
    assert ask(1) == []
    assert ("NONE", topic) in ask(0)


def test_spec_1_4_and_1_6_what_a_lone_broker_is_not(connection: Connection) -> None:
    other = connection.send(DescribeClusterRequest(endpoint_type=2), DescribeClusterResponse, 1)
    assert (name(other.error_code), other.error_message) == (
        "MISMATCHED_ENDPOINT_TYPE",
        "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
    )
    strange = connection.send(DescribeClusterRequest(endpoint_type=7), DescribeClusterResponse, 1)
    assert name(strange.error_code) == "UNSUPPORTED_ENDPOINT_TYPE"
    for kind, key, version in ((5, "g", 2), (2, "g", 3), (2, "g", 5), (2, "g", 6), (2, "g:x:0", 6)):
        request = FindCoordinatorRequest(
            key=key, key_type=kind, coordinator_keys=[key] if version >= 4 else []
        )
        answer = connection.send(request, FindCoordinatorResponse, version)
        found = answer.coordinators[0] if version >= 4 else answer
        assert (name(found.error_code), found.node_id, found.port) == ("INVALID_REQUEST", -1, -1)
    topic = fresh()
    create(connection, topic)
    asked = [TopicPartitions(topic=topic, partitions=[0, 9])]
    election = connection.send(ElectLeadersRequest(topic_partitions=asked), ElectLeadersResponse, 2)
    results = election.replica_election_results[0].partition_result
    assert [(name(each.error_code), each.error_message) for each in results] == [
        ("ELECTION_NOT_NEEDED", "Leader election not needed for topic partition."),
        ("UNKNOWN_TOPIC_OR_PARTITION", f"No such partition as {topic}-9"),
    ]
