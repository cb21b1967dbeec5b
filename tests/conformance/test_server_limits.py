"""The socket side: any pieces, answers in order, back-pressure, limits and time-outs (reliability T1, T7-T10)."""

import asyncio
import os
import resource
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import oncelog
from oncelog.client.easy import create_topic, write_all
from oncelog.protocol.header import read_response_header, request_frame
from oncelog.protocol.messages.api_versions import ApiVersionsRequest
from oncelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from oncelog.protocol.messages.metadata import MetadataRequest
from oncelog.server.listener import Listener
from oncelog.server.main import Options, Server


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(virtual_clock=True) as running:
        yield running


def connect(broker: oncelog.Broker) -> socket.socket:
    host, port = broker.bootstrap.split(":")
    door = socket.create_connection((host, int(port)))
    door.settimeout(10)
    return door


def receive(door: socket.socket) -> bytes:
    """One answer without its length; empty if the broker closed the connection."""
    found = b""
    while len(found) < 4 or len(found) < 4 + struct.unpack(">i", found[:4])[0]:
        wanted = 4 - len(found) if len(found) < 4 else 4 + struct.unpack(">i", found[:4])[0] - len(found)
        try:
            piece = door.recv(wanted)
        except ConnectionResetError:
            return b""
        if not piece:
            return b""
        found += piece
    return found[4:]


def is_closed(door: socket.socket) -> bool:
    return receive(door) == b""


def api_versions(correlation: int) -> bytes:
    return bytes(request_frame(18, 0, correlation, "test", ApiVersionsRequest()))


def fetch(topic: str, *, max_wait_ms: int, correlation: int, max_bytes: int = 1 << 26) -> bytes:
    request = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        topics=[
            FetchTopic(
                topic=topic,
                partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=max_bytes)],
            )
        ],
    )
    return bytes(request_frame(1, 4, correlation, "test", request))


def correlation_of(answer: bytes) -> int:
    return int(struct.unpack(">i", answer[:4])[0])


def wait_for_bytes(broker: oncelog.Broker, count: int) -> None:
    """Until the broker has taken so much of unfinished requests."""
    deadline = time.monotonic() + 10
    while broker.run(lambda server: server.listener.half_received_bytes) != count:
        assert time.monotonic() < deadline, f"wanted {count} bytes of a request to arrive"
        time.sleep(0.005)


def test_a_request_may_come_in_single_bytes(broker: oncelog.Broker) -> None:
    with connect(broker) as door:
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in api_versions(7):
            door.sendall(bytes([byte]))
        assert correlation_of(receive(door)) == 7


def test_pipelined_requests_are_answered_in_order(broker: oncelog.Broker) -> None:
    frames = [
        api_versions(number)
        if number % 2
        else bytes(request_frame(3, 1, number, "test", MetadataRequest(topics=None)))
        for number in range(300)
    ]
    with connect(broker) as door:
        door.sendall(b"".join(frames))
        assert [correlation_of(receive(door)) for _ in frames] == list(range(300))


def test_an_answer_waits_for_the_long_poll_before_it(broker: oncelog.Broker) -> None:
    create_topic(broker.bootstrap, "t")
    with connect(broker) as door:
        door.sendall(fetch("t", max_wait_ms=400, correlation=1) + api_versions(2))
        begun = time.monotonic()
        assert correlation_of(receive(door)) == 1
        assert time.monotonic() - begun > 0.3
        assert correlation_of(receive(door)) == 2


def test_a_long_poll_ends_when_a_record_comes(broker: oncelog.Broker) -> None:
    create_topic(broker.bootstrap, "t")
    with connect(broker) as door:
        door.sendall(fetch("t", max_wait_ms=8_000, correlation=1))
        time.sleep(0.1)
        begun = time.monotonic()
        write_all(broker.bootstrap, "t", [b"news"])
        answer = receive(door)
        assert time.monotonic() - begun < 4
        _, at = read_response_header(answer, 1, 4)
        found = FetchResponse.decode(answer, 4, at).responses[0].partitions[0]
        assert found.high_watermark == 1
        assert bytes(found.records or b"").endswith(b"news\x00")


@pytest.mark.parametrize("length", [-1, -(2**31), 104_857_601, 2**31 - 1])
def test_t1_an_impossible_length_closes_the_connection(broker: oncelog.Broker, length: int) -> None:
    with connect(broker) as door:
        door.sendall(struct.pack(">i", length) + b"x")
        assert is_closed(door)


def test_t1_claimed_lengths_take_no_memory(broker: oncelog.Broker) -> None:
    before = psutil.Process(os.getpid()).memory_info().rss
    doors = [connect(broker) for _ in range(300)]
    try:
        for door in doors:
            door.sendall(struct.pack(">i", 104_857_600) + b"x")
        with connect(broker) as good:
            good.sendall(api_versions(1))
            assert correlation_of(receive(good)) == 1
        grown = psutil.Process(os.getpid()).memory_info().rss - before
        assert grown < 50 * 1024 * 1024
    finally:
        for door in doors:
            door.close()


def test_t7_a_begun_request_must_be_finished(broker: oncelog.Broker) -> None:
    with connect(broker) as door:
        door.sendall(api_versions(1))
        receive(door)
        door.sendall(api_versions(2)[:6])
        wait_for_bytes(broker, 6)
        broker.clock.advance(29)
        door.sendall(api_versions(2)[6:7])  # one more byte does not buy another 30 s
        wait_for_bytes(broker, 7)
        broker.clock.advance(5)
        broker.clock.advance(2)
        assert is_closed(door)


def test_t7_a_silent_connection_is_closed(broker: oncelog.Broker) -> None:
    with connect(broker) as never, connect(broker) as idle:
        idle.sendall(api_versions(1))
        receive(idle)
        broker.clock.advance(32)
        assert is_closed(never)
        idle.sendall(api_versions(2))
        assert correlation_of(receive(idle)) == 2
        broker.clock.advance(602)
        assert is_closed(idle)


def test_t8_too_many_connections_are_refused() -> None:
    with oncelog.Broker(settings={"max.connections": 5}) as broker:
        doors = [connect(broker) for _ in range(5)]
        for number, door in enumerate(doors):
            door.sendall(api_versions(number))
            receive(door)
        with connect(broker) as sixth:
            assert is_closed(sixth)
        doors[0].close()
        time.sleep(0.2)
        with connect(broker) as again:
            again.sendall(api_versions(9))
            assert correlation_of(receive(again)) == 9
        for door in doors[1:]:
            door.close()


def test_t9_a_client_that_does_not_read_stops_being_served_and_is_dropped(broker: oncelog.Broker) -> None:
    create_topic(broker.bootstrap, "t")
    write_all(broker.bootstrap, "t", [os.urandom(900_000) for _ in range(20)])
    with connect(broker) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        # In one write: they all arrive before the first answer piles up.
        door.sendall(b"".join(fetch("t", max_wait_ms=0, correlation=number) for number in range(60)))
        time.sleep(0.5)
        served = broker.run(lambda server: server.listener.requests_begun)
        assert served < 30  # reading and serving stopped when the answers piled up
        broker.clock.advance(62)
        time.sleep(0.2)
        broker.clock.advance(2)
        deadline = time.monotonic() + 10
        while broker.run(lambda server: server.listener.connections) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert broker.run(lambda server: server.listener.connections) == 0


def test_a_malformed_body_closes_only_its_own_connection_api_1(broker: oncelog.Broker) -> None:
    with connect(broker) as bad, connect(broker) as good:
        bad.sendall(struct.pack(">ihhih", 10, 3, 12, 1, -1))
        assert is_closed(bad)
        good.sendall(api_versions(3))
        assert correlation_of(receive(good)) == 3


def test_a_restart_does_not_turn_a_virtual_clock_back(broker: oncelog.Broker) -> None:
    broker.clock.advance(3600)
    before = broker.run(lambda server: server.clock.wall_ms())
    broker.restart()
    assert broker.run(lambda server: server.clock.wall_ms()) >= before


def wait_for_connections(broker: oncelog.Broker, count: int) -> None:
    deadline = time.monotonic() + 10
    while broker.run(lambda server: server.listener.connections) != count:
        assert time.monotonic() < deadline, f"wanted {count} connections"
        time.sleep(0.005)


def test_t9_a_slow_reader_gets_everything_in_order(broker: oncelog.Broker) -> None:
    create_topic(broker.bootstrap, "t")
    write_all(broker.bootstrap, "t", [os.urandom(900_000) for _ in range(20)])
    with connect(broker) as door:
        door.sendall(b"".join(fetch("t", max_wait_ms=0, correlation=number) for number in range(8)))
        time.sleep(0.3)
        assert broker.run(lambda server: server.listener.requests_begun) < 8
        answers = [receive(door) for _ in range(8)]
        door.sendall(api_versions(99))
        assert correlation_of(receive(door)) == 99  # it is read again
    assert [correlation_of(answer) for answer in answers] == list(range(8))
    assert len({answer[4:] for answer in answers}) == 1
    assert len(answers[0]) > 18_000_000


def test_an_end_of_stream_behind_unanswered_requests_closes_the_connection(broker: oncelog.Broker) -> None:
    create_topic(broker.bootstrap, "t")
    wait_for_connections(broker, 0)
    with connect(broker) as door:
        begun = time.monotonic()
        door.sendall(fetch("t", max_wait_ms=60_000, correlation=1) + api_versions(2))
        door.shutdown(socket.SHUT_WR)
        assert is_closed(door)
        wait_for_connections(broker, 0)
        assert time.monotonic() - begun < 30


def test_a_reset_in_the_middle_of_a_request_leaves_nothing_behind(broker: oncelog.Broker) -> None:
    with connect(broker) as door:
        door.sendall(api_versions(1)[:6])
        wait_for_bytes(broker, 6)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_for_connections(broker, 0)
    assert broker.run(lambda server: server.listener.half_received_bytes) == 0


def test_200_connections_that_ask_at_once_are_all_answered(broker: oncelog.Broker) -> None:
    doors = [connect(broker) for _ in range(200)]
    for _ in range(5):
        for number, door in enumerate(doors):
            door.sendall(api_versions(number))
        assert [correlation_of(receive(door)) for door in doors] == list(range(200))
    for door in doors:
        door.close()
    wait_for_connections(broker, 0)


def test_t8_without_descriptors_the_broker_waits_and_then_accepts_again(
    broker: oncelog.Broker, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(broker) as before, socket.socket() as door:
        before.sendall(api_versions(1))
        assert correlation_of(receive(before)) == 1
        door.settimeout(10)
        host, port = broker.bootstrap.split(":")
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        next_one = os.dup(0)
        os.close(next_one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (next_one, limits[1]))
        try:
            door.connect((host, int(port)))
            door.sendall(api_versions(2))
            deadline = time.monotonic() + 10
            while "listener.paused" not in caplog.text and time.monotonic() < deadline:
                time.sleep(0.005)
            before.sendall(api_versions(3))  # who is there is served meanwhile
            assert correlation_of(receive(before)) == 3
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert caplog.text.count("listener.paused") == 1  # it does not try in every turn
        broker.clock.advance(2)
        assert correlation_of(receive(door)) == 2


def test_a_stop_lets_answers_under_way_leave() -> None:
    broker = oncelog.Broker().start()
    create_topic(broker.bootstrap, "t")
    write_all(broker.bootstrap, "t", [os.urandom(900_000) for _ in range(20)])
    with connect(broker) as door:
        door.sendall(fetch("t", max_wait_ms=0, correlation=1))
        assert door.recv(1)  # it is on its way, and larger than what the system buffers
        stop = threading.Thread(target=broker.close)
        stop.start()
        length = struct.unpack(">i", b"\x01" + door.recv(3))[0]
        left = length
        while left and (piece := door.recv(min(left, 1 << 20))):
            left -= len(piece)
        assert left == 0
        stop.join()


def test_a_connection_is_not_read_any_more_once_the_broker_stops(broker: oncelog.Broker) -> None:
    create_topic(broker.bootstrap, "t")
    wait_for_connections(broker, 0)
    with connect(broker) as door:
        door.sendall(fetch("t", max_wait_ms=300, correlation=1) + api_versions(2))
        wait_for_connections(broker, 1)
        time.sleep(0.1)
        broker.run(lambda server: [link.stop_reading() for link in server.listener.links.values()])
        door.sendall(api_versions(3))
        assert [correlation_of(receive(door)) for _ in range(2)] == [1, 2]
        door.settimeout(0.3)
        with pytest.raises(TimeoutError):
            receive(door)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "0.0.0.0", "::", ""])
def test_every_kind_of_host_is_listened_at(tmp_path: Path, host: str) -> None:
    if ":" in host and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")

    async def ask() -> list[int]:
        server = Server(Options(data_dir=str(tmp_path), listen_host=host, listen_port=0))
        port = await server.start()
        target = {"0.0.0.0": "127.0.0.1", "::": "::1", "": None}.get(host, host)
        addresses = {str(entry[4][0]) for entry in socket.getaddrinfo(target, port, type=socket.SOCK_STREAM)}
        answers = [await _asked(address, port) for address in addresses]
        with pytest.raises(OSError, match="cannot listen at"):  # the port is taken now
            await Listener(server.broker).start(host, port)
        await server.stop()
        return answers

    answers = asyncio.run(ask())
    assert len(answers) > 0
    assert set(answers) == {5}


async def _asked(address: str, port: int) -> int:
    reader, writer = await asyncio.open_connection(address, port)
    writer.write(api_versions(5))
    answer = await reader.readexactly(8)
    writer.close()
    await writer.wait_closed()
    return correlation_of(answer[4:])


def test_an_address_that_this_machine_does_not_have_is_skipped_if_there_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts: list[str] = []

    def look_up(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 0)) for host in hosts]

    async def ask() -> int:
        server = Server(Options(data_dir=str(tmp_path), listen_port=0))
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        hosts[:] = ["192.0.2.1", "127.0.0.1"]
        port = await server.start()
        hosts[:] = ["192.0.2.1"]
        with pytest.raises(OSError, match=r"cannot listen at 192\.0\.2\.1"):
            await Listener(server.broker).start("nowhere", 0)
        monkeypatch.undo()
        answer = await _asked("127.0.0.1", port)
        await server.stop()
        return answer

    assert asyncio.run(ask()) == 5


def test_t9_who_ends_its_side_and_does_not_read_is_dropped_in_time_too() -> None:
    """Below the limit of the write buffer as well, where nothing else is counted against it."""
    settings = {"connection.write.buffer.limit.bytes": 1 << 28}
    with oncelog.Broker(virtual_clock=True, settings=settings) as broker:
        create_topic(broker.bootstrap, "t")
        write_all(broker.bootstrap, "t", [os.urandom(900_000) for _ in range(20)])
        wait_for_connections(broker, 0)
        with connect(broker) as door:
            door.sendall(fetch("t", max_wait_ms=0, correlation=1))
            assert door.recv(1)
            door.shutdown(socket.SHUT_WR)
            deadline = time.monotonic() + 10
            while not broker.run(lambda server: [link.is_closing for link in server.listener.links.values()])[
                0
            ]:
                assert time.monotonic() < deadline, "wanted the broker to see the end of the stream"
                time.sleep(0.005)
            broker.clock.advance(58)
            assert broker.run(lambda server: server.listener.connections) == 1
            broker.clock.advance(4)
            wait_for_connections(broker, 0)
