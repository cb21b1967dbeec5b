"""A vector can fail: the table itself is tested, without a broker."""

import pytest

from tests.vectors.play import Rows, Target, differences


class NoBroker:
    bootstrap = "127.0.0.1:1"

    def start(self) -> None:
        raise AssertionError("no vector starts this")

    def kill(self) -> None:
        raise AssertionError("no vector kills this")


def play_one_wrong_row(target: Target) -> None:
    with target.vector("V0") as row:
        row("first", "NONE", "NONE")
        row("second", "error 45", "NONE")


def test_a_wrong_row_fails_with_the_whole_table() -> None:
    wanted = r"V0 on oncelog:\n  first   NONE\n  second  error 45   WANTED NONE"
    with pytest.raises(AssertionError, match=wanted):
        play_one_wrong_row(Target("oncelog", NoBroker()))


def test_a_vector_that_asks_nothing_fails() -> None:
    with pytest.raises(AssertionError, match="V0 asked nothing"), Target("oncelog", NoBroker()).vector("V0"):
        pass


def test_differences_are_listed_row_by_row() -> None:
    transcripts: dict[tuple[str, str], Rows] = {}
    for name, answers in (("oncelog", ["a", "b"]), ("kafka", ["a", "c", "d"])):
        with Target(name, NoBroker(), transcripts).vector("V0") as row:
            for number, answer in enumerate(answers):
                row(f"ask {number}", answer, answer)
    with Target("oncelog", NoBroker(), transcripts).vector("V1") as row:
        row("only here", "x", "x")
    assert differences(transcripts) == [
        "V0: ask 1: oncelog b, Kafka c",
        "V0: ask 2: oncelog was not asked, Kafka d",
    ]
