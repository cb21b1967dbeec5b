"""Clients whose requests come again, late, on a connection that they have left (KAFKA-17754).

With `transaction.late.requests.refuse` (decision 0010) such a copy is refused, and nobody else is: not an heir who speaks on an
older connection than those before it.
"""

from contextlib import suppress
from random import Random
from typing import Any, Final

from oncelog.errors import ErrorCode
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse
from oncelog.sim.clients import (
    AGAIN,
    FATAL,
    TV1,
    TV2,
    UNCLEAR,
    Defect,
    Fenced,
    MustAbort,
    Producer,
    Protocol,
    fetch_offsets,
)
from oncelog.sim.history import End, EndTxn, History
from oncelog.sim.net import Link, Unreachable
from oncelog.sim.plan import IN
from oncelog.sim.world import World

E = ErrorCode
AT: Final = f"{IN}-0"
NOT_NOW: Final = (AGAIN | UNCLEAR) - {E.CONCURRENT_TRANSACTIONS}  # which is what a copy is told
TIMEOUT_MS: Final = 1_000
SAFE_MS: Final = 700.0  # of it: until then no transaction has timed out


class Late:
    """Tells one tale after the other. Whatever was left without an answer ends it."""

    def __init__(
        self, world: World, history: History, rng: Random, partitions: list[str], *, tv2: bool
    ) -> None:
        self.world = world
        self.history = history
        self.rng = rng
        self.partitions = partitions
        self.told = 0  # to the end
        self._tv2 = tv2
        self._count = 0
        self._aside: list[Link] = []

    async def tell(self) -> None:
        self._count += 1
        tales = [self._end, self._offsets, self._heir]
        if self._tv2:
            tales.append(self._init)
        tale = self.rng.choice(tales)
        with suppress(Fenced, MustAbort, Unreachable):
            await tale()
            self.told += 1
        for link in self._aside:
            link.abandon()
        self._aside.clear()

    async def _end(self) -> None:
        """An EndTxn of the classic protocol that was asked again elsewhere ends nothing when it comes at last."""
        producer = self._producer(TV1)
        await self._write(producer)
        left = self._left_behind(producer)
        await producer.end(commit=True)
        producer.begin()
        await producer.send({self.rng.choice(self.partitions): producer.name_values(1)})
        answer: EndTxnResponse = await left.ask(
            self._ending(producer), EndTxnResponse, 26, producer.protocol.end
        )
        if answer.error_code == E.NONE:
            raise Defect("a late copy of an EndTxn was answered NONE")
        await producer.end(commit=False)
        producer.session.leave()

    async def _offsets(self) -> None:
        """A late TxnOffsetCommit does not put the group back, in either protocol."""
        producer = self._producer(TV2 if self._tv2 and self.rng.random() < 0.5 else TV1)
        group = producer.process
        await producer.init()
        producer.begin()
        await producer.send_offsets(group, {AT: 5})
        left = self._left_behind(producer, "group")
        await producer.send_offsets(group, {AT: 7})
        request = producer.offsets_request(group, {AT: 5}, "", -1)
        answer: TxnOffsetCommitResponse = await left.ask(
            request, TxnOffsetCommitResponse, 28, producer.protocol.offset_commit
        )
        if answer.topics[0].partitions[0].error_code == E.NONE:
            raise Defect("a late copy of a TxnOffsetCommit was answered NONE")
        await producer.end(commit=True)
        found = await fetch_offsets(producer.session, History(), producer.process, group, [AT])
        if found is not None and found.offsets[AT] != 7:
            raise Defect(f"{group} stands at {found.offsets[AT]}, wanted 7")
        producer.session.leave()

    async def _heir(self) -> None:
        """Whoever took the id over may speak on a connection that is older than those of who had it before."""
        first, second = self._producer(TV1), self._producer(TV1)
        second.id = first.id
        second.session.client_id = first.session.client_id
        older = await self.world.connect(first.session.client_id)
        self._aside.append(older)
        await self._write(first)
        await first.end(commit=True)
        life, began = self.world.machine, self.world.loop.now_ms
        await self._write(second)
        if self.rng.random() < 0.5:
            zombie: EndTxnResponse = await first.session.ask(26, TV1.end, self._ending(first), EndTxnResponse)
            if zombie.error_code == E.NONE:
                raise Defect("a zombie ended its heir's transaction")
        assert second.txn is not None
        op = self.history.invoke(EndTxn(process=second.process, txn=second.txn, commit=True))
        try:
            answer: EndTxnResponse = await older.ask(self._ending(second), EndTxnResponse, 26, TV1.end)
        except Unreachable:
            self.history.done(op, End.INFO, "no answer")
            raise
        error = E(answer.error_code)
        if error is E.NONE:
            self.history.ok(op)
        else:
            self.history.done(op, End.INFO if error in UNCLEAR else End.FAIL, error.name)
            self._want(error, frozenset(), "an heir on an older connection", life, began)
        first.session.leave()
        second.session.leave()

    async def _init(self) -> None:
        """An InitProducerId of an epoch of before aborts nothing."""
        producer = self._producer(TV2)
        await self._write(producer)
        before = (producer.producer_id, producer.epoch)
        await producer.end(commit=True)
        producer.begin()
        life, began = self.world.machine, self.world.loop.now_ms
        await producer.send({self.rng.choice(self.partitions): producer.name_values(1)})
        request = InitProducerIdRequest(
            transactional_id=producer.id,
            transaction_timeout_ms=TIMEOUT_MS,
            producer_id=before[0],
            producer_epoch=before[1],
        )
        answer: InitProducerIdResponse = await producer.session.ask(
            22, TV2.init, request, InitProducerIdResponse
        )
        self._want(E(answer.error_code), FATAL, "an InitProducerId of an epoch of before", life, began)
        await producer.end(commit=True)
        producer.session.leave()

    # What they are made of

    def _want(
        self,
        found: ErrorCode,
        wanted: frozenset[ErrorCode] | set[ErrorCode],
        what: str,
        life: Any,
        began: float,
    ) -> None:
        """Unless the broker has started anew meanwhile, or the transaction may have timed out."""
        if (
            found not in wanted
            and found not in NOT_NOW
            and self.world.machine is life
            and self.world.loop.now_ms - began < SAFE_MS
        ):
            raise Defect(f"{what} was answered {found.name}")

    def _producer(self, protocol: Protocol) -> Producer:
        self._count += 1
        name = f"late{self._count}"
        return Producer(self.world, self.history, self.rng, name, name, protocol, timeout_ms=TIMEOUT_MS)

    async def _write(self, producer: Producer) -> None:
        await producer.init()
        producer.begin()
        await producer.send({self.rng.choice(self.partitions): producer.name_values(1)})

    def _left_behind(self, producer: Producer, on: str = "") -> Link:
        link = producer.session.put_aside(on)
        self._aside.append(link)
        return link

    def _ending(self, producer: Producer) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=producer.id or "",
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=True,
        )
