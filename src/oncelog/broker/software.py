"""Which library and version clients say they are (KIP-511), in ApiVersions. `oncelog doctor` and `txn stuck` ask for it."""

from typing import Final

from oncelog.broker.context import Context

KEPT: Final = 1000  # clients; the rest is not noted
LONGEST: Final = 100  # characters of a name or a version; a longer one is not noted
EACH: Final = 5  # versions of one client, the newest


class ClientSoftware:
    """By client id and host, what was said last at the end. Costs a look-up for each connection, nothing for its requests."""

    def __init__(self) -> None:
        self._said: dict[tuple[str | None, str], list[tuple[str, str]]] = {}

    def note(self, context: Context, name: str, version: str) -> None:
        who, what = (context.client_id, context.peer_host), (name, version)
        mine = self._said.get(who)
        if mine is not None and mine[-1] == what:
            return
        if max(len(name), len(version)) > LONGEST or (mine is None and len(self._said) >= KEPT):
            return
        before = [each for each in mine or () if each != what]
        self._said[who] = [*before, what][-EACH:]

    def all(self) -> list[tuple[str | None, str, str, str]]:
        """Client id, host, name and version."""
        return [
            (*who, *what)
            for who, said in sorted(self._said.items(), key=lambda each: (each[0][0] or "", each[0][1]))
            for what in said
        ]
