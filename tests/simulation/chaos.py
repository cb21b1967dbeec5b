"""Real processes under real harm: `make chaos`.

A broker behind a TCP proxy; transactional clients in C, Java, Go, Python, as many as this machine has; copiers in C and Java,
which take what the others committed as members of a group and write it to a second topic, with the group's new positions in the
same transaction; and somebody who kills the broker with -9, stops it for seconds, delays and cuts connections, and fills the disk
up where a small file system may be mounted. Every client writes down what it asked and was told; when the time is up everything is
read once more, and the history checker judges. Meanwhile readers follow what is committed, and somebody asks where the groups stand.
"""

import argparse
import errno
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from oncelog.client.admin import LATEST, Admin
from oncelog.client.cluster import Cluster
from oncelog.client.easy import create_topic, read_all
from oncelog.model import Isolation
from oncelog.sim.check import Anomaly, Checker
from oncelog.sim.history import (
    CommitOffsets,
    Crash,
    End,
    EndTxn,
    FetchOffsets,
    History,
    Init,
    Poll,
    Recorder,
    Seek,
    Send,
    read_history,
)
from tests.conformance.client import ClientFailed, ClientSilent
from tests.conformance.transactional import CLIENTS, Program, Transactional
from tests.processes import ServedBroker
from tests.simulation.followers import Background, Follower, GroupWatcher, group_positions
from tests.toolchains import Missing

TOPIC = "chaos"
COPIES = "chaos-copies"
PARTITIONS = 3
COPYING = ("librdkafka", "java")  # clients whose program copies step by step
GROUPS = {"classic": "copiers", "consumer": "copiers of KIP-848"}
BATCH = 5  # records that a copier takes at most at once
TAKE_MS = 1_000
SESSION_MS = 4_000  # of a member; librdkafka's and Java's programs ask for the same in the classic protocol
COPY_TIMEOUT_MS = (
    10_000  # longer than a session: somebody else may have the partitions of an open transaction
)
# Clients that lose a request themselves and then wait without a limit; docs/reliability.md tells how we know.
SILENT_BY_THEMSELVES = ("kafka-python",)
TIMEOUT_MS = 5_000
SMALL_DISK_BYTES = 64 << 20
FULL_S = 8.0  # in which somebody writes, and the broker stops by itself
SWEEP_MS = 500


class Proxy:
    """Between clients and the broker: pieces may come late, and connections may be cut anywhere."""

    def __init__(self, broker_port: int, seed: int) -> None:
        self._broker_port = broker_port
        self._random = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.delay_s = 0.0
        self.cuts = 0
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(("127.0.0.1", self._broker_port), timeout=5)
                broker.settimeout(None)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open |= {client, broker}
            for a, b in ((client, broker), (broker, client)):
                threading.Thread(target=self._carry, args=(a, b), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65_536):
                if self.delay_s:
                    time.sleep(self._random.uniform(0, self.delay_s))
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            with self._lock:
                self._open.discard(each)
            _hang_up(each)

    def cut_some(self) -> None:
        """Resets about a third of the connections, wherever they are."""
        with self._lock:
            chosen = [each for each in sorted(self._open, key=id) if self._random.random() < 0.3]
        for each in chosen:
            self.cuts += 1
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        _hang_up(self._listener)
        with self._lock:
            for each in self._open:
                _hang_up(each)


def _hang_up(one: socket.socket) -> None:
    """close() alone tells the other side nothing as long as another thread waits in recv() of the same socket."""
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


class SmallDisk:
    """A file system of its own for the broker, so that it can be full; without the right to mount one it never is."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "small"
        self.path.mkdir()
        self._filler = self.path / "filler"
        asked = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "tmpfs", str(self.path)]
        try:
            self.is_mounted = not subprocess.run(asked, capture_output=True, check=False).returncode
        except OSError:
            self.is_mounted = False

    def fill(self) -> None:
        """All but a few pages; what the broker writes next is cut short."""
        found = os.statvfs(self.path)
        try:
            with self._filler.open("wb") as file:
                file.write(bytes(max(found.f_bavail - 3, 0) * found.f_frsize))
        except OSError as why:
            if why.errno != errno.ENOSPC:  # the broker took the rest meanwhile
                raise

    def empty(self) -> None:
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        if self.is_mounted:
            subprocess.run(["umount", "--lazy", str(self.path)], capture_output=True, check=False)


class Worker:
    """Instances of one client program, one after another: transactions until the time is up."""

    timeout_ms = TIMEOUT_MS

    def __init__(
        self,
        client: Transactional,
        number: int,
        bootstrap: str,
        folder: Path,
        stop: threading.Event,
        does: str = "",
    ) -> None:
        self.client = client
        self.name = f"{client.name.replace(' ', '-')}{does and f'-{does}-'}{number}"
        self.path = folder / f"{self.name}.jsonl"
        self.counts: Counter[str] = Counter()
        self.silent: list[str] = []  # what was not answered at all, for as long as we wait
        self.fault: BaseException | None = None
        self.ending = threading.Event()  # the end of a transaction is asked for
        self._bootstrap = bootstrap
        self._stop = stop
        self._random = random.Random(self.name)
        self.thread = threading.Thread(target=self._run, name=self.name)
        self.thread.start()

    def _run(self) -> None:
        try:
            with self.path.open("w", encoding="utf-8") as file:
                recorder = Recorder(file, time.monotonic)
                life = 0
                while not self._stop.is_set():
                    life += 1
                    self._live(recorder, f"{self.name}.{life}")
        except Exception as fault:  # noqa: BLE001  # told at the end
            self.fault = fault

    def _live(self, recorder: Recorder, process: str) -> None:
        with Program(self.client.kind, self._bootstrap) as program:
            init = recorder.invoke(Init(process=process, id=self.name))
            try:
                program.ask("open", transactional_id=self.name, timeout_ms=self.timeout_ms)
            except ClientFailed as why:
                recorder.done(init, End.INFO, str(why)[:80])
                self._gave_up(why)
                program.kill()
                return
            recorder.ok(init)
            number = 0
            while not self._stop.is_set():
                number += 1
                if not self._transaction(recorder, program, process, number):
                    program.kill()  # a new instance takes over, as a supervisor would do
                    return

    def _transaction(self, recorder: Recorder, program: Program, process: str, number: int) -> bool:
        txn = f"{process}/{number}"
        sends: list[Send] = []
        for _ in range(self._random.randint(1, 3)):
            at = self._random.randrange(PARTITIONS)
            sends.append(
                Send(process=process, partition=f"{TOPIC}-{at}", values=[f"{txn}.{len(sends)}"], txn=txn)
            )
        commit = self._random.random() < 0.8
        end = EndTxn(process=process, txn=txn, commit=commit)
        try:
            program.ask("begin")
            for send in sends:
                recorder.invoke(send)
                at = int(send.partition.rpartition("-")[2])
                (send.offset,) = program.ask("send", topic=TOPIC, records=[[at, send.values[0]]])
                recorder.ok(send)
            recorder.invoke(end)
            self.ending.set()
            program.ask("commit" if commit else "abort")
            recorder.ok(end)
        except ClientFailed as why:
            self._gave_up(why)
            return False
        self.counts["committed" if commit else "aborted"] += 1
        return True

    def _gave_up(self, why: ClientFailed) -> None:
        self.counts["gave up"] += 1
        if isinstance(why, ClientSilent) and self.client.name in SILENT_BY_THEMSELVES:
            self.counts["silent by itself"] += 1
        elif isinstance(why, ClientSilent):
            self.silent.append(f"{self.name}: {why}")


class Copier(Worker):
    """Takes records as a member of a group, and writes each to the second topic, in a transaction with the group's positions.

    It aborts at times and reads again, and is killed at times, before it asked for the end or while it is ending. And it sleeps at
    times until it is no member any more, and only then commits: who got its partitions must have waited for that (KIP-447).
    """

    timeout_ms = COPY_TIMEOUT_MS

    def __init__(
        self,
        client: Transactional,
        number: int,
        bootstrap: str,
        folder: Path,
        stop: threading.Event,
        protocol: str,
    ) -> None:
        self.protocol = protocol
        super().__init__(client, number, bootstrap, folder, stop, does="copies")

    def _transaction(self, recorder: Recorder, program: Program, process: str, number: int) -> bool:
        txn = f"{process}/{number}"
        try:
            taken = self._take(recorder, program, txn, process)
            return not taken or self._copy(recorder, program, txn, process, taken)
        except ClientFailed as why:
            self._gave_up(why)
            return False

    def _take(
        self, recorder: Recorder, program: Program, txn: str, process: str
    ) -> Sequence[tuple[int, int, str]]:
        polls: list[Poll] = []
        for at in range(PARTITIONS):
            partition = f"{TOPIC}-{at}"
            recorder.now(Seek(process=process, partition=partition))  # the group may have been dealt anew
            polls.append(recorder.invoke(Poll(process=process, partition=partition, txn=txn)))
        group = GROUPS[self.protocol]
        taken: Sequence[tuple[int, int, str]] = program.ask(
            "take", topic=TOPIC, group=group, protocol=self.protocol, batch=BATCH, limit_ms=TAKE_MS
        )
        for at, poll in enumerate(polls):
            poll.records = [(offset, value) for number, offset, value in taken if number == at]
            recorder.ok(poll)
        return taken

    def _copy(
        self,
        recorder: Recorder,
        program: Program,
        txn: str,
        process: str,
        taken: Sequence[tuple[int, int, str]],
    ) -> bool:
        """Whether the program lives on."""
        (step,) = self._random.choices(
            ("commit", "abort", "die", "die ending", "oversleep"), (71, 11, 6, 5, 7)
        )
        group = GROUPS[self.protocol]
        positions = {at: offset + 1 for at, offset, _ in taken}
        program.ask("begin")
        sends = [
            recorder.invoke(
                Send(
                    process=process,
                    partition=f"{COPIES}-{at}",
                    values=[f"{txn}.{place}"],
                    txn=txn,
                    group=group,
                    sources=[(f"{TOPIC}-{at}", offset)],
                )
            )
            for place, (at, offset, _) in enumerate(taken)
        ]
        records = [[at, send.values[0]] for (at, _, _), send in zip(taken, sends, strict=True)]
        for send, offset in zip(sends, program.ask("send", topic=COPIES, records=records), strict=True):
            send.offset = offset
            recorder.ok(send)
        offsets = {f"{TOPIC}-{at}": position for at, position in positions.items()}
        commit = recorder.invoke(CommitOffsets(process=process, group=group, offsets=offsets, txn=txn))
        program.ask("offsets", topic=TOPIC, positions=positions)
        recorder.ok(commit)
        if step == "die":
            self.counts["died"] += 1
            return False
        if step == "oversleep":
            program.stop()
            self._stop.wait(SESSION_MS / 1000 + self._random.uniform(1.0, 4.0))
            program.go_on()
            self.counts["overslept"] += 1
        end = recorder.invoke(EndTxn(process=process, txn=txn, commit=step != "abort"))
        self.ending.set()
        if step == "die ending":
            program.begin("commit")
            time.sleep(self._random.uniform(0, 0.03))
            self.counts["died"] += 1
            return False
        program.ask("abort" if step == "abort" else "commit")
        recorder.ok(end)
        if step == "abort":
            self.counts["aborted"] += 1
        else:
            self.counts["committed"] += 1
            self.counts["copied"] += len(taken)
        if step == "abort" or self._random.random() < 0.3:  # at once: the markers may still be under way
            fetch = recorder.invoke(FetchOffsets(process=process, group=group))
            found: dict[str, int] = program.ask("rewind")
            fetch.offsets = {f"{TOPIC}-{at}": position for at, position in found.items()}
            recorder.ok(fetch)
        return True


@dataclass(slots=True)
class Report:
    seconds: float = 0.0
    clients: list[str] = field(default_factory=list[str])
    left_out: list[str] = field(default_factory=list[str])
    kills: int = 0
    pauses: int = 0
    cuts: int = 0
    full_disks: int = 0
    committed: int = 0
    aborted: int = 0
    gave_up: int = 0
    copiers: list[str] = field(default_factory=list[str])
    copied: int = 0
    copies_aborted: int = 0
    copiers_killed: int = 0
    copiers_overslept: int = 0
    silent: list[str] = field(default_factory=list[str])
    silent_by_themselves: int = 0
    read_meanwhile: int = 0
    records_at_the_end: int = 0
    anomalies: list[str] = field(default_factory=list[str])


def harm(
    broker: ServedBroker,
    proxy: Proxy,
    disk: SmallDisk,
    recorder: Recorder,
    report: Report,
    seconds: float,
    seed: int,
) -> None:
    """Until the time is up; then everything is left in peace."""
    dice = random.Random(seed)
    deadline = time.monotonic() + seconds
    kinds = ["kill", "pause", "cut", "delay", "cut", *(["full"] if disk.is_mounted else [])]
    while True:
        missing = [] if report.kills else ["kill"]
        missing += ["full"] if disk.is_mounted and not report.full_disks else []
        in_time = time.monotonic() < deadline
        if not in_time and not missing:
            break
        time.sleep(dice.uniform(0.3, 1.5))
        match dice.choice(kinds if in_time else missing):
            case "kill":
                recorder.now(Crash(process="broker", kept="process"))
                broker.kill()
                report.kills += 1
                time.sleep(dice.uniform(0, 0.5))
                broker.start()
            case "pause":
                os.kill(broker.process_id, signal.SIGSTOP)
                report.pauses += 1
                time.sleep(dice.uniform(0.2, 2.5))
                os.kill(broker.process_id, signal.SIGCONT)
            case "full":
                recorder.now(Crash(process="broker", kept="process"))
                disk.fill()
                try:
                    broker.wait(FULL_S)
                    report.full_disks += 1
                except subprocess.TimeoutExpired:
                    broker.kill()  # nobody wrote just then
                disk.empty()
                broker.start()
            case "delay":
                proxy.delay_s = dice.choice((0.0, 0.02, 0.3))
            case _:
                proxy.cut_some()
    proxy.delay_s = 0.0
    report.cuts = proxy.cuts


def run(seconds: float, folder: Path, names: Sequence[str] = (), seed: int = 0) -> Report:
    """One run; histories and the broker's data are left in the folder."""
    report = Report(seconds=seconds)
    chosen: list[Transactional] = []
    for client in CLIENTS:
        if names and client.name not in names:
            continue
        try:
            client.kind.command()
        except Missing as why:
            report.left_out.append(f"{client.name}: {why}")
        else:
            chosen.append(client)
    report.clients = [client.name for client in chosen]
    settings = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": str(SWEEP_MS),
        "log.segment.bytes": "65536",
        "log.flush.offset.checkpoint.interval.ms": "500",
        "group.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": str(SESSION_MS),
        "group.consumer.heartbeat.interval.ms": "300",
    }
    disk = SmallDisk(folder)
    if not disk.is_mounted:
        report.left_out.append("full disks: no right to mount a small file system")
    broker = ServedBroker(disk.path / "data", durability="power", settings=settings)
    proxy = Proxy(broker.port, seed)
    broker._command += ["--advertise", f"127.0.0.1:{proxy.port}"]  # pyright: ignore[reportPrivateUsage]  # its port is known only now
    broker.start()
    stop = threading.Event()
    through = f"127.0.0.1:{proxy.port}"
    try:
        for topic in (TOPIC, COPIES):
            create_topic(broker.bootstrap, topic, partitions=PARTITIONS)
        followers = [Follower(topic, PARTITIONS, through, folder, stop) for topic in (TOPIC, COPIES)]
        watchers = [
            GroupWatcher(group, TOPIC, PARTITIONS, through, folder, stop) for group in GROUPS.values()
        ]
        workers = [Worker(client, number, through, folder, stop) for number, client in enumerate(chosen)]
        copying = [(client, protocol) for client in chosen if client.name in COPYING for protocol in GROUPS]
        workers += [
            Copier(client, number, through, folder, stop, protocol)
            for number, (client, protocol) in enumerate(copying)
        ]
        report.copiers = [f"{client.name}, {protocol}" for client, protocol in copying]
        for each in (*followers, *watchers):
            each.begin()
        _wait_for_work(workers)
        with (folder / "harm.jsonl").open("w", encoding="utf-8") as file:
            recorder = Recorder(file, time.monotonic, first_number=0)
            harm(broker, proxy, disk, recorder, report, seconds, seed)
        stop.set()
        for worker in workers:
            worker.thread.join()
            if worker.fault is not None:
                raise worker.fault
            report.committed += worker.counts["committed"]
            report.gave_up += worker.counts["gave up"]
            report.silent += worker.silent
            report.silent_by_themselves += worker.counts["silent by itself"]
            report.copied += worker.counts["copied"]
            report.copiers_killed += worker.counts["died"]
            report.copiers_overslept += worker.counts["overslept"]
            if isinstance(worker, Copier):
                report.copies_aborted += worker.counts["aborted"]
            else:
                report.aborted += worker.counts["aborted"]
        for each in (*followers, *watchers):
            each.end()
        report.read_meanwhile = sum(each.counts["records"] for each in followers)
        _wait_until_decided(broker.bootstrap)
        broker.kill()
        broker.start()
        told = [*workers, *followers, *watchers]
        report.anomalies = [str(each) for each in judge(folder, told, broker, report)]
    finally:
        stop.set()
        proxy.close()
        broker.kill()
        disk.close()
    return report


def _wait_for_work(workers: Sequence[Worker], limit_s: float = 90.0) -> None:
    """Harm that comes before anybody has done anything proves nothing."""
    deadline = time.monotonic() + limit_s
    while not all(worker.counts["committed"] for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)


def _wait_until_decided(bootstrap: str, spare_s: float = 10.0) -> None:
    """What nobody ended is ended by its timeout and two sweeps; then no reader is held back."""
    deadline = time.monotonic() + (COPY_TIMEOUT_MS + 2 * SWEEP_MS) / 1000 + spare_s
    with Cluster(bootstrap) as cluster:
        admin = Admin(cluster)
        asked = [each for topic in (TOPIC, COPIES) for each in admin.partitions_of(topic)]
        while True:
            stable, ends = (
                admin.offsets_at(dict.fromkeys(asked, LATEST), isolation=isolation)
                for isolation in (Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED)
            )
            held = {each: (stable[each].offset, ends[each].offset) for each in asked}
            if all(low == high for low, high in held.values()):
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"last stable offset and log end, long after all clients ended: {held}")
            time.sleep(0.1)


def read_to_the_end(bootstrap: str, topic: str, isolation: str, recorder: Recorder) -> int:
    """When all is over; how many records there are."""
    found: dict[int, list[tuple[int, str]]] = {at: [] for at in range(PARTITIONS)}
    for record in read_all(bootstrap, topic, isolation=isolation):
        found[record.partition].append((record.offset, (record.value or b"").decode()))
    for at, records in found.items():
        poll = recorder.invoke(
            Poll(
                process=f"last {isolation}",
                partition=f"{topic}-{at}",
                offset=0,
                committed=isolation == "committed",
                final=True,
            )
        )
        poll.records = sorted(records)
        poll.next = poll.records[-1][0] + 1 if records else 0
        recorder.ok(poll)
    return sum(map(len, found.values()))


def judge(
    folder: Path,
    workers: Sequence[Worker | Background],
    broker: ServedBroker,
    report: Report,
) -> list[Anomaly]:
    with (folder / "last.jsonl").open("w", encoding="utf-8") as file:
        recorder = Recorder(file, time.monotonic)
        for isolation in ("committed", "uncommitted"):
            for topic in (TOPIC, COPIES) if report.copiers else (TOPIC,):
                report.records_at_the_end += read_to_the_end(broker.bootstrap, topic, isolation, recorder)
        with Cluster(broker.bootstrap) as cluster:
            for group in GROUPS.values() if report.copiers else ():
                fetch = recorder.invoke(FetchOffsets(process="last", group=group, final=True))
                fetch.offsets = group_positions(cluster, group, TOPIC, PARTITIONS)
                recorder.ok(fetch)
    history = History()
    checker = Checker(history)
    kept = [*(worker.path for worker in workers), folder / "harm.jsonl", folder / "last.jsonl"]
    paths = [path for path in kept if path.exists()]
    read_history([path.read_text(encoding="utf-8").splitlines() for path in paths], history)
    return checker.finish()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="how long harm is done; default %(default)s"
    )
    parser.add_argument("--client", action="append", default=[], help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="of the harm; real time decides the rest")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as directory:
        report = run(asked.seconds, Path(directory), asked.client, asked.seed)
    sys.stdout.write(json.dumps(asdict(report), indent=2) + "\n")
    return 1 if report.anomalies or report.silent or not report.committed else 0


if __name__ == "__main__":
    sys.exit(main())
