"""The stories of the Learn screen: what is said, and a drawing in which nothing is shown before what caused it."""

import re

import pytest

from oncelog.cli.stories import STORIES
from oncelog.inspect.events import Event
from oncelog.inspect.page.app import Story
from oncelog.inspect.timeline import Timeline
from oncelog.inspect.trace import cause

BY_KEY = {each.key: each for each in STORIES}


def what_happened(told: Timeline) -> list[str]:
    """Names of requests, with their errors, of states and of markers, in the order of the drawing."""
    return [each.name if each.error == "NONE" else f"{each.name} {each.error}" for each in told.events]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.key)
def test_no_state_and_no_marker_stands_before_the_request_that_caused_it(story: Story) -> None:
    told, said = story.run()
    asked = [each for each in told.events if each.kind == "rpc"]
    names = what_happened(told)
    assert said
    assert names[0] == "InitProducerId"
    for state, by in (("PrepareCommit", "EndTxn"), ("Ongoing", "Produce|AddPartitionsToTxn")):
        if state in names:
            assert any(re.match(by, each) for each in names[: names.index(state)]), names
    for each in told.events:
        by = cause(each, asked) if each.kind != "rpc" else None
        assert by is None or by.at_us <= each.at_us, (each.name, names)


def test_a_commit_that_comes_after_the_timeout_is_drawn_behind_it() -> None:
    """The broker's clock is moved on, and the requests' times with it."""
    told, _ = BY_KEY["timeout"].run()
    assert what_happened(told)[-1] == "EndTxn INVALID_TXN_STATE"
    prepared = next(each for each in told.events if each.name == "PrepareAbort")
    assert prepared.at_us - told.events[0].at_us > 30_000_000


def test_the_late_commit_ends_the_next_transaction_by_the_old_protocol_and_is_refused_by_the_new_one() -> (
    None
):
    """KAFKA-17754: of four transactions by two protocols the second is ended by the commit of the first."""
    told, said = BY_KEY["late"].run()
    ends = [
        (each.version, each.said.split(",")[0], each.error) for each in told.events if each.name == "EndTxn"
    ]
    assert ends == [
        (4, "commit", "NONE"),  # held on its way, and answered in the middle of T2
        (4, "commit", "NONE"),
        (4, "abort", "NONE"),
        (5, "commit", "PRODUCER_FENCED"),  # held too; its epoch is over
        (5, "commit", "NONE"),
        (5, "abort", "NONE"),
    ]
    states = [each.name for each in told.events if each.name.startswith("Complete")]
    assert states == ["CompleteCommit", "CompleteCommit", "CompleteAbort", "CompleteCommit", "CompleteAbort"]
    assert any("sees 2 records: T1, and a T2 that is torn in two" in each for each in said)
    assert any("3 records are visible, T3 among them and nothing of T4" in each for each in said)


def test_an_end_that_was_refused_caused_nothing() -> None:
    """It was under way while another one, of the same outcome, ended the transaction."""
    refused = Event(
        1_000, "rpc", "a", "EndTxn", producer_epoch=1, said="commit", error="PRODUCER_FENCED", took_us=14_000
    )
    done = Event(5_800, "rpc", "a", "EndTxn", producer_epoch=1, said="commit", took_us=400)
    assert cause(Event(5_000, "state", "a", "PrepareCommit", producer_epoch=2), [refused, done]) is done
