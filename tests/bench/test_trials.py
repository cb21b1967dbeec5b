"""The trials of decision 0028: both ways of a step do the same, and what strace said is counted right."""

import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from bench import trials
from oncelog.cost.progress import Progress


@pytest.mark.parametrize("send", trials.SENDERS.values(), ids=list(trials.SENDERS))
@pytest.mark.parametrize("size", [1000, 300_000])
def test_both_ways_send_the_head_and_the_same_bytes(send: Any, size: int, tmp_path: Path) -> None:
    data = os.urandom(size + 5)
    (tmp_path / "file").write_bytes(data)
    ours, theirs = socket.socketpair()
    received = bytearray()

    def read() -> None:
        while piece := theirs.recv(1 << 16):
            received.extend(piece)

    reading = threading.Thread(target=read)
    reading.start()
    with (tmp_path / "file").open("rb") as file:
        send(ours, file.fileno(), 5, size)
    ours.close()
    reading.join(30)
    theirs.close()
    assert received == trials.HEAD + data[5:]


@pytest.mark.parametrize("joined", [1, 2, 4])
def test_as_many_bytes_are_written_however_they_are_joined(
    joined: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "RECORDS", 100)
    with (tmp_path / "file").open("wb") as file:
        assert trials.writing(file.fileno(), joined)["CPU for each, us"] > 0
    assert (tmp_path / "file").stat().st_size == 100 * len(trials.RECORD)


def test_a_wheel_runs_what_is_due_never_early_and_not_what_was_taken_back() -> None:
    now = [1000.0]
    wheel = trials.Wheel(lambda: now[0])
    ran: list[str] = []

    def kept() -> None:
        ran.append("kept")

    def taken_back() -> None:
        ran.append("taken back")

    wheel.call_later(500, kept)
    wheel.cancel(wheel.call_later(500, taken_back), taken_back)
    for at, wanted in (
        (1000.0, []),
        (1499.0, []),
        (1500.0 + 2 * trials.SLOT_MS, ["kept"]),
        (9999.0, ["kept"]),
    ):
        now[0] = at
        wheel.turn()
        assert ran == wanted


@pytest.mark.parametrize("name", [trials.TIMER, trials.WHEEL])
def test_a_deadline_s_cost_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "DEADLINES", 2000)
    assert trials.deadlines(name)["CPU, us"] > 0


# Two transactions in one turn, with one file of both; then one more; a thread beside the loop writes once; calls that are cut in two.
LINES = """
7 pwritev(11, [...], 1, 0) = 150
7 pwritev(12, [...], 1, 0) = 150
7 pwritev(11, [...], 1, 150) = 150
9 pwrite64(20, ""..., 10, 0) = 10
7 epoll_wait(3, [...], 64, -1) = 1
7 epoll_wait(3, [...], 64, -1) = 1
7 pwritev(12, [...], 1, 150 <unfinished ...>
9 futex(0x1, FUTEX_WAKE) = 0
7 <... pwritev resumed>) = 150
7 epoll_pwait(3,  <unfinished ...>
7 <... epoll_pwait resumed>[...], 64, -1, NULL, 8) = 1
7 +++ exited with 0 +++
"""


def test_calls_are_counted_by_turns_of_the_loop() -> None:
    assert trials.counted(LINES.splitlines(), 7, 2) == {
        "writes a transaction": 5 / 2,
        "different files a transaction, of the turns that wrote": 3 / 2,
        "transactions a turn": 2 / 2,
    }


def test_ways_take_turns_and_the_first_round_is_not_kept() -> None:
    order: list[str] = []

    def way(name: str, *values: float) -> trials.Way:
        left = list(values)

        def run() -> dict[str, float]:
            order.append(name)
            return {"us": left.pop(0)}

        return trials.Way("step", name, run)

    told: list[str] = []
    runs = trials.measured([way("a", 99, 1, 2, 4), way("b", 99, 2, 2, 2)], 3, Progress(told.append, 8))
    assert order == ["b", "a", "a", "b", "b", "a", "a", "b"]
    assert {each["round"] for each in runs} == {1, 2, 3}
    said = trials.table({"runs": runs}).splitlines()
    assert said[2:] == [
        "| step | a | us | 2.00 (1.00..4.00) |  |",
        "| step | b | us | 2.00 (2.00..2.00) | 1.00x (0.50x..2.00x) |",
    ]
    assert told[-1].startswith("[####################] 8/8")


def test_what_could_not_be_counted_is_said() -> None:
    found = {
        "calls": {"native": "not counted: wanted strace on the PATH, found none", "python": {"writes": 5.04}}
    }
    assert trials.calls(found).splitlines() == [
        "- under strace, hot.path=native, 50 producers: not counted: wanted strace on the PATH, found none",
        "- under strace, hot.path=python, 50 producers: writes: 5.0",
    ]
