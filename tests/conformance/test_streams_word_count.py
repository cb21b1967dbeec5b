"""Kafka Streams counts words with exactly_once_v2 and is killed in the middle, again and again: every word counts once."""

import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pytest

from oncelog.client.easy import create_topic, read_all, write_all
from tests.conformance import targets
from tests.conformance.transactional import java_class
from tests.toolchains import Missing, leave_out

PARTITIONS: Final = 2
KILLS: Final = 3
LINES: Final = 300  # between two kills
WORDS: Final = "once is enough and twice is wrong so count each word of a line once and only once".split()
SETTINGS: Final = {
    "group.min.session.timeout.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
LIMIT_S: Final = 60


@pytest.fixture(params=targets.chosen())
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    try:
        java_class("WordCount")
        with targets.run(request.param, SETTINGS) as address:
            yield address
    except Missing as why:
        leave_out(f"Kafka Streams on {request.param}", why)


class Counting:
    """One instance of the application; the state folder outlives it."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.states: list[str] = []
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 it lives as long as the process
        words = [bootstrap, "word-count", "lines", "counts", str(folder)]
        self._process = subprocess.Popen(
            [*java_class("WordCount"), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.states.append(line.strip())

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.wait()
        self._listener.join()

    def __str__(self) -> str:
        self._errors.seek(0)
        errors = self._errors.read().decode(errors="replace")[-4000:]
        return f"went through {self.states}, exit code {self._process.poll()}; its stderr ends: {errors}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        for each in (self._process.stdin, self._process.stdout, self._errors):
            assert each is not None
            each.close()


def lines(first: int, count: int) -> list[str]:
    """Lines of one to seven words, different from each other in how many."""
    return [
        " ".join(WORDS[(n + k) % len(WORDS)] for k in range(1 + n % 7)) for n in range(first, first + count)
    ]


def write(bootstrap: str, some: Sequence[str]) -> None:
    for partition in range(PARTITIONS):
        mine = [line.encode() for line in some[partition::PARTITIONS]]
        write_all(bootstrap, "lines", mine, partition=partition)


def told(bootstrap: str) -> dict[str, list[int]]:
    """Every count that was told of a word, in order."""
    found: dict[str, list[int]] = {}
    for each in read_all(bootstrap, "counts"):
        found.setdefault((each.key or b"").decode(), []).append(int(each.value or b""))
    return found


def total(counts: dict[str, list[int]]) -> int:
    return sum(some[-1] for some in counts.values())


def wait_for_total(bootstrap: str, wanted: int, instance: Counting) -> dict[str, list[int]]:
    deadline = time.monotonic() + LIMIT_S
    while total(counts := told(bootstrap)) < wanted:
        assert time.monotonic() < deadline, (
            f"{total(counts)} of {wanted} words after {LIMIT_S} s; it {instance}"
        )
        time.sleep(0.05)
    return counts


def wait_for_open(bootstrap: str, instance: Counting) -> None:
    """Until counts are written and not committed: a transaction is ongoing, and up to a second is left to be in its middle."""
    deadline = time.monotonic() + LIMIT_S
    while written(bootstrap, "uncommitted") <= written(bootstrap, "committed"):
        assert time.monotonic() < deadline, f"no transaction was open in {LIMIT_S} s; it {instance}"


def written(bootstrap: str, isolation: str) -> int:
    return len(read_all(bootstrap, "counts", isolation))


@pytest.mark.timeout(300)
def test_every_word_counts_once(bootstrap: str, tmp_path: Path) -> None:
    for topic in ("lines", "counts"):
        create_topic(bootstrap, topic, PARTITIONS)
    sent: list[str] = []
    for _ in range(KILLS):
        before = sum(len(line.split()) for line in sent)
        some = lines(len(sent), LINES)
        sent += some
        with Counting(bootstrap, tmp_path / "state") as instance:
            write(bootstrap, some[: LINES // 2])
            wait_for_total(bootstrap, before + 1, instance)  # it has taken over and committed something
            write(bootstrap, some[LINES // 2 :])
            wait_for_open(bootstrap, instance)
            instance.kill()
    wanted = Counter(word for line in sent for word in line.split())
    with Counting(bootstrap, tmp_path / "state") as instance:
        counts = wait_for_total(bootstrap, wanted.total(), instance)
    assert {word: some[-1] for word, some in counts.items()} == dict(wanted)
    for word, some in counts.items():
        assert some == sorted(set(some)), f"{word!r} was counted {some}"
    aborted = written(bootstrap, "uncommitted") - written(bootstrap, "committed")
    assert aborted > 0, "no kill hit a transaction"
