"""Sends record batches that somebody else has sealed: several under way, in order, the same bytes at every retry."""

from types import TracebackType
from typing import Final, Self

from oncelog.client.cluster import Cluster
from oncelog.client.transactional import TransactionProtocol
from oncelog.model import Producer, TopicPartition

MAX_IN_FLIGHT: Final = 5  # batches of one partition: a broker remembers five per producer


class BatchWriter:
    """`write` queues and sends what it can without waiting, `flush` waits. Its own connections, opened when first used.

    transactional_id  None: outside of transactions
    producer          whose id and epoch the batches carry; (-1, -1) for plain batches, which go one at a time per partition,
                      because nothing but the order of sending keeps their order
    protocol          Produce v12 for TV2 (partitions join by themselves), v11 for TV1 (add_partitions first). None: asked
                      of the cluster. Of no meaning outside of transactions
    timeout_ms        how long a batch may take from `write` to its acknowledgement, retries included
    buffer_limit_bytes  how much may be queued or unacknowledged: `write` waits before it is more

    acks=all always. NOT_ENOUGH_REPLICAS, CONCURRENT_TRANSACTIONS, moved leaders and broken connections are tried again with
    the same bytes. Any other refusal breaks the writer: the fault is raised by this and every later call. Fenced: another
    producer has the transactional id. TransactionLost: the transaction is no longer open. RefusedByBroker: MESSAGE_TOO_LARGE
    and the like, with the partition and the size. Not for more than one thread at a time.
    """

    def __init__(
        self,
        cluster: Cluster,
        transactional_id: str | None,
        producer: Producer,
        *,
        protocol: TransactionProtocol | None = None,
        timeout_ms: int = 120_000,
        buffer_limit_bytes: int = 33_554_432,
        request_limit_bytes: int = 1_048_576,
    ) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes; flushes first unless there was a fault."""
        raise NotImplementedError

    def write(self, partition: TopicPartition, batch: bytes | bytearray | memoryview) -> None:
        """Queues one whole record batch (61-byte header with producer, sequence and CRC). The bytes must not change any
        more. Batches of a partition are written in the order of these calls.
        """
        raise NotImplementedError

    def flush(self) -> dict[TopicPartition, list[int]]:
        """Waits until all is acknowledged: the base offset of every batch since the last flush, in the order of `write`."""
        raise NotImplementedError

    def log_end(self, partition: TopicPartition) -> int:
        """The log end offset now (ListOffsets latest, read_uncommitted). For the duplicate guard: a batch that was answered
        with an offset below what this said before it was written had been there already, from another writer.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Closes the connections. What was not flushed may or may not be written."""
        raise NotImplementedError
