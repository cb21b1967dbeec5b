"""franz-go's own tests of its client (pkg/kgo), against oncelog or the oracle: `make conformance-franz-go`."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from tests.conformance.suites.command import Suite, main
from tests.toolchains import CACHE, ROOT, go, made_once, run_quietly

MODULE: Final = "github.com/twmb/franz-go"
OUTCOME: Final = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+) \(")
# A broker as these tests expect it: they name topics before creating them and let the broker do it.
SETTINGS: Final[Mapping[str, str]] = {"auto.create.topics.enable": "true"}


def binary() -> Path:
    """The compiled tests. Source and versions are those of the Go client's go.mod, checked against its go.sum."""
    client = ROOT / "tests" / "conformance" / "clients" / "go"

    def compile_tests(out: Path) -> None:
        said = run_quietly([go(), "mod", "download", "-json", MODULE], cwd=client)
        source = cast(dict[str, str], json.loads(said))["Dir"]
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch) / "franz-go"
            shutil.copytree(source, copy, copy_function=shutil.copyfile)
            for path in [copy, *copy.rglob("*")]:  # the module cache is read-only
                path.chmod(0o755 if path.is_dir() else 0o644)
            run_quietly([go(), "test", "-c", "-o", str(out / "kgo.test"), "./pkg/kgo"], cwd=copy)

    lock = hashlib.sha256((client / "go.sum").read_bytes()).hexdigest()[:16]
    return made_once(CACHE / "suites" / f"franz-go-{lock}", compile_tests) / "kgo.test"


def run(
    bootstrap: str, *, only: str = "", skip: Sequence[str] = (), log: Path | None = None, timeout_s: int = 900
) -> dict[str, str]:
    """A test that never said how it ended (the run was cut) is a fail."""
    words = [str(binary()), "-test.v", f"-test.timeout={timeout_s}s"]
    words += [f"-test.run={only}"] if only else []
    whole = [name for name in skip if "/" not in name]
    words += [f"-test.skip={exactly(whole)}"] if whole else []
    environment = {
        **os.environ,
        "KGO_SEEDS": bootstrap,
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": os.environ.get(
            "KGO_TEST_RECORDS", "20000"
        ),  # of the ETL tests; theirs is 500,000
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


def exactly(names: Sequence[str]) -> str:
    """A pattern for -test.run and -test.skip."""
    return "^(" + "|".join(re.escape(name) for name in names) + ")$"


SUITE: Final = Suite("franz_go", SETTINGS, run)

if __name__ == "__main__":
    sys.exit(main(SUITE, sys.argv[1:]))
