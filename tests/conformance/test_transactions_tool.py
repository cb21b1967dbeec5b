"""Apache Kafka's own `kafka-transactions` (KIP-664), pointed at a broker: list, describe, find and cure hanging transactions.

A hanging transaction is open in a partition while its coordinator knows nothing of it. A client can make one only
where verification is switched off.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.protocol.messages.produce import ProduceResponse
from tests.conformance.targets import chosen
from tests.oracle import Oracle, complaints, dump_log, run_java
from tests.oracle.tools import TRANSACTIONS, ToolFailed
from tests.toolchains import Missing, java, leave_out
from tests.vectors.play import Partition, Target
from tests.vectors.txn_wire import producers_of, transaction

WITHOUT_VERIFICATION = {"transaction.partition.verification.enable": "false"}


@pytest.fixture(scope="module", params=chosen())
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    try:
        java()
        if request.param == "kafka":
            with Oracle(WITHOUT_VERIFICATION, heap="400m") as kafka:
                yield Target("kafka", kafka)
        else:
            with oncelog.Broker(settings=WITHOUT_VERIFICATION) as broker:
                yield Target("oncelog", broker)
    except Missing as why:
        leave_out("kafka-transactions", why)


def tool(target: Target, *words: str) -> list[list[str]]:
    """The rows of the table that it prints, cut at tabs and blanks, without the head."""
    lines = run_java(TRANSACTIONS, "--bootstrap-server", target.broker.bootstrap, *words).splitlines()
    table = [line.split() for line in lines if "\t" in line]
    return table[1:]


def hang(target: Target, log: Partition) -> int:
    """A transaction in the partition that no coordinator knows; its producer id."""
    with transaction(target) as one:
        request = one.produce_request(log, 0)
        answer = one.connection.send(request, ProduceResponse, 9)
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert one.state() == "Empty (P,0)"
        return one.producer_id


@pytest.mark.timeout(240)
def test_list_and_describe(target: Target) -> None:
    log = target.partition()
    with transaction(target) as open_one, transaction(target) as idle:
        open_one.produce(log, 0)
        by_id = {row[0]: row[1:] for row in tool(target, "list")}
        assert by_id[open_one.name] == ["0", str(open_one.producer_id), "Ongoing"]
        assert by_id[idle.name] == ["0", str(idle.producer_id), "Empty"]
        matching = tool(target, "list", "--transactional-id-pattern", f"{open_one.name[:-2]}.*")
        assert open_one.name in [row[0] for row in matching]
        assert idle.name not in [row[0] for row in matching]
        long_ones = tool(target, "list", "--duration-filter", "600000")
        assert open_one.name not in [row[0] for row in long_ones]

        ((coordinator, name, producer_id, epoch, state, timeout, started, _, partitions),) = tool(
            target, "describe", "--transactional-id", open_one.name
        )
        assert (coordinator, name) == ("0", open_one.name)
        assert (producer_id, epoch, state) == (str(open_one.producer_id), "0", "Ongoing")
        assert timeout == "60000"
        assert int(started) == open_one.describe().transaction_start_time_ms
        assert partitions == f"{log.topic}-0"
        with pytest.raises(ToolFailed, match=r"TransactionalIdNotFound|could not be found"):
            tool(target, "describe", "--transactional-id", "nobody")

        open_one.commit()
        open_one.wait()
        ((found, epoch, leader, sequence, *_, offset),) = tool(
            target, "describe-producers", "--topic", log.topic, "--partition", "0"
        )
        assert (found, epoch, leader) == (str(open_one.producer_id), "1", "0")
        assert (sequence, offset) == ("-1", "None")


@pytest.mark.timeout(240)
def test_find_and_abort_a_hanging_transaction_b59(target: Target) -> None:
    log = target.partition()
    producer_id = hang(target, log)
    with transaction(target) as healthy:
        healthy.produce(log, 0)
        assert log.fetch(0, isolation=1).last_stable_offset == 0
        where = ("--topic", log.topic, "--partition", "0")
        # A timeout of 0 minutes: both are older than that, and the coordinator answers for one of them.
        ((topic, partition, found, epoch, _, start, *_),) = tool(
            target, "find-hanging", *where, "--max-transaction-timeout", "0"
        )
        assert (topic, partition, found, epoch, start) == (log.topic, "0", str(producer_id), "0", "0")
        assert tool(target, "find-hanging", "--broker-id", "0") == []  # none is older than 15 minutes

        run_java(
            TRANSACTIONS,
            "--bootstrap-server",
            target.broker.bootstrap,
            "abort",
            *where,
            "--start-offset",
            "0",
        )
        assert tool(target, "find-hanging", *where, "--max-transaction-timeout", "0") == []
        states = producers_of(target, log.topic)
        assert states[producer_id].current_txn_start_offset == -1
        assert states[healthy.producer_id].current_txn_start_offset == 1
        assert log.fetch(0, isolation=1).last_stable_offset == 1
        healthy.commit()
        healthy.wait()
        aborted = log.fetch(0, isolation=1).aborted_transactions or []
        assert [(each.producer_id, each.first_offset) for each in aborted] == [(producer_id, 0)]


STATE_RECORDS = """
# id   status  epoch  partitions  began  TV   previous  next
  new  0       0      null        no     -    P         -
  new  1       0      [[0]]       yes    2    P         -
  new  2       1      [[0]]       yes    2    P         -
  new  4       1      []          yes    2    P         -
  new  3       2      []          yes    2    P         -
  new  5       2      []          yes    2    P         -
  old  0       0      null        no     -    P         -
  old  1       0      [[0]]       yes    -    P         -
  old  3       0      [[0]]       yes    -    P         -
  old  5       0      []          yes    -    P         -
  old  0       1      null        no     -    P         -
"""


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", chosen())
def test_fmt_3_fmt_6_state_records_as_kafkas_own_tool_reads_them(kind: str, tmp_path: Path) -> None:
    """One id of either protocol; DumpLogSegments decodes what the coordinator wrote, ours and Kafka's alike."""
    one_partition = {"transaction.state.log.num.partitions": "1"}
    try:
        java()
        if kind == "kafka":
            with Oracle(one_partition, heap="400m", data_dir=tmp_path) as kafka:
                tell(Target(kind, kafka))
        else:
            with oncelog.Broker(data_dir=str(tmp_path / "data"), settings=one_partition) as broker:
                tell(Target(kind, broker))
    except Missing as why:
        leave_out("kafka-dump-log", why)
    text = dump_log(
        tmp_path / "data" / "__transaction_state-0" / f"{0:020}.log", options=("--transaction-log-decoder",)
    )
    assert complaints(text) == []
    pairs = re.findall(r'key: (\{"type":"0".*?\}) payload: (\{.*\})$', text, re.MULTILINE)
    said = [state_record(json.loads(key)["data"], json.loads(payload)) for key, payload in pairs]
    wanted = [
        line.split() for line in STATE_RECORDS.splitlines() if line.strip() and not line.startswith("#")
    ]
    assert said == wanted


def tell(target: Target) -> None:
    log = target.partition()
    with transaction(target, name="new") as one:
        one.produce(log, 0)
        one.commit()
        one.wait()
        one.abort()
        one.wait()
    with transaction(target, name="old") as one:
        one.add([(log.topic, 0)])
        one.abort(version=3)
        one.wait()
        one.init()


def state_record(key: dict[str, str], payload: dict[str, Any]) -> list[str]:
    data = payload["data"]
    assert payload["version"] == "1"
    assert data["transactionTimeoutMs"] == 60_000
    assert data["transactionLastUpdateTimestampMs"] > 0
    listed = data["transactionPartitions"]
    partitions = "null" if listed is None else json.dumps([each["partitionIds"] for each in listed])
    previous = {data["producerId"]: "P", None: "-"}.get(data.get("previousProducerId"), "another")
    return [
        key["transactionalId"],
        str(data["transactionStatus"]),
        str(data["producerEpoch"]),
        partitions,
        "yes" if data["transactionStartTimestampMs"] > 0 else "no",
        str(data.get("clientTransactionVersion", "-")),
        previous,
        str(data.get("nextProducerId", "-")),
    ]


@pytest.mark.timeout(240)
def test_force_terminate_a_transaction(target: Target) -> None:
    log = target.partition()
    with transaction(target) as one:
        one.produce(log, 0)
        run_java(
            TRANSACTIONS, "--bootstrap-server", target.broker.bootstrap, "forceTerminateTransaction",
            "--transactionalId", one.name,
        )  # fmt: skip
        one.connection.close()
        one.wait_for("Empty", "CompleteAbort")
        assert one.produce(log, 1) == "INVALID_PRODUCER_EPOCH @-1"
        assert log.fetch(0, isolation=1).last_stable_offset == 2
