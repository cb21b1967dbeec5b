"""Fixtures for pytest: `oncelog`, a broker for the whole session, and `oncelog_fresh`, one for a single test.

Loaded by every pytest run where oncelog is installed, so it imports nothing of ours until a test asks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from oncelog.client.easy import ReadRecord, Written
    from oncelog.embed import Broker, BrokerClock

MARKER = "oncelog(partitions=1, settings={}, virtual_clock=False): what the broker of this test is like"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@dataclass(frozen=True)
class Wish:
    """What the marker asks for."""

    partitions: int = 1
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    virtual_clock: bool = False


def wish_of(node: pytest.Item) -> Wish:
    """The nearest marker's words; a word that we do not know is a usage error, not a silent nothing."""
    marker = node.get_closest_marker("oncelog")
    if marker is None:
        return Wish()
    try:
        return Wish(*marker.args, **marker.kwargs)
    except TypeError:
        given = ", ".join(
            [*map(repr, marker.args), *(f"{name}={value!r}" for name, value in marker.kwargs.items())]
        )
        raise pytest.UsageError(
            f"{node.nodeid}: wanted @pytest.mark.{MARKER.partition(':')[0]}, found ({given})"
        ) from None


class Oncelog:
    """A broker as a test sees it. Topic names get the test's prefix, so tests that share a broker do not meet."""

    def __init__(self, broker: "Broker", prefix: str, partitions: int) -> None:
        self.broker = broker
        self.prefix = prefix
        self._partitions = partitions

    @property
    def bootstrap(self) -> str:
        """host:port, for any Kafka client."""
        return self.broker.bootstrap

    def name(self, name: str = "topic") -> str:
        """The name with the test's prefix: for topics, groups and transactional ids."""
        return self.prefix + name

    def topic(
        self,
        name: str = "topic",
        *,
        partitions: int | None = None,
        configs: Mapping[str, object] | None = None,
    ) -> str:
        """Makes a topic and returns its full name."""
        count = self._partitions if partitions is None else partitions
        return self.broker.topic(self.name(name), partitions=count, configs=configs)

    def write(
        self, topic: str, values: Sequence[bytes], *, key: bytes | None = None, partition: int | None = None
    ) -> "list[Written]":
        """Writes values to a topic, given by its full name; returns where they are."""
        from oncelog.client.easy import write_all

        return write_all(self.bootstrap, topic, values, key=key, partition=partition)

    def read(self, topic: str, *, isolation: str = "committed") -> "list[ReadRecord]":
        """All records of a topic, given by its full name, by partition and offset."""
        return self.broker.read(topic, isolation=isolation)


class FreshOncelog(Oncelog):
    """A broker that belongs to one test: it may be stopped, killed and sent into the future."""

    @property
    def clock(self) -> "BrokerClock":
        return self.broker.clock

    def restart(self) -> None:
        """A clean stop and a new start on the same port and data."""
        self.broker.restart()

    def kill(self) -> None:
        """Stops it at once, as a crash does; `restart` brings it back."""
        self.broker.kill()


def prefix_of(node: pytest.Item) -> str:
    """Legal in a topic name and short enough to leave room for one (249 characters in all)."""
    words = re.sub(r"[^a-zA-Z0-9._-]+", "-", node.name).strip("-")[:100]
    return f"{words}-{node.session.items.index(node)}-"


def start(wish: Wish) -> "Broker":
    from oncelog.embed import Broker

    return Broker(settings=wish.settings, virtual_clock=wish.virtual_clock).start()


@pytest.fixture(scope="session")
def oncelog_brokers() -> Iterator[dict[Any, "Broker"]]:
    """The running brokers of the session, one for each set of settings that a marker asked for."""
    brokers: dict[Any, Broker] = {}
    yield brokers
    for broker in brokers.values():
        broker.close()


@pytest.fixture
def oncelog(request: pytest.FixtureRequest, oncelog_brokers: dict[Any, "Broker"]) -> Iterator[Oncelog]:
    """A broker shared by all tests with the same settings. A test that moves the clock gets its own."""
    node: pytest.Item = request.node
    wish = wish_of(node)
    if wish.virtual_clock:
        broker = start(wish)
        try:
            yield Oncelog(broker, prefix_of(node), wish.partitions)
        finally:
            broker.close()
        return
    settings = tuple(sorted((name, str(value)) for name, value in wish.settings.items()))
    if settings not in oncelog_brokers:
        oncelog_brokers[settings] = start(wish)
    yield Oncelog(oncelog_brokers[settings], prefix_of(node), wish.partitions)


@pytest.fixture
def oncelog_fresh(request: pytest.FixtureRequest) -> Iterator[FreshOncelog]:
    """A broker for this test alone, without a prefix."""
    wish = wish_of(request.node)
    broker = start(wish)
    try:
        yield FreshOncelog(broker, "", wish.partitions)
    finally:
        broker.close()
