"""A disk that is full or broken, seen by clients: nothing is acknowledged that is not stored, the broker says which file
failed and stops, and when there is space again everything acknowledged is served (reliability 4, rules 5 and 6).
"""

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer

import oncelog
from bench import scale
from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.easy import create_topic, read_all, write_all
from oncelog.client.faults import ClientFault
from oncelog.errors import ErrorCode
from oncelog.model import TopicPartition
from oncelog.protocol.messages.produce import ProduceResponse
from oncelog.record.batch import NewRecord, build_batch
from tests.clients import transactional
from tests.processes import ServedBroker

LIMIT_S = 60.0
SMALL_BYTES = 3 << 20
# Where nobody may mount: the longest file that a process may write.
LIMITED = (
    sys.executable,
    "-c",
    (
        f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({SMALL_BYTES}, {SMALL_BYTES}));"
        "os.execvp(sys.argv[1], sys.argv[1:])"
    ),
)
FULL = "No space left on device"
TOO_LARGE = "File too large"


class SmallDisk:
    """3 MB of space: a mounted tmpfs if this user may mount, else a limit on the size of files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir()
        self.mounted = _run("mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "tmpfs", str(folder)) == 0

    @property
    def launcher(self) -> tuple[str, ...]:
        return () if self.mounted else LIMITED

    @property
    def complaint(self) -> str:
        return FULL if self.mounted else TOO_LARGE

    def grow(self, broker: ServedBroker) -> None:
        """Space for all that comes."""
        if self.mounted:
            assert _run("mount", "-o", "remount,size=200m", str(self.folder)) == 0
        broker.launcher = ()

    def fill(self) -> None:
        """Leaves no byte to others."""
        with (self.folder / "ballast").open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"\0" * 4096)

    def close(self) -> None:
        if self.mounted:
            assert _run("umount", str(self.folder)) == 0


def _run(*command: str) -> int:
    try:
        return subprocess.run(command, capture_output=True).returncode
    except FileNotFoundError:
        return 127


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "small")
    try:
        yield disk
    finally:
        disk.close()


class Load:
    """An idempotent librdkafka producer that goes on until told to finish; remembers what was acknowledged and where."""

    def __init__(self, bootstrap: str) -> None:
        self.acked: dict[bytes, int] = {}
        self.failed: list[str] = []
        self.sent = 0
        self._stop = threading.Event()
        settings = {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 2,
            "log_level": 0,
        }
        patience = {"message.timeout.ms": 120_000, "retry.backoff.ms": 20, "reconnect.backoff.max.ms": 100}
        self._producer = Producer({**settings, **patience, "batch.size": 20_000})
        self._thread = threading.Thread(target=self._run, name="load")
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            if len(self._producer) < 500:
                value = b"%08d" % self.sent + os.urandom(1000)
                self._producer.produce("t", value, partition=0, on_delivery=self._delivered)
                self.sent += 1
            self._producer.poll(0 if self.sent % 100 else 0.005)

    def _delivered(self, error: object, message: Message) -> None:
        value, offset = message.value(), message.offset()
        if error is not None:
            self.failed.append(str(error))
            return
        assert value is not None
        assert offset is not None
        assert value not in self.acked
        self.acked[value] = offset

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def finish(self) -> None:
        self.stop()
        assert self._producer.flush(LIMIT_S) == 0


def stored(bootstrap: str) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for record in read_all(bootstrap, "t"):
        assert record.value is not None
        assert record.value not in found, f"{record.value[:8]!r} stands twice"
        found[record.value] = record.offset
    return found


# A full disk


@pytest.mark.parametrize("durability", ["process", "power"])
def test_a_full_disk_acknowledges_nothing_that_it_does_not_have(small: SmallDisk, durability: str) -> None:
    broker = ServedBroker(small.folder / "data", durability=durability, launcher=small.launcher)
    with broker:
        create_topic(broker.bootstrap, "t")
        load = Load(broker.bootstrap)
        try:
            assert broker.wait(LIMIT_S) == 1
            said = broker.said()
            assert "CRITICAL" in said
            assert f"{small.folder}/data/t-0/00000000000000000000.log failed: {small.complaint}" in said
            time.sleep(0.5)  # answers that had arrived are told to the producer's owner a little later
            at_the_end = dict(load.acked)
            assert len(at_the_end) > 500
            small.grow(broker)
            broker.start()
            found = stored(broker.bootstrap)
            assert {value: found.get(value) for value in at_the_end} == at_the_end
        finally:
            load.stop()
        load.finish()
        # The same producer goes on where it was: what it could not deliver then is delivered now, once.
        assert load.failed == []
        assert len(load.acked) == load.sent
        assert stored(broker.bootstrap) == load.acked
        assert broker.stop() == 0


def test_a_start_on_a_full_disk_says_so_and_leaves_the_data_alone(small: SmallDisk) -> None:
    broker = ServedBroker(small.folder / "data", launcher=small.launcher)
    with broker:
        create_topic(broker.bootstrap, "t")
        written = write_all(broker.bootstrap, "t", [b"%d" % at for at in range(100)])
        broker.kill()
        if small.mounted:  # else no file becomes too large by a start
            small.fill()
            with pytest.raises(
                AssertionError, match=r"exit code 1; stderr: oncelog: .*failed: No space left"
            ):
                broker.start()
            (small.folder / "ballast").unlink()
        broker.start()
        found = read_all(broker.bootstrap, "t")
        assert [each.offset for each in found] == [each.offset for each in written]
        assert broker.stop() == 0


def test_a_stop_on_a_full_disk_is_not_called_clean(small: SmallDisk) -> None:
    with ServedBroker(small.folder / "data", launcher=small.launcher) as broker:
        create_topic(broker.bootstrap, "t")
        written = write_all(broker.bootstrap, "t", [b"%d" % at + b"." * 1000 for at in range(100)])
        if small.mounted:
            small.fill()
            assert broker.stop() == 1
            assert FULL in broker.said()
            assert not (broker.data_dir / ".kafka_cleanshutdown").exists()
            (small.folder / "ballast").unlink()
            broker.start()
        found = read_all(broker.bootstrap, "t")
        assert [each.offset for each in found] == [each.offset for each in written]
        assert broker.stop() == 0


def test_a_topic_that_found_no_space_is_not_promised(small: SmallDisk) -> None:
    with ServedBroker(small.folder / "data", launcher=small.launcher) as broker:
        create_topic(broker.bootstrap, "t")
        write_all(broker.bootstrap, "t", [b"kept"])
        if small.mounted:  # else directories are too small to fail
            small.fill()
            with pytest.raises(ClientFault):
                create_topic(broker.bootstrap, "later", partitions=20, timeout_ms=5_000)
            assert broker.wait() == 1
            assert FULL in broker.said()
            (small.folder / "ballast").unlink()
            small.grow(broker)
            broker.start()
        with Cluster(broker.bootstrap) as cluster:
            assert [each.name for each in Admin(cluster).list_topics()] == ["t"]
        create_topic(broker.bootstrap, "later", partitions=20)
        assert [each.value for each in read_all(broker.bootstrap, "t")] == [b"kept"]
        assert broker.stop() == 0


# A broken disk, in our own process


class Breakage:
    """Makes system calls on files of a certain name fail with EIO, from now on or after some calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.broken: list[str] = []

    def breaks(self, call: str, name: str, *, after: int = 0) -> None:
        real: Callable[..., object] = getattr(os, call)
        left = after

        def broken(descriptor: int, *rest: object) -> object:
            nonlocal left
            path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
            if name in path:
                if left == 0:
                    self.broken.append(path)
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                left -= 1
            return real(descriptor, *rest)

        self._monkeypatch.setattr(os, call, broken)

    def heal(self) -> None:
        self._monkeypatch.undo()


@pytest.fixture
def breakage(monkeypatch: pytest.MonkeyPatch) -> Breakage:
    return Breakage(monkeypatch)


def append(broker: oncelog.Broker, value: bytes) -> None:
    """One Produce with acks=all to t-0, sent once: whoever gets no answer knows nothing."""
    with scale.connect(broker.bootstrap) as door:
        batch = build_batch([NewRecord(None, value, time.time_ns() // 1_000_000)])
        answer = door.send(scale.produce_request({("t", 0): batch}), ProduceResponse, scale.PRODUCE_VERSION)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def wait_down(broker: oncelog.Broker) -> None:
    deadline = time.monotonic() + LIMIT_S
    while broker.is_running:
        assert time.monotonic() < deadline, "the broker should have stopped"
        time.sleep(0.02)
    broker.join()


@pytest.mark.parametrize(
    ("durability", "call", "name"),
    [
        ("power", "fdatasync", "t-0/00000000000000000000.log"),
        ("power", "pwritev", "t-0/00000000000000000000.log"),
        ("process", "pwritev", "t-0/00000000000000000000.log"),
        ("power", "fsync", "/t-0"),  # the directory of a new segment (B53)
    ],
)
def test_eio_means_no_ack_and_the_end(
    breakage: Breakage, caplog: pytest.LogCaptureFixture, durability: str, call: str, name: str
) -> None:
    with oncelog.Broker(durability=durability) as broker:
        broker.topic("t", partitions=2)
        is_log = name.endswith(".log")
        kept = write_all(broker.bootstrap, "t", [b"kept"], partition=0) if is_log else []
        other = write_all(broker.bootstrap, "t", [b"other"], partition=1)
        breakage.breaks(call, name)
        with pytest.raises(ClientFault):
            append(broker, b"lost")
        wait_down(broker)
        assert f"{breakage.broken[0]} failed: Input/output error" in caplog.text
        assert "broker.failed" in caplog.text
        breakage.heal()
        broker.start()
        found = {(each.partition, each.value): each.offset for each in read_all(broker.bootstrap, "t")}
        assert [each.offset for each in kept] == [found[0, b"kept"] for _ in kept]
        assert found[1, b"other"] == other[0].offset
        assert set(found) <= {
            (0, b"kept"),
            (1, b"other"),
            (0, b"lost"),
        }  # what was not acknowledged may be there
        write_all(broker.bootstrap, "t", [b"again"], partition=0)


def test_eio_while_reading_ends_it_without_giving_bytes(breakage: Breakage) -> None:
    with oncelog.Broker() as broker:
        broker.topic("t")
        write_all(broker.bootstrap, "t", [b"there"])
        breakage.breaks("pread", "t-0/00000000000000000000.log")
        with pytest.raises(ClientFault):
            read_all(broker.bootstrap, "t", timeout_ms=3_000)
        wait_down(broker)
        breakage.heal()
        broker.start()
        assert [each.value for each in read_all(broker.bootstrap, "t")] == [b"there"]


def test_eio_an_offset_commit_is_not_promised(breakage: Breakage) -> None:
    with oncelog.Broker(durability="power", settings={"offsets.topic.num.partitions": 1}) as broker:
        broker.topic("t")
        partition = TopicPartition("t", 0)
        with Cluster(broker.bootstrap) as cluster:
            Admin(cluster).commit_offsets("g", {partition: 7})
            breakage.breaks("fdatasync", "__consumer_offsets-0")
            with Cluster(broker.bootstrap, timeout_ms=3_000) as hasty, pytest.raises(ClientFault):
                Admin(hasty).commit_offsets("g", {partition: 8})
        wait_down(broker)
        breakage.heal()
        broker.start()
        with Cluster(broker.bootstrap) as cluster:
            found = Admin(cluster).group_offsets("g", [partition])[partition].offset
            assert found in (7, 8)  # 8 was written, and nobody was told so
            Admin(cluster).commit_offsets("g", {partition: 9})


def test_eio_in_a_checkpoint_ends_it_too(breakage: Breakage, caplog: pytest.LogCaptureFixture) -> None:
    """In the background, where no request could tell: a recovery point that is never written would hide later damage."""
    with oncelog.Broker(virtual_clock=True) as broker:
        broker.topic("t")
        write_all(broker.bootstrap, "t", [b"kept"])
        breakage.breaks("fdatasync", "offset-checkpoint")
        broker.clock.advance(61)
        wait_down(broker)
        assert "offset-checkpoint.tmp failed: Input/output error" in caplog.text
        breakage.heal()
        broker.start()
        assert [each.value for each in read_all(broker.bootstrap, "t")] == [b"kept"]


def test_b40_eio_in_the_transaction_index_never_shows_aborted_data(breakage: Breakage) -> None:
    with oncelog.Broker(settings={"transaction.state.log.num.partitions": 1}) as broker:
        broker.topic("t")
        producer = transactional(broker.bootstrap, "tx", {"reconnect.backoff.max.ms": 100})
        producer.begin_transaction()
        producer.produce("t", b"aborted")
        producer.flush(LIMIT_S)
        breakage.breaks("pwritev", ".txnindex")
        aborting = threading.Thread(target=producer.abort_transaction, args=(LIMIT_S,))
        aborting.start()  # it goes on trying until the broker is back
        wait_down(broker)
        breakage.heal()
        broker.start()
        aborting.join()
        assert read_all(broker.bootstrap, "t", "committed") == []
        assert [each.value for each in read_all(broker.bootstrap, "t", "uncommitted")] == [b"aborted"]
        producer.begin_transaction()
        producer.produce("t", b"committed")
        producer.commit_transaction(LIMIT_S)
        assert [each.value for each in read_all(broker.bootstrap, "t", "committed")] == [b"committed"]
