"""The page in a real Chromium, with live data of a real transactional client; and who may ask it what."""

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from playwright.sync_api import Locator, Page, expect

import oncelog
from oncelog.cli.main import main
from oncelog.client.admin import Admin, CommittedOffset
from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.transactional import TransactionalId
from oncelog.inspect.ask import describe_transaction
from oncelog.model import TopicPartition as Place
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.spark.sink_plan import Marker
from tests.clients import transactional
from tests.conformance import targets
from tests.inspect.stage import hang
from tests.toolchains import ROOT

EVIL = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
pytestmark = [pytest.mark.xdist_group("page"), pytest.mark.timeout(180)]


@dataclass(frozen=True, slots=True)
class Site:
    bootstrap: str
    url: str
    token: str
    process: int = 0  # that serves it

    @property
    def port(self) -> int:
        return int(self.url.rstrip("/").rpartition(":")[2])


@contextmanager
def served(bootstrap: str, *words: str) -> Generator[Site]:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "oncelog.cli.main",
            "ui",
            "--listen",
            "127.0.0.1:0",  # unless they say another one
            "--bootstrap",
            bootstrap,
            *words,
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert process.stdout is not None
    try:
        said = process.stdout.readline().split()
        assert said[:3] == ["oncelog", "page", "on"], said
        token = said[5] if said[4] == "token" else words[words.index("--token") + 1]
        yield Site(bootstrap, said[3], token, process.pid)
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    results = tmp_path_factory.mktemp("results")
    (results / "evil.json").write_text(json.dumps({"table": [{"side": EVIL, "txn/s": 1}]}))
    settings = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 100,
        "transaction.partition.verification.enable": "false",  # lets a client make a hanging transaction
    }
    with oncelog.Broker(settings=settings) as broker:
        broker.topic("refunds-emitted", partitions=2)
        with served(broker.bootstrap, "--results", str(results)) as running:
            yield running


PROMISED_S = 2.0
expect.set_options(
    timeout=30_000
)  # a machine that has much else to do; what is promised is measured by Watch


class Watch:
    """Seconds since it was made, less the longest time that one thread waited for a core: of the page, its broker or the
    browser. What they sleep, wait for each other or need themselves counts. STRICT_CLOCK=1 takes nothing off.
    """

    def __init__(self) -> None:
        self._began, self._waited = time.monotonic(), waits_for_a_core()

    def seconds(self) -> float:
        now, took = waits_for_a_core(), time.monotonic() - self._began
        if os.environ.get("STRICT_CLOCK") == "1":
            return took
        return took - max((waited - self._waited.get(each, 0.0) for each, waited in now.items()), default=0.0)

    def shows(self, wanted: Locator, within: float = PROMISED_S) -> None:
        """It appears, within the 2 seconds that are promised."""
        expect(wanted).to_be_visible()
        took = self.seconds()
        print(f"appeared after {took:.2f} s")
        assert took < within


SERVE = re.compile(rb"oncelog\.cli\.main\0(ui|serve)\0|chromium")


def waits_for_a_core() -> dict[str, float]:
    """Of each thread of the page, of its broker and of the browser the seconds in which it could run and did not. A broker
    within this test's process counts as the whole process."""
    parents: dict[int, int] = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(each.parent.name)] = int(each.read_text().rpartition(")")[2].split()[1])
    found: dict[str, float] = {}
    for process in parents:
        above = process
        while above not in (0, os.getpid()):
            above = parents.get(above, 0)
        if above == 0:
            continue
        folder = Path("/proc") / str(process)
        with suppress(OSError):  # it ended
            if process != os.getpid() and not SERVE.search(folder.joinpath("cmdline").read_bytes()):
                continue
            for task in (folder / "task").iterdir():
                found[f"{process} {task.name}"] = int((task / "schedstat").read_text().split()[1]) / 1e9
    return found


def follow(page: Page, link: Locator) -> None:
    """Clicks, and waits for the page behind it: until then the old one would answer."""
    with page.expect_navigation():
        link.click()


def rows_of(table: Locator) -> list[list[str]]:
    """The cells of rows, all of one moment."""
    found: list[list[str]] = table.evaluate_all(
        "all => all.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )
    return found


def renewed(page: Page) -> None:
    """Waits until the page was put in place anew."""
    page.evaluate("document.activeElement.blur()")  # or it waits for who reads there
    page.evaluate("document.querySelector('h1').textContent = 'old'")
    expect(page.locator("h1")).not_to_have_text("old")


def ready(site: Site, transactional_id: str, client_id: str = "till", timeout_ms: int = 60_000) -> Producer:
    """A client that has not asked for its identity yet."""
    return Producer(
        {
            "bootstrap.servers": site.bootstrap,
            "transactional.id": transactional_id,
            "client.id": client_id,
            "transaction.timeout.ms": timeout_ms,
            "log_level": 0,
        }
    )


def writes(made: Producer, topic: str = "refunds-emitted") -> None:
    """Begins a transaction and has written into it."""
    made.begin_transaction()
    made.produce(topic, b"refund", partition=0)
    made.flush(10)


def producer(
    site: Site,
    transactional_id: str,
    client_id: str = "till",
    timeout_ms: int = 60_000,
    topic: str = "refunds-emitted",
) -> Producer:
    made = ready(site, transactional_id, client_id, timeout_ms)
    made.init_transactions(20)
    writes(made, topic)
    return made


def test_a_stuck_transaction_appears_within_2_seconds_and_leaves_when_it_ends(site: Site, page: Page) -> None:
    stuck = ready(site, "stuck-1", "till-7")
    stuck.init_transactions(20)
    page.goto(site.url)
    expect(page.get_by_text("No transaction is open.")).to_be_visible()
    renewed(page)  # now the next time is as far off as it can be
    writes(stuck)
    Watch().shows(page.get_by_role("link", name="stuck-1").first)
    expect(page.get_by_text("till-7 at 127.0.0.1:")).to_be_visible()
    expect(page.locator(".kind.long")).to_be_visible()
    renewed(page)
    stuck.commit_transaction(20)
    Watch().shows(page.get_by_text("No partition is held"))


def test_a_timed_out_transaction_appears_within_2_seconds(site: Site, page: Page) -> None:
    page.goto(site.url + "txn/late-1")
    late = producer(site, "late-1", timeout_ms=5000)  # so long that it is seen open by a slow machine too
    expect(page.locator("span.state.Ongoing").first).to_be_visible()
    with Cluster(
        site.bootstrap
    ) as cluster:  # the broker itself is asked: the page's own answers have their own delay
        while (found := describe_transaction(cluster, "late-1")) is None or found.state != "CompleteAbort":
            time.sleep(0.02)  # the coordinator has not noticed yet
    watch = Watch()
    watch.shows(page.locator("span.state.CompleteAbort").first)
    watch.shows(page.get_by_text("timeout, to epoch"))
    renewed(page)
    with pytest.raises(KafkaException):
        late.commit_transaction(20)
    Watch().shows(page.locator("g.box.rpc.refused").first)


def test_a_zombie_appears_with_its_successor_within_2_seconds(site: Site, page: Page) -> None:
    zombie = producer(site, "zombie-1", "old")
    page.goto(site.url + "txn/zombie-1")
    expect(page.get_by_text("new instance old at")).to_be_visible()
    newer = ready(site, "zombie-1", "successor")
    renewed(page)
    newer.init_transactions(20)
    Watch().shows(page.get_by_text("new instance successor at"))
    renewed(page)
    with pytest.raises(KafkaException):
        zombie.commit_transaction(20)
    Watch().shows(page.locator("g.box.refused").first)
    refused = page.locator("details", has_text=re.compile("PRODUCER_FENCED|INVALID_PRODUCER_EPOCH")).first
    refused.locator("summary").click()
    follow(page, refused.get_by_text("why "))
    expect(page.locator("tr", has_text="new instance").locator(".verdict.confirmed")).to_be_visible()
    expect(page.get_by_text("successor at 127.0.0.1:").first).to_be_visible()
    writes(newer)
    newer.abort_transaction(20)


def cells(page: Page, heading: str) -> list[list[str]]:
    """The rows of the table below a heading."""
    return rows_of(page.locator(f"h2:text-is('{heading}') + .scroll tbody tr"))


def test_the_history_of_an_id_tells_who_had_it_and_how_its_transactions_ended(site: Site, page: Page) -> None:
    first = producer(site, "history-1", "first")
    first.commit_transaction(20)
    first.begin_transaction()
    first.produce("refunds-emitted", b"never ended", partition=0)
    first.flush(10)
    second = producer(site, "history-1", "second")  # fences the first, whose transaction is aborted
    page.goto(site.url + "txn/history-1")
    follow(page, page.get_by_role("link", name="history", exact=True))
    had = cells(page, "Who had the id, and why its epoch was bumped, newest first")
    assert (had[-1][2], had[-1][3]) == ("new instance", "first")
    assert (had[0][2], had[0][3]) == ("new instance", "second")
    assert [int(each[1]) for each in had] == sorted((int(each[1]) for each in had), reverse=True)
    assert all(each[4].startswith("127.0.0.1:") for each in had)
    done = cells(page, "Transactions, newest first")
    assert [(each[0], each[1], each[5]) for each in done] == [
        ("3", "open", "refunds-emitted-0"),
        ("2", "abort", "refunds-emitted-0"),
        ("1", "commit", "refunds-emitted-0"),
    ]
    bars = page.locator("svg.bars rect").evaluate_all("all => all.map(each => each.getAttribute('class'))")
    assert bars == ["bar commit", "bar abort", "bar open"]
    assert [each[2] for each in cells(page, "States, newest first")][:2] == ["Ongoing", "Empty"]
    second.abort_transaction(20)
    expect(page.locator("svg.bars rect.abort")).to_have_count(2)  # it is live
    follow(page, page.get_by_role("link", name="lanes", exact=True))
    expect(page.locator("svg.lanes")).to_be_visible()
    assert ask(site, "GET", "/history/nobody")[0] == 404


def test_lanes_open_by_click_and_by_keyboard(site: Site, page: Page) -> None:
    producer(site, "lanes-1").commit_transaction(20)
    page.goto(site.url + "txn/lanes-1")
    boxes = page.locator("g.box")
    assert boxes.count() >= 5
    boxes.first.focus()
    page.evaluate("document.querySelector('h1').textContent = 'old'")
    expect(page.locator("h1")).to_have_text("lanes-1")  # put in place anew: who walks along stays there
    assert boxes.first.evaluate("each => each === document.activeElement")
    page.keyboard.press("ArrowRight")
    assert boxes.nth(1).evaluate("each => each === document.activeElement")
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1
    boxes.first.click()
    assert page.locator("details[open]").count() == 2
    drawn = " ".join(page.locator("svg.lanes title").all_text_contents())
    for text in (
        "InitProducerId",
        "Produce",
        "EndTxn",
        "PrepareCommit",
        "CompleteCommit",
        "COMMIT",
        "pinned",
    ):
        assert text in drawn  # requests too, without a tap
    shown = page.locator("details", has_text="EndTxn").first
    shown.locator("summary").click()
    expect(shown.get_by_text("request:")).to_be_visible()
    expect(shown.get_by_text("answer:")).to_be_visible()
    asked, told = shown.locator("pre").all_inner_texts()  # every byte with its meaning
    for field in (
        "api key +26 \\(EndTxn\\)",
        "client id +'till'",
        "transactional id +'lanes-1'",
        "committed +True",
    ):
        assert re.search(field, asked), asked
    assert re.search("error code +0 \\(NONE\\)", told), told
    watch = Watch()
    renewed(page)
    assert watch.seconds() < PROMISED_S
    assert page.locator("details[open]").count() >= 2  # and what was opened stays open


def pane_of(page: Page, box: Locator) -> Locator:
    """What a box of the lanes opens. By Enter: of two that happened in one moment, one lies over the other."""
    box.focus()
    page.keyboard.press("Enter")
    pane = page.locator(f"#event-{box.get_attribute('data-event')}")
    expect(pane).to_have_attribute("open", "")
    return pane


def facts_of(pane: Locator) -> dict[str, str]:
    """The names and values of a pane."""
    found: dict[str, str] = pane.locator("dl > div").evaluate_all(
        "all => Object.fromEntries(all.map(each => [...each.children].map(part => part.innerText.trim())))"
    )
    return found


def test_every_box_of_the_lanes_opens_to_fields_and_leads_to_its_bytes(site: Site, page: Page) -> None:
    reader = Consumer({"bootstrap.servers": site.bootstrap, "group.id": "boxes"})
    made = producer(site, "boxes-1")
    made.send_offsets_to_transaction(
        [TopicPartition("refunds-emitted", 1, 7)], reader.consumer_group_metadata(), 20
    )
    made.commit_transaction(20)
    reader.close()
    page.goto(site.url + "txn/boxes-1")
    boxes = page.locator("g.box")
    kinds = {
        kind.split()[1] for kind in boxes.evaluate_all("all => all.map(each => each.getAttribute('class'))")
    }
    assert kinds == {"rpc", "state", "batch", "offset", "commit", "pinned"}
    for number in range(boxes.count()):
        shown = pane_of(page, boxes.nth(number)).locator("dd, pre, td").all_inner_texts()
        assert sum(len(each) for each in shown) > 20, boxes.nth(number).text_content()
    states = json.loads(ask(site, "GET", "/api/txn/boxes-1")[1])["states"]
    told = {each["state"]: each for each in states}
    for name in ("Ongoing", "PrepareCommit", "CompleteCommit"):
        box = page.locator("g.box.state").filter(has=page.locator(f"title:text-is('{name}')")).last
        fields = facts_of(pane_of(page, box))
        assert fields["record"].endswith(f" at {told[name]['offset']}")
        assert fields["state"] == name
        assert fields["timeout"] == "00:01:00"
        assert ("refunds-emitted-0" in fields["partitions"]) is (name != "CompleteCommit")
    end = page.locator("details", has=page.locator("summary", has_text="EndTxn"))  # with what it caused
    caused = end.locator("dl", has_text="client's protocol").all_inner_texts()
    assert [each.split("\n")[1] for each in caused] == ["PrepareCommit", "CompleteCommit"]
    for name, partitions in (
        ("AddOffsetsToTxn", "__consumer_offsets"),
        ("AddPartitionsToTxn", "refunds-emitted-0"),
    ):
        pane = page.locator("details", has=page.locator("summary", has_text=name))
        (shown,) = pane.locator("dl", has_text="client's protocol").all_inner_texts()
        assert partitions in shown  # by the partitions that it added
    offsets = page.locator("details", has=page.locator("summary", has_text="TxnOffsetCommit"))
    assert offsets.locator("dl", has_text="client's protocol").count() == 0  # in this protocol it adds none
    pinned = facts_of(pane_of(page, page.locator("g.box.pinned").first))
    assert "pinned" in pinned["readers at read_committed"]
    follow(page, page.locator("dl a", has_text="__transaction_state-").last)
    expect(page.get_by_text("base sequence")).to_be_visible()
    assert b"boxes-1".hex(" ") in page.locator("main").inner_text()
    for kind, field in (("batch", "(fits)"), ("commit", "COMMIT")):
        page.goto(site.url + "txn/boxes-1")
        follow(page, pane_of(page, page.locator(f"g.box.{kind}").first).locator("td a").first)
        bytes_shown = page.locator("h2:has-text('The bytes of the batch') + .scroll")
        expect(bytes_shown).to_contain_text(field)
        expect(bytes_shown).to_contain_text("refund" if kind == "batch" else "producer epoch")


def test_pause_leaves_what_is_shown_until_it_goes_on(site: Site, page: Page) -> None:
    page.goto(site.url + "now")
    button = page.locator("#pause")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    page.evaluate("document.querySelector('h1').textContent = 'kept'")
    page.evaluate(TICKS, 2)
    assert page.locator("h1").inner_text() == "kept"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("p")
    expect(page.locator("h1")).to_have_text("Now")
    expect(button).to_have_text("pause")
    page.goto(site.url + "topics")  # not live: nothing to pause
    expect(page.locator("#pause")).to_be_hidden()


# Resolves after so many ticks, and the time in which the page would have been put in place anew.
TICKS = """count => new Promise(done => {
  const stream = new EventSource("/events");
  stream.addEventListener("tick", () => { if (count-- <= 0) { stream.close(); setTimeout(done, 500); } });
})"""


def test_keys_change_screens(site: Site, page: Page) -> None:
    page.goto(site.url + "now")
    for key, heading in zip(
        "1234567", "Now|Transactional ids|Topics|Groups|Spark queries|The cost|Learn".split("|"), strict=True
    ):
        # also from a screen to itself: a key that is pressed while a page is left is lost
        with page.expect_navigation():
            page.keyboard.press(key)
        expect(page.locator("h1")).to_contain_text(heading)


def test_a_partition_is_a_strip_with_its_bytes(site: Site, page: Page) -> None:
    opened = producer(site, "strip-1")
    page.goto(site.url + "partition/refunds-emitted/0")
    expect(page.locator("svg.strip rect.open").first).to_be_visible()
    follow(page, page.locator("td a").first)
    expect(page.get_by_text("base sequence")).to_be_visible()
    expect(page.get_by_text("(fits)")).to_be_visible()
    opened.abort_transaction(20)
    page.goto(site.url + "partition/refunds-emitted/0")
    expect(page.locator("svg.strip rect.aborted").first).to_be_visible()


def test_what_holds_a_partition_is_in_its_strip_however_much_is_behind_it(site: Site, page: Page) -> None:
    with Cluster(site.bootstrap) as cluster:
        Admin(cluster).create_topic("behind", partitions=1)
    done = producer(site, "before-it", topic="behind")
    done.commit_transaction(20)
    opened = producer(site, "holds-it", topic="behind")
    behind = producer(site, "behind-it", topic="behind")
    for _ in range(2_999):
        behind.produce("behind", b"x", partition=0)
    behind.commit_transaction(20)
    page.goto(site.url + "partition/behind/0")
    expect(page.get_by_text("HW 3004")).to_be_visible()  # its marker is there
    assert page.locator("svg.strip rect.open title").all_text_contents() == ["open 2-2"]
    uncommitted, committed = page.locator("g.read_uncommitted"), page.locator("g.read_committed")
    assert uncommitted.locator("rect").last.get_attribute("class") == "fate open"  # over all others
    assert uncommitted.locator("rect.committed title").last.text_content() == "committed 3-3002"
    assert committed.locator("title").all_text_contents() == [
        "waits 2-3003",
        "committed 0-0",
    ]  # as records stop it
    assert page.locator("svg.strip text").all_text_contents() == [
        "read_uncommitted gets",
        "read_committed gets",
        "LSO 2",
        "HW 3004",
    ]
    lso, high = (
        float(each)
        for each in page.locator("svg.strip .mark").evaluate_all(
            "all => all.map(each => each.getAttribute('x1'))"
        )
    )
    assert lso < 200 < 1000 < high
    told = rows_of(page.locator("tbody tr"))
    assert [(each[0], each[2], each[7], each[8]) for each in told][-3:] == [
        ("2", "open", "no", "yes"),
        ("1", "COMMIT", "no", "no"),
        ("0", "committed", "yes", "yes"),
    ]
    assert {(each[2], each[7]) for each in told[:-3]} == {
        ("COMMIT", "no"),
        ("committed", "no"),
    }  # it waits too
    opened.abort_transaction(20)
    page.goto(site.url + "partition/behind/0")
    follow(page, page.get_by_role("link", name="older"))
    expect(page.locator("svg.strip rect.aborted")).to_be_visible()
    assert page.locator("g.read_committed rect.waits, g.read_committed rect.aborted").count() == 0
    follow(page, page.get_by_role("link", name="newest"))
    expect(page.locator("svg.strip rect.aborted")).to_have_count(0)


def test_groups_show_lag_in_records_and_who_blocks_them(site: Site, page: Page) -> None:
    reader = Consumer(
        {"bootstrap.servers": site.bootstrap, "group.id": "loader", "enable.auto.commit": False}
    )
    reader.commit(offsets=[TopicPartition("refunds-emitted", 0, 0)], asynchronous=False)
    reader.close()
    opened = producer(site, "blocks-1")
    page.goto(site.url + "groups")
    row = page.locator("tr", has_text="loader")
    expect(row.get_by_role("link", name="blocks-1")).to_be_visible()
    by_hand = json.loads(ask(site, "GET", "/api/groups")[1])
    ((wanted,),) = [each["offsets"] for each in by_hand if each["group"] == "loader"]
    assert wanted["blocked_by"] == "blocks-1"
    (shown,) = rows_of(row)
    assert shown[3:6] == ["0", str(wanted["lag_offsets"]), str(wanted["lag_records"])]
    assert wanted["lag_records"] < wanted["lag_offsets"]  # markers and aborted records are offsets too
    opened.abort_transaction(20)


def test_a_spark_query_shows_its_micro_batches(site: Site, page: Page) -> None:
    """What the sink writes, by the sink's own marker: a committed micro-batch, and one that was aborted."""
    where = Place("refunds-emitted", 1)
    with Cluster(site.bootstrap, client_id="spark-driver") as cluster:
        own = TransactionalId(cluster, "refunds-query", timeout_ms=30_000)
        identity = own.init()
        for batch_id, commit in ((6, True), (7, False)):
            marker = Marker("2f0c-query", batch_id, batch_id)
            own.commit_offsets(
                identity, "refunds-query", {where: CommittedOffset(batch_id * 10, -1, marker.text())}
            )
            identity = own.end(identity, commit=commit)
    page.goto(site.url + "spark")
    shown = page.locator("section", has_text="2f0c-query")
    expect(shown.get_by_role("link", name="refunds-query")).to_be_visible()
    expect(shown.get_by_text("1 / 1")).to_be_visible()
    expect(shown.get_by_text("refunds-emitted-1=60").first).to_be_visible()
    told = rows_of(shown.locator("tbody tr"))
    assert [(each[0], each[1], each[2], each[-1]) for each in told] == [
        ("7", "2", "abort", "refunds-emitted-1=70"),
        ("6", "1", "commit", "refunds-emitted-1=60"),
    ]
    facts = shown.locator("dl").inner_text()
    assert "6" in facts.split("last micro-batch in the log")[1].split("\n")[1]


def test_the_cost_is_shown_and_measured_again(page: Page, tmp_path: Path) -> None:
    kept = {
        "machine": {"cores": 2, "python": "3.11"},
        "rounds": 5,
        "table": [{"figure": "transactions, txn/s", "oncelog": "1,234", "bar": "**we lose**"}],
    }
    (tmp_path / "eos.json").write_text(json.dumps(kept))
    (tmp_path / "another.json").write_text(json.dumps({"of another": "form"}))
    (tmp_path / "torn.json").write_text("{")
    with oncelog.Broker() as broker, served(broker.bootstrap, "--results", str(tmp_path)) as site:
        page.goto(site.url + "cost")
        assert page.locator("main h2").first.inner_text() == "Kept in the page cache, synced later"
        shown = page.locator("main").inner_text()
        for text in ("1,234", "we lose", "cores: 2", "rounds: 5", "another"):
            assert text in shown
        if not any(which(each) for each in ("cc", "gcc", "clang")):
            return
        page.get_by_role("button", name="Measure here").click(no_wait_after=True, timeout=120_000)
        expect(page.get_by_text("Just now, on this machine")).to_be_visible(timeout=120_000)
        rows = page.locator("section, main").first.locator("tbody").first.locator("tr")
        assert rows.count() == 3
        assert float(rows.first.locator("td").nth(1).inner_text().replace(",", "")) > 0


def test_the_cost_is_shown_without_a_checkout_too(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was measured for the release comes with it."""
    monkeypatch.chdir(tmp_path)
    with oncelog.Broker() as broker, served(broker.bootstrap) as site:
        page.goto(site.url + "cost")
        assert page.locator("main h2").first.inner_text() == "Kept in the page cache, synced later"
        assert page.locator("tbody tr").count() > 10
        assert "cores: " in page.locator("main").inner_text()


def test_strings_of_others_are_shown_on_every_screen_and_not_run(site: Site, page: Page) -> None:
    """In transactional id, client id, key, value, header, group, metadata of offsets, and a file of results."""
    opened = producer(site, EVIL, EVIL[:200])
    opened.produce(
        "refunds-emitted", EVIL.encode(), key=EVIL.encode(), partition=0, headers={EVIL: EVIL.encode()}
    )
    opened.flush(10)
    marker = json.dumps({"oncelog": 1, "query": EVIL, "batch": 3, "serial": 3})
    with Cluster(site.bootstrap) as cluster:
        Admin(cluster).commit_offsets(EVIL, {Place("refunds-emitted", 0): 0}, metadata=marker)
    name = quote(EVIL, safe="")
    with_it = {
        "now": "now",
        "txn": "txn",
        "txn pattern": f"txn?match={name}",
        "one id": f"txn/{name}",
        "one id, more": f"txn/{name}?last=10",
        "history": f"history/{name}",
        "groups": "groups",
        "spark": "spark",
        "cost": "cost",
        "explain": f"explain/PRODUCER_FENCED?tid={name}",
        "abort": f"abort?tid={name}",
        "unknown id": f"txn/{name}{name}",
        "unknown error": f"explain/{name}?tid={name}",
    }
    without = {"topics": "topics", "learn": "learn", "partition": "partition/refunds-emitted/0"}
    for screen, path in (with_it | without).items():
        page.goto(site.url + path)
        if page.locator("main[data-live]").count():
            renewed(page)  # what the script puts in place is looked at too
        assert page.title() != "broken", screen
        assert page.locator("img").count() == 0, screen
        assert page.locator("script").count() == 1, screen  # our own
        shown = page.locator("body").inner_text()
        assert ("onerror=" in shown) is (screen in with_it), screen
    page.goto(site.url + "partition/refunds-emitted/0")
    follow(page, page.locator("td a").first)  # the newest batch, with key, value and header
    bytes_shown = page.locator("main").inner_text()
    assert bytes_shown.count("onerror=") >= 4  # the name of the header too
    page.goto(site.url + "now")
    follow(page, page.get_by_role("link", name=EVIL).first)
    expect(page.get_by_role("heading", name=EVIL)).to_be_visible()
    page.locator("g.box").first.click()  # a request with the id in its bytes
    assert page.title() != "broken"
    opened.abort_transaction(20)


def test_abort_asks_says_what_vanishes_and_wants_the_token(site: Site, page: Page) -> None:
    stuck = producer(site, "abort-me")
    page.goto(site.url)
    follow(page, page.locator("tr", has_text="abort-me").get_by_text("abort…").first)
    expect(page.get_by_text("become invisible for ever")).to_be_visible()
    expect(page.get_by_text("the transaction of abort-me, producer")).to_be_visible()
    (where,) = page.locator("tbody tr").all()
    partition, begin, end, count = where.locator("td").all_inner_texts()
    assert partition == "refunds-emitted-0"
    assert int(count) == int(end) - int(begin) == 1
    page.locator("input[name=token]").fill("guessed")
    page.get_by_role("button", name="Abort it").click()
    expect(page.get_by_text("Wanted the token")).to_be_visible()
    page.goto(site.url + "abort?tid=abort-me")
    page.locator("input[name=token]").fill(site.token)
    page.get_by_role("button", name="Abort it").click()
    expect(page.locator("span.state").first).to_have_text(re.compile("^(Empty|CompleteAbort)$"))
    with pytest.raises(KafkaException):
        stuck.commit_transaction(20)


def test_an_abort_ends_what_was_shown_and_not_what_is_open_by_then(site: Site, page: Page) -> None:
    busy_one = producer(site, "ends-itself")
    page.goto(site.url + "abort?tid=ends-itself")
    page.locator("input[name=token]").fill(site.token)
    busy_one.commit_transaction(20)  # while somebody reads the question
    writes(busy_one)
    with page.expect_response("**/abort") as answered:
        page.get_by_role("button", name="Abort it").click()
    assert answered.value.status == 409
    expect(page.get_by_role("heading", name="Not what was shown")).to_be_visible()
    expect(page.get_by_text("found another one of")).to_be_visible()
    assert json.loads(ask(site, "GET", "/api/txn/ends-itself")[1])["state"] == "Ongoing"
    busy_one.commit_transaction(20)


def test_a_hanging_transaction_is_aborted_from_the_page_too(site: Site, page: Page) -> None:
    with Cluster(site.bootstrap) as cluster:
        Admin(cluster).create_topic("hung", partitions=1)
    hang(site.bootstrap, "hung")
    page.goto(site.url)
    row = page.locator("tr", has_text="hung-0")
    expect(row.locator(".kind.hanging")).to_be_visible()
    follow(page, row.get_by_text("abort…"))
    expect(page.get_by_text("a transaction without an owner")).to_be_visible()
    another = f"partition=hung-0&start=0&token={site.token}&producer_id=987654&producer_epoch=0&began=0"
    assert ask(site, "POST", "/abort", another)[0] == 409  # another one than the form had shown
    page.locator("input[name=token]").fill(site.token)
    page.get_by_role("button", name="Abort it").click()
    expect(page.get_by_text("Who holds readers back")).to_be_visible()
    expect(page.locator("tr", has_text="hung-0")).to_have_count(0)


@pytest.mark.parametrize("name", ["a/../b?c=d#e%41&f", "..", "two\nlines\u202etxt"])
def test_a_link_leads_to_its_id_whatever_is_in_the_name(site: Site, page: Page, name: str) -> None:
    odd = producer(site, name)
    page.goto(site.url)
    shown = page.locator("h2:text-is('Open transactions, oldest first') + .scroll a").first
    assert not set(shown.inner_text()) & set("\n\u202e")
    follow(page, shown)
    expect(page.get_by_text("times out in")).to_be_visible()
    follow(page, page.get_by_role("link", name="history", exact=True))
    expect(page.get_by_text("half of them took up to")).to_be_visible()
    page.go_back()
    follow(page, page.get_by_text("abort…"))
    expect(page.get_by_text("become invisible for ever")).to_be_visible()
    odd.abort_transaction(20)


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("A transaction", "now 2 are visible"),
        ("The zombie", "PRODUCER_FENCED"),
        ("Crash after the decision", "1 refund is visible"),
        ("Never came back", "see 0 refunds"),
        ("Held readers", "100 are visible at once"),
        ("The late commit", "sees 2 records: T1, and a T2 that is torn in two"),
    ],
)
def test_learn_plays_the_seeds_stories(site: Site, page: Page, title: str, said: str) -> None:
    page.goto(site.url + "learn")
    page.get_by_role("button", name=title, exact=True).click()
    expect(page.get_by_text(said).first).to_be_visible(timeout=60_000)
    expect(page.locator("svg.lanes")).to_be_visible()


def test_it_is_readable_on_a_phone_and_in_the_dark(site: Site, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme="dark")
    small: Page = context.new_page()
    producer(site, "phone-1").commit_transaction(20)
    for path in ("now", "txn", "txn/phone-1", "topics", "groups", "spark", "cost", "learn"):
        small.goto(site.url + path)
        wide = small.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, f"{path} is {wide} wide"
    background = small.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(int(each) for each in background[4:-1].split(",")) < 150
    context.close()


# ---- who may ask


def ask(
    site: Site, method: str, path: str, body: str = "", address: str = "127.0.0.1", **headers: str
) -> tuple[int, str]:
    door = http.client.HTTPConnection(address, site.port, timeout=20)
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    if body:
        named["Content-Type"] = "application/x-www-form-urlencoded"
    door.request(method, path, body or None, named)
    answer = door.getresponse()
    text = answer.read().decode()
    door.close()
    return answer.status, text


def test_another_host_name_is_refused(site: Site) -> None:
    assert ask(site, "GET", "/healthz")[0] == 200
    assert ask(site, "GET", "/healthz", Host=f"localhost:{site.port}")[0] == 200
    for host in (
        "evil.example:80",
        f"evil.example:{site.port}",
        "127.0.0.1",
        "127.0.0.1:1",
        f"127.0.0.2:{site.port}",
    ):
        for path in ("/now", "/api/now", "/metrics", "/events", "/static/oncelog.js", "/healthz"):
            assert ask(site, "GET", path, Host=host)[0] == 421, (host, path)


def test_changes_from_another_origin_or_without_a_token_are_refused(site: Site) -> None:
    stuck = producer(site, "kept-1")
    form = f"tid=kept-1&token={site.token}&producer_id=0&producer_epoch=0&began=0"
    assert ask(site, "POST", "/abort", form, Origin="http://evil.example")[0] == 403
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{site.port}", "http://127.0.0.1:1"):
        assert ask(site, "POST", "/abort", form, Origin=origin)[0] == 403, origin
    for site_of in ("cross-site", "same-site", "none"):
        assert ask(site, "POST", "/abort", form, Sec_Fetch_Site=site_of)[0] == 403, site_of
    for path in ("/learn", "/cost"):  # they cost time, not data: another page may not start them either
        assert ask(site, "POST", path, "story=zombie", Origin="http://evil.example")[0] == 403
    assert ask(site, "POST", "/abort", "tid=kept-1")[0] == 403
    assert ask(site, "POST", "/abort", "tid=kept-1&token=wrong")[0] == 403
    assert cookie(site, "/now?token=wrong", f"127.0.0.1:{site.port}") is None
    assert cookie(site, f"/now?token={site.token}", f"127.0.0.1:{site.port}") is not None
    asked = form.replace(f"&token={site.token}", "")
    assert ask(site, "GET", f"/abort?{asked}")[0] == 200  # asks only
    assert ask(site, "GET", f"/abort?{form}")[0] == 303  # and not with a token in the address
    assert json.loads(ask(site, "GET", "/api/txn/kept-1")[1])["state"] == "Ongoing"
    stuck.commit_transaction(20)
    assert ask(site, "POST", "/abort", form)[0] == 409  # nothing left to abort
    for missing in ("producer_id", "producer_epoch", "began"):
        assert ask(site, "POST", "/abort", re.sub(f"&{missing}=0", "", form))[0] == 400
    assert ask(site, "POST", "/abort", form + "&x=" + "x" * 20_000)[0] == 413
    assert ask(site, "POST", "/learn", "story=nobodys")[0] == 400


HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("/now", 200, "text/html; charset=utf-8"),
        ("/txn/nobody", 404, "text/html; charset=utf-8"),
        ("/nowhere", 404, "text/plain; charset=utf-8"),
        ("/api/now", 200, "application/json"),
        ("/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"),
        ("/static/oncelog.js", 200, "text/javascript; charset=utf-8"),
        ("/events", 200, "text/event-stream; charset=utf-8"),
        ("/now?host=evil", 421, "text/plain; charset=utf-8"),
    ],
)
def test_headers_allow_nothing_but_our_own(site: Site, path: str, status: int, kind: str) -> None:
    door = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
    door.request("GET", path, headers={"Host": "evil.example"} if "evil" in path else {})
    answer = door.getresponse()
    assert (answer.status, answer.headers["Content-Type"]) == (status, kind)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    door.close()


def test_ticks_are_numbered_and_go_on_where_they_were_left(site: Site) -> None:
    door = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
    began = time.monotonic()  # who comes late finds ticks that wait for him
    door.request("GET", "/events", headers={"Last-Event-ID": "41"})
    answer = door.getresponse()
    watch = Watch()
    lines = [answer.readline().decode().rstrip("\n") for _ in range(8)]
    assert lines == [
        *("id: 42", "event: tick", 'data: {"number": 42}', ""),
        *("id: 43", "event: tick", 'data: {"number": 43}', ""),
    ]
    for _ in range(4):
        answer.readline()
    assert time.monotonic() - began > 0.9
    assert watch.seconds() < PROMISED_S + 1
    door.close()


def test_rates_are_those_of_what_they_name(site: Site) -> None:
    made = transactional(site.bootstrap, "rated-1")
    ask(site, "GET", "/api/now")
    time.sleep(0.6)  # the next ones count from here on
    ask(site, "GET", "/api/now")
    for _ in range(3):
        made.begin_transaction()
        for _ in range(4):
            made.produce("refunds-emitted", b"x" * 100, partition=0)
        made.commit_transaction(20)
    time.sleep(0.6)
    rates = json.loads(ask(site, "GET", "/api/now")[1])["rates"]
    assert (rates["aborts"], rates["fenced"]) == (0, 0)
    assert rates["bytes in"] > 12 * rates["records in"] > 12 * rates["commits"] > 0


def test_metrics_are_scraped_over_http(site: Site) -> None:
    opened = producer(site, "scraped-1")
    status, text = ask(site, "GET", "/metrics")
    assert status == 200
    assert 'oncelog_lso_hidden_records{topic="refunds-emitted",partition="0"} 1\n' in text
    assert "oncelog_txn_open 1\n" in text
    assert "scraped-1" not in text
    assert 'oncelog_txn_oldest_seconds{transactional_id="scraped-1"}' in ask(site, "GET", "/metrics?top=5")[1]
    opened.abort_transaction(20)


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("now", {"at_ms", "known_ids", "opened", "pins", "rates", "from_oncelog"}),
        ("txn", {"transactional_id", "state", "age_ms"}),
        ("txn/asked-1", {"transactional_id", "states", "events", "bump"}),
        ("txn/?id=asked-1", {"transactional_id", "states", "events", "bump"}),
        ("history/asked-1", {"view", "transactions", "bumps", "states"}),
        ("topics", {"topic", "partitions"}),
        ("partition/refunds-emitted/0", {"ends", "stretches", "start", "stop"}),
        ("groups", {"group", "members", "offsets"}),
        ("explain/PRODUCER_FENCED?tid=asked-1", {"error", "code", "causes", "from_oncelog"}),
        ("doctor", {"check", "verdict", "why"}),
    ],
)
def test_json_is_the_same_value(site: Site, path: str, keys: set[str]) -> None:
    producer(site, "asked-1").commit_transaction(20)
    with Cluster(site.bootstrap) as cluster:
        Admin(cluster).commit_offsets("asking", {Place("refunds-emitted", 0): 0})
    status, text = ask(site, "GET", f"/api/{path}")
    assert status == 200
    value: Any = json.loads(text)
    first: dict[str, Any] = value[0] if text.startswith("[") else value
    assert keys <= set(first)


def test_what_is_not_there_is_404_in_json_too(site: Site) -> None:
    for path in (
        "txn/nobody",
        "history/nobody",
        "explain/NOT_AN_ERROR",
        "what",
        "now/more",
        "partition/refunds-emitted",
    ):
        assert ask(site, "GET", f"/api/{path}")[0] == 404, path
    assert ask(site, "GET", "/api/partition/gone/0")[0] == 502
    assert json.loads(ask(site, "GET", "/api/spark")[1]) is not None


def test_a_bad_line_of_a_tap_is_said_and_breaks_nothing(site: Site, tmp_path: Path) -> None:
    producer(site, "tapped-1").commit_transaction(20)
    record = tmp_path / "tap.jsonl"
    record.write_text('{"this": "is no event"}\n')
    with served(site.bootstrap, "--record", str(record)) as other:
        for path in ("/api/txn/tapped-1", "/txn/tapped-1"):
            status, text = ask(other, "GET", path)
            assert status == 502
            assert "wanted a line of a tap" in text
        assert ask(other, "GET", "/api/now")[0] == 200


def test_an_unknown_transactional_id_is_404_and_a_dead_broker_502(site: Site) -> None:
    assert ask(site, "GET", "/txn/nobody")[0] == 404
    with oncelog.Broker() as other, served(other.bootstrap) as gone:
        assert ask(gone, "GET", "/readyz")[0] == 200
        other.stop()
        status, text = ask(gone, "GET", "/now")
        assert status == 502
        assert "127.0.0.1" in text
        assert ask(gone, "GET", "/readyz")[0] == 503
        assert ask(gone, "GET", "/metrics")[0] == 502
        assert ask(gone, "GET", "/api/now")[0] == 502
        assert ask(gone, "GET", "/healthz")[0] == 200


def test_other_addresses_need_a_token_and_then_everybody_does(site: Site) -> None:
    words = ["ui", "--bootstrap", site.bootstrap, "--listen", "0.0.0.0:0"]
    assert main(words) == 2
    assert main(["ui", "--bootstrap", site.bootstrap, "--ui-host", "inspector.example.org"]) == 2
    with served(site.bootstrap, "--listen", "0.0.0.0:0", "--token", "t0ken") as other:
        host = f"0.0.0.0:{other.port}"
        assert ask(other, "GET", "/now", Host=host)[0] == 401
        assert ask(other, "GET", "/now?token=wrong", Host=host)[0] == 401
        for path in ("/metrics", "/api/now", "/events", "/readyz", "/static/oncelog.js", "/abort?tid=x"):
            assert ask(other, "GET", path, Host=host)[0] == 401, path
        assert ask(other, "GET", "/healthz", Host=host)[0] == 200
        assert cookie(other, "/now?token=wrong", host) is None
        assert (
            cookie(other, "/now?token=t0ken", host)
            == f"oncelog_token_{other.port}=t0ken; HttpOnly; Path=/; SameSite=strict"
        )
        assert ask(other, "GET", "/now", Host=host, Cookie=f"oncelog_token_{other.port}=t0ken")[0] == 200
        for word in ("Bearer t0ken", "bearer t0ken"):  # as Prometheus sends it
            assert ask(other, "GET", "/metrics", Host=host, Authorization=word)[0] == 200
        for word in ("Bearer wrong", "Basic t0ken", "t0ken", "Bearer"):
            assert ask(other, "GET", "/metrics", Host=host, Authorization=word)[0] == 401


def test_on_every_address_the_one_that_was_asked_is_a_name_and_no_other(site: Site, page: Page) -> None:
    """As Prometheus and the probes of Kubernetes ask: by IP."""
    stuck = producer(site, "by-address")
    with served(site.bootstrap, "--listen", "0.0.0.0:0", "--token", "t0ken") as other:
        for address in ("127.0.0.1", "127.0.0.2"):
            host = f"{address}:{other.port}"
            assert ask(other, "GET", "/healthz", address=address)[0] == 200
            assert ask(other, "GET", "/metrics", address=address, Authorization="Bearer t0ken")[0] == 200
            origin = {"Host": host, "Origin": f"http://{host}", "Authorization": "Bearer t0ken"}
            assert (
                ask(other, "POST", "/abort", "tid=x", address=address, **origin)[0] == 403
            )  # the form's token
        for host in (f"127.0.0.2:{other.port}", f"evil.example:{other.port}", "127.0.0.1", "127.0.0.1:1"):
            assert ask(other, "GET", "/healthz", Host=host)[0] == 421, host
        for origin in (f"http://127.0.0.2:{other.port}", f"http://evil.example:{other.port}"):
            form = "tid=by-address&token=t0ken&producer_id=0&producer_epoch=0&began=0"
            answer = ask(other, "POST", "/abort", form, Origin=origin, Authorization="Bearer t0ken")
            assert (answer[0], "another origin" in answer[1]) == (403, True)
        page.goto(f"http://127.0.0.1:{other.port}/now?token=t0ken")
        follow(page, page.locator("tr", has_text="by-address").get_by_text("abort…").first)
        page.get_by_role("button", name="Abort it").click()
        expect(page.locator("span.state").first).to_have_text(re.compile("^(Empty|CompleteAbort)$"))
    with pytest.raises(KafkaException):
        stuck.commit_transaction(20)


def test_behind_a_proxy_its_name_and_its_https_are_ours_too(site: Site) -> None:
    names = ("https://inspector.example.org", "plain.example.org", "http://other.example.org:81")
    words = [word for each in names for word in ("--ui-host", each)]
    with served(site.bootstrap, *words, "--token", "t0ken") as other:
        for host, status in (
            ("inspector.example.org", 200),
            ("Inspector.Example.ORG", 200),
            ("plain.example.org", 200),
            (f"plain.example.org:{other.port}", 200),
            ("other.example.org:81", 200),
            (f"127.0.0.1:{other.port}", 200),
            ("other.example.org", 421),
            ("evil.example.org", 421),
        ):
            assert (
                ask(other, "GET", "/now", Host=host, Cookie=f"oncelog_token_{other.port}=t0ken")[0] == status
            ), host
        assert ask(other, "GET", "/now")[0] == 401  # whoever comes through the proxy comes from loopback
        form = "tid=nobody&token=t0ken&producer_id=0&producer_epoch=0&began=0"
        for origin, status in (
            ("https://inspector.example.org", 409),
            ("http://plain.example.org", 409),
            ("http://other.example.org:81", 409),
            (f"http://127.0.0.1:{other.port}", 409),
            ("http://inspector.example.org", 403),
            ("https://plain.example.org", 403),
            ("https://evil.example.org", 403),
        ):
            headers = {"Origin": origin, "Cookie": f"oncelog_token_{other.port}=t0ken"}
            assert ask(other, "POST", "/abort", form, Host="inspector.example.org", **headers)[0] == status, (
                origin
            )


@pytest.mark.parametrize(
    "name", ["ftp://x.example", "https://", "x.example/path", "a@b", "x.example:port", "x y", ""]
)
def test_a_name_that_is_none_is_a_wrong_option(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ui", "--bootstrap", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--token", "t", "--ui-host", name]
    assert main(words) == 2
    assert "--ui-host: wanted [http[s]://]NAME[:PORT]" in capsys.readouterr().err


def cookie(site: Site, path: str, host: str) -> str | None:
    door = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
    door.request("GET", path, headers={"Host": host})
    given = door.getresponse().headers["Set-Cookie"]
    door.close()
    return given


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_a_broker_s_page_on_other_addresses_needs_a_token_too(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = f"[{host}]" if ":" in host else host
    words = ["serve", "--data-dir", str(tmp_path), "--listen", "127.0.0.1:0", "--ui", f"{shown}:0"]
    assert main(words) == 2
    assert "--ui-token" in capsys.readouterr().err


@contextmanager
def busy(bootstrap: str) -> Generator[Callable[[], int]]:
    """Four transactional clients that go on and on; how many transactions they have ended so far."""
    done = [0, 0, 0, 0]
    stop = threading.Event()

    def work(number: int) -> None:
        made = transactional(bootstrap, f"load-{number}")
        while not stop.is_set():
            made.begin_transaction()
            for _ in range(5):
                made.produce("loaded", b"x" * 200, partition=number)
            made.commit_transaction(30)
            done[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    try:
        while not all(done):  # each is known to its coordinator
            time.sleep(0.02)
        yield lambda: sum(done)
    finally:
        stop.set()
        for each in threads:
            each.join(60)


def _opens(transactional_id: str, given: InitProducerIdResponse, partition: int) -> AddPartitionsToTxnRequest:
    topic = AddPartitionsToTxnTopic(name="opened", partitions=[partition])
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=given.producer_id,
        v3_and_below_producer_epoch=given.producer_epoch,
        v3_and_below_topics=[topic],
    )


def test_ten_thousand_ids_and_a_load_leave_it_quick_and_readable(page: Page, tmp_path: Path) -> None:
    """A broker in a process of its own that others keep busy: every screen answers, a stuck transaction shows, the load goes on."""
    with targets.serve(tmp_path, {}) as bootstrap, served(bootstrap) as site:
        with Cluster(bootstrap) as cluster:
            Admin(cluster).create_topic("loaded", partitions=4)
            Admin(cluster).create_topic("refunds-emitted", partitions=1)
            Admin(cluster).create_topic("opened", partitions=8)
            door = cluster.coordinator("many-0", TRANSACTION)
            for number in range(10_000):
                request = InitProducerIdRequest(
                    transactional_id=f"many-{number}", transaction_timeout_ms=600_000
                )
                given = door.send(request, InitProducerIdResponse, 5)
                if number % 10 == 0:  # a thousand of them are open, without a record yet
                    door.send(
                        _opens(f"many-{number}", given, number // 10 % 8), AddPartitionsToTxnResponse, 3
                    )
            for number in range(300):
                Admin(cluster).commit_offsets(f"group-{number}", {Place("loaded", number % 4): 0})
        with busy(bootstrap) as done:
            page.goto(site.url + "now")
            expect(page.get_by_text("10,00").first).to_be_visible()
            held = producer(site, "stuck-under-load")
            row = page.locator("tr", has_text="refunds-emitted-0")
            Watch().shows(row.get_by_role("link", name="stuck-under-load"))
            expect(row.locator(".kind.long")).to_be_visible()
            rate = page.locator(".tile", has_text="commits a second").locator("b")
            expect(rate).not_to_have_text("0")
            before, slowest = done(), 0.0
            for path, text in (
                ("txn", "and 9,505 more"),
                ("txn?match=many-777*", "many-7777"),
                ("txn/load-1?last=3", "EndTxn commit"),
                ("partition/loaded/1", "committed"),
                ("groups", "group-299"),
                ("now", "stuck-under-load"),
            ):
                watch = Watch()
                page.goto(site.url + path)
                assert text in page.locator("main").inner_html()
                took = watch.seconds()
                print(f"{path}: {took:.2f} s")
                slowest = max(slowest, took)
            assert slowest < 4
            page.goto(site.url + "now")
            count = page.locator(".tile", has_text="open transactions").locator("b")
            expect(count).to_have_text(re.compile("1,00[1-5]"))  # each of the four clients may have one open
            assert (
                page.locator("h2:text-is('Open transactions, oldest first') + .scroll tbody tr").count()
                == 500
            )
            assert page.evaluate("document.documentElement.scrollWidth") <= 1280
            page.goto(site.url + "txn")
            page.keyboard.press("/")
            page.keyboard.type("many-777*")
            page.keyboard.press("Enter")
            expect(page.get_by_role("link", name="many-7777", exact=True)).to_be_visible()
            assert done() > before
        page.goto(site.url + "now")
        expect(count).to_have_text("1,001")
        held.abort_transaction(20)


def test_the_page_runs_beside_the_broker_too(page: Page, tmp_path: Path) -> None:
    words = ["serve", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), "--ui", "127.0.0.1:0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "oncelog.cli.main", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().split()[3]
        bootstrap = process.stdout.readline().split()[3]
        subprocess.run(
            [sys.executable, "-m", "oncelog.cli.main", "topics", "new", "beside", "--bootstrap", bootstrap],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        page.goto(url + "topics")
        expect(page.get_by_text("beside")).to_be_visible()
    finally:
        process.terminate()
        assert process.wait(20) == 0
        process.stdout.close()
