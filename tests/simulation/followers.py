"""Who looks at a real broker while it is harmed: a read_committed reader that writes down what it asked and was told, for the
history checker."""

import threading
import time
from collections import Counter
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from oncelog.sim.history import Poll, Recorder

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
