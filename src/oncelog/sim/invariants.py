"""What must hold inside the broker, whatever clients see. Numbers are those of the list in docs/reliability.md.

The offsets of a partition are compared with a shadow: a model of a few lines that reads the headers of the batches in the
log, each once, and shares no code with the broker's own rules.
"""

from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from random import Random
from struct import Struct
from typing import Any, Final, NamedTuple, TypeVar

from oncelog.broker.groups_shard import LiveShard, Status
from oncelog.engine.classic.checkpoints import CLEAN_SHUTDOWN
from oncelog.engine.classic.checks import CHECKS, decode_checks
from oncelog.engine.classic.partition import ClassicPartition
from oncelog.engine.classic.segment import Segment
from oncelog.engine.memory import MemoryDisk
from oncelog.errors import ErrorCode, OncelogError, StorageFault
from oncelog.log.state import last_stable_offset
from oncelog.model import CONSUMER_OFFSETS, TRANSACTION_STATE, Isolation, TopicPartition
from oncelog.record.batch import CONTROL, CRC_FROM, HEADER_BYTES, TRANSACTIONAL, batches, demand_crc
from oncelog.record.marker import read_marker
from oncelog.sim.loop import START_WALL_MS
from oncelog.sim.world import Machine, World, files_of
from oncelog.tasks import spawn
from oncelog.txn.state import ENDING, Bump, State, Txn

T = TypeVar("T")

STATE_KEY: Final = bytes(2)  # type 0
STORED_STATE: Final = Struct(">hqhib")
LENGTH_FROM: Final = 12
BASE_OFFSET_BYTES: Final = 8
MAX_TIMESTAMP: Final = -3
TIMES: Final = 8  # that are looked up in each partition
BATCH: Final = Struct(">qi9xhi16xqhi4x")
"""Base offset, length of what follows, attributes, last offset delta, producer id and epoch, base sequence."""
assert BATCH.size == HEADER_BYTES
STATES: Final = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
EDGES: Final = frozenset(
    (before, after)
    for before, all_after in {
        "-": ("Empty", "-"),
        "Empty": ("Empty", "Ongoing", "PrepareAbort", "-"),
        "Ongoing": ("Ongoing", "PrepareCommit", "PrepareAbort"),
        "PrepareCommit": ("CompleteCommit",),
        "PrepareAbort": ("CompleteAbort",),
        "CompleteCommit": ("Empty", "Ongoing", "PrepareAbort", "-"),
        "CompleteAbort": ("Empty", "Ongoing", "PrepareAbort", "-"),
    }.items()
    for after in all_after
)
"""Kafka's states, and which may follow which; "-": nothing is known of the id."""
PREPARED: Final = frozenset(number for number, name in enumerate(STATES) if name.startswith("Prepare"))
LOOKUPS: Final = 8  # in each segment
HOUSEKEEPING: Final = Counter(
    {
        "ClassicEngine._every.<locals>.run": 4,  # checkpoints, retention, cleaning, expiry of producers
        "TransactionCoordinator._arm.<locals>.again": 2,  # transactions that time out, ids that expire
        "GroupCoordinator._expire": 1,
        "Store.remove_later.<locals>.remove": 1_000,  # file.delete.delay.ms
    }
)
"""What is always due."""
STORED: Final = ("producer", "timeout_ms", "state", "partitions", "start_ms", "update_ms")
TAGGED: Final = ("previous_producer_id", "next_producer_id", "next_producer_epoch", "client_version")


class Broken(AssertionError):
    """An invariant does not hold."""


def unread(segments: Sequence[Segment], segment: Segment | None, position: int) -> Sequence[Segment]:
    """Those with something behind what was read last; all of them if the cleaner has replaced that segment."""
    if segment is not None and segments and segment is segments[-1]:
        return segments[-1:] if position < segment.size else ()
    return segments[segments.index(segment) if segment in segments else 0 :]


def batches_from(segment: Segment, position: int) -> Iterator[bytes]:
    """All batches from there on."""
    data = segment.log.read(position, segment.size - position)
    at, end = 0, len(data)
    while at < end:
        size = int.from_bytes(data[at + 8 : at + LENGTH_FROM], "big", signed=True) + LENGTH_FROM
        if size < HEADER_BYTES or at + size > end:
            segment.refuse(position + at, f"a batch of {size} bytes, {end - at} are left")
        yield data[at : at + size]
        at += size


def keys_and_values(batch: bytes) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Of the records of a batch that is not compressed."""
    at = HEADER_BYTES
    while at < len(batch):
        size, at = _zigzag(batch, at)
        end = at + size
        _, at = _zigzag(batch, at + 1)  # the timestamp; attributes before it
        _, at = _zigzag(batch, at)  # the offset
        size, at = _zigzag(batch, at)
        key = None if size < 0 else batch[at : at + size]
        size, at = _zigzag(batch, at + max(size, 0))
        yield key, None if size < 0 else batch[at : at + size]
        at = end


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 0x80:  # nearly all
        return (byte >> 1) ^ -(byte & 1), at + 1
    number, shift = byte & 0x7F, 7
    while byte & 0x80:
        at += 1
        byte = data[at]
        number |= (byte & 0x7F) << shift
        shift += 7
    return (number >> 1) ^ -(number & 1), at + 1


class Shadow:
    """One partition's log as the bytes tell it. Where the cleaner has been there are gaps: these are believed, what is appended has none."""

    def __init__(
        self, partition: ClassicPartition, before: "Shadow | None" = None, *, forgets: bool = False
    ) -> None:
        self.partition = partition
        self._segment: Segment | None = None
        self._position = 0
        self._may_have_gaps = "compact" in partition.config.cleanup_policy
        self._is_old = True  # what is read was there when this life began
        self._counts = not forgets and not partition.topic.startswith("__")  # sequences
        self.end: int | None = None
        self._open: dict[int, int] = {}  # producer id -> first offset of its transaction
        self._ended: list[
            tuple[int, int, int]
        ] = []  # (first, marker, producer id), of markers not below the high watermark
        self.decided: list[
            tuple[int, int, bool, int]
        ] = []  # (producer id, epoch, commit, marker), for who looks
        self._over: list[tuple[int, int, int]] = []  # (producer id, first, marker) of all that ended
        self._epochs: dict[int, int] = {}
        self._sequences: dict[tuple[int, int], int] = {}  # (producer id, epoch) -> next sequence
        if before is not None and partition.segments:
            self._remember(before, partition.segments[0].base_offset)
        self.catch_up()
        self.decided.clear()  # in earlier lives
        self._is_old = False
        if self._may_have_gaps:
            self.end = partition.state.log_end_offset

    def _remember(self, before: "Shadow", start: int) -> None:
        """Retention may take the beginning of a transaction and leave its end: then only who saw it knows of it."""
        self._open = {producer: first for producer, first in before._open.items() if first < start}
        for producer, first, marker in before._over:
            if first < start <= marker:
                self._open[producer] = first

    def catch_up(self) -> None:
        for segment in unread(self.partition.segments, self._segment, self._position):
            if segment is not self._segment:
                self._segment, self._position = segment, 0
            for batch in batches_from(segment, self._position):
                self._note(batch)
                self._position += len(batch)

    def _note(self, batch: bytes) -> None:
        offset, _, attributes, delta, producer, epoch, sequence = BATCH.unpack_from(batch)
        name = self.partition.directory
        if self.end is not None and offset != self.end:
            if self._may_have_gaps and offset < self.end:
                return  # the cleaner has copied it
            if not (self._may_have_gaps and self._is_old):
                raise Broken(f"1: {name}: a batch at {offset} follows one that ends at {self.end}")
        self.end = offset + delta + 1
        if producer < 0:
            self._note_plain(batch)
            return
        if epoch < self._epochs.get(producer, -1):
            raise Broken(
                f"10: {name} {offset}: epoch {epoch} of producer {producer} after {self._epochs[producer]}"
            )
        self._epochs[producer] = epoch
        if attributes & CONTROL:
            marker = read_marker(batch)
            if marker is not None:
                self._note_end(producer)
                first = self._open.pop(producer, None)
                if first is not None:
                    self._ended.append((first, offset, producer))
                    self._over.append((producer, first, offset))
                    self.decided.append((producer, epoch, marker.commit, offset))
            return
        if self._counts:
            key = (producer, epoch)
            wanted = self._sequences.get(key)
            if wanted is not None and sequence != wanted and not (self._may_have_gaps and self._is_old):
                raise Broken(
                    f"6: {name} {offset}: sequence {sequence} of producer {producer}/{epoch}, wanted {wanted}"
                )
            self._sequences[key] = sequence + delta + 1
        if attributes & TRANSACTIONAL:
            self._open.setdefault(producer, offset)
            self._note_staged(producer, batch)

    def _note_plain(self, batch: bytes) -> None:
        """A batch of no producer."""

    def _note_staged(self, producer: int, batch: bytes) -> None:
        """A batch of a transaction."""

    def _note_end(self, producer: int) -> None:
        """Its marker."""

    def last_stable(self, high_watermark: int, log_start: int) -> int:
        if self._ended:
            self._ended = [each for each in self._ended if each[1] >= high_watermark]
        elif not self._open:
            return max(high_watermark, log_start)
        undecided = [*self._open.values(), *(first for first, _, _ in self._ended)]
        return max(min([high_watermark, *undecided]), log_start)

    def left_open(self, producer: int, high_watermark: int) -> str:
        """Why the transaction of this producer is not durably over here; empty if it is."""
        if producer in self._open:
            return f"is open since {self._open[producer]}"
        for first, marker, whose in self._ended:
            if whose == producer and marker >= high_watermark:
                return f"of {first} has its marker at {marker}, and only what is below {high_watermark} is durable"
        return ""


class GroupsShadow(Shadow):
    """That of a partition of __consumer_offsets: it knows which positions wait for the end of a transaction."""

    def __init__(
        self, partition: ClassicPartition, before: Shadow | None = None, *, forgets: bool = False
    ) -> None:
        self._staged: dict[int, dict[bytes, None]] = {}  # producer id -> keys of records
        super().__init__(partition, before, forgets=forgets)

    def waits(self, key: bytes) -> bool:
        return any(key in keys for keys in self._staged.values())

    def _note_plain(self, batch: bytes) -> None:
        """A group that is deleted takes along what waits (R10)."""
        if self._staged:
            for key, value in keys_and_values(batch):
                if key is not None and value is None:
                    for keys in self._staged.values():
                        keys.pop(key, None)

    def _note_staged(self, producer: int, batch: bytes) -> None:
        keys = self._staged.setdefault(producer, {})
        keys.update((key, None) for key, _ in keys_and_values(batch) if key is not None)

    def _note_end(self, producer: int) -> None:
        self._staged.pop(producer, None)


def position_key(group: str, topic: str, partition: int) -> bytes:
    """Of the record that holds a group's position."""
    names = (len(each).to_bytes(2, "big") + each for each in (group.encode(), topic.encode()))
    return b"\0\1" + b"".join(names) + partition.to_bytes(4, "big")


class Graph:
    """11: the records of transactional ids, each of which must be one that may follow the one before."""

    def __init__(
        self, partition: ClassicPartition, known: "dict[bytes, list[tuple[bytes, Stored | None]]]"
    ) -> None:
        self.partition = partition
        self._known = known  # what each batch says that was read before, here or in an earlier life
        self._segment: Segment | None = None
        self._position = 0
        self.end = 0
        self._is_old = True  # what is read was there when this life began: the cleaner has been there
        self._last: dict[bytes, Stored] = {}
        self.prepared: dict[
            int, tuple[int, int, bool]
        ] = {}  # producer id -> end of the record, epoch, commit
        self.completed: list[tuple[bytes, int]] = []  # (id, producer id of its transaction), for who looks
        for _, _, after in self._records():
            self._note(after)
        self._is_old = False
        self.end = partition.state.log_end_offset

    def _note(self, after: "Stored | None") -> None:
        if after is not None and after.status in PREPARED:
            self.prepared[after.producer_id] = (
                self.end,
                after.epoch,
                STATES[after.status] == "PrepareCommit",
            )

    def catch_up(self) -> None:
        for name, before, after in self._records():
            self._note(after)
            step = (STATES[before.status] if before else "-", STATES[after.status] if after else "-")
            if step not in EDGES:
                raise Broken(f"11: {name} went from {step[0]} to {step[1]}: {before}, {after}")
            if before is None or after is None:
                continue
            if before.status in PREPARED:
                self.completed.append((name, before.producer_id))
            if before.started_ms is not None and after.started_ms not in (None, before.started_ms):
                raise Broken(f"11: {name} was opened twice, its timeout begins anew: {before}, {after}")
            if before.producer_id != after.producer_id:
                continue
            if after.epoch < before.epoch:
                raise Broken(f"10: {name} went back to an older epoch: {before}, {after}")

    def _records(self) -> Iterator[tuple[bytes, "Stored | None", "Stored | None"]]:
        for segment in unread(self.partition.segments, self._segment, self._position):
            if segment is not self._segment:
                self._segment, self._position = segment, 0
            for batch in batches_from(segment, self._position):
                self._position += len(batch)
                offset, _, _, delta, _, _, _ = BATCH.unpack_from(batch)
                if offset != self.end:
                    if offset < self.end:
                        continue  # the cleaner has copied it
                    if not self._is_old:
                        name = self.partition.directory
                        raise Broken(f"1: {name}: a batch at {offset} follows one that ends at {self.end}")
                self.end = offset + delta + 1
                for name, after in self._read(batch):
                    before = self._last.pop(name, None)
                    if after is not None:
                        self._last[name] = after
                    yield name, before, after

    def _read(self, batch: bytes) -> "list[tuple[bytes, Stored | None]]":
        found = self._known.get(batch)
        if found is None:
            found = self._known[batch] = [
                (key[4:], None if value is None else _stored(value))
                for key, value in keys_and_values(batch)
                if key is not None and key[:2] == STATE_KEY
            ]
        return found


class Stored(NamedTuple):
    """The first fields of the record of a transactional id, the same in all versions."""

    version: int
    producer_id: int
    epoch: int
    timeout_ms: int
    status: int
    started_ms: int | None = None  # of one that is ongoing


def _stored(value: bytes) -> Stored:
    found = Stored(*STORED_STATE.unpack_from(value))
    if STATES[found.status] != "Ongoing":
        return found
    return found._replace(started_ms=_started_ms(value, flexible=found.version > 0))


def _started_ms(value: bytes, *, flexible: bool) -> int:
    """Stands behind the partitions: a nullable list of {topic, list of int32}, with short sizes and tags if flexible."""
    at = STORED_STATE.size
    topics, at = _size(value, at, 4, flexible=flexible)
    for _ in range(topics):
        size, at = _size(value, at, 2, flexible=flexible)
        count, at = _size(value, at + size, 4, flexible=flexible)
        at += 4 * count + flexible  # no tags
    return int.from_bytes(value[at + 8 : at + 16], "big", signed=True)  # behind the last update


def _size(value: bytes, at: int, width: int, *, flexible: bool) -> tuple[int, int]:
    if not flexible:
        return int.from_bytes(value[at : at + width], "big", signed=True), at + width
    size, shift = 0, 0
    while value[at] & 0x80:
        size |= (value[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return (size | value[at] << shift) - 1, at + 1


class Invariants:
    """Watches each life of the broker: partitions tell when one of their offsets moved."""

    def __init__(self, world: World, *, expiry: bool = False, forgets: bool = False) -> None:
        self._world = world
        self._expiry = expiry  # of producers or ids: a restart may find what was forgotten
        self._forgets = forgets  # producers: then sequences may begin anew
        self._stable: dict[str, int] = {}  # the highest LSO that readers could see
        self._shadows: dict[str, Shadow] = {}
        self._graphs: dict[str, Graph] = {}
        self._states: dict[bytes, list[tuple[bytes, Stored | None]]] = {}
        self._watched: set[str] = set()
        self.ghosts: set[int] = set()  # producer ids whose transactions no coordinator may know
        self._bumps: dict[str, Bump] = {}  # told just before a crash
        self.flips = 0
        self.refused = 0  # of these
        self.looks = 0
        self.replays = 0
        world.on_up.append(self._begin)

    def _begin(self, machine: Machine) -> None:
        self._watched.clear()
        self._check_bumps(machine)
        self.check_all(machine)
        self._listen(machine)

    def partitions(self, machine: Machine) -> list[ClassicPartition]:
        found: list[ClassicPartition] = []
        for topic in machine.engine.topics.values():
            for partition in topic.partitions:
                assert isinstance(partition, ClassicPartition)
                found.append(partition)
        return found

    def check_all(self, machine: Machine) -> None:
        for partition in self.partitions(machine):
            if partition.directory not in self._watched:
                self._watched.add(partition.directory)
                if partition.topic == TRANSACTION_STATE:
                    self._graphs[partition.directory] = Graph(partition, self._states)
                else:
                    kind = GroupsShadow if partition.topic == CONSUMER_OFFSETS else Shadow
                    before = self._shadows.get(partition.directory)
                    self._shadows[partition.directory] = kind(partition, before, forgets=self._forgets)
                partition.watch(lambda partition=partition: self._look(partition))
            self._look(partition)

    def _look(self, partition: ClassicPartition) -> None:
        """1 order, 3 the LSO never goes back, 4 what it is, 5 what is told is durable, 6 sequences, 10 epochs."""
        self.looks += 1
        state = partition.state
        name = partition.directory
        stable = last_stable_offset(state)
        if not state.log_start_offset <= stable <= state.high_watermark <= state.log_end_offset:
            raise Broken(
                f"1: {name}: log start {state.log_start_offset}, LSO {stable}, high watermark "
                f"{state.high_watermark}, log end {state.log_end_offset}"
            )
        if stable < self._stable.get(name, 0):
            raise Broken(f"3: {name}: LSO was {self._stable[name]} and is {stable}")
        self._stable[name] = stable
        graph = self._graphs.get(name)
        if graph is not None:
            graph.catch_up()
            if graph.end != state.log_end_offset:
                raise Broken(
                    f"1: {name}: the log ends at {graph.end}, the broker says {state.log_end_offset}"
                )
            if stable != state.high_watermark:
                raise Broken(f"4: {name}: LSO is {stable}, wanted {state.high_watermark}")
            if graph.completed:
                self._check_completed(graph)
            return
        shadow = self._shadows[name]
        shadow.catch_up()
        if shadow.decided:
            self._check_decided(partition, shadow)
        if shadow.end is not None and shadow.end != state.log_end_offset:
            raise Broken(f"1: {name}: the log ends at {shadow.end}, the broker says {state.log_end_offset}")
        wanted = shadow.last_stable(state.high_watermark, state.log_start_offset)
        if stable != wanted:
            raise Broken(f"4: {name}: LSO is {stable}, wanted {wanted}")
        if partition.undecided() != state.high_watermark - wanted:
            raise Broken(f"4: {name}: {partition.undecided()} undecided offsets, LSO {wanted}")

    def _listen(self, machine: Machine) -> None:
        """15: UNSTABLE_OFFSET_COMMIT is answered to who asks for stable positions exactly while a transaction holds a newer one."""
        groups: Any = machine.runtime.groups
        fetch = groups.fetch_offsets

        async def fetch_offsets(group_id: str, *, require_stable: bool, **asked: Any) -> Any:
            shadows = [each for each in self._shadows.values() if isinstance(each, GroupsShadow)]
            for each in shadows:
                each.catch_up()
            partitions = [(topic, index) for topic, _, index in asked["partitions"] or ()]
            held = {
                (topic, index): any(each.waits(position_key(group_id, topic, index)) for each in shadows)
                for topic, index in partitions
            }
            found = await fetch(group_id, require_stable=require_stable, **asked)
            if require_stable and not isinstance(found, ErrorCode):
                for each in found:
                    is_unstable = each.error is ErrorCode.UNSTABLE_OFFSET_COMMIT
                    if held.get((each.topic, each.partition), is_unstable) is not is_unstable:
                        why = f"{each.topic}-{each.partition} was answered {each.error.name}"
                        holds = "none" if is_unstable else "a transaction"
                        machine.broken(Broken(f"15: {group_id} {why}, {holds} holds a newer position"))
            return found

        groups.fetch_offsets = fetch_offsets

    def _check_decided(self, partition: ClassicPartition, shadow: Shadow) -> None:
        """8: a marker ends a transaction as it was decided, and the decision was durable before it was written."""
        decided, shadow.decided = shadow.decided, []
        for graph in self._graphs.values():
            graph.catch_up()
        for producer, epoch, commit, marker in decided:
            if producer in self.ghosts:
                continue
            what = (
                f"8: {partition.directory} {marker}: {'commit' if commit else 'abort'} of {producer}/{epoch}"
            )
            found = [
                (graph, graph.prepared[producer])
                for graph in self._graphs.values()
                if producer in graph.prepared
            ]
            if not found:
                raise Broken(f"{what}, which nobody decided")
            graph, (end, prepared, wanted) = max(found, key=lambda each: each[1][1])
            if (prepared, wanted) != (epoch, commit):
                raise Broken(f"{what}, decided was {'commit' if wanted else 'abort'} of epoch {prepared}")
            if end > graph.partition.state.high_watermark:
                raise Broken(f"{what}, and the decision below {end} is not durable")

    def _check_completed(self, graph: Graph) -> None:
        """8: when a transaction is said to be complete, no partition has it open, and its markers are durable."""
        completed, graph.completed = graph.completed, []
        for shadow in self._shadows.values():
            shadow.catch_up()
            for name, producer in completed:
                why = shadow.left_open(producer, shadow.partition.state.high_watermark)
                if why:
                    raise Broken(
                        f"8: {name} is complete, and in {shadow.partition.directory} its transaction {why}"
                    )

    def check_logs(self, machine: Machine) -> None:
        """At rest: 14 every transaction in a log has its end behind it, also where the cleaner has been; and lookups, everywhere."""
        for partition in self.partitions(machine):
            still: dict[int, int] = {}
            for segment in partition.segments:
                for batch in batches_from(segment, 0):
                    offset, _, attributes, _, producer, _, _ = BATCH.unpack_from(batch)
                    if attributes & CONTROL:
                        still.pop(producer, None)
                    elif attributes & TRANSACTIONAL:
                        still.setdefault(producer, offset)
            if still:
                raise Broken(
                    f"14: {partition.directory}: {still} (producer id, offset) have no end in the log"
                )
            self._check_lookups(partition)

    def check_cleaned(self, machine: Machine) -> None:
        """Lookups in what the cleaner may have been at when the broker died."""
        for partition in self.partitions(machine):
            if "compact" in partition.config.cleanup_policy:
                self._check_lookups(partition)

    def _check_lookups(self, partition: ClassicPartition) -> None:
        """Who looks for an offset finds the batch that has it, also in the middle of a segment, where an index leads."""
        for segment in partition.segments:
            there = list(batches_from(segment, 0))
            for batch in there[:: max(len(there) // LOOKUPS, 1)]:
                base, _, _, delta, _, _, _ = BATCH.unpack_from(batch)
                found = segment.find(base)
                if found is None or (found.base_offset, found.last_offset) != (base, base + delta):
                    raise Broken(f"2: {partition.directory}: who looks for {base} finds {found}")
                self.looks += 1

    def check_orphans(self, machine: Machine) -> None:
        """9: whoever has a transaction open in a partition has it open at the coordinator, with that partition."""
        if not machine.is_up:
            return
        owners: dict[int, tuple[TopicPartition, ...]] = {}
        for txn in machine.runtime.transactions.all():
            if txn.state is State.ONGOING or txn.state in ENDING:
                for producer_id in (txn.producer.id, txn.previous_producer_id):
                    if producer_id >= 0:
                        owners[producer_id] = txn.partitions
        for partition in self.partitions(machine):
            for each in partition.state.producers.values():
                if (
                    each.transaction_first_offset >= 0
                    and partition.at not in owners.get(each.producer_id, ())
                    and each.producer_id not in self.ghosts
                ):
                    raise Broken(
                        f"9: {partition.directory}: producer {each.producer_id}/{each.epoch} has a transaction open "
                        f"since {each.transaction_first_offset} that no coordinator knows"
                    )

    def remember_bumps(self) -> None:
        """Decision 0016: why an epoch was bumped is told only when a power cut cannot take it back."""
        if not self._world.machine.is_up:
            return
        coordinator = self._world.machine.runtime.transactions
        for txn in coordinator.all():
            told = coordinator.bump_of(txn.transactional_id)
            if told is not None:
                self._bumps[txn.transactional_id] = told

    def _check_bumps(self, machine: Machine) -> None:
        for name, told in self._bumps.items():
            found = machine.runtime.transactions.bump_of(name)
            if found is None or found.at_ms < told.at_ms:
                raise Broken(f"5: {name} was said to be bumped because {told}, and now because {found}")
        self._bumps.clear()

    def unrest(self) -> str | None:
        """16: what still goes on; None when every transaction is over and every reader may see everything."""
        machine = self._world.machine
        for txn in machine.runtime.transactions.all():
            if txn.state is State.ONGOING or txn.state in ENDING:
                return f"{txn.transactional_id} is {txn.state.name}"
        self.check_orphans(machine)
        for partition in self.partitions(machine):
            state = partition.state
            if last_stable_offset(state) != state.log_end_offset:
                return (
                    f"{partition.directory}: LSO {last_stable_offset(state)}, log end {state.log_end_offset}"
                )
        return None

    # 13: what is in memory is what a restart would find

    def check_partitions_replay(self) -> None:
        """At any moment: a partition's memory changes with each write, without a wait in between."""
        live = self._world.machine
        if live.is_up and live.fault is None and not self._expiry:
            self._compare(live, self._replayed(serving=False))

    def check_all_replays(self) -> None:
        """At rest: the coordinators' memory too."""
        live = self._world.machine
        again = self._replayed()
        if not self._expiry:
            self._compare(live, again)
        ids = {each.transactional_id: each for each in again.runtime.transactions.all()}
        for txn in live.runtime.transactions.all():
            name = txn.transactional_id
            found = ids.pop(name, None)
            if found is None or self._kept(found) != self._kept(txn):
                raise Broken(f"13: {name} is {txn}, a restart would find {found}")
            why, because = (each.runtime.transactions.bump_of(name) for each in (live, again))
            if why != because:
                raise Broken(f"13: {name} was bumped because {why}, a restart would find {because}")
        if ids:
            raise Broken(f"13: a restart would bring back {sorted(ids)}")
        before, after = _offsets(live), _offsets(again)
        if before != after:
            raise Broken(f"13: group offsets are {before}, a restart would find {after}")

    def left_behind(self) -> str | None:
        """17: at rest nothing waits, works or watches, and nothing is due but housekeeping."""
        live = self._world.machine
        for partition in self.partitions(live):
            left = _left_behind(partition)
            if left:
                return f"{partition.directory}: there are {left}"
        leaked = self._world.disk.leaked()
        if leaked:
            return f"files that are gone, or open too often: {leaked[:5]}"
        more = live.loop.due() - HOUSEKEEPING
        return f"still due: {dict(more)}" if more else None

    # Bit rot

    def check_flips(self, count: int, rng: Random, *, only: str = "") -> None:
        """Single bits, each in a copy of what a clean stop left, every second one as a kill would have left it: refused by name, seen
        by a reader, or harmless. `only`: how the paths of the files begin that are hit."""
        disk = self._world.disk
        passed = self._world.clock.wall_ms() - START_WALL_MS
        times = [MAX_TIMESTAMP, *(START_WALL_MS + number * passed // TIMES for number in range(TIMES))]
        wanted = _contents(self._replayed(), times)
        sizes = {path: disk.open(path).size() for path in files_of(disk)}
        kinds: dict[str, list[str]] = {}
        for path, size in sizes.items():
            if size and path.startswith(only):
                kinds.setdefault(_kind(path), []).append(path)
        for number in range(count):
            # The few files of a kind are hit as often as the many.
            path = rng.choice(kinds[rng.choice(sorted(kinds))])
            at, bit = rng.randrange(sizes[path]), rng.randrange(8)
            if _is_uncovered(disk, path, at):
                continue
            self.flips += 1
            killed = number % 2 == 1 and path != CLEAN_SHUTDOWN
            what = f"bit {bit} of byte {at} of {path}{' after a kill' if killed else ''}"
            try:
                machine = self._replayed(flip=(path, at, bit), killed=killed)
            except OncelogError:
                self.refused += 1
                continue
            found = _contents(machine, times)
            self.refused += any(isinstance(each, OncelogError) for each in found.values())
            for name, seen in wanted.items():
                if self._expiry and name.endswith(" producers"):
                    continue  # one that was forgotten may come back with the log
                if found.get(name) != seen and not isinstance(found.get(name), OncelogError):
                    raise Broken(f"{what}: {name} was {seen}, and is {found.get(name)}")

    def _kept(self, txn: Txn) -> dict[str, Any]:
        """What the record of a transactional id can hold: records of transaction.version 0 have no tagged fields."""
        tagged = self._world.settings.get("transaction.version") != "0"
        return {name: getattr(txn, name) for name in (STORED + TAGGED if tagged else STORED)}

    def _compare(self, live: Machine, again: Machine) -> None:
        copies = {each.directory: each for each in self.partitions(again)}
        for partition in self.partitions(live):
            copy = copies[partition.directory]
            start = partition.log_start_offset
            if copy.log_start_offset == partition.stored_log_start:
                start = copy.log_start_offset  # deleted on the disk a moment before it is deleted here
            for what, mine, theirs in (
                ("log start", start, copy.log_start_offset),
                ("log end", partition.log_end_offset, copy.log_end_offset),
                ("producers", _producers(partition), _producers(copy)),
                ("aborted transactions", _aborted(partition), _aborted(copy)),
            ):
                if isinstance(mine, dict) and isinstance(theirs, dict):
                    mine, theirs = _differences(mine, theirs)
                if mine != theirs:
                    raise Broken(
                        f"13: {what} of {partition.directory}: {mine}, a restart would find {theirs}"
                    )

    def _replayed(
        self, *, serving: bool = True, flip: tuple[str, int, int] | None = None, killed: bool = False
    ) -> Machine:
        """The broker that would come up if this one were killed now, on a copy of its disk, with one bit of it flipped, or without
        the mark of a clean stop; or its engine alone, which ends no transactions. Its engine changes no file if it is refused."""
        self.replays += flip is None
        mine = self._world
        disk = mine.disk.copy(mine.loop, Random(0))
        if flip is not None:
            path, at, bit = flip
            file = disk.open(path)
            file.write_at(at, bytes([file.read(at, 1)[0] ^ 1 << bit]))
        if killed:
            disk.remove(CLEAN_SHUTDOWN)
        world = World("replay", mine.settings, after=(mine, disk))
        if flip is None:
            return self._started(world, serving=serving)
        before = _bytes_of(disk)
        try:
            return self._started(world, serving=serving)
        except OncelogError as refusal:
            engine: Any = world.machine.engine  # looked at from inside
            after = before if engine._timers else _bytes_of(disk)  # who refuses later has begun to serve
            changed = sorted(path for path in {**before, **after} if before.get(path) != after.get(path))
            if changed:
                raise Broken(f"a start that was refused ({refusal}) changed {changed}") from refusal
            raise

    def _started(self, world: World, *, serving: bool) -> Machine:
        machine = world.machine
        if not serving:
            task = spawn(machine.loop, machine.engine.start(), "start")
            while not task.done():
                world.loop.step()
            task.result()
            return machine
        world.power_on()
        late = world.loop.now_ms + 60_000
        while not world.machine.is_up or not _loaded(world.machine):
            if world.loop.now_ms > late:
                raise StorageFault("a restart would not come up in a minute")
            if not world.loop.step():
                world.check_start()
                raise Broken("13: a restart would not come up")
            world.check_start()
        return world.machine


def _bytes_of(disk: MemoryDisk) -> dict[str, bytes]:
    files = {path: disk.open(path) for path in files_of(disk)}
    found = {path: file.read(0, file.size()) for path, file in files.items()}
    for file in files.values():
        file.close()
    return found


def _kind(path: str) -> str:
    """The suffix of a segment's file, or the name of any other."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2] if name[:1].isdigit() else name


def _is_uncovered(disk: MemoryDisk, path: str, at: int) -> bool:
    """Whether this byte is of a base offset that nothing protects: it is not under the batch's CRC, and where the cleaner has
    left gaps any offset that rises looks right."""
    stem, _, suffix = path.rpartition(".")
    if suffix != "log" or not disk.exists(f"{stem}{CHECKS}"):
        return False
    file = disk.open(f"{stem}{CHECKS}")
    checks = decode_checks(file.read(0, file.size()))
    if checks is None or checks.gapless:
        return False
    file = disk.open(path)
    data = file.read(0, file.size())
    begins = 0
    while (ends := begins + int.from_bytes(data[begins + 8 : begins + 12], "big") + LENGTH_FROM) <= at:
        begins = ends
    return at < begins + BASE_OFFSET_BYTES


def _differences(mine: dict[int, Any], theirs: dict[int, Any]) -> tuple[dict[int, Any], dict[int, Any]]:
    other = [each for each in {**mine, **theirs} if mine.get(each) != theirs.get(each)]
    return {each: mine.get(each) for each in other}, {each: theirs.get(each) for each in other}


def _producers(partition: ClassicPartition) -> dict[int, Any]:
    """All but the times of remembered batches: Kafka's snapshot has one time per producer, which a marker moves on."""
    return {
        number: (
            each.epoch,
            [batch[:4] for batch in each.batches],
            each.transaction_first_offset,
            each.coordinator_epoch,
            each.last_timestamp,
        )
        for number, each in partition.state.producers.items()
    }


def _aborted(partition: ClassicPartition) -> list[Any]:
    return [entry for segment in partition.segments for entry in segment.aborted()]


def _left_behind(partition: ClassicPartition) -> str:
    inside: Any = partition  # looked at from inside
    counts = {
        "tasks": len(inside._tasks),
        "unsettled segments": len(inside._unsettled),
        "waiting appends": len(inside._waiting),
        "watchers": len(inside._watchers) - 1,  # we are one
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _contents(machine: Machine, times: Sequence[int]) -> dict[str, Any]:
    """All that anybody could be told, or that it is refused; each way to look on its own, for a reader may see by a CRC what
    somebody else would believe."""
    found: dict[str, Any] = {"offsets": _offsets(machine)}
    found["topics"] = {
        name: (topic.id, len(topic.partitions), dict(topic.configs))
        for name, topic in machine.engine.topics.items()
    }
    found["next producer id"] = _done(machine, machine.engine.claim_producer_ids(1)).start
    found |= {txn.transactional_id: txn for txn in machine.runtime.transactions.all()}

    def look(name: str, at: Callable[[], object]) -> None:
        try:
            found[name] = at()
        except OncelogError as refusal:
            found[name] = refusal

    # First: who reads loads whole indexes, and these are looked at then.
    look("retention", lambda: _done(machine, machine.engine.run_retention()))
    for topic in machine.engine.topics.values():
        for partition in topic.partitions:
            assert isinstance(partition, ClassicPartition)
            _look_at(machine, partition, times, look)
    return found


def _look_at(
    machine: Machine,
    partition: ClassicPartition,
    times: Sequence[int],
    look: Callable[[str, Callable[[], object]], None],
) -> None:
    name = partition.directory
    for time in times:
        work = partition.offset_at(time, Isolation.READ_UNCOMMITTED)
        look(f"{name} at {time}", lambda work=work: replace(_done(machine, work), leader_epoch=-1))
    # Of the caches beside a snapshot the last batch is enough: that is all that Kafka keeps.
    look(
        f"{name} producers",
        lambda: {
            each: (epoch, batches[-1:], *more)
            for each, (epoch, batches, *more) in _producers(partition).items()
        },
    )
    look(f"{name} aborted", lambda: _aborted(partition))
    look(
        f"{name} offsets",
        lambda: (partition.log_start_offset, partition.last_stable_offset, partition.log_end_offset),
    )
    look(f"{name} batches", lambda: _read_all(machine, partition))


def _read_all(machine: Machine, partition: ClassicPartition) -> list[Any]:
    """(offset asked for, base offset, what is under the CRC) of each batch, asked for one by one, as through an index."""
    found: list[Any] = []
    at = partition.log_start_offset
    while at < partition.log_end_offset:
        work = partition.read(at, max_bytes=1, isolation=Isolation.READ_UNCOMMITTED, at_least_one_batch=True)
        read = _done(machine, work)
        if read.error:
            raise StorageFault(f"{partition.directory}: the read at {at} was answered {read.error.name}")
        view = memoryview(read.records)
        header = next((header for _, header in batches(view)), None)
        if header is None:
            break
        demand_crc(view, header)
        found.append((at, header.base_offset, bytes(view[CRC_FROM : header.size])))
        at = header.next_offset
    return found


def _done(machine: Machine, work: Coroutine[Any, Any, T]) -> T:
    task = spawn(machine.loop, work, "look")
    while not task.done():
        machine.world.loop.step()
    return task.result()


def _shards(machine: Machine) -> list[LiveShard]:
    return list(machine.runtime.groups._shards.values())  # pyright: ignore[reportPrivateUsage]  # looked at from inside


def _loaded(machine: Machine) -> bool:
    return all(shard.status is Status.READY for shard in _shards(machine))


def _offsets(machine: Machine) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for shard in _shards(machine):
        for group, offsets in shard.state.offsets.items():
            found[group] = (
                {
                    topic: {at: (value.offset, value.metadata) for at, value in parts.items()}
                    for topic, parts in offsets.visible.items()
                },
                sorted(offsets.pending),
            )
    return found
