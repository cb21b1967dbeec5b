"""The keys of the page's JSON, on both brokers: scripts rely on them as on those of the commands (golden.txt)."""

import json
import re
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from oncelog.cli.main import main
from oncelog.client.admin import CommittedOffset
from oncelog.client.cluster import Cluster
from oncelog.client.transactional import TransactionalId
from oncelog.model import TopicPartition as Place
from oncelog.spark.sink_plan import Marker
from tests.inspect.golden import golden, paths
from tests.inspect.test_page import Site, ask, ready, served

TOPIC = "refunds-emitted"
# Each with what is asked for, below /api/.
ASKED = {
    "api now": "now",
    "api txn": "txn",
    "api txn ID": "txn/keys-1",
    "api history ID": "history/keys-1",
    "api topics": "topics",
    "api partition TOPIC N": f"partition/{TOPIC}/0",
    "api groups": "groups",
    "api spark": "spark",
    "api explain ERROR": "explain/PRODUCER_FENCED?tid=keys-1",
    "api doctor": "doctor",
}
# What only oncelog knows: elsewhere nothing stands below it.
OF_ONCELOG = re.compile(r"\.(last_request|bumps?|rates|past)[.\[]")
pytestmark = [pytest.mark.xdist_group("page-anywhere"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def filled(place: tuple[str, str]) -> Iterator[tuple[Site, bool]]:
    """A page for a broker on which everything is there once: what ended, what is open, a member of a group, a Spark query."""
    kind, bootstrap = place
    assert main(["topics", "new", TOPIC, "--partitions", "1", "--bootstrap", bootstrap]) == 0
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "loader",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    reader.subscribe([TOPIC])
    with served(bootstrap) as site:
        made = ready(site, "keys-1")
        made.init_transactions(30)
        for last in (False, True):
            made.begin_transaction()
            made.produce(TOPIC, b"refund", partition=0)
            made.flush(10)
            if not last:
                while reader.poll(1) is None and not reader.assignment():
                    pass
                offsets = [TopicPartition(TOPIC, 0, 1)]
                made.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), 20)
                made.commit_transaction(20)
        with Cluster(bootstrap, client_id="spark-driver", timeout_ms=20_000) as cluster:
            own = TransactionalId(cluster, "refunds-query", timeout_ms=30_000)
            producer = own.init()
            offset = CommittedOffset(10, -1, Marker("2f0c-query", 6, 6).text())
            own.commit_offsets(producer, own.name, {Place(TOPIC, 0): offset})
            own.end(producer, commit=True)
        while kind == "oncelog" and not json.loads(ask(site, "GET", "/api/now")[1])["rates"]:
            pass  # they are those between two questions
        yield site, kind == "oncelog"
        made.abort_transaction(20)
    reader.close()


@pytest.mark.parametrize("section", ASKED)
def test_keys_stay_as_they_are(filled: tuple[Site, bool], section: str) -> None:
    """A key that is missing or new is a change for every script: golden.txt must say so too."""
    site, is_oncelog = filled
    status, text = ask(site, "GET", f"/api/{ASKED[section]}")
    assert status == 200, text
    found = paths(json.loads(text))
    print(
        section, *(f"    {each}" for each in sorted(found)), sep="\n", file=sys.stderr
    )  # as golden.txt has it
    wanted = golden()[section]
    if is_oncelog:
        assert found == wanted
    else:
        assert found <= wanted
        assert all(OF_ONCELOG.search(each) for each in wanted - found), wanted - found
