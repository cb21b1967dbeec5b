"""1,000 single bit flips over every kind of file: each is refused by name, seen by the reader's CRC, or harmless."""

import pytest

from oncelog.engine.classic import segment
from tests.simulation.flips import HARMLESS, READER, REFUSED, SILENT, flip_all

FLIPS = 500
KINDS = {".log", ".index", ".timeindex", ".txnindex", ".checks", ".snapshot", ".batches"}


@pytest.mark.parametrize("clean", [True, False], ids=["after a clean stop", "after a kill"])
def test_j16_a_flipped_bit_is_never_silent(clean: bool) -> None:
    outcomes, silent, kinds = flip_all(FLIPS, 16, clean=clean)
    assert kinds >= KINDS
    assert silent == []
    assert outcomes[SILENT] == 0
    assert outcomes[HARMLESS] + outcomes[REFUSED] + outcomes[READER] == FLIPS
    assert outcomes[REFUSED] > FLIPS // 10


def test_without_checks_some_flips_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Kafka, whose index files have no checksum: the flips do hit what matters."""
    monkeypatch.setattr(segment, "decode_checks", lambda data: None)  # noqa: ARG005  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    _, silent, _ = flip_all(300, 16, clean=True)
    assert any(".txnindex" in each for each in silent)
