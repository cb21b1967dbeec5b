"""Makes docs/coverage.md of the heads of the handlers: which APIs are answered, in which versions, what is left out."""

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.generated import ROOT, main

HANDLERS = ROOT / "src/oncelog/broker/handlers"
DOCUMENT = ROOT / "docs/coverage.md"

# "Produce (key 0), v3-v13." or "OffsetDelete (key 47), v0."
FIRST_LINE = re.compile(
    r"(?P<name>\w+) \(key (?P<key>\d+)\), v(?P<low>\d+)(?:-v(?P<high>\d+))?\b[.:,]?\s*(?P<more>.*)"
)

INTRODUCTION = """\
# Which APIs oncelog answers

Made of the heads of `src/oncelog/broker/handlers/*.py` by `make docs`: change it there. A request with another key or
version closes the connection, as Apache Kafka does; an ApiVersions request of any version is answered.
"""


@dataclass(frozen=True, slots=True)
class Head:
    """What a handler says of itself. `said` is its docstring, `constants` its KEY and VERSIONS."""

    file: str
    name: str
    said_key: int
    said_versions: tuple[int, int]
    key: int
    versions: tuple[int, int]
    first_line: str
    rest: str

    @property
    def left_out(self) -> str:
        """The sentence after "Left out:", on one line; empty where nothing is."""
        found = re.search(r"^Left out: (.*?)(?=\n\s*\n|\Z)", self.rest, re.DOTALL | re.MULTILINE)
        return " ".join(found[1].split()) if found else ""


def versions_text(versions: tuple[int, int]) -> str:
    low, high = versions
    return f"v{low}" if low == high else f"v{low}-v{high}"


def read_head(path: Path) -> Head:
    """The head of one handler; ValueError says what is missing."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = ast.get_docstring(tree)
    if said is None:
        raise ValueError(f"{path.name}: wanted a docstring, found none")
    first, _, rest = said.partition("\n")
    found = FIRST_LINE.fullmatch(first)
    if found is None:
        raise ValueError(f'{path.name}: wanted a first line like "EndTxn (key 26), v0-v5.", found {first!r}')
    constants: dict[str, object] = {
        statement.target.id: ast.literal_eval(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and statement.target.id in ("KEY", "VERSIONS")
        and statement.value is not None
    }
    match constants.get("KEY"), constants.get("VERSIONS"):
        case int(key), (int(low), int(high)):
            versions = (low, high)
        case _:
            raise ValueError(
                f"{path.name}: wanted KEY: Final = 26 and VERSIONS: Final = (0, 5), found {constants}"
            )
    said_low = int(found["low"])
    return Head(
        file=path.name,
        name=found["name"],
        said_key=int(found["key"]),
        said_versions=(said_low, int(found["high"] or said_low)),
        key=key,
        versions=versions,
        first_line=found["more"],
        rest=rest.strip("\n"),
    )


def read_heads(folder: Path = HANDLERS) -> list[Head]:
    """All heads, by API key. A module whose name begins with an underscore is no handler."""
    paths = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    return sorted((read_head(path) for path in paths), key=lambda head: head.key)


def document(heads: list[Head]) -> str:
    lines = [INTRODUCTION, "| key | API | versions | left out |", "|---|---|---|---|"]
    for head in heads:
        left_out = head.left_out.replace("|", "\\|") or "-"
        lines.append(
            f"| {head.key} | [{head.name}](#{head.name.lower()}) | {versions_text(head.versions)} | {left_out} |"
        )
    for head in heads:
        lines += [
            "",
            f"## {head.name}",
            f"Key {head.key}, {versions_text(head.versions)}. {head.first_line}".rstrip(),
        ]
        if head.rest:
            lines += ["```text", head.rest, "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(DOCUMENT, document(read_heads()), __doc__))
