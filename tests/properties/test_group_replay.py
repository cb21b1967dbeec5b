"""R10: whatever happens to groups, what is in memory is what the log says, also after compaction and a restart."""

import struct
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.errors import ErrorCode
from oncelog.group.classic import ClassicGroup, State
from oncelog.group.shard import Group, Shard
from oncelog.model import Producer, ProducerEpoch, ProducerId
from oncelog.record.batch import read_header, records_of
from oncelog.record.marker import read_marker
from oncelog.record.offsets import decode_key, decode_value
from oncelog.tasks import Task
from tests.unit.group_world import World
from tests.unit.test_group_classic import beat, deleted, join, leave, sync
from tests.unit.test_group_consumer import hb
from tests.unit.test_group_offsets import commit, delete, fetch, mark, txn_commit

GROUPS = ("g", "h")
INSTANCES = ("i", "j")
CONSUMERS = ("a", "b", "c")
PRODUCERS = tuple(Producer(ProducerId(each), ProducerEpoch(0)) for each in (0, 1))


def replayed(batches: list[bytes]) -> Shard:
    shard = Shard()
    for batch in batches:
        header = read_header(batch)
        if header.is_control:
            marker = read_marker(batch)
            assert marker is not None
            shard.end_transaction(header.producer_id, commit=marker.commit)
            continue
        for each in records_of(batch):
            assert each.key is not None
            key = decode_key(each.key)
            assert key is not None
            value = None if each.value is None else decode_value(key, each.value)
            shard.apply(each.offset, header.producer_id if header.is_transactional else -1, key, value)
    return shard


def kept(group: Group) -> Any:
    """What of a group must be in the log; of a classic group that is between two generations nothing is."""
    if not isinstance(group, ClassicGroup):
        return group
    if group.state not in (State.STABLE, State.EMPTY):
        return "rebalancing"
    members = {
        member.id: (
            member.instance_id,
            member.client_id,
            member.session_timeout_ms,
            member.rebalance_timeout_ms,
            member.metadata(group.protocol or ""),
            member.assignment,
        )
        for member in group.members.values()
    }
    return (group.state, group.generation, group.protocol_type, group.protocol, group.leader, members)


def assert_same(live: Shard, told: Shard) -> None:
    assert live.offsets == told.offsets
    assert sorted(live.groups) == sorted(told.groups)
    for group_id, group in live.groups.items():
        mine = kept(group)
        if mine != "rebalancing":
            assert mine == kept(told.groups[group_id])


class Life:
    """Random things that clients, administrators and time do to two groups in one partition."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.world = World(offsets_partitions=1, group_max_session_timeout_ms=3_600_000)
        self.members: dict[str, list[tuple[str, str | None]]] = {group: [] for group in GROUPS}
        self.transactions = True
        self.waiting: list[tuple[str, str | None, Task[Any]]] = []

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def step(self) -> None:
        group = self.pick(*GROUPS)
        act: Callable[[str], object] = self.pick(
            self.join_new,
            self.join_again,
            self.sync,
            self.settle,
            self.beat,
            self.leave,
            self.commit,
            self.txn_commit,
            self.mark,
            self.enter,
            self.consumer_beat,
            self.consumer_leave,
            self.delete_group,
            self.delete_offset,
            self.time,
            self.topics,
            self.hold,
        )
        act(group)
        self.collect()

    def collect(self) -> None:
        self.world.loop.run()
        for group, instance, task in list(self.waiting):
            if task.done():
                self.waiting.remove((group, instance, task))
                answer = task.result()
                if answer.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
                    self.members[group].append((answer.member_id, instance))

    def member(self, group: str) -> tuple[str, str | None]:
        return self.pick(("stranger", None), *self.members[group][-4:])

    def generation(self, group: str) -> int:
        found = self.world.shard(group).groups.get(group)
        return found.generation if isinstance(found, ClassicGroup) else 1

    def later(self, group: str, instance: str | None, coroutine: Any) -> None:
        self.waiting.append((group, instance, self.world.begin(coroutine)))

    def join_new(self, group: str) -> None:
        instance = self.pick(None, *INSTANCES)
        metadata = struct.pack(">hi", 0, 0) + self.pick(b"", b"x")
        self.later(
            group,
            instance,
            join(
                self.world,
                group,
                instance=instance,
                metadata=metadata,
                protocols=self.pick(("p",), ("p", "q"), ("q", "p")),
                version=self.pick(3, 9) if instance is None else 9,
                session_ms=self.pick(10_000, 20_000),
            ),
        )

    def join_again(self, group: str) -> None:
        member, instance = self.member(group)
        metadata = struct.pack(">hi", 0, 0) + self.pick(b"", b"x")
        how: dict[str, Any] = {"metadata": metadata, "protocols": self.pick(("p",), ("p", "q"))}
        self.later(group, instance, join(self.world, group, member, instance=instance, **how))

    def sync(self, group: str) -> None:
        member, instance = self.member(group)
        assignments = {each: each.encode() for each, _ in self.members[group]}
        how: dict[str, Any] = {"version": 4, "protocol": None, "protocol_type": None}
        self.world.begin(
            sync(
                self.world, member, self.generation(group), assignments, group=group, instance=instance, **how
            )
        )

    def settle(self, group: str) -> None:
        """Everybody does what a client does: rejoin, wait, sync."""
        found = self.world.shard(group).groups.get(group)
        if not isinstance(found, ClassicGroup) or self.held():
            return
        how: dict[str, Any] = {"metadata": struct.pack(">hi", 0, 0), "protocols": ("p",)}
        for member in list(found.members.values()):
            self.later(
                group,
                member.instance_id,
                join(self.world, group, member.id, instance=member.instance_id, **how),
            )
        self.world.loop.advance(60)
        self.collect()
        for member in list(found.members.values()):
            assignments = {each: each.encode() for each in found.members}
            old: dict[str, Any] = {"version": 4, "protocol": None, "protocol_type": None}
            self.world.begin(
                sync(
                    self.world,
                    member.id,
                    found.generation,
                    assignments,
                    group=group,
                    instance=member.instance_id,
                    **old,
                )
            )

    def beat(self, group: str) -> None:
        member, instance = self.member(group)
        beat(self.world, member, self.generation(group), group=group, instance=instance)

    def leave(self, group: str) -> None:
        if not self.held():
            leave(self.world, self.member(group), group=group)

    def held(self) -> bool:
        return self.world.log("g").held

    def commit(self, group: str) -> None:
        if self.held():
            return
        member, instance = self.pick(("", None), self.member(group))
        generation = self.generation(group) if member else -1
        commit(
            self.world,
            self.draw(st.integers(0, 99)),
            group=group,
            topic=self.pick("t", "u"),
            partition=self.pick(0, 1),
            member=member,
            instance=instance,
            generation=generation,
            metadata=self.pick("", "note", "x" * 5000),
            version=self.pick(4, 9),
            retention_ms=self.pick(-1, 60_000),
        )

    def txn_commit(self, group: str) -> None:
        if self.transactions and not self.held():
            txn_commit(self.world, self.draw(st.integers(0, 99)), self.pick(*PRODUCERS), group=group)

    def mark(self, group: str) -> None:
        if self.transactions and not self.held():
            mark(self.world, commit=self.pick(True, False), producer=self.pick(*PRODUCERS), group=group)

    def consumer(self, group: str, member: str) -> tuple[int, dict[str, tuple[int, ...]]]:
        """The epoch and the partitions that an honest client of this group has."""
        found = self.world.shard(group).groups.get(group)
        known = None if found is None or isinstance(found, ClassicGroup) else found.members.get(member)
        if known is None:
            return 1, {}
        names = {topic.id: topic.name for topic in self.world.engine.topics.values()}
        return known.epoch, {names[t]: tuple(p) for t, p in known.assigned.items() if t in names}

    def enter(self, group: str) -> None:
        if self.held():
            return
        how: dict[str, Any] = {
            "topics": self.pick(("t",), ("t", "u"), ("later",), ()),
            "regex": self.pick(None, "t", "u|later"),
        }
        hb(
            self.world,
            self.pick(*CONSUMERS),
            group=group,
            owned={},
            rebalance_ms=5000,
            instance=self.pick(None, *INSTANCES),
            assignor=self.pick(None, "range"),
            **how,
        )

    def consumer_beat(self, group: str) -> None:
        if self.held():
            return
        member = self.pick(*CONSUMERS)
        epoch, owned = self.consumer(group, member)
        how: dict[str, Any] = {"topics": self.pick(None, ("t",), ("u",)), "owned": self.pick(None, owned, {})}
        hb(
            self.world,
            member,
            epoch + self.pick(0, 0, 0, 1, -1),
            group=group,
            instance=self.pick(None, "i"),
            **how,
        )

    def consumer_leave(self, group: str) -> None:
        if not self.held():
            instance = self.pick(None, *INSTANCES)
            epoch = -1 if instance is None else self.pick(-1, -2)
            hb(self.world, self.pick(*CONSUMERS), epoch, group=group, instance=instance)

    def delete_group(self, group: str) -> None:
        if not self.held():
            deleted(self.world, group)

    def delete_offset(self, group: str) -> None:
        if not self.held():
            delete(self.world, 0, group=group, topic=self.pick("t", "u"))

    def time(self, _: str) -> None:
        if not self.held():
            self.world.loop.advance(self.pick(1, 30, 5_000, 11_000, 700_000, 8 * 86_400_000))

    def topics(self, _: str) -> None:
        if self.held():
            return
        topics = self.world.engine.topics
        name = self.pick("u", "later")
        if name in topics:
            topics.pop(name)
            self.world.call(self.world.groups.topic_deleted(name))
        else:
            self.world.engine.add_topic(name, self.pick(1, 2))
            self.world.groups.topics_changed()

    def hold(self, _: str) -> None:
        """The disk is slow for a while: what is written meanwhile is not answered."""
        log = self.world.log("g")
        log.held = not log.held
        if not log.held:
            log.sync()


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 40))
def test_live_state_is_replay_of_the_log_r10(data: st.DataObject, steps: int) -> None:
    life = Life(data.draw)
    for _ in range(steps):
        life.step()
        assert_same(life.world.shard("g"), replayed(life.world.log("g").batches))
    log = life.world.log("g")
    log.held = False
    log.sync()
    life.collect()
    before = replayed(log.batches)
    life.world.restart()
    after = life.world.shard("g")  # read with the short cuts of `Replay`
    assert after.offsets == before.offsets
    assert {g: kept(each) for g, each in after.groups.items()} == {
        g: kept(e) for g, e in before.groups.items()
    }
    for group in GROUPS:
        assert fetch(life.world, group=group, stable_only=True)[0] in (
            ErrorCode.NONE,
            ErrorCode.UNSTABLE_OFFSET_COMMIT,
        )


def compacted(batches: list[bytes]) -> list[tuple[int, bytes, bytes | None]]:
    """The last record of every key, in their order."""
    last: dict[bytes, tuple[int, bytes, bytes | None]] = {}
    for batch in batches:
        for each in records_of(batch):
            assert each.key is not None
            last[each.key] = (each.offset, each.key, each.value)
    return sorted(last.values())


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 40), st.booleans())
def test_a_compacted_log_says_the_same(data: st.DataObject, steps: int, tombstones_gone: bool) -> None:
    """Without transactions: those have markers, which the cleaner treats in a way of its own (spec 06)."""
    life = Life(data.draw)
    life.transactions = False
    for _ in range(steps):
        life.step()
    whole = replayed(life.world.log("g").batches)
    shard = Shard()
    for offset, key_bytes, value_bytes in compacted(life.world.log("g").batches):
        if value_bytes is None and tombstones_gone:
            continue
        key = decode_key(key_bytes)
        assert key is not None
        shard.apply(offset, -1, key, None if value_bytes is None else decode_value(key, value_bytes))
    assert shard.offsets == whole.offsets
    for group_id, group in whole.groups.items():
        if isinstance(group, ClassicGroup) and group.state_since == -1 and group_id not in whole.offsets:
            continue  # a simple group without offsets is nothing that the log keeps
        assert kept(group) == kept(shard.groups[group_id])
    assert not set(shard.groups) - set(whole.groups)
