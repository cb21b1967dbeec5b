"""Apache Kafka goes on with a __transaction_state that oncelog wrote: the states, and our own records among them.

Kafka skips types of records that it does not know (KIP-915; decision 0016).
"""

import shutil
from pathlib import Path

import pytest

import oncelog
from oncelog.client.cluster import Cluster
from oncelog.inspect.ask import describe_transaction
from oncelog.model import TRANSACTION_STATE, TopicPartition
from oncelog.record.checkpoints import LeaderEpoch, encode_leader_epochs, encode_offsets
from tests.clients import transactional
from tests.oracle import Oracle, complaints, dump_log
from tests.oracle.tools import run_java
from tests.toolchains import Missing, java, leave_out

ONE_PARTITION = {"transaction.state.log.num.partitions": "1"}
SEGMENT = f"{0:020}.log"


def written(data: Path) -> Path:
    """A log whose last batch is that of a new instance; the segment."""
    with oncelog.Broker(data_dir=str(data), settings=ONE_PARTITION) as broker:
        broker.topic("out")
        done = transactional(broker.bootstrap, "refunds-1")
        done.begin_transaction()
        done.produce("out", b"1")
        done.commit_transaction(10)
        for _ in range(2):
            transactional(broker.bootstrap, "refunds-2", {"client.id": "the-last"})
    return data / f"{TRANSACTION_STATE}-0" / SEGMENT


@pytest.mark.timeout(240)
def test_kip_915_kafkas_tool_passes_over_why_an_epoch_was_bumped(tmp_path: Path) -> None:
    try:
        java()
    except Missing as why:
        leave_out("kafka-dump-log", why)
    said = dump_log(written(tmp_path), options=("--transaction-log-decoder",))
    assert complaints(said) == []
    assert said.count("Unknown record type 1000") == 3
    assert said.count('key: {"type":"0"') == 6


READS_CHECKPOINTS = """
import java.io.File;
import org.apache.kafka.storage.internals.checkpoint.*;

public class Reads {
    public static void main(String[] words) throws Exception {
        System.out.println(new OffsetCheckpointFile(new File(words[0]), null).read());
        System.out.println(new LeaderEpochCheckpointFile(new File(words[1]), null).read());
    }
}
"""


@pytest.mark.timeout(240)
def test_kafkas_own_classes_read_checkpoints_whose_lines_end_in_their_crc(tmp_path: Path) -> None:
    """Decision 0025."""
    try:
        java()
    except Missing as why:
        leave_out("Kafka's checkpoint classes", why)
    offsets, epochs, source = (tmp_path / name for name in ("offsets", "epochs", "Reads.java"))
    offsets.write_text(encode_offsets({TopicPartition("pay", 0): 123, TopicPartition("a.b", 7): 0}))
    epochs.write_text(encode_leader_epochs([LeaderEpoch(0, 0), LeaderEpoch(3, 17)]))
    source.write_text(READS_CHECKPOINTS)
    said = run_java(str(source), str(offsets), str(epochs))
    assert "pay-0=123" in said
    assert "a.b-7=0" in said
    assert "epoch=3, startOffset=17" in said


@pytest.mark.timeout(240)
@pytest.mark.needs_oracle
def test_kip_915_kafka_loads_the_ids_of_an_oncelog(tmp_path: Path) -> None:
    segment = written(tmp_path / "oncelog")
    kafka = Oracle(ONE_PARTITION, heap="400m", data_dir=tmp_path / "kafka")
    try:
        with kafka:
            transactional(kafka.bootstrap, "its-own")
        place = kafka.log_dir / f"{TRANSACTION_STATE}-0"
        for old in place.glob("0000*"):
            old.unlink()
        shutil.copy(segment, place / SEGMENT)
        (kafka.log_dir / ".kafka_cleanshutdown").unlink()
        with kafka, Cluster(kafka.bootstrap) as cluster:
            found = {name: describe_transaction(cluster, name) for name in ("refunds-1", "refunds-2")}
    except Missing as why:
        leave_out("Apache Kafka", why)
    told = {name: each and (each.state, each.producer.epoch) for name, each in found.items()}
    assert told == {"refunds-1": ("CompleteCommit", 0), "refunds-2": ("Empty", 1)}
