"""Counts and times of what happened, kept in memory: plain numbers by name, no formatting on the way."""


class Counters:
    """Names are `part.what`; a time is three numbers: how many, their sum and the longest, in milliseconds."""

    def __init__(self) -> None:
        self._values: dict[str, int] = {}

    def add(self, name: str, count: int = 1) -> None:
        self._values[name] = self._values.get(name, 0) + count

    def time(self, name: str, ms: int) -> None:
        self.add(f"{name}.count")
        self.add(f"{name}.ms_sum", ms)
        longest = f"{name}.ms_max"
        self._values[longest] = max(self._values.get(longest, 0), ms)

    def get(self, name: str) -> int:
        return self._values.get(name, 0)

    def all(self) -> dict[str, int]:
        """A copy, by name."""
        return dict(sorted(self._values.items()))
