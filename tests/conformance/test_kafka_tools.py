"""Apache Kafka's own command-line tools, pointed at a broker: what an operator types works unchanged."""

import json
import re
from pathlib import Path

import pytest

from tests.oracle import run_java
from tests.oracle.tools import CONSUMER_GROUPS, PRODUCER_PERFORMANCE, TOPICS, VERIFIABLE_PRODUCER
from tests.toolchains import Missing, leave_out

CONFIGS = "kafka.admin.ConfigCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
VERIFIABLE_CONSUMER = "org.apache.kafka.tools.VerifiableConsumer"


@pytest.fixture
def at(bootstrap: str) -> tuple[str, str]:
    try:
        run_java(TOPICS, "--version")
    except Missing as why:
        leave_out("Kafka's own tools", why)
    return ("--bootstrap-server", bootstrap)


@pytest.mark.timeout(180)
def test_topics_records_and_groups_through_kafkas_tools(at: tuple[str, str]) -> None:
    topic, group = "tools", "tools-group"
    run_java(
        TOPICS, *at, "--create", "--topic", topic, "--partitions", "1", "--config", "retention.ms=7200000"
    )
    described = run_java(TOPICS, *at, "--describe", "--topic", topic)
    assert re.search(r"PartitionCount: 1\s+ReplicationFactor: 1\s+Configs:.*retention\.ms=7200000", described)

    lines = run_java(VERIFIABLE_PRODUCER, *at, "--topic", topic, "--max-messages", "200", "--acks", "-1")
    acked = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    assert sum(event["name"] == "producer_send_success" for event in acked) == 200

    consumed = run_java(
        VERIFIABLE_CONSUMER, *at, "--topic", topic, "--group-id", group, "--max-messages", "200",
        "--reset-policy", "earliest",
    )  # fmt: skip
    events = [json.loads(line) for line in consumed.splitlines() if line.startswith("{")]
    assert sum(event["count"] for event in events if event["name"] == "records_consumed") == 200
    assert all(event["success"] for event in events if event["name"] == "offsets_committed")

    ends = run_java(OFFSETS, *at, "--topic", topic)
    assert sum(int(line.rsplit(":", 1)[1]) for line in ends.splitlines() if line.startswith(topic)) == 200
    lags = run_java(CONSUMER_GROUPS, *at, "--describe", "--group", group)
    rows = [line.split() for line in lags.splitlines() if line.startswith(group)]
    assert [row[1:6] for row in rows] == [[topic, "0", "200", "200", "0"]]

    reset = ("--group", group, "--topic", topic, "--reset-offsets", "--to-earliest", "--execute")
    assert re.search(rf"{group}\s+{topic}\s+0\s+0", run_java(CONSUMER_GROUPS, *at, *reset))
    run_java(CONSUMER_GROUPS, *at, "--delete", "--group", group)
    assert group not in run_java(CONSUMER_GROUPS, *at, "--list").split()


@pytest.mark.timeout(180)
def test_settings_deletion_and_speed_through_kafkas_tools(at: tuple[str, str], tmp_path: Path) -> None:
    topic = "tools-settings"
    run_java(TOPICS, *at, "--create", "--topic", topic, "--partitions", "1")
    speed = run_java(
        PRODUCER_PERFORMANCE, *at, "--topic", topic, "--num-records", "2000", "--record-size", "100",
        "--throughput", "-1", "--command-property", "enable.idempotence=true",
    )  # fmt: skip
    assert "2000 records sent" in speed

    entity = ("--entity-type", "topics", "--entity-name", topic)
    run_java(CONFIGS, *at, *entity, "--alter", "--add-config", "retention.ms=3600000")
    assert "retention.ms=3600000" in run_java(CONFIGS, *at, *entity, "--describe")

    wanted = {"partitions": [{"topic": topic, "partition": 0, "offset": 1500}], "version": 1}
    (tmp_path / "delete.json").write_text(json.dumps(wanted))
    done = run_java(DELETE_RECORDS, *at, "--offset-json-file", str(tmp_path / "delete.json"))
    assert re.search(r"partition: \S+-0\s+low_watermark: 1500", done)
    assert f"{topic}:0:1500" in run_java(OFFSETS, *at, "--topic", topic, "--time", "earliest")

    sizes = run_java(LOG_DIRS, *at, "--describe", "--topic-list", topic)
    found = json.loads(next(line for line in sizes.splitlines() if line.startswith("{")))
    directory = found["brokers"][0]["logDirs"][0]
    assert directory["error"] is None
    assert [each["partition"] for each in directory["partitions"]] == [f"{topic}-0"]
    assert directory["partitions"][0]["size"] > 0

    run_java(TOPICS, *at, "--delete", "--topic", topic)
    assert topic not in run_java(TOPICS, *at, "--list").split()
