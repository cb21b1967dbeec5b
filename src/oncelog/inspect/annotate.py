"""What the bytes mean: a record batch cut into its fields, each with its place and its value."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from oncelog.errors import CorruptBatch
from oncelog.record.batch import (
    CONTROL,
    DELETE_HORIZON,
    HEADER,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    check_crc,
    payload_of,
    read_header,
)
from oncelog.record.compression import NAMES
from oncelog.record.marker import KEY, VALUE
from oncelog.record.varint import read_varint

# The header in wire order: name and size. The sum is asserted below.
HEADER_FIELDS: Final = (
    ("base offset", 8),
    ("length", 4),
    ("leader epoch", 4),
    ("magic", 1),
    ("crc", 4),
    ("attributes", 2),
    ("last offset delta", 4),
    ("base timestamp", 8),
    ("max timestamp", 8),
    ("producer id", 8),
    ("producer epoch", 2),
    ("base sequence", 4),
    ("record count", 4),
)
assert sum(size for _, size in HEADER_FIELDS) == HEADER_BYTES
SHOWN_BYTES: Final = 16  # in one line of a hex listing


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes and what they mean. `at` counts from the beginning of the batch, or of its unpacked records."""

    at: int
    data: bytes
    name: str
    value: str


def pieces_of_batch(batch: bytes) -> list[Piece]:
    """Header and records of one whole batch; compressed records are shown unpacked, counted from 0 again."""
    header = read_header(batch)
    if header.size != len(batch):
        raise CorruptBatch(f"batch of {len(batch)} bytes, its header says {header.size}")
    found = pieces_of_header(batch)
    if header.codec:
        packed = batch[HEADER_BYTES:]
        found.append(Piece(HEADER_BYTES, packed, "records", f"{len(packed)} bytes of {NAMES[header.codec]}"))
        payload, base = payload_of(batch, header), 0
    else:
        payload, base = batch[HEADER_BYTES:], HEADER_BYTES
    found += _records(payload, base, header.count, is_control=header.is_control)
    return found


def pieces_of_header(batch: bytes) -> list[Piece]:
    """The 61 bytes before the records, of a batch that may be cut behind them."""
    found: list[Piece] = []
    at = 0
    for (name, size), value in zip(HEADER_FIELDS, HEADER.unpack_from(batch), strict=True):
        found.append(Piece(at, batch[at : at + size], name, _header_value(batch, name, value)))
        at += size
    return found


def _header_value(batch: bytes, name: str, value: int) -> str:
    if name == "crc":
        header = read_header(batch)
        if header.size > len(batch):
            return f"{value:08x}"  # of more than is kept
        fits = "fits" if check_crc(batch[: header.size], header) else "DOES NOT FIT"
        return f"{value:08x} ({fits})"
    if name == "attributes":
        return f"{value:#06x} ({attributes(value)})"
    return str(value)


def attributes(value: int) -> str:
    """The attributes of a batch in words."""
    words = [NAMES.get(value & 0x07, f"codec {value & 0x07}")]
    words.append("log append time" if value & LOG_APPEND_TIME else "create time")
    flags = ((TRANSACTIONAL, "transactional"), (CONTROL, "control"), (DELETE_HORIZON, "delete horizon"))
    return ", ".join(words + [word for bit, word in flags if value & bit])


def _records(payload: bytes, base: int, count: int, *, is_control: bool) -> Iterator[Piece]:
    at = 0
    for index in range(count):
        name = f"record {index}"
        start = at
        size, at = read_varint(payload, at)
        end = at + size
        yield Piece(base + start, payload[start:at], f"{name} length", str(size))
        yield Piece(base + at, payload[at : at + 1], f"{name} attributes", str(payload[at]))
        at += 1
        for what, bits in (("timestamp delta", 64), ("offset delta", 32)):
            value, after = read_varint(payload, at, bits=bits)
            yield Piece(base + at, payload[at:after], f"{name} {what}", str(value))
            at = after
        for what in ("key", "value"):
            for piece in _sized(payload, at, base, f"{name} {what}", is_control=is_control):
                yield piece
                at = piece.at - base + len(piece.data)
        headers, after = read_varint(payload, at)
        yield Piece(base + at, payload[at:after], f"{name} header count", str(headers))
        at = after
        for number in range(headers):
            for what in ("name", "value"):
                for piece in _sized(payload, at, base, f"{name} header {number} {what}", is_control=False):
                    yield piece
                    at = piece.at - base + len(piece.data)
        if at != end:
            raise CorruptBatch(f"{name}: its fields end at {at}, its length says {end}")


def _sized(payload: bytes, at: int, base: int, name: str, *, is_control: bool) -> Iterator[Piece]:
    size, after = read_varint(payload, at)
    yield Piece(base + at, payload[at:after], f"{name} size", "null" if size < 0 else str(size))
    if size > 0:
        data = payload[after : after + size]
        yield Piece(base + after, data, name, _marker_words(name, data) if is_control else text_of(data))


def _marker_words(name: str, data: bytes) -> str:
    """Key and value of a marker."""
    if name.endswith("key") and len(data) == KEY.size:
        version, kind = KEY.unpack(data)
        return f"version {version}, {({0: 'ABORT', 1: 'COMMIT'}).get(kind, f'type {kind}')}"
    if name.endswith("value") and len(data) >= VALUE.size:
        version, epoch = VALUE.unpack_from(data)
        return f"version {version}, coordinator epoch {epoch}"
    return text_of(data)


def text_of(data: bytes, limit: int = 60) -> str:
    """Bytes for people: text if it is text, else their number."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"{len(data)} bytes"
    if not text.isprintable():
        return f"{len(data)} bytes"
    return repr(text) if len(text) <= limit else f"{text[:limit]!r}... ({len(data)} bytes)"


def hex_lines(pieces: list[Piece]) -> Iterator[str]:
    """One line a field; long fields go on below, without a name."""
    width = max((len(piece.name) for piece in pieces), default=0)
    for piece in pieces:
        for start in range(0, len(piece.data), SHOWN_BYTES):
            line = piece.data[start : start + SHOWN_BYTES]
            said = f"{piece.name:<{width}}  {piece.value}" if start == 0 else ""
            yield f"{piece.at + start:6d}  {line.hex(' '):<{SHOWN_BYTES * 3}} {said}".rstrip()
