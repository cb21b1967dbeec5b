"""The page while it is watched: what stands still says so, tabs share answers and connections, tokens stay secret, what costs
time runs apart."""

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from playwright.sync_api import Page, Route, expect

import oncelog
from oncelog.cli.main import main
from oncelog.client.cluster import Away
from oncelog.inspect.groups import GroupView
from oncelog.inspect.page.app import Page as Inspected
from oncelog.inspect.page.serve import PageServer, open_door
from oncelog.inspect.page.shared import Shared
from tests.clients import transactional
from tests.inspect.test_page import (
    TICKS,
    Site,
    ask,
    cookie,
    follow,
    pane_of,
    producer,
    renewed,
    served,
    writes,
)
from tests.toolchains import ROOT

pytestmark = [pytest.mark.xdist_group("page-watching"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    settings = {"transaction.partition.verification.enable": "false"}
    with oncelog.Broker(settings=settings) as broker:
        broker.topic("refunds-emitted", partitions=2)
        with served(broker.bootstrap) as running:
            yield running


# ---- what stands still


def test_a_page_whose_server_hangs_says_since_when_and_goes_on(site: Site, page: Page) -> None:
    with served(site.bootstrap) as other:
        page.goto(other.url + "now")
        renewed(page)
        since = page.locator("#since")
        expect(since).to_be_empty()
        os.kill(other.process, signal.SIGSTOP)
        try:
            expect(since).to_have_text(re.compile(r"^not updated for \d+ s: "))
            assert page.locator("body.stale").count() == 1
        finally:
            os.kill(other.process, signal.SIGCONT)
        expect(since).to_be_empty()
        assert page.locator("body.stale").count() == 0


def test_an_answer_that_does_not_come_is_given_up(site: Site, page: Page) -> None:
    """As when the broker hangs: the ticks go on, and one question must not wait for ever."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.goto(site.url + "now")
    renewed(page)
    page.route("**/now", hold)
    expect(page.locator("#since")).to_have_text(re.compile(r"^not updated for \d+ s: no answer$"))
    page.unroute("**/now")
    expect(page.locator("#since")).to_be_empty()
    assert held


def test_what_is_held_for_who_reads_says_so(site: Site, page: Page) -> None:
    producer(site, "read-1").commit_transaction(20)
    page.goto(site.url + "txn/read-1")
    pane_of(page, page.locator("g.box").first)
    expect(page.locator("#since")).to_have_text(
        re.compile(r"^not updated for \d+ s: while something is selected or open$")
    )
    page.evaluate("document.activeElement.blur()")
    expect(page.locator("#since")).to_be_empty()
    page.evaluate("getSelection().selectAllChildren(document.querySelector('h1'))")
    expect(page.locator("#since")).to_have_text(re.compile(r"not updated for \d+ s"))
    page.locator("#pause").click()
    expect(page.locator("#since")).to_have_text(re.compile(r"not updated for \d+ s: paused"))


def test_a_pane_that_is_open_stays_that_of_its_event(site: Site, page: Page) -> None:
    """The lanes show the last transaction: when another one comes, an open pane must not show that one's event."""
    made = producer(site, "again-1")
    made.commit_transaction(20)
    writes(made)  # from the second on they have the same events, in the same places
    made.commit_transaction(20)
    page.goto(site.url + "txn/again-1")
    pane = pane_of(page, page.locator("g.box.state").last)
    record = pane.locator("dl a").first.inner_text()
    renewed(page)
    assert page.locator("details[open] dl a").first.inner_text() == record
    writes(made)
    made.commit_transaction(20)
    page.evaluate("document.activeElement.blur()")
    with_other = f"/api/txn/{quote('again-1')}"
    newest = json.loads(ask(site, "GET", with_other)[1])["states"][-1]["offset"]
    assert not record.endswith(f" at {newest}")
    renewed(page)
    expect(page.locator("details[open]")).to_have_count(0)
    page.goto(site.url + "txn/again-1?last=3")
    opened = page.locator(f"details:has(a:text-is('{record}'))").first
    opened.locator("summary").click()
    renewed(page)
    writes(made)
    made.commit_transaction(20)
    expect(page.locator("g.box.commit")).to_have_count(3)
    assert page.locator("details[open] a", has_text=record).count() > 0
    assert page.locator("details[open]").count() == 1


# ---- tabs


HIDE = """is => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => is });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_eight_tabs_of_which_one_is_seen_do_not_take_all_connections(site: Site, browser: Any) -> None:
    context = browser.new_context()
    tabs: list[Page] = []
    for _ in range(8):
        tab: Page = context.new_page()
        tab.goto(site.url + "now", timeout=20_000)
        tabs.append(tab)
        if len(tabs) < 8:
            tab.evaluate(HIDE, True)
    renewed(tabs[-1])
    tabs[0].evaluate("document.querySelector('h1').textContent = 'old'")
    tabs[0].evaluate(HIDE, False)
    expect(tabs[0].locator("h1")).to_have_text("Now")  # it is live again
    context.close()


class Asked:
    """An inspector that counts, and answers when it is told to."""

    def __init__(self) -> None:
        self.count = 0
        self.go_on = threading.Event()

    def groups(self) -> tuple[list[GroupView], tuple[Away, ...]]:
        self.count += 1
        assert self.go_on.wait(30)
        return [], ()

    def topics(self) -> list[tuple[str, int]]:
        assert self.go_on.wait(30)
        return []


@contextmanager
def inspected(inspector: Asked, **more: Any) -> Generator[Site]:
    door = open_door("127.0.0.1", 0, None)
    made = Inspected(inspector, door.access, bootstrap="none", **more)  # pyright: ignore[reportArgumentType]
    server = PageServer(door, made.app())
    server.start()
    try:
        yield Site("none", door.url, door.access.token)
    finally:
        inspector.go_on.set()
        server.stop()


def test_tabs_that_ask_the_same_at_once_are_one_question() -> None:
    inspector = Asked()
    with inspected(inspector) as other:
        answers: list[int] = []
        tabs = [
            threading.Thread(target=lambda: answers.append(ask(other, "GET", "/groups", X_Fragment="1")[0]))
            for _ in range(8)
        ]
        for each in tabs:
            each.start()
        while inspector.count == 0:
            pass
        assert (
            ask(other, "GET", "/healthz")[0] == 200
        )  # all of them have been taken by now, or will find the answer
        inspector.go_on.set()
        for each in tabs:
            each.join(20)
        assert answers == [200] * 8
        assert inspector.count <= 2
        before = inspector.count
        assert ask(other, "GET", "/groups")[0] == 200  # who opens it is told what is so now
        assert ask(other, "GET", "/groups")[0] == 200
        assert inspector.count == before + 2


def test_readiness_does_not_wait_for_other_questions() -> None:
    inspector = Asked()
    with inspected(inspector, is_ready=lambda: None) as other:
        waits = threading.Thread(target=lambda: ask(other, "GET", "/groups"))
        waits.start()
        while inspector.count == 0:
            pass
        assert ask(other, "GET", "/readyz")[0] == 200
        inspector.go_on.set()
        waits.join(20)


def test_shared_answers_are_forgotten_and_faults_are_shared() -> None:
    asked: list[str] = []

    async def play() -> None:
        shared = Shared(60)

        async def one() -> int:
            asked.append("one")
            await asyncio.sleep(0)
            return len(asked)

        async def bad() -> int:
            asked.append("bad")
            raise ValueError("no")

        first = asyncio.create_task(shared.ask("x", one))
        second = asyncio.create_task(shared.ask("x", one))
        await asyncio.sleep(0)
        first.cancel()  # who stops waiting takes nothing from the others
        assert await second == 1
        assert await shared.ask("x", one) == 1
        assert await shared.ask("y", one) == 2
        assert await shared.ask("x", one, anew=True) == 3
        assert await shared.ask("x", one) == 3
        shared.forget()
        assert await shared.ask("x", one) == 4
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                await shared.ask("z", bad)
        assert asked.count("bad") == 1
        brief = Shared(0)
        assert await brief.ask("x", one) < await brief.ask("x", one)

    done: list[bool] = []

    def run() -> None:  # on a thread of its own: the browser's loop runs on this one
        asyncio.run(play())
        done.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert done


# ---- tokens


def first_line(words: list[str], **more: str) -> str:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "oncelog.cli.main",
            "ui",
            "--listen",
            "127.0.0.1:0",
            "--bootstrap",
            "127.0.0.1:1",
            *words,
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **more},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    process.terminate()
    process.wait(20)
    process.stdout.close()
    return line


def test_a_token_can_be_given_where_nobody_else_reads_it_and_is_not_said_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "token"
    kept.write_text("s3cret\n")
    for words, more in (
        (["--token-file", str(kept)], {}),
        (["--token", "s3cret"], {}),
        ([], {"ONCELOG_UI_TOKEN": "s3cret"}),
    ):
        line = first_line(words, **more)
        assert line.startswith("oncelog page on http://127.0.0.1:")
        assert "s3cret" not in line
    assert re.search(r" token \S{20,}$", first_line([]).rstrip())
    asked = ["ui", "--listen", "127.0.0.1:0", "--bootstrap", "127.0.0.1:1"]
    kept.write_text(" \n")
    for words in (
        ["--token-file", str(kept)],
        ["--token-file", str(tmp_path / "none")],
        ["--token-file", str(kept), "--token", "t"],
    ):
        assert main([*asked, *words]) == 2
        assert "--token-file" in capsys.readouterr().err


def test_a_token_in_the_address_is_taken_and_leaves_it(site: Site, page: Page) -> None:
    with served(site.bootstrap, "--listen", "0.0.0.0:0", "--token", "t0ken") as other:
        url = f"http://127.0.0.1:{other.port}/"
        page.goto(url + "txn?match=a*&token=t0ken")
        assert page.url == url + "txn?match=a%2A"
        page.goto(url + "now")
        renewed(page)  # by the cookie alone
        door = http.client.HTTPConnection("127.0.0.1", other.port, timeout=20)
        for path in ("//evil.example/x", "/\\evil.example", "/%2fevil.example"):
            door.request("GET", f"{path}?token=t0ken", headers={"Host": f"127.0.0.1:{other.port}"})
            answer = door.getresponse()
            answer.read()
            assert re.match(r"^/[^/\\]", answer.headers["Location"]), path
        door.close()
        assert ask(other, "GET", "/metrics?token=t0ken", Host=f"127.0.0.1:{other.port}")[0] == 200


def test_a_cookie_is_its_pages_own_and_only_for_tls_where_there_is_tls(site: Site) -> None:
    words = (
        "--ui-host",
        "https://inspector.example.org",
        "--ui-host",
        "plain.example.org",
        "--token",
        "t0ken",
    )
    with served(site.bootstrap, *words) as other:
        name = f"oncelog_token_{other.port}=t0ken"
        for host, is_secure in (
            ("inspector.example.org", True),
            ("plain.example.org", False),
            (f"127.0.0.1:{other.port}", False),
        ):
            given = cookie(other, "/now?token=t0ken", host)
            assert given is not None
            assert given.startswith(name)
            assert ("; Secure" in given) is is_secure, host
        stranger = f"oncelog_token_{other.port + 1}=t0ken"
        assert ask(other, "GET", "/now", Cookie=stranger)[0] == 401


# ---- what costs time


def children_of(process: int) -> int:
    """How many stories or measurements it plays at this moment."""
    found = 0
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(each.read_text().rpartition(")")[2].split()[1])
            if parent == process and b"oncelog.cli.apart" in each.parent.joinpath("cmdline").read_bytes():
                found += 1
        except OSError:  # it ended
            continue
    return found


def test_stories_run_one_at_a_time_in_a_process_of_their_own(site: Site) -> None:
    with served(site.bootstrap) as other:
        answers: list[tuple[int, str]] = []
        form = "story=commit"
        asking = [
            threading.Thread(target=lambda: answers.append(ask(other, "POST", "/learn", form)))
            for _ in range(7)
        ]
        for each in asking:
            each.start()
        most = 0
        while any(each.is_alive() for each in asking):
            most = max(most, children_of(other.process))
            asking[0].join(0.05)
        assert most == 1
        told = sorted(status for status, _ in answers)
        assert told == [200, 200, 200, 200, 429, 429, 429]
        assert all("now 2 are visible" in text for status, text in answers if status == 200)
        assert ask(other, "POST", "/learn", form)[0] == 200  # and then it is free again


# ---- beside a broker


@contextmanager
def beside(folder: Path, *words: str) -> Generator[tuple[Site, subprocess.Popen[str]]]:
    asked = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data-dir",
        str(folder / "data"),
        "--ui",
        "127.0.0.1:0",
        *words,
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "oncelog.cli.main", *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert process.stdout is not None
    try:
        said = process.stdout.readline().split()
        bootstrap = process.stdout.readline().split()[3]
        yield Site(bootstrap, said[3], said[5], process.pid), process
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def test_beside_a_broker_it_aborts_too_and_ends_with_it(page: Page, tmp_path: Path) -> None:
    with beside(tmp_path, "--auto-create-topics") as (other, process):
        stuck = transactional(other.bootstrap, "beside-1")
        writes(stuck)
        page.goto(other.url)
        follow(page, page.locator("tr", has_text="beside-1").get_by_text("abort…").first)
        page.locator("input[name=token]").fill(other.token)
        page.get_by_role("button", name="Abort it").click()
        expect(page.locator("span.state").first).to_have_text(re.compile("^(Empty|CompleteAbort)$"))
        with pytest.raises(KafkaException):
            stuck.commit_transaction(20)
        assert ask(other, "POST", "/learn", "story=commit")[0] == 200
        page.goto(other.url + "now")  # an open stream does not hold it up
        process.terminate()
        assert process.wait(20) == 0


def test_a_broker_that_cannot_listen_says_so_with_a_page_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        listen = ["--listen", f"127.0.0.1:{port}", "--ui", "127.0.0.1:0"]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "oncelog.cli.main",
                "serve",
                "--data-dir",
                str(tmp_path / "data"),
                *listen,
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert f"oncelog: --listen 127.0.0.1:{port}: " in done.stderr
    assert "Traceback" not in done.stderr


# ---- times, phones


def test_times_say_their_zone_without_a_script_too(site: Site, browser: Any) -> None:
    producer(site, "zone-1").commit_transaction(20)
    context = browser.new_context(java_script_enabled=False, timezone_id="Asia/Tokyo")
    still: Page = context.new_page()
    still.goto(site.url + "txn/zone-1")
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} UTC", still.locator("text.clock").text_content() or "")
    assert still.locator("th", has_text="when (UTC)").count() == 1
    shown = still.locator("td time").first.inner_text()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", shown)
    at_ms = int(still.locator("td time").first.get_attribute("data-ms") or 0)
    assert shown == time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at_ms / 1000)) + f".{at_ms % 1000:03}"
    still.goto(site.url + "history/zone-1")
    assert still.locator("th", has_text="(UTC)").count() == 3
    context.close()


def test_every_screen_is_as_narrow_as_a_phone(site: Site, browser: Any) -> None:
    name = "a-long-transactional-id-of-a-till-in-a-warehouse-far-away-1"
    opened = producer(site, name)
    reader = Consumer({"bootstrap.servers": site.bootstrap, "group.id": "phone"})
    opened.send_offsets_to_transaction(
        [TopicPartition("refunds-emitted", 1, 7)], reader.consumer_group_metadata(), 20
    )
    reader.close()
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True)
    small: Page = context.new_page()
    for path in (
        "now",
        f"txn/{name}",
        f"history/{name}",
        "partition/refunds-emitted/0",
        "partition/refunds-emitted/0?offset=0",
        f"abort?tid={name}",
        f"explain/PRODUCER_FENCED?tid={name}",
        "cost",
    ):
        small.goto(site.url + path)
        wide = small.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, f"{path} is {wide} wide"
    small.goto(site.url + f"txn/{name}")
    for kind in ("rpc", "state", "offset"):
        pane = pane_of(small, small.locator(f"g.box.{kind}").first)
        assert small.evaluate("document.documentElement.scrollWidth") <= 360, kind
        box = pane.bounding_box()
        assert box is not None
        assert box["width"] <= 360
    small.goto(site.url + "now")
    abort = small.get_by_text("abort…").first.bounding_box()
    assert abort is not None
    assert abort["height"] >= 30  # a finger's width
    small.evaluate(TICKS, 1)
    opened.abort_transaction(20)
    context.close()


def test_a_chosen_result_folds_cpu_times_to_their_sides(page: Page, tmp_path: Path) -> None:
    row = {
        "figure": "whole transaction, ms",
        "native": "0.26",
        "Kafka": "0.59",
        "ratio": "0.42x (0.40..0.47)",
        "broker CPU": "155 / 935 us/txn",
        "client CPU": "74 / 80 us/txn",
    }
    odd = {**row, "broker CPU": "155 / 355 / 935 us/txn"}
    (tmp_path / "eos.json").write_text(json.dumps({"table": [row]}))
    (tmp_path / "odd.json").write_text(json.dumps({"table": [odd]}))
    with oncelog.Broker() as broker, served(broker.bootstrap, "--results", str(tmp_path)) as other:
        page.goto(other.url + "cost")
        first, second = page.locator(".figures").all()
        assert first.locator("small").all_inner_texts() == ["155 + 74 us/txn", "935 + 80 us/txn"]
        assert first.locator("th").all_inner_texts() == ["figure", "native", "Kafka", "ratio"]
        assert "155 / 355 / 935 us/txn" in second.inner_text()  # not to be told apart: as it is
        measure = "all => all.every(each => each.scrollWidth <= each.clientWidth)"
        assert page.locator(".scroll").evaluate_all(measure)  # nothing is cut off
        page.goto(other.url.rstrip("/") + "/learn")
