"""The client's half of a SASL exchange: PLAIN (RFC 4616) and SCRAM (RFC 5802). Knows no sockets."""

import base64
import hashlib
import hmac
from collections.abc import Generator
from typing import Final

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
LEAST_ITERATIONS: Final = 4096  # Kafka's own lower bound; fewer is a server that fishes for passwords
MOST_ITERATIONS: Final = 10_000_000  # about ten seconds of ours

Exchange = Generator[bytes, bytes, None]
"""Yields what to send, is sent what came back; when it returns, both sides are satisfied."""


class BadServer(Exception):
    """The server's half of the exchange is wrong: it is not who we think, or not what we speak."""


def exchange(mechanism: str, username: str, password: str, nonce: str) -> Exchange:
    """`nonce`: printable, without a comma, never used before."""
    if mechanism == "PLAIN":
        return _plain(username, password)
    return _scram(HASHES[mechanism], username, password, nonce)


def _plain(username: str, password: str) -> Exchange:
    yield f"\0{username}\0{password}".encode()


def _scram(kind: str, username: str, password: str, nonce: str) -> Exchange:
    name = username.replace("=", "=3D").replace(",", "=2C")
    first = f"n={name},r={nonce}"
    server_first = (yield f"n,,{first}".encode()).decode("utf-8", "replace")
    salt, iterations, both = _read_server_first(server_first, nonce)
    salted = hashlib.pbkdf2_hmac(kind, password.encode(), salt, iterations)
    final = f"c=biws,r={both}"  # biws: "n,,", no channel binding
    said = f"{first},{server_first},{final}".encode()
    client_key = hmac.digest(salted, b"Client Key", kind)
    signature = hmac.digest(hashlib.new(kind, client_key).digest(), said, kind)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    server_final = yield f"{final},p={base64.b64encode(proof).decode()}".encode()
    wanted = hmac.digest(hmac.digest(salted, b"Server Key", kind), said, kind)
    if not hmac.compare_digest(server_final, b"v=" + base64.b64encode(wanted)):
        raise BadServer("the server did not prove that it knows the password")


def _read_server_first(text: str, nonce: str) -> tuple[bytes, int, str]:
    fields = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    try:
        both, iterations = fields["r"], int(fields["i"])
        salt = base64.b64decode(fields["s"], validate=True)
    except (KeyError, ValueError):
        raise BadServer(f"wanted r=, s= and i=, found {text!r}") from None
    if not both.startswith(nonce) or both == nonce:
        raise BadServer("the server's nonce does not continue ours")
    if not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        raise BadServer(f"wanted {LEAST_ITERATIONS} to {MOST_ITERATIONS} iterations, found {iterations}")
    return salt, iterations, both
