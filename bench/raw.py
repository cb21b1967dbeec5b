"""A raw-protocol load generator: idempotent Produce requests encoded beforehand, a fixed number of them in flight.

The generator only copies bytes during the run, so the broker is what is measured. Records carry random bytes.
"""

import os
import socket
import struct
import time
from dataclasses import dataclass

from oncelog.protocol.header import request_frame
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.record.batch import NewRecord, build_batch

PRODUCE_VERSION = 9


@dataclass(frozen=True, slots=True)
class RawResult:
    seconds: float
    records: int
    payload_bytes: int

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds

    @property
    def megabytes_per_second(self) -> float:
        return self.payload_bytes / self.seconds / 1e6


def exchange(door: socket.socket, frame: bytes) -> bytes:
    """Sends one request and returns the answer behind its length."""
    door.sendall(frame)
    return _receive(door)


def _receive(door: socket.socket) -> bytes:
    head = b""
    while len(head) < 4:
        piece = door.recv(4 - len(head))
        if not piece:
            raise ConnectionError("the broker closed the connection")
        head += piece
    size = struct.unpack(">i", head)[0]
    body = bytearray()
    while len(body) < size:
        piece = door.recv(size - len(body))
        if not piece:
            raise ConnectionError("the broker closed the connection")
        body += piece
    return bytes(body)


def new_producer_id(door: socket.socket) -> int:
    """An idempotent producer id; a fresh Kafka may need a moment for its first block."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    frame = bytes(request_frame(22, 1, 1, "bench", request))
    for _ in range(200):
        answer = exchange(door, frame)
        response = InitProducerIdResponse.decode(memoryview(answer)[4:], 1)
        if response.error_code == 0:
            return response.producer_id
        time.sleep(0.05)
    raise RuntimeError("no producer id within 10 s")


def produce(
    bootstrap: str,
    topic: str,
    *,
    record_bytes: int,
    records_per_batch: int,
    batches: int,
    in_flight: int = 5,
    partition: int = 0,
) -> RawResult:
    """Sends `batches` batches to one partition with acks=all; raises if one answer is not NONE."""
    host, port = bootstrap.split(":")
    with socket.create_connection((host, int(port))) as door:
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        producer_id = new_producer_id(door)
        now = time.time_ns() // 1_000_000
        values = [os.urandom(record_bytes) for _ in range(records_per_batch)]
        frames: list[bytes] = []
        for number in range(batches):
            batch = build_batch(
                [NewRecord(None, value, now) for value in values],
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=number * records_per_batch,
            )
            request = ProduceRequest(
                transactional_id=None,
                acks=-1,
                timeout_ms=30_000,
                topic_data=[
                    TopicProduceData(
                        name=topic, partition_data=[PartitionProduceData(index=partition, records=batch)]
                    )
                ],
            )
            frames.append(bytes(request_frame(0, PRODUCE_VERSION, number, "bench", request)))
        begun = time.monotonic()
        _pump(door, frames, in_flight, topic)
        seconds = time.monotonic() - begun
    return RawResult(seconds, batches * records_per_batch, batches * records_per_batch * record_bytes)


def _pump(door: socket.socket, frames: list[bytes], in_flight: int, topic: str) -> None:
    """Keeps `in_flight` requests under way and looks at the error code of every answer."""
    # v9 answer: length, correlation id, tags, 1 topic, its name, 1 partition, index, error code
    error_at = 4 + 4 + 1 + 1 + 1 + len(topic) + 1 + 4
    received = bytearray()
    sent = min(in_flight, len(frames))
    door.sendall(b"".join(frames[:sent]))
    answered = 0
    while answered < len(frames):
        piece = door.recv(1 << 16)
        if not piece:
            raise ConnectionError("the broker closed the connection")
        received += piece
        at = 0
        before = answered
        while len(received) - at >= 4:
            size = int.from_bytes(received[at : at + 4], "big")
            if len(received) - at < 4 + size:
                break
            error = int.from_bytes(received[at + error_at : at + error_at + 2], "big", signed=True)
            if error:
                raise RuntimeError(f"Produce was answered with error {error}")
            at += 4 + size
            answered += 1
        del received[:at]
        room = answered - before
        if room and sent < len(frames):
            door.sendall(b"".join(frames[sent : sent + room]))
            sent += room
