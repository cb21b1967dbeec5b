"""A partition without a leader hides no other: every question about everything goes on and says of what nobody told."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.client.address import Address
from oncelog.client.admin import Admin
from oncelog.client.cluster import NO_NODE, SILENT_MS, Cluster
from oncelog.client.faults import TimedOut
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.inspect import ask, views
from oncelog.inspect.inspector import Inspector
from oncelog.inspect.page import screens
from oncelog.model import TRANSACTION_STATE
from oncelog.model import TopicPartition as Place
from oncelog.protocol.messages.list_transactions import ListTransactionsResponse
from oncelog.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from tests.inspect.stage import SETTINGS, Stage, hang, patiently
from tests.spark.test_nodes import three_nodes

SOON_S = 25.0  # less than a command waits for one answer; a busy machine needs some of it
Away = Callable[[str], None]


@pytest.fixture
def stage(capsys: pytest.CaptureFixture[str]) -> Iterator[Stage]:
    with oncelog.Broker(settings=SETTINGS) as broker:
        for topic in ("held", "gone-away"):
            broker.topic(topic)
        yield Stage("oncelog", broker.bootstrap, capsys)


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Away:
    """Puts it into the cluster's mouth that a topic has no leader in its partition 0, as when the only broker with it is down."""
    names: set[str] = set()
    real = Cluster._ask_any  # pyright: ignore[reportPrivateUsage]

    def ask_any(self: Cluster, request: Any, kind: Any) -> Any:
        whom, answer = real(self, request, kind)
        if isinstance(answer, MetadataResponse):
            for topic in answer.topics:
                if topic.name in names and topic.partitions:
                    topic.partitions[0].leader_id = NO_NODE
                    topic.partitions[0].error_code = ErrorCode.LEADER_NOT_AVAILABLE
        return whom, answer

    monkeypatch.setattr(Cluster, "_ask_any", ask_any)
    return names.add


Dead = Callable[[], None]
DEAD_NODE = -7  # asked before the other one


@pytest.fixture
def dead(monkeypatch: pytest.MonkeyPatch) -> Dead:
    """Puts a second broker into the cluster's metadata, at a port where nobody listens, as for a while after a broker died; or for
    ever, of one that cannot be reached from here.
    """
    is_there = [False]
    real = Cluster._ask_any  # pyright: ignore[reportPrivateUsage]

    def ask_any(self: Cluster, request: Any, kind: Any) -> Any:
        whom, answer = real(self, request, kind)
        if isinstance(answer, MetadataResponse) and is_there[0]:
            answer.brokers.append(MetadataResponseBroker(node_id=DEAD_NODE, host="127.0.0.1", port=1))
        return whom, answer

    monkeypatch.setattr(Cluster, "_ask_any", ask_any)
    return lambda: is_there.__setitem__(0, True)


NOT_ASKED = f"not asked: broker {DEAD_NODE}: connect: broker 127.0.0.1:1: Connection refused"


def test_a_broker_that_is_away_hides_no_other(stage: Stage, dead: Dead) -> None:
    """Its transactional ids and groups are not told; all that the others know is, with the exit code of what is not whole."""
    with stage.producer("held-1") as producer:
        producer.produce("held", b"x", partition=0)
        producer.flush(10)
        Admin(Cluster(stage.bootstrap)).commit_offsets("reads-it", {Place("held", 0): 0})
        assert stage.run("txn", "ls").code == 0
        dead()
        for words, name in ((("txn", "ls"), "held-1"), (("groups", "ls"), "reads-it")):
            said = stage.run(*words)
            assert (said.code, name in said.out, NOT_ASKED in said.err) == (4, True, True), said
            rows = stage.json(*words)
            assert len(rows) == 1
        said = stage.run("txn", "stuck")
        assert (said.code, NOT_ASKED in said.err) == (1, True), said.err
        (pin,) = stage.json("txn", "stuck")
        assert (pin["kind"], pin["transactional_id"], pin["groups"]) == ("long", "held-1", ["reads-it"])
        (group,) = stage.json("groups", "describe", "reads-it")
        assert group["offsets"][0]["blocked_by"] == "held-1"
        found = {each["check"]: each for each in stage.json("doctor")}
        assert found["brokers"]["verdict"] == "bad"
        assert found["brokers"]["found"] == f"1 of 2 cannot be asked: {NOT_ASKED.removeprefix('not asked: ')}"
        assert stage.run("doctor").code == 1
        skipped = {each["check"] for each in found.values() if each["verdict"] == "skipped"}
        assert skipped == {"disk"}  # this broker has none
        assert "1 ids" in found["transactional ids"]["found"]
        assert found["transaction timeouts"]["found"] == "1 ids, the longest 60000 ms"
        inspector = Inspector(lambda: Cluster(stage.bootstrap))
        assert [str(each) for each in inspector.now().away] == [NOT_ASKED.removeprefix("not asked: ")]
        shown = str(screens.now(inspector.now()))
        assert ("N" + NOT_ASKED[1:] in shown, "held-1" in shown) == (True, True)
        for answer in (inspector.transactions(), inspector.groups(), inspector.spark()):
            assert [each.node_id for each in answer[-1]] == [DEAD_NODE]
        metrics = inspector.metrics()
        for line in ("oncelog_brokers_not_asked 1", "oncelog_txn_open 1", "kafka_brokers 2"):
            assert f"\n{line}\n" in metrics
        assert 'kafka_consumergroup_members{consumergroup="reads-it"} 0' in metrics
        inspector.close()
        producer.abort_transaction(20)
    said = stage.run("txn", "stuck")
    assert (said.code, said.err) == (
        0,
        "no partition is held: the last stable offset is the high watermark everywhere\n",
    )  # of that the leaders tell, who are all there


def test_nobody_is_called_hanging_while_a_broker_was_not_asked(
    stage: Stage, dead: Dead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its producer id may be of somebody whom that broker looks after; here the one that answers lists nobody."""
    hang(stage.bootstrap, "held")
    real = Connection.send

    def send(self: Connection, request: Any, *more: Any, **named: Any) -> Any:
        answer = real(self, request, *more, **named)
        if isinstance(answer, ListTransactionsResponse):
            answer.transaction_states = []
        return answer

    monkeypatch.setattr(Connection, "send", send)
    assert stage.json("txn", "stuck")[0]["kind"] == "hanging"
    dead()
    (pin,) = stage.json("txn", "stuck")
    assert (pin["kind"], pin["frees"]) == ("unknown", f"who holds it is not told: {NOT_ASKED}")
    said = stage.run("txn", "abort", "--partition", "held-0", "--start-offset", "0", "--yes")
    assert (said.code, "Connection refused" in said.err) == (3, True), said.err


def test_who_left_the_cluster_is_not_waited_for(stage: Stage) -> None:
    """What we know of the cluster may be older than the death of a broker: it is asked anew, and all that are left."""
    with stage.producer("held-2") as producer, Cluster(stage.bootstrap) as cluster:
        cluster.refresh(())
        cluster._nodes[DEAD_NODE] = Address("127.0.0.1", 1)  # pyright: ignore[reportPrivateUsage]
        listed, away = ask.transactions_told(cluster)
        assert ([each.transactional_id for each in listed], away) == (["held-2"], ())
        cluster._nodes = {DEAD_NODE: Address("127.0.0.1", 1)}  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(ask.Unreachable):
            ask.transactions_told(cluster)
        producer.abort_transaction(20)


def test_who_is_silent_is_waited_for_once_and_asked_last(stage: Stage) -> None:
    """A machine that is down answers nothing, not even with a refusal: each question would wait its whole time for it."""
    silent = Address("127.0.0.1", 1)
    waited: list[int] = []

    def ask_it(whom: Connection) -> str:
        if whom.address != silent:
            return "told"
        waited.append(whom.timeout_ms)
        raise TimedOut("no answer")

    with Cluster(stage.bootstrap) as cluster:
        cluster.refresh(())
        known = cluster.nodes()
        nodes = {DEAD_NODE: silent, **known}
        for _ in range(2):
            cluster._nodes = dict(nodes)  # pyright: ignore[reportPrivateUsage]
            answers, away = cluster.ask_each(ask_it)
            assert (list(answers.values()), away) == (["told"], ())  # it had left the metadata meanwhile
        assert waited == [30_000, SILENT_MS]
        cluster._nodes = dict(nodes)  # pyright: ignore[reportPrivateUsage]
        assert cluster.any().address in known.values()
        assert cluster.at(silent).timeout_ms == 30_000  # for who asks it alone
        assert cluster.ask_shortly(cluster.at(silent), lambda whom: whom.timeout_ms) == SILENT_MS
        assert cluster.ask_shortly(cluster.at(silent), lambda whom: whom.timeout_ms) == 30_000  # it answered
        with pytest.raises(TimedOut):
            cluster.ask_shortly(cluster.at(silent), ask_it)
        assert cluster.ask_shortly(cluster.at(silent), lambda whom: whom.timeout_ms) == SILENT_MS


def test_what_has_a_leader_is_told_and_what_has_none_is_counted(stage: Stage, away: Away) -> None:
    away("gone-away")
    began = time.monotonic()
    said = stage.run("txn", "stuck")
    assert (said.code, said.out) == (
        4,
        "",
    )  # it may be held or not: to say that nobody waits would be a guess
    assert "not told: 1 partition (1 without a leader): gone-away-0" in said.err
    assert (
        "no partition is held: the last stable offset is the high watermark wherever it is told" in said.err
    )
    with stage.producer("held-1") as producer:
        producer.produce("held", b"x", partition=0)
        producer.flush(10)
        said = stage.run("txn", "stuck", "--json")
        assert (said.code, [each["topic"] for each in said.json]) == (1, ["held"])
        assert "gone-away-0" in said.err
        inspector = Inspector(lambda: Cluster(stage.bootstrap))
        now = inspector.now()
        assert [each.topic for each in now.pins] == ["held"]
        assert now.untold == (ask.Untold("gone-away", 0, ask.NO_LEADER),)
        assert (
            'kafka_cluster_partition_laststableoffsetlag{topic="held",partition="0"} 1' in inspector.metrics()
        )
        inspector.close()
        found = {each["check"]: each for each in stage.json("doctor")}
        assert found["stuck readers"]["found"].startswith("1 held: held-0 (long); not told: 1 partition")
        skipped = {each["check"] for each in found.values() if each["verdict"] == "skipped"}
        assert skipped == {"disk"}  # this broker has none
        producer.abort_transaction(20)
    assert time.monotonic() - began < SOON_S
    assert {each["check"]: each["verdict"] for each in stage.json("doctor")}["stuck readers"] == "notice"


def test_a_transaction_and_a_group_are_told_without_it(stage: Stage, away: Away) -> None:
    with stage.producer("half-1") as producer, Cluster(stage.bootstrap) as cluster:
        for topic in ("held", "gone-away"):
            producer.produce(topic, b"x", partition=0)
        producer.flush(10)
        Admin(cluster).commit_offsets("half", {Place("held", 0): 0, Place("gone-away", 0): 0})
        away("gone-away")
        began = time.monotonic()
        shown = stage.json("txn", "show", "half-1")
        assert [each["topic"] for each in shown["partitions"]] == ["held"]
        assert shown["untold"] == [{"topic": "gone-away", "partition": 0, "why": "no leader"}]
        assert (
            "not told: 1 partition (1 without a leader): gone-away-0"
            in stage.run("txn", "show", "half-1").err
        )
        (group,) = stage.json("groups", "describe", "half")
        ends = {each["topic"]: each["log_end_offset"] for each in group["offsets"]}
        assert ends == {"held": 1, "gone-away": None}
        done = stage.run("txn", "abort", "half-1", "--yes", "--json")
        assert (done.code, [each["topic"] for each in done.json["hidden"]]) == (0, ["held"])
        assert (
            "what becomes invisible elsewhere is not told: 1 partition (1 without a leader): gone-away-0"
            in done.err
        )
        assert time.monotonic() - began < SOON_S


def test_nobody_is_called_hanging_while_its_coordinator_may_be_away(stage: Stage, away: Away) -> None:
    """Who writes an abort marker there takes back what a coordinator that comes back has committed elsewhere."""
    hang(stage.bootstrap, "held")
    (pin,) = stage.json("txn", "stuck")
    assert pin["kind"] == "hanging"
    away(TRANSACTION_STATE)
    said = stage.run("txn", "stuck")
    (pin,) = stage.json("txn", "stuck")
    assert (said.code, pin["kind"]) == (1, "unknown")
    assert said.out.splitlines()[1].split("\t")[5].startswith("? (")
    assert (
        f"who holds it is not told: its coordinator may be away, as 1 of {TRANSACTION_STATE}'s partitions"
        in said.err
    )
    assert "oncelog txn abort" not in said.err


def test_a_topic_that_we_may_not_read_hides_no_other(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """DescribeProducers needs the right to read, offsets do not."""
    real = ask._producers  # pyright: ignore[reportPrivateUsage]

    def refused(whom: Connection, partitions: Any) -> Any:
        found, errors = real(whom, partitions)
        hidden = {
            each: (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None) for each in found if each.topic == "gone-away"
        }
        return {each: one for each, one in found.items() if each not in hidden}, errors | hidden

    monkeypatch.setattr(ask, "_producers", refused)
    with stage.producer("both-1") as producer:
        for topic in ("held", "gone-away"):
            producer.produce(topic, b"x", partition=0)
        producer.flush(10)
        said = stage.run("txn", "stuck")
        pins = {each["topic"]: each for each in stage.json("txn", "stuck")}
        assert (pins["held"]["kind"], pins["held"]["transactional_id"]) == ("long", "both-1")
        assert (pins["gone-away"]["kind"], pins["gone-away"]["transactional_id"]) == ("unknown", None)
        assert "gone-away-0: who holds it is not told: TOPIC_AUTHORIZATION_FAILED" in said.err
        producer.abort_transaction(20)


def test_a_topic_that_is_deleted_between_two_questions_is_left_out(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Cluster.topics

    def topics(self: Cluster) -> Any:
        found = real(self)
        if any(each.name == "gone-away" for each in found):
            with Cluster(stage.bootstrap) as other:
                Admin(other).delete_topic("gone-away")
        return found

    monkeypatch.setattr(Cluster, "topics", topics)
    began = time.monotonic()
    said = stage.run("txn", "stuck")
    assert (said.code, "not told" in said.err) == (0, False), said.err
    assert time.monotonic() - began < SOON_S


def test_a_leader_that_moves_is_asked_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Admin.offsets_told
    refusals = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3

    def moving(self: Admin, whom: Connection, wanted: Any, **more: Any) -> Any:
        if refusals:
            return {}, dict.fromkeys(wanted, refusals.pop())
        return real(self, whom, wanted, **more)

    monkeypatch.setattr(Admin, "offsets_told", moving)
    with Cluster(stage.bootstrap) as cluster:
        found, untold = ask.ends_told(cluster, [Place("held", 0)])
    assert (len(found), untold, refusals) == (1, [], [])


def test_nobody_at_all_is_a_fault(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that is gone is exit code 3, as ever; one of several is not."""
    with Cluster(stage.bootstrap) as cluster:
        whole = [Place("held", 0), Place("gone-away", 0)]
        assert len(ask.ends_told(cluster, whole)[0]) == 2
        silent = Connection(Address("127.0.0.1", 1))
        real = Cluster.leader

        def leader(self: Cluster, partition: Place) -> Connection:
            return silent if partition.topic == "gone-away" else real(self, partition)

        monkeypatch.setattr(Cluster, "leader", leader)
        found, untold = ask.ends_told(cluster, whole)
        assert [each.topic for each in found] == ["held"]
        assert [(each.topic, "127.0.0.1:1" in each.why) for each in untold] == [("gone-away", True)]
        assert views.said_of(untold) is not None
        with pytest.raises(ask.Unreachable):
            ask.ends_told(cluster, whole[1:])


@pytest.mark.needs_oracle
@pytest.mark.timeout(600)
def test_one_of_three_nodes_of_apache_kafka_is_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of topics with one replica a third has no leader."""
    with three_nodes(tmp_path) as nodes:
        bootstrap = ",".join(each.bootstrap for each in nodes)
        stage = Stage("kafka", bootstrap, capsys)
        with Cluster(bootstrap) as cluster:
            Admin(cluster).create_topic(
                "alone", partitions=3, replication_factor=1, configs={"min.insync.replicas": "1"}
            )
            ports = {each: cluster.leader(Place("alone", each)).address.port for each in range(3)}
        assert len(set(ports.values())) == 3
        stage.run("topics", "new", "everywhere", "--partitions", "1")
        with stage.producer("nodes-1", timeout_ms=600_000) as producer:
            producer.produce("everywhere", b"x", partition=0)
            producer.flush(30)
            victim = next(each for each in nodes if each.port == ports[0])
            victim.kill()
            for words in (("txn", "ls"), ("groups", "ls")):
                at_once = stage.run(*words)  # it is in the metadata still, for 9 s by Kafka's defaults
                is_said = f"not asked: broker {victim.node_id}" in at_once.err
                assert at_once.code == (4 if is_said else 0), at_once.err
                print(f"{words}: {at_once}")

            def is_leaderless() -> bool:
                with Cluster(bootstrap) as asked:
                    found = {each.name: each for each in asked.topics()}
                    return found["alone"].partitions[0].leader == NO_NODE and all(
                        each.leader != NO_NODE for each in found[TRANSACTION_STATE].partitions
                    )

            def has_settled() -> bool:
                return "OFFSET_NOT_AVAILABLE" not in stage.run("txn", "stuck").err  # of those that moved

            patiently(is_leaderless, "the death of a broker was not noticed")
            patiently(has_settled, "the other leaders do not settle")
            began = time.monotonic()
            said = stage.run("txn", "stuck", "--json")
            took = time.monotonic() - began
            assert (said.code, [each["topic"] for each in json.loads(said.out)]) == (1, ["everywhere"]), (
                said.err
            )
            assert "not told: 1 partition (1 without a leader): alone-0" in said.err
            assert took < SOON_S  # and a coordinator may have to load first
            listed = stage.run("txn", "ls", "--json")
            assert (listed.code, [each["transactional_id"] for each in listed.json]) == (0, ["nodes-1"])
            inspector = Inspector(lambda: Cluster(bootstrap))
            assert [each.topic for each in inspector.now().pins] == ["everywhere"]
            assert 'laststableoffsetlag{topic="everywhere",partition="0"} 1' in inspector.metrics()
            inspector.close()
            found = {each["check"]: each for each in stage.json("doctor")}
            assert found["stuck readers"]["verdict"] == "notice"
            assert found["clocks"]["verdict"] == "fine"
