"""The Python of docs/spark.md runs as it stands there, up to the section of the sink."""

import re
from typing import TYPE_CHECKING, Any

import oncelog
from oncelog.spark.source_options import OWN_OPTIONS
from tests.docs.tree import ROOT
from tests.spark.feed import Feed, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCUMENT = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
READING = DOCUMENT.split("## Write")[0]


def test_the_blocks_about_reading_run(spark: "SparkSession", broker: oncelog.Broker) -> None:
    topic = broker.topic("orders")
    Feed(broker.bootstrap).send(topic, values(0, 120))
    blocks = re.findall(r"^```python\n(.*?)^```", READING, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block.replace("127.0.0.1:9092", broker.bootstrap), names)
    assert names["spark"].sparkContext is spark.sparkContext
    assert names["orders"].where("partition = 0 AND offset >= 100").count() == 20
    assert names["values"].columns == ["value", "offset"]
    assert names["stream"].isStreaming


def test_every_option_is_described() -> None:
    told = set(re.findall(r"`([\w.]+)`", READING))
    assert set(OWN_OPTIONS) - told == {
        "groupIdPrefix"
    }  # of no meaning here, and taken only so that queries move over
