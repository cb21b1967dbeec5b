"""How many files and sockets this process may have open, and who gets how many.

A broker that runs out of descriptors could neither accept a connection nor open a segment, and the second stops it. So
the files of the disk have their share, connections have theirs, and who comes when it is used up is refused.
"""

import resource
from dataclasses import dataclass
from typing import Final

MOST_FILES: Final = 4096  # more are opened and closed in turn
OTHERS: Final = (
    64  # one that is being refused, journal, checkpoints, syncs, the cleaner, the interpreter itself
)


@dataclass(frozen=True, slots=True)
class Shares:
    files: int
    connections: int


def raise_limit() -> None:
    """As much as the system allows without asking: shells hand out 1,024, where a broker may have thousands of clients."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def shares() -> Shares:
    """Of what this process may have open now."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return Shares(MOST_FILES, 2**31 - 1)
    files = min(MOST_FILES, limit // 4)
    return Shares(files, max(limit - files - OTHERS, 1))
