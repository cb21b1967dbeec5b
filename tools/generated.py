"""Files that are made of code: written by `make docs`, and compared by `make check` so that they cannot go stale."""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def filled(text: str, name: str, content: str) -> str:
    """`text` with `content` between the two comments that name it."""
    begin, end = f"<!-- made by make docs: {name} -->", f"<!-- end: {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"wanted the lines {begin!r} and {end!r}, found them not")
    return pattern.sub(lambda _: f"{begin}\n{content}\n{end}", text)


def main(path: Path, text: str, about: str | None) -> int:
    """Writes `text` to `path`; with --check only says whether it stands there already."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if the file is out of date"
    )
    asked = parser.parse_args()
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return 0
    name = path.relative_to(ROOT)
    if asked.check:
        sys.stderr.write(f"{name} is out of date: run 'make docs'\n")
        return 1
    path.write_text(text, encoding="utf-8")
    sys.stderr.write(f"wrote {name}\n")
    return 0
