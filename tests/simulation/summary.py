"""Tells at the end of a run what the simulator went through: the counts that docs/reliability.md promises.

tests/conftest.py calls it: with several workers, the process that sums up loads no conftest.py further down.
"""

from collections import Counter

import pytest


def tell(terminalreporter: pytest.TerminalReporter) -> None:
    total: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if (
                isinstance(report, pytest.TestReport)
                and report.when == "call"
                and "tests/simulation/" in report.nodeid
            ):
                for name, value in report.user_properties:
                    if isinstance(value, int):
                        total[name] += value
    if not total:
        return
    for profile in ("core", "wire"):
        total[f"{profile} transactions"] = sum(
            total[f"{profile} {name}"] for name in ("committed", "aborted", "copied")
        )
    terminalreporter.section("what the simulator went through")
    for name, count in sorted(total.items()):
        terminalreporter.line(f"{count:14,}  {name}")
