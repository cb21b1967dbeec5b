"""Fills the measured table of README.md from bench/results/produce.json, which `make bench` writes."""

import json
import sys

from bench.report import conditions, table
from tools.generated import ROOT, filled, main

DOCUMENT = ROOT / "README.md"
RESULTS = ROOT / "bench/results/produce.json"


def document() -> str:
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    content = f"{table(found)}\n{conditions(found)}"
    return filled(DOCUMENT.read_text(encoding="utf-8"), "measured", content)


if __name__ == "__main__":
    sys.exit(main(DOCUMENT, document(), __doc__))
