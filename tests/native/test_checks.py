"""Each place where compiled code is not Python (decision 0023) is found before it is compiled; the forms that are right are not."""

import os
from pathlib import Path

import pytest

from tools.native_checks import findings

# In the line that is found, the word of the finding; all other lines are right.
CODE = """
from collections.abc import Awaitable
from enum import IntEnum

class Colour(IntEnum):
    RED = 1

class Door:
    def __init__(self) -> None:
        self.name: str | None = None
        self.closed = False

    @property
    def owner(self) -> str | None:
        return self.name

    def change(self) -> None: ...

def a_count_that_is_bound_again(n: int) -> None:
    for _ in range(n):                                  # loop
        n = n - 1

def a_list_that_is_bound_again(of: list[int], other: list[int]) -> None:
    for _ in of:                                        # loop
        of = other

def a_list_that_its_own_elements_replace(of: list[int]) -> None:
    for of[0] in of:
        pass

def a_count_of_its_own(n: int) -> None:
    count = n
    for _ in range(count):
        n = n - 1

def read_after_a_call(door: Door) -> object:
    door.name = "a"
    door.change()
    return door.name                                    # narrowed

async def read_after_a_wait(door: Door, wait: Awaitable[None]) -> object:
    if door.name is None:
        return 0
    await wait
    return door.name                                    # narrowed

def read_in_a_loop_that_calls_at_its_end(door: Door) -> int:
    if door.name is None:
        return 0
    n = 0
    for _ in (1, 2):
        n += len(door.name)                             # narrowed
        door.change()
    return n

def a_property_read_after_a_call(door: Door) -> object:
    if door.owner is None:
        return 0
    door.change()
    return door.owner                                   # narrowed

def read_before_the_call(door: Door) -> int:
    if door.name is None:
        return 0
    n = len(door.name)
    door.change()
    return n

def taken_into_a_variable(door: Door) -> object:
    name = door.name
    if name is None:
        return 0
    door.change()
    return name

def a_number_that_was_a_colour(door: Door, number: int) -> bool:
    return number is Colour.RED                         # identity

def a_colour(colour: Colour) -> bool:
    return colour is Colour.RED

def a_flag_looked_at_twice(door: Door) -> int:
    if door.closed:
        return 0
    door.change()
    if door.closed:
        return 1                                        # unreachable
    return 2

def a_generator_that_is_kept(of: list[int]) -> object:
    squares = (each * each for each in of)              # lazy
    return squares

def a_generator_that_is_used_up_at_once(of: list[int]) -> int:
    return sum(each * each for each in of)
"""


def test_what_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("code.py").write_text(CODE)
    found, _ = findings(["code.py"], ("--warn-unreachable", f"--cache-dir={os.devnull}"))
    lines = CODE.splitlines()
    wanted = {number: line.partition("# ")[2] for number, line in enumerate(lines, 1) if "  # " in line}
    seen = {int(each.split(":")[1]): each for each in found}
    assert seen.keys() == wanted.keys()
    assert [number for number, word in wanted.items() if word not in seen[number]] == []
