"""Whoever waits is told how far it is and how long it takes, on this machine as it is today."""

from pathlib import Path

import pytest

from oncelog.cost import eos, scaling
from oncelog.cost.load import Loaded
from oncelog.cost.progress import Progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bar_and_what_is_left_at_the_pace_of_what_was() -> None:
    told: list[str] = []
    clock = Clock()
    progress = Progress(told.append, 4, 600.0, clock=clock)
    clock.now += 120
    progress.passed(60)  # a warm-up took twice as long as it should
    progress.step("a", 60)
    clock.now += 120
    progress.step("b", 60)
    progress.step("c", 390)
    progress.step("d", 30)
    assert told == [
        "expected: 10 minutes on an idle machine",
        "[#####...............] 1/4, 8 minutes left a",  # 480 s at the pace of 120 in 120
        "[##########..........] 2/4, 10 minutes left b",  # 420 s at 240 in 180
        "[###############.....] 3/4, a minute left c",
        "[####################] 4/4 d",
    ]


def test_without_an_expectation_there_is_a_bar_alone() -> None:
    told: list[str] = []
    Progress(told.append, 2).step("a")
    assert told == ["[##########..........] 1/2 a"]


def test_the_steps_of_all_cells_and_restarts_take_what_was_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the time that is said to be left would not come to nothing."""
    passed: list[float] = []

    class Kept(Progress):
        def passed(self, seconds: float) -> None:
            passed.append(seconds)

        def step(self, line: str, seconds: float = 0.0) -> None:
            passed.append(seconds)
            super().step(line, seconds)

    class Side:
        """A broker that is there at once."""

        def __init__(self, name: str) -> None:
            self.name, self.bootstrap, self.process_id = name, "127.0.0.1:1", None

        def start(self) -> None: ...
        def halt(self) -> None: ...
        def kill(self) -> None: ...
        def stop(self) -> None: ...
        def another(self) -> "Side":
            return Side(self.name)

        def log_bytes(self) -> None: ...
        def described(self) -> str:
            return ""

    expected: list[float] = []

    def began(tell: object, steps: int, expected_s: float) -> Kept:
        del tell
        expected.append(expected_s)
        return Kept(told.append, steps, expected_s)

    def ran(bootstrap: str, topic: str, seconds: float) -> Loaded:
        del bootstrap, topic
        return Loaded(seconds, 1, 1, 1, 0, 0.0, {}, {}, {})

    told: list[str] = []
    for name in ("create", "remove", "_fill", "_warm_up"):
        monkeypatch.setattr(eos, name, lambda *words: None)  # noqa: ARG005  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    monkeypatch.setattr(eos, "_start", lambda side: 1.0)  # noqa: ARG005  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    monkeypatch.setattr(eos, "Progress", began)
    cells = [eos.Cell(1, ran, eos.rate_of("a")), eos.Cell(1, ran, eos.rate_of("b"), least_s=7.0)]
    monkeypatch.setattr(eos, "cells", lambda *, power: cells)  # noqa: ARG005  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    sides: list[eos.Side] = [Side("oncelog"), Side("another")]
    found = eos.measure(sides, rounds=2, seconds=1.0, only=None, tell=told.append, warm_up=3.0)
    assert found.troubles == []
    assert sum(passed) == pytest.approx(expected[0])
    assert told[-1].startswith("[####################]")
    assert sum("bytes of log" in line or "after a stop" in line for line in told) == 6  # restarts have steps


def test_a_curve_has_a_bar_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    del tmp_path
    one = scaling.Curve(
        "c", "producers", "transaction", (1, 10, 100), lambda point: 1,  # noqa: ARG005
        lambda bootstrap, topic, point, seconds: Loaded(seconds, 1, 1, 1, 0, 0.0, {}, {}, {}),  # noqa: ARG005
    )  # fmt: skip
    monkeypatch.setattr(scaling, "curves", lambda: [one])
    told: list[str] = []
    found = scaling.measure(rounds=2, seconds=0.1, tell=told.append, largest=10)
    assert len(found["runs"]) == 4
    bars = [line.split()[1].rstrip(",") for line in told if line.startswith("[")]
    assert bars == [f"{step}/6" for step in range(1, 7)]
    assert told[0].startswith("expected: ")
