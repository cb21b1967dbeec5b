"""Spark's offset log, `<checkpoint>/offsets/<batch id>`: which source offsets a micro-batch ends at.

line 1   v1
line 2   JSON: watermark, time, settings
line 3-  the end offset of each source, in the order of the plan: JSON, or `-` for a source without data
Kafka sources, Spark's and ours, write {"topic":{"partition":next offset}}.
"""

import hashlib
import importlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import unquote, urlparse

from oncelog.errors import OncelogError
from oncelog.model import TopicPartition

VERSION: Final = "v1"
NO_OFFSET: Final = "-"
# Hadoop's names of file systems that pyarrow knows by another one.
SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}


class UnreadableCheckpoint(OncelogError):
    """A checkpoint of which we cannot say at which source offsets its micro-batch ends."""


def parse_offset_log(text: str) -> tuple[str, ...]:
    """The lines of the sources."""
    lines = text.split("\n")
    if lines[0] != VERSION or len(lines) < 2:
        raise UnreadableCheckpoint(
            f"offset log: wanted {VERSION!r} and a line of settings, found {text[:80]!r}"
        )
    return tuple(lines[2:])


def digest_of(sources: Sequence[str]) -> str:
    """A short name of exactly these offsets."""
    return hashlib.sha256("\n".join(sources).encode()).hexdigest()[:16]


def kafka_offsets(sources: Sequence[str]) -> dict[TopicPartition, int]:
    """The next offset of each partition, of all sources that look like Kafka's; others have nothing to commit.

    Two sources of one partition (a self-join of streams): the smaller offset, from which both could go on.
    """
    found: dict[TopicPartition, int] = {}
    for line in sources:
        for partition, offset in _kafka_line(line).items():
            found[partition] = min(offset, found.get(partition, offset))
    return found


def _kafka_line(line: str) -> dict[TopicPartition, int]:
    """Empty unless all of the line has the shape."""
    if line == NO_OFFSET:
        return {}
    try:
        parsed: Any = json.loads(line)
    except ValueError:
        return {}
    if not isinstance(parsed, dict):
        return {}
    found: dict[TopicPartition, int] = {}
    for topic, partitions in cast(dict[str, object], parsed).items():
        if not isinstance(partitions, dict):
            return {}
        for partition, offset in cast(dict[str, object], partitions).items():
            if not partition.isdecimal() or not isinstance(offset, int) or offset < 0:
                return {}
            found[TopicPartition(topic, int(partition))] = offset
    return found


# Files


def read_sources(checkpoint: str, batch_id: int) -> tuple[str, ...]:
    """The lines of the sources of a micro-batch that Spark has begun."""
    return parse_offset_log(_read(checkpoint, f"offsets/{batch_id}"))


def read_query_id(checkpoint: str) -> str | None:
    """The id that the checkpoint gives to its query; None before Spark has written it."""
    try:
        found = json.loads(_read(checkpoint, "metadata"))["id"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, str) else None


def _read(checkpoint: str, name: str) -> str:
    """FileNotFoundError if the file is not there; UnreadableCheckpoint if it cannot be told."""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", checkpoint):
        return (Path(checkpoint) / name).read_text()
    uri = urlparse(checkpoint)
    if uri.scheme == "file":
        return (Path(unquote(uri.path)) / name).read_text()
    fs: Any = importlib.import_module("pyarrow.fs")  # no types; only who keeps checkpoints elsewhere needs it
    shown = f"{SCHEMES.get(uri.scheme, uri.scheme)}:{checkpoint.partition(':')[2]}"
    try:
        door, path = fs.FileSystem.from_uri(shown)
        with door.open_input_stream(f"{path.rstrip('/')}/{name}") as stream:
            return bytes(stream.readall()).decode()
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as why:  # pyarrow's errors are of these kinds
        raise UnreadableCheckpoint(f"checkpoint {checkpoint}: pyarrow.fs cannot read {name}: {why}") from why
