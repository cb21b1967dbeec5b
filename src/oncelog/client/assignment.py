"""What members of a classic consumer group tell each other: subscriptions and assignments, and the range assignor.

 0  int16 version        2  array of topics: int32 count, then each a string (int16 length)
    an assignment's topic is followed by its partitions: int32 count, int32 each
    then nullable user data (int32 length, -1 none), then what newer versions add
The version only ever adds fields at the end, so the first fields can be read whatever it is: that is how old and new
members of one group understand each other.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import Final

from oncelog.errors import MalformedMessage
from oncelog.model import TopicPartition

_VERSION: Final = struct.Struct(">h")
_COUNT: Final = struct.Struct(">i")
_NO_USER_DATA: Final = _COUNT.pack(-1)


def encode_subscription(topics: Iterable[str]) -> bytes:
    names = sorted(topics)
    return (
        _VERSION.pack(0) + _COUNT.pack(len(names)) + b"".join(_string(each) for each in names) + _NO_USER_DATA
    )


def decode_subscription(data: bytes) -> list[str]:
    reader = _Reader(data)
    return [reader.string() for _ in range(reader.count(at_least_bytes=2))]


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    topics: dict[str, list[int]] = {}
    for each in sorted(partitions):
        topics.setdefault(each.topic, []).append(each.partition)
    pieces = [_VERSION.pack(0), _COUNT.pack(len(topics))]
    for topic, numbers in topics.items():
        pieces += [_string(topic), _COUNT.pack(len(numbers)), struct.pack(f">{len(numbers)}i", *numbers)]
    return b"".join([*pieces, _NO_USER_DATA])


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """No bytes at all is an empty assignment: a member that joined after the leader made its plan."""
    if not data:
        return []
    reader = _Reader(data)
    found: list[TopicPartition] = []
    for _ in range(reader.count(at_least_bytes=6)):
        topic = reader.string()
        found += [TopicPartition(topic, reader.int32()) for _ in range(reader.count(at_least_bytes=4))]
    return found


def _string(text: str) -> bytes:
    data = text.encode()
    return _VERSION.pack(len(data)) + data


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = _VERSION.size

    def int32(self) -> int:
        return self._take(_COUNT)

    def count(self, *, at_least_bytes: int) -> int:
        """A count that the bytes left can hold."""
        count = self._take(_COUNT)
        left = len(self._data) - self._at
        if not 0 <= count * at_least_bytes <= left:
            raise MalformedMessage(
                f"count {count} at byte {self._at - 4} of a member's data, {left} bytes are left"
            )
        return count

    def string(self) -> str:
        size = self._take(_VERSION)
        data = self._data[self._at : self._at + max(size, 0)]
        if size < 0 or len(data) < size:
            raise MalformedMessage(
                f"string of {size} bytes at byte {self._at} of a member's data of {len(self._data)}"
            )
        self._at += size
        return data.decode("utf-8", "replace")

    def _take(self, form: struct.Struct) -> int:
        if len(self._data) - self._at < form.size:
            raise MalformedMessage(
                f"a member's data ends at byte {len(self._data)}, wanted {self._at + form.size}"
            )
        (value,) = form.unpack_from(self._data, self._at)
        self._at += form.size
        return value


def assign_range(
    subscriptions: Mapping[str, Iterable[str]], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """For each topic its partitions in a row, shared out among the members by member id; the first get one more."""
    wishes = {member: set(topics) for member, topics in subscriptions.items()}
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in sorted(wishes)}
    for topic in sorted(partition_counts):
        members = sorted(member for member, topics in wishes.items() if topic in topics)
        if not members:
            continue
        each, more = divmod(partition_counts[topic], len(members))
        at = 0
        for number, member in enumerate(members):
            size = each + (number < more)
            assigned[member] += [TopicPartition(topic, at + step) for step in range(size)]
            at += size
    return assigned
