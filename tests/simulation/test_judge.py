"""What asks for what must be refused does notice: the coordinator, the log and the groups, each broken in one place."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from oncelog.broker import transactions
from oncelog.errors import ErrorCode
from oncelog.group.offsets import GroupOffsets
from oncelog.log import state
from oncelog.model import Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.sim.judge import IN_ANY_STATE, IN_REST, questions
from oncelog.sim.plan import draw
from oncelog.sim.runs import run_seed
from oncelog.txn import coordinator
from oncelog.txn.coordinator import decide_add, decide_end, decide_verify
from oncelog.txn.state import State, Txn


def first_broken(is_fit: Callable[[int], object], limit: int = 200) -> str:
    """What the first of these seeds says is wrong that tells such a story."""
    for seed in [each for each in range(limit) if is_fit(each)][:12]:
        wrong = run_seed(seed, "core").wrong
        if wrong:
            return wrong
    return ""


def test_a_coordinator_that_says_yes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def yes(
        txn: Txn | None,  # noqa: ARG001  # the rule's signature
        producer: Producer,  # noqa: ARG001
        partitions: Iterable[TopicPartition],
    ) -> Mapping[TopicPartition, ErrorCode]:
        return dict.fromkeys(partitions, ErrorCode.NONE)

    monkeypatch.setattr(transactions, "decide_verify", yes)
    assert "WrongAnswer" in first_broken(lambda _: True)


def test_a_log_that_takes_a_gap_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fine(*_: Any) -> None: ...

    monkeypatch.setattr(state, "_check_sequence", fine)
    assert first_broken(lambda seed: draw(seed).rude)


def test_a_group_whose_offsets_come_back_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave_pending(self: GroupOffsets, topic: str, partition: int) -> None:
        self.visible.get(topic, {}).pop(partition, None)

    monkeypatch.setattr(GroupOffsets, "remove", leave_pending)
    assert "tenant" in first_broken(lambda seed: draw(seed).tenants)


def test_an_heir_that_is_no_heir_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Txn, "owner", property(lambda self: self.producer))
    assert first_broken(lambda seed: draw(seed).two_phases)


@pytest.mark.parametrize("at", [each for each in State if each.value < 6])
def test_every_question_of_the_table_is_answered_by_the_rules(at: State) -> None:
    """And some of every kind is asked of an id in any state."""
    txn = Txn(
        transactional_id="a",
        producer=Producer(ProducerId(7), ProducerEpoch(5)),
        timeout_ms=1,
        state=at,
        client_version=2,
    )
    asked = questions(txn)
    assert {(each.who, each.asks) for each in asked} >= {
        key for key in IN_ANY_STATE if key[0] != "former"
    } | set(IN_REST if at not in {State.ONGOING, *coordinator.ENDING} else ())
    pending = State.COMPLETE_COMMIT if at in coordinator.ENDING else None
    there = TopicPartition("nowhere", 0)
    for each in asked:
        commit, version = not each.asks.startswith("abort"), 2 if each.asks.endswith("2") else 0
        if each.asks == "verify":
            found = decide_verify(txn, each.producer, [there])[there]
        elif each.asks == "add":
            found = decide_add(
                txn, each.producer, [there], version=2, now=coordinator.NO_TIME, pending=pending
            ).answer
        elif each.asks == "init":
            continue
        else:
            found = decide_end(
                txn,
                each.producer,
                commit=commit,
                version=version,
                now=coordinator.NO_TIME,
                fresh_id=None,
                pending=pending,
            ).answer
        assert found is each.wanted, each
