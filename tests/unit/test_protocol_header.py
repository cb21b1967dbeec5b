"""Request and response headers: which form each version has, and what is refused."""

import pytest

from oncelog.errors import MalformedMessage
from oncelog.protocol.apis import APIS
from oncelog.protocol.header import (
    RequestHeader,
    read_request_header,
    read_response_header,
    request_frame,
    response_frame,
    response_frame_parts,
    write_request_header,
    write_response_header,
)
from oncelog.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from oncelog.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from oncelog.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

# name of the client "ab", correlation id 7
CASES = """
# api key  version  request header                        response header
  12       3        000c 0003 00000007 0002 6162          00000007
  12       4        000c 0004 00000007 0002 6162 00       00000007 00
  18       2        0012 0002 00000007 0002 6162          00000007
  18       3        0012 0003 00000007 0002 6162 00       00000007
  18       4        0012 0004 00000007 0002 6162 00       00000007
  17       1        0011 0001 00000007 0002 6162          00000007
  27       1        001b 0001 00000007 0002 6162 00       00000007 00
  36       1        0024 0001 00000007 0002 6162          00000007
  36       2        0024 0002 00000007 0002 6162 00       00000007 00
"""


def rows() -> list[tuple[int, int, bytes, bytes]]:
    found: list[tuple[int, int, bytes, bytes]] = []
    for line in CASES.strip().splitlines()[1:]:
        columns = [column.strip() for column in line.strip().split("  ") if column.strip()]
        found.append((int(columns[0]), int(columns[1]), bytes.fromhex(columns[2]), bytes.fromhex(columns[3])))
    return found


@pytest.mark.parametrize(("key", "version", "request_bytes", "response_bytes"), rows())
def test_trap38_headers_follow_the_version_but_for_api_versions(
    key: int, version: int, request_bytes: bytes, response_bytes: bytes
) -> None:
    out = bytearray()
    write_request_header(out, key, version, 7, "ab")
    assert out == request_bytes
    header = read_request_header(request_bytes + b"body")
    assert header == RequestHeader(key, version, 7, "ab", len(request_bytes))
    assert header.supported()

    out = bytearray()
    write_response_header(out, key, version, 7)
    assert out == response_bytes
    assert read_response_header(response_bytes + b"body", key, version) == (7, len(response_bytes))


def test_api4_an_unknown_version_of_api_versions_is_read_as_flexible() -> None:
    header = read_request_header(bytes.fromhex("0012 0063 00000007 0002 6162 01 0002 ffff 00"))
    assert header == RequestHeader(18, 99, 7, "ab", 17)
    assert not header.supported()


def test_api4_trap37_the_answer_to_it_is_a_v0_body_with_header_v0() -> None:
    response = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(18, 0, 4)])
    frame = response_frame(18, 0, 7, response)
    assert frame.hex(" ", 2) == "0000 0010 0000 0007 0023 0000 0001 0012 0000 0004"


def test_api1_unknown_apis_and_versions_are_told_apart_without_a_fault() -> None:
    unknown_api = read_request_header(bytes.fromhex("03e7 0000 00000007 ffff"))
    assert (unknown_api.client_id, unknown_api.supported()) == (None, False)
    old_produce = read_request_header(bytes.fromhex("0000 0002 00000007 ffff"))
    assert not old_produce.supported()
    negative = read_request_header(bytes.fromhex("0000 ffff 00000007 ffff"))
    assert not negative.supported()


def test_a_null_and_an_empty_client_id_differ() -> None:
    for name in (None, "", "ü"):
        out = bytearray()
        write_request_header(out, 12, 4, 1, name)
        assert read_request_header(out).client_id == name


def test_tagged_fields_of_headers_are_skipped() -> None:
    tags = bytes.fromhex("02 00 03 616263 05 00")
    header = read_request_header(bytes.fromhex("000c 0004 00000007 ffff") + tags)
    assert header.body_at == 10 + len(tags)
    assert read_response_header(bytes.fromhex("00000007") + tags, 12, 4) == (7, 4 + len(tags))


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ("", "0 bytes, a header needs 10"),
        ("000c 0004 00000007 ff", "9 bytes, a header needs 10"),
        ("000c 0004 00000007 0005 6162", "client id of 5 bytes, the request has 2 left"),
        ("000c 0004 00000007 0002 ffff 00", "not UTF-8"),
        ("000c 0004 00000007 ffff", "without its tagged fields"),
        ("000c 0004 00000007 ffff 01", "1 tagged fields claimed"),
        ("000c 0004 00000007 ffff 01 0005 00", "claims 5 bytes, 1 are left"),
        ("000c 0004 00000007 ffff 01 8080", "run past byte"),
        ("000c 0004 00000007 ffff ffffffffff01", "more than 5 bytes"),
    ],
)
def test_t4_a_broken_request_header_is_refused(data: str, complaint: str) -> None:
    with pytest.raises(MalformedMessage, match=complaint):
        read_request_header(bytes.fromhex(data))


def test_a_broken_response_header_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="3 bytes, a header needs 4"):
        read_response_header(b"\0\0\0", 12, 4)
    with pytest.raises(MalformedMessage, match="without its tagged fields"):
        read_response_header(b"\0\0\0\1", 12, 4)


def test_whole_frames_of_both_sides_meet() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
    frame = request_frame(12, 4, 9, "me", request)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header = read_request_header(memoryview(frame)[4:])
    assert HeartbeatRequest.decode(memoryview(frame)[4:], header.version, header.body_at) == request

    answer = response_frame(12, 4, 9, HeartbeatResponse(error_code=27))
    assert int.from_bytes(answer[:4], "big") == len(answer) - 4
    correlation_id, at = read_response_header(answer[4:], 12, 4)
    assert correlation_id == 9
    assert HeartbeatResponse.decode(answer[4:], 4, at) == HeartbeatResponse(error_code=27)


def test_a_fetch_response_leaves_in_parts_without_a_copy_of_its_records() -> None:
    small, large = b"s" * 10, memoryview(b"l" * 5000)
    partitions = [
        PartitionData(0, records=small),
        PartitionData(1, records=large),
        PartitionData(2, records=large),
    ]
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=partitions)])
    parts = response_frame_parts(1, 17, 5, response)
    assert [part is large for part in parts] == [False, True, False, True, False]
    assert b"".join(parts) == response_frame(1, 17, 5, response)


def test_the_table_of_apis_agrees_with_the_classes() -> None:
    assert APIS[0].request_class().__name__ == "ProduceRequest"
    assert APIS[18].response_class() is ApiVersionsResponse
    assert (APIS[22].min_version, APIS[22].max_version, APIS[22].first_flexible) == (0, 6, 2)
    assert APIS[47].first_flexible is None
    assert ApiVersionsRequest.decode(b"", 0) == ApiVersionsRequest()
