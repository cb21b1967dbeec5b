"""The broker itself: one engine, the coordinators on top of it, and what handlers need of both."""

import logging
from collections.abc import Callable
from typing import Final, Protocol

from oncelog.broker.context import Context
from oncelog.broker.counters import Counters
from oncelog.broker.faults import Faults
from oncelog.broker.fetch_sessions import FetchSessions
from oncelog.broker.groups import GroupCoordinator
from oncelog.broker.latecomers import Latecomers
from oncelog.broker.producer_ids import ProducerIds
from oncelog.broker.readers import UncommittedReaders
from oncelog.broker.ring import Ring
from oncelog.broker.software import ClientSoftware
from oncelog.broker.topics import Topics
from oncelog.broker.transactions import TransactionCoordinator
from oncelog.config import BrokerConfig
from oncelog.engine.port import Engine, Figures
from oncelog.errors import StorageFault
from oncelog.model import Producer
from oncelog.ports import Chance, Clock
from oncelog.protocol.apis import APIS
from oncelog.tasks import Loop

log = logging.getLogger("oncelog.broker")

INIT_PRODUCER_ID: Final = 22


class Lane(Protocol):
    """Answers plain requests in one call (server/lane.c)."""

    @property
    def served(self) -> int:
        """Requests that were answered here."""
        ...

    def serve(self, frames: list[bytes], peer: tuple[str, int], /) -> list[bytes]:
        """The answers of the leading frames that are plain, with their lengths. What is not plain was not touched."""
        ...


class Runtime:
    """Handlers get this. It opens no socket and reads no clock but through its doors."""

    def __init__(
        self,
        *,
        engine: Engine,
        config: BrokerConfig,
        loop: Loop,
        clock: Clock,
        chance: Chance,
        host: str,
        port: int,
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self.engine = engine
        self.config = config
        self.loop = loop
        self.clock = clock
        self.chance = chance
        self.host = host
        self.port = port
        # Where connections are taken, once it is known; clients are sent to `host` and `port`.
        self.listens_at: tuple[str, int] | None = None
        self.node_id = config.node_id
        self._on_fatal = on_fatal
        self.topics = Topics(engine, config)
        self.producer_ids = ProducerIds(engine)
        self.groups = GroupCoordinator(engine, loop, clock, chance, config)
        self.counters = Counters()
        self.transactions = TransactionCoordinator(
            engine,
            loop,
            clock,
            config,
            self.producer_ids,
            self.groups,
            self._background_fault,
            self.counters,
        )
        self.latecomers = Latecomers(enabled=config.transaction_late_requests_refuse)
        self.uncommitted_readers = UncommittedReaders()
        self.client_software = ClientSoftware()
        self.ring: Ring | None = None
        if config.transaction_trace_requests:
            self.ring = Ring(
                clock,
                ids=config.transaction_trace_ids,
                requests=config.transaction_trace_requests,
                limit_bytes=config.transaction_trace_bytes,
            )
        self.faults: Faults | None = None
        self.lane: Lane | None = None
        self.fetch_sessions = FetchSessions(clock, chance, config.max_incremental_fetch_session_cache_slots)
        # InitProducerId 6 is unstable in Kafka 4.x: offered only to who asks for two-phase commit (TX-19).
        self.offered = {INIT_PRODUCER_ID: 6} if config.transaction_two_phase_commit_enable else {}
        self.supported_features = {"group.version": (0, 1), "transaction.version": (0, 2)}
        self.finalized_features = {"group.version": 1, "transaction.version": config.transaction_version}

    async def start(self) -> None:
        """Recovers what lasts. When it returns, requests may come."""
        await self.engine.start()
        await self.groups.start()
        await self.transactions.start()

    async def stop(self) -> None:
        """Stops the timers, then the engine: after it a restart needs no recovery."""
        await self.transactions.stop()
        await self.groups.stop()
        await self.engine.stop()

    def figures(self) -> Figures:
        """Everything that is counted and timed, by name: what the side door tells."""
        engine = self.engine.figures()
        names = {key: api.name for key, api in APIS.items()}
        counts = {
            **self.counters.counts(names),
            **engine.counts,
            **self.groups.figures(),
            **self.transactions.figures(),
            "txn.late_copies_refused": self.latecomers.refused,
        }
        return Figures(counts, {**self.counters.times(names), **engine.times})

    def is_late_copy(self, transactional_id: str, producer: Producer, context: Context) -> bool:
        """Whether a request that would be accepted comes on a connection that its client has left (decision 0010)."""
        txn = self.transactions.get(transactional_id)
        if txn is None or txn.owner != producer:  # refused anyway, and no sign of where the owner speaks
            return False
        if not self.latecomers.is_late(transactional_id, producer, context):
            return False
        self.latecomers.refused += 1
        return True

    def _background_fault(self, what: str, fault: BaseException) -> None:
        log.error("background.failed what=%s fault=%s", what, fault)
        if isinstance(fault, StorageFault):
            self.fail(fault)

    def fail(self, fault: BaseException) -> None:
        """The disk broke or lied: the process must stop rather than acknowledge anything more."""
        self._on_fatal(fault)
