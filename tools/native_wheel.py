"""A wheel with the compiled hot path inside, for this Python and this kind of machine: `make wheel-native`.

The pure wheel is built as always; the compiled modules are added under oncelog/_native, and its tag says for whom it is.
"""

import base64
import csv
import hashlib
import io
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from oncelog import native
from tools.native import ROOT, build, place

INSIDE: Final = f"oncelog/_native/{native.TAG}"


def tag() -> str:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{re.sub(r'[^a-z0-9]', '_', sysconfig.get_platform())}"


def packed(pure: Path, folder: Path) -> Path:
    """The pure wheel with the compiled modules, as a new file in the folder."""
    with zipfile.ZipFile(pure) as wheel:
        files = {each: wheel.read(each) for each in wheel.namelist()}
    about = next(each for each in files if each.endswith(".dist-info/WHEEL"))
    record = about.replace("WHEEL", "RECORD")
    text = files[about].decode().replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
    files[about] = re.sub(r"^Tag: .*$", f"Tag: {tag()}", text, flags=re.MULTILINE).encode()
    for each in sorted(place().rglob("*")):
        if each.is_file():
            files[f"{INSIDE}/{each.relative_to(place())}"] = each.read_bytes()
    rows = io.StringIO()
    lines = csv.writer(rows, lineterminator="\n")
    for name, data in files.items():
        if name != record:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.writerow((name, f"sha256={digest}", len(data)))
    lines.writerow((record, "", ""))
    files[record] = rows.getvalue().encode()
    made = folder / pure.name.replace("py3-none-any", tag())
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)
    return made


def main() -> int:
    build()
    folder = ROOT / "dist"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        words = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", scratch]
        subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        (pure,) = Path(scratch).glob("*.whl")
        print(packed(pure, folder).relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
