"""The page beside any Kafka: what its screens say of oncelog and of Apache Kafka, what they cannot, and a tap that makes up for it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from playwright.sync_api import Page, expect

from oncelog.cli.main import main
from tests.inspect.stage import hang
from tests.inspect.test_page import (
    Site,
    ask,
    cells,
    facts_of,
    follow,
    pane_of,
    ready,
    rows_of,
    served,
    writes,
)
from tests.toolchains import ROOT

NEEDS_ONCELOG = "n/a (needs oncelog broker)"
TOPIC = "refunds-emitted"
pytestmark = [pytest.mark.xdist_group("page-anywhere"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def anywhere(place: tuple[str, str]) -> Iterator[tuple[Site, bool]]:
    """The page for a broker of either kind, and whether it is oncelog."""
    kind, bootstrap = place
    for topic in (TOPIC, "hung"):
        assert main(["topics", "new", topic, "--partitions", "1", "--bootstrap", bootstrap]) == 0
    with served(bootstrap) as site:
        yield site, kind == "oncelog"


def producer(site: Site, transactional_id: str) -> Producer:
    made = ready(site, transactional_id)
    made.init_transactions(30)
    writes(made)
    return made


def only(wanted: str, is_oncelog: bool) -> str:
    """What a cell says that only an oncelog broker can fill."""
    return wanted if is_oncelog else NEEDS_ONCELOG


def test_now_lists_what_is_open_and_who_holds_readers(anywhere: tuple[Site, bool], page: Page) -> None:
    site, is_oncelog = anywhere
    opened = producer(site, "now-1")
    page.goto(site.url)
    row = page.locator("tr", has_text=f"{TOPIC}-0").first
    expect(row.get_by_role("link", name="now-1")).to_be_visible()
    expect(row.locator(".kind.long")).to_be_visible()
    expect(row).to_contain_text(only("till at 127.0.0.1:", is_oncelog))
    assert page.locator(".tile", has_text=NEEDS_ONCELOG).count() == (0 if is_oncelog else 1)
    opened.commit_transaction(30)
    expect(page.get_by_text("No partition is held")).to_be_visible()


def test_a_transaction_in_lanes_and_its_history(anywhere: tuple[Site, bool], page: Page) -> None:
    site, is_oncelog = anywhere
    made = producer(site, "lanes-1")
    made.commit_transaction(30)
    writes(made)
    made.abort_transaction(30)
    page.goto(site.url + "txn/lanes-1?last=2")
    told = facts_of(page.locator("main"))
    assert told["epoch bumped by"].startswith(only("new instance till", is_oncelog))
    assert told["last request"].startswith(only("EndTxn", is_oncelog))
    source = (
        "the broker's record of requests"
        if is_oncelog
        else "the logs: states, batches and markers, no requests"
    )
    expect(page.get_by_text(f"From {source}")).to_be_visible()
    for kind in ("state", "batch", "commit", "abort"):
        box = page.locator(f"g.box.{kind}").first
        assert pane_of(page, box).locator("dd, td").count() > 2, kind
    states = json.loads(ask(site, "GET", "/api/txn/lanes-1")[1])["states"]
    last = page.locator("g.box.state").last
    assert facts_of(pane_of(page, last))["record"].endswith(f" at {states[-1]['offset']}")
    follow(page, pane_of(page, page.locator("g.box.abort").first).locator("td a").first)
    expect(page.locator("h2:has-text('The bytes of the batch') + .scroll")).to_contain_text("ABORT")
    page.goto(site.url + "history/lanes-1")
    assert [each[1] for each in cells(page, "Transactions, newest first")] == ["abort", "commit"]
    bumps = "h2:text-is('Who had the id, and why its epoch was bumped, newest first') + *"
    expect(page.locator(bumps)).to_contain_text(only("new instance", is_oncelog))


def test_a_partition_a_group_and_their_values(anywhere: tuple[Site, bool], page: Page) -> None:
    site, _ = anywhere
    reader = Consumer(
        {"bootstrap.servers": site.bootstrap, "group.id": "loader", "enable.auto.commit": False}
    )
    reader.commit(offsets=[TopicPartition(TOPIC, 0, 0)], asynchronous=False)
    reader.close()
    opened = producer(site, "holds-1")
    page.goto(f"{site.url}partition/{TOPIC}/0")
    expect(page.locator("g.read_uncommitted rect.open")).to_have_count(1)
    expect(page.locator("g.read_committed rect.waits")).to_have_count(1)
    ends = json.loads(ask(site, "GET", f"/api/partition/{TOPIC}/0")[1])["ends"]
    assert page.locator("svg.strip text").all_text_contents()[-2:] == [
        f"LSO {ends['last_stable_offset']}",
        f"HW {ends['high_watermark']}",
    ]
    follow(page, page.locator("td a").first)
    expect(page.get_by_text("(fits)")).to_be_visible()
    page.goto(site.url + "groups")
    row = page.locator("tr", has_text="loader")
    expect(row.get_by_role("link", name="holds-1")).to_be_visible()
    groups = json.loads(ask(site, "GET", "/api/groups")[1])
    ((wanted,),) = [each["offsets"] for each in groups if each["group"] == "loader"]
    (shown,) = rows_of(row)
    assert shown[3:] == ["0", str(wanted["lag_offsets"]), str(wanted["lag_records"]), "waits holds-1"]
    assert ask(site, "GET", "/readyz")[0] == 200
    assert (
        f'oncelog_lso_hidden_records{{topic="{TOPIC}",partition="0"}} 1\n' in ask(site, "GET", "/metrics")[1]
    )
    opened.abort_transaction(30)


def test_transactions_are_aborted_from_the_page(anywhere: tuple[Site, bool], page: Page) -> None:
    site, _ = anywhere
    stuck = producer(site, "abort-me")
    hang(site.bootstrap, "hung")
    for named, said in (
        ("abort-me", "the transaction of abort-me"),
        ("hung-0", "a transaction without an owner"),
    ):
        page.goto(site.url)
        follow(page, page.locator("tr", has_text=named).get_by_text("abort…").first)
        expect(page.get_by_text(said)).to_be_visible()
        token = page.locator("input[name=token]")
        if token.count():
            token.fill(site.token)
        page.get_by_role("button", name="Abort it").click()
        expect(page.get_by_role("button", name="Abort it")).to_have_count(0)
    page.goto(site.url)
    expect(page.get_by_text("No partition is held")).to_be_visible()
    with pytest.raises(KafkaException):
        stuck.commit_transaction(30)


@contextmanager
def tap(upstream: str, record: Path) -> Generator[str]:
    """`oncelog tap` with a record; its address."""
    words = ["tap", "--listen", "127.0.0.1:0", "--upstream", upstream, "--record", str(record)]
    process = subprocess.Popen(
        [sys.executable, "-m", "oncelog.cli.main", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert process.stderr is not None
    try:
        yield process.stderr.readline().split()[3].rstrip(",")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        process.stderr.close()


def test_a_tap_s_record_gives_requests_to_the_lanes(
    anywhere: tuple[Site, bool], page: Page, tmp_path: Path
) -> None:
    site, _ = anywhere
    record = tmp_path / "tap.jsonl"
    with tap(site.bootstrap, record) as through, served(site.bootstrap, "--record", str(record)) as recorded:
        made = producer(Site(through, site.url, site.token), "tapped-1")
        page.goto(recorded.url + "txn/tapped-1")
        expect(page.get_by_text("From a tap's record, states and markers from the logs")).to_be_visible()
        made.commit_transaction(30)
        ended = page.locator("g.box.rpc title", has_text="EndTxn commit")
        expect(ended).to_have_count(1)  # it is live
        expect(page.locator("g.box.commit")).to_have_count(1)
        drawn = page.locator("g.box.rpc title").all_text_contents()
        assert drawn[0] == "InitProducerId"
        assert "Produce" in drawn
        pane = pane_of(page, page.locator("g.box.rpc").last)
        asked, told = pane.locator("pre").all_inner_texts()
        assert "'tapped-1'" in asked
        assert "0 (NONE)" in told
        states = page.locator("g.box.state title").all_text_contents()
        assert states[-2:] == ["PrepareCommit", "CompleteCommit"]
        page.goto(recorded.url + "txn/nobody-tapped")  # an id that the record does not know
        assert page.get_by_text("Its coordinator does not know it.").count() == 1
