"""A stateful processor for transformWithState: how many rows each key has seen, told for every row."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle


class RunningCount(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count: Any = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803  # pyspark's names
        count = self._count.get()[0] if self._count.exists() else 0
        for _ in rows:
            count += 1
            yield Row(user=key[0], count=count)
        self._count.update((count,))

    def close(self) -> None:
        """Nothing to close."""
