"""What clients asked and what they were told: the one form in which simulated, killed and Spark runs are checked.

A history is a list of operations. Each has two moments, `invoked` and `done`, and one of three ends:
  ok    it happened, and this was the answer
  fail  it certainly did not happen and never will
  info  nobody knows: no answer came, or one that leaves it open, or whoever asked was killed. The default
A client that asks again after a lost answer is one operation with several tries: once a try was left open, a later refusal
does not make the whole `fail`. docs/reliability.md tells what is checked; `check.py` does it.

As a file: one JSON object a line, first the invocation, written before the request leaves, then the end.
  {"op": 7, "type": "invoke", "time": 1.5, "process": "p1", "f": "send", "partition": "t-0", "values": ["a"], "txn": "p1/3"}
  {"op": 7, "type": "ok", "time": 2.0, "offset": 12}
Several processes write files of their own (`Recorder`); `read_history` puts them in the order of `time`, which must be one
clock for all (time.monotonic of one machine). A line that a kill cut short is left out.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import IO, Any, ClassVar, Final, TypeVar

from oncelog.errors import OncelogError

NEVER: Final = 1 << 62
"""The moment of what has not happened yet."""


class BadHistory(OncelogError):
    """A history that cannot be read: which line, what was wanted, what was found."""


class End(Enum):
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


@dataclass(slots=True, eq=False, kw_only=True)
class Op:
    """One operation of one process. Moments are places in the history: smaller is earlier."""

    process: str
    number: int = 0
    invoked: int = 0
    done: int = NEVER
    end: End = End.INFO
    why: str = ""

    f: ClassVar[str] = ""
    found: ClassVar[tuple[str, ...]] = ()  # the fields that come with the answer

    @property
    def is_open(self) -> bool:
        return self.done == NEVER


@dataclass(slots=True, eq=False, kw_only=True)
class Init(Op):
    """A process takes over a transactional id: whoever had it before is a zombie once this is ok."""

    id: str
    producer_id: int = -1
    epoch: int = -1

    f: ClassVar[str] = "init"
    found: ClassVar[tuple[str, ...]] = ("producer_id", "epoch")


@dataclass(slots=True, eq=False, kw_only=True)
class Send(Op):
    """One batch to one partition. Values are unique in the whole history, whoever sends them.

    `sources`: for each value, the (partition, offset) of `group`'s input that it was made from.
    """

    partition: str
    values: Sequence[str]
    txn: str | None = None
    keys: Sequence[str] | None = None
    group: str | None = None
    sources: Sequence[tuple[str, int]] | None = None
    idempotent: bool = True  # else a retry may write it twice
    acks: str = "all"  # with less an ok promises nothing after a power cut
    offset: int = -1

    f: ClassVar[str] = "send"
    found: ClassVar[tuple[str, ...]] = ("offset",)


@dataclass(slots=True, eq=False, kw_only=True)
class CommitOffsets(Op):
    """A group's positions, plain or as part of a transaction."""

    group: str
    offsets: Mapping[str, int]
    txn: str | None = None

    f: ClassVar[str] = "commit_offsets"


@dataclass(slots=True, eq=False, kw_only=True)
class EndTxn(Op):
    """Asks for the end of a transaction. Its name is unique in the whole history."""

    txn: str
    commit: bool

    f: ClassVar[str] = "end"


@dataclass(slots=True, eq=False, kw_only=True)
class Poll(Op):
    """A read of one partition from `offset` (None: where the client stood) up to `next`, exclusive.

    `final`: made after everything was over, and it went from the log start to the end: all there is.
    """

    partition: str
    offset: int | None = None
    committed: bool = True
    txn: str | None = None
    final: bool = False
    records: Sequence[tuple[int, str]] = ()
    next: int = -1
    log_start: int | None = None
    last_stable: int | None = None
    high_watermark: int | None = None

    f: ClassVar[str] = "poll"
    found: ClassVar[tuple[str, ...]] = ("records", "next", "log_start", "last_stable", "high_watermark")


@dataclass(slots=True, eq=False, kw_only=True)
class Seek(Op):
    """The next poll of this process begins elsewhere on purpose: a rebalance, a rewind, a start at the end."""

    partition: str

    f: ClassVar[str] = "seek"


@dataclass(slots=True, eq=False, kw_only=True)
class FetchOffsets(Op):
    """A group's positions as the broker tells them; -1 for none. `stable`: it waits for open transactions."""

    group: str
    stable: bool = True
    final: bool = False
    offsets: Mapping[str, int] = field(default_factory=dict[str, int])

    f: ClassVar[str] = "fetch_offsets"
    found: ClassVar[tuple[str, ...]] = ("offsets",)


@dataclass(slots=True, eq=False, kw_only=True)
class Partition(Op):
    """What is known of a partition: `compact` lets a value go when a later one has its key."""

    partition: str
    compact: bool = False

    f: ClassVar[str] = "partition"


@dataclass(slots=True, eq=False, kw_only=True)
class Crash(Op):
    """The broker was killed (`process`) or lost power."""

    kept: str

    f: ClassVar[str] = "crash"


KINDS: Final[Mapping[str, type[Op]]] = {
    kind.f: kind for kind in (Init, Send, CommitOffsets, EndTxn, Poll, Seek, FetchOffsets, Partition, Crash)
}
_COMMON: Final = frozenset(each.name for each in fields(Op))
# What is asked, with its default: a line leaves out what has it.
_ASKED: Final[Mapping[type[Op], Mapping[str, Any]]] = {
    kind: {
        each.name: each.default
        for each in fields(kind)
        if each.name not in _COMMON and each.name not in kind.found
    }
    for kind in KINDS.values()
}
A = TypeVar("A", bound=Op)


class History:
    """Operations as they happen. `listeners` (a Checker, a printer) are told of each invocation and each end."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self._moment = 0
        self._on_invoke: list[Callable[[Op], None]] = []
        self._on_done: list[Callable[[Op], None]] = []

    def listen(self, on_invoke: Callable[[Op], None], on_done: Callable[[Op], None]) -> None:
        self._on_invoke.append(on_invoke)
        self._on_done.append(on_done)

    def invoke(self, op: A) -> A:
        self._moment += 1
        op.invoked = self._moment
        op.number = len(self.ops)
        self.ops.append(op)
        for tell in self._on_invoke:
            tell(op)
        return op

    def done(self, op: Op, end: End, why: str = "") -> None:
        """The operation is over. What was found must stand in it already."""
        self._moment += 1
        op.done = self._moment
        op.end = end
        op.why = why
        for tell in self._on_done:
            tell(op)

    def ok(self, op: Op) -> None:
        self.done(op, End.OK)

    def now(self, op: A) -> A:
        """An operation without duration: Seek, Partition, Crash."""
        self.done(self.invoke(op), End.OK)
        return op


# As JSON lines


def invocation(op: Op, number: int, time: float) -> str:
    """The first line of an operation."""
    line: dict[str, Any] = {
        "op": number,
        "type": "invoke",
        "time": time,
        "process": op.process,
        "f": op.f,
    }
    for name, default in _ASKED[type(op)].items():
        value = getattr(op, name)
        if value != default:
            line[name] = value
    return json.dumps(line)


def completion(op: Op, number: int, time: float) -> str:
    """The second line of an operation."""
    line: dict[str, Any] = {"op": number, "type": op.end.value, "time": time}
    if op.end is End.OK:
        line |= {name: getattr(op, name) for name in op.found if getattr(op, name) is not None}
    if op.why:
        line["why"] = op.why
    return json.dumps(line)


class Recorder:
    """Writes a history of this process as JSON lines; each line is out before the call returns, so a kill loses none."""

    def __init__(self, file: IO[str], clock: Callable[[], float], first_number: int = 0) -> None:
        self._file = file
        self._clock = clock
        self._next = first_number

    def invoke(self, op: A) -> A:
        op.number, self._next = self._next, self._next + 1
        self._write(invocation(op, op.number, self._clock()))
        return op

    def done(self, op: Op, end: End, why: str = "") -> None:
        op.end, op.why = end, why
        self._write(completion(op, op.number, self._clock()))

    def ok(self, op: Op) -> None:
        self.done(op, End.OK)

    def now(self, op: A) -> A:
        self.ok(self.invoke(op))
        return op

    def _write(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()


def read_history(sources: Iterable[Iterable[str]], into: History | None = None) -> History:
    """One history out of the lines of one or several recordings; numbers need to be unique only within each."""
    lines: list[tuple[float, int, int, dict[str, Any]]] = []
    for source, text in enumerate(sources):
        numbered = [(place, line) for place, line in enumerate(text, 1) if line.strip()]
        for place, line in numbered:
            try:
                found = json.loads(line)
                lines.append((float(found["time"]), source, place, found))
            except (ValueError, KeyError, TypeError) as fault:
                if place == numbered[-1][0]:
                    continue  # whoever wrote it was killed
                raise BadHistory(
                    f"line {place} of source {source}: wanted a JSON object with a time: {fault}"
                ) from None
    lines.sort(key=lambda each: each[:3])
    history = History() if into is None else into
    open_ops: dict[tuple[int, int], Op] = {}
    for _, source, place, found in lines:
        try:
            _play(history, open_ops, source, found)
        except (KeyError, ValueError, TypeError) as fault:
            raise BadHistory(f"line {place} of source {source}: {fault!r}") from None
    return history


def _play(history: History, open_ops: dict[tuple[int, int], Op], source: int, found: dict[str, Any]) -> None:
    key = (source, int(found["op"]))
    if found["type"] == "invoke":
        kind = KINDS[found["f"]]
        asked = {name: found[name] for name in _ASKED[kind] if name in found}
        if asked.get("sources") is not None:
            asked["sources"] = [(str(at), int(offset)) for at, offset in asked["sources"]]
        open_ops[key] = history.invoke(kind(process=found["process"], **asked))
        return
    op = open_ops.pop(key)
    for name in op.found:
        if name in found:
            value = found[name]
            setattr(op, name, [(int(at), str(each)) for at, each in value] if name == "records" else value)
    history.done(op, End(found["type"]), str(found.get("why", "")))
