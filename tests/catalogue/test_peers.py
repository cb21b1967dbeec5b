"""Where other small brokers answer unlike Kafka: kfake's two bugs and five rows of librdkafka's mock broker.

Played like the vectors: on oncelog, on oncelog with Kafka's timing, and with ORACLE=1 on Apache Kafka.
"""

import time

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from tests.catalogue import readers
from tests.clients import LIMIT_S, transactional
from tests.vectors.play import Target
from tests.vectors.txn_targets import targets
from tests.vectors.txn_wire import producers_of, transaction

pytestmark = pytest.mark.parametrize("target", targets(), indirect=True, scope="session")

FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


def write(producer: Producer, topic: str, value: str) -> None:
    producer.begin_transaction()
    producer.produce(topic, value.encode(), partition=0)
    producer.flush(LIMIT_S)


def seen(target: Target, topic: str) -> list[str]:
    """What librdkafka delivers under read_committed."""
    return [value for _, value in readers.librdkafka(target.broker.bootstrap, topic)]


def commit_says(producer: Producer) -> str:
    try:
        producer.commit_transaction(LIMIT_S)
    except KafkaException as refused:
        error: KafkaError = refused.args[0]
        return "fenced" if error.code() in FENCED else error.name()
    return "committed"


def test_peers_committed_and_aborted(target: Target) -> None:
    """The mock delivers the aborted record too, and what is still open."""
    log = target.partition()
    with target.vector("peers 1") as row:
        producer = transactional(target.broker.bootstrap, target.fresh_name("txn"))
        write(producer, log.topic, "c1")
        row("commit c1", commit_says(producer), "committed")
        write(producer, log.topic, "ab1")
        producer.abort_transaction(LIMIT_S)
        row("c1 committed, ab1 aborted: seen", seen(target, log.topic), ["c1"])
        row("high watermark", log.fetch(0).high_watermark, 4)


def test_peers_a_successor_aborts_what_the_dead_one_left(target: Target) -> None:
    """kfake left it open for the successor to commit; the mock never fenced the zombie."""
    log = target.partition()
    name = target.fresh_name("txn")
    with target.vector("peers 2") as row:
        first = transactional(target.broker.bootstrap, name)
        write(first, log.topic, "OLD")
        row("P1 leaves OLD open: seen", seen(target, log.topic), [])
        row("last stable offset", log.fetch(0, isolation=1).last_stable_offset, 0)
        second = transactional(target.broker.bootstrap, name)
        row("P2 with the same id: seen", seen(target, log.topic), [])
        row("OLD is aborted: high watermark", log.fetch(0).high_watermark, 2)
        row("last stable offset then", log.fetch(0, isolation=1).last_stable_offset, 2)
        write(second, log.topic, "NEW")
        row("P2 commits NEW", commit_says(second), "committed")
        row("seen", seen(target, log.topic), ["NEW"])
        row("P1 then commits", commit_says(first), "fenced")
        row("seen then", seen(target, log.topic), ["NEW"])


def test_peers_a_late_produce_opens_no_transaction(target: Target) -> None:
    """kfake adds the partition before it looks at the epoch: the transaction times out and fences the healthy one."""
    logs = {version: target.partition() for version in (12, 13)}
    with (
        transaction(target, timeout_ms=1_000) as by_name,
        transaction(target, timeout_ms=1_000) as by_id,
        target.vector("peers 3") as row,
    ):
        both = {12: by_name, 13: by_id}
        for version, one in both.items():
            log = logs[version]
            row(f"v{version} data at epoch 0", one.produce(log, 0, version=version), "NONE @0")
            row(f"v{version} commit", one.commit(), "NONE (P,1)")
            one.wait()
            late = one.produce(log, 1, version=version, epoch=0)
            row(f"v{version} late data at epoch 0", late, "INVALID_PRODUCER_EPOCH @-1")
            row(f"v{version} state", one.state(), "CompleteCommit (P,1)")
        time.sleep(2.5)  # more than twice the timeout: whatever it opened would be aborted by now
        for version, one in both.items():
            log = logs[version]
            row(f"v{version} state later", one.state(), "CompleteCommit (P,1)")
            row(f"v{version} high watermark", log.fetch(0).high_watermark, 2)
            found = producers_of(target, log.topic)[one.producer_id]
            row(f"v{version} epoch at the partition", found.producer_epoch, 1)
            row(f"v{version} open there", found.current_txn_start_offset, -1)
            healthy = one.produce(log, 0, version=version)
            row(f"v{version} the healthy one at epoch 1", healthy, "NONE @2")
            row(f"v{version} commits", one.commit(), "NONE (P,2)")
