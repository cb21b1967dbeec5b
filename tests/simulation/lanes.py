"""The express lane (decision 0027) in simulated brokers: the same seed must play the same with it and without."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from oncelog.broker.runtime import Runtime
from oncelog.server.build import CannotBuild, load
from oncelog.server.lane import PARTS


def why_not() -> str | None:
    """Why this machine has no lane, if so."""
    try:
        load("lane")
    except CannotBuild as why:
        return str(why)
    return None


@contextmanager
def with_lane() -> Generator[list[Any]]:
    """Every broker that is made in here has one; all lanes, each of which counts what it served."""
    module = load("lane")
    lanes: list[Any] = []
    plain = Runtime.__init__

    def made(self: Runtime, **given: Any) -> None:
        plain(self, **given)
        self.lane = module.Lane(self, PARTS)
        lanes.append(self.lane)

    with patch.object(Runtime, "__init__", made):
        yield lanes
