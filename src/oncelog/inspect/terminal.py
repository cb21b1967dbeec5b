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
    r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)  # controls; text direction


def clean(text: str) -> str:
    """Text that cannot move the cursor, set a title, break a column or turn the reading direction."""
    return _HIDDEN.sub("", _SPACES.sub(" ", _ESCAPES.sub("", text)))


def width(text: str) -> int:
    """Columns that a terminal uses for it."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
