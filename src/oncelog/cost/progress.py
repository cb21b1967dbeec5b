"""How far a measurement is: a line with a bar for each step, and how long the rest will take."""

import math
import time
from collections.abc import Callable
from typing import Final

BAR: Final = 20  # characters
MINUTE: Final = 60.0


class Progress:
    """Steps are not equally long: each says how many seconds it takes on an idle machine, and so does all of it, what comes between steps included.
    What is left is that of the steps to come, at the pace of those before."""

    def __init__(
        self,
        tell: Callable[[str], None],
        steps: int,
        expected_s: float = 0.0,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell = tell
        self._steps = steps
        self._done = 0
        self._expected_s = expected_s
        self._passed_s = 0.0  # of what was expected
        self._clock = clock
        self._begun = clock()
        if expected_s:
            tell(f"expected: {minutes(expected_s)} on an idle machine")

    def passed(self, seconds: float) -> None:
        """Something that is no step is done, and so long was expected of it."""
        self._passed_s += seconds

    def step(self, line: str, seconds: float = 0.0) -> None:
        self._done += 1
        self._passed_s += seconds
        full = BAR * self._done // max(self._steps, 1)
        self._tell(f"[{'#' * full}{'.' * (BAR - full)}] {self._done}/{self._steps}{self._left()} {line}")

    def _left(self) -> str:
        left_s = self._expected_s - self._passed_s
        if not self._passed_s or left_s <= 0 or self._done >= self._steps:
            return ""
        pace = (self._clock() - self._begun) / self._passed_s
        return f", {minutes(left_s * pace)} left"


def minutes(seconds: float) -> str:
    """In whole ones: it is a guess."""
    count = math.ceil(seconds / MINUTE)
    return "a minute" if count <= 1 else f"{count:,} minutes"
