"""Reads the definitions of the wire messages (definitions/*.txt) into plain values.

A file describes one API, request and response, or a family of data messages:

    api KEY NAME                    or: data NAME
    versions LOW-HIGH               the versions that can be read and written
    flexible FIRST+                 from here on lengths are varints and structs end in tagged fields; or: none
    hot                             optional: separate code for every layout instead of version checks inside

    request                         or: message NAME in a data file
      struct NAME                   optional: a struct that several fields use; its fields follow, indented
      FIELD: TYPE [VERSIONS] [tag N] [= DEFAULT]

TYPE is a primitive, a struct (its fields follow, indented, unless it was named by `struct`), or one of these in square
brackets for an array. `?` after the type allows null, `?3+` allows it from version 3 on. VERSIONS is `3+`, `3-5` or `3`
and is left out when the field is there whenever its struct is. A default is left out when it is the zero of its type.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

PRIMITIVES: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
    "string": None,
    "bytes": None,
    "records": None,
}
"""Every primitive type and its letter for `struct`; None where the size varies."""

FIELD: Final = re.compile(
    r"(?P<name>[a-z][a-z0-9_]*): (?P<open>\[)?(?P<type>[A-Za-z][A-Za-z0-9]*)(?(open)\])"
    r"(?P<nullable>\?(?P<null_versions>[0-9][0-9+-]*)?)?"
    r"(?: (?P<versions>[0-9][0-9+-]*))?(?: tag (?P<tag>[0-9]+))?(?: = (?P<default>\S+))?"
)


class BadDefinition(Exception):
    """A definition file that does not follow the format: names file and line."""


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions, both ends included."""

    low: int
    high: int

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.low, self.high + 1))

    def meets(self, other: "Versions") -> bool:
        return self.low <= other.high and other.low <= self.high

    def covers(self, other: "Versions") -> bool:
        return self.low <= other.low and other.high <= self.high


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    """A key of PRIMITIVES, or the name of `struct`."""
    struct: "Struct | None"
    array: bool
    versions: Versions
    nullable: Versions | None
    tag: int | None
    default: str | None
    """As written; None for the zero of the type."""


@dataclass(slots=True)
class Struct:
    name: str
    versions: Versions
    fields: list[Field] = field(default_factory=list[Field])


@dataclass(slots=True)
class Message:
    """One request, response or data message: the outermost struct and where its versions change their form."""

    root: Struct
    versions: Versions
    first_flexible: int | None
    hot: bool

    def flexible(self, version: int) -> bool:
        return self.first_flexible is not None and version >= self.first_flexible

    def structs(self) -> list[Struct]:
        """All structs of the message, the inner before the outer."""
        found: list[Struct] = []

        def visit(struct: Struct) -> None:
            for each in struct.fields:
                if each.struct is not None:
                    visit(each.struct)
            if not any(struct is known for known in found):
                found.append(struct)

        visit(self.root)
        return found


@dataclass(slots=True)
class Definition:
    """One file."""

    name: str
    key: int | None
    versions: Versions
    first_flexible: int | None
    messages: list[Message]


@dataclass(slots=True)
class _Line:
    where: str
    indent: int
    text: str


def parse(text: str, where: str) -> Definition:
    """`where` is the name of the file, for complaints."""
    lines = [
        _Line(f"{where}:{number}", len(raw) - len(raw.lstrip(" ")), raw.strip())
        for number, raw in enumerate(text.splitlines(), start=1)
        if raw.strip() and not raw.lstrip().startswith("#")
    ]
    head: dict[str, str] = {}
    while lines and lines[0].text.split(" ")[0] in ("api", "data", "versions", "flexible", "hot"):
        word, _, rest = lines.pop(0).text.partition(" ")
        head[word] = rest
    if "versions" not in head or "flexible" not in head or ("api" in head) == ("data" in head):
        raise BadDefinition(
            f"{where}: wanted `api` or `data`, `versions` and `flexible` at the top, found {sorted(head)}"
        )
    versions = _versions(head["versions"], None, where)
    first_flexible = (
        None if head["flexible"] == "none" else max(_versions(head["flexible"], versions, where).low, 0)
    )
    if "api" in head:
        key, name = head["api"].split(" ")
        names = {"request": f"{name}Request", "response": f"{name}Response"}
    else:
        key, name = None, head["data"]
        names: dict[str, str] = {}
    messages: list[Message] = []
    while lines:
        start = lines.pop(0)
        if start.indent != 0:
            raise BadDefinition(
                f"{start.where}: wanted `request`, `response` or `message`, found {start.text!r}"
            )
        title = names.get(start.text) if key is not None else start.text.removeprefix("message ")
        if title is None:
            raise BadDefinition(f"{start.where}: wanted `request` or `response`, found {start.text!r}")
        root = Struct(title, versions)
        root.fields.extend(_fields(lines, start, versions, versions, {}))
        messages.append(Message(root, versions, first_flexible, "hot" in head))
    if key is not None and [each.root.name for each in messages] != list(names.values()):
        raise BadDefinition(f"{where}: wanted one request and then one response")
    _name_apart(messages, key is not None)
    return Definition(name, None if key is None else int(key), versions, first_flexible, messages)


def _fields(
    lines: list[_Line], head: _Line, parent: Versions, message: Versions, known: dict[str, Struct]
) -> list[Field]:
    """Takes the fields that stand deeper than `head`; `known` are the structs that fields here may name."""
    found: list[Field] = []
    named: list[tuple[Struct, _Line, list[_Line]]] = []
    depth = lines[0].indent if lines and lines[0].indent > head.indent else None
    while lines and lines[0].indent == depth:
        line = lines.pop(0)
        if line.text.startswith("struct "):
            _, name, *rest = line.text.split(" ")
            struct = Struct(name, _versions(rest[0], message, line.where) if rest else parent)
            known[name] = struct
            body: list[_Line] = []
            while lines and lines[0].indent > line.indent:
                body.append(lines.pop(0))
            named.append((struct, line, body))
            continue
        if named:  # bodies are read when all names are known: they may use each other
            for struct, top, body in named:
                struct.fields.extend(_fields(body, top, struct.versions, message, known))
            named = []
        one = _field(line, lines, parent, message, known)
        if any(each.name == one.name for each in found):
            raise BadDefinition(f"{line.where}: the field name {one.name} comes twice")
        found.append(one)
    if lines and lines[0].indent > (depth or head.indent):
        raise BadDefinition(f"{lines[0].where}: indented deeper than anything it could belong to")
    if not found:
        raise BadDefinition(f"{head.where}: a struct without fields")
    return found


def _field(
    line: _Line, lines: list[_Line], parent: Versions, message: Versions, known: dict[str, Struct]
) -> Field:
    match = FIELD.fullmatch(line.text)
    if match is None:
        raise BadDefinition(f"{line.where}: not a field: {line.text!r}")
    versions = _versions(match["versions"], message, line.where) if match["versions"] else parent
    if not parent.covers(versions):
        raise BadDefinition(f"{line.where}: versions {versions} reach outside those of the struct, {parent}")
    nullable: Versions | None = None
    if match["nullable"]:
        nullable = (
            _versions(match["null_versions"], message, line.where) if match["null_versions"] else versions
        )
    kind = match["type"]
    struct: Struct | None = None
    if kind not in PRIMITIVES:
        struct = known.get(kind)
        if struct is None:
            struct = Struct(kind, versions)
            struct.fields.extend(_fields(lines, line, versions, message, known))
    return Field(
        name=match["name"],
        type=kind,
        struct=struct,
        array=match["open"] is not None,
        versions=versions,
        nullable=nullable,
        tag=None if match["tag"] is None else int(match["tag"]),
        default=match["default"],
    )


def _versions(text: str, message: Versions | None, where: str) -> Versions:
    match = re.fullmatch(r"([0-9]+)(?:(\+)|-([0-9]+))?", text)
    if match is None or (match[2] and message is None):
        raise BadDefinition(f"{where}: not a range of versions: {text!r}")
    low = int(match[1])
    high = message.high if match[2] and message is not None else int(match[3] or low)
    if low > high:
        raise BadDefinition(f"{where}: an empty range of versions: {text!r}")
    return Versions(low, high)


def _name_apart(messages: Sequence[Message], is_api: bool) -> None:
    """One module holds both messages of an API, so a struct name that both use gets the side in front."""
    if not is_api:
        return
    request, response = messages
    both = {each.name for each in request.structs()} & {each.name for each in response.structs()}
    for side, message in (("Request", request), ("Response", response)):
        for struct in message.structs():
            if struct.name in both:
                struct.name = side + struct.name
