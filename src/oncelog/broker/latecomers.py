"""Refuses late copies of transactional requests that arrive on connections their client has left behind.

In the classic protocol (TV1) every transaction of a producer has the same epoch, so an EndTxn that was delayed on an
abandoned connection, and was asked again on a new one, ends whatever transaction is ongoing when it arrives
(KAFKA-17754). A client speaks each API for a transactional id on one connection at a time; once it has done so on a newer
connection, the same API on an older one is a copy. Looked at only after the producer's epoch: a zombie is to be told
that it is fenced. docs/decisions/0010-late-requests.md says what this can and cannot catch.
"""

from collections import OrderedDict
from typing import Final

from oncelog.broker.context import Context

LIMIT_IDS: Final = 100_000  # remembered at once; the longest silent one is forgotten first
LIMIT_CLIENTS_PER_ID: Final = 64


class Latecomers:
    """The newest connection that spoke, by transactional id, API and client. Connection ids rise with every accept."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._newest: OrderedDict[str, dict[tuple[int, str | None, str], int]] = OrderedDict()
        self.refused = 0  # copies that were turned away; counted by who does so

    def is_late(self, transactional_id: str, context: Context) -> bool:
        """Notes who speaks; True if the same client has spoken this API for the id on a newer connection."""
        if not self._enabled:
            return False
        spoken = self._newest.get(transactional_id)
        if spoken is None:
            spoken = self._newest[transactional_id] = {}
            if len(self._newest) > LIMIT_IDS:
                self._newest.popitem(last=False)
        else:
            self._newest.move_to_end(transactional_id)
        client = (context.api_key, context.client_id, context.peer_host)
        if spoken.get(client, -1) > context.connection_id:
            return True
        if client not in spoken and len(spoken) >= LIMIT_CLIENTS_PER_ID:
            del spoken[next(iter(spoken))]
        spoken[client] = context.connection_id
        return False
