"""Hands out producer ids, each once and never again: blocks claimed durably from the engine (TX-18, TRAP-14).

What is left of a block when the process ends is never used: the next start claims a new one.
"""

from collections import deque
from typing import Final

from oncelog.engine.port import Engine
from oncelog.model import ProducerId
from oncelog.tasks import Gate

BLOCK: Final = 1000
CLAIM_MORE_AT: Final = BLOCK // 10  # ids left when the next block is claimed


class ProducerIds:
    """Who takes the id that leaves 10 % of the block waits for the next block to be claimed; nobody else does."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._left: deque[int] = deque()
        self._claiming = False
        self._claimed = Gate()

    async def next(self) -> ProducerId:
        """An id that nobody had before, also before a crash. 0 is the first of all (TRAP-13)."""
        while not self._left:
            if self._claiming:
                await self._claimed.wait()
            else:
                await self._claim()
        taken = ProducerId(self._left.popleft())
        if len(self._left) <= CLAIM_MORE_AT and not self._claiming:
            await self._claim()
        return taken

    async def _claim(self) -> None:
        self._claiming = True
        try:
            block = await self._engine.claim_producer_ids(BLOCK)
            self._left.extend(block)
        finally:  # whoever waits looks again: after a fault it claims for itself
            self._claiming = False
            self._claimed.open()
