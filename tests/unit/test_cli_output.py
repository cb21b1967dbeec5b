"""What the command line prints: tables, TSV, JSON, and data without its teeth (T29)."""

import io
import json
from pathlib import Path

import pytest

from oncelog.cli.consume import as_json
from oncelog.cli.exits import UsageFault
from oncelog.cli.output import Printer, cell, clean
from oncelog.cli.properties import read_pairs, read_properties
from oncelog.client.visible import ReadRecord
from oncelog.record.batch import Header

TEETH = [
    ("\x1b]0;new title\x07left", "left"),  # OSC: sets the window's title
    ("\x1b]52;c;ZXZpbA==\x1b\\left", "left"),  # OSC 52: writes the clipboard
    ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),  # OSC 8: a link that says something else
    ("\x9d0;title\x9cleft", "left"),  # the same with 8-bit controls
    ("\x1b[31mred\x1b[0m", "red"),
    ("\x9b2Jleft", "left"),  # clears the screen
    ("\x1bP+q544e\x1b\\left", "left"),  # DCS: asks the terminal to type an answer
    ("\x1bcleft", "left"),  # resets the terminal
    ("\x1b(0left", "left"),  # switches the character set
    ("\x1b]0;never ended", ""),
    ("a\x00b\x07c\x08d\x7fe\x80f", "abcdef"),
    ("one\ttwo\nthree\r\nfour", "one two three  four"),
    ("admin\u202etxt.exe", "admintxt.exe"),  # turns the reading direction
    ("admin\u061c\u200b\ufeff\u2066txt", "admintxt"),  # no width
    ("plain ünïcödé ✓", "plain ünïcödé ✓"),
]


@pytest.mark.parametrize(("text", "wanted"), TEETH)
def test_terminal_escapes_are_stripped_t29(text: str, wanted: str) -> None:
    assert clean(text) == wanted


def test_cells() -> None:
    """Bytes are data, of which the teeth are left out; text is names, in which they are shown: no name passes for another."""
    assert [cell(each) for each in (None, True, False, 3, b"\xff\x1b[1mx", "y", "y\x1b[0m")] == [
        "-",
        "yes",
        "no",
        "3",
        "\ufffdx",
        "y",
        r"y\x1b[0m",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


ROWS = [{"topic": "a\tb", "count": 5}, {"topic": "日本", "count": 1234}]


def test_a_pipe_gets_tab_separated_values() -> None:
    out = io.StringIO()
    Printer(as_json=False, out=out).rows(ROWS, ["topic", "count"])
    assert out.getvalue() == "TOPIC\tCOUNT\na\\tb\t5\n日本\t1234\n"


def test_a_terminal_gets_an_aligned_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    Printer(as_json=False, out=out).rows(ROWS, ["topic", "count"])
    assert out.getvalue() == "TOPIC  COUNT\na\\tb       5\n日本    1234\n"


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for out, coloured in ((Terminal(), True), (io.StringIO(), False)):
        Printer(as_json=False, out=out).rows(ROWS, ["topic"])
        assert ("\x1b[1m" in out.getvalue()) is coloured
    monkeypatch.setenv("NO_COLOR", "")
    out = Terminal()
    Printer(as_json=False, out=out).rows(ROWS, ["topic"])
    assert "\x1b" not in out.getvalue()


def test_json_wins_over_the_terminal_and_keeps_every_byte_harmless() -> None:
    out = Terminal()
    Printer(as_json=True, out=out).rows([{"topic": "\x1b[1mx\u202e"}], ["topic"])
    assert json.loads(out.getvalue()) == [{"topic": "\x1b[1mx\u202e"}]
    assert out.getvalue().isascii()
    assert out.getvalue().strip().isprintable()


def test_notes_go_to_stderr_only() -> None:
    out, err = io.StringIO(), io.StringIO()
    Printer(as_json=False, out=out, err=err).note("half\x1b[1m done")
    assert (out.getvalue(), err.getvalue()) == ("", "half\\x1b[1m done\n")


def test_a_record_in_json_has_stable_keys() -> None:
    record = ReadRecord("t", 1, 2, 3, None, b"\xff", (Header("h", b"x"), Header("n", None)))
    assert as_json(record, with_fate=True) == {
        "topic": "t",
        "partition": 1,
        "offset": 2,
        "timestamp_ms": 3,
        "key": None,
        "key_base64": None,
        "value": None,
        "value_base64": "/w==",
        "headers": [
            {"name": "h", "value": "x", "value_base64": None},
            {"name": "n", "value": None, "value_base64": None},
        ],
        "fate": "committed",
    }
    assert "fate" not in as_json(record, with_fate=False)


GOOD = """\
# a comment
! another

num.partitions = 3
durability=process
"""

BAD = [
    ("num.partitions", "line 1: wanted name=value, found 'num.partitions'"),
    ("\n=3", "line 2: wanted name=value, found '=3'"),
    (
        "num.partitions=none",
        "line 1: Invalid value none for configuration num.partitions",
    ),
    ("num.partitions=0", "line 1: Invalid value 0 for configuration num.partitions"),
    ("zookeeper.connect=x", "line 1: unknown setting 'zookeeper.connect'"),
    ("num.partitions=1\nnum.partitions=2", "line 2: num.partitions is set twice"),
    ("num.partitions=\\\n3", "line 1: lines that go on after a backslash are not supported"),
]


def test_a_properties_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(GOOD)
    assert read_properties(str(file)) == {"num.partitions": "3", "durability": "process"}


@pytest.mark.parametrize(("text", "said"), BAD)
def test_a_bad_line_is_named_by_file_and_number(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "server.properties"
    file.write_text(text)
    with pytest.raises(UsageFault) as fault:
        read_properties(str(file))
    assert str(fault.value).startswith(f"{file}, {said}")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match=r"--config .*/missing: No such file or directory"):
        read_properties(str(tmp_path / "missing"))
    (tmp_path / "latin").write_bytes(b"# caf\xe9")
    with pytest.raises(UsageFault, match=r"--config .*/latin: not UTF-8 at byte 5"):
        read_properties(str(tmp_path / "latin"))


def test_the_last_set_wins() -> None:
    assert read_pairs(["num.partitions=1", "num.partitions=2"]) == {"num.partitions": "2"}
    with pytest.raises(UsageFault, match="--set nothing: wanted name=value, found 'nothing'"):
        read_pairs(["nothing"])
