"""What the listener sees of connected sockets, and what they tell whoever owns them: sockets.py and native.py do it alike."""

import socket
from typing import Any, Final, Protocol

SENT_TOGETHER_NS: Final = 2_000_000  # an answer waits no longer for the others of its turn
JOINED_BYTES: Final = 65_536  # what is larger is sent from where it lies, and at once


class Owner(Protocol):
    """Who is told what happens to a stream."""

    def received(self, frames: list[bytes], half_bytes: int) -> None:
        """Whole requests without their lengths, and how much there is of one that is not complete. One of the two is there."""
        ...

    def refused(self, why: str) -> None:
        """The stream cannot be cut any more."""
        ...

    def ended(self) -> None:
        """The other side sends no more; it may still read."""
        ...

    def blocked(self) -> None:
        """More than the limit waits to be sent."""
        ...

    def unblocked(self) -> None:
        """Most of it has left."""
        ...

    def gone(self) -> None:
        """The socket is closed, whoever did it."""
        ...


class Stream(Protocol):
    """One connected socket."""

    @property
    def unsent_bytes(self) -> int:
        """Taken for sending, and not yet sent."""
        ...

    @property
    def reads(self) -> bool: ...

    @property
    def is_closing(self) -> bool:
        """Nothing is read, and nothing more is taken for sending."""
        ...

    def write(self, parts: list[Any]) -> None:
        """Sends as much as the socket takes, at once or at the end of the turn, and the rest when there is room."""
        ...

    def read_on(self, reads: bool, /) -> None:
        """Stops reading, or goes on. While it is stopped nobody sees the end either, for it stands behind the rest."""
        ...

    def close(self) -> None:
        """Ends the stream when all that was taken for sending has left."""
        ...

    def abort(self) -> None:
        """Ends the stream now: what was not sent is lost."""
        ...

    def peer_is_gone(self) -> bool:
        """Its end of the stream has arrived, perhaps behind bytes that nobody has read yet."""
        ...


class Streams(Protocol):
    """All streams of a listener. Whoever runs the loop watches `fileno` and makes a turn when it is readable."""

    @property
    def turn_ms(self) -> int:
        """When the turn began: one look at the clock for all that arrived."""
        ...

    def fileno(self) -> int: ...

    def open(self, connected: socket.socket, owner: Owner, *, unsent_limit_bytes: int) -> Stream:
        """Takes the socket over."""
        ...

    def turn(self) -> None: ...

    def close(self) -> None:
        """After all streams are closed."""
        ...
