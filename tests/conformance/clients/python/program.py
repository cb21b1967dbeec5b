"""The frame of the Python client programs: a JSON command per line of stdin, a JSON event per line of stdout."""

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

LIMIT_S = 20.0
_turn = threading.Lock()

Sent = tuple[int, str, str]  # number, key, value
Told = tuple[int, int, str, str, str]  # partition, offset, key, value, header "n"


class Program(Protocol):
    """What every client can be asked; the JSON command carries the arguments by these names."""

    def create(self, topic: str, partitions: int) -> int: ...
    def produce(
        self, topic: str, partitions: int, codec: str, records: list[Sent]
    ) -> list[tuple[int, int]]: ...
    def read(self, topic: str, count: int) -> list[Told]: ...
    def join(self, topic: str, group: str, protocol: str) -> str: ...
    def leave(self) -> str: ...
    def admin(self, topic: str, group: str) -> dict[str, Any]: ...


def say(event: str, **details: Any) -> None:
    """One event, whole, also when a group member speaks from a thread of its own."""
    with _turn:
        sys.stdout.write(json.dumps({"event": event, **details}) + "\n")
        sys.stdout.flush()


def run(make: Callable[[str], Program]) -> None:
    """Obeys commands until stdin is closed, then leaves the group."""
    program = make(sys.argv[1])
    for line in sys.stdin:
        command = json.loads(line)
        verb = command.pop("do")
        try:
            answer = getattr(program, verb)(**command)
        except Exception as failure:  # noqa: BLE001 a client may raise anything; the test is told and decides
            say("failed", why=f"{type(failure).__name__}: {failure}")
        else:
            say("done", answer=answer)
    program.leave()


def eventually(look: Callable[[], Any], wanted: Any) -> Any:
    """What `look` sees once it is `wanted`, or after five seconds: Apache Kafka tells its changes a little later."""
    deadline = time.monotonic() + 5
    while (seen := look()) != wanted and time.monotonic() < deadline:
        time.sleep(0.05)
    return seen


def member_loop(
    poll: Callable[[], list[Told]], commit: Callable[[], None], stopping: threading.Event
) -> None:
    """A group member's life: every poll's records are told, then their offsets are committed."""
    try:
        while not stopping.is_set():
            records = poll()
            if records:
                say("records", records=records)
                commit()
                say("committed")
    except Exception as failure:  # noqa: BLE001 as above
        say("member failed", why=f"{type(failure).__name__}: {failure}")
