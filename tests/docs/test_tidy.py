"""Code, documents and generated files are in step, and nothing of one machine is in the repository."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import oncelog
from oncelog.broker.handlers import SERVED
from tests.docs.tree import ROOT, python_files, text_of, tracked
from tools import coverage_doc, decisions_doc, files_doc, formats_doc, settings_doc
from tools.coverage_doc import Head

CORE = (
    "txn",
    "group",
    "log",
    "protocol",
    "record",
    "broker",
    "engine",
    "config.py",
    "errors.py",
    "model.py",
    "tasks.py",
)
HEADS = coverage_doc.read_heads()
BINARY = {".gz", ".jar", ".png"}


def core_files() -> list[Path]:
    """What the simulator replays from a seed."""
    return [path for path in python_files("src") if path.parts[2] in CORE]


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.file)
def test_a_handler_says_the_key_and_the_versions_that_it_has(head: Head) -> None:
    assert (head.said_key, head.said_versions) == (head.key, head.versions)


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.file)
def test_a_handler_is_served_in_the_versions_that_it_says(head: Head) -> None:
    served = SERVED[head.key]
    assert (f"{served.module}.py", (served.min_version, served.max_version)) == (head.file, head.versions)


def test_every_served_api_has_a_handler_and_every_handler_is_served() -> None:
    assert {head.key for head in HEADS} == set(SERVED)


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.file)
def test_a_handler_module_loads_and_answers_to_handle(head: Head) -> None:
    module = importlib.import_module(f"oncelog.broker.handlers.{head.file.removesuffix('.py')}")
    assert callable(module.handle)


def test_coverage_md_is_up_to_date() -> None:
    assert text_of(Path("docs/coverage.md")) == coverage_doc.document(HEADS), "run 'make docs'"


def test_the_settings_in_operating_md_are_up_to_date() -> None:
    assert text_of(Path("docs/operating.md")) == settings_doc.document(), "run 'make docs'"


def test_the_file_map_in_architecture_md_is_up_to_date() -> None:
    assert text_of(Path("docs/architecture.md")) == files_doc.document(), "run 'make docs'"


def test_formats_md_is_up_to_date() -> None:
    assert text_of(Path("docs/formats.md")) == formats_doc.document(), "run 'make docs'"


def test_the_list_of_decisions_is_up_to_date() -> None:
    records = decisions_doc.read_records()
    assert text_of(Path("docs/decisions/README.md")) == decisions_doc.document(records), "run 'make docs'"


def test_every_decision_has_its_four_parts_and_a_number_of_its_own() -> None:
    records = decisions_doc.read_records()
    assert {each.file: each.missing for each in records if each.missing} == {}
    assert [each.file[:4] for each in records] == [each.number for each in records]
    assert len({each.number for each in records}) == len(records)


def test_generated_messages_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "oncelog.protocol.generate", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_path_of_one_machine_is_in_the_repository() -> None:
    pattern = re.compile(r"(?<![\w.~$}/-])/(?:work|home|root|Users)/[\w.-]+")
    assert list(found_in_text(pattern)) == []


def test_lock_files_hold_names_versions_and_hashes_only() -> None:
    line = re.compile(
        r"#.*|[a-z0-9][a-z0-9._-]*(?:\[[a-z,]+\])?==\S+(?: ; .+)? \\|    --hash=sha256:[0-9a-f]{64}(?: \\)?|"
    )
    for path in sorted((ROOT / "requirements").glob("*.lock")):
        strange = [each for each in path.read_text(encoding="utf-8").splitlines() if not line.fullmatch(each)]
        assert (path.name, strange) == (path.name, [])


def test_no_lock_file_names_an_address() -> None:
    locks = [
        path for path in tracked() if path.suffix == ".lock" or path.name in ("package-lock.json", "go.sum")
    ]
    assert len(locks) >= 3
    assert [str(path) for path in locks if "://" in text_of(path)] == []


def test_core_in_names_what_pyproject_depends_on_and_the_locks_pin_it() -> None:
    project = tomllib.loads(text_of(Path("pyproject.toml")))["project"]
    depends = {re.split(r"[\[<>=~! ]", each)[0] for each in project["dependencies"]}
    named = {
        line
        for line in text_of(Path("requirements/core.in")).splitlines()
        if line and not line.startswith("#")
    }
    assert named == depends
    core, dev = pins("core"), pins("dev")
    assert depends <= core.keys()
    assert {name: dev.get(name) for name in core} == core


def pins(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text_of(Path(f"requirements/{name}.lock")), re.MULTILINE))


def test_one_version_everywhere() -> None:
    version = tomllib.loads(text_of(Path("pyproject.toml")))["project"]["version"]
    assert oncelog.__version__ == version
    assert re.search(rf"^## {re.escape(version)}\b", text_of(Path("CHANGELOG.md")), re.MULTILINE)


def test_every_module_opens_by_saying_what_it_is_for() -> None:
    silent = [
        str(path)
        for path in python_files("src", "tests", "tools", "examples", "bench")
        if text_of(path).strip() and not ast.get_docstring(ast.parse(text_of(path)))
    ]
    assert silent == []


def test_nothing_in_src_is_left_unfinished() -> None:
    words = "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "NotImplemented" + "Error"])
    assert [hit for hit in found_in_text(re.compile(rf"\b(?:{words})\b")) if hit.startswith("src/")] == []


def test_the_core_asks_neither_hash_nor_id_which_differ_from_run_to_run() -> None:
    asked = [
        f"{path}:{node.lineno}: {node.func.id}()"
        for path in core_files()
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hash", "id")
    ]
    assert asked == []


def test_every_type_ignore_names_its_rule() -> None:
    bare = re.compile(r"#\s*(?:type|pyright): ignore(?!\[)")
    assert [hit for hit in found_in_text(bare) if hit.split(":")[0].endswith(".py")] == []


def test_every_rule_that_code_and_tests_cite_is_in_the_specification() -> None:
    rule = re.compile(r"\b(?:(?:API|FMT|PS|RC|REC|TRAP|TX)-|[BV])[1-9]\d*\b")
    defined: set[str] = set()
    for path in tracked():
        if path.parent == Path("docs/spec"):
            defined.update(rule.findall(text_of(path)))
    unknown = [
        f"{path}: {each}"
        for path in python_files("src", "tests")
        for each in sorted(set(rule.findall(text_of(path))) - defined)
    ]
    assert unknown == []


def found_in_text(pattern: re.Pattern[str]) -> Iterator[str]:
    """path:line: what was found, over all text files."""
    for path in tracked():
        if path.suffix in BINARY:
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            found = pattern.search(line)
            if found:
                yield f"{path}:{number}: {found[0]}"
