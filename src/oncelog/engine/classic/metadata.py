"""What is known of topics besides their logs: a journal of lines, each with its CRC, written before it is answered.

A line is eight hex digits of CRC-32C, a space, and one JSON object:
{"starts": n, "copies": 2}             the broker was started n times; leader epochs count from here
{"topic": name, "id": hex, "grown": [[partitions, starts], ...], "configs": {...}}    a topic as it is from now on
{"deleted": name, "id": hex}           its directories go
{"producer_ids": n}                    ids below n may have been given out
The last word on each subject counts. A start writes the journal anew, without what is overtaken.

There are two copies, oncelog-topics.journal and oncelog-topics.journal.copy, with the same lines at the same places. A line is
answered for when both are durable, so one that was can be read in at least one of them, whatever else happened to the other;
one that is whole in neither was torn by a cut before anybody was answered (decision 0031). A directory of before has one.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from oncelog.engine.classic.checkpoints import begin_file, end_file, read_file
from oncelog.errors import CorruptLog
from oncelog.model import TopicId
from oncelog.ports import Disk, File
from oncelog.record.crc import crc32c

log = logging.getLogger("oncelog.engine")

JOURNAL: Final = "oncelog-topics.journal"
COPIES: Final = (JOURNAL, f"{JOURNAL}.copy")
HEAD_LINES: Final = 2  # that every start writes: they are never torn
_LINE_OVERHEAD: Final = 10  # of a line: its CRC, the space, the end


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
            {"starts": self.starts, "copies": len(COPIES)},
            {"producer_ids": self.next_producer_id},
            *[topic_entry(self.topics[name]) for name in sorted(self.topics)],
        ]


def topic_entry(topic: TopicEntry) -> dict[str, Any]:
    return {"topic": topic.name, "id": topic.id.hex(), "grown": topic.grown, "configs": topic.configs}


def encode_line(entry: Mapping[str, Any]) -> bytes:
    text = json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()
    return b"%08x %s\n" % (crc32c(text), text)


def decode_journal(copies: Mapping[str, bytes], *, clean: bool = False) -> Metadata:
    """What the journal says, by the copies that are there. A torn last line is dropped.

    A line that is bad in all of them is torn only where no good one follows (lines are written one at a time), the stop before
    was not `clean`, and no copy is missing; else it is damage.
    """
    first, *others = sorted(copies, key=lambda name: -_head(copies[name]).get("starts", -1))
    same = [first, *(name for name in others if _is_same(copies[first], copies[name]))]
    paired = "copies" in _head(copies[first])
    # A start that was cut has replaced one and not the other: then nothing was added to the new one, and the old one says the same.
    older = [name for name in others if name not in same and _head(copies[name])]
    if paired and older and _good_bytes(copies[first]) < len(copies[first]):
        log.warning("journal.damaged file=%s read_instead=%s", first, older[0])
        first, same, paired = older[0], older[:1], False
    if len(same) == len(COPIES) and copies[first] == copies[same[1]]:
        same = same[:1]
    else:
        clean = clean or (paired and len(same) == 1 and not older)
    return _decode({name: copies[name] for name in same}, clean=clean)


def _decode(copies: Mapping[str, bytes], *, clean: bool) -> Metadata:
    metadata = Metadata()
    at, number = 0, 1
    unread = dict.fromkeys(copies, 0)  # bad lines of each that another has
    while True:
        texts = {name: text for name, data in copies.items() if (text := _line_at(data, at)) is not None}
        if not texts:
            break
        text, *more = texts.values()
        if any(each != text for each in more):
            raise CorruptLog(f"{JOURNAL}: line {number} is another one in {' and '.join(texts)}")
        for name in copies.keys() - texts.keys():
            unread[name] += 1
        metadata.apply(json.loads(text))
        at += _LINE_OVERHEAD + len(text)
        number += 1
    for name, data in copies.items():
        if unread[name]:
            log.warning("journal.mended file=%s lines=%d", name, unread[name])
        if number <= HEAD_LINES:
            raise CorruptLog(
                f"{name}: line {number} does not match its CRC, and starts replace the file as a whole"
            )
        if len(data) > at and clean:
            raise CorruptLog(
                f"{name}: the line at byte {at} does not match its CRC, wanted all {len(data)} bytes: "
                "no cut has torn it, restore the file from a copy"
            )
        for later, line in enumerate(data[at:].split(b"\n")[:-1], start=number):
            if _text_of(line) is not None:
                raise CorruptLog(f"{name}: line {number} does not match its CRC, but line {later} does")
    return metadata


def _text_of(line: bytes) -> bytes | None:
    """What a line says, if it matches its CRC."""
    text = line[9:]
    return text if len(line) > 9 and line[8:9] == b" " and line[:8] == b"%08x" % crc32c(text) else None


def _line_at(data: bytes, at: int) -> bytes | None:
    end = data.find(b"\n", at)
    return None if end < 0 else _text_of(data[at:end])


def _good_bytes(data: bytes) -> int:
    """How many of its bytes are good lines, from the first on."""
    at = 0
    while (text := _line_at(data, at)) is not None:
        at += _LINE_OVERHEAD + len(text)
    return at


def _head(data: bytes) -> Mapping[str, Any]:
    """The first line, which tells by how many starts this copy is; empty if it cannot be read."""
    text = _line_at(data, 0)
    return {} if text is None else cast(dict[str, Any], json.loads(text))


def _is_same(newest: bytes, other: bytes) -> bool:
    """Whether the other one was written by the same start. If its first line cannot be read: whether the others are the same."""
    if _head(other):
        return _head(other) == _head(newest)
    begin, end = newest.find(b"\n"), min(_good_bytes(newest), len(other))
    return not _head(newest) or (begin + 1 < end and newest[begin:end] == other[begin:end])


class Journal:
    """Both copies of the journal. One change at a time is appended: the next waits until the last is durable."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._files: list[File] = []

    def read(self, *, clean: bool) -> Metadata:
        """Changes nothing, but counts this start. After a clean stop no line is torn: a bad last one is damage, and dropping it
        would lose a topic."""
        found = {name: read_file(self._disk, name) for name in COPIES}
        copies = {name: data for name, data in found.items() if data is not None}
        if not copies:
            if any(name.endswith("-0") for name in self._disk.list("")):
                raise CorruptLog(
                    f"{JOURNAL} is missing, but there are topics: wanted the journal or an empty directory"
                )
            return Metadata()
        metadata = decode_journal(copies, clean=clean)
        metadata.starts += 1
        return metadata

    def rewrite(self, metadata: Metadata) -> None:
        """Replaces both copies. Blocks while it syncs."""
        lines = b"".join([encode_line(entry) for entry in metadata.entries()])
        files = [begin_file(self._disk, name, lines) for name in COPIES]
        self._disk.sync_now(files)
        for name, file in zip(COPIES, files, strict=True):
            file.close()
            end_file(self._disk, name)
        self._disk.sync_directory("")

    def append(self, entry: Mapping[str, Any]) -> Sequence[File]:
        """Writes one line to each copy; the caller syncs the files."""
        if not self._files:
            self._files = [self._disk.open(name) for name in COPIES]
        line = encode_line(entry)
        for file in self._files:
            file.append((line,))
        return self._files

    def close(self) -> None:
        for file in self._files:
            file.close()
        self._files = []
