"""Streams on our own epoll (decision 0022): real sockets of this machine, and turns that the test makes."""

import os
import random
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psutil
import pytest

from oncelog.server import sockets
from oncelog.server.sockets import EVENTS_PER_TURN, RECEIVE_BUFFER_BYTES, Stream, Streams

LIMIT_BYTES = 1 << 20
FRAME_LIMIT_BYTES = 8 << 20
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: whoever closes, resets


class Recorded:
    """Remembers what it was told; `then` is done with everything received."""

    def __init__(self, peer: socket.socket) -> None:
        self.stream: Stream
        self.peer = peer
        self.frames: list[bytes] = []
        self.half_bytes = 0
        self.copies: list[socket.socket] = []
        self.said: list[str] = []
        self.then: Callable[[Recorded], None] = lambda _: None

    @property
    def found(self) -> bytes:
        return b"".join(self.frames)

    def received(self, frames: list[bytes], half_bytes: int) -> None:
        self.frames += frames
        self.half_bytes = half_bytes
        self.then(self)

    def refused(self, why: str) -> None:
        self.said.append(why)

    def ended(self) -> None:
        self.said.append("ended")
        self.stream.read_on(False)

    def blocked(self) -> None:
        self.said.append("blocked")

    def unblocked(self) -> None:
        self.said.append("unblocked")

    def gone(self) -> None:
        self.said.append("gone")

    def ask(self, *questions: bytes) -> None:
        self.peer.sendall(b"".join(map(framed, questions)))


class Stage:
    def __init__(self) -> None:
        self.streams = Streams(lambda: 0, frame_limit_bytes=FRAME_LIMIT_BYTES)
        self.turns = 0
        self._door = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self._kept: list[Recorded] = []

    def connect(self, *, send_buffer_bytes: int | None = None, copies: bool = False) -> Recorded:
        peer = socket.create_connection(self._door.getsockname())
        peer.settimeout(10)
        connected, _ = self._door.accept()
        if send_buffer_bytes is not None:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
        recorded = Recorded(peer)
        if copies:
            recorded.copies.append(connected.dup())
        recorded.stream = self.streams.open(connected, recorded, unsent_limit_bytes=LIMIT_BYTES)
        self._kept.append(recorded)
        return recorded

    def turn(self) -> None:
        self.turns += 1
        self.streams.turn()

    def turn_until(self, reached: Callable[[], bool]) -> None:
        """Turns as asyncio would make them: whenever there is something."""
        while not reached():
            assert ready(self.streams, wait_s=10), "nothing happened in 10 s"
            self.turn()

    def close(self) -> None:
        for each in self._kept:
            each.stream.abort()
            each.peer.close()
        self._door.close()
        self.streams.close()


def framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def ready(*files: Any, wait_s: float = 0, event: int = select.POLLIN) -> list[int]:
    """Their descriptors; `select.select` knows none above 1,023, and other tests may have so many open."""
    look = select.poll()
    for file in files:
        look.register(file, event)
    return [descriptor for descriptor, _ in look.poll(wait_s * 1000)]


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.close()


def set_sent_together(monkeypatch: pytest.MonkeyPatch, ns: int) -> None:
    monkeypatch.setattr(sockets, "SENT_TOGETHER_NS", ns)


def take(stage: Stage, side: Recorded, count: int) -> bytes:
    """So many bytes at the client's side, in small reads between which the broker has its turns."""
    found = bytearray()
    while len(found) < count:
        now = ready(side.peer, stage.streams, wait_s=10)
        assert now, f"found {len(found)} bytes, wanted {count}"
        if stage.streams.fileno() in now:
            stage.turn()
        if side.peer.fileno() in now:
            found += side.peer.recv(min(100_000, count - len(found)))
    return bytes(found)


def test_what_a_slow_reader_does_not_take_waits_and_arrives_in_order(stage: Stage) -> None:
    side = stage.connect()
    large, small = os.urandom(12_000_000), os.urandom(100)
    side.stream.write([small, memoryview(large), b"", small])  # in pieces, and never copied into one
    assert side.said == ["blocked"]
    assert LIMIT_BYTES < side.stream.unsent_bytes < 12_000_000
    wanted = small + large + small + small
    found = b""
    while len(found) < 1_000_000:
        found += side.peer.recv(1_000_000)
    side.stream.write([small])  # behind all the rest, although there is room for it by now
    assert found + take(stage, side, len(wanted) - len(found)) == wanted
    stage.turn_until(lambda: side.said == ["blocked", "unblocked"])
    assert side.stream.unsent_bytes == 0
    stage.turn()
    assert not ready(stage.streams)  # nobody asks for room any more


def test_a_stream_is_unblocked_when_three_quarters_of_the_limit_have_left(stage: Stage) -> None:
    side = stage.connect(send_buffer_bytes=16_384)  # so that it leaves in small pieces
    side.stream.write([bytes(12_000_000)])
    while side.said == ["blocked"]:
        assert side.stream.unsent_bytes > LIMIT_BYTES // 4
        take(stage, side, 10_000)
    assert side.stream.unsent_bytes <= LIMIT_BYTES // 4


def test_more_pieces_than_one_send_takes(stage: Stage) -> None:
    side = stage.connect()
    pieces = [os.urandom(70) for _ in range(3000)]
    side.stream.write(list(pieces))
    assert take(stage, side, 210_000) == b"".join(pieces)


def test_a_close_lets_leave_what_was_written_and_an_abort_does_not(stage: Stage) -> None:
    for is_whole in (True, False):
        side = stage.connect()
        side.stream.write([bytes(12_000_000)])
        (side.stream.close if is_whole else side.stream.abort)()
        side.stream.write([b"too late"])
        assert ("gone" in side.said) is not is_whole
        count = 0
        is_open = True
        with suppress(ConnectionResetError):
            while is_open:
                now = ready(side.peer, stage.streams, wait_s=10)
                assert now, f"found {count} bytes and no end"
                if stage.streams.fileno() in now:  # that all has left is told after the last of it came
                    stage.turn()
                if side.peer.fileno() in now:
                    piece = side.peer.recv(1 << 20)
                    is_open, count = bool(piece), count + len(piece)
        assert (count == 12_000_000) is is_whole
        assert side.said[-1] == "gone"


def test_who_sends_no_more_may_still_read(stage: Stage) -> None:
    side = stage.connect()
    side.ask(b"question")
    side.peer.shutdown(socket.SHUT_WR)
    assert side.stream.peer_is_gone()
    stage.turn_until(lambda: side.said == ["ended"])
    assert side.found == b"question"
    side.stream.write([b"answer"])
    assert side.peer.recv(100) == b"answer"


def test_the_answers_of_a_turn_leave_at_its_end(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    set_sent_together(monkeypatch, 10**12)
    sides = [stage.connect() for _ in range(200)]
    early: list[Recorded] = []
    answered: list[tuple[int, Recorded]] = []

    def answer(side: Recorded) -> None:
        side.stream.write([side.found])
        side.stream.write([b"!"])
        answered.append((stage.turns, side))
        if stage.streams.sends_later:  # else there was no other in this turn
            early.extend(each for turn, each in answered if turn == stage.turns and ready(each.peer))

    for number, side in enumerate(sides):
        side.then = answer
        side.ask(b"%d" % number)
    stage.turn_until(lambda: all(side.found for side in sides))
    assert early == []
    assert [side.peer.recv(100) for side in sides] == [b"%d!" % number for number in range(200)]


def test_a_large_answer_does_not_overtake_a_small_one_of_its_turn(stage: Stage) -> None:
    sides = [stage.connect() for _ in range(10)]
    large = os.urandom(200_000)
    together = 0

    def answer(side: Recorded) -> None:
        nonlocal together
        together += stage.streams.sends_later
        side.stream.write([b"small"])
        side.stream.write([large])

    for side in sides:
        side.then = answer
        side.ask(b"question")
    stage.turn_until(lambda: all(side.found for side in sides))
    assert together > 1  # else none had one to wait for
    for side in sides:
        assert take(stage, side, 200_005) == b"small" + large


def test_no_answer_waits_long_for_the_others_of_its_turn(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_sent_together(monkeypatch, -1)
    first, second = stage.connect(), stage.connect()
    early: list[bytes] = []
    for side, other in ((first, second), (second, first)):
        side.ask(b"question")

        def answer(side: Recorded, other: Recorded = other) -> None:
            side.stream.write([b"answer"])
            if other.found:
                early.append(other.peer.recv(100))

        side.then = answer
    stage.turn_until(lambda: bool(first.found and second.found))
    assert early == [b"answer"]


def test_a_close_in_the_turn_takes_the_answer_along(stage: Stage) -> None:
    side = stage.connect()

    def answer_and_close(side: Recorded) -> None:
        side.stream.write([b"answer"])
        side.stream.close()

    side.then = answer_and_close
    side.ask(b"question")
    stage.connect().ask(b"question")  # or the answer would have none to wait for
    stage.turn_until(lambda: side.said == ["gone"])
    assert side.peer.recv(100) == b"answer"
    assert side.peer.recv(100) == b""


def test_each_stream_is_read_once_in_a_turn_and_all_have_theirs(stage: Stage) -> None:
    sides = [stage.connect() for _ in range(EVENTS_PER_TURN + 50)]
    for side in sides:
        side.ask(b"question")
    stage.turn()
    assert sum(bool(side.found) for side in sides) == EVENTS_PER_TURN
    for side in sides:
        side.ask(b"again")  # who had its turn comes behind those who had none
    stage.turn()
    assert all(side.found for side in sides)


def test_a_large_sender_does_not_keep_the_others_waiting(stage: Stage) -> None:
    large, small = stage.connect(), stage.connect()
    large.peer.setblocking(False)
    while ready(large.peer, wait_s=0.2, event=select.POLLOUT):
        large.peer.send(framed(bytes(65_532)))  # a whole number of them fits any power of two
    stage.turn()
    assert 0 < len(large.found) <= RECEIVE_BUFFER_BYTES
    small.ask(b"question")
    stage.turn_until(lambda: bool(small.found))


def test_a_stream_that_does_not_read_is_told_nothing_and_goes_on_where_it_was(stage: Stage) -> None:
    side = stage.connect()
    side.stream.read_on(False)
    side.ask(b"question")
    side.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    side.peer.close()
    assert not ready(stage.streams, wait_s=0.2)  # or the loop would spin
    side.stream.read_on(True)
    stage.turn_until(lambda: "gone" in side.said)
    assert side.found == b"question"  # it came before the reset


@pytest.mark.parametrize("writes", [False, True])
def test_a_reset_ends_the_stream_and_nothing_else(
    stage: Stage, caplog: pytest.LogCaptureFixture, writes: bool
) -> None:
    side, other = stage.connect(), stage.connect()
    if writes:
        side.stream.write([bytes(12_000_000)])
    side.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    side.peer.close()
    stage.turn_until(lambda: "gone" in side.said)
    assert side.stream.unsent_bytes == 0
    assert caplog.text == ""  # clients may come and go
    other.ask(b"question")
    stage.turn_until(lambda: other.found == b"question")


def test_a_write_finds_out_that_the_connection_was_reset(stage: Stage) -> None:
    side = stage.connect()
    side.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    side.peer.close()
    side.stream.write([b"answer"])
    assert side.said == ["gone"]
    side.stream.write([b"another"])
    side.stream.close()
    side.stream.abort()
    assert side.said == ["gone"]


def test_a_stream_that_another_closed_in_the_same_turn_is_left_alone(stage: Stage) -> None:
    first, second = stage.connect(), stage.connect()
    for side, other in ((first, second), (second, first)):
        side.then = lambda _, other=other: other.stream.abort()
        side.ask(b"question")
    stage.turn_until(lambda: bool(first.found or second.found))
    for _ in range(3):
        stage.turn()
    assert sorted([first.said, second.said]) == [[], ["gone"]]
    assert sorted([first.found, second.found]) == [b"", b"question"]


def test_a_defect_ends_its_own_stream_only(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    bad, good = stage.connect(), stage.connect()

    def fail(_: Recorded) -> None:
        raise RuntimeError("a defect")

    bad.then = fail
    bad.ask(b"question")
    good.ask(b"question")
    stage.turn_until(lambda: bool(good.found and bad.said))
    assert (bad.said, good.said) == (["gone"], [])
    assert "a defect" in caplog.text


def test_small_answers_do_not_wait_for_each_other_in_the_kernel(stage: Stage) -> None:
    with stage.connect(copies=True).copies[0] as same:
        assert same.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_frames_may_come_in_any_pieces(stage: Stage) -> None:
    chance = random.Random(7)
    side = stage.connect()
    side.peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sizes = [0, 1, 3, 4, 5, 0, 70_000, 131_068, 131_069, 300_000, 3_000_000, FRAME_LIMIT_BYTES, 2]
    sizes += [chance.choice((0, 10, 500, 5_000, 200_000)) for _ in range(100)]
    wanted = [chance.randbytes(size) for size in sizes]

    def send() -> None:
        data = memoryview(b"".join(map(framed, wanted)))
        while data:
            count = chance.choice((1, 3, 4, 100, 4_096, 65_536, 1_000_000))
            side.peer.sendall(data[:count])
            data = data[count:]

    sender = threading.Thread(target=send)
    sender.start()
    stage.turn_until(lambda: len(side.frames) == len(wanted))
    sender.join()
    assert side.frames == wanted
    assert side.half_bytes == 0


def test_how_much_there_is_of_a_request_is_told(stage: Stage) -> None:
    side = stage.connect()
    for piece, half_bytes in (
        (b"\0", 1),
        (b"\0\1\0", 4),
        (bytes(255), 259),
        (b"x" + framed(b"") + b"\0\0", 2),
        (b"\0\1x", 0),
    ):
        side.peer.sendall(piece)
        stage.turn_until(lambda half_bytes=half_bytes: side.half_bytes == half_bytes)
    assert side.frames == [bytes(255) + b"x", b"", b"x"]


@pytest.mark.parametrize("length", [-1, -(2**31), FRAME_LIMIT_BYTES + 1, 2**31 - 1])
def test_a_length_that_cannot_be_is_told(stage: Stage, length: int) -> None:
    side = stage.connect()
    side.peer.sendall(struct.pack(">i", length))
    stage.turn_until(lambda: bool(side.said))
    assert side.said == [f"a frame of {length} bytes, wanted 0 to {FRAME_LIMIT_BYTES}"]


def test_a_closed_socket_is_given_back_and_nothing_is_kept(stage: Stage) -> None:
    files = psutil.Process().num_fds
    before = files()
    for number in range(200):
        side = stage.connect()
        side.ask(b"question")
        if number % 3 == 0:
            side.stream.abort()
        elif number % 3 == 1:
            side.stream.write([b"answer", bytes(100_000)])
            side.stream.close()
        else:
            side.peer.close()
            stage.turn_until(lambda side=side: "ended" in side.said or "gone" in side.said)
            side.stream.abort()
        side.peer.close()
        if ready(stage.streams):
            stage.turn()
    deadline = time.monotonic() + 10
    while files() > before:
        assert time.monotonic() < deadline, f"{files() - before} descriptors are left"
        stage.turn()
        time.sleep(0.01)


def test_many_ask_and_are_answered_while_others_come_and_go(stage: Stage) -> None:
    """Every client checks what it gets; clients leave in the middle of requests and of answers."""
    chance = random.Random(3)
    faults: list[str] = []
    left = threading.Semaphore(0)
    asked = 60

    def answer(side: Recorded) -> None:
        for frame in side.frames:
            side.stream.write(
                [struct.pack(">i", len(frame)), frame] if len(frame) < 70_000 else [framed(frame)]
            )
        side.frames.clear()

    def ask(side: Recorded, seed: int) -> None:
        mine = random.Random(seed)
        try:
            for number in range(asked):
                question = mine.randbytes(mine.choice((1, 50, 3_000, 100_000)))
                side.ask(question)
                found = b""
                while len(found) < len(question) + 4:
                    found += side.peer.recv(1 << 20)
                if found != framed(question):
                    faults.append(f"{seed}: answer {number} is not what was asked for")
                if mine.random() < 0.01:
                    side.peer.sendall(framed(bytes(500_000))[: mine.randrange(500_000)])
                    if mine.random() < 0.5:
                        side.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    break
        finally:
            side.peer.close()
            left.release()

    sides = [stage.connect() for _ in range(20)]
    threads = [threading.Thread(target=ask, args=(side, chance.random())) for side in sides]
    for side, thread in zip(sides, threads, strict=True):
        side.then = answer
        thread.start()
    gone = 0
    while gone < len(sides):
        gone += left.acquire(blocking=False)
        if ready(stage.streams, wait_s=0.01):
            stage.turn()
    for thread in threads:
        thread.join()
    assert faults == []
