"""The brokers of a comparison, each in a process of its own, and what their processes use."""

import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from oncelog.client.address import parse_bootstrap
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault
from oncelog.cost.checkout import of_checkout
from oncelog.cost.load import CannotMeasure, Loaded

START_LIMIT_S: Final = 120.0
HEAP: Final = "1g"  # of Kafka
TICKS: Final = os.sysconf("SC_CLK_TCK")
PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Side(Protocol):
    """A broker that can be started, measured and stopped. Without a process id its own cost is not known."""

    name: str

    @property
    def bootstrap(self) -> str: ...
    @property
    def process_id(self) -> int | None: ...
    def start(self) -> None: ...
    def halt(self) -> None:
        """Stops it and keeps its data."""
        ...

    def kill(self) -> None:
        """Ends it as kill -9 does and keeps its data."""
        ...

    def stop(self) -> None:
        """Stops it and removes its data."""
        ...

    def another(self) -> "Side":
        """Such a broker with an empty directory of its own."""
        ...

    def log_bytes(self) -> int | None:
        """Of all segments of its partitions, its own topics included."""
        ...

    def described(self) -> str:
        """How it runs, in a line."""
        ...


class OncelogSide:
    """`oncelog serve` of this installation, with the express lane (decision 0027) or by Python alone."""

    def __init__(
        self,
        durability: str = "process",
        settings: Mapping[str, str] | None = None,
        *,
        hot_path: str = "native",
    ) -> None:
        self.name = "oncelog" if durability == "process" else f"oncelog, durability={durability}"
        if (
            durability == "process" and hot_path != "native"
        ):  # where answers wait for a sync the two are the same
            self.name += f", hot.path={hot_path}"
        self._hot_path = hot_path
        self._durability = durability
        self._given = dict(settings or {})
        self._settings = {"hot.path": hot_path, **(settings or {})}
        self._folder = Path(tempfile.mkdtemp(prefix="oncelog-bench-"))
        self._process: subprocess.Popen[str] | None = None
        self._bootstrap = "127.0.0.1:0"

    @property
    def bootstrap(self) -> str:
        return self._bootstrap

    @property
    def process_id(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        words = [sys.executable, "-m", "oncelog.cli.main", "serve", "--listen", self._bootstrap]
        words += ["--data-dir", str(self._folder / "data"), "--durability", self._durability]
        for name, value in self._settings.items():
            words += ["--set", f"{name}={value}"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said.startswith("oncelog ready on "):
            raise CannotMeasure(f"oncelog serve: wanted 'oncelog ready on HOST:PORT', found {said!r}")
        self._bootstrap = said.split()[3]

    def halt(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._gone()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._gone()

    def _gone(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.wait(60)
        self._process.stdout.close()
        self._process = None

    def stop(self) -> None:
        self.kill()  # a clean stop would first make durable what is removed here
        shutil.rmtree(self._folder, ignore_errors=True)

    def another(self) -> "OncelogSide":
        return OncelogSide(self._durability, self._given, hot_path=self._hot_path)

    def log_bytes(self) -> int | None:
        return bytes_of_segments(self._folder / "data")

    def described(self) -> str:
        shown = {"durability": self._durability, **self._settings}
        return f"{platform.python_implementation()} {platform.python_version()}; {_listed(shown)}"


class RunningSide:
    """A Kafka that somebody else started and keeps."""

    def __init__(self, bootstrap: str) -> None:
        parse_bootstrap(bootstrap)
        self.name = bootstrap
        self.bootstrap = bootstrap
        self.process_id: int | None = None

    def start(self) -> None:
        wait_until_ready(self.bootstrap)

    def halt(self) -> None:
        raise CannotMeasure(f"{self.name} is somebody else's: it is not stopped")

    kill = halt

    def stop(self) -> None: ...

    def another(self) -> "RunningSide":
        return RunningSide(self.bootstrap)

    def log_bytes(self) -> int | None:
        return None

    def described(self) -> str:
        return "somebody else's"


class KafkaSide:
    """Apache Kafka from its Maven artifacts, as a checkout's tests/oracle runs it: heap of 1 GiB, its own defaults."""

    def __init__(self, name: str = "Apache Kafka", settings: Mapping[str, str] | None = None) -> None:
        oracle = of_checkout("tests.oracle")
        if oracle is None:
            raise CannotMeasure(
                "--against kafka: only in a checkout of oncelog, with Maven; elsewhere give a running one: --against HOST:PORT"
            )
        self.name = name
        self._given = dict(settings or {})
        self._java: Any = oracle.java
        self._jars: Any = oracle.fetch
        self._kafka: Any = oracle.Oracle(self._given, heap=HEAP, warm=False)

    @property
    def bootstrap(self) -> str:
        return str(self._kafka.bootstrap)

    @property
    def process_id(self) -> int | None:
        return int(self._kafka.process_id)

    def start(self) -> None:
        try:
            self._kafka.start()
        except RuntimeError as fault:
            raise CannotMeasure(f"{self.name}: {fault}") from None

    def halt(self) -> None:
        self._kafka.stop()

    def kill(self) -> None:
        self._kafka.kill()

    def stop(self) -> None:
        self.kill()  # a clean stop would first make durable what is removed here
        shutil.rmtree(self._kafka.dir, ignore_errors=True)

    def another(self, name: str | None = None, settings: Mapping[str, str] | None = None) -> "KafkaSide":
        """`settings`: further ones."""
        return KafkaSide(name or self.name, {**self._given, **(settings or {})})

    def log_bytes(self) -> int | None:
        return bytes_of_segments(Path(self._kafka.log_dir))

    def described(self) -> str:
        said = subprocess.run([self._java(), "-version"], capture_output=True, text=True, check=False).stderr
        names = sorted(each.stem for each in Path(self._jars()).glob("kafka-clients-*.jar"))
        version = names[0].removeprefix("kafka-clients-") if names else "of unknown version"
        jvm = said.splitlines()[-1] if said else "unknown"
        return f"Kafka {version}, KRaft, one node; heap {HEAP}; {jvm}; {_listed(self._kafka.properties)}"


# Of a Kafka's properties: where it listens and keeps its files, which is different each time.
_ADDRESSES: Final = ("listener", "listeners", "voters", "log.dirs", "security.protocol")


def _listed(settings: Mapping[str, str]) -> str:
    kept = {name: value for name, value in settings.items() if not any(each in name for each in _ADDRESSES)}
    return ", ".join(f"{name}={value}" for name, value in kept.items())


def bytes_of_segments(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.glob("*/*.log"))


def producer_performance(bootstrap: str, topic: str, *, records: int) -> Loaded:
    """Java's own tool with linger.ms=0, where a checkout has its jars. The tool needs more CPU than any broker."""
    tools = of_checkout("tests.oracle.tools")
    if tools is None:
        raise CannotMeasure("Java's ProducerPerformance: only in a checkout of oncelog, with Maven")
    words = ["--topic", topic, "--num-records", str(records), "--record-size", "1024", "--throughput", "-1"]
    words += ["--bootstrap-server", bootstrap, "--command-property", "linger.ms=0"]
    before = os.times()
    try:
        said = str(tools.run_java(tools.PRODUCER_PERFORMANCE, *words))
    except tools.ToolFailed as fault:
        raise CannotMeasure(f"ProducerPerformance: {str(fault)[-500:]}") from None
    after = os.times()
    found = _PERFORMANCE.findall(said)
    if not found:
        raise CannotMeasure(
            f"ProducerPerformance: wanted a last line with records/sec, found {said[-300:]!r}"
        )
    sent, rate = found[-1]
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Loaded(
        seconds=int(sent) / float(rate),
        done=int(sent),
        records=int(sent),
        bytes=int(sent) * 1024,
        retries=0,
        client_cpu_seconds=used,
        latency_us={},
        end_us={},
        produce_us={},
    )


_PERFORMANCE: Final = re.compile(r"(\d+) records sent, ([0-9.]+) records/sec")


def wait_until_ready(bootstrap: str) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        with contextlib.suppress(ClientFault), Cluster(bootstrap, timeout_ms=2000) as cluster:
            cluster.nodes()
            return
        if time.monotonic() > deadline:
            raise CannotMeasure(f"{bootstrap} did not answer within {START_LIMIT_S:.0f} s")
        time.sleep(0.05)


def cpu_seconds(process_id: int | None) -> float | None:
    """User and system time of a process, by /proc."""
    if process_id is None:
        return None
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(process_id: int | None) -> float | None:
    if process_id is None:
        return None
    return int(Path(f"/proc/{process_id}/statm").read_text().split()[1]) * PAGE / 1e6


def forget_peak(process_id: int | None) -> None:
    """From here on `peak_mb` counts anew."""
    if process_id is not None:
        with contextlib.suppress(OSError):  # not ours to ask: then it counts from the start of the process
            Path(f"/proc/{process_id}/clear_refs").write_text("5")


def peak_mb(process_id: int | None) -> float | None:
    """The most memory that was resident since `forget_peak`."""
    if process_id is None:
        return None
    lines = (line.split() for line in Path(f"/proc/{process_id}/status").read_text().splitlines())
    return next(int(words[1]) * 1024 / 1e6 for words in lines if words[0] == "VmHWM:")


class OtherLoad:
    """The share of all cores that neither the broker nor this process and its children used: the noise of a run. A broker that is started
    meanwhile is named at the end."""

    def __init__(self, process_id: int | None) -> None:
        self._process_id = process_id
        self._begun = time.monotonic()
        self._busy = self._machine()
        self._ours = self._known()

    @staticmethod
    def _machine() -> float:
        fields = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        return (sum(fields[:3]) + sum(fields[5:7])) / TICKS  # user, nice, system, irq, softirq

    def _known(self) -> float:
        own = os.times()
        broker = cpu_seconds(self._process_id) or 0.0
        return broker + own.user + own.system + own.children_user + own.children_system

    def share(self, started: int | None = None) -> float:
        elapsed = time.monotonic() - self._begun
        of_it = cpu_seconds(started) or 0.0
        others = (self._machine() - self._busy) - (self._known() - self._ours) - of_it
        return max(others, 0.0) / elapsed / (os.cpu_count() or 1)
