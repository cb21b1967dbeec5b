"""The real disk and the one in memory: what each keeps, and what they do when the machine says no."""

import errno
import os
import pathlib
import threading
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

import pytest

from oncelog.engine import disk as disk_module
from oncelog.engine.disk import MANY_FILES, RealDisk
from oncelog.engine.memory import Loss, MemoryDisk
from oncelog.errors import StorageFault
from oncelog.ports import Bytes, Disk, File
from oncelog.sim.loop import NOBODY, Owner, VirtualLoop
from oncelog.tasks import Future

T = TypeVar("T")


class Threads(VirtualLoop):
    """in_thread as in production: in another thread, the answer in ours."""

    def in_thread(self, run: Callable[[], T], owner: Owner = NOBODY) -> Future[T]:
        del owner  # nothing is drawn here
        future: Future[T] = Future()
        outcome: list[T | BaseException] = []

        def work() -> None:
            try:
                outcome.append(run())
            except StorageFault as fault:
                outcome.append(fault)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if isinstance(outcome[0], BaseException):
            future.set_error(outcome[0])
        else:
            future.set_result(outcome[0])
        return future


def real(path: pathlib.Path, limit: int | None = None) -> RealDisk:
    return RealDisk(str(path), Threads(Random(0)), open_files_limit=limit)


def memory(seed: int = 0) -> MemoryDisk:
    return MemoryDisk(Threads(Random(seed)), Random(seed))


def descriptors() -> int:
    return sum(1 for _ in pathlib.Path("/proc/self/fd").iterdir())


@pytest.fixture(params=["real", "memory"])
def disk(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Disk:
    return real(tmp_path) if request.param == "real" else memory()


def test_files_are_written_read_cut_and_renamed(disk: Disk) -> None:
    disk.make_directory("d")
    file = disk.open("d/f", create=True)
    file.append((b"ab", memoryview(b"cde")))
    file.append((bytearray(b"f"),))
    assert (file.size(), file.read(1, 3), file.read(4, 100)) == (6, b"bcd", b"ef")
    file.write_at(1, b"XY")
    file.write_at(8, b"z")
    assert file.read(0, 100) == b"aXYdef\0\0z"
    file.truncate(2)
    file.append((b"!",))
    assert file.read(0, 100) == b"aX!"
    disk.sync([file]).result()
    disk.sync_now([file])
    disk.sync_directory("d")
    disk.rename("d/f", "d/g")
    assert disk.list("d") == ["g"]
    assert disk.open("d/g").read(0, 9) == b"aX!"
    disk.remove("d/nothing")
    disk.remove("d")
    assert not disk.exists("d")
    assert disk.list("d") == []
    assert disk.free_bytes() > 0


def test_many_pieces_are_one_append(disk: Disk) -> None:
    file = disk.open("f", create=True)
    pieces = [bytes([at % 256]) * 3 for at in range(3000)]  # more than one writev takes
    file.append(pieces)
    assert file.read(0, 10_000) == b"".join(pieces)


def test_more_files_than_descriptors(tmp_path: pathlib.Path) -> None:
    disk = real(tmp_path, limit=8)
    files = [disk.open(f"f{at}", create=True) for at in range(200)]
    before = descriptors()
    for turn in range(3):
        for at, file in enumerate(files):
            file.append((f"{at}/{turn};".encode(),))
    assert descriptors() <= before + 8
    disk.sync(files).result()
    for at, file in enumerate(files):
        assert file.read(0, 100) == f"{at}/0;{at}/1;{at}/2;".encode()
    disk.close()
    assert descriptors() < before


def test_a_sync_of_many_files_holds_few_descriptors(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_module, "_sweep_is_enough", lambda _path: False)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    disk = real(tmp_path, limit=32)
    files = [disk.open(f"f{at}", create=True) for at in range(50)]
    for file in files:
        file.append((b"x",))
    before = descriptors()
    synced: list[int] = []

    def fdatasync(descriptor: int) -> None:
        assert descriptors() <= before
        synced.append(os.fstat(descriptor).st_ino)
        if len(synced) == 10:
            disk.remove("f40")  # retention was faster

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    disk.sync(files).result()
    assert set(synced) == {each.stat().st_ino for each in tmp_path.glob("f*")}
    assert len(synced) == 49
    monkeypatch.setattr(os, "fdatasync", _refuses)
    with pytest.raises(StorageFault, match=r"fdatasync of .*f0 failed: Input/output error"):
        disk.sync(files).result()
    disk.close()


def _refuses(_: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize("swept", [True, False])
def test_many_files_are_swept_and_each_is_asked_only_if_the_sweep_failed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, swept: bool
) -> None:
    monkeypatch.setattr(disk_module, "_sweep_is_enough", lambda _path: True)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    disk = real(tmp_path)
    files = [disk.open(f"f{at}", create=True) for at in range(MANY_FILES)]
    for file in files:
        file.append((b"x",))
    sweeps: list[int] = []
    synced: list[int] = []

    def syncfs(descriptor: int) -> int:
        sweeps.append(os.fstat(descriptor).st_dev)
        return 0 if swept else -1

    monkeypatch.setattr(disk_module, "_SYNC_FILE_SYSTEM", syncfs)
    monkeypatch.setattr(os, "fdatasync", synced.append)
    disk.sync(files[1:]).result()
    assert (len(sweeps), len(synced)) == (0, MANY_FILES - 1)
    disk.sync(files).result()
    assert set(sweeps) == {tmp_path.stat().st_dev}
    assert len(synced) == MANY_FILES - 1 + (0 if swept else MANY_FILES)
    if not swept:
        monkeypatch.setattr(os, "fdatasync", _refuses)
        with pytest.raises(StorageFault, match=r"fdatasync of .*f0 failed: Input/output error"):
            disk.sync(files).result()
    disk.close()


MOUNTS = """
# kernel  device  file system  enough
  6.1.0   same    ext4         yes
  5.8.0   same    xfs          yes
  5.7.19  same    ext4         no
  6.1.0   other   ext4         no
  6.1.0   same    fuse.sshfs   no
  odd     same    ext4         no
"""


@pytest.mark.parametrize("row", [line.split() for line in MOUNTS.strip().splitlines()[1:]])
def test_a_sweep_is_enough_only_where_it_tells_of_errors(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, row: list[str]
) -> None:
    release, where, kind, enough = row
    device = tmp_path.stat().st_dev + (where == "other")
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"27 1 {os.major(device)}:{os.minor(device)} / / rw - {kind} /dev/x rw\n")
    monkeypatch.setattr(disk_module, "_MOUNTS", str(mounts))
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "n", release, "v", "m")))
    assert disk_module._sweep_is_enough(str(tmp_path)) == (enough == "yes")  # pyright: ignore[reportPrivateUsage]


def test_a_second_process_is_refused(tmp_path: pathlib.Path) -> None:
    first = real(tmp_path)
    with pytest.raises(StorageFault, match="another process uses this data directory"):
        real(tmp_path)
    first.close()
    real(tmp_path).close()


def test_a_directory_that_cannot_be_used_is_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFault, match="file: cannot be used as data directory"):
        real(tmp_path / "file")


def test_b55_a_short_write_is_continued(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = os.pwritev

    def few(descriptor: int, pieces: Sequence[Bytes], at: int) -> int:
        return written(descriptor, [bytes(b"".join(pieces)[:5])], at)

    disk = real(tmp_path)
    file = disk.open("f", create=True)
    monkeypatch.setattr(disk_module.os, "pwritev", few)
    file.append((b"abc", b"", b"defgh", b"ijklmnopq"))
    assert file.read(0, 99) == b"abcdefghijklmnopq"


def test_b55_a_full_disk_cuts_the_append_off_and_ends_all_writing(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = os.pwritev
    left = 7

    def full(descriptor: int, pieces: Sequence[Bytes], at: int) -> int:
        nonlocal left
        data = b"".join(pieces)[:left]
        if not data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left -= len(data)
        return written(descriptor, [data], at)

    disk = real(tmp_path)
    file = disk.open("f", create=True)
    monkeypatch.setattr(disk_module.os, "pwritev", full)
    file.append((b"abcd",))
    with pytest.raises(StorageFault, match="f failed: No space left on device"):
        file.append((b"efgh",))
    assert (tmp_path / "f").read_bytes() == b"abcd"
    for again in (
        lambda: file.append((b"x",)),
        lambda: file.write_at(0, b"x"),
        lambda: file.truncate(0),
        lambda: disk.sync_now([file]),
        lambda: disk.sync([file]).result(),
        lambda: disk.sync_directory(""),
        lambda: disk.rename("f", "g"),
        lambda: disk.open("g", create=True),
    ):
        with pytest.raises(StorageFault, match="No space left"):
            again()
    assert file.read(0, 9) == b"abcd"


def test_rule_6_a_failed_sync_is_never_tried_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def broken(descriptor: int) -> None:
        calls.append(descriptor)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    disk = real(tmp_path)
    file = disk.open("f", create=True)
    file.append((b"abcd",))
    monkeypatch.setattr(disk_module.os, "fdatasync", broken)
    for _ in range(3):
        with pytest.raises(StorageFault, match=r"fdatasync of .*/f failed: Input/output error"):
            disk.sync([file]).result()
    assert len(calls) == 1


# A machine without power


def test_kill_9_keeps_the_page_cache() -> None:
    disk = memory()
    file = disk.open("f", create=True)
    file.append((b"abc",))
    disk.crash("process")
    assert disk.open("f").read(0, 9) == b"abc"
    with pytest.raises(StorageFault, match="opened before the crash"):
        file.size()


def test_b55_a_kill_may_come_between_the_parts_of_a_short_write() -> None:
    disk = memory()
    file = disk.open("log", create=True)
    file.append([b"first"])

    class Killed(BaseException):
        pass

    def kill(*_change: str) -> None:
        disk.faults.part_before_crash = 0.6
        raise Killed

    disk.before_change = kill
    with pytest.raises(Killed):
        file.append([b"sec", b"ond....."])
    disk.crash("process")
    assert disk.open("log").read(0, 100) == b"firstsecond"


def test_a_power_cut_keeps_what_was_synced_and_may_tear_the_rest() -> None:
    lengths: set[int] = set()
    torn = 0
    for seed in range(200):
        disk = memory(seed)
        file = disk.open("f", create=True)
        disk.sync_directory("")
        file.append((b"a" * 1000,))
        disk.sync_now([file])
        file.append((b"b" * 2000,))
        disk.crash("power")
        data = disk.open("f").read(0, 9999)
        assert data[:1000] == b"a" * 1000
        lengths.add(len(data))
        torn += data[1000:] != b"b" * (len(data) - 1000)
    assert min(lengths) < 1100
    assert max(lengths) > 2900
    assert torn > 20


def test_a_power_cut_takes_often_all_and_often_nothing_and_tears_by_the_sectors_of_the_file() -> None:
    ends = {300: 0, 3000: 0}
    edges: set[int] = set()
    for seed in range(300):
        disk = memory(seed)
        file = disk.open("f", create=True)
        disk.sync_directory("")
        file.append((b"a" * 300,))
        disk.sync_now([file])
        file.append((b"b" * 2700,))
        disk.crash("power")
        data = disk.open("f").read(0, 9999)
        if len(data) in ends:
            ends[len(data)] += 1
        zeros = [at for at in range(len(data)) if not data[at]]
        edges |= {at for at in zeros if at - 1 not in zeros}
    assert all(60 < count < 130 for count in ends.values()), ends
    assert edges == {300, 512, 1024, 1536, 2048, 2560}


@pytest.mark.parametrize(
    ("loss", "names", "size"), [("lost", ["f"], 3), ("kept", ["f", "g"], 6), ("names", ["f", "g"], 3)]
)
def test_what_a_power_cut_takes_may_be_named(loss: Loss, names: list[str], size: int) -> None:
    for seed in range(8):
        disk = memory(seed)
        disk.set_dice(Random(seed), loss)
        file = disk.open("f", create=True)
        disk.sync_directory("")
        file.append((b"abc",))
        disk.sync_now([file])
        file.append((b"def",))
        disk.open("g", create=True).append((b"x",))
        disk.crash("power")
        assert disk.list("") == names
        assert disk.open("f").read(0, 9) == b"abcdef"[:size]
        if "g" in names:
            assert disk.open("g").size() == (loss == "kept")


class Later(VirtualLoop):
    """What is beside the loop happens when it is told to."""

    def __init__(self) -> None:
        super().__init__(Random(0))
        self.work: list[Callable[[], object]] = []

    def in_thread(self, run: Callable[[], T], owner: Owner = NOBODY) -> Future[T]:
        del owner
        self.work.append(run)
        return Future()


def later(loss: Loss) -> tuple[Later, MemoryDisk, File]:
    loop = Later()
    disk = MemoryDisk(loop, Random(0))
    disk.set_dice(Random(0), loss)
    file = disk.open("f", create=True)
    disk.sync_directory("")
    file.append((b"abc",))
    return loop, disk, file


@pytest.mark.parametrize(("loss", "found"), [("lost", b"abc"), ("kept", b"abcdef")])
def test_a_sync_makes_durable_what_was_there_when_it_was_asked_for(loss: Loss, found: bytes) -> None:
    """fdatasync promises nothing of what is written while it is under way; a power cut may take it, and may not."""
    loop, disk, file = later(loss)
    disk.sync([file])
    file.append((b"def",))
    loop.work.pop()()
    disk.crash("power")
    assert disk.open("f").read(0, 9) == found


def test_a_sync_that_ends_late_takes_nothing_from_one_that_was_faster() -> None:
    loop, disk, file = later("lost")
    disk.sync([file])
    file.append((b"def",))
    disk.sync([file])
    slow, fast = loop.work
    fast()
    slow()
    disk.crash("power")
    assert disk.open("f").read(0, 9) == b"abcdef"


@pytest.mark.parametrize("ends", [[0], [1], [0, 1], [1, 0]])
def test_what_is_cut_off_or_rewritten_during_a_sync_needs_another(ends: list[int]) -> None:
    loop, disk, file = later("lost")
    disk.sync_now([file])
    disk.sync([file])
    file.truncate(1)
    file.append((b"xyz",))
    disk.sync([file])
    for number in ends:
        loop.work[number]()
    disk.crash("power")
    assert disk.open("f").read(0, 9) == (b"axyz" if 1 in ends else b"abc")


def test_b53_an_entry_is_only_there_after_its_directory_was_synced() -> None:
    found = {"new": 0, "renamed": 0}
    for seed in range(50):
        disk = memory(seed)
        disk.make_directory("d")
        disk.sync_directory("")
        old = disk.open("d/old", create=True)
        old.append((b"x",))
        disk.sync_now([old])
        disk.sync_directory("d")
        disk.rename("d/old", "d/renamed")
        disk.sync_now([disk.open("d/new", create=True)])
        disk.crash("power")
        names = disk.list("d")
        assert ("old" in names) != ("renamed" in names)  # a rename happens or does not
        found["new"] += "new" in names
        found["renamed"] += "renamed" in names
    assert 0 < found["new"] < 50
    assert 0 < found["renamed"] < 50


def test_a_failed_sync_loses_the_pages_for_good() -> None:
    disk = memory()
    file = disk.open("f", create=True)
    disk.sync_directory("")
    file.append((b"abc",))
    disk.faults.syncs_until_error = 1
    with pytest.raises(StorageFault, match="fdatasync of f failed: Input/output error"):
        disk.sync_now([file])
    disk.fault = None  # as if somebody believed that a second try helps
    disk.sync_now([file])
    disk.crash("power")
    assert disk.open("f").read(0, 9) == b"\0\0\0"


def test_faults_meet_only_the_paths_that_they_name() -> None:
    disk = memory()
    disk.faults.space_left_bytes = 4
    disk.faults.only_paths_with = ".txnindex"
    disk.open("a.log", create=True).append((b"123456",))
    file = disk.open("a.txnindex", create=True)
    with pytest.raises(StorageFault, match="No space left"):
        file.append((b"123456",))
    assert file.size() == 0
