"""Many seeds, and one seed again: what `oncelog sim` and the tests call."""

import gc
import hashlib
import multiprocessing
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from oncelog.sim.story import Story


@dataclass(slots=True)
class Result:
    """One seed: what happened, and what was wrong if anything was."""

    seed: int
    counts: Counter[str] = field(default_factory=Counter[str])
    digest: str = ""
    wrong: str = ""


def run_seed(seed: int, profile: str) -> Result:
    """Runs one seed to its end. A seed is wrong whatever it raised."""
    story = Story(seed, profile)
    try:
        outcome = story.run()
    except Exception as fault:  # noqa: BLE001  # told with its seed
        return Result(seed, story.counts, wrong=f"{type(fault).__name__}: {fault}")
    return Result(seed, outcome.counts, outcome.digest)


def _run_one(asked: tuple[int, str]) -> Result:
    result = run_seed(*asked)
    gc.collect()
    return result


def _look_for_no_garbage() -> None:
    gc.collect()
    gc.freeze()
    gc.disable()


@contextmanager
def little_garbage() -> Generator[None]:
    """A world is one big knot of references that lives for a tenth of a second. So garbage is looked for when one is over, by
    who asks for this, while the caches still hold it: in the middle most of it is alive, and later, with others, it takes
    three times as long. Never in what was there before."""
    was_on = gc.isenabled()
    _look_for_no_garbage()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()


def run_seeds(seeds: Iterable[int], profile: str, processes: int = 1) -> Iterator[Result]:
    """Results in the order of the seeds."""
    asked = [(seed, profile) for seed in seeds]
    with little_garbage():
        if processes <= 1:
            yield from map(_run_one, asked)
            return
        with multiprocessing.get_context("spawn").Pool(processes, _look_for_no_garbage) as pool:
            yield from pool.imap(_run_one, asked, chunksize=8)


def digest_of(results: Sequence[Result]) -> str:
    """One text for many seeds: the same on every machine, or something is not decided by the seed."""
    found = hashlib.sha256()
    for result in results:
        found.update(f"{result.seed} {result.digest}\n".encode())
    return found.hexdigest()
