"""The logs that a query reads, seen from the driver: which partitions there are, where they begin and end."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from oncelog.client.admin import EARLIEST, LATEST, Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import RETRIABLE, RefusedByBroker, TimedOut, Unreachable
from oncelog.errors import ErrorCode, OncelogError
from oncelog.model import TopicPartition
from oncelog.spark.source_options import (
    CLIENT_ID,
    At,
    AtOffsets,
    AtTime,
    AtTimes,
    Boundary,
    Offsets,
    SourceOptions,
)
from oncelog.spark.source_plan import name_all, resolve_offsets, resolve_times

log: Final = logging.getLogger("oncelog.spark")

ResultT = TypeVar("ResultT")


class MissingTopic(OncelogError):
    """A topic or partition that the query names is not there."""


class Logs:
    """The partitions of a subscription and their offsets, asked for with patience."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._cluster = Cluster.from_options(options.kafka, client_id=CLIENT_ID)
        self._admin = Admin(self._cluster)
        self._ids: dict[str, bytes] = {}
        self._made_anew: set[str] = set()
        self._partitions: list[TopicPartition] = []
        self._missing: dict[str, str] = {}
        self._fresh_until = 0.0

    def close(self) -> None:
        self._cluster.close()

    def partitions(
        self, known: Iterable[TopicPartition] = (), *, lenient: bool = False
    ) -> list[TopicPartition]:
        """Those of the subscription that are there.

        A topic that is not: MissingTopic, unless we read from it before (`known`) or do not know yet (`lenient`).
        """
        if time.monotonic() >= self._fresh_until:
            self._partitions, self._missing = self._look_patiently()
            self._fresh_until = time.monotonic() + self._options.metadata_max_age_ms / 1000
            if not self._partitions and not self._missing:
                log.warning("no topic fits %s yet", self._options.subscription)
        if self._missing and not lenient:
            read_before = {each.topic for each in known}
            strangers = [why for topic, why in sorted(self._missing.items()) if topic not in read_before]
            if strangers:
                raise MissingTopic(
                    f"{'; '.join(strangers)} ({self._options.subscription} at {self._options.bootstrap})"
                )
        return self._partitions

    def _look_patiently(self) -> tuple[list[TopicPartition], dict[str, str]]:
        """A topic that was made a moment ago may not have come round to all brokers."""
        found, missing = self._patiently(self._look)
        for _ in range(self._options.retries):
            if not missing:
                break
            time.sleep(self._options.retry_interval_ms / 1000)
            found, missing = self._patiently(self._look)
        return found, missing

    def _look(self) -> tuple[list[TopicPartition], dict[str, str]]:
        """What is there, and by topic what is not."""
        subscription = self._options.subscription
        answer = self._cluster.refresh(None if subscription.pattern is not None else subscription.names())
        there: dict[str, int] = {}
        missing: dict[str, str] = {}
        for topic in answer:
            name = topic.name or ""
            if subscription.pattern is not None and (topic.is_internal or not subscription.wants(name)):
                continue
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                missing[name] = f"topic {name!r} does not exist"
                continue
            if topic.error_code != ErrorCode.NONE:
                raise RefusedByBroker(
                    topic.error_code, f"Metadata of topic {name!r}", str(self._cluster.any())
                )
            there[name] = len(topic.partitions)
            if self._ids.setdefault(name, bytes(topic.topic_id)) != bytes(topic.topic_id):
                self._made_anew.add(name)
        if not subscription.assigned:
            return [
                TopicPartition(name, number) for name in sorted(there) for number in range(there[name])
            ], missing
        for each in subscription.assigned:
            if each.topic in there and each.partition >= there[each.topic]:
                missing[each.topic] = f"{each} does not exist, the topic has {there[each.topic]} partitions"
        return [each for each in subscription.assigned if each.topic not in missing], missing

    def made_anew(self) -> list[str]:
        """Topics that were deleted and created again since we first saw them; told once."""
        found = sorted(self._made_anew)
        for topic in found:
            del self._ids[topic]
        self._made_anew.clear()
        return found

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self.at_times(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Where a reader of this isolation level comes to an end: the last stable offset, or the high watermark."""
        return self.at_times(dict.fromkeys(partitions, LATEST))

    def at_times(self, times: Offsets) -> dict[TopicPartition, int]:
        """By partition the first offset at or after a time in ms; -1 where there is none."""
        if not times:
            return {}
        found = self._patiently(lambda: self._admin.offsets_at(times, isolation=self._options.isolation))
        return {each: view.offset for each, view in found.items()}

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """What the group has committed; an offset that a transaction is about to commit is waited for."""
        group = self._options.group
        assert group is not None
        found = self._patiently(lambda: self._admin.group_offsets(group, partitions, require_stable=True))
        return {each: view.offset for each, view in found.items()}

    def _patiently(self, ask: Callable[[], ResultT]) -> ResultT:
        """Again when a broker was away or a leader moved, as often as fetchOffset.numRetries says."""
        for left in range(self._options.retries, -1, -1):
            try:
                return ask()
            except (Unreachable, TimedOut):
                if not left:
                    raise
            except RefusedByBroker as fault:
                if not left or fault.error not in RETRIABLE:
                    raise
            time.sleep(self._options.retry_interval_ms / 1000)
            for name in self._ids:
                self._cluster.forget(name)
        raise AssertionError("the last try returns or raises")

    # Boundaries

    def start(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        start = self._options.start
        if start is At.COMMITTED:
            committed = self.committed(partitions)
            rest = [each for each in partitions if each not in committed]
            return {**committed, **self.earliest(rest)}
        option = None if self._options.no_such_time_is_latest else "starting"
        return self._resolve(start, partitions, "starting", option)

    def end(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._resolve(self._options.end, partitions, "ending", None)

    def _resolve(
        self, boundary: Boundary, partitions: Sequence[TopicPartition], side: str, demanding: str | None
    ) -> dict[TopicPartition, int]:
        if boundary is At.EARLIEST:
            return self.earliest(partitions)
        if boundary is At.LATEST:
            return self.latest(partitions)
        if isinstance(boundary, AtOffsets):
            name_all(boundary.offsets, partitions, f"{side}Offsets")
            return resolve_offsets(
                boundary.offsets, earliest=self.earliest(partitions), latest=self.latest(partitions)
            )
        if isinstance(boundary, AtTimes):
            name_all(boundary.millis, partitions, f"{side}OffsetsByTimestamp")
            times, option = boundary.millis, f"{side}OffsetsByTimestamp"
        else:
            assert isinstance(boundary, AtTime)
            times, option = dict.fromkeys(partitions, boundary.millis), f"{side}Timestamp"
        return resolve_times(
            self.at_times(times),
            latest=self.latest(partitions),
            times=times,
            option=option if demanding else None,
        )
