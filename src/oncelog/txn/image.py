"""The last records of each transactional id in one partition of __transaction_state, and the file that keeps them.

The file is a short cut past the logs, which hold all of it: without it, or if it does not fit them, they are read from the
start. Values stand in it as in the log, so that it says what a replay would say. Kafka passes it over.

 0  int16  version (0)     2  uint32 CRC-32C of bytes 6..end     6  16 bytes topic id    22  int32  count of partitions
26  for each partition: int32 its number, int32 leader epoch, int64 log start, int64 first offset not covered, and three
    blocks: ids with a transaction under way, all other ids, and why the epochs of ids were bumped
A block: int32 count, int32 bytes of all names, int32 bytes of all values, count x uint16 length of a name in
characters, count x int32 bytes of a value, the names in UTF-8, the values
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from oncelog.errors import CorruptLog
from oncelog.model import TopicId
from oncelog.record.crc import crc32c
from oncelog.txn.stored import is_under_way

VERSION: Final = 0
CRC_FROM: Final = 6
HEAD: Final = struct.Struct(">hI16si")
SECTION: Final = struct.Struct(">iiqq")
BLOCK: Final = struct.Struct(">iii")
assert HEAD.size == 26


class _Block(NamedTuple):
    """Names and values in a file, not looked at yet."""

    entries: int
    lengths: bytes  # of names, then of values
    names: bytes
    values: bytes

    def unpack(self) -> dict[str, bytes]:
        lengths = struct.unpack(f">{self.entries}H{self.entries}i", self.lengths)
        names, values = self.names.decode(), self.values
        of_names = pairwise(accumulate(lengths[: self.entries], initial=0))
        of_values = pairwise(accumulate(lengths[self.entries :], initial=0))
        return dict(zip([names[a:b] for a, b in of_names], [values[a:b] for a, b in of_values], strict=True))


class Shelf:
    """Values by name. What came out of a file stays packed until somebody asks for a name that was not put since."""

    __slots__ = ("_packed", "_top")

    def __init__(self, top: dict[str, bytes] | None = None, packed: _Block | None = None) -> None:
        self._top: dict[str, bytes | None] = {**top} if top else {}  # None: removed from what is packed
        self._packed = packed if packed is not None and packed.entries else None

    def get(self, name: str) -> bytes | None:
        if self._packed is not None and name not in self._top:
            self._unpack()
        return self._top.get(name)

    def put(self, name: str, value: bytes | None) -> None:
        """None removes."""
        if value is None and self._packed is None:
            self._top.pop(name, None)
        else:
            self._top[name] = value

    def unpacked(self) -> Iterator[tuple[str, bytes]]:
        """Those that are not packed."""
        return ((name, value) for name, value in self._top.items() if value is not None)

    def all(self) -> dict[str, bytes]:
        """A copy."""
        if self._packed is not None:
            self._unpack()
        return dict(self.unpacked())

    def _unpack(self) -> None:
        assert self._packed is not None
        whole: dict[str, bytes | None] = {**self._packed.unpack(), **self._top}
        self._packed = None
        self._top = {name: value for name, value in whole.items() if value is not None}


class Image:
    """One partition: the last value of every id, and of why its epoch was bumped."""

    __slots__ = ("bumps", "states")

    def __init__(self, states: Shelf | None = None, bumps: Shelf | None = None) -> None:
        self.states = states or Shelf()
        self.bumps = bumps or Shelf()


class Covered(NamedTuple):
    """Which stretch of a partition's log a section of the file stands for."""

    partition: int
    leader_epoch: int
    log_start: int
    end: int  # the first offset that is not covered


class Section(NamedTuple):
    """One partition as it is written."""

    covered: Covered
    states: Mapping[str, bytes]
    bumps: Mapping[str, bytes]


class Checkpoint(NamedTuple):
    """A file as it was read."""

    topic_id: TopicId
    sections: Mapping[int, tuple[Covered, Image]]


def encode_checkpoint(topic_id: TopicId, sections: Sequence[Section]) -> bytes:
    pieces: list[bytes] = []
    for covered, states, bumps in sections:
        under_way = {name: value for name, value in states.items() if is_under_way(value)}
        idle = {name: value for name, value in states.items() if name not in under_way}
        pieces.append(SECTION.pack(*covered))
        for values in (under_way, idle, bumps):
            pieces += _pack(values)
    body = HEAD.pack(0, 0, topic_id, len(sections))[CRC_FROM:] + b"".join(pieces)
    return struct.pack(">hI", VERSION, crc32c(body)) + body


def decode_checkpoint(data: bytes) -> Checkpoint:
    """CorruptLog says why it cannot be used."""
    if len(data) < HEAD.size:
        raise CorruptLog(f"{len(data)} bytes, wanted at least {HEAD.size}")
    version, crc, topic_id, count = HEAD.unpack_from(data)
    if version != VERSION:
        raise CorruptLog(f"version {version}, wanted {VERSION}")
    found = crc32c(data[CRC_FROM:])
    if found != crc:
        raise CorruptLog(f"its CRC is {found:08x}, it says {crc:08x}")
    sections: dict[int, tuple[Covered, Image]] = {}
    at = HEAD.size
    try:
        for _ in range(count):
            covered = Covered._make(SECTION.unpack_from(data, at))
            under_way, at = _block(data, at + SECTION.size)
            idle, at = _block(data, at)
            bumps, at = _block(data, at)
            image = Image(Shelf(under_way.unpack(), idle), Shelf(packed=bumps))
            sections[covered.partition] = covered, image
    except struct.error as error:
        raise CorruptLog(f"it ends within partition {len(sections) + 1} of {count}: {error}") from None
    if at != len(data):
        raise CorruptLog(f"{len(data) - at} bytes follow the last partition")
    return Checkpoint(TopicId(topic_id), sections)


def _pack(values: Mapping[str, bytes]) -> list[bytes]:
    count = len(values)
    names, packed = "".join(values).encode(), b"".join(values.values())
    return [
        BLOCK.pack(count, len(names), len(packed)),
        struct.pack(f">{count}H", *map(len, values)),
        struct.pack(f">{count}i", *map(len, values.values())),
        names,
        packed,
    ]


def _block(data: bytes, at: int) -> tuple[_Block, int]:
    count, of_names, of_values = BLOCK.unpack_from(data, at)
    names_at = at + BLOCK.size + 6 * count
    values_at = names_at + of_names
    end = values_at + of_values
    if min(count, of_names, of_values) < 0 or end > len(data):
        raise CorruptLog(f"a block at byte {at} ends at byte {end}, there are {len(data)}")
    return (
        _Block(count, data[at + BLOCK.size : names_at], data[names_at:values_at], data[values_at:end]),
        end,
    )
