"""Counts and times of what happened, kept in memory: plain numbers, read only when somebody asks (docs/operating.md).

What every request counts has a place of its own here, so that counting is an addition and no look-up by a made-up name.
"""

from collections.abc import Mapping
from typing import Final

from oncelog.engine.times import Times

MS: Final = 1_000_000  # nanoseconds
# What tells how things are now; all the rest only grows.
GAUGES: Final = frozenset(
    {
        "connections.open",
        "groups.count",
        "groups.members",
        "groups.partitions_loading",
        "log.partitions",
        "log.producers",
        "lso.lag",
        "lso.lag_max",
        "lso.pinned_partitions",
        "txn.ending",
        "txn.ids",
        "txn.ongoing",
        "txn.ongoing_ms_max",
    }
)


class Rpc(Times):
    """The requests of one API: the times are from the whole request to the whole answer, waiting included.

    `errors`: answers with an error at the top; of Produce and Fetch with one in any partition.
    """

    __slots__ = ("bytes_in", "bytes_out", "errors")

    def __init__(self) -> None:
        super().__init__()
        self.bytes_in = 0
        self.bytes_out = 0
        self.errors = 0


class _Rpcs(dict[int, Rpc]):
    """By API key; made when first asked for."""

    def __missing__(self, api_key: int) -> Rpc:
        found = self[api_key] = Rpc()
        return found


class Counters:
    """Names are `part.what`."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._times: dict[str, Times] = {}
        self.rpcs: Mapping[int, Rpc] = _Rpcs()
        self.fetched_bytes = 0
        self.fetch_waits = 0
        self.connections_opened = 0
        self.connections_closed = 0

    def add(self, name: str, count: int = 1) -> None:
        self._counts[name] = self._counts.get(name, 0) + count

    def took(self, name: str, ns: int) -> None:
        times = self._times.get(name)
        if times is None:
            times = self._times[name] = Times()
        times.add(ns)

    def get(self, name: str) -> int:
        return self._counts.get(name, 0)

    def counts(self, api_names: Mapping[int, str]) -> dict[str, int]:
        """A copy. An API goes by its name."""
        found = dict(self._counts)
        for key, rpc in self.rpcs.items():
            name = f"rpc.{api_names[key]}"
            found |= {
                f"{name}.errors": rpc.errors,
                f"{name}.bytes_in": rpc.bytes_in,
                f"{name}.bytes_out": rpc.bytes_out,
            }
        found["fetch.bytes"] = self.fetched_bytes
        found["fetch.waits"] = self.fetch_waits
        found["connections.opened"] = self.connections_opened
        found["connections.open"] = self.connections_opened - self.connections_closed
        return found

    def times(self, api_names: Mapping[int, str]) -> dict[str, Times]:
        return self._times | {f"rpc.{api_names[key]}": rpc for key, rpc in self.rpcs.items()}


def flat(times: Mapping[str, Times]) -> dict[str, int]:
    """Three plain numbers of each: how many, their sum and the longest, in milliseconds."""
    found: dict[str, int] = {}
    for name, each in times.items():
        found |= {
            f"{name}.count": each.count,
            f"{name}.ms_sum": each.sum_ns // MS,
            f"{name}.ms_max": each.max_ns // MS,
        }
    return found
