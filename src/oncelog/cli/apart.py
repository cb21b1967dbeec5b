"""Stories and measurements of the page in a process of their own: who serves the page, a broker among them, goes on undisturbed."""

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

from oncelog.client.faults import ClientFault
from oncelog.errors import OncelogError

LIMIT_S: Final = 120


def apart(what: str, key: str = "") -> Any:
    """`story` with its key, or `measure`. What goes wrong there is an OncelogError here."""
    code = Path(__file__).parents[2]  # where this oncelog is
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "oncelog.cli.apart", what, key],
        stdin=subprocess.PIPE,  # its end is ours: see `_end_with_parent`
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(code)},
    )
    assert process.stdout is not None
    assert process.stdin is not None
    limit = threading.Timer(LIMIT_S, process.kill)
    limit.start()
    try:
        answer = process.stdout.read()
        process.wait()
    finally:
        limit.cancel()
        process.stdin.close()
        process.stdout.close()
    if not answer:
        raise OncelogError(
            f"{what} {key}: wanted an answer within {LIMIT_S} s, found exit {process.returncode}"
        )
    fault, value = pickle.loads(answer)  # of our own code, through a pipe that nobody else has
    if fault is not None:
        raise OncelogError(fault)
    return value


def _end_with_parent() -> None:
    while os.read(0, 1):  # no buffered reader: nobody may hold its lock when this process ends first
        pass
    os._exit(1)


def _run(what: str, key: str) -> object:
    if what == "measure":
        from oncelog.cli.measure import quick

        return quick()
    from oncelog.cli.stories import STORIES

    return next(each for each in STORIES if each.key == key).run()


def main() -> int:
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what prints must not stand in the answer
    threading.Thread(target=_end_with_parent, daemon=True).start()
    what, key = sys.argv[1:3]
    try:
        told: tuple[str | None, object] = (None, _run(what, key))
    except (ClientFault, OncelogError, OSError, ValueError) as fault:
        told = (str(fault) or type(fault).__name__, None)
    with answer:
        pickle.dump(told, answer)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
