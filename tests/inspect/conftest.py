"""The brokers that tests of the inspector run against, one of each a module: oncelog, and with ORACLE Apache Kafka; and a browser."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance import targets
from tests.inspect.stage import SETTINGS, Stage
from tests.toolchains import Missing, leave_out, program

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    try:
        chromium = program("chromium")
    except Missing as why:
        leave_out("the page in a browser", why)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield running
        running.close()


@pytest.fixture
def page(browser: Any) -> "Iterator[Page]":
    """A page that fails the test if a script broke or anything was asked of another host."""
    made: Page = browser.new_page(viewport={"width": 1280, "height": 900})
    troubles: list[str] = []
    made.on("pageerror", lambda fault: troubles.append(str(fault)))
    made.on(
        "request",
        lambda request: None if request.url.startswith("http://127.0.0.1:") else troubles.append(request.url),
    )
    made.on("console", lambda line: troubles.append(line.text) if "Content Security" in line.text else None)
    yield made
    made.close()
    assert troubles == []
