"""Fills topics for tests of the Spark source, by librdkafka: codecs, headers, times, transactions."""

import importlib
import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from oncelog.client.admin import EARLIEST, LATEST, Admin
from oncelog.client.cluster import Cluster
from oncelog.model import Isolation, TopicPartition

rdkafka: Final[Any] = importlib.import_module(
    "confluent_kafka"
)  # its types are partly unknown to the checker

LIMIT_S: Final = 30.0
_numbers = itertools.count(1)

Headers = list[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class Sent:
    """A record to write."""

    value: bytes | None
    key: bytes | None = None
    partition: int = 0
    headers: Headers | None = None
    timestamp: int | None = None


def values(first: int, stop: int, *, partition: int = 0) -> list[Sent]:
    """Records that say their number."""
    return [Sent(b"%d" % number, partition=partition) for number in range(first, stop)]


class Feed:
    """Writes to one broker."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def topic(self, name: str, partitions: int = 1, **configs: object) -> str:
        """A topic of its own for each call, so that tests may share a broker."""
        unique = f"{name}-{next(_numbers)}"
        with Cluster(self.bootstrap) as cluster:
            settings = {key.replace("_", "."): str(value) for key, value in configs.items()}
            Admin(cluster).create_topic(unique, partitions=partitions, configs=settings)
        return unique

    def send(self, topic: str, records: Iterable[Sent], *, codec: str = "none") -> None:
        producer = self.producer(**{"compression.type": codec})
        _produce(producer, topic, records)
        _flush(producer)

    def producer(self, **settings: object) -> Any:
        return rdkafka.Producer(
            {"bootstrap.servers": self.bootstrap, "log_level": 0, "linger.ms": 5, **settings}
        )

    def transaction(self, topic: str, records: Iterable[Sent], *, end: str) -> Any:
        """`end`: commit, abort or open. An open one is given back, to be ended by `producer.commit_transaction()`."""
        producer = self.producer(**{"transactional.id": f"feed-{next(_numbers)}"})
        producer.init_transactions(LIMIT_S)
        producer.begin_transaction()
        _produce(producer, topic, records)
        _flush(producer)
        if end == "commit":
            producer.commit_transaction(LIMIT_S)
        elif end == "abort":
            producer.abort_transaction(LIMIT_S)
        return producer

    def offsets(
        self, topic: str, which: int = LATEST, *, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> list[int]:
        """By partition."""
        with Cluster(self.bootstrap) as cluster:
            admin = Admin(cluster)
            found = admin.offsets_at(dict.fromkeys(admin.partitions_of(topic), which), isolation=isolation)
        return [found[each].offset for each in sorted(found)]

    def earliest(self, topic: str) -> list[int]:
        return self.offsets(topic, EARLIEST)

    def delete_before(self, topic: str, offset: int, *, partition: int = 0) -> None:
        with Cluster(self.bootstrap) as cluster:
            Admin(cluster).delete_records({TopicPartition(topic, partition): offset})

    def admin(self, do: Callable[[Admin], None]) -> None:
        with Cluster(self.bootstrap) as cluster:
            do(Admin(cluster))


def _produce(producer: Any, topic: str, records: Iterable[Sent]) -> None:
    for each in records:
        more = {} if each.timestamp is None else {"timestamp": each.timestamp}
        producer.produce(
            topic,
            each.value,
            each.key,
            partition=each.partition,
            headers=each.headers,
            on_delivery=_delivered,
            **more,
        )


def _delivered(error: object, _message: object) -> None:
    assert error is None, str(error)


def _flush(producer: Any) -> None:
    assert producer.flush(LIMIT_S) == 0, "not everything was written in time"


def wait_for(what: str, holds: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, f"waited {limit_s} s for: {what}"
        time.sleep(0.05)
