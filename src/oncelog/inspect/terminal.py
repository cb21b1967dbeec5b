"""Text of others for a terminal: without its teeth (T29), and as wide as a terminal draws it."""

import re
import unicodedata
from typing import Final

_ESCAPES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor moves
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"  # OSC, DCS, SOS, PM, APC: titles, clipboard
    r"|\x1b[ -/]*[0-~]"  # all other two- and three-character sequences
)
_SPACES: Final = re.compile(r"[\t\n\r\x0b\x0c\x85\u2028\u2029]")
_HIDDEN: Final = re.compile(
    # controls; text direction; what has no width
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# Drawn as nothing at all, though they count as letters or marks: joiners, fillers, selectors.
_DRAWN_AS_NOTHING: Final = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_SHORT: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def clean(text: str) -> str:
    """Data that cannot move the cursor, set a title, break a column or turn the reading direction."""
    return _HIDDEN.sub("", _SPACES.sub(" ", _ESCAPES.sub("", text)))


def is_plain(text: str) -> bool:
    """Whether everything in it can be seen: two plain names that look the same in a terminal differ by look-alikes at most."""
    return text.isprintable() and _DRAWN_AS_NOTHING.search(text) is None


def visible(text: str) -> str:
    """A name, or words with names in them: what cannot be seen is shown as Python writes it, so that no name passes for another."""
    return text if is_plain(text) else "".join(each if is_plain(each) else _escaped(each) for each in text)


def _escaped(letter: str) -> str:
    number = ord(letter)
    if letter in _SHORT:
        return _SHORT[letter]
    return (
        f"\\x{number:02x}"
        if number < 0x100
        else f"\\u{number:04x}"
        if number < 0x10000
        else f"\\U{number:08x}"
    )


def width(text: str) -> int:
    """Columns that a terminal uses for it."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
