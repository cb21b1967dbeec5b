"""What it costs over real sockets that the broker keeps the last requests of each transactional id (transaction.trace.requests).

    python -m bench.trace_wire              # 8 brokers, 12 rounds with each: less than 4 minutes

Ten transactional producers over TCP, ten records of 1 KB a transaction, as fast as answers come (oncelog/cost/loadgen.c). Two processes of the
same code differ by some percent by the luck of their memory, so both sides are one process: between two runs of the load the
broker is told to keep requests or not to, which counts for connections that are made from then on. A round is four short runs, with,
without, without, with, and the next round the other way about: what only drifts (the heap, the clock of the cores, other load that comes and
goes slowly) falls on both sides alike. The figure is the median over all rounds, with a 95 % interval that redraws brokers and, of each,
rounds. CPU of the broker for a transaction, from the scheduler's own nanoseconds, is what other load of the machine changes least;
transactions a second stand beside it. Where the interval is wider than 3 %, or others used more than a quarter of the cores, the result says
that it cannot tell. Writes trace_wire.json with every round.
"""

import argparse
import gc
import json
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import oncelog
from oncelog.cost import load
from oncelog.cost.eos import machine
from oncelog.cost.sides import OtherLoad
from oncelog.server.main import GARBAGE, Server
from oncelog.server.memory import keep_large_blocks

RESULTS: Final = Path(__file__).parent / "results"
WITH, WITHOUT = "with the trace", "without"
PRODUCERS: Final = 10
RECORDS: Final = 10
RECORD_BYTES: Final = 1000
WARM_S: Final = 1.0  # fills the rings
DRAWS: Final = 2000
ORDER: Final = (WITH, WITHOUT, WITHOUT, WITH)
WIDEST: Final = 0.03  # of an interval that tells something about a limit of 3 %
QUIET_SHARE: Final = 0.25
Round = dict[str, dict[str, float]]
Brokers = Sequence[Sequence[Round]]


def serve() -> int:
    """The broker's process: says its address, then obeys lines that name a side."""
    keep_large_blocks()
    with oncelog.Broker() as broker:
        broker.topic("out", partitions=PRODUCERS)
        gc.freeze()  # as `oncelog serve` does
        gc.set_threshold(*GARBAGE)
        ring = broker.run(lambda server: server.broker.ring)

        def switch(server: Server, side: str) -> None:
            server.broker.ring = ring if side == WITH else None

        print(broker.bootstrap, flush=True)
        for side in map(str.strip, sys.stdin):
            broker.run(lambda server, side=side: switch(server, side))
            print("done", flush=True)
    return 0


class Switched:
    """The broker from outside."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._bootstrap = self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def loaded(self, side: str, seconds: float) -> dict[str, float]:
        assert self._process.stdin is not None
        self._process.stdin.write(side + "\n")
        self._process.stdin.flush()
        assert self._line() == "done"
        noise, before = OtherLoad(self._process.pid), cpu_ns(self._process.pid)
        done = load.transactions(
            self._bootstrap,
            "out",
            partitions=PRODUCERS,
            producers=PRODUCERS,
            records=RECORDS,
            record_bytes=RECORD_BYTES,
            seconds=seconds,
        )
        used = cpu_ns(self._process.pid) - before
        return {
            "transactions": done.done,
            "seconds": done.seconds,
            "cpu_us": used / 1000,
            "other_load_share": noise.share(),
        }


@contextmanager
def switched() -> Generator[Switched]:
    words = [sys.executable, "-m", "bench.trace_wire", "--broker"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Switched(process)
        assert process.stdin is not None
        process.stdin.close()


def cpu_ns(process_id: int) -> int:
    """What all threads of a process ran on a core, by the scheduler's count."""
    tasks = Path(f"/proc/{process_id}/task").iterdir()
    return sum(int((each / "schedstat").read_text().split()[0]) for each in tasks)


def rounds_of_one(rounds: int, seconds: float) -> list[Round]:
    with switched() as broker:
        for side in (WITH, WITHOUT):
            broker.loaded(side, WARM_S)
        found: list[Round] = []
        for number in range(rounds):
            order = ORDER if number % 2 else ORDER[2:] + ORDER[:2]
            runs = [(side, broker.loaded(side, seconds)) for side in order]
            found.append(
                {each: _sum([run for side, run in runs if side == each]) for each in (WITH, WITHOUT)}
            )
        return found


def _sum(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    """Runs of one side as one."""
    done = sum(each["transactions"] for each in runs)
    return {
        "transactions_per_second": done / sum(each["seconds"] for each in runs),
        "broker_cpu_us": sum(each["cpu_us"] for each in runs) / done,
        "other_load_share": statistics.mean(each["other_load_share"] for each in runs),
    }


def cpu_ratio(each: Round) -> float:
    return each[WITH]["broker_cpu_us"] / each[WITHOUT]["broker_cpu_us"]


def time_ratio(each: Round) -> float:
    """How many times longer a transaction takes, by transactions a second."""
    return each[WITHOUT]["transactions_per_second"] / each[WITH]["transactions_per_second"]


def middle(brokers: Brokers, ratio: Callable[[Round], float]) -> dict[str, Any]:
    """The median over all rounds, the quartiles, and the 95 % interval of the median."""
    low, median, high = statistics.quantiles([ratio(each) for one in brokers for each in one], n=4)
    dice = random.Random(8)
    ratios = [[ratio(each) for each in one] for one in brokers]
    drawn = sorted(
        statistics.median(
            each for one in dice.choices(ratios, k=len(ratios)) for each in dice.choices(one, k=len(one))
        )
        for _ in range(DRAWS)
    )
    return {
        "median": median,
        "quartiles": [low, high],
        "interval_95": [drawn[DRAWS * 25 // 1000], drawn[DRAWS * 975 // 1000]],
    }


def measure(count: int, rounds: int, seconds: float) -> dict[str, Any]:
    brokers: list[list[Round]] = []
    for number in range(count):
        brokers.append(rounds_of_one(rounds, seconds))
        ratios = [cpu_ratio(each) for each in brokers[-1]]
        print(f"broker {number + 1} of {count}: CPU {statistics.median(ratios):.3f}", file=sys.stderr)
    flat = [each for one in brokers for each in one]
    names = ("transactions_per_second", "broker_cpu_us", "other_load_share")
    return {
        "machine": machine(),
        "command": f"python -m bench.trace_wire --brokers {count} --rounds {rounds} --seconds {seconds:g}",
        "load": f"{PRODUCERS} producers over TCP, transactions of {RECORDS} records of {RECORD_BYTES} bytes",
        "cpu_ratio": middle(brokers, cpu_ratio),
        "time_ratio": middle(brokers, time_ratio),
        "medians": {
            side: {name: statistics.median(each[side][name] for each in flat) for name in names}
            for side in (WITH, WITHOUT)
        },
        "brokers": brokers,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--broker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--brokers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each of a round's four runs")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.broker:
        return serve()
    found = measure(options.brokers, options.rounds, options.seconds)
    (options.out / "trace_wire.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for name, text in (("cpu_ratio", "broker CPU"), ("time_ratio", "time of a transaction")):
        each = found[name]
        spread = " to ".join(f"{end:.3f}" for end in each["interval_95"])
        half = " to ".join(f"{end:.3f}" for end in each["quartiles"])
        print(f"{text}, with / without: {each['median']:.3f} (95 %: {spread}; half of the rounds {half})")
        if each["interval_95"][1] - each["interval_95"][0] > WIDEST:
            print(f"  wider than {WIDEST:.0%}: it cannot tell; more --brokers, or a quieter machine")
    if max(each["other_load_share"] for each in found["medians"].values()) > QUIET_SHARE:
        print(f"others used more than {QUIET_SHARE:.0%} of the cores: a look, not a measurement")
    for side, numbers in found["medians"].items():
        print(side, {name: round(value, 4) for name, value in numbers.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
