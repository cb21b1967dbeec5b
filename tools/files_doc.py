"""Fills the file map of docs/architecture.md with the first line of every module."""

import ast
import sys
from pathlib import Path

from tools.generated import ROOT, filled, main

DOCUMENT = ROOT / "docs/architecture.md"
PACKAGE = ROOT / "src/oncelog"
ORDER = (
    "cli pytest_plugin testcontainers pipelines embed server spark inspect sim broker client engine txn group log protocol record "
    "ports tasks config errors model"
).split()  # as the layers in pyproject.toml, upper first
LEFT_OUT = ("protocol/messages/", "broker/handlers/")  # generated; listed in docs/coverage.md


def about(path: Path) -> str:
    """The first sentence of a module, up to the end of its line."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return said.partition("\n")[0].rstrip(".").replace("|", "\\|")


def place(name: str) -> tuple[int, str]:
    top = name.split("/")[0].removesuffix(".py")
    return (ORDER.index(top) if top in ORDER else -1), name


def document() -> str:
    names = sorted((str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py")), key=place)
    rows = ["| file in `src/oncelog` | what it is for |", "|---|---|"]
    for name in names:
        line = about(PACKAGE / name)
        if line and not (name.startswith(LEFT_OUT) and not name.endswith("__init__.py")):
            rows.append(f"| `{name}` | {line} |")
    return filled(DOCUMENT.read_text(encoding="utf-8"), "file map", "\n".join(rows))


if __name__ == "__main__":
    sys.exit(main(DOCUMENT, document(), __doc__))
