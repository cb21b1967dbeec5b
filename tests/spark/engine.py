"""The sink's engine without Spark: a driver and tasks as plain calls, for tests that choose who does what when."""

import itertools
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.easy import create_topic, read_all
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from oncelog.spark.arrow import RecordBatch, pa
from oncelog.spark.sink_driver import SinkDriver
from oncelog.spark.sink_options import SinkOptions, read_options
from oncelog.spark.sink_plan import Job, Opened, Report, Task
from oncelog.spark.sink_task import write_rows

SHOWN_WITHIN_S: Final = 10.0
_numbers: Final = itertools.count(1)
_attempts: Final = itertools.count(1000)


def rows(*values: bytes | str | None, **columns: Sequence[Any]) -> RecordBatch:
    """Rows with these values; other columns by name."""
    return pa.RecordBatch.from_pydict(
        {"value": list(values), **{name: list(column) for name, column in columns.items()}}
    )


def numbered(first: int, stop: int, *, partition: int = 0) -> RecordBatch:
    """Rows that say their number."""
    count = stop - first
    return rows(*[b"%d" % number for number in range(first, stop)], partition=[partition] * count)


def _several(some: RecordBatch | Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    return cast(Iterator[RecordBatch], some) if isinstance(some, Iterator) else iter([some])


@dataclass
class Engine:
    """One transactional id and one topic of its own on a broker."""

    bootstrap: str
    partitions: int = 2
    query_id: str | None = "q1"  # None: a df.write
    given: dict[str, str] = field(default_factory=dict[str, str])
    with_topic: bool = True  # False: rows have a column `topic`
    name: str = field(default_factory=lambda: f"sink-{next(_numbers)}")

    def __post_init__(self) -> None:
        create_topic(self.bootstrap, self.name, partitions=self.partitions)

    @property
    def options(self) -> SinkOptions:
        return read_options(
            {
                "kafka.bootstrap.servers": self.bootstrap,
                "transactionalId": self.name,
                "kafka.delivery.timeout.ms": "60000",
                **({"topic": self.name} if self.with_topic else {}),
                **self.given,
            }
        )

    def driver(self) -> SinkDriver:
        return SinkDriver(self.options)

    def open(self) -> Opened:
        with self.driver() as driver:
            return driver.open(self.query_id)

    def task(
        self,
        opened: Opened,
        batch_id: int | None,
        *batches: RecordBatch | Iterator[RecordBatch],
        number: int = 0,
        attempt: int = 0,
        attempt_id: int | None = None,
        copied: bool = False,
    ) -> Report:
        """One task writes its rows and reports."""
        drawn = next(_attempts) if attempt_id is None else attempt_id
        task = Task(number, attempt, drawn, Job(self.query_id, batch_id), copied)
        return write_rows(self.options, opened, task, itertools.chain.from_iterable(map(_several, batches)))

    def commit(self, batch_id: int | None, *reports: Report | None) -> Opened | None:
        with self.driver() as driver:
            return driver.commit(Job(self.query_id, batch_id), reports)

    def micro_batch(self, batch_id: int, *tasks: RecordBatch) -> Opened | None:
        """All of it, as append mode does: open, one task for each batch of rows, commit."""
        opened = self.open()
        return self.commit(
            batch_id, *[self.task(opened, batch_id, each, number=number) for number, each in enumerate(tasks)]
        )

    def state(self) -> str:
        """Of the transactional id, as the coordinator tells it."""
        request = DescribeTransactionsRequest(transactional_ids=[self.name])
        with Cluster(self.bootstrap) as cluster:
            answer = cluster.coordinator(self.name, TRANSACTION).send(request, DescribeTransactionsResponse)
        return answer.transaction_states[0].transaction_state

    def seen(self, isolation: str = "committed") -> list[bytes | None]:
        """What readers find in the topic, in the order of its partitions."""
        return [record.value for record in read_all(self.bootstrap, self.name, isolation)]

    def shows(
        self, wanted: Sequence[bytes | None], topic: str | None = None, *, in_order: bool = True
    ) -> None:
        """Readers of committed records find just this. Kafka answers EndTxn before the markers are written: a moment is given."""
        deadline = time.monotonic() + SHOWN_WITHIN_S
        while True:
            found = [record.value for record in read_all(self.bootstrap, topic or self.name)]
            same = found == list(wanted) if in_order else Counter(found) == Counter(wanted)
            if same or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        assert same, f"wanted {list(wanted)}, found {found}"
