"""Requests under way on one connection: their answers, in order, until the connection ends."""

import time
from typing import Any

import pytest

from oncelog.client.address import Address
from oncelog.client.faults import Unreachable
from oncelog.client.pipeline import Pipeline
from oncelog.client.session import Connection
from oncelog.protocol.header import read_request_header, response_frame
from oncelog.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from tests.unit.scripted_broker import Close, ScriptedBroker

LIST_GROUPS = 16
Groups = Pipeline[int, ListGroupsResponse]


def pipeline_to(broker: ScriptedBroker) -> Groups:
    pipeline = Groups(Connection(Address("127.0.0.1", broker.port)), ListGroupsResponse)
    pipeline.open()
    return pipeline


def take(pipeline: Groups, count: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    deadline = time.monotonic() + 5
    while len(found) < count:
        assert time.monotonic() < deadline, f"only {found} came"
        found += [(about, answer.groups[0].group_id) for about, answer in pipeline.step()]
    return found


def test_answers_come_with_what_they_are_about() -> None:
    with ScriptedBroker() as broker:
        numbers = iter(range(100))
        broker.answers[LIST_GROUPS] = lambda _, __: ListGroupsResponse(
            groups=[ListedGroup(group_id=f"answer {next(numbers)}")]
        )
        pipeline = pipeline_to(broker)
        assert not pipeline.must_open
        for about in range(3):
            pipeline.post(ListGroupsRequest(), 3, about)
        assert pipeline.under_way == 3
        assert pipeline.has_to_send
        assert pipeline.unanswered() == [0, 1, 2]
        assert take(pipeline, 3) == [(each, f"answer {each}") for each in range(3)]
        assert (pipeline.under_way, pipeline.oldest, pipeline.has_to_send) == (0, None, False)
        pipeline.close()
        assert pipeline.must_open
        assert pipeline.step() == []


def test_answers_that_came_before_the_end_are_not_lost() -> None:
    """A plain batch whose answer is here must not be sent again because the connection ended after it."""
    with ScriptedBroker() as broker:
        answers: list[Any] = [ListGroupsResponse(groups=[ListedGroup(group_id="came")])]

        def answer(_: Any, __: int) -> ListGroupsResponse:
            if not answers:
                raise Close
            return answers.pop()

        broker.answers[LIST_GROUPS] = answer
        pipeline = pipeline_to(broker)
        for about in range(2):
            pipeline.post(ListGroupsRequest(), 3, about)
        pipeline._send(pipeline.connection.opened())  # pyright: ignore[reportPrivateUsage]  # and read nothing yet
        deadline = time.monotonic() + 5
        while broker.connections:
            assert time.monotonic() < deadline, "it never hung up"
            time.sleep(0.001)
        assert take(pipeline, 1) == [(0, "came")]
        with pytest.raises(Unreachable, match="the broker closed it"):
            pipeline.step()
        assert pipeline.unanswered() == [1]


class Confused(ScriptedBroker):
    """Answers with a correlation id that nobody gave, but for ApiVersions."""

    def _answer(self, frame: bytes) -> bytes | bytearray:
        if read_request_header(frame).api_key == LIST_GROUPS:
            return response_frame(LIST_GROUPS, 3, 99, ListGroupsResponse())
        return super()._answer(frame)


def test_an_answer_to_another_request_ends_it() -> None:
    with Confused() as broker:
        pipeline = pipeline_to(broker)
        pipeline.post(ListGroupsRequest(), 3, 0)
        with pytest.raises(Unreachable, match=r"wanted answer \d+, found 99"):
            take(pipeline, 1)
        assert pipeline.must_open
