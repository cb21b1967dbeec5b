"""What a transaction costs the broker as things grow: producers, partitions, open transactions, connections, log size.

The figure is CPU time of the broker's process per transaction (per request where connections grow), for it depends less on what
else the machine does than a rate; the rate stands beside it. Rounds go over all points of a curve, so that a slow
minute of the machine does not look like growth.
"""

import html
import statistics
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from oncelog import __version__
from oncelog.cost import drawing, load
from oncelog.cost.eos import BESIDE_S, FIRST_S, commit, create, first_transaction, machine, remove
from oncelog.cost.load import Loaded
from oncelog.cost.page_cache import PageCache
from oncelog.cost.progress import Progress
from oncelog.cost.sides import OncelogSide, OtherLoad, cpu_seconds

PRODUCERS: Final = 50
PARTITIONS: Final = 12
FILL_SECONDS: Final = 0.5
# What a point needs before its first run, about: a topic, its partitions' files, a log of so many megabytes.
PREPARE_S: Final = 0.2
PARTITION_S: Final = 0.001
MEGABYTE_S: Final = 0.002


@dataclass(frozen=True, slots=True)
class Curve:
    """`run` puts the load on at one point, whose topic `prepare` has filled; what `around` opens stays for its time."""

    name: str
    counts: str
    per: str
    points: Sequence[int]
    partitions: Callable[[int], int]
    run: Callable[[str, str, int, float], Loaded]
    prepare: Callable[[str, str, int], None] = lambda bootstrap, topic, point: None  # noqa: ARG005
    prepare_s: Callable[[int], float] = lambda point: PREPARE_S  # noqa: ARG005  # about, for who waits
    around: Callable[[str, str, int], Any] = lambda bootstrap, topic, point: nullcontext()  # noqa: ARG005


def _transactions(producers: int, partitions: int) -> Callable[[str, str, float], Loaded]:
    return lambda bootstrap, topic, seconds: load.transactions(
        bootstrap,
        topic,
        partitions=partitions,
        producers=producers,
        records=10,
        record_bytes=1024,
        seconds=seconds,
    )


def _produced(bootstrap: str, topic: str, connections: int, seconds: float) -> Loaded:
    return load.produce(
        bootstrap,
        topic,
        partitions=PARTITIONS,
        connections=connections,
        inflight=1,
        record_bytes=1024,
        seconds=seconds,
    )


@contextmanager
def _opened(bootstrap: str, topic: str, count: int) -> Generator[None]:
    if not count:
        yield
        return
    with load.open_transactions(bootstrap, topic, partitions=PARTITIONS, producers=count):
        yield


def _fill(bootstrap: str, topic: str, megabytes: int) -> None:
    left = megabytes * 1e6
    while left > 0:
        left -= load.produce(
            bootstrap,
            topic,
            partitions=PARTITIONS,
            connections=PARTITIONS,
            record_bytes=1024,
            batch_bytes=131_072,
            seconds=FILL_SECONDS,
        ).bytes


class Spread:
    """Each transaction goes to the next partition, and a run goes on where the one before it ended."""

    def __init__(self) -> None:
        self._reached: dict[str, int] = {}

    def run(self, bootstrap: str, topic: str, partitions: int, seconds: float) -> Loaded:
        first = self._reached.get(topic, 0)
        found = load.transactions(
            bootstrap,
            topic,
            partitions=partitions,
            producers=PRODUCERS,
            records=10,
            record_bytes=1024,
            seconds=seconds,
            first=first,
        )
        self._reached[topic] = max(found.reached, first)
        return found

    def visit(self, bootstrap: str, topic: str, partitions: int) -> None:
        """Writes to every partition: its files are made by its first batch. With fewer than there are producers any run does."""
        while partitions > PRODUCERS and self._reached.get(topic, 0) < partitions:
            self.run(bootstrap, topic, partitions, FILL_SECONDS)


def curves() -> list[Curve]:
    def twelve(point: int) -> int:  # noqa: ARG001
        return PARTITIONS

    steady = _transactions(PRODUCERS, PARTITIONS)
    spread = Spread()
    return [
        Curve(
            "producers",
            "producers",
            "transaction",
            (1, 10, 50, 200, 500),
            twelve,
            lambda bootstrap, topic, point, seconds: _transactions(point, PARTITIONS)(
                bootstrap, topic, seconds
            ),
        ),
        Curve(
            "partitions, each transaction goes to the next",
            "partitions",
            "transaction",
            (1, 10, 100, 1000, 10_000),
            lambda point: point,
            spread.run,
            spread.visit,
            lambda point: PREPARE_S + PARTITION_S * point,
        ),
        Curve(
            "transactions of others that stay open",
            "open transactions",
            "transaction",
            (0, 10, 100, 1000),
            twelve,
            lambda bootstrap, topic, point, seconds: steady(bootstrap, topic, seconds),  # noqa: ARG005
            around=_opened,
        ),
        Curve(
            "connections, one request in flight on each",
            "connections",
            "request of 16 KB",
            (1, 10, 100, 1000),
            twelve,
            _produced,
        ),
        Curve(
            "size of the log",
            "MB of log before",
            "transaction",
            (0, 256, 1024, 4096),
            twelve,
            lambda bootstrap, topic, point, seconds: steady(bootstrap, topic, seconds),  # noqa: ARG005
            _fill,
            lambda point: PREPARE_S + MEGABYTE_S * point,
        ),
    ]


def measure(
    *,
    rounds: int,
    seconds: float,
    tell: Callable[[str], None],
    only: str | None = None,
    largest: int = 10_000,
    page_cache: PageCache | None = None,
) -> dict[str, Any]:
    """All curves on oncelog. Points above `largest` are left out."""
    side = OncelogSide()
    runs: list[dict[str, Any]] = []
    drawn = [
        (curve, [point for point in curve.points if point <= largest])
        for curve in curves()
        if only is None or only in curve.name
    ]
    asked = [(curve, point) for curve, points in drawn for point in points]
    progress = Progress(
        tell, (rounds + 1) * len(asked), sum(expected_seconds(*each, rounds, seconds) for each in asked)
    )
    try:
        side.start()
        first_transaction(side.bootstrap)
        for number, (curve, points) in enumerate(drawn):
            topics = {point: f"scale-{number}-{point}" for point in points}
            for point, topic in topics.items():
                create(side.bootstrap, topic, curve.partitions(point))
                curve.prepare(side.bootstrap, topic, point)
                tell(f"{curve.name}: what {point:,} {curve.counts} need is there")
                progress.passed(curve.prepare_s(point))
            for turn in range(rounds + 1):
                for point in points if turn % 2 else reversed(points):
                    if page_cache is not None:
                        page_cache.fill()
                    lasts = seconds if turn else FIRST_S
                    run = _one(side, curve, topics[point], point, lasts)
                    cost = f"{run['cpu_us']:8,.0f} us per {curve.per}"
                    progress.step(f"{curve.name:48} {point:6,} {curve.counts:18} {cost}", lasts + BESIDE_S)
                    if turn:
                        runs.append({**run, "round": turn})
            for topic in topics.values():
                remove(side.bootstrap, topic)
    finally:
        side.stop()
    return {
        "machine": machine(),
        "oncelog": __version__,
        "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "commit": commit(),
        "rounds": rounds,
        "seconds": seconds,
        "side": side.described(),
        "runs": runs,
    }


def expected_seconds(curve: Curve, point: int, rounds: int, seconds: float) -> float:
    """Of one point on an idle machine: what it needs before, the round that is not kept, the rounds."""
    return curve.prepare_s(point) + FIRST_S + BESIDE_S + rounds * (seconds + BESIDE_S)


def _one(side: OncelogSide, curve: Curve, topic: str, point: int, seconds: float) -> dict[str, Any]:
    with curve.around(side.bootstrap, topic, point):
        noise = OtherLoad(side.process_id)
        before = cpu_seconds(side.process_id) or 0.0
        found = curve.run(side.bootstrap, topic, point, seconds)
        used = (cpu_seconds(side.process_id) or 0.0) - before
    return {
        "curve": curve.name,
        "counts": curve.counts,
        "per": curve.per,
        "point": point,
        "cpu_us": 1e6 * used / found.done,
        "other_load": noise.share(),
        **found.plain(),
    }


def markdown(found: dict[str, Any]) -> str:
    """A table for each curve: the median of the rounds, and the spread; and how much it is of the first point's of the same round, for the
    machine is not as fast in each."""
    lines: list[str] = []
    runs: list[dict[str, Any]] = found["runs"]
    for name in dict.fromkeys(str(each["curve"]) for each in runs):
        of_curve = [each for each in runs if each["curve"] == name]
        per = of_curve[0]["per"]
        lines += [
            "",
            f"**{name}**",
            "",
            f"| {of_curve[0]['counts']} | broker CPU per {per}, us | times the first point, same round | per second |",
        ]
        lines.append("|---|---|---|---|")
        times = growth(of_curve)
        for point in sorted({int(each["point"]) for each in of_curve}):
            of_point = [each for each in of_curve if each["point"] == point]
            cost = [each["cpu_us"] for each in of_point]
            rate = statistics.median(each["done"] / each["seconds"] for each in of_point)
            spread = f"{min(cost):,.0f}..{max(cost):,.0f}"
            grown = (
                f"{statistics.median(times[point]):.2f} ({min(times[point]):.2f}..{max(times[point]):.2f})"
            )
            lines.append(f"| {point:,} | {statistics.median(cost):,.0f} ({spread}) | {grown} | {rate:,.0f} |")
    others = [each["other_load"] for each in runs] or [0.0]
    lines.append("")
    lines.append(
        f"{found['rounds']} rounds of {found['seconds']:g} s, medians (smallest..largest); other load of the machine "
        f"{min(others):.2f} to {max(others):.2f} of all cores."
    )
    if found.get("when"):
        of = f", commit {found['commit']}" if found["commit"] else ""
        lines[-1] += f" Measured {found['when']}{of}; {found['side']}."
    return "\n".join(lines).lstrip("\n") + "\n"


def growth(runs: Sequence[Mapping[str, Any]]) -> dict[int, list[float]]:
    """Of one curve, for each point and round: its cost divided by that of the first point in the same round."""
    costs = {(int(each["point"]), int(each["round"])): float(each["cpu_us"]) for each in runs}
    first = min(point for point, _ in costs)
    found: dict[int, list[float]] = {}
    for (point, turn), cost in costs.items():
        if (first, turn) in costs:
            found.setdefault(point, []).append(cost / costs[first, turn])
    return found


WIDE, HIGH, LEFT, BELOW = 300, 170, 46, 34  # of one curve's picture


def chart(found: Mapping[str, Any]) -> str:
    """The curves side by side, the points evenly spaced: cost as a multiple of the first point's in the same round, medians as a line, the
    spread as bars. They begin at 0."""
    runs: list[dict[str, Any]] = found["runs"]
    names = list(dict.fromkeys(str(each["curve"]) for each in runs))
    wide, high = WIDE * min(len(names), 3), HIGH * -(-len(names) // 3)
    parts = [drawing.opened(wide, high, "What a transaction costs the broker as things grow", font=10)]
    for number, name in enumerate(names):
        left, top = WIDE * (number % 3), HIGH * (number // 3)
        parts.append(
            f'<g transform="translate({left} {top})">{_curve([r for r in runs if r["curve"] == name])}</g>'
        )
    return "".join(parts) + "</svg>\n"


def _curve(runs: Sequence[Mapping[str, Any]]) -> str:
    points = sorted({int(each["point"]) for each in runs})
    costs = growth(runs)
    top = 1.15 * max(max(each) for each in costs.values())
    step = (WIDE - LEFT - 20) / max(len(points) - 1, 1)

    def y(cost: float) -> float:
        return 26 + (HIGH - 26 - BELOW) * (1 - cost / top)

    title = html.escape(f"{runs[0]['curve']}: CPU per {runs[0]['per']}, times the first")
    parts = [f'<text x="4" y="14">{title}</text>']
    parts += [
        f'<line x1="{LEFT}" x2="{WIDE - 10}" y1="{y(at):.0f}" y2="{y(at):.0f}" class="grid"/>'
        f'<text x="{LEFT - 4}" y="{y(at) + 3:.0f}" text-anchor="end">{at:.1f}</text>'
        for at in (0, top / 2, top)
    ]
    line: list[str] = []
    for number, point in enumerate(points):
        x, found = LEFT + 5 + number * step, costs[point]
        line.append(f"{x:.0f},{y(statistics.median(found)):.0f}")
        parts.append(
            f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{y(min(found)):.0f}" y2="{y(max(found)):.0f}" class="spread"/>'
            f'<text x="{x:.0f}" y="{HIGH - BELOW + 14}" text-anchor="middle">{point:,}</text>'
        )
    parts.append(f'<polyline points="{" ".join(line)}" class="curve"/>')
    return "".join(parts) + f'<text x="{LEFT}" y="{HIGH - 6}">{html.escape(runs[0]["counts"])}</text>'
