"""`oncelog txn`: what it says of open, hanging and ended transactions, on oncelog and (ORACLE=1) on Apache Kafka."""

import re
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

import oncelog
from oncelog.cli import txn
from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.session import Connection
from oncelog.errors import ErrorCode
from oncelog.inspect import abort, ask, views
from oncelog.inspect.lengths import left
from oncelog.model import TopicPartition as Place
from oncelog.protocol.messages.list_groups import ListGroupsResponse
from oncelog.protocol.messages.list_transactions import ListTransactionsResponse
from tests.inspect.golden import golden, paths
from tests.inspect.stage import Stage, hang

ROW_KEYS = {
    "transactional_id",
    "state",
    "producer_id",
    "producer_epoch",
    "age_ms",
    "timeout_ms",
    "time_left_ms",
    "partitions",
    "coordinator",
}
PIN_KEYS = {
    "topic",
    "partition",
    "last_stable_offset",
    "high_watermark",
    "hidden_offsets",
    "hidden_records",
    "since_ms",
    "pinned_ms",
    "transactional_id",
    "producer_id",
    "producer_epoch",
    "state",
    "start_offset",
    "bytes",
    "partitions",
    "kind",
    "time_left_ms",
    "open_behind",
    "groups",
    "client_id",
    "address",
    "software",
    "last_request",
    "from_oncelog",
    "frees",
}


LONG = views.Pin(
    topic="refunds",
    partition=4,
    last_stable_offset=0,
    high_watermark=4,
    hidden_offsets=4,
    hidden_records=3,
    since_ms=1,
    pinned_ms=2,
    transactional_id="refunds-1",
    producer_id=7,
    producer_epoch=0,
    state="Ongoing",
    start_offset=0,
    bytes=None,
    partitions=1,
    kind="long",
    time_left_ms=None,
    open_behind=0,
    groups=(),
    client_id=None,
    address=None,
    software=None,
    last_request=None,
    from_oncelog=True,
    frees="oncelog txn abort refunds-1",
)


def test_ls_shows_state_age_and_time_left(stage: Stage) -> None:
    stage.run("topics", "new", "ls-out", "--partitions", "2")
    with stage.producer("ls-1", timeout_ms=45_000) as producer:
        producer.produce("ls-out", b"x", partition=1)
        producer.flush(10)
        (row,) = stage.json("txn", "ls", "--match", "ls-*")
        assert set(row) == ROW_KEYS
        assert (row["transactional_id"], row["state"], row["partitions"]) == ("ls-1", "Ongoing", 1)
        assert 0 <= row["age_ms"] < 45_000
        assert row["time_left_ms"] == 45_000 - row["age_ms"]
        assert stage.json("txn", "ls", "--match", "nobody-*") == []
        assert [
            each["transactional_id"]
            for each in stage.json("txn", "ls", "--state", "Ongoing", "--match", "ls-*")
        ]
        assert stage.json("txn", "ls", "--state", "PrepareAbort", "--match", "ls-*") == []
        assert stage.json("txn", "ls", "--longer-than", "3600") == []
        assert stage.json("txn", "ls", "--longer-than", "1h") == []
        time.sleep(0.05)
        young = stage.json("txn", "ls", "--longer-than", "1ms", "--state", "ongoing", "--match", "ls-*")
        assert [each["transactional_id"] for each in young] == ["ls-1"]
        producer.commit_transaction(20)
    deadline = time.monotonic() + 20
    while (row := stage.json("txn", "ls", "--match", "ls-*")[0])["state"] == "PrepareCommit":
        assert time.monotonic() < deadline, "Kafka answers before the markers are written, but not this long"
    assert (row["state"], row["age_ms"], row["time_left_ms"]) == ("CompleteCommit", None, None)


def test_ls_refuses_a_state_that_is_none(stage: Stage) -> None:
    said = stage.run("txn", "ls", "--state", "Sleeping")
    assert said.code == 2
    assert "Sleeping" in said.err


def test_show_names_partitions_and_who_pins(stage: Stage) -> None:
    stage.run("topics", "new", "show-out", "--partitions", "2")
    with stage.producer("show-1", client_id="till-7") as producer:
        for _ in range(5):
            producer.produce("show-out", b"x", partition=1)
        producer.flush(10)
        found = stage.json("txn", "show", "show-1")
        (where,) = found["partitions"]
        assert (where["topic"], where["partition"], where["start_offset"], where["pins"]) == (
            "show-out",
            1,
            0,
            True,
        )
        assert (where["last_stable_offset"], where["high_watermark"]) == (0, 5)
        assert found["from_oncelog"] is stage.is_oncelog
        states = [(each["state"], each["producer_epoch"]) for each in found["transitions"]]
        assert states == [("Empty", found["producer_epoch"]), ("Ongoing", found["producer_epoch"])]
        causes = [each["cause"] for each in found["transitions"]]
        assert causes[1] is None
        if stage.is_oncelog:
            assert causes[0].startswith("new instance till-7 at 127.0.0.1:")
            assert "new instance till-7 at" in stage.run("txn", "show", "show-1").out
            assert found["bump"]["client_id"] == "till-7"
        else:
            said = stage.run("txn", "show", "show-1").out
            assert said.count("n/a (needs oncelog broker)") == 4  # who bumped, the last request, two causes
        producer.abort_transaction(20)


def test_an_id_may_be_an_option_and_look_like_one(stage: Stage) -> None:
    """kafka-transactions takes it so; and what we tell people to paste works for every name."""
    stage.run("topics", "new", "dashed")
    with stage.producer("--yes") as producer:
        producer.produce("dashed", b"x")
        producer.flush(10)
        assert stage.json("txn", "show", "--transactional-id=--yes")["transactional_id"] == "--yes"
        (pin,) = [each for each in stage.json("txn", "stuck") if each["topic"] == "dashed"]
        assert pin["frees"] == "oncelog txn abort --transactional-id=--yes"
        assert stage.run(*pin["frees"].split()[1:]).code == 1  # nobody said yes
        assert stage.run(*pin["frees"].split()[1:], "--yes").code == 0
    for words in (["show"], ["trace"], ["replay"], ["show", "a", "--transactional-id", "b"]):
        said = stage.run("txn", *words)
        assert (said.code, "wanted one transactional id" in said.err) == (2, True)


def test_show_of_an_unknown_id_says_so(stage: Stage) -> None:
    said = stage.run("txn", "show", "nobody")
    assert said.code == 1
    assert "'nobody'" in said.err


def test_a_long_transaction_is_found_and_freed(stage: Stage) -> None:
    """Seed 000's engineer: 14,000 records behind a producer that hangs."""
    stage.run("topics", "new", "refunds-emitted", "--partitions", "1")
    reader = Consumer(
        {
            "bootstrap.servers": stage.bootstrap,
            "group.id": "warehouse-loader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    with stage.producer("refunds-1", client_id="till") as producer:
        producer.produce("refunds-emitted", b"first")
        producer.flush(10)
        reader.commit(offsets=[TopicPartition("refunds-emitted", 0, 0)], asynchronous=False)
        with stage.producer("behind-1") as behind:
            for number in range(13_999):
                behind.produce("refunds-emitted", b"%d" % number)
            behind.commit_transaction(30)
        said = stage.run("txn", "stuck")
        assert said.code == 1
        (pin,) = [each for each in stage.json("txn", "stuck") if each["topic"] == "refunds-emitted"]
        assert set(pin) == PIN_KEYS
        assert (pin["transactional_id"], pin["kind"], pin["state"]) == ("refunds-1", "long", "Ongoing")
        assert (pin["last_stable_offset"], pin["hidden_offsets"]) == (
            0,
            14_001,
        )  # and the marker of the other
        assert pin["hidden_records"] == 14_000
        assert pin["groups"] == ["warehouse-loader"]
        assert (pin["client_id"] == "till") is stage.is_oncelog
        assert pin["frees"] in said.err

        refused = stage.run(*pin["frees"].split()[1:])
        assert refused.code == 1  # nobody said yes
        assert "become invisible" in refused.err
        assert stage.run("txn", "stuck").code == 1
        assert stage.run(*pin["frees"].split()[1:], "--yes").code == 0
        wait_until_free(stage, "refunds-emitted")
        with pytest.raises(KafkaException):
            producer.commit_transaction(20)
    reader.subscribe(["refunds-emitted"])
    seen = 0
    while seen < 13_999:
        message = reader.poll(20)
        assert message is not None, f"wanted 13,999 records, found {seen}"
        assert message.error() is None
        assert message.value() != b"first"
        seen += 1
    reader.close()


def wait_until_free(stage: Stage, topic: str) -> None:
    """Kafka answers before the markers are written."""
    deadline = time.monotonic() + 20
    while any(each["topic"] == topic for each in stage.json("txn", "stuck")):
        assert time.monotonic() < deadline, f"{topic} is still held"
        time.sleep(0.1)


def test_a_hanging_transaction_is_told_from_a_long_one_and_freed(stage: Stage) -> None:
    stage.run("topics", "new", "hung", "--partitions", "1")
    hang(stage.bootstrap, "hung")
    (pin,) = [each for each in stage.json("txn", "stuck") if each["topic"] == "hung"]
    assert (pin["kind"], pin["transactional_id"], pin["start_offset"]) == ("hanging", None, 0)
    assert pin["frees"] == "oncelog txn abort --partition hung-0 --start-offset 0"
    assert "no coordinator will end it" in stage.run("txn", "stuck").err
    wrong = stage.run("txn", "abort", "--partition", "hung-0", "--start-offset", "1", "--yes")
    assert wrong.code == 1
    assert "found 0" in wrong.err
    assert stage.run(*pin["frees"].split()[1:], "--yes").code == 0
    wait_until_free(stage, "hung")


def test_a_hanging_transaction_is_held_since_its_first_batch(stage: Stage) -> None:
    """Its producer goes on writing: what it wrote last tells nothing of how long readers wait."""
    stage.run("topics", "new", "since", "--partitions", "1")
    first_ms = time.time_ns() // 1_000_000 - 3_600_000
    hang(stage.bootstrap, "since", at_ms=(first_ms, first_ms + 3_599_000))
    (pin,) = [each for each in stage.json("txn", "stuck") if each["topic"] == "since"]
    assert (pin["since_ms"], pin["partitions"]) == (first_ms, None)
    assert 3_600_000 <= pin["pinned_ms"] < 3_660_000
    assert pin["bytes"] > 100
    said = stage.run("txn", "stuck")
    shown = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(first_ms // 1000))
    assert f"since-0 since {shown}: " in said.err
    assert "01:00:0" in next(line for line in said.out.splitlines() if line.startswith("since-0"))
    with Cluster(stage.bootstrap) as cluster:  # too much behind it to be read: then its first batch alone is
        (far,) = [
            each
            for each in views.pins(cluster, ask.SideDoor(cluster), now_ms=first_ms, counted_offsets=1)
            if each.topic == "since"
        ]
    assert (far.since_ms, far.hidden_records, far.bytes) == (first_ms, None, None)
    assert stage.run(*pin["frees"].split()[1:], "--yes").code == 0
    wait_until_free(stage, "since")


def test_a_partition_is_held_since_it_was_written_and_not_since_the_transaction_began(stage: Stage) -> None:
    stage.run("topics", "new", "early", "--partitions", "1")
    stage.run("topics", "new", "later", "--partitions", "1")
    with stage.producer("early-1") as producer:
        producer.produce(
            "early", b"x" * 500, timestamp=1_000
        )  # a clock that is wrong: the coordinator's counts
        producer.flush(10)
        time.sleep(1.1)
        producer.produce("later", b"x" * 500)
        producer.produce("later", b"y" * 500)
        producer.flush(10)
        found = {each["topic"]: each for each in stage.json("txn", "stuck")}
        said = stage.run("txn", "stuck").err
        shown = stage.json("txn", "show", "early-1")
        text = stage.run("txn", "show", "early-1").out
        producer.abort_transaction(20)
    began_ms = next(each["at_ms"] for each in shown["transitions"] if each["state"] == "Ongoing")
    assert abs(found["early"]["since_ms"] - began_ms) < 1_000
    assert found["later"]["since_ms"] >= found["early"]["since_ms"] + 1_000
    assert (found["early"]["partitions"], found["later"]["partitions"]) == (2, 2)
    assert 1_000 < found["later"]["bytes"] < 2_000
    assert re.search(
        r"later-0 since \d{4}-\d\d-\d\dT[\d:]{8}Z: .*, 2 partitions, 1\.\d kB in this one; it is", said
    )
    assert re.search(
        r"it is aborted by its timeout in \d+ s, at \d{4}-\d\d-\d\dT[\d:]{8}Z; to do it now", said
    )
    written = {each["topic"]: (each["records"], each["bytes"]) for each in shown["partitions"]}
    assert written["later"] == (2, found["later"]["bytes"])
    assert written["early"] == (1, found["early"]["bytes"])
    assert re.search(r"under way for\t\d+ s, since \d{4}-\d\d-\d\dT[\d:]{8}Z\n", text)
    wait_until_free(stage, "later")


def test_show_knows_the_epoch_before(stage: Stage) -> None:
    with stage.producer("again-1"):
        first = stage.json("txn", "show", "again-1")
        assert first["last_epoch"] is None
    with stage.producer("again-1"):
        second = stage.json("txn", "show", "again-1")
        assert (second["last_epoch"], second["producer_epoch"]) == (
            first["producer_epoch"],
            first["producer_epoch"] + 1,
        )


def test_a_group_that_got_nothing_yet_waits_too(stage: Stage) -> None:
    """Held from its first record on, it has committed no offset: its members' assignment tells."""
    stage.run("topics", "new", "fresh", "--partitions", "2")
    reader = Consumer(
        {"bootstrap.servers": stage.bootstrap, "group.id": "newcomer", "auto.offset.reset": "earliest"}
    )
    reader.subscribe(["fresh"])
    with stage.producer("fresh-1") as producer:
        producer.produce("fresh", b"x", partition=1)
        producer.flush(10)
        deadline = time.monotonic() + 30
        while not reader.assignment():
            reader.poll(0.2)
            assert time.monotonic() < deadline, "the group did not settle"
        (pin,) = [each for each in stage.json("txn", "stuck") if each["topic"] == "fresh"]
        assert (pin["partition"], pin["groups"]) == (1, ["newcomer"])
        row = stage.run("txn", "stuck").out.splitlines()[1].split("\t")
        assert row[-1] == "newcomer"
        producer.abort_transaction(20)
    reader.close()
    wait_until_free(stage, "fresh")


def test_a_partition_hangs_though_its_producer_has_a_transaction_elsewhere(stage: Stage) -> None:
    """Its coordinator will end that one and write no marker here: to abort the id would free nothing."""
    for topic in ("hung-here", "open-there"):
        stage.run("topics", "new", topic, "--partitions", "1")
    hang(stage.bootstrap, "hung-here", also="open-there")
    kinds = {each["topic"]: (each["kind"], each["transactional_id"]) for each in stage.json("txn", "stuck")}
    assert kinds == {"hung-here": ("hanging", None), "open-there": ("long", "ghost")}
    for each in stage.json("txn", "stuck"):
        assert stage.run(*each["frees"].split()[1:], "--yes").code == 0
    for topic in kinds:
        wait_until_free(stage, topic)


def test_a_partition_that_grows_between_two_questions_is_not_held(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last stable offset is asked for before the high watermark, and a plain producer writes in between."""
    stage.run("topics", "new", "growing", "--partitions", "2")
    grown: list[ask.Ends] = []
    plain = Producer({"bootstrap.servers": stage.bootstrap, "log_level": 0})
    real = ask.ends_told

    def late(cluster: Cluster, partitions: Iterable[Place]) -> tuple[dict[Place, ask.Ends], list[ask.Untold]]:
        found, untold = real(cluster, partitions)
        if len(found) > 1:  # the first question, about everything
            plain.produce("growing", b"x", partition=0)
            assert plain.flush(10) == 0
            where = Place("growing", 0)
            found[where] = replace(found[where], high_watermark=found[where].high_watermark + 1)
            grown.append(found[where])
        return found, untold

    monkeypatch.setattr(ask, "ends_told", late)
    assert stage.json("txn", "stuck") == []
    assert [each.last_stable_offset < each.high_watermark for each in grown] == [True]


def test_internal_topics_are_held_too(stage: Stage) -> None:
    """Offsets in an open transaction hold the partition of their group."""
    stage.run("topics", "new", "sources", "--partitions", "1")
    reader = Consumer({"bootstrap.servers": stage.bootstrap, "group.id": "inside-group", "log_level": 0})
    with Cluster(stage.bootstrap) as cluster:
        for group in ("inside-group", "beside-group", "inside-group-2", "inside-group-3"):
            Admin(cluster).commit_offsets(group, {Place("sources", 0): 0})
    with stage.producer("inside-1", client_id="till-3") as producer:
        producer.send_offsets_to_transaction(
            [TopicPartition("sources", 0, 0)], reader.consumer_group_metadata(), 20
        )
        (pin,) = stage.json("txn", "stuck")
        assert pin["topic"] == "__consumer_offsets"
        assert (pin["transactional_id"], pin["kind"], pin["hidden_records"]) == ("inside-1", "long", 1)
        assert (pin["client_id"] == "till-3") is stage.is_oncelog
        assert pin["groups"] == ["inside-group"]  # a member of it that starts is told to ask again
        producer.abort_transaction(20)
    reader.close()
    wait_until_free(stage, "__consumer_offsets")


def test_stuck_names_all_that_an_operator_asks_for(stage: Stage) -> None:
    stage.run("topics", "new", "columns", "--partitions", "1")
    with stage.producer("columns-1", client_id="till-7", timeout_ms=45_000) as producer:
        producer.produce("columns", b"x")
        producer.flush(10)
        with stage.producer("columns-2") as other:
            other.produce("columns", b"y")
            other.flush(10)
            time.sleep(1.2)
            said = stage.run("txn", "stuck")
            (pin,) = stage.json("txn", "stuck")
            other.abort_transaction(20)
        producer.abort_transaction(20)
    wait_until_free(stage, "columns")
    head, row = (line.split("\t") for line in said.out.splitlines())
    shown = dict(zip(head, row, strict=True))
    assert head == "PARTITION LSO HW HIDDEN PINNED OWNER STATE KIND TIMEOUT_IN BLOCKS".split()
    assert (shown["PARTITION"], shown["LSO"], shown["HW"], shown["HIDDEN"]) == ("columns-0", "0", "2", "2")
    assert re.fullmatch(r"\d+ s", shown["PINNED"]), shown
    assert re.fullmatch(r"[34]\d s", shown["TIMEOUT_IN"]), shown
    assert shown["OWNER"] == f"columns-1 ({pin['producer_id']}/{pin['producer_epoch']})"
    assert (shown["STATE"], shown["KIND"], shown["BLOCKS"]) == ("Ongoing", "long", "-")
    assert 1_200 <= pin["pinned_ms"] < 45_000
    assert 0 < pin["time_left_ms"] <= 45_000 - 1_200
    assert pin["open_behind"] == 1
    if stage.is_oncelog:
        assert re.fullmatch(r"127\.0\.0\.1:\d+", pin["address"])
        assert (pin["last_request"]["name"], pin["last_request"]["error"]) == ("Produce", "NONE")
        assert pin["last_request"]["ago_ms"] >= 1_000
        assert f"opened by till-7 ({pin['software']}) at {pin['address']}, last request Produce" in said.err
        assert re.fullmatch(r"confluent-kafka-python \S+", pin["software"])
    else:
        assert "its client: n/a (needs oncelog broker)" in said.err
    assert "it is aborted by its timeout in" in said.err


def test_nothing_stuck_is_exit_code_0(stage: Stage) -> None:
    said = stage.run("txn", "stuck")
    assert (said.code, said.out) == (0, "")


def test_abort_of_nothing_is_refused(stage: Stage) -> None:
    said = stage.run("txn", "abort", "nobody", "--yes")
    assert (said.code, "does not know it" in said.err) == (1, True), said.err
    stage.run("topics", "new", "ended-out")
    with stage.producer("ended-1", timeout_ms=45_000) as producer:
        producer.produce("ended-out", b"x")
        producer.commit_transaction(20)
        said = stage.run("txn", "abort", "ended-1", "--yes")
    assert (said.code, "wanted state Ongoing" in said.err) == (1, True), said.err


def test_abort_without_a_yes_says_so_in_json(stage: Stage) -> None:
    stage.run("topics", "new", "asked-out")
    with stage.producer("asked-1") as producer:
        producer.produce("asked-out", b"x")
        producer.flush(10)
        said = stage.run("txn", "abort", "asked-1", "--json")
        assert (said.code, said.json) == (
            1,
            {"aborted": False, "reason": "nothing was done; --yes aborts without asking"},
        )
        done = stage.run("txn", "abort", "asked-1", "--json", "--yes")
        assert (done.code, done.json["aborted"], done.json["transactional_id"]) == (0, True, "asked-1")
    assert paths(done.json) == golden()["txn abort"]
    assert paths(said.json) == golden()["txn abort, not done"]


def test_abort_ends_what_was_shown_and_not_what_came_after_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the operator reads the question, the owner ends that transaction and begins the next one."""
    stage.run("topics", "new", "swapped-out")
    with stage.producer("swapped-1") as producer:
        producer.produce("swapped-out", b"x")
        producer.flush(10)

        def slow_yes() -> bool:
            producer.commit_transaction(20)
            producer.begin_transaction()
            producer.produce("swapped-out", b"y")
            producer.flush(10)
            return True

        monkeypatch.setattr(txn, "_confirmed", slow_yes)
        said = stage.run("txn", "abort", "swapped-1", "--json")
        assert (said.code, said.json["aborted"]) == (1, False)
        assert "found another one" in said.json["reason"]
        producer.commit_transaction(20)  # nobody touched it


def test_abort_does_not_undo_a_commit_that_was_faster(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.run("topics", "new", "faster-out")
    with stage.producer("faster-1") as producer:
        producer.produce("faster-out", b"x")
        producer.flush(10)

        def slow_yes() -> bool:
            producer.commit_transaction(20)
            return True

        monkeypatch.setattr(txn, "_confirmed", slow_yes)
        said = stage.run("txn", "abort", "faster-1", "--json")
        assert (said.code, said.json["aborted"]) == (1, False)
        assert "the transaction ended before it was aborted" in said.json["reason"]
        producer.begin_transaction()
        producer.produce("faster-out", b"y")
        producer.commit_transaction(20)  # and it is not fenced


def test_a_commit_that_was_under_way_when_it_was_asked_is_no_abort(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator is busy with the owner's commit when the abort arrives, and then it is done."""
    stage.run("topics", "new", "under-way-out")
    with stage.producer("under-way-1") as producer, Cluster(stage.bootstrap, timeout_ms=20_000) as cluster:
        producer.produce("under-way-out", b"x")
        producer.flush(10)
        plan = abort.plan_by_id(cluster, "under-way-1")

        def busy(*_: object, **__: object) -> ErrorCode:
            producer.commit_transaction(20)
            return ErrorCode.CONCURRENT_TRANSACTIONS

        monkeypatch.setattr(abort, "_init", busy)
        with pytest.raises(
            abort.ChangedSince, match=r"ended before it was aborted, its state is (Prepare|Complete)Commit"
        ):
            abort.carry_out(cluster, plan)


def test_a_plan_is_carried_out_only_while_it_is_true(stage: Stage) -> None:
    """By both kinds of plan, and by what a form remembers of them."""
    stage.run("topics", "new", "planned", "--partitions", "1")
    hang(stage.bootstrap, "planned")
    with Cluster(stage.bootstrap) as cluster:
        plan = abort.plan_by_offset(cluster, Place("planned", 0), 0)
        assert plan.shown.start == 0
        assert abort.plan_by_offset(cluster, Place("planned", 0), 0, plan.shown) == plan
        other = replace(plan.shown, producer_epoch=plan.producer_epoch + 1)
        with pytest.raises(abort.ChangedSince, match="found another one"):
            abort.plan_by_offset(cluster, Place("planned", 0), 0, other)
        abort.carry_out(cluster, plan)
        wait_until_free(stage, "planned")
        with pytest.raises(abort.NothingToAbort):
            abort.carry_out(cluster, plan)
        with stage.producer("planned-1") as producer:
            producer.produce("planned", b"x", partition=0)
            producer.flush(10)
            plan = abort.plan_by_id(cluster, "planned-1")
            assert abort.plan_by_id(cluster, "planned-1", plan.shown).shown == plan.shown
            with pytest.raises(abort.ChangedSince, match="found another one"):
                abort.plan_by_id(cluster, "planned-1", replace(plan.shown, start=plan.start_ms - 1))
            producer.commit_transaction(20)


def test_the_broker_compares_the_identity_when_our_last_look_is_of_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A successor begins between the last look and the request (decision 0010; Apache Kafka would abort it)."""
    real = ask.describe_transaction
    with oncelog.Broker() as broker, Cluster(broker.bootstrap) as cluster:
        broker.topic("looked-out")
        stage = Stage("oncelog", broker.bootstrap, capsys)
        with stage.producer("looked-1") as producer:
            producer.produce("looked-out", b"x")
            producer.flush(10)
            plan = abort.plan_by_id(cluster, "looked-1")
            before = [real(cluster, "looked-1")]
            with stage.producer("looked-1") as successor:
                successor.produce("looked-out", b"y")
                successor.flush(10)

                def late(cluster: Cluster, name: str) -> ask.Described | None:
                    return before.pop() if before else real(cluster, name)

                monkeypatch.setattr(ask, "describe_transaction", late)
                with pytest.raises(abort.ChangedSince, match="found another one"):
                    abort.carry_out(cluster, plan)
                assert before == []
                successor.commit_transaction(20)


@pytest.mark.parametrize(
    "words",
    [["abort"], ["abort", "--partition", "x-0"], ["abort", "--partition", "x", "--start-offset", "0"]],
)
def test_abort_usage(stage: Stage, words: list[str]) -> None:
    assert stage.run("txn", *words).code == 2


def test_what_should_have_timed_out_is_overdue() -> None:
    """Usual on Kafka, which looks every 10 s, and with clocks that differ: no time that is past is promised."""
    assert [left(each) for each in (None, 0, 5_000, -5_000, -1)] == [
        "-",
        "0 ms",
        "5 s",
        "overdue by 5 s",
        "overdue by 1 ms",
    ]
    pin = replace(LONG, time_left_ms=-5_000)
    said = txn._story(pin, 1_000_000)  # pyright: ignore[reportPrivateUsage]
    assert (
        "its timeout is overdue by 5 s: its coordinator has not looked yet, or the clocks differ; to do it now"
        in said
    )
    assert "aborted by its timeout in" not in said
    assert txn._stuck_row(pin)["timeout_in"] == "overdue by 5 s"  # pyright: ignore[reportPrivateUsage]
    on_time = txn._story(replace(pin, time_left_ms=5_000), 1_000_000)  # pyright: ignore[reportPrivateUsage]
    assert "it is aborted by its timeout in 5 s, at 1970-01-01T00:16:45Z" in on_time


def test_offsets_that_were_not_counted_are_not_called_records() -> None:
    shown = txn._stuck_row(LONG)["hidden"]  # pyright: ignore[reportPrivateUsage]
    assert shown == 3
    uncounted = replace(LONG, hidden_records=None)
    assert txn._stuck_row(uncounted)["hidden"] == "4 offsets"  # pyright: ignore[reportPrivateUsage]


def test_a_coordinator_that_loads_is_waited_for(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or its transactions would be missing, and who holds readers would be called hanging."""
    real = Connection.send
    loads = {ListTransactionsResponse: 2, ListGroupsResponse: 2}

    def send(self: Connection, request: Any, answer: Any = None, *words: Any, **more: Any) -> Any:
        told = real(self, request, answer, *words, **more)
        if loads.get(answer):
            loads[answer] -= 1
            told.error_code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return told

    stage.run("topics", "new", "loads-out")
    with stage.producer("loads-1") as producer:
        producer.produce("loads-out", b"x")
        producer.flush(10)
        monkeypatch.setattr(Connection, "send", send)
        pins = stage.json("txn", "stuck")
        monkeypatch.setattr(Connection, "send", real)
        producer.abort_transaction(20)
    assert [(each["kind"], each["transactional_id"]) for each in pins] == [("long", "loads-1")]
    assert set(loads.values()) == {0}
    wait_until_free(stage, "loads-out")
