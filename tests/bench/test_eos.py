"""`oncelog bench eos`: what it says is what was done, and a loss is printed as a loss."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.cli.main import main
from oncelog.cost import load, report
from oncelog.cost.load import CannotMeasure


@pytest.fixture(scope="module")
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        yield running


def test_the_generator_writes_what_it_says(broker: oncelog.Broker) -> None:
    topic = broker.topic("loaded", partitions=3)
    found = load.transactions(
        broker.bootstrap, topic, partitions=3, producers=4, records=20, record_bytes=1000, seconds=0.3
    )
    assert found.done >= 4
    assert found.records == found.done * 20
    assert len(broker.read(topic)) == found.records  # two batches of 16 and 4 records each, all committed
    assert {len(each.value or b"") for each in broker.read(topic)} == {1000}
    assert 0 < found.latency_us["p50"] <= found.latency_us["p99"] <= found.latency_us["max"]


def test_the_generator_produces_and_fetches(broker: oncelog.Broker) -> None:
    topic = broker.topic("plain")
    written = load.produce(broker.bootstrap, topic, record_bytes=100, connections=2, seconds=0.3)
    assert len(broker.read(topic)) == written.records
    read = load.fetch(broker.bootstrap, topic, partitions=1, max_bytes=1_000_000, seconds=0.5)
    assert read.records >= written.records
    assert read.records % 163 == 0  # whole batches


def test_the_generator_keeps_an_offered_rate(broker: oncelog.Broker) -> None:
    topic = broker.topic("paced")
    found = load.transactions(
        broker.bootstrap, topic, partitions=1, producers=5, records=1, record_bytes=100, seconds=1.0, rate=50
    )
    assert 45 <= found.done <= 55


def test_an_answer_that_is_no_success_ends_it(broker: oncelog.Broker) -> None:
    topic = broker.topic("small", configs={"max.message.bytes": 100})
    with pytest.raises(CannotMeasure, match="Produce answered 10"):
        load.produce(broker.bootstrap, topic, record_bytes=1000, seconds=0.2)


def test_the_command_writes_json_table_and_chart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "eos", "--quick", "--only", "16 KB", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "eos.json").read_text())
    assert {each["cell"] for each in found["runs"]} == {
        "idempotent produce, 1 KB, 16 KB batches",
        "idempotent produce, 100 B, 16 KB batches",
    }
    assert found["table"][0]["figure"].startswith("idempotent produce, 1 KB")
    assert "s/GB" in capsys.readouterr().out
    assert (tmp_path / "eos.svg").read_text().startswith("<svg")


def run_of(side: str, value: float, number: int, **more: Any) -> dict[str, Any]:
    return {
        "cell": "c",
        "unit": "txn/s",
        "better": "higher",
        "at_least": 1.0,
        "side": side,
        "round": number,
        "value": value,
        "broker_cpu_seconds": 1.0,
        "done": 1000,
        "bytes": 1,
        "other_load": 0.5,
        **more,
    }


@pytest.mark.parametrize(
    ("ours", "more", "bar"),
    [
        (200.0, {}, ">= 1.0x: holds"),
        (90.0, {}, ">= 1.0x: **missed**"),
        (90.0, {"at_least": 0.8}, ">= 0.8x: holds, **we lose**"),
        (90.0, {"at_least": None}, "**we lose**"),
        (90.0, {"better": "lower"}, "<= 1.0x: holds"),
        (150.0, {"better": "lower"}, "<= 1.0x: **missed**"),
    ],
)
def test_a_loss_is_printed_as_a_loss(ours: float, more: dict[str, Any], bar: str) -> None:
    runs = [run_of("oncelog", ours, 1, **more), run_of("other", 100.0, 1, **more)]
    (row,) = report.table({"runs": runs})
    assert row["bar"] == bar
    assert row["ratio"].startswith(f"{ours / 100:.2f}x")
    assert row["broker CPU"] == "1,000 us/txn"
