"""The catalogue's bugs that clients see on the wire: errors by version, long polls, isolation of one answer (W and A rows)."""

from collections.abc import Mapping
from typing import Any

import pytest

import oncelog
from oncelog.client.visible import AbortedFrom, visible
from oncelog.errors import ErrorCode
from oncelog.model import Isolation, TopicPartition
from oncelog.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from oncelog.record.batch import batches
from oncelog.tasks import Future
from tests.catalogue.client import Txn, committed, wrote
from tests.catalogue.stage import Stage, stand_in
from tests.clients import transactional

HERE = TopicPartition("t", 0)


def stage_with_topic(settings: dict[str, str] | None = None, *, seed: int = 0) -> Stage:
    stage = Stage(settings, seed=seed)
    stage.topic(partitions=2)
    return stage


def fetch_request(
    offset: int, *, max_wait_ms: int = 0, min_bytes: int = 1, isolation: int = 1
) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=1 << 20,
        isolation_level=isolation,
        topics=[FetchTopic(topic="t", partitions=[partition])],
    )


def fetched(answer: FetchResponse) -> PartitionData:
    (found,) = answer.responses[0].partitions
    return found


def seen(found: PartitionData, offset: int) -> list[str]:
    """What a consumer makes of an answer: spec 6.1."""
    records = visible(
        HERE,
        bytes(found.records or b""),
        from_offset=offset,
        isolation=Isolation.READ_COMMITTED,
        aborted=[
            AbortedFrom(each.first_offset, each.producer_id) for each in found.aborted_transactions or ()
        ],
    ).records
    return [(record.value or b"").decode() for record in records]


# --- B7


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_b7_kafka_15653_a_wait_between_two_compressed_batches_mixes_nothing(codec: int) -> None:
    """The first waits for the coordinator while the second is unpacked and written: no scratch memory is shared."""
    stage = stage_with_topic()
    one, other = Txn(stage, "one"), Txn(stage, "other")
    waiting = stage.pause("after_ongoing")
    first = one.begin(one.produce_request(*["first" * 50] * 20, codec=codec), 12)
    stage.settle()
    assert waiting.reached.done()
    assert other.produce(*["other" * 60] * 25, codec=codec) == "NONE @0"
    waiting.resume()
    assert wrote(stage.run(first)) == "NONE @25"
    for each in (one, other):
        assert each.commit().startswith("NONE")
    assert stage.values() == ["other" * 60] * 25 + ["first" * 50] * 20


# --- B11: the coordinator's answer to a verification, in words that the version of the request knows

PRODUCE = """
# coordinator                   v3-v10                       v11                          v12
  NONE                          NONE                         NONE                         NONE
  TRANSACTION_ABORTABLE         INVALID_TXN_STATE            TRANSACTION_ABORTABLE        TRANSACTION_ABORTABLE
  INVALID_PRODUCER_ID_MAPPING   INVALID_PRODUCER_ID_MAPPING  INVALID_PRODUCER_ID_MAPPING  INVALID_PRODUCER_ID_MAPPING
  PRODUCER_FENCED               INVALID_PRODUCER_EPOCH       INVALID_PRODUCER_EPOCH       INVALID_PRODUCER_EPOCH
  CONCURRENT_TRANSACTIONS       NOT_ENOUGH_REPLICAS          NOT_ENOUGH_REPLICAS          CONCURRENT_TRANSACTIONS
  COORDINATOR_LOAD_IN_PROGRESS  NOT_ENOUGH_REPLICAS          NOT_ENOUGH_REPLICAS          NOT_ENOUGH_REPLICAS
  COORDINATOR_NOT_AVAILABLE     NOT_ENOUGH_REPLICAS          NOT_ENOUGH_REPLICAS          NOT_ENOUGH_REPLICAS
  NOT_COORDINATOR               NOT_ENOUGH_REPLICAS          NOT_ENOUGH_REPLICAS          NOT_ENOUGH_REPLICAS
  NETWORK_EXCEPTION             NOT_ENOUGH_REPLICAS          NOT_ENOUGH_REPLICAS          NOT_ENOUGH_REPLICAS
"""
OFFSETS = """
# coordinator                   v0-v1                        v2-v3                         v4                            v5
  NONE                          NONE                         NONE                          NONE                          NONE
  TRANSACTION_ABORTABLE         INVALID_TXN_STATE            INVALID_TXN_STATE             TRANSACTION_ABORTABLE         TRANSACTION_ABORTABLE
  INVALID_PRODUCER_ID_MAPPING   INVALID_PRODUCER_ID_MAPPING  INVALID_PRODUCER_ID_MAPPING   INVALID_PRODUCER_ID_MAPPING   INVALID_PRODUCER_ID_MAPPING
  PRODUCER_FENCED               INVALID_PRODUCER_EPOCH       INVALID_PRODUCER_EPOCH        INVALID_PRODUCER_EPOCH        INVALID_PRODUCER_EPOCH
  CONCURRENT_TRANSACTIONS       CONCURRENT_TRANSACTIONS      CONCURRENT_TRANSACTIONS       CONCURRENT_TRANSACTIONS       CONCURRENT_TRANSACTIONS
  COORDINATOR_LOAD_IN_PROGRESS  COORDINATOR_NOT_AVAILABLE    COORDINATOR_LOAD_IN_PROGRESS  COORDINATOR_LOAD_IN_PROGRESS  COORDINATOR_LOAD_IN_PROGRESS
  COORDINATOR_NOT_AVAILABLE     COORDINATOR_NOT_AVAILABLE    COORDINATOR_NOT_AVAILABLE     COORDINATOR_NOT_AVAILABLE     COORDINATOR_NOT_AVAILABLE
  NOT_COORDINATOR               NOT_COORDINATOR              NOT_COORDINATOR               NOT_COORDINATOR               NOT_COORDINATOR
"""


def cells(table: str) -> list[tuple[ErrorCode, range, str]]:
    lines = [line.split() for line in table.splitlines() if line.strip()]
    found: list[tuple[ErrorCode, range, str]] = []
    for column, name in enumerate(lines[0][2:], 1):
        first, _, last = name.replace("v", "").partition("-")
        found += [
            (ErrorCode[line[0]], range(int(first), int(last or first) + 1), line[column])
            for line in lines[1:]
        ]
    return found


def coordinator_says(stage: Stage, error: ErrorCode) -> None:
    """Whatever a verification or an implicit add is asked for."""

    def verify(_id: str, _producer: Any, partitions: Any) -> Mapping[TopicPartition, ErrorCode]:
        return dict.fromkeys(partitions, error)

    async def add_partitions(*_: Any) -> ErrorCode:
        return error

    stand_in(stage.broker.transactions, "verify", verify)
    stand_in(stage.broker.transactions, "add_partitions", add_partitions)


@pytest.mark.parametrize(("says", "versions", "wanted"), cells(PRODUCE))
def test_b11_kafka_16386_produce_answers_in_words_of_its_version(
    says: ErrorCode, versions: range, wanted: str
) -> None:
    for version in versions:
        stage = stage_with_topic()
        one = Txn(stage)
        coordinator_says(stage, says)
        said = one.produce("a", version=version)
        assert said == f"{wanted} @{0 if wanted == 'NONE' else -1}", version


@pytest.mark.parametrize(("says", "versions", "wanted"), cells(OFFSETS))
def test_b11_kafka_16386_txn_offset_commit_answers_in_words_of_its_version(
    says: ErrorCode, versions: range, wanted: str
) -> None:
    for version in versions:
        stage = stage_with_topic()
        one = Txn(stage)
        coordinator_says(stage, says)
        assert committed(one.send(one.offsets_request("g", [(0, 5, "")]), version)) == wanted, version


# --- B37


def test_b37_kafka_10186_an_abort_with_records_that_were_not_sent_yet() -> None:
    """The client drops them: whatever of it reached us is aborted, and its next transaction is not disturbed."""
    with oncelog.Broker() as broker:
        broker.topic("out", partitions=3)
        producer = transactional(broker.bootstrap, "tid", {"linger.ms": 3, "batch.num.messages": 10})
        for round_number in range(3):
            producer.begin_transaction()
            for number in range(1_000):
                producer.produce("out", f"dropped {number}".encode())
                if number == 100:
                    producer.poll(0.2)  # so that some of them reach us
            producer.abort_transaction(10)
            producer.begin_transaction()
            producer.produce("out", f"kept {round_number}".encode())
            producer.commit_transaction(10)
        sent = [record.value or b"" for record in broker.read("out", isolation="uncommitted")]
        assert 0 < sum(value.startswith(b"dropped") for value in sent) < 3_000
        kept = sorted(record.value or b"" for record in broker.read("out"))
        assert kept == [b"kept 0", b"kept 1", b"kept 2"]


# --- B38, B39


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("durability", ["process", "power"])
def test_b38_kafka_9807_one_view_of_the_offsets_per_answer(durability: str, seed: int) -> None:
    """Readers ask at all moments: nothing at or above the answer's LSO, and nothing that is not committed in the end."""
    stage = stage_with_topic({"durability": durability}, seed=seed)
    everyone = [Txn(stage, f"tid-{number}") for number in range(4)]
    fate: dict[str, bool] = {}
    writing: dict[str, tuple[list[str], bool, Future[Any]]] = {}
    reading: list[tuple[int, Future[Any]]] = []
    given: list[tuple[int, PartitionData]] = []
    number = 0
    for _ in range(150):
        one = stage.random.choice(everyone)
        step = writing.get(one.name)
        if step is None:
            values = [f"{number + each}" for each in range(stage.random.randint(1, 3))]
            number += len(values)
            writing[one.name] = (values, False, one.begin(one.produce_request(*values), 12))
        elif step[2].done():
            values, is_end, answer = step
            if not is_end:
                commit = stage.random.random() < 0.5
                fate.update(dict.fromkeys(values, commit))
                writing[one.name] = (values, True, one.begin(one.end_request(commit=commit), 5))
            else:
                one.said(answer.result())
                del writing[one.name]
        offset = stage.random.randint(0, stage.part().log_end_offset)
        reader = stage.begin(
            fetch_request(offset, max_wait_ms=stage.random.choice([0, 3, 20])),
            12,
            connection=1_000 + len(reading),
        )
        reading.append((offset, reader))
        for _ in range(stage.random.randint(0, 3 if durability == "process" else 12)):
            stage.loop.step()
    for offset, reader in reading:
        given.append((offset, fetched(stage.run(reader))))
    for _, _, answer in writing.values():
        stage.run(answer)
    told = 0
    for offset, found in given:
        assert found.error_code == ErrorCode.NONE
        assert found.last_stable_offset <= found.high_watermark
        data = bytes(found.records or b"")
        assert all(header.last_offset < found.last_stable_offset for _, header in batches(data))
        assert all(fate[value] for value in seen(found, offset))
        told += len(seen(found, offset))
    assert told > 40


@pytest.mark.parametrize("version", [4, 11, 12])
def test_b39_kafka_5376_a_long_poll_over_an_abort_tells_the_aborted_list(version: int) -> None:
    stage = stage_with_topic()
    one = Txn(stage)
    one.produce("aborted")
    waiting = stage.begin(fetch_request(0, max_wait_ms=30_000), version, connection=9)
    stage.settle(1_000)
    assert not waiting.done()
    assert one.abort() == "NONE 0/1"
    found = fetched(stage.run(waiting, limit_ms=100))
    assert len(list(batches(bytes(found.records or b"")))) == 2
    assert [(each.producer_id, each.first_offset) for each in found.aborted_transactions or ()] == [(0, 0)]
    assert seen(found, 0) == []
