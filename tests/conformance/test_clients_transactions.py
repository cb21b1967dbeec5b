"""Real clients do transactions: commit, abort, fencing, offsets, time-out, and a broker that dies in between.

What is visible is asked of the client itself and of ours, in both isolation levels. ORACLE=1 adds Apache Kafka.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.easy import create_topic, read_all, write_all
from oncelog.model import TopicPartition
from oncelog.protocol.messages.describe_transactions import TransactionState
from tests.conformance import targets
from tests.conformance.client import ClientFailed
from tests.conformance.clients.python.transactional import END
from tests.conformance.comeback import describe, kill_and_start
from tests.conformance.transactional import CLIENTS, Program, Transactional, started
from tests.oracle import Oracle
from tests.processes import ServedBroker
from tests.toolchains import Missing, leave_out
from tests.vectors.play import Broker

PARTITIONS = 2
LONG_MS = 60_000
SHORT_MS = 2_000
LOOK_MS = 15_000
GLANCE_MS = 700  # long enough to be given what is there, when nothing more is to come
SETTINGS = {
    **targets.QUICK_GROUPS,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "4000",
    # Apache Kafka comes back from kill -9 the sooner the fewer logs it has to look through.
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
}
ALL = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
PIPES = [
    pytest.param(client, protocol, id=f"{client.name}-{protocol}")
    for client in CLIENTS
    for protocol in client.kind.protocols
]

Found = tuple[int, int, str]  # partition, offset, value


@contextmanager
def started_broker(target: str, folder: Path) -> Generator[Broker]:
    try:
        if target == "kafka":
            with Oracle({**SETTINGS, **targets.KAFKA_BOUNDS}) as kafka:
                yield kafka
        else:
            with ServedBroker(folder / "data", settings=SETTINGS) as oncelog:
                yield oncelog
    except Missing as why:
        leave_out(f"comparison with {target}", why)


@pytest.fixture(scope="module", params=targets.chosen())
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with started_broker(request.param, tmp_path_factory.mktemp("transactions")) as found:
        yield found


@pytest.fixture(params=targets.chosen())
def mortal_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    """A broker for one test, which may kill it."""
    with started_broker(request.param, tmp_path) as found:
        yield found


_numbers = count()


class Stage:
    """A topic of two partitions, and names of its own for everything else."""

    def __init__(self, broker: Broker, client: Transactional, story: str) -> None:
        self.broker = broker
        self.name = f"{story}-{client.name}-{next(_numbers)}"
        self.topic = self.new_topic("out")

    def new_topic(self, what: str) -> str:
        create_topic(self.broker.bootstrap, f"{what}-{self.name}", PARTITIONS)
        return f"{what}-{self.name}"

    def restart(self) -> None:
        """kill -9, and the broker comes back with what it had acknowledged."""
        kill_and_start(self.broker, [self.topic], [self.name])

    def close_topic(self) -> None:
        """Behind everything else stands a record by which a reader knows that there is no more."""
        for partition in range(PARTITIONS):
            write_all(self.broker.bootstrap, self.topic, [END.encode()], partition=partition)

    def check(self, looker: Program, *, committed: Sequence[str], uncommitted: Sequence[str]) -> None:
        """Both isolation levels, by the client and by ours: the same records at the same places, in this order."""
        self.close_topic()
        for isolation, wanted in (("committed", committed), ("uncommitted", uncommitted)):
            ours = self.seen(isolation)
            assert values(ours) == list(wanted), f"our own client reads {isolation} {ours}"
            theirs = self.look(looker, isolation, LOOK_MS)
            assert theirs == ours, f"{looker.kind.name} reads {isolation}"

    def seen(self, isolation: str) -> list[Found]:
        records = read_all(self.broker.bootstrap, self.topic, isolation)
        return sorted((each.partition, each.offset, (each.value or b"").decode()) for each in records)

    def look(self, looker: Program, isolation: str, limit_ms: int) -> list[Found]:
        details = {
            "topic": self.topic,
            "partitions": PARTITIONS,
            "isolation": isolation,
            "limit_ms": limit_ms,
        }
        return sorted((each[0], each[1], each[2]) for each in looker.ask("look", **details))

    def describe(self, transactional_id: str) -> TransactionState:
        return describe(self.broker, transactional_id)

    def wait_for(self, transactional_id: str, state: str, limit_s: float = 20) -> None:
        deadline = time.monotonic() + limit_s
        while self.describe(transactional_id).transaction_state != state:
            assert time.monotonic() < deadline, f"{transactional_id}: {self.describe(transactional_id)}"
            time.sleep(0.05)


def values(found: Sequence[Found]) -> list[str]:
    """In the order of partitions and offsets, without what closes them."""
    return [value for _partition, _offset, value in found if value != END]


def send(program: Program, topic: str, *sent: str) -> None:
    """The last character of a value is its partition: a0 b1."""
    records = [(int(value[-1]), value) for value in sent]
    offsets = program.ask("send", topic=topic, records=records)
    assert len(offsets) == len(sent)


def refused(program: Program, do: str, words: str, **details: object) -> None:
    """The client says that it failed, in its own words for this."""
    with pytest.raises(ClientFailed, match=words):
        program.ask(do, **details)


@ALL
def test_commit_and_abort(client: Transactional, broker: Broker) -> None:
    stage = Stage(broker, client, "end")
    with started(client, broker.bootstrap) as (program,):
        program.ask("open", transactional_id=stage.name, timeout_ms=LONG_MS)
        program.ask("begin")
        send(program, stage.topic, "a0", "b1", "c0")
        assert values(stage.seen("committed")) == []
        assert values(stage.seen("uncommitted")) == ["a0", "c0", "b1"]
        assert stage.look(program, "committed", GLANCE_MS) == []
        program.ask("commit")
        program.ask("begin")
        send(program, stage.topic, "d0", "e1")
        program.ask("abort")
        program.ask("begin")
        send(program, stage.topic, "f0")
        program.ask("commit")
        stage.wait_for(stage.name, "CompleteCommit")
        stage.check(
            program,
            committed=["a0", "c0", "f0", "b1"],
            uncommitted=["a0", "c0", "d0", "f0", "b1", "e1"],
        )
        # In the newer protocol every transaction has an epoch of its own.
        assert stage.describe(stage.name).producer_epoch == (3 if client.version == 2 else 0)


@ALL
def test_a_zombie_is_fenced(client: Transactional, broker: Broker) -> None:
    stage = Stage(broker, client, "zombie")
    with started(client, broker.bootstrap, 2) as (zombie, successor):
        # It wants to write.
        zombie.ask("open", transactional_id=f"{stage.name}-a", timeout_ms=LONG_MS)
        zombie.ask("begin")
        send(zombie, stage.topic, "old0")
        successor.ask("open", transactional_id=f"{stage.name}-a", timeout_ms=LONG_MS)
        successor.ask("begin")
        refused(zombie, "send", client.fencing.send, topic=stage.topic, records=[(0, "late0")])
        send(successor, stage.topic, "new0")
        successor.ask("commit")
        # It wants to commit.
        zombie.ask("open", transactional_id=f"{stage.name}-b", timeout_ms=LONG_MS)
        zombie.ask("begin")
        send(zombie, stage.topic, "old1")
        successor.ask("open", transactional_id=f"{stage.name}-b", timeout_ms=LONG_MS)
        successor.ask("begin")
        refused(zombie, "commit", client.fencing.commit)
        send(successor, stage.topic, "new1")
        successor.ask("commit")
        for each in ("a", "b"):
            stage.wait_for(f"{stage.name}-{each}", "CompleteCommit")
        stage.check(successor, committed=["new0", "new1"], uncommitted=["old0", "new0", "old1", "new1"])


@pytest.mark.parametrize(("client", "protocol"), PIPES)
def test_consume_transform_produce_with_offsets(client: Transactional, protocol: str, broker: Broker) -> None:
    stage = Stage(broker, client, f"pipe-{protocol}")
    source = stage.new_topic("in")
    sent = {partition: [f"record {n} of {partition}" for n in range(8)] for partition in range(PARTITIONS)}
    for partition, some in sent.items():
        write_all(broker.bootstrap, source, [each.encode() for each in some], partition=partition)
    details = {"source": source, "target": stage.topic, "group": stage.name, "protocol": protocol, "batch": 2}
    with started(client, broker.bootstrap, 2) as (first, second):
        first.ask("open", transactional_id=stage.name, timeout_ms=LONG_MS)
        first.begin("pipe", plan=["commit", "abort", "commit", "halt"], **details)
        first.wait("the middle of its last transaction", first.halted)
        first.kill()
        # The offsets are where the last commit left them, whatever was written since.
        done = len(committed_offsets(broker, stage.name, source))
        assert done == 4
        second.ask("open", transactional_id=stage.name, timeout_ms=LONG_MS)
        assert second.ask("pipe", plan=["commit"] * 6, **details) == 12
        stage.wait_for(stage.name, "CompleteCommit")
        assert committed_offsets(broker, stage.name, source) == [
            (partition, offset) for partition in range(PARTITIONS) for offset in range(8)
        ]
        stage.close_topic()
        wanted = [each.upper() for some in sent.values() for each in some]
        assert values(stage.seen("committed")) == wanted
        assert len(values(stage.seen("uncommitted"))) == len(wanted) + 4  # one batch aborted, one never ended
        assert stage.look(second, "committed", LOOK_MS) == stage.seen("committed")


def committed_offsets(broker: Broker, group: str, topic: str) -> list[tuple[int, int]]:
    """Every (partition, offset) that the group has behind it. What a transaction holds back is not there yet."""
    with Cluster(broker.bootstrap) as cluster:
        found = Admin(cluster).group_offsets(group)
    held = {partition: found.get(TopicPartition(topic, partition)) for partition in range(PARTITIONS)}
    return [(each, offset) for each, at in held.items() for offset in range(at.offset if at else 0)]


@ALL
def test_a_transaction_times_out(client: Transactional, broker: Broker) -> None:
    stage = Stage(broker, client, "timeout")
    with started(client, broker.bootstrap) as (program,):
        program.ask("open", transactional_id=stage.name, timeout_ms=SHORT_MS)
        program.ask("begin")
        begun = time.monotonic()
        send(program, stage.topic, "slow0")
        stage.wait_for(stage.name, "CompleteAbort")
        assert time.monotonic() - begun >= SHORT_MS / 1000
        refused(program, "commit", client.fencing.timed_out)
        program.ask("open", transactional_id=stage.name, timeout_ms=LONG_MS)
        program.ask("begin")
        send(program, stage.topic, "quick0")
        program.ask("commit")
        stage.wait_for(stage.name, "CompleteCommit")
        stage.check(program, committed=["quick0"], uncommitted=["slow0", "quick0"])


@pytest.mark.timeout(300)  # Apache Kafka needs half a minute to come back when the machine is busy
@ALL
def test_the_broker_is_killed_in_mid_transaction(client: Transactional, mortal_broker: Broker) -> None:
    stage = Stage(mortal_broker, client, "restart")
    with started(client, mortal_broker.bootstrap) as (program,):
        program.ask("open", transactional_id=stage.name, timeout_ms=LONG_MS)
        program.ask("begin")
        send(program, stage.topic, "a0", "b1")
        stage.restart()
        assert values(stage.seen("committed")) == []
        send(program, stage.topic, "c0")
        program.ask("commit")
        program.ask("begin")
        send(program, stage.topic, "d0", "e1")
        stage.restart()
        program.ask("abort")
        program.ask("begin")
        send(program, stage.topic, "f1")
        program.ask("commit")
        stage.wait_for(stage.name, "CompleteCommit")
        stage.check(
            program,
            committed=["a0", "c0", "b1", "f1"],
            uncommitted=["a0", "c0", "d0", "b1", "e1", "f1"],
        )
