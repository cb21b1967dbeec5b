"""1,000 single bit flips over every kind of file: each is refused by name, seen by the reader's CRC, or harmless."""

from dataclasses import replace
from random import Random

import pytest

from oncelog.engine.classic import segment
from oncelog.engine.classic.metadata import COPIES, JOURNAL
from oncelog.record import time_index
from oncelog.sim.plan import draw
from oncelog.sim.story import Story
from tests.simulation.flips import (
    AIMED,
    HARMLESS,
    READER,
    REFUSED,
    SILENT,
    aimed,
    contents,
    fate,
    flip_all,
    flip_these,
    last_line,
    left,
    nothing_more,
    one_by_one,
)

FLIPS = 500
JOURNAL_ONLY = (nothing_more,)
SEEDS = (2, 10)  # both have segments of all three that the cleaner has been through
KINDS = {".log", ".index", ".timeindex", ".txnindex", ".checks", ".snapshot", ".batches"}


@pytest.mark.parametrize("clean", [True, False], ids=["after a clean stop", "after a kill"])
def test_j16_a_flipped_bit_is_never_silent(clean: bool) -> None:
    outcomes, silent, kinds = flip_all(FLIPS, 16, clean=clean)
    assert kinds >= KINDS
    assert silent == []
    assert outcomes[SILENT] == 0
    assert outcomes[HARMLESS] + outcomes[REFUSED] + outcomes[READER] == FLIPS
    assert outcomes[REFUSED] > FLIPS // 10


def test_every_bit_of_every_last_time_is_as_it_was_for_retention_and_who_looks_up_by_time() -> None:
    """Retention by time deletes by the last entry of a segment's .timeindex: it was read alone, and believed."""
    files, wanted = left(clean=True)
    (start, _), (end, _) = wanted["left by retention"]
    assert 0 < start < end
    paths = [path for path in files if path.endswith(".timeindex")]
    assert len(paths) > 4
    for path in paths:
        data = files[path]
        for bit in range(8 * time_index.ENTRY_BYTES):
            changed = bytearray(data)
            changed[len(data) - 1 - bit // 8] ^= 1 << bit % 8
            assert fate({**files, path: bytes(changed)}, wanted) == (HARMLESS, ""), (path, bit)


@pytest.mark.parametrize("clean", [True, False], ids=["after a clean stop", "after a kill"])
def test_every_bit_of_the_last_line_of_the_journal_flips_and_nothing_is_lost(clean: bool) -> None:
    """It was taken for a torn line after a kill: a topic was gone, its settings, or the producer ids that were given."""
    files, wanted = left(clean=clean)
    for path in COPIES:
        assert b'"configs":{"retention.bytes"' in files[path].splitlines()[-1]
        bits = list(last_line(files, path))
        assert len(bits) > 1000
        assert flip_these(files, wanted, bits, JOURNAL_ONLY)[0].keys() == {HARMLESS}
    # The same bit in both copies is more than one copy can mend. After a clean stop it is refused.
    outcomes, silent = flip_these(files, wanted, last_line(files, JOURNAL), JOURNAL_ONLY, also=COPIES[1:])
    assert outcomes.keys() == {REFUSED if clean else SILENT}
    assert bool(silent) is not clean


@pytest.mark.parametrize("clean", [True, False], ids=["after a clean stop", "after a kill"])
def test_no_flipped_base_offset_is_believed(clean: bool) -> None:
    """They are not under the batch's CRC; each batch is also where a row of reads goes on, which asks no index."""
    files, wanted = left(clean=clean)
    outcomes, silent = flip_these(files, wanted, aimed(files), (one_by_one, contents))
    assert silent == []
    assert outcomes.keys() == {REFUSED}
    assert outcomes[REFUSED] >= AIMED


@pytest.mark.parametrize("topic", ["__transaction_state", "__consumer_offsets", "map"])
def test_j16_a_flipped_bit_in_what_the_coordinators_keep_is_never_silent(topic: str) -> None:
    """Files that the cleaner has been through too: after a clean stop of a broker with transactions and groups."""
    flips = refused = 0
    for seed in SEEDS:
        story = Story(seed, plan=replace(draw(seed), flips=1))
        story.run()
        story.invariants.check_flips(FLIPS // 5, Random(f"flips of {topic} {seed}"), only=f"{topic}-")
        flips += story.invariants.flips
        refused += story.invariants.refused
    assert flips > FLIPS // 5
    assert refused > flips // 20


def test_without_checks_some_flips_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Kafka, whose index files have no checksum: the flips do hit what matters."""
    monkeypatch.setattr(segment, "decode_checks", lambda data: None)  # noqa: ARG005  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    _, silent, _ = flip_all(300, 16, clean=True)
    assert any(".txnindex" in each for each in silent)
