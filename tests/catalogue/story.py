"""Writers of transactions, a reader, and crashes: what was told to somebody must be true for ever (J rows, R6, R7).

A writer whose EndTxn was not answered asks again after the crash until it knows; one that had not asked to end begins
anew, which aborts what it wrote. So every value has a fate in the end, and the reader must have seen exactly the
committed ones, each where it was and once.
"""

from typing import Any, Literal

from oncelog.client.visible import AbortedFrom, visible
from oncelog.errors import ErrorCode
from oncelog.model import Isolation, TopicPartition
from oncelog.record.batch import batches
from oncelog.tasks import Task, sleep, spawn
from tests.catalogue.client import Txn, added
from tests.catalogue.stage import Stage

PARTITIONS = 2
LONG_MS = 900_000


class Writer(Txn):
    """One transactional id, by the classic protocol (v3, v9) or by KIP-890's (v5, v12)."""

    def __init__(self, story: "Story", number: int) -> None:
        super().__init__(story.stage, f"writer-{number}", timeout_ms=LONG_MS, start=False)
        self.story = story
        self.number = number
        self.classic = number % 2 == 0
        self.ending: tuple[bool, list[str]] | None = None
        self.written: list[str] = []  # of the transaction that is under way
        self.done = 0

    async def ask(self, request: Any, version: int) -> Any:
        """There and back takes a moment each."""
        await sleep(self.stage.loop, self.stage.random.expovariate(1.0))
        answer = await self.stage.begin(request, version, connection=self.connection)
        await sleep(self.stage.loop, self.stage.random.expovariate(1.0))
        return answer

    async def live(self) -> None:
        if self.ending is not None:
            await self.end(*self.ending)
        else:
            await self.begin_anew()
        while not self.story.closing:
            await self.transaction()

    async def begin_anew(self) -> None:
        """A new instance: what the last one left undecided is aborted by it."""
        while True:
            answer = await self.ask(self.init_request(), 5)
            if answer.error_code == ErrorCode.NONE:
                break
            assert answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS, answer
            await sleep(self.stage.loop, 5)
        self.holds(answer.producer_id, answer.producer_epoch)
        self.story.decide(self.written, committed=False)
        self.written = []

    async def transaction(self) -> None:
        where = [("t", index) for index in range(PARTITIONS)]
        said = "CONCURRENT_TRANSACTIONS"  # with end.txn.reply=prepared the last one may still be ending
        while self.classic and said == "CONCURRENT_TRANSACTIONS":
            said = added(await self.ask(self.add_request(*where), 3))
        assert not self.classic or said == "NONE", said
        for _, index in where:
            values = [self.story.value() for _ in range(self.stage.random.randint(1, 2))]
            self.written += values
            request = self.produce_request(*values, partition=index)
            error = ErrorCode.CONCURRENT_TRANSACTIONS
            while error == ErrorCode.CONCURRENT_TRANSACTIONS:
                answer = await self.ask(request, 9 if self.classic else 12)
                error = answer.responses[0].partition_responses[0].error_code
            assert error == ErrorCode.NONE, (self.name, ErrorCode(error))
        commit = self.stage.random.random() < 0.6
        self.ending, self.written = (commit, self.written), []
        await self.end(*self.ending)

    async def end(self, commit: bool, values: list[str]) -> None:
        """Asks until it knows. J7: no answer may say that what is decided did not happen."""
        while True:
            answer = await self.ask(self.end_request(commit=commit), 3 if self.classic else 5)
            if answer.error_code == ErrorCode.NONE:
                break
            assert answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS, (self.name, commit, answer)
            await sleep(self.stage.loop, 3)
        self.said(answer)
        self.ending = None
        self.done += 1
        self.story.decide(values, committed=commit)


class Story:
    def __init__(
        self, seed: int, durability: Literal["process", "power"], *, reply: str = "complete", writers: int = 4
    ) -> None:
        self.seed = seed
        self.durability: Literal["process", "power"] = durability
        self.stage = Stage({"durability": durability, "end.txn.reply": reply}, seed=seed)
        self.stage.topic(partitions=PARTITIONS)
        self.writers = [Writer(self, number) for number in range(writers)]
        self.closing = False
        self.fate: dict[str, bool] = {}
        self.seen: dict[tuple[int, int], str] = {}  # (partition, offset) -> value: what a reader was given
        self.stable = [0] * PARTITIONS
        self.lives = 0
        self._values = 0

    def value(self) -> str:
        self._values += 1
        return f"value-{self._values}"

    def decide(self, values: list[str], *, committed: bool) -> None:
        for value in values:
            assert self.fate.setdefault(value, committed) is committed

    def begin_life(self) -> list[Task[None]]:
        self.lives += 1
        for writer in self.writers:
            writer.connection = 1_000 * self.lives + writer.number
        return [spawn(self.stage.loop, writer.live(), writer.name) for writer in self.writers]

    def steps(self, count: int, tasks: list[Task[None]], *, look_every: int = 40) -> None:
        for number in range(count):
            assert self.stage.loop.step()
            for task in tasks:
                if task.done():
                    task.result()
            if number % look_every == 0:
                self.look()
            if self.stage.random.random() < 0.002:
                self.stage.lose_marker()

    def crash(self) -> None:
        self.look()
        self.stage.crash(self.durability, settle=False)
        self.look()

    def close(self, tasks: list[Task[None]], *, limit_ms: float = 5_000) -> None:
        """J11: when no more faults come, everybody is done soon and the reader reaches the end."""
        self.closing = True
        for task in tasks:
            self.stage.run(task, limit_ms=limit_ms)
        self.stage.settle(200)
        self.look()
        for index in range(PARTITIONS):
            part = self.stage.part(index=index)
            assert part.last_stable_offset == part.high_watermark == part.log_end_offset
        committed = {value for value, is_committed in self.fate.items() if is_committed}
        given = list(self.seen.values())
        assert len(given) == len(set(given)), "something was given twice"
        assert set(given) == committed, sorted(set(given) ^ committed)[:5]

    def look(self) -> None:
        """One read of each partition from its start, and what must hold of it."""
        for index in range(PARTITIONS):
            offset = 0
            while True:
                read = self.stage.read(index=index, offset=offset)
                assert read.error is ErrorCode.NONE
                assert read.last_stable_offset >= self.stable[index], "the LSO went back"  # R7
                self.stable[index] = read.last_stable_offset
                if not read.records:
                    break
                for _, header in batches(read.records):
                    assert header.last_offset < read.last_stable_offset  # J2
                found = visible(
                    TopicPartition("t", index),
                    read.records,
                    from_offset=offset,
                    isolation=Isolation.READ_COMMITTED,
                    aborted=[AbortedFrom(each.first_offset, each.producer_id) for each in read.aborted or ()],
                )
                offset = found.next_offset
                for record in found.records:
                    value = (record.value or b"").decode()
                    assert self.seen.setdefault((index, record.offset), value) == value  # J5
                    assert self.fate.get(value) is not False, f"{value} was aborted"  # R6, J2
