"""Random sessions of right and wrong requests: oncelog says to each what Apache Kafka said, and leaves the same logs.

`make test` compares with what Kafka said when it was last asked (sessions/, python -m tests.vectors.record_sessions); `make oracle`
asks it again, and plays sessions that nobody has seen on both.
"""

import difflib
import secrets
from collections.abc import Iterator, Sequence

import pytest

from tests.vectors.conftest import start
from tests.vectors.play import Target
from tests.vectors.random_session import KEPT, STEPS, kept_file, kept_transcript, steps, transcript
from tests.vectors.txn_targets import targets

LIKE_KAFKA = {"transaction.late.requests.refuse": "false"}  # the guard of decision 0010 is not Kafka's
NEW_SESSIONS = 6


@pytest.fixture(scope="module", params=targets())
def brokers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """Of our own: a session may kill it."""
    extra = None if request.param == "kafka" else LIKE_KAFKA
    with start(request.param, tmp_path_factory.mktemp("sessions"), extra) as found:
        yield found


def compare(seed: int, wanted: Sequence[str], said: Sequence[str], by: str) -> None:
    if list(wanted) != list(said):
        lines = difflib.unified_diff(wanted, said, "Apache Kafka", by, n=3, lineterm="")
        pytest.fail(f"session {seed}:\n" + "\n".join(lines), pytrace=False)


@pytest.mark.parametrize("seed", list(KEPT))
def test_a_random_session_is_answered_as_by_kafka(brokers: Target, seed: int) -> None:
    wanted = kept_file(seed).read_text(encoding="utf-8").splitlines()
    compare(seed, wanted, kept_transcript(brokers, seed), brokers.name)


@pytest.mark.needs_oracle
def test_sessions_that_nobody_has_seen(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("new")
    with start("oncelog", folder, LIKE_KAFKA) as ours, start("kafka", folder) as kafka:
        for _ in range(NEW_SESSIONS):
            seed = secrets.randbelow(1 << 31)
            compare(seed, transcript(kafka, seed, STEPS), transcript(ours, seed, STEPS), "oncelog")


def test_the_kept_sessions_ask_for_everything() -> None:
    """Every kind of step in every version; and each is answered with success and with a refusal somewhere."""
    asked = {(step.kind, step.version) for seed in KEPT for step in steps(seed, STEPS)}
    wanted = {
        *(("init", version) for version in range(6)),
        *(("add", version) for version in range(6)),
        *(("offsets", version) for version in range(5)),
        *(("offset commit", version) for version in range(6)),
        *(("produce", version) for version in range(3, 14)),
        *(("end", version) for version in range(6)),
        *(("marker", version) for version in (1, 2)),
        *(("list", version) for version in range(3)),
    }
    assert wanted <= asked
    told = "\n".join(kept_file(seed).read_text(encoding="utf-8") for seed in KEPT).splitlines()
    for kind in ("init", "add", "offsets", "offset commit", "produce", "end", "marker"):
        answers = [line.partition(" -> ")[2] for line in told if line[1:].startswith(f" {kind} v")]
        assert any("NONE" in answer for answer in answers), kind
        assert len({answer.partition(" ")[0] for answer in answers}) >= 3, kind
