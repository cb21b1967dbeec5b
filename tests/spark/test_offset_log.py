"""Spark's offset log: the offsets of Kafka sources in it, and where it may be kept."""

from pathlib import Path

import pytest

from oncelog.model import TopicPartition
from oncelog.spark.offset_log import (
    UnreadableCheckpoint,
    digest_of,
    kafka_offsets,
    parse_offset_log,
    read_query_id,
    read_sources,
)

SETTINGS = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'


def log(*sources: str) -> str:
    return "\n".join(["v1", SETTINGS, *sources])


def test_sources_in_order() -> None:
    assert parse_offset_log(log('{"t":{"0":5}}', "-", "7")) == ('{"t":{"0":5}}', "-", "7")


@pytest.mark.parametrize("text", ["", "v1", "v9\n{}\n{}", "garbage"])
def test_another_format_is_not_guessed_at(text: str) -> None:
    with pytest.raises(UnreadableCheckpoint, match="wanted 'v1'"):
        parse_offset_log(text)


def test_offsets_of_kafka_sources_only() -> None:
    sources = [
        '{"in":{"0":5,"12":7},"other":{"0":0}}',
        "-",
        '{"logOffset":3}',
        '{"offset":20,"timestamp":2000}',
        "41",
    ]
    assert kafka_offsets(sources) == {
        TopicPartition("in", 0): 5,
        TopicPartition("in", 12): 7,
        TopicPartition("other", 0): 0,
    }


def test_a_topic_that_two_sources_read_goes_on_from_the_smaller_offset() -> None:
    assert kafka_offsets(['{"in":{"0":5}}', '{"in":{"0":3}}']) == {TopicPartition("in", 0): 3}


def test_a_digest_is_of_the_offsets() -> None:
    assert digest_of(["a", "b"]) == digest_of(["a", "b"]) != digest_of(["ab"])


@pytest.mark.parametrize("shape", ["{}", "file:{}", "file://{}"])
def test_local_checkpoints(tmp_path: Path, shape: str) -> None:
    checkpoint = tmp_path / "a b"
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "offsets" / "3").write_text(log('{"t":{"0":5}}'))
    (checkpoint / "metadata").write_text('{"id":"8f0c"}')
    where = shape.format(checkpoint if shape == "{}" else str(checkpoint).replace(" ", "%20"))
    assert read_sources(where, 3) == ('{"t":{"0":5}}',)
    assert read_query_id(where) == "8f0c"
    with pytest.raises(FileNotFoundError):
        read_sources(where, 4)


def test_a_checkpoint_without_an_id_yet(tmp_path: Path) -> None:
    assert read_query_id(str(tmp_path)) is None


def test_an_unknown_file_system_is_said_to_be_unreadable() -> None:
    with pytest.raises(UnreadableCheckpoint, match="carrier://pigeon"):
        read_sources("carrier://pigeon/loft", 0)


def test_checkpoints_of_other_file_systems_go_through_pyarrow() -> None:
    # pyarrow's own in-memory file system for tests stands for S3 and HDFS: the same door.
    with pytest.raises(FileNotFoundError):
        read_sources("mock:///checkpoint", 0)
