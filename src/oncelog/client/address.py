"""Where a broker listens: HOST:PORT, and lists of it."""

from typing import Final, NamedTuple

DEFAULT_PORT: Final = 9092


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str, *, default_port: int | None = DEFAULT_PORT) -> Address:
    """`host:port`, `[ipv6]:port`, or only the host where a default port makes sense. ValueError says what was wanted."""
    wanted = ValueError(f"wanted HOST:PORT, found {text!r}")
    host, colon, port = text.strip().rpartition(":")
    if not colon or text.endswith("]"):  # no port at all
        if default_port is None:
            raise wanted
        host, port = text.strip(), str(default_port)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"wanted [HOST]:PORT for an IPv6 address, found {text!r}")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise wanted
    return Address(host, int(port))


def parse_bootstrap(text: str) -> list[Address]:
    """The addresses of `host:port,host:port`; the schema that some tools put in front of each is dropped."""
    addresses = [
        parse_address(each.strip().removeprefix("PLAINTEXT://")) for each in text.split(",") if each.strip()
    ]
    if not addresses:
        raise ValueError(f"wanted HOST:PORT[,HOST:PORT...], found {text!r}")
    return addresses
