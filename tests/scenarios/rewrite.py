"""`python -m tests.scenarios.rewrite [STORY...]` plays stories on Apache Kafka and writes below the lines what it said.

Read the diff before you keep it. Stories that only oncelog can play are played on oncelog. --check writes nothing.
"""

import argparse
import difflib
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.oracle import Oracle
from tests.processes import ServedBroker
from tests.scenarios.script import Script, load
from tests.scenarios.stage import Stage
from tests.vectors.play import Broker

HERE: Final = Path(__file__).resolve().parent
# A time-out is looked for five times a second instead of every ten; both brokers know the name.
SETTINGS: Final[Mapping[str, str]] = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}


def stories() -> list[Path]:
    return sorted(HERE.glob("*.txt"))


@contextmanager
def broker_of(script: Script, target: str) -> Generator[Broker]:
    """A fresh broker with the settings of the story."""
    settings = {**SETTINGS, **script.settings}
    if target == "kafka":
        with Oracle(settings, heap="400m") as kafka:
            yield kafka
    else:
        with (
            tempfile.TemporaryDirectory(prefix="oncelog-") as folder,
            ServedBroker(Path(folder) / "data", settings={**settings, **script.oncelog_settings}) as served,
        ):
            yield served


def retell(script: Script, target: str) -> Script:
    """The story as this broker tells it."""
    with broker_of(script, target) as broker:
        return script.retold(Stage(broker).play(script))


def difference(kept: Script, told: Script, target: str) -> str:
    lines = difflib.unified_diff(
        kept.text().splitlines(), told.text().splitlines(), f"{kept.name}.txt", target, n=8, lineterm=""
    )
    return "\n".join(lines)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios.rewrite", description=__doc__)
    parser.add_argument("stories", nargs="*", help="names without .txt; all if none is given")
    parser.add_argument("--check", action="store_true", help="only say what would change")
    asked = parser.parse_args(words)
    paths = [HERE / f"{name}.txt" for name in asked.stories] or stories()
    changed = False
    for path in paths:
        kept = load(path)
        target = "oncelog" if kept.only_oncelog else "kafka"
        told = retell(kept, target)
        found = difference(kept, told, target)
        sys.stdout.write(f"{found}\n" if found else f"{path.name}: as it was\n")
        changed = changed or bool(found)
        if found and not asked.check:
            path.write_text(told.text())
    return 1 if changed and asked.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
