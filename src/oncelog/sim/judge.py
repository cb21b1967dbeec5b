"""Asks the coordinator what it must refuse or repeat, in whatever state an id is, and compares with a small table.

The table is spec 02 (2.4 to 2.6) in other words and shares nothing with the coordinator's own. Each question is asked of the
coordinator itself, between two events: nothing of it may change anything, so it may be asked at any moment.
"""

from collections import Counter
from collections.abc import Coroutine, Mapping
from random import Random
from typing import Any, Final, NamedTuple

from oncelog.broker.transactions import TransactionCoordinator
from oncelog.errors import ErrorCode
from oncelog.model import Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.sim.world import Machine
from oncelog.tasks import Task, spawn
from oncelog.txn.state import Caller, State, Txn

STRANGE_ID: Final = ProducerId(1 << 40)
NOWHERE: Final = TopicPartition("nowhere", 0)  # in no transaction
LAST_EPOCH: Final = 32_766

TABLE: Final = """
# who       asks        free                     ongoing                  ending
  stranger  init        PRODUCER_FENCED          PRODUCER_FENCED          CONCURRENT_TRANSACTIONS
  stranger  add         INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_ID_MAPPING CONCURRENT_TRANSACTIONS
  stranger  verify      INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_ID_MAPPING
  stranger  end1        INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_ID_MAPPING
  stranger  end2        INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_ID_MAPPING CONCURRENT_TRANSACTIONS
  higher    add         PRODUCER_FENCED          PRODUCER_FENCED          CONCURRENT_TRANSACTIONS
  higher    verify      PRODUCER_FENCED          PRODUCER_FENCED          PRODUCER_FENCED
  higher    end1        PRODUCER_FENCED          PRODUCER_FENCED          PRODUCER_FENCED
  higher    end2        PRODUCER_FENCED          PRODUCER_FENCED          CONCURRENT_TRANSACTIONS
  older     add         PRODUCER_FENCED          PRODUCER_FENCED          CONCURRENT_TRANSACTIONS
  older     verify      PRODUCER_FENCED          PRODUCER_FENCED          PRODUCER_FENCED
  older     end1        PRODUCER_FENCED          PRODUCER_FENCED          PRODUCER_FENCED
  older     end2        PRODUCER_FENCED          PRODUCER_FENCED          CONCURRENT_TRANSACTIONS
  owner     verify      TRANSACTION_ABORTABLE    TRANSACTION_ABORTABLE    CONCURRENT_TRANSACTIONS
  former    add         PRODUCER_FENCED          PRODUCER_FENCED          CONCURRENT_TRANSACTIONS
  former    end1        PRODUCER_FENCED          PRODUCER_FENCED          CONCURRENT_TRANSACTIONS
  former    commit2     PRODUCER_FENCED          PRODUCER_FENCED          CONCURRENT_TRANSACTIONS
"""
AT_REST: Final = """
# who       asks        Empty              CompleteCommit     CompleteAbort
  owner     commit1     INVALID_TXN_STATE  NONE               INVALID_TXN_STATE
  owner     abort1      INVALID_TXN_STATE  INVALID_TXN_STATE  NONE
  owner     commit2     INVALID_TXN_STATE  INVALID_TXN_STATE  INVALID_TXN_STATE
  before    commit2     PRODUCER_FENCED    NONE               INVALID_TXN_STATE
  before    abort2      PRODUCER_FENCED    INVALID_TXN_STATE  NONE
"""
"""`before`: the epoch before the last bump, as a client has it that did not hear the answer to its EndTxn (TV2)."""


def _read(table: str) -> Mapping[tuple[str, str], tuple[ErrorCode, ...]]:
    rows = [line.split() for line in table.splitlines() if line and not line.startswith("#")]
    return {(who, asks): tuple(ErrorCode[each] for each in answers) for who, asks, *answers in rows}


IN_ANY_STATE: Final = _read(TABLE)
IN_REST: Final = _read(AT_REST)
COLUMNS: Final = {State.ONGOING: 1, State.PREPARE_COMMIT: 2, State.PREPARE_ABORT: 2}
RESTING: Final = {State.EMPTY: 0, State.COMPLETE_COMMIT: 1, State.COMPLETE_ABORT: 2}


class WrongAnswer(AssertionError):
    """The coordinator said something else than Kafka does."""


class Question(NamedTuple):
    who: str
    asks: str
    wanted: ErrorCode
    producer: Producer


def questions(txn: Txn) -> list[Question]:
    """All that may be asked of an id in this state without changing it."""
    owner = txn.owner
    people = {
        "stranger": Producer(STRANGE_ID, ProducerEpoch(max(owner.epoch, 0))),
        "owner": owner,
    }
    if owner.epoch >= 0:
        people["higher"] = Producer(owner.id, ProducerEpoch(min(owner.epoch + 7, 32_767)))
    if owner.epoch == 32_767:
        del people["higher"]
    if owner.epoch >= 2:
        people["older"] = Producer(owner.id, ProducerEpoch(owner.epoch - 2))
    if txn.is_kept and txn.producer.id == owner.id:
        people["former"] = txn.producer  # its transaction has an heir (KIP-939)
    if owner.epoch >= 1 and txn.client_version == 2:
        people["before"] = Producer(owner.id, ProducerEpoch(owner.epoch - 1))
    elif owner.epoch == 0 and txn.client_version == 2 and txn.previous_producer_id not in (-1, owner.id):
        people["before"] = Producer(
            txn.previous_producer_id, ProducerEpoch(LAST_EPOCH)
        )  # its epochs are used up
    column = COLUMNS.get(txn.state, 0)
    found = [
        Question(who, asks, answers[column], people[who])
        for (who, asks), answers in IN_ANY_STATE.items()
        if who in people and not (who == "stranger" and asks == "init" and owner.epoch < 0)
    ]
    if txn.state in RESTING:
        found += [
            Question(who, asks, answers[RESTING[txn.state]], people[who])
            for (who, asks), answers in IN_REST.items()
            if who in people
        ]
    return found


class Judge:
    """Asks one question at a time."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.asked: Counter[str] = Counter()

    def look(self, machine: Machine, transactional_id: str | None = None) -> None:
        """About one id, or any."""
        if not machine.is_up or machine.is_ill:
            return
        coordinator = machine.runtime.transactions
        if transactional_id is None:
            every = sorted(txn.transactional_id for txn in coordinator.all())
            if not every:
                return
            transactional_id = self._rng.choice(every)
        txn = coordinator.get(transactional_id)
        entry = coordinator._entries.get(transactional_id)  # pyright: ignore[reportPrivateUsage]  # looked at from inside
        if txn is None or entry is None or entry.in_use:
            return  # who has his turn may change it: what is asked then is not known now
        if entry.pending is State.DEAD:
            return  # it expires just now
        for question in self._rng.sample(found := questions(txn), min(2, len(found))):
            self._ask(machine, coordinator, txn, question)

    def _ask(
        self, machine: Machine, coordinator: TransactionCoordinator, txn: Txn, question: Question
    ) -> None:
        name, who = txn.transactional_id, question.producer
        answer: ErrorCode
        if question.asks == "verify":
            answer = coordinator.verify(name, who, [NOWHERE])[NOWHERE]
        else:
            work: Coroutine[Any, Any, Any]
            match question.asks:
                case "init":
                    work = coordinator.init(name, who, txn.timeout_ms, Caller("judge", "judge", 0))
                case "add":
                    work = coordinator.add_partitions(name, who, [NOWHERE], 2)
                case _:
                    work = coordinator.end(
                        name,
                        who,
                        commit=not question.asks.startswith("abort"),
                        version=2 if question.asks.endswith("2") else 0,
                    )
            task: Task[Any] = spawn(machine.loop, work, "judge")
            if not task.done():
                raise WrongAnswer(f"{question.asks} by {question.who} of {txn} was not answered at once")
            found: Any = task.result()
            answer = found if isinstance(found, ErrorCode) else found[0]
        self.asked[question.who] += 1
        if answer is not question.wanted:
            raise WrongAnswer(
                f"{question.asks} by {question.who} {question.producer} of {txn} was answered {answer.name}, "
                f"wanted {question.wanted.name}"
            )
        if coordinator.get(name) != txn:
            raise WrongAnswer(f"{question.asks} by {question.who} changed {txn}")
