"""What the sink does with a micro-batch: write, skip or refuse it; who wrote which partition; what its transaction commits. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, cast

from oncelog.client.admin import CommittedOffset
from oncelog.client.transactional import TransactionProtocol
from oncelog.model import Producer, TopicPartition
from oncelog.spark.sink_options import SinkFailed, SinkOptions, SinkRefused, TakenOver, Unfinished

HELPER: Final = "oncelog.spark.to_topic(df, ...)"
MARKER_FORMAT: Final = 1
NO_LEADER_EPOCH: Final = -1
FIRST_ROWS_LIMIT: Final = 251  # a prime: attempt ids often differ by round numbers


# Progress


@dataclass(frozen=True, slots=True)
class Job:
    """One micro-batch of one query, or a df.write. A df.write without a name has no ids and leaves no progress."""

    query_id: str | None
    batch_id: int | None

    def __str__(self) -> str:
        return (
            "a df.write" if self.query_id is None else f"micro-batch {self.batch_id} of query {self.query_id}"
        )


@dataclass(frozen=True, slots=True)
class Marker:
    """What a transaction says of itself: this micro-batch of this query is in.

    serial   counts the markers of a transactional id, so that the last one is known among those of several partitions
    offsets  a digest of the source offsets that the micro-batch ended at; empty where they are not known
    """

    query_id: str
    batch_id: int
    serial: int
    offsets: str = ""

    def text(self, *, at_home: bool = False) -> str:
        """For the metadata of committed offsets (4096 bytes by default) and the records of the marker topic."""
        fields = {
            "oncelog": MARKER_FORMAT,
            "query": self.query_id,
            "batch": self.batch_id,
            "serial": self.serial,
            "offsets": self.offsets,
        }
        return json.dumps(fields | ({"home": True} if at_home else {}), separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Home:
    """The partition of the group that each marker of a transactional id is written to, whatever else carries it.

    A broker that is asked for all offsets of a group leaves out what is on its way and has no predecessor. So a marker that moved
    about with the topics of its micro-batches could be overlooked, and the one before it be taken for the last.
    offset   what to leave there: it is a source's. None where there is nothing but our markers
    """

    partition: TopicPartition
    offset: int | None = None


def _fields(text: str) -> dict[str, object]:
    """Of a marker; empty if this is none: groups may hold offsets of anybody."""
    try:
        found: Any = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    fields = cast(dict[str, object], found)
    return fields if fields.get("oncelog") == MARKER_FORMAT else {}


def read_marker(text: str) -> Marker | None:
    """None if this is no marker."""
    fields = _fields(text)
    query_id, batch_id, serial = fields.get("query"), fields.get("batch"), fields.get("serial")
    offsets = fields.get("offsets", "")
    if (
        not isinstance(query_id, str)
        or not isinstance(batch_id, int)
        or not isinstance(serial, int)
        or not isinstance(offsets, str)
    ):
        return None
    return Marker(query_id, batch_id, serial, offsets)


def last_marker(texts: Iterable[str]) -> Marker | None:
    """The newest of all markers that a transactional id left."""
    found = [marker for text in texts if (marker := read_marker(text)) is not None]
    return max(found, key=lambda marker: marker.serial, default=None)


def possible_homes(offsets: Mapping[TopicPartition, CommittedOffset], last: Marker | None) -> list[Home]:
    """Where the newest marker is, the best first: any will do that is there still."""
    carriers = sorted(
        (_fields(each.metadata).get("home") is not True, where)
        for where, each in offsets.items()
        if last is not None and read_marker(each.metadata) == last
    )
    return [Home(where, offsets[where].offset if of_source else None) for of_source, where in carriers]


# What to do


class Verdict(Enum):
    WRITE = "write"
    SKIP = "skip"
    """Its rows are in the log: they are computed, because stateful operators must see them, and not written."""


def check_owner(query_id: str | None, last: Marker | None, options: SinkOptions) -> None:
    """A transactional id belongs to the query whose micro-batch went in last under it, until another one says its name."""
    if last is not None and query_id != last.query_id != options.take_over:
        who = "a df.write" if query_id is None else f"query {query_id}"
        raise SinkRefused(
            f"transactional id {options.transactional_id!r} belongs to query {last.query_id}, whose micro-batch "
            f"{last.batch_id} is in the log; this is {who}. Two queries need two transactional ids. If the checkpoint "
            "was deleted, its rows would be written once more; to go on behind them set takeOver="
            f"{last.query_id} on the sink and startingOffsets=committed on the source"
        )


def judge(job: Job, last: Marker | None, options: SinkOptions) -> Verdict:
    """What becomes of a micro-batch, given the last marker of its transactional id. SinkRefused: a human must decide."""
    check_owner(job.query_id, last, options)
    if last is None or job.batch_id is None or last.query_id != job.query_id or job.batch_id > last.batch_id:
        return Verdict.WRITE
    if job.batch_id == last.batch_id:
        return Verdict.SKIP
    raise SinkRefused(
        f"{job}: micro-batch {last.batch_id} of this query is in the log already, so its checkpoint was set back. "
        "Whether the rows of this one are in the log cannot be told; to go on behind what is there, use a new checkpoint, "
        f"takeOver={last.query_id} on the sink and startingOffsets=committed on the source"
    )


def check_replay(job: Job, last: Marker | None, digest: str) -> None:
    """A micro-batch that is skipped must have ended where the one in the log ended, where both are known."""
    if last is not None and digest and last.offsets and digest != last.offsets:
        raise SinkRefused(
            f"{job} is in the log already, but it ended at other source offsets then (digest {last.offsets}, now "
            f"{digest}): its checkpoint was set back or changed. Nothing was written; use a new checkpoint, "
            f"takeOver={last.query_id} on the sink and startingOffsets=committed on the source"
        )


# Tasks


@dataclass(frozen=True, slots=True)
class Opened:
    """A transaction that tasks may write to, and what was in the log when it was opened. Made on the driver."""

    producer: Producer
    protocol: TransactionProtocol
    last: Marker | None
    home: Home | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """Who runs: from Spark's TaskContext."""

    partition_id: int
    attempt_number: int
    attempt_id: int
    job: Job
    may_be_copied: bool = False
    """Whether Spark may start a second attempt beside this one (spark.speculation)."""

    def __str__(self) -> str:
        return f"task of Spark partition {self.partition_id} (attempt id {self.attempt_id})"


class Failure(Enum):
    """What kind of fault kept a task from doing its part."""

    REFUSED = "refused"
    """Bad input: the same rows would be refused again."""
    TAKEN_OVER = "taken over"
    FAILED = "failed"
    """Whatever may pass: nobody answered, a first attempt was lost."""
    UNFINISHED = "unfinished"
    """A partition holds an earlier transaction of this id that was decided, and has no marker."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one task did, or what kept it from doing it.

    A fault that we know is reported and not raised: Spark would start the task again, three times, for nothing, and in the end show
    the complaint of the last attempt instead of the first.
    """

    task: Task
    opened: Opened
    verdict: Verdict
    written: Mapping[TopicPartition, int]
    """Acknowledged records."""
    failure: Failure | None = None
    fault: str = ""


def check_speculation(task: Task) -> None:
    """A copy that is done first takes the place of an attempt that has written: the micro-batch is aborted, time and again."""
    if task.may_be_copied:
        raise SinkRefused(
            f"{task} of {task.job}: spark.speculation is on. All tasks of a micro-batch share one transaction, in which a partition "
            "has one writer: a speculative copy may write nothing. Set spark.speculation=false for this application"
        )


def check_attempt(task: Task) -> None:
    """A second attempt writes nothing: the first may have written, and may be writing still, under the same sequences."""
    if task.attempt_number > 0:
        raise SinkFailed(
            f"{task} of {task.job} is attempt number {task.attempt_number}: the first one failed (Spark's log says why). All tasks "
            "of a micro-batch share one transaction, so it was aborted as a whole"
        )


def rows_of_first_batch(task: Task, rows: int) -> int:
    """How many rows go into the first record batch of a partition: another number for another attempt.

    A broker takes a batch for a repetition if its sequences are those of one it has. Two attempts of one task that write at the
    same time (Spark runs a stage again after a lost shuffle file, and does not say so) would be taken for one another, and rows
    would be lost. Of batches with other bounds the second is out of order, and is refused.
    """
    return 1 + task.attempt_id % min(rows, FIRST_ROWS_LIMIT)


_FAULTS: Final = {
    Failure.REFUSED: SinkRefused,
    Failure.TAKEN_OVER: TakenOver,
    Failure.FAILED: SinkFailed,
    Failure.UNFINISHED: Unfinished,
}


def check_reports(job: Job, reports: Sequence[Report | None]) -> tuple[Opened, dict[TopicPartition, int]]:
    """The transaction, and its rows by partition, if every task did its part of it and each partition had one writer."""
    reports = sorted(reports, key=lambda each: each is not None and each.failure is Failure.FAILED)
    opened: Opened | None = None
    owners: dict[TopicPartition, Task] = {}
    counts: dict[TopicPartition, int] = {}
    for number, report in enumerate(reports):
        if report is None:
            raise SinkRefused(f"{job}: {len(reports)} tasks, and number {number} did not say what it wrote")
        opened = opened or report.opened
        if report.task.job != job or report.opened != opened:
            raise SinkRefused(
                f"{job}, producer {opened.producer}: {report.task} wrote for {report.task.job}, "
                f"producer {report.opened.producer}"
            )
        if report.failure is not None:
            raise _FAULTS[report.failure](report.fault)
        for partition, count in report.written.items():
            other = owners.setdefault(partition, report.task)
            if other is not report.task:
                raise two_writers(partition, f"{other} and {report.task}")
            counts[partition] = count
    if opened is None:
        raise SinkRefused(f"{job}: no task said what it wrote")
    return opened, counts


def check_strangers(
    job: Job, written: Mapping[TopicPartition, int], members: Set[TopicPartition] | None
) -> None:
    """The transaction must hold the partitions that were reported and no others: those would be of an attempt that Spark has
    forgotten, and its rows would be committed with ours.
    """
    if members is not None and members != written.keys():
        more = ", ".join(map(str, sorted(members - written.keys()))) or "none"
        less = ", ".join(map(str, sorted(written.keys() - members))) or "none"
        raise SinkFailed(
            f"{job}: tasks reported other partitions than the transaction holds: {more} in it that nobody reported, "
            f"{less} reported that are not in it. An attempt that Spark has given up may still be writing. It was aborted"
        )


def two_writers(partition: TopicPartition | None, found: str) -> SinkRefused:
    return SinkRefused(
        f"{partition or 'a partition'}: wanted one task that writes this partition, found {found}. The sequence numbers of a "
        f"transaction belong to a partition, so each may have one writer only: use {HELPER}, which shuffles the rows "
        "by topic and partition. The micro-batch was aborted"
    )


# Commit


def next_marker(job: Job, last: Marker | None, digest: str) -> Marker | None:
    """None for a df.write that nobody named."""
    if job.query_id is None or job.batch_id is None:
        return None
    return Marker(job.query_id, job.batch_id, 1 if last is None else last.serial + 1, digest)


def home_of(
    opened: Opened,
    written: Iterable[TopicPartition],
    sources: Mapping[TopicPartition, int],
    options: SinkOptions,
) -> Home | None:
    """Where the marker of this micro-batch goes: where the one before it is. None if nothing was ever written or read."""
    home = opened.home
    if home is None:
        by_option = None if options.topic is None else TopicPartition(options.topic, 0)
        first = by_option or min(written, default=None) or min(sources, default=None)
        home = None if first is None else Home(first)
    if home is not None and home.partition in sources:
        return Home(home.partition, sources[home.partition])
    return home


def offsets_to_commit(
    marker: Marker | None,
    home: Home | None,
    written: Mapping[TopicPartition, int],
    sources: Mapping[TopicPartition, int],
) -> dict[TopicPartition, CommittedOffset]:
    """The marker rides on every source offset, and on one more at home: of an existing topic, there is no other place in a group.

    The offset beside a marker at home is the next batch id: of no meaning but to a human who looks.
    Empty: nothing was written and no source is known, so there is nothing to remember either.
    """
    if marker is None or not (written or sources):
        return {}
    found = {
        each: CommittedOffset(offset, NO_LEADER_EPOCH, marker.text()) for each, offset in sources.items()
    }
    if home is not None:
        ours = home.offset is None
        offset = marker.batch_id + 1 if home.offset is None else home.offset
        found.setdefault(home.partition, CommittedOffset(offset, NO_LEADER_EPOCH, marker.text(at_home=ours)))
    return found
