"""Makes docs/decisions/README.md of the decision records: number, title, state."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.generated import ROOT, main

FOLDER = ROOT / "docs/decisions"
DOCUMENT = FOLDER / "README.md"
TEMPLATE = "0000-template.md"
PARTS = ("Context", "Decision", "Price", "Would change our mind")

# "# 0007 A reply leaves when Prepare is durable       accepted, supersedes 0003": two spaces part title and state
TITLE = re.compile(
    r"# (?P<number>\d{4}) (?P<title>\S.*?)\s{2,}(?P<state>(?:proposed|accepted|superseded by \d{4}).*)"
)

INTRODUCTION = """\
# Decisions

One page each: what forced us, what we do, what it costs, what would change our mind. A new one begins as a copy of
[0000-template.md](0000-template.md). This list is made by `make docs`.

| number | decision | state |
|---|---|---|"""


@dataclass(frozen=True, slots=True)
class Record:
    file: str
    number: str
    title: str
    state: str
    missing: tuple[str, ...]  # of PARTS


def read_record(path: Path) -> Record:
    """One record; ValueError where its first line is not a title."""
    text = path.read_text(encoding="utf-8")
    first = text.partition("\n")[0]
    found = TITLE.fullmatch(first.rstrip())
    if found is None:
        raise ValueError(f"{path.name}: wanted a first line '# 0007 Title  accepted', found {first!r}")
    missing = tuple(
        part for part in PARTS if not re.search(rf"^(?:#+ |\*\*)?{part}(?:[:.]|\*\*|$)", text, re.MULTILINE)
    )
    return Record(path.name, found["number"], found["title"], found["state"], missing)


def read_records() -> list[Record]:
    return [read_record(path) for path in sorted(FOLDER.glob("[0-9]*.md")) if path.name != TEMPLATE]


def document(records: list[Record]) -> str:
    rows = [f"| {each.number} | [{each.title}]({each.file}) | {each.state} |" for each in records]
    return "\n".join([INTRODUCTION, *rows]) + "\n"


if __name__ == "__main__":
    sys.exit(main(DOCUMENT, document(read_records()), __doc__))
