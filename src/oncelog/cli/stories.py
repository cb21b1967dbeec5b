"""The stories of the page's Learn screen: the seeds' scenarios, played on a broker that is thrown away afterwards."""

import asyncio
import re
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final

from oncelog.client.address import parse_bootstrap
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault
from oncelog.client.transactional import TransactionalId, TransactionProtocol
from oncelog.embed import Broker, Fault
from oncelog.inspect.ask import SideDoor
from oncelog.inspect.events import Event
from oncelog.inspect.page.app import Story
from oncelog.inspect.replay import history, transactions
from oncelog.inspect.tap import Tap
from oncelog.inspect.timeline import Timeline, timeline
from oncelog.inspect.trace import placed_among
from oncelog.inspect.views import Pin, pins
from oncelog.model import Producer, ProducerEpoch, TopicPartition
from oncelog.record.batch import NewRecord, build_batch

TID: Final = "refunds-1"
NO_SETTINGS: Final[Mapping[str, str]] = {}
AS_KAFKA: Final[Mapping[str, str]] = {"transaction.late.requests.refuse": "false"}
ANSWERED: Final = re.compile(r" \(broker \S+ answered (\w+)\)")
OUT: Final = TopicPartition("refunds-emitted", 0)


class Stage:
    """A broker with a virtual clock, a tap before it, and clients that speak through the tap."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.bootstrap = broker.bootstrap  # until there is a tap
        self.said: list[str] = []
        self._seen: list[Event] = []
        self._ahead_us = 0  # so far the broker's clock was moved, and with it the times in its logs
        self._clusters: list[Cluster] = []

    def note(self, event: Event) -> None:
        """What the tap saw, by the broker's clock."""
        self._seen.append(replace(event, at_us=event.at_us + self._ahead_us))

    def advance(self, seconds: int) -> None:
        self._ahead_us += seconds * 1_000_000
        self.broker.clock.advance(seconds)

    def client(
        self,
        name: str,
        tid: str = TID,
        protocol: TransactionProtocol | None = None,
        *,
        same_as: TransactionalId | None = None,
    ) -> tuple[Cluster, TransactionalId]:
        """`same_as`: the same client once more, on connections of its own."""
        cluster = Cluster(self.bootstrap, client_id=name, timeout_ms=10_000)
        self._clusters.append(cluster)
        known_as = None if same_as is None else same_as.client_id
        return cluster, TransactionalId(
            cluster, tid, timeout_ms=30_000, protocol=protocol, client_id=known_as
        )

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
        with BatchWriter(cluster, ids.name, producer, protocol=ids.protocol) as writer:
            writer.write(OUT, batch)
            writer.flush()

    def held(self) -> Pin:
        """What `oncelog txn stuck` says: one partition."""
        with Cluster(self.broker.bootstrap, timeout_ms=10_000) as cluster:
            (found,) = pins(cluster, SideDoor(cluster), now_ms=0)
        return found

    def visible(self) -> int:
        return len(self.broker.read(OUT.topic, isolation="committed"))

    def close(self) -> None:
        for each in self._clusters:
            each.close()

    def timeline(self) -> Timeline:
        """What the tap saw, and the states and markers that the log holds."""
        seen = sorted(
            (each for each in self._seen if each.transactional_id == TID), key=lambda each: each.at_us
        )
        with Cluster(self.broker.bootstrap, timeout_ms=10_000) as cluster:
            past = transactions(TID, history(cluster, TID))
            return timeline(TID, [*seen, *placed_among(cluster, past, seen)])


@contextmanager
def staged(settings: Mapping[str, str]) -> Generator[Stage]:
    with Broker(virtual_clock=True, settings=settings) as broker:
        broker.topic(OUT.topic)
        (upstream,) = parse_bootstrap(broker.bootstrap)
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        stage = Stage(broker)
        tap = Tap(upstream, host="127.0.0.1", port=0, note=stage.note)
        stage.bootstrap = str(asyncio.run_coroutine_threadsafe(tap.start(), loop).result(10))
        try:
            yield stage
        finally:
            stage.close()
            asyncio.run_coroutine_threadsafe(tap.stop(), loop).result(10)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)
            loop.close()


def _story(
    play: Callable[[Stage], None], settings: Mapping[str, str] = NO_SETTINGS
) -> Callable[[], tuple[Timeline, Sequence[str]]]:
    def run() -> tuple[Timeline, Sequence[str]]:
        with staged(settings) as stage:
            play(stage)
            return stage.timeline(), stage.said

    return run


def _told(fault: ClientFault) -> str:
    """Without the address of a broker that is gone by the time somebody reads this."""
    return ANSWERED.sub(r": \1", str(fault))


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
        stage.said.append(f"till-1 wakes up and wants to commit: {_told(fault)}")
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
            answers.append(_told(refusal))

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
    stage.advance(60)
    try:
        ids.end(producer, commit=True)
    except ClientFault as fault:
        stage.said.append(f"It comes back too late: {_told(fault)}")
    stage.said.append(f"Readers were held until the abort, and see {stage.visible()} refunds.")


def _readers(stage: Stage) -> None:
    """Seed 000: how transaction.timeout.ms is also how long readers may stall."""
    cluster, ids = stage.client("till-1")
    producer = ids.init()
    stage.write(cluster, ids, producer, [b"refund 1"], 0)
    stage.said.append("till-1 writes one refund and hangs. Its transaction is open, with a timeout of 30 s.")
    others, orders = stage.client("till-2", "refunds-2")
    identity = orders.init()
    for _ in range(5):
        stage.write(others, orders, identity, [b"refund"] * 20, 0)
        identity = orders.end(identity, commit=True)
    every = len(stage.broker.read(OUT.topic, isolation="uncommitted"))
    stage.said.append(
        f"till-2 commits five transactions behind it, 100 refunds. At read_uncommitted {every} are there, at read_committed "
        f"{stage.visible()}: readers stop where the first open transaction begins."
    )
    pin = stage.held()
    stage.said.append(
        f"oncelog txn stuck: {OUT}, last stable offset {pin.last_stable_offset}, high watermark {pin.high_watermark}, "
        f"{pin.hidden} records hidden, held by {pin.transactional_id}; to free it: {pin.frees}."
    )
    stage.advance(20)
    stage.said.append(f"20 s later a reader at read_committed still sees {stage.visible()}.")
    stage.advance(20)
    stage.said.append(
        f"40 s later the coordinator has aborted it: {stage.visible()} are visible at once. No reader stalls for longer "
        "than the longest transaction.timeout.ms of those who write there."
    )


def _late(stage: Stage) -> None:
    """Seed 004, KAFKA-17754: as Apache Kafka plays it, first by the old protocol, then by KIP-890's."""
    first_cluster, first = stage.client("till-1", protocol=TransactionProtocol.TV1)
    producer = first.init()
    stage.write(first_cluster, first, producer, [b"T1"], 0)
    stage.said.append(f"The old protocol: all transactions of till-1 are producer {producer}. It writes T1.")
    second_cluster, second, late, told = _commit_twice(stage, first, producer, TransactionProtocol.TV1)
    stage.said.append(
        f"Its commit is delayed on the way. It opens another connection, asks again, and T1 is committed: {stage.visible()} "
        "record is visible."
    )
    stage.write(second_cluster, second, producer, [b"T2, first half"], 1)
    stage.said.append("It begins T2 and writes the first half.")
    late.resume()
    told.join(10)
    stage.said.append(
        f"Now the delayed commit of T1 arrives. Nothing tells it from a commit of T2: {stage.visible()} records are visible, "
        "half a transaction that its producer has not ended."
    )
    stage.write(second_cluster, second, producer, [b"T2, second half"], 2)
    second.end(producer, commit=False)
    stage.said.append(
        f"It writes the second half, then aborts. A reader at read_committed sees {stage.visible()} records: T1, and a T2 "
        "that is torn in two (KAFKA-17754)."
    )
    third_cluster, third = stage.client("till-1")
    producer = third.init()
    stage.write(third_cluster, third, producer, [b"T3"], 0)
    fourth_cluster, fourth, late, told = _commit_twice(stage, third, producer, None)
    following = Producer(producer.id, ProducerEpoch(producer.epoch + 1))
    stage.said.append(
        f"KIP-890's protocol: each end raises the epoch. T3 was producer {producer}, its commit is delayed and asked again; "
        f"T4 is producer {following}."
    )
    stage.write(fourth_cluster, fourth, following, [b"T4"], 0)
    late.resume()
    told.join(10)
    fourth.end(following, commit=False)
    stage.said.append(
        f"The delayed commit of T3 arrives in the middle of T4 and is refused, for its epoch is over. T4 is its producer's to "
        f"abort: {stage.visible()} records are visible, T3 among them and nothing of T4."
    )
    stage.said.append(
        "This broker was told to play it as Apache Kafka does (transaction.late.requests.refuse=false). By default oncelog refuses "
        "the late commit in the old protocol too, because it comes on a connection that its client has left."
    )


def _commit_twice(
    stage: Stage, ids: TransactionalId, producer: Producer, protocol: TransactionProtocol | None
) -> tuple[Cluster, TransactionalId, Fault, threading.Thread]:
    """A commit that is held on its way, and asked again on another connection: that, the held one, and who waits for it."""
    late = stage.broker.hold_request("EndTxn")

    def ask() -> None:
        with suppress(ClientFault):  # nobody listens to its answer
            ids.end(producer, commit=True)

    told = threading.Thread(target=ask)
    told.start()
    late.wait()
    cluster, again = stage.client("till-1", protocol=protocol, same_as=ids)
    again.end(producer, commit=True)
    return cluster, again, late, told


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
    Story("readers", "Held readers", "one open transaction hides what others committed", _story(_readers)),
    Story(
        "late",
        "The late commit",
        "a delayed EndTxn ends the next transaction (KAFKA-17754), and KIP-890's cure",
        _story(_late, AS_KAFKA),
    ),
)
