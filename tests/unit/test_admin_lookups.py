"""ListOffsets, DeleteRecords, OffsetForLeaderEpoch, InitProducerId, FindCoordinator, and what a lone broker says to the rest."""

from collections.abc import Sequence

import pytest

from oncelog.config import BrokerConfig
from oncelog.engine.port import OffsetAt
from oncelog.errors import ErrorCode
from oncelog.model import CONSUMER_OFFSETS, Isolation
from oncelog.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from oncelog.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from oncelog.protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from oncelog.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from oncelog.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from oncelog.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from oncelog.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from oncelog.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from oncelog.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from oncelog.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from oncelog.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from oncelog.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from oncelog.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from oncelog.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from oncelog.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.unit.fakes import Stage, versions

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)

# --- ListOffsets ---


def look_up(
    stage: Stage,
    *asked: tuple[int, int, int],
    topic: str = "t",
    version: int = 11,
    isolation: int = 0,
    replica: int = -1,
) -> list[tuple[int, int, int, int, int]]:
    """asked: (partition, leader epoch, timestamp); found: (partition, error, offset, timestamp, leader epoch)."""
    request = ListOffsetsRequest(
        replica_id=replica,
        isolation_level=isolation,
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(
                        partition_index=at, current_leader_epoch=leader_epoch, timestamp=timestamp
                    )
                    for at, leader_epoch, timestamp in asked
                ],
            )
        ],
    )
    answer = stage.ask(request, ListOffsetsResponse, version)
    return [
        (each.partition_index, each.error_code, each.offset, each.timestamp, each.leader_epoch)
        for topic_found in answer.topics
        for each in topic_found.partitions
    ]


@pytest.mark.parametrize("version", versions(2))
def test_spec_1_15_special_times_and_the_version_that_knows_them(version: int) -> None:
    first = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}
    stage = Stage()
    stage.topic("t")
    leader_epoch = 3 if version >= 4 else -1
    for timestamp in range(-8, 1):
        stage.partition("t", 0).by_time[timestamp] = OffsetAt(7, 70, 3)
        if timestamp >= 0 or version >= first.get(timestamp, 99):
            expected = (0, ErrorCode.NONE, 7, 70, leader_epoch)
        else:
            expected = (0, ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)
        assert look_up(stage, (0, -1, timestamp), version=version) == [expected]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ((9, -1, -1), UNKNOWN),
        ((-1, -1, -1), UNKNOWN),
        ((9, -1, -99), ErrorCode.UNSUPPORTED_VERSION),  # before the partition is looked for
        ((0, 2, -1), ErrorCode.FENCED_LEADER_EPOCH),
        ((0, 4, -1), ErrorCode.UNKNOWN_LEADER_EPOCH),
        ((0, 4, -99), ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_spec_1_15_list_offsets_refuses(asked: tuple[int, int, int], error: ErrorCode) -> None:
    stage = Stage()
    stage.topic("t")
    assert look_up(stage, asked) == [(asked[0], error, -1, -1, -1)]


def test_spec_1_15_unknown_topic_and_unknown_isolation() -> None:
    stage = Stage()
    stage.topic("t")
    assert look_up(stage, (0, -1, -1), topic="nope") == [(0, UNKNOWN, -1, -1, -1)]
    assert look_up(stage, (0, -1, -1), isolation=7) == [(0, ErrorCode.UNKNOWN_SERVER_ERROR, -1, -1, -1)]


def test_spec_1_15_the_same_partition_twice_is_refused_once() -> None:
    stage = Stage()
    stage.topic("t", 2)
    stage.partition("t", 1).by_time[-1] = OffsetAt(4, -1, 3)
    found = look_up(stage, (0, -1, -1), (1, -1, -1), (0, -1, -2))
    assert found == [(0, ErrorCode.INVALID_REQUEST, -1, -1, -1), (1, ErrorCode.NONE, 4, -1, 3)]


def test_trap_31_the_isolation_level_reaches_the_log() -> None:
    stage = Stage()
    stage.topic("t")
    look_up(stage, (0, 3, -1), isolation=1)
    look_up(stage, (0, 3, 5), isolation=0)
    assert stage.partition("t", 0).asked == [(-1, Isolation.READ_COMMITTED), (5, Isolation.READ_UNCOMMITTED)]


def test_list_offsets_of_another_replica_reads_to_the_log_end_offset() -> None:
    stage = Stage()
    stage.topic("t")
    partition = stage.partition("t", 0)
    partition.log_end_offset = 12
    partition.by_time[-1] = OffsetAt(10, -1, 3)
    assert look_up(stage, (0, -1, -1), replica=-2) == [(0, ErrorCode.NONE, 12, -1, 3)]
    assert look_up(stage, (0, -1, -1)) == [(0, ErrorCode.NONE, 10, -1, 3)]


# --- DeleteRecords ---


@pytest.mark.parametrize("version", versions(21))
def test_spec_1_15_delete_records(version: int) -> None:
    stage = Stage()
    stage.topic("t", 6)
    stage.topic(CONSUMER_OFFSETS)
    stage.topic("compacted", configs={"cleanup.policy": "compact"})
    stage.topic("both", configs={"cleanup.policy": "compact,delete"})
    for index in range(6):
        stage.partition("t", index).high_watermark = 10
    asked = {
        "t": [(0, -1), (1, 4), (2, 10), (3, 11), (4, -2), (6, 0), (5, 1), (5, 2)],
        "nope": [(0, 0)],
        CONSUMER_OFFSETS: [(0, 0)],
        "compacted": [(0, 99)],
        "both": [(0, 0)],
    }
    request = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=name,
                partitions=[DeleteRecordsPartition(partition_index=at, offset=offset) for at, offset in each],
            )
            for name, each in asked.items()
        ],
        timeout_ms=1000,
    )
    answer = stage.ask(request, DeleteRecordsResponse, version)
    found = {
        topic.name: [(each.partition_index, each.error_code, each.low_watermark) for each in topic.partitions]
        for topic in answer.topics
    }
    assert found == {
        "t": [
            (0, ErrorCode.NONE, 10),
            (1, ErrorCode.NONE, 4),
            (2, ErrorCode.NONE, 10),
            (3, ErrorCode.OFFSET_OUT_OF_RANGE, -1),
            (4, ErrorCode.OFFSET_OUT_OF_RANGE, -1),
            (6, UNKNOWN, -1),
            (5, ErrorCode.NONE, 2),
        ],
        "nope": [(0, UNKNOWN, -1)],
        CONSUMER_OFFSETS: [(0, ErrorCode.INVALID_TOPIC_EXCEPTION, -1)],
        "compacted": [(0, ErrorCode.POLICY_VIOLATION, -1)],
        "both": [(0, ErrorCode.NONE, 0)],
    }


# --- OffsetForLeaderEpoch ---


@pytest.mark.parametrize("version", versions(23))
def test_spec_1_15_offset_for_leader_epoch(version: int) -> None:
    stage = Stage()
    stage.topic("t")
    stage.partition("t", 0).log_end_offset = 8
    asked = [(0, -1, 3), (0, -1, 9), (0, 3, 3), (0, 2, 3), (0, 4, 3), (5, -1, 3), (0, -1, -1)]
    request = OffsetForLeaderEpochRequest(
        replica_id=-2,
        topics=[
            OffsetForLeaderTopic(
                topic=name,
                partitions=[
                    OffsetForLeaderPartition(partition=at, current_leader_epoch=present, leader_epoch=wanted)
                    for at, present, wanted in asked
                ],
            )
            for name in ("t", "nope")
        ],
    )
    here, nowhere = stage.ask(request, OffsetForLeaderEpochResponse, version).topics
    assert [(each.error_code, each.leader_epoch, each.end_offset) for each in here.partitions] == [
        (ErrorCode.NONE, 3, 8),
        (ErrorCode.NONE, -1, -1),  # an epoch that we never had is no error
        (ErrorCode.NONE, 3, 8),
        (ErrorCode.FENCED_LEADER_EPOCH, -1, -1),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1),
        (UNKNOWN, -1, -1),
        (ErrorCode.NONE, -1, -1),
    ]
    assert {each.error_code for each in nowhere.partitions} == {UNKNOWN}


# --- InitProducerId ---

INIT = """
# transactional id  timeout  id  epoch  error
  -                 -5       -1  -1     NONE
  -                 0        77  3      NONE
  -                 60000    5   -1     INVALID_REQUEST
  -                 60000    -1  4      INVALID_REQUEST
  empty             60000    -1  -1     INVALID_REQUEST
  empty             0        -1  -1     INVALID_REQUEST
  tid               0        5   -1     INVALID_REQUEST
  tid               0        -1  -1     INVALID_TRANSACTION_TIMEOUT
  tid               -1       -1  -1     INVALID_TRANSACTION_TIMEOUT
  tid               900001   -1  -1     INVALID_TRANSACTION_TIMEOUT
"""


@pytest.mark.parametrize("line", [line for line in INIT.strip().splitlines() if "#" not in line])
def test_spec_1_7_v10_to_v13_checks_in_order(line: str) -> None:
    transactional_id, timeout, producer_id, producer_epoch, error = line.split()
    for version in versions(22):
        if version < 3 and producer_id + producer_epoch != "-1-1":
            continue  # the fields came with v3
        request = InitProducerIdRequest(
            transactional_id={"-": None, "empty": ""}.get(transactional_id, transactional_id),
            transaction_timeout_ms=int(timeout),
            producer_id=int(producer_id),
            producer_epoch=int(producer_epoch),
        )
        found = Stage().ask(request, InitProducerIdResponse, version)
        assert ErrorCode(found.error_code).name == error
        assert (found.producer_id, found.producer_epoch) == ((0, 0) if error == "NONE" else (-1, -1))


def test_spec_1_7_every_idempotent_producer_gets_an_id_of_its_own() -> None:
    stage = Stage()
    request = InitProducerIdRequest(transactional_id=None)
    found = [stage.ask(request, InitProducerIdResponse, 5).producer_id for _ in range(3)]
    assert found == [0, 1, 2]


# --- FindCoordinator ---


def find(stage: Stage, key: str, kind: int, version: int) -> tuple[int, int, str, int, str | None]:
    """(error, node, host, port, message) of one key, whatever the version's shape."""
    batched = version >= 4
    request = FindCoordinatorRequest(
        key="" if batched else key, key_type=kind, coordinator_keys=[key] if batched else []
    )
    answer = stage.ask(request, FindCoordinatorResponse, version)
    if not batched:
        return answer.error_code, answer.node_id, answer.host, answer.port, answer.error_message
    found = answer.coordinators[0]
    assert found.key == key
    return found.error_code, found.node_id, found.host, found.port, found.error_message


@pytest.mark.parametrize("version", versions(10))
def test_v5_a_missing_internal_topic_is_made_and_the_client_asks_again(version: int) -> None:
    stage = Stage(BrokerConfig(node_id=1, offsets_topic_num_partitions=2))
    message = None if version == 0 else "The coordinator is not available." if version < 4 else ""
    error, *node, text = find(stage, "g", 0, version)
    assert (error, node) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, [-1, "", -1])
    if version >= 1:
        assert text == message
    assert len(stage.engine.topics[CONSUMER_OFFSETS].partitions) == 2
    for key in ("g", ""):
        error, *node, text = find(stage, key, 0, version)
        assert (error, node) == (ErrorCode.NONE, [1, "broker.example", 9092])
        if version >= 1:
            assert text == ("NONE" if version < 4 else "")
    assert stage.faults == []


@pytest.mark.parametrize(
    ("key", "kind", "version", "error", "message"),
    [
        ("tid", 1, 2, ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not available."),
        ("tid", 1, 6, ErrorCode.COORDINATOR_NOT_AVAILABLE, ""),
        ("g", 5, 2, ErrorCode.INVALID_REQUEST, MALFORMED),
        ("g", 2, 3, ErrorCode.INVALID_REQUEST, MALFORMED),
        ("g:AAAAAAAAAAAAAAAAAAAAAQ:0", 2, 5, ErrorCode.INVALID_REQUEST, ""),
        ("g:AAAAAAAAAAAAAAAAAAAAAQ:0", 2, 6, ErrorCode.COORDINATOR_NOT_AVAILABLE, ""),
        ("g", 2, 6, ErrorCode.INVALID_REQUEST, ""),
        ("g::0", 2, 6, ErrorCode.INVALID_REQUEST, ""),
        ("g:x:0", 2, 6, ErrorCode.INVALID_REQUEST, ""),
        ("g", 7, 6, ErrorCode.INVALID_REQUEST, MALFORMED),
    ],
)
def test_spec_1_6_other_kinds_of_coordinators(
    key: str, kind: int, version: int, error: ErrorCode, message: str
) -> None:
    assert find(Stage(), key, kind, version) == (error, -1, "", -1, message)


def test_spec_1_6_no_keys_no_answers() -> None:
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=[])
    assert Stage().ask(request, FindCoordinatorResponse, 6).coordinators == []


# --- a lone broker, no authorizer, PLAINTEXT ---


@pytest.mark.parametrize("version", versions(60))
def test_spec_1_4_describe_cluster(version: int) -> None:
    stage = Stage()
    for asks, operations in ((False, -2147483648), (True, 8096)):
        request = DescribeClusterRequest(include_cluster_authorized_operations=asks)
        found = stage.ask(request, DescribeClusterResponse, version)
        assert (found.error_code, found.cluster_id, found.controller_id) == (
            ErrorCode.NONE,
            "a-cluster-of-one",
            1,
        )
        node = found.brokers[0]
        assert (node.broker_id, node.host, node.port, node.rack) == (1, "broker.example", 9092, None)
        assert found.cluster_authorized_operations == operations


@pytest.mark.parametrize(
    ("endpoint", "error", "message"),
    [
        (
            2,
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
        ),
        (7, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 7"),
    ],
)
def test_spec_1_4_describe_cluster_refuses_other_endpoints(
    endpoint: int, error: ErrorCode, message: str
) -> None:
    found = Stage().ask(DescribeClusterRequest(endpoint_type=endpoint), DescribeClusterResponse, 1)
    assert (found.error_code, found.error_message, found.brokers) == (error, message, [])


def log_dirs(stage: Stage, topics: Sequence[tuple[str, list[int]]] | None, version: int) -> object:
    asked = None
    if topics is not None:
        asked = [DescribableLogDirTopic(topic=name, partitions=indexes) for name, indexes in topics]
    answer = stage.ask(DescribeLogDirsRequest(topics=asked), DescribeLogDirsResponse, version)
    assert answer.error_code == ErrorCode.NONE
    directory = answer.results[0]
    assert (directory.log_dir, directory.total_bytes, directory.usable_bytes) == ("/data", -1, -1)
    return {
        topic.name: [(each.partition_index, each.partition_size) for each in topic.partitions]
        for topic in directory.topics
    }


@pytest.mark.parametrize("version", versions(35))
def test_describe_log_dirs_shows_what_is_here(version: int) -> None:
    stage = Stage(BrokerConfig(node_id=1, data_dir="/data"))
    stage.topic("t", 2)
    stage.topic("u")
    stage.partition("t", 1).size_bytes = 99
    assert log_dirs(stage, None, version) == {"t": [(0, 0), (1, 99)], "u": [(0, 0)]}
    assert log_dirs(stage, [("t", [1, 5]), ("nope", [0]), ("u", [])], version) == {"t": [(1, 99)]}
    assert log_dirs(stage, [], version) == {}


@pytest.mark.parametrize("version", versions(34))
def test_a_partition_stays_in_its_directory(version: int) -> None:
    stage = Stage(BrokerConfig(node_id=1, data_dir="/data"))
    stage.topic("t", 2)

    def move(path: str, topic: str, *indexes: int) -> AlterReplicaLogDir:
        return AlterReplicaLogDir(
            path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=list(indexes))]
        )

    moves = [move("/data", "t", 0, 1, 9), move("/other", "t", 1), move("/data", "nope", 0)]
    answer = stage.ask(AlterReplicaLogDirsRequest(dirs=moves), AlterReplicaLogDirsResponse, version)
    assert {
        topic.topic_name: [(each.partition_index, each.error_code) for each in topic.partitions]
        for topic in answer.results
    } == {
        "t": [(0, ErrorCode.NONE), (1, ErrorCode.LOG_DIR_NOT_FOUND), (9, UNKNOWN)],
        "nope": [(0, UNKNOWN)],
    }


@pytest.mark.parametrize("version", versions(29))
def test_spec_1_20_no_authorizer(version: int) -> None:
    stage = Stage()
    disabled = ErrorCode.SECURITY_DISABLED
    described = stage.ask(DescribeAclsRequest(), DescribeAclsResponse, version)
    assert (described.error_code, described.error_message) == (
        disabled,
        "No Authorizer is configured on the broker",
    )
    made = stage.ask(CreateAclsRequest(creations=[AclCreation(), AclCreation()]), CreateAclsResponse, version)
    assert [(each.error_code, each.error_message) for each in made.results] == [
        (disabled, "No Authorizer is configured.")
    ] * 2
    gone = stage.ask(DeleteAclsRequest(filters=[DeleteAclsFilter()]), DeleteAclsResponse, version)
    assert [(each.error_code, each.matching_acls) for each in gone.filter_results] == [(disabled, [])]


def test_v4_no_sasl_on_plaintext() -> None:
    stage = Stage()
    for version in versions(17):
        shaken = stage.ask(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse, version)
        assert (shaken.error_code, shaken.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    for version in versions(36):
        known = stage.ask(SaslAuthenticateRequest(auth_bytes=b"x"), SaslAuthenticateResponse, version)
        assert (known.error_code, known.error_message) == (
            ErrorCode.ILLEGAL_SASL_STATE,
            "SaslAuthenticate request received after successful authentication",
        )


# --- elections, reassignments, owners of settings ---


@pytest.mark.parametrize("version", versions(43))
def test_a_lone_broker_needs_no_election(version: int) -> None:
    stage = Stage()
    stage.topic("t")
    asked = [TopicPartitions(topic="t", partitions=[0, 9]), TopicPartitions(topic="nope", partitions=[0])]
    answer = stage.ask(ElectLeadersRequest(topic_partitions=asked), ElectLeadersResponse, version)
    assert [
        (result.topic, each.partition_id, each.error_code, each.error_message)
        for result in answer.replica_election_results
        for each in result.partition_result
    ] == [
        ("t", 0, ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."),
        ("t", 9, UNKNOWN, "No such partition as t-9"),
        ("nope", 0, UNKNOWN, "No such topic as nope"),
    ]
    every = stage.ask(ElectLeadersRequest(topic_partitions=None), ElectLeadersResponse, version)
    assert [(each.topic, each.partition_result) for each in every.replica_election_results] == [("t", [])]
    if version >= 1:
        request = ElectLeadersRequest(election_type=9, topic_partitions=asked[:1])
        strange = stage.ask(request, ElectLeadersResponse, version)
        first = strange.replica_election_results[0].partition_result[0]
        assert strange.error_code == first.error_code == ErrorCode.INVALID_REQUEST
        assert first.error_message == "Unknown election type 9"


@pytest.mark.parametrize("version", versions(45))
def test_a_partition_can_be_assigned_to_this_broker_alone(version: int) -> None:
    stage = Stage()
    stage.topic("t")
    bad = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    rows: list[tuple[str, int, list[int] | None, ErrorCode, str | None]] = [
        ("t", 0, None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None),
        ("t", 0, [1], ErrorCode.NONE, None),
        (
            "t",
            0,
            [1, 2],
            bad,
            "The manual partition assignment includes broker 2, but no such broker is registered.",
        ),
        ("t", 9, [1], UNKNOWN, "Unable to find partition t:9."),
        ("t", 0, [], bad, "The manual partition assignment includes an empty replica list."),
        ("nope", 0, [1], UNKNOWN, "Unable to find a topic named nope."),
    ]
    request = AlterPartitionReassignmentsRequest(
        topics=[
            ReassignableTopic(
                name=name, partitions=[ReassignablePartition(partition_index=index, replicas=replicas)]
            )
            for name, index, replicas, _, _ in rows
        ]
    )
    answer = stage.ask(request, AlterPartitionReassignmentsResponse, version)
    assert answer.error_code == ErrorCode.NONE
    assert [
        (topic.name, each.partition_index, each.error_code, each.error_message)
        for topic in answer.responses
        for each in topic.partitions
    ] == [(name, index, error, message) for name, index, _, error, message in rows]


def test_nothing_ever_moves() -> None:
    found = Stage().ask(ListPartitionReassignmentsRequest(), ListPartitionReassignmentsResponse, 0)
    assert (found.error_code, found.topics) == (ErrorCode.NONE, [])


@pytest.mark.parametrize(
    ("version", "kinds", "error", "found"),
    [
        (0, [], ErrorCode.NONE, []),
        (1, [], ErrorCode.NONE, [(8, "1"), (4, "1"), (2, "t")]),
        (1, [2], ErrorCode.NONE, [(2, "t")]),
        (1, [4, 16, 32], ErrorCode.NONE, [(4, "1")]),
        (1, [2, 3], ErrorCode.UNSUPPORTED_VERSION, []),
    ],
)
def test_who_has_settings(
    version: int, kinds: list[int], error: ErrorCode, found: list[tuple[int, str]]
) -> None:
    stage = Stage()
    stage.topic("t")
    answer = stage.ask(ListConfigResourcesRequest(resource_types=kinds), ListConfigResourcesResponse, version)
    assert answer.error_code == error
    assert [(each.resource_type, each.resource_name) for each in answer.config_resources] == found
