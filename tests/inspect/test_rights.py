"""Who may not read the state log, nor see settings, is told all the rest: by what is put into the broker's mouth, and by Kafka's ACLs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.cli.main import main
from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import RefusedByBroker
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.inspect import ask, replay
from oncelog.inspect.inspector import Inspector
from oncelog.inspect.page import screens
from oncelog.model import TopicPartition
from oncelog.protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from oncelog.protocol.messages.describe_transactions import DescribeTransactionsResponse
from oncelog.protocol.messages.list_transactions import ListTransactionsResponse
from tests.inspect.stage import Said, Stage
from tests.oracle import Oracle
from tests.toolchains import Missing, leave_out

PASSWORD = "sesame"
TOPIC, CLUSTER, TRANSACTIONAL_ID = 2, 4, 5  # kinds of resources, as ACLs number them
READ, DESCRIBE, ALLOW = 3, 8, 3
LITERAL, PREFIXED = 3, 4
STATE_LOG_UNTOLD = "__transaction_state: TOPIC_AUTHORIZATION_FAILED"


def refuse(error: ErrorCode, asked: str) -> Any:
    def refused(*_: object, **__: object) -> Any:
        raise RefusedByBroker(error, asked, "the broker")

    return refused


@pytest.fixture
def stage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A broker that keeps no requests, and refuses what a user without rights is refused."""
    with oncelog.Broker(settings={"transaction.trace.requests": 0}) as broker:
        broker.topic("rights-out")
        monkeypatch.setattr(
            Admin, "broker_settings", refuse(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "DescribeConfigs")
        )
        monkeypatch.setattr(replay.Pasts, "of", refuse(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Fetch"))
        yield Stage("oncelog", broker.bootstrap, capsys)


def check(doctor: list[dict[str, Any]]) -> None:
    """Of what needs the log the reason is told, and all the rest."""
    found = {each["check"]: each for each in doctor}
    assert found["stuck readers"]["found"].startswith("1 held: rights-out-0")
    for name in ("size of transactions", "old-protocol clients"):
        assert (found[name]["verdict"], found[name]["found"]) == ("skipped", STATE_LOG_UNTOLD)
    assert (
        "the broker's maximum is not told (CLUSTER_AUTHORIZATION_FAILED)"
        in found["transaction timeouts"]["found"]
    )
    assert found["transactional ids"]["verdict"] == "fine"
    assert found["clocks"]["verdict"] == "fine"


def test_the_doctor_skips_what_it_may_not_see(stage: Stage) -> None:
    with stage.producer("rights-1") as producer:
        producer.produce("rights-out", b"x")
        producer.flush(10)
        said = stage.run("doctor", "--json")
        producer.abort_transaction(20)
    assert said.code == 0, said.err
    check(said.json)


def test_whether_ids_were_taken_again_is_not_guessed(stage: Stage) -> None:
    for number in ("12345", "12399", "20011"):
        with stage.producer(f"p-{number}"):
            pass
    found = {each["check"]: each for each in stage.json("doctor")}["transactional ids"]
    assert found["verdict"] == "fine"
    assert found["found"].endswith(f"; whether second processes used some is not told ({STATE_LOG_UNTOLD})")


def test_a_transaction_is_shown_and_an_error_explained_without_the_state_log(stage: Stage) -> None:
    with stage.producer("rights-2") as producer:
        producer.produce("rights-out", b"x")
        producer.flush(10)
        said = stage.run("txn", "show", "rights-2")
        assert (said.code, "last epoch\tnot told" in said.out) == (0, True), said.err
        assert "the state log is not told (TOPIC_AUTHORIZATION_FAILED)" in said.err
        shown = stage.json("txn", "show", "rights-2")
        assert (shown["state"], shown["transitions"], shown["transitions_untold"]) == (
            "Ongoing",
            [],
            "TOPIC_AUTHORIZATION_FAILED",
        )
        causes = {
            each["cause"]: each
            for each in stage.json("explain", "PRODUCER_FENCED", "--tid", "rights-2")["causes"]
        }
        for name in ("new instance", "timeout", "admin"):
            assert (causes[name]["verdict"], causes[name]["evidence"]) == (
                "possible",
                "its state log is not told to us (TOPIC_AUTHORIZATION_FAILED)",
            )
        traced = stage.run("txn", "trace", "rights-2")
        assert (traced.code, "no states and no markers: the state log is not told" in traced.err) == (4, True)
        inspector = Inspector(lambda: Cluster(stage.bootstrap))
        page, history = inspector.transaction("rights-2"), inspector.history("rights-2")
        inspector.close()
        assert page is not None
        assert history is not None
        assert page.untold == history.untold == "TOPIC_AUTHORIZATION_FAILED"
        assert page.view.state == "Ongoing"
        producer.abort_transaction(20)


def test_an_id_that_we_may_not_see_is_explained_all_the_same(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    monkeypatch.setattr(ask, "describe_transaction", refuse(error, "DescribeTransactions"))
    said = stage.run("explain", error.name, "--tid", "secret", "--json")
    assert said.code == 0, said.err
    found = {each["cause"]: (each["verdict"], each["evidence"]) for each in said.json["causes"]}
    assert found == dict.fromkeys(
        ("no right", "no transactional id"), ("possible", "we may not see 'secret' either")
    )


Unseen = Callable[[str], None]


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> Unseen:
    """Puts it into the broker's mouth that we may describe transactional ids of one prefix only: as Kafka does it lists no other,
    and refuses to describe it, whether there is one or not.
    """
    real, seen = Connection.send, [""]

    def send(self: Connection, request: Any, *more: Any, **named: Any) -> Any:
        answer = real(self, request, *more, **named)
        if isinstance(answer, ListTransactionsResponse):
            answer.transaction_states = [
                each for each in answer.transaction_states if each.transactional_id.startswith(seen[0])
            ]
        elif isinstance(answer, DescribeTransactionsResponse):
            for each in answer.transaction_states:
                if not each.transactional_id.startswith(seen[0]):
                    each.error_code, each.topics = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, []
        return answer

    monkeypatch.setattr(Connection, "send", send)
    return lambda prefix: seen.__setitem__(0, prefix)


NO_RIGHT = "no right to describe every transactional id (TRANSACTIONAL_ID_AUTHORIZATION_FAILED), and none that we may see has producer"


def test_who_may_not_see_its_owner_calls_nothing_hanging(stage: Stage, unseen: Unseen) -> None:
    """It is a healthy transaction of somebody else's: who aborts it as a hanging one tears it apart."""
    with stage.producer("rights-3") as producer:
        producer.produce("rights-out", b"x", partition=0)
        producer.flush(10)
        assert stage.json("txn", "stuck")[0]["kind"] == "long"
        unseen("team-a-")
        Admin(Cluster(stage.bootstrap)).commit_offsets("reads-it", {TopicPartition("rights-out", 0): 0})
        said = stage.run("txn", "stuck")
        (pin,) = stage.json("txn", "stuck")
        assert (said.code, pin["kind"], pin["transactional_id"]) == (1, "unknown", None)
        assert pin["frees"] == f"who holds it is not told: {NO_RIGHT} {pin['producer_id']}"
        assert "txn abort" not in said.err + said.out
        found = {each["check"]: each for each in stage.json("doctor")}
        assert (found["stuck readers"]["verdict"], found["brokers"]["verdict"]) == ("notice", "notice")
        assert "rights-out-0 (unknown)" in found["stuck readers"]["found"]
        (group,) = stage.json("groups", "describe", "reads-it")
        assert [each["blocked_by"] for each in group["offsets"]] == ["unknown"]
        inspector = Inspector(lambda: Cluster(stage.bootstrap))
        assert "abort" not in str(screens.now(inspector.now()))
        inspector.close()
        torn = stage.run(
            "txn", "abort", "--partition", "rights-out-0", "--start-offset", str(pin["start_offset"]), "--yes"
        )
        assert (torn.code, "is not told: no right to describe" in torn.err) == (1, True), torn.err
        unseen("")
        torn = stage.run(
            "txn", "abort", "--partition", "rights-out-0", "--start-offset", str(pin["start_offset"]), "--yes"
        )
        assert (torn.code, "Abort it everywhere: oncelog txn abort rights-3" in torn.err) == (1, True), (
            torn.err
        )
        producer.commit_transaction(20)
        assert stage.json("txn", "stuck") == []


def test_an_id_that_is_listed_and_not_described_is_named(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ask._describe  # pyright: ignore[reportPrivateUsage]

    def refused(whom: Connection, names: Any) -> Any:
        found, errors = real(whom, names)
        error = int(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        return {}, errors | dict.fromkeys(found, (error, "the broker"))

    with stage.producer("rights-4") as producer:
        producer.produce("rights-out", b"x", partition=0)
        producer.flush(10)
        with monkeypatch.context() as patch:
            patch.setattr(ask, "_describe", refused)
            (pin,) = stage.json("txn", "stuck")
        assert (pin["kind"], pin["frees"]) == (
            "unknown",
            "who holds it is not told: no right to describe 'rights-4' (TRANSACTIONAL_ID_AUTHORIZATION_FAILED)",
        )
        producer.abort_transaction(20)


@pytest.fixture(scope="module")
def kafka() -> Iterator[Oracle]:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "listener.name.known.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.known.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    }
    try:
        with Oracle(
            settings, listeners={"KNOWN": "SASL_PLAINTEXT"}, scram={"alice": PASSWORD, "bob": PASSWORD}
        ) as running:
            with Cluster(running.bootstrap) as cluster:
                Admin(cluster).create_topic("rights-out", partitions=1)
                rights = [
                    AclCreation(kind, "*", 3, "User:alice", "*", DESCRIBE, ALLOW)
                    for kind in (TOPIC, TRANSACTIONAL_ID)
                ]
                rights += [
                    AclCreation(TOPIC, "*", LITERAL, "User:bob", "*", READ, ALLOW),
                    AclCreation(TRANSACTIONAL_ID, "team-a-", PREFIXED, "User:bob", "*", DESCRIBE, ALLOW),
                ]
                made = cluster.controller().send(CreateAclsRequest(creations=rights), CreateAclsResponse)
                assert [each.error_code for each in made.results] == [0] * 4
            yield running
    except Missing as why:
        leave_out("rights on Apache Kafka", why)


def runs_as(
    user: str, kafka: Oracle, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    file = folder / f"{user}.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="{user}" password="{PASSWORD}";\n'
    )

    def run(*words: str) -> Said:
        capsys.readouterr()
        known = ("--bootstrap", kafka.bootstrap_of("KNOWN"), "--command-config", str(file))
        code = main([*words, *known, "--json"])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return run


@pytest.mark.needs_oracle
def test_kafka_does_not_say_that_it_hides_an_owner(
    kafka: Oracle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user who may read all topics, and describe the transactional ids of its own team."""
    whole, run = Stage("kafka", kafka.bootstrap, capsys), runs_as("bob", kafka, tmp_path, capsys)
    with whole.producer("team-b-1") as theirs:
        theirs.produce("rights-out", b"x", partition=0)
        theirs.flush(10)
        assert [each["kind"] for each in whole.json("txn", "stuck")] == ["long"]
        said = run("txn", "stuck")
        (pin,) = said.json
        assert (said.code, pin["kind"], pin["transactional_id"]) == (1, "unknown", None)
        assert pin["frees"] == f"who holds it is not told: {NO_RIGHT} {pin['producer_id']}"
        found = {each["check"]: each for each in run("doctor").json}
        assert (found["stuck readers"]["verdict"], found["brokers"]["verdict"]) == ("notice", "notice")
        start = str(pin["start_offset"])
        torn = run("txn", "abort", "--partition", "rights-out-0", "--start-offset", start, "--yes")
        assert (torn.code, "no right to describe" in torn.err) == (1, True)
        theirs.abort_transaction(20)
    with whole.producer("team-a-1") as ours:
        ours.produce("rights-out", b"x", partition=0)
        ours.flush(10)
        (pin,) = run("txn", "stuck").json
        assert (pin["kind"], pin["transactional_id"]) == ("long", "team-a-1")
        ours.abort_transaction(20)


@pytest.mark.needs_oracle
def test_by_the_access_control_lists_of_apache_kafka(
    kafka: Oracle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user with DESCRIBE of topics and transactional ids, and nothing else."""
    whole, run = Stage("kafka", kafka.bootstrap, capsys), runs_as("alice", kafka, tmp_path, capsys)
    with whole.producer("rights-3") as producer:
        producer.produce("rights-out", b"x", partition=0)
        producer.flush(10)
        stuck = run("txn", "stuck")
        (pin,) = stuck.json
        assert (stuck.code, pin["kind"], pin["transactional_id"]) == (1, "unknown", None)
        assert pin["frees"] == "who holds it is not told: TOPIC_AUTHORIZATION_FAILED"
        shown = run("txn", "show", "rights-3")
        assert (shown.code, shown.json["state"], shown.json["transitions_untold"]) == (
            0,
            "Ongoing",
            "TOPIC_AUTHORIZATION_FAILED",
        )
        assert [each["topic"] for each in shown.json["untold"]] == ["rights-out"]
        explained = run("explain", "PRODUCER_FENCED", "--tid", "rights-3")
        assert explained.code == 0, explained.err
        doctor = run("doctor")
        assert doctor.code == 0, doctor.err
        check(doctor.json)
        producer.abort_transaction(20)
