"""Reads a partition of __consumer_offsets from its beginning into a Shard.

Most of that log are offsets that a later commit of the same partition replaced. So plain commits are kept as bytes, the
last one for each key, and only those that are left at the end are decoded and applied. That is right because the place of a
record in the log decides, not the time at which it is applied: a transactional value that became visible in between
counts as older or newer by its own record (TRAP-33). Tombstones are applied at once: they also end pending values.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from oncelog.errors import CorruptBatch
from oncelog.group.shard import Shard
from oncelog.model import NO_PRODUCER_ID
from oncelog.record.batch import BatchHeader, Bytes, Record, records_of
from oncelog.record.marker import read_marker
from oncelog.record.offsets import OffsetCommitKey, decode_key, decode_value

COMMIT_TYPES: Final = (b"\0\1", b"\0\0")  # the second is an old form of the same key
SLICE: Final = 200  # commits applied between two chances to do something else


class Replay:
    def __init__(self) -> None:
        self.shard = Shard()
        self.skipped = 0  # records of unknown versions
        self._commits: dict[
            bytes, tuple[int, bytes, bytes]
        ] = {}  # key without its type -> offset, key, value

    def batch(self, batch: Bytes, header: BatchHeader, from_offset: int) -> None:
        """One whole batch; records below `from_offset` were seen before."""
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None:
                self.shard.end_transaction(header.producer_id, commit=marker.commit)
            return
        producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
        self._records(records_of(batch, header), producer_id, from_offset)

    def _records(self, records: Iterable[Record], producer_id: int, from_offset: int) -> None:
        for offset, _, key, value, _ in records:
            if offset < from_offset or key is None:
                continue
            if producer_id == NO_PRODUCER_ID and key[:2] in COMMIT_TYPES:
                if value is not None:
                    if key[2:] not in self._commits:
                        self._touch(key)
                    self._commits[key[2:]] = (offset, key, value)
                    continue
                self._commits.pop(key[2:], None)
            self._apply(offset, producer_id, key, value)

    def _touch(self, key_bytes: bytes) -> None:
        """The group is there from the first commit on, even if a tombstone leaves nothing of it but the group."""
        key = decode_key(key_bytes)
        assert isinstance(key, OffsetCommitKey)
        self.shard.touch(key.group)

    def _apply(self, offset: int, producer_id: int, key_bytes: bytes, value_bytes: bytes | None) -> None:
        try:
            key = decode_key(key_bytes)
            if key is None:
                return  # share groups, streams groups
            value = None if value_bytes is None else decode_value(key, value_bytes)
        except CorruptBatch as fault:
            raise CorruptBatch(f"record {offset}: {fault}") from fault
        if value_bytes is not None and value is None:
            self.skipped += 1
            return
        if isinstance(key, OffsetCommitKey) and producer_id == NO_PRODUCER_ID and value is not None:
            offsets = self.shard.offsets.get(key.group)
            visible = None if offsets is None else offsets.find(key.topic, key.partition)
            if visible is not None and visible.record_offset > offset:
                return  # a transaction committed a later one
        self.shard.apply(offset, producer_id, key, value)

    def finish(self) -> Iterator[None]:
        """Applies what is left, and comes back now and then: the shard is complete when there is no more."""
        commits = sorted(self._commits.values())
        self._commits.clear()
        for index, (offset, key, value) in enumerate(commits):
            self._apply(offset, NO_PRODUCER_ID, key, value)
            if index % SLICE == SLICE - 1:
                yield
