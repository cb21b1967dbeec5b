"""Tells at the end of a run what the simulator went through: the counts that docs/reliability.md promises.

tests/conftest.py calls it: with several workers, the process that sums up loads no conftest.py further down.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import pytest

TRANSACTIONS = ("committed", "aborted", "copied")


def totals(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Of all pieces, and of both profiles together what is promised of both."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    for profile in ("core", "wire"):
        total[f"{profile} transactions"] = sum(total[f"{profile} {name}"] for name in TRANSACTIONS)
        total[f"{profile} random crashes"] = (
            total[f"{profile} random kills and cuts"] + total[f"{profile} disk faults"]
        )
    for name in ("transactions", "random crashes", "random kills and cuts"):
        total[name] = total[f"core {name}"] + total[f"wire {name}"]
    return total


def tell(terminalreporter: pytest.TerminalReporter) -> None:
    counts: list[dict[str, int]] = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if (
                isinstance(report, pytest.TestReport)
                and report.when == "call"
                and "tests/simulation/" in report.nodeid
            ):
                counts += [{name: value} for name, value in report.user_properties if isinstance(value, int)]
    if not counts:
        return
    total = totals(counts)
    terminalreporter.section("what the simulator went through")
    for name, count in sorted(total.items()):
        terminalreporter.line(f"{count:14,}  {name}")
