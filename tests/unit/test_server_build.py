"""The express lane is compiled when it is first wanted; where it cannot be, Python serves."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from oncelog.server.build import CannotBuild, load
from tests.unit.test_lane import served_by_the_lane

# hot.path   durability   compiled
ASKED = """
  -          process      no
  python     process      no
  native     process      yes
  native     power        yes
  auto       process      yes
  auto       power        no
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "oncelog"


def test_without_a_compiler_python_serves_and_the_log_says_why(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PATH", str(cache))
    assert served_by_the_lane({"hot.path": "native"}) is None
    assert "lane.missing why=lane.c: wanted cc, gcc or clang on the PATH, found none" in caplog.text


def test_auto_without_a_compiler_is_no_warning(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PATH", str(cache))
    with caplog.at_level("INFO", "oncelog.lane"):
        assert served_by_the_lane({"hot.path": "auto"}) is None
    assert [each.levelname for each in caplog.records if "lane.missing" in each.message] == ["INFO"]


@pytest.mark.parametrize("line", [line.split() for line in ASKED.splitlines() if line])
def test_nothing_is_compiled_that_has_nothing_to_do(line: list[str], cache: Path) -> None:
    hot_path, durability, is_compiled = line
    if is_compiled == "yes":
        _wants_compiler()
    asked = {} if hot_path == "-" else {"hot.path": hot_path}
    served = served_by_the_lane({**asked, "durability": durability})
    assert (served is not None, cache.exists()) == (is_compiled == "yes", is_compiled == "yes")
    assert (served == 1) == (is_compiled == "yes" and durability == "process")


def test_it_is_compiled_once_and_anew_for_other_flags(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _wants_compiler()
    assert served_by_the_lane({"hot.path": "native"}) == 1
    (built,) = cache.iterdir()
    made = built.stat().st_mtime_ns
    assert load("lane").Lane
    assert (built.stat().st_mtime_ns, list(cache.iterdir())) == (made, [built])
    monkeypatch.setenv("CFLAGS", "-O0")
    assert load("lane").Lane
    assert len(list(cache.iterdir())) == 2


def test_what_the_compiler_says_is_told_and_nothing_is_left(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _wants_compiler()
    monkeypatch.setenv("CFLAGS", "-Dint=no_such_name")
    with pytest.raises(CannotBuild, match=r"(?s)lane\.c: .*no_such_name"):
        load("lane")
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _wants_compiler()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert served_by_the_lane({"hot.path": "native"}) is None


@pytest.mark.parametrize("whose", ["folder", "file"])
def test_what_others_may_write_is_not_loaded(
    whose: str, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _wants_compiler()
    assert load("lane").Lane
    (built,) = cache.iterdir()
    open_to_all = cache if whose == "folder" else built
    open_to_all.chmod(0o777)
    assert served_by_the_lane({"hot.path": "native"}) is None
    assert f"{open_to_all}: wanted what this user owns and nobody else may write, found" in caplog.text
    assert "and mode 777" in caplog.text


def test_nothing_is_compiled_into_a_folder_that_others_may_write(cache: Path) -> None:
    _wants_compiler()
    cache.mkdir()
    cache.chmod(0o1777)
    with pytest.raises(CannotBuild, match="mode 1777"):
        load("lane")
    assert list(cache.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="who is not root gives no file away")
def test_a_file_of_somebody_else_is_not_loaded(cache: Path) -> None:
    _wants_compiler()
    assert load("lane").Lane
    (built,) = cache.iterdir()
    os.chown(built, 65534, 65534)
    with pytest.raises(CannotBuild, match="found owner 65534 and mode 700"):
        load("lane")


def test_a_cache_is_an_absolute_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    with pytest.raises(CannotBuild, match="wanted an absolute path as XDG_CACHE_HOME, found cache"):
        load("lane")


def test_what_is_left_of_a_file_is_made_anew(cache: Path) -> None:
    """As a crash of the machine may leave it: the name without the bytes."""
    _wants_compiler()
    by_another = "from oncelog.server.build import load; load('lane')"
    subprocess.run([sys.executable, "-c", by_another], check=True)
    (built,) = cache.iterdir()
    built.write_bytes(b"")
    assert load("lane").Lane
    assert built.stat().st_size > 0


@pytest.mark.usefixtures("cache")
def test_a_module_of_the_same_name_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    _wants_compiler()
    mine = ModuleType("lane")
    monkeypatch.setitem(sys.modules, "lane", mine)
    assert load("lane").Lane
    assert sys.modules["lane"] is mine


def test_who_has_no_home_is_served_by_python(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert served_by_the_lane({"hot.path": "native"}) is None
    assert "lane.missing why=lane.c: no XDG_CACHE_HOME, and Could not" in caplog.text


def _wants_compiler() -> None:
    if not any(shutil.which(each) for each in ("cc", "gcc", "clang")):
        pytest.skip("wanted a C compiler")
