"""What the Spark source reads: where it begins and ends, ranges, limits, losses and filters, as pure rules."""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from oncelog.errors import OncelogError
from oncelog.model import TopicPartition
from oncelog.spark.source_options import (
    EARLIEST,
    LARGEST,
    LATEST,
    At,
    AtOffsets,
    BadOption,
    Boundary,
    Offsets,
    from_json,
)


class DataLoss(OncelogError):
    """Records that the query should have read are not in the log any more."""


# ---- where a read begins and ends -------------------------------------------------------------------------------------


def name_all(boundary: Offsets, partitions: Iterable[TopicPartition], option: str) -> None:
    """An option that names partitions has to name all that are read and no other, as with Spark's connector."""
    there = set(partitions)
    missing, strange = sorted(there - boundary.keys()), sorted(boundary.keys() - there)
    if missing:
        raise BadOption(
            f"option {option} does not name {', '.join(map(str, missing))}; "
            "every partition that is read has to be named (-2: earliest, -1: latest)"
        )
    if strange:
        raise BadOption(
            f"option {option} names {', '.join(map(str, strange))}, which the subscription does not have"
        )


def resolve_offsets(named: Offsets, *, earliest: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    """EARLIEST and LATEST replaced by what they are now."""
    words = {EARLIEST: earliest, LATEST: latest}
    return {each: words[at][each] if at in words else at for each, at in named.items()}


def resolve_times(
    found: Offsets, *, latest: Offsets, times: Offsets, option: str | None
) -> dict[TopicPartition, int]:
    """`found`: the first offset at or after its time, negative where there is none. Then it is `latest`, or, if `option` is
    given, an error that names it."""
    none = sorted(each for each, at in found.items() if at < 0)
    if none and option is not None:
        said = ", ".join(f"{each} (at {times[each]})" for each in none)
        raise BadOption(
            f"option {option}: no record is that young in {said}; "
            "startingOffsetsByTimestampStrategy=latest begins at the end instead"
        )
    return {each: latest[each] if at < 0 else at for each, at in found.items()}


def moves(start: Boundary) -> bool:
    """Whether asking again later may give another answer, so that the first answer has to be kept.

    Spark asks a source again for its first offset when it repeats the first micro-batch. `earliest` only moves when records are
    deleted.
    """
    if isinstance(start, AtOffsets):
        return LATEST in start.offsets.values()
    return start is not At.EARLIEST


# ---- ranges -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """Offsets start, start + 1, ... stop - 1 of a partition: the work of one task."""

    partition: TopicPartition
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start

    def __str__(self) -> str:
        return f"{self.partition}[{self.start}:{self.stop}]"


@dataclass(frozen=True, slots=True)
class Planned:
    """What to read; and what cannot be read any more, one sentence each. Ranges pass over the losses."""

    ranges: tuple[Range, ...]
    losses: tuple[str, ...] = ()


def plan_ranges(starts: Offsets, ends: Offsets, *, earliest: Offsets) -> Planned:
    """From where we are to where we go, held against where the logs begin now."""
    ranges: list[Range] = []
    losses = [gone(each, starts[each]) for each in sorted(starts.keys() - ends.keys())]
    for each in sorted(ends):
        stop, first = ends[each], earliest.get(each, 0)
        start = starts.get(each, 0)  # a partition that is new since the last time is read from its beginning
        if stop < start:
            losses.append(cut_off(each, stop, start))
            start = first
        elif start < min(first, stop):
            losses.append(deleted(each, start, min(first, stop)))
            start = first
        if start < stop:
            ranges.append(Range(each, start, stop))
    return Planned(tuple(ranges), tuple(losses))


def plan_batch(
    start: Boundary,
    end: Boundary,
    starts: Offsets,
    ends: Offsets,
    *,
    earliest: Offsets,
    latest: Offsets,
    called: str = "its end",
) -> Planned:
    """The same for a batch read between two boundaries, of which `starts` and `ends` are the offsets; `latest` is where it has
    to end in any case, and `called` what that is.

    Only an offset that somebody named can be missing: `earliest` is wherever the log begins by the time it is looked at, even
    if that is behind the last stable offset.
    """
    losses = [
        f"option {option} of {each} is {offsets[each]}, beyond {called}, {latest[each]}"
        for option, boundary, offsets in (("startingOffsets", start, starts), ("endingOffsets", end, ends))
        if boundary is At.COMMITTED or isinstance(boundary, AtOffsets)
        for each in sorted(offsets)
        if offsets[each] > latest[each]
    ]
    if start is At.EARLIEST:
        starts = earliest
    begin = {each: min(at, latest[each]) for each, at in starts.items()}
    stop = {each: max(min(at, latest[each]), begin[each]) for each, at in ends.items()}
    planned = plan_ranges(begin, stop, earliest=earliest)
    return replace(planned, losses=(*losses, *planned.losses))


def gone(partition: TopicPartition, position: int) -> str:
    return f"{partition} is gone; offset {position} was next to be read"


def cut_off(partition: TopicPartition, end: int, position: int) -> str:
    return (
        f"{partition} ends at offset {end}, but {position} was next to be read: "
        "the topic was deleted and made anew, or its log was cut off"
    )


def deleted(partition: TopicPartition, start: int, stop: int) -> str:
    return f"offsets {start} to {stop - 1} of {partition} are no longer in the log"


def judge_losses(losses: Iterable[str], *, failing: bool) -> str | None:
    """DataLoss if the query shall fail of it; else what to warn of, if there is anything."""
    told = "; ".join(losses)
    if told and failing:
        raise DataLoss(f"{told}. Set failOnDataLoss=false to go on with what is there")
    return f"{told}. Going on with what is there, since failOnDataLoss=false" if told else None


def available(starts: Offsets, ends: Offsets) -> int:
    """How many offsets lie between; new partitions count from 0."""
    return sum(max(0, end - starts.get(each, 0)) for each, end in ends.items())


def limit_offsets(
    limit: int, starts: Offsets, ends: Offsets, *, earliest: Offsets
) -> dict[TopicPartition, int]:
    """At most about `limit` offsets, shared out by how much waits in each partition; a small one still gets one.

    The same arithmetic as in Spark's connector: rounded down, but up where it would be nothing.
    """
    begin = {each: starts.get(each, earliest.get(each, 0)) for each in ends}
    sizes = {each: end - begin[each] for each, end in ends.items() if end > begin[each]}
    total = sum(sizes.values())
    if total <= limit:
        return dict(ends)
    limited = dict(ends)
    for each, size in sizes.items():
        share = limit * size // total
        limited[each] = begin[each] + min(size, max(share, 1))
    return limited


def split_ranges(
    ranges: Sequence[Range], *, min_partitions: int | None, max_records: int | None = None
) -> list[Range]:
    """Cuts large ranges so that there are enough tasks, and none too large, as Spark's connector does."""
    pieces = [each for each in ranges if each.size > 0]
    if max_records is not None:
        pieces = [piece for each in pieces for piece in cut(each, -(-each.size // max_records))]
    if min_partitions is None or len(pieces) >= min_partitions or not pieces:
        return pieces
    total = sum(each.size for each in pieces)
    whole = {each for each in pieces if _parts(each.size, total, min_partitions) == 1}
    rest = sum(each.size for each in pieces if each not in whole)
    wanted = max(min_partitions - len(whole), 1)
    return [
        piece
        for each in pieces
        for piece in ([each] if each in whole else cut(each, _parts(each.size, rest, wanted)))
    ]


def cut(whole: Range, parts: int) -> list[Range]:
    """`parts` pieces of about the same size, none of them empty."""
    parts = min(parts, whole.size)
    edges = [whole.start + whole.size * number // parts for number in range(parts + 1)]
    return [Range(whole.partition, start, stop) for start, stop in itertools.pairwise(edges)]


def _parts(size: int, total: int, wanted: int) -> int:
    return max(1, int(size / total * wanted + 0.5))


# ---- filters of a batch query -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a query's WHERE leaves of topics, partitions and offsets. None: no such condition."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    first_offset: int = 0
    stop_offset: int = LARGEST
    first_millis: int | None = None  # records before the first one that is not older than this are not wanted
    nothing: bool = False

    def narrowed(self, ranges: Iterable[Range], at_time: Offsets) -> list[Range]:
        """`at_time`: by partition the first offset at `first_millis` or later; a partition that is left out has none."""
        kept: list[Range] = []
        for each in ranges:
            if self.nothing or (self.topics is not None and each.partition.topic not in self.topics):
                continue
            if self.partitions is not None and each.partition.partition not in self.partitions:
                continue
            start, stop = max(each.start, self.first_offset), min(each.stop, self.stop_offset)
            if self.first_millis is not None:
                start = max(start, at_time.get(each.partition, stop))
            if start < stop:
                kept.append(Range(each.partition, start, stop))
        return kept


@dataclass(frozen=True, slots=True)
class Condition:
    """`column operator values`, AND-ed with the others; the operators are =, <, <=, >, >=, in."""

    column: str
    operator: str
    values: tuple[Any, ...]


NEVER_NULL: Final = frozenset({"topic", "partition", "offset", "timestamp", "timestampType"})


def narrow(wanted: Wanted, condition: Condition) -> tuple[Wanted, bool]:
    """What is wanted with one more condition, and whether that is all it says (else Spark has to check it again)."""
    column, operator, values = condition.column, condition.operator, condition.values
    if any(each is None for each in values):
        return wanted, False
    if column == "topic" and operator in ("=", "in") and all(isinstance(each, str) for each in values):
        topics = frozenset(values)
        return replace(wanted, topics=topics if wanted.topics is None else wanted.topics & topics), True
    if column in ("partition", "offset") and all(type(each) is int for each in values):
        return _narrow_numbers(wanted, column, operator, values)
    if column == "timestamp" and operator in (">", ">=", "=") and all(type(each) is int for each in values):
        # Times need not rise along a log, so only the beginning can be found by time, and Spark still has to look.
        (micros,) = values
        millis = micros // 1000 + 1 if operator == ">" else -(-micros // 1000)
        if millis < 0:  # a record without a time has -1, which no time finds
            return wanted, False
        first = millis if wanted.first_millis is None else max(millis, wanted.first_millis)
        return replace(wanted, first_millis=first), False
    return wanted, False


def _narrow_numbers(
    wanted: Wanted, column: str, operator: str, values: tuple[Any, ...]
) -> tuple[Wanted, bool]:
    if operator in ("=", "in") and column == "partition":
        numbers = frozenset(values)
        return replace(
            wanted, partitions=numbers if wanted.partitions is None else wanted.partitions & numbers
        ), True
    if operator == "in":  # of offsets: the range around them, Spark picks
        if not values:
            return replace(wanted, nothing=True), True
        return _between(wanted, min(values), max(values) + 1), False
    if column == "partition":
        return wanted, False
    (number,) = values
    bounds = {
        "=": (number, number + 1),
        "<": (0, number),
        "<=": (0, number + 1),
        ">": (number + 1, LARGEST),
        ">=": (number, LARGEST),
    }
    return _between(wanted, *bounds[operator]), True


def _between(wanted: Wanted, first: int, stop: int) -> Wanted:
    return replace(
        wanted, first_offset=max(wanted.first_offset, first), stop_offset=min(wanted.stop_offset, stop)
    )


# ---- progress ---------------------------------------------------------------------------------------------------------


def lag(
    end: str | Mapping[str, Any] | None, latest: str | Mapping[str, Any] | None
) -> dict[TopicPartition, int]:
    """How many offsets each partition has that the query has not read: `endOffset` and `latestOffset` of a source in
    Spark's progress, as text or as read by json.
    """
    done = from_json(_offsets_of(end))
    return {
        each: max(0, last - done.get(each, 0))
        for each, last in sorted(from_json(_offsets_of(latest)).items())
    }


def _offsets_of(said: str | Mapping[str, Any] | None) -> Mapping[str, Mapping[str, int]]:
    if isinstance(said, str):
        found: object = json.loads(said)
        said = cast(Mapping[str, Any], found) if isinstance(found, dict) else None
    return said or {}
