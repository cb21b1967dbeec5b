"""What is known of topics besides their logs: a journal of lines, each with its CRC, written before it is answered.

A line is eight hex digits of CRC-32C, a space, and one JSON object:
{"starts": n}                          the broker was started n times; leader epochs count from here
{"topic": name, "id": hex, "grown": [[partitions, starts], ...], "configs": {...}}    a topic as it is from now on
{"deleted": name, "id": hex}           its directories go
{"producer_ids": n}                    ids below n may have been given out
The last word on each subject counts. A start writes the journal anew, without what is overtaken.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from oncelog.engine.classic.checkpoints import read_file, write_file
from oncelog.errors import CorruptLog
from oncelog.model import TopicId
from oncelog.ports import Disk, File
from oncelog.record.crc import crc32c

JOURNAL: Final = "oncelog-topics.journal"


@dataclass(slots=True)
class TopicEntry:
    """A topic. `grown`: (partitions, starts) whenever it got more; a partition's leader epoch is the starts since then."""

    name: str
    id: TopicId
    grown: list[tuple[int, int]]
    configs: dict[str, str]

    @property
    def partitions(self) -> int:
        return self.grown[-1][0]

    def born(self, partition: int) -> int:
        """The number of starts when this partition came."""
        return next(starts for count, starts in self.grown if partition < count)


@dataclass(slots=True)
class Metadata:
    """All that the journal says."""

    starts: int = 0
    next_producer_id: int = 0
    topics: dict[str, TopicEntry] = field(default_factory=dict[str, TopicEntry])
    deleted: dict[str, list[TopicId]] = field(default_factory=dict[str, list[TopicId]])

    def apply(self, entry: Mapping[str, Any]) -> None:
        if "topic" in entry:
            grown = [(int(count), int(starts)) for count, starts in entry["grown"]]
            name, configs = str(entry["topic"]), cast(dict[str, str], entry["configs"])
            self.topics[name] = TopicEntry(name, TopicId(bytes.fromhex(entry["id"])), grown, dict(configs))
        elif "deleted" in entry:
            self.topics.pop(entry["deleted"], None)
            self.deleted.setdefault(entry["deleted"], []).append(TopicId(bytes.fromhex(entry["id"])))
        elif "producer_ids" in entry:
            self.next_producer_id = max(self.next_producer_id, int(entry["producer_ids"]))
        elif "starts" in entry:
            self.starts = int(entry["starts"])
        else:
            raise CorruptLog(f"wanted a known entry, found {dict(entry)!r}")

    def entries(self) -> list[dict[str, Any]]:
        """What a new journal needs to say the same."""
        return [
            {"starts": self.starts},
            {"producer_ids": self.next_producer_id},
            *[topic_entry(self.topics[name]) for name in sorted(self.topics)],
        ]


def topic_entry(topic: TopicEntry) -> dict[str, Any]:
    return {"topic": topic.name, "id": topic.id.hex(), "grown": topic.grown, "configs": topic.configs}


def encode_line(entry: Mapping[str, Any]) -> bytes:
    text = json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()
    return b"%08x %s\n" % (crc32c(text), text)


def decode_journal(data: bytes) -> tuple[Metadata, int]:
    """What the journal says and how many of its bytes are good: a torn last line is dropped.

    A bad line that a good one follows was not torn by a crash: lines are written one at a time. That is damage.
    """
    metadata = Metadata()
    good = 0
    bad: int | None = None
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        text = line[9:]
        if len(line) < 10 or line[8:9] != b" " or line[:8] != b"%08x" % crc32c(text):
            bad = number if bad is None else bad
            continue
        if bad is not None:
            raise CorruptLog(f"{JOURNAL}: line {bad} does not match its CRC, but line {number} does")
        metadata.apply(json.loads(text))
        good += len(line) + 1
    return metadata, good


class Journal:
    """The journal file. One change at a time is appended: the next waits until the last is durable."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._file: File | None = None

    def check(self) -> None:
        """After a clean stop no line is torn: a bad last line is damage, and dropping it would lose a topic."""
        data = read_file(self._disk, JOURNAL) or b""
        _, good = decode_journal(data)
        if good != len(data):
            raise CorruptLog(
                f"{JOURNAL}: the line at byte {good} does not match its CRC, wanted all {len(data)} bytes after a clean stop"
            )

    def load(self) -> Metadata:
        """Reads the journal, counts this start, and writes it anew."""
        metadata = Metadata()
        if self._disk.exists(JOURNAL):
            file = self._disk.open(JOURNAL)
            data = file.read(0, file.size())
            file.close()
            metadata, _ = decode_journal(data)
            metadata.starts += 1
        elif any(name.endswith("-0") for name in self._disk.list("")):
            raise CorruptLog(
                f"{JOURNAL} is missing, but there are topics: wanted the journal or an empty directory"
            )
        lines = b"".join([encode_line(entry) for entry in metadata.entries()])
        write_file(self._disk, JOURNAL, lines)
        return metadata

    def append(self, entry: Mapping[str, Any]) -> File:
        """Writes one line; the caller syncs the file."""
        if self._file is None:
            self._file = self._disk.open(JOURNAL)
        self._file.append((encode_line(entry),))
        return self._file

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
