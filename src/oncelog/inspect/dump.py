"""The files of a partition as plain values: Kafka's formats, whoever wrote them."""

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, Final

from oncelog.errors import CorruptBatch, OncelogError
from oncelog.inspect.annotate import attributes
from oncelog.model import CONSUMER_OFFSETS, TRANSACTION_STATE
from oncelog.record import aborted, offset_index, offsets, snapshot, time_index, txn_state
from oncelog.record.batch import DELETE_HORIZON, batches, check_crc, records_of
from oncelog.record.compression import NAMES
from oncelog.record.marker import read_marker
from oncelog.txn.state import State

KINDS: Final = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


class NotALogFile(OncelogError):
    """The file is none of a partition's files."""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One batch of a .log file."""

    position: int
    base_offset: int
    last_offset: int
    count: int
    base_sequence: int
    last_sequence: int
    producer_id: int
    producer_epoch: int
    leader_epoch: int
    max_timestamp: int
    delete_horizon_ms: int | None  # when compaction may drop its tombstones; a marker's too
    size: int
    magic: int
    codec: str
    attributes: str
    is_transactional: bool
    is_control: bool
    crc: int
    crc_fits: bool
    marker: str | None  # COMMIT or ABORT
    coordinator_epoch: int | None


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One record of an internal topic, decoded; a value of None is a tombstone."""

    offset: int
    timestamp: int
    kind: str
    key: dict[str, Any] | None
    value: dict[str, Any] | None


def batch_rows(data: bytes) -> Iterator[tuple[BatchRow, bytes]]:
    """Each whole batch with its bytes. What follows the last whole one is the caller's to report."""
    for at, header in batches(data):
        batch = data[at : at + header.size]
        fits = check_crc(batch, header)
        marker = read_marker(batch) if header.is_control and fits else None
        yield (
            BatchRow(
                position=at,
                base_offset=header.base_offset,
                last_offset=header.last_offset,
                count=header.count,
                base_sequence=header.base_sequence,
                last_sequence=header.last_sequence if header.base_sequence >= 0 else -1,
                producer_id=header.producer_id,
                producer_epoch=header.producer_epoch,
                leader_epoch=header.leader_epoch,
                max_timestamp=header.max_timestamp,
                delete_horizon_ms=header.base_timestamp if header.attributes & DELETE_HORIZON else None,
                size=header.size,
                magic=header.magic,
                codec=NAMES.get(header.codec, str(header.codec)),
                attributes=attributes(header.attributes),
                is_transactional=header.is_transactional,
                is_control=header.is_control,
                crc=header.crc,
                crc_fits=fits,
                marker=None if marker is None else ("COMMIT" if marker.commit else "ABORT"),
                coordinator_epoch=None if marker is None else marker.coordinator_epoch,
            ),
            batch,
        )


def stored_rows(topic: str, batch: bytes) -> Iterator[StoredRow]:
    """The records of a batch of __transaction_state or __consumer_offsets."""
    ((_, header),) = batches(batch)
    if header.is_control:
        return
    for record in records_of(memoryview(batch), header):
        key = bytes(record.key or b"")
        value = None if record.value is None else bytes(record.value)
        if topic == TRANSACTION_STATE:
            yield _transaction(record.offset, record.timestamp, key, value)
        else:
            yield _group(record.offset, record.timestamp, key, value)


def _transaction(offset: int, timestamp: int, key: bytes, value: bytes | None) -> StoredRow:
    bumped = txn_state.decode_bump_key(key)
    if bumped is not None:
        why = None if value is None else txn_state.decode_bump(value)
        return StoredRow(
            offset, timestamp, "epoch bump", _plain(bumped), None if why is None else _plain(why)
        )
    name = txn_state.decode_key(key)
    stored = None if value is None else txn_state.decode_value(value)
    fields = None if stored is None else _plain(stored)
    if fields is not None:
        fields["state"] = State(fields["status"]).kafka_name
    return StoredRow(offset, timestamp, "transaction", None if name is None else _plain(name), fields)


def _group(offset: int, timestamp: int, key: bytes, value: bytes | None) -> StoredRow:
    name = offsets.decode_key(key)
    if name is None:
        return StoredRow(offset, timestamp, "unknown", None, None)
    stored = None if value is None else offsets.decode_value(name, value)
    kind = type(name).__name__.removesuffix("Key")
    return StoredRow(offset, timestamp, kind, _plain(name), None if stored is None else _plain(stored))


def _plain(value: Any) -> dict[str, Any]:
    assert is_dataclass(value)
    assert not isinstance(value, type)
    return {name: _readable(each) for name, each in asdict(value).items()}


def _readable(value: Any) -> Any:
    """JSON has no bytes."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [_readable(each) for each in value]  # pyright: ignore[reportUnknownVariableType]  # asdict's own
    if isinstance(value, dict):
        return {str(name): _readable(each) for name, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # asdict's own
    return value


def index_rows(path: Path) -> list[dict[str, Any]]:
    """The entries of an .index, .timeindex, .txnindex or .snapshot file."""
    data = path.read_bytes()
    base = _base_offset(path)
    match path.suffix:
        case ".index":
            return [
                {"offset": base + each.relative_offset, "position": each.position}
                for each in offset_index.decode_entries(data)
            ]
        case ".timeindex":
            return [
                {"timestamp": each.timestamp, "offset": base + each.relative_offset}
                for each in time_index.decode_entries(data)
            ]
        case ".txnindex":
            return [dict(each._asdict()) for each in aborted.decode_entries(data)]
        case ".snapshot":
            return [dict(each._asdict()) for each in snapshot.decode_snapshot(data)]
        case _:
            raise NotALogFile(f"{path}: wanted a name that ends in {', '.join(KINDS)}, found {path.name!r}")


def _base_offset(path: Path) -> int:
    if not path.stem.isdecimal():
        raise NotALogFile(f"{path}: wanted a name of 20 digits, the first offset, found {path.stem!r}")
    return int(path.stem)


def topic_of(path: Path) -> str:
    """The topic that a segment belongs to, by its directory TOPIC-PARTITION."""
    return path.resolve().parent.name.rpartition("-")[0]


def is_internal(topic: str) -> bool:
    return topic in (TRANSACTION_STATE, CONSUMER_OFFSETS)


def torn_bytes(data: bytes) -> int:
    """How many bytes follow the last whole batch: a torn write, or zeroes laid out in advance."""
    end = 0
    with contextlib.suppress(CorruptBatch):  # what cannot be read as a batch is what we count
        for at, header in batches(data):
            end = at + header.size
    return len(data) - end
