"""Tells malloc to keep the memory of large buffers: a request of 1 MB would else be paid for by hundreds of page faults.

glibc gives a block of more than 128 KB back to the system as soon as it is freed, and gets the next one page by page. Receiving one
frame of 1 MB in pieces of 64 KB took 1.0 ms that way and 0.06 ms without (decision 0021). Elsewhere there is no such switch.
"""

import ctypes
from typing import Any, Final

TRIM_THRESHOLD: Final = -1  # of mallopt: how much free memory at the top is kept
MMAP_THRESHOLD: Final = -3  # from which size on a block is a mapping of its own
KEPT_BYTES: Final = 32 << 20  # glibc takes no more for the second one
LARGEST_KEPT_BYTES: Final = 8 << 20


def keep_large_blocks() -> bool:
    """Whether this system has the switch."""
    mallopt: Any = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(MMAP_THRESHOLD, LARGEST_KEPT_BYTES) and mallopt(TRIM_THRESHOLD, KEPT_BYTES))
