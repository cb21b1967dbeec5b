"""What a pipeline must have written, counted in plain Python from the logs: no Spark, no checkpoint, no progress report.

The input up to the source offsets that the pipeline committed decides what must be in the output, row by row; rows beyond
them must have left no trace. Readers are read_committed.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from oncelog.client.admin import LATEST, Admin
from oncelog.client.cluster import Cluster
from oncelog.client.easy import read_all
from oncelog.client.faults import TimedOut
from oncelog.client.security import PLAINTEXT, Security
from oncelog.client.visible import ReadRecord
from oncelog.model import Isolation, TopicPartition
from oncelog.pipelines.watch import transaction

HOUR_MS: Final = 3_600_000
LATENESS_MS: Final = HOUR_MS  # of the watermark of clicks-final
DECIDED: Final = ("PrepareCommit", "PrepareAbort")  # and not yet told to every partition
MOMENT_LIMIT_S: Final = 30.0
REVIEW_FROM: Final = 60_000  # transfers of this amount and more go to t3


@dataclass(frozen=True, slots=True)
class Verdict:
    """Numbers of rows. The proof holds if none is doubled, lost, torn or wrong and, when all was to be done, none is left."""

    pipeline: str
    rows_in: int
    rows_out: Mapping[str, int]  # by topic
    duplicates: int  # there more often than the input asks for
    lost: int  # asked for by the input, and not there
    torn: int | None  # one half of what one transaction writes; None where a row has no halves
    wrong: int  # there, and no input asks for it
    pending: int = 0  # input behind the committed source offsets
    drained: bool = True  # whether the pipeline was to finish its input

    @property
    def holds(self) -> bool:
        left = self.pending if self.drained else 0
        return not any((self.duplicates, self.lost, self.torn, self.wrong, left))

    def lines(self) -> list[tuple[str, int | None]]:
        """The verdict as figures with their names, in the order of reading."""
        out = [(f"rows out, {topic}", count) for topic, count in self.rows_out.items()]
        bad = [(name, getattr(self, name)) for name in ("duplicates", "lost", "torn", "wrong", "pending")]
        return [("rows in", self.rows_in), *out, *bad]


@dataclass(frozen=True, slots=True)
class Logs:
    """What stands in the topics of a pipeline, and how far it says it came."""

    done: Sequence[ReadRecord]  # of the source, below the committed offsets
    pending: int
    outputs: Mapping[str, Sequence[ReadRecord]]
    tables: Mapping[str, Sequence[ReadRecord]]
    drained: bool = True


Judge = Callable[[str, Logs], Verdict]
Read = Callable[[str, str], Sequence[ReadRecord]]
"""From a bootstrap address and a topic to all its committed records, in offset order by partition."""


def read_logs(
    bootstrap: str,
    source: str,
    outputs: Iterable[str],
    *,
    tables: Iterable[str] = (),
    group: str | None,
    drained: bool = True,
    security: Security = PLAINTEXT,
    read: Read | None = None,
) -> Logs:
    """`group`: where the pipeline committed its source offsets; None takes the whole input as done. `read`: by another client."""
    read = read or partial(read_all, security=security)
    names = list(outputs)
    moment = None
    if group is not None:
        with Cluster(bootstrap, security=security) as cluster:
            moment = between_transactions(cluster, names, group)
    records = read(bootstrap, source)
    done = records if moment is None else [each for each in records if moment.has_done(each)]
    written = {topic: read(bootstrap, topic) for topic in names}
    if moment is not None:
        written = {topic: list(filter(moment.has_written, found)) for topic, found in written.items()}
    return Logs(
        done=done,
        pending=len(records) - len(done),
        outputs=written,
        tables={topic: read(bootstrap, topic) for topic in tables},
        drained=drained,
    )


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a pipeline stood when none of its transactions was being ended: what it had done, and what it had written."""

    done: Mapping[TopicPartition, int]  # source offsets that it committed
    ends: Mapping[TopicPartition, int]  # of its outputs, as a read_committed reader sees them

    def has_done(self, record: ReadRecord) -> bool:
        return record.offset < self.done.get(TopicPartition(record.topic, record.partition), 0)

    def has_written(self, record: ReadRecord) -> bool:
        return record.offset < self.ends[TopicPartition(record.topic, record.partition)]


def between_transactions(cluster: Cluster, outputs: Iterable[str], group: str) -> Moment:
    """A pipeline that runs on ends transactions while we look, one partition's marker after the other. So we look until its
    transactional id, which is its group, is the same before and after, with no decision under way.
    """
    admin = Admin(cluster)
    partitions = [each for topic in outputs for each in admin.partitions_of(topic)]

    def progress() -> tuple[object, Mapping[TopicPartition, int]]:
        found = transaction(cluster, group)
        offsets = admin.group_offsets(group, require_stable=True)
        state = None if found is None else (found.state, found.producer)
        return state, {each: view.offset for each, view in offsets.items()}

    deadline = time.monotonic() + MOMENT_LIMIT_S
    while True:
        before = progress()
        ends = admin.offsets_at(dict.fromkeys(partitions, LATEST), isolation=Isolation.READ_COMMITTED)
        after = progress()
        state = before[0]
        if before == after and not (isinstance(state, tuple) and state[0] in DECIDED):
            return Moment(before[1], {each: view.offset for each, view in ends.items()})
        if time.monotonic() > deadline:
            raise TimedOut(
                f"{group}: wanted a moment between two of its transactions, found none within {MOMENT_LIMIT_S:.0f} s"
            )
        time.sleep(0.01)


def judge_refunds(pipeline: str, logs: Logs) -> Verdict:
    """Each settlement that came back: one refund of the right amount and one audit row that says the same."""
    wanted = Counter(_refund_of(row) for row in map(_fields, logs.done) if row["outcome"] == "returned")
    refunds, audits = logs.outputs["refunds-emitted"], logs.outputs["refund-audit"]
    found = [
        Counter(
            (row.get("settlement_id"), row.get("merchant"), row.get("amount")) for row in map(_fields, each)
        )
        for each in (refunds, audits)
    ]
    return _verdict(pipeline, logs, wanted, found, torn=len(found[0].keys() ^ found[1].keys()))


def _refund_of(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row["settlement_id"], row["merchant"], row["amount"] * row["returned_percent"] // 100


def judge_router(pipeline: str, logs: Logs) -> Verdict:
    """Each row of t1 is in t2 or in t3, by its amount, and unchanged: |t2| + |t3| = |t1|."""
    wanted = Counter(
        ("t3" if _fields(each)["amount"] >= REVIEW_FROM else "t2", each.key, each.value) for each in logs.done
    )
    found = Counter(
        (each.topic, each.key, each.value) for topic in ("t2", "t3") for each in logs.outputs[topic]
    )
    return _verdict(pipeline, logs, wanted, [found])


def judge_enrichment(pipeline: str, logs: Logs) -> Verdict:
    """Each order once, with tier and region of its customer, or with neither if the table does not know the customer."""
    table = {row["customer"]: row for row in map(_fields, logs.tables["customers"])}

    def enriched(row: Mapping[str, Any]) -> tuple[object, ...]:
        customer = table.get(row["customer"], {})
        return row["order_id"], row["customer"], row["amount"], customer.get("tier"), customer.get("region")

    wanted = Counter(enriched(row) for row in map(_fields, logs.done))
    found = Counter(
        tuple(row.get(name) for name in ("order_id", "customer", "amount", "tier", "region"))
        for row in map(_fields, logs.outputs["orders-enriched"])
    )
    return _verdict(pipeline, logs, wanted, [found])


def judge_clicks(pipeline: str, logs: Logs) -> Verdict:
    """Update mode: the counts of a user's hour only grow, none is told twice, and the last one is the true one."""
    wanted = _clicks_by_hour(logs.done)
    last: dict[tuple[str, int], int] = {}
    repeated = 0
    for row in map(_fields, logs.outputs["clicks-per-hour"]):  # a user's rows are in one partition, in order
        key = row["user"], row["hour_ms"]
        repeated += row["clicks"] <= last.get(key, 0)
        last[key] = row["clicks"]
    found = Counter(last)
    return Verdict(
        pipeline=pipeline,
        rows_in=len(logs.done) + logs.pending,
        rows_out=_counts(logs),
        duplicates=repeated + sum(max(found[key] - wanted[key], 0) for key in found.keys() & wanted.keys()),
        lost=sum((wanted - found).values()),
        torn=None,
        wrong=len(found.keys() - wanted.keys()),
        pending=logs.pending,
        drained=logs.drained,
    )


def judge_clicks_final(pipeline: str, logs: Logs) -> Verdict:
    """Append mode: one row for each user's hour that the watermark has closed, with the true count."""
    clicks = _clicks_by_hour(logs.done)
    watermark = max((_fields(each)["at_ms"] for each in logs.done), default=0) - LATENESS_MS
    told = Counter(
        (row["user"], row["hour_ms"], row["clicks"])
        for row in map(_fields, logs.outputs["clicks-per-hour-final"])
    )
    true = Counter((user, hour, count) for (user, hour), count in clicks.items())
    closed = {each for each in true if each[1] + HOUR_MS <= watermark}
    missing = len(closed - told.keys())
    return Verdict(
        pipeline=pipeline,
        rows_in=len(logs.done) + logs.pending,
        rows_out=_counts(logs),
        duplicates=sum(told.values()) - len(told),
        lost=missing if logs.drained else 0,
        torn=None,
        wrong=len(told.keys() - closed),  # a wrong count, or an hour that was not over
        pending=logs.pending if logs.drained else logs.pending + missing,
        drained=logs.drained,
    )


def _clicks_by_hour(records: Iterable[ReadRecord]) -> Counter[tuple[str, int]]:
    return Counter((row["user"], row["at_ms"] // HOUR_MS * HOUR_MS) for row in map(_fields, records))


def _verdict(
    pipeline: str,
    logs: Logs,
    wanted: Counter[Any],
    found: Sequence[Counter[Any]],
    *,
    torn: int | None = None,
) -> Verdict:
    """Each of `found` must hold what is wanted, as often as it is wanted. A row that no input asks for is wrong, a wanted
    one that is there too often is a duplicate."""
    surplus = [each - wanted for each in found]
    return Verdict(
        pipeline=pipeline,
        rows_in=len(logs.done) + logs.pending,
        rows_out=_counts(logs),
        duplicates=sum(count for each in surplus for row, count in each.items() if row in wanted),
        lost=sum(sum((wanted - each).values()) for each in found),
        torn=torn,
        wrong=sum(count for each in surplus for row, count in each.items() if row not in wanted),
        pending=logs.pending,
        drained=logs.drained,
    )


def _counts(logs: Logs) -> dict[str, int]:
    return {topic: len(records) for topic, records in logs.outputs.items()}


def _fields(record: ReadRecord) -> dict[str, Any]:
    return json.loads(record.value or b"{}")
