"""The command line of both suites: run a foreign test suite against a broker and judge it by the kept lists."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.conformance import targets
from tests.conformance.suites.ledger import Ledger
from tests.toolchains import Missing


class Run(Protocol):
    def __call__(
        self, bootstrap: str, *, only: str = "", skip: Sequence[str] = (), log: Path | None = None
    ) -> dict[str, str]:
        """Test -> pass, fail or skip. `only`: as the suite's own runner takes it; `skip`: names of tests."""
        ...


@dataclass(frozen=True, slots=True)
class Suite:
    name: str  # of the kept lists
    settings: Mapping[str, str]  # of the broker, as the suite expects it
    run: Run


def main(suite: Suite, words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog=f"python -m tests.conformance.suites.{suite.name}", description=__doc__
    )
    parser.add_argument(
        "--target", default="oncelog", help="oncelog, kafka, or HOST:PORT of a running broker"
    )
    parser.add_argument(
        "--run", default="", metavar="WHICH", help="only these tests; the lists are not judged"
    )
    parser.add_argument("--all", action="store_true", help="also what is excluded; the lists are not judged")
    parser.add_argument("--accept", action="store_true", help="add new passes to the list")
    parser.add_argument("--log", type=Path, help="keep everything the tests print")
    asked = parser.parse_args(words)
    ledger = Ledger.load(suite.name)
    skip = () if asked.all else tuple(ledger.excluded)
    known = asked.target in ("oncelog", "kafka")
    try:
        with targets.run(asked.target, suite.settings) if known else nullcontext(asked.target) as bootstrap:
            outcomes = suite.run(bootstrap, only=asked.run, skip=skip, log=asked.log)
    except Missing as why:
        sys.stderr.write(f"{suite.name} left out: {why}\n")
        return 1 if os.environ.get("REQUIRE") == "all" else 0
    counts = {kind: list(outcomes.values()).count(kind) for kind in ("pass", "fail", "skip")}
    sys.stdout.write(f"{suite.name} against {asked.target}: {counts}\n")
    if asked.run or asked.all:
        sys.stdout.writelines(f"{outcome} {test}\n" for test, outcome in sorted(outcomes.items()))
        return 0
    verdict = ledger.judge(outcomes)
    sys.stdout.write(verdict.text())
    if asked.accept:
        ledger.accept(verdict.gained)
    return 0 if verdict.good else 1
