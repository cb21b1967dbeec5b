"""Which request is answered where, and in which versions. ApiVersions lists just this table, but for our own side door.

A handler module is imported when its first request arrives: starting stays cheap.
"""

from collections.abc import Coroutine, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol

from oncelog.broker.context import Context
from oncelog.errors import ErrorCode
from oncelog.protocol.apis import APIS
from oncelog.protocol.primitives import BytesLike, Message


class Handle(Protocol):
    def __call__(self, request: Any, context: Context, broker: Any, /) -> Coroutine[Any, Any, Any]: ...


class Served(NamedTuple):
    module: str
    min_version: int
    max_version: int


PRODUCE: Final = 0
API_VERSIONS: Final = 18

SERVED: Final[dict[int, Served]] = {
    0: Served("produce", 3, 13),
    1: Served("fetch", 4, 18),
    2: Served("list_offsets", 1, 11),
    3: Served("metadata", 0, 13),
    8: Served("offset_commit", 2, 10),
    9: Served("offset_fetch", 1, 10),
    10: Served("find_coordinator", 0, 6),
    11: Served("join_group", 0, 9),
    12: Served("heartbeat", 0, 4),
    13: Served("leave_group", 0, 5),
    14: Served("sync_group", 0, 5),
    15: Served("describe_groups", 0, 6),
    16: Served("list_groups", 0, 5),
    17: Served("sasl_handshake", 0, 1),
    18: Served("api_versions", 0, 4),
    19: Served("create_topics", 2, 7),
    20: Served("delete_topics", 1, 6),
    21: Served("delete_records", 0, 2),
    22: Served("init_producer_id", 0, 5),
    23: Served("offset_for_leader_epoch", 2, 4),
    24: Served("add_partitions_to_txn", 0, 5),
    25: Served("add_offsets_to_txn", 0, 4),
    26: Served("end_txn", 0, 5),
    27: Served("write_txn_markers", 1, 2),
    28: Served("txn_offset_commit", 0, 5),
    29: Served("describe_acls", 1, 3),
    30: Served("create_acls", 1, 3),
    31: Served("delete_acls", 1, 3),
    32: Served("describe_configs", 1, 4),
    33: Served("alter_configs", 0, 2),
    34: Served("alter_replica_log_dirs", 1, 2),
    35: Served("describe_log_dirs", 1, 5),
    36: Served("sasl_authenticate", 0, 2),
    37: Served("create_partitions", 0, 3),
    42: Served("delete_groups", 0, 2),
    43: Served("elect_leaders", 0, 2),
    44: Served("incremental_alter_configs", 0, 1),
    45: Served("alter_partition_reassignments", 0, 1),
    46: Served("list_partition_reassignments", 0, 0),
    47: Served("offset_delete", 0, 0),
    60: Served("describe_cluster", 0, 2),
    61: Served("describe_producers", 0, 0),
    65: Served("describe_transactions", 0, 0),
    66: Served("list_transactions", 0, 2),
    68: Served("consumer_group_heartbeat", 0, 1),
    69: Served("consumer_group_describe", 0, 1),
    74: Served("list_config_resources", 0, 1),
    75: Served("describe_topic_partitions", 0, 0),
    1000: Served("describe_oncelog", 0, 3),
    1001: Served("describe_trace", 0, 1),
}
OUR_OWN: Final = 1000  # keys from here on are no Kafka's: served, and not listed in ApiVersions


class Api:
    """One API as the connection sees it: decode, handle, and a refusal of last resort."""

    __slots__ = ("_api", "_request", "_response", "handle", "has_error_code")

    def __init__(self, key: int) -> None:
        self._api = APIS[key]
        self._request = self._api.request_class()
        self._response = self._api.response_class()
        self.has_error_code = hasattr(self._response(), "error_code")
        self.handle: Handle = import_module(f"{__name__}.{SERVED[key].module}").handle

    def decode(self, frame: BytesLike, version: int, at: int) -> Message:
        """The body of a request. An ApiVersions of a version that nobody knows has no body that could be read (API-4)."""
        if not self._api.supports(version):
            return self._request()
        return self._request.decode(frame, version, at)

    def refusal(self, error: ErrorCode) -> Any:
        """The API's answer with nothing but an error at the top, or None where the API has no such place (API-2)."""
        if not self.has_error_code:
            return None
        response: Any = self._response()
        response.error_code = error
        return response


_LOADED: dict[int, Api] = {}


def api_of(key: int, version: int, offered: Mapping[int, int]) -> Api | None:
    """The API that answers this key and version; None if we do not: then the connection is closed (API-1).

    `offered`: by key, a higher version than the table's that this broker's settings allow.

    ApiVersions of any version is answered, in version 0 if we do not know the one asked for (API-4).
    """
    served = SERVED.get(key)
    if served is None:
        return None
    highest = offered.get(key, served.max_version) if offered else served.max_version
    if not (served.min_version <= version <= highest or key == API_VERSIONS):
        return None
    api = _LOADED.get(key)
    if api is None:
        api = _LOADED[key] = Api(key)
    return api
