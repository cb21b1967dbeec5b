"""Looks through a history for what an exactly-once log must never do. docs/reliability.md explains each name.

Most anomalies are told as soon as they can be known; some need the end (`finish`): what was lost, torn, or runs in a circle.
What Kafka allows is not an anomaly: transactions interleave (G0), and a poll may end in the middle of one (G1b). Both are
counted under `notes`.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from oncelog.sim.history import (
    NEVER,
    CommitOffsets,
    End,
    EndTxn,
    FetchOffsets,
    History,
    Init,
    Op,
    Partition,
    Poll,
    Seek,
    Send,
)

# Every anomaly there is. docs/reliability.md has the same list with an example each.
ANOMALIES: Final[Mapping[str, str]] = {
    "phantom": "a value was read that nobody had sent",
    "failed-write-read": "a value was read whose send certainly failed",
    "wrong-partition": "a value was read from another partition than it was sent to",
    "inconsistent-offsets": "two values stand, or stood, at one offset",
    "duplicate": "one value stands at two offsets",
    "misplaced-ack": "a send was answered with another offset than its value has",
    "G1a": "a read_committed reader saw a value of a transaction that was aborted",
    "early-read": "a read_committed reader saw a value before anybody asked for its commit",
    "precommitted-read": "a transaction's own read_committed reader saw its uncommitted value",
    "G1c": "committed transactions read from each other in a circle",
    "lost-write": "an acknowledged value, not aborted, is not there at the end",
    "vanished": "a value that somebody read is not there at the end",
    "torn-transaction": "some values of a transaction are there at the end and some are not",
    "torn-batch": "some values of one batch are there at the end and some are not",
    "int-poll-skip": "a poll left out a record that another saw within the same range",
    "late-record": "a poll found a record where an earlier poll over the same range found none",
    "int-nonmonotonic-poll": "offsets within one poll do not rise",
    "poll-skip": "a reader was moved forward without asking for it",
    "nonmonotonic-poll": "a reader was moved back without asking for it",
    "nonmonotonic-send": "a later send of one process was acknowledged at a lower offset",
    "reordered": "values of one producer stand in another order than they were sent in",
    "watermark-order": "log start, last stable offset and high watermark are not in this order",
    "read-above-limit": "a record was returned at or above the limit of its isolation level",
    "watermark-back": "the last stable offset or high watermark went back",
    "ack-above-watermark": "a read after an acknowledgement tells a high watermark that does not cover it",
    "two-decisions": "a transaction was acknowledged as committed and as aborted",
    "zombie-write": "a value that a fenced producer sent is visible to read_committed readers",
    "zombie-commit": "a fenced producer was told that its transaction is committed",
    "epoch-back": "a transactional id got a producer epoch that was given before, or a lower one",
    "shared-producer-id": "one producer id was given to two transactional ids",
    "phantom-offset": "a group's position is one that nobody committed",
    "aborted-offset": "a group's position is one that only an aborted transaction committed",
    "stale-offset": "a group's position is older than one whose commit had been acknowledged",
    "copied-twice": "one input record has two visible outputs",
    "not-copied": "an input record below the group's position has no visible output",
    "torn-copy": "an input record at or above the group's position has a visible output",
}


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One broken promise, and the operations that show it."""

    kind: str
    text: str
    ops: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class Anomalies(AssertionError):
    """A history is not what it should be."""

    def __init__(self, found: Sequence[Anomaly]) -> None:
        super().__init__("\n".join(str(each) for each in found))
        self.found = found


class _Txn:
    """One transaction as its clients see it."""

    __slots__ = (
        "aborted",
        "commits",
        "committed",
        "count",
        "ends",
        "name",
        "offsets",
        "process",
        "sends",
        "shown",
    )

    def __init__(self, name: str, process: str) -> None:
        self.name = name
        self.process = process
        self.sends: list[Send] = []
        self.count = 0  # values in them
        self.offsets: list[CommitOffsets] = []
        self.ends: list[EndTxn] = []
        self.commits = 0  # ends that ask for a commit and have not certainly failed
        self.committed: EndTxn | None = None  # acknowledged
        self.aborted: EndTxn | None = None
        self.shown: Poll | None = None  # the first read_committed poll that returned something of it

    @property
    def may_be_committed(self) -> bool:
        return self.commits > 0 and self.aborted is None


class _View:
    """One partition as readers of one isolation level saw it, from its start up to `end`."""

    __slots__ = ("end", "offsets", "seen_by")

    def __init__(self) -> None:
        self.end = 0
        self.offsets: list[int] = []  # of records, rising
        self.seen_by: list[int] = []  # the poll that first saw each

    def cut(self, start: int, end: int) -> tuple[int, int]:
        return bisect_left(self.offsets, start), bisect_left(self.offsets, end)


class _Part:
    """One partition."""

    __slots__ = (
        "acked",
        "compact",
        "final",
        "first_final",
        "limits",
        "log_start",
        "newest",
        "values",
        "views",
    )

    def __init__(self) -> None:
        self.values: dict[int, str] = {}  # offset -> value, as anybody was ever told
        self.views = {True: _View(), False: _View()}
        self.limits: dict[str, _Rising] = {"last stable offset": _Rising(), "high watermark": _Rising()}
        self.acked = _Rising()
        self.compact = False
        self.log_start = 0
        self.final: dict[bool, dict[int, str]] = {}
        self.newest: dict[bool, dict[str, int]] = {}  # by key, of what is there at the end
        self.first_final: Poll | None = None


class _Rising:
    """(moment, value) pairs of which only new heights are kept: what was the most by a moment?"""

    __slots__ = ("_heights", "_moments")

    def __init__(self) -> None:
        self._moments: list[int] = []
        self._heights: list[int] = []

    def note(self, moment: int, value: int) -> None:
        if not self._heights or value > self._heights[-1]:
            self._moments.append(moment)
            self._heights.append(value)

    def before(self, moment: int) -> int:
        at = bisect_right(self._moments, moment)
        return self._heights[at - 1] if at else -1


class Checker:
    """Listens to a history. `anomalies` grows as they are found; `notes` counts what is allowed but worth knowing."""

    def __init__(self, history: History) -> None:
        self.anomalies: list[Anomaly] = []
        self.notes: Counter[str] = Counter()
        self._parts: dict[str, _Part] = {}
        self._sent: dict[str, Send] = {}
        self._where: dict[str, int] = {}
        self._txns: dict[str, _Txn] = {}
        self._positions: dict[tuple[str, str], int] = {}
        self._last_ack: dict[tuple[str, str], Send] = {}
        self._inits: dict[str, list[Init]] = {}
        self._fenced: dict[str, int] = {}  # process -> when a successor was told that it took over
        self._id_of: dict[int, str] = {}
        self._commits: dict[tuple[str, str], list[CommitOffsets]] = {}
        self._fetches: list[FetchOffsets] = []
        self._wrote_read: dict[str, dict[str, int]] = {}  # writer -> reader -> poll
        history.listen(self.invoked, self.done)

    def invoked(self, op: Op) -> None:
        if isinstance(op, Send):
            for value in op.values:
                if value in self._sent:
                    raise ValueError(f"values must be unique, {value!r} was sent before")
                self._sent[value] = op
            if op.txn is not None:
                txn = self._txn(op.txn, op.process)
                txn.sends.append(op)
                txn.count += len(op.values)
        elif isinstance(op, EndTxn):
            txn = self._txn(op.txn, op.process)
            txn.ends.append(op)
            txn.commits += op.commit
        elif isinstance(op, CommitOffsets):
            for partition in op.offsets:
                self._commits.setdefault((op.group, partition), []).append(op)
            if op.txn is not None:
                self._txn(op.txn, op.process).offsets.append(op)

    def done(self, op: Op) -> None:
        if isinstance(op, Poll):
            if op.end is End.OK:
                self._polled(op)
        elif isinstance(op, Send):
            self._send_done(op)
        elif isinstance(op, EndTxn):
            self._end_done(op)
        elif isinstance(op, Init):
            if op.end is End.OK:
                self._initialised(op)
        elif isinstance(op, Seek):
            self._positions.pop((op.process, op.partition), None)
        elif isinstance(op, FetchOffsets):
            if op.end is End.OK:
                self._fetches.append(op)
        elif isinstance(op, Partition):
            self._part(op.partition).compact = op.compact

    def _tell(self, kind: str, text: str, *ops: Op | int | None) -> None:
        assert kind in ANOMALIES
        numbers = tuple(each.number if isinstance(each, Op) else each for each in ops if each is not None)
        self.anomalies.append(Anomaly(kind, text, numbers))

    def _part(self, name: str) -> _Part:
        part = self._parts.get(name)
        if part is None:
            part = self._parts[name] = _Part()
        return part

    def _txn(self, name: str, process: str) -> _Txn:
        txn = self._txns.get(name)
        if txn is None:
            txn = self._txns[name] = _Txn(name, process)
        return txn

    # Sends and ends

    def _send_done(self, op: Send) -> None:
        if op.end is End.FAIL:
            for value in op.values:
                if value in self._where:
                    self._tell("failed-write-read", f"{value!r} was read, then its send failed: {op.why}", op)
            return
        if op.end is not End.OK or op.offset < 0:
            return
        part = self._part(op.partition)
        for place, value in enumerate(op.values):
            offset = op.offset + place
            known = self._where.get(value)
            if known is not None and known != offset and op.idempotent:
                self._tell(
                    "misplaced-ack",
                    f"{value!r} stands at {op.partition} {known}, its ack says {offset}",
                    op,
                )
                continue
            self._place(part, op.partition, offset, value, op)
        if op.acks == "all":
            part.acked.note(op.done, op.offset + len(op.values) - 1)
        key = (op.process, op.partition)
        last = self._last_ack.get(key)
        if last is None or op.offset > last.offset:
            self._last_ack[key] = op
        elif op.invoked > last.done and op.idempotent:
            self._tell(
                "nonmonotonic-send",
                f"{op.process} sent {list(op.values)} after {list(last.values)} was acknowledged at {op.partition} "
                f"{last.offset}, and got {op.offset}",
                last,
                op,
            )

    def _place(self, part: _Part, partition: str, offset: int, value: str, op: Op) -> None:
        """Somebody was told that the value stands there."""
        before = part.values.setdefault(offset, value)
        if before != value:
            self._tell(
                "inconsistent-offsets",
                f"{partition} {offset} was {before!r} and is now {value!r}",
                self._sent.get(before),
                self._sent.get(value),
                op,
            )
            return
        known = self._where.setdefault(value, offset)
        if known != offset:
            send = self._sent.get(value)
            if send is None or send.idempotent:
                self._tell("duplicate", f"{value!r} stands at {partition} {known} and {offset}", send, op)

    def _end_done(self, op: EndTxn) -> None:
        txn = self._txns[op.txn]
        if op.commit and op.end is End.FAIL:
            txn.commits -= 1
        elif op.end is End.OK and op.commit:
            txn.committed = txn.committed or op
            if self._fenced.get(txn.process, NEVER) < op.invoked:
                self._tell("zombie-commit", f"{txn.name} of {txn.process}, who was fenced", op)
        elif op.end is End.OK:
            txn.aborted = txn.aborted or op
        if txn.committed is not None and txn.aborted is not None:
            self._tell("two-decisions", txn.name, txn.committed, txn.aborted)
        elif txn.shown is not None and not txn.may_be_committed:
            self._tell("G1a", f"values of {txn.name} were read, and it is not committed", txn.shown, op)
            txn.shown = None  # once is enough

    def _initialised(self, op: Init) -> None:
        before = self._inits.setdefault(op.id, [])
        for older in before:
            if older.done > op.invoked:
                continue  # at the same time: either may have been the first
            if older.process != op.process and older.process not in self._fenced:
                self._fenced[older.process] = op.done
            if older.producer_id == op.producer_id and older.epoch >= op.epoch and op.epoch >= 0:
                self._tell(
                    "epoch-back", f"{op.id} had epoch {older.epoch} and was given {op.epoch}", older, op
                )
        before.append(op)
        if op.producer_id >= 0 and self._id_of.setdefault(op.producer_id, op.id) != op.id:
            self._tell(
                "shared-producer-id",
                f"{op.producer_id} belongs to {self._id_of[op.producer_id]} and to {op.id}",
                op,
            )

    # Reads

    def _polled(self, op: Poll) -> None:
        part = self._part(op.partition)
        self._check_limits(part, op)
        self._check_position(op)
        last = -1
        in_txn: dict[str, int] = {}
        values, where = part.values, self._where
        for offset, value in op.records:
            if offset <= last:
                self._tell("int-nonmonotonic-poll", f"{op.partition}: offset {offset} comes after {last}", op)
            last = offset
            send = self._sent.get(value)
            if send is None:
                self._tell("phantom", f"{value!r} at {op.partition} {offset} was never sent", op)
                continue
            if send.partition != op.partition:
                self._tell(
                    "wrong-partition",
                    f"{value!r} was sent to {send.partition} and read from {op.partition}",
                    send,
                    op,
                )
                continue
            if send.end is End.FAIL:
                self._tell(
                    "failed-write-read", f"{value!r} was read, its send had failed: {send.why}", send, op
                )
            if values.get(offset) != value or where.get(value) != offset:  # most values are read many times
                self._place(part, op.partition, offset, value, op)
            if send.txn is not None:
                in_txn[send.txn] = in_txn.get(send.txn, 0) + 1
                if op.committed:
                    self._check_visible(self._txns[send.txn], send, value, op)
            if op.committed and self._fenced.get(send.process, NEVER) < send.invoked:
                self._tell("zombie-write", f"{value!r} was sent by {send.process}, who was fenced", send, op)
        self._check_view(part, op)
        if op.committed:
            for name, count in in_txn.items():
                if count < self._txns[name].count:
                    self.notes["G1b: a poll returned a part of a transaction"] += 1
        if op.final:
            part.final[op.committed] = dict(op.records)
            part.first_final = part.first_final or op

    def _check_visible(self, txn: _Txn, send: Send, value: str, op: Poll) -> None:
        """A read_committed reader was given a value of this transaction."""
        if not txn.may_be_committed:
            if txn.name == op.txn:
                kind = "precommitted-read"
            else:
                kind = "G1a" if txn.ends else "early-read"
            self._tell(kind, f"{value!r} of {txn.name} was read by {op.process}", send, op)
        if op.txn is not None and op.txn != txn.name:
            self._wrote_read.setdefault(txn.name, {}).setdefault(op.txn, op.number)
        if txn.shown is None:
            txn.shown = op

    def _check_limits(self, part: _Part, op: Poll) -> None:
        known = [each for each in (op.log_start, op.last_stable, op.high_watermark) if each is not None]
        if known != sorted(known):
            self._tell(
                "watermark-order",
                f"{op.partition}: log start {op.log_start}, last stable offset {op.last_stable}, "
                f"high watermark {op.high_watermark}",
                op,
            )
        limit = op.last_stable if op.committed else op.high_watermark
        if limit is not None and op.records and op.records[-1][0] >= limit:
            self._tell("read-above-limit", f"{op.partition}: offset {op.records[-1][0]}, limit {limit}", op)
        for name, value in (
            ("last stable offset", op.last_stable),
            ("high watermark", op.high_watermark),
        ):
            if value is None:
                continue
            before = part.limits[name].before(op.invoked)
            if value < before:
                self._tell("watermark-back", f"{op.partition}: {name} was {before} and is {value}", op)
            part.limits[name].note(op.done, value)
        if op.high_watermark is not None:
            acked = part.acked.before(op.invoked)
            if op.high_watermark <= acked:
                self._tell(
                    "ack-above-watermark",
                    f"{op.partition}: offset {acked} was acknowledged, the high watermark is {op.high_watermark}",
                    op,
                )
        if op.log_start is not None:
            part.log_start = max(part.log_start, op.log_start)

    def _check_position(self, op: Poll) -> None:
        key = (op.process, op.partition)
        stood = self._positions.get(key)
        begins = op.offset
        if begins is None and op.records:
            begins = op.records[0][0] if stood is None or op.records[0][0] < stood else stood
        if stood is not None and begins is not None and begins != stood and not op.final:
            kind = "poll-skip" if begins > stood else "nonmonotonic-poll"
            if kind == "nonmonotonic-poll" or begins > self._part(op.partition).log_start:
                self._tell(kind, f"{op.process} stood at {op.partition} {stood} and was given {begins}", op)
        ends = max(op.next, op.records[-1][0] + 1 if op.records else -1)
        if ends >= 0:
            self._positions[key] = ends

    def _check_view(self, part: _Part, op: Poll) -> None:
        """Within a range that was read before, all readers of one isolation level see the same."""
        view = part.views[op.committed]
        start = op.offset
        if start is None:
            start = op.records[0][0] if op.records else None
        end = max(op.next, op.records[-1][0] + 1 if op.records else 0)
        if start is None or end <= start:
            return
        low, high = view.cut(start, min(end, view.end))
        known = view.offsets[low:high]
        new = [offset for offset, _ in op.records]
        behind = new[: bisect_left(new, view.end)]
        if behind != known:
            self._compare(part, view, op, known, behind, low)
        if start <= view.end < end:
            for offset in new[len(behind) :]:
                view.offsets.append(offset)
                view.seen_by.append(op.number)
            view.end = end

    def _compare(
        self, part: _Part, view: _View, op: Poll, known: Sequence[int], found: Sequence[int], low: int
    ) -> None:
        if not part.compact:
            there = set(found)
            for place, offset in enumerate(known):
                if offset not in there and offset >= part.log_start:
                    self._tell(
                        "int-poll-skip",
                        f"{op.partition} {offset} ({part.values[offset]!r}) was not given to {op.process}",
                        view.seen_by[low + place],
                        op,
                    )
        there = set(known)
        for offset in found:
            if offset not in there:
                self._tell(
                    "late-record",
                    f"{op.partition} {offset} ({part.values.get(offset)!r}) was not there when it was read before",
                    op,
                )

    # At the end

    def finish(self) -> list[Anomaly]:
        """What only the whole history tells. Needs a final poll of each partition to say what is lost."""
        for send in dict.fromkeys(self._sent.values()):
            self._check_kept(send)
        for txn in self._txns.values():
            self._check_whole(txn)
        for name, part in self._parts.items():
            self._check_vanished(name, part)
        self._check_order()
        for fetch in self._fetches:
            for partition, offset in fetch.offsets.items():
                self._check_offset(fetch, partition, offset)
        self._check_copies()
        self._check_circles()
        return self.anomalies

    def raise_found(self) -> None:
        if self.anomalies:
            raise Anomalies(self.anomalies)

    def _is_there(self, send: Send, value: str, *, committed: bool) -> bool | None:
        """Whether the value is there at the end; None where nobody looked, or it may be gone for a reason."""
        part = self._parts.get(send.partition)
        final = None if part is None else part.final.get(committed)
        if part is None or final is None:
            return None
        offset = self._where.get(value)
        if offset is not None and final.get(offset) == value:
            return True
        if offset is not None and offset < part.log_start:
            return None
        if part.compact and (offset is None or self._is_superseded(part, value, offset, committed=committed)):
            return None
        return False

    def _is_superseded(self, part: _Part, value: str, offset: int, *, committed: bool) -> bool:
        """Whether a later value of the same key is there at the end."""
        newest = part.newest.get(committed)
        if newest is None:
            newest = part.newest[committed] = {}
            for at, other in part.final[committed].items():
                key = self._key(other)
                if key is not None:
                    newest[key] = max(at, newest.get(key, -1))
        key = self._key(value)
        return key is not None and newest.get(key, -1) > offset

    def _key(self, value: str) -> str | None:
        send = self._sent.get(value)
        return None if send is None or send.keys is None else send.keys[list(send.values).index(value)]

    def _check_kept(self, send: Send) -> None:
        if send.end is not End.OK or send.acks != "all":
            if send.end is End.INFO and send.txn is None and len(send.values) > 1 and send.idempotent:
                there = [self._is_there(send, value, committed=True) for value in send.values]
                if True in there and False in there:
                    self._tell("torn-batch", f"{list(send.values)}: {there}", send)
            return
        txn = None if send.txn is None else self._txns[send.txn]
        cleaned = self._part(send.partition).compact and txn is not None and txn.committed is None
        for value in send.values:
            if cleaned:  # compaction takes what was aborted
                continue
            if self._is_there(send, value, committed=False) is False:
                self._tell("lost-write", f"{value!r}, acknowledged at {send.partition} {send.offset}", send)
            elif (txn is None or txn.committed is not None) and self._is_there(
                send, value, committed=True
            ) is False:
                self._tell("lost-write", f"{value!r}, acknowledged and committed, in {send.partition}", send)

    def _check_whole(self, txn: _Txn) -> None:
        """All or none, of what was acknowledged."""
        there: list[str] = []
        missing: list[str] = []
        for send in txn.sends:
            for value in send.values:
                found = self._is_there(send, value, committed=True)
                if found:
                    there.append(value)
                elif found is False and send.end is End.OK:
                    missing.append(value)
        if there and missing:
            self._tell(
                "torn-transaction",
                f"{txn.name}: {there} are there, {missing} are not",
                *(self._sent[value] for value in (there[0], missing[0])),
                *txn.ends,
            )

    def _check_vanished(self, name: str, part: _Part) -> None:
        if part.compact:
            return
        for committed, final in part.final.items():
            view = part.views[committed]
            for offset, poll in zip(view.offsets, view.seen_by, strict=True):
                if offset >= part.log_start and offset not in final:
                    self._tell(
                        "vanished", f"{name} {offset} ({part.values[offset]!r})", poll, part.first_final
                    )

    def _check_order(self) -> None:
        """Values of one process in one partition, where they are, stand in the order of sending."""
        last: dict[tuple[str, str], tuple[int, Send]] = {}
        for send in dict.fromkeys(self._sent.values()):
            if not send.idempotent:
                continue
            for value in send.values:
                offset = self._where.get(value)
                if offset is None:
                    continue
                key = (send.process, send.partition)
                before = last.get(key)
                if before is not None and before[0] >= offset:
                    self._tell(
                        "reordered",
                        f"{value!r} stands at {send.partition} {offset}, sent after what stands at {before[0]}",
                        before[1],
                        send,
                    )
                last[key] = (offset, send)

    # Groups

    def _window(self, commit: CommitOffsets, *, stable: bool) -> tuple[int, int, bool] | None:
        """From when to when a commit may take effect and whether it surely does; None if it never does."""
        if commit.end is End.FAIL:
            return None
        if commit.txn is None:
            return commit.invoked, commit.done if commit.end is End.OK else NEVER, commit.end is End.OK
        txn = self._txns[commit.txn]
        if txn.committed is None:
            return (commit.invoked, NEVER, False) if txn.may_be_committed else None
        return commit.invoked, txn.committed.done, stable and commit.end is End.OK

    def _check_offset(self, fetch: FetchOffsets, partition: str, offset: int) -> None:
        commits = self._commits.get((fetch.group, partition), [])
        sure: list[tuple[int, int, CommitOffsets]] = []
        for each in commits:
            window = self._window(each, stable=fetch.stable)
            if window is not None and window[2] and window[1] < fetch.invoked:
                sure.append((window[0], window[1], each))
        if offset < 0:
            if sure:
                self._tell(
                    "stale-offset",
                    f"{fetch.group} {partition}: none, {sure[-1][2].offsets}",
                    sure[-1][2],
                    fetch,
                )
            return
        named = [each for each in commits if each.offsets[partition] == offset]
        lived = False
        for each in named:
            window = self._window(each, stable=fetch.stable)
            if window is None or window[0] > fetch.done:
                continue
            lived = True
            if not any(low > window[1] for low, _, _ in sure):
                return
        where = f"{fetch.group} {partition}: {offset}"
        if lived:
            newest = max(sure, key=lambda each: each[0])[2]
            self._tell(
                "stale-offset", f"{where}, {newest.offsets[partition]} was committed", *named, newest, fetch
            )
        elif named:
            self._tell("aborted-offset", where, *named, fetch)
        else:
            self._tell("phantom-offset", where, fetch)

    def _check_copies(self) -> None:
        """Each input record of a group below its position has one visible output, and none above has any."""
        made: dict[tuple[str, str, int], list[Send]] = {}
        copying: dict[tuple[str, str], None] = {}
        for value, send in self._sent.items():
            if send.sources is None or send.group is None:
                continue
            partition, offset = send.sources[list(send.values).index(value)]
            copying[send.group, partition] = None
            if self._is_there(send, value, committed=True):
                made.setdefault((send.group, partition, offset), []).append(send)
        for (group, partition, offset), sends in made.items():
            if len(sends) > 1:
                self._tell("copied-twice", f"{partition} {offset} of {group}", *sends)
        for fetch in self._fetches:
            if not fetch.final:
                continue
            for partition, position in fetch.offsets.items():
                final = self._parts[partition].final.get(True) if partition in self._parts else None
                if final is None or (fetch.group, partition) not in copying:
                    continue
                for offset in final:
                    sends = made.get((fetch.group, partition, offset), [])
                    if offset < position and not sends:
                        self._tell(
                            "not-copied",
                            f"{partition} {offset} ({final[offset]!r}), {fetch.group} is at {position}",
                            fetch,
                        )
                    elif offset >= position and sends:
                        self._tell(
                            "torn-copy",
                            f"{partition} {offset} ({final[offset]!r}), {fetch.group} is at {position}",
                            *sends,
                            fetch,
                        )

    # Circles

    def _check_circles(self) -> None:
        may = {name for name, txn in self._txns.items() if txn.may_be_committed}
        reads = {
            name: [reader for reader in readers if reader in may]
            for name, readers in self._wrote_read.items()
            if name in may
        }
        for circle in circles(reads):
            polls = [
                self._wrote_read[name][reader]
                for name in circle
                for reader in self._wrote_read.get(name, ())
                if reader in circle
            ]
            self._tell("G1c", " -> ".join([*circle, circle[0]]), *polls)
        if self._wrote_read:
            after = self._neighbours()
            for name, readers in reads.items():
                after.setdefault(name, []).extend(readers)
            self.notes["G0: a circle that needs the order of writes"] += sum(1 for _ in circles(after))

    def _neighbours(self) -> dict[str, list[str]]:
        after: dict[str, list[str]] = {}
        for part in self._parts.values():
            last: str | None = None
            for _, value in sorted(part.final.get(True, {}).items()):
                send = self._sent.get(value)
                name = None if send is None else send.txn
                if last is not None and name is not None and name != last:
                    after.setdefault(last, []).append(name)
                last = name if name is not None else last
        return after


def circles(after: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """The strongly connected parts with more than one member (Tarjan), without recursion."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for root in after:
        if root in number:
            continue
        work: list[tuple[str, Iterator[str]]] = []

        def enter(node: str) -> None:
            number[node] = low[node] = len(number)
            stack.append(node)
            on_stack.add(node)
            work.append((node, iter(after.get(node, ()))))  # noqa: B023  # used up within the loop's turn

        enter(root)
        while work:
            node, rest = work[-1]
            for next_node in rest:
                if next_node not in number:
                    enter(next_node)
                    break
                if next_node in on_stack:
                    low[node] = min(low[node], number[next_node])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    found: list[str] = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        found.append(member)
                        if member == node:
                            break
                    if len(found) > 1:
                        yield found[::-1]


def check(histories: Iterable[Iterable[str]]) -> list[Anomaly]:
    """The anomalies of recorded histories, given as lines."""
    from oncelog.sim.history import read_history

    history = History()
    checker = Checker(history)
    read_history(histories, history)
    return checker.finish()
