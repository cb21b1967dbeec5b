"""A broker for the tests of the inspector, or two: oncelog, and with ORACLE Apache Kafka; one of each a module."""

from collections.abc import Iterator

import pytest

from tests.conformance import targets
from tests.inspect.stage import SETTINGS, Stage
from tests.toolchains import Missing, leave_out


@pytest.fixture(scope="module", params=targets.chosen())
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    try:
        with targets.run(request.param, SETTINGS) as bootstrap:
            yield request.param, bootstrap
    except Missing as why:
        leave_out(f"the inspector on {request.param}", why)


@pytest.fixture
def stage(place: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> Stage:
    return Stage(*place, capsys)
