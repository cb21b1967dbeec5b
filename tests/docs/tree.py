"""The files of the repository, for tests that read them."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that git knows or would take, relative to the root; generated and ignored ones are left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = {name for name in listed.stdout.decode().split("\0") if name}
    return tuple(Path(name) for name in sorted(names) if (ROOT / name).is_file())


def python_files(*folders: str) -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py" and path.parts[0] in folders]


def documents() -> list[Path]:
    """Every Markdown file that we write by hand or generate."""
    return [path for path in tracked() if path.suffix == ".md"]


def text_of(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")
