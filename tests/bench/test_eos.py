"""`oncelog bench eos`: what it says is what was done, and a loss is printed as a loss."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import oncelog
from oncelog.cli import bench
from oncelog.cli.main import main
from oncelog.client.cluster import Cluster
from oncelog.cost import eos, load, page_cache, report, scaling, sides
from oncelog.cost.load import CannotMeasure
from oncelog.cost.progress import Progress
from oncelog.cost.sides import OncelogSide, RunningSide
from oncelog.inspect import views
from oncelog.record.batch import HEADER_BYTES, read_header
from tests.toolchains import ROOT
from tools import benchmarks_doc


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


def test_the_reader_sees_every_transaction_after_its_end(broker: oncelog.Broker) -> None:
    topic = broker.topic("seen")
    found = load.seen(broker.bootstrap, topic, records=3, record_bytes=100, seconds=0.5, rate=100.0)
    assert len(broker.read(topic)) == found.records == found.done * 3
    assert 30 <= found.done <= 51  # 100 a second for half a second, fewer on a busy machine
    assert 0 < found.end_us["p50"] <= found.latency_us["p50"]
    assert (
        len(found.latency_each) == len(found.end_each) == found.done
    )  # a transaction is counted when it was read, and only then


def test_a_reader_waits_as_long_as_transactions_stay_open(broker: oncelog.Broker) -> None:
    topic = broker.topic("seen-late")
    found = load.seen(
        broker.bootstrap, topic, records=3, record_bytes=100, seconds=1.0, rate=50.0, open_ms=100
    )
    assert len(broker.read(topic)) == found.records == found.done * 3
    assert 20 <= found.done <= 51  # several are open at once: one alone could end ten
    assert min(found.latency_each) >= 100_000
    assert found.end_us["p50"] < 100_000


def test_without_acks_all_the_batches_have_no_producer(broker: oncelog.Broker) -> None:
    topic = broker.topic("acks-1")
    found = load.produce(broker.bootstrap, topic, record_bytes=1000, seconds=0.05, acks=1)
    assert len(broker.read(topic)) == found.records > 0
    (log,) = (Path(broker.data_dir) / f"{topic}-0").glob("*.log")
    assert read_header(log.read_bytes()[:HEADER_BYTES]).producer_id == -1


def test_transactions_stay_open_as_long_as_wanted(broker: oncelog.Broker) -> None:
    topic = broker.topic("held", partitions=2)
    with load.open_transactions(broker.bootstrap, topic, partitions=2, producers=5):
        with Cluster(broker.bootstrap) as cluster:
            assert len(views.rows(cluster, now_ms=0, states=["Ongoing"], longer_than_ms=-1)[0]) == 5
        assert broker.read(topic) == []


def test_with_many_partitions_every_transaction_goes_to_the_next(broker: oncelog.Broker) -> None:
    topic = broker.topic("spread", partitions=20)
    found = load.transactions(
        broker.bootstrap, topic, partitions=20, producers=3, records=1, record_bytes=100, seconds=0.5
    )
    assert found.done > 60
    assert {each.partition for each in broker.read(topic)} == set(range(20))
    assert found.partitions == 20


def test_a_run_goes_on_at_the_partition_where_the_one_before_ended(broker: oncelog.Broker) -> None:
    topic = broker.topic("spread-on", partitions=40)
    known: set[int] = set()
    first = 0
    for _ in range(30):
        found = load.transactions(
            broker.bootstrap, topic, partitions=40, producers=4, records=1, record_bytes=100,
            seconds=0.004, first=first,
        )  # fmt: skip
        written = {each.partition for each in broker.read(topic)}
        assert found.partitions >= 4
        assert {each % 40 for each in range(first, found.reached)} <= written
        known |= written
        first = found.reached
        if first >= 40:
            break
    assert known == set(range(40))


def test_the_curve_of_partitions_visits_all_of_them(
    broker: oncelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scaling, "FILL_SECONDS", 0.02)
    topic = broker.topic("visited", partitions=300)
    spread = scaling.Spread()
    spread.visit(broker.bootstrap, topic, 300)
    assert {each.partition for each in broker.read(topic)} == set(range(300))
    before = {each.partition: each.offset for each in broker.read(topic)}
    found = spread.run(broker.bootstrap, topic, 300, 0.01)
    after = {each.partition: each.offset for each in broker.read(topic)}
    assert found.partitions == len([each for each in after if after[each] != before[each]])


@pytest.mark.parametrize(("codec", "name"), [(3, "lz4"), (4, "zstd")])
def test_the_generator_sends_so_many_requests_compressed_too(
    broker: oncelog.Broker, codec: int, name: str
) -> None:
    topic = broker.topic(f"packed-{name}")
    found = load.produce(broker.bootstrap, topic, record_bytes=1000, codec=codec, most=7)
    assert (found.done, found.records, found.bytes) == (7, 7 * 16, 7 * 16_000)
    assert len(broker.read(topic)) == 7 * 16
    assert {len(each.value or b"") for each in broker.read(topic)} == {1000}
    (log,) = (Path(broker.data_dir) / f"{topic}-0").glob("*.log")
    header = read_header(log.read_bytes()[:HEADER_BYTES])
    assert header.attributes & 7 == codec
    assert log.stat().st_size < found.bytes / 2


def test_percentiles_of_several_runs_are_of_all_their_transactions() -> None:
    def run(*latencies: int) -> load.Loaded:
        return load.Loaded(1.0, 1, 1, 1, 0, 0.0, {}, {}, {}, latency_each=list(latencies), end_each=[1])

    found = load.pooled([run(*range(1, 501)), run(*range(501, 1001))])
    assert found.latency_us == {"p50": 501, "p99": 991, "p999": 1000, "max": 1000}
    assert found.end_us["p50"] == 1
    assert "latency_each" not in found.plain()


def test_librdkafka_is_a_load_too(broker: oncelog.Broker) -> None:
    pytest.importorskip("confluent_kafka")
    topic = broker.topic("by-librdkafka", partitions=2)
    found = load.librdkafka(broker.bootstrap, topic, partitions=2, record_bytes=100, linger_ms=0, seconds=0.2)
    assert len(broker.read(topic)) == found.records + 2  # one in each partition before the clock ran


def test_librdkafka_writes_transactions_too(broker: oncelog.Broker) -> None:
    pytest.importorskip("confluent_kafka")
    topic = broker.topic("by-librdkafka-txn", partitions=2)
    found = load.librdkafka(
        broker.bootstrap, topic, partitions=2, record_bytes=100, linger_ms=0, seconds=0.2, records=7
    )
    assert found.done > 0
    assert found.records == found.done * 7
    assert len(broker.read(topic)) == found.records + 2  # one in each partition before the clock ran


def test_an_answer_that_is_no_success_ends_it(broker: oncelog.Broker) -> None:
    topic = broker.topic("small", configs={"max.message.bytes": 100})
    with pytest.raises(CannotMeasure, match="Produce answered 10"):
        load.produce(broker.bootstrap, topic, record_bytes=1000, seconds=0.2)


def test_the_command_writes_json_table_and_chart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "eos", "--quick", "--only", "16 KB", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "eos.json").read_text())
    assert {each["cell"] for each in found["runs"]} == {
        "plain produce, acks=1, 1 KB, 16 KB batches, 10 producers",
        "idempotent produce, 1 KB, 16 KB batches, 10 producers",
        "idempotent produce, 1 KB, 16 KB batches",
        "idempotent produce, 1 KB, 16 KB batches, lz4",
        "idempotent produce, 1 KB, 16 KB batches, zstd",
        "idempotent produce, 100 B, 16 KB batches",
        "resident memory, idle",
        "resident memory, under load",
    }
    assert found["table"][0]["figure"].startswith("plain produce, acks=1")
    assert "s/GB" in capsys.readouterr().out
    assert (tmp_path / "eos.svg").read_text().startswith("<svg")
    assert {"cores", "cpu", "file_system"} <= set(found["machine"])
    assert "hot.path=native" in found["sides"]["oncelog"]
    assert found["clients"]["generator"].startswith("src/oncelog/cost/loadgen.c")


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
    ("ours", "more", "said"),
    [
        (200.0, {}, "2.00x (2.00..2.00) holds"),
        (90.0, {}, "0.90x (0.90..0.90) **missed**"),
        (90.0, {"at_least": 0.8}, "0.90x (0.90..0.90) holds **we lose**"),
        (90.0, {"at_least": None}, "0.90x (0.90..0.90) **we lose**"),
        (90.0, {"better": "lower"}, "0.90x (0.90..0.90) holds"),
        (150.0, {"better": "lower"}, "1.50x (1.50..1.50) **missed**"),
    ],
)
def test_a_loss_is_printed_as_a_loss(ours: float, more: dict[str, Any], said: str) -> None:
    runs = [run_of("oncelog", ours, 1, **more), run_of("other", 100.0, 1, **more)]
    (row,) = report.table({"runs": runs})
    assert row["ratio"] == said
    assert row["broker CPU"] == "1,000 / 1,000 us/txn"


def test_each_form_of_ours_stands_beside_the_tuned_kafka_with_bar_and_aim() -> None:
    values = {"oncelog": 200.0, "oncelog, hot.path=python": 90.0, "Apache Kafka": 50.0, eos.TUNED_NAME: 100.0}
    found = {"runs": [run_of(side, value, 1, aim=3.0) for side, value in values.items()]}
    (row,) = report.table(found)
    assert list(row) == report.columns(found)
    assert (row["native"], row["python"], row["Kafka"], row["tuned Kafka"]) == (
        "200",
        "90.00",
        "50.00",
        "100",
    )
    assert row["ratio, native"].endswith(" holds")
    assert row["ratio, python"] == "0.90x (0.90..0.90) **missed**"
    assert row["bar (aim)"] == ">= 1x (3x)"
    assert report.losing(found, "oncelog") == []
    assert [each.cell for each in report.losing(found, "oncelog, hot.path=python")] == ["c"]
    assert report.chart(found).count("<rect") == 3


def test_clients_cpu_stands_apart_from_the_brokers() -> None:
    runs = [
        run_of("oncelog", 1.0, 1, client_cpu_seconds=0.5),
        run_of("other", 1.0, 1, client_cpu_seconds=0.25),
    ]
    (row,) = report.table({"runs": runs})
    assert row["client CPU"] == "500 / 250 us/txn"


def pooled(side: str, value: float, samples: int = 5000) -> dict[str, Any]:
    return {"cell": "c", "side": side, "value": value, "samples": samples}


def test_the_table_shows_percentiles_of_all_rounds_together_and_judges_by_them() -> None:
    """By single rounds 0.5x in the middle, by all of them 2x: what stands in the row is what is judged."""
    more = {"better": "lower", "unit": "ms"}
    ours = [run_of("oncelog", each, number, **more) for number, each in enumerate((5.0, 5.0, 70.0))]
    theirs = [run_of("other", 10.0, number, **more) for number in range(3)]
    found = {"runs": ours + theirs, "pooled": [pooled("oncelog", 20.0), pooled("other", 10.0)]}
    (row,) = report.table(found)
    assert (row["oncelog" if "oncelog" in row else "native"], row["other"]) == ("20.00", "10.00")
    assert row["ratio"] == "2.00x (0.50..7.00) **missed**"
    (without,) = report.table({"runs": ours + theirs})
    assert without["ratio"] == "0.50x (0.50..7.00) holds"


def test_a_p999_of_few_samples_is_no_figure() -> None:
    runs = [run_of(side, 1.0, 1, cell="c, p99.9") for side in ("oncelog", "other")]
    for samples, rows in ((5000, 1), (4999, 0)):
        of_all = [
            {**pooled("oncelog", 1.0), "cell": "c, p99.9"},
            {**pooled("other", 1.0, samples), "cell": "c, p99.9"},
        ]
        assert len(report.table({"runs": runs, "pooled": of_all})) == rows
        assert (
            len(report.table({"runs": [{**each, "cell": "c, p99"} for each in runs], "pooled": of_all})) == 1
        )


@pytest.mark.parametrize(
    ("rounds", "other_load", "doubts"),
    [
        (5, 0.1, []),
        (1, 0.1, ["1 of 5 rounds"]),
        (5, 0.6, ["others kept 60% of the machine busy"]),
    ],
)
def test_a_look_is_told_from_a_measurement(rounds: int, other_load: float, doubts: list[str]) -> None:
    runs = [run_of("oncelog", 1.0, number, other_load=other_load) for number in range(rounds)]
    assert report.doubts({"rounds": rounds, "runs": runs}) == doubts
    runs[0]["other_load"] = 0.9
    assert report.busiest({"rounds": rounds, "runs": runs}) == 0.9


def test_at_full_load_a_p99_is_a_multiple_of_the_same_side_s_first_row() -> None:
    """Latencies of two sides may be compared at equal load only."""
    runs = [
        {
            **run_of(side, 1.0, 1, records=1000, seconds=1.0, latency_us={"p99": first * times}),
            "cell": benchmarks_doc.SEED[number][1],
        }
        for side, first in (("oncelog", 2000), ("Apache Kafka", 5000))
        for number, times in enumerate((1, 3))
    ]
    said = benchmarks_doc.per_record({"runs": runs})
    assert "| acks=1, no retries recognised | 1.0x |  | 1.0x |  |" in said
    assert "| acks=all, idempotent | 3.0x |  | 3.0x |  |" in said
    assert " ms" not in said


def test_the_steps_inside_the_broker_say_of_when_and_of_what_they_are() -> None:
    one = {"tree": "now", "case": "c", "round": 0, "steps": 10, "cpu_us": 1.0}
    found: dict[str, Any] = {"rounds": 2, "python": "3.11.7", "runs": [one]}
    assert benchmarks_doc.steps(found).endswith(
        "| c | now | 10 | 1 (to 1) |"
    )  # a file of before says nothing
    where = {"cores": 2, "cpu": "a cpu", "file_system": "ext4"}
    found |= {"machine": where, "when": "2026-11-20T00:00", "commits": {"before": None, "now": "abc1234"}}
    assert benchmarks_doc.steps(found).endswith(
        "\n\n2 rounds, 2026-11-20T00:00; 2 cores, a cpu, ext4, Python 3.11.7; commits: before of no checkout, now abc1234."
    )


class Failing:
    """A load that fails so many times with these words before it succeeds."""

    def __init__(self, times: int, words: str) -> None:
        self.left, self.words = times, words

    def __call__(self, bootstrap: str, topic: str, seconds: float) -> load.Loaded:
        del bootstrap, topic
        self.left -= 1
        if self.left >= 0:
            raise CannotMeasure(self.words)
        return load.Loaded(seconds, 1, 1, 1, 0, 0.0, {}, {}, {})


@pytest.mark.parametrize(
    ("times", "words", "turn", "tries"),
    [
        (0, "", 1, 1),
        (1, "any reason", 1, 2),
        (2, "any reason", 1, None),
        (2, "Produce answered 6", 1, None),
        (5, "Produce answered 6", 0, 6),  # a new partition has no leader yet
    ],
)
def test_a_run_that_fails_is_tried_once_more(times: int, words: str, turn: int, tries: int | None) -> None:
    found = eos.Result({}, "1", 1, 1.0)
    run = Failing(times, words)
    cell = eos.Cell(1, run, eos.rate_of("c"))
    eos._one(found, cell, RunningSide("127.0.0.1:1"), "t", turn, 0.1, Progress(lambda _: None, 1))  # pyright: ignore[reportPrivateUsage]
    assert found.troubles == ([] if tries else [f"c, 127.0.0.1:1, round {turn}: {words}"])
    assert [each["tries"] for each in found.runs] == ([tries] if tries and turn else [])
    assert run.left == -1 if tries else run.left == 0


def names_of(*, power: bool) -> set[str]:
    return {figure.name for cell in eos.cells(power=power) for figure in cell.figures}


def test_with_a_sync_before_every_answer_there_are_fewer_rows_at_lower_rates_and_one_has_a_bar() -> None:
    slower = names_of(power=False)
    for process, power in (
        ("at 100 txn/s", "at 20 txn/s"),
        ("at 1,000 txn/s", "at 100 txn/s"),
        ("at 500", "at 100"),
    ):
        slower = {each.replace(process, power) for each in slower}
    assert names_of(power=True) < slower
    left_out = slower - names_of(power=True)
    assert all("100 B" in each or "open for" in each or "12 partitions" in each for each in left_out)
    found = eos.Result({}, "1", 1, 1.0, power=True)
    for cell in eos.cells(power=True):
        eos._one(  # pyright: ignore[reportPrivateUsage]
            found, eos.Cell(1, Failing(0, ""), tuple(f for f in cell.figures if f.unit != "ms")),
            RunningSide("127.0.0.1:1"), "t", 1, 0.1, Progress(lambda _: None, 1),
        ) if cell.figures[0].unit != "ms" else None  # fmt: skip
    assert {each["cell"]: each["at_least"] for each in found.runs if each["at_least"]} == eos.POWER_BARS


def named(*names: str) -> list[sides.Side]:
    made = [RunningSide("127.0.0.1:1") for _ in names]
    for each, name in zip(made, names, strict=True):
        each.name = name
    return list(made)


def test_the_rows_of_the_seed_have_the_same_producers_and_both_kafkas() -> None:
    all_sides = named("oncelog", eos.TUNED_NAME)
    wanted = [cell for _, cell in benchmarks_doc.SEED]
    rows = [cell for cell in eos.cells() if cell.figures[0].name in wanted]
    assert [cell.figures[0].name for cell in rows] == [*wanted[:1:-1], *wanted[:2]]
    assert {cell.partitions for cell in rows} == {12}
    assert all(eos._asked(cell, all_sides) == all_sides for cell in rows)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("power", "seconds", "names", "minutes"),
    [
        (False, 1.0, ("oncelog", eos.PYTHON_NAME, "Apache Kafka", eos.TUNED_NAME), 27),
        (True, 0.8, ("oncelog, durability=power", "Apache Kafka, flush.messages=1"), 11.5),
    ],
)
def test_a_measurement_of_five_rounds_takes_half_an_hour_or_less(
    power: bool, seconds: float, names: tuple[str, ...], minutes: float
) -> None:
    """Without restarts, which are four minutes."""
    assert eos.expected_seconds(eos.cells(power=power), named(*names), 5, seconds) < 60 * minutes


def test_every_number_of_producers_has_a_latency() -> None:
    for rate, many in (
        ("50", "1 producer"),
        ("500", "10 producers"),
        ("1,000", "50 producers"),
        ("1,000", "200 producers"),
    ):
        for what in ("whole transaction", "EndTxn"):
            for share in ("p50", "p99", "p99.9"):
                assert f"{what}, {share} at {rate} txn/s, {many}" in names_of(power=False)


def test_what_a_run_needs_is_written_before_its_cpu_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def cpu(process_id: int | None) -> float:
        del process_id
        order.append("cpu")
        return 1.0

    def run(bootstrap: str, topic: str, seconds: float) -> load.Loaded:
        del bootstrap, topic
        order.append("run")
        return load.Loaded(seconds, 1, 1, 1, 0, 0.0, {}, {}, {})

    monkeypatch.setattr(eos, "cpu_seconds", cpu)
    cell = eos.Cell(1, run, eos.rate_of("c"), prepare=lambda bootstrap, topic: order.append("prepare"))  # noqa: ARG005
    found = eos.Result({}, "1", 1, 1.0)
    eos._one(found, cell, RunningSide("127.0.0.1:1"), "t", 1, 0.1, Progress(lambda _: None, 1))  # pyright: ignore[reportPrivateUsage]
    assert order == ["prepare", "cpu", "run", "cpu"]


@pytest.mark.parametrize(
    ("name", "partitions", "record_bytes"), [("12 partitions", 12, 1024), ("100 B", 1, 100)]
)
def test_a_fetch_reads_what_was_written_in_all_partitions(
    broker: oncelog.Broker, monkeypatch: pytest.MonkeyPatch, name: str, partitions: int, record_bytes: int
) -> None:
    monkeypatch.setattr(eos, "FETCHED_BYTES", (12 if partitions > 1 else 1) * 1_000_000)
    (cell,) = (each for each in eos.cells() if f"fetch of cached data, {name}" in each.figures[0].name)
    topic = broker.topic(f"fetched-{partitions}", partitions=partitions)
    cell.prepare(broker.bootstrap, topic)
    found = cell.run(broker.bootstrap, topic, 0.5)
    read = broker.read(topic)
    assert {each.partition for each in read} == set(range(partitions))
    assert {len(each.value or b"") for each in read} == {record_bytes}
    assert found.bytes > 0


def test_the_log_of_a_start_is_written_when_all_partitions_are_led(
    broker: oncelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = broker.topic("led", partitions=3)
    real, left = load.produce, [2]

    def not_yet(*words: Any, **more: Any) -> load.Loaded:
        left[0] -= 1
        if left[0] >= 0:
            raise CannotMeasure("produce: loadgen: Produce answered 6")
        return real(*words, **more)

    monkeypatch.setattr(load, "produce", not_yet)
    eos.wait_for_leaders(broker.bootstrap, topic, 3)
    assert sorted(each.partition for each in broker.read(topic)) == [0, 1, 2]
    left[0] = 1
    monkeypatch.setattr(eos, "LEADER_LIMIT_S", -1)
    with pytest.raises(CannotMeasure, match="answered 6"):
        eos.wait_for_leaders(broker.bootstrap, topic, 3)


class Standing:
    """A Kafka that starts at once and commits at once."""

    def __init__(self, name: str) -> None:
        self.name, self.bootstrap, self.process_id = name, "127.0.0.1:1", os.getpid()
        self.ends: list[str] = []

    def start(self) -> None: ...
    def halt(self) -> None:
        self.ends.append("halt")

    def kill(self) -> None:
        self.ends.append("kill")

    def stop(self) -> None: ...
    def another(self) -> "Standing":
        return self

    def log_bytes(self) -> int:
        return 1

    def described(self) -> str:
        return ""


def test_recovery_stands_beside_a_kafka_that_does_not_wait_for_its_old_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = {"oncelog": 0.5, "Apache Kafka": 12.0, eos.SHORT_SESSION_NAME: 4.0}
    monkeypatch.setattr(eos, "_fill", lambda side, log_bytes: None)  # noqa: ARG005  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    monkeypatch.setattr(eos, "_start", lambda side: seconds[side.name])  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType, reportUnknownLambdaType]
    found = eos.Result({}, "1", 2, 1.0)
    ours, kafka, short = (Standing(each) for each in seconds)
    both = (eos.DEFAULT_SESSION, eos.ONE_SECOND)
    fresh = [
        eos.Restarted(ours, "oncelog", stops=True, recovers=both),
        eos.Restarted(kafka, "Apache Kafka", stops=True, recovers=both[:1]),
        eos.Restarted(short, "Apache Kafka", stops=False, recovers=both[1:]),
    ]
    eos._restarts(found, fresh, 2, 1 << 30, Progress(lambda _: None, 1))  # pyright: ignore[reportPrivateUsage]
    rows = {row["figure"]: row for row in report.table(found.plain())}
    recovered = f"{eos.RECOVERED}, 1 GiB of log"
    assert rows[f"{recovered}{eos.DEFAULT_SESSION}, s"]["Kafka"] == "12.00"
    assert rows[f"{recovered}{eos.ONE_SECOND}, s"]["Kafka"] == "4.00"
    assert rows[f"{recovered}{eos.ONE_SECOND}, s"]["ratio"].startswith("0.12x")
    assert rows[f"{eos.STARTED}, 1 GiB of log, s"][report.WANTED] == "<= 0.2x (0.05x)"
    assert short.ends == ["kill", "kill"]
    assert ours.ends == ["halt", "kill"] * 2


def test_the_most_memory_is_counted_anew_for_each_run() -> None:
    code = (
        "import sys\nx = bytearray(b'x') * (200 << 20)\nprint(1, flush=True)\nsys.stdin.readline()\n"
        "del x\nprint(2, flush=True)\nsys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        assert (sides.peak_mb(child.pid) or 0) > 200
        child.stdin.write(b"\n")
        child.stdin.flush()
        child.stdout.readline()
        assert (sides.peak_mb(child.pid) or 0) > 200
        sides.forget_peak(child.pid)
        assert (sides.peak_mb(child.pid) or 0) < 100
        child.stdin.close()


def test_a_broker_that_is_started_is_no_other_load() -> None:
    noise = sides.OtherLoad(None)
    code = "import time\nwhile time.process_time() < 0.5: pass\nprint(1, flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        assert noise.share() - noise.share(child.pid) > 0.1 / (os.cpu_count() or 1)
        child.stdin.close()


def test_free_memory_is_filled_and_only_where_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "meminfo"
    monkeypatch.setattr(page_cache, "MEMORY", told)
    monkeypatch.setattr(page_cache, "LEFT_BYTES", 1 << 20)
    monkeypatch.setattr(page_cache, "WORTH_BYTES", 1 << 20)
    cache = page_cache.PageCache()
    assert cache.fill() == 0  # nobody says how much is free
    told.write_text("MemTotal:  9999999 kB\nMemFree:  1500 kB\n")
    assert cache.fill() == 0  # not worth it
    told.write_text("MemFree:  9216 kB\n")
    assert cache.fill() >= 8 << 20
    assert [cache.fill() > 0 for _ in range(4)] == [True, True, False, False]  # it stays free: in vain
    cache.close()


def test_curves_are_drawn() -> None:
    points = [
        {"curve": f"c{curve}", "counts": "producers", "per": "transaction", "point": point, "round": 1, "cpu_us": 100.0 + point}
        for curve in range(4)
        for point in (1, 10)
    ]  # fmt: skip
    drawn = scaling.chart({"runs": points})
    assert drawn.count("<polyline") == 4
    assert drawn.startswith("<svg")
    assert "c3: CPU per transaction, times the first" in drawn


def test_curves_are_written_with_their_spread() -> None:
    points = [
        {"curve": "c", "counts": "producers", "per": "transaction", "point": point, "round": turn, "cpu_us": cost,
         "done": 1000, "seconds": 2.0, "other_load": 0.5}
        for point, costs in ((1, (100.0, 120.0, 90.0)), (10, (200.0, 210.0, 220.0)))
        for turn, cost in enumerate(costs)
    ]  # fmt: skip
    said = scaling.markdown({"rounds": 3, "seconds": 2.0, "runs": points})
    assert "| 1 | 100 (90..120) | 1.00 (1.00..1.00) | 500 |" in said
    assert "| 10 | 210 (200..220) | 2.00 (1.75..2.44) | 500 |" in said


def test_a_machine_that_grows_faster_does_not_look_like_a_cost_that_falls() -> None:
    points = [
        {"curve": "c", "counts": "open", "per": "transaction", "point": point, "round": turn, "cpu_us": cost * speed,
         "done": 1000, "seconds": 2.0, "other_load": 0.5}
        for turn, speed in enumerate((1.0, 1.0, 0.5))
        for point, cost in ((0, 80.0), (1000, 88.0))
    ]  # fmt: skip
    assert scaling.growth(points) == {0: [1.0, 1.0, 1.0], 1000: [1.1, 1.1, 1.1]}
    without_first = [each for each in points if (each["point"], each["round"]) != (0, 2)]
    assert scaling.growth(without_first) == {0: [1.0, 1.0], 1000: [1.1, 1.1]}


def test_a_start_with_a_log_is_measured_after_a_stop_and_after_a_kill() -> None:
    """Of a broker of its own: what the cells wrote is not part of its log."""
    side = OncelogSide()
    found = eos.measure(
        [side],
        rounds=2,
        seconds=0.2,
        only="first committed",
        tell=print,
        log_bytes=8 << 20,
    )
    told = {each["cell"]: each["value"] for each in found.runs}
    assert 0 < told["start to the first committed transaction, 0.00781 GiB of log"] < 30
    assert 0 < told["recovery after kill -9 to the first committed transaction, 0.00781 GiB of log"] < 30
    sizes = [each["log_bytes"] for each in found.runs if "log_bytes" in each]
    assert len(sizes) == 4
    assert 8 << 20 <= min(sizes) <= max(sizes) < 1.1 * (8 << 20)
    idle = [each for each in found.runs if each["cell"] == "resident memory, idle"]
    assert [each["round"] for each in idle] == [1, 2]
    assert found.troubles == []


def test_a_measurement_does_not_make_the_next_one_dirty(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=tmp_path, check=True)

    assert eos.commit(tmp_path) is None
    files = [tmp_path / each for each in ("bench/results/eos.json", "src/code.py")]
    for each in files:
        each.parent.mkdir(parents=True)
        each.write_text("1")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "x")
    clean = eos.commit(tmp_path)
    assert clean is not None
    files[0].write_text("2")
    assert eos.commit(tmp_path) == clean
    files[1].write_text("2")
    assert eos.commit(tmp_path) == f"{clean}-dirty"


@pytest.mark.parametrize(("is_root", "wanted"), [(True, "True"), (False, "False")])
def test_the_console_script_finds_what_a_checkout_has(is_root: bool, wanted: str, tmp_path: Path) -> None:
    """Other than `python -m oncelog.cli.main`, it has no working directory on its path (-P)."""
    program = "from oncelog.cost.checkout import has_checkout; print(has_checkout('tests.oracle'))"
    where = ROOT if is_root else tmp_path
    words = [sys.executable, "-P", "-c", program]
    assert (
        subprocess.run(words, cwd=where, capture_output=True, text=True, check=True).stdout.strip() == wanted
    )


def installed(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`oncelog WORDS` as pip installs it: the package alone, and a working directory that is no checkout."""
    site = tmp_path / "site"
    shutil.copytree(ROOT / "src" / "oncelog", site / "oncelog", ignore=shutil.ignore_patterns("__pycache__"))
    program = "import sys; from oncelog.cli.main import main; sys.exit(main(sys.argv[1:]))"
    home = tmp_path / "home"
    home.mkdir()
    return subprocess.run(
        [sys.executable, "-P", "-c", program, *words],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("more", [[], ["--redraw"]])
def test_bench_spark_of_an_installed_wheel_says_what_is_wanted(tmp_path: Path, more: list[str]) -> None:
    said = installed(tmp_path, "bench", "spark", *more)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.startswith(
        "oncelog: bench spark: wanted a checkout of oncelog as the working directory, for bench/spark.py, which"
    )
    assert said.stderr.endswith(f"'make bench-spark' there does the same, found none in {tmp_path}/home\n")


def test_bench_spark_names_what_its_python_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec

    def found(name: str) -> object | None:
        return None if name in ("pyspark", "confluent_kafka") else find(name)

    monkeypatch.setattr(importlib.util, "find_spec", found)
    assert main(["bench", "spark"]) == 1
    assert (
        "wanted pyspark, confluent_kafka of the checkout's requirements, found none"
        in capsys.readouterr().err
    )


def test_what_is_asked_of_bench_spark_is_what_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def run(words: list[str], *, check: bool) -> SimpleNamespace:
        assert not check
        asked.append(words[1:])
        return SimpleNamespace(returncode=7)

    monkeypatch.setattr(bench, "subprocess", SimpleNamespace(run=run))
    assert main(["bench", "spark", "--rounds", "2", "--only", "read", "copy", "--out", "o"]) == 7
    assert main(["bench", "spark", "--redraw", "--out", "o"]) == 7
    assert asked == [
        ["-m", "bench.spark", "--rounds", "2", "--scale", "1.0", "--out", "o", "--only", "read", "copy"],
        ["-m", "bench.spark_report", "o"],
    ]


def test_tables_and_charts_are_made_once_more_of_the_raw_files_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "eos", "--redraw", "--out", str(tmp_path)]) == 1
    assert "wanted eos.json, eos-power.json, eos-scaling.json in" in capsys.readouterr().err
    names = ("eos-power", "eos-scaling")
    for name in names:
        shutil.copy(ROOT / "bench/results" / f"{name}.json", tmp_path)
    assert main(["bench", "eos", "--redraw", "--out", str(tmp_path)]) == 0
    for name in names:
        for kind in ("md", "svg"):
            made = (tmp_path / f"{name}.{kind}").read_text()
            assert made == (ROOT / "bench/results" / f"{name}.{kind}").read_text()
    assert not (tmp_path / "eos.svg").exists()


def test_cells_that_are_measured_again_take_their_place() -> None:
    settings: dict[str, Any] = {
        "machine": {},
        "rounds": 1,
        "seconds": 1.0,
        "power": False,
        "oncelog": "1",
        "troubles": ["a, x: no"],
    }
    old = {
        **settings,
        "runs": [{"cell": "a", "value": 1}, {"cell": "b", "value": 2}, {"cell": "b", "value": 3}],
    }
    new = {**settings, "runs": [{"cell": "b", "value": 4}, {"cell": "c", "value": 5}], "troubles": []}
    found = report.merged(old, new)
    assert [(each["cell"], each["value"]) for each in found["runs"]] == [("a", 1), ("b", 4), ("c", 5)]
    assert found["troubles"] == ["a, x: no"]
    with pytest.raises(CannotMeasure, match=r"seconds: the file has 1.0, this run 2.0"):
        report.merged(old, {**new, "seconds": 2.0})


def test_an_interrupted_measurement_keeps_what_it_has() -> None:
    def tell(line: str) -> None:
        if line.startswith("[##########....") and "acks=1" in line:  # the second of four steps, round 1
            raise KeyboardInterrupt

    found = eos.measure([OncelogSide()], rounds=3, seconds=0.1, only="acks=1", tell=tell, warm_up=0.2)
    assert [each["round"] for each in found.runs if each["unit"] == "MB/s"] == []
    assert found.troubles == ["interrupted: later cells and rounds are missing"]
