"""The history checker finds each anomaly in a history made for it, and none in good ones."""

import io
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from oncelog.sim.check import ANOMALIES, Checker, check
from oncelog.sim.history import (
    BadHistory,
    End,
    EndTxn,
    History,
    Poll,
    Recorder,
    Send,
    completion,
    invocation,
    read_history,
)
from tests.simulation.script import play

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def sections() -> Iterator[tuple[set[str], str, str]]:
    """(what is to be found, the title, the history) of each."""
    for section in (HERE / "histories.txt").read_text(encoding="utf-8").split("\n== ")[1:]:
        title, _, text = section.partition("\n")
        wanted = {word for word in title.split() if word in ANOMALIES}
        yield wanted, title, text


SECTIONS = list(sections())


def found_in(text: str) -> set[str]:
    history = History()
    checker = Checker(history)
    play(text, history)
    return {each.kind for each in checker.finish()}


@pytest.mark.parametrize(("wanted", "title", "text"), SECTIONS, ids=[title for _, title, _ in SECTIONS])
def test_a_history_made_by_hand(wanted: set[str], title: str, text: str) -> None:
    assert bool(wanted) != title.startswith("-")
    assert found_in(text) == wanted


def test_every_anomaly_has_a_bad_history_and_a_line_in_the_docs() -> None:
    assert {kind for wanted, _, _ in SECTIONS for kind in wanted} == set(ANOMALIES)
    assert len([title for wanted, title, _ in SECTIONS if wanted]) >= 25
    told = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert [kind for kind in ANOMALIES if f"`{kind}`" not in told] == []


@pytest.mark.parametrize(("wanted", "title", "text"), SECTIONS, ids=[title for _, title, _ in SECTIONS])
def test_a_history_survives_its_way_through_a_file(wanted: set[str], title: str, text: str) -> None:
    assert title
    history = History()
    lines: list[str] = []
    moments = iter(range(10_000))
    history.listen(
        lambda op: lines.append(invocation(op, op.number, next(moments))),
        lambda op: lines.append(completion(op, op.number, next(moments))),
    )
    play(text, history)
    assert {each.kind for each in check([lines])} == wanted


def test_processes_record_alone_and_are_read_together() -> None:
    """A producer and a reader with files of their own; the producer is killed in the middle of a line."""
    now = iter(range(100))
    written, read = io.StringIO(), io.StringIO()
    producer, reader = (Recorder(file, lambda: float(next(now))) for file in (written, read))
    send = producer.invoke(Send(process="p", partition="t-0", values=["a"], txn="T"))
    send.offset = 0
    producer.ok(send)
    end = producer.invoke(EndTxn(process="p", txn="T", commit=False))
    producer.ok(end)
    poll = reader.invoke(Poll(process="c", partition="t-0", offset=0))
    poll.records, poll.next = [(0, "a")], 2
    reader.ok(poll)
    producer.invoke(Send(process="p", partition="t-0", values=["b"]))
    cut = written.getvalue()[:-20]
    found = check([cut.splitlines(), read.getvalue().splitlines()])
    assert [each.kind for each in found] == ["G1a"]


def test_a_kill_leaves_an_operation_open() -> None:
    line = '{"op": 0, "type": "invoke", "time": 1, "process": "p", "f": "send", "partition": "t", "values": ["a"]}'
    (op,) = read_history([[line]]).ops
    assert op.end is End.INFO
    assert isinstance(op, Send)
    assert op.idempotent


@pytest.mark.parametrize(
    "lines",
    [
        ["nonsense", '{"op": 0, "type": "ok", "time": 1}'],
        ['{"op": 0, "type": "ok", "time": 1}'],
        ['{"op": 0, "type": "invoke", "time": 1, "process": "p", "f": "dance"}'],
    ],
)
def test_a_broken_file_is_refused(lines: list[str]) -> None:
    with pytest.raises(BadHistory, match="line 1 of source 0"):
        read_history([lines])


def test_a_value_sent_twice_is_a_mistake_of_the_test() -> None:
    history = History()
    Checker(history)
    history.invoke(Send(process="p", partition="t-0", values=["a"]))
    with pytest.raises(ValueError, match="unique"):
        history.invoke(Send(process="p", partition="t-0", values=["a"]))


def long_history(transactions: int, lose: str = "") -> tuple[History, Checker]:
    """A good one: several producers, two partitions, readers along the way, a third aborted."""
    rng = Random(1)
    history = History()
    checker = Checker(history)
    logs: dict[str, list[tuple[int, str, bool]]] = {"t-0": [], "t-1": []}
    ends = {"t-0": 0, "t-1": 0}
    positions = dict.fromkeys(ends, 0)
    for number in range(transactions):
        process, commit = f"p{number % 5}", lose.startswith(f"{number}.") or rng.random() < 0.7
        for partition in ends:
            values = [f"{number}.{partition}.{each}" for each in range(2)]
            send = history.invoke(Send(process=process, partition=partition, values=values, txn=str(number)))
            send.offset = ends[partition]
            logs[partition] += [(send.offset + at, value, commit) for at, value in enumerate(values)]
            ends[partition] += 3  # two records and the marker
            history.ok(send)
        history.ok(history.invoke(EndTxn(process=process, txn=str(number), commit=commit)))
        for partition, end in ends.items():
            if rng.random() < 0.3:
                poll = history.invoke(Poll(process="c", partition=partition, offset=positions[partition]))
                seen = logs[partition]
                poll.records = [
                    (at, value) for at, value, kept in seen[-400:] if kept and at >= positions[partition]
                ]
                poll.next = positions[partition] = end
                poll.last_stable = poll.high_watermark = end
                history.ok(poll)
    for partition, log in logs.items():
        poll = history.invoke(Poll(process="z", partition=partition, offset=0, final=True))
        poll.records = [(at, value) for at, value, kept in log if kept and value != lose]
        poll.next = ends[partition]
        history.ok(poll)
    return history, checker


def test_checking_is_cheap() -> None:
    """The time per transaction does not grow with the history; the bound is loose, the machine may be busy."""
    began = time.process_time()
    history, checker = long_history(20_000)
    assert checker.finish() == []
    assert len(history.ops) > 60_000
    assert time.process_time() - began < 20


def test_a_long_history_with_one_flaw() -> None:
    _, checker = long_history(2_000, lose="999.t-1.0")
    found = checker.finish()
    assert {each.kind for each in found} == {
        "int-poll-skip",
        "lost-write",
        "torn-transaction",
        "vanished",
    }
    assert all("999" in each.text for each in found)
