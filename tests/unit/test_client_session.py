"""The client's connection: versions, frames, time, and what it says when something goes wrong."""

import signal
import socket
import struct
import threading

import pytest

from oncelog.client.address import Address, parse_address, parse_bootstrap
from oncelog.client.cluster import Cluster
from oncelog.client.faults import RefusedByBroker, TimedOut, Unreachable, UnsupportedByBroker
from oncelog.client.session import Connection
from oncelog.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from oncelog.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from oncelog.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.unit.scripted_broker import Close, Hang, ScriptedBroker

ADDRESSES = """
# text               host         port
  127.0.0.1:9093     127.0.0.1    9093
  broker             broker       9092
  [::1]:9094         ::1          9094
  [fe80::1]          fe80::1      9092
"""


@pytest.mark.parametrize("line", [line.split() for line in ADDRESSES.splitlines() if line and line[0] != "#"])
def test_addresses_are_read(line: list[str]) -> None:
    assert parse_address(line[0]) == Address(line[1], int(line[2]))


@pytest.mark.parametrize(
    "text", ["", ":9092", "a:b", "a:99999", "a:-1", "::1", "::1:9092", "a:", "a:9\u0662"]
)
def test_addresses_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="wanted"):
        parse_address(text)


def test_a_port_may_be_demanded() -> None:
    with pytest.raises(ValueError, match="wanted HOST:PORT, found 'host'"):
        parse_address("host", default_port=None)


def test_bootstrap_lists() -> None:
    assert parse_bootstrap("a:1, PLAINTEXT://b:2") == [Address("a", 1), Address("b", 2)]
    with pytest.raises(ValueError, match="wanted HOST:PORT"):
        parse_bootstrap(" , ")


def test_an_address_prints_as_it_is_read() -> None:
    assert str(Address("::1", 1)) == "[::1]:1"
    assert parse_address(str(Address("::1", 1))) == Address("::1", 1)


def test_the_highest_common_version_is_used() -> None:
    with ScriptedBroker() as broker, Connection(Address("127.0.0.1", broker.port)) as connection:
        broker.versions[16] = (0, 3)
        broker.answers[16] = lambda _, version: ListGroupsResponse(
            groups=[ListedGroup(group_id=f"v{version}")]
        )
        assert connection.send(ListGroupsRequest(), ListGroupsResponse).groups[0].group_id == "v3"
        assert connection.send(ListGroupsRequest(), version=1).groups[0].group_id == "v1"
        assert [each.key for each in broker.asked] == [18, 16, 16]


def test_a_broker_that_knows_only_apiversions_0_is_asked_again_api_4() -> None:
    with ScriptedBroker() as broker, Connection(Address("127.0.0.1", broker.port)) as connection:
        broker.versions[18] = (0, 2)
        assert connection.offered()[18] == (0, 2)
        assert [each.version for each in broker.asked] == [3, 0]


def test_versions_without_overlap_are_named() -> None:
    with ScriptedBroker() as broker, Connection(Address("127.0.0.1", broker.port)) as connection:
        broker.versions[12] = (5, 9)
        wanted = rf"Heartbeat: we speak versions 0 to 4, broker 127.0.0.1:{broker.port} offers 5 to 9"
        with pytest.raises(UnsupportedByBroker, match=wanted):
            connection.send(HeartbeatRequest())
        del broker.versions[12]
        connection.close()
        with pytest.raises(UnsupportedByBroker, match="offers nothing"):
            connection.send(HeartbeatRequest())


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    with pytest.raises(Unreachable, match=rf"connect: broker 127.0.0.1:{port}: Connection refused"):
        Connection(Address("127.0.0.1", port)).connect()
    with pytest.raises(Unreachable, match="Connection refused"):
        Cluster(f"127.0.0.1:{port}").any()


def test_a_connection_closed_without_answer_is_told_apart_and_opened_again() -> None:
    def close(_: object, __: int) -> HeartbeatResponse:
        raise Close

    with ScriptedBroker() as broker, Connection(Address("127.0.0.1", broker.port)) as connection:
        broker.answers[12] = close
        with pytest.raises(
            Unreachable, match=r"Heartbeat v4: broker .* closed the connection without an answer"
        ):
            connection.send(HeartbeatRequest())
        assert not connection.is_open
        broker.answers[12] = lambda _, __: HeartbeatResponse(error_code=27)
        assert connection.send(HeartbeatRequest(), HeartbeatResponse).error_code == 27


def test_a_late_answer_is_never_taken_for_the_next_one() -> None:
    def hang(_: object, __: int) -> HeartbeatResponse:
        raise Hang

    with ScriptedBroker() as broker, Connection(Address("127.0.0.1", broker.port)) as connection:
        broker.answers[12] = hang
        with pytest.raises(TimedOut, match=r"Heartbeat v4: no answer of broker .* in time"):
            connection.send(HeartbeatRequest(), timeout_ms=50)
        assert not connection.is_open


def test_an_interrupt_closes_the_connection() -> None:
    def hang(_: object, __: int) -> HeartbeatResponse:
        raise Hang

    def interrupt(_: int, __: object) -> None:
        raise KeyboardInterrupt

    with ScriptedBroker() as broker, Connection(Address("127.0.0.1", broker.port)) as connection:
        broker.answers[12] = hang
        connection.offered()
        previous = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            with pytest.raises(KeyboardInterrupt):
                connection.send(HeartbeatRequest())
        finally:
            signal.signal(signal.SIGALRM, previous)
        assert not connection.is_open


def test_a_restarted_broker_is_connected_to_again_without_a_fault() -> None:
    with ScriptedBroker() as broker, Connection(Address("127.0.0.1", broker.port)) as connection:
        broker.answers[12] = lambda _, __: HeartbeatResponse(error_code=27)
        connection.send(HeartbeatRequest())
        broker.hang_up()
        assert connection.send(HeartbeatRequest(), HeartbeatResponse).error_code == 27
        assert [each.key for each in broker.asked] == [18, 12, 18, 12]


def _speaks(data: bytes) -> tuple[socket.socket, threading.Thread]:
    """A door behind which these bytes come, whatever is asked, and then the end."""
    door = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = door.accept()
        with client:
            client.recv(65536)
            client.sendall(data)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return door, thread


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (struct.pack(">i", -1), "announced an answer of -1 bytes"),
        (struct.pack(">i", 2**31 - 1), "announced an answer of 2147483647 bytes"),
        (b"\0\0", "closed the connection after 2 of 4 bytes"),
        (struct.pack(">ii", 10, 1), "closed the connection after 4 of 10 bytes"),
        (struct.pack(">i", 10), "closed the connection in the middle of its answer"),
        (struct.pack(">iii", 8, 999, 0), r"wanted answer 1 of broker .*, found 999"),
    ],
)
def test_answers_that_are_no_frames_t1(data: bytes, said: str) -> None:
    door, thread = _speaks(data)
    with door, Connection(Address("127.0.0.1", door.getsockname()[1])) as connection:
        with pytest.raises(Unreachable, match=said):
            connection.offered()
        assert not connection.is_open
        thread.join(5)


def test_raw_frames_go_and_come_untouched() -> None:
    with ScriptedBroker() as broker, Connection(Address("127.0.0.1", broker.port)) as connection:
        broker.answers[3] = lambda _, __: MetadataResponse()
        request = struct.pack(">hhih", 3, 0, 77, -1) + MetadataRequest(topics=[]).encode(0)
        answer = connection.exchange(request)
        assert answer == struct.pack(">i", 77) + MetadataResponse().encode(0)
        assert [each.key for each in broker.asked] == [3]  # no ApiVersions before it


def test_a_raw_frame_that_closes_the_connection_gives_none_api_1() -> None:
    door, thread = _speaks(b"")
    with door, Connection(Address("127.0.0.1", door.getsockname()[1])) as connection:
        assert connection.exchange(b"xx") is None
        thread.join(5)


def test_an_unknown_topic_is_refused_by_name_and_broker() -> None:
    with ScriptedBroker({"there": 2}) as broker, Cluster(broker.bootstrap) as cluster:
        assert len(cluster.topic("there").partitions) == 2
        with pytest.raises(
            RefusedByBroker,
            match=rf"Metadata of topic 'gone': broker .*:{broker.port} answered UNKNOWN_TOPIC_OR_PARTITION",
        ):
            cluster.topic("gone")
