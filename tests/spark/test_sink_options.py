"""What the sink takes as options, and what it says to those it does not take."""

import pytest

from oncelog.spark.sink_options import CommitOffsets, SinkOptions, SinkRefused, read_options

GIVEN = {"kafka.bootstrap.servers": "localhost:9092", "transactionalId": "refunds"}

# Each line is refused; the words behind the bar are in the complaint.
REFUSED = """
kafka.acks=1                               | wanted all or -1
kafka.enable.idempotence=false             | wanted true
kafka.compression.type=brotli              | wanted none or gzip
kafka.transactional.id=x                   | say transactionalId
kafka.no.such.setting=1                    | kafka.no.such.setting: not known
kafka.partitioner.class=org.example.Mine   | kafka.partitioner.class: not known
kafka.interceptor.classes=org.example.Mine | kafka.interceptor.classes: not known
kafka.partitioner.ignore.keys=true         | kafka.partitioner.ignore.keys: wanted false, found 'true'
comitOffsets=true                          | comitoffsets: not known .* commitoffsets
kafka.batch.size=2000000                   | wanted a whole number from 1 to 1000000, found '2000000'
kafka.transaction.timeout.ms=soon          | found 'soon'
kafka.transaction.timeout.ms=-5            | found '-5'
commitOffsets=maybe                        | wanted auto or true or false
queryId=nightly                            | wanted both
batchId=3                                  | wanted both
kafka.security.protocol=CARRIER_PIGEON     | security.protocol
"""


def test_defaults() -> None:
    assert read_options(GIVEN) == SinkOptions("localhost:9092", "refunds")


def test_names_in_any_case() -> None:
    options = read_options(
        {
            "KAFKA.BOOTSTRAP.SERVERS": "localhost:9092",
            "transactionalid": "refunds",
            "COMMITOFFSETS": "False",
            "Kafka.Compression.Type": "LZ4",
            "checkpointlocation": "/tmp/c",
            "kafka.linger.ms": "5",
        }
    )
    assert options.commit_offsets is CommitOffsets.NEVER
    assert options.codec == "lz4"
    assert options.checkpoint == "/tmp/c"


# What people carry over from a Java producer, and what changes no result of ours.
HARMLESS = """
client.dns.lookup=use_all_dns_ips metric.reporters= metrics.recording.level=INFO enable.metrics.push=false
partitioner.adaptive.partitioning.enable=false partitioner.availability.timeout.ms=0 partitioner.ignore.keys=false
socket.connection.setup.timeout.ms=10000 socket.connection.setup.timeout.max.ms=30000 retry.backoff.max.ms=1000
metadata.max.idle.ms=300000 metadata.recovery.strategy=rebootstrap linger.ms=5 retries=2147483647 compression.zstd.level=3
"""


@pytest.mark.parametrize("pair", HARMLESS.split())
def test_harmless_settings_of_a_java_producer_are_taken(pair: str) -> None:
    name, _, value = pair.partition("=")
    assert read_options({**GIVEN, f"kafka.{name}": value}) == read_options(GIVEN)


def test_a_named_write() -> None:
    options = read_options({**GIVEN, "queryId": "nightly", "batchId": "20270401"})
    assert (options.query_id, options.batch_id) == ("nightly", 20270401)


@pytest.mark.parametrize("missing", list(GIVEN))
def test_what_must_be_there_is_named(missing: str) -> None:
    with pytest.raises(SinkRefused, match=f"option {missing}: wanted .* found nothing"):
        read_options({name: value for name, value in GIVEN.items() if name != missing})


@pytest.mark.parametrize("line", [line for line in REFUSED.splitlines() if line])
def test_refused(line: str) -> None:
    given, _, why = (each.strip() for each in line.partition("|"))
    name, _, value = given.partition("=")
    with pytest.raises(SinkRefused, match=why):
        read_options({**GIVEN, name: value})


def test_the_marker_topic_is_not_the_output() -> None:
    with pytest.raises(SinkRefused, match="another topic"):
        read_options({**GIVEN, "topic": "t", "markerTopic": "t"})


def test_a_password_is_not_shown() -> None:
    options = read_options(
        {
            **GIVEN,
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.username": "ann",
            "kafka.sasl.password": "open sesame",
        }
    )
    assert options.security.password == "open sesame"
    assert "sesame" not in repr(options)
