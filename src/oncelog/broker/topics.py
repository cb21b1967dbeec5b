"""Which topics may be made, grown, changed and removed: the rules of topic administration, and one change at a time.

Checks and wording are those of Kafka's controller (spec 1.5). Every change of a topic goes through here, so that what was
checked still holds when the engine is asked.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from oncelog.config import BrokerConfig, TopicConfig, read_topic_config
from oncelog.engine.port import Engine, Topic
from oncelog.errors import BadConfig, ErrorCode
from oncelog.model import INTERNAL_TOPICS
from oncelog.tasks import Turns

NAME_LIMIT_CHARS: Final = 249
LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")
CLUSTER_METADATA: Final = "__cluster_metadata"
DEFAULT: Final = -1  # in a request: the broker decides
KINDS_LIMIT: Final = 8  # of kept Metadata: clients of one site speak few versions
UNNAMED: Final = "data"  # the directory of an engine that has none


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something was not done: the error of the answer and its text, where the API carries one."""

    error: ErrorCode
    message: str | None = None


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic as a client asks for it. `assignments`: partition -> brokers, in the order of the request."""

    name: str
    partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Sequence[tuple[str, str | None]] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """A topic that passed every check."""

    partitions: int
    configs: Mapping[str, str]
    effective: TopicConfig


def name_complaint(name: str) -> str | None:
    """What is wrong with a topic name, in Kafka's words; None if it is legal."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > NAME_LIMIT_CHARS:
        return f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {NAME_LIMIT_CHARS}"
    if not LEGAL_NAME.fullmatch(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than "
            "ASCII alphanumerics, '.', '_' and '-'"
        )
    return None


def missing(name: str) -> ErrorCode:
    """The error for a name that no topic has."""
    return (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if name_complaint(name) is None
        else ErrorCode.INVALID_TOPIC_EXCEPTION
    )


def assignment_refusal(brokers: Sequence[int], node_id: int) -> Refusal | None:
    """What is wrong with one manually assigned replica list: this broker alone can be in it."""
    if not brokers:
        return Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes an empty replica list.",
        )
    for at, broker in enumerate(sorted(brokers)):
        if broker != node_id:
            return Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes broker {broker}, but no such broker is registered.",
            )
        if at > 0:
            return Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes the broker {broker} more than once.",
            )
    return None


class Topics:
    """The topics of one broker. `turns` is held around check and change; who only looks needs no turn."""

    def __init__(self, engine: Engine, config: BrokerConfig) -> None:
        self._engine = engine
        self._config = config
        self.turns = Turns()
        self._changes = 0
        self._answers_of: tuple[int, int] | None = None
        self._answers: dict[tuple[int, bool, bool], bytes] = {}
        self._pieces: dict[tuple[int, bool], dict[str, tuple[Topic, bytes]]] = {}
        self._unified: dict[
            str, list[str]
        ] = {}  # name with "." as "_" -> the topics that look so in metric names
        self._partitions = 0
        self._counted_of: tuple[int, int] | None = None

    # Looking

    @property
    def directory(self) -> str:
        """The one log directory, by the name that clients see."""
        return self._config.data_dir or UNNAMED

    def config_of(self, topic: Topic) -> TopicConfig:
        """What holds for a topic: its own settings above the broker's."""
        return read_topic_config(topic.configs, self._config.topic_defaults)

    @property
    def stamp(self) -> tuple[int, int]:
        """Another one after any change of what Metadata says."""
        # The number of topics too: a coordinator makes its own topic without asking us.
        return self._changes, len(self._engine.topics)

    def answers(self) -> dict[tuple[int, bool, bool], bytes]:
        """Encoded Metadata answers about all topics, by version and what was asked for; emptied by any change."""
        if self._answers_of != self.stamp:
            self._answers_of = self.stamp
            self._answers.clear()
        return self._answers

    def pieces(self, kind: tuple[int, bool]) -> dict[str, tuple[Topic, bytes]]:
        """What Metadata says of single topics, by version and whether operations are told. A piece holds as long as
        the engine gives out the same Topic. Of many kinds those longest unused are forgotten."""
        found = self._pieces.pop(kind, None)
        if found is None:
            if len(self._pieces) >= KINDS_LIMIT:
                del self._pieces[next(iter(self._pieces))]
            found = {}
        self._pieces[kind] = found
        return found

    def check_new(self, new: NewTopic) -> Planned | Refusal:
        """Every check of CreateTopics for one topic, in Kafka's order (spec 1.5). Changes nothing."""
        if new.name in self._engine.topics:
            return Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{new.name}' already exists.")
        if new.name in INTERNAL_TOPICS or new.name == CLUSTER_METADATA:
            return Refusal(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {new.name} is prohibited.")
        complaint = name_complaint(new.name) or self._collision(new.name)
        if complaint is not None:
            return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, complaint)
        nulls = [name for name, value in new.configs if value is None]
        if nulls:
            return Refusal(
                ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}"
            )
        configs = {name: value for name, value in new.configs if value is not None}
        try:
            effective = read_topic_config(configs, self._config.topic_defaults)
        except BadConfig as fault:
            return Refusal(ErrorCode.INVALID_CONFIG, str(fault))
        partitions = self._partition_count(new)
        if isinstance(partitions, Refusal):
            return partitions
        return self._room_for(partitions) or Planned(partitions, configs, effective)

    def check_growth(
        self, name: str, count: int, assignments: Sequence[Sequence[int]] | None
    ) -> Refusal | None:
        """Every check of CreatePartitions for one topic (spec 1.5)."""
        topic = self._engine.topics.get(name)
        if topic is None:
            return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if name in INTERNAL_TOPICS:
            return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, _KEPT.format(name))
        present = len(topic.partitions)
        if count == present:
            return Refusal(ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
        if count < present:
            return Refusal(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {name} currently has {present} partition(s); {count} would not be an increase.",
            )
        if assignments is not None and len(assignments) != count - present:
            return Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {count - present} additional partition(s), "
                f"but only {len(assignments)} assignment(s) were specified.",
            )
        for brokers in assignments or ():
            refusal = assignment_refusal(brokers, self._config.node_id)
            if refusal is not None:
                return refusal
        return self._room_for(count - present)

    def check_removal(self, name: str) -> Refusal | None:
        if name in INTERNAL_TOPICS:
            return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, _KEPT.format(name))
        return None

    def _partition_count(self, new: NewTopic) -> int | Refusal:
        """How many partitions the topic gets, from counts or from a manual assignment."""
        if new.assignments:
            return self._assigned_count(new)
        if new.replication_factor < DEFAULT or new.replication_factor == 0:
            return Refusal(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if new.partitions < DEFAULT or new.partitions == 0:
            return Refusal(
                ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
            )
        if new.replication_factor > 1:
            wanted = new.replication_factor
            return Refusal(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {wanted} time(s): The target replication factor of {wanted} "
                "cannot be reached because only 1 broker(s) are registered or some brokers have all their log "
                "directories cordoned.",
            )
        return self._config.num_partitions if new.partitions == DEFAULT else new.partitions

    def _assigned_count(self, new: NewTopic) -> int | Refusal:
        for field, value in (
            ("replication factor", new.replication_factor),
            ("numPartitions", new.partitions),
        ):
            if value != DEFAULT:
                return Refusal(
                    ErrorCode.INVALID_REQUEST,
                    f"A manual partition assignment was specified, but {field} was not set to -1.",
                )
        seen: set[int] = set()
        for index, brokers in new.assignments:
            if index in seen:
                return Refusal(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Found multiple manual partition assignments for partition {index}",
                )
            refusal = assignment_refusal(brokers, self._config.node_id)
            if refusal is not None:
                return refusal
            seen.add(index)
        if seen != set(range(len(seen))):
            return Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "partitions should be a consecutive 0-based integer sequence",
            )
        return len(seen)

    def _room_for(self, more: int) -> Refusal | None:
        self._count()
        if self._partitions + more <= self._config.max_partitions:
            return None
        return Refusal(
            ErrorCode.POLICY_VIOLATION,
            f"{more} more partitions wanted: there are {self._partitions}, max.partitions={self._config.max_partitions}.",
        )

    def _collision(self, name: str) -> str | None:
        """Names that differ only in `.` and `_` would be one name in metrics: Kafka refuses the second."""
        if "." not in name and "_" not in name:
            return None
        self._count()
        others = self._unified.get(name.replace(".", "_"))
        return f"Topic '{name}' collides with existing topic: {others[0]}" if others else None

    def _count(self) -> None:
        """Brings the two indexes over all topics up to date, if topics changed since the last look."""
        if self._counted_of == self.stamp:
            return
        self._counted_of = self.stamp
        self._partitions = 0
        self._unified.clear()
        for topic in self._engine.topics.values():
            self._note(topic.name, len(topic.partitions))

    def _note(self, name: str, partitions: int) -> None:
        self._partitions += partitions
        if "." in name or "_" in name:
            self._unified.setdefault(name.replace(".", "_"), []).append(name)

    # Changing: only inside `turns`, after a check that passed in the same turn

    async def create(self, name: str, planned: Planned) -> Topic:
        self._count()
        topic = await self._engine.create_topic(name, planned.partitions, planned.configs)
        self._changes += 1
        self._note(name, planned.partitions)  # 10,000 topics made one by one are not counted 10,000 times
        self._counted_of = self.stamp
        return topic

    async def grow(self, name: str, count: int) -> None:
        await self._engine.create_partitions(name, count)
        self._changes += 1

    async def remove(self, name: str) -> None:
        await self._engine.delete_topic(name)
        self._changes += 1
        for pieces in self._pieces.values():
            pieces.pop(name, None)

    async def set_configs(self, name: str, configs: Mapping[str, str]) -> None:
        await self._engine.set_topic_configs(name, configs)

    async def create_automatically(self, name: str) -> bool:
        """Makes a topic that a client named, with the broker's defaults; tells whether there is one now."""
        async with self.turns:
            if name in self._engine.topics:
                return True
            planned = self.check_new(NewTopic(name))
            if isinstance(planned, Refusal):
                return False
            await self.create(name, planned)
            return True


_KEPT: Final = "Topic '{}' is internal: the coordinators rely on it as it is."
