"""All that a page asks of a cluster, one question at a time, over one set of connections."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from oncelog.client.cluster import Away, Cluster
from oncelog.client.faults import ClientFault, RefusedByBroker
from oncelog.client.fetcher import PartitionFetcher
from oncelog.inspect import abort, annotate, ask, doctor, explain, groups, replay, strip, trace, views
from oncelog.inspect.ask import Cause, Ends, SideDoor
from oncelog.inspect.counted import RATES
from oncelog.inspect.exposition import exposition
from oncelog.inspect.lag import COUNTED_EACH_SECOND
from oncelog.inspect.metrics import collect
from oncelog.inspect.spark_queries import SparkQuery, queries
from oncelog.inspect.timeline import Timeline
from oncelog.model import TRANSACTION_STATE, Isolation, TopicPartition, coordinator_partition
from oncelog.record.batch import batches

STRIP_OFFSETS: Final = 2000
STRIP_OFFSETS_HELD: Final = 20_000  # as many are shown to show what holds them
RATES_KEPT: Final = 60
RATES_APART_S: Final = 0.5  # several pages that ask at once see the same rates
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Now:
    """The first screen: what is going on at this moment."""

    at_ms: int
    brokers: int
    from_oncelog: bool
    known_ids: int
    opened: tuple[views.TransactionRow, ...]
    pins: tuple[views.Pin, ...]
    untold: tuple[ask.Untold, ...]  # partitions that may be held or not: they have no leader
    away: tuple[
        Away, ...
    ]  # brokers that could not be asked: their transactional ids and groups are not in this
    rates: Mapping[str, float]  # events a second by the broker's counters; empty elsewhere
    past: Mapping[str, tuple[float, ...]]  # the same at the last times that somebody asked, oldest first


@dataclass(frozen=True, slots=True)
class TransactionPage:
    view: views.TransactionView
    timeline: Timeline
    states: tuple[replay.StateRecord, ...]
    state_log: TopicPartition | None  # that holds the states; None where no transaction was ever begun
    source: str  # where the timeline comes from
    last: int  # so many transactions are in it
    known: int  # of so many that the log still holds
    untold: str | None = None  # why the state log is not told, if it is not


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """What an id did as far as the state log reaches back, oldest first."""

    view: views.TransactionView
    transactions: tuple[replay.Replayed, ...]
    bumps: tuple[Cause, ...]  # empty too where the broker keeps none
    states: tuple[replay.StateRecord, ...]
    untold: str | None = None  # why the state log is not told, if it is not


@dataclass(frozen=True, slots=True)
class PartitionPage:
    """The offsets from `start` to `stop`, all batches that are there."""

    topic: str
    partition: int
    ends: Ends
    stretches: tuple[strip.Stretch, ...]
    start: int
    stop: int


def window(ends: Ends, start: int | None) -> tuple[int, int]:
    """The offsets to be shown, the second not included."""
    if start is not None:
        begin = min(max(start, ends.log_start), ends.high_watermark)
        return begin, min(begin + STRIP_OFFSETS, ends.high_watermark)
    begin = ends.high_watermark - STRIP_OFFSETS
    if ends.high_watermark - ends.last_stable_offset <= STRIP_OFFSETS_HELD:
        begin = min(begin, ends.last_stable_offset - STRIP_OFFSETS // 100)
    return max(begin, ends.log_start), ends.high_watermark


def _state_log(cluster: Cluster, transactional_id: str) -> TopicPartition:
    count = len(cluster.topic(TRANSACTION_STATE).partitions)
    return TopicPartition(TRANSACTION_STATE, coordinator_partition(transactional_id, count))


class Inspector:
    """Safe to be asked from several threads: questions take turns."""

    def __init__(
        self,
        connect: Callable[[], Cluster],
        *,
        record: Path | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        self._connect = connect
        self._record = record
        self._now_ms = now_ms or (lambda: time.time_ns() // 1_000_000)
        self._lock = threading.Lock()
        self._cluster: Cluster | None = None
        self._door: SideDoor | None = None
        self._pasts = replay.Pasts()
        self._counted: tuple[float, Mapping[str, int]] | None = None
        self._rates: deque[Mapping[str, float]] = deque(maxlen=RATES_KEPT)

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
        self._cluster = self._door = None
        self._pasts.clear()

    def _ask(self, question: Callable[[Cluster, SideDoor], ResultT]) -> ResultT:
        """A fault closes the connections: the next question begins afresh."""
        with self._lock:
            if self._cluster is None or self._door is None:
                self._cluster = self._connect()
                self._door = SideDoor(self._cluster)
            try:
                return question(self._cluster, self._door)
            except RefusedByBroker:
                raise
            except ClientFault:
                self._drop()
                raise

    def now(self) -> Now:
        return self._ask(self._now)

    def _now(self, cluster: Cluster, door: SideDoor) -> Now:
        now_ms = self._now_ms()
        listed, away = ask.transactions_told(cluster)
        opened = [each for each in listed if each.state in views.OPEN_STATES]
        rows = views.described(cluster, opened, now_ms)
        self._count(door)
        surveyed = views.survey(cluster, door, now_ms=now_ms, counted_offsets=COUNTED_EACH_SECOND)
        return Now(
            at_ms=now_ms,
            brokers=len(cluster.nodes()),
            from_oncelog=door.is_there,
            known_ids=len(listed),
            opened=tuple(sorted(rows, key=lambda each: -(each.age_ms or 0))),
            pins=surveyed.pins,
            untold=surveyed.untold,
            away=tuple({each.node_id: each for each in (*away, *surveyed.away)}.values()),
            rates=self._rates[-1] if self._rates else {},
            past={name: tuple(each[name] for each in self._rates) for name in RATES} if self._rates else {},
        )

    def _count(self, door: SideDoor) -> None:
        """Notes the rates since the last time, unless that was just now."""
        at = time.monotonic()
        if self._counted is not None and at - self._counted[0] < RATES_APART_S:
            return
        counters = door.counters()
        if counters is None:
            return
        before, self._counted = self._counted, (at, counters)
        if before is None:
            return
        past = before[1]
        self._rates.append(
            {
                label: max(sum(counters.get(each, 0) - past.get(each, 0) for each in names), 0)
                / (at - before[0])
                for label, names in RATES.items()
            }
        )

    def transactions(
        self, match: str | None = None, limit: int | None = None
    ) -> tuple[list[views.TransactionRow], int, tuple[Away, ...]]:
        """Of all that match the first so many, and how many match: to list an id costs little, to describe it more. And the brokers
        that could not be asked.
        """

        def ask_all(
            cluster: Cluster, _: SideDoor
        ) -> tuple[list[views.TransactionRow], int, tuple[Away, ...]]:
            told, away = ask.transactions_told(cluster)
            listed = views.matching(told, match)
            return views.described(cluster, listed[:limit], self._now_ms()), len(listed), away

        return self._ask(ask_all)

    def transaction(self, transactional_id: str, last: int = 1) -> TransactionPage | None:
        def ask_all(cluster: Cluster, door: SideDoor) -> TransactionPage | None:
            now_ms = self._now_ms()
            view = views.transaction(
                cluster, door, transactional_id, now_ms=now_ms, counted_offsets=COUNTED_EACH_SECOND
            )
            if view is None:
                return None
            told = trace.tell(
                cluster,
                door,
                transactional_id,
                last=last,
                record=self._record,
                now_us=now_ms * 1000,
                pasts=self._pasts,
            )
            where = _state_log(cluster, transactional_id) if told.states else None
            return TransactionPage(
                view, told.timeline, told.states, where, told.source, last, told.known, told.untold
            )

        return self._ask(ask_all)

    def history(self, transactional_id: str) -> HistoryPage | None:
        def ask_all(cluster: Cluster, door: SideDoor) -> HistoryPage | None:
            view = views.transaction(
                cluster, door, transactional_id, now_ms=self._now_ms(), counted_offsets=0
            )
            if view is None:
                return None
            past = trace.past_of(cluster, transactional_id, self._pasts)
            done = replay.transactions(transactional_id, past.states)
            return HistoryPage(view, tuple(done), past.bumps, past.states, past.untold)

        return self._ask(ask_all)

    def partition(self, where: TopicPartition, *, start: int | None = None) -> PartitionPage:
        """From `start` on; else the newest offsets, and what holds the last stable offset with them."""

        def ask_all(cluster: Cluster, _: SideDoor) -> PartitionPage:
            ends = ask.end_of(cluster, where)
            begin, stop = window(ends, start)
            found = strip.stretches(cluster, where, ends, start=begin, stop=stop)
            return PartitionPage(where.topic, where.partition, ends, tuple(found), begin, stop)

        return self._ask(ask_all)

    def hex_of(self, where: TopicPartition, offset: int) -> list[annotate.Piece]:
        """The batch that holds an offset, field by field; empty if there is none."""

        def ask_all(cluster: Cluster, _: SideDoor) -> list[annotate.Piece]:
            ends = ask.end_of(cluster, where)
            if not ends.log_start <= offset < ends.high_watermark:
                return []
            with PartitionFetcher(
                cluster, where, start=offset, stop=offset + 1, isolation=Isolation.READ_UNCOMMITTED
            ) as fetcher:
                for fetched in fetcher:
                    for at, header in batches(fetched.data):
                        if header.base_offset <= offset <= header.last_offset:
                            return annotate.pieces_of_batch(bytes(fetched.data[at : at + header.size]))
            return []

        return self._ask(ask_all)

    def topics(self) -> list[tuple[str, int]]:
        """Name and number of partitions; Kafka's own topics last."""

        def ask_all(cluster: Cluster, _: SideDoor) -> list[tuple[str, int]]:
            found = sorted(cluster.topics(), key=lambda each: (each.is_internal, each.name))
            return [(each.name, len(each.partitions)) for each in found]

        return self._ask(ask_all)

    def groups(self) -> tuple[list[groups.GroupView], tuple[Away, ...]]:
        """With the brokers that could not be asked for theirs."""

        def ask_all(cluster: Cluster, door: SideDoor) -> tuple[list[groups.GroupView], tuple[Away, ...]]:
            held = groups.holders(cluster, door, now_ms=self._now_ms())
            return groups.everyone(cluster, held, COUNTED_EACH_SECOND)

        return self._ask(ask_all)

    def explain(self, error: str, transactional_id: str) -> explain.Explanation | None:
        """Without an id (an empty one) to whom the error was answered lately."""
        code = explain.error_named(error)
        if code is None:
            return None
        return self._ask(
            lambda cluster, door: explain.explain(
                code, cluster, transactional_id or None, now_ms=self._now_ms(), door=door
            )
        )

    def doctor(self) -> list[doctor.Finding]:
        return self._ask(lambda cluster, door: doctor.examine(cluster, door, now_ms=self._now_ms()))

    def plan_abort(
        self,
        transactional_id: str | None,
        where: TopicPartition | None,
        start_offset: int | None,
        expected: abort.Shown | None = None,
    ) -> abort.Plan:
        """`expected`: what the form that asks now had shown (`Plan.shown`); abort.ChangedSince if it is another one by now."""

        def ask_all(cluster: Cluster, _: SideDoor) -> abort.Plan:
            if transactional_id is not None:
                return abort.plan_by_id(cluster, transactional_id, expected)
            if where is None or start_offset is None:
                raise abort.NothingToAbort("wanted a transactional id, or a partition with its start offset")
            return abort.plan_by_offset(cluster, where, start_offset, expected)

        return self._ask(ask_all)

    def abort(self, plan: abort.Plan) -> None:
        self._ask(lambda cluster, _: abort.carry_out(cluster, plan))

    def metrics(self, top: int = 0) -> str:
        """Prometheus' text."""
        return self._ask(
            lambda cluster, door: exposition(collect(cluster, door, now_ms=self._now_ms(), top=top))
        )

    def spark(self) -> tuple[list[SparkQuery], tuple[Away, ...]]:
        """With the brokers that could not be asked for theirs."""
        return self._ask(lambda cluster, _: queries(cluster))
