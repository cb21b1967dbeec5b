"""One transaction of a producer that takes part in a two-phase commit (KIP-939): prepared here, decided elsewhere.

It may wait as long as it wants; its producer may die, and an heir asks for what was left (keepPreparedTxn) and ends it. From
then on its first owner is a zombie.
"""

from collections.abc import Mapping
from random import Random
from typing import Final

from oncelog.errors import ErrorCode
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.sim.clients import TV2, Defect, Fenced, MustAbort, Producer, Protocol
from oncelog.sim.history import History
from oncelog.sim.world import World

NOBODY: Final = (-1, -1)
ASKED_MS: Final = 300  # the timeout that it asks for, and that does not count


class TwoPhases:
    """One transactional id and its transaction."""

    def __init__(
        self,
        world: World,
        history: History,
        rng: Random,
        name: str,
        protocol: Protocol = TV2,
        *,
        lasts: bool = True,
    ) -> None:
        self._world = world
        self._protocol = protocol
        self._lasts = lasts  # no transactional id expires
        self._may_be_late = False  # an InitProducerId without an answer may still come
        self._history = history
        self._rng = rng
        self._name = name
        self._lives = 0
        self._is_inherited = False
        self._owner = self._producer()

    def _producer(self) -> Producer:
        self._lives += 1
        process = f"{self._name}.{self._lives}"
        return Producer(
            self._world,
            self._history,
            self._rng,
            process,
            self._name,
            self._protocol,
            timeout_ms=ASKED_MS,
            two_phase=True,
        )

    async def prepare(self, batches: Mapping[str, int]) -> None:
        await self._owner.init()
        self._owner.begin()
        for at, count in batches.items():
            await self._owner.send({at: self._owner.name_values(count)})

    async def take_over(self) -> None:
        """The owner dies, and what it prepared is handed to an heir; the owner may not end it any more."""
        former, heir = self._owner, self._producer()
        found = await heir.init(keep=True)
        wanted = (former.producer_id, former.epoch)
        if found == NOBODY and former.left_behind and not self._world.config.transaction_late_requests_refuse:
            raise Fenced("a late InitProducerId of its owner has aborted what was prepared, as in Kafka")
        if found != wanted:
            raise Defect(f"{self._name}: {wanted} was prepared, and the heir is told of {found}")
        self._may_be_late = former.left_behind or heir.left_behind
        heir.txn, heir.used = former.txn, True
        self._is_inherited = True
        self._owner = heir
        request = EndTxnRequest(
            transactional_id=self._name,
            producer_id=former.producer_id,
            producer_epoch=former.epoch,
            committed=self._rng.random() < 0.5,
        )
        version = self._protocol.end
        answer: EndTxnResponse = await former.session.ask(26, version, request, EndTxnResponse)
        former.session.leave()
        if answer.error_code == ErrorCode.NONE:
            raise Defect(f"{self._name}: who was replaced by an heir ended the transaction")

    async def end(self, *, commit: bool) -> None:
        try:
            await self._owner.end(commit=commit)
        except (Fenced, MustAbort) as why:
            refuses = self._world.config.transaction_late_requests_refuse
            if self._is_inherited and self._lasts and (refuses or not self._may_be_late):
                raise Defect(f"{self._name}: the heir of what was prepared was answered {why}") from None
            raise
        self._owner.session.leave()

    async def clear(self) -> None:
        """Whatever is left is aborted: it would wait for ever."""
        while True:
            fresh = self._producer()
            try:
                await fresh.init()
            except Fenced:
                continue
            else:
                return
            finally:
                fresh.session.leave()
