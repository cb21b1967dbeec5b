"""The checker sees in the rows of a Spark job what the kill matrix looks for."""

import pytest

from tests.spark.history import Row, anomalies

WANTED = [b"%d" % number for number in range(4)]
GOOD = {
    "left": [Row(number % 2, number // 2, b"%d" % number) for number in range(4)],
    "right": [Row(0, number, b"%d" % number) for number in range(4)],
}


def kinds(left: list[Row], right: list[Row]) -> set[str]:
    return {each.kind for each in anomalies({"left": left, "right": right}, WANTED)}


def test_rows_that_are_all_there_once() -> None:
    assert kinds(GOOD["left"], GOOD["right"]) == set()


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        (GOOD["left"], [*GOOD["right"], Row(0, 9, b"2")], "duplicate"),
        (GOOD["left"], [*GOOD["right"], Row(1, 0, b"2")], "wrong-partition"),
        (GOOD["left"][1:], GOOD["right"][1:], "lost-write"),
        (GOOD["left"], GOOD["right"][:-1], "torn-transaction"),
        (GOOD["left"], [*GOOD["right"], Row(0, 9, b"17")], "phantom"),
    ],
)
def test_rows_that_are_not(left: list[Row], right: list[Row], kind: str) -> None:
    assert kind in kinds(left, right)
