"""Invented rows for the pipelines: row number n of a seed is always the same row. Written with our own idempotent producer."""

import json
import time
from collections.abc import Callable, Iterable
from random import Random
from typing import Final, NamedTuple

from oncelog.client.admin import EARLIEST, LATEST, Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import RefusedByBroker
from oncelog.client.producer import Producer
from oncelog.errors import ErrorCode

CHUNK_ROWS: Final = 500  # acknowledged together
CURRENCY: Final = "XTS"  # the code that ISO 4217 keeps for tests; amounts are whole hundredths of it
FIRST_CLICK_MS: Final = 1_924_992_000_000  # 2031-01-01T00:00:00Z
CLICK_EVERY_MS: Final = 20_000
CLICK_JITTER_MS: Final = 120_000  # clicks come out of order, but never by more than this
USERS: Final = 40
CUSTOMERS: Final = 50
STRANGERS: Final = 5  # customers that orders name and the table does not know
TIERS: Final = ("paper", "tin", "amber")


class Row(NamedTuple):
    key: bytes
    value: bytes


Make = Callable[[int, int], Row]
"""From a seed and a number to the row of that number."""


def settlement(seed: int, number: int) -> Row:
    """A settled payment. Some came back, in part or whole: those are to be refunded."""
    dice = _dice("settlement", seed, number)
    came_back = dice.random() < 0.5
    return _row(
        f"S-{number:08}",
        settlement_id=f"S-{number:08}",
        merchant=f"m-{dice.randrange(30):02}",
        amount=dice.randrange(100, 90_000),
        currency=CURRENCY,
        outcome="returned" if came_back else "kept",
        returned_percent=dice.choice((25, 50, 100)) if came_back else 0,
    )


def click(seed: int, number: int) -> Row:
    """A click of somebody at some time, a little out of order."""
    dice = _dice("click", seed, number)
    user = f"u-{dice.randrange(USERS):03}"
    at = FIRST_CLICK_MS + number * CLICK_EVERY_MS + dice.randrange(CLICK_JITTER_MS)
    return _row(user, click=number, user=user, at_ms=at, page=f"/page/{dice.randrange(9)}")


def transfer(seed: int, number: int) -> Row:
    """A row of t1; its amount decides whether it goes to t2 or to t3."""
    dice = _dice("transfer", seed, number)
    return _row(f"T-{number:08}", transfer=number, amount=dice.randrange(1, 100_000), currency=CURRENCY)


def order(seed: int, number: int) -> Row:
    """An order by a customer, whom the table may not know."""
    dice = _dice("order", seed, number)
    customer = f"c-{dice.randrange(CUSTOMERS + STRANGERS):03}"
    return _row(customer, order_id=f"O-{number:08}", customer=customer, amount=dice.randrange(1, 50_000))


def customer(seed: int, number: int) -> Row:
    """A line of the customers' table."""
    name = f"c-{number:03}"
    dice = _dice("customer", seed, number)
    return _row(name, customer=name, tier=dice.choice(TIERS), region=f"r-{dice.randrange(4)}")


def _dice(kind: str, seed: int, number: int) -> Random:
    return Random(f"{kind}/{seed}/{number}")


def _row(key: str, **fields: str | int) -> Row:
    return Row(key.encode(), json.dumps(fields, separators=(",", ":")).encode())


class Feeder:
    """Writes rows to one topic, from the first number that is not in it yet. Every row is acknowledged before it counts."""

    def __init__(self, cluster: Cluster, topic: str, make: Make, *, seed: int = 1) -> None:
        self._producer = Producer(cluster)
        self._topic = topic
        self._make = make
        self._seed = seed
        self.next_number = rows_in(cluster, topic)
        self.acked = 0

    def write(self, count: int) -> None:
        """So many more rows."""
        for first in range(0, count, CHUNK_ROWS):
            chunk = min(CHUNK_ROWS, count - first)
            for number in range(self.next_number, self.next_number + chunk):
                row = self._make(self._seed, number)
                self._producer.send(self._topic, row.value, key=row.key)
            self._producer.flush()
            self.next_number += chunk
            self.acked += chunk

    def write_slowly(self, count: int, *, rate: float, is_over: Callable[[], bool]) -> None:
        """About `rate` rows a second, until so many are written or it is over."""
        begun, done = time.monotonic(), 0
        while done < count and not is_over():
            due = min(count, int((time.monotonic() - begun) * rate) + 1) - done
            if due > 0:
                self.write(min(due, CHUNK_ROWS))
                done += min(due, CHUNK_ROWS)
            else:
                time.sleep(min(1 / rate, 0.1))


def rows_in(cluster: Cluster, topic: str) -> int:
    """How many offsets the topic spans: as many as rows, since feeds open no transactions and delete nothing."""
    admin = Admin(cluster)
    partitions = admin.partitions_of(topic)
    first = admin.offsets_at(dict.fromkeys(partitions, EARLIEST))
    end = admin.offsets_at(dict.fromkeys(partitions, LATEST))
    return sum(end[each].offset - first[each].offset for each in partitions)


def make_topics(cluster: Cluster, topics: Iterable[str], *, partitions: int) -> None:
    """Creates those that are missing; those that are there stay as they are."""
    for topic in topics:
        try:
            Admin(cluster).create_topic(topic, partitions=partitions)
        except RefusedByBroker as fault:
            if fault.error != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
