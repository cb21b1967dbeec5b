"""Which clients read at read_uncommitted: no group says it, only their fetches do. `oncelog doctor` asks for it."""

from typing import Final

from oncelog.broker.context import Context

KEPT: Final = 1000  # the rest is not noted: who has so many knows already


class UncommittedReaders:
    """Client ids and hosts, as fetches came. Costs a look-up for a Fetch at read_uncommitted, nothing for others."""

    def __init__(self) -> None:
        self._seen: set[tuple[str | None, str]] = set()

    def note(self, context: Context) -> None:
        who = (context.client_id, context.peer_host)
        if who not in self._seen and len(self._seen) < KEPT:
            self._seen.add(who)

    def all(self) -> list[tuple[str | None, str]]:
        return sorted(self._seen, key=lambda who: (who[0] or "", who[1]))
