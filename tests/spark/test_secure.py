"""Reading, writing, commands and a pipeline over TLS and SASL: a real Spark and a real Apache Kafka; only with ORACLE=1."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from oncelog.cli.main import main
from oncelog.client.easy import read_all
from oncelog.pipelines.supervise import Ended, Supervisor
from tests.oracle import Oracle
from tests.oracle.certificates import Certificates
from tests.spark.feed import Feed, values, wait_for
from tests.toolchains import Missing, leave_out

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.needs_oracle

PASSWORD = "open;sesame"
MODULES = "org.apache.kafka.common.security"
PLAIN = f"{MODULES}.plain.PlainLoginModule required"
SCRAM = f"{MODULES}.scram.ScramLoginModule required"
LISTENERS = {"PASSWORDS": "SASL_SSL", "OPEN": "SASL_PLAINTEXT", "MUTUAL": "SSL"}
WAYS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "certificate", "PLAIN without TLS")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    try:
        return Certificates(tmp_path_factory.mktemp("certificates"))
    except Missing as why:
        leave_out("TLS against Apache Kafka", why)


@pytest.fixture(scope="module")
def kafka(files: Certificates) -> Iterator[Oracle]:
    stores = files.stores("passwords", "mutual")
    plain = f'{PLAIN} user_alice="{PASSWORD}";'
    settings = {
        "listener.name.passwords.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.passwords.plain.sasl.jaas.config": plain,
        "listener.name.passwords.scram-sha-256.sasl.jaas.config": f"{SCRAM};",
        "listener.name.passwords.scram-sha-512.sasl.jaas.config": f"{SCRAM};",
        "listener.name.open.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.open.plain.sasl.jaas.config": plain,
        "listener.name.mutual.ssl.client.auth": "required",
    }
    try:
        with Oracle(stores | settings, listeners=LISTENERS, scram={"alice": PASSWORD}) as running:
            yield running
    except Missing as why:
        leave_out("TLS against Apache Kafka", why)


def options(kafka: Oracle, files: Certificates, way: str, password: str = PASSWORD) -> dict[str, str]:
    """As people have them for Spark's own connector."""
    trust = {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.location": files.ca}
    if way == "certificate":
        return {
            **trust,
            "kafka.bootstrap.servers": kafka.bootstrap_of("MUTUAL"),
            "kafka.security.protocol": "SSL",
            "kafka.ssl.keystore.type": "PEM",
            "kafka.ssl.keystore.location": files["client.pem"],
        }
    mechanism, *without_tls = way.split(" ", 1)
    module = PLAIN if mechanism == "PLAIN" else SCRAM
    listener = "OPEN" if without_tls else "PASSWORDS"
    return {
        **({} if without_tls else trust),
        "kafka.bootstrap.servers": kafka.bootstrap_of(listener),
        "kafka.security.protocol": LISTENERS[listener],
        "kafka.sasl.mechanism": mechanism,
        "kafka.sasl.jaas.config": f'{module} username="alice" password="{password}";',
    }


def load(spark: "SparkSession", given: dict[str, str], topic: str) -> "DataFrame":
    return spark.read.format("oncelog").options(**given).option("subscribe", topic).load()


def numbers(bootstrap: str, topic: str) -> list[int]:
    return sorted(int(record.value or b"-1") for record in read_all(bootstrap, topic))


@pytest.mark.parametrize("way", WAYS)
def test_a_read_and_a_write(spark: "SparkSession", kafka: Oracle, files: Certificates, way: str) -> None:
    from oncelog.spark import to_topic

    feed = Feed(kafka.bootstrap)
    source, output = feed.topic("secure", partitions=2), feed.topic("secure-copy", partitions=2)
    feed.send(source, [*values(0, 100), *values(100, 200, partition=1)])
    given = options(kafka, files, way)
    rows = to_topic(load(spark, given, source).select("key", "value"), output, options=given)
    rows.write.format("oncelog").options(**given, topic=output, transactionalId=output).mode("append").save()
    wait_for("200 rows", lambda: numbers(kafka.bootstrap, output) == list(range(200)))


@pytest.mark.parametrize("door", ["append", "foreachBatch"])
def test_a_stream_from_topic_to_topic(
    spark: "SparkSession", kafka: Oracle, files: Certificates, tmp_path: Path, door: str
) -> None:
    from oncelog.spark import Sink, to_topic

    feed = Feed(kafka.bootstrap)
    source, output = feed.topic("secure", partitions=2), feed.topic("secure-copy", partitions=2)
    feed.send(source, [*values(0, 100), *values(100, 200, partition=1)])
    given = options(kafka, files, "SCRAM-SHA-512")
    read = spark.readStream.format("oncelog").options(**given).option("subscribe", source)
    read = read.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 100)
    rows = to_topic(read.load().select("key", "value"), output, options=given)
    sink = {**given, "topic": output, "transactionalId": output}
    writer = rows.writeStream.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    writer = writer.format("oncelog").options(**sink) if door == "append" else writer.foreachBatch(Sink(sink))
    assert writer.start().awaitTermination(240)
    wait_for("200 rows", lambda: numbers(kafka.bootstrap, output) == list(range(200)))


def test_a_wrong_password_is_told_at_once_and_not_shown(
    spark: "SparkSession", kafka: Oracle, files: Certificates
) -> None:
    output = Feed(kafka.bootstrap).topic("secure-copy")
    given = options(kafka, files, "SCRAM-SHA-512", "swordfish")
    said = r"SASL SCRAM-SHA-512 as 'alice': broker .* invalid credentials"
    with pytest.raises(Exception, match=said) as refused:
        load(spark, given, "any").collect()
    assert "swordfish" not in str(refused.value)
    rows = spark.sql("SELECT '1' AS value")
    sink = {**given, "topic": output, "transactionalId": output}
    with pytest.raises(Exception, match=said) as refused:
        rows.write.format("oncelog").options(**sink).mode("append").save()
    assert "swordfish" not in str(refused.value)
    assert not numbers(kafka.bootstrap, output)


def test_a_broker_whose_authority_is_not_trusted(
    spark: "SparkSession", kafka: Oracle, files: Certificates
) -> None:
    given = options(kafka, files, "PLAIN")
    del given["kafka.ssl.truststore.location"]
    with pytest.raises(Exception, match="its certificate is not to be trusted"):
        load(spark, given, "any").collect()


# The command line


def command_config(
    kafka: Oracle, files: Certificates, way: str, folder: Path, password: str = PASSWORD
) -> list[str]:
    """`--bootstrap` and `--command-config` with the settings of `options`."""
    given = {
        name.removeprefix("kafka."): value for name, value in options(kafka, files, way, password).items()
    }
    bootstrap = given.pop("bootstrap.servers")
    path = folder / "client.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    return ["--bootstrap", bootstrap, "--command-config", str(path)]


@pytest.mark.parametrize("way", WAYS)
def test_commands(
    kafka: Oracle, files: Certificates, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = Feed(kafka.bootstrap).topic("commands")
    at = command_config(kafka, files, way, tmp_path)
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\n")
    assert main(["produce", topic, "--file", str(lines), *at]) == 0
    for words in (["topics", "ls"], ["groups", "ls"], ["txn", "ls"], ["txn", "stuck"], ["doctor"]):
        assert main([*words, *at]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert main(["consume", topic, "--to-end", "--values", *at]) == 0
    assert sorted(capsys.readouterr().out.split()) == ["one", "two"]


def test_a_command_with_a_wrong_password(
    kafka: Oracle, files: Certificates, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = command_config(kafka, files, "SCRAM-SHA-512", tmp_path, "swordfish")
    assert main(["topics", "ls", *at]) == 4
    said = capsys.readouterr().err
    assert "SASL SCRAM-SHA-512 as 'alice'" in said
    assert "swordfish" not in said


@pytest.mark.timeout(600)
@pytest.mark.xdist_group("spark")
def test_a_pipeline_is_fed_run_and_proved(
    kafka: Oracle,
    files: Certificates,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["pipeline", "refunds", *command_config(kafka, files, "SCRAM-SHA-256", tmp_path)]
    words += ["--checkpoint", str(tmp_path / "checkpoint"), "--transactional-id", "secure-refunds"]
    seen: set[str] = set()
    start = Supervisor.run

    def watched(self: Supervisor) -> Ended:
        def look() -> None:
            while not over.wait(0.2):
                for each in psutil.Process().children(recursive=True):
                    with contextlib.suppress(psutil.Error):
                        seen.add(" ".join(each.cmdline()))

        over = threading.Event()
        thread = threading.Thread(target=look)
        thread.start()
        try:
            return start(self)
        finally:
            over.set()
            thread.join()

    monkeypatch.setattr(Supervisor, "run", watched)
    assert main([*words, "--feed", "--rows", "300", "--once", "--check", "--master", "local[2]"]) == 0
    found = capsys.readouterr()
    assert "refunds: the proof holds" in found.err, found.err
    assert "rows in\t300" in found.out
    assert any("oncelog.pipelines.run" in each for each in seen)
    assert not [each for each in seen if PASSWORD in each]
