"""Takes the pictures of the inspector's page that README and docs show: a real broker, real clients, a real Chromium.

python -m tools.pictures
"""

import os
import shutil
import subprocess
import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from playwright.sync_api import sync_playwright

import oncelog
from tools.generated import ROOT

PICTURES = ROOT / "docs" / "pictures"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]


def transactional(bootstrap: str, transactional_id: str, client_id: str) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "client.id": client_id,
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
    for number in range(4):
        till.begin_transaction()
        for refund in range(6):
            till.produce(
                "refunds-emitted", b"refund %d-%d" % (number, refund), key=b"order-%d" % refund, partition=0
            )
        till.produce("refund-audit", b"audit %d" % number, partition=0)
        till.send_offsets_to_transaction(
            [TopicPartition("settlements", 0, number + 1)], reader.consumer_group_metadata(), 20
        )
        till.flush(10)
        if number == 2:
            till.abort_transaction(20)
        else:
            till.commit_transaction(20)
    reader.commit(offsets=[TopicPartition("refunds-emitted", 0, 8)], asynchronous=False)
    reader.close()
    hung = transactional(bootstrap, "payments-processor-7", "till-7")
    hung.begin_transaction()
    for _ in range(14):
        hung.produce("refunds-emitted", b"never ended", partition=0)
    hung.flush(10)
    time.sleep(3)
    return [till, hung]


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
            take(chromium, url)
        finally:
            page.terminate()
            page.wait(20)
            kept.clear()
    return 0


def take(chromium: str, url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        for name, path, scheme, size in (
            ("now", "now", "light", (1200, 640)),
            ("lanes", "txn/refunds-1", "light", (1200, 900)),
            ("lanes-dark", "txn/refunds-1", "dark", (1200, 900)),
            ("partition", "partition/refunds-emitted/0?offset=0", "light", (1200, 760)),
            ("groups", "groups", "light", (1200, 420)),
            ("learn", "learn", "light", (1200, 900)),
        ):
            context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)  # pyright: ignore[reportArgumentType]  # one of its words
            shown = context.new_page()
            shown.goto(url + path)
            if name == "learn":
                shown.get_by_role("button", name="The zombie").click()
            shown.wait_for_timeout(1500)
            shown.screenshot(path=PICTURES / f"{name}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    raise SystemExit(main())
