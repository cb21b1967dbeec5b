"""The options of the Spark source, checked: names and meanings of Spark's own Kafka connector. Pure.

A query moves over by its format's name alone. Offsets are written in Spark's format too, {"topic": {"0": 123}}: the next offset
to read, by topic and partition.
"""

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, TypeVar, cast

from oncelog.client.address import parse_bootstrap
from oncelog.client.security import Security
from oncelog.errors import OncelogError
from oncelog.model import Isolation, TopicPartition

Offsets = Mapping[TopicPartition, int]
"""The next offset of each partition."""

LATEST: Final = -1  # in Spark's JSON of offsets, and in ListOffsets
EARLIEST: Final = -2
LARGEST: Final = (1 << 63) - 1

CLIENT_ID: Final = "oncelog-spark-source"  # what brokers see, unless kafka.client.id says otherwise

ResultT = TypeVar("ResultT")


class BadOption(OncelogError, ValueError):
    """An option of the source that cannot be meant like this; the text names it."""


# ---- options ----------------------------------------------------------------------------------------------------------


class Kind(Enum):
    """What the options are for; EITHER while Spark has not said yet (it asks for the schema first)."""

    BATCH = "batch"
    STREAM = "streaming"
    EITHER = "either"


class At(Enum):
    """A place in every partition."""

    EARLIEST = "earliest"
    LATEST = "latest"
    COMMITTED = "committed"


@dataclass(frozen=True, slots=True)
class AtOffsets:
    """An offset in each partition, or LATEST or EARLIEST."""

    offsets: Offsets


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record of each partition that is not older than this."""

    millis: int


@dataclass(frozen=True, slots=True)
class AtTimes:
    """The same with a time for each partition."""

    millis: Offsets


Boundary = At | AtOffsets | AtTime | AtTimes


@dataclass(frozen=True, slots=True)
class Subscription:
    """Which partitions: those of some topics, of topics whose name fits, or some partitions. Exactly one is set."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] = ()

    def __str__(self) -> str:
        if self.pattern is not None:
            return f"subscribePattern {self.pattern!r}"
        if self.assigned:
            return f"assign {', '.join(map(str, self.assigned))}"
        return f"subscribe {', '.join(self.topics)}"

    def wants(self, topic: str) -> bool:
        """Whether a topic of this name belongs to it; a pattern has to fit the whole name."""
        if self.pattern is not None:
            return re.fullmatch(self.pattern, topic) is not None
        return topic in self.names()

    def names(self) -> tuple[str, ...]:
        """The topics that are named; none for a pattern."""
        return self.topics or tuple(sorted({each.topic for each in self.assigned}))


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of one read, checked."""

    bootstrap: str
    subscription: Subscription
    start: Boundary
    end: Boundary = At.LATEST
    no_such_time_is_latest: bool = False
    group: str | None = None
    isolation: Isolation = Isolation.READ_COMMITTED
    fail_on_data_loss: bool = True
    include_headers: bool = False
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_ms: int = 900_000
    poll_timeout_ms: int = 120_000
    retries: int = 3
    retry_interval_ms: int = 1_000
    fetch_max_bytes: int = 4_194_304  # more does not fit into caches, less costs a round trip more often
    fetch_max_wait_ms: int = 500
    metadata_max_age_ms: int = 1_000
    kafka: Mapping[str, str] = field(
        default_factory=dict[str, str], repr=False
    )  # passwords may be among them


SUBSCRIPTIONS: Final = ("subscribe", "subscribePattern", "assign")
STARTS: Final = (
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsets",
)  # the first one given counts
ENDS: Final = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
STREAM_ONLY: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")

OWN_OPTIONS: Final = (
    *SUBSCRIPTIONS,
    *STARTS,
    *ENDS,
    *STREAM_ONLY,
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "group",
    "groupIdPrefix",  # Spark's connector makes consumer groups; we need none, so there is nothing to prefix
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
)

KAFKA_REFUSED: Final = {
    "auto.offset.reset": "set startingOffsets instead",
    "enable.auto.commit": "Spark keeps the offsets in the query's checkpoint",
    "key.deserializer": "keys are binary columns; decode them in the query",
    "value.deserializer": "values are binary columns; decode them in the query",
    "key.serializer": "it is an option of producers",
    "value.serializer": "it is an option of producers",
    "interceptor.classes": "Java classes cannot be loaded here",
    "sasl.login.callback.handler.class": "Java classes cannot be loaded here",
    "sasl.client.callback.handler.class": "Java classes cannot be loaded here",
    "sasl.login.class": "Java classes cannot be loaded here",
    "ssl.engine.factory.class": "Java classes cannot be loaded here",
}
KAFKA_USED: Final = frozenset(
    """bootstrap.servers client.id group.id isolation.level request.timeout.ms metadata.max.age.ms fetch.max.bytes
    max.partition.fetch.bytes fetch.max.wait.ms""".split()
)
# Settings of a Java consumer's inside that have no counterpart here: taken without a word, as they change no result.
KAFKA_WITHOUT_EFFECT: Final = frozenset(
    """allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter check.crcs client.dns.lookup client.rack
    connections.max.idle.ms default.api.timeout.ms enable.metrics.push exclude.internal.topics fetch.min.bytes group.instance.id
    group.protocol group.remote.assignor heartbeat.interval.ms max.poll.interval.ms max.poll.records
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters metrics.num.samples
    metrics.recording.level metrics.sample.window.ms partition.assignment.strategy receive.buffer.bytes
    reconnect.backoff.max.ms reconnect.backoff.ms retry.backoff.max.ms retry.backoff.ms security.providers
    send.buffer.bytes session.timeout.ms socket.connection.setup.timeout.max.ms
    socket.connection.setup.timeout.ms""".split()
)
KAFKA_SECURITY: Final = ("security.", "ssl.", "sasl.")  # client/security.py knows them


def parse_options(given: Mapping[str, str], kind: Kind) -> SourceOptions:
    """Names are compared without case, as Spark does. BadOption: which option, what was wanted, what was found."""
    options = _Options(given)
    options.refuse_strangers()
    subscription = _subscription(options)
    bootstrap = options.text("kafka.bootstrap.servers")
    if bootstrap is None:
        raise BadOption("option kafka.bootstrap.servers is missing: wanted HOST:PORT[,HOST:PORT...]")
    options.parsed("kafka.bootstrap.servers", parse_bootstrap)
    options.number("kafka.request.timeout.ms", None, least=1)
    try:
        Security.from_options(options.kafka())
    except ValueError as fault:
        raise BadOption(f"option kafka.{fault}") from None
    if kind is Kind.STREAM:
        for name in ENDS:
            if name in options:
                raise BadOption(f"option {name} has no meaning in a streaming query: it has no end")
    start = _boundary(options, STARTS, At.EARLIEST if kind is Kind.BATCH else At.LATEST)
    end = _boundary(options, ENDS, At.LATEST)
    group = options.text("group") or options.text("kafka.group.id")
    _check_boundaries(start, end, kind, group)
    strategy = (options.text("startingOffsetsByTimestampStrategy") or "error").lower()
    if strategy not in ("error", "latest"):
        raise BadOption(
            f"option startingOffsetsByTimestampStrategy: wanted error or latest, found {strategy!r}"
        )
    parsed = SourceOptions(
        bootstrap=bootstrap,
        subscription=subscription,
        start=start,
        end=end,
        no_such_time_is_latest=strategy == "latest",
        group=group,
        isolation=_isolation(options),
        fail_on_data_loss=options.flag("failOnDataLoss", True),
        include_headers=options.flag("includeHeaders", False),
        min_partitions=options.number("minPartitions", None, least=1),
        max_records_per_partition=options.number("maxRecordsPerPartition", None, least=1),
        max_offsets_per_trigger=options.number("maxOffsetsPerTrigger", None, least=1),
        min_offsets_per_trigger=options.number("minOffsetsPerTrigger", None, least=1),
        kafka=options.kafka(),
    )
    parsed = replace(
        parsed,
        max_trigger_delay_ms=options.parsed("maxTriggerDelay", duration_ms, parsed.max_trigger_delay_ms),
        poll_timeout_ms=options.number("kafkaConsumer.pollTimeoutMs", parsed.poll_timeout_ms, least=1),
        retries=options.number("fetchOffset.numRetries", parsed.retries, least=0),
        retry_interval_ms=options.number("fetchOffset.retryIntervalMs", parsed.retry_interval_ms, least=0),
        fetch_max_bytes=options.number(
            "kafka.max.partition.fetch.bytes",
            options.number("kafka.fetch.max.bytes", parsed.fetch_max_bytes, least=1),
            least=1,
        ),
        fetch_max_wait_ms=options.number("kafka.fetch.max.wait.ms", parsed.fetch_max_wait_ms, least=0),
        metadata_max_age_ms=options.number("kafka.metadata.max.age.ms", parsed.metadata_max_age_ms, least=0),
    )
    least, most = parsed.min_offsets_per_trigger, parsed.max_offsets_per_trigger
    if least is not None and most is not None and least > most:
        raise BadOption(f"option minOffsetsPerTrigger is {least}, more than maxOffsetsPerTrigger, {most}")
    return parsed


class _Options:
    """The options as they were given, by lower-case name."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._given

    def text(self, name: str) -> str | None:
        value = self._given.get(name.lower())
        return value.strip() if value is not None else None

    def kafka(self) -> dict[str, str]:
        """What stands behind `kafka.`."""
        return {
            name.removeprefix("kafka."): value
            for name, value in self._given.items()
            if name.startswith("kafka.")
        }

    def parsed(self, name: str, parse: Callable[[str], ResultT], otherwise: Any = None) -> ResultT:
        value = self.text(name)
        if value is None:
            return otherwise
        try:
            return parse(value)
        except ValueError as fault:
            raise BadOption(f"option {name}: {fault}") from None

    def number(self, name: str, otherwise: Any, *, least: int) -> Any:
        def parse(text: str) -> int:
            if not re.fullmatch(r"-?\d+", text) or not least <= int(text) <= LARGEST:
                raise ValueError(f"wanted a whole number, {least} or more, found {text!r}")
            return int(text)

        return self.parsed(name, parse, otherwise)

    def flag(self, name: str, otherwise: bool) -> bool:
        def parse(text: str) -> bool:
            if text.lower() not in ("true", "false"):
                raise ValueError(f"wanted true or false, found {text!r}")
            return text.lower() == "true"

        return self.parsed(name, parse, otherwise)

    def refuse_strangers(self) -> None:
        own = {name.lower(): name for name in OWN_OPTIONS}
        for name in sorted(self._given):
            if name.startswith("kafka."):
                self._refuse_kafka(name.removeprefix("kafka."))
            elif name not in own:
                everything = {**own, "kafka.bootstrap.servers": "kafka.bootstrap.servers"}
                near = difflib.get_close_matches(name, everything, n=1)
                hint = (
                    f"; did you mean {everything[near[0]]}?" if near else f"; known: {', '.join(OWN_OPTIONS)}"
                )
                raise BadOption(f"option {name!r} is unknown to the source{hint}")

    def _refuse_kafka(self, name: str) -> None:
        if name in KAFKA_REFUSED:
            raise BadOption(f"option kafka.{name} is not for this source: {KAFKA_REFUSED[name]}")
        if name in KAFKA_USED or name in KAFKA_WITHOUT_EFFECT or name.startswith(KAFKA_SECURITY):
            return
        near = difflib.get_close_matches(name, sorted(KAFKA_USED | KAFKA_WITHOUT_EFFECT), n=1)
        hint = f"; did you mean kafka.{near[0]}?" if near else ""
        raise BadOption(f"option kafka.{name} is no setting of a Kafka consumer{hint}")


def _subscription(options: _Options) -> Subscription:
    given = [name for name in SUBSCRIPTIONS if name in options]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        raise BadOption(f"wanted exactly one of the options {', '.join(SUBSCRIPTIONS)}, found {found}")
    (name,) = given
    value = options.text(name) or ""
    if name == "subscribe":
        topics = tuple(dict.fromkeys(each.strip() for each in value.split(",") if each.strip()))
        if not topics:
            raise BadOption(f"option subscribe: wanted TOPIC[,TOPIC...], found {value!r}")
        return Subscription(topics=topics)
    if name == "subscribePattern":
        try:
            re.compile(value)
        except re.error as fault:
            raise BadOption(f"option subscribePattern: {value!r} is no regular expression: {fault}") from None
        if not value:
            raise BadOption("option subscribePattern: wanted a regular expression, found nothing")
        return Subscription(pattern=value)
    return Subscription(assigned=options.parsed("assign", parse_assignment))


def _boundary(options: _Options, names: Sequence[str], otherwise: Boundary) -> Boundary:
    """Spark's order of preference: one time for all, times by partition, offsets."""
    time, times, offsets = names
    if time in options:
        return AtTime(options.number(time, None, least=0))
    if times in options:
        return AtTimes(options.parsed(times, lambda text: parse_by_partition(text, least=0)))
    text = options.text(offsets)
    if text is None:
        return otherwise
    words = [each.value for each in At if names is STARTS or each is not At.COMMITTED]
    if text.lower() in words:
        return At(text.lower())
    if not text.startswith("{"):
        raise BadOption(
            f'option {offsets}: wanted {", ".join(words)} or {{"topic":{{"0":OFFSET}}}}, found {text!r}'
        )
    return AtOffsets(options.parsed(offsets, lambda text: parse_by_partition(text, least=EARLIEST)))


def _check_boundaries(start: Boundary, end: Boundary, kind: Kind, group: str | None) -> None:
    if start is At.COMMITTED and not group:
        raise BadOption(
            "option startingOffsets is committed: name the group in option group (for an oncelog sink: its transactionalId)"
        )
    if end is At.EARLIEST or (isinstance(end, AtOffsets) and EARLIEST in end.offsets.values()):
        raise BadOption("option endingOffsets: a read cannot end at the earliest offset")
    if kind is not Kind.BATCH:
        return
    if start is At.LATEST or (isinstance(start, AtOffsets) and LATEST in start.offsets.values()):
        raise BadOption(
            "option startingOffsets: a batch read ends at the latest offset and cannot begin there"
        )
    if isinstance(start, AtOffsets) and isinstance(end, AtOffsets):
        _check_pairs(start.offsets, end.offsets, "Offsets")
    if isinstance(start, AtTimes) and isinstance(end, AtTimes):
        _check_pairs(start.millis, end.millis, "OffsetsByTimestamp")
    if isinstance(start, AtTime) and isinstance(end, AtTime) and start.millis > end.millis:
        raise BadOption(f"option startingTimestamp is {start.millis}, after endingTimestamp, {end.millis}")


def _check_pairs(starts: Offsets, ends: Offsets, what: str) -> None:
    if starts.keys() != ends.keys():
        only = sorted(starts.keys() ^ ends.keys())
        raise BadOption(
            f"options starting{what} and ending{what} name different partitions: {', '.join(map(str, only))}"
        )
    for each, first in sorted(starts.items()):
        if 0 <= ends[each] < first:
            raise BadOption(f"option starting{what}: {each} begins at {first}, behind its end, {ends[each]}")


def _isolation(options: _Options) -> Isolation:
    text = options.text("kafka.isolation.level") or "read_committed"
    known = {each.name.lower(): each for each in Isolation}
    if text.lower() not in known:
        raise BadOption(f"option kafka.isolation.level: wanted {' or '.join(known)}, found {text!r}")
    return known[text.lower()]


def duration_ms(text: str) -> int:
    """Spark's way to write times: 500ms, 30s, 15m, 1h; a bare number is milliseconds."""
    found = re.fullmatch(r"(\d+)\s*(ms|s|m|min|h|d)?", text.strip().lower())
    if found is None:
        raise ValueError(f"wanted a time like 500ms, 30s, 15m or 1h, found {text!r}")
    unit = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
    return int(found[1]) * unit[found[2] or "ms"]


# ---- Spark's JSON of offsets ------------------------------------------------------------------------------------------


def parse_assignment(text: str) -> tuple[TopicPartition, ...]:
    """{"topic": [0, 1]}"""
    wanted = ValueError(f'wanted {{"topic":[0,1]}}, found {text!r}')
    found: set[TopicPartition] = set()
    for topic, numbers in _json_object(text, wanted).items():
        if not isinstance(numbers, list):
            raise wanted
        for number in cast(list[object], numbers):
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise wanted
            found.add(TopicPartition(topic, number))
    if not found:
        raise wanted
    return tuple(sorted(found))


def parse_by_partition(text: str, *, least: int) -> dict[TopicPartition, int]:
    """{"topic": {"0": 123}}, each number at least `least`."""
    wanted = ValueError(f'wanted {{"topic":{{"0":NUMBER}}}} with numbers from {least} on, found {text!r}')
    found: dict[TopicPartition, int] = {}
    for topic, by_number in _json_object(text, wanted).items():
        if not isinstance(by_number, dict):
            raise wanted
        for number, value in cast(dict[str, object], by_number).items():
            if not re.fullmatch(r"\d{1,9}", number) or not isinstance(value, int) or isinstance(value, bool):
                raise wanted
            if not least <= value <= LARGEST:
                raise wanted
            found[TopicPartition(topic, int(number))] = value
    return found


def _json_object(text: str, wanted: ValueError) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        raise wanted from None
    if not isinstance(value, dict):
        raise wanted
    return cast(dict[str, object], value)


def to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Always in the same order: Spark takes offsets for equal if their text is."""
    found: dict[str, dict[str, int]] = {}
    for each in sorted(offsets):
        found.setdefault(each.topic, {})[str(each.partition)] = offsets[each]
    return found


def from_json(value: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, int(number)): offset
        for topic, by_number in value.items()
        for number, offset in by_number.items()
    }
