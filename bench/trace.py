"""What it costs that the broker keeps the last requests of each transactional id for the inspector (transaction.trace.requests).

    python -m bench.trace                   # 60 pairs of 1 s each, about 3 minutes
    python -m bench.trace --pairs 4

One broker in a process of its own, whose trace is taken away and given back between runs: two processes would differ by more than
what is measured. Load comes from outside, in pairs of runs whose order alternates. What counts is the CPU time of the broker
for 1,000 transactions, which the other load of a shared machine changes less than transactions a second. Each pair gives one
ratio. Writes trace.json with every run.
"""

import argparse
import json
import statistics
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import oncelog
from oncelog.cost import load
from oncelog.cost.eos import create, first_transaction, machine
from oncelog.cost.sides import OtherLoad, cpu_seconds

RESULTS = Path(__file__).parent / "results"
WITH, WITHOUT = "with the trace", "without"


class Switched:
    """The broker, and the switch of its trace."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.trace", "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.bootstrap = self._answer()

    @property
    def process_id(self) -> int:
        return self._process.pid

    def switch(self, name: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        self._answer()

    def stop(self) -> None:
        self._process.communicate("", timeout=60)

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def serve() -> int:
    """The other process: a line on stdin says whether connections from now on are traced."""
    with oncelog.Broker() as broker:
        ring = broker.run(lambda server: server.broker.ring)
        print(broker.bootstrap, flush=True)
        for line in sys.stdin:
            kept = ring if line.strip() == WITH else None
            broker.run(lambda server, kept=kept: setattr(server.broker, "ring", kept))
            print("done", flush=True)
    return 0


def one(broker: Switched, name: str, topic: str, producers: int, seconds: float) -> dict[str, Any]:
    broker.switch(name)
    create(broker.bootstrap, topic, 12)
    noise = OtherLoad(broker.process_id)
    before = cpu_seconds(broker.process_id)
    found = load.transactions(
        broker.bootstrap,
        topic,
        partitions=12,
        producers=producers,
        records=10,
        record_bytes=1024,
        seconds=seconds,
    )
    after = cpu_seconds(broker.process_id)
    assert before is not None
    assert after is not None
    return {
        "side": name,
        "cpu_ms_per_1000": (after - before) / found.done * 1e6,
        "per_second": found.done / found.seconds,
        "other_load": noise.share(),
        **asdict(found),
    }


def measure(pairs: int, seconds: float, producers: int) -> dict[str, Any]:
    broker = Switched()
    runs: list[dict[str, Any]] = []
    ratios: list[float] = []
    try:
        first_transaction(broker.bootstrap)
        for name in (WITH, WITHOUT):
            one(broker, name, f"warm-{name.replace(' ', '-')}", producers, seconds)
        for pair in range(pairs):
            order = (WITH, WITHOUT) if pair % 2 else (WITHOUT, WITH)
            found = {
                name: one(broker, name, f"pair-{pair}-{at}", producers, seconds)
                for at, name in enumerate(order)
            }
            runs += [{"pair": pair, **each} for each in found.values()]
            ratios.append(found[WITH]["cpu_ms_per_1000"] / found[WITHOUT]["cpu_ms_per_1000"])
            print(
                f"pair {pair:2}  with {found[WITH]['cpu_ms_per_1000']:6.1f} ms, without "
                f"{found[WITHOUT]['cpu_ms_per_1000']:6.1f} ms of CPU for 1,000 transactions",
                file=sys.stderr,
            )
    finally:
        broker.stop()
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {
        "machine": machine(),
        "command": f"python -m bench.trace --pairs {pairs} --seconds {seconds:g} --producers {producers}",
        "load": f"transactions of 10 records of 1 KB, {producers} producers, 12 partitions",
        "cpu_ratio": {
            "median": middle,
            "quartiles": [low, high],
            "of_sums": sum(each["cpu_ms_per_1000"] for each in runs if each["side"] == WITH)
            / sum(each["cpu_ms_per_1000"] for each in runs if each["side"] == WITHOUT),
        },
        "cpu_ms_per_1000": {
            name: statistics.median(each["cpu_ms_per_1000"] for each in runs if each["side"] == name)
            for name in (WITH, WITHOUT)
        },
        "per_second": {
            name: statistics.median(each["per_second"] for each in runs if each["side"] == name)
            for name in (WITH, WITHOUT)
        },
        "runs": runs,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--producers", type=int, default=10)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    found = measure(options.pairs, options.seconds, options.producers)
    (options.out / "trace.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    low, high = found["cpu_ratio"]["quartiles"]
    print(
        f"CPU with / without: {found['cpu_ratio']['median']:.4f} (half of the pairs {low:.4f} to {high:.4f})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
