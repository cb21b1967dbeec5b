"""Faults on demand, for people who test their own clients: hold a request, lose a reply, stop at a protocol state.

A running broker has no faults (`Runtime.faults` is None) and pays one look per request for it. `oncelog.Broker` arms
them; docs/testing.md tells how. Each armed fault happens once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from oncelog.broker.transactions import LostWrite, Points
from oncelog.errors import OncelogError
from oncelog.model import TopicPartition
from oncelog.protocol.apis import APIS
from oncelog.tasks import Future

POINTS: Final = (
    "after_ongoing",
    "after_prepare_commit",
    "after_prepare_abort",
    "before_marker",
    "after_marker",
    "before_complete",
    "after_complete",
)
KEYS: Final = {api.name: key for key, api in APIS.items()}


class UnknownFault(OncelogError):
    """A fault was asked for at a place that does not exist."""


@dataclass(slots=True, eq=False)
class Armed:
    """One fault that waits for its moment. `reached` resolves when it happened, `go_on` lets it pass."""

    what: str
    where: str
    transactional_id: str | None = None
    partition: TopicPartition | None = None
    reached: Future[None] = field(default_factory=Future[None])
    go_on: Future[None] = field(default_factory=Future[None])
    callers: list[str] = field(default_factory=list[str])  # whose request or transaction it met

    def resume(self) -> None:
        """Lets what was held or paused go on; a second time changes nothing."""
        if not self.go_on.done():
            self.go_on.set_result(None)


class Faults(Points):
    """What was armed and has not happened yet, in the order of arming."""

    def __init__(self, kill: Callable[[], None]) -> None:
        self._kill = kill
        self._armed: list[Armed] = []

    def arm(
        self,
        what: str,
        where: str,
        transactional_id: str | None = None,
        partition: TopicPartition | None = None,
    ) -> Armed:
        """`what`: fail or pause at a point, lose at before_marker, hold or drop at an API by its name."""
        known = KEYS if what in ("hold", "drop") else POINTS
        if where not in known:
            raise UnknownFault(f"{what} at {where!r}: wanted one of {', '.join(sorted(known))}")
        armed = Armed(what, where, transactional_id, partition)
        self._armed.append(armed)
        return armed

    def disarm(self, armed: Armed) -> None:
        """Takes back a fault that has not happened, and lets go what it holds."""
        if armed in self._armed:
            self._armed.remove(armed)
        armed.resume()

    # ---- what the connection asks

    def hold(self, api_key: int, request: Any) -> Future[None] | None:
        """A future to wait for before this request is handled."""
        armed = self._take("hold", APIS[api_key].name, _transactional_id_of(request))
        return None if armed is None else armed.go_on

    def drops_reply(self, api_key: int, request: Any) -> bool:
        """Whether the reply to this request is to be lost, together with its connection."""
        return self._take("drop", APIS[api_key].name, _transactional_id_of(request)) is not None

    # ---- what the transaction coordinator asks

    async def reach(self, point: str, transactional_id: str, partition: TopicPartition | None = None) -> None:
        if self._take("fail", point, transactional_id, partition) is not None:
            self._kill()
            await Future[None]()  # the power is gone: nothing of this life goes on
        armed = self._take("pause", point, transactional_id, partition)
        if armed is not None:
            await armed.go_on
        if point == "before_marker" and self._take("lose", point, transactional_id, partition) is not None:
            raise LostWrite(f"the marker of {transactional_id} for {partition} was to be lost")

    def _take(
        self, what: str, where: str, transactional_id: str | None, partition: TopicPartition | None = None
    ) -> Armed | None:
        for armed in self._armed:
            if (
                armed.what == what
                and armed.where == where
                and armed.transactional_id in (None, transactional_id)
                and armed.partition in (None, partition)
            ):
                self._armed.remove(armed)
                armed.callers.append(transactional_id or "")
                armed.reached.set_result(None)
                return armed
        return None


def _transactional_id_of(request: Any) -> str | None:
    """The transactional id that a request names, if it names one."""
    named = getattr(request, "transactional_id", None)
    return named if named is not None else getattr(request, "v3_and_below_transactional_id", None) or None
