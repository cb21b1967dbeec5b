"""What it costs over real sockets that the broker keeps the last requests of each transactional id (transaction.trace.requests).

    python -m bench.trace_wire                      # 8 brokers, 12 rounds with each, for both hot paths: less than 8 minutes
    python -m bench.trace_wire --hot-path native    # of one alone

Ten transactional producers over TCP, ten records of 1 KB a transaction, as fast as answers come (oncelog/cost/loadgen.c). Two processes of the
same code differ by some percent by the luck of their memory, so both sides are one process: between two runs of the load the
broker is told to keep requests or not to, which counts for connections that are made from then on; the lane of hot.path=native is made
anew, for it looks at the record only then. After each run the broker says what it kept and what its lane served: a run that was not what it is
counted as ends the measurement. A round is four short runs, with,
without, without, with, and the next round the other way about: what only drifts (the heap, the clock of the cores, other load that comes and
goes slowly) falls on both sides alike. The figure is the median over all rounds, with a 95 % interval that redraws brokers and, of each,
rounds. CPU of the broker for a transaction, from the scheduler's own nanoseconds, is what other load of the machine changes least;
transactions a second stand beside it. Where the interval is wider than 3 %, or others used more than a quarter of the cores, the result says
that it cannot tell. Writes trace_wire.json (hot.path=python) and trace_wire-native.json with every round.
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
from oncelog.errors import OncelogError
from oncelog.server.lane import lane_of
from oncelog.server.main import GARBAGE, Server
from oncelog.server.memory import keep_large_blocks

RESULTS: Final = Path(__file__).parent / "results"
WITH, WITHOUT = "with the trace", "without"
PYTHON, NATIVE = "python", "native"  # hot.path
FILES: Final = {PYTHON: "trace_wire.json", NATIVE: "trace_wire-native.json"}
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


class Watched:
    """The broker, what it was told to do, and what it did since then."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._ring = server.broker.ring
        self._kept = 0

    def switch(self, side: str) -> None:
        """For connections that are made from now on."""
        broker = self._server.broker
        broker.ring = self._ring if side == WITH else None
        if broker.lane is not None:
            broker.lane = lane_of(broker)  # one looks at the ring when it is made
        self._kept = self._noted()

    def _noted(self) -> int:
        if self._ring is None:
            return 0
        self._ring.sort()
        return self._ring._number  # pyright: ignore[reportPrivateUsage]

    def did(self) -> dict[str, int]:
        """Requests that it kept, and that its lane served, since the last switch."""
        lane: Any = self._server.broker.lane
        return {"kept": self._noted() - self._kept, "served": 0 if lane is None else lane.served}


def serve(hot_path: str) -> int:
    """The broker's process: says its address, then obeys lines that name a side and answers the others with what it did."""
    keep_large_blocks()
    with oncelog.Broker(settings={"hot.path": hot_path}) as broker:
        broker.topic("out", partitions=PRODUCERS)
        gc.freeze()  # as `oncelog serve` does
        gc.set_threshold(*GARBAGE)
        watched = broker.run(Watched)
        print(broker.bootstrap, flush=True)
        for asked in map(str.strip, sys.stdin):
            if asked in (WITH, WITHOUT):
                broker.run(lambda _, side=asked: watched.switch(side))
            print(json.dumps(broker.run(lambda _: watched.did())), flush=True)
    return 0


class Switched:
    """The broker from outside."""

    def __init__(self, process: "subprocess.Popen[str]", hot_path: str) -> None:
        self._process = process
        self._hot_path = hot_path
        self._bootstrap = self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def _told(self, line: str) -> dict[str, int]:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        found: dict[str, int] = json.loads(self._line())
        return found

    def loaded(self, side: str, seconds: float) -> dict[str, float]:
        self._told(side)
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
        other = noise.share()
        check(self._hot_path, side, done.done, **self._told("what did you do?"))
        return {
            "transactions": done.done,
            "seconds": done.seconds,
            "cpu_us": used / 1000,
            "other_load_share": other,
        }


def check(hot_path: str, side: str, transactions: int, *, kept: int, served: int) -> None:
    """That the broker did what a run is counted as: a transaction is two requests at least, which are kept or are not, and which
    the lane serves (most of them: half at least) or Python."""
    is_kept = kept >= 2 * transactions if side == WITH else kept == 0
    is_served = served >= transactions if hot_path == NATIVE else served == 0
    if is_kept and is_served:
        return
    raise OncelogError(
        f"hot.path={hot_path}, {side}: {transactions} transactions, of which the broker kept {kept} requests and its lane served {served}"
    )


@contextmanager
def switched(hot_path: str) -> Generator[Switched]:
    words = [sys.executable, "-m", "bench.trace_wire", "--broker", "--hot-path", hot_path]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Switched(process, hot_path)
        assert process.stdin is not None
        process.stdin.close()


def cpu_ns(process_id: int) -> int:
    """What all threads of a process ran on a core, by the scheduler's count."""
    tasks = Path(f"/proc/{process_id}/task").iterdir()
    return sum(int((each / "schedstat").read_text().split()[0]) for each in tasks)


def rounds_of_one(hot_path: str, rounds: int, seconds: float) -> list[Round]:
    with switched(hot_path) as broker:
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


def measure(hot_path: str, count: int, rounds: int, seconds: float) -> dict[str, Any]:
    brokers: list[list[Round]] = []
    for number in range(count):
        brokers.append(rounds_of_one(hot_path, rounds, seconds))
        ratios = [cpu_ratio(each) for each in brokers[-1]]
        print(
            f"{hot_path}, broker {number + 1} of {count}: CPU {statistics.median(ratios):.3f}",
            file=sys.stderr,
        )
    flat = [each for one in brokers for each in one]
    names = ("transactions_per_second", "broker_cpu_us", "other_load_share")
    return {
        "machine": machine(),
        "command": f"python -m bench.trace_wire --hot-path {hot_path} --brokers {count} --rounds {rounds} --seconds {seconds:g}",
        "hot_path": hot_path,
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
    parser.add_argument("--hot-path", choices=(PYTHON, NATIVE), help="default: one after the other")
    parser.add_argument("--brokers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each of a round's four runs")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.broker:
        return serve(options.hot_path)
    for each in (PYTHON, NATIVE) if options.hot_path is None else (options.hot_path,):
        found = measure(each, options.brokers, options.rounds, options.seconds)
        (options.out / FILES[each]).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"hot.path={each}")
        tell(found)
    return 0


def tell(found: dict[str, Any]) -> None:
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


if __name__ == "__main__":
    sys.exit(main())
