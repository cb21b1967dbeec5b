"""Why cells of `oncelog bench eos` are lost, by exact row and form of ours; what was not measured says so.

A row that is lost and stands not here is published as one without a known reason, and a test fails
(tests/bench/test_lost.py).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from oncelog.cost.report import Judged, cores

REASONING: Final = "Reasoning, not measured: "
UNKNOWN: Final = "No reason is known yet."
NATIVE: Final = "oncelog"
PYTHON: Final = "oncelog, hot.path=python"
POWER: Final = "oncelog, durability=power"


@dataclass(frozen=True, slots=True)
class Reason:
    """What is thought; what the raw file tells of it, a few words of the row and the form, if there are any; and what is known for certain."""

    thought: str
    measured: Callable[[Judged, str], str] = lambda row, form: ""  # noqa: ARG005
    known: str = ""

    def said(self) -> str:
        return f"{self.known}{' ' if self.known else ''}{REASONING}{self.thought}"


def cores_busy(row: Judged, form: str) -> str:
    """Of the brokers, ours and the one that it is compared with."""
    judge = [side for side in row.runs if not side.startswith("oncelog")][-1]
    ours, theirs = cores(row, form), cores(row, judge)
    return "" if ours is None or theirs is None else f"cores kept busy {ours:.2f}, Kafka {theirs:.2f}"


def beside_the_lane(row: Judged, form: str) -> str:
    """What the same request takes where it is not Python that answers."""
    del form
    return f"in the lane {row.values[NATIVE]:.2f} ms" if NATIVE in row.values else ""


ONE_THREAD: Final = Reason(
    "one thread answers everybody: what delays it (a slow write, another process on its core) delays all that wait. Single rounds differ by "
    "several times on both sides, as the brackets tell."
)
INTERPRETER: Final = Reason(
    "it is the interpreter's time: at these rates nobody waits in line, and the lane does the same steps on the same files.",
    beside_the_lane,
)
COMPLETE: Final = Reason(
    "the rest is the interpreter's time: at these rates nobody waits in line, and the lane does the same steps on the same files.",
    beside_the_lane,
    known="We answer EndTxn when the transaction is complete, its markers written (`end.txn.reply=complete`), Kafka when it is prepared.",
)
TWO_SYNCS: Final = Reason(
    "that is one more than Kafka's answers wait for.",
    known="We answer EndTxn when the transaction is complete, Kafka when it is prepared. So ours waits for two syncs, one after the other, of Prepare and "
    "of the markers, and a whole transaction for four (seen by strace, one producer).",
)
ONE_CORE: Final = Reason(
    "our broker has one thread and cannot use more than one core, Kafka uses both; what the clients leave of them decides.",
    cores_busy,
)
WHOLE_REQUESTS: Final = Reason(
    "the copy into the page cache is most of it, and Kafka receives the next request meanwhile; we have one thread.",
    cores_busy,
)
REAL_CLIENT: Final = Reason(
    "the client needs more CPU than either broker (the last column), and its batches grow while the broker is busy, which favours the one with "
    "more threads.",
    cores_busy,
)
UNPACKED: Final = Reason(
    "a compressed batch is unpacked and checked by Python, with or without the lane.", cores_busy
)
COPIED: Final = Reason(
    "Kafka hands the file to the socket in the kernel; we read and send it. What sendfile would change was tried, for the step alone: "
    "[decision 0028](decisions/0028-three-that-are-not-built.md).",
    cores_busy,
)
AS_LONG_AS_OPEN: Final = Reason(
    "the delay is the time for which the transaction stays open, the same on both sides; what is left is little beside it."
)
SYNCED: Final = Reason(
    "who comes while a sync runs waits for its end and then for one of his own, which serves all that came meanwhile; where few come, as at this "
    "rate, that is a wait without a gain. Kafka syncs in the thread of each request."
)
CACHES: Final = Reason(
    "the lane is code of its own, and more that is done in the same time leaves more in caches and in the record of requests."
)
TAIL: Final = Reason("we read the tail behind the last checkpoint with Python.")


def latencies(what: Sequence[str], shares: Sequence[str], paced: Sequence[str]) -> list[str]:
    return [f"{each}, {share} {pace}" for pace in paced for each in what for share in shares]


PACED: Final = (
    "at 1,000 txn/s, 50 producers",
    "at 50 txn/s, 1 producer",
    "at 500 txn/s, 10 producers",
    "at 1,000 txn/s, 200 producers",
    "at 1,000 txn/s, 50 producers, 100 B",
)
POWER_PACED: Final = (
    "at 100 txn/s, 50 producers",
    "at 50 txn/s, 1 producer",
    "at 100 txn/s, 10 producers",
    "at 100 txn/s, 200 producers",
)
WRITERS: Final = ("whole transaction", "EndTxn")
READERS: Final = ("begin to read at read_committed", "EndTxn to read (lag of the last stable offset)")
READ_PACED: Final = (
    "at 100 txn/s",
    "at 100 txn/s, 100 B",
    *(f"of transactions open for {each} ms" for each in ("10", "100", "1,000")),
)
POWER_READ_PACED: Final = (
    "at 20 txn/s",
    *(f"of transactions open for {each} ms" for each in ("100",)),
)
MANY_TRANSACTIONS: Final = (
    "transactions of 10 records, 10 producers",
    "transactions of 10 records, 50 producers",
    "transactions of 10 records, 200 producers",
    "transactions of 100 records, 10 producers",
    "transactions of 1,000 records, 10 producers",
    "transactions of 10 records of 100 B, 50 producers",
    "transactions of 1,000 records of 100 B, 10 producers",
)
OTHER_PARTITIONS: Final = (
    "transactions of 10 records, 50 producers, 1 partition",
    "transactions of 10 records, 50 producers, 100 partitions",
)
MANY_CONNECTIONS: Final = (
    "plain produce, acks=1, 1 KB, 16 KB batches, 10 producers",
    "idempotent produce, 1 KB, 16 KB batches, 10 producers",
    "idempotent produce, 100 connections, each to a partition of its own",
    "idempotent produce, 100 connections",
    "idempotent produce, 1,000 connections",
)
COMPRESSED: Final = (
    "idempotent produce, 1 KB, 16 KB batches, lz4",
    "idempotent produce, 1 KB, 16 KB batches, zstd",
)
REAL_CLIENTS: Final = (
    "transactions of 10 records, 1 producer, librdkafka",
    "transactions of 1,000 records, 1 producer, librdkafka",
    "idempotent produce, 1 KB, linger 0, librdkafka",
    "idempotent produce, 1 KB, linger 0, Java",
)
FETCHES: Final = (
    "read_committed fetch of cached data",
    "read_committed fetch of cached data, 12 partitions",
    "read_committed fetch of cached data, 100 B",
)
MEMORY: Final = ("resident memory, idle", "resident memory, under load")
RECOVERIES: Final = tuple(
    f"recovery after kill -9 to the first committed transaction, 1 GiB of log, {against}"
    for against in ("Kafka waits for its session of 9 s", "Kafka's session 1 s")
)


def _all() -> dict[tuple[str, str], Reason]:
    found: dict[tuple[str, str], Reason] = {}
    late = ("p99", "p99.9")
    both, everywhere = (NATIVE, PYTHON), (NATIVE, PYTHON, POWER)
    given: list[tuple[Reason, Sequence[str], Sequence[str]]] = [
        (ONE_THREAD, both, latencies(WRITERS, late, PACED)),
        (INTERPRETER, (PYTHON,), latencies(WRITERS[:1], ("p50",), PACED)),
        (COMPLETE, (PYTHON,), latencies(WRITERS[1:], ("p50",), PACED)),
        (ONE_THREAD, both, latencies(READERS, ("p99",), READ_PACED[:1])),
        (ONE_THREAD, (NATIVE,), latencies(READERS, ("p99",), READ_PACED[1:2])),
        (INTERPRETER, (PYTHON,), latencies(READERS, ("p50",), READ_PACED[:1])),
        (AS_LONG_AS_OPEN, (NATIVE,), latencies(READERS[:1], ("p50", "p99"), READ_PACED[2:])),
        (ONE_THREAD, (NATIVE,), latencies(READERS[1:], ("p99",), READ_PACED[2:])),
        (ONE_CORE, both, MANY_TRANSACTIONS + MANY_CONNECTIONS),
        (ONE_CORE, (NATIVE,), OTHER_PARTITIONS),
        (WHOLE_REQUESTS, everywhere, ("idempotent produce, 1 KB, 1 MB batches",)),
        (REAL_CLIENT, everywhere, REAL_CLIENTS),
        (UNPACKED, both, COMPRESSED),
        (COPIED, both, FETCHES),
        (CACHES, everywhere, MEMORY),
        (TAIL, (NATIVE,), RECOVERIES),
        (TWO_SYNCS, (POWER,), latencies(WRITERS, ("p50",), POWER_PACED)),
        (TWO_SYNCS, (POWER,), latencies(WRITERS[1:], late, POWER_PACED)),
        (ONE_THREAD, (POWER,), latencies(WRITERS[:1], late, POWER_PACED)),
        (SYNCED, (POWER,), latencies(READERS, ("p50",), POWER_READ_PACED[:1])),
        (ONE_THREAD, (POWER,), latencies(READERS, ("p99",), POWER_READ_PACED[:1])),
        (AS_LONG_AS_OPEN, (POWER,), latencies(READERS[:1], ("p50", "p99"), POWER_READ_PACED[1:])),
        (SYNCED, (POWER,), latencies(READERS[1:], ("p50", "p99"), POWER_READ_PACED[1:])),
    ]
    for reason, forms, rows in given:
        for row in rows:
            for form in forms:
                assert (form, row) not in found, (form, row)
                found[form, row] = reason
    return found


REASONS: Final[Mapping[tuple[str, str], Reason]] = _all()
