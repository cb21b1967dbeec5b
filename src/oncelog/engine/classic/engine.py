"""The classic engine: topics as directories of Kafka's files below one data directory."""

import logging
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

from oncelog.config import BrokerConfig, TopicConfig, read_topic_config
from oncelog.engine.classic.checkpoints import (
    CLEAN_SHUTDOWN,
    CLEANED_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    end_file,
    read_file,
    read_offsets,
    read_text,
    write_file,
    write_offsets,
)
from oncelog.engine.classic.cleaner import Cleaner, worth_cleaning
from oncelog.engine.classic.metadata import Journal, Metadata, TopicEntry, topic_entry
from oncelog.engine.classic.partition import ClassicPartition
from oncelog.engine.classic.recovery import Loaded, recover
from oncelog.engine.classic.store import SYNC_FILES, Slices, Store, settled
from oncelog.engine.port import Figures, Partition, Topic
from oncelog.errors import BadConfig, CorruptLog, OncelogError
from oncelog.log.compaction import CleanRange
from oncelog.model import Millis, TopicId, TopicPartition
from oncelog.ports import Chance, Clock, Disk, File
from oncelog.record.checkpoints import (
    MetaProperties,
    decode_meta_properties,
    encode_clean_shutdown,
    encode_meta_properties,
    encode_partition_metadata,
    encode_uuid,
)
from oncelog.tasks import Future, Loop, Timer, Turns, sleep

log = logging.getLogger("oncelog.engine")

LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
NAME_LIMIT_BYTES: Final = 255  # of a file name


class ClassicEngine:
    """Implements engine.port.Engine. `failed` resolves when the disk failed: then the process must stop."""

    def __init__(self, disk: Disk, loop: Loop, clock: Clock, chance: Chance, config: BrokerConfig) -> None:
        self._store = Store(disk, loop, clock, config)
        self._store.keep_log_starts = self._keep_log_starts
        self._disk = disk
        self._loop = loop
        self._clock = clock
        self._chance = chance
        self._config = config
        self._journal = Journal(disk)
        self._metadata = Metadata()
        self._meta: MetaProperties | None = None
        self._topics: dict[str, Topic] = {}
        self._by_id: dict[TopicId, Topic] = {}
        self._partitions: dict[TopicPartition, ClassicPartition] = {}
        self._changing = Turns()  # topics
        self._keeping = Turns()  # checkpoint files
        self._kept: dict[str, dict[ClassicPartition, int]] = {}
        self._cleaned: dict[TopicPartition, int] = {}
        self._timers: dict[str, Timer] = {}

    @property
    def failed(self) -> Future[BaseException]:
        return self._store.failed

    @property
    def cluster_id(self) -> str:
        assert self._meta is not None
        return self._meta.cluster_id

    @property
    def topics(self) -> Mapping[str, Topic]:
        return self._topics

    def topic_by_id(self, topic_id: TopicId) -> Topic | None:
        return self._by_id.get(topic_id)

    def now_ms(self) -> Millis:
        return self._clock.wall_ms()

    def figures(self) -> Figures:
        store = self._store
        undecided = [each.undecided() for each in self._partitions.values()]
        counts = {
            "log.batches": store.batches,
            "log.records": store.records,
            "log.bytes": store.appended_bytes,
            "log.duplicates": store.duplicates,
            "log.aborted_bytes": store.aborted_bytes,
            "log.markers": store.markers,
            "log.rolls": store.rolls,
            "log.synced_files": store.syncer.synced_files,
            "log.partitions": len(self._partitions),
            "log.producers": sum(each.producer_count() for each in self._partitions.values()),
            "lso.lag": sum(undecided),
            "lso.lag_max": max(undecided, default=0),
            "lso.pinned_partitions": sum(map(bool, undecided)),
        }
        return Figures(counts, {"log.sync": store.syncer.times})

    # Start and stop

    async def start(self) -> None:
        """Looks at everything before it changes anything: a start that is refused leaves all files as they were."""
        disk = self._disk
        self._meta, born = self._read_meta()
        clean = disk.exists(CLEAN_SHUTDOWN)
        self._metadata = self._journal.read(clean=clean)
        points = read_offsets(disk, RECOVERY_POINTS)
        starts = read_offsets(disk, LOG_START_OFFSETS)
        self._cleaned = read_offsets(disk, CLEANED_OFFSETS)
        names = disk.list("")
        for entry in self._metadata.topics.values():
            self._add_topic(entry, points, starts)
        there = set(names)
        missing = [each for each in self._partitions.values() if each.directory not in there]
        for partition in missing:
            if partition.recovery_point:
                raise CorruptLog(
                    f"{partition.directory} is missing, wanted its log up to {partition.recovery_point} at least"
                )
        found = [] if clean else await self._look_at_all()
        if born:
            write_file(disk, META_PROPERTIES, encode_meta_properties(self._meta).encode())
        if clean:  # before anything is changed: a crash from here on means recovery, twice if need be (B51)
            disk.remove(CLEAN_SHUTDOWN)
            disk.sync_directory("")
        self._journal.rewrite(self._metadata)
        self._tidy(names)
        for partition in missing:
            self._make_directory(partition)
        if not clean:
            await self._recover_all(found)
        if missing or not clean:
            disk.sync_directory("")
            await self._write_checkpoints()
        self._start_timers()

    def _read_meta(self) -> tuple[MetaProperties, bool]:
        """What the directory says of itself, and whether it is new and that is still to be written."""
        meta = read_text(self._disk, META_PROPERTIES, decode_meta_properties)
        if meta is None:
            cluster, directory = self._chance.token_bytes(16), self._chance.token_bytes(16)
            return MetaProperties(encode_uuid(cluster), self._config.node_id, encode_uuid(directory)), True
        if meta.node_id != self._config.node_id:
            raise BadConfig(f"node.id: {META_PROPERTIES} says {meta.node_id}, found {self._config.node_id}")
        return meta, False

    def _tidy(self, names: list[str]) -> None:
        """Finishes deletions that a crash interrupted, and sets aside what no topic owns."""
        wanted = {each.directory for each in self._partitions.values()}
        gone = self._metadata.deleted
        for name in names:
            topic, _, index = name.rpartition("-")
            if name in wanted or not (index.isdigit() or index in ("delete",)):
                continue
            if index == "delete" or topic in gone:
                self._disk.remove(name)
            elif not any(each.endswith(".log") for each in self._disk.list(name)):
                self._disk.remove(name)  # a topic that was never answered for
            else:
                aside = _cut(topic, f"-{index}.{self._chance.token_bytes(16).hex()}-stray")
                log.warning("engine.stray directory=%s renamed_to=%s", name, aside)
                self._disk.rename(name, aside)

    async def _look_at_all(self) -> list[Loaded]:
        """Reads all logs, in the loop: nobody is served yet."""
        found: list[Loaded] = []
        slices = Slices(self._loop, self._clock)
        for partition in self._partitions.values():
            found.append(
                recover(
                    self._store,
                    partition.directory,
                    partition.config,
                    log_start_offset=partition.stored_log_start,
                    recovery_point=partition.recovery_point,
                    leader_epoch=partition.leader_epoch,
                )
            )
            await slices.rest()
        return found

    async def _recover_all(self, all_found: Sequence[Loaded]) -> None:
        """Makes all logs what they were found to be."""
        unsynced: list[File] = []
        closed: list[File] = []
        directories: list[str] = []
        slices = Slices(self._loop, self._clock)
        for partition, found in zip(self._partitions.values(), all_found, strict=True):
            found.keep(self._disk)
            closed += found.closed
            if found.changed or found.closed or (self._store.power and found.unsynced):
                directories.append(partition.directory)
            if self._store.power:
                # All of it is served as durable from now on, so it must be: after kill -9 it may not yet.
                unsynced += [segment.log for segment in found.unsynced]
                found.unsynced = []
                partition.durable_offset = found.state.log_end_offset
            partition.adopt(found)
            await slices.rest()
        await self._sync([*closed, *unsynced])
        for file in closed:  # else their descriptors outlive the files
            file.close()
        await self._loop.in_thread(lambda: self._sync_directories(directories))

    async def _sync(self, files: list[File]) -> None:
        for at in range(0, len(files), SYNC_FILES):
            await self._disk.sync(files[at : at + SYNC_FILES])

    def _sync_directories(self, directories: Sequence[str]) -> None:
        for directory in directories:
            self._disk.sync_directory(directory)

    async def stop(self) -> None:
        """Makes everything durable and says so in a file, last of all."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._store.stopping = True
        self._store.remove_now()
        await self._store.quiet()
        self._store.stopped = True
        if self.failed.done():
            raise self.failed.result()
        files: list[File] = []
        replaced: list[str] = []
        directories: list[str] = []
        for partition in self._partitions.values():
            if partition.changed:
                written, paths = partition.close()
                files += written
                replaced += paths
                directories.append(partition.directory)
        await self._sync(files)

        def end() -> None:
            for path in replaced:
                end_file(self._disk, path)
            self._sync_directories(directories)

        await self._loop.in_thread(end)
        await self._write_checkpoints()
        self._journal.close()
        await self._loop.in_thread(
            lambda: write_file(
                self._disk, CLEAN_SHUTDOWN, encode_clean_shutdown(self._metadata.starts).encode()
            )
        )

    # Topics

    def _add_topic(
        self,
        entry: TopicEntry,
        points: Mapping[TopicPartition, int],
        starts: Mapping[TopicPartition, int],
    ) -> Topic:
        config = read_topic_config(entry.configs, self._config.topic_defaults)
        before = self._topics.get(entry.name)
        partitions = list(before.partitions) if before is not None else []
        for index in range(len(partitions), entry.partitions):
            partitions.append(self._partition(entry, index, config, points, starts))
        return self._publish(entry, partitions)

    def _partition(
        self,
        entry: TopicEntry,
        index: int,
        config: TopicConfig,
        points: Mapping[TopicPartition, int],
        starts: Mapping[TopicPartition, int],
    ) -> ClassicPartition:
        at = TopicPartition(entry.name, index)
        return ClassicPartition(
            self._store,
            entry.name,
            index,
            entry.id,
            config,
            leader_epoch=self._metadata.starts - entry.born(index),
            log_start_offset=starts.get(at, 0),
            recovery_point=points.get(at, 0),
        )

    def _publish(self, entry: TopicEntry, partitions: Sequence[Partition]) -> Topic:
        for partition in partitions:
            assert isinstance(partition, ClassicPartition)
            self._partitions[partition.at] = partition
        topic = Topic(entry.name, entry.id, partitions, dict(entry.configs))
        self._topics[entry.name] = self._by_id[entry.id] = topic
        return topic

    async def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> Topic:
        check_name(name)
        config = read_topic_config(configs, self._config.topic_defaults)
        async with self._changing:
            if name in self._topics:
                raise OncelogError(f"topic {name} exists already")
            topic_id = TopicId(self._chance.token_bytes(16))
            entry = TopicEntry(name, topic_id, [(partitions, self._metadata.starts)], dict(configs))
            return await self._grow(entry, [], config)

    async def create_partitions(self, name: str, count: int) -> None:
        async with self._changing:
            old, topic = self._metadata.topics[name], self._topics[name]
            entry = TopicEntry(name, old.id, [*old.grown, (count, self._metadata.starts)], old.configs)
            config = read_topic_config(entry.configs, self._config.topic_defaults)
            await self._grow(entry, topic.partitions, config)

    async def _grow(self, entry: TopicEntry, there: Sequence[Partition], config: TopicConfig) -> Topic:
        """Directories first, then the line of the journal that makes them a topic's."""
        partitions = list(there)
        metadata = encode_partition_metadata(entry.id).encode()
        slices = Slices(self._loop, self._clock)
        for index in range(len(partitions), entry.partitions):
            partition = self._partition(entry, index, config, {}, {})
            self._make_one(partition.directory, metadata)
            partitions.append(partition)
            await slices.rest()
        await self._loop.in_thread(lambda: self._disk.sync_directory(""))
        await self._write(topic_entry(entry))
        self._metadata.topics[entry.name] = entry
        return self._publish(entry, partitions)

    async def set_topic_configs(self, name: str, configs: Mapping[str, str]) -> None:
        config = read_topic_config(configs, self._config.topic_defaults)
        async with self._changing:
            entry = self._metadata.topics[name]
            entry = TopicEntry(name, entry.id, entry.grown, dict(configs))
            await self._write(topic_entry(entry))
            self._metadata.topics[name] = entry
            topic = self._add_topic(entry, {}, {})
            for partition in topic.partitions:
                assert isinstance(partition, ClassicPartition)
                partition.set_config(config)

    async def delete_topic(self, name: str) -> None:
        """Gone when it returns; the space comes back a little later."""
        async with self._changing:
            topic = self._topics[name]
            await self._write({"deleted": name, "id": topic.id.hex()})
            del self._metadata.topics[name], self._topics[name], self._by_id[topic.id]
            partitions = [self._partitions.pop(TopicPartition(name, each.index)) for each in topic.partitions]
            for partition in partitions:
                partition.forget()
            await self._store.syncer.round_over()
            aside: list[str] = []
            slices = Slices(self._loop, self._clock)
            for partition in partitions:
                await slices.rest()
                await partition.quiet()
                to = _cut(name, f"-{partition.index}.{self._chance.token_bytes(16).hex()}-delete")
                self._disk.rename(partition.directory, to)
                aside.append(to)
                self._cleaned.pop(partition.at, None)
            await self._loop.in_thread(lambda: self._disk.sync_directory(""))
            await self._forget_offsets(partitions)
            self._store.remove_later(aside, 0)

    def _make_directory(self, partition: ClassicPartition) -> None:
        self._make_one(partition.directory, encode_partition_metadata(partition.topic_id).encode())

    def _make_one(self, directory: str, metadata: bytes) -> None:
        if self._disk.exists(directory):
            self._disk.remove(directory)  # of a creation that failed before it was answered
        self._disk.make_directory(directory)
        file = self._disk.open(f"{directory}/{PARTITION_METADATA}", create=True)
        file.append((metadata,))
        file.close()

    async def _write(self, entry: Mapping[str, Any]) -> None:
        """One line of both copies of the journal, durable when it returns: in either mode, it is rare enough."""
        await self._disk.sync(self._journal.append(entry))

    async def claim_producer_ids(self, count: int) -> range:
        async with self._changing:
            first = self._metadata.next_producer_id
            await self._write({"producer_ids": first + count})
            self._metadata.next_producer_id = first + count
            return range(first, first + count)

    async def keep_note(self, name: str, data: bytes) -> None:
        await self._loop.in_thread(lambda: write_file(self._disk, name, data))

    async def note(self, name: str) -> bytes | None:
        return read_file(self._disk, name)

    # In the background

    def _start_timers(self) -> None:
        config = self._config
        self._every(config.flush_interval_ms, "checkpoints", self._write_checkpoints)
        self._every(config.log_retention_check_interval_ms, "retention", self.run_retention)
        if config.log_cleaner_enable:
            self._every(config.log_cleaner_backoff_ms, "cleaner", self._clean_dirtiest)
        self._every(config.producer_id_expiration_check_interval_ms, "expiry", self._expire_producers)

    def _every(self, interval_ms: int, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        def run() -> None:
            settled(self._store.spawn(work(), name)).add_callback(lambda _: arm())

        def arm() -> None:
            if not self._store.stopping and not self.failed.done():
                self._timers[name] = self._loop.call_later(interval_ms, run)

        arm()

    async def _write_checkpoints(self) -> None:
        points = {each: each.recovery_point for each in self._partitions.values() if each.recovery_point}
        await self._keep(RECOVERY_POINTS, points)
        await sleep(self._loop, 0)
        watermarks = {
            each: each.state.high_watermark if each.loaded else each.recovery_point
            for each in self._partitions.values()
        }
        await self._keep(HIGH_WATERMARKS, watermarks)
        await sleep(self._loop, 0)
        await self._keep_log_starts()
        cleaned = {self._partitions[at]: end for at, end in self._cleaned.items() if at in self._partitions}
        await self._keep(CLEANED_OFFSETS, cleaned)

    async def _keep_log_starts(self) -> None:
        starts = {each: each.stored_log_start for each in self._partitions.values() if each.stored_log_start}
        await self._keep(LOG_START_OFFSETS, starts)

    async def _keep(self, name: str, offsets: dict[ClassicPartition, int]) -> None:
        """Replaces one checkpoint file if it would say something new. By partition, which is quicker to look up than
        its name: with 10,000 of them this is a millisecond or two of the loop."""
        async with self._keeping:
            if self._kept.get(name) != offsets:
                await self._loop.in_thread(
                    lambda: write_offsets(self._disk, name, {each.at: at for each, at in offsets.items()})
                )
                self._kept[name] = offsets

    async def _forget_offsets(self, gone: Sequence[ClassicPartition]) -> None:
        """A topic of the same name may come next: it must not meet the offsets of this one. Most files never had any."""
        async with self._keeping:
            kept = [self._kept.get(name) for name in (RECOVERY_POINTS, LOG_START_OFFSETS, CLEANED_OFFSETS)]
        if any(each is None or not each.keys().isdisjoint(gone) for each in kept):
            await self._write_checkpoints()

    async def run_retention(self) -> None:
        """Deletes what topic settings allow to delete. Runs by itself every log.retention.check.interval.ms.

        The new log starts are made durable once for all partitions, then segments go.
        """
        found: dict[ClassicPartition, int] = {}

        def begin(partition: ClassicPartition) -> None:
            start = partition.begin_retention()
            if start is not None:
                found[partition] = start

        await self._each(list(self._partitions.values()), begin)
        if found:
            await self._keep_log_starts()
            for partition in found:
                await partition.settled()
            await self._each(list(found), lambda each: each.end_retention(found[each]))

    async def run_cleaner(self, topic: str, partition: int) -> None:
        """Compacts one partition now, however little is dirty."""
        at = TopicPartition(topic, partition)
        found = worth_cleaning(self._partitions[at], self._cleaned.get(at, 0), forced=True)
        if found is not None:
            await self._clean(self._partitions[at], found)

    async def _clean_dirtiest(self) -> None:
        """Cleans what is worth it, the dirtiest log first, until nothing is. Runs by itself."""
        tried: set[TopicPartition] = set()
        while not self._store.stopping:
            candidates: list[tuple[bool, float, ClassicPartition, CleanRange]] = []

            def look(partition: ClassicPartition, into: list[Any] = candidates) -> None:
                found = worth_cleaning(partition, self._cleaned.get(partition.at, 0))
                if found is not None and not partition.cleaning:
                    into.append((found.must_clean, found.dirty_ratio, partition, found))

            compacted = [
                each
                for each in self._partitions.values()
                if "compact" in each.config.cleanup_policy and each.at not in tried
            ]
            await self._each(compacted, look)
            if not candidates:
                return
            _, _, partition, found = max(candidates, key=lambda each: (each[0], each[1]))
            tried.add(partition.at)
            await self._clean(partition, found)

    async def _clean(self, partition: ClassicPartition, found: CleanRange) -> None:
        if partition.cleaning or partition.deleted:
            return
        await self._write_checkpoints()  # recovery must not look into cleaned segments for unbroken offsets
        if partition.deleted:
            return

        async def work() -> None:
            end = await Cleaner(self._store, partition, found).run()
            if end is not None and not partition.deleted:
                self._cleaned[partition.at] = end

        await settled(partition.background(work(), "cleaner"))
        await self._write_checkpoints()

    async def _expire_producers(self) -> None:
        await self._each(list(self._partitions.values()), ClassicPartition.expire_producers)

    async def _each(
        self, partitions: Sequence[ClassicPartition], do: Callable[[ClassicPartition], object]
    ) -> None:
        """One after another, giving the loop back every few milliseconds. Nothing is made per partition: a garbage
        collection over 10,000 of them would cost more than the work."""
        slices = Slices(self._loop, self._clock)
        for partition in partitions:
            do(partition)
            await slices.rest()


def check_name(name: str) -> None:
    """The name becomes a directory: checked here again, whoever asks (T18)."""
    if not LEGAL_NAME.fullmatch(name) or name in (".", ".."):
        raise OncelogError(f"topic name: wanted 1 to 249 of a-z A-Z 0-9 . _ -, found {name!r}")


def _cut(topic: str, suffix: str) -> str:
    return topic[: NAME_LIMIT_BYTES - len(suffix)] + suffix
