"""A broker inside the test process: `with oncelog.Broker() as broker:`.

It runs in a thread of its own with its own event loop, on a free port of 127.0.0.1, in a temporary directory. All calls
here may be made from any thread; they return when the broker has done what was asked.
"""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from oncelog.errors import OncelogError
from oncelog.model import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.faults import Armed
    from oncelog.client.easy import ReadRecord
    from oncelog.inspect.timeline import Timeline
    from oncelog.server.loop import SystemClock
    from oncelog.server.main import Server

T = TypeVar("T")


class BrokerClock:
    """The broker's clock: it runs like the machine's, and can be moved ahead so that timeouts need no waiting."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def advance(self, seconds: float) -> None:
        """Moves the clock and runs every timer that is due by then."""
        self._broker.run(lambda server: server.jump(int(seconds * 1000)))


class Fault:
    """A fault that was asked for. It happens once; leaving a `with` block takes it back or lets go what it holds."""

    def __init__(self, broker: "Broker", what: str, armed: "Armed") -> None:
        self._broker = broker
        self._what = what
        self._armed = armed
        self._happened = threading.Event()
        armed.reached.add_callback(lambda _: self._happened.set())

    def __enter__(self) -> "Fault":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._broker.is_running:
            self._broker.run(lambda server: server.faults().disarm(self._armed))

    @property
    def happened(self) -> bool:
        return self._happened.is_set()

    def wait(self, timeout_s: float = 10.0) -> None:
        """Returns when it happened; for `fail` when the broker is down."""
        if not self._happened.wait(timeout_s):
            raise OncelogError(f"{self._what} at {self._armed.where}: did not happen within {timeout_s} s")
        if self._what == "fail":
            self._broker.join()

    def resume(self) -> None:
        """Lets what is paused or held go on."""
        self._broker.run(lambda _: self._armed.resume())


class Transactions:
    """One transactional id of an embedded broker, seen from outside: over the wire, as `oncelog txn` sees it."""

    def __init__(self, broker: "Broker", transactional_id: str) -> None:
        self._broker = broker
        self.transactional_id = transactional_id

    def timeline(self, *, last: int | None = None) -> "Timeline":
        """Requests, states, batches and markers of its transactions, as far as the broker and its logs still hold them;
        `last`: only so many transactions from the end."""
        from oncelog.client.cluster import Cluster
        from oncelog.inspect.ask import SideDoor
        from oncelog.inspect.trace import tell

        with Cluster(self._broker.bootstrap) as cluster:
            return tell(cluster, SideDoor(cluster), self.transactional_id, last=last).timeline


class Broker:
    """An embedded broker. Give `data_dir` to keep the data; without it the data goes with the broker.

    settings     broker settings by Kafka's names, for example {"num.partitions": 4}
    durability   "process" (the default here, as Kafka's): acked records survive kill -9; "power": a power cut too
    """

    def __init__(
        self,
        *,
        data_dir: str | None = None,
        settings: Mapping[str, object] | None = None,
        durability: str = "process",
        virtual_clock: bool = False,
        port: int = 0,
    ) -> None:
        self._given_dir = data_dir
        self._settings = {name: _text(value) for name, value in (settings or {}).items()}
        self._settings.setdefault("durability", durability)
        self._settings.setdefault("group.initial.rebalance.delay.ms", "0")
        self._virtual_clock = virtual_clock
        self._system_clock: SystemClock | None = None
        self._port = port
        self._dir: str | None = None
        self._thread: threading.Thread | None = None
        self._server: Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.clock = BrokerClock(self)

    def __enter__(self) -> "Broker":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def bootstrap(self) -> str:
        """host:port for clients; the same after every restart."""
        if self._server is None:
            raise OncelogError("the broker is not running: use it inside `with`, or call start()")
        return f"127.0.0.1:{self._port}"

    @property
    def data_dir(self) -> str:
        if self._dir is None:
            raise OncelogError("the broker was never started: it has no data directory yet")
        return self._dir

    def start(self) -> "Broker":
        if self._server is not None:
            raise OncelogError("the broker is running already")
        if self._dir is None:
            self._dir = self._given_dir or tempfile.mkdtemp(prefix="oncelog-")
        ready: list[BaseException | None] = []
        is_ready = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(ready, is_ready), name="oncelog-broker", daemon=True
        )
        self._thread.start()
        is_ready.wait()
        if ready[0] is not None:
            self._thread.join()
            raise ready[0]
        return self

    def stop(self) -> None:
        """A clean stop: everything is synced. `start()` brings it back."""
        self._end(lambda server: server.stopping.set())

    def kill(self) -> None:
        """Stops like kill -9 or a power cut, by durability: nothing more is written, un-synced bytes are dropped
        under durability=power. Connections break. `start()` or `restart()` recovers."""
        self._end(lambda server: server.kill())

    def restart(self) -> None:
        """A clean stop (unless it was killed) and a new start on the same port and data."""
        if self._server is not None:
            self.stop()
        self.start()

    def close(self) -> None:
        """Stops and removes the data, unless `data_dir` was given."""
        if self._server is not None:
            self.stop()
        if self._dir is not None and self._given_dir is None:
            shutil.rmtree(self._dir, ignore_errors=True)
            self._dir = None

    def topic(self, name: str, *, partitions: int = 1, configs: Mapping[str, object] | None = None) -> str:
        """Creates a topic and returns its name."""
        from oncelog.client.easy import create_topic

        create_topic(
            self.bootstrap,
            name,
            partitions=partitions,
            configs={key: _text(value) for key, value in (configs or {}).items()},
        )
        return name

    def read(self, topic: str, *, isolation: str = "committed") -> "list[ReadRecord]":
        """Every record of a topic that a reader of this isolation sees now, in offset order per partition."""
        from oncelog.client.easy import read_all

        return read_all(self.bootstrap, topic, isolation=isolation)

    @property
    def is_running(self) -> bool:
        return self._server is not None

    def txn(self, transactional_id: str) -> "Transactions":
        """What a transactional id did here: `broker.txn("refunds-1").timeline()`, a table in a terminal, lanes in Jupyter."""
        return Transactions(self, transactional_id)

    def fail(self, *, at: str, transactional_id: str | None = None) -> Fault:
        """Kills the broker when a transaction next reaches a protocol state, for example at="after_prepare_commit".

        `fault.wait()` returns when it is down; `start()` recovers. The places are listed in docs/testing.md.
        """
        return self._arm("fail", at, transactional_id)

    def pause(self, *, at: str, transactional_id: str | None = None) -> Fault:
        """Stops the next transaction that reaches a protocol state there, until `fault.resume()`."""
        return self._arm("pause", at, transactional_id)

    def lose_marker(
        self, topic: str | None = None, partition: int = 0, *, transactional_id: str | None = None
    ) -> Fault:
        """Loses the next marker (for one partition, if a topic is given): the coordinator has to write it again."""
        return self._arm("lose", "before_marker", transactional_id, topic, partition)

    def drop_reply(self, api: str, *, transactional_id: str | None = None) -> Fault:
        """Carries out the next request of this API, then breaks the connection instead of answering."""
        return self._arm("drop", api, transactional_id)

    def hold_request(self, api: str, *, transactional_id: str | None = None) -> Fault:
        """Holds the next request of this API until `fault.resume()`, even if its client gives up meanwhile: a Produce
        delayed across an EndTxn, or a late copy of an EndTxn."""
        return self._arm("hold", api, transactional_id)

    def _arm(
        self,
        what: str,
        where: str,
        transactional_id: str | None,
        topic: str | None = None,
        partition: int = 0,
    ) -> Fault:
        at = None if topic is None else TopicPartition(topic, partition)
        return self.run(
            lambda server: Fault(self, what, server.faults().arm(what, where, transactional_id, at))
        )

    def join(self) -> None:
        """Waits until a broker that was killed from inside is down."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def run(self, do: "Callable[[Server], T]") -> T:
        """Runs `do` in the broker's own thread and returns what it returns: for tests that look inside."""
        if self._server is None or self._loop is None:
            raise OncelogError("the broker is not running")
        server = self._server
        done = threading.Event()
        outcome: list[Any] = []

        def work() -> None:
            try:
                outcome.append((do(server), None))
            except BaseException as fault:  # noqa: BLE001  # raised again in the caller's thread
                outcome.append((None, fault))
            done.set()

        thread = self._thread
        self._loop.call_soon_threadsafe(work)
        while not done.wait(0.5):
            if thread is None or not thread.is_alive():
                raise OncelogError("the broker stopped by itself: its log says why")
        value, fault = outcome[0]
        if fault is not None:
            raise fault
        return value

    def _end(self, do: "Callable[[Server], None]") -> None:
        if self._server is None or self._thread is None:
            raise OncelogError("the broker is not running")
        self.run(do)
        self.join()

    def _run(self, ready: "list[BaseException | None]", is_ready: threading.Event) -> None:
        asyncio.run(self._serve(ready, is_ready))

    async def _serve(self, ready: "list[BaseException | None]", is_ready: threading.Event) -> None:
        from oncelog.server.loop import SystemClock
        from oncelog.server.main import Options, Server

        try:
            options = Options(listen_port=self._port, data_dir=self.data_dir, settings=self._settings)
            if self._virtual_clock and self._system_clock is None:
                self._system_clock = SystemClock()  # one for all lives: a restart does not turn the time back
            server = Server(options, clock=self._system_clock, fragile=True)
            self._port = await server.start()
        except BaseException as fault:  # noqa: BLE001  # raised again by start()
            ready.append(fault)
            is_ready.set()
            return
        self._loop = asyncio.get_running_loop()
        self._server = server
        ready.append(None)
        is_ready.set()
        await server.stopping.wait()
        await server.stop()
        self._server = None
        self._loop = None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
