"""Who looks at a real broker while it is harmed, and writes down what it asked and was told, for the history checker: a
read_committed reader, and one who asks where a group stands."""

import threading
import time
from collections import Counter
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault
from oncelog.model import TopicPartition as TopicAt
from oncelog.sim.history import End, FetchOffsets, Poll, Recorder

QUICK = {
    "log_level": 0,
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 200,
    "socket.timeout.ms": 5_000,
}


class Background:
    """Something that goes on in a thread of its own until it is told to stop, and writes a history."""

    def __init__(self, name: str, bootstrap: str, folder: Path, stop: threading.Event) -> None:
        self.name = name
        self.path = folder / f"{name}.jsonl"
        self.counts: Counter[str] = Counter()
        self.fault: BaseException | None = None
        self.bootstrap = bootstrap
        self.stop = stop
        self.thread = threading.Thread(target=self._run, name=name)

    def begin(self) -> None:
        self.thread.start()

    def _run(self) -> None:
        try:
            with self.path.open("w", encoding="utf-8") as file:
                self.work(Recorder(file, time.monotonic))
        except Exception as fault:  # noqa: BLE001  # told at the end
            self.fault = fault

    def work(self, recorder: Recorder) -> None:
        raise NotImplementedError

    def end(self) -> None:
        self.thread.join()
        if self.fault is not None:
            raise self.fault


class Follower(Background):
    """Reads a topic from its start, again and again where it stands, as read_committed."""

    def __init__(
        self, topic: str, partitions: int, bootstrap: str, folder: Path, stop: threading.Event
    ) -> None:
        super().__init__(f"follower of {topic}", bootstrap, folder, stop)
        self.at = dict.fromkeys(range(partitions), 0)
        self._topic = topic

    def work(self, recorder: Recorder) -> None:
        consumer = Consumer(
            {
                **QUICK,
                "bootstrap.servers": self.bootstrap,
                "group.id": self.name,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",  # nothing is ever deleted: a position that is gone is a fault
            }
        )
        consumer.assign([TopicPartition(self._topic, number, 0) for number in self.at])
        while not self.stop.is_set():
            polls = {
                number: recorder.invoke(
                    Poll(process=self.name, partition=f"{self._topic}-{number}", offset=at, committed=True)
                )
                for number, at in self.at.items()
            }
            found: dict[int, list[tuple[int, str]]] = {number: [] for number in self.at}
            for message in consumer.consume(200, 0.2):
                error = message.error()
                if error is None:
                    found[_partition(message)].append((_offset(message), _value(message)))
                elif error.fatal() or error.name() == "_AUTO_OFFSET_RESET":
                    raise KafkaException(error)
            for number, poll in polls.items():
                poll.records = found[number]
                self.at[number] = poll.next = found[number][-1][0] + 1 if found[number] else self.at[number]
                recorder.ok(poll)
                self.counts["records"] += len(poll.records)
        consumer.close()


class GroupWatcher(Background):
    """Asks again and again for the stable positions of a group.

    With our own client: where it is asked from a broker that is killed meanwhile, librdkafka's (2.16.0) ends the process by an
    assertion, `rd_kafka_enq_once_del_source_return: eonce->refcnt > 0`.
    """

    def __init__(
        self, group: str, topic: str, partitions: int, bootstrap: str, folder: Path, stop: threading.Event
    ) -> None:
        super().__init__(f"watcher of {group}", bootstrap, folder, stop)
        self._group = group
        self._topic = topic
        self._partitions = partitions

    def work(self, recorder: Recorder) -> None:
        with Cluster(self.bootstrap, timeout_ms=5_000) as cluster:
            while not self.stop.wait(0.1):
                fetch = recorder.invoke(FetchOffsets(process=self.name, group=self._group))
                try:
                    fetch.offsets = group_positions(cluster, self._group, self._topic, self._partitions)
                except ClientFault as why:
                    recorder.done(fetch, End.INFO, str(why)[:80])
                else:
                    recorder.ok(fetch)
                    self.counts["positions"] += 1


def group_positions(cluster: Cluster, group: str, topic: str, partitions: int) -> dict[str, int]:
    """The stable positions, as the broker tells them; -1 for none."""
    asked = [TopicAt(topic, number) for number in range(partitions)]
    found = Admin(cluster).group_offsets(group, asked, require_stable=True)
    return {f"{topic}-{each.partition}": found[each].offset if each in found else -1 for each in asked}


def _partition(message: Message) -> int:
    found = message.partition()
    assert found is not None
    return found


def _offset(message: Message) -> int:
    found = message.offset()
    assert found is not None
    return found


def _value(message: Message) -> str:
    return (message.value() or b"").decode()
