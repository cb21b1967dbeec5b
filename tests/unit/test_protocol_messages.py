"""Generated messages: bytes known by heart, what cannot be written, and what importing them costs."""

import dataclasses
import subprocess
import sys
from typing import Any

import pytest

from oncelog.errors import ErrorCode, MalformedMessage
from oncelog.protocol import generate
from oncelog.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from oncelog.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from oncelog.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, RequestCursor
from oncelog.protocol.messages.fetch import FetchRequest, FetchTopic, LeaderIdAndEpoch, PartitionData
from oncelog.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from oncelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from oncelog.protocol.messages.produce import LeaderIdAndEpoch as ProduceLeader
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from oncelog.protocol.primitives import UnwritableMessage, more_varint, read_varint, varint


def test_messages_are_what_their_definitions_make() -> None:
    """`make check` relies on this: messages/ is written by the generator, never by hand."""
    assert generate.main(["--check"]) == 0


def test_a_stale_message_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = generate.generate()
    made["fetch.py"] += "#"
    monkeypatch.setattr(generate, "generate", lambda: made)
    assert generate.main(["--check"]) == 1
    assert capsys.readouterr().err.startswith("messages/fetch.py is out of date")


def test_importing_the_table_imports_no_message() -> None:
    script = (
        "import sys, oncelog.protocol.header, oncelog.protocol.messages\n"
        "print(sorted(name for name in sys.modules if name.startswith('oncelog.protocol.messages.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=_env()
    )
    assert done.stdout == "[]\n"


def _env() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(path for path in sys.path if path)}


def test_produce_v9_on_the_wire() -> None:
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=3, records=b"\x01\x02")])
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])
    sent = bytes.fromhex("00 ffff 000003e8 02 02 74 02 00000003 03 0102 00 00 00")
    assert request.encode(9) == sent
    records = ProduceRequest.decode(sent, 9).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is sent  # a slice of what came in, not a copy
    assert records == b"\x01\x02"


def test_tagged_fields_are_sent_only_when_they_differ_from_their_defaults() -> None:
    partition = PartitionProduceResponse(index=1, base_offset=5)
    response = ProduceResponse([TopicProduceResponse("t", partition_responses=[partition])])
    plain = response.encode(10)
    partition.current_leader = ProduceLeader()
    assert response.encode(10) == plain
    partition.current_leader = ProduceLeader(leader_id=2, leader_epoch=7)
    tagged = response.encode(10)
    head = "02 0274 02 00000001 0000 0000000000000005 ffffffffffffffff ffffffffffffffff 01 00"
    assert plain == bytes.fromhex(f"{head} 00 00 00000000 00")
    assert tagged == bytes.fromhex(f"{head} 01 00 09 00000002 00000007 00 00 00000000 00")
    assert ProduceResponse.decode(tagged, 10) == response
    assert response.encode(9) == plain  # v9 has no such field


def test_api6_the_features_of_api_versions_are_tagged() -> None:
    response = ApiVersionsResponse(
        api_keys=[ApiVersion(18, 0, 4)],
        finalized_features_epoch=3,
        finalized_features=[FinalizedFeatureKey("f", 2, 1)],
    )
    assert response.encode(0).hex(" ") == "00 00 00 00 00 01 00 12 00 00 00 04"
    assert response.encode(3).hex(" ") == (
        "00 00 02 00 12 00 00 00 04 00 00 00 00 00"  # error, one key, throttle time
        " 02 01 08 00 00 00 00 00 00 00 03"  # two tags; tag 1: epoch
        " 02 08 02 02 66 00 02 00 01 00"  # tag 2: one feature
    )


def test_unknown_tagged_fields_are_skipped_everywhere() -> None:
    plain = HeartbeatRequest("g", 1, "m").encode(4)
    assert plain[-1:] == b"\0"
    assert HeartbeatRequest.decode(
        plain[:-1] + bytes.fromhex("02 63 02 abcd 8001 00"), 4
    ) == HeartbeatRequest("g", 1, "m")


def test_a_tagged_field_must_end_where_it_says() -> None:
    plain = ApiVersionsResponse().encode(3)
    for size in ("07", "09"):
        with pytest.raises(MalformedMessage, match=r"should end at byte|claims"):
            ApiVersionsResponse.decode(plain[:-1] + bytes.fromhex(f"01 01 {size} 0000000000000003 00"), 3)


def test_a_nullable_struct_has_a_byte_in_front() -> None:
    absent = DescribeTopicPartitionsRequest(response_partition_limit=1)
    present = DescribeTopicPartitionsRequest(response_partition_limit=1, cursor=RequestCursor("t", 2))
    assert absent.encode(0).hex(" ") == "01 00 00 00 01 ff 00"
    assert present.encode(0).hex(" ") == "01 00 00 00 01 01 02 74 00 00 00 02 00 00"
    assert DescribeTopicPartitionsRequest.decode(present.encode(0), 0) == present


def test_null_is_written_only_where_the_version_allows_it() -> None:
    everything = MetadataRequest(topics=None)
    assert everything.encode(1)[:4] == b"\xff\xff\xff\xff"
    with pytest.raises(UnwritableMessage, match=r"MetadataRequest.topics is None, which v0 cannot express"):
        everything.encode(0)
    by_id = MetadataRequest(topics=[MetadataRequestTopic(topic_id=b"i" * 16, name=None)])
    assert MetadataRequest.decode(by_id.encode(10), 10) == by_id
    with pytest.raises(UnwritableMessage, match="v9 cannot express"):
        by_id.encode(9)


WRONG: list[tuple[Any, int, str]] = [
    (HeartbeatResponse(error_code=2**15), 4, "HeartbeatResponse v4 cannot be written"),
    (HeartbeatResponse(error_code=None), 0, "HeartbeatResponse v0 cannot be written"),  # type: ignore[arg-type]  # wrong on purpose
    (HeartbeatRequest(group_id=None), 0, "HeartbeatRequest v0 cannot be written"),  # type: ignore[arg-type]  # wrong on purpose
    (HeartbeatRequest(group_id="x" * 2**15), 0, "HeartbeatRequest v0 cannot be written"),
    (HeartbeatRequest(group_id="x" * 2**15), 4, "a string of 32768 bytes, at most 32767"),
    (HeartbeatRequest(), 5, "HeartbeatRequest has versions 0-4, asked for 5"),
    (FetchRequest(topics=[FetchTopic(topic_id=b"short")]), 13, "topic_id has 5 bytes, a UUID has 16"),
]


@pytest.mark.parametrize(("message", "version", "complaint"), WRONG)
def test_what_cannot_be_written_is_refused_with_a_reason(message: Any, version: int, complaint: str) -> None:
    with pytest.raises(UnwritableMessage, match=complaint):
        message.encode(version)


MALFORMED = """
# version  bytes                                      complaint
  4        02 67 00000001 02 6d 00                    the bytes end at 9, more are wanted
  4        00 00000001 02 6d 00 00                    group_id v4: null at byte 1
  4        02 ff 00000001 02 6d 00 00                 not UTF-8
  4        ff ff ff ff 0f 67                          claims 4294967294 bytes, wanted at most 32767
  4        ff ff ff ff 1f 67                          wanted at most 32 bits
  4        ff ff ff ff ff 01                          more than 5 bytes
  0        ffff 00000001 0001 6d                      group_id v0: null at byte 2
  0        0001 67 00000001 0005 6d                   the bytes end at 10, more are wanted
  7        00                                         has versions 0-4, asked for 7
"""


@pytest.mark.parametrize("line", MALFORMED.strip().splitlines()[1:])
def test_t2_t4_malformed_bytes_are_refused_with_a_reason(line: str) -> None:
    version, data, complaint = (column.strip() for column in line.strip().split("  ") if column.strip())
    with pytest.raises(MalformedMessage, match=complaint):
        HeartbeatRequest.decode(bytes.fromhex(data), int(version))


def test_t4_a_varint_has_at_most_five_bytes_and_32_bits() -> None:
    for value in (0, 1, 127, 128, 16383, 16384, 2**21 - 1, 2**21, 2**28 - 1, 2**28, 2**32 - 1):
        assert read_varint(varint(value) + b"\xff", 0) == (value, len(varint(value)))
    assert read_varint(bytes.fromhex("80 80 80 80 00"), 0) == (0, 5)  # padded with zeros: Kafka reads it too
    for count in range(5, 12):
        with pytest.raises(MalformedMessage, match="more than 5 bytes"):
            read_varint(b"\xff" * count + b"\x01", 0)
    for fifth in range(0x10, 0x80):
        with pytest.raises(MalformedMessage, match="32 bits"):
            more_varint(bytes([0x80, 0x80, 0x80, fifth]), 0, 0x80)


def test_fields_that_a_version_lacks_are_left_out_and_come_back_as_defaults() -> None:
    response = MetadataResponse(throttle_time_ms=5, cluster_id="c", controller_id=3, error_code=1)
    assert MetadataResponse.decode(response.encode(0), 0) == MetadataResponse()
    assert MetadataResponse.decode(response.encode(13), 13) == response


def test_messages_are_dataclasses_with_fresh_defaults() -> None:
    one, other = MetadataRequest(), MetadataRequest()
    assert one.topics is not None
    one.topics.append(MetadataRequestTopic(name="t"))
    assert (one == other, other.topics) == (False, [])
    assert dataclasses.replace(one, topics=[]) == other
    assert [field.name for field in dataclasses.fields(PartitionData)][:2] == [
        "partition_index",
        "error_code",
    ]
    assert repr(LeaderIdAndEpoch(1, 2)) == "LeaderIdAndEpoch(leader_id=1, leader_epoch=2)"
    assert LeaderIdAndEpoch(1, 2) != ProduceLeader(1, 2)
    with pytest.raises(TypeError):
        hash(one)
    with pytest.raises(AttributeError):
        one.topic = "misspelt"  # type: ignore[attr-defined]  # wrong on purpose


def test_error_codes_are_written_as_their_numbers() -> None:
    assert HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS).encode(0) == b"\x00\x1b"


def test_the_consumer_protocol_has_no_version_of_its_own_in_front() -> None:
    owned = [TopicPartition("t", [0, 1])]
    subscription = ConsumerProtocolSubscription(["t"], None, owned, 4, "r")
    assert subscription.encode(0).hex() == "00000001000174ffffffff"
    assert ConsumerProtocolSubscription.decode(subscription.encode(3), 3) == subscription
    assignment = ConsumerProtocolAssignment(owned, b"u")
    assert assignment.encode(3).hex() == "00000001000174" + "00000002" + "0000000000000001" + "0000000175"
