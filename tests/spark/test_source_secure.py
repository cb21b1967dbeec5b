"""Reading over TLS with SCRAM from a real Apache Kafka, by a real Spark; only with ORACLE=1."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.oracle import Oracle
from tests.oracle.certificates import Certificates
from tests.spark.feed import Feed, values
from tests.toolchains import Missing, leave_out

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.needs_oracle

PASSWORD = "open;sesame"
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    try:
        return Certificates(tmp_path_factory.mktemp("certificates"))
    except Missing as why:
        leave_out("TLS against Apache Kafka", why)


@pytest.fixture(scope="module")
def kafka(files: Certificates) -> Iterator[Oracle]:
    settings = {
        "listener.name.scram.ssl.keystore.type": "PEM",
        "listener.name.scram.ssl.keystore.location": files["server.pem"],
        "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.scram.scram-sha-512.sasl.jaas.config": f"{MODULE};",
    }
    try:
        with Oracle(settings, listeners={"SCRAM": "SASL_SSL"}, scram={"alice": PASSWORD}) as running:
            yield running
    except Missing as why:
        leave_out("TLS against Apache Kafka", why)


def load(spark: "SparkSession", kafka: Oracle, files: Certificates, topic: str, password: str) -> "DataFrame":
    """With the options as people have them for Spark's own connector."""
    return (
        spark.read.format("oncelog")
        .option("kafka.bootstrap.servers", kafka.bootstrap_of("SCRAM"))
        .option("kafka.security.protocol", "SASL_SSL")
        .option("kafka.ssl.truststore.type", "PEM")
        .option("kafka.ssl.truststore.location", files.ca)
        .option("kafka.sasl.mechanism", "SCRAM-SHA-512")
        .option("kafka.sasl.jaas.config", f'{MODULE} username="alice" password="{password}";')
        .option("subscribe", topic)
        .load()
    )


def test_a_read_over_tls_with_a_password(spark: "SparkSession", kafka: Oracle, files: Certificates) -> None:
    feed = Feed(kafka.bootstrap)
    topic = feed.topic("secure", partitions=2)
    feed.send(topic, [*values(0, 100), *values(100, 200, partition=1)])
    rows = load(spark, kafka, files, topic, PASSWORD).select("value").collect()
    assert sorted(int(row.value) for row in rows) == list(range(200))


def test_a_wrong_password_is_told_at_once_and_not_shown(
    spark: "SparkSession", kafka: Oracle, files: Certificates
) -> None:
    with pytest.raises(
        Exception, match=r"SASL SCRAM-SHA-512 as 'alice': broker .* invalid credentials"
    ) as refused:
        load(spark, kafka, files, "any", "swordfish").collect()
    assert "swordfish" not in str(refused.value)
