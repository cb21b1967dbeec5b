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
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from playwright.sync_api import Page, expect, sync_playwright

import oncelog
from oncelog.client.admin import Admin, CommittedOffset
from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.transactional import TransactionalId
from oncelog.model import TopicPartition as Place
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.spark.sink_plan import Marker
from tests.clients import transactional
from tests.conformance import targets
from tests.toolchains import ROOT, Missing, leave_out, program

EVIL = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
pytestmark = [pytest.mark.xdist_group("page"), pytest.mark.timeout(180)]


@dataclass(frozen=True, slots=True)
class Site:
    bootstrap: str
    url: str
    token: str

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
            "127.0.0.1:0",
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
        yield Site(bootstrap, said[3], said[5])
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    results = tmp_path_factory.mktemp("results")
    (results / "evil.json").write_text(json.dumps({"table": [{"side": EVIL, "txn/s": 1}]}))
    settings = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100}
    with oncelog.Broker(settings=settings) as broker:
        broker.topic("refunds-emitted", partitions=2)
        with served(broker.bootstrap, "--results", str(results)) as running:
            yield running


def soon() -> float:
    """2 seconds, as promised; longer on a machine that has much else to do."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return 2_000 * max(1.0, busy)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        chromium = program("chromium")
    except Missing as why:
        leave_out("the page in a browser", why)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield running
        running.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Page]:
    """A page that fails the test if a script broke or anything was asked of another host."""
    made: Page = browser.new_page(viewport={"width": 1280, "height": 900})
    troubles: list[str] = []
    made.on("pageerror", lambda fault: troubles.append(str(fault)))
    made.on(
        "request",
        lambda request: None if request.url.startswith("http://127.0.0.1:") else troubles.append(request.url),
    )
    made.on("console", lambda line: troubles.append(line.text) if "Content Security" in line.text else None)
    yield made
    made.close()
    assert troubles == []


def producer(
    site: Site, transactional_id: str, client_id: str = "till", timeout_ms: int = 60_000
) -> Producer:
    made = Producer(
        {
            "bootstrap.servers": site.bootstrap,
            "transactional.id": transactional_id,
            "client.id": client_id,
            "transaction.timeout.ms": timeout_ms,
            "log_level": 0,
        }
    )
    made.init_transactions(20)
    made.begin_transaction()
    made.produce("refunds-emitted", b"refund", partition=0)
    made.flush(10)
    return made


def test_a_stuck_transaction_appears_within_2_seconds_and_leaves_when_it_ends(site: Site, page: Page) -> None:
    page.goto(site.url)
    expect(page.get_by_text("No transaction is open.")).to_be_visible()
    stuck = producer(site, "stuck-1", "till-7")
    expect(page.get_by_role("link", name="stuck-1").first).to_be_visible(timeout=soon())
    expect(page.get_by_text("till-7 at 127.0.0.1:")).to_be_visible()
    expect(page.locator(".kind.long")).to_be_visible()
    stuck.commit_transaction(20)
    expect(page.get_by_text("No partition is held")).to_be_visible(timeout=3_000)


def test_a_timed_out_transaction_appears_within_2_seconds(site: Site, page: Page) -> None:
    late = producer(site, "late-1", timeout_ms=1000)
    page.goto(site.url + "txn/late-1")
    expect(page.locator("span.state.Ongoing").first).to_be_visible()
    while json.loads(ask(site, "GET", "/api/txn/late-1")[1])["state"] == "Ongoing":
        pass  # the coordinator has not noticed yet
    expect(page.locator("span.state.CompleteAbort").first).to_be_visible(timeout=soon())
    expect(page.get_by_text("timeout, to epoch")).to_be_visible(timeout=soon())
    with pytest.raises(KafkaException):
        late.commit_transaction(20)
    expect(page.locator("g.box.rpc.refused").first).to_be_visible(timeout=soon())


def test_a_zombie_appears_with_its_successor_within_2_seconds(site: Site, page: Page) -> None:
    zombie = producer(site, "zombie-1", "old")
    page.goto(site.url + "txn/zombie-1")
    expect(page.get_by_text("new instance old at")).to_be_visible()
    newer = producer(site, "zombie-1", "successor")
    expect(page.get_by_text("new instance successor at")).to_be_visible(timeout=soon())
    with pytest.raises(KafkaException):
        zombie.commit_transaction(20)
    expect(page.locator("g.box.refused").first).to_be_visible(timeout=soon())
    refused = page.locator("details", has_text=re.compile("PRODUCER_FENCED|INVALID_PRODUCER_EPOCH")).first
    refused.locator("summary").click()
    refused.get_by_text("why ").click()
    expect(page.locator("tr", has_text="new instance").locator(".verdict.confirmed")).to_be_visible()
    expect(page.get_by_text("successor at 127.0.0.1:").first).to_be_visible()
    newer.abort_transaction(20)


def test_lanes_open_by_click_and_by_keyboard(site: Site, page: Page) -> None:
    producer(site, "lanes-1").commit_transaction(20)
    page.goto(site.url + "txn/lanes-1")
    boxes = page.locator("g.box")
    assert boxes.count() >= 5
    page.locator("g.box.commit").first.click()
    assert page.locator("details[open]").count() == 1
    boxes.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
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


def test_a_partition_is_a_strip_with_its_bytes(site: Site, page: Page) -> None:
    opened = producer(site, "strip-1")
    page.goto(site.url + "partition/refunds-emitted/0")
    expect(page.locator("svg.strip rect.open").first).to_be_visible()
    page.locator("td a").first.click()
    expect(page.get_by_text("base sequence")).to_be_visible()
    expect(page.get_by_text("(fits)")).to_be_visible()
    opened.abort_transaction(20)
    page.goto(site.url + "partition/refunds-emitted/0")
    expect(page.locator("svg.strip rect.aborted").first).to_be_visible()


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
    rows = shown.locator("tbody tr")
    told = [rows.nth(at).locator("td").all_inner_texts() for at in range(2)]
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
        assert page.locator("main h2").first.inner_text() == "eos"
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
        if page.locator(
            "main[data-live]"
        ).count():  # what the script puts in place at a tick is looked at too
            page.wait_for_event("response", lambda each: each.request.headers.get("x-fragment") == "1")
        assert page.title() != "broken", screen
        assert page.locator("img").count() == 0, screen
        assert page.locator("script").count() == 1, screen  # our own
        shown = page.locator("body").inner_text()
        assert ("onerror=" in shown) is (screen in with_it), screen
    page.goto(site.url + "partition/refunds-emitted/0")
    page.locator("td a").first.click()  # the newest batch, with key, value and header
    bytes_shown = page.locator("main").inner_text()
    assert bytes_shown.count("onerror=") >= 4  # the name of the header too
    page.goto(site.url + "now")
    page.get_by_role("link", name=EVIL).first.click()
    expect(page.get_by_role("heading", name=EVIL)).to_be_visible()
    page.locator("g.box").first.click()  # a request with the id in its bytes
    assert page.title() != "broken"
    opened.abort_transaction(20)


def test_abort_asks_says_what_vanishes_and_wants_the_token(site: Site, page: Page) -> None:
    stuck = producer(site, "abort-me")
    page.goto(site.url)
    page.locator("tr", has_text="abort-me").get_by_text("abort…").first.click()
    expect(page.get_by_text("become invisible for ever")).to_be_visible()
    page.locator("input[name=token]").fill("guessed")
    page.get_by_role("button", name="Abort it").click()
    expect(page.get_by_text("Wanted the token")).to_be_visible()
    page.goto(site.url + "abort?tid=abort-me")
    page.locator("input[name=token]").fill(site.token)
    page.get_by_role("button", name="Abort it").click()
    expect(page.locator("span.state").first).not_to_have_text("Ongoing")
    with pytest.raises(KafkaException):
        stuck.commit_transaction(20)


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("A transaction", "now 2 are visible"),
        ("The zombie", "PRODUCER_FENCED"),
        ("Crash after the decision", "1 refund is visible"),
        ("Never came back", "see 0 refunds"),
    ],
)
def test_learn_plays_the_seeds_stories(site: Site, page: Page, title: str, said: str) -> None:
    page.goto(site.url + "learn")
    page.get_by_role("button", name=title, exact=True).click()
    expect(page.get_by_text(said).first).to_be_visible(timeout=30_000)
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


def ask(site: Site, method: str, path: str, body: str = "", **headers: str) -> tuple[int, str]:
    door = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
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
    assert ask(site, "GET", "/now", Host="evil.example:80")[0] == 421


def test_changes_from_another_origin_or_without_a_token_are_refused(site: Site) -> None:
    stuck = producer(site, "kept-1")
    form = f"tid=kept-1&token={site.token}"
    assert ask(site, "POST", "/abort", form, Origin="http://evil.example")[0] == 403
    assert ask(site, "POST", "/abort", form, Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(site, "POST", "/abort", "tid=kept-1")[0] == 403
    assert ask(site, "POST", "/abort", "tid=kept-1&token=wrong")[0] == 403
    assert ask(site, "GET", f"/abort?{form}")[0] == 200  # asks only
    stuck.commit_transaction(20)
    assert ask(site, "POST", "/abort", form)[0] == 409  # nothing left to abort


def test_headers_allow_nothing_but_our_own(site: Site) -> None:
    door = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
    door.request("GET", "/now")
    answer = door.getresponse()
    answer.read()
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    door.close()


def test_json_is_the_same_value(site: Site) -> None:
    status, text = ask(site, "GET", "/api/now")
    assert status == 200
    assert '"known_ids"' in text
    assert ask(site, "GET", "/api/txn/nobody")[0] == 404
    assert ask(site, "GET", "/api/what")[0] == 404


def test_an_unknown_transactional_id_is_404_and_a_dead_broker_502(site: Site) -> None:
    assert ask(site, "GET", "/txn/nobody")[0] == 404
    with oncelog.Broker() as other, served(other.bootstrap) as gone:
        assert ask(gone, "GET", "/readyz")[0] == 200
        other.stop()
        status, text = ask(gone, "GET", "/now")
        assert status == 502
        assert "127.0.0.1" in text
        assert ask(gone, "GET", "/readyz")[0] == 503
        assert ask(gone, "GET", "/healthz")[0] == 200


def test_other_addresses_need_a_token_and_then_everybody_does(site: Site) -> None:
    from oncelog.cli.main import main

    words = ["ui", "--listen", "0.0.0.0:0", "--bootstrap", site.bootstrap]
    assert main(words) == 1
    process = subprocess.Popen(
        [sys.executable, "-m", "oncelog.cli.main", *words, "--token", "t0ken"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().split()[3]
        other = Site(site.bootstrap, url, "t0ken")
        host = f"0.0.0.0:{other.port}"
        assert ask(other, "GET", "/now", Host=host)[0] == 401
        assert ask(other, "GET", "/now?token=wrong", Host=host)[0] == 401
        assert ask(other, "GET", "/now?token=t0ken", Host=host)[0] == 200
        assert ask(other, "GET", "/now", Host=host, Cookie="oncelog_token=t0ken")[0] == 200
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


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
        yield lambda: sum(done)
    finally:
        stop.set()
        for each in threads:
            each.join(60)


def test_ten_thousand_ids_and_a_load_leave_it_quick_and_readable(page: Page, tmp_path: Path) -> None:
    """A broker in a process of its own that others keep busy: every screen answers, a stuck transaction shows, the load goes on."""
    with targets.serve(tmp_path, {}) as bootstrap, served(bootstrap) as site:
        with Cluster(bootstrap) as cluster:
            Admin(cluster).create_topic("loaded", partitions=4)
            Admin(cluster).create_topic("refunds-emitted", partitions=1)
            door = cluster.coordinator("many-0", TRANSACTION)
            for number in range(10_000):
                request = InitProducerIdRequest(
                    transactional_id=f"many-{number}", transaction_timeout_ms=60_000
                )
                door.send(request, InitProducerIdResponse, 5)
        with busy(bootstrap) as done:
            page.goto(site.url + "now")
            expect(page.get_by_text("10,00").first).to_be_visible()
            held = producer(site, "stuck-under-load")
            row = page.locator("tr", has_text="refunds-emitted-0")
            expect(row.get_by_role("link", name="stuck-under-load")).to_be_visible(timeout=soon())
            expect(row.locator(".kind.long")).to_be_visible()
            rate = page.locator(".tile", has_text="commits a second").locator("b")
            expect(rate).not_to_have_text("0", timeout=soon())
            before, slowest = done(), 0.0
            for path, text in (
                ("txn", "and 9,505 more"),
                ("txn?match=many-777*", "many-7777"),
                ("txn/load-1?last=3", "EndTxn commit"),
                ("partition/loaded/1", "committed"),
                ("groups", "No group has committed"),
                ("now", "stuck-under-load"),
            ):
                began = time.monotonic()
                page.goto(site.url + path)
                assert text in page.locator("main").inner_html()
                slowest = max(slowest, time.monotonic() - began)
            assert slowest * 1000 < 2 * soon()
            assert page.evaluate("document.documentElement.scrollWidth") <= 1280
            page.goto(site.url + "txn")
            page.keyboard.press("/")
            page.keyboard.type("many-777*")
            page.keyboard.press("Enter")
            expect(page.get_by_role("link", name="many-7777", exact=True)).to_be_visible(timeout=soon())
            assert done() > before
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
