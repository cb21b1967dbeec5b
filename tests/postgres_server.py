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


class Database:
    """One server and its files. Its sessions are in a time zone that is nobody else's."""

    def __init__(self) -> None:
        self._initdb, self._control = tool("initdb"), tool("pg_ctl")
        self._folder = Path(tempfile.mkdtemp(prefix="oncelog-postgres-"))
        self._as_user: list[str] = []
        if os.geteuid() == 0:
            user = next((each for each in BORROWED if _exists(each)), None)
            if user is None:
                raise Missing(f"a user to run PostgreSQL as: none of {', '.join(BORROWED)}")
            shutil.chown(self._folder, user)
            self._as_user = ["runuser", "-u", user, "--"]
        (self._port,) = free_ports(1)
        self._data = str(self._folder / "data")
        self._run(self._initdb, "-D", self._data, "-U", "oncelog", "-A", "trust", "--no-sync")

    @property
    def dsn(self) -> str:
        return f"postgresql://oncelog@127.0.0.1:{self._port}/postgres"

    @property
    def process_id(self) -> int:
        return int((Path(self._data) / "postmaster.pid").read_text().split()[0])

    def start(self) -> None:
        """After a crash it recovers from its log first, as after a power cut."""
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -k {self._folder} -c fsync=off -c timezone=Asia/Tokyo"
        log = str(self._folder / "log")
        self._run(self._control, "-D", self._data, "-w", "-l", log, "-o", options, "start")

    def kill(self) -> None:
        """As if the power were cut: nothing is finished, nothing is written."""
        self._run(self._control, "-D", self._data, "-m", "immediate", "-w", "stop")

    def is_running(self) -> bool:
        return (Path(self._data) / "postmaster.pid").exists()

    def remove(self) -> None:
        try:
            if self.is_running():
                self.kill()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, *words: str) -> None:
        subprocess.run([*self._as_user, *words], capture_output=True, text=True, check=True, cwd=self._folder)


@contextmanager
def postgres() -> Generator[Database]:
    """A server that runs; it is gone afterwards."""
    database = Database()
    try:
        database.start()
        yield database
    finally:
        database.remove()


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
