"""The small files of a log directory: replaced as a whole, by write, sync, rename, sync of the directory.

Who reads one sees the old content or the new one, whatever was cut in between (B54).
"""

from collections.abc import Callable
from typing import Final, TypeVar

from oncelog.errors import CorruptLog
from oncelog.model import TopicPartition
from oncelog.ports import Disk, File
from oncelog.record.checkpoints import decode_offsets, encode_offsets

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS: Final = "log-start-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEANED_OFFSETS: Final = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
META_PROPERTIES: Final = "meta.properties"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
TEMPORARY: Final = ".tmp"

T = TypeVar("T")


def write_file(disk: Disk, path: str, data: bytes) -> None:
    """Replaces the file. Blocks while it syncs: not for the serving loop."""
    file = begin_file(disk, path, data)
    disk.sync_now((file,))
    file.close()
    end_file(disk, path)
    disk.sync_directory(path.rpartition("/")[0])


def begin_file(disk: Disk, path: str, data: bytes) -> File:
    """The first step of many that share their syncs: what is to replace the file. Only when it is synced, `end_file`."""
    file = disk.open(path + TEMPORARY, create=True)
    if file.size():
        file.truncate(0)
    file.append((data,))
    return file


def end_file(disk: Disk, path: str) -> None:
    """It takes its place; durable when the directory is synced."""
    disk.rename(path + TEMPORARY, path)


def read_file(disk: Disk, path: str) -> bytes | None:
    if not disk.exists(path):
        return None
    file = disk.open(path)
    data = file.read(0, file.size())
    file.close()
    return data


def read_text(disk: Disk, path: str, decode: Callable[[str], T]) -> T | None:
    """None if there is no such file; CorruptLog names it if it cannot be read."""
    data = read_file(disk, path)
    if data is None:
        return None
    try:
        return decode(data.decode("utf-8"))
    except (CorruptLog, UnicodeDecodeError) as error:
        raise CorruptLog(f"{path}: {error}") from error


def write_offsets(disk: Disk, name: str, offsets: dict[TopicPartition, int]) -> None:
    write_file(disk, name, encode_offsets(offsets).encode())


def read_offsets(disk: Disk, name: str) -> dict[TopicPartition, int]:
    return read_text(disk, name, decode_offsets) or {}
