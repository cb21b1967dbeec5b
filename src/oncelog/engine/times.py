"""How long something took, counted in buckets: cheap enough for every request."""

from typing import Final

BUCKETS: Final = 64  # of nanoseconds as 64-bit numbers: nobody has to look whether a time fits


class Times:
    """Bucket n counts the times below 2**n nanoseconds that are not in a bucket before."""

    __slots__ = ("counts", "max_ns", "sum_ns")

    def __init__(self) -> None:
        self.counts = [0] * BUCKETS
        self.sum_ns = 0
        self.max_ns = 0

    def add(self, ns: int) -> None:
        self.counts[ns.bit_length()] += 1
        self.sum_ns += ns
        if ns > self.max_ns:
            self.max_ns = ns

    @property
    def count(self) -> int:
        return sum(self.counts)
