"""A TCP proxy that takes one EndTxn off the wire, makes its client ask again, and delivers the copy later.

What a network with retries and a client with time-outs do by chance (KAFKA-17754) happens here on demand: the client's
connection breaks, the broker's stays open, and the held request arrives on it when the test says so.
"""

import select
import socket
import struct
import threading
from types import TracebackType
from typing import Self

END_TXN = 26


def read_frame(door: socket.socket) -> bytes:
    """One frame with its length; empty when the other side is gone."""
    found = b""
    wanted = 4
    while len(found) < wanted:
        try:
            piece = door.recv(wanted - len(found))
        except OSError:
            return b""
        if not piece:
            return b""
        found += piece
        if len(found) == 4:
            wanted = 4 + struct.unpack(">i", found)[0]
    return found


class LateProxy:
    """Listens on its own port and speaks to one broker."""

    def __init__(self, broker_port: int = 0) -> None:
        self.broker_port = broker_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._wants = threading.Event()
        self._held: list[tuple[socket.socket, bytes]] = []
        self._lock = threading.Lock()
        self._doors: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        for door in self._doors:
            door.close()

    def hold_next_end_txn(self) -> None:
        self._wants.set()

    @property
    def holds_one(self) -> bool:
        return bool(self._held)

    def deliver_late(self) -> int:
        """Sends the held EndTxn on its old connection; the error code of the broker's answer."""
        broker, frame = self._held.pop()
        version = struct.unpack(">h", frame[6:8])[0]
        broker.settimeout(20)
        broker.sendall(frame)
        answer = read_frame(broker)
        broker.close()
        if not answer:
            raise AssertionError("the broker did not answer the late copy")
        at = (
            4 + 4 + (1 if version >= 3 else 0) + 4
        )  # length, correlation id, tags of the header, throttle time
        return int(struct.unpack(">h", answer[at : at + 2])[0])

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(("127.0.0.1", self.broker_port))
            except OSError:
                client.close()
                continue
            self._doors = [door for door in self._doors if door.fileno() >= 0]
            for door in (client, broker):
                door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._doors.append(door)
            held = threading.Event()
            threading.Thread(target=self._to_broker, args=(client, broker, held), daemon=True).start()
            threading.Thread(target=self._to_client, args=(client, broker, held), daemon=True).start()

    def _to_broker(self, client: socket.socket, broker: socket.socket, held: threading.Event) -> None:
        while frame := read_frame(client):
            with self._lock:
                if self._wants.is_set() and struct.unpack(">h", frame[4:6])[0] == END_TXN:
                    self._wants.clear()
                    held.set()
                    self._held.append((broker, frame))
                    _shut(client)  # it asks again on a new connection
                    return
            try:
                broker.sendall(frame)
            except OSError:
                break
        if not held.is_set():
            _shut(broker)

    def _to_client(self, client: socket.socket, broker: socket.socket, held: threading.Event) -> None:
        try:
            while not held.is_set():
                ready, _, _ = select.select([broker], [], [], 0.02)
                if not ready or held.is_set():
                    continue  # once one is held, what the broker says is the answer to the copy: the test reads it
                frame = read_frame(broker)
                if not frame:
                    break
                client.sendall(frame)
        except (OSError, ValueError):  # one side is gone
            pass
        _shut(client)
        client.close()
        if not held.is_set():
            broker.close()


def _shut(door: socket.socket) -> None:
    try:
        door.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
