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
from oncelog.model import Producer

LIMIT_IDS: Final = 100_000  # remembered at once; the longest silent one is forgotten first
LIMIT_CLIENTS_PER_ID: Final = 64


class Latecomers:
    """The newest connection that spoke, by transactional id, API and client. Connection ids rise with every accept.

    What is known of an id is of one producer, id and epoch: whoever comes after an InitProducerId begins anew, on whatever
    connection, for the epoch already tells it from what was before.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._newest: OrderedDict[str, tuple[Producer, dict[tuple[int, str | None, str], int]]] = (
            OrderedDict()
        )
        self.refused = 0  # copies that were turned away; counted by who does so

    def is_late(self, transactional_id: str, producer: Producer, context: Context) -> bool:
        """Notes who speaks; True if the same client has spoken this API for this producer on a newer connection.

        Only of the id's present producer: a fenced one must not count as its successor's newest word.
        """
        if not self._enabled:
            return False
        known = self._newest.get(transactional_id)
        if known is None or known[0] != producer:
            known = self._newest[transactional_id] = (producer, {})
            if len(self._newest) > LIMIT_IDS:
                self._newest.popitem(last=False)
        self._newest.move_to_end(transactional_id)
        spoken = known[1]
        client = (context.api_key, context.client_id, context.peer_host)
        if spoken.get(client, -1) > context.connection_id:
            return True
        if client not in spoken and len(spoken) >= LIMIT_CLIENTS_PER_ID:
            del spoken[next(iter(spoken))]
        spoken[client] = context.connection_id
        return False
