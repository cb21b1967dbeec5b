"""What the coordinator keeps of one transactional id, and which state may follow which."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from oncelog.model import NO_PRODUCER_ID, Millis, Producer, ProducerEpoch, ProducerId, TopicPartition

MAX_EPOCH: Final = 32766  # the last epoch a client may hold; 32767 is kept for fencing (I6)
NO_EPOCH: Final = -1
NO_TIME: Final = Millis(-1)
NEVER_TIMES_OUT_MS: Final = 2**31 - 1  # the timeout of a two-phase-commit transaction (KIP-939)
TV1: Final = 0  # the classic protocol; feature level 0 or 1
TV2: Final = 2  # KIP-890: an epoch per transaction


class State(IntEnum):
    """Kafka's states by Kafka's numbers. DEAD and PREPARE_EPOCH_FENCE live in memory only."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def kafka_name(self) -> str:
        """As DescribeTransactions and ListTransactions spell it."""
        return "".join(word.capitalize() for word in self.name.split("_"))


# TX-3: target <- from. The diagram in docs/transactions.md is drawn from this table.
MAY_FOLLOW: Final[Mapping[State, frozenset[State]]] = {
    State.EMPTY: frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT}),
    State.ONGOING: frozenset({State.ONGOING, State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT}),
    State.PREPARE_COMMIT: frozenset({State.ONGOING}),
    State.PREPARE_ABORT: frozenset(
        {State.ONGOING, State.PREPARE_EPOCH_FENCE, State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT}
    ),
    State.COMPLETE_COMMIT: frozenset({State.PREPARE_COMMIT}),
    State.COMPLETE_ABORT: frozenset({State.PREPARE_ABORT}),
    State.DEAD: frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT}),
    State.PREPARE_EPOCH_FENCE: frozenset({State.ONGOING}),
}

FREE: Final = frozenset(
    {State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT}
)  # no transaction is under way
ENDING: Final = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asked: kept beside the state so that nobody has to guess why an epoch was bumped."""

    client_id: str
    host: str
    port: int


ADMIN_CLIENTS: Final = ("oncelog-cli", "oncelog-ui", "adminclient-")


def is_admin(client_id: str | None) -> bool:
    """An abort by an administrator fences like a new instance does: only the name of the client tells them apart.

    adminclient-N is what Kafka's own tools call themselves unless told otherwise.
    """
    return client_id is not None and client_id.startswith(ADMIN_CLIENTS)


@dataclass(frozen=True, slots=True)
class Bump:
    """Why the epoch of a transactional id was last bumped, but for the bumps that end its transactions."""

    cause: str  # new instance, timeout, recovery
    at_ms: Millis
    by: Caller | None
    producer: Producer  # as it was bumped to

    @property
    def counted_as(self) -> str:
        """The cause, with an administrator told from a new instance."""
        return "admin" if self.by is not None and is_admin(self.by.client_id) else self.cause


class Txn(NamedTuple):
    """One transactional id. All of it is written to __transaction_state, but for `last_producer_epoch` (TRAP-11).

    A tuple, for one is made three times per transaction: a frozen dataclass takes three times as long. Fields by name only.
    """

    transactional_id: str
    producer: Producer
    timeout_ms: int
    previous_producer_id: ProducerId = NO_PRODUCER_ID
    next_producer_id: ProducerId = NO_PRODUCER_ID
    next_producer_epoch: int = (
        NO_EPOCH  # only beside a next id: of a kept transaction's heir (KIP-939), or at its end
    )
    last_producer_epoch: int = NO_EPOCH
    state: State = State.EMPTY
    partitions: tuple[TopicPartition, ...] = ()  # sorted; those still awaiting their marker in Prepare*
    start_ms: Millis = NO_TIME
    update_ms: Millis = NO_TIME
    client_version: int = TV1
    """TV of the last AddPartitions or EndTxn: 0 or 2."""

    @property
    def is_kept(self) -> bool:
        """Ongoing, and handed over to an heir that has not ended it yet (KIP-939, keepPreparedTxn)."""
        return self.state is State.ONGOING and self.next_producer_id != NO_PRODUCER_ID

    @property
    def is_two_phase(self) -> bool:
        """Its end is decided elsewhere (KIP-939): neither a clock nor a start of the broker may end it."""
        return self.timeout_ms == NEVER_TIMES_OUT_MS or self.is_kept

    @property
    def owner(self) -> Producer:
        """Who may speak for the id: its producer, or the heir of a transaction that was kept."""
        if self.is_kept:
            return Producer(self.next_producer_id, ProducerEpoch(self.next_producer_epoch))
        return self.producer
