"""HTML from values: every text is escaped here and nowhere else. A `Safe` is markup already."""

import html
from collections.abc import Iterable, Sequence
from typing import Final, cast
from urllib.parse import quote

VOID: Final = frozenset({"input", "meta", "link", "br"})
Child = object  # None, a Safe, any value to be shown as text, or an iterable of these


class Safe(str):
    """Markup that may stand as it is."""

    __slots__ = ()


def text(value: object, limit: int = 400) -> Safe:
    """A value of others as text: no markup, no control characters, no change of the reading direction."""
    plain = "".join(each if each.isprintable() else "\ufffd" for each in str(value))
    shown = plain if len(plain) <= limit else plain[: limit - 1] + "\u2026"
    return Safe(html.escape(shown))


def el(name: str, /, *children: Child, **attributes: object) -> Safe:
    """One element. `class_` is class, `data_x` is data-x; False and None leave an attribute out, True gives it no value."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        words.append(label if value is True else f'{label}="{text(value, 2000)}"')
    opened = f"<{' '.join(words)}>"
    return Safe(opened) if name in VOID else Safe(f"{opened}{join(*children)}</{name}>")


def join(*children: Child) -> Safe:
    """Children one after the other."""
    return Safe("".join(_one(each) for each in children))


def _one(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Safe):
        return child
    if isinstance(child, str) or not isinstance(child, Iterable):
        return text(child)
    return "".join(_one(each) for each in cast(Iterable[object], child))


def table(head: Sequence[str], rows: Iterable[Sequence[Child]], *, empty: str) -> Safe:
    """A table that scrolls in its own box; numbers stand to the right. On a phone every row is a card: cells know their names."""
    cells = list(rows)
    if not cells:
        return el("p", empty, class_="empty")
    numbers = [
        "number"
        if all(isinstance(row[at], int) or row[at] == "-" for row in cells)
        and any(isinstance(row[at], int) for row in cells)
        else None
        for at in range(len(head))
    ]
    body = [
        el(
            "tr",
            *(
                el(
                    "td",
                    f"{each:,}" if isinstance(each, int) else each,
                    class_=kind,
                    data_name=name or None,
                )
                for each, kind, name in zip(row, numbers, head, strict=True)
            ),
        )
        for row in cells
    ]
    names = [el("th", each, class_=kind) for each, kind in zip(head, numbers, strict=True)]
    return el("div", el("table", el("thead", el("tr", *names)), el("tbody", *body)), class_="scroll")


def action(label: Child, *path: object, **query: object) -> Safe:
    """A link that leads to a change: never broken over two lines."""
    return el("span", link(label, *path, **query), class_="action")


def link(label: Child, *path: object, **query: object) -> Safe:
    """A link within the page; every part of the path is one name, whatever is in it.

    But for names that browsers take for steps upwards, encoded or not, and for line ends, at which routes end: those go
    into the query.
    """
    if path and (path[-1] in (".", "..") or "\n" in str(path[-1])):
        path, query = (*path[:-1], ""), {"id": path[-1], **query}
    where = "/" + "/".join(quote(str(each), safe="") for each in path)
    asked = "&".join(f"{key}={quote(str(value), safe='')}" for key, value in query.items())
    return el("a", label, href=f"{where}?{asked}" if asked else where)
