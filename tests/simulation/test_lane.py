"""Seeds play the same with the express lane (decision 0027) and without: the digest of a run is that of all that its clients were told.
Seeds as they are drawn play in both forms in the budget of `make test` (budget.py); here more of a seed is for the lane."""

from dataclasses import replace

import pytest

from oncelog.sim.clients import TV2
from oncelog.sim.plan import Plan, draw
from oncelog.sim.runs import little_garbage
from oncelog.sim.story import Story
from tests.simulation.lanes import why_not, with_lane

SEEDS = 24
LEAST_SERVED = 600


def plan_of(seed: int) -> Plan:
    """The plan of the seed, with fewer things that send a request the long way."""
    plan = draw(seed, "wire")
    settings = {
        **plan.settings,
        "durability": "process",
        "end.txn.reply": "complete",
        "transaction.version": "2",
        "log.segment.bytes": ("8192", "65536")[seed % 2],
        "transaction.state.log.segment.bytes": ("16384", "1048576")[seed // 2 % 2],
    }
    return replace(
        plan,
        settings=settings,
        power=False,
        sync_errors=False,
        slow_coordinator=0.0,
        writers=tuple(replace(writer, protocol=TV2) for writer in plan.writers),
        copiers=tuple(TV2 for _ in plan.copiers),
    )


def test_seeds_play_the_same_with_the_lane() -> None:
    missing = why_not()
    if missing is not None:
        pytest.skip(missing)
    with little_garbage():
        digests = [Story(seed, "wire", plan_of(seed)).run().digest for seed in range(SEEDS)]
        with with_lane() as lanes:
            for seed, digest in enumerate(digests):
                assert Story(seed, "wire", plan_of(seed)).run().digest == digest, seed
    assert sum(lane.served for lane in lanes) > LEAST_SERVED
