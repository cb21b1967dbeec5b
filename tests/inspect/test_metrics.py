"""/metrics: Prometheus' format, the names that dashboards know, true values; and the Grafana file asks for no other."""

import json
import re
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

import oncelog
from oncelog.client.admin import Admin
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.transactional import TransactionalId
from oncelog.errors import ErrorCode
from oncelog.inspect import counted, views
from oncelog.inspect.ask import SideDoor
from oncelog.inspect.exposition import Family, exposition
from oncelog.inspect.lag import COUNTED_EACH_SECOND
from oncelog.inspect.metrics import collect
from oncelog.model import TopicPartition
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.record.batch import NewRecord, build_batch
from tests.clients import connect, transactional
from tests.conformance import targets
from tests.toolchains import ROOT, Missing, leave_out

SAMPLE = re.compile(
    r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (-?[0-9.e+-]+)$'
)


@pytest.fixture(scope="module", params=targets.chosen())
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    try:
        with targets.run(request.param) as bootstrap:
            yield request.param, bootstrap
    except Missing as why:
        leave_out(f"metrics of {request.param}", why)


def samples(text: str) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            continue
        match = SAMPLE.match(line)
        assert match is not None, line
        found[match[1], match[2] or ""] = float(match[3])
    return found


def test_values_are_those_of_the_cluster(place: tuple[str, str]) -> None:
    kind, bootstrap = place
    with Cluster(bootstrap) as cluster:
        Admin(cluster).create_topic("metered", partitions=2)
        plain = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
        plain.produce("metered", b"visible", partition=0)
        assert plain.flush(10) == 0
        producer = transactional(bootstrap, "metered-1")
        producer.begin_transaction()
        for _ in range(5):
            producer.produce("metered", b"x", partition=1)
        producer.flush(10)
        (node_id,) = cluster.nodes()
        group = 'odd "name"\\'
        Admin(cluster).commit_offsets(
            group, {TopicPartition("metered", 1): 2}
        )  # waits for a fresh coordinator
        found = samples(exposition(collect(cluster, SideDoor(cluster), now_ms=2**41)))
        where = 'topic="metered",partition="1"'
        assert found["kafka_topic_partition_current_offset", where] == 5
        assert found["kafka_cluster_partition_laststableoffsetlag", where] == 5
        assert found["kafka_cluster_partition_laststableoffsetlag", 'topic="metered",partition="0"'] == 0
        assert found["oncelog_lso_hidden_records", where] == 5
        assert found["kafka_topic_partitions", 'topic="metered"'] == 2
        assert found["kafka_consumergroup_lag", 'consumergroup="odd \\"name\\"\\\\",' + where] == 3
        assert found["oncelog_txn_open", ""] == 1
        assert found["kafka_brokers", ""] == 1
        assert (
            found["oncelog_group_lag_records", 'group="odd \\"name\\"\\\\",' + where] == 0
        )  # all are undecided
        assert found["kafka_consumergroup_group_lag_seconds", 'group="odd \\"name\\"\\\\",' + where] > 0
        assert found["kafka_log_log_size", f'{where},broker="{node_id}"'] > 100
        assert found.get(("oncelog_fenced_total", 'cause="new_instance"')) == (
            1 if kind == "oncelog" else None
        )
        assert not any("metered-1" in labels for _, labels in found)  # no transactional id is a label
        younger = transactional(bootstrap, "metered-2")
        younger.begin_transaction()
        younger.produce("metered", b"x", partition=0)
        younger.flush(10)
        oldest = [
            labels
            for name, labels in samples(exposition(collect(cluster, SideDoor(cluster), now_ms=2**41, top=1)))
            if name == "oncelog_txn_oldest_seconds"
        ]
        assert oldest == ['transactional_id="metered-1"']
        younger.abort_transaction(20)
        producer.abort_transaction(20)
        until = time.monotonic() + 20
        while True:  # Apache Kafka answers before the markers are written
            found = samples(exposition(collect(cluster, SideDoor(cluster), now_ms=2**41)))
            if found["oncelog_txn_open", ""] == 0:
                break
            assert time.monotonic() < until, "the aborted transaction stays open"
            time.sleep(0.05)
        assert ("oncelog_lso_hidden_records", where) not in found
        dashboard = (ROOT / "docs" / "grafana" / "oncelog.json").read_text()
        wanted = {
            name
            for panel in json.loads(dashboard)["panels"]
            for target in panel["targets"]
            for name in re.findall(r"\b(?:kafka|oncelog)_[a-z_]+\b", target["expr"])
        }
        once = {
            "oncelog_lso_pinned_seconds",
            "oncelog_lso_hidden_records",
        }  # only while it lasts
        ours = {
            name
            for name in wanted
            if name.startswith(("oncelog_txn_seconds", "oncelog_rpc_", "oncelog_fenced"))
        }
        assert wanted - once - (set() if kind == "oncelog" else ours) <= {name for name, _ in found}


# Every name that the three families and our own promise; of the JMX exporter's those that a broker of one replica has.
NAMES = """
kafka_brokers kafka_topic_partitions kafka_topic_partition_current_offset kafka_topic_partition_oldest_offset
kafka_consumergroup_current_offset kafka_consumergroup_lag kafka_consumergroup_lag_sum kafka_consumergroup_members
kafka_consumergroup_group_lag kafka_consumergroup_group_lag_seconds kafka_consumergroup_group_max_lag
kafka_partition_latest_offset kafka_partition_earliest_offset
kafka_log_log_logendoffset kafka_log_log_logstartoffset kafka_log_log_size
kafka_server_replicamanager_partitioncount kafka_server_replicamanager_leadercount
kafka_server_replicamanager_underreplicatedpartitions kafka_server_replicamanager_partitionswithlatetransactionscount
kafka_cluster_partition_laststableoffsetlag
kafka_server_transaction_coordinator_metrics_transactional_id_count
kafka_server_transaction_coordinator_metrics_active_transaction_total_time_max
oncelog_txn_open oncelog_lso_pinned_seconds oncelog_lso_hidden_records oncelog_group_lag_records
""".split()
OF_THE_BROKER = """
kafka_server_brokertopicmetrics_messagesinpersec kafka_server_brokertopicmetrics_bytesinpersec
kafka_server_brokertopicmetrics_bytesoutpersec kafka_server_brokertopicmetrics_totalproducerequestspersec
kafka_server_brokertopicmetrics_totalfetchrequestspersec
kafka_network_requestmetrics_requestspersec kafka_network_requestmetrics_totaltimems
kafka_network_requestmetrics_localtimems kafka_network_requestmetrics_errorspersec
kafka_server_replicamanager_produceridcount
kafka_server_transaction_coordinator_metrics_partition_load_time_max
kafka_server_transaction_coordinator_metrics_partition_load_time_avg
kafka_server_transaction_coordinator_metrics_transaction_timeout_count
kafka_server_transaction_coordinator_metrics_transaction_state_error_count
kafka_server_transaction_coordinator_metrics_prepare_commit_to_complete_commit_latency
kafka_server_addpartitionstotxnmanager_verificationfailurerate
kafka_server_addpartitionstotxnmanager_verificationtimems
oncelog_txn_seconds oncelog_txn_phase_seconds oncelog_fenced_total oncelog_duplicate_batches_total
oncelog_out_of_order_total oncelog_aborted_bytes_total oncelog_rpc_seconds oncelog_fsync_seconds
""".split()


def test_every_name_is_there(place: tuple[str, str]) -> None:
    """While a transaction is open and a group is behind; on Apache Kafka those that are known over the wire."""
    kind, bootstrap = place
    with Cluster(bootstrap) as cluster:
        for topic in ("named", "ended"):
            Admin(cluster).create_topic(topic, partitions=1)
        ended = transactional(bootstrap, "named-0")  # what is timed at its end has a name only after one
        ended.begin_transaction()
        ended.produce("ended", b"w")
        ended.commit_transaction(20)
        opened = transactional(bootstrap, "named-1")
        opened.begin_transaction()
        opened.produce("named", b"x")
        opened.flush(10)
        Admin(cluster).commit_offsets("named-group", {TopicPartition("named", 0): 0})
        text = exposition(collect(cluster, SideDoor(cluster), now_ms=time.time_ns() // 1_000_000))
        opened.abort_transaction(20)
    typed = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    wanted = {*NAMES, *(OF_THE_BROKER if kind == "oncelog" else ())}
    assert wanted - {"kafka_network_requestmetrics_errorspersec"} <= set(
        typed
    )  # of errors there may be none yet
    found = samples(text)
    where = 'topic="named",partition="0"'
    assert 0 <= found["oncelog_lso_pinned_seconds", f'{where},kind="long"'] < 30
    assert 0 <= found["kafka_consumergroup_group_lag_seconds", f'group="named-group",{where}'] < 30
    assert found["kafka_consumergroup_lag_sum", 'consumergroup="named-group",topic="named"'] == 1
    assert found["kafka_consumergroup_group_max_lag", 'group="named-group"'] == 1
    assert found["kafka_consumergroup_members", 'consumergroup="named-group"'] == 0
    assert found["kafka_partition_earliest_offset", where] == 0
    assert found["kafka_server_replicamanager_underreplicatedpartitions", ""] == 0
    assert found["kafka_server_replicamanager_partitionswithlatetransactionscount", ""] == 0
    assert found["kafka_server_transaction_coordinator_metrics_transactional_id_count", ""] >= 1
    oldest = found["kafka_server_transaction_coordinator_metrics_active_transaction_total_time_max", ""]
    assert 0 <= oldest < 30_000
    if kind == "oncelog":
        assert {typed[name] for name in ("oncelog_txn_seconds", "oncelog_rpc_seconds")} == {"histogram"}
        assert ("kafka_network_requestmetrics_localtimems", 'request="Fetch",quantile="0.5"') not in found
        phases = {labels for name, labels in found if name == "oncelog_txn_phase_seconds_count"}
        assert phases == {f'phase="{each}"' for each in ("prepare", "markers", "complete")}


def test_the_bytes_of_aborted_transactions_are_counted_and_no_others() -> None:
    where = TopicPartition("metered", 0)
    aborted = 0
    with oncelog.Broker() as broker, Cluster(broker.bootstrap) as cluster:
        broker.topic(where.topic)
        own = TransactionalId(cluster, "metered-1")
        producer = own.init()
        for size, commit in ((100, True), (200, False), (300, True), (400, False)):
            batch = build_batch(
                [NewRecord(None, b"x" * size, 1)],
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                base_sequence=0,
                transactional=True,
            )
            with BatchWriter(cluster, own.name, producer, protocol=own.protocol) as writer:
                writer.write(where, batch)
                writer.flush()
            producer = own.end(producer, commit=commit)
            aborted += 0 if commit else len(batch)
            found = samples(exposition(collect(cluster, SideDoor(cluster), now_ms=2**41)))
            assert found["oncelog_aborted_bytes_total", ""] == aborted


def test_much_that_is_hidden_is_not_read_to_be_counted_again_and_again() -> None:
    """Once for `txn stuck`, which was asked; the page and Prometheus ask every few seconds and are told the offsets."""
    where = TopicPartition("metered", 0)
    with oncelog.Broker() as broker, Cluster(broker.bootstrap) as cluster:
        broker.topic(where.topic)
        door = SideDoor(cluster)
        holder = transactional(broker.bootstrap, "holder")
        holder.begin_transaction()
        holder.produce(where.topic, b"held")
        holder.flush(10)
        behind = transactional(broker.bootstrap, "behind")
        behind.begin_transaction()
        for _ in range(COUNTED_EACH_SECOND):
            behind.produce(where.topic, b"x")
        behind.commit_transaction(30)
        offsets = 1 + COUNTED_EACH_SECOND + 1  # and a marker
        (once,) = views.pins(cluster, door, now_ms=2**41)
        assert (once.hidden_offsets, once.hidden_records) == (offsets, offsets - 1)
        found = samples(exposition(collect(cluster, door, now_ms=2**41)))
        assert found["oncelog_lso_hidden_records", 'topic="metered",partition="0"'] == offsets
        holder.abort_transaction(20)


def test_every_counter_that_is_used_exists_in_the_broker() -> None:
    """A broker that did everything once: each name of the tables, and each rate, is one that it counts."""
    with oncelog.Broker(virtual_clock=True, settings={"recovery.ongoing": "abort"}) as broker:
        broker.topic("all")
        live_through_everything(broker)
        with Cluster(broker.bootstrap) as cluster:
            door = SideDoor(cluster)
            counters, times = door.counters(), door.times()
            assert counters is not None
            assert times is not None
            used = {name for _, name, _ in (*counted.JMX, *counted.OWN, *counted.NOW)} | set(
                counted.FENCED.values()
            )
            used |= {name for names in counted.RATES.values() for name in names} | set(counted.TOLD)
            assert used - set(counters) == set()
            assert {name for _, _, name in counted.TIMES} | {counted.LOADED, counted.ENDED} <= set(times)
            assert all(any(name.startswith(begin) for name in counters) for begin in counted.REFUSED.values())
            found = samples(exposition(collect(cluster, door, now_ms=2**41)))
    assert found["oncelog_fenced_total", 'cause="timeout"'] == 1
    assert found["oncelog_fenced_total", 'cause="admin"'] == 1
    assert found["kafka_server_replicamanager_produceridcount", ""] >= 3
    assert found["oncelog_txn_seconds_count", 'outcome="commit"'] == 1
    assert found["oncelog_txn_seconds_bucket", 'outcome="commit",le="+Inf"'] == 1
    buckets = [
        value
        for (name, labels), value in found.items()
        if name == "oncelog_txn_seconds_bucket" and "commit" in labels
    ]
    assert buckets == sorted(buckets)
    assert found["oncelog_duplicate_batches_total", ""] == 1
    assert found["oncelog_out_of_order_total", ""] == 1
    assert (
        found[
            "kafka_network_requestmetrics_errorspersec",
            'request="Produce",error="OUT_OF_ORDER_SEQUENCE_NUMBER"',
        ]
        == 1
    )
    assert found["kafka_network_requestmetrics_requestspersec", 'request="EndTxn"'] >= 2
    assert 0 < found["kafka_network_requestmetrics_totaltimems", 'request="EndTxn",quantile="0.5"'] < 60_000
    assert len({name for name, _ in found}) > 60
    sent = found["kafka_server_brokertopicmetrics_bytesoutpersec", ""]
    assert sent == 0  # nobody fetched a record
    assert found["kafka_server_brokertopicmetrics_messagesinpersec", ""] >= 3
    assert found["kafka_network_requestmetrics_localtimems", 'request="EndTxn",quantile="0.5"'] > 0


def live_through_everything(broker: oncelog.Broker) -> None:
    """A restart, then commit, abort, takeover, timeout, and each refusal that a counter of ours stands for."""
    left = transactional(broker.bootstrap, "all-4")
    left.begin_transaction()
    left.produce("all", b"x")
    left.flush(10)
    left.purge()
    broker.restart()  # counters begin anew, and recovery.ongoing=abort ends the transaction
    first = transactional(broker.bootstrap, "all-1")
    first.begin_transaction()
    first.produce("all", b"x")
    first.commit_transaction(20)
    first.begin_transaction()
    first.produce("all", b"x")
    first.flush(10)
    first.abort_transaction(20)
    late = transactional(broker.bootstrap, "all-2")
    late.begin_transaction()
    late.produce("all", b"x")
    late.flush(10)
    broker.clock.advance(120)
    with Cluster(broker.bootstrap, client_id="adminclient-1") as cluster:
        TransactionalId(cluster, "all-1", timeout_ms=60_000).init()
    with connect(broker.bootstrap) as door:
        own = door.send(
            InitProducerIdRequest(transactional_id="all-3", transaction_timeout_ms=60_000),
            InitProducerIdResponse,
            4,
        )
        ending = EndTxnRequest(
            transactional_id="all-3",
            producer_id=own.producer_id,
            producer_epoch=own.producer_epoch,
            committed=True,
        )
        assert door.send(ending, EndTxnResponse, 3).error_code == ErrorCode.INVALID_TXN_STATE
        plain = door.send(InitProducerIdRequest(transactional_id=None), InitProducerIdResponse, 4)
        tries = (
            (None, plain, 0, ErrorCode.NONE),
            (None, plain, 0, ErrorCode.NONE),  # a duplicate
            (None, plain, 7, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
            ("all-3", own, 0, None),  # was never added: not verified
        )
        for name, who, sequence, wanted in tries:
            batch = build_batch(
                [NewRecord(None, b"y", 1, [])],
                producer_id=who.producer_id,
                producer_epoch=who.producer_epoch,
                base_sequence=sequence,
                transactional=name is not None,
            )
            topic = TopicProduceData(
                name="all", partition_data=[PartitionProduceData(index=0, records=batch)]
            )
            request = ProduceRequest(transactional_id=name, acks=-1, timeout_ms=10_000, topic_data=[topic])
            (answer,) = door.send(request, ProduceResponse, 9).responses
            error = answer.partition_responses[0].error_code
            assert error == wanted if wanted is not None else error != 0
        outside = FetchTopic(topic="all", partitions=[FetchPartition(partition=0, fetch_offset=10_000)])
        (asked,) = door.send(FetchRequest(replica_id=-1, topics=[outside]), FetchResponse, 11).responses
        assert asked.partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_text_is_escaped() -> None:
    family = Family("a", "gauge", "b")
    family.add(1.5, topic='x"\n\\')
    assert exposition([family, Family("empty", "gauge", "c")]) == (
        '# HELP a b\n# TYPE a gauge\na{topic="x\\"\\n\\\\"} 1.5\n'
    )
