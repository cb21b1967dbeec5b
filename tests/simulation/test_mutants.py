"""The table of mutants in docs/reliability.md is whole, and says of which simulator it is; and why two mutants have no row."""

import re
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import pytest

from oncelog.broker.transactions import TransactionCoordinator
from oncelog.engine.classic.partition import ClassicPartition
from oncelog.errors import ErrorCode
from oncelog.model import TRANSACTION_STATE, Producer, TopicPartition
from oncelog.sim.clients import Defect, Session, delete_records
from oncelog.sim.loop import VirtualLoop
from oncelog.sim.story import Story
from tests.mutants.mutant import all_mutants
from tests.simulation.mutants import BEGIN, DIGITS, DOCUMENT, END, EQUIVALENT, OLDER, concerned, rows_in, said

SEEDS = range(6)


def test_every_mutant_of_the_broker_has_a_row_or_a_proof() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = rows_in(text)
    assert list(rows) == [each.name for each in concerned()]
    assert {each.name for each in all_mutants()} >= EQUIVALENT.keys()
    below = text.partition(BEGIN)[2].partition(END)[0]
    for name, why in EQUIVALENT.items():
        assert f"- `{name}`. {why}\n" in below
    assert said([f"| {' | '.join(cells)} |" for cells in rows.values()]) in below


def test_every_row_says_of_which_simulator_it_is() -> None:
    for name, cells in rows_in(DOCUMENT.read_text(encoding="utf-8")).items():
        assert len(cells) == 4, name
        assert cells[3] == OLDER or re.fullmatch(f"[0-9a-f]{{{DIGITS}}}", cells[3]), name


def test_the_word_of_the_coordinator_and_the_append_are_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a guard that does not fit any more is of a batch that is right all the same."""
    said_at = [-1]  # the step of the loop
    loop: list[VirtualLoop] = []
    guarded = 0
    verify, add, append = (
        TransactionCoordinator.verify,
        TransactionCoordinator.add_partitions,
        ClassicPartition.append,
    )

    def verified(
        self: TransactionCoordinator, name: str, producer: Producer, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, ErrorCode]:
        found = verify(self, name, producer, partitions)
        if set(found.values()) == {ErrorCode.NONE}:
            said_at[0] = loop[0].steps
        return found

    async def added(self: TransactionCoordinator, *asked: Any, **more: Any) -> ErrorCode:
        error = await add(self, *asked, **more)
        if error is ErrorCode.NONE:
            said_at[0] = loop[0].steps
        return error

    def appended(self: ClassicPartition, batch: Any, *, guard: Any = None, **more: Any) -> Any:
        nonlocal guarded
        if guard is not None:
            assert said_at[0] == loop[0].steps
            guarded += 1
        return append(self, batch, guard=guard, **more)

    monkeypatch.setattr(TransactionCoordinator, "verify", verified)
    monkeypatch.setattr(TransactionCoordinator, "add_partitions", added)
    monkeypatch.setattr(ClassicPartition, "append", appended)
    for seed in SEEDS:
        story = Story(seed)
        loop[:] = [story.world.loop]
        story.run()
    assert guarded > 100


def test_the_log_start_of_the_transaction_log_does_not_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks to delete from it is refused, and retention leaves alone what is only compacted."""
    looked = 0
    begin = ClassicPartition.begin_retention

    def looked_at(self: ClassicPartition) -> int | None:
        nonlocal looked
        found = begin(self)
        if self.topic == TRANSACTION_STATE:
            assert (found, self.log_start_offset) == (None, 0)
            looked += 1
        return found

    monkeypatch.setattr(ClassicPartition, "begin_retention", looked_at)
    refused: set[ErrorCode] = set()

    async def ask(story: Story) -> None:
        session = Session(story.world, Random(0), "deleter")
        try:
            await delete_records(session, f"{TRANSACTION_STATE}-0", -1)
        except Defect as answer:
            refused.update(each for each in ErrorCode if str(answer).endswith(f" answered {each.name}"))

    for seed in SEEDS:
        story = Story(seed)
        story.run()
        story.world.run(ask(story), limit_steps=story.world.loop.steps + 1_000)
    assert looked > 10
    assert refused == {ErrorCode.INVALID_TOPIC_EXCEPTION}
