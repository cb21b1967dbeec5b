"""Keys and values of the coordinators' topics as tables of fields: one codec for all of them (spec 3.3).

Every key and value begins with an int16: in a key the type of the record, in a value the version of its schema. Integers
are big-endian. Up to some version strings have an int16 and arrays and bytes an int32 length, -1 for null; from the
first flexible version on lengths are unsigned varints plus one, 0 for null, and each structure ends with tagged fields:
their count, then for each its number, its size and its content, left out where it has its default.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from oncelog.errors import CorruptBatch
from oncelog.record.varint import encode_unsigned, read_unsigned

_NUMBERS: Final[Mapping[str, struct.Struct]] = {
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
}
UUID_BYTES: Final = 16
ALL_VERSIONS: Final = 1 << 15
NEVER: Final = 1 << 15  # as first flexible version


@dataclass(frozen=True, slots=True)
class Structure:
    """What one dataclass looks like in bytes."""

    type: Callable[..., Any]
    fields: "tuple[Field, ...]"


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `kind`: int8..int64, uuid, string, bytes, structure; `[]` in front for a list, `?` behind for
    nullable. A field that a version does not have keeps the dataclass's default.
    """

    name: str
    kind: str
    first: int = 0
    last: int = ALL_VERSIONS
    tag: int | None = None
    default: Any = None  # of a tagged field: not written when it is this
    structure: Structure | None = None


def encode(structure: Structure, value: Any, version: int, flexible: int) -> bytes:
    """`value` without the int16 in front. `flexible` is the first flexible version."""
    out: list[bytes] = []
    tagged: list[bytes] = []
    for field in structure.fields:
        if not field.first <= version <= field.last:
            continue
        content = getattr(value, field.name)
        if field.tag is None:
            _encode_field(out, field, field.kind, content, version, flexible)
        elif content != field.default:
            piece: list[bytes] = []
            if field.structure is not None and not field.kind.startswith("[]"):
                piece.append(
                    b"\0" if content is None else b"\x01"
                )  # a nullable structure says if it is there
            if content is not None or field.structure is None:
                _encode_field(piece, field, field.kind, content, version, flexible)
            packed = b"".join(piece)
            tagged.append(encode_unsigned(field.tag) + encode_unsigned(len(packed)) + packed)
    if version >= flexible:
        out.append(encode_unsigned(len(tagged)))
        out += tagged
    return b"".join(out)


def _encode_field(
    out: list[bytes], field: Field, kind: str, content: Any, version: int, flexible: int
) -> None:
    number = _NUMBERS.get(kind)
    if number is not None:
        out.append(number.pack(content))
    elif kind == "uuid":
        assert len(content) == UUID_BYTES
        out.append(content)
    elif kind.startswith("[]"):
        out.append(_encode_length(None if content is None else len(content), 4, version >= flexible))
        for each in content or ():
            _encode_field(out, field, kind[2:].removesuffix("?"), each, version, flexible)
    elif kind.startswith(("string", "bytes")):
        packed = content.encode() if isinstance(content, str) else content
        wide = 2 if kind.startswith("string") else 4
        out.append(_encode_length(None if packed is None else len(packed), wide, version >= flexible))
        out.append(packed or b"")
    else:
        assert field.structure is not None
        out.append(encode(field.structure, content, version, flexible))


def _encode_length(length: int | None, wide: int, flexible: bool) -> bytes:
    if flexible:
        return encode_unsigned(0 if length is None else length + 1)
    return (-1 if length is None else length).to_bytes(wide, "big", signed=True)


def decode(structure: Structure, data: bytes, version: int, flexible: int) -> Any:
    """The value in `data`, all of it. CorruptBatch says what was wanted and where."""
    reader = _Reader(data, version, version >= flexible)
    value = reader.structure(structure)
    if reader.at != len(data):
        raise CorruptBatch(f"{len(data) - reader.at} bytes follow the end of the value at byte {reader.at}")
    return value


class _Reader:
    """Every length is bounded by the bytes that are left."""

    __slots__ = ("at", "data", "flexible", "version")

    def __init__(self, data: bytes, version: int, flexible: bool) -> None:
        self.data = data
        self.at = 0
        self.version = version
        self.flexible = flexible

    def structure(self, structure: Structure) -> Any:
        found: dict[str, Any] = {}
        tags: dict[int, Field] = {}
        for field in structure.fields:
            if field.first <= self.version <= field.last:
                if field.tag is None:
                    found[field.name] = self.field(field, field.kind)
                else:
                    tags[field.tag] = field
        if self.flexible:
            for _ in range(self.unsigned()):
                tag, size = self.unsigned(), self.unsigned()
                end = self.at + size
                if end > len(self.data):
                    raise CorruptBatch(f"tag {tag} has {size} bytes, {len(self.data) - self.at} are left")
                field = tags.get(tag)
                if field is None:
                    self.at = end  # of a later version
                    continue
                found[field.name] = self.tagged(field)
                if self.at != end:
                    raise CorruptBatch(f"tag {tag} ends at byte {self.at}, its size says {end}")
        return structure.type(**found)

    def tagged(self, field: Field) -> Any:
        if field.structure is not None and not field.kind.startswith("[]") and self.take(1) != b"\x01":
            return None
        return self.field(field, field.kind)

    def field(self, field: Field, kind: str) -> Any:
        number = _NUMBERS.get(kind)
        if number is not None:
            return number.unpack(self.take(number.size))[0]
        if kind == "uuid":
            return self.take(UUID_BYTES)
        if kind.startswith("[]"):
            count = self.length(4, kind)
            element = kind[2:].removesuffix("?")
            return None if count is None else [self.field(field, element) for _ in range(count)]
        if kind.startswith(("string", "bytes")):
            size = self.length(2 if kind.startswith("string") else 4, kind)
            if size is None:
                return None
            content = self.take(size)
            if kind.startswith("bytes"):
                return content
            try:
                return content.decode()
            except UnicodeDecodeError as fault:
                raise CorruptBatch(
                    f"{field.name} before byte {self.at} is not UTF-8: {fault.reason}"
                ) from None
        assert field.structure is not None
        return self.structure(field.structure)

    def take(self, size: int) -> bytes:
        at = self.at
        if at + size > len(self.data):
            raise CorruptBatch(f"wanted {size} bytes at byte {at}, {len(self.data) - at} are left")
        self.at = at + size
        return self.data[at : at + size]

    def unsigned(self) -> int:
        value, self.at = read_unsigned(self.data, self.at)
        return value

    def length(self, wide: int, kind: str) -> int | None:
        if self.flexible:
            length = self.unsigned() - 1
        else:
            length = int.from_bytes(self.take(wide), "big", signed=True)
        if length < 0 and kind.endswith("?"):
            return None
        if not 0 <= length <= len(self.data) - self.at:
            raise CorruptBatch(
                f"length {length} before byte {self.at}, {len(self.data) - self.at} bytes are left"
            )
        return length


def fields(*rows: Sequence[Any]) -> tuple[Field, ...]:
    """(name, kind) or (name, kind, first version) for each."""
    return tuple(Field(*row) for row in rows)
