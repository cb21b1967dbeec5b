"""Which aborted transactions a read_committed fetch must be told of (PS-11, RC-1)."""

from collections.abc import Iterable

from oncelog.record.aborted import AbortedEntry


def aborted_in(entries: Iterable[AbortedEntry], fetch_offset: int, upper_bound: int) -> list[tuple[int, int]]:
    """(producer id, first offset) of each aborted transaction with data or marker in [fetch_offset, upper_bound).

    `entries` come in marker order, from the segment of the fetch offset upward; the scan ends at the first entry after
    which nothing can reach below `upper_bound`. The answer is sorted by first offset: kafkajs trusts the order given.
    A transaction whose marker lies below the fetch offset must not be listed: it would hide committed data (RC-4).
    """
    found: list[tuple[int, int]] = []
    for entry in entries:
        if entry.last_offset >= fetch_offset and entry.first_offset < upper_bound:
            found.append((entry.first_offset, entry.producer_id))
        if entry.last_stable_offset >= upper_bound:
            break
    found.sort()
    return [(producer_id, first_offset) for first_offset, producer_id in found]
