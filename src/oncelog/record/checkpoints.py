"""The small text files of a log directory, as Kafka writes them. Text only: who writes them makes them durable.

leader-epoch-checkpoint         "0", the number of lines, then "leader-epoch start-offset", both rising
*-offset-checkpoint             "0", the number of lines, then "topic partition offset"
partition.metadata              "version: 0" and "topic_id: <22 characters>", the last line without an end
meta.properties                 version=1, cluster.id, node.id, directory.id
.kafka_cleanshutdown            {"version":0,"brokerEpoch":n}

Kafka's checkpoints have no checksum, and a flipped digit of a log start deletes records. Lines that we write end in their
CRC-32C as 32 blanks, a space for 0 and a tab for 1, the highest bit first: Kafka splits lines at white space and does not see
them (decision 0025). Lines without blanks are Kafka's own, and are believed.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from oncelog.errors import CorruptLog
from oncelog.model import TopicId, TopicPartition
from oncelog.record.crc import crc32c

VERSION: Final = "0"
BLANKS: Final = str.maketrans("01", " \t")


class LeaderEpoch(NamedTuple):
    leader_epoch: int
    start_offset: int


class MetaProperties(NamedTuple):
    cluster_id: str
    node_id: int
    directory_id: str


def encode_leader_epochs(epochs: Sequence[LeaderEpoch]) -> str:
    return _encode_lines([_with_check(f"{epoch} {start}") for epoch, start in epochs])


def decode_leader_epochs(text: str) -> list[LeaderEpoch]:
    epochs: list[LeaderEpoch] = []
    for line in _decode_lines(text, "leader epoch checkpoint"):
        words = line.split(" ")
        if len(words) != 2:
            raise CorruptLog(f"leader epoch checkpoint: wanted 'epoch offset', found {line!r}")
        found = LeaderEpoch(*_numbers(words, line))
        if epochs and (
            found.leader_epoch <= epochs[-1].leader_epoch or found.start_offset < epochs[-1].start_offset
        ):
            raise CorruptLog(f"leader epoch checkpoint: {found} after {epochs[-1]}")
        epochs.append(found)
    return epochs


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> str:
    """Sorted, so that the same state is the same file."""
    return _encode_lines(
        [_with_check(f"{at.topic} {at.partition} {offset}") for at, offset in sorted(offsets.items())]
    )


def decode_offsets(text: str) -> dict[TopicPartition, int]:
    offsets: dict[TopicPartition, int] = {}
    for line in _decode_lines(text, "offset checkpoint"):
        words = line.split(" ")
        if len(words) != 3:
            raise CorruptLog(f"offset checkpoint: wanted 'topic partition offset', found {line!r}")
        partition, offset = _numbers(words[1:], line)
        offsets[TopicPartition(words[0], partition)] = offset
    return offsets


def encode_uuid(value: bytes) -> str:
    """22 characters of base64url, as Kafka prints topic ids, cluster ids and directory ids."""
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def decode_uuid(text: str) -> bytes:
    try:
        value = base64.urlsafe_b64decode(text + "==")
    except ValueError:
        value = b""
    if len(value) != 16:
        raise CorruptLog(f"wanted a UUID of 22 base64url characters, found {text!r}")
    return value


def encode_partition_metadata(topic_id: TopicId) -> str:
    return f"version: {VERSION}\ntopic_id: {encode_uuid(topic_id)}"


def decode_partition_metadata(text: str) -> TopicId:
    lines = text.split("\n")
    if len(lines) < 2 or lines[0] != f"version: {VERSION}" or not lines[1].startswith("topic_id: "):
        raise CorruptLog(f"partition.metadata: wanted 'version: 0' and 'topic_id: ...', found {text!r}")
    return TopicId(decode_uuid(lines[1].removeprefix("topic_id: ")))


def encode_meta_properties(meta: MetaProperties) -> str:
    return (
        f"version=1\ncluster.id={meta.cluster_id}\nnode.id={meta.node_id}\ndirectory.id={meta.directory_id}\n"
    )


def decode_meta_properties(text: str) -> MetaProperties:
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if line.strip() and not line.startswith(("#", "!")):
            name, equals, value = line.partition("=")
            if not equals:
                raise CorruptLog(f"meta.properties: wanted name=value, found {line!r}")
            found[name.strip()] = value.strip()
    if found.get("version") != "1":
        raise CorruptLog(f"meta.properties: wanted version=1, found {found.get('version')!r}")
    missing = [name for name in ("cluster.id", "node.id", "directory.id") if name not in found]
    if missing:
        raise CorruptLog(f"meta.properties: {', '.join(missing)} missing")
    (node_id,) = _numbers([found["node.id"]], found["node.id"])
    return MetaProperties(found["cluster.id"], node_id, found["directory.id"])


def encode_clean_shutdown(broker_epoch: int) -> str:
    return f'{{"version":0,"brokerEpoch":{broker_epoch}}}'


def decode_clean_shutdown(text: str) -> int:
    """The broker epoch; -1 where the file says nothing readable: its presence alone means a clean stop."""
    try:
        found: Any = json.loads(text)
    except ValueError:
        return -1
    epoch: Any = cast(dict[str, Any], found).get("brokerEpoch") if isinstance(found, dict) else None
    return epoch if isinstance(epoch, int) else -1


def _encode_lines(lines: Sequence[str]) -> str:
    return "\n".join([VERSION, str(len(lines)), *lines]) + "\n"


def _decode_lines(text: str, what: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] != "":
        raise CorruptLog(f"{what}: the last line {lines[-1]!r} has no end: the file is cut")
    if len(lines) < 3:
        raise CorruptLog(f"{what}: wanted a version, a count and lines, found {text!r}")
    if lines[0] != VERSION:
        raise CorruptLog(f"{what}: wanted version {VERSION}, found {lines[0]!r}")
    (count,) = _numbers([lines[1]], lines[1])
    if count != len(lines) - 3:
        raise CorruptLog(f"{what}: wanted {count} lines, found {len(lines) - 3}")
    return [_without_check(line, what) for line in lines[2:-1]]


def _with_check(line: str) -> str:
    return line + f"{crc32c(line.encode()):032b}".translate(BLANKS)


def _without_check(line: str, what: str) -> str:
    text = line.rstrip(" \t")
    blanks = line[len(text) :]
    if blanks and line != _with_check(text):
        raise CorruptLog(f"{what}: the line {text!r} does not match the check behind it")
    return text


def _numbers(words: Sequence[str], line: str) -> list[int]:
    try:
        return [int(word) for word in words]
    except ValueError:
        raise CorruptLog(f"wanted numbers, found {line!r}") from None
