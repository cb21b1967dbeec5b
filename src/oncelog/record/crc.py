"""CRC-32C (Castagnoli), the checksum of batches and snapshots."""

from collections.abc import Callable
from typing import Any, Final, cast

import google_crc32c

# It takes nothing but bytes, and it says nothing about its types.
crc32c: Final = cast(Callable[[bytes], int], cast(Any, google_crc32c).value)
