"""A draft of a disk shows what is going to be there, changes nothing, and then makes the same changes in the same order."""

from random import Random

import pytest

from oncelog.engine.classic.checkpoints import write_file
from oncelog.engine.classic.draft import Draft
from oncelog.engine.memory import MemoryDisk
from oncelog.errors import StorageFault
from oncelog.ports import Disk
from oncelog.sim.loop import VirtualLoop

NAMES = ("d/a", "d/b", "d/c")


def disk_with_files() -> MemoryDisk:
    disk = MemoryDisk(VirtualLoop(Random(0)), Random(0))
    disk.make_directory("d")
    for name in NAMES[:2]:
        file = disk.open(name, create=True)
        file.append((name.encode() * 20,))
        file.close()
    return disk


def change(disk: Disk, random: Random) -> None:
    """One of the changes that recovery makes."""
    path, at = random.choice(NAMES), random.randrange(70)
    what = random.choice(("append", "write", "truncate", "rename", "remove", "replace", "sync"))
    if what == "replace":
        write_file(disk, path, bytes([at]) * at)
    elif what == "remove":
        disk.remove(path)
    elif what == "rename" and disk.exists(path):
        disk.rename(path, random.choice([name for name in NAMES if name != path]))
    elif disk.exists(path) or what == "append":
        file = disk.open(path, create=True)
        if what == "append":
            file.append((b"x" * at, b"y"))
        elif what == "write":
            file.write_at(at, b"written")
        elif what == "truncate":
            file.truncate(at)
        else:
            disk.sync_now((file,))
        file.close()


def shown(disk: Disk) -> dict[str, bytes]:
    names = [f"d/{name}" for name in disk.list("d")]
    assert [name for name in NAMES if disk.exists(name)] == names
    found: dict[str, bytes] = {}
    for name in names:
        file = disk.open(name)
        found[name] = file.read(0, file.size())
        assert file.read(3, 4) == found[name][3:7]
        file.close()
    return found


@pytest.mark.parametrize("seed", range(40))
def test_a_draft_shows_what_is_going_to_be_and_then_makes_it_so(seed: int) -> None:
    real, under = disk_with_files(), disk_with_files()
    wanted: list[tuple[str, str]] = []
    made: list[tuple[str, str]] = []
    real.before_change = lambda what, path: wanted.append((what, path))
    under.before_change = lambda what, path: made.append((what, path))
    draft = Draft(under)
    dice, same_dice = Random(seed), Random(seed)
    before = shown(under)
    for _ in range(12):
        change(real, dice)
        change(draft, same_dice)
        assert shown(draft) == shown(real)
    assert shown(under) == before
    assert made == []
    draft.keep()
    assert shown(under) == shown(real)
    assert made == wanted
    assert not under.opened


def test_what_a_draft_has_removed_is_not_there() -> None:
    draft = Draft(disk_with_files())
    draft.remove("d/a")
    with pytest.raises(StorageFault, match="d/a failed: No such file"):
        draft.open("d/a")
