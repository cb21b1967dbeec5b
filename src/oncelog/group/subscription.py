"""The consumer's embedded protocol, as far as the coordinator looks into it: subscribed topics, assigned partitions.

Subscription: int16 version, array of string topics, bytes user data, v1+ owned partitions, v2+ generation, v3+ rack.
Assignment:   int16 version, array of {string topic, array of int32 partitions}, bytes user data.
Arrays count with int32, strings with int16; newer versions only add at the end, so reading the front is enough.
"""

import struct

from oncelog.errors import OncelogError


class MalformedSubscription(OncelogError):
    """Metadata of a member that says protocol type `consumer` and is something else."""


def read_topics(metadata: bytes) -> list[str]:
    """The subscribed topics of one member."""
    at = _skip_version(metadata)
    count, at = _int32(metadata, at)
    topics: list[str] = []
    for _ in range(count):
        topic, at = _string(metadata, at)
        topics.append(topic)
    return topics


def _skip_version(data: bytes) -> int:
    if len(data) < 2:
        raise MalformedSubscription(f"{len(data)} bytes, a version needs 2")
    (version,) = struct.unpack_from(">h", data, 0)
    if version < 0:
        raise MalformedSubscription(f"version {version}, wanted 0 or more")
    return 2


def _int32(data: bytes, at: int) -> tuple[int, int]:
    if len(data) - at < 4:
        raise MalformedSubscription(f"{len(data) - at} bytes left at {at}, a count needs 4")
    (value,) = struct.unpack_from(">i", data, at)
    if value < 0 or value > len(data) - at:
        raise MalformedSubscription(f"count {value} at {at} with {len(data) - at} bytes left")
    return value, at + 4


def _string(data: bytes, at: int) -> tuple[str, int]:
    if len(data) - at < 2:
        raise MalformedSubscription(f"{len(data) - at} bytes left at {at}, a length needs 2")
    (length,) = struct.unpack_from(">h", data, at)
    end = at + 2 + length
    if length < 0 or end > len(data):
        raise MalformedSubscription(f"text of {length} bytes at {at} with {len(data) - at - 2} bytes left")
    try:
        return data[at + 2 : end].decode(), end
    except UnicodeDecodeError as error:
        raise MalformedSubscription(f"text at {at} is not UTF-8") from error
