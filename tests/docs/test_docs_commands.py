"""What the documents name exists: make targets, commands and options of the CLI, files, links."""

import argparse
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.cli.main import build_parser
from tests.docs.tree import ROOT, documents, text_of

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(
    r"(?:src|tests|docs|tools|bench|examples|requirements)/[\w./*-]*[\w*/]|(?:Makefile|[A-Z]+\.md|\.ci/run)"
)


def shell_lines(path: Path) -> Iterator[str]:
    """Every command that the document shows: lines of sh blocks, and code in a sentence."""
    text = text_of(path)
    for kind, block in FENCE.findall(text):
        if kind in ("sh", "console"):
            for line in block.replace("\\\n", " ").splitlines():
                if kind == "sh" or line.startswith("$ "):
                    yield line.removeprefix("$ ").strip()
    yield from INLINE.findall(FENCE.sub("", text))


def words_of(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return line.split()


def superseded(path: Path) -> bool:
    """A decision that a later one replaced: what it names is history, and need not be there."""
    return path.parent.name == "decisions" and " superseded by " in text_of(path).partition("\n")[0]


def cases(program: str) -> list[tuple[str, list[str]]]:
    """(document, words after the program's name) of every command in which the program is called."""
    found: list[tuple[str, list[str]]] = []
    for path in documents():
        if superseded(path):
            continue
        for line in shell_lines(path):
            words = words_of(line)
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):  # REQUIRE=all make test
                words = words[1:]
            if words and words[0] == program and not line.startswith("oncelog ready on "):  # what it prints
                found.append((str(path), words[1:]))
    return found


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    return {name for action in parser._actions for name in action.option_strings}


def verbs_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]  # argparse has no other way
            return dict(action.choices)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]  # as above
    return {}


def complaint(words: list[str]) -> str | None:
    """What is wrong with `oncelog WORDS` as a document shows it, or None. a|b stands for each of a and b."""
    choices = itertools.product(*(word.split("|") if word[:1].isalpha() else [word] for word in words))
    return next((found for each in choices if (found := complaint_of_one(each))), None)


def complaint_of_one(words: tuple[str, ...]) -> str | None:
    parser = build_parser()
    while words and (known := verbs_of(parser)):
        name, words = words[0], words[1:]
        if name not in known:
            return f"no command {name!r}, only {', '.join(known)}"
        parser = known[name]
    for word in words:
        option = word.strip("[]").partition("=")[0]
        if option.startswith("--") and option not in options_of(parser):
            return f"no option {option}"
    return None


def test_documented_commands_of_the_cli_exist() -> None:
    calls = cases("oncelog")
    assert calls, "the documents show no command at all: the pattern is broken"
    complaints = [(path, " ".join(words), complaint(words)) for path, words in calls]
    assert [each for each in complaints if each[2]] == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("serve --listen 127.0.0.1:9092 --data-dir DIR [--config FILE]", None),
        ("topics|groups ls --json", None),
        ("serve --no-such-option", "no option --no-such-option"),
        ("fly", "no command 'fly'"),
        ("topics fly", "no command 'fly'"),
        ("topics|groups ls --internal", "no option --internal"),
    ],
)
def test_the_check_of_commands_can_fail(line: str, expected: str | None) -> None:
    found = complaint(line.split())
    assert (found or "").startswith(expected or "")
    assert (found is None) == (expected is None)


def test_documented_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", text_of(Path("Makefile")), re.MULTILINE))
    calls = [
        (path, word) for path, words in cases("make") for word in words if re.fullmatch(r"[a-z][a-z-]+", word)
    ]
    assert ("README.md", "demo") in calls
    assert ("README.md", "test") in calls
    assert [(path, word) for path, word in calls if word not in targets] == []


def test_only_decisions_that_were_replaced_may_name_what_is_gone() -> None:
    replaced = {path.name for path in documents() if superseded(path)}
    assert "0023-native-build.md" in replaced
    assert "0027-express-lane.md" not in replaced


def test_every_make_target_says_what_it_does() -> None:
    makefile = text_of(Path("Makefile"))
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    explained = set(re.findall(r"^([a-z][\w-]*):.*?## \S", makefile, re.MULTILINE))
    assert explained == set(phony[1].split())


def test_files_that_documents_name_exist() -> None:
    missing = [
        f"{path}: {name}"
        for path in documents()
        for name in INLINE.findall(FENCE.sub("", text_of(path)))
        if PATH.fullmatch(name) and not any(ROOT.glob(name.rstrip("/")))
    ]
    assert missing == []


def test_the_python_in_the_readme_runs() -> None:
    """But for the one with Spark, which tests/spark/test_sink_doc.py runs."""
    blocks = [block for kind, block in FENCE.findall(text_of(Path("README.md"))) if kind == "python"]
    blocks = [block for block in blocks if "oncelog.spark" not in block]
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_tests_that_documents_name_exist() -> None:
    named = [
        (path, found[1], found[2])
        for path in documents()
        for name in INLINE.findall(FENCE.sub("", text_of(path)))
        if (found := re.fullmatch(r"(tests/[\w/]+\.py)::(test_\w+)", name))
    ]
    assert named
    missing = [
        f"{path}: {file}::{test}"
        for path, file, test in named
        if not (ROOT / file).is_file() or f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert missing == []


def test_links_between_documents_lead_somewhere() -> None:
    broken: list[str] = []
    for path in documents():
        for target in LINK.findall(INLINE.sub("", FENCE.sub("", text_of(path)))):
            file, _, anchor = target.partition("#")
            if "://" in target:
                continue
            found = (ROOT / path).parent / file if file else ROOT / path
            if not found.exists() or (anchor and anchor not in anchors_of(found)):
                broken.append(f"{path}: {target}")
    assert broken == []


def anchors_of(path: Path) -> set[str]:
    """The names under which a Markdown file's headings can be linked to."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).strip().replace(" ", "-") for each in headings}
