"""What can go wrong for a client: each fault says what was asked, of whom, and what came back."""

from oncelog.errors import ErrorCode, OncelogError


class ClientFault(OncelogError):
    """The root of the client's faults."""


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
