"""What docs/spark.md says about the sink: its Python runs, its options are those that the sink has."""

import re
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import oncelog
from oncelog.spark import sink_options
from oncelog.spark.sink_options import read_options
from tests.docs.tree import ROOT
from tests.spark.feed import Feed, values, wait_for

WRITING = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8").split("## Write")[1]


def test_the_block_about_writing_runs(spark: SparkSession, broker: oncelog.Broker, tmp_path: Path) -> None:
    for name in ("orders", "orders-copy"):
        broker.topic(name, partitions=2)
    Feed(broker.bootstrap).send("orders", values(0, 120))
    stream = (
        spark.readStream.format("oncelog")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .load()
    )
    (block,) = re.findall(r"^```python\n(.*?)^```", WRITING, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {"stream": stream}
    here = block.replace("127.0.0.1:9092", broker.bootstrap).replace("/tmp/checkpoints", str(tmp_path))
    exec(here, names)
    try:
        wait_for("the copy", lambda: len(broker.read("orders-copy")) == 120, 120)
    finally:
        names["query"].stop()


def test_the_block_of_the_readme_runs(spark: SparkSession, broker: oncelog.Broker, tmp_path: Path) -> None:
    del spark  # session() is this one
    for name in ("refunds", "copied"):
        broker.topic(name, partitions=2)
    Feed(broker.bootstrap).send("refunds", values(0, 120))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = [
        each
        for each in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        if "spark" in each
    ]
    names: dict[str, Any] = {}
    exec(block.replace("127.0.0.1:9092", broker.bootstrap).replace("copy.checkpoint", str(tmp_path)), names)
    try:
        wait_for("the copy", lambda: len(broker.read("copied")) == 120, 120)
    finally:
        names["query"].stop()


def test_every_option_is_described() -> None:
    told = {word.lower() for word in re.findall(r"`([\w.*]+)`", WRITING)}
    names = sink_options.OWN | sink_options.OURS
    passed_over = {
        "kafka.acks",
        "kafka.enable.idempotence",
        "includeheaders",
        "path",
        "queryname",
    }  # there is one way only
    assert names - told == passed_over


def test_the_defaults_are_those_of_the_code() -> None:
    options = read_options({"kafka.bootstrap.servers": "x:1", "transactionalId": "y"})
    table = dict(re.findall(r"^\| (`.+?`(?:, `.+?`)*) \| (.*?) \|", WRITING, re.MULTILINE))
    assert table["`commitOffsets`"] == f"`{options.commit_offsets.value}`"
    assert table["`batchRetries`"] == str(options.batch_retries)
    assert table["`kafka.transaction.timeout.ms`"] == str(options.transaction_timeout_ms)
    assert table["`kafka.compression.type`"] == f"`{options.codec}`"
    sizes = f"{options.batch_bytes}, {options.request_bytes}"
    assert table["`kafka.batch.size`, `kafka.max.request.size`"] == sizes
    times = f"{options.delivery_timeout_ms}, {options.request_timeout_ms}"
    assert table["`kafka.delivery.timeout.ms`, `kafka.request.timeout.ms`"] == times
