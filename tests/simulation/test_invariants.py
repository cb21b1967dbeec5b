"""What the simulator reads out of the broker's bytes by itself."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.broker.groups import GroupCoordinator
from oncelog.broker.transactions import TransactionCoordinator
from oncelog.engine.classic import partition
from oncelog.engine.classic.segment import Place, Segment
from oncelog.errors import ErrorCode
from oncelog.group.offsets import GroupOffsets
from oncelog.log import state
from oncelog.model import Acks, Producer, TopicPartition
from oncelog.record.batch import CONTROL, NewRecord, build_batch, records_of
from oncelog.record.txn_state import TransactionPartitions, TransactionValue, encode_value
from oncelog.sim import invariants
from oncelog.sim.clients import Defect, Fenced
from oncelog.sim.clients import Producer as Client
from oncelog.sim.history import Send
from oncelog.sim.invariants import (
    Broken,
    Invariants,
    _stored,  # pyright: ignore[reportPrivateUsage]  # looked at from inside
    keys_and_values,
)
from oncelog.sim.plan import MAP, draw
from oncelog.sim.runs import run_seeds
from oncelog.sim.story import Story
from oncelog.txn.state import ENDING, Bump, Txn

ONGOING = 1
COMPACTED = [
    seed for seed in range(40) if MAP in draw(seed).topics and not draw(seed).rude and not draw(seed).forgets
]
PARTITIONS = st.lists(
    st.builds(
        TransactionPartitions,
        topic=st.sampled_from([1, 126, 127, 128, 249]).map("t".__mul__),
        partition_ids=st.lists(st.integers(0, 9), max_size=3) | st.just(list(range(130))),
    ),
    max_size=3,
)


@pytest.mark.parametrize("version", [0, 1])
@given(partitions=st.none() | PARTITIONS, started=st.integers(-1, 1 << 62), tagged=st.booleans())
def test_the_start_of_a_transaction_is_found_behind_its_partitions(
    version: int, partitions: list[TransactionPartitions] | None, started: int, tagged: bool
) -> None:
    value = TransactionValue(
        producer_id=7,
        producer_epoch=3,
        timeout_ms=1_000,
        status=ONGOING,
        partitions=partitions,
        last_update_timestamp=5,
        start_timestamp=started,
        previous_producer_id=6 if tagged and version else -1,
        client_transaction_version=2 if tagged and version else 0,
    )
    assert _stored(encode_value(value, version)).started_ms == started


SOME_BYTES = st.none() | st.binary(max_size=3) | st.integers(60, 20_000).map(bytes)


@given(records=st.lists(st.tuples(SOME_BYTES, SOME_BYTES, st.integers(0, 1 << 40)), min_size=1, max_size=70))
def test_keys_and_values_of_a_batch_are_those_that_the_broker_reads(
    records: list[tuple[bytes | None, bytes | None, int]],
) -> None:
    batch = build_batch([NewRecord(key, value, at) for key, value, at in records])
    assert list(keys_and_values(batch)) == [(each.key, each.value) for each in records_of(batch)]


def found_in(seeds: Iterable[int]) -> str:
    """What the first of these seeds says that breaks a promise."""
    return next((result.wrong for result in run_seeds(seeds, "core") if result.wrong), "")


def test_8_a_decision_that_was_not_durable_when_its_markers_were_written_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write = TransactionCoordinator.write_record

    async def hasty(
        self: TransactionCoordinator, record: Txn, acks: Acks = Acks.ALL, bump: Bump | None = None
    ) -> ErrorCode:
        return await write(self, record, Acks.LEADER if record.state in ENDING else acks, bump)

    monkeypatch.setattr(TransactionCoordinator, "write_record", hasty)
    assert "8: " in found_in(range(8))
    assert "is not durable" in found_in(range(8))


@pytest.mark.parametrize(
    ("turned", "why"), [(True, "8: .* decided was"), (False, "8: .* is complete, and in .* its transaction")]
)
def test_8_a_marker_of_the_other_kind_or_none_is_found(
    turned: bool, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = TransactionCoordinator.write_marker

    async def wrong(
        self: TransactionCoordinator, where: TopicPartition, producer: Producer, *, commit: bool, **more: Any
    ) -> ErrorCode:
        if turned:
            return await write(self, where, producer, commit=not commit, **more)
        return ErrorCode.NONE

    monkeypatch.setattr(TransactionCoordinator, "write_marker", wrong)
    assert re.search(why, found_in(range(8)))


def test_14_a_transaction_whose_end_is_gone_from_the_log_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(2)
    story.run()
    machine = story.world.machine
    story.invariants.check_logs(machine)
    read = invariants.batches_from

    def without_ends(segment: Segment, position: int) -> Iterator[bytes]:
        return (batch for batch in read(segment, position) if not batch[22] & CONTROL)

    monkeypatch.setattr(invariants, "batches_from", without_ends)
    with pytest.raises(Broken, match=r"14: .* have no end in the log"):
        story.invariants.check_logs(machine)


def test_2_an_index_that_leads_too_far_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(2)
    story.run()
    find = Segment.find

    def too_far(segment: Segment, offset: int) -> Place | None:
        found = find(segment, offset)
        return found if found is None or offset % 3 else find(segment, found.last_offset + 1) or found

    monkeypatch.setattr(Segment, "find", too_far)
    with pytest.raises(Broken, match=r"2: .* who looks for .* finds"):
        story.invariants.check_logs(story.world.machine)


def test_16_an_id_that_can_commit_no_more_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    end = Client.end

    async def refused(self: Client, *, commit: bool) -> None:
        if " at last " in self.process:
            raise Fenced("for ever")
        await end(self, commit=commit)

    monkeypatch.setattr(Client, "end", refused)
    with pytest.raises(Defect, match="could not commit after all faults: for ever"):
        Story(0).run()


@pytest.mark.parametrize(
    ("looks_stable", "why"),
    [
        (True, "15: .* was answered NONE, a transaction holds a newer position"),
        (False, "15: .* was answered UNSTABLE_OFFSET_COMMIT, none holds a newer position"),
    ],
)
def test_15_a_position_that_looks_stable_too_early_or_too_late_is_found(
    looks_stable: bool, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(self: GroupOffsets, topic: str, partition: int) -> bool:  # noqa: ARG001  # as it is called
        return not looks_stable and bool(self.pending)  # of any partition

    monkeypatch.setattr(GroupOffsets, "is_unstable", wrong)
    assert re.search(why, found_in(range(16)))


def test_8_a_marker_that_is_missing_among_the_positions_of_groups_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That log is compacted; it had no shadow."""
    write = GroupCoordinator.write_marker

    async def none_written(self: GroupCoordinator, partition: int, **asked: Any) -> ErrorCode:
        if asked["commit"]:
            return ErrorCode.NONE
        return await write(self, partition, **asked)

    monkeypatch.setattr(GroupCoordinator, "write_marker", none_written)
    assert re.search(r"8: .* is complete, and in __consumer_offsets-", found_in(range(8)))


def test_8_markers_are_held_against_decisions_in_seeds_whose_ids_expire_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write = TransactionCoordinator.write_marker

    async def turned(
        self: TransactionCoordinator, where: TopicPartition, producer: Producer, *, commit: bool, **more: Any
    ) -> ErrorCode:
        return await write(self, where, producer, commit=not commit, **more)

    monkeypatch.setattr(TransactionCoordinator, "write_marker", turned)
    seeds = [seed for seed in range(60) if draw(seed).expiry][:3]
    assert len(seeds) == 3
    for seed in seeds:
        assert re.search("8: .* decided was", found_in(range(seed, seed + 1)))


def test_6_a_gap_in_the_sequences_of_a_compacted_log_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = Client._batch  # pyright: ignore[reportPrivateUsage]

    def later(self: Client, op: Send) -> bytes:
        sequences = self._sequences  # pyright: ignore[reportPrivateUsage]
        if op.partition.startswith(MAP):
            sequences[op.partition] = sequences.get(op.partition, 0) + 100
        return batch(self, op)

    monkeypatch.setattr(Client, "_batch", later)
    monkeypatch.setattr(state, "_check_sequence", lambda *_: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert re.search("6: map-0 .* wanted", found_in(COMPACTED))


def test_g1c_transactions_that_read_from_each_other_before_they_are_committed_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the history alone, of a broker whose read_committed readers see what is undecided."""
    monkeypatch.setattr(partition, "last_stable_offset", lambda of: of.high_watermark)  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType, reportUnknownArgumentType]
    monkeypatch.setattr(Invariants, "_look", lambda *_: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    found: set[str] = set()
    for seed in (4, 5):
        story = Story(seed, plan=replace(draw(seed), asks=1.0))
        with suppress(AssertionError):
            story.run()
        found |= {each.kind for each in story.checker.finish()}
    assert found >= {"early-read", "G1c", "precommitted-read"}
