"""A real PostgreSQL in a temporary directory, on a socket of its own; it refuses to run as root, so root lends a user."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.oracle import free_ports
from tests.toolchains import Missing

BORROWED = ("postgres", "nobody")


def tool(name: str) -> str:
    """A program of the server: on the PATH, or where Debian keeps it."""
    found = shutil.which(name)
    if found:
        return found
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if not kept:
        raise Missing(f"{name} of PostgreSQL: not on the PATH and not below /usr/lib/postgresql")
    return str(kept[-1])


@contextmanager
def postgres() -> Generator[str]:
    """The address of a database that is gone afterwards."""
    initdb, server = tool("initdb"), tool("pg_ctl")
    folder = tempfile.mkdtemp(prefix="oncelog-postgres-")
    as_user: list[str] = []
    if os.geteuid() == 0:
        user = next((each for each in BORROWED if _exists(each)), None)
        if user is None:
            raise Missing(f"a user to run PostgreSQL as: none of {', '.join(BORROWED)}")
        shutil.chown(folder, user)
        as_user = ["runuser", "-u", user, "--"]
    (port,) = free_ports(1)
    data = f"{folder}/data"

    def run(*words: str) -> None:
        subprocess.run([*as_user, *words], capture_output=True, text=True, check=True, cwd=folder)

    try:
        run(initdb, "-D", data, "-U", "oncelog", "-A", "trust", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c fsync=off"
        run(server, "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql://oncelog@127.0.0.1:{port}/postgres"
        finally:
            run(server, "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
