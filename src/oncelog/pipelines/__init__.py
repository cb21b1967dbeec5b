"""Pipelines to copy from, each with rows to feed it and a proof of what it wrote. Importing this needs no Spark."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from oncelog.pipelines import feed, proof

PARTITIONS: Final = 4  # of topics that `make_topics` creates


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One pipeline: what it reads and writes, how its input is made up, and how its output is judged."""

    name: str
    about: str
    source: str  # the topic that it follows
    outputs: tuple[str, ...]
    start: str  # module:function that starts the query on Spark
    make: feed.Make
    judge: proof.Judge
    tables: Mapping[str, tuple[feed.Make, int]]  # topics that it reads whole, with how many rows they get

    @property
    def transactional_id(self) -> str:
        """One for each query; also the group of its source offsets."""
        return f"pipeline-{self.name}"

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.source, *self.tables, *self.outputs)


@dataclass(frozen=True, slots=True)
class Run:
    """Where and how one query of a pipeline runs."""

    bootstrap: str
    checkpoint: str  # where a restart goes on from; on a cluster a place that every driver reaches
    transactional_id: str
    once: bool  # end when all that was there at the start is done
    rows_per_batch: int
    security: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)  # by Kafka's names

    @property
    def kafka(self) -> dict[str, str]:
        """The cluster, as options of source and sink."""
        return {
            "kafka.bootstrap.servers": self.bootstrap,
            **{f"kafka.{name}": value for name, value in self.security.items()},
        }

    @property
    def trigger(self) -> dict[str, Any]:
        """The words for `DataStreamWriter.trigger`."""
        return {"availableNow": True} if self.once else {"processingTime": "500 milliseconds"}


_ALL: Final = (
    Pipeline(
        name="refunds",
        about="settlements that came back: a refund and its audit row, atomically with the source offsets",
        source="settlements",
        outputs=("refunds-emitted", "refund-audit"),
        start="oncelog.pipelines.refunds:start",
        make=feed.settlement,
        judge=proof.judge_refunds,
        tables={},
    ),
    Pipeline(
        name="clicks",
        about="clicks per user and hour, each new count as it comes (update mode)",
        source="clicks",
        outputs=("clicks-per-hour",),
        start="oncelog.pipelines.clicks:start",
        make=feed.click,
        judge=proof.judge_clicks,
        tables={},
    ),
    Pipeline(
        name="clicks-final",
        about="clicks per user and hour, one row when the hour is over (append mode with a watermark)",
        source="clicks",
        outputs=("clicks-per-hour-final",),
        start="oncelog.pipelines.clicks:start_final",
        make=feed.click,
        judge=proof.judge_clicks_final,
        tables={},
    ),
    Pipeline(
        name="router",
        about="t1 into t2 or t3 by the amount: |t2| + |t3| = |t1|",
        source="t1",
        outputs=("t2", "t3"),
        start="oncelog.pipelines.router:start",
        make=feed.transfer,
        judge=proof.judge_router,
        tables={},
    ),
    Pipeline(
        name="enrichment",
        about="orders with tier and region of their customers (stream-static join)",
        source="orders",
        outputs=("orders-enriched",),
        start="oncelog.pipelines.enrichment:start",
        make=feed.order,
        judge=proof.judge_enrichment,
        tables={"customers": (feed.customer, feed.CUSTOMERS)},
    ),
)
PIPELINES: Final[Mapping[str, Pipeline]] = {each.name: each for each in _ALL}
