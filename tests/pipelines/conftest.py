"""The brokers of tests that run a pipeline on oncelog, and with ORACLE=1 on Apache Kafka too."""

from collections.abc import Iterator

import pytest

import oncelog
from tests.conformance import targets
from tests.oracle import Oracle


@pytest.fixture(params=targets.chosen())
def either(request: pytest.FixtureRequest) -> Iterator[oncelog.Broker | Oracle]:
    """A broker of this test alone."""
    with targets.broker(request.param) as found:
        yield found
