"""What every transactional client program is asked; those in other languages take the same commands."""

import threading
from typing import Any, Final, Literal, Protocol

from tests.conformance.clients.python.program import say

END: Final = "end"  # the value of the record that stands behind everything in a partition

Step = Literal["commit", "abort", "halt"]
Found = tuple[int, int, str]  # partition, offset, value


class Transactional(Protocol):
    """One producer at a time; a second `open` leaves the first one behind."""

    def open(self, transactional_id: str, timeout_ms: int) -> str:
        """A producer that was given its identity."""
        ...

    def begin(self) -> str: ...
    def send(self, topic: str, records: list[tuple[int, str]]) -> list[int]:
        """Records as (partition, value); their offsets, when all are acknowledged."""
        ...

    def commit(self) -> str: ...
    def abort(self) -> str: ...

    def look(self, topic: str, partitions: int, isolation: str, limit_ms: int) -> list[Found]:
        """Everything that a reader of this isolation is given, until it has seen END in every partition."""
        ...

    def pipe(self, source: str, target: str, group: str, protocol: str, batch: int, plan: list[Step]) -> int:
        """Reads as a member of the group, writes values in capitals, offsets in the transaction: one per step.

        After an abort the same records are read again. "halt": everything but the end is done, and then nothing more.
        """
        ...


class Copying(Transactional, Protocol):
    """Also copies step by step, so that whoever asks can write down each step: take, begin, send, offsets, commit."""

    def take(self, topic: str, group: str, protocol: str, batch: int, limit_ms: int) -> list[Found]:
        """What a read_committed member of the group is given next, perhaps nothing; the first call joins."""
        ...

    def offsets(self, topic: str, positions: dict[str, int]) -> str:
        """The group's new positions by partition, in the transaction."""
        ...

    def rewind(self) -> dict[int, int]:
        """Goes to the group's stable positions, and tells them: after an abort, or to see what a commit left; -1 for none."""
        ...


def check_halt(step: Any) -> None:
    if step == "halt":
        say("halted")
        threading.Event().wait()
