"""What can go wrong for a client: each fault says what was asked, of whom, and what came back."""

from oncelog.errors import ErrorCode, OncelogError
from oncelog.model import Producer, TopicPartition


class ClientFault(OncelogError):
    """The root of the client's faults. They may be pickled: a worker's fault is told to its driver.

    `in_doubt`: a commit was sent and its answer never came, so it may be in the log or not.
    """

    in_doubt: bool = False

    def __reduce__(self) -> tuple[object, tuple[type["ClientFault"], tuple[object, ...], dict[str, object]]]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[ClientFault], words: tuple[object, ...], fields: dict[str, object]) -> ClientFault:
    """A fault as it was, whatever its class wants to be made of."""
    fault = kind.__new__(kind, *words)
    fault.args = words
    fault.__dict__.update(fields)
    return fault


class Unreachable(ClientFault):
    """Nobody answers at that address, or the connection broke before the answer came."""


class TimedOut(ClientFault):
    """The time given for something has passed."""


class UnsupportedByBroker(ClientFault):
    """The broker does not offer a version of this request that we can speak."""


class RefusedByBroker(ClientFault):
    """The broker answered with an error code."""

    def __init__(self, error: int, asked: str, whom: str, message: str | None = None) -> None:
        self.error = error
        self.asked = asked
        self.whom = whom
        self.message = message
        said = f" ({message})" if message else ""
        super().__init__(f"{asked}: {whom} answered {error_name(error)}{said}")


class AuthenticationFailed(ClientFault):
    """The broker does not accept who we say we are, or we do not accept it (TLS). Asking again would not help."""


class OffsetOutOfRange(ClientFault):
    """The log does not hold the offset any more, or not yet."""

    def __init__(self, partition: TopicPartition, position: int, log_start: int, log_end: int) -> None:
        self.partition = partition
        self.position = position
        self.log_start = log_start
        self.log_end = log_end
        super().__init__(
            f"Fetch of {partition} at offset {position}: the log holds offsets {log_start} to {log_end - 1}"
            if log_end > log_start
            else f"Fetch of {partition} at offset {position}: the log is empty, its next offset is {log_end}"
        )


class TransactionFault(ClientFault):
    """A transaction cannot go on. `current`: who holds the transactional id now, where the broker tells."""

    def __init__(
        self,
        said: str,
        *,
        transactional_id: str,
        producer: Producer,
        current: Producer | None = None,
        in_doubt: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer = producer
        self.current = current
        self.in_doubt = in_doubt
        super().__init__(said)


class Fenced(TransactionFault):
    """Another producer has taken over the transactional id: it called InitProducerId after us."""


class TransactionLost(TransactionFault):
    """The transaction is not open any more: the coordinator aborted it (its time was up), or it was ended already."""


def error_name(error: int) -> str:
    """Kafka's name of an error code; a code that we do not know keeps its number."""
    try:
        return ErrorCode(error).name
    except ValueError:
        return f"error {error}"


def demand(error: int, asked: str, whom: str, message: str | None = None) -> None:
    """Raises RefusedByBroker unless the answer is NONE."""
    if error != ErrorCode.NONE:
        raise RefusedByBroker(error, asked, whom, message)


RETRIABLE = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
"""Answers after which the same request may be sent again, perhaps to another broker."""
