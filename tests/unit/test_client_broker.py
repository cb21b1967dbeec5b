"""The client while its broker is killed under it: what was acknowledged stays, nothing is written twice."""

import threading
import time

import oncelog
from oncelog.client.cluster import Cluster
from oncelog.client.consumer import Reader
from oncelog.client.easy import read_all
from oncelog.client.producer import Delivery, Producer
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
