"""Vectors V1 to V5: connection, versions, coordinators (spec 8.1)."""

import time

from oncelog.errors import ErrorCode
from oncelog.protocol.messages.api_versions import ApiVersionsRequest
from oncelog.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest
from oncelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from oncelog.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.vectors.play import Target, ask, body_of, error_of, raw_request

API_VERSIONS = 18
METADATA = 3
PRODUCE = 0
WRITE_TXN_MARKERS = 27
INIT_PRODUCER_ID = 22
GROUP, TRANSACTION = 0, 1


def test_v1_api_versions_of_an_unknown_version(target: Target) -> None:
    with target.vector("V1") as row, target.connect() as connection:
        answer = connection.exchange(
            raw_request(API_VERSIONS, 99, b"", flexible=True, correlation_id=0x01020304)
        )
        assert answer is not None
        row("correlation id", answer[:4].hex(), "01020304")
        row("ApiVersions v99, empty body", body_of(answer), "0023" + "00000001" + "0012" + "0000" + "0004")
        row("then v4", error_of(ask(connection, api_versions("vector"), 4)), "NONE")


def api_versions(name: str) -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version="1")


def test_v2_a_software_name_that_is_none(target: Target) -> None:
    with target.vector("V2") as row, target.connect() as connection:
        answer = ask(connection, api_versions("!"), 3)
        row("ApiVersions v3, name '!'", error_of(answer), "INVALID_REQUEST")
        row("keys in the answer", len(answer.api_keys), 0)
        answer = ask(connection, api_versions("vector"), 3)
        row("same connection, a good name", error_of(answer), "NONE")
        row("keys in the answer", len(answer.api_keys) > 30, True)


def test_v3_what_cannot_be_read_closes_the_connection(target: Target) -> None:
    metadata = MetadataRequest(topics=[MetadataRequestTopic(name="topic")]).encode(12)
    init = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=1000).encode(6)
    produce_v2 = bytes.fromhex("0001 00001388 00000000")  # acks 1, timeout 5000, no topics
    cases = [
        ("Metadata v99", raw_request(METADATA, 99, metadata, flexible=True)),
        ("key 999 v0", raw_request(999, 0, b"", flexible=False)),
        ("Produce v2", raw_request(PRODUCE, 2, produce_v2, flexible=False)),
        ("WriteTxnMarkers v0", raw_request(WRITE_TXN_MARKERS, 0, bytes(4), flexible=False)),
        ("InitProducerId v6", raw_request(INIT_PRODUCER_ID, 6, init, flexible=True)),
        ("Metadata v12, body cut", raw_request(METADATA, 12, metadata[:-6], flexible=True)),
    ]
    with target.vector("V3") as row:
        for what, frame in cases:
            with target.connect() as connection:
                row(what, body_of(connection.exchange(frame)), "closed")
        with target.connect() as connection:
            answer = connection.exchange(raw_request(METADATA, 12, metadata, flexible=True))
            row("Metadata v12, whole", answer is not None, True)


def test_v4_sasl_on_a_plaintext_listener(target: Target) -> None:
    with target.vector("V4") as row:
        with target.connect() as connection:
            answer = ask(connection, SaslHandshakeRequest(mechanism="PLAIN"), 1)
            row("SaslHandshake v1", error_of(answer), "ILLEGAL_SASL_STATE")
        with target.connect() as connection:
            answer = ask(connection, SaslAuthenticateRequest(auth_bytes=b"\0a\0b"), 2)
            row("SaslAuthenticate v2", error_of(answer), "ILLEGAL_SASL_STATE")


def test_v5_the_first_find_coordinator_makes_the_internal_topic(fresh_target: Target) -> None:
    with fresh_target.vector("V5") as row, fresh_target.connect() as connection:

        def find(version: int, kind: int) -> tuple[str, int]:
            request = FindCoordinatorRequest(key="k", key_type=kind, coordinator_keys=["k"])
            answer = connection.send(request, FindCoordinatorResponse, version)
            found = answer.coordinators[0] if version >= 4 else answer
            address = f"{found.host!r} {found.port}"
            if f"{found.host}:{found.port}" == fresh_target.broker.bootstrap:
                address = "its own address"
            return f"{error_of(found)} {found.node_id} {address}", found.error_code

        missing = "COORDINATOR_NOT_AVAILABLE -1 '' -1"
        row("group, v6", find(6, GROUP)[0], missing)
        if fresh_target.has_transactions:
            row("transactional id, v3", find(3, TRANSACTION)[0], missing)
        deadline = time.monotonic() + 20
        while (found := find(4, GROUP))[1] != ErrorCode.NONE and time.monotonic() < deadline:
            time.sleep(0.05)
        row("group, once the topic is there", found[0], "NONE 0 its own address")
