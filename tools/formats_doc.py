"""Makes docs/formats.md of the byte maps at the heads of the modules that read and write them."""

import ast
import sys
from pathlib import Path

from tools.generated import ROOT, main

DOCUMENT = ROOT / "docs/formats.md"
PACKAGE = ROOT / "src/oncelog"

CHAPTERS = {
    "Record batches": ("record/batch.py", "record/varint.py", "record/compression.py", "record/marker.py"),
    "Files of a partition": (
        "record/offset_index.py",
        "record/time_index.py",
        "record/aborted.py",
        "record/snapshot.py",
        "engine/classic/checks.py",
    ),
    "Files of a data directory": ("record/checkpoints.py", "engine/classic/metadata.py", "txn/image.py"),
    "Internal topics": ("record/schema.py", "record/offsets.py", "record/txn_state.py"),
}
NO_FORMAT = {"record/__init__.py", "record/crc.py"}

INTRODUCTION = """\
# Every byte on disk

Made of the heads of the modules by `make docs`: change it there. Everything but the journal of topics, the .checks files and the
checkpoint of the transaction coordinator is Apache Kafka's own format, and Kafka's `kafka-dump-log` reads it. Integers are big-endian; a
number at the left of a field is its first byte.
"""


def head(name: str) -> str:
    said = ast.get_docstring(ast.parse((PACKAGE / name).read_text(encoding="utf-8")))
    if not said:
        raise ValueError(f"{name}: wanted a docstring with the byte map, found none")
    return said


def document() -> str:
    listed = {name for names in CHAPTERS.values() for name in names} | NO_FORMAT
    unlisted = {f"record/{path.name}" for path in Path(PACKAGE, "record").glob("*.py")} - listed
    if unlisted:
        raise ValueError(
            f"tools/formats_doc.py: wanted a chapter for every module of record/, found none for {sorted(unlisted)}"
        )
    parts = [INTRODUCTION]
    for chapter, names in CHAPTERS.items():
        parts.append(f"## {chapter}")
        for name in names:
            first, _, rest = head(name).partition("\n")
            parts.append(
                f"{first} (`src/oncelog/{name}`)\n"
                + (f"```text\n{rest.strip(chr(10))}\n```\n" if rest.strip() else "")
            )
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main(DOCUMENT, document(), __doc__))
