"""What the bytes of a request and of its answer mean, field by field, as the definitions of the messages say.

A frame may be cut: a ring and a tap keep the beginning of it. Then the fields end where the bytes do.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

from oncelog import protocol
from oncelog.client.faults import error_name
from oncelog.errors import MalformedMessage
from oncelog.inspect.annotate import Piece, pieces_of_header, text_of
from oncelog.protocol.apis import API_VERSIONS_KEY, APIS
from oncelog.protocol.definition import PRIMITIVES, Definition, Field, Message, Struct, parse
from oncelog.protocol.primitives import read_varint
from oncelog.record.batch import HEADER_BYTES, MAGIC

DEFINITIONS: Final = Path(str(protocol.__file__)).parent / "definitions"
MAGIC_AT: Final = 16  # of a record batch


class _Cut(Exception):
    """The kept bytes end inside of this field."""


@cache
def definition(api_key: int) -> Definition:
    """The file that the code of a message was made from."""
    path = DEFINITIONS / f"{APIS[api_key].module}.txt"
    return parse(path.read_text(encoding="utf-8"), path.name)


def pieces_of_request(frame: bytes) -> list[Piece]:
    """Of a request without its length; empty if it is of an API or a version that we cannot read."""
    if len(frame) < 4:
        return []
    api_key, version = struct.unpack_from(">hh", frame)
    api = APIS.get(api_key)
    if api is None or not api.supports(version):
        return []
    walk = _Walk(frame, version, flexible=api.flexible(version))
    message, _ = definition(api_key).messages
    return walk.all(walk.request_header(api.name), message)


def pieces_of_answer(frame: bytes, api_key: int, version: int) -> list[Piece]:
    """Of the answer to a request of that API and version."""
    api = APIS.get(api_key)
    if api is None or not api.supports(version):
        return []
    walk = _Walk(frame, version, flexible=api.flexible(version))
    _, message = definition(api_key).messages
    return walk.all(walk.answer_header(tags=api_key != API_VERSIONS_KEY), message)


class _Walk:
    """Goes through a frame once, from its first byte."""

    def __init__(self, frame: bytes, version: int, *, flexible: bool) -> None:
        self._frame = frame
        self._version = version
        self._flexible = flexible
        self._at = 0

    def all(self, head: Iterator[Piece], message: Message) -> list[Piece]:
        found: list[Piece] = []
        with suppress(_Cut, IndexError, MalformedMessage):
            found.extend(chain(head, self._struct(message.root, "")))  # what came before the end stays
        end = found[-1].at + len(found[-1].data) if found else 0
        if end < len(self._frame):
            found.append(Piece(end, self._frame[end:], "", "the beginning of what follows"))
        return found

    def request_header(self, name: str) -> Iterator[Piece]:
        yield self._number("api key", "h", name)
        yield self._number("api version", "h")
        yield self._number("correlation id", "i")
        yield from self._sized("client id", *self._length(">h"), is_text=True)
        if self._flexible:
            yield from self._tags({}, "header")

    def answer_header(self, *, tags: bool) -> Iterator[Piece]:
        yield self._number("correlation id", "i")
        if self._flexible and tags:
            yield from self._tags({}, "header")

    def _take(self, size: int) -> bytes:
        data = self._frame[self._at : self._at + size]
        if len(data) < size:
            raise _Cut
        self._at += size
        return data

    def _number(self, name: str, letter: str, said: str | None = None) -> Piece:
        at, data = self._at, self._take(struct.calcsize(f">{letter}"))
        (value,) = struct.unpack(f">{letter}", data)
        shown = data.hex() if letter == "16s" else str(value)
        if name.endswith("error code"):
            said = error_name(value)
        return Piece(at, data, name, shown if said is None else f"{shown} ({said})")

    def _length(self, form: str) -> tuple[int, bytes, int]:
        """A length as it stands there: where, its bytes, and -1 for null."""
        at = self._at
        if form == "varint" or (self._flexible and form == ">i"):
            value, self._at = read_varint(self._frame, at)
            return at, self._frame[at : self._at], value - 1
        data = self._take(struct.calcsize(form))
        return at, data, int(struct.unpack(form, data)[0])

    def _sized(self, name: str, at: int, data: bytes, size: int, *, is_text: bool) -> Iterator[Piece]:
        yield Piece(at, data, f"{name} size", "null" if size < 0 else str(size))
        if size <= 0:
            return
        begin = self._at
        kept = self._frame[begin : begin + size]
        if not is_text and len(kept) >= HEADER_BYTES and kept[MAGIC_AT] == MAGIC:
            for piece in pieces_of_header(kept):
                yield Piece(begin + piece.at, piece.data, f"batch {piece.name}", piece.value)
            rest = kept[HEADER_BYTES:]
            if rest:
                yield Piece(begin + HEADER_BYTES, rest, "batch records", f"{size - HEADER_BYTES} bytes")
        elif kept:
            yield Piece(begin, kept, name, text_of(kept) if is_text else f"{size} bytes")
        self._take(size)

    def _struct(self, found: Struct, name: str) -> Iterator[Piece]:
        tagged: dict[int, str] = {}
        for each in found.fields:
            if self._version not in each.versions:
                continue
            label = f"{name} {each.name}".strip().replace("_", " ")
            if each.tag is None:
                yield from self._field(each, label)
            else:
                tagged[each.tag] = label
        if self._flexible:
            yield from self._tags(tagged, name)

    def _field(self, field: Field, label: str) -> Iterator[Piece]:
        if not field.array:
            yield from self._one(field, label)
            return
        at, data, count = self._length(">i")
        yield Piece(at, data, f"{label} count", "null" if count < 0 else str(count))
        for number in range(count):
            yield from self._one(field, f"{label} {number}")

    def _one(self, field: Field, label: str) -> Iterator[Piece]:
        if field.struct is not None:
            yield from self._struct(field.struct, label)
            return
        letter = PRIMITIVES[field.type]
        if letter is not None:
            yield self._number(label, letter)
        elif field.type == "string":
            form = "varint" if self._flexible else ">h"
            yield from self._sized(label, *self._length(form), is_text=True)
        else:
            yield from self._sized(label, *self._length(">i"), is_text=False)

    def _tags(self, names: dict[int, str], where: str) -> Iterator[Piece]:
        at = self._at
        count, self._at = read_varint(self._frame, at)
        yield Piece(at, self._frame[at : self._at], f"{where} tagged fields".strip(), str(count))
        for _ in range(count):
            at = self._at
            tag, after = read_varint(self._frame, at)
            size, self._at = read_varint(self._frame, after)
            name = names.get(tag, f"tag {tag}")
            yield Piece(at, self._frame[at : self._at], f"{name} tag and size", f"{tag}, {size} bytes")
            yield Piece(self._at, self._take(size), name, f"{size} bytes")
