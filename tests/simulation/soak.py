"""The simulator for hours: `make sim-soak HOURS=n`. Prints what it came to as one JSON line a minute, and ends at the first
seed that breaks a promise."""

import argparse
import json
import sys
import time
from collections import Counter
from itertools import count

from oncelog.sim.runs import run_seeds

BLOCK = 200


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--from", dest="first", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--profile", choices=("core", "wire"), default="core")
    asked = parser.parse_args()
    total: Counter[str] = Counter()
    began = said = time.monotonic()
    for block in count():
        first = asked.first + block * BLOCK
        for result in run_seeds(range(first, first + BLOCK), asked.profile, asked.jobs):
            total += result.counts
            total["seeds"] += 1
            if result.wrong:
                sys.stdout.write(f"oncelog sim {result.seed} --profile {asked.profile}: {result.wrong}\n")
                return 1
        total["transactions"] = total["committed"] + total["aborted"] + total["copied"]
        now = time.monotonic()
        over = now - began >= asked.hours * 3600
        if over or now - said >= 60:
            said = now
            sys.stdout.write(json.dumps({"seconds": round(now - began), **total}) + "\n")
            sys.stdout.flush()
        if over:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
