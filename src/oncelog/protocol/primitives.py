"""What the generated messages share: varints, tagged fields nobody knows, complaints, and the two base classes."""

import struct
from abc import abstractmethod
from typing import Any, ClassVar, Final

from oncelog.errors import MalformedMessage, OncelogError

BytesLike = bytes | bytearray | memoryview

ABSENT: Final[Any] = []
"""Stands for "a fresh list" or "a fresh struct" in the signatures of generated classes."""

STRING_LIMIT_BYTES: Final = 0x7FFF  # Kafka refuses longer strings, also where the length is a varint
APART_BYTES: Final = 1024  # record bytes from this size on are handed over instead of copied by encode_parts
ZERO_UUID: Final = bytes(16)


class UnwritableMessage(OncelogError, ValueError):
    """A message that its version cannot express: null where null is not allowed, a number too large. Our bug."""


class Struct:
    """A part of a message: compared and shown by its fields."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__dataclass_fields__)

    __hash__: ClassVar[None]  # type: ignore[assignment]  # fields can be assigned, so a hash would go stale

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
        return f"{type(self).__name__}({shown})"


class Message(Struct):
    """A whole request, response or data message."""

    __slots__ = ()

    @staticmethod
    @abstractmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> "Message":
        """Reads the message that begins at byte `at`; bytes after its end are ignored, as Kafka does."""

    @abstractmethod
    def write(self, out: bytearray, version: int) -> None:
        """Appends the encoded message to `out`."""

    def encode(self, version: int) -> bytes:
        out = bytearray()
        self.write(out, version)
        return bytes(out)

    def encode_parts(self, version: int) -> list[BytesLike]:
        """The encoded message in pieces: large record bytes are the caller's own, not a copy."""
        out = bytearray()
        self.write(out, version)
        return [out]


# ------------------------------------------------------------------------------------------------------------ reading


def more_varint(buf: bytes | memoryview, pos: int, first: int) -> tuple[int, int]:
    """The rest of an unsigned varint whose first byte, 128 or more, was read already: (value, position after it)."""
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                raise MalformedMessage(
                    f"varint at byte {pos - shift // 7 - 1} is {value}, wanted at most 32 bits"
                )
            return value, pos
    raise MalformedMessage(f"varint at byte {pos - 5} has more than 5 bytes")


def more_string_length(buf: bytes | memoryview, pos: int, first: int) -> tuple[int, int]:
    """As `more_varint`, for the length + 1 of a string."""
    value, after = more_varint(buf, pos, first)
    if value > STRING_LIMIT_BYTES + 1:
        raise MalformedMessage(
            f"string at byte {pos - 1} claims {value - 1} bytes, wanted at most {STRING_LIMIT_BYTES}"
        )
    return value, after


def read_varint(buf: bytes | memoryview, pos: int) -> tuple[int, int]:
    value = buf[pos]
    if value > 0x7F:
        return more_varint(buf, pos + 1, value)
    return value, pos + 1


def read_tag(buf: bytes | memoryview, pos: int, size: int) -> tuple[int, int, int]:
    """The head of one tagged field: (tag, position of its value, position after it)."""
    tag, pos = read_varint(buf, pos)
    length, pos = read_varint(buf, pos)
    if length > size - pos:
        raise MalformedMessage(
            f"tagged field {tag} at byte {pos} claims {length} bytes, {size - pos} are left"
        )
    return tag, pos, pos + length


def count_tags(buf: bytes | memoryview, pos: int, size: int, count: int) -> tuple[int, int]:
    """Completes and checks the number of tagged fields, of which one byte was read."""
    if count > 0x7F:
        count, pos = more_varint(buf, pos, count)
    if count * 2 > size - pos:
        raise MalformedMessage(f"{count} tagged fields claimed at byte {pos}, {size - pos} bytes are left")
    return count, pos


def skip_tags(buf: bytes | memoryview, pos: int, size: int, count: int) -> int:
    """Steps over tagged fields, of which none is known; `count` is the first byte of their number."""
    count, pos = count_tags(buf, pos, size, count)
    for _ in range(count):
        _, _, pos = read_tag(buf, pos, size)
    return pos


# ------------------------------------------------------------------------------------------------------------ writing


def varint(value: int) -> bytes:
    """An unsigned varint."""
    if value < 0x80:
        return value.to_bytes(1, "big")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string_length(length: int) -> bytes:
    """The length + 1 of a string as a varint, for strings too long for one byte."""
    if length > STRING_LIMIT_BYTES + 1:
        raise UnwritableMessage(
            f"a string of {length - 1} bytes, at most {STRING_LIMIT_BYTES} can be written"
        )
    return varint(length)


def tagged(tag: int, value: bytearray) -> bytes:
    return varint(tag) + varint(len(value)) + value


# --------------------------------------------------------------------------------------------------------- complaints


def cut_short(message: str, version: int, pos: int, size: int) -> MalformedMessage:
    return MalformedMessage(
        f"{message} v{version}: the bytes end at {size}, more are wanted (reading at {pos})"
    )


def not_text(message: str, version: int, pos: int, why: UnicodeDecodeError) -> MalformedMessage:
    return MalformedMessage(f"{message} v{version}: the string at byte {pos} is not UTF-8: {why.reason}")


def null_found(field: str, version: int, pos: int) -> MalformedMessage:
    return MalformedMessage(f"{field} v{version}: null at byte {pos}, which this version does not allow")


def too_many(field: str, version: int, pos: int, count: int, size: int) -> MalformedMessage:
    return MalformedMessage(
        f"{field} v{version}: {count} elements claimed, {size - pos} bytes are left at {pos}"
    )


def wrong_tag_size(field: str, version: int, pos: int, end: int) -> MalformedMessage:
    return MalformedMessage(
        f"{field} v{version}: the tagged field should end at byte {end}, its value ends at {pos}"
    )


def null_given(field: str, version: int) -> UnwritableMessage:
    return UnwritableMessage(f"{field} is None, which v{version} cannot express")


def not_uuid(field: str, value: BytesLike) -> UnwritableMessage:
    return UnwritableMessage(f"{field} has {len(value)} bytes, a UUID has 16")


def unsupported(message: str, versions: str, version: int) -> str:
    return f"{message} has versions {versions}, asked for {version}"


def unwritable(message: str, version: int, why: Exception) -> UnwritableMessage:
    return UnwritableMessage(f"{message} v{version} cannot be written: {why}")


WRITE_FAULTS: Final = (struct.error, AttributeError, TypeError)
"""What Python says when a field does not hold what its version wants."""
