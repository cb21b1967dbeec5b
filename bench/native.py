"""The compiled hot path (decision 0023) beside its sources: CPU of a whole broker, and what it gets done.

    python -m bench.native --rounds 6 --out bench/results

A broker of either form runs all the time; they are loaded in turns, in random order, one second each, after one second of warm-up for each. Needs
`make native`.
"""

import argparse
import json
import random
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.cost.load import Loaded, produce, transactions
from oncelog.cost.sides import OncelogSide
from tools.native import build

TOPIC: Final = "load"
PARTITIONS: Final = 12
SIDES: Final = ("sources", "compiled")


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    run: Callable[[str, float], Loaded]


def _transactions(producers: int, records: int) -> Case:
    return Case(
        f"transaction of {records:,} records of 1 KB, {producers} producers",
        lambda bootstrap, seconds: transactions(
            bootstrap,
            TOPIC,
            partitions=PARTITIONS,
            producers=producers,
            records=records,
            record_bytes=1024,
            seconds=seconds,
        ),
    )


def _produce(connections: int, inflight: int) -> Case:
    return Case(
        f"Produce of 16 KB, {connections} connections, {inflight} under way on each",
        lambda bootstrap, seconds: produce(
            bootstrap,
            TOPIC,
            partitions=PARTITIONS,
            connections=connections,
            inflight=inflight,
            record_bytes=1024,
            seconds=seconds,
        ),
    )


CASES: Final = (
    _transactions(50, 10),
    _transactions(200, 10),
    _transactions(10, 1000),
    _produce(1, 5),
    _produce(100, 1),
)


def measure(rounds: int, seconds: float, seed: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    sides = {name: OncelogSide(native=name == "compiled") for name in SIDES}
    runs: list[dict[str, Any]] = []
    try:
        for side in sides.values():
            side.start()
            with Cluster(side.bootstrap) as cluster:
                Admin(cluster).create_topic(TOPIC, partitions=PARTITIONS)
        for turn in range(-1, rounds):
            for case in CASES:
                for name in chance.sample(SIDES, len(SIDES)):
                    side = sides[name]
                    process = psutil.Process(side.process_id)
                    before = process.cpu_times()
                    loaded = case.run(side.bootstrap, seconds)
                    after = process.cpu_times()
                    if turn < 0:
                        continue  # warm-up
                    runs.append(
                        {
                            "case": case.name,
                            "side": name,
                            "round": turn,
                            "done_per_second": loaded.done / loaded.seconds,
                            "user_us": (after.user - before.user) / loaded.done * 1e6,
                            "system_us": (after.system - before.system) / loaded.done * 1e6,
                        }
                    )
    finally:
        for side in sides.values():
            side.stop()
    return runs


def table(runs: list[dict[str, Any]]) -> str:
    lines = [
        "| case | user, us | ratio | user + system, ratio | done a second | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for case in dict.fromkeys(each["case"] for each in runs):
        of = {
            name: sorted(
                (each for each in runs if each["case"] == case and each["side"] == name),
                key=lambda each: each["round"],
            )
            for name in SIDES
        }
        pairs = list(zip(of["sources"], of["compiled"], strict=True))
        user = [new["user_us"] / old["user_us"] for old, new in pairs]
        both = [
            (new["user_us"] + new["system_us"]) / (old["user_us"] + old["system_us"]) for old, new in pairs
        ]
        done = [new["done_per_second"] / old["done_per_second"] for old, new in pairs]
        old_us, new_us = (statistics.median(each["user_us"] for each in of[name]) for name in SIDES)
        old_done, new_done = (
            statistics.median(each["done_per_second"] for each in of[name]) for name in SIDES
        )
        lines.append(
            f"| {case} | {old_us:.0f} -> {new_us:.0f} | {_spread(user)} | {_spread(both)} "
            f"| {old_done:,.0f} -> {new_done:,.0f} | {_spread(done)} |"
        )
    return "\n".join(lines)


def _spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", help="write native.json there")
    asked = parser.parse_args()
    build()
    runs = measure(asked.rounds, asked.seconds, asked.seed)
    if asked.out:
        found = {"python": sys.version.split()[0], "rounds": asked.rounds, "runs": runs}
        (Path(asked.out) / "native.json").write_text(json.dumps(found, indent=1) + "\n")
    print(table(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
