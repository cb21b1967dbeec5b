"""Topic patterns of KIP-848 subscriptions: RE2's syntax, matched in time linear in the name.

A pattern becomes a small automaton; its states are bits of one integer, and steps are remembered, so a name costs about
one look-up per character. Topic names are ASCII: a character class is a 128-bit mask. A whole name must match.
Left out of RE2: classes by script or category (`\\p{Greek}`), `\\C`. Refused as in RE2: back-references, look-around,
possessive and nested repetition, repeat counts above 1000.
"""

from dataclasses import dataclass, field
from typing import Final

from oncelog.errors import OncelogError

LIMIT_PATTERN_CHARS: Final = 4096
LIMIT_INSTRUCTIONS: Final = 2000
LIMIT_REPEAT: Final = 1000
LIMIT_DEPTH: Final = 100
LIMIT_REMEMBERED_STEPS: Final = 10_000

ASCII: Final = (1 << 128) - 1


def _mask(characters: str) -> int:
    mask = 0
    for character in characters:
        if ord(character) < 128:
            mask |= 1 << ord(character)
    return mask


def _span(first: int, last: int) -> int:
    """The mask of all ASCII characters from first to last."""
    last = min(last, 127)
    return 0 if first > last else ((1 << (last + 1)) - 1) & ~((1 << first) - 1)


DIGIT: Final = _span(ord("0"), ord("9"))
UPPER: Final = _span(ord("A"), ord("Z"))
LOWER: Final = _span(ord("a"), ord("z"))
WORD: Final = DIGIT | UPPER | LOWER | _mask("_")
SPACE: Final = _mask("\t\n\f\r ")
NEWLINE: Final = _mask("\n")
PERL: Final = {
    "d": DIGIT,
    "D": ASCII & ~DIGIT,
    "w": WORD,
    "W": ASCII & ~WORD,
    "s": SPACE,
    "S": ASCII & ~SPACE,
}
POSIX: Final = {
    "alnum": DIGIT | UPPER | LOWER,
    "alpha": UPPER | LOWER,
    "ascii": ASCII,
    "blank": _mask("\t "),
    "cntrl": _span(0, 31) | _span(127, 127),
    "digit": DIGIT,
    "graph": _span(33, 126),
    "lower": LOWER,
    "print": _span(32, 126),
    "punct": _span(33, 47) | _span(58, 64) | _span(91, 96) | _span(123, 126),
    "space": SPACE | _mask("\v"),
    "upper": UPPER,
    "word": WORD,
    "xdigit": DIGIT | _span(ord("A"), ord("F")) | _span(ord("a"), ord("f")),
}
CONTROL: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class BadPattern(OncelogError):
    """A pattern that RE2 refuses, or that is larger than we keep."""


# The syntax tree. A pattern is small, so plain classes do.


@dataclass(frozen=True, slots=True)
class _Class:
    mask: int


@dataclass(frozen=True, slots=True)
class _Assert:
    kind: str  # "^" "$" "b" "B"


@dataclass(frozen=True, slots=True)
class _Sequence:
    parts: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Either:
    parts: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    part: "_Node"
    low: int
    high: int  # -1: without end


_Node = _Class | _Assert | _Sequence | _Either | _Repeat


@dataclass(slots=True)
class _Parser:
    text: str
    at: int = 0
    depth: int = 0
    ignore_case: bool = False
    dot_all: bool = False

    def whole(self) -> _Node:
        node = self.either()
        if self.at < len(self.text):
            raise BadPattern(f"unexpected {self.text[self.at]!r} at {self.at} in {self.text!r}")
        return node

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def take(self) -> str:
        if self.at == len(self.text):
            raise BadPattern(f"{self.text!r} ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def either(self) -> _Node:
        parts = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else _Either(tuple(parts))

    def sequence(self) -> _Node:
        parts: list[_Node] = []
        while self.peek() not in ("", "|", ")"):
            node = self.atom()
            if node is not None:
                parts.append(self.repeated(node))
        return _Sequence(tuple(parts))

    def repeated(self, node: _Node) -> _Node:
        bounds = self.bounds()
        if bounds is None:
            return node
        if self.peek() == "?":
            self.at += 1  # lazy or not: the same names match
        begin = self.at
        if self.bounds() is not None:
            raise BadPattern(f"nested repetition at {begin} in {self.text!r}")
        return _Repeat(node, *bounds)

    def bounds(self) -> tuple[int, int] | None:
        """The repetition that begins here; a brace that is no count is an ordinary character."""
        simple = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}.get(self.peek())
        if simple is not None:
            self.at += 1
            return simple
        if self.peek() != "{":
            return None
        end = self.text.find("}", self.at)
        if end < 0:
            return None
        low, comma, high = self.text[self.at + 1 : end].partition(",")
        if not _is_count(low) or (high and not _is_count(high)):
            return None
        least = int(low)
        most = least if not comma else int(high) if high else -1
        if least > LIMIT_REPEAT or most > LIMIT_REPEAT or 0 <= most < least:
            raise BadPattern(f"bad repeat count {self.text[self.at : end + 1]!r} in {self.text!r}")
        self.at = end + 1
        return least, most

    def atom(self) -> _Node | None:
        begin = self.at
        character = self.take()
        match character:
            case "*" | "+" | "?":
                raise BadPattern(f"nothing to repeat at {begin} in {self.text!r}")
            case "(":
                return self.group()
            case "[":
                return self.bracket()
            case ".":
                return _Class(ASCII if self.dot_all else ASCII & ~NEWLINE)
            case "^" | "$":
                return _Assert(character)
            case "\\":
                return self.escape()
            case _:
                return self.literal(character)

    def literal(self, character: str) -> _Class:
        return _Class(self.folded(_mask(character)))

    def folded(self, mask: int) -> int:
        if not self.ignore_case:
            return mask
        return mask | (mask & UPPER) << 32 | (mask & LOWER) >> 32

    def group(self) -> _Node | None:
        self.depth += 1
        if self.depth > LIMIT_DEPTH:
            raise BadPattern(f"more than {LIMIT_DEPTH} groups inside each other")
        outer = (self.ignore_case, self.dot_all)
        if self.peek() == "?":
            self.at += 1
            if self.peek() == "P" or self.text.startswith("<", self.at):
                self.name()
            elif self.flags() == ")":
                self.depth -= 1
                return None  # flags for the rest of the enclosing group
        node = self.either()
        if self.take() != ")":
            raise BadPattern(f"missing ) in {self.text!r}")
        self.depth -= 1
        self.ignore_case, self.dot_all = outer
        return node

    def name(self) -> None:
        if self.peek() == "P":
            self.at += 1
        end = self.text.find(">", self.at)
        name = self.text[self.at + 1 : end]
        if self.peek() != "<" or end < 0 or not name or any(not _is_word(each) for each in name):
            raise BadPattern(f"bad group name in {self.text!r}")
        self.at = end + 1

    def flags(self) -> str:
        on, changed = True, False
        while True:
            character = self.take()
            if character in ":)":
                if not on and not changed:
                    raise BadPattern(f"flags end with - in {self.text!r}")
                return character
            if character == "-" and on:
                on, changed = False, False
                continue
            if character not in "imsU":  # m: names have one line; U: greed does not matter
                raise BadPattern(f"unknown group (?{character} in {self.text!r}")
            changed = True
            if character == "i":
                self.ignore_case = on
            elif character == "s":
                self.dot_all = on

    def escape(self) -> _Node:
        character = self.take()
        if character in PERL:
            return _Class(PERL[character])
        if character in "Az":
            return _Assert("^" if character == "A" else "$")
        if character in "bB":
            return _Assert(character)
        if character == "Q":
            end = self.text.find("\\E", self.at)
            quoted = self.text[self.at :] if end < 0 else self.text[self.at : end]
            self.at = len(self.text) if end < 0 else end + 2
            return _Sequence(tuple(self.literal(each) for each in quoted))
        return self.literal(self.escaped(character))

    def escaped(self, character: str) -> str:
        """One character after a backslash, the same outside and inside of brackets."""
        if character in CONTROL:
            return CONTROL[character]
        if character == "x":
            return self.hexadecimal()
        if character == "0":
            return self.octal()
        if not _is_word(character) and ord(character) < 128:
            return character
        raise BadPattern(f"unknown escape \\{character} in {self.text!r}")

    def octal(self) -> str:
        value = 0
        for _ in range(2):
            if self.peek() and self.peek() in "01234567":
                value = value * 8 + int(self.take())
        return chr(value)

    def hexadecimal(self) -> str:
        if self.peek() == "{":
            end = self.text.find("}", self.at)
            digits = self.text[self.at + 1 : end] if end >= 0 else ""
            self.at = end + 1
        else:
            digits = self.text[self.at : self.at + 2]
            self.at += 2
            digits = digits if len(digits) == 2 else ""
        if not digits or len(digits) > 6 or any(each not in "0123456789abcdefABCDEF" for each in digits):
            raise BadPattern(f"bad \\x escape in {self.text!r}")
        value = int(digits, 16)
        if value > 0x10FFFF:
            raise BadPattern(f"bad \\x escape in {self.text!r}")
        return chr(value)

    def bracket(self) -> _Class:
        negated = self.peek() == "^"
        if negated:
            self.at += 1
        mask, first = 0, True
        while first or self.peek() != "]":
            first = False
            if self.text.startswith("[:", self.at) and ":]" in self.text[self.at :]:
                mask |= self.posix()
                continue
            low = self.take()
            if low == "\\":
                if self.peek() and self.peek() in PERL:
                    mask |= PERL[self.take()]
                    continue
                low = self.escaped(self.take())
            high = low
            if self.peek() == "-" and not self.text.startswith("-]", self.at):
                self.at += 1
                high = self.take()
                if high == "\\":
                    high = self.escaped(self.take())
                if high < low:
                    raise BadPattern(f"bad range {low}-{high} in {self.text!r}")
            mask |= _span(ord(low), ord(high))
        self.at += 1
        mask = self.folded(mask)
        return _Class(ASCII & ~mask if negated else mask)

    def posix(self) -> int:
        end = self.text.index(":]", self.at)
        name = self.text[self.at + 2 : end]
        mask = POSIX.get(name.removeprefix("^"))
        if mask is None:
            raise BadPattern(f"unknown class [:{name}:] in {self.text!r}")
        self.at = end + 2
        return ASCII & ~mask if name.startswith("^") else mask


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def _is_word(character: str) -> bool:
    return ord(character) < 128 and bool(WORD >> ord(character) & 1)


@dataclass(slots=True)
class _Program:
    """Instruction i: consume a character of `masks[i]`, or (mask 0 and in `jumps`) go on elsewhere at once."""

    masks: list[int] = field(default_factory=list[int])
    jumps: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    asserts: dict[int, str] = field(default_factory=dict[int, str])

    def add(self, mask: int = 0) -> int:
        if len(self.masks) == LIMIT_INSTRUCTIONS:
            raise BadPattern(f"a pattern of more than {LIMIT_INSTRUCTIONS} steps")
        self.masks.append(mask)
        return len(self.masks) - 1

    def emit(self, node: _Node) -> None:
        match node:
            case _Class(mask):
                self.add(mask)
            case _Assert(kind):
                self.asserts[self.add()] = kind
            case _Sequence(parts):
                for part in parts:
                    self.emit(part)
            case _Either(parts):
                self.emit_either(parts)
            case _Repeat(part, low, high):
                self.emit_repeat(part, low, high)

    def emit_either(self, parts: tuple[_Node, ...]) -> None:
        fork = self.add()
        begins: list[int] = []
        ends: list[int] = []
        for part in parts:
            begins.append(len(self.masks))
            self.emit(part)
            ends.append(self.add())
        self.jumps[fork] = tuple(begins)
        for end in ends:
            self.jumps[end] = (len(self.masks),)

    def emit_repeat(self, part: _Node, low: int, high: int) -> None:
        for _ in range(low):
            self.emit(part)
        if high < 0:
            fork = self.add()
            self.emit(part)
            again = self.add()
            self.jumps[again] = (fork,)
            self.jumps[fork] = (fork + 1, len(self.masks))
            return
        forks: list[int] = []
        for _ in range(high - low):
            forks.append(self.add())
            self.emit(part)
        for fork in forks:
            self.jumps[fork] = (fork + 1, len(self.masks))


class Pattern:
    """A compiled pattern. Raises BadPattern if it cannot be one."""

    __slots__ = ("_accepts", "_asserts", "_closures", "_end", "_jumps", "_steps", "text")

    def __init__(self, text: str) -> None:
        if len(text) > LIMIT_PATTERN_CHARS:
            raise BadPattern(f"a pattern of {len(text)} characters, at most {LIMIT_PATTERN_CHARS} are kept")
        program = _Program()
        program.emit(_Parser(text).whole())
        self.text = text
        self._jumps = program.jumps
        self._asserts = program.asserts
        self._end = len(program.masks)
        accepts: list[int] = []  # per character: the instructions that take it
        for character in range(128):
            takes = 0
            for index, mask in enumerate(program.masks):
                if mask >> character & 1:
                    takes |= 1 << index
            accepts.append(takes)
        self._accepts = accepts
        self._closures: dict[tuple[int, int], int] = {}
        self._steps: dict[tuple[int, int, int], int] = {}

    def matches(self, name: str) -> bool:
        """Does the whole name match?"""
        states = self._closure(0, _context(name, 0))
        for at, character in enumerate(name):
            code = ord(character)
            if code > 127:
                return False
            states = self._step(states, code, _context(name, at + 1))
            if not states:
                return False
        return bool(states >> self._end & 1)

    def _step(self, states: int, code: int, context: int) -> int:
        key = (states, code, context)
        known = self._steps.get(key)
        if known is not None:
            return known
        following = 0
        taken = states & self._accepts[code]
        while taken:
            lowest = taken & -taken
            following |= self._closure(lowest.bit_length(), context)
            taken ^= lowest
        if len(self._steps) == LIMIT_REMEMBERED_STEPS:
            self._steps.clear()
        self._steps[key] = following
        return following

    def _closure(self, begin: int, context: int) -> int:
        """All instructions reached from `begin` without taking a character."""
        known = self._closures.get((begin, context))
        if known is not None:
            return known
        reached, waiting = 0, [begin]
        while waiting:
            index = waiting.pop()
            if reached >> index & 1:
                continue
            reached |= 1 << index
            if index in self._jumps:
                waiting.extend(self._jumps[index])
            elif index in self._asserts and _holds(self._asserts[index], context):
                waiting.append(index + 1)
        self._closures[begin, context] = reached
        return reached


AT_START: Final = 1
AT_END: Final = 2
AT_BOUNDARY: Final = 4


def _context(name: str, at: int) -> int:
    before = at > 0 and _is_word(name[at - 1])
    after = at < len(name) and _is_word(name[at])
    return (
        (AT_START if at == 0 else 0)
        | (AT_END if at == len(name) else 0)
        | (AT_BOUNDARY if before != after else 0)
    )


def _holds(kind: str, context: int) -> bool:
    match kind:
        case "^":
            return bool(context & AT_START)
        case "$":
            return bool(context & AT_END)
        case "b":
            return bool(context & AT_BOUNDARY)
        case _:
            return not context & AT_BOUNDARY
