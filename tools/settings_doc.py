"""Fills the tables of docs/operating.md with the settings that oncelog.config honours."""

import sys
from collections.abc import Mapping

from oncelog.config import BROKER_KEYS, TOPIC_KEYS, Key
from tools.generated import ROOT, filled, main

DOCUMENT = ROOT / "docs/operating.md"


def table(keys: Mapping[str, Key], *, synonyms: bool) -> str:
    """One Markdown table, by name."""
    rows = [
        "| name | default | wanted | what it does |" + (" broker default |" if synonyms else ""),
        "|---|---|---|---|" + ("---|" if synonyms else ""),
    ]
    for name in sorted(keys):
        key = keys[name]
        cells = [f"`{name}`", f"`{key.default}`" if key.default else "", key.wanted, key.doc]
        if synonyms:
            cells.append(f"`{key.broker_synonym}`" if key.broker_synonym else "")
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def document() -> str:
    text = DOCUMENT.read_text(encoding="utf-8")
    text = filled(text, "broker settings", table(BROKER_KEYS, synonyms=False))
    return filled(text, "topic settings", table(TOPIC_KEYS, synonyms=True))


if __name__ == "__main__":
    sys.exit(main(DOCUMENT, document(), __doc__))
