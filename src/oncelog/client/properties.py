"""A client's settings in a file, in Java's properties format: what Kafka's own tools take with `--command-config`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

SECURITY: Final = ("security.", "ssl.", "sasl.")

_ENDS_IN_BACKSLASH: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_PAIR: Final = re.compile(r"((?:[^\\=:\s]|\\.)+)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_WHITE: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_client_properties(path: str) -> dict[str, str]:
    """All settings of the file. ValueError says which file and line, and never what stands there: it may be a password."""
    settings: dict[str, str] = {}
    for number, line in _logical_lines(text_of(path)):
        found = _PAIR.fullmatch(line)
        if found is None:
            raise ValueError(f"{path}, line {number}: wanted name=value")
        settings[_plain(found[1])] = _plain(found[2])
    return settings


def text_of(path: str) -> str:
    """What is in a file of settings. ValueError says which file, and why it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as fault:
        raise ValueError(f"{path}: {fault.strerror}") from None
    except UnicodeDecodeError as fault:
        raise ValueError(f"{path}: not UTF-8 at byte {fault.start}") from None


def security_of(settings: Mapping[str, str]) -> dict[str, str]:
    """Those that say how connections are protected."""
    return {name: value for name, value in settings.items() if name.startswith(SECURITY)}


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Without comments; a line that ends in a backslash goes on in the next one. With the number of its first."""
    begun, whole = 0, ""
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r").lstrip(" \t\f")
        if not whole:
            begun = number
            if not line or line[0] in "#!":
                continue
        whole += line
        if _ENDS_IN_BACKSLASH.search(line):
            whole = whole[:-1]
        else:
            yield begun, whole
            whole = ""
    if whole:
        yield begun, whole


def _plain(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        said = found[1]
        return chr(int(said[1:], 16)) if len(said) == 5 else _WHITE.get(said, said)

    return _ESCAPED.sub(one, text)
