"""The options of the Spark source: what is taken, what is refused and in which words."""

import pytest

from oncelog.model import Isolation, TopicPartition
from oncelog.spark.source_options import (
    KAFKA_REFUSED,
    OWN_OPTIONS,
    At,
    AtOffsets,
    AtTime,
    AtTimes,
    BadOption,
    Kind,
    duration_ms,
    from_json,
    parse_options,
    to_json,
)

BROKER = {"kafka.bootstrap.servers": "127.0.0.1:9092"}
ORDERS = {**BROKER, "subscribe": "orders"}
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)

# option = value, on top of a broker and a subscription, then the words that the refusal has to hold
REFUSED = """
  startingOffset=earliest                  'startingoffset' is unknown to the source; did you mean startingOffsets?
  subscribepatern=a.*                      did you mean subscribePattern?
  bootstrap.servers=h:1                    did you mean kafka.bootstrap.servers?
  path=/tmp/x                              option 'path' is unknown to the source
  kafka.isolation.leve=read_committed      kafka.isolation.leve is no setting of a Kafka consumer; did you mean kafka.isolation.level?
  kafka.isolation.level=serializable       kafka.isolation.level: wanted read_uncommitted or read_committed, found 'serializable'
  kafka.auto.offset.reset=earliest         set startingOffsets instead
  kafka.enable.auto.commit=true            Spark keeps the offsets
  kafka.key.deserializer=x                 keys are binary columns
  kafka.bootstrap.servers=nohost:port:x    kafka.bootstrap.servers: wanted
  kafka.security.protocol=TLS              kafka.security.protocol: wanted one of PLAINTEXT, SSL
  kafka.request.timeout.ms=soon            kafka.request.timeout.ms: wanted a whole number
  kafka.fetch.max.bytes=0                  kafka.fetch.max.bytes: wanted a whole number, 1 or more, found '0'
  assign={"t":[0]}                         exactly one of the options subscribe, subscribePattern, assign, found subscribe and assign
  startingOffsets=soon                     startingOffsets: wanted earliest, latest, committed or {"topic":{"0":OFFSET}}, found 'soon'
  startingOffsets={"t":5}                  startingOffsets: wanted {"topic":{"0":NUMBER}}
  startingOffsets={"t":{"0":-3}}           startingOffsets: wanted {"topic":{"0":NUMBER}} with numbers from -2 on
  startingOffsets={"t":{"0":true}}         startingOffsets: wanted
  startingOffsets={"t":{"x":1}}            startingOffsets: wanted
  startingOffsets={broken                  startingOffsets: wanted
  startingOffsets=committed                name the group in option group
  endingOffsets=committed                  endingOffsets: wanted earliest, latest or
  endingOffsets=earliest                   cannot end at the earliest
  endingOffsets={"t":{"0":-2}}             cannot end at the earliest
  startingTimestamp=yesterday              startingTimestamp: wanted a whole number, 0 or more, found 'yesterday'
  startingOffsetsByTimestamp={"t":{"0":-1}}  startingOffsetsByTimestamp: wanted
  startingOffsetsByTimestampStrategy=skip  wanted error or latest, found 'skip'
  failOnDataLoss=maybe                     failOnDataLoss: wanted true or false, found 'maybe'
  includeHeaders=1                         includeHeaders: wanted true or false, found '1'
  minPartitions=0                          minPartitions: wanted a whole number, 1 or more, found '0'
  maxRecordsPerPartition=-1                maxRecordsPerPartition: wanted a whole number, 1 or more
  maxOffsetsPerTrigger=1e6                 maxOffsetsPerTrigger: wanted a whole number, 1 or more, found '1e6'
  maxOffsetsPerTrigger=9223372036854775808 maxOffsetsPerTrigger: wanted a whole number
  minOffsetsPerTrigger=none                minOffsetsPerTrigger: wanted a whole number, 1 or more
  maxTriggerDelay=soon                     maxTriggerDelay: wanted a time like 500ms, 30s, 15m or 1h, found 'soon'
  fetchOffset.numRetries=-1                fetchOffset.numRetries: wanted a whole number, 0 or more
  kafkaConsumer.pollTimeoutMs=0            kafkaConsumer.pollTimeoutMs: wanted a whole number, 1 or more
"""


def rows(text: str) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for line in text.strip().splitlines():
        option, _, words = (
            line.strip().partition("  ") if "  " in line.strip() else line.strip().partition(" ")
        )
        name, _, value = option.partition("=")
        found.append((name, value, words.strip()))
    return found


@pytest.mark.parametrize(("name", "value", "words"), rows(REFUSED))
@pytest.mark.parametrize("kind", [Kind.BATCH, Kind.EITHER])
def test_a_bad_option_is_refused_by_its_name(name: str, value: str, words: str, kind: Kind) -> None:
    with pytest.raises(BadOption) as refused:
        parse_options({**ORDERS, name: value}, kind)
    assert words in str(refused.value)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    value = {"endingOffsets": "latest", "endingTimestamp": "5"}.get(name, '{"orders":{"0":5}}')
    parse_options({**ORDERS, name: value}, Kind.BATCH)
    with pytest.raises(BadOption, match=f"{name} has no meaning in a streaming query"):
        parse_options({**ORDERS, name: value}, Kind.STREAM)


@pytest.mark.parametrize("value", ["latest", '{"orders":{"0":-1}}'])
def test_a_batch_cannot_begin_at_its_end(value: str) -> None:
    parse_options({**ORDERS, "startingOffsets": value}, Kind.STREAM)
    with pytest.raises(BadOption, match="cannot begin there"):
        parse_options({**ORDERS, "startingOffsets": value}, Kind.BATCH)


PAIRS = [
    ("Offsets", '{"t":{"0":5}}', '{"t":{"1":5}}', "name different partitions: t-0, t-1"),
    ("Offsets", '{"t":{"0":5}}', '{"t":{"0":4}}', "t-0 begins at 5, behind its end, 4"),
    ("OffsetsByTimestamp", '{"t":{"0":5}}', '{"t":{"0":4}}', "t-0 begins at 5, behind its end, 4"),
    ("Timestamp", "7", "6", "startingTimestamp is 7, after endingTimestamp, 6"),
]


@pytest.mark.parametrize(("what", "start", "end", "words"), PAIRS)
def test_a_batch_that_would_end_before_it_begins_is_refused(
    what: str, start: str, end: str, words: str
) -> None:
    with pytest.raises(BadOption, match=words):
        parse_options({**ORDERS, f"starting{what}": start, f"ending{what}": end}, Kind.BATCH)


def test_what_cannot_be_left_out() -> None:
    with pytest.raises(BadOption, match=r"kafka\.bootstrap\.servers is missing"):
        parse_options({"subscribe": "orders"}, Kind.BATCH)
    with pytest.raises(BadOption, match="subscribe, subscribePattern, assign, found none"):
        parse_options(BROKER, Kind.BATCH)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("subscribe", " , ", r"wanted TOPIC\[,TOPIC"),
        ("subscribePattern", "(", "no regular expression"),
        ("subscribePattern", "", "found nothing"),
        ("assign", "orders", r'wanted {"topic":\[0,1\]}'),
        ("assign", "{}", "wanted"),
        ("assign", '{"t":[true]}', "wanted"),
        ("assign", '{"t":[-1]}', "wanted"),
        ("assign", '{"t":0}', "wanted"),
    ],
)
def test_a_subscription_that_names_nothing(name: str, value: str, words: str) -> None:
    with pytest.raises(BadOption, match=words):
        parse_options({**BROKER, name: value}, Kind.STREAM)


def test_the_three_ways_to_subscribe() -> None:
    some = parse_options({**BROKER, "subscribe": " a, b ,a"}, Kind.BATCH).subscription
    assert (some.names(), some.wants("a"), some.wants("ab")) == (("a", "b"), True, False)
    by_name = parse_options({**BROKER, "subscribePattern": "a.*b"}, Kind.BATCH).subscription
    assert [name for name in ("axb", "xaxb", "axbx", "ab") if by_name.wants(name)] == ["axb", "ab"]
    assigned = parse_options({**BROKER, "assign": '{"t":[1,0],"s":[2]}'}, Kind.BATCH).subscription
    assert assigned.assigned == (TopicPartition("s", 2), T0, T1)
    assert assigned.names() == ("s", "t")


def test_what_is_not_said_is_as_sparks_connector_has_it_but_for_the_isolation() -> None:
    batch, stream = parse_options(ORDERS, Kind.BATCH), parse_options(ORDERS, Kind.STREAM)
    assert (batch.start, batch.end, stream.start) == (At.EARLIEST, At.LATEST, At.LATEST)
    assert batch.isolation is Isolation.READ_COMMITTED
    assert (batch.fail_on_data_loss, batch.include_headers) == (True, False)
    assert (batch.max_trigger_delay_ms, batch.retries) == (900_000, 3)


def test_names_do_not_mind_their_case() -> None:
    shouted = {"KAFKA.BOOTSTRAP.SERVERS": "h:1", "SUBSCRIBE": "T", "MaxOffsetsPerTrigger": "10"}
    parsed = parse_options(shouted, Kind.STREAM)
    assert (parsed.bootstrap, parsed.subscription.topics) == ("h:1", ("T",))
    assert parsed.max_offsets_per_trigger == 10


def test_a_time_for_all_comes_before_times_and_those_before_offsets() -> None:
    given = {
        **ORDERS,
        "startingTimestamp": "7",
        "startingOffsetsByTimestamp": '{"t":{"0":8}}',
        "startingOffsets": "earliest",
    }
    assert parse_options(given, Kind.STREAM).start == AtTime(7)
    del given["startingTimestamp"]
    assert parse_options(given, Kind.STREAM).start == AtTimes({T0: 8})
    del given["startingOffsetsByTimestamp"]
    assert parse_options(given, Kind.STREAM).start is At.EARLIEST
    given["startingOffsets"] = '{"t":{"0":8,"1":-2}}'
    assert parse_options(given, Kind.STREAM).start == AtOffsets({T0: 8, T1: -2})


@pytest.mark.parametrize("name", ["group", "kafka.group.id"])
def test_committed_offsets_of_a_group(name: str) -> None:
    parsed = parse_options({**ORDERS, "startingOffsets": "committed", name: "refunds"}, Kind.STREAM)
    assert (parsed.start, parsed.group) == (At.COMMITTED, "refunds")


def test_settings_of_a_consumer_that_mean_nothing_here_are_taken() -> None:
    given = {**ORDERS, "kafka.max.poll.records": "5", "kafka.session.timeout.ms": "1", "groupIdPrefix": "x"}
    assert parse_options(given, Kind.STREAM).kafka["max.poll.records"] == "5"


def test_passwords_do_not_show() -> None:
    given = {
        **ORDERS,
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.username": "ali",
        "kafka.sasl.password": "open sesame",
    }
    parsed = parse_options(given, Kind.STREAM)
    assert parsed.kafka["sasl.password"] == "open sesame"
    assert "sesame" not in repr(parsed)


def test_the_limits_of_a_trigger() -> None:
    with pytest.raises(BadOption, match="minOffsetsPerTrigger is 20, more than maxOffsetsPerTrigger, 10"):
        parse_options({**ORDERS, "minOffsetsPerTrigger": "20", "maxOffsetsPerTrigger": "10"}, Kind.STREAM)


def test_every_option_is_read_somewhere() -> None:
    """A name in the list that nothing looks at would be taken and forgotten."""
    good = {
        "subscribe": "t",
        "subscribePattern": "t",
        "assign": '{"t":[0]}',
        "failOnDataLoss": "false",
        "includeHeaders": "true",
        "startingOffsetsByTimestampStrategy": "latest",
        "maxTriggerDelay": "1s",
    }
    for name in OWN_OPTIONS:
        value = good.get(
            name, '{"t":{"0":5}}' if "ByTimestamp" in name else "latest" if "Offsets" in name[-7:] else "7"
        )
        given = {**BROKER, name: value}
        if name not in ("subscribe", "subscribePattern", "assign"):
            given["subscribe"] = "other"
        plain = {**BROKER, "subscribe": "other"}
        if name in ("groupIdPrefix",):
            continue
        kind = Kind.BATCH if name.startswith("ending") else Kind.STREAM
        if name == "startingOffsets":
            given[name] = "earliest"
        if name == "endingOffsets":
            given[name] = '{"other":{"0":9}}'
        assert parse_options(given, kind) != parse_options(plain, kind), name
    assert "auto.offset.reset" in KAFKA_REFUSED


@pytest.mark.parametrize(
    ("text", "millis"), [("250", 250), ("250ms", 250), ("3s", 3_000), ("15m", 900_000), ("2 h", 7_200_000)]
)
def test_times_as_spark_writes_them(text: str, millis: int) -> None:
    assert duration_ms(text) == millis


def test_offsets_become_sparks_json_always_in_one_order() -> None:
    offsets = {TopicPartition("t", 10): 3, TopicPartition("t", 2): 2, TopicPartition("a", 0): 1}
    said = to_json(offsets)
    assert list(said) == ["a", "t"]
    assert list(said["t"]) == ["2", "10"]
    assert from_json(said) == offsets
