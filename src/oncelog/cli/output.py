"""One value, three faces: a table on a terminal, TSV in a pipe, JSON when asked. Data is printed without its teeth (T29)."""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO, cast

from oncelog.inspect.terminal import clean, visible, width


def cell(value: object) -> str:
    """A value as one column of a table or TSV: bytes are data, everything else is a name or ours."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, bytes):
        return clean(value.decode("utf-8", "replace"))
    return visible(str(value))


class Printer:
    """Where answers go. Progress and complaints go to stderr, always."""

    def __init__(
        self, *, as_json: bool, lines: bool = False, out: TextIO | None = None, err: TextIO | None = None
    ) -> None:
        """`lines`: JSON in lines, one for each element of a list."""
        self.as_json = as_json
        self._lines = lines
        self._out = sys.stdout if out is None else out
        self._err = sys.stderr if err is None else err
        self.is_table = not as_json and self._out.isatty()
        self._bold = self.is_table and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Printer":
        """By `--output`."""
        return cls(as_json=options.json, lines=options.output == "jsonl")

    def value(self, value: Any) -> None:
        """One JSON document; with `lines` one for each element of a list."""
        if self._lines and isinstance(value, list):
            for each in cast(list[Any], value):
                self.line(json.dumps(each))
        else:
            self.line(json.dumps(value))

    def line(self, text: str) -> None:
        """As it is: for what is ours, or clean already."""
        self._out.write(text + "\n")

    def say(self, text: str) -> None:
        """A line with words of others in it."""
        self.line(visible(text))

    def row(self, cells: Sequence[object]) -> None:
        """One row of a stream, whose widths nobody knows beforehand: always TSV."""
        self.line("\t".join(cell(each) for each in cells))

    def rows(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
        """The rows as a JSON array, an aligned table, or TSV with a head line."""
        if self.as_json:
            self.value(list(rows))
            return
        head = [column.upper() for column in columns]
        cells = [[cell(row[column]) for column in columns] for row in rows]
        if not self.is_table:
            for each in [head, *cells]:
                self.line("\t".join(each))
            return
        widths = [max(width(line[at]) for line in [head, *cells]) for at in range(len(columns))]
        right = [bool(rows) and all(isinstance(row[column], int) for row in rows) for column in columns]
        for number, each in enumerate([head, *cells]):
            text = "  ".join(_pad(one, widths[at], right[at]) for at, one in enumerate(each)).rstrip()
            self.line(f"\x1b[1m{text}\x1b[0m" if number == 0 and self._bold else text)

    def note(self, text: str) -> None:
        """Progress, on stderr."""
        print(visible(text), file=self._err)

    def flush(self) -> None:
        self._out.flush()


def _pad(text: str, to: int, right: bool) -> str:
    fill = " " * (to - width(text))
    return fill + text if right else text + fill
