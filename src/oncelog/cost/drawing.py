"""Charts as plain SVG: no script, no font, no other host; light or dark as the reader's screen is.

Nothing is told by colour alone: a bar of a cell that is lost says so.
"""

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

BAR_HEIGHT: Final = 14
LINE_HEIGHT: Final = 13
WIDTH: Final = 1000
NAME_WIDTH: Final = 450
NAME_CHARACTERS: Final = 72  # of a line
LABEL_WIDTH: Final = 170
LONGEST: Final = 4.0  # ratio that is drawn; the label says the whole
TOP: Final = 14
FOOT: Final = 40
LESS_IS_BETTER: Final = " \u2193"

# Our colours by class, and again for a dark screen.
STYLE: Final = (
    "<style>text{fill:#1f2328}.back{fill:#fff}.better{fill:#1f8a5b}.worse{fill:#c0392b}.one{stroke:#57606a;stroke-dasharray:3 3}"
    ".wanted{stroke:#1d4ed8;stroke-width:3}.grid{stroke:#d0d7de}.curve{fill:none;stroke:#1f8a5b}.spread{stroke:#1f8a5b;stroke-width:3}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117}.better{fill:#3fb27f}.worse{fill:#ff7b72}.one{stroke:#9198a1}"
    ".wanted{stroke:#79b8ff}.grid{stroke:#3d444d}.curve{stroke:#3fb27f}.spread{stroke:#3fb27f}}</style>"
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One ratio. `label` stands behind it: whose it is, and whether it is lost."""

    ratio: float
    label: str
    better: bool


@dataclass(frozen=True, slots=True)
class Row:
    """The ratios of one cell. `wanted`: where its bar stands, in the sense of what must be reached."""

    name: str
    bars: Sequence[Bar]
    wanted: float | None = None
    higher: bool = True  # is better


def opened(width: float, height: float, title: str, font: int = 11) -> str:
    """The beginning of a picture: its size, what it shows, the colours, the background."""
    size = f"0 0 {width:g} {height:g}"
    name = html.escape(title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" font-family="sans-serif" font-size="{font}" role="img" aria-label="{name}">'
        f'<title>{name}</title>{STYLE}<rect class="back" width="100%" height="100%"/>'
    )


def ratios(rows: Sequence[Row], title: str) -> str:
    """Bars from 0, a dashed line where both sides are equal, and in each row that has one a mark where its bar stands."""
    tops = [TOP]
    names = [_lines(row) for row in rows]
    for row, name in zip(rows, names, strict=True):
        tops.append(tops[-1] + max(BAR_HEIGHT * len(row.bars), LINE_HEIGHT * len(name)) + 8)
    height = tops[-1] + FOOT
    scale = (WIDTH - NAME_WIDTH - LABEL_WIDTH) / LONGEST
    equal = NAME_WIDTH + scale
    parts = [opened(WIDTH, height, title)]
    for row, name, top in zip(rows, names, tops[:-1], strict=True):
        lines = max(1.0, row.wanted or 0.0)  # a label stands behind them, not across
        parts += [
            f'<text x="4" y="{top + 11 + LINE_HEIGHT * number}">{html.escape(line)}</text>'
            for number, line in enumerate(name)
        ]
        for number, bar in enumerate(row.bars):
            y, wide = top + number * BAR_HEIGHT, min(bar.ratio, LONGEST) * scale
            shade = "better" if bar.better else "worse"
            label = html.escape(f"{bar.ratio:.2f}x {bar.label}".rstrip())
            parts.append(
                f'<rect class="{shade}" x="{NAME_WIDTH}" y="{y}" width="{wide:.0f}" height="{BAR_HEIGHT - 2}"/>'
                f'<text x="{NAME_WIDTH + max(wide, lines * scale) + 7:.0f}" y="{y + 10}">{label}</text>'
            )
        if row.wanted is not None:
            x, end = NAME_WIDTH + row.wanted * scale, top + BAR_HEIGHT * len(row.bars)
            parts.append(f'<line class="wanted" x1="{x:.0f}" x2="{x:.0f}" y1="{top - 2}" y2="{end}"/>')
    parts.append(
        f'<line class="one" x1="{equal:.0f}" x2="{equal:.0f}" y1="{TOP - 6}" y2="{tops[-1]}"/>'
        f'<text x="{equal:.0f}" y="{tops[-1] + 12}" text-anchor="middle">1.0</text>'
    )
    said = f"ours to theirs; beyond the dashed line ours is more; {LESS_IS_BETTER.strip()} less is better; thick mark: the bar that is wanted"
    return "".join(parts) + f'<text x="4" y="{height - 10}">{html.escape(said)}</text></svg>\n'


def _lines(row: Row) -> list[str]:
    return textwrap.wrap(row.name + ("" if row.higher else LESS_IS_BETTER), NAME_CHARACTERS)
