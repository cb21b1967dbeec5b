"""Seeds play the same with the express lane (decision 0027) and without: the digest of a run is that of all that its clients were told."""

from dataclasses import replace
from typing import Any

import pytest

from oncelog.broker.runtime import Runtime
from oncelog.server.build import CannotBuild, load
from oncelog.server.lane import PARTS
from oncelog.sim.clients import TV2
from oncelog.sim.plan import Plan, draw
from oncelog.sim.runs import little_garbage
from oncelog.sim.story import Story

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


def test_seeds_play_the_same_with_the_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        module = load("lane")
    except CannotBuild as why:
        pytest.skip(str(why))
    lanes: list[Any] = []
    plain = Runtime.__init__

    def with_lane(self: Runtime, **given: Any) -> None:
        plain(self, **given)
        self.lane = module.Lane(self, PARTS)
        lanes.append(self.lane)

    with little_garbage():
        digests = [Story(seed, "wire", plan_of(seed)).run().digest for seed in range(SEEDS)]
        monkeypatch.setattr(Runtime, "__init__", with_lane)
        for seed, digest in enumerate(digests):
            assert Story(seed, "wire", plan_of(seed)).run().digest == digest, seed
    assert sum(lane.served for lane in lanes) > LEAST_SERVED
