"""The bytes of requests and answers with their meaning: every byte belongs to a field, however much of a frame was kept."""

from typing import Any, Final

import pytest

from oncelog.inspect.annotate import Piece
from oncelog.inspect.events import TRACED
from oncelog.inspect.wire import pieces_of_answer, pieces_of_request
from oncelog.protocol.apis import APIS
from oncelog.protocol.header import response_frame
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.protocol.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from oncelog.record.batch import NewRecord, build_batch

BATCH: Final = build_batch(
    [NewRecord(b"k", b"value", 5, [])] * 3,
    producer_id=7,
    producer_epoch=3,
    base_sequence=12,
    transactional=True,
)


def request(api_key: int, version: int, message: Any, client_id: bytes | None = b"till-7") -> bytes:
    head = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + (9).to_bytes(4, "big")
    head += b"\xff\xff" if client_id is None else len(client_id).to_bytes(2, "big") + client_id
    return head + (b"\0" if APIS[api_key].flexible(version) else b"") + bytes(message.encode(version))


def answer(api_key: int, version: int, message: Any) -> bytes:
    return bytes(response_frame(api_key, version, 9, message))[4:]


def produce(version: int) -> bytes:
    data = [PartitionProduceData(index=4, records=BATCH), PartitionProduceData(index=5, records=None)]
    topic = TopicProduceData(name="out", partition_data=data)
    return request(0, version, ProduceRequest(transactional_id="a", acks=-1, topic_data=[topic]))


def named(pieces: list[Piece]) -> dict[str, str]:
    return {each.name: each.value for each in pieces}


def assert_whole(pieces: list[Piece], frame: bytes) -> None:
    """Every byte once, in its order."""
    assert b"".join(each.data for each in pieces) == frame
    at = 0
    for each in pieces:
        assert each.at == at
        at += len(each.data)


VERSIONS: Final = [
    (key, version)
    for key in sorted(TRACED)
    for version in range(APIS[key].min_version, APIS[key].max_version + 1)
]


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=[f"{APIS[k].name}-v{v}" for k, v in VERSIONS])
def test_messages_of_every_version_are_read_to_their_end(key: int, version: int) -> None:
    for frame, pieces in (
        (asked := request(key, version, APIS[key].request_class()()), pieces_of_request(asked)),
        (
            told := answer(key, version, APIS[key].response_class()()),
            pieces_of_answer(told, key, version),
        ),
    ):
        assert_whole(pieces, frame)
        assert pieces[-1].name  # the end was reached


@pytest.mark.parametrize("version", range(APIS[0].min_version, APIS[0].max_version + 1))
def test_a_request_that_was_cut_is_told_as_far_as_it_goes(version: int) -> None:
    whole = produce(version)
    for kept in range(4, len(whole) + 1):
        assert_whole(pieces_of_request(whole[:kept]), whole[:kept])
    found = named(pieces_of_request(whole))
    assert found["api key"] == "0 (Produce)"
    assert found["client id"] == "'till-7'"
    assert found["transactional id"] == "'a'"
    assert found["acks"] == "-1"
    assert found["topic data 0 partition data 0 records size"] == str(len(BATCH))
    assert found["batch producer id"] == "7"
    assert found["batch base sequence"] == "12"
    assert found["batch crc"].endswith("(fits)")
    assert found["topic data 0 partition data 1 records size"] == "null"
    head = len(whole) - 40  # the batch is not whole any more: nothing is said of its sum
    assert "fit" not in named(pieces_of_request(whole[:head]))["batch crc"]


def test_errors_have_their_names_and_tagged_fields_too() -> None:
    told = answer(26, 5, EndTxnResponse(error_code=90, producer_id=7, producer_epoch=4))
    found = named(pieces_of_answer(told, 26, 5))
    assert found["error code"] == "90 (PRODUCER_FENCED)"
    assert (found["producer id"], found["producer epoch"]) == ("7", "4")
    each = PartitionProduceResponse(index=4, error_code=6, current_leader=LeaderIdAndEpoch(2, 8))
    topics = [TopicProduceResponse(name="out", partition_responses=[each])]
    told = answer(0, 10, ProduceResponse(responses=topics))
    assert_whole(pieces := pieces_of_answer(told, 0, 10), told)
    found = named(pieces)
    assert found["responses 0 partition responses 0 error code"] == "6 (NOT_LEADER_OR_FOLLOWER)"
    assert found["responses 0 partition responses 0 current leader"].endswith("bytes")


def test_arrays_are_counted() -> None:
    topics = [AddPartitionsToTxnTopic(name="out", partitions=[3, 9])]
    one = AddPartitionsToTxnTransaction(
        transactional_id="a", producer_id=7, producer_epoch=3, verify_only=True, topics=topics
    )
    frame = request(24, 5, AddPartitionsToTxnRequest(transactions=[one]), client_id=None)
    found = named(pieces_of_request(frame))
    assert found["transactions count"] == "1"
    assert found["transactions 0 topics 0 partitions 1"] == "9"
    assert found["transactions 0 verify only"] == "True"
    assert found["client id size"] == "null"


def test_what_cannot_be_read_is_left_alone() -> None:
    end = request(26, 3, EndTxnRequest(transactional_id="a"))
    assert pieces_of_request(end[:3]) == []
    assert pieces_of_request(b"\x7f\xff" + end[2:]) == []
    assert pieces_of_request(end[:2] + b"\x7f\xff" + end[4:]) == []
    assert pieces_of_answer(b"", 999, 0) == []
    assert pieces_of_answer(b"\0\0\0\1", 26, 99) == []
