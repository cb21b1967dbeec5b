"""The sink's engine and the source on three nodes of Apache Kafka, with the death of a leader and of the coordinator. With ORACLE=1 only."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.model import TopicPartition
from tests.oracle import Oracle
from tests.spark.engine import Engine, numbered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NODES: Final = 3
REPLICATED: Final = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
}


@contextmanager
def three_nodes(folder: Path) -> Generator[list[Oracle]]:
    nodes = [
        Oracle(REPLICATED, node_id=each, heap="256m", data_dir=folder / str(each), warm=False)
        for each in range(NODES)
    ]
    voters = ",".join(f"{each.node_id}@127.0.0.1:{each.controller_port}" for each in nodes)
    with ExitStack() as stack:
        for each in nodes:
            each.properties = {**each.properties, "controller.quorum.voters": voters}
            stack.callback(each.kill)
        with ThreadPoolExecutor(NODES) as pool:
            list(pool.map(Oracle.start, nodes))
        yield nodes


@pytest.mark.needs_oracle
@pytest.mark.timeout(600)
def test_a_leader_and_the_coordinator_die_in_the_middle_of_micro_batches(
    tmp_path: Path, spark: "SparkSession"
) -> None:
    with three_nodes(tmp_path) as nodes:
        bootstrap = ",".join(each.bootstrap for each in nodes)
        by_port = {each.port: each for each in nodes}
        engine = Engine(bootstrap)
        engine.micro_batch(0, numbered(0, 2), numbered(2, 4, partition=1))
        opened = engine.open()
        first = engine.task(opened, 1, numbered(4, 6))
        with Cluster(bootstrap) as cluster:
            leader = by_port[cluster.leader(TopicPartition(engine.name, 0)).address.port]
        leader.kill()
        engine.commit(1, first, engine.task(opened, 1, numbered(6, 8, partition=1), number=1))
        leader.start()
        opened = engine.open()
        assert opened.last is not None
        assert opened.last.batch_id == 1
        second = engine.task(opened, 2, numbered(8, 10))
        with Cluster(bootstrap) as cluster:
            coordinator = by_port[cluster.coordinator(engine.name, TRANSACTION).address.port]
        coordinator.kill()
        engine.commit(2, second)
        engine.micro_batch(3, numbered(10, 12, partition=1))
        engine.shows([b"%d" % each for each in range(12)], in_order=False)
        read = spark.read.format("oncelog").option(
            "kafka.bootstrap.servers", bootstrap
        )  # one of which is dead
        found = (
            read.option("subscribe", engine.name)
            .load()
            .selectExpr("CAST(value AS STRING) AS value")
            .collect()
        )
        assert sorted(int(each["value"]) for each in found) == list(range(12))
