"""franz-go's own tests of its client (pkg/kgo), against oncelog or the oracle.

`python -m tests.conformance.suites.franz_go [--target oncelog|kafka|HOST:PORT] [--records N] [--run REGEX] [--accept]`
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Final, cast

from tests.conformance import targets
from tests.conformance.suites.ledger import Ledger
from tests.toolchains import CACHE, ROOT, Missing, program

MODULE: Final = "github.com/twmb/franz-go"
OUTCOME: Final = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+) \(")
# A broker as these tests expect it: they name topics before creating them and let the broker do it.
SETTINGS: Final[Mapping[str, str]] = {"auto.create.topics.enable": "true"}


def binary() -> Path:
    """The compiled tests. Source and versions are those of the Go client's go.mod, checked against its go.sum."""
    go = program("go")
    client = ROOT / "tests" / "conformance" / "clients" / "go"
    lock = hashlib.sha256((client / "go.sum").read_bytes()).hexdigest()[:16]
    folder = CACHE / "suites" / f"franz-go-{lock}"
    if (folder / "kgo.test").exists():
        return folder / "kgo.test"
    said = subprocess.run(
        [go, "mod", "download", "-json", MODULE], cwd=client, capture_output=True, text=True, check=True
    )
    source = cast(dict[str, str], json.loads(said.stdout))["Dir"]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        copy = Path(scratch) / "franz-go"
        shutil.copytree(source, copy, copy_function=shutil.copyfile)
        for path in [copy, *copy.rglob("*")]:  # the module cache is read-only
            path.chmod(0o755 if path.is_dir() else 0o644)
        out = Path(scratch) / "out"
        out.mkdir()
        subprocess.run([go, "test", "-c", "-o", str(out / "kgo.test"), "./pkg/kgo"], cwd=copy, check=True)
        if not folder.is_dir():
            out.rename(folder)
    return folder / "kgo.test"


def run(
    bootstrap: str,
    *,
    only: str = "",
    skip: str = "",
    records: int = 20_000,
    timeout_s: int = 900,
    log: Path | None = None,
) -> dict[str, str]:
    """Test -> pass, fail or skip. A test that never said how it ended (the run was cut) is a fail."""
    words = [str(binary()), "-test.v", f"-test.timeout={timeout_s}s"]
    words += [f"-test.run={only}"] if only else []
    words += [f"-test.skip={skip}"] if skip else []
    environment = {
        **os.environ,
        "KGO_SEEDS": bootstrap,
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": str(records),
        "KGO_LOG_LEVEL": "none",
    }
    with tempfile.TemporaryDirectory() as folder, Path(log or os.devnull).open("w") as kept:
        process = subprocess.Popen(
            words, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert process.stdout is not None
        outcomes: dict[str, str] = {}
        for line in process.stdout:
            kept.write(line)
            started = re.match(r"^=== RUN\s+(\S+)$", line)
            if started:
                outcomes[started[1]] = "fail"
            ended = OUTCOME.match(line)
            if ended:
                outcomes[ended[2]] = ended[1].lower()
        process.wait()
        process.stdout.close()
    return outcomes


def exactly(names: list[str]) -> str:
    """A pattern for -test.run and -test.skip; only whole tests, no parts of tests."""
    return "^(" + "|".join(re.escape(name) for name in names) + ")$" if names else ""


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.suites.franz_go", description=__doc__)
    parser.add_argument(
        "--target", default="oncelog", help="oncelog, kafka, or the address of a running broker"
    )
    parser.add_argument("--records", type=int, default=20_000, help="of the ETL tests")
    parser.add_argument(
        "--run", default="", metavar="REGEX", help="only these tests; the lists are not judged"
    )
    parser.add_argument("--all", action="store_true", help="also what is excluded; the lists are not judged")
    parser.add_argument("--accept", action="store_true", help="add new passes to the list")
    parser.add_argument("--log", type=Path, help="keep everything the tests print")
    asked = parser.parse_args(words)
    ledger = Ledger.load("franz_go")
    skip = "" if asked.all else exactly(sorted(name for name in ledger.excluded if "/" not in name))
    try:
        binary()
    except Missing as why:
        sys.stderr.write(f"franz-go's tests left out: {why}\n")
        return 1 if os.environ.get("REQUIRE") == "all" else 0
    known = asked.target in ("oncelog", "kafka")
    with targets.run(asked.target, SETTINGS) if known else nullcontext(asked.target) as bootstrap:
        outcomes = run(bootstrap, only=asked.run, skip=skip, records=asked.records, log=asked.log)
    counts = {kind: list(outcomes.values()).count(kind) for kind in ("pass", "fail", "skip")}
    sys.stdout.write(f"franz-go against {asked.target}: {counts}\n")
    if asked.run or asked.all:
        sys.stdout.writelines(f"{outcome} {test}\n" for test, outcome in sorted(outcomes.items()))
        return 0
    verdict = ledger.judge(outcomes)
    sys.stdout.write(verdict.text() + "\n")
    if asked.accept:
        ledger.accept(verdict.gained)
    return 0 if verdict.good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
