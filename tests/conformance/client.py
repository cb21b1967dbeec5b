"""A real Kafka client as a program of its own: JSON commands go in, JSON events come out (docs/conformance.md)."""

import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self, cast

from tests.toolchains import ROOT

ANSWER_LIMIT_S: Final = 60.0
EVENT_LIMIT_S: Final = 40.0

Event = dict[str, Any]
Record = tuple[int, int, str, str, str]  # partition, offset, key, value, header "n"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a client can do; what it lacks is said here, with the reason in docs/conformance.md."""

    name: str
    command: Callable[[], list[str]]  # raises toolchains.Missing
    codecs: tuple[str, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
    protocols: tuple[str, ...] = ("classic",)
    lacks: tuple[str, ...] = field(default=())  # of the answers to `admin`


class ClientFailed(AssertionError):
    """A client said that a command failed, or ended, or did not say in time what was waited for."""


class ClientSilent(ClientFailed):
    """It lives, and nothing was heard of it in time."""


class Client:
    """One process. `with` it: at the end its stdin is closed, it leaves its group and ends."""

    def __init__(self, kind: Kind, bootstrap: str) -> None:
        self.kind = kind
        self.events: list[Event] = []
        self._beside: list[str] = []
        self._heard = threading.Condition()
        self._answers = 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 it lives as long as the process
        self._process = subprocess.Popen(
            [*kind.command(), bootstrap],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=ROOT,
            text=True,
            bufsize=1,
        )
        self._reader = threading.Thread(target=self._listen, name=f"listens to {kind.name}")
        self._reader.start()

    def _listen(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        for line in stdout:
            if not line.startswith("{"):  # a JVM says there what its user asks it, its stacks for one
                self._beside.append(line)
                continue
            event = cast(Event, json.loads(line))
            with self._heard:
                self.events.append(event)
                self._heard.notify_all()
        with self._heard:
            self.events.append({"event": "ended"})
            self._heard.notify_all()

    def ask(self, do: str, **details: object) -> Any:
        """Sends a command and returns its answer."""
        return self.begin(do, **details)()

    def begin(self, do: str, **details: object) -> Callable[[], Any]:
        """Sends a command; the value it returns waits for the answer."""
        stdin = self._process.stdin
        assert stdin is not None
        number, self._answers = self._answers, self._answers + 1
        stdin.write(json.dumps({"do": do, **details}) + "\n")

        def answer() -> Any:
            self.wait(
                f"the answer to {do}", lambda: len(self._said("done", "failed")) > number, ANSWER_LIMIT_S
            )
            event = self._said("done", "failed")[number]
            if event["event"] == "failed":
                raise ClientFailed(f"{self.kind.name}: {do} {str(details)[:200]} failed: {event['why']}")
            return event["answer"]

        return answer

    def _said(self, *names: str) -> list[Event]:
        return [event for event in self.events if event["event"] in names]

    def records(self) -> list[Record]:
        """What its member has consumed so far, in the order in which it was told."""
        events = self._said("records")
        return [cast(Record, tuple(record)) for event in events for record in event["records"]]

    def committed(self) -> bool:
        """Whether the offsets of everything told have been committed."""
        said = self._said("records", "committed")
        return not said or said[-1]["event"] == "committed"

    def assigned(self) -> list[int]:
        """The partitions its member has now."""
        events = self._said("assigned")
        return sorted(events[-1]["partitions"]) if events else []

    def wait(self, what: str, holds: Callable[[], bool], limit_s: float = EVENT_LIMIT_S) -> None:
        """Returns when `holds`; it is looked at again after each event."""
        deadline = time.monotonic() + limit_s
        with self._heard:
            while not holds():
                left = deadline - time.monotonic()
                over = bool(self._said("ended", "member failed"))
                if left <= 0 or over:
                    kind = ClientFailed if over else ClientSilent
                    raise kind(f"{self.kind.name} did not reach {what} in {limit_s} s; {self._last_words()}")
                self._heard.wait(min(left, 0.1))

    def _last_words(self) -> str:
        self._errors.seek(0)
        errors = self._errors.read().decode(errors="replace")[-4000:]
        return f"its last events: {[_brief(event) for event in self.events[-8:]]}\nits stderr: {errors}{''.join(self._beside[-200:])}"

    def summary(self) -> str:
        """Where it stands, for the message of a wait that failed."""
        return (
            f"{self.kind.name} has {self.assigned()} and {len(self.records())} records; {self._last_words()}"
        )

    def close(self) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.close()
            self._process.wait(20)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self._process.kill()
            self._process.wait()
        self._reader.join()
        stdout.close()
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _brief(event: Event) -> Event:
    """Records by partition and offset only."""
    if event["event"] != "records":
        return event
    return {"event": "records", "records": [f"{record[0]}@{record[1]}" for record in event["records"]]}


def numbered(first: int, count: int) -> list[tuple[int, str, str]]:
    """Records to send: number, key, value (long enough that a codec has something to do)."""
    return [(n, f"k{n}", f"record {n} " + "once " * 20) for n in range(first, first + count)]


def expected(sent: Sequence[tuple[int, str, str]], partitions: int) -> dict[int, list[tuple[str, str, str]]]:
    """What each partition must then hold, in order: number n goes to partition n % partitions."""
    held: dict[int, list[tuple[str, str, str]]] = {partition: [] for partition in range(partitions)}
    for n, key, value in sent:
        held[n % partitions].append((key, value, str(n)))
    return held


def by_partition(records: Sequence[Record], partitions: int) -> dict[int, list[tuple[str, str, str]]]:
    """What was consumed, in the order of consumption."""
    held: dict[int, list[tuple[str, str, str]]] = {partition: [] for partition in range(partitions)}
    for partition, _offset, key, value, n in records:
        held[partition].append((key, value, n))
    return held
