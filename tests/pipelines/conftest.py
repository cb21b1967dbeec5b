"""The brokers of tests that run a pipeline on oncelog, and with ORACLE=1 on Apache Kafka too."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import oncelog
from tests.conformance import targets
from tests.oracle import Oracle
from tests.toolchains import Missing, leave_out


@pytest.fixture(params=targets.chosen())
def either(request: pytest.FixtureRequest) -> Iterator[oncelog.Broker | Oracle]:
    """A broker of this test alone."""
    with ExitStack() as stack:
        try:
            if request.param == "kafka":
                yield stack.enter_context(Oracle())
            else:
                yield stack.enter_context(oncelog.Broker())
        except Missing as why:
            leave_out(f"comparison with {request.param}", why)
