"""The client while its broker is killed under it: what was acknowledged stays, nothing is written twice."""

import contextlib
import socket
import threading
import time
from typing import BinaryIO

import oncelog
from oncelog.client.address import Address, parse_address
from oncelog.client.cluster import Cluster
from oncelog.client.consumer import Reader
from oncelog.client.easy import read_all
from oncelog.client.producer import Delivery, Producer
from oncelog.client.session import Connection
from oncelog.client.visible import ReadRecord
from oncelog.model import TopicPartition


def test_a_producer_lives_through_kills_and_writes_everything_once() -> None:
    with oncelog.Broker() as broker:
        topic, bootstrap = broker.topic("orders", partitions=2), broker.bootstrap
        deliveries: list[Delivery] = []
        over = threading.Event()

        def kill_again_and_again() -> None:
            while not over.wait(0.15):
                broker.kill()
                broker.start()

        killer = threading.Thread(target=kill_again_and_again)
        killer.start()
        try:
            with Cluster(bootstrap) as cluster:
                producer = Producer(cluster, batch_bytes=500)
                begun, count = time.monotonic(), 0
                while time.monotonic() - begun < 1.5:
                    deliveries.append(producer.send(topic, b"%d" % count))
                    count += 1
                    if count % 50 == 0:
                        producer.flush()
                producer.flush()
        finally:
            over.set()
            killer.join()
        found = {(each.partition, each.offset): each.value for each in read_all(bootstrap, topic)}
        assert sorted(int(value or b"") for value in found.values()) == list(range(count))
        for number, delivery in enumerate(deliveries):
            written = delivery.result()
            assert found[written.partition, written.offset] == b"%d" % number


class Cut:
    """Stands between client and broker and, by its count, cuts the connection instead of passing a Produce answer on."""

    def __init__(self, upstream: str, every: int) -> None:
        self._upstream = parse_address(upstream)
        self._every = every
        self.answers = 0
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address = Address("127.0.0.1", self._door.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._pass_on, args=(self._door.accept()[0],), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client, socket.create_connection(self._upstream) as broker:
            ask, answer = client.makefile("rb"), broker.makefile("rb")
            while frame := self._frame(ask):
                broker.sendall(frame)
                reply = self._frame(answer)
                if frame[4:6] == b"\0\0":  # Produce
                    self.answers += 1
                    if self.answers % self._every == 0:
                        return
                client.sendall(reply)

    @staticmethod
    def _frame(stream: BinaryIO) -> bytes:
        head = stream.read(4)
        return head + stream.read(int.from_bytes(head, "big"))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()


class Through(Cluster):
    """Reaches every broker through one door."""

    def __init__(self, door: Address) -> None:
        super().__init__([door])
        self._door = door

    def dial(self, address: Address, *, client_id: str | None = None) -> Connection:  # noqa: ARG002  # whatever the broker says its address is
        return super().dial(self._door, client_id=client_id)


def test_a_lost_answer_is_not_written_twice() -> None:
    with oncelog.Broker() as broker:
        topic = broker.topic("orders")
        cut = Cut(broker.bootstrap, every=3)
        try:
            with Through(cut.address) as cluster:
                producer = Producer(cluster, batch_bytes=200)
                deliveries = [producer.send(topic, b"%d" % each) for each in range(100)]
                producer.flush()
        finally:
            cut.close()
        assert cut.answers > 30
        assert [each.value for each in broker.read(topic)] == [b"%d" % each for each in range(100)]
        assert [each.result().offset for each in deliveries] == list(range(100))


def test_a_reader_lives_through_a_restart() -> None:
    with oncelog.Broker() as broker:
        topic = broker.topic("orders")
        with Cluster(broker.bootstrap) as cluster:
            producer, reader = Producer(cluster), Reader(cluster)
            reader.assign({TopicPartition(topic, 0): "earliest"})
            found: list[ReadRecord] = []
            for value in (b"before", b"after"):
                producer.send(topic, value)
                producer.flush()
                deadline = time.monotonic() + 10
                while not any(each.value == value for each in found) and time.monotonic() < deadline:
                    found += reader.poll(200)
                broker.restart()
            assert [each.value for each in found] == [b"before", b"after"]
