"""kill -9 under load: what librdkafka was told is acknowledged is there, once, at the offset it was told; of a transaction all
or nothing, whoever reads meanwhile."""

import random
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer

import oncelog
from oncelog.client.easy import create_topic, read_all
from oncelog.sim.check import Checker
from oncelog.sim.history import History, Poll, Send
from tests.conformance.transactional import CLIENTS
from tests.processes import ServedBroker
from tests.simulation import chaos
from tests.simulation.followers import Follower

CYCLES = 50
CYCLES_IN_C = 10  # the same story with the express lane (decision 0027)
ENDING_S = 5.0
PARTITIONS = 3


class Load:
    """An idempotent librdkafka producer that never stops; remembers what was acknowledged and where."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acked: dict[bytes, tuple[int, int]] = {}
        self.failed: list[str] = []
        self.sent = 0
        self._topic = topic
        self._stop = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 1,
                "retry.backoff.ms": 20,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
                "message.timeout.ms": 120_000,
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._run, name="load")
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            if len(self._producer) < 2000:
                value = b"%d" % self.sent
                self._producer.produce(
                    self._topic, value, partition=self.sent % PARTITIONS, on_delivery=self._delivered
                )
                self.sent += 1
            self._producer.poll(0 if self.sent % 50 else 0.002)

    def _delivered(self, error: object, message: Message) -> None:
        value, partition, offset = message.value(), message.partition(), message.offset()
        if error is not None:
            self.failed.append(f"{value!r}: {error}")
        else:
            assert value is not None
            assert partition is not None
            assert offset is not None
            assert value not in self.acked, f"{value!r} acknowledged twice"
            self.acked[value] = (partition, offset)

    def get_on(self, more: int = 20) -> None:
        """Waits until so many more were acknowledged: a broker that is killed before it did anything proves nothing."""
        wanted = len(self.acked) + more
        deadline = time.monotonic() + 60
        while len(self.acked) < wanted:
            assert time.monotonic() < deadline, f"{len(self.acked)} acknowledged, wanted {wanted}"
            time.sleep(0.005)

    def finish(self) -> None:
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0


def check(bootstrap: str, topic: str, load: Load) -> None:
    """Everything that was sent, where it was acknowledged, and all that is there now: judged as simulated runs are."""
    assert not load.failed
    assert len(load.acked) == load.sent
    history = History()
    checker = Checker(history)
    for value, (partition, offset) in sorted(load.acked.items(), key=lambda each: each[1]):
        send = Send(process="load", partition=f"{topic}-{partition}", values=[value.decode()], offset=offset)
        history.ok(history.invoke(send))
    polls = {
        partition: history.invoke(
            Poll(process="last", partition=f"{topic}-{partition}", offset=0, committed=True, final=True)
        )
        for partition in range(PARTITIONS)
    }
    seen: dict[int, list[tuple[int, str]]] = {partition: [] for partition in polls}
    for record in read_all(bootstrap, topic, isolation="committed"):
        assert record.value is not None
        seen[record.partition].append((record.offset, record.value.decode()))
    for partition, poll in polls.items():
        poll.records = sorted(seen[partition])
        poll.next = poll.records[-1][0] + 1
        history.ok(poll)
    assert checker.finish() == []


@pytest.mark.timeout(300)
def test_50_kills_lose_nothing_and_double_nothing(tmp_path: Path, hot_path: str) -> None:
    rng = random.Random(20)
    cycles = CYCLES if hot_path == "python" else CYCLES_IN_C
    settings = {
        "log.segment.bytes": "262144",
        "hot.path": hot_path,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": str(chaos.SWEEP_MS),
    }
    stop = threading.Event()
    with ServedBroker(tmp_path / "data", settings=settings) as broker:
        create_topic(broker.bootstrap, "t", partitions=PARTITIONS)
        create_topic(broker.bootstrap, chaos.TOPIC, partitions=chaos.PARTITIONS)
        load = Load(broker.bootstrap, "t")
        worker = chaos.Worker(CLIENTS[0], 0, broker.bootstrap, tmp_path, stop)
        follower = Follower(chaos.TOPIC, chaos.PARTITIONS, broker.bootstrap, tmp_path, stop)
        follower.begin()
        ending = 0
        for cycle in range(cycles):
            load.get_on()
            if cycle % 4:
                time.sleep(rng.uniform(0.0, 0.2))
            else:  # while a transaction is being ended: EndTxn, its markers, its answer
                worker.ending.clear()
                ending += worker.ending.wait(ENDING_S)
                time.sleep(rng.uniform(0.0, 0.005))
            broker.kill()
            broker.start()
        load.finish()
        stop.set()
        worker.thread.join()
        follower.end()
        assert worker.fault is None
        time.sleep(
            (chaos.TIMEOUT_MS + 2 * chaos.SWEEP_MS) / 1000
        )  # what nobody ended is ended by its timeout
        check(broker.bootstrap, "t", load)
        assert load.sent > cycles * 10
        report = chaos.Report()
        assert chaos.judge(tmp_path, [worker, follower], broker, report) == []
        assert worker.counts["committed"] > cycles // 2
        assert ending >= cycles // 8
        assert follower.counts["records"] > 0
        assert broker.stop() == 0


@pytest.mark.timeout(300)
def test_power_cuts_on_real_files_lose_nothing_acknowledged() -> None:
    rng = random.Random(21)
    with oncelog.Broker(durability="power", settings={"log.segment.bytes": 262_144}) as broker:
        broker.topic("t", partitions=PARTITIONS)
        load = Load(broker.bootstrap, "t")
        for _ in range(20):
            load.get_on()
            time.sleep(rng.uniform(0.0, 0.2))
            broker.kill()
            broker.start()
        load.finish()
        check(broker.bootstrap, "t", load)
        assert load.sent > 200
