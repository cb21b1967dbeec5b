"""A broker of a few lines for tests of the client: it answers what a test tells it to, over a real socket."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self

from oncelog.protocol.apis import APIS
from oncelog.protocol.header import read_request_header, response_frame
from oncelog.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from oncelog.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from oncelog.protocol.primitives import Message


class Asked(NamedTuple):
    key: int
    version: int
    request: Any


class Hang(Exception):
    """Raised by an answer: say nothing, keep the connection."""


class Close(Exception):
    """Raised by an answer: close the connection without a word."""


class ScriptedBroker:
    """`answers[key]` makes the answer to each request of that key. Metadata names this broker as leader of `topics`."""

    def __init__(self, topics: dict[str, int] | None = None) -> None:
        self.topics = topics or {}
        self.answers: dict[int, Callable[[Any, int], Message]] = {18: self._versions, 3: self._metadata}
        self.versions = {key: (api.min_version, api.max_version) for key, api in APIS.items()}
        self.peer: ScriptedBroker | None = None  # named as node 2
        self.leader = 1
        self.asked: list[Asked] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._door.getsockname()[1])
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._open: list[socket.socket] = []

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # shutdown wakes threads that wait in accept and recv; close alone would not
        for each in [self._door, *self._open]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(5)

    def hang_up(self) -> None:
        """Ends all connections, as a restart does; new ones are taken."""
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join(5)

    @property
    def connections(self) -> int:
        """How many are open."""
        return sum(each.is_alive() for each in self._threads[1:])

    @property
    def accepted(self) -> int:
        """How many there were so far."""
        return len(self._threads) - 1

    def requests(self, key: int) -> list[Any]:
        return [each.request for each in self.asked if each.key == key]

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            self._open.append(client)
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                frame = stream.read(struct.unpack(">i", head)[0])
                try:
                    answer = self._answer(frame)
                except Hang:
                    continue
                except Close:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(answer)

    def _answer(self, frame: bytes) -> bytes | bytearray:
        header = read_request_header(frame)
        version = header.version
        if not self.versions[header.api_key][0] <= version <= self.versions[header.api_key][1]:
            assert header.api_key == 18, f"the client asked for key {header.api_key} v{version}"
            refusal = ApiVersionsResponse(error_code=35, api_keys=[self._range(18)])
            self.asked.append(Asked(18, version, None))
            return response_frame(18, 0, header.correlation_id, refusal)
        request = APIS[header.api_key].request_class().decode(frame, version, header.body_at)
        self.asked.append(Asked(header.api_key, version, request))
        return response_frame(
            header.api_key, version, header.correlation_id, self.answers[header.api_key](request, version)
        )

    def _range(self, key: int) -> ApiVersion:
        low, high = self.versions[key]
        return ApiVersion(api_key=key, min_version=low, max_version=high)

    def _versions(self, _: Any, __: int) -> Message:
        return ApiVersionsResponse(api_keys=[self._range(key) for key in sorted(self.versions)])

    def _metadata(self, request: Any, _: int) -> Message:
        names = self.topics if request.topics is None else [each.name for each in request.topics]
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=number, host="127.0.0.1", port=each.port)
                for number, each in ((1, self), (2, self.peer))
                if each is not None
            ],
            controller_id=1,
            cluster_id="scripted",
            topics=[self._topic(name) for name in names],
        )

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name not in self.topics:
            return MetadataResponseTopic(error_code=3, name=name)
        partitions = [
            MetadataResponsePartition(
                partition_index=index, leader_id=self.leader, leader_epoch=0, replica_nodes=[1], isr_nodes=[1]
            )
            for index in range(self.topics[name])
        ]
        return MetadataResponseTopic(name=name, topic_id=bytes(15) + b"\1", partitions=partitions)
