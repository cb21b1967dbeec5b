"""The stories of the page's Learn screen: the seeds' scenarios, played on a broker that is thrown away afterwards."""

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final

from oncelog.client.address import parse_bootstrap
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault
from oncelog.client.transactional import TransactionalId
from oncelog.embed import Broker
from oncelog.inspect.events import Event
from oncelog.inspect.page.app import Story
from oncelog.inspect.replay import events as replayed_events
from oncelog.inspect.replay import history, transactions
from oncelog.inspect.tap import Tap
from oncelog.inspect.timeline import Timeline, timeline
from oncelog.model import Producer, TopicPartition
from oncelog.record.batch import NewRecord, build_batch

TID: Final = "refunds-1"
OUT: Final = TopicPartition("refunds-emitted", 0)


class Stage:
    """A broker with a virtual clock, a tap before it, and clients that speak through the tap."""

    def __init__(self, broker: Broker, bootstrap: str, events: list[Event]) -> None:
        self.broker = broker
        self.bootstrap = bootstrap
        self.events = events
        self.said: list[str] = []
        self._clusters: list[Cluster] = []

    def client(self, name: str) -> tuple[Cluster, TransactionalId]:
        cluster = Cluster(self.bootstrap, client_id=name, timeout_ms=10_000)
        self._clusters.append(cluster)
        return cluster, TransactionalId(cluster, TID, timeout_ms=30_000)

    def write(
        self,
        cluster: Cluster,
        ids: TransactionalId,
        producer: Producer,
        values: Sequence[bytes],
        sequence: int,
    ) -> None:
        ids.add_partitions(producer, [OUT])
        batch = build_batch(
            [NewRecord(None, value, 1, []) for value in values],
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        with BatchWriter(cluster, TID, producer, protocol=ids.protocol) as writer:
            writer.write(OUT, batch)
            writer.flush()

    def visible(self) -> int:
        return len(self.broker.read(OUT.topic, isolation="committed"))

    def close(self) -> None:
        for each in self._clusters:
            each.close()

    def timeline(self) -> Timeline:
        """What the tap saw, and the states and markers that the log holds."""
        with Cluster(self.broker.bootstrap, timeout_ms=10_000) as cluster:
            for each in transactions(TID, history(cluster, TID)):
                self.events += [one for one in replayed_events(cluster, each) if one.kind != "rpc"]
        return timeline(TID, self.events)


@contextmanager
def staged() -> Generator[Stage]:
    events: list[Event] = []
    with Broker(virtual_clock=True) as broker:
        broker.topic(OUT.topic)
        (upstream,) = parse_bootstrap(broker.bootstrap)
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        tap = Tap(upstream, host="127.0.0.1", port=0, note=events.append)
        where = asyncio.run_coroutine_threadsafe(tap.start(), loop).result(10)
        stage = Stage(broker, str(where), events)
        try:
            yield stage
        finally:
            stage.close()
            asyncio.run_coroutine_threadsafe(tap.stop(), loop).result(10)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)
            loop.close()


def _story(play: Callable[[Stage], None]) -> Callable[[], tuple[Timeline, Sequence[str]]]:
    def run() -> tuple[Timeline, Sequence[str]]:
        with staged() as stage:
            play(stage)
            return stage.timeline(), stage.said

    return run


def _commit(stage: Stage) -> None:
    cluster, ids = stage.client("till-1")
    producer = ids.init()
    stage.said.append(f"till-1 asks for its identity and is producer {producer}.")
    stage.write(cluster, ids, producer, [b"refund 1", b"refund 2"], 0)
    stage.said.append(f"It writes two refunds. A reader at read_committed sees {stage.visible()}.")
    following = ids.end(producer, commit=True)
    stage.said.append(
        f"EndTxn commits: now {stage.visible()} are visible, and the next epoch is {following.epoch}."
    )


def _zombie(stage: Stage) -> None:
    old_cluster, old = stage.client("till-1 (paused)")
    first = old.init()
    stage.write(old_cluster, old, first, [b"refund 1"], 0)
    stage.said.append(f"till-1 is producer {first}, writes a refund and then hangs in a long pause.")
    _, new = stage.client("till-2 (successor)")
    second = new.init()
    stage.said.append(
        f"till-2 starts with the same transactional id: producer {second}. The open transaction is aborted."
    )
    try:
        old.end(first, commit=True)
        stage.said.append("till-1 wakes up and commits. That must not happen.")
    except ClientFault as fault:
        stage.said.append(f"till-1 wakes up and wants to commit: {fault}")
    stage.said.append(f"A reader at read_committed sees {stage.visible()} refunds.")


def _crash(stage: Stage) -> None:
    cluster, ids = stage.client("till-1")
    producer = ids.init()
    stage.write(cluster, ids, producer, [b"refund 1"], 0)
    fault = stage.broker.fail(at="after_prepare_commit")
    stage.said.append(
        "The broker will be killed right after the decision to commit is durable, before any marker."
    )
    answers: list[str] = []

    def commit() -> None:
        try:
            answers.append(f"its next epoch is {ids.end(producer, commit=True).epoch}")
        except ClientFault as refusal:
            answers.append(str(refusal))

    asking = threading.Thread(target=commit)
    asking.start()
    fault.wait()
    stage.said.append("It is down. The client got no answer and asks again and again.")
    stage.broker.start()
    asking.join(60)
    stage.said += [
        f"The broker is back and finishes what was decided; the client is told: {each}." for each in answers
    ]
    stage.said.append(f"{stage.visible()} refund is visible: once, not twice.")


def _timeout(stage: Stage) -> None:
    cluster, ids = stage.client("till-1")
    producer = ids.init()
    stage.write(cluster, ids, producer, [b"refund 1"], 0)
    stage.said.append(
        "till-1 writes a refund and never comes back. Its timeout is 30 s; the clock of this broker is moved."
    )
    stage.broker.clock.advance(60)
    try:
        ids.end(producer, commit=True)
    except ClientFault as fault:
        stage.said.append(f"It comes back too late: {fault}")
    stage.said.append(f"Readers were held until the abort, and see {stage.visible()} refunds.")


STORIES: Final = (
    Story("commit", "A transaction", "from identity to marker", _story(_commit)),
    Story("zombie", "The zombie", "a paused instance is fenced by its successor", _story(_zombie)),
    Story(
        "crash",
        "Crash after the decision",
        "kill the broker between PrepareCommit and its markers",
        _story(_crash),
    ),
    Story("timeout", "Never came back", "the coordinator aborts by timeout", _story(_timeout)),
)
