"""`oncelog tap`: real clients through it do what they do without it, and what they did can be read afterwards."""

import asyncio
import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from oncelog.cli.main import main
from oncelog.client.address import Address, parse_bootstrap
from oncelog.inspect.events import Event, from_line, to_line
from oncelog.inspect.tap import Tap
from oncelog.inspect.timeline import timeline
from tests.conformance import targets
from tests.toolchains import Missing, leave_out


@pytest.fixture(scope="module", params=targets.chosen())
def upstream(request: pytest.FixtureRequest) -> Iterator[Address]:
    try:
        with targets.run(request.param) as bootstrap:
            main(["topics", "new", "tapped", "--partitions", "2", "--bootstrap", bootstrap])
            (address,) = parse_bootstrap(bootstrap)
            yield address
    except Missing as why:
        leave_out(f"the tap before {request.param}", why)


@contextmanager
def tapped(upstream: Address) -> Generator[tuple[str, list[Event]]]:
    """The address of a tap on a thread of its own, and the events it noted so far."""
    events: list[Event] = []
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    tap = Tap(upstream, host="127.0.0.1", port=0, note=events.append)
    try:
        where = asyncio.run_coroutine_threadsafe(tap.start(), loop).result(10)
        yield f"{where.host}:{where.port}", events
    finally:
        asyncio.run_coroutine_threadsafe(tap.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def producer_at(bootstrap: str, name: str, client_id: str = "till") -> Producer:
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": name, "client.id": client_id, "log_level": 0}
    )
    producer.init_transactions(30)
    return producer


def test_a_transaction_is_seen_request_by_request(upstream: Address) -> None:
    with tapped(upstream) as (bootstrap, events):
        producer = producer_at(bootstrap, "tap-1")
        reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "tap-group", "log_level": 0})
        producer.begin_transaction()
        for _ in range(7):
            producer.produce("tapped", b"value", partition=1)
        producer.flush(10)
        producer.send_offsets_to_transaction(
            [TopicPartition("tapped", 0, 5)], reader.consumer_group_metadata(), 20
        )
        producer.commit_transaction(20)
        reader.close()
        mine = [each for each in events if each.transactional_id == "tap-1"]
        names = [each.name for each in mine]
        assert names[0] == "InitProducerId"
        assert set(names) >= {"AddPartitionsToTxn", "Produce", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"}
        assert {each.name: each.error for each in mine} == dict.fromkeys(names, "NONE")  # retries came before
        produced = [one for each in mine if each.name == "Produce" for one in each.touched]
        assert sum(one.count or 0 for one in produced) == 7
        assert {(one.topic, one.partition) for one in produced} == {("tapped", 1)}
        offsets = [
            one.committed_offset for each in mine if each.name == "TxnOffsetCommit" for one in each.touched
        ]
        assert set(offsets) == {5}  # more than one while the group's coordinator was still loading
        (end,) = [each for each in mine if each.name == "EndTxn"]
        assert end.said.startswith("commit")
        assert end.client_id == "till"
        assert end.took_us is not None and end.took_us > 0  # noqa: PT018
        assert all(from_line(to_line(each)) == each for each in mine)

        lanes = timeline("tap-1", events)
        assert lanes.lanes == ("client", "tapped-1", "group tap-group", "LSO tapped-1")
        assert "EndTxn" in str(lanes)
        assert lanes.svg().count("<g ") == len(lanes.boxes)


def test_clients_never_learn_the_address_behind_the_tap(upstream: Address) -> None:
    with tapped(upstream) as (bootstrap, _):
        for description in (
            Producer({"bootstrap.servers": bootstrap}).list_topics(timeout=10).brokers.values()
        ):
            assert f"{description.host}:{description.port}" == bootstrap


def test_a_zombie_is_seen_with_its_error(upstream: Address) -> None:
    with tapped(upstream) as (bootstrap, events):
        zombie = producer_at(bootstrap, "tap-2", "old")
        zombie.begin_transaction()
        zombie.produce("tapped", b"x", partition=0)
        zombie.flush(10)
        producer_at(bootstrap, "tap-2", "new")
        with pytest.raises(KafkaException):
            zombie.commit_transaction(20)
        refused = [each for each in events if each.error not in ("NONE", "CONCURRENT_TRANSACTIONS")]
        assert {each.client_id for each in refused} == {"old"}
        assert refused[0].name == "EndTxn"


def test_only_the_last_transactions_are_shown(upstream: Address) -> None:
    with tapped(upstream) as (bootstrap, events):
        producer = producer_at(bootstrap, "tap-3")
        for number in range(3):
            producer.begin_transaction()
            producer.produce("tapped", b"%d" % number, partition=0)
            producer.commit_transaction(20)
        ends = [
            len([each for each in timeline("tap-3", events, last=n).events if each.name == "EndTxn"])
            for n in (1, 2, 9)
        ]
        assert ends == [1, 2, 3]
        assert timeline("tap-3", events, last=1).events[0].name != "InitProducerId"


def test_a_record_is_read_back_by_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "tap.jsonl"
    event = Event(
        at_us=1, kind="rpc", transactional_id="a", name="EndTxn", took_us=5, said="commit", version=5
    )
    record.write_text(
        to_line(event)
        + "\n"
        + to_line(Event(at_us=2, kind="rpc", transactional_id="b", name="EndTxn"))
        + "\n"
    )
    assert main(["txn", "trace", "a", "--record", str(record), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["transactional_id"], found["said"]) == ("a", "commit")
    assert main(["txn", "trace", "nobody", "--record", str(record)]) == 1
    assert main(["txn", "trace", "a", "--record", str(tmp_path / "missing")]) == 2
    record.write_text("no json\n")
    assert main(["txn", "trace", "a", "--record", str(record)]) == 2


def test_what_others_wrote_cannot_break_out_of_the_drawing() -> None:
    evil = "<script>alert(1)</script>\x1b[2J\u202e"
    event = Event(at_us=1, kind="rpc", transactional_id=evil, name="EndTxn", client_id=evil, error=evil)
    drawn = timeline(evil, [event]).svg()
    assert "<script" not in drawn
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn
