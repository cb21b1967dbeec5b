"""What it costs that the broker keeps the last requests of each transactional id for the inspector (transaction.trace.requests).

    python -m bench.trace                   # 20 pairs of 3 s each, about 3 minutes
    python -m bench.trace --pairs 4 --seconds 1

Two brokers stand side by side, one with the trace and one without. Load goes to one, then to the other, in turns whose order
alternates; what counts is the CPU time of the broker for 1,000 transactions, which the other load of a shared machine changes
less than transactions a second. Each pair gives one ratio. Writes trace.json with every run.
"""

import argparse
import json
import statistics
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from oncelog.cost import load
from oncelog.cost.eos import create, first_transaction, machine
from oncelog.cost.sides import OncelogSide, OtherLoad, cpu_seconds

RESULTS = Path(__file__).parent / "results"
WITH, WITHOUT = "with the trace", "without"


def one(side: OncelogSide, topic: str, producers: int, seconds: float) -> dict[str, Any]:
    create(side.bootstrap, topic, 12)
    noise = OtherLoad(side.process_id)
    before = cpu_seconds(side.process_id)
    found = load.transactions(
        side.bootstrap,
        topic,
        partitions=12,
        producers=producers,
        records=10,
        record_bytes=1024,
        seconds=seconds,
    )
    after = cpu_seconds(side.process_id)
    assert before is not None
    assert after is not None
    return {
        "side": side.name,
        "cpu_ms_per_1000": (after - before) / found.done * 1e6,
        "per_second": found.done / found.seconds,
        "other_load": noise.share(),
        **asdict(found),
    }


def measure(pairs: int, seconds: float, producers: int) -> dict[str, Any]:
    kept, bare = OncelogSide(), OncelogSide(settings={"transaction.trace.requests": "0"})
    kept.name, bare.name = WITH, WITHOUT
    runs: list[dict[str, Any]] = []
    ratios: list[float] = []
    try:
        for side in (kept, bare):
            side.start()
            first_transaction(side.bootstrap)
            one(side, "warm", producers, min(seconds, 2.0))
        for pair in range(pairs):
            order = (kept, bare) if pair % 2 else (bare, kept)
            found = {each.name: one(each, f"pair-{pair}", producers, seconds) for each in order}
            runs += [{"pair": pair, **each} for each in found.values()]
            ratios.append(found[WITH]["cpu_ms_per_1000"] / found[WITHOUT]["cpu_ms_per_1000"])
            print(
                f"pair {pair:2}  with {found[WITH]['cpu_ms_per_1000']:6.1f} ms, without "
                f"{found[WITHOUT]['cpu_ms_per_1000']:6.1f} ms of CPU for 1,000 transactions",
                file=sys.stderr,
            )
    finally:
        kept.stop()
        bare.stop()
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {
        "machine": machine(),
        "command": f"python -m bench.trace --pairs {pairs} --seconds {seconds:g} --producers {producers}",
        "load": f"transactions of 10 records of 1 KB, {producers} producers, 12 partitions",
        "cpu_ratio": {"median": middle, "quartiles": [low, high]},
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
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--producers", type=int, default=10)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    found = measure(options.pairs, options.seconds, options.producers)
    (options.out / "trace.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    low, high = found["cpu_ratio"]["quartiles"]
    print(
        f"CPU with / without: {found['cpu_ratio']['median']:.4f} (half of the pairs {low:.4f} to {high:.4f})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
