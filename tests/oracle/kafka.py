"""A real Apache Kafka, one KRaft node on free ports of 127.0.0.1, for tests that compare."""

import random
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.oracle.tools import java_command, run_java

CLUSTER_ID: Final = "b25jZWxvZy1vcmFjbGUtMA"  # any 16 bytes in base64url
PORTS: Final = range(12_000, 32_000)
START_LIMIT_S: Final = 90.0
STOP_LIMIT_S: Final = 30.0
# One node cannot hold three replicas, and groups need not wait for late members; the rest is Kafka's own default.
SINGLE_NODE: Final[Mapping[str, str]] = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
# What bin/kafka-server-start.sh gives the JVM.
JVM: Final[Sequence[str]] = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listened on a moment ago, all different. From below those that the system gives to outgoing connections:
    one of these may be taken in the seconds that Kafka needs before it binds.
    """
    doors: list[socket.socket] = []
    try:
        for port in random.sample(PORTS, len(PORTS)):
            door = socket.socket()
            try:
                door.bind(("127.0.0.1", port))
            except OSError:
                door.close()
                continue
            doors.append(door)
            if len(doors) == count:
                return [int(each.getsockname()[1]) for each in doors]
        raise RuntimeError(f"{count} free ports wanted, {len(doors)} found in {PORTS}")
    finally:
        for door in doors:
            door.close()


def ask(port: int, api_key: int, body: bytes = b"") -> bytes:
    """The body of a broker's answer to version 0 of a request; empty if there is none."""
    request = struct.pack(">hhih", api_key, 0, 1, -1) + body
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as door, door.makefile("rb") as stream:
            door.settimeout(5)
            door.sendall(struct.pack(">i", len(request)) + request)
            head = stream.read(4)
            return stream.read(struct.unpack(">i", head)[0])[4:] if len(head) == 4 else b""
    except OSError:
        return b""


def answers(port: int) -> bool:
    """Whether a broker answers ApiVersions: Kafka does so only after its start is complete."""
    return ask(port, 18) != b""


def gives_producer_ids(port: int) -> bool:
    """Whether InitProducerId succeeds: a fresh Kafka says COORDINATOR_LOAD_IN_PROGRESS until it has a block of ids."""
    answer = ask(port, 22, struct.pack(">hi", -1, 1000))
    return len(answer) >= 6 and struct.unpack_from(">h", answer, 4)[0] == 0


class Oracle:
    """`with Oracle() as kafka: ... kafka.bootstrap`. Its files are gone afterwards unless `data_dir` was given."""

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        node_id: int = 0,
        heap: str = "512m",
        data_dir: Path | None = None,
        port: int | None = None,
        jvm: Sequence[str] = JVM,
        warm: bool = True,
        listeners: Mapping[str, str] | None = None,
        scram: Mapping[str, str] | None = None,
        features: Mapping[str, int] | None = None,
    ) -> None:
        """`listeners`: further ones, name to security protocol; what they need besides is in `properties`. `scram`: passwords
        by user, known to SCRAM-SHA-256 and SCRAM-SHA-512. `features`: levels to begin with where not Kafka's default.
        """
        self.node_id = node_id
        self.heap = heap
        self.jvm = jvm
        self.warm = warm  # wait until producer ids are given too; False for who measures the start
        self._own_dir = data_dir is None
        self.dir = data_dir or Path(tempfile.mkdtemp(prefix="oracle-"))
        self._listeners = dict(listeners or {})
        self._scram = dict(scram or {})
        self._features = dict(features or {})
        self.port, self.controller_port, *others = free_ports(2 + len(self._listeners))
        self.port = port or self.port
        self._ports = dict(zip(self._listeners, others, strict=True))
        self.properties = {**SINGLE_NODE, **(properties or {}), **self._addresses()}
        self._process: subprocess.Popen[bytes] | None = None

    def _addresses(self) -> dict[str, str]:
        protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **self._listeners}
        doors = [
            f"{name}://127.0.0.1:{port}" for name, port in {"PLAINTEXT": self.port, **self._ports}.items()
        ]
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.node_id),
            "controller.quorum.voters": f"{self.node_id}@127.0.0.1:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join([*doors, f"CONTROLLER://127.0.0.1:{self.controller_port}"]),
            "advertised.listeners": ",".join(doors),
            "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in protocols.items()),
            "log.dirs": str(self.log_dir),
        }

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def bootstrap_of(self, listener: str) -> str:
        """The address of one of the further listeners."""
        return f"127.0.0.1:{self._ports[listener]}"

    @property
    def log_dir(self) -> Path:
        """Where the partitions are: one folder `topic-partition` each."""
        return self.dir / "data"

    @property
    def process_id(self) -> int:
        """For measurements of its memory; the oracle must be running."""
        if self._process is None:
            raise RuntimeError("the oracle is not running")
        return self._process.pid

    def output(self, lines: int = 40) -> str:
        """The end of what Kafka printed."""
        path = self.dir / "kafka.log"
        if not path.exists():
            return "(nothing printed)"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])

    def start(self) -> None:
        """Returns when the broker answers; formats the storage first if that was not yet done."""
        if self._process is not None:
            raise RuntimeError("the oracle is running already")
        self.dir.mkdir(parents=True, exist_ok=True)
        settings = self.dir / "server.properties"
        settings.write_text("".join(f"{name}={value}\n" for name, value in self.properties.items()))
        if not (self.log_dir / "meta.properties").exists():
            words = [
                word
                for user, password in self._scram.items()
                for kind in ("SCRAM-SHA-256", "SCRAM-SHA-512")
                for word in ("--add-scram", f"{kind}=[name={user},password={password}]")
            ]
            words += [
                word for name, level in self._features.items() for word in ("--feature", f"{name}={level}")
            ]
            run_java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(settings), *words)
        with (self.dir / "kafka.log").open("ab") as out:
            self._process = subprocess.Popen(
                [
                    *java_command(f"-Xms{self.heap}", f"-Xmx{self.heap}", *self.jvm),
                    "kafka.Kafka",
                    str(settings),
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.dir,
            )
        self._wait_until_ready(self._process)

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        ready = gives_producer_ids if self.warm else answers
        while not ready(self.port):
            if process.poll() is not None:
                self._process = None
                raise RuntimeError(f"Kafka ended with exit code {process.returncode}:\n{self.output()}")
            if time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"Kafka did not answer within {START_LIMIT_S} s:\n{self.output()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """A clean stop of our own process, by force if it takes too long."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """`kill -9`."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def remove(self) -> None:
        if self._own_dir:
            shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # Files that are thrown away need no clean stop, which takes seconds.
            if self._own_dir:
                self.kill()
            else:
                self.stop()
        finally:
            self.remove()
