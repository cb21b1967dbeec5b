"""Which APIs the codec knows: keys, versions, and the classes of their messages, imported when first asked for."""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Final

from oncelog.protocol.messages import TABLE
from oncelog.protocol.primitives import Message

API_VERSIONS_KEY: Final = 18


@dataclass(frozen=True, slots=True)
class Api:
    """One API and the versions that can be read and written, which may be more than a broker advertises."""

    key: int
    name: str
    module: str
    min_version: int
    max_version: int
    first_flexible: int | None

    def supports(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version

    def flexible(self, version: int) -> bool:
        return self.first_flexible is not None and version >= self.first_flexible

    def request_class(self) -> type[Message]:
        return _message_class(self.module, f"{self.name}Request")

    def response_class(self) -> type[Message]:
        return _message_class(self.module, f"{self.name}Response")


@cache
def _message_class(module: str, name: str) -> type[Message]:
    found = getattr(import_module(f"oncelog.protocol.messages.{module}"), name)
    assert issubclass(found, Message)
    return found


APIS: Final = {row[0]: Api(*row) for row in TABLE}
"""By key."""
