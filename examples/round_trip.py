"""`make demo`: records go through a broker that is killed with kill -9 on the way; then we count.

A producer (confluent-kafka, that is librdkafka, with idempotence) sends numbered records while the broker is killed and
restarted. A consumer group reads half of them and commits its offsets; the broker is killed again; the group goes on.
The proof: every acknowledged record stands at the offset that was acknowledged, none stands twice, and the group saw
each record once.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

TOPIC: Final = "refunds"
GROUP: Final = "settlement"
PARTITIONS: Final = 4
READY: Final = "oncelog ready on "
PATIENCE_S: Final = 60.0
QUIET: Final = {"log_level": 0, "reconnect.backoff.max.ms": 200}  # a killed broker is no news here

Place = tuple[int, int]  # partition, offset


class Broker:
    """`oncelog serve` as a process of its own, on one port and one directory over all its lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._listen = "127.0.0.1:0"
        self._process: subprocess.Popen[str] | None = None

    @property
    def bootstrap(self) -> str:
        return self._listen

    def start(self) -> float:
        """Returns how many milliseconds it took until connections were accepted."""
        begun = time.monotonic()
        serve = [sys.executable, "-m", "oncelog.cli.main", "serve", "--listen", self._listen]
        log = self._folder / "broker.log"
        with log.open("a") as stderr:
            self._process = subprocess.Popen(
                [*serve, "--data-dir", str(self._folder / "data")],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line.startswith(READY):
            raise SystemExit(f"wanted {READY!r} from the broker, found {line!r}; its log:\n{log.read_text()}")
        self._listen = line.removeprefix(READY)
        return (time.monotonic() - begun) * 1000

    def kill(self) -> None:
        """kill -9: no goodbye, no last write."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def stop(self) -> int:
        """A clean stop; returns the exit code."""
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
        return self._process.returncode


@dataclass
class Sent:
    """What the producer was told."""

    acked: dict[bytes, Place] = field(default_factory=dict[bytes, Place])
    refused: list[str] = field(default_factory=list[str])

    def heard(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acked[message.value() or b""] = place_of(message)
        else:
            self.refused.append(str(error))


def place_of(message: Message) -> Place:
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    return partition, offset


def produce(bootstrap: str, records: Sequence[bytes], sent: Sent) -> None:
    """Sends the records; librdkafka retries what the dying broker did not answer."""
    timeout_ms = int(PATIENCE_S * 1000)
    settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "message.timeout.ms": timeout_ms}
    producer = Producer({**settings, **QUIET, "linger.ms": 5})
    for number, record in enumerate(records):
        producer.produce(TOPIC, value=record, key=record, on_delivery=sent.heard)
        producer.poll(0)
        if number % 200 == 0:
            time.sleep(0.01)  # a steady stream, so that every kill falls into the middle of it
    producer.flush(PATIENCE_S)


def read_as_group(bootstrap: str, count: int) -> list[bytes]:
    """Reads so many records as the only member of the group, commits the offsets and leaves."""
    settings = {"bootstrap.servers": bootstrap, "group.id": GROUP, "enable.auto.commit": False}
    consumer = Consumer({**settings, **QUIET, "auto.offset.reset": "earliest"})
    with contextlib.closing(consumer):
        consumer.subscribe([TOPIC])
        seen = [message.value() or b"" for message in next_records(consumer, count)]
        consumer.commit(asynchronous=False)
    return seen


def read_log(bootstrap: str) -> list[tuple[Place, bytes]]:
    """Everything that stands in the topic."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader without a group", **QUIET})
    with contextlib.closing(consumer):
        parts = [TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)]
        ends = [consumer.get_watermark_offsets(part, timeout=PATIENCE_S) for part in parts]
        consumer.assign(parts)
        count = sum(end[1] - end[0] for end in ends if end)
        return [(place_of(message), message.value() or b"") for message in next_records(consumer, count)]


def next_records(consumer: Consumer, count: int) -> Iterator[Message]:
    until = time.monotonic() + PATIENCE_S
    while count > 0:
        if time.monotonic() > until:
            raise SystemExit(f"waited {PATIENCE_S:.0f} s for {count} more records")
        message = consumer.poll(0.1)
        if message is None:
            continue
        error = message.error()
        if error is None:
            count -= 1
            yield message
        elif not error.retriable():
            raise KafkaException(error)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Numbers of records. All but the first two must be 0."""

    acknowledged: int
    stored: int
    not_acknowledged: int
    lost: int  # acknowledged, and not at the offset that was acknowledged
    doubled: int  # standing more than once
    missed: int  # stored, and not seen by the group
    seen_again: int  # seen by the group more than once

    @property
    def is_fine(self) -> bool:
        return not any((self.not_acknowledged, self.lost, self.doubled, self.missed, self.seen_again))


def judge(
    records: Sequence[bytes],
    acked: dict[bytes, Place],
    log: Sequence[tuple[Place, bytes]],
    seen: Sequence[bytes],
) -> Verdict:
    at = dict(log)
    stored, by_group = Counter(value for _, value in log), Counter(seen)
    return Verdict(
        acknowledged=len(acked),
        stored=len(log),
        not_acknowledged=sum(record not in acked for record in records),
        lost=sum(at.get(place) != record for record, place in acked.items()),
        doubled=sum(count - 1 for count in stored.values()),
        missed=sum(record not in by_group for record in stored),
        seen_again=sum(count - 1 for count in by_group.values()),
    )


def run(folder: Path, count: int, kills: int) -> Verdict:
    records = [b"refund %d" % number for number in range(count)]
    broker, sent = Broker(folder), Sent()
    started_ms = broker.start()
    say(f"broker     ready on {broker.bootstrap} after {started_ms:.0f} ms")
    try:
        topic = NewTopic(TOPIC, num_partitions=PARTITIONS, replication_factor=1)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
        admin.create_topics([topic])[TOPIC].result(30)  # pyright: ignore[reportUnknownMemberType]  # open in its stubs

        producer = threading.Thread(target=produce, args=(broker.bootstrap, records, sent), daemon=True)
        begun = time.monotonic()
        producer.start()
        for number in range(1, kills + 1):
            while len(sent.acked) < count * number // (kills + 1) and producer.is_alive():
                time.sleep(0.002)
            acked = len(sent.acked)
            broker.kill()
            say(f"kill -9    after {acked} acknowledged records; ready again after {broker.start():.0f} ms")
        producer.join()
        for text in sorted(set(sent.refused)):
            say(f"refused    {text}")
        say(f"produced   {len(sent.acked)} records, all acknowledged after {time.monotonic() - begun:.1f} s")

        seen = read_as_group(broker.bootstrap, count // 2)
        say(f"consumed   {len(seen)} records as group {GROUP!r}, offsets committed")
        broker.kill()
        say(f"kill -9    ready again after {broker.start():.0f} ms")
        seen += read_as_group(broker.bootstrap, count - len(seen))
        say(f"consumed   the rest: the group went on where it was, {len(seen)} records in all")
        log = read_log(broker.bootstrap)
    finally:
        code = broker.stop()
    say(f"broker     stopped, exit code {code}")
    return judge(records, sent.acked, log, seen)


def say(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=20_000, metavar="N", help="default %(default)s")
    parser.add_argument(
        "--kills", type=int, default=3, metavar="N", help="while producing; default %(default)s"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oncelog-demo-") as folder:
        verdict = run(Path(folder), asked.records, asked.kills)
    say(
        f"\n{verdict.acknowledged} acknowledged, {verdict.stored} stored: {verdict.lost} lost, {verdict.doubled} doubled; "
        f"the group missed {verdict.missed} and saw {verdict.seen_again} again"
    )
    say("Every acknowledged record is there, once." if verdict.is_fine else f"NOT FINE: {verdict}")
    return 0 if verdict.is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
