"""Producer ids: blocks of 1000, each id once, the next block claimed before it is needed (TX-18, TRAP-13, TRAP-14, B60)."""

import random

import pytest

from oncelog.broker.producer_ids import BLOCK, ProducerIds
from oncelog.errors import StorageFault
from oncelog.sim.loop import VirtualLoop
from oncelog.tasks import spawn
from tests.unit.fakes import FakeEngine, Stage


def test_trap_13_the_first_producer_id_is_0() -> None:
    stage = Stage()
    ids = ProducerIds(stage.engine)
    assert [stage.run(ids.next()) for _ in range(3)] == [0, 1, 2]


def test_tx_18_the_next_block_is_claimed_when_a_tenth_is_left() -> None:
    stage = Stage()
    ids = ProducerIds(stage.engine)
    taken = stage.run_all([ids.next() for _ in range(BLOCK * 9 // 10 - 1)])
    assert stage.engine.claimed == BLOCK
    taken.append(stage.run(ids.next()))
    assert stage.engine.claimed == 2 * BLOCK
    assert taken == list(range(BLOCK * 9 // 10))


def test_trap_14_what_is_left_of_a_block_is_never_used_after_a_restart() -> None:
    stage = Stage()
    before = ProducerIds(stage.engine)
    assert stage.run(before.next()) == 0
    after = ProducerIds(stage.engine)
    assert stage.run(after.next()) == BLOCK


def test_b60_ten_thousand_at_once_get_an_id_each() -> None:
    stage = Stage()
    ids = ProducerIds(stage.engine)
    taken = stage.run_all([ids.next() for _ in range(10_000)], until_ms=60_000)
    assert sorted(taken) == list(range(10_000))


def test_tx_18_a_claim_that_fails_gives_nobody_an_id_and_is_tried_again() -> None:
    stage = Stage()
    ids = ProducerIds(stage.engine)
    stage.engine.claim_faults.append(StorageFault("the disk is full"))
    with pytest.raises(StorageFault):
        stage.run(ids.next())
    assert stage.run(ids.next()) == 0


def test_tx_18_whoever_waits_for_a_claim_that_was_cancelled_claims_for_itself() -> None:
    loop = VirtualLoop(random.Random(1))
    ids = ProducerIds(FakeEngine(loop))
    gone = spawn(loop, ids.next(), "gone")
    waiting = spawn(loop, ids.next(), "waiting")
    gone.cancel()
    while not waiting.done():
        assert loop.step()
    assert waiting.result() == 0
