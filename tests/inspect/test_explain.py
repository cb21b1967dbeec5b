"""`oncelog explain`, and lag in records: with evidence where the broker has it."""

import re
import time
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

import oncelog
from oncelog.cli.main import main
from oncelog.client.address import parse_bootstrap
from oncelog.client.cluster import Cluster
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.inspect import ask, trace
from oncelog.inspect.events import Event
from oncelog.inspect.explain import (
    ADMIN,
    NEW_INSTANCE,
    TIMED_OUT,
    Reason,
    Refused,
    by_states,
    error_named,
    fenced_by,
    known,
)
from oncelog.inspect.replay import Past, StateRecord
from oncelog.model import Producer, ProducerEpoch, ProducerId
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.record.batch import NewRecord, build_batch
from tests.inspect.stage import Stage


@pytest.mark.parametrize(
    "text",
    "PRODUCER_FENCED producer_fenced ProducerFencedException 90 ProducerFenced ProducerFencedError _FENCED".split(),
)
def test_an_error_is_known_by_every_name_that_clients_print(text: str) -> None:
    assert error_named(text) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("InvalidPidMappingException", ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("OutOfOrderSequenceException", ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ("InvalidTxnTimeoutException", ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("invalidtxntimeoutexception", ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("org.apache.kafka.common.errors.ProducerFencedException", ErrorCode.PRODUCER_FENCED),
        (
            "org.apache.kafka.common.errors.OutOfOrderSequenceException: The broker received an out of order sequence number.",
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ),
        ("kafka.errors.ProducerFencedError", ErrorCode.PRODUCER_FENCED),
        ("_STATE", ErrorCode.INVALID_TXN_STATE),
        ("-172", ErrorCode.INVALID_TXN_STATE),
        ("TransactionalIdAuthorizationException", ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ("IllegalGenerationException", ErrorCode.ILLEGAL_GENERATION),
        ("-1", ErrorCode.UNKNOWN_SERVER_ERROR),
        ("java.lang.NullPointerException", None),
    ],
)
def test_the_names_of_exceptions_that_are_not_those_of_errors(text: str, error: ErrorCode | None) -> None:
    assert error_named(text) is error


@pytest.mark.parametrize(
    "error",
    "ILLEGAL_GENERATION UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID REBALANCE_IN_PROGRESS TRANSACTIONAL_ID_AUTHORIZATION_FAILED "
    "GROUP_AUTHORIZATION_FAILED TOPIC_AUTHORIZATION_FAILED".split(),
)
def test_errors_of_groups_and_rights_have_causes(error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert error in known()
    assert main(["explain", error]) == 0
    said = capsys.readouterr().out
    assert "no error of transactions" not in said
    assert "possible: " in said


def test_offsets_that_a_group_refused_are_shown(stage: Stage) -> None:
    """Sent with a generation that the group has left behind; oncelog keeps the request, Kafka does not."""
    stage.run("topics", "new", "late-in")
    late = Consumer(
        {"bootstrap.servers": stage.bootstrap, "group.id": "late", "auto.offset.reset": "earliest"}
    )
    late.subscribe(["late-in"])
    with stage.producer("late-1", client_id="settle") as producer:
        deadline = time.monotonic() + 30
        while not late.assignment():
            late.poll(0.2)
            assert time.monotonic() < deadline, "the group did not settle"
        metadata = late.consumer_group_metadata()
        late.close()  # it leaves: what it was is nobody now
        with pytest.raises(KafkaException) as refused:
            producer.send_offsets_to_transaction([TopicPartition("late-in", 0, 0)], metadata, 20)
        name = refused.value.args[0].name()
        assert name in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")
        verdict, evidence = causes(stage, name, "late-1")["rebalanced"]
    assert verdict == "possible"
    if stage.is_oncelog:
        assert re.match(r"TxnOffsetCommit with epoch 0, \d+ s ago by settle at 127\.0\.0\.1:", evidence)
    else:
        assert evidence.startswith("its state is Ongoing")


def test_an_unknown_error_is_a_usage_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "NO_SUCH_THING"]) == 2
    assert "PRODUCER_FENCED" in capsys.readouterr().err


def test_without_an_id_no_cluster_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "PRODUCER_FENCED", "--bootstrap", "127.0.0.1:1"]) == 0
    assert "possible: new instance" in capsys.readouterr().out
    assert main(["explain", "PRODUCER_FENCED", "--tid", "x", "--bootstrap", "127.0.0.1:1"]) == 3


def causes(stage: Stage, error: str, tid: str) -> dict[str, tuple[str, str]]:
    found = stage.json("explain", error, "--tid", tid)
    return {each["cause"]: (each["verdict"], each["evidence"]) for each in found["causes"]}


def test_fenced_by_a_new_instance_is_named_with_who_did_it(stage: Stage) -> None:
    with stage.producer("fenced-1", client_id="old"), stage.producer("fenced-1", client_id="successor"):
        found = causes(stage, "PRODUCER_FENCED", "fenced-1")
    if stage.is_oncelog:
        assert found["new instance"][0] == "confirmed"
        assert "successor at 127.0.0.1:" in found["new instance"][1]
        assert re.search(r", \d+ s ago, to epoch 1$", found["new instance"][1])
        assert found["timeout"][0] == "excluded"
        assert found["admin"][0] == "excluded"
    else:
        timeout = found.pop("timeout")
        assert timeout == ("excluded", "its state log is whole and tells of no abort after a timeout")
        assert {each[0] for each in found.values()} == {"possible"}
        evidence = found["new instance"][1]
        assert re.match(
            r"init_transactions raised it to epoch [12], \d+ s ago, by its state log; by whom is", evidence
        )
        assert "needs oncelog broker" in evidence


def test_a_refusal_is_found_by_the_name_that_the_client_gives_it(stage: Stage) -> None:
    """An old version of EndTxn is told that its epoch is invalid, and librdkafka says fenced: the request is the evidence."""
    stage.run("topics", "new", "called-out")
    with stage.producer("called-1", client_id="old") as producer:
        producer.produce("called-out", b"x")
        producer.flush(10)
        with stage.producer("called-1", client_id="successor"):
            with pytest.raises(KafkaException):
                producer.commit_transaction(20)
            found = causes(stage, "_FENCED", "called-1")
    if stage.is_oncelog:
        assert found["new instance"][0] == "confirmed"
        assert found["old epoch"][0] == "excluded", found
        assert "EndTxn commit with epoch 0, 0 s ago by old at 127.0.0.1:" in found["old epoch"][1]


def test_a_gap_in_sequences_and_an_id_that_is_ending_are_found(stage: Stage) -> None:
    stage.run("topics", "new", "gap-out", "--partitions", "1")
    (address,) = parse_bootstrap(stage.bootstrap)
    with Connection(address, client_id="hasty") as door:
        init = InitProducerIdRequest(transactional_id="gap-1", transaction_timeout_ms=60_000)
        given = door.send(init, InitProducerIdResponse, 4)
        one = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="gap-1",
            v3_and_below_producer_id=given.producer_id,
            v3_and_below_producer_epoch=given.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name="gap-out", partitions=[0])],
        )
        door.send(one, AddPartitionsToTxnResponse, 3)
        for sequence, wanted in ((0, ErrorCode.NONE), (7, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)):
            batch = build_batch(
                [NewRecord(None, b"x", 1, [])],
                producer_id=given.producer_id,
                producer_epoch=given.producer_epoch,
                base_sequence=sequence,
                transactional=True,
            )
            topic = TopicProduceData(
                name="gap-out", partition_data=[PartitionProduceData(index=0, records=batch)]
            )
            asked = ProduceRequest(transactional_id="gap-1", acks=-1, timeout_ms=10_000, topic_data=[topic])
            (told,) = door.send(asked, ProduceResponse, 9).responses
            assert told.partition_responses[0].error_code == wanted
    verdict, evidence = causes(stage, "OUT_OF_ORDER_SEQUENCE_NUMBER", "gap-1")["gap in sequences"]
    if stage.is_oncelog:
        assert verdict == "confirmed"
        assert "gap-out-0 sequence 7" in evidence
    else:
        assert verdict == "possible"
    assert causes(stage, "CONCURRENT_TRANSACTIONS", "gap-1")["ending"] == (
        "possible",
        "its state is Ongoing now",
    )
    assert stage.run("txn", "abort", "gap-1", "--yes").code == 0


def test_every_cause_says_what_to_do(stage: Stage) -> None:
    for error in known():
        found = stage.json("explain", error)["causes"]
        assert found, error
        assert all(each["do"] and each["text"] for each in found), error


def test_timed_out_is_told_from_fenced(stage: Stage) -> None:
    stage.run("topics", "new", "slow-out")
    with stage.producer("slow-1", timeout_ms=1000) as producer:
        producer.produce("slow-out", b"x")
        producer.flush(10)
        while stage.json("txn", "show", "slow-1")["state"] == "Ongoing":
            pass
        with pytest.raises(KafkaException):
            producer.commit_transaction(20)
        found = causes(stage, "INVALID_PRODUCER_EPOCH", "slow-1")
        if stage.is_oncelog:
            assert found["timeout"][0] == "confirmed"
            assert found["new instance"][0] == "excluded"
        else:  # it keeps no causes, but its state log has times
            assert found["timeout"][0] == "possible"
            assert re.match(
                r"aborted \d+ s ago, \d{4,5} ms after it began, with a timeout of 1000 ms, by its state log; why is not kept",
                found["timeout"][1],
            )
            assert found["new instance"][0] == "possible"
            assert found["new instance"][1].startswith("an abort raised its epoch, as the first half of")


def test_the_first_bump_above_the_epoch_is_the_cause_and_later_ones_are_not(stage: Stage) -> None:
    """A transaction times out, then a successor takes the id, then the zombie comes back: it was fenced by its timeout."""
    stage.run("topics", "new", "twice-out")
    with stage.producer("twice-1", client_id="sleepy", timeout_ms=1000) as zombie:
        zombie.produce("twice-out", b"x")
        zombie.flush(10)
        while stage.json("txn", "show", "twice-1")["state"] == "Ongoing":
            pass
        with stage.producer("twice-1", client_id="successor"):
            with pytest.raises(KafkaException):
                zombie.commit_transaction(20)
            found = causes(stage, "PRODUCER_FENCED", "twice-1")
    if not stage.is_oncelog:
        assert {each[0] for each in found.values()} == {"possible"}
        assert "init_transactions raised it to epoch 2" in found["new instance"][1]
        assert "with a timeout of 1000 ms" in found["timeout"][1]
        return
    verdict, evidence = found["timeout"]
    assert verdict == "confirmed"
    assert re.match(
        r"bump: timeout, \d+ s ago, to epoch 1; then last bump: new instance by successor at", evidence
    )
    verdict, evidence = found["new instance"]
    assert verdict == "excluded"
    assert "; only then last bump: new instance by successor at 127.0.0.1:" in evidence
    assert found["old epoch"][0] == "excluded"
    assert "the bump to 1 explains it" in found["old epoch"][1]


EMPTY = StateRecord(0, 1_000, "Empty", 7, 0, 60_000, (), -1, 0)
BEGUN = replace(EMPTY, at_ms=2_000, state="Ongoing", start_ms=2_000)
OWN_ABORT = replace(BEGUN, at_ms=3_000, state="PrepareAbort")
FENCED_ABORT = replace(OWN_ABORT, producer_epoch=1)
LATE_ABORT = replace(FENCED_ABORT, at_ms=63_000)
HEIR_CAME = replace(EMPTY, at_ms=64_000, producer_epoch=2)


@pytest.mark.parametrize(
    ("reason", "logged", "verdict", "evidence"),
    [
        (TIMED_OUT, [], "possible", "not kept"),
        (TIMED_OUT, [EMPTY, BEGUN, OWN_ABORT], "excluded", "no abort after a timeout"),
        (TIMED_OUT, [EMPTY, BEGUN, FENCED_ABORT, HEIR_CAME], "excluded", "no abort after a timeout"),
        (TIMED_OUT, [BEGUN, OWN_ABORT], "possible", "not kept"),  # what was before is compacted away
        (TIMED_OUT, [EMPTY, BEGUN, LATE_ABORT], "possible", "aborted 37 s ago, 61000 ms after it began"),
        (NEW_INSTANCE, [], "possible", "not kept"),
        (NEW_INSTANCE, [EMPTY, BEGUN, OWN_ABORT], "excluded", "no second init_transactions"),
        # it may not have asked again
        (NEW_INSTANCE, [EMPTY, BEGUN, FENCED_ABORT], "possible", "an abort raised its epoch"),
        (NEW_INSTANCE, [BEGUN, LATE_ABORT], "possible", "not kept"),
        (NEW_INSTANCE, [EMPTY, BEGUN, LATE_ABORT, HEIR_CAME], "possible", "raised it to epoch 2, 36 s ago"),
        (ADMIN, [EMPTY, BEGUN, OWN_ABORT], "possible", "not kept"),
    ],
)
def test_what_a_state_log_without_causes_tells(
    reason: Reason, logged: list[StateRecord], verdict: str, evidence: str
) -> None:
    """As Apache Kafka keeps it: nothing is confirmed by it."""
    found = by_states(reason, logged, 100_000)
    assert (found[0], evidence in found[1]) == (verdict, True), found


def bumped(epoch: int, cause: str, producer_id: int = 7) -> ask.Bumped:
    return ask.Bumped(epoch, cause, 1000 * epoch, None, None, producer_id)


def refused(epoch: int | None, producer_id: int | None = 7) -> Refused:
    end = Event(9000, "rpc", "a", "EndTxn", producer_id=producer_id, producer_epoch=epoch)
    return Refused(end, None)


GIVEN = bumped(0, "new instance")
LATE = bumped(1, "timeout")
HEIR = bumped(2, "new instance")
OTHER = bumped(0, "admin", producer_id=8)  # its epochs had run out


@pytest.mark.parametrize(
    ("bumps", "request_", "above", "is_whole"),
    [
        ([GIVEN, LATE, HEIR], refused(0), [LATE, HEIR], True),
        ([GIVEN, LATE, HEIR], refused(1), [HEIR], True),
        ([GIVEN, LATE, HEIR], refused(2), [], True),
        ([LATE, HEIR], refused(0), [LATE, HEIR], False),  # what gave it its epoch is compacted away
        ([GIVEN, LATE, OTHER], refused(1), [OTHER], True),
        ([GIVEN, LATE, OTHER], refused(5, producer_id=9), [GIVEN, LATE, OTHER], False),
        ([GIVEN, LATE, OTHER], refused(0, producer_id=8), [], True),
        ([GIVEN, LATE, HEIR], refused(0, producer_id=None), [LATE, HEIR], True),
        ([GIVEN, LATE, HEIR], refused(None), [LATE, HEIR], True),
        ([GIVEN], None, [], True),
        ([LATE, HEIR], None, [LATE, HEIR], False),
        ([], None, [], False),
    ],
)
def test_which_bumps_left_an_epoch_behind(
    bumps: list[ask.Bumped], request_: Refused | None, above: list[ask.Bumped], is_whole: bool
) -> None:
    found = fenced_by(bumps, request_)
    assert (list(found.above), found.is_whole) == (above, is_whole)


CASES = """
# bumps                     epoch  new instance  timeout    admin      old epoch
  GIVEN LATE HEIR           0      excluded      confirmed  excluded   excluded
  GIVEN LATE HEIR           1      confirmed     excluded   excluded   excluded
  GIVEN LATE HEIR           2      excluded      excluded   excluded   confirmed
  LATE HEIR                 0      possible      possible   possible   possible
  GIVEN LATE HEIR           -      possible      possible   excluded   possible
  GIVEN LATE                -      excluded      confirmed  excluded   possible
  GIVEN                     -      possible      possible   possible   possible
"""


@pytest.mark.parametrize("case", [line for line in CASES.splitlines() if line.strip() and line[0] != "#"])
def test_verdicts_by_what_the_log_holds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """The log and the ring are put into the broker's mouth: an id at epoch 4, by transactions that ended."""
    *names, epoch, new_instance, timeout, admin, old_epoch = case.split()
    bumps = tuple({"GIVEN": GIVEN, "LATE": LATE, "HEIR": HEIR}[each] for each in names)
    end = refused(None if epoch == "-" else int(epoch)).event

    def past(*_: object) -> Past:
        return Past((), bumps)

    def kept(*_: object) -> list[tuple[int, Event]]:
        return [] if epoch == "-" else [(1, replace(end, error="PRODUCER_FENCED"))]

    def described(*_: object) -> ask.Described:
        return ask.Described("a", "Empty", Producer(ProducerId(7), ProducerEpoch(4)), 60_000, -1, ())

    monkeypatch.setattr(trace, "past_of", past)
    monkeypatch.setattr(trace, "requests", kept)
    monkeypatch.setattr(ask, "describe_transaction", described)
    with oncelog.Broker() as broker:
        stage = Stage("oncelog", broker.bootstrap, capsys)
        found = {cause: verdict for cause, (verdict, _) in causes(stage, "PRODUCER_FENCED", "a").items()}
    assert found == {
        "new instance": new_instance,
        "timeout": timeout,
        "admin": admin,
        "old epoch": old_epoch,
    }


def test_an_id_that_nobody_knows(stage: Stage) -> None:
    """Nothing is excluded by it: a name that is misspelt tells nothing of the one that was meant."""
    found = causes(stage, "INVALID_PRODUCER_ID_MAPPING", "never-seen")
    assert found["unknown id"][0] == "confirmed"
    assert found["new instance"] == ("possible", "the coordinator does not know 'never-seen'")
    found = causes(stage, "PRODUCER_FENCED", "never-seen")
    assert {each[0] for each in found.values()} == {"possible"}
    assert next(iter(found)) == "unknown id"
    assert "look at how it is spelled" in found["unknown id"][1]
    assert "unknown id" not in causes(stage, "INVALID_TRANSACTION_TIMEOUT", "never-seen")


def test_the_maximum_of_timeouts_is_read_from_the_broker(stage: Stage) -> None:
    found = causes(stage, "INVALID_TRANSACTION_TIMEOUT", "x")
    assert "900000" in found["timeout above the maximum"][1]


def test_lag_counts_what_a_reader_will_see(stage: Stage) -> None:
    stage.run("topics", "new", "lagged")
    with stage.producer("lag-1") as producer:
        for outcome in ("commit", "abort"):
            if outcome == "abort":
                producer.begin_transaction()
            for _ in range(10):
                producer.produce("lagged", b"x")
            producer.flush(10)
            if outcome == "commit":
                producer.commit_transaction(20)
            else:
                producer.abort_transaction(20)
        producer.begin_transaction()
        producer.produce("lagged", b"undecided")
        producer.flush(10)
        with stage.producer("lag-2") as behind:  # decided, but nobody sees it before the one above is
            for _ in range(3):
                behind.produce("lagged", b"committed")
            behind.commit_transaction(20)
            behind.begin_transaction()
            for _ in range(2):
                behind.produce("lagged", b"aborted")
            behind.flush(10)
            behind.abort_transaction(20)
        reader = Consumer(
            {"bootstrap.servers": stage.bootstrap, "group.id": "lag-group", "enable.auto.commit": False}
        )
        reader.commit(offsets=[TopicPartition("lagged", 0, 4)], asynchronous=False)
        reader.close()
        (view,) = stage.json("groups", "describe", "lag-group")
        (row,) = view["offsets"]
        assert row["lag_records"] == 6  # of the committed ten
        assert row["lag_offsets"] == 26  # and four markers, twelve aborted, one undecided, three behind it
        (pin,) = [each for each in stage.json("txn", "stuck") if each["topic"] == "lagged"]
        assert (pin["hidden_offsets"], pin["hidden_records"]) == (8, 4)
        producer.abort_transaction(20)


def test_an_abort_by_an_administrator_is_told_from_a_new_instance(stage: Stage) -> None:
    stage.run("topics", "new", "ended-out")
    with stage.producer("ended-1") as producer:
        producer.produce("ended-out", b"x")
        producer.flush(10)
        assert stage.run("txn", "abort", "ended-1", "--yes").code == 0
        with pytest.raises(KafkaException):
            producer.commit_transaction(20)
        found = causes(stage, "INVALID_PRODUCER_EPOCH", "ended-1")
    if stage.is_oncelog:
        assert found["admin"][0] == "confirmed"
        assert "oncelog-cli at 127.0.0.1:" in found["admin"][1]
        assert found["new instance"][0] == "excluded"
    else:
        assert found["admin"][0] == "possible"


@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort"])
def test_an_id_whose_markers_are_being_written_is_ending(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """For a moment only: here the coordinator's answer is changed."""
    real = ask.describe_transaction

    def ending(cluster: Cluster, name: str) -> ask.Described | None:
        found = real(cluster, name)
        return None if found is None else replace(found, state=state)

    with stage.producer("ending-1"):
        monkeypatch.setattr(ask, "describe_transaction", ending)
        found = causes(stage, "CONCURRENT_TRANSACTIONS", "ending-1")
    assert found["ending"] == ("confirmed", f"its state is {state} now")
