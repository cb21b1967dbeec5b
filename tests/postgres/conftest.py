"""A database, and a broker: oncelog, with ORACLE=1 Apache Kafka too."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

import oncelog
from oncelog.client.cluster import Backoff, Cluster
from oncelog.client.easy import create_topic, read_all
from oncelog.client.visible import ReadRecord
from oncelog.inspect.ask import list_transactions
from oncelog.pipelines.proof import DECIDED
from oncelog.postgres.outbox import make_progress_topic
from tests.conformance import targets
from tests.oracle import Oracle
from tests.postgres_server import Database, postgres
from tests.toolchains import Missing, leave_out

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    try:
        with postgres() as found:
            yield found
    except Missing as why:
        leave_out("PostgreSQL", why)


@pytest.fixture
def dsn(database: Database) -> str:
    if not database.is_running():  # a test before this one failed half-way
        database.start()
    return database.dsn


@dataclass
class Shop:
    """Topics and a transactional id of one test."""

    broker: oncelog.Broker | Oracle
    number: int = field(default_factory=lambda: next(_numbers))

    def __post_init__(self) -> None:
        create_topic(self.bootstrap, self.orders, partitions=3)
        create_topic(self.bootstrap, self.audit, partitions=1)
        with Cluster(self.bootstrap) as cluster:
            make_progress_topic(cluster, self.positions)

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap

    @property
    def orders(self) -> str:
        return f"orders-{self.number}"

    @property
    def audit(self) -> str:
        return f"audit-{self.number}"

    @property
    def positions(self) -> str:
        return f"positions-{self.number}"

    @property
    def transactional_id(self) -> str:
        return f"outbox-{self.number}"

    def read(self, topic: str) -> list[ReadRecord]:
        """What readers of committed records see, once markers are written of all that is decided: Kafka answers EndTxn before."""
        with Cluster(self.bootstrap) as cluster:
            backoff = Backoff(10_000)
            while list_transactions(cluster, states=DECIDED) and backoff.wait():
                pass
        return read_all(self.bootstrap, topic)


@pytest.fixture(scope="module", params=targets.chosen())
def broker(request: pytest.FixtureRequest) -> Iterator[oncelog.Broker | Oracle]:
    with targets.broker(request.param) as found:
        yield found


@pytest.fixture
def shop(broker: oncelog.Broker | Oracle) -> Shop:
    return Shop(broker)
