"""/metrics: Prometheus' format, the names that dashboards know, true values; and the Grafana file asks for no other."""

import json
import re
from collections.abc import Iterator

import pytest

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.inspect.ask import SideDoor
from oncelog.inspect.metrics import Family, collect, exposition
from oncelog.model import TopicPartition
from tests.clients import transactional
from tests.conformance import targets
from tests.toolchains import ROOT, Missing, leave_out

SAMPLE = re.compile(
    r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*)\})? (-?[0-9.e+-]+)$'
)


@pytest.fixture(scope="module", params=targets.chosen())
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    try:
        with targets.run(request.param) as bootstrap:
            yield request.param, bootstrap
    except Missing as why:
        leave_out(f"metrics of {request.param}", why)


def samples(text: str) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            continue
        match = SAMPLE.match(line)
        assert match is not None, line
        found[match[1], match[2] or ""] = float(match[3])
    return found


def test_values_are_those_of_the_cluster(place: tuple[str, str]) -> None:
    kind, bootstrap = place
    with Cluster(bootstrap) as cluster:
        Admin(cluster).create_topic("metered", partitions=2)
        producer = transactional(bootstrap, "metered-1")
        producer.begin_transaction()
        for _ in range(5):
            producer.produce("metered", b"x", partition=1)
        producer.flush(10)
        group = 'odd "name"\\'
        Admin(cluster).commit_offsets(
            group, {TopicPartition("metered", 1): 2}
        )  # waits for a fresh coordinator
        found = samples(exposition(collect(cluster, SideDoor(cluster), now_ms=2**41)))
        where = 'topic="metered",partition="1"'
        assert found["kafka_topic_partition_current_offset", where] == 5
        assert found["kafka_cluster_partition_laststableoffsetlag", where] == 5
        assert found["oncelog_lso_hidden_records", where] == 5
        assert found["kafka_topic_partitions", 'topic="metered"'] == 2
        assert found["kafka_consumergroup_lag", 'consumergroup="odd \\"name\\"\\\\",' + where] == 3
        assert found["oncelog_txn_open", ""] == 1
        assert found["kafka_brokers", ""] == 1
        assert any(name.startswith("oncelog_txn_bumped") for name, _ in found) is (kind == "oncelog")
        assert not any("metered-1" in labels for _, labels in found)  # no transactional id is a label
        producer.abort_transaction(20)
        found = samples(exposition(collect(cluster, SideDoor(cluster), now_ms=2**41)))
        assert found["oncelog_txn_open", ""] == 0
        assert ("oncelog_lso_hidden_records", where) not in found
        dashboard = (ROOT / "docs" / "grafana" / "oncelog.json").read_text()
        wanted = {
            name
            for panel in json.loads(dashboard)["panels"]
            for target in panel["targets"]
            for name in re.findall(r"\b(?:kafka|oncelog)_[a-z_]+\b", target["expr"])
        }
        once = {
            "oncelog_lso_pinned_seconds",
            "oncelog_lso_hidden_records",
            "oncelog_txn_bumped_",
        }  # only while it lasts
        assert wanted - once <= {name for name, _ in found}


def test_text_is_escaped() -> None:
    family = Family("a", "gauge", "b")
    family.add(1.5, topic='x"\n\\')
    assert exposition([family, Family("empty", "gauge", "c")]) == (
        '# HELP a b\n# TYPE a gauge\na{topic="x\\"\\n\\\\"} 1.5\n'
    )
