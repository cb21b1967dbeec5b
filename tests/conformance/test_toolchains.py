"""What the helpers around foreign toolchains promise: made once, whole or not at all, and a clear word when missing."""

from pathlib import Path

import pytest

from tests.toolchains import Missing, made_once, program, run_quietly


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    calls: list[Path] = []

    def make(out: Path) -> None:
        calls.append(out)
        (out / "file").write_text("whole")

    for _ in range(2):
        assert (made_once(tmp_path / "cache" / "it", make) / "file").read_text() == "whole"
    assert len(calls) == 1


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    def make(out: Path) -> None:
        (out / "half").touch()
        run_quietly(["false"], cwd=out)

    with pytest.raises(RuntimeError, match="false ended with exit code 1"):
        made_once(tmp_path / "it", make)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing, match="mvn: not on the PATH"):
        program("mvn")
