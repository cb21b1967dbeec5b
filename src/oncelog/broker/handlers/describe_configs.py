"""DescribeConfigs (key 32), v1-v4.

v1  where a value comes from, and its synonyms        v3  documentation and type of each setting        v4  flexible
Settings of the broker are read-only: they are given at start. Loggers, client metrics and groups have no settings of
their own here, so their lists are empty.
Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.broker.settings import Entry, Resource, broker_entries, topic_entries, wrong_node
from oncelog.broker.topics import Refusal, name_complaint
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

KEY: Final = 32
VERSIONS: Final = (1, 4)

KINDS: Final = frozenset(Resource)
MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)


async def handle(
    request: DescribeConfigsRequest, _context: Context, broker: Runtime
) -> DescribeConfigsResponse:
    if any(each.resource_type not in KINDS for each in request.resources):
        malformed = Refusal(ErrorCode.INVALID_REQUEST, MALFORMED)
        return DescribeConfigsResponse(
            results=[_result(each, malformed, request) for each in request.resources]
        )
    return DescribeConfigsResponse(
        results=[_result(each, _entries(each, broker), request) for each in request.resources]
    )


def _entries(asked: DescribeConfigsResource, broker: Runtime) -> list[Entry] | Refusal:
    names, keys = asked.resource_name, asked.configuration_keys or ()
    match asked.resource_type:
        case Resource.TOPIC:
            return _of_topic(names, keys, broker)
        case Resource.BROKER:
            refusal = wrong_node(names, broker.node_id, "Broker", " or empty string,") if names else None
            return refusal or (_of_broker(keys, broker) if names else [])
        case Resource.BROKER_LOGGER:
            if not names:
                return Refusal(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
            return wrong_node(names, broker.node_id, "Broker", "") or []
        case Resource.CLIENT_METRICS:
            empty = "Client metrics subscription name must not be empty"
        case _:
            empty = "Group name must not be empty"
    return [] if names else Refusal(ErrorCode.INVALID_REQUEST, empty)


def _of_broker(keys: list[str] | tuple[()], broker: Runtime) -> list[Entry]:
    advertised = broker.host, broker.port
    return broker_entries(
        broker.config, keys, listens_at=broker.listens_at or advertised, advertised=advertised
    )


def _of_topic(name: str, keys: list[str] | tuple[()], broker: Runtime) -> list[Entry] | Refusal:
    complaint = name_complaint(name)
    if complaint is not None:
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, complaint)
    topic = broker.engine.topics.get(name)
    if topic is None:
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
    return topic_entries(topic.configs, broker.topics.config_of(topic), broker.config, keys)


def _result(
    asked: DescribeConfigsResource, found: list[Entry] | Refusal, request: DescribeConfigsRequest
) -> DescribeConfigsResult:
    refusal = found if isinstance(found, Refusal) else Refusal(ErrorCode.NONE, "")
    entries = [] if isinstance(found, Refusal) else found
    return DescribeConfigsResult(
        error_code=refusal.error,
        error_message=refusal.message,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=[_shown(each, request) for each in entries],
    )


def _shown(entry: Entry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        synonyms=[
            DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source) for each in synonyms
        ],
        config_type=entry.type,
        documentation=entry.doc if request.include_documentation else None,
    )
