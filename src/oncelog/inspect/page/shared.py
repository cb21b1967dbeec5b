"""One answer for all that ask the same at about the same time."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

AnswerT = TypeVar("AnswerT")


class Shared:
    """Keeps answers for a moment, counted from when they were asked for. A question under way is not asked twice, however long
    it takes. For one event loop."""

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._asked: dict[str, tuple[float, asyncio.Task[Any]]] = {}

    async def ask(
        self, question: str, ask: Callable[[], Coroutine[Any, Any, AnswerT]], *, anew: bool = False
    ) -> AnswerT:
        """`anew`: no answer from before will do. Who stops waiting takes nothing from the others."""
        now = time.monotonic()
        self._asked = {
            name: (at, task)
            for name, (at, task) in self._asked.items()
            if not task.done() or now - at < self._keep_s
        }
        found = self._asked.get(question)
        if found is None or anew:
            found = (now, asyncio.create_task(ask()))
            self._asked[question] = found
        return await asyncio.shield(found[1])

    def forget(self) -> None:
        """Something was changed: what was asked before is not so any more."""
        self._asked.clear()
