"""The keys that commands print as JSON: golden.txt."""

from pathlib import Path
from typing import Any, Final, cast

GOLDEN: Final = Path(__file__).parent / "golden.txt"


def paths(value: Any, at: str = "") -> set[str]:
    """Where something stands in a JSON value: `[].touched[].topic`."""
    if isinstance(value, list):
        below = [paths(each, f"{at}[]") for each in cast(list[Any], value)]
        return {f"{at}[]"}.union(*below)
    if isinstance(value, dict):
        named = cast(dict[str, Any], value)
        return {f"{at}.{name}" for name in named}.union(
            *(paths(each, f"{at}.{name}") for name, each in named.items())
        )
    return set()


def golden() -> dict[str, set[str]]:
    """Commands at the margin, below each its paths."""
    found: dict[str, set[str]] = {}
    current: set[str] = set()
    for line in GOLDEN.read_text().splitlines():
        if line.startswith(" "):
            current.add(line.strip())
        elif line and not line.startswith("#"):
            current = found[line] = set()
    return found
