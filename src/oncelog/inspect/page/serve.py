"""Runs the page: in this thread for `oncelog ui`, in one of its own beside a broker."""

import ipaddress
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import uvicorn

from oncelog.errors import BadConfig
from oncelog.inspect.page.app import Access

HTTP: Final = 80  # browsers leave it out of the Host header


@dataclass(frozen=True, slots=True)
class Door:
    """An open socket and who may come in. Opened before the page is made, so that its port is known."""

    listener: socket.socket
    host: str
    port: int
    access: Access

    @property
    def url(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/"


def open_door(host: str, port: int, token: str | None) -> Door:
    """Loopback needs no token to read; any other address is refused unless a token was chosen."""
    loopback = is_loopback(host)
    if not loopback and token is None:
        raise BadConfig(
            f"--ui on {host}: wanted a loopback address, or --ui-token TOKEN for others, found neither"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as fault:
        raise BadConfig(f"--ui: cannot listen on {host}:{port}: {fault.strerror or fault}") from None
    bound = int(listener.getsockname()[1])
    names = {host, "localhost", "127.0.0.1"} if loopback else {host, socket.gethostname()}
    shown = {f"[{each}]" if ":" in each else each for each in names}
    hosts: list[str] = [f"{each}:{bound}" for each in sorted(shown)]
    if bound == HTTP:
        hosts += sorted(shown)
    access = Access(
        token=token or secrets.token_urlsafe(16),
        hosts=frozenset(hosts),
        reading_needs_token=not loopback,
    )
    return Door(listener, host, bound, access)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class PageServer:
    """The page on a thread of its own; `stop` ends it."""

    def __init__(self, door: Door, app: Callable[..., object]) -> None:
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=1, ws="none"
        )
        self._server = uvicorn.Server(config)
        self._door = door
        self._thread = threading.Thread(target=self._run, name="oncelog-page", daemon=True)

    def _run(self) -> None:
        self._server.run(sockets=[self._door.listener])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(5)
        self._door.listener.close()

    def run_here(self) -> None:
        """Until SIGINT or SIGTERM, which uvicorn takes."""
        self._run()
