"""The commands that we advise name what they are about and nothing else, whatever a client called itself."""

import json
import re
import shutil
import subprocess

import pytest

from oncelog.cli.main import build_parser, main
from oncelog.inspect.commands import about, command
from oncelog.inspect.terminal import visible
from tests.inspect.stage import Stage

NAMES = [
    "refunds-1",
    "-x",
    "till's refunds; $(exit 9)",
    "refunds-1\x1b[0m",  # a terminal eats the end of it
    "refunds-1\x9b0m",
    "refunds-1\n",  # $(...) of a shell eats it
    "refunds-1\0",  # no argument can hold it
    "refunds-1\0x",
    "refunds-1\r",
    "refunds-1\t",
    "-refunds-1\x08",
    "refunds\u200b-1",
    "refunds-1\u200d",
    "refunds-1\ufe0f",
    "refunds-1\u061c",
    "refunds-1\ufeff",
    "refunds-1\u202e",
    "refunds-1\u3164",
    "refunds-1\xa0",
    "refunds-1\U000e0041",
    "refunds-1\\x1b[0m",  # these are letters
    "'\x1b\"\\",
    "日本 ünï ✓",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_reads_a_command_as_that_name(shell: str, name: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    told = about("show", name)
    assert told.isprintable()
    script = f"""oncelog() {{ printf '%s\\0' "$@"; }}; {told}"""
    done = subprocess.run([shell, "-c", script], capture_output=True, check=True)
    words = [each.decode() for each in done.stdout.split(b"\0")[:-1]]
    assert all(each.isprintable() for each in words), "what a terminal shows of it is all of it"
    options = build_parser().parse_args(words)
    from oncelog.cli.main import _choose_id  # pyright: ignore[reportPrivateUsage]

    _choose_id(options)
    assert options.transactional_id == name


@pytest.mark.parametrize("name", [each for each in NAMES if "\0" not in each], ids=ascii)
def test_words_that_are_no_ids_are_read_by_bash(name: str) -> None:
    told = command("explain", "47", "--tid", name)
    assert told.isprintable()
    script = f"""oncelog() {{ printf '%s\\0' "$@"; }}; {told}"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.split(b"\0")[:-1] == [b"explain", b"47", b"--tid", name.encode()]


def test_no_two_names_look_the_same() -> None:
    alike = [each for each in NAMES if each != "refunds-1\\x1b[0m"]  # who writes it out looks like who has it
    shown = [visible(each) for each in alike]
    assert len(set(shown)) == len(shown)
    assert all(each.isascii() or each == "日本 ünï ✓" for each in shown), shown
    assert visible("refunds-1\x1b[0m\u200b\n\U000e0041") == r"refunds-1\x1b[0m\u200b\n\U000e0041"


@pytest.mark.parametrize("text", ["refunds-1", "7", "[]", '"refunds', "null"])
def test_an_id_in_json_is_a_string(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["txn", "show", "--transactional-id-json", text]) == 2
    assert "wanted a string of JSON" in capsys.readouterr().err


def test_an_id_is_given_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["txn", "show", "refunds-1", "--transactional-id-json", '"refunds-1"']) == 2
    assert "wanted one transactional id, found 2" in capsys.readouterr().err


def test_the_advice_about_a_look_alike_is_not_about_the_one_that_it_looks_like(stage: Stage) -> None:
    """A client that hangs calls itself as a healthy one does, with something behind that no terminal shows."""
    stage.run("topics", "new", "alike-out", "--partitions", "2")
    with stage.producer("refunds-1") as healthy, stage.producer("refunds-1\x1b[0m") as evil:
        for partition, each in enumerate((healthy, evil)):
            each.produce("alike-out", b"x", partition=partition)
            each.flush(10)
        said = stage.run("txn", "stuck")
        assert sorted(line.split("\t")[5].rpartition(" ")[0] for line in said.out.splitlines()[1:]) == [
            "refunds-1",
            r"refunds-1\x1b[0m",
        ]
        advice = re.findall(r"alike-out-1 .*; to do it now: (.*)", said.err)
        assert advice == ["oncelog txn abort '--transactional-id-json=\"refunds-1\\u001b[0m\"'"]
        script = f"""oncelog() {{ printf '%s\\0' "$@"; }}; {advice[0]}"""
        words = (
            subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode().split("\0")
        )
        done = stage.run(*words[:-1], "--yes", "--json")
        assert (done.code, json.loads(done.out)["transactional_id"]) == (0, "refunds-1\x1b[0m")
        healthy.commit_transaction(20)  # nobody touched it
