"""The judges: a perfect output pleases them, and every way to spoil it is called by its name."""

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as RdTopicPartition

import oncelog
from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.easy import read_all, write_all
from oncelog.client.visible import ReadRecord
from oncelog.model import TopicPartition
from oncelog.pipelines import PIPELINES, feed
from oncelog.pipelines.proof import HOUR_MS, LATENESS_MS, REVIEW_FROM, Logs, Verdict, read_logs

Rows = list[dict[str, Any]]


def records(topic: str, rows: Iterable[dict[str, Any]]) -> list[ReadRecord]:
    return [
        ReadRecord(topic, 0, offset, 0, None, json.dumps(row).encode()) for offset, row in enumerate(rows)
    ]


def fed(topic: str, make: feed.Make, count: int) -> list[ReadRecord]:
    rows = [make(1, number) for number in range(count)]
    return [ReadRecord(topic, 0, at, 0, row.key, row.value) for at, row in enumerate(rows)]


def fields(record: ReadRecord) -> dict[str, Any]:
    return json.loads(record.value or b"")


def judged(name: str, done: Sequence[ReadRecord], **outputs: Sequence[ReadRecord]) -> Verdict:
    """Keywords are topics, with _ for -."""
    named = {topic.replace("_", "-"): log for topic, log in outputs.items()}
    tables = {topic: fed(topic, make, count) for topic, (make, count) in PIPELINES[name].tables.items()}
    return PIPELINES[name].judge(name, Logs(done, 0, named, tables))


def bad(verdict: Verdict) -> dict[str, int | None]:
    names = ("duplicates", "lost", "torn", "wrong", "pending")
    return {name: getattr(verdict, name) for name in names if getattr(verdict, name)}


# Refunds

SETTLEMENTS = fed("settlements", feed.settlement, 40)
REFUNDS: Rows = [
    {
        "settlement_id": row["settlement_id"],
        "merchant": row["merchant"],
        "amount": row["amount"] * row["returned_percent"] // 100,
    }
    for row in map(fields, SETTLEMENTS)
    if row["outcome"] == "returned"
]


def refunds(emitted: Rows, audit: Rows) -> Verdict:
    return judged(
        "refunds",
        SETTLEMENTS,
        refunds_emitted=records("refunds-emitted", emitted),
        refund_audit=records("refund-audit", audit),
    )


def test_refunds_as_they_should_be() -> None:
    verdict = refunds(REFUNDS, REFUNDS[::-1])
    assert verdict.holds
    assert (verdict.rows_in, verdict.rows_out) == (
        40,
        {"refunds-emitted": len(REFUNDS), "refund-audit": len(REFUNDS)},
    )
    assert 0 < len(REFUNDS) < 40
    assert bad(verdict) == {}


@pytest.mark.parametrize(
    ("emitted", "audit", "expected"),
    [
        (REFUNDS + REFUNDS[:3], REFUNDS, {"duplicates": 3}),
        (REFUNDS + REFUNDS[:3], REFUNDS + REFUNDS[:2], {"duplicates": 5}),
        (REFUNDS[1:], REFUNDS[1:], {"lost": 2}),
        (REFUNDS[1:], REFUNDS, {"lost": 1, "torn": 1}),
        (REFUNDS, REFUNDS[:-2], {"lost": 2, "torn": 2}),
        (
            REFUNDS,
            [*REFUNDS, {"settlement_id": "S-x", "merchant": "m", "amount": 1}],
            {"wrong": 1, "torn": 1},
        ),
        ([{**REFUNDS[0], "amount": 1}, *REFUNDS[1:]], REFUNDS, {"lost": 1, "wrong": 1, "torn": 2}),
        ([*REFUNDS, {}], REFUNDS, {"wrong": 1, "torn": 1}),
    ],
)
def test_refunds_spoiled(emitted: Rows, audit: Rows, expected: dict[str, int]) -> None:
    verdict = refunds(emitted, audit)
    assert bad(verdict) == expected
    assert not verdict.holds


# Router


def routed(name: str, rows: Iterable[ReadRecord]) -> list[ReadRecord]:
    return [replace(each, topic=name) for each in rows]


def test_router() -> None:
    source = fed("t1", feed.transfer, 60)
    large = [each for each in source if fields(each)["amount"] >= REVIEW_FROM]
    small = [each for each in source if each not in large]
    assert large
    assert small
    t2, t3 = routed("t2", small), routed("t3", large)
    assert judged("router", source, t2=t2, t3=t3).holds
    assert bad(judged("router", source, t2=t2, t3=[*t3, t3[0]])) == {"duplicates": 1}
    assert bad(judged("router", source, t2=t2[1:], t3=t3)) == {"lost": 1}
    misled = routed("t3", small[:1])
    assert bad(judged("router", source, t2=t2[1:], t3=t3 + misled)) == {"lost": 1, "wrong": 1}
    changed = [replace(t2[0], value=b'{"amount": 0}'), *t2[1:]]
    assert bad(judged("router", source, t2=changed, t3=t3)) == {"lost": 1, "wrong": 1}


# Enrichment


def test_enrichment() -> None:
    source = fed("orders", feed.order, 300)
    table = {row["customer"]: row for row in map(fields, fed("customers", feed.customer, feed.CUSTOMERS))}
    rows: Rows = []
    for row in map(fields, source):
        known = table.get(row["customer"], {})
        rows.append({**row, **{name: known[name] for name in ("tier", "region") if name in known}})
    assert any("tier" not in row for row in rows)

    def verdict(found: Rows) -> Verdict:
        return judged("enrichment", source, orders_enriched=records("orders-enriched", found))

    assert verdict(rows).holds
    assert bad(verdict([*rows, rows[0]])) == {"duplicates": 1}
    assert bad(verdict(rows[1:])) == {"lost": 1}
    assert bad(verdict([{**rows[0], "tier": "gold"}, *rows[1:]])) == {"lost": 1, "wrong": 1}


# Clicks

CLICKS = fed("clicks", feed.click, 900)  # five hours


def counted(rows: Sequence[ReadRecord]) -> dict[tuple[str, int], int]:
    counts: dict[tuple[str, int], int] = {}
    for row in map(fields, rows):
        key = row["user"], row["at_ms"] - row["at_ms"] % HOUR_MS
        counts[key] = counts.get(key, 0) + 1
    return counts


def told(counts: dict[tuple[str, int], int]) -> Rows:
    return [{"user": user, "hour_ms": hour, "clicks": count} for (user, hour), count in counts.items()]


def updates(rows: Rows) -> Verdict:
    return judged("clicks", CLICKS, clicks_per_hour=records("clicks-per-hour", rows))


def test_clicks_in_update_mode() -> None:
    early, all_of_them = counted(CLICKS[:400]), counted(CLICKS)
    later = {key: count for key, count in all_of_them.items() if count != early.get(key)}
    rows = told(early) + told(later)
    assert updates(rows).holds
    assert bad(updates(told(early) + rows)) == {"duplicates": len(early)}
    assert bad(updates(told(early)))["lost"] == 500
    last = rows[-1]
    assert bad(updates([*rows, {**last, "clicks": last["clicks"] + 1}])) == {"duplicates": 1}
    assert bad(updates([*rows, {"user": "u-x", "hour_ms": 0, "clicks": 1}])) == {"wrong": 1}


def final(rows: Rows, *, drained: bool = True) -> Verdict:
    logs = Logs(CLICKS, 0, {"clicks-per-hour-final": records("x", rows)}, {}, drained)
    return PIPELINES["clicks-final"].judge("clicks-final", logs)


def test_clicks_in_append_mode() -> None:
    watermark = max(fields(each)["at_ms"] for each in CLICKS) - LATENESS_MS
    counts = counted(CLICKS)
    rows = told({key: count for key, count in counts.items() if key[1] + HOUR_MS <= watermark})
    too_early = told({key: count for key, count in counts.items() if key[1] + HOUR_MS > watermark})
    assert rows
    assert too_early
    assert final(rows).holds
    assert bad(final([*rows, rows[0]])) == {"duplicates": 1}
    assert bad(final(rows[1:])) == {"lost": 1}
    assert bad(final(rows[1:], drained=False)) == {"pending": 1}
    assert final(rows[1:], drained=False).holds
    assert bad(final([*rows, too_early[0]])) == {"wrong": 1}
    assert bad(final([{**rows[0], "clicks": 0}, *rows[1:]])) == {"lost": 1, "wrong": 1}


# From the broker


def test_only_input_below_the_committed_source_offsets_counts_as_done() -> None:
    with oncelog.Broker() as broker, Cluster(broker.bootstrap) as cluster:
        for topic in ("settlements", "refunds-emitted", "refund-audit"):
            broker.topic(topic)
        write_all(broker.bootstrap, "settlements", [each.value or b"" for each in SETTLEMENTS])
        Admin(cluster).commit_offsets("pipeline-refunds", {TopicPartition("settlements", 0): 30})

        def verdict(group: str | None, *, drained: bool) -> Verdict:
            outputs = PIPELINES["refunds"].outputs
            logs = read_logs(broker.bootstrap, "settlements", outputs, group=group, drained=drained)
            return PIPELINES["refunds"].judge("refunds", logs)

        first = sum(fields(each)["outcome"] == "returned" for each in SETTLEMENTS[:30])
        assert bad(verdict("pipeline-refunds", drained=True)) == {"lost": 2 * first, "pending": 10}
        assert verdict(None, drained=True).lost == 2 * len(REFUNDS)
        assert verdict("a group that never committed", drained=False).holds  # nothing done, nothing written
        assert not verdict("a group that never committed", drained=True).holds
        # Output for input that is not done yet: the two were not written in one transaction.
        spoilt = json.dumps(REFUNDS[-1]).encode()
        write_all(broker.bootstrap, "refunds-emitted", [spoilt])
        assert verdict("a group that never committed", drained=False).wrong == 1


GROUP = PIPELINES["refunds"].transactional_id


class Running:
    """A pipeline that runs while somebody counts: each step is a transaction of rows in both topics and the source offsets."""

    def __init__(self, broker: oncelog.Broker) -> None:
        self.bootstrap = broker.bootstrap
        for topic in PIPELINES["refunds"].topics:
            broker.topic(topic)
        write_all(self.bootstrap, "settlements", [each.value or b"" for each in SETTLEMENTS])
        settings = {"bootstrap.servers": self.bootstrap, "log_level": 0}
        self._group = Consumer({**settings, "group.id": GROUP})
        self._producer = Producer({**settings, "transactional.id": GROUP})
        self._producer.init_transactions(30)
        self.done = 0

    def step(self) -> None:
        """Five settlements."""
        some, self.done = SETTLEMENTS[self.done : self.done + 5], self.done + 5
        wanted = {fields(each)["settlement_id"] for each in some}
        self._producer.begin_transaction()
        for row in REFUNDS:
            if row["settlement_id"] in wanted:
                for topic in PIPELINES["refunds"].outputs:
                    self._producer.produce(topic, json.dumps(row).encode())
        offsets = [RdTopicPartition("settlements", 0, self.done)]
        self._producer.send_offsets_to_transaction(offsets, self._group.consumer_group_metadata(), 30)
        self._producer.commit_transaction(30)

    def verdict(self, read: Callable[[str, str], Sequence[ReadRecord]] = read_all) -> Verdict:
        outputs = PIPELINES["refunds"].outputs
        logs = read_logs(self.bootstrap, "settlements", outputs, group=GROUP, drained=False, read=read)
        return PIPELINES["refunds"].judge("refunds", logs)


def test_a_pipeline_that_goes_on_while_its_rows_are_counted() -> None:
    with oncelog.Broker() as broker:
        running = Running(broker)
        running.step()

        def read(bootstrap: str, topic: str) -> Sequence[ReadRecord]:
            found = read_all(bootstrap, topic)
            running.step()  # what was not read yet has more in it now
            return found

        verdict = running.verdict(read)
        assert verdict.holds, verdict
        assert (verdict.pending, running.done) == (35, 20)


def test_a_transaction_that_is_being_ended_is_waited_for() -> None:
    with oncelog.Broker() as broker, ThreadPoolExecutor(2) as pool:
        running = Running(broker)
        running.step()
        with broker.pause(at="before_complete", transactional_id=GROUP) as paused:
            stepping = pool.submit(running.step)
            paused.wait()
            counting = pool.submit(running.verdict)
            with pytest.raises(TimeoutError):
                counting.result(0.3)
        stepping.result(30)
        verdict = counting.result(30)
        assert verdict.holds, verdict
        assert verdict.pending == 30


def test_the_lines_of_a_verdict_name_every_figure() -> None:
    verdict = Verdict("p", 5, {"out": 4}, duplicates=1, lost=2, torn=None, wrong=3)
    assert verdict.lines() == [
        ("rows in", 5),
        ("rows out, out", 4),
        ("duplicates", 1),
        ("lost", 2),
        ("torn", None),
        ("wrong", 3),
        ("pending", 0),
    ]
