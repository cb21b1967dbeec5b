"""Takes the pictures of the inspector's page that README and docs show: a real broker, real clients, a real Chromium.

python -m tools.pictures [NAME ...]
"""

import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from confluent_kafka import Consumer, Producer, TopicPartition
from playwright.sync_api import Page, sync_playwright

import oncelog
from oncelog.client.admin import CommittedOffset
from oncelog.client.cluster import Cluster
from oncelog.client.transactional import TransactionalId
from oncelog.model import TopicPartition as Place
from oncelog.spark.sink_plan import Marker
from tools.generated import ROOT

PICTURES = ROOT / "docs" / "pictures"
WIDTH = 1200
PADDED = ("section > .legend", ".events", ".lanes-box")  # these may not touch the edge
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]


def transactional(
    bootstrap: str, transactional_id: str, client_id: str, timeout_ms: int = 60_000
) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "client.id": client_id,
            "transaction.timeout.ms": timeout_ms,
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    producer.init_transactions(20)
    return producer


def act(bootstrap: str) -> list[Producer]:
    """A shop's evening: settled refunds, an aborted one, a group that waits, a till that hangs. Kept open by the caller."""
    till = transactional(bootstrap, "refunds-1", "till-1")
    reader = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "warehouse-loader", "enable.auto.commit": False}
    )
    for number in range(12):
        till.begin_transaction()
        for refund in range(6):
            till.produce(
                "refunds-emitted", b"refund %d-%d" % (number, refund), key=b"order-%d" % refund, partition=0
            )
        till.produce("refund-audit", b"audit %d" % number, partition=0)
        till.send_offsets_to_transaction(
            [TopicPartition("settlements", 0, 500 * (number + 1))], reader.consumer_group_metadata(), 20
        )
        till.flush(10)
        time.sleep((0.02, 0.05, 0.01, 0.09, 0.03, 0.14)[number % 6] if number < 11 else 0)
        if number in (2, 7):
            till.abort_transaction(20)
        else:
            till.commit_transaction(20)
    reader.commit(offsets=[TopicPartition("refunds-emitted", 0, 8)], asynchronous=False)
    reader.close()
    query(bootstrap)
    hung = transactional(bootstrap, "payments-processor-7", "till-7", timeout_ms=300_000)
    hung.begin_transaction()
    for _ in range(14):
        hung.produce("refunds-emitted", b"never ended", partition=0)
    hung.flush(10)
    time.sleep(3)
    return [till, hung]


def query(bootstrap: str) -> None:
    """What a query of the Spark sink leaves, by the sink's own marker: five micro-batches, one of them begun again."""
    with Cluster(bootstrap, client_id="spark-driver") as cluster:
        own = TransactionalId(cluster, "settle-refunds", timeout_ms=30_000)
        producer = own.init()
        for number, commit in ((17, True), (18, True), (19, False), (19, True), (20, True)):
            marker = Marker("2f0c6b1e", number, number)
            offsets = {Place("settlements", 0): CommittedOffset(number * 500, -1, marker.text())}
            own.commit_offsets(producer, own.name, offsets)
            time.sleep(0.02 * (1 + number % 3))
            producer = own.end(producer, commit=commit)


@contextmanager
def busy(bootstrap: str) -> Generator[None]:
    """Somebody at work while the block runs, now more and now less."""
    stop = threading.Event()

    def work() -> None:
        shop = transactional(bootstrap, "orders-3", "shop-3")
        for number in itertools.count():
            shop.begin_transaction()
            for _ in range(5 + 5 * (number % 7)):
                shop.produce("refund-audit", b"order", partition=0)
            shop.flush(10)
            shop.abort_transaction(20) if number % 9 == 8 else shop.commit_transaction(20)
            if stop.wait(0.03 + 0.1 * abs(number % 40 - 20) / 20):
                return

    working = threading.Thread(target=work)
    working.start()
    try:
        yield
    finally:
        stop.set()
        working.join(30)


def main() -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("pictures: wanted chromium on the PATH, found none", file=sys.stderr)
        return 2
    PICTURES.mkdir(parents=True, exist_ok=True)
    with oncelog.Broker(settings={"offsets.topic.num.partitions": 4}) as broker:
        for topic in ("settlements", "refunds-emitted", "refund-audit"):
            broker.topic(topic)
        kept = act(broker.bootstrap)
        words = ["ui", "--listen", "127.0.0.1:0", "--bootstrap", broker.bootstrap]
        page = subprocess.Popen(
            [sys.executable, "-m", "oncelog.cli.main", *words],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        assert page.stdout is not None
        url = page.stdout.readline().split()[3]
        try:
            with busy(broker.bootstrap):
                take(chromium, url, sys.argv[1:])
        finally:
            page.terminate()
            page.wait(20)
            kept.clear()
    return 0


def take(chromium: str, url: str, names: Sequence[str]) -> None:
    """All of them, or those that are named."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        for name, path, scheme, until in (
            ("now", "now", "light", "footer"),
            ("lanes", "txn/refunds-1", "light", ".lanes-box"),
            ("lanes-dark", "txn/refunds-1", "dark", ".lanes-box"),
            ("bytes", "txn/refunds-1", "light", "details[open]"),
            ("state", "txn/refunds-1", "light", "details[open]"),
            ("transactions", "txn", "light", "footer"),
            ("abort", "abort?tid=payments-processor-7", "light", "footer"),
            ("history", "history/refunds-1", "light", "h2:nth-of-type(3) + .scroll tbody tr:nth-child(6)"),
            (
                "partition",
                "partition/refunds-emitted/0?offset=0",
                "light",
                "h2.bytes + .scroll tbody tr:nth-child(14)",
            ),
            ("groups", "groups", "light", "footer"),
            ("spark", "spark", "light", "section > .legend"),
            ("cost", "cost", "light", ".figures tbody tr:nth-child(12)"),
            ("learn", "learn", "light", ".events"),
            ("phone", "now", "dark", "tbody tr"),
        ):
            if names and name not in names:
                continue
            is_phone = name == "phone"
            context = browser.new_context(
                viewport={"width": 390 if is_phone else WIDTH, "height": 800},
                color_scheme=scheme,  # pyright: ignore[reportArgumentType]  # one of its words
                device_scale_factor=2 if is_phone or name.startswith("lanes") else 1,
            )
            shown = context.new_page()
            shown.goto(url + path)
            if name == "learn":
                shown.get_by_role("button", name="The zombie").click()
                shown.locator("svg.lanes").wait_for(timeout=60_000)
            shown.wait_for_timeout(9000 if path == "now" else 1500)  # the rates need some ticks
            top = 0.0
            if name == "bytes":
                shown.locator("g.box.offset").first.click()
                top = bounds(shown, "details[open]")[0]
            if name == "state":
                shown.locator("g.box.state").last.focus()
                shown.keyboard.press("Enter")
                top = bounds(shown, "h2")[0] - 12
            shown.evaluate("document.querySelector('header').style.position = 'static'; scrollTo(0, 0)")
            bottom = bounds(shown, until)[1] + (9 if until in PADDED else 0)
            size = {"x": 0, "y": top, "width": 390 if is_phone else WIDTH, "height": bottom - top}
            shown.screenshot(path=PICTURES / f"{name}.png", full_page=True, clip=size)  # pyright: ignore[reportArgumentType]
            context.close()
        browser.close()


# In one step: a live page puts its nodes in place anew.
BOUNDS = """selector => {
  const box = (document.querySelector(selector) ?? document.documentElement).getBoundingClientRect();
  return [box.top + scrollY, box.bottom + scrollY];
}"""


def bounds(shown: Page, selector: str) -> tuple[float, float]:
    """Where the first of them begins and ends, from the top of the document on; without any, the document."""
    top, bottom = shown.evaluate(BOUNDS, selector)
    return float(top), float(bottom)


if __name__ == "__main__":
    raise SystemExit(main())
