"""Clients with bad manners, each with an id of its own: they ask for what they must not get, and say what they got.

A refusal is a promise too: a gap in the sequences, a marker out of turn or a second copy of a request must change nothing. What
a rude client writes goes into the history like anything else, so that a batch that was refused and stays is seen as well.
"""

from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Final

from oncelog.errors import ErrorCode, StorageFault
from oncelog.model import Producer as Producer_
from oncelog.model import ProducerEpoch
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from oncelog.record.batch import NewRecord, build_batch
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
    Session,
    split,
)
from oncelog.sim.history import End, History, Send
from oncelog.sim.net import Unreachable
from oncelog.sim.world import World
from oncelog.tasks import sleep, spawn, within
from oncelog.txn.state import MAX_EPOCH, Txn

E = ErrorCode
LONG_ID: Final = "x" * 7_000  # longer than a record of __transaction_state may be
NOT_NOW: Final = AGAIN | UNCLEAR


class Rude:
    """Plays one bad manner after the other. `tv2`: the broker allows the new protocol; `verified`: it verifies partitions;
    `narrow`: it takes no large records."""

    def __init__(
        self,
        world: World,
        history: History,
        rng: Random,
        partitions: Sequence[str],
        *,
        tv2: bool,
        verified: bool,
        narrow: bool,
    ) -> None:
        self.world = world
        self.history = history
        self.rng = rng
        self.partitions = partitions
        self.refused: set[str] = set()  # ids that were refused and must stay unknown
        self.played = 0
        self._count = 0
        self._tv2 = tv2
        self._sessions: list[Session] = []
        self._manners = [self.leave_a_gap, self.change_a_batch, self.write_beside, self.ask_twice]
        if verified:
            self._manners.append(self.overtake)
        if narrow:
            self._manners += [self.be_too_long] * 2
        if tv2:
            self._manners += [self.end_nothing, self.mark_out_of_turn, self.end_twice, self.end_twice]

    async def play(self) -> None:
        """One manner; whatever cannot be finished because of faults says nothing."""
        self.played += 1
        manner = self.rng.choice(self._manners)
        with suppress(Fenced, MustAbort, Unreachable):
            await manner()
        for session in self._sessions:
            session.leave()
        self._sessions.clear()

    # The manners

    async def leave_a_gap(self) -> None:
        """PS-4: a sequence too high is refused."""
        producer, at = await self._idempotent()
        await producer.send({at: producer.name_values(2)})
        wrong = 2 + self.rng.randint(1, 5)
        self._want(await self.produce(producer, at, 1, wrong), {E.OUT_OF_ORDER_SEQUENCE_NUMBER}, "a gap")

    async def change_a_batch(self) -> None:
        """PS-1: what begins like an earlier batch and ends elsewhere is no copy of it (V67)."""
        producer, at = await self._idempotent()
        await producer.send({at: producer.name_values(2)})
        count = self.rng.choice([1, 3])
        found = await self.produce(producer, at, count, 0)
        self._want(found, {E.OUT_OF_ORDER_SEQUENCE_NUMBER}, "another batch with the sequence of an old one")

    async def write_beside(self) -> None:
        """PS-5: whoever has a transaction open here writes nothing outside of it."""
        producer, at = await self._open()
        found = await self.produce(producer, at, 1, 2, transactional=False)
        self._want(found, {E.INVALID_TXN_STATE} | FATAL, "a plain batch of who has a transaction open")
        await producer.end(commit=True)

    async def overtake(self) -> None:
        """KIP-890: a batch of no transaction is refused, and none behind it may come first (B5)."""
        producer = self._producer(TV1)
        await producer.init()
        producer.begin()
        at = self._any()
        life = self.world.machine
        found = await self.produce(producer, at, 2, 0)
        refusals = {E.TRANSACTION_ABORTABLE, E.INVALID_TXN_STATE}
        self._want(found, refusals | FATAL, "a batch of no transaction")
        if found not in refusals:
            return
        await producer.add_partitions([at])
        found = await self.produce(producer, at, 1, 2)
        if self.world.machine is life and found is not None:  # what was refused is remembered in memory only
            self._want(
                found, {E.OUT_OF_ORDER_SEQUENCE_NUMBER} | FATAL, "a batch that overtakes a refused one"
            )
        await producer.end(commit=False)

    async def end_nothing(self) -> None:
        """TRAP-6: an abort is never wrong, a commit of nothing is."""
        producer = self._producer(TV2)
        await producer.init()
        producer.begin()
        try:
            await producer.end(commit=False)
        except MustAbort as why:
            raise Defect(f"an abort of nothing was answered {why}") from None
        producer.begin()
        await producer.send({self._any(): producer.name_values(1)})
        await producer.end(commit=True)
        error, _, _ = await self.end(producer, commit=True)
        self._want(error, {E.INVALID_TXN_STATE}, "a commit of nothing")

    async def end_twice(self) -> None:
        """TRAP-5, TRAP-7: a copy of an EndTxn is answered as the first was, also where the producer id changed."""
        old = self.rng.random() < 0.5
        name = self._name()
        if old:
            await self.age(
                self.world, name, 1_000, self.rng.choice([MAX_EPOCH - 1, MAX_EPOCH - 1, MAX_EPOCH - 2])
            )
        producer = self._producer(TV2, name)
        await producer.init()
        before = (producer.producer_id, producer.epoch)
        producer.begin()
        await producer.send({self._any(): producer.name_values(1)})
        commit = self.rng.random() < 0.5
        await producer.end(commit=commit)
        after = (producer.producer_id, producer.epoch)
        error, *now = await self.end(producer, commit=commit, identity=before)
        self._want(error, {E.NONE}, f"a copy of an EndTxn of {before}")
        if error is E.NONE and tuple(now) != after:
            raise Defect(f"EndTxn was answered {after}, and its copy {now}")

    async def ask_twice(self) -> None:
        """KIP-360: a copy of an InitProducerId gets the epoch that the first got (B36)."""
        producer = self._producer(self.rng.choice([TV1, TV2]) if self._tv2 else TV1)
        await producer.init()
        life = self.world.machine
        before = (producer.producer_id, producer.epoch)
        await producer.init()
        request = InitProducerIdRequest(
            transactional_id=producer.id,
            transaction_timeout_ms=producer.timeout_ms,
            producer_id=before[0],
            producer_epoch=before[1],
        )
        answer: InitProducerIdResponse = await producer.session.ask(
            22, producer.protocol.init, request, InitProducerIdResponse
        )
        if self.world.machine is not life:
            return  # which epoch was the last one is kept in memory only (TRAP-11)
        error = E(answer.error_code)
        self._want(error, {E.NONE}, "a copy of an InitProducerId")
        if error is E.NONE and (answer.producer_id, answer.producer_epoch) != (
            producer.producer_id,
            producer.epoch,
        ):
            raise Defect(
                f"InitProducerId was answered epoch {producer.epoch}, and its copy epoch {answer.producer_epoch}"
            )

    async def mark_out_of_turn(self) -> None:
        """PS-6, PS-7: markers of the epoch that writes, and of a coordinator before ours, are refused (B18)."""
        producer, at = await self._open()
        await producer.end(commit=True)
        producer.begin()
        await producer.send({at: producer.name_values(1)})
        epoch = producer.epoch
        found = await self.mark(producer, at, epoch, version=2, coordinator_epoch=1 << 20)
        self._want(found, {E.INVALID_PRODUCER_EPOCH}, "a marker of the epoch that writes")
        found = await self.mark(producer, at, epoch, version=0, coordinator_epoch=-1)
        self._want(
            found,
            {E.TRANSACTION_COORDINATOR_FENCED, E.INVALID_PRODUCER_EPOCH},
            "a marker of an old coordinator",
        )
        await producer.end(commit=True)

    async def be_too_long(self) -> None:
        """An id whose record the log refuses (message.max.bytes) is answered so, and nobody knows it then or later."""
        name = f"{self._name()}{LONG_ID}"
        session = self._session(Session(self.world, self.rng, "rude"))
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1_000)
        self.refused.add(name)
        answer: InitProducerIdResponse = await session.ask(22, 4, request, InitProducerIdResponse)
        self._want(E(answer.error_code), {E.UNKNOWN_SERVER_ERROR}, "an id that no record can hold")
        await self.look_for_refused(session)

    async def look_for_refused(self, session: Session) -> None:
        names = sorted(self.refused)
        if not names:
            return
        request = DescribeTransactionsRequest(transactional_ids=names)
        answer: DescribeTransactionsResponse = await session.ask(65, 0, request, DescribeTransactionsResponse)
        for each in answer.transaction_states:
            if E(each.error_code) is not E.TRANSACTIONAL_ID_NOT_FOUND and each.error_code not in NOT_NOW:
                raise Defect(f"{each.transactional_id[:20]}... was refused, and is {each.transaction_state}")

    # What they are made of

    @staticmethod
    async def age(world: World, name: str, timeout_ms: int, epoch: int) -> None:
        """Writes down a long past: the epochs of the producer id are nearly used up (B16, B17)."""
        machine, runtime = world.machine, world.machine.runtime
        if not machine.is_up:
            raise Unreachable("the broker is down")

        async def write() -> ErrorCode:
            await sleep(machine.loop, 0)  # a power cut in the middle of it ends the machine's turn, not ours
            past = Txn(
                transactional_id=name,
                producer=Producer_(await runtime.producer_ids.next(), ProducerEpoch(epoch)),
                timeout_ms=timeout_ms,
                update_ms=world.clock.wall_ms(),
            )
            return await runtime.transactions.write_record(past)

        written = spawn(machine.loop, write(), "past")  # if the machine dies meanwhile, nobody is told
        try:
            if await within(world.loop, written, 1_000) and written.result() is E.NONE:
                return
        except StorageFault:
            pass
        raise Unreachable("the past could not be written")

    def _name(self) -> str:
        self._count += 1
        return f"rude{self._count}"

    def _any(self) -> str:
        return self.rng.choice(self.partitions)

    def _producer(self, protocol: Protocol, name: str | None = None) -> Producer:
        name = name or self._name()
        producer = Producer(self.world, self.history, self.rng, name, name, protocol)
        self._session(producer.session)
        return producer

    def _session(self, session: Session) -> Session:
        self._sessions.append(session)
        return session

    async def _idempotent(self) -> tuple[Producer, str]:
        producer = Producer(self.world, self.history, self.rng, self._name(), None)
        self._session(producer.session)
        await producer.init()
        return producer, self._any()

    async def _open(self) -> tuple[Producer, str]:
        """A transaction with two records in one partition."""
        producer = self._producer(TV2 if self._tv2 else TV1)
        at = self._any()
        await producer.init()
        producer.begin()
        await producer.send({at: producer.name_values(2)})
        return producer, at

    def _want(
        self, found: ErrorCode | None, wanted: set[ErrorCode] | frozenset[ErrorCode], what: str
    ) -> None:
        if found is not None and found not in wanted and found not in NOT_NOW:
            raise Defect(f"{what} was answered {found.name}")

    async def produce(
        self, producer: Producer, at: str, count: int, sequence: int, *, transactional: bool = True
    ) -> ErrorCode | None:
        """One try; None if it was not answered."""
        inside = transactional and producer.txn is not None
        values = producer.name_values(count)
        op = self.history.invoke(
            Send(process=producer.process, partition=at, values=values, txn=producer.txn if inside else None)
        )
        now = self.world.clock.wall_ms()
        topic, index = split(at)
        batch = build_batch(
            [NewRecord(None, value.encode(), now) for value in values],
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            transactional=inside,
        )
        request = ProduceRequest(
            transactional_id=producer.id if inside else None,
            acks=-1,
            timeout_ms=1_000,
            topic_data=[
                TopicProduceData(
                    name=topic, partition_data=[PartitionProduceData(index=index, records=batch)]
                )
            ],
        )
        producer.used = producer.used or inside
        try:
            answer: ProduceResponse = await producer.session.ask(
                0, producer.protocol.produce, request, ProduceResponse, "leader"
            )
        except Unreachable:
            self.history.done(op, End.INFO, "no answer")
            return None
        part = answer.responses[0].partition_responses[0]
        error = E(part.error_code)
        if error is E.NONE:
            op.offset = part.base_offset
            self.history.ok(op)
        else:
            self.history.done(op, End.INFO if error in UNCLEAR else End.FAIL, error.name)
        return error

    async def end(
        self, producer: Producer, *, commit: bool, identity: tuple[int, int] | None = None
    ) -> tuple[ErrorCode, int, int]:
        """One EndTxn that is no part of the history."""
        who = (producer.producer_id, producer.epoch) if identity is None else identity
        request = EndTxnRequest(
            transactional_id=producer.id or "", producer_id=who[0], producer_epoch=who[1], committed=commit
        )
        answer: EndTxnResponse = await producer.session.ask(
            26, producer.protocol.end, request, EndTxnResponse
        )
        return E(answer.error_code), answer.producer_id, answer.producer_epoch

    async def mark(
        self, producer: Producer, at: str, epoch: int, *, version: int, coordinator_epoch: int
    ) -> ErrorCode:
        topic, index = split(at)
        request = WriteTxnMarkersRequest(
            markers=[
                WritableTxnMarker(
                    producer_id=producer.producer_id,
                    producer_epoch=epoch,
                    transaction_result=False,
                    topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[index])],
                    coordinator_epoch=coordinator_epoch,
                    transaction_version=version,
                )
            ]
        )
        answer: WriteTxnMarkersResponse = await producer.session.ask(27, 2, request, WriteTxnMarkersResponse)
        return E(answer.markers[0].topics[0].partitions[0].error_code)
