"""Topics, settings, groups and offsets of a cluster, as plain values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeVar

from oncelog.client.assignment import decode_assignment
from oncelog.client.cluster import Away, Backoff, Cluster, TopicView
from oncelog.client.faults import RETRIABLE, ClientFault, RefusedByBroker, TimedOut, Unreachable, demand
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode, MalformedMessage
from oncelog.model import Isolation, Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from oncelog.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from oncelog.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from oncelog.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from oncelog.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from oncelog.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from oncelog.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from oncelog.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from oncelog.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
)
from oncelog.protocol.messages.describe_producers import TopicRequest as DescribedTopic
from oncelog.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from oncelog.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from oncelog.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from oncelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from oncelog.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from oncelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from oncelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
BROKER_DEFAULT: Final = -1

LEADERLESS: Final = frozenset({ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER})

DESCRIBE_GROUPS: Final = 15
CONSUMER_GROUP_DESCRIBE: Final = 69

ResultT = TypeVar("ResultT")


class ConfigSource(IntEnum):
    """Where a setting comes from; the numbers are those of DescribeConfigs."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_BROKER_DEFAULT = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class _Resource(IntEnum):
    TOPIC = 2
    BROKER = 4


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool


@dataclass(frozen=True, slots=True)
class OffsetView:
    """An answer of ListOffsets: -1 where nothing fits."""

    offset: int
    timestamp: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class GroupListing:
    group: str
    protocol_type: str
    state: str
    type: str


@dataclass(frozen=True, slots=True)
class GroupMember:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    group: str
    state: str
    type: str  # "classic" or "consumer" (KIP-848)
    protocol: str
    coordinator: str
    members: tuple[GroupMember, ...]


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    offset: int
    leader_epoch: int
    metadata: str


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """What a producer has open in one partition, as its leader knows it."""

    producer: Producer
    start_offset: int
    coordinator_epoch: int  # of the producer's last marker there, -1 without one


class Admin:
    """Calls that change or describe a cluster. Each either does all that was asked or raises."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    # Topics

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = BROKER_DEFAULT,
        replication_factor: int = BROKER_DEFAULT,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        """Returns when the topic can be used: its partitions have leaders."""
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replication_factor,
            configs=[
                CreatableTopicConfig(name=each, value=value)
                for each, value in sorted((configs or {}).items())
            ],
        )
        whom = self.cluster.controller()
        request = CreateTopicsRequest(
            topics=[topic], timeout_ms=self.cluster.timeout_ms, validate_only=validate_only
        )
        for result in whom.send(request, CreateTopicsResponse).topics:
            demand(result.error_code, f"CreateTopics {name!r}", str(whom), result.error_message)
        if not validate_only:
            self.cluster.forget(name)
            self.cluster.topic(name, wait_ms=self.cluster.timeout_ms)

    def delete_topic(self, name: str) -> None:
        whom = self.cluster.controller()
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=self.cluster.timeout_ms)
        for result in whom.send(request, DeleteTopicsResponse).responses:
            demand(result.error_code, f"DeleteTopics {name!r}", str(whom), result.error_message)
        self.cluster.forget(name)

    def create_partitions(self, name: str, count: int) -> None:
        whom = self.cluster.controller()
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=self.cluster.timeout_ms)
        for result in whom.send(request, CreatePartitionsResponse).results:
            demand(
                result.error_code, f"CreatePartitions {name!r} to {count}", str(whom), result.error_message
            )
        self.cluster.forget(name)

    def list_topics(self, *, internal: bool = False) -> list[TopicView]:
        return [each for each in self.cluster.topics() if internal or not each.is_internal]

    def describe_topic(self, name: str) -> TopicView:
        self.cluster.forget(name)
        return self.cluster.topic(name)

    # Settings

    def topic_settings(self, name: str) -> list[Setting]:
        return self._settings(_Resource.TOPIC, name)

    def broker_settings(self, node_id: int) -> list[Setting]:
        return self._settings(_Resource.BROKER, str(node_id))

    def settings_of_some_broker(self) -> list[Setting]:
        """Of the first that answers: of what is the same for all."""
        fault: ClientFault = Unreachable("the cluster's metadata names no broker")
        for node_id in self.cluster.nodes():
            try:
                return self.broker_settings(node_id)
            except (Unreachable, TimedOut) as silence:
                fault = silence
        raise fault

    def _settings(self, kind: _Resource, name: str) -> list[Setting]:
        resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        whom = self.cluster.node(int(name)) if kind is _Resource.BROKER else self.cluster.any()
        answer = whom.send(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse)
        (result,) = answer.results
        demand(
            result.error_code,
            f"DescribeConfigs of {kind.name.lower()} {name!r}",
            str(whom),
            result.error_message,
        )
        return sorted(
            (
                Setting(each.name, each.value, _source(each.config_source), each.read_only, each.is_sensitive)
                for each in result.configs
            ),
            key=lambda setting: setting.name,
        )

    def values_of_topics(self, setting: str, names: Sequence[str]) -> dict[str, str]:
        """One setting of several topics, by topic, in one request; without those whose settings we may not see."""
        resources = [
            DescribeConfigsResource(
                resource_type=_Resource.TOPIC, resource_name=each, configuration_keys=[setting]
            )
            for each in names
        ]
        request = DescribeConfigsRequest(resources=resources)
        results = self.cluster.any().send(request, DescribeConfigsResponse).results
        return {
            result.resource_name: each.value
            for result in results
            for each in result.configs
            if result.error_code == ErrorCode.NONE and each.name == setting and each.value is not None
        }

    def set_topic_settings(self, name: str, values: Mapping[str, str | None]) -> None:
        """Sets each of these settings; None takes one back to its default. The others stay."""
        configs = [
            AlterableConfig(name=each, config_operation=0 if value is not None else 1, value=value)
            for each, value in sorted(values.items())
        ]
        resource = AlterConfigsResource(resource_type=_Resource.TOPIC, resource_name=name, configs=configs)
        whom = self.cluster.controller()
        answer = whom.send(
            IncrementalAlterConfigsRequest(resources=[resource]), IncrementalAlterConfigsResponse
        )
        for result in answer.responses:
            demand(
                result.error_code,
                f"IncrementalAlterConfigs of topic {name!r}",
                str(whom),
                result.error_message,
            )

    # Offsets of partitions

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        return [TopicPartition(topic, each.index) for each in self.cluster.topic(topic).partitions]

    def offsets_at(
        self,
        wanted: Mapping[TopicPartition, int],
        *,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
    ) -> dict[TopicPartition, OffsetView]:
        """For each partition the offset at a time, or at LATEST, EARLIEST or MAX_TIMESTAMP."""

        def ask(whom: Connection, some: Sequence[TopicPartition]) -> dict[TopicPartition, OffsetView]:
            found, refused = self.offsets_told(
                whom, {each: wanted[each] for each in some}, isolation=isolation
            )
            for partition, error in refused.items():
                demand(error, f"ListOffsets of {partition}", str(whom))
            return found

        return self._at_leaders(wanted, ask)

    def offsets_told(
        self,
        whom: Connection,
        wanted: Mapping[TopicPartition, int],
        *,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
    ) -> tuple[dict[TopicPartition, OffsetView], dict[TopicPartition, int]]:
        """The same of one broker, asked once: what it tells, and with which error it refuses the others."""
        topics = [
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(partition_index=each.partition, timestamp=wanted[each])
                    for each in mine
                ],
            )
            for topic, mine in _by_topic(wanted)
        ]
        request = ListOffsetsRequest(
            replica_id=-1, isolation_level=isolation, topics=topics, timeout_ms=self.cluster.timeout_ms
        )
        found: dict[TopicPartition, OffsetView] = {}
        refused: dict[TopicPartition, int] = {}
        for topic in whom.send(request, ListOffsetsResponse).topics:
            for each in topic.partitions:
                partition = TopicPartition(topic.name, each.partition_index)
                if each.error_code == ErrorCode.NONE:
                    found[partition] = OffsetView(each.offset, each.timestamp, each.leader_epoch)
                else:
                    refused[partition] = each.error_code
        return found, refused

    def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Raises the log start offsets (-1: up to the high watermark); returns the new ones."""

        def ask(whom: Connection, some: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
            topics = [
                DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        DeleteRecordsPartition(partition_index=each.partition, offset=before[each])
                        for each in mine
                    ],
                )
                for topic, mine in _by_topic(some)
            ]
            request = DeleteRecordsRequest(topics=topics, timeout_ms=self.cluster.timeout_ms)
            found: dict[TopicPartition, int] = {}
            for topic in whom.send(request, DeleteRecordsResponse).topics:
                for each in topic.partitions:
                    partition = TopicPartition(topic.name, each.partition_index)
                    demand(
                        each.error_code, f"DeleteRecords of {partition} before {before[partition]}", str(whom)
                    )
                    found[partition] = each.low_watermark
            return found

        return self._at_leaders(before, ask)

    # Transactions

    def open_transactions(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, tuple[OpenTransaction, ...]]:
        """What is open in each partition, as its leader knows it. Needs the right to read the topics."""

        def ask(
            whom: Connection, some: Sequence[TopicPartition]
        ) -> dict[TopicPartition, tuple[OpenTransaction, ...]]:
            request = DescribeProducersRequest(
                topics=[
                    DescribedTopic(name=topic, partition_indexes=[each.partition for each in mine])
                    for topic, mine in _by_topic(some)
                ]
            )
            found: dict[TopicPartition, tuple[OpenTransaction, ...]] = {}
            for topic in whom.send(request, DescribeProducersResponse).topics:
                for each in topic.partitions:
                    partition = TopicPartition(topic.name, each.partition_index)
                    demand(
                        each.error_code, f"DescribeProducers of {partition}", str(whom), each.error_message
                    )
                    found[partition] = tuple(
                        OpenTransaction(
                            Producer(ProducerId(one.producer_id), ProducerEpoch(one.producer_epoch)),
                            one.current_txn_start_offset,
                            one.coordinator_epoch,
                        )
                        for one in each.active_producers
                        if one.current_txn_start_offset >= 0
                    )
            return found

        return self._at_leaders(partitions, ask)

    def write_marker(
        self, partition: TopicPartition, producer: Producer, *, commit: bool, coordinator_epoch: int
    ) -> None:
        """A COMMIT or ABORT marker in one partition, as coordinators write them: WriteTxnMarkers, for administrators."""

        def ask(whom: Connection, _: Sequence[TopicPartition]) -> dict[TopicPartition, None]:
            topic = WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.partition])
            marker = WritableTxnMarker(
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                transaction_result=commit,
                topics=[topic],
                coordinator_epoch=coordinator_epoch,
            )
            answer = whom.send(WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse)
            for result in answer.markers:
                for written in result.topics:
                    for each in written.partitions:
                        demand(each.error_code, f"WriteTxnMarkers for {partition}", str(whom))
            return {partition: None}

        self._at_leaders([partition], ask)

    def _at_leaders(
        self,
        partitions: Iterable[TopicPartition],
        ask: Callable[[Connection, Sequence[TopicPartition]], dict[TopicPartition, ResultT]],
    ) -> dict[TopicPartition, ResultT]:
        """Asks each leader for its partitions; again with fresh metadata while a leader moves or is missing, and with the
        cluster's patience while it cannot be reached.
        """
        left = sorted(partitions)
        found: dict[TopicPartition, ResultT] = {}
        passing, patience = Backoff(self.cluster.timeout_ms), Backoff(self.cluster.patience_ms)
        while left:
            for some in self._by_leader(left, passing):
                try:
                    found |= ask(self.cluster.leader(some[0]), some)
                except (RefusedByBroker, Unreachable, TimedOut) as fault:
                    for each in some:
                        self.cluster.forget(each.topic)
                    if not _may_ask_again(fault, passing, patience):
                        raise
            left = [each for each in left if each not in found]
        return found

    def _by_leader(
        self, partitions: Sequence[TopicPartition], backoff: Backoff
    ) -> list[list[TopicPartition]]:
        """Waits while a partition has no leader, as after the death of a broker."""
        while True:
            try:
                leaders: dict[Connection, list[TopicPartition]] = {}
                for each in partitions:
                    leaders.setdefault(self.cluster.leader(each), []).append(each)
                return list(leaders.values())
            except RefusedByBroker as fault:
                for each in partitions:
                    self.cluster.forget(each.topic)
                if fault.error not in LEADERLESS or not backoff.wait():
                    raise

    # Groups

    def list_groups(self) -> list[GroupListing]:
        """The groups of all brokers, by name."""
        found, away = self.groups_told()
        if away:
            raise Unreachable("; ".join(str(each) for each in away))
        return found

    def groups_told(self) -> tuple[list[GroupListing], tuple[Away, ...]]:
        """Those of the brokers that answer, by name, and which do not."""

        def ask(whom: Connection) -> list[GroupListing]:
            answer = whom.send(ListGroupsRequest(), ListGroupsResponse)
            backoff = Backoff(self.cluster.timeout_ms)
            while answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and backoff.wait():
                answer = whom.send(ListGroupsRequest(), ListGroupsResponse)
            demand(answer.error_code, "ListGroups", str(whom))
            return [
                GroupListing(g.group_id, g.protocol_type, g.group_state, g.group_type) for g in answer.groups
            ]

        found, away = self.cluster.ask_each(ask)
        return sorted((each for told in found.values() for each in told), key=lambda each: each.group), away

    def describe_group(self, group: str) -> GroupView:
        """RefusedByBroker with GROUP_ID_NOT_FOUND if there is none, whatever the broker's version says to that."""

        def ask(whom: Connection) -> GroupView:
            if CONSUMER_GROUP_DESCRIBE in whom.offered():
                view = self._describe_consumer_group(whom, group)
                if view is not None:
                    return view
            return self._describe_classic_group(whom, group)

        return self.cluster.with_coordinator(group, ask)

    def _describe_consumer_group(self, whom: Connection, group: str) -> GroupView | None:
        """None if the group is not of the new kind, or the broker does not have the new kind switched on."""
        answer = whom.send(ConsumerGroupDescribeRequest(group_ids=[group]), ConsumerGroupDescribeResponse)
        (found,) = answer.groups
        if found.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
            return None
        demand(found.error_code, f"ConsumerGroupDescribe of {group!r}", str(whom), found.error_message)
        members = tuple(
            GroupMember(
                each.member_id,
                each.instance_id,
                each.client_id,
                each.client_host,
                tuple(
                    TopicPartition(t.topic_name, p)
                    for t in each.assignment.topic_partitions
                    for p in t.partitions
                ),
            )
            for each in found.members
        )
        return GroupView(
            group, found.group_state, "consumer", found.assignor_name, str(whom.address), members
        )

    def _describe_classic_group(self, whom: Connection, group: str) -> GroupView:
        asked = f"DescribeGroups of {group!r}"
        (found,) = whom.send(DescribeGroupsRequest(groups=[group]), DescribeGroupsResponse).groups
        demand(found.error_code, asked, str(whom), found.error_message)
        if found.group_state == "Dead":  # what versions before 6 say of a group that does not exist
            raise RefusedByBroker(ErrorCode.GROUP_ID_NOT_FOUND, asked, str(whom))
        members = tuple(
            GroupMember(
                each.member_id,
                each.group_instance_id,
                each.client_id,
                each.client_host,
                _assignment(each.member_assignment) if found.protocol_type == "consumer" else (),
            )
            for each in found.members
        )
        return GroupView(group, found.group_state, "classic", found.protocol_data, str(whom.address), members)

    def delete_group(self, group: str) -> None:
        def ask(whom: Connection) -> None:
            (result,) = whom.send(DeleteGroupsRequest(groups_names=[group]), DeleteGroupsResponse).results
            demand(result.error_code, f"DeleteGroups {group!r}", str(whom))

        self.cluster.with_coordinator(group, ask)

    # Offsets of groups

    def group_offsets(
        self,
        group: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
    ) -> dict[TopicPartition, CommittedOffset]:
        """What the group has committed, for all or for these partitions; those without an offset are left out."""
        topics = (
            None
            if partitions is None
            else [
                OffsetFetchRequestTopics(name=topic, partition_indexes=[each.partition for each in mine])
                for topic, mine in _by_topic(partitions)
            ]
        )

        def ask(whom: Connection) -> dict[TopicPartition, CommittedOffset]:
            asked = f"OffsetFetch of {group!r}"
            request = OffsetFetchRequest(
                groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)], require_stable=require_stable
            )
            version = whom.version_of(9)
            if version < 8:
                raise RefusedByBroker(
                    ErrorCode.UNSUPPORTED_VERSION, asked, str(whom), "OffsetFetch v8 is needed"
                )
            (found,) = whom.send(request, OffsetFetchResponse, version).groups
            demand(found.error_code, asked, str(whom))
            offsets: dict[TopicPartition, CommittedOffset] = {}
            for topic in found.topics:
                for each in topic.partitions:
                    partition = TopicPartition(topic.name, each.partition_index)
                    demand(each.error_code, f"{asked}, {partition}", str(whom))
                    if each.committed_offset >= 0:
                        offsets[partition] = CommittedOffset(
                            each.committed_offset, each.committed_leader_epoch, each.metadata or ""
                        )
            return offsets

        return self.cluster.with_coordinator(group, ask)

    def commit_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        *,
        generation: int = -1,
        member_id: str = "",
        metadata: str = "",
    ) -> None:
        """Without a generation the group must be empty: this is how its position is set from outside."""
        topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=each.partition,
                        committed_offset=offsets[each],
                        committed_metadata=metadata,
                    )
                    for each in mine
                ],
            )
            for topic, mine in _by_topic(offsets)
        ]

        def ask(whom: Connection) -> None:
            request = OffsetCommitRequest(
                group_id=group, generation_id_or_member_epoch=generation, member_id=member_id, topics=topics
            )
            for topic in whom.send(request, OffsetCommitResponse).topics:
                for each in topic.partitions:
                    partition = TopicPartition(topic.name, each.partition_index)
                    demand(each.error_code, f"OffsetCommit of {group!r}, {partition}", str(whom))

        self.cluster.with_coordinator(group, ask)

    def delete_offsets(self, group: str, partitions: Iterable[TopicPartition]) -> None:
        topics = [
            OffsetDeleteRequestTopic(
                name=topic,
                partitions=[OffsetDeleteRequestPartition(partition_index=each.partition) for each in mine],
            )
            for topic, mine in _by_topic(partitions)
        ]

        def ask(whom: Connection) -> None:
            asked = f"OffsetDelete of {group!r}"
            answer = whom.send(OffsetDeleteRequest(group_id=group, topics=topics), OffsetDeleteResponse)
            demand(answer.error_code, asked, str(whom))
            for topic in answer.topics:
                for each in topic.partitions:
                    demand(each.error_code, f"{asked}, {topic.name}-{each.partition_index}", str(whom))

        self.cluster.with_coordinator(group, ask)


def _may_ask_again(fault: ClientFault, passing: Backoff, patience: Backoff) -> bool:
    """Waits a little; False if the fault is final or the time is up."""
    if isinstance(fault, RefusedByBroker):
        return fault.error in RETRIABLE and passing.wait()
    return patience.wait()


def _by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[TopicPartition]]]:
    topics: dict[str, list[TopicPartition]] = {}
    for each in sorted(partitions):
        topics.setdefault(each.topic, []).append(each)
    return list(topics.items())


def _source(number: int) -> ConfigSource:
    try:
        return ConfigSource(number)
    except ValueError:
        return ConfigSource.UNKNOWN


def _assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """Members of a group write these bytes themselves: what cannot be read is shown as nothing."""
    try:
        return tuple(decode_assignment(data))
    except MalformedMessage:
        return ()
