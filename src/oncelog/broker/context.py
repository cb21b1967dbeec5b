"""What a handler knows of the request besides its body."""

from collections.abc import Callable
from dataclasses import dataclass


class CloseConnection(Exception):
    """A handler's answer where Kafka gives none: the connection is closed (acks=0 with an error, spec 1.13)."""


@dataclass(slots=True, eq=False)
class Context:
    """One request on one connection."""

    api_key: int
    version: int
    client_id: str | None
    peer_host: str
    peer_port: int
    connection_id: int  # rises with every accepted connection; newer is larger
    response_version: (
        int  # the version that the answer is written in: the request's, but for ApiVersions (API-4)
    )
    on_release: Callable[[], None] | None = None

    def peer_is_gone(self) -> bool:
        """Whether the client has closed its side: nobody waits for the answer. One look at the socket; False if unknown."""
        return False

    def release_order(self) -> None:
        """A handler calls this when the next request of the connection may begin: what remains is waiting (for a sync, say).
        Answers still leave in the order of the requests."""
        if self.on_release is not None:
            self.on_release()
