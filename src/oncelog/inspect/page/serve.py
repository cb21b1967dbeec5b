"""Runs the page: in this thread for `oncelog ui`, in one of its own beside a broker."""

import ipaddress
import re
import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import uvicorn

from oncelog.errors import BadConfig, OncelogError
from oncelog.inspect.page.app import Access, bracketed

HTTP: Final = 80  # browsers leave it out of the Host header
WILDCARDS: Final = ("0.0.0.0", "::")
CALLED: Final = re.compile(
    r"((?P<scheme>https?)://)?(?P<name>([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?)", re.ASCII
)
HAS_PORT: Final = re.compile(r":\d+$")


@dataclass(frozen=True, slots=True)
class Door:
    """An open socket and who may come in. Opened before the page is made, so that its port is known."""

    listener: socket.socket
    host: str
    port: int
    access: Access

    @property
    def url(self) -> str:
        return f"http://{bracketed(self.host)}:{self.port}/"


def open_door(host: str, port: int, token: str | None, names: Sequence[str] = ()) -> Door:
    """Loopback needs no token to read; any other address is refused unless a token was chosen, and so are further names, by
    which others come through a proxy. BadConfig: the options make no sense; OncelogError: the port is not to be had.
    """
    is_open = is_loopback(host) and not names
    if not is_open and token is None:
        raise BadConfig(
            f"the page on {names[0] if is_loopback(host) else host}: wanted a loopback address, or a token for others "
            "(ONCELOG_UI_TOKEN, --token-file or --token; beside a broker --ui-token-file or --ui-token), found neither"
        )
    called = [_named(each) for each in names]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as fault:
        raise OncelogError(f"the page cannot listen on {host}:{port}: {fault.strerror or fault}") from None
    bound = int(listener.getsockname()[1])
    own = {host, "localhost", "127.0.0.1"} if is_loopback(host) else {host, socket.gethostname(), "localhost"}
    over_tls: set[str] = set()
    hosts = {with_port for each in own for with_port in _with_port(bracketed(each), bound)}
    origins = {f"http://{each}" for each in hosts}
    for scheme, name in called:
        hosts |= {name, *_with_port(name, bound)}  # a proxy stands on the port that browsers leave out
        over_tls |= {name} if scheme == "https" else set()
        origins |= (
            {f"{scheme}://{name}"}
            if scheme
            else {f"http://{each}" for each in (name, *_with_port(name, bound))}
        )
    access = Access(
        token=token or secrets.token_urlsafe(16),
        hosts=frozenset(each.lower() for each in hosts),
        origins=frozenset(each.lower() for each in origins),
        reading_needs_token=not is_open,
        on_every_address=host in WILDCARDS,
        port=bound,
        over_tls=frozenset(each.lower() for each in over_tls),
    )
    return Door(listener, host, bound, access)


def _named(text: str) -> tuple[str, str]:
    """Scheme, which may be missing, and host of `[http[s]://]NAME[:PORT]`."""
    found = CALLED.fullmatch(text)
    if found is None:
        raise BadConfig(f"--ui-host: wanted [http[s]://]NAME[:PORT], found {text!r}")
    return found["scheme"] or "", found["name"]


def _with_port(name: str, bound: int) -> set[str]:
    """What a Host header says: the port too, unless it is the one that browsers leave out or the name has one already."""
    if HAS_PORT.search(name):
        return {name}
    return {f"{name}:{bound}", name} if bound == HTTP else {f"{name}:{bound}"}


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
        if self._thread.ident is not None:  # it was started
            self._thread.join(5)
        self._door.listener.close()

    def run_here(self) -> None:
        """Until SIGINT or SIGTERM, which uvicorn takes."""
        self._run()
