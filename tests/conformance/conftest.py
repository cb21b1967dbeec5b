"""Fixtures for tests with real clients: the broker they talk to."""

from collections.abc import Iterator

import pytest

from oncelog.server.build import CannotBuild, load
from tests.conformance import targets
from tests.toolchains import Missing, leave_out


@pytest.fixture(scope="session", params=targets.chosen())
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a broker that lives as long as the session: oncelog, and with ORACLE=1 Apache Kafka too."""
    try:
        with targets.run(request.param) as address:
            yield address
    except Missing as why:
        leave_out(f"comparison with {request.param}", why)


@pytest.fixture(params=["python", "native"])
def hot_path(request: pytest.FixtureRequest) -> str:
    """Who serves plain requests: the setting hot.path."""
    if request.param == "native":
        try:
            load("lane")
        except CannotBuild as why:
            pytest.skip(str(why))
    return request.param
